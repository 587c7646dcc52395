/* Which files are packed together, and packing beside other writers. */
#include "fixture.h"
#include "write-compact.h"

#include <string.h>

#define KIB 1024
#define MIB (1024 * KIB)

/* ---- choosing ---- */

/* A file is `<partition letter><size in KiB>` and `!<percent of dead rows>`; groups are numbers of files, `|` between. */
typedef struct {
  const char *what;
  WriteCompaction compaction;
  const char *files;
  const char *groups;
} Choice;

#define FULL                                                                                                           \
  {                                                                                                                    \
    .file_bytes = 1000 * KIB, .dead_ratio = 0.05                                                                       \
  }
#define PURGE                                                                                                          \
  {                                                                                                                    \
    .file_bytes = 1000 * KIB, .dead_ratio = 0, .dead_only = TRUE                                                       \
  }
#define BOUNDED                                                                                                        \
  {                                                                                                                    \
    .file_bytes = 100 * MIB, .dead_ratio = 0.3, .dead_bytes = MIB, .n_least = 3, .bytes_most = 50 * MIB                \
  }

static const Choice choices[] = {
  { "no file", FULL, "", "" },
  { "one small file stays", FULL, "a1", "" },
  { "two small files", FULL, "a1 a2", "0 1" },
  { "large ones stay", FULL, "a1000 a2000 a1 a1001", "" },
  { "no further than the size", FULL, "a600 a300 a200 a900", "0 1" },
  { "in the order of writing, until full", FULL, "a400 a400 a400 a400 a400", "0 1|2 3" },
  { "each partition for itself", FULL, "a1 b1 a1 b1 c1", "0 2|1 3" },
  { "a file with dead rows alone", FULL, "a2000!10", "0" },
  { "few dead rows do not matter", FULL, "a2000!4", "" },
  { "live bytes count", FULL, "a900!90 a900!90", "0 1" },
  { "purge takes every dead row and no more", PURGE, "a1 a2!1 a3", "1" },
  { "purge packs what it rewrites", PURGE, "a100!50 b100!50 a100!50", "0 2|1" },
  { "too few of a size", BOUNDED, "a1 a1", "" },
  { "enough of a size", BOUNDED, "a1 a1 a1", "0 1 2" },
  { "not of one size", BOUNDED, "a1 a1 a100 a100 a1000", "" },
  { "one size of two", BOUNDED, "a1 a100 a1 a100 a1", "0 2 4" },
  { "not in one partition", BOUNDED, "a1 b1 c1 a1", "" },
  { "half-dead", BOUNDED, "a10240!40", "0" },
  { "not yet", BOUNDED, "a10240!20", "" },
  { "half-dead, but not worth it", BOUNDED, "a1000!60", "" },
  { "never more than the bound", BOUNDED, "a40960!50 b40960!50 c40960!50 d40960!50", "0|1|2" },
};

static DeltaFile *
make_file (const char *text, guint number)
{
  char *end;
  g_autofree char *path = g_strdup_printf ("f%03u", number);
  gint64 size_bytes = g_ascii_strtoll (text + 1, &end, 10) * KIB;
  gint64 dead = *end == '!' ? g_ascii_strtoll (end + 1, NULL, 10) : 0;
  DeltaVectorDescriptor vector = { 'u', (char *) "ab^-aqEH.-t@S}K{vb[*", 1, 10, dead };
  DeltaPartitionValue value = { "p", text, 1 };
  DeltaFileInfo info = DELTA_FILE_INFO_INIT;

  info.path = path;
  info.size_bytes = size_bytes;
  info.modified_ms = number;
  info.stats = "{\"numRecords\":100}";
  info.partition_values = &value;
  info.n_partition_values = 1;
  info.vector = dead > 0 ? &vector : NULL;
  return delta_file_new (&info);
}

static char *
groups_text (GPtrArray *groups)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < groups->len; i++) {
    GPtrArray *group = groups->pdata[i];
    for (guint k = 0; k < group->len; k++)
      g_string_append_printf (text, "%s%s%d", i > 0 && k == 0 ? "|" : "", k > 0 ? " " : "",
                              (int) g_ascii_strtoll (delta_file_path (group->pdata[k]) + 1, NULL, 10));
  }
  return g_string_free (text, FALSE);
}

static void
test_choice (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    g_auto (GStrv) words = g_strsplit (choices[i].files, " ", 0);
    g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
    for (guint k = 0; words[k] != NULL && *words[k] != '\0'; k++)
      g_ptr_array_add (files, make_file (words[k], k));
    g_autoptr (GPtrArray) groups =
        write_compaction_choose (&choices[i].compaction, (DeltaFile *const *) files->pdata, files->len);
    g_autofree char *text = groups_text (groups);
    g_test_message ("%s", choices[i].what);
    g_assert_cmpstr (text, ==, choices[i].groups);
  }
}

/* ---- beside others ---- */

/* Deletes the rows @number of file @file of the newest version. */
static DeltaCommitOutcome
delete_row (Fixture *fixture, DeltaSnapshot *snapshot, guint file, guint number)
{
  g_autoptr (GError) error = NULL;
  DeltaScanColumn column = { 0, "c0" };
  DeltaScanInput input = { .file = delta_snapshot_file (snapshot, file) };
  DeltaScanRequest request = { .columns = &column,
                               .n_columns = 1,
                               .file_index_name = "file_index",
                               .row_number_name = "row_number",
                               .inputs = &input,
                               .n_inputs = 1,
                               .explicit_inputs = TRUE };
  g_autoptr (DeltaScan) scan = delta_scan_new (snapshot, &request, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *sql =
      g_strdup_printf ("SELECT file_index, row_number FROM (%s) WHERE row_number = %u", delta_scan_sql (scan), number);
  g_autoptr (WriteBatch) batch = fixture_batch (fixture, snapshot, NULL);
  write_batch_delete (batch, scan, sql, NULL, &error);
  g_assert_no_error (error);
  return fixture_commit (batch, "TEST");
}

static WriteBatch *
begin_move (Fixture *fixture, DeltaSnapshot *snapshot, guint n_files)
{
  g_autoptr (GError) error = NULL;
  g_autofree DeltaFile **files = g_new (DeltaFile *, n_files);
  WriteBatch *batch = fixture_batch (fixture, snapshot, NULL);

  for (guint i = 0; i < n_files; i++)
    files[i] = delta_snapshot_file (snapshot, i);
  write_batch_move (batch, files, n_files, &error);
  g_assert_no_error (error);
  return batch;
}

static gint64
count_rows (Fixture *fixture)
{
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);

  return delta_snapshot_n_rows (snapshot);
}

/* Three files of ten rows. */
static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) schema = NULL;

  fixture_begin (fixture, data);
  base_struct_builder_add (builder, "id", type, TRUE, NULL);
  schema = base_struct_builder_end (g_steal_pointer (&builder));
  g_autoptr (GHashTable) properties = g_hash_table_new (g_str_hash, g_str_equal);
  g_hash_table_insert (properties, (gpointer) "delta.enableDeletionVectors", (gpointer) "true");
  g_hash_table_insert (properties, (gpointer) "delta.enableRowTracking", (gpointer) "true");
  g_autoptr (DeltaMetadata) metadata = delta_metadata_new (schema, NULL, properties, NULL, NULL, 1);
  g_autoptr (WriteBatch) batch = fixture_batch (fixture, NULL, NULL);
  write_batch_set_metadata (batch, metadata, &error);
  g_assert_no_error (error);
  g_assert_cmpint (fixture_commit (batch, "TEST"), ==, DELTA_COMMIT_DONE);
  for (guint i = 0; i < 3; i++)
    fixture_append (fixture, "SELECT range::BIGINT AS c0 FROM range(10)");
}

static void
test_append_meanwhile (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_autoptr (WriteBatch) batch = begin_move (fixture, snapshot, 3);

  fixture_append (fixture, "SELECT range::BIGINT AS c0 FROM range(5)");
  g_assert_cmpint (fixture_commit (batch, "TEST"), ==, DELTA_COMMIT_DONE);
  g_assert_cmpint (count_rows (fixture), ==, 35);
  g_autoptr (DeltaSnapshot) after = fixture_snapshot (fixture);
  g_assert_cmpuint (delta_snapshot_n_files (after), ==, 2);
  g_assert_cmpint (delta_snapshot_row_id_high_water_mark (after), ==, 64);
}

static void
test_delete_meanwhile (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_autoptr (WriteBatch) touched = begin_move (fixture, snapshot, 3);
  g_autoptr (WriteBatch) untouched = begin_move (fixture, snapshot, 2);

  g_assert_cmpint (delete_row (fixture, snapshot, 2, 4), ==, DELTA_COMMIT_DONE);
  g_assert_cmpint (fixture_commit (touched, "TEST"), ==, DELTA_COMMIT_CONFLICT);
  g_assert_cmpint (count_rows (fixture), ==, 29);
  g_assert_cmpint (fixture_commit (untouched, "TEST"), ==, DELTA_COMMIT_DONE);
  g_assert_cmpint (count_rows (fixture), ==, 29);
}

/* The other way round: who marks a row of a file that was moved must look again. */
static void
test_moved_meanwhile (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_autoptr (WriteBatch) batch = begin_move (fixture, snapshot, 2);

  g_assert_cmpint (fixture_commit (batch, "TEST"), ==, DELTA_COMMIT_DONE);
  g_assert_cmpint (delete_row (fixture, snapshot, 0, 1), ==, DELTA_COMMIT_CONFLICT);
  g_assert_cmpint (delete_row (fixture, snapshot, 2, 1), ==, DELTA_COMMIT_DONE);
  g_assert_cmpint (count_rows (fixture), ==, 29);
}

static void
test_dead_rows_go (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (DeltaSnapshot) first = fixture_snapshot (fixture);
  g_assert_cmpint (delete_row (fixture, first, 0, 3), ==, DELTA_COMMIT_DONE);
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_autoptr (WriteBatch) batch = begin_move (fixture, snapshot, 3);
  const WriteMoved *moved = write_batch_moved (batch);

  g_assert_cmpuint (moved->n_rows, ==, 29);
  g_assert_cmpuint (moved->n_vectors_removed, ==, 1);
  g_assert_cmpuint (moved->n_dead_rows, ==, 1);
  g_assert_cmpint (fixture_commit (batch, "TEST"), ==, DELTA_COMMIT_DONE);
  g_autoptr (DeltaSnapshot) after = fixture_snapshot (fixture);
  g_assert_cmpuint (delta_snapshot_n_files (after), ==, 1);
  g_assert_null (delta_file_vector (delta_snapshot_file (after, 0)));
  g_assert_cmpint (count_rows (fixture), ==, 29);
}

static void
test_bounded (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const BaseClock clock = FIXTURE_CLOCK;
  g_autoptr (GError) error = NULL;
  WriteCompacted done;

  g_assert_true (write_compact (fixture->table, fixture->session, &clock, NULL, &done, &error));
  g_assert_cmpint (done.version, ==, -1);
  for (guint i = 0; i < 5; i++)
    fixture_append (fixture, "SELECT range::BIGINT AS c0 FROM range(10)");
  g_assert_true (write_compact (fixture->table, fixture->session, &clock, NULL, &done, &error));
  g_assert_cmpint (done.version, ==, 9);
  g_assert_cmpuint (done.n_files_removed, ==, 8);
  g_assert_cmpuint (done.n_files_added, ==, 1);
  g_assert_cmpint (count_rows (fixture), ==, 80);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/write/compact/choice", test_choice);
#define ADD(name, func) g_test_add ("/write/compact/" name, Fixture, NULL, set_up, func, fixture_end)
  ADD ("append-meanwhile", test_append_meanwhile);
  ADD ("delete-meanwhile", test_delete_meanwhile);
  ADD ("moved-meanwhile", test_moved_meanwhile);
  ADD ("dead-rows-go", test_dead_rows_go);
  ADD ("bounded", test_bounded);
  return g_test_run ();
}

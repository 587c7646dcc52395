/* Batches against a real directory: what was written is read back through delta's own scan. */
#include "base-json.h"
#include "base-text.h"
#include "fixture.h"

#include <glib/gstdio.h>
#include <string.h>

/* A schema of pairs name, type text: only kinds that the cases need. */
static BaseType *
make_schema (const char *const *columns)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (; columns[0] != NULL; columns += 2) {
    g_autoptr (json_t) json = json_string (columns[1]);
    g_autoptr (GError) error = NULL;
    g_autoptr (BaseType) type = base_type_from_json (json, &error);
    g_assert_no_error (error);
    gboolean required = columns[0][0] == '!';
    base_struct_builder_add (builder, columns[0] + required, type, !required, NULL);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static void
create_table (Fixture *fixture, const char *const *columns, const char *const *partitions,
              const char *const *properties)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (BaseType) schema = make_schema (columns);
  g_autoptr (GHashTable) configuration = g_hash_table_new (g_str_hash, g_str_equal);
  for (; properties != NULL && properties[0] != NULL; properties += 2)
    g_hash_table_insert (configuration, (gpointer) properties[0], (gpointer) properties[1]);
  g_autoptr (DeltaMetadata) metadata =
      delta_metadata_new (schema, partitions, configuration, NULL, NULL, 1767225600000);
  g_autoptr (WriteBatch) batch = fixture_batch (fixture, NULL, NULL);
  write_batch_set_metadata (batch, metadata, &error);
  g_assert_no_error (error);
  g_assert_cmpint (fixture_commit (batch, "CREATE TABLE"), ==, DELTA_COMMIT_DONE);
}

/* @options: (nullable). */
static WriteBatch *
begin (Fixture *fixture, const WriteOptions *options)
{
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);

  return fixture_batch (fixture, snapshot, options);
}

static void
commit (WriteBatch *batch, const char *operation)
{
  g_assert_cmpint (fixture_commit (batch, operation), ==, DELTA_COMMIT_DONE);
}

typedef struct {
  const char *row_id, *version;
  const DeltaScanHidden *hidden;
} Extras;

static DeltaScan *
scan_table (Fixture *fixture, const Extras *extras)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  static const char *const names[] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7" };
  DeltaScanColumn columns[8];
  guint n = base_type_n_fields (delta_snapshot_schema (snapshot));
  for (guint i = 0; i < n; i++)
    columns[i] = (DeltaScanColumn){ i, names[i] };
  DeltaScanRequest request = { .columns = columns,
                               .n_columns = n,
                               .file_index_name = "file_index",
                               .row_number_name = "row_number",
                               .row_id_name = extras != NULL ? extras->row_id : NULL,
                               .row_commit_version_name = extras != NULL ? extras->version : NULL,
                               .hidden = extras != NULL ? extras->hidden : NULL,
                               .n_hidden = extras != NULL && extras->hidden != NULL ? 1 : 0 };
  DeltaScan *scan = delta_scan_new (snapshot, &request, NULL, &error);
  g_assert_no_error (error);
  return scan;
}

/* One text for the table: `expression` of every row, sorted, joined by `;`. */
static char *
read_table (Fixture *fixture, const char *expression, const Extras *extras)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaScan) scan = scan_table (fixture, extras);
  g_autofree char *sql = g_strdup_printf (
      "SELECT coalesce(string_agg(t, ';' ORDER BY t), '') FROM (SELECT CAST(%s AS VARCHAR) AS t FROM (%s))", expression,
      delta_scan_sql (scan));
  char *text = NULL;
  duck_session_query_string (fixture->session, sql, NULL, &text, &error);
  g_assert_no_error (error);
  return text;
}

#define assert_table(fixture, expression, expected)                                                                    \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autofree char *text_ = read_table (fixture, expression, NULL);                                                   \
    g_assert_cmpstr (text_, ==, expected);                                                                             \
  }                                                                                                                    \
  G_STMT_END

static void
delete_rows (Fixture *fixture, const char *where, guint64 expected, WriteCounters *counters)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (WriteBatch) batch = begin (fixture, NULL);
  g_autoptr (DeltaScan) scan = scan_table (fixture, NULL);
  g_autofree char *sql =
      g_strdup_printf ("SELECT file_index, row_number FROM (%s) WHERE %s", delta_scan_sql (scan), where);
  guint64 n_rows = 0;
  write_batch_delete (batch, scan, sql, &n_rows, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_rows, ==, expected);
  commit (batch, "DELETE");
  if (counters != NULL)
    *counters = *write_batch_counters (batch);
}

/* ---- tests ---- */

static const char *const two_columns[] = { "id", "long", "name", "string", NULL };

static void
test_rows_come_back (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  create_table (fixture, two_columns, NULL, NULL);
  fixture_append (fixture, "SELECT range AS c0, 'n' || range AS c1 FROM range(3)");
  fixture_append (fixture, "SELECT 9::BIGINT AS c0, NULL::VARCHAR AS c1");
  assert_table (fixture, "c0 || coalesce(c1, '-')", "0n0;1n1;2n2;9-");

  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 2);
  g_assert_cmpint (delta_snapshot_n_rows (snapshot), ==, 4);
  g_assert_cmpint (delta_protocol_writer_version (delta_snapshot_protocol (snapshot)), ==, 2);
}

static void
test_no_rows_make_no_file (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  create_table (fixture, two_columns, NULL, NULL);
  g_autoptr (WriteBatch) batch = begin (fixture, NULL);
  guint64 n_rows = 7;
  write_batch_rows (batch, "SELECT 1::BIGINT AS c0, '' AS c1 WHERE false", WRITE_ROWS_DEFAULT, &n_rows, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_rows, ==, 0);
  g_assert_true (write_batch_is_empty (batch));
}

static void
test_large_batches_are_split (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  create_table (fixture, two_columns, NULL, NULL);
  WriteOptions options = { .clock = FIXTURE_CLOCK, .n_rows_per_file = 122880 };
  g_autoptr (WriteBatch) batch = begin (fixture, &options);
  write_batch_rows (batch, "SELECT range AS c0, 'x' AS c1 FROM range(300000)", WRITE_ROWS_DEFAULT, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (write_batch_counters (batch)->n_files_added, ==, 3);
  commit (batch, "WRITE");
  g_autofree char *sum = read_table (fixture, "c0 % 2", NULL);
  g_assert_cmpuint (strlen (sum), ==, 2 * 300000 - 1);
}

static void
test_uncommitted_batch_leaves_nothing (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  create_table (fixture, two_columns, NULL, NULL);
  WriteBatch *batch = begin (fixture, NULL);
  WriteSideFile side = { 0 };
  write_batch_rows (batch, "SELECT 1::BIGINT AS c0, 'a' AS c1", WRITE_ROWS_DEFAULT, NULL, &error);
  g_assert_no_error (error);
  write_batch_side_file (batch, "_state", "SELECT 1 AS a", &side, &error);
  g_assert_no_error (error);
  write_side_file_clear (&side);
  write_batch_free (batch);

  g_autofree char *find = g_strdup_printf ("find %s -type f", fixture->directory);
  g_autofree char *files = NULL;
  g_assert_true (g_spawn_command_line_sync (find, &files, NULL, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (g_strchomp (files), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 1);
  g_assert_true (g_str_has_suffix (lines[0], "00000000000000000000.json"));
}

static void
test_partitions_of_every_type (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const struct {
    const char *type, *values; /* SQL list of distinct values */
    const char *read;          /* expected, of CAST AS VARCHAR, NULL as - */
  } cases[] = {
    { "boolean", "[true, NULL]", "-;true" },
    { "byte", "[1::TINYINT, (-128)::TINYINT]", "-128;1" },
    { "long", "[9223372036854775807, NULL]", "-;9223372036854775807" },
    { "double", "[1.5::DOUBLE, 'inf'::DOUBLE, 'nan'::DOUBLE]", "1.5;inf;nan" },
    { "decimal(10,2)", "[1.20::DECIMAL(10,2)]", "1.20" },
    { "string", "['a/b=c%d', 'ä ü', '{x}[y]*?', NULL, '']", "-;-;a/b=c%d;{x}[y]*?;ä ü" },
    { "date", "[DATE '2020-02-29', DATE '0001-01-01']", "0001-01-01;2020-02-29" },
    { "timestamp", "[TIMESTAMPTZ '2020-01-01 00:00:00.123456+00']", "2020-01-01 00:00:00.123456+00" },
    { "timestamp_ntz", "[TIMESTAMP '2020-01-01 10:00:00']", "2020-01-01 10:00:00" },
    { "binary", "['ab'::BLOB]", "ab" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_test_message ("%s", cases[i].type);
    fixture_end (fixture, NULL);
    fixture_begin (fixture, NULL);
    const char *const columns[] = { "v", "integer", "p", cases[i].type, NULL };
    const char *const partitions[] = { "p", NULL };
    create_table (fixture, columns, partitions, NULL);
    g_autofree char *sql = g_strdup_printf ("SELECT 1 AS c0, unnest(%s) AS c1", cases[i].values);
    fixture_append (fixture, sql);
    g_autofree char *text = read_table (fixture, "coalesce(CAST(c1 AS VARCHAR), '-')", NULL);
    g_assert_cmpstr (text, ==, cases[i].read);
  }
}

static void
test_deletes_agree (Fixture *fixture, gconstpointer data)
{
  const char *vectors = data;
  const char *const properties[] = { "delta.enableDeletionVectors", vectors, NULL };
  create_table (fixture, two_columns, NULL, vectors != NULL ? properties : NULL);
  fixture_append (fixture, "SELECT range AS c0, 'a' AS c1 FROM range(5)");
  fixture_append (fixture, "SELECT range + 10 AS c0, 'b' AS c1 FROM range(3)");
  WriteCounters counters;
  delete_rows (fixture, "c0 IN (1, 3, 11)", 3, &counters);
  assert_table (fixture, "c0", "0;10;12;2;4");
  gboolean rewrites = g_strcmp0 (vectors, "false") == 0;
  g_assert_cmpuint (counters.n_vectors_added, ==, rewrites ? 0 : 2);
  g_assert_cmpuint (counters.n_rows_copied, ==, rewrites ? 5 : 0);
  delete_rows (fixture, "c0 IN (0, 10, 12)", 3, &counters);
  assert_table (fixture, "c0", "2;4");
  delete_rows (fixture, "true", 2, &counters);
  assert_table (fixture, "c0", "");
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 0);
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (snapshot), "deletionVectors") == !rewrites);
}

static void
test_vectors_come_when_first_needed (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  create_table (fixture, two_columns, NULL, NULL);
  fixture_append (fixture, "SELECT range AS c0, 'a' AS c1 FROM range(5)");
  g_autoptr (DeltaSnapshot) before = delta_table_snapshot (fixture->table, NULL, &error);
  g_assert_false (delta_protocol_has (delta_snapshot_protocol (before), "deletionVectors"));
  delete_rows (fixture, "c0 = 1", 1, NULL);
  g_autoptr (DeltaSnapshot) after = delta_table_snapshot (fixture->table, NULL, &error);
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (after), "deletionVectors"));
  g_assert_true (delta_metadata_deletion_vectors (delta_snapshot_metadata (after)));
}

static void
test_rewrites_keep_ids_and_hidden_columns (Fixture *fixture, gconstpointer data)
{
  const char *const properties[] = { "delta.enableRowTracking", "true", "delta.enableDeletionVectors", data, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  create_table (fixture, two_columns, NULL, properties);
  WriteHiddenColumn hidden = { "_state-h", text };
  WriteOptions options = { .clock = FIXTURE_CLOCK, .hidden = &hidden, .n_hidden = 1 };
  WriteBatch *batch = begin (fixture, &options);
  write_batch_rows (batch, "SELECT range AS c0, 'a' AS c1, 'h' || range AS h0 FROM range(4) ORDER BY range",
                    WRITE_ROWS_DEFAULT, NULL, &error);
  g_assert_no_error (error);
  delta_transaction_set_domain (write_batch_transaction (batch), "sluice.test",
                                "{\"hiddenColumns\":[{\"name\":\"_state-h\"}]}");
  commit (batch, "WRITE");
  write_batch_free (batch);

  DeltaScanHidden wanted = { "_state-h", text, "h" };
  Extras extras = { .row_id = "row_id", .version = "rcv", .hidden = &wanted };
  const char *everything = "c0 || ':' || row_id || ':' || rcv || ':' || coalesce(h, '-')";
  g_autofree char *before = read_table (fixture, everything, &extras);
  g_assert_cmpstr (before, ==, "0:0:1:h0;1:1:1:h1;2:2:1:h2;3:3:1:h3");
  delete_rows (fixture, "c0 = 1", 1, NULL);
  g_autofree char *after = read_table (fixture, everything, &extras);
  g_assert_cmpstr (after, ==, "0:0:1:h0;2:2:1:h2;3:3:1:h3");

  /* an update: the old row dies, the new one has its id and no commit version of its own */
  batch = begin (fixture, &options);
  g_autoptr (DeltaScan) scan = scan_table (fixture, NULL);
  g_autofree char *dead =
      g_strdup_printf ("SELECT file_index, row_number FROM (%s) WHERE c0 = 2", delta_scan_sql (scan));
  write_batch_delete (batch, scan, dead, NULL, &error);
  g_assert_no_error (error);
  write_batch_rows (
      batch, "SELECT 20::BIGINT AS c0, 'u' AS c1, 'x' AS h0, 2::BIGINT AS row_id UNION ALL SELECT 30, 'n', NULL, NULL",
      WRITE_ROWS_ROW_ID, NULL, &error);
  g_assert_no_error (error);
  commit (batch, "UPDATE");
  write_batch_free (batch);
  g_autofree char *updated = read_table (fixture, everything, &extras);
  g_assert_true (strstr (updated, "20:2:3:x") != NULL);
  g_assert_true (strstr (updated, "0:0:1:h0") != NULL);
  g_assert_true (strstr (updated, "3:3:1:h3") != NULL);
}

static void
test_constraints_refuse_rows (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  const char *const columns[] = { "!id", "long", "name", "string", NULL };
  create_table (fixture, columns, NULL, NULL);
  g_autoptr (WriteBatch) batch = begin (fixture, NULL);
  g_assert_false (write_batch_rows (batch, "SELECT NULL::BIGINT AS c0, 'a' AS c1", WRITE_ROWS_DEFAULT, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_NOT_NULL_CONSTRAINT_VIOLATED);
  g_assert_cmpstr (error->message, ==, "NOT NULL constraint violated for column: id.");
}

/* What is written beside is in the commit, whatever else was done meanwhile. */
static void
test_rows_beside (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  const char *const properties[] = { "delta.enableChangeDataFeed", "true", NULL };
  create_table (fixture, two_columns, NULL, properties);
  WriteOptions options = { .clock = FIXTURE_CLOCK, .n_rows_expected = 1000 };
  g_autoptr (WriteBatch) batch = begin (fixture, &options);
  WriteSideFile side = { 0 };
  for (guint i = 0; i < 3; i++) {
    g_autofree char *sql =
        g_strdup_printf ("SELECT range + %u AS c0, 'n' AS c1, 'insert' AS _change_type FROM range(1000)", 1000 * i);
    write_batch_rows (batch, sql, WRITE_ROWS_BESIDE | WRITE_ROWS_CHANGE_TYPE, NULL, &error);
    g_assert_no_error (error);
    g_assert_false (write_batch_is_empty (batch));
  }
  write_batch_changes (batch, "SELECT 7000::BIGINT AS c0, 'a' AS c1, 'delete' AS _change_type", NULL, &error);
  g_assert_no_error (error);
  write_batch_side_file (batch, "_state", "SELECT 1 AS a", &side, &error);
  g_assert_no_error (error);
  write_side_file_clear (&side);
  commit (batch, "WRITE");
  g_assert_cmpuint (write_batch_counters (batch)->n_rows_added, ==, 3000);
  g_assert_cmpuint (write_batch_counters (batch)->n_change_rows, ==, 3001);
  g_autofree char *sum = read_table (fixture, "c0", NULL);
  g_assert_true (g_str_has_prefix (sum, "0;1;10;100;1000;1001;"));
  g_auto (GStrv) rows = g_strsplit (sum, ";", 0);
  g_assert_cmpuint (g_strv_length (rows), ==, 3000);
}

static void
test_errors_beside (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  const char *const columns[] = { "!id", "long", "name", "string", NULL };
  const char *sql = "SELECT CASE WHEN range < 999 THEN range END AS c0, 'a' AS c1 FROM range(1000)";
  create_table (fixture, columns, NULL, NULL);
  for (guint i = 0; i < 3; i++) { /* told by the commit, whatever came after, or to nobody */
    WriteOptions options = { .clock = FIXTURE_CLOCK, .n_rows_expected = 1000 };
    g_autoptr (WriteBatch) batch = begin (fixture, &options);
    DeltaCommitResult result = { 0 };
    WriteCommit commit = { .operation = "WRITE" };

    g_assert_true (write_batch_rows (batch, sql, WRITE_ROWS_BESIDE, NULL, &error));
    if (i == 1)
      g_assert_true (write_batch_rows (batch, "SELECT 1::BIGINT AS c0, 'a' AS c1", WRITE_ROWS_BESIDE, NULL, &error));
    if (i < 2)
      g_assert_false (write_batch_commit (batch, &commit, &result, &error));
    if (i < 2)
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_NOT_NULL_CONSTRAINT_VIOLATED);
    g_clear_error (&error);
    delta_commit_result_clear (&result);
  }
  assert_table (fixture, "c0", "");
}

static void
test_append_only_refuses_deletes (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  const char *const properties[] = { "delta.appendOnly", "true", NULL };
  create_table (fixture, two_columns, NULL, properties);
  fixture_append (fixture, "SELECT 1::BIGINT AS c0, 'a' AS c1");
  g_autoptr (WriteBatch) batch = begin (fixture, NULL);
  g_assert_false (write_batch_remove_all (batch, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_CANNOT_MODIFY_APPEND_ONLY);
}

static void
test_changes_need_the_feed (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  const char *const properties[] = { "delta.enableChangeDataFeed", "true", NULL };
  create_table (fixture, two_columns, NULL, properties);
  g_autoptr (WriteBatch) batch = begin (fixture, NULL);
  guint64 n_rows = 0;
  write_batch_rows (batch, "SELECT 1::BIGINT AS c0, 'a' AS c1, 'insert' AS _change_type", WRITE_ROWS_CHANGE_TYPE, NULL,
                    &error);
  g_assert_no_error (error);
  write_batch_changes (batch, "SELECT 1::BIGINT AS c0, 'a' AS c1, 'delete' AS _change_type", &n_rows, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_rows, ==, 1);
  commit (batch, "MERGE");
  g_autoptr (DeltaCommit) made = delta_table_commit (fixture->table, 1, NULL, &error);
  g_assert_no_error (error);
  guint n_cdc = 0;
  for (guint i = 0; i < delta_commit_n_actions (made); i++)
    n_cdc += delta_commit_action (made, i)->kind == DELTA_ACTION_CDC;
  g_assert_cmpuint (n_cdc, ==, 2);
  assert_table (fixture, "c0", "1");
}

static void
test_column_mapping_hides_names (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  const char *const columns[] = { "a b,c", "long", "p;q", "string", NULL };
  const char *const partitions[] = { "p;q", NULL };
  create_table (fixture, columns, partitions, (const char *const[]){ "delta.columnMapping.mode", "name", NULL });
  fixture_append (fixture, "SELECT 5::BIGINT AS c0, 'x' AS c1");
  assert_table (fixture, "c0 || c1", "5x");
}

static void
test_names_are_checked (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const struct {
    const char *columns[5];
    const char *partition;
    SluiceError expected;
  } cases[] = {
    { { "a", "long", "A", "long", NULL }, NULL, SLUICE_ERROR_COLUMN_ALREADY_EXISTS },
    { { "a b", "long", NULL }, NULL, SLUICE_ERROR_DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES },
    { { "a", "long", NULL }, "a", SLUICE_ERROR_DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION },
    { { "a", "long", NULL }, "b", SLUICE_ERROR_DELTA_INVALID_PARTITION_COLUMN },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (BaseType) schema = make_schema (cases[i].columns);
    const char *const partitions[] = { cases[i].partition, NULL };
    g_autoptr (DeltaMetadata) metadata =
        delta_metadata_new (schema, cases[i].partition != NULL ? partitions : NULL, NULL, NULL, NULL, 0);
    g_autoptr (WriteBatch) batch = fixture_batch (fixture, NULL, NULL);
    g_assert_false (write_batch_set_metadata (batch, metadata, &error));
    g_assert_error (error, SLUICE_ERROR, (int) cases[i].expected);
  }
}

#define ADD(name, data, function) g_test_add ("/write/batch/" name, Fixture, data, fixture_begin, function, fixture_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("rows-beside", NULL, test_rows_beside);
  ADD ("errors-beside", NULL, test_errors_beside);
  ADD ("rows-come-back", NULL, test_rows_come_back);
  ADD ("no-rows-make-no-file", NULL, test_no_rows_make_no_file);
  ADD ("large-batches-are-split", NULL, test_large_batches_are_split);
  ADD ("uncommitted-batch-leaves-nothing", NULL, test_uncommitted_batch_leaves_nothing);
  ADD ("partitions-of-every-type", NULL, test_partitions_of_every_type);
  ADD ("deletes-agree/vectors", "true", test_deletes_agree);
  ADD ("deletes-agree/unset", NULL, test_deletes_agree);
  ADD ("deletes-agree/copy-on-write", "false", test_deletes_agree);
  ADD ("vectors-come-when-first-needed", NULL, test_vectors_come_when_first_needed);
  ADD ("rewrites-keep-ids-and-hidden-columns/vectors", "true", test_rewrites_keep_ids_and_hidden_columns);
  ADD ("rewrites-keep-ids-and-hidden-columns/copy-on-write", "false", test_rewrites_keep_ids_and_hidden_columns);
  ADD ("constraints-refuse-rows", NULL, test_constraints_refuse_rows);
  ADD ("append-only-refuses-deletes", NULL, test_append_only_refuses_deletes);
  ADD ("changes-need-the-feed", NULL, test_changes_need_the_feed);
  ADD ("column-mapping-hides-names", NULL, test_column_mapping_hides_names);
  ADD ("names-are-checked", NULL, test_names_are_checked);
  return g_test_run ();
}

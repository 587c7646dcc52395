/* Bytes as a commit file, once as the table's first and once behind a sound one: its actions, the snapshot, and everything
 * that reads a file action's statistics and partition values. Then as each other text file of a log, which may cost time but no
 * answer; as a checkpoint in JSON it is all there is.
 */
#include "delta-scan.h"
#include "delta-table.h"
#include "delta-vector.h"
#include "duck-engine.h"
#include "fuzz.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

static const char sound[] =
    "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"deletionVectors\","
    "\"columnMapping\"],"
    "\"writerFeatures\":[\"deletionVectors\",\"columnMapping\",\"rowTracking\",\"domainMetadata\",\"appendOnly\"]}}\n"
    "{\"metaData\":{\"id\":\"t\",\"format\":{\"provider\":\"parquet\",\"options\":{}},\"schemaString\":\"{\\\"type\\\":"
    "\\\"struct\\\","
    "\\\"fields\\\":[{\\\"name\\\":\\\"i\\\",\\\"type\\\":\\\"integer\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
    "{\\\"name\\\":\\\"s\\\",\\\"type\\\":\\\"string\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
    "{\\\"name\\\":\\\"t\\\",\\\"type\\\":\\\"timestamp\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
    "{\\\"name\\\":\\\"d\\\",\\\"type\\\":\\\"decimal(10,2)\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
    "{\\\"name\\\":\\\"f\\\",\\\"type\\\":\\\"double\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
    "{\\\"name\\\":\\\"p\\\",\\\"type\\\":\\\"date\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}}]}\","
    "\"partitionColumns\":[\"p\"],\"configuration\":{},\"createdTime\":1}}\n";

static DuckEngine *engine;
static char *directory;

static void
remove_directory (void)
{
  g_autoptr (Store) store = store_open (NULL, directory, NULL);

  (void) store_delete_tree (store, "", NULL); /* at the end: nobody is left to tell */
}

static void
start (void)
{
  DuckEngineOptions options = { .n_threads = 1, .memory_limit_bytes = G_GINT64_CONSTANT (500) << 20 };

  if (engine != NULL)
    return;
  engine = duck_engine_new (&options, NULL);
  directory = g_dir_make_tmp ("fuzz-log-XXXXXX", NULL);
  fuzz_require (engine != NULL && directory != NULL, "an engine and a directory");
  atexit (remove_directory);
}

static void
put (Store *store, guint version, const void *data, gsize size)
{
  g_autofree char *key = g_strdup_printf ("_delta_log/%020u.json", version);

  fuzz_require (store_put (store, key, data, size, STORE_PUT_UNSYNCED, NULL), "a store takes any bytes");
}

/* Every column is asked for something: all statistics are read. */
static void
skip_file (DeltaSnapshot *snapshot, DeltaFile *file)
{
  BaseType *schema = delta_snapshot_schema (snapshot);
  guint n = base_type_n_fields (schema);

  for (guint column = 0; column < MIN (n, 20); column++) {
    DeltaConstant constant = { .kind = base_type_kind (base_type_field (schema, column)->type),
                               .integer = 7,
                               .real = 7,
                               .text = "7",
                               .text_bytes = 1 };
    const DeltaPredicate predicates[] = { { column, DELTA_PREDICATE_GT, &constant, 1 },
                                          { column, DELTA_PREDICATE_IN, &constant, 1 },
                                          { column, DELTA_PREDICATE_IS_NULL, NULL, 0 } };

    for (guint i = 0; i < G_N_ELEMENTS (predicates); i++)
      (void) delta_file_may_match (delta_snapshot_metadata (snapshot), file, &predicates[i], 1); /* either is right */
  }
}

static void
read_file (DeltaSnapshot *snapshot, DeltaFile *file)
{
  const DeltaVectorDescriptor *vector = delta_file_vector (file);

  skip_file (snapshot, file);
  fuzz_require (delta_file_n_live_records (file) <= delta_file_n_records (file), "no more rows live than there are");
  for (guint i = 0; i < delta_file_n_partition_values (file); i++) {
    DeltaPartitionValue value = delta_file_partition_value (file, i);
    g_autofree char *folder = delta_file_partition_directory (value.column, value.text);

    fuzz_require (folder[strlen (folder) - 1] == '/', "a partition directory ends in a slash");
  }
  if (vector != NULL) {
    g_autofree char *id = delta_vector_descriptor_id (vector);
    g_autofree char *key = delta_vector_descriptor_file (vector);
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaVector) loaded = delta_vector_load (delta_snapshot_table (snapshot), vector, &error);

    fuzz_check (loaded != NULL, error);
  }
}

static void
read_snapshot (DeltaSnapshot *snapshot)
{
  g_auto (GStrv) files = delta_snapshot_domain_files (snapshot);
  g_auto (GStrv) columns = delta_snapshot_hidden_columns (snapshot);
  guint n_fields = base_type_n_fields (delta_snapshot_schema (snapshot));
  g_autofree DeltaScanColumn *wanted = g_new0 (DeltaScanColumn, n_fields + 1);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  DeltaScanRequest request = { .columns = wanted, .n_columns = n_fields };
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaScan) scan = NULL;

  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++)
    read_file (snapshot, delta_snapshot_file (snapshot, i));
  for (guint i = 0; i < delta_snapshot_n_tombstones (snapshot); i++)
    read_file (snapshot, delta_snapshot_tombstone (snapshot, i));
  for (guint i = 0; i < n_fields; i++) {
    char *name = g_strdup_printf ("c%u", i);
    g_ptr_array_add (names, name);
    wanted[i] = (DeltaScanColumn){ i, name };
  }
  scan = delta_scan_new (snapshot, &request, NULL, &error);
  fuzz_check (scan != NULL, error);
}

static void
read_table (Store *store, guint version)
{
  g_autoptr (DeltaTable) table = delta_table_new (store, engine);
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) commit_error = NULL;
  g_autoptr (GError) history_error = NULL;
  g_autoptr (DeltaCommit) commit = delta_table_commit (table, version, NULL, &commit_error);
  g_autoptr (GPtrArray) history = delta_table_history (table, 0, NULL, &history_error);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);

  fuzz_check (commit != NULL, commit_error);
  fuzz_check (history != NULL, history_error);
  fuzz_check (snapshot != NULL, error);
  if (snapshot != NULL)
    read_snapshot (snapshot);
}

static void
put_named (Store *store, const char *name, const void *data, gsize size)
{
  g_autofree char *key = g_strconcat ("_delta_log/", name, NULL);

  fuzz_require (store_put (store, key, data, size, STORE_PUT_UNSYNCED, NULL), "a store takes any bytes");
}

/* What `{"@name":` begins in a line of the sound commit, without the last bracket. */
static char *
sound_value (const char *name)
{
  g_autofree char *start = g_strdup_printf ("{\"%s\":", name);
  const char *value = strstr (sound, start) + strlen (start);

  return g_strndup (value, (gsize) (strchr (value, '\n') - value) - 1);
}

/* Two sound commits and @data beside them. */
static void
read_beside (const char *name, const void *data, gsize size)
{
  g_autofree char *metadata = sound_value ("metaData");
  g_autofree char *protocol = sound_value ("protocol");
  g_autofree char *sum = g_strdup_printf ("{\"numFiles\":0,\"tableSizeBytes\":0,\"metadata\":%s,\"protocol\":%s,"
                                          "\"domainMetadata\":[]}",
                                          metadata, protocol);
  g_autoptr (Store) store = store_open (NULL, directory, NULL);
  g_autoptr (DeltaTable) table = delta_table_new (store, engine);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  put (store, 0, sound, sizeof sound - 1);
  put (store, 1, "", 0);
  put_named (store, "00000000000000000001.crc", sum, strlen (sum));
  put_named (store, name, data, size);
  snapshot = delta_table_snapshot (table, NULL, &error);
  fuzz_check (snapshot != NULL, error);
  fuzz_require (snapshot != NULL && delta_snapshot_n_files (snapshot) == 0, "the commits have the last word");
  fuzz_require (store_delete_tree (store, "_delta_log", NULL), "a log can be deleted");
}

static void
read_json_checkpoint (const void *data, gsize size)
{
  g_autoptr (Store) store = store_open (NULL, directory, NULL);
  g_autoptr (DeltaTable) table = delta_table_new (store, engine);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  put_named (store, "00000000000000000000.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", data, size);
  snapshot = delta_table_snapshot (table, NULL, &error);
  fuzz_check (snapshot != NULL, error);
  if (snapshot != NULL)
    read_snapshot (snapshot);
  fuzz_require (store_delete_tree (store, "_delta_log", NULL), "a log can be deleted");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  start ();
  for (guint version = 0; version < 2; version++) {
    g_autoptr (Store) store = store_open (NULL, directory, NULL);

    if (version > 0)
      put (store, 0, sound, sizeof sound - 1);
    put (store, version, data, size);
    read_table (store, version);
    fuzz_require (store_delete_tree (store, "_delta_log", NULL), "a log can be deleted");
  }
  read_beside ("00000000000000000000.00000000000000000001.compacted.json", data, size);
  read_beside ("00000000000000000001.crc", data, size);
  read_beside ("_last_checkpoint", data, size);
  read_json_checkpoint (data, size);
  return 0;
}

/* Scans over real Parquet files: mapping, partition values, vectors, hidden columns, row ids, skipping; and checkpoints, which are
 * Parquet too.
 */
#include "../../../tests/support/canon.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-checkpoint.h"
#include "delta-scan.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "duck-copy.h"
#include "duck-engine.h"
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const BaseClock test_clock = { .fixed_us = G_GINT64_CONSTANT (1767225600000000) };

typedef struct {
  char *directory;
  DuckEngine *engine;
  DuckSession *session;
  Store *store;
  DeltaTable *table;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  DuckEngineOptions options = { .n_threads = 2, .least_cached_rows = 1 };
  g_autofree char *location = NULL;

  fixture->directory = g_dir_make_tmp ("sluice-delta-XXXXXX", &error);
  g_assert_no_error (error);
  /* A place with everything that globs and URIs dislike. */
  location = g_build_filename (fixture->directory, "t [1]*?%41", NULL);
  fixture->engine = duck_engine_new (&options, &error);
  g_assert_no_error (error);
  fixture->session = duck_session_new (fixture->engine, &error);
  g_assert_no_error (error);
  fixture->store = store_open (NULL, location, &error);
  g_assert_no_error (error);
  fixture->table = delta_table_new (fixture->store, fixture->engine);
}

static void
tear_down (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (Store) all = store_open (NULL, fixture->directory, NULL);

  delta_table_unref (fixture->table);
  store_unref (fixture->store);
  duck_session_free (fixture->session);
  duck_engine_unref (fixture->engine);
  (void) store_delete_tree (all, "", NULL); /* a leftover does no harm */
  g_free (fixture->directory);
}

/* Makes a table from a schema in JSON. */
static void
create (Fixture *fixture, const char *schema_text, const char *const *partition_columns, const char *key,
        const char *value)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (json_t) json = json_loads (schema_text, 0, NULL);
  g_autoptr (BaseType) schema = base_type_from_json (json, &error);
  g_autoptr (GHashTable) properties = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (DeltaMetadata) wanted = NULL;
  g_autoptr (DeltaMetadata) metadata = NULL;
  g_autoptr (DeltaTransaction) transaction = NULL;
  DeltaCommitResult result;

  g_assert_no_error (error);
  if (key != NULL)
    g_hash_table_insert (properties, (gpointer) key, (gpointer) value);
  wanted = delta_metadata_new (schema, partition_columns, properties, NULL, NULL, 0);
  metadata = delta_metadata_prepare (wanted, NULL, &error);
  g_assert_no_error (error);
  transaction = delta_transaction_new_table (fixture->table, metadata, &test_clock);
  g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  g_assert_no_error (error);
}

static DeltaSnapshot *
snapshot_of (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  DeltaSnapshot *snapshot = delta_table_snapshot (fixture->table, NULL, &error);

  g_assert_no_error (error);
  return snapshot;
}

/* Writes @select to a file and commits it. @vector: (nullable). */
static void
add_file (Fixture *fixture, const char *key, const char *select, gint64 n_records, const DeltaPartitionValue *values,
          guint n_values, const char *stats_rest, const DeltaVectorDescriptor *vector)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = snapshot_of (fixture);
  g_autoptr (DeltaTransaction) transaction = delta_transaction_new (fixture->table, snapshot, &test_clock);
  g_autofree char *scratch = store_scratch_path (fixture->store, ".parquet", &error);
  g_autoptr (GPtrArray) files = duck_session_copy_parquet (fixture->session, select, scratch, NULL, NULL, &error);
  g_autofree char *path = delta_file_encode_path (key);
  g_autofree char *stats = g_strdup_printf ("{\"numRecords\":%" G_GINT64_FORMAT "%s}", n_records, stats_rest);
  g_autoptr (DeltaFile) file = NULL;
  DeltaFileInfo info = DELTA_FILE_INFO_INIT;
  DeltaCommitResult result;

  g_assert_no_error (error);
  g_assert_true (store_publish_file (fixture->store, scratch, key, &error));
  g_assert_no_error (error);
  info.path = path;
  info.size_bytes = ((DuckCopyFile *) files->pdata[0])->file_bytes;
  info.partition_values = values;
  info.n_partition_values = n_values;
  info.stats = stats;
  info.vector = vector;
  file = delta_file_new (&info);
  g_assert_true (delta_transaction_add (transaction, file, &error));
  g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  g_assert_no_error (error);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The rows of a query, sorted, one a line. */
static char *
rows_of (Fixture *fixture, const char *sql, const BaseType *schema)
{
  g_autoptr (GError) error = NULL;
  CanonSummary summary;
  g_autoptr (GString) text = g_string_new (NULL);

  if (!canon_query (fixture->session, sql, schema, TRUE, &summary, &error))
    g_error ("%s: %s", sql, error->message);
  g_ptr_array_sort (summary.rows, compare_texts);
  for (guint i = 0; i < summary.rows->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "\n" : "", (char *) summary.rows->pdata[i]);
  canon_summary_clear (&summary);
  return g_strdup (text->str);
}

static BaseType *
ddl (const BaseType *const *types, guint n)
{
  BaseStructBuilder *builder = base_struct_builder_new ();

  for (guint i = 0; i < n; i++)
    base_struct_builder_add (builder, "x", types[i], TRUE, NULL);
  return base_struct_builder_end (builder);
}

/* A digest of the rows; without numbers of files, which are of one scan. */
static char *
digest_of (DuckSession *session, DeltaScan *scan)
{
  g_autofree char *sql = g_strdup_printf (
      "SELECT count(*) || ' ' || coalesce(sum(hash(t::VARCHAR)::HUGEINT), 0) FROM (%s) t", delta_scan_sql (scan));
  g_autoptr (GError) error = NULL;
  char *text = NULL;

  duck_session_query_string (session, sql, NULL, &text, &error);
  g_assert_no_error (error);
  return text;
}

/* The rows are the same when they are noted, when they are put into memory, and when they come from there. */
static void
check_again (DeltaSnapshot *snapshot, const DeltaScanRequest *request)
{
  DeltaScanRequest again = *request;
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (delta_table_engine (delta_snapshot_table (snapshot)), &error);
  g_autofree char *want = NULL;

  g_assert_no_error (error);
  again.file_index_name = NULL;
  for (guint i = 0; i < 4 && request->path_name == NULL; i++) {
    g_autoptr (DeltaScan) scan = delta_scan_new (snapshot, &again, NULL, &error);
    g_autofree char *got = NULL;

    g_assert_no_error (error);
    g_assert_true (i < 3 || delta_scan_n_files (scan) == 0 ||
                   strstr (delta_scan_sql (scan), "FROM sluice_parts(") != NULL);
    got = digest_of (session, scan);
    if (want == NULL)
      want = g_strdup (got);
    g_assert_cmpstr (got, ==, want);
    again.again = TRUE;
  }
}

static DeltaScan *
scan_of (DeltaSnapshot *snapshot, const DeltaScanRequest *request)
{
  g_autoptr (GError) error = NULL;
  DeltaScan *scan = delta_scan_new (snapshot, request, NULL, &error);

  g_assert_no_error (error);
  check_again (snapshot, request);
  return scan;
}

static void
expect_all (Fixture *fixture, const char *expected)
{
  g_autoptr (DeltaSnapshot) snapshot = snapshot_of (fixture);
  guint n = base_type_n_fields (delta_snapshot_schema (snapshot));
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, n);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  DeltaScanRequest request = { .columns = columns, .n_columns = n };
  g_autoptr (DeltaScan) scan = NULL;
  g_autofree char *rows = NULL;

  for (guint i = 0; i < n; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", i));
    columns[i] = (DeltaScanColumn){ i, names->pdata[i] };
  }
  scan = scan_of (snapshot, &request);
  rows = rows_of (fixture, delta_scan_sql (scan), delta_snapshot_schema (snapshot));
  g_assert_cmpstr (rows, ==, expected);
}

#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type ",\"nullable\":true,\"metadata\":{}}"
#define STRUCT(fields)    "{\"type\":\"struct\",\"fields\":[" fields "]}"

static void
test_partition_values_of_every_type (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  const char *const columns[] = { "b", "i", "l", "f", "d", "n", "s", "x", "dt", "ts", "nz", NULL };
  const char *const first[] = { "true",
                                "-7",
                                "9223372036854775807",
                                "1.5",
                                "-0.0",
                                "1E+2",
                                "it's %41",
                                "\001a",
                                "2024-02-29",
                                "2024-01-01 10:00:00.5",
                                "0001-01-01 00:00:00" };
  const char *const second[] = { "false",
                                 "8",
                                 "-9223372036854775808",
                                 "NaN",
                                 "Infinity",
                                 "-12.34",
                                 "ü",
                                 "z",
                                 "1969-12-31",
                                 "2024-01-01T10:00:00.123456Z",
                                 "9999-12-31 23:59:59.999999" };
  DeltaPartitionValue values[3][11];

  create (
      fixture,
      STRUCT (FIELD ("b", "\"boolean\"") "," FIELD ("i", "\"integer\"") "," FIELD ("l", "\"long\"") "," FIELD (
          "f",
          "\"floa"
          "t\"") "," FIELD ("d",
                            "\"double\"") "," FIELD ("n",
                                                     "\"decimal(10,2)\"") "," FIELD ("s",
                                                                                     "\"string\"") "," FIELD ("x",
                                                                                                              "\"binary"
                                                                                                              "\"") "," FIELD ("dt",
                                                                                                                               "\"date\"") "," FIELD ("ts",
                                                                                                                                                      "\"timestamp\"") "," FIELD ("nz",
                                                                                                                                                                                  "\"t"
                                                                                                                                                                                  "ime"
                                                                                                                                                                                  "sta"
                                                                                                                                                                                  "mp_"
                                                                                                                                                                                  "ntz"
                                                                                                                                                                                  "\"") "," FIELD ("v",
                                                                                                                                                                                                   "\"long\"")),
      columns, NULL, NULL);
  for (guint i = 0; i < 11; i++) {
    values[0][i] = (DeltaPartitionValue){ columns[i], first[i], strlen (first[i]) };
    values[1][i] = (DeltaPartitionValue){ columns[i], second[i], strlen (second[i]) };
    values[2][i] = (DeltaPartitionValue){ columns[i], NULL, 0 };
  }
  add_file (fixture, "b=true/f1.parquet", "SELECT 1::BIGINT AS v", 1, values[0], 11, "", NULL);
  /* One file: literals. */
  expect_all (fixture, "[true,-7,9223372036854775807,1.5,-0.0,\"100.00\",\"it's %41\",\"0161\",\"2024-02-29\","
                       "1704103200500000,-62135596800000000,1]");
  add_file (fixture, "b=false/f2.parquet", "SELECT 2::BIGINT AS v", 1, values[1], 11, "", NULL);
  add_file (fixture, "b=__HIVE_DEFAULT_PARTITION__/f3.parquet", "SELECT 3::BIGINT AS v", 1, values[2], 11, "", NULL);
  /* Several: a lent table. */
  expect_all (fixture, "[false,8,-9223372036854775808,\"NaN\",\"Infinity\",\"-12.34\",\"ü\",\"7a\",\"1969-12-31\","
                       "1704103200123456,253402300799999999,2]\n"
                       "[null,null,null,null,null,null,null,null,null,null,null,3]\n"
                       "[true,-7,9223372036854775807,1.5,-0.0,\"100.00\",\"it's %41\",\"0161\",\"2024-02-29\","
                       "1704103200500000,-62135596800000000,1]");
}

static guint
n_of (const char *text, const char *what)
{
  guint n = 0;

  while ((text = strstr (text, what)) != NULL) {
    n++;
    text += strlen (what);
  }
  return n;
}

/* Reads the table as a stream of batches does, and says of how many files it is in memory. */
static guint
scan_again (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = snapshot_of (fixture);
  DeltaScanColumn column = { 0, "a" };
  DeltaScanRequest request = { .columns = &column, .n_columns = 1, .again = TRUE };
  g_autoptr (DeltaScan) scan = delta_scan_new (snapshot, &request, NULL, &error);

  g_assert_no_error (error);
  return delta_scan_n_files (scan) - n_of (delta_scan_sql (scan), ".parquet");
}

/* A process that reads again has files in memory, and then new ones at once; one that reads once keeps nothing. */
static void
test_new_files_are_kept (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  create (fixture,
          "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}",
          NULL, NULL, NULL);
  add_file (fixture, "one.parquet", "SELECT range AS a FROM range(3000)", 3000, NULL, 0, "", NULL);
  g_assert_cmpuint (scan_again (fixture), ==, 0);
  g_assert_cmpuint (duck_cache_bytes (fixture->engine), ==, 0);
  g_assert_cmpuint (scan_again (fixture), ==, 1);
  add_file (fixture, "two.parquet", "SELECT range AS a FROM range(3000)", 3000, NULL, 0, "", NULL);
  add_file (fixture, "a-third.parquet", "SELECT range AS a FROM range(3000)", 3000, NULL, 0, "", NULL);
  g_assert_cmpuint (scan_again (fixture), ==, 3);
  g_assert_cmpuint (scan_again (fixture), ==, 3);
}

static void
test_a_bad_partition_value_is_named (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  const char *const columns[] = { "i", NULL };
  DeltaPartitionValue value = { "i", "12x", 3 };
  DeltaScanColumn column = { 0, "c0" };
  DeltaScanRequest request = { .columns = &column, .n_columns = 1 };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (GError) error = NULL;

  create (fixture, STRUCT (FIELD ("i", "\"integer\"") "," FIELD ("v", "\"long\"")), columns, NULL, NULL);
  add_file (fixture, "i=12x/f.parquet", "SELECT 1::BIGINT AS v", 1, &value, 1, "", NULL);
  snapshot = snapshot_of (fixture);
  g_assert_null (delta_scan_new (snapshot, &request, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_INVALID_PARTITION_VALUE);
}

/* Files written before a column came, with more columns, in another order. */
static void
test_files_of_other_schemas (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  create (fixture,
          STRUCT (FIELD ("id", "\"long\"") "," FIELD (
              "s", STRUCT (FIELD ("a", "\"integer\"") "," FIELD (
                       "b", "\"string\""))) "," FIELD ("filename", "\"string\"") "," FIELD ("nothing", "\"void\"")),
          NULL, NULL, NULL);
  add_file (fixture, "f1.parquet", "SELECT 1::BIGINT AS id", 1, NULL, 0, "", NULL);
  add_file (fixture, "f2.parquet",
            "SELECT 'x' AS filename, {'b': 'y', 'zz': 4} AS s, 2::BIGINT AS id, 7 AS file_row_number", 1, NULL, 0, "",
            NULL);
  add_file (fixture, "a [b]*?%41/f3.parquet", "SELECT 3::INTEGER AS id, NULL::STRUCT(a INTEGER) AS s", 1, NULL, 0, "",
            NULL);
  expect_all (fixture, "[1,null,null,null]\n[2,[null,\"y\"],\"x\",null]\n[3,null,null,null]");
}

static void
test_mapping_renames_inside_too (Fixture *fixture, gconstpointer data)
{
  const char *mode = data;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  BaseType *schema;
  DeltaMapping mapping;
  const BaseField *list;
  const BaseField *map;
  const BaseField *inner;
  const BaseField *map_inner;
  g_autofree char *select = NULL;

  create (fixture,
          STRUCT (FIELD (
              "l",
              "{\"type\":\"array\",\"elementType\":" STRUCT (FIELD (
                  "when",
                  "\"timestamp\"")) ",\"containsNull\":true}") "," FIELD ("m",
                                                                          "{\"type\":\"map\",\"keyType\":\"string\","
                                                                          "\"valueType\":" STRUCT (FIELD (
                                                                              "v",
                                                                              "\"long\"")) ",\"valueContainsNull\":"
                                                                                           "true}") "," FIELD ("gone",
                                                                                                               "\"strin"
                                                                                                               "g\"")),
          NULL, "delta.columnMapping.mode", mode);
  snapshot = snapshot_of (fixture);
  schema = delta_snapshot_schema (snapshot);
  mapping = delta_metadata_mapping (delta_snapshot_metadata (snapshot));
  list = base_type_field (schema, 0);
  map = base_type_field (schema, 1);
  inner = base_type_field (base_type_element (list->type), 0);
  map_inner = base_type_field (base_type_value (map->type), 0);
  /* A wall clock timestamp under a list under mapping, read in a session far from UTC. */
  select = g_strdup_printf ("SELECT [{'%s': TIMESTAMP '1970-01-01 00:00:01'}, NULL] AS \"%s\", "
                            "MAP {'k': {'%s': 5::BIGINT}, 'n': NULL} AS \"%s\" UNION ALL SELECT NULL, NULL",
                            delta_field_physical_name (inner, mapping), delta_field_physical_name (list, mapping),
                            delta_field_physical_name (map_inner, mapping), delta_field_physical_name (map, mapping));
  add_file (fixture, "f.parquet", select, 2, NULL, 0, "", NULL);
  g_assert_true (duck_session_set_time_zone (fixture->session, "America/New_York", NULL));
  expect_all (fixture, "[[[1000000],null],[[\"k\",[5]],[\"n\",null]],null]\n[null,null,null]");
}

/* Ids in the file rule, whatever the names are. */
static void
test_mapping_by_id_follows_ids (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *scratch = NULL;
  g_autoptr (GPtrArray) files = NULL;
  DuckCopyOptions options = { .field_ids = "{\"a\": 2, \"b\": 1, \"s\": {__duckdb_field_id: 3, \"y\": 4}}" };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaTransaction) transaction = NULL;
  g_autoptr (DeltaFile) file = NULL;
  DeltaFileInfo info = DELTA_FILE_INFO_INIT;
  DeltaCommitResult result;

  create (fixture,
          STRUCT (FIELD ("first", "\"long\"") "," FIELD ("second", "\"long\"") "," FIELD (
              "s", STRUCT (FIELD ("x", "\"string\"")))),
          NULL, "delta.columnMapping.mode", "id");
  scratch = store_scratch_path (fixture->store, ".parquet", &error);
  files = duck_session_copy_parquet (fixture->session, "SELECT 2::BIGINT AS a, 1::BIGINT AS b, {'y': 'in'} AS s",
                                     scratch, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (store_publish_file (fixture->store, scratch, "f.parquet", &error));
  snapshot = snapshot_of (fixture);
  transaction = delta_transaction_new (fixture->table, snapshot, &test_clock);
  info.path = "f.parquet";
  info.stats = "{\"numRecords\":1}";
  file = delta_file_new (&info);
  g_assert_true (delta_transaction_add (transaction, file, &error));
  g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  expect_all (fixture, "[1,2,[\"in\"]]");
}

static void
test_vectors_hidden_columns_and_row_ids (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const guint64 dead[] = { 1, 2 };
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) instant = base_type_simple (BASE_TYPE_TIMESTAMP);
  const BaseType *types[] = { number, text, number, number, number, number, number };
  g_autoptr (BaseType) schema = ddl (types, G_N_ELEMENTS (types));
  g_autoptr (DeltaVector) vector = delta_vector_new ();
  g_autoptr (DeltaVectorDescriptor) descriptor = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  DeltaScanColumn column = { 0, "id" };
  DeltaScanHidden hidden = { "_h", text, "hidden" };
  DeltaScanRequest request = { .columns = &column,
                               .n_columns = 1,
                               .hidden = &hidden,
                               .n_hidden = 1,
                               .file_index_name = "fi",
                               .row_number_name = "rn",
                               .row_id_name = "rid",
                               .row_commit_version_name = "rcv",
                               .size_name = "size" };
  g_autofree char *select = NULL;

  create (fixture, STRUCT (FIELD ("id", "\"long\"")), NULL, "delta.enableRowTracking", "true");
  snapshot = snapshot_of (fixture);
  delta_vector_add_many (vector, dead, 2);
  descriptor = delta_vector_inline (vector);
  add_file (fixture, "f1.parquet", "SELECT range AS id FROM range(4) ORDER BY 1", 4, NULL, 0, "", descriptor);
  /* A moved row: it brings its id and version. */
  select = g_strdup_printf ("SELECT 9::BIGINT AS id, 'x' AS _h, 1::BIGINT AS \"%s\", NULL::BIGINT AS \"%s\"",
                            delta_metadata_row_id_column (delta_snapshot_metadata (snapshot)),
                            delta_metadata_row_commit_version_column (delta_snapshot_metadata (snapshot)));
  add_file (fixture, "f2.parquet", select, 1, NULL, 0, "", NULL);
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  snapshot = snapshot_of (fixture);
  {
    g_autoptr (DeltaScan) scan = scan_of (snapshot, &request);
    gint64 size_1 = delta_file_size_bytes (delta_snapshot_find_file (snapshot, "f1.parquet"));
    gint64 size_2 = delta_file_size_bytes (delta_snapshot_find_file (snapshot, "f2.parquet"));
    g_autofree char *rows = rows_of (fixture, delta_scan_sql (scan), schema);
    g_autofree char *expected = g_strdup_printf ("[0,null,1,0,0,1,%d]\n[3,null,1,3,3,1,%d]\n[9,\"x\",0,0,1,2,%d]",
                                                 (int) size_1, (int) size_1, (int) size_2);
    g_assert_cmpstr (rows, ==, expected);
    g_assert_cmpstr (delta_file_path (delta_scan_file (scan, 1)), ==, "f1.parquet");
    g_assert_cmpstr (delta_file_path (delta_scan_file (scan, 0)), ==, "f2.parquet");
    g_assert_null (delta_scan_file (scan, 2));
  }
  {
    /* The feed's ways: rows of one vector, rows not in one, all rows; with values of its own. */
    DeltaFile *file = delta_snapshot_find_file (snapshot, "f1.parquet");
    const char *const deleted[] = { "delete", "7", "1000000" };
    const char *const inserted[] = { "insert", NULL, "2000000" };
    DeltaScanValue values[] = { { text, "kind" }, { number, "version" }, { instant, "at" } };
    DeltaScanInput inputs[] = { { file, DELTA_SCAN_ONLY, vector, deleted },
                                { file, DELTA_SCAN_EXCEPT, vector, inserted },
                                { file, DELTA_SCAN_ALL, NULL, inserted } };
    DeltaScanRequest feed = { .columns = &column,
                              .n_columns = 1,
                              .values = values,
                              .n_values = 3,
                              .inputs = inputs,
                              .n_inputs = 3,
                              .explicit_inputs = TRUE };
    const BaseType *feed_types[] = { number, text, number, instant };
    g_autoptr (BaseType) feed_schema = ddl (feed_types, 4);
    g_autoptr (DeltaScan) scan = scan_of (snapshot, &feed);
    g_autofree char *rows = rows_of (fixture, delta_scan_sql (scan), feed_schema);
    g_assert_cmpstr (rows, ==,
                     "[0,\"insert\",null,2000000]\n[0,\"insert\",null,2000000]\n[1,\"delete\",7,1000000]\n"
                     "[1,\"insert\",null,2000000]\n[2,\"delete\",7,1000000]\n[2,\"insert\",null,2000000]\n"
                     "[3,\"insert\",null,2000000]\n[3,\"insert\",null,2000000]");
    feed.n_inputs = 0;
    {
      g_autoptr (DeltaScan) none = scan_of (snapshot, &feed);
      g_autofree char *no_rows = rows_of (fixture, delta_scan_sql (none), feed_schema);
      g_assert_cmpstr (no_rows, ==, "");
    }
  }
  /* The scan numbers files as it likes (f2, without a vector, is 0), but a value stays with its file. */
  for (guint turn = 0; turn < 2; turn++) {
    const char *const first[] = { "f1" }, *const second[] = { "f2" };
    DeltaScanValue value = { text, "of" };
    DeltaScanInput f1 = { delta_snapshot_find_file (snapshot, "f1.parquet"), DELTA_SCAN_LIVE, NULL, first };
    DeltaScanInput f2 = { delta_snapshot_find_file (snapshot, "f2.parquet"), DELTA_SCAN_LIVE, NULL, second };
    DeltaScanInput inputs[] = { turn ? f2 : f1, turn ? f1 : f2 };
    DeltaScanRequest again = { .columns = &column,
                               .n_columns = 1,
                               .values = &value,
                               .n_values = 1,
                               .inputs = inputs,
                               .n_inputs = 2,
                               .explicit_inputs = TRUE };
    const BaseType *again_types[] = { number, text };
    g_autoptr (BaseType) again_schema = ddl (again_types, 2);
    g_autoptr (DeltaScan) scan = scan_of (snapshot, &again);
    g_autofree char *rows = rows_of (fixture, delta_scan_sql (scan), again_schema);
    g_assert_cmpstr (rows, ==, "[0,\"f1\"]\n[3,\"f1\"]\n[9,\"f2\"]");
  }
  {
    DeltaScanRequest count = { 0 };
    g_autoptr (DeltaScan) scan = scan_of (snapshot, &count);
    g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM (%s)", delta_scan_sql (scan));
    gint64 n = 0;
    g_assert_true (duck_session_query_int64 (fixture->session, sql, NULL, &n, NULL, NULL));
    g_assert_cmpint (n, ==, 3);
  }
}

/* Text that was not marked as text, a wall clock stored as an instant, and a number that would be rounded. */
static void
test_types_other_than_the_schema_says (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  DeltaScanColumn column = { 0, "s" };
  DeltaScanRequest request = { .columns = &column, .n_columns = 1 };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (GError) error = NULL;

  create (fixture, STRUCT (FIELD ("s", "\"string\"") "," FIELD ("l", "\"long\"") "," FIELD ("t", "\"timestamp_ntz\"")),
          NULL, NULL, NULL);
  g_assert_true (duck_session_set_time_zone (fixture->session, "America/New_York", NULL));
  add_file (fixture, "a.parquet",
            "SELECT encode('ü') AS s, 1::SMALLINT AS l, TIMESTAMPTZ '1970-01-01 00:00:01+00' AS t", 1, NULL, 0, "",
            NULL);
  add_file (fixture, "b.parquet", "SELECT 'x' AS s, 2::BIGINT AS l, TIMESTAMP '1970-01-01 00:00:02' AS t", 1, NULL, 0,
            "", NULL);
  expect_all (fixture, "[\"x\",2,2000000]\n[\"ü\",1,1000000]");
  add_file (fixture, "c.parquet", "SELECT 1.5::DOUBLE AS s", 1, NULL, 0, "", NULL);
  snapshot = snapshot_of (fixture);
  g_assert_null (delta_scan_new (snapshot, &request, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE);
}

#define WIDENED(name, type, from)                                                                                      \
  "{\"name\":\"" name "\",\"type\":" type                                                                              \
  ",\"nullable\":true,\"metadata\":{\"delta.typeChanges\":[{\"fromType\":\"" from "\",\"toType\":" type "}]}}"
#define LIST_OF(type)      "{\"type\":\"array\",\"elementType\":" type ",\"containsNull\":true}"
#define MAP_OF(key, value) "{\"type\":\"map\",\"keyType\":" key ",\"valueType\":" value ",\"valueContainsNull\":true}"

static guint64
count_of (Fixture *fixture, const char *from, const char *predicate)
{
  g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM %s WHERE %s", from, predicate);
  g_autoptr (GError) error = NULL;
  gint64 count;

  if (!duck_session_query_int64 (fixture->session, sql, NULL, &count, NULL, &error))
    g_error ("%s: %s", sql, error->message);
  return (guint64) count;
}

/* DuckDB's Bloom filters of BLOBs are asked for the printed form of a value: a filter must not get as far as that. */
static void
test_filters_find_binary_values (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  DeltaScanColumn column = { 0, "b" };
  DeltaScanRequest request = { .columns = &column, .n_columns = 1 };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaScan) scan = NULL;
  g_autofree char *from = NULL;
  g_autoptr (GError) error = NULL;

  create (fixture, STRUCT (FIELD ("b", "\"binary\"")), NULL, NULL, NULL);
  add_file (fixture, "a.parquet", "SELECT '\\xFF\\x00'::BLOB AS b FROM range(50)", 50, NULL, 0, "", NULL);
  snapshot = snapshot_of (fixture);
  scan = delta_scan_new (snapshot, &request, NULL, &error);
  g_assert_no_error (error);
  from = g_strdup_printf ("(%s)", delta_scan_sql (scan));
  g_assert_cmpuint (count_of (fixture, from, "b = '\\xFF\\x00'::BLOB"), ==, 50);
  g_assert_cmpuint (count_of (fixture, from, "b IN ('\\xFF\\x00'::BLOB, 'a'::BLOB)"), ==, 50);
}

/* Files from before a type became wider: their values are those of the wider type, and a filter that DuckDB pushes down into a
 * file meets bounds of the narrower one. */
static void
test_files_of_narrower_types (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char schema[] = STRUCT (
      WIDENED ("b", "\"long\"", "byte") "," WIDENED ("s", "\"integer\"", "short") "," WIDENED ("i", "\"long\"", "integer") "," WIDENED ("f", "\"double\"", "float") "," WIDENED ("y", "\"double\"", "byte") "," WIDENED ("n", "\"decimal(12,4)\"", "decimal(6,2)") "," WIDENED (
          "m", "\"decimal(12,1)\"",
          "integer") "," WIDENED ("l", "\"decimal(22,2)\"",
                                  "long") "," WIDENED ("d", "\"timestamp_ntz\"",
                                                       "date") "," FIELD ("a",
                                                                          LIST_OF (
                                                                              "\"long\"")) "," FIELD ("k",
                                                                                                      MAP_OF (
                                                                                                          "\"double\"",
                                                                                                          "\"decimal(8,"
                                                                                                          "4)\"")) "," FIELD ("t",
                                                                                                                              STRUCT (WIDENED ("x", "\"long\"", "integer") "," FIELD (
                                                                                                                                  "y",
                                                                                                                                  LIST_OF (STRUCT (FIELD (
                                                                                                                                      "z",
                                                                                                                                      "\"double\"")))))));
  static const char old_file[] =
      "SELECT * FROM (VALUES (127::TINYINT, (-300)::SMALLINT, 2147483647::INTEGER, 0.7::FLOAT, 5::TINYINT, "
      "1234.56::DECIMAL(6,2), (-2147483648)::INTEGER, 9223372036854775807::BIGINT, DATE '2024-02-29', [1::INTEGER, "
      "NULL], "
      "MAP {0.1::FLOAT: 1.25::DECIMAL(6,2)}, {'x': 7::INTEGER, 'y': [{'z': 0.1::FLOAT}]}), "
      "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) v (b, s, i, f, y, n, m, l, d, a, k, "
      "t)";
  static const char new_file[] =
      "SELECT 3000000000::BIGINT AS b, 40000::INTEGER AS s, 3000000000::BIGINT AS i, 0.7::DOUBLE AS f, 1.5::DOUBLE AS "
      "y, "
      "12345678.1234::DECIMAL(12,4) AS n, 0.5::DECIMAL(12,1) AS m, 0.25::DECIMAL(22,2) AS l, "
      "TIMESTAMP '2024-02-29 12:00:00' AS d, [3000000000::BIGINT] AS a, MAP {0.1::DOUBLE: 1.0001::DECIMAL(8,4)} AS k, "
      "{'x': 3000000000::BIGINT, 'y': [{'z': 0.1::DOUBLE}]} AS t";
  static const char *const predicates[] = {
    "b = 127",
    "b > 126",
    "b >= 3000000000",
    "b < 0",
    "b <> 127",
    "b IN (127, 3000000000)",
    "b IS NULL",
    "s < -200",
    "s > 32767",
    "i > 2147483646",
    "i > 2147483647",
    "i = 2147483648",
    "f < 0.7",
    "f = 0.7",
    "f > 0.69",
    "f >= 0.7",
    "f = 0.7::FLOAT::DOUBLE",
    "y = 5",
    "y > 4.5",
    "y < 2",
    "n = 1234.56",
    "n > 1234.5599",
    "n < 1234.5601",
    "n > 99999.99",
    "n <> 1234.56",
    "m < 0",
    "m = -2147483648",
    "m > 0.4",
    "l > 9223372036854775806.5",
    "l < 1",
    "d = TIMESTAMP '2024-02-29 00:00:00'",
    "d > TIMESTAMP '2024-02-29 00:00:00'",
    "d < TIMESTAMP '2024-02-29 06:00:00'",
    "d BETWEEN TIMESTAMP '2024-02-28 23:59:59' AND TIMESTAMP '2024-02-29 00:00:01'",
    "a[1] = 1",
    "t.x = 7",
    "t.x > 7",
    "t.y[1].z = 0.1",
    "len(a) = 2",
    "i < 3000000000",
    "i <= 2147483647.5",
    "b < 1000",
    "b > -1000",
    "y < 5.4",
    "y <> 4.6",
    "m < 0.1",
    "m <> 0.1",
    "l <> 0.3",
  };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaScan) scan = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree DeltaScanColumn *columns = NULL;
  g_autofree char *sql = NULL;
  g_autofree char *derived = NULL;
  DeltaScanRequest request = { 0 };
  guint n_wrong = 0;
  guint n;

  g_assert_true (duck_session_set_time_zone (fixture->session, "America/New_York", NULL));
  create (fixture, schema, NULL, "delta.enableTypeWidening", "true");
  add_file (fixture, "new.parquet", new_file, 1, NULL, 0, "", NULL);
  add_file (fixture, "old.parquet", old_file, 2, NULL, 0, "", NULL);
  expect_all (fixture,
              "[127,-300,2147483647,0.699999988079071,5.0,\"1234.5600\",\"-2147483648.0\",\"9223372036854775807.00\","
              "1709164800000000,[1,null],[[0.10000000149011612,\"1.2500\"]],[7,[[0.10000000149011612]]]]\n"
              "[3000000000,40000,3000000000,0.7,1.5,\"12345678.1234\",\"0.5\",\"0.25\",1709208000000000,[3000000000],"
              "[[0.1,\"1.0001\"]],[3000000000,[[0.1]]]]\n"
              "[null,null,null,null,null,null,null,null,null,null,null,null]");
  snapshot = snapshot_of (fixture);
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (snapshot), "typeWidening"));
  n = base_type_n_fields (delta_snapshot_schema (snapshot));
  columns = g_new0 (DeltaScanColumn, n);
  for (guint i = 0; i < n; i++)
    columns[i] = (DeltaScanColumn){ i, base_type_field (delta_snapshot_schema (snapshot), i)->name };
  request = (DeltaScanRequest){ .columns = columns, .n_columns = n };
  scan = scan_of (snapshot, &request);
  sql = g_strdup_printf ("CREATE TEMP TABLE plain AS %s", delta_scan_sql (scan));
  g_assert_true (duck_session_execute (fixture->session, sql, NULL, &error));
  g_assert_no_error (error);
  derived = g_strdup_printf ("(%s)", delta_scan_sql (scan));
  for (guint i = 0; i < G_N_ELEMENTS (predicates); i++) {
    guint64 expected = count_of (fixture, "plain", predicates[i]);
    guint64 found = count_of (fixture, derived, predicates[i]);
    if (found != expected)
      g_test_message ("%s: %" G_GUINT64_FORMAT " rows, not %" G_GUINT64_FORMAT, predicates[i], found, expected);
    n_wrong += found != expected ? 1 : 0;
  }
  g_assert_cmpuint (n_wrong, ==, 0);
}

/* Bounds and partition values from before a type became wider. */
static void
test_bounds_of_narrower_types (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char schema[] =
      STRUCT (WIDENED ("f", "\"double\"", "float") "," WIDENED ("i", "\"decimal(12,2)\"", "integer") "," WIDENED (
          "d", "\"timestamp_ntz\"",
          "date") "," WIDENED ("p", "\"long\"", "byte") "," WIDENED ("q", "\"timestamp_ntz\"",
                                                                     "date") "," WIDENED ("r", "\"decimal(8,3)\"",
                                                                                          "decimal(4,1)"));
  const char *const partition_columns[] = { "p", "q", "r", NULL };
  const DeltaPartitionValue values[] = { { "p", "7", 1 }, { "q", "2024-02-29", 10 }, { "r", "1.5", 3 } };
  /* The shortest text of the float is 0.7; the value is 0.699999988… */
  static const char stats[] = ",\"minValues\":{\"f\":0.7,\"i\":5,\"d\":\"2024-02-29\"},\"maxValues\":{\"f\":0.7,\"i\":"
                              "5,\"d\":\"2024-02-29\"},\"nullCount\":{\"f\":0,\"i\":0,\"d\":0}";
#define DAY G_GINT64_CONSTANT (1709164800000000)
  const struct {
    guint column;
    DeltaPredicateOp op;
    DeltaConstant constant;
    gboolean kept;
  } cases[] = {
    { 0, DELTA_PREDICATE_LT, { .kind = BASE_TYPE_DOUBLE, .real = 0.7 }, TRUE },
    { 0, DELTA_PREDICATE_EQ, { .kind = BASE_TYPE_DOUBLE, .real = 0.699999988079071 }, TRUE },
    { 0, DELTA_PREDICATE_LT, { .kind = BASE_TYPE_DOUBLE, .real = 0.6 }, FALSE },
    { 1, DELTA_PREDICATE_EQ, { .kind = BASE_TYPE_DECIMAL, .text = "5.00", .text_bytes = 4 }, TRUE },
    { 1, DELTA_PREDICATE_GT, { .kind = BASE_TYPE_DECIMAL, .text = "5.01", .text_bytes = 4 }, FALSE },
    { 2, DELTA_PREDICATE_EQ, { .kind = BASE_TYPE_TIMESTAMP_NTZ, .integer = DAY }, TRUE },
    { 2, DELTA_PREDICATE_LT, { .kind = BASE_TYPE_TIMESTAMP_NTZ, .integer = DAY - 5000 }, FALSE },
    { 3, DELTA_PREDICATE_EQ, { .kind = BASE_TYPE_LONG, .integer = 7 }, TRUE },
    { 3, DELTA_PREDICATE_GT, { .kind = BASE_TYPE_LONG, .integer = 7 }, FALSE },
    { 4, DELTA_PREDICATE_EQ, { .kind = BASE_TYPE_TIMESTAMP_NTZ, .integer = DAY }, TRUE },
    { 4, DELTA_PREDICATE_GT, { .kind = BASE_TYPE_TIMESTAMP_NTZ, .integer = DAY }, FALSE },
    { 5, DELTA_PREDICATE_EQ, { .kind = BASE_TYPE_DECIMAL, .text = "1.5", .text_bytes = 3 }, TRUE },
    { 5, DELTA_PREDICATE_LT, { .kind = BASE_TYPE_DECIMAL, .text = "1.5", .text_bytes = 3 }, FALSE },
  };
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  create (fixture, schema, partition_columns, NULL, NULL);
  add_file (fixture, "old.parquet", "SELECT 0.7::FLOAT AS f, 5::INTEGER AS i, DATE '2024-02-29' AS d", 1, values,
            G_N_ELEMENTS (values), stats, NULL);
  expect_all (fixture, "[0.699999988079071,\"5.00\",1709164800000000,7,1709164800000000,\"1.500\"]");
  snapshot = snapshot_of (fixture);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    DeltaPredicate predicate = { cases[i].column, cases[i].op, &cases[i].constant, 1 };
    g_test_message ("case %u", i);
    g_assert_cmpint (
        delta_file_may_match (delta_snapshot_metadata (snapshot), delta_snapshot_file (snapshot, 0), &predicate, 1), ==,
        cases[i].kept);
  }
#undef DAY
}

static void
test_a_missing_file_is_named (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  DeltaScanColumn column = { 0, "id" };
  DeltaScanRequest request = { .columns = &column, .n_columns = 1 };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaScan) scan = NULL;
  g_autoptr (GError) error = NULL;

  create (fixture, STRUCT (FIELD ("id", "\"long\"")), NULL, NULL, NULL);
  add_file (fixture, "f1.parquet", "SELECT 1::BIGINT AS id", 1, NULL, 0, "", NULL);
  g_assert_true (store_delete (fixture->store, "f1.parquet", &error));
  snapshot = snapshot_of (fixture);
  scan = delta_scan_new (snapshot, &request, NULL, &error);
  g_assert_null (scan);
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED);
  g_assert_null (base_error_param (error, "firstReadableVersion")); /* the newest version needs it */
}

/* Every file that holds a matching row is kept; which are left out is the table. */
static void
test_skips_only_what_cannot_match (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const stats[] = {
    ",\"minValues\":{\"i\":1,\"s\":\"aa\",\"d\":1.5,\"t\":\"2024-01-01T00:00:00.123Z\",\"n\":1.10},"
    "\"maxValues\":{\"i\":9,\"s\":\"cccccccccccccccccccccccccccccccc\",\"d\":2.5,\"t\":\"2024-01-02T00:00:00.123Z\","
    "\"n\":9.99},"
    "\"nullCount\":{\"i\":0,\"s\":1,\"d\":0,\"t\":0,\"n\":0}",
    ",\"minValues\":{\"i\":10},\"maxValues\":{\"i\":19},\"nullCount\":{\"i\":0,\"s\":2}",
    "",
  };
#define LONG(v)                                                                                                        \
  {                                                                                                                    \
    .kind = BASE_TYPE_LONG, .integer = (v)                                                                             \
  }
#define TEXT(v)                                                                                                        \
  {                                                                                                                    \
    .kind = BASE_TYPE_STRING, .text = (v), .text_bytes = sizeof (v) - 1                                                \
  }
#define REAL(v)                                                                                                        \
  {                                                                                                                    \
    .kind = BASE_TYPE_DOUBLE, .real = (v)                                                                              \
  }
#define INSTANT(v)                                                                                                     \
  {                                                                                                                    \
    .kind = BASE_TYPE_TIMESTAMP, .integer = (v)                                                                        \
  }
#define DECIMAL(v)                                                                                                     \
  {                                                                                                                    \
    .kind = BASE_TYPE_DECIMAL, .text = (v), .text_bytes = sizeof (v) - 1                                               \
  }
  const struct {
    guint column;
    DeltaPredicateOp op;
    DeltaConstant constant;
    const char *kept;
  } cases[] = {
    { 0, DELTA_PREDICATE_EQ, LONG (5), "02" },
    { 0, DELTA_PREDICATE_EQ, LONG (10), "12" },
    { 0, DELTA_PREDICATE_EQ, LONG (99), "2" },
    { 0, DELTA_PREDICATE_LT, LONG (1), "2" },
    { 0, DELTA_PREDICATE_LE, LONG (1), "02" },
    { 0, DELTA_PREDICATE_GT, LONG (9), "12" },
    { 0, DELTA_PREDICATE_GE, LONG (9), "012" },
    { 0, DELTA_PREDICATE_GE_OR_NULL, LONG (10), "12" },
    { 0, DELTA_PREDICATE_NE, LONG (5), "012" },
    { 0, DELTA_PREDICATE_IS_NULL, LONG (0), "2" },
    { 0, DELTA_PREDICATE_IS_NOT_NULL, LONG (0), "012" },
    { 0, DELTA_PREDICATE_EQ, TEXT ("5"), "012" },
    { 1, DELTA_PREDICATE_EQ, TEXT ("b"), "02" },
    { 1, DELTA_PREDICATE_EQ, TEXT ("a"), "2" },
    { 1, DELTA_PREDICATE_EQ, TEXT ("ccccccccccccccccccccccccccccccccccccc"), "02" },
    { 1, DELTA_PREDICATE_GT, TEXT ("cccccccccccccccccccccccccccccccc"), "02" },
    { 1, DELTA_PREDICATE_GT, TEXT ("d"), "2" },
    { 1, DELTA_PREDICATE_GE, TEXT ("d"), "2" },
    { 1, DELTA_PREDICATE_GE_OR_NULL, TEXT ("d"), "012" },
    { 1, DELTA_PREDICATE_IS_NULL, LONG (0), "012" },
    { 1, DELTA_PREDICATE_IS_NOT_NULL, LONG (0), "02" },
    { 2, DELTA_PREDICATE_GT, REAL (100), "012" },
    { 2, DELTA_PREDICATE_LT, REAL (1), "12" },
    { 2, DELTA_PREDICATE_EQ, REAL (3), "12" },
    { 2, DELTA_PREDICATE_EQ, REAL (NAN), "012" },
    { 3, DELTA_PREDICATE_GT, INSTANT (1704153600123400), "012" },
    { 3, DELTA_PREDICATE_GT, INSTANT (1704153600125000), "12" },
    { 4, DELTA_PREDICATE_EQ, DECIMAL ("9.99"), "012" },
    { 4, DELTA_PREDICATE_GT, DECIMAL ("9.99"), "12" },
    { 5, DELTA_PREDICATE_EQ, TEXT ("x"), "0" },
    { 5, DELTA_PREDICATE_NE, TEXT ("x"), "1" },
    { 5, DELTA_PREDICATE_GE_OR_NULL, TEXT ("y"), "12" },
    { 5, DELTA_PREDICATE_IS_NULL, LONG (0), "2" },
    { 5, DELTA_PREDICATE_IS_NOT_NULL, LONG (0), "01" },
  };
  const char *const partitions[] = { "x", "y", NULL };
  const char *const columns[] = { "p", NULL };
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  create (fixture,
          STRUCT (FIELD ("i", "\"integer\"") "," FIELD ("s", "\"string\"") "," FIELD ("d", "\"double\"") "," FIELD (
              "t", "\"timestamp\"") "," FIELD ("n", "\"decimal(10,2)\"") "," FIELD ("p", "\"string\"")),
          columns, NULL, NULL);
  for (guint i = 0; i < 3; i++) {
    g_autofree char *key = g_strdup_printf ("f%u.parquet", i);
    DeltaPartitionValue value = { "p", partitions[i], partitions[i] != NULL ? 1 : 0 };
    add_file (fixture, key, "SELECT 1 AS i", 2, &value, 1, stats[i], NULL);
  }
  snapshot = snapshot_of (fixture);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    DeltaPredicate predicate = { cases[i].column, cases[i].op, &cases[i].constant, 1 };
    g_autoptr (GString) kept = g_string_new (NULL);
    if (cases[i].op == DELTA_PREDICATE_IS_NULL || cases[i].op == DELTA_PREDICATE_IS_NOT_NULL)
      predicate.n_constants = 0;
    for (guint k = 0; k < 3; k++)
      if (delta_file_may_match (delta_snapshot_metadata (snapshot), delta_snapshot_file (snapshot, k), &predicate, 1))
        g_string_append_printf (kept, "%u", k);
    g_test_message ("case %u", i);
    g_assert_cmpstr (kept->str, ==, cases[i].kept);
  }
  {
    DeltaConstant constant = LONG (5);
    DeltaPredicate predicate = { 0, DELTA_PREDICATE_EQ, &constant, 1 };
    DeltaScanRequest request = { .predicates = &predicate, .n_predicates = 1 };
    g_autoptr (DeltaScan) scan = scan_of (snapshot, &request);
    g_assert_cmpuint (delta_scan_n_files (scan), ==, 2);
    g_assert_cmpuint (delta_scan_n_files_total (scan), ==, 3);
  }
}

/* Everything a snapshot knows comes back from its checkpoint. */
static void
test_checkpoints_keep_everything (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const guint64 dead[] = { 0 };
  const char *const columns[] = { "p", NULL };
  DeltaPartitionValue value = { "p", "a \"b\"\n", 6 };
  DeltaPartitionValue null = { "p", NULL, 0 };
  g_autoptr (DeltaVector) vector = delta_vector_new ();
  g_autoptr (DeltaVectorDescriptor) descriptor = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) before = NULL;
  g_autoptr (DeltaSnapshot) after = NULL;
  g_autoptr (DeltaTable) fresh = NULL;
  DeltaCommitResult result;
  DeltaFile *file;
  DeltaPartitionValue read;

  create (fixture, STRUCT (FIELD ("id", "\"long\"") "," FIELD ("p", "\"string\"")), columns, "delta.enableRowTracking",
          "true");
  delta_vector_add_many (vector, dead, 1);
  descriptor = delta_vector_inline (vector);
  add_file (fixture, "f1.parquet", "SELECT 1::BIGINT AS id UNION ALL SELECT 2", 2, &value, 1,
            ",\"minValues\":{\"id\":1}", descriptor);
  add_file (fixture, "f2.parquet", "SELECT 3::BIGINT AS id", 1, &null, 1, "", NULL);
  add_file (fixture, "f3.parquet", "SELECT 4::BIGINT AS id", 1, &null, 1, "", NULL);
  {
    g_autoptr (DeltaSnapshot) snapshot = snapshot_of (fixture);
    g_autoptr (DeltaTransaction) transaction = delta_transaction_new (fixture->table, snapshot, &test_clock);
    delta_transaction_set_txn (transaction, "app", 41);
    delta_transaction_set_domain (transaction, "sluice.x", "{\"a\":1}");
    g_assert_true (
        delta_transaction_remove (transaction, delta_snapshot_find_file (snapshot, "f3.parquet"), TRUE, &error));
    g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  }
  before = snapshot_of (fixture);
  g_assert_true (delta_checkpoint_write (before, &test_clock, NULL, &error));
  g_assert_no_error (error);
  /* Without the commits only the checkpoint can tell. */
  for (DeltaVersion version = 0; version < 4; version++) {
    g_autofree char *key = g_strdup_printf ("_delta_log/%020" G_GINT64_FORMAT ".json", version);
    g_assert_true (store_delete (fixture->store, key, &error));
  }
  fresh = delta_table_new (fixture->store, fixture->engine);
  after = delta_table_snapshot (fresh, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (delta_snapshot_version (after), ==, 4);
  g_assert_cmpuint (delta_snapshot_n_files (after), ==, 2);
  g_assert_cmpuint (delta_snapshot_n_tombstones (after), ==, 1);
  g_assert_cmpint (delta_file_deletion_ms (delta_snapshot_tombstone (after, 0)), ==, test_clock.fixed_us / 1000);
  g_assert_cmpint (delta_snapshot_txn_version (after, "app", -1), ==, 41);
  g_assert_cmpstr (delta_snapshot_domain (after, "sluice.x"), ==, "{\"a\":1}");
  g_assert_cmpint (delta_snapshot_row_id_high_water_mark (after), ==, 3);
  g_assert_true (delta_protocol_equal (delta_snapshot_protocol (before), delta_snapshot_protocol (after)));
  g_assert_cmpstr (delta_metadata_id (delta_snapshot_metadata (after)), ==,
                   delta_metadata_id (delta_snapshot_metadata (before)));
  g_assert_true (
      base_type_equal (delta_snapshot_schema (after), delta_snapshot_schema (before), BASE_TYPE_EQUAL_METADATA));
  g_assert_cmpstr (delta_metadata_row_id_column (delta_snapshot_metadata (after)), ==,
                   delta_metadata_row_id_column (delta_snapshot_metadata (before)));
  file = delta_snapshot_find_file (after, "f1.parquet");
  g_assert_true (delta_file_find_partition_value (file, "p", &read));
  g_assert_cmpmem (read.text, read.text_bytes, value.text, value.text_bytes);
  g_assert_true (delta_vector_descriptor_equal (delta_file_vector (file), descriptor));
  g_assert_cmpint (delta_file_vector (file)->cardinality, ==, 1);
  g_assert_cmpint (delta_file_base_row_id (file), ==, 0);
  g_assert_cmpint (delta_file_default_row_commit_version (file), ==, 1);
  g_assert_nonnull (strstr (delta_file_stats (file), "minValues"));
  file = delta_snapshot_find_file (after, "f2.parquet");
  g_assert_true (delta_file_find_partition_value (file, "p", &read));
  g_assert_null (read.text);
  /* Going on from a checkpoint. */
  delta_table_unref (fixture->table);
  fixture->table = delta_table_ref (fresh);
  add_file (fixture, "f5.parquet", "SELECT 5::BIGINT AS id", 1, &null, 1, "", NULL);
  expect_all (fixture, "[2,\"a \\\"b\\\"\\n\"]\n[3,null]\n[5,null]");
}

static void
test_checkpoints_come_when_due_and_the_log_is_cleaned (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  BaseClock later = { .fixed_us = test_clock.fixed_us + G_GINT64_CONSTANT (86400000000) * 4000 };
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaTable) fresh = NULL;
  DeltaVersion earliest;
  DeltaVersion latest;
  guint n_deleted = 0;

  create (fixture, STRUCT (FIELD ("id", "\"long\"")), NULL, "delta.checkpointInterval", "4");
  for (guint i = 0; i < 9; i++) {
    g_autofree char *key = g_strdup_printf ("f%u.parquet", i);
    add_file (fixture, key, "SELECT 1::BIGINT AS id", 1, NULL, 0, "", NULL);
    delta_checkpoint_maintain (fixture->table, &test_clock, NULL);
  }
  {
    g_autoptr (GPtrArray) entries = NULL;
    guint n_checkpoints = 0;
    g_assert_true (store_list (fixture->store, "_delta_log/", NULL, STORE_LIST_DIRECTORY, 0, &entries, &error));
    for (guint i = 0; i < entries->len; i++)
      n_checkpoints += strstr (((StoreEntry *) entries->pdata[i])->key, ".checkpoint.") != NULL;
    g_assert_cmpuint (n_checkpoints, ==, 2);
  }
  snapshot = snapshot_of (fixture);
  g_assert_true (delta_log_cleanup (snapshot, &later, NULL, &n_deleted, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (n_deleted, >, 0);
  fresh = delta_table_new (fixture->store, fixture->engine);
  g_assert_true (delta_table_versions (fresh, &earliest, &latest, &error));
  g_assert_cmpint (latest, ==, 9);
  g_assert_cmpint (earliest, >=, 7); /* the second checkpoint waits until the JSON outweighs a quarter of the first */
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  snapshot = delta_table_snapshot (fresh, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 9);
  g_assert_null (delta_table_snapshot_at (fresh, 2, NULL, &error));
  g_assert_nonnull (error);
}

static void
test_a_broken_checkpoint_falls_back (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaTable) fresh = NULL;
  const char *key = "_delta_log/00000000000000000002.checkpoint.parquet";

  create (fixture, STRUCT (FIELD ("id", "\"long\"")), NULL, NULL, NULL);
  add_file (fixture, "f1.parquet", "SELECT 1::BIGINT AS id", 1, NULL, 0, "", NULL);
  add_file (fixture, "f2.parquet", "SELECT 2::BIGINT AS id", 1, NULL, 0, "", NULL);
  snapshot = snapshot_of (fixture);
  g_assert_true (delta_checkpoint_write (snapshot, &test_clock, NULL, &error));
  g_assert_true (store_put (fixture->store, key, "PAR1 no parquet PAR1", 20, STORE_PUT_UNSYNCED, &error));
  fresh = delta_table_new (fixture->store, fixture->engine);
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  snapshot = delta_table_snapshot (fresh, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 2);
  g_assert_true (store_delete (fixture->store, "_delta_log/00000000000000000000.json", &error));
  {
    g_autoptr (DeltaTable) again = delta_table_new (fixture->store, fixture->engine);
    g_assert_null (delta_table_snapshot (again, NULL, &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT);
  }
}

/* delta-rs writes the column `sidecar` into every checkpoint. The column alone was taken for the V2 form, and every table with such a
 * checkpoint was refused; only a row that holds a sidecar is one of V2. */
static void
test_an_empty_sidecar_column_is_no_v2 (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  const char *key = "_delta_log/00000000000000000001.checkpoint.parquet";
  g_autofree char *path = store_local_path (fixture->store, key);
  g_autofree char *other = g_strconcat (path, ".other", NULL);
  g_autofree char *sql =
      g_strdup_printf ("COPY (SELECT *, NULL::STRUCT(path VARCHAR) AS sidecar FROM read_parquet('%s')) TO '%s'"
                       " (FORMAT parquet)",
                       path, other);
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (fixture->engine, &error);
  g_autoptr (DeltaTable) fresh = delta_table_new (fixture->store, fixture->engine);
  g_autoptr (DeltaSnapshot) written = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  create (fixture, STRUCT (FIELD ("id", "\"long\"")), NULL, NULL, NULL);
  add_file (fixture, "f1.parquet", "SELECT 1::BIGINT AS id", 1, NULL, 0, "", NULL);
  written = snapshot_of (fixture);
  g_assert_true (delta_checkpoint_write (written, &test_clock, NULL, &error));
  g_assert_true (duck_session_execute (session, sql, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (rename (other, path), ==, 0);
  g_assert_true (store_delete (fixture->store, "_delta_log/00000000000000000000.json", &error));
  snapshot = delta_table_snapshot (fresh, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 1);
}

#define ADD_TEST(name, function, data) g_test_add ("/delta/scan/" name, Fixture, data, set_up, function, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD_TEST ("new-files-are-kept", test_new_files_are_kept, NULL);
  ADD_TEST ("partition-values-of-every-type", test_partition_values_of_every_type, NULL);
  ADD_TEST ("bad-partition-value-is-named", test_a_bad_partition_value_is_named, NULL);
  ADD_TEST ("files-of-other-schemas", test_files_of_other_schemas, NULL);
  ADD_TEST ("mapping-renames-inside-too/name", test_mapping_renames_inside_too, "name");
  ADD_TEST ("mapping-renames-inside-too/id-without-ids", test_mapping_renames_inside_too, "id");
  ADD_TEST ("mapping-renames-inside-too/none", test_mapping_renames_inside_too, "none");
  ADD_TEST ("mapping-by-id-follows-ids", test_mapping_by_id_follows_ids, NULL);
  ADD_TEST ("vectors-hidden-columns-and-row-ids", test_vectors_hidden_columns_and_row_ids, NULL);
  ADD_TEST ("types-other-than-the-schema-says", test_types_other_than_the_schema_says, NULL);
  ADD_TEST ("filters-find-binary-values", test_filters_find_binary_values, NULL);
  ADD_TEST ("files-of-narrower-types", test_files_of_narrower_types, NULL);
  ADD_TEST ("bounds-of-narrower-types", test_bounds_of_narrower_types, NULL);
  ADD_TEST ("missing-file-is-named", test_a_missing_file_is_named, NULL);
  ADD_TEST ("skips-only-what-cannot-match", test_skips_only_what_cannot_match, NULL);
  ADD_TEST ("checkpoints-keep-everything", test_checkpoints_keep_everything, NULL);
  ADD_TEST ("checkpoints-come-when-due", test_checkpoints_come_when_due_and_the_log_is_cleaned, NULL);
  ADD_TEST ("broken-checkpoint-falls-back", test_a_broken_checkpoint_falls_back, NULL);
  ADD_TEST ("empty-sidecar-column-is-no-v2", test_an_empty_sidecar_column_is_no_v2, NULL);
  return g_test_run ();
}

/* COPY to Parquet: figures per file, statistics per leaf, field ids, several files; and the footer cache. */
#include "../../../tests/support/tree.h"
#include "base-error.h"
#include "duck-copy.h"

#include <glib.h>
#include <glib/gstdio.h>

static DuckEngine *engine;
static DuckSession *session;
static char *dir;

static char *
path_of (const char *name)
{
  return g_build_filename (dir, name, NULL);
}

static gint64 int64_of (const char *format, ...) G_GNUC_PRINTF (1, 2);

static gint64
int64_of (const char *format, ...)
{
  g_autoptr (GError) error = NULL;
  gint64 value = -1;
  va_list args;

  va_start (args, format);
  g_autofree char *sql = g_strdup_vprintf (format, args);
  va_end (args);
  duck_session_query_int64 (session, sql, NULL, &value, NULL, &error);
  g_assert_no_error (error);
  return value;
}

static const DuckColumnStats *
stats_of (const DuckCopyFile *file, const char *dotted)
{
  g_auto (GStrv) path = g_strsplit (dotted, "/", -1);

  return duck_copy_file_column (file, (const char *const *) path);
}

static void
test_stats (void)
{
  static const struct {
    const char *path, *min, *max;
    gint64 null_count;
    gint has_nan;
  } cases[] = {
    { "id", "0", "999", 0, -1 },
    { "name", "n0", "n99", 500, -1 },
    { "d", "0.5", "999.5", 0, 0 },
    { "nan", NULL, NULL, 0, 1 },
    { "dec", "0.25", "999.25", 0, -1 },
    { "none", NULL, NULL, 1000, -1 },
    { "ok", "0", "1", 0, -1 },
    { "s/a.b", "0", "999", 0, -1 },
    { "s/in \"q\"/x", "2020-01-01", "2020-01-01", 0, -1 },
    { "ns/v", "1", "998", 500, -1 },
    { "ts", "2020-01-01 00:00:00.000001+00", "2020-01-01 00:00:00.000001+00", 0, -1 },
  };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = path_of ("stats.parquet");
  g_autoptr (GPtrArray) files = duck_session_copy_parquet (
      session,
      "SELECT i AS id, CASE WHEN i % 2 = 0 THEN 'n' || i // 10 END AS name, i + 0.5::DOUBLE AS d, 'nan'::DOUBLE AS "
      "nan, "
      "(i + 0.25)::DECIMAL(20,2) AS dec, NULL::INTEGER AS none, i % 2 = 0 AS ok, "
      "{'a.b': i, 'in \"q\"': {'x': DATE '2020-01-01'}} AS s, CASE WHEN i % 2 = 1 THEN {'v': i - 1 + 1} END AS "
      "ns_dropped, "
      "CASE WHEN i % 2 = 0 THEN {'v': greatest(i, 1)} END AS ns, [i, NULL] AS l, MAP {'k': i} AS m, "
      "TIMESTAMPTZ '2020-01-01 00:00:00.000001+00' AS ts, repeat('x', 1000) AS long FROM range(1000) t(i) -- a comment",
      path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (files->len, ==, 1);
  const DuckCopyFile *file = g_ptr_array_index (files, 0);
  GStatBuf info;
  g_assert_cmpint (g_stat (path, &info), ==, 0);
  g_assert_cmpstr (file->file_name, ==, path);
  g_assert_cmpint (file->n_rows, ==, 1000);
  g_assert_cmpint (file->file_bytes, ==, info.st_size);
  g_assert_cmpint (file->footer_bytes, >, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const DuckColumnStats *stats = stats_of (file, cases[i].path);
    g_test_message ("%s", cases[i].path);
    g_assert_nonnull (stats);
    g_assert_cmpstr (stats->min, ==, cases[i].min);
    g_assert_cmpstr (stats->max, ==, cases[i].max);
    g_assert_cmpint (stats->null_count, ==, cases[i].null_count);
    g_assert_cmpint (stats->n_values, ==, 1000);
    g_assert_cmpint (stats->has_nan, ==, cases[i].has_nan);
    g_assert_cmpint (stats->column_bytes, >, 0);
  }
  g_assert_nonnull (stats_of (file, "l/element"));
  g_assert_nonnull (stats_of (file, "m/key"));
  g_assert_nonnull (stats_of (file, "m/value"));
  g_assert_null (stats_of (file, "s"));
  g_assert_null (stats_of (file, "nope"));
  (void) g_unlink (path);
}

static void
test_options (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = path_of ("it's.parquet");
  DuckCopyOptions options = { .compression = "zstd",
                              .field_ids = "{\"a\": 7, \"s\": {__duckdb_field_id: 8, \"x\": 9}}",
                              .row_group_rows = 2048 };
  g_autoptr (GPtrArray) files = duck_session_copy_parquet (
      session, "SELECT range AS a, {'x': 1} AS s FROM range(10000)", path, &options, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpint (int64_of ("SELECT count(DISTINCT row_group_id) FROM parquet_metadata('%s/it''s.parquet')", dir), >=,
                   4);
  g_assert_cmpint (
      int64_of ("SELECT (count(*) FILTER (compression = 'ZSTD')) FROM parquet_metadata('%s/it''s.parquet')", dir), >,
      0);
  g_assert_cmpint (int64_of ("SELECT sum(field_id)::BIGINT FROM parquet_schema('%s/it''s.parquet')", dir), ==, 24);

  options = (DuckCopyOptions){ .compression = "nonsense" };
  g_assert_null (duck_session_copy_parquet (session, "SELECT 1 AS a", path, &options, NULL, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_null (duck_session_copy_parquet (session, "SELECT error('x') AS a", path, NULL, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_EXECUTION_ERROR);
  (void) g_unlink (path);
}

static void
test_no_rows (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = path_of ("empty.parquet");
  g_autoptr (GPtrArray) files =
      duck_session_copy_parquet (session, "SELECT 1 AS a, 'x' AS b WHERE false", path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (files->len, ==, 1);
  const DuckCopyFile *file = g_ptr_array_index (files, 0);
  g_assert_cmpint (file->n_rows, ==, 0);
  g_assert_cmpint (int64_of ("SELECT count(*) FROM read_parquet('%s')", path), ==, 0);
  (void) g_unlink (path);
}

static void
test_several_files (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *sub = path_of ("sub");
  DuckCopyOptions options = { .file_size_bytes = 2000000, .file_prefix = "scratch-" };
  gint64 n_rows = 0;

  g_assert_cmpint (g_mkdir (sub, 0777), ==, 0);
  g_autoptr (GPtrArray) files = duck_session_copy_parquet (
      session, "SELECT range AS a, hash(range) AS h FROM range(2000000)", sub, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (files->len, >, 3);
  for (guint i = 0; i < files->len; i++) {
    const DuckCopyFile *file = g_ptr_array_index (files, i);
    g_autofree char *name = g_path_get_basename (file->file_name);
    g_assert_true (g_str_has_prefix (name, "scratch-"));
    g_assert_nonnull (stats_of (file, "a"));
    n_rows += file->n_rows;
    g_assert_cmpint (g_unlink (file->file_name), ==, 0);
  }
  g_assert_cmpint (n_rows, ==, 2000000);
  g_assert_cmpint (g_rmdir (sub), ==, 0);
}

/* The footer of a file that was replaced at once under the same name is not the old one's. */
static void
test_partitions (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *sub = path_of ("by");
  const char *const by[] = { "k 0", "k1", NULL };
  DuckCopyOptions options = { .partition_by = by };
  guint n_seen = 0;

  g_assert_cmpint (g_mkdir (sub, 0777), ==, 0);
  g_autoptr (GPtrArray) files =
      duck_session_copy_parquet (session,
                                 "SELECT range AS a, CASE WHEN range < 2 THEN NULL ELSE 'x/y=' || (range % 2) END AS "
                                 "\"k 0\", 'z' AS k1 FROM range(6)",
                                 sub, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (files->len, ==, 3);
  for (guint i = 0; i < files->len; i++) {
    const DuckCopyFile *file = g_ptr_array_index (files, i);
    g_assert_cmpuint (file->n_partition_values, ==, 2);
    g_assert_cmpstr (file->partition_values[1], ==, "z");
    if (file->partition_values[0] == NULL)
      n_seen |= 1;
    else
      n_seen |= g_str_equal (file->partition_values[0], "x/y=0") ? 2 : 4;
    g_assert_cmpint (file->n_rows, ==, 2);
    g_assert_null (stats_of (file, "k1"));
  }
  g_assert_cmpuint (n_seen, ==, 7);
  tree_remove (sub);
}

static void
test_row_groups_per_file (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *sub = path_of ("groups");
  DuckCopyOptions options = { .row_groups_per_file = 1 };
  static const struct {
    const char *select;
    guint n_files;
  } cases[] = {
    { "SELECT range AS a FROM range(0)", 0 },
    { "SELECT range AS a FROM range(10)", 1 },
    { "SELECT range AS a FROM range(300000)", 3 },
  };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    g_assert_cmpint (g_mkdir (sub, 0777), ==, 0);
    g_autoptr (GPtrArray) files = duck_session_copy_parquet (session, cases[c].select, sub, &options, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (files->len, ==, cases[c].n_files);
    tree_remove (sub);
  }
}

static void
test_replaced_file (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = path_of ("replaced.parquet");

  for (gint64 n = 1; n < 20; n++) {
    g_autofree char *select = g_strdup_printf ("SELECT range AS a FROM range(%d)", (int) n);
    g_autoptr (GPtrArray) files = duck_session_copy_parquet (session, select, path, NULL, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (int64_of ("SELECT count(a) FROM read_parquet('%s')", path), ==, n);
    g_assert_cmpint (int64_of ("SELECT max(a) FROM read_parquet('%s')", path), ==, n - 1);
  }
  (void) g_unlink (path);
}

/* The second file of a scan of one: it adds nothing, has none of the columns, and is the same one at every call. */
static void
test_empty_file_beside_another (void)
{
  const char *empty = duck_engine_empty_parquet (engine);
  g_autofree char *path = path_of ("large.parquet");
  g_autofree char *select = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) files =
      duck_session_copy_parquet (session, "SELECT range AS id FROM range(300000)", path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (files);
  g_assert_nonnull (empty);
  g_assert_true (empty == duck_engine_empty_parquet (engine));
  select =
      g_strdup_printf ("FROM read_parquet(['%s', '%s'], explicit_cardinality = 300000, schema = MAP{'id': {name: 'p0',"
                       " type: 'BIGINT', default_value: NULL}}) f",
                       path, empty);
  g_assert_cmpint (int64_of ("SELECT count(*) %s", select), ==, 300000);
  g_assert_cmpint (int64_of ("SELECT sum(p0) %s", select), ==, G_GINT64_CONSTANT (44999850000));
  g_assert_cmpint (int64_of ("SELECT max(f.file_index) %s", select), ==, 0);
  g_assert_cmpint (int64_of ("SELECT max(f.file_row_number) %s", select), ==, 299999);
  (void) g_unlink (path);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  dir = g_dir_make_tmp ("duck-XXXXXX", &error);
  g_assert_no_error (error);
  g_test_add_func ("/duck/copy/statistics-per-leaf", test_stats);
  g_test_add_func ("/duck/copy/options", test_options);
  g_test_add_func ("/duck/copy/no-rows", test_no_rows);
  g_test_add_func ("/duck/copy/several-files", test_several_files);
  g_test_add_func ("/duck/copy/partitions", test_partitions);
  g_test_add_func ("/duck/copy/row-groups-per-file", test_row_groups_per_file);
  g_test_add_func ("/duck/copy/replaced-file", test_replaced_file);
  g_test_add_func ("/duck/copy/empty-file-beside-another", test_empty_file_beside_another);
  int status = g_test_run ();
  (void) g_rmdir (dir);
  g_free (dir);
  duck_session_free (session);
  duck_engine_unref (engine);
  return status;
}

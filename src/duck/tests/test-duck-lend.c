/* Lent objects: filters and tables used by several threads, counters, and what happens after taking back. */
#include "base-error.h"
#include "duck-copy.h"
#include "duck-lend.h"
#include "duck-session.h"

#include <glib.h>
#include <glib/gstdio.h>

static DuckEngine *engine;
static DuckSession *session;

static gint64
int64_of (const char *sql)
{
  g_autoptr (GError) error = NULL;
  gint64 value = -1;

  duck_session_query_int64 (session, sql, NULL, &value, NULL, &error);
  g_assert_no_error (error);
  return value;
}

static void
check_error (const char *sql, SluiceError code)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (duck_session_execute (session, sql, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, (gint) code);
}

/* ---- filters: every row whose number is a multiple of `step` in file `file` is gone ---- */

typedef struct {
  guint64 file;
  gint64 step;
  int *n_freed;
} Filter;

static gboolean
filter_test (gpointer self, const guint64 *files, const gint64 *rows, gsize n, guint8 *live, GError **error)
{
  const Filter *filter = self;

  g_assert_cmpuint (n, <=, 2048);
  for (gsize i = 0; i < n; i++) {
    if (rows[i] < 0)
      return base_error_set (error, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT, "A row number is negative");
    live[i] = files[i] != filter->file || rows[i] % filter->step != 0;
  }
  return TRUE;
}

static void
filter_free (gpointer self)
{
  Filter *filter = self;

  g_atomic_int_inc (filter->n_freed);
  g_free (filter);
}

static const DuckFilterFuncs filter_funcs = { filter_test, filter_free };

static guint64
lend_filter (guint64 file, gint64 step, int *n_freed)
{
  Filter *filter = g_new0 (Filter, 1);

  filter->file = file;
  filter->step = step;
  filter->n_freed = n_freed;
  return duck_engine_lend_filter (engine, &filter_funcs, filter);
}

static void
test_filter (void)
{
  int n_freed = 0;
  guint64 handle = lend_filter (1, 100, &n_freed);
  guint64 other = lend_filter (0, 2, &n_freed);
  g_autofree char *both =
      g_strdup_printf ("SELECT count(*) FROM range(1000000) t(i) WHERE sluice_live(%" G_GUINT64_FORMAT
                       "::UBIGINT, (i %% 2)::UBIGINT, i // 2)",
                       handle);
  g_autofree char *mixed = g_strdup_printf (
      "SELECT count(*) FROM range(1000) t(i) WHERE sluice_live(CASE WHEN i < 500 THEN %" G_GUINT64_FORMAT
      " ELSE %" G_GUINT64_FORMAT " END::UBIGINT, 0::UBIGINT, i)",
      handle, other);
  g_autofree char *negative =
      g_strdup_printf ("SELECT sluice_live(%" G_GUINT64_FORMAT "::UBIGINT, 1::UBIGINT, -i) FROM range(9) t(i)", handle);
  g_autofree char *of_null =
      g_strdup_printf ("SELECT sluice_live(%" G_GUINT64_FORMAT "::UBIGINT, NULL::UBIGINT, 1) IS NULL", handle);

  g_assert_cmpint (int64_of (both), ==, 1000000 - 5000);
  g_assert_cmpint (int64_of (mixed), ==, 750);
  g_assert_cmpint (int64_of (of_null), ==, 1);
  check_error (negative, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT);
  duck_engine_take_back (engine, handle);
  g_assert_cmpint (n_freed, ==, 1);
  check_error (both, SLUICE_ERROR_LENT_OBJECT_GONE);
  duck_engine_take_back (engine, handle); /* again: nothing */
  duck_engine_take_back (engine, 0);
  duck_engine_take_back (engine, other);
  g_assert_cmpint (n_freed, ==, 2);
}

static void
test_filter_over_parquet (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *dir = g_dir_make_tmp ("duck-XXXXXX", NULL);
  g_autofree char *first = g_build_filename (dir, "a.parquet", NULL);
  g_autofree char *second = g_build_filename (dir, "b.parquet", NULL);
  DuckCopyOptions options = { .row_group_rows = 10000 };
  int n_freed = 0;
  guint64 handle = lend_filter (1, 10, &n_freed);

  g_autoptr (GPtrArray) one =
      duck_session_copy_parquet (session, "SELECT range AS x FROM range(200000)", first, &options, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) two = duck_session_copy_parquet (session, "SELECT range AS x FROM range(200000) ORDER BY 1",
                                                         second, &options, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *count =
      g_strdup_printf ("SELECT count(*) FROM read_parquet(['%s', '%s']) f WHERE sluice_live(%" G_GUINT64_FORMAT
                       "::UBIGINT, f.file_index, f.file_row_number)",
                       first, second, handle);
  g_autofree char *point = g_strdup_printf (
      "SELECT count(*) FROM (SELECT x FROM read_parquet(['%s', '%s']) f WHERE sluice_live(%" G_GUINT64_FORMAT
      "::UBIGINT, f.file_index, f.file_row_number)) WHERE x IN (50, 51)",
      first, second, handle);
  g_assert_cmpint (int64_of (count), ==, 400000 - 20000);
  g_assert_cmpint (int64_of (point), ==, 3);
  duck_engine_take_back (engine, handle);
  (void) g_unlink (first);
  (void) g_unlink (second);
  (void) g_rmdir (dir);
}

typedef struct {
  guint64 handle;
  gulong delay_us;
} TakeBack;

static gpointer
take_back_later (gpointer data)
{
  TakeBack *take_back = data;

  g_usleep (take_back->delay_us);
  duck_engine_take_back (engine, take_back->handle);
  return NULL;
}

/* Taking back under a running query: it ends well or with the named error, and never uses freed memory. */
static void
test_take_back_while_running (void)
{
  for (guint i = 0; i < 8; i++) {
    g_autoptr (GError) error = NULL;
    int n_freed = 0;
    TakeBack take_back = { lend_filter (0, 3, &n_freed), i * 3000 };
    g_autofree char *sql = g_strdup_printf (
        "SELECT count(*) FROM range(8000000) t(i) WHERE sluice_live(%" G_GUINT64_FORMAT "::UBIGINT, 0::UBIGINT, i)",
        take_back.handle);
    GThread *thread = g_thread_new ("take-back", take_back_later, &take_back);
    if (!duck_session_execute (session, sql, NULL, &error))
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_LENT_OBJECT_GONE);
    g_thread_join (thread);
    g_assert_cmpint (n_freed, ==, 1);
  }
}

/* ---- tables ---- */

static DuckTable *
build_table (gint64 n_rows)
{
  static const DuckTableColumn columns[] = {
    { "ix", DUCK_KIND_UBIGINT, 0, 0 },    { "path", DUCK_KIND_VARCHAR, 0, 0 }, { "d", DUCK_KIND_DECIMAL, 20, 2 },
    { "f", DUCK_KIND_DOUBLE, 0, 0 },      { "day", DUCK_KIND_DATE, 0, 0 },     { "b", DUCK_KIND_BOOLEAN, 0, 0 },
    { "bytes", DUCK_KIND_BLOB, 0, 0 },    { "r", DUCK_KIND_FLOAT, 0, 0 },      { "ts", DUCK_KIND_TIMESTAMP_TZ, 0, 0 },
    { "small", DUCK_KIND_TINYINT, 0, 0 },
  };
  DuckTable *table = duck_table_new (columns, G_N_ELEMENTS (columns));

  for (gint64 i = 0; i < n_rows; i++) {
    g_autofree char *path = g_strdup_printf ("part-%d-and-some-more.parquet", (int) i);
    duck_table_set_int64 (table, 0, i);
    if (i % 3 != 0)
      duck_table_set_string (table, 1, path, strlen (path));
    duck_table_set_int128 (table, 2, (__int128) i * -100);
    duck_table_set_double (table, 3, (double) i / 2);
    duck_table_set_int64 (table, 4, i % 1000);
    if (i % 2 == 0)
      duck_table_set_int64 (table, 5, 1);
    duck_table_set_string (table, 6, "\0x", 2);
    duck_table_set_double (table, 7, 1.5);
    duck_table_set_int64 (table, 8, i * 1000000);
    duck_table_set_int64 (table, 9, -5);
    duck_table_end_row (table);
  }
  g_assert_cmpuint (duck_table_n_rows (table), ==, (guint64) n_rows);
  return table;
}

static void
test_table (void)
{
  guint64 handle = duck_engine_lend_table (engine, build_table (100000));
  g_autofree char *from = g_strdup_printf ("FROM sluice_files(%" G_GUINT64_FORMAT "::UBIGINT)", handle);
  static const struct {
    const char *select;
    gint64 expected;
  } cases[] = {
    { "SELECT count(*)", 100000 },
    { "SELECT sum(ix)::BIGINT", G_GINT64_CONSTANT (99999) * 50000 },
    { "SELECT count(path)", 66666 },
    { "SELECT (count(*) FILTER (path = 'part-' || ix || '-and-some-more.parquet'))", 66666 },
    { "SELECT (count(*) FILTER (d = -ix::BIGINT AND typeof(d) = 'DECIMAL(20,2)' AND f * 2 = ix AND day = DATE "
      "'1970-01-01' + "
      "(ix % 1000)::INTEGER))",
      100000 },
    { "SELECT (count(*) FILTER (b))", 50000 },
    { "SELECT (count(*) FILTER (b IS NULL AND ix % 2 = 1))", 50000 },
    { "SELECT (count(*) FILTER (bytes = '\\x00x'::BLOB AND r = 1.5 AND epoch(ts) = ix AND small = -5))", 100000 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *sql = g_strdup_printf ("%s %s", cases[i].select, from);
    g_assert_cmpint (int64_of (sql), ==, cases[i].expected);
  }
  g_autofree char *join = g_strdup_printf (
      "SELECT sum(p.day - DATE '1970-01-01') FROM range(500000) t(i) JOIN (%s) p ON p.ix = (t.i %% 10)::UBIGINT", from);
  g_assert_cmpint (int64_of (join), ==, 45 * 50000);

  guint64 empty = duck_engine_lend_table (engine, build_table (0));
  g_autofree char *none = g_strdup_printf ("SELECT count(*) FROM sluice_files(%" G_GUINT64_FORMAT "::UBIGINT)", empty);
  g_assert_cmpint (int64_of (none), ==, 0);

  /* A hold takes back; a filter's handle is not a table's. */
  g_autoptr (GPtrArray) inner = duck_holds_new ();
  g_autoptr (GPtrArray) holds = duck_holds_new ();
  duck_holds_add (inner, engine, handle);
  duck_holds_add (inner, engine, empty);
  duck_holds_move (holds, inner);
  g_assert_cmpuint (inner->len, ==, 0);
  g_clear_pointer (&holds, g_ptr_array_unref);
  check_error (none, SLUICE_ERROR_LENT_OBJECT_GONE);
  int n_freed = 0;
  guint64 filter = lend_filter (0, 1, &n_freed);
  g_autofree char *wrong = g_strdup_printf ("FROM sluice_files(%" G_GUINT64_FORMAT "::UBIGINT)", filter);
  check_error (wrong, SLUICE_ERROR_LENT_OBJECT_GONE);
  check_error ("FROM sluice_files(NULL::UBIGINT)", SLUICE_ERROR_LENT_OBJECT_GONE);
  duck_engine_take_back (engine, filter);
}

/* ---- counters ---- */

static void
test_counter (void)
{
  g_autoptr (DuckCounter) counter = duck_counter_new (3);
  guint64 handle = duck_engine_lend_counter (engine, counter);
  g_autofree char *sql = g_strdup_printf (
      "SELECT count(*) FROM (SELECT i, sluice_expect(%" G_GUINT64_FORMAT
      "::UBIGINT, i %% 10 <> 0, CASE WHEN i %% 4 = 0 THEN NULL ELSE true END, true) AS f FROM range(1000000) t(i) "
      "LIMIT 9223372036854775807) WHERE (f & 3) = 0 AND i > 10",
      handle);

  duck_counter_set_drop_mask (counter, 3);
  gint64 kept = int64_of (sql);
  g_assert_cmpuint (duck_counter_n_rows (counter), ==, 1000000); /* the filter i > 10 stays above */
  g_assert_cmpuint (duck_counter_n_failed (counter, 0), ==, 100000);
  g_assert_cmpuint (duck_counter_n_failed (counter, 1), ==, 250000);
  g_assert_cmpuint (duck_counter_n_failed (counter, 2), ==, 0);
  g_assert_cmpuint (duck_counter_n_dropped (counter), ==, 300000);
  g_assert_cmpint (kept, ==, 700000 - 7);

  /* All arguments constant: still every row. */
  g_autoptr (DuckCounter) constant = duck_counter_new (1);
  guint64 constant_handle = duck_engine_lend_counter (engine, constant);
  g_autofree char *all = g_strdup_printf ("SELECT sum(f)::BIGINT FROM (SELECT sluice_expect(%" G_GUINT64_FORMAT
                                          "::UBIGINT, false) AS f FROM range(5000))",
                                          constant_handle);
  g_assert_cmpint (int64_of (all), ==, 5000);
  g_assert_cmpuint (duck_counter_n_rows (constant), ==, 5000);
  g_assert_cmpuint (duck_counter_n_failed (constant, 0), ==, 5000);

  g_autofree char *arity = g_strdup_printf ("SELECT sluice_expect(%" G_GUINT64_FORMAT "::UBIGINT, true)", handle);
  check_error (arity, SLUICE_ERROR_INTERNAL_ERROR);
  duck_engine_take_back (engine, handle);
  duck_engine_take_back (engine, constant_handle);
  check_error (all, SLUICE_ERROR_LENT_OBJECT_GONE);
  g_assert_cmpuint (duck_counter_n_rows (counter), ==, 1000000); /* the caller's reference reads on */
}

static void
test_counter_failure (void)
{
  g_autoptr (DuckCounter) counter = duck_counter_new (2);
  guint64 handle = duck_engine_lend_counter (engine, counter);
  g_autofree char *sql =
      g_strdup_printf ("SELECT count(*) FROM (SELECT i, sluice_expect(%" G_GUINT64_FORMAT
                       "::UBIGINT, i %% 2 = 0, i <> 777) AS f FROM range(100000) t(i) LIMIT "
                       "9223372036854775807) WHERE CASE WHEN (f & 2) <> 0 THEN sluice_expect_fail(%" G_GUINT64_FORMAT
                       "::UBIGINT, f & 2, {'i': i, 'name': 'row ' || i}) ELSE (f & 0) = 0 END",
                       handle, handle);
  g_autoptr (GError) error = NULL;
  g_autofree char *row = NULL;
  guint index = 9;

  g_assert_false (duck_counter_failure (counter, &index, &row));
  g_assert_false (duck_session_execute (session, sql, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_EXPECTATION_FAILED);
  g_assert_cmpstr (base_error_param (error, "index"), ==, "1");
  g_assert_cmpstr (base_error_param (error, "row"), ==, "{\"i\":777,\"name\":\"row 777\"}");
  g_assert_true (duck_counter_failure (counter, &index, &row));
  g_assert_cmpuint (index, ==, 1);
  g_assert_cmpstr (row, ==, "{\"i\":777,\"name\":\"row 777\"}");
  duck_engine_take_back (engine, handle);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  DuckEngineOptions options = { .n_threads = 4 };

  g_test_init (&argc, &argv, NULL);
  engine = duck_engine_new (&options, &error);
  g_assert_no_error (error);
  session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  g_test_add_func ("/duck/lend/filter", test_filter);
  g_test_add_func ("/duck/lend/filter-over-parquet", test_filter_over_parquet);
  g_test_add_func ("/duck/lend/take-back-while-running", test_take_back_while_running);
  g_test_add_func ("/duck/lend/table", test_table);
  g_test_add_func ("/duck/lend/counter", test_counter);
  g_test_add_func ("/duck/lend/counter-keeps-first-failure", test_counter_failure);
  int status = g_test_run ();
  duck_session_free (session);
  duck_engine_unref (engine);
  return status;
}

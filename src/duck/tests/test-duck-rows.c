/* Kept rows: every type, more rows than there is room for, several threads, joins below. */
#include "base-error.h"
#include "duck-lend.h"
#include "duck-rows.h"

#include <glib.h>

static DuckEngine *engine;
static DuckSession *session;

static char *
text_of (const char *sql)
{
  g_autoptr (GError) error = NULL;
  char *value = NULL;

  duck_session_query_string (session, sql, NULL, &value, &error);
  g_assert_no_error (error);
  return value;
}

static DuckRows *
keep (const char *select, guint64 max_bytes, gboolean once)
{
  g_autoptr (GError) error = NULL;
  DuckRows *rows = duck_rows_new (session, select, max_bytes, "kept_rest", once, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (rows);
  return rows;
}

/* A digest of all rows and of their columns' names and types. */
static char *
digest (const char *relation)
{
  g_autofree char *sql = g_strdup_printf ("SELECT concat(count(*), ' ', sum(hash(t::VARCHAR)::HUGEINT), ' ',"
                                          " any_value(typeof(t))) FROM %s t",
                                          relation);

  return text_of (sql);
}

typedef struct {
  const char *name, *select;
} Case;

static const Case cases[] = {
  { "/duck-rows/numbers", "SELECT i, i::TINYINT AS a, i::HUGEINT AS b, i / 3 AS c, (i % 2 = 0) AS d,"
                          " (i::DECIMAL(9, 2)) AS e FROM range(100) r(i)" },
  { "/duck-rows/null", "SELECT CASE WHEN i % 3 = 0 THEN i END AS a, CASE WHEN i % 5 = 0 THEN 'text ' || i END AS b,"
                       " NULL::VARCHAR AS c FROM range(10000) r(i)" },
  { "/duck-rows/text", "SELECT repeat('x', (i % 40)::INTEGER) AS a, ('y' || i)::BLOB AS b FROM range(10000) r(i)" },
  { "/duck-rows/nested",
    "SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE [i::VARCHAR || ' is the number', NULL, 'x'] END AS a,"
    " {'p': i, 'q': [[i], [], NULL]} AS b, MAP {i: 'value ' || i, i + 1: NULL} AS c,"
    " CASE WHEN i % 2 = 0 THEN {'n': {'m': i}} END AS d FROM range(10000) r(i)" },
  { "/duck-rows/instants", "SELECT DATE '2020-01-01' + i::INTEGER AS a, TIMESTAMP '2020-01-01' + to_hours(i) AS b,"
                           " to_days(i::INTEGER) AS c FROM range(5000) r(i)" },
  { "/duck-rows/no-row", "SELECT i AS a, [i] AS b, 'x' AS c FROM range(10) r(i) WHERE i > 10" },
  { "/duck-rows/constant", "SELECT 'always this text' AS a, 7 AS b FROM range(5000)" },
  { "/duck-rows/quoted", "SELECT i AS \"a \"\"b\"\"\", i AS \"SELECT\" FROM range(3) r(i)" },
  { "/duck-rows/sorted",
    "SELECT DISTINCT ON (i % 100) i, i % 100 AS r FROM range(20000) s(i) ORDER BY i % 100, i DESC" },
  { "/duck-rows/semi-join", "SELECT t.* FROM (SELECT i FROM range(100000) r(i)) t SEMI JOIN (SELECT j * 3 AS j FROM"
                            " range(1000) r(j)) q ON t.i = q.j" },
  { "/duck-rows/left-join",
    "SELECT t.i FROM range(1000) t(i) LEFT JOIN range(10) q(j) ON t.i = q.j WHERE q.j IS NULL" },
  { "/duck-rows/many", "SELECT i, 'a text of row ' || i AS t FROM range(500000) r(i)" },
};

static void
check (const Case *one, guint64 max_bytes, gboolean once, gboolean fits)
{
  g_autoptr (DuckRows) rows = keep (one->select, max_bytes, once);
  g_autofree char *inside = g_strdup_printf ("(%s)", one->select);
  g_autofree char *want = digest (inside), *got = digest (duck_rows_relation (rows));
  g_autofree char *count = g_strdup_printf ("%" G_GINT64_FORMAT " ", duck_rows_count (rows));

  g_assert_cmpstr (got, ==, want);
  g_assert_true (g_str_has_prefix (want, count));
  if (fits)
    g_assert_false (duck_rows_is_table (rows));
}

static void
test_case (gconstpointer data)
{
  check (data, G_MAXUINT64 / 2, FALSE, TRUE);
  check (data, G_MAXUINT64 / 2, TRUE, FALSE);
  check (data, 0, FALSE, FALSE);
  check (data, 1, FALSE, FALSE);
  check (data, 1, TRUE, FALSE);
  check (data, 100000, FALSE, FALSE);
  check (data, 100000, TRUE, FALSE);
}

/* Rows of rows, columns left out, twice in one query. */
static void
test_chain (void)
{
  g_autoptr (DuckRows) first =
      keep ("SELECT i AS k, 'value ' || i AS v, i % 7 AS g FROM range(50000) r(i)", 64 << 20, TRUE);
  g_autofree char *select = g_strdup_printf ("SELECT a.v, b.g, a.k FROM %s a JOIN %s b ON a.k = b.k + 1",
                                             duck_rows_relation (first), duck_rows_relation (first));
  g_autoptr (DuckRows) second = keep (select, 64 << 20, FALSE);
  g_autofree char *sql = g_strdup_printf ("SELECT concat(count(*), ' ', min(v), ' ', sum(g)) FROM %s WHERE k >= 10",
                                          duck_rows_relation (second));
  g_autofree char *got = text_of (sql);

  g_assert_cmpint (duck_rows_count (second), ==, 49999);
  g_assert_cmpstr (got, ==, "49990 value 10 149970");
}

static void
test_gone (void)
{
  g_autoptr (GError) error = NULL;
  DuckRows *rows = keep ("SELECT 1 AS a", 1 << 20, FALSE);
  g_autofree char *sql = g_strdup_printf ("FROM %s", duck_rows_relation (rows));

  duck_rows_free (rows);
  g_assert_false (duck_session_execute (session, sql, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_LENT_OBJECT_GONE);
}

static void
test_failing (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (duck_rows_new (session,
                                "SELECT CASE WHEN i > 9 THEN error('no') ELSE i::VARCHAR END AS a FROM range(20) r(i)",
                                1 << 20, "kept_rest", FALSE, NULL, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_null (duck_rows_new (session, "SELECT nothing", 1 << 20, "kept_rest", TRUE, NULL, &error));
  g_assert_nonnull (error);
}

int
main (int argc, char **argv)
{
  DuckEngineOptions options = { .n_threads = 4 };
  g_autoptr (GError) error = NULL;
  int result;

  g_test_init (&argc, &argv, NULL);
  engine = duck_engine_new (&options, &error);
  g_assert_no_error (error);
  session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_test_add_data_func (cases[i].name, &cases[i], test_case);
  g_test_add_func ("/duck-rows/chain", test_chain);
  g_test_add_func ("/duck-rows/gone", test_gone);
  g_test_add_func ("/duck-rows/failing", test_failing);
  result = g_test_run ();
  duck_session_free (session);
  duck_engine_unref (engine);
  return result;
}

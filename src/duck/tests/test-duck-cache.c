/* Cached rows: when they are kept, who gives way, which of them are left out. */
#include "base-error.h"
#include "duck-cache.h"
#include "duck-lend.h"

#include <glib.h>

#define N_ROWS 10000

static DuckEngine *
engine_of (guint64 most_bytes)
{
  DuckEngineOptions options = { .n_threads = 2, .most_cached_bytes = most_bytes };
  g_autoptr (GError) error = NULL;
  DuckEngine *engine = duck_engine_new (&options, &error);

  g_assert_no_error (error);
  return engine;
}

static DuckCached *
ask (DuckEngine *engine, const char *select, guint64 n_bytes)
{
  g_autoptr (GError) error = NULL;
  DuckCached *cached = NULL;

  duck_cache_rows (engine, select, n_bytes, FALSE, NULL, &cached, &error);
  g_assert_no_error (error);
  return cached;
}

static gboolean
is_cached (DuckEngine *engine, const char *select)
{
  g_autoptr (DuckCached) cached = ask (engine, select, N_ROWS);

  return cached != NULL;
}

static char *
text_of (DuckEngine *engine, const char *sql)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (engine, &error);
  char *value = NULL;

  g_assert_no_error (error);
  duck_session_query_string (session, sql, NULL, &value, &error);
  g_assert_no_error (error);
  return value;
}

/* Two columns of 8 bytes, N_ROWS rows. */
static char *
numbers (guint start)
{
  return g_strdup_printf ("SELECT i + %u AS a, i * 2 AS b FROM range(%d) r(i)", start, N_ROWS);
}

static void
test_second_time (void)
{
  g_autoptr (DuckEngine) engine = engine_of (0);
  g_autofree char *select = numbers (0);

  g_assert_false (is_cached (engine, select));
  g_assert_cmpuint (duck_cache_bytes (engine), ==, 0);
  g_assert_true (is_cached (engine, select));
  g_assert_cmpuint (duck_cache_bytes (engine), >=, N_ROWS * 2 * 8);
  g_assert_true (is_cached (engine, select));
}

/* What is to be kept at once is, where it drives nothing out; what is kept so is not read again. */
static void
test_at_once (void)
{
  g_autoptr (DuckEngine) engine = engine_of (N_ROWS * 17 * 5 / 2);

  for (guint i = 0; i < 4; i++) {
    g_autofree char *select = numbers (i);
    g_autoptr (DuckCached) cached = NULL;
    g_autoptr (GError) error = NULL;

    g_assert_false (duck_cache_has (engine, select));
    duck_cache_rows (engine, select, N_ROWS, TRUE, NULL, &cached, &error);
    g_assert_no_error (error);
    g_assert_true ((cached != NULL) == (i < 2));
    g_assert_true (duck_cache_has (engine, select) == (i < 2));
  }
  for (guint i = 0; i < 2; i++) {
    g_autofree char *select = numbers (i);
    g_assert_true (is_cached (engine, select));
  }
}

static void
test_few_rows (void)
{
  g_autoptr (DuckEngine) engine = engine_of (0);

  g_assert_false (duck_cache_takes (engine, 1));
  g_assert_true (duck_cache_takes (engine, N_ROWS));
}

/* What is said not to fit is not read. */
static void
test_too_much (void)
{
  g_autoptr (DuckEngine) engine = engine_of (N_ROWS * 20);

  for (guint i = 0; i < 3; i++) {
    g_autoptr (DuckCached) cached = ask (engine, "SELECT error('read')", N_ROWS * 20);
    g_assert_null (cached);
  }
}

static void
test_failing (void)
{
  g_autoptr (DuckEngine) engine = engine_of (0);
  const char *select = "SELECT a FROM read_parquet('/no/such/file')";

  g_assert_false (is_cached (engine, select));
  for (guint i = 0; i < 2; i++) {
    g_autoptr (GError) error = NULL;
    DuckCached *cached = NULL;

    g_assert_false (duck_cache_rows (engine, select, N_ROWS, FALSE, NULL, &cached, &error));
    g_assert_nonnull (error);
    g_assert_null (cached);
  }
}

/* More than there is room for is read to the bound, once. */
static void
test_no_room (void)
{
  g_autoptr (DuckEngine) engine = engine_of (N_ROWS * 20);
  g_autofree char *text = g_strdup_printf ("SELECT i AS a, repeat('x', 100) || i AS b FROM range(%d) r(i)", N_ROWS);

  for (guint i = 0; i < 4; i++)
    g_assert_false (is_cached (engine, text));
  g_assert_cmpuint (duck_cache_bytes (engine), ==, 0);
}

/* What fits but for the room in its last chunk is not kept, and not read again and again either. */
static void
test_room_in_chunks (void)
{
  g_autoptr (DuckEngine) engine = engine_of (2500 * 10);
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (engine, &error);
  gint64 n;

  g_assert_no_error (error);
  g_assert_true (duck_session_execute (session, "CREATE SEQUENCE reads", NULL, &error));
  for (guint i = 0; i < 5; i++) {
    g_autoptr (DuckCached) cached = ask (engine, "SELECT nextval('reads') AS a FROM range(2400)", 2400);
    g_assert_true ((cached != NULL) == (i == 1));
  }
  g_assert_cmpuint (duck_cache_bytes (engine), ==, 0);
  g_assert_true (duck_session_query_int64 (session, "SELECT nextval('reads')", NULL, &n, NULL, &error));
  g_assert_cmpint (n, ==, 2401);
}

/* Of rows that are asked for in turns and do not fit together the first stay. */
static void
test_in_turns (void)
{
  g_autoptr (DuckEngine) engine = engine_of (N_ROWS * 17 * 3);

  for (guint round = 0; round < 5; round++) {
    for (guint i = 0; i < 6; i++) {
      g_autofree char *select = numbers (i);
      g_assert_true (is_cached (engine, select) == (round > 0 && i < 2));
    }
  }
}

static void
test_oldest_gives_way (void)
{
  g_autoptr (DuckEngine) engine = engine_of (N_ROWS * 17 * 3);

  for (guint i = 0; i < 20; i++) {
    g_autofree char *select = numbers (i);
    g_assert_false (is_cached (engine, select));
    g_assert_true (is_cached (engine, select));
    g_assert_cmpuint (duck_cache_bytes (engine), <=, N_ROWS * 17 * 3);
  }
  g_autofree char *last = numbers (19), *first = numbers (0);
  g_assert_true (is_cached (engine, last));
  g_assert_false (is_cached (engine, first));
}

static const char *const columns =
    "SELECT i AS a, CASE WHEN i %% 3 = 0 THEN 'text of row ' || i END AS b, [i, NULL] AS c,"
    " CASE WHEN i %% 7 > 0 THEN {'d': i::VARCHAR || repeat('y', 20)} END AS e, hash(i) AS h"
    " FROM range(%u, %u) r(i)";

/* The parts' rows, their numbers, and nothing else. */
static void
test_parts (void)
{
  static const guint bounds[] = { 0, 10000, 10001, 30000 };
  g_autoptr (DuckEngine) engine = engine_of (0);
  DuckCached *cached[3];
  g_autoptr (GString) want = g_string_new (NULL);

  for (guint i = 0; i < 3; i++) {
    g_autofree char *select = g_strdup_printf (columns, bounds[i], bounds[i + 1]);
    g_autoptr (DuckCached) none = ask (engine, select, N_ROWS);

    cached[i] = ask (engine, select, N_ROWS);
    g_assert_nonnull (cached[i]);
    g_string_append_printf (want, "%sSELECT *, %u::UBIGINT AS part FROM (%s)", i > 0 ? " UNION ALL " : "", i, select);
  }
  guint64 handle = duck_engine_lend_cached (engine, cached, 3, "part", NULL);
  for (guint i = 0; i < 3; i++)
    duck_cached_unref (cached[i]);
  g_autofree char *parts = g_strdup_printf ("sluice_parts(%" G_GUINT64_FORMAT "::UBIGINT)", handle);
  g_autofree char *differ = g_strdup_printf (
      "SELECT ((SELECT count(*) FROM (FROM (%s) EXCEPT ALL FROM %s)) + (SELECT count(*) FROM %s))::VARCHAR", want->str,
      parts, parts);
  g_autofree char *got = text_of (engine, differ);
  g_assert_cmpstr (got, ==, "30000");
  g_autofree char *some = g_strdup_printf ("SELECT string_agg(part || ' ' || n, ',' ORDER BY part) FROM (SELECT part,"
                                           " count(b) AS n FROM %s WHERE a %% 2 = 0 GROUP BY part)",
                                           parts);
  g_autofree char *sums = text_of (engine, some);
  g_assert_cmpstr (sums, ==, "0 1667,1 0,2 3333");
  duck_engine_take_back (engine, handle);
}

/* No row that is wanted is missing, and most others are. */
static void
test_wanted (void)
{
  g_autoptr (DuckEngine) engine = engine_of (0);
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (engine, &error);
  g_autofree char *select = g_strdup_printf (columns, 0, 200000);
  g_autoptr (DuckCached) none = ask (engine, select, 200000), cached = ask (engine, select, 200000);
  g_autoptr (DuckWanted) wanted =
      duck_wanted_new (session, "SELECT hash(i * 20) FROM range(10000) r(i)", 10000, NULL, &error);

  g_assert_no_error (error);
  guint64 handle = duck_engine_lend_cached (engine, &cached, 1, "part", wanted);
  g_autofree char *sql = g_strdup_printf (
      "SELECT (count(*) FILTER (a %% 20 = 0) = 10000 AND count(*) FILTER (a %% 20 = 0 AND (b = 'text of row ' || a OR a"
      " %% 3 > 0) AND c[1] = a) = 10000 AND count(*) < 15000 AND count(DISTINCT a) = count(*))::VARCHAR"
      " FROM sluice_parts(%" G_GUINT64_FORMAT "::UBIGINT)",
      handle);
  g_autofree char *got = text_of (engine, sql);
  g_assert_cmpstr (got, ==, "true");
  duck_engine_take_back (engine, handle);
  g_autoptr (DuckWanted) nothing = duck_wanted_new (session, "SELECT hash(i) FROM range(0) r(i)", 0, NULL, &error);
  handle = duck_engine_lend_cached (engine, &cached, 1, "part", nothing);
  g_autofree char *count =
      g_strdup_printf ("SELECT count(*)::VARCHAR FROM sluice_parts(%" G_GUINT64_FORMAT "::UBIGINT)", handle);
  g_autofree char *n = text_of (engine, count);
  g_assert_cmpstr (n, ==, "0");
  duck_engine_take_back (engine, handle);
}

static void
test_taken_back (void)
{
  g_autoptr (DuckEngine) engine = engine_of (0);
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (engine, &error);
  gint64 n;

  g_assert_false (
      duck_session_query_int64 (session, "SELECT count(*) FROM sluice_parts(77::UBIGINT)", NULL, &n, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_LENT_OBJECT_GONE);
}

static gpointer
ask_often (gpointer data)
{
  for (guint i = 0; i < 60; i++) {
    g_autofree char *select = numbers (i % 7);
    g_autoptr (DuckCached) cached = ask (data, select, N_ROWS);

    if (cached == NULL)
      continue;
    guint64 handle = duck_engine_lend_cached (data, &cached, 1, "part", NULL);
    g_autofree char *sql =
        g_strdup_printf ("SELECT (sum(a - %u) = sum(i) AND count(*) = %d)::VARCHAR FROM sluice_parts(%" G_GUINT64_FORMAT
                         "::UBIGINT) t JOIN range(%d) r(i) ON t.b = 2 * i",
                         i % 7, N_ROWS, handle, N_ROWS);
    g_autofree char *got = text_of (data, sql);
    g_assert_cmpstr (got, ==, "true");
    duck_engine_take_back (data, handle);
  }
  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (DuckEngine) engine = engine_of (N_ROWS * 17 * 3);
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("asks", ask_often, engine);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (duck_cache_bytes (engine), <=, N_ROWS * 17 * 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/duck-cache/second-time", test_second_time);
  g_test_add_func ("/duck-cache/at-once", test_at_once);
  g_test_add_func ("/duck-cache/few-rows", test_few_rows);
  g_test_add_func ("/duck-cache/too-much", test_too_much);
  g_test_add_func ("/duck-cache/failing", test_failing);
  g_test_add_func ("/duck-cache/no-room", test_no_room);
  g_test_add_func ("/duck-cache/room-in-chunks", test_room_in_chunks);
  g_test_add_func ("/duck-cache/in-turns", test_in_turns);
  g_test_add_func ("/duck-cache/oldest-gives-way", test_oldest_gives_way);
  g_test_add_func ("/duck-cache/parts", test_parts);
  g_test_add_func ("/duck-cache/wanted", test_wanted);
  g_test_add_func ("/duck-cache/taken-back", test_taken_back);
  g_test_add_func ("/duck-cache/threads", test_threads);
  return g_test_run ();
}

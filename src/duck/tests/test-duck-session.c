/* Sessions and results: statements, streaming, describing, errors, cancellation, memory, time zones, Arrow. */
#include "base-error.h"
#include "duck-session.h"

#include <glib.h>
#include <glib/gstdio.h>

static DuckEngine *engine;

static DuckSession *
open_session (void)
{
  g_autoptr (GError) error = NULL;
  DuckSession *session = duck_session_new (engine, &error);

  g_assert_no_error (error);
  return session;
}

static gint64
int64_of (DuckSession *session, const char *sql)
{
  g_autoptr (GError) error = NULL;
  gint64 value = -1;

  duck_session_query_int64 (session, sql, NULL, &value, NULL, &error);
  g_assert_no_error (error);
  return value;
}

/* All rows of a query as JSON, columns parted by `|`, rows by `;`. */
static char *
rows_of (DuckSession *session, const char *sql)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) result = duck_session_query (session, sql, NULL, &error);
  g_autoptr (GString) out = g_string_new (NULL);
  const DuckChunk *chunk;

  g_assert_no_error (error);
  while (duck_result_next (result, &chunk, &error) && chunk != NULL) {
    for (guint row = 0; row < chunk->n_rows; row++) {
      if (out->len > 0)
        g_string_append_c (out, ';');
      for (guint i = 0; i < chunk->n_columns; i++) {
        if (i > 0)
          g_string_append_c (out, '|');
        duck_vector_append_json (&chunk->columns[i], duck_result_column_type (result, i), row, out);
      }
    }
  }
  g_assert_no_error (error);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static void
test_values (void)
{
  static const struct {
    const char *sql, *expected;
  } cases[] = {
    { "SELECT true, NULL::BOOLEAN, (-5)::TINYINT, 300::SMALLINT, 7, 9007199254740993",
      "true|null|-5|300|7|9007199254740993" },
    { "SELECT 200::UTINYINT, 60000::USMALLINT, 4000000000::UINTEGER, 18446744073709551615::UBIGINT",
      "200|60000|4000000000|18446744073709551615" },
    { "SELECT -170141183460469231731687303715884105727::HUGEINT", "-170141183460469231731687303715884105727" },
    { "SELECT 340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455" },
    { "SELECT 0.1::FLOAT, 0.1::DOUBLE, 3::DOUBLE, 1e300, 'nan'::DOUBLE, '-inf'::FLOAT, -0.0::DOUBLE",
      "0.1|0.1|3.0|1e+300|\"NaN\"|\"-Infinity\"|-0.0" },
    { "SELECT -1.05::DECIMAL(4,2), 0.007::DECIMAL(9,3), 123456789.12::DECIMAL(18,2), -0.5::DECIMAL(38,10), "
      "7::DECIMAL(5,0)",
      "-1.05|0.007|123456789.12|-0.5000000000|7" },
    { "SELECT 'short', 'a string of more than twelve bytes', '', e'q\"\\\\\\n\\t' || chr(1), NULL::VARCHAR, 'ü€'",
      "\"short\"|\"a string of more than twelve bytes\"|\"\"|\"q\\\"\\\\\\n\\t\\u0001\"|null|\"ü€\"" },
    { "SELECT ''::BLOB, '\\x00\\xFF'::BLOB", "\"\"|\"AP8=\"" },
    { "SELECT DATE '1969-12-31', DATE '0001-01-01', DATE '2024-02-29', 'infinity'::DATE, DATE '9999-12-31', "
      "'0044-03-15 (BC)'::DATE",
      "\"1969-12-31\"|\"0001-01-01\"|\"2024-02-29\"|\"infinity\"|\"9999-12-31\"|\"-0043-03-15\"" },
    { "SELECT TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMPTZ '2020-07-01 00:00:00+02', 'infinity'::TIMESTAMP",
      "\"1969-12-31T23:59:59.999999\"|\"2020-06-30T22:00:00Z\"|\"infinity\"" },
    { "SELECT TIMESTAMP_S '2020-01-01 00:00:01', TIMESTAMP_MS '2020-01-01 00:00:01.5', TIMESTAMP_NS '1960-01-01 "
      "00:00:01.5', TIME '01:02:03.4'",
      "\"2020-01-01T00:00:01\"|\"2020-01-01T00:00:01.500000\"|\"1960-01-01T00:00:01.500000\"|\"01:02:03.400000\"" },
    { "SELECT INTERVAL '1 year 2 days 3 seconds', '00112233-4455-6677-8899-aabbccddeeff'::UUID, NULL",
      "\"12 months 2 days 3000000 microseconds\"|\"00112233-4455-6677-8899-aabbccddeeff\"|null" },
    { "SELECT [1, NULL, 3], []::INTEGER[], NULL::INTEGER[], [[1], NULL, []]", "[1,null,3]|[]|null|[[1],null,[]]" },
    { "SELECT {'a': 1, 'b\"': NULL::INTEGER}, NULL::STRUCT(a INTEGER), {'s': {'t': 'x'}, 'l': [{'v': 1}]}",
      "{\"a\":1,\"b\\\"\":null}|null|{\"s\":{\"t\":\"x\"},\"l\":[{\"v\":1}]}" },
    { "SELECT MAP {'k': 1, 'j': NULL}, MAP {1: 'a'}, MAP {DATE '2020-01-01': true}, MAP {[1]: 2}, MAP {}::MAP(INTEGER, "
      "INTEGER)",
      "{\"k\":1,\"j\":null}|{\"1\":\"a\"}|{\"2020-01-01\":true}|[{\"key\":[1],\"value\":2}]|{}" },
    { "SELECT i FROM range(3) t(i) WHERE i > 5", "" },
    { "SELECT l FROM (VALUES (1, [1,2]), (2, NULL), (3, []), (4, [3])) t(i, l) ORDER BY i", "[1,2];null;[];[3]" },
    { "SELECT list_filter(['v' || i, 'w', NULL], x -> x <> 'w') FROM range(6) t(i) WHERE i % 2 = 1 ORDER BY i",
      "[\"v1\"];[\"v3\"];[\"v5\"]" },
    { "SELECT list_zip(l, list_reverse(l))[1:1], {'x': l[2:]} FROM (SELECT ['q' || i, 'r'] AS l FROM range(4) t(i) "
      "WHERE i > 1 ORDER BY i)",
      "[{\"\":\"q2\",\"\":\"r\"}]|{\"x\":[\"r\"]};[{\"\":\"q3\",\"\":\"r\"}]|{\"x\":[\"r\"]}" },
  };
  g_autoptr (DuckSession) session = open_session ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *rows = rows_of (session, cases[i].sql);
    g_assert_cmpstr (rows, ==, cases[i].expected);
  }
}

static void
test_statements (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (DuckSession) other = open_session ();
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  gboolean is_null = FALSE;
  gint64 value = 5;

  g_assert_true (duck_session_execute (session,
                                       "CREATE TEMP TABLE t AS SELECT range AS i FROM range(10); "
                                       "INSERT INTO t VALUES (10), (11); SELECT * FROM t; -- a comment\n",
                                       NULL, &error));
  g_assert_true (duck_session_execute (session, "", NULL, &error));
  g_assert_true (duck_session_execute (session, "  -- nothing", NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (int64_of (session, "SELECT count(*) FROM t"), ==, 12);
  g_assert_false (duck_session_execute (other, "SELECT * FROM t", NULL, NULL)); /* temporary tables are the session's */

  /* A failing statement stops the ones after it. */
  g_assert_false (duck_session_execute (
      session, "INSERT INTO t VALUES (12); SELECT error('no'); INSERT INTO t VALUES (13)", NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_EXECUTION_ERROR);
  g_clear_error (&error);
  g_assert_cmpint (int64_of (session, "SELECT count(*) FROM t"), ==, 13);

  g_assert_true (duck_session_query_int64 (session, "SELECT NULL::INTEGER", NULL, &value, &is_null, &error));
  g_assert_true (is_null);
  g_assert_cmpint (value, ==, 0);
  g_assert_false (duck_session_query_int64 (session, "SELECT 1 WHERE false", NULL, &value, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INTERNAL_ERROR);
  g_clear_error (&error);
  g_assert_false (duck_session_query_int64 (session, "SELECT 'x'", NULL, &value, NULL, &error));
  g_clear_error (&error);
  g_assert_true (duck_session_query_string (session, "SELECT 'abc'", NULL, &text, &error));
  g_assert_cmpstr (text, ==, "abc");
}

static void
test_streaming (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) result = duck_session_query (
      session, "SELECT i, i::VARCHAR || '-some text', [i, i + 1] FROM range(1000000) t(i)", NULL, &error);
  const DuckChunk *chunk;
  gint64 sum = 0, n_rows = 0, bytes = 0;

  g_assert_no_error (error);
  while (duck_result_next (result, &chunk, &error) && chunk != NULL) {
    g_assert_cmpuint (chunk->n_rows, <=, duck_vector_capacity ());
    for (guint row = 0; row < chunk->n_rows; row++) {
      gsize length;
      DuckListEntry entry = duck_vector_list (&chunk->columns[2], row);
      g_assert_cmpuint (entry.length, ==, 2);
      sum += duck_vector_int64 (&chunk->columns[2].children[0], entry.offset + 1);
      (void) duck_vector_string (&chunk->columns[1], row, &length);
      bytes += (gint64) length;
    }
    n_rows += chunk->n_rows;
  }
  g_assert_no_error (error);
  g_assert_cmpint (n_rows, ==, 1000000);
  g_assert_cmpint (sum, ==, G_GINT64_CONSTANT (1000000) * 1000001 / 2);
  g_assert_cmpint (bytes, ==, 5888890 + 10 * 1000000);
  g_assert_true (duck_result_next (result, &chunk, &error)); /* the end stays the end */
  g_assert_null (chunk);
}

static void
test_next_statement_ends_stream (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) streaming = duck_session_query (session, "SELECT * FROM range(1000000)", NULL, &error);
  const DuckChunk *chunk = NULL;

  g_assert_true (duck_result_next (streaming, &chunk, &error));
  g_autoptr (DuckResult) held = duck_session_query_materialized (session, "SELECT * FROM range(5000)", NULL, &error);
  g_assert_no_error (error);
  g_assert_false (duck_result_next (streaming, &chunk, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INTERNAL_ERROR);
  g_clear_error (&error);

  g_assert_cmpint (int64_of (session, "SELECT 3"), ==, 3); /* a materialized result outlives it */
  gint64 n_rows = 0;
  while (duck_result_next (held, &chunk, &error) && chunk != NULL)
    n_rows += chunk->n_rows;
  g_assert_no_error (error);
  g_assert_cmpint (n_rows, ==, 5000);
}

static void
test_describe (void)
{
  static const struct {
    const char *sql, *name, *type;
  } cases[] = {
    { "SELECT 1 AS \"a b\"", "a b", "INTEGER" },
    { "SELECT NULL AS n", "n", "INTEGER" },
    { "SELECT 1.50::DECIMAL(10,2) AS d", "d", "DECIMAL(10,2)" },
    { "SELECT now() AS t", "t", "TIMESTAMP WITH TIME ZONE" },
    { "SELECT [{'x y': 1, 'z': MAP {'k': DATE '2020-01-01'}}] AS l", "l",
      "STRUCT(\"x y\" INTEGER, \"z\" MAP(VARCHAR, DATE))[]" },
    { "SELECT error('not run') AS e", "e", "INTEGER" },
    { "SELECT count(*) FROM range(100000000000)", "count_star()", "BIGINT" },
  };
  g_autoptr (DuckSession) session = open_session ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GPtrArray) columns = duck_session_describe (session, cases[i].sql, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (columns->len, ==, 1);
    const DuckColumn *column = g_ptr_array_index (columns, 0);
    g_assert_cmpstr (column->name, ==, cases[i].name);
    g_assert_cmpstr (duck_type_name (column->type), ==, cases[i].type);
  }
  g_autoptr (GError) error = NULL;
  g_assert_null (duck_session_describe (session, "SELECT nope", &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INTERNAL_ERROR);
  g_assert_cmpstr (base_error_param (error, "sql"), ==, "SELECT nope");
}

static void
test_errors (void)
{
  static const struct {
    const char *sql;
    SluiceError code;
    const char *message; /* (nullable): exactly */
  } cases[] = {
    { "SELECT 9223372036854775807 + i FROM range(1, 2) t(i)", SLUICE_ERROR_ARITHMETIC_OVERFLOW,
      "Overflow in addition of INT64 (9223372036854775807 + 1)!" },
    { "SELECT ('x' || i)::INTEGER FROM range(3) t(i)", SLUICE_ERROR_CAST_INVALID_INPUT,
      "Could not convert string 'x0' to INT32" },
    { "SELECT (i * 300)::TINYINT FROM range(3) t(i)", SLUICE_ERROR_CAST_OVERFLOW, NULL },
    { "SELECT (i * 99999)::DECIMAL(5,2) FROM range(3) t(i)", SLUICE_ERROR_CAST_OVERFLOW, NULL },
    { "SELECT DATE '2020-01-01' + INTERVAL (i) YEAR FROM range(1000000, 1000002) t(i)", SLUICE_ERROR_DATETIME_OVERFLOW,
      NULL },
    { "SELECT (SELECT i FROM range(3) t(i))", SLUICE_ERROR_SCALAR_SUBQUERY_TOO_MANY_ROWS,
      "More than one row returned by a subquery used as an expression - scalar subqueries can only return a single "
      "row." },
    { "SELECT * FROM read_parquet('/nowhere/none.parquet')", SLUICE_ERROR_FILE_NOT_FOUND, NULL },
    { "COPY (SELECT 1) TO '/nowhere/none.parquet'", SLUICE_ERROR_FILE_NOT_FOUND, NULL },
    { "SELEC 1", SLUICE_ERROR_INTERNAL_ERROR, "syntax error at or near \"SELEC\"" },
    { "SELECT * FROM nope", SLUICE_ERROR_INTERNAL_ERROR, NULL },
    { "SELECT error('hello')", SLUICE_ERROR_EXECUTION_ERROR, "hello" },
    { "SELECT error('SLUICE[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] x is NULL')",
      SLUICE_ERROR_DELTA_NOT_NULL_CONSTRAINT_VIOLATED, "x is NULL" },
    { "SELECT error('SLUICE[NO_SUCH_CONDITION] x')", SLUICE_ERROR_EXECUTION_ERROR, NULL },
    /* What a value says is not what the engine says. */
    { "SELECT ('SLUICE[DIVIDE_BY_ZERO] ' || i)::INTEGER FROM range(3) t(i)", SLUICE_ERROR_CAST_INVALID_INPUT, NULL },
  };
  g_autoptr (DuckSession) session = open_session ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (duck_session_execute (session, cases[i].sql, NULL, &error));
    g_test_message ("%s → %s", cases[i].sql, error->message);
    g_assert_error (error, SLUICE_ERROR, (gint) cases[i].code);
    if (cases[i].message != NULL)
      g_assert_cmpstr (error->message, ==, cases[i].message);
    if (cases[i].code == SLUICE_ERROR_FILE_NOT_FOUND)
      g_assert_cmpstr (base_error_param (error, "file"), ==, "/nowhere/none.parquet");
  }

  /* An error in the middle of a stream comes from reading, and stays. */
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) result = duck_session_query (
      session, "SELECT CASE WHEN i = 1500000 THEN error('late') ELSE i END FROM range(2000000) t(i)", NULL, &error);
  const DuckChunk *chunk = NULL;
  while (result != NULL && duck_result_next (result, &chunk, &error) && chunk != NULL)
    ;
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_EXECUTION_ERROR);
  g_clear_error (&error);
  if (result != NULL)
    g_assert_false (duck_result_next (result, &chunk, NULL));
  g_assert_cmpint (int64_of (session, "SELECT 1"), ==, 1);
}

/* Every way to spoil a Parquet file is told from a missing one, and nothing crashes. */
static void
test_spoilt_parquet (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (GError) error = NULL;
  g_autofree char *dir = g_dir_make_tmp ("duck-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "good.parquet", NULL);
  g_autofree char *bad = g_build_filename (dir, "bad.parquet", NULL);
  g_autofree char *copy =
      g_strdup_printf ("COPY (SELECT i, 'v' || (i %% 10) AS s, {'a': i} AS t FROM range(5000) t(i)) TO '%s'", path);
  g_autofree char *read = g_strdup_printf ("SELECT count(i), min(s), max(t) FROM read_parquet('%s')", bad);
  g_autofree char *content = NULL;
  gsize size;
  guint n_unreadable = 0;

  g_assert_true (duck_session_execute (session, copy, NULL, &error));
  g_assert_true (g_file_get_contents (path, &content, &size, &error));
  GRand *random = g_rand_new_with_seed (7);
  for (guint round = 0; round < 120; round++) {
    g_autofree char *spoilt = g_memdup2 (content, size);
    gsize length = size;
    if (round % 3 == 0) {
      length = (gsize) g_rand_int_range (random, 0, (gint32) size);
    } else {
      /* half of them in the footer */
      gsize from = round % 3 == 1 ? 4 : size - MIN (size, 400);
      for (guint i = 0; i < 1 + round % 20; i++)
        spoilt[g_rand_int_range (random, (gint32) from, (gint32) size)] ^=
            (char) (1 + g_rand_int_range (random, 0, 255));
    }
    g_assert_true (g_file_set_contents (bad, spoilt, (gssize) length, &error));
    if (!duck_session_execute (session, read, NULL, &error)) {
      g_test_message ("%s: %s", base_error_condition (error), error->message);
      n_unreadable += g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE);
      g_assert_false (g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_FILE_NOT_FOUND));
      g_clear_error (&error);
    }
  }
  g_rand_free (random);
  g_assert_cmpuint (n_unreadable, >, 60);
  (void) g_unlink (path);
  (void) g_unlink (bad);
  (void) g_rmdir (dir);
}

/* ---- cancellation ---- */

typedef struct {
  BaseCancel *cancel;
  gulong delay_us;
} Raise;

static gpointer
raise_later (gpointer data)
{
  Raise *raise = data;

  g_usleep (raise->delay_us);
  base_cancel_raise (raise->cancel);
  return NULL;
}

#define ENDLESS "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE (a.range * b.range) % 7 = 3"

static void
test_cancel (void)
{
  g_autoptr (DuckSession) session = open_session ();

  /* Different delays hit planning, running, and the moment between. */
  for (gulong delay_us = 0; delay_us < 60000; delay_us = delay_us * 2 + 100) {
    g_autoptr (BaseCancel) cancel = base_cancel_new ();
    g_autoptr (GError) error = NULL;
    Raise raise = { cancel, delay_us };
    GThread *thread = g_thread_new ("raise", raise_later, &raise);
    gint64 start = g_get_monotonic_time ();
    g_assert_false (duck_session_execute (session, ENDLESS, cancel, &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED);
    g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
    g_thread_join (thread);
    g_assert_cmpint (int64_of (session, "SELECT 42"), ==, 42);
    g_assert_false (duck_session_execute (session, "SELECT 1", cancel, NULL)); /* raised stays raised */
  }
}

static void
test_cancel_stream (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (BaseCancel) cancel = base_cancel_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) result =
      duck_session_query (session, "SELECT i FROM range(100000000000) t(i)", cancel, &error);
  const DuckChunk *chunk = NULL;

  g_assert_no_error (error);
  for (guint i = 0; i < 10; i++)
    g_assert_true (duck_result_next (result, &chunk, &error));
  base_cancel_raise (cancel);
  g_assert_false (duck_result_next (result, &chunk, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED);
  g_assert_cmpint (int64_of (session, "SELECT 42"), ==, 42);
}

/* Sessions of several threads, each with its own queries, errors and cancellations, do not disturb each other. */
static gpointer
work (gpointer data)
{
  g_autoptr (DuckSession) session = open_session ();
  guint number = GPOINTER_TO_UINT (data);

  for (guint round = 0; round < 15; round++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *sum = g_strdup_printf ("SELECT sum(i %% %u)::BIGINT FROM range(100000) t(i)", number + 2);
    gint64 expected = 0;
    for (guint i = 0; i < 100000; i++)
      expected += i % (number + 2);
    g_assert_cmpint (int64_of (session, sum), ==, expected);
    g_assert_false (duck_session_execute (session, "SELECT ('x' || i)::INTEGER FROM range(50000) t(i)", NULL, &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_CAST_INVALID_INPUT);
    g_clear_error (&error);
    if (round % 5 == number % 5) {
      g_autoptr (BaseCancel) cancel = base_cancel_new ();
      Raise raise = { cancel, 1000 * number };
      GThread *thread = g_thread_new ("raise", raise_later, &raise);
      g_assert_false (duck_session_execute (session, ENDLESS, cancel, &error));
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED);
      g_thread_join (thread);
    }
  }
  return NULL;
}

static void
test_many_sessions (void)
{
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("work", work, GUINT_TO_POINTER (i));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

/* Every failing stream says why, also when DuckDB answers with the interrupt it sends its own threads. */
static void
test_failing_streams_say_why (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autofree char *dir = g_dir_make_tmp ("duck-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "a.parquet", NULL);
  g_autofree char *copy = g_strdup_printf ("COPY (SELECT range AS i FROM range(1000000)) TO '%s'", path);
  g_autofree char *sql =
      g_strdup_printf ("SELECT (CASE WHEN i = 300000 THEN 'x' ELSE '1' END)::INTEGER FROM read_parquet('%s')", path);

  g_assert_true (duck_session_execute (session, copy, NULL, NULL));
  for (guint i = 0; i < 60; i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (DuckResult) result = duck_session_query (session, sql, NULL, &error);
    const DuckChunk *chunk = NULL;
    while (result != NULL && duck_result_next (result, &chunk, &error) && chunk != NULL)
      ;
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_CAST_INVALID_INPUT);
  }
  (void) g_unlink (path);
  (void) g_rmdir (dir);
}

/* ---- memory ---- */

static void
test_memory (void)
{
  g_autofree char *dir = g_dir_make_tmp ("duck-XXXXXX", NULL);
  DuckEngineOptions options = { .memory_limit_bytes = 64 * 1024 * 1024, .n_threads = 2, .temp_directory = dir };
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckEngine) small = duck_engine_new (&options, &error);
  g_assert_no_error (error);
  g_autoptr (DuckSession) session = duck_session_new (small, &error);
  gint64 value = 0;

  g_assert_cmpuint (duck_engine_n_threads (small), ==, 2);
  /* A sort of about 200 MB spills. */
  g_assert_true (duck_session_query_int64 (
      session,
      "SELECT count(*) FROM (SELECT hash(i) AS h, repeat('x', 50) || i AS s FROM range(2000000) t(i) ORDER BY h)", NULL,
      &value, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (value, ==, 2000000);
  /* One value of about 300 MB cannot. */
  g_assert_false (duck_session_execute (
      session, "SELECT length(list(repeat('x', 1000) || i)::VARCHAR) FROM range(300000) t(i)", NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_OUT_OF_MEMORY);
  g_assert_true (base_error_is_retryable (error));
  g_clear_error (&error);
  g_assert_true (duck_session_query_int64 (session, "SELECT 7", NULL, &value, NULL, &error));
  g_clear_pointer (&session, duck_session_free);
  g_clear_pointer (&small, duck_engine_unref);
  g_assert_cmpint (g_rmdir (dir), ==, 0); /* nothing is left behind */
}

/* Two threads with a buffer of JSON each were too much for 100 MB. */
static void
test_threads_follow_memory (void)
{
  static const struct {
    gint64 bytes;
    guint asked, most;
  } cases[] = { { 1 << 20, 0, 1 }, { 100000000, 0, 1 }, { 128 << 20, 0, 2 }, { 128 << 20, 5, 5 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    DuckEngineOptions options = { .memory_limit_bytes = cases[i].bytes, .n_threads = cases[i].asked };
    g_autoptr (DuckEngine) small = duck_engine_new (&options, &error);

    g_assert_no_error (error);
    g_assert_cmpuint (duck_engine_n_threads (small), ==,
                      cases[i].asked > 0 ? cases[i].asked : MIN (cases[i].most, g_get_num_processors ()));
  }
}

static void
test_bad_options (void)
{
  DuckEngineOptions options = { .memory_limit_bytes = 1, .temp_directory = "/" };
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckEngine) broken = duck_engine_new (&options, &error);

  if (broken == NULL)
    g_assert_nonnull (error);
  g_assert_nonnull (duck_engine_library_version ());
}

/* ---- the rest ---- */

static void
test_time_zone (void)
{
  static const struct {
    const char *zone, *expected; /* (nullable): refused */
  } cases[] = {
    { "UTC", "2020-07-01 00:00:00+00" },
    { "Europe/Berlin", "2020-07-01 02:00:00+02" },
    { "america/new_york", "2020-06-30 20:00:00-04" },
    { "+02:00", "2020-07-01 02:00:00+02" },
    { "-3", "2020-06-30 21:00:00-03" },
    { "GMT+05:00", "2020-07-01 05:00:00+05" },
    { "UTC-12:00:00", "2020-06-30 12:00:00-12" },
    { "+14:00", "2020-07-01 14:00:00+14" },
    { "Z", "2020-07-01 00:00:00+00" },
    { "GMT", "2020-07-01 00:00:00+00" },
    { "+05:30", NULL },
    { "UTC+99", NULL },
    { "+2:0", NULL },
    { "", NULL },
    { "Mars/Olympus", NULL },
    { "x'; DROP TABLE t; --", NULL },
  };
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (DuckSession) other = open_session ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *text = NULL;
    gboolean known = duck_session_set_time_zone (session, cases[i].zone, &error);
    if (cases[i].expected == NULL) {
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INVALID_TIMEZONE);
      continue;
    }
    g_assert_no_error (error);
    g_assert_true (known);
    g_assert_cmpstr (duck_session_time_zone (session), ==, cases[i].zone);
    g_assert_true (duck_session_query_string (session, "SELECT TIMESTAMPTZ '2020-07-01 00:00:00+00'::VARCHAR", NULL,
                                              &text, &error));
    g_assert_cmpstr (text, ==, cases[i].expected);
  }
  g_autofree char *text = NULL;
  g_assert_true (duck_session_query_string (other, "SELECT current_setting('TimeZone')", NULL, &text, NULL));
  g_assert_cmpstr (text, ==, "UTC");
}

typedef struct {
  DuckSession *session;
  int done; /* atomic */
  double most;
} Watch;

static gpointer
watch_progress (gpointer data)
{
  Watch *watch = data;

  while (!g_atomic_int_get (&watch->done)) {
    watch->most = MAX (watch->most, duck_session_progress (watch->session));
    g_usleep (1000);
  }
  return NULL;
}

static void
test_progress (void)
{
  g_autoptr (DuckSession) session = open_session ();
  Watch watch = { session, 0, -1 };
  g_assert_cmpfloat (duck_session_progress (session), ==, -1);
  g_assert_true (duck_session_watch_progress (session, NULL));
  GThread *thread = g_thread_new ("watch", watch_progress, &watch);

  (void) int64_of (session, "SELECT sum(hash(i) % 10) FROM range(60000000) t(i)");
  g_atomic_int_set (&watch.done, 1);
  g_thread_join (thread);
  g_assert_cmpfloat (watch.most, <=, 100);
  g_test_message ("progress reached %f", watch.most);
}

struct ArrowSchema {
  const char *format, *name, *metadata;
  gint64 flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release) (struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  gint64 length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release) (struct ArrowArray *);
  void *private_data;
};

static void
test_arrow (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) result =
      duck_session_query (session, "SELECT i, 's' || i, [i], {'a': i} FROM range(5000) t(i) ORDER BY i", NULL, &error);
  const char *names[] = { "one", "two", "three", "four" };
  struct ArrowSchema schema = { 0 };
  gboolean at_end = FALSE;
  gint64 sum = 0;

  g_assert_true (duck_result_export_schema (result, names, &schema, &error));
  g_assert_cmpint (schema.n_children, ==, 4);
  g_assert_cmpstr (schema.children[0]->name, ==, "one");
  g_assert_cmpstr (schema.children[0]->format, ==, "l");
  g_assert_cmpstr (schema.children[3]->children[0]->name, ==, "a");
  schema.release (&schema);
  for (;;) {
    struct ArrowArray array = { 0 };
    g_assert_true (duck_result_next_arrow (result, &array, &at_end, &error));
    if (at_end)
      break;
    const gint64 *values = array.children[0]->buffers[1];
    for (gint64 i = 0; i < array.length; i++)
      sum += values[array.children[0]->offset + i];
    array.release (&array);
  }
  g_assert_cmpint (sum, ==, 4999 * 2500);
  g_assert_true (duck_result_export_schema (result, NULL, &schema, &error)); /* also after the end */
  g_assert_cmpstr (schema.children[0]->name, ==, "i");
  schema.release (&schema);
}

static void
test_parse_type (void)
{
  g_autoptr (DuckSession) session = open_session ();
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckType) type = duck_session_parse_type (session, "STRUCT(a DECIMAL(5,1), b TIMESTAMPTZ[])", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (duck_type_name (type), ==, "STRUCT(\"a\" DECIMAL(5,1), \"b\" TIMESTAMP WITH TIME ZONE[])");
  g_assert_null (duck_session_parse_type (session, "NOPE", &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_UNSUPPORTED_DATATYPE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = duck_engine_new (NULL, NULL);
  g_assert_nonnull (engine);
  g_test_add_func ("/duck/session/values-of-every-type", test_values);
  g_test_add_func ("/duck/engine/threads-follow-memory", test_threads_follow_memory);
  g_test_add_func ("/duck/session/statements-run-in-order", test_statements);
  g_test_add_func ("/duck/session/a-million-rows-stream", test_streaming);
  g_test_add_func ("/duck/session/next-statement-ends-stream", test_next_statement_ends_stream);
  g_test_add_func ("/duck/session/describe-does-not-run", test_describe);
  g_test_add_func ("/duck/session/errors-have-names", test_errors);
  g_test_add_func ("/duck/session/spoilt-parquet-is-told", test_spoilt_parquet);
  g_test_add_func ("/duck/session/cancel-leaves-it-usable", test_cancel);
  g_test_add_func ("/duck/session/cancel-stops-a-stream", test_cancel_stream);
  g_test_add_func ("/duck/session/sessions-of-several-threads", test_many_sessions);
  g_test_add_func ("/duck/session/failing-streams-say-why", test_failing_streams_say_why);
  g_test_add_func ("/duck/session/spills-or-says-out-of-memory", test_memory);
  g_test_add_func ("/duck/session/bad-options", test_bad_options);
  g_test_add_func ("/duck/session/time-zone-is-its-own", test_time_zone);
  g_test_add_func ("/duck/session/progress", test_progress);
  g_test_add_func ("/duck/session/arrow", test_arrow);
  g_test_add_func ("/duck/session/parse-type", test_parse_type);
  int status = g_test_run ();
  duck_engine_unref (engine);
  return status;
}

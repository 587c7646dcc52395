/* include/sluice.h as a program outside uses it. */
#include <glib.h>
#include <glib/gstdio.h>
#include <sluice.h>
#include <stdio.h>
#include <string.h>

/* The ten lines of the header's first comment. */
static bool
print_customers (const char *directory, GString *out)
{
  SluiceProblem *problem = NULL;
  SluiceWarehouse *warehouse = sluice_open (directory, &problem);
  SluiceSession *session = sluice_session_new (warehouse, &problem);
  SluiceResult *result =
      sluice_run (session, "SELECT id, name FROM VALUES (1, 'Ada'), (2, 'Bob') AS c(id, name) ORDER BY id", &problem);
  while (sluice_result_next (result, &problem))
    g_string_append_printf (out, "%s %s\n", sluice_result_text (result, 0), sluice_result_text (result, 1));
  if (problem != NULL)
    fputs (sluice_problem_text (problem), stderr);
  sluice_result_free (result);
  sluice_session_free (session);
  sluice_close (warehouse);
  return problem == NULL;
}

static void
test_example_of_the_header (void)
{
  g_autofree char *directory = g_dir_make_tmp ("sluice-example-XXXXXX", NULL);
  g_autoptr (GString) out = g_string_new (NULL);

  g_assert_true (print_customers (directory, out));
  g_assert_cmpstr (out->str, ==, "1 Ada\n2 Bob\n");
  /* Reading leaves nothing behind. */
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

typedef struct {
  char *directory;
  SluiceWarehouse *warehouse;
  SluiceSession *session;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  SluiceProblem *problem = NULL;

  fixture->directory = g_dir_make_tmp ("sluice-session-XXXXXX", NULL);
  fixture->warehouse = sluice_open (fixture->directory, &problem);
  g_assert_null (problem);
  fixture->session = sluice_session_new (fixture->warehouse, &problem);
  g_assert_null (problem);
}

static void
tear_down (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  sluice_session_free (fixture->session);
  sluice_close (fixture->warehouse);
  g_assert_cmpint (g_rmdir (fixture->directory), ==, 0);
  g_free (fixture->directory);
}

static void
test_json_rows (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const struct {
    const char *sql, *json;
  } cases[] = {
    { "SELECT 1 AS a, 'x\"\\n' AS b, NULL AS c", "{\"a\":1,\"b\":\"x\\\"\\n\",\"c\":null}" },
    { "SELECT CAST(1.5 AS DECIMAL(5,2)) AS d, CAST(2 AS DOUBLE) AS f, CAST('NaN' AS DOUBLE) AS n",
      "{\"d\":\"1.50\",\"f\":2.0,\"n\":\"NaN\"}" },
    { "SELECT TIMESTAMP'2024-02-29 12:00:00 UTC' AS t, TIMESTAMP_NTZ'2024-02-29 12:00:00.5' AS u, DATE'2024-02-29' AS "
      "d",
      "{\"t\":\"2024-02-29T12:00:00.000000Z\",\"u\":\"2024-02-29T12:00:00.500000\",\"d\":\"2024-02-29\"}" },
    { "SELECT array(1, NULL) AS a, map(2, 'b', 1, 'a') AS m, named_struct('x', 1) AS s, X'0aff' AS b",
      "{\"a\":[1,null],\"m\":[[1,\"a\"],[2,\"b\"]],\"s\":{\"x\":1},\"b\":\"0aff\"}" },
    { "SELECT 1 AS a, 2 AS a", "[[\"a\",1],[\"a\",2]]" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    SluiceProblem *problem = NULL;
    SluiceResult *result = sluice_run (fixture->session, cases[i].sql, &problem);
    if (problem != NULL)
      g_test_message ("%s", sluice_problem_text (problem));
    g_assert_true (sluice_result_next (result, &problem));
    g_assert_cmpstr (sluice_result_json (result), ==, cases[i].json);
    g_assert_false (sluice_result_next (result, &problem));
    g_assert_null (problem);
    sluice_result_free (result);
  }
}

static void
test_problems_say_where (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  SluiceProblem *problem = NULL;

  g_assert_null (sluice_run (fixture->session, "SELECT 1,\n  nothing FROM nowhere", &problem));
  g_assert_cmpstr (sluice_problem_condition (problem), ==, "TABLE_OR_VIEW_NOT_FOUND");
  g_assert_cmpstr (sluice_problem_sqlstate (problem), ==, "42P01");
  g_assert_cmpuint (sluice_problem_line (problem), ==, 2);
  g_assert_cmpuint (sluice_problem_column (problem), ==, 16);
  g_assert_false (sluice_problem_is_retryable (problem));
  g_assert_nonnull (strstr (sluice_problem_text (problem), "[TABLE_OR_VIEW_NOT_FOUND]"));
  sluice_problem_free (problem);
}

static void
test_types_and_names (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  SluiceProblem *problem = NULL;
  SluiceResult *result = sluice_run (fixture->session, "SELECT 1 + 1, CAST(1 AS DECIMAL(4,1)) AS d;", &problem);

  g_assert_null (problem);
  g_assert_cmpuint (sluice_result_n_columns (result), ==, 2);
  g_assert_cmpstr (sluice_result_name (result, 0), ==, "(1 + 1)");
  g_assert_null (sluice_result_warning (result));
  g_assert_cmpstr (sluice_result_type (result, 0), ==, "int");
  g_assert_cmpstr (sluice_result_type (result, 1), ==, "decimal(4,1)");
  sluice_result_free (result);
}

/* The structs of the Arrow C data interface, as the standard prints them. */
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release) (struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release) (struct ArrowArray *);
  void *private_data;
};

static void
test_arrow_has_all_rows (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  SluiceProblem *problem = NULL;
  SluiceResult *result = sluice_run (fixture->session, "SELECT id AS n FROM range(5000)", &problem);
  struct ArrowSchema schema;
  struct ArrowArray array;
  bool at_end = false;
  int64_t n_rows = 0;

  g_assert_null (problem);
  g_assert_true (sluice_result_arrow_schema (result, &schema, &problem));
  g_assert_cmpint (schema.n_children, ==, 1);
  g_assert_cmpstr (schema.children[0]->name, ==, "n");
  g_assert_cmpstr (schema.children[0]->format, ==, "l");
  schema.release (&schema);
  for (;;) {
    g_assert_true (sluice_result_arrow_next (result, &array, &at_end, &problem));
    if (at_end)
      break;
    n_rows += array.length;
    array.release (&array);
  }
  g_assert_cmpint (n_rows, ==, 5000);
  sluice_result_free (result);
}

static void
test_the_next_statement_ends_a_result (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  SluiceProblem *problem = NULL;
  SluiceResult *first = sluice_run (fixture->session, "SELECT id FROM range(100000)", &problem);
  SluiceResult *second;

  g_assert_true (sluice_result_next (first, &problem));
  second = sluice_run (fixture->session, "SELECT 2", &problem);
  g_assert_true (sluice_result_next (second, &problem));
  g_assert_cmpstr (sluice_result_text (second, 0), ==, "2");
  g_assert_false (sluice_result_next (first, &problem));
  g_assert_nonnull (problem);
  sluice_problem_free (problem);
  sluice_result_free (first);
  sluice_result_free (second);
}

static gpointer
cancel_soon (gpointer data)
{
  Fixture *fixture = data;
  g_usleep (200000); /* the statement below runs for minutes: any moment inside it will do */
  sluice_cancel (fixture->session);
  return NULL;
}

static void
test_cancel_stops_and_the_session_goes_on (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  SluiceProblem *problem = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_soon, fixture);
  SluiceResult *result =
      sluice_run (fixture->session, "SELECT count(*) FROM range(3000000) a CROSS JOIN range(3000000) b", &problem);

  while (sluice_result_next (result, &problem))
    continue;
  g_thread_join (thread);
  g_assert_nonnull (problem);
  g_assert_cmpstr (sluice_problem_condition (problem), ==, "OPERATION_CANCELED");
  sluice_problem_free (problem);
  sluice_result_free (result);
  problem = NULL;
  result = sluice_run (fixture->session, "SELECT 1", &problem);
  g_assert_true (sluice_result_next (result, &problem));
  sluice_result_free (result);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run) (Fixture *, gconstpointer);
  } tests[] = {
    { "json-rows", test_json_rows },
    { "problems-say-where", test_problems_say_where },
    { "types-and-names", test_types_and_names },
    { "arrow-has-all-rows", test_arrow_has_all_rows },
    { "the-next-statement-ends-a-result", test_the_next_statement_ends_a_result },
    { "cancel-stops-and-the-session-goes-on", test_cancel_stops_and_the_session_goes_on },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/session/sluice/example-of-the-header", test_example_of_the_header);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++) {
    g_autofree char *path = g_strconcat ("/session/sluice/", tests[i].name, NULL);
    g_test_add (path, Fixture, NULL, set_up, tests[i].run, tear_down);
  }
  return g_test_run ();
}

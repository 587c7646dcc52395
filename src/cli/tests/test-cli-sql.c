/* The binary as a user types it: what goes to stdout and stderr, and the exit code. */
#include "../../../tests/support/tree.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  char *directory; /* a warehouse */
  char *out;
  char *err;
  int code; /* exit code, -1 = ended by a signal */
} Fixture;

static char *
binary (void)
{
  const char *build = g_getenv ("SLUICE_BUILD");
  return g_build_filename (build != NULL ? build : "build", "sluice", NULL);
}

static void
set_up (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  fixture->directory = g_dir_make_tmp ("sluice-cli-XXXXXX", NULL);
}

static void
tear_down (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  tree_remove (fixture->directory);
  g_free (fixture->directory);
  g_free (fixture->out);
  g_free (fixture->err);
}

/* Runs `sluice` with the arguments, ended by NULL. */
static void
run (Fixture *fixture, ...)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autofree char *program = binary ();
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "SLUICE_WAREHOUSE", fixture->directory, TRUE);
  int status = 0;
  va_list list;
  const char *argument;

  g_ptr_array_add (argv, program);
  va_start (list, fixture);
  while ((argument = va_arg (list, const char *)) != NULL)
    g_ptr_array_add (argv, (char *) argument);
  va_end (list);
  g_ptr_array_add (argv, NULL);
  g_clear_pointer (&fixture->out, g_free);
  g_clear_pointer (&fixture->err, g_free);
  g_spawn_sync (NULL, (char **) argv->pdata, environment, G_SPAWN_DEFAULT, NULL, NULL, &fixture->out, &fixture->err,
                &status, &error);
  g_assert_no_error (error);
  fixture->code = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
assert_output (Fixture *fixture, const char *out)
{
  g_assert_cmpstr (fixture->err, ==, "");
  g_assert_cmpstr (fixture->out, ==, out);
  g_assert_cmpint (fixture->code, ==, 0);
}

static void
test_json (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "--output", "json", "SELECT id, 'x' AS t FROM VALUES (1), (2) AS v(id) ORDER BY id", NULL);
  assert_output (fixture, "{\"id\":1,\"t\":\"x\"}\n{\"id\":2,\"t\":\"x\"}\n");
}

static void
test_text_is_utf8_whatever_the_locale (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "-o", "json", "SELECT 'né' AS `größe`", NULL);
  assert_output (fixture, "{\"größe\":\"né\"}\n");
}

static void
test_lines_in_a_cell (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "SELECT 'a\\nb' AS x, 10 AS y", NULL);
  assert_output (fixture, " x |  y\n"
                          "---+----\n"
                          " a | 10\n"
                          " b |\n"
                          "(1 row)\n");
}

static void
test_csv (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "--output=csv", "SELECT 1 AS a, 'x,\"y' AS b, NULL AS c, '' AS d", NULL);
  assert_output (fixture, "a,b,c,d\n1,\"x,\"\"y\",,\"\"\n");
}

static void
test_table (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "SELECT * FROM VALUES (1, 'a'), (200, NULL) AS v(id, name) ORDER BY id", NULL);
  assert_output (fixture, "  id | name\n"
                          "-----+------\n"
                          "   1 | a\n"
                          " 200 | NULL\n"
                          "(2 rows)\n");
}

static void
test_statements_share_a_session (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "--output", "json",
       "SET x = 5; CREATE TEMPORARY VIEW v AS SELECT 1 AS a; SELECT a + ${x} AS b FROM v;", NULL);
  assert_output (fixture, "{\"key\":\"x\",\"value\":\"5\"}\n{\"b\":6}\n");
}

static void
test_errors_go_to_stderr (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "sql", "--output", "json", "SELECT 1 AS a; SELECT * FROM nowhere; SELECT 2 AS a", NULL);
  g_assert_cmpint (fixture->code, ==, 1);
  g_assert_cmpstr (fixture->out, ==, "{\"a\":1}\n");
  g_assert_true (g_str_has_prefix (fixture->err, "[TABLE_OR_VIEW_NOT_FOUND] "));
  g_assert_nonnull (strstr (fixture->err, "42P01"));
  run (fixture, "sql", "--set", "engine.memoryLimit", "SELECT 1", NULL);
  g_assert_cmpint (fixture->code, ==, 1);
  g_assert_true (g_str_has_prefix (fixture->err, "[INVALID_OPTION] "));
}

static void
test_file_and_position (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *file = g_build_filename (fixture->directory, "a.sql", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (file, "-- a comment\nSELECT 1 AS a;\nSELECT nothing;\n", -1, &error));
  run (fixture, "sql", "-o", "csv", "-f", file, NULL);
  g_assert_cmpint (fixture->code, ==, 1);
  g_assert_cmpstr (fixture->out, ==, "a\n1\n");
  g_assert_nonnull (strstr (fixture->err, "a.sql"));
  g_assert_nonnull (strstr (fixture->err, "SELECT nothing"));
  run (fixture, "sql", "-f", "/no/such/file.sql", NULL);
  g_assert_cmpint (fixture->code, ==, 1);
  g_assert_nonnull (strstr (fixture->err, "[FILE_NOT_FOUND]"));
}

static void
test_usage (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, NULL);
  g_assert_cmpint (fixture->code, ==, 2);
  run (fixture, "nonsense", NULL);
  g_assert_cmpint (fixture->code, ==, 2);
  g_assert_nonnull (strstr (fixture->err, "nonsense"));
  run (fixture, "sql", "--output", "xml", "SELECT 1", NULL);
  g_assert_cmpint (fixture->code, ==, 2);
  run (fixture, "sql", "--no-such-option", NULL);
  g_assert_cmpint (fixture->code, ==, 2);
  run (fixture, "sql", "SELECT 1", "SELECT 2", NULL);
  g_assert_cmpint (fixture->code, ==, 2);
  run (fixture, "--help", NULL);
  g_assert_cmpint (fixture->code, ==, 0);
  g_assert_nonnull (strstr (fixture->out, "run SQL statements"));
}

static void
test_version (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  run (fixture, "version", NULL);
  g_assert_cmpint (fixture->code, ==, 0);
  g_assert_true (g_str_has_prefix (fixture->out, "sluice "));
}

static void
test_warehouse_option_wins (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *other = g_build_filename (fixture->directory, "other", NULL);

  run (fixture, "sql", "--warehouse", other, "CREATE SCHEMA s", NULL);
  assert_output (fixture, "OK\n");
  run (fixture, "sql", "-o", "json", "--warehouse", other, "SHOW SCHEMAS", NULL);
  assert_output (fixture, "{\"namespace\":\"default\"}\n{\"namespace\":\"s\"}\n");
  run (fixture, "sql", "-o", "json", "SHOW SCHEMAS", NULL);
  assert_output (fixture, "{\"namespace\":\"default\"}\n");
}

/* Ctrl-C ends a query with its own error, not the process. */
static void
test_interrupt_cancels (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *program = binary ();
  char *argv[] = { program,
                   (char *) "sql",
                   (char *) "-o",
                   (char *) "csv",
                   (char *) "SELECT 1 AS ready; SELECT count(*) FROM range(3000000) a CROSS JOIN range(3000000) b",
                   NULL };
  g_autoptr (GError) error = NULL;
  GPid child;
  int out = -1, err = -1, status = 0;
  char buffer[4096] = "";
  gssize n;

  g_assert_true (g_spawn_async_with_pipes (fixture->directory, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                           &child, NULL, &out, &err, &error));
  /* The first answer tells that the second statement begins. */
  g_assert_cmpint (read (out, buffer, sizeof buffer), >, 0);
  g_assert_cmpint (kill (child, SIGINT), ==, 0);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 1);
  n = read (err, buffer, sizeof buffer - 1);
  g_assert_cmpint (n, >, 0);
  buffer[n] = '\0';
  g_assert_nonnull (strstr (buffer, "[OPERATION_CANCELED]"));
  g_close (out, NULL);
  g_close (err, NULL);
}

/* The budget is 100 ms on an idle machine; a test only catches what is out of all proportion. */
static void
test_cold_start (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  gint64 best_us = G_MAXINT64;

  for (int i = 0; i < 3; i++) {
    gint64 start_us = g_get_monotonic_time ();
    run (fixture, "sql", "SELECT 1", NULL);
    best_us = MIN (best_us, g_get_monotonic_time () - start_us);
  }
  g_test_message ("cold SELECT 1: %d ms", (int) (best_us / 1000));
  g_assert_cmpint (best_us, <, 3 * G_USEC_PER_SEC);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run) (Fixture *, gconstpointer);
  } tests[] = {
    { "json", test_json },
    { "text-is-utf8-whatever-the-locale", test_text_is_utf8_whatever_the_locale },
    { "lines-in-a-cell", test_lines_in_a_cell },
    { "csv", test_csv },
    { "table", test_table },
    { "statements-share-a-session", test_statements_share_a_session },
    { "errors-go-to-stderr", test_errors_go_to_stderr },
    { "file-and-position", test_file_and_position },
    { "usage", test_usage },
    { "version", test_version },
    { "warehouse-option-wins", test_warehouse_option_wins },
    { "interrupt-cancels", test_interrupt_cancels },
    { "cold-start", test_cold_start },
  };

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++) {
    g_autofree char *path = g_strconcat ("/cli/sql/", tests[i].name, NULL);
    g_test_add (path, Fixture, NULL, set_up, tests[i].run, tear_down);
  }
  return g_test_run ();
}

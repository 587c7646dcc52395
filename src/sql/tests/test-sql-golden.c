/* Every statement that Spark parsed must parse, every PARSE_SYNTAX_ERROR must be one. The recorded answers are in
 * golden/sql of the shared pages. */
#include "base-error.h"
#include "sql-parse.h"
#include "sql-print.h"

#include <jansson.h>
#include <string.h>

/* Conditions that Spark's parser raises. The rest of the recorded errors come later: their statements must parse. */
static const char *const parser_conditions[] = {
  "PARSE_SYNTAX_ERROR",
  "INVALID_NUMERIC_LITERAL_RANGE",
  "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
  "INVALID_TYPED_LITERAL",
  "INVALID_PARAMETER_VALUE.DATETIME_UNIT",
  "UNSUPPORTED_FEATURE",
  NULL,
};

typedef struct {
  guint n;
  guint n_good;
  guint n_round;
  GString *failures;
} Tally;

static void
check_round_trip (SqlArena *arena, const char *sql, SqlStatement *statement, Tally *tally)
{
  g_autofree char *once = sql_print_statement (statement);
  g_autoptr (GError) error = NULL;
  SqlStatement *again = sql_parse_statement (arena, once, -1, NULL, &error);
  g_autofree char *twice = again != NULL ? sql_print_statement (again) : NULL;
  if (again != NULL && strcmp (once, twice) == 0) {
    tally->n_round++;
    return;
  }
  g_string_append_printf (tally->failures, "# round trip: %s\n#   %s\n#   %s\n", sql, once,
                          again != NULL ? twice : error->message);
}

static void
check_statement (const char *sql, const char *expected, Tally *tally)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (GError) error = NULL;
  SqlStatement *statement = sql_parse_statement (arena, sql, -1, NULL, &error);
  gboolean by_parser = expected != NULL && g_strv_contains (parser_conditions, expected);
  tally->n++;
  gboolean good;
  if (statement != NULL)
    good = expected == NULL || strcmp (expected, "PARSE_SYNTAX_ERROR") != 0;
  else
    good = by_parser && strcmp (base_error_condition (error), expected) == 0;
  if (good)
    tally->n_good++;
  else
    g_string_append_printf (tally->failures, "# %s\n#   expected %s, got %s\n", sql,
                            expected != NULL ? expected : "a tree", error != NULL ? error->message : "a tree");
  if (statement != NULL)
    check_round_trip (arena, sql, statement, tally);
  else
    tally->n_round++;
}

/* Where this engine refuses earlier than Spark, and with which condition. */
static const char *
chosen_condition (const char *sql)
{
  static const struct {
    const char *fragment;
    const char *condition;
  } choices[] = {
    { "WITH RECURSIVE", "UNSUPPORTED_FEATURE" },
    { " COLLATE ", "UNSUPPORTED_FEATURE" },
    { "SELECT 1 + AS r", "PARSE_SYNTAX_ERROR" },    /* Spark: a column named AS */
    { "SELECT SELECT AS r", "PARSE_SYNTAX_ERROR" }, /* Spark: a column named SELECT */
  };
  for (gsize i = 0; i < G_N_ELEMENTS (choices); i++) {
    if (strstr (sql, choices[i].fragment) != NULL)
      return choices[i].condition;
  }
  return NULL;
}

static void
check_file (const char *path, Tally *tally)
{
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;
  g_file_get_contents (path, &content, NULL, &error);
  g_assert_no_error (error);
  g_auto (GStrv) lines = g_strsplit (content, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    if (lines[i][0] == 0)
      continue;
    json_t *line = json_loads (lines[i], JSON_ALLOW_NUL, NULL);
    g_assert_nonnull (line);
    const char *sql = json_string_value (json_object_get (line, "sql"));
    const char *expected = json_string_value (json_object_get (line, "error"));
    json_t *setup = json_object_get (line, "setup");
    const char *ours = chosen_condition (sql);
    if (ours != NULL)
      expected = ours;
    /* This one is the text of a schema, an argument to a function. */
    if (strstr (sql, "nonsense schema here") != NULL)
      expected = NULL;
    check_statement (sql, expected, tally);
    for (gsize k = 0; k < json_array_size (setup); k++)
      check_statement (json_string_value (json_array_get (setup, k)), NULL, tally);
    json_decref (line);
  }
}

static void
test_golden (void)
{
  const char *shared = g_getenv ("SLUICE_SHARED");
  const char *source = g_getenv ("SLUICE_SOURCE");
  g_autofree char *beside = source != NULL ? g_build_filename (source, "..", "shared", NULL) : NULL;
  g_autofree char *directory = g_build_filename (shared != NULL   ? shared
                                                 : beside != NULL ? beside
                                                                  : ".",
                                                 "golden", "sql", NULL);
  if (!g_file_test (directory, G_FILE_TEST_IS_DIR)) {
    g_assert_cmpstr (g_getenv ("SLUICE_REQUIRE_SHARED"), !=, "1");
    g_test_skip ("the shared pages are not here");
    return;
  }
  g_autofree char *queries = g_build_filename (directory, "query.jsonl", NULL);
  g_autofree char *expressions = g_build_filename (directory, "expr.jsonl", NULL);
  Tally tally = { .failures = g_string_new (NULL) };
  check_file (queries, &tally);
  check_file (expressions, &tally);
  g_print ("%s", tally.failures->str);
  g_print ("# golden statements read as Spark reads them: %u of %u; printed and read again: %u\n", tally.n_good,
           tally.n, tally.n_round);
  g_string_free (tally.failures, TRUE);
  g_assert_cmpuint (tally.n_good, ==, tally.n);
  g_assert_cmpuint (tally.n_round, ==, tally.n);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sql/golden/parse", test_golden);
  return g_test_run ();
}

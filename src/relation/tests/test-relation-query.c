/* Spark's recorded answers to queries (golden/sql/query.jsonl). The share is printed; SLUICE_GOLDEN_VERBOSE=1 lists what differs,
 * SLUICE_GOLDEN_ID=q_… runs one. */
#include "base-json.h"
#include "relation-golden.h"

#include <string.h>

/* Raise it when more pass; a fall is a regression. */
#define LEAST_EQUAL 388

static gboolean
matches (const json_t *question, const GoldenAnswer *answer, const char **why)
{
  const char *recorded = base_json_string (question, "error");

  if (recorded != NULL) {
    *why = "error";
    return golden_condition_equal (recorded, answer->condition);
  }
  *why = "unexpected error";
  if (answer->condition != NULL)
    return FALSE;
  *why = "schema";
  if (!golden_equal (json_object_get (question, "schema"), answer->schema))
    return FALSE;
  *why = "rows";
  return golden_rows_equal (json_object_get (question, "rows"), answer->rows,
                            base_json_bool (question, "ordered", FALSE));
}

static void
tell (const json_t *question, const GoldenAnswer *answer, const char *why)
{
  g_autofree char *rows = answer->rows != NULL ? json_dumps (answer->rows, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
  g_autofree char *schema = answer->schema != NULL ? json_dumps (answer->schema, JSON_COMPACT) : NULL;
  g_autofree char *want_rows = json_dumps (json_object_get (question, "rows"), JSON_COMPACT | JSON_ENCODE_ANY);
  g_autofree char *want_schema = json_dumps (json_object_get (question, "schema"), JSON_COMPACT | JSON_ENCODE_ANY);

  g_print ("# %s %s [%s] %s\n#   want %s %s %s\n#   got  %s %s %s\n", base_json_string (question, "id"), why,
           base_json_string (question, "area"), base_json_string (question, "sql"),
           base_json_string (question, "error") != NULL ? base_json_string (question, "error") : "", want_schema,
           want_rows, answer->message != NULL ? answer->message : "", schema != NULL ? schema : "",
           rows != NULL ? rows : "");
  if (answer->sql != NULL && g_getenv ("SLUICE_GOLDEN_SQL") != NULL)
    g_print ("#   sql  %s\n", answer->sql);
}

static void
test_queries_answer_as_spark (void)
{
  g_autoptr (json_t) questions = golden_load ("query.jsonl");
  GoldenRunner *runner;
  const char *only = g_getenv ("SLUICE_GOLDEN_ID");
  guint n_equal = 0;
  gsize index;
  json_t *question;

  if (questions == NULL)
    return;
  runner = golden_runner_new ();
  json_array_foreach (questions, index, question)
  {
    g_autoptr (GoldenAnswer) answer = NULL;
    const char *why;
    if (only != NULL && strcmp (only, base_json_string (question, "id")) != 0)
      continue;
    answer = golden_run (runner, json_object_get (question, "setup"), base_json_string (question, "sql"),
                         base_json_string (question, "tz"));
    if (matches (question, answer, &why))
      n_equal++;
    else if (g_getenv ("SLUICE_GOLDEN_VERBOSE") != NULL || only != NULL)
      tell (question, answer, why);
  }
  golden_runner_free (runner);
  g_print ("# golden/sql/query.jsonl: %u of %" G_GSIZE_FORMAT " equal\n", n_equal, json_array_size (questions));
  if (only == NULL)
    g_assert_cmpuint (n_equal, >=, LEAST_EQUAL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/relation/query/answers-as-spark", test_queries_answer_as_spark);
  return g_test_run ();
}

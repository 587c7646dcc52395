/* Runs the statements of a test that is written in another language, through include/sluice.h, with the engine kept open.
 *
 * usage: run-statements DIRECTORY
 *
 * Reads lines from standard input, each a JSON text: a string is a statement; null closes the warehouse and opens it again. Answers
 * one line each: {"rows": [object, …]} or {"condition": …, "message": …}.
 */
#include <glib.h>
#include <jansson.h>
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  const char *directory;
  SluiceWarehouse *warehouse;
  SluiceSession *session;
} Run;

static void
answer_problem (SluiceProblem *problem)
{
  g_autofree char *text = NULL;
  json_t *answer = json_pack ("{s:s, s:s}", "condition", sluice_problem_condition (problem), "message",
                              sluice_problem_text (problem));

  text = json_dumps (answer, JSON_COMPACT);
  json_decref (answer);
  (void) puts (text != NULL ? text : "{\"condition\": \"\", \"message\": \"the message is not UTF-8\"}");
  sluice_problem_free (problem);
}

static void
run_statement (Run *run, const char *sql)
{
  SluiceProblem *problem = NULL;
  SluiceResult *result = sluice_run (run->session, sql, &problem);
  g_autoptr (GString) answer = g_string_new ("{\"rows\": [");

  while (result != NULL && sluice_result_next (result, &problem)) {
    if (answer->str[answer->len - 1] != '[')
      g_string_append_c (answer, ',');
    g_string_append (answer, sluice_result_json (result));
  }
  sluice_result_free (result);
  if (problem != NULL) {
    answer_problem (problem);
    return;
  }
  g_string_append (answer, "]}");
  (void) puts (answer->str);
}

static void
run_open (Run *run)
{
  SluiceProblem *problem = NULL;

  sluice_session_free (run->session);
  sluice_close (run->warehouse);
  run->warehouse = sluice_open (run->directory, &problem);
  run->session = sluice_session_new (run->warehouse, &problem);
  if (problem != NULL)
    answer_problem (problem);
  else
    (void) puts ("{\"rows\": []}");
}

int
main (int argc, char **argv)
{
  Run run = { 0 };
  char *line = NULL;
  size_t size = 0;

  if (argc != 2) {
    (void) fprintf (stderr, "usage: run-statements DIRECTORY\n");
    return 2;
  }
  run.directory = argv[1];
  while (getline (&line, &size, stdin) > 0) {
    json_t *request = json_loads (line, JSON_DECODE_ANY, NULL);

    if (json_is_string (request))
      run_statement (&run, json_string_value (request));
    else
      run_open (&run);
    json_decref (request);
    (void) fflush (stdout);
  }
  free (line);
  sluice_session_free (run.session);
  sluice_close (run.warehouse);
  return 0;
}

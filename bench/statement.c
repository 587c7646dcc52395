/* Runs statements in one session, through the public header, and says what each cost, one JSON object on stdout.
 *
 *   bench-statement WAREHOUSE STATEMENT…
 *
 * The clock starts when the session is open, as a peer's starts when its modules are there; "open" is what came before. A
 * statement's rows are read to their end; those of the last are in "rows".
 */
#include "sluice.h"
#include "spent.h"

#include <stdio.h>

static int
fail (SluiceProblem *problem)
{
  fprintf (stderr, "bench-statement: %s\n", problem != NULL ? sluice_problem_text (problem) : "no answer");
  return 1;
}

int
main (int argc, char **argv)
{
  SluiceProblem *problem = NULL;
  Spent start = spent_now ();
  json_t *report = json_object (), *statements = json_array ();

  if (argc < 3) {
    fprintf (stderr, "usage: bench-statement WAREHOUSE STATEMENT...\n");
    return 2;
  }
  SluiceWarehouse *warehouse = sluice_open (argv[1], &problem);
  SluiceSession *session = sluice_session_new (warehouse, &problem);
  if (session == NULL)
    return fail (problem);
  json_object_set_new (report, "open", spent_since (&start));
  json_object_set_new (report, "statements", statements);
  for (int i = 2; i < argc; i++) {
    json_t *rows = json_array ();
    start = spent_now ();
    SluiceResult *result = sluice_run (session, argv[i], &problem);
    while (result != NULL && sluice_result_next (result, &problem))
      json_array_append_new (rows, json_loads (sluice_result_json (result), 0, NULL));
    if (problem != NULL)
      return fail (problem);
    sluice_result_free (result);
    json_array_append_new (statements, spent_since (&start));
    json_object_set_new (report, "rows", rows);
  }
  json_object_set_new (report, "peak_bytes", json_integer (spent_peak_bytes ()));
  sluice_session_free (session);
  sluice_close (warehouse);
  char *text = json_dumps (report, JSON_COMPACT);
  puts (text);
  return 0;
}

/* include/sluice.h over session.h: plain C types, problems instead of GErrors.
 *
 * Texts that a result lends out live in the result: a column's type for ever, its value and the row's JSON until the next step.
 */
#include "session-private.h"

#include <base-error.h>
#include <sluice.h>
#include <string.h>

struct SluiceProblem {
  GError *error;
  char *text;
};

/* Takes @error; keeps it only when somebody asked. Returns: FALSE. */
static bool
give_problem (SluiceProblem **problem, GError *error)
{
  if (error == NULL)
    return false;
  if (problem == NULL) {
    g_error_free (error);
    return false;
  }
  *problem = g_new0 (SluiceProblem, 1);
  (*problem)->error = error;
  (*problem)->text = base_error_format (error);
  return false;
}

const char *
sluice_version (void)
{
  return SLUICE_VERSION;
}

const char *
sluice_problem_condition (const SluiceProblem *problem)
{
  return base_error_condition (problem->error);
}

const char *
sluice_problem_sqlstate (const SluiceProblem *problem)
{
  return base_error_sqlstate (problem->error);
}

const char *
sluice_problem_message (const SluiceProblem *problem)
{
  return problem->error->message;
}

const char *
sluice_problem_hint (const SluiceProblem *problem)
{
  return base_error_hint (problem->error);
}

/* Both 0 when the error has no place. */
static void
find_position (const SluiceProblem *problem, guint *line, guint *column)
{
  const char *file, *source_line;

  *line = *column = 0;
  (void) base_error_position (problem->error, &file, line, column, &source_line); /* without a place they stay 0 */
}

unsigned
sluice_problem_line (const SluiceProblem *problem)
{
  guint line, column;
  find_position (problem, &line, &column);
  return line;
}

unsigned
sluice_problem_column (const SluiceProblem *problem)
{
  guint line, column;
  find_position (problem, &line, &column);
  return column;
}

const char *
sluice_problem_text (const SluiceProblem *problem)
{
  return problem->text;
}

bool
sluice_problem_is_retryable (const SluiceProblem *problem)
{
  return base_error_is_retryable (problem->error);
}

void
sluice_problem_free (SluiceProblem *problem)
{
  if (problem == NULL)
    return;
  g_error_free (problem->error);
  g_free (problem->text);
  g_free (problem);
}

SluiceWarehouse *
sluice_open (const char *directory, SluiceProblem **problem)
{
  GError *error = NULL;
  g_autoptr (SessionEnvironment) environment = session_environment_new (&error);
  SluiceWarehouse *warehouse = NULL;

  if (environment != NULL)
    warehouse = session_warehouse_open (directory, environment, NULL, &error);
  (void) give_problem (problem, error); /* the answer is the pointer */
  return warehouse;
}

void
sluice_close (SluiceWarehouse *warehouse)
{
  session_warehouse_unref (warehouse);
}

SluiceSession *
sluice_session_new (SluiceWarehouse *warehouse, SluiceProblem **problem)
{
  GError *error = NULL;
  SluiceSession *session = warehouse == NULL ? NULL : session_new (warehouse, &error);

  (void) give_problem (problem, error); /* the answer is the pointer */
  return session;
}

void
sluice_session_free (SluiceSession *session)
{
  session_free (session);
}

bool
sluice_session_set (SluiceSession *session, const char *key, const char *value, SluiceProblem **problem)
{
  GError *error = NULL;

  if (session != NULL && session_set (session, key, value, &error))
    return true;
  return give_problem (problem, error);
}

void
sluice_cancel (SluiceSession *session)
{
  if (session != NULL)
    session_cancel (session);
}

SluiceResult *
sluice_run (SluiceSession *session, const char *sql, SluiceProblem **problem)
{
  GError *error = NULL;
  SluiceResult *result = session == NULL ? NULL : session_run (session, sql, -1, NULL, &error);

  (void) give_problem (problem, error); /* the answer is the pointer */
  return result;
}

void
sluice_result_free (SluiceResult *result)
{
  session_result_free (result);
}

size_t
sluice_result_n_columns (const SluiceResult *result)
{
  return result == NULL ? 0 : base_type_n_fields (result->schema);
}

const char *
sluice_result_name (const SluiceResult *result, size_t column)
{
  return base_type_field (result->schema, (guint) column)->name;
}

static SessionTexts *
texts_of (SluiceResult *result, size_t column)
{
  if (result->texts == NULL)
    result->texts = g_new0 (SessionTexts, base_type_n_fields (result->schema));
  return &result->texts[column];
}

const char *
sluice_result_type (const SluiceResult *result, size_t column)
{
  SessionTexts *texts = texts_of ((SluiceResult *) result, column); /* a cache: the answer never changes */

  if (texts->type == NULL)
    texts->type = base_type_text (base_type_field (result->schema, (guint) column)->type);
  return texts->type;
}

const char *
sluice_result_warning (const SluiceResult *result)
{
  return result != NULL ? session_result_warning (result) : NULL;
}

bool
sluice_result_next (SluiceResult *result, SluiceProblem **problem)
{
  GError *error = NULL;
  gboolean has_row = FALSE;

  if (result == NULL)
    return false;
  if (result->json != NULL)
    g_string_truncate (result->json, 0);
  if (session_result_next (result, &has_row, &error))
    return has_row;
  return give_problem (problem, error);
}

const char *
sluice_result_text (SluiceResult *result, size_t column)
{
  SessionTexts *texts = texts_of (result, column);

  if (session_result_is_null (result, (guint) column))
    return NULL;
  if (texts->value == NULL)
    texts->value = g_string_new (NULL);
  g_string_truncate (texts->value, 0);
  if (!session_result_append_text (result, (guint) column, texts->value, NULL))
    return NULL;
  return texts->value->str;
}

const char *
sluice_result_json (SluiceResult *result)
{
  if (result->json == NULL)
    result->json = g_string_new (NULL);
  if (result->json->len == 0 && !session_result_append_json_row (result, result->json, NULL))
    return NULL;
  return result->json->str;
}

bool
sluice_result_arrow_schema (SluiceResult *result, struct ArrowSchema *schema, SluiceProblem **problem)
{
  GError *error = NULL;

  if (result != NULL && session_result_arrow_schema (result, schema, &error))
    return true;
  return give_problem (problem, error);
}

bool
sluice_result_arrow_next (SluiceResult *result, struct ArrowArray *array, bool *at_end, SluiceProblem **problem)
{
  GError *error = NULL;
  gboolean ended = FALSE;

  if (result == NULL || !session_result_arrow_next (result, array, &ended, &error))
    return give_problem (problem, error);
  *at_end = ended;
  return true;
}

/* Sessions: statements in, results out. Every statement goes prepare → pending → execute inside one DuckRun, so that planning,
 * running and (in duck-result.c) fetching can all be interrupted.
 */
#include "duck-session.h"

#include "base-text.h"
#include "duck-private.h"

/* ---- opening ---- */

DuckSession *
duck_session_new (DuckEngine *engine, GError **error)
{
  g_autoptr (DuckSession) session = g_new0 (DuckSession, 1);

  session->engine = duck_engine_ref (engine);
  if (duckdb_connect (engine->database, &session->connection) != DuckDBSuccess) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB gave no connection");
    return NULL;
  }
  session->time_zone = g_strdup ("UTC"); /* the engine's */
  return g_steal_pointer (&session);
}

DuckSession *
duck_session_new_beside (DuckSession *session, GError **error)
{
  g_autoptr (DuckSession) beside = duck_session_new (session->engine, error);

  if (beside == NULL || (!g_str_equal (session->time_zone, beside->time_zone) &&
                         !duck_session_set_time_zone (beside, session->time_zone, error)))
    return NULL;
  return g_steal_pointer (&beside);
}

void
duck_session_free (DuckSession *session)
{
  if (session == NULL)
    return;
  if (session->streaming != NULL)
    duck_result_abandon (session->streaming);
  if (session->connection != NULL)
    duckdb_disconnect (&session->connection);
  duck_engine_unref (session->engine);
  g_free (session->time_zone);
  g_free (session);
}

DuckEngine *
duck_session_engine (DuckSession *session)
{
  return session->engine;
}

/* Reads `H`, `HH`, `HH:MM` or `HH:MM:SS` at the end of a text. FALSE when it is something else. */
static gboolean
parse_offset (const char *text, int *hours, gboolean *has_rest)
{
  guint part = 0;

  *has_rest = FALSE;
  for (guint i = 0;; i++) {
    guint n_digits = 0, value = 0;
    for (; g_ascii_isdigit (*text) && n_digits < 2; text++, n_digits++)
      value = value * 10 + (guint) (*text - '0');
    if (n_digits == 0 || (i > 0 && n_digits != 2))
      return FALSE;
    if (i == 0)
      part = value;
    else
      *has_rest |= value != 0;
    if (*text == '\0')
      break;
    if (*text++ != ':' || i == 2)
      return FALSE;
  }
  *hours = (int) part;
  return TRUE;
}

char *
duck_time_zone_name (const char *time_zone, GError **error)
{
  static const char *const prefixes[] = { "UTC", "GMT", "UT" };
  const char *offset = time_zone;
  gboolean has_rest;
  int hours;

  for (guint i = 0; i < G_N_ELEMENTS (prefixes) && offset == time_zone; i++) {
    if (g_ascii_strncasecmp (time_zone, prefixes[i], strlen (prefixes[i])) == 0)
      offset += strlen (prefixes[i]);
  }
  if (g_ascii_strcasecmp (time_zone, "Z") == 0 || (*offset == '\0' && offset != time_zone))
    return g_strdup ("UTC");
  if (*offset != '+' && *offset != '-')
    return g_strdup (time_zone);
  if (!parse_offset (offset + 1, &hours, &has_rest) || has_rest || hours > 18) {
    base_error_set (error, SLUICE_ERROR_INVALID_TIMEZONE, "The time zone `%s` is not known", time_zone);
    base_error_set_hint (error, "An offset must be whole hours between -18:00 and +18:00; other zones go by name.");
    return NULL;
  }
  return hours == 0 ? g_strdup ("UTC") : g_strdup_printf ("UTC%c%d", *offset, hours);
}

gboolean
duck_session_set_time_zone (DuckSession *session, const char *time_zone, GError **error)
{
  g_autofree char *name = duck_time_zone_name (time_zone, error);

  if (name == NULL)
    return FALSE;
  g_autofree char *literal = base_text_sql_literal (name);
  g_autofree char *sql = g_strdup_printf ("SET TimeZone = %s", literal);
  if (!duck_session_execute (session, sql, NULL, NULL))
    return base_error_set (error, SLUICE_ERROR_INVALID_TIMEZONE, "The time zone `%s` is not known", time_zone);
  g_free (session->time_zone);
  session->time_zone = g_strdup (time_zone);
  return TRUE;
}

const char *
duck_session_time_zone (DuckSession *session)
{
  return session->time_zone;
}

gboolean
duck_session_watch_progress (DuckSession *session, GError **error)
{
  /* Progress is only kept when the bar is on; printing it is not ours. */
  return duck_session_execute (session,
                               "SET enable_progress_bar = true; SET enable_progress_bar_print = false; "
                               "SET progress_bar_time = 0",
                               NULL, error);
}

double
duck_session_progress (DuckSession *session)
{
  return duckdb_query_progress (session->connection).percentage;
}

/* ---- running ---- */

/* A new statement ends the streaming result of the one before. */
static void
end_streaming (DuckSession *session)
{
  if (session->streaming != NULL)
    duck_result_abandon (session->streaming);
}

/* Works on the query until it has something to give. duckdb_execute_pending() alone would ask for tasks again and again while
 * the engine's threads do the last of them, and take the processor from them. Returns: the error of a query that failed, borrowed from @pending. */
static const char *
work_on (duckdb_pending_result pending)
{
  const gulong longest_us = 100;
  gulong pause_us = 25;

  for (;;) {
    duckdb_pending_state state = duckdb_pending_execute_task (pending);

    if (state == DUCKDB_PENDING_ERROR) {
      const char *message = duckdb_pending_error (pending);
      return message != NULL && *message != '\0' ? message : NULL;
    }
    if (duckdb_pending_execution_is_finished (state))
      return NULL;
    if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) {
      g_usleep (pause_us);
      pause_us = MIN (2 * pause_us, longest_us);
    }
  }
}

static gboolean
run_prepared (DuckSession *session, duckdb_prepared_statement prepared, gboolean streaming, const char *sql,
              duckdb_result *result, GError **error)
{
  duckdb_pending_result pending = NULL;
  duckdb_state state =
      streaming ? duckdb_pending_prepared_streaming (prepared, &pending) : duckdb_pending_prepared (prepared, &pending);

  if (state != DuckDBSuccess) {
    duck_error_set (session->engine, duckdb_pending_error (pending), sql, error);
    duckdb_destroy_pending (&pending);
    return FALSE;
  }
  duckdb_result own = { 0 };
  const char *failure = work_on (pending);
  if (failure != NULL) {
    duck_error_set (session->engine, failure, sql, error);
    duckdb_destroy_pending (&pending);
    return FALSE;
  }
  state = duckdb_execute_pending (pending, &own);
  if (state != DuckDBSuccess) {
    const char *message = duckdb_result_error (&own);
    duck_error_set (session->engine, message != NULL ? message : duckdb_pending_error (pending), sql, error);
    duckdb_destroy_result (&own);
    duckdb_destroy_pending (&pending);
    return FALSE;
  }
  duckdb_destroy_pending (&pending);
  *result = own;
  return TRUE;
}

static gboolean
prepare (DuckSession *session, const char *sql, duckdb_prepared_statement *prepared, GError **error)
{
  if (duckdb_prepare (session->connection, sql, prepared) == DuckDBSuccess)
    return TRUE;
  duck_error_set (session->engine, duckdb_prepare_error (*prepared), sql, error);
  duckdb_destroy_prepare (prepared);
  return FALSE;
}

static gboolean
run_extracted (DuckSession *session, duckdb_extracted_statements extracted, idx_t index, const char *sql,
               GError **error)
{
  duckdb_prepared_statement prepared = NULL;
  duckdb_result result = { 0 };

  if (duckdb_prepare_extracted_statement (session->connection, extracted, index, &prepared) != DuckDBSuccess) {
    duck_error_set (session->engine, duckdb_prepare_error (prepared), sql, error);
    duckdb_destroy_prepare (&prepared);
    return FALSE;
  }
  gboolean good = run_prepared (session, prepared, FALSE, sql, &result, error);
  duckdb_destroy_prepare (&prepared);
  if (good)
    duckdb_destroy_result (&result);
  return good;
}

static DuckResult *
query_once (DuckSession *session, const char *sql, gboolean streaming, BaseCancel *cancel, GError **error)
{
  duckdb_prepared_statement prepared = NULL;
  duckdb_result result = { 0 };
  DuckRun run = { 0 };

  end_streaming (session);
  if (!duck_run_begin (&run, session->engine, session->connection, cancel, error))
    return NULL;
  gboolean good = prepare (session, sql, &prepared, error);
  if (good) {
    good = base_cancel_check (cancel, error) && run_prepared (session, prepared, streaming, sql, &result, error);
    duckdb_destroy_prepare (&prepared);
  }
  duck_run_end (&run);
  return good ? duck_result_new (session, &result, streaming, sql, cancel) : NULL;
}

/* An interrupt that nobody sent hides a reason that is lost. @error: (transfer full) (nullable). Returns: (transfer full). */
static GError *
no_false_cancel (GError *error, BaseCancel *cancel)
{
  if (error != NULL &&
      (!g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED) || base_cancel_is_raised (cancel)))
    return error;
  g_clear_error (&error);
  base_error_set (&error, SLUICE_ERROR_EXECUTION_ERROR, "The query failed and did not say why");
  return error;
}

gboolean
duck_session_execute (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error)
{
  duckdb_extracted_statements extracted = NULL;
  DuckRun run = { 0 };
  GError *failure = NULL;
  gboolean good = TRUE;

  end_streaming (session);
  if (!duck_run_begin (&run, session->engine, session->connection, cancel, error))
    return FALSE;
  idx_t n_statements = duckdb_extract_statements (session->connection, sql, &extracted);
  if (n_statements == 0) {
    const char *message = duckdb_extract_statements_error (extracted);
    if (message != NULL)
      good = duck_error_set (session->engine, message, sql, &failure);
  }
  for (idx_t i = 0; i < n_statements && good; i++)
    good = base_cancel_check (cancel, &failure) && run_extracted (session, extracted, i, sql, &failure);
  duckdb_destroy_extracted (&extracted);
  duck_run_end (&run);
  if (!good)
    g_propagate_error (error, no_false_cancel (failure, cancel));
  return good;
}

GError *
duck_session_real_error (DuckSession *session, GError *error, const char *sql, BaseCancel *cancel)
{
  for (guint i = 0; i < 4 && g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED) &&
                    !base_cancel_is_raised (cancel);
       i++) {
    g_clear_error (&error);
    g_autoptr (DuckResult) result = query_once (session, sql, TRUE, cancel, &error);
    if (result != NULL && duck_result_drain (result, &error))
      break;
  }
  if (error == NULL ||
      (g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED) && !base_cancel_is_raised (cancel))) {
    g_clear_error (&error);
    base_error_set (&error, SLUICE_ERROR_EXECUTION_ERROR, "The query failed and did not say why");
  }
  return error;
}

static DuckResult *
query (DuckSession *session, const char *sql, gboolean streaming, BaseCancel *cancel, GError **error)
{
  GError *failure = NULL;
  DuckResult *result = query_once (session, sql, streaming, cancel, &failure);

  if (result == NULL)
    g_propagate_error (error, streaming ? duck_session_real_error (session, failure, sql, cancel)
                                        : no_false_cancel (failure, cancel));
  return result;
}

DuckResult *
duck_session_query (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error)
{
  return query (session, sql, TRUE, cancel, error);
}

DuckResult *
duck_session_query_materialized (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error)
{
  return query (session, sql, FALSE, cancel, error);
}

/* ---- one value ---- */

/* The first chunk of a query's materialized result; *@result owns it. */
static gboolean
query_first (DuckSession *session, const char *sql, BaseCancel *cancel, DuckResult **result, const DuckChunk **chunk,
             GError **error)
{
  g_autoptr (DuckResult) own = duck_session_query_materialized (session, sql, cancel, error);

  if (own == NULL || !duck_result_next (own, chunk, error))
    return FALSE;
  if (*chunk == NULL || (*chunk)->n_columns == 0) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "A query that must give a value gave no row");
    base_error_add_param (error, "sql", sql);
    return FALSE;
  }
  *result = g_steal_pointer (&own);
  return TRUE;
}

gboolean
duck_session_query_int64 (DuckSession *session, const char *sql, BaseCancel *cancel, gint64 *value, gboolean *is_null,
                          GError **error)
{
  g_autoptr (DuckResult) result = NULL;
  const DuckChunk *chunk;

  if (!query_first (session, sql, cancel, &result, &chunk, error))
    return FALSE;
  const DuckVector *column = &chunk->columns[0];
  gboolean null = column->kind == DUCK_KIND_NULL || duck_vector_is_null (column, 0);
  if (!null && (column->bytes == 0 || column->kind >= DUCK_KIND_VARCHAR))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "A query gave %s instead of an integer",
                           duck_type_name (duck_result_column_type (result, 0)));
  *value = null ? 0 : (gint64) duck_vector_int128 (column, 0);
  if (is_null != NULL)
    *is_null = null;
  return TRUE;
}

gboolean
duck_session_query_string (DuckSession *session, const char *sql, BaseCancel *cancel, char **value, GError **error)
{
  g_autoptr (DuckResult) result = NULL;
  const DuckChunk *chunk;

  if (!query_first (session, sql, cancel, &result, &chunk, error))
    return FALSE;
  const DuckVector *column = &chunk->columns[0];
  if (column->kind != DUCK_KIND_VARCHAR && column->kind != DUCK_KIND_BLOB && column->kind != DUCK_KIND_NULL)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "A query gave %s instead of text",
                           duck_type_name (duck_result_column_type (result, 0)));
  *value = column->kind == DUCK_KIND_NULL ? NULL : duck_vector_dup_string (column, 0);
  return TRUE;
}

GArray *
duck_session_query_int64s (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error)
{
  g_autoptr (DuckResult) result = duck_session_query (session, sql, cancel, error);
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (gint64));

  if (result == NULL)
    return NULL;
  for (;;) {
    const DuckChunk *chunk;
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      return g_steal_pointer (&values);
    for (guint row = 0; row < chunk->n_rows; row++) {
      gint64 value = duck_vector_int64 (&chunk->columns[0], row);
      g_array_append_val (values, value);
    }
  }
}

/* ---- types of a query ---- */

static void
column_free (gpointer data)
{
  DuckColumn *column = data;

  duck_type_unref (column->type);
  g_free (column->name);
  g_free (column);
}

GPtrArray *
duck_session_describe (DuckSession *session, const char *sql, GError **error)
{
  duckdb_prepared_statement prepared = NULL;

  end_streaming (session);
  if (!prepare (session, sql, &prepared, error))
    return NULL;
  GPtrArray *columns = g_ptr_array_new_with_free_func (column_free);
  idx_t n_columns = duckdb_prepared_statement_column_count (prepared);
  for (idx_t i = 0; i < n_columns; i++) {
    DuckColumn *column = g_new0 (DuckColumn, 1);
    const char *name = duckdb_prepared_statement_column_name (prepared, i);
    duckdb_logical_type logical = duckdb_prepared_statement_column_logical_type (prepared, i);
    column->name = g_strdup (name != NULL ? name : "");
    duckdb_free ((void *) name);
    column->type = duck_type_from_logical (logical);
    duckdb_destroy_logical_type (&logical);
    g_ptr_array_add (columns, column);
  }
  duckdb_destroy_prepare (&prepared);
  return columns;
}

duckdb_logical_type
duck_parse_logical (DuckEngine *engine, duckdb_connection connection, const char *text, GError **error)
{
  duckdb_prepared_statement prepared = NULL;
  duckdb_logical_type logical =
      duck_type_name_to_logical (text, strlen (text)); /* most: preparing a query costs 0.1 ms */

  if (logical != NULL)
    return logical;
  if (g_str_equal (text, "ANY"))
    return duckdb_create_logical_type (DUCKDB_TYPE_ANY);
  g_autofree char *sql = g_strdup_printf ("SELECT CAST(NULL AS %s)", text);
  if (duckdb_prepare (connection, sql, &prepared) == DuckDBSuccess &&
      duckdb_prepared_statement_column_count (prepared) == 1)
    logical = duckdb_prepared_statement_column_logical_type (prepared, 0);
  else
    duck_error_set (engine, duckdb_prepare_error (prepared), sql, error);
  duckdb_destroy_prepare (&prepared);
  return logical;
}

DuckType *
duck_session_parse_type (DuckSession *session, const char *text, GError **error)
{
  end_streaming (session);
  duckdb_logical_type logical = duck_parse_logical (session->engine, session->connection, text, NULL);
  if (logical == NULL) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_DATATYPE, "`%s` is not a type", text);
    return NULL;
  }
  DuckType *type = duck_type_from_logical (logical);
  duckdb_destroy_logical_type (&logical);
  return type;
}

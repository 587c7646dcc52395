/* Results: chunks of DuckDB behind DuckVectors. The vectors' shape is made once per result and pointed anew at every chunk.
 *
 * Invariants:
 *  1. `open` says whether `result` holds DuckDB's struct; a streaming one is open only while it is its session's current result.
 *  2. `chunk` is the chunk that the vectors point into.
 *  3. Once an error was reported, `failure` keeps it and the query is gone.
 */
#include "duck-result.h"

#include "duck-private.h"

struct DuckResult {
  DuckSession *session;
  duckdb_result result;
  gboolean open;
  gboolean streaming;
  gboolean at_end;
  BaseCancel *cancel;
  char *sql;
  guint n_columns;
  duckdb_logical_type *logicals;
  DuckType **types;
  char **names;
  DuckVector *vectors;
  duckdb_data_chunk chunk;
  DuckChunk view;
  GError *failure;
};

/* What duckdb.h leaves open; the standard layouts of the Arrow C data interface. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  gint64 flags;
  gint64 n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release) (struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  gint64 length;
  gint64 null_count;
  gint64 offset;
  gint64 n_buffers;
  gint64 n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release) (struct ArrowArray *);
  void *private_data;
};

#endif

DuckResult *
duck_result_new (DuckSession *session, duckdb_result *duckdb, gboolean streaming, const char *sql, BaseCancel *cancel)
{
  DuckResult *result = g_new0 (DuckResult, 1);

  result->session = session;
  result->result = *duckdb;
  result->open = TRUE;
  result->streaming = streaming;
  result->cancel = base_cancel_ref (cancel);
  result->sql = g_strdup (sql);
  if (streaming)
    session->streaming = result;
  result->n_columns = (guint) duckdb_column_count (&result->result);
  result->logicals = g_new0 (duckdb_logical_type, result->n_columns);
  result->types = g_new0 (DuckType *, result->n_columns);
  result->names = g_new0 (char *, result->n_columns + 1);
  result->vectors = g_new0 (DuckVector, result->n_columns);
  for (guint i = 0; i < result->n_columns; i++) {
    result->logicals[i] = duckdb_column_logical_type (&result->result, i);
    result->types[i] = duck_type_from_logical (result->logicals[i]);
    result->names[i] = g_strdup (duckdb_column_name (&result->result, i));
    duck_vector_init (&result->vectors[i], result->types[i]);
  }
  return result;
}

static void
drop_chunk (DuckResult *result)
{
  if (result->chunk != NULL)
    duckdb_destroy_data_chunk (&result->chunk);
}

/* Gives DuckDB's result back, and with it the query. */
static void
close_result (DuckResult *result)
{
  if (!result->open)
    return;
  duckdb_destroy_result (&result->result);
  result->open = FALSE;
  if (result->streaming && result->session->streaming == result)
    result->session->streaming = NULL;
}

void
duck_result_abandon (DuckResult *result)
{
  drop_chunk (result);
  close_result (result);
}

void
duck_result_free (DuckResult *result)
{
  if (result == NULL)
    return;
  duck_result_abandon (result);
  for (guint i = 0; i < result->n_columns; i++) {
    duck_vector_clear (&result->vectors[i]);
    duck_type_unref (result->types[i]);
    duckdb_destroy_logical_type (&result->logicals[i]);
  }
  g_free (result->logicals);
  g_free (result->vectors);
  g_free (result->types);
  g_strfreev (result->names);
  g_clear_error (&result->failure);
  base_cancel_unref (result->cancel);
  g_free (result->sql);
  g_free (result);
}

guint
duck_result_n_columns (const DuckResult *result)
{
  return result->n_columns;
}

const char *
duck_result_column_name (const DuckResult *result, guint column)
{
  g_assert (column < result->n_columns);
  return result->names[column];
}

const DuckType *
duck_result_column_type (const DuckResult *result, guint column)
{
  g_assert (column < result->n_columns);
  return result->types[column];
}

void
duck_result_copy_columns (DuckResult *result, guint *n_columns, char ***names, duckdb_logical_type **types)
{
  *n_columns = result->n_columns;
  *names = g_strdupv (result->names);
  *types = g_new0 (duckdb_logical_type, result->n_columns);
  for (guint i = 0; i < result->n_columns; i++)
    (*types)[i] = duckdb_column_logical_type (&result->result, i);
}

/* The next non-empty chunk, or NULL at the end, without regard for invariant 3. */
static gboolean
fetch_once (DuckResult *result, duckdb_data_chunk *chunk, GError **error)
{
  DuckRun run = { 0 };

  *chunk = NULL;
  if (result->at_end)
    return TRUE;
  if (!result->open)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR,
                           "The result was ended by another statement of its session");
  if (!duck_run_begin (&run, result->session->engine, result->session->connection, result->cancel, error))
    return FALSE;
  do {
    if (*chunk != NULL)
      duckdb_destroy_data_chunk (chunk);
    *chunk = duckdb_fetch_chunk (result->result);
  } while (*chunk != NULL && duckdb_data_chunk_get_size (*chunk) == 0);
  duck_run_end (&run);
  if (*chunk != NULL)
    return TRUE;

  const char *message = duckdb_result_error (&result->result);
  if (message != NULL && *message != '\0')
    return duck_error_set (result->session->engine, message, result->sql, error);
  result->at_end = TRUE;
  if (result->streaming)
    close_result (result);
  return TRUE;
}

static gboolean
fetch (DuckResult *result, duckdb_data_chunk *chunk, GError **error)
{
  GError *failure = NULL;

  if (result->failure == NULL) {
    if (fetch_once (result, chunk, &failure))
      return TRUE;
    duck_result_abandon (result);
    result->failure =
        result->streaming ? duck_session_real_error (result->session, failure, result->sql, result->cancel) : failure;
  }
  g_propagate_error (error, g_error_copy (result->failure));
  return FALSE;
}

gboolean
duck_result_drain (DuckResult *result, GError **error)
{
  duckdb_data_chunk chunk = NULL;

  while (fetch_once (result, &chunk, error)) {
    if (chunk == NULL)
      return TRUE;
    duckdb_destroy_data_chunk (&chunk);
  }
  return FALSE;
}

gboolean
duck_result_next (DuckResult *result, const DuckChunk **chunk, GError **error)
{
  duckdb_data_chunk next = NULL;

  drop_chunk (result);
  if (!fetch (result, &next, error))
    return FALSE;
  if (next == NULL) {
    *chunk = NULL;
    return TRUE;
  }
  result->chunk = next;
  for (guint i = 0; i < result->n_columns; i++)
    duck_vector_point (&result->vectors[i], duckdb_data_chunk_get_vector (next, i));
  result->view.n_rows = (guint) duckdb_data_chunk_get_size (next);
  result->view.n_columns = result->n_columns;
  result->view.columns = result->vectors;
  *chunk = &result->view;
  return TRUE;
}

/* ---- Arrow ---- */

/* TRUE when @data is no error; else translates and frees it. */
static gboolean
check_error_data (DuckResult *result, duckdb_error_data data, GError **error)
{
  if (data == NULL)
    return TRUE;
  gboolean good = !duckdb_error_data_has_error (data);
  if (!good) {
    g_autofree char *message = g_strdup (duckdb_error_data_message (data));
    duck_error_set (result->session->engine, message, NULL, error);
  }
  duckdb_destroy_error_data (&data);
  return good;
}

gboolean
duck_result_export_schema (DuckResult *result, const char *const *names, struct ArrowSchema *schema, GError **error)
{
  duckdb_arrow_options options = NULL;
  const char **labels = names != NULL ? (const char **) names : (const char **) result->names;
  struct ArrowSchema own = { 0 };

  duckdb_connection_get_arrow_options (result->session->connection, &options);
  duckdb_error_data data = duckdb_to_arrow_schema (options, result->logicals, labels, result->n_columns, &own);
  duckdb_destroy_arrow_options (&options);
  if (!check_error_data (result, data, error))
    return FALSE;
  *schema = own;
  return TRUE;
}

gboolean
duck_result_next_arrow (DuckResult *result, struct ArrowArray *array, gboolean *at_end, GError **error)
{
  duckdb_arrow_options options = NULL;
  duckdb_data_chunk chunk = NULL;
  struct ArrowArray own = { 0 };

  drop_chunk (result);
  if (!fetch (result, &chunk, error))
    return FALSE;
  if (chunk == NULL) {
    *at_end = TRUE;
    return TRUE;
  }
  duckdb_connection_get_arrow_options (result->session->connection, &options);
  duckdb_error_data data = duckdb_data_chunk_to_arrow (options, chunk, &own);
  duckdb_destroy_arrow_options (&options);
  duckdb_destroy_data_chunk (&chunk);
  if (!check_error_data (result, data, error))
    return FALSE;
  *array = own;
  *at_end = FALSE;
  return TRUE;
}

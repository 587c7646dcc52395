/* What a query gives: typed chunks, one after the other, as they are computed.
 *
 * A result is read by one thread and keeps its session busy: the next statement of that session ends an unfinished streaming
 * result (reading on is SLUICE_ERROR_INTERNAL_ERROR). A materialized result outlives other statements of its session.
 * The session must outlive its results.
 */
#pragma once

#include "duck-type.h"
#include "duck-vector.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct DuckResult DuckResult;

/* Ends the query if it still runs. Accepts NULL. */
void duck_result_free (DuckResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckResult, duck_result_free)

/* Borrows live as long as the result. */
guint duck_result_n_columns (const DuckResult *result);
const char *duck_result_column_name (const DuckResult *result, guint column);
const DuckType *duck_result_column_type (const DuckResult *result, guint column);

/* One piece of the answer: columns of @n_rows rows each. */
typedef struct {
  guint n_rows;
  guint n_columns;
  const DuckVector *columns;
} DuckChunk;

/**
 * duck_result_next:
 * @chunk: (out) (transfer none) (nullable): the next non-empty chunk, valid until the next call; NULL at the end
 *
 * Errors: as duck_session_query(). After an error the result gives the same error again.
 * Threads: one.
 * Returns: FALSE on error.
 */
gboolean duck_result_next (DuckResult *result, const DuckChunk **chunk, GError **error);

/* Arrow C data interface (the structs are the standard ABI's; include their definition where they are read). */
struct ArrowSchema;
struct ArrowArray;

/**
 * duck_result_export_schema:
 * @names: (nullable) (array): names for the columns instead of the query's
 * @schema: (out caller-allocates): the caller calls its release
 *
 * The schema of the struct arrays of duck_result_next_arrow().
 * Errors: SLUICE_ERROR_UNSUPPORTED_DATATYPE.
 */
gboolean duck_result_export_schema (DuckResult *result, const char *const *names, struct ArrowSchema *schema,
                                    GError **error);

/**
 * duck_result_next_arrow:
 * @array: (out caller-allocates): untouched at the end; else the caller calls its release
 * @at_end: (out): whether there was no further chunk
 *
 * Like duck_result_next(), as an Arrow struct array that lives on its own (it does not need the result any more).
 */
gboolean duck_result_next_arrow (DuckResult *result, struct ArrowArray *array, gboolean *at_end, GError **error);

G_END_DECLS

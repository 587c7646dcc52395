/* Kept rows: what a SELECT gave, in memory, for the queries after it: an intermediate result without the statistics, the row groups and
 * the single thread of a small temporary table.
 *
 *   sluice_keep(handle UBIGINT, row STRUCT) → BOOLEAN     takes the row, unless the room for them is used up
 *   sluice_kept(handle UBIGINT) → TABLE                   the rows, without a copy, for several threads
 *
 * Both belong to this file: other rooms use the text of duck_rows_relation().
 */
#pragma once

#include "duck-session.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct DuckRows DuckRows;

/**
 * duck_rows_new:
 * @select: one SELECT, its columns of different names, none of them `kept row`
 * @max_bytes: beyond so many the rows go into a temporary table, which DuckDB may spill; 0: at once. The bound is on values, what
 *             lies around them comes on top of it
 * @table: name of that table, used by nobody else
 * @once: @select must not run twice (otherwise it is begun anew when the rows turn out to be too many)
 *
 * Runs @select. The rows have no order.
 *
 * Errors: as duck_session_query().
 * Returns: (transfer full): of @session, in its thread.
 */
DuckRows *duck_rows_new (DuckSession *session, const char *select, guint64 max_bytes, const char *table, gboolean once,
                         BaseCancel *cancel, GError **error);
void duck_rows_free (DuckRows *rows); /* accepts NULL; no query may use them any more */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckRows, duck_rows_free)

const char *duck_rows_relation (const DuckRows *rows); /* text that stands in FROM, an alias may follow */
gint64 duck_rows_count (const DuckRows *rows);
guint64 duck_rows_bytes (const DuckRows *rows);     /* in memory; 0 of a table */
gboolean duck_rows_is_table (const DuckRows *rows); /* they were too many */

G_END_DECLS

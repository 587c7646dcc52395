/* Lent objects: C objects that a query reaches under a number (a handle) until they are taken back.
 *
 *   sluice_live(handle UBIGINT, file_index UBIGINT, row_number BIGINT) → BOOLEAN     a deletion filter
 *   sluice_pick(handle UBIGINT, file_index UBIGINT, row_number BIGINT) → UBIGINT     a number per row
 *   sluice_files(handle UBIGINT) → TABLE                                             a lent table
 *   sluice_expect(handle UBIGINT, cond BOOLEAN, …) → UBIGINT                         a counter: bit i = condition i failed
 *   sluice_expect_fail(handle UBIGINT, failed UBIGINT, row ANY) → BOOLEAN            raises EXPECTATION_FAILED
 *
 * Handles are never used twice. A query that reaches for a handle that was taken back, never existed, or is of another kind
 * ends with SLUICE_ERROR_LENT_OBJECT_GONE. Taking back while a query still runs is safe: calls that have begun finish first.
 */
#pragma once

#include "duck-engine.h"
#include "duck-type.h"

#include <glib.h>

G_BEGIN_DECLS

/* Takes the object back; after the last running call its free function runs. 0 and unknown handles are ignored.
 * Threads: any. */
void duck_engine_take_back (DuckEngine *engine, guint64 handle);

/* A list of handles to keep until a query ended; g_ptr_array_unref() takes them all back.
 * duck_holds_move() empties @from into @holds. */
GPtrArray *duck_holds_new (void); /* (transfer full) */
void duck_holds_add (GPtrArray *holds, DuckEngine *engine, guint64 handle);
void duck_holds_move (GPtrArray *holds, GPtrArray *from);

/* ---- a deletion filter ---- */

typedef struct {
  /* Sets live[i] to 1 or 0 for n (≤ 2048) rows. Usually all have the same file and ascending row numbers: look for runs.
   * Called by several threads at once. FALSE + @error stops the query with that error. */
  gboolean (*test) (gpointer self, const guint64 *file_indexes, const gint64 *row_numbers, gsize n, guint8 *live,
                    GError **error);
  void (*free) (gpointer self); /* (nullable) */
} DuckFilterFuncs;

/* @funcs must live for ever; @self: (transfer full). Returns: the handle. Threads: any. */
guint64 duck_engine_lend_filter (DuckEngine *engine, const DuckFilterFuncs *funcs, gpointer self);

/* ---- a number per row ---- */

typedef struct {
  /* Sets picks[i] for n (≤ 2048) rows. Usually all have the same file and ascending row numbers: look for runs. Called by
   * several threads at once. FALSE + @error stops the query with that error. */
  gboolean (*pick) (gpointer self, const guint64 *file_indexes, const gint64 *row_numbers, gsize n, guint64 *picks,
                    GError **error);
  void (*free) (gpointer self); /* (nullable) */
} DuckPickerFuncs;

/* @funcs must live for ever; @self: (transfer full). Returns: the handle. Threads: any. */
guint64 duck_engine_lend_picker (DuckEngine *engine, const DuckPickerFuncs *funcs, gpointer self);

/* ---- a lent table: typed columns built row by row ---- */

typedef struct DuckTable DuckTable;

typedef struct {
  const char *name;
  DuckKind
      kind; /* BOOLEAN, integers to 64 bits, HUGEINT, FLOAT, DOUBLE, DECIMAL, VARCHAR, BLOB, DATE, TIMESTAMP, TIMESTAMP_TZ */
  guint8 width, scale; /* of a DECIMAL */
} DuckTableColumn;

DuckTable *duck_table_new (const DuckTableColumn *columns, guint n_columns); /* (transfer full) */
void duck_table_free (DuckTable *table);                                     /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckTable, duck_table_free)

/* Cells of the row being built; those not set are NULL. Asking for a kind that the column is not is a programming mistake.
 * Integers, DATE, TIMESTAMP*, DECIMAL unscaled, BOOLEAN: set_int64 (or set_int128). FLOAT, DOUBLE: set_double.
 * VARCHAR, BLOB: set_string, copied. */
void duck_table_set_int64 (DuckTable *table, guint column, gint64 value);
void duck_table_set_int128 (DuckTable *table, guint column, __int128 value);
void duck_table_set_double (DuckTable *table, guint column, double value);
void duck_table_set_string (DuckTable *table, guint column, const char *text, gsize length);
void duck_table_end_row (DuckTable *table);
guint64 duck_table_n_rows (const DuckTable *table);

/* @table: (transfer full): not changed from now on. Returns: the handle. Threads: any. */
guint64 duck_engine_lend_table (DuckEngine *engine, DuckTable *table);

/* ---- a counter of conditions (D12) ---- */

#define DUCK_COUNTER_MAX_CONDITIONS 64

typedef struct DuckCounter DuckCounter;

/* Shared by the caller, who reads it after the query, and the query. @n_conditions ≤ DUCK_COUNTER_MAX_CONDITIONS. */
DuckCounter *duck_counter_new (guint n_conditions); /* (transfer full) */
DuckCounter *duck_counter_ref (DuckCounter *counter);
void duck_counter_unref (DuckCounter *counter); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckCounter, duck_counter_unref)

/* Takes its own reference. Returns: the handle. */
guint64 duck_engine_lend_counter (DuckEngine *engine, DuckCounter *counter);

/* Rows seen; rows that failed condition @index (FALSE or NULL); rows that failed any condition of @mask. */
guint64 duck_counter_n_rows (DuckCounter *counter);
guint64 duck_counter_n_failed (DuckCounter *counter, guint index);
/* Which rows a rule drops is known to the caller by its mask: declare it before the query, read the count after it. */
void duck_counter_set_drop_mask (DuckCounter *counter, guint64 mask);
guint64 duck_counter_n_dropped (DuckCounter *counter);
/* What the conditions are called, for the error of sluice_expect_fail(). @names: one per condition; copied. Before the query. */
void duck_counter_set_names (DuckCounter *counter, const char *dataset, const char *const *names);
/* The row that sluice_expect_fail() got first: the lowest failed condition and the row as JSON. Lower it as
 *   WHERE CASE WHEN (f & <fail mask>) <> 0 THEN sluice_expect_fail(h, f & <fail mask>, {…}) ELSE (f & <drop mask>) = 0 END
 * over a subquery that computes `sluice_expect(…) AS f` and ends in LIMIT 9223372036854775807. The error's parameters are
 * "index", "row" and, with names, "expectation". Returns: FALSE when there was none. @row_json: (out) (transfer full). */
gboolean duck_counter_failure (DuckCounter *counter, guint *index, char **row_json);

G_END_DECLS

/* A session: one connection to the engine for one thread of work. It has its own time zone and temporary tables.
 *
 * Errors of every statement, translated here once:
 *   an error raised by a kernel or lent object  → its own condition (they travel as `SLUICE[CONDITION] message`)
 *   interrupted                                 → OPERATION_CANCELED
 *   out of memory, temp directory full          → OUT_OF_MEMORY, STORAGE_FULL
 *   integer, decimal, cast overflow             → ARITHMETIC_OVERFLOW, CAST_OVERFLOW;  conversion → CAST_INVALID_INPUT
 *   division by zero                            → DIVIDE_BY_ZERO
 *   a file that is not there                    → FILE_NOT_FOUND (parameter "file")
 *   a file that is not readable Parquet         → DELTA_DATA_FILE_UNREADABLE (parameter "file" when known)
 *   other IO                                    → IO_ERROR
 *   a scalar subquery with several rows         → SCALAR_SUBQUERY_TOO_MANY_ROWS
 *   parser, binder, catalog, DuckDB's own bugs  → INTERNAL_ERROR: we wrote that SQL. The text of the SQL is the parameter "sql".
 *   everything else                             → EXECUTION_ERROR
 */
#pragma once

#include "base-cancel.h"
#include "duck-engine.h"
#include "duck-result.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct DuckSession DuckSession;

/* Opens a session; it keeps @engine alive. The time zone starts as UTC. Returns: (transfer full). */
DuckSession *duck_session_new (DuckEngine *engine, GError **error);
/* Another session of the same engine and time zone, for another thread. Temporary tables are not shared. Returns: (transfer full). */
DuckSession *duck_session_new_beside (DuckSession *session, GError **error);
void duck_session_free (DuckSession *session); /* accepts NULL; results must be freed before */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckSession, duck_session_free)

DuckEngine *duck_session_engine (DuckSession *session); /* (transfer none) */

/**
 * duck_time_zone_name:
 * @time_zone: as users write it: a name of ICU ("Europe/Berlin", in any case), or an offset ("Z", "+02:00", "UTC-3", "GMT+05:00")
 *
 * The name to give DuckDB, in `SET TimeZone` and in functions that take a zone. DuckDB drops the minutes of an offset silently, so
 * offsets that are not whole hours between -18 and +18 are refused here. That a name exists is not checked.
 *
 * Errors: SLUICE_ERROR_INVALID_TIMEZONE.
 * Returns: (transfer full).
 */
char *duck_time_zone_name (const char *time_zone, GError **error);

/* @time_zone: as above. Errors: SLUICE_ERROR_INVALID_TIMEZONE. */
gboolean duck_session_set_time_zone (DuckSession *session, const char *time_zone, GError **error);
/* As it was given. */
const char *duck_session_time_zone (DuckSession *session); /* borrowed until set again */

/**
 * duck_session_execute:
 * @sql: one or more statements; rows they give are dropped
 * @cancel: (nullable): raising it stops the statement; the session stays usable
 *
 * Threads: one thread at a time per session.
 */
gboolean duck_session_execute (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error);

/**
 * duck_session_query:
 * @sql: exactly one statement
 * @cancel: (nullable): stops the query and the reading of its result; a reference is kept by the result
 *
 * Starts a query; chunks come as they are computed, the whole answer is never held.
 *
 * Returns: (transfer full).
 */
DuckResult *duck_session_query (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error);

/* The same, run to its end before it returns and held in memory; the session is free for other statements at once. */
DuckResult *duck_session_query_materialized (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error);

/* One value of a one-row query: @is_null is optional, @value is 0/NULL for NULL. No row at all is SLUICE_ERROR_INTERNAL_ERROR.
 * Any integer kind of up to 64 bits; the second any type that is VARCHAR or BLOB (transfer full). */
gboolean duck_session_query_int64 (DuckSession *session, const char *sql, BaseCancel *cancel, gint64 *value,
                                   gboolean *is_null, GError **error);
gboolean duck_session_query_string (DuckSession *session, const char *sql, BaseCancel *cancel, char **value,
                                    GError **error);
/* The first column of all rows: integers that are not NULL. Returns: (transfer full) (element-type gint64): NULL on error. */
GArray *duck_session_query_int64s (DuckSession *session, const char *sql, BaseCancel *cancel, GError **error);

/* Columns of a query that was prepared and not run. */
typedef struct {
  char *name;
  DuckType *type;
} DuckColumn;

/**
 * duck_session_describe:
 * @sql: exactly one statement that gives rows
 *
 * Returns: (transfer full) (element-type DuckColumn): freed with its own free function by g_ptr_array_unref().
 */
GPtrArray *duck_session_describe (DuckSession *session, const char *sql, GError **error);

/* The type that DuckDB text names (`DECIMAL(10,2)`). Errors: SLUICE_ERROR_UNSUPPORTED_DATATYPE. Returns: (transfer full). */
DuckType *duck_session_parse_type (DuckSession *session, const char *text, GError **error);

/* Keeps progress from the next statement on. It costs about a fifth of a short query, so it is off unless somebody looks. */
gboolean duck_session_watch_progress (DuckSession *session, GError **error);
/* Percent of the running query, 0 … 100; -1 when not known or not watched. Threads: any, while the session lives. */
double duck_session_progress (DuckSession *session);

G_END_DECLS

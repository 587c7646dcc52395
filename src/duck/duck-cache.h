/* Cached rows: what SELECTs over files that never change give, in memory for those who run them again.
 *
 * A stream of small batches reads the same few columns of a table's files with every batch, and unpacking them is most of what that costs. A SELECT
 * is noted when it is asked for first; when it is asked for again its rows are kept. Rows that were not asked for lately give way to
 * others; nothing is kept beyond a share of the engine's memory limit.
 */
#pragma once

#include "base-cancel.h"
#include "duck-session.h"

#include <glib.h>

G_BEGIN_DECLS

/* A reference to rows in memory: they stay while somebody holds one. */
typedef struct DuckLent DuckCached;
void duck_cached_unref (DuckCached *cached); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckCached, duck_cached_unref)

/* Whether rows of so many would be kept at all: fewer are not worth a chunk, and need no text. */
gboolean duck_cache_takes (DuckEngine *engine, guint64 n_rows);

/**
 * duck_cache_rows:
 * @select: one SELECT that gives the same rows whenever it runs: its text is what they are known by
 * @n_bytes: about what they take, so that nothing is read that does not fit
 * @at_once: they are kept the first time already, where there is room that nothing else takes
 * @cached: (out) (nullable) (transfer full): NULL when they are not kept
 *
 * Threads: any. Errors: as duck_session_query(), when the rows are read.
 */
gboolean duck_cache_rows (DuckEngine *engine, const char *select, guint64 n_bytes, gboolean at_once, BaseCancel *cancel,
                          DuckCached **cached, GError **error);
gboolean duck_cache_has (DuckEngine *engine, const char *select); /* whether its rows are there now */

/* Which rows of cached ones are wanted, by a hash: those that cannot be are left out. Reference-counted. */
typedef struct DuckWanted DuckWanted;

/**
 * duck_wanted_new:
 * @select: one column UBIGINT that is never NULL: the hashes of what is wanted
 * @n_rows: about how many
 */
DuckWanted *duck_wanted_new (DuckSession *session, const char *select, guint64 n_rows, BaseCancel *cancel,
                             GError **error);
DuckWanted *duck_wanted_ref (DuckWanted *wanted);
void duck_wanted_unref (DuckWanted *wanted); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckWanted, duck_wanted_unref)

/**
 * duck_engine_lend_cached:
 * @cached: @n_cached ≥ 1, of the same columns; references are taken
 * @number_name: name of one more column, UBIGINT: which of @cached a row is of, from 0; must live for ever
 * @wanted: (nullable): the last column of @cached is then the hash, UBIGINT and never NULL
 *
 * Returns: the handle for `sluice_parts(handle UBIGINT)`, a table function; duck_engine_take_back() ends it.
 */
guint64 duck_engine_lend_cached (DuckEngine *engine, DuckCached *const *cached, guint n_cached, const char *number_name,
                                 DuckWanted *wanted);

guint64 duck_cache_bytes (DuckEngine *engine); /* kept now */

G_END_DECLS

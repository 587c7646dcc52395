/* The registry of lent objects, for the files of this room that lend. */
#pragma once

#include "duck-private.h"

typedef enum {
  DUCK_LENT_FILTER,
  DUCK_LENT_TABLE,
  DUCK_LENT_COUNTER,
  DUCK_LENT_PICKER,
  DUCK_LENT_ROWS,
  DUCK_LENT_PARTS,
} DuckLentKind;

/* A reference to a lent object: it stays while somebody holds one. */
typedef struct DuckLent DuckLent;
/* Errors: LENT_OBJECT_GONE. Returns: (transfer full). */
DuckLent *duck_lent_find (DuckEngine *engine, guint64 handle, DuckLentKind kind, GError **error);
DuckLent *duck_lent_ref (DuckLent *lent); /* (transfer full) */
void duck_lent_unref (gpointer lent);     /* accepts NULL */
gpointer duck_lent_object (const DuckLent *lent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckLent, duck_lent_unref)

/* The bind of a table function of one handle: the query keeps the lent object as its bind data, a DuckLent; when it is not there, the
 * bind says so. Returns: (transfer none) (nullable): the object. */
gpointer duck_lent_bind (duckdb_bind_info info, DuckLentKind kind);

/* A scan of an object by several threads, each of which takes the next piece. */
typedef struct {
  guint64 next; /* atomic */
  guint n_columns;
  guint
      *columns; /* the object's, of each output column; one beyond them is DuckDB's row id, which is not asked of us */
} DuckLentScan;
/* Makes one the init data. */
void duck_lent_scan_begin (duckdb_init_info info, guint64 n_pieces);

/* A table function of one handle, with projection pushdown. @local: (nullable): makes what a thread has for itself. */
gboolean duck_lend_table_function (DuckEngine *engine, const char *name, duckdb_table_function_bind_t bind,
                                   duckdb_table_function_init_t init, duckdb_table_function_init_t local,
                                   duckdb_table_function_t scan, GError **error);

/* duck-rows.c */
guint64 duck_lend_rows (DuckEngine *engine, gpointer kept); /* @kept: (transfer full) */
void duck_kept_free (gpointer kept);
gboolean duck_rows_register (DuckEngine *engine, GError **error);
/* The rows of @select, at most @max_bytes of them: *@lent (out) (nullable) (transfer full) is NULL when they are more. @n_bytes: (out): of memory,
 * as far as they were read. */
gboolean duck_rows_keep (DuckSession *session, const char *select, guint64 max_bytes, BaseCancel *cancel,
                         DuckLent **lent, guint64 *n_bytes, GError **error);
/* What was kept; borrowed, and not changed any more. */
void duck_kept_columns (const DuckLent *rows, guint *n_columns, char *const **names, const duckdb_logical_type **types);
GPtrArray *duck_kept_chunks (const DuckLent *rows); /* (element-type duckdb_data_chunk) */

/* duck-parts.c */
guint64 duck_lend_parts (DuckEngine *engine, gpointer parts); /* @parts: (transfer full) */
void duck_parts_free (gpointer parts);
gboolean duck_parts_register (DuckEngine *engine, GError **error);

/* duck-cache.c */
DuckCache *duck_cache_new (guint64 least_rows, guint64 max_bytes); /* (transfer full) */
void duck_cache_free (DuckCache *cache);                           /* accepts NULL */

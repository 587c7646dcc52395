/* The registry of lent objects, for the files of this room that lend. */
#pragma once

#include "duck-private.h"

typedef enum {
  DUCK_LENT_FILTER,
  DUCK_LENT_TABLE,
  DUCK_LENT_COUNTER,
  DUCK_LENT_PICKER,
  DUCK_LENT_ROWS,
} DuckLentKind;

/* A reference to a lent object: it stays while somebody holds one. */
typedef struct DuckLent DuckLent;
/* Errors: LENT_OBJECT_GONE. Returns: (transfer full). */
DuckLent *duck_lent_find (DuckEngine *engine, guint64 handle, DuckLentKind kind, GError **error);
void duck_lent_unref (gpointer lent); /* accepts NULL */
gpointer duck_lent_object (const DuckLent *lent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckLent, duck_lent_unref)

/* A table function of one handle, with projection pushdown. */
gboolean duck_lend_table_function (DuckEngine *engine, const char *name, duckdb_table_function_bind_t bind,
                                   duckdb_table_function_init_t init, duckdb_table_function_t scan, GError **error);

/* duck-rows.c */
guint64 duck_lend_rows (DuckEngine *engine, gpointer kept); /* @kept: (transfer full) */
void duck_kept_free (gpointer kept);
gboolean duck_rows_register (DuckEngine *engine, GError **error);

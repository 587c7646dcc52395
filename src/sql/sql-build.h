/* Arenas, and building trees without text.
 *
 * An arena owns every byte and every BaseType of the trees made in it. It is reference-counted; filling it is for one thread
 * at a time, reading its finished trees is for any number of threads.
 */
#pragma once

#include "sql-tree.h"

G_BEGIN_DECLS

SqlArena *sql_arena_new (void);            /* (transfer full) */
SqlArena *sql_arena_ref (SqlArena *arena); /* (transfer full) (nullable): NULL stays NULL. Threads: any. */
void sql_arena_unref (SqlArena *arena);    /* accepts NULL. Threads: any. */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SqlArena, sql_arena_unref)

/* Zeroed memory, aligned for any node. Borrowed from the arena, as everything below. */
gpointer sql_arena_alloc (SqlArena *arena, gsize size);
char *sql_arena_strdup (SqlArena *arena, const char *text); /* NULL stays NULL */
char *sql_arena_strndup (SqlArena *arena, const char *text, gsize length);
BaseType *sql_arena_keep_type (SqlArena *arena, BaseType *type); /* (transfer full): takes over the reference */

#define sql_arena_new0(arena, Type)      ((Type *) sql_arena_alloc ((arena), sizeof (Type)))
#define sql_arena_new0_n(arena, Type, n) ((Type *) sql_arena_alloc ((arena), sizeof (Type) * (gsize) (n)))

/* Nodes without a position. Texts are copied. */
SqlIdent sql_build_ident (SqlArena *arena, const char *text);
SqlName sql_build_name (SqlArena *arena, const char *const *parts, guint n);
SqlExpr *sql_build_column (SqlArena *arena, const char *name); /* one part, whatever characters it has */
SqlExpr *sql_build_string (SqlArena *arena, const char *text); /* a string literal */
SqlExpr *sql_build_integer (SqlArena *arena, gint64 value);    /* a BIGINT literal */
SqlExpr *sql_build_null (SqlArena *arena);
SqlExpr *sql_build_boolean (SqlArena *arena, gboolean truth);
SqlExpr *sql_build_unary (SqlArena *arena, SqlUnaryOp op, SqlExpr *operand);
SqlExpr *sql_build_binary (SqlArena *arena, SqlBinaryOp op, SqlExpr *left, SqlExpr *right);
SqlExpr *sql_build_call (SqlArena *arena, const char *name, SqlExpr *const *args, guint n_args);
SqlExpr *sql_build_cast (SqlArena *arena, SqlExpr *value, const BaseType *type);
/* SELECT items FROM name. */
SqlQuery *sql_build_select_all (SqlArena *arena, const SqlName *table, gboolean streaming);

/* Names as text: `a.b`, parts quoted where needed. Returns: (transfer full). */
char *sql_name_text (const SqlName *name);
/* The parts as plain texts, NULL-terminated. Returns: (transfer container): the texts are the tree's. */
const char **sql_name_parts (const SqlName *name);

/* The piece of source text under a position (after substitution), and adding the position to an error: file, line, column
 * and source line. Both do nothing useful for nodes without a source: NULL, and no position.
 * Returns: (transfer full) (nullable). */
char *sql_position_text (const SqlPosition *position);
void sql_position_add_to_error (const SqlPosition *position, GError **error);
const char *sql_position_file (const SqlPosition *position); /* (nullable) */

/* `name@v12` and `name@20190101000000000` inside one quoted part, as Delta's path tables have it.
 * @length: (out): bytes of @part before the `@`
 * @travel: (out): kind and value, a node of @arena
 *
 * Returns: TRUE when @part ends that way; else the outs are untouched. */
gboolean sql_travel_from_suffix (SqlArena *arena, const char *part, gsize *length, SqlTravel *travel);

G_END_DECLS

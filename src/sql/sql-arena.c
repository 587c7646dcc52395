/* Arenas and nodes made without text. */
#include "base-text.h"
#include "sql-build.h"

#include <string.h>

/* Blocks are never moved. Small requests share a block of @BLOCK_SIZE, large ones get their own. */
enum { BLOCK_SIZE = 16 * 1024, ALIGNMENT = 16 };

struct SqlArena {
  gint ref_count;
  GPtrArray *blocks;
  GPtrArray *types; /* of BaseType */
  char *at;
  gsize left;
};

static void
unref_type (gpointer type)
{
  base_type_unref (type);
}

SqlArena *
sql_arena_new (void)
{
  SqlArena *arena = g_new0 (SqlArena, 1);
  arena->ref_count = 1;
  arena->blocks = g_ptr_array_new_with_free_func (g_free);
  arena->types = g_ptr_array_new_with_free_func (unref_type);
  return arena;
}

SqlArena *
sql_arena_ref (SqlArena *arena)
{
  if (arena != NULL)
    g_atomic_int_inc (&arena->ref_count);
  return arena;
}

void
sql_arena_unref (SqlArena *arena)
{
  if (arena == NULL || !g_atomic_int_dec_and_test (&arena->ref_count))
    return;
  g_ptr_array_unref (arena->blocks);
  g_ptr_array_unref (arena->types);
  g_free (arena);
}

gpointer
sql_arena_alloc (SqlArena *arena, gsize size)
{
  size = (MAX (size, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (size > BLOCK_SIZE / 4) {
    gpointer block = g_malloc0 (size);
    g_ptr_array_add (arena->blocks, block);
    return block;
  }
  if (size > arena->left) {
    arena->at = g_malloc0 (BLOCK_SIZE);
    arena->left = BLOCK_SIZE;
    g_ptr_array_add (arena->blocks, arena->at);
  }
  gpointer result = arena->at;
  arena->at += size;
  arena->left -= size;
  return result;
}

char *
sql_arena_strndup (SqlArena *arena, const char *text, gsize length)
{
  char *copy = sql_arena_alloc (arena, length + 1);
  if (length > 0)
    memcpy (copy, text, length);
  return copy;
}

char *
sql_arena_strdup (SqlArena *arena, const char *text)
{
  return text == NULL ? NULL : sql_arena_strndup (arena, text, strlen (text));
}

BaseType *
sql_arena_keep_type (SqlArena *arena, BaseType *type)
{
  g_ptr_array_add (arena->types, type);
  return type;
}

/* ------------------------------------------------------------------ nodes */

static SqlExpr *
new_expr (SqlArena *arena, SqlExprKind kind)
{
  SqlExpr *expr = sql_arena_new0 (arena, SqlExpr);
  expr->kind = kind;
  expr->depth = 1;
  return expr;
}

SqlIdent
sql_build_ident (SqlArena *arena, const char *text)
{
  return (SqlIdent){ .text = sql_arena_strdup (arena, text), .quoted = TRUE };
}

SqlName
sql_build_name (SqlArena *arena, const char *const *parts, guint n)
{
  SqlName name = { .n = n };
  name.parts = sql_arena_new0_n (arena, SqlIdent, n);
  for (guint i = 0; i < n; i++)
    name.parts[i] = sql_build_ident (arena, parts[i]);
  return name;
}

SqlExpr *
sql_build_column (SqlArena *arena, const char *name)
{
  SqlExpr *expr = new_expr (arena, SQL_EXPR_COLUMN);
  expr->u.column.name = sql_build_name (arena, &name, 1);
  return expr;
}

static SqlExpr *
build_literal (SqlArena *arena, SqlLiteralKind kind, const char *text)
{
  SqlExpr *expr = new_expr (arena, SQL_EXPR_LITERAL);
  expr->u.literal.kind = kind;
  expr->u.literal.text = sql_arena_strdup (arena, text);
  expr->u.literal.length = strlen (text);
  return expr;
}

SqlExpr *
sql_build_string (SqlArena *arena, const char *text)
{
  return build_literal (arena, SQL_LITERAL_STRING, text);
}

SqlExpr *
sql_build_integer (SqlArena *arena, gint64 value)
{
  char text[24];
  g_snprintf (text, sizeof text, "%" G_GINT64_FORMAT, value);
  return build_literal (arena, SQL_LITERAL_BIGINT, text);
}

SqlExpr *
sql_build_null (SqlArena *arena)
{
  return build_literal (arena, SQL_LITERAL_NULL, "NULL");
}

SqlExpr *
sql_build_boolean (SqlArena *arena, gboolean truth)
{
  SqlExpr *expr = build_literal (arena, SQL_LITERAL_BOOLEAN, truth ? "true" : "false");
  expr->u.literal.truth = truth;
  return expr;
}

SqlExpr *
sql_build_unary (SqlArena *arena, SqlUnaryOp op, SqlExpr *operand)
{
  SqlExpr *expr = new_expr (arena, SQL_EXPR_UNARY);
  expr->u.unary.op = op;
  expr->u.unary.operand = operand;
  expr->depth = operand->depth + 1;
  return expr;
}

SqlExpr *
sql_build_binary (SqlArena *arena, SqlBinaryOp op, SqlExpr *left, SqlExpr *right)
{
  SqlExpr *expr = new_expr (arena, SQL_EXPR_BINARY);
  expr->u.binary.op = op;
  expr->u.binary.left = left;
  expr->u.binary.right = right;
  expr->depth = MAX (left->depth, right->depth) + 1;
  return expr;
}

SqlExpr *
sql_build_call (SqlArena *arena, const char *name, SqlExpr *const *args, guint n_args)
{
  SqlExpr *expr = new_expr (arena, SQL_EXPR_CALL);
  SqlCall *call = &expr->u.call;
  call->name = sql_build_name (arena, &name, 1);
  call->name.parts[0].quoted = FALSE;
  call->args = sql_arena_new0_n (arena, SqlArg, n_args);
  call->n_args = n_args;
  for (guint i = 0; i < n_args; i++) {
    call->args[i].value = args[i];
    expr->depth = MAX (expr->depth, args[i]->depth + 1);
  }
  return expr;
}

SqlExpr *
sql_build_cast (SqlArena *arena, SqlExpr *value, const BaseType *type)
{
  g_autofree char *text = base_type_text (type);
  g_autofree char *upper = base_type_is_nested (type) ? g_strdup (text) : g_ascii_strup (text, -1);
  SqlExpr *expr = new_expr (arena, SQL_EXPR_CAST);
  expr->u.cast.value = value;
  expr->u.cast.type.base = sql_arena_keep_type (arena, base_type_ref (type));
  expr->u.cast.type.text = sql_arena_strdup (arena, upper);
  expr->depth = value->depth + 1;
  return expr;
}

SqlQuery *
sql_build_select_all (SqlArena *arena, const SqlName *table, gboolean streaming)
{
  SqlRelation *relation = sql_arena_new0 (arena, SqlRelation);
  relation->kind = SQL_RELATION_TABLE;
  relation->depth = 1;
  relation->position = table->position;
  relation->streaming = streaming;
  relation->u.table.name = *table;
  SqlBody *body = sql_arena_new0 (arena, SqlBody);
  body->kind = SQL_BODY_SELECT;
  body->depth = 2;
  body->position = table->position;
  body->u.select.items.items = sql_arena_new0 (arena, SqlNamed);
  body->u.select.items.items[0].value = new_expr (arena, SQL_EXPR_STAR);
  body->u.select.items.n = 1;
  body->u.select.from = relation;
  SqlQuery *query = sql_arena_new0 (arena, SqlQuery);
  query->depth = 3;
  query->position = table->position;
  query->body = body;
  return query;
}

const char **
sql_name_parts (const SqlName *name)
{
  const char **parts = g_new0 (const char *, name->n + 1);
  for (guint i = 0; i < name->n; i++)
    parts[i] = name->parts[i].text;
  return parts;
}

char *
sql_name_text (const SqlName *name)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < name->n; i++) {
    g_autofree char *part = base_text_spark_identifier (name->parts[i].text);
    if (i > 0)
      g_string_append_c (text, '.');
    g_string_append (text, part);
  }
  return g_string_free (text, FALSE);
}

gboolean
sql_travel_from_suffix (SqlArena *arena, const char *part, gsize *length, SqlTravel *travel)
{
  const char *at = strrchr (part, '@');
  if (at == NULL || at == part)
    return FALSE;
  gboolean version = at[1] == 'v' || at[1] == 'V';
  const char *digits = at + (version ? 2 : 1);
  gsize n = strspn (digits, "0123456789");
  if (n == 0 || digits[n] != 0 || (version ? n > 18 : n != 17))
    return FALSE;
  *length = (gsize) (at - part);
  *travel = (SqlTravel){ .kind = version ? SQL_TRAVEL_VERSION : SQL_TRAVEL_AT_TIMESTAMP };
  travel->value = build_literal (arena, version ? SQL_LITERAL_BIGINT : SQL_LITERAL_STRING, digits);
  return TRUE;
}

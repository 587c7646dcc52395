/* Making, walking, comparing and rewriting bound expressions. */
#include "relation-expr.h"

#include "base-text.h"
#include "duck-session.h"
#include "duck-type.h"
#include "relation-binder-private.h"
#include "relation-cast.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

gpointer
relation_binder_alloc (RelationBinder *binder, gsize size)
{
  return relation_arena_alloc (binder->arena, size);
}

char *
relation_binder_printf (RelationBinder *binder, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return relation_arena_strdup (binder->arena, text);
}

BaseType *
relation_binder_keep_type (RelationBinder *binder, BaseType *type)
{
  return relation_arena_keep_type (binder->arena, type);
}

const char *
relation_binder_time_zone (RelationBinder *binder)
{
  return binder->context->session != NULL ? duck_session_time_zone (binder->context->session) : "UTC";
}

const char *
relation_binder_user (RelationBinder *binder)
{
  return binder->resolver != NULL && binder->resolver->user != NULL ? binder->resolver->user : "";
}

const char *
relation_binder_catalog (RelationBinder *binder)
{
  return binder->resolver != NULL && binder->resolver->catalog != NULL ? binder->resolver->catalog : "spark_catalog";
}

const char *
relation_binder_schema (RelationBinder *binder)
{
  return binder->resolver != NULL && binder->resolver->schema != NULL ? binder->resolver->schema : "default";
}

/* ---- errors ---- */

gboolean
relation_bind_error (const SqlPosition *position, GError **error, int code, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  base_error_set (error, (SluiceError) code, "%s", message);
  if (position != NULL)
    sql_position_add_to_error (position, error);
  return FALSE;
}

gboolean
relation_bind_unsupported (const SqlPosition *position, GError **error, const char *what)
{
  return relation_bind_error (position, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "%s is not supported.", what);
}

gboolean
relation_binder_error (RelationBinder *binder G_GNUC_UNUSED, const RelationExpr *at, GError **error, int code,
                       const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  return relation_bind_error (at != NULL ? at->position : NULL, error, code, "%s", message);
}

/* ---- makers ---- */

RelationExpr *
relation_expr_new (RelationBinder *binder, RelationExprKind kind, const BaseType *type, gboolean nullable)
{
  RelationExpr *expr = relation_arena_new0 (binder->arena, RelationExpr);

  expr->kind = kind;
  expr->type = relation_arena_keep_type (binder->arena, base_type_ref (type));
  expr->nullable = nullable;
  expr->deterministic = TRUE;
  expr->display = "";
  return expr;
}

static char *
display_of_double (double value, gboolean is_float)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    return g_strdup ("NaN");
  if (isinf (value))
    return g_strdup (value > 0 ? "Infinity" : "-Infinity");
  for (int precision = 1; precision <= 17; precision++) {
    g_autofree char *format = g_strdup_printf ("%%.%dg", precision);
    g_ascii_formatd (digits, sizeof digits, format, value);
    if (is_float ? (float) g_ascii_strtod (digits, NULL) == (float) value : g_ascii_strtod (digits, NULL) == value)
      break;
  }
  if (strpbrk (digits, ".e") == NULL)
    return g_strdup_printf ("%s.0", digits);
  return g_strdup (digits);
}

static char *
literal_display (const RelationLiteral *literal)
{
  BaseTypeKind kind = base_type_kind (literal->type);

  if (literal->is_null)
    return g_strdup ("NULL");
  switch (kind) {
  case BASE_TYPE_BOOLEAN:
    return g_strdup (literal->integer ? "true" : "false");
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return display_of_double (literal->floating, kind == BASE_TYPE_FLOAT);
  case BASE_TYPE_DECIMAL:
  case BASE_TYPE_STRING:
    return g_strdup (literal->text);
  case BASE_TYPE_BINARY: {
    GString *out = g_string_new ("X'");
    for (gsize i = 0; i < literal->size; i++)
      g_string_append_printf (out, "%02X", (guint8) literal->text[i]);
    g_string_append_c (out, '\'');
    return g_string_free (out, FALSE);
  }
  default:
    return g_strdup_printf ("%" G_GINT64_FORMAT, literal->integer);
  }
}

RelationExpr *
relation_expr_new_literal (RelationBinder *binder, RelationLiteral *literal)
{
  RelationExpr *expr = relation_expr_new (binder, RELATION_EXPR_LITERAL, literal->type, literal->is_null);
  g_autofree char *display = literal_display (literal);

  relation_arena_keep (binder->arena, literal, (GDestroyNotify) relation_literal_free);
  expr->literal = literal;
  expr->foldable = TRUE;
  expr->display = relation_arena_strdup (binder->arena, display);
  return expr;
}

RelationExpr *
relation_expr_new_int (RelationBinder *binder, gint32 value)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_INTEGER);

  return relation_expr_new_literal (binder, relation_literal_new_integer (type, value));
}

RelationExpr *
relation_expr_new_string (RelationBinder *binder, const char *value)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_STRING);

  return relation_expr_new_literal (binder, relation_literal_new_text (type, value, strlen (value)));
}

RelationExpr *
relation_expr_new_null (RelationBinder *binder, const BaseType *type)
{
  return relation_expr_new_literal (binder, relation_literal_new_null (type));
}

RelationExpr *
relation_expr_new_now (RelationBinder *binder, const char *display)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_TIMESTAMP);
  RelationExpr *expr = relation_expr_new (binder, RELATION_EXPR_NOW, type, FALSE);

  expr->display = relation_arena_strdup (binder->arena, display);
  return expr;
}

RelationExpr *
relation_expr_new_column (RelationArena *arena, const RelationColumn *column)
{
  RelationExpr *expr = relation_arena_new0 (arena, RelationExpr);

  expr->kind = RELATION_EXPR_COLUMN;
  expr->type = column->type;
  expr->nullable = column->nullable;
  expr->deterministic = TRUE;
  expr->column_id = column->id;
  expr->origin = column->origin != 0 ? column->origin : column->id;
  expr->display = column->name;
  return expr;
}

gboolean
relation_type_same (const BaseType *a, const BaseType *b)
{
  return base_type_equal (a, b, BASE_TYPE_EQUAL_IGNORE_NULLABILITY);
}

static RelationExpr *
wrap_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type, RelationCastMode mode)
{
  RelationExpr *cast = relation_expr_new (binder, RELATION_EXPR_CAST, type,
                                          expr->nullable || relation_cast_is_nullable (expr->type, type, mode));

  cast->args = relation_arena_new0_n (binder->arena, RelationExpr *, 1);
  cast->args[0] = expr;
  cast->n_args = 1;
  cast->try_cast = mode == RELATION_CAST_TRY;
  cast->foldable = expr->foldable;
  cast->deterministic = expr->deterministic;
  cast->display = expr->display;
  cast->position = expr->position;
  return cast;
}

/* Same type but for nullability: the value needs no change, only the type that is told. */
static RelationExpr *
retype (RelationBinder *binder, RelationExpr *expr, const BaseType *type)
{
  RelationExpr *copy;

  if (base_type_equal (expr->type, type, BASE_TYPE_EQUAL_EXACT))
    return expr;
  copy = relation_arena_new0 (binder->arena, RelationExpr);
  *copy = *expr;
  copy->type = relation_arena_keep_type (binder->arena, base_type_ref (type));
  return copy;
}

static gboolean
is_integer_kind (BaseTypeKind kind)
{
  return kind == BASE_TYPE_BYTE || kind == BASE_TYPE_SHORT || kind == BASE_TYPE_INTEGER || kind == BASE_TYPE_LONG;
}

RelationExpr *
relation_expr_new_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type)
{
  BaseTypeKind from = base_type_kind (expr->type);
  BaseTypeKind to = base_type_kind (type);
  RelationExpr *result;

  if (relation_type_same (expr->type, type))
    return retype (binder, expr, type);
  if (expr->kind == RELATION_EXPR_LITERAL && expr->literal->is_null) {
    result = relation_expr_new_null (binder, type);
  } else if (expr->kind == RELATION_EXPR_LITERAL && is_integer_kind (from) && is_integer_kind (to) && to > from) {
    result = relation_expr_new_literal (binder, relation_literal_new_integer (type, expr->literal->integer));
  } else {
    return wrap_cast (binder, expr, type, RELATION_CAST_ANSI);
  }
  result->display = expr->display;
  result->position = expr->position;
  return result;
}

RelationExpr *
relation_expr_new_store_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type, const char *column)
{
  RelationExpr *cast;

  if (relation_type_same (expr->type, type))
    return retype (binder, expr, type);
  if (expr->kind == RELATION_EXPR_LITERAL && expr->literal->is_null)
    return relation_expr_new_null (binder, type);
  cast = wrap_cast (binder, expr, type, RELATION_CAST_STORE);
  cast->store = relation_arena_strdup (binder->arena, column);
  return cast;
}

RelationExpr *
relation_expr_new_explicit_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type, gboolean is_try)
{
  RelationExpr *cast = wrap_cast (binder, expr, type, is_try ? RELATION_CAST_TRY : RELATION_CAST_ANSI);

  cast->explicit_cast = TRUE;
  return cast;
}

RelationExpr *
relation_expr_new_field (RelationBinder *binder, RelationExpr *base, guint index)
{
  const BaseField *field = base_type_field (base->type, index);
  RelationExpr *expr = relation_expr_new (binder, RELATION_EXPR_FIELD, field->type, base->nullable || field->nullable);

  expr->args = relation_arena_new0_n (binder->arena, RelationExpr *, 1);
  expr->args[0] = base;
  expr->n_args = 1;
  expr->field_index = index;
  expr->foldable = base->foldable;
  expr->deterministic = base->deterministic;
  expr->display = relation_binder_printf (binder, "%s.%s", base->display, field->name);
  expr->position = base->position;
  return expr;
}

RelationExpr *
relation_expr_call_at (RelationBinder *binder, const char *name, RelationExpr *const *args, guint n_args,
                       const SqlPosition *at, GError **error)
{
  RelationCall call = {
    .binder = binder, .name = name, .args = (RelationExpr **) args, .n_args = n_args, .position = at
  };

  return relation_function_bind (&call, error);
}

RelationExpr *
relation_expr_new_call (RelationBinder *binder, const char *name, RelationExpr *const *args, guint n_args,
                        GError **error)
{
  return relation_expr_call_at (binder, name, args, n_args, n_args > 0 ? args[0]->position : NULL, error);
}

RelationExpr *
relation_expr_not (RelationBinder *binder, RelationExpr *expr, const SqlPosition *at, GError **error)
{
  return relation_expr_call_at (binder, "not", &expr, 1, at, error);
}

RelationExpr *
relation_expr_and (RelationBinder *binder, RelationExpr *a, RelationExpr *b, GError **error)
{
  RelationExpr *args[2] = { a, b };

  if (a == NULL || b == NULL)
    return a != NULL ? a : b;
  return relation_expr_call_at (binder, "and", args, 2, a->position, error);
}

/* ---- walking ---- */

static gboolean
walk_list (RelationExpr *const *exprs, guint n, RelationExprVisit visit, gpointer data)
{
  for (guint i = 0; i < n; i++)
    if (!relation_expr_walk (exprs[i], visit, data))
      return FALSE;
  return TRUE;
}

static gboolean
walk_sorts (const RelationSort *order, guint n, RelationExprVisit visit, gpointer data)
{
  for (guint i = 0; i < n; i++)
    if (!relation_expr_walk (order[i].expr, visit, data))
      return FALSE;
  return TRUE;
}

gboolean
relation_expr_walk (RelationExpr *expr, RelationExprVisit visit, gpointer data)
{
  if (!visit (expr, data))
    return FALSE;
  if (!walk_list (expr->args, expr->n_args, visit, data) || !walk_sorts (expr->order, expr->n_order, visit, data))
    return FALSE;
  if (expr->filter != NULL && !relation_expr_walk (expr->filter, visit, data))
    return FALSE;
  if (expr->window == NULL)
    return TRUE;
  return walk_list (expr->window->partition, expr->window->n_partition, visit, data) &&
         walk_sorts (expr->window->order, expr->window->n_order, visit, data);
}

typedef struct {
  RelationExprVisit visit;
  gpointer data;
} Deep;

static gboolean
visit_deep (RelationExpr *expr, gpointer data)
{
  Deep *deep = data;

  if (!deep->visit (expr, deep->data))
    return FALSE;
  return expr->subquery == NULL || relation_operator_walk_exprs (expr->subquery, deep->visit, deep->data);
}

gboolean
relation_operator_walk_exprs (RelationOperator *op, RelationExprVisit visit, gpointer data)
{
  Deep deep = { visit, data };

  if (op == NULL)
    return TRUE;
  if (!walk_list (op->exprs, op->n_exprs, visit_deep, &deep) || !walk_sorts (op->order, op->n_order, visit_deep, &deep))
    return FALSE;
  if (op->condition != NULL && !relation_expr_walk (op->condition, visit_deep, &deep))
    return FALSE;
  if (op->expect != NULL && !walk_list (op->expect->conditions, op->expect->n, visit_deep, &deep))
    return FALSE;
  if (op->shared != NULL && !relation_operator_walk_exprs (op->shared->root, visit, data))
    return FALSE;
  return relation_operator_walk_exprs (op->input, visit, data) && relation_operator_walk_exprs (op->right, visit, data);
}

gboolean
relation_expr_is_aggregate (const RelationExpr *expr)
{
  return expr->kind == RELATION_EXPR_CALL && expr->window == NULL &&
         (expr->function->flags & RELATION_FUNCTION_AGGREGATE) != 0;
}

static gboolean
visit_not_aggregate (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return !relation_expr_is_aggregate (expr);
}

static gboolean
visit_not_window (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return expr->window == NULL;
}

static gboolean
visit_not_generator (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return expr->kind != RELATION_EXPR_CALL || (expr->function->flags & RELATION_FUNCTION_GENERATOR) == 0;
}

static gboolean
visit_not_subquery (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return expr->kind != RELATION_EXPR_SUBQUERY;
}

gboolean
relation_expr_has_aggregate (RelationExpr *expr)
{
  return !relation_expr_walk (expr, visit_not_aggregate, NULL);
}

gboolean
relation_expr_has_window (RelationExpr *expr)
{
  return !relation_expr_walk (expr, visit_not_window, NULL);
}

gboolean
relation_expr_has_generator (RelationExpr *expr)
{
  return !relation_expr_walk (expr, visit_not_generator, NULL);
}

gboolean
relation_expr_has_subquery (RelationExpr *expr)
{
  return !relation_expr_walk (expr, visit_not_subquery, NULL);
}

/* ---- comparing ---- */

static gboolean
literal_equal (const RelationLiteral *a, const RelationLiteral *b)
{
  return relation_type_same (a->type, b->type) && a->is_null == b->is_null && a->integer == b->integer &&
         memcmp (&a->floating, &b->floating, sizeof a->floating) == 0 && a->size == b->size && a->months == b->months &&
         a->days == b->days && (a->size == 0 || memcmp (a->text, b->text, a->size) == 0);
}

static gboolean
sorts_equal (const RelationSort *a, const RelationSort *b, guint n)
{
  for (guint i = 0; i < n; i++)
    if (a[i].descending != b[i].descending || a[i].nulls_first != b[i].nulls_first ||
        !relation_expr_equal (a[i].expr, b[i].expr))
      return FALSE;
  return TRUE;
}

static gboolean
bounds_equal (const RelationBound *a, const RelationBound *b)
{
  if (a->kind != b->kind || (a->offset == NULL) != (b->offset == NULL))
    return FALSE;
  return a->offset == NULL || relation_expr_equal (a->offset, b->offset);
}

static gboolean
windows_equal (const RelationWindow *a, const RelationWindow *b)
{
  if (a->n_partition != b->n_partition || a->n_order != b->n_order || a->has_frame != b->has_frame ||
      a->unit != b->unit)
    return FALSE;
  for (guint i = 0; i < a->n_partition; i++)
    if (!relation_expr_equal (a->partition[i], b->partition[i]))
      return FALSE;
  return sorts_equal (a->order, b->order, a->n_order) && bounds_equal (&a->start, &b->start) &&
         bounds_equal (&a->end, &b->end);
}

gboolean
relation_expr_equal (const RelationExpr *a, const RelationExpr *b)
{
  if (a == b)
    return a->deterministic;
  if (a->kind != b->kind || a->n_args != b->n_args || a->column_id != b->column_id || a->n_order != b->n_order ||
      a->function != b->function || a->distinct != b->distinct || a->ignore_nulls != b->ignore_nulls ||
      a->field_index != b->field_index || a->try_cast != b->try_cast || g_strcmp0 (a->store, b->store) != 0 ||
      a->subquery != b->subquery || (a->filter == NULL) != (b->filter == NULL) ||
      (a->window == NULL) != (b->window == NULL) || !a->deterministic || !b->deterministic)
    return FALSE;
  if (!relation_type_same (a->type, b->type))
    return FALSE;
  if (a->kind == RELATION_EXPR_LITERAL)
    return literal_equal (a->literal, b->literal);
  if (a->kind == RELATION_EXPR_LAMBDA) /* variables have new ids each time */
    return FALSE;
  for (guint i = 0; i < a->n_args; i++)
    if (!relation_expr_equal (a->args[i], b->args[i]))
      return FALSE;
  if (a->filter != NULL && !relation_expr_equal (a->filter, b->filter))
    return FALSE;
  return sorts_equal (a->order, b->order, a->n_order) && (a->window == NULL || windows_equal (a->window, b->window));
}

/* ---- rewriting ---- */

static RelationExpr **
rewrite_list (RelationArena *arena, RelationExpr *const *exprs, guint n, RelationExprReplace replace, gpointer data)
{
  RelationExpr **copy = relation_arena_new0_n (arena, RelationExpr *, n + 1);

  for (guint i = 0; i < n; i++)
    copy[i] = relation_expr_rewrite (arena, exprs[i], replace, data);
  return copy;
}

static RelationSort *
rewrite_sorts (RelationArena *arena, const RelationSort *order, guint n, RelationExprReplace replace, gpointer data)
{
  RelationSort *copy = relation_arena_new0_n (arena, RelationSort, n + 1);

  for (guint i = 0; i < n; i++) {
    copy[i] = order[i];
    copy[i].expr = relation_expr_rewrite (arena, order[i].expr, replace, data);
  }
  return copy;
}

RelationExpr *
relation_expr_rewrite (RelationArena *arena, RelationExpr *expr, RelationExprReplace replace, gpointer data)
{
  RelationExpr *other = replace (expr, data);
  RelationExpr *copy;

  if (other != NULL)
    return other;
  if (expr->n_args == 0 && expr->n_order == 0 && expr->filter == NULL && expr->window == NULL)
    return expr;
  copy = relation_arena_new0 (arena, RelationExpr);
  *copy = *expr;
  copy->args = rewrite_list (arena, expr->args, expr->n_args, replace, data);
  copy->order = rewrite_sorts (arena, expr->order, expr->n_order, replace, data);
  if (expr->filter != NULL)
    copy->filter = relation_expr_rewrite (arena, expr->filter, replace, data);
  if (expr->window != NULL) {
    RelationWindow *window = relation_arena_new0 (arena, RelationWindow);
    *window = *expr->window;
    window->partition = rewrite_list (arena, window->partition, window->n_partition, replace, data);
    window->order = rewrite_sorts (arena, window->order, window->n_order, replace, data);
    copy->window = window;
  }
  return copy;
}

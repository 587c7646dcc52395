/* Constant folding: the engine itself says what an expression without rows is worth. */
#include "duck-result.h"
#include "duck-session.h"
#include "relation-binder-private.h"

#include <string.h>

/* `unscaled` with @scale digits behind the point. */
static char *
decimal_text (DuckInt128 unscaled, guint scale)
{
  char digits[48];
  guint n = 0;
  gboolean negative = unscaled < 0;
  unsigned __int128 rest = negative ? -(unsigned __int128) unscaled : (unsigned __int128) unscaled;
  GString *out = g_string_new (negative ? "-" : "");

  while (rest > 0 || n <= scale) {
    digits[n++] = (char) ('0' + (int) (rest % 10));
    rest /= 10;
  }
  while (n > 0) {
    g_string_append_c (out, digits[--n]);
    if (n == scale && scale > 0)
      g_string_append_c (out, '.');
  }
  return g_string_free (out, FALSE);
}

static RelationLiteral *
read_cell (const DuckVector *vector, const BaseType *type, GError **error)
{
  BaseTypeKind kind = base_type_kind (type);

  if (kind == BASE_TYPE_VOID || duck_vector_is_null (vector, 0))
    return relation_literal_new_null (type);
  switch (kind) {
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return relation_literal_new_double (type, duck_vector_double (vector, 0));
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY: {
    gsize length;
    const char *text = duck_vector_string (vector, 0, &length);
    return relation_literal_new_text (type, text, length);
  }
  case BASE_TYPE_DECIMAL: {
    g_autofree char *text = decimal_text (duck_vector_int128 (vector, 0), base_type_scale (type));
    return relation_literal_new_text (type, text, strlen (text));
  }
  case BASE_TYPE_INTERVAL_CALENDAR: {
    DuckInterval interval = duck_vector_interval (vector, 0);
    RelationLiteral *literal = relation_literal_new_integer (type, interval.us);
    literal->months = interval.months;
    literal->days = interval.days;
    return literal;
  }
  case BASE_TYPE_VOID:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
  case BASE_TYPE_VARIANT: {
    g_autofree char *text = base_type_text (type);
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "A constant of type %s is not supported here.", text);
    return NULL;
  }
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    break;
  }
  return relation_literal_new_integer (type, duck_vector_int64 (vector, 0));
}

static RelationLiteral *
evaluate (RelationBinder *binder, const RelationExpr *expr, GError **error)
{
  RelationOperator *one = relation_op_new (binder, RELATION_OP_ONE_ROW, NULL);
  RelationExpr *exprs[1] = { (RelationExpr *) expr };
  RelationOperator *op = relation_op_project (binder, one, exprs, NULL, 1, FALSE);
  RelationLowering lowering = { .now_us = binder->context->now_us, .session = binder->context->session };
  g_autoptr (RelationPlan) plan = relation_plan_new_tree (binder->arena, op, binder->next_id);
  g_autoptr (RelationText) text = relation_plan_lower (plan, &lowering, error);
  g_autoptr (DuckResult) result = NULL;
  const DuckChunk *chunk;

  if (text == NULL)
    return NULL;
  result = duck_session_query_materialized (binder->context->session, relation_text_sql (text)->str, NULL, error);
  if (result == NULL || !duck_result_next (result, &chunk, error))
    return NULL;
  if (chunk == NULL || chunk->n_rows != 1) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "A constant did not give one row.");
    return NULL;
  }
  return read_cell (&chunk->columns[0], expr->type, error);
}

static gboolean
visit_no_rows (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return expr->kind != RELATION_EXPR_COLUMN && expr->kind != RELATION_EXPR_SUBQUERY &&
         !relation_expr_is_aggregate (expr) && expr->window == NULL;
}

const RelationLiteral *
relation_expr_fold (RelationBinder *binder, const RelationExpr *expr, GError **error)
{
  RelationLiteral *literal;

  if (expr->kind == RELATION_EXPR_LITERAL)
    return expr->literal;
  if (!relation_expr_walk ((RelationExpr *) expr, visit_no_rows, NULL)) {
    relation_bind_error (expr->position, error, SLUICE_ERROR_ARGUMENT_NOT_CONSTANT,
                         "The expression \"%s\" is not a constant.", expr->display);
    return NULL;
  }
  if (binder->context->session == NULL) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Constants can only be folded with a session.");
    return NULL;
  }
  literal = evaluate (binder, expr, error);
  if (literal == NULL) {
    if (expr->position != NULL)
      sql_position_add_to_error (expr->position, error);
    return NULL;
  }
  relation_arena_keep (binder->arena, literal, (GDestroyNotify) relation_literal_free);
  return literal;
}

/* GROUP BY: expressions over the input → expressions over groups and aggregates.
 *
 * 1. A grouping expression that is a plain column keeps its id, so a correlated subquery above the aggregate still finds it.
 * 2. Other grouping expressions are computed in a projection below, together with only those columns that the aggregates read.
 * 3. Equal aggregate calls are computed once.
 */
#include "relation-aggregate-private.h"

#include <string.h>

void
relation_aggregation_init (RelationAggregation *aggregation, RelationBinder *binder, RelationInput *input)
{
  *aggregation = (RelationAggregation){ .binder = binder, .input = input->op, .local = input->scope };
  aggregation->groups = g_ptr_array_new ();
  aggregation->group_columns = g_array_new (FALSE, TRUE, sizeof (RelationColumn));
  aggregation->calls = g_ptr_array_new ();
  aggregation->call_columns = g_array_new (FALSE, TRUE, sizeof (RelationColumn));
  aggregation->sets = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
}

void
relation_aggregation_clear (RelationAggregation *aggregation)
{
  g_ptr_array_unref (aggregation->groups);
  g_array_unref (aggregation->group_columns);
  g_ptr_array_unref (aggregation->calls);
  g_array_unref (aggregation->call_columns);
  g_ptr_array_unref (aggregation->sets);
  g_clear_error (&aggregation->error);
}

guint
relation_aggregation_add_group (RelationAggregation *aggregation, RelationExpr *expr)
{
  for (guint i = 0; i < aggregation->groups->len; i++)
    if (relation_expr_equal (g_ptr_array_index (aggregation->groups, i), expr))
      return i;
  g_ptr_array_add (aggregation->groups, expr);
  return aggregation->groups->len - 1;
}

static gboolean
in_every_set (const RelationAggregation *aggregation, guint group)
{
  for (guint s = 0; s < aggregation->sets->len; s++) {
    const GArray *set = g_ptr_array_index (aggregation->sets, s);
    gboolean found = FALSE;
    for (guint i = 0; i < set->len; i++)
      found |= g_array_index (set, guint, i) == group;
    if (!found)
      return FALSE;
  }
  return TRUE;
}

void
relation_aggregation_end_groups (RelationAggregation *aggregation)
{
  RelationBinder *binder = aggregation->binder;

  for (guint i = 0; i < aggregation->groups->len; i++) {
    RelationExpr *group = g_ptr_array_index (aggregation->groups, i);
    RelationColumn column = { 0 };
    relation_column_set (binder, &column, group->display, group->type,
                         group->nullable || !in_every_set (aggregation, i));
    if (group->kind == RELATION_EXPR_COLUMN)
      column.id = group->column_id;
    g_array_append_val (aggregation->group_columns, column);
  }
  if (aggregation->has_sets) {
    g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_LONG);
    relation_column_set (binder, &aggregation->grouping_id, "grouping_id()", type, FALSE);
  }
}

/* ---- rewriting ---- */

static gboolean
is_local (const RelationAggregation *aggregation, guint id)
{
  for (guint i = 0; i < aggregation->local->n_columns; i++)
    if (aggregation->local->columns[i].column.id == id)
      return TRUE;
  return FALSE;
}

static gboolean
is_group_id (const RelationAggregation *aggregation, guint id)
{
  for (guint i = 0; i < aggregation->groups->len; i++) {
    const RelationExpr *group = g_ptr_array_index (aggregation->groups, i);
    if (group->kind == RELATION_EXPR_COLUMN && group->column_id == id)
      return TRUE;
  }
  return FALSE;
}

static void
missing (RelationAggregation *aggregation, const RelationExpr *expr)
{
  if (aggregation->error != NULL)
    return;
  if (aggregation->groups->len == 0)
    relation_bind_error (expr->position, &aggregation->error, SLUICE_ERROR_MISSING_GROUP_BY,
                         "The query does not include a GROUP BY clause. Add GROUP BY or aggregate the column `%s`.",
                         expr->display);
  else
    relation_bind_error (
        expr->position, &aggregation->error, SLUICE_ERROR_MISSING_AGGREGATION,
        "The non-aggregating expression \"%s\" is based on columns which are not participating in the GROUP BY "
        "clause. Add the columns or the expression to the GROUP BY, aggregate the expression, or use "
        "any_value(%s).",
        expr->display, expr->display);
}

/* Columns of the input that a subquery names must be groups. */
static gboolean
visit_correlated (RelationExpr *expr, gpointer data)
{
  RelationAggregation *aggregation = data;

  if (expr->kind == RELATION_EXPR_COLUMN && is_local (aggregation, expr->column_id) &&
      !is_group_id (aggregation, expr->column_id))
    missing (aggregation, expr);
  return aggregation->error == NULL;
}

static RelationExpr *
use_group (RelationAggregation *aggregation, guint index, const RelationExpr *expr)
{
  RelationExpr *column = relation_expr_new_column (aggregation->binder->arena,
                                                   &g_array_index (aggregation->group_columns, RelationColumn, index));

  column->display = expr->display;
  column->position = expr->position;
  return column;
}

static RelationExpr *
grouping_bit (RelationAggregation *aggregation, guint group, GError **error)
{
  RelationBinder *binder = aggregation->binder;
  g_autoptr (BaseType) byte = base_type_simple (BASE_TYPE_BYTE);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  RelationExpr *id = relation_expr_new_column (binder->arena, &aggregation->grouping_id);
  gint32 shift = (gint32) (aggregation->groups->len - 1 - group);
  RelationExpr *shifted[2] = { id, relation_expr_new_int (binder, shift) };
  RelationExpr *masked[2] = { relation_expr_call_at (binder, ">>", shifted, 2, NULL, error),
                              relation_expr_new_literal (binder, relation_literal_new_integer (number, 1)) };
  RelationExpr *bit = masked[0] != NULL ? relation_expr_call_at (binder, "&", masked, 2, NULL, error) : NULL;

  return bit != NULL ? relation_expr_new_cast (binder, bit, byte) : NULL;
}

static RelationExpr *
rewrite_grouping (RelationAggregation *aggregation, RelationExpr *expr, gboolean is_id)
{
  RelationExpr *result = NULL;

  if (!aggregation->has_sets) {
    relation_bind_error (expr->position, &aggregation->error, SLUICE_ERROR_UNSUPPORTED_GROUPING_EXPRESSION,
                         "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup.");
    return expr;
  }
  if (is_id) {
    gboolean same = expr->n_args == 0 || expr->n_args == aggregation->groups->len;
    for (guint i = 0; same && i < expr->n_args; i++)
      same = relation_expr_equal (expr->args[i], g_ptr_array_index (aggregation->groups, i));
    if (!same) {
      relation_bind_error (expr->position, &aggregation->error, SLUICE_ERROR_GROUPING_ID_COLUMN_MISMATCH,
                           "Columns of grouping_id does not match grouping columns.");
      return expr;
    }
    result = relation_expr_new_column (aggregation->binder->arena, &aggregation->grouping_id);
  }
  for (guint i = 0; !is_id && result == NULL && i < aggregation->groups->len; i++)
    if (relation_expr_equal (expr->args[0], g_ptr_array_index (aggregation->groups, i)) &&
        (result = grouping_bit (aggregation, i, &aggregation->error)) == NULL)
      return expr;
  if (result == NULL) {
    relation_bind_error (expr->position, &aggregation->error, SLUICE_ERROR_GROUPING_COLUMN_MISMATCH,
                         "Column of grouping (%s) can't be found in grouping columns.", expr->args[0]->display);
    return expr;
  }
  result->display = expr->display;
  return result;
}

static RelationExpr *
use_call (RelationAggregation *aggregation, RelationExpr *expr)
{
  guint index = 0;
  RelationExpr *column;

  for (guint i = 0; i < expr->n_args; i++)
    if (relation_expr_has_aggregate (expr->args[i]) && aggregation->error == NULL)
      relation_bind_error (
          expr->args[i]->position, &aggregation->error, SLUICE_ERROR_NESTED_AGGREGATE_FUNCTION,
          "It is not allowed to use an aggregate function in the argument of another aggregate function.");
  while (index < aggregation->calls->len && !relation_expr_equal (g_ptr_array_index (aggregation->calls, index), expr))
    index++;
  if (index == aggregation->calls->len) {
    RelationColumn fresh = { 0 };
    relation_column_set (aggregation->binder, &fresh, expr->display, expr->type, expr->nullable);
    g_ptr_array_add (aggregation->calls, expr);
    g_array_append_val (aggregation->call_columns, fresh);
  }
  column = relation_expr_new_column (aggregation->binder->arena,
                                     &g_array_index (aggregation->call_columns, RelationColumn, index));
  column->display = expr->display;
  column->position = expr->position;
  return column;
}

static RelationExpr *
replace (RelationExpr *expr, gpointer data)
{
  RelationAggregation *aggregation = data;
  gboolean is_id;

  if (aggregation->error != NULL)
    return expr;
  for (guint i = 0; i < aggregation->groups->len; i++)
    if (relation_expr_equal (expr, g_ptr_array_index (aggregation->groups, i)))
      return use_group (aggregation, i, expr);
  if (relation_expr_is_grouping (expr, &is_id))
    return rewrite_grouping (aggregation, expr, is_id);
  if (relation_expr_is_aggregate (expr))
    return use_call (aggregation, expr);
  if (expr->kind == RELATION_EXPR_COLUMN && is_local (aggregation, expr->column_id)) {
    missing (aggregation, expr);
    return expr;
  }
  if (expr->kind == RELATION_EXPR_SUBQUERY)
    relation_operator_walk_exprs (expr->subquery, visit_correlated, aggregation);
  return NULL;
}

RelationExpr *
relation_aggregation_rewrite (RelationAggregation *aggregation, RelationExpr *expr, GError **error)
{
  RelationExpr *result = relation_expr_rewrite (aggregation->binder->arena, expr, replace, aggregation);

  if (aggregation->error == NULL)
    return result;
  g_propagate_error (error, g_steal_pointer (&aggregation->error));
  return NULL;
}

/* ---- the operator ---- */

typedef struct {
  const RelationAggregation *aggregation;
  GHashTable *ids;
} Needed;

static gboolean
visit_needed (RelationExpr *expr, gpointer data)
{
  Needed *needed = data;

  if (expr->kind == RELATION_EXPR_COLUMN && is_local (needed->aggregation, expr->column_id))
    g_hash_table_add (needed->ids, GUINT_TO_POINTER (expr->column_id));
  if (expr->kind == RELATION_EXPR_SUBQUERY)
    relation_operator_walk_exprs (expr->subquery, visit_needed, needed);
  return TRUE;
}

/* The input with the computed groups beside the columns that the calls read. */
static RelationOperator *
project_groups (RelationAggregation *aggregation)
{
  RelationBinder *binder = aggregation->binder;
  g_autoptr (GHashTable) ids = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();
  g_autoptr (GHashTable) taken = g_hash_table_new (NULL, NULL);
  Needed needed = { aggregation, ids };
  gboolean plain = TRUE;
  RelationOperator *op;
  guint n_plain;

  for (guint i = 0; i < aggregation->groups->len; i++) {
    RelationExpr *group = g_ptr_array_index (aggregation->groups, i);
    plain = plain && group->kind == RELATION_EXPR_COLUMN;
    if (group->kind == RELATION_EXPR_COLUMN)
      g_hash_table_add (ids, GUINT_TO_POINTER (group->column_id));
  }
  if (plain)
    return aggregation->input;
  for (guint i = 0; i < aggregation->calls->len; i++)
    relation_expr_walk (g_ptr_array_index (aggregation->calls, i), visit_needed, &needed);
  for (guint i = 0; i < aggregation->local->n_columns; i++) {
    const RelationColumn *column = &aggregation->local->columns[i].column;
    if (g_hash_table_contains (ids, GUINT_TO_POINTER (column->id)) &&
        g_hash_table_add (taken, GUINT_TO_POINTER (column->id)))
      g_ptr_array_add (exprs, relation_expr_new_column (binder->arena, column));
  }
  n_plain = exprs->len;
  for (guint i = 0; i < aggregation->groups->len; i++) {
    RelationExpr *group = g_ptr_array_index (aggregation->groups, i);
    if (group->kind != RELATION_EXPR_COLUMN)
      g_ptr_array_add (exprs, group);
  }
  op = relation_op_project (binder, aggregation->input, (RelationExpr *const *) exprs->pdata, NULL, exprs->len, TRUE);
  for (guint i = 0, at = n_plain; i < aggregation->groups->len; i++) {
    const RelationExpr *group = g_ptr_array_index (aggregation->groups, i);
    if (group->kind != RELATION_EXPR_COLUMN)
      op->columns[at++].id = g_array_index (aggregation->group_columns, RelationColumn, i).id;
  }
  return op;
}

static void
copy_sets (RelationAggregation *aggregation, RelationOperator *op)
{
  RelationArena *arena = aggregation->binder->arena;

  op->n_sets = aggregation->sets->len;
  op->sets = relation_arena_new0_n (arena, guint *, op->n_sets + 1);
  op->set_sizes = relation_arena_new0_n (arena, guint, op->n_sets + 1);
  for (guint s = 0; s < op->n_sets; s++) {
    const GArray *set = g_ptr_array_index (aggregation->sets, s);
    op->set_sizes[s] = set->len;
    op->sets[s] = relation_arena_new0_n (arena, guint, set->len + 1);
    if (set->len > 0)
      memcpy (op->sets[s], set->data, sizeof (guint) * set->len);
  }
  op->not_empty = op->n_groups > 0;
}

RelationOperator *
relation_aggregation_finish (RelationAggregation *aggregation)
{
  RelationBinder *binder = aggregation->binder;
  guint n_groups = aggregation->groups->len;
  guint n_calls = aggregation->calls->len;
  gboolean sets = aggregation->has_sets && n_groups > 0;
  RelationOperator *op = relation_op_new (binder, RELATION_OP_AGGREGATE, project_groups (aggregation));

  op->n_groups = n_groups;
  op->n_exprs = n_groups + n_calls;
  op->exprs = relation_arena_new0_n (binder->arena, RelationExpr *, op->n_exprs + 1);
  relation_op_columns_new (binder, op, op->n_exprs + (sets ? 1 : 0));
  for (guint i = 0; i < n_groups; i++) {
    op->columns[i] = g_array_index (aggregation->group_columns, RelationColumn, i);
    op->exprs[i] = relation_expr_new_column (binder->arena, &op->columns[i]);
  }
  for (guint i = 0; i < n_calls; i++) {
    op->columns[n_groups + i] = g_array_index (aggregation->call_columns, RelationColumn, i);
    op->exprs[n_groups + i] = g_ptr_array_index (aggregation->calls, i);
  }
  if (sets) {
    copy_sets (aggregation, op);
    op->grouping_id = op->n_exprs;
    op->columns[op->n_exprs] = aggregation->grouping_id;
  }
  return op;
}

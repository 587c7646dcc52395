/* Which columns of a plan tell the time: values that come from current_timestamp() and its relatives. */
#include "relation-tree-private.h"

typedef struct {
  GHashTable *columns; /* ids of columns whose values come from the clock */
  gboolean found;
} Clock;

static void find_columns (GHashTable *columns, const RelationOperator *op);

static gboolean
visit_clock (RelationExpr *expr, gpointer data)
{
  Clock *clock = data;

  if (expr->kind == RELATION_EXPR_SUBQUERY) {
    find_columns (clock->columns, expr->subquery);
    for (guint i = 0; i < expr->subquery->n_columns; i++)
      clock->found |= g_hash_table_contains (clock->columns, GUINT_TO_POINTER (expr->subquery->columns[i].id));
  }
  clock->found |= expr->kind == RELATION_EXPR_NOW ||
                  (expr->kind == RELATION_EXPR_CALL && (expr->function->flags & RELATION_FUNCTION_CLOCK) != 0) ||
                  (expr->kind == RELATION_EXPR_COLUMN &&
                   g_hash_table_contains (clock->columns, GUINT_TO_POINTER (expr->column_id)));
  return !clock->found;
}

static void
mark (GHashTable *columns, const RelationColumn *column, gboolean tells_time)
{
  if (tells_time)
    g_hash_table_add (columns, GUINT_TO_POINTER (column->id));
}

static gboolean
has_marked (GHashTable *columns, const RelationOperator *op, guint column)
{
  return op != NULL && column < op->n_columns &&
         g_hash_table_contains (columns, GUINT_TO_POINTER (op->columns[column].id));
}

/* Adds the ids of @op's columns, after those below it. Operators that are not named here pass their input's columns on. */
static void
find_columns (GHashTable *columns, const RelationOperator *op)
{
  const RelationOperator *shared = op != NULL && op->shared != NULL ? op->shared->root : NULL;

  if (op == NULL)
    return;
  find_columns (columns, op->input);
  find_columns (columns, op->right);
  find_columns (columns, shared);
  for (guint i = 0; i < op->n_exprs && op->n_columns > 0; i++) {
    Clock clock = { columns, FALSE };
    guint column = op->kind == RELATION_OP_VALUES ? i % op->n_columns : i;

    relation_expr_walk (op->exprs[i], visit_clock, &clock);
    if (op->kind != RELATION_OP_GENERATE && column < op->n_columns)
      mark (columns, &op->columns[column], clock.found);
    for (guint j = op->input != NULL ? op->input->n_columns : 0; op->kind == RELATION_OP_GENERATE && j < op->n_columns;
         j++)
      mark (columns, &op->columns[j], clock.found);
  }
  for (guint i = 0; i < op->n_columns; i++) {
    mark (columns, &op->columns[i], has_marked (columns, shared, i));
    if (op->kind == RELATION_OP_SET)
      mark (columns, &op->columns[i], has_marked (columns, op->input, i) || has_marked (columns, op->right, i));
  }
}

gboolean
relation_plan_column_tells_time (const RelationPlan *plan, guint column)
{
  g_autoptr (GHashTable) columns = g_hash_table_new (NULL, NULL);

  find_columns (columns, plan->root);
  return has_marked (columns, plan->root, column);
}

/* PIVOT: one filtered aggregate per value. UNPIVOT: one row per column. */
#include "base-text.h"
#include "relation-aggregate-private.h"
#include "relation-binder-private.h"

#include <string.h>

static gboolean
visit_ids (RelationExpr *expr, gpointer data)
{
  if (expr->kind == RELATION_EXPR_COLUMN)
    g_hash_table_add (data, GUINT_TO_POINTER (expr->column_id));
  return TRUE;
}

typedef struct {
  RelationBinder *binder;
  RelationExpr *condition;
  GError *error;
} Filter;

/* Every aggregate inside counts only the rows of the pivot value. */
static RelationExpr *
add_filter (RelationExpr *expr, gpointer data)
{
  Filter *filter = data;
  RelationExpr *copy;

  if (!relation_expr_is_aggregate (expr))
    return NULL;
  copy = relation_arena_new0 (filter->binder->arena, RelationExpr);
  *copy = *expr;
  copy->filter = expr->filter == NULL
                     ? filter->condition
                     : relation_expr_and (filter->binder, expr->filter, filter->condition, &filter->error);
  return copy;
}

static RelationExpr *
pivot_condition (RelationBinder *binder, RelationExpr *const *columns, guint n, const SqlPivotValue *value,
                 GString *name, GError **error)
{
  RelationExpr *condition = NULL;
  RelationBindScope scope = { 0 };
  SqlExpr *const *items = value->values.items;
  guint n_items = value->values.n;

  if (n_items == 1 && n > 1 && items[0]->kind == SQL_EXPR_ROW) {
    n_items = items[0]->u.row.n;
    items = items[0]->u.row.items;
  }
  if (n_items != n) {
    relation_bind_error (n_items > 0 ? &items[0]->position : NULL, error, SLUICE_ERROR_NUM_COLUMNS_MISMATCH,
                         "A pivot value has %u parts, FOR names %u columns.", n_items, n);
    return NULL;
  }
  for (guint i = 0; i < n; i++) {
    RelationExpr *pair[2] = { columns[i], relation_bind_expr (binder, &scope, items[i], error) };
    RelationExpr *equal;
    if (pair[1] == NULL)
      return NULL;
    g_string_append_printf (name, "%s%s", i > 0 ? "_" : "", pair[1]->display);
    if ((equal = relation_expr_call_at (binder, "<=>", pair, 2, &items[i]->position, error)) == NULL ||
        (condition = relation_expr_and (binder, condition, equal, error)) == NULL)
      return NULL;
  }
  if (value->alias != NULL)
    g_string_assign (name, value->alias->text);
  return condition;
}

/* The aggregate over the rows of one value; NULL when there are none (a count too). */
static RelationExpr *
pivot_cell (RelationBinder *binder, RelationAggregation *aggregation, RelationExpr *aggregate, RelationExpr *condition,
            const SqlPosition *at, GError **error)
{
  Filter filter = { .binder = binder, .condition = condition };
  RelationExpr *one = relation_expr_new_int (binder, 1);
  RelationExpr *zero = relation_expr_new_int (binder, 0);
  RelationExpr *count = relation_expr_call_at (binder, "count", &one, 1, at, error);
  RelationExpr *cell = relation_expr_rewrite (binder->arena, aggregate, add_filter, &filter);
  RelationExpr *args[2];

  if (filter.error != NULL) {
    g_propagate_error (error, filter.error);
    return NULL;
  }
  if (count == NULL)
    return NULL;
  count->filter = condition;
  args[0] = count;
  args[1] = zero;
  if ((args[0] = relation_expr_call_at (binder, ">", args, 2, at, error)) == NULL)
    return NULL;
  args[1] = cell;
  if ((cell = relation_expr_call_at (binder, "case", args, 2, at, error)) == NULL)
    return NULL;
  return relation_aggregation_rewrite (aggregation, cell, error);
}

static gboolean
pivot_groups (RelationBinder *binder, RelationInput *input, RelationExpr *const *columns, guint n_columns,
              RelationExpr *const *aggregates, guint n_aggregates, RelationAggregation *aggregation)
{
  g_autoptr (GHashTable) taken = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < n_columns; i++)
    relation_expr_walk (columns[i], visit_ids, taken);
  for (guint i = 0; i < n_aggregates; i++)
    relation_expr_walk (aggregates[i], visit_ids, taken);
  for (guint i = 0; i < input->scope->n_columns; i++) {
    const RelationScopeColumn *column = &input->scope->columns[i];
    if (!column->by_name_only && !column->qualified_only &&
        !g_hash_table_contains (taken, GUINT_TO_POINTER (column->column.id)))
      relation_aggregation_add_group (aggregation, relation_scope_use (binder, column, NULL, NULL));
  }
  relation_aggregation_end_groups (aggregation);
  return TRUE;
}

static RelationOperator *
pivot_operator (RelationBinder *binder, const SqlRelation *relation, RelationAggregation *aggregation,
                RelationExpr *const *columns, RelationExpr *const *aggregates, GError **error)
{
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  guint n_aggregates = relation->u.pivot.aggregates.n;

  for (guint i = 0; i < aggregation->groups->len; i++) {
    const RelationColumn *column = &g_array_index (aggregation->group_columns, RelationColumn, i);
    g_ptr_array_add (exprs, relation_expr_new_column (binder->arena, column));
    g_ptr_array_add (names, g_strdup (column->name));
  }
  for (guint v = 0; v < relation->u.pivot.n_values; v++) {
    g_autoptr (GString) name = g_string_new (NULL);
    RelationExpr *condition =
        pivot_condition (binder, columns, relation->u.pivot.columns.n, &relation->u.pivot.values[v], name, error);
    for (guint a = 0; condition != NULL && a < n_aggregates; a++) {
      const SqlNamed *named = &relation->u.pivot.aggregates.items[a];
      RelationExpr *cell = pivot_cell (binder, aggregation, aggregates[a], condition, &named->position, error);
      if (cell == NULL)
        return NULL;
      g_ptr_array_add (exprs, cell);
      g_ptr_array_add (names, n_aggregates == 1 ? g_strdup (name->str)
                                                : g_strdup_printf ("%s_%s", name->str,
                                                                   named->aliases.n > 0 ? named->aliases.items[0].text
                                                                                        : aggregates[a]->display));
    }
    if (condition == NULL)
      return NULL;
  }
  return relation_op_project (binder, relation_aggregation_finish (aggregation), (RelationExpr *const *) exprs->pdata,
                              (const char *const *) names->pdata, exprs->len, FALSE);
}

RelationOperator *
relation_bind_pivot (RelationBinder *binder, const SqlRelation *relation, RelationInput *input, RelationCteScope *ctes,
                     GError **error)
{
  RelationBindScope scope = { .scope = input->scope, .ctes = ctes, .in_select = TRUE };
  guint n_columns = relation->u.pivot.columns.n;
  guint n_aggregates = relation->u.pivot.aggregates.n;
  g_autofree RelationExpr **columns = g_new0 (RelationExpr *, n_columns + 1);
  g_autofree RelationExpr **aggregates = g_new0 (RelationExpr *, n_aggregates + 1);
  RelationAggregation aggregation;
  RelationOperator *op;

  for (guint i = 0; i < n_columns; i++) {
    gboolean ok;
    const SqlName *name = &relation->u.pivot.columns.items[i];
    columns[i] = relation_scope_find (binder, &scope, name, &name->position, &ok, error);
    if (columns[i] == NULL) {
      if (ok)
        relation_scope_unresolved (&scope, name, &name->position, error);
      return NULL;
    }
  }
  for (guint i = 0; i < n_aggregates; i++) {
    const SqlNamed *named = &relation->u.pivot.aggregates.items[i];
    if ((aggregates[i] = relation_bind_expr (binder, &scope, named->value, error)) == NULL)
      return NULL;
    if (!relation_expr_has_aggregate (aggregates[i])) {
      relation_bind_error (
          &named->position, error, SLUICE_ERROR_MISSING_AGGREGATION,
          "Aggregate expression required for pivot, but \"%s\" did not appear in any aggregate function.",
          aggregates[i]->display);
      return NULL;
    }
  }
  relation_aggregation_init (&aggregation, binder, input);
  pivot_groups (binder, input, columns, n_columns, aggregates, n_aggregates, &aggregation);
  op = pivot_operator (binder, relation, &aggregation, columns, aggregates, error);
  relation_aggregation_clear (&aggregation);
  return op;
}

/* ---- UNPIVOT ---- */

/* One element of the array that is unfolded: struct(name, value, value …). */
static RelationExpr *
unpivot_row (RelationBinder *binder, RelationBindScope *scope, const SqlRelation *relation,
             const SqlUnpivotColumn *column, BaseType *const *types, RelationExpr **values, GError **error)
{
  guint n = relation->u.unpivot.value_names.n;
  g_autofree RelationExpr **args = g_new0 (RelationExpr *, 2 * n + 3);
  g_autoptr (GString) name = g_string_new (NULL);

  (void) scope;
  for (guint i = 0; i < n; i++) {
    const SqlName *part = &column->columns.items[i];
    g_string_append_printf (name, "%s%s", i > 0 ? "_" : "", part->parts[part->n - 1].text);
    args[2 + 2 * i] = relation_expr_new_string (binder, relation->u.unpivot.value_names.items[i].text);
    args[3 + 2 * i] = relation_expr_new_cast (binder, values[i], types[i]);
  }
  args[0] = relation_expr_new_string (binder, relation->u.unpivot.name_column.text);
  args[1] = relation_expr_new_string (binder, column->alias != NULL ? column->alias->text : name->str);
  return relation_expr_call_at (binder, "named_struct", args, 2 * n + 2, &relation->position, error);
}

static RelationOperator *
unpivot_finish (RelationBinder *binder, const SqlRelation *relation, RelationInput *input, GHashTable *taken,
                RelationExpr *rows, GError **error)
{
  guint n_values = relation->u.unpivot.value_names.n;
  RelationInput bound = *input;
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();
  RelationExpr *call = relation_expr_call_at (binder, "inline", &rows, 1, &relation->position, error);
  RelationExpr *keep = NULL;

  if (call == NULL || !relation_bind_generate (binder, &bound, call, FALSE, NULL, NULL, &relation->position, error))
    return NULL;
  for (guint i = 0; i < input->scope->n_columns; i++) {
    const RelationScopeColumn *column = &input->scope->columns[i];
    if (!column->by_name_only && !column->qualified_only &&
        !g_hash_table_contains (taken, GUINT_TO_POINTER (column->column.id)))
      g_ptr_array_add (exprs, relation_scope_use (binder, column, NULL, NULL));
  }
  for (guint i = 0; i < n_values + 1; i++)
    g_ptr_array_add (
        exprs, relation_expr_new_column (binder->arena, &bound.op->columns[bound.op->n_columns - n_values - 1 + i]));
  for (guint i = 0; !relation->u.unpivot.include_nulls && i < n_values; i++) {
    RelationExpr *value = g_ptr_array_index (exprs, exprs->len - n_values + i);
    RelationExpr *there = relation_expr_call_at (binder, "is not null", &value, 1, &relation->position, error);
    RelationExpr *either[2] = { keep, there };
    if (there == NULL)
      return NULL;
    keep = keep == NULL ? there : relation_expr_call_at (binder, "or", either, 2, &relation->position, error);
    if (keep == NULL)
      return NULL;
  }
  if (keep != NULL)
    bound.op = relation_op_filter (binder, bound.op, keep);
  return relation_op_project (binder, bound.op, (RelationExpr *const *) exprs->pdata, NULL, exprs->len, FALSE);
}

RelationOperator *
relation_bind_unpivot (RelationBinder *binder, const SqlRelation *relation, RelationInput *input,
                       RelationCteScope *ctes, GError **error)
{
  RelationBindScope scope = { .scope = input->scope, .ctes = ctes, .in_select = TRUE };
  guint n_values = relation->u.unpivot.value_names.n;
  guint n_rows = relation->u.unpivot.n_columns;
  g_autofree RelationExpr **values = g_new0 (RelationExpr *, (gsize) n_rows * n_values + 1);
  g_autofree RelationExpr **rows = g_new0 (RelationExpr *, n_rows + 1);
  g_autofree BaseType **types = g_new0 (BaseType *, n_values + 1);
  g_autoptr (GHashTable) taken = g_hash_table_new (NULL, NULL);
  RelationExpr *array;

  for (guint r = 0; r < n_rows; r++) {
    const SqlUnpivotColumn *column = &relation->u.unpivot.columns[r];
    if (column->columns.n != n_values) {
      relation_bind_error (&relation->position, error, SLUICE_ERROR_NUM_COLUMNS_MISMATCH,
                           "UNPIVOT has %u value columns, but a group of %u columns.", n_values, column->columns.n);
      return NULL;
    }
    for (guint i = 0; i < n_values; i++) {
      const SqlName *name = &column->columns.items[i];
      gboolean ok;
      RelationExpr *value = relation_scope_find (binder, &scope, name, &name->position, &ok, error);
      BaseType *common;
      if (value == NULL) {
        if (ok)
          relation_scope_unresolved (&scope, name, &name->position, error);
        return NULL;
      }
      relation_expr_walk (value, visit_ids, taken);
      values[r * n_values + i] = value;
      common = types[i] == NULL ? base_type_ref (value->type) : relation_coerce_tightest (types[i], value->type);
      if (common == NULL) {
        relation_bind_error (&name->position, error, SLUICE_ERROR_UNPIVOT_VALUE_DATA_TYPE_MISMATCH,
                             "Unpivot value columns must share a least common type.");
        return NULL;
      }
      types[i] = relation_arena_keep_type (binder->arena, common);
    }
  }
  for (guint r = 0; r < n_rows; r++)
    if ((rows[r] = unpivot_row (binder, &scope, relation, &relation->u.unpivot.columns[r], types, values + r * n_values,
                                error)) == NULL)
      return NULL;
  array = relation_expr_call_at (binder, "array", rows, n_rows, &relation->position, error);
  return array != NULL ? unpivot_finish (binder, relation, input, taken, array, error) : NULL;
}

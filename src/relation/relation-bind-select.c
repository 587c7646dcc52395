/* SELECT … FROM … WHERE … GROUP BY … HAVING … QUALIFY … ORDER BY: one block.
 *
 * Order of work: rows (FROM, WHERE), the SELECT list with the names it gives (a later item may use an earlier name), groups, then
 * HAVING, QUALIFY and ORDER BY, which see output names. What comes out, bottom up:
 *   input → FILTER → [time windows] → [AGGREGATE → FILTER] → [GENERATE …] → PROJECT (+ hidden sort and qualify columns)
 *         → [FILTER] → [DISTINCT] → [SORT]
 */
#include "base-text.h"
#include "relation-aggregate-private.h"
#include "relation-binder-private.h"

#include <string.h>

#define MAX_GROUPING_SETS 4096

/* One output column, or one generator that becomes several. */
typedef struct {
  const SqlExpr *sql;
  RelationExpr *expr; /* over the input of the block */
  const char *name;
  const SqlIdentList *names; /* (nullable) of a generator */
  RelationColumn column;     /* with the id that ORDER BY names; unused for generators of several columns */
} Item;

typedef struct {
  RelationBinder *binder;
  const SqlSelect *select;
  const SqlOrganization *organization; /* (nullable) */
  RelationCteScope *ctes;
  RelationInput input;
  RelationBindScope scope;
  GArray *items;   /* Item */
  GArray *aliases; /* RelationAlias: names given so far, as expressions over the input */
  RelationExpr *having;
  RelationExpr *qualify;
  gboolean aggregates;
  RelationAggregation aggregation;
  RelationSort *order;
  guint n_order;
  const SqlPosition *at;
} Block;

#define ITEM(block, index) (&g_array_index ((block)->items, Item, index))

/* ---- the SELECT list ---- */

static void
add_item (Block *block, const SqlExpr *sql, RelationExpr *expr, const char *name, gboolean named)
{
  Item item = { .sql = sql, .expr = expr, .name = name };
  RelationAlias alias = { name, expr };

  relation_column_set (block->binder, &item.column, name, expr->type, expr->nullable);
  if (!named && expr->kind == RELATION_EXPR_COLUMN)
    item.column.origin = expr->origin;
  g_array_append_val (block->items, item);
  if (named) {
    g_array_append_val (block->aliases, alias);
    block->scope.aliases = (const RelationAlias *) block->aliases->data;
    block->scope.n_aliases = block->aliases->len;
  }
}

static gboolean
bind_items (Block *block, const SqlNamedList *items, GError **error)
{
  for (guint i = 0; i < items->n; i++) {
    const SqlNamed *named = &items->items[i];
    RelationExpr *expr;
    if (named->value->kind == SQL_EXPR_STAR) {
      g_autoptr (GPtrArray) columns = g_ptr_array_new ();
      if (!relation_scope_star (block->binder, &block->scope, named->value, columns, error))
        return FALSE;
      for (guint c = 0; c < columns->len; c++) {
        expr = g_ptr_array_index (columns, c);
        add_item (block, named->value, expr, expr->display, FALSE);
      }
      continue;
    }
    if ((expr = relation_bind_expr (block->binder, &block->scope, named->value, error)) == NULL)
      return FALSE;
    if (expr->kind == RELATION_EXPR_LAMBDA)
      return relation_bind_error (&named->position, error,
                                  SLUICE_ERROR_INVALID_LAMBDA_FUNCTION_CALL_NON_HIGHER_ORDER_FUNCTION,
                                  "A lambda function should only be used in a higher order function.");
    if (named->aliases.n == 1 && !named->aliases_in_list)
      add_item (block, named->value, expr, named->aliases.items[0].text, TRUE);
    else
      add_item (block, named->value, expr, relation_bind_output_name (block->binder, named->value, expr), FALSE);
    if (named->aliases.n > 0)
      ITEM (block, block->items->len - 1)->names = &named->aliases;
  }
  return TRUE;
}

static gboolean
is_generator (const RelationExpr *expr)
{
  return expr->kind == RELATION_EXPR_CALL && (expr->function->flags & RELATION_FUNCTION_GENERATOR) != 0;
}

static gboolean
check_items (Block *block, GError **error)
{
  for (guint i = 0; i < block->items->len; i++) {
    Item *item = ITEM (block, i);
    if (is_generator (item->expr)) {
      for (guint a = 0; a < item->expr->n_args; a++)
        if (relation_expr_has_generator (item->expr->args[a]))
          return relation_bind_error (
              &item->sql->position, error, SLUICE_ERROR_UNSUPPORTED_GENERATOR_NESTED_IN_EXPRESSIONS,
              "The generator is not supported: nested in expressions \"%s\".", item->expr->display);
      continue;
    }
    if (relation_expr_has_generator (item->expr))
      return relation_bind_error (&item->sql->position, error, SLUICE_ERROR_UNSUPPORTED_GENERATOR_NESTED_IN_EXPRESSIONS,
                                  "The generator is not supported: nested in expressions \"%s\".", item->expr->display);
    if (item->names != NULL && item->names->n > 1)
      return relation_bind_error (&item->sql->position, error, SLUICE_ERROR_UDTF_ALIAS_NUMBER_MISMATCH,
                                  "Several aliases are for generators; \"%s\" has one result.", item->expr->display);
  }
  return TRUE;
}

/* ---- groups ---- */

static gboolean
position_of (const SqlExpr *sql, gint64 *position)
{
  return sql->kind == SQL_EXPR_LITERAL && sql->u.literal.kind == SQL_LITERAL_INTEGER &&
         base_text_parse_int64 (sql->u.literal.text, position);
}

static RelationExpr *
bind_group (Block *block, const SqlExpr *sql, GError **error)
{
  RelationExpr *expr;
  gint64 position;

  if (position_of (sql, &position)) {
    if (position < 1 || position > block->items->len) {
      relation_bind_error (&sql->position, error, SLUICE_ERROR_GROUP_BY_POS_OUT_OF_RANGE,
                           "GROUP BY position %" G_GINT64_FORMAT " is not in select list (valid range is [1, %u]).",
                           position, block->items->len);
      return NULL;
    }
    expr = ITEM (block, position - 1)->expr;
  } else {
    expr = relation_bind_expr (block->binder, &block->scope, sql, error);
  }
  if (expr != NULL && (relation_expr_has_aggregate (expr) || relation_expr_has_window (expr))) {
    relation_bind_error (&sql->position, error, SLUICE_ERROR_GROUP_BY_AGGREGATE,
                         "Aggregate functions are not allowed in GROUP BY, but found %s.", expr->display);
    return NULL;
  }
  return expr;
}

/* Sets of one GROUP BY item, as lists of group numbers, added to @sets. */
static gboolean item_sets (Block *block, const SqlGroupItem *item, GPtrArray *sets, GError **error);

static gboolean
list_groups (Block *block, const SqlExprList *list, GArray *numbers, GError **error)
{
  for (guint i = 0; i < list->n; i++) {
    RelationExpr *expr = bind_group (block, list->items[i], error);
    guint number;
    if (expr == NULL)
      return FALSE;
    number = relation_aggregation_add_group (&block->aggregation, expr);
    g_array_append_val (numbers, number);
  }
  return TRUE;
}

static gboolean
too_many_sets (const SqlGroupItem *item, guint64 n, GError **error)
{
  if (n <= MAX_GROUPING_SETS)
    return FALSE;
  relation_bind_error (&item->position, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                       "More than %d grouping sets are not supported.", MAX_GROUPING_SETS);
  return TRUE;
}

static gboolean
rollup_or_cube (Block *block, const SqlGroupItem *item, GPtrArray *sets, GError **error)
{
  g_autoptr (GPtrArray) elements = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  guint n = item->n_sets;
  gboolean cube = item->kind == SQL_GROUP_ITEM_CUBE;

  if (cube && n > 12)
    return !too_many_sets (item, MAX_GROUPING_SETS + 1, error);
  for (guint i = 0; i < n; i++) {
    GArray *numbers = g_array_new (FALSE, FALSE, sizeof (guint));
    g_ptr_array_add (elements, numbers);
    if (!list_groups (block, &item->sets[i], numbers, error))
      return FALSE;
  }
  for (guint s = 0; s < (cube ? 1u << n : n + 1); s++) {
    GArray *set = g_array_new (FALSE, FALSE, sizeof (guint));
    for (guint i = 0; i < n; i++) {
      const GArray *element = g_ptr_array_index (elements, i);
      gboolean in = cube ? ((s >> (n - 1 - i)) & 1) == 0 : i < n - s;
      if (in && element->len > 0)
        g_array_append_vals (set, element->data, element->len);
    }
    g_ptr_array_add (sets, set);
  }
  return TRUE;
}

static gboolean
item_sets (Block *block, const SqlGroupItem *item, GPtrArray *sets, GError **error)
{
  if (item->kind == SQL_GROUP_ITEM_ROLLUP || item->kind == SQL_GROUP_ITEM_CUBE)
    return rollup_or_cube (block, item, sets, error);
  for (guint i = 0; i < item->n_sets; i++) {
    GArray *set = g_array_new (FALSE, FALSE, sizeof (guint));
    g_ptr_array_add (sets, set);
    if (!list_groups (block, &item->sets[i], set, error))
      return FALSE;
  }
  for (guint i = 0; i < item->n_nested; i++)
    if (!item_sets (block, &item->nested[i], sets, error))
      return FALSE;
  return TRUE;
}

/* The cross product of what all items mean. */
static gboolean
bind_group_list (Block *block, GError **error)
{
  const SqlGroupBy *group_by = &block->select->group_by;
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  gboolean has_sets = FALSE;

  g_ptr_array_add (all, g_array_new (FALSE, FALSE, sizeof (guint)));
  for (guint i = 0; i < group_by->n; i++) {
    g_autoptr (GPtrArray) sets = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
    g_autoptr (GPtrArray) product = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
    if (!item_sets (block, &group_by->items[i], sets, error))
      return FALSE;
    has_sets |= group_by->items[i].kind != SQL_GROUP_ITEM_EXPR;
    if (too_many_sets (&group_by->items[i], (guint64) all->len * sets->len, error))
      return FALSE;
    for (guint a = 0; a < all->len; a++)
      for (guint s = 0; s < sets->len; s++) {
        const GArray *left = g_ptr_array_index (all, a);
        const GArray *right = g_ptr_array_index (sets, s);
        GArray *joined = g_array_new (FALSE, FALSE, sizeof (guint));
        if (left->len > 0)
          g_array_append_vals (joined, left->data, left->len);
        for (guint r = 0; r < right->len; r++) {
          guint number = g_array_index (right, guint, r);
          gboolean there = FALSE;
          for (guint j = 0; j < joined->len; j++)
            there |= g_array_index (joined, guint, j) == number;
          if (!there)
            g_array_append_val (joined, number);
        }
        g_ptr_array_add (product, joined);
      }
    g_clear_pointer (&all, g_ptr_array_unref);
    all = g_steal_pointer (&product);
  }
  block->aggregation.has_sets = has_sets;
  if (has_sets) {
    g_ptr_array_unref (block->aggregation.sets);
    block->aggregation.sets = g_steal_pointer (&all);
  }
  return TRUE;
}

static void
group_by_all (Block *block)
{
  for (guint i = 0; i < block->items->len; i++) {
    RelationExpr *expr = ITEM (block, i)->expr;
    if (!relation_expr_has_aggregate (expr) && !relation_expr_has_window (expr) && !expr->foldable)
      relation_aggregation_add_group (&block->aggregation, expr);
  }
}

static gboolean
visit_not_grouping (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  gboolean is_id;

  return !relation_expr_is_grouping (expr, &is_id);
}

static gboolean
needs_aggregate (RelationExpr *expr)
{
  return relation_expr_has_aggregate (expr) || !relation_expr_walk (expr, visit_not_grouping, NULL);
}

static gboolean
bind_groups (Block *block, GError **error)
{
  block->aggregates = block->select->group_by.kind != SQL_GROUP_NONE || block->having != NULL;
  for (guint i = 0; i < block->items->len; i++)
    block->aggregates |= needs_aggregate (ITEM (block, i)->expr);
  for (guint i = 0; i < block->n_order; i++)
    block->aggregates |= needs_aggregate (block->order[i].expr);
  if (block->qualify != NULL)
    block->aggregates |= needs_aggregate (block->qualify);
  if (!block->aggregates)
    return TRUE;
  relation_aggregation_init (&block->aggregation, block->binder, &block->input);
  if (block->select->group_by.kind == SQL_GROUP_LIST && !bind_group_list (block, error))
    return FALSE;
  if (block->select->group_by.kind == SQL_GROUP_ALL)
    group_by_all (block);
  relation_aggregation_end_groups (&block->aggregation);
  return TRUE;
}

static gboolean
rewrite (Block *block, RelationExpr **expr, GError **error)
{
  return *expr == NULL || (*expr = relation_aggregation_rewrite (&block->aggregation, *expr, error)) != NULL;
}

/* ---- ORDER BY ---- */

/* Output columns by id → the expressions they stand for. */
static RelationExpr *
output_to_expr (RelationExpr *expr, gpointer data)
{
  Block *block = data;

  if (expr->kind != RELATION_EXPR_COLUMN)
    return NULL;
  for (guint i = 0; i < block->items->len; i++)
    if (ITEM (block, i)->column.id == expr->column_id)
      return ITEM (block, i)->expr;
  return NULL;
}

typedef struct {
  Block *block;
  gboolean input; /* something of the input is named */
} Uses;

static gboolean
visit_uses (RelationExpr *expr, gpointer data)
{
  Uses *uses = data;
  gboolean is_id;

  if (expr->window != NULL || relation_expr_is_aggregate (expr) || expr->kind == RELATION_EXPR_SUBQUERY ||
      relation_expr_is_grouping (expr, &is_id))
    uses->input = TRUE;
  if (expr->kind == RELATION_EXPR_COLUMN) {
    gboolean output = FALSE;
    for (guint i = 0; i < uses->block->items->len; i++)
      output |= ITEM (uses->block, i)->column.id == expr->column_id;
    uses->input |= !output;
  }
  return TRUE;
}

static gboolean
uses_input (Block *block, RelationExpr *expr)
{
  Uses uses = { block, FALSE };

  relation_expr_walk (expr, visit_uses, &uses);
  return uses.input;
}

static const SqlSortList *
sort_list (const SqlOrganization *organization)
{
  if (organization->order_by.n > 0)
    return &organization->order_by;
  return &organization->sort_by;
}

/* Every output column. */
static void
order_by_all (Block *block, const SqlSortItem *item)
{
  block->order = relation_arena_new0_n (block->binder->arena, RelationSort, block->items->len + 1);
  block->n_order = block->items->len;
  for (guint i = 0; i < block->items->len; i++) {
    RelationSort *sort = &block->order[i];
    sort->expr = relation_expr_new_column (block->binder->arena, &ITEM (block, i)->column);
    sort->descending = item != NULL && item->direction == SQL_DIRECTION_DESC;
    sort->nulls_first =
        item == NULL || item->nulls == SQL_NULLS_DEFAULT ? !sort->descending : item->nulls == SQL_NULLS_FIRST;
  }
}

static RelationExpr *
sort_position (Block *block, const SqlExpr *sql, gint64 position, GError **error)
{
  if (position >= 1 && position <= block->items->len)
    return relation_expr_new_column (block->binder->arena, &ITEM (block, position - 1)->column);
  relation_bind_error (&sql->position, error, SLUICE_ERROR_ORDER_BY_POS_OUT_OF_RANGE,
                       "ORDER BY position %" G_GINT64_FORMAT " is not in select list (valid range is [1, %u]).",
                       position, block->items->len);
  return NULL;
}

static gboolean
bind_order (Block *block, GError **error)
{
  const SqlOrganization *organization = block->organization;
  g_autoptr (GArray) aliases = g_array_new (FALSE, FALSE, sizeof (RelationAlias));
  g_autoptr (GArray) sql_items = g_array_new (FALSE, FALSE, sizeof (SqlSortItem));
  RelationBindScope scope = block->scope;

  if (organization == NULL)
    return TRUE;
  if (organization->order_by_all) {
    order_by_all (block, organization->order_by.n > 0 ? &organization->order_by.items[0] : NULL);
    return TRUE;
  }
  if (sort_list (organization)->n > 0)
    g_array_append_vals (sql_items, sort_list (organization)->items, sort_list (organization)->n);
  for (guint i = 0; sql_items->len == 0 && i < organization->cluster_by.n; i++) {
    SqlSortItem item = { .value = organization->cluster_by.items[i] };
    g_array_append_val (sql_items, item);
  }
  /* Rows of a generator's several columns are named here too, once they exist: see expand_generators(). */
  for (guint i = 0; i < block->items->len; i++) {
    Item *item = ITEM (block, i);
    RelationAlias alias = { item->name, relation_expr_new_column (block->binder->arena, &item->column) };
    g_array_append_val (aliases, alias);
  }
  scope.aliases = (const RelationAlias *) aliases->data;
  scope.n_aliases = aliases->len;
  scope.aliases_first = TRUE;
  if (block->select->distinct)
    scope.scope = NULL;
  block->order = relation_arena_new0_n (block->binder->arena, RelationSort, sql_items->len + 1);
  for (guint i = 0; i < sql_items->len; i++) {
    const SqlSortItem *sql = &g_array_index (sql_items, SqlSortItem, i);
    RelationSort *sort = &block->order[block->n_order++];
    gint64 position;
    sort->descending = sql->direction == SQL_DIRECTION_DESC;
    sort->nulls_first = sql->nulls == SQL_NULLS_DEFAULT ? !sort->descending : sql->nulls == SQL_NULLS_FIRST;
    if (position_of (sql->value, &position)) {
      sort->expr = sort_position (block, sql->value, position, error);
    } else {
      g_autoptr (GError) failure = NULL;
      sort->expr = relation_bind_expr (block->binder, &scope, sql->value, &failure);
      if (sort->expr == NULL && block->select->distinct &&
          g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION)) {
        relation_bind_error (&sql->value->position, error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION,
                             "ORDER BY of SELECT DISTINCT can only name its output columns.");
        return FALSE;
      }
      if (failure != NULL)
        g_propagate_error (error, g_steal_pointer (&failure));
    }
    if (sort->expr == NULL)
      return FALSE;
    if (!base_type_is_orderable (sort->expr->type) && base_type_kind (sort->expr->type) != BASE_TYPE_VOID) {
      g_autofree char *type = base_type_text (sort->expr->type);
      return relation_bind_error (&sql->value->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                  "The sort order does not support ordering on type %s.", type);
    }
    if (uses_input (block, sort->expr))
      sort->expr = relation_expr_rewrite (block->binder->arena, sort->expr, output_to_expr, block);
  }
  return TRUE;
}

/* ---- time windows ---- */

typedef struct {
  GPtrArray *calls; /* SqlExpr */
} FindWindows;

static SqlWalk
visit_window_call (const SqlExpr *expr, gpointer data)
{
  FindWindows *find = data;

  if (expr->kind == SQL_EXPR_SUBQUERY || expr->kind == SQL_EXPR_EXISTS || expr->kind == SQL_EXPR_IN_QUERY)
    return SQL_WALK_SKIP;
  if (expr->kind == SQL_EXPR_CALL && expr->u.call.name.n == 1 && expr->u.call.over == NULL &&
      expr->u.call.n_args >= 2 && base_text_equal_ignore_case (expr->u.call.name.parts[0].text, "window"))
    g_ptr_array_add (find->calls, (gpointer) expr);
  return SQL_WALK_ON;
}

static void
find_in_group_item (const SqlGroupItem *item, const SqlVisitor *visitor, FindWindows *find)
{
  for (guint s = 0; s < item->n_sets; s++)
    for (guint i = 0; i < item->sets[s].n; i++)
      sql_walk_expression (item->sets[s].items[i], visitor, find);
}

/* window(ts, …) in GROUP BY or in the list: the rows are put into their windows first, and `window` is a column from here on. */
static gboolean
bind_time_windows (Block *block, GError **error)
{
  static const SqlVisitor visitor = { .expression = visit_window_call };
  g_autoptr (GPtrArray) calls = g_ptr_array_new ();
  FindWindows find = { calls };
  const SqlSelect *select = block->select;

  for (guint i = 0; i < select->group_by.n; i++)
    find_in_group_item (&select->group_by.items[i], &visitor, &find);
  for (guint i = 0; i < select->items.n; i++)
    sql_walk_expression (select->items.items[i].value, &visitor, &find);
  for (guint i = 0; i < calls->len; i++)
    if (!relation_bind_time_window (block->binder, &block->scope, &block->input, g_ptr_array_index (calls, i), error))
      return FALSE;
  block->scope.scope = block->input.scope;
  return TRUE;
}

/* ---- assembly ---- */

/* A generator item becomes a GENERATE below the projection; its columns become items. */
static gboolean
expand_generators (Block *block, GError **error)
{
  for (guint i = 0; i < block->items->len; i++) {
    Item item = *ITEM (block, i);
    RelationInput bound = { .op = block->input.op };
    guint n;
    if (!is_generator (item.expr))
      continue;
    if (!relation_bind_generate (block->binder, &bound, item.expr, FALSE, item.names, NULL, &item.sql->position, error))
      return FALSE;
    n = bound.op->n_columns - block->input.op->n_columns;
    g_array_remove_index (block->items, i);
    for (guint c = 0; c < n; c++) {
      const RelationColumn *column = &bound.op->columns[block->input.op->n_columns + c];
      Item one = { .sql = item.sql,
                   .expr = relation_expr_new_column (block->binder->arena, column),
                   .name = column->name };
      relation_column_set (block->binder, &one.column, column->name, column->type, column->nullable);
      g_array_insert_val (block->items, i + c, one);
    }
    block->input.op = bound.op;
    i += n - 1;
  }
  return TRUE;
}

/* Whether generators may run before everything else: nothing is aggregated. */
static gboolean
generates_first (Block *block)
{
  gboolean any = FALSE;

  for (guint i = 0; i < block->items->len; i++) {
    any |= is_generator (ITEM (block, i)->expr);
    if (needs_aggregate (ITEM (block, i)->expr))
      return FALSE;
  }
  return any && block->select->group_by.kind == SQL_GROUP_NONE && block->having == NULL;
}

/* Adds a column that only sorting or QUALIFY needs. Returns: its column expression. */
static RelationExpr *
add_hidden (Block *block, GPtrArray *exprs, GArray *columns, RelationExpr *expr)
{
  RelationColumn column = { 0 };

  for (guint i = 0; i < block->items->len; i++)
    if (relation_expr_equal (ITEM (block, i)->expr, expr))
      return relation_expr_new_column (block->binder->arena, &ITEM (block, i)->column);
  relation_column_set (block->binder, &column, "sort", expr->type, expr->nullable);
  g_ptr_array_add (exprs, expr);
  g_array_append_val (columns, column);
  return relation_expr_new_column (block->binder->arena, &column);
}

static RelationOperator *
drop_hidden (Block *block, RelationOperator *op)
{
  RelationOperator *project = relation_op_new (block->binder, RELATION_OP_PROJECT, op);

  project->columns = op->columns;
  project->n_columns = block->items->len;
  project->n_exprs = block->items->len;
  project->exprs = relation_arena_new0_n (block->binder->arena, RelationExpr *, block->items->len + 1);
  for (guint i = 0; i < block->items->len; i++)
    project->exprs[i] = relation_expr_new_column (block->binder->arena, &op->columns[i]);
  return project;
}

static RelationOperator *
assemble (Block *block)
{
  RelationBinder *binder = block->binder;
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (RelationColumn));
  RelationOperator *op = relation_op_new (binder, RELATION_OP_PROJECT, block->input.op);
  RelationExpr *qualify = NULL;

  for (guint i = 0; i < block->items->len; i++) {
    g_ptr_array_add (exprs, ITEM (block, i)->expr);
    g_array_append_val (columns, ITEM (block, i)->column);
  }
  if (block->qualify != NULL)
    qualify = add_hidden (block, exprs, columns, block->qualify);
  for (guint i = 0; i < block->n_order; i++)
    if (uses_input (block, block->order[i].expr))
      block->order[i].expr = add_hidden (block, exprs, columns, block->order[i].expr);
  op->n_exprs = op->n_columns = exprs->len;
  op->exprs = relation_arena_new0_n (binder->arena, RelationExpr *, exprs->len + 1);
  op->columns = relation_arena_new0_n (binder->arena, RelationColumn, exprs->len + 1);
  for (guint i = 0; i < exprs->len; i++) {
    op->exprs[i] = g_ptr_array_index (exprs, i);
    op->columns[i] = g_array_index (columns, RelationColumn, i);
    op->columns[i].type = op->exprs[i]->type;
    op->columns[i].nullable = op->exprs[i]->nullable;
  }
  if (qualify != NULL) {
    op = relation_op_filter (binder, op, qualify);
    if (block->n_order == 0 || block->select->distinct)
      op = drop_hidden (block, op);
  }
  if (block->select->distinct) {
    RelationOperator *distinct = relation_op_new (binder, RELATION_OP_DISTINCT, op);
    relation_op_columns_from (distinct, op);
    op = distinct;
  }
  if (block->n_order > 0)
    op = relation_op_sort (binder, op, block->order, block->n_order, block->items->len);
  return op;
}

static gboolean
finish_aggregates (Block *block, GError **error)
{
  RelationExpr *having = block->having;

  if (!block->aggregates)
    return TRUE;
  for (guint i = 0; i < block->items->len; i++)
    if (!rewrite (block, &ITEM (block, i)->expr, error))
      return FALSE;
  if (!rewrite (block, &having, error) || !rewrite (block, &block->qualify, error))
    return FALSE;
  for (guint i = 0; i < block->n_order; i++)
    if (uses_input (block, block->order[i].expr) && !rewrite (block, &block->order[i].expr, error))
      return FALSE;
  block->input.op = relation_aggregation_finish (&block->aggregation);
  if (having != NULL)
    block->input.op = relation_op_filter (block->binder, block->input.op, having);
  return TRUE;
}

static gboolean
bind_rows (Block *block, RelationScope *outer, const RelationInput *pipe_input, GError **error)
{
  const SqlSelect *select = block->select;

  if (pipe_input != NULL) {
    block->input = *pipe_input;
  } else if (select->from != NULL) {
    if (!relation_bind_relation (block->binder, select->from, outer, block->ctes, NULL, &block->input, error))
      return FALSE;
  } else {
    block->input.op = relation_op_new (block->binder, RELATION_OP_ONE_ROW, NULL);
    block->input.scope = relation_scope_new (block->binder, 0, outer);
  }
  block->scope = (RelationBindScope){ .scope = block->input.scope,
                                      .ctes = block->ctes,
                                      .windows = select->windows,
                                      .n_windows = select->n_windows,
                                      .in_select = TRUE };
  if (select->where != NULL) {
    RelationBindScope scope = block->scope;
    RelationExpr *condition;
    scope.clause = "WHERE";
    if ((condition = relation_bind_condition (block->binder, &scope, select->where, error)) == NULL)
      return FALSE;
    if (relation_expr_has_generator (condition))
      return relation_bind_error (&select->where->position, error, SLUICE_ERROR_INVALID_WHERE_CONDITION,
                                  "The WHERE condition \"%s\" contains a generator.", condition->display);
    block->input.op = relation_op_filter (block->binder, block->input.op, condition);
  }
  return bind_time_windows (block, error);
}

static gboolean
bind_late_conditions (Block *block, GError **error)
{
  const SqlSelect *select = block->select;

  if (select->having != NULL) {
    RelationBindScope scope = block->scope;
    scope.aliases_first = TRUE;
    if ((block->having = relation_bind_condition (block->binder, &scope, select->having, error)) == NULL)
      return FALSE;
    if (relation_expr_has_window (block->having))
      return relation_bind_error (&select->having->position, error, SLUICE_ERROR_WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE,
                                  "It is not allowed to use window functions inside the HAVING clause.");
  }
  if (select->qualify != NULL) {
    RelationBindScope scope = block->scope;
    if ((block->qualify = relation_bind_condition (block->binder, &scope, select->qualify, error)) == NULL)
      return FALSE;
  }
  return TRUE;
}

/* DISTRIBUTE BY spreads rows over machines, which changes no answer here; it is checked and dropped. */
static gboolean
check_distribute (Block *block, GError **error)
{
  const SqlExprList *list = block->organization != NULL ? &block->organization->distribute_by : NULL;

  for (guint i = 0; list != NULL && i < list->n; i++)
    if (relation_bind_expr (block->binder, &block->scope, list->items[i], error) == NULL)
      return FALSE;
  return TRUE;
}

static RelationOperator *
bind_block (Block *block, RelationScope *outer, const RelationInput *pipe_input, GError **error)
{
  if (!bind_rows (block, outer, pipe_input, error) || !bind_items (block, &block->select->items, error) ||
      !check_items (block, error) || !bind_late_conditions (block, error) || !check_distribute (block, error))
    return NULL;
  /* Generators first when nothing is aggregated, so that ORDER BY may name their columns. */
  if (generates_first (block) && !expand_generators (block, error))
    return NULL;
  if (!bind_order (block, error) || !bind_groups (block, error) || !finish_aggregates (block, error) ||
      !expand_generators (block, error))
    return NULL;
  return assemble (block);
}

RelationOperator *
relation_bind_select (RelationBinder *binder, const SqlSelect *select, const SqlOrganization *organization,
                      gboolean *sorted, RelationScope *outer, RelationCteScope *ctes, const RelationInput *pipe_input,
                      const SqlPosition *at, GError **error)
{
  Block block = { .binder = binder, .select = select, .organization = organization, .ctes = ctes, .at = at };
  RelationOperator *op;

  block.items = g_array_new (FALSE, TRUE, sizeof (Item));
  block.aliases = g_array_new (FALSE, TRUE, sizeof (RelationAlias));
  op = bind_block (&block, outer, pipe_input, error);
  if (block.aggregation.groups != NULL)
    relation_aggregation_clear (&block.aggregation);
  g_array_unref (block.items);
  g_array_unref (block.aliases);
  if (sorted != NULL)
    *sorted = TRUE;
  return op;
}

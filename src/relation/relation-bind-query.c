/* Queries: WITH, set operations, pipes, and the ORDER BY … LIMIT behind them. */
#include "base-text.h"
#include "relation-binder-private.h"

#include <string.h>

/* ---- LIMIT and OFFSET ---- */

static gboolean
bind_count (RelationBinder *binder, const SqlExpr *sql, const char *word, gint64 *count, GError **error)
{
  RelationBindScope scope = { 0 };
  g_autoptr (GError) failure = NULL;
  RelationExpr *expr = relation_bind_expr (binder, &scope, sql, &failure);
  const RelationLiteral *value;

  if (expr == NULL && g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION))
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_INVALID_LIMIT_LIKE_EXPRESSION_IS_UNFOLDABLE,
                                "The %s expression must evaluate to a constant value.", word);
  if (expr == NULL) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  if (!expr->foldable)
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_INVALID_LIMIT_LIKE_EXPRESSION_IS_UNFOLDABLE,
                                "The %s expression \"%s\" must evaluate to a constant value.", word, expr->display);
  if (!base_type_is_integral (expr->type)) {
    g_autofree char *type = base_type_text (expr->type);
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_INVALID_LIMIT_LIKE_EXPRESSION_DATA_TYPE,
                                "The %s expression must be integer type, but got %s.", word, type);
  }
  if ((value = relation_expr_fold (binder, expr, error)) == NULL)
    return FALSE;
  if (value->is_null)
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_INVALID_LIMIT_LIKE_EXPRESSION_IS_NULL,
                                "The evaluated %s expression must not be null.", word);
  if (value->integer < 0)
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_INVALID_LIMIT_LIKE_EXPRESSION_IS_NEGATIVE,
                                "The %s expression must be equal to or greater than 0, but got %" G_GINT64_FORMAT ".",
                                word, value->integer);
  *count = value->integer;
  return TRUE;
}

static gboolean
bind_limit (RelationBinder *binder, RelationOperator **op, const SqlOrganization *organization, GError **error)
{
  gint64 limit = -1;
  gint64 offset = 0;

  if (organization->limit != NULL && !bind_count (binder, organization->limit, "limit", &limit, error))
    return FALSE;
  if (organization->offset != NULL && !bind_count (binder, organization->offset, "offset", &offset, error))
    return FALSE;
  if (limit >= 0 || offset > 0)
    *op = relation_op_limit (binder, *op, limit, offset);
  return TRUE;
}

/* ORDER BY over finished columns: set operations, VALUES, subqueries, pipes. */
static gboolean
sort_output (RelationBinder *binder, RelationOperator **op, RelationScope *scope_columns,
             const SqlOrganization *organization, RelationScope *outer, RelationCteScope *ctes, GError **error)
{
  const SqlSortList *list = organization->order_by.n > 0 ? &organization->order_by : &organization->sort_by;
  RelationScope *columns =
      scope_columns != NULL ? scope_columns : relation_scope_of_operator (binder, *op, NULL, 0, outer);
  RelationBindScope scope = { .scope = columns,
                              .ctes = ctes,
                              .windows = organization->windows,
                              .n_windows = organization->n_windows,
                              .in_select = TRUE };
  RelationSort *order;
  guint n = organization->order_by_all ? (*op)->n_columns : list->n;

  if (n == 0)
    return TRUE;
  order = relation_arena_new0_n (binder->arena, RelationSort, n + 1);
  for (guint i = 0; i < n; i++) {
    const SqlSortItem *item = organization->order_by_all ? (list->n > 0 ? &list->items[0] : NULL) : &list->items[i];
    gint64 position;
    order[i].descending = item != NULL && item->direction == SQL_DIRECTION_DESC;
    order[i].nulls_first =
        item == NULL || item->nulls == SQL_NULLS_DEFAULT ? !order[i].descending : item->nulls == SQL_NULLS_FIRST;
    if (organization->order_by_all) {
      order[i].expr = relation_expr_new_column (binder->arena, &(*op)->columns[i]);
    } else if (item->value->kind == SQL_EXPR_LITERAL && item->value->u.literal.kind == SQL_LITERAL_INTEGER &&
               base_text_parse_int64 (item->value->u.literal.text, &position)) {
      if (position < 1 || position > (*op)->n_columns)
        return relation_bind_error (&item->value->position, error, SLUICE_ERROR_ORDER_BY_POS_OUT_OF_RANGE,
                                    "ORDER BY position %" G_GINT64_FORMAT
                                    " is not in select list (valid range is [1, %u]).",
                                    position, (*op)->n_columns);
      order[i].expr = relation_expr_new_column (binder->arena, &(*op)->columns[position - 1]);
    } else if ((order[i].expr = relation_bind_expr (binder, &scope, item->value, error)) == NULL) {
      return FALSE;
    }
    if (!base_type_is_orderable (order[i].expr->type)) {
      g_autofree char *type = base_type_text (order[i].expr->type);
      return relation_bind_error (item != NULL ? &item->value->position : NULL, error,
                                  SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                  "The sort order does not support ordering on type %s.", type);
    }
  }
  *op = relation_op_sort (binder, *op, order, n, (*op)->n_columns);
  return TRUE;
}

gboolean
relation_bind_organization (RelationBinder *binder, RelationOperator **op, const SqlOrganization *organization,
                            RelationScope *outer, RelationCteScope *ctes, GError **error)
{
  return sort_output (binder, op, NULL, organization, outer, ctes, error) &&
         bind_limit (binder, op, organization, error);
}

/* ---- pipes ---- */

typedef struct {
  RelationBinder *binder;
  RelationScope *outer;
  RelationCteScope *ctes;
  RelationInput input;
} Pipe;

static gboolean
pipe_rescope (Pipe *pipe, RelationOperator *op)
{
  if (op == NULL)
    return FALSE;
  pipe->input.op = op;
  pipe->input.scope = relation_scope_of_operator (pipe->binder, op, NULL, 0, pipe->outer);
  return TRUE;
}

static gboolean
pipe_select (Pipe *pipe, const SqlPipe *step, gboolean keep_input, GError **error)
{
  SqlExpr star = { .kind = SQL_EXPR_STAR, .position = step->position, .at = step->position };
  guint n = step->items.n + (keep_input ? 1 : 0);
  g_autofree SqlNamed *items = g_new0 (SqlNamed, n + 1);
  SqlSelect select = { .distinct = step->distinct, .items = { items, n } };

  if (keep_input)
    items[0] = (SqlNamed){ .position = step->position, .value = &star };
  if (step->items.n > 0)
    memcpy (items + (keep_input ? 1 : 0), step->items.items, sizeof (SqlNamed) * step->items.n);
  return pipe_rescope (pipe, relation_bind_select (pipe->binder, &select, NULL, NULL, pipe->outer, pipe->ctes,
                                                   &pipe->input, &step->position, error));
}

static gboolean
pipe_aggregate (Pipe *pipe, const SqlPipe *step, GError **error)
{
  guint n_groups = step->group_by.n;
  guint n = n_groups + step->items.n;
  g_autofree SqlNamed *items = g_new0 (SqlNamed, n + 1);
  g_autofree SqlGroupItem *groups = g_new0 (SqlGroupItem, n_groups + 1);
  g_autofree SqlExprList *sets = g_new0 (SqlExprList, n_groups + 1);
  g_autofree SqlExpr **values = g_new0 (SqlExpr *, n_groups + 1);
  g_autofree SqlExpr *ordinals = g_new0 (SqlExpr, n_groups + 1);
  SqlSelect select = { .items = { items, n } };

  for (guint i = 0; i < n_groups; i++) {
    g_autofree char *number = g_strdup_printf ("%u", i + 1);
    items[i] = step->group_by.items[i];
    ordinals[i] = (SqlExpr){ .kind = SQL_EXPR_LITERAL, .position = items[i].position };
    ordinals[i].u.literal.kind = SQL_LITERAL_INTEGER;
    ordinals[i].u.literal.text = relation_arena_strdup (pipe->binder->arena, number);
    values[i] = &ordinals[i];
    sets[i] = (SqlExprList){ &values[i], 1 };
    groups[i] =
        (SqlGroupItem){ .position = items[i].position, .kind = SQL_GROUP_ITEM_EXPR, .sets = &sets[i], .n_sets = 1 };
  }
  if (step->items.n > 0)
    memcpy (items + n_groups, step->items.items, sizeof (SqlNamed) * step->items.n);
  select.group_by.kind = step->group_by_all ? SQL_GROUP_ALL : SQL_GROUP_LIST;
  select.group_by.items = groups;
  select.group_by.n = n_groups;
  return pipe_rescope (pipe, relation_bind_select (pipe->binder, &select, NULL, NULL, pipe->outer, pipe->ctes,
                                                   &pipe->input, &step->position, error));
}

static gboolean
pipe_column (Pipe *pipe, const SqlIdent *name, guint *index, GError **error)
{
  for (guint i = 0; i < pipe->input.op->n_columns; i++)
    if (base_text_equal_ignore_case (pipe->input.op->columns[i].name, name->text)) {
      *index = i;
      return TRUE;
    }
  return relation_bind_error (&name->position, error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION,
                              "A column with name `%s` cannot be resolved.", name->text);
}

static gboolean
pipe_set (Pipe *pipe, const SqlPipe *step, GError **error)
{
  for (guint s = 0; s < step->items.n; s++) {
    const SqlNamed *item = &step->items.items[s];
    RelationOperator *input = pipe->input.op;
    g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, input->n_columns + 1);
    g_autofree const char **names = g_new0 (const char *, input->n_columns + 1);
    RelationBindScope scope = { .scope = pipe->input.scope, .ctes = pipe->ctes, .in_select = TRUE };
    guint index;
    for (guint i = 0; i < input->n_columns; i++) {
      exprs[i] = relation_expr_new_column (pipe->binder->arena, &input->columns[i]);
      names[i] = input->columns[i].name;
    }
    if (item->aliases.n != 1 || !pipe_column (pipe, &item->aliases.items[0], &index, error) ||
        (exprs[index] = relation_bind_expr (pipe->binder, &scope, item->value, error)) == NULL)
      return FALSE;
    if (!pipe_rescope (pipe, relation_op_project (pipe->binder, input, exprs, names, input->n_columns, FALSE)))
      return FALSE;
  }
  return TRUE;
}

static gboolean
pipe_drop (Pipe *pipe, const SqlPipe *step, GError **error)
{
  RelationOperator *input = pipe->input.op;
  g_autofree gboolean *dropped = g_new0 (gboolean, input->n_columns + 1);
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();

  for (guint i = 0; i < step->names.n; i++) {
    guint index;
    if (step->names.items[i].n != 1)
      return relation_bind_unsupported (&step->names.items[i].position, error, "DROP of a field");
    if (!pipe_column (pipe, &step->names.items[i].parts[0], &index, error))
      return FALSE;
    dropped[index] = TRUE;
  }
  for (guint i = 0; i < input->n_columns; i++)
    if (!dropped[i])
      g_ptr_array_add (exprs, relation_expr_new_column (pipe->binder->arena, &input->columns[i]));
  return pipe_rescope (
      pipe, relation_op_project (pipe->binder, input, (RelationExpr *const *) exprs->pdata, NULL, exprs->len, TRUE));
}

static RelationSetKind
set_kind (SqlSetOp op, gboolean all)
{
  switch (op) {
  case SQL_SET_UNION:
    return all ? RELATION_SET_UNION_ALL : RELATION_SET_UNION;
  case SQL_SET_EXCEPT:
    return all ? RELATION_SET_EXCEPT_ALL : RELATION_SET_EXCEPT;
  case SQL_SET_INTERSECT:
    return all ? RELATION_SET_INTERSECT_ALL : RELATION_SET_INTERSECT;
  }
  g_assert_not_reached ();
}

static gboolean
pipe_where (Pipe *pipe, const SqlPipe *step, GError **error)
{
  RelationBindScope scope = { .scope = pipe->input.scope, .ctes = pipe->ctes, .clause = "WHERE" };
  RelationExpr *condition = relation_bind_condition (pipe->binder, &scope, step->condition, error);

  if (condition == NULL)
    return FALSE;
  pipe->input.op = relation_op_filter (pipe->binder, pipe->input.op, condition);
  return TRUE;
}

static gboolean
pipe_as (Pipe *pipe, const SqlPipe *step)
{
  const char **qualifier = relation_arena_new0_n (pipe->binder->arena, const char *, 2);

  qualifier[0] = relation_arena_strdup (pipe->binder->arena, step->alias.text);
  pipe->input.scope = relation_scope_of_operator (pipe->binder, pipe->input.op, qualifier, 1, pipe->outer);
  return TRUE;
}

/* The finished rows of a pipe whose scope shows other columns than its operator (a join with USING). */
static RelationOperator *
pipe_star (Pipe *pipe, const SqlPosition *at, GError **error)
{
  SqlExpr star = { .kind = SQL_EXPR_STAR };
  RelationBindScope scope = { .scope = pipe->input.scope };
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();

  star.position = *at;
  if (!relation_scope_star (pipe->binder, &scope, &star, exprs, error))
    return NULL;
  return relation_op_project (pipe->binder, pipe->input.op, (RelationExpr *const *) exprs->pdata, NULL, exprs->len,
                              FALSE);
}

static gboolean
pipe_step (Pipe *pipe, const SqlPipe *step, GError **error)
{
  RelationOperator *op;

  switch (step->kind) {
  case SQL_PIPE_SELECT:
    return pipe_select (pipe, step, FALSE, error);
  case SQL_PIPE_EXTEND:
    return pipe_select (pipe, step, TRUE, error);
  case SQL_PIPE_SET:
    return pipe_set (pipe, step, error);
  case SQL_PIPE_DROP:
    return pipe_drop (pipe, step, error);
  case SQL_PIPE_AS:
    return pipe_as (pipe, step);
  case SQL_PIPE_WHERE:
    return pipe_where (pipe, step, error);
  case SQL_PIPE_AGGREGATE:
    return pipe_aggregate (pipe, step, error);
  case SQL_PIPE_RELATION: {
    RelationInput joined;
    if (!relation_bind_relation (pipe->binder, step->relation, pipe->outer, pipe->ctes, &pipe->input, &joined, error))
      return FALSE;
    pipe->input = joined;
    if ((op = pipe_star (pipe, &step->position, error)) == NULL)
      return FALSE;
    {
      RelationScope *scope = relation_scope_of_operator (pipe->binder, op, NULL, 0, pipe->outer);
      guint at = 0;
      for (guint i = 0; i < joined.scope->n_columns && at < scope->n_columns; i++)
        if (!joined.scope->columns[i].by_name_only && !joined.scope->columns[i].qualified_only) {
          scope->columns[at].qualifier = joined.scope->columns[i].qualifier;
          scope->columns[at++].n_qualifier = joined.scope->columns[i].n_qualifier;
        }
      pipe->input.op = op;
      pipe->input.scope = scope;
    }
    return TRUE;
  }
  case SQL_PIPE_SET_OPERATION:
    op = relation_bind_body (pipe->binder, step->right, NULL, pipe->outer, pipe->ctes, error);
    if (op == NULL)
      return FALSE;
    return pipe_rescope (pipe, relation_op_set (pipe->binder, set_kind (step->set_op, step->set_all), pipe->input.op,
                                                op, &step->position, error));
  case SQL_PIPE_ORGANIZE:
    op = pipe->input.op;
    if (!sort_output (pipe->binder, &op, pipe->input.scope, &step->organization, pipe->outer, pipe->ctes, error) ||
        !bind_limit (pipe->binder, &op, &step->organization, error))
      return FALSE;
    pipe->input.op = op;
    return TRUE;
  }
  g_assert_not_reached ();
}

static gboolean bind_pipe_input (Pipe *pipe, const SqlBody *body, GError **error);

static gboolean
bind_pipe (Pipe *pipe, const SqlBody *body, GError **error)
{
  return bind_pipe_input (pipe, body->u.pipe.input, error) && pipe_step (pipe, body->u.pipe.op, error);
}

/* `FROM t |> …` keeps the names of its tables; anything else shows only its columns. */
static gboolean
bind_pipe_input (Pipe *pipe, const SqlBody *body, GError **error)
{
  if (body->kind == SQL_BODY_PIPE)
    return bind_pipe (pipe, body, error);
  if (body->kind == SQL_BODY_SELECT && body->u.select.implicit && body->u.select.from != NULL &&
      body->u.select.where == NULL) {
    if (!relation_bind_relation (pipe->binder, body->u.select.from, pipe->outer, pipe->ctes, NULL, &pipe->input, error))
      return FALSE;
    return TRUE;
  }
  return pipe_rescope (pipe, relation_bind_body (pipe->binder, body, NULL, pipe->outer, pipe->ctes, error));
}

/* ---- bodies ---- */

static RelationOperator *
bind_set (RelationBinder *binder, const SqlBody *body, RelationScope *outer, RelationCteScope *ctes, GError **error)
{
  RelationOperator *left = relation_bind_body (binder, body->u.set.left, NULL, outer, ctes, error);
  RelationOperator *right =
      left != NULL ? relation_bind_body (binder, body->u.set.right, NULL, outer, ctes, error) : NULL;

  if (right == NULL)
    return NULL;
  return relation_op_set (binder, set_kind (body->u.set.op, body->u.set.all), left, right, &body->position, error);
}

static RelationOperator *
bind_table_body (RelationBinder *binder, const SqlBody *body, RelationScope *outer, RelationCteScope *ctes,
                 GError **error)
{
  SqlRelation relation = { .kind = SQL_RELATION_TABLE, .position = body->position };
  RelationInput bound;

  relation.u.table.name = body->u.table;
  if (!relation_bind_relation (binder, &relation, outer, ctes, NULL, &bound, error))
    return NULL;
  return bound.op;
}

static RelationOperator *
bind_values_body (RelationBinder *binder, const SqlBody *body, RelationScope *outer, RelationCteScope *ctes,
                  GError **error)
{
  RelationOperator *op;
  const SqlIdentList *names = &body->u.values.columns;

  if (!relation_bind_values (binder, body->u.values.rows, body->u.values.n, outer, ctes, &body->position, &op, error))
    return NULL;
  if (names->n == 0)
    return op;
  if (names->n != op->n_columns) {
    relation_bind_error (&body->position, error, SLUICE_ERROR_ASSIGNMENT_ARITY_MISMATCH,
                         "The number of columns aliased: %u does not match the number of columns: %u.", names->n,
                         op->n_columns);
    return NULL;
  }
  for (guint i = 0; i < names->n; i++)
    op->columns[i].name = relation_arena_strdup (binder->arena, names->items[i].text);
  return op;
}

/* Binds @body; @organization, when given, is sorted and limited here. */
RelationOperator *
relation_bind_body (RelationBinder *binder, const SqlBody *body, const SqlOrganization *organization,
                    RelationScope *outer, RelationCteScope *ctes, GError **error)
{
  RelationOperator *op = NULL;
  gboolean sorted = FALSE;
  Pipe pipe = { .binder = binder, .outer = outer, .ctes = ctes };

  if (binder->depth > RELATION_MAX_DEPTH) {
    relation_bind_error (&body->position, error, SLUICE_ERROR_SQL_TOO_DEEP,
                         "Queries are nested more than %d levels deep.", RELATION_MAX_DEPTH);
    return NULL;
  }
  binder->depth++;
  switch (body->kind) {
  case SQL_BODY_SELECT:
    op = relation_bind_select (binder, &body->u.select, organization, &sorted, outer, ctes, NULL, &body->position,
                               error);
    break;
  case SQL_BODY_SET:
    op = bind_set (binder, body, outer, ctes, error);
    break;
  case SQL_BODY_VALUES:
    op = bind_values_body (binder, body, outer, ctes, error);
    break;
  case SQL_BODY_TABLE:
    op = bind_table_body (binder, body, outer, ctes, error);
    break;
  case SQL_BODY_QUERY:
    op = relation_bind_query (binder, body->u.query, outer, ctes, error);
    break;
  case SQL_BODY_PIPE:
    op = bind_pipe (&pipe, body, error) ? pipe.input.op : NULL;
    break;
  }
  binder->depth--;
  if (op == NULL || organization == NULL)
    return op;
  if (!sorted && !sort_output (binder, &op, NULL, organization, outer, ctes, error))
    return NULL;
  return bind_limit (binder, &op, organization, error) ? op : NULL;
}

/* ---- WITH ---- */

static gboolean
bind_cte (RelationBinder *binder, const SqlCte *cte, RelationCteScope **ctes, GError **error)
{
  RelationCteScope *scope = relation_arena_new0 (binder->arena, RelationCteScope);
  RelationOperator *op = relation_bind_query (binder, cte->query, NULL, *ctes, error);

  if (op == NULL)
    return FALSE;
  if (cte->columns.n > 0) {
    g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, op->n_columns + 1);
    g_autofree const char **names = g_new0 (const char *, op->n_columns + 1);
    if (cte->columns.n != op->n_columns)
      return relation_bind_error (&cte->position, error, SLUICE_ERROR_ASSIGNMENT_ARITY_MISMATCH,
                                  "The number of columns aliased: %u does not match the number of columns: %u.",
                                  cte->columns.n, op->n_columns);
    for (guint i = 0; i < op->n_columns; i++) {
      exprs[i] = relation_expr_new_column (binder->arena, &op->columns[i]);
      names[i] = cte->columns.items[i].text;
    }
    op = relation_op_project (binder, op, exprs, names, op->n_columns, FALSE);
  }
  scope->outer = *ctes;
  scope->name = relation_arena_strdup (binder->arena, cte->name.text);
  scope->shared = relation_arena_new0 (binder->arena, RelationShared);
  scope->shared->root = op;
  *ctes = scope;
  return TRUE;
}

RelationOperator *
relation_bind_query (RelationBinder *binder, const SqlQuery *query, RelationScope *outer, RelationCteScope *ctes,
                     GError **error)
{
  for (guint i = 0; i < query->n_ctes; i++) {
    for (guint j = 0; j < i; j++)
      if (base_text_equal_ignore_case (query->ctes[i].name.text, query->ctes[j].name.text)) {
        relation_bind_error (&query->ctes[i].position, error, SLUICE_ERROR_DUPLICATED_CTE_NAMES,
                             "CTE definition can't have duplicate names: `%s`.", query->ctes[i].name.text);
        return NULL;
      }
    if (!bind_cte (binder, &query->ctes[i], &ctes, error))
      return NULL;
  }
  return relation_bind_body (binder, query->body, &query->organization, outer, ctes, error);
}

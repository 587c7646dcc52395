/* Visiting trees. Recursion is safe: the parser bounds the height of trees. */
#include "sql-walk.h"

#include "base-text.h"

typedef struct {
  const SqlVisitor *visitor;
  gpointer data;
} Walk;

/* All return FALSE when the walk was stopped. */
static gboolean walk_expr (const Walk *walk, const SqlExpr *expr);
static gboolean walk_query (const Walk *walk, const SqlQuery *query);
static gboolean walk_body (const Walk *walk, const SqlBody *body);
static gboolean walk_relation (const Walk *walk, const SqlRelation *relation);

static gboolean
walk_list (const Walk *walk, const SqlExprList *list)
{
  for (guint i = 0; i < list->n; i++) {
    if (!walk_expr (walk, list->items[i]))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_sort (const Walk *walk, const SqlSortList *list)
{
  for (guint i = 0; i < list->n; i++) {
    if (!walk_expr (walk, list->items[i].value))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_named (const Walk *walk, const SqlNamedList *list)
{
  for (guint i = 0; i < list->n; i++) {
    if (!walk_expr (walk, list->items[i].value))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_name (const Walk *walk, const SqlName *name)
{
  return name->dynamic == NULL || walk_expr (walk, name->dynamic);
}

static gboolean
walk_properties (const Walk *walk, const SqlPropertyList *list)
{
  for (guint i = 0; i < list->n; i++) {
    if (!walk_expr (walk, list->items[i].expression))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_window (const Walk *walk, const SqlWindow *window)
{
  if (window == NULL)
    return TRUE;
  if (!walk_list (walk, &window->partition_by) || !walk_sort (walk, &window->order_by))
    return FALSE;
  return window->frame == NULL ||
         (walk_expr (walk, window->frame->start.value) && walk_expr (walk, window->frame->end.value));
}

static gboolean
walk_windows (const Walk *walk, const SqlNamedWindow *windows, guint n)
{
  for (guint i = 0; i < n; i++) {
    if (!walk_window (walk, &windows[i].window))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_call (const Walk *walk, const SqlCall *call)
{
  if (!walk_name (walk, &call->name))
    return FALSE;
  for (guint i = 0; i < call->n_args; i++) {
    if (!walk_expr (walk, call->args[i].value))
      return FALSE;
  }
  return walk_sort (walk, &call->within_group) && walk_expr (walk, call->filter) && walk_window (walk, call->over);
}

static gboolean
walk_case (const Walk *walk, const SqlExpr *expr)
{
  if (!walk_expr (walk, expr->u.cases.operand))
    return FALSE;
  for (guint i = 0; i < expr->u.cases.n; i++) {
    if (!walk_expr (walk, expr->u.cases.whens[i].condition) || !walk_expr (walk, expr->u.cases.whens[i].result))
      return FALSE;
  }
  return walk_expr (walk, expr->u.cases.otherwise);
}

static gboolean
walk_expr_parts (const Walk *walk, const SqlExpr *expr)
{
  switch (expr->kind) {
  case SQL_EXPR_LITERAL:
  case SQL_EXPR_INTERVAL:
  case SQL_EXPR_STAR:
  case SQL_EXPR_PARAMETER:
    return TRUE;
  case SQL_EXPR_COLUMN:
    return walk_name (walk, &expr->u.column.name);
  case SQL_EXPR_FIELD:
    return walk_expr (walk, expr->u.field.base);
  case SQL_EXPR_INDEX:
    return walk_expr (walk, expr->u.index.base) && walk_expr (walk, expr->u.index.index);
  case SQL_EXPR_JSON_PATH:
    return walk_expr (walk, expr->u.path.base);
  case SQL_EXPR_UNARY:
    return walk_expr (walk, expr->u.unary.operand);
  case SQL_EXPR_BINARY:
    return walk_expr (walk, expr->u.binary.left) && walk_expr (walk, expr->u.binary.right);
  case SQL_EXPR_BETWEEN:
    return walk_expr (walk, expr->u.between.value) && walk_expr (walk, expr->u.between.low) &&
           walk_expr (walk, expr->u.between.high);
  case SQL_EXPR_IN_LIST:
    return walk_expr (walk, expr->u.in_list.value) && walk_list (walk, &expr->u.in_list.items);
  case SQL_EXPR_IN_QUERY:
    return walk_expr (walk, expr->u.in_query.value) && walk_query (walk, expr->u.in_query.query);
  case SQL_EXPR_LIKE:
    return walk_expr (walk, expr->u.like.value) && walk_list (walk, &expr->u.like.patterns) &&
           walk_expr (walk, expr->u.like.escape);
  case SQL_EXPR_IS:
    return walk_expr (walk, expr->u.is.value) && walk_expr (walk, expr->u.is.other);
  case SQL_EXPR_CASE:
    return walk_case (walk, expr);
  case SQL_EXPR_CAST:
    return walk_expr (walk, expr->u.cast.value);
  case SQL_EXPR_CALL:
    return walk_call (walk, &expr->u.call);
  case SQL_EXPR_LAMBDA:
    return walk_expr (walk, expr->u.lambda.body);
  case SQL_EXPR_ROW:
    return walk_list (walk, &expr->u.row);
  case SQL_EXPR_ALIAS:
    return walk_expr (walk, expr->u.alias.value);
  case SQL_EXPR_SUBQUERY:
  case SQL_EXPR_EXISTS:
    return walk_query (walk, expr->u.query);
  case SQL_EXPR_TABLE:
    return walk_name (walk, &expr->u.table.name) && walk_query (walk, expr->u.table.query);
  }
  return TRUE;
}

static gboolean
walk_expr (const Walk *walk, const SqlExpr *expr)
{
  if (expr == NULL)
    return TRUE;
  SqlWalk answer = walk->visitor->expression != NULL ? walk->visitor->expression (expr, walk->data) : SQL_WALK_ON;
  return answer == SQL_WALK_ON ? walk_expr_parts (walk, expr) : answer == SQL_WALK_SKIP;
}

static gboolean
walk_rows (const Walk *walk, const SqlExprList *rows, guint n)
{
  for (guint i = 0; i < n; i++) {
    if (!walk_list (walk, &rows[i]))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_pivot (const Walk *walk, const SqlRelation *relation)
{
  if (!walk_relation (walk, relation->u.pivot.input) || !walk_named (walk, &relation->u.pivot.aggregates))
    return FALSE;
  for (guint i = 0; i < relation->u.pivot.n_values; i++) {
    if (!walk_list (walk, &relation->u.pivot.values[i].values))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_relation_parts (const Walk *walk, const SqlRelation *relation)
{
  switch (relation->kind) {
  case SQL_RELATION_TABLE:
    return walk_name (walk, &relation->u.table.name) && walk_expr (walk, relation->u.table.travel.value) &&
           walk_expr (walk, relation->u.table.changes.start) && walk_expr (walk, relation->u.table.changes.end) &&
           walk_properties (walk, &relation->u.table.options);
  case SQL_RELATION_FUNCTION:
    return walk_expr (walk, relation->u.function.call) && walk_properties (walk, &relation->u.function.options);
  case SQL_RELATION_SUBQUERY:
    return walk_query (walk, relation->u.query);
  case SQL_RELATION_VALUES:
    return walk_rows (walk, relation->u.values.rows, relation->u.values.n);
  case SQL_RELATION_JOIN:
    return walk_relation (walk, relation->u.join.left) && walk_relation (walk, relation->u.join.right) &&
           walk_expr (walk, relation->u.join.on);
  case SQL_RELATION_LATERAL_VIEW:
    return walk_relation (walk, relation->u.view.input) && walk_expr (walk, relation->u.view.call);
  case SQL_RELATION_PIVOT:
    return walk_pivot (walk, relation);
  case SQL_RELATION_UNPIVOT:
    return walk_relation (walk, relation->u.unpivot.input);
  case SQL_RELATION_SAMPLE:
    return walk_relation (walk, relation->u.sample.input) && walk_expr (walk, relation->u.sample.value) &&
           walk_expr (walk, relation->u.sample.bucket_on) && walk_expr (walk, relation->u.sample.seed);
  }
  return TRUE;
}

static gboolean
walk_relation (const Walk *walk, const SqlRelation *relation)
{
  if (relation == NULL)
    return TRUE;
  SqlWalk answer = walk->visitor->relation != NULL ? walk->visitor->relation (relation, walk->data) : SQL_WALK_ON;
  return answer == SQL_WALK_ON ? walk_relation_parts (walk, relation) : answer == SQL_WALK_SKIP;
}

static gboolean
walk_organization (const Walk *walk, const SqlOrganization *organization)
{
  return walk_sort (walk, &organization->order_by) && walk_list (walk, &organization->cluster_by) &&
         walk_list (walk, &organization->distribute_by) && walk_sort (walk, &organization->sort_by) &&
         walk_windows (walk, organization->windows, organization->n_windows) && walk_expr (walk, organization->limit) &&
         walk_expr (walk, organization->offset);
}

static gboolean
walk_group_items (const Walk *walk, const SqlGroupItem *items, guint n)
{
  for (guint i = 0; i < n; i++) {
    if (!walk_rows (walk, items[i].sets, items[i].n_sets) ||
        !walk_group_items (walk, items[i].nested, items[i].n_nested))
      return FALSE;
  }
  return TRUE;
}

static gboolean
walk_select (const Walk *walk, const SqlSelect *select)
{
  return walk_named (walk, &select->items) && walk_relation (walk, select->from) && walk_expr (walk, select->where) &&
         walk_group_items (walk, select->group_by.items, select->group_by.n) && walk_expr (walk, select->having) &&
         walk_expr (walk, select->qualify) && walk_windows (walk, select->windows, select->n_windows);
}

static gboolean
walk_pipe (const Walk *walk, const SqlPipe *pipe)
{
  return walk_named (walk, &pipe->items) && walk_named (walk, &pipe->group_by) && walk_expr (walk, pipe->condition) &&
         walk_relation (walk, pipe->relation) && walk_body (walk, pipe->right) &&
         walk_organization (walk, &pipe->organization);
}

/* `TABLE t` is shown as the relation it means. */
static gboolean
walk_table_body (const Walk *walk, const SqlBody *body)
{
  SqlRelation relation = { .kind = SQL_RELATION_TABLE, .depth = 1, .position = body->position };
  relation.u.table.name = body->u.table;
  return walk_relation (walk, &relation);
}

static gboolean
walk_body (const Walk *walk, const SqlBody *body)
{
  if (body == NULL)
    return TRUE;
  switch (body->kind) {
  case SQL_BODY_SELECT:
    return walk_select (walk, &body->u.select);
  case SQL_BODY_SET:
    return walk_body (walk, body->u.set.left) && walk_body (walk, body->u.set.right);
  case SQL_BODY_VALUES:
    return walk_rows (walk, body->u.values.rows, body->u.values.n);
  case SQL_BODY_TABLE:
    return walk_table_body (walk, body);
  case SQL_BODY_QUERY:
    return walk_query (walk, body->u.query);
  case SQL_BODY_PIPE:
    return walk_body (walk, body->u.pipe.input) && walk_pipe (walk, body->u.pipe.op);
  }
  return TRUE;
}

static gboolean
walk_query (const Walk *walk, const SqlQuery *query)
{
  if (query == NULL)
    return TRUE;
  SqlWalk answer = walk->visitor->query != NULL ? walk->visitor->query (query, walk->data) : SQL_WALK_ON;
  if (answer != SQL_WALK_ON)
    return answer == SQL_WALK_SKIP;
  for (guint i = 0; i < query->n_ctes; i++) {
    if (!walk_query (walk, query->ctes[i].query))
      return FALSE;
  }
  return walk_body (walk, query->body) && walk_organization (walk, &query->organization);
}

gboolean
sql_walk_expression (const SqlExpr *expression, const SqlVisitor *visitor, gpointer data)
{
  return walk_expr (&(Walk){ visitor, data }, expression);
}

gboolean
sql_walk_relation (const SqlRelation *relation, const SqlVisitor *visitor, gpointer data)
{
  return walk_relation (&(Walk){ visitor, data }, relation);
}

gboolean
sql_walk_query (const SqlQuery *query, const SqlVisitor *visitor, gpointer data)
{
  return walk_query (&(Walk){ visitor, data }, query);
}

/* ------------------------------------------------------------------ references */

/* One CTE in scope. Scopes are a stack: an inner query sees the outer ones. */
typedef struct Scope Scope;
struct Scope {
  const Scope *outer;
  const SqlQuery *query;
  guint n_visible; /* the first @n_visible CTEs of @query: a CTE sees those before it */
};

typedef struct {
  const Scope *scope;
  SqlReferenceFunc func;
  gpointer data;
} References;

static void each_reference (const References *references, const SqlQuery *query);

static gboolean
is_cte (const Scope *scope, const SqlName *name)
{
  for (; scope != NULL && name->n == 1; scope = scope->outer) {
    for (guint i = 0; i < scope->n_visible; i++) {
      if (base_text_equal_ignore_case (scope->query->ctes[i].name.text, name->parts[0].text))
        return TRUE;
    }
  }
  return FALSE;
}

static SqlWalk
visit_relation (const SqlRelation *relation, gpointer data)
{
  const References *references = data;
  gboolean table = relation->kind == SQL_RELATION_TABLE && !is_cte (references->scope, &relation->u.table.name);
  if (table || relation->kind == SQL_RELATION_FUNCTION)
    references->func (relation, references->data);
  return SQL_WALK_ON;
}

static SqlWalk
visit_expression (const SqlExpr *expression, gpointer data)
{
  if (expression->kind == SQL_EXPR_TABLE && expression->u.table.query == NULL) {
    SqlRelation relation = { .kind = SQL_RELATION_TABLE, .depth = 1, .position = expression->position };
    relation.u.table.name = expression->u.table.name;
    visit_relation (&relation, data);
  }
  return SQL_WALK_ON;
}

static SqlWalk
visit_query (const SqlQuery *query, gpointer data)
{
  each_reference (data, query);
  return SQL_WALK_SKIP;
}

static const SqlVisitor reference_visitor = { visit_expression, visit_relation, visit_query };

static void
each_reference (const References *references, const SqlQuery *query)
{
  Scope scope = { references->scope, query, 0 };
  References inner = { &scope, references->func, references->data };
  for (guint i = 0; i < query->n_ctes; i++) {
    scope.n_visible = i;
    each_reference (&inner, query->ctes[i].query);
  }
  scope.n_visible = query->n_ctes;
  Walk walk = { &reference_visitor, &inner };
  walk_body (&walk, query->body);
  walk_organization (&walk, &query->organization);
}

void
sql_query_each_reference (const SqlQuery *query, SqlReferenceFunc func, gpointer data)
{
  References references = { NULL, func, data };
  each_reference (&references, query);
}

/* Expressions of the tree → typed expressions. Operators are function rows found by their spelling. */
#include "base-text.h"
#include "relation-bind-literal-private.h"
#include "relation-binder-private.h"
#include "relation-cast.h"

#include <string.h>

static const char *const unary_names[] = {
  [SQL_UNARY_NOT] = "not",
  [SQL_UNARY_MINUS] = "u-",
  [SQL_UNARY_PLUS] = "u+",
  [SQL_UNARY_BIT_NOT] = "~",
};

static const char *const binary_names[] = {
  [SQL_BINARY_OR] = "or",
  [SQL_BINARY_AND] = "and",
  [SQL_BINARY_EQ] = "=",
  [SQL_BINARY_NULL_SAFE_EQ] = "<=>",
  [SQL_BINARY_NE] = "<>",
  [SQL_BINARY_LT] = "<",
  [SQL_BINARY_LE] = "<=",
  [SQL_BINARY_GT] = ">",
  [SQL_BINARY_GE] = ">=",
  [SQL_BINARY_BIT_OR] = "|",
  [SQL_BINARY_BIT_XOR] = "^",
  [SQL_BINARY_BIT_AND] = "&",
  [SQL_BINARY_SHIFT_LEFT] = "<<",
  [SQL_BINARY_SHIFT_RIGHT] = ">>",
  [SQL_BINARY_SHIFT_RIGHT_UNSIGNED] = ">>>",
  [SQL_BINARY_CONCAT] = "||",
  [SQL_BINARY_ADD] = "+",
  [SQL_BINARY_SUBTRACT] = "-",
  [SQL_BINARY_MULTIPLY] = "*",
  [SQL_BINARY_DIVIDE] = "/",
  [SQL_BINARY_MODULO] = "%",
  [SQL_BINARY_INT_DIVIDE] = "div",
};

static RelationExpr *
bind_column (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  const SqlName *name = &expr->u.column.name;
  gboolean ok;
  RelationExpr *found;

  if (name->dynamic != NULL) {
    relation_bind_unsupported (&expr->position, error, "IDENTIFIER() around an expression");
    return NULL;
  }
  found = relation_scope_find (binder, scope, name, &expr->position, &ok, error);
  if (!ok)
    return NULL;
  if (found == NULL && name->n == 1 && base_text_equal_ignore_case (name->parts[0].text, "grouping__id")) {
    found = relation_expr_new_grouping (binder, TRUE, NULL, 0, "grouping__id", &expr->position);
  }
  if (found == NULL)
    relation_scope_unresolved (scope, name, &expr->position, error);
  return found;
}

static gboolean
bind_list (RelationBinder *binder, RelationBindScope *scope, SqlExpr *const *items, guint n, RelationExpr **out,
           GError **error)
{
  for (guint i = 0; i < n; i++)
    if ((out[i] = relation_bind_expr (binder, scope, items[i], error)) == NULL)
      return FALSE;
  return TRUE;
}

static RelationExpr *
maybe_not (RelationBinder *binder, RelationExpr *expr, gboolean negated, const SqlExpr *at, GError **error)
{
  return expr != NULL && negated ? relation_expr_not (binder, expr, &at->at, error) : expr;
}

static RelationExpr *
bind_binary (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *args[2];

  if ((args[0] = relation_bind_expr (binder, scope, expr->u.binary.left, error)) == NULL ||
      (args[1] = relation_bind_expr (binder, scope, expr->u.binary.right, error)) == NULL)
    return NULL;
  /* Spark has no node for <>: it is NOT (a = b), in display names too. */
  if (expr->u.binary.op == SQL_BINARY_NE) {
    RelationExpr *equal = relation_expr_call_at (binder, "=", args, 2, &expr->at, error);
    return maybe_not (binder, equal, TRUE, expr, error);
  }
  return relation_expr_call_at (binder, binary_names[expr->u.binary.op], args, 2, &expr->at, error);
}

static RelationExpr *
bind_between (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *value, *low, *high, *both[2];

  if ((value = relation_bind_expr (binder, scope, expr->u.between.value, error)) == NULL ||
      (low = relation_bind_expr (binder, scope, expr->u.between.low, error)) == NULL ||
      (high = relation_bind_expr (binder, scope, expr->u.between.high, error)) == NULL)
    return NULL;
  if ((both[0] = relation_expr_call_at (binder, ">=", (RelationExpr *[]){ value, low }, 2, &expr->at, error)) == NULL ||
      (both[1] = relation_expr_call_at (binder, "<=", (RelationExpr *[]){ value, high }, 2, &expr->at, error)) == NULL)
    return NULL;
  return maybe_not (binder, relation_expr_call_at (binder, "and", both, 2, &expr->at, error), expr->u.between.negated,
                    expr, error);
}

static RelationExpr *
bind_in_list (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  guint n = expr->u.in_list.items.n;
  g_autofree RelationExpr **args = g_new0 (RelationExpr *, n + 1);

  if ((args[0] = relation_bind_expr (binder, scope, expr->u.in_list.value, error)) == NULL ||
      !bind_list (binder, scope, expr->u.in_list.items.items, n, args + 1, error))
    return NULL;
  return maybe_not (binder, relation_expr_call_at (binder, "in", args, n + 1, &expr->at, error),
                    expr->u.in_list.negated, expr, error);
}

static RelationExpr *
bind_like (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  guint n = expr->u.like.patterns.n;
  g_autofree RelationExpr **args = g_new0 (RelationExpr *, n + 2);
  static const char *const plain[] = {
    [SQL_LIKE_LIKE] = "like", [SQL_LIKE_ILIKE] = "ilike", [SQL_LIKE_RLIKE] = "rlike"
  };
  const char *name = plain[expr->u.like.op];
  guint n_args = n + 1;

  if ((args[0] = relation_bind_expr (binder, scope, expr->u.like.value, error)) == NULL ||
      !bind_list (binder, scope, expr->u.like.patterns.items, n, args + 1, error))
    return NULL;
  if (expr->u.like.escape != NULL) {
    if ((args[n_args++] = relation_bind_expr (binder, scope, expr->u.like.escape, error)) == NULL)
      return NULL;
  }
  if (expr->u.like.quantifier != SQL_QUANTIFIER_NONE) {
    gboolean any = expr->u.like.quantifier == SQL_QUANTIFIER_ANY;
    /* x NOT LIKE ANY (a, b) holds when one of them does not match. */
    RelationExpr *joined = NULL;
    for (guint i = 0; i < n; i++) {
      RelationExpr *pair[2] = { args[0], args[i + 1] };
      RelationExpr *one = maybe_not (binder, relation_expr_call_at (binder, name, pair, 2, &expr->at, error),
                                     expr->u.like.negated, expr, error);
      if (one == NULL)
        return NULL;
      if (joined != NULL) {
        RelationExpr *both[2] = { joined, one };
        one = relation_expr_call_at (binder, any ? "or" : "and", both, 2, &expr->at, error);
      }
      joined = one;
    }
    return joined;
  }
  return maybe_not (binder, relation_expr_call_at (binder, name, args, n_args, &expr->at, error), expr->u.like.negated,
                    expr, error);
}

static RelationExpr *
bind_is (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *args[2] = { relation_bind_expr (binder, scope, expr->u.is.value, error), NULL };
  gboolean negated = expr->u.is.negated;

  if (args[0] == NULL)
    return NULL;
  switch (expr->u.is.test) {
  case SQL_IS_NULL:
  case SQL_IS_UNKNOWN:
    return relation_expr_call_at (binder, negated ? "is not null" : "is null", args, 1, &expr->at, error);
  case SQL_IS_TRUE:
    return maybe_not (binder, relation_expr_call_at (binder, "is true", args, 1, &expr->at, error), negated, expr,
                      error);
  case SQL_IS_FALSE:
    return maybe_not (binder, relation_expr_call_at (binder, "is false", args, 1, &expr->at, error), negated, expr,
                      error);
  case SQL_IS_DISTINCT_FROM:
    if ((args[1] = relation_bind_expr (binder, scope, expr->u.is.other, error)) == NULL)
      return NULL;
    return maybe_not (binder, relation_expr_call_at (binder, "<=>", args, 2, &expr->at, error), !negated, expr, error);
  }
  g_assert_not_reached ();
}

static RelationExpr *
bind_case (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  guint n = expr->u.cases.n;
  g_autofree RelationExpr **args = g_new0 (RelationExpr *, 2 * n + 1);
  RelationExpr *operand = NULL;
  guint n_args = 0;

  if (expr->u.cases.operand != NULL &&
      (operand = relation_bind_expr (binder, scope, expr->u.cases.operand, error)) == NULL)
    return NULL;
  for (guint i = 0; i < n; i++) {
    RelationExpr *condition = relation_bind_expr (binder, scope, expr->u.cases.whens[i].condition, error);
    if (condition != NULL && operand != NULL) {
      RelationExpr *pair[2] = { operand, condition };
      condition = relation_expr_call_at (binder, "=", pair, 2, &expr->u.cases.whens[i].condition->position, error);
    }
    if (condition == NULL)
      return NULL;
    args[n_args++] = condition;
    if ((args[n_args++] = relation_bind_expr (binder, scope, expr->u.cases.whens[i].result, error)) == NULL)
      return NULL;
  }
  if (expr->u.cases.otherwise != NULL &&
      (args[n_args++] = relation_bind_expr (binder, scope, expr->u.cases.otherwise, error)) == NULL)
    return NULL;
  return relation_expr_call_at (binder, "case", args, n_args, &expr->at, error);
}

static RelationExpr *
bind_cast (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *value = relation_bind_expr (binder, scope, expr->u.cast.value, error);
  const BaseType *type = expr->u.cast.type.base;
  gboolean is_try = expr->u.cast.is_try;
  RelationExpr *cast;
  int code = SLUICE_ERROR_DATATYPE_MISMATCH_CAST_WITHOUT_SUGGESTION;

  if (value == NULL)
    return NULL;
  if (!relation_cast_check (value->type, type, is_try ? RELATION_CAST_TRY : RELATION_CAST_ANSI, &code)) {
    g_autofree char *from = base_type_text (value->type);
    g_autofree char *to = base_type_text (type);
    relation_bind_error (&expr->position, error, code, "Cannot cast \"%s\" to \"%s\".", from, to);
    return NULL;
  }
  cast = relation_expr_new_explicit_cast (binder, value, type, is_try);
  cast->position = &expr->position;
  cast->display =
      relation_binder_printf (binder, "%sCAST(%s AS %s)", is_try ? "TRY_" : "", value->display, expr->u.cast.type.text);
  return cast;
}

static RelationExpr *
bind_path (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *args[2] = { relation_bind_expr (binder, scope, expr->u.path.base, error), NULL };
  g_autoptr (GString) path = g_string_new ("$");

  if (args[0] == NULL)
    return NULL;
  for (guint i = 0; i < expr->u.path.n; i++) {
    const SqlPathStep *step = &expr->u.path.steps[i];
    switch (step->kind) {
    case SQL_STEP_FIELD:
      if (step->bracketed || strpbrk (step->name, ".[]'\" ") != NULL)
        g_string_append_printf (path, "['%s']", step->name);
      else
        g_string_append_printf (path, ".%s", step->name);
      break;
    case SQL_STEP_INDEX:
      g_string_append_printf (path, "[%" G_GINT64_FORMAT "]", step->index);
      break;
    case SQL_STEP_WILDCARD:
      g_string_append (path, "[*]");
      break;
    }
  }
  args[1] = relation_expr_new_string (binder, path->str);
  return relation_expr_call_at (binder, ":", args, 2, &expr->at, error);
}

/* ---- subqueries ---- */

static RelationOperator *
bind_subquery (RelationBinder *binder, RelationBindScope *scope, const SqlQuery *query, GError **error)
{
  if (scope->lambdas != NULL) {
    relation_bind_error (&query->position, error, SLUICE_ERROR_UNSUPPORTED_SUBQUERY,
                         "A subquery inside a lambda function is not supported.");
    return NULL;
  }
  return relation_bind_query (binder, query, scope->scope, scope->ctes, error);
}

static gboolean
visit_deterministic (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return expr->kind != RELATION_EXPR_CALL || (expr->function->flags & RELATION_FUNCTION_VOLATILE) == 0;
}

static RelationExpr *
subquery_expr (RelationBinder *binder, const SqlExpr *expr, RelationSubqueryKind kind, RelationOperator *op,
               const BaseType *type, gboolean nullable, const char *display)
{
  RelationExpr *result = relation_expr_new (binder, RELATION_EXPR_SUBQUERY, type, nullable);

  result->subquery = op;
  result->subquery_kind = kind;
  result->deterministic = relation_operator_walk_exprs (op, visit_deterministic, NULL);
  result->position = &expr->position;
  result->display = display;
  return result;
}

static RelationExpr *
bind_scalar_subquery (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationOperator *op = bind_subquery (binder, scope, expr->u.query, error);

  if (op == NULL)
    return NULL;
  if (op->n_columns != 1) {
    relation_bind_error (&expr->position, error,
                         SLUICE_ERROR_INVALID_SUBQUERY_EXPRESSION_SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN,
                         "Scalar subquery must return only one column, but got %u.", op->n_columns);
    return NULL;
  }
  return subquery_expr (binder, expr, RELATION_SUBQUERY_SCALAR, op, op->columns[0].type, TRUE, "scalarsubquery()");
}

static RelationExpr *
bind_exists (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_BOOLEAN);
  RelationOperator *op = bind_subquery (binder, scope, expr->u.query, error);

  return op == NULL ? NULL : subquery_expr (binder, expr, RELATION_SUBQUERY_EXISTS, op, type, FALSE, "exists()");
}

/* The subquery's columns under the types that both sides have in common. */
static gboolean
match_in_sides (RelationBinder *binder, const SqlExpr *expr, RelationExpr **values, guint n, RelationOperator **op,
                GError **error)
{
  g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, n + 1);
  gboolean same = TRUE;

  for (guint i = 0; i < n; i++) {
    exprs[i] = relation_expr_new_column (binder->arena, &(*op)->columns[i]);
    if (!relation_coerce_pair (binder, &values[i], &exprs[i])) {
      g_autofree char *a = base_type_text (values[i]->type);
      g_autofree char *b = base_type_text (exprs[i]->type);
      return relation_bind_error (
          &expr->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_IN_SUBQUERY_DATA_TYPE_MISMATCH,
          "The data type of one or more elements in the left hand side of an IN subquery is not compatible "
          "with the data type of the output of the subquery: %s and %s.",
          a, b);
    }
    same = same && exprs[i]->kind == RELATION_EXPR_COLUMN;
  }
  if (!same)
    *op = relation_op_project (binder, *op, exprs, NULL, n, FALSE);
  return TRUE;
}

static RelationExpr *
bind_in_query (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, gboolean filters, GError **error)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_BOOLEAN);
  const SqlExpr *value = expr->u.in_query.value;
  guint n = value->kind == SQL_EXPR_ROW ? value->u.row.n : 1;
  RelationExpr **values = relation_arena_new0_n (binder->arena, RelationExpr *, n);
  RelationOperator *op;
  RelationExpr *result;

  if (!bind_list (binder, scope, value->kind == SQL_EXPR_ROW ? value->u.row.items : (SqlExpr *const *) &value, n,
                  values, error) ||
      (op = bind_subquery (binder, scope, expr->u.in_query.query, error)) == NULL)
    return NULL;
  if (op->n_columns != n) {
    relation_bind_error (
        &expr->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_IN_SUBQUERY_LENGTH_MISMATCH,
        "The number of columns in the left hand side of an IN subquery (%u) does not match the number of columns in "
        "the output of the subquery (%u).",
        n, op->n_columns);
    return NULL;
  }
  if (!match_in_sides (binder, expr, values, n, &op, error))
    return NULL;
  result = subquery_expr (binder, expr,
                          filters && expr->u.in_query.negated ? RELATION_SUBQUERY_NOT_IN : RELATION_SUBQUERY_IN, op,
                          type, TRUE, "in()");
  result->args = values;
  result->n_args = n;
  result->display = relation_binder_printf (binder, "(%s IN (listquery()))", values[0]->display);
  if (filters)
    return result;
  /* As a value Spark asks only whether a match exists: FALSE, never NULL. */
  {
    RelationLiteral *no = relation_literal_new_integer (type, 0);
    RelationExpr *args[2] = { result, relation_expr_new_literal (binder, no) };
    const char *display = result->display;
    result = relation_expr_call_at (binder, "coalesce", args, 2, &expr->at, error);
    if (result != NULL)
      result->display = display;
  }
  return maybe_not (binder, result, expr->u.in_query.negated, expr, error);
}

/* ---- lambdas ---- */

typedef struct {
  const SqlExpr *sql;
  RelationBindScope scope;
} Lambda;

static RelationExpr *
lambda_placeholder (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_VOID);
  RelationExpr *result = relation_expr_new (binder, RELATION_EXPR_LAMBDA, type, FALSE);
  Lambda *lambda = relation_arena_new0 (binder->arena, Lambda);

  lambda->sql = expr;
  lambda->scope = *scope;
  result->data = lambda;
  result->position = &expr->position;
  result->display = "lambda";
  return result;
}

typedef struct {
  RelationExpr *lambda;
  gboolean outside;
} LambdaUse;

/* A lambda is foldable when its body names nothing but its own variables. */
static gboolean
visit_lambda_use (RelationExpr *expr, gpointer data)
{
  LambdaUse *use = data;

  if (expr->kind == RELATION_EXPR_COLUMN || expr->kind == RELATION_EXPR_SUBQUERY || expr->kind == RELATION_EXPR_NOW)
    use->outside = TRUE;
  if (expr->kind == RELATION_EXPR_CALL &&
      (expr->function->flags & (RELATION_FUNCTION_VOLATILE | RELATION_FUNCTION_CLOCK)) != 0)
    use->outside = TRUE;
  return !use->outside;
}

RelationExpr *
relation_bind_lambda (RelationBinder *binder, RelationExpr *placeholder, BaseType *const *types,
                      const gboolean *nullable, guint n_types, GError **error)
{
  const Lambda *lambda = placeholder->data;
  const SqlIdentList *params = &lambda->sql->u.lambda.params;
  RelationBindScope scope = lambda->scope;
  RelationLambdaScope variables = { .outer = (RelationLambdaScope *) scope.lambdas, .n = params->n };
  RelationExpr *result = relation_arena_new0 (binder->arena, RelationExpr);
  g_autoptr (GString) display = g_string_new ("lambdafunction(");
  const char **names;

  if (params->n > n_types) {
    relation_bind_error (&lambda->sql->position, error, SLUICE_ERROR_INVALID_LAMBDA_FUNCTION_CALL_NUM_ARGS_MISMATCH,
                         "A higher order function expects %u arguments, but got %u.", n_types, params->n);
    return NULL;
  }
  names = relation_arena_new0_n (binder->arena, const char *, params->n + 1);
  variables.names = names;
  variables.variables = relation_arena_new0_n (binder->arena, RelationExpr *, params->n + 1);
  *result = *placeholder;
  result->parameters = relation_arena_new0_n (binder->arena, guint, params->n + 1);
  result->n_parameters = params->n;
  for (guint i = 0; i < params->n; i++) {
    RelationExpr *variable = relation_expr_new (binder, RELATION_EXPR_LAMBDA_VARIABLE, types[i], nullable[i]);
    for (guint j = 0; j < i; j++)
      if (base_text_equal_ignore_case (params->items[i].text, params->items[j].text)) {
        relation_bind_error (&lambda->sql->position, error,
                             SLUICE_ERROR_INVALID_LAMBDA_FUNCTION_CALL_DUPLICATE_ARG_NAMES,
                             "The lambda function has duplicate arguments `%s`.", params->items[i].text);
        return NULL;
      }
    variable->column_id = binder->next_id++;
    variable->display = relation_binder_printf (binder, "namedlambdavariable()");
    variable->foldable = TRUE;
    names[i] = params->items[i].text;
    variables.variables[i] = variable;
    result->parameters[i] = variable->column_id;
  }
  scope.lambdas = &variables;
  result->args = relation_arena_new0_n (binder->arena, RelationExpr *, 1);
  result->n_args = 1;
  if ((result->args[0] = relation_bind_expr (binder, &scope, lambda->sql->u.lambda.body, error)) == NULL)
    return NULL;
  {
    LambdaUse use = { result, FALSE };
    relation_expr_walk (result->args[0], visit_lambda_use, &use);
    result->foldable = !use.outside;
  }
  result->deterministic = result->args[0]->deterministic;
  result->type = result->args[0]->type;
  result->nullable = FALSE;
  g_string_append (display, result->args[0]->display);
  for (guint i = 0; i < params->n; i++)
    g_string_append (display, ", namedlambdavariable()");
  g_string_append_c (display, ')');
  result->display = relation_arena_strdup (binder->arena, display->str);
  return result;
}

/* ---- all ---- */

/* (a, b) as a value: a struct whose fields are named after columns, else col1, col2 … */
RelationExpr *
relation_bind_struct (RelationBinder *binder, RelationBindScope *scope, SqlExpr *const *items, guint n,
                      const SqlPosition *at, GError **error)
{
  g_autoptr (GPtrArray) args = g_ptr_array_new ();
  g_autoptr (GString) display = g_string_new ("struct(");
  RelationExpr *result;

  for (guint i = 0; i < n; i++) {
    g_autoptr (GPtrArray) values = g_ptr_array_new ();
    const SqlExpr *item = items[i];
    const char *name = NULL;
    if (item->kind == SQL_EXPR_STAR) {
      if (!relation_scope_star (binder, scope, item, values, error))
        return NULL;
    } else {
      RelationExpr *value =
          relation_bind_expr (binder, scope, item->kind == SQL_EXPR_ALIAS ? item->u.alias.value : item, error);
      if (value == NULL)
        return NULL;
      g_ptr_array_add (values, value);
      if (item->kind == SQL_EXPR_ALIAS)
        name = item->u.alias.name.text;
      else if (item->kind == SQL_EXPR_COLUMN && item->u.column.name.n > 0)
        name = item->u.column.name.parts[item->u.column.name.n - 1].text;
      else if (item->kind == SQL_EXPR_FIELD)
        name = item->u.field.name.text;
    }
    for (guint v = 0; v < values->len; v++) {
      RelationExpr *value = g_ptr_array_index (values, v);
      g_autofree char *numbered = g_strdup_printf ("col%u", args->len / 2 + 1);
      const char *field = item->kind == SQL_EXPR_STAR ? value->display : name != NULL ? name : numbered;
      g_string_append_printf (display, "%s%s", args->len > 0 ? ", " : "", value->display);
      if (item->kind == SQL_EXPR_ALIAS)
        g_string_append_printf (display, " AS %s", name);
      g_ptr_array_add (args, relation_expr_new_string (binder, field));
      g_ptr_array_add (args, value);
    }
  }
  g_string_append_c (display, ')');
  result = relation_expr_call_at (binder, "named_struct", (RelationExpr *const *) args->pdata, args->len, at, error);
  if (result != NULL)
    result->display = relation_arena_strdup (binder->arena, display->str);
  return result;
}

/* base[index]. Of structs, and arrays of them, a text is the name of a field. */
static RelationExpr *
bind_index (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  const SqlExpr *index = expr->u.index.index;
  RelationExpr *args[2] = { relation_bind_expr (binder, scope, expr->u.index.base, error), NULL };
  const BaseType *type = args[0] != NULL ? args[0]->type : NULL;

  if (type == NULL)
    return NULL;
  if (base_type_kind (type) == BASE_TYPE_ARRAY)
    type = base_type_element (type);
  if (base_type_kind (type) == BASE_TYPE_STRUCT && index->kind == SQL_EXPR_LITERAL &&
      index->u.literal.kind == SQL_LITERAL_STRING) {
    SqlIdent name = { .position = index->position, .text = index->u.literal.text };

    return relation_scope_field (binder, args[0], &name, error);
  }
  args[1] = relation_bind_expr (binder, scope, index, error);
  return args[1] == NULL ? NULL : relation_expr_call_at (binder, "[]", args, 2, &expr->at, error);
}

RelationExpr *
relation_bind_expr (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *args[2] = { NULL, NULL };

  switch (expr->kind) {
  case SQL_EXPR_LITERAL:
    args[0] = relation_bind_literal (binder, expr, error);
    break;
  case SQL_EXPR_INTERVAL:
    args[0] = relation_bind_interval (binder, expr, error);
    break;
  case SQL_EXPR_COLUMN:
    return bind_column (binder, scope, expr, error);
  case SQL_EXPR_STAR:
    relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_USAGE_OF_STAR_OR_REGEX,
                         "Invalid usage of '*' in an expression.");
    return NULL;
  case SQL_EXPR_PARAMETER:
    relation_bind_error (&expr->position, error, SLUICE_ERROR_UNBOUND_SQL_PARAMETER, "Found the unbound parameter: %s.",
                         expr->u.parameter.name != NULL ? expr->u.parameter.name : "?");
    return NULL;
  case SQL_EXPR_FIELD:
    args[0] = relation_bind_expr (binder, scope, expr->u.field.base, error);
    return args[0] == NULL ? NULL : relation_scope_field (binder, args[0], &expr->u.field.name, error);
  case SQL_EXPR_INDEX:
    return bind_index (binder, scope, expr, error);
  case SQL_EXPR_JSON_PATH:
    return bind_path (binder, scope, expr, error);
  case SQL_EXPR_UNARY:
    if ((args[0] = relation_bind_expr (binder, scope, expr->u.unary.operand, error)) == NULL)
      return NULL;
    return relation_expr_call_at (binder, unary_names[expr->u.unary.op], args, 1, &expr->at, error);
  case SQL_EXPR_BINARY:
    return bind_binary (binder, scope, expr, error);
  case SQL_EXPR_BETWEEN:
    return bind_between (binder, scope, expr, error);
  case SQL_EXPR_IN_LIST:
    return bind_in_list (binder, scope, expr, error);
  case SQL_EXPR_IN_QUERY:
    return bind_in_query (binder, scope, expr, FALSE, error);
  case SQL_EXPR_LIKE:
    return bind_like (binder, scope, expr, error);
  case SQL_EXPR_IS:
    return bind_is (binder, scope, expr, error);
  case SQL_EXPR_CASE:
    return bind_case (binder, scope, expr, error);
  case SQL_EXPR_CAST:
    return bind_cast (binder, scope, expr, error);
  case SQL_EXPR_CALL:
    return relation_bind_call (binder, scope, expr, error);
  case SQL_EXPR_LAMBDA:
    return lambda_placeholder (binder, scope, expr);
  case SQL_EXPR_ROW:
    return relation_bind_struct (binder, scope, expr->u.row.items, expr->u.row.n, &expr->position, error);
  case SQL_EXPR_ALIAS:
    return relation_bind_expr (binder, scope, expr->u.alias.value, error);
  case SQL_EXPR_SUBQUERY:
    return bind_scalar_subquery (binder, scope, expr, error);
  case SQL_EXPR_EXISTS:
    return bind_exists (binder, scope, expr, error);
  case SQL_EXPR_TABLE:
    relation_bind_unsupported (&expr->position, error, "A table as an argument here");
    return NULL;
  }
  if (args[0] != NULL)
    args[0]->position = &expr->position;
  return args[0];
}

/* Conjuncts at the top of a condition: only there IN (query) is three-valued. */
static RelationExpr *
bind_conjunct (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  if (expr->kind == SQL_EXPR_BINARY && expr->u.binary.op == SQL_BINARY_AND) {
    RelationExpr *args[2];
    if ((args[0] = bind_conjunct (binder, scope, expr->u.binary.left, error)) == NULL ||
        (args[1] = bind_conjunct (binder, scope, expr->u.binary.right, error)) == NULL)
      return NULL;
    return relation_expr_call_at (binder, "and", args, 2, &expr->at, error);
  }
  if (expr->kind == SQL_EXPR_IN_QUERY)
    return bind_in_query (binder, scope, expr, TRUE, error);
  if (expr->kind == SQL_EXPR_UNARY && expr->u.unary.op == SQL_UNARY_NOT &&
      expr->u.unary.operand->kind == SQL_EXPR_IN_QUERY && !expr->u.unary.operand->u.in_query.negated) {
    SqlExpr inner = *expr->u.unary.operand;
    inner.u.in_query.negated = TRUE;
    return bind_in_query (binder, scope, &inner, TRUE, error);
  }
  return relation_bind_expr (binder, scope, expr, error);
}

RelationExpr *
relation_bind_condition (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  RelationExpr *condition = bind_conjunct (binder, scope, expr, error);

  if (condition == NULL)
    return NULL;
  if (base_type_kind (condition->type) != BASE_TYPE_BOOLEAN) {
    g_autofree char *type = base_type_text (condition->type);
    relation_bind_error (&expr->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_FILTER_NOT_BOOLEAN,
                         "Filter expression \"%s\" of type %s is not a boolean.", condition->display, type);
    return NULL;
  }
  return condition;
}

const char *
relation_bind_output_name (RelationBinder *binder G_GNUC_UNUSED, const SqlExpr *sql, const RelationExpr *expr)
{
  if (sql->kind == SQL_EXPR_CAST && sql->u.cast.value->kind == SQL_EXPR_COLUMN)
    sql = sql->u.cast.value;
  if (sql->kind == SQL_EXPR_COLUMN && sql->u.column.name.n > 0)
    return sql->u.column.name.parts[sql->u.column.name.n - 1].text;
  return expr->display;
}

gboolean
relation_bind_sort_list (RelationBinder *binder, RelationBindScope *scope, const SqlSortList *list,
                         RelationSort **order, guint *n_order, GError **error)
{
  RelationSort *sorts = relation_arena_new0_n (binder->arena, RelationSort, list->n + 1);

  for (guint i = 0; i < list->n; i++) {
    const SqlSortItem *item = &list->items[i];
    sorts[i].descending = item->direction == SQL_DIRECTION_DESC;
    sorts[i].nulls_first = item->nulls == SQL_NULLS_DEFAULT ? !sorts[i].descending : item->nulls == SQL_NULLS_FIRST;
    if ((sorts[i].expr = relation_bind_expr (binder, scope, item->value, error)) == NULL)
      return FALSE;
    if (!base_type_is_orderable (sorts[i].expr->type)) {
      g_autofree char *type = base_type_text (sorts[i].expr->type);
      return relation_bind_error (&item->value->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                  "The sort order does not support ordering on type %s.", type);
    }
  }
  *order = sorts;
  *n_order = list->n;
  return TRUE;
}

const RelationLiteral *
relation_bind_constant (RelationBinder *binder, const SqlExpr *expr, const BaseType *type, GError **error)
{
  RelationBindScope scope = { 0 };
  RelationExpr *value = relation_bind_expr (binder, &scope, expr, error);

  if (value == NULL)
    return NULL;
  if (type != NULL && !relation_type_same (value->type, type)) {
    if (!relation_cast_check (value->type, type, RELATION_CAST_ANSI, NULL)) {
      g_autofree char *from = base_type_text (value->type);
      g_autofree char *to = base_type_text (type);
      relation_bind_error (&expr->position, error, SLUICE_ERROR_NOT_EXPECTED_TYPE,
                           "A value of type %s is needed here, not %s.", to, from);
      return NULL;
    }
    value = relation_expr_new_cast (binder, value, type);
  }
  return relation_expr_fold (binder, value, error);
}

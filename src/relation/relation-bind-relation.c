/* FROM: tables, views, joins, generators, table functions. */
#include "base-text.h"
#include "relation-binder-private.h"

#include <string.h>

static gboolean bind_one (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer,
                          RelationCteScope *ctes, const RelationInput *pipe_input, RelationInput *bound,
                          GError **error);

/* ---- names of a relation ---- */

static const char *const *
one_part (RelationBinder *binder, const char *name)
{
  const char **parts = relation_arena_new0_n (binder->arena, const char *, 2);

  parts[0] = relation_arena_strdup (binder->arena, name);
  return parts;
}

/* Gives the columns new names: `t(a, b)`. */
static gboolean
rename_columns (RelationBinder *binder, RelationScope *scope, const SqlIdentList *names, const SqlPosition *at,
                GError **error)
{
  guint n = 0;

  if (names->n == 0)
    return TRUE;
  for (guint i = 0; i < scope->n_columns; i++)
    n += !scope->columns[i].by_name_only;
  if (n != names->n)
    return relation_bind_error (
        at, error, SLUICE_ERROR_ASSIGNMENT_ARITY_MISMATCH,
        "The number of columns or variables assigned or aliased: %u does not match the number of source "
        "expressions: %u.",
        names->n, n);
  n = 0;
  for (guint i = 0; i < scope->n_columns; i++)
    if (!scope->columns[i].by_name_only)
      scope->columns[i].column.name = relation_arena_strdup (binder->arena, names->items[n++].text);
  return TRUE;
}

/* The scope of @op under the relation's alias, else under @qualifier. */
static gboolean
finish (RelationBinder *binder, const SqlRelation *relation, RelationOperator *op, const char *const *qualifier,
        guint n_qualifier, RelationScope *outer, RelationInput *bound, GError **error)
{
  if (relation->alias != NULL) {
    qualifier = one_part (binder, relation->alias->text);
    n_qualifier = 1;
  }
  bound->op = op;
  bound->scope = relation_scope_of_operator (binder, op, qualifier, n_qualifier, outer);
  return rename_columns (binder, bound->scope, &relation->column_aliases, &relation->position, error);
}

/* ---- tables ---- */

static gboolean
travel_of (RelationBinder *binder, const SqlTravel *travel, RelationTableRequest *request, GError **error)
{
  g_autoptr (BaseType) timestamp = base_type_simple (BASE_TYPE_TIMESTAMP);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  const RelationLiteral *value = NULL;

  request->version = -1;
  request->timestamp_us = RELATION_NO_TIME;
  request->now_us = binder->context->now_us;
  switch (travel->kind) {
  case SQL_TRAVEL_NONE:
    return TRUE;
  case SQL_TRAVEL_VERSION:
    if ((value = relation_bind_constant (binder, travel->value, number, error)) == NULL)
      return FALSE;
    if (value->is_null || value->integer < 0)
      return relation_bind_error (&travel->position, error, SLUICE_ERROR_INVALID_TIME_TRAVEL_SPEC,
                                  "A version is a number from 0.");
    request->version = value->integer;
    return TRUE;
  case SQL_TRAVEL_TIMESTAMP:
    value = relation_bind_constant (binder, travel->value, timestamp, error);
    break;
  case SQL_TRAVEL_AT_TIMESTAMP: {
    const char *d = travel->value->u.literal.text;
    g_autofree char *text =
        g_strdup_printf ("%.4s-%.2s-%.2s %.2s:%.2s:%.2s.%.3s", d, d + 4, d + 6, d + 8, d + 10, d + 12, d + 14);
    RelationExpr *cast = relation_expr_new_cast (binder, relation_expr_new_string (binder, text), timestamp);
    value = relation_expr_fold (binder, cast, error);
    break;
  }
  }
  if (value == NULL)
    return FALSE;
  if (value->is_null)
    return relation_bind_error (&travel->position, error, SLUICE_ERROR_INVALID_TIME_TRAVEL_SPEC,
                                "The timestamp of a time travel is NULL.");
  request->timestamp_us = value->integer;
  return TRUE;
}

static gboolean
changes_of (RelationBinder *binder, const SqlChanges *changes, RelationChanges *asked, GError **error)
{
  *asked = (RelationChanges){ .by_timestamp = changes->kind == SQL_TRAVEL_TIMESTAMP,
                              .start_exclusive = changes->start_exclusive,
                              .end_exclusive = changes->end_exclusive };
  asked->start = relation_bind_constant (binder, changes->start, NULL, error);
  if (asked->start == NULL)
    return FALSE;
  if (changes->end != NULL && (asked->end = relation_bind_constant (binder, changes->end, NULL, error)) == NULL)
    return FALSE;
  return TRUE;
}

/* key, value, key, value …, NULL in arena memory. */
static gboolean
options_of (RelationBinder *binder, const SqlPropertyList *list, const char *const **options, GError **error)
{
  const char **out = relation_arena_new0_n (binder->arena, const char *, 2 * list->n + 1);

  for (guint i = 0; i < list->n; i++) {
    const char *value = list->items[i].value;
    if (value == NULL && list->items[i].expression != NULL) {
      g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
      const RelationLiteral *literal = relation_bind_constant (binder, list->items[i].expression, string, error);
      if (literal == NULL)
        return FALSE;
      value = literal->is_null ? "" : literal->text;
    }
    out[2 * i] = list->items[i].key;
    out[2 * i + 1] = value != NULL ? value : "true";
  }
  *options = list->n > 0 ? out : NULL;
  return TRUE;
}

static gboolean
table_not_found (RelationBinder *binder, const SqlName *name, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < name->n; i++)
    g_string_append_printf (text, "%s`%s`", i > 0 ? "." : "", name->parts[i].text);
  relation_bind_error (
      &name->position, error, SLUICE_ERROR_TABLE_OR_VIEW_NOT_FOUND,
      "The table or view %s cannot be found. Verify the spelling and correctness of the schema and catalog.",
      text->str);
  base_error_add_param (error, "relationName", text->str);
  if (binder->resolver == NULL)
    return FALSE;
  g_auto (GStrv) tables =
      binder->resolver->klass->list_tables != NULL ? binder->resolver->klass->list_tables (binder->resolver) : NULL;
  g_autofree char *near =
      tables != NULL ? base_text_near_names (name->parts[name->n - 1].text, (const char *const *) tables, 3) : NULL;
  if (near != NULL)
    base_error_set_hint (error, "Did you mean %s?", near);
  else if (binder->resolver->place != NULL)
    base_error_set_hint (error, "Names without a schema are looked up in %s.", binder->resolver->place);
  return FALSE;
}

/* A view's text is bound in place, with its own resolver and without the names around it. */
static RelationOperator *
bind_view (RelationBinder *binder, const RelationTableAnswer *answer, const SqlName *name, GError **error)
{
  RelationResolver *resolver = binder->resolver;
  RelationOperator *op;
  guint n = answer->columns != NULL ? base_type_n_fields (answer->columns) : 0;

  if (binder->depth > 100) {
    relation_bind_error (&name->position, error, SLUICE_ERROR_SQL_TOO_DEEP,
                         "Views refer to each other more than 100 levels deep.");
    return NULL;
  }
  if (answer->query_resolver != NULL)
    binder->resolver = answer->query_resolver;
  binder->depth++;
  op = relation_bind_query (binder, answer->query, NULL, NULL, error);
  binder->depth--;
  binder->resolver = resolver;
  if (op == NULL) {
    g_autofree char *text = sql_name_text (name);
    base_error_add_context (error, "in the view %s", text);
    return NULL;
  }
  if (answer->columns == NULL)
    return op;
  if (n != op->n_columns) {
    relation_bind_error (&name->position, error, SLUICE_ERROR_ASSIGNMENT_ARITY_MISMATCH,
                         "The view declares %u columns, its query has %u.", n, op->n_columns);
    return NULL;
  }
  {
    RelationOperator *named = relation_op_new (binder, RELATION_OP_PROJECT, op);
    named->exprs = relation_arena_new0_n (binder->arena, RelationExpr *, n + 1);
    named->n_exprs = n;
    relation_op_columns_new (binder, named, n);
    for (guint i = 0; i < n; i++) {
      named->exprs[i] = relation_expr_new_column (binder->arena, &op->columns[i]);
      relation_column_set (binder, &named->columns[i], base_type_field (answer->columns, i)->name, op->columns[i].type,
                           op->columns[i].nullable);
    }
    return named;
  }
}

/* A bound plan under new ids; the same plan twice is computed once. */
static RelationOperator *
use_plan (RelationBinder *binder, RelationPlan *plan)
{
  RelationShared *shared = NULL;

  for (guint i = 0; i < binder->plans->len; i += 2)
    if (g_ptr_array_index (binder->plans, i) == plan)
      shared = g_ptr_array_index (binder->plans, i + 1);
  if (shared == NULL) {
    shared = relation_arena_new0 (binder->arena, RelationShared);
    shared->root = plan->root;
    relation_arena_keep (binder->arena, relation_plan_ref (plan), (GDestroyNotify) relation_plan_unref);
    g_ptr_array_add (binder->plans, plan);
    g_ptr_array_add (binder->plans, shared);
  }
  return relation_op_shared (binder, shared, NULL);
}

/* Turns an answer into an operator; takes the answer's parts over. NULL without error: nothing was found. */
static RelationOperator *
use_answer (RelationBinder *binder, RelationTableAnswer *answer, const SqlName *name, GError **error)
{
  RelationOperator *op = NULL;

  if (answer->query_hold != NULL) {
    relation_arena_keep (binder->arena, answer->query_hold,
                         answer->query_release != NULL ? answer->query_release : (GDestroyNotify) g_free);
    answer->query_hold = NULL;
  }
  if (answer->source != NULL)
    op = relation_op_source (binder, g_steal_pointer (&answer->source));
  else if (answer->plan != NULL)
    op = use_plan (binder, answer->plan);
  else if (answer->query != NULL)
    op = bind_view (binder, answer, name, error);
  return op;
}

static const char *const *
qualifier_of (RelationBinder *binder, const RelationTableAnswer *answer, const char *const *parts, guint n_parts,
              guint *n)
{
  const char **copy;

  *n = answer->qualifier != NULL ? g_strv_length (answer->qualifier) : n_parts;
  copy = relation_arena_new0_n (binder->arena, const char *, *n + 1);
  for (guint i = 0; i < *n; i++)
    copy[i] = relation_arena_strdup (binder->arena, answer->qualifier != NULL ? answer->qualifier[i] : parts[i]);
  return copy;
}

static RelationCteScope *
find_cte (RelationCteScope *ctes, const SqlName *name)
{
  for (; ctes != NULL && name->n == 1; ctes = ctes->outer)
    if (base_text_equal_ignore_case (ctes->name, name->parts[0].text))
      return ctes;
  return NULL;
}

/* In the arena. */
static const char **
name_parts (RelationBinder *binder, const SqlName *name)
{
  const char **parts = relation_arena_new0_n (binder->arena, const char *, name->n + 1);

  for (guint i = 0; i < name->n; i++)
    parts[i] = name->parts[i].text;
  return parts;
}

static gboolean
bind_table (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationCteScope *ctes,
            RelationInput *bound, GError **error)
{
  const SqlName *name = &relation->u.table.name;
  RelationCteScope *cte = find_cte (ctes, name);
  RelationTableRequest request = { .streaming = relation->streaming,
                                   .file = sql_position_file (&name->position),
                                   .line = name->position.line,
                                   .column = name->position.column };
  RelationTableAnswer answer = { 0 };
  const SqlChanges *changes = &relation->u.table.changes;
  RelationChanges asked;
  const char **parts = name_parts (binder, name);
  const char *const *qualifier;
  RelationOperator *op = NULL;
  guint n_qualifier;

  if (cte != NULL && relation->u.table.travel.kind == SQL_TRAVEL_NONE && changes->kind == SQL_TRAVEL_NONE)
    return finish (binder, relation, relation_op_shared (binder, cte->shared, NULL), one_part (binder, cte->name), 1,
                   outer, bound, error);
  if (name->dynamic != NULL)
    return relation_bind_unsupported (&relation->position, error, "IDENTIFIER() around an expression");
  request.parts = parts;
  request.n_parts = name->n;
  if (relation->streaming && relation->u.table.travel.kind != SQL_TRAVEL_NONE)
    return relation_bind_unsupported (&relation->u.table.travel.position, error, "STREAM with time travel");
  if (!travel_of (binder, &relation->u.table.travel, &request, error) ||
      !options_of (binder, &relation->u.table.options, &request.options, error))
    return FALSE;
  if (changes->kind != SQL_TRAVEL_NONE) {
    if (relation->streaming)
      return relation_bind_unsupported (&changes->position, error, "STREAM with CHANGES FROM");
    if (!changes_of (binder, changes, &asked, error))
      return FALSE;
    request.changes = &asked;
  }
  if (binder->resolver != NULL && !binder->resolver->klass->find_table (binder->resolver, &request, &answer, error)) {
    sql_position_add_to_error (&name->position, error);
    return FALSE;
  }
  qualifier = qualifier_of (binder, &answer, parts, name->n, &n_qualifier);
  {
    g_autoptr (GError) failure = NULL;
    op = use_answer (binder, &answer, name, &failure);
    relation_table_answer_clear (&answer);
    if (failure != NULL) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  }
  if (op == NULL)
    return table_not_found (binder, name, error);
  return finish (binder, relation, op, qualifier, n_qualifier, outer, bound, error);
}

/* ---- VALUES ---- */

gboolean
relation_bind_values (RelationBinder *binder, const SqlExprList *rows, guint n_rows, RelationScope *outer,
                      RelationCteScope *ctes, const SqlPosition *at, RelationOperator **op, GError **error)
{
  RelationBindScope scope = { .ctes = ctes, .in_select = TRUE };
  guint n = n_rows > 0
                ? (rows[0].n == 1 && rows[0].items[0]->kind == SQL_EXPR_ROW ? rows[0].items[0]->u.row.n : rows[0].n)
                : 0;
  RelationOperator *values = relation_op_new (binder, RELATION_OP_VALUES, NULL);
  g_autofree BaseType **types = g_new0 (BaseType *, n + 1);
  g_autofree gboolean *nullable = g_new0 (gboolean, n + 1);

  (void) outer;
  values->n_rows = n_rows;
  values->n_exprs = n_rows * n;
  values->exprs = relation_arena_new0_n (binder->arena, RelationExpr *, (gsize) n_rows * n + 1);
  for (guint r = 0; r < n_rows; r++) {
    SqlExpr *const *items = rows[r].items;
    guint n_items = rows[r].n;
    if (n_items == 1 && items[0]->kind == SQL_EXPR_ROW) {
      n_items = items[0]->u.row.n;
      items = items[0]->u.row.items;
    }
    if (n_items != n)
      return relation_bind_error (at, error, SLUICE_ERROR_INVALID_INLINE_TABLE_NUM_COLUMNS_MISMATCH,
                                  "Inline table expected %u columns but found %u columns in row %u.", n, n_items, r);
    for (guint c = 0; c < n; c++) {
      RelationExpr *value = relation_bind_expr (binder, &scope, items[c], error);
      BaseType *common;
      if (value == NULL)
        return FALSE;
      values->exprs[r * n + c] = value;
      common = types[c] == NULL ? base_type_ref (value->type) : relation_coerce_tightest (types[c], value->type);
      if (common == NULL)
        return relation_bind_error (&items[c]->position, error,
                                    SLUICE_ERROR_INVALID_INLINE_TABLE_INCOMPATIBLE_TYPES_IN_INLINE_TABLE,
                                    "Found incompatible types in the column col%u of the inline table.", c + 1);
      types[c] = relation_arena_keep_type (binder->arena, common);
      nullable[c] = nullable[c] || value->nullable;
    }
  }
  relation_op_columns_new (binder, values, n);
  for (guint c = 0; c < n; c++) {
    g_autofree char *name = g_strdup_printf ("col%u", c + 1);
    relation_column_set (binder, &values->columns[c], name, types[c], nullable[c]);
    for (guint r = 0; r < n_rows; r++)
      values->exprs[r * n + c] = relation_expr_new_cast (binder, values->exprs[r * n + c], types[c]);
  }
  *op = values;
  return TRUE;
}

/* ---- generators ---- */

gboolean
relation_bind_generate (RelationBinder *binder, RelationInput *bound, RelationExpr *call, gboolean outer_rows,
                        const SqlIdentList *names, const char *qualifier, const SqlPosition *at, GError **error)
{
  RelationOperator *op;
  RelationOperator *input = bound->op;
  guint n = base_type_n_fields (call->type);
  gboolean keeps_nulls = outer_rows || strstr (call->function->names, "_outer") != NULL;
  RelationScope *added;

  if (names != NULL && names->n > 0 && names->n != n)
    return relation_bind_error (
        at, error, SLUICE_ERROR_UDTF_ALIAS_NUMBER_MISMATCH,
        "The number of aliases supplied in the AS clause does not match the number of columns output by the "
        "generator: expected %u aliases, but got %u.",
        n, names->n);
  op = relation_op_new (binder, RELATION_OP_GENERATE, input);
  op->exprs = relation_arena_new0_n (binder->arena, RelationExpr *, 1);
  op->exprs[0] = call;
  op->n_exprs = 1;
  op->outer = keeps_nulls;
  op->columns = relation_arena_new0_n (binder->arena, RelationColumn, input->n_columns + n + 1);
  op->n_columns = input->n_columns + n;
  if (input->n_columns > 0)
    memcpy (op->columns, input->columns, sizeof (RelationColumn) * input->n_columns);
  added = relation_scope_new (binder, n, NULL);
  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (call->type, i);
    RelationColumn *column = &op->columns[input->n_columns + i];
    relation_column_set (binder, column, names != NULL && names->n > 0 ? names->items[i].text : field->name,
                         field->type, field->nullable || keeps_nulls);
    added->columns[i].column = *column;
    if (qualifier != NULL) {
      added->columns[i].qualifier = one_part (binder, qualifier);
      added->columns[i].n_qualifier = 1;
    }
  }
  bound->op = op;
  if (bound->scope != NULL) {
    RelationScope *outer = bound->scope->outer;
    bound->scope = relation_scope_join (binder, bound->scope, added);
    bound->scope->outer = outer;
  } else {
    bound->scope = added;
  }
  return TRUE;
}

static gboolean
is_generator (const RelationExpr *expr)
{
  return expr->kind == RELATION_EXPR_CALL && (expr->function->flags & RELATION_FUNCTION_GENERATOR) != 0;
}

static gboolean
bind_lateral_view (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationCteScope *ctes,
                   const RelationInput *pipe_input, RelationInput *bound, GError **error)
{
  RelationBindScope scope = { .ctes = ctes, .in_select = TRUE };
  RelationExpr *call;

  if (!bind_one (binder, relation->u.view.input, outer, ctes, pipe_input, bound, error))
    return FALSE;
  scope.scope = bound->scope;
  if ((call = relation_bind_expr (binder, &scope, relation->u.view.call, error)) == NULL)
    return FALSE;
  if (!is_generator (call))
    return relation_bind_error (&relation->u.view.call->position, error,
                                SLUICE_ERROR_UNSUPPORTED_GENERATOR_NESTED_IN_EXPRESSIONS,
                                "LATERAL VIEW needs a generator such as explode(), not %s.", call->display);
  return relation_bind_generate (binder, bound, call, relation->u.view.outer, &relation->column_aliases,
                                 relation->alias != NULL ? relation->alias->text : NULL, &relation->position, error);
}

/* ---- table functions ---- */

static gboolean
bind_range (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationInput *bound,
            GError **error)
{
  const SqlCall *call = &relation->u.function.call->u.call;
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_LONG);
  gint64 values[4] = { 0, 0, 1, 0 };
  RelationOperator *op = relation_op_new (binder, RELATION_OP_RANGE, NULL);

  if (call->n_args == 0 || call->n_args > 4)
    return relation_bind_error (&relation->position, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                                "The `range` requires 1 to 4 parameters but the actual number is %u.", call->n_args);
  for (guint i = 0; i < call->n_args; i++) {
    const RelationLiteral *value = relation_bind_constant (binder, call->args[i].value, type, error);
    if (value == NULL)
      return FALSE;
    if (value->is_null)
      return relation_bind_error (&call->args[i].value->position, error,
                                  SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                                  "An argument of range() is NULL.");
    values[call->n_args == 1 ? 1 : i] = value->integer;
  }
  if (values[2] == 0)
    return relation_bind_error (&relation->position, error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_START,
                                "The step of range() cannot be 0.");
  op->range_start = values[0];
  op->range_end = values[1];
  op->range_step = values[2];
  relation_op_columns_new (binder, op, 1);
  relation_column_set (binder, &op->columns[0], "id", type, FALSE);
  return finish (binder, relation, op, NULL, 0, outer, bound, error);
}

/* One argument of a table function, as a constant. map('k', 'v') and array('a') become their strings. */
static gboolean
fold_argument (RelationBinder *binder, const SqlArg *arg, RelationArgument *out, GError **error)
{
  const SqlExpr *value = arg->value;
  RelationBindScope scope = { 0 };

  out->name = arg->name != NULL ? arg->name->text : NULL;
  if (value->kind == SQL_EXPR_CALL && value->u.call.name.n == 1 &&
      (base_text_equal_ignore_case (value->u.call.name.parts[0].text, "map") ||
       base_text_equal_ignore_case (value->u.call.name.parts[0].text, "array"))) {
    g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
    const char **items = relation_arena_new0_n (binder->arena, const char *, value->u.call.n_args + 1);
    for (guint i = 0; i < value->u.call.n_args; i++) {
      const RelationLiteral *item = relation_bind_constant (binder, value->u.call.args[i].value, string, error);
      if (item == NULL)
        return FALSE;
      items[i] = item->is_null ? "" : item->text;
    }
    out->items = items;
    out->is_map = base_text_equal_ignore_case (value->u.call.name.parts[0].text, "map");
    return TRUE;
  }
  if (value->kind == SQL_EXPR_COLUMN || value->kind == SQL_EXPR_TABLE) {
    const SqlName *name = value->kind == SQL_EXPR_COLUMN ? &value->u.column.name : &value->u.table.name;
    if (value->kind == SQL_EXPR_TABLE && value->u.table.query != NULL)
      return relation_bind_unsupported (&value->position, error, "A query as an argument of this table function");
    out->identifier = name_parts (binder, name);
    return TRUE;
  }
  {
    RelationExpr *bound = relation_bind_expr (binder, &scope, value, error);
    if (bound == NULL)
      return FALSE;
    out->value = relation_expr_fold (binder, bound, error);
    return out->value != NULL;
  }
}

static gboolean
bind_resolver_function (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationInput *bound,
                        GError **error)
{
  const SqlExpr *sql = relation->u.function.call;
  const SqlCall *call = &sql->u.call;
  g_autofree RelationArgument *arguments = g_new0 (RelationArgument, call->n_args + relation->u.function.options.n + 1);
  RelationTableFunctionRequest request = { .parts = name_parts (binder, &call->name),
                                           .n_parts = call->name.n,
                                           .arguments = arguments,
                                           .now_us = binder->context->now_us,
                                           .streaming = relation->streaming,
                                           .file = sql_position_file (&sql->position),
                                           .line = sql->position.line,
                                           .column = sql->position.column };
  RelationTableAnswer answer = { 0 };
  g_autoptr (GError) failure = NULL;
  RelationOperator *op;

  for (guint i = 0; i < call->n_args; i++)
    if (!fold_argument (binder, &call->args[i], &arguments[request.n_arguments++], error))
      return FALSE;
  for (guint i = 0; i < relation->u.function.options.n; i++) {
    const SqlProperty *option = &relation->u.function.options.items[i];
    g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
    const char *value = option->value != NULL ? option->value : "true";
    RelationLiteral *literal = relation_literal_new_text (string, value, strlen (value));
    relation_arena_keep (binder->arena, literal, (GDestroyNotify) relation_literal_free);
    arguments[request.n_arguments].name = option->key;
    arguments[request.n_arguments++].value = literal;
  }
  if (binder->resolver != NULL && binder->resolver->klass->find_table_function != NULL &&
      !binder->resolver->klass->find_table_function (binder->resolver, &request, &answer, error)) {
    sql_position_add_to_error (&sql->at, error);
    return FALSE;
  }
  op = use_answer (binder, &answer, &call->name, &failure);
  relation_table_answer_clear (&answer);
  if (failure != NULL) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  if (op == NULL) {
    g_autofree char *text = sql_name_text (&call->name);
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_UNRESOLVABLE_TABLE_VALUED_FUNCTION,
                                "Could not resolve %s to a table-valued function.", text);
  }
  return finish (binder, relation, op, NULL, 0, outer, bound, error);
}

static gboolean
bind_function (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationCteScope *ctes,
               RelationInput *bound, GError **error)
{
  const SqlExpr *sql = relation->u.function.call;
  const SqlName *name = &sql->u.call.name;
  const RelationFunction *row;
  RelationBindScope scope = { .scope = outer, .ctes = ctes, .in_select = TRUE };
  RelationExpr *call;
  RelationInput one = { 0 };

  if (name->n == 1 && base_text_equal_ignore_case (name->parts[0].text, "range"))
    return bind_range (binder, relation, outer, bound, error);
  if (name->n != 1 || relation_function_find (name->parts[0].text, &row, 1) == 0 ||
      (row->flags & RELATION_FUNCTION_GENERATOR) == 0)
    return bind_resolver_function (binder, relation, outer, bound, error);
  if ((call = relation_bind_expr (binder, &scope, sql, error)) == NULL)
    return FALSE;
  one.op = relation_op_new (binder, RELATION_OP_ONE_ROW, NULL);
  if (!relation_bind_generate (binder, &one, call, FALSE, NULL, NULL, &relation->position, error))
    return FALSE;
  return finish (binder, relation, one.op, one_part (binder, name->parts[0].text), 1, outer, bound, error);
}

/* ---- joins ---- */

static const RelationJoinKind join_kinds[] = {
  [SQL_JOIN_COMMA] = RELATION_JOIN_CROSS,    [SQL_JOIN_INNER] = RELATION_JOIN_INNER,
  [SQL_JOIN_CROSS] = RELATION_JOIN_CROSS,    [SQL_JOIN_LEFT] = RELATION_JOIN_LEFT,
  [SQL_JOIN_RIGHT] = RELATION_JOIN_RIGHT,    [SQL_JOIN_FULL] = RELATION_JOIN_FULL,
  [SQL_JOIN_LEFT_SEMI] = RELATION_JOIN_SEMI, [SQL_JOIN_LEFT_ANTI] = RELATION_JOIN_ANTI,
};

static gboolean
left_only (RelationJoinKind kind)
{
  return kind == RELATION_JOIN_SEMI || kind == RELATION_JOIN_ANTI;
}

/* The scope of @side as seen above a join that may put NULLs in it. */
static RelationScope *
nullable_side (RelationBinder *binder, RelationScope *side, gboolean nullable)
{
  RelationScope *copy = relation_scope_new (binder, side->n_columns, side->outer);

  for (guint i = 0; i < side->n_columns; i++) {
    copy->columns[i] = side->columns[i];
    copy->columns[i].column.nullable |= nullable;
  }
  return copy;
}

static RelationOperator *
join_operator (RelationBinder *binder, RelationJoinKind kind, RelationInput *left, RelationInput *right,
               gboolean lateral)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_JOIN, left->op);
  guint n_left = left->op->n_columns;
  guint n_right = left_only (kind) ? 0 : right->op->n_columns;

  op->right = right->op;
  op->join = kind;
  op->lateral = lateral;
  relation_op_columns_new (binder, op, n_left + n_right);
  for (guint i = 0; i < n_left + n_right; i++) {
    gboolean on_left = i < n_left;
    op->columns[i] = on_left ? left->op->columns[i] : right->op->columns[i - n_left];
    if (kind == RELATION_JOIN_FULL || kind == (on_left ? RELATION_JOIN_RIGHT : RELATION_JOIN_LEFT))
      op->columns[i].nullable = TRUE;
  }
  return op;
}

/* The column of an unqualified name on one side. */
static gboolean
using_column (RelationScope *side, const char *name, const SqlPosition *at, const char *which, guint *index,
              GError **error)
{
  guint found = G_MAXUINT;

  for (guint i = 0; i < side->n_columns; i++) {
    const RelationScopeColumn *column = &side->columns[i];
    if (column->qualified_only || column->by_name_only || !base_text_equal_ignore_case (column->column.name, name))
      continue;
    if (found != G_MAXUINT && side->columns[found].column.id != column->column.id)
      return relation_bind_error (at, error, SLUICE_ERROR_AMBIGUOUS_REFERENCE, "Reference `%s` is ambiguous.", name);
    found = i;
  }
  if (found == G_MAXUINT)
    return relation_bind_error (at, error, SLUICE_ERROR_UNRESOLVED_USING_COLUMN_FOR_JOIN,
                                "USING column `%s` cannot be resolved on the %s side of the join.", name, which);
  *index = found;
  return TRUE;
}

typedef struct {
  guint left;
  guint right;
  const char *name;
} UsingKey;

static gboolean
collect_keys (const SqlRelation *relation, RelationScope *left, RelationScope *right, GArray *keys, GError **error)
{
  const SqlIdentList *using = &relation->u.join.using;

  for (guint i = 0; i < using->n; i++) {
    UsingKey key = { .name = using->items[i].text };
    if (!using_column (left, key.name, &using->items[i].position, "left", &key.left, error) ||
        !using_column (right, key.name, &using->items[i].position, "right", &key.right, error))
      return FALSE;
    g_array_append_val (keys, key);
  }
  for (guint i = 0; relation->u.join.natural && i < left->n_columns; i++) {
    UsingKey key = { .left = i, .name = left->columns[i].column.name };
    if (left->columns[i].qualified_only || left->columns[i].by_name_only)
      continue;
    for (guint r = 0; r < right->n_columns; r++)
      if (!right->columns[r].qualified_only && !right->columns[r].by_name_only &&
          base_text_equal_ignore_case (right->columns[r].column.name, key.name)) {
        key.right = r;
        g_array_append_val (keys, key);
        break;
      }
  }
  return TRUE;
}

static gboolean
key_index (const GArray *keys, gboolean left, guint column)
{
  for (guint k = 0; k < keys->len; k++) {
    const UsingKey *key = &g_array_index (keys, UsingKey, k);
    if ((left ? key->left : key->right) == column)
      return TRUE;
  }
  return FALSE;
}

/* Keys first, then the left side's other columns, then the right's; the keys of the sides stay reachable as t.k. */
static RelationScope *
using_scope (RelationBinder *binder, RelationJoinKind kind, RelationScope *left, RelationScope *right,
             const GArray *keys, const RelationScopeColumn *merged)
{
  gboolean take_right = !left_only (kind);
  RelationScope *scope =
      relation_scope_new (binder, keys->len + left->n_columns + (take_right ? right->n_columns : 0), left->outer);
  guint n = 0;

  for (guint k = 0; k < keys->len; k++) {
    const UsingKey *key = &g_array_index (keys, UsingKey, k);
    if (merged != NULL)
      scope->columns[n] = merged[k];
    else
      scope->columns[n] = kind == RELATION_JOIN_RIGHT ? right->columns[key->right] : left->columns[key->left];
    scope->columns[n++].column.name = relation_arena_strdup (binder->arena, left->columns[key->left].column.name);
  }
  for (guint side = 0; side < (take_right ? 2 : 1); side++) {
    const RelationScope *from = side == 0 ? left : right;
    for (guint i = 0; i < from->n_columns; i++) {
      scope->columns[n] = from->columns[i];
      if (key_index (keys, side == 0, i))
        scope->columns[n].qualified_only = TRUE;
      n++;
    }
  }
  return scope;
}

/* FULL JOIN USING: the key is the one that is there. */
static RelationOperator *
merge_keys (RelationBinder *binder, RelationOperator *join, RelationScope *left, RelationScope *right,
            const GArray *keys, RelationScopeColumn *merged, GError **error)
{
  guint n = join->n_columns + keys->len;
  g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, n + 1);
  RelationOperator *op;

  for (guint i = 0; i < join->n_columns; i++)
    exprs[i] = relation_expr_new_column (binder->arena, &join->columns[i]);
  for (guint k = 0; k < keys->len; k++) {
    const UsingKey *key = &g_array_index (keys, UsingKey, k);
    RelationExpr *both[2] = { relation_scope_use (binder, &left->columns[key->left], NULL, NULL),
                              relation_scope_use (binder, &right->columns[key->right], NULL, NULL) };
    if ((exprs[join->n_columns + k] = relation_expr_call_at (binder, "coalesce", both, 2, NULL, error)) == NULL)
      return NULL;
  }
  op = relation_op_project (binder, join, exprs, NULL, n, TRUE);
  for (guint k = 0; k < keys->len; k++)
    merged[k] = (RelationScopeColumn){ .column = op->columns[join->n_columns + k] };
  return op;
}

static gboolean
bind_using (RelationBinder *binder, const SqlRelation *relation, RelationOperator *join, RelationScope *left,
            RelationScope *right, RelationInput *bound, GError **error)
{
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (UsingKey));
  g_autofree RelationScopeColumn *merged = NULL;

  if (!collect_keys (relation, left, right, keys, error))
    return FALSE;
  for (guint k = 0; k < keys->len; k++) {
    const UsingKey *key = &g_array_index (keys, UsingKey, k);
    RelationExpr *both[2] = { relation_scope_use (binder, &left->columns[key->left], NULL, &relation->position),
                              relation_scope_use (binder, &right->columns[key->right], NULL, &relation->position) };
    RelationExpr *equal = relation_expr_call_at (binder, "=", both, 2, &relation->position, error);
    if (equal == NULL || (join->condition = relation_expr_and (binder, join->condition, equal, error)) == NULL)
      return FALSE;
  }
  if (join->join == RELATION_JOIN_FULL) {
    merged = g_new0 (RelationScopeColumn, keys->len + 1);
    if ((bound->op = merge_keys (binder, join, left, right, keys, merged, error)) == NULL)
      return FALSE;
  }
  bound->scope = using_scope (binder, join->join, left, right, keys, merged);
  return TRUE;
}

static gboolean
bind_join (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationCteScope *ctes,
           const RelationInput *pipe_input, RelationInput *bound, GError **error)
{
  const SqlRelation *right_sql = relation->u.join.right;
  RelationJoinKind kind = join_kinds[relation->u.join.kind];
  gboolean lateral = right_sql->lateral;
  RelationInput left, right;
  RelationScope *left_above, *right_above;
  RelationOperator *op;

  if (!bind_one (binder, relation->u.join.left, outer, ctes, pipe_input, &left, error) ||
      !bind_one (binder, right_sql, lateral ? left.scope : outer, ctes, NULL, &right, error))
    return FALSE;
  right.scope->outer = outer;
  /* As Spark does it: LEFT JOIN LATERAL of a generator without ON keeps only rows that the generator gives something for. */
  if (lateral && kind == RELATION_JOIN_LEFT && relation->u.join.on == NULL && right_sql->kind == SQL_RELATION_FUNCTION)
    kind = RELATION_JOIN_CROSS;
  op = join_operator (binder, kind, &left, &right, lateral);
  bound->op = op;
  left_above = nullable_side (binder, left.scope, kind == RELATION_JOIN_RIGHT || kind == RELATION_JOIN_FULL);
  right_above = nullable_side (binder, right.scope, kind == RELATION_JOIN_LEFT || kind == RELATION_JOIN_FULL);
  if (relation->u.join.using.n > 0 || relation->u.join.natural)
    return bind_using (binder, relation, op, left_above, right_above, bound, error);
  if (relation->u.join.on != NULL) {
    RelationBindScope scope = { .scope = relation_scope_join (binder, left.scope, right.scope),
                                .ctes = ctes,
                                .clause = "JOIN" };
    if ((op->condition = relation_bind_condition (binder, &scope, relation->u.join.on, error)) == NULL)
      return FALSE;
    if (kind == RELATION_JOIN_CROSS)
      op->join = RELATION_JOIN_INNER;
  }
  bound->scope = left_only (kind) ? left_above : relation_scope_join (binder, left_above, right_above);
  bound->scope->outer = outer;
  return TRUE;
}

/* ---- all ---- */

static gboolean
bind_one (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer, RelationCteScope *ctes,
          const RelationInput *pipe_input, RelationInput *bound, GError **error)
{
  RelationOperator *op;

  if (relation == NULL) {
    *bound = *pipe_input;
    return TRUE;
  }
  switch (relation->kind) {
  case SQL_RELATION_TABLE:
    return bind_table (binder, relation, outer, ctes, bound, error);
  case SQL_RELATION_FUNCTION:
    return bind_function (binder, relation, outer, ctes, bound, error);
  case SQL_RELATION_SUBQUERY:
    op = relation_bind_query (binder, relation->u.query, outer, ctes, error);
    return op != NULL && finish (binder, relation, op, NULL, 0, outer, bound, error);
  case SQL_RELATION_VALUES:
    return relation_bind_values (binder, relation->u.values.rows, relation->u.values.n, outer, ctes,
                                 &relation->position, &op, error) &&
           finish (binder, relation, op, NULL, 0, outer, bound, error);
  case SQL_RELATION_JOIN: {
    if (!bind_join (binder, relation, outer, ctes, pipe_input, bound, error))
      return FALSE;
    if (relation->alias != NULL)
      return relation_bind_unsupported (&relation->position, error, "An alias of a join");
    return TRUE;
  }
  case SQL_RELATION_LATERAL_VIEW:
    return bind_lateral_view (binder, relation, outer, ctes, pipe_input, bound, error);
  case SQL_RELATION_PIVOT:
  case SQL_RELATION_UNPIVOT: {
    RelationInput input;
    const SqlRelation *from =
        relation->kind == SQL_RELATION_PIVOT ? relation->u.pivot.input : relation->u.unpivot.input;
    if (!bind_one (binder, from, outer, ctes, pipe_input, &input, error))
      return FALSE;
    op = relation->kind == SQL_RELATION_PIVOT ? relation_bind_pivot (binder, relation, &input, ctes, error)
                                              : relation_bind_unpivot (binder, relation, &input, ctes, error);
    return op != NULL && finish (binder, relation, op, NULL, 0, outer, bound, error);
  }
  case SQL_RELATION_SAMPLE:
    return relation_bind_unsupported (&relation->position, error, "TABLESAMPLE");
  }
  g_assert_not_reached ();
}

gboolean
relation_bind_relation (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer,
                        RelationCteScope *ctes, const RelationInput *pipe_input, RelationInput *bound, GError **error)
{
  return bind_one (binder, relation, outer, ctes, pipe_input, bound, error);
}

/* Making operators, and telling sources which rows a filter does not need. */
#include "relation-binder-private.h"

#include <string.h>

void
relation_binder_init (RelationBinder *binder, RelationArena *arena, const RelationContext *context, guint next_id)
{
  *binder = (RelationBinder){
    .arena = arena, .context = context, .resolver = context->resolver, .next_id = next_id, .plans = g_ptr_array_new ()
  };
  relation_arena_keep (arena, binder->plans, (GDestroyNotify) g_ptr_array_unref);
}

RelationOperator *
relation_op_new (RelationBinder *binder, RelationOperatorKind kind, RelationOperator *input)
{
  RelationOperator *op = relation_arena_new0 (binder->arena, RelationOperator);

  op->kind = kind;
  op->input = input;
  op->limit = -1;
  op->grouping_id = G_MAXUINT;
  return op;
}

RelationColumn *
relation_op_columns_new (RelationBinder *binder, RelationOperator *op, guint n)
{
  op->columns = relation_arena_new0_n (binder->arena, RelationColumn, n + 1);
  op->n_columns = n;
  return op->columns;
}

void
relation_op_columns_from (RelationOperator *op, const RelationOperator *from)
{
  op->columns = from->columns;
  op->n_columns = from->n_columns;
  op->n_hidden = from->n_hidden;
}

void
relation_column_set (RelationBinder *binder, RelationColumn *column, const char *name, BaseType *type,
                     gboolean nullable)
{
  column->id = binder->next_id++;
  column->name = relation_arena_strdup (binder->arena, name);
  column->type = relation_arena_keep_type (binder->arena, base_type_ref (type));
  column->nullable = nullable;
}

RelationOperator *
relation_op_source (RelationBinder *binder, RelationSource *source)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_SOURCE, NULL);
  guint n_shown = base_type_n_fields (source->schema);
  guint n_hidden = source->hidden != NULL ? base_type_n_fields (source->hidden) : 0;

  relation_arena_keep (binder->arena, source, (GDestroyNotify) relation_source_unref);
  op->source = source;
  relation_op_columns_new (binder, op, n_shown + n_hidden);
  for (guint i = 0; i < n_shown + n_hidden; i++) {
    const BaseField *field =
        i < n_shown ? base_type_field (source->schema, i) : base_type_field (source->hidden, i - n_shown);
    relation_column_set (binder, &op->columns[i], field->name, field->type, field->nullable);
  }
  op->n_columns = n_shown;
  op->n_hidden = n_hidden;
  return op;
}

RelationOperator *
relation_op_project (RelationBinder *binder, RelationOperator *input, RelationExpr *const *exprs,
                     const char *const *names, guint n, gboolean keep_ids)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_PROJECT, input);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  op->exprs = relation_arena_new0_n (binder->arena, RelationExpr *, n + 1);
  op->n_exprs = n;
  relation_op_columns_new (binder, op, n);
  for (guint i = 0; i < n; i++) {
    op->exprs[i] = exprs[i];
    relation_column_set (binder, &op->columns[i], names != NULL ? names[i] : exprs[i]->display, exprs[i]->type,
                         exprs[i]->nullable);
    if (keep_ids && exprs[i]->kind == RELATION_EXPR_COLUMN &&
        g_hash_table_add (seen, GUINT_TO_POINTER (exprs[i]->column_id)))
      op->columns[i].id = exprs[i]->column_id;
  }
  return op;
}

RelationOperator *
relation_op_shared (RelationBinder *binder, RelationShared *shared, const char *const *names)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_SHARED, NULL);

  op->shared = shared;
  shared->n_references++;
  relation_op_columns_new (binder, op, shared->root->n_columns);
  for (guint i = 0; i < op->n_columns; i++) {
    const RelationColumn *from = &shared->root->columns[i];
    relation_column_set (binder, &op->columns[i], names != NULL ? names[i] : from->name, from->type, from->nullable);
  }
  return op;
}

RelationOperator *
relation_op_limit (RelationBinder *binder, RelationOperator *input, gint64 limit, gint64 offset)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_LIMIT, input);

  op->limit = limit;
  op->offset = offset;
  relation_op_columns_from (op, input);
  return op;
}

RelationOperator *
relation_op_sort (RelationBinder *binder, RelationOperator *input, RelationSort *order, guint n_order, guint n_columns)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_SORT, input);

  op->order = order;
  op->n_order = n_order;
  op->columns = input->columns;
  op->n_columns = n_columns;
  return op;
}

/* ---- skips: conjuncts `column operator constant` reach the source they speak of ---- */

typedef struct {
  guint id;
  RelationSkipOperator op;
  const RelationLiteral *value;
} Skip;

static const struct {
  const char *name;
  RelationSkipOperator op, mirrored;
} skip_operators[] = {
  { "=", RELATION_SKIP_EQUAL, RELATION_SKIP_EQUAL },
  { "<", RELATION_SKIP_LESS, RELATION_SKIP_GREATER },
  { "<=", RELATION_SKIP_LESS_EQUAL, RELATION_SKIP_GREATER_EQUAL },
  { ">", RELATION_SKIP_GREATER, RELATION_SKIP_LESS },
  { ">=", RELATION_SKIP_GREATER_EQUAL, RELATION_SKIP_LESS_EQUAL },
};

static gboolean
is_operator (const RelationExpr *expr, const char *name)
{
  return expr->kind == RELATION_EXPR_CALL && (expr->function->flags & RELATION_FUNCTION_OPERATOR) != 0 &&
         strcmp (expr->function->names, name) == 0;
}

/* A constant of a type with a plain order; folding may fail (a bad cast): then the query itself reports it. */
static const RelationLiteral *
skip_constant (RelationBinder *binder, RelationExpr *expr)
{
  BaseTypeKind kind = base_type_kind (expr->type);

  if (!expr->foldable || base_type_is_nested (expr->type) || kind == BASE_TYPE_VARIANT || kind == BASE_TYPE_FLOAT ||
      kind == BASE_TYPE_DOUBLE || kind == BASE_TYPE_INTERVAL_CALENDAR || kind == BASE_TYPE_VOID)
    return NULL;
  return relation_expr_fold (binder, expr, NULL);
}

/* Below, equal, above of two constants of one type; @known: (out): FALSE for types that are not compared here. */
static int
compare_constants (const RelationLiteral *a, const RelationLiteral *b, gboolean *known)
{
  int order;

  switch (base_type_kind (a->type)) {
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    return (a->integer > b->integer) - (a->integer < b->integer);
  case BASE_TYPE_STRING:
    order = memcmp (a->text, b->text, MIN (a->size, b->size));
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
  default:
    *known = FALSE;
    return 0;
  }
}

/* `column IN (…)`: what is in it lies between its least and its greatest value. */
static void
collect_list_skips (RelationBinder *binder, RelationExpr *condition, GArray *skips)
{
  RelationExpr *column = condition->args[0];
  const RelationLiteral *least = NULL, *greatest = NULL;
  gboolean known = column->kind == RELATION_EXPR_COLUMN;

  for (guint i = 1; i < condition->n_args && known; i++) {
    RelationExpr *item = condition->args[i];
    const RelationLiteral *value = relation_type_same (column->type, item->type) ? skip_constant (binder, item) : NULL;
    known = value != NULL;
    if (!known || value->is_null)
      continue;
    if (least == NULL || compare_constants (value, least, &known) < 0)
      least = value;
    if (greatest == NULL || compare_constants (value, greatest, &known) > 0)
      greatest = value;
  }
  if (known && least != NULL) {
    Skip bounds[] = { { column->column_id, RELATION_SKIP_GREATER_EQUAL, least },
                      { column->column_id, RELATION_SKIP_LESS_EQUAL, greatest } };
    g_array_append_vals (skips, bounds, 2);
  }
}

static void
collect_skips (RelationBinder *binder, RelationExpr *condition, GArray *skips)
{
  if (is_operator (condition, "and")) {
    for (guint i = 0; i < condition->n_args; i++)
      collect_skips (binder, condition->args[i], skips);
    return;
  }
  if (is_operator (condition, "in")) {
    collect_list_skips (binder, condition, skips);
    return;
  }
  if (condition->kind != RELATION_EXPR_CALL || condition->n_args == 0 || condition->n_args > 2)
    return;
  if (condition->n_args == 1) {
    gboolean is_null = is_operator (condition, "is null");
    if (condition->args[0]->kind == RELATION_EXPR_COLUMN && (is_null || is_operator (condition, "is not null"))) {
      Skip skip = { condition->args[0]->column_id, is_null ? RELATION_SKIP_IS_NULL : RELATION_SKIP_IS_NOT_NULL, NULL };
      g_array_append_val (skips, skip);
    }
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (skip_operators); i++) {
    gboolean mirrored = condition->args[0]->kind != RELATION_EXPR_COLUMN;
    RelationExpr *column = condition->args[mirrored ? 1 : 0];
    RelationExpr *constant = condition->args[mirrored ? 0 : 1];
    const RelationLiteral *value;
    if (!is_operator (condition, skip_operators[i].name) || column->kind != RELATION_EXPR_COLUMN)
      continue;
    value = relation_type_same (column->type, constant->type) ? skip_constant (binder, constant) : NULL;
    if (value != NULL && !value->is_null) {
      Skip skip = { column->column_id, mirrored ? skip_operators[i].mirrored : skip_operators[i].op, value };
      g_array_append_val (skips, skip);
    }
  }
}

static void
push_skip (RelationBinder *binder, RelationOperator *op, Skip skip)
{
  for (;;) {
    switch (op->kind) {
    case RELATION_OP_FILTER:
      op = op->input;
      continue;
    case RELATION_OP_PROJECT: {
      guint i = 0;
      while (i < op->n_columns && op->columns[i].id != skip.id)
        i++;
      if (i == op->n_columns || op->exprs[i]->kind != RELATION_EXPR_COLUMN)
        return;
      skip.id = op->exprs[i]->column_id;
      op = op->input;
      continue;
    }
    case RELATION_OP_JOIN:
      if (op->join == RELATION_JOIN_INNER || op->join == RELATION_JOIN_CROSS)
        push_skip (binder, op->right, skip);
      else if (op->join != RELATION_JOIN_LEFT && op->join != RELATION_JOIN_SEMI && op->join != RELATION_JOIN_ANTI)
        return;
      op = op->input;
      continue;
    case RELATION_OP_SOURCE:
      for (guint i = 0; i < op->n_columns + op->n_hidden; i++)
        if (op->columns[i].id == skip.id) {
          RelationSkip *skips = relation_arena_new0_n (binder->arena, RelationSkip, op->n_skips + 1);
          if (op->n_skips > 0)
            memcpy (skips, op->skips, sizeof (RelationSkip) * op->n_skips);
          skips[op->n_skips++] = (RelationSkip){ i, skip.op, skip.value };
          op->skips = skips;
        }
      return;
    default:
      return;
    }
  }
}

RelationOperator *
relation_op_filter (RelationBinder *binder, RelationOperator *input, RelationExpr *condition)
{
  RelationOperator *op = relation_op_new (binder, RELATION_OP_FILTER, input);
  g_autoptr (GArray) skips = g_array_new (FALSE, FALSE, sizeof (Skip));

  op->condition = condition;
  relation_op_columns_from (op, input);
  collect_skips (binder, condition, skips);
  for (guint i = 0; i < skips->len; i++)
    push_skip (binder, input, g_array_index (skips, Skip, i));
  return op;
}

/* ---- set operations ---- */

/* The side under the common types; unchanged when nothing differs. */
static RelationOperator *
cast_side (RelationBinder *binder, RelationOperator *side, BaseType *const *types)
{
  g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, side->n_columns + 1);
  g_autofree const char **names = g_new0 (const char *, side->n_columns + 1);
  gboolean same = TRUE;

  for (guint i = 0; i < side->n_columns; i++) {
    RelationExpr *column = relation_expr_new_column (binder->arena, &side->columns[i]);
    exprs[i] = relation_expr_new_cast (binder, column, types[i]);
    names[i] = side->columns[i].name;
    same = same && exprs[i]->kind == RELATION_EXPR_COLUMN;
  }
  return same ? side : relation_op_project (binder, side, exprs, names, side->n_columns, FALSE);
}

static const char *const set_names[] = { "UNION", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL" };

RelationOperator *
relation_op_set (RelationBinder *binder, RelationSetKind kind, RelationOperator *left, RelationOperator *right,
                 const SqlPosition *at, GError **error)
{
  RelationOperator *op;
  guint n = left->n_columns;
  g_autofree BaseType **types = g_new0 (BaseType *, n + 1);

  if (n != right->n_columns) {
    relation_bind_error (
        at, error, SLUICE_ERROR_NUM_COLUMNS_MISMATCH,
        "%s can only be performed on inputs with the same number of columns, but the first input has %u columns "
        "and the second input has %u columns.",
        set_names[kind], n, right->n_columns);
    return NULL;
  }
  for (guint i = 0; i < n; i++) {
    BaseType *common = relation_coerce_common (left->columns[i].type, right->columns[i].type);
    if (common == NULL) {
      g_autofree char *a = base_type_text (left->columns[i].type);
      g_autofree char *b = base_type_text (right->columns[i].type);
      relation_bind_error (
          at, error, SLUICE_ERROR_INCOMPATIBLE_COLUMN_TYPE,
          "%s can only be performed on tables with compatible column types. The column %u of the second table is "
          "%s which is not compatible with %s at the same column of the first table.",
          set_names[kind], i + 1, b, a);
      return NULL;
    }
    types[i] = relation_arena_keep_type (binder->arena, common);
  }
  op = relation_op_new (binder, RELATION_OP_SET, cast_side (binder, left, types));
  op->right = cast_side (binder, right, types);
  op->set = kind;
  relation_op_columns_new (binder, op, n);
  for (guint i = 0; i < n; i++) {
    gboolean nullable = left->columns[i].nullable || right->columns[i].nullable;
    if (kind == RELATION_SET_EXCEPT || kind == RELATION_SET_EXCEPT_ALL)
      nullable = left->columns[i].nullable;
    relation_column_set (binder, &op->columns[i], left->columns[i].name, types[i], nullable);
  }
  return op;
}

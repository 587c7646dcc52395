/* Store assignment: rows of a plan as rows of a table, by Spark's ANSI rules (TableOutputResolver).
 *
 * By position everything is a plain cast. By name the fields of structs are put in the table's order too, at every depth, so a
 * struct is taken apart and built again where the names do not already stand in the same order.
 */
#include "base-text.h"
#include "relation-binder-private.h"

#include <string.h>

typedef struct {
  RelationBinder *binder;
  const char *table;
  RelationAssignFlags flags;
  const SqlPosition *at;
} Assign;

static RelationExpr *assign_value (Assign *assign, RelationExpr *value, const BaseType *target, const char *path,
                                   GError **error);

static gboolean
by_name (const Assign *assign)
{
  return (assign->flags & RELATION_ASSIGN_BY_NAME) != 0;
}

/* Whether every struct inside has the target's names in the target's order. */
static gboolean
names_match (const BaseType *from, const BaseType *to)
{
  BaseTypeKind kind = base_type_kind (from);

  if (kind != base_type_kind (to))
    return TRUE; /* the cast itself is judged elsewhere */
  switch (kind) {
  case BASE_TYPE_ARRAY:
    return names_match (base_type_element (from), base_type_element (to));
  case BASE_TYPE_MAP:
    return names_match (base_type_key (from), base_type_key (to)) &&
           names_match (base_type_value (from), base_type_value (to));
  case BASE_TYPE_STRUCT:
    if (base_type_n_fields (from) != base_type_n_fields (to))
      return FALSE;
    for (guint i = 0; i < base_type_n_fields (from); i++) {
      const BaseField *a = base_type_field (from, i);
      const BaseField *b = base_type_field (to, i);
      if (!base_text_equal_ignore_case (a->name, b->name) || !names_match (a->type, b->type))
        return FALSE;
    }
    return TRUE;
  default:
    return TRUE;
  }
}

static gboolean
unsafe_cast (const Assign *assign, const RelationExpr *value, const BaseType *target, const char *path, GError **error)
{
  g_autofree char *from = base_type_text (value->type);
  g_autofree char *to = base_type_text (target);

  return relation_bind_error (
      assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_CANNOT_SAFELY_CAST,
      "Cannot write incompatible data for the table %s: Cannot safely cast %s \"%s\" to \"%s\".", assign->table, path,
      from, to);
}

/* The struct's field of this name: -1 none, -2 several. */
static int
field_named (const BaseType *type, const char *name)
{
  int found = -1;

  for (guint i = 0; i < base_type_n_fields (type); i++)
    if (base_text_equal_ignore_case (base_type_field (type, i)->name, name))
      found = found == -1 ? (int) i : -2;
  return found;
}

static gboolean
check_extra_fields (const Assign *assign, const BaseType *from, const BaseType *to, const char *path, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (from); i++)
    if (field_named (to, base_type_field (from, i)->name) == -1)
      return relation_bind_error (
          assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_EXTRA_STRUCT_FIELDS,
          "Cannot write incompatible data for the table %s: Cannot write extra field `%s` to the struct %s.",
          assign->table, base_type_field (from, i)->name, path);
  return TRUE;
}

/* CASE WHEN value IS NULL THEN NULL ELSE @rebuilt END. */
static RelationExpr *
keep_null (Assign *assign, RelationExpr *value, RelationExpr *rebuilt, GError **error)
{
  RelationExpr *args[3];

  if (rebuilt == NULL || !value->nullable)
    return rebuilt;
  if ((args[0] = relation_expr_call_at (assign->binder, "is null", &value, 1, assign->at, error)) == NULL)
    return NULL;
  args[1] = relation_expr_new_null (assign->binder, rebuilt->type);
  args[2] = rebuilt;
  return relation_expr_call_at (assign->binder, "case", args, 3, assign->at, error);
}

static RelationExpr *
assign_struct (Assign *assign, RelationExpr *value, const BaseType *target, const char *path, GError **error)
{
  guint n = base_type_n_fields (target);
  g_autofree RelationExpr **args = g_new0 (RelationExpr *, 2 * n + 1);
  RelationExpr *rebuilt;

  if (!check_extra_fields (assign, value->type, target, path, error))
    return NULL;
  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (target, i);
    int index = field_named (value->type, field->name);
    g_autofree char *inner = g_strdup_printf ("%s.`%s`", path, field->name);
    args[2 * i] = relation_expr_new_string (assign->binder, field->name);
    if (index == -2) {
      relation_bind_error (
          assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_AMBIGUOUS_COLUMN_NAME,
          "Cannot write incompatible data for the table %s: Ambiguous column name in the input data %s.", assign->table,
          inner);
      return NULL;
    }
    if (index < 0 && (assign->flags & RELATION_ASSIGN_FILL) == 0) {
      relation_bind_error (assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_STRUCT_MISSING_FIELDS,
                           "Cannot write incompatible data for the table %s: Struct %s missing field: `%s`.",
                           assign->table, path, field->name);
      return NULL;
    }
    args[2 * i + 1] = index < 0 ? relation_expr_new_null (assign->binder, field->type)
                                : assign_value (assign, relation_expr_new_field (assign->binder, value, (guint) index),
                                                field->type, inner, error);
    if (args[2 * i + 1] == NULL)
      return NULL;
  }
  rebuilt = relation_expr_call_at (assign->binder, "named_struct", args, 2 * n, assign->at, error);
  return keep_null (assign, value, rebuilt, error);
}

/* transform(value, e -> assigned e). */
static RelationExpr *
assign_array (Assign *assign, RelationExpr *value, const BaseType *target, const char *path, GError **error)
{
  RelationBinder *binder = assign->binder;
  const BaseType *element = base_type_element (value->type);
  RelationExpr *variable =
      relation_expr_new (binder, RELATION_EXPR_LAMBDA_VARIABLE, element, base_type_contains_null (value->type));
  RelationExpr *lambda;
  RelationExpr *body;
  RelationExpr *result;
  const RelationFunction *row;
  g_autofree char *inner = g_strdup_printf ("%s.element", path);

  variable->column_id = binder->next_id++;
  if ((body = assign_value (assign, variable, base_type_element (target), inner, error)) == NULL)
    return NULL;
  if (relation_function_find ("transform", &row, 1) == 0) {
    relation_bind_unsupported (assign->at, error, "Rearranging structs inside arrays");
    return NULL;
  }
  lambda = relation_expr_new (binder, RELATION_EXPR_LAMBDA, body->type, FALSE);
  lambda->args = relation_arena_new0_n (binder->arena, RelationExpr *, 1);
  lambda->args[0] = body;
  lambda->n_args = 1;
  lambda->parameters = relation_arena_new0_n (binder->arena, guint, 1);
  lambda->parameters[0] = variable->column_id;
  lambda->n_parameters = 1;
  result = relation_expr_new (binder, RELATION_EXPR_CALL, target, value->nullable);
  result->function = row;
  result->args = relation_arena_new0_n (binder->arena, RelationExpr *, 2);
  result->args[0] = value;
  result->args[1] = lambda;
  result->n_args = 2;
  result->display = value->display;
  return result;
}

static RelationExpr *
assign_value (Assign *assign, RelationExpr *value, const BaseType *target, const char *path, GError **error)
{
  BaseTypeKind kind = base_type_kind (target);

  if (by_name (assign) && base_type_kind (value->type) == kind && !names_match (value->type, target)) {
    if (kind == BASE_TYPE_STRUCT)
      return assign_struct (assign, value, target, path, error);
    if (kind == BASE_TYPE_ARRAY)
      return assign_array (assign, value, target, path, error);
    relation_bind_unsupported (assign->at, error, "Rearranging structs inside maps");
    return NULL;
  }
  if (!relation_coerce_can_store (value->type, target)) {
    unsafe_cast (assign, value, target, path, error);
    return NULL;
  }
  return relation_expr_new_store_cast (assign->binder, value, target, path);
}

static gboolean
check_arity (const Assign *assign, guint n_data, guint n_target, GError **error)
{
  if (n_data == n_target)
    return TRUE;
  return relation_bind_error (
      assign->at, error,
      n_data < n_target ? SLUICE_ERROR_INSERT_COLUMN_ARITY_MISMATCH_NOT_ENOUGH_DATA_COLUMNS
                        : SLUICE_ERROR_INSERT_COLUMN_ARITY_MISMATCH_TOO_MANY_DATA_COLUMNS,
      "Cannot write to %s, the reason is %s data columns: the table has %u columns, the data %u.", assign->table,
      n_data < n_target ? "not enough" : "too many", n_target, n_data);
}

/* The plan's column for a table column: index, or G_MAXUINT = none. */
static gboolean
data_column (const Assign *assign, const RelationOperator *root, const char *name, guint *index, GError **error)
{
  *index = G_MAXUINT;
  for (guint i = 0; i < root->n_columns; i++) {
    if (!base_text_equal_ignore_case (root->columns[i].name, name))
      continue;
    if (*index != G_MAXUINT)
      return relation_bind_error (
          assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_AMBIGUOUS_COLUMN_NAME,
          "Cannot write incompatible data for the table %s: Ambiguous column name in the input data `%s`.",
          assign->table, name);
    *index = i;
  }
  return TRUE;
}

static gboolean
check_extra_columns (const Assign *assign, const RelationOperator *root, const BaseType *target, GError **error)
{
  g_autoptr (GString) extra = g_string_new (NULL);

  for (guint i = 0; i < root->n_columns; i++)
    if (field_named (target, root->columns[i].name) == -1)
      g_string_append_printf (extra, "%s`%s`", extra->len > 0 ? ", " : "", root->columns[i].name);
  if (extra->len == 0)
    return TRUE;
  return relation_bind_error (assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_EXTRA_COLUMNS,
                              "Cannot write incompatible data for the table %s: Cannot write extra columns %s.",
                              assign->table, extra->str);
}

static RelationExpr *
missing_column (Assign *assign, const BaseField *field, const SqlExpr *fallback, GError **error)
{
  RelationBindScope scope = { 0 };
  RelationExpr *value;
  g_autofree char *path = g_strdup_printf ("`%s`", field->name);

  if ((assign->flags & RELATION_ASSIGN_FILL) == 0) {
    relation_bind_error (
        assign->at, error, SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_CANNOT_FIND_DATA,
        "Cannot write incompatible data for the table %s: Cannot find data for the output column `%s`.", assign->table,
        field->name);
    return NULL;
  }
  if (fallback == NULL)
    return relation_expr_new_null (assign->binder, field->type);
  if ((value = relation_bind_expr (assign->binder, &scope, fallback, error)) == NULL)
    return NULL;
  return assign_value (assign, value, field->type, path, error);
}

RelationPlan *
relation_plan_assign (RelationPlan *plan, const BaseType *target, RelationAssignFlags flags, const char *table_name,
                      const SqlExpr *const *defaults, const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  Assign assign = { .binder = &binder, .table = table_name, .flags = flags };
  RelationOperator *root = plan->root;
  guint n = base_type_n_fields (target);
  g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, n + 1);
  g_autofree const char **names = g_new0 (const char *, n + 1);
  RelationOperator *op;

  relation_binder_extend (&binder, arena, plan, context);
  if (by_name (&assign) ? !check_extra_columns (&assign, root, target, error)
                        : !check_arity (&assign, root->n_columns, n, error))
    return NULL;
  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (target, i);
    g_autofree char *path = g_strdup_printf ("`%s`", field->name);
    guint index = i;
    names[i] = field->name;
    if (by_name (&assign) && !data_column (&assign, root, field->name, &index, error))
      return NULL;
    exprs[i] = index == G_MAXUINT ? missing_column (&assign, field, defaults != NULL ? defaults[i] : NULL, error)
                                  : assign_value (&assign, relation_expr_new_column (arena, &root->columns[index]),
                                                  field->type, path, error);
    if (exprs[i] == NULL)
      return NULL;
  }
  op = relation_op_project (&binder, root, exprs, names, n, FALSE);
  /* The table's own types, nullability of nested parts included: what is stored is the table's. */
  for (guint i = 0; i < n; i++)
    op->columns[i].type = relation_arena_keep_type (arena, base_type_ref (base_type_field (target, i)->type));
  return relation_plan_new_tree (arena, op, binder.next_id);
}

/* Rows that fit a table.
 *
 * Spark's store assignment itself is relation's (relation_plan_assign); here the table's own rules are added: the expressions of
 * missing columns, INSERT's column list, generated columns.
 */
#include "write-schema.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "sql-parse.h"
#include "write-private.h"

#include <string.h>

/* ---- evolution ---- */

static BaseType *merge_types (const BaseType *table, const BaseType *data);

/* @nullable: everything inside becomes it. */
static BaseType *
without_metadata (const BaseType *type, gboolean nullable)
{
  g_autoptr (BaseType) key = NULL;
  g_autoptr (BaseType) inner = NULL;
  g_autoptr (BaseStructBuilder) builder = NULL;

  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    inner = without_metadata (base_type_element (type), nullable);
    return base_type_array (inner, nullable || base_type_contains_null (type));
  case BASE_TYPE_MAP:
    key = without_metadata (base_type_key (type), nullable);
    inner = without_metadata (base_type_value (type), nullable);
    return base_type_map (key, inner, nullable || base_type_contains_null (type));
  case BASE_TYPE_STRUCT:
    builder = base_struct_builder_new ();
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      g_autoptr (BaseType) plain = without_metadata (field->type, nullable);
      base_struct_builder_add (builder, field->name, plain, nullable || field->nullable, NULL);
    }
    return base_struct_builder_end (g_steal_pointer (&builder));
  default:
    return base_type_ref (type);
  }
}

BaseType *
write_schema_nullable (const BaseType *type)
{
  return without_metadata (type, TRUE);
}

BaseType *
write_schema_plain (const BaseType *type)
{
  return without_metadata (type, FALSE);
}

/* A field that was not there before: nullable at every depth, without the data's own metadata. */
static void
add_new_field (BaseStructBuilder *builder, const BaseField *field)
{
  g_autoptr (BaseType) type = write_schema_nullable (field->type);
  base_struct_builder_add (builder, field->name, type, TRUE, NULL);
}

static BaseType *
merge_structs (const BaseType *table, const BaseType *data)
{
  gboolean changed = FALSE;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (table); i++) {
    const BaseField *field = base_type_field (table, i);
    int other = base_type_field_index (data, field->name, TRUE);
    g_autoptr (BaseType) type = other >= 0 ? merge_types (field->type, base_type_field (data, (guint) other)->type)
                                           : base_type_ref (field->type);
    changed = changed || type != field->type;
    base_struct_builder_add (builder, field->name, type, field->nullable, field->metadata);
  }
  for (guint i = 0; i < base_type_n_fields (data); i++) {
    const BaseField *field = base_type_field (data, i);
    if (base_type_field_index (table, field->name, TRUE) != -1)
      continue;
    add_new_field (builder, field);
    changed = TRUE;
  }
  return changed ? base_struct_builder_end (g_steal_pointer (&builder)) : base_type_ref (table);
}

static BaseType *
merge_types (const BaseType *table, const BaseType *data)
{
  if (base_type_kind (table) != base_type_kind (data))
    return base_type_ref (table);
  switch (base_type_kind (table)) {
  case BASE_TYPE_STRUCT:
    return merge_structs (table, data);
  case BASE_TYPE_ARRAY: {
    g_autoptr (BaseType) element = merge_types (base_type_element (table), base_type_element (data));
    return element == base_type_element (table) ? base_type_ref (table)
                                                : base_type_array (element, base_type_contains_null (table));
  }
  case BASE_TYPE_MAP: {
    g_autoptr (BaseType) key = merge_types (base_type_key (table), base_type_key (data));
    g_autoptr (BaseType) value = merge_types (base_type_value (table), base_type_value (data));
    if (key == base_type_key (table) && value == base_type_value (table))
      return base_type_ref (table);
    return base_type_map (key, value, base_type_contains_null (table));
  }
  default:
    return base_type_ref (table);
  }
}

BaseType *
write_schema_merge (const BaseType *table, const BaseType *data)
{
  return merge_types (table, data);
}

/* ---- fitting ---- */

static const char *
field_text (const BaseField *field, const char *key)
{
  return field->metadata != NULL ? base_json_string (field->metadata, key) : NULL;
}

/* Whether the rows give the column @name themselves. */
static gboolean
is_given (const BaseType *input, RelationAssignFlags flags, const char *const *columns, const char *name, guint index)
{
  if (columns != NULL) {
    for (guint i = 0; columns[i] != NULL; i++) {
      if (base_text_equal_ignore_case (columns[i], name))
        return TRUE;
    }
    return FALSE;
  }
  if ((flags & RELATION_ASSIGN_BY_NAME) == 0)
    return index < base_type_n_fields (input);
  return base_type_field_index (input, name, TRUE) != -1;
}

/* The input with the names of INSERT's column list. */
static RelationPlan *
name_columns (RelationPlan *input, const BaseType *schema, const char *const *columns, const char *table_name,
              const RelationContext *context, GError **error)
{
  guint n_columns = g_strv_length ((char **) columns);
  guint n_given = base_type_n_fields (relation_plan_schema (input));
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < n_columns; i++) {
    int index = base_type_field_index (schema, columns[i], TRUE);
    if (index < 0) {
      g_autoptr (GPtrArray) candidates = g_ptr_array_new ();
      for (guint k = 0; k < base_type_n_fields (schema); k++)
        g_ptr_array_add (candidates, base_type_field (schema, k)->name);
      g_ptr_array_add (candidates, NULL);
      g_autofree char *near = base_text_near_names (columns[i], (const char *const *) candidates->pdata, 3);
      base_error_set (error,
                      near != NULL ? SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION
                                   : SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                      "A column with name `%s` cannot be resolved.%s%s%s", columns[i],
                      near != NULL ? " Did you mean one of the following? [" : "", near != NULL ? near : "",
                      near != NULL ? "]" : "");
      return NULL;
    }
    for (guint k = 0; k < i; k++) {
      if (base_text_equal_ignore_case (columns[i], columns[k])) {
        base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS,
                        "The column `%s` already exists. Choose another name or rename the existing column.",
                        columns[i]);
        return NULL;
      }
    }
    g_ptr_array_add (names, base_type_field (schema, (guint) index)->name);
  }
  if (n_columns != n_given) {
    g_autofree char *listed = g_strjoinv ("`, `", (char **) columns);
    base_error_set (error,
                    n_given > n_columns ? SLUICE_ERROR_INSERT_COLUMN_ARITY_MISMATCH_TOO_MANY_DATA_COLUMNS
                                        : SLUICE_ERROR_INSERT_COLUMN_ARITY_MISMATCH_NOT_ENOUGH_DATA_COLUMNS,
                    "Cannot write to %s, the reason is %s: the list names the columns `%s`, the query gives %u.",
                    table_name, n_given > n_columns ? "too many data columns" : "not enough data columns", listed,
                    n_given);
    return NULL;
  }
  g_autofree RelationItem *items = g_new0 (RelationItem, MAX (n_columns, 1));
  for (guint i = 0; i < n_columns; i++)
    items[i] = (RelationItem){ .name = g_ptr_array_index (names, i), .column = i };
  return relation_plan_project (input, items, n_columns, context, error);
}

/* Computes the generated and identity columns that the rows do not give. */
static RelationPlan *
generate_columns (RelationPlan *plan, const BaseType *schema, const gboolean *given, SqlArena *arena,
                  const RelationContext *context, GError **error)
{
  guint n_columns = base_type_n_fields (schema);
  gboolean any = FALSE;
  g_autofree RelationItem *items = g_new0 (RelationItem, MAX (n_columns, 1));
  for (guint i = 0; i < n_columns; i++) {
    const BaseField *field = base_type_field (schema, i);
    const char *text = field_text (field, "delta.generationExpression");
    g_autofree char *identity = NULL;
    items[i].column = i;
    if (given[i])
      continue;
    if (text == NULL && write_identity_is (field)) {
      text = identity = write_identity_expression (field, error);
      if (text == NULL)
        return NULL;
    }
    if (text == NULL)
      continue;
    any = TRUE;
    items[i].name = field->name;
    items[i].type = field->type;
    items[i].expr = sql_parse_expression (arena, text, -1, NULL, error);
    if (items[i].expr == NULL) {
      base_error_add_context (error, "reading the expression of the generated column %s", field->name);
      return NULL;
    }
  }
  return any ? relation_plan_project (plan, items, n_columns, context, error) : relation_plan_ref (plan);
}

RelationPlan *
write_plan_fit (RelationPlan *input, const BaseType *schema, RelationAssignFlags flags, const char *const *columns,
                const char *table_name, const RelationContext *context, GError **error)
{
  g_autoptr (RelationPlan) named = NULL;
  if (columns != NULL) {
    named = name_columns (input, schema, columns, table_name, context, error);
    if (named == NULL)
      return NULL;
    flags |= RELATION_ASSIGN_BY_NAME | RELATION_ASSIGN_FILL;
  } else {
    named = relation_plan_ref (input);
  }
  guint n_columns = base_type_n_fields (schema);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autofree const SqlExpr **defaults = g_new0 (const SqlExpr *, MAX (n_columns, 1));
  g_autofree gboolean *given = g_new0 (gboolean, MAX (n_columns, 1));
  gboolean any_default = FALSE;
  for (guint i = 0; i < n_columns; i++) {
    const BaseField *field = base_type_field (schema, i);
    const char *text = field_text (field, "CURRENT_DEFAULT");
    given[i] = is_given (relation_plan_schema (input), flags, columns, field->name, i);
    if (given[i] && write_identity_is (field) && !write_identity_check_given (field, error))
      return NULL;
    if (text == NULL)
      continue;
    defaults[i] = sql_parse_expression (arena, text, -1, NULL, error);
    if (defaults[i] == NULL) {
      base_error_add_context (error, "reading the default of column %s", field->name);
      return NULL;
    }
    any_default = TRUE;
  }
  g_autoptr (RelationPlan) assigned =
      relation_plan_assign (named, schema, flags, table_name, any_default ? defaults : NULL, context, error);
  if (assigned == NULL)
    return NULL;
  return generate_columns (assigned, schema, given, arena, context, error);
}

/* ---- generated columns ---- */

gboolean
write_value_fits (const SqlExpr *expr, const BaseType *schema, const BaseType *type, const RelationContext *context,
                  GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    g_string_append_printf (sql, "NULL AS c%u, ", i);
  g_string_append (sql, "1 AS one WHERE false"); /* never run */
  g_autoptr (RelationSource) source = relation_source_new_text ("row", sql->str, schema, FALSE);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
  RelationItem item = { .name = "value", .expr = expr, .type = (BaseType *) type };
  g_autoptr (RelationPlan) fitted = relation_plan_project (plan, &item, 1, context, error);
  return fitted != NULL;
}

gboolean
write_generated_is (const BaseField *field)
{
  return field_text (field, "delta.generationExpression") != NULL;
}

gboolean
write_generated_check (const SqlExpr *expr, const BaseType *schema, const char *column, const RelationContext *context,
                       GError **error)
{
  gboolean deterministic = TRUE;
  g_autoptr (BaseType) own = relation_expr_type (expr, schema, NULL, &deterministic, context, error);
  g_autoptr (GArray) used = own != NULL ? relation_expr_columns (expr, schema, context, error) : NULL;
  if (used == NULL)
    return FALSE;
  const BaseField *generated = NULL;
  for (guint i = 0; i < used->len && generated == NULL; i++) {
    const BaseField *field = base_type_field (schema, g_array_index (used, guint, i));
    generated = write_generated_is (field) ? field : NULL;
  }
  const BaseType *type = base_type_field (schema, (guint) base_type_field_index (schema, column, TRUE))->type;
  if (!deterministic) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN,
                    "The generated column `%s` cannot use a non deterministic expression.", column);
  } else if (generated != NULL) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN,
                    "The generated column `%s` cannot use another generated column, `%s`.", column, generated->name);
  } else if (write_value_fits (expr, schema, type, context, NULL)) {
    return TRUE;
  } else {
    g_autofree char *wanted = base_type_text (type);
    g_autofree char *found = base_type_text (own);
    base_error_set (error, SLUICE_ERROR_DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH,
                    "The expression type of the generated column `%s` is %s, but the column type is %s.", column, found,
                    wanted);
  }
  sql_position_add_to_error (&expr->position, error);
  return FALSE;
}

RelationPlan *
write_plan_generate (RelationPlan *plan, const BaseType *schema, const RelationContext *context, GError **error)
{
  guint n_columns = base_type_n_fields (schema), n_given = base_type_n_fields (relation_plan_schema (plan)), next = 0;
  g_autofree RelationItem *items = g_new0 (RelationItem, n_columns + n_given);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  for (guint i = 0; i < n_columns; i++) {
    const BaseField *field = base_type_field (schema, i);
    const char *text = field_text (field, "delta.generationExpression");
    if (text == NULL) {
      items[i].column = next++;
      continue;
    }
    items[i] = (RelationItem){ .name = field->name, .type = field->type };
    items[i].expr = sql_parse_expression (arena, text, -1, NULL, error);
    if (items[i].expr == NULL) {
      base_error_add_context (error, "reading the expression of the generated column %s", field->name);
      return NULL;
    }
  }
  guint n_items = n_columns;
  while (next < n_given)
    items[n_items++].column = next++;
  return relation_plan_project (plan, items, n_items, context, error);
}

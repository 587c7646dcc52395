/* Expressions that stay with a table: CHECK, DEFAULT, GENERATED. Each is bound once when it is given, so that a table that no row could be
 * written to is never made. */
#include "base-error.h"
#include "base-json.h"
#include "dml-private.h"
#include "relation-plan.h"
#include "sql-build.h"

static gboolean
fail_at (const SqlExpr *expr, GError **error)
{
  sql_position_add_to_error (&expr->position, error);
  return FALSE;
}

gboolean
dml_check_condition (const DmlContext *context, const SqlExpr *expr, const BaseType *schema, GError **error)
{
  gboolean deterministic = TRUE;
  g_autoptr (BaseType) type = relation_expr_type (expr, schema, NULL, &deterministic, context->relation, error);
  if (type == NULL)
    return FALSE;
  g_autofree char *text = sql_position_text (&expr->position);
  if (base_type_kind (type) != BASE_TYPE_BOOLEAN)
    base_error_set (error, SLUICE_ERROR_DELTA_NON_BOOLEAN_CHECK_CONSTRAINT,
                    "CHECK constraint (%s) should be a boolean expression.", text != NULL ? text : "");
  else if (!deterministic)
    base_error_set (error, SLUICE_ERROR_DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT,
                    "Found %s in a CHECK constraint. A CHECK constraint cannot use a nondeterministic expression.",
                    text != NULL ? text : "");
  else
    return TRUE;
  return fail_at (expr, error);
}

/* Whether a value of @expr over rows of @schema can be stored as @type. Other errors than of the cast are the binder's. */
static gboolean
value_fits (const DmlContext *context, const SqlExpr *expr, const BaseType *schema, const BaseType *type,
            GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    g_string_append_printf (sql, "NULL AS c%u, ", i);
  g_string_append (sql, "1 AS one WHERE false"); /* never run */
  g_autoptr (RelationSource) source = relation_source_new_text ("row", sql->str, schema, FALSE);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
  RelationItem item = { .name = "value", .expr = expr, .type = (BaseType *) type };
  g_autoptr (RelationPlan) fitted = relation_plan_project (plan, &item, 1, context->relation, error);
  return fitted != NULL;
}

gboolean
dml_default_check (const DmlContext *context, const SqlExpr *expr, const BaseType *type, const char *column,
                   GError **error)
{
  g_autoptr (BaseType) nothing = base_struct_builder_end (base_struct_builder_new ());
  g_autoptr (GError) reason = NULL;
  g_autoptr (BaseType) own = relation_expr_type (expr, nothing, NULL, NULL, context->relation, &reason);
  if (own == NULL && (g_error_matches (reason, SLUICE_ERROR, SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION) ||
                      g_error_matches (reason, SLUICE_ERROR, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION))) {
    base_error_set (error, SLUICE_ERROR_INVALID_DEFAULT_VALUE_NOT_CONSTANT,
                    "The column `%s` has a DEFAULT value that is not constant: it reads a column.", column);
    return fail_at (expr, error);
  }
  if (own == NULL) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  if (value_fits (context, expr, nothing, type, NULL))
    return TRUE;
  g_autofree char *wanted = base_type_text (type);
  g_autofree char *found = base_type_text (own);
  base_error_set (error, SLUICE_ERROR_INVALID_DEFAULT_VALUE_DATA_TYPE,
                  "The column `%s` has a DEFAULT value of type %s, and needs %s.", column, found, wanted);
  return fail_at (expr, error);
}

gboolean
dml_generated_check (const DmlContext *context, const SqlExpr *expr, const BaseType *schema, const char *column,
                     GError **error)
{
  gboolean deterministic = TRUE;
  g_autoptr (BaseType) own = relation_expr_type (expr, schema, NULL, &deterministic, context->relation, error);
  g_autoptr (GArray) used = own != NULL ? relation_expr_columns (expr, schema, context->relation, error) : NULL;
  if (used == NULL)
    return FALSE;
  if (!deterministic) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN,
                    "The generated column `%s` cannot use a non deterministic expression.", column);
    return fail_at (expr, error);
  }
  for (guint i = 0; i < used->len; i++) {
    const BaseField *field = base_type_field (schema, g_array_index (used, guint, i));
    if (field->metadata == NULL || json_object_get (field->metadata, "delta.generationExpression") == NULL)
      continue;
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN,
                    "The generated column `%s` cannot use another generated column, `%s`.", column, field->name);
    return fail_at (expr, error);
  }
  const BaseType *type = base_type_field (schema, (guint) base_type_field_index (schema, column, TRUE))->type;
  if (value_fits (context, expr, schema, type, NULL))
    return TRUE;
  g_autofree char *wanted = base_type_text (type);
  g_autofree char *found = base_type_text (own);
  base_error_set (error, SLUICE_ERROR_DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH,
                  "The expression type of the generated column `%s` is %s, but the column type is %s.", column, found,
                  wanted);
  return fail_at (expr, error);
}

/* Expressions that stay with a table: CHECK, DEFAULT. Each is bound once when it is given, so that a table that no row could be
 * written to is never made. */
#include "base-error.h"
#include "base-json.h"
#include "dml-private.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "write-schema.h"

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
  if (write_value_fits (expr, nothing, type, context->relation, NULL))
    return TRUE;
  g_autofree char *wanted = base_type_text (type);
  g_autofree char *found = base_type_text (own);
  base_error_set (error, SLUICE_ERROR_INVALID_DEFAULT_VALUE_DATA_TYPE,
                  "The column `%s` has a DEFAULT value of type %s, and needs %s.", column, found, wanted);
  return fail_at (expr, error);
}

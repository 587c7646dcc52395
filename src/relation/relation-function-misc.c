/* Functions about the session, types and randomness. */
#include "relation-function-private.h"

#include <string.h>

static gboolean
replace_with_text (RelationCall *call, const char *text)
{
  call->replacement = relation_expr_new_string (call->binder, text);
  call->replacement->display = call->display;
  return TRUE;
}

static gboolean
bind_typeof (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  g_autofree char *text = base_type_text (call->args[0]->type);
  /* An aggregate inside still makes the query one of a single group. */
  call->data = relation_binder_printf (call->binder, "%s", text);
  return call->args[0]->foldable ? replace_with_text (call, text) : TRUE;
}

static gboolean
lower_typeof (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_string_append (out, "(CASE WHEN ");
  if (!relation_printer_expr (printer, call->args[0], out, error))
    return FALSE;
  g_string_append_printf (out, " IS NULL THEN '%s' ELSE '%s' END)", (const char *) call->data,
                          (const char *) call->data);
  return TRUE;
}

static gboolean
bind_session_text (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  if (strstr (call->name, "user") != NULL)
    return replace_with_text (call, relation_binder_user (call->binder));
  if (strcmp (call->name, "current_catalog") == 0)
    return replace_with_text (call, relation_binder_catalog (call->binder));
  return replace_with_text (call, relation_binder_schema (call->binder));
}

static gboolean
bind_version (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  return replace_with_text (call, "4.3.0 sluice " SLUICE_VERSION);
}

/* A seed would need Spark's generator. */
static gboolean
bind_random (RelationCall *call, GError **error)
{
  if (call->n_args > 0) {
    BaseTypeKind kind = relation_arg_kind (call, 0);
    if (!base_type_is_integral (call->args[0]->type) && kind != BASE_TYPE_VOID)
      return relation_call_type_error (call, 0, "INT or BIGINT", error);
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "`%s` with a seed is not supported: its numbers would differ from Spark's", call->name);
  }
  return TRUE;
}

#define VOLATILE RELATION_FUNCTION_VOLATILE
#define NEVER    RELATION_FUNCTION_NEVER_NULL

const RelationFunction *
relation_function_rows_misc (void)
{
  static const RelationFunction rows[] = {
    { .names = "typeof",
      .args = "any",
      .result = "string",
      .flags = NEVER,
      .doc = "the type of a value",
      .bind = bind_typeof,
      .lower_call = lower_typeof },
    { .names = "current_user user session_user",
      .args = "",
      .result = "string",
      .flags = NEVER,
      .doc = "the user of the session",
      .bind = bind_session_text },
    { .names = "current_catalog",
      .args = "",
      .result = "string",
      .flags = NEVER,
      .doc = "the current catalog",
      .bind = bind_session_text },
    { .names = "current_database current_schema",
      .args = "",
      .result = "string",
      .flags = NEVER,
      .doc = "the current schema",
      .bind = bind_session_text },
    { .names = "version",
      .args = "",
      .result = "string",
      .flags = NEVER,
      .doc = "version of Spark that is followed, and of this engine",
      .bind = bind_version },
    { .names = "spark_partition_id",
      .args = "",
      .result = "int",
      .lower = "0",
      .flags = NEVER | VOLATILE,
      .doc = "always 0: one machine" },
    { .names = "uuid",
      .args = "",
      .result = "string",
      .lower = "CAST(uuid() AS VARCHAR)",
      .flags = NEVER | VOLATILE,
      .doc = "a random UUID" },
    { .names = "rand random",
      .args = "any?",
      .result = "double",
      .lower = "random()",
      .flags = NEVER | VOLATILE,
      .doc = "a random number in [0, 1)",
      .bind = bind_random },
    { .names = NULL },
  };
  return rows;
}

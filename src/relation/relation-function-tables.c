/* The list of function tables, and helpers that their rows share. */
#include "base-json.h"
#include "base-text.h"
#include "relation-function-private.h"

const RelationFunctionRows *
relation_function_tables (guint *n_tables)
{
  static const RelationFunctionRows tables[] = {
    relation_function_rows_operator, relation_function_rows_condition, relation_function_rows_math,
    relation_function_rows_string,   relation_function_rows_datetime,  relation_function_rows_interval,
    relation_function_rows_array,    relation_function_rows_map,       relation_function_rows_aggregate,
    relation_function_rows_window,   relation_function_rows_generator, relation_function_rows_misc,
    relation_function_rows_regex,    relation_function_rows_json,      relation_function_rows_text,
  };
  *n_tables = G_N_ELEMENTS (tables);
  return tables;
}

void
relation_call_cast (RelationCall *call, guint index, BaseType *type)
{
  call->args[index] =
      relation_expr_new_cast (call->binder, call->args[index], relation_binder_keep_type (call->binder, type));
}

void
relation_call_cast_kind (RelationCall *call, guint index, BaseTypeKind kind)
{
  relation_call_cast (call, index, base_type_simple (kind));
}

gboolean
relation_call_want (RelationCall *call, guint index, BaseTypeKind kind, const char *required, GError **error)
{
  g_autoptr (BaseType) wanted = base_type_simple (kind);
  BaseType *type = relation_coerce_implicit (call->args[index]->type, wanted);
  if (type == NULL)
    return relation_call_type_error (call, index, required, error);
  relation_call_cast (call, index, type);
  return TRUE;
}

gboolean
relation_call_refuse_null (RelationCall *call, guint index, GError **error)
{
  const RelationExpr *arg = call->args[index];
  gboolean is_null = arg->kind == RELATION_EXPR_LITERAL && arg->literal->is_null;
  if (arg->kind == RELATION_EXPR_CAST && !arg->explicit_cast)
    is_null = base_type_kind (arg->args[0]->type) == BASE_TYPE_VOID;
  if (!is_null || (arg->kind == RELATION_EXPR_LITERAL && arg->explicit_cast))
    return TRUE;
  const BaseType *type = arg->type;
  const BaseType *part = base_type_kind (type) == BASE_TYPE_ARRAY ? base_type_element (type)
                         : base_type_kind (type) == BASE_TYPE_MAP ? base_type_key (type)
                                                                  : type;
  return base_type_kind (part) != BASE_TYPE_VOID || relation_call_type_error (call, index, "ARRAY or MAP", error);
}

gboolean
relation_lower_data (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  return relation_printer_template (printer, call, call->data, out, error);
}

gboolean
relation_lower_spec (RelationPrinter *printer, const RelationExpr *call, const char *kernel, gboolean instance,
                     json_t *options, GString *out, GError **error)
{
  g_autoptr (json_t) spec = options != NULL ? options : json_object ();
  json_t *types = json_array ();
  for (guint i = 0; i < call->n_args; i++)
    json_array_append_new (types, base_type_to_json (call->args[i]->type));
  json_object_set_new (spec, "args", types);
  json_object_set_new (spec, "result", base_type_to_json (call->type));
  json_object_set_new (spec, "zone", json_string (relation_printer_zone (printer)));
  if (instance) {
    kernel = relation_printer_kernel (printer, kernel, call->type, error);
    if (kernel == NULL)
      return FALSE;
  }
  g_string_append_printf (out, "%s(", kernel);
  g_autofree char *text = base_json_text (spec);
  base_text_append_sql_literal (out, text);
  for (guint i = 0; i < call->n_args; i++) {
    g_string_append (out, ", ");
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
  }
  g_string_append_c (out, ')');
  return TRUE;
}

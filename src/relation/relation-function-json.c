/* Functions of JSON text. Schemas and options are constants, read when the query is bound. */
#include "base-json.h"
#include "relation-function-private.h"
#include "sql-parse.h"

#include <string.h>

/* Options are written as map('key', 'value', …). */
static gboolean
read_options (RelationCall *call, guint index, json_t *options, GError **error)
{
  const RelationExpr *map = call->args[index];
  if (map->kind != RELATION_EXPR_CALL || strcmp (map->function->names, "map") != 0 || map->n_args % 2 != 0)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "the options of `%s` must be written as map('key', 'value')", call->name);
  for (guint i = 0; i < map->n_args; i += 2) {
    const RelationLiteral *key = relation_expr_fold (call->binder, map->args[i], error);
    if (key == NULL)
      return FALSE;
    const RelationLiteral *value = relation_expr_fold (call->binder, map->args[i + 1], error);
    if (value == NULL)
      return FALSE;
    if (!key->is_null && !value->is_null && base_type_kind (key->type) == BASE_TYPE_STRING &&
        base_type_kind (value->type) == BASE_TYPE_STRING)
      json_object_set_new (options, key->text, json_string (value->text));
  }
  static const char *const known[] = { "dateFormat",
                                       "timestampFormat",
                                       "allowSingleQuotes",
                                       "allowUnquotedFieldNames",
                                       "allowNumericLeadingZeros",
                                       "allowComments",
                                       "mode",
                                       "columnNameOfCorruptRecord",
                                       "ignoreNullFields",
                                       "pretty" };
  const char *key;
  json_t *value;
  json_object_foreach (options, key, value)
  {
    gboolean is_known = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS (known); i++)
      is_known |= strcmp (known[i], key) == 0;
    if (!is_known)
      return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                  "the option `%s` of `%s` is not supported", key, call->name);
  }
  return TRUE;
}

/* `data` of the call is the options as JSON text. */
static gboolean
keep_options (RelationCall *call, guint index, GError **error)
{
  g_autoptr (json_t) options = json_object ();
  if (index < call->n_args && !read_options (call, index, options, error))
    return FALSE;
  g_autofree char *text = base_json_text (options);
  call->data = relation_binder_printf (call->binder, "%s", text);
  return TRUE;
}

/* The description of a call with its options. */
static json_t *
spec_of (const RelationExpr *call)
{
  const char *text = call->data;
  json_t *spec = json_object ();
  json_object_set_new (spec, "options", base_json_parse (text, strlen (text), "options", NULL));
  return spec;
}

/* from_json(text, schema[, options]) */
static gboolean
bind_from_json (RelationCall *call, GError **error)
{
  if (!keep_options (call, 2, error))
    return FALSE;
  const RelationLiteral *schema = relation_call_constant (call, 1, error);
  if (schema == NULL)
    return FALSE;
  if (schema->is_null || base_type_kind (schema->type) != BASE_TYPE_STRING)
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_NULL,
                                "the schema must not be NULL");
  g_autoptr (BaseType) type = sql_parse_type (schema->text, (gssize) schema->size, NULL);
  if (type == NULL)
    type = sql_parse_schema (schema->text, (gssize) schema->size, error);
  if (type == NULL)
    return FALSE;
  if (base_type_holds (type, BASE_TYPE_VARIANT))
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "from_json to VARIANT is not supported");
  call->n_args = 1;
  call->nullable = TRUE;
  relation_call_set_type (call, g_steal_pointer (&type));
  return TRUE;
}

static gboolean
lower_from_json (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  json_t *spec = spec_of (call);
  json_object_set_new (spec, "reading", json_true ());
  return relation_lower_spec (printer, call, "sluice_from_json", TRUE, spec, out, error);
}

/* to_json(value[, options]) */
static gboolean
bind_to_json (RelationCall *call, GError **error)
{
  if (!base_type_is_nested (call->args[0]->type))
    return relation_arg_kind (call, 0) == BASE_TYPE_VARIANT
               ? relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                      "to_json of VARIANT is not supported")
               : relation_call_type_error (call, 0, "STRUCT, ARRAY or MAP", error);
  if (base_type_holds (call->args[0]->type, BASE_TYPE_VARIANT))
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "to_json of VARIANT is not supported");
  if (!keep_options (call, 1, error))
    return FALSE;
  call->n_args = 1;
  return TRUE;
}

static gboolean
lower_to_json (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  json_t *spec = spec_of (call);
  return relation_lower_spec (printer, call, "sluice_to_json", FALSE, spec, out, error);
}

/* text:a.b[0] and text:['a'] on a STRING: get_json_object with the path */
static gboolean
bind_path (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) != BASE_TYPE_STRING)
    return relation_arg_kind (call, 0) == BASE_TYPE_VARIANT
               ? relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                      "a path into VARIANT is not supported")
               : relation_call_error (call, error, SLUICE_ERROR_COLUMN_IS_NOT_VARIANT_TYPE,
                                      "a path wants a STRING or VARIANT on its left");
  const RelationLiteral *path = relation_call_constant (call, 1, error);
  if (path == NULL)
    return FALSE;
  const char *text = path->text;
  const char *full = text[0] == '$'                     ? text
                     : text[0] == '[' || text[0] == '.' ? relation_binder_printf (call->binder, "$%s", text)
                                                        : relation_binder_printf (call->binder, "$.%s", text);
  call->args[1] = relation_expr_new_string (call->binder, full);
  return TRUE;
}

#define NULLABLE RELATION_FUNCTION_NULLABLE

const RelationFunction *
relation_function_rows_json (void)
{
  static const RelationFunction rows[] = {
    { .names = "get_json_object",
      .args = "string string",
      .result = "string",
      .lower = "sluice_get_json($1, $2)",
      .flags = NULLABLE,
      .doc = "what a path finds in JSON text" },
    { .names = ":",
      .args = "any string",
      .result = "string",
      .lower = "sluice_get_json($1, $2)",
      .flags = RELATION_FUNCTION_OPERATOR | NULLABLE,
      .doc = "what a path finds in JSON text",
      .display = "$1:$2",
      .bind = bind_path },
    { .names = "json_array_length",
      .args = "string",
      .result = "int",
      .lower = "sluice_json_array_length($1)",
      .flags = NULLABLE,
      .doc = "number of elements of the outermost JSON array" },
    { .names = "json_object_keys",
      .args = "string",
      .result = "array<string>",
      .lower = "sluice_json_object_keys($1)",
      .flags = NULLABLE,
      .doc = "names of the outermost JSON object" },
    { .names = "from_json",
      .args = "string any any?",
      .flags = NULLABLE,
      .doc = "JSON text as a value of a schema",
      .display = "from_json($1)",
      .bind = bind_from_json,
      .lower_call = lower_from_json },
    { .names = "to_json",
      .args = "any any?",
      .result = "string",
      .doc = "a struct, array or map as JSON text",
      .display = "to_json($1)",
      .bind = bind_to_json,
      .lower_call = lower_to_json },
    { .names = NULL },
  };
  return rows;
}

/* Functions of maps and structs. */
#include "base-text.h"
#include "relation-function-private.h"

#include <string.h>

#define NEVER RELATION_FUNCTION_NEVER_NULL

/* ---- structs ---- */

static gboolean
bind_named_struct (RelationCall *call, GError **error)
{
  if (call->n_args % 2 != 0 || call->n_args == 0)
    return relation_call_error (call, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                                "`named_struct` requires pairs of a name and a value");
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < call->n_args; i += 2) {
    if (!call->args[i]->foldable || relation_arg_kind (call, i) != BASE_TYPE_STRING)
      return relation_call_error (call, error,
                                  SLUICE_ERROR_DATATYPE_MISMATCH_CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING,
                                  "the names of `named_struct` must be constant strings");
    const RelationLiteral *name = relation_call_constant (call, i, error);
    if (name == NULL)
      return FALSE;
    if (name->is_null)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_NULL,
                                  "a field's name must not be NULL");
    base_struct_builder_add (builder, name->text, call->args[i + 1]->type, call->args[i + 1]->nullable, NULL);
  }
  relation_call_set_type (call, base_struct_builder_end (g_steal_pointer (&builder)));
  return TRUE;
}

static gboolean
lower_named_struct (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  /* DuckDB's structs have names that differ in more than case. */
  for (guint i = 0; i < base_type_n_fields (call->type); i++)
    for (guint k = 0; k < i; k++)
      if (base_text_equal_ignore_case (base_type_field (call->type, i)->name, base_type_field (call->type, k)->name))
        return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                               "two fields of one name in a struct are not supported: `%s`",
                               base_type_field (call->type, i)->name);
  g_string_append_c (out, '{');
  for (guint i = 0; i < call->n_args; i += 2) {
    g_string_append (out, i > 0 ? ", " : "");
    base_text_append_sql_literal (out, base_type_field (call->type, i / 2)->name);
    g_string_append (out, ": ");
    if (!relation_printer_expr (printer, call->args[i + 1], out, error))
      return FALSE;
  }
  g_string_append_c (out, '}');
  return TRUE;
}

/* ---- maps ---- */

static gboolean
check_key (RelationCall *call, const BaseType *key, GError **error)
{
  if (base_type_kind (key) != BASE_TYPE_MAP && base_type_is_orderable (key))
    return TRUE;
  return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_MAP_KEY_TYPE,
                              "the key of a map cannot hold a map");
}

static gboolean
bind_map (RelationCall *call, GError **error)
{
  if (call->n_args % 2 != 0)
    return relation_call_error (call, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                                "`map` requires pairs of a key and a value");
  guint n = call->n_args / 2;
  g_autofree BaseType **types = g_new (BaseType *, n + 1);
  BaseType *parts[2];
  gboolean value_null = FALSE;
  for (guint part = 0; part < 2; part++) {
    for (guint i = 0; i < n; i++)
      types[i] = call->args[2 * i + part]->type;
    BaseType *common = n == 0 ? base_type_simple (BASE_TYPE_VOID) : relation_coerce_common_many (types, n);
    if (common == NULL)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_CREATE_MAP_KEY_DIFF_TYPES,
                                  "the %s of `map` have no common type", part == 0 ? "keys" : "values");
    parts[part] = relation_binder_keep_type (call->binder, common);
    for (guint i = 0; i < n; i++)
      relation_call_cast (call, 2 * i + part, base_type_ref (parts[part]));
  }
  for (guint i = 0; i < n; i++)
    value_null |= call->args[2 * i + 1]->nullable;
  if (!check_key (call, parts[0], error))
    return FALSE;
  relation_call_set_type (call, base_type_map (parts[0], parts[1], value_null));
  return TRUE;
}

static gboolean
lower_map (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const char *kernel = relation_printer_kernel (printer, "sluice_map", call->type, error);
  if (kernel == NULL)
    return FALSE;
  g_string_append_printf (out, "%s(", kernel);
  for (guint part = 0; part < 2; part++) {
    g_string_append (out, part > 0 ? ", CAST([" : "CAST([");
    for (guint i = part; i < call->n_args; i += 2) {
      g_string_append (out, i > part ? ", " : "");
      if (!relation_printer_expr (printer, call->args[i], out, error))
        return FALSE;
    }
    g_string_append (out, "] AS ");
    relation_printer_type (printer, part == 0 ? base_type_key (call->type) : base_type_value (call->type), out);
    g_string_append (out, "[])");
  }
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
bind_from_arrays (RelationCall *call, GError **error)
{
  for (guint i = 0; i < 2; i++)
    if (relation_arg_kind (call, i) != BASE_TYPE_ARRAY)
      return relation_call_type_error (call, i, "ARRAY", error);
  if (!check_key (call, base_type_element (call->args[0]->type), error))
    return FALSE;
  relation_call_set_type (call, base_type_map (base_type_element (call->args[0]->type),
                                               base_type_element (call->args[1]->type),
                                               base_type_contains_null (call->args[1]->type)));
  return TRUE;
}

static gboolean
bind_from_entries (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  const BaseType *entry = base_type_kind (type) == BASE_TYPE_ARRAY ? base_type_element (type) : NULL;
  if (entry == NULL || base_type_kind (entry) != BASE_TYPE_STRUCT || base_type_n_fields (entry) != 2)
    return relation_call_type_error (call, 0, "an array of pairs", error);
  if (!check_key (call, base_type_field (entry, 0)->type, error))
    return FALSE;
  relation_call_set_type (call, base_type_map (base_type_field (entry, 0)->type, base_type_field (entry, 1)->type,
                                               base_type_field (entry, 1)->nullable));
  call->nullable |= base_type_contains_null (type);
  return TRUE;
}

/* A NULL argument is a map<void,void>. */
static gboolean
need_map (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_VOID) {
    g_autoptr (BaseType) part = base_type_simple (BASE_TYPE_VOID);
    relation_call_cast (call, 0, base_type_map (part, part, TRUE));
  }
  return relation_arg_kind (call, 0) == BASE_TYPE_MAP || relation_call_type_error (call, 0, "MAP", error);
}

static gboolean
bind_parts (RelationCall *call, GError **error)
{
  if (!need_map (call, error))
    return FALSE;
  BaseType *type = call->args[0]->type;
  if (strcmp (call->name, "map_keys") == 0)
    relation_call_set_type (call, base_type_array (base_type_key (type), FALSE));
  else if (strcmp (call->name, "map_values") == 0)
    relation_call_set_type (call, base_type_array (base_type_value (type), base_type_contains_null (type)));
  else {
    g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
    base_struct_builder_add (builder, "key", base_type_key (type), FALSE, NULL);
    base_struct_builder_add (builder, "value", base_type_value (type), base_type_contains_null (type), NULL);
    g_autoptr (BaseType) entry = base_struct_builder_end (g_steal_pointer (&builder));
    relation_call_set_type (call, base_type_array (entry, FALSE));
  }
  return TRUE;
}

static gboolean
bind_concat (RelationCall *call, GError **error)
{
  g_autoptr (BaseType) common = NULL;
  for (guint i = 0; i < call->n_args; i++) {
    if (relation_arg_kind (call, i) != BASE_TYPE_MAP)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_MAP_CONCAT_DIFF_TYPES,
                                  "the arguments of `map_concat` must be maps of one type");
    BaseType *wider =
        common == NULL ? base_type_ref (call->args[i]->type) : relation_coerce_common (common, call->args[i]->type);
    if (wider == NULL)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_MAP_CONCAT_DIFF_TYPES,
                                  "the arguments of `map_concat` must be maps of one type");
    base_type_unref (common);
    common = wider;
  }
  if (common == NULL) {
    g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
    common = base_type_map (text, text, FALSE);
  }
  for (guint i = 0; i < call->n_args; i++)
    relation_call_cast (call, i, base_type_ref (common));
  relation_call_set_type (call, g_steal_pointer (&common));
  return TRUE;
}

static gboolean
lower_concat (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const char *kernel = relation_printer_kernel (printer, "sluice_map", call->type, error);
  if (kernel == NULL)
    return FALSE;
  if (call->n_args == 0)
    return relation_printer_template (printer, call, "CAST(MAP {} AS $t)", out, error);
  g_string_append (out, "(CASE WHEN ");
  for (guint i = 0; i < call->n_args; i++) {
    g_string_append (out, i > 0 ? " OR " : "");
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
    g_string_append (out, " IS NULL");
  }
  g_string_append_printf (out, " THEN NULL ELSE %s(", kernel);
  for (guint part = 0; part < 2; part++) {
    g_string_append (out, part > 0 ? ", " : "");
    for (guint i = 0; i < call->n_args; i++) {
      g_string_append (out, i > 0 ? " || " : "");
      g_string_append (out, part == 0 ? "map_keys(" : "map_values(");
      if (!relation_printer_expr (printer, call->args[i], out, error))
        return FALSE;
      g_string_append_c (out, ')');
    }
  }
  g_string_append (out, ") END)");
  return TRUE;
}

static gboolean
bind_contains_key (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  g_autoptr (BaseType) common = NULL;
  if (base_type_kind (type) == BASE_TYPE_MAP && relation_arg_kind (call, 1) != BASE_TYPE_VOID) {
    BaseTypeKind key = base_type_kind (base_type_key (type)), needle = relation_arg_kind (call, 1);
    if ((key == BASE_TYPE_STRING) == (needle == BASE_TYPE_STRING))
      common = relation_coerce_common (base_type_key (type), call->args[1]->type);
  }
  if (common == NULL)
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_MAP_FUNCTION_DIFF_TYPES,
                                "`map_contains_key` needs a map and a key of its type");
  relation_call_cast (call, 0, base_type_map (common, base_type_value (type), base_type_contains_null (type)));
  relation_call_cast (call, 1, g_steal_pointer (&common));
  return TRUE;
}

/* ---- lambdas over entries ---- */

/* The entries with both variables bound, and @before and @after around the body. */
static gboolean
print_entries (RelationPrinter *printer, const RelationExpr *call, const char *function, const char *before,
               const char *after, GString *out, GError **error)
{
  const RelationExpr *lambda = call->args[1];
  g_autoptr (GString) k = g_string_new (NULL);
  g_autoptr (GString) v = g_string_new (NULL);
  relation_printer_variable (printer, lambda->parameters[0], k);
  relation_printer_variable (printer, lambda->parameters[1], v);
  g_string_append_printf (out, "%s(map_entries(", function);
  if (!relation_printer_expr (printer, call->args[0], out, error))
    return FALSE;
  g_string_append_printf (out,
                          "), lambda sluice_x: %slist_extract(list_transform([sluice_x.key], lambda %s: "
                          "list_extract(list_transform([sluice_x.value], lambda %s: ",
                          before, k->str, v->str);
  if (!relation_printer_expr (printer, lambda->args[0], out, error))
    return FALSE;
  g_string_append_printf (out, "), 1)), 1)%s)", after);
  return TRUE;
}

static gboolean
bind_lambda (RelationCall *call, GError **error)
{
  return relation_call_refuse_null (call, 0, error);
}

static gboolean
lower_map_lambda (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const char *name = call->function->names;
  const char *kernel = relation_printer_kernel (printer, "sluice_map_from_entries", call->type, error);
  if (kernel == NULL)
    return FALSE;
  g_string_append_printf (out, "%s(", kernel);
  gboolean ok;
  if (strcmp (name, "map_filter") == 0)
    ok = print_entries (printer, call, "list_filter", "", "", out, error);
  else if (strcmp (name, "transform_keys") == 0)
    ok = print_entries (printer, call, "list_transform", "{'key': ", ", 'value': sluice_x.value}", out, error);
  else
    ok = print_entries (printer, call, "list_transform", "{'key': sluice_x.key, 'value': ", "}", out, error);
  g_string_append_c (out, ')');
  return ok;
}

const RelationFunction *
relation_function_rows_map (void)
{
  static const RelationFunction rows[] = {
    { .names = "named_struct",
      .args = "any*",
      .flags = NEVER,
      .doc = "a struct of names and values",
      .bind = bind_named_struct,
      .lower_call = lower_named_struct },
    { .names = "map",
      .args = "any*",
      .flags = NEVER,
      .doc = "a map of keys and values",
      .bind = bind_map,
      .lower_call = lower_map },
    { .names = "map_from_arrays",
      .args = "any any",
      .lower = "$k{sluice_map}($1, $2)",
      .doc = "a map of an array of keys and one of values",
      .bind = bind_from_arrays },
    { .names = "map_from_entries",
      .args = "any",
      .lower = "$k{sluice_map_from_entries}($1)",
      .doc = "a map of an array of pairs",
      .bind = bind_from_entries },
    { .names = "map_keys", .args = "any", .lower = "map_keys($1)", .doc = "the keys", .bind = bind_parts },
    { .names = "map_values", .args = "any", .lower = "map_values($1)", .doc = "the values", .bind = bind_parts },
    { .names = "map_entries",
      .args = "any",
      .lower = "map_entries($1)",
      .doc = "the entries as structs",
      .bind = bind_parts },
    { .names = "map_concat",
      .args = "any*",
      .doc = "all maps in one",
      .bind = bind_concat,
      .lower_call = lower_concat },
    { .names = "map_contains_key",
      .args = "any any",
      .result = "boolean",
      .lower = "sluice_map_has_key($1, $2)",
      .doc = "whether a key is there",
      .bind = bind_contains_key },
    { .names = "map_filter",
      .args = "map<K,V> (K,V)->boolean",
      .result = "map<K,V>",
      .doc = "entries for which a lambda is true",
      .bind = bind_lambda,
      .lower_call = lower_map_lambda },
    { .names = "transform_keys",
      .args = "map<K,V> (K,V)->U",
      .result = "map<U,V>",
      .doc = "each key changed by a lambda",
      .bind = bind_lambda,
      .lower_call = lower_map_lambda },
    { .names = "transform_values",
      .args = "map<K,V> (K,V)->U",
      .result = "map<K,U>",
      .doc = "each value changed by a lambda",
      .bind = bind_lambda,
      .lower_call = lower_map_lambda },
    { .names = NULL },
  };
  return rows;
}

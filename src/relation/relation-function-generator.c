/* Generators: functions that give rows. Their text is a list of structs c0, c1, …; the binder unnests it. */
#include "base-text.h"
#include "relation-function-private.h"

#include <string.h>

#define GENERATOR RELATION_FUNCTION_GENERATOR

static gboolean
bind_inline (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  if (base_type_kind (type) != BASE_TYPE_ARRAY || base_type_kind (base_type_element (type)) != BASE_TYPE_STRUCT)
    return relation_call_type_error (call, 0, "an array of structs", error);
  relation_call_set_type (call, base_type_ref (base_type_element (type)));
  return TRUE;
}

static gboolean
lower_inline (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  gboolean outer = strcmp (call->function->names, "inline_outer") == 0;
  const BaseType *row = base_type_element (call->args[0]->type);
  g_autoptr (GString) list = g_string_new (NULL);
  g_autoptr (GString) fields = g_string_new (NULL);
  g_autoptr (GString) nulls = g_string_new (NULL);
  if (!relation_printer_expr (printer, call->args[0], list, error))
    return FALSE;
  for (guint i = 0; i < base_type_n_fields (row); i++) {
    const BaseField *field = base_type_field (row, i);
    g_string_append_printf (fields, "%s'c%u': struct_extract(sluice_x, ", i > 0 ? ", " : "", i);
    base_text_append_sql_literal (fields, field->name);
    g_string_append_c (fields, ')');
    g_string_append_printf (nulls, "%s'c%u': CAST(NULL AS ", i > 0 ? ", " : "", i);
    relation_printer_type (printer, field->type, nulls);
    g_string_append_c (nulls, ')');
  }
  if (outer)
    g_string_append_printf (out, "CASE WHEN len(%s) > 0 THEN ", list->str);
  g_string_append_printf (out, "list_transform(%s, lambda sluice_x: {%s})", list->str, fields->str);
  if (outer)
    g_string_append_printf (out, " ELSE [{%s}] END", nulls->str);
  return TRUE;
}

/* stack(n, v1, v2, …): n rows */
static gboolean
bind_stack (RelationCall *call, GError **error)
{
  const RelationLiteral *n_rows = relation_call_constant (call, 0, error);
  if (n_rows == NULL)
    return FALSE;
  if (n_rows->is_null || n_rows->integer < 1 || n_rows->integer > 10000)
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_VALUE_OUT_OF_RANGE,
                                "the first argument of `stack` must be a number of rows above 0");
  guint rows = (guint) n_rows->integer;
  guint n_values = call->n_args - 1;
  guint columns = (n_values + rows - 1) / rows;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint c = 0; c < columns; c++) {
    BaseType *type = call->args[1 + c]->type;
    for (guint r = 1; r < rows && 1 + r * columns + c < call->n_args; r++) {
      BaseType *other = call->args[1 + r * columns + c]->type;
      g_autoptr (BaseType) common = relation_coerce_tightest (type, other);
      if (common == NULL)
        return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_STACK_COLUMN_DIFF_TYPES,
                                    "column %u of `stack` has values of different types", c);
      type = relation_binder_keep_type (call->binder, base_type_ref (common));
    }
    for (guint r = 0; r < rows && 1 + r * columns + c < call->n_args; r++)
      relation_call_cast (call, 1 + r * columns + c, base_type_ref (type));
    g_autofree char *name = g_strdup_printf ("col%u", c);
    base_struct_builder_add (builder, name, type, TRUE, NULL);
  }
  relation_call_set_type (call, base_struct_builder_end (g_steal_pointer (&builder)));
  call->data = GUINT_TO_POINTER (rows);
  return TRUE;
}

static gboolean
lower_stack (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  guint rows = GPOINTER_TO_UINT (call->data);
  guint columns = base_type_n_fields (call->type);
  g_string_append_c (out, '[');
  for (guint r = 0; r < rows; r++) {
    g_string_append (out, r > 0 ? ", {" : "{");
    for (guint c = 0; c < columns; c++) {
      guint index = 1 + r * columns + c;
      g_string_append_printf (out, "%s'c%u': ", c > 0 ? ", " : "", c);
      if (index < call->n_args) {
        if (!relation_printer_expr (printer, call->args[index], out, error))
          return FALSE;
        continue;
      }
      g_string_append (out, "CAST(NULL AS ");
      relation_printer_type (printer, base_type_field (call->type, c)->type, out);
      g_string_append_c (out, ')');
    }
    g_string_append_c (out, '}');
  }
  g_string_append_c (out, ']');
  return TRUE;
}

/* json_tuple(text, field, …) */
static gboolean
bind_json_tuple (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  for (guint i = 1; i < call->n_args; i++) {
    g_autofree char *name = g_strdup_printf ("c%u", i - 1);
    base_struct_builder_add (builder, name, text, TRUE, NULL);
  }
  relation_call_set_type (call, base_struct_builder_end (g_steal_pointer (&builder)));
  return TRUE;
}

static gboolean
lower_json_tuple (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  if (!relation_printer_expr (printer, call->args[0], text, error))
    return FALSE;
  g_string_append (out, "[{");
  for (guint i = 1; i < call->n_args; i++) {
    g_string_append_printf (out, "%s'c%u': sluice_json_field(%s, ", i > 1 ? ", " : "", i - 1, text->str);
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
    g_string_append_c (out, ')');
  }
  g_string_append (out, "}]");
  return TRUE;
}

static gboolean
bind_explode (RelationCall *call, GError **error)
{
  return relation_call_refuse_null (call, 0, error);
}

#define ELEMENTS "list_transform($1, lambda sluice_x: {'c0': sluice_x})"
#define NUMBERED "list_transform($1, lambda sluice_x, sluice_i: {'c0': CAST(sluice_i - 1 AS INTEGER), 'c1': sluice_x})"
#define ENTRIES  "list_transform(map_entries($1), lambda sluice_x: {'c0': sluice_x.key, 'c1': sluice_x.value})"
#define NUMBERED_ENTRIES                                                                                               \
  "list_transform(map_entries($1), lambda sluice_x, sluice_i: "                                                        \
  "{'c0': CAST(sluice_i - 1 AS INTEGER), 'c1': sluice_x.key, 'c2': sluice_x.value})"

const RelationFunction *
relation_function_rows_generator (void)
{
  static const RelationFunction rows[] = {
    { .names = "explode",
      .bind = bind_explode,
      .args = "array<T>",
      .result = "col:T",
      .lower = ELEMENTS,
      .flags = GENERATOR,
      .doc = "a row per element" },
    { .names = "explode",
      .bind = bind_explode,
      .args = "map<K,V>",
      .result = "key:K value:V",
      .lower = ENTRIES,
      .flags = GENERATOR,
      .doc = "a row per entry" },
    { .names = "explode_outer",
      .bind = bind_explode,
      .args = "array<T>",
      .result = "col:T",
      .lower = "CASE WHEN len($1) > 0 THEN " ELEMENTS " ELSE [{'c0': NULL}] END",
      .flags = GENERATOR,
      .doc = "a row per element, one of NULL when there is none" },
    { .names = "explode_outer",
      .bind = bind_explode,
      .args = "map<K,V>",
      .result = "key:K value:V",
      .lower = "CASE WHEN cardinality($1) > 0 THEN " ENTRIES " ELSE [{'c0': NULL, 'c1': NULL}] END",
      .flags = GENERATOR,
      .doc = "a row per entry, one of NULL when there is none" },
    { .names = "posexplode",
      .bind = bind_explode,
      .args = "array<T>",
      .result = "pos:int col:T",
      .lower = NUMBERED,
      .flags = GENERATOR,
      .doc = "a row per element with its position from 0" },
    { .names = "posexplode",
      .bind = bind_explode,
      .args = "map<K,V>",
      .result = "pos:int key:K value:V",
      .lower = NUMBERED_ENTRIES,
      .flags = GENERATOR,
      .doc = "a row per entry with its position from 0" },
    { .names = "posexplode_outer",
      .bind = bind_explode,
      .args = "array<T>",
      .result = "pos:int col:T",
      .lower = "CASE WHEN len($1) > 0 THEN " NUMBERED " ELSE [{'c0': NULL, 'c1': NULL}] END",
      .flags = GENERATOR,
      .doc = "a row per element with its position, one of NULL when there is none" },
    { .names = "posexplode_outer",
      .bind = bind_explode,
      .args = "map<K,V>",
      .result = "pos:int key:K value:V",
      .lower =
          "CASE WHEN cardinality($1) > 0 THEN " NUMBERED_ENTRIES " ELSE [{'c0': NULL, 'c1': NULL, 'c2': NULL}] END",
      .flags = GENERATOR,
      .doc = "a row per entry with its position, one of NULL when there is none" },
    { .names = "inline",
      .args = "any",
      .flags = GENERATOR,
      .doc = "a row per struct",
      .bind = bind_inline,
      .lower_call = lower_inline },
    { .names = "inline_outer",
      .args = "any",
      .flags = GENERATOR,
      .doc = "a row per struct, one of NULL when there is none",
      .bind = bind_inline,
      .lower_call = lower_inline },
    { .names = "stack",
      .args = "int any+",
      .flags = GENERATOR,
      .doc = "n rows made of the values",
      .bind = bind_stack,
      .lower_call = lower_stack },
    { .names = "json_tuple",
      .args = "string string+",
      .flags = GENERATOR,
      .doc = "fields of a JSON object as columns",
      .bind = bind_json_tuple,
      .lower_call = lower_json_tuple },
    { .names = NULL },
  };
  return rows;
}

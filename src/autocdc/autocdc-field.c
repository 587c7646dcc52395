/* Values of columns and of fields as DuckDB text. */
#include "autocdc-work-private.h"
#include "base-text.h"
#include "duck-type.h"

static void append_value (GString *out, const char *expr, const BaseType *from, const BaseType *to, guint depth);

static void
append_struct_value (GString *out, const char *expr, const BaseType *from, const BaseType *to, guint depth)
{
  g_string_append_printf (out, "CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(", expr);
  for (guint i = 0; i < base_type_n_fields (to); i++) {
    const BaseField *field = base_type_field (to, i);
    int index = base_type_field_index (from, field->name, TRUE);

    g_string_append (out, i ? ", " : "");
    base_text_append_sql_identifier (out, field->name);
    g_string_append (out, " := ");
    if (index < 0) {
      g_string_append (out, "NULL::");
      duck_type_append_text (out, field->type);
    } else {
      const BaseField *source = base_type_field (from, (guint) index);
      g_autofree char *name = base_text_sql_literal (source->name);
      g_autofree char *leaf = g_strdup_printf ("struct_extract(%s, %s)", expr, name);

      append_value (out, leaf, source->type, field->type, depth);
    }
  }
  g_string_append (out, ") END");
}

static void
append_value (GString *out, const char *expr, const BaseType *from, const BaseType *to, guint depth)
{
  BaseTypeKind kind = base_type_kind (to);
  g_autofree char *from_text = duck_type_text (from), *to_text = duck_type_text (to);
  g_autofree char *item = g_strdup_printf ("item%u", depth);
  gboolean equal = g_str_equal (from_text, to_text);

  if (equal && !base_type_holds (to, BASE_TYPE_FLOAT) && !base_type_holds (to, BASE_TYPE_DOUBLE)) {
    g_string_append (out, expr);
  } else if (kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE) {
    g_string_append_printf (out, "CASE WHEN %s = 0 THEN 0::%s ELSE %s::%s END", expr, to_text, expr, to_text);
  } else if (kind != base_type_kind (from) || !base_type_is_nested (to)) {
    g_string_append_printf (out, "CAST(%s AS %s)", expr, to_text);
  } else if (kind == BASE_TYPE_STRUCT) {
    append_struct_value (out, expr, from, to, depth);
  } else if (kind == BASE_TYPE_ARRAY) {
    g_string_append_printf (out, "list_transform(%s, lambda %s: ", expr, item);
    append_value (out, item, base_type_element (from), base_type_element (to), depth + 1);
    g_string_append_c (out, ')');
  } else {
    g_autofree char *key = g_strdup_printf ("%s.\"key\"", item), *value = g_strdup_printf ("%s.\"value\"", item);

    g_string_append_printf (out, "map_from_entries(list_transform(map_entries(%s), lambda %s: struct_pack(k := ", expr,
                            item);
    append_value (out, key, base_type_key (from), base_type_key (to), depth + 1);
    g_string_append (out, ", v := ");
    append_value (out, value, base_type_value (from), base_type_value (to), depth + 1);
    g_string_append (out, ")))");
  }
}

void
autocdc_append_value (GString *out, const char *expr, const BaseType *from, const BaseType *to)
{
  append_value (out, expr, from, to, 0);
}

void
autocdc_append_field (GString *out, const AutoCdcField *field, const char *expr, const BaseType *type)
{
  const BaseType *leaf_type = type ? autocdc_leaf_type (type, field->path + 1) : NULL;
  g_autofree char *leaf = g_strdup (expr);

  if (!leaf_type) {
    g_string_append (out, "NULL::");
    duck_type_append_text (out, field->type);
    return;
  }
  for (const char *const *name = field->path + 1; *name; name++) {
    const BaseField *part = base_type_field (type, (guint) base_type_field_index (type, *name, TRUE));
    g_autofree char *outer = g_steal_pointer (&leaf), *literal = base_text_sql_literal (part->name);

    leaf = g_strdup_printf ("struct_extract(%s, %s)", outer, literal);
    type = part->type;
  }
  if (field->empty_is_null)
    g_string_append (out, "nullif(");
  append_value (out, leaf, leaf_type, field->type, 0);
  if (field->empty_is_null)
    g_string_append (out, ", '')");
}

/* Whether a struct of NULLs is no value of @type. */
static gboolean
needs_a_value (const BaseType *type)
{
  if (base_type_kind (type) != BASE_TYPE_STRUCT)
    return FALSE;
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);

    if (!field->nullable && (base_type_kind (field->type) != BASE_TYPE_STRUCT || needs_a_value (field->type)))
      return TRUE;
  }
  return FALSE;
}

/* @path: the way to a struct or leaf of type @type, NULL-terminated. @nulls: gets ` AND v3 IS NULL` for every leaf. */
static void
append_rebuilt (const AutoCdcWork *work, GString *out, GString *nulls, GPtrArray *path, const BaseType *type,
                const char *table)
{
  int index = autocdc_domain_field (work->layout->domain, (const char *const *) path->pdata);
  g_autoptr (GString) parts = NULL, all_null = NULL;

  if (index >= 0) {
    g_string_append_printf (out, "%s.v%d", table, index);
    g_string_append_printf (nulls, " AND %s.v%d IS NULL", table, index);
    return;
  }
  parts = g_string_new ("struct_pack(");
  all_null = g_string_new (NULL);
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);

    g_string_append (parts, i ? ", " : "");
    base_text_append_sql_identifier (parts, field->name);
    g_string_append (parts, " := ");
    g_ptr_array_insert (path, (gint) path->len - 1, field->name);
    append_rebuilt (work, parts, all_null, path, field->type, table);
    g_ptr_array_remove_index (path, path->len - 2);
  }
  if (needs_a_value (type))
    g_string_append_printf (out, "CASE WHEN true%s THEN NULL ELSE %s) END", all_null->str, parts->str);
  else
    g_string_append_printf (out, "%s)", parts->str);
  g_string_append (nulls, all_null->str);
}

void
autocdc_append_column (const AutoCdcWork *work, GString *out, guint column, const char *table)
{
  const BaseField *field = base_type_field (work->layout->schema, column);
  g_autoptr (GPtrArray) path = g_ptr_array_new ();
  g_autoptr (GString) nulls = g_string_new (NULL);

  g_ptr_array_add (path, field->name);
  g_ptr_array_add (path, NULL);
  append_rebuilt (work, out, nulls, path, field->type, table);
}

/* The total order of autocdc.md §5.2 as DuckDB expressions.
 *
 * DuckDB ranks a NULL inside a struct or list highest and Spark lowest, so nested values are never compared themselves: every
 * leaf is wrapped in create_sort_key(leaf, 'ASC NULLS FIRST'), which is never NULL, the struct is built again from the wrapped
 * leaves, and that is sort-keyed. A NULL struct or list inside becomes a key that is below every other in the same way.
 */
#include "base-text.h"
#include "relation-plan.h"

#define KEY_OPEN  "create_sort_key("
#define KEY_CLOSE ", 'ASC NULLS FIRST')"

static void append_rebuilt (GString *out, const char *value, const BaseType *type, guint depth);

/* The sort key of @value, never NULL. */
static void
append_key (GString *out, const char *value, const BaseType *type, guint depth)
{
  BaseTypeKind kind = base_type_kind (type);

  g_string_append (out, KEY_OPEN);
  if (kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE)
    g_string_append_printf (out, "(%s + 0)", value); /* -0.0 becomes 0.0 */
  else
    append_rebuilt (out, value, type, depth);
  g_string_append (out, KEY_CLOSE);
}

static void
append_struct (GString *out, const char *value, const BaseType *type, guint depth)
{
  guint n = base_type_n_fields (type);

  g_string_append_printf (out, "CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(", value);
  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (type, i);
    g_autofree char *name = base_text_sql_literal (field->name);
    g_autofree char *part = g_strdup_printf ("struct_extract(%s, %s)", value, name);
    g_string_append_printf (out, "%sf%u := ", i > 0 ? ", " : "", i);
    append_key (out, part, field->type, depth);
  }
  if (n == 0)
    g_string_append (out, "f0 := 0");
  g_string_append (out, ") END");
}

static void
append_rebuilt (GString *out, const char *value, const BaseType *type, guint depth)
{
  g_autofree char *variable = g_strdup_printf ("e%u", depth);

  switch (base_type_kind (type)) {
  case BASE_TYPE_STRUCT:
    append_struct (out, value, type, depth);
    return;
  case BASE_TYPE_ARRAY:
    g_string_append_printf (out, "list_transform(%s, lambda %s: ", value, variable);
    append_key (out, variable, base_type_element (type), depth + 1);
    g_string_append_c (out, ')');
    return;
  case BASE_TYPE_MAP: {
    g_autofree char *key = g_strdup_printf ("%s.key", variable);
    g_autofree char *item = g_strdup_printf ("%s.value", variable);
    g_string_append_printf (out, "list_sort(list_transform(map_entries(%s), lambda %s: struct_pack(f0 := ", value,
                            variable);
    append_key (out, key, base_type_key (type), depth + 1);
    g_string_append (out, ", f1 := ");
    append_key (out, item, base_type_value (type), depth + 1);
    g_string_append (out, ")))");
    return;
  }
  case BASE_TYPE_VARIANT:
    g_string_append_printf (out,
                            "CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(f0 := " KEY_OPEN "%s.\"value\"" KEY_CLOSE
                            ", f1 := " KEY_OPEN "%s.metadata" KEY_CLOSE ") END",
                            value, value, value);
    return;
  default:
    g_string_append (out, value);
  }
}

char *
relation_order_key (const char *column, const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);
  GString *out;

  if (kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE)
    return g_strdup_printf ("(%s + 0)", column);
  if (!base_type_is_nested (type) && kind != BASE_TYPE_VARIANT)
    return g_strdup (column);
  out = g_string_new (NULL);
  g_string_append_printf (out, "CASE WHEN %s IS NULL THEN NULL ELSE ", column);
  append_key (out, column, type, 0);
  g_string_append (out, " END");
  return g_string_free (out, FALSE);
}

char *
relation_tie_key (const char *column, const BaseType *type)
{
  GString *out = g_string_new (NULL);

  /* create_sort_key() of a plain integer or date is a BIGINT, of anything else a BLOB: one level of struct makes it a BLOB always. */
  g_string_append (out, KEY_OPEN "struct_pack(f := ");
  append_key (out, column, type, 0);
  g_string_append (out, ")" KEY_CLOSE);
  return g_string_free (out, FALSE);
}

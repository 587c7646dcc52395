/* How one column is read from one Parquet file: the type to ask DuckDB for, and the expression that makes the schema's type of it.
 *
 * Without a footer the file is believed to be as the schema says. With one, physical names follow field ids, timestamps
 * without a zone are taken as UTC, and what only a rounding or reinterpreting cast could read is refused.
 *
 * A number of another type than the schema's is asked for as the file has it and cast outside of the reader. Inside, DuckDB would
 * cast the constants of a filter to the file's type instead, and `f < 0.7` of a float that became a double finds other rows.
 */
#include "base-text.h"
#include "delta-reading-private.h"
#include "duck-type.h"

#include <string.h>

static gboolean
is_integer_name (const char *name)
{
  static const char *const names[] = { "TINYINT",   "SMALLINT", "INTEGER", "BIGINT", "UTINYINT",
                                       "USMALLINT", "UINTEGER", "UBIGINT", NULL };

  return g_strv_contains (names, name);
}

/* The scale of `DECIMAL(p,s)`, -1 for other names. */
static gint64
decimal_scale (const char *name)
{
  const char *comma = g_str_has_prefix (name, "DECIMAL(") ? strchr (name, ',') : NULL;

  return comma != NULL ? g_ascii_strtoll (comma + 1, NULL, 10) : -1;
}

static DeltaFit
number_fit (const BaseType *type, const char *name, gboolean fits)
{
  g_autofree char *own = NULL;

  if (!fits)
    return DELTA_FIT_UNSAFE;
  own = duck_type_text (type);
  return strcmp (own, name) == 0 ? DELTA_FIT_AS_IS : DELTA_FIT_CONVERT;
}

/* How a leaf of @type is read from a column that DuckDB takes for @name. */
static DeltaFit
leaf_fit (const BaseType *type, const char *name)
{
  gboolean fits;

  switch (base_type_kind (type)) {
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    return number_fit (type, name, is_integer_name (name));
  case BASE_TYPE_FLOAT:
    fits = strcmp (name, "FLOAT") == 0;
    break;
  case BASE_TYPE_DOUBLE:
    return number_fit (type, name,
                       strcmp (name, "DOUBLE") == 0 || strcmp (name, "FLOAT") == 0 ||
                           (is_integer_name (name) && strstr (name, "BIG") == NULL));
  case BASE_TYPE_DECIMAL:
    return number_fit (type, name,
                       is_integer_name (name) ||
                           (decimal_scale (name) >= 0 && decimal_scale (name) <= base_type_scale (type)));
  case BASE_TYPE_BOOLEAN:
    fits = strcmp (name, "BOOLEAN") == 0;
    break;
  case BASE_TYPE_DATE:
    fits = strcmp (name, "DATE") == 0;
    break;
  case BASE_TYPE_STRING:
    if (strcmp (name, "BLOB") == 0)
      return DELTA_FIT_CONVERT;
    fits = strcmp (name, "VARCHAR") == 0 || strcmp (name, "JSON") == 0;
    break;
  case BASE_TYPE_BINARY:
    if (strcmp (name, "VARCHAR") == 0)
      return DELTA_FIT_CONVERT;
    fits = strcmp (name, "BLOB") == 0 || strcmp (name, "GEOMETRY") == 0;
    break;
  case BASE_TYPE_TIMESTAMP:
    fits = strcmp (name, "TIMESTAMP WITH TIME ZONE") == 0;
    return fits ? DELTA_FIT_AS_IS : g_str_has_prefix (name, "TIMESTAMP") ? DELTA_FIT_CONVERT : DELTA_FIT_UNSAFE;
  case BASE_TYPE_TIMESTAMP_NTZ:
    if (strcmp (name, "TIMESTAMP WITH TIME ZONE") == 0 || strcmp (name, "DATE") == 0)
      return DELTA_FIT_CONVERT;
    fits = g_str_has_prefix (name, "TIMESTAMP");
    break;
  default:
    fits = TRUE;
  }
  return fits ? DELTA_FIT_AS_IS : DELTA_FIT_UNSAFE;
}

/* The type of the file, and a cast outside. */
static void
append_cast (const BaseType *type, const char *name, const char *input, GString *type_text, GString *expression)
{
  g_string_append (type_text, name);
  g_string_append_printf (expression, "CAST(%s AS ", input);
  duck_type_append_text (expression, type);
  g_string_append_c (expression, ')');
}

/* The leaf below @node that fits worst; (nullable) @worst: (out): its node. */
DeltaFit
delta_reading_fit (const BaseType *type, const DeltaFooterNode *node, DeltaMapping mapping,
                   const DeltaFooterNode **worst)
{
  DeltaFit fit = DELTA_FIT_AS_IS;

  if (node == NULL)
    return DELTA_FIT_AS_IS;
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    return delta_reading_fit (base_type_element (type), delta_footer_element (node), mapping, worst);
  case BASE_TYPE_MAP:
    fit = delta_reading_fit (base_type_key (type), delta_footer_map_part (node, 0), mapping, worst);
    return MAX (fit, delta_reading_fit (base_type_value (type), delta_footer_map_part (node, 1), mapping, worst));
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      const DeltaFooterNode *child = mapping == DELTA_MAPPING_ID && node->has_ids
                                         ? delta_footer_child_by_id (node, delta_field_id (field))
                                         : delta_footer_child (node, delta_field_physical_name (field, mapping));
      fit = MAX (fit, delta_reading_fit (field->type, child, mapping, worst));
    }
    return fit;
  default:
    fit = node->type != NULL ? leaf_fit (type, node->type) : DELTA_FIT_AS_IS;
    if (fit == DELTA_FIT_UNSAFE)
      *worst = node;
    return fit;
  }
}

/* Writes the DuckDB type in which @type is read from a file whose footer has @node ((nullable): not looked at) there, and the
 * expression that turns @input, of that type, into the physical form of @type. Returns: whether @expression differs. */
gboolean
delta_reading_type (const BaseType *type, const DeltaFooterNode *node, DeltaMapping mapping, const char *input,
                    guint depth, GString *type_text, GString *expression)
{
  gboolean differs = FALSE;

  switch (base_type_kind (type)) {
  case BASE_TYPE_TIMESTAMP:
    if (node == NULL || !node->wall_clock)
      break;
    /* Stored without a zone, meant as UTC; a cast would use the session's zone. */
    g_string_append (type_text, "TIMESTAMP");
    g_string_append_printf (expression, "timezone('UTC', %s)", input);
    return TRUE;
  case BASE_TYPE_TIMESTAMP_NTZ:
    if (node == NULL || node->type == NULL || leaf_fit (type, node->type) != DELTA_FIT_CONVERT)
      break;
    if (strcmp (node->type, "DATE") == 0) {
      append_cast (type, node->type, input, type_text, expression);
      return TRUE;
    }
    g_string_append (type_text, "TIMESTAMP WITH TIME ZONE");
    g_string_append_printf (expression, "timezone('UTC', %s)", input);
    return TRUE;
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DOUBLE:
  case BASE_TYPE_DECIMAL:
    if (node == NULL || node->type == NULL || leaf_fit (type, node->type) != DELTA_FIT_CONVERT)
      break;
    append_cast (type, node->type, input, type_text, expression);
    return TRUE;
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    if (node == NULL || node->type == NULL || leaf_fit (type, node->type) != DELTA_FIT_CONVERT) {
      if (base_type_kind (type) == BASE_TYPE_STRING || depth > 0)
        break;
      /* DuckDB 1.5.5 asks a Bloom filter for the printed form of a BLOB and so overlooks rows: no filter gets through to the file. */
      duck_type_append_text (type_text, type);
      g_string_append_printf (expression, "CASE WHEN %s IS NOT NULL THEN %s END", input, input);
      return TRUE;
    }
    /* Text that its writer did not mark as text, or the reverse: DuckDB's cast would print or read escapes. */
    g_string_append (type_text, base_type_kind (type) == BASE_TYPE_STRING ? "BLOB" : "VARCHAR");
    g_string_append_printf (expression, base_type_kind (type) == BASE_TYPE_STRING ? "decode(%s)" : "encode(%s)", input);
    return TRUE;
  case BASE_TYPE_ARRAY: {
    g_autofree char *name = g_strdup_printf ("x%u", depth);
    g_autoptr (GString) inner = g_string_new (NULL);
    differs = delta_reading_type (base_type_element (type), delta_footer_element (node), mapping, name, depth + 1,
                                  type_text, inner);
    g_string_append (type_text, "[]");
    if (differs)
      g_string_append_printf (expression, "list_transform(%s, lambda %s: %s)", input, name, inner->str);
    else
      g_string_append (expression, input);
    return differs;
  }
  case BASE_TYPE_MAP: {
    g_autofree char *name = g_strdup_printf ("x%u", depth);
    g_autoptr (GString) key = g_string_new (NULL);
    g_autoptr (GString) value = g_string_new (NULL);
    g_string_append (type_text, "MAP(");
    differs = delta_reading_type (base_type_key (type), delta_footer_map_part (node, 0), mapping, name, depth + 1,
                                  type_text, key);
    g_string_append (type_text, ", ");
    differs |= delta_reading_type (base_type_value (type), delta_footer_map_part (node, 1), mapping, name, depth + 1,
                                   type_text, value);
    g_string_append_c (type_text, ')');
    if (differs)
      g_string_append_printf (expression,
                              "CASE WHEN %s IS NULL THEN NULL ELSE map(list_transform(map_keys(%s), lambda %s: %s), "
                              "list_transform(map_values(%s), lambda %s: %s)) END",
                              input, input, name, key->str, input, name, value->str);
    else
      g_string_append (expression, input);
    return differs;
  }
  case BASE_TYPE_STRUCT: {
    g_autoptr (GString) pack = g_string_new (NULL);
    g_string_append (type_text, "STRUCT(");
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      const char *physical = delta_field_physical_name (field, mapping);
      const DeltaFooterNode *child = delta_footer_child (node, physical);
      g_autofree char *absent = NULL;
      g_autoptr (GString) member = g_string_new (NULL);
      g_autoptr (GString) inner = g_string_new (NULL);
      if (mapping == DELTA_MAPPING_ID && node != NULL && node->has_ids) {
        child = delta_footer_child_by_id (node, delta_field_id (field));
        /* A name that no file has: the member comes back NULL. */
        physical = child != NULL ? child->name : (absent = g_strdup_printf (DELTA_NO_COLUMN "_%u", i));
      }
      g_string_append (type_text, i > 0 ? ", " : "");
      base_text_append_sql_identifier (type_text, physical);
      g_string_append_c (type_text, ' ');
      g_string_append_printf (member, "struct_extract(%s, ", input);
      base_text_append_sql_literal (member, physical);
      g_string_append_c (member, ')');
      differs |= delta_reading_type (field->type, child, mapping, member->str, depth + 1, type_text, inner);
      differs |= strcmp (physical, field->name) != 0;
      g_string_append (pack, i > 0 ? ", " : "");
      base_text_append_sql_identifier (pack, field->name);
      g_string_append_printf (pack, " := %s", inner->str);
    }
    g_string_append_c (type_text, ')');
    if (differs)
      g_string_append_printf (expression, "CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(%s) END", input, pack->str);
    else
      g_string_append (expression, input);
    return differs;
  }
  default:
    break;
  }
  duck_type_append_text (type_text, type);
  g_string_append (expression, input);
  return FALSE;
}

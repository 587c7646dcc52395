/* Values of sequences as JSON and as literals. */
#include "autocdc-value-private.h"
#include "base-text.h"
#include "duck-type.h"
#include "relation-literal.h"

#include <math.h>
#include <string.h>

/* ---- to JSON ---- */

static json_t *
decimal_json (DuckInt128 unscaled, guint scale)
{
  char digits[64];
  guint n = sizeof digits, n_digits = 0;
  gboolean negative = unscaled < 0;
  unsigned __int128 rest = negative ? -(unsigned __int128) unscaled : (unsigned __int128) unscaled;

  do {
    if (n_digits == scale && scale > 0)
      digits[--n] = '.';
    digits[--n] = (char) ('0' + (int) (rest % 10));
    rest /= 10;
    n_digits++;
  } while (rest > 0 || n_digits <= scale);
  if (negative)
    digits[--n] = '-';
  return json_stringn (digits + n, sizeof digits - n);
}

static json_t *
double_json (double value, gboolean single)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    return json_string ("NaN");
  return json_string (g_ascii_formatd (text, sizeof text, single ? "%.9g" : "%.17g", value));
}

static json_t *
bytes_json (const char *bytes, gsize size)
{
  g_autoptr (GString) hex = g_string_sized_new (2 * size);

  for (gsize i = 0; i < size; i++)
    g_string_append_printf (hex, "%02x", (guint8) bytes[i]);
  return json_string (hex->str);
}

static json_t *
nested_json (const DuckVector *vector, guint64 row, const BaseType *type)
{
  json_t *array = json_array ();

  if (base_type_kind (type) == BASE_TYPE_STRUCT) {
    for (guint i = 0; i < base_type_n_fields (type); i++)
      json_array_append_new (array, autocdc_value_json (&vector->children[i], row, base_type_field (type, i)->type));
  } else {
    DuckListEntry entry = duck_vector_list (vector, row);

    for (guint64 i = 0; i < entry.length; i++)
      json_array_append_new (array,
                             autocdc_value_json (&vector->children[0], entry.offset + i, base_type_element (type)));
  }
  return array;
}

json_t *
autocdc_value_json (const DuckVector *vector, guint64 row, const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);
  const char *text;
  gsize size;

  if (kind == BASE_TYPE_VOID || duck_vector_is_null (vector, row))
    return json_null ();
  switch (kind) {
  case BASE_TYPE_STRUCT:
  case BASE_TYPE_ARRAY:
    return nested_json (vector, row, type);
  case BASE_TYPE_BOOLEAN:
    return json_boolean (duck_vector_bool (vector, row));
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return double_json (duck_vector_double (vector, row), kind == BASE_TYPE_FLOAT);
  case BASE_TYPE_DECIMAL:
    return decimal_json (duck_vector_int128 (vector, row), base_type_scale (type));
  case BASE_TYPE_STRING:
    text = duck_vector_string (vector, row, &size);
    return json_stringn (text, size);
  case BASE_TYPE_BINARY:
    text = duck_vector_string (vector, row, &size);
    return bytes_json (text, size);
  default:
    return json_integer (duck_vector_int64 (vector, row));
  }
}

/* ---- from JSON ---- */

static RelationLiteral *
integer_literal (const json_t *json, const BaseType *type)
{
  gint64 value = json_integer_value (json), bound = G_MAXINT64;

  switch (base_type_kind (type)) {
  case BASE_TYPE_BYTE:
    bound = G_MAXINT8;
    break;
  case BASE_TYPE_SHORT:
    bound = G_MAXINT16;
    break;
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_DATE:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
    bound = G_MAXINT32;
    break;
  default:
    break;
  }
  if (!json_is_integer (json) || value > bound || value < -bound - 1)
    return NULL;
  return relation_literal_new_integer (type, value);
}

static RelationLiteral *
double_literal (const char *text, const BaseType *type)
{
  char *end;
  double value = text ? g_ascii_strtod (text, &end) : 0;

  return text && end != text && *end == '\0' ? relation_literal_new_double (type, value) : NULL;
}

static RelationLiteral *
decimal_literal (const char *text, const BaseType *type)
{
  guint scale = base_type_scale (type), whole, fraction = 0;
  const char *digits = text && *text == '-' ? text + 1 : text;

  if (!digits)
    return NULL;
  whole = (guint) strspn (digits, "0123456789");
  if (scale > 0 && digits[whole] == '.')
    fraction = (guint) strspn (digits + whole + 1, "0123456789") + 1;
  if (whole == 0 || digits[whole + fraction] != '\0' || fraction != (scale > 0 ? scale + 1 : 0) ||
      whole > MAX (base_type_precision (type) - scale, 1))
    return NULL;
  return relation_literal_new_text (type, text, strlen (text));
}

static RelationLiteral *
bytes_literal (const char *hex, const BaseType *type)
{
  gsize size = hex ? strlen (hex) : 0;
  g_autofree char *bytes = g_malloc (size / 2 + 1);

  if (!hex || size % 2 != 0)
    return NULL;
  for (gsize i = 0; i < size; i += 2) {
    if (!g_ascii_isxdigit (hex[i]) || !g_ascii_isxdigit (hex[i + 1]))
      return NULL;
    bytes[i / 2] = (char) (g_ascii_xdigit_value (hex[i]) << 4 | g_ascii_xdigit_value (hex[i + 1]));
  }
  return relation_literal_new_text (type, bytes, size / 2);
}

static RelationLiteral *
literal_of (const json_t *json, const BaseType *type)
{
  const char *text = json_string_value (json);

  if (json_is_null (json))
    return relation_literal_new_null (type);
  switch (base_type_kind (type)) {
  case BASE_TYPE_BOOLEAN:
    return json_is_boolean (json) ? relation_literal_new_integer (type, json_is_true (json)) : NULL;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return double_literal (text, type);
  case BASE_TYPE_DECIMAL:
    return decimal_literal (text, type);
  case BASE_TYPE_STRING:
    return text ? relation_literal_new_text (type, text, json_string_length (json)) : NULL;
  case BASE_TYPE_BINARY:
    return bytes_literal (text, type);
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return integer_literal (json, type);
  default:
    return NULL;
  }
}

static gboolean
print_struct (const json_t *json, const BaseType *type, GString *out)
{
  guint n = base_type_n_fields (type);

  if (json_array_size (json) != n)
    return FALSE;
  g_string_append (out, "struct_pack(");
  for (guint i = 0; i < n; i++) {
    g_string_append (out, i ? ", " : "");
    base_text_append_sql_identifier (out, base_type_field (type, i)->name);
    g_string_append (out, " := ");
    if (!autocdc_value_print (json_array_get (json, i), base_type_field (type, i)->type, out))
      return FALSE;
  }
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_array (const json_t *json, const BaseType *type, GString *out)
{
  g_string_append (out, "CAST([");
  for (gsize i = 0; i < json_array_size (json); i++) {
    g_string_append (out, i ? ", " : "");
    if (!autocdc_value_print (json_array_get (json, i), base_type_element (type), out))
      return FALSE;
  }
  g_string_append (out, "] AS ");
  duck_type_append_text (out, type);
  g_string_append_c (out, ')');
  return TRUE;
}

gboolean
autocdc_value_print (const json_t *json, const BaseType *type, GString *out)
{
  g_autoptr (RelationLiteral) literal = NULL;

  if (json_is_array (json) && base_type_kind (type) == BASE_TYPE_STRUCT)
    return print_struct (json, type, out);
  if (json_is_array (json) && base_type_kind (type) == BASE_TYPE_ARRAY)
    return print_array (json, type, out);
  if (!(literal = literal_of (json, type)))
    return FALSE;
  relation_literal_print (literal, out);
  return TRUE;
}

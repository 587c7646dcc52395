/* Values of the log in the text of queries, and in lent tables. */
#include "base-text.h"
#include "delta-literal-private.h"

#include <math.h>

static void
append_int128 (GString *out, __int128 value)
{
  char digits[44];
  char *at = digits + sizeof digits;
  unsigned __int128 rest = value < 0 ? -(unsigned __int128) value : (unsigned __int128) value;

  *--at = '\0';
  do {
    *--at = (char) ('0' + (int) (rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (value < 0)
    *--at = '-';
  g_string_append (out, at);
}

static void
append_real (GString *out, double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    g_string_append (out, "'NaN'");
  else if (isinf (value))
    g_string_append (out, value > 0 ? "'Infinity'" : "'-Infinity'");
  else
    g_string_append_printf (out, "'%s'", g_ascii_dtostr (buffer, sizeof buffer, value));
}

/* `CAST(… AS DECIMAL(10,2))` of an unscaled value. */
static void
append_decimal (GString *out, __int128 unscaled, guint scale)
{
  g_autoptr (GString) digits = g_string_new (NULL);
  gboolean negative = unscaled < 0;

  append_int128 (digits, negative ? -unscaled : unscaled);
  while (digits->len <= scale)
    g_string_prepend_c (digits, '0');
  if (scale > 0)
    g_string_insert_c (digits, (gssize) (digits->len - scale), '.');
  g_string_append_printf (out, "'%s%s'", negative ? "-" : "", digits->str);
}

void
delta_value_append_sql (GString *out, const BaseType *type, const DeltaValue *value)
{
  g_autofree char *type_text = duck_type_text (type);

  if (value->is_null) {
    g_string_append_printf (out, "NULL::%s", type_text);
    return;
  }
  switch (base_type_kind (type)) {
  case BASE_TYPE_DATE:
    g_string_append (out, "(DATE '1970-01-01' + ");
    append_int128 (out, value->integer);
    g_string_append (out, "::INTEGER)");
    return;
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    g_string_append (out, base_type_kind (type) == BASE_TYPE_TIMESTAMP ? "timezone('UTC', make_timestamp("
                                                                       : "(make_timestamp(");
    append_int128 (out, value->integer);
    g_string_append (out, "::BIGINT))");
    return;
  case BASE_TYPE_BINARY:
    g_string_append (out, "from_hex('");
    for (gsize i = 0; i < value->text_bytes; i++)
      g_string_append_printf (out, "%02X", (guchar) value->text[i]);
    g_string_append (out, "')");
    return;
  default:
    break;
  }
  g_string_append (out, "CAST(");
  if (base_type_kind (type) == BASE_TYPE_STRING) {
    g_autofree char *text = g_strndup (value->text, value->text_bytes);
    base_text_append_sql_literal (out, text);
  } else if (base_type_kind (type) == BASE_TYPE_DECIMAL) {
    append_decimal (out, value->integer, base_type_scale (type));
  } else if (base_type_kind (type) == BASE_TYPE_FLOAT || base_type_kind (type) == BASE_TYPE_DOUBLE) {
    append_real (out, value->real);
  } else if (base_type_kind (type) == BASE_TYPE_BOOLEAN) {
    g_string_append (out, value->integer != 0 ? "TRUE" : "FALSE");
  } else {
    append_int128 (out, value->integer);
  }
  g_string_append_printf (out, " AS %s)", type_text);
}

DuckTableColumn
delta_value_table_column (const BaseType *type, const char *name)
{
  static const DuckKind kinds[] = {
    [BASE_TYPE_BOOLEAN] = DUCK_KIND_BOOLEAN,
    [BASE_TYPE_BYTE] = DUCK_KIND_TINYINT,
    [BASE_TYPE_SHORT] = DUCK_KIND_SMALLINT,
    [BASE_TYPE_INTEGER] = DUCK_KIND_INTEGER,
    [BASE_TYPE_LONG] = DUCK_KIND_BIGINT,
    [BASE_TYPE_FLOAT] = DUCK_KIND_FLOAT,
    [BASE_TYPE_DOUBLE] = DUCK_KIND_DOUBLE,
    [BASE_TYPE_DECIMAL] = DUCK_KIND_DECIMAL,
    [BASE_TYPE_STRING] = DUCK_KIND_VARCHAR,
    [BASE_TYPE_BINARY] = DUCK_KIND_BLOB,
    [BASE_TYPE_DATE] = DUCK_KIND_DATE,
    [BASE_TYPE_TIMESTAMP] = DUCK_KIND_TIMESTAMP_TZ,
    [BASE_TYPE_TIMESTAMP_NTZ] = DUCK_KIND_TIMESTAMP,
  };
  DuckTableColumn column = { .name = name, .kind = kinds[base_type_kind (type)] };

  if (column.kind == DUCK_KIND_DECIMAL) {
    column.width = (guint8) base_type_precision (type);
    column.scale = (guint8) base_type_scale (type);
  }
  return column;
}

void
delta_value_set_cell (DuckTable *table, guint column, const BaseType *type, const DeltaValue *value)
{
  if (value->is_null)
    return;
  switch (base_type_kind (type)) {
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    duck_table_set_double (table, column, value->real);
    break;
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    duck_table_set_string (table, column, value->text, value->text_bytes);
    break;
  case BASE_TYPE_DECIMAL:
    duck_table_set_int128 (table, column, value->integer);
    break;
  default:
    duck_table_set_int64 (table, column, (gint64) value->integer);
  }
}

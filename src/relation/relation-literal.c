/* Constant values and their DuckDB text. */
#include "relation-literal.h"

#include "base-text.h"
#include "duck-type.h"

#include <math.h>
#include <string.h>

static RelationLiteral *
new_literal (const BaseType *type)
{
  RelationLiteral *literal = g_new0 (RelationLiteral, 1);

  literal->type = base_type_ref (type);
  return literal;
}

RelationLiteral *
relation_literal_new_null (const BaseType *type)
{
  RelationLiteral *literal = new_literal (type);

  literal->is_null = TRUE;
  return literal;
}

RelationLiteral *
relation_literal_new_integer (const BaseType *type, gint64 value)
{
  RelationLiteral *literal = new_literal (type);

  literal->integer = value;
  return literal;
}

RelationLiteral *
relation_literal_new_double (const BaseType *type, double value)
{
  RelationLiteral *literal = new_literal (type);

  literal->floating = value;
  return literal;
}

RelationLiteral *
relation_literal_new_text (const BaseType *type, const char *text, gsize size)
{
  RelationLiteral *literal = new_literal (type);

  literal->text = g_malloc (size + 1);
  memcpy (literal->text, text, size);
  literal->text[size] = '\0';
  literal->size = size;
  return literal;
}

RelationLiteral *
relation_literal_copy (const RelationLiteral *literal)
{
  RelationLiteral *copy = g_memdup2 (literal, sizeof *literal);

  copy->type = base_type_ref (literal->type);
  if (literal->text != NULL) {
    copy->text = g_malloc (literal->size + 1);
    memcpy (copy->text, literal->text, literal->size + 1);
  }
  return copy;
}

void
relation_literal_free (RelationLiteral *literal)
{
  if (literal == NULL)
    return;
  base_type_unref (literal->type);
  g_free (literal->text);
  g_free (literal);
}

/* DuckDB's literals cannot hold NUL, so the text is cut there and joined by chr(0). */
static void
print_string (const char *text, gsize size, GString *out)
{
  const char *end = text + size;
  const char *from = text;
  gboolean pieces = memchr (text, 0, size) != NULL;

  if (pieces)
    g_string_append_c (out, '(');
  for (;;) {
    const char *zero = memchr (from, 0, (gsize) (end - from));
    base_text_append_sql_literal (out, from);
    if (zero == NULL)
      break;
    g_string_append (out, " || chr(0) || ");
    from = zero + 1;
  }
  if (pieces)
    g_string_append_c (out, ')');
}

static void
print_binary (const char *bytes, gsize size, GString *out)
{
  g_string_append (out, "CAST('");
  for (gsize i = 0; i < size; i++)
    g_string_append_printf (out, "\\x%02X", (guint8) bytes[i]);
  g_string_append (out, "' AS BLOB)");
}

static void
print_double (double value, gboolean is_float, GString *out)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  const char *text;

  if (isnan (value))
    text = "nan";
  else if (isinf (value))
    text = value > 0 ? "inf" : "-inf";
  else
    text = g_ascii_formatd (digits, sizeof digits, is_float ? "%.9g" : "%.17g", value);
  g_string_append_printf (out, "CAST('%s' AS %s)", text, is_float ? "FLOAT" : "DOUBLE");
}

static void
print_integer (gint64 value, const char *type, GString *out)
{
  g_string_append_printf (out, "CAST('%" G_GINT64_FORMAT "' AS %s)", value, type);
}

void
relation_literal_print (const RelationLiteral *literal, GString *out)
{
  BaseTypeKind kind = base_type_kind (literal->type);

  if (literal->is_null) {
    g_string_append (out, "CAST(NULL AS ");
    duck_type_append_text (out, literal->type);
    g_string_append_c (out, ')');
    return;
  }
  switch (kind) {
  case BASE_TYPE_BOOLEAN:
    g_string_append (out, literal->integer ? "true" : "false");
    return;
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
    if (literal->integer >= 0)
      g_string_append_printf (out, "%" G_GINT64_FORMAT, literal->integer);
    else
      print_integer (literal->integer, "INTEGER", out);
    return;
  case BASE_TYPE_BYTE:
    print_integer (literal->integer, "TINYINT", out);
    return;
  case BASE_TYPE_SHORT:
    print_integer (literal->integer, "SMALLINT", out);
    return;
  case BASE_TYPE_LONG:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    print_integer (literal->integer, "BIGINT", out);
    return;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    print_double (literal->floating, kind == BASE_TYPE_FLOAT, out);
    return;
  case BASE_TYPE_DECIMAL:
    g_string_append_printf (out, "CAST('%s' AS DECIMAL(%u,%u))", literal->text, base_type_precision (literal->type),
                            base_type_scale (literal->type));
    return;
  case BASE_TYPE_STRING:
    print_string (literal->text, literal->size, out);
    return;
  case BASE_TYPE_BINARY:
    print_binary (literal->text, literal->size, out);
    return;
  case BASE_TYPE_DATE:
    g_string_append_printf (out, "make_date(CAST(%" G_GINT64_FORMAT " AS INTEGER))", literal->integer);
    return;
  case BASE_TYPE_TIMESTAMP:
    g_string_append_printf (out, "make_timestamptz(%" G_GINT64_FORMAT ")", literal->integer);
    return;
  case BASE_TYPE_TIMESTAMP_NTZ:
    g_string_append_printf (out, "make_timestamp(%" G_GINT64_FORMAT ")", literal->integer);
    return;
  case BASE_TYPE_INTERVAL_CALENDAR:
    g_string_append_printf (out, "(to_months(%d) + to_days(%d) + to_microseconds(%" G_GINT64_FORMAT "))",
                            literal->months, literal->days, literal->integer);
    return;
  case BASE_TYPE_VOID:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    break;
  }
  g_assert_not_reached ();
}

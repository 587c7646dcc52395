/* The cast table: which pairs are legal and how they are lowered; see relation-cast.h.
 *
 * A pair is lowered to DuckDB's own cast only where both agree on every value; all others call the cast kernel with both types
 * in its description. Extending: a legal pair is one line of is_legal(), a native one a case of lower_native().
 */
#include "relation-cast.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "duck-type.h"

#include <string.h>

static gboolean
is_interval (BaseTypeKind kind)
{
  return kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME;
}

static gboolean
is_legal_scalar (const BaseType *from, const BaseType *to)
{
  BaseTypeKind a = base_type_kind (from), b = base_type_kind (to);
  if (a == b)
    return TRUE;
  gboolean numeric = base_type_is_numeric (from);
  switch (b) {
  case BASE_TYPE_BOOLEAN:
    return a == BASE_TYPE_STRING || numeric;
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DECIMAL:
    return a == BASE_TYPE_STRING || a == BASE_TYPE_BOOLEAN || a == BASE_TYPE_TIMESTAMP || is_interval (a) || numeric;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return a == BASE_TYPE_STRING || a == BASE_TYPE_BOOLEAN || a == BASE_TYPE_TIMESTAMP || numeric;
  case BASE_TYPE_BINARY:
    return a == BASE_TYPE_STRING;
  case BASE_TYPE_DATE:
    return a == BASE_TYPE_STRING || a == BASE_TYPE_TIMESTAMP || a == BASE_TYPE_TIMESTAMP_NTZ;
  case BASE_TYPE_TIMESTAMP:
    return a == BASE_TYPE_STRING || a == BASE_TYPE_DATE || a == BASE_TYPE_TIMESTAMP_NTZ || numeric;
  case BASE_TYPE_TIMESTAMP_NTZ:
    return a == BASE_TYPE_STRING || a == BASE_TYPE_DATE || a == BASE_TYPE_TIMESTAMP;
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return a == BASE_TYPE_STRING || base_type_is_integral (from) || a == BASE_TYPE_DECIMAL;
  case BASE_TYPE_INTERVAL_CALENDAR:
    return a == BASE_TYPE_STRING;
  case BASE_TYPE_VOID:
  case BASE_TYPE_STRING:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return FALSE;
  }
  return FALSE;
}

static gboolean
is_legal (const BaseType *from, const BaseType *to)
{
  BaseTypeKind a = base_type_kind (from), b = base_type_kind (to);
  if (a == BASE_TYPE_VOID || b == BASE_TYPE_STRING)
    return TRUE;
  if (b == BASE_TYPE_VOID)
    return FALSE;
  if (a == BASE_TYPE_VARIANT || b == BASE_TYPE_VARIANT)
    return a == b || b != BASE_TYPE_MAP || base_type_kind (base_type_key (to)) == BASE_TYPE_STRING;
  if (!base_type_is_nested (from) && !base_type_is_nested (to))
    return is_legal_scalar (from, to);
  if (a != b)
    return FALSE;
  if (a == BASE_TYPE_ARRAY)
    return is_legal (base_type_element (from), base_type_element (to));
  if (a == BASE_TYPE_MAP)
    return is_legal (base_type_key (from), base_type_key (to)) &&
           is_legal (base_type_value (from), base_type_value (to));
  guint n = base_type_n_fields (from);
  if (n != base_type_n_fields (to))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!is_legal (base_type_field (from, i)->type, base_type_field (to, i)->type))
      return FALSE;
  return TRUE;
}

/* Which advice Spark gives for a pair that is legal only without ANSI, or by a function. */
static int
refusal_code (const BaseType *from, const BaseType *to)
{
  BaseTypeKind a = base_type_kind (from), b = base_type_kind (to);
  if ((base_type_is_integral (from) && b == BASE_TYPE_BINARY) || (a == BASE_TYPE_BOOLEAN && b == BASE_TYPE_TIMESTAMP) ||
      ((a == BASE_TYPE_DATE || a == BASE_TYPE_TIMESTAMP) && b == BASE_TYPE_BOOLEAN))
    return SLUICE_ERROR_DATATYPE_MISMATCH_CAST_WITH_CONF_SUGGESTION;
  if ((base_type_is_numeric (from) && b == BASE_TYPE_DATE) || (a == BASE_TYPE_DATE && base_type_is_numeric (to)))
    return SLUICE_ERROR_DATATYPE_MISMATCH_CAST_WITH_FUNC_SUGGESTION;
  return SLUICE_ERROR_DATATYPE_MISMATCH_CAST_WITHOUT_SUGGESTION;
}

gboolean
relation_cast_check (const BaseType *from, const BaseType *to, G_GNUC_UNUSED RelationCastMode mode, int *code)
{
  if (is_legal (from, to))
    return TRUE;
  if (code != NULL)
    *code = refusal_code (from, to);
  return FALSE;
}

/* The largest number of digits of an integer type. */
static guint
integer_digits (BaseTypeKind kind)
{
  switch (kind) {
  case BASE_TYPE_BYTE:
    return 3;
  case BASE_TYPE_SHORT:
    return 5;
  case BASE_TYPE_INTEGER:
    return 10;
  default:
    return 19; /* of a LONG; Spark counts 20 for its type, the values have 19 */
  }
}

/* Every value of @from fits @to. */
static gboolean
never_fails (const BaseType *from, const BaseType *to)
{
  BaseTypeKind a = base_type_kind (from), b = base_type_kind (to);
  if (a == BASE_TYPE_VOID || b == BASE_TYPE_STRING || (a == BASE_TYPE_STRING && b == BASE_TYPE_BINARY))
    return TRUE;
  if (a == BASE_TYPE_DECIMAL && b == BASE_TYPE_DECIMAL)
    return base_type_scale (to) >= base_type_scale (from) &&
           base_type_precision (to) - base_type_scale (to) >= base_type_precision (from) - base_type_scale (from);
  if (base_type_is_integral (from) && b == BASE_TYPE_DECIMAL)
    return base_type_precision (to) - base_type_scale (to) >= integer_digits (a);
  if (a == b && !base_type_is_nested (from))
    return TRUE;
  if (base_type_is_integral (from) && base_type_is_integral (to))
    return b >= a;
  if (base_type_is_numeric (from) && (b == BASE_TYPE_FLOAT || b == BASE_TYPE_DOUBLE || b == BASE_TYPE_BOOLEAN))
    return TRUE;
  if (a == BASE_TYPE_BOOLEAN && base_type_is_numeric (to) && b != BASE_TYPE_DECIMAL)
    return TRUE;
  return a == BASE_TYPE_DATE || a == BASE_TYPE_TIMESTAMP_NTZ ||
         (a == BASE_TYPE_TIMESTAMP && (b == BASE_TYPE_DATE || b == BASE_TYPE_TIMESTAMP_NTZ || b == BASE_TYPE_DOUBLE));
}

gboolean
relation_cast_is_nullable (const BaseType *from, const BaseType *to, RelationCastMode mode)
{
  BaseTypeKind a = base_type_kind (from);
  if (a == BASE_TYPE_VOID)
    return TRUE;
  if ((a == BASE_TYPE_FLOAT || a == BASE_TYPE_DOUBLE) && base_type_kind (to) == BASE_TYPE_DECIMAL)
    return TRUE;
  return mode == RELATION_CAST_TRY && !never_fails (from, to);
}

/* Appends a cast that DuckDB does as Spark would. Returns: FALSE when there is none. */
static gboolean
lower_native (RelationPrinter *printer, const char *operand, const BaseType *from, const BaseType *to,
              RelationCastMode mode, GString *out)
{
  BaseTypeKind a = base_type_kind (from), b = base_type_kind (to);
  if (base_type_equal (from, to, BASE_TYPE_EQUAL_IGNORE_NULLABILITY)) {
    g_string_append (out, operand);
    return TRUE;
  }
  gboolean plain = a == BASE_TYPE_VOID;
  if (base_type_is_integral (from) && base_type_is_integral (to))
    plain = b >= a || mode == RELATION_CAST_TRY;
  else if (base_type_is_integral (from) && b == BASE_TYPE_DECIMAL)
    plain = never_fails (from, to) || mode == RELATION_CAST_TRY;
  else if (a == BASE_TYPE_DECIMAL && b == BASE_TYPE_DECIMAL)
    plain = never_fails (from, to);
  else if (base_type_is_integral (from) && (b == BASE_TYPE_FLOAT || b == BASE_TYPE_DOUBLE))
    plain = TRUE;
  else if (a == BASE_TYPE_FLOAT && b == BASE_TYPE_DOUBLE)
    plain = TRUE;
  else if (a == BASE_TYPE_DECIMAL && b == BASE_TYPE_DOUBLE)
    plain = base_type_precision (from) <= 15; /* both parts are exact doubles, so the one division rounds once */
  else if (a == BASE_TYPE_BOOLEAN && (base_type_is_integral (to) || b == BASE_TYPE_FLOAT || b == BASE_TYPE_DOUBLE))
    plain = TRUE;
  else if ((base_type_is_integral (from) || a == BASE_TYPE_BOOLEAN) && b == BASE_TYPE_STRING)
    plain = TRUE;
  else if (a == BASE_TYPE_DATE && b == BASE_TYPE_TIMESTAMP_NTZ)
    plain = TRUE;
  if (plain) {
    g_string_append_printf (out, "%s(%s AS ", mode == RELATION_CAST_TRY ? "TRY_CAST" : "CAST", operand);
    relation_printer_type (printer, to, out);
    g_string_append_c (out, ')');
    return TRUE;
  }
  if (a == BASE_TYPE_STRING && b == BASE_TYPE_BINARY)
    g_string_append_printf (out, "encode(%s)", operand);
  else if (base_type_is_integral (from) && b == BASE_TYPE_BOOLEAN)
    g_string_append_printf (out, "(%s <> 0)", operand);
  else
    return FALSE;
  return TRUE;
}

/* `'epoch'` and `'today'` in a literal are constants in Spark, not dates to parse. Returns: (transfer full) (nullable): the text
 * of the constant. */
static char *
special_time (RelationPrinter *printer, const char *operand, const BaseType *to)
{
  static const char *const names[] = { "'epoch'", "'now'", "'today'", "'tomorrow'", "'yesterday'" };
  BaseTypeKind kind = base_type_kind (to);
  gsize which = 0;
  while (which < G_N_ELEMENTS (names) && g_ascii_strcasecmp (operand, names[which]) != 0)
    which++;
  if (which == G_N_ELEMENTS (names) ||
      !(kind == BASE_TYPE_DATE || kind == BASE_TYPE_TIMESTAMP || kind == BASE_TYPE_TIMESTAMP_NTZ))
    return NULL;
  if (which == 0)
    return kind == BASE_TYPE_TIMESTAMP
               ? g_strdup ("make_timestamptz(0)")
               : g_strdup_printf ("'1970-01-01'::%s", kind == BASE_TYPE_DATE ? "DATE" : "TIMESTAMP");
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *now = g_strdup_printf ("make_timestamptz(%" G_GINT64_FORMAT ")", relation_printer_now_us (printer));
  g_autoptr (BaseType) instant = base_type_simple (BASE_TYPE_TIMESTAMP);
  if (which == 1) {
    if (!relation_cast_lower (printer, now, instant, to, RELATION_CAST_ANSI, NULL, out, NULL))
      return NULL;
    return g_string_free (g_steal_pointer (&out), FALSE);
  }
  g_autoptr (BaseType) date = base_type_simple (BASE_TYPE_DATE);
  g_autoptr (GString) day = g_string_new ("(");
  if (!relation_cast_lower (printer, now, instant, date, RELATION_CAST_ANSI, NULL, day, NULL))
    return NULL;
  g_string_append (day, which == 2 ? ")" : which == 3 ? " + 1)" : " - 1)");
  if (!relation_cast_lower (printer, day->str, date, to, RELATION_CAST_ANSI, NULL, out, NULL))
    return NULL;
  return g_string_free (g_steal_pointer (&out), FALSE);
}

gboolean
relation_cast_lower (RelationPrinter *printer, const char *operand, const BaseType *from, const BaseType *to,
                     RelationCastMode mode, const char *column, GString *out, GError **error)
{
  if (lower_native (printer, operand, from, to, mode, out))
    return TRUE;
  if (base_type_kind (from) == BASE_TYPE_STRING && operand[0] == '\'') {
    g_autofree char *constant = special_time (printer, operand, to);
    if (constant != NULL) {
      g_string_append (out, constant);
      return TRUE;
    }
  }
  if (base_type_holds (from, BASE_TYPE_VARIANT) || base_type_holds (to, BASE_TYPE_VARIANT))
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "a cast of VARIANT is not supported");
  const char *kernel = relation_printer_kernel (printer, "sluice_cast", to, error);
  if (kernel == NULL)
    return FALSE;
  g_autoptr (json_t) spec = json_object ();
  json_object_set_new (spec, "from", base_type_to_json (from));
  json_object_set_new (spec, "to", base_type_to_json (to));
  json_object_set_new (spec, "mode",
                       json_string (mode == RELATION_CAST_TRY     ? "try"
                                    : mode == RELATION_CAST_STORE ? "store"
                                                                  : "ansi"));
  if (column != NULL)
    json_object_set_new (spec, "column", json_string (column));
  json_object_set_new (spec, "zone", json_string (relation_printer_zone (printer)));
  g_autofree char *text = base_json_text (spec);
  g_string_append_printf (out, "%s(%s, ", kernel, operand);
  base_text_append_sql_literal (out, text);
  g_string_append_c (out, ')');
  return TRUE;
}

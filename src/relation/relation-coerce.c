/* Spark's ANSI type coercion (org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion, Spark 4), told in functions over types.
 *
 * 1. "tightest" loses nothing: equal types, NULL, wider integers, FLOAT with an integer is DOUBLE, dates and timestamps.
 * 2. "common" also joins decimals with other numbers, and a string with an atomic type (integers: BIGINT, fractions: DOUBLE).
 * 3. Nested types go part by part; a struct keeps the names of the first.
 */
#include "relation-coerce.h"

#include "relation-tree-private.h"

#include <string.h>

typedef enum { RULE_TIGHTEST, RULE_NO_STRING, RULE_COMMON } Rule;

static BaseType *common_type (const BaseType *a, const BaseType *b, Rule rule);

static gboolean
is_decimal (const BaseType *type)
{
  return base_type_kind (type) == BASE_TYPE_DECIMAL;
}

static gboolean
is_fractional (const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);

  return kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE || kind == BASE_TYPE_DECIMAL;
}

static gboolean
is_datetime (const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);

  return kind == BASE_TYPE_DATE || kind == BASE_TYPE_TIMESTAMP || kind == BASE_TYPE_TIMESTAMP_NTZ;
}

static BaseType *
decimal_of_kind (BaseTypeKind kind)
{
  switch (kind) {
  case BASE_TYPE_BYTE:
    return base_type_decimal (3, 0);
  case BASE_TYPE_SHORT:
    return base_type_decimal (5, 0);
  case BASE_TYPE_INTEGER:
    return base_type_decimal (10, 0);
  case BASE_TYPE_LONG:
    return base_type_decimal (20, 0);
  default:
    return NULL;
  }
}

static BaseType *
wider_decimal (const BaseType *a, const BaseType *b)
{
  guint scale = MAX (base_type_scale (a), base_type_scale (b));
  guint whole = MAX (base_type_precision (a) - base_type_scale (a), base_type_precision (b) - base_type_scale (b));
  guint precision = scale + whole;

  if (precision > 38) {
    guint over = precision - 38;
    scale = scale > over ? scale - over : 0;
    precision = 38;
  }
  return base_type_decimal (precision, scale);
}

/* The decimal @d, when it can hold every value of the integer type @i without change. */
static gboolean
decimal_holds (const BaseType *d, const BaseType *i)
{
  g_autoptr (BaseType) need = decimal_of_kind (base_type_kind (i));

  return need != NULL && base_type_precision (d) - base_type_scale (d) >= base_type_precision (need);
}

static BaseType *
common_numeric (const BaseType *a, const BaseType *b, Rule rule)
{
  static const BaseTypeKind precedence[] = { BASE_TYPE_BYTE, BASE_TYPE_SHORT, BASE_TYPE_INTEGER,
                                             BASE_TYPE_LONG, BASE_TYPE_FLOAT, BASE_TYPE_DOUBLE };
  const BaseType *decimal = is_decimal (a) ? a : b;
  const BaseType *other = is_decimal (a) ? b : a;

  if (!is_decimal (a) && !is_decimal (b)) {
    int wider = -1;
    for (guint i = 0; i < G_N_ELEMENTS (precedence); i++)
      if (base_type_kind (a) == precedence[i] || base_type_kind (b) == precedence[i])
        wider = (int) i;
    if (precedence[wider] == BASE_TYPE_FLOAT && base_type_kind (a) != base_type_kind (b))
      return base_type_simple (BASE_TYPE_DOUBLE);
    return base_type_simple (precedence[wider]);
  }
  if (base_type_is_integral (other) && decimal_holds (decimal, other))
    return base_type_ref (decimal);
  if (rule == RULE_TIGHTEST)
    return NULL;
  if (is_decimal (other))
    return wider_decimal (a, b);
  if (base_type_is_integral (other)) {
    g_autoptr (BaseType) as_decimal = decimal_of_kind (base_type_kind (other));
    return wider_decimal (decimal, as_decimal);
  }
  return base_type_simple (BASE_TYPE_DOUBLE);
}

static BaseType *
common_datetime (const BaseType *a, const BaseType *b)
{
  if (base_type_kind (a) == BASE_TYPE_TIMESTAMP || base_type_kind (b) == BASE_TYPE_TIMESTAMP)
    return base_type_simple (BASE_TYPE_TIMESTAMP);
  return base_type_simple (BASE_TYPE_TIMESTAMP_NTZ);
}

static BaseType *
common_with_string (const BaseType *other)
{
  BaseTypeKind kind = base_type_kind (other);

  if (base_type_is_integral (other))
    return base_type_simple (BASE_TYPE_LONG);
  if (is_fractional (other))
    return base_type_simple (BASE_TYPE_DOUBLE);
  if (base_type_is_nested (other) || kind == BASE_TYPE_VARIANT || kind == BASE_TYPE_INTERVAL_YEAR_MONTH ||
      kind == BASE_TYPE_INTERVAL_DAY_TIME || kind == BASE_TYPE_INTERVAL_CALENDAR)
    return NULL;
  return base_type_ref (other);
}

static BaseType *
common_struct (const BaseType *a, const BaseType *b, Rule rule)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  guint n = base_type_n_fields (a);

  if (n != base_type_n_fields (b))
    return NULL;
  for (guint i = 0; i < n; i++) {
    const BaseField *left = base_type_field (a, i);
    const BaseField *right = base_type_field (b, i);
    g_autoptr (BaseType) type = common_type (left->type, right->type, rule);
    if (type == NULL || g_ascii_strcasecmp (left->name, right->name) != 0)
      return NULL;
    base_struct_builder_add (builder, left->name, type, left->nullable || right->nullable, NULL);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static BaseType *
common_nested (const BaseType *a, const BaseType *b, Rule rule)
{
  BaseTypeKind kind = base_type_kind (a);

  if (kind != base_type_kind (b))
    return NULL;
  if (kind == BASE_TYPE_ARRAY) {
    g_autoptr (BaseType) element = common_type (base_type_element (a), base_type_element (b), rule);
    if (element == NULL)
      return NULL;
    return base_type_array (element, base_type_contains_null (a) || base_type_contains_null (b));
  }
  if (kind == BASE_TYPE_MAP) {
    g_autoptr (BaseType) key = common_type (base_type_key (a), base_type_key (b), rule);
    g_autoptr (BaseType) value = common_type (base_type_value (a), base_type_value (b), rule);
    if (key == NULL || value == NULL)
      return NULL;
    return base_type_map (key, value, base_type_contains_null (a) || base_type_contains_null (b));
  }
  if (kind == BASE_TYPE_STRUCT)
    return common_struct (a, b, rule);
  return NULL;
}

static BaseType *
common_type (const BaseType *a, const BaseType *b, Rule rule)
{
  BaseTypeKind ka = base_type_kind (a);
  BaseTypeKind kb = base_type_kind (b);

  if (base_type_is_nested (a) && base_type_is_nested (b))
    return common_nested (a, b, rule);
  if (base_type_equal (a, b, BASE_TYPE_EQUAL_EXACT))
    return base_type_ref (a);
  if (ka == BASE_TYPE_VOID)
    return base_type_ref (b);
  if (kb == BASE_TYPE_VOID)
    return base_type_ref (a);
  if (base_type_is_numeric (a) && base_type_is_numeric (b))
    return common_numeric (a, b, rule);
  if (is_datetime (a) && is_datetime (b))
    return common_datetime (a, b);
  if (ka == kb && (ka == BASE_TYPE_INTERVAL_YEAR_MONTH || ka == BASE_TYPE_INTERVAL_DAY_TIME))
    return base_type_interval (MIN (base_type_interval_from (a), base_type_interval_from (b)),
                               MAX (base_type_interval_to (a), base_type_interval_to (b)));
  if (rule == RULE_COMMON && ka == BASE_TYPE_STRING)
    return common_with_string (b);
  if (rule == RULE_COMMON && kb == BASE_TYPE_STRING)
    return common_with_string (a);
  return NULL;
}

BaseType *
relation_coerce_common (const BaseType *a, const BaseType *b)
{
  return common_type (a, b, RULE_COMMON);
}

BaseType *
relation_coerce_tightest (const BaseType *a, const BaseType *b)
{
  return common_type (a, b, RULE_NO_STRING);
}

/* Strings are taken last: (string, int, date) has no common type in whichever order they stand. */
BaseType *
relation_coerce_common_many (BaseType *const *types, guint n_types)
{
  g_autoptr (BaseType) common = base_type_simple (BASE_TYPE_VOID);

  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < n_types; i++) {
      BaseType *next;
      if ((base_type_kind (types[i]) == BASE_TYPE_STRING) != (pass == 1))
        continue;
      next = relation_coerce_common (common, types[i]);
      if (next == NULL)
        return NULL;
      base_type_unref (common);
      common = next;
    }
  return g_steal_pointer (&common);
}

gboolean
relation_coerce_can_store (const BaseType *from, const BaseType *to)
{
  BaseTypeKind kf = base_type_kind (from);
  BaseTypeKind kt = base_type_kind (to);

  if (kf == BASE_TYPE_VOID || base_type_equal (from, to, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
    return TRUE;
  if (base_type_is_numeric (from) && base_type_is_numeric (to))
    return TRUE;
  if (kt == BASE_TYPE_STRING)
    return !base_type_is_nested (from) && kf != BASE_TYPE_VARIANT;
  if (is_datetime (from) && is_datetime (to))
    return TRUE;
  if (kf != kt)
    return FALSE;
  switch (kf) {
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return TRUE;
  case BASE_TYPE_ARRAY:
    return relation_coerce_can_store (base_type_element (from), base_type_element (to));
  case BASE_TYPE_MAP:
    return relation_coerce_can_store (base_type_key (from), base_type_key (to)) &&
           relation_coerce_can_store (base_type_value (from), base_type_value (to));
  case BASE_TYPE_STRUCT:
    if (base_type_n_fields (from) != base_type_n_fields (to))
      return FALSE;
    for (guint i = 0; i < base_type_n_fields (from); i++)
      if (!relation_coerce_can_store (base_type_field (from, i)->type, base_type_field (to, i)->type))
        return FALSE;
    return TRUE;
  default:
    return FALSE;
  }
}

BaseType *
relation_coerce_implicit (const BaseType *from, const BaseType *to)
{
  BaseTypeKind kf = base_type_kind (from);
  BaseTypeKind kt = base_type_kind (to);

  if (base_type_equal (from, to, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
    return base_type_ref (from);
  if (kf == BASE_TYPE_STRING && !base_type_is_nested (to) && kt != BASE_TYPE_VARIANT &&
      kt != BASE_TYPE_INTERVAL_CALENDAR)
    return base_type_ref (to);
  return relation_coerce_can_store (from, to) ? base_type_ref (to) : NULL;
}

static guint
literal_digits (gint64 value)
{
  guint64 rest = value < 0 ? -(guint64) value : (guint64) value;
  guint n = 1;

  while (rest >= 10) {
    rest /= 10;
    n++;
  }
  return n;
}

BaseType *
relation_coerce_decimal_of (const RelationExpr *expr)
{
  if (base_type_is_integral (expr->type) && expr->kind == RELATION_EXPR_LITERAL && !expr->literal->is_null)
    return base_type_decimal (literal_digits (expr->literal->integer), 0);
  return decimal_of_kind (base_type_kind (expr->type));
}

BaseType *
relation_coerce_adjust_decimal (gint precision, gint scale)
{
  gint whole = precision - scale;
  gint least = MIN (scale, 6);

  if (precision <= 38)
    return base_type_decimal ((guint) MAX (precision, 1), (guint) scale);
  return base_type_decimal (38, (guint) MAX (38 - whole, least));
}

gboolean
relation_coerce_pair (RelationBinder *binder, RelationExpr **a, RelationExpr **b)
{
  g_autoptr (BaseType) common = relation_coerce_common ((*a)->type, (*b)->type);

  if (common == NULL)
    return FALSE;
  *a = relation_expr_new_cast (binder, *a, common);
  *b = relation_expr_new_cast (binder, *b, common);
  return TRUE;
}

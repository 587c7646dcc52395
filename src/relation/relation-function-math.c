/* Functions of numbers. Real functions are kernels on libm, which is within an ulp or two of Java's. */
#include "relation-function-private.h"

#include <string.h>

/* ---- round, bround, ceil, floor ---- */

static gboolean
constant_scale (RelationCall *call, gint64 *scale, gboolean *is_null, GError **error)
{
  *scale = 0;
  *is_null = FALSE;
  if (call->n_args < 2)
    return TRUE;
  const RelationLiteral *literal = relation_call_constant (call, 1, error);
  if (literal == NULL)
    return FALSE;
  *is_null = literal->is_null;
  *scale = literal->is_null ? 0 : literal->integer;
  return TRUE;
}

/* RoundBase.dataType */
static BaseType *
rounded_decimal (const BaseType *type, gint64 scale)
{
  gint64 precision = base_type_precision (type), own = base_type_scale (type);
  gint64 whole = precision - own + 1;
  if (scale < 0)
    return base_type_decimal ((guint) CLAMP (MAX (whole, -scale + 1), 1, 38), 0);
  gint64 kept = MIN (own, scale);
  return base_type_decimal ((guint) MIN (whole + kept, 38), (guint) kept);
}

static gboolean
bind_round (RelationCall *call, GError **error)
{
  gboolean half_even = strcmp (call->name, "bround") == 0;
  if (call->n_args == 1)
    call->display = relation_binder_printf (call->binder, "%s(%s, 0)", call->name, call->args[0]->display);
  gint64 scale;
  gboolean is_null;
  if (!constant_scale (call, &scale, &is_null, error))
    return FALSE;
  const BaseType *type = call->args[0]->type;
  BaseTypeKind kind = base_type_kind (type);
  int mode = half_even ? 1 : 0;
  scale = CLAMP (scale, -1000, 1000);
  if (kind == BASE_TYPE_DECIMAL) {
    relation_call_set_type (call, rounded_decimal (type, scale));
    call->data = relation_binder_printf (call->binder, "$k{sluice_decimal_round}($1, %d, %d)", (int) scale, mode);
  } else if (kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE) {
    relation_call_set_type (call, base_type_ref (type));
    call->data = relation_binder_printf (call->binder, "$k{sluice_round_double}($1, %d, %s)", (int) scale,
                                         half_even ? "true" : "false");
  } else {
    static const char *const ranges[] = { "-128, 127", "-32768, 32767", "-2147483648, 2147483647",
                                          "-9223372036854775808, 9223372036854775807" };
    relation_call_set_type (call, base_type_ref (type));
    if (scale >= 0)
      call->data = "$1";
    else
      call->data = relation_binder_printf (call->binder, "CAST(sluice_integer_round($1, %d, %d, %s) AS $t)",
                                           (int) scale, mode, ranges[kind - BASE_TYPE_BYTE]);
  }
  if (is_null) {
    call->nullable = TRUE;
    call->data = "CAST(NULL AS $t)";
  }
  return TRUE;
}

/* ceil and floor; with a scale always of a decimal */
static gboolean
bind_whole (RelationCall *call, GError **error)
{
  gboolean up = call->name[0] == 'c';
  if (call->n_args == 1)
    call->display = relation_binder_printf (call->binder, "%s(%s)", up ? "CEIL" : "FLOOR", call->args[0]->display);
  gint64 scale;
  gboolean is_null;
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (!constant_scale (call, &scale, &is_null, error))
    return FALSE;
  scale = CLAMP (scale, -1000, 1000);
  if (call->n_args == 2) {
    if (kind == BASE_TYPE_FLOAT)
      relation_call_cast (call, 0, base_type_decimal (14, 7));
    else if (kind == BASE_TYPE_DOUBLE)
      relation_call_cast (call, 0, base_type_decimal (30, 15));
    else if (kind != BASE_TYPE_DECIMAL)
      relation_call_cast (call, 0,
                          base_type_decimal (kind == BASE_TYPE_LONG      ? 20
                                             : kind == BASE_TYPE_INTEGER ? 10
                                             : kind == BASE_TYPE_SHORT   ? 5
                                                                         : 3,
                                             0));
    kind = BASE_TYPE_DECIMAL;
  }
  if (kind == BASE_TYPE_DECIMAL) {
    relation_call_set_type (call, rounded_decimal (call->args[0]->type, scale));
    call->data = relation_binder_printf (call->binder, "$k{sluice_decimal_round}($1, %d, %d)", (int) scale, up ? 4 : 3);
  } else {
    if (kind == BASE_TYPE_FLOAT)
      relation_call_cast_kind (call, 0, BASE_TYPE_DOUBLE);
    relation_call_set_kind (call, BASE_TYPE_LONG);
    if (base_type_is_integral (call->args[0]->type))
      call->data = "CAST($1 AS BIGINT)";
    else
      call->data = up ? "sluice_ceil($1)" : "sluice_floor($1)";
  }
  if (is_null) {
    call->nullable = TRUE;
    call->data = "CAST(NULL AS $t)";
  }
  return TRUE;
}

/* ---- others ---- */

static gboolean
bind_sign (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  relation_call_set_kind (call, BASE_TYPE_DOUBLE);
  if (kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME) {
    call->data = "CAST(sign($1) AS DOUBLE)";
    return TRUE;
  }
  call->data = "sluice_signum($1)";
  return relation_call_want (call, 0, BASE_TYPE_DOUBLE, "DOUBLE or an interval", error);
}

static gboolean
bind_bit_get (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  static const int bits[] = { 8, 16, 32, 64 };
  call->data = relation_binder_printf (call->binder, "sluice_bit_get($1, $2, %d)",
                                       bits[relation_arg_kind (call, 0) - BASE_TYPE_BYTE]);
  return TRUE;
}

static gboolean
bind_bit_count (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_BOOLEAN)
    call->data = "CAST($1 AS INTEGER)";
  else if (base_type_is_integral (call->args[0]->type) || kind == BASE_TYPE_VOID)
    call->data = "sluice_bit_count($1)";
  else
    return relation_call_type_error (call, 0, "INTEGRAL or BOOLEAN", error);
  return TRUE;
}

static gboolean
bind_hex (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_STRING || kind == BASE_TYPE_BINARY)
    call->data = "hex($1)";
  else {
    if (!relation_call_want (call, 0, BASE_TYPE_LONG, "BIGINT, BINARY or STRING", error))
      return FALSE;
    call->data = "hex($1)";
  }
  return TRUE;
}

static gboolean
bind_width_bucket (RelationCall *call, GError **error)
{
  gboolean interval = FALSE;
  for (guint i = 0; i < 3; i++) {
    BaseTypeKind kind = relation_arg_kind (call, i);
    interval |= kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME;
  }
  if (interval) {
    BaseTypeKind kind = relation_arg_kind (call, 0);
    for (guint i = 1; i < 3; i++)
      if (relation_arg_kind (call, i) != kind)
        return relation_call_type_error (call, i, "the type of the first argument", error);
    call->data = "sluice_width_bucket(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE), CAST($3 AS DOUBLE), $4)";
    return TRUE;
  }
  for (guint i = 0; i < 3; i++)
    if (!relation_call_want (call, i, BASE_TYPE_DOUBLE, "DOUBLE", error))
      return FALSE;
  call->data = "sluice_width_bucket($1, $2, $3, $4)";
  return TRUE;
}

#define NULLABLE RELATION_FUNCTION_NULLABLE

const RelationFunction *
relation_function_rows_math (void)
{
  static const RelationFunction rows[] = {
    { .names = "round bround",
      .args = "numeric int?",
      .doc = "rounded to places after the point (half up; bround half even), negative places before it",
      .bind = bind_round,
      .lower_call = relation_lower_data },
    { .names = "ceil ceiling floor",
      .args = "numeric int?",
      .doc = "the next whole number, or number with so many places, above or below",
      .bind = bind_whole,
      .lower_call = relation_lower_data },
    { .names = "sign signum",
      .args = "any",
      .doc = "-1.0, 0.0 or 1.0",
      .bind = bind_sign,
      .lower_call = relation_lower_data },
    { .names = "ln",
      .args = "double",
      .result = "double",
      .lower = "sluice_ln($1)",
      .flags = NULLABLE,
      .doc = "natural logarithm" },
    { .names = "log",
      .args = "double",
      .result = "double",
      .lower = "sluice_ln($1)",
      .flags = NULLABLE,
      .doc = "natural logarithm; log(base, x) to a base",
      .display = "ln($1)" },
    { .names = "log",
      .args = "double double",
      .result = "double",
      .lower = "sluice_log_base($1, $2)",
      .flags = NULLABLE,
      .doc = "logarithm to a base",
      .display = "LOG($1, $2)" },
    { .names = "log10",
      .args = "double",
      .result = "double",
      .lower = "sluice_log10($1)",
      .flags = NULLABLE,
      .doc = "logarithm to base 10",
      .display = "LOG10($1)" },
    { .names = "log2",
      .args = "double",
      .result = "double",
      .lower = "sluice_log2($1)",
      .flags = NULLABLE,
      .doc = "logarithm to base 2",
      .display = "LOG2($1)" },
    { .names = "log1p",
      .args = "double",
      .result = "double",
      .lower = "sluice_log1p($1)",
      .flags = NULLABLE,
      .doc = "natural logarithm of 1 + x",
      .display = "LOG1P($1)" },
    { .names = "exp",
      .args = "double",
      .result = "double",
      .lower = "sluice_exp($1)",
      .doc = "e to the power",
      .display = "EXP($1)" },
    { .names = "expm1",
      .args = "double",
      .result = "double",
      .lower = "sluice_expm1($1)",
      .doc = "e to the power, minus 1",
      .display = "EXPM1($1)" },
    { .names = "sqrt",
      .args = "double",
      .result = "double",
      .lower = "sluice_sqrt($1)",
      .doc = "square root, NaN below zero",
      .display = "SQRT($1)" },
    { .names = "cbrt",
      .args = "double",
      .result = "double",
      .lower = "sluice_cbrt($1)",
      .doc = "cube root",
      .display = "CBRT($1)" },
    { .names = "sin",
      .args = "double",
      .result = "double",
      .lower = "sluice_sin($1)",
      .doc = "sine",
      .display = "SIN($1)" },
    { .names = "cos",
      .args = "double",
      .result = "double",
      .lower = "sluice_cos($1)",
      .doc = "cosine",
      .display = "COS($1)" },
    { .names = "tan",
      .args = "double",
      .result = "double",
      .lower = "sluice_tan($1)",
      .doc = "tangent",
      .display = "TAN($1)" },
    { .names = "cot",
      .args = "double",
      .result = "double",
      .lower = "sluice_cot($1)",
      .doc = "cotangent",
      .display = "COT($1)" },
    { .names = "sec",
      .args = "double",
      .result = "double",
      .lower = "sluice_sec($1)",
      .doc = "secant",
      .display = "SEC($1)" },
    { .names = "csc",
      .args = "double",
      .result = "double",
      .lower = "sluice_csc($1)",
      .doc = "cosecant",
      .display = "CSC($1)" },
    { .names = "asin",
      .args = "double",
      .result = "double",
      .lower = "sluice_asin($1)",
      .doc = "arc sine",
      .display = "ASIN($1)" },
    { .names = "acos",
      .args = "double",
      .result = "double",
      .lower = "sluice_acos($1)",
      .doc = "arc cosine",
      .display = "ACOS($1)" },
    { .names = "atan",
      .args = "double",
      .result = "double",
      .lower = "sluice_atan($1)",
      .doc = "arc tangent",
      .display = "ATAN($1)" },
    { .names = "sinh",
      .args = "double",
      .result = "double",
      .lower = "sluice_sinh($1)",
      .doc = "hyperbolic sine",
      .display = "SINH($1)" },
    { .names = "cosh",
      .args = "double",
      .result = "double",
      .lower = "sluice_cosh($1)",
      .doc = "hyperbolic cosine",
      .display = "COSH($1)" },
    { .names = "tanh",
      .args = "double",
      .result = "double",
      .lower = "sluice_tanh($1)",
      .doc = "hyperbolic tangent",
      .display = "TANH($1)" },
    { .names = "asinh",
      .args = "double",
      .result = "double",
      .lower = "sluice_asinh($1)",
      .doc = "inverse hyperbolic sine",
      .display = "ASINH($1)" },
    { .names = "acosh",
      .args = "double",
      .result = "double",
      .lower = "sluice_acosh($1)",
      .doc = "inverse hyperbolic cosine",
      .display = "ACOSH($1)" },
    { .names = "atanh",
      .args = "double",
      .result = "double",
      .lower = "sluice_atanh($1)",
      .doc = "inverse hyperbolic tangent",
      .display = "ATANH($1)" },
    { .names = "degrees",
      .args = "double",
      .result = "double",
      .lower = "sluice_degrees($1)",
      .doc = "radians as degrees",
      .display = "DEGREES($1)" },
    { .names = "radians",
      .args = "double",
      .result = "double",
      .lower = "sluice_radians($1)",
      .doc = "degrees as radians",
      .display = "RADIANS($1)" },
    { .names = "rint",
      .args = "double",
      .result = "double",
      .lower = "sluice_rint($1)",
      .doc = "the nearest whole number, half even" },
    { .names = "power",
      .args = "double double",
      .result = "double",
      .lower = "sluice_power($1, $2)",
      .doc = "the first to the power of the second",
      .display = "POWER($1, $2)" },
    { .names = "pow",
      .args = "double double",
      .result = "double",
      .lower = "sluice_power($1, $2)",
      .doc = "the first to the power of the second" },
    { .names = "hypot",
      .args = "double double",
      .result = "double",
      .lower = "sluice_hypot($1, $2)",
      .doc = "length of the hypotenuse",
      .display = "HYPOT($1, $2)" },
    { .names = "atan2",
      .args = "double double",
      .result = "double",
      .lower = "sluice_atan2($1, $2)",
      .doc = "angle of the point (y, x)",
      .display = "ATAN2($1, $2)" },
    { .names = "pi", .args = "", .result = "double", .lower = "pi()", .doc = "3.141592653589793", .display = "PI()" },
    { .names = "e",
      .args = "",
      .result = "double",
      .lower = "sluice_exp(1.0)",
      .doc = "2.718281828459045",
      .display = "E()" },
    { .names = "factorial",
      .args = "int",
      .result = "long",
      .lower = "sluice_factorial($1)",
      .flags = NULLABLE,
      .doc = "n!, NULL outside 0 … 20" },
    { .names = "bit_count",
      .args = "any",
      .result = "int",
      .doc = "number of bits set",
      .bind = bind_bit_count,
      .lower_call = relation_lower_data },
    { .names = "bit_get getbit",
      .args = "integral int",
      .result = "byte",
      .doc = "the bit at a position from the right",
      .bind = bind_bit_get,
      .lower_call = relation_lower_data },
    { .names = "hex",
      .args = "any",
      .result = "string",
      .doc = "hexadecimal digits",
      .bind = bind_hex,
      .lower_call = relation_lower_data },
    { .names = "bin", .args = "long", .result = "string", .lower = "bin($1)", .doc = "binary digits" },
    { .names = "width_bucket",
      .args = "any any any long",
      .result = "long",
      .flags = NULLABLE,
      .doc = "number of the histogram bucket that holds the value",
      .bind = bind_width_bucket,
      .lower_call = relation_lower_data },
    { .names = NULL },
  };
  return rows;
}

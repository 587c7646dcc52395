/* Integer arithmetic with Spark's errors, rounding of doubles, bit shifts, and functions of real numbers.
 *
 * Kernels without a fixed result (`sluice_add__tinyint`) take any integers and check the range of the instance's type.
 */
#include "relation-kernel-private.h"

#include <math.h>
#include <string.h>

/* ---- integers ---- */

static gboolean
overflow_error (GError **error, const DuckVector *result, const char *what)
{
  return base_error_set (
      error, result->bytes <= 2 ? SLUICE_ERROR_BINARY_ARITHMETIC_OVERFLOW : SLUICE_ERROR_ARITHMETIC_OVERFLOW,
      "an overflow in %s; try_%s gives NULL instead", what, what);
}

/* With OP_TRY an overflow is NULL. */
enum { OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_TRY = 4 };

static gboolean
integer_run (const DuckKernelCall *call, GError **error)
{
  guint op = call->variant & ~(guint) OP_TRY;
  static const char *const names[] = { "add", "subtract", "multiply" };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 a = duck_vector_int64 (&call->args[0], row);
    RelationInt128 b = duck_vector_int64 (&call->args[1], row);
    RelationInt128 value = op == OP_ADD ? a + b : op == OP_SUBTRACT ? a - b : a * b;
    if (relation_vector_store_integer (call->result, row, value))
      continue;
    if ((call->variant & OP_TRY) == 0)
      return overflow_error (error, call->result, names[op]);
    duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

static gboolean
is_floating (const DuckVector *vector)
{
  return vector->kind == DUCK_KIND_DOUBLE || vector->kind == DUCK_KIND_FLOAT;
}

static void
store_double (DuckVector *result, guint row, double value)
{
  if (result->kind == DUCK_KIND_FLOAT)
    duck_vector_set (result, float, row, (float) value);
  else
    duck_vector_set (result, double, row, value);
}

/* Java's pmod: r = a % n; r < 0 ? (r + n) % n : r. */
static gint64
integer_pmod (gint64 a, gint64 b)
{
  gint64 rest = b == -1 ? 0 : a % b;
  return rest < 0 ? (gint64) (((RelationInt128) rest + b) % b) : rest;
}

enum { REMAINDER_SIGNED, REMAINDER_TRY, REMAINDER_POSITIVE };

static gboolean
remainder_run (const DuckKernelCall *call, GError **error)
{
  gboolean positive = call->variant == REMAINDER_POSITIVE;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gboolean floating = is_floating (call->result);
    double x = floating ? duck_vector_double (&call->args[0], row) : 0;
    double y = floating ? duck_vector_double (&call->args[1], row) : 0;
    gint64 a = floating ? 0 : duck_vector_int64 (&call->args[0], row);
    gint64 b = floating ? 0 : duck_vector_int64 (&call->args[1], row);
    if (floating ? y == 0 : b == 0) {
      if (call->variant != REMAINDER_TRY)
        return base_error_set (error, SLUICE_ERROR_REMAINDER_BY_ZERO, "remainder by zero; try_mod gives NULL instead");
      duck_vector_set_null (call->result, row);
    } else if (floating) {
      double rest = fmod (x, y);
      store_double (call->result, row, positive && rest < 0 ? fmod (rest + y, y) : rest);
    } else
      duck_vector_set_int128 (call->result, row, positive ? integer_pmod (a, b) : b == -1 ? 0 : a % b);
  }
  return TRUE;
}

static gboolean
int_divide_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 a = duck_vector_int64 (&call->args[0], row);
    gint64 b = duck_vector_int64 (&call->args[1], row);
    if (b == 0)
      return base_error_set (error, SLUICE_ERROR_DIVIDE_BY_ZERO, "division by zero; try_divide gives NULL instead");
    if (a == G_MININT64 && b == -1)
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "an overflow in integral divide");
    duck_vector_set (call->result, gint64, row, a / b);
  }
  return TRUE;
}

static gboolean
divide_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    double b = duck_vector_get (&call->args[1], double, row);
    if (b == 0)
      return base_error_set (error, SLUICE_ERROR_DIVIDE_BY_ZERO, "division by zero; try_divide gives NULL instead");
    duck_vector_set (call->result, double, row, duck_vector_get (&call->args[0], double, row) / b);
  }
  return TRUE;
}

enum { SIGN_NEGATE, SIGN_ABSOLUTE };

static gboolean
sign_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 value = duck_vector_int64 (&call->args[0], row);
    if (!relation_vector_store_integer (call->result, row,
                                        call->variant == SIGN_ABSOLUTE && value >= 0 ? value : -value))
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "the opposite of a value does not fit its type");
  }
  return TRUE;
}

static gboolean
sum_long_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    if (!relation_vector_store_integer (call->result, row, duck_vector_int128 (&call->args[0], row)))
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW,
                             "a sum does not fit BIGINT; try_sum gives NULL instead");
  }
  return TRUE;
}

/* (sum, try?): a sum as wide as DuckDB makes it, checked against the precision of the result. */
static gboolean
sum_decimal_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 sum = duck_vector_int128 (&call->args[0], row);
    if (!relation_decimal_fits (sum, call->result->width) && duck_vector_bool (&call->args[1], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    if (!relation_decimal_fits (sum, call->result->width))
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW,
                             "a sum does not fit its type; try_sum gives NULL instead");
    duck_vector_set_int128 (call->result, row, sum);
  }
  return TRUE;
}

/* ---- bits ---- */

enum { SHIFT_LEFT, SHIFT_RIGHT, SHIFT_RIGHT_UNSIGNED };

static gboolean
shift_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean is_long = call->result->bytes == 8;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 value = duck_vector_int64 (&call->args[0], row);
    guint n = (guint) duck_vector_int64 (&call->args[1], row) & (is_long ? 63u : 31u);
    gint64 shifted;
    if (call->variant == SHIFT_LEFT)
      shifted = is_long ? (gint64) ((guint64) value << n) : (gint64) (gint32) ((guint32) value << n);
    else if (call->variant == SHIFT_RIGHT)
      shifted = value >> n;
    else
      shifted = is_long ? (gint64) ((guint64) value >> n) : (gint64) (gint32) ((guint32) value >> n);
    duck_vector_set_int128 (call->result, row, shifted);
  }
  return TRUE;
}

static gboolean
bit_count_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++)
    duck_vector_set (call->result, gint32, row,
                     __builtin_popcountll ((unsigned long long) duck_vector_int64 (&call->args[0], row)));
  return TRUE;
}

/* (value, position, number of bits of the value's type) */
static gboolean
bit_get_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 position = duck_vector_int64 (&call->args[1], row);
    gint64 n_bits = duck_vector_int64 (&call->args[2], row);
    if (position < 0 || position >= n_bits)
      return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_BIT_POSITION_RANGE,
                             "the bit position %" G_GINT64_FORMAT " is not in [0, %" G_GINT64_FORMAT ")", position,
                             n_bits);
    duck_vector_set (call->result, gint8, row, (gint8) ((duck_vector_int64 (&call->args[0], row) >> position) & 1));
  }
  return TRUE;
}

static gboolean
factorial_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 n = duck_vector_int64 (&call->args[0], row);
    if (n < 0 || n > 20) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    gint64 product = 1;
    for (gint64 i = 2; i <= n; i++)
      product *= i;
    duck_vector_set (call->result, gint64, row, product);
  }
  return TRUE;
}

/* ---- rounding of doubles ---- */

/* Rounds the shortest decimal text of @value at @scale digits after the point, as BigDecimal(Double.toString(value)). */
static double
round_decimal_text (double value, int scale, gboolean half_even)
{
  char text[RELATION_NUMBER_TEXT_SIZE];
  char digits[32];
  if (!isfinite (value) || value == 0)
    return value;
  relation_double_text (fabs (value), text);
  int n = 0, point = 0, exponent = 0;
  gboolean seen_point = FALSE;
  const char *p;
  for (p = text; *p != '\0' && *p != 'E'; p++) {
    if (*p == '.') {
      seen_point = TRUE;
      continue;
    }
    if (n == 0 && *p == '0') { /* leading zeros carry no digit */
      if (seen_point)
        point--;
      continue;
    }
    digits[n++] = *p;
    if (!seen_point)
      point++;
  }
  if (*p == 'E')
    exponent = (int) g_ascii_strtoll (p + 1, NULL, 10);
  point += exponent;
  int keep = point + scale; /* digits that stay */
  if (keep >= n)
    return value;
  if (keep < 0)
    return 0.0;
  gboolean up;
  if (digits[keep] != '5')
    up = digits[keep] > '5';
  else {
    gboolean more = FALSE;
    for (int i = keep + 1; i < n; i++)
      more |= digits[i] != '0';
    up = more || !half_even || (keep > 0 && (digits[keep - 1] - '0') % 2 != 0);
  }
  g_autoptr (GString) out = g_string_new (value < 0 ? "-0" : "0");
  gsize start = out->len - 1;
  g_string_append_len (out, digits, keep);
  if (up) {
    gsize i = out->len - 1;
    while (out->str[i] == '9')
      out->str[i--] = '0';
    out->str[i]++;
    g_assert (i >= start);
  }
  g_string_append_printf (out, "e%d", point - keep);
  double rounded = g_ascii_strtod (out->str, NULL);
  return rounded == 0 ? 0.0 : rounded; /* a BigDecimal has no negative zero */
}

/* (value, scale, half even?) */
static gboolean
round_double_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 scale = CLAMP (duck_vector_int64 (&call->args[1], row), -400, 400);
    store_double (call->result, row,
                  round_decimal_text (duck_vector_double (&call->args[0], row), (int) scale,
                                      duck_vector_bool (&call->args[2], row)));
  }
  return TRUE;
}

enum { WHOLE_FLOOR, WHOLE_CEIL };

static gboolean
whole_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    double value = duck_vector_double (&call->args[0], row);
    double whole = call->variant == WHOLE_CEIL ? ceil (value) : floor (value);
    if (isnan (whole))
      whole = 0;
    if (!(whole >= -9223372036854775808.0 && whole < 9223372036854775808.0))
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "a rounded value does not fit BIGINT");
    duck_vector_set (call->result, gint64, row, (gint64) whole);
  }
  return TRUE;
}

/* ---- functions of one or two real numbers; NULL where `valid` is false ---- */

#define REAL_FUNCTION(name, valid, value)                                                                              \
  static gboolean name##_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)                                \
  {                                                                                                                    \
    for (guint row = 0; duck_kernel_next (call, &row); row++) {                                                        \
      double x = duck_vector_get (&call->args[0], double, row);                                                        \
      if (valid)                                                                                                       \
        duck_vector_set (call->result, double, row, value);                                                            \
      else                                                                                                             \
        duck_vector_set_null (call->result, row);                                                                      \
    }                                                                                                                  \
    return TRUE;                                                                                                       \
  }

REAL_FUNCTION (ln, !(x <= 0), log (x))
REAL_FUNCTION (log10, !(x <= 0), log10 (x))
REAL_FUNCTION (log2, !(x <= 0), log2 (x))
REAL_FUNCTION (log1p, !(x <= -1), log1p (x))
REAL_FUNCTION (exp, TRUE, exp (x))
REAL_FUNCTION (expm1, TRUE, expm1 (x))
REAL_FUNCTION (sqrt, TRUE, x < 0 ? NAN : sqrt (x))
REAL_FUNCTION (cbrt, TRUE, cbrt (x))
REAL_FUNCTION (sin, TRUE, isinf (x) ? NAN : sin (x))
REAL_FUNCTION (cos, TRUE, isinf (x) ? NAN : cos (x))
REAL_FUNCTION (tan, TRUE, isinf (x) ? NAN : tan (x))
REAL_FUNCTION (cot, TRUE, 1 / tan (x))
REAL_FUNCTION (sec, TRUE, 1 / cos (x))
REAL_FUNCTION (csc, TRUE, 1 / sin (x))
REAL_FUNCTION (asin, TRUE, fabs (x) > 1 ? NAN : asin (x))
REAL_FUNCTION (acos, TRUE, fabs (x) > 1 ? NAN : acos (x))
REAL_FUNCTION (atan, TRUE, atan (x))
REAL_FUNCTION (sinh, TRUE, sinh (x))
REAL_FUNCTION (cosh, TRUE, cosh (x))
REAL_FUNCTION (tanh, TRUE, tanh (x))
REAL_FUNCTION (asinh, TRUE, asinh (x))
REAL_FUNCTION (acosh, TRUE, x < 1 ? NAN : acosh (x))
REAL_FUNCTION (atanh, TRUE, fabs (x) > 1 ? NAN : atanh (x))
REAL_FUNCTION (degrees, TRUE, x *(180.0 / G_PI))
REAL_FUNCTION (radians, TRUE, x / 180.0 * G_PI)
REAL_FUNCTION (rint, TRUE, rint (x))
REAL_FUNCTION (signum, TRUE, isnan (x) || x == 0 ? x : x > 0 ? 1.0 : -1.0)

#define REAL_FUNCTION_2(name, valid, value)                                                                            \
  static gboolean name##_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)                                \
  {                                                                                                                    \
    for (guint row = 0; duck_kernel_next (call, &row); row++) {                                                        \
      double x = duck_vector_get (&call->args[0], double, row);                                                        \
      double y = duck_vector_get (&call->args[1], double, row);                                                        \
      if (valid)                                                                                                       \
        duck_vector_set (call->result, double, row, value);                                                            \
      else                                                                                                             \
        duck_vector_set_null (call->result, row);                                                                      \
    }                                                                                                                  \
    return TRUE;                                                                                                       \
  }

/* Java's pow differs from C's where |x| = 1 or x = 1: pow(1, NaN) and pow(±1, ±Infinity) are NaN. */
REAL_FUNCTION_2 (power, TRUE, isnan (y) || (fabs (x) == 1 && isinf (y)) ? NAN : pow (x, y))
REAL_FUNCTION_2 (hypot, TRUE, hypot (x, y))
REAL_FUNCTION_2 (atan2, TRUE, atan2 (x, y))
REAL_FUNCTION_2 (log_base, !(x <= 0) && !(y <= 0), log (y) / log (x))

static gboolean
width_bucket_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    double value = duck_vector_get (&call->args[0], double, row);
    double low = duck_vector_get (&call->args[1], double, row);
    double high = duck_vector_get (&call->args[2], double, row);
    gint64 n = duck_vector_get (&call->args[3], gint64, row);
    if (n <= 0 || n == G_MAXINT64 || isnan (value) || !isfinite (low) || !isfinite (high) || low == high) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    double lower = MIN (low, high), upper = MAX (low, high);
    gint64 bucket;
    if (low < high)
      bucket = value < lower    ? 0
               : value >= upper ? n + 1
                                : (gint64) ((double) n * (value - lower) / (upper - lower)) + 1;
    else
      bucket = value > upper    ? 0
               : value <= lower ? n + 1
                                : (gint64) ((double) n * (upper - value) / (upper - lower)) + 1;
    duck_vector_set (call->result, gint64, row, bucket);
  }
  return TRUE;
}

#define REAL(sql_name)                                                                                                 \
  {                                                                                                                    \
    .name = "sluice_" #sql_name, .args = { "DOUBLE" }, .result = "DOUBLE", .run = sql_name##_run                       \
  }
#define REAL_2(sql_name)                                                                                               \
  {                                                                                                                    \
    .name = "sluice_" #sql_name, .args = { "DOUBLE", "DOUBLE" }, .result = "DOUBLE", .run = sql_name##_run             \
  }
#define INTEGERS(sql_name, function, which)                                                                            \
  {                                                                                                                    \
    .name = sql_name, .args = { "ANY", "ANY" }, .run = function, .variant = which                                      \
  }

const DuckKernel *
relation_kernel_rows_math (guint *n)
{
  static const DuckKernel rows[] = {
    INTEGERS ("sluice_add", integer_run, OP_ADD),
    INTEGERS ("sluice_subtract", integer_run, OP_SUBTRACT),
    INTEGERS ("sluice_multiply", integer_run, OP_MULTIPLY),
    INTEGERS ("sluice_try_add", integer_run, OP_ADD | OP_TRY),
    INTEGERS ("sluice_try_subtract", integer_run, OP_SUBTRACT | OP_TRY),
    INTEGERS ("sluice_try_multiply", integer_run, OP_MULTIPLY | OP_TRY),
    INTEGERS ("sluice_remainder", remainder_run, REMAINDER_SIGNED),
    INTEGERS ("sluice_try_remainder", remainder_run, REMAINDER_TRY),
    INTEGERS ("sluice_pmod", remainder_run, REMAINDER_POSITIVE),
    INTEGERS ("sluice_shift_left", shift_run, SHIFT_LEFT),
    INTEGERS ("sluice_shift_right", shift_run, SHIFT_RIGHT),
    INTEGERS ("sluice_shift_right_unsigned", shift_run, SHIFT_RIGHT_UNSIGNED),
    { .name = "sluice_negate", .args = { "ANY" }, .run = sign_run, .variant = SIGN_NEGATE },
    { .name = "sluice_abs", .args = { "ANY" }, .run = sign_run, .variant = SIGN_ABSOLUTE },
    { .name = "sluice_int_divide", .args = { "BIGINT", "BIGINT" }, .result = "BIGINT", .run = int_divide_run },
    { .name = "sluice_sum_decimal", .args = { "ANY", "BOOLEAN" }, .run = sum_decimal_run },
    { .name = "sluice_sum_long", .args = { "HUGEINT" }, .result = "BIGINT", .run = sum_long_run },
    { .name = "sluice_divide", .args = { "DOUBLE", "DOUBLE" }, .result = "DOUBLE", .run = divide_run },
    { .name = "sluice_bit_count", .args = { "BIGINT" }, .result = "INTEGER", .run = bit_count_run },
    { .name = "sluice_bit_get", .args = { "BIGINT", "INTEGER", "INTEGER" }, .result = "TINYINT", .run = bit_get_run },
    { .name = "sluice_factorial", .args = { "INTEGER" }, .result = "BIGINT", .run = factorial_run },
    { .name = "sluice_round_double", .args = { "ANY", "INTEGER", "BOOLEAN" }, .run = round_double_run },
    { .name = "sluice_ceil", .args = { "DOUBLE" }, .result = "BIGINT", .run = whole_run, .variant = WHOLE_CEIL },
    { .name = "sluice_floor", .args = { "DOUBLE" }, .result = "BIGINT", .run = whole_run, .variant = WHOLE_FLOOR },
    { .name = "sluice_width_bucket",
      .args = { "DOUBLE", "DOUBLE", "DOUBLE", "BIGINT" },
      .result = "BIGINT",
      .run = width_bucket_run },
    REAL (ln),
    REAL (log10),
    REAL (log2),
    REAL (log1p),
    REAL (exp),
    REAL (expm1),
    REAL (sqrt),
    REAL (cbrt),
    REAL (sin),
    REAL (cos),
    REAL (tan),
    REAL (cot),
    REAL (sec),
    REAL (csc),
    REAL (asin),
    REAL (acos),
    REAL (atan),
    REAL (sinh),
    REAL (cosh),
    REAL (tanh),
    REAL (asinh),
    REAL (acosh),
    REAL (atanh),
    REAL (degrees),
    REAL (radians),
    REAL (rint),
    REAL (signum),
    REAL_2 (power),
    REAL_2 (hypot),
    REAL_2 (atan2),
    REAL_2 (log_base),
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

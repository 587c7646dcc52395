/* Decimal arithmetic whose exact result is rounded to the type that the binder chose, and rounding functions.
 *
 * `sluice_decimal_multiply__decimal_38_6(a, b)`: the operands' scales come from their types, the result's from the instance.
 * The `try_` forms give NULL where the others fail. Integer operands are decimals of scale 0.
 */
#include "relation-kernel-private.h"

typedef gboolean (*DecimalOperation) (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                                      guint scale, RelationInt128 *result);

static gboolean
subtract (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision, guint scale,
          RelationInt128 *result)
{
  return relation_decimal_add (a, scale_a, -b, scale_b, precision, scale, result);
}

static gboolean
pmod (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision, guint scale,
      RelationInt128 *result)
{
  RelationInt128 rest;
  if (!relation_decimal_remainder (a, scale_a, b, scale_b, 38, MAX (scale_a, scale_b), &rest))
    return FALSE;
  guint common = MAX (scale_a, scale_b);
  if (rest >= 0)
    return relation_decimal_rescale (rest, (int) common, (int) scale, precision, RELATION_ROUND_HALF_UP, result);
  /* (r + n) % n, as Spark */
  RelationInt128 sum;
  return relation_decimal_add (rest, common, b, scale_b, 38, common, &sum) &&
         relation_decimal_remainder (sum, common, b, scale_b, precision, scale, result);
}

/* With OP_TRY a failure is NULL. */
enum { OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE, OP_REMAINDER, OP_PMOD, OP_TRY = 8 };

static const struct {
  DecimalOperation run;
  int zero_code; /* of a second operand of 0, -1 = none */
} operations[] = {
  [OP_ADD] = { relation_decimal_add, -1 },
  [OP_SUBTRACT] = { subtract, -1 },
  [OP_MULTIPLY] = { relation_decimal_multiply, -1 },
  [OP_DIVIDE] = { relation_decimal_divide, SLUICE_ERROR_DIVIDE_BY_ZERO },
  [OP_REMAINDER] = { relation_decimal_remainder, SLUICE_ERROR_REMAINDER_BY_ZERO },
  [OP_PMOD] = { pmod, SLUICE_ERROR_REMAINDER_BY_ZERO },
};

static gboolean
operation_run (const DuckKernelCall *call, GError **error)
{
  guint op = call->variant & ~(guint) OP_TRY;
  int zero_code = operations[op].zero_code;
  gboolean try_it = (call->variant & OP_TRY) != 0;
  const DuckVector *a = &call->args[0];
  const DuckVector *b = &call->args[1];
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 y = duck_vector_int128 (b, row);
    if (zero_code >= 0 && y == 0) {
      if (!try_it)
        return base_error_set (error, (SluiceError) zero_code,
                               "division by zero; try_divide or try_mod give NULL instead");
      duck_vector_set_null (call->result, row);
      continue;
    }
    RelationInt128 result;
    if (!operations[op].run (duck_vector_int128 (a, row), a->scale, y, b->scale, call->result->width,
                             call->result->scale, &result)) {
      if (!try_it)
        return base_error_set (error, SLUICE_ERROR_NUMERIC_VALUE_OUT_OF_RANGE_WITH_SUGGESTION,
                               "a result cannot be represented as DECIMAL(%u, %u)", call->result->width,
                               call->result->scale);
      duck_vector_set_null (call->result, row);
      continue;
    }
    duck_vector_set_int128 (call->result, row, result);
  }
  return TRUE;
}

static gboolean
quotient_run (const DuckKernelCall *call, GError **error)
{
  const DuckVector *a = &call->args[0];
  const DuckVector *b = &call->args[1];
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 y = duck_vector_int128 (b, row);
    gint64 result;
    if (y == 0)
      return base_error_set (error, SLUICE_ERROR_DIVIDE_BY_ZERO, "division by zero");
    if (!relation_decimal_quotient (duck_vector_int128 (a, row), a->scale, y, b->scale, &result))
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "the quotient does not fit BIGINT");
    duck_vector_set (call->result, gint64, row, result);
  }
  return TRUE;
}

/* (value, scale, mode): mode is a RelationRounding. The result's own scale may be larger than the one rounded to. */
static gboolean
round_run (const DuckKernelCall *call, GError **error)
{
  const DuckVector *value = &call->args[0];
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    int scale = (int) duck_vector_int64 (&call->args[1], row);
    RelationRounding rounding = (RelationRounding) duck_vector_int64 (&call->args[2], row);
    RelationInt128 rounded, result;
    /* Places that the value does not have need no rounding. */
    int kept = MIN (scale, (int) value->scale);
    if (!relation_decimal_rescale (duck_vector_int128 (value, row), value->scale, kept, 38, rounding, &rounded) ||
        !relation_decimal_rescale (rounded, kept, call->result->scale, call->result->width, rounding, &result))
      return base_error_set (error, SLUICE_ERROR_NUMERIC_VALUE_OUT_OF_RANGE_WITH_SUGGESTION,
                             "a rounded value cannot be represented as DECIMAL(%u, %u)", call->result->width,
                             call->result->scale);
    duck_vector_set_int128 (call->result, row, result);
  }
  return TRUE;
}

/* Integers rounded at a place before the point: (value BIGINT, scale, mode, min, max). */
static gboolean
round_integer_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    int scale = (int) duck_vector_int64 (&call->args[1], row);
    RelationInt128 result = duck_vector_int64 (&call->args[0], row);
    if (scale < 0) {
      RelationRounding rounding = (RelationRounding) duck_vector_int64 (&call->args[2], row);
      RelationInt128 rounded;
      (void) relation_decimal_rescale (result, 0, scale, 38, rounding, &rounded); /* only gets smaller */
      if (scale >= -20)
        result = rounded * relation_decimal_power10 ((guint) -scale);
      else
        result = 0;
    }
    if (result < duck_vector_int64 (&call->args[3], row) || result > duck_vector_int64 (&call->args[4], row))
      return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "a rounded value does not fit its type");
    duck_vector_set (call->result, gint64, row, (gint64) result);
  }
  return TRUE;
}

#define BINARY(sql_name, which)                                                                                        \
  {                                                                                                                    \
    .name = sql_name, .args = { "ANY", "ANY" }, .run = operation_run, .variant = which                                 \
  }

const DuckKernel *
relation_kernel_rows_decimal (guint *n)
{
  static const DuckKernel rows[] = {
    BINARY ("sluice_decimal_add", OP_ADD),
    BINARY ("sluice_decimal_subtract", OP_SUBTRACT),
    BINARY ("sluice_decimal_multiply", OP_MULTIPLY),
    BINARY ("sluice_decimal_divide", OP_DIVIDE),
    BINARY ("sluice_decimal_remainder", OP_REMAINDER),
    BINARY ("sluice_decimal_pmod", OP_PMOD),
    BINARY ("sluice_try_decimal_add", OP_ADD | OP_TRY),
    BINARY ("sluice_try_decimal_subtract", OP_SUBTRACT | OP_TRY),
    BINARY ("sluice_try_decimal_multiply", OP_MULTIPLY | OP_TRY),
    BINARY ("sluice_try_decimal_divide", OP_DIVIDE | OP_TRY),
    BINARY ("sluice_try_decimal_remainder", OP_REMAINDER | OP_TRY),
    { .name = "sluice_decimal_quotient", .args = { "ANY", "ANY" }, .result = "BIGINT", .run = quotient_run },
    { .name = "sluice_decimal_round", .args = { "ANY", "INTEGER", "INTEGER" }, .run = round_run },
    { .name = "sluice_integer_round",
      .args = { "BIGINT", "INTEGER", "INTEGER", "BIGINT", "BIGINT" },
      .result = "BIGINT",
      .run = round_integer_run },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

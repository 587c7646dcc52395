/* Numbers as Spark reads and writes them: Java's shortest floating text, ANSI casts of strings, 128-bit decimals.
 *
 * A decimal is its unscaled value; the scale is its type's. All functions are pure and safe from any thread.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef __int128 RelationInt128;
typedef unsigned __int128 RelationUint128;

#define RELATION_DECIMAL_DIGITS 38

/* Enough for every text below: sign, 39 digits, point, exponent. */
#define RELATION_NUMBER_TEXT_SIZE 400

/* Writes and returns the length. Double.toString and Float.toString of Java 19 and newer: `1.0E20`, `0.001`, `NaN`. */
gsize relation_double_text (double value, char out[RELATION_NUMBER_TEXT_SIZE]);
gsize relation_float_text (float value, char out[RELATION_NUMBER_TEXT_SIZE]);
/* A decimal without exponent, with @scale digits after the point. */
gsize relation_decimal_text (RelationInt128 unscaled, guint scale, char out[RELATION_NUMBER_TEXT_SIZE]);

/* Strings of @size bytes. FALSE when the text is not such a number (or, for integers, out of [@min, @max]). White space and
 * control characters around it are skipped as Spark's trimAll does. */
gboolean relation_text_to_int64 (const char *text, gsize size, gint64 min, gint64 max, gint64 *value);
gboolean relation_text_to_double (const char *text, gsize size, double *value);
gboolean relation_text_to_float (const char *text, gsize size, float *value);
gboolean relation_text_to_boolean (const char *text, gsize size, gboolean *value);

typedef enum {
  RELATION_DECIMAL_OK,
  RELATION_DECIMAL_BAD_TEXT,
  RELATION_DECIMAL_OUT_OF_RANGE, /* does not fit the precision */
} RelationDecimalOutcome;

/* Rounds half up to @scale and checks @precision. */
RelationDecimalOutcome relation_text_to_decimal (const char *text, gsize size, guint precision, guint scale,
                                                 RelationInt128 *value);
RelationDecimalOutcome relation_double_to_decimal (double value, guint precision, guint scale, RelationInt128 *result);

typedef enum {
  RELATION_ROUND_HALF_UP,
  RELATION_ROUND_HALF_EVEN,
  RELATION_ROUND_DOWN,    /* toward zero */
  RELATION_ROUND_FLOOR,   /* toward negative infinity */
  RELATION_ROUND_CEILING, /* toward positive infinity */
} RelationRounding;

RelationInt128 relation_decimal_power10 (guint exponent); /* @exponent ≤ 38 */
gboolean relation_decimal_fits (RelationInt128 value, guint precision);
/* To another scale (may be negative: whole tens). FALSE when the result leaves @precision. */
gboolean relation_decimal_rescale (RelationInt128 value, int scale, int to_scale, guint precision,
                                   RelationRounding rounding, RelationInt128 *result);

/* Spark's arithmetic on operands of any scales with a result type chosen by the binder; half up. FALSE: out of @precision.
 * The divisor must not be zero. Intermediates have 256 bits. */
gboolean relation_decimal_add (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                               guint scale, RelationInt128 *result);
gboolean relation_decimal_multiply (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                                    guint scale, RelationInt128 *result);
gboolean relation_decimal_divide (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                                  guint scale, RelationInt128 *result);
gboolean relation_decimal_remainder (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                                     guint scale, RelationInt128 *result);
/* The integral quotient, toward zero. FALSE: beyond 64 bits. */
gboolean relation_decimal_quotient (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, gint64 *result);
/* Nearest double. */
double relation_decimal_to_double (RelationInt128 value, guint scale);

G_END_DECLS

/* Numbers as text and decimal arithmetic; see relation-number-private.h.
 *
 * Shortest text: the digits of "%.Ne" for the smallest N that reads back as the same value, which is the correctly rounded
 * shortest form; Java wants at least two digits and its own layout. Decimal operations work on 256-bit magnitudes (four
 * 64-bit words), because a product of two 38-digit numbers and a dividend scaled up by 10^76 do not fit 128 bits.
 */
#include "relation-number-private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text of floating numbers ---- */

/* Lays out @digits (d…d, no point) with the point after the first digit times 10^exponent, as Java does. */
static gsize
layout_java (gboolean negative, const char *digits, int exponent, char *out)
{
  gsize n_digits = strlen (digits);
  while (n_digits > 1 && digits[n_digits - 1] == '0')
    n_digits--;
  char *p = out;
  if (negative)
    *p++ = '-';
  if (exponent >= -3 && exponent < 7) {
    if (exponent < 0) {
      *p++ = '0';
      *p++ = '.';
      for (int i = -1; i > exponent; i--)
        *p++ = '0';
      memcpy (p, digits, n_digits);
      p += n_digits;
    } else {
      gsize whole = (gsize) exponent + 1;
      for (gsize i = 0; i < whole; i++)
        *p++ = i < n_digits ? digits[i] : '0';
      *p++ = '.';
      if (n_digits <= whole)
        *p++ = '0';
      for (gsize i = whole; i < n_digits; i++)
        *p++ = digits[i];
    }
    *p = '\0';
    return (gsize) (p - out);
  }
  *p++ = digits[0];
  *p++ = '.';
  if (n_digits == 1)
    *p++ = '0';
  memcpy (p, digits + 1, n_digits - 1);
  p += n_digits - 1;
  return (gsize) (p - out) + (gsize) g_snprintf (p, RELATION_NUMBER_TEXT_SIZE - (gulong) (p - out), "E%d", exponent);
}

/* Splits the text of "%.Ne" into digits and exponent. */
static int
split_scientific (const char *text, char *digits)
{
  char *d = digits;
  const char *p = text;
  for (; *p != '\0' && *p != 'e'; p++)
    if (*p >= '0' && *p <= '9')
      *d++ = *p;
  *d = '\0';
  return *p == 'e' ? (int) g_ascii_strtoll (p + 1, NULL, 10) : 0;
}

static gboolean
special_text (double value, char *out, gsize *size)
{
  if (isnan (value))
    *size = (gsize) g_snprintf (out, RELATION_NUMBER_TEXT_SIZE, "NaN");
  else if (isinf (value))
    *size = (gsize) g_snprintf (out, RELATION_NUMBER_TEXT_SIZE, value < 0 ? "-Infinity" : "Infinity");
  else if (value == 0)
    *size = (gsize) g_snprintf (out, RELATION_NUMBER_TEXT_SIZE, signbit (value) ? "-0.0" : "0.0");
  else
    return FALSE;
  return TRUE;
}

gsize
relation_double_text (double value, char out[RELATION_NUMBER_TEXT_SIZE])
{
  gsize size;
  if (special_text (value, out, &size))
    return size;
  double magnitude = fabs (value);
  char text[64];
  char digits[32];
  /* Every double with at most 15 digits reads back from "%.14e"; trailing zeros fall away in the layout. */
  for (int n = magnitude < 2.3e-308 ? 1 : 14; n <= 16; n++) {
    g_snprintf (text, sizeof text, "%.*e", n, magnitude);
    if (g_ascii_strtod (text, NULL) == magnitude)
      break;
  }
  int exponent = split_scientific (text, digits);
  return layout_java (value < 0, digits, exponent, out);
}

gsize
relation_float_text (float value, char out[RELATION_NUMBER_TEXT_SIZE])
{
  gsize size;
  if (special_text ((double) value, out, &size))
    return size;
  float magnitude = fabsf (value);
  char text[64];
  char digits[32];
  for (int n = magnitude < 1.2e-38f ? 1 : 5; n <= 8; n++) {
    g_snprintf (text, sizeof text, "%.*e", n, (double) magnitude);
    if (strtof (text, NULL) == magnitude)
      break;
  }
  int exponent = split_scientific (text, digits);
  return layout_java (value < 0, digits, exponent, out);
}

gsize
relation_decimal_text (RelationInt128 unscaled, guint scale, char out[RELATION_NUMBER_TEXT_SIZE])
{
  char reversed[64];
  gsize n = 0;
  RelationUint128 rest = unscaled < 0 ? -(RelationUint128) unscaled : (RelationUint128) unscaled;
  do {
    reversed[n++] = (char) ('0' + (int) (rest % 10));
    rest /= 10;
  } while (rest != 0 || n <= scale);
  char *p = out;
  if (unscaled < 0)
    *p++ = '-';
  while (n > 0) {
    if (n == scale)
      *p++ = '.';
    *p++ = reversed[--n];
  }
  *p = '\0';
  return (gsize) (p - out);
}

/* ---- strings to numbers ---- */

static gboolean
is_trimmed (char c)
{
  return (guchar) c <= 0x20 || c == 0x7f;
}

static void
trim_all (const char **text, gsize *size)
{
  while (*size > 0 && is_trimmed (**text)) {
    (*text)++;
    (*size)--;
  }
  while (*size > 0 && is_trimmed ((*text)[*size - 1]))
    (*size)--;
}

gboolean
relation_text_to_int64 (const char *text, gsize size, gint64 min, gint64 max, gint64 *value)
{
  trim_all (&text, &size);
  gboolean negative = FALSE;
  if (size > 0 && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text++;
    size--;
  }
  if (size == 0)
    return FALSE;
  RelationInt128 sum = 0;
  for (gsize i = 0; i < size; i++) {
    if (!g_ascii_isdigit (text[i]))
      return FALSE;
    sum = sum * 10 + (text[i] - '0');
    if (sum > (RelationInt128) G_MAXINT64 + 1)
      return FALSE;
  }
  if (negative)
    sum = -sum;
  if (sum < min || sum > max)
    return FALSE;
  *value = (gint64) sum;
  return TRUE;
}

/* What Double.parseDouble takes, without its hexadecimal form: sign, digits with a point, exponent, suffix d or f. */
static gboolean
is_java_double (const char *text, gsize size, gsize *number_size)
{
  gsize i = 0;
  if (i < size && (text[i] == '-' || text[i] == '+'))
    i++;
  gsize n_digits = 0;
  for (; i < size && g_ascii_isdigit (text[i]); i++)
    n_digits++;
  if (i < size && text[i] == '.')
    for (i++; i < size && g_ascii_isdigit (text[i]); i++)
      n_digits++;
  if (n_digits == 0)
    return FALSE;
  if (i < size && (text[i] == 'e' || text[i] == 'E')) {
    gsize k = i + 1;
    if (k < size && (text[k] == '-' || text[k] == '+'))
      k++;
    if (k >= size || !g_ascii_isdigit (text[k]))
      return FALSE;
    while (k < size && g_ascii_isdigit (text[k]))
      k++;
    i = k;
  }
  *number_size = i;
  if (i < size && strchr ("dDfF", text[i]) != NULL)
    i++;
  return i == size;
}

static gboolean
special_number (const char *text, gsize size, double *value)
{
  char folded[16];
  if (size == 0 || size >= sizeof folded)
    return FALSE;
  for (gsize i = 0; i < size; i++)
    folded[i] = g_ascii_tolower (text[i]);
  folded[size] = '\0';
  const char *plain = folded[0] == '-' || folded[0] == '+' ? folded + 1 : folded;
  if (strcmp (plain, "inf") == 0 || strcmp (plain, "infinity") == 0)
    *value = folded[0] == '-' ? -INFINITY : INFINITY;
  else if (strcmp (folded, "nan") == 0)
    *value = NAN;
  else
    return FALSE;
  return TRUE;
}

/* A NUL-terminated copy of the number; short ones in @local. */
static const char *
number_copy (const char *text, gsize size, char local[64], char **heap)
{
  if (size < 64) {
    memcpy (local, text, size);
    local[size] = '\0';
    return local;
  }
  *heap = g_strndup (text, size);
  return *heap;
}

gboolean
relation_text_to_double (const char *text, gsize size, double *value)
{
  trim_all (&text, &size);
  gsize number_size;
  if (!is_java_double (text, size, &number_size))
    return special_number (text, size, value);
  char local[64];
  g_autofree char *heap = NULL;
  *value = g_ascii_strtod (number_copy (text, number_size, local, &heap), NULL);
  return TRUE;
}

gboolean
relation_text_to_float (const char *text, gsize size, float *value)
{
  trim_all (&text, &size);
  gsize number_size;
  double special;
  if (!is_java_double (text, size, &number_size)) {
    if (!special_number (text, size, &special))
      return FALSE;
    *value = (float) special;
    return TRUE;
  }
  char local[64];
  g_autofree char *heap = NULL;
  /* strtof rounds once; a double in between would round twice. The process runs in the C numeric locale. */
  *value = strtof (number_copy (text, number_size, local, &heap), NULL);
  return TRUE;
}

gboolean
relation_text_to_boolean (const char *text, gsize size, gboolean *value)
{
  static const char *const yes[] = { "t", "true", "y", "yes", "1" };
  static const char *const no[] = { "f", "false", "n", "no", "0" };
  trim_all (&text, &size);
  for (gsize i = 0; i < G_N_ELEMENTS (yes); i++) {
    if (size == strlen (yes[i]) && g_ascii_strncasecmp (text, yes[i], size) == 0) {
      *value = TRUE;
      return TRUE;
    }
    if (size == strlen (no[i]) && g_ascii_strncasecmp (text, no[i], size) == 0) {
      *value = FALSE;
      return TRUE;
    }
  }
  return FALSE;
}

/* ---- decimals ---- */

RelationInt128
relation_decimal_power10 (guint exponent)
{
  g_assert (exponent <= RELATION_DECIMAL_DIGITS);
  RelationInt128 power = 1;
  for (guint i = 0; i < exponent; i++)
    power *= 10;
  return power;
}

static RelationUint128
magnitude_of (RelationInt128 value)
{
  return value < 0 ? -(RelationUint128) value : (RelationUint128) value;
}

gboolean
relation_decimal_fits (RelationInt128 value, guint precision)
{
  return magnitude_of (value) < (RelationUint128) relation_decimal_power10 (MIN (precision, RELATION_DECIMAL_DIGITS));
}

/* A 256-bit magnitude, least significant word first. */
typedef struct {
  guint64 word[4];
} Wide;

static Wide
wide_product (RelationUint128 a, RelationUint128 b)
{
  guint64 x[2] = { (guint64) a, (guint64) (a >> 64) };
  guint64 y[2] = { (guint64) b, (guint64) (b >> 64) };
  Wide result = { { 0 } };
  for (int i = 0; i < 2; i++) {
    RelationUint128 carry = 0;
    for (int k = 0; k < 2; k++) {
      RelationUint128 sum = (RelationUint128) x[i] * y[k] + result.word[i + k] + carry;
      result.word[i + k] = (guint64) sum;
      carry = sum >> 64;
    }
    result.word[i + 2] += (guint64) carry;
  }
  return result;
}

/* @value × @factor. Returns: FALSE beyond 256 bits. */
static gboolean
wide_scale (Wide *value, guint64 factor)
{
  RelationUint128 carry = 0;
  for (int i = 0; i < 4; i++) {
    RelationUint128 sum = (RelationUint128) value->word[i] * factor + carry;
    value->word[i] = (guint64) sum;
    carry = sum >> 64;
  }
  return carry == 0;
}

static gboolean
wide_scale10 (Wide *value, guint exponent)
{
  for (; exponent >= 18; exponent -= 18)
    if (!wide_scale (value, G_GUINT64_CONSTANT (1000000000000000000)))
      return FALSE;
  guint64 rest = 1;
  for (; exponent > 0; exponent--)
    rest *= 10;
  return wide_scale (value, rest);
}

/* @value = @value / @divisor; the remainder is returned. Bit by bit only when the divisor has more than 64 bits. */
static RelationUint128
wide_divide (Wide *value, RelationUint128 divisor)
{
  if ((divisor >> 64) == 0) {
    RelationUint128 rest = 0;
    for (int i = 3; i >= 0; i--) {
      RelationUint128 part = (rest << 64) | value->word[i];
      value->word[i] = (guint64) (part / divisor);
      rest = part % divisor;
    }
    return rest;
  }
  RelationUint128 rest = 0;
  for (int bit = 255; bit >= 0; bit--) {
    gboolean over = (rest >> 127) != 0;
    rest = (rest << 1) | ((value->word[bit / 64] >> (bit % 64)) & 1);
    guint64 mask = (guint64) 1 << (bit % 64);
    if (over || rest >= divisor) {
      rest -= divisor;
      value->word[bit / 64] |= mask;
    } else
      value->word[bit / 64] &= ~mask;
  }
  return rest;
}

static gboolean
wide_to_uint128 (const Wide *value, RelationUint128 *result)
{
  if (value->word[2] != 0 || value->word[3] != 0)
    return FALSE;
  *result = ((RelationUint128) value->word[1] << 64) | value->word[0];
  return TRUE;
}

/* Whether a quotient with @rest left of @divisor moves away from zero. */
static gboolean
rounds_away (RelationUint128 quotient_low, RelationUint128 rest, RelationUint128 divisor, gboolean negative,
             RelationRounding rounding)
{
  if (rest == 0)
    return FALSE;
  RelationUint128 other = divisor - rest;
  switch (rounding) {
  case RELATION_ROUND_HALF_UP:
    return rest >= other;
  case RELATION_ROUND_HALF_EVEN:
    return rest > other || (rest == other && (quotient_low & 1) != 0);
  case RELATION_ROUND_DOWN:
    return FALSE;
  case RELATION_ROUND_FLOOR:
    return negative;
  case RELATION_ROUND_CEILING:
    return !negative;
  }
  return FALSE;
}

/* Divides @value by @divisor, rounds, checks @precision, sets the sign. */
static gboolean
wide_finish (Wide *value, RelationUint128 divisor, gboolean negative, guint precision, RelationRounding rounding,
             RelationInt128 *result)
{
  RelationUint128 rest = wide_divide (value, divisor);
  RelationUint128 quotient;
  if (!wide_to_uint128 (value, &quotient))
    return FALSE;
  if (rounds_away (quotient, rest, divisor, negative, rounding))
    quotient++;
  if (quotient >= (RelationUint128) relation_decimal_power10 (MIN (precision, RELATION_DECIMAL_DIGITS)))
    return FALSE;
  *result = negative ? -(RelationInt128) quotient : (RelationInt128) quotient;
  return TRUE;
}

gboolean
relation_decimal_rescale (RelationInt128 value, int scale, int to_scale, guint precision, RelationRounding rounding,
                          RelationInt128 *result)
{
  Wide wide = wide_product (magnitude_of (value), 1);
  int shift = to_scale - scale;
  if (value == 0) {
    *result = 0;
    return TRUE;
  }
  if (shift >= 0)
    return shift <= 76 && wide_scale10 (&wide, (guint) shift) &&
           wide_finish (&wide, 1, value < 0, precision, rounding, result);
  if (shift < -RELATION_DECIMAL_DIGITS) {
    /* Everything falls behind the last kept place by more than one digit. */
    *result = 0;
    if (rounds_away (0, 1, 1000, value < 0, rounding))
      *result = value < 0 ? -1 : 1;
    return TRUE;
  }
  return wide_finish (&wide, (RelationUint128) relation_decimal_power10 ((guint) -shift), value < 0, precision,
                      rounding, result);
}

gboolean
relation_decimal_add (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision, guint scale,
                      RelationInt128 *result)
{
  /* The exact sum has max(scales); it may need more than 128 bits, so each operand is widened and compared by sign. */
  guint common = MAX (scale_a, scale_b);
  Wide x = wide_product (magnitude_of (a), 1);
  Wide y = wide_product (magnitude_of (b), 1);
  if (!wide_scale10 (&x, common - scale_a) || !wide_scale10 (&y, common - scale_b))
    return FALSE;
  gboolean negative = a < 0;
  if ((a < 0) == (b < 0)) {
    RelationUint128 carry = 0;
    for (int i = 0; i < 4; i++) {
      carry += (RelationUint128) x.word[i] + y.word[i];
      x.word[i] = (guint64) carry;
      carry >>= 64;
    }
  } else {
    int order = 0;
    for (int i = 3; i >= 0 && order == 0; i--)
      order = x.word[i] > y.word[i] ? 1 : x.word[i] < y.word[i] ? -1 : 0;
    if (order < 0) {
      Wide swap = x;
      x = y;
      y = swap;
      negative = b < 0;
    }
    guint64 borrow = 0;
    for (int i = 0; i < 4; i++) {
      RelationUint128 subtrahend = (RelationUint128) y.word[i] + borrow;
      borrow = x.word[i] < subtrahend;
      x.word[i] = (guint64) (x.word[i] - subtrahend);
    }
  }
  if (scale >= common)
    return wide_scale10 (&x, scale - common) &&
           wide_finish (&x, 1, negative, precision, RELATION_ROUND_HALF_UP, result);
  return wide_finish (&x, (RelationUint128) relation_decimal_power10 (common - scale), negative, precision,
                      RELATION_ROUND_HALF_UP, result);
}

gboolean
relation_decimal_multiply (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                           guint scale, RelationInt128 *result)
{
  Wide product = wide_product (magnitude_of (a), magnitude_of (b));
  gboolean negative = (a < 0) != (b < 0);
  guint exact = scale_a + scale_b;
  if (scale >= exact)
    return wide_scale10 (&product, scale - exact) &&
           wide_finish (&product, 1, negative, precision, RELATION_ROUND_HALF_UP, result);
  guint drop = exact - scale;
  if (drop <= RELATION_DECIMAL_DIGITS)
    return wide_finish (&product, (RelationUint128) relation_decimal_power10 (drop), negative, precision,
                        RELATION_ROUND_HALF_UP, result);
  /* Rounding in two steps would round twice: a sticky digit keeps the lower part's being non-zero. */
  RelationUint128 rest = wide_divide (&product, (RelationUint128) relation_decimal_power10 (drop - 37));
  if (!wide_scale (&product, 10))
    return FALSE;
  if (rest != 0)
    product.word[0] |= 1;
  return wide_finish (&product, (RelationUint128) relation_decimal_power10 (38), negative, precision,
                      RELATION_ROUND_HALF_UP, result);
}

gboolean
relation_decimal_divide (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision, guint scale,
                         RelationInt128 *result)
{
  g_assert (b != 0);
  gboolean negative = (a < 0) != (b < 0);
  /* a·10^-sa / (b·10^-sb) at @scale: a·10^(scale + sb - sa) / b. */
  int shift = (int) scale + (int) scale_b - (int) scale_a;
  Wide dividend = wide_product (magnitude_of (a), 1);
  if (a == 0) {
    *result = 0;
    return TRUE;
  }
  if (shift >= 0)
    return wide_scale10 (&dividend, (guint) shift) &&
           wide_finish (&dividend, magnitude_of (b), negative, precision, RELATION_ROUND_HALF_UP, result);
  RelationUint128 divisor = magnitude_of (b);
  for (int i = 0; i > shift; i--) {
    if (divisor > (RelationUint128) -1 / 10) {
      *result = 0; /* the divisor exceeds ten times any dividend */
      return TRUE;
    }
    divisor *= 10;
  }
  return wide_finish (&dividend, divisor, negative, precision, RELATION_ROUND_HALF_UP, result);
}

gboolean
relation_decimal_remainder (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, guint precision,
                            guint scale, RelationInt128 *result)
{
  g_assert (b != 0);
  guint common = MAX (scale_a, scale_b);
  RelationUint128 x = magnitude_of (a);
  RelationUint128 y = magnitude_of (b);
  Wide wide_y = wide_product (y, (RelationUint128) relation_decimal_power10 (common - scale_b));
  RelationUint128 rest;
  if (!wide_to_uint128 (&wide_y, &y)) {
    rest = x; /* the divisor is beyond 128 bits at a's scale, so a is smaller */
    common = scale_a;
  } else {
    Wide wide_x = wide_product (x, (RelationUint128) relation_decimal_power10 (common - scale_a));
    rest = wide_divide (&wide_x, y);
  }
  if (rest > (RelationUint128) relation_decimal_power10 (38))
    return FALSE;
  RelationInt128 signed_rest = a < 0 ? -(RelationInt128) rest : (RelationInt128) rest;
  return relation_decimal_rescale (signed_rest, (int) common, (int) scale, precision, RELATION_ROUND_HALF_UP, result);
}

gboolean
relation_decimal_quotient (RelationInt128 a, guint scale_a, RelationInt128 b, guint scale_b, gint64 *result)
{
  g_assert (b != 0);
  guint common = MAX (scale_a, scale_b);
  Wide wide_y = wide_product (magnitude_of (b), (RelationUint128) relation_decimal_power10 (common - scale_b));
  RelationUint128 y;
  if (!wide_to_uint128 (&wide_y, &y)) {
    *result = 0;
    return TRUE;
  }
  Wide wide_x = wide_product (magnitude_of (a), (RelationUint128) relation_decimal_power10 (common - scale_a));
  wide_divide (&wide_x, y);
  RelationUint128 quotient;
  if (!wide_to_uint128 (&wide_x, &quotient) || quotient > (RelationUint128) G_MAXINT64)
    return FALSE;
  *result = (a < 0) != (b < 0) ? -(gint64) quotient : (gint64) quotient;
  return TRUE;
}

double
relation_decimal_to_double (RelationInt128 value, guint scale)
{
  char text[RELATION_NUMBER_TEXT_SIZE];
  relation_decimal_text (value, scale, text);
  return g_ascii_strtod (text, NULL);
}

/* Adds a digit to a sum that stays within 38 digits plus one. Returns FALSE when it would not. */
static gboolean
push_digit (RelationUint128 *sum, int digit)
{
  if (*sum >= (RelationUint128) relation_decimal_power10 (38))
    return FALSE;
  *sum = *sum * 10 + (RelationUint128) digit;
  return TRUE;
}

RelationDecimalOutcome
relation_text_to_decimal (const char *text, gsize size, guint precision, guint scale, RelationInt128 *value)
{
  trim_all (&text, &size);
  gsize i = 0;
  gboolean negative = FALSE;
  if (i < size && (text[i] == '-' || text[i] == '+'))
    negative = text[i++] == '-';
  gsize start = i;
  gsize n_digits = 0;
  gint64 point = -1; /* number of digits before the point */
  for (; i < size && (g_ascii_isdigit (text[i]) || (text[i] == '.' && point < 0)); i++) {
    if (text[i] == '.')
      point = (gint64) n_digits;
    else
      n_digits++;
  }
  gsize end = i;
  gint64 exponent = 0;
  if (n_digits == 0)
    return RELATION_DECIMAL_BAD_TEXT;
  if (i < size && (text[i] == 'e' || text[i] == 'E')) {
    gboolean plus = i + 1 < size && text[i + 1] == '+';
    if (!relation_text_to_int64 (text + i + 1, size - i - 1, G_MININT32, G_MAXINT32, &exponent) ||
        (i + 1 < size && is_trimmed (text[i + 1])) || (plus && i + 2 >= size))
      return RELATION_DECIMAL_BAD_TEXT;
    i = size;
  }
  if (i != size)
    return RELATION_DECIMAL_BAD_TEXT;
  if (point < 0)
    point = (gint64) n_digits;
  /* Digits are kept up to @scale places after the shifted point; the next one decides the rounding. */
  gint64 keep = point + exponent + (gint64) scale;
  RelationUint128 sum = 0;
  gint64 seen = 0;
  gboolean up = FALSE;
  for (i = start; i < end; i++) {
    if (text[i] == '.')
      continue;
    if (seen < keep) {
      if (!push_digit (&sum, text[i] - '0'))
        return RELATION_DECIMAL_OUT_OF_RANGE;
    } else if (seen == keep)
      up = text[i] >= '5';
    seen++;
  }
  for (; seen < keep && sum != 0; seen++)
    if (!push_digit (&sum, 0))
      return RELATION_DECIMAL_OUT_OF_RANGE;
  if (up)
    sum++;
  if (sum >= (RelationUint128) relation_decimal_power10 (precision))
    return RELATION_DECIMAL_OUT_OF_RANGE;
  *value = negative ? -(RelationInt128) sum : (RelationInt128) sum;
  return RELATION_DECIMAL_OK;
}

RelationDecimalOutcome
relation_double_to_decimal (double value, guint precision, guint scale, RelationInt128 *result)
{
  char text[RELATION_NUMBER_TEXT_SIZE];
  gsize size = relation_double_text (value, text);
  return relation_text_to_decimal (text, size, precision, scale, result);
}

/* Values as text in the log, and their order. */
#include "delta-value-private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Reads 1 to @most digits at *@at. */
static gboolean
digits (const char **at, const char *end, guint least, guint most, gint64 *value)
{
  guint n = 0;

  *value = 0;
  while (*at < end && n < most && g_ascii_isdigit (**at)) {
    *value = *value * 10 + (**at - '0');
    (*at)++;
    n++;
  }
  return n >= least;
}

static gboolean
literal (const char **at, const char *end, char c)
{
  if (*at == end || **at != c)
    return FALSE;
  (*at)++;
  return TRUE;
}

/* Days since 1970 of a proleptic Gregorian date. */
static gint64
days_from_civil (gint64 year, gint64 month, gint64 day)
{
  gint64 shifted = month <= 2 ? year - 1 : year;
  gint64 era = (shifted >= 0 ? shifted : shifted - 399) / 400;
  gint64 year_of_era = shifted - era * 400;
  gint64 day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  gint64 day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

  return era * 146097 + day_of_era - 719468;
}

static gboolean
read_date (const char **at, const char *end, gint64 *days)
{
  static const guint8 lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
  gint64 year;
  gint64 month;
  gint64 day;
  gboolean negative = literal (at, end, '-');
  gboolean leap;

  if (!negative)
    (void) literal (at, end, '+'); /* years beyond 9999 may carry a sign */
  if (!digits (at, end, 1, 7, &year) || !literal (at, end, '-') || !digits (at, end, 1, 2, &month) ||
      !literal (at, end, '-') || !digits (at, end, 1, 2, &day))
    return FALSE;
  if (negative)
    year = -year;
  leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  if (month < 1 || month > 12 || day < 1 || day > lengths[month - 1] + (month == 2 && leap ? 1 : 0))
    return FALSE;
  *days = days_from_civil (year, month, day);
  return TRUE;
}

gboolean
delta_value_parse_date (const char *text, gsize size, gint64 *days)
{
  const char *at = text;

  return read_date (&at, text + size, days) && at == text + size;
}

/* `Z`, `+hh`, `+hh:mm`, `+hhmm`, or nothing. */
static gboolean
read_zone (const char **at, const char *end, gint64 *offset_s)
{
  gint64 hours;
  gint64 minutes = 0;
  gboolean negative;

  *offset_s = 0;
  if (*at == end || literal (at, end, 'Z'))
    return TRUE;
  negative = literal (at, end, '-');
  if (!negative && !literal (at, end, '+'))
    return FALSE;
  if (!digits (at, end, 2, 2, &hours))
    return FALSE;
  if (*at < end) {
    (void) literal (at, end, ':'); /* optional */
    if (!digits (at, end, 2, 2, &minutes))
      return FALSE;
  }
  if (hours > 18 || minutes > 59)
    return FALSE;
  *offset_s = (hours * 60 + minutes) * 60 * (negative ? -1 : 1);
  return TRUE;
}

gboolean
delta_value_parse_timestamp (const char *text, gsize size, gint64 *us)
{
  const char *at = text;
  const char *end = text + size;
  gint64 days;
  gint64 hour = 0;
  gint64 minute = 0;
  gint64 second = 0;
  gint64 fraction = 0;
  gint64 offset_s = 0;

  if (!read_date (&at, end, &days))
    return FALSE;
  if (at < end) {
    if (!literal (&at, end, ' ') && !literal (&at, end, 'T'))
      return FALSE;
    if (!digits (&at, end, 1, 2, &hour) || !literal (&at, end, ':') || !digits (&at, end, 1, 2, &minute))
      return FALSE;
    if (literal (&at, end, ':') && !digits (&at, end, 1, 2, &second))
      return FALSE;
    if (literal (&at, end, '.')) {
      const char *start = at;
      gint64 ignored;
      if (!digits (&at, end, 1, 6, &fraction))
        return FALSE;
      for (gsize n = (gsize) (at - start); n < 6; n++)
        fraction *= 10;
      (void) digits (&at, end, 0, 12, &ignored); /* beyond microseconds */
    }
    if (!read_zone (&at, end, &offset_s) || at != end)
      return FALSE;
  }
  if (hour > 23 || minute > 59 || second > 59 || days > 106751991 || days < -106751991)
    return FALSE;
  *us = (days * 86400 + hour * 3600 + minute * 60 + second - offset_s) * 1000000 + fraction;
  return TRUE;
}

gboolean
delta_value_parse_decimal (const char *text, gsize size, guint precision, guint scale, __int128 *unscaled)
{
  const char *at = text;
  const char *end = text + size;
  gboolean negative = literal (&at, end, '-');
  gboolean point = FALSE;
  gboolean any = FALSE;
  gint64 exponent = 0; /* of ten, to multiply the digits by */
  gint64 shift;
  __int128 value = 0;
  __int128 limit = 1;
  __int128 most_before_digit = 1; /* 10^37: one digit more makes 38 */

  for (guint i = 0; i < MIN (precision, 38); i++)
    limit *= 10;
  for (guint i = 0; i < 37; i++)
    most_before_digit *= 10;
  if (!negative)
    (void) literal (&at, end, '+'); /* optional */
  for (; at < end && (g_ascii_isdigit (*at) || (*at == '.' && !point)); at++) {
    if (*at == '.') {
      point = TRUE;
      continue;
    }
    any = TRUE;
    /* Zeros that end the fraction change nothing and need no room. */
    if (value >= most_before_digit) {
      if (*at != '0')
        return FALSE;
      exponent += point ? 0 : 1;
      continue;
    }
    value = value * 10 + (*at - '0');
    exponent -= point ? 1 : 0;
  }
  if (!any)
    return FALSE;
  if (at < end && (*at == 'e' || *at == 'E')) {
    gint64 written;
    gboolean minus;
    at++;
    minus = literal (&at, end, '-');
    if (!minus)
      (void) literal (&at, end, '+'); /* optional */
    if (!digits (&at, end, 1, 6, &written))
      return FALSE;
    exponent += minus ? -written : written;
  }
  if (at != end)
    return FALSE;
  for (shift = exponent + scale; shift > 0 && value != 0; shift--) {
    if (value >= limit)
      return FALSE;
    value *= 10;
  }
  for (; shift < 0 && value != 0; shift++) {
    if (value % 10 != 0)
      return FALSE;
    value /= 10;
  }
  if (value >= limit)
    return FALSE;
  *unscaled = negative ? -value : value;
  return TRUE;
}

static gboolean
parse_integer (const char *text, gsize size, gint64 least, gint64 most, __int128 *value)
{
  g_autofree char *copy = g_strndup (text, size);
  char *end;
  gint64 number;

  /* A leading plus or space is no form of the protocol. */
  if (size == 0 || size > 20 || !(g_ascii_isdigit (copy[0]) || copy[0] == '-'))
    return FALSE;
  errno = 0;
  number = g_ascii_strtoll (copy, &end, 10);
  if (errno != 0 || *end != '\0' || end == copy || number < least || number > most)
    return FALSE;
  *value = number;
  return TRUE;
}

static gboolean
parse_real (const char *text, gsize size, double *value)
{
  g_autofree char *copy = g_strndup (text, size);
  char *end;

  if (g_ascii_strcasecmp (copy, "NaN") == 0) {
    *value = NAN;
    return TRUE;
  }
  if (strcmp (copy, "Infinity") == 0 || strcmp (copy, "inf") == 0) {
    *value = INFINITY;
    return TRUE;
  }
  if (strcmp (copy, "-Infinity") == 0 || strcmp (copy, "-inf") == 0) {
    *value = -INFINITY;
    return TRUE;
  }
  if (!(g_ascii_isdigit (copy[0]) || copy[0] == '-' || copy[0] == '.'))
    return FALSE;
  *value = g_ascii_strtod (copy, &end);
  return *end == '\0' && end != copy && !isinf (*value);
}

gboolean
delta_value_parse (const BaseType *type, const char *text, gsize size, DeltaValue *value)
{
  gint64 whole = 0;

  *value = (DeltaValue){ .is_null = text == NULL };
  if (text == NULL)
    return TRUE;
  switch (base_type_kind (type)) {
  case BASE_TYPE_BOOLEAN:
    value->integer = size == 4 && g_ascii_strncasecmp (text, "true", 4) == 0;
    return value->integer != 0 || (size == 5 && g_ascii_strncasecmp (text, "false", 5) == 0);
  case BASE_TYPE_BYTE:
    return parse_integer (text, size, G_MININT8, G_MAXINT8, &value->integer);
  case BASE_TYPE_SHORT:
    return parse_integer (text, size, G_MININT16, G_MAXINT16, &value->integer);
  case BASE_TYPE_INTEGER:
    return parse_integer (text, size, G_MININT32, G_MAXINT32, &value->integer);
  case BASE_TYPE_LONG:
    return parse_integer (text, size, G_MININT64, G_MAXINT64, &value->integer);
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return parse_real (text, size, &value->real);
  case BASE_TYPE_DECIMAL:
    return delta_value_parse_decimal (text, size, base_type_precision (type), base_type_scale (type), &value->integer);
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    value->text = text;
    value->text_bytes = size;
    return TRUE;
  case BASE_TYPE_DATE:
    if (!delta_value_parse_date (text, size, &whole))
      return FALSE;
    value->integer = whole;
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    if (!delta_value_parse_timestamp (text, size, &whole))
      return FALSE;
    value->integer = whole;
    return TRUE;
  default:
    return FALSE;
  }
}

char *
delta_constant_expression (BaseTypeKind kind, const char *value)
{
  switch (kind) {
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    return g_strdup_printf ("%s::BIGINT", value);
  case BASE_TYPE_DATE:
    return g_strdup_printf ("(%s - DATE '1970-01-01')::BIGINT", value);
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    return g_strdup_printf ("epoch_us(%s)", value);
  case BASE_TYPE_STRING:
    return g_strdup (value);
  case BASE_TYPE_DECIMAL:
    return g_strdup_printf ("%s::VARCHAR", value);
  default:
    return NULL;
  }
}

DeltaConstant
delta_constant_read (BaseTypeKind kind, const DuckVector *vector, guint64 row)
{
  DeltaConstant constant = { .kind = kind };

  if (kind == BASE_TYPE_STRING || kind == BASE_TYPE_DECIMAL) {
    const char *text = duck_vector_string (vector, row, &constant.text_bytes);
    char *copy = g_malloc0 (constant.text_bytes + 1); /* NULs may be in it */
    memcpy (copy, text, constant.text_bytes);
    constant.text = copy;
  } else {
    constant.integer = duck_vector_int64 (vector, row);
  }
  return constant;
}

gboolean
delta_value_from_constant (const BaseType *type, const DeltaConstant *constant, DeltaValue *value)
{
  BaseTypeKind kind = base_type_kind (type);

  *value = (DeltaValue){ 0 };
  if (base_type_is_integral (type)) {
    value->integer = constant->integer;
    return constant->kind == BASE_TYPE_BYTE || constant->kind == BASE_TYPE_SHORT ||
           constant->kind == BASE_TYPE_INTEGER || constant->kind == BASE_TYPE_LONG;
  }
  if (constant->kind != kind)
    return FALSE;
  switch (kind) {
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    value->integer = constant->integer;
    return TRUE;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    value->real = constant->real;
    return TRUE;
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    value->text = constant->text;
    value->text_bytes = constant->text_bytes;
    return TRUE;
  case BASE_TYPE_DECIMAL:
    return delta_value_parse_decimal (constant->text, constant->text_bytes, base_type_precision (type),
                                      base_type_scale (type), &value->integer);
  default:
    return FALSE;
  }
}

int
delta_value_compare (const BaseType *type, const DeltaValue *a, const DeltaValue *b)
{
  int order;

  switch (base_type_kind (type)) {
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    if (isnan (a->real) || isnan (b->real))
      return (isnan (a->real) ? 1 : 0) - (isnan (b->real) ? 1 : 0);
    return (a->real > b->real) - (a->real < b->real);
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    order = memcmp (a->text, b->text, MIN (a->text_bytes, b->text_bytes));
    return order != 0 ? order : (a->text_bytes > b->text_bytes) - (a->text_bytes < b->text_bytes);
  default:
    return (a->integer > b->integer) - (a->integer < b->integer);
  }
}

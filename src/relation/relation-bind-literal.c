/* Literals: numbers by their digits, dates, timestamps, intervals. */
#include "base-text.h"
#include "relation-bind-literal-private.h"
#include "relation-binder-private.h"
#include "relation-civil-private.h"
#include "relation-interval-private.h"

#include <string.h>

static RelationExpr *
plain_literal (RelationBinder *binder, BaseTypeKind kind, gint64 value)
{
  g_autoptr (BaseType) type = base_type_simple (kind);

  return relation_expr_new_literal (binder, relation_literal_new_integer (type, value));
}

/* Digits of a decimal literal: `1.5`, `1E3`, `-.5` → plain digits and the type they need. */
static RelationExpr *
decimal_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const char *text = expr->u.literal.text;
  gboolean negative = *text == '-';
  g_autoptr (GString) digits = g_string_new (NULL);
  gint64 exponent = 0;
  gint64 scale = 0;
  gboolean fraction = FALSE;
  g_autoptr (BaseType) type = NULL;
  g_autofree char *plain = NULL;

  for (const char *at = text + (negative ? 1 : 0); *at != '\0'; at++) {
    if (*at == '.') {
      fraction = TRUE;
    } else if (*at == 'e' || *at == 'E') {
      if (!base_text_parse_int64 (at[1] == '+' ? at + 2 : at + 1, &exponent) || exponent < -400 || exponent > 400) {
        relation_bind_error (&expr->position, error, SLUICE_ERROR_DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION,
                             "The decimal literal %s has too many digits.", text);
        return NULL;
      }
      break;
    } else {
      g_string_append_c (digits, *at);
      scale += fraction;
    }
  }
  scale -= exponent;
  for (; scale < 0; scale++)
    g_string_append_c (digits, '0');
  while (digits->len > 1 && digits->str[0] == '0' && (gint64) digits->len > scale)
    g_string_erase (digits, 0, 1);
  while ((gint64) digits->len < scale)
    g_string_prepend_c (digits, '0');
  if (digits->len > 38) {
    relation_bind_error (&expr->position, error, SLUICE_ERROR_DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION,
                         "The decimal literal %s needs the precision %" G_GSIZE_FORMAT ", more than 38.", text,
                         digits->len);
    return NULL;
  }
  type = base_type_decimal ((guint) MAX (digits->len, 1), (guint) scale);
  if (scale > 0)
    g_string_insert_c (digits, (gssize) digits->len - scale, '.');
  if (digits->str[0] == '.')
    g_string_prepend_c (digits, '0');
  plain = g_strconcat (negative ? "-" : "", digits->str, NULL);
  return relation_expr_new_literal (binder, relation_literal_new_text (type, plain, strlen (plain)));
}

static RelationExpr *
double_literal (RelationBinder *binder, const SqlExpr *expr, BaseTypeKind kind)
{
  g_autoptr (BaseType) type = base_type_simple (kind);
  double value = g_ascii_strtod (expr->u.literal.text, NULL);

  if (kind == BASE_TYPE_FLOAT)
    value = (double) strtof (expr->u.literal.text, NULL);
  return relation_expr_new_literal (binder, relation_literal_new_double (type, value));
}

static RelationExpr *
integer_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  gint64 value;

  if (!base_text_parse_int64 (expr->u.literal.text, &value))
    return decimal_literal (binder, expr, error);
  return plain_literal (binder, value >= G_MININT32 && value <= G_MAXINT32 ? BASE_TYPE_INTEGER : BASE_TYPE_LONG, value);
}

static gboolean
typed_error (const SqlExpr *expr, GError **error)
{
  return relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_TYPED_LITERAL,
                              "The value of the typed literal \"%s\" is invalid: '%s'.", expr->u.literal.type_name,
                              expr->u.literal.text);
}

/* ---- intervals ---- */

static const struct {
  SqlIntervalUnit unit;
  const char *word;
  gboolean months;
  BaseIntervalField field;
  gint64 factor; /* months or microseconds */
} units[] = {
  { SQL_UNIT_YEAR, "year", TRUE, BASE_INTERVAL_YEAR, 12 },
  { SQL_UNIT_MONTH, "month", TRUE, BASE_INTERVAL_MONTH, 1 },
  { SQL_UNIT_WEEK, "week", FALSE, BASE_INTERVAL_DAY, 7 * RELATION_US_PER_DAY },
  { SQL_UNIT_DAY, "day", FALSE, BASE_INTERVAL_DAY, RELATION_US_PER_DAY },
  { SQL_UNIT_HOUR, "hour", FALSE, BASE_INTERVAL_HOUR, 3600 * RELATION_US_PER_SECOND },
  { SQL_UNIT_MINUTE, "minute", FALSE, BASE_INTERVAL_MINUTE, 60 * RELATION_US_PER_SECOND },
  { SQL_UNIT_SECOND, "second", FALSE, BASE_INTERVAL_SECOND, RELATION_US_PER_SECOND },
  { SQL_UNIT_MILLISECOND, "millisecond", FALSE, BASE_INTERVAL_SECOND, 1000 },
  { SQL_UNIT_MICROSECOND, "microsecond", FALSE, BASE_INTERVAL_SECOND, 1 },
};

static int
unit_index (SqlIntervalUnit unit)
{
  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    if (units[i].unit == unit)
      return (int) i;
  return -1;
}

static RelationExpr *
interval_expr (RelationBinder *binder, gboolean months, BaseIntervalField from, BaseIntervalField to, gint64 value)
{
  g_autoptr (BaseType) type = base_type_interval (from, to);
  RelationExpr *expr = relation_expr_new_literal (binder, relation_literal_new_integer (type, value));
  g_autoptr (GString) text = g_string_new (NULL);

  if (months)
    relation_interval_append_months (text, value, from, to);
  else
    relation_interval_append_us (text, value, from, to);
  expr->display = relation_arena_strdup (binder->arena, text->str);
  return expr;
}

static gboolean
interval_overflow (const SqlExpr *expr, GError **error)
{
  return relation_bind_error (&expr->position, error, SLUICE_ERROR_INTERVAL_ARITHMETIC_OVERFLOW_WITHOUT_SUGGESTION,
                              "The interval is too large.");
}

/* `value` as a number of the unit; only seconds may have a fraction (up to 9 digits are read, 6 kept). */
static gboolean
part_value (const SqlExpr *expr, const char *text, gint64 factor, gboolean seconds, gint64 *value, GError **error)
{
  const char *dot = strchr (text, '.');
  g_autofree char *whole = dot != NULL ? g_strndup (text, (gsize) (dot - text)) : g_strdup (text);
  gboolean negative = *text == '-';
  gint64 number = 0;
  gint64 micros = 0;

  if (dot != NULL && !seconds)
    return relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_INVALID_FRACTION,
                                "Error parsing '%s' to interval: only seconds can have a fractional part.", text);
  if (*whole != '\0' && strcmp (whole, "-") != 0 && !base_text_parse_int64 (*whole == '+' ? whole + 1 : whole, &number))
    return relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_UNRECOGNIZED_NUMBER,
                                "Error parsing '%s' to interval: unrecognized number.", text);
  if (dot != NULL) {
    gint64 place = 100000;
    for (const char *at = dot + 1; *at != '\0'; at++, place /= 10) {
      if (!g_ascii_isdigit (*at))
        return relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_INVALID_VALUE,
                                    "Error parsing '%s' to interval: invalid value.", text);
      micros += (*at - '0') * place;
    }
  }
  if (*text == '\0')
    return relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_UNRECOGNIZED_NUMBER,
                                "Error parsing '%s' to interval: unrecognized number.", text);
  if (__builtin_mul_overflow (number, factor, value) ||
      __builtin_add_overflow (*value, negative ? -micros : micros, value))
    return interval_overflow (expr, error);
  return TRUE;
}

static RelationExpr *
interval_range (RelationBinder *binder, const SqlIntervalPart *part, GError **error)
{
  int from = unit_index (part->unit);
  int to = unit_index (part->to);
  gint64 value;

  if (from < 0 || to < 0 || units[from].months != units[to].months ||
      !relation_text_to_interval (part->text, strlen (part->text), units[from].field, units[to].field, &value)) {
    relation_bind_error (&part->position, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_INTERVAL_PARSING,
                         "Error parsing '%s' to interval.", part->text);
    return NULL;
  }
  return interval_expr (binder, units[from].months, units[from].field, units[to].field,
                        part->quoted && part->negated ? -value : value);
}

RelationExpr *
relation_bind_interval (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const SqlInterval *interval = &expr->u.interval;
  BaseIntervalField from = BASE_INTERVAL_SECOND, to = BASE_INTERVAL_YEAR;
  gboolean has_months = FALSE, has_us = FALSE;
  gint64 total = 0;

  if (interval->n == 1 && interval->parts[0].to != SQL_UNIT_NONE)
    return interval_range (binder, &interval->parts[0], error);
  for (guint i = 0; i < interval->n; i++) {
    const SqlIntervalPart *part = &interval->parts[i];
    int unit = unit_index (part->unit);
    gint64 value = 0;
    if (unit < 0) {
      relation_bind_unsupported (&part->position, error, "This unit of an interval");
      return NULL;
    }
    has_months |= units[unit].months;
    has_us |= !units[unit].months;
    from = MIN (from, units[unit].field);
    to = MAX (to, units[unit].field);
    if (!part_value (expr, part->text, units[unit].factor, part->unit == SQL_UNIT_SECOND, &value, error))
      return NULL;
    if (part->negated && (part->quoted || *part->text != '-'))
      value = -value;
    if (__builtin_add_overflow (total, value, &total)) {
      interval_overflow (expr, error);
      return NULL;
    }
  }
  if (has_months && has_us) {
    relation_bind_error (&expr->position, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_INTERVAL_PARSING,
                         "Cannot mix year-month and day-time fields in one interval literal.");
    return NULL;
  }
  if (has_months && (total > G_MAXINT32 || total < G_MININT32)) {
    interval_overflow (expr, error);
    return NULL;
  }
  if (has_us && from == BASE_INTERVAL_DAY &&
      (total / RELATION_US_PER_DAY > 106751991 || total / RELATION_US_PER_DAY < -106751991)) {
    interval_overflow (expr, error);
    return NULL;
  }
  return interval_expr (binder, has_months, from, to, total);
}

/* INTERVAL '1 day 2 hours': the units named say which type it is. */
static RelationExpr *
interval_text (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const SqlLiteral *literal = &expr->u.literal;
  g_auto (GStrv) words = g_strsplit_set (literal->text, " \t\n", -1);
  BaseIntervalField from = BASE_INTERVAL_SECOND, to = BASE_INTERVAL_YEAR;
  gboolean has_months = FALSE, has_us = FALSE;
  gint32 months, days;
  gint64 us;

  if (!relation_text_to_calendar_interval (literal->text, literal->length, &months, &days, &us)) {
    typed_error (expr, error);
    return NULL;
  }
  for (guint w = 0; words[w] != NULL; w++) {
    g_autofree char *word = g_ascii_strdown (words[w], -1);
    gsize n = strlen (word);
    if (n > 1 && word[n - 1] == 's')
      word[n - 1] = '\0';
    for (guint i = 0; i < G_N_ELEMENTS (units); i++)
      if (strcmp (word, units[i].word) == 0) {
        has_months |= units[i].months;
        has_us |= !units[i].months;
        from = MIN (from, units[i].field);
        to = MAX (to, units[i].field);
      }
  }
  if (has_months == has_us) {
    typed_error (expr, error);
    return NULL;
  }
  return interval_expr (binder, has_months, from, to, has_months ? months : days * RELATION_US_PER_DAY + us);
}

/* ---- dates and times ---- */

static RelationExpr *
date_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const SqlLiteral *literal = &expr->u.literal;
  char text[RELATION_CIVIL_TEXT_SIZE];
  RelationExpr *result;
  gint64 days;

  if (!relation_text_to_date (literal->text, literal->length, &days)) {
    typed_error (expr, error);
    return NULL;
  }
  result = plain_literal (binder, BASE_TYPE_DATE, days);
  relation_date_text (days, text);
  result->display = relation_binder_printf (binder, "DATE '%s'", text);
  return result;
}

static RelationExpr *
ntz_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const SqlLiteral *literal = &expr->u.literal;
  char text[RELATION_CIVIL_TEXT_SIZE];
  RelationExpr *result;
  RelationWall wall;

  if (!relation_text_to_wall (literal->text, literal->length, &wall) || wall.time_only || wall.zone != NULL) {
    typed_error (expr, error);
    return NULL;
  }
  result = plain_literal (binder, BASE_TYPE_TIMESTAMP_NTZ, wall.wall_us);
  relation_wall_text (wall.wall_us, text);
  result->display = relation_binder_printf (binder, "TIMESTAMP_NTZ '%s'", text);
  return result;
}

/* The zone rules are the engine's: the text is cast there, and back for the display. */
static RelationExpr *
timestamp_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_TIMESTAMP);
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (GError) failure = NULL;
  RelationLiteral *text = relation_literal_new_text (string, expr->u.literal.text, expr->u.literal.length);
  RelationExpr *cast = relation_expr_new_cast (binder, relation_expr_new_literal (binder, text), type);
  const RelationLiteral *value = relation_expr_fold (binder, cast, &failure);
  RelationExpr *result;

  if (value == NULL || value->is_null) {
    typed_error (expr, error);
    return NULL;
  }
  result = plain_literal (binder, BASE_TYPE_TIMESTAMP, value->integer);
  value = relation_expr_fold (binder, relation_expr_new_cast (binder, result, string), error);
  if (value == NULL)
    return NULL;
  result->display = relation_binder_printf (binder, "TIMESTAMP '%s'", value->text);
  return result;
}

static RelationExpr *
typed_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const char *name = expr->u.literal.type_name;

  if (strcmp (name, "DATE") == 0)
    return date_literal (binder, expr, error);
  if (strcmp (name, "TIMESTAMP_NTZ") == 0)
    return ntz_literal (binder, expr, error);
  if (strcmp (name, "TIMESTAMP") == 0 || strcmp (name, "TIMESTAMP_LTZ") == 0)
    return timestamp_literal (binder, expr, error);
  if (strcmp (name, "INTERVAL") == 0)
    return interval_text (binder, expr, error);
  if (strcmp (name, "TIME") == 0) {
    relation_bind_error (&expr->position, error, SLUICE_ERROR_UNSUPPORTED_TIME_TYPE,
                         "The data type TIME is not supported.");
    return NULL;
  }
  relation_bind_unsupported (&expr->position, error, "A literal of this type");
  return NULL;
}

RelationExpr *
relation_bind_literal (RelationBinder *binder, const SqlExpr *expr, GError **error)
{
  const SqlLiteral *literal = &expr->u.literal;
  g_autoptr (BaseType) type = NULL;
  gint64 value = 0;

  switch (literal->kind) {
  case SQL_LITERAL_NULL:
    type = base_type_simple (BASE_TYPE_VOID);
    return relation_expr_new_null (binder, type);
  case SQL_LITERAL_BOOLEAN:
    return plain_literal (binder, BASE_TYPE_BOOLEAN, literal->truth);
  case SQL_LITERAL_INTEGER:
    return integer_literal (binder, expr, error);
  case SQL_LITERAL_TINYINT:
  case SQL_LITERAL_SMALLINT:
  case SQL_LITERAL_BIGINT:
    (void) base_text_parse_int64 (literal->text, &value); /* the parser checked the range */
    return plain_literal (binder,
                          literal->kind == SQL_LITERAL_TINYINT    ? BASE_TYPE_BYTE
                          : literal->kind == SQL_LITERAL_SMALLINT ? BASE_TYPE_SHORT
                                                                  : BASE_TYPE_LONG,
                          value);
  case SQL_LITERAL_FLOAT:
    return double_literal (binder, expr, BASE_TYPE_FLOAT);
  case SQL_LITERAL_DOUBLE:
    return double_literal (binder, expr, BASE_TYPE_DOUBLE);
  case SQL_LITERAL_DECIMAL:
    return decimal_literal (binder, expr, error);
  case SQL_LITERAL_STRING:
  case SQL_LITERAL_BINARY:
    type = base_type_simple (literal->kind == SQL_LITERAL_STRING ? BASE_TYPE_STRING : BASE_TYPE_BINARY);
    return relation_expr_new_literal (binder, relation_literal_new_text (type, literal->text, literal->length));
  case SQL_LITERAL_TYPED:
    return typed_literal (binder, expr, error);
  }
  g_assert_not_reached ();
}

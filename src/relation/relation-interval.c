/* Intervals as text; see relation-interval-private.h. */
#include "relation-civil-private.h"
#include "relation-interval-private.h"

#include <string.h>

static const char *const field_names[] = { "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND" };

static void
append_units (GString *out, BaseIntervalField from, BaseIntervalField to)
{
  g_string_append_printf (out, "' %s", field_names[from]);
  if (to != from)
    g_string_append_printf (out, " TO %s", field_names[to]);
}

void
relation_interval_append_months (GString *out, gint64 months, BaseIntervalField from, BaseIntervalField to)
{
  g_string_append (out, "INTERVAL '");
  if (months < 0) {
    g_string_append_c (out, '-');
    months = -months;
  }
  if (from == BASE_INTERVAL_YEAR && to == BASE_INTERVAL_YEAR)
    g_string_append_printf (out, "%" G_GINT64_FORMAT, months / 12);
  else if (from == BASE_INTERVAL_MONTH)
    g_string_append_printf (out, "%" G_GINT64_FORMAT, months);
  else
    g_string_append_printf (out, "%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT, months / 12, months % 12);
  append_units (out, from, to);
}

static void
append_seconds (GString *out, guint64 seconds, guint64 fraction_us)
{
  g_string_append_printf (out, "%02" G_GUINT64_FORMAT, seconds);
  if (fraction_us == 0)
    return;
  g_string_append_printf (out, ".%06" G_GUINT64_FORMAT, fraction_us);
  while (out->str[out->len - 1] == '0')
    g_string_truncate (out, out->len - 1);
}

void
relation_interval_append_us (GString *out, gint64 us, BaseIntervalField from, BaseIntervalField to)
{
  static const guint64 unit_us[] = { 0, 0, RELATION_US_PER_DAY, G_GUINT64_CONSTANT (3600000000), 60000000, 1000000 };
  guint64 rest = us < 0 ? -(guint64) us : (guint64) us;
  g_string_append (out, "INTERVAL '");
  if (us < 0)
    g_string_append_c (out, '-');
  for (int field = (int) from; field <= (int) to; field++) {
    guint64 value = rest / unit_us[field];
    rest %= unit_us[field];
    if (field > (int) from)
      g_string_append_c (out, field == BASE_INTERVAL_HOUR ? ' ' : ':');
    if (field == BASE_INTERVAL_SECOND)
      append_seconds (out, value, rest);
    else if (field > (int) from || (from != to && field != BASE_INTERVAL_DAY))
      g_string_append_printf (out, "%02" G_GUINT64_FORMAT, value);
    else
      g_string_append_printf (out, "%" G_GUINT64_FORMAT, value);
  }
  append_units (out, from, to);
}

static void
append_unit (GString *out, gint64 value, const char *unit)
{
  if (value != 0)
    g_string_append_printf (out, "%s%" G_GINT64_FORMAT " %s", out->len > 0 ? " " : "", value, unit);
}

void
relation_interval_append_calendar (GString *result, gint32 months, gint32 days, gint64 us)
{
  g_autoptr (GString) out = g_string_new (NULL);
  append_unit (out, months / 12, "years");
  append_unit (out, months % 12, "months");
  append_unit (out, days, "days");
  append_unit (out, us / 3600000000, "hours");
  append_unit (out, us / 60000000 % 60, "minutes");
  gint64 rest = us % 60000000;
  if (rest != 0) {
    guint64 magnitude = (guint64) ABS (rest);
    g_string_append_printf (out, "%s%s%" G_GUINT64_FORMAT, out->len > 0 ? " " : "", rest < 0 ? "-" : "",
                            magnitude / 1000000);
    if (magnitude % 1000000 != 0) {
      g_string_append_printf (out, ".%06" G_GUINT64_FORMAT, magnitude % 1000000);
      while (out->str[out->len - 1] == '0')
        g_string_truncate (out, out->len - 1);
    }
    g_string_append (out, " seconds");
  }
  g_string_append (result, out->len > 0 ? out->str : "0 seconds");
}

/* ---- reading ---- */

typedef struct {
  const char *p, *end;
} Scanner;

static gboolean
scan_char (Scanner *scanner, char c)
{
  if (scanner->p >= scanner->end || *scanner->p != c)
    return FALSE;
  scanner->p++;
  return TRUE;
}

static gboolean
scan_number (Scanner *scanner, guint most, gint64 *value)
{
  guint n = 0;
  gint64 sum = 0;
  for (; scanner->p < scanner->end && g_ascii_isdigit (*scanner->p); scanner->p++) {
    if (++n > most)
      return FALSE;
    sum = sum * 10 + (*scanner->p - '0');
  }
  *value = sum;
  return n > 0;
}

static gboolean
scan_word (Scanner *scanner, const char *word)
{
  gsize n = strlen (word);
  if ((gsize) (scanner->end - scanner->p) < n || g_ascii_strncasecmp (scanner->p, word, n) != 0)
    return FALSE;
  scanner->p += n;
  return TRUE;
}

static void
scan_blanks (Scanner *scanner)
{
  while (scanner->p < scanner->end && g_ascii_isspace (*scanner->p))
    scanner->p++;
}

static gboolean
scan_fraction (Scanner *scanner, gint64 *us)
{
  *us = 0;
  if (!scan_char (scanner, '.'))
    return TRUE;
  gint64 unit = 100000;
  guint n = 0;
  for (; scanner->p < scanner->end && g_ascii_isdigit (*scanner->p) && n < 9; scanner->p++, n++) {
    *us += (*scanner->p - '0') * unit;
    unit /= 10;
  }
  return n > 0;
}

/* `INTERVAL '` before and `' DAY TO SECOND` after. */
static gboolean
scan_tail (Scanner *scanner, gboolean worded, BaseIntervalField from, BaseIntervalField to)
{
  if (worded) {
    if (!scan_char (scanner, '\''))
      return FALSE;
    scan_blanks (scanner);
    if (!scan_word (scanner, field_names[from]))
      return FALSE;
    if (to != from) {
      scan_blanks (scanner);
      if (!scan_word (scanner, "TO"))
        return FALSE;
      scan_blanks (scanner);
      if (!scan_word (scanner, field_names[to]))
        return FALSE;
    }
  }
  scan_blanks (scanner);
  return scanner->p == scanner->end;
}

gboolean
relation_text_to_interval (const char *text, gsize size, BaseIntervalField from, BaseIntervalField to, gint64 *value)
{
  static const gint64 units[] = { 12, 1, RELATION_US_PER_DAY, G_GINT64_CONSTANT (3600000000), 60000000, 1000000 };
  Scanner scanner = { text, text + size };
  scan_blanks (&scanner);
  gboolean negative = FALSE;
  gboolean worded = FALSE;
  if (scan_char (&scanner, '-'))
    negative = TRUE;
  else
    (void) scan_char (&scanner, '+'); /* a sign may be left out */
  if (scan_word (&scanner, "INTERVAL")) {
    worded = TRUE;
    scan_blanks (&scanner);
    if (scan_char (&scanner, '-'))
      negative = !negative;
    else
      (void) scan_char (&scanner, '+');
    scan_blanks (&scanner);
    if (!scan_char (&scanner, '\''))
      return FALSE;
    if (scan_char (&scanner, '-'))
      negative = !negative;
    else
      (void) scan_char (&scanner, '+');
  }
  __int128 sum = 0;
  for (int field = (int) from; field <= (int) to; field++) {
    gint64 part, fraction;
    static const int limits[] = { 0, 11, 0, 23, 59, 59 };
    if (field > (int) from && !scan_char (&scanner, field == BASE_INTERVAL_MONTH  ? '-'
                                                    : field == BASE_INTERVAL_HOUR ? ' '
                                                                                  : ':'))
      return FALSE;
    if (!scan_number (&scanner, field == (int) from ? 18 : 2, &part) || (field > (int) from && part > limits[field]))
      return FALSE;
    sum += (__int128) part * units[field];
    if (field == BASE_INTERVAL_SECOND) {
      if (!scan_fraction (&scanner, &fraction))
        return FALSE;
      sum += fraction;
    }
  }
  if (!scan_tail (&scanner, worded, from, to))
    return FALSE;
  if (negative)
    sum = -sum;
  gboolean is_months = to <= BASE_INTERVAL_MONTH;
  if (sum < (is_months ? G_MININT32 : G_MININT64) || sum > (is_months ? G_MAXINT32 : G_MAXINT64))
    return FALSE;
  *value = (gint64) sum;
  return TRUE;
}

/* One `number unit` of a calendar interval into the three sums. */
static gboolean
scan_calendar_unit (Scanner *scanner, __int128 sums[3])
{
  static const struct {
    const char *name;
    int part; /* 0 months, 1 days, 2 microseconds */
    gint64 factor;
  } units[] = {
    { "year", 0, 12 },        { "month", 0, 1 },          { "week", 1, 7 },
    { "day", 1, 1 },          { "hour", 2, 3600000000 },  { "minute", 2, 60000000 },
    { "second", 2, 1000000 }, { "millisecond", 2, 1000 }, { "microsecond", 2, 1 },
  };
  gboolean negative = FALSE;
  if (scan_char (scanner, '-'))
    negative = TRUE;
  else
    (void) scan_char (scanner, '+');
  scan_blanks (scanner);
  gint64 number = 0, fraction = 0;
  gboolean has_whole = scanner->p < scanner->end && g_ascii_isdigit (*scanner->p);
  gboolean has_point;
  if (has_whole && !scan_number (scanner, 18, &number))
    return FALSE;
  has_point = scanner->p < scanner->end && *scanner->p == '.';
  if ((!has_whole && !has_point) || (has_point && !scan_fraction (scanner, &fraction)))
    return FALSE;
  scan_blanks (scanner);
  const char *word = scanner->p;
  while (scanner->p < scanner->end && g_ascii_isalpha (*scanner->p))
    scanner->p++;
  gsize n = (gsize) (scanner->p - word);
  if (n > 1 && (word[n - 1] == 's' || word[n - 1] == 'S'))
    n--;
  for (gsize i = 0; i < G_N_ELEMENTS (units); i++) {
    if (strlen (units[i].name) != n || g_ascii_strncasecmp (units[i].name, word, n) != 0)
      continue;
    if (has_point && units[i].factor != 1000000)
      return FALSE;
    __int128 amount = (__int128) number * units[i].factor + fraction;
    sums[units[i].part] += negative ? -amount : amount;
    return TRUE;
  }
  return FALSE;
}

gboolean
relation_text_to_calendar_interval (const char *text, gsize size, gint32 *months, gint32 *days, gint64 *us)
{
  Scanner scanner = { text, text + size };
  __int128 sums[3] = { 0, 0, 0 };
  scan_blanks (&scanner);
  if ((gsize) (scanner.end - scanner.p) > 8 && g_ascii_strncasecmp (scanner.p, "interval", 8) == 0 &&
      g_ascii_isspace (scanner.p[8]))
    scanner.p += 8;
  scan_blanks (&scanner);
  if (scanner.p == scanner.end)
    return FALSE;
  while (scanner.p < scanner.end) {
    if (!scan_calendar_unit (&scanner, sums))
      return FALSE;
    scan_blanks (&scanner);
  }
  if (sums[0] < G_MININT32 || sums[0] > G_MAXINT32 || sums[1] < G_MININT32 || sums[1] > G_MAXINT32 ||
      sums[2] < G_MININT64 || sums[2] > G_MAXINT64)
    return FALSE;
  *months = (gint32) sums[0];
  *days = (gint32) sums[1];
  *us = (gint64) sums[2];
  return TRUE;
}

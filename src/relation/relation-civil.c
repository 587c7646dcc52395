/* Calendar arithmetic and the lenient date and timestamp texts of Spark's casts; see relation-civil-private.h.
 *
 * Days and civil dates are converted over eras of 400 years, so that every 64-bit-safe year works. The two readers follow
 * Spark's segment readers: at most two digits for every part but the year, fractions beyond microseconds are cut.
 */
#include "relation-civil-private.h"

#include <stdio.h>
#include <string.h>

gint64
relation_floor_div (gint64 a, gint64 b)
{
  return a / b - (a % b < 0);
}

gint64
relation_floor_mod (gint64 a, gint64 b)
{
  gint64 rest = a % b;
  return rest < 0 ? rest + b : rest;
}

gboolean
relation_civil_is_leap (gint64 year)
{
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int
relation_civil_month_length (gint64 year, int month)
{
  static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
  return month == 2 && relation_civil_is_leap (year) ? 29 : lengths[month - 1];
}

gint64
relation_civil_days (gint64 year, int month, int day)
{
  gint64 y = month <= 2 ? year - 1 : year;
  gint64 era = relation_floor_div (y, 400);
  gint64 year_of_era = y - era * 400;
  gint64 day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  gint64 day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

void
relation_civil_from_days (gint64 days, gint64 *year, int *month, int *day)
{
  gint64 z = days + 719468;
  gint64 era = relation_floor_div (z, 146097);
  gint64 day_of_era = z - era * 146097;
  gint64 year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  gint64 day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int shifted = (int) ((5 * day_of_year + 2) / 153);
  *day = (int) (day_of_year - (153 * shifted + 2) / 5 + 1);
  *month = shifted < 10 ? shifted + 3 : shifted - 9;
  *year = year_of_era + era * 400 + (*month <= 2);
}

gboolean
relation_civil_is_valid (const RelationCivil *civil)
{
  return civil->month >= 1 && civil->month <= 12 && civil->day >= 1 &&
         civil->day <= relation_civil_month_length (civil->year, civil->month) && civil->hour >= 0 &&
         civil->hour <= 23 && civil->minute >= 0 && civil->minute <= 59 && civil->second >= 0 && civil->second <= 59 &&
         civil->microsecond >= 0 && civil->microsecond <= 999999 && civil->year >= -290000 && civil->year <= 294000;
}

gint64
relation_civil_us (const RelationCivil *civil)
{
  gint64 seconds = ((gint64) civil->hour * 60 + civil->minute) * 60 + civil->second;
  return relation_civil_days (civil->year, civil->month, civil->day) * RELATION_US_PER_DAY +
         seconds * RELATION_US_PER_SECOND + civil->microsecond;
}

void
relation_civil_from_us (gint64 us, RelationCivil *civil)
{
  gint64 days = relation_floor_div (us, RELATION_US_PER_DAY);
  gint64 rest = us - days * RELATION_US_PER_DAY;
  relation_civil_from_days (days, &civil->year, &civil->month, &civil->day);
  civil->microsecond = (int) (rest % RELATION_US_PER_SECOND);
  rest /= RELATION_US_PER_SECOND;
  civil->second = (int) (rest % 60);
  civil->minute = (int) (rest / 60 % 60);
  civil->hour = (int) (rest / 3600);
}

int
relation_civil_day_of_year (const RelationCivil *civil)
{
  return (int) (relation_civil_days (civil->year, civil->month, civil->day) - relation_civil_days (civil->year, 1, 1)) +
         1;
}

int
relation_civil_iso_weekday (gint64 days)
{
  return (int) relation_floor_mod (days + 3, 7) + 1;
}

void
relation_civil_iso_week (gint64 days, gint64 *week_year, int *week)
{
  /* A week belongs to the year of its Thursday. */
  gint64 thursday = days - relation_civil_iso_weekday (days) + 4;
  int month, day;
  relation_civil_from_days (thursday, week_year, &month, &day);
  *week = (int) ((thursday - relation_civil_days (*week_year, 1, 1)) / 7) + 1;
}

gint64
relation_civil_add_months (gint64 days, gint64 months)
{
  gint64 year;
  int month, day;
  relation_civil_from_days (days, &year, &month, &day);
  gint64 total = year * 12 + (month - 1) + months;
  year = relation_floor_div (total, 12);
  month = (int) (total - year * 12) + 1;
  return relation_civil_days (year, month, MIN (day, relation_civil_month_length (year, month)));
}

/* Sign, 19 digits and the end of the text. */
#define YEAR_BYTES 21

static char *
append_year (char *p, gint64 year)
{
  if (year > 9999)
    return p + g_snprintf (p, YEAR_BYTES, "+%" G_GINT64_FORMAT, year);
  if (year < 0)
    return p + g_snprintf (p, YEAR_BYTES, "-%04" G_GINT64_FORMAT, -year);
  return p + g_snprintf (p, YEAR_BYTES, "%04" G_GINT64_FORMAT, year);
}

gsize
relation_date_text (gint64 days, char out[RELATION_CIVIL_TEXT_SIZE])
{
  gint64 year;
  int month, day;
  relation_civil_from_days (days, &year, &month, &day);
  char *p = append_year (out, year);
  p += g_snprintf (p, RELATION_CIVIL_TEXT_SIZE - (gulong) (p - out), "-%02d-%02d", month, day);
  return (gsize) (p - out);
}

gsize
relation_wall_text (gint64 us, char out[RELATION_CIVIL_TEXT_SIZE])
{
  RelationCivil civil;
  relation_civil_from_us (us, &civil);
  char *p = append_year (out, civil.year);
  p += g_snprintf (p, RELATION_CIVIL_TEXT_SIZE - (gulong) (p - out), "-%02d-%02d %02d:%02d:%02d", civil.month, civil.day, civil.hour, civil.minute, civil.second);
  if (civil.microsecond != 0) {
    p += g_snprintf (p, RELATION_CIVIL_TEXT_SIZE - (gulong) (p - out), ".%06d", civil.microsecond);
    while (p[-1] == '0')
      p--;
    *p = '\0';
  }
  return (gsize) (p - out);
}

static gboolean
is_blank (char c)
{
  return (guchar) c <= 0x20 || c == 0x7f;
}

static void
trim (const char **text, gsize *size)
{
  while (*size > 0 && is_blank (**text)) {
    (*text)++;
    (*size)--;
  }
  while (*size > 0 && is_blank ((*text)[*size - 1]))
    (*size)--;
}

gboolean
relation_text_to_date (const char *text, gsize size, gint64 *days)
{
  trim (&text, &size);
  if (size == 0)
    return FALSE;
  gsize j = 0;
  gint64 sign = 1;
  if (text[0] == '-' || text[0] == '+') {
    sign = text[0] == '-' ? -1 : 1;
    j++;
  }
  gint64 segments[3] = { 1, 1, 1 };
  int i = 0;
  gint64 value = 0;
  int n_digits = 0;
  for (; j < size && text[j] != ' ' && text[j] != 'T'; j++) {
    if (i < 2 && text[j] == '-') {
      if (i == 0 ? n_digits < 4 || n_digits > 7 : n_digits < 1 || n_digits > 2)
        return FALSE;
      segments[i++] = value;
      value = 0;
      n_digits = 0;
    } else {
      if (!g_ascii_isdigit (text[j]) || n_digits >= 7)
        return FALSE;
      value = value * 10 + (text[j] - '0');
      n_digits++;
    }
  }
  if (i == 0 ? n_digits < 4 || n_digits > 7 : n_digits < 1 || n_digits > 2)
    return FALSE;
  if (i < 2 && j < size)
    return FALSE; /* the short forms stand alone */
  segments[i] = value;
  gint64 year = sign * segments[0];
  if (segments[1] < 1 || segments[1] > 12 || segments[2] < 1 ||
      segments[2] > relation_civil_month_length (year, (int) segments[1]))
    return FALSE;
  gint64 result = relation_civil_days (year, (int) segments[1], (int) segments[2]);
  if (result < G_MININT32 || result > G_MAXINT32)
    return FALSE;
  *days = result;
  return TRUE;
}

/* Segments: year, month, day, hour, minute, second, fraction, (after the zone). */
static gboolean
segment_is_valid (int segment, int n_digits)
{
  if (segment == 6)
    return TRUE;
  if (segment == 0)
    return n_digits >= 4 && n_digits <= 6;
  if (segment == 7)
    return n_digits <= 2;
  return n_digits > 0 && n_digits <= 2;
}

typedef struct {
  gint64 value[9];
  gint64 current;
  int segment;
  int n_digits;
} SegmentReader;

static gboolean
segment_close (SegmentReader *reader, int segment)
{
  if (!segment_is_valid (segment, reader->n_digits))
    return FALSE;
  reader->value[segment] = reader->current;
  reader->current = 0;
  reader->n_digits = 0;
  return TRUE;
}

/* One character that is no digit. @stop is set when the rest of the text is a zone. */
static gboolean
segment_separator (SegmentReader *reader, char c, gsize position, gboolean has_sign, gboolean *time_only,
                   gboolean *stop)
{
  switch (reader->segment) {
  case 0:
    if (position == 0 && c == 'T') {
      *time_only = TRUE;
      reader->segment = 3;
      return TRUE;
    }
    if (c == ':' && !has_sign) {
      *time_only = TRUE;
      if (!segment_close (reader, 3))
        return FALSE;
      reader->segment = 4;
      return TRUE;
    }
    G_GNUC_FALLTHROUGH;
  case 1:
    return c == '-' && segment_close (reader, reader->segment) && (reader->segment++, TRUE);
  case 2:
    return (c == ' ' || c == 'T') && segment_close (reader, 2) && (reader->segment++, TRUE);
  case 3:
  case 4:
    return c == ':' && segment_close (reader, reader->segment) && (reader->segment++, TRUE);
  case 5:
  case 6:
    if (c == '.' && reader->segment == 5)
      return segment_close (reader, 5) && (reader->segment++, TRUE);
    if (!segment_close (reader, reader->segment))
      return FALSE;
    reader->segment = 7;
    *stop = TRUE;
    return TRUE;
  default:
    return FALSE;
  }
}

gboolean
relation_text_to_wall (const char *text, gsize size, RelationWall *wall)
{
  trim (&text, &size);
  if (size == 0)
    return FALSE;
  SegmentReader reader = { .value = { 1, 1, 1, 0, 0, 0, 0, 0, 0 } };
  gsize j = 0;
  gboolean has_sign = FALSE, time_only = FALSE, stop = FALSE;
  gint64 sign = 1;
  if (text[0] == '-' || text[0] == '+') {
    sign = text[0] == '-' ? -1 : 1;
    has_sign = TRUE;
    j++;
  }
  int n_fraction = 0;
  const char *zone = NULL;
  gsize zone_size = 0;
  for (; j < size; j++) {
    char c = text[j];
    if (g_ascii_isdigit (c)) {
      if (reader.segment == 6)
        n_fraction++;
      if (reader.segment != 6 || reader.n_digits < 6)
        reader.current = reader.current * 10 + (c - '0');
      reader.n_digits++;
      if (reader.segment != 6 && reader.n_digits > 6)
        return FALSE;
    } else {
      if (!segment_separator (&reader, c, j, has_sign, &time_only, &stop))
        return FALSE;
      if (stop) {
        zone = text + j;
        zone_size = size - j;
        break;
      }
    }
  }
  if (!stop && !segment_close (&reader, reader.segment))
    return FALSE;
  for (; n_fraction < 6; n_fraction++)
    reader.value[6] *= 10;
  RelationCivil civil = { .year = sign * reader.value[0],
                          .month = (int) reader.value[1],
                          .day = (int) reader.value[2],
                          .hour = (int) reader.value[3],
                          .minute = (int) reader.value[4],
                          .second = (int) reader.value[5],
                          .microsecond = (int) reader.value[6] };
  if (time_only) {
    civil.year = 1970;
    civil.month = civil.day = 1;
  }
  if (!relation_civil_is_valid (&civil))
    return FALSE;
  if (zone != NULL)
    trim (&zone, &zone_size);
  *wall = (RelationWall){
    .wall_us = relation_civil_us (&civil), .time_only = time_only, .zone = zone, .zone_size = zone_size
  };
  return TRUE;
}

/* Days, wall-clock microseconds and their text, as Spark reads and prints them. Proleptic Gregorian calendar.
 *
 * A date is days since 1970-01-01, a wall-clock time microseconds since 1970-01-01 00:00:00. Pure, safe from any thread.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define RELATION_US_PER_SECOND G_GINT64_CONSTANT (1000000)
#define RELATION_US_PER_DAY    (G_GINT64_CONSTANT (86400) * RELATION_US_PER_SECOND)

/* `+1000000-12-31 23:59:59.999999` and more. */
#define RELATION_CIVIL_TEXT_SIZE 64

typedef struct {
  gint64 year;
  int month;       /* 1…12 */
  int day;         /* 1…31 */
  int hour;        /* 0…23 */
  int minute;      /* 0…59 */
  int second;      /* 0…59 */
  int microsecond; /* 0…999999 */
} RelationCivil;

gint64 relation_floor_div (gint64 a, gint64 b); /* @b > 0 */
gint64 relation_floor_mod (gint64 a, gint64 b);

gboolean relation_civil_is_leap (gint64 year);
int relation_civil_month_length (gint64 year, int month);
gint64 relation_civil_days (gint64 year, int month, int day);
void relation_civil_from_days (gint64 days, gint64 *year, int *month, int *day);
/* FALSE when a field is out of its range. */
gboolean relation_civil_is_valid (const RelationCivil *civil);
gint64 relation_civil_us (const RelationCivil *civil);
void relation_civil_from_us (gint64 us, RelationCivil *civil);
int relation_civil_day_of_year (const RelationCivil *civil);
/* Monday = 1 … Sunday = 7. */
int relation_civil_iso_weekday (gint64 days);
void relation_civil_iso_week (gint64 days, gint64 *week_year, int *week);
/* Adds months; a day past the month's end becomes its last one. */
gint64 relation_civil_add_months (gint64 days, gint64 months);

/* Text, returning its length: `2024-02-29`, `2024-02-29 10:11:12.5` (no trailing zeros). */
gsize relation_date_text (gint64 days, char out[RELATION_CIVIL_TEXT_SIZE]);
gsize relation_wall_text (gint64 us, char out[RELATION_CIVIL_TEXT_SIZE]);

/* `[+-]y…-[m]m-[d]d` followed by nothing, ` …` or `T…`; `yyyy` and `yyyy-[m]m` alone. FALSE: not a date. */
gboolean relation_text_to_date (const char *text, gsize size, gint64 *days);

typedef struct {
  gint64 wall_us;     /* of the date and time; of the time alone when @time_only */
  gboolean time_only; /* `10:11:12`: the date is today's */
  const char *zone;   /* (nullable): borrowed from the text, @zone_size bytes, trimmed */
  gsize zone_size;
} RelationWall;

/* A date with an optional time and zone text; the zone's name is not checked here. FALSE: not a timestamp. */
gboolean relation_text_to_wall (const char *text, gsize size, RelationWall *wall);

G_END_DECLS

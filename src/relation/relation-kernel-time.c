/* Dates and times: arithmetic in a zone, truncation, patterns, makers.
 *
 * A zone argument that is constant is resolved once per query; others per row. Wall-clock values are DuckDB TIMESTAMPs, instants
 * TIMESTAMP WITH TIME ZONE.
 */
#include "relation-interval-private.h"
#include "relation-kernel-private.h"
#include "relation-pattern-private.h"

#include <math.h>
#include <string.h>

/* ---- zone and pattern arguments ---- */

/* What bind() found constant. Which arguments hold a zone and a pattern is told by the kernel's own bind function. */
typedef struct {
  RelationPattern *pattern;
  const RelationZone *zone;
} TimeBind;

static void
time_bind_free (gpointer data)
{
  TimeBind *bind = data;
  relation_pattern_free (bind->pattern);
  g_free (bind);
}

/* @zone_arg, @pattern_arg: number of the argument, -1 = none. */
static gboolean
bind_arguments (const DuckKernelBind *bind, RelationKernels *kernels, int zone_arg, int pattern_arg,
                gboolean for_reading, gpointer *bind_data, GError **error)
{
  TimeBind *data = g_new0 (TimeBind, 1);
  g_autofree char *zone = NULL;
  g_autofree char *pattern = NULL;
  gboolean ok = TRUE;
  if (zone_arg >= 0 && duck_kernel_bind_constant (bind, (guint) zone_arg, &zone) && zone != NULL) {
    data->zone = relation_zones_get (kernels->zones, zone, strlen (zone), error);
    ok = data->zone != NULL;
  }
  if (ok && pattern_arg >= 0 && duck_kernel_bind_constant (bind, (guint) pattern_arg, &pattern) && pattern != NULL) {
    data->pattern = relation_pattern_new (pattern, strlen (pattern), for_reading, error);
    ok = data->pattern != NULL;
  }
  if (!ok) {
    time_bind_free (data);
    return FALSE;
  }
  *bind_data = data;
  return TRUE;
}

static const RelationZone *
zone_at (const DuckKernelCall *call, guint arg, guint row, GError **error)
{
  const TimeBind *bind = call->bind_data;
  if (bind != NULL && bind->zone != NULL)
    return bind->zone;
  const RelationKernels *kernels = call->user_data;
  gsize size;
  const char *name = duck_vector_string (&call->args[arg], row, &size);
  return relation_zones_get (kernels->zones, name, size, error);
}

/* The zone is the last argument. */
static gboolean
bind_zone (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data, GError **error)
{
  return bind_arguments (bind, user_data, (int) duck_kernel_bind_n_args (bind) - 1, -1, FALSE, bind_data, error);
}

/* Calendars end where 64 bits do; dates where 32 do. */
static gboolean
set_date (DuckVector *result, guint row, gint64 days, GError **error)
{
  if (days < G_MININT32 + 1 || days > G_MAXINT32 - 1)
    return base_error_set (error, SLUICE_ERROR_DATETIME_OVERFLOW, "a date is out of range");
  duck_vector_set (result, gint32, row, (gint32) days);
  return TRUE;
}

static gboolean
set_us (DuckVector *result, guint row, RelationInt128 us, GError **error)
{
  if (us < G_MININT64 + 2 || us > G_MAXINT64 - 2)
    return base_error_set (error, SLUICE_ERROR_DATETIME_OVERFLOW, "a timestamp is out of range");
  duck_vector_set (result, gint64, row, (gint64) us);
  return TRUE;
}

/* ---- adding ---- */

static gboolean
add_months_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++)
    if (!set_date (call->result, row,
                   relation_civil_add_months (duck_vector_int64 (&call->args[0], row),
                                              duck_vector_int64 (&call->args[1], row)),
                   error))
      return FALSE;
  return TRUE;
}

static gint64
wall_add_months_days (gint64 wall, gint64 months, gint64 days)
{
  gint64 day = relation_floor_div (wall, RELATION_US_PER_DAY);
  gint64 rest = wall - day * RELATION_US_PER_DAY;
  if (months != 0)
    day = relation_civil_add_months (day, months);
  return (day + days) * RELATION_US_PER_DAY + rest;
}

/* Adds to argument 0: months and days on the wall clock, microseconds on the line of time. The last argument is the zone of
 * an instant. */
static gboolean
add_interval (const DuckKernelCall *call, guint row, gint64 months, gint64 days, RelationInt128 us, GError **error)
{
  gint64 time = duck_vector_int64 (&call->args[0], row);
  if (ABS (months) > 12 * 600000 || ABS (days) > 366 * 600000)
    return base_error_set (error, SLUICE_ERROR_DATETIME_OVERFLOW, "an interval is too long for a timestamp");
  if (call->args[0].kind == DUCK_KIND_DATE) {
    if (us != 0)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                             "a date plus an interval of hours is not supported");
    return set_date (call->result, row, relation_civil_add_months (time, months) + days, error);
  }
  if (call->args[0].kind == DUCK_KIND_TIMESTAMP)
    time = wall_add_months_days (time, months, days);
  else if (months != 0 || days != 0) {
    const RelationZone *zone = zone_at (call, call->n_args - 1, row, error);
    if (zone == NULL)
      return FALSE;
    time = relation_zone_to_instant (zone, wall_add_months_days (relation_zone_to_wall (zone, time), months, days));
  }
  return set_us (call->result, row, time + us, error);
}

/* (time, months, days, us, [zone]) */
static gboolean
add_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++)
    if (!add_interval (call, row, duck_vector_int64 (&call->args[1], row), duck_vector_int64 (&call->args[2], row),
                       duck_vector_int64 (&call->args[3], row), error))
      return FALSE;
  return TRUE;
}

/* (time, microseconds, subtract?, [zone]): whole days move on the wall clock, as Spark adds day-time intervals. */
static gboolean
add_us_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    int sign = duck_vector_bool (&call->args[2], row) ? -1 : 1;
    RelationInt128 us = (RelationInt128) duck_vector_int64 (&call->args[1], row) * sign;
    if (!add_interval (call, row, 0, (gint64) (us / RELATION_US_PER_DAY), us % RELATION_US_PER_DAY, error))
      return FALSE;
  }
  return TRUE;
}

/* (time, calendar interval, subtract?, [zone]) */
static gboolean
add_calendar_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckInterval interval = duck_vector_interval (&call->args[1], row);
    int sign = duck_vector_bool (&call->args[2], row) ? -1 : 1;
    if (!add_interval (call, row, (gint64) interval.months * sign, (gint64) interval.days * sign,
                       (RelationInt128) interval.us * sign, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- zones ---- */

/* (instant or wall clock, zone): the other of the two */
static gboolean
shift_run (const DuckKernelCall *call, GError **error)
{
  gboolean to_instant = call->args[0].kind == DUCK_KIND_TIMESTAMP;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    const RelationZone *zone = zone_at (call, 1, row, error);
    if (zone == NULL)
      return FALSE;
    gint64 us = duck_vector_int64 (&call->args[0], row);
    if (!set_us (call->result, row, to_instant ? relation_zone_to_instant (zone, us) : relation_zone_to_wall (zone, us),
                 error))
      return FALSE;
  }
  return TRUE;
}

/* ---- truncating ---- */

typedef enum {
  UNIT_YEAR,
  UNIT_QUARTER,
  UNIT_MONTH,
  UNIT_WEEK,
  UNIT_DAY,
  UNIT_HOUR,
  UNIT_MINUTE,
  UNIT_SECOND,
  UNIT_MILLISECOND,
  UNIT_MICROSECOND,
  UNIT_NONE,
} Unit;

static const struct {
  const char *name;
  Unit unit;
  gboolean only_trunc; /* spellings of trunc and date_trunc that timestampadd does not know */
} unit_names[] = {
  { "YEAR", UNIT_YEAR, FALSE },
  { "YYYY", UNIT_YEAR, TRUE },
  { "YY", UNIT_YEAR, TRUE },
  { "QUARTER", UNIT_QUARTER, FALSE },
  { "MONTH", UNIT_MONTH, FALSE },
  { "MM", UNIT_MONTH, TRUE },
  { "MON", UNIT_MONTH, TRUE },
  { "WEEK", UNIT_WEEK, FALSE },
  { "DAY", UNIT_DAY, FALSE },
  { "DD", UNIT_DAY, TRUE },
  { "DAYOFYEAR", UNIT_DAY, FALSE },
  { "HOUR", UNIT_HOUR, FALSE },
  { "MINUTE", UNIT_MINUTE, FALSE },
  { "SECOND", UNIT_SECOND, FALSE },
  { "MILLISECOND", UNIT_MILLISECOND, FALSE },
  { "MICROSECOND", UNIT_MICROSECOND, FALSE },
};

static Unit
unit_from_text (const char *text, gsize size, gboolean for_trunc)
{
  for (gsize i = 0; i < G_N_ELEMENTS (unit_names); i++)
    if (strlen (unit_names[i].name) == size && g_ascii_strncasecmp (text, unit_names[i].name, size) == 0 &&
        (for_trunc ? strcmp (unit_names[i].name, "DAYOFYEAR") != 0 : !unit_names[i].only_trunc))
      return unit_names[i].unit;
  return UNIT_NONE;
}

static gint64
truncate_days (gint64 days, Unit unit)
{
  gint64 year;
  int month, day;
  if (unit == UNIT_WEEK)
    return days - relation_civil_iso_weekday (days) + 1;
  relation_civil_from_days (days, &year, &month, &day);
  switch (unit) {
  case UNIT_YEAR:
    return relation_civil_days (year, 1, 1);
  case UNIT_QUARTER:
    return relation_civil_days (year, (month - 1) / 3 * 3 + 1, 1);
  case UNIT_MONTH:
    return relation_civil_days (year, month, 1);
  default:
    return days;
  }
}

static gint64
unit_us (Unit unit)
{
  switch (unit) {
  case UNIT_HOUR:
    return G_GINT64_CONSTANT (3600000000);
  case UNIT_MINUTE:
    return 60000000;
  case UNIT_SECOND:
    return 1000000;
  case UNIT_MILLISECOND:
    return 1000;
  default:
    return 1;
  }
}

/* (unit, instant, zone) */
static gboolean
date_trunc_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    Unit unit = unit_from_text (text, size, TRUE);
    if (unit == UNIT_NONE) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    const RelationZone *zone = zone_at (call, 2, row, error);
    if (zone == NULL)
      return FALSE;
    gint64 instant = duck_vector_int64 (&call->args[1], row);
    gint64 offset = relation_zone_offset_us (zone, instant);
    gint64 wall = instant + offset;
    if (unit <= UNIT_DAY)
      instant = relation_zone_to_instant (zone, truncate_days (relation_floor_div (wall, RELATION_US_PER_DAY), unit) *
                                                    RELATION_US_PER_DAY);
    else
      instant = relation_floor_div (wall, unit_us (unit)) * unit_us (unit) - offset;
    duck_vector_set (call->result, gint64, row, instant);
  }
  return TRUE;
}

/* (date, unit): units below a week give NULL */
static gboolean
trunc_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[1], row, &size);
    Unit unit = unit_from_text (text, size, TRUE);
    if (unit > UNIT_WEEK)
      duck_vector_set_null (call->result, row);
    else
      duck_vector_set (call->result, gint32, row,
                       (gint32) truncate_days (duck_vector_int64 (&call->args[0], row), unit));
  }
  return TRUE;
}

/* ---- differences ---- */

static gint64
whole_months (gint64 from, gint64 to)
{
  gint64 from_day = relation_floor_div (from, RELATION_US_PER_DAY),
         to_day = relation_floor_div (to, RELATION_US_PER_DAY);
  gint64 from_year, to_year;
  int from_month, to_month, day_a, day_b;
  relation_civil_from_days (from_day, &from_year, &from_month, &day_a);
  relation_civil_from_days (to_day, &to_year, &to_month, &day_b);
  gint64 months = (to_year - from_year) * 12 + to_month - from_month;
  /* ChronoUnit.MONTHS compares the days of the month as they are, then the time of day. */
  gint64 a = day_a * RELATION_US_PER_DAY + (from - from_day * RELATION_US_PER_DAY);
  gint64 b = day_b * RELATION_US_PER_DAY + (to - to_day * RELATION_US_PER_DAY);
  if (months > 0 && b < a)
    months--;
  else if (months < 0 && b > a)
    months++;
  return months;
}

/* (unit, from, to), both wall clock: whole units */
static gboolean
timestamp_diff_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gint64 from = duck_vector_int64 (&call->args[1], row), to = duck_vector_int64 (&call->args[2], row);
    gint64 value;
    switch (unit_from_text (text, size, FALSE)) {
    case UNIT_YEAR:
      value = whole_months (from, to) / 12;
      break;
    case UNIT_QUARTER:
      value = whole_months (from, to) / 3;
      break;
    case UNIT_MONTH:
      value = whole_months (from, to);
      break;
    case UNIT_WEEK:
      value = (to - from) / (7 * RELATION_US_PER_DAY);
      break;
    case UNIT_DAY:
      value = (to - from) / RELATION_US_PER_DAY;
      break;
    case UNIT_NONE:
      return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_DATETIME_UNIT, "'%.*s' is not a unit of time",
                             (int) MIN (size, 40), text);
    default:
      value = (to - from) / unit_us (unit_from_text (text, size, FALSE));
      break;
    }
    duck_vector_set (call->result, gint64, row, value);
  }
  return TRUE;
}

/* (a, b, round off?), both wall clock */
static gboolean
months_between_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationCivil a, b;
    relation_civil_from_us (duck_vector_int64 (&call->args[0], row), &a);
    relation_civil_from_us (duck_vector_int64 (&call->args[1], row), &b);
    double months = (double) ((a.year - b.year) * 12 + a.month - b.month);
    gboolean both_last = a.day == relation_civil_month_length (a.year, a.month) &&
                         b.day == relation_civil_month_length (b.year, b.month);
    if (a.day != b.day && !both_last) {
      gint64 seconds_a = (a.hour * 60 + a.minute) * 60 + a.second, seconds_b = (b.hour * 60 + b.minute) * 60 + b.second;
      gint64 seconds = (gint64) (a.day - b.day) * 86400 + seconds_a - seconds_b;
      months += (double) seconds / (31 * 86400.0);
      if (duck_vector_bool (&call->args[2], row))
        months = round (months * 1e8) / 1e8;
    }
    duck_vector_set (call->result, double, row, months);
  }
  return TRUE;
}

/* ---- makers ---- */

static gboolean
make_date_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationCivil civil = { .year = duck_vector_int64 (&call->args[0], row),
                            .month = (int) duck_vector_int64 (&call->args[1], row),
                            .day = (int) duck_vector_int64 (&call->args[2], row) };
    if (!relation_civil_is_valid (&civil))
      return base_error_set (error, SLUICE_ERROR_DATETIME_FIELD_OUT_OF_BOUNDS_WITHOUT_SUGGESTION,
                             "a field of a date is out of bounds");
    if (!set_date (call->result, row, relation_civil_days (civil.year, civil.month, civil.day), error))
      return FALSE;
  }
  return TRUE;
}

/* (year, month, day, hour, minute, seconds DECIMAL(16,6), zone text; '' = wall clock, try?) */
static gboolean
make_timestamp_run (const DuckKernelCall *call, GError **error)
{
  const TimeBind *bind = call->bind_data;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 seconds_us = duck_vector_int64 (&call->args[5], row);
    /* Exactly 60 seconds is the next minute. */
    gboolean carry = seconds_us == 60 * RELATION_US_PER_SECOND;
    RelationCivil civil = { .year = duck_vector_int64 (&call->args[0], row),
                            .month = (int) duck_vector_int64 (&call->args[1], row),
                            .day = (int) duck_vector_int64 (&call->args[2], row),
                            .hour = (int) duck_vector_int64 (&call->args[3], row),
                            .minute = (int) duck_vector_int64 (&call->args[4], row),
                            .second = carry ? 0 : (int) CLAMP (seconds_us / RELATION_US_PER_SECOND, -1, 100),
                            .microsecond = carry ? 0 : (int) (seconds_us % RELATION_US_PER_SECOND) };
    if (!relation_civil_is_valid (&civil)) {
      if (!duck_vector_bool (&call->args[7], row))
        return base_error_set (error, SLUICE_ERROR_DATETIME_FIELD_OUT_OF_BOUNDS_WITHOUT_SUGGESTION,
                               "a field of a date or time is out of bounds");
      duck_vector_set_null (call->result, row);
      continue;
    }
    gint64 us = relation_civil_us (&civil) + (carry ? 60 * RELATION_US_PER_SECOND : 0);
    gsize size;
    duck_vector_string (&call->args[6], row, &size);
    if (size > 0 || (bind != NULL && bind->zone != NULL)) {
      const RelationZone *zone = zone_at (call, 6, row, error);
      if (zone == NULL)
        return FALSE;
      us = relation_zone_to_instant (zone, us);
    }
    if (!set_us (call->result, row, us, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
bind_make_timestamp (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data, GError **error)
{
  g_autofree char *zone = NULL;
  if (duck_kernel_bind_constant (bind, 6, &zone) && zone != NULL && *zone != '\0')
    return bind_arguments (bind, user_data, 6, -1, FALSE, bind_data, error);
  *bind_data = NULL;
  return TRUE;
}

/* (number, units per second): a whole number of seconds, milliseconds or microseconds */
static gboolean
timestamp_units_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 us =
        (RelationInt128) duck_vector_int64 (&call->args[0], row) * duck_vector_int64 (&call->args[1], row);
    if (!set_us (call->result, row, us, error))
      return FALSE;
  }
  return TRUE;
}

/* A day after @date whose name is given. (date, name) */
static gboolean
next_day_run (const DuckKernelCall *call, GError **error)
{
  static const char *const names[] = { "MO",     "MON",       "MONDAY", "TU",       "TUE",      "TUESDAY", "WE",
                                       "WED",    "WEDNESDAY", "TH",     "THU",      "THURSDAY", "FR",      "FRI",
                                       "FRIDAY", "SA",        "SAT",    "SATURDAY", "SU",       "SUN",     "SUNDAY" };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[1], row, &size);
    gsize index = 0;
    while (index < G_N_ELEMENTS (names) &&
           !(strlen (names[index]) == size && g_ascii_strncasecmp (text, names[index], size) == 0))
      index++;
    if (index == G_N_ELEMENTS (names))
      return base_error_set (error, SLUICE_ERROR_ILLEGAL_DAY_OF_WEEK, "'%.*s' is not a day of the week",
                             (int) MIN (size, 40), text);
    gint64 date = duck_vector_int64 (&call->args[0], row);
    int wanted = (int) (index / 3) + 1;
    if (!set_date (call->result, row, date + 1 + (wanted + 6 - relation_civil_iso_weekday (date)) % 7, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- fields ---- */

/* (field number, wall clock) */
enum {
  FIELD_YEAR,
  FIELD_QUARTER,
  FIELD_MONTH,
  FIELD_DAY,
  FIELD_WEEK,
  FIELD_WEEK_YEAR,
  FIELD_DAY_OF_WEEK, /* Sunday = 1 */
  FIELD_ISO_DAY,     /* Monday = 1 */
  FIELD_WEEKDAY,     /* Monday = 0 */
  FIELD_DAY_OF_YEAR,
  FIELD_HOUR,
  FIELD_MINUTE,
  FIELD_SECOND,
};

static gboolean
time_field_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationCivil civil;
    gint64 us = duck_vector_int64 (&call->args[1], row);
    gint64 days = relation_floor_div (us, RELATION_US_PER_DAY);
    gint64 week_year;
    int week;
    relation_civil_from_us (us, &civil);
    gint64 value = 0;
    switch (duck_vector_int64 (&call->args[0], row)) {
    case FIELD_YEAR:
      value = civil.year;
      break;
    case FIELD_QUARTER:
      value = (civil.month - 1) / 3 + 1;
      break;
    case FIELD_MONTH:
      value = civil.month;
      break;
    case FIELD_DAY:
      value = civil.day;
      break;
    case FIELD_WEEK:
      relation_civil_iso_week (days, &week_year, &week);
      value = week;
      break;
    case FIELD_WEEK_YEAR:
      relation_civil_iso_week (days, &week_year, &week);
      value = week_year;
      break;
    case FIELD_DAY_OF_WEEK:
      value = relation_civil_iso_weekday (days) % 7 + 1;
      break;
    case FIELD_ISO_DAY:
      value = relation_civil_iso_weekday (days);
      break;
    case FIELD_WEEKDAY:
      value = relation_civil_iso_weekday (days) - 1;
      break;
    case FIELD_DAY_OF_YEAR:
      value = relation_civil_day_of_year (&civil);
      break;
    case FIELD_HOUR:
      value = civil.hour;
      break;
    case FIELD_MINUTE:
      value = civil.minute;
      break;
    default:
      value = civil.second;
      break;
    }
    duck_vector_set (call->result, gint32, row, (gint32) value);
  }
  return TRUE;
}

static gboolean
day_name_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  static const char *const names[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
  for (guint row = 0; duck_kernel_next (call, &row); row++)
    duck_vector_set_string (call->result, row,
                            names[relation_civil_iso_weekday (duck_vector_int64 (&call->args[0], row)) - 1], 3);
  return TRUE;
}

static gboolean
month_name_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  static const char *const names[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 year;
    int month, day;
    relation_civil_from_days (duck_vector_int64 (&call->args[0], row), &year, &month, &day);
    duck_vector_set_string (call->result, row, names[month - 1], 3);
  }
  return TRUE;
}

/* ---- patterns ---- */

/* The compiled constant, or a fresh one kept in @own for the row. */
static const RelationPattern *
pattern_at (const DuckKernelCall *call, guint arg, guint row, gboolean for_reading, RelationPattern **own,
            GError **error)
{
  const TimeBind *bind = call->bind_data;
  if (bind != NULL && bind->pattern != NULL)
    return bind->pattern;
  gsize size;
  const char *text = duck_vector_string (&call->args[arg], row, &size);
  relation_pattern_free (*own);
  *own = relation_pattern_new (text, size, for_reading, error);
  return *own;
}

/* (instant, pattern, zone) */
static gboolean
date_format_run (const DuckKernelCall *call, GError **error)
{
  g_autoptr (RelationPattern) own = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    const RelationPattern *pattern = pattern_at (call, 1, row, FALSE, &own, error);
    const RelationZone *zone = pattern == NULL ? NULL : zone_at (call, 2, row, error);
    if (zone == NULL)
      return FALSE;
    g_string_truncate (out, 0);
    if (!relation_pattern_format (pattern, duck_vector_int64 (&call->args[0], row), zone, out, error))
      return FALSE;
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
bind_date_format (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data, GError **error)
{
  return bind_arguments (bind, user_data, 2, 1, FALSE, bind_data, error);
}

static gboolean
bind_parse (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data, GError **error)
{
  return bind_arguments (bind, user_data, 2, 1, TRUE, bind_data, error);
}

/* (text, pattern, zone, try?): an instant, wall clock or date */
static gboolean
parse_run (const DuckKernelCall *call, GError **error)
{
  g_autoptr (RelationPattern) own = NULL;
  RelationKernels *kernels = call->user_data;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    const RelationPattern *pattern = pattern_at (call, 1, row, TRUE, &own, error);
    const RelationZone *zone = pattern == NULL ? NULL : zone_at (call, 2, row, error);
    if (zone == NULL)
      return FALSE;
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    RelationPatternTime time;
    const RelationZone *own_zone = zone;
    gboolean parsed = relation_pattern_parse (pattern, text, size, &time);
    if (parsed && time.zone[0] != '\0') {
      own_zone = relation_zones_get (kernels->zones, time.zone, strlen (time.zone), NULL);
      parsed = own_zone != NULL;
    }
    if (!parsed) {
      if (!duck_vector_bool (&call->args[3], row))
        return base_error_set (error, SLUICE_ERROR_CANNOT_PARSE_TIMESTAMP,
                               "the text '%.*s' does not match the pattern; try_to_timestamp gives NULL instead",
                               (int) MIN (size, 200), text);
      duck_vector_set_null (call->result, row);
      continue;
    }
    gint64 instant =
        time.has_offset ? time.wall_us - time.offset_us : relation_zone_to_instant (own_zone, time.wall_us);
    if (call->result->kind == DUCK_KIND_TIMESTAMP_TZ)
      duck_vector_set (call->result, gint64, row, instant);
    else if (call->result->kind == DUCK_KIND_TIMESTAMP)
      duck_vector_set (call->result, gint64, row, time.wall_us);
    else if (!set_date (call->result, row,
                        relation_floor_div (relation_zone_to_wall (zone, instant), RELATION_US_PER_DAY), error))
      return FALSE;
  }
  return TRUE;
}

/* ---- intervals ---- */

/* (interval, number, divide?): rounded half up; the result's width tells months from microseconds */
static gboolean
interval_scale_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 value = duck_vector_int64 (&call->args[0], row);
    const DuckVector *number = &call->args[1];
    gboolean divide = duck_vector_bool (&call->args[2], row), try_it = duck_vector_bool (&call->args[3], row);
    gboolean is_floating = number->kind == DUCK_KIND_DOUBLE || number->kind == DUCK_KIND_FLOAT;
    RelationInt128 result = 0;
    gboolean fits = TRUE;
    if (divide && (is_floating ? duck_vector_double (number, row) == 0 : duck_vector_int128 (number, row) == 0)) {
      if (!try_it)
        return base_error_set (error, SLUICE_ERROR_INTERVAL_DIVIDED_BY_ZERO, "an interval is divided by zero");
      duck_vector_set_null (call->result, row);
      continue;
    }
    if (is_floating) {
      double exact = divide ? (double) value / duck_vector_double (number, row)
                            : (double) value * duck_vector_double (number, row);
      double rounded = copysign (floor (fabs (exact) + 0.5), exact);
      fits = rounded > -9.2233720368547748e18 && rounded < 9.2233720368547748e18;
      result = fits ? (gint64) rounded : 0;
    } else if (divide)
      fits = relation_decimal_divide (value, 0, duck_vector_int128 (number, row), number->scale, 38, 0, &result);
    else
      fits = relation_decimal_multiply (value, 0, duck_vector_int128 (number, row), number->scale, 38, 0, &result);
    if (fits && relation_vector_store_integer (call->result, row, result))
      continue;
    if (!try_it)
      return base_error_set (error, SLUICE_ERROR_INTERVAL_ARITHMETIC_OVERFLOW_WITHOUT_SUGGESTION,
                             "an interval is too long");
    duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* (a, b, subtract?, try?) */
static gboolean
interval_add_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 b = duck_vector_int64 (&call->args[1], row);
    RelationInt128 sum = duck_vector_int64 (&call->args[0], row) + (duck_vector_bool (&call->args[2], row) ? -b : b);
    if (relation_vector_store_integer (call->result, row, sum))
      continue;
    if (!duck_vector_bool (&call->args[3], row))
      return base_error_set (error, SLUICE_ERROR_INTERVAL_ARITHMETIC_OVERFLOW_WITH_SUGGESTION,
                             "an interval is too long; try_add and try_subtract give NULL instead");
    duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* (days, hours, minutes, seconds DECIMAL(18,6)) → microseconds */
static gboolean
make_dt_interval_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 us = (RelationInt128) duck_vector_int64 (&call->args[0], row) * RELATION_US_PER_DAY +
                        (RelationInt128) duck_vector_int64 (&call->args[1], row) * 3600000000 +
                        (RelationInt128) duck_vector_int64 (&call->args[2], row) * 60000000 +
                        duck_vector_int64 (&call->args[3], row);
    if (!relation_vector_store_integer (call->result, row, us))
      return base_error_set (error, SLUICE_ERROR_INTERVAL_ARITHMETIC_OVERFLOW_WITHOUT_SUGGESTION,
                             "an interval is too long");
  }
  return TRUE;
}

/* (years, months) → months */
static gboolean
make_ym_interval_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 months = duck_vector_int64 (&call->args[0], row) * 12 + duck_vector_int64 (&call->args[1], row);
    if (!relation_vector_store_integer (call->result, row, months))
      return base_error_set (error, SLUICE_ERROR_INTERVAL_ARITHMETIC_OVERFLOW_WITHOUT_SUGGESTION,
                             "an interval is too long");
  }
  return TRUE;
}

/* (years, months, weeks, days, hours, minutes, seconds DECIMAL(18,6), try?) */
static gboolean
make_interval_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 parts[7];
    for (guint i = 0; i < 7; i++)
      parts[i] = duck_vector_int64 (&call->args[i], row);
    gint64 months = parts[0] * 12 + parts[1], days = parts[2] * 7 + parts[3];
    RelationInt128 us = (RelationInt128) parts[4] * 3600000000 + (RelationInt128) parts[5] * 60000000 + parts[6];
    if (months < G_MININT32 || months > G_MAXINT32 || days < G_MININT32 || days > G_MAXINT32 || us < G_MININT64 ||
        us > G_MAXINT64) {
      if (!duck_vector_bool (&call->args[7], row))
        return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "an interval is too long");
      duck_vector_set_null (call->result, row);
      continue;
    }
    DuckInterval interval = { (gint32) months, (gint32) days, (gint64) us };
    duck_vector_set (call->result, DuckInterval, row, interval);
  }
  return TRUE;
}

/* (width us, time wall, origin wall) → start of the bucket */
static gboolean
time_bucket_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 width = duck_vector_int64 (&call->args[0], row);
    gint64 us = duck_vector_int64 (&call->args[1], row), origin = duck_vector_int64 (&call->args[2], row);
    if (width <= 0)
      return base_error_set (error, SLUICE_ERROR_DATATYPE_MISMATCH_VALUE_OUT_OF_RANGE,
                             "the width of a bucket must be positive");
    duck_vector_set (call->result, gint64, row, origin + relation_floor_div (us - origin, width) * width);
  }
  return TRUE;
}

#define TZ    "TIMESTAMP WITH TIME ZONE"
#define ZONED .bind = bind_zone, .free_bind_data = time_bind_free

const DuckKernel *
relation_kernel_rows_time (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_add_months", .args = { "DATE", "INTEGER" }, .result = "DATE", .run = add_months_run },
    { .name = "sluice_instant_add",
      .args = { TZ, "INTEGER", "INTEGER", "BIGINT", "VARCHAR" },
      .result = TZ,
      .run = add_run,
      ZONED },
    { .name = "sluice_wall_add",
      .args = { "TIMESTAMP", "INTEGER", "INTEGER", "BIGINT" },
      .result = "TIMESTAMP",
      .run = add_run },
    { .name = "sluice_instant_add_us",
      .args = { TZ, "BIGINT", "BOOLEAN", "VARCHAR" },
      .result = TZ,
      .run = add_us_run,
      ZONED },
    { .name = "sluice_wall_add_us",
      .args = { "TIMESTAMP", "BIGINT", "BOOLEAN" },
      .result = "TIMESTAMP",
      .run = add_us_run },
    { .name = "sluice_date_add_calendar",
      .args = { "DATE", "INTERVAL", "BOOLEAN" },
      .result = "DATE",
      .run = add_calendar_run },
    { .name = "sluice_wall_add_calendar",
      .args = { "TIMESTAMP", "INTERVAL", "BOOLEAN" },
      .result = "TIMESTAMP",
      .run = add_calendar_run },
    { .name = "sluice_instant_add_calendar",
      .args = { TZ, "INTERVAL", "BOOLEAN", "VARCHAR" },
      .result = TZ,
      .run = add_calendar_run,
      ZONED },
    { .name = "sluice_to_wall", .args = { TZ, "VARCHAR" }, .result = "TIMESTAMP", .run = shift_run, ZONED },
    { .name = "sluice_to_instant", .args = { "TIMESTAMP", "VARCHAR" }, .result = TZ, .run = shift_run, ZONED },
    { .name = "sluice_date_trunc", .args = { "VARCHAR", TZ, "VARCHAR" }, .result = TZ, .run = date_trunc_run, ZONED },
    { .name = "sluice_trunc", .args = { "DATE", "VARCHAR" }, .result = "DATE", .run = trunc_run },
    { .name = "sluice_timestamp_diff",
      .args = { "VARCHAR", "TIMESTAMP", "TIMESTAMP" },
      .result = "BIGINT",
      .run = timestamp_diff_run },
    { .name = "sluice_months_between",
      .args = { "TIMESTAMP", "TIMESTAMP", "BOOLEAN" },
      .result = "DOUBLE",
      .run = months_between_run },
    { .name = "sluice_make_date", .args = { "INTEGER", "INTEGER", "INTEGER" }, .result = "DATE", .run = make_date_run },
    { .name = "sluice_make_timestamp",
      .args = { "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "DECIMAL(16,6)", "VARCHAR", "BOOLEAN" },
      .run = make_timestamp_run,
      .bind = bind_make_timestamp,
      .free_bind_data = time_bind_free },
    { .name = "sluice_timestamp_units", .args = { "BIGINT", "BIGINT" }, .result = TZ, .run = timestamp_units_run },
    { .name = "sluice_next_day", .args = { "DATE", "VARCHAR" }, .result = "DATE", .run = next_day_run },
    { .name = "sluice_time_field", .args = { "INTEGER", "TIMESTAMP" }, .result = "INTEGER", .run = time_field_run },
    { .name = "sluice_day_name", .args = { "DATE" }, .result = "VARCHAR", .run = day_name_run },
    { .name = "sluice_month_name", .args = { "DATE" }, .result = "VARCHAR", .run = month_name_run },
    { .name = "sluice_date_format",
      .args = { TZ, "VARCHAR", "VARCHAR" },
      .result = "VARCHAR",
      .run = date_format_run,
      .bind = bind_date_format,
      .free_bind_data = time_bind_free },
    { .name = "sluice_parse_instant",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN" },
      .result = TZ,
      .run = parse_run,
      .bind = bind_parse,
      .free_bind_data = time_bind_free },
    { .name = "sluice_parse_wall",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN" },
      .result = "TIMESTAMP",
      .run = parse_run,
      .bind = bind_parse,
      .free_bind_data = time_bind_free },
    { .name = "sluice_parse_date",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN" },
      .result = "DATE",
      .run = parse_run,
      .bind = bind_parse,
      .free_bind_data = time_bind_free },
    { .name = "sluice_interval_scale", .args = { "BIGINT", "ANY", "BOOLEAN", "BOOLEAN" }, .run = interval_scale_run },
    { .name = "sluice_interval_add", .args = { "BIGINT", "BIGINT", "BOOLEAN", "BOOLEAN" }, .run = interval_add_run },
    { .name = "sluice_make_dt_interval",
      .args = { "INTEGER", "INTEGER", "INTEGER", "DECIMAL(18,6)" },
      .result = "BIGINT",
      .run = make_dt_interval_run },
    { .name = "sluice_make_ym_interval",
      .args = { "INTEGER", "INTEGER" },
      .result = "INTEGER",
      .run = make_ym_interval_run },
    { .name = "sluice_make_interval",
      .args = { "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "DECIMAL(18,6)", "BOOLEAN" },
      .result = "INTERVAL",
      .run = make_interval_run },
    { .name = "sluice_time_bucket",
      .args = { "BIGINT", "TIMESTAMP", "TIMESTAMP" },
      .result = "TIMESTAMP",
      .run = time_bucket_run },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

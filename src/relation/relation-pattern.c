/* Date and time patterns; see relation-pattern-private.h.
 *
 * A pattern becomes a list of items. Reading follows java.time with strict resolving: a number takes as many digits as its width allows,
 * and a number that is followed at once by fixed-width numbers leaves their digits to them. Names are English (Locale.US).
 */
#include "base-error.h"
#include "relation-pattern-private.h"

#include <string.h>

typedef struct {
  char letter; /* '\'' literal, '[' and ']' optional part, else the pattern letter */
  int count;
  char *literal;
  gsize literal_size;
  int reserved; /* digits that adjacent numbers after this one need */
} Item;

struct RelationPattern {
  GArray *items;
};

static const char *const month_names[] = { "January", "February", "March",     "April",   "May",      "June",
                                           "July",    "August",   "September", "October", "November", "December" };
static const char *const day_names[] = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" };

static void
item_clear (gpointer data)
{
  Item *item = data;
  g_free (item->literal);
}

void
relation_pattern_free (RelationPattern *pattern)
{
  if (pattern == NULL)
    return;
  g_array_unref (pattern->items);
  g_free (pattern);
}

/* ---- what is allowed ---- */

/* Whether SimpleDateFormat takes the pattern: Spark then says that the meaning changed. */
static gboolean
is_legacy_pattern (const char *text, gsize size)
{
  gboolean quoted = FALSE;
  for (gsize i = 0; i < size; i++) {
    if (text[i] == '\'') {
      quoted = !quoted;
      continue;
    }
    if (quoted || !g_ascii_isalpha (text[i]))
      continue;
    if (strchr ("GyYMLwWDdFEuaHkKhmsSzZX", text[i]) == NULL)
      return FALSE;
    gsize run = 1;
    while (i + run < size && text[i + run] == text[i])
      run++;
    if (text[i] == 'X' && run > 3)
      return FALSE;
    i += run - 1;
  }
  return !quoted;
}

typedef enum { PATTERN_OK, PATTERN_WEEK, PATTERN_CHARACTER, PATTERN_LENGTH, PATTERN_OTHER } PatternFault;

static gboolean
count_is_valid (char letter, int count)
{
  switch (letter) {
  case 'y':
    return count <= 10;
  case 'M':
  case 'L':
  case 'E':
  case 'Q':
  case 'q':
  case 'G':
    return count <= 4;
  case 'D':
    return count <= 3;
  case 'd':
  case 'h':
  case 'H':
  case 'k':
  case 'K':
  case 'm':
  case 's':
    return count <= 2;
  case 'F':
  case 'a':
    return count == 1;
  case 'S':
    return count <= 9;
  case 'V':
    return count == 2;
  case 'z':
    return count <= 4;
  case 'O':
    return count == 1 || count == 4;
  case 'X':
  case 'x':
  case 'Z':
    return count <= 5;
  default:
    return FALSE;
  }
}

static void
add_item (RelationPattern *pattern, char letter, int count, const char *literal, gsize literal_size)
{
  Item item = { .letter = letter, .count = count };
  if (literal != NULL) {
    item.literal = g_strndup (literal, literal_size);
    item.literal_size = literal_size;
  }
  g_array_append_val (pattern->items, item);
}

static PatternFault
compile (RelationPattern *pattern, const char *text, gsize size, gboolean for_reading)
{
  int depth = 0;
  /* Spark looks for refused letters first, wherever the pattern breaks otherwise. */
  gboolean quoted = FALSE;
  for (gsize i = 0; i < size; i++) {
    if (text[i] == '\'')
      quoted = !quoted;
    else if (!quoted && strchr ("YWwuec", text[i]) != NULL && text[i] != '\0')
      return PATTERN_WEEK;
  }
  for (gsize i = 0; i < size;) {
    char c = text[i];
    if (g_ascii_isalpha (c)) {
      gsize run = 1;
      while (i + run < size && text[i + run] == c)
        run++;
      if (strchr ("ABnNp", c) != NULL || (for_reading && strchr ("EFqQ", c) != NULL))
        return PATTERN_CHARACTER;
      if (!count_is_valid (c, (int) MIN (run, 100)))
        return strchr ("GMLEQqy", c) != NULL ? PATTERN_LENGTH : PATTERN_OTHER;
      add_item (pattern, c, (int) run, NULL, 0);
      i += run;
    } else if (c == '\'') {
      g_autoptr (GString) literal = g_string_new (NULL);
      gsize k = i + 1;
      gboolean closed = FALSE;
      for (; k < size; k++) {
        if (text[k] == '\'' && k + 1 < size && text[k + 1] == '\'') {
          g_string_append_c (literal, '\'');
          k++;
        } else if (text[k] == '\'') {
          closed = TRUE;
          break;
        } else
          g_string_append_c (literal, text[k]);
      }
      if (!closed)
        return PATTERN_OTHER;
      if (literal->len == 0)
        g_string_append_c (literal, '\'');
      add_item (pattern, '\'', 0, literal->str, literal->len);
      i = k + 1;
    } else if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
      if (depth < 0 || depth > 20)
        return PATTERN_OTHER;
      add_item (pattern, c, 0, NULL, 0);
      i++;
    } else if (c == '{' || c == '}' || c == '#') {
      return PATTERN_OTHER;
    } else {
      add_item (pattern, '\'', 0, text + i, 1);
      i++;
    }
  }
  return PATTERN_OK;
}

static gboolean
is_number (const Item *item)
{
  switch (item->letter) {
  case 'y':
  case 'D':
  case 'd':
  case 'F':
  case 'h':
  case 'H':
  case 'k':
  case 'K':
  case 'm':
  case 's':
    return TRUE;
  case 'M':
  case 'L':
  case 'Q':
  case 'q':
    return item->count <= 2;
  default:
    return FALSE;
  }
}

/* Fixed number of digits, 0 when the width varies. */
static int
fixed_width (const Item *item)
{
  if (item->letter == 'y')
    return item->count == 2 ? 2 : 0;
  if (item->letter == 'D')
    return item->count == 3 ? 3 : 0;
  return item->count == 2 ? 2 : 0;
}

static void
reserve_adjacent (RelationPattern *pattern)
{
  for (guint i = 0; i < pattern->items->len; i++) {
    Item *item = &g_array_index (pattern->items, Item, i);
    if (!is_number (item) || fixed_width (item) != 0)
      continue;
    for (guint k = i + 1; k < pattern->items->len; k++) {
      Item *next = &g_array_index (pattern->items, Item, k);
      if (!is_number (next) || fixed_width (next) == 0)
        break;
      item->reserved += fixed_width (next);
    }
  }
}

RelationPattern *
relation_pattern_new (const char *text, gsize size, gboolean for_reading, GError **error)
{
  g_autoptr (RelationPattern) pattern = g_new0 (RelationPattern, 1);
  pattern->items = g_array_new (FALSE, TRUE, sizeof (Item));
  g_array_set_clear_func (pattern->items, item_clear);
  if (size > 1000) {
    base_error_set (error, SLUICE_ERROR_INVALID_DATETIME_PATTERN_ILLEGAL_CHARACTER, "the pattern is too long");
    return NULL;
  }
  PatternFault fault = compile (pattern, text, size, for_reading);
  if (fault == PATTERN_OK) {
    reserve_adjacent (pattern);
    return g_steal_pointer (&pattern);
  }
  int length = (int) size;
  if (is_legacy_pattern (text, size))
    base_error_set (error, SLUICE_ERROR_INCONSISTENT_BEHAVIOR_CROSS_VERSION_DATETIME_PATTERN_RECOGNITION,
                    "the pattern '%.*s' is not one of Spark 3 and newer", length, text);
  else if (fault == PATTERN_WEEK)
    base_error_set (error, SLUICE_ERROR_INCONSISTENT_BEHAVIOR_CROSS_VERSION_DATETIME_WEEK_BASED_PATTERN,
                    "the pattern '%.*s' is based on weeks; use EXTRACT instead", length, text);
  else
    base_error_set (error, SLUICE_ERROR_INVALID_DATETIME_PATTERN_ILLEGAL_CHARACTER,
                    "the pattern '%.*s' holds an illegal character or length", length, text);
  return NULL;
}

/* ---- names of zones ---- */

static const struct {
  const char *region;
  const char *standard, *daylight, *standard_long, *daylight_long;
} zone_names[] = {
  { "America/Los_Angeles", "PST", "PDT", "Pacific Standard Time", "Pacific Daylight Time" },
  { "America/Denver", "MST", "MDT", "Mountain Standard Time", "Mountain Daylight Time" },
  { "America/Chicago", "CST", "CDT", "Central Standard Time", "Central Daylight Time" },
  { "America/New_York", "EST", "EDT", "Eastern Standard Time", "Eastern Daylight Time" },
  { "Europe/Paris", "CET", "CEST", "Central European Standard Time", "Central European Summer Time" },
  { "Europe/Berlin", "CET", "CEST", "Central European Standard Time", "Central European Summer Time" },
  { "Europe/London", "GMT", "BST", "Greenwich Mean Time", "British Summer Time" },
  { "Asia/Tokyo", "JST", "JDT", "Japan Standard Time", "Japan Daylight Time" },
  { "UTC", "UTC", "UTC", "Coordinated Universal Time", "Coordinated Universal Time" },
  { "Etc/UTC", "UTC", "UTC", "Coordinated Universal Time", "Coordinated Universal Time" },
  { "GMT", "GMT", "GMT", "Greenwich Mean Time", "Greenwich Mean Time" },
};

static gboolean
append_zone_name (GString *out, const RelationZone *zone, gint64 instant_us, gboolean is_long, GError **error)
{
  const char *id = relation_zone_id (zone);
  for (gsize i = 0; i < G_N_ELEMENTS (zone_names); i++) {
    if (strcmp (zone_names[i].region, id) != 0)
      continue;
    gboolean daylight = relation_zone_is_daylight (zone, instant_us);
    if (is_long)
      g_string_append (out, daylight ? zone_names[i].daylight_long : zone_names[i].standard_long);
    else
      g_string_append (out, daylight ? zone_names[i].daylight : zone_names[i].standard);
    return TRUE;
  }
  if (relation_zone_is_fixed (zone)) {
    g_string_append (out, id);
    return TRUE;
  }
  return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                         "the name of the time zone %s is not known here; use XXX or VV", id);
}

/* Abbreviations that are read as the region. */
static const struct {
  const char *name, *region;
} zone_abbreviations[] = {
  { "PST", "America/Los_Angeles" }, { "PDT", "America/Los_Angeles" }, { "MST", "America/Denver" },
  { "MDT", "America/Denver" },      { "CST", "America/Chicago" },     { "CDT", "America/Chicago" },
  { "EST", "America/New_York" },    { "EDT", "America/New_York" },    { "CET", "Europe/Paris" },
  { "CEST", "Europe/Paris" },       { "JST", "Asia/Tokyo" },
};

/* ---- printing ---- */

/* @pattern: like Java's `+HH`, `+HHmm`, `+HH:MM`, `+HHmmss`, `+HH:MM:ss` by number 1…5; 1 shows minutes only when not zero. */
static void
append_offset (GString *out, gint64 offset_us, int form, const char *zero)
{
  gint64 seconds = offset_us / RELATION_US_PER_SECOND;
  if (seconds == 0) {
    g_string_append (out, zero);
    return;
  }
  gint64 magnitude = ABS (seconds);
  int hour = (int) (magnitude / 3600), minute = (int) (magnitude / 60 % 60), second = (int) (magnitude % 60);
  g_string_append_printf (out, "%c%02d", seconds < 0 ? '-' : '+', hour);
  gboolean colon = form == 3 || form == 5;
  if (form > 1 || minute != 0)
    g_string_append_printf (out, "%s%02d", colon ? ":" : "", minute);
  if (form >= 4 && second != 0)
    g_string_append_printf (out, "%s%02d", colon ? ":" : "", second);
}

static void
append_year (GString *out, gint64 year, int count)
{
  if (count == 2) {
    g_string_append_printf (out, "%02d", (int) (ABS (year) % 100));
    return;
  }
  guint64 magnitude = (guint64) ABS (year);
  g_autofree char *digits = g_strdup_printf ("%0*" G_GUINT64_FORMAT, count, magnitude);
  if (year < 0)
    g_string_append_c (out, '-');
  else if (count >= 4 && (int) strlen (digits) > count)
    g_string_append_c (out, '+');
  g_string_append (out, digits);
}

static void
append_number (GString *out, int value, int count)
{
  g_string_append_printf (out, "%0*d", count, value);
}

static gboolean
append_item (GString *out, const Item *item, const RelationCivil *civil, gint64 instant_us, gint64 offset_us,
             const RelationZone *zone, gboolean has_era, GError **error)
{
  gint64 days = relation_civil_days (civil->year, civil->month, civil->day);
  int hour12 = civil->hour % 12;
  switch (item->letter) {
  case '\'':
    g_string_append_len (out, item->literal, (gssize) item->literal_size);
    break;
  case 'G':
    g_string_append (out, item->count < 4 ? (civil->year > 0 ? "AD" : "BC")
                                          : (civil->year > 0 ? "Anno Domini" : "Before Christ"));
    break;
  case 'y':
    append_year (out, has_era && civil->year <= 0 ? 1 - civil->year : civil->year, item->count);
    break;
  case 'M':
  case 'L':
    if (item->count <= 2)
      append_number (out, civil->month, item->count);
    else
      g_string_append_len (out, month_names[civil->month - 1], item->count == 3 ? 3 : -1);
    break;
  case 'd':
    append_number (out, civil->day, item->count);
    break;
  case 'D':
    append_number (out, relation_civil_day_of_year (civil), item->count);
    break;
  case 'E':
    g_string_append_len (out, day_names[relation_civil_iso_weekday (days) - 1], item->count < 4 ? 3 : -1);
    break;
  case 'F': {
    int in_week = (civil->day - 1) % 7 + 1, week = (civil->day - 1) / 7 + 1;
    if (in_week != week)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                             "the pattern letter F has a meaning that depends on the version of Java");
    append_number (out, week, 1);
    break;
  }
  case 'Q':
  case 'q': {
    static const char *const quarters[] = { "1st quarter", "2nd quarter", "3rd quarter", "4th quarter" };
    int quarter = (civil->month - 1) / 3 + 1;
    if (item->count <= 2)
      append_number (out, quarter, item->count);
    else if (item->count == 3)
      g_string_append_printf (out, "Q%d", quarter);
    else
      g_string_append (out, quarters[quarter - 1]);
    break;
  }
  case 'a':
    g_string_append (out, civil->hour < 12 ? "AM" : "PM");
    break;
  case 'h':
    append_number (out, hour12 == 0 ? 12 : hour12, item->count);
    break;
  case 'K':
    append_number (out, hour12, item->count);
    break;
  case 'k':
    append_number (out, civil->hour == 0 ? 24 : civil->hour, item->count);
    break;
  case 'H':
    append_number (out, civil->hour, item->count);
    break;
  case 'm':
    append_number (out, civil->minute, item->count);
    break;
  case 's':
    append_number (out, civil->second, item->count);
    break;
  case 'S': {
    char digits[16];
    g_snprintf (digits, sizeof digits, "%06d000", civil->microsecond);
    g_string_append_len (out, digits, item->count);
    break;
  }
  case 'V':
    g_string_append (out, relation_zone_id (zone));
    break;
  case 'z':
    return append_zone_name (out, zone, instant_us, item->count == 4, error);
  case 'O':
    if (item->count == 4 && offset_us % 3600000000 == 0 && offset_us != 0)
      g_string_append_printf (out, "GMT%c%02d:00", offset_us < 0 ? '-' : '+', (int) (ABS (offset_us) / 3600000000));
    else if (item->count == 1 && offset_us % 3600000000 == 0 && offset_us != 0)
      g_string_append_printf (out, "GMT%+d", (int) (offset_us / 3600000000));
    else {
      g_string_append (out, "GMT");
      append_offset (out, offset_us, 3, "");
    }
    break;
  case 'X':
    append_offset (out, offset_us, item->count, "Z");
    break;
  case 'x':
    append_offset (out, offset_us, item->count,
                   item->count == 1                       ? "+00"
                   : item->count == 3 || item->count == 5 ? "+00:00"
                                                          : "+0000");
    break;
  case 'Z':
    if (item->count < 4)
      append_offset (out, offset_us, 2, "+0000");
    else if (item->count == 4) {
      g_string_append (out, "GMT");
      append_offset (out, offset_us, 3, "");
    } else
      append_offset (out, offset_us, 5, "Z");
    break;
  default:
    break; /* brackets print nothing */
  }
  return TRUE;
}

gboolean
relation_pattern_format (const RelationPattern *pattern, gint64 instant_us, const RelationZone *zone, GString *out,
                         GError **error)
{
  gint64 offset_us = relation_zone_offset_us (zone, instant_us);
  RelationCivil civil;
  relation_civil_from_us (instant_us + offset_us, &civil);
  gboolean has_era = FALSE;
  for (guint i = 0; i < pattern->items->len; i++)
    has_era |= g_array_index (pattern->items, Item, i).letter == 'G';
  for (guint i = 0; i < pattern->items->len; i++)
    if (!append_item (out, &g_array_index (pattern->items, Item, i), &civil, instant_us, offset_us, zone, has_era,
                      error))
      return FALSE;
  return TRUE;
}

/* ---- reading ---- */

#define UNSET G_MININT32

typedef struct {
  int era, day_of_year, month, day, half, hour12, hour, minute, second, microsecond;
  gint64 year;
  gboolean has_year, has_offset;
  gint64 offset_us;
  char zone[72];
} Fields;

typedef struct {
  const char *p, *end;
  Fields fields;
} Reader;

static gboolean
read_digits (Reader *reader, int min, int max, gint64 *value)
{
  int n = 0;
  gint64 sum = 0;
  while (n < max && reader->p < reader->end && g_ascii_isdigit (*reader->p)) {
    if (sum > G_MAXINT64 / 100)
      return FALSE;
    sum = sum * 10 + (*reader->p++ - '0');
    n++;
  }
  *value = sum;
  return n >= min;
}

/* A number of varying width; leaves @item->reserved digits. */
static gboolean
read_varying (Reader *reader, const Item *item, int min, gboolean exceeds_pad, gint64 *value)
{
  gboolean negative = FALSE, plus = FALSE;
  if (reader->p < reader->end && (*reader->p == '-' || *reader->p == '+')) {
    negative = *reader->p == '-';
    plus = !negative;
    if (plus && !exceeds_pad)
      return FALSE;
    reader->p++;
  }
  int n = 0;
  while (reader->p + n < reader->end && n < 19 && g_ascii_isdigit (reader->p[n]))
    n++;
  int take = item->reserved > 0 ? MAX (min, n - item->reserved) : n;
  const char *start = reader->p;
  if (n < min || !read_digits (reader, min, take, value))
    return FALSE;
  int length = (int) (reader->p - start);
  if (exceeds_pad && !negative && (plus ? length <= min : length > min))
    return FALSE; /* a year longer than its pattern wants a sign, and only then */
  if (negative)
    *value = -*value;
  return TRUE;
}

static gboolean
read_small (Reader *reader, const Item *item, int *field)
{
  gint64 value;
  if (item->count == 1 ? !read_varying (reader, item, 1, FALSE, &value)
                       : !read_digits (reader, item->count, item->count, &value))
    return FALSE;
  if (value < 0 || value > 100000 || (*field != UNSET && *field != value))
    return FALSE;
  *field = (int) value;
  return TRUE;
}

static int
read_name (Reader *reader, const char *const *names, int n_names, int length)
{
  for (int i = 0; i < n_names; i++) {
    gsize n = length > 0 ? (gsize) length : strlen (names[i]);
    if ((gsize) (reader->end - reader->p) >= n && g_ascii_strncasecmp (reader->p, names[i], n) == 0) {
      reader->p += n;
      return i;
    }
  }
  return -1;
}

/* `+HH`, `+HHmm`, `+HH:MM`, … by @form as when printing. */
static gboolean
read_offset (Reader *reader, int form, const char *zero)
{
  gsize n_zero = strlen (zero);
  if (n_zero > 0 && (gsize) (reader->end - reader->p) >= n_zero && g_ascii_strncasecmp (reader->p, zero, n_zero) == 0) {
    reader->p += n_zero;
    reader->fields.has_offset = TRUE;
    reader->fields.offset_us = 0;
    return TRUE;
  }
  if (reader->p >= reader->end || (*reader->p != '+' && *reader->p != '-'))
    return FALSE;
  gboolean negative = *reader->p++ == '-';
  gint64 hour, minute = 0, second = 0;
  gboolean colon = form == 3 || form == 5;
  if (!read_digits (reader, 2, 2, &hour))
    return FALSE;
  const char *before = reader->p;
  if (form > 1 || (reader->p < reader->end && g_ascii_isdigit (*reader->p))) {
    if ((colon && (reader->p >= reader->end || *reader->p++ != ':')) || !read_digits (reader, 2, 2, &minute)) {
      if (form > 1)
        return FALSE;
      reader->p = before;
      minute = 0;
    }
  }
  if (form >= 4) {
    before = reader->p;
    if ((colon && (reader->p >= reader->end || *reader->p++ != ':')) || !read_digits (reader, 2, 2, &second)) {
      reader->p = before;
      second = 0;
    }
  }
  if (hour > 18 || minute > 59 || second > 59)
    return FALSE;
  gint64 us = ((hour * 60 + minute) * 60 + second) * RELATION_US_PER_SECOND;
  reader->fields.has_offset = TRUE;
  reader->fields.offset_us = negative ? -us : us;
  return TRUE;
}

static gboolean
read_zone (Reader *reader)
{
  gsize n = 0;
  while (reader->p + n < reader->end && (g_ascii_isalnum (reader->p[n]) || strchr ("/_-+:~", reader->p[n]) != NULL) &&
         reader->p[n] != '\0')
    n++;
  if (n == 0 || n >= sizeof reader->fields.zone)
    return FALSE;
  memcpy (reader->fields.zone, reader->p, n);
  reader->fields.zone[n] = '\0';
  reader->p += n;
  for (gsize i = 0; i < G_N_ELEMENTS (zone_abbreviations); i++)
    if (g_ascii_strcasecmp (reader->fields.zone, zone_abbreviations[i].name) == 0)
      g_strlcpy (reader->fields.zone, zone_abbreviations[i].region, sizeof reader->fields.zone);
  return TRUE;
}

static gboolean
read_year (Reader *reader, const Item *item)
{
  gint64 value;
  if (item->count == 2) {
    if (!read_digits (reader, 2, 2, &value))
      return FALSE;
    value += 2000;
  } else if (!read_varying (reader, item, item->count, item->count >= 4, &value))
    return FALSE;
  if (reader->fields.has_year && reader->fields.year != value)
    return FALSE;
  reader->fields.year = value;
  reader->fields.has_year = TRUE;
  return value >= -290000 && value <= 294000;
}

static gboolean
read_item (Reader *reader, const Item *item)
{
  Fields *fields = &reader->fields;
  gint64 value;
  int index;
  switch (item->letter) {
  case '\'':
    if ((gsize) (reader->end - reader->p) < item->literal_size ||
        g_ascii_strncasecmp (reader->p, item->literal, item->literal_size) != 0)
      return FALSE;
    reader->p += item->literal_size;
    return TRUE;
  case 'G': {
    static const char *const short_eras[] = { "BC", "AD" };
    static const char *const long_eras[] = { "Before Christ", "Anno Domini" };
    fields->era = read_name (reader, item->count < 4 ? short_eras : long_eras, 2, 0);
    return fields->era >= 0;
  }
  case 'y':
    return read_year (reader, item);
  case 'M':
  case 'L':
    if (item->count <= 2)
      return read_small (reader, item, &fields->month);
    index = read_name (reader, month_names, 12, item->count == 3 ? 3 : 0);
    fields->month = index + 1;
    return index >= 0;
  case 'd':
    return read_small (reader, item, &fields->day);
  case 'D':
    if (item->count == 2) {
      if (!read_digits (reader, 2, 3, &value))
        return FALSE;
      fields->day_of_year = (int) value;
      return TRUE;
    }
    return read_small (reader, item, &fields->day_of_year);
  case 'a': {
    static const char *const halves[] = { "AM", "PM" };
    fields->half = read_name (reader, halves, 2, 0);
    return fields->half >= 0;
  }
  case 'h':
    if (!read_small (reader, item, &fields->hour12) || fields->hour12 < 1 || fields->hour12 > 12)
      return FALSE;
    fields->hour12 %= 12;
    return TRUE;
  case 'K':
    return read_small (reader, item, &fields->hour12) && fields->hour12 <= 11;
  case 'k':
    if (!read_small (reader, item, &fields->hour) || fields->hour < 1 || fields->hour > 24)
      return FALSE;
    fields->hour %= 24;
    return TRUE;
  case 'H':
    return read_small (reader, item, &fields->hour);
  case 'm':
    return read_small (reader, item, &fields->minute);
  case 's':
    return read_small (reader, item, &fields->second);
  case 'S': {
    const char *start = reader->p;
    if (!read_digits (reader, 1, item->count, &value))
      return FALSE;
    for (gint64 n = reader->p - start; n < 6; n++)
      value *= 10;
    for (gint64 n = reader->p - start; n > 6; n--)
      value /= 10;
    fields->microsecond = (int) value;
    return TRUE;
  }
  case 'V':
  case 'z':
    return read_zone (reader);
  case 'X':
    return read_offset (reader, item->count, "Z");
  case 'x':
    return read_offset (reader, item->count, "");
  case 'Z':
    if (item->count < 4)
      return read_offset (reader, 2, "");
    return item->count == 5 && read_offset (reader, 5, "Z");
  default:
    return FALSE;
  }
}

/* Reads items from @index up to the matching `]` or the end. */
static gboolean
read_items (Reader *reader, const GArray *items, guint *index)
{
  while (*index < items->len) {
    const Item *item = &g_array_index (items, Item, *index);
    if (item->letter == ']')
      return TRUE;
    if (item->letter == '[') {
      Reader before = *reader;
      guint inner = *index + 1;
      if (!read_items (reader, items, &inner))
        *reader = before;
      int depth = 1;
      for (inner = *index + 1; inner < items->len && depth > 0; inner++) {
        char letter = g_array_index (items, Item, inner).letter;
        depth += letter == '[' ? 1 : letter == ']' ? -1 : 0;
      }
      *index = inner;
      continue;
    }
    if (!read_item (reader, item))
      return FALSE;
    (*index)++;
  }
  return TRUE;
}

static gboolean
resolve_time (const Fields *fields, RelationCivil *civil)
{
  if (fields->hour != UNSET)
    civil->hour = fields->hour;
  else if (fields->hour12 != UNSET)
    civil->hour = fields->hour12 + (fields->half == 1 ? 12 : 0);
  else
    civil->hour = fields->half == 1 ? 12 : 0;
  if (fields->hour != UNSET && fields->half != UNSET && (fields->hour >= 12) != (fields->half == 1))
    return FALSE;
  civil->minute = fields->minute != UNSET ? fields->minute : 0;
  civil->second = fields->second != UNSET ? fields->second : 0;
  civil->microsecond = fields->microsecond != UNSET ? fields->microsecond : 0;
  return TRUE;
}

gboolean
relation_pattern_parse (const RelationPattern *pattern, const char *text, gsize size, RelationPatternTime *time)
{
  Reader reader = { .p = text, .end = text + size };
  Fields *fields = &reader.fields;
  *fields = (Fields){ UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, 0, FALSE, FALSE, 0, "" };
  guint index = 0;
  if (!read_items (&reader, pattern->items, &index) || reader.p != reader.end)
    return FALSE;
  RelationCivil civil = { .year = fields->has_year ? fields->year : 1970, .month = 1, .day = 1 };
  if (fields->era == 0)
    civil.year = 1 - civil.year;
  if (!resolve_time (fields, &civil))
    return FALSE;
  civil.month = fields->month != UNSET ? fields->month : 1;
  civil.day = fields->day != UNSET ? fields->day : 1;
  gint64 extra_days = 0;
  if (fields->day_of_year != UNSET && fields->has_year) {
    if (fields->day_of_year < 1 || fields->day_of_year > (relation_civil_is_leap (civil.year) ? 366 : 365))
      return FALSE;
    extra_days = fields->day_of_year - 1;
    civil.month = civil.day = 1;
  }
  if (!relation_civil_is_valid (&civil))
    return FALSE;
  *time = (RelationPatternTime){ .wall_us = relation_civil_us (&civil) + extra_days * RELATION_US_PER_DAY,
                                 .has_offset = fields->has_offset,
                                 .offset_us = fields->offset_us };
  g_strlcpy (time->zone, fields->zone, sizeof time->zone);
  return TRUE;
}

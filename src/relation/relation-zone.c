/* Zones; see relation-zone-private.h.
 *
 * Invariants
 * 1. A zone once made is never changed or freed before its cache, so borrows need no lock.
 * 2. Transitions are sorted by instant; the first one is at G_MININT64.
 * 3. After the last loaded year the rules of the years before repeat: an instant beyond it is moved back by whole cycles of
 *    28 years of the calendar (chosen so that leap years and weekdays agree).
 */
#include "base-error.h"
#include "relation-zone-private.h"

#include <string.h>

/* Tables end here; later years are mapped to 2068…2095, whose calendars are all that exist. */
#define LAST_YEAR 2096

struct RelationZone {
  char *id;
  gboolean is_fixed;
  gint64 offset_us; /* of a fixed zone */
  GArray *transitions;
};

struct RelationZones {
  gatomicrefcount refs;
  GMutex mutex;
  GHashTable *by_name; /* name → RelationZone */
  RelationZoneLoader loader;
  gpointer loader_data;
};

static void
zone_free (gpointer data)
{
  RelationZone *zone = data;
  g_free (zone->id);
  g_clear_pointer (&zone->transitions, g_array_unref);
  g_free (zone);
}

RelationZones *
relation_zones_new (RelationZoneLoader loader, gpointer loader_data)
{
  RelationZones *zones = g_new0 (RelationZones, 1);
  g_atomic_ref_count_init (&zones->refs);
  g_mutex_init (&zones->mutex);
  zones->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, zone_free);
  zones->loader = loader;
  zones->loader_data = loader_data;
  return zones;
}

RelationZones *
relation_zones_ref (RelationZones *zones)
{
  g_atomic_ref_count_inc (&zones->refs);
  return zones;
}

void
relation_zones_unref (RelationZones *zones)
{
  if (zones == NULL || !g_atomic_ref_count_dec (&zones->refs))
    return;
  g_hash_table_unref (zones->by_name);
  g_mutex_clear (&zones->mutex);
  g_free (zones);
}

/* Java's ZoneId.SHORT_IDS. */
static const struct {
  const char *name, *zone;
} short_ids[] = {
  { "ACT", "Australia/Darwin" },
  { "AET", "Australia/Sydney" },
  { "AGT", "America/Argentina/Buenos_Aires" },
  { "ART", "Africa/Cairo" },
  { "AST", "America/Anchorage" },
  { "BET", "America/Sao_Paulo" },
  { "BST", "Asia/Dhaka" },
  { "CAT", "Africa/Harare" },
  { "CNT", "America/St_Johns" },
  { "CST", "America/Chicago" },
  { "CTT", "Asia/Shanghai" },
  { "EAT", "Africa/Addis_Ababa" },
  { "ECT", "Europe/Paris" },
  { "EST", "-05:00" },
  { "HST", "-10:00" },
  { "IET", "America/Indiana/Indianapolis" },
  { "IST", "Asia/Kolkata" },
  { "JST", "Asia/Tokyo" },
  { "MIT", "Pacific/Apia" },
  { "MST", "-07:00" },
  { "NET", "Asia/Yerevan" },
  { "NST", "Pacific/Auckland" },
  { "PLT", "Asia/Karachi" },
  { "PNT", "America/Phoenix" },
  { "PRT", "America/Puerto_Rico" },
  { "PST", "America/Los_Angeles" },
  { "SST", "Pacific/Guadalcanal" },
  { "VST", "Asia/Ho_Chi_Minh" },
};

/* `+h`, `+hh`, `+h:mm`, `+hh:m`, `+hh:mm`, `+hhmm`, `+hh:mm:ss`, `+hhmmss`, at most 18 hours. */
static gboolean
parse_offset (const char *text, gint64 *offset_us)
{
  if (text[0] != '+' && text[0] != '-')
    return FALSE;
  int parts[3] = { 0, 0, 0 };
  int n_parts = 0;
  const char *p = text + 1;
  if (strchr (p, ':') == NULL) {
    gsize n = strspn (p, "0123456789");
    if (p[n] != '\0' || !(n == 1 || n == 2 || n == 4 || n == 6))
      return FALSE;
    if (n == 1)
      parts[0] = p[0] - '0';
    for (gsize i = 0; i + 1 < n; i += 2)
      parts[i / 2] = (p[i] - '0') * 10 + (p[i + 1] - '0');
  } else {
    for (; n_parts < 3; n_parts++) {
      gsize n = strspn (p, "0123456789");
      if (n < 1 || n > 2 || (n_parts == 2 && n != 2))
        return FALSE;
      for (gsize i = 0; i < n; i++)
        parts[n_parts] = parts[n_parts] * 10 + (p[i] - '0');
      p += n;
      if (*p == '\0')
        break;
      if (*p++ != ':')
        return FALSE;
    }
    if (n_parts == 3)
      return FALSE;
  }
  gint64 seconds = ((gint64) parts[0] * 60 + parts[1]) * 60 + parts[2];
  if (parts[1] > 59 || parts[2] > 59 || seconds > 18 * 3600)
    return FALSE;
  *offset_us = (text[0] == '-' ? -seconds : seconds) * RELATION_US_PER_SECOND;
  return TRUE;
}

static char *
offset_id (const char *prefix, gint64 offset_us)
{
  gint64 seconds = ABS (offset_us) / RELATION_US_PER_SECOND;
  GString *id = g_string_new (prefix);
  if (seconds == 0) {
    if (*prefix == '\0')
      g_string_append_c (id, 'Z');
    return g_string_free (id, FALSE);
  }
  g_string_append_printf (id, "%c%02d:%02d", offset_us < 0 ? '-' : '+', (int) (seconds / 3600),
                          (int) (seconds / 60 % 60));
  if (seconds % 60 != 0)
    g_string_append_printf (id, ":%02d", (int) (seconds % 60));
  return g_string_free (id, FALSE);
}

static RelationZone *
fixed_zone (const char *prefix, gint64 offset_us)
{
  RelationZone *zone = g_new0 (RelationZone, 1);
  zone->is_fixed = TRUE;
  zone->offset_us = offset_us;
  zone->id = offset_id (prefix, offset_us);
  return zone;
}

/* NULL with no error: the name is not a fixed zone. */
static RelationZone *
parse_fixed (const char *name)
{
  static const char *const prefixes[] = { "UTC", "GMT", "UT" };
  gint64 offset_us;
  if (strcmp (name, "Z") == 0)
    return fixed_zone ("", 0);
  if (parse_offset (name, &offset_us))
    return fixed_zone ("", offset_us);
  for (gsize i = 0; i < G_N_ELEMENTS (prefixes); i++) {
    gsize n = strlen (prefixes[i]);
    if (strncmp (name, prefixes[i], n) != 0)
      continue;
    if (name[n] == '\0')
      return fixed_zone (prefixes[i], 0);
    if (parse_offset (name + n, &offset_us))
      return fixed_zone (prefixes[i], offset_us);
  }
  return NULL;
}

static gboolean
is_region_name (const char *name)
{
  if (!g_ascii_isalpha (name[0]) || strlen (name) > 64)
    return FALSE;
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("/_-+~.", *p) == NULL)
      return FALSE;
  return TRUE;
}

static RelationZone *
load_zone (RelationZones *zones, const char *name, GError **error)
{
  const char *id = name;
  for (gsize i = 0; i < G_N_ELEMENTS (short_ids); i++)
    if (strcmp (name, short_ids[i].name) == 0)
      id = short_ids[i].zone;
  RelationZone *zone = parse_fixed (id);
  if (zone != NULL)
    return zone;
  GArray *transitions = NULL;
  GError *load_error = NULL;
  if (!is_region_name (id) || !zones->loader (zones->loader_data, id, &transitions, &load_error)) {
    if (load_error != NULL)
      g_propagate_error (error, load_error);
    else
      base_error_set (error, SLUICE_ERROR_INVALID_TIMEZONE, "the time zone \"%s\" is not known", name);
    return NULL;
  }
  zone = g_new0 (RelationZone, 1);
  zone->id = g_strdup (id);
  zone->transitions = transitions;
  return zone;
}

const RelationZone *
relation_zones_get (RelationZones *zones, const char *name, gsize size, GError **error)
{
  if (size > 128 || memchr (name, '\0', size) != NULL) {
    base_error_set (error, SLUICE_ERROR_INVALID_TIMEZONE, "the time zone's name is not one");
    return NULL;
  }
  char key[129];
  memcpy (key, name, size);
  key[size] = '\0';
  g_mutex_lock (&zones->mutex);
  RelationZone *zone = g_hash_table_lookup (zones->by_name, key);
  g_mutex_unlock (&zones->mutex);
  if (zone != NULL)
    return zone;
  zone = load_zone (zones, key, error);
  if (zone == NULL)
    return NULL;
  g_mutex_lock (&zones->mutex);
  RelationZone *other = g_hash_table_lookup (zones->by_name, key);
  if (other == NULL)
    g_hash_table_insert (zones->by_name, g_strdup (key), zone);
  g_mutex_unlock (&zones->mutex);
  if (other != NULL) {
    zone_free (zone);
    zone = other;
  }
  return zone;
}

const char *
relation_zone_id (const RelationZone *zone)
{
  return zone->id;
}

gboolean
relation_zone_is_fixed (const RelationZone *zone)
{
  return zone->is_fixed;
}

/* Moves a time beyond the tables into the last 28 years they cover. Returns: what to take off. */
static gint64
cycle_shift (gint64 us)
{
  gint64 year;
  int month, day;
  relation_civil_from_days (relation_floor_div (us, RELATION_US_PER_DAY), &year, &month, &day);
  if (year < LAST_YEAR)
    return 0;
  gint64 first_day = relation_civil_days (year, 1, 1);
  for (gint64 like = LAST_YEAR - 28; like < LAST_YEAR; like++) {
    gint64 like_day = relation_civil_days (like, 1, 1);
    if (relation_civil_is_leap (like) == relation_civil_is_leap (year) &&
        relation_civil_iso_weekday (like_day) == relation_civil_iso_weekday (first_day))
      return (first_day - like_day) * RELATION_US_PER_DAY;
  }
  return 0;
}

/* The last transition at or before; @wall compares with the later of the local times around each transition. */
static const RelationZoneTransition *
find_transition (const RelationZone *zone, gint64 us, gboolean wall)
{
  const RelationZoneTransition *table = (const RelationZoneTransition *) zone->transitions->data;
  guint low = 0, high = zone->transitions->len;
  while (high - low > 1) {
    guint middle = (low + high) / 2;
    gint64 at = table[middle].utc_us;
    if (wall)
      at += MAX (table[middle - 1].offset_us, table[middle].offset_us);
    if (at <= us)
      low = middle;
    else
      high = middle;
  }
  return &table[low];
}

gint64
relation_zone_offset_us (const RelationZone *zone, gint64 instant_us)
{
  if (zone->is_fixed)
    return zone->offset_us;
  return find_transition (zone, instant_us - cycle_shift (instant_us), FALSE)->offset_us;
}

gint64
relation_zone_to_wall (const RelationZone *zone, gint64 instant_us)
{
  return instant_us + relation_zone_offset_us (zone, instant_us);
}

gint64
relation_zone_to_instant (const RelationZone *zone, gint64 wall_us)
{
  if (zone->is_fixed)
    return wall_us - zone->offset_us;
  return wall_us - find_transition (zone, wall_us - cycle_shift (wall_us), TRUE)->offset_us;
}

gboolean
relation_zone_is_daylight (const RelationZone *zone, gint64 instant_us)
{
  if (zone->is_fixed)
    return FALSE;
  gint64 us = instant_us - cycle_shift (instant_us);
  const RelationZoneTransition *now = find_transition (zone, us, FALSE);
  gint64 half_year = 183 * RELATION_US_PER_DAY;
  return find_transition (zone, us - half_year, FALSE)->offset_us < now->offset_us &&
         find_transition (zone, us + half_year, FALSE)->offset_us < now->offset_us;
}

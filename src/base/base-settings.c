/* Settings: see base-settings.h. Invariant: a value in a layer fits its row's type, so that look-ups cannot fail. */
#include "base-settings.h"

#include "base-error.h"
#include "base-text.h"

#include <string.h>

static const BaseSettingRow setting_rows[] = {
#define SLUICE_SETTING_ROW(key, type, fallback, text)     { key, BASE_SETTING_##type, fallback, text, NULL },
#define SLUICE_SETTING_CHOICE(key, words, fallback, text) { key, BASE_SETTING_CHOICE, fallback, text, words },
#include "settings.def"
#undef SLUICE_SETTING_CHOICE
#undef SLUICE_SETTING_ROW
};

struct BaseSettings {
  gatomicrefcount refs;
  BaseSettings *parent;
  GHashTable *values; /* key → value */
};

const BaseSettingRow *
base_settings_rows (guint *n_rows)
{
  *n_rows = G_N_ELEMENTS (setting_rows);
  return setting_rows;
}

const BaseSettingRow *
base_settings_row (const char *key)
{
  for (guint i = 0; i < G_N_ELEMENTS (setting_rows); i++)
    if (strcmp (setting_rows[i].key, key) == 0)
      return &setting_rows[i];
  return NULL;
}

BaseSettings *
base_settings_new (BaseSettings *parent)
{
  BaseSettings *settings = g_new0 (BaseSettings, 1);

  g_atomic_ref_count_init (&settings->refs);
  settings->parent = parent != NULL ? base_settings_ref (parent) : NULL;
  settings->values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return settings;
}

BaseSettings *
base_settings_ref (BaseSettings *settings)
{
  g_atomic_ref_count_inc (&settings->refs);
  return settings;
}

void
base_settings_unref (BaseSettings *settings)
{
  if (settings == NULL || !g_atomic_ref_count_dec (&settings->refs))
    return;
  base_settings_unref (settings->parent);
  g_hash_table_unref (settings->values);
  g_free (settings);
}

gboolean
base_settings_parse_bool (const char *text, gboolean *value)
{
  if (g_ascii_strcasecmp (text, "true") == 0)
    *value = TRUE;
  else if (g_ascii_strcasecmp (text, "false") == 0)
    *value = FALSE;
  else
    return FALSE;
  return TRUE;
}

/* Splits `12 MB` or `12mb` into number and unit; the unit may be empty. */
static gboolean
split_quantity (const char *text, gint64 *number, const char **unit)
{
  char *end = NULL;

  while (g_ascii_isspace (*text))
    text++;
  if (!g_ascii_isdigit (*text))
    return FALSE;
  *number = g_ascii_strtoll (text, &end, 10);
  if (*number == G_MAXINT64)
    return FALSE;
  while (g_ascii_isspace (*end))
    end++;
  *unit = end;
  return TRUE;
}

typedef struct {
  const char *name;
  gint64 factor;
} Unit;

static gboolean
apply_unit (const char *name, gint64 number, const Unit *units, gint64 *value)
{
  for (; units->name != NULL; units++) {
    if (g_ascii_strcasecmp (units->name, name) == 0)
      return !__builtin_mul_overflow (number, units->factor, value);
  }
  return FALSE;
}

gboolean
base_settings_parse_size (const char *text, gint64 *bytes)
{
  static const Unit units[] = {
    { "", 1 },
    { "b", 1 },
    { "k", 1 << 10 },
    { "kb", 1 << 10 },
    { "kib", 1 << 10 },
    { "m", 1 << 20 },
    { "mb", 1 << 20 },
    { "mib", 1 << 20 },
    { "g", 1 << 30 },
    { "gb", 1 << 30 },
    { "gib", 1 << 30 },
    { "t", G_GINT64_CONSTANT (1) << 40 },
    { "tb", G_GINT64_CONSTANT (1) << 40 },
    { NULL, 0 },
  };
  gint64 number;
  const char *unit;

  return split_quantity (text, &number, &unit) && apply_unit (unit, number, units, bytes);
}

gboolean
base_settings_parse_duration (const char *text, gint64 *us)
{
  static const gint64 second = G_USEC_PER_SEC;
  const Unit units[] = {
    { "us", 1 },
    { "microsecond", 1 },
    { "microseconds", 1 },
    { "ms", 1000 },
    { "millisecond", 1000 },
    { "milliseconds", 1000 },
    { "s", second },
    { "second", second },
    { "seconds", second },
    { "m", 60 * second },
    { "min", 60 * second },
    { "minute", 60 * second },
    { "minutes", 60 * second },
    { "h", 3600 * second },
    { "hour", 3600 * second },
    { "hours", 3600 * second },
    { "d", 86400 * second },
    { "day", 86400 * second },
    { "days", 86400 * second },
    { "week", 7 * 86400 * second },
    { "weeks", 7 * 86400 * second },
    { NULL, 0 },
  };
  gint64 number;
  const char *unit;

  if (g_ascii_strncasecmp (text, "interval ", 9) == 0)
    text += 9;
  return split_quantity (text, &number, &unit) && apply_unit (unit, number, units, us);
}

/* Zone names are checked for their letters here; whether the zone exists is for the query engine to say. */
static gboolean
looks_like_time_zone (const char *text)
{
  for (const char *p = text; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("/_+-:", *p) == NULL)
      return FALSE;
  return *text != '\0' && strlen (text) < 64;
}

/* The word of a choice that @value is. Returns: (transfer full) (nullable). */
static char *
chosen_word (const BaseSettingRow *row, const char *value)
{
  g_auto (GStrv) words = g_strsplit (row->words, ", ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (g_ascii_strcasecmp (words[i], value) == 0)
      return g_strdup (words[i]);
  return NULL;
}

static gboolean
value_fits (const BaseSettingRow *row, const char *value)
{
  g_autofree char *word = NULL;
  gboolean truth;
  gint64 number;

  switch (row->type) {
  case BASE_SETTING_STRING:
    return TRUE;
  case BASE_SETTING_BOOLEAN:
    return base_settings_parse_bool (value, &truth);
  case BASE_SETTING_INT:
    return base_text_parse_int64 (value, &number);
  case BASE_SETTING_SIZE:
    return base_settings_parse_size (value, &number);
  case BASE_SETTING_DURATION:
    return base_settings_parse_duration (value, &number);
  case BASE_SETTING_TIME_ZONE:
    return looks_like_time_zone (value);
  case BASE_SETTING_CHOICE:
    word = chosen_word (row, value);
    return word != NULL;
  }
  return FALSE;
}

/* Settings of Spark that would change answers, and that have one value here. */
static gboolean
is_supported (const char *key, const char *value)
{
  static const char *const fixed[] = { "spark.sql.ansi.enabled", "spark.sql.caseSensitive" };
  gboolean given;
  gboolean only;

  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++)
    if (strcmp (key, fixed[i]) == 0)
      return base_settings_parse_bool (value, &given) &&
             base_settings_parse_bool (base_settings_row (key)->fallback, &only) && given == only;
  return TRUE;
}

char *
base_settings_near (const char *key)
{
  const char *keys[G_N_ELEMENTS (setting_rows) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS (setting_rows); i++)
    keys[i] = setting_rows[i].key;
  return base_text_near_names (key, keys, 2);
}

static gboolean
no_such_setting (const char *key, GError **error)
{
  g_autofree char *near = base_settings_near (key);

  base_error_set (error, SLUICE_ERROR_CONFIG_NOT_AVAILABLE, "There is no setting \"%s\"", key);
  if (near != NULL)
    base_error_set_hint (error, "did you mean %s?", near);
  else
    base_error_set_hint (error, "SET -v lists the settings");
  return FALSE;
}

gboolean
base_settings_set (BaseSettings *settings, const char *key, const char *value, GError **error)
{
  static const char *const type_names[] = { "a text",
                                            "true or false",
                                            "a whole number",
                                            "a size such as 512 MB",
                                            "a duration such as 5 seconds",
                                            "a time zone such as Europe/Berlin",
                                            "one of " };
  const BaseSettingRow *row = base_settings_row (key);

  if (row == NULL && g_str_has_prefix (key, "engine."))
    return no_such_setting (key, error);
  if (row != NULL && !value_fits (row, value))
    return base_error_set (error, SLUICE_ERROR_INVALID_CONF_VALUE,
                           "The value '%s' of the setting \"%s\" is invalid: it takes %s%s", value, key,
                           type_names[row->type], row->words != NULL ? row->words : "");
  if (row != NULL && !is_supported (key, value))
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                           "The setting \"%s\" cannot be '%s': this engine has only '%s'", key, value, row->fallback);
  g_hash_table_insert (settings->values, g_strdup (key),
                       row != NULL && row->words != NULL ? chosen_word (row, value) : g_strdup (value));
  return TRUE;
}

void
base_settings_unset (BaseSettings *settings, const char *key)
{
  g_hash_table_remove (settings->values, key);
}

const char *
base_settings_get (BaseSettings *settings, const char *key)
{
  for (BaseSettings *layer = settings; layer != NULL; layer = layer->parent) {
    const char *value = g_hash_table_lookup (layer->values, key);
    if (value != NULL)
      return value;
  }
  const BaseSettingRow *row = base_settings_row (key);
  return row != NULL ? row->fallback : NULL;
}

gboolean
base_settings_get_bool (BaseSettings *settings, const char *key)
{
  const char *value = base_settings_get (settings, key);
  gboolean truth = FALSE;

  return value != NULL && base_settings_parse_bool (value, &truth) && truth;
}

gint64
base_settings_get_int (BaseSettings *settings, const char *key)
{
  const char *value = base_settings_get (settings, key);
  gint64 number = 0;

  return value != NULL && base_text_parse_int64 (value, &number) ? number : 0;
}

gint64
base_settings_get_size (BaseSettings *settings, const char *key)
{
  const char *value = base_settings_get (settings, key);
  gint64 bytes = 0;

  return value != NULL && base_settings_parse_size (value, &bytes) ? bytes : 0;
}

gint64
base_settings_get_duration_us (BaseSettings *settings, const char *key)
{
  const char *value = base_settings_get (settings, key);
  gint64 us = 0;

  return value != NULL && base_settings_parse_duration (value, &us) ? us : 0;
}

char **
base_settings_list (BaseSettings *settings)
{
  g_autoptr (GHashTable) keys = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < G_N_ELEMENTS (setting_rows); i++)
    g_hash_table_add (keys, (gpointer) setting_rows[i].key);
  for (BaseSettings *layer = settings; layer != NULL; layer = layer->parent) {
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init (&iter, layer->values);
    while (g_hash_table_iter_next (&iter, &key, NULL))
      g_hash_table_add (keys, key);
  }
  g_autoptr (GList) sorted = g_list_sort (g_hash_table_get_keys (keys), (GCompareFunc) strcmp);
  g_autoptr (GPtrArray) list = g_ptr_array_new ();
  for (GList *item = sorted; item != NULL; item = item->next) {
    const char *value = base_settings_get (settings, item->data);
    if (value == NULL)
      continue;
    g_ptr_array_add (list, g_strdup (item->data));
    g_ptr_array_add (list, g_strdup (value));
  }
  g_ptr_array_add (list, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&list), FALSE);
}

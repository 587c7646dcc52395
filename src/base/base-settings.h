/* Settings: every key the engine reads is one row of settings.def (key, type, default, text); user keys are free, but `engine.` is the engine's.
 *
 * Layers, highest first: flow, dataset, --set, configuration, engine default (pipelines.md §3). A layer is a BaseSettings
 * with a parent; looking up walks to the parent and ends at the row's default.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  BASE_SETTING_STRING,
  BASE_SETTING_BOOLEAN,
  BASE_SETTING_INT,
  BASE_SETTING_SIZE,     /* `512 MB` */
  BASE_SETTING_DURATION, /* `5 seconds` */
  BASE_SETTING_TIME_ZONE,
  BASE_SETTING_CHOICE, /* one of some words, in any case; kept as the row writes it */
} BaseSettingType;

typedef struct {
  const char *key;
  BaseSettingType type;
  const char *fallback; /* (nullable): NULL = unset */
  const char *text;     /* one line for `SET -v` and the manual */
  const char *words;    /* (nullable): of a choice, `a, b, c` */
} BaseSettingRow;

const BaseSettingRow *base_settings_rows (guint *n_rows);
const BaseSettingRow *base_settings_row (const char *key); /* (nullable): exact key */
char *base_settings_near (const char *key);                /* as base_text_near_names(), two keys at most */

typedef struct BaseSettings BaseSettings;
BaseSettings *base_settings_new (BaseSettings *parent); /* @parent: (nullable): a reference is taken. (transfer full) */
BaseSettings *base_settings_ref (BaseSettings *settings);
void base_settings_unref (BaseSettings *settings); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BaseSettings, base_settings_unref)

/* Sets a key in this layer after checking its value against the row's type; free keys take any text.
 * Errors: SLUICE_ERROR_INVALID_CONF_VALUE; SLUICE_ERROR_CONFIG_NOT_AVAILABLE: an `engine.` key that does not exist;
 * SLUICE_ERROR_UNSUPPORTED_FEATURE. Threads: none while others read. */
gboolean base_settings_set (BaseSettings *settings, const char *key, const char *value, GError **error);
void base_settings_unset (BaseSettings *settings, const char *key);

/* Look-ups. A bad value cannot be stored, so these do not fail. Borrows live until the key is set again. */
const char *base_settings_get (BaseSettings *settings, const char *key); /* (nullable) */
gboolean base_settings_get_bool (BaseSettings *settings, const char *key);
gint64 base_settings_get_int (BaseSettings *settings, const char *key);
gint64 base_settings_get_size (BaseSettings *settings, const char *key);        /* bytes */
gint64 base_settings_get_duration_us (BaseSettings *settings, const char *key); /* microseconds */
/* Keys of all layers with their effective values, sorted. Returns: (transfer full): key, value, key, value …, NULL. */
char **base_settings_list (BaseSettings *settings);

/* Parsers behind the types, for options that are not settings. */
gboolean base_settings_parse_bool (const char *text, gboolean *value);
gboolean base_settings_parse_size (const char *text, gint64 *bytes);
gboolean base_settings_parse_duration (const char *text, gint64 *us);

G_END_DECLS

/* Which version of a table a batch read means.
 *
 * There are three places to say it: a clause (VERSION AS OF 3, t@v3), an option (versionAsOf, timestampAsOf), and the end of a path
 * (``delta.`/dir@v3` ``, ``delta.`/dir@20240131235959000` ``). One of them may be used. A directory that really is called so is a path.
 */
#include "catalog-private.h"

#include <base-error.h>
#include <base-text.h>
#include <delta-snapshot.h>
#include <delta-table.h>
#include <string.h>

#define DEFAULT_FILE_RETENTION_US (7 * G_TIME_SPAN_DAY)
#define AT_TIME_DIGITS            17 /* yyyyMMddHHmmssSSS */

typedef struct {
  gint64 version;      /* -1 = not said */
  gint64 timestamp_us; /* RELATION_NO_TIME = not said */
} Travel;

static gboolean
read_timestamp (CatalogSession *session, const char *text, Travel *travel, GError **error)
{
  gint64 value_ms;

  if (!catalog_timestamp_of (session, text, &value_ms, error))
    return FALSE;
  travel->timestamp_us = value_ms * 1000;
  return TRUE;
}

static gboolean
said_twice (GError **error)
{
  return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS,
                         "Cannot specify time travel in multiple formats.");
}

static gboolean
is_said (const Travel *travel)
{
  return travel->version >= 0 || travel->timestamp_us != RELATION_NO_TIME;
}

static gboolean
read_version_option (const char *value, Travel *travel, GError **error)
{
  if (base_text_parse_int64 (value, &travel->version) && travel->version >= 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_VERSION_INVALID, "The provided version '%s' is not a valid version.",
                  value);
  base_error_add_param (error, "version", value);
  return FALSE;
}

gboolean
catalog_batch_travel (CatalogSession *session, const RelationTableRequest *request, gint64 *version,
                      gint64 *timestamp_us, GError **error)
{
  Travel travel = { request->version, request->timestamp_us };

  for (guint i = 0; request->options != NULL && request->options[i] != NULL; i += 2) {
    const char *key = request->options[i], *value = request->options[i + 1];
    gboolean by_version = g_ascii_strcasecmp (key, "versionAsOf") == 0;
    if (g_ascii_strcasecmp (key, "readChangeFeed") == 0 || g_ascii_strcasecmp (key, "readChangeData") == 0)
      continue; /* false: catalog_asks_for_changes() has looked */
    if (!by_version && g_ascii_strcasecmp (key, "timestampAsOf") != 0) {
      base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "a batch read of a table has no option `%s`", key);
      base_error_set_hint (error,
                           "changes are read with table_changes() or readChangeFeed => true, older versions with "
                           "VERSION AS OF");
      return FALSE;
    }
    if (is_said (&travel))
      return said_twice (error);
    if (by_version ? !read_version_option (value, &travel, error) : !read_timestamp (session, value, &travel, error))
      return FALSE;
  }
  *version = travel.version;
  *timestamp_us = travel.timestamp_us;
  return TRUE;
}

/* The end of a path, cut off from @reference's location when it is one. */
static gboolean
take_path_suffix (CatalogSession *session, CatalogReference *reference, Travel *travel, GError **error)
{
  char *at = strrchr (reference->location, '@');
  const char *digits = at != NULL ? at + 1 : NULL;
  Travel found = { -1, RELATION_NO_TIME };

  if (at == NULL || g_file_test (reference->location, G_FILE_TEST_IS_DIR))
    return TRUE;
  if (digits[0] == 'v' || digits[0] == 'V') {
    if (!base_text_parse_int64 (digits + 1, &found.version) || found.version < 0)
      return TRUE;
  } else if (strlen (digits) == AT_TIME_DIGITS && strspn (digits, "0123456789") == AT_TIME_DIGITS) {
    const char *d = digits;
    g_autofree char *text =
        g_strdup_printf ("%.4s-%.2s-%.2s %.2s:%.2s:%.2s.%.3s", d, d + 4, d + 6, d + 8, d + 10, d + 12, d + 14);
    if (!read_timestamp (session, text, &found, error))
      return FALSE;
  } else {
    return TRUE;
  }
  if (is_said (travel))
    return said_twice (error);
  *at = '\0';
  *travel = found;
  return TRUE;
}

/* The setting that refuses versions whose files VACUUM may have removed. */
static gboolean
check_retention (CatalogSession *session, DeltaSnapshot *snapshot, gint64 now_us, GError **error)
{
  static const char key[] = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration";
  BaseSettings *settings = catalog_session_settings (session);

  if (now_us == 0 || settings == NULL || !base_settings_get_bool (settings, key))
    return TRUE;
  g_autoptr (DeltaSnapshot) newest = delta_table_snapshot (delta_snapshot_table (snapshot), NULL, error);
  if (newest == NULL)
    return FALSE;
  gint64 keep_us = delta_metadata_interval_us (delta_snapshot_metadata (newest), "delta.deletedFileRetentionDuration",
                                               DEFAULT_FILE_RETENTION_US);
  if (delta_snapshot_version (newest) == delta_snapshot_version (snapshot) ||
      delta_snapshot_timestamp_ms (snapshot) * 1000 >= now_us - keep_us)
    return TRUE;
  g_autofree char *version = g_strdup_printf ("%" G_GINT64_FORMAT, delta_snapshot_version (snapshot));
  base_error_set (
      error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION,
      "version %s of %s is older than delta.deletedFileRetentionDuration, so files that it needs may be gone", version,
      delta_table_location (delta_snapshot_table (snapshot)));
  base_error_add_param (error, "version", version);
  base_error_set_hint (error, "SET %s = false", key);
  return FALSE;
}

DeltaSnapshot *
catalog_travel_snapshot (CatalogSession *session, CatalogReference *reference, const RelationTableRequest *request,
                         gboolean *says_version, GError **error)
{
  Travel travel = { request->version, request->timestamp_us };
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  /* What options a stream has is its reader's business. */
  if (!request->streaming && !catalog_batch_travel (session, request, &travel.version, &travel.timestamp_us, error))
    return NULL;
  if (reference->kind == CATALOG_REFERENCE_PATH && !take_path_suffix (session, reference, &travel, error))
    return NULL;
  if (request->streaming && is_said (&travel)) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "STREAM with time travel is not supported");
    return NULL;
  }
  snapshot = catalog_session_snapshot (session, reference, travel.version, travel.timestamp_us, error);
  if (snapshot == NULL || (is_said (&travel) && !check_retention (session, snapshot, request->now_us, error)))
    return NULL;
  if (says_version != NULL)
    *says_version = is_said (&travel);
  return g_steal_pointer (&snapshot);
}

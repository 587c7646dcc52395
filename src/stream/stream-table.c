/* Options of a stream over a Delta table, and which of the two kinds it is: see stream-table.h. */
#include "stream-table.h"

#include "base-error.h"
#include "base-text.h"
#include "duck-session.h"
#include "stream-delta-private.h"

#include <string.h>

static gboolean
illegal (const char *key, const char *value, const char *wanted, GError **error)
{
  base_error_set (error, SLUICE_ERROR_DELTA_ILLEGAL_OPTION, "Invalid value '%s' for option '%s', it must be %s", value,
                  key, wanted);
  base_error_add_param (error, "name", key);
  base_error_add_param (error, "input", value);
  return FALSE;
}

static gboolean
read_starting_version (const char *value, StreamDeltaOptions *options, GError **error)
{
  if (g_ascii_strcasecmp (value, "latest") == 0) {
    options->starting_latest = TRUE;
    return TRUE;
  }
  if (!base_text_parse_int64 (value, &options->starting_version) || options->starting_version < 0)
    return illegal ("startingVersion", value, "'latest' or a version from 0", error);
  return TRUE;
}

/* `yyyy-MM-dd[ HH:mm:ss[.SSS]]`, also with `T` and a zone: what a cast to TIMESTAMP reads in the session's time zone; without a
 * session only the form matters. */
static gboolean
read_starting_timestamp (const char *value, DuckSession *session, StreamDeltaOptions *options, GError **error)
{
  g_autofree char *stripped = g_strstrip (g_strdup (value));
  g_autofree char *literal = base_text_sql_literal (stripped);
  g_autofree char *sql = g_strdup_printf ("SELECT epoch_ms(TRY_CAST(%s AS TIMESTAMP WITH TIME ZONE))", literal);
  gboolean is_null = !g_ascii_isdigit (stripped[0]);

  options->starting_timestamp_ms = 0;
  if (!is_null && session != NULL &&
      !duck_session_query_int64 (session, sql, NULL, &options->starting_timestamp_ms, &is_null, error))
    return FALSE;
  if (!is_null)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_TIMESTAMP_INVALID,
                  "The provided timestamp ('%s') cannot be converted to a timestamp", value);
  base_error_add_param (error, "expr", value);
  return FALSE;
}

static gboolean
read_regex (const char *value, StreamDeltaOptions *options, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (GRegex) regex = g_regex_new (value, G_REGEX_OPTIMIZE, 0, &failure);

  options->exclude_regex = value;
  if (regex != NULL)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_REGEX_OPT_SYNTAX_ERROR,
                  "The option 'excludeRegex' is not a regular expression: %s", failure->message);
  base_error_add_param (error, "regExpOption", value);
  return FALSE;
}

static gboolean
read_allowance (const char *key, const char *value, const char **allowance, GError **error)
{
  gint64 version;

  *allowance = value;
  return g_ascii_strcasecmp (value, "always") == 0 || (base_text_parse_int64 (value, &version) && version >= 0) ||
         illegal (key, value, "'always' or the version of the change", error);
}

static gboolean
unknown_option (const char *key, GError **error)
{
  const char *const names[] = { "skipChangeCommits",
                                "ignoreDeletes",
                                "ignoreChanges",
                                "startingVersion",
                                "startingTimestamp",
                                "readChangeFeed",
                                "maxFilesPerTrigger",
                                "maxBytesPerTrigger",
                                "excludeRegex",
                                "failOnDataLoss",
                                "schemaTrackingLocation",
                                "streamingSourceTrackingId",
                                "allowSourceColumnRename",
                                "allowSourceColumnDrop",
                                "allowSourceColumnTypeChange",
                                NULL };
  g_autofree char *near = base_text_near_names (key, names, 3);

  base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "A stream of a Delta table has no option \"%s\"", key);
  if (g_ascii_strcasecmp (key, "endingVersion") == 0 || g_ascii_strcasecmp (key, "endingTimestamp") == 0)
    base_error_set_hint (error, "a stream has no end; a batch read of the change feed has one");
  else if (near != NULL)
    base_error_set_hint (error, "did you mean %s?", near);
  return FALSE;
}

static gboolean
read_option (const char *key, const char *value, DuckSession *session, StreamDeltaOptions *options, GError **error)
{
  gboolean ignore_file_deletion = FALSE;
  const struct {
    const char *key;
    gboolean *flag;
  } flags[] = {
    { "skipChangeCommits", &options->skip_change_commits }, { "ignoreDeletes", &options->ignore_deletes },
    { "ignoreChanges", &options->ignore_changes },          { "ignoreFileDeletion", &ignore_file_deletion },
    { "readChangeFeed", &options->read_change_feed },       { "readChangeData", &options->read_change_feed },
    { "failOnDataLoss", &options->fail_on_data_loss }
  };
  const struct {
    const char *key;
    const char **text;
    gboolean is_allowance;
  } texts[] = { { "schemaTrackingLocation", &options->schema_location, FALSE },
                { "schemaLocation", &options->schema_location, FALSE },
                { "streamingSourceTrackingId", &options->tracking_id, FALSE },
                { "allowSourceColumnRename", &options->allow_rename, TRUE },
                { "allowSourceColumnDrop", &options->allow_drop, TRUE },
                { "allowSourceColumnTypeChange", &options->allow_type_change, TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    if (g_ascii_strcasecmp (flags[i].key, key) == 0) {
      if (!base_settings_parse_bool (value, flags[i].flag))
        return illegal (key, value, "true or false", error);
      options->ignore_changes = options->ignore_changes || ignore_file_deletion;
      return TRUE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (g_ascii_strcasecmp (texts[i].key, key) == 0) {
      *texts[i].text = value;
      return !texts[i].is_allowance || read_allowance (key, value, texts[i].text, error);
    }
  if (g_ascii_strcasecmp (key, "startingVersion") == 0)
    return read_starting_version (value, options, error);
  if (g_ascii_strcasecmp (key, "startingTimestamp") == 0)
    return read_starting_timestamp (value, session, options, error);
  if (g_ascii_strcasecmp (key, "maxFilesPerTrigger") == 0)
    return (base_text_parse_int64 (value, &options->max_files) && options->max_files > 0) ||
           illegal (key, value, "a positive whole number", error);
  if (g_ascii_strcasecmp (key, "maxBytesPerTrigger") == 0)
    return (base_settings_parse_size (value, &options->max_bytes) && options->max_bytes > 0) ||
           illegal (key, value, "a size such as 10g", error);
  if (g_ascii_strcasecmp (key, "excludeRegex") == 0)
    return read_regex (value, options, error);
  return unknown_option (key, error);
}

gboolean
stream_delta_options_read (const char *const *pairs, DuckSession *session, StreamDeltaOptions *options, GError **error)
{
  StreamDeltaOptions read = { .starting_version = -1, .starting_timestamp_ms = G_MININT64, .fail_on_data_loss = TRUE };
  gboolean has_files = FALSE;

  for (guint i = 0; pairs != NULL && pairs[i] != NULL && pairs[i + 1] != NULL; i += 2) {
    if (!read_option (pairs[i], pairs[i + 1], session, &read, error))
      return FALSE;
    has_files = has_files || g_ascii_strcasecmp (pairs[i], "maxFilesPerTrigger") == 0;
  }
  if ((read.starting_version >= 0 || read.starting_latest) && read.starting_timestamp_ms != G_MININT64)
    return base_error_set (error, SLUICE_ERROR_DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET,
                           "Please either provide 'startingVersion' or 'startingTimestamp'");
  if (read.schema_location != NULL && !read.fail_on_data_loss)
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION,
                           "failOnDataLoss = false does not go with schemaTrackingLocation: a schema change could be "
                           "among what is lost");
  if (!has_files)
    read.max_files = read.max_bytes > 0 ? 0 : 1000;
  *options = read;
  return TRUE;
}

gboolean
stream_table_check_options (const char *const *options, DuckSession *session, gboolean *is_feed, GError **error)
{
  StreamDeltaOptions read;

  if (!stream_delta_options_read (options, session, &read, error))
    return FALSE;
  *is_feed = read.read_change_feed;
  return TRUE;
}

StreamSource *
stream_table_new (const StreamTableRequest *request, GError **error)
{
  StreamDeltaOptions options;

  if (!stream_delta_options_read (request->options, request->session, &options, error))
    return NULL;
  if (request->no_limits)
    options.max_files = options.max_bytes = 0;
  return options.read_change_feed ? stream_feed_new (request, &options, error)
                                  : stream_delta_new (request, &options, error);
}

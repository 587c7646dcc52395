/* Offsets of streams over a Delta table: see stream-delta-private.h. The JSON is that of Spark's Delta source (cdf.md §10.8). */
#include "base-error.h"
#include "base-json.h"
#include "delta-table.h"
#include "stream-delta-private.h"

#include <string.h>

void
stream_delta_offset_clear (StreamDeltaOffset *offset)
{
  g_clear_pointer (&offset->table_id, g_free);
}

gboolean
stream_delta_offset_read (const json_t *json, StreamDeltaOffset *offset, GError **error)
{
  const char *id = base_json_string (json, "reservoirId");
  gint64 version = base_json_int64 (json, "reservoirVersion", -1);

  if (id == NULL || version < 0)
    return base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT,
                           "The offset of a Delta source is not of the expected form");
  /* Indexes below -1 mark a change of the schema: nothing of the version is read yet. */
  *offset = (StreamDeltaOffset){ g_strdup (id), version, MAX (base_json_int64 (json, "index", -1), -1),
                                 base_json_bool (json, "isStartingVersion", FALSE) };
  return TRUE;
}

json_t *
stream_delta_offset_write (const StreamDeltaOffset *offset)
{
  return json_pack ("{s:i, s:s, s:I, s:I, s:b}", "sourceVersion", 1, "reservoirId", offset->table_id,
                    "reservoirVersion", (json_int_t) offset->version, "index", (json_int_t) offset->index,
                    "isStartingVersion", offset->is_start);
}

gboolean
stream_delta_offset_first (DeltaSnapshot *snapshot, const StreamDeltaOptions *options, StreamDeltaOffset *offset,
                           GError **error)
{
  const char *id = delta_metadata_id (delta_snapshot_metadata (snapshot));
  DeltaVersion end = delta_snapshot_version (snapshot);
  DeltaVersion version = options->starting_version;

  if (options->starting_latest)
    version = end + 1;
  else if (options->starting_timestamp_ms != G_MININT64 &&
           !delta_table_version_at (delta_snapshot_table (snapshot), options->starting_timestamp_ms, DELTA_AT_OR_AFTER,
                                    FALSE, &version, error))
    return FALSE;
  if (version < 0) {
    *offset = (StreamDeltaOffset){ g_strdup (id), end, -1, TRUE };
    return TRUE;
  }
  if (options->starting_version > end)
    return base_error_set (error, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND,
                           "Cannot start at version %" G_GINT64_FORMAT ": the latest version is %" G_GINT64_FORMAT,
                           version, end);
  *offset = (StreamDeltaOffset){ g_strdup (id), version, -1, FALSE };
  return TRUE;
}

gboolean
stream_delta_offset_after (DeltaSnapshot *snapshot, const StreamDeltaOptions *options, const json_t *last,
                           StreamDeltaOffset *offset, GError **error)
{
  const char *id = delta_metadata_id (delta_snapshot_metadata (snapshot));
  g_auto (StreamDeltaOffset) read = { 0 };

  if (last == NULL)
    return stream_delta_offset_first (snapshot, options, offset, error);
  if (!stream_delta_offset_read (last, &read, error))
    return FALSE;
  if (strcmp (read.table_id, id) != 0) {
    base_error_set (error, SLUICE_ERROR_DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
                    "The streaming query was reading from an unexpected Delta table (id = '%s'). It used to read from "
                    "another Delta table "
                    "(id = '%s') according to the checkpoint",
                    id, read.table_id);
    base_error_set_hint (error,
                         "the source was made anew; a full refresh of the target starts the stream from its beginning");
    return FALSE;
  }
  *offset = read;
  read = (StreamDeltaOffset){ 0 };
  return TRUE;
}

/* ---- the initial snapshot ---- */

DeltaSnapshot *
stream_delta_snapshot_at (DeltaSnapshot *known, DeltaVersion version, BaseCancel *cancel, GError **error)
{
  if (version == delta_snapshot_version (known))
    return delta_snapshot_ref (known);
  return delta_table_snapshot_at (delta_snapshot_table (known), version, cancel, error);
}

static int
compare_files (gconstpointer a, gconstpointer b)
{
  DeltaFile *x = *(DeltaFile *const *) a;
  DeltaFile *y = *(DeltaFile *const *) b;
  gint64 time_x = delta_file_modified_ms (x), time_y = delta_file_modified_ms (y);

  if (time_x != time_y)
    return time_x < time_y ? -1 : 1;
  return strcmp (delta_file_path (x), delta_file_path (y));
}

GPtrArray *
stream_delta_start_files (DeltaSnapshot *snapshot, GRegex *exclude)
{
  GPtrArray *files = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);

  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++)
    if (!stream_delta_is_excluded (delta_snapshot_file (snapshot, i), exclude))
      g_ptr_array_add (files, delta_file_ref (delta_snapshot_file (snapshot, i)));
  g_ptr_array_sort (files, compare_files);
  return files;
}

/* ---- excluded files ---- */

gboolean
stream_delta_check_regex (const char *text, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (GRegex) regex = g_regex_new (text, G_REGEX_OPTIMIZE, 0, &failure);

  if (regex != NULL)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_REGEX_OPT_SYNTAX_ERROR,
                  "The option 'excludeRegex' is not a regular expression: %s", failure->message);
  base_error_add_param (error, "regExpOption", text);
  return FALSE;
}

GRegex *
stream_delta_exclude_new (const StreamDeltaOptions *options)
{
  return options->exclude_regex != NULL ? g_regex_new (options->exclude_regex, G_REGEX_OPTIMIZE, 0, NULL) : NULL;
}

gboolean
stream_delta_is_excluded (DeltaFile *file, GRegex *exclude)
{
  return exclude != NULL && g_regex_match (exclude, delta_file_path (file), 0, NULL);
}

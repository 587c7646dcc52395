/* The way of a stream over a Delta table: see stream-delta-private.h.
 *
 * (V0, -1, true) → files of snapshot V0 in the order of (modification time, path) → (V0+1, -1, false) → commit by commit. A
 * commit is never cut by us: it is in one batch or moves whole to the next; the first commit of a batch is always taken. Spark cuts
 * commits without deletion vectors: its offsets inside a commit are gone on from. Files are counted before excludeRegex, as there.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-table.h"
#include "stream-delta-private.h"

#include <string.h>

#define NEWEST_SOURCE_VERSION 3

void
stream_delta_offset_clear (StreamDeltaOffset *offset)
{
  g_clear_pointer (&offset->table_id, g_free);
}

void
stream_delta_batch_clear (StreamDeltaBatch *batch)
{
  g_clear_pointer (&batch->start_files, g_ptr_array_unref);
}

gboolean
stream_delta_offset_read (const json_t *json, StreamDeltaOffset *offset, GError **error)
{
  const char *id = base_json_string (json, "reservoirId");
  gint64 version = base_json_int64 (json, "reservoirVersion", -1);
  gint64 format = base_json_int64 (json, "sourceVersion", 1);
  gint64 index = base_json_int64 (json, "index", STREAM_DELTA_BASE);

  if (format > NEWEST_SOURCE_VERSION)
    return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION,
                           "Unsupported format of an offset: its version is %" G_GINT64_FORMAT ", at most %d is known",
                           format, NEWEST_SOURCE_VERSION);
  if (id == NULL || version < 0 || format < 1)
    return base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT,
                           "The offset of a Delta source is not of the expected form");
  if (index < 0 && index != STREAM_DELTA_CHANGE && index != STREAM_DELTA_POST_CHANGE)
    index = STREAM_DELTA_BASE;
  *offset = (StreamDeltaOffset){ g_strdup (id), version, index, base_json_bool (json, "isStartingVersion", FALSE) };
  return TRUE;
}

json_t *
stream_delta_offset_write (const StreamDeltaOffset *offset)
{
  return json_pack ("{s:i, s:s, s:I, s:I, s:b}", "sourceVersion", offset->index < STREAM_DELTA_BASE ? 3 : 1,
                    "reservoirId", offset->table_id, "reservoirVersion", (json_int_t) offset->version, "index",
                    (json_int_t) offset->index, "isStartingVersion", offset->is_start);
}

static void
move_to_commits (StreamDeltaOffset *offset, DeltaVersion version)
{
  offset->version = version;
  offset->index = STREAM_DELTA_BASE;
  offset->is_start = FALSE;
}

/* ---- the start ---- */

static gboolean
may_be_out_of_range (const StreamDelta *stream)
{
  return stream->settings != NULL &&
         base_settings_get_bool (stream->settings, "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled");
}

static gboolean
no_such_start (const StreamDelta *stream, DeltaVersion version, DeltaVersion earliest, DeltaVersion latest,
               GError **error)
{
  const struct {
    const char *name;
    DeltaVersion value;
  } params[] = { { "userVersion", version }, { "earliest", earliest }, { "latest", latest } };

  base_error_set (error, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND,
                  "Cannot start at version %" G_GINT64_FORMAT " of %s: its log holds versions %" G_GINT64_FORMAT
                  " to %" G_GINT64_FORMAT,
                  version, stream->base.leaf->name, earliest, latest);
  for (guint i = 0; i < G_N_ELEMENTS (params); i++) {
    g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, params[i].value);
    base_error_add_param (error, params[i].name, text);
  }
  return FALSE;
}

static gboolean
check_starting_version (const StreamDelta *stream, GError **error)
{
  DeltaVersion version = stream->options.starting_version;
  DeltaVersion earliest, latest;

  if (!delta_table_versions (stream->table, &earliest, &latest, error))
    return FALSE;
  if (version < earliest || (version > latest && !may_be_out_of_range (stream)))
    return no_such_start (stream, version, earliest, latest, error);
  return TRUE;
}

/* Where a stream starts when nothing was read yet. */
static gboolean
first_offset (const StreamDelta *stream, StreamDeltaOffset *offset, GError **error)
{
  const char *id = delta_metadata_id (delta_snapshot_metadata (stream->snapshot));
  const StreamDeltaOptions *options = &stream->options;
  DeltaVersion version = options->starting_version;

  if (options->starting_latest)
    version = stream->end + 1;
  else if (options->starting_timestamp_ms != G_MININT64) {
    if (!delta_table_version_at (stream->table, options->starting_timestamp_ms, DELTA_AT_OR_AFTER,
                                 may_be_out_of_range (stream), &version, error))
      return FALSE;
  } else if (version >= 0 && !check_starting_version (stream, error)) {
    return FALSE;
  }
  gboolean is_start = version < 0;
  *offset = (StreamDeltaOffset){ g_strdup (id), is_start ? stream->end : version, STREAM_DELTA_BASE, is_start };
  return TRUE;
}

gboolean
stream_delta_origin (StreamSource *base, json_t **offset, GError **error)
{
  g_auto (StreamDeltaOffset) first = { 0 };

  if (!first_offset ((StreamDelta *) base, &first, error))
    return FALSE;
  *offset = stream_delta_offset_write (&first);
  return TRUE;
}

static gboolean
check_table (const StreamDelta *stream, const StreamDeltaOffset *offset, GError **error)
{
  const char *id = delta_metadata_id (delta_snapshot_metadata (stream->snapshot));

  if (strcmp (offset->table_id, id) == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
                  "The streaming query was reading from an unexpected Delta table (id = '%s'). It used to read from "
                  "another Delta table (id = '%s') according to the checkpoint",
                  id, offset->table_id);
  base_error_add_param (error, "newTableId", id);
  base_error_add_param (error, "oldTableId", offset->table_id);
  base_error_set_hint (error, "the source was made anew; a full refresh of the target starts the stream from its "
                              "beginning; sluice run --reset-checkpoint FLOW, or a new checkpoint, does so and keeps "
                              "the target's rows");
  return FALSE;
}

/* @last as an offset of this table, or the first one when it is NULL. */
static gboolean
offset_after (const StreamDelta *stream, const json_t *last, StreamDeltaOffset *offset, GError **error)
{
  g_auto (StreamDeltaOffset) read = { 0 };

  if (last == NULL)
    return first_offset (stream, offset, error);
  if (!stream_delta_offset_read (last, &read, error) || !check_table (stream, &read, error))
    return FALSE;
  *offset = read;
  read = (StreamDeltaOffset){ 0 };
  return TRUE;
}

/* The log may begin after what the stream needs next: then rows are lost, and that is for the user to allow. */
static gboolean
settle_lost (StreamDelta *stream, StreamDeltaOffset *offset, GError **error)
{
  DeltaVersion earliest, latest;

  if (stream->has_begun && offset->version >= stream->earliest)
    return TRUE; /* without a look at the log for every batch */
  if (!delta_table_versions (stream->table, &earliest, &latest, error))
    return FALSE;
  if (offset->version >= earliest)
    return TRUE;
  if (!stream->options.fail_on_data_loss) {
    move_to_commits (offset, earliest);
    return TRUE;
  }
  g_autofree char *from = g_strdup_printf ("%" G_GINT64_FORMAT, offset->version);
  g_autofree char *to = g_strdup_printf ("%" G_GINT64_FORMAT, earliest);
  base_error_set (error, SLUICE_ERROR_DELTA_MISSING_FILES_UNEXPECTED_VERSION,
                  "The stream needs version %s of %s next, but its log begins at version %s", from,
                  stream->base.leaf->name, to);
  base_error_add_param (error, "startVersion", from);
  base_error_add_param (error, "earliestVersion", to);
  base_error_add_param (error, "option", "failOnDataLoss");
  base_error_set_hint (error,
                       "the log was cleaned up before the stream read it; failOnDataLoss = false goes on at version "
                       "%s without what lies in between",
                       to);
  return FALSE;
}

DeltaCommit *
stream_delta_commit (StreamDelta *stream, DeltaVersion version, GError **error)
{
  g_autoptr (GError) failure = NULL;
  DeltaCommit *commit = delta_table_commit (stream->table, version, stream->cancel, &failure);

  if (commit != NULL)
    return commit;
  if (!g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return NULL;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS,
                  "The log of %s has no version %" G_GINT64_FORMAT ", which the stream needs next",
                  stream->base.leaf->name, version);
  return NULL;
}

/* ---- the initial snapshot ---- */

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

static gboolean
load_start (StreamDelta *stream, DeltaVersion version, GError **error)
{
  if (stream->start != NULL && delta_snapshot_version (stream->start) == version)
    return TRUE;
  DeltaSnapshot *start = version == delta_snapshot_version (stream->snapshot)
                             ? delta_snapshot_ref (stream->snapshot)
                             : delta_table_snapshot_at (stream->table, version, stream->cancel, error);
  if (start == NULL)
    return FALSE;
  if (stream->schemas == NULL &&
      !stream_delta_check_metadata (stream, delta_snapshot_metadata (start), version, error)) {
    delta_snapshot_unref (start);
    return FALSE;
  }
  g_clear_pointer (&stream->start, delta_snapshot_unref);
  g_clear_pointer (&stream->start_files, g_ptr_array_unref);
  stream->start = start;
  stream->start_files = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  for (guint i = 0; i < delta_snapshot_n_files (start); i++)
    g_ptr_array_add (stream->start_files, delta_file_ref (delta_snapshot_file (start, i)));
  g_ptr_array_sort (stream->start_files, compare_files);
  return TRUE;
}

gboolean
stream_delta_is_excluded (const StreamDelta *stream, DeltaFile *file)
{
  return stream->exclude != NULL && g_regex_match (stream->exclude, delta_file_path (file), 0, NULL);
}

/* ---- planning ---- */

gboolean
stream_delta_begin (StreamSource *base, G_GNUC_UNUSED StreamProgress *progress, G_GNUC_UNUSED const json_t *last,
                    GError **error)
{
  StreamDelta *stream = (StreamDelta *) base;
  DeltaVersion latest;

  if (!delta_table_versions (stream->table, &stream->earliest, &latest, error))
    return FALSE;
  /* Rows beyond the snapshot that gave the schema may need another one: that is found when they are planned. */
  if (stream->has_begun) {
    g_autoptr (DeltaSnapshot) now = delta_table_snapshot (stream->table, stream->cancel, error);
    if (now == NULL)
      return FALSE;
    stream->end = delta_snapshot_version (now);
  }
  stream->has_begun = TRUE;
  return stream_delta_check_allowed (stream, error);
}

gboolean
stream_delta_is_full (const StreamDelta *stream, const StreamDeltaTaken *taken)
{
  return (stream->options.max_files > 0 && taken->n_files >= stream->options.max_files) ||
         (stream->options.max_bytes > 0 && taken->n_bytes >= stream->options.max_bytes);
}

static gboolean
plan_start (StreamDelta *stream, StreamDeltaOffset *offset, StreamDeltaTaken *taken, GError **error)
{
  if (!load_start (stream, offset->version, error))
    return FALSE;
  gint64 n_all = stream->start_files->len;
  while (offset->index + 1 < n_all && !stream_delta_is_full (stream, taken)) {
    DeltaFile *file = g_ptr_array_index (stream->start_files, (guint) ++offset->index);
    if (stream_delta_is_excluded (stream, file))
      continue;
    taken->n_files++;
    taken->n_bytes += delta_file_size_bytes (file);
  }
  if (offset->index + 1 >= n_all)
    move_to_commits (offset, offset->version + 1);
  return TRUE;
}

static gboolean
stands_at_barrier (const StreamDeltaOffset *offset)
{
  return offset->index == STREAM_DELTA_CHANGE || offset->index == STREAM_DELTA_POST_CHANGE;
}

/* Changes of the metadata that follow one another are tracked as one: their commits hold nothing else. */
static void
leave_barrier (const StreamDelta *stream, StreamDeltaOffset *offset)
{
  if (stream->schemas != NULL)
    offset->version = MAX (offset->version, stream->read_version);
  offset->index = STREAM_DELTA_BASE;
}

gboolean
stream_delta_plan (StreamDelta *stream, StreamDeltaPlanCommits plan_commits, const json_t *last, json_t **next,
                   gboolean *has_rows, GError **error)
{
  g_auto (StreamDeltaOffset) offset = { 0 };
  StreamDeltaTaken taken = { 0 };

  if (!offset_after (stream, last, &offset, error))
    return FALSE;
  g_autoptr (json_t) before = stream_delta_offset_write (&offset);
  if (stands_at_barrier (&offset)) {
    if (!stream_delta_pass_barrier (stream, offset.version, error))
      return FALSE;
    leave_barrier (stream, &offset);
  }
  if (offset.is_start && !plan_start (stream, &offset, &taken, error))
    return FALSE;
  if (!offset.is_start && !stream_delta_is_full (stream, &taken)) {
    if (!settle_lost (stream, &offset, error) || !plan_commits (stream, &offset, &taken, error))
      return FALSE;
  }
  g_autoptr (json_t) after = stream_delta_offset_write (&offset);
  *has_rows = taken.n_files > 0;
  *next = last != NULL && json_equal (before, after) ? NULL : g_steal_pointer (&after);
  return TRUE;
}

gboolean
stream_delta_plan_ahead (StreamDelta *stream, StreamDeltaPlanCommits plan_commits, const json_t *last, json_t **next,
                         gboolean *has_rows, GError **error)
{
  g_auto (StreamDeltaOffset) offset = { 0 };
  guint64 n_skipped = stream->base.n_skipped;

  *next = NULL;
  *has_rows = FALSE;
  if (!offset_after (stream, last, &offset, error))
    return FALSE;
  if (stands_at_barrier (&offset)) /* whose schema is tracked in passing */
    return TRUE;
  gboolean good = stream_delta_plan (stream, plan_commits, last, next, has_rows, error);
  stream->base.n_skipped = n_skipped;
  return good;
}

/* ---- showing ---- */

static void
collect_start (StreamDelta *stream, gint64 begin, gint64 end, GPtrArray *files)
{
  for (gint64 i = MAX (begin, 0); i < MIN (end, (gint64) stream->start_files->len); i++) {
    DeltaFile *file = g_ptr_array_index (stream->start_files, (guint) i);
    if (!stream_delta_is_excluded (stream, file))
      g_ptr_array_add (files, delta_file_ref (file));
  }
}

/* Where the first batch began: its end tells the snapshot, the options tell a version. */
static gboolean
first_begin (const StreamDelta *stream, const StreamDeltaOffset *to, StreamDeltaOffset *from, GError **error)
{
  if (!first_offset (stream, from, error))
    return FALSE;
  if (from->is_start)
    from->version = to->is_start ? to->version : to->version - 1;
  return TRUE;
}

gboolean
stream_delta_batch (StreamDelta *stream, const json_t *last, const json_t *next, StreamDeltaBatch *batch,
                    GError **error)
{
  g_auto (StreamDeltaOffset) from = { 0 };
  g_auto (StreamDeltaOffset) to = { 0 };

  if (next == NULL || (last != NULL && json_equal (last, next)))
    return TRUE;
  /* A batch that was planned for a table that is gone must not read the versions of another one. */
  if (!stream_delta_offset_read (next, &to, error) || !check_table (stream, &to, error))
    return FALSE;
  if (last != NULL ? !stream_delta_offset_read (last, &from, error) : !first_begin (stream, &to, &from, error))
    return FALSE;
  if (from.is_start) {
    if (!load_start (stream, from.version, error))
      return FALSE;
    batch->start_files = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
    collect_start (stream, from.index + 1, to.is_start ? to.index + 1 : G_MAXINT64, batch->start_files);
    if (to.is_start)
      return TRUE;
    move_to_commits (&from, from.version + 1);
  }
  if (stands_at_barrier (&from))
    leave_barrier (stream, &from);
  if (from.version > to.version || (from.version == to.version && from.index >= to.index))
    return TRUE;
  if (!settle_lost (stream, &from, error))
    return FALSE;
  batch->from = from.version;
  batch->n_skipped = MAX (from.index, -1) + 1;
  batch->to = MAX (to.version, from.version);
  batch->n_last = MAX (to.index, -1) + 1;
  return TRUE;
}

StreamBacklog
stream_delta_backlog (StreamSource *base, const json_t *last)
{
  StreamDelta *stream = (StreamDelta *) base;
  g_auto (StreamDeltaOffset) offset = { 0 };

  if (last != NULL && stream_delta_offset_read (last, &offset, NULL) && !offset.is_start &&
      offset.version > stream->end)
    return (StreamBacklog){ .bytes = 0, .files = 0, .records = -1 };
  return (StreamBacklog){ .bytes = -1, .files = -1, .records = -1 };
}

/* ---- the object ---- */

gboolean
stream_delta_init (StreamDelta *stream, const StreamTableRequest *request, const StreamDeltaOptions *options,
                   GError **error)
{
  const char *allow[] = { options->allow_rename, options->allow_drop, options->allow_type_change };

  stream->base.index = request->index;
  stream->base.keep_from = G_MAXINT64;
  stream->table = delta_table_ref (delta_snapshot_table (request->snapshot));
  stream->snapshot = delta_snapshot_ref (request->snapshot);
  stream->metadata = delta_metadata_ref (delta_snapshot_metadata (request->snapshot));
  stream->read_version = delta_snapshot_version (request->snapshot);
  stream->end = stream->read_version;
  stream->options = *options;
  for (guint i = 0; i < G_N_ELEMENTS (allow); i++)
    stream->allow[i] = g_strdup (allow[i]);
  if (options->exclude_regex != NULL)
    stream->exclude = g_regex_new (options->exclude_regex, G_REGEX_OPTIMIZE, 0, NULL);
  stream->settings = request->settings != NULL ? base_settings_ref (request->settings) : NULL;
  stream->cancel = base_cancel_ref (request->cancel);
  if (options->schema_location != NULL && request->progress != NULL &&
      stream_progress_run_id (request->progress) != NULL && !stream_delta_track (stream, request, options, error))
    return FALSE;
  stream->options.exclude_regex = stream->options.schema_location = stream->options.tracking_id = NULL;
  stream->options.allow_rename = stream->options.allow_drop = stream->options.allow_type_change = NULL;
  return TRUE;
}

void
stream_delta_clear (StreamDelta *stream)
{
  relation_source_unref (stream->base.leaf);
  g_clear_pointer (&stream->start, delta_snapshot_unref);
  g_clear_pointer (&stream->start_files, g_ptr_array_unref);
  g_clear_pointer (&stream->exclude, g_regex_unref);
  for (guint i = 0; i < G_N_ELEMENTS (stream->allow); i++)
    g_free (stream->allow[i]);
  stream_schema_log_free (stream->schemas);
  base_settings_unref (stream->settings);
  base_cancel_unref (stream->cancel);
  delta_metadata_unref (stream->metadata);
  delta_snapshot_unref (stream->snapshot);
  delta_table_unref (stream->table);
}

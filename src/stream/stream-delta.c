/* A Delta table as a stream: see stream-delta.h.
 *
 * The way of an offset: (V0, -1, true) → files of snapshot V0 in the order of (modification time, path) → (V0+1, -1, false) → commit by
 * commit. A commit is never cut: it is in one batch or moves whole to the next; the first commit of a batch is always taken.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-settings.h"
#include "base-text.h"
#include "delta-scan.h"
#include "delta-table.h"
#include "stream-delta-private.h"

#include <string.h>

typedef struct {
  RelationSource base;
  DeltaSnapshot *snapshot; /* of the batch shown: names the schema */
  GPtrArray *inputs;       /* (nullable): DeltaFile of the batch shown */
  BaseCancel *cancel;
} DeltaLeaf;

typedef struct {
  StreamSource base;
  DeltaTable *table;
  DeltaSnapshot *snapshot; /* whose schema the leaf has */
  StreamDeltaOptions options;
  GRegex *exclude; /* (nullable) */
  BaseCancel *cancel;
  DeltaVersion end;       /* fixed at begin */
  GPtrArray *start_files; /* of the initial snapshot, in reading order */
  DeltaVersion start_version;
} DeltaStream;

/* ---- options ---- */

static gboolean
illegal (const char *key, const char *value, const char *wanted, GError **error)
{
  return base_error_set (error, SLUICE_ERROR_DELTA_ILLEGAL_OPTION, "Invalid value '%s' for option '%s', it must be %s",
                         value, key, wanted);
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

static gboolean
read_starting_timestamp (const char *value, StreamDeltaOptions *options, GError **error)
{
  g_autofree char *full = strlen (value) == 10 ? g_strconcat (value, "T00:00:00", NULL) : g_strdup (value);
  if (strlen (full) > 10 && full[10] == ' ')
    full[10] = 'T';
  gboolean has_zone = strlen (full) > 11 && strpbrk (full + 11, "Z+-") != NULL;
  g_autofree char *zoned = g_strconcat (full, has_zone ? "" : "Z", NULL);
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (zoned, NULL);
  if (date == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_TIMESTAMP_INVALID,
                           "The provided timestamp ('%s') cannot be converted to a timestamp", value);
  options->starting_timestamp_ms = g_date_time_to_unix (date) * 1000 + g_date_time_get_microsecond (date) / 1000;
  return TRUE;
}

static gboolean
read_option (const char *key, const char *value, StreamDeltaOptions *options, GError **error)
{
  const struct {
    const char *key;
    gboolean *flag;
  } flags[] = {
    { "skipChangeCommits", &options->skip_change_commits }, { "ignoreDeletes", &options->ignore_deletes },
    { "ignoreChanges", &options->ignore_changes },          { "readChangeFeed", &options->read_change_feed },
    { "readChangeData", &options->read_change_feed },       { "failOnDataLoss", &options->fail_on_data_loss }
  };

  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    if (g_ascii_strcasecmp (flags[i].key, key) == 0)
      return base_settings_parse_bool (value, flags[i].flag) || illegal (key, value, "true or false", error);
  if (g_ascii_strcasecmp (key, "startingVersion") == 0)
    return read_starting_version (value, options, error);
  if (g_ascii_strcasecmp (key, "startingTimestamp") == 0)
    return read_starting_timestamp (value, options, error);
  if (g_ascii_strcasecmp (key, "maxFilesPerTrigger") == 0)
    return (base_text_parse_int64 (value, &options->max_files) && options->max_files > 0) ||
           illegal (key, value, "a positive whole number", error);
  if (g_ascii_strcasecmp (key, "maxBytesPerTrigger") == 0)
    return (base_settings_parse_size (value, &options->max_bytes) && options->max_bytes > 0) ||
           illegal (key, value, "a size such as 10g", error);
  if (g_ascii_strcasecmp (key, "excludeRegex") == 0) {
    options->exclude_regex = value;
    return stream_delta_check_regex (value, error);
  }
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
                                NULL };
  base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "A stream of a Delta table has no option \"%s\"", key);
  g_autofree char *near = base_text_near_names (key, names, 3);
  if (near != NULL)
    base_error_set_hint (error, "did you mean %s?", near);
  return FALSE;
}

gboolean
stream_delta_options_read (const char *const *pairs, StreamDeltaOptions *options, GError **error)
{
  StreamDeltaOptions read = { .starting_version = -1, .starting_timestamp_ms = G_MININT64, .fail_on_data_loss = TRUE };
  gboolean has_files = FALSE;

  for (guint i = 0; pairs != NULL && pairs[i] != NULL && pairs[i + 1] != NULL; i += 2) {
    if (!read_option (pairs[i], pairs[i + 1], &read, error))
      return FALSE;
    has_files = has_files || g_ascii_strcasecmp (pairs[i], "maxFilesPerTrigger") == 0;
  }
  if ((read.starting_version >= 0 || read.starting_latest) && read.starting_timestamp_ms != G_MININT64)
    return base_error_set (error, SLUICE_ERROR_DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET,
                           "Please either provide 'startingVersion' or 'startingTimestamp'");
  if (!has_files)
    read.max_files = read.max_bytes > 0 ? 0 : 1000;
  *options = read;
  return TRUE;
}

/* ---- what a commit gives ---- */

static gboolean
refuse_reset (DeltaStream *stream, DeltaCommit *commit, GError **error)
{
  const char *operation = base_json_string (delta_commit_info (commit), "operation");

  if (g_strcmp0 (operation, "FULL REFRESH") != 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
                  "The table %s was reset by a full refresh in version %" G_GINT64_FORMAT, stream->base.leaf->name,
                  delta_commit_version (commit));
  base_error_set_hint (
      error,
      "what was read before is no longer there; a full refresh of the target reads the source from its beginning");
  return FALSE;
}

static gboolean
refuse_change (DeltaStream *stream, DeltaCommit *commit, gboolean has_adds, GError **error)
{
  SluiceError code =
      has_adds ? SLUICE_ERROR_DELTA_SOURCE_TABLE_IGNORE_CHANGES : SLUICE_ERROR_DELTA_SOURCE_IGNORE_DELETE;

  base_error_set (error, code,
                  "Detected %s in the source table %s at version %" G_GINT64_FORMAT
                  ", which a stream of appended rows cannot show",
                  has_adds ? "a data update" : "deleted data", stream->base.leaf->name, delta_commit_version (commit));
  base_error_set_hint (
      error,
      "read the change feed (readChangeFeed => 'true'), or leave such commits out (skipChangeCommits => 'true')%s",
      has_adds ? "" : ", or pass whole-partition deletes (ignoreDeletes => 'true')");
  return FALSE;
}

/* The files that a commit appends to the stream; (transfer container), borrowed from the commit. */
static GPtrArray *
commit_files (DeltaStream *stream, DeltaCommit *commit, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  gboolean removes = FALSE;

  if (!refuse_reset (stream, commit, error))
    return NULL;
  for (guint i = 0; i < delta_commit_n_actions (commit); i++) {
    const DeltaAction *action = delta_commit_action (commit, i);
    if ((action->kind != DELTA_ACTION_ADD && action->kind != DELTA_ACTION_REMOVE) ||
        stream_delta_is_excluded (action->file, stream->exclude))
      continue;
    if (action->kind == DELTA_ACTION_ADD && delta_file_data_change (action->file))
      g_ptr_array_add (files, action->file);
    removes = removes || (action->kind == DELTA_ACTION_REMOVE && delta_file_data_change (action->file));
  }
  if (!removes)
    return g_steal_pointer (&files);
  if (stream->options.skip_change_commits) {
    g_ptr_array_set_size (files, 0);
    return g_steal_pointer (&files);
  }
  if (stream->options.ignore_changes || (stream->options.ignore_deletes && files->len == 0))
    return g_steal_pointer (&files);
  refuse_change (stream, commit, files->len > 0, error);
  return NULL;
}

/* A schema that the leaf does not have cannot be read through it: the flow starts again with the new one. */
static gboolean
check_schema (DeltaStream *stream, DeltaCommit *commit, GError **error)
{
  DeltaMetadata *metadata = delta_commit_metadata (commit);

  if (metadata == NULL)
    return TRUE;
  BaseType *known = delta_snapshot_schema (stream->snapshot);
  BaseType *schema = delta_metadata_schema (metadata);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    int at = base_type_field_index (known, field->name, TRUE);
    if (at >= 0 &&
        base_type_equal (base_type_field (known, (guint) at)->type, field->type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
      continue;
    return base_error_set (error, SLUICE_ERROR_DELTA_SCHEMA_CHANGED_WITH_VERSION,
                           "The schema of %s changed in version %" G_GINT64_FORMAT
                           ": the column \"%s\" is new or has another type",
                           stream->base.leaf->name, delta_commit_version (commit), field->name);
  }
  return TRUE;
}

static DeltaCommit *
read_commit (DeltaStream *stream, DeltaVersion version, GError **error)
{
  g_autoptr (GError) failure = NULL;
  DeltaCommit *commit = delta_table_commit (stream->table, version, stream->cancel, &failure);

  if (commit != NULL)
    return commit;
  if (strcmp (base_error_condition (failure), "DELTA_VERSION_NOT_FOUND") == 0) {
    base_error_set (error, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED,
                    "The log of %s no longer holds version %" G_GINT64_FORMAT ", which the stream needs next",
                    stream->base.leaf->name, version);
    base_error_set_hint (error,
                         "the log was cleaned up; a full refresh of the target reads the source from its beginning");
  } else {
    g_propagate_error (error, g_steal_pointer (&failure));
  }
  return NULL;
}

/* ---- the initial snapshot ---- */

static gboolean
load_start (DeltaStream *stream, DeltaVersion version, GError **error)
{
  if (stream->start_files != NULL && stream->start_version == version)
    return TRUE;
  g_autoptr (DeltaSnapshot) snapshot = stream_delta_snapshot_at (stream->snapshot, version, stream->cancel, error);
  if (snapshot == NULL)
    return FALSE;
  g_clear_pointer (&stream->start_files, g_ptr_array_unref);
  stream->start_files = stream_delta_start_files (snapshot, stream->exclude);
  stream->start_version = version;
  return TRUE;
}

/* ---- planning ---- */

typedef struct {
  gint64 n_files;
  gint64 n_bytes;
} Taken;

static gboolean
is_full (const DeltaStream *stream, const Taken *taken)
{
  return (stream->options.max_files > 0 && taken->n_files >= stream->options.max_files) ||
         (stream->options.max_bytes > 0 && taken->n_bytes >= stream->options.max_bytes);
}

static gboolean
plan_start (DeltaStream *stream, StreamDeltaOffset *offset, Taken *taken, GError **error)
{
  if (!load_start (stream, offset->version, error))
    return FALSE;
  while (offset->index + 1 < (gint64) stream->start_files->len && !is_full (stream, taken)) {
    offset->index++;
    taken->n_files++;
    taken->n_bytes += delta_file_size_bytes (g_ptr_array_index (stream->start_files, (guint) offset->index));
  }
  if (offset->index + 1 >= (gint64) stream->start_files->len) {
    offset->version++;
    offset->index = -1;
    offset->is_start = FALSE;
  }
  return TRUE;
}

static gboolean
plan_commits (DeltaStream *stream, StreamDeltaOffset *offset, Taken *taken, GError **error)
{
  while (offset->version <= stream->end) {
    g_autoptr (DeltaCommit) commit = read_commit (stream, offset->version, error);
    if (commit == NULL || !check_schema (stream, commit, error))
      return FALSE;
    g_autoptr (GPtrArray) files = commit_files (stream, commit, error);
    if (files == NULL)
      return FALSE;
    gint64 bytes = 0;
    for (guint i = 0; i < files->len; i++)
      bytes += delta_file_size_bytes (g_ptr_array_index (files, i));
    Taken with = { taken->n_files + files->len, taken->n_bytes + bytes };
    gboolean too_many = stream->options.max_files > 0 && with.n_files > stream->options.max_files;
    if (taken->n_files > 0 && files->len > 0 && (too_many || is_full (stream, taken)))
      return TRUE;
    *taken = with;
    offset->version++;
  }
  return TRUE;
}

static gboolean
delta_begin (StreamSource *base, G_GNUC_UNUSED StreamProgress *progress, G_GNUC_UNUSED const json_t *last,
             G_GNUC_UNUSED GError **error)
{
  DeltaStream *stream = (DeltaStream *) base;

  /* The snapshot that gave the schema also fixes the end: rows beyond it may need a schema that the leaf does not have. */
  stream->end = delta_snapshot_version (stream->snapshot);
  return TRUE;
}

static gboolean
delta_plan (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  DeltaStream *stream = (DeltaStream *) base;
  g_auto (StreamDeltaOffset) offset = { 0 };
  Taken taken = { 0 };

  if (!stream_delta_offset_after (stream->snapshot, &stream->options, last, &offset, error))
    return FALSE;
  g_autoptr (json_t) before = stream_delta_offset_write (&offset);
  if (offset.is_start && !plan_start (stream, &offset, &taken, error))
    return FALSE;
  if (!offset.is_start && !is_full (stream, &taken) && !plan_commits (stream, &offset, &taken, error))
    return FALSE;
  g_autoptr (json_t) after = stream_delta_offset_write (&offset);
  *has_rows = taken.n_files > 0;
  *next = last != NULL && json_equal (before, after) ? NULL : g_steal_pointer (&after);
  return TRUE;
}

/* ---- showing ---- */

static void
add_range (GPtrArray *inputs, GPtrArray *files, guint from, guint to)
{
  for (guint i = from; i < to && i < files->len; i++)
    g_ptr_array_add (inputs, delta_file_ref (g_ptr_array_index (files, i)));
}

/* Files of the commits @from … @to - 1, as planned; the same commits give the same files at a repeat. */
static gboolean
add_commits (DeltaStream *stream, GPtrArray *inputs, DeltaVersion from, DeltaVersion to, GError **error)
{
  for (DeltaVersion version = from; version < to; version++) {
    g_autoptr (DeltaCommit) commit = read_commit (stream, version, error);
    if (commit == NULL)
      return FALSE;
    g_autoptr (GPtrArray) files = commit_files (stream, commit, error);
    if (files == NULL)
      return FALSE;
    add_range (inputs, files, 0, files->len);
  }
  return TRUE;
}

static gboolean
delta_show (StreamSource *base, const json_t *last, const json_t *next, GError **error)
{
  DeltaStream *stream = (DeltaStream *) base;
  DeltaLeaf *leaf = (DeltaLeaf *) base->leaf;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  g_auto (StreamDeltaOffset) from = { 0 };
  g_auto (StreamDeltaOffset) to = { 0 };

  if (next != NULL && !(last != NULL && json_equal (last, next))) {
    if (!stream_delta_offset_read (next, &to, error))
      return FALSE;
    if (last == NULL) {
      /* The start is told by the end: the snapshot that was read first, or the commits from the starting version on. */
      if (!stream_delta_offset_first (stream->snapshot, &stream->options, &from, error))
        return FALSE;
      if (from.is_start)
        from.version = to.is_start ? to.version : MIN (from.version, to.version - 1);
    } else if (!stream_delta_offset_read (last, &from, error)) {
      return FALSE;
    }
    DeltaVersion commits_from = from.version;
    if (from.is_start) {
      if (!load_start (stream, from.version, error))
        return FALSE;
      guint end = to.is_start ? (guint) (to.index + 1) : stream->start_files->len;
      add_range (inputs, stream->start_files, (guint) (from.index + 1), end);
      commits_from = from.version + 1;
    }
    if (!to.is_start && !add_commits (stream, inputs, commits_from, to.version, error))
      return FALSE;
  }
  g_clear_pointer (&leaf->inputs, g_ptr_array_unref);
  leaf->inputs = g_steal_pointer (&inputs);
  return TRUE;
}

static StreamBacklog
delta_backlog (StreamSource *base, const json_t *last)
{
  DeltaStream *stream = (DeltaStream *) base;
  StreamBacklog backlog = { .bytes = 0, .files = 0, .records = -1 };
  g_auto (StreamDeltaOffset) offset = { 0 };

  if (last != NULL && stream_delta_offset_read (last, &offset, NULL) && !offset.is_start &&
      offset.version > stream->end)
    return backlog;
  return (StreamBacklog){ .bytes = -1, .files = -1, .records = -1 };
}

/* ---- the leaf ---- */

static gboolean
leaf_scan (RelationSource *base, const RelationScan *scan, RelationText *out, GError **error)
{
  DeltaLeaf *leaf = (DeltaLeaf *) base;
  guint n_inputs = leaf->inputs != NULL ? leaf->inputs->len : 0;
  g_autofree DeltaScanInput *inputs = g_new0 (DeltaScanInput, n_inputs + 1);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, scan->n_columns + 1);

  for (guint i = 0; i < n_inputs; i++)
    inputs[i] = (DeltaScanInput){ .file = g_ptr_array_index (leaf->inputs, i), .rows = DELTA_SCAN_LIVE };
  for (guint i = 0; i < scan->n_columns; i++)
    columns[i] = (DeltaScanColumn){ scan->columns[i], scan->names[i] };
  DeltaScanRequest request = { .columns = columns,
                               .n_columns = scan->n_columns,
                               .row_number_name = scan->n_columns == 0 ? "one" : NULL,
                               .inputs = inputs,
                               .n_inputs = n_inputs,
                               .explicit_inputs = TRUE };
  DeltaScan *text = delta_scan_new (leaf->snapshot, &request, leaf->cancel, error);
  if (text == NULL)
    return FALSE;
  g_string_append (relation_text_sql (out), delta_scan_sql (text));
  relation_text_hold (out, text, (GDestroyNotify) delta_scan_unref);
  return TRUE;
}

static void
leaf_free (RelationSource *base)
{
  DeltaLeaf *leaf = (DeltaLeaf *) base;

  delta_snapshot_unref (leaf->snapshot);
  g_clear_pointer (&leaf->inputs, g_ptr_array_unref);
  base_cancel_unref (leaf->cancel);
  relation_source_clear (base);
  g_free (leaf);
}

static const RelationSourceClass leaf_class = { leaf_scan, leaf_free };

static void
delta_free (StreamSource *base)
{
  DeltaStream *stream = (DeltaStream *) base;

  delta_table_unref (stream->table);
  delta_snapshot_unref (stream->snapshot);
  base_cancel_unref (stream->cancel);
  g_clear_pointer (&stream->start_files, g_ptr_array_unref);
  g_clear_pointer (&stream->exclude, g_regex_unref);
  relation_source_unref (base->leaf);
  g_free (stream);
}

static const StreamSourceClass delta_class = {
  .begin = delta_begin, .plan = delta_plan, .show = delta_show, .backlog = delta_backlog, .free = delta_free
};

StreamSource *
stream_delta_new (guint index, const char *name, DeltaSnapshot *snapshot, const StreamDeltaOptions *options,
                  BaseCancel *cancel)
{
  DeltaStream *stream = g_new0 (DeltaStream, 1);
  DeltaLeaf *leaf = g_new0 (DeltaLeaf, 1);

  relation_source_init (&leaf->base, &leaf_class, name, delta_snapshot_schema (snapshot), NULL, TRUE);
  leaf->snapshot = delta_snapshot_ref (snapshot);
  leaf->cancel = base_cancel_ref (cancel);
  stream->base = (StreamSource){ &delta_class, &leaf->base, index, G_MAXINT64 };
  stream->table = delta_table_ref (delta_snapshot_table (snapshot));
  stream->snapshot = delta_snapshot_ref (snapshot);
  stream->options = *options;
  stream->options.exclude_regex = NULL; /* only borrowed */
  stream->exclude = stream_delta_exclude_new (options);
  stream->cancel = base_cancel_ref (cancel);
  return &stream->base;
}

/* The rows that a Delta table was appended: what each commit adds, see stream-delta-private.h for the way over them. */
#include "base-error.h"
#include "base-json.h"
#include "delta-scan.h"
#include "delta-table.h"
#include "stream-delta-private.h"

#include <string.h>

typedef struct {
  RelationSource base;
  DeltaSnapshot *snapshot; /* any of the table: names it to scans */
  DeltaMetadata *metadata; /* whose schema the leaf has */
  GPtrArray *inputs;       /* (nullable): DeltaFile of the batch shown */
  BaseCancel *cancel;
} DeltaLeaf;

typedef struct {
  StreamDelta delta;
  gboolean start_is_checked; /* the schema in force where this run began fits the leaf's */
} DeltaStream;

/* ---- what a commit gives ---- */

static gboolean
refuse_reset (const StreamDelta *stream, DeltaCommit *commit, GError **error)
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
refuse_change (const StreamDelta *stream, DeltaCommit *commit, const char *removed, gboolean has_adds, GError **error)
{
  const char *operation = base_json_string (delta_commit_info (commit), "operation");
  g_autofree char *version = g_strdup_printf ("%" G_GINT64_FORMAT, delta_commit_version (commit));
  g_autofree char *example =
      has_adds && operation != NULL ? g_strdup_printf ("%s, operation %s", removed, operation) : g_strdup (removed);

  if (has_adds)
    base_error_set (error, SLUICE_ERROR_DELTA_SOURCE_TABLE_IGNORE_CHANGES,
                    "Detected a data update (for example %s) in the source table %s at version %s, which a stream of "
                    "appended rows cannot show",
                    example, stream->base.leaf->name, version);
  else
    base_error_set (error, SLUICE_ERROR_DELTA_SOURCE_IGNORE_DELETE,
                    "Detected deleted data (for example %s) from the streaming source %s at version %s, which a stream "
                    "of appended rows cannot show",
                    example, stream->base.leaf->name, version);
  base_error_add_param (error, has_adds ? "changeInfo" : "removedFile", example);
  base_error_add_param (error, "version", version);
  base_error_add_param (error, "dataPath", delta_table_location (stream->table));
  base_error_set_hint (
      error, "read the change feed (readChangeFeed = true), or leave such commits out (skipChangeCommits = true)%s",
      has_adds ? "" : ", or pass deletes (ignoreDeletes = true)");
  return FALSE;
}

/* The files that a commit appends to the stream, in its order, excluded ones too; none of one that an option leaves out, which
 * @is_skipped says. (transfer container), borrowed from the commit. */
static GPtrArray *
commit_files (const StreamDelta *stream, DeltaCommit *commit, gboolean *is_skipped, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  const char *removed = NULL;

  *is_skipped = FALSE;
  if (!refuse_reset (stream, commit, error))
    return NULL;
  for (guint i = 0; i < delta_commit_n_actions (commit); i++) {
    const DeltaAction *action = delta_commit_action (commit, i);
    if ((action->kind != DELTA_ACTION_ADD && action->kind != DELTA_ACTION_REMOVE) ||
        !delta_file_data_change (action->file))
      continue;
    if (action->kind == DELTA_ACTION_ADD)
      g_ptr_array_add (files, action->file);
    else if (removed == NULL && !stream_delta_is_excluded (stream, action->file))
      removed = delta_file_path (action->file);
  }
  if (removed == NULL)
    return g_steal_pointer (&files);
  if (stream->options.skip_change_commits) {
    g_ptr_array_set_size (files, 0);
    *is_skipped = TRUE;
    return g_steal_pointer (&files);
  }
  if (stream->options.ignore_changes || (stream->options.ignore_deletes && files->len == 0))
    return g_steal_pointer (&files);
  refuse_change (stream, commit, removed, files->len > 0, error);
  return NULL;
}

/* ---- planning ---- */

/* The first version behind @from, up to the end, that sets metadata; DELTA_VERSION_NONE = none. */
static gboolean
next_metadata (StreamDelta *stream, DeltaVersion from, DeltaVersion *version, GError **error)
{
  *version = DELTA_VERSION_NONE;
  for (DeltaVersion at = from; at <= stream->end; at++) {
    g_autoptr (DeltaCommit) commit = stream_delta_commit (stream, at, error);
    if (commit == NULL)
      return FALSE;
    if (delta_commit_metadata (commit) != NULL) {
      *version = at;
      return TRUE;
    }
  }
  return TRUE;
}

/* What was in force where the run begins must fit, too. Only a change on the way makes it another schema than the one now. */
static gboolean
check_start (DeltaStream *self, DeltaVersion from, GError **error)
{
  StreamDelta *stream = &self->delta;
  DeltaVersion changed;

  if (self->start_is_checked || stream->schemas != NULL || from > stream->end)
    return TRUE;
  if (!next_metadata (stream, from, &changed, error))
    return FALSE;
  if (changed > from) {
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot_at (stream->table, from, stream->cancel, error);
    if (snapshot == NULL || !stream_delta_check_metadata (stream, delta_snapshot_metadata (snapshot), from, error))
      return FALSE;
  }
  self->start_is_checked = TRUE;
  return TRUE;
}

/* What the files of a commit from @n_skipped on add to the batch. */
static StreamDeltaTaken
weigh (const StreamDelta *stream, const GPtrArray *files, gint64 n_skipped)
{
  StreamDeltaTaken weight = { 0 };

  for (gint64 i = n_skipped; i < (gint64) files->len; i++) {
    DeltaFile *file = g_ptr_array_index (files, (guint) i);
    if (stream_delta_is_excluded (stream, file))
      continue;
    weight.n_files++;
    weight.n_bytes += delta_file_size_bytes (file);
  }
  return weight;
}

static gboolean
plan_commits (StreamDelta *stream, StreamDeltaOffset *offset, StreamDeltaTaken *taken, GError **error)
{
  if (!check_start ((DeltaStream *) stream, offset->version, error))
    return FALSE;
  while (offset->version <= stream->end) {
    gboolean is_barrier = FALSE, is_skipped;
    g_autoptr (DeltaCommit) commit = stream_delta_commit (stream, offset->version, error);
    if (commit == NULL || !stream_delta_check_commit (stream, commit, &is_barrier, error))
      return FALSE;
    if (is_barrier) {
      offset->index = STREAM_DELTA_CHANGE;
      return TRUE;
    }
    g_autoptr (GPtrArray) files = commit_files (stream, commit, &is_skipped, error);
    if (files == NULL)
      return FALSE;
    stream->base.n_skipped += is_skipped ? 1 : 0;
    StreamDeltaTaken weight = weigh (stream, files, MAX (offset->index, -1) + 1);
    gboolean too_many = stream->options.max_files > 0 && taken->n_files + weight.n_files > stream->options.max_files;
    if (taken->n_files > 0 && weight.n_files > 0 && (too_many || stream_delta_is_full (stream, taken)))
      return TRUE;
    taken->n_files += weight.n_files;
    taken->n_bytes += weight.n_bytes;
    offset->version++;
    offset->index = STREAM_DELTA_BASE;
  }
  return TRUE;
}

static gboolean
delta_plan (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  return stream_delta_plan ((StreamDelta *) base, plan_commits, last, next, has_rows, error);
}

static gboolean
delta_plan_ahead (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  return stream_delta_plan_ahead ((StreamDelta *) base, plan_commits, last, next, has_rows, error);
}

/* ---- showing ---- */

static gboolean
add_commit (StreamDelta *stream, GPtrArray *inputs, DeltaVersion version, gint64 begin, gint64 end, GError **error)
{
  gboolean is_skipped;
  g_autoptr (DeltaCommit) commit = stream_delta_commit (stream, version, error);
  g_autoptr (GPtrArray) files = commit != NULL ? commit_files (stream, commit, &is_skipped, error) : NULL;

  if (files == NULL)
    return FALSE;
  for (gint64 i = begin; i < MIN (end, (gint64) files->len); i++) {
    DeltaFile *file = g_ptr_array_index (files, (guint) i);
    if (!stream_delta_is_excluded (stream, file))
      g_ptr_array_add (inputs, delta_file_ref (file));
  }
  return TRUE;
}

/* The same commits give the same files at a repeat. */
static gboolean
delta_show (StreamSource *base, const json_t *last, const json_t *next, GError **error)
{
  StreamDelta *stream = (StreamDelta *) base;
  DeltaLeaf *leaf = (DeltaLeaf *) base->leaf;
  g_auto (StreamDeltaBatch) batch = { 0 };

  if (!stream_delta_batch (stream, last, next, &batch, error))
    return FALSE;
  g_autoptr (GPtrArray) inputs = batch.start_files != NULL
                                     ? g_ptr_array_ref (batch.start_files)
                                     : g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  for (DeltaVersion version = batch.from; version < batch.to; version++)
    if (!add_commit (stream, inputs, version, version == batch.from ? batch.n_skipped : 0, G_MAXINT64, error))
      return FALSE;
  if (batch.n_last > 0 &&
      !add_commit (stream, inputs, batch.to, batch.from == batch.to ? batch.n_skipped : 0, batch.n_last, error))
    return FALSE;
  g_clear_pointer (&leaf->inputs, g_ptr_array_unref);
  leaf->inputs = g_steal_pointer (&inputs);
  return TRUE;
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
                               .explicit_inputs = TRUE,
                               .metadata = leaf->metadata };
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
  delta_metadata_unref (leaf->metadata);
  g_clear_pointer (&leaf->inputs, g_ptr_array_unref);
  base_cancel_unref (leaf->cancel);
  relation_source_clear (base);
  g_free (leaf);
}

static const RelationSourceClass leaf_class = { leaf_scan, leaf_free };

static RelationSource *
leaf_new (const StreamDelta *stream, const char *name)
{
  DeltaLeaf *leaf = g_new0 (DeltaLeaf, 1);

  relation_source_init (&leaf->base, &leaf_class, name, delta_metadata_schema (stream->metadata), NULL, TRUE);
  leaf->snapshot = delta_snapshot_ref (stream->snapshot);
  leaf->metadata = delta_metadata_ref (stream->metadata);
  leaf->cancel = base_cancel_ref (stream->cancel);
  return &leaf->base;
}

static void
delta_free (StreamSource *base)
{
  stream_delta_clear ((StreamDelta *) base);
  g_free (base);
}

static const StreamSourceClass delta_class = { .begin = stream_delta_begin,
                                               .plan = delta_plan,
                                               .plan_ahead = delta_plan_ahead,
                                               .show = delta_show,
                                               .backlog = stream_delta_backlog,
                                               .origin = stream_delta_origin,
                                               .free = delta_free };

StreamSource *
stream_delta_new (const StreamTableRequest *request, const StreamDeltaOptions *options, GError **error)
{
  DeltaStream *stream = g_new0 (DeltaStream, 1);
  g_autoptr (StreamSource) owner = &stream->delta.base;

  stream->delta.base.klass = &delta_class;
  if (!stream_delta_init (&stream->delta, request, options, error))
    return NULL;
  stream->delta.base.leaf = leaf_new (&stream->delta, request->name);
  return g_steal_pointer (&owner);
}

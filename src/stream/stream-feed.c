/* The change feed of a Delta table as a stream: see stream-delta-private.h for the way over versions.
 *
 * What a commit gives and whether it can be read is the room `feed`'s: this file only decides how far a batch goes. A batch is
 * planned up to the first commit that cannot be read; that one is the error of the next.
 */
#include "base-error.h"
#include "delta-table.h"
#include "duck-type.h"
#include "feed.h"
#include "stream-delta-private.h"

#include <string.h>

typedef struct {
  RelationSource base;
  GPtrArray *ranges; /* FeedRange of the batch shown */
  BaseCancel *cancel;
} FeedLeaf;

/* Which metadata is in force before a version. */
typedef struct {
  DeltaVersion version;
  DeltaMetadata *metadata; /* (nullable): not known */
} InForce;

typedef struct {
  StreamDelta delta;
  InForce known[2]; /* at the beginning of the last batch that was planned, and behind it */
} FeedStream;

/* ---- what is in force ---- */

static void
in_force_set (InForce *in_force, DeltaVersion version, DeltaMetadata *metadata)
{
  DeltaMetadata *old = in_force->metadata;

  in_force->version = version;
  in_force->metadata = metadata != NULL ? delta_metadata_ref (metadata) : NULL;
  delta_metadata_unref (old);
}

static DeltaMetadata *
in_force_before (const FeedStream *stream, DeltaVersion version)
{
  for (guint i = 0; i < G_N_ELEMENTS (stream->known); i++)
    if (stream->known[i].metadata != NULL && stream->known[i].version == version)
      return stream->known[i].metadata;
  return NULL;
}

/* Once a run: from then on what each batch passes tells it. A commit that sets metadata tells its own. */
static gboolean
find_in_force (FeedStream *stream, DeltaVersion version, GError **error)
{
  DeltaMetadata *known = in_force_before (stream, version);

  if (known != NULL) {
    in_force_set (&stream->known[0], version, known);
    return TRUE;
  }
  g_autoptr (DeltaSnapshot) snapshot =
      delta_table_snapshot_at (stream->delta.table, version, stream->delta.cancel, error);
  if (snapshot == NULL)
    return FALSE;
  in_force_set (&stream->known[0], version, delta_snapshot_metadata (snapshot));
  return TRUE;
}

/* ---- ranges of commits ---- */

/* The room `feed` refuses a schema that does not fit; which way it does not is told here. */
static void
explain_schema (StreamDelta *stream, GError **error)
{
  g_autoptr (GError) better = NULL;
  gint64 version;
  const char *at = base_error_param (*error, "version");

  if (!g_error_matches (*error, SLUICE_ERROR, SLUICE_ERROR_DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE) || at == NULL)
    return;
  version = g_ascii_strtoll (at, NULL, 10);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot_at (stream->table, version, stream->cancel, NULL);
  if (snapshot == NULL || stream_delta_check_metadata (stream, delta_snapshot_metadata (snapshot), version, &better))
    return;
  g_clear_error (error);
  g_propagate_error (error, g_steal_pointer (&better));
}

/* Changes of the commits from @from on up to version @end. */
static FeedRange *
commits_from (StreamDelta *stream, DeltaVersion from, gint64 n_skipped, DeltaVersion end, gboolean is_planning,
              GError **error)
{
  FeedRequest request = { .start = { FEED_BOUND_VERSION, from, FALSE },
                          .end = { FEED_BOUND_VERSION, end, FALSE },
                          .streaming = TRUE,
                          .partial = is_planning,
                          .n_skipped = (guint) n_skipped,
                          .metadata = stream->metadata,
                          .in_force = in_force_before ((FeedStream *) stream, from),
                          .only_planned = is_planning,
                          .exclude = stream->exclude };
  g_autoptr (GError) failure = NULL;

  if (is_planning) {
    request.max_files = stream->options.max_files;
    request.max_bytes = stream->options.max_bytes;
  }
  FeedRange *range = feed_range_new (stream->table, &request, stream->settings, stream->cancel, &failure);
  if (range == NULL) {
    if (stream->schemas == NULL)
      explain_schema (stream, &failure);
    g_propagate_error (error, g_steal_pointer (&failure));
  }
  return range;
}

/* ---- planning ---- */

/* Whether the schema changes in a commit of @from … @to so that the batch must end before it. @at: (out): that commit, or @to + 1; what
 * is in force before it is known then. An unreadable change at @from is the error of this batch. */
static gboolean
find_barrier (StreamDelta *stream, DeltaVersion from, DeltaVersion to, DeltaVersion *at, gboolean *is_barrier,
              GError **error)
{
  FeedStream *self = (FeedStream *) stream;
  g_autoptr (DeltaMetadata) in_force = NULL;

  *is_barrier = FALSE;
  if (in_force_before (self, from) != NULL)
    in_force = delta_metadata_ref (in_force_before (self, from));
  for (*at = from; *at <= to; (*at)++) {
    g_autoptr (GError) failure = NULL;
    g_autoptr (DeltaCommit) commit = stream_delta_commit (stream, *at, error);
    if (commit == NULL)
      return FALSE;
    gboolean can_go_on = stream_delta_check_commit (stream, commit, is_barrier, &failure);
    if (!can_go_on && *at == from) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    if (!can_go_on || *is_barrier)
      break;
    if (delta_commit_metadata (commit) != NULL) {
      g_clear_pointer (&in_force, delta_metadata_unref);
      in_force = delta_metadata_ref (delta_commit_metadata (commit));
    }
  }
  in_force_set (&self->known[1], *at, in_force);
  return TRUE;
}

/* The batch ends where the schema changes: @offset stands before that commit. */
static void
stop_at (StreamDeltaOffset *offset, DeltaVersion version, gboolean is_barrier)
{
  offset->version = version;
  offset->index = is_barrier ? STREAM_DELTA_CHANGE : STREAM_DELTA_BASE;
}

static gboolean
plan_commits (StreamDelta *stream, StreamDeltaOffset *offset, StreamDeltaTaken *taken, GError **error)
{
  DeltaVersion at;
  gboolean is_barrier;
  gint64 n_skipped = MAX (offset->index, -1) + 1;

  /* The files of the snapshot may fill a batch only in part; with limits what follows waits for the next one. */
  if (offset->version > stream->end ||
      (taken->n_files > 0 && (stream->options.max_files > 0 || stream->options.max_bytes > 0)))
    return TRUE;
  if (!find_in_force ((FeedStream *) stream, offset->version, error) ||
      !find_barrier (stream, offset->version, offset->version, &at, &is_barrier, error))
    return FALSE;
  if (is_barrier) {
    stop_at (offset, at, TRUE);
    return TRUE;
  }
  g_autoptr (FeedRange) range = commits_from (stream, offset->version, n_skipped, stream->end, TRUE, error);
  if (range == NULL || !find_barrier (stream, offset->version, feed_range_end (range), &at, &is_barrier, error))
    return FALSE;
  if (at <= feed_range_end (range)) {
    feed_range_unref (range);
    range = commits_from (stream, offset->version, n_skipped, at - 1, TRUE, error);
    if (range == NULL)
      return FALSE;
  } else if (stream->schemas != NULL && at <= stream->end) {
    /* What the room `feed` could not take next may be a schema that is to be tracked. */
    DeltaVersion next;
    if (!find_barrier (stream, at, at, &next, &is_barrier, error))
      return FALSE;
  }
  taken->n_files += feed_range_gives_rows (range) ? 1 : 0;
  stop_at (offset, feed_range_end (range) + 1, is_barrier && feed_range_end (range) + 1 == at);
  return TRUE;
}

/* A stream that begins with the snapshot would end at the first commit behind it. */
static gboolean
check_recorded (const StreamDelta *stream, GError **error)
{
  const StreamDeltaOptions *options = &stream->options;
  DeltaMetadata *metadata = delta_snapshot_metadata (stream->snapshot);
  g_autofree char *version = g_strdup_printf ("%" G_GINT64_FORMAT, stream->end);

  if (options->starting_version >= 0 || options->starting_latest || options->starting_timestamp_ms != G_MININT64 ||
      delta_metadata_change_feed (metadata) || delta_metadata_row_tracking (metadata))
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_MISSING_CHANGE_DATA,
                  "The change feed of %s cannot be read as a stream: changes are not recorded at version %s",
                  stream->base.leaf->name, version);
  base_error_add_param (error, "startVersion", version);
  base_error_add_param (error, "endVersion", version);
  base_error_add_param (error, "version", version);
  base_error_add_param (error, "key", "delta.enableChangeDataFeed");
  base_error_set_hint (error,
                       "ALTER TABLE … SET TBLPROPERTIES (delta.enableChangeDataFeed = true) records them from now "
                       "on; DESCRIBE HISTORY shows since when they are recorded");
  return FALSE;
}

static gboolean
feed_plan (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  if (last == NULL && !check_recorded ((StreamDelta *) base, error))
    return FALSE;
  return stream_delta_plan ((StreamDelta *) base, plan_commits, last, next, has_rows, error);
}

static gboolean
feed_plan_ahead (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  return stream_delta_plan_ahead ((StreamDelta *) base, plan_commits, last, next, has_rows, error);
}

/* ---- showing ---- */

static gboolean
add_range (GPtrArray *ranges, FeedRange *range)
{
  if (range != NULL)
    g_ptr_array_add (ranges, range);
  return range != NULL;
}

static gboolean
collect_ranges (StreamDelta *stream, const StreamDeltaBatch *batch, GPtrArray *ranges, GError **error)
{
  const GPtrArray *files = batch->start_files;

  if (files != NULL && !add_range (ranges, feed_range_new_initial (stream->start, (DeltaFile *const *) files->pdata,
                                                                   files->len, stream->metadata, error)))
    return FALSE;
  if (batch->n_last > 0) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "A batch of the checkpoint ends inside version %" G_GINT64_FORMAT
                    " of %s; changes of one commit are not read in parts here",
                    batch->to, stream->base.leaf->name);
    base_error_set_hint (error, "let the engine that planned the batch finish it");
    return FALSE;
  }
  return batch->from >= batch->to ||
         add_range (ranges, commits_from (stream, batch->from, batch->n_skipped, batch->to - 1, FALSE, error));
}

static gboolean
feed_show (StreamSource *base, const json_t *last, const json_t *next, GError **error)
{
  StreamDelta *stream = (StreamDelta *) base;
  FeedLeaf *leaf = (FeedLeaf *) base->leaf;
  g_auto (StreamDeltaBatch) batch = { 0 };
  g_autoptr (GPtrArray) ranges = g_ptr_array_new_with_free_func ((GDestroyNotify) feed_range_unref);

  if (!stream_delta_batch (stream, last, next, &batch, error) || !collect_ranges (stream, &batch, ranges, error))
    return FALSE;
  g_clear_pointer (&leaf->ranges, g_ptr_array_unref);
  leaf->ranges = g_steal_pointer (&ranges);
  return TRUE;
}

/* ---- the leaf ---- */

/* No rows, of the columns asked for. */
static void
append_nothing (const RelationSource *base, const RelationScan *scan, GString *sql)
{
  g_string_append (sql, "SELECT ");
  for (guint i = 0; i < scan->n_columns; i++) {
    g_autofree char *type = duck_type_text (base_type_field (base->schema, scan->columns[i])->type);
    g_string_append_printf (sql, "%sCAST(NULL AS %s) AS %s", i > 0 ? ", " : "", type, scan->names[i]);
  }
  g_string_append (sql, scan->n_columns > 0 ? " WHERE false" : "1 AS one WHERE false");
}

static gboolean
leaf_scan (RelationSource *base, const RelationScan *scan, RelationText *out, GError **error)
{
  FeedLeaf *leaf = (FeedLeaf *) base;
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, scan->n_columns + 1);
  FeedScanRequest request = { .columns = columns, .n_columns = scan->n_columns };

  for (guint i = 0; i < scan->n_columns; i++)
    columns[i] = (DeltaScanColumn){ scan->columns[i], scan->names[i] };
  for (guint i = 0; i < leaf->ranges->len; i++) {
    FeedScan *text = feed_scan_new (g_ptr_array_index (leaf->ranges, i), &request, leaf->cancel, error);
    if (text == NULL)
      return FALSE;
    g_string_append (relation_text_sql (out), i > 0 ? " UNION ALL " : "");
    g_string_append (relation_text_sql (out), feed_scan_sql (text));
    relation_text_hold (out, text, (GDestroyNotify) feed_scan_unref);
  }
  if (leaf->ranges->len == 0)
    append_nothing (base, scan, relation_text_sql (out));
  return TRUE;
}

static void
leaf_free (RelationSource *base)
{
  FeedLeaf *leaf = (FeedLeaf *) base;

  g_clear_pointer (&leaf->ranges, g_ptr_array_unref);
  base_cancel_unref (leaf->cancel);
  relation_source_clear (base);
  g_free (leaf);
}

static const RelationSourceClass leaf_class = { leaf_scan, leaf_free };

/* The leaf shows nothing until a batch is shown. */
static RelationSource *
leaf_new (const StreamDelta *stream, const char *name, GError **error)
{
  g_autoptr (BaseType) schema = feed_schema_new (delta_metadata_schema (stream->metadata), error);
  FeedLeaf *leaf;

  if (schema == NULL)
    return NULL;
  leaf = g_new0 (FeedLeaf, 1);
  relation_source_init (&leaf->base, &leaf_class, name, schema, NULL, TRUE);
  leaf->cancel = base_cancel_ref (stream->cancel);
  leaf->ranges = g_ptr_array_new_with_free_func ((GDestroyNotify) feed_range_unref);
  return &leaf->base;
}

static void
feed_free (StreamSource *base)
{
  FeedStream *stream = (FeedStream *) base;

  for (guint i = 0; i < G_N_ELEMENTS (stream->known); i++)
    delta_metadata_unref (stream->known[i].metadata);
  stream_delta_clear ((StreamDelta *) base);
  g_free (base);
}

static const StreamSourceClass feed_class = { .begin = stream_delta_begin,
                                              .plan = feed_plan,
                                              .plan_ahead = feed_plan_ahead,
                                              .show = feed_show,
                                              .backlog = stream_delta_backlog,
                                              .origin = stream_delta_origin,
                                              .free = feed_free };

StreamSource *
stream_feed_new (const StreamTableRequest *request, const StreamDeltaOptions *options, GError **error)
{
  FeedStream *self = g_new0 (FeedStream, 1);
  StreamDelta *stream = &self->delta;
  g_autoptr (StreamSource) owner = &stream->base;

  stream->base.klass = &feed_class;
  if (!stream_delta_init (stream, request, options, error))
    return NULL;
  stream->base.leaf = leaf_new (stream, request->name, error);
  return stream->base.leaf != NULL ? g_steal_pointer (&owner) : NULL;
}

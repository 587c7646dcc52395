/* The change feed of a Delta table as a stream: see stream-feed.h.
 *
 * The way of an offset is that of stream-delta.c; the files of the initial snapshot are a batch of their own, or several, and
 * then come commits, never cut. What a commit gives and whether it can be read is the room `feed`'s: this file only decides
 * how far a batch goes. A batch is planned up to the first commit that cannot be read; that one is the error of the next.
 */
#include "stream-feed.h"

#include "base-error.h"
#include "base-json.h"
#include "delta-table.h"
#include "feed.h"
#include "stream-delta-private.h"

#include <string.h>

typedef struct {
  RelationSource base;
  DeltaSnapshot *snapshot; /* whose schema the leaf has */
  GPtrArray *ranges;       /* FeedRange of the batch shown; at least one */
  BaseCancel *cancel;
} FeedLeaf;

typedef struct {
  StreamSource base;
  DeltaTable *table;
  DeltaSnapshot *snapshot; /* whose schema the leaf has, and the end of this run */
  StreamDeltaOptions options;
  GRegex *exclude; /* (nullable) */
  BaseCancel *cancel;
  DeltaSnapshot *start;   /* (nullable): the initial snapshot */
  GPtrArray *start_files; /* (nullable): its files in reading order */
} FeedStream;

static DeltaVersion
end_of (const FeedStream *stream)
{
  return delta_snapshot_version (stream->snapshot);
}

/* ---- the initial snapshot ---- */

static gboolean
load_start (FeedStream *stream, DeltaVersion version, GError **error)
{
  if (stream->start != NULL && delta_snapshot_version (stream->start) == version)
    return TRUE;
  DeltaSnapshot *start = stream_delta_snapshot_at (stream->snapshot, version, stream->cancel, error);
  if (start == NULL)
    return FALSE;
  g_clear_pointer (&stream->start, delta_snapshot_unref);
  g_clear_pointer (&stream->start_files, g_ptr_array_unref);
  stream->start = start;
  stream->start_files = stream_delta_start_files (start, stream->exclude);
  return TRUE;
}

/* ---- ranges of commits ---- */

/* The log may begin after what the stream needs next: then rows are lost, and that is for the user to allow. */
static gboolean
data_lost (FeedStream *stream, DeltaVersion wanted, DeltaVersion earliest, GError **error)
{
  g_autofree char *from = g_strdup_printf ("%" G_GINT64_FORMAT, wanted);
  g_autofree char *to = g_strdup_printf ("%" G_GINT64_FORMAT, earliest);

  base_error_set (error, SLUICE_ERROR_DELTA_MISSING_FILES_UNEXPECTED_VERSION,
                  "The stream needs version %s of %s next, but its log begins at version %s", from,
                  stream->base.leaf->name, to);
  base_error_add_param (error, "startVersion", from);
  base_error_add_param (error, "earliestVersion", to);
  base_error_set_hint (error,
                       "the log was cleaned up before the stream read it; failOnDataLoss => 'false' goes on at version "
                       "%s without the changes in between",
                       to);
  return FALSE;
}

/* Moves @offset over versions that are gone, when that is allowed. */
static gboolean
settle_lost (FeedStream *stream, StreamDeltaOffset *offset, gboolean is_first, GError **error)
{
  DeltaVersion earliest, latest;

  if (!delta_table_versions (stream->table, &earliest, &latest, error))
    return FALSE;
  if (offset->version >= earliest || is_first)
    return TRUE; /* a start that does not exist is refused by the range itself */
  if (stream->options.fail_on_data_loss)
    return data_lost (stream, offset->version, earliest, error);
  offset->version = earliest;
  offset->index = -1;
  return TRUE;
}

/* Changes of the commits from @offset on up to version @end. */
static FeedRange *
commits_from (FeedStream *stream, const StreamDeltaOffset *offset, DeltaVersion end, gboolean is_planning,
              GError **error)
{
  FeedRequest request = { .start = { FEED_BOUND_VERSION, offset->version },
                          .end = { FEED_BOUND_VERSION, end },
                          .streaming = TRUE,
                          .partial = is_planning,
                          .n_skipped = (guint) (offset->index + 1),
                          .metadata = delta_snapshot_metadata (stream->snapshot),
                          .exclude = stream->exclude };

  if (is_planning) {
    request.max_files = stream->options.max_files;
    request.max_bytes = stream->options.max_bytes;
  }
  return feed_range_new (stream->table, &request, NULL, stream->cancel, error);
}

/* ---- planning ---- */

/* Takes files of the snapshot; @taken: whether there was one. */
static gboolean
plan_start (FeedStream *stream, StreamDeltaOffset *offset, gboolean *taken, GError **error)
{
  gint64 n_files = 0, n_bytes = 0;

  if (!load_start (stream, offset->version, error))
    return FALSE;
  gint64 n_all = stream->start_files->len;
  while (offset->index + 1 < n_all && (stream->options.max_files == 0 || n_files < stream->options.max_files) &&
         (stream->options.max_bytes == 0 || n_bytes < stream->options.max_bytes)) {
    offset->index++;
    n_files++;
    n_bytes += delta_file_size_bytes (g_ptr_array_index (stream->start_files, (guint) offset->index));
  }
  if (offset->index + 1 >= n_all) {
    offset->version++;
    offset->index = -1;
    offset->is_start = FALSE;
  }
  *taken = n_files > 0;
  return TRUE;
}

static gboolean
plan_commits (FeedStream *stream, StreamDeltaOffset *offset, gboolean is_first, gboolean *has_rows, GError **error)
{
  if (!settle_lost (stream, offset, is_first, error))
    return FALSE;
  if (offset->version > end_of (stream))
    return TRUE;
  g_autoptr (FeedRange) range = commits_from (stream, offset, end_of (stream), TRUE, error);
  if (range == NULL)
    return FALSE;
  offset->version = feed_range_end (range) + 1;
  offset->index = -1;
  *has_rows = feed_range_gives_rows (range);
  return TRUE;
}

static gboolean
feed_begin (G_GNUC_UNUSED StreamSource *base, G_GNUC_UNUSED StreamProgress *progress, G_GNUC_UNUSED const json_t *last,
            G_GNUC_UNUSED GError **error)
{
  return TRUE; /* the snapshot that gave the schema also fixes the end */
}

static gboolean
feed_plan (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  FeedStream *stream = (FeedStream *) base;
  g_auto (StreamDeltaOffset) offset = { 0 };
  gboolean any = FALSE;

  if (!stream_delta_offset_after (stream->snapshot, &stream->options, last, &offset, error))
    return FALSE;
  g_autoptr (json_t) before = stream_delta_offset_write (&offset);
  if (offset.is_start && !plan_start (stream, &offset, &any, error))
    return FALSE;
  if (!any && !offset.is_start && !plan_commits (stream, &offset, last == NULL, &any, error))
    return FALSE;
  g_autoptr (json_t) after = stream_delta_offset_write (&offset);
  *has_rows = any;
  *next = last != NULL && json_equal (before, after) ? NULL : g_steal_pointer (&after);
  return TRUE;
}

/* ---- showing ---- */

static gboolean
add_initial (FeedStream *stream, GPtrArray *ranges, const StreamDeltaOffset *from, const StreamDeltaOffset *to,
             GError **error)
{
  if (!load_start (stream, from->version, error))
    return FALSE;
  guint n_all = stream->start_files->len;
  guint begin = MIN ((guint) (from->index + 1), n_all);
  guint end = to->is_start ? MIN ((guint) (to->index + 1), n_all) : n_all;
  FeedRange *range = feed_range_new_initial (stream->start, (DeltaFile *const *) stream->start_files->pdata + begin,
                                             end - MIN (begin, end), delta_snapshot_metadata (stream->snapshot), error);
  if (range == NULL)
    return FALSE;
  g_ptr_array_add (ranges, range);
  return TRUE;
}

static gboolean
add_commits (FeedStream *stream, GPtrArray *ranges, StreamDeltaOffset *from, DeltaVersion to, GError **error)
{
  if (from->version >= to)
    return TRUE;
  if (!settle_lost (stream, from, FALSE, error))
    return FALSE;
  if (from->version >= to)
    return TRUE;
  FeedRange *range = commits_from (stream, from, to - 1, FALSE, error);
  if (range == NULL)
    return FALSE;
  g_ptr_array_add (ranges, range);
  return TRUE;
}

/* Where the first batch began: its end tells the snapshot, the options tell a version. */
static gboolean
first_begin (FeedStream *stream, const StreamDeltaOffset *to, StreamDeltaOffset *from, GError **error)
{
  if (!stream_delta_offset_first (stream->snapshot, &stream->options, from, error))
    return FALSE;
  if (from->is_start)
    from->version = to->is_start ? to->version : to->version - 1;
  return TRUE;
}

static gboolean
collect_ranges (FeedStream *stream, const json_t *last, const json_t *next, GPtrArray *ranges, GError **error)
{
  g_auto (StreamDeltaOffset) from = { 0 };
  g_auto (StreamDeltaOffset) to = { 0 };

  if (!stream_delta_offset_read (next, &to, error))
    return FALSE;
  if (last != NULL ? !stream_delta_offset_read (last, &from, error) : !first_begin (stream, &to, &from, error))
    return FALSE;
  if (from.is_start) {
    if (!add_initial (stream, ranges, &from, &to, error))
      return FALSE;
    if (to.is_start)
      return TRUE;
    from.version++;
    from.index = -1;
  }
  return add_commits (stream, ranges, &from, to.version, error);
}

static FeedRange *
nothing (DeltaSnapshot *snapshot, GError **error)
{
  return feed_range_new_initial (snapshot, NULL, 0, NULL, error);
}

static gboolean
feed_show (StreamSource *base, const json_t *last, const json_t *next, GError **error)
{
  FeedStream *stream = (FeedStream *) base;
  FeedLeaf *leaf = (FeedLeaf *) base->leaf;
  g_autoptr (GPtrArray) ranges = g_ptr_array_new_with_free_func ((GDestroyNotify) feed_range_unref);

  if (next != NULL && !(last != NULL && json_equal (last, next)) && !collect_ranges (stream, last, next, ranges, error))
    return FALSE;
  if (ranges->len == 0) {
    FeedRange *none = nothing (stream->snapshot, error);
    if (none == NULL)
      return FALSE;
    g_ptr_array_add (ranges, none);
  }
  g_clear_pointer (&leaf->ranges, g_ptr_array_unref);
  leaf->ranges = g_steal_pointer (&ranges);
  return TRUE;
}

static StreamBacklog
feed_backlog (StreamSource *base, const json_t *last)
{
  FeedStream *stream = (FeedStream *) base;
  g_auto (StreamDeltaOffset) offset = { 0 };

  if (last != NULL && stream_delta_offset_read (last, &offset, NULL) && !offset.is_start &&
      offset.version > end_of (stream))
    return (StreamBacklog){ .bytes = 0, .files = 0, .records = -1 };
  return (StreamBacklog){ .bytes = -1, .files = -1, .records = -1 };
}

/* ---- the leaf ---- */

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
  return TRUE;
}

static void
leaf_free (RelationSource *base)
{
  FeedLeaf *leaf = (FeedLeaf *) base;

  delta_snapshot_unref (leaf->snapshot);
  g_clear_pointer (&leaf->ranges, g_ptr_array_unref);
  base_cancel_unref (leaf->cancel);
  relation_source_clear (base);
  g_free (leaf);
}

static const RelationSourceClass leaf_class = { leaf_scan, leaf_free };

/* The leaf shows nothing until a batch is shown. */
static RelationSource *
leaf_new (const char *name, DeltaSnapshot *snapshot, BaseCancel *cancel, GError **error)
{
  g_autoptr (FeedRange) none = nothing (snapshot, error);
  FeedLeaf *leaf;

  if (none == NULL)
    return NULL;
  leaf = g_new0 (FeedLeaf, 1);
  relation_source_init (&leaf->base, &leaf_class, name, feed_range_schema (none), NULL, TRUE);
  leaf->snapshot = delta_snapshot_ref (snapshot);
  leaf->cancel = base_cancel_ref (cancel);
  leaf->ranges = g_ptr_array_new_with_free_func ((GDestroyNotify) feed_range_unref);
  g_ptr_array_add (leaf->ranges, g_steal_pointer (&none));
  return &leaf->base;
}

static void
feed_free (StreamSource *base)
{
  FeedStream *stream = (FeedStream *) base;

  relation_source_unref (base->leaf);
  g_clear_pointer (&stream->start, delta_snapshot_unref);
  g_clear_pointer (&stream->start_files, g_ptr_array_unref);
  g_clear_pointer (&stream->exclude, g_regex_unref);
  base_cancel_unref (stream->cancel);
  delta_snapshot_unref (stream->snapshot);
  delta_table_unref (stream->table);
  g_free (stream);
}

static const StreamSourceClass feed_class = {
  .begin = feed_begin, .plan = feed_plan, .show = feed_show, .backlog = feed_backlog, .free = feed_free
};

StreamSource *
stream_feed_new (guint index, const char *name, DeltaSnapshot *snapshot, const char *const *options, BaseCancel *cancel,
                 GError **error)
{
  StreamDeltaOptions read = { 0 };
  RelationSource *leaf;
  FeedStream *stream;

  if (!stream_delta_options_read (options, &read, error))
    return NULL;
  leaf = leaf_new (name, snapshot, cancel, error);
  if (leaf == NULL)
    return NULL;
  stream = g_new0 (FeedStream, 1);
  stream->base = (StreamSource){ &feed_class, leaf, index, G_MAXINT64 };
  stream->table = delta_table_ref (delta_snapshot_table (snapshot));
  stream->snapshot = delta_snapshot_ref (snapshot);
  stream->exclude = stream_delta_exclude_new (&read);
  stream->options = read;
  stream->options.exclude_regex = NULL; /* only borrowed */
  stream->cancel = base_cancel_ref (cancel);
  return &stream->base;
}

/* The analysis of a range: bounds → commits → mode → schema.
 *
 *   feed_bounds_find ──► walk: read commit, who is in force, parts ──► mode of all versions ──► schema read, what fits it
 *
 * Invariants:
 *   1. A range that exists can be read whole as far as the log tells; only files may turn out to be gone.
 *   2. `commits` holds every version from start to end once, ascending, also those without rows.
 *   3. "On at version v" means the metadata in force after commit v (§2.10).
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "feed-private.h"

#include <string.h>

FeedRange *
feed_range_ref (FeedRange *range)
{
  g_atomic_ref_count_inc (&range->references);
  return range;
}

void
feed_range_unref (FeedRange *range)
{
  if (range == NULL || !g_atomic_ref_count_dec (&range->references))
    return;
  g_clear_pointer (&range->commits, g_ptr_array_unref);
  g_clear_pointer (&range->schema, base_type_unref);
  g_clear_pointer (&range->metadata, delta_metadata_unref);
  g_clear_pointer (&range->snapshot, delta_snapshot_unref);
  delta_table_unref (range->table);
  g_free (range);
}

static FeedRange *
range_new (DeltaTable *table, DeltaSnapshot *snapshot, DeltaVersion start, DeltaVersion end)
{
  FeedRange *range = g_new0 (FeedRange, 1);

  g_atomic_ref_count_init (&range->references);
  range->table = delta_table_ref (table);
  range->snapshot = delta_snapshot_ref (snapshot);
  range->start = start;
  range->end = end;
  range->commits = g_ptr_array_new_with_free_func ((GDestroyNotify) feed_commit_free);
  return range;
}

gboolean
feed_range_is_empty (FeedRange *range)
{
  return range->end < range->start;
}

DeltaVersion
feed_range_start (FeedRange *range)
{
  return range->start;
}

DeltaVersion
feed_range_end (FeedRange *range)
{
  return range->end;
}

BaseType *
feed_range_schema (FeedRange *range)
{
  return range->schema;
}

DeltaTable *
feed_range_table (FeedRange *range)
{
  return range->table;
}

gboolean
feed_range_gives_rows (FeedRange *range)
{
  for (guint i = 0; i < range->commits->len; i++)
    if (((FeedCommit *) range->commits->pdata[i])->parts->len > 0)
      return TRUE;
  return FALSE;
}

gint64
feed_range_estimated_rows (FeedRange *range)
{
  gint64 n_rows = 0;

  for (guint i = 0; i < range->commits->len; i++) {
    const FeedCommit *commit = range->commits->pdata[i];
    for (guint j = 0; j < commit->parts->len; j++) {
      const FeedPart *part = &g_array_index (commit->parts, FeedPart, j);
      gint64 n = part->is_paired ? delta_file_vector (part->in)->cardinality : delta_file_n_live_records (part->file);
      if (n < 0)
        return -1;
      n_rows += n;
    }
  }
  return n_rows;
}

FeedFacts
feed_range_facts (FeedRange *range)
{
  FeedFacts sum = { 0 };

  for (guint i = 0; i < range->commits->len; i++) {
    const FeedFacts *facts = &((FeedCommit *) range->commits->pdata[i])->facts;
    sum.n_cdc += facts->n_cdc;
    sum.n_adds += facts->n_adds;
    sum.n_removes += facts->n_removes;
    sum.bytes += facts->bytes;
  }
  return sum;
}

FeedMode
feed_range_mode (FeedRange *range)
{
  return range->mode;
}

/* ---- the walk ---- */

static void
walk_clear (FeedWalk *walk)
{
  feed_bounds_clear (&walk->bounds);
  g_clear_pointer (&walk->commits, g_ptr_array_unref);
  g_clear_pointer (&walk->in_force, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FeedWalk, walk_clear)

/* Any version between the earliest and the latest must be there. */
static DeltaCommit *
read_commit (FeedWalk *walk, DeltaVersion version, GError **error)
{
  g_autoptr (GError) failure = NULL;
  DeltaCommit *commit = delta_table_commit (walk->table, version, walk->cancel, &failure);

  if (commit != NULL)
    return commit;
  if (!g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return NULL;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS,
                  "the log of %s has no version %" G_GINT64_FORMAT " although versions %" G_GINT64_FORMAT
                  " and %" G_GINT64_FORMAT " exist",
                  delta_table_location (walk->table), version, walk->bounds.earliest,
                  delta_snapshot_version (walk->bounds.snapshot));
  g_autofree char *text = feed_version_text (version);
  base_error_add_param (error, "version", text);
  return NULL;
}

/* Replaying the log up to the start is only needed when nothing nearer tells what was in force there. */
static DeltaMetadata *
metadata_at_start (FeedWalk *walk, gboolean all_were_read, GError **error)
{
  DeltaMetadata *own = delta_commit_metadata (feed_walk_commit (walk, 0));
  DeltaVersion latest = delta_snapshot_version (walk->bounds.snapshot);
  gboolean changes = FALSE;

  if (own != NULL)
    return delta_metadata_ref (own);
  if (walk->request->in_force != NULL)
    return delta_metadata_ref (walk->request->in_force);
  for (guint i = 1; i < walk->commits->len; i++)
    changes = changes || delta_commit_metadata (feed_walk_commit (walk, i)) != NULL;
  if (walk->bounds.start == latest || (all_were_read && !changes && walk->bounds.end == latest))
    return delta_metadata_ref (delta_snapshot_metadata (walk->bounds.snapshot));
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot_at (walk->table, walk->bounds.start, walk->cancel, error);
  return snapshot != NULL ? delta_metadata_ref (delta_snapshot_metadata (snapshot)) : NULL;
}

static gboolean
walk_all (FeedWalk *walk, GError **error)
{
  for (DeltaVersion version = walk->bounds.start; version <= walk->bounds.end; version++) {
    DeltaCommit *commit = read_commit (walk, version, error);
    if (commit == NULL)
      return FALSE;
    g_ptr_array_add (walk->commits, commit);
  }
  g_autoptr (DeltaMetadata) metadata = metadata_at_start (walk, TRUE, error);
  if (metadata == NULL)
    return FALSE;
  for (guint i = 0; i < walk->commits->len; i++) {
    DeltaMetadata *own = delta_commit_metadata (feed_walk_commit (walk, i));
    g_ptr_array_add (walk->in_force, delta_metadata_ref (own != NULL ? own : metadata));
    if (own != NULL) {
      delta_metadata_unref (metadata);
      metadata = delta_metadata_ref (own);
    }
  }
  return TRUE;
}

/* ---- schema (§6) ---- */

/* Which metadata names the columns, and what that choice is called. Borrowed from @walk. */
static DeltaMetadata *
choose_schema (const FeedWalk *walk, DeltaVersion *version)
{
  DeltaMetadata *latest = delta_snapshot_metadata (walk->bounds.snapshot);
  DeltaMetadata *start = feed_walk_metadata (walk, 0);
  DeltaMetadata *end = feed_walk_metadata (walk, walk->in_force->len - 1);
  const char *mode = walk->settings != NULL
                         ? base_settings_get (walk->settings, "spark.databricks.delta.changeDataFeed."
                                                              "defaultSchemaModeForColumnMappingTable")
                         : NULL;
  gboolean is_mapped = delta_metadata_mapping (start) != DELTA_MAPPING_NONE ||
                       delta_metadata_mapping (end) != DELTA_MAPPING_NONE ||
                       delta_metadata_mapping (latest) != DELTA_MAPPING_NONE;

  *version = delta_snapshot_version (walk->bounds.snapshot);
  if (!is_mapped || (mode != NULL && g_ascii_strcasecmp (mode, "endVersion") != 0))
    return latest;
  *version = walk->bounds.end;
  return end;
}

static gboolean
changed_in_range (const FeedWalk *walk, DeltaVersion version, GError **error)
{
  DeltaVersion first = walk->bounds.start, last = walk->bounds.end;
  g_autofree char *at = feed_version_text (version);

  base_error_set (error, SLUICE_ERROR_DELTA_CHANGELOG_SCHEMA_CHANGE_IN_RANGE,
                  "changes of %s from version %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                  " cannot be read: version %s changed the schema in a way that is not additive",
                  delta_table_location (walk->table), first, last, at);
  base_error_add_param (error, "version", at);
  base_error_set_hint (error,
                       "read the range in two parts: %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                       ", then %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                       first, version - 1, version, last);
  return FALSE;
}

static gboolean
incompatible (const FeedWalk *walk, SluiceError code, DeltaMetadata *read, DeltaVersion read_version,
              DeltaVersion version, GError **error)
{
  DeltaVersion first = walk->bounds.start, last = walk->bounds.end;
  g_autofree char *start = feed_version_text (first);
  g_autofree char *end = feed_version_text (last);
  g_autofree char *schema = base_type_ddl (delta_metadata_schema (read));
  g_autofree char *schema_version = feed_version_text (read_version);
  g_autofree char *at = feed_version_text (version);

  if (code == SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA)
    base_error_set (error, code,
                    "the change feed of %s from version %s to %s cannot be read: the data of version %s does not fit "
                    "the schema of the read, that of version %s: %s",
                    delta_table_location (walk->table), start, end, at, schema_version, schema);
  else
    base_error_set (error, code,
                    "the change feed of %s from version %s to %s cannot be read: version %s changed the schema in a "
                    "way that does not fit the schema of the read, that of version %s: %s",
                    delta_table_location (walk->table), start, end, at, schema_version, schema);
  base_error_add_param (error, "start", start);
  base_error_add_param (error, "end", end);
  base_error_add_param (error, "readSchema", schema);
  base_error_add_param (error, "readVersion", schema_version);
  base_error_add_param (error, "incompatibleVersion", at);
  if (code == SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA)
    base_error_set_hint (error, "split the range at the version that changed the schema; DESCRIBE HISTORY shows it");
  else
    base_error_set_hint (error,
                         "read the range in two parts: %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                         ", then %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                         first, version - 1, version, last);
  return FALSE;
}

/* The first commit after the start that changes the schema; n when there is none. */
static guint
first_change (const FeedWalk *walk)
{
  for (guint i = 1; i < walk->commits->len; i++) {
    DeltaMetadata *own = delta_commit_metadata (feed_walk_commit (walk, i));
    if (own != NULL && !feed_schema_fits (feed_walk_metadata (walk, i - 1), own))
      return i;
  }
  return walk->commits->len;
}

static gboolean
check_schemas (const FeedWalk *walk, FeedMode mode, DeltaMetadata *read, DeltaVersion read_version, GError **error)
{
  guint changed = first_change (walk);

  if (walk->settings != NULL &&
      base_settings_get_bool (walk->settings, "spark.databricks.delta.changeDataFeed."
                                              "unsafeBatchReadOnIncompatibleSchemaChanges.enabled"))
    return TRUE;
  if (mode == FEED_MODE_AUTOMATIC && changed < walk->commits->len)
    return changed_in_range (walk, feed_walk_version (walk, changed), error);
  for (guint i = 1; i < walk->commits->len; i++) {
    DeltaMetadata *own = delta_commit_metadata (feed_walk_commit (walk, i));
    if (own != NULL && !feed_schema_fits (own, read))
      return incompatible (walk, SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE, read, read_version,
                           feed_walk_version (walk, i), error);
  }
  if (!feed_schema_fits (feed_walk_metadata (walk, 0), read))
    return incompatible (walk, SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA, read, read_version,
                         walk->bounds.start, error);
  return TRUE;
}

/* ---- timestamps (§7.6) and retention (§8) ---- */

/* In-commit timestamps are in the commits already read; asking the table would read the whole log again. The newest metadata says which
 * commits have one that counts, as it does where a timestamp is looked up. */
static gboolean
has_own_timestamps (const FeedWalk *walk)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (walk->bounds.snapshot);
  gint64 since = delta_metadata_int (metadata, "delta.inCommitTimestampEnablementVersion", 0);

  if (!delta_metadata_commit_timestamps (metadata) || walk->bounds.start < since)
    return FALSE;
  for (guint i = 0; i < walk->commits->len; i++)
    if (delta_commit_in_commit_timestamp_ms (feed_walk_commit (walk, i)) < 0)
      return FALSE;
  return TRUE;
}

static gboolean
set_timestamps (const FeedWalk *walk, GPtrArray *commits, GError **error)
{
  g_autoptr (GArray) timestamps = NULL;
  gboolean own = has_own_timestamps (walk);

  if (commits->len == 0)
    return TRUE;
  if (!own) {
    timestamps =
        delta_table_timestamps (walk->table, walk->bounds.start, feed_walk_version (walk, commits->len - 1), error);
    if (timestamps == NULL)
      return FALSE;
  }
  for (guint i = 0; i < commits->len; i++) {
    gint64 ms =
        own ? delta_commit_in_commit_timestamp_ms (feed_walk_commit (walk, i)) : g_array_index (timestamps, gint64, i);
    ((FeedCommit *) commits->pdata[i])->timestamp_us = ms * 1000;
  }
  return TRUE;
}

static gboolean
check_retention (const FeedWalk *walk, const FeedCommit *first, GError **error)
{
  static const char key[] = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration";
  DeltaMetadata *latest = delta_snapshot_metadata (walk->bounds.snapshot);
  gint64 keep_us = delta_metadata_interval_us (latest, "delta.deletedFileRetentionDuration", 7 * G_TIME_SPAN_DAY);
  g_autofree char *version = NULL;

  if (walk->request->now_us == 0 || walk->settings == NULL || !base_settings_get_bool (walk->settings, key) ||
      first->timestamp_us >= walk->request->now_us - keep_us)
    return TRUE;
  version = feed_version_text (first->version);
  base_error_set (
      error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION,
      "version %s of %s is older than delta.deletedFileRetentionDuration, so files that its change feed needs "
      "may be gone",
      version, delta_table_location (walk->table));
  base_error_add_param (error, "version", version);
  base_error_set_hint (error, "start later, or SET %s = false", key);
  return FALSE;
}

/* ---- commits of a range ---- */

/* Deleted rows lie in files of the table as it was before; one that was made anew may have had other columns. */
static gboolean
settle_deleted (const FeedWalk *walk, FeedCommit *commit, guint index, DeltaMetadata *read, GError **error)
{
  gboolean deletes = FALSE;

  for (guint i = 0; i < commit->parts->len; i++)
    deletes = deletes || g_array_index (commit->parts, FeedPart, i).kind == FEED_PART_DELETE;
  if (!deletes || delta_commit_metadata (feed_walk_commit (walk, index)) == NULL || commit->version == 0)
    return TRUE;
  if (index > 0) {
    commit->read_deleted = feed_schema_of_deleted (feed_walk_metadata (walk, index - 1), read);
    return TRUE;
  }
  /* Where the log before the start is gone, the commit itself is the oldest word on its columns. */
  g_autoptr (DeltaSnapshot) before = delta_table_snapshot_at (walk->table, commit->version - 1, walk->cancel, NULL);
  if (before != NULL)
    commit->read_deleted = feed_schema_of_deleted (delta_snapshot_metadata (before), read);
  return base_cancel_check (walk->cancel, error);
}

/* (Re)makes the commits of a range from those of the walk. */
static gboolean
make_commits (const FeedWalk *walk, FeedRange *range, guint n_skipped, GError **error)
{
  g_ptr_array_set_size (range->commits, 0);
  for (guint i = 0; i < walk->commits->len; i++) {
    FeedCommit *commit = feed_commit_new (feed_walk_commit (walk, i), feed_walk_metadata (walk, i), range->mode,
                                          walk->request->exclude, i == 0 ? n_skipped : 0, error);
    if (commit == NULL)
      return FALSE;
    g_ptr_array_add (range->commits, commit);
  }
  return TRUE;
}

static gboolean
finish_range (const FeedWalk *walk, FeedRange *range, DeltaMetadata *read, GError **error)
{
  range->metadata = delta_metadata_ref (read);
  range->deduplication = walk->request->deduplication;
  range->splits_updates = walk->request->splits_updates;
  range->schema = feed_schema_new (delta_metadata_schema (read), error);
  if (range->schema == NULL || (!walk->request->only_planned && !set_timestamps (walk, range->commits, error)) ||
      !feed_row_ids_settle (walk, range, error))
    return FALSE;
  for (guint i = 0; i < range->commits->len; i++)
    if (!settle_deleted (walk, range->commits->pdata[i], i, read, error))
      return FALSE;
  return TRUE;
}

/* ---- a range of a batch read ---- */

static void
drop_first (FeedWalk *walk, FeedRange *range, guint n)
{
  walk->bounds.start += n;
  range->start = walk->bounds.start;
  g_ptr_array_remove_range (walk->commits, 0, n);
  g_ptr_array_remove_range (walk->in_force, 0, n);
}

/* Moves the start to the first version that can be read, as far as the reader allows. A later start may have another mode, and
 * then needs other files. */
static gboolean
settle_start (FeedWalk *walk, FeedRange *range, GError **error)
{
  guint possible = walk->bounds.skips_no_mode ? feed_mode_first_possible (walk) : 0;

  if (possible > 0 && possible < walk->commits->len)
    drop_first (walk, range, possible);
  for (;;) {
    if (!feed_mode_choose (walk, &range->mode, error) || !make_commits (walk, range, 0, error))
      return FALSE;
    DeltaVersion whole = walk->bounds.skips_gone ? feed_files_first_whole (range) : range->start;
    if (whole <= range->start || whole > range->end)
      return TRUE; /* when nothing is whole, the scan says what is missing */
    drop_first (walk, range, (guint) (whole - range->start));
  }
}

static FeedRange *
range_of_batch (FeedWalk *walk, GError **error)
{
  g_autoptr (FeedRange) range = range_new (walk->table, walk->bounds.snapshot, walk->bounds.start, walk->bounds.end);
  DeltaMetadata *read = delta_snapshot_metadata (walk->bounds.snapshot);
  DeltaVersion read_version = delta_snapshot_version (walk->bounds.snapshot);

  if (walk->bounds.end >= walk->bounds.start) {
    if (!walk_all (walk, error) || !settle_start (walk, range, error))
      return NULL;
    read = choose_schema (walk, &read_version);
    if (walk->request->metadata != NULL)
      read = walk->request->metadata;
    if (!check_schemas (walk, range->mode, read, read_version, error))
      return NULL;
  }
  if (!finish_range (walk, range, read, error) ||
      (range->commits->len > 0 && !check_retention (walk, range->commits->pdata[0], error)))
    return NULL;
  return g_steal_pointer (&range);
}

/* ---- a range of a stream: as far as it can be read and the limits admit ---- */

static gboolean
refuse_reset (const FeedWalk *walk, DeltaCommit *commit, GError **error)
{
  const json_t *info = delta_commit_info (commit);

  if (info == NULL || g_strcmp0 (base_json_string (info, "operation"), "FULL REFRESH") != 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
                  "the table %s was reset by a full refresh in version %" G_GINT64_FORMAT,
                  delta_table_location (walk->table), delta_commit_version (commit));
  base_error_set_hint (error, "what was read before is no longer there; a full refresh of the target reads the source "
                              "from its beginning");
  return FALSE;
}

/* @read: (nullable). */
static gboolean
check_stream_schema (DeltaTable *table, DeltaVersion version, DeltaMetadata *metadata, DeltaMetadata *read,
                     GError **error)
{
  g_autofree char *text = NULL;

  if (read == NULL || feed_schema_fits (metadata, read))
    return TRUE;
  text = feed_version_text (version);
  base_error_set (
      error, SLUICE_ERROR_DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE,
      "the schema of %s at version %s does not fit the one that the stream reads with: a column was renamed, "
      "dropped or changed its type",
      delta_table_location (table), text);
  base_error_add_param (error, "version", text);
  base_error_set_hint (error, "a full refresh of the target reads the source from its beginning");
  return FALSE;
}

/* Reads one commit into the walk, or says why that cannot be. @mode: (out): of all commits read so far. */
static gboolean
take_commit (FeedWalk *walk, DeltaVersion version, FeedMode *mode, GError **error)
{
  g_autoptr (DeltaCommit) commit = read_commit (walk, version, error);
  g_autoptr (DeltaMetadata) metadata = NULL;

  if (commit == NULL || !refuse_reset (walk, commit, error))
    return FALSE;
  g_ptr_array_add (walk->commits, delta_commit_ref (commit));
  if (delta_commit_metadata (commit) != NULL)
    metadata = delta_metadata_ref (delta_commit_metadata (commit));
  else if (walk->in_force->len > 0)
    metadata = delta_metadata_ref (feed_walk_metadata (walk, walk->in_force->len - 1));
  else
    metadata = metadata_at_start (walk, FALSE, error);
  if (metadata == NULL)
    return FALSE;
  g_ptr_array_add (walk->in_force, delta_metadata_ref (metadata));
  return feed_mode_choose (walk, mode, error) &&
         check_stream_schema (walk->table, version, metadata, walk->request->metadata, error);
}

static gint64
n_files_of (const FeedFacts *facts)
{
  return (gint64) facts->n_cdc + facts->n_adds + facts->n_removes;
}

/* Whether the commit must wait for the next batch: something was taken and it does not fit any more. */
static gboolean
exceeds (const FeedRequest *request, const FeedFacts *taken, const FeedFacts *next)
{
  if (n_files_of (taken) == 0 || n_files_of (next) == 0)
    return FALSE;
  return (request->max_files > 0 && n_files_of (taken) + n_files_of (next) > request->max_files) ||
         (request->max_bytes > 0 && taken->bytes >= request->max_bytes);
}

/* Takes the next commit into the range. @done: (out): the range ends before it: a limit, or another mode from here on. */
static gboolean
extend (FeedWalk *walk, FeedRange *range, DeltaVersion version, gboolean *done, GError **error)
{
  const FeedRequest *request = walk->request;
  gboolean is_first = range->commits->len == 0;
  FeedFacts taken = feed_range_facts (range);
  FeedCommit *commit;
  FeedMode mode;

  if (!take_commit (walk, version, &mode, error))
    return FALSE;
  if (!is_first && mode != range->mode) {
    *done = request->partial;
    if (!request->partial) {
      range->mode = mode;
      return make_commits (walk, range, request->n_skipped, error);
    }
    return TRUE;
  }
  range->mode = mode;
  commit = feed_commit_new (feed_walk_commit (walk, walk->commits->len - 1),
                            feed_walk_metadata (walk, walk->commits->len - 1), mode, request->exclude,
                            is_first ? request->n_skipped : 0, error);
  if (commit == NULL)
    return FALSE;
  *done = exceeds (request, &taken, &commit->facts);
  if (*done)
    feed_commit_free (commit);
  else
    g_ptr_array_add (range->commits, commit);
  return TRUE;
}

static FeedRange *
range_of_stream (FeedWalk *walk, GError **error)
{
  g_autoptr (FeedRange) range =
      range_new (walk->table, walk->bounds.snapshot, walk->bounds.start, walk->bounds.start - 1);
  DeltaMetadata *read =
      walk->request->metadata != NULL ? walk->request->metadata : delta_snapshot_metadata (walk->bounds.snapshot);
  gboolean done = FALSE;

  for (DeltaVersion version = walk->bounds.start; version <= walk->bounds.end && !done; version++) {
    g_autoptr (GError) failure = NULL;
    if (!extend (walk, range, version, &done, &failure)) {
      if (range->commits->len == 0 || !walk->request->partial) {
        g_propagate_error (error, g_steal_pointer (&failure));
        return NULL;
      }
      done = TRUE;
    }
    if (!done)
      range->end = version;
  }
  g_ptr_array_set_size (walk->commits, (int) range->commits->len);
  g_ptr_array_set_size (walk->in_force, MIN ((int) walk->in_force->len, (int) range->commits->len));
  return finish_range (walk, range, read, error) ? g_steal_pointer (&range) : NULL;
}

FeedRange *
feed_range_new (DeltaTable *table, const FeedRequest *request, BaseSettings *settings, BaseCancel *cancel,
                GError **error)
{
  g_auto (FeedWalk) walk = { .table = table, .request = request, .settings = settings, .cancel = cancel };
  FeedRange *range = NULL;

  walk.commits = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_commit_unref);
  walk.in_force = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_metadata_unref);
  if (feed_bounds_find (table, request, settings, cancel, &walk.bounds, error))
    range = request->streaming ? range_of_stream (&walk, error) : range_of_batch (&walk, error);
  return range;
}

FeedRange *
feed_range_new_initial (DeltaSnapshot *snapshot, DeltaFile *const *files, guint n_files, DeltaMetadata *metadata,
                        GError **error)
{
  DeltaTable *table = delta_snapshot_table (snapshot);
  DeltaVersion version = delta_snapshot_version (snapshot);
  g_autoptr (FeedRange) range = range_new (table, snapshot, version, version);
  gint64 timestamp_ms = delta_snapshot_timestamp_ms (snapshot);
  FeedCommit *commit;

  if (!check_stream_schema (table, version, delta_snapshot_metadata (snapshot), metadata, error))
    return NULL;
  if (timestamp_ms < 0 && !delta_table_timestamp_of (table, version, &timestamp_ms, error))
    return NULL;
  commit = feed_commit_new_empty (version, timestamp_ms * 1000);
  g_ptr_array_add (range->commits, commit);
  for (guint i = 0; i < n_files; i++)
    feed_commit_add (commit, FEED_PART_INSERT, files[i]);
  range->metadata = delta_metadata_ref (metadata != NULL ? metadata : delta_snapshot_metadata (snapshot));
  range->schema = feed_schema_new (delta_metadata_schema (range->metadata), error);
  return range->schema != NULL ? g_steal_pointer (&range) : NULL;
}

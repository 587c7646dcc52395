/* What the automatic feed must know of a commit before its rows can be paired: row ids of every file (cdf.md §5.1), the names
 * under which files keep them, and whether the writer kept them at all (§5.3.5).
 *
 * Removed files usually say their ids; where they do not, the add of the version before does. Only rows that were not tracked have none.
 */
#include "base-error.h"
#include "feed-private.h"

static gboolean
has_row_ids (DeltaFile *file)
{
  return delta_file_base_row_id (file) >= 0 && delta_file_default_row_commit_version (file) >= 0;
}

static gboolean
no_row_ids (const FeedWalk *walk, const FeedCommit *commit, const FeedPart *part, GError **error)
{
  g_autofree char *version = feed_version_text (commit->version);

  base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR,
                  "version %s of %s names the file %s without row ids, although its rows are tracked", version,
                  delta_table_location (walk->table), delta_file_path (part->file));
  base_error_add_param (error, "version", version);
  base_error_add_param (error, "path", delta_file_path (part->file));
  return FALSE;
}

/* The snapshot before a commit, made once. */
static DeltaSnapshot *
snapshot_before (const FeedWalk *walk, const FeedCommit *commit, DeltaSnapshot **before, GError **error)
{
  if (*before == NULL && commit->version > 0)
    *before = delta_table_snapshot_at (walk->table, commit->version - 1, walk->cancel, error);
  return *before;
}

/* A commit that also switches row tracking on (CREATE OR REPLACE, RESTORE) removes rows that never had an id. They keep none: nothing is
 * paired with them. */
static gboolean
was_not_tracked (const FeedCommit *commit, const FeedPart *part)
{
  return part->kind == FEED_PART_DELETE && !delta_metadata_row_tracking (commit->before);
}

static gboolean
settle_part (const FeedWalk *walk, const FeedCommit *commit, FeedPart *part, DeltaSnapshot **before, GError **error)
{
  DeltaFile *other = part->in;
  DeltaFileInfo info;
  DeltaFile *settled;

  if (has_row_ids (part->file))
    return TRUE;
  if (other == NULL || other == part->file || !has_row_ids (other))
    other = part->out;
  if (other == NULL || !has_row_ids (other)) {
    DeltaSnapshot *snapshot;
    if (part->kind != FEED_PART_DELETE)
      return no_row_ids (walk, commit, part, error);
    snapshot = snapshot_before (walk, commit, before, error);
    if (snapshot == NULL)
      return FALSE;
    other = delta_snapshot_find_file (snapshot, delta_file_decoded_path (part->file));
  }
  if (other == NULL || !has_row_ids (other))
    return was_not_tracked (commit, part) || no_row_ids (walk, commit, part, error);
  info = delta_file_info (part->file);
  info.base_row_id = delta_file_base_row_id (other);
  info.default_row_commit_version = delta_file_default_row_commit_version (other);
  settled = delta_file_new (&info);
  delta_file_unref (part->file);
  part->file = settled;
  return TRUE;
}

/* Deleted rows lie in files of the table as it was before; only a commit that changes the metadata may tell them apart. */
static gboolean
settle_names (const FeedWalk *walk, FeedCommit *commit, guint index, DeltaSnapshot **before, GError **error)
{
  DeltaMetadata *after = feed_walk_metadata (walk, index);
  DeltaMetadata *earlier = after;

  if (index > 0) {
    earlier = feed_walk_metadata (walk, index - 1);
  } else if (delta_commit_metadata (feed_walk_commit (walk, index)) != NULL && commit->version > 0) {
    /* The names hardly ever change; where the log before the start is gone, they are taken not to have. */
    DeltaSnapshot *snapshot = snapshot_before (walk, commit, before, NULL);
    if (snapshot != NULL)
      earlier = delta_snapshot_metadata (snapshot);
    else if (!base_cancel_check (walk->cancel, error))
      return FALSE;
  }
  g_clear_pointer (&commit->before, delta_metadata_unref);
  g_clear_pointer (&commit->after, delta_metadata_unref);
  commit->before = delta_metadata_ref (earlier);
  commit->after = delta_metadata_ref (after);
  return TRUE;
}

static gboolean
not_kept (const FeedWalk *walk, const FeedCommit *commit, GError **error)
{
  g_autofree char *version = feed_version_text (commit->version);

  base_error_set (
      error, SLUICE_ERROR_CDF_AUTO_ROW_IDS_NOT_PRESERVED,
      "version %s of %s was written without the word that row ids were kept, so its rows cannot be told apart "
      "for certain",
      version, delta_table_location (walk->table));
  base_error_add_param (error, "version", version);
  base_error_set_hint (error, "SET engine.cdf.auto.unpreserved = cancelIdentical leaves out rows that only moved");
  return FALSE;
}

static gboolean
settle_commit (const FeedWalk *walk, FeedCommit *commit, guint index, GError **error)
{
  g_autoptr (DeltaSnapshot) before = NULL;

  if (!settle_names (walk, commit, index, &before, error))
    return FALSE;
  for (guint i = 0; i < commit->parts->len; i++)
    if (!settle_part (walk, commit, &g_array_index (commit->parts, FeedPart, i), &before, error))
      return FALSE;
  return TRUE;
}

gboolean
feed_row_ids_settle (const FeedWalk *walk, FeedRange *range, GError **error)
{
  const char *unpreserved =
      walk->settings != NULL ? base_settings_get (walk->settings, "engine.cdf.auto.unpreserved") : NULL;

  range->cancels_identical = unpreserved == NULL || g_ascii_strcasecmp (unpreserved, "cancelIdentical") == 0;
  if (range->mode != FEED_MODE_AUTOMATIC || range->deduplication == FEED_CARRYOVERS_SHOWN)
    return TRUE;
  for (guint i = 0; i < range->commits->len; i++) {
    FeedCommit *commit = range->commits->pdata[i];
    gboolean wanted = commit->has_both_sides || (range->deduplication == FEED_NET && commit->parts->len > 0);
    if (wanted && !settle_commit (walk, commit, i, error))
      return FALSE;
    if (commit->has_both_sides && !commit->keeps_row_ids && g_strcmp0 (unpreserved, "fail") == 0)
      return not_kept (walk, commit, error);
  }
  return TRUE;
}

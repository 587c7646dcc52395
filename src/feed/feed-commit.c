/* What one commit's actions mean as changes of rows (cdf.md §3.6, §4).
 *
 *   in the commit                     rows deleted        rows inserted
 *   any cdc action                    as the change files say, and nothing else
 *   add only                                              not in the add's vector
 *   remove only                       not in the remove's
 *   both, vectors R (remove), A       A \ R               R \ A
 *
 * Only actions with dataChange = true count. A commit without change files whose MERGE says that it changed nothing gives nothing.
 * The automatic mode does not look at cdc actions.
 */
#include "base-error.h"
#include "base-json.h"
#include "feed-private.h"

static void
part_clear (gpointer data)
{
  FeedPart *part = data;

  delta_file_unref (part->file);
  delta_file_unref (part->in);
  delta_file_unref (part->out);
}

FeedCommit *
feed_commit_new_empty (DeltaVersion version, gint64 timestamp_us)
{
  FeedCommit *commit = g_new0 (FeedCommit, 1);

  commit->version = version;
  commit->timestamp_us = timestamp_us;
  commit->parts = g_array_new (FALSE, TRUE, sizeof (FeedPart));
  g_array_set_clear_func (commit->parts, part_clear);
  return commit;
}

void
feed_commit_free (FeedCommit *commit)
{
  if (commit == NULL)
    return;
  g_array_unref (commit->parts);
  delta_metadata_unref (commit->before);
  delta_metadata_unref (commit->after);
  delta_metadata_unref (commit->read_deleted);
  g_free (commit);
}

static void
add_part (FeedCommit *commit, FeedPartKind kind, DeltaFile *file, gboolean is_paired, DeltaFile *in, DeltaFile *out)
{
  FeedPart part = { kind, is_paired, delta_file_ref (file), in != NULL ? delta_file_ref (in) : NULL,
                    out != NULL ? delta_file_ref (out) : NULL };

  g_array_append_val (commit->parts, part);
}

void
feed_commit_add (FeedCommit *commit, FeedPartKind kind, DeltaFile *file)
{
  add_part (commit, kind, file, FALSE, NULL, NULL);
  commit->facts.bytes += delta_file_size_bytes (file);
  switch (kind) {
  case FEED_PART_CHANGES:
    commit->facts.n_cdc++;
    break;
  case FEED_PART_INSERT:
    commit->facts.n_adds++;
    break;
  case FEED_PART_DELETE:
    commit->facts.n_removes++;
    break;
  }
}

/* A MERGE that rewrote files and changed no row; Spark writes its metrics as texts. */
static gboolean
says_nothing_changed (DeltaCommit *commit)
{
  static const char *const names[] = { "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted" };
  const json_t *info = delta_commit_info (commit);
  const json_t *metrics;

  if (info == NULL || g_strcmp0 (base_json_string (info, "operation"), "MERGE") != 0)
    return FALSE;
  metrics = json_object_get (info, "operationMetrics");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!json_is_object (metrics) || g_strcmp0 (base_json_string (metrics, names[i]), "0") != 0)
      return FALSE;
  return TRUE;
}

static gboolean
is_excluded (DeltaFile *file, GRegex *exclude)
{
  return exclude != NULL && g_regex_match (exclude, delta_file_path (file), 0, NULL);
}

/* A remove must say where its rows were: the size and the partition values of its file. */
static gboolean
check_remove (DeltaCommit *commit, DeltaFile *file, DeltaMetadata *metadata, GError **error)
{
  guint n_partition_columns = g_strv_length ((char **) delta_metadata_partition_columns (metadata));
  g_autofree char *version = NULL;

  if (delta_file_is_extended (file) ||
      (delta_file_size_bytes (file) > 0 && delta_file_n_partition_values (file) >= n_partition_columns))
    return TRUE;
  version = feed_version_text (delta_commit_version (commit));
  base_error_set (error, SLUICE_ERROR_DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA,
                  "version %s removes the file %s without its partition values and size, so its rows cannot be shown "
                  "as deleted",
                  version, delta_file_path (file));
  base_error_add_param (error, "file", delta_file_path (file));
  base_error_add_param (error, "version", version);
  return FALSE;
}

/* One side of the commit: decoded path → DeltaFile (borrowed), and their order. */
typedef struct {
  GHashTable *by_path;
  GPtrArray *files;
} Side;

static void
side_clear (Side *side)
{
  g_hash_table_unref (side->by_path);
  g_ptr_array_unref (side->files);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Side, side_clear)

static gboolean
side_add (Side *side, DeltaCommit *commit, DeltaFile *file, GError **error)
{
  if (!g_hash_table_insert (side->by_path, (gpointer) delta_file_decoded_path (file), file)) {
    base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT,
                    "version %" G_GINT64_FORMAT " has two actions of one kind for the file %s",
                    delta_commit_version (commit), delta_file_path (file));
    base_error_add_param (error, "path", delta_file_path (file));
    return FALSE;
  }
  g_ptr_array_add (side->files, file);
  return TRUE;
}

static gboolean
collect_sides (DeltaCommit *commit, DeltaMetadata *metadata, GRegex *exclude, guint n_skipped, Side *adds,
               Side *removes, GError **error)
{
  for (guint i = 0; i < delta_commit_n_actions (commit); i++) {
    const DeltaAction *action = delta_commit_action (commit, i);
    gboolean is_add = action->kind == DELTA_ACTION_ADD;
    if (!is_add && action->kind != DELTA_ACTION_REMOVE)
      continue;
    if (!delta_file_data_change (action->file))
      continue;
    if (n_skipped > 0) {
      n_skipped--;
      continue;
    }
    if (is_excluded (action->file, exclude))
      continue;
    if (!is_add && !check_remove (commit, action->file, metadata, error))
      return FALSE;
    if (!side_add (is_add ? adds : removes, commit, action->file, error))
      return FALSE;
  }
  return TRUE;
}

static void
add_paired (FeedCommit *answer, DeltaFile *removed, DeltaFile *added)
{
  const DeltaVectorDescriptor *before = delta_file_vector (removed);
  const DeltaVectorDescriptor *after = delta_file_vector (added);

  answer->facts.n_adds++;
  answer->facts.n_removes++;
  answer->facts.bytes += delta_file_size_bytes (added);
  if (delta_vector_descriptor_equal (before, after))
    return;
  if (after != NULL)
    add_part (answer, FEED_PART_DELETE, removed, TRUE, added, before != NULL ? removed : NULL);
  if (before != NULL)
    add_part (answer, FEED_PART_INSERT, added, TRUE, removed, after != NULL ? added : NULL);
}

static gboolean
derive (FeedCommit *answer, DeltaCommit *commit, DeltaMetadata *metadata, GRegex *exclude, guint n_skipped,
        GError **error)
{
  g_auto (Side) adds = { g_hash_table_new (g_str_hash, g_str_equal), g_ptr_array_new () };
  g_auto (Side) removes = { g_hash_table_new (g_str_hash, g_str_equal), g_ptr_array_new () };

  if (!collect_sides (commit, metadata, exclude, n_skipped, &adds, &removes, error))
    return FALSE;
  for (guint i = 0; i < removes.files->len; i++) {
    DeltaFile *removed = removes.files->pdata[i];
    DeltaFile *added = g_hash_table_lookup (adds.by_path, delta_file_decoded_path (removed));
    if (added != NULL)
      add_paired (answer, removed, added);
    else
      feed_commit_add (answer, FEED_PART_DELETE, removed);
  }
  for (guint i = 0; i < adds.files->len; i++) {
    DeltaFile *added = adds.files->pdata[i];
    if (!g_hash_table_contains (removes.by_path, delta_file_decoded_path (added)))
      feed_commit_add (answer, FEED_PART_INSERT, added);
  }
  return TRUE;
}

/* The protocol's word that ids of copied and updated rows were written with them. */
static gboolean
says_row_ids_kept (DeltaCommit *commit)
{
  const json_t *info = delta_commit_info (commit);
  const json_t *tags = info != NULL ? json_object_get (info, "tags") : NULL;

  return json_is_object (tags) && g_strcmp0 (base_json_string (tags, "delta.rowTracking.preserved"), "true") == 0;
}

static void
note_sides (FeedCommit *commit)
{
  gboolean deletes = FALSE, inserts = FALSE;

  for (guint i = 0; i < commit->parts->len; i++) {
    const FeedPart *part = &g_array_index (commit->parts, FeedPart, i);
    deletes = deletes || part->kind == FEED_PART_DELETE;
    inserts = inserts || part->kind == FEED_PART_INSERT;
  }
  commit->has_both_sides = deletes && inserts;
}

/* Change files, when there are any: the rest of the commit counts no more. */
static gboolean
take_change_files (FeedCommit *answer, DeltaCommit *commit, GRegex *exclude, guint n_skipped)
{
  guint n_cdc = 0;

  for (guint i = 0; i < delta_commit_n_actions (commit); i++) {
    const DeltaAction *action = delta_commit_action (commit, i);
    if (action->kind == DELTA_ACTION_CDC && n_cdc++ >= n_skipped && !is_excluded (action->file, exclude))
      feed_commit_add (answer, FEED_PART_CHANGES, action->file);
  }
  return n_cdc > 0;
}

FeedCommit *
feed_commit_new (DeltaCommit *commit, DeltaMetadata *metadata, FeedMode mode, GRegex *exclude, guint n_skipped,
                 GError **error)
{
  g_autoptr (FeedCommit) answer = feed_commit_new_empty (delta_commit_version (commit), 0);

  if (mode == FEED_MODE_LEGACY && take_change_files (answer, commit, exclude, n_skipped))
    return g_steal_pointer (&answer);
  if (!says_nothing_changed (commit) && !derive (answer, commit, metadata, exclude, n_skipped, error))
    return NULL;
  answer->keeps_row_ids = says_row_ids_kept (commit);
  note_sides (answer);
  return g_steal_pointer (&answer);
}

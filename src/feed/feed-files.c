/* Files that a range needs and that VACUUM may have taken (cdf.md §9.4). */
#include "base-error.h"
#include "feed-private.h"

/* @missing: (inout): the path as the log has it, when the file is gone. */
static gboolean
data_file_is_there (FeedRange *range, DeltaFile *file, char **missing, GError **error)
{
  g_autofree char *path = delta_table_file_path (range->table, file, error);

  if (path == NULL)
    return FALSE;
  if (path[0] != '/' || delta_table_has_file (range->table, path))
    return TRUE;
  *missing = g_strdup (delta_file_path (file));
  return FALSE;
}

/* @file: (nullable). */
static gboolean
vector_is_there (FeedRange *range, DeltaFile *file, char **missing)
{
  const DeltaVectorDescriptor *vector = file != NULL ? delta_file_vector (file) : NULL;
  g_autofree char *name = vector != NULL ? delta_vector_descriptor_file (vector) : NULL;

  if (name == NULL || delta_table_has_file (range->table, name)) /* none, inside the log, or there */
    return TRUE;
  *missing = g_steal_pointer (&name);
  return FALSE;
}

gboolean
feed_files_are_there (FeedRange *range, const FeedPart *part, char **missing, GError **error)
{
  *missing = NULL;
  if (!data_file_is_there (range, part->file, missing, error))
    return FALSE;
  if (part->kind == FEED_PART_CHANGES)
    return TRUE;
  return part->is_paired ? vector_is_there (range, part->in, missing) && vector_is_there (range, part->out, missing)
                         : vector_is_there (range, part->file, missing);
}

DeltaVersion
feed_files_first_whole (FeedRange *range)
{
  for (guint i = range->commits->len; i > 0; i--) {
    const FeedCommit *commit = range->commits->pdata[i - 1];
    for (guint j = 0; j < commit->parts->len; j++) {
      g_autofree char *missing = NULL;
      if (!feed_files_are_there (range, &g_array_index (commit->parts, FeedPart, j), &missing, NULL))
        return commit->version + 1;
    }
  }
  return range->start;
}

/* The first version that a reader may start at without an end; -1 when there is none. */
static DeltaVersion
first_of_all (FeedRange *range, BaseCancel *cancel)
{
  FeedRequest request = { .start = { FEED_BOUND_EARLIEST, 0, FALSE } };
  g_autoptr (FeedRange) all = feed_range_new (range->table, &request, NULL, cancel, NULL);

  return all != NULL && !feed_range_is_empty (all) ? all->start : DELTA_VERSION_NONE;
}

gboolean
feed_files_set_gone (FeedRange *range, DeltaVersion version, const char *missing, BaseCancel *cancel, GError **error)
{
  DeltaVersion whole = feed_files_first_whole (range);
  g_autofree char *text = feed_version_text (version);

  if (whole > range->end)
    whole = first_of_all (range, cancel);
  base_error_set (error, SLUICE_ERROR_DELTA_CHANGE_DATA_FILE_NOT_FOUND,
                  "the file %s, which holds changes of version %s of %s, does not exist", missing, text,
                  delta_table_location (range->table));
  base_error_add_param (error, "path", missing);
  base_error_add_param (error, "version", text);
  if (whole > version) {
    g_autofree char *first = feed_version_text (whole);
    base_error_add_param (error, "firstReadableVersion", first);
    base_error_set_hint (
        error,
        "VACUUM removed files that older versions need; the feed can be read from version %s on. Start "
        "there, or at 'earliest', or SET engine.cdf.startAtFirstReadable = true",
        first);
  } else {
    base_error_set_hint (error, "VACUUM removed files that these versions need, and no later version can be read");
  }
  return FALSE;
}

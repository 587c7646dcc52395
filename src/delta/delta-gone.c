/* Files that a version names and that are there no more: VACUUM took them, or somebody else (cdf.md 9.1, 9.4).
 *
 * The first version from which on all can be read is found backwards: a commit that removed a file that is gone ends the versions that
 * need it, and begins those that do not.
 */
#include "base-error.h"
#include "delta-table-private.h"
#include "delta-vector.h"

#include <unistd.h>

gboolean
delta_table_has_file (DeltaTable *table, const char *path)
{
  g_autofree char *local = path[0] == '/' ? g_strdup (path) : store_local_path (delta_table_store (table), path);

  return local == NULL || access (local, F_OK) == 0;
}

static gboolean
is_whole (DeltaTable *table, const DeltaFile *file)
{
  const DeltaVectorDescriptor *vector = delta_file_vector (file);
  g_autofree char *name = vector != NULL ? delta_vector_descriptor_file (vector) : NULL;

  return delta_table_has_file (table, delta_file_decoded_path (file)) &&
         (name == NULL || delta_table_has_file (table, name));
}

/* Whether @commit took a file away that is gone. */
static gboolean
removed_a_lost_file (DeltaTable *table, DeltaCommit *commit)
{
  for (guint i = 0; i < delta_commit_n_actions (commit); i++) {
    const DeltaAction *action = delta_commit_action (commit, i);
    if (action->kind == DELTA_ACTION_REMOVE && !is_whole (table, action->file))
      return TRUE;
  }
  return FALSE;
}

/* The first version after @version from which on every file is there; DELTA_VERSION_NONE when there is none, or it cannot be told. */
static DeltaVersion
first_whole_after (DeltaTable *table, DeltaVersion version, BaseCancel *cancel)
{
  DeltaVersion earliest, latest;

  if (!delta_table_versions (table, &earliest, &latest, NULL))
    return DELTA_VERSION_NONE;
  for (DeltaVersion at = latest; at > version; at--) {
    g_autoptr (DeltaCommit) commit = delta_table_commit (table, at, cancel, NULL);
    if (commit == NULL)
      return DELTA_VERSION_NONE;
    if (removed_a_lost_file (table, commit))
      return at;
  }
  return DELTA_VERSION_NONE;
}

gboolean
delta_table_set_file_gone (DeltaTable *table, const char *path, DeltaVersion version, BaseCancel *cancel,
                           GError **error)
{
  DeltaVersion whole = version >= 0 ? first_whole_after (table, version, cancel) : DELTA_VERSION_NONE;
  g_autofree char *first = g_strdup_printf ("%" G_GINT64_FORMAT, whole);
  g_autofree char *needed = g_strdup_printf ("%" G_GINT64_FORMAT, version);

  if (version >= 0)
    base_error_set (error, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED,
                    "the file %s, which version %s of %s needs, does not exist", path, needed,
                    delta_table_location (table));
  else
    base_error_set (error, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED,
                    "the file %s, which the log of %s names, does not exist", path, delta_table_location (table));
  base_error_add_param (error, "path", path);
  if (version >= 0)
    base_error_add_param (error, "version", needed);
  if (whole != DELTA_VERSION_NONE) {
    base_error_add_param (error, "firstReadableVersion", first);
    base_error_set_hint (error, "VACUUM removed files that older versions need; versions from %s on can be read",
                         first);
  } else {
    base_error_set_hint (
        error, "%s",
        "VACUUM removes files that only versions older than delta.deletedFileRetentionDuration need; one "
        "that the newest version needs was deleted by something else");
  }
  return FALSE;
}

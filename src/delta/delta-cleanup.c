/* Forgetting what the log need not hold any more (cdf.md 9.2).
 *
 *   versions     … 7   8   9  10  11  12  13        cutoff between 11 and 12
 *   checkpoints        8              12
 *   kept               8   9  10  11  12  13  …     8 is the newest checkpoint at or below 11
 *
 * Invariants:
 *   1. Every version at or after the cutoff stays readable, and so does the last one before it, which is what a timestamp
 *      between the two means. So nothing at or above the newest checkpoint that is not above that version is deleted.
 *   2. That checkpoint has been read, whole, before anything is deleted; if it cannot be, an older one is taken instead.
 *   3. Deletion goes from the oldest version up: whatever stops it leaves a log without a gap.
 *   4. A sidecar is deleted only when no checkpoint that is left names it and it is as old as the cutoff.
 */
#include "base-error.h"
#include "delta-checkpoint.h"
#include "delta-log-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"

#include <string.h>

#define DAY_US                   G_GINT64_CONSTANT (86400000000)
#define DEFAULT_LOG_RETENTION_US (30 * DAY_US)

gint64
delta_log_cutoff_us (DeltaSnapshot *snapshot, const BaseClock *clock)
{
  gint64 retention_us = delta_metadata_interval_us (delta_snapshot_metadata (snapshot), "delta.logRetentionDuration",
                                                    DEFAULT_LOG_RETENTION_US);
  gint64 cutoff_us = base_clock_now_us (clock) - retention_us;

  return cutoff_us - ((cutoff_us % DAY_US) + DAY_US) % DAY_US; /* midnight, UTC */
}

typedef struct {
  DeltaSnapshot *snapshot;
  DeltaTable *table;
  Store *store;
  gint64 cutoff_ms;
  BaseCancel *cancel;
  guint n_deleted;
} Cleanup;

/* ---- what is kept ---- */

/* The last version as old as the cutoff; DELTA_VERSION_NONE when all are younger. */
static gboolean
find_last_old (Cleanup *cleanup, const DeltaLogListing *listing, DeltaVersion *version, GError **error)
{
  g_autoptr (GError) failure = NULL;
  gint64 first_ms;

  *version = DELTA_VERSION_NONE;
  if (listing->commits->len == 0)
    return TRUE;
  /* Nearly always the log begins after the cutoff: one look tells. */
  if (!delta_table_first_timestamp (cleanup->table, g_array_index (listing->commits, DeltaLogCommit, 0).version,
                                    delta_snapshot_metadata (cleanup->snapshot), &first_ms, error))
    return FALSE;
  if (first_ms > cleanup->cutoff_ms)
    return TRUE;
  if (delta_table_version_at (cleanup->table, cleanup->cutoff_ms, DELTA_AT_OR_BEFORE, TRUE, version, &failure))
    return TRUE;
  if (g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* Whether a state can be made of the checkpoint alone. Only being cancelled is an error. */
static gboolean
is_whole (Cleanup *cleanup, const DeltaLogCheckpoint *checkpoint, gboolean *whole, GError **error)
{
  g_autoptr (DeltaReplay) replay = delta_replay_new (NULL);
  g_autoptr (DeltaSnapshot) state = NULL;
  DeltaSnapshotOrigin origin = { .version = checkpoint->version, .timestamp_ms = -1, .commit_size_bytes = -1 };
  gint64 size_bytes;

  if (!base_cancel_check (cleanup->cancel, error))
    return FALSE;
  if (delta_checkpoint_read (cleanup->table, checkpoint, replay, &size_bytes, cleanup->cancel, NULL))
    state = delta_replay_end (replay, cleanup->table, &origin, NULL);
  *whole = state != NULL;
  return base_cancel_check (cleanup->cancel, error);
}

/* The newest readable checkpoint not above @last_old; DELTA_VERSION_NONE when there is none. */
static gboolean
find_keep (Cleanup *cleanup, const DeltaLogListing *listing, DeltaVersion last_old, DeltaVersion *keep, GError **error)
{
  *keep = DELTA_VERSION_NONE;
  for (guint i = listing->checkpoints->len; i > 0; i--) {
    const DeltaLogCheckpoint *checkpoint = &g_array_index (listing->checkpoints, DeltaLogCheckpoint, i - 1);
    gboolean whole;
    if (checkpoint->version > last_old)
      continue;
    if (checkpoint->version <= 0)
      return TRUE;
    if (!is_whole (cleanup, checkpoint, &whole, error))
      return FALSE;
    if (whole) {
      *keep = checkpoint->version;
      return TRUE;
    }
  }
  return TRUE;
}

/* Whether every version from @keep to the newest has its commit. */
static gboolean
is_contiguous (const DeltaLogListing *listing, DeltaVersion keep, DeltaVersion latest)
{
  DeltaVersion expected = keep;

  for (guint i = 0; i < listing->commits->len; i++) {
    DeltaVersion version = g_array_index (listing->commits, DeltaLogCommit, i).version;
    if (version >= keep && version != expected++)
      return FALSE;
  }
  return expected > latest;
}

/* ---- deleting ---- */

/* Whether a file of the log begins below @keep: also a compaction that reaches further is of no use without its first commits. */
static gboolean
is_expired (const char *key, DeltaVersion keep)
{
  const char *name = key + strlen (DELTA_LOG_DIRECTORY);
  g_autofree char *limit = g_strdup_printf ("%020" G_GINT64_FORMAT, keep);

  for (guint i = 0; i < 20; i++)
    if (!g_ascii_isdigit (name[i]))
      return FALSE;
  return name[20] == '.' && strncmp (name, limit, 20) < 0;
}

static gboolean
delete_key (Cleanup *cleanup, const char *key, GError **error)
{
  if (!base_cancel_check (cleanup->cancel, error) || !store_delete (cleanup->store, key, error))
    return FALSE;
  cleanup->n_deleted++;
  return TRUE;
}

static gboolean
delete_versions (Cleanup *cleanup, DeltaVersion keep, GError **error)
{
  g_autoptr (GPtrArray) entries = NULL;

  if (!store_list (cleanup->store, DELTA_LOG_DIRECTORY, NULL, STORE_LIST_DIRECTORY | STORE_LIST_NAMES_ONLY, 0, &entries,
                   error))
    return FALSE;
  for (guint i = 0; i < entries->len; i++) {
    const StoreEntry *entry = entries->pdata[i];
    if (is_expired (entry->key, keep) && !delete_key (cleanup, entry->key, error))
      return FALSE;
  }
  return TRUE;
}

/* The sidecars that checkpoints from @keep on name. NULL when one of them cannot be asked: then no sidecar goes. */
static GHashTable *
named_sidecars (Cleanup *cleanup, const DeltaLogListing *listing, DeltaVersion keep)
{
  g_autoptr (GHashTable) named = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < listing->checkpoints->len; i++) {
    const DeltaLogCheckpoint *checkpoint = &g_array_index (listing->checkpoints, DeltaLogCheckpoint, i);
    g_autoptr (GPtrArray) keys = NULL;
    if (checkpoint->version < keep)
      continue;
    if (!delta_checkpoint_sidecars (cleanup->table, checkpoint, &keys, cleanup->cancel, NULL))
      return NULL;
    for (guint k = 0; k < keys->len; k++)
      g_hash_table_add (named, g_strdup (keys->pdata[k]));
  }
  return g_steal_pointer (&named);
}

static gboolean
delete_sidecars (Cleanup *cleanup, const DeltaLogListing *listing, DeltaVersion keep, GError **error)
{
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GHashTable) named = NULL;

  if (!store_list (cleanup->store, DELTA_LOG_SIDECARS, NULL, STORE_LIST_DIRECTORY, 0, &entries, error))
    return FALSE;
  if (entries->len == 0)
    return TRUE;
  named = named_sidecars (cleanup, listing, keep);
  for (guint i = 0; named != NULL && i < entries->len; i++) {
    const StoreEntry *entry = entries->pdata[i];
    if (entry->modified_us / 1000 <= cleanup->cutoff_ms && !g_hash_table_contains (named, entry->key) &&
        !delete_key (cleanup, entry->key, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
clean (Cleanup *cleanup, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (cleanup->snapshot);
  g_auto (DeltaLogListing) listing = { 0 };
  DeltaVersion last_old;
  DeltaVersion keep;

  if (!delta_log_list (cleanup->store, 0, TRUE, &listing, error) ||
      !find_last_old (cleanup, &listing, &last_old, error))
    return FALSE;
  if (last_old <= 0)
    return TRUE;
  if (!find_keep (cleanup, &listing, last_old, &keep, error))
    return FALSE;
  if (keep <= 0 || !is_contiguous (&listing, keep, delta_snapshot_version (cleanup->snapshot)))
    return TRUE;
  if (delta_protocol_has (delta_snapshot_protocol (cleanup->snapshot), "checkpointProtection") &&
      keep < delta_metadata_int (metadata, "delta.requireCheckpointProtectionBeforeVersion", 0))
    return TRUE;
  return delete_versions (cleanup, keep, error) && delete_sidecars (cleanup, &listing, keep, error);
}

gboolean
delta_log_cleanup (DeltaSnapshot *snapshot, const BaseClock *clock, BaseCancel *cancel, guint *n_deleted,
                   GError **error)
{
  Cleanup cleanup = { .snapshot = snapshot,
                      .table = delta_snapshot_table (snapshot),
                      .store = delta_table_store (delta_snapshot_table (snapshot)),
                      .cutoff_ms = delta_log_cutoff_us (snapshot, clock) / 1000,
                      .cancel = cancel };
  gboolean ok = !delta_metadata_bool (delta_snapshot_metadata (snapshot), "delta.enableExpiredLogCleanup", TRUE) ||
                clean (&cleanup, error);

  if (n_deleted != NULL)
    *n_deleted = cleanup.n_deleted;
  return ok;
}

/* A table's place, and how its newest state is found.
 *
 * Opening cold: `_last_checkpoint` (a hint) → the files behind it, by name or by one listing → newest whole checkpoint not above the
 * wanted version → commits after it, which must be without a gap. A hint that lies or a checkpoint that cannot be read costs another look,
 * not the answer.
 *
 * Opening warm: the commit file of the version known must still be the same (else the table was replaced); then version + 1,
 * + 2, … are read until one is missing. A warm open of an unchanged table is two system calls.
 *
 * Invariants:
 *   1. `cached` never goes back to an older version of the same history.
 *   2. Nothing under the lock does input or output.
 */
#include "base-error.h"
#include "base-json.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"
#include "duck-engine.h"

#include <string.h>

#define MAX_CACHED_VECTORS 256
#define MAX_CACHED_FOOTERS 200000

struct DeltaTable {
  gatomicrefcount memory; /* holds and references */
  gint n_users;           /* references: may come back from none while a hold lives */
  Store *store;
  DuckEngine *engine;
  GMutex lock;
  DeltaSnapshot *cached;
  gint64 cleanup_us;   /* cutoff of the newest clean-up; G_MININT64 = none */
  GHashTable *vectors; /* id → DeltaVector */
  GHashTable *footers; /* path → Footer */
};

typedef struct {
  gpointer value;
  GDestroyNotify free;
} Footer;

static void
footer_free (gpointer data)
{
  Footer *footer = data;

  footer->free (footer->value);
  g_free (footer);
}

DeltaTable *
delta_table_new (Store *store, DuckEngine *engine)
{
  DeltaTable *table = g_new0 (DeltaTable, 1);

  g_atomic_ref_count_init (&table->memory);
  table->n_users = 1;
  table->store = store_ref (store);
  table->engine = engine != NULL ? duck_engine_ref (engine) : NULL;
  g_mutex_init (&table->lock);
  table->cleanup_us = G_MININT64;
  table->vectors = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) delta_vector_unref);
  table->footers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, footer_free);
  return table;
}

DeltaTable *
delta_table_hold (DeltaTable *table)
{
  g_atomic_ref_count_inc (&table->memory);
  return table;
}

void
delta_table_release (DeltaTable *table)
{
  if (table == NULL || !g_atomic_ref_count_dec (&table->memory))
    return;
  g_hash_table_unref (table->vectors);
  g_hash_table_unref (table->footers);
  store_unref (table->store);
  duck_engine_unref (table->engine);
  g_mutex_clear (&table->lock);
  g_free (table);
}

DeltaTable *
delta_table_ref (DeltaTable *table)
{
  g_atomic_int_inc (&table->n_users);
  return delta_table_hold (table);
}

void
delta_table_unref (DeltaTable *table)
{
  g_autoptr (DeltaSnapshot) dropped = NULL;

  if (table == NULL)
    return;
  if (g_atomic_int_dec_and_test (&table->n_users)) {
    g_mutex_lock (&table->lock);
    dropped = g_steal_pointer (&table->cached);
    g_mutex_unlock (&table->lock);
  }
  g_clear_pointer (&dropped, delta_snapshot_unref);
  delta_table_release (table);
}

Store *
delta_table_store (DeltaTable *table)
{
  return table->store;
}

DuckEngine *
delta_table_engine (DeltaTable *table)
{
  return table->engine;
}

const char *
delta_table_location (DeltaTable *table)
{
  return store_root (table->store);
}

DuckSession *
delta_table_session (DeltaTable *table, GError **error)
{
  if (table->engine == NULL) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "the table %s was opened without an engine to read Parquet", delta_table_location (table));
    return NULL;
  }
  return duck_session_new (table->engine, error);
}

char *
delta_table_file_path (DeltaTable *table, DeltaFile *file, GError **error)
{
  const char *path = delta_file_decoded_path (file);
  char *local;

  if (path[0] == '/')
    return g_strdup (path);
  if (delta_file_is_absolute (file) || !store_key_is_valid (path)) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "the file `%s` of the table %s is not on this machine",
                    path, delta_table_location (table));
    return NULL;
  }
  local = store_local_path (table->store, path);
  if (local == NULL)
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "the table %s is not on this machine",
                    delta_table_location (table));
  return local;
}

/* Caches -------------------------------------------------------------------------------------------------------------- */

DeltaSnapshot *
delta_table_cached_snapshot (DeltaTable *table)
{
  DeltaSnapshot *snapshot;

  g_mutex_lock (&table->lock);
  snapshot = table->cached != NULL ? delta_snapshot_ref (table->cached) : NULL;
  g_mutex_unlock (&table->lock);
  return snapshot;
}

static void
cache_snapshot (DeltaTable *table, DeltaSnapshot *snapshot, gboolean replace_history)
{
  g_autoptr (DeltaSnapshot) dropped = NULL;

  g_mutex_lock (&table->lock);
  if (g_atomic_int_get (&table->n_users) > 0 &&
      (table->cached == NULL || replace_history ||
       delta_snapshot_version (table->cached) < delta_snapshot_version (snapshot))) {
    dropped = table->cached;
    table->cached = delta_snapshot_ref (snapshot);
  }
  g_mutex_unlock (&table->lock);
}

gboolean
delta_table_claim_cleanup (DeltaTable *table, gint64 cutoff_us)
{
  gboolean claimed;

  g_mutex_lock (&table->lock);
  claimed = table->cleanup_us != cutoff_us;
  table->cleanup_us = cutoff_us;
  g_mutex_unlock (&table->lock);
  return claimed;
}

DeltaVector *
delta_table_cached_vector (DeltaTable *table, const char *id)
{
  DeltaVector *vector;

  g_mutex_lock (&table->lock);
  vector = g_hash_table_lookup (table->vectors, id);
  if (vector != NULL)
    delta_vector_ref (vector);
  g_mutex_unlock (&table->lock);
  return vector;
}

void
delta_table_cache_vector (DeltaTable *table, const char *id, DeltaVector *vector)
{
  g_mutex_lock (&table->lock);
  if (g_hash_table_size (table->vectors) >= MAX_CACHED_VECTORS)
    g_hash_table_remove_all (table->vectors);
  g_hash_table_replace (table->vectors, g_strdup (id), delta_vector_ref (vector));
  g_mutex_unlock (&table->lock);
}

gpointer
delta_table_cached_footer (DeltaTable *table, const char *path)
{
  Footer *footer;

  g_mutex_lock (&table->lock);
  footer = g_hash_table_lookup (table->footers, path);
  g_mutex_unlock (&table->lock);
  return footer != NULL ? footer->value : NULL;
}

gpointer
delta_table_cache_footer (DeltaTable *table, const char *path, gpointer value, GDestroyNotify free_footer)
{
  Footer *footer;

  g_mutex_lock (&table->lock);
  footer = g_hash_table_lookup (table->footers, path);
  if (footer != NULL) {
    free_footer (value);
  } else {
    footer = g_new (Footer, 1);
    *footer = (Footer){ value, free_footer };
    g_hash_table_insert (table->footers, g_strdup (path), footer);
  }
  g_mutex_unlock (&table->lock);
  return footer->value;
}

/* Timestamps ---------------------------------------------------------------------------------------------------------- */

static gboolean
keep_commit_info (DeltaAction *action, gpointer timestamp_ms, GError **error G_GNUC_UNUSED)
{
  *(gint64 *) timestamp_ms = base_json_int64 (action->commit_info, "inCommitTimestamp", -1);
  return TRUE;
}

/* inCommitTimestamp of one commit; -1 when its file is gone or does not say. */
static gboolean
read_in_commit_timestamp (DeltaTable *table, DeltaVersion version, gint64 *timestamp_ms, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *key = delta_log_commit_key (version);

  *timestamp_ms = -1;
  if (!delta_log_read_commit (table->store, version, &bytes, error))
    return FALSE;
  return bytes == NULL ||
         delta_log_parse (bytes, key, 1u << DELTA_ACTION_COMMIT_INFO, keep_commit_info, timestamp_ms, error);
}

gboolean
delta_table_first_timestamp (DeltaTable *table, DeltaVersion first, DeltaMetadata *metadata, gint64 *timestamp_ms,
                             GError **error)
{
  g_autofree char *key = delta_log_commit_key (first);
  StoreEntry *entry = NULL;

  *timestamp_ms = -1;
  if (delta_metadata_uses_in_commit_timestamp (metadata, first) &&
      !read_in_commit_timestamp (table, first, timestamp_ms, error))
    return FALSE;
  if (*timestamp_ms >= 0)
    return TRUE;
  if (!store_stat (table->store, key, &entry, error))
    return FALSE;
  *timestamp_ms = entry != NULL ? entry->modified_us / 1000 : G_MAXINT64; /* gone meanwhile: somebody else cleans */
  if (entry != NULL)
    store_entry_free (entry);
  return TRUE;
}

/* The timestamps of a listing's commits, worked out as they are asked for: in-commit timestamps cost a read each. */
typedef struct {
  DeltaTable *table;
  DeltaMetadata *metadata;
  GArray *commits;     /* DeltaLogCommit; borrowed */
  gint64 *modified_ms; /* made monotonic */
} Timeline;

static void
timeline_clear (Timeline *timeline)
{
  delta_metadata_unref (timeline->metadata);
  g_free (timeline->modified_ms);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Timeline, timeline_clear)

static gboolean
timeline_init (Timeline *timeline, DeltaTable *table, GArray *commits, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, error);

  if (snapshot == NULL)
    return FALSE;
  timeline->table = table;
  timeline->metadata = delta_metadata_ref (delta_snapshot_metadata (snapshot));
  timeline->commits = commits;
  timeline->modified_ms = g_new (gint64, MAX (commits->len, 1));
  for (guint i = 0; i < commits->len; i++) {
    gint64 modified_ms = g_array_index (commits, DeltaLogCommit, i).modified_ms;
    timeline->modified_ms[i] = i == 0 ? modified_ms : MAX (modified_ms, timeline->modified_ms[i - 1] + 1);
  }
  return TRUE;
}

static gboolean
timeline_at (Timeline *timeline, guint index, gint64 *timestamp_ms, GError **error)
{
  DeltaVersion version = g_array_index (timeline->commits, DeltaLogCommit, index).version;
  gint64 stamped_ms = -1;

  if (delta_metadata_uses_in_commit_timestamp (timeline->metadata, version) &&
      !read_in_commit_timestamp (timeline->table, version, &stamped_ms, error))
    return FALSE;
  *timestamp_ms = stamped_ms >= 0 ? stamped_ms : timeline->modified_ms[index];
  return TRUE;
}

/* Opening ------------------------------------------------------------------------------------------------------------- */

static gboolean
not_found (DeltaTable *table, GError **error)
{
  base_error_set (error, SLUICE_ERROR_DELTA_TABLE_NOT_FOUND, "there is no Delta table at %s",
                  delta_table_location (table));
  base_error_add_param (error, "path", delta_table_location (table));
  return FALSE;
}

static gboolean
version_not_found (DeltaTable *table, DeltaVersion version, DeltaVersion earliest, DeltaVersion latest, GError **error)
{
  g_autofree char *user_text = g_strdup_printf ("%" G_GINT64_FORMAT, version);
  g_autofree char *earliest_text = g_strdup_printf ("%" G_GINT64_FORMAT, earliest);
  g_autofree char *latest_text = g_strdup_printf ("%" G_GINT64_FORMAT, latest);

  base_error_set (error, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND,
                  "version %s of the table %s does not exist; the versions that can be read are %s to %s", user_text,
                  delta_table_location (table), earliest_text, latest_text);
  base_error_add_param (error, "userVersion", user_text);
  base_error_add_param (error, "earliest", earliest_text);
  base_error_add_param (error, "latest", latest_text);
  return FALSE;
}

static gboolean
commit_is_there (DeltaTable *table, DeltaVersion version, gboolean *there, GError **error)
{
  g_autofree char *key = delta_log_commit_key (version);
  StoreEntry *entry = NULL;

  if (!store_stat (table->store, key, &entry, error))
    return FALSE;
  *there = entry != NULL;
  if (entry != NULL)
    store_entry_free (entry);
  return TRUE;
}

gboolean
delta_table_exists (DeltaTable *table, gboolean *exists, GError **error)
{
  g_autoptr (DeltaSnapshot) cached = delta_table_cached_snapshot (table);
  g_autoptr (GPtrArray) entries = NULL;
  gboolean found = FALSE;

  /* Nearly always the newest version known or the first one answers: a listing costs what the log is long. */
  if (cached != NULL && !commit_is_there (table, delta_snapshot_version (cached), &found, error))
    return FALSE;
  if (!found && !commit_is_there (table, 0, &found, error))
    return FALSE;
  if (found) {
    *exists = TRUE;
    return TRUE;
  }
  /* Names of commits and checkpoints begin with a digit. Those of Hadoop's checksums begin with a dot, which sorts before; the slash
   * lies between the two. */
  if (!store_list (table->store, DELTA_LOG_DIRECTORY, DELTA_LOG_DIRECTORY "/",
                   STORE_LIST_DIRECTORY | STORE_LIST_NAMES_ONLY, 1, &entries, error))
    return FALSE;
  if (entries->len > 0) {
    const StoreEntry *entry = entries->pdata[0];
    found = g_ascii_isdigit (entry->key[strlen (DELTA_LOG_DIRECTORY)]);
  }
  *exists = found;
  return TRUE;
}

static DeltaLogCommit *
commit_at (const DeltaLogListing *listing, guint index)
{
  return &g_array_index (listing->commits, DeltaLogCommit, index);
}

/* Index of the first commit ≥ @version. */
static guint
first_commit_from (const DeltaLogListing *listing, DeltaVersion version)
{
  guint low = 0;
  guint high = listing->commits->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (commit_at (listing, middle)->version < version)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static DeltaVersion
latest_of (const DeltaLogListing *listing)
{
  DeltaVersion latest = DELTA_VERSION_NONE;

  if (listing->commits->len > 0)
    latest = commit_at (listing, listing->commits->len - 1)->version;
  if (listing->checkpoints->len > 0)
    latest =
        MAX (latest, g_array_index (listing->checkpoints, DeltaLogCheckpoint, listing->checkpoints->len - 1).version);
  return latest;
}

/* The commits that a snapshot of @target over @checkpoint (nullable) needs must all be there. */
static gboolean
check_contiguous (DeltaTable *table, const DeltaLogListing *listing, const DeltaLogCheckpoint *checkpoint,
                  DeltaVersion target, GError **error)
{
  DeltaVersion expected = checkpoint != NULL ? checkpoint->version + 1 : 0;

  for (guint i = first_commit_from (listing, expected); i < listing->commits->len && expected <= target; i++) {
    DeltaVersion version = commit_at (listing, i)->version;
    if (version != expected) {
      if (checkpoint == NULL && expected == 0)
        return base_error_set (error, SLUICE_ERROR_DELTA_TRUNCATED_TRANSACTION_LOG,
                               "the log of %s begins at version %" G_GINT64_FORMAT
                               " and holds no checkpoint to start from",
                               delta_table_location (table), version);
      return base_error_set (error, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS,
                             "the log of %s has no version %" G_GINT64_FORMAT " although version %" G_GINT64_FORMAT
                             " exists",
                             delta_table_location (table), expected, version);
    }
    expected++;
  }
  if (expected <= target)
    return base_error_set (error, SLUICE_ERROR_DELTA_TRUNCATED_TRANSACTION_LOG,
                           "the log of %s lacks version %" G_GINT64_FORMAT, delta_table_location (table), expected);
  return TRUE;
}

static gboolean
replay_commit (DeltaTable *table, DeltaReplay *replay, DeltaVersion version, GBytes *bytes, guint kinds, GError **error)
{
  g_autofree char *key = delta_log_commit_key (version);

  if (delta_log_parse (bytes, key, kinds, delta_replay_action, replay, error))
    return TRUE;
  base_error_add_context (error, "reading the log of %s", delta_table_location (table));
  return FALSE;
}

/* How a snapshot is worked out. */
typedef struct {
  const DeltaLogListing *listing;
  const DeltaLogCheckpoint *checkpoint; /* (nullable): none, all from commits */
  DeltaVersion target;
  gboolean use_compactions;
  gboolean used_compactions; /* (out) */
} Plan;

/* The actions of one commit. */
static gboolean
read_and_replay_commit (DeltaTable *table, DeltaReplay *replay, const DeltaLogCommit *commit, DeltaVersion target,
                        GError **error)
{
  guint kinds = DELTA_REPLAY_KINDS | (commit->version == target ? 1u << DELTA_ACTION_COMMIT_INFO : 0);
  g_autoptr (GBytes) bytes = NULL;

  if (!delta_log_read_commit (table->store, commit->version, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS,
                           "version %" G_GINT64_FORMAT " of %s went away while the log was read", commit->version,
                           delta_table_location (table));
  return replay_commit (table, replay, commit->version, bytes, kinds, error);
}

/* The actions of a compaction, which stand for those of its commits. Any failure is a reason to read the commits. */
static gboolean
replay_compaction (DeltaTable *table, DeltaReplay *replay, const DeltaLogCompaction *compaction, GError **error)
{
  g_autofree char *key = delta_log_compaction_key (compaction);
  g_autoptr (GBytes) bytes = NULL;

  if (!delta_log_read_file (table->store, key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "the file %s went away", key);
  return delta_log_parse (bytes, key, DELTA_REPLAY_KINDS, delta_replay_action, replay, error);
}

static void
count_commit (const DeltaLogCommit *commit, DeltaSnapshotOrigin *origin)
{
  origin->json_bytes += commit->size_bytes;
  origin->timestamp_ms = MAX (commit->modified_ms, origin->timestamp_ms + 1);
  origin->commit_modified_us = commit->modified_us;
  origin->commit_size_bytes = commit->size_bytes;
}

/* Adds the commits after the plan's checkpoint. */
static gboolean
replay_commits (DeltaTable *table, Plan *plan, DeltaReplay *replay, BaseCancel *cancel, DeltaSnapshotOrigin *origin,
                GError **error)
{
  DeltaVersion from = plan->checkpoint != NULL ? plan->checkpoint->version + 1 : 0;
  DeltaVersion replayed = from - 1; /* up to here */

  for (guint i = first_commit_from (plan->listing, from); i < plan->listing->commits->len; i++) {
    const DeltaLogCommit *commit = commit_at (plan->listing, i);
    const DeltaLogCompaction *compaction = NULL;
    if (commit->version > plan->target)
      break;
    if (!base_cancel_check (cancel, error))
      return FALSE;
    if (plan->use_compactions && commit->version > replayed)
      compaction = delta_log_find_compaction (plan->listing, commit->version, plan->target);
    if (compaction != NULL) {
      if (!replay_compaction (table, replay, compaction, error))
        return FALSE;
      plan->used_compactions = TRUE;
      replayed = compaction->to;
    } else if (commit->version > replayed && !read_and_replay_commit (table, replay, commit, plan->target, error)) {
      return FALSE;
    }
    count_commit (commit, origin);
  }
  return TRUE;
}

/* What the listing says of the checkpoint's own commit. */
static void
start_origin (const DeltaLogListing *listing, const DeltaLogCheckpoint *checkpoint, DeltaVersion target,
              DeltaSnapshotOrigin *origin)
{
  guint i;

  *origin = (DeltaSnapshotOrigin){
    .version = target, .timestamp_ms = -1, .commit_size_bytes = -1, .checkpoint_version = DELTA_VERSION_NONE
  };
  if (checkpoint == NULL)
    return;
  origin->checkpoint_version = checkpoint->version;
  origin->checkpoint_bytes = checkpoint->size_bytes;
  i = first_commit_from (listing, checkpoint->version);
  if (i < listing->commits->len && commit_at (listing, i)->version == checkpoint->version) {
    origin->timestamp_ms = commit_at (listing, i)->modified_ms;
    origin->commit_modified_us = commit_at (listing, i)->modified_us;
    origin->commit_size_bytes = commit_at (listing, i)->size_bytes;
  }
}

/* In-commit timestamps replace the file's time. */
static gboolean
settle_timestamp (DeltaTable *table, DeltaReplay *replay, DeltaSnapshotOrigin *origin, GError **error)
{
  DeltaMetadata *metadata = delta_replay_metadata (replay);
  gint64 timestamp_ms = delta_replay_in_commit_timestamp_ms (replay);

  if (metadata == NULL || !delta_metadata_uses_in_commit_timestamp (metadata, origin->version))
    return TRUE;
  if (timestamp_ms < 0 && !read_in_commit_timestamp (table, origin->version, &timestamp_ms, error))
    return FALSE;
  if (timestamp_ms >= 0)
    origin->timestamp_ms = timestamp_ms;
  return TRUE;
}

static DeltaSnapshot *
open_over (DeltaTable *table, Plan *plan, BaseCancel *cancel, GError **error)
{
  g_autoptr (DeltaReplay) replay = delta_replay_new (NULL);
  DeltaSnapshotOrigin origin;

  if (!check_contiguous (table, plan->listing, plan->checkpoint, plan->target, error))
    return NULL;
  start_origin (plan->listing, plan->checkpoint, plan->target, &origin);
  if (plan->checkpoint != NULL &&
      !delta_checkpoint_read (table, plan->checkpoint, replay, &origin.checkpoint_bytes, cancel, error))
    return NULL;
  if (!replay_commits (table, plan, replay, cancel, &origin, error) ||
      !settle_timestamp (table, replay, &origin, error))
    return NULL;
  return delta_replay_end (replay, table, &origin, error);
}

/* Compactions save reading many commits, but a writer of one may have left out what the commits say: the removal of a domain, of a
 * file whose tombstone had expired. So they are taken only where a checksum file confirms what came out. */
static DeltaSnapshot *
open_over_compactions (DeltaTable *table, Plan *plan, BaseCancel *cancel)
{
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  if (plan->listing->compactions->len == 0 || !delta_log_has_checksum (plan->listing, plan->target))
    return NULL;
  plan->use_compactions = TRUE;
  snapshot = open_over (table, plan, cancel, NULL); /* the commits will say what is wrong */
  plan->use_compactions = FALSE;
  if (snapshot == NULL || !plan->used_compactions)
    return NULL;
  return delta_checksum_compare (snapshot) == DELTA_CHECKSUM_CONFIRMS ? g_steal_pointer (&snapshot) : NULL;
}

static gboolean
checksum_differs (const DeltaLogListing *listing, DeltaSnapshot *snapshot)
{
  return delta_log_has_checksum (listing, delta_snapshot_version (snapshot)) &&
         delta_checksum_compare (snapshot) == DELTA_CHECKSUM_DIFFERS;
}

/* Tries the checkpoints from the newest down, then the bare commits; the first error is the one to tell. A state over a checkpoint
 * that a checksum file contradicts is worked out once more from the next older start: where that one agrees, the checkpoint
 * was wrong, else the checksum file is. @settled: (out): FALSE when the listing has no older start. */
static DeltaSnapshot *
open_listed (DeltaTable *table, const DeltaLogListing *listing, DeltaVersion target, BaseCancel *cancel,
             gboolean *settled, GError **error)
{
  g_autoptr (GError) first = NULL;
  g_autoptr (DeltaSnapshot) doubtful = NULL;

  *settled = TRUE;
  for (guint i = listing->checkpoints->len + 1; i > 0; i--) {
    Plan plan = { .listing = listing, .target = target };
    g_autoptr (DeltaSnapshot) snapshot = NULL;
    g_autoptr (GError) failure = NULL;
    gboolean differs;
    if (i > 1)
      plan.checkpoint = &g_array_index (listing->checkpoints, DeltaLogCheckpoint, i - 2);
    if (plan.checkpoint != NULL && plan.checkpoint->version > target)
      continue;
    snapshot = open_over_compactions (table, &plan, cancel);
    if (snapshot != NULL)
      return g_steal_pointer (&snapshot);
    snapshot = open_over (table, &plan, cancel, &failure);
    if (snapshot != NULL) {
      differs = (plan.checkpoint != NULL || doubtful != NULL) && checksum_differs (listing, snapshot);
      if (!differs)
        return g_steal_pointer (&snapshot);
      if (doubtful != NULL)
        return g_steal_pointer (&doubtful);
      doubtful = g_steal_pointer (&snapshot);
      continue;
    }
    if (doubtful != NULL && !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED) &&
        !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT)) {
      *settled = FALSE;
      return g_steal_pointer (&doubtful);
    }
    if (plan.checkpoint == NULL || !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT)) {
      g_propagate_error (error, first != NULL && plan.checkpoint == NULL ? g_steal_pointer (&first)
                                                                         : g_steal_pointer (&failure));
      return NULL;
    }
    if (first == NULL)
      first = g_steal_pointer (&failure);
  }
  g_assert_not_reached ();
}

/* The first version that a state can be made of: 0, or that of a checkpoint. */
static DeltaVersion
earliest_readable (const DeltaLogListing *listing)
{
  if (listing->commits->len > 0 && commit_at (listing, 0)->version == 0)
    return 0;
  return listing->checkpoints->len > 0 ? g_array_index (listing->checkpoints, DeltaLogCheckpoint, 0).version
                                       : latest_of (listing);
}

/* What lies at the checkpoint named by the hint and behind it. The newest version costs the same however long the log is. */
static gboolean
list_from_hint (DeltaTable *table, DeltaVersion hint, DeltaVersion wanted, DeltaLogListing *listing, GError **error)
{
  gboolean found = FALSE;

  if (wanted == DELTA_VERSION_NONE && !delta_log_probe (table->store, hint, listing, &found, error))
    return FALSE;
  if (found)
    return TRUE;
  delta_log_listing_clear (listing);
  return delta_log_list (table->store, hint, FALSE, listing, error);
}

/* @wanted: DELTA_VERSION_NONE = the newest. */
static DeltaSnapshot *
open_cold (DeltaTable *table, DeltaVersion wanted, BaseCancel *cancel, GError **error)
{
  g_auto (DeltaLogListing) listing = { 0 };
  g_autoptr (GError) failure = NULL;
  DeltaVersion hint;
  DeltaVersion latest;
  gboolean settled;

  if (!delta_log_last_checkpoint (table->store, &hint, error))
    return NULL;
  if (hint > 0 && (wanted == DELTA_VERSION_NONE || hint <= wanted)) {
    if (!list_from_hint (table, hint, wanted, &listing, error))
      return NULL;
    if (listing.checkpoints->len > 0 &&
        g_array_index (listing.checkpoints, DeltaLogCheckpoint, 0).version <= latest_of (&listing) &&
        (wanted == DELTA_VERSION_NONE || wanted <= latest_of (&listing))) {
      DeltaSnapshot *snapshot = open_listed (
          table, &listing, wanted == DELTA_VERSION_NONE ? latest_of (&listing) : wanted, cancel, &settled, &failure);
      if (snapshot != NULL && settled)
        return snapshot;
      /* What a look at the whole log might still mend is worth that look. */
      if (snapshot == NULL && !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT) &&
          !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_TRUNCATED_TRANSACTION_LOG) &&
          !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS)) {
        g_propagate_error (error, g_steal_pointer (&failure));
        return NULL;
      }
      delta_snapshot_unref (snapshot);
      g_clear_error (&failure);
    }
    delta_log_listing_clear (&listing);
  }
  if (!delta_log_list (table->store, 0, FALSE, &listing, error))
    return NULL;
  latest = latest_of (&listing);
  if (latest == DELTA_VERSION_NONE) {
    not_found (table, error);
    return NULL;
  }
  if (wanted > latest) {
    version_not_found (table, wanted, earliest_readable (&listing), latest, error);
    return NULL;
  }
  DeltaSnapshot *snapshot =
      open_listed (table, &listing, wanted == DELTA_VERSION_NONE ? latest : wanted, cancel, &settled, &failure);
  if (snapshot != NULL)
    return snapshot;
  /* The log was cleaned: older versions are not there any more. */
  DeltaVersion earliest = earliest_readable (&listing);
  if (wanted != DELTA_VERSION_NONE && wanted < earliest &&
      g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_TRUNCATED_TRANSACTION_LOG))
    version_not_found (table, wanted, earliest, latest, error);
  else
    g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}

/* Whether @snapshot still is a version of the table that lies here now. */
static gboolean
is_current (DeltaTable *table, DeltaSnapshot *snapshot, gboolean *current, GError **error)
{
  const DeltaSnapshotOrigin *origin = delta_snapshot_origin (snapshot);
  g_autofree char *key = delta_log_commit_key (origin->version);
  StoreEntry *entry = NULL;

  if (!store_stat (table->store, key, &entry, error))
    return FALSE;
  *current = entry != NULL && origin->commit_size_bytes >= 0 && entry->size_bytes == origin->commit_size_bytes &&
             entry->modified_us == origin->commit_modified_us;
  if (entry != NULL)
    store_entry_free (entry);
  return TRUE;
}

/* Reads the commits after @base one by one until one is missing. @advanced: (out): NULL when there is none. */
static gboolean
open_warm (DeltaTable *table, DeltaSnapshot *base, BaseCancel *cancel, DeltaSnapshot **advanced, GError **error)
{
  g_autoptr (DeltaReplay) replay = NULL;
  DeltaSnapshotOrigin origin = *delta_snapshot_origin (base);

  *advanced = NULL;
  for (;;) {
    g_autoptr (GBytes) bytes = NULL;
    g_autofree char *key = delta_log_commit_key (origin.version + 1);
    StoreEntry *entry = NULL;
    if (!base_cancel_check (cancel, error) || !delta_log_read_commit (table->store, origin.version + 1, &bytes, error))
      return FALSE;
    if (bytes == NULL)
      break;
    if (replay == NULL)
      replay = delta_replay_new (base);
    if (!replay_commit (table, replay, origin.version + 1, bytes, DELTA_REPLAY_KINDS | 1u << DELTA_ACTION_COMMIT_INFO,
                        error) ||
        !store_stat (table->store, key, &entry, error))
      return FALSE;
    origin.version++;
    origin.json_bytes += (gint64) g_bytes_get_size (bytes);
    origin.commit_size_bytes = entry != NULL ? entry->size_bytes : -1;
    origin.commit_modified_us = entry != NULL ? entry->modified_us : 0;
    origin.timestamp_ms = MAX (origin.commit_modified_us / 1000, origin.timestamp_ms + 1);
    if (entry != NULL)
      store_entry_free (entry);
  }
  if (replay == NULL)
    return TRUE;
  if (!settle_timestamp (table, replay, &origin, error))
    return FALSE;
  *advanced = delta_replay_end (replay, table, &origin, error);
  return *advanced != NULL;
}

DeltaSnapshot *
delta_table_snapshot (DeltaTable *table, BaseCancel *cancel, GError **error)
{
  g_autoptr (DeltaSnapshot) cached = delta_table_cached_snapshot (table);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  gboolean current = FALSE;

  if (cached != NULL && !is_current (table, cached, &current, error))
    return NULL;
  if (current) {
    if (!open_warm (table, cached, cancel, &snapshot, error))
      return NULL;
    if (snapshot == NULL)
      return g_steal_pointer (&cached);
  } else {
    snapshot = open_cold (table, DELTA_VERSION_NONE, cancel, error);
    if (snapshot == NULL)
      return NULL;
  }
  cache_snapshot (table, snapshot, !current);
  return g_steal_pointer (&snapshot);
}

DeltaSnapshot *
delta_table_snapshot_at (DeltaTable *table, DeltaVersion version, BaseCancel *cancel, GError **error)
{
  g_autoptr (DeltaSnapshot) newest = NULL;

  if (version < 0) {
    version_not_found (table, version, 0, 0, error);
    return NULL;
  }
  newest = delta_table_cached_snapshot (table);
  if (newest != NULL && delta_snapshot_version (newest) <= version) {
    delta_snapshot_unref (g_steal_pointer (&newest));
    newest = delta_table_snapshot (table, cancel, error);
    if (newest == NULL)
      return NULL;
    if (delta_snapshot_version (newest) == version)
      return g_steal_pointer (&newest);
  }
  return open_cold (table, version, cancel, error);
}

/* Commits ------------------------------------------------------------------------------------------------------------- */

gboolean
delta_table_versions (DeltaTable *table, DeltaVersion *earliest, DeltaVersion *latest, GError **error)
{
  g_auto (DeltaLogListing) listing = { 0 };

  if (!delta_log_list (table->store, 0, TRUE, &listing, error))
    return FALSE;
  if (latest_of (&listing) == DELTA_VERSION_NONE)
    return not_found (table, error);
  *latest = latest_of (&listing);
  *earliest = listing.commits->len > 0 ? commit_at (&listing, 0)->version : *latest;
  return TRUE;
}

DeltaCommit *
delta_table_commit (DeltaTable *table, DeltaVersion version, BaseCancel *cancel, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *key = NULL;
  StoreEntry *entry = NULL;
  DeltaCommit *commit;
  gint64 modified_ms = -1;

  if (!base_cancel_check (cancel, error))
    return NULL;
  if (version < 0) {
    version_not_found (table, version, 0, 0, error);
    return NULL;
  }
  if (!delta_log_read_commit (table->store, version, &bytes, error))
    return NULL;
  if (bytes == NULL) {
    DeltaVersion earliest;
    DeltaVersion latest;
    if (delta_table_versions (table, &earliest, &latest, error))
      version_not_found (table, version, earliest, latest, error);
    return NULL;
  }
  key = delta_log_commit_key (version);
  if (!store_stat (table->store, key, &entry, error))
    return NULL;
  if (entry != NULL) {
    modified_ms = entry->modified_us / 1000;
    store_entry_free (entry);
  }
  commit = delta_commit_parse (version, bytes, modified_ms, error);
  if (commit == NULL)
    base_error_add_context (error, "reading the log of %s", delta_table_location (table));
  return commit;
}

GPtrArray *
delta_table_commits (DeltaTable *table, DeltaVersion from, DeltaVersion to, BaseCancel *cancel, GError **error)
{
  g_autoptr (GPtrArray) commits = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_commit_unref);

  for (DeltaVersion version = from; version <= to; version++) {
    g_autoptr (GError) failure = NULL;
    DeltaCommit *commit = delta_table_commit (table, version, cancel, &failure);
    if (commit == NULL) {
      if (version > from && g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND)) {
        const char *latest = base_error_param (failure, "latest");
        if (latest != NULL && g_ascii_strtoll (latest, NULL, 10) > version) {
          base_error_set (error, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS,
                          "the log of %s has no version %" G_GINT64_FORMAT " although version %s exists",
                          delta_table_location (table), version, latest);
          return NULL;
        }
      }
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
    g_ptr_array_add (commits, commit);
  }
  return g_steal_pointer (&commits);
}

static void
history_entry_free (gpointer data)
{
  DeltaHistoryEntry *entry = data;

  json_decref (entry->commit_info);
  g_free (entry);
}

GPtrArray *
delta_table_history (DeltaTable *table, guint n_most, BaseCancel *cancel, GError **error)
{
  g_auto (DeltaLogListing) listing = { 0 };
  g_auto (Timeline) timeline = { 0 };
  g_autoptr (GPtrArray) history = g_ptr_array_new_with_free_func (history_entry_free);

  if (!delta_log_list (table->store, 0, FALSE, &listing, error))
    return NULL;
  if (latest_of (&listing) == DELTA_VERSION_NONE) {
    not_found (table, error);
    return NULL;
  }
  if (!timeline_init (&timeline, table, listing.commits, error))
    return NULL;
  for (guint i = listing.commits->len; i > 0 && (n_most == 0 || history->len < n_most); i--) {
    DeltaVersion version = commit_at (&listing, i - 1)->version;
    g_autoptr (DeltaCommit) commit = delta_table_commit (table, version, cancel, error);
    DeltaHistoryEntry *entry;
    gint64 timestamp_ms;
    if (commit == NULL || !timeline_at (&timeline, i - 1, &timestamp_ms, error))
      return NULL;
    entry = g_new (DeltaHistoryEntry, 1);
    *entry = (DeltaHistoryEntry){ version, timestamp_ms, json_incref ((json_t *) delta_commit_info (commit)) };
    g_ptr_array_add (history, entry);
  }
  return g_steal_pointer (&history);
}

GArray *
delta_table_timestamps (DeltaTable *table, DeltaVersion from, DeltaVersion to, GError **error)
{
  g_auto (DeltaLogListing) listing = { 0 };
  g_auto (Timeline) timeline = { 0 };
  g_autoptr (GArray) answer = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint start;

  if (!delta_log_list (table->store, 0, FALSE, &listing, error) ||
      !timeline_init (&timeline, table, listing.commits, error))
    return NULL;
  start = first_commit_from (&listing, from);
  for (DeltaVersion version = from; version <= to; version++) {
    guint i = start + (guint) (version - from);
    gint64 timestamp_ms;
    if (i >= listing.commits->len || commit_at (&listing, i)->version != version) {
      DeltaVersion earliest = listing.commits->len > 0 ? commit_at (&listing, 0)->version : latest_of (&listing);
      version_not_found (table, version, earliest, latest_of (&listing), error);
      return NULL;
    }
    if (!timeline_at (&timeline, i, &timestamp_ms, error))
      return NULL;
    g_array_append_val (answer, timestamp_ms);
  }
  return g_steal_pointer (&answer);
}

gboolean
delta_table_timestamp_of (DeltaTable *table, DeltaVersion version, gint64 *timestamp_ms, GError **error)
{
  g_autoptr (GArray) timestamps = delta_table_timestamps (table, version, version, error);

  if (timestamps == NULL)
    return FALSE;
  *timestamp_ms = g_array_index (timestamps, gint64, 0);
  return TRUE;
}

static gboolean
timestamp_out_of_range (SluiceError code, gint64 asked_ms, const char *relation, DeltaVersion version, gint64 commit_ms,
                        GError **error)
{
  g_autoptr (GDateTime) asked = g_date_time_new_from_unix_utc (asked_ms / 1000);
  g_autoptr (GDateTime) commit = g_date_time_new_from_unix_utc (commit_ms / 1000);
  g_autofree char *asked_text = asked != NULL ? g_date_time_format (asked, "%Y-%m-%d %H:%M:%S") : g_strdup ("?");
  g_autofree char *commit_text = commit != NULL ? g_date_time_format (commit, "%Y-%m-%d %H:%M:%S") : g_strdup ("?");

  base_error_set (error, code, "the timestamp %s.%03d UTC is %s commit, version %" G_GINT64_FORMAT " of %s.%03d UTC",
                  asked_text, (int) (((asked_ms % 1000) + 1000) % 1000), relation, version, commit_text,
                  (int) (((commit_ms % 1000) + 1000) % 1000));
  base_error_add_param (error, "providedTimestamp", asked_text);
  base_error_add_param (error, "commitTimestamp", commit_text);
  return FALSE;
}

/* Times of files and in-commit timestamps need not agree: which commits a timestamp is looked for among, [begin, end), is told by
 * when in-commit timestamps were enabled (PROTOCOL.md "Recommendations for Readers of Tables with In-Commit Timestamps"). */
static void
choose_era (const Timeline *timeline, const DeltaLogListing *listing, gint64 timestamp_ms, guint *begin, guint *end)
{
  gint64 version = delta_metadata_int (timeline->metadata, "delta.inCommitTimestampEnablementVersion", -1);
  gint64 enabled_ms = delta_metadata_int (timeline->metadata, "delta.inCommitTimestampEnablementTimestamp", -1);
  guint split = first_commit_from (listing, version);

  *begin = 0;
  *end = listing->commits->len;
  if (!delta_metadata_commit_timestamps (timeline->metadata) || version < 0 || enabled_ms < 0 ||
      split == listing->commits->len)
    return;
  if (timestamp_ms >= enabled_ms)
    *begin = split;
  else
    *end = split;
}

gboolean
delta_table_version_at (DeltaTable *table, gint64 timestamp_ms, DeltaTimestampBound bound, gboolean may_exceed,
                        DeltaVersion *version, GError **error)
{
  g_auto (DeltaLogListing) listing = { 0 };
  g_auto (Timeline) timeline = { 0 };
  guint n_before;
  guint end;
  guint high;
  gint64 at_ms = 0;
  gint64 first_ms;

  if (!delta_log_list (table->store, 0, FALSE, &listing, error))
    return FALSE;
  if (listing.commits->len == 0)
    return not_found (table, error);
  if (!timeline_init (&timeline, table, listing.commits, error))
    return FALSE;
  choose_era (&timeline, &listing, timestamp_ms, &n_before, &end);
  /* How many commits are before the timestamp; inside an era timestamps only grow. */
  for (high = end; n_before < high;) {
    guint middle = n_before + (high - n_before) / 2;
    if (!timeline_at (&timeline, middle, &at_ms, error))
      return FALSE;
    if (at_ms < timestamp_ms)
      n_before = middle + 1;
    else
      high = middle;
  }
  if (n_before == listing.commits->len) {
    const DeltaLogCommit *last = commit_at (&listing, n_before - 1);
    if (!timeline_at (&timeline, n_before - 1, &at_ms, error))
      return FALSE;
    if (!may_exceed)
      return timestamp_out_of_range (SLUICE_ERROR_DELTA_TIMESTAMP_GREATER_THAN_COMMIT, timestamp_ms, "after the latest",
                                     last->version, at_ms, error);
    *version = bound == DELTA_AT_OR_AFTER ? last->version + 1 : last->version;
    return TRUE;
  }
  if (bound == DELTA_AT_OR_AFTER) {
    *version = commit_at (&listing, n_before)->version;
    return TRUE;
  }
  if (n_before < end) {
    if (!timeline_at (&timeline, n_before, &at_ms, error))
      return FALSE;
    n_before += at_ms == timestamp_ms ? 1 : 0;
  }
  if (n_before == 0) {
    if (!timeline_at (&timeline, 0, &first_ms, error))
      return FALSE;
    return timestamp_out_of_range (SLUICE_ERROR_DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION, timestamp_ms,
                                   "before the earliest available", commit_at (&listing, 0)->version, first_ms, error);
  }
  *version = commit_at (&listing, n_before - 1)->version;
  return TRUE;
}

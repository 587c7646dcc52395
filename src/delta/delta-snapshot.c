/* Snapshots and the replay that makes them (PROTOCOL.md "Action Reconciliation").
 *
 * Invariants:
 *   1. A snapshot never changes after delta_replay_end(); a new version shares the file values of the old one.
 *   2. `files` and `tombstones` are sorted by key, and no key is in both.
 *   3. Making version n + 1 from n costs a merge of sorted arrays (a pointer per file), never a second reading of files.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-file-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"
#include "delta-widening.h"

#include <string.h>

struct DeltaSnapshot {
  gatomicrefcount references;
  DeltaTable *table;
  DeltaSnapshotOrigin origin;
  DeltaProtocol *protocol;
  DeltaMetadata *metadata;
  GPtrArray *files;      /* DeltaFile, sorted by key */
  GPtrArray *tombstones; /* DeltaFile, sorted by key */
  GPtrArray *txns;       /* DeltaTxn, sorted by app_id */
  GPtrArray *domains;    /* DeltaDomain, sorted, none removed */
};

DeltaSnapshot *
delta_snapshot_ref (DeltaSnapshot *snapshot)
{
  g_atomic_ref_count_inc (&snapshot->references);
  return snapshot;
}

void
delta_snapshot_unref (DeltaSnapshot *snapshot)
{
  if (snapshot == NULL || !g_atomic_ref_count_dec (&snapshot->references))
    return;
  delta_table_release (snapshot->table);
  delta_protocol_unref (snapshot->protocol);
  delta_metadata_unref (snapshot->metadata);
  g_clear_pointer (&snapshot->files, g_ptr_array_unref);
  g_clear_pointer (&snapshot->tombstones, g_ptr_array_unref);
  g_clear_pointer (&snapshot->txns, g_ptr_array_unref);
  g_clear_pointer (&snapshot->domains, g_ptr_array_unref);
  g_free (snapshot);
}

const DeltaSnapshotOrigin *
delta_snapshot_origin (DeltaSnapshot *snapshot)
{
  return &snapshot->origin;
}

DeltaTable *
delta_snapshot_table (DeltaSnapshot *snapshot)
{
  return snapshot->table;
}

DeltaVersion
delta_snapshot_version (DeltaSnapshot *snapshot)
{
  return snapshot->origin.version;
}

gint64
delta_snapshot_timestamp_ms (DeltaSnapshot *snapshot)
{
  return snapshot->origin.timestamp_ms;
}

DeltaProtocol *
delta_snapshot_protocol (DeltaSnapshot *snapshot)
{
  return snapshot->protocol;
}

DeltaMetadata *
delta_snapshot_metadata (DeltaSnapshot *snapshot)
{
  return snapshot->metadata;
}

BaseType *
delta_snapshot_schema (DeltaSnapshot *snapshot)
{
  return delta_metadata_schema (snapshot->metadata);
}

guint
delta_snapshot_n_files (DeltaSnapshot *snapshot)
{
  return snapshot->files->len;
}

DeltaFile *
delta_snapshot_file (DeltaSnapshot *snapshot, guint index)
{
  g_assert (index < snapshot->files->len);
  return snapshot->files->pdata[index];
}

/* The first live file whose key is @path or begins with @path and a line feed. */
static DeltaFile *
find_by_decoded_path (DeltaSnapshot *snapshot, const char *path)
{
  guint low = 0;
  guint high = snapshot->files->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (strcmp (delta_file_key (snapshot->files->pdata[middle]), path) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  /* Between "path" and "path\nvector" lie only paths that go on with a byte below the line feed. */
  for (; low < snapshot->files->len; low++) {
    DeltaFile *file = snapshot->files->pdata[low];
    if (strcmp (delta_file_decoded_path (file), path) == 0)
      return file;
    if (!g_str_has_prefix (delta_file_key (file), path))
      return NULL;
  }
  return NULL;
}

DeltaFile *
delta_snapshot_find_file (DeltaSnapshot *snapshot, const char *path)
{
  g_autofree char *decoded = delta_file_decode_path (path);
  DeltaFile *file = decoded != NULL ? find_by_decoded_path (snapshot, decoded) : NULL;

  return file != NULL ? file : find_by_decoded_path (snapshot, path);
}

gint64
delta_snapshot_size_bytes (DeltaSnapshot *snapshot)
{
  gint64 size_bytes = 0;

  for (guint i = 0; i < snapshot->files->len; i++)
    size_bytes += delta_file_size_bytes (snapshot->files->pdata[i]);
  return size_bytes;
}

gint64
delta_snapshot_n_rows (DeltaSnapshot *snapshot)
{
  gint64 n_rows = 0;

  for (guint i = 0; i < snapshot->files->len; i++) {
    gint64 n_live = delta_file_n_live_records (snapshot->files->pdata[i]);
    if (n_live < 0)
      return -1;
    n_rows += n_live;
  }
  return n_rows;
}

guint
delta_snapshot_n_tombstones (DeltaSnapshot *snapshot)
{
  return snapshot->tombstones->len;
}

DeltaFile *
delta_snapshot_tombstone (DeltaSnapshot *snapshot, guint index)
{
  g_assert (index < snapshot->tombstones->len);
  return snapshot->tombstones->pdata[index];
}

gint64
delta_snapshot_txn_version (DeltaSnapshot *snapshot, const char *app_id, gint64 fallback)
{
  guint low = 0;
  guint high = snapshot->txns->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    const DeltaTxn *txn = snapshot->txns->pdata[middle];
    int order = strcmp (txn->app_id, app_id);
    if (order == 0)
      return txn->version;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return fallback;
}

static GPtrArray *
borrow_all (GPtrArray *values)
{
  GPtrArray *borrows = g_ptr_array_sized_new (values->len);

  for (guint i = 0; i < values->len; i++)
    g_ptr_array_add (borrows, values->pdata[i]);
  return borrows;
}

GPtrArray *
delta_snapshot_txns (DeltaSnapshot *snapshot)
{
  return borrow_all (snapshot->txns);
}

GPtrArray *
delta_snapshot_domains (DeltaSnapshot *snapshot)
{
  return borrow_all (snapshot->domains);
}

const char *
delta_snapshot_domain (DeltaSnapshot *snapshot, const char *name)
{
  for (guint i = 0; i < snapshot->domains->len; i++) {
    const DeltaDomain *domain = snapshot->domains->pdata[i];
    if (strcmp (domain->domain, name) == 0)
      return domain->configuration;
  }
  return NULL;
}

gint64
delta_snapshot_row_id_high_water_mark (DeltaSnapshot *snapshot)
{
  const char *text = delta_snapshot_domain (snapshot, "delta.rowTracking");
  g_autoptr (json_t) json = text != NULL ? base_json_parse (text, strlen (text), "delta.rowTracking", NULL) : NULL;

  return json_is_object (json) ? base_json_int64 (json, "rowIdHighWaterMark", -1) : -1;
}

/* Collects the texts of one list of a domain's JSON: entries are strings, or objects with @member. */
static void
collect_from_domain (const char *configuration, const char *list_name, const char *member, GTree *found)
{
  g_autoptr (json_t) json = base_json_parse (configuration, strlen (configuration), "domain", NULL);
  gsize k;
  json_t *entry;

  json_array_foreach (json_object_get (json, list_name), k, entry)
  {
    const char *text = json_is_object (entry) ? base_json_string (entry, member) : json_string_value (entry);
    if (text != NULL)
      g_tree_replace (found, g_strdup (text), NULL);
  }
}

static GTree *
texts_new (void)
{
  return g_tree_new_full ((GCompareDataFunc) (void (*) (void)) strcmp, NULL, g_free, NULL);
}

static char **
texts_to_list (GTree *found)
{
  GPtrArray *texts = g_ptr_array_new ();

  for (GTreeNode *node = g_tree_node_first (found); node != NULL; node = g_tree_node_next (node))
    g_ptr_array_add (texts, g_strdup (g_tree_node_key (node)));
  g_ptr_array_add (texts, NULL);
  return (char **) g_ptr_array_free (texts, FALSE);
}

/* The same of every `sluice.*` domain. */
static char **
collect_from_domains (DeltaSnapshot *snapshot, const char *list_name, const char *member)
{
  g_autoptr (GTree) found = texts_new ();

  for (guint i = 0; i < snapshot->domains->len; i++) {
    const DeltaDomain *domain = snapshot->domains->pdata[i];
    if (g_str_has_prefix (domain->domain, "sluice."))
      collect_from_domain (domain->configuration, list_name, member, found);
  }
  return texts_to_list (found);
}

char **
delta_domain_files (const char *configuration)
{
  g_autoptr (GTree) found = texts_new ();

  collect_from_domain (configuration, "files", "path", found);
  return texts_to_list (found);
}

char **
delta_snapshot_domain_files (DeltaSnapshot *snapshot)
{
  return collect_from_domains (snapshot, "files", "path");
}

char **
delta_snapshot_hidden_columns (DeltaSnapshot *snapshot)
{
  return collect_from_domains (snapshot, "hiddenColumns", "name");
}

/* Replay -------------------------------------------------------------------------------------------------------------- */

/* The last word on one logical file. */
typedef struct {
  DeltaFile *file;
  gboolean live;
} Change;

struct DeltaReplay {
  DeltaSnapshot *base;
  GHashTable *changes; /* key (borrowed from the change's file) → Change */
  GHashTable *txns;    /* app_id (borrowed) → DeltaTxn */
  GHashTable *domains; /* domain (borrowed) → DeltaDomain */
  DeltaProtocol *protocol;
  DeltaMetadata *metadata;
  gint64 in_commit_timestamp_ms;
};

static void
change_free (gpointer data)
{
  Change *change = data;

  delta_file_unref (change->file);
  g_free (change);
}

DeltaReplay *
delta_replay_new (DeltaSnapshot *base)
{
  DeltaReplay *replay = g_new0 (DeltaReplay, 1);

  replay->changes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, change_free);
  replay->txns = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) delta_txn_free);
  replay->domains = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) delta_domain_free);
  replay->in_commit_timestamp_ms = -1;
  if (base != NULL) {
    replay->base = delta_snapshot_ref (base);
    replay->protocol = delta_protocol_ref (base->protocol);
    replay->metadata = delta_metadata_ref (base->metadata);
  }
  return replay;
}

void
delta_replay_free (DeltaReplay *replay)
{
  if (replay == NULL)
    return;
  delta_snapshot_unref (replay->base);
  g_hash_table_unref (replay->changes);
  g_hash_table_unref (replay->txns);
  g_hash_table_unref (replay->domains);
  delta_protocol_unref (replay->protocol);
  delta_metadata_unref (replay->metadata);
  g_free (replay);
}

static void
replay_file (DeltaReplay *replay, DeltaFile *file, gboolean live)
{
  Change *change = g_new (Change, 1);

  *change = (Change){ delta_file_ref (file), live };
  /* Replaces the key too: the old key would go with the old file. */
  g_hash_table_replace (replay->changes, (gpointer) delta_file_key (file), change);
}

gboolean
delta_replay_action (DeltaAction *action, gpointer data, GError **error G_GNUC_UNUSED)
{
  DeltaReplay *replay = data;

  switch (action->kind) {
  case DELTA_ACTION_ADD:
  case DELTA_ACTION_REMOVE:
    replay_file (replay, action->file, action->kind == DELTA_ACTION_ADD);
    break;
  case DELTA_ACTION_METADATA:
    delta_metadata_unref (replay->metadata);
    replay->metadata = g_steal_pointer (&action->metadata);
    break;
  case DELTA_ACTION_PROTOCOL:
    delta_protocol_unref (replay->protocol);
    replay->protocol = g_steal_pointer (&action->protocol);
    break;
  case DELTA_ACTION_TXN:
    g_hash_table_replace (replay->txns, action->txn->app_id, action->txn);
    action->txn = NULL;
    break;
  case DELTA_ACTION_DOMAIN:
    g_hash_table_replace (replay->domains, action->domain->domain, action->domain);
    action->domain = NULL;
    break;
  case DELTA_ACTION_COMMIT_INFO:
    replay->in_commit_timestamp_ms = base_json_int64 (action->commit_info, "inCommitTimestamp", -1);
    break;
  case DELTA_ACTION_CDC:
    break;
  }
  return TRUE;
}

gint64
delta_replay_in_commit_timestamp_ms (DeltaReplay *replay)
{
  return replay->in_commit_timestamp_ms;
}

DeltaMetadata *
delta_replay_metadata (DeltaReplay *replay)
{
  return replay->metadata;
}

static int
compare_changes (gconstpointer a, gconstpointer b)
{
  return delta_file_compare ((*(Change *const *) a)->file, (*(Change *const *) b)->file);
}

static GPtrArray *
sorted_changes (DeltaReplay *replay)
{
  GPtrArray *changes = g_ptr_array_sized_new (g_hash_table_size (replay->changes));
  GHashTableIter iter;
  gpointer change;

  g_hash_table_iter_init (&iter, replay->changes);
  while (g_hash_table_iter_next (&iter, NULL, &change))
    g_ptr_array_add (changes, change);
  g_ptr_array_sort (changes, compare_changes);
  return changes;
}

/* @old (nullable) without the files that @changes speak of, plus the changes that are @live; all sorted. */
static GPtrArray *
merge_files (GPtrArray *old, GPtrArray *changes, gboolean live)
{
  guint n_old = old != NULL ? old->len : 0;
  GPtrArray *merged = g_ptr_array_new_full (n_old + changes->len, (GDestroyNotify) delta_file_unref);
  guint i = 0;
  guint k = 0;

  while (i < n_old || k < changes->len) {
    Change *change = k < changes->len ? changes->pdata[k] : NULL;
    int order = i == n_old ? 1 : change == NULL ? -1 : delta_file_compare (old->pdata[i], change->file);
    if (order < 0) {
      g_ptr_array_add (merged, delta_file_ref (old->pdata[i++]));
      continue;
    }
    if (change->live == live)
      g_ptr_array_add (merged, delta_file_ref (change->file));
    k++;
    i += order == 0 ? 1 : 0;
  }
  return merged;
}

static int
compare_txns (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(DeltaTxn *const *) a)->app_id, (*(DeltaTxn *const *) b)->app_id);
}

static int
compare_domains (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(DeltaDomain *const *) a)->domain, (*(DeltaDomain *const *) b)->domain);
}

static GPtrArray *
end_txns (DeltaReplay *replay)
{
  GPtrArray *txns = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_txn_free);
  GHashTableIter iter;
  gpointer value;

  for (guint i = 0; replay->base != NULL && i < replay->base->txns->len; i++) {
    const DeltaTxn *txn = replay->base->txns->pdata[i];
    if (!g_hash_table_contains (replay->txns, txn->app_id))
      g_ptr_array_add (txns, delta_txn_new (txn->app_id, txn->version, txn->last_updated_ms));
  }
  g_hash_table_iter_init (&iter, replay->txns);
  while (g_hash_table_iter_next (&iter, NULL, &value)) {
    g_hash_table_iter_steal (&iter);
    g_ptr_array_add (txns, value);
  }
  g_ptr_array_sort (txns, compare_txns);
  return txns;
}

static GPtrArray *
end_domains (DeltaReplay *replay)
{
  GPtrArray *domains = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_domain_free);
  GHashTableIter iter;
  gpointer value;

  for (guint i = 0; replay->base != NULL && i < replay->base->domains->len; i++) {
    const DeltaDomain *domain = replay->base->domains->pdata[i];
    if (!g_hash_table_contains (replay->domains, domain->domain))
      g_ptr_array_add (domains, delta_domain_new (domain->domain, domain->configuration, FALSE));
  }
  g_hash_table_iter_init (&iter, replay->domains);
  while (g_hash_table_iter_next (&iter, NULL, &value)) {
    if (((DeltaDomain *) value)->removed)
      continue;
    g_hash_table_iter_steal (&iter);
    g_ptr_array_add (domains, value);
  }
  g_ptr_array_sort (domains, compare_domains);
  return domains;
}

DeltaSnapshot *
delta_replay_end (DeltaReplay *replay, DeltaTable *table, const DeltaSnapshotOrigin *origin, GError **error)
{
  g_autoptr (GPtrArray) changes = NULL;
  DeltaSnapshot *snapshot;

  if (replay->protocol == NULL || replay->metadata == NULL) {
    base_error_set (error, SLUICE_ERROR_DELTA_STATE_RECOVER_ERROR,
                    "the log of %s holds no %s up to version %" G_GINT64_FORMAT, delta_table_location (table),
                    replay->protocol == NULL ? "protocol" : "metadata", origin->version);
    return NULL;
  }
  if (!delta_protocol_check_read (replay->protocol, error)) {
    base_error_add_context (error, "opening version %" G_GINT64_FORMAT " of %s", origin->version,
                            delta_table_location (table));
    return NULL;
  }
  if ((delta_protocol_has (replay->protocol, "typeWidening") ||
       delta_protocol_has (replay->protocol, "typeWidening-preview")) &&
      !delta_schema_check_type_changes (delta_metadata_schema (replay->metadata), error)) {
    base_error_add_context (error, "opening version %" G_GINT64_FORMAT " of %s", origin->version,
                            delta_table_location (table));
    return NULL;
  }
  changes = sorted_changes (replay);
  snapshot = g_new0 (DeltaSnapshot, 1);
  g_atomic_ref_count_init (&snapshot->references);
  snapshot->table = delta_table_hold (table);
  snapshot->origin = *origin;
  snapshot->protocol = g_steal_pointer (&replay->protocol);
  snapshot->metadata = g_steal_pointer (&replay->metadata);
  snapshot->files = merge_files (replay->base != NULL ? replay->base->files : NULL, changes, TRUE);
  snapshot->tombstones = merge_files (replay->base != NULL ? replay->base->tombstones : NULL, changes, FALSE);
  snapshot->txns = end_txns (replay);
  snapshot->domains = end_domains (replay);
  return snapshot;
}

gboolean
delta_metadata_uses_in_commit_timestamp (DeltaMetadata *metadata, DeltaVersion version)
{
  return delta_metadata_commit_timestamps (metadata) &&
         version >= delta_metadata_int (metadata, "delta.inCommitTimestampEnablementVersion", 0);
}

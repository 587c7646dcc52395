/* VACUUM.
 *
 * A file is deleted only if it is (1) in the directory, (2) not hidden, (3) older than the cutoff by its own time, and (4) in no
 * list of what is needed. The lists are sets of keys:
 *   - live files and vectors of the newest version, files that its domains name;
 *   - tombstones younger than the cutoff;
 *   - everything that a commit younger than the cutoff names (it may be a checkpoint's tombstone no more);
 *   - files of domains at the last version before the cutoff, which is the oldest state that the retention promises.
 *
 * The log may write one file in more than one way (`./a`, `/abs/table/a`, through a symbolic link). Keys are made plain first; what
 * then is not found in the listing is asked for its real path, and that is needed too.
 */
#include "delta-vacuum.h"

#include "base-error.h"
#include "delta-log-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define AUTOCDC_DIRECTORY "_autocdc"

struct DeltaVacuum {
  Store *store;
  GPtrArray *keys; /* char *: to delete */
  gint64 bytes;
  guint n_directories;
};

typedef struct {
  DeltaSnapshot *snapshot;
  DeltaTable *table;
  Store *store;
  gint64 cutoff_ms;
  BaseCancel *cancel;
  char *real_root;     /* (nullable): the root without symbolic links */
  GHashTable *needed;  /* keys */
  GHashTable *removed; /* (nullable): keys that a commit removed (LITE) */
} Search;

static void
search_clear (Search *search)
{
  free (search->real_root); /* realpath()'s */
  g_clear_pointer (&search->needed, g_hash_table_unref);
  g_clear_pointer (&search->removed, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Search, search_clear)

/* ---- keys ---- */

/* The part of an absolute path below @root, NULL when it is not there. */
static const char *
below (const char *path, const char *root)
{
  gsize size = root != NULL ? strlen (root) : 0;

  if (root == NULL || strncmp (path, root, size) != 0)
    return NULL;
  return path[size] == '/' ? path + size + 1 : size > 0 && root[size - 1] == '/' ? path + size : NULL;
}

/* A relative path without empty, `.` and `..` parts; NULL when it leads out of the table. Returns: (transfer full). */
static char *
plain_key (const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, "/", -1);
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();

  for (char **part = parts; *part != NULL; part++) {
    if (**part == '\0' || strcmp (*part, ".") == 0)
      continue;
    if (strcmp (*part, "..") != 0)
      g_ptr_array_add (kept, *part);
    else if (kept->len > 0)
      g_ptr_array_set_size (kept, (gint) kept->len - 1);
    else
      return NULL;
  }
  g_ptr_array_add (kept, NULL);
  return g_strjoinv ("/", (char **) kept->pdata);
}

/* @path: decoded. Adds its key to @set; a file outside of the table is none of ours. */
static void
note (Search *search, GHashTable *set, const char *path)
{
  const char *relative = path;
  char *key;

  if (path[0] == '/') {
    relative = below (path, store_root (search->store));
    if (relative == NULL)
      relative = below (path, search->real_root);
    if (relative == NULL)
      return;
  }
  key = plain_key (relative);
  if (key != NULL)
    g_hash_table_add (set, key);
}

static void
note_file (Search *search, GHashTable *set, DeltaFile *file)
{
  g_autofree char *vector =
      delta_file_vector (file) != NULL ? delta_vector_descriptor_file (delta_file_vector (file)) : NULL;

  note (search, set, delta_file_decoded_path (file));
  if (vector != NULL)
    note (search, set, vector);
}

static void
note_domain_files (Search *search, DeltaSnapshot *snapshot)
{
  g_auto (GStrv) files = delta_snapshot_domain_files (snapshot);

  for (char **file = files; *file != NULL; file++)
    note (search, search->needed, *file);
}

static void
note_domain_text (Search *search, const char *configuration)
{
  g_auto (GStrv) files = delta_domain_files (configuration);

  for (char **file = files; *file != NULL; file++)
    note (search, search->needed, *file);
}

/* ---- what is needed ---- */

static void
note_snapshot (Search *search)
{
  for (guint i = 0; i < delta_snapshot_n_files (search->snapshot); i++)
    note_file (search, search->needed, delta_snapshot_file (search->snapshot, i));
  for (guint i = 0; i < delta_snapshot_n_tombstones (search->snapshot); i++) {
    DeltaFile *file = delta_snapshot_tombstone (search->snapshot, i);
    gboolean young = delta_file_deletion_ms (file) >= search->cutoff_ms;
    if (young)
      note_file (search, search->needed, file);
    else if (search->removed != NULL)
      note_file (search, search->removed, file);
  }
  note_domain_files (search, search->snapshot);
}

static gboolean
note_needed_action (DeltaAction *action, gpointer data, GError **error G_GNUC_UNUSED)
{
  Search *search = data;

  switch (action->kind) {
  case DELTA_ACTION_ADD:
  case DELTA_ACTION_REMOVE:
  case DELTA_ACTION_CDC:
    note_file (search, search->needed, action->file);
    break;
  case DELTA_ACTION_DOMAIN:
    if (!action->domain->removed && g_str_has_prefix (action->domain->domain, "sluice."))
      note_domain_text (search, action->domain->configuration);
    break;
  case DELTA_ACTION_METADATA:
  case DELTA_ACTION_PROTOCOL:
  case DELTA_ACTION_TXN:
  case DELTA_ACTION_COMMIT_INFO:
    break;
  }
  return TRUE;
}

static gboolean
note_removed_action (DeltaAction *action, gpointer data, GError **error G_GNUC_UNUSED)
{
  Search *search = data;

  if (action->kind == DELTA_ACTION_REMOVE || action->kind == DELTA_ACTION_CDC)
    note_file (search, search->removed, action->file);
  return TRUE;
}

/* Calls @func for the actions of versions @from … @to; one that is gone (a clean-up beside us) is passed over. */
static gboolean
walk_commits (Search *search, DeltaVersion from, DeltaVersion to, DeltaLogActionFunc func, GError **error)
{
  const guint kinds =
      1u << DELTA_ACTION_ADD | 1u << DELTA_ACTION_REMOVE | 1u << DELTA_ACTION_CDC | 1u << DELTA_ACTION_DOMAIN;

  for (DeltaVersion version = from; version <= to; version++) {
    g_autoptr (GBytes) bytes = NULL;
    g_autofree char *key = delta_log_commit_key (version);
    if (!base_cancel_check (search->cancel, error) || !delta_log_read_commit (search->store, version, &bytes, error))
      return FALSE;
    if (bytes != NULL && !delta_log_parse (bytes, key, kinds, func, search, error))
      return FALSE;
  }
  return TRUE;
}

/* Everything that versions since the cutoff name. @first: (out): the first of them. */
static gboolean
note_young_commits (Search *search, DeltaVersion *first, GError **error)
{
  DeltaVersion latest = delta_snapshot_version (search->snapshot);

  if (!delta_table_version_at (search->table, search->cutoff_ms, DELTA_AT_OR_AFTER, TRUE, first, error))
    return FALSE;
  return walk_commits (search, *first, latest, note_needed_action, error);
}

/* Files of domains at the version before @first: the state that the table had at the cutoff. */
static gboolean
note_domains_at_cutoff (Search *search, DeltaVersion first, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (DeltaSnapshot) then = NULL;

  if (first <= 0 || first > delta_snapshot_version (search->snapshot))
    return TRUE;
  then = delta_table_snapshot_at (search->table, first - 1, search->cancel, &failure);
  if (then != NULL) {
    note_domain_files (search, then);
    return TRUE;
  }
  /* A version that cannot be read any more needs nothing. */
  if (g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND) ||
      g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_TRUNCATED_TRANSACTION_LOG) ||
      g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* ---- what is there ---- */

/* Whether one part of a key is a name that VACUUM passes over. */
static gboolean
part_is_hidden (Search *search, const char *part, gsize size, gboolean first)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (search->snapshot);
  BaseType *schema = delta_snapshot_schema (search->snapshot);
  const char *equals = memchr (part, '=', size);

  if (part[0] != '_' && part[0] != '.')
    return FALSE;
  if (g_str_has_prefix (part, "_change_data") || g_str_has_prefix (part, "_delta_index"))
    return FALSE;
  if (first && size == strlen (AUTOCDC_DIRECTORY) && strncmp (part, AUTOCDC_DIRECTORY, size) == 0)
    return FALSE;
  for (guint i = 0; equals != NULL && i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    const char *names[] = { field->name, delta_field_physical_name (field, delta_metadata_mapping (metadata)) };
    for (guint k = 0; delta_metadata_is_partition_column (metadata, i) && k < G_N_ELEMENTS (names); k++) {
      g_autofree char *directory = delta_file_partition_directory (names[k], "");
      const char *end = strchr (directory, '=');
      if (end != NULL && equals - part == end - directory && strncmp (part, directory, (gsize) (end - directory)) == 0)
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean
is_hidden (Search *search, const char *key)
{
  for (const char *part = key;;) {
    const char *slash = strchr (part, '/');
    gsize size = slash != NULL ? (gsize) (slash - part) : strlen (part);
    if (part_is_hidden (search, part, size, part == key))
      return TRUE;
    if (slash == NULL)
      return FALSE;
    part = slash + 1;
  }
}

/* Directories below the table that have a log of their own, each with its final slash. */
static GPtrArray *
find_inner_tables (GPtrArray *entries)
{
  GPtrArray *inner = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < entries->len; i++) {
    const char *key = ((const StoreEntry *) entries->pdata[i])->key;
    const char *log = strstr (key, "/" DELTA_LOG_DIRECTORY);
    gsize size = log != NULL ? (gsize) (log - key) + 1 : 0;
    const char *last = inner->len > 0 ? inner->pdata[inner->len - 1] : NULL;
    if (log != NULL && (last == NULL || strlen (last) != size || strncmp (last, key, size) != 0))
      g_ptr_array_add (inner, g_strndup (key, size));
  }
  return inner;
}

static gboolean
is_in (const char *key, GPtrArray *directories)
{
  for (guint i = 0; i < directories->len; i++)
    if (g_str_has_prefix (key, directories->pdata[i]))
      return TRUE;
  return FALSE;
}

static guint
count_directories (GPtrArray *entries)
{
  g_autoptr (GHashTable) directories = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < entries->len; i++) {
    const char *key = ((const StoreEntry *) entries->pdata[i])->key;
    if (!g_str_has_prefix (key, DELTA_LOG_DIRECTORY))
      g_hash_table_add (directories, g_path_get_dirname (key));
  }
  return g_hash_table_size (directories);
}

/* What is needed under a name that the listing does not have is looked for by its real path. */
static void
note_real_paths (Search *search, GPtrArray *entries)
{
  g_autoptr (GHashTable) there = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) real = g_ptr_array_new_with_free_func (free);
  GHashTableIter iter;
  gpointer key;

  for (guint i = 0; i < entries->len; i++)
    g_hash_table_add (there, ((StoreEntry *) entries->pdata[i])->key);
  g_hash_table_iter_init (&iter, search->needed);
  while (g_hash_table_iter_next (&iter, &key, NULL)) {
    g_autofree char *local = g_hash_table_contains (there, key) ? NULL : store_local_path (search->store, key);
    char *path = local != NULL ? realpath (local, NULL) : NULL;
    if (path != NULL)
      g_ptr_array_add (real, path);
  }
  for (guint i = 0; i < real->len; i++)
    note (search, search->needed, real->pdata[i]);
}

/* Keys that may go, by name: sorted. */
static gboolean
list_strays (Search *search, GPtrArray *strays, guint *n_directories, GError **error)
{
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GPtrArray) inner = NULL;

  if (!store_list (search->store, "", NULL, STORE_LIST_RECURSIVE | STORE_LIST_NAMES_ONLY | STORE_LIST_NO_LINKS, 0,
                   &entries, error))
    return FALSE;
  inner = find_inner_tables (entries);
  note_real_paths (search, entries);
  for (guint i = 0; i < entries->len; i++) {
    const char *key = ((const StoreEntry *) entries->pdata[i])->key;
    if (!g_str_has_prefix (key, DELTA_LOG_DIRECTORY) && !g_hash_table_contains (search->needed, key) &&
        !is_hidden (search, key) && !is_in (key, inner))
      g_ptr_array_add (strays, g_strdup (key));
  }
  *n_directories = count_directories (entries);
  return TRUE;
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* LITE: what the log says was removed. */
static gboolean
collect_removed (Search *search, DeltaVersion first, GPtrArray *strays, GError **error)
{
  DeltaVersion earliest, latest;
  GHashTableIter iter;
  gpointer key;

  if (!delta_table_versions (search->table, &earliest, &latest, error) ||
      !walk_commits (search, earliest, MIN (first - 1, delta_snapshot_version (search->snapshot)), note_removed_action,
                     error))
    return FALSE;
  g_hash_table_iter_init (&iter, search->removed);
  while (g_hash_table_iter_next (&iter, &key, NULL)) {
    if (!g_hash_table_contains (search->needed, key) && !is_hidden (search, key))
      g_ptr_array_add (strays, g_strdup (key));
  }
  g_ptr_array_sort (strays, compare_texts);
  return TRUE;
}

/* Whether a key is what it seems: no directory of it is a symbolic link. */
static gboolean
is_inside (Search *search, const char *key)
{
  g_autofree char *local = store_local_path (search->store, key);
  char *path = local != NULL ? realpath (local, NULL) : NULL;
  gboolean inside = local == NULL || (path != NULL && g_strcmp0 (below (path, search->real_root), key) == 0);

  free (path); /* realpath()'s */
  return inside;
}

/* Takes the strays that are old enough into @vacuum. */
static gboolean
take_old (Search *search, GPtrArray *strays, DeltaVacuum *vacuum, GError **error)
{
  for (guint i = 0; i < strays->len; i++) {
    StoreEntry *entry = NULL;
    if (!base_cancel_check (search->cancel, error) || !store_stat (search->store, strays->pdata[i], &entry, error))
      return FALSE;
    if (entry != NULL && entry->modified_us / 1000 < search->cutoff_ms && is_inside (search, entry->key)) {
      g_ptr_array_add (vacuum->keys, g_strdup (entry->key));
      vacuum->bytes += entry->size_bytes;
    }
    if (entry != NULL)
      store_entry_free (entry);
  }
  return TRUE;
}

static gboolean
find (Search *search, DeltaVacuumMode mode, DeltaVacuum *vacuum, GError **error)
{
  g_autoptr (GPtrArray) strays = g_ptr_array_new_with_free_func (g_free);
  DeltaVersion first;

  note_snapshot (search);
  if (!note_young_commits (search, &first, error))
    return FALSE;
  switch (mode) {
  case DELTA_VACUUM_FULL:
    if (!note_domains_at_cutoff (search, first, error) || !list_strays (search, strays, &vacuum->n_directories, error))
      return FALSE;
    break;
  case DELTA_VACUUM_LITE:
    if (!collect_removed (search, first, strays, error))
      return FALSE;
    break;
  }
  return take_old (search, strays, vacuum, error);
}

static void
search_init (Search *search, DeltaSnapshot *snapshot, gint64 cutoff_ms, BaseCancel *cancel)
{
  g_autofree char *root = NULL;

  *search = (Search){ .snapshot = snapshot,
                      .table = delta_snapshot_table (snapshot),
                      .store = delta_table_store (delta_snapshot_table (snapshot)),
                      .cutoff_ms = cutoff_ms,
                      .cancel = cancel,
                      .needed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  root = store_local_path (search->store, "_delta_log");
  if (root != NULL) {
    g_autofree char *directory = g_path_get_dirname (root);
    search->real_root = realpath (directory, NULL);
  }
}

DeltaVacuum *
delta_vacuum_new (DeltaSnapshot *snapshot, gint64 cutoff_ms, DeltaVacuumMode mode, BaseCancel *cancel, GError **error)
{
  g_autoptr (DeltaVacuum) vacuum = g_new0 (DeltaVacuum, 1);
  g_auto (Search) search = { 0 };

  search_init (&search, snapshot, cutoff_ms, cancel);
  if (mode == DELTA_VACUUM_LITE)
    search.removed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  vacuum->store = store_ref (search.store);
  vacuum->keys = g_ptr_array_new_with_free_func (g_free);
  return find (&search, mode, vacuum, error) ? g_steal_pointer (&vacuum) : NULL;
}

void
delta_vacuum_free (DeltaVacuum *vacuum)
{
  if (vacuum == NULL)
    return;
  store_unref (vacuum->store);
  g_clear_pointer (&vacuum->keys, g_ptr_array_unref);
  g_free (vacuum);
}

guint
delta_vacuum_n_files (DeltaVacuum *vacuum)
{
  return vacuum->keys->len;
}

const char *
delta_vacuum_file (DeltaVacuum *vacuum, guint index)
{
  return vacuum->keys->pdata[index];
}

gint64
delta_vacuum_bytes (DeltaVacuum *vacuum)
{
  return vacuum->bytes;
}

guint
delta_vacuum_n_directories (DeltaVacuum *vacuum)
{
  return vacuum->n_directories;
}

gboolean
delta_vacuum_run (DeltaVacuum *vacuum, DeltaSnapshot *newest, BaseCancel *cancel, guint *n_deleted, GError **error)
{
  g_auto (Search) search = { 0 };

  *n_deleted = 0;
  search_init (&search, newest, G_MAXINT64, cancel);
  note_snapshot (&search);
  for (guint i = 0; i < vacuum->keys->len; i++) {
    const char *key = vacuum->keys->pdata[i];
    if (g_hash_table_contains (search.needed, key))
      continue;
    if (!base_cancel_check (cancel, error) || !store_delete (vacuum->store, key, error))
      return FALSE;
    (*n_deleted)++;
  }
  return TRUE;
}

/* A store in memory, for tests of what is only metadata. It has no local paths, hence no scratch and nothing to publish.
 * "Modified" is the number of the write, so that newer objects have greater times without a clock. */
#include "store-private.h"

#include <base-error.h>
#include <string.h>

typedef struct {
  Store store;
  GMutex lock;
  GTree *objects; /* key → MemoryObject */
  gint64 n_writes;
} StoreMemory;

typedef struct {
  GBytes *bytes;
  gint64 modified;
} MemoryObject;

static void
object_free (gpointer data)
{
  MemoryObject *object = data;
  g_bytes_unref (object->bytes);
  g_free (object);
}

static int
compare_keys (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  return strcmp (a, b);
}

static void
insert (StoreMemory *memory, const char *key, gconstpointer data, gsize size)
{
  MemoryObject *object = g_new (MemoryObject, 1);
  object->bytes = g_bytes_new (data, size);
  object->modified = ++memory->n_writes;
  g_tree_replace (memory->objects, g_strdup (key), object);
}

static gboolean
memory_put_if_absent (Store *store, const char *key, gconstpointer data, gsize size, StorePutOutcome *outcome,
                      char **doubt G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&memory->lock);

  if (g_tree_lookup (memory->objects, key) != NULL) {
    *outcome = STORE_PUT_EXISTS;
    return TRUE;
  }
  insert (memory, key, data, size);
  *outcome = STORE_PUT_DONE;
  return TRUE;
}

static gboolean
memory_put (Store *store, const char *key, gconstpointer data, gsize size, StorePutFlags flags G_GNUC_UNUSED,
            GError **error G_GNUC_UNUSED)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&memory->lock);
  insert (memory, key, data, size);
  return TRUE;
}

static gboolean
memory_read (Store *store, const char *key, gint64 offset, gint64 size, GBytes **bytes, GError **error G_GNUC_UNUSED)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&memory->lock);
  const MemoryObject *object = g_tree_lookup (memory->objects, key);
  gint64 whole;

  if (object == NULL) {
    *bytes = NULL;
    return TRUE;
  }
  whole = (gint64) g_bytes_get_size (object->bytes);
  offset = MIN (offset, whole);
  size = size < 0 ? whole - offset : MIN (size, whole - offset);
  *bytes = g_bytes_new_from_bytes (object->bytes, (gsize) offset, (gsize) size);
  return TRUE;
}

static gboolean
memory_stat (Store *store, const char *key, StoreEntry **entry, GError **error G_GNUC_UNUSED)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&memory->lock);
  const MemoryObject *object = g_tree_lookup (memory->objects, key);

  *entry = object == NULL ? NULL : store_entry_new (key, (gint64) g_bytes_get_size (object->bytes), object->modified);
  return TRUE;
}

typedef struct {
  const char *prefix;
  const char *start_after;
  StoreListFlags flags;
  guint n_most;
  GPtrArray *entries;
} Visit;

static gboolean
visit_object (gpointer key, gpointer value, gpointer data)
{
  const MemoryObject *object = value;
  Visit *visit = data;
  const char *slash = strrchr (visit->prefix, '/');
  gsize directory_length = slash == NULL ? 0 : (gsize) (slash - visit->prefix) + 1;
  gboolean names_only = (visit->flags & STORE_LIST_NAMES_ONLY) != 0;

  if (!g_str_has_prefix (key, visit->prefix) || (visit->start_after != NULL && strcmp (key, visit->start_after) <= 0))
    return FALSE;
  if (!(visit->flags & STORE_LIST_RECURSIVE) && strchr ((const char *) key + directory_length, '/') != NULL)
    return FALSE;
  g_ptr_array_add (visit->entries, store_entry_new (key, names_only ? -1 : (gint64) g_bytes_get_size (object->bytes),
                                                    names_only ? 0 : object->modified));
  return visit->entries->len == visit->n_most;
}

static gboolean
memory_list (Store *store, const char *prefix, const char *start_after, StoreListFlags flags, guint n_most,
             GPtrArray **entries, GError **error G_GNUC_UNUSED)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&memory->lock);
  Visit visit = { prefix, start_after, flags, n_most,
                  g_ptr_array_new_with_free_func ((GDestroyNotify) store_entry_free) };

  g_tree_foreach (memory->objects, visit_object, &visit);
  *entries = visit.entries;
  return TRUE;
}

static gboolean
memory_delete (Store *store, const char *key, GError **error G_GNUC_UNUSED)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&memory->lock);
  g_tree_remove (memory->objects, key);
  return TRUE;
}

static gboolean
memory_delete_tree (Store *store, const char *prefix, GError **error)
{
  g_autofree char *directory = *prefix == '\0' ? g_strdup ("") : g_strconcat (prefix, "/", NULL);
  g_autoptr (GPtrArray) entries = NULL;

  if (!memory_list (store, directory, NULL, STORE_LIST_RECURSIVE | STORE_LIST_NAMES_ONLY, 0, &entries, error))
    return FALSE;
  for (guint i = 0; i < entries->len; i++)
    memory_delete (store, ((StoreEntry *) g_ptr_array_index (entries, i))->key, NULL);
  return TRUE;
}

static gboolean
set_not_local (GError **error)
{
  return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "a store in memory has no local files");
}

static gboolean
memory_publish (Store *store G_GNUC_UNUSED, const StorePublication *files G_GNUC_UNUSED, guint n_files G_GNUC_UNUSED,
                GError **error)
{
  return set_not_local (error);
}

static gboolean
memory_lock_try (Store *store G_GNUC_UNUSED, const char *key G_GNUC_UNUSED, StoreLock **lock G_GNUC_UNUSED,
                 GError **error)
{
  return set_not_local (error);
}

static char *
memory_local_path (Store *store G_GNUC_UNUSED, const char *key G_GNUC_UNUSED)
{
  return NULL;
}

static char *
memory_scratch_path (Store *store G_GNUC_UNUSED, const char *suffix G_GNUC_UNUSED, GError **error)
{
  set_not_local (error);
  return NULL;
}

static void
memory_scratch_clean (Store *store G_GNUC_UNUSED, gint64 older_than_us G_GNUC_UNUSED)
{
}

static void
memory_tear (Store *store G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED, gsize size G_GNUC_UNUSED)
{
}

static void
memory_free (Store *store)
{
  StoreMemory *memory = (StoreMemory *) store;
  g_tree_unref (memory->objects);
  g_mutex_clear (&memory->lock);
  g_free (memory);
}

static const StoreClass memory_class = {
  .put_if_absent = memory_put_if_absent,
  .put = memory_put,
  .read = memory_read,
  .stat = memory_stat,
  .list = memory_list,
  .delete = memory_delete,
  .delete_tree = memory_delete_tree,
  .publish = memory_publish,
  .lock_try = memory_lock_try,
  .local_path = memory_local_path,
  .scratch_path = memory_scratch_path,
  .scratch_clean = memory_scratch_clean,
  .tear = memory_tear,
  .free = memory_free,
};

Store *
store_memory_new (StoreContext *context)
{
  StoreMemory *memory = g_new0 (StoreMemory, 1);

  store_init (&memory->store, &memory_class, context, g_strdup ("memory"));
  g_mutex_init (&memory->lock);
  memory->objects = g_tree_new_full (compare_keys, NULL, g_free, object_free);
  return &memory->store;
}

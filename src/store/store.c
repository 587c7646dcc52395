/* The operations of every kind of store: checks the key, asks the context whether a fault falls here, calls the kind's slot.
 *
 * Invariants:
 * 1. A slot of StoreClass is called only with valid keys and only from here.
 * 2. Every operation that touches storage asks store_context_begin() exactly once, before it does anything.
 */
#include "store-private.h"

#include <base-error.h>
#include <base-text.h>
#include <string.h>
#include <unistd.h>

#define MAX_KEY_BYTES 4000

void
store_init (Store *store, const StoreClass *class_, StoreContext *context, char *root)
{
  store->class_ = class_;
  g_atomic_ref_count_init (&store->refs);
  store->context = context != NULL ? store_context_ref (context) : NULL;
  store->root = root;
}

/* The directory named by a location, or NULL with an error. */
static char *
directory_of (const char *location, GError **error)
{
  const char *colon = strchr (location, ':');
  gsize scheme_length =
      colon == NULL ? 0 : strspn (location, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
  g_autofree char *decoded = NULL;
  const char *path = location;

  if (*location == '\0') {
    base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "a location is empty");
    return NULL;
  }
  if (colon != NULL && colon > location && location + scheme_length == colon && colon[1] == '/') {
    if (scheme_length != 4 || g_ascii_strncasecmp (location, "file", 4) != 0) {
      base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "no object store for locations like %s", location);
      base_error_set_hint (error, "use a local directory or a file: URI");
      return NULL;
    }
    path = colon + 1;
    if (g_str_has_prefix (path, "//")) {
      path += 2;
      if (g_ascii_strncasecmp (path, "localhost/", 10) == 0)
        path += 9;
    }
    decoded = *path == '/' ? base_text_uri_decode (path) : NULL;
    if (decoded == NULL) {
      base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s is no URI of a local directory", location);
      return NULL;
    }
    path = decoded;
  }
  return g_canonicalize_filename (path, NULL);
}

Store *
store_open (StoreContext *context, const char *location, GError **error)
{
  g_autofree char *directory = directory_of (location, error);
  if (directory == NULL)
    return NULL;
  return store_local_new (context, directory);
}

Store *
store_ref (Store *store)
{
  g_atomic_ref_count_inc (&store->refs);
  return store;
}

void
store_unref (Store *store)
{
  if (store == NULL || !g_atomic_ref_count_dec (&store->refs))
    return;
  store_context_unref (store->context);
  g_free (store->root);
  store->class_->free (store);
}

StoreContext *
store_context (Store *store)
{
  return store->context;
}

const char *
store_root (Store *store)
{
  return store->root;
}

StoreEntry *
store_entry_new (const char *key, gint64 size_bytes, gint64 modified_us)
{
  StoreEntry *entry = g_new (StoreEntry, 1);
  entry->key = g_strdup (key);
  entry->size_bytes = size_bytes;
  entry->modified_us = modified_us;
  return entry;
}

void
store_entry_free (StoreEntry *entry)
{
  if (entry == NULL)
    return;
  g_free (entry->key);
  g_free (entry);
}

/* Whether @key's parts are plain names; the last part may be empty when @is_prefix. */
static gboolean
parts_are_valid (const char *key, gboolean is_prefix)
{
  if (strlen (key) > MAX_KEY_BYTES)
    return FALSE;
  for (const char *part = key;;) {
    gsize length = strcspn (part, "/");
    gboolean is_last = part[length] == '\0';
    if (length == 0 && !(is_last && is_prefix))
      return FALSE;
    if ((length == 1 || length == 2) && strncmp (part, "..", length) == 0)
      return FALSE;
    if (is_last)
      return TRUE;
    part += length + 1;
  }
}

gboolean
store_key_is_valid (const char *key)
{
  return key != NULL && parts_are_valid (key, FALSE);
}

static gboolean
check_key (Store *store, const char *key, GError **error)
{
  if (store_key_is_valid (key))
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "`%s` is no name of an object below %s",
                         key != NULL ? key : "", store->root);
}

gboolean
store_put_if_absent (Store *store, const char *key, gconstpointer data, gsize size, StorePutOutcome *outcome,
                     char **doubt, GError **error)
{
  StoreAction action;

  if (!check_key (store, key, error))
    return FALSE;
  action = store_context_begin (store->context, "put-if-absent", key);
  if (action == STORE_ACTION_TEAR)
    store->class_->tear (store, data, size / 2);
  if (action == STORE_ACTION_FAIL || action == STORE_ACTION_TEAR)
    return store_context_set_injected (error, "put-if-absent", key);
  if (!store->class_->put_if_absent (store, key, data, size, outcome, doubt, error))
    return FALSE;
  if (action == STORE_ACTION_LOSE_ANSWER && *outcome != STORE_PUT_UNKNOWN) {
    *outcome = STORE_PUT_UNKNOWN;
    if (doubt != NULL)
      *doubt = g_strdup ("an injected fault");
  }
  return TRUE;
}

gboolean
store_put (Store *store, const char *key, gconstpointer data, gsize size, StorePutFlags flags, GError **error)
{
  StoreAction action;

  if (!check_key (store, key, error))
    return FALSE;
  action = store_context_begin (store->context, "put", key);
  if (action == STORE_ACTION_TEAR && (flags & STORE_PUT_UNSYNCED))
    (void) store->class_->put (store, key, data, size / 2, flags, NULL); /* the power is gone: nobody to tell */
  else if (action == STORE_ACTION_TEAR)
    store->class_->tear (store, data, size / 2);
  if (action == STORE_ACTION_FAIL || action == STORE_ACTION_TEAR)
    return store_context_set_injected (error, "put", key);
  if (!store->class_->put (store, key, data, size, flags, error))
    return FALSE;
  return action == STORE_ACTION_LOSE_ANSWER ? store_context_set_injected (error, "put", key) : TRUE;
}

/* For operations that only read or delete: a fault of any kind but a listing's is a failure before or after the fact. */
static gboolean
begin_plain (Store *store, const char *operation, const char *key, gboolean *lose_answer, GError **error)
{
  StoreAction action = store_context_begin (store->context, operation, key);

  *lose_answer = action == STORE_ACTION_LOSE_ANSWER;
  if (action == STORE_ACTION_FAIL || action == STORE_ACTION_TEAR)
    return store_context_set_injected (error, operation, key);
  return TRUE;
}

gboolean
store_read (Store *store, const char *key, GBytes **bytes, GError **error)
{
  gboolean lose_answer;

  if (!check_key (store, key, error) || !begin_plain (store, "read", key, &lose_answer, error))
    return FALSE;
  if (lose_answer)
    return store_context_set_injected (error, "read", key);
  return store->class_->read (store, key, 0, -1, bytes, error);
}

gboolean
store_read_range (Store *store, const char *key, gint64 offset, gint64 size, GBytes **bytes, GError **error)
{
  gboolean lose_answer;

  g_assert (offset >= 0 && size >= 0);
  if (!check_key (store, key, error) || !begin_plain (store, "read-range", key, &lose_answer, error))
    return FALSE;
  if (lose_answer)
    return store_context_set_injected (error, "read-range", key);
  if (size > STORE_READ_MAX_BYTES)
    return base_error_set (error, SLUICE_ERROR_OUT_OF_MEMORY, "read of %" G_GINT64_FORMAT " bytes of %s at once", size,
                           key);
  return store->class_->read (store, key, offset, size, bytes, error);
}

gboolean
store_stat (Store *store, const char *key, StoreEntry **entry, GError **error)
{
  gboolean lose_answer;

  if (!check_key (store, key, error) || !begin_plain (store, "stat", key, &lose_answer, error))
    return FALSE;
  if (lose_answer)
    return store_context_set_injected (error, "stat", key);
  return store->class_->stat (store, key, entry, error);
}

static void
show_twice (GPtrArray *entries)
{
  guint n = entries->len;

  for (guint i = n; i > 0; i--) {
    const StoreEntry *entry = g_ptr_array_index (entries, i - 1);
    g_ptr_array_insert (entries, (int) i, store_entry_new (entry->key, entry->size_bytes, entry->modified_us));
  }
}

static void
hide_newest (GPtrArray *entries)
{
  guint newest = 0;

  for (guint i = 1; i < entries->len; i++) {
    const StoreEntry *a = g_ptr_array_index (entries, newest), *b = g_ptr_array_index (entries, i);
    if (b->modified_us >= a->modified_us)
      newest = i;
  }
  if (entries->len > 0)
    g_ptr_array_remove_index (entries, newest);
}

gboolean
store_list (Store *store, const char *prefix, const char *start_after, StoreListFlags flags, guint n_most,
            GPtrArray **entries, GError **error)
{
  StoreAction action;

  if (!parts_are_valid (prefix, TRUE))
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "`%s` is no prefix of objects below %s", prefix,
                           store->root);
  action = store_context_begin (store->context, "list", prefix);
  if (action == STORE_ACTION_FAIL || action == STORE_ACTION_TEAR || action == STORE_ACTION_LOSE_ANSWER)
    return store_context_set_injected (error, "list", prefix);
  if (!store->class_->list (store, prefix, start_after, flags, n_most, entries, error))
    return FALSE;
  if (action == STORE_ACTION_LIST_TWICE)
    show_twice (*entries);
  else if (action == STORE_ACTION_LIST_LATE)
    hide_newest (*entries);
  return TRUE;
}

gboolean
store_delete (Store *store, const char *key, GError **error)
{
  gboolean lose_answer;

  if (!check_key (store, key, error) || !begin_plain (store, "delete", key, &lose_answer, error) ||
      !store->class_->delete (store, key, error))
    return FALSE;
  return lose_answer ? store_context_set_injected (error, "delete", key) : TRUE;
}

gboolean
store_delete_tree (Store *store, const char *prefix, GError **error)
{
  gboolean lose_answer;

  if (*prefix != '\0' && !check_key (store, prefix, error))
    return FALSE;
  if (!begin_plain (store, "delete-tree", prefix, &lose_answer, error) ||
      !store->class_->delete_tree (store, prefix, error))
    return FALSE;
  return lose_answer ? store_context_set_injected (error, "delete-tree", prefix) : TRUE;
}

char *
store_local_path (Store *store, const char *key)
{
  g_assert (store_key_is_valid (key));
  return store->class_->local_path (store, key);
}

char *
store_scratch_path (Store *store, const char *suffix, GError **error)
{
  return store->class_->scratch_path (store, suffix, error);
}

void
store_scratch_clean (Store *store, gint64 older_than_us)
{
  store->class_->scratch_clean (store, older_than_us);
}

/* A power cut in the middle: the first half is there, the next file is half there under its scratch name. */
static void
tear_publication (Store *store, const StorePublication *files, guint n_files)
{
  guint n_whole = n_files / 2;
  gint64 half = 0;
  g_autofree char *content = NULL;
  gsize size = 0;

  if (n_whole > 0)
    (void) store->class_->publish (store, files, n_whole, NULL); /* nobody to tell */
  if (n_whole < n_files && g_file_get_contents (files[n_whole].scratch, &content, &size, NULL))
    half = (gint64) size / 2;
  if (content != NULL && truncate (files[n_whole].scratch, half) != 0)
    return; /* then it is whole, which a power cut may leave as well */
}

gboolean
store_publish_files (Store *store, const StorePublication *files, guint n_files, GError **error)
{
  StoreAction action;

  for (guint i = 0; i < n_files; i++)
    if (!check_key (store, files[i].key, error))
      return FALSE;
  if (n_files == 0)
    return TRUE;
  action = store_context_begin (store->context, "publish", files[0].key);
  if (action == STORE_ACTION_TEAR)
    tear_publication (store, files, n_files);
  if (action == STORE_ACTION_FAIL || action == STORE_ACTION_TEAR)
    return store_context_set_injected (error, "publish", files[0].key);
  if (!store->class_->publish (store, files, n_files, error))
    return FALSE;
  return action == STORE_ACTION_LOSE_ANSWER ? store_context_set_injected (error, "publish", files[0].key) : TRUE;
}

gboolean
store_publish_file (Store *store, const char *scratch, const char *key, GError **error)
{
  StorePublication file = { scratch, key };
  return store_publish_files (store, &file, 1, error);
}

gboolean
store_lock_try (Store *store, const char *key, StoreLock **lock, GError **error)
{
  gboolean lose_answer;

  if (!check_key (store, key, error) || !begin_plain (store, "lock", key, &lose_answer, error))
    return FALSE;
  if (lose_answer)
    return store_context_set_injected (error, "lock", key);
  return store->class_->lock_try (store, key, lock, error);
}

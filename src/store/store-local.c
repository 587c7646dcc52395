/* A store in a local directory.
 *
 * Invariants:
 * 1. Whatever may be named by a commit is written under a scratch name, fsynced, moved into place by one system call
 *    (link, rename), and then its directory is fsynced, before the operation returns.
 * 2. A directory made here is fsynced in its parent before anything is put into it.
 * 3. Scratch names live in SCRATCH_DIRECTORY below the root, on the same file system as the objects; listings skip it, and
 *    so do readers of tables, because its name begins with a dot.
 *
 * put_if_absent uses link(), which fails when the name exists and is atomic on every local file system and on NFS; an
 * open with O_EXCL would show a half-written object.
 */
#include "store-private.h"

#include <base-error.h>
#include <base-text.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_DIRECTORY ".sluice-scratch"
#define MAX_DEPTH         64 /* of directories in a listing: beyond it there is a loop of symbolic links */

typedef struct {
  Store store;
} StoreLocal;

struct StoreLock {
  int fd;
};

static char *
path_of (Store *store, const char *key)
{
  return *key == '\0' ? g_strdup (store->root)
                      : g_strconcat (store->root, strcmp (store->root, "/") == 0 ? "" : "/", key, NULL);
}

static gboolean
fail_errno (GError **error, int errno_value, const char *verb, const char *path)
{
  g_autofree char *what = g_strconcat (verb, " ", path, NULL);
  return base_error_set_errno (error, errno_value, what);
}

static gboolean
sync_directory (const char *path, GError **error)
{
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0)
    return fail_errno (error, errno, "open directory", path);
  if (fsync (fd) != 0) {
    int saved = errno;
    (void) close (fd); /* read only: nothing to lose */
    return fail_errno (error, saved, "sync directory", path);
  }
  (void) close (fd); /* read only: nothing to lose */
  return TRUE;
}

/* mkdir -p, durable. The depth of recursion is the number of missing directories of a path of bounded length. */
static gboolean
make_directory (const char *path, GError **error)
{
  g_autofree char *parent = NULL;

  if (mkdir (path, 0777) == 0) {
    parent = g_path_get_dirname (path);
    return sync_directory (parent, error);
  }
  if (errno == EEXIST)
    return TRUE;
  if (errno != ENOENT)
    return fail_errno (error, errno, "make directory", path);
  parent = g_path_get_dirname (path);
  if (strcmp (parent, path) == 0)
    return fail_errno (error, ENOENT, "make directory", path);
  if (!make_directory (parent, error))
    return FALSE;
  if (mkdir (path, 0777) != 0 && errno != EEXIST)
    return fail_errno (error, errno, "make directory", path);
  return sync_directory (parent, error);
}

static gboolean
make_parent (const char *path, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (path);
  return make_directory (parent, error);
}

static gboolean
write_all (int fd, const char *data, gsize size)
{
  while (size > 0) {
    gssize n = write (fd, data, MIN (size, 1 << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return FALSE;
    data += n;
    size -= (gsize) n;
  }
  return TRUE;
}

/* Writes a new file; on failure nothing of it stays. */
static gboolean
write_file (const char *path, gconstpointer data, gsize size, gboolean synced, GError **error)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  gboolean ok;
  int saved;

  if (fd < 0)
    return fail_errno (error, errno, "create", path);
  ok = write_all (fd, data, size) && (!synced || fsync (fd) == 0);
  saved = errno;
  if (close (fd) != 0 && ok) {
    ok = FALSE;
    saved = errno;
  }
  if (ok)
    return TRUE;
  (void) unlink (path); /* the first error is the one to tell */
  return fail_errno (error, saved, "write", path);
}

static char *
local_scratch_path (Store *store, const char *suffix, GError **error)
{
  g_autofree char *directory = path_of (store, SCRATCH_DIRECTORY);
  g_autofree char *uuid = base_text_uuid ();

  if (!make_directory (directory, error))
    return NULL;
  return g_strconcat (directory, "/", uuid, suffix, NULL);
}

static gboolean
local_put_if_absent (Store *store, const char *key, gconstpointer data, gsize size, StorePutOutcome *outcome,
                     char **doubt, GError **error)
{
  g_autofree char *path = path_of (store, key);
  g_autofree char *scratch = NULL;
  g_autofree char *parent = g_path_get_dirname (path);
  g_autoptr (GError) sync_error = NULL;
  int link_errno;

  if (faccessat (AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    *outcome = STORE_PUT_EXISTS; /* saves the write; link() decides the races */
    return TRUE;
  }
  scratch = local_scratch_path (store, ".put", error);
  if (scratch == NULL || !make_parent (path, error) || !write_file (scratch, data, size, TRUE, error))
    return FALSE;
  link_errno = link (scratch, path) == 0 ? 0 : errno;
  (void) unlink (scratch); /* a scratch file that stays is only garbage */
  if (link_errno == EEXIST) {
    *outcome = STORE_PUT_EXISTS;
    return TRUE;
  }
  if (link_errno != 0)
    return fail_errno (error, link_errno, "link", path);
  if (sync_directory (parent, &sync_error)) {
    *outcome = STORE_PUT_DONE;
    return TRUE;
  }
  *outcome = STORE_PUT_UNKNOWN;
  if (doubt != NULL)
    *doubt = g_strdup (sync_error->message);
  return TRUE;
}

static gboolean
local_put (Store *store, const char *key, gconstpointer data, gsize size, StorePutFlags flags, GError **error)
{
  g_autofree char *path = path_of (store, key);
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *scratch = local_scratch_path (store, ".put", error);
  gboolean synced = !(flags & STORE_PUT_UNSYNCED);

  if (scratch == NULL || !make_parent (path, error) || !write_file (scratch, data, size, synced, error))
    return FALSE;
  if (rename (scratch, path) != 0) {
    int saved = errno;
    (void) unlink (scratch); /* garbage at worst */
    return fail_errno (error, saved, "rename to", path);
  }
  return !synced || sync_directory (parent, error);
}

static gboolean
read_fd (int fd, const char *path, gint64 offset, gint64 size, GBytes **bytes, GError **error)
{
  g_autofree char *buffer = NULL;
  gint64 n_read = 0;

  buffer = g_try_malloc (MAX ((gsize) size, 1));
  if (buffer == NULL)
    return base_error_set (error, SLUICE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GINT64_FORMAT " bytes of %s", size,
                           path);
  while (n_read < size) {
    gssize n = pread (fd, buffer + n_read, (gsize) MIN (size - n_read, 1 << 30), offset + n_read);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_errno (error, errno, "read", path);
    if (n == 0)
      break;
    n_read += n;
  }
  *bytes = g_bytes_new_take (g_steal_pointer (&buffer), (gsize) n_read);
  return TRUE;
}

static gboolean
local_read (Store *store, const char *key, gint64 offset, gint64 size, GBytes **bytes, GError **error)
{
  g_autofree char *path = path_of (store, key);
  struct stat status;
  gboolean ok = FALSE;
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    *bytes = NULL;
    return TRUE;
  }
  if (fd < 0)
    return fail_errno (error, errno, "open", path);
  if (fstat (fd, &status) != 0)
    fail_errno (error, errno, "stat", path);
  else if (!S_ISREG (status.st_mode))
    base_error_set (error, SLUICE_ERROR_IO_ERROR, "read %s: not a regular file", path);
  else if (size < 0 && status.st_size > STORE_READ_MAX_BYTES)
    base_error_set (error, SLUICE_ERROR_OUT_OF_MEMORY, "%s has %" G_GINT64_FORMAT " bytes, too many to read at once",
                    path, (gint64) status.st_size);
  else {
    gint64 rest = MAX (status.st_size - offset, 0);
    ok = read_fd (fd, path, offset, size < 0 ? rest : MIN (size, rest), bytes, error);
  }
  (void) close (fd); /* read only: nothing to lose */
  return ok;
}

static gint64
modified_us (const struct stat *status)
{
  return (gint64) status->st_mtim.tv_sec * G_USEC_PER_SEC + status->st_mtim.tv_nsec / 1000;
}

static gboolean
local_stat (Store *store, const char *key, StoreEntry **entry, GError **error)
{
  g_autofree char *path = path_of (store, key);
  struct stat status;

  if (stat (path, &status) == 0) {
    *entry = S_ISREG (status.st_mode) ? store_entry_new (key, status.st_size, modified_us (&status)) : NULL;
    return TRUE;
  }
  if (errno != ENOENT && errno != ENOTDIR)
    return fail_errno (error, errno, "stat", path);
  *entry = NULL;
  return TRUE;
}

/* --- Listing: names first, sizes only of what is asked for. --- */

typedef struct {
  Store *store;
  const char *prefix;
  const char *start_after; /* (nullable) */
  gboolean recursive;
  gboolean no_links;
  GPtrArray *keys; /* (element-type utf8) */
} Listing;

typedef enum { NAME_FILE, NAME_DIRECTORY, NAME_OTHER } NameKind;

static NameKind
kind_of (DIR *directory, const struct dirent *item, gboolean no_links)
{
  struct stat status;

  if (item->d_type == DT_REG)
    return NAME_FILE;
  if (item->d_type == DT_DIR)
    return NAME_DIRECTORY;
  if ((item->d_type != DT_LNK || no_links) && item->d_type != DT_UNKNOWN)
    return NAME_OTHER;
  if (fstatat (dirfd (directory), item->d_name, &status, no_links ? AT_SYMLINK_NOFOLLOW : 0) != 0)
    return NAME_OTHER; /* it went away, or is a link to nothing */
  return S_ISREG (status.st_mode) ? NAME_FILE : S_ISDIR (status.st_mode) ? NAME_DIRECTORY : NAME_OTHER;
}

/* @relative: "" or a directory's key with a final slash. */
static gboolean
list_into (Listing *listing, const char *relative, guint depth, GError **error)
{
  g_autofree char *path = path_of (listing->store, relative);
  DIR *directory = opendir (path);
  const struct dirent *item;
  gboolean ok = TRUE;
  int saved;

  if (directory == NULL && (errno == ENOENT || errno == ENOTDIR))
    return TRUE;
  if (directory == NULL)
    return fail_errno (error, errno, "list", path);
  for (errno = 0; ok && (item = readdir (directory)) != NULL; errno = 0) {
    g_autofree char *key = NULL;
    gsize shared;
    NameKind kind;

    if (strcmp (item->d_name, ".") == 0 || strcmp (item->d_name, "..") == 0 ||
        (*relative == '\0' && strcmp (item->d_name, SCRATCH_DIRECTORY) == 0))
      continue;
    key = g_strconcat (relative, item->d_name, NULL);
    shared = MIN (strlen (key), strlen (listing->prefix));
    if (strncmp (key, listing->prefix, shared) != 0)
      continue;
    kind = kind_of (directory, item, listing->no_links);
    if (kind == NAME_DIRECTORY && listing->recursive && depth == MAX_DEPTH) {
      ok = base_error_set (error, SLUICE_ERROR_IO_ERROR, "list %s: more than %d directories deep", path, MAX_DEPTH);
    } else if (kind == NAME_DIRECTORY && listing->recursive) {
      g_autofree char *inner = g_strconcat (key, "/", NULL);
      ok = list_into (listing, inner, depth + 1, error);
    } else if (kind == NAME_FILE && g_str_has_prefix (key, listing->prefix) &&
               (listing->start_after == NULL || strcmp (key, listing->start_after) > 0)) {
      g_ptr_array_add (listing->keys, g_steal_pointer (&key));
    }
  }
  saved = errno;
  (void) closedir (directory); /* read only: nothing to lose */
  return ok && saved != 0 ? fail_errno (error, saved, "list", path) : ok;
}

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
local_list (Store *store, const char *prefix, const char *start_after, StoreListFlags flags, guint n_most,
            GPtrArray **entries, GError **error)
{
  g_autoptr (GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func ((GDestroyNotify) store_entry_free);
  const char *slash = strrchr (prefix, '/');
  g_autofree char *relative = slash == NULL ? g_strdup ("") : g_strndup (prefix, (gsize) (slash - prefix) + 1);
  Listing listing = {
    store, prefix, start_after, (flags & STORE_LIST_RECURSIVE) != 0, (flags & STORE_LIST_NO_LINKS) != 0, keys
  };

  if (!list_into (&listing, relative, 0, error))
    return FALSE;
  g_ptr_array_sort (keys, compare_keys);
  for (guint i = 0; i < keys->len && (n_most == 0 || found->len < n_most); i++) {
    StoreEntry *entry = NULL;
    if (flags & STORE_LIST_NAMES_ONLY)
      entry = store_entry_new (g_ptr_array_index (keys, i), -1, 0);
    else if (!local_stat (store, g_ptr_array_index (keys, i), &entry, error))
      return FALSE;
    if (entry != NULL) /* it may have gone since the names were read */
      g_ptr_array_add (found, entry);
  }
  *entries = g_steal_pointer (&found);
  return TRUE;
}

/* --- Deleting. --- */

static gboolean
local_delete (Store *store, const char *key, GError **error)
{
  g_autofree char *path = path_of (store, key);

  if (unlink (path) == 0 || errno == ENOENT || errno == ENOTDIR)
    return TRUE;
  return fail_errno (error, errno, "delete", path);
}

/* Never follows a symbolic link; the link itself goes. */
static gboolean
delete_below (const char *path, guint depth, GError **error)
{
  DIR *directory;
  const struct dirent *item;
  gboolean ok = TRUE;
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

  if (fd < 0 && errno == ENOENT)
    return TRUE;
  if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
    return unlink (path) == 0 || errno == ENOENT || fail_errno (error, errno, "delete", path);
  if (fd < 0)
    return fail_errno (error, errno, "open directory", path);
  if (depth == MAX_DEPTH * 4 || (directory = fdopendir (fd)) == NULL) {
    (void) close (fd); /* read only: nothing to lose */
    return base_error_set (error, SLUICE_ERROR_IO_ERROR, "delete %s: too many directories deep", path);
  }
  while (ok && (item = readdir (directory)) != NULL) {
    g_autofree char *inner = NULL;
    if (strcmp (item->d_name, ".") == 0 || strcmp (item->d_name, "..") == 0)
      continue;
    inner = g_strconcat (path, "/", item->d_name, NULL);
    if (item->d_type != DT_DIR && item->d_type != DT_UNKNOWN)
      ok = unlinkat (dirfd (directory), item->d_name, 0) == 0 || errno == ENOENT ||
           fail_errno (error, errno, "delete", inner);
    else
      ok = delete_below (inner, depth + 1, error);
  }
  (void) closedir (directory); /* read only: nothing to lose */
  if (!ok)
    return FALSE;
  return rmdir (path) == 0 || errno == ENOENT || fail_errno (error, errno, "delete directory", path);
}

static gboolean
local_delete_tree (Store *store, const char *prefix, GError **error)
{
  g_autofree char *path = path_of (store, prefix);
  return delete_below (path, 0, error);
}

/* --- Publishing. --- */

static gboolean
sync_file (const char *path, GError **error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  int saved;

  if (fd < 0)
    return fail_errno (error, errno, "open", path);
  saved = fsync (fd) == 0 ? 0 : errno;
  (void) close (fd); /* opened to read: nothing to lose */
  return saved == 0 || fail_errno (error, saved, "sync", path);
}

/* Moves without replacing. */
static gboolean
move_into_place (const char *scratch, const char *path, GError **error)
{
  int saved;

  if (renameat2 (AT_FDCWD, scratch, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
    return TRUE;
  saved = errno;
  if (saved == EINVAL || saved == ENOSYS) { /* a file system without the flag */
    if (link (scratch, path) == 0) {
      (void) unlink (scratch); /* garbage at worst */
      return TRUE;
    }
    saved = errno;
  }
  if (saved == EEXIST)
    return base_error_set (error, SLUICE_ERROR_OBJECT_STORE_CONFLICT, "publish %s: it exists already", path);
  return fail_errno (error, saved, "publish", path);
}

static gboolean
local_publish (Store *store, const StorePublication *files, guint n_files, GError **error)
{
  g_autoptr (GHashTable) directories = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer directory;

  for (guint i = 0; i < n_files; i++)
    if (!sync_file (files[i].scratch, error))
      return FALSE;
  for (guint i = 0; i < n_files; i++) {
    g_autofree char *path = path_of (store, files[i].key);
    char *parent = g_path_get_dirname (path);
    if (g_hash_table_add (directories, parent) && !make_directory (parent, error))
      return FALSE;
    if (!move_into_place (files[i].scratch, path, error))
      return FALSE;
  }
  g_hash_table_iter_init (&iter, directories);
  while (g_hash_table_iter_next (&iter, &directory, NULL))
    if (!sync_directory (directory, error))
      return FALSE;
  return TRUE;
}

/* A scratch directory (a query that writes several files) goes when nothing was added to or removed from it lately. */
static void
local_scratch_clean (Store *store, gint64 older_than_us)
{
  g_autofree char *path = path_of (store, SCRATCH_DIRECTORY);
  DIR *directory = opendir (path);
  const struct dirent *item;

  while (directory != NULL && (item = readdir (directory)) != NULL) {
    g_autofree char *inner = g_strconcat (path, "/", item->d_name, NULL);
    struct stat status;
    if (strcmp (item->d_name, ".") == 0 || strcmp (item->d_name, "..") == 0 || lstat (inner, &status) != 0 ||
        modified_us (&status) >= older_than_us)
      continue;
    (void) delete_below (inner, 0, NULL); /* what stays, stays */
  }
  if (directory != NULL)
    (void) closedir (directory); /* read only: nothing to lose */
}

static void
local_tear (Store *store, gconstpointer data, gsize size)
{
  g_autofree char *scratch = local_scratch_path (store, ".put", NULL);
  if (scratch != NULL)
    (void) write_file (scratch, data, size, FALSE, NULL); /* a power cut may also leave nothing */
}

/* --- Locks. --- */

static gboolean
local_lock_try (Store *store, const char *key, StoreLock **lock, GError **error)
{
  g_autofree char *path = path_of (store, key);
  struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  int fd, saved;

  if (!make_parent (path, error))
    return FALSE;
  fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    return fail_errno (error, errno, "open lock", path);
  if (fcntl (fd, F_OFD_SETLK, &whole) == 0) {
    *lock = g_new (StoreLock, 1);
    (*lock)->fd = fd;
    return TRUE;
  }
  saved = errno;
  (void) close (fd); /* nothing was written */
  if (saved != EAGAIN && saved != EACCES)
    return fail_errno (error, saved, "lock", path);
  *lock = NULL;
  return TRUE;
}

void
store_lock_release (StoreLock *lock)
{
  if (lock == NULL)
    return;
  (void) close (lock->fd); /* frees the lock; nothing was written */
  g_free (lock);
}

static void
local_free (Store *store)
{
  g_free (store);
}

static const StoreClass local_class = {
  .put_if_absent = local_put_if_absent,
  .put = local_put,
  .read = local_read,
  .stat = local_stat,
  .list = local_list,
  .delete = local_delete,
  .delete_tree = local_delete_tree,
  .publish = local_publish,
  .lock_try = local_lock_try,
  .local_path = path_of,
  .scratch_path = local_scratch_path,
  .scratch_clean = local_scratch_clean,
  .tear = local_tear,
  .free = local_free,
};

Store *
store_local_new (StoreContext *context, const char *directory)
{
  StoreLocal *local = g_new0 (StoreLocal, 1);
  store_init (&local->store, &local_class, context, g_strdup (directory));
  return &local->store;
}

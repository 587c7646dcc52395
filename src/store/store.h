/* An object store: keys below one root, each with bytes, and a few operations whose durability is promised.
 *
 * A key is a relative path with `/` between its parts: `_delta_log/00000000000000000003.json`. What a Store promises:
 *
 *   1. An object is seen whole or not at all; only store_put() with STORE_PUT_UNSYNCED gives that up across a power cut.
 *   2. When an operation that writes has returned, a power cut does not undo it (same exception).
 *   3. Of several writers of store_put_if_absent() on one key exactly one is told STORE_PUT_DONE.
 *
 * Scratch files live under the root in a directory that listings do not show. Opening a store reads nothing.
 */
#pragma once

#include "store-context.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct Store Store;

/* One object of a listing. */
typedef struct {
  char *key;
  gint64 size_bytes;  /* -1 in a listing with STORE_LIST_NAMES_ONLY */
  gint64 modified_us; /* microseconds since 1970-01-01T00:00:00Z; 0 with STORE_LIST_NAMES_ONLY */
} StoreEntry;
void store_entry_free (StoreEntry *entry);

typedef enum {
  STORE_PUT_DONE,
  STORE_PUT_EXISTS,  /* another object has the key; nothing was written */
  STORE_PUT_UNKNOWN, /* the object may be there, may be durable: read it back before deciding anything */
} StorePutOutcome;

typedef enum {
  STORE_PUT_SYNCED = 0,
  STORE_PUT_UNSYNCED = 1 << 0, /* may be lost or torn by a power cut (never by the death of the process): hints only */
} StorePutFlags;

typedef enum {
  STORE_LIST_DIRECTORY = 0,       /* only keys without a further `/` after the prefix's directory */
  STORE_LIST_RECURSIVE = 1 << 0,  /* the whole tree */
  STORE_LIST_NAMES_ONLY = 1 << 1, /* no sizes and times: one system call per thousand files instead of one per file */
  STORE_LIST_NO_LINKS = 1 << 2,   /* symbolic links to files and directories are passed over, not followed */
} StoreListFlags;

/* The largest object store_read() gives. Longer ones are read by range. */
#define STORE_READ_MAX_BYTES (G_GINT64_CONSTANT (2) * 1024 * 1024 * 1024)

/**
 * store_open:
 * @context: (nullable): counts operations and injects faults; a reference is taken
 * @location: an absolute or relative directory, or a URI `file:/…` or `file://…` with percent-encoding
 *
 * Opens a store rooted at a directory. The directory need not exist: it is then empty, and the first write makes it.
 *
 * Errors:   SLUICE_ERROR_UNSUPPORTED_FEATURE for another URI scheme; SLUICE_ERROR_INVALID_OPTION for a malformed one.
 * Threads:  a Store serves any number of threads.
 * Returns:  (transfer full).
 */
Store *store_open (StoreContext *context, const char *location, GError **error);

/* A store in memory, for tests of metadata: no local paths, no scratch. Returns: (transfer full). */
Store *store_memory_new (StoreContext *context);

Store *store_ref (Store *store); /* (transfer full) */
void store_unref (Store *store); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Store, store_unref)

/* The context given to the constructor. (nullable) (transfer none) */
StoreContext *store_context (Store *store);
/* The root as text for messages; of a local store its absolute directory without a final `/`. Borrow: the store's life. */
const char *store_root (Store *store);

/**
 * store_key_is_valid:
 *
 * A valid key is 1 to 4,000 bytes, has no NUL, no empty, `.` or `..` part, and does not begin with `/`. Every operation
 * checks its keys itself and fails with SLUICE_ERROR_INVALID_OPTION.
 */
gboolean store_key_is_valid (const char *key);

/**
 * store_put_if_absent:
 * @data: (nullable): @size bytes
 * @outcome: (out): what happened
 * @doubt: (out) (optional) (transfer full): with STORE_PUT_UNKNOWN the reason as text, else untouched
 *
 * Errors:   SLUICE_ERROR_IO_ERROR, STORAGE_FULL, FILE_ACCESS_DENIED: nothing was written.
 * Source:   architecture D5: scratch, fsync, link(), fsync of the directory.
 * Returns:  TRUE if @outcome was set.
 */
gboolean store_put_if_absent (Store *store, const char *key, gconstpointer data, gsize size, StorePutOutcome *outcome,
                              char **doubt, GError **error);

/* Writes or replaces an object atomically. On an error the old object or the new one is there. */
gboolean store_put (Store *store, const char *key, gconstpointer data, gsize size, StorePutFlags flags, GError **error);

/**
 * store_read:
 * @bytes: (out) (nullable) (transfer full): the object, or NULL when there is none (this is not an error)
 *
 * Errors:   SLUICE_ERROR_IO_ERROR; SLUICE_ERROR_OUT_OF_MEMORY also for an object beyond STORE_READ_MAX_BYTES.
 */
gboolean store_read (Store *store, const char *key, GBytes **bytes, GError **error);
/* The bytes [@offset, @offset + @size), fewer at the object's end, none beyond it. */
gboolean store_read_range (Store *store, const char *key, gint64 offset, gint64 size, GBytes **bytes, GError **error);
/* @entry: (out) (nullable) (transfer full): size and time of one object, or NULL when there is none. */
gboolean store_stat (Store *store, const char *key, StoreEntry **entry, GError **error);

/**
 * store_list:
 * @prefix: keys must begin with it; "" = all; need not end at a `/`
 * @start_after: (nullable): keys must be greater than it, bytewise
 * @n_most: at most so many entries (the smallest keys), 0 = all
 * @entries: (out) (transfer full) (element-type StoreEntry): sorted bytewise by key, each key once
 *
 * Objects that come or go while the listing runs may be in it or not. A directory that does not exist is empty.
 */
gboolean store_list (Store *store, const char *prefix, const char *start_after, StoreListFlags flags, guint n_most,
                     GPtrArray **entries, GError **error);

/* Deletes an object; TRUE also when there was none. The deletion itself need not survive a power cut. */
gboolean store_delete (Store *store, const char *key, GError **error);
/* Deletes every object below `prefix/` (all of the store and its root directory for ""), empty directories included. */
gboolean store_delete_tree (Store *store, const char *prefix, GError **error);

/* The path of an object on this machine, for DuckDB to read; the object need not exist.
 * Returns: (transfer full) (nullable): NULL when the store is not local. */
char *store_local_path (Store *store, const char *key);

/**
 * store_scratch_path:
 * @suffix: end of the name, e.g. ".parquet"
 *
 * A fresh path on the store's own file system for someone else to write a file to. The file is then published, or removed
 * by whoever asked for it; files of dead processes go with store_scratch_clean().
 *
 * Errors:   SLUICE_ERROR_UNSUPPORTED_FEATURE when the store is not local; IO errors of making the directory.
 * Returns:  (transfer full).
 */
char *store_scratch_path (Store *store, const char *suffix, GError **error);

/* Removes scratch files and directories last written before @older_than_us (microseconds since 1970). Never fails: what stays, stays. */
void store_scratch_clean (Store *store, gint64 older_than_us);

/* One file to publish. */
typedef struct {
  const char *scratch; /* a path given by store_scratch_path(), or below it; written and closed */
  const char *key;     /* must not exist */
} StorePublication;

/**
 * store_publish_files:
 * @files: @n_files of them
 *
 * Makes local files objects, durably: fsync of every file, mkdir -p, rename into place, fsync of every directory touched.
 * Existing objects are not replaced. On an error some of the files may have been published: none is named by a commit
 * yet, so they are only garbage; scratch files not yet moved stay where they are.
 *
 * Errors:   SLUICE_ERROR_OBJECT_STORE_CONFLICT when a key exists; IO errors.
 */
gboolean store_publish_files (Store *store, const StorePublication *files, guint n_files, GError **error);
gboolean store_publish_file (Store *store, const char *scratch, const char *key, GError **error);

/* An exclusive lock held by this open file, not by the process: a second attempt fails also within one process, and the
 * death of the holder frees it. */
typedef struct StoreLock StoreLock;
/* @lock: (out) (nullable) (transfer full): NULL when another holds it. Errors: IO errors; UNSUPPORTED_FEATURE when not local. */
gboolean store_lock_try (Store *store, const char *key, StoreLock **lock, GError **error);
void store_lock_release (StoreLock *lock); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StoreLock, store_lock_release)

G_END_DECLS

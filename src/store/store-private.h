/* A kind of store, and what store.c needs of the context. */
#pragma once

#include "store.h"

G_BEGIN_DECLS

/* Slots follow the contracts of store.h. Keys are valid, counting and faults are done: store.c sees to both. */
typedef struct {
  gboolean (*put_if_absent) (Store *store, const char *key, gconstpointer data, gsize size, StorePutOutcome *outcome,
                             char **doubt, GError **error);
  gboolean (*put) (Store *store, const char *key, gconstpointer data, gsize size, StorePutFlags flags, GError **error);
  /* @size: -1 = to the end, and then an object beyond STORE_READ_MAX_BYTES is an error. */
  gboolean (*read) (Store *store, const char *key, gint64 offset, gint64 size, GBytes **bytes, GError **error);
  gboolean (*stat) (Store *store, const char *key, StoreEntry **entry, GError **error);
  gboolean (*list) (Store *store, const char *prefix, const char *start_after, StoreListFlags flags, guint n_most,
                    GPtrArray **entries, GError **error);
  gboolean (*delete) (Store *store, const char *key, GError **error);
  gboolean (*delete_tree) (Store *store, const char *prefix, GError **error);
  gboolean (*publish) (Store *store, const StorePublication *files, guint n_files, GError **error);
  gboolean (*lock_try) (Store *store, const char *key, StoreLock **lock, GError **error);
  char *(*local_path) (Store *store, const char *key);
  char *(*scratch_path) (Store *store, const char *suffix, GError **error);
  void (*scratch_clean) (Store *store, gint64 older_than_us);
  /* What a power cut leaves of a synced write: half of it under a scratch name. */
  void (*tear) (Store *store, gconstpointer data, gsize size);
  void (*free) (Store *store);
} StoreClass;

/* First member of every store. */
struct Store {
  const StoreClass *class_;
  gatomicrefcount refs;
  StoreContext *context; /* (nullable) */
  char *root;
};

void store_init (Store *store, const StoreClass *class_, StoreContext *context, char *root); /* takes @root */

Store *store_local_new (StoreContext *context, const char *directory);
StoreEntry *store_entry_new (const char *key, gint64 size_bytes, gint64 modified_us);

/* What the operation that is about to begin must do. */
typedef enum {
  STORE_ACTION_PROCEED,
  STORE_ACTION_FAIL,
  STORE_ACTION_LOSE_ANSWER,
  STORE_ACTION_TEAR,
  STORE_ACTION_LIST_TWICE,
  STORE_ACTION_LIST_LATE,
} StoreAction;
StoreAction store_context_begin (StoreContext *context, const char *operation, const char *key);
gboolean store_context_set_injected (GError **error, const char *operation, const char *key); /* FALSE always */

G_END_DECLS

/* What all stores of one run share: the count of their operations, and the fault to inject.
 *
 * A context is made by `session` (or a test) and passed down to every store_open(); NULL means nothing is counted and
 * nothing fails. Operations are counted from 1 over all stores of the context, before each is begun, so that "killed at
 * operation n + 1" is also "killed right after operation n".
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct StoreContext StoreContext;

typedef enum {
  STORE_FAULT_NONE,
  STORE_FAULT_FAIL,       /* operation n does nothing and fails with IO_ERROR; later ones work: a passing error */
  STORE_FAULT_LOST,       /* operation n is done, but its answer is lost: IO_ERROR, or STORE_PUT_UNKNOWN */
  STORE_FAULT_TORN,       /* operation n leaves what a power cut can leave, then it and all later ones fail */
  STORE_FAULT_CRASH,      /* operation n and all later ones do nothing and fail: a kill seen from inside a test */
  STORE_FAULT_KILL,       /* the process gets SIGKILL before operation n */
  STORE_FAULT_LIST_TWICE, /* the first listing at or after n shows every key twice */
  STORE_FAULT_LIST_LATE,  /* the first listing at or after n does not show the newest key yet */
} StoreFaultMode;

StoreContext *store_context_new (void); /* (transfer full) */
StoreContext *store_context_ref (StoreContext *context);
void store_context_unref (StoreContext *context); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StoreContext, store_context_unref)

/* Sets the fault and starts counting from 0 again. @n counts from 1. Threads: none while operations run. */
void store_context_set_fault (StoreContext *context, guint64 n, StoreFaultMode mode);
/* The same from text: `n=37,mode=kill` (modes: fail lost torn crash kill twice late).
 * Errors: SLUICE_ERROR_INVALID_OPTION. */
gboolean store_context_set_fault_text (StoreContext *context, const char *text, GError **error);

guint64 store_context_n_operations (StoreContext *context);  /* begun since the last set */
gboolean store_context_was_injected (StoreContext *context); /* whether the fault has happened */

/* Called before every operation, on the thread that does it: for tests of races. @operation is "put", "read", …
 * @key: key or, for steps of other rooms, their object. */
typedef void (*StoreContextHook) (const char *operation, const char *key, gpointer data);
void store_context_set_hook (StoreContext *context, StoreContextHook hook, gpointer data);

/**
 * store_context_step:
 * @context: (nullable)
 * @operation: what is about to happen, e.g. "catalog-put"
 * @key: (nullable): on what
 *
 * Counts a durable step that is not an object's (a row in a database), so that faults fall there too. TORN acts as CRASH,
 * LOST as FAIL.
 *
 * Returns: FALSE with SLUICE_ERROR_IO_ERROR when the fault falls here: the step must not be done.
 */
gboolean store_context_step (StoreContext *context, const char *operation, const char *key, GError **error);

G_END_DECLS

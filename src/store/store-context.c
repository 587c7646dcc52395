/* Counting and faults: see store-context.h.
 *
 * The decision is made in one place, store_context_begin(), under a lock, so that exactly one operation gets the fault
 * whatever the number of threads. `dead` is the state after TORN and CRASH: nothing that follows has any effect.
 */
#include "store-private.h"

#include <base-error.h>
#include <base-text.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct StoreContext {
  gatomicrefcount refs;
  GMutex lock; /* all below */
  guint64 n_operations;
  guint64 fault_n; /* 0 = none */
  StoreFaultMode mode;
  gboolean injected;
  gboolean dead;
  StoreContextHook hook;
  gpointer hook_data;
};

static const struct {
  const char *name;
  StoreFaultMode mode;
} mode_rows[] = {
  { "fail", STORE_FAULT_FAIL },      { "lost", STORE_FAULT_LOST }, { "torn", STORE_FAULT_TORN },
  { "crash", STORE_FAULT_CRASH },    { "kill", STORE_FAULT_KILL }, { "twice", STORE_FAULT_LIST_TWICE },
  { "late", STORE_FAULT_LIST_LATE },
};

StoreContext *
store_context_new (void)
{
  StoreContext *context = g_new0 (StoreContext, 1);
  g_atomic_ref_count_init (&context->refs);
  g_mutex_init (&context->lock);
  return context;
}

StoreContext *
store_context_ref (StoreContext *context)
{
  g_atomic_ref_count_inc (&context->refs);
  return context;
}

void
store_context_unref (StoreContext *context)
{
  if (context == NULL || !g_atomic_ref_count_dec (&context->refs))
    return;
  g_mutex_clear (&context->lock);
  g_free (context);
}

void
store_context_set_fault (StoreContext *context, guint64 n, StoreFaultMode mode)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&context->lock);
  context->n_operations = 0;
  context->fault_n = mode == STORE_FAULT_NONE ? 0 : n;
  context->mode = mode;
  context->injected = FALSE;
  context->dead = FALSE;
}

gboolean
store_context_set_fault_text (StoreContext *context, const char *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", 0);
  gint64 n = 0;
  StoreFaultMode mode = STORE_FAULT_NONE;

  for (char **part = parts; *part != NULL; part++) {
    const char *value = strchr (*part, '=');
    if (value == NULL)
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "a fault is written n=NUMBER,mode=MODE, not %s", text);
    value++;
    if (g_str_has_prefix (*part, "n=") && base_text_parse_int64 (value, &n) && n > 0)
      continue;
    gsize row = 0;
    while (g_str_has_prefix (*part, "mode=") && row < G_N_ELEMENTS (mode_rows) &&
           strcmp (mode_rows[row].name, value) != 0)
      row++;
    if (!g_str_has_prefix (*part, "mode=") || row == G_N_ELEMENTS (mode_rows))
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s is no part of a fault", *part);
    mode = mode_rows[row].mode;
  }
  if (n == 0 || mode == STORE_FAULT_NONE)
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "a fault needs n and mode: %s", text);
  store_context_set_fault (context, (guint64) n, mode);
  return TRUE;
}

guint64
store_context_n_operations (StoreContext *context)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&context->lock);
  return context->n_operations;
}

gboolean
store_context_was_injected (StoreContext *context)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&context->lock);
  return context->injected;
}

void
store_context_set_hook (StoreContext *context, StoreContextHook hook, gpointer data)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&context->lock);
  context->hook = hook;
  context->hook_data = data;
}

/* Decides under the lock. */
static StoreAction
decide (StoreContext *context, gboolean is_list)
{
  guint64 n = ++context->n_operations;

  if (context->dead)
    return STORE_ACTION_FAIL;
  if (context->fault_n == 0 || context->injected || n < context->fault_n)
    return STORE_ACTION_PROCEED;

  switch (context->mode) {
  case STORE_FAULT_NONE:
    return STORE_ACTION_PROCEED;
  case STORE_FAULT_FAIL:
    context->injected = TRUE;
    return STORE_ACTION_FAIL;
  case STORE_FAULT_LOST:
    context->injected = TRUE;
    return STORE_ACTION_LOSE_ANSWER;
  case STORE_FAULT_TORN:
    context->injected = context->dead = TRUE;
    return STORE_ACTION_TEAR;
  case STORE_FAULT_CRASH:
    context->injected = context->dead = TRUE;
    return STORE_ACTION_FAIL;
  case STORE_FAULT_KILL:
    (void) kill (getpid (), SIGKILL); /* cannot fail for the own process */
    for (;;)
      (void) pause ();
  case STORE_FAULT_LIST_TWICE:
  case STORE_FAULT_LIST_LATE:
    if (!is_list)
      return STORE_ACTION_PROCEED;
    context->injected = TRUE;
    return context->mode == STORE_FAULT_LIST_TWICE ? STORE_ACTION_LIST_TWICE : STORE_ACTION_LIST_LATE;
  }
  return STORE_ACTION_PROCEED;
}

StoreAction
store_context_begin (StoreContext *context, const char *operation, const char *key)
{
  StoreContextHook hook;
  gpointer hook_data;
  StoreAction action;

  if (context == NULL)
    return STORE_ACTION_PROCEED;
  g_mutex_lock (&context->lock);
  hook = context->hook;
  hook_data = context->hook_data;
  g_mutex_unlock (&context->lock);
  if (hook != NULL)
    hook (operation, key, hook_data);
  g_mutex_lock (&context->lock);
  action = decide (context, strcmp (operation, "list") == 0);
  g_mutex_unlock (&context->lock);
  return action;
}

gboolean
store_context_set_injected (GError **error, const char *operation, const char *key)
{
  return base_error_set (error, SLUICE_ERROR_IO_ERROR, "%s %s: an injected fault", operation, key != NULL ? key : "");
}

gboolean
store_context_step (StoreContext *context, const char *operation, const char *key, GError **error)
{
  if (store_context_begin (context, operation, key) == STORE_ACTION_PROCEED)
    return TRUE;
  return store_context_set_injected (error, operation, key);
}

/* Cancellation: see base-cancel.h. The lock is held while hooks run, so that a removed hook is never running. */
#include "base-cancel.h"

#include "base-error.h"

typedef struct {
  guint id;
  BaseCancelHook hook;
  gpointer data;
} Hook;

struct BaseCancel {
  gatomicrefcount refs;
  GMutex lock;
  GArray *hooks; /* of Hook; guarded by lock */
  guint last_id; /* guarded by lock */
  int raised;    /* atomic */
};

BaseCancel *
base_cancel_new (void)
{
  BaseCancel *cancel = g_new0 (BaseCancel, 1);

  g_atomic_ref_count_init (&cancel->refs);
  g_mutex_init (&cancel->lock);
  cancel->hooks = g_array_new (FALSE, FALSE, sizeof (Hook));
  return cancel;
}

BaseCancel *
base_cancel_ref (BaseCancel *cancel)
{
  if (cancel != NULL)
    g_atomic_ref_count_inc (&cancel->refs);
  return cancel;
}

void
base_cancel_unref (BaseCancel *cancel)
{
  if (cancel == NULL || !g_atomic_ref_count_dec (&cancel->refs))
    return;
  g_array_unref (cancel->hooks);
  g_mutex_clear (&cancel->lock);
  g_free (cancel);
}

void
base_cancel_raise (BaseCancel *cancel)
{
  g_mutex_lock (&cancel->lock);
  g_atomic_int_set (&cancel->raised, 1);
  for (guint i = 0; i < cancel->hooks->len; i++) {
    Hook *hook = &g_array_index (cancel->hooks, Hook, i);
    hook->hook (hook->data);
  }
  g_mutex_unlock (&cancel->lock);
}

gboolean
base_cancel_is_raised (BaseCancel *cancel)
{
  return cancel != NULL && g_atomic_int_get (&cancel->raised) != 0;
}

gboolean
base_cancel_check (BaseCancel *cancel, GError **error)
{
  if (!base_cancel_is_raised (cancel))
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_OPERATION_CANCELED, "The operation was canceled");
}

guint
base_cancel_add_hook (BaseCancel *cancel, BaseCancelHook hook, gpointer data)
{
  if (cancel == NULL)
    return 0;
  g_mutex_lock (&cancel->lock);
  Hook added = { ++cancel->last_id, hook, data };
  g_array_append_val (cancel->hooks, added);
  if (g_atomic_int_get (&cancel->raised) != 0)
    hook (data);
  g_mutex_unlock (&cancel->lock);
  return added.id;
}

void
base_cancel_remove_hook (BaseCancel *cancel, guint id)
{
  if (cancel == NULL || id == 0)
    return;
  g_mutex_lock (&cancel->lock);
  for (guint i = 0; i < cancel->hooks->len; i++) {
    if (g_array_index (cancel->hooks, Hook, i).id == id) {
      g_array_remove_index (cancel->hooks, i);
      break;
    }
  }
  g_mutex_unlock (&cancel->lock);
}

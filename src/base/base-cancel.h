/* Cancellation: one flag, raised once, looked at often.
 *
 * A BaseCancel is shared by the thread that raises it (Ctrl-C, a client that went away) and the threads that work. Work asks
 * before every query and between batches; a running query is interrupted by the hook that `duck` installs.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct BaseCancel BaseCancel;
typedef void (*BaseCancelHook) (gpointer data);

BaseCancel *base_cancel_new (void);               /* (transfer full) */
BaseCancel *base_cancel_ref (BaseCancel *cancel); /* (transfer full) (nullable): NULL stays NULL */
void base_cancel_unref (BaseCancel *cancel);      /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BaseCancel, base_cancel_unref)

/* Raises the flag and calls every hook now installed, once. Threads: any, but not from a signal handler. */
void base_cancel_raise (BaseCancel *cancel);
/* @cancel: (nullable): NULL is never raised. */
gboolean base_cancel_is_raised (BaseCancel *cancel);
/* Returns: FALSE with SLUICE_ERROR_OPERATION_CANCELED when raised. */
gboolean base_cancel_check (BaseCancel *cancel, GError **error);

/* Installs @hook until base_cancel_remove_hook(); called from the raising thread, at once if the flag is already up.
 * The hook must be callable several times and must not call back into @cancel. Returns: an id, 0 when @cancel is NULL. */
guint base_cancel_add_hook (BaseCancel *cancel, BaseCancelHook hook, gpointer data);
/* After it returned, the hook does not run and will not run again. */
void base_cancel_remove_hook (BaseCancel *cancel, guint id);

G_END_DECLS

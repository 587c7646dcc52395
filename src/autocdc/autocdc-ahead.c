/* Reading ahead: the next batch's events are read and checked while a batch's rows are written, which leaves all but one thread idle.
 *
 * What is read is an AutoCdcWork with a session of its own, which the next autocdc_apply() goes on with. When anything goes wrong it
 * is thrown away, and the batch begins anew and says what is wrong.
 *
 * Invariants:
 *  1. `work` is the thread's until it is joined.
 *  2. The plan is lowered in the caller's thread: plans are not for several.
 */
#include "autocdc-work-private.h"
#include "duck-engine.h"

/* A reader of JSON alone takes 128 MiB a thread; the batch that is being written must not run out of memory for the next one. */
#define LEAST_THREAD_BYTES ((guint64) 512 << 20)

struct AutoCdcAhead {
  AutoCdcBatch batch;
  AutoCdcWork *work; /* (nullable): once it was taken */
  BaseCancel *cancel;
  GThread *thread; /* (nullable) */
  gboolean good;
};

static gpointer
read_all (gpointer data)
{
  AutoCdcAhead *ahead = data;

  ahead->good = autocdc_read_events (ahead->work, NULL);
  return NULL;
}

/* A BaseCancelHook of the batch. */
static void
stop (gpointer cancel)
{
  base_cancel_raise (cancel);
}

static void
end (AutoCdcAhead *ahead)
{
  if (ahead->thread)
    (void) g_thread_join (g_steal_pointer (&ahead->thread));
}

AutoCdcAhead *
autocdc_read_ahead (AutoCdcPlan *plan, const AutoCdcBatch *batch, const RelationContext *context)
{
  g_autoptr (AutoCdcAhead) ahead = NULL;
  DuckEngine *engine = duck_session_engine (context->session);

  if (duck_engine_memory_bytes (engine) / duck_engine_n_threads (engine) < LEAST_THREAD_BYTES)
    return NULL;
  ahead = g_new0 (AutoCdcAhead, 1);
  /* Half the room: the batch before it has rows in memory too. */
  ahead->batch = (AutoCdcBatch){ .batch_id = batch->batch_id,
                                 .clock_us = batch->clock_us,
                                 .kept_bytes = autocdc_kept_bytes (batch) / 2 };
  ahead->cancel = base_cancel_new ();
  ahead->work = autocdc_work_new (plan, &ahead->batch, context, ahead->cancel);
  if (!(ahead->work->own_session = duck_session_new_beside (context->session, NULL)))
    return NULL;
  ahead->work->session = ahead->work->own_session;
  if (!autocdc_lower_events (ahead->work, NULL) ||
      !(ahead->thread = g_thread_try_new ("read-ahead", read_all, ahead, NULL)))
    return NULL;
  return g_steal_pointer (&ahead);
}

AutoCdcWork *
autocdc_ahead_take (AutoCdcAhead *ahead, const AutoCdcPlan *plan, const AutoCdcBatch *batch,
                    const RelationContext *context, BaseCancel *cancel)
{
  if (!ahead)
    return NULL;
  guint hook = base_cancel_add_hook (cancel, stop, ahead->cancel);
  end (ahead);
  base_cancel_remove_hook (cancel, hook);
  if (!ahead->good || !ahead->work || ahead->work->plan != plan)
    return NULL;
  ahead->work->batch = batch;
  ahead->work->context = context;
  ahead->work->cancel = cancel;
  return g_steal_pointer (&ahead->work);
}

void
autocdc_ahead_free (AutoCdcAhead *ahead)
{
  if (!ahead)
    return;
  base_cancel_raise (ahead->cancel);
  end (ahead);
  autocdc_work_free (ahead->work);
  base_cancel_unref (ahead->cancel);
  g_free (ahead);
}

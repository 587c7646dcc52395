/* Reading ahead: the next batch's events are read while a batch is written, which leaves all but one thread idle.
 *
 * Nothing of it is seen from outside: what cannot be read, or is too much, is read by the batch itself when its turn comes.
 *
 * Invariants:
 *  1. `rows` and `was_full` are the thread's until it is joined.
 *  2. The plan is lowered in the caller's thread: it is not for several.
 */
#include "autocdc-work-private.h"

struct AutoCdcAhead {
  RelationText *text;
  char *select;
  guint64 room;
  DuckSession *session;
  BaseCancel *cancel;
  GThread *thread; /* (nullable) */
  DuckRows *rows;  /* (nullable) */
  gboolean was_full;
};

static gpointer
read_all (gpointer data)
{
  AutoCdcAhead *ahead = data;

  ahead->rows = duck_rows_new (ahead->session, ahead->select, ahead->room, NULL, FALSE, ahead->cancel, NULL);
  if (ahead->rows && !duck_rows_relation (ahead->rows)) {
    g_clear_pointer (&ahead->rows, duck_rows_free);
    ahead->was_full = TRUE;
  }
  return NULL;
}

AutoCdcAhead *
autocdc_read_ahead (AutoCdcPlan *plan, gint64 clock_us, guint64 kept_bytes, const RelationContext *context)
{
  AutoCdcBatch batch = { .clock_us = clock_us };
  g_autoptr (AutoCdcWork) work = autocdc_work_new (plan, &batch, context, NULL);
  g_autoptr (AutoCdcAhead) ahead = g_new0 (AutoCdcAhead, 1);
  const char *pattern = autocdc_events_pattern (work, &ahead->text, NULL);

  if (!pattern || !(ahead->session = duck_session_new_beside (context->session, NULL)))
    return NULL;
  ahead->select = autocdc_work_text (work, pattern);
  ahead->room = autocdc_kept_bytes (kept_bytes) / 2;
  ahead->cancel = base_cancel_new ();
  ahead->thread = g_thread_try_new ("read ahead", read_all, ahead, NULL);
  return ahead->thread ? g_steal_pointer (&ahead) : NULL;
}

static void
end (AutoCdcAhead *ahead)
{
  if (ahead->thread)
    (void) g_thread_join (g_steal_pointer (&ahead->thread));
}

DuckRows *
autocdc_ahead_take (AutoCdcAhead *ahead, RelationText **text)
{
  if (!ahead)
    return NULL;
  end (ahead);
  if (ahead->rows)
    *text = g_steal_pointer (&ahead->text);
  return g_steal_pointer (&ahead->rows);
}

gboolean
autocdc_ahead_was_full (const AutoCdcAhead *ahead)
{
  return ahead->was_full;
}

void
autocdc_ahead_free (AutoCdcAhead *ahead)
{
  if (!ahead)
    return;
  if (ahead->cancel)
    base_cancel_raise (ahead->cancel);
  end (ahead);
  duck_rows_free (ahead->rows);
  duck_session_free (ahead->session);
  base_cancel_unref (ahead->cancel);
  relation_text_free (ahead->text);
  g_free (ahead->select);
  g_free (ahead);
}

/* Running a streaming flow: see stream-run.h.
 *
 *   settle ──► (newest planned batch is proved or marked)  ──► plan N+1 ──► log ──► show ──► apply ──► mark ──┐
 *     │                                                          ▲                                            │
 *     └─► (not proved) show ─► apply ─► mark ────────────────────┴────────────────────────────────────────────┘
 */
#include "stream-run.h"

#include "base-error.h"
#include "base-json.h"

#include <string.h>

/* Offsets of so many done batches are kept for people who look. */
#define KEEP_BATCHES 100

void
stream_source_free (StreamSource *source)
{
  if (source != NULL)
    source->klass->free (source);
}

/* ---- proof ---- */

char *
stream_proof_domain (const char *run_id)
{
  return g_strconcat ("sluice.flow.", run_id, NULL);
}

char *
stream_proof_text (gint64 batch, const char *digest)
{
  return g_strdup_printf ("{\"batch\":%" G_GINT64_FORMAT ",\"offsets\":\"%s\"}", batch, digest);
}

gboolean
stream_proof_read (const char *text, gint64 *batch, char **digest, GError **error)
{
  *batch = -1;
  *digest = NULL;
  if (text == NULL)
    return TRUE;
  g_autoptr (json_t) json = base_json_parse (text, strlen (text), "the flow's domain in the target", error);
  if (json == NULL)
    return FALSE;
  *batch = base_json_int64 (json, "batch", -1);
  *digest = g_strdup (base_json_string (json, "offsets"));
  return TRUE;
}

/* ---- state of one run ---- */

typedef struct {
  const StreamRun *run;
  StreamRunOutcome *outcome;
  json_t **last;         /* per source: the newest logged offset before the coming batch; (nullable) */
  json_t **origin;       /* per source: where the stream began; only of a run that shows it whole */
  guint n_new;           /* batches planned and applied by this run */
  json_t *ahead;         /* (nullable): offsets by source, up to which the sink reads ahead */
  gint64 ahead_clock_us; /* of that batch */
} Work;

/* What of it a batch carries. */
struct StreamAhead {
  Work *work;
  const json_t *offsets; /* of the batch */
};

static gboolean
corrupt (GError **error, const char *what)
{
  base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT, "The stored progress does not fit its target: %s", what);
  base_error_set_hint (error,
                       "the storage was restored from a backup, or another copy ran; a flow starts anew by a full "
                       "refresh of its target, a stream of its own with a new checkpoint and startingVersion");
  return FALSE;
}

static json_t *
offset_of (const json_t *offsets, guint source)
{
  json_t *offset = json_array_get (json_object_get (offsets, "sources"), source);

  return json_is_object (offset) ? offset : NULL;
}

/* In whole milliseconds, as it is logged. */
static gint64
clock_now (const StreamRun *run)
{
  return base_clock_now_us (&run->clock) / 1000 * 1000;
}

static void
set_last (Work *work, const json_t *offsets)
{
  for (guint i = 0; i < work->run->n_sources; i++) {
    json_t *offset = offsets != NULL ? offset_of (offsets, i) : NULL;
    json_decref (work->last[i]);
    work->last[i] = offset != NULL ? json_incref (offset) : NULL;
  }
}

/* What waits in all sources together after @offsets ((nullable): where the stream stands). */
static StreamBacklog
backlog_after (const Work *work, const json_t *offsets)
{
  StreamBacklog sum = { 0 };

  for (guint i = 0; i < work->run->n_sources; i++) {
    StreamSource *source = work->run->sources[i];
    StreamBacklog one = source->klass->backlog (source, offsets != NULL ? offset_of (offsets, i) : work->last[i]);
    sum.bytes = sum.bytes < 0 || one.bytes < 0 ? -1 : sum.bytes + one.bytes;
    sum.files = sum.files < 0 || one.files < 0 ? -1 : sum.files + one.files;
    sum.records = sum.records < 0 || one.records < 0 ? -1 : sum.records + one.records;
  }
  return sum;
}

/* The batch is done: it is marked, and the stream stands behind it. */
static void
finish (Work *work, gint64 batch, const json_t *offsets)
{
  const StreamRun *run = work->run;

  stream_progress_mark_done (run->progress);
  for (guint i = 0; i < run->n_sources; i++)
    if (run->sources[i]->klass->done != NULL)
      run->sources[i]->klass->done (run->sources[i], batch, offset_of (offsets, i));
  set_last (work, offsets);
}

/* The leaves give the rows after @from, one offset per source, up to @offsets. */
static gboolean
show (const Work *work, json_t *const *from, const json_t *offsets, GError **error)
{
  for (guint i = 0; i < work->run->n_sources; i++) {
    StreamSource *source = work->run->sources[i];
    if (!source->klass->show (source, from[i], offset_of (offsets, i), error))
      return FALSE;
  }
  return TRUE;
}

/* @is_read_ahead: the sink has begun to read it. */
static gboolean
show_and_apply (Work *work, gint64 batch, const json_t *offsets, const char *digest, gboolean is_read_ahead,
                GError **error)
{
  const StreamRun *run = work->run;
  StreamAhead ahead = { work, offsets };
  StreamBatch applied = { .run_id = stream_progress_run_id (run->progress),
                          .batch = batch,
                          .digest = digest,
                          .clock_us = base_json_int64 (offsets, "clockUs", 0),
                          .is_read_ahead = is_read_ahead,
                          .ahead = &ahead };

  if (!show (work, run->whole ? work->origin : work->last, offsets, error))
    return FALSE;
  applied.backlog = backlog_after (work, offsets);
  if (!base_cancel_check (run->cancel, error) || !run->sink->apply (run->sink, &applied, error))
    return FALSE;
  finish (work, batch, offsets);
  work->outcome->n_batches++;
  return TRUE;
}

/* The target proves batch B: the logged offsets of B must have the digest that it holds. */
static gboolean
check_proof (Work *work, gint64 proved, const char *proved_digest, GError **error)
{
  StreamProgress *progress = work->run->progress;
  g_autoptr (json_t) offsets = NULL;
  g_autofree char *digest = NULL;

  if (proved < 0)
    return TRUE;
  if (proved > stream_progress_last_planned (progress))
    return corrupt (error, "the target holds a batch that was never logged here");
  /* A target without digests says only which batch; offsets long behind may have been removed, when no rows came since. */
  if (proved_digest == NULL || proved < stream_progress_last_planned (progress) - KEEP_BATCHES)
    return TRUE;
  if (!stream_progress_read (progress, proved, &offsets, &digest, error))
    return FALSE;
  if (g_strcmp0 (digest, proved_digest) != 0)
    return corrupt (error, "the target holds a batch with other offsets");
  return TRUE;
}

/* ---- where the stream began ---- */

static char *
origin_key (const StreamRun *run, guint source)
{
  g_autofree char *name = g_strdup_printf ("%u", source);

  return stream_progress_state_key (run->progress, name, "origin");
}

static gboolean
read_origin (Work *work, guint source, GError **error)
{
  g_autofree char *key = origin_key (work->run, source);
  g_autoptr (GBytes) bytes = NULL;

  if (!store_read (stream_progress_storage (work->run->progress), key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return corrupt (error, "it was begun by a run that did not note where it begins");
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  work->origin[source] = base_json_parse (text, size, key, error);
  return work->origin[source] != NULL;
}

static gboolean
write_origin (Work *work, guint source, GError **error)
{
  StreamSource *reads = work->run->sources[source];
  g_autofree char *key = origin_key (work->run, source);

  if (reads->klass->origin == NULL)
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_STREAMING_OPERATION,
                           "%s does not give its rows again, so a result over all of them cannot be kept",
                           reads->leaf->name);
  if (!reads->klass->origin (reads, &work->origin[source], error))
    return FALSE;
  g_autofree char *text = base_json_text (work->origin[source]);
  return store_put (stream_progress_storage (work->run->progress), key, text, strlen (text), STORE_PUT_SYNCED, error);
}

/* It is noted before the first offsets, and again until those are logged. */
static gboolean
settle_origin (Work *work, GError **error)
{
  gboolean is_new = stream_progress_last_planned (work->run->progress) < 0;

  for (guint i = 0; i < work->run->n_sources && work->run->whole; i++)
    if (is_new ? !write_origin (work, i, error) : !read_origin (work, i, error))
      return FALSE;
  return TRUE;
}

/* Loads where the stream stands, begins the sources, and applies a batch again that nobody knows to be done. */
static gboolean
settle (Work *work, GError **error)
{
  const StreamRun *run = work->run;
  StreamProgress *progress = run->progress;
  gint64 newest = stream_progress_last_planned (progress);
  g_autoptr (json_t) before = NULL;
  g_autoptr (json_t) offsets = NULL;
  g_autofree char *digest = NULL;
  g_autofree char *ignored = NULL;
  g_autofree char *proved_digest = NULL;
  gint64 proved = -1;

  if (!run->sink->proof (run->sink, stream_progress_run_id (progress), &proved, &proved_digest, error) ||
      !check_proof (work, proved, proved_digest, error))
    return FALSE;
  if (newest >= 0 && !stream_progress_read (progress, newest, &offsets, &digest, error))
    return FALSE;
  for (guint i = 0; i < run->n_sources; i++)
    if (!run->sources[i]->klass->begin (run->sources[i], progress, offset_of (offsets, i), error))
      return FALSE;
  if (!settle_origin (work, error))
    return FALSE;
  if (newest < 0)
    return TRUE;
  if (proved == newest || stream_progress_is_marked_done (progress)) {
    set_last (work, offsets);
    return TRUE;
  }
  if (newest > 0 && !stream_progress_read (progress, newest - 1, &before, &ignored, error))
    return FALSE;
  set_last (work, before);
  return show_and_apply (work, newest, offsets, digest, FALSE, error);
}

/* What plan() and plan_ahead() of sources are. */
typedef gboolean (*PlanFunc) (StreamSource *source, const json_t *last, json_t **next, gboolean *has_rows,
                              GError **error);

static gboolean
plan_source (StreamSource *source, gboolean ahead, json_t *last, json_t *list, gboolean *moves, gboolean *has_rows,
             GError **error)
{
  PlanFunc plan = ahead ? source->klass->plan_ahead : source->klass->plan;
  json_t *next = NULL;
  gboolean rows = FALSE;

  if (!plan (source, last, &next, &rows, error))
    return FALSE;
  *has_rows = *has_rows || (next != NULL && rows);
  *moves = *moves || next != NULL;
  json_array_append_new (list, next != NULL ? next : last != NULL ? json_incref (last) : json_null ());
  return TRUE;
}

/* Plans one more step. @offsets: (out) (nullable): NULL when no source moves. @has_rows: (out): whether there is something to
 * apply; a step without rows is logged all the same, so that it is never taken again: `startingVersion = latest` means the
 * moment of the first run, and commits without rows may be cleaned up behind the stream. @is_read_ahead: (out): what the sink reads
 * ahead is this step: it has the clock that it is read with. */
static gboolean
plan (Work *work, json_t **offsets, gboolean *has_rows, gboolean *is_read_ahead, GError **error)
{
  const StreamRun *run = work->run;
  g_autoptr (json_t) list = json_array ();
  g_autoptr (json_t) ahead = g_steal_pointer (&work->ahead);
  gboolean moves = FALSE;

  *offsets = NULL;
  *has_rows = FALSE;
  for (guint i = 0; i < run->n_sources; i++)
    if (!plan_source (run->sources[i], FALSE, work->last[i], list, &moves, has_rows, error))
      return FALSE;
  if (!moves)
    return TRUE;
  *is_read_ahead = ahead != NULL && json_equal (ahead, list);
  gint64 clock_us = *is_read_ahead ? work->ahead_clock_us : clock_now (run);
  *offsets = json_pack ("{s:I, s:I, s:O}", "batch", (json_int_t) (stream_progress_last_planned (run->progress) + 1),
                        "clockUs", (json_int_t) clock_us, "sources", list);
  return TRUE;
}

/* ---- looking ahead ---- */

static gboolean
may_look_ahead (const Work *work)
{
  const StreamRun *run = work->run;

  for (guint i = 0; i < run->n_sources; i++)
    if (run->sources[i]->klass->plan_ahead == NULL)
      return FALSE;
  return run->sink->read_ahead != NULL && !run->whole && (run->max_batches == 0 || work->n_new + 1 < run->max_batches);
}

void
stream_run_look_ahead (const StreamBatch *batch)
{
  Work *work = batch->ahead->work;
  const StreamRun *run = work->run;
  g_autofree json_t **last = g_new0 (json_t *, run->n_sources);
  g_autoptr (json_t) list = json_array ();
  gboolean moves = FALSE, has_rows = FALSE;

  if (!may_look_ahead (work))
    return;
  for (guint i = 0; i < run->n_sources; i++) {
    last[i] = offset_of (batch->ahead->offsets, i);
    if (!plan_source (run->sources[i], TRUE, last[i], list, &moves, &has_rows, NULL))
      return;
  }
  g_autoptr (json_t) offsets = json_pack ("{s:O}", "sources", list);
  if (!has_rows || !show (work, last, offsets, NULL))
    return;
  json_decref (work->ahead);
  work->ahead = json_incref (list);
  work->ahead_clock_us = clock_now (run);
  run->sink->read_ahead (run->sink, batch->batch + 1, work->ahead_clock_us);
}

/* ---- the loop ---- */

static void
forget_old (const StreamRun *run)
{
  gint64 below = stream_progress_last_planned (run->progress) - KEEP_BATCHES;

  if (below <= 0 || below % KEEP_BATCHES != 0)
    return;
  for (guint i = 0; i < run->n_sources; i++)
    below = MIN (below, run->sources[i]->keep_from);
  stream_progress_forget_below (run->progress, below);
}

static gboolean
run_all (Work *work, GError **error)
{
  if (!settle (work, error))
    return FALSE;
  while (work->run->max_batches == 0 || work->n_new < work->run->max_batches) {
    g_autoptr (json_t) offsets = NULL;
    g_autofree char *digest = NULL;
    gboolean has_rows = FALSE, is_read_ahead = FALSE;
    if (!base_cancel_check (work->run->cancel, error) || !plan (work, &offsets, &has_rows, &is_read_ahead, error))
      return FALSE;
    if (offsets == NULL)
      return TRUE;
    if (!stream_progress_plan (work->run->progress, offsets, &digest, error))
      return FALSE;
    gint64 batch = stream_progress_last_planned (work->run->progress);
    if (has_rows && !show_and_apply (work, batch, offsets, digest, is_read_ahead, error))
      return FALSE;
    if (!has_rows)
      finish (work, batch, offsets);
    work->n_new += has_rows ? 1 : 0;
    forget_old (work->run);
  }
  return TRUE;
}

/* Whether the error is a schema that grew: then the sources store what they saw. */
static void
consider_restart (Work *work, GError **error)
{
  const char *condition = base_error_condition (*error);

  if (strcmp (condition, "DELTA_SCHEMA_CHANGED_WITH_VERSION") == 0 ||
      strcmp (condition, "DELTA_STREAMING_METADATA_EVOLUTION") == 0)
    work->outcome->must_restart = TRUE;
  if (strcmp (condition, "UNKNOWN_FIELD_EXCEPTION") != 0)
    return;
  for (guint i = 0; i < work->run->n_sources; i++) {
    StreamSource *source = work->run->sources[i];
    g_autoptr (GError) failure = NULL;
    gboolean grown = FALSE;
    if (source->klass->evolve == NULL)
      continue;
    if (!source->klass->evolve (source, &grown, &failure)) {
      g_clear_error (error);
      g_propagate_error (error, g_steal_pointer (&failure));
      work->outcome->must_restart = FALSE;
      return;
    }
    work->outcome->must_restart = work->outcome->must_restart || grown;
  }
}

gboolean
stream_run_available (const StreamRun *run, StreamRunOutcome *outcome, GError **error)
{
  Work work = { .run = run,
                .outcome = outcome,
                .last = g_new0 (json_t *, run->n_sources + 1),
                .origin = g_new0 (json_t *, run->n_sources + 1) };
  g_autoptr (GError) failure = NULL;

  *outcome = (StreamRunOutcome){ 0 };
  gboolean good = run_all (&work, &failure);
  if (!good)
    consider_restart (&work, &failure);
  outcome->backlog = backlog_after (&work, NULL);
  for (guint i = 0; i < run->n_sources; i++) {
    json_decref (work.last[i]);
    json_decref (work.origin[i]);
  }
  g_free (work.last);
  g_free (work.origin);
  json_decref (work.ahead);
  if (!good)
    g_propagate_error (error, g_steal_pointer (&failure));
  return good;
}

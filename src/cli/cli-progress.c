/* Progress of an update: a listener of its events.
 *
 * Invariants: (1) what is drawn is a function of `flows`, guarded by `mutex`; (2) `n_drawn` lines of the screen, above the cursor, are ours;
 * (3) whatever must stay on the screen (warnings) is printed after they were erased and before they are drawn again.
 * A thread redraws five times a second, so that times go on while a long query says nothing.
 */
#include "cli-progress.h"

#include <base-error.h>
#include <base-json.h>
#include <base-text.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_US (G_USEC_PER_SEC / 5)

typedef struct {
  char *name;
  char *state; /* `QUEUED`, `RUNNING` … */
  guint64 n_rows;
  guint64 n_dropped;
  gint64 started_us; /* monotonic; 0 = not yet */
  gint64 ended_us;   /* monotonic; 0 = not yet */
} Flow;

struct CliProgress {
  gboolean is_live;
  gint64 started_us;
  GMutex mutex; /* guards all below, and stdout */
  GCond stop;
  gboolean stopping;
  GPtrArray *flows; /* of Flow, in the order in which they were heard of */
  char *state;      /* of the update */
  guint n_drawn;
  GThread *thread; /* (nullable) */
};

static void
flow_free (Flow *flow)
{
  g_free (flow->name);
  g_free (flow->state);
  g_free (flow);
}

char *
cli_duration_text (gint64 duration_us)
{
  gint64 seconds = duration_us / G_USEC_PER_SEC;

  if (seconds >= 3600)
    return g_strdup_printf ("%" G_GINT64_FORMAT " h %" G_GINT64_FORMAT " min", seconds / 3600, seconds / 60 % 60);
  if (seconds >= 60)
    return g_strdup_printf ("%" G_GINT64_FORMAT " min %" G_GINT64_FORMAT " s", seconds / 60, seconds % 60);
  return g_strdup_printf ("%.2f s", (double) duration_us / G_USEC_PER_SEC);
}

/* --- The screen --- */

static void
erase (CliProgress *progress)
{
  if (progress->n_drawn > 0)
    fprintf (stdout, "\033[%uA\033[J", progress->n_drawn);
  progress->n_drawn = 0;
}

/* Cuts a line to the terminal's width, which must not wrap: a wrapped line would count twice. */
static void
put_line (CliProgress *progress, GString *line, guint n_columns)
{
  if (g_utf8_strlen (line->str, -1) > (glong) n_columns)
    g_string_truncate (line, (gsize) (g_utf8_offset_to_pointer (line->str, (glong) n_columns) - line->str));
  fprintf (stdout, "%s\n", line->str);
  progress->n_drawn++;
}

static void
put_flow (CliProgress *progress, const Flow *flow, int width, guint n_columns)
{
  gint64 until_us = flow->ended_us != 0 ? flow->ended_us : g_get_monotonic_time ();
  gint64 lasted_us = flow->started_us != 0 ? until_us - flow->started_us : 0;
  g_autofree char *n_rows = base_text_count (flow->n_rows);
  g_autofree char *rate =
      base_text_count (lasted_us > 0 ? (guint64) ((double) flow->n_rows * 1e6 / (double) lasted_us) : 0);
  g_autofree char *n_dropped = base_text_count (flow->n_dropped);
  g_autofree char *lasted = cli_duration_text (lasted_us);
  g_autoptr (GString) line = g_string_new (NULL);

  g_string_printf (line, "  %-*s  %-9s", width, flow->name, flow->state);
  if (flow->started_us != 0)
    g_string_append_printf (line, "  %11s rows  %11s rows/s  %9s dropped  %9s", n_rows, rate, n_dropped, lasted);
  put_line (progress, line, n_columns);
}

static gboolean
is_open (const Flow *flow)
{
  return flow->ended_us == 0;
}

/* Draws the update's state and the flows; when there are more than lines, the ended ones give way first. */
static void
draw (CliProgress *progress)
{
  struct winsize size = { 0 };
  guint n_columns, n_lines, n_left_out = 0, n_ended_left;
  int width = 4;
  g_autoptr (GString) line = g_string_new (NULL);
  g_autofree char *lasted = cli_duration_text (g_get_monotonic_time () - progress->started_us);

  (void) ioctl (STDOUT_FILENO, TIOCGWINSZ, &size); /* without an answer the size stays 0 */
  n_columns = size.ws_col > 20 ? size.ws_col - 1u : 79;
  n_lines = size.ws_row > 6 ? size.ws_row - 3u : 20;
  for (guint i = 0; i < progress->flows->len; i++)
    width = MAX (width, (int) strlen (((const Flow *) g_ptr_array_index (progress->flows, i))->name));
  n_ended_left = progress->flows->len > n_lines ? progress->flows->len - n_lines : 0;
  g_string_printf (line, "%s  %s", progress->state, lasted);
  put_line (progress, line, n_columns);
  for (guint i = 0; i < progress->flows->len; i++) {
    const Flow *flow = g_ptr_array_index (progress->flows, i);
    gboolean leave_out = (!is_open (flow) && n_left_out < n_ended_left) || progress->n_drawn > n_lines;
    if (leave_out)
      n_left_out++;
    else
      put_flow (progress, flow, MIN (width, 40), n_columns);
  }
  if (n_left_out > 0) {
    g_string_printf (line, "  … and %u more", n_left_out);
    put_line (progress, line, n_columns);
  }
}

static void
redraw (CliProgress *progress)
{
  erase (progress);
  draw (progress);
  (void) fflush (stdout); /* a screen that cannot be written is no reason to stop the update */
}

static gpointer
redraw_thread (gpointer data)
{
  CliProgress *progress = data;

  g_mutex_lock (&progress->mutex);
  while (!progress->stopping) {
    (void) g_cond_wait_until (&progress->stop, &progress->mutex,
                              g_get_monotonic_time () + REDRAW_US); /* either way: look */
    if (!progress->stopping && progress->state != NULL)
      redraw (progress);
  }
  g_mutex_unlock (&progress->mutex);
  return NULL;
}

CliProgress *
cli_progress_new (gboolean is_live)
{
  CliProgress *progress = g_new0 (CliProgress, 1);

  progress->is_live = is_live;
  progress->started_us = g_get_monotonic_time ();
  progress->flows = g_ptr_array_new_with_free_func ((GDestroyNotify) flow_free);
  g_mutex_init (&progress->mutex);
  g_cond_init (&progress->stop);
  if (is_live)
    progress->thread =
        g_thread_try_new ("progress", redraw_thread, progress, NULL); /* without it: drawn at events only */
  return progress;
}

void
cli_progress_free (CliProgress *progress)
{
  if (progress == NULL)
    return;
  g_mutex_lock (&progress->mutex);
  progress->stopping = TRUE;
  g_cond_signal (&progress->stop);
  g_mutex_unlock (&progress->mutex);
  if (progress->thread != NULL)
    g_thread_join (progress->thread);
  erase (progress);
  (void) fflush (stdout); /* as in redraw() */
  g_ptr_array_unref (progress->flows);
  g_free (progress->state);
  g_mutex_clear (&progress->mutex);
  g_cond_clear (&progress->stop);
  g_free (progress);
}

/* --- Events --- */

static Flow *
find_flow (CliProgress *progress, const char *name)
{
  Flow *flow;

  for (guint i = 0; i < progress->flows->len; i++) {
    flow = g_ptr_array_index (progress->flows, i);
    if (strcmp (flow->name, name) == 0)
      return flow;
  }
  flow = g_new0 (Flow, 1);
  flow->name = g_strdup (name);
  flow->state = g_strdup ("QUEUED");
  g_ptr_array_add (progress->flows, flow);
  return flow;
}

/* Rows that a batch brought: written ones, or changes for AUTO CDC. */
static guint64
batch_rows (const json_t *metrics)
{
  static const char *const keys[] = { "num_output_rows", "num_upserted_rows", "num_deleted_rows" };
  guint64 n_rows = 0;

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    n_rows += (guint64) MAX (0, base_json_int64 (metrics, keys[i], 0));
  return n_rows;
}

static void
take_flow_event (CliProgress *progress, const PipelineEvent *event)
{
  Flow *flow = find_flow (progress, event->flow);
  const char *state = base_json_string (event->details, "status");
  const json_t *metrics = json_object_get (event->details, "metrics");
  const json_t *quality = json_object_get (event->details, "data_quality");

  if (metrics != NULL)
    flow->n_rows += batch_rows (metrics);
  if (quality != NULL)
    flow->n_dropped += (guint64) MAX (0, base_json_int64 (quality, "dropped_records", 0));
  if (state == NULL)
    return;
  g_free (flow->state);
  flow->state = g_strdup (state);
  if (strcmp (state, "RUNNING") == 0 || strcmp (state, "STARTING") == 0)
    flow->started_us = flow->started_us != 0 ? flow->started_us : g_get_monotonic_time ();
  else if (strcmp (state, "QUEUED") != 0)
    flow->ended_us = g_get_monotonic_time ();
}

/* `batch 3: 1,000 rows, 2 dropped`, or NULL when the event ends no batch. */
static char *
batch_text (const PipelineEvent *event)
{
  const json_t *metrics = json_object_get (event->details, "metrics");
  const json_t *quality = json_object_get (event->details, "data_quality");
  g_autoptr (GString) text = g_string_new (NULL);
  gint64 n_dropped = base_json_int64 (quality, "dropped_records", 0);

  if (metrics == NULL)
    return NULL;
  if (event->batch >= 0)
    g_string_append_printf (text, "batch %" G_GINT64_FORMAT ": ", event->batch);
  if (json_object_get (metrics, "num_upserted_rows") != NULL) {
    g_autofree char *n_upserted = base_text_count ((guint64) base_json_int64 (metrics, "num_upserted_rows", 0));
    g_autofree char *n_deleted = base_text_count ((guint64) base_json_int64 (metrics, "num_deleted_rows", 0));
    g_string_append_printf (text, "%s upserted, %s deleted", n_upserted, n_deleted);
  } else {
    g_autofree char *n_rows = base_text_count (batch_rows (metrics));
    g_string_append_printf (text, "%s rows", n_rows);
  }
  if (n_dropped > 0) {
    g_autofree char *count = base_text_count ((guint64) n_dropped);
    g_string_append_printf (text, ", %s dropped", count);
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* One line for an event that a person wants to see; NULL for the others. */
static char *
event_text (const PipelineEvent *event)
{
  const char *state =
      base_json_string (event->details, strcmp (event->type, "update_progress") == 0 ? "state" : "status");
  g_autofree char *batch = event->details != NULL ? batch_text (event) : NULL;

  /* The failure of the update as a whole repeats what is shown in full at the end. */
  if (event->failure != NULL && event->flow != NULL)
    return g_strdup_printf ("%s [%s] %s", event->message, base_error_condition (event->failure),
                            event->failure->message);
  if (strcmp (event->type, "update_progress") == 0 && event->level != PIPELINE_LEVEL_WARN)
    return event->failure == NULL || strcmp (state, "FAILED") == 0 ? g_strdup_printf ("update %s", state) : NULL;
  if (event->level == PIPELINE_LEVEL_WARN || event->level == PIPELINE_LEVEL_ERROR)
    return g_strdup (event->message);
  if (strcmp (event->type, "planning_information") == 0)
    return g_strdup (event->message);
  if (strcmp (event->type, "flow_progress") != 0 || state == NULL || strcmp (state, "QUEUED") == 0)
    return NULL;
  return batch != NULL ? g_strdup_printf ("%s %s", event->flow, batch) : g_strdup_printf ("%s %s", event->flow, state);
}

static void
print_event (CliProgress *progress, const PipelineEvent *event)
{
  g_autofree char *text = event_text (event);

  if (text != NULL)
    fprintf (stdout, "%7.2f s  %s\n", (double) (g_get_monotonic_time () - progress->started_us) / G_USEC_PER_SEC, text);
}

void
cli_progress_event (const PipelineEvent *event, gpointer data)
{
  CliProgress *progress = data;
  gboolean is_flow = strcmp (event->type, "flow_progress") == 0 && event->flow != NULL && event->details != NULL;

  g_mutex_lock (&progress->mutex);
  if (is_flow)
    take_flow_event (progress, event);
  else if (strcmp (event->type, "update_progress") == 0 && base_json_string (event->details, "state") != NULL) {
    g_free (progress->state);
    progress->state = g_strdup (base_json_string (event->details, "state"));
  }
  if (!progress->is_live)
    print_event (progress, event);
  else if (progress->state != NULL) {
    erase (progress);
    if (event->level == PIPELINE_LEVEL_WARN)
      fprintf (stdout, "warning: %s\n", event->message);
    draw (progress);
  }
  (void) fflush (stdout); /* as in redraw() */
  g_mutex_unlock (&progress->mutex);
}

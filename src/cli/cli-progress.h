/* What `sluice run` shows while an update runs. On a terminal: one line per flow, redrawn. Elsewhere: one line per event. Private to this
 * room. */
#pragma once

#include <glib.h>
#include <pipeline-log.h>

G_BEGIN_DECLS

typedef struct CliProgress CliProgress;

/* @is_live: redraw lines of stdout, which is a terminal. Returns: (transfer full). */
CliProgress *cli_progress_new (gboolean is_live);
/* Takes the redrawn lines off the screen. Accepts NULL. */
void cli_progress_free (CliProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CliProgress, cli_progress_free)

/* A PipelineLogListener; @data is the CliProgress. Threads: any. */
void cli_progress_event (const PipelineEvent *event, gpointer data);

/* `1.23 s`, `2 min 5 s`. Returns: (transfer full). */
char *cli_duration_text (gint64 duration_us);

G_END_DECLS

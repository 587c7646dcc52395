/* The end of an update, printed. Private to this room. */
#pragma once

#include <glib.h>
#include <pipeline-update.h>

G_BEGIN_DECLS

/* The table of flows on stdout, then every failed flow's error in full on stderr, then one line about the whole. Returns: the exit code. */
int cli_report_update (const PipelineSummary *summary, gint64 duration_us, gboolean was_canceled);

G_END_DECLS

/* Running one flow once: everything that is there at its start, in one or more batches, each one commit of the target. */
#pragma once

#include "pipeline-graph.h"
#include "pipeline-log.h"

#include <glib.h>

G_BEGIN_DECLS

/* What flows of one update share. All (transfer none). */
typedef struct {
  const PipelineProject *project;
  const PipelineGraph *graph;
  Catalog *catalog;
  Store *storage;
  StoreContext *stores; /* (nullable) */
  PipelineLog *log;
  BaseClock clock;
  BaseCancel *cancel; /* (nullable) */
  const char *user;   /* (nullable) */
  const char *pipeline_id;
} PipelineRun;

/* What a flow did, summed over its batches; also what the live display shows. */
typedef struct {
  guint n_batches;
  guint64 n_output_rows, n_upserted_rows, n_deleted_rows, n_dropped;
  gboolean is_autocdc;
} PipelineFlowTotals;

/**
 * pipeline_flow_run:
 * @totals: (inout): added to
 * @must_restart: (out): the error is a source whose schema grew: run again at once, uncounted
 *
 * Binds the flow's query against the tables as they are now and runs it to the end. Writes planning_information and one flow_progress
 * RUNNING event a batch; the terminal event is the caller's.
 *
 * Threads: flows with different targets may run at the same time.
 */
gboolean pipeline_flow_run (const PipelineRun *run, const PipelineFlow *flow, PipelineFlowTotals *totals,
                            gboolean *must_restart, GError **error);

/* Whether nothing is left to do for ever: a once flow that was complete before this update. Its target must be set up. */
gboolean pipeline_flow_is_done (const PipelineRun *run, const PipelineFlow *flow, gboolean *done, GError **error);

/* Writes an event of a flow: its name and that of its dataset are filled in. */
gboolean pipeline_flow_log (PipelineLog *log, const PipelineFlow *flow, PipelineEvent event, GError **error);

/* The run id of a flow's progress; (transfer full) (nullable): it never ran. */
char *pipeline_flow_id (const PipelineRun *run, const PipelineFlow *flow);

G_END_DECLS

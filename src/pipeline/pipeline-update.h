/* One update of a pipeline: validate, set up, reset, run every flow in its order, report (pipelines.md §10).
 *
 *   QUEUED ─► INITIALIZING ─► SETTING_UP_TABLES ─► RESETTING ─► RUNNING ─► COMPLETED | FAILED | CANCELED
 *
 * Flows whose inputs are up to date run side by side. A failed flow is tried again where that can help; flows below it are skipped,
 * others go on.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "base-settings.h"
#include "pipeline-log.h"
#include "pipeline-spec.h"

#include <glib.h>

typedef struct Catalog Catalog;
typedef struct StoreContext StoreContext;

G_BEGIN_DECLS

/* Where a pipeline runs. All (transfer none). */
typedef struct {
  Catalog *catalog;
  StoreContext *stores; /* (nullable) */
  BaseClock clock;
  BaseCancel *cancel; /* (nullable) */
  const char *user;   /* (nullable) */
} PipelineEnvironment;

typedef struct {
  const char *const *refresh;      /* (nullable): names, NULL-terminated */
  const char *const *full_refresh; /* (nullable) */
  const char *const
      *reset_checkpoint; /* (nullable): names of streaming flows that start again and keep their targets */
  gboolean full_refresh_all;
  gboolean refresh_failed;      /* what failed in the last update, and what is below it */
  PipelineLogListener listener; /* (nullable): every event, on the thread that wrote it */
  gpointer listener_data;
} PipelineUpdateOptions;

typedef enum {
  PIPELINE_FLOW_QUEUED,
  PIPELINE_FLOW_STARTING,
  PIPELINE_FLOW_RUNNING,
  PIPELINE_FLOW_COMPLETED,
  PIPELINE_FLOW_FAILED,
  PIPELINE_FLOW_SKIPPED,
  PIPELINE_FLOW_STOPPED,
  PIPELINE_FLOW_EXCLUDED,
} PipelineFlowStatus;
const char *pipeline_flow_status_text (PipelineFlowStatus status); /* "COMPLETED" */

/* One flow at the end of an update. */
typedef struct {
  char *flow;
  char *dataset;
  PipelineFlowStatus status;
  gboolean is_autocdc;
  guint n_batches;
  guint64 n_output_rows, n_upserted_rows, n_deleted_rows, n_dropped;
  gint64 duration_us;
  GError *failure; /* (nullable) */
} PipelineFlowSummary;

typedef struct {
  char *update_id;
  gboolean completed;
  GPtrArray *problems; /* of GError: validation; then nothing ran */
  GPtrArray *warnings; /* of char *: of a dry run; an update writes them as events */
  GPtrArray *flows;    /* of PipelineFlowSummary, in graph order; those that were not asked for are left out */
} PipelineSummary;
void pipeline_summary_free (PipelineSummary *summary); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PipelineSummary, pipeline_summary_free)

/**
 * pipeline_update_run:
 * @settings: --set over the spec's configuration
 *
 * Errors: what keeps an update from starting: CONFLICTING_PIPELINE_REFRESH_OPTIONS, ACTIVE_UPDATE_EXISTS, storage errors. Problems of
 *         the project and failures of flows are in the summary.
 * Returns: (transfer full).
 */
PipelineSummary *pipeline_update_run (const PipelineSpec *spec, BaseSettings *settings,
                                      const PipelineEnvironment *environment, const PipelineUpdateOptions *options,
                                      GError **error);

/* Validation only: reads no data, writes nothing. */
PipelineSummary *pipeline_update_dry_run (const PipelineSpec *spec, BaseSettings *settings,
                                          const PipelineEnvironment *environment, GError **error);
/* The graph as text, or in the DOT language. @summary: (out): problems. Returns: (transfer full) (nullable). */
char *pipeline_update_graph (const PipelineSpec *spec, BaseSettings *settings, const PipelineEnvironment *environment,
                             gboolean as_dot, PipelineSummary **summary, GError **error);

/* Settings of a spec: its configuration as a layer over the engine's defaults. (transfer full). Errors: INVALID_CONF_VALUE. */
BaseSettings *pipeline_spec_settings (const PipelineSpec *spec, GError **error);
/* The warehouse that the spec names: spark.sql.warehouse.dir, else `warehouse` beside the spec file. (transfer full). */
char *pipeline_spec_warehouse (const PipelineSpec *spec, BaseSettings *settings);

/* Makes event_log('<pipeline id>') and event_log(TABLE(name)) known to a catalog's sessions. */
void pipeline_register_functions (Catalog *catalog);

/* Every event of the pipeline as JSON, one line each, oldest first, given to @line. Errors: PIPELINE_EVENT_LOG_NOT_FOUND. */
typedef void (*PipelineLineFunc) (const char *line, gpointer data);
gboolean pipeline_each_event (const PipelineSpec *spec, const PipelineEnvironment *environment, PipelineLineFunc line,
                              gpointer data, GError **error);

G_END_DECLS

/* The event log of a pipeline (pipelines.md §14).
 *
 *   <storage>/system/journal.jsonl   events as they happen, one JSON object a line, appended; fdatasync'ed where an event must be
 *                                    durable before the state that it reports is used
 *   <storage>/system/events          a Delta table; lines of the journal are folded into it, guarded by txn(PIPELINE_LOG_APP, last seq_no)
 *
 * A line whose seq_no is at or below the table's txn was folded. Readers see table and journal as one relation.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"

#include <glib.h>
#include <jansson.h>

typedef struct Catalog Catalog;
typedef struct DuckSession DuckSession;
typedef struct BaseType BaseType;
typedef struct RelationSource RelationSource;
typedef struct Store Store;

G_BEGIN_DECLS

#define PIPELINE_LOG_APP "sluice.eventLog"

typedef enum {
  PIPELINE_LEVEL_INFO,
  PIPELINE_LEVEL_WARN,
  PIPELINE_LEVEL_ERROR,
  PIPELINE_LEVEL_METRICS,
} PipelineLevel;

typedef struct {
  PipelineLevel level;
  const char *type;      /* `flow_progress`, … */
  const char *message;   /* one sentence */
  const char *dataset;   /* (nullable) */
  const char *flow;      /* (nullable) */
  const char *flow_id;   /* (nullable): run id */
  gint64 batch;          /* -1 = none */
  json_t *details;       /* (transfer full) (nullable): what stands below the member named as the type */
  const GError *failure; /* (nullable) */
  gboolean durable;      /* wait until it is on disk */
} PipelineEvent;

typedef struct PipelineLog PipelineLog;

/* Sees every event after it was written, on the thread that wrote it. */
typedef void (*PipelineLogListener) (const PipelineEvent *event, gpointer data);

/**
 * pipeline_log_open:
 * @storage: the pipeline's; a reference is taken
 *
 * Threads: a log serves any number of threads.
 * Returns: (transfer full).
 */
PipelineLog *pipeline_log_open (Store *storage, const char *pipeline_id, const char *pipeline_name,
                                const BaseClock *clock, GError **error);
void pipeline_log_free (PipelineLog *log); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PipelineLog, pipeline_log_free)

void pipeline_log_set_update (PipelineLog *log, const char *update_id);
void pipeline_log_listen (PipelineLog *log, PipelineLogListener listener, gpointer data);

/* Writes one event; takes event->details. */
gboolean pipeline_log_write (PipelineLog *log, const PipelineEvent *event, GError **error);

/* Moves the journal's lines into the table: one commit, or none. */
gboolean pipeline_log_fold (PipelineLog *log, Catalog *catalog, DuckSession *session, GError **error);

/* The whole log as a relation: the table's rows and the journal's lines behind them.
 * Errors: PIPELINE_EVENT_LOG_NOT_FOUND when the pipeline never ran. Returns: (transfer full). */
RelationSource *pipeline_log_source (Store *storage, Catalog *catalog, BaseCancel *cancel, GError **error);
BaseType *pipeline_log_schema (void); /* (transfer full) */

G_END_DECLS

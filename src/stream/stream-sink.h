/* A Delta table as the sink of a stream: every batch is one commit, exactly once.
 *
 * The commit carries `txn` (the stream's id, the batch's number), as Spark's Delta sink writes it: a batch that the table holds
 * already is not written again, whichever engine wrote it. No domain is written, so any table can be a sink.
 */
#pragma once

#include "base-cancel.h"
#include "delta-table.h"
#include "duck-session.h"
#include "relation-plan.h"
#include "stream-run.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  STREAM_OUTPUT_APPEND,   /* the rows of a batch are appended */
  STREAM_OUTPUT_COMPLETE, /* they replace what the table holds */
} StreamOutputMode;

/* What a batch did. */
typedef struct {
  gint64 batch;
  guint64 n_rows;
  guint64 n_bytes;
  DeltaVersion version; /* of the sink; DELTA_VERSION_NONE: no rows, so no commit */
  gboolean was_there;   /* the sink held the batch already */
  gint64 duration_us;
  StreamBacklog backlog;
} StreamSinkReport;
typedef void (*StreamSinkListener) (const StreamSinkReport *report, gpointer data);

/* Opens the sink's table. @make: whether one that is not there is made; without it that is NULL without an error.
 * Returns: (transfer full). */
typedef DeltaTable *(*StreamSinkOpen) (gboolean make, gpointer data, GError **error);

/* All (transfer none), outlive the sink. */
typedef struct {
  StreamSinkOpen open; /* a sink is made by its first batch, so that a stream that cannot begin leaves nothing behind */
  gpointer open_data;
  const char *name;               /* for errors */
  RelationPlan *plan;             /* over the leaves of the run's sources; columns are matched by name */
  const RelationContext *context; /* for defaults, generated columns and constraints of the table */
  DuckSession *session;
  StreamOutputMode mode;
  gboolean merge_schema;       /* columns that the table lacks are added to it */
  BaseCancel *cancel;          /* (nullable) */
  StreamSinkListener listener; /* (nullable) */
  gpointer listener_data;
} StreamTableSinkRequest;

/**
 * stream_table_sink_new:
 *
 * Errors of its batches: those of store assignment (a column that the table lacks), of constraints, DELTA_METADATA_CHANGED and
 * other conflicts that last; UNSUPPORTED_FEATURE: the table is kept by a flow of its own.
 * Returns: (transfer full).
 */
StreamSink *stream_table_sink_new (const StreamTableSinkRequest *request);
void stream_table_sink_free (StreamSink *sink); /* accepts NULL */

G_END_DECLS

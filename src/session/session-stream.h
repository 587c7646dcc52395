/* A stream of its own: from a Delta table, or its change feed, into a Delta table, with a checkpoint directory. */
#pragma once

#include "session.h"

G_BEGIN_DECLS

typedef enum {
  SESSION_TRIGGER_AVAILABLE_NOW,   /* what is there at the start, in batches within the limits */
  SESSION_TRIGGER_ONCE,            /* what is there at the start, in one batch */
  SESSION_TRIGGER_PROCESSING_TIME, /* one batch each interval, until it is cancelled */
} SessionTrigger;

/* What a batch did. */
typedef struct {
  gint64 batch;
  guint64 n_rows;
  guint64 n_bytes;
  gint64 version;     /* of the sink; -1: no rows, so no commit */
  gboolean was_there; /* the sink held the batch already: it was applied before a crash */
  gint64 duration_us;
} SessionStreamReport;
typedef void (*SessionStreamListener) (const SessionStreamReport *report, gpointer data);

typedef struct {
  const char *source;              /* (nullable): a table's name, or the directory of a Delta table */
  const char *const *options;      /* (nullable): of @source: key, value, …, NULL */
  const char *query;               /* (nullable): instead of @source: SELECT … FROM STREAM t WITH (…) */
  const char *sink;                /* a table's name or a directory; made when it is not there */
  const char *const *partition_by; /* (nullable): columns, NULL-terminated: of a sink that is made */
  const char *checkpoint;          /* a directory */
  gboolean complete;               /* each batch replaces what the sink holds by the result over all rows so far */
  gboolean merge_schema;           /* columns that the sink lacks are added to it */
  SessionTrigger trigger;
  gint64 interval_us;             /* PROCESSING_TIME; 0 = batch after batch */
  SessionStreamListener listener; /* (nullable): told of every batch */
  gpointer listener_data;
} SessionStream;

/**
 * session_stream_run:
 * @n_skipped: (out): commits of the sources that an option left out
 *
 * Every row of the source goes into the sink exactly once, whenever the process dies: the next run with the same checkpoint goes
 * on. A run with the trigger PROCESSING_TIME ends well when it is cancelled.
 *
 * Errors:  CONCURRENT_STREAM_LOG_UPDATE while another process uses the checkpoint; INVALID_OPTION; TABLE_OR_VIEW_NOT_FOUND and
 *          other errors of binding; those of stream_table_new(), stream_run_available() and stream_table_sink_new().
 */
gboolean session_stream_run (SluiceSession *session, const SessionStream *stream, guint64 *n_skipped, GError **error);

G_END_DECLS

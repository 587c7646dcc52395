/* Running a streaming flow: micro-batch after micro-batch until everything that was there at the start is read.
 *
 * Exactly once (pipelines.md §16, architecture D8): the offsets of batch N are logged, then the sink applies the rows, and its commit
 * proves batch N and the digest of its offsets. After a crash the newest planned batch is applied again unless the target
 * proves it; a proof that contradicts the log is FLOW_CHECKPOINT_CORRUPT.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "stream-progress.h"
#include "stream-source.h"

G_BEGIN_DECLS

/* The run, as a sink that applies one of its batches sees it. */
typedef struct StreamAhead StreamAhead;

/* One micro-batch, as logged. */
typedef struct {
  const char *run_id;
  gint64 batch;          /* from 0 */
  const char *digest;    /* sha256 of the logged offsets, 64 hex digits */
  gint64 clock_us;       /* read when the offsets were logged: current_timestamp() of the batch */
  StreamBacklog backlog; /* what waits in all sources after this batch */
  gboolean is_read_ahead; /* its rows and its clock are those of the sink's last read_ahead() */
  StreamAhead *ahead;     /* for stream_run_look_ahead() */
} StreamBatch;

/* Where the rows go. */
typedef struct StreamSink StreamSink;
struct StreamSink {
  /* What the target proves: the newest batch of @run_id (-1 = none) and its digest ((nullable) (transfer full): NULL = it keeps
   * none). */
  gboolean (*proof) (StreamSink *sink, const char *run_id, gint64 *batch, char **digest, GError **error);
  /* Reads the leaves as they are shown now and commits; repeats of one batch change nothing the second time. */
  gboolean (*apply) (StreamSink *sink, const StreamBatch *batch, GError **error);
  /* (nullable): begins to read the leaves as they are shown now, for batch @batch, which will come next if it comes at all and then
   * has the clock @clock_us. It is not planned yet, so that nothing may be seen of it. */
  void (*read_ahead) (StreamSink *sink, gint64 batch, gint64 clock_us);
};

typedef struct {
  StreamProgress *progress; /* opened with STREAM_PROGRESS_MAKE */
  StreamSource **sources;   /* every streaming leaf of the flow's plan, in order of their index */
  guint n_sources;
  StreamSink *sink;
  BaseClock clock;
  gboolean whole;     /* every batch shows all rows from the beginning of the stream up to its end */
  guint max_batches;  /* new batches to plan and apply, 0 = all up to the end */
  BaseCancel *cancel; /* (nullable) */
} StreamRun;

typedef struct {
  guint
      n_batches; /* applied by this run; steps over commits without rows are logged, but not applied and not counted */
  StreamBacklog backlog;
  gboolean must_restart; /* a source's schema grew: make the flow's plan anew and run again, at once and uncounted */
} StreamRunOutcome;

/**
 * stream_run_available:
 * @outcome: (out caller-allocates): filled also on failure
 *
 * Applies an unfinished batch again, then plans and applies new ones up to the end that the sources fixed at the start.
 *
 * Errors: FLOW_CHECKPOINT_CORRUPT; UNSUPPORTED_STREAMING_OPERATION: @run->whole, and a source cannot; those of sources and sink. With @outcome->must_restart the error is the reason for the restart.
 * Threads: one.
 */
gboolean stream_run_available (const StreamRun *run, StreamRunOutcome *outcome, GError **error);

/**
 * stream_run_look_ahead:
 * @batch: being applied; all its rows are read
 *
 * Shows the rows of the batch after it and calls the sink's read_ahead(), if there is one, and one is planned without an effect
 * (StreamSourceClass.plan_ahead). That batch is planned as usual when @batch is done; what was read ahead counts when both plans are the same.
 * Faults are those of that plan.
 */
void stream_run_look_ahead (const StreamBatch *batch);

/* The name of the domain that proves progress: `sluice.flow.<run id>`, and its text {"batch":N,"offsets":"<digest>"}.
 * Both (transfer full). stream_proof_read() takes a table's answer apart; NULL text: no proof (batch -1, digest NULL). */
char *stream_proof_domain (const char *run_id);
char *stream_proof_text (gint64 batch, const char *digest);
gboolean stream_proof_read (const char *text, gint64 *batch, char **digest, GError **error);

G_END_DECLS

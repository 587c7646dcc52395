/* A stream's progress on disk: which batches were planned, with which offsets, and under which run id (architecture D8).
 *
 * The directory of a run is a checkpoint directory as Spark's structured streaming keeps it, and either may go on where the
 * other stopped:
 *
 *   metadata             {"id":"<run id>"}
 *   offsets/<N>          written ahead of batch N, lines without an end of line behind the last:
 *                          v1
 *                          {"batchWatermarkMs":0,"batchTimestampMs":T,"conf":{}}
 *                          one line a source: its offset, or - when it has none yet
 *   commits/<N>          batch N is done: v1, then {"nextBatchWatermarkMs":0}
 *   state/<source>/…     what a source of ours keeps: files taken, schema versions
 *
 * A stream of its own has one such directory. A flow of a pipeline has one for each of its runs:
 *
 *   flows/<flow>/current             the run id in force, one line
 *   flows/<flow>/next                a run id whose reset is under way
 *   flows/<flow>/<run id>/…          as above
 *
 * For a flow the proof that a batch is done is in the target (`txn` and the domain `sluice.flow.<run id>`), and commits/<N> is only a
 * hint that need not survive a power cut; in a checkpoint directory of its own it is durable, for Spark reads nothing else.
 */
#pragma once

#include "store.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct StreamProgress StreamProgress;

/* What the target says about a run: asked when a reset was cut short. TRUE in @has when it holds a `txn` of @run_id. */
typedef gboolean (*StreamProgressHasRun) (const char *run_id, gboolean *has, gpointer data, GError **error);

typedef enum {
  STREAM_PROGRESS_READ_ONLY, /* nothing is made: a flow that never ran has no run id */
  STREAM_PROGRESS_MAKE,      /* a flow that never ran gets a run id */
} StreamProgressAccess;

/**
 * stream_progress_open:
 * @storage: the pipeline's storage; a reference is taken
 * @has_run: (nullable): settles a reset that was cut short; NULL leaves it alone
 *
 * Errors: FLOW_CHECKPOINT_CORRUPT for files that do not read; IO errors.
 * Threads: one at a time; the update lock keeps other processes away.
 * Returns: (transfer full).
 */
StreamProgress *stream_progress_open (Store *storage, const char *flow, StreamProgressAccess access,
                                      StreamProgressHasRun has_run, gpointer data, GError **error);
/**
 * stream_progress_open_checkpoint:
 * @checkpoint: rooted at a checkpoint directory; a reference is taken. Made when it is not there.
 *
 * Errors: FLOW_CHECKPOINT_CORRUPT for files that do not read; IO errors.
 * Threads: one at a time; who opens it holds a lock.
 * Returns: (transfer full).
 */
StreamProgress *stream_progress_open_checkpoint (Store *checkpoint, GError **error);
void stream_progress_free (StreamProgress *progress); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StreamProgress, stream_progress_free)

const char *
stream_progress_run_id (const StreamProgress *progress); /* (nullable): read-only access to a flow that never ran */
/* The newest batch that was planned, -1 = none; whether its done mark is there. */
gint64 stream_progress_last_planned (const StreamProgress *progress);
gboolean stream_progress_is_marked_done (const StreamProgress *progress);

/* The offsets of batch @batch, {"batch":N,"clockUs":T,"sources":[offset or null, …]}, and the sha256 of their bytes. FALSE + FLOW_CHECKPOINT_CORRUPT when they are not there.
 * @offsets, @digest: (out) (transfer full). */
gboolean stream_progress_read (StreamProgress *progress, gint64 batch, json_t **offsets, char **digest, GError **error);
/* Logs batch last + 1, durably, before it runs; of "clockUs" the milliseconds are kept. @digest: (out) (transfer full). */
gboolean stream_progress_plan (StreamProgress *progress, const json_t *offsets, char **digest, GError **error);
/* Marks the newest planned batch as done; a failure does no harm and is not reported. */
void stream_progress_mark_done (StreamProgress *progress);

/* Removes offsets and marks of batches below @batch. Never fails: what stays, stays. */
void stream_progress_forget_below (StreamProgress *progress, gint64 batch);

/* ---- reset: begin, commit it in the target with txn(new run id, -1), end ---- */

/* Only for flows. Makes a new run id and notes it. @run_id: (out) (transfer full). */
gboolean stream_progress_reset_begin (StreamProgress *progress, char **run_id, GError **error);
/* The target's commit is there: the new run id is in force, the old run's files go. */
gboolean stream_progress_reset_end (StreamProgress *progress, GError **error);

/* ---- a source's own files, below state/<source>/ ---- */

/* Key in the storage of @name of source @source of the run in force. Returns: (transfer full). */
char *stream_progress_state_key (const StreamProgress *progress, const char *source, const char *name);
/* Key in the storage of @rest in the directory of the run in force. Returns: (transfer full). */
char *stream_progress_run_key (const StreamProgress *progress, const char *rest);
Store *stream_progress_storage (const StreamProgress *progress); /* (transfer none) */

G_END_DECLS

/* Writing checkpoints and cleaning the log (cdf.md 9.2, 9.7). Reading them is part of opening a snapshot.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "delta-snapshot.h"

#include <glib.h>

G_BEGIN_DECLS

/* Whether a checkpoint is due at @snapshot: after delta.checkpointInterval commits and when the JSON since the last one
 * exceeds a quarter of its size, at the latest after ten times the interval. */
gboolean delta_checkpoint_is_due (DeltaSnapshot *snapshot);

/**
 * delta_checkpoint_write:
 *
 * Writes `<version>.checkpoint.parquet` for @snapshot, of the V2 form where delta.checkpointPolicy = v2, then `_last_checkpoint`. Tombstones older than
 * delta.deletedFileRetentionDuration are left out. A checkpoint that is already there is left as it is.
 *
 * Errors:   storage errors, UNSUPPORTED_FEATURE (a store without local paths). The table is unharmed by any of them.
 */
gboolean delta_checkpoint_write (DeltaSnapshot *snapshot, const BaseClock *clock, BaseCancel *cancel, GError **error);

/* Deletes commits and checkpoints that delta.logRetentionDuration no longer covers, as cdf.md 9.2 says; nothing when
 * delta.enableExpiredLogCleanup is false. @n_deleted: (out) (optional). */
gboolean delta_log_cleanup (DeltaSnapshot *snapshot, const BaseClock *clock, BaseCancel *cancel, guint *n_deleted,
                            GError **error);

/* Midnight (UTC) of the day on which delta.logRetentionDuration ago falls: microseconds since 1970. */
gint64 delta_log_cutoff_us (DeltaSnapshot *snapshot, const BaseClock *clock);

/* After a commit: a checkpoint when one is due, then the cleanup. What fails is dropped: the next commit tries again. */
void delta_checkpoint_maintain (DeltaTable *table, const BaseClock *clock, BaseCancel *cancel);

G_END_DECLS

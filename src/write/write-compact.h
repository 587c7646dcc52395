/* Which files are worth moving together, and doing it: small files become large ones, dead rows go.
 *
 * OPTIMIZE takes everything that is not yet as it should be. A pipeline's update takes little and often: equal-sized neighbours in
 * groups of `n_least`, so that a row is moved about log_n_least(table) times in its life, and files with so many dead rows that
 * moving the rest is paid by the deletes; and never more than `bytes_most` at a time.
 */
#pragma once

#include "write-batch.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  gint64 file_bytes;  /* files below are small; several together make one of about this size */
  double dead_ratio;  /* files with a greater share of dead rows are half-dead … */
  gint64 dead_bytes;  /* … when they hold at least so many bytes of them */
  guint n_least;      /* > 1: only groups of so many small files of about one size; 0 or 1: any two */
  gint64 bytes_most;  /* > 0: stop choosing near this many bytes */
  gboolean dead_only; /* small files are left alone (REORG … APPLY (PURGE)) */
} WriteCompaction;

/* What OPTIMIZE does: @file_bytes is the table's delta.targetFileSize, else @fallback_bytes. */
WriteCompaction write_compaction_full (DeltaMetadata *metadata, gint64 fallback_bytes);
/* What a pipeline's update does: bounded, see above. */
WriteCompaction write_compaction_bounded (DeltaMetadata *metadata);

/**
 * write_compaction_choose:
 * @files: (array length=n_files): live files of one snapshot
 *
 * Groups of files to be given to write_batch_move() one by one. Files of a group have the same partition values and stand in the
 * order in which they were written.
 *
 * Returns: (transfer full) (element-type GPtrArray of DeltaFile): may be empty.
 */
GPtrArray *write_compaction_choose (const WriteCompaction *compaction, DeltaFile *const *files, guint n_files);

typedef struct {
  gint64 version; /* of the commit; -1 = nothing was worth moving, or another writer won */
  guint n_files_removed, n_files_added;
  gint64 bytes_removed, bytes_added;
} WriteCompacted;

/**
 * write_compact:
 * @table: its newest version is taken
 *
 * One bounded compaction as its own commit (operation OPTIMIZE, `auto` true). Losing against another writer is no error: the work
 * is dropped, the next update tries again.
 *
 * Errors: what reading and writing may say; nothing was committed.
 */
gboolean write_compact (DeltaTable *table, DuckSession *session, const BaseClock *clock, BaseCancel *cancel,
                        WriteCompacted *compacted, GError **error);

/* The columns of one data file as DuckDB reads them. Returns: (transfer full) (element-type DuckColumn). */
GPtrArray *write_file_columns (DeltaTable *table, DeltaFile *file, DuckSession *session, GError **error);

/* The metrics of an OPTIMIZE commit: numRemovedFiles, numAddedBytes, p50FileSize …. Returns: (transfer full): object of integers. */
json_t *write_moved_metrics (const WriteMoved *moved);
/* The parameters: @predicate: (nullable): JSON text of a list. Returns: (transfer full): object of texts. */
json_t *write_optimize_parameters (const char *predicate, gboolean automatic);

G_END_DECLS

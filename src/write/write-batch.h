/* Writing rows: the only way a table's rows change.
 *
 * A WriteBatch is one coming commit on one table: a snapshot to stand on, and what was staged so far: data files, deletion
 * vectors, rewritten files, change files, side files. Nothing of it is visible, or named by anything visible, before
 * write_batch_commit(), which fsyncs and publishes every staged file and then makes one Delta commit of all of them. A batch
 * that is freed without a commit leaves nothing behind.
 *
 * Rows come in as the text of one DuckDB SELECT. Its columns are found by name:
 *   c0, c1, …            the columns of the schema (write_batch_schema), in its order, as duck_type_text() of their types;
 *                        RelationText is of this form
 *   h0, h1, …            the hidden columns of WriteOptions, in that order
 *   row_id               BIGINT: the stable row id of a row that is copied or updated; NULL for a new one
 *   row_commit_version   BIGINT: of a row that is copied unchanged; NULL for an updated or new one
 *   _change_type         VARCHAR: only where a function asks for it
 * No name of a user's column occurs in the text.
 *
 * Order of calls: begin; set_metadata (at most once, before rows); rows, delete, remove_all, changes, side_file in any order and
 * number; commit once; free. Threads: a batch belongs to one thread at a time.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "base-type.h"
#include "delta-scan.h"
#include "delta-snapshot.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "duck-session.h"
#include "relation-plan.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct WriteBatch WriteBatch;

/* A Parquet column beside the schema: no field id, no Delta statistics, unseen by readers, which project the schema. */
typedef struct {
  const char *name;     /* as in the file, e.g. `_autocdc-<uuid>-seq` */
  const BaseType *type; /* any type that duck_type_text() knows */
} WriteHiddenColumn;

typedef struct {
  BaseCancel *cancel; /* (nullable) (transfer none): outlives the batch */
  BaseClock clock;    /* modification times of files, commitInfo */
  /* (nullable) (transfer none): binds CHECK constraints and generated columns; outlives the batch. NULL is INTERNAL_ERROR, but
   * only when the table has any of them. */
  const RelationContext *context;
  const WriteHiddenColumn *hidden; /* (transfer none), copied */
  guint n_hidden;
  const char *user_metadata; /* (nullable) (transfer none), copied: userMetadata of commitInfo */
  guint64 n_rows_expected;   /* in one call of write_batch_rows(); 0 = unknown */
  guint64 n_rows_per_file;   /* 0 = about 2,000,000: a data file is closed near this many rows */
} WriteOptions;

/**
 * write_batch_begin:
 * @table: (transfer none): where; outlives the batch
 * @snapshot: (nullable) (transfer none): what the batch stands on (a reference is taken); NULL creates the table, and
 *     write_batch_set_metadata() must follow
 * @session: (transfer none): runs the queries; outlives the batch
 * @options: (transfer none)
 *
 * Errors: DELTA_UNSUPPORTED_FEATURES_FOR_WRITE: the protocol asks for a writer feature that this engine lacks.
 * Returns: (transfer full).
 */
WriteBatch *write_batch_begin (DeltaTable *table, DeltaSnapshot *snapshot, DuckSession *session,
                               const WriteOptions *options, GError **error);
void write_batch_free (WriteBatch *batch); /* accepts NULL; deletes what was staged or published and not committed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (WriteBatch, write_batch_free)

/**
 * write_batch_set_metadata:
 * @metadata: (transfer none): the table as it shall be after the commit: delta_metadata_new(), or delta_metadata_with_…() of the
 *     snapshot's
 *
 * Puts new metadata, and the protocol that it needs (features are added, never taken away), into the commit, after
 * delta_metadata_prepare() and the checks of names and partition columns. Rows given afterwards have the new schema.
 *
 * Errors: those of delta_metadata_prepare(); COLUMN_ALREADY_EXISTS, DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES,
 *         DELTA_INVALID_PARTITION_COLUMN, DELTA_INVALID_PARTITION_COLUMN_TYPE, DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION,
 *         RESERVED_CDC_COLUMNS_ON_WRITE, UNSUPPORTED_DATATYPE.
 */
gboolean write_batch_set_metadata (WriteBatch *batch, DeltaMetadata *metadata, GError **error);
/* The same for a table that is replaced as a whole (REPLACE TABLE): nothing is judged against the present metadata, column ids and
 * physical names are made anew. The protocol is only raised. */
gboolean write_batch_replace_metadata (WriteBatch *batch, DeltaMetadata *metadata, GError **error);
/* Whether write_batch_set_metadata() would take @metadata for the table of @snapshot ((nullable): a new one). The same errors. */
gboolean write_metadata_fits (DeltaMetadata *metadata, DeltaSnapshot *snapshot, GError **error);

/* The metadata to be committed and its schema, which rows must have. Borrows live until set_metadata or the batch's end. */
DeltaMetadata *write_batch_metadata (WriteBatch *batch);
BaseType *write_batch_schema (WriteBatch *batch);
/* The Delta transaction under the batch, for actions that are not rows: txn, domainMetadata, further features. (transfer none). */
DeltaTransaction *write_batch_transaction (WriteBatch *batch);
/* Deletions mark rows in vectors (else touched files are rewritten): delta.enableDeletionVectors is not false. The property and
 * the feature are put into the commit when the first vector needs them. */
gboolean write_batch_uses_vectors (WriteBatch *batch);
/* The legacy change feed is on in the metadata to be committed. Who updates rows, or deletes rows on a table without vectors,
 * must then give ALL changes of the batch as change rows (write_batch_changes or WRITE_ROWS_CHANGE_TYPE). */
gboolean write_batch_feed_is_on (WriteBatch *batch);
/* Row tracking is on: copied and updated rows must come with row_id (and copied ones with row_commit_version). */
gboolean write_batch_tracks_rows (WriteBatch *batch);

typedef enum {
  WRITE_ROWS_DEFAULT = 0,
  WRITE_ROWS_ROW_ID = 1 << 0,             /* the text has row_id */
  WRITE_ROWS_ROW_COMMIT_VERSION = 1 << 1, /* the text has row_commit_version */
  WRITE_ROWS_CHANGE_TYPE = 1 << 2, /* the text has _change_type (insert or update_postimage): the files are named in cdc
                                           * actions too, so that no row is written twice (cdf.md 3.4a); only when the feed is on */
  WRITE_ROWS_CHECKED = 1 << 3,     /* constraints are known to hold: rows copied from the same table */
  /* The text may run in a session and a thread of its own while the caller goes on, which is done where the rows are too few for
   * several threads: it names no temporary table, what it uses lives until the batch's end, @n_rows is NULL, and its errors may come
   * from write_batch_commit(). */
  WRITE_ROWS_BESIDE = 1 << 4,
} WriteRowsFlags;

/**
 * write_batch_rows:
 * @sql: (transfer none): one SELECT as described at the head of this file, without a trailing semicolon
 * @n_rows: (out) (optional): rows written
 *
 * Runs the text once and stages its rows as data files, routed by partition values. No rows stage no file.
 *
 * Errors: DELTA_NOT_NULL_CONSTRAINT_VIOLATED, DELTA_VIOLATE_CONSTRAINT_WITH_VALUES: a row breaks a constraint.
 *         What the text's execution gives. After an error the batch can only be freed.
 */
gboolean write_batch_rows (WriteBatch *batch, const char *sql, WriteRowsFlags flags, guint64 *n_rows, GError **error);

/**
 * write_batch_delete:
 * @scan: (transfer none): a scan of the batch's snapshot, with file_index_name and row_number_name
 * @sql: (transfer none): a SELECT of `file_index` and `row_number` (BIGINT both), as @scan gave them; a row may come twice
 * @n_rows: (out) (optional): rows that were live before this call and are not any more
 *
 * Deletes rows: by deletion vectors (joined with the old ones; a file without a live row is removed whole), or, when the table
 * does not use vectors, by rewriting the touched files at commit, with hidden columns and row ids kept.
 *
 * Errors: DELTA_CANNOT_MODIFY_APPEND_ONLY: delta.appendOnly is true.
 */
gboolean write_batch_delete (WriteBatch *batch, DeltaScan *scan, const char *sql, guint64 *n_rows, GError **error);

/* Removes every live file of the snapshot (overwrite, reset). Same error as write_batch_delete.
 * @n_rows: (out) (optional): live rows removed, -1 where a file has no count. */
gboolean write_batch_remove_all (WriteBatch *batch, gint64 *n_rows, GError **error);

/**
 * write_batch_remove_files:
 * @files: (transfer none): live files of the snapshot, each once and none touched by write_batch_delete()
 * @n_rows: (out) (optional): live rows removed, -1 where a file has no count
 *
 * Removes whole files: partitions that are deleted or overwritten. Same error as write_batch_delete.
 */
gboolean write_batch_remove_files (WriteBatch *batch, DeltaFile *const *files, guint n_files, gint64 *n_rows,
                                   GError **error);

/* Whether the commit will rewrite a file to be rid of the rows deleted so far (no vectors, or a file that does not say how many
 * rows it has): then a feed cannot be derived, and all changes must be told. */
gboolean write_batch_copies_rows (WriteBatch *batch);

/**
 * write_batch_changes_of_deleted:
 * @change_type: "delete" or "update_preimage"
 *
 * write_batch_changes() of all rows that were deleted or removed so far, each once, read from their files.
 */
gboolean write_batch_changes_of_deleted (WriteBatch *batch, const char *change_type, guint64 *n_rows, GError **error);

/* Makes the temporary table @table with the columns @columns (numbers in the schema) of all rows that were deleted or removed so far,
 * each once, as c<number>. */
gboolean write_batch_deleted (WriteBatch *batch, const char *table, const guint *columns, guint n_columns,
                              GError **error);

/**
 * write_batch_changes:
 * @sql: (transfer none): a SELECT of c0, c1, … and _change_type (insert, update_preimage, update_postimage, delete)
 *
 * Stages change files under `_change_data/`. Only when the feed is on (INTERNAL_ERROR otherwise).
 */
gboolean write_batch_changes (WriteBatch *batch, const char *sql, guint64 *n_rows, GError **error);

/* A file of a domain's own (`sluice.*` with "files"), not of the table's rows. */
typedef struct {
  char *path; /* relative to the table, e.g. `_autocdc/8c1f….parquet` */
  guint64 size_bytes;
  guint64 n_rows;
} WriteSideFile;
void write_side_file_clear (WriteSideFile *file);

/**
 * write_batch_side_file:
 * @directory: relative to the table, e.g. "_autocdc"
 * @sql: (transfer none): any SELECT; columns are written under the names that it gives, without field ids, in its order
 * @file: (out): cleared with write_side_file_clear(); no rows give path NULL and no file
 *
 * Stages one Parquet file that is published together with the batch's data. Naming it (in a domain) is the caller's.
 */
gboolean write_batch_side_file (WriteBatch *batch, const char *directory, const char *sql, WriteSideFile *file,
                                GError **error);

/* What write_batch_move() did so far. */
typedef struct {
  guint64 n_rows;            /* live rows, moved */
  guint64 n_vectors_removed; /* files whose vector was applied */
  guint64 n_dead_rows;       /* rows that those vectors marked */
  gint64 bytes_removed, bytes_added;
  GArray *removed_sizes; /* (element-type gint64): bytes of the files given */
  GArray *added_sizes;   /* (element-type gint64): bytes of the files made */
} WriteMoved;

/**
 * write_batch_move:
 * @files: (array length=n_files): live files of the batch's snapshot with the same partition values, each given once
 *
 * Maintenance: stages the live rows of @files, in their order, as one new file (none when no row lives) and removes @files, with
 * dataChange false on both sides. Row ids, row commit versions and hidden columns travel; deletion vectors are applied. The
 * transaction reads these files: another commit that touched one of them is a conflict, an append is none.
 *
 * Errors: what reading and writing the files may say. After an error the batch can only be freed.
 */
gboolean write_batch_move (WriteBatch *batch, DeltaFile *const *files, guint n_files, GError **error);
const WriteMoved *write_batch_moved (WriteBatch *batch); /* borrow: as long as the batch */

typedef struct {
  guint64 n_files_added, n_files_removed, n_vectors_added, n_change_files;
  guint64 n_vectors_updated; /* of n_vectors_added: on files that had one */
  guint64 n_vectors_removed; /* on files that are removed, or that get another one */
  guint64 n_rows_added, n_rows_deleted, n_rows_copied, n_change_rows;
  guint64 n_rows_output; /* added and copied */
  guint64 bytes_added;   /* data files, copies included */
  guint64 bytes_removed; /* data files */
  guint64 bytes_changes, bytes_vectors, bytes_side;
  gint64 publish_us; /* fsync and rename of the staged files */
  gint64 commit_us;  /* the commit itself, all tries */
} WriteCounters;

/* One metric of an operation: its name and the counter that it tells. */
typedef struct {
  const char *name; /* NULL ends a list */
  gsize counter;    /* G_STRUCT_OFFSET (WriteCounters, …) of a guint64 */
} WriteMetric;

typedef struct {
  const char *operation; /* Spark's name: "WRITE", "STREAMING UPDATE", "MERGE", … */
  json_t *parameters;    /* (transfer none) (nullable): object of strings */
  json_t *metrics; /* (transfer none) (nullable): object of integers; they win over those that the batch counts itself:
                          * numFiles, numOutputRows, numOutputBytes, numRemovedFiles, numRemovedBytes, numAddedChangeFiles … */
  const WriteMetric
      *counted; /* (transfer none) (nullable): the counters to tell, all and only these, instead of those */
  gboolean
      reads_table; /* FALSE: a blind append, which only conflicts with metadata and protocol changes, and is tried again */
} WriteCommit;

/* What was staged or done so far. Borrow lives as long as the batch. */
const WriteCounters *write_batch_counters (WriteBatch *batch);

/**
 * write_batch_commit:
 * @result: (out caller-allocates): DELTA_COMMIT_DONE and the version, or DELTA_COMMIT_CONFLICT and what won: then nothing was
 *     written; free the batch and start again from a new snapshot. Cleared by the caller with delta_commit_result_clear().
 *
 * Publishes and commits. A batch without any action still commits an empty version; ask write_batch_is_empty() first.
 *
 * Errors: DELTA_COMMIT_UNKNOWN: it may have landed; read the table again before anything else. The files are left in place.
 *         Other errors: nothing was committed.
 */
gboolean write_batch_commit (WriteBatch *batch, const WriteCommit *commit, DeltaCommitResult *result, GError **error);
/* The same for callers that only ask whether it is done. @is_done: (out) (optional): FALSE after a conflict. @last: there is no further
 * attempt: a conflict is the error of what won. */
gboolean write_batch_attempt (WriteBatch *batch, const WriteCommit *commit, gboolean last, gboolean *is_done,
                              GError **error);
/* No row was staged, deleted or removed, and no metadata was set. (Actions put into the transaction are not looked at.) */
gboolean write_batch_is_empty (WriteBatch *batch);

G_END_DECLS

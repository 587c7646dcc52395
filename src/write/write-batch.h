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
#include "base-type.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct DeltaTable DeltaTable;
typedef struct DeltaSnapshot DeltaSnapshot;
typedef struct DeltaTransaction DeltaTransaction;
typedef struct DuckSession DuckSession;
typedef struct RelationContext RelationContext;

typedef struct WriteBatch WriteBatch;

/* A Parquet column beside the schema: no field id, no Delta statistics, unseen by readers, which project the schema. */
typedef struct {
  const char *name;     /* as in the file, e.g. `_autocdc-<uuid>-seq` */
  const BaseType *type; /* any type that duck_type_text() knows */
} WriteHiddenColumn;

typedef struct {
  BaseCancel *cancel; /* (nullable) (transfer none): outlives the batch */
  gint64 now_us;      /* the commit's clock: modification times of files, commitInfo */
  RelationContext
      *context; /* (nullable) (transfer none): binds CHECK constraints and generated columns, outlives the batch;
                                    * NULL is an error (INTERNAL_ERROR) only when the table has any of them */
  const WriteHiddenColumn *hidden; /* (transfer none), copied */
  guint n_hidden;
  guint64 n_rows_per_file; /* 0 = 2,000,000: a data file is closed near this many rows */
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

/* The table as it will be after the commit. */
typedef struct {
  const BaseType *schema;               /* logical; NULL = unchanged */
  const char *const *partition_columns; /* NULL-terminated; NULL = unchanged */
  json_t *configuration;                /* (transfer none): object of strings, the whole of it; NULL = unchanged */
  const char *name;                     /* NULL = unchanged */
  const char *description;              /* NULL = unchanged */
} WriteMetadata;

/**
 * write_batch_set_metadata:
 *
 * Puts new metadata, and the protocol that it needs (features are added, never taken away), into the commit. Validates the
 * schema (duplicate, reserved and illegal column names; partition columns), table properties (write-properties.h), assigns column
 * mapping ids and physical names to new fields, and the hidden names of row tracking's columns. Rows given afterwards have the new schema.
 *
 * Errors: DELTA_UNKNOWN_CONFIGURATION, DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS, RESERVED_CDC_COLUMNS_ON_WRITE, COLUMN_ALREADY_EXISTS, …
 */
gboolean write_batch_set_metadata (WriteBatch *batch, const WriteMetadata *metadata, GError **error);

/* The schema that rows must have; the metadata's configuration. Borrows live until set_metadata or the batch's end. */
const BaseType *write_batch_schema (WriteBatch *batch);
/* The Delta transaction under the batch, for actions that are not rows: txn, domainMetadata, further features. (transfer none). */
DeltaTransaction *write_batch_transaction (WriteBatch *batch);
/* Deletions mark rows in vectors (else touched files are rewritten). Known from the start of the batch. */
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
  WRITE_ROWS_ORDERED = 1 << 4,     /* keep the text's order inside the files */
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
 * @sql: (transfer none): a SELECT of `file_index` (UBIGINT: index of the file in the snapshot, as a scan of delta gives it) and
 *     `row_number` (BIGINT: position of the row in its file); a row may come twice
 * @n_rows: (out) (optional): rows that were live before and are dead now
 *
 * Deletes rows: by deletion vectors (joined with the old ones; a file without a live row is removed whole), or by rewriting the
 * touched files with hidden columns and row ids kept, when the table does not use vectors. Call it once per batch at most.
 *
 * Errors: DELTA_CANNOT_MODIFY_APPEND_ONLY: delta.appendOnly is true.
 */
gboolean write_batch_delete (WriteBatch *batch, const char *sql, guint64 *n_rows, GError **error);

/* Removes every live file of the snapshot (overwrite, reset). Same error as write_batch_delete.
 * @n_rows: (out) (optional): live rows removed, -1 where a file has no count. */
gboolean write_batch_remove_all (WriteBatch *batch, gint64 *n_rows, GError **error);

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

typedef struct {
  const char *operation; /* Spark's name: "WRITE", "STREAMING UPDATE", "MERGE", … */
  json_t *parameters;    /* (transfer none) (nullable): object of strings */
  json_t *metrics;       /* (transfer none) (nullable): object of strings, beside those that the batch counts itself */
  gboolean
      reads_table; /* FALSE: a blind append, which only conflicts with metadata and protocol changes, and is tried again */
} WriteCommit;

typedef struct {
  guint64 n_files_added, n_files_removed, n_vectors_added, n_change_files;
  guint64 n_rows_added, n_rows_deleted, n_rows_copied, n_change_rows;
  guint64 bytes_added; /* data files, copies included */
  guint64 bytes_changes, bytes_vectors, bytes_side;
  gint64 publish_us; /* fsync and rename of the staged files */
  gint64 commit_us;  /* the commit itself, all tries */
} WriteCounters;
/* What was staged or done so far. Borrow lives as long as the batch. */
const WriteCounters *write_batch_counters (WriteBatch *batch);

typedef enum {
  WRITE_COMMIT_DONE,
  WRITE_COMMIT_CONFLICT, /* another commit won; nothing was written, free the batch and start again from a new snapshot */
} WriteCommitOutcome;

/**
 * write_batch_commit:
 * @version: (out) (optional): the version made
 * @outcome: (out): set when TRUE is returned
 * @conflict: (out) (optional): with WRITE_COMMIT_CONFLICT what won, as an error of class CONFLICT (transfer full)
 *
 * Publishes and commits. A batch without any action (no rows, no metadata, nothing put into the transaction) still commits;
 * who wants no empty version asks write_batch_is_empty() first.
 *
 * Errors: DELTA_COMMIT_UNKNOWN: it may have landed; read the table again before anything else. The files are left in place.
 */
gboolean write_batch_commit (WriteBatch *batch, const WriteCommit *commit, gint64 *version, WriteCommitOutcome *outcome,
                             GError **conflict, GError **error);
/* No row was staged, deleted or removed, and no metadata was set. (Actions put into the transaction are not looked at.) */
gboolean write_batch_is_empty (WriteBatch *batch);

G_END_DECLS

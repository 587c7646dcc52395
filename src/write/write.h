/* Writing rows: the only way a table's rows change.
 *
 * A WriteBatch is one coming commit on one table: a snapshot to stand on, and what was staged so far: data files, deletion
 * vectors, rewritten files, change files, side files. Nothing of it is visible, or named by anything visible, before
 * write_batch_commit(): it fsyncs and publishes every staged file, then commits all of them in one Delta commit. A batch that
 * is freed without a commit leaves nothing behind.
 *
 * Rows come in as the text of one DuckDB SELECT. Its columns are found by name:
 *   c0, c1, …            the columns of the schema (write_batch_schema), in its order, with duck_type_text() of their types
 *   h0, h1, …            the hidden columns of WriteOptions, in that order
 *   row_id               BIGINT: the stable row id of a row that is copied or updated; NULL for a new one
 *   row_commit_version   BIGINT: of a row that is copied unchanged; NULL for an updated or new one
 *   _change_type         VARCHAR: only where a function asks for it
 * Other columns are an error. Names of users' columns never occur in the text.
 */
#pragma once

#include "base-cancel.h"
#include "base-type.h"
#include "delta-snapshot.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "duck-session.h"
#include "relation-plan.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct WriteBatch WriteBatch;

/* A Parquet column beside the schema: no field id, no Delta statistics, unseen by readers that project the schema. */
typedef struct {
  const char *name; /* as in the file, e.g. `_autocdc-<uuid>-seq` */
  const BaseType *type;
} WriteHiddenColumn;

typedef struct {
  BaseCancel *cancel;       /* (nullable) (transfer none): must outlive the batch */
  gint64 now_us;            /* the commit's clock: modification times of files, commitInfo */
  RelationContext *context; /* (transfer none): binds CHECK constraints and generated columns; outlives the batch */
  const WriteHiddenColumn *hidden; /* (transfer none): copied */
  guint n_hidden;
  guint64 n_rows_per_file; /* 0 = 2,000,000: a file is closed near this many rows */
} WriteOptions;

/* The inside of a batch, shared by the files of this room: write-batch.c (life, commit), write-stage.c (files),
 * write-delete.c (vectors and rewrites), write-move.c (maintenance), write-constraint.c (checks). */
#pragma once

#include "duck-copy.h"
#include "write-batch.h"
#include "write-layout.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  WRITE_FILE_DATA,   /* an `add` */
  WRITE_FILE_CHANGE, /* a `cdc` */
  WRITE_FILE_SIDE,   /* named by a domain only */
} WriteFileKind;

/* One file on its way: scratch → key. */
typedef struct {
  WriteFileKind kind;
  char *scratch; /* local path; NULL once published */
  char *key;
  DeltaFile *file;        /* (nullable): the action's; NULL for side files */
  gboolean names_changes; /* a data file that also is its own change file */
} WriteStagedFile;

/* Rows of one file that die in this batch. */
typedef struct {
  DeltaFile *file;
  DeltaVector *old;  /* the file's own vector */
  DeltaVector *dead; /* of the file's own vector and this batch */
  guint64 n_new;
} WriteDeletion;

typedef struct {
  char *name;
  BaseType *type;
} WriteHidden;
GArray *write_hidden_new (void); /* (transfer full) (element-type WriteHidden): frees its elements */

typedef struct WriteRun WriteRun;

struct WriteBatch {
  DeltaTable *table;
  DeltaSnapshot *snapshot; /* (nullable) */
  DuckSession *session;
  DeltaTransaction *transaction;
  WriteLayout *layout; /* (nullable) until there is metadata */
  BaseCancel *cancel;
  BaseClock clock;
  const RelationContext *context;
  GArray *hidden; /* WriteHidden */
  guint64 n_rows_expected, n_rows_per_file;

  GPtrArray *beside;      /* WriteRun: stages whose threads have not been waited for, in the order of their calls */
  GPtrArray *staged;      /* WriteStagedFile */
  GPtrArray *directories; /* char *: scratch directories to remove in the end */
  GPtrArray *published;   /* char *: keys that exist and are named by no commit yet */
  GHashTable *deletions;  /* DeltaFile path → WriteDeletion */
  GPtrArray *identities;  /* (nullable): what new files hold of identity columns */
  GPtrArray *removed;     /* DeltaFile: whole files, by write_batch_remove_all() or _remove_files() */
  gboolean removes_all;
  gboolean has_metadata;
  gboolean is_spent; /* committed, or not known not to be */
  WriteCounters counters;
  WriteMoved moved;
};

const char *write_batch_codec (WriteBatch *batch);

/* write-stage.c */
typedef struct {
  WriteFileKind kind;
  const char *select; /* columns c…, h…, row_id, row_commit_version, _change_type as the flags say */
  WriteRowsFlags flags;
  DeltaFile *
      moved_like; /* (nullable): the rows only move: one file with the partition values of this one, dataChange false */
} WriteStage;
/* Runs the text into Parquet files and adds them to batch->staged. @n_rows: (out) (optional). */
gboolean write_stage_run (WriteBatch *batch, const WriteStage *stage, guint64 *n_rows, GError **error);
/* Whether DuckDB compresses the expected rows in one thread: it does with less than half a row group. */
gboolean write_stage_is_small (const WriteBatch *batch);
/* The same in a thread of its own. @hold: (transfer full) (nullable): what the text needs. */
gboolean write_stage_begin (WriteBatch *batch, const WriteStage *stage, RelationText *hold, GError **error);
/* Waits for all that was begun. */
gboolean write_stage_wait (WriteBatch *batch, GError **error);
void write_run_free (gpointer run);

/* write-batch.c: rows of a stage of rows. */
void write_batch_count_rows (WriteBatch *batch, WriteRowsFlags flags, guint64 n_rows);

/* write-identity.c */
gboolean write_identity_is (const BaseField *field);
/* Errors: DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED for a column GENERATED ALWAYS. */
gboolean write_identity_check_given (const BaseField *field, GError **error);
/* The text of the expression for rows that give no value. Returns: (transfer full) (nullable). */
char *write_identity_expression (const BaseField *field, GError **error);
void write_identity_note (WriteBatch *batch, const DuckCopyFile *file); /* of a new data file */
/* Before the commit: every new row has its values, and the marks move on. Errors: DELTA_UNSUPPORTED_FEATURES_FOR_WRITE. */
gboolean write_identity_settle (WriteBatch *batch, GError **error);

/* write-delete.c: turns batch->deletions into actions (and staged files of copies). */
gboolean write_deletions_apply (WriteBatch *batch, GError **error);
void write_deletion_free (WriteDeletion *deletion);

/* Hidden columns that @files may have: those of the options, and those that the table's domains name, whose types are in the
 * files. Returns: (transfer full) (element-type WriteHidden). */
GArray *write_hidden_of_files (WriteBatch *batch, DeltaFile *const *files, guint n_files, GError **error);
/* A scan of @inputs with everything that must travel with a row that is copied: c…, h…, row_id, row_commit_version; columns that
 * the new schema has and a file lacks are NULL. */
DeltaScan *write_scan_copies (WriteBatch *batch, const DeltaScanInput *inputs, guint n_inputs, GArray *hidden,
                              GError **error);
/* Flags of a stage that copies. */
WriteRowsFlags write_copy_flags (WriteBatch *batch);

/* write-constraint.c: the text with every row checked. Returns: (transfer full): NULL on error.
 * The hold must live until the text has run. */
char *write_constraints_wrap (WriteBatch *batch, const char *sql, WriteRowsFlags flags, RelationText **hold,
                              GError **error);

/* write-metadata.c: names, partition columns, types. */
gboolean write_metadata_check (DeltaMetadata *metadata, GError **error);

G_END_DECLS

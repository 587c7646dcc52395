/* The table whose rows a statement changes, as something that queries can read: its rows with their places in files.
 *
 * A statement is bound as a query of the engine's own over two leaves, the target (DML_TARGET) and, for MERGE, the source
 * (DML_SOURCE). Both answer to names that no user can write, under the qualifier or alias that the user's expressions use. Beside
 * the columns of the schema they have hidden ones, found by name only, whose names begin with an escape character, so that the
 * statement's own parts of the query mean what they say whatever the user's columns are called.
 */
#pragma once

#include "autocdc-dml.h"
#include "delta-scan.h"
#include "dml-private.h"
#include "sql-build.h"

#include <glib.h>

G_BEGIN_DECLS

/* Names of the two leaves in a query. */
#define DML_TARGET "\x1btarget"
#define DML_SOURCE "\x1bsource"

/* Hidden columns of the target, and of both leaves: the i-th column by its place. */
#define DML_FILE                                                                                                       \
  "\x1b"                                                                                                               \
  "file" /* BIGINT: number of the file in DmlTarget.scan */
#define DML_ROW                                                                                                        \
  "\x1b"                                                                                                               \
  "row" /* BIGINT: position in the file */
#define DML_ROW_ID                                                                                                     \
  "\x1b"                                                                                                               \
  "row id" /* BIGINT: stable row id; NULL without row tracking */
#define DML_SOURCE_ROW                                                                                                 \
  "\x1b"                                                                                                               \
  "source row" /* BIGINT, of the source: number of the row */
#define DML_TARGET_COLUMN                                                                                              \
  "\x1b"                                                                                                               \
  "target %u"
#define DML_SOURCE_COLUMN                                                                                              \
  "\x1b"                                                                                                               \
  "source %u"

typedef struct DmlLeaf DmlLeaf;

/* An open target. The plans bound against it must be freed before it. */
typedef struct {
  const DmlContext *context;
  CatalogReference reference;
  DeltaSnapshot *snapshot;
  WriteBatch *batch;
  char *name;               /* for messages */
  char **qualifier;         /* what the rows' columns may be qualified by, without an alias */
  RelationContext relation; /* the statement's, with a resolver that knows the leaves */
  struct DmlResolver *resolver;
  DmlLeaf *leaf;

  /* Set by whoever plans a scan of the target: */
  GArray *skips;         /* DeltaPredicate: what rows of interest satisfy, beside what the query itself says */
  GPtrArray *skip_texts; /* what they borrow: freed with g_free() */
  DeltaScan *seen;       /* (nullable): rows of dml_match, whose c0 numbers this scan's files, are left out */
  gboolean fills;        /* fields that values of structs lack become NULL (schema evolution) */

  /* Left by the newest scan of the target: */
  DeltaScan *scan;     /* whose file numbers DML_FILE tells */
  gboolean reads_data; /* it asked for a column that is in files, and not only for partition values and places */

  gboolean reads_table; /* a query read the target as any other table too: any change of it is a conflict */
  AutoCdcDml *memory;   /* (nullable): of the target of an AUTO CDC flow */
  gboolean remembers;   /* the memory of this statement is in the batch */
  gint64 start_us;      /* monotonic: for executionTimeMs */
  gint64 scanning_us;   /* the target is scanned from here on */
  gint64 scanned_us;    /* set when the rows to change were found: for scanTimeMs and rewriteTimeMs; 0 = not told */
} DmlTarget;

/**
 * dml_target_open:
 * @what: "DELETE", …: for messages
 *
 * The newest snapshot of a table whose rows may be changed, and a batch on it.
 *
 * Errors: those of dml_open() and write_batch_begin(); UNSUPPORTED_FEATURE for a materialized view.
 * Returns: (transfer full).
 */
DmlTarget *dml_target_open (const DmlContext *context, const SqlName *name, const char *what, GError **error);
void dml_target_free (DmlTarget *target); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DmlTarget, dml_target_free)
/* The target's rows have the batch's newest metadata from now on (schema evolution). */
void dml_target_refresh (DmlTarget *target);

/* Gives DML_SOURCE its rows: the temporary table @table with columns c0, c1, … of @schema.
 * @where: (nullable): DuckDB condition over them and rowid; @qualifier: (nullable) NULL-terminated. */
void dml_target_set_source (DmlTarget *target, const char *table, const char *where, const BaseType *schema,
                            const char *const *qualifier, gint64 n_rows);

/* ---- trees ---- */

/* `name [AS alias]`. */
SqlRelation *dml_leaf_relation (SqlArena *arena, const char *name, const SqlIdent *alias);
/* SELECT items FROM from WHERE where. @where: (nullable). */
SqlQuery *dml_query (SqlArena *arena, const SqlNamed *items, guint n_items, SqlRelation *from, SqlExpr *where);
SqlNamed dml_named (SqlArena *arena, SqlExpr *value, const char *name);
/* A hidden column of the i-th column: DML_TARGET_COLUMN or DML_SOURCE_COLUMN. */
SqlExpr *dml_column (SqlArena *arena, const char *format, guint index);

/* ---- running ---- */

/* Binds and refuses streams and what is not deterministic where @deterministic. @what: for the message. Returns: (transfer full). */
RelationPlan *dml_bind (DmlTarget *target, const SqlQuery *query, gboolean deterministic, const char *what,
                        GError **error);
/* Notes that a query reads the target as any other table too (dml_bind() does so by itself). */
void dml_note_sources (DmlTarget *target, const RelationPlan *plan);
/* Returns: (transfer full). */
RelationText *dml_lower (DmlTarget *target, RelationPlan *plan, GError **error);

/* The i-th column of the schema after an assignment: @column and fields @path below, names without their qualifier.
 * @alias: (nullable): that the statement gives the target. Errors: UNRESOLVED_COLUMN at the name. */
gboolean dml_assigned_column (DmlTarget *target, const SqlName *name, const SqlIdent *alias, guint *column,
                              guint *n_skipped, GError **error);

/* The values of the columns of the table's schema after SET: for each column an expression, NULL for one that keeps its value.
 * Errors: UNRESOLVED_COLUMN…, DELTA_CONFLICT_SET_COLUMN. Returns: (transfer container): NULL on error. */
SqlExpr **dml_assigned_values (DmlTarget *target, const SqlAssignmentList *assignments, const SqlIdent *alias,
                               SqlArena *arena, GError **error);

/**
 * dml_fit_values:
 * @plan: its first @n_extra columns are the statement's own; the others are columns of the schema by name
 * @given: per column of the schema: the plan has it
 *
 * Store assignment of the columns and generated columns that are not given. Returns: (transfer full): @n_extra columns, then those
 * of the schema in its order.
 */
RelationPlan *dml_fit_values (DmlTarget *target, RelationPlan *plan, guint n_extra, const gboolean *given,
                              GError **error);

/* engine.dml.skipUnchangedRows. */
gboolean dml_skips_unchanged (const DmlTarget *target);
/* What DEFAULT is for the column: its CURRENT_DEFAULT, else NULL. Errors: the parser's. */
SqlExpr *dml_default_value (const BaseField *field, SqlArena *arena, GError **error);
/* Drops a temporary table of the statement's. */
void dml_drop_temporary (const DmlContext *context, const char *table);

/* write_batch_rows() of the statement's rows, after all its deletions; at most once. On the target of an AUTO CDC flow this is where the
 * statement's memory is written too. Errors: those of write_batch_rows() and autocdc_dml_write(). */
gboolean dml_target_rows (DmlTarget *target, const char *sql, WriteRowsFlags flags, guint64 *n_rows, GError **error);

/**
 * dml_target_commit:
 * @commit: metrics and operation; reads_table is set here, executionTimeMs added to its metrics
 * @last: no further attempt: a conflict is an error
 * @is_done: (out): FALSE: begin again from a new target
 *
 * Commits the batch, or nothing when it is empty.
 */
gboolean dml_target_commit (DmlTarget *target, WriteCommit *commit, gboolean last, gboolean *is_done, GError **error);

/* dml-delete.c: deletes the rows that satisfy @where; files whole where only partition values decide.
 * @what: "the DELETE condition", for messages; @n_rows: (out): -1 = not known. */
gboolean dml_delete_matching (DmlTarget *target, SqlExpr *where, const SqlIdent *alias, const char *what,
                              gint64 *n_rows, GError **error);
/* Removes the files whose numbers are c0 of @sql. */
gboolean dml_delete_whole_files (DmlTarget *target, const char *sql, gint64 *n_rows, GError **error);

/* One attempt of a statement. @is_done: (out): FALSE: it lost to another commit. */
typedef gboolean (*DmlAttempt) (const DmlContext *context, const SqlStatement *statement, gboolean last,
                                DmlResult *result, gboolean *is_done, GError **error);
gboolean dml_attempt (const DmlContext *context, const SqlStatement *statement, DmlAttempt attempt, DmlResult *result,
                      GError **error);

/* A row of BIGINT columns. @names: NULL-terminated. */
void dml_result_counts (DmlResult *result, const char *const *names, const gint64 *counts);
/* `(a = 1)`, as commitInfo has it. Returns: (transfer full). */
char *dml_condition_text (const SqlExpr *condition);
/* `["(a = 1)"]`, `[]` for NULL. Returns: (transfer full). */
char *dml_predicate_text (const SqlExpr *condition);

G_END_DECLS

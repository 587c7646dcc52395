/* Rows of a table's files as DuckDB SELECT text (architecture §3, "The shape of a Delta scan").
 *
 * Columns are named by index into the snapshot's schema; the text's columns have the names that the request gives, in the
 * order of the request: columns, hidden, values, then the extra outputs that were asked for, in the order of their members.
 * Every column comes in the physical form of its type (duck_type_text); column mapping, missing columns, partition values,
 * deletion vectors and paths are dealt with inside.
 */
#pragma once

#include "base-cancel.h"
#include "delta-snapshot.h"
#include "delta-vector.h"
#include "duck-cache.h"

#include <glib.h>

G_BEGIN_DECLS

/* A constant of a predicate, in the column's own type. */
typedef struct {
  BaseTypeKind kind; /* BOOLEAN … TIMESTAMP_NTZ as the column's kind; integers of any width may meet each other */
  gint64 integer;    /* BOOLEAN, BYTE … LONG; DATE days; TIMESTAMP and TIMESTAMP_NTZ microseconds; since 1970 */
  double real;       /* FLOAT, DOUBLE */
  const char *text;  /* STRING, BINARY: bytes; DECIMAL: plain decimal text */
  gsize text_bytes;
} DeltaConstant;

/* DuckDB text that reads @value, DuckDB text of a value of @kind, for delta_constant_read(). Returns: (transfer full) (nullable):
 * NULL for kinds that are not read: BOOLEAN, FLOAT, DOUBLE, BINARY, and those without constants. */
char *delta_constant_expression (BaseTypeKind kind, const char *value);
/* A constant of @kind from a value that is not NULL, of a column of such text; its text is the caller's: g_free(). */
DeltaConstant delta_constant_read (BaseTypeKind kind, const DuckVector *vector, guint64 row);

typedef enum {
  DELTA_PREDICATE_EQ,
  DELTA_PREDICATE_NE,
  DELTA_PREDICATE_LT,
  DELTA_PREDICATE_LE,
  DELTA_PREDICATE_GT,
  DELTA_PREDICATE_GE,
  DELTA_PREDICATE_GE_OR_NULL,
  DELTA_PREDICATE_IN, /* any of the constants */
  DELTA_PREDICATE_IS_NULL,
  DELTA_PREDICATE_IS_NOT_NULL,
} DeltaPredicateOp;

/* One conjunct `column op constant`: it may only skip files; the rows it does not like may still be in the scan. */
typedef struct {
  guint column; /* index into the schema */
  DeltaPredicateOp op;
  const DeltaConstant *constants; /* one; n_constants of them for IN; none for the NULL tests */
  guint n_constants;
} DeltaPredicate;

/* Whether some live row of @file may satisfy all predicates, by partition values and statistics (three-valued; an unknown
 * bound never skips; NaN-safe; truncated strings and timestamps are widened). */
gboolean delta_file_may_match (DeltaMetadata *metadata, DeltaFile *file, const DeltaPredicate *predicates,
                               guint n_predicates);

typedef struct {
  guint column;     /* index into the schema */
  const char *name; /* of the output */
} DeltaScanColumn;

/* A physical Parquet column outside the schema, NULL in files that lack it. */
typedef struct {
  const char *physical_name;
  const BaseType *type;
  const char *name; /* of the output */
} DeltaScanHidden;

/* A value that the caller gives per file (`_commit_version` of a feed). */
typedef struct {
  const BaseType *type; /* BOOLEAN, integers, STRING, TIMESTAMP (text as microseconds), DATE (text as days) */
  const char *name;     /* of the output */
} DeltaScanValue;

typedef enum {
  DELTA_SCAN_LIVE,   /* rows not in the file's own vector */
  DELTA_SCAN_ALL,    /* every physical row */
  DELTA_SCAN_ONLY,   /* rows in @vector */
  DELTA_SCAN_EXCEPT, /* rows not in @vector */
} DeltaScanRows;

/* One file to read, when the caller chooses them. */
typedef struct {
  DeltaFile *file;
  DeltaScanRows rows;
  DeltaVector *vector;       /* (nullable): ONLY, EXCEPT */
  const char *const *values; /* one text per DeltaScanValue, NULL = SQL NULL; (nullable) without values */
} DeltaScanInput;

typedef struct {
  const DeltaScanColumn *columns;
  guint n_columns;
  const DeltaScanHidden *hidden;
  guint n_hidden;
  const DeltaScanValue *values;
  guint n_values;

  /* Extra outputs: names, NULL = not wanted. */
  const char *file_index_name;         /* BIGINT: index for delta_scan_file(); not the order of @inputs */
  const char *row_number_name;         /* BIGINT: physical position in its file, from 0 */
  const char *row_id_name;             /* BIGINT: stable row id; NULL where the file has none */
  const char *row_commit_version_name; /* BIGINT */
  const char *path_name;               /* VARCHAR: the path that DuckDB reads */
  const char *size_name;               /* BIGINT: bytes of the file */
  const char *modified_name;           /* TIMESTAMP WITH TIME ZONE: the action's modificationTime */

  const DeltaPredicate *predicates;
  guint n_predicates;
  /* Which files: NULL = the snapshot's live files. With a list, predicates skip in it too. */
  const DeltaScanInput *inputs;
  guint n_inputs;
  gboolean explicit_inputs; /* TRUE: @inputs even when there are none */
  /* The same columns will be asked for again, by the next batch of a stream: what is read of a file may be kept in memory (duck-cache.h).
   * Not with @path_name. */
  gboolean again;
  /* (nullable): with @again: rows where the hash of the first @n_wanted_columns of @columns, at least one, is not among these may be left out. */
  DuckWanted *wanted;
  guint n_wanted_columns;
  /* The values of @columns as another metadata of the same table names them; NULL = the snapshot's. */
  DeltaMetadata *metadata;
} DeltaScanRequest;

/* The text, and what must live until its query has ended. Reference-counted. */
typedef struct DeltaScan DeltaScan;
DeltaScan *delta_scan_ref (DeltaScan *scan); /* (transfer full) */
void delta_scan_unref (DeltaScan *scan);     /* accepts NULL; takes lent objects back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaScan, delta_scan_unref)

/**
 * delta_scan_new:
 * @snapshot: (transfer none): a reference is taken
 * @request: (transfer none): read during the call only
 *
 * Errors:   DELTA_INVALID_PARTITION_VALUE, DELTA_DELETION_VECTOR_CORRUPT, DELTA_FILE_NOT_FOUND_DETAILED,
 *           DELTA_DATA_FILE_UNREADABLE (id mapping reads footers), UNSUPPORTED_FEATURE (path not reachable).
 * Returns:  (transfer full).
 */
DeltaScan *delta_scan_new (DeltaSnapshot *snapshot, const DeltaScanRequest *request, BaseCancel *cancel,
                           GError **error);

const char *delta_scan_sql (DeltaScan *scan);                    /* a SELECT, without `;` */
guint delta_scan_n_files (DeltaScan *scan);                      /* read */
guint delta_scan_n_files_total (DeltaScan *scan);                /* before skipping */
gint64 delta_scan_bytes (DeltaScan *scan);                       /* of the files read */
DeltaFile *delta_scan_file (DeltaScan *scan, gint64 file_index); /* borrow; NULL when out of range */

/* Appends what @file says of the partition column @column (index into the schema) as a literal in the physical form of its type.
 * Errors: DELTA_INVALID_PARTITION_VALUE. */
gboolean delta_file_append_partition_literal (DeltaMetadata *metadata, DeltaFile *file, guint column, GString *sql,
                                              GError **error);

/* `SELECT NULL::T AS name, … WHERE false` over all outputs of a request, for sources without files. (transfer full) */
char *delta_scan_empty_sql (DeltaMetadata *metadata, const DeltaScanRequest *request);

G_END_DECLS

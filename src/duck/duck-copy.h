/* COPY to Parquet: writes one local file (or several) and reports what Delta needs to know about it. Nothing is fsynced. */
#pragma once

#include "base-cancel.h"
#include "duck-session.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  const char *compression; /* (nullable): "snappy" (default), "zstd", "uncompressed" … */
  gint compression_level;  /* of zstd; 0 = its default */
  const char *field_ids;   /* (nullable): text of FIELD_IDS, `{"a": 1, "s": {__duckdb_field_id: 2, "x": 3}}` */
  gint64 row_group_rows;   /* 0 = DuckDB's default (122,880) */
  /* For files with BLOBs, FLOATs and DOUBLEs: DuckDB 1.5.5 asks their Bloom filters for the printed form of a BLOB, and for the bits of a number, which
   * are others of 0.0 and -0.0, and so overlooks rows. */
  gboolean no_bloom_filters;
  gint64 dictionary_rows; /* most values of a column's dictionary; 0 = a fifth of a full row group */
  /* Several files: @path is then a directory that exists. At most one of the three; files without rows are not reported. */
  gint64 file_size_bytes;     /* > 0: files of about this size, `<path>/<prefix>N.parquet` */
  gint64 row_groups_per_file; /* > 0: files of so many row groups, the same names */
  const char *const
      *partition_by;       /* (nullable): NULL-terminated columns of @select, all VARCHAR: one file or more for every
                                    * combination of their values, which are not written */
  const char *file_prefix; /* (nullable): of the first two; default "part-" */
} DuckCopyOptions;

/* Statistics of one leaf column. What DuckDB did not report is NULL or -1. The texts are DuckDB's: BOOLEAN 0 or 1, BLOB as hex,
 * TIMESTAMP `2020-01-02 03:04:05.678901`, TIMESTAMP_TZ the same in UTC with `+00`. Values of long strings are not reported; of a
 * leaf inside a list the counts are of elements and not to be relied on. */
typedef struct {
  char **path;     /* names from the top: {"s", "a"}; `element` for a list's element, `key`, `value` for a map's */
  char *min, *max; /* (nullable): DuckDB's text of the value; not set for a column of only NULLs or of NaN only, nor for
                        * a value with a NUL inside */
  gint64 null_count;   /* -1 = unknown */
  gint64 n_values;     /* NULLs included; -1 = unknown */
  gint64 column_bytes; /* compressed; -1 = unknown */
  gint has_nan;        /* 1, 0, or -1 = not a floating column or unknown */
} DuckColumnStats;

typedef struct {
  char *file_name; /* as DuckDB wrote it: a local path */
  gint64 n_rows;
  gint64 file_bytes;
  gint64 footer_bytes;
  GPtrArray *columns;      /* (element-type DuckColumnStats), sorted by path */
  char **partition_values; /* (nullable): one per partition_by, in that order; NULL for SQL NULL */
  guint n_partition_values;
} DuckCopyFile;

/* (nullable): the statistics of the leaf at @path (NULL-terminated names). */
const DuckColumnStats *duck_copy_file_column (const DuckCopyFile *file, const char *const *path);

/**
 * duck_session_copy_parquet:
 * @select: one SELECT; its column names become the file's
 * @path: local path of the file (replaced if it exists), or of the directory
 * @options: (nullable)
 *
 * A file is written even for no rows (not into a directory: then there may be none).
 *
 * Errors: as duck_session_query(); IO_ERROR, STORAGE_FULL. A half-written file may be left at @path.
 * Returns: (transfer full) (element-type DuckCopyFile): the files; g_ptr_array_unref() frees all.
 */
GPtrArray *duck_session_copy_parquet (DuckSession *session, const char *select, const char *path,
                                      const DuckCopyOptions *options, BaseCancel *cancel, GError **error);

G_END_DECLS

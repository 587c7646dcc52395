/* Row-level changes between two versions of a Delta table as DuckDB text (cdf.md).
 *
 * A FeedRange is the analysis: which commits, which mode, which schema, which files of every commit give which rows. A FeedScan is
 * the text over a range: the columns of the table, then `_change_type`, `_commit_version`, `_commit_timestamp`.
 *
 * Feed schema (§1.2): column i < n is column i of the table's schema (n fields), then
 *   n      _change_type       STRING     insert, delete, update_preimage, update_postimage
 *   n + 1  _commit_version    LONG
 *   n + 2  _commit_timestamp  TIMESTAMP  of the commit (§7.6)
 */
#pragma once

#include "base-cancel.h"
#include "base-settings.h"
#include "delta-scan.h"
#include "delta-table.h"

#include <glib.h>

G_BEGIN_DECLS

#define FEED_CHANGE_TYPE      "_change_type"
#define FEED_COMMIT_VERSION   "_commit_version"
#define FEED_COMMIT_TIMESTAMP "_commit_timestamp"
#define FEED_N_COLUMNS        3

typedef enum {
  FEED_BOUND_NONE,      /* start: an error; end: the latest version */
  FEED_BOUND_VERSION,   /* a version */
  FEED_BOUND_TIMESTAMP, /* milliseconds since 1970: the first commit at or after it, the last one at or before it */
  FEED_BOUND_EARLIEST, /* start: the first version from which on all can be read: the feed is there, and every file of it */
} FeedBoundKind;

typedef struct {
  FeedBoundKind kind;
  gint64 value;
  gboolean exclusive;
} FeedBound;

/* How changes are known (§1.3): as the writer recorded them, or from the row ids of added and removed files. */
typedef enum { FEED_MODE_LEGACY, FEED_MODE_AUTOMATIC } FeedMode;

/* What becomes of rows that a commit only moved, and of rows that change more than once (§7.9). */
typedef enum {
  FEED_CARRYOVERS_DROPPED,
  FEED_CARRYOVERS_SHOWN, /* every row of removed and added files; updates stay delete and insert */
  FEED_NET,              /* per row of the table: what it was before the range and what it is after; needs row ids */
} FeedDeduplication;

typedef struct {
  FeedBound start;
  FeedBound end;
  gint64 now_us; /* the statement's clock, for the check against the retention of deleted files; 0 = no check */
  FeedDeduplication deduplication;
  gboolean splits_updates; /* an update is shown as delete and insert */

  /* The rest is for streams. */
  gboolean streaming;      /* see feed_range_new() */
  gboolean partial;        /* a commit that cannot be read ends the range before it, unless it is the first */
  guint n_skipped;         /* file actions of the first commit that are read already */
  DeltaMetadata *metadata; /* (nullable): the schema to read with; NULL = by §6 */
  DeltaMetadata *in_force; /* (nullable): in force before the first commit, when that is known */
  gboolean only_planned;   /* the range is never scanned: its timestamps are not looked for */
  GRegex *exclude;         /* (nullable): files whose path it matches give nothing (§10.6) */
  gint64 max_files;        /* the range ends before the commit that would exceed it; 0 = no limit */
  gint64 max_bytes;        /* the range ends after the commit that reaches it; 0 = no limit */
} FeedRequest;

/* An immutable, reference-counted value. */
typedef struct FeedRange FeedRange;
FeedRange *feed_range_ref (FeedRange *range); /* (transfer full) */
void feed_range_unref (FeedRange *range);     /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FeedRange, feed_range_unref)

/**
 * feed_range_new:
 * @settings: (nullable): engine.cdf.*, spark.databricks.delta.changeDataFeed.*; NULL = their defaults
 *
 * Finds the range, reads its commits, chooses the mode (§2.10), and checks that all of it can be read. No data file is
 * opened. With engine.cdf.startAtFirstReadable a start whose log or files are gone is moved to the first version that can be
 * read; a range without any such version keeps its error.
 *
 * With @request->streaming the limits hold, the first commit with rows is admitted whatever its size, and no commit is cut; a
 * full refresh of the table is DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE and a schema that does not fit
 * DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE.
 *
 * Errors:   those of cdf.md §8 with their parameters; DELTA_NO_START_FOR_CDC_READ; DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS;
 *           DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE, …_DATA_SCHEMA; DELTA_CHANGELOG_REQUIRES_ROW_TRACKING,
 *           …_ROW_TRACKING_DISABLED_IN_RANGE, …_SCHEMA_CHANGE_IN_RANGE; CDF_AUTO_ROW_IDS_NOT_PRESERVED;
 *           DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA; INTERNAL_ERROR: a file of a commit has no row ids; those of the log.
 * Returns:  (transfer full).
 */
FeedRange *feed_range_new (DeltaTable *table, const FeedRequest *request, BaseSettings *settings, BaseCancel *cancel,
                           GError **error);

/**
 * feed_range_new_initial:
 * @files: (array length=n_files): live files of @snapshot; references are taken
 * @metadata: (nullable): the schema to read with
 *
 * Rows of a snapshot as inserts of its version (§10.2).
 *
 * Errors:   DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS; DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE when the snapshot's schema does not
 *           fit @metadata; DELTA_VERSION_NOT_FOUND when its commit file is gone and nothing tells the
 *           timestamp.
 * Returns:  (transfer full).
 */
FeedRange *feed_range_new_initial (DeltaSnapshot *snapshot, DeltaFile *const *files, guint n_files,
                                   DeltaMetadata *metadata, GError **error);

/* Facts. Borrows live as long as @range. An empty range has end = start - 1. */
gboolean feed_range_is_empty (FeedRange *range);
DeltaVersion feed_range_start (FeedRange *range);
DeltaVersion feed_range_end (FeedRange *range);
FeedMode feed_range_mode (FeedRange *range);
BaseType *feed_range_schema (FeedRange *range); /* table columns and the three */
DeltaTable *feed_range_table (FeedRange *range);
gboolean feed_range_gives_rows (FeedRange *range); /* whether any file would be read */
/* Rows of all files by their statistics; -1 = a file does not say (change files never do). */
gint64 feed_range_estimated_rows (FeedRange *range);

/* What the range reads (§14). */
typedef struct {
  guint n_cdc;
  guint n_adds;
  guint n_removes;
  gint64 bytes;
} FeedFacts;
FeedFacts feed_range_facts (FeedRange *range);

/* The schema of a feed over a table with @schema. Errors: DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS. Returns: (transfer full). */
BaseType *feed_schema_new (const BaseType *schema, GError **error);
/* Whether rows written under @data can be read under @read (§6.3): every field of @data is there with its type, none that may
 * be NULL has become NOT NULL, and the partition columns are the same. */
gboolean feed_schema_fits (DeltaMetadata *data, DeltaMetadata *read);

typedef struct {
  const DeltaScanColumn *columns;   /* indexes into the feed schema; names become quoted identifiers */
  guint n_columns;                  /* may be 0: one column of any name, the right number of rows */
  const DeltaPredicate *predicates; /* columns of the feed schema; may only leave commits and files out */
  guint n_predicates;
  /* Sorted by _commit_version, the rows of a pair side by side, the others of a commit in the order of their files; without it
   * in any order. */
  gboolean ordered;
} FeedScanRequest;

/* The text, and what must live until its query has ended. Reference-counted. */
typedef struct FeedScan FeedScan;
FeedScan *feed_scan_ref (FeedScan *scan); /* (transfer full) */
void feed_scan_unref (FeedScan *scan);    /* accepts NULL; takes lent objects back */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FeedScan, feed_scan_unref)

/**
 * feed_scan_new:
 *
 * Errors:   DELTA_CHANGE_DATA_FILE_NOT_FOUND (path, version), those of delta_scan_new() and delta_vector_load().
 * Returns:  (transfer full).
 */
FeedScan *feed_scan_new (FeedRange *range, const FeedScanRequest *request, BaseCancel *cancel, GError **error);
const char *feed_scan_sql (FeedScan *scan); /* a SELECT, without `;` */
guint feed_scan_n_files (FeedScan *scan);   /* read */

G_END_DECLS

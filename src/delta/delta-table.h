/* A Delta table: a directory of a store, its log, and the newest snapshot seen.
 *
 * Commit timestamps are cdf.md 7.6: commitInfo.inCommitTimestamp where in-commit timestamps are enabled, else the commit
 * file's modification time made monotonic.
 */
#pragma once

#include "base-cancel.h"
#include "delta-actions.h"
#include "delta-snapshot.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct Store Store;
typedef struct DuckEngine DuckEngine;

typedef struct DeltaTable DeltaTable;

/**
 * delta_table_new:
 * @store: rooted at the table's directory; a reference is taken
 * @engine: (nullable): reads checkpoints and Parquet footers; NULL only for tables without them. A reference is taken
 *
 * Touches no storage. Threads: a DeltaTable serves any number of threads.
 * Returns: (transfer full).
 */
DeltaTable *delta_table_new (Store *store, DuckEngine *engine);
DeltaTable *delta_table_ref (DeltaTable *table); /* (transfer full) */
void delta_table_unref (DeltaTable *table);      /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaTable, delta_table_unref)

/* Borrows: the table's life. */
Store *delta_table_store (DeltaTable *table);
DuckEngine *delta_table_engine (DeltaTable *table);
const char *delta_table_location (DeltaTable *table); /* the store's root, for messages */
/* The local path DuckDB reads @file by. Errors: UNSUPPORTED_FEATURE for a URI scheme it cannot reach. (transfer full) */
char *delta_table_file_path (DeltaTable *table, DeltaFile *file, GError **error);

/* Whether the file is there. @path: a key of the store, or absolute. */
gboolean delta_table_has_file (DeltaTable *table, const char *path);
/**
 * delta_table_set_file_gone:
 * @path: the file, for the message
 * @version: that needs it; -1 when it is named by the log in another way
 *
 * Sets DELTA_FILE_NOT_FOUND_DETAILED (path, version, firstReadableVersion when a later version can be read). Reads the log.
 *
 * Returns: FALSE.
 */
gboolean delta_table_set_file_gone (DeltaTable *table, const char *path, DeltaVersion version, BaseCancel *cancel,
                                    GError **error);

/* Whether the directory holds a Delta log (at least one commit or checkpoint). */
gboolean delta_table_exists (DeltaTable *table, gboolean *exists, GError **error);

/**
 * delta_table_snapshot:
 *
 * The newest snapshot. Looks for commits after the one it knows and reads only those; the answer is kept.
 *
 * Errors:   DELTA_TABLE_NOT_FOUND, DELTA_LOG_CORRUPT (file, line), DELTA_CHECKPOINT_CORRUPT, DELTA_VERSIONS_NOT_CONTIGUOUS,
 *           DELTA_TRUNCATED_TRANSACTION_LOG, DELTA_STATE_RECOVER_ERROR, DELTA_UNSUPPORTED_FEATURES_FOR_READ,
 *           DELTA_INVALID_PROTOCOL_VERSION.
 * Returns:  (transfer full).
 */
DeltaSnapshot *delta_table_snapshot (DeltaTable *table, BaseCancel *cancel, GError **error);
/* The snapshot of one version. Errors: as above; DELTA_VERSION_NOT_FOUND (userVersion, earliest, latest). */
DeltaSnapshot *delta_table_snapshot_at (DeltaTable *table, DeltaVersion version, BaseCancel *cancel, GError **error);
/* The newest snapshot kept, without touching storage; NULL when there is none yet. Returns: (transfer full). */
DeltaSnapshot *delta_table_cached_snapshot (DeltaTable *table);

/* One commit's actions, cdc and commitInfo included.
 * Errors: DELTA_VERSION_NOT_FOUND when its file is gone or not yet there; DELTA_LOG_CORRUPT. Returns: (transfer full). */
DeltaCommit *delta_table_commit (DeltaTable *table, DeltaVersion version, BaseCancel *cancel, GError **error);
/* Commits @from … @to, all there. Errors: DELTA_VERSIONS_NOT_CONTIGUOUS for a gap inside; DELTA_VERSION_NOT_FOUND.
 * Returns: (transfer full) (element-type DeltaCommit). */
GPtrArray *delta_table_commits (DeltaTable *table, DeltaVersion from, DeltaVersion to, BaseCancel *cancel,
                                GError **error);

/* The newest version and the oldest one whose commit file still exists. Errors: DELTA_TABLE_NOT_FOUND. */
gboolean delta_table_versions (DeltaTable *table, DeltaVersion *earliest, DeltaVersion *latest, GError **error);

/* One row of DESCRIBE HISTORY. */
typedef struct {
  DeltaVersion version;
  gint64 timestamp_ms;
  json_t *commit_info; /* (nullable) */
} DeltaHistoryEntry;
/* The newest @n_most (0 = all) commits, newest first. Returns: (transfer full) (element-type DeltaHistoryEntry). */
GPtrArray *delta_table_history (DeltaTable *table, guint n_most, BaseCancel *cancel, GError **error);

/* The timestamp of one commit, milliseconds since 1970. Errors: DELTA_VERSION_NOT_FOUND. */
gboolean delta_table_timestamp_of (DeltaTable *table, DeltaVersion version, gint64 *timestamp_ms, GError **error);
/* Of every commit @from … @to: (transfer full) (element-type gint64). */
GArray *delta_table_timestamps (DeltaTable *table, DeltaVersion from, DeltaVersion to, GError **error);

typedef enum {
  DELTA_AT_OR_BEFORE, /* time travel and the end of a feed: the latest commit with timestamp ≤ it */
  DELTA_AT_OR_AFTER,  /* the start of a feed: the earliest commit with timestamp ≥ it */
} DeltaTimestampBound;

/**
 * delta_table_version_at:
 * @timestamp_ms: milliseconds since 1970
 * @may_exceed: a timestamp after the last commit gives the last version (DELTA_AT_OR_BEFORE) or latest + 1 (AT_OR_AFTER)
 *              instead of an error
 *
 * Errors: DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION (only DELTA_AT_OR_BEFORE; a start before the earliest commit is the
 *         earliest); DELTA_TIMESTAMP_GREATER_THAN_COMMIT. Both with the nearest commit's timestamp in their text.
 */
gboolean delta_table_version_at (DeltaTable *table, gint64 timestamp_ms, DeltaTimestampBound bound, gboolean may_exceed,
                                 DeltaVersion *version, GError **error);

G_END_DECLS

/* A snapshot is a value: one version of a table, immutable, reference-counted (architecture D4).
 */
#pragma once

#include "delta-actions.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct DeltaTable DeltaTable;

typedef struct DeltaSnapshot DeltaSnapshot;
DeltaSnapshot *delta_snapshot_ref (DeltaSnapshot *snapshot); /* (transfer full) */
void delta_snapshot_unref (DeltaSnapshot *snapshot);         /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaSnapshot, delta_snapshot_unref)

/* Facts. Borrows live as long as @snapshot. */
DeltaTable *delta_snapshot_table (DeltaSnapshot *snapshot);
DeltaVersion delta_snapshot_version (DeltaSnapshot *snapshot);
/* Of its commit, milliseconds (cdf.md 7.6); -1 when the commit file is gone and the checkpoint does not say. */
gint64 delta_snapshot_timestamp_ms (DeltaSnapshot *snapshot);
DeltaProtocol *delta_snapshot_protocol (DeltaSnapshot *snapshot);
DeltaMetadata *delta_snapshot_metadata (DeltaSnapshot *snapshot);
BaseType *delta_snapshot_schema (DeltaSnapshot *snapshot); /* of its metadata */

/* Live files, sorted by path. */
guint delta_snapshot_n_files (DeltaSnapshot *snapshot);
DeltaFile *delta_snapshot_file (DeltaSnapshot *snapshot, guint index);
/* @path: as in the log, or decoded. Returns: (nullable). */
DeltaFile *delta_snapshot_find_file (DeltaSnapshot *snapshot, const char *path);
gint64 delta_snapshot_size_bytes (DeltaSnapshot *snapshot); /* of all live files */
/* Live rows by statistics; -1 when a file does not say. */
gint64 delta_snapshot_n_rows (DeltaSnapshot *snapshot);

/* Removed files whose tombstones the log still holds, sorted by path. */
guint delta_snapshot_n_tombstones (DeltaSnapshot *snapshot);
DeltaFile *delta_snapshot_tombstone (DeltaSnapshot *snapshot, guint index);

/* Returns: the last version committed by @app_id, or @fallback. */
gint64 delta_snapshot_txn_version (DeltaSnapshot *snapshot, const char *app_id, gint64 fallback);
GPtrArray *delta_snapshot_txns (DeltaSnapshot *snapshot); /* (transfer container) (element-type DeltaTxn): borrows */

/* The configuration text of a domain, NULL when it is not there (or removed). */
const char *delta_snapshot_domain (DeltaSnapshot *snapshot, const char *domain);
GPtrArray *
delta_snapshot_domains (DeltaSnapshot *snapshot); /* (transfer container) (element-type DeltaDomain): borrows */
/* The highest row id assigned so far; -1 when none. */
gint64 delta_snapshot_row_id_high_water_mark (DeltaSnapshot *snapshot);

/* What domains `sluice.*` ask every rewrite and VACUUM to respect (architecture D7): paths of files to keep, as in the log,
 * and names of physical columns to carry. An entry of either list is a string, or an object with "path" or "name".
 * Returns: (transfer full): NULL-terminated, sorted, each once. */
char **delta_snapshot_domain_files (DeltaSnapshot *snapshot);
char **delta_snapshot_hidden_columns (DeltaSnapshot *snapshot);

G_END_DECLS

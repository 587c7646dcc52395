/* The change feed of a Delta table as a stream (cdf.md §10). Offsets are those of stream-delta.h. */
#pragma once

#include "delta-snapshot.h"
#include "stream-source.h"

G_BEGIN_DECLS

/**
 * stream_feed_new:
 * @index: number of the source among the sources of the flow
 * @name: of the table, for errors and lineage
 * @snapshot: the table now: gives the schema and fixes the end; a reference is taken
 * @options: (nullable): key, value, …, NULL as written in `WITH (…)`, readChangeFeed among them
 *
 * The leaf's columns are the table's, then _change_type, _commit_version and _commit_timestamp.
 *
 * Errors: DELTA_ILLEGAL_OPTION, INVALID_OPTION, DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET, DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS.
 * Returns: (transfer full).
 */
StreamSource *stream_feed_new (guint index, const char *name, DeltaSnapshot *snapshot, const char *const *options,
                               BaseCancel *cancel, GError **error);

G_END_DECLS

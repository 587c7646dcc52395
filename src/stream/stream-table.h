/* A Delta table as a stream: of appended rows, or of its change feed (cdf.md §10, pipelines.md §12.1).
 *
 * Offset, byte for byte as Spark's Delta source writes it:
 *   {"sourceVersion":1,"reservoirId":"<table id>","reservoirVersion":V,"index":I,"isStartingVersion":B}
 * Everything through file I of version V (of the snapshot V when B) is read; index -1 = nothing of V yet. After the last action
 * of V: (V+1, -1, false). Where schemas are tracked, sourceVersion 3 with index -20 ends a batch before a version that changes the
 * table's metadata.
 */
#pragma once

#include "base-settings.h"
#include "delta-snapshot.h"
#include "stream-source.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct DuckSession DuckSession;

typedef struct {
  guint index;                /* number of the source among the sources of the query */
  const char *name;           /* of the table, for errors and lineage */
  DeltaSnapshot *snapshot;    /* the table now: gives the schema and fixes the end */
  const char *const *options; /* (nullable): key, value, …, NULL as of `WITH (…)` or readStream; keys without case */
  BaseSettings *settings;     /* (nullable): engine.cdf.*, spark.databricks.delta.…; NULL = their defaults */
  DuckSession *session;       /* (nullable): reads timestamps in its time zone */
  StreamProgress *progress;   /* (nullable): where schemas are tracked; NULL = analysis only */
  gboolean no_limits;         /* maxFilesPerTrigger and maxBytesPerTrigger do not count */
  BaseCancel *cancel;         /* (nullable) */
} StreamTableRequest;

/**
 * stream_table_new:
 *
 * With readChangeFeed the leaf's columns are the table's, then _change_type, _commit_version and _commit_timestamp.
 *
 * Errors: those of stream_table_check_options(); DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS; with schemaTrackingLocation those of a
 * damaged or foreign schema log, DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT.
 * While it runs: DELTA_VERSION_NOT_FOUND, DELTA_TIMESTAMP_GREATER_THAN_COMMIT (a start that is not there),
 * DELTA_MISSING_FILES_UNEXPECTED_VERSION, DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
 * DELTA_SOURCE_TABLE_IGNORE_CHANGES, DELTA_SOURCE_IGNORE_DELETE, those of feed_range_new(),
 * DELTA_SCHEMA_CHANGED_WITH_VERSION and DELTA_STREAMING_METADATA_EVOLUTION (make the source anew and go on),
 * DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE, …_USE_SCHEMA_LOG, DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION.
 * Returns: (transfer full).
 */
StreamSource *stream_table_new (const StreamTableRequest *request, GError **error);

/* Whether @options can be those of a stream; @is_feed: (out): whether they ask for the change feed.
 * Errors: DELTA_ILLEGAL_OPTION, DELTA_REGEX_OPT_SYNTAX_ERROR, DELTA_TIMESTAMP_INVALID,
 * DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET, INVALID_OPTION for an unknown key. */
gboolean stream_table_check_options (const char *const *options, DuckSession *session, gboolean *is_feed,
                                     GError **error);

G_END_DECLS

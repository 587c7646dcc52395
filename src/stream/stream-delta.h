/* A Delta table as a stream of appended rows (pipelines.md §12.1, cdf.md §10.8, §10.13).
 *
 * Offset: {"sourceVersion":1,"reservoirId":"<table id>","reservoirVersion":V,"index":I,"isStartingVersion":B}: everything through
 * file I of version V (of the snapshot V when B) is read; index -1 = nothing of V yet. After the last action of V: (V+1, -1, false).
 */
#pragma once

#include "delta-snapshot.h"
#include "stream-source.h"

#include <glib.h>

typedef struct DeltaTable DeltaTable;

G_BEGIN_DECLS

typedef struct {
  gint64 starting_version;      /* -1 = not given */
  gint64 starting_timestamp_ms; /* G_MININT64 = not given */
  gboolean starting_latest;     /* startingVersion = latest */
  gboolean skip_change_commits;
  gboolean ignore_deletes;
  gboolean ignore_changes;
  gboolean read_change_feed;
  gboolean fail_on_data_loss; /* FALSE: a stream of changes whose log was cleaned up goes on at the earliest version */
  const char *exclude_regex;  /* (nullable): files whose path it matches give nothing; borrowed from the pairs read */
  gint64 max_files;           /* 0 = no limit */
  gint64 max_bytes;           /* 0 = no limit */
} StreamDeltaOptions;

/* Reads the options of a streaming read (`WITH (…)`); keys without case.
 * Errors: DELTA_ILLEGAL_OPTION, DELTA_REGEX_OPT_SYNTAX_ERROR, DELTA_TIMESTAMP_INVALID, DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET, INVALID_OPTION for an unknown key. */
gboolean stream_delta_options_read (const char *const *pairs, StreamDeltaOptions *options, GError **error);

/**
 * stream_delta_new:
 * @index: number of the source among the sources of the flow
 * @name: of the table, for errors and lineage
 * @snapshot: the table now: gives the schema; a reference is taken
 *
 * Errors while it runs: DELTA_SOURCE_TABLE_IGNORE_CHANGES, DELTA_SOURCE_IGNORE_DELETE, DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
 * DELTA_SCHEMA_CHANGED_WITH_VERSION (make the source anew and go on), DELTA_FILE_NOT_FOUND_DETAILED (the log no longer reaches back).
 * Returns: (transfer full).
 */
StreamSource *stream_delta_new (guint index, const char *name, DeltaSnapshot *snapshot,
                                const StreamDeltaOptions *options, BaseCancel *cancel);

G_END_DECLS

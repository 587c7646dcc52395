/* The schemas that a stream has read with, in Spark's format: schemaTrackingLocation below the checkpoint (cdf.md §10.12).
 *
 *   <location>/_schema_log_<table id>[_<streamingSourceTrackingId>]/<n>    v1, then one JSON object:
 *     tableId, deltaCommitVersion, dataSchemaJson, partitionSchemaJson, sourceMetadataPath, tableConfigurations, protocolJson,
 *     previousMetadataSeqNum (when it is not n - 1)
 */
#pragma once

#include "delta-metadata.h"
#include "delta-snapshot.h"
#include "stream-progress.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct StreamSchemaLog StreamSchemaLog;

typedef struct {
  gint64 number;        /* of the entry; -1 = there is none */
  gint64 previous;      /* of the entry before it in meaning */
  DeltaVersion version; /* of the table */
  DeltaMetadata *metadata;
  DeltaProtocol *protocol; /* written for others; of an entry that was read it is the table's now */
} StreamSchemaEntry;
void stream_schema_entry_clear (StreamSchemaEntry *entry);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StreamSchemaEntry, stream_schema_entry_clear)

/**
 * stream_schema_log_open:
 * @location: relative to the checkpoint, or an absolute path or file: URI below it
 * @tracking_id: (nullable): streamingSourceTrackingId
 * @source: the number of the source, part of its name in the log
 *
 * Errors: DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT; IO errors.
 * Returns: (transfer full).
 */
StreamSchemaLog *stream_schema_log_open (StreamProgress *progress, const char *location, const char *table_id,
                                         const char *tracking_id, guint source, GError **error);
void stream_schema_log_free (StreamSchemaLog *log); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StreamSchemaLog, stream_schema_log_free)

/* The newest entry, or entry @number when it is not negative. @model: the table now: what an entry leaves open is as there.
 * @entry: (out): number -1 when there is none.
 * Errors: DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED, …_PARSE_SCHEMA_FAILED, …_INCOMPATIBLE_DELTA_TABLE_ID. */
gboolean stream_schema_log_read (StreamSchemaLog *log, DeltaSnapshot *model, gint64 number, StreamSchemaEntry *entry,
                                 GError **error);
/* Adds an entry behind @number, whose meaning follows on @previous. Errors: DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT when another stream
 * did so. */
gboolean stream_schema_log_add (StreamSchemaLog *log, const StreamSchemaEntry *entry, GError **error);
/* The source's own name in the log, a path; what Spark calls the metadata path. Borrowed. */
const char *stream_schema_log_source (const StreamSchemaLog *log);

G_END_DECLS

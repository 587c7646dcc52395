/* What the streams over a Delta table share: offsets (stream-delta.h), their start, the initial snapshot, excluded files. */
#pragma once

#include "stream-delta.h"

G_BEGIN_DECLS

typedef struct {
  char *table_id;
  DeltaVersion version;
  gint64 index;      /* of the last file read of @version, -1 = none */
  gboolean is_start; /* files of the snapshot @version, not of its commit */
} StreamDeltaOffset;
void stream_delta_offset_clear (StreamDeltaOffset *offset);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StreamDeltaOffset, stream_delta_offset_clear)

/* Errors: FLOW_CHECKPOINT_CORRUPT. */
gboolean stream_delta_offset_read (const json_t *json, StreamDeltaOffset *offset, GError **error);
json_t *stream_delta_offset_write (const StreamDeltaOffset *offset); /* (transfer full) */

/* Where a stream starts when nothing was read yet; @snapshot is the table now, its version the end.
 * Errors: DELTA_VERSION_NOT_FOUND, DELTA_TIMESTAMP_GREATER_THAN_COMMIT. */
gboolean stream_delta_offset_first (DeltaSnapshot *snapshot, const StreamDeltaOptions *options,
                                    StreamDeltaOffset *offset, GError **error);
/* @last as an offset of this table, or the first one when it is NULL.
 * Errors: also DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE. */
gboolean stream_delta_offset_after (DeltaSnapshot *snapshot, const StreamDeltaOptions *options, const json_t *last,
                                    StreamDeltaOffset *offset, GError **error);

/* The snapshot of @version: @known itself when it is that one. Returns: (transfer full). */
DeltaSnapshot *stream_delta_snapshot_at (DeltaSnapshot *known, DeltaVersion version, BaseCancel *cancel,
                                         GError **error);
/* Its files in reading order: by modification time, then path. Returns: (transfer full) (element-type DeltaFile). */
GPtrArray *stream_delta_start_files (DeltaSnapshot *snapshot, GRegex *exclude);

/* Errors: DELTA_REGEX_OPT_SYNTAX_ERROR. */
gboolean stream_delta_check_regex (const char *text, GError **error);
/* The checked regex of the options. Returns: (transfer full) (nullable). */
GRegex *stream_delta_exclude_new (const StreamDeltaOptions *options);
gboolean stream_delta_is_excluded (DeltaFile *file, GRegex *exclude);

G_END_DECLS

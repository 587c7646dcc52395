/* New files of a directory as a stream (pipelines.md §13): each file exactly once.
 *
 * Offset of a batch: {"files":[[path, size, mtime_us], …]}: the files of this batch. What was taken before is in
 *   state/<source>/taken        16-byte digests of identities, sorted, of all batches up to the number in its first 8 bytes
 * and in the offsets of the batches after it. Identity is the path; with allowOverwrites also the modification time.
 *   state/<source>/schema-<n>   the schema (JSON) that was found first (0) and each time it grew
 */
#pragma once

#include "files-options.h"
#include "stream-source.h"

#include <glib.h>

typedef struct DuckSession DuckSession;

G_BEGIN_DECLS

/**
 * stream_files_new:
 * @index: number of the source among the sources of the flow, in the order of the query; stable over updates
 * @progress: (nullable): where a schema may be stored; NULL = analysis only, nothing is written
 * @context: (nullable): counts storage operations
 * @session: (transfer none): outlives the source
 *
 * Finds the schema: the stored one, else by inference, which is then stored.
 *
 * Errors: those of files_list() and files_schema_infer().
 * Returns: (transfer full).
 */
StreamSource *stream_files_new (guint index, FilesOptions *options, StreamProgress *progress, StoreContext *context,
                                DuckSession *session, BaseCancel *cancel, GError **error);

G_END_DECLS

/* Raw files as a leaf of a relation tree. */
#pragma once

#include "base-cancel.h"
#include "duck-session.h"
#include "files-listing.h"
#include "files-options.h"
#include "relation-source.h"

G_BEGIN_DECLS

/* Registers the kernels of this room; once per engine, before the first scan. */
gboolean files_register (DuckEngine *engine, GError **error);

/**
 * files_source_new:
 * @data: the data columns (files_schema_infer())
 * @entries: (nullable) (element-type FilesEntry): what to read; NULL = nothing yet
 * @streaming: read as a stream: a file with a new column then ends the scan with UNKNOWN_FIELD_EXCEPTION in the evolution modes
 *   addNewColumns and failOnNewColumns; a batch read rescues it instead
 * @session: (transfer none): outlives the source; it is asked about the files before they are read, so it must be free then
 *
 * Rows: @data's columns and the rescued column; `_metadata` by name. What does not fit the schema is NULL and rescued.
 * Errors of the scan: UNKNOWN_FIELD_EXCEPTION (parameter "field"), MALFORMED_RECORD_IN_PARSING…, FAILED_READ_FILE.
 * Source: pipelines.md §13.
 * Returns: (transfer full).
 */
RelationSource *files_source_new (FilesOptions *options, const BaseType *data, GPtrArray *entries, gboolean streaming,
                                  DuckSession *session, BaseCancel *cancel);
/* The next micro-batch. A reference on @entries is taken. */
void files_source_set_entries (RelationSource *source, GPtrArray *entries);

G_END_DECLS

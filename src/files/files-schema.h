/* The schema of raw files: inference, hints, growth. */
#pragma once

#include "base-cancel.h"
#include "duck-session.h"
#include "files-listing.h"
#include "files-options.h"

G_BEGIN_DECLS

/* Inference looks at no more than this (pipelines.md §13.3). */
#define FILES_INFER_MAX_FILES 1000
#define FILES_INFER_MAX_BYTES (G_GINT64_CONSTANT (50) * 1024 * 1024 * 1024)

/**
 * files_schema_infer:
 * @entries: (element-type FilesEntry): files to look at, in order; those beyond the limits above are left out
 *
 * The data columns (a struct, every field nullable) that @entries hold, in order of first appearance, with schemaHints applied;
 * the option `schema` itself when it was given. Neither the rescued column nor _metadata are among them.
 *
 * Errors: CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE without any file; FAILED_READ_FILE; CANNOT_INFER_SCHEMA when nothing can be read from the
 *   files; UNSUPPORTED_FEATURE for dates, timestamps and intervals inside nested hints.
 * Returns: (transfer full).
 */
BaseType *files_schema_infer (const FilesOptions *options, GPtrArray *entries, DuckSession *session, BaseCancel *cancel,
                              GError **error);

/* A schema stored earlier as the options want it now: the option `schema` itself, or @stored with schemaHints applied.
 * Errors: UNSUPPORTED_FEATURE as above. Returns: (transfer full). */
BaseType *files_schema_revise (const FilesOptions *options, const BaseType *stored, GError **error);

/* @old grown by the fields of @seen that it lacks (compared without case), at the end of their struct; types of @old stay.
 * Returns: (transfer full): a reference on @old when nothing is missing. */
BaseType *files_schema_merge (const BaseType *old, const BaseType *seen);

/* The columns that a reader shows: @data and the rescued column, if there is one. Returns: (transfer full). */
BaseType *files_schema_shown (const FilesOptions *options, const BaseType *data);
/* struct<_metadata: struct<file_path, file_name, file_size, file_block_start, file_block_length, file_modification_time>>
 * Returns: (transfer full). Source: pipelines.md §13.6. */
BaseType *files_schema_hidden (void);

G_END_DECLS

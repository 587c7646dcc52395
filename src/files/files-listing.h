/* Which files are there: one listing of a pattern. */
#pragma once

#include "base-cancel.h"
#include "files-options.h"
#include "store-context.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *path; /* absolute, on this machine */
  gint64 size_bytes;
  gint64 modified_us;
} FilesEntry;
FilesEntry *files_entry_new (const char *path, gint64 size_bytes, gint64 modified_us); /* (transfer full) */
void files_entry_free (FilesEntry *entry);

/**
 * files_list:
 * @context: (nullable): faults and counts of storage operations
 *
 * Lists the files of the pattern: of a directory all below it, names beginning with `_` or `.` left out, filtered by the options
 * pathGlobFilter, modifiedAfter and modifiedBefore; sorted by (modification time, path).
 * No file is not an error; a fixed directory or file that does not exist is.
 *
 * Errors: PATH_NOT_FOUND, INVALID_OPTION (a malformed pattern or time), IO errors, OPERATION_CANCELED.
 * Source: pipelines.md §13.1.
 * Returns: (transfer full) (element-type FilesEntry).
 */
GPtrArray *files_list (const FilesOptions *options, StoreContext *context, BaseCancel *cancel, GError **error);

G_END_DECLS

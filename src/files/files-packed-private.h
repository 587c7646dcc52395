/* Compressed files, and what the bytes of a text file mean. */
#pragma once

#include "files-listing.h"

#include <glib.h>

G_BEGIN_DECLS

/**
 * files_packed_check:
 *
 * Reads every gzip file (`*.gz`) among @entries to its end: DuckDB takes a cut one for a whole one, and rows would be lost.
 *
 * Errors: FAILED_READ_FILE naming the file; OPERATION_CANCELED.
 */
gboolean files_packed_check (GPtrArray *entries, BaseCancel *cancel, GError **error);

/**
 * files_packed_text:
 * @content: the bytes of a file, gzip or plain
 *
 * The text they hold: unpacked, without a byte order mark, what is not UTF-8 (or a NUL) as U+FFFD.
 *
 * Errors: FAILED_READ_FILE (broken, or more than 1 GiB unpacked); UNSUPPORTED_FEATURE (zstd).
 * Returns: (transfer full).
 */
char *files_packed_text (const char *content, gsize size, GError **error);

G_END_DECLS

/* VACUUM: which files of a table's directory nobody needs any more, and deleting them (cdf.md 9.3).
 *
 * Kept are the files, vectors, change files and files of domains (AUTO CDC's memory) that the newest version needs, that any version
 * within the retention needs, and whatever is younger than the retention, since a commit that is still being made may name it.
 * Hidden names (`_…`, `.…`) are passed over except `_change_data`, `_delta_index…`, `_autocdc` and directories of partition
 * columns; so are symbolic links, and directories that are tables of their own. Nothing outside of the table is ever touched.
 */
#pragma once

#include "base-cancel.h"
#include "delta-snapshot.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  DELTA_VACUUM_FULL, /* lists the directory */
  DELTA_VACUUM_LITE, /* only files that commits still in the log removed */
} DeltaVacuumMode;

typedef struct DeltaVacuum DeltaVacuum;

/**
 * delta_vacuum_new:
 * @snapshot: the newest version
 * @cutoff_ms: milliseconds since 1970: what was needed or written at this time or later is kept
 *
 * Finds the files to delete; deletes nothing.
 *
 * Errors:   those of reading the log and of listing.
 * Returns:  (transfer full).
 */
DeltaVacuum *delta_vacuum_new (DeltaSnapshot *snapshot, gint64 cutoff_ms, DeltaVacuumMode mode, BaseCancel *cancel,
                               GError **error);
void delta_vacuum_free (DeltaVacuum *vacuum); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaVacuum, delta_vacuum_free)

guint delta_vacuum_n_files (DeltaVacuum *vacuum);
const char *delta_vacuum_file (DeltaVacuum *vacuum, guint index); /* a key of the store; borrow: the vacuum's life */
gint64 delta_vacuum_bytes (DeltaVacuum *vacuum);
guint delta_vacuum_n_directories (DeltaVacuum *vacuum); /* looked into */

/* Deletes them, but not what @newest, read just now, has come to need (a RESTORE meanwhile). @n_deleted: (out): also on failure. */
gboolean delta_vacuum_run (DeltaVacuum *vacuum, DeltaSnapshot *newest, BaseCancel *cancel, guint *n_deleted,
                           GError **error);

G_END_DECLS

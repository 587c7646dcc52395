/* Writing memory into state files. */
#pragma once

#include "autocdc-work-private.h"
#include "write-batch.h"

G_BEGIN_DECLS

/* Stages {add} (@n_new facts) as a state file, together with older files where compaction is due, and updates the list in
 * the layout's domain. Files of nothing but expired tombstones leave the list. @n_expired: (out): tombstones removed. */
gboolean autocdc_state_write (AutoCdcWork *work, WriteBatch *write, DeltaTable *table, gint64 n_new, gint64 *n_expired,
                              GError **error);

G_END_DECLS

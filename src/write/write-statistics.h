/* Delta statistics of a data file from what Parquet's writer reported. Private to the room. */
#pragma once

#include "duck-copy.h"
#include "write-layout.h"

#include <glib.h>

G_BEGIN_DECLS

/**
 * write_statistics_text:
 * @clustering: (nullable): the configuration of the domain `delta.clustering`, whose columns always have statistics
 * @tight: say `tightBounds` (tables with deletion vectors)
 *
 * `{"numRecords":…,"minValues":{…},"maxValues":{…},"nullCount":{…}}` with physical names, of the columns that
 * delta.dataSkippingStatsColumns or delta.dataSkippingNumIndexedCols choose. A bound is given only if it is certainly one.
 *
 * Source: Delta PROTOCOL.md, "Per-file Statistics".
 * Returns: (transfer full).
 */
char *write_statistics_text (WriteLayout *layout, const DuckCopyFile *file, const char *clustering, gboolean tight);

/* One bound as the JSON text of a value of @type; NULL when it cannot be told exactly enough. For tests and the above.
 * @is_max: round up instead of down. Returns: (transfer full) (nullable). */
char *write_statistics_bound (const BaseType *type, const char *text, gboolean is_max);

G_END_DECLS

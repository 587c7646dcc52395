/* Intervals as text: Spark's ANSI form and the legacy form of calendar intervals. Pure. */
#pragma once

#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

/* `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '3 04:05:06.7' DAY TO SECOND`. */
void relation_interval_append_months (GString *out, gint64 months, BaseIntervalField from, BaseIntervalField to);
void relation_interval_append_us (GString *out, gint64 us, BaseIntervalField from, BaseIntervalField to);
/* `1 years 2 months 3 days 4 hours 5 minutes 6.7 seconds`; `0 seconds`. */
void relation_interval_append_calendar (GString *out, gint32 months, gint32 days, gint64 us);

/* Reads what the two first functions print, with or without the words around the quotes. @value: months or microseconds.
 * FALSE: the text has another form or is out of range. */
gboolean relation_text_to_interval (const char *text, gsize size, BaseIntervalField from, BaseIntervalField to,
                                    gint64 *value);
/* Reads `[interval] 1 year -2 months 3 days 4.5 seconds …`. FALSE: another form. */
gboolean relation_text_to_calendar_interval (const char *text, gsize size, gint32 *months, gint32 *days, gint64 *us);

G_END_DECLS

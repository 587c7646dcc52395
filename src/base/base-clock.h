/* The clock, as a value that tests can set.
 *
 * Code that writes a time into a table or compares one with a retention asks the clock that it was given; nothing below
 * `session` reads the time of day by itself. A batch's clock is read once, when its offsets are logged (autocdc.md §5.8).
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  gint64 fixed_us; /* 0 = the system's clock; else the answer, microseconds since 1970-01-01T00:00:00Z */
} BaseClock;

/* @clock: (nullable): NULL is the system's clock. Environment SLUICE_CLOCK_US (tests only) is read by `session`, not here. */
gint64 base_clock_now_us (const BaseClock *clock);

/* `2026-01-01T10:05:00.000001Z`; years 1 to 9999. Returns: (transfer full). */
char *base_clock_text_us (gint64 time_us);

G_END_DECLS

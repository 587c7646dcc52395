/* The clock: see base-clock.h. */
#include "base-clock.h"

gint64
base_clock_now_us (const BaseClock *clock)
{
  if (clock != NULL && clock->fixed_us != 0)
    return clock->fixed_us;
  return g_get_real_time ();
}

char *
base_clock_text_us (gint64 time_us)
{
  gint64 seconds = time_us / G_USEC_PER_SEC;
  int micros = (int) (time_us % G_USEC_PER_SEC);
  if (micros < 0) {
    micros += (int) G_USEC_PER_SEC;
    seconds--;
  }
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc (seconds);
  if (date == NULL)
    return g_strdup_printf ("%" G_GINT64_FORMAT " us", time_us);
  g_autofree char *text = g_date_time_format (date, "%Y-%m-%dT%H:%M:%S");
  return g_strdup_printf ("%s.%06dZ", text, micros);
}

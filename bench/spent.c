#include "spent.h"

#include <string.h>
#include <sys/resource.h>

static gint64 fsync_us;
static gint n_fsyncs;

int __real_fsync (int fd);
int __wrap_fsync (int fd);
int __real_fdatasync (int fd);
int __wrap_fdatasync (int fd);

static int
timed (int (*sync) (int), int fd)
{
  gint64 start = g_get_monotonic_time ();
  int result = sync (fd);

  __atomic_fetch_add (&fsync_us, g_get_monotonic_time () - start, __ATOMIC_RELAXED);
  g_atomic_int_inc (&n_fsyncs);
  return result;
}

int
__wrap_fsync (int fd)
{
  return timed (__real_fsync, fd);
}

int
__wrap_fdatasync (int fd)
{
  return timed (__real_fdatasync, fd);
}

static gint64
written_bytes (void)
{
  g_autofree char *text = NULL;
  const char *at;

  if (!g_file_get_contents ("/proc/self/io", &text, NULL, NULL) || (at = strstr (text, "wchar: ")) == NULL)
    return 0;
  return g_ascii_strtoll (at + strlen ("wchar: "), NULL, 10);
}

Spent
spent_now (void)
{
  struct rusage usage;

  (void) getrusage (RUSAGE_SELF, &usage); /* cannot fail for this process */
  return (Spent){ .wall_us = g_get_monotonic_time (),
                  .cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC + usage.ru_utime.tv_usec +
                            usage.ru_stime.tv_usec,
                  .written_bytes = written_bytes (),
                  .fsync_us = fsync_us,
                  .n_fsyncs = n_fsyncs };
}

json_t *
spent_since (const Spent *start)
{
  Spent end = spent_now ();

  return json_pack ("{s:f, s:f, s:I, s:f, s:i}", "seconds", (double) (end.wall_us - start->wall_us) / 1e6,
                    "cpu_seconds", (double) (end.cpu_us - start->cpu_us) / 1e6, "written_bytes",
                    (json_int_t) (end.written_bytes - start->written_bytes), "fsync_seconds",
                    (double) (end.fsync_us - start->fsync_us) / 1e6, "fsyncs", end.n_fsyncs - start->n_fsyncs);
}

gint64
spent_peak_bytes (void)
{
  struct rusage usage;

  (void) getrusage (RUSAGE_SELF, &usage); /* cannot fail for this process */
  return usage.ru_maxrss * 1024;
}

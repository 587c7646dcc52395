/* What a piece of work cost this process: wall and CPU time, bytes handed to write(), fsyncs. The linker puts the wrappers of spent.c
 * before libc's fsync. */
#pragma once

#include <glib.h>
#include <jansson.h>

typedef struct {
  gint64 wall_us;
  gint64 cpu_us;
  gint64 written_bytes;
  gint64 fsync_us;
  gint n_fsyncs;
} Spent;

Spent spent_now (void);

/* An object with seconds, cpu_seconds, written_bytes, fsync_seconds, fsyncs. */
json_t *spent_since (const Spent *start);

/* The largest resident set so far. */
gint64 spent_peak_bytes (void);

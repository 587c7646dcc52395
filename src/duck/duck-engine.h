/* The engine: one in-memory DuckDB per process. Memory limit, threads, registered functions are the engine's; time zone and
 * temporary tables are a session's. Rows leave their order unless a query asks (preserve_insertion_order=false), which lets
 * COPY and scans run in parallel in little memory: nothing may rely on an order that no ORDER BY states.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct DuckEngine DuckEngine;

typedef struct {
  gint64 memory_limit_bytes;  /* 0 = 60 % of the machine's memory */
  guint n_threads;            /* 0 = number of processors, fewer where each would have less than 64 MiB */
  const char *temp_directory; /* (nullable): where queries spill; NULL = a directory below g_get_tmp_dir() */
  guint64 least_cached_rows;  /* of fewer rows nothing is cached (duck-cache.h); 0 = 2048 */
  guint64 most_cached_bytes;  /* taken from the memory limit; 0 = a 16th part of it, at most 384 MiB */
} DuckEngineOptions;

/**
 * duck_engine_new:
 * @options: (nullable): NULL = all defaults
 *
 * Opens the database and registers sluice_live, sluice_files, sluice_expect and sluice_expect_fail (duck-lend.h).
 * Extensions are neither loaded nor installed by themselves.
 *
 * Errors: SLUICE_ERROR_INVALID_CONF_VALUE for an option that DuckDB refuses; SLUICE_ERROR_INTERNAL_ERROR.
 * Threads: an engine is used by any number of threads.
 * Returns: (transfer full).
 */
DuckEngine *duck_engine_new (const DuckEngineOptions *options, GError **error);
DuckEngine *duck_engine_ref (DuckEngine *engine); /* (transfer full) */
void duck_engine_unref (DuckEngine *engine);      /* accepts NULL; the last one closes the database */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckEngine, duck_engine_unref)

/* Hands @data to the engine, which frees it after the database is closed, last given first. For what registered kernels use.
 * @data: (transfer full). Threads: any. */
void duck_engine_keep (DuckEngine *engine, gpointer data, GDestroyNotify free_func);

guint duck_engine_n_threads (DuckEngine *engine);
guint64 duck_engine_memory_bytes (DuckEngine *engine); /* the limit */

/* Path of a Parquet file with one column and no rows, which lives in memory. read_parquet() with an explicit schema works on a single
 * file with one thread, on a list of files with all: this is the second file. Made at the first call.
 * Threads: any. Returns: (nullable): borrowed from the engine; NULL where it cannot be made. */
const char *duck_engine_empty_parquet (DuckEngine *engine);
/* "v1.5.5". Borrowed for ever. */
const char *duck_engine_library_version (void);

G_END_DECLS

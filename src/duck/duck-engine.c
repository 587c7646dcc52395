/* The engine: opening and closing DuckDB, and the thread that insists on interrupts.
 *
 * Interrupts. duckdb_interrupt() sets a flag that DuckDB clears when a statement begins, so one that comes between our last look
 * at the BaseCancel and that moment is lost. Every call that may take long is therefore a DuckRun: while it lasts, a hook on the
 * cancel puts the run on engine->interrupts, and the interrupter thread interrupts its connection every INTERRUPT_PERIOD_US
 * until the run has ended. The thread starts with the first cancellation and sleeps while the list is empty.
 *
 * Invariants:
 *  1. A run is on the list only between duck_run_begin() and duck_run_end(), and its connection is open that long.
 *  2. Lock order: the cancel's lock, then interrupt_lock.
 */
#include "duck-engine.h"

#include "base-text.h"
#include "duck-lend-private.h"

#include <sys/mman.h>
#include <unistd.h>

#define INTERRUPT_PERIOD_US 2000
#define CACHED_SHARE        16 /* of the memory limit */
#define MOST_CACHED_BYTES   ((guint64) 384 << 20)
/* What a thread needs that cannot spill: a buffer of JSON alone is that large. */
#define THREAD_BYTES ((guint64) 64 << 20)

static gpointer
interrupter_main (gpointer data)
{
  DuckEngine *engine = data;

  g_mutex_lock (&engine->interrupt_lock);
  while (!engine->closing) {
    if (engine->interrupts->len == 0) {
      g_cond_wait (&engine->interrupt_cond, &engine->interrupt_lock);
      continue;
    }
    for (guint i = 0; i < engine->interrupts->len; i++) {
      const DuckRun *run = g_ptr_array_index (engine->interrupts, i);
      duckdb_interrupt (run->connection);
    }
    g_cond_wait_until (&engine->interrupt_cond, &engine->interrupt_lock, g_get_monotonic_time () + INTERRUPT_PERIOD_US);
  }
  g_mutex_unlock (&engine->interrupt_lock);
  return NULL;
}

/* The BaseCancel's hook, in the thread that raises it. */
static void
run_interrupt (gpointer data)
{
  DuckRun *run = data;
  DuckEngine *engine = run->engine;

  g_mutex_lock (&engine->interrupt_lock);
  duckdb_interrupt (run->connection);
  if (!g_ptr_array_find (engine->interrupts, run, NULL))
    g_ptr_array_add (engine->interrupts, run);
  if (engine->interrupter == NULL) /* if there is no thread to be had, one interrupt must do */
    engine->interrupter = g_thread_try_new ("duck-interrupt", interrupter_main, engine, NULL);
  g_cond_signal (&engine->interrupt_cond);
  g_mutex_unlock (&engine->interrupt_lock);
}

gboolean
duck_run_begin (DuckRun *run, DuckEngine *engine, duckdb_connection connection, BaseCancel *cancel, GError **error)
{
  if (!base_cancel_check (cancel, error))
    return FALSE;
  run->engine = engine;
  run->connection = connection;
  run->cancel = cancel;
  run->hook_id = base_cancel_add_hook (cancel, run_interrupt, run);
  return TRUE;
}

void
duck_run_end (DuckRun *run)
{
  if (run->cancel == NULL)
    return;
  base_cancel_remove_hook (run->cancel, run->hook_id);
  g_mutex_lock (&run->engine->interrupt_lock);
  g_ptr_array_remove (run->engine->interrupts, run);
  g_mutex_unlock (&run->engine->interrupt_lock);
}

/* ---- opening ---- */

/* Two processes must not spill into one directory: DuckDB's temporary files have fixed names. */
static char *
own_temp_directory (const char *parent)
{
  g_autofree char *uuid = base_text_uuid ();
  g_autofree char *name = g_strdup_printf ("sluice-%d-%.8s", (int) getpid (), uuid);

  return g_build_filename (parent != NULL ? parent : g_get_tmp_dir (), name, NULL);
}

static gboolean
set_option (duckdb_config config, const char *name, const char *value, GError **error)
{
  if (duckdb_set_config (config, name, value) == DuckDBSuccess)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INVALID_CONF_VALUE, "The value `%s` of DuckDB's option %s was refused",
                         value, name);
}

static gint64
memory_limit (const DuckEngineOptions *options)
{
  return options->memory_limit_bytes > 0 ? options->memory_limit_bytes
                                         : (gint64) sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE) / 10 * 6;
}

static guint64
most_cached_bytes (const DuckEngineOptions *options)
{
  return options->most_cached_bytes > 0 ? options->most_cached_bytes
                                        : MIN ((guint64) memory_limit (options) / CACHED_SHARE, MOST_CACHED_BYTES);
}

/* DuckDB does not count cached rows, so it gets what they leave. */
static guint64
duckdb_limit (const DuckEngineOptions *options)
{
  guint64 limit = (guint64) memory_limit (options);

  return limit - MIN (most_cached_bytes (options), limit / 2);
}

static gboolean
set_options (DuckEngine *engine, duckdb_config config, const DuckEngineOptions *options, GError **error)
{
  static const char *const fixed[][2] = {
    { "autoload_known_extensions", "false" },
    { "autoinstall_known_extensions", "false" },
    { "preserve_insertion_order", "false" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++) {
    if (!set_option (config, fixed[i][0], fixed[i][1], error))
      return FALSE;
  }
  g_autofree char *memory_text = g_strdup_printf ("%" G_GUINT64_FORMAT "B", duckdb_limit (options));
  g_autofree char *threads_text = g_strdup_printf ("%u", engine->n_threads);
  return set_option (config, "memory_limit", memory_text, error) &&
         set_option (config, "threads", threads_text, error) &&
         set_option (config, "temp_directory", engine->temp_directory, error);
}

static gboolean
open_database (DuckEngine *engine, const DuckEngineOptions *options, GError **error)
{
  duckdb_config config = NULL;
  char *message = NULL;

  if (duckdb_create_config (&config) != DuckDBSuccess)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB gave no configuration");
  if (!set_options (engine, config, options, error)) {
    duckdb_destroy_config (&config);
    return FALSE;
  }
  duckdb_state state = duckdb_open_ext (":memory:", &engine->database, config, &message);
  duckdb_destroy_config (&config);
  if (state == DuckDBSuccess)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_INVALID_CONF_VALUE, "DuckDB did not open: %s", message != NULL ? message : "");
  duckdb_free (message);
  return FALSE;
}

/* Options that exist only once the database is open. Footers are cached because a table's files are read again by every batch;
 * DuckDB checks a file's modification time before it trusts one. The time zone is that of a session until it sets its own. */
static gboolean
set_defaults (DuckEngine *engine, GError **error)
{
  static const char *const settings[] = { "SET GLOBAL parquet_metadata_cache = true", "SET GLOBAL TimeZone = 'UTC'" };
  duckdb_state state = DuckDBSuccess;

  for (guint i = 0; i < G_N_ELEMENTS (settings) && state == DuckDBSuccess; i++) {
    duckdb_result result = { 0 };

    state = duckdb_query (engine->kernel_connection, settings[i], &result);
    if (state != DuckDBSuccess)
      duck_error_set (engine, duckdb_result_error (&result), NULL, error);
    duckdb_destroy_result (&result);
  }
  return state == DuckDBSuccess;
}

DuckEngine *
duck_engine_new (const DuckEngineOptions *options, GError **error)
{
  static const DuckEngineOptions defaults = { 0 };
  g_autoptr (DuckEngine) engine = g_new0 (DuckEngine, 1);

  if (options == NULL)
    options = &defaults;
  g_atomic_ref_count_init (&engine->refs);
  g_mutex_init (&engine->error_lock);
  g_mutex_init (&engine->interrupt_lock);
  g_cond_init (&engine->interrupt_cond);
  g_mutex_init (&engine->kernel_lock);
  g_mutex_init (&engine->lend_lock);
  g_mutex_init (&engine->keep_lock);
  g_mutex_init (&engine->empty_lock);
  engine->empty_fd = -1;
  engine->kept = g_ptr_array_new ();
  engine->interrupts = g_ptr_array_new ();
  engine->memory_bytes = (guint64) memory_limit (options);
  engine->n_threads = options->n_threads > 0
                          ? options->n_threads
                          : (guint) CLAMP (engine->memory_bytes / THREAD_BYTES, 1, g_get_num_processors ());
  engine->cache = duck_cache_new (options->least_cached_rows > 0 ? options->least_cached_rows : duckdb_vector_size (),
                                  most_cached_bytes (options));
  engine->temp_directory = own_temp_directory (options->temp_directory);
  if (!open_database (engine, options, error) || !duck_engine_init_kernels (engine, error) ||
      !duck_engine_init_lend (engine, error) || !set_defaults (engine, error))
    return NULL;
  return g_steal_pointer (&engine);
}

DuckEngine *
duck_engine_ref (DuckEngine *engine)
{
  g_atomic_ref_count_inc (&engine->refs);
  return engine;
}

typedef struct {
  gpointer data;
  GDestroyNotify free_func;
} Kept;

void
duck_engine_keep (DuckEngine *engine, gpointer data, GDestroyNotify free_func)
{
  Kept *kept = g_new (Kept, 1);

  kept->data = data;
  kept->free_func = free_func;
  g_mutex_lock (&engine->keep_lock);
  g_ptr_array_add (engine->kept, kept);
  g_mutex_unlock (&engine->keep_lock);
}

static void
free_kept (DuckEngine *engine)
{
  while (engine->kept->len > 0) {
    Kept *kept = g_ptr_array_steal_index (engine->kept, engine->kept->len - 1);
    kept->free_func (kept->data);
    g_free (kept);
  }
  g_ptr_array_unref (engine->kept);
}

/* Sessions hold references, so nothing runs any more when the last one goes. */
void
duck_engine_unref (DuckEngine *engine)
{
  if (engine == NULL || !g_atomic_ref_count_dec (&engine->refs))
    return;
  g_mutex_lock (&engine->interrupt_lock);
  engine->closing = TRUE;
  g_cond_signal (&engine->interrupt_cond);
  g_mutex_unlock (&engine->interrupt_lock);
  if (engine->interrupter != NULL)
    g_thread_join (engine->interrupter);
  duck_engine_disconnect_kernels (engine);
  duckdb_close (&engine->database);
  duck_engine_clear_kernels (engine);
  duck_engine_clear_lend (engine);
  duck_cache_free (engine->cache);
  free_kept (engine);
  if (engine->empty_fd >= 0)
    (void) close (engine->empty_fd);
  g_mutex_clear (&engine->empty_lock);
  g_free (engine->empty_path);
  if (engine->temp_directory != NULL)
    (void) rmdir (engine->temp_directory); /* there only if a query spilled; DuckDB removed its own files */
  for (guint i = 0; i < DUCK_ENGINE_KEPT_ERRORS; i++)
    g_clear_error (&engine->errors[i].error);
  g_ptr_array_unref (engine->interrupts);
  g_mutex_clear (&engine->error_lock);
  g_mutex_clear (&engine->interrupt_lock);
  g_cond_clear (&engine->interrupt_cond);
  g_mutex_clear (&engine->kernel_lock);
  g_mutex_clear (&engine->lend_lock);
  g_mutex_clear (&engine->keep_lock);
  g_free (engine->temp_directory);
  g_free (engine);
}

guint
duck_engine_n_threads (DuckEngine *engine)
{
  return engine->n_threads;
}

guint64
duck_engine_memory_bytes (DuckEngine *engine)
{
  return engine->memory_bytes;
}

/* Into memory that has a path only for this process, so that nothing is left behind however it ends. */
static gboolean
make_empty_parquet (DuckEngine *engine)
{
  g_autofree char *sql = NULL;
  duckdb_connection connection = NULL;
  gboolean made;

  if ((engine->empty_fd = memfd_create ("sluice-empty.parquet", MFD_CLOEXEC)) < 0)
    return FALSE;
  engine->empty_path = g_strdup_printf ("/proc/self/fd/%d", engine->empty_fd);
  sql = g_strdup_printf ("COPY (SELECT NULL::INTEGER AS none WHERE false) TO '%s' (FORMAT parquet, USE_TMP_FILE false)",
                         engine->empty_path);
  made = duckdb_connect (engine->database, &connection) == DuckDBSuccess &&
         duckdb_query (connection, sql, NULL) == DuckDBSuccess;
  duckdb_disconnect (&connection);
  return made;
}

const char *
duck_engine_empty_parquet (DuckEngine *engine)
{
  const char *path;

  g_mutex_lock (&engine->empty_lock);
  if (engine->empty_fd < 0 && !make_empty_parquet (engine))
    g_clear_pointer (&engine->empty_path, g_free); /* the scan then has one thread */
  path = engine->empty_path;
  g_mutex_unlock (&engine->empty_lock);
  return path;
}

const char *
duck_engine_library_version (void)
{
  return duckdb_library_version ();
}

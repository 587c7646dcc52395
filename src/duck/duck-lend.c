/* Lent objects: see duck-lend.h. The registry maps handles to reference-counted objects; a call into an object holds a
 * reference, so taking back never pulls it away from under a running thread.
 *
 * The four functions are kernels and one table function; kept rows are in duck-rows.c. Per vector of 2048 rows a kernel looks its handle up once.
 */
#include "duck-lend.h"

#include "duck-lend-private.h"
#include "duck-table-private.h"

struct DuckLent {
  gatomicrefcount refs;
  DuckLentKind kind;
  const DuckFilterFuncs *filter; /* DUCK_LENT_FILTER */
  const DuckPickerFuncs *picker; /* DUCK_LENT_PICKER */
  gpointer object; /* the filter's or picker's self, the DuckTable, the DuckCounter, the rows of duck-rows.c */
};

struct DuckCounter {
  gatomicrefcount refs;
  guint n_conditions;
  guint64 drop_mask; /* set before the query */
  guint64 n_rows;    /* the next three are changed by atomic additions */
  guint64 n_dropped;
  guint64 n_failed[DUCK_COUNTER_MAX_CONDITIONS];
  GMutex lock;
  char *dataset;        /* (nullable) */
  char **names;         /* (nullable) */
  gboolean has_failure; /* the next three are guarded by lock */
  guint failed_index;
  char *failed_row;
};

DuckLent *
duck_lent_ref (DuckLent *lent)
{
  g_atomic_ref_count_inc (&lent->refs);
  return lent;
}

void
duck_lent_unref (gpointer data)
{
  DuckLent *lent = data;

  if (lent == NULL || !g_atomic_ref_count_dec (&lent->refs))
    return;
  switch (lent->kind) {
  case DUCK_LENT_FILTER:
    if (lent->filter->free != NULL)
      lent->filter->free (lent->object);
    break;
  case DUCK_LENT_TABLE:
    duck_table_free (lent->object);
    break;
  case DUCK_LENT_COUNTER:
    duck_counter_unref (lent->object);
    break;
  case DUCK_LENT_ROWS:
    duck_kept_free (lent->object);
    break;
  case DUCK_LENT_PARTS:
    duck_parts_free (lent->object);
    break;
  case DUCK_LENT_PICKER:
    if (lent->picker->free != NULL)
      lent->picker->free (lent->object);
    break;
  }
  g_free (lent);
}

static DuckLent *
lent_new (DuckLentKind kind, gpointer object)
{
  DuckLent *lent = g_new0 (DuckLent, 1);

  g_atomic_ref_count_init (&lent->refs);
  lent->kind = kind;
  lent->object = object;
  return lent;
}

/* @lent: (transfer full). */
static guint64
lend (DuckEngine *engine, DuckLent *lent)
{
  g_mutex_lock (&engine->lend_lock);
  guint64 handle = ++engine->last_handle;
  g_hash_table_insert (engine->lent, g_memdup2 (&handle, sizeof handle), lent);
  g_mutex_unlock (&engine->lend_lock);
  return handle;
}

DuckLent *
duck_lent_find (DuckEngine *engine, guint64 handle, DuckLentKind kind, GError **error)
{
  g_mutex_lock (&engine->lend_lock);
  DuckLent *lent = g_hash_table_lookup (engine->lent, &handle);
  if (lent != NULL && lent->kind == kind)
    g_atomic_ref_count_inc (&lent->refs);
  else
    lent = NULL;
  g_mutex_unlock (&engine->lend_lock);
  if (lent == NULL)
    base_error_set (error, SLUICE_ERROR_LENT_OBJECT_GONE,
                    "The query uses object %" G_GUINT64_FORMAT ", which is not lent to it (any more)", handle);
  return lent;
}

gpointer
duck_lent_object (const DuckLent *lent)
{
  return lent->object;
}

void
duck_engine_take_back (DuckEngine *engine, guint64 handle)
{
  gpointer key = NULL, lent = NULL;

  g_mutex_lock (&engine->lend_lock);
  (void) g_hash_table_steal_extended (engine->lent, &handle, &key, &lent); /* an unknown handle is ignored */
  g_mutex_unlock (&engine->lend_lock);
  g_free (key);
  duck_lent_unref (lent); /* outside the lock: it may run the owner's code */
}

guint64
duck_engine_lend_filter (DuckEngine *engine, const DuckFilterFuncs *funcs, gpointer self)
{
  DuckLent *lent = lent_new (DUCK_LENT_FILTER, self);

  lent->filter = funcs;
  return lend (engine, lent);
}

guint64
duck_engine_lend_picker (DuckEngine *engine, const DuckPickerFuncs *funcs, gpointer self)
{
  DuckLent *lent = lent_new (DUCK_LENT_PICKER, self);

  lent->picker = funcs;
  return lend (engine, lent);
}

guint64
duck_engine_lend_table (DuckEngine *engine, DuckTable *table)
{
  return lend (engine, lent_new (DUCK_LENT_TABLE, table));
}

guint64
duck_engine_lend_counter (DuckEngine *engine, DuckCounter *counter)
{
  g_assert (counter != NULL);
  return lend (engine, lent_new (DUCK_LENT_COUNTER, duck_counter_ref (counter)));
}

guint64
duck_lend_rows (DuckEngine *engine, gpointer kept)
{
  return lend (engine, lent_new (DUCK_LENT_ROWS, kept));
}

guint64
duck_lend_parts (DuckEngine *engine, gpointer parts)
{
  return lend (engine, lent_new (DUCK_LENT_PARTS, parts));
}

/* ---- holds ---- */

typedef struct {
  DuckEngine *engine;
  guint64 handle;
} Hold;

static void
hold_free (gpointer data)
{
  Hold *hold = data;

  duck_engine_take_back (hold->engine, hold->handle);
  duck_engine_unref (hold->engine);
  g_free (hold);
}

GPtrArray *
duck_holds_new (void)
{
  return g_ptr_array_new_with_free_func (hold_free);
}

void
duck_holds_add (GPtrArray *holds, DuckEngine *engine, guint64 handle)
{
  Hold *hold = g_new0 (Hold, 1);

  hold->engine = duck_engine_ref (engine);
  hold->handle = handle;
  g_ptr_array_add (holds, hold);
}

void
duck_holds_move (GPtrArray *holds, GPtrArray *from)
{
  while (from->len > 0)
    g_ptr_array_add (holds, g_ptr_array_steal_index (from, from->len - 1));
}

/* ---- sluice_live, sluice_pick ---- */

/* (handle, file, row): the lent object, of the kind that the variant says, is asked for the rows of one handle at once. */
static gboolean
run_ask (const DuckKernelCall *call, GError **error)
{
  const guint64 *handles = call->args[0].data;
  const guint64 *files = call->args[1].data;
  const gint64 *rows = call->args[2].data;

  for (guint start = 0, end; start < call->n_rows; start = end) {
    for (end = start + 1; end < call->n_rows && handles[end] == handles[start]; end++)
      ;
    g_autoptr (DuckLent) lent = duck_lent_find (call->user_data, handles[start], (DuckLentKind) call->variant, error);
    if (lent == NULL)
      return FALSE;
    guint n = end - start;
    gboolean answered;
    if (lent->kind == DUCK_LENT_FILTER)
      answered = lent->filter->test (lent->object, files + start, rows + start, n,
                                     (guint8 *) call->result->data + start, error);
    else
      answered = lent->picker->pick (lent->object, files + start, rows + start, n,
                                     (guint64 *) call->result->data + start, error);
    if (!answered)
      return FALSE;
  }
  return TRUE;
}

/* ---- sluice_expect ---- */

static void
add (guint64 *to, guint64 n)
{
  if (n != 0)
    __atomic_fetch_add (to, n, __ATOMIC_RELAXED);
}

static guint64
load (const guint64 *from)
{
  return __atomic_load_n (from, __ATOMIC_RELAXED);
}

/* Marks in @failed the rows whose condition is FALSE or NULL with @bit. Returns: their number. */
static guint64
test_condition (const DuckVector *condition, guint n_rows, guint bit, guint64 *failed)
{
  const guint8 *values = condition->data;
  guint64 n_failed = 0;

  for (guint row = 0; row < n_rows; row++) {
    guint64 fails = values[row] == 0;
    failed[row] |= fails << bit;
    n_failed += fails;
  }
  for (guint row = 0; condition->validity != NULL && row < n_rows; row++) {
    if (duck_vector_is_null (condition, row)) {
      n_failed += ((failed[row] >> bit) & 1) == 0;
      failed[row] |= G_GUINT64_CONSTANT (1) << bit;
    }
  }
  return n_failed;
}

static gboolean
run_expect (const DuckKernelCall *call, GError **error)
{
  if (call->n_rows == 0)
    return TRUE;
  g_autoptr (DuckLent) lent =
      duck_lent_find (call->user_data, duck_vector_get (&call->args[0], guint64, 0), DUCK_LENT_COUNTER, error);
  if (lent == NULL)
    return FALSE;
  DuckCounter *counter = lent->object;
  guint64 *failed = call->result->data;
  if (call->n_args - 1 != counter->n_conditions)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "sluice_expect got %u conditions for a counter of %u",
                           call->n_args - 1, counter->n_conditions);

  memset (failed, 0, call->n_rows * sizeof *failed);
  for (guint i = 0; i < counter->n_conditions; i++)
    add (&counter->n_failed[i], test_condition (&call->args[i + 1], call->n_rows, i, failed));
  add (&counter->n_rows, call->n_rows);
  if (counter->drop_mask != 0) {
    guint64 n_dropped = 0;
    for (guint row = 0; row < call->n_rows; row++)
      n_dropped += (failed[row] & counter->drop_mask) != 0;
    add (&counter->n_dropped, n_dropped);
  }
  return TRUE;
}

static gboolean
run_expect_fail (const DuckKernelCall *call, GError **error)
{
  if (call->n_rows == 0)
    return TRUE;
  g_autoptr (DuckLent) lent =
      duck_lent_find (call->user_data, duck_vector_get (&call->args[0], guint64, 0), DUCK_LENT_COUNTER, error);
  if (lent == NULL)
    return FALSE;
  DuckCounter *counter = lent->object;
  guint64 failed = duck_vector_is_null (&call->args[1], 0) ? 0 : duck_vector_get (&call->args[1], guint64, 0);
  guint index = failed != 0 ? (guint) __builtin_ctzll (failed) : 0;
  g_autoptr (GString) row = g_string_new (NULL);
  duck_vector_append_json (&call->args[2], duck_kernel_call_arg_type (call, 2), 0, row);

  g_mutex_lock (&counter->lock);
  if (!counter->has_failure) {
    counter->has_failure = TRUE;
    counter->failed_index = index;
    counter->failed_row = g_strdup (row->str);
  }
  g_mutex_unlock (&counter->lock);

  g_autofree char *index_text = g_strdup_printf ("%u", index);
  if (counter->names != NULL) {
    base_error_set (error, SLUICE_ERROR_EXPECTATION_FAILED, "The expectation `%s` of `%s` does not hold for the row %s",
                    counter->names[index], counter->dataset, row->str);
    base_error_add_param (error, "expectation", counter->names[index]);
  } else {
    base_error_set (error, SLUICE_ERROR_EXPECTATION_FAILED, "A row violates an expectation that must hold");
  }
  base_error_add_param (error, "index", index_text);
  base_error_add_param (error, "row", row->str);
  return FALSE;
}

static const DuckKernel lend_kernels[] = {
  { .name = "sluice_live",
    .args = { "UBIGINT", "UBIGINT", "BIGINT" },
    .result = "BOOLEAN",
    .run = run_ask,
    .variant = DUCK_LENT_FILTER },
  { .name = "sluice_pick",
    .args = { "UBIGINT", "UBIGINT", "BIGINT" },
    .result = "UBIGINT",
    .run = run_ask,
    .variant = DUCK_LENT_PICKER },
  { .name = "sluice_expect",
    .args = { "UBIGINT" },
    .varargs = "BOOLEAN",
    .result = "UBIGINT",
    .flags = DUCK_KERNEL_NULLS | DUCK_KERNEL_VOLATILE,
    .run = run_expect },
  { .name = "sluice_expect_fail",
    .args = { "UBIGINT", "UBIGINT", "ANY" },
    .result = "BOOLEAN",
    .flags = DUCK_KERNEL_NULLS | DUCK_KERNEL_VOLATILE,
    .run = run_expect_fail },
};

/* ---- counters ---- */

DuckCounter *
duck_counter_new (guint n_conditions)
{
  DuckCounter *counter = g_new0 (DuckCounter, 1);

  g_assert (n_conditions <= DUCK_COUNTER_MAX_CONDITIONS);
  g_atomic_ref_count_init (&counter->refs);
  g_mutex_init (&counter->lock);
  counter->n_conditions = n_conditions;
  return counter;
}

DuckCounter *
duck_counter_ref (DuckCounter *counter)
{
  g_atomic_ref_count_inc (&counter->refs);
  return counter;
}

void
duck_counter_unref (DuckCounter *counter)
{
  if (counter == NULL || !g_atomic_ref_count_dec (&counter->refs))
    return;
  g_mutex_clear (&counter->lock);
  g_free (counter->failed_row);
  g_free (counter->dataset);
  g_strfreev (counter->names);
  g_free (counter);
}

void
duck_counter_set_names (DuckCounter *counter, const char *dataset, const char *const *names)
{
  g_assert (counter->names == NULL);
  counter->dataset = g_strdup (dataset);
  counter->names = g_new0 (char *, counter->n_conditions + 1);
  for (guint i = 0; i < counter->n_conditions; i++)
    counter->names[i] = g_strdup (names[i]);
}

guint64
duck_counter_n_rows (DuckCounter *counter)
{
  return load (&counter->n_rows);
}

guint64
duck_counter_n_failed (DuckCounter *counter, guint index)
{
  g_assert (index < counter->n_conditions);
  return load (&counter->n_failed[index]);
}

void
duck_counter_set_drop_mask (DuckCounter *counter, guint64 mask)
{
  counter->drop_mask = mask;
}

guint64
duck_counter_n_dropped (DuckCounter *counter)
{
  return load (&counter->n_dropped);
}

gboolean
duck_counter_failure (DuckCounter *counter, guint *index, char **row_json)
{
  g_mutex_lock (&counter->lock);
  gboolean found = counter->has_failure;
  if (found) {
    *index = counter->failed_index;
    *row_json = g_strdup (counter->failed_row);
  }
  g_mutex_unlock (&counter->lock);
  return found;
}

/* ---- table functions of a handle ---- */

gpointer
duck_lent_bind (duckdb_bind_info info, DuckLentKind kind)
{
  DuckEngine *engine = duckdb_bind_get_extra_info (info);
  duckdb_value value = duckdb_bind_get_parameter (info, 0);
  guint64 handle = duckdb_is_null_value (value) ? 0 : duckdb_get_uint64 (value);
  GError *error = NULL;

  duckdb_destroy_value (&value);
  DuckLent *lent = duck_lent_find (engine, handle, kind, &error);
  if (lent == NULL) {
    g_autofree char *text = duck_error_wrap (engine, error);
    duckdb_bind_set_error (info, text);
    return NULL;
  }
  duckdb_bind_set_bind_data (info, lent, duck_lent_unref);
  return lent->object;
}

static void
scan_free (void *data)
{
  DuckLentScan *scan = data;

  g_free (scan->columns);
  g_free (scan);
}

void
duck_lent_scan_begin (duckdb_init_info info, guint64 n_pieces)
{
  DuckLentScan *scan = g_new0 (DuckLentScan, 1);

  scan->n_columns = (guint) duckdb_init_get_column_count (info);
  scan->columns = g_new0 (guint, scan->n_columns);
  for (guint i = 0; i < scan->n_columns; i++)
    scan->columns[i] = (guint) duckdb_init_get_column_index (info, i);
  duckdb_init_set_max_threads (info, CLAMP (n_pieces, 1, 64));
  duckdb_init_set_init_data (info, scan, scan_free);
}

/* ---- sluice_files ---- */

static void
files_bind (duckdb_bind_info info)
{
  const DuckTable *table = duck_lent_bind (info, DUCK_LENT_TABLE);

  if (table == NULL)
    return;
  for (guint i = 0; i < duck_table_n_columns (table); i++) {
    DuckTableColumn column = duck_table_column (table, i);
    duckdb_logical_type logical = duck_type_to_logical (column.kind, column.width, column.scale);
    duckdb_bind_add_result_column (info, column.name, logical);
    duckdb_destroy_logical_type (&logical);
  }
  duckdb_bind_set_cardinality (info, duck_table_n_rows (table), true);
}

static void
files_init (duckdb_init_info info)
{
  const DuckTable *table = duck_lent_object (duckdb_init_get_bind_data (info));

  duck_lent_scan_begin (info, duck_table_n_rows (table) / duckdb_vector_size () + 1);
}

static void
files_scan (duckdb_function_info info, duckdb_data_chunk output)
{
  const DuckTable *table = duck_lent_object (duckdb_function_get_bind_data (info));
  DuckLentScan *scan = duckdb_function_get_init_data (info);
  guint64 block = duckdb_vector_size ();
  guint64 start = __atomic_fetch_add (&scan->next, 1, __ATOMIC_RELAXED) * block;
  guint64 n_rows = start < duck_table_n_rows (table) ? MIN (block, duck_table_n_rows (table) - start) : 0;

  for (guint i = 0; i < scan->n_columns && n_rows > 0; i++) {
    if (scan->columns[i] < duck_table_n_columns (table))
      duck_table_fill (table, scan->columns[i], start, (guint) n_rows, duckdb_data_chunk_get_vector (output, i));
  }
  duckdb_data_chunk_set_size (output, n_rows);
}

gboolean
duck_lend_table_function (DuckEngine *engine, const char *name, duckdb_table_function_bind_t bind,
                          duckdb_table_function_init_t init, duckdb_table_function_init_t local,
                          duckdb_table_function_t scan, GError **error)
{
  duckdb_table_function function = duckdb_create_table_function ();
  duckdb_logical_type handle = duckdb_create_logical_type (DUCKDB_TYPE_UBIGINT);

  duckdb_table_function_set_name (function, name);
  duckdb_table_function_add_parameter (function, handle);
  duckdb_destroy_logical_type (&handle);
  duckdb_table_function_set_extra_info (function, engine, NULL);
  duckdb_table_function_set_bind (function, bind);
  duckdb_table_function_set_init (function, init);
  if (local != NULL)
    duckdb_table_function_set_local_init (function, local);
  duckdb_table_function_set_function (function, scan);
  duckdb_table_function_supports_projection_pushdown (function, true);
  duckdb_state state = duckdb_register_table_function (engine->kernel_connection, function);
  duckdb_destroy_table_function (&function);
  if (state == DuckDBSuccess)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB refused the table function %s", name);
}

gboolean
duck_engine_init_lend (DuckEngine *engine, GError **error)
{
  engine->lent = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, duck_lent_unref);
  return duck_engine_add_kernels (engine, lend_kernels, G_N_ELEMENTS (lend_kernels), engine, error) &&
         duck_lend_table_function (engine, "sluice_files", files_bind, files_init, NULL, files_scan, error) &&
         duck_rows_register (engine, error) && duck_parts_register (engine, error);
}

void
duck_engine_clear_lend (DuckEngine *engine)
{
  g_clear_pointer (&engine->lent, g_hash_table_unref);
}

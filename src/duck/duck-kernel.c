/* Kernels: from DuckDB's scalar functions to DuckKernelRun and back.
 *
 * DuckDB flattens the arguments of a C function, nested ones down to the leaves, before it calls it, so a DuckVector can point
 * straight at them (the tests try lists, slices, zips and structs that are dictionaries inside).
 *
 * Invariants:
 *  1. A KernelEntry that was registered lives until the database is closed: DuckDB holds plain pointers to it.
 *  2. Bind data is shared by the copies DuckDB makes of an expression and freed with the last.
 */
#include "duck-kernel.h"

#include "duck-private.h"

/* What a registered function points to. */
typedef struct {
  DuckEngine *engine; /* not owned: outlives every function */
  const DuckKernel *kernel;
  gpointer user_data;
  DuckType *result; /* the registered result type */
} KernelEntry;

typedef struct {
  gatomicrefcount refs;
  gpointer data;
  GDestroyNotify free;
} BindData;

/* The private side of a call. */
typedef struct {
  duckdb_data_chunk input;
  DuckType **types; /* per argument, made on demand */
} CallState;

struct DuckKernelBind {
  duckdb_bind_info info;
  const KernelEntry *entry;
};

static void
entry_free (gpointer data)
{
  KernelEntry *entry = data;

  duck_type_unref (entry->result);
  g_free (entry);
}

static void
bind_data_unref (void *data)
{
  BindData *bind = data;

  if (!g_atomic_ref_count_dec (&bind->refs))
    return;
  if (bind->free != NULL && bind->data != NULL)
    bind->free (bind->data);
  g_free (bind);
}

static void *
bind_data_ref (void *data)
{
  BindData *bind = data;

  g_atomic_ref_count_inc (&bind->refs);
  return bind;
}

/* ---- a call ---- */

const DuckType *
duck_kernel_call_arg_type (const DuckKernelCall *call, guint arg)
{
  CallState *state = call->handle;

  g_assert (arg < call->n_args);
  if (state->types[arg] == NULL) {
    duckdb_logical_type logical = duckdb_vector_get_column_type (duckdb_data_chunk_get_vector (state->input, arg));
    state->types[arg] = duck_type_from_logical (logical);
    duckdb_destroy_logical_type (&logical);
  }
  return state->types[arg];
}

static void
init_vector (DuckVector *vector, duckdb_vector handle)
{
  duckdb_logical_type logical = duckdb_vector_get_column_type (handle);

  duck_vector_init_logical (vector, logical);
  duckdb_destroy_logical_type (&logical);
  duck_vector_point (vector, handle);
}

/* The rows in which no argument is NULL, in @mask of @n_words words. FALSE when that is all rows. */
static gboolean
combine_validity (const DuckKernelCall *call, guint64 *mask, guint n_words)
{
  gboolean any = FALSE;

  for (guint i = 0; i < call->n_args; i++) {
    const DuckVector *arg = &call->args[i];
    if (arg->kind == DUCK_KIND_NULL) {
      memset (mask, 0, n_words * sizeof *mask);
      return TRUE;
    }
    if (arg->validity == NULL)
      continue;
    if (!any)
      memcpy (mask, arg->validity, n_words * sizeof *mask);
    for (guint w = 0; w < n_words && any; w++)
      mask[w] &= arg->validity[w];
    any = TRUE;
  }
  return any;
}

static void
null_skipped_rows (const DuckKernelCall *call)
{
  for (guint row = 0; call->valid != NULL && row < call->n_rows; row++) {
    if (duck_kernel_skip (call, row))
      duck_vector_set_null (call->result, row);
  }
}

static void
run_kernel (duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
  const KernelEntry *entry = duckdb_scalar_function_get_extra_info (info);
  const BindData *bind = duckdb_scalar_function_get_bind_data (info);
  guint n_args = (guint) duckdb_data_chunk_get_column_count (input);
  guint n_rows = (guint) duckdb_data_chunk_get_size (input);
  g_autofree DuckVector *args = g_new0 (DuckVector, n_args + 1);
  g_autofree DuckType **types = g_new0 (DuckType *, n_args + 1);
  g_autofree guint64 *mask = NULL;
  CallState state = { input, types };
  DuckKernelCall call = { .n_rows = n_rows,
                          .n_args = n_args,
                          .args = args,
                          .result = &args[n_args],
                          .variant = entry->kernel->variant,
                          .user_data = entry->user_data,
                          .bind_data = bind != NULL ? bind->data : NULL,
                          .handle = &state };
  GError *error = NULL;

  for (guint i = 0; i < n_args; i++)
    init_vector (&args[i], duckdb_data_chunk_get_vector (input, i));
  duck_vector_init (call.result, entry->result);
  duck_vector_point (call.result, output);
  if ((entry->kernel->flags & DUCK_KERNEL_NULLS) == 0) {
    guint n_words = (n_rows + 63) / 64;
    mask = g_new (guint64, MAX (n_words, 1));
    if (combine_validity (&call, mask, n_words))
      call.valid = mask;
  }
  if (entry->kernel->run (&call, &error)) {
    null_skipped_rows (&call);
  } else {
    g_autofree char *text = duck_error_wrap (entry->engine, error);
    duckdb_scalar_function_set_error (info, text);
  }
  for (guint i = 0; i <= n_args; i++) {
    duck_vector_clear (&args[i]);
    duck_type_unref (types[i]);
  }
}

/* ---- binding ---- */

const DuckType *
duck_kernel_bind_result_type (const DuckKernelBind *bind)
{
  return bind->entry->result;
}

guint
duck_kernel_bind_n_args (const DuckKernelBind *bind)
{
  return (guint) duckdb_scalar_function_bind_get_argument_count (bind->info);
}

/* The C interface copies an argument to show it, and a subquery cannot be copied: only arguments that must be constant are asked for. */
gboolean
duck_kernel_bind_constant (const DuckKernelBind *bind, guint arg, char **text)
{
  duckdb_expression expression = duckdb_scalar_function_bind_get_argument (bind->info, arg);
  duckdb_client_context context = NULL;
  duckdb_value value = NULL;
  gboolean good = FALSE;

  if (duckdb_expression_is_foldable (expression)) {
    duckdb_scalar_function_get_client_context (bind->info, &context);
    duckdb_error_data data = duckdb_expression_fold (context, expression, &value);
    good = data == NULL || !duckdb_error_data_has_error (data);
    if (data != NULL)
      duckdb_destroy_error_data (&data);
    duckdb_destroy_client_context (&context);
  }
  if (good) {
    char *own = duckdb_is_null_value (value) ? NULL : duckdb_get_varchar (value);
    *text = g_strdup (own);
    duckdb_free (own);
  }
  if (value != NULL)
    duckdb_destroy_value (&value);
  duckdb_destroy_expression (&expression);
  return good;
}

static void
bind_kernel (duckdb_bind_info info)
{
  const KernelEntry *entry = duckdb_scalar_function_bind_get_extra_info (info);
  DuckKernelBind bind = { info, entry };
  gpointer data = NULL;
  GError *error = NULL;

  if (entry->kernel->bind (&bind, entry->user_data, &data, &error)) {
    BindData *own = g_new0 (BindData, 1);
    g_atomic_ref_count_init (&own->refs);
    own->data = data;
    own->free = entry->kernel->free_bind_data;
    duckdb_scalar_function_set_bind_data (info, own, bind_data_unref);
    duckdb_scalar_function_set_bind_data_copy (info, bind_data_ref);
  } else {
    g_autofree char *text = duck_error_wrap (entry->engine, error);
    duckdb_scalar_function_bind_set_error (info, text);
  }
}

/* ---- registration; all under kernel_lock ---- */

static gboolean
add_types (DuckEngine *engine, duckdb_scalar_function function, const DuckKernel *kernel, GError **error)
{
  for (guint i = 0; kernel->args[i] != NULL; i++) {
    duckdb_logical_type logical = duck_parse_logical (engine, engine->kernel_connection, kernel->args[i], error);
    if (logical == NULL)
      return FALSE;
    duckdb_scalar_function_add_parameter (function, logical);
    duckdb_destroy_logical_type (&logical);
  }
  if (kernel->varargs != NULL) {
    duckdb_logical_type logical = duck_parse_logical (engine, engine->kernel_connection, kernel->varargs, error);
    if (logical == NULL)
      return FALSE;
    duckdb_scalar_function_set_varargs (function, logical);
    duckdb_destroy_logical_type (&logical);
  }
  return TRUE;
}

/* One overload as DuckDB's function; the caller destroys it. */
static duckdb_scalar_function
make_function (DuckEngine *engine, const char *sql_name, const DuckKernel *kernel, const char *result_text,
               gpointer user_data, GError **error)
{
  duckdb_logical_type result = duck_parse_logical (engine, engine->kernel_connection, result_text, error);

  if (result == NULL)
    return NULL;
  duckdb_scalar_function function = duckdb_create_scalar_function ();
  KernelEntry *entry = g_new0 (KernelEntry, 1);
  entry->engine = engine;
  entry->kernel = kernel;
  entry->user_data = user_data;
  entry->result = duck_type_from_logical (result);
  g_ptr_array_add (engine->kernel_entries, entry);
  duckdb_scalar_function_set_name (function, sql_name);
  duckdb_scalar_function_set_return_type (function, result);
  duckdb_destroy_logical_type (&result);
  duckdb_scalar_function_set_extra_info (function, entry, NULL);
  duckdb_scalar_function_set_function (function, run_kernel);
  if (kernel->bind != NULL)
    duckdb_scalar_function_set_bind (function, bind_kernel);
  if ((kernel->flags & DUCK_KERNEL_NULLS) != 0)
    duckdb_scalar_function_set_special_handling (function);
  if ((kernel->flags & DUCK_KERNEL_VOLATILE) != 0)
    duckdb_scalar_function_set_volatile (function);
  if (!add_types (engine, function, kernel, error)) {
    duckdb_destroy_scalar_function (&function);
    return NULL;
  }
  return function;
}

/* Registers @n overloads of one name; @result_text: (nullable): instead of the rows' own. */
static gboolean
register_overloads (DuckEngine *engine, const char *sql_name, const DuckKernel *kernels, guint n,
                    const char *result_text, gpointer user_data, GError **error)
{
  duckdb_scalar_function_set set = duckdb_create_scalar_function_set (sql_name);
  gboolean good = TRUE;

  for (guint i = 0; i < n && good; i++) {
    duckdb_scalar_function function = make_function (
        engine, sql_name, &kernels[i], result_text != NULL ? result_text : kernels[i].result, user_data, error);
    good = function != NULL;
    if (good && duckdb_add_scalar_function_to_set (set, function) != DuckDBSuccess)
      good = base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Two overloads of kernel %s are alike", sql_name);
    if (function != NULL)
      duckdb_destroy_scalar_function (&function);
  }
  if (good && duckdb_register_scalar_function_set (engine->kernel_connection, set) != DuckDBSuccess)
    good = base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB refused kernel %s", sql_name);
  duckdb_destroy_scalar_function_set (&set);
  return good;
}

/* Kernels whose result type is fixed on demand. */
typedef struct {
  const DuckKernel *kernels;
  guint n;
  gpointer user_data;
} Pattern;

static gboolean
add_group (DuckEngine *engine, const DuckKernel *kernels, guint n, gpointer user_data, GError **error)
{
  if (kernels[0].result != NULL)
    return register_overloads (engine, kernels[0].name, kernels, n, NULL, user_data, error);
  if (g_hash_table_contains (engine->kernels, kernels[0].name))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Kernel %s exists already", kernels[0].name);
  Pattern *pattern = g_new0 (Pattern, 1);
  pattern->kernels = kernels;
  pattern->n = n;
  pattern->user_data = user_data;
  g_hash_table_insert (engine->kernels, g_strdup (kernels[0].name), pattern);
  return TRUE;
}

gboolean
duck_engine_add_kernels (DuckEngine *engine, const DuckKernel *kernels, guint n_kernels, gpointer user_data,
                         GError **error)
{
  gboolean good = TRUE;

  g_mutex_lock (&engine->kernel_lock);
  for (guint i = 0, n; i < n_kernels && good; i += n) {
    for (n = 1; i + n < n_kernels && g_str_equal (kernels[i + n].name, kernels[i].name); n++)
      ;
    good = add_group (engine, &kernels[i], n, user_data, error);
  }
  g_mutex_unlock (&engine->kernel_lock);
  return good;
}

/* `decimal_23_13` of `DECIMAL(23,13)`, with a number behind when another type's text comes to the same. */
static char *
instance_name (DuckEngine *engine, const char *name, const char *result)
{
  g_autoptr (GString) text = g_string_new (name);
  guint n_instances = g_hash_table_size (engine->instances);

  g_string_append (text, "__");
  for (const char *at = result; *at != '\0'; at++) {
    if (g_ascii_isalnum (*at))
      g_string_append_c (text, g_ascii_tolower (*at));
    else if (*at == '[') /* `double` and `double[]` are two functions */
      g_string_append (text, "_list");
    else if (text->str[text->len - 1] != '_')
      g_string_append_c (text, '_');
  }
  if (strpbrk (result, "\"[") != NULL || text->len > 60) {
    g_string_truncate (text, MIN (text->len, 60));
    g_string_append_printf (text, "_%u", n_instances);
  }
  while (text->str[text->len - 1] == '_')
    g_string_truncate (text, text->len - 1);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static const char *
make_instance (DuckEngine *engine, const char *name, const char *result, const char *key, GError **error)
{
  const Pattern *pattern = g_hash_table_lookup (engine->kernels, name);

  if (pattern == NULL) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "There is no kernel %s that takes a result type", name);
    return NULL;
  }
  g_autofree char *sql_name = instance_name (engine, name, result);
  if (!register_overloads (engine, sql_name, pattern->kernels, pattern->n, result, pattern->user_data, error))
    return NULL;
  const char *kept = sql_name;
  g_hash_table_insert (engine->instances, g_strdup (key), g_steal_pointer (&sql_name));
  return kept;
}

const char *
duck_engine_kernel_instance (DuckEngine *engine, const char *name, const char *result, GError **error)
{
  g_autofree char *key = g_strdup_printf ("%s %s", name, result);

  g_mutex_lock (&engine->kernel_lock);
  const char *sql_name = g_hash_table_lookup (engine->instances, key);
  if (sql_name == NULL)
    sql_name = make_instance (engine, name, result, key, error);
  g_mutex_unlock (&engine->kernel_lock);
  return sql_name;
}

gboolean
duck_engine_init_kernels (DuckEngine *engine, GError **error)
{
  engine->kernels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  engine->instances = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  engine->kernel_entries = g_ptr_array_new_with_free_func (entry_free);
  if (duckdb_connect (engine->database, &engine->kernel_connection) != DuckDBSuccess)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB gave no connection");
  return TRUE;
}

void
duck_engine_disconnect_kernels (DuckEngine *engine)
{
  if (engine->kernel_connection != NULL)
    duckdb_disconnect (&engine->kernel_connection);
}

void
duck_engine_clear_kernels (DuckEngine *engine)
{
  g_clear_pointer (&engine->kernels, g_hash_table_unref);
  g_clear_pointer (&engine->instances, g_hash_table_unref);
  g_clear_pointer (&engine->kernel_entries, g_ptr_array_unref);
}

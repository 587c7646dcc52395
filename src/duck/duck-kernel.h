/* Kernels: scalar functions in C that other rooms register by a table of rows.
 *
 * A kernel gets its arguments as DuckVectors and writes a DuckVector. It runs in several threads at once, on a session's query,
 * and must not call back into the engine. (bind() may open a session of its own.) If it fails, the query ends with its error (condition, message and parameters).
 */
#pragma once

#include "duck-engine.h"
#include "duck-vector.h"

#include <glib.h>

G_BEGIN_DECLS

#define DUCK_KERNEL_MAX_ARGS 12

typedef enum {
  DUCK_KERNEL_PLAIN = 0,
  /* The kernel sees NULL arguments and decides. Without it a row with a NULL argument is NULL, and duck_kernel_next() passes over it. */
  DUCK_KERNEL_NULLS = 1 << 0,
  /* Called for every row, never folded, never shared (ai_*, counters). */
  DUCK_KERNEL_VOLATILE = 1 << 1,
} DuckKernelFlags;

typedef struct DuckKernelBind DuckKernelBind;

typedef struct {
  guint n_rows;
  guint n_args;
  DuckVector *args; /* (array length=n_args) */
  DuckVector *result;
  const guint64
      *valid;         /* rows whose arguments are all not NULL, as a validity mask; NULL = all, or DUCK_KERNEL_NULLS */
  guint variant;      /* of the kernel */
  gpointer user_data; /* of duck_engine_add_kernels() */
  gpointer bind_data; /* what bind() made; shared by threads, read only */
  void *handle;       /* of this room only */
} DuckKernelCall;

static inline gboolean
duck_kernel_skip (const DuckKernelCall *call, guint row)
{
  return call->valid != NULL && ((call->valid[row / 64] >> (row % 64)) & 1) == 0;
}

/* The loop of a kernel: `for (guint row = 0; duck_kernel_next (call, &row); row++)` runs over the rows to compute. */
static inline gboolean
duck_kernel_next (const DuckKernelCall *call, guint *row)
{
  while (*row < call->n_rows && duck_kernel_skip (call, *row))
    (*row)++;
  return *row < call->n_rows;
}

/* The type of an argument (struct field names). Borrowed until the call ends. */
const DuckType *duck_kernel_call_arg_type (const DuckKernelCall *call, guint arg);

/* Returns: FALSE + @error to end the query. */
typedef gboolean (*DuckKernelRun) (const DuckKernelCall *call, GError **error);
/* Looks at constants once per query. FALSE + @error ends the query before it runs.
 * @bind_data: (out) (nullable). */
typedef gboolean (*DuckKernelBindFunc) (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data,
                                        GError **error);

guint duck_kernel_bind_n_args (const DuckKernelBind *bind);
/* The value of a constant argument as text (a BLOB as DuckDB prints it). FALSE when it is not constant.
 * @text: (out) (transfer full) (nullable): NULL for a NULL constant. */
gboolean duck_kernel_bind_constant (const DuckKernelBind *bind, guint arg, char **text);
/* The result's type (of the instance: see duck_engine_kernel_instance()). Borrowed until bind() ends. */
const DuckType *duck_kernel_bind_result_type (const DuckKernelBind *bind);

/* One overload. Rows with the same name are overloads of one function and must be adjacent. */
typedef struct {
  const char *name;                           /* SQL name, lower case */
  const char *args[DUCK_KERNEL_MAX_ARGS + 1]; /* type texts (duck_type_text forms) or "ANY"; NULL-terminated */
  const char *varargs;                        /* (nullable): type text or "ANY" of any number of further arguments */
  const char *result;                         /* type text; NULL: only instances by duck_engine_kernel_instance() */
  DuckKernelFlags flags;
  DuckKernelRun run;
  guint variant;                 /* tells run() which of the kernels it serves is called */
  DuckKernelBindFunc bind;       /* (nullable) */
  GDestroyNotify free_bind_data; /* (nullable) */
} DuckKernel;

/**
 * duck_engine_add_kernels:
 * @kernels: rows; must live as long as the engine
 * @user_data: given to run() and bind(); must live as long as the engine
 *
 * Registers functions for every session. DuckDB casts arguments to the given types implicitly; lowering casts explicitly.
 *
 * Errors: SLUICE_ERROR_INTERNAL_ERROR for a bad type text or a name already registered.
 * Threads: any, before queries that use them.
 */
gboolean duck_engine_add_kernels (DuckEngine *engine, const DuckKernel *kernels, guint n_kernels, gpointer user_data,
                                  GError **error);

/**
 * duck_engine_kernel_instance:
 * @name: of kernels with result NULL
 * @result: DuckDB type text, e.g. "DECIMAL(23,13)"
 *
 * DuckDB fixes a C function's result type when it is registered. So a kernel whose result type depends on the expression
 * (decimal arithmetic, casts to DECIMAL or nested types) is registered once per result type, on first demand.
 *
 * Errors: SLUICE_ERROR_INTERNAL_ERROR for an unknown kernel or type text.
 * Threads: any.
 * Returns: (transfer none): the SQL name to print, e.g. `sluice_dec_mul__decimal_23_13`; lives as long as the engine. NULL on error.
 */
const char *duck_engine_kernel_instance (DuckEngine *engine, const char *name, const char *result, GError **error);

G_END_DECLS

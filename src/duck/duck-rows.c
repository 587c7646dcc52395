/* Kept rows: chunks that the threads of one query fill (sluice_keep) and those of later queries share (sluice_kept).
 *
 * Invariants:
 *  1. A chunk is filled by one thread at a time: it is taken off `open` for that long.
 *  2. When the filling query has ended nothing changes any more, so readers need no lock.
 *  3. sluice_keep stands above a LIMIT: a filter that looks at the columns of one side of a join would otherwise be moved below the join,
 *     and keep rows that the join drops.
 *  4. The alias of that filter's rows is a name that no column has: it would be taken for the column.
 */
#include "duck-rows.h"

#include "duck-lend-private.h"
#include "duck-private.h"

typedef struct {
  GMutex lock;
  guint64 max_bytes;
  guint n_columns;
  char **names;               /* (nullable) until the first row */
  duckdb_logical_type *types; /* (nullable) until the first row */
  GPtrArray *chunks;          /* (element-type duckdb_data_chunk) */
  GPtrArray *open;            /* those with room that no thread fills */
  guint64 n_rows, n_bytes;
} Kept;

struct DuckRows {
  DuckSession *session;
  guint64 handle;
  char *relation;
  char *table; /* (nullable): to drop */
  gboolean is_table;
  gint64 n_rows;
  guint64 n_bytes;
};

static Kept *
kept_new (guint64 max_bytes)
{
  Kept *kept = g_new0 (Kept, 1);

  g_mutex_init (&kept->lock);
  kept->max_bytes = max_bytes;
  kept->chunks = g_ptr_array_new ();
  kept->open = g_ptr_array_new ();
  return kept;
}

void
duck_kept_free (gpointer data)
{
  Kept *kept = data;

  for (guint i = 0; i < kept->chunks->len; i++) {
    duckdb_data_chunk chunk = kept->chunks->pdata[i];
    duckdb_destroy_data_chunk (&chunk);
  }
  for (guint i = 0; i < kept->n_columns; i++)
    duckdb_destroy_logical_type (&kept->types[i]);
  g_free (kept->types);
  g_strfreev (kept->names);
  g_ptr_array_unref (kept->chunks);
  g_ptr_array_unref (kept->open);
  g_mutex_clear (&kept->lock);
  g_free (kept);
}

/* ---- sluice_keep ---- */

/* What the first @n rows of @vector take: slots, and texts that do not fit into theirs. */
static guint64
vector_bytes (const DuckVector *vector, guint64 n)
{
  guint64 bytes = n * (vector->bytes + 1);

  if (vector->kind == DUCK_KIND_VARCHAR || vector->kind == DUCK_KIND_BLOB) {
    const DuckStringSlot *slots = vector->data;
    for (guint64 i = 0; i < n; i++)
      bytes += !duck_vector_is_null (vector, i) && slots[i].length > 12 ? slots[i].length : 0;
  }
  if (vector->kind == DUCK_KIND_LIST || vector->kind == DUCK_KIND_MAP)
    n = duckdb_list_vector_get_size (vector->handle);
  for (guint i = 0; i < vector->n_children; i++)
    bytes += vector_bytes (&vector->children[i], n);
  return bytes;
}

static void
learn_columns (Kept *kept, duckdb_vector row)
{
  duckdb_logical_type type = duckdb_vector_get_column_type (row);

  kept->n_columns = (guint) duckdb_struct_type_child_count (type);
  kept->names = g_new0 (char *, kept->n_columns + 1);
  kept->types = g_new0 (duckdb_logical_type, kept->n_columns);
  for (guint i = 0; i < kept->n_columns; i++) {
    char *name = duckdb_struct_type_child_name (type, i);
    kept->names[i] = g_strdup (name);
    duckdb_free (name);
    kept->types[i] = duckdb_struct_type_child_type (type, i);
  }
  duckdb_destroy_logical_type (&type);
}

/* A chunk with room, for this thread alone. NULL when there is no room for more. */
static duckdb_data_chunk
take_chunk (Kept *kept, guint64 n_bytes, duckdb_vector row)
{
  duckdb_data_chunk chunk = NULL;

  g_mutex_lock (&kept->lock);
  if (kept->names == NULL)
    learn_columns (kept, row);
  if (kept->n_bytes + n_bytes <= kept->max_bytes) {
    kept->n_bytes += n_bytes;
    if (kept->open->len > 0) {
      chunk = g_ptr_array_steal_index_fast (kept->open, kept->open->len - 1);
    } else {
      chunk = duckdb_create_data_chunk (kept->types, kept->n_columns);
      g_ptr_array_add (kept->chunks, chunk);
    }
  }
  g_mutex_unlock (&kept->lock);
  return chunk;
}

static void
give_back (Kept *kept, duckdb_data_chunk chunk, guint64 n_rows)
{
  g_mutex_lock (&kept->lock);
  kept->n_rows += n_rows;
  if (duckdb_data_chunk_get_size (chunk) < duckdb_vector_size ())
    g_ptr_array_add (kept->open, chunk);
  g_mutex_unlock (&kept->lock);
}

/* Rows @from … @to - 1 of @columns become the next ones of @chunk. */
static void
append (duckdb_data_chunk chunk, const DuckVector *columns, guint n_columns, duckdb_selection_vector all, guint from,
        guint to)
{
  idx_t size = duckdb_data_chunk_get_size (chunk);

  for (guint i = 0; i < n_columns; i++)
    duckdb_vector_copy_sel (columns[i].handle, duckdb_data_chunk_get_vector (chunk, i), all, to, from, size);
  duckdb_data_chunk_set_size (chunk, size + to - from);
}

static gboolean
run_keep (const DuckKernelCall *call, GError **error)
{
  guint8 *taken = call->result->data;
  const DuckVector *row = &call->args[1];

  memset (taken, 0, call->n_rows);
  if (call->n_rows == 0)
    return TRUE;
  g_autoptr (DuckLent) lent =
      duck_lent_find (call->user_data, duck_vector_get (&call->args[0], guint64, 0), DUCK_LENT_ROWS, error);
  if (lent == NULL)
    return FALSE;
  Kept *kept = duck_lent_object (lent);
  duckdb_data_chunk chunk = take_chunk (kept, vector_bytes (row, call->n_rows), row->handle);
  if (chunk == NULL)
    return TRUE;
  duckdb_selection_vector all = duckdb_create_selection_vector (call->n_rows);
  sel_t *numbers = duckdb_selection_vector_get_data_ptr (all);
  for (guint i = 0; i < call->n_rows; i++)
    numbers[i] = i;
  for (guint from = 0, to; from < call->n_rows; from = to) {
    guint room = (guint) (duckdb_vector_size () - duckdb_data_chunk_get_size (chunk));
    to = from + MIN (call->n_rows - from, room);
    append (chunk, row->children, row->n_children, all, from, to);
    give_back (kept, chunk, to - from);
    if (to < call->n_rows)
      chunk = take_chunk (kept, 0, row->handle);
  }
  duckdb_destroy_selection_vector (all);
  memset (taken, 1, call->n_rows);
  return TRUE;
}

static const DuckKernel keep_kernels[] = {
  { .name = "sluice_keep",
    .args = { "UBIGINT", "ANY" },
    .result = "BOOLEAN",
    .flags = DUCK_KERNEL_NULLS | DUCK_KERNEL_VOLATILE,
    .run = run_keep },
};

/* ---- sluice_kept ---- */

static void
kept_bind (duckdb_bind_info info)
{
  const Kept *kept = duck_lent_bind (info, DUCK_LENT_ROWS);

  if (kept == NULL)
    return;
  for (guint i = 0; i < kept->n_columns; i++)
    duckdb_bind_add_result_column (info, kept->names[i], kept->types[i]);
  duckdb_bind_set_cardinality (info, kept->n_rows, true);
}

static void
kept_init (duckdb_init_info info)
{
  const Kept *kept = duck_lent_object (duckdb_init_get_bind_data (info));

  duck_lent_scan_begin (info, kept->chunks->len);
}

static void
kept_scan (duckdb_function_info info, duckdb_data_chunk output)
{
  const Kept *kept = duck_lent_object (duckdb_function_get_bind_data (info));
  DuckLentScan *scan = duckdb_function_get_init_data (info);
  guint64 next = __atomic_fetch_add (&scan->next, 1, __ATOMIC_RELAXED);
  duckdb_data_chunk chunk = next < kept->chunks->len ? kept->chunks->pdata[next] : NULL;

  for (guint i = 0; i < scan->n_columns && chunk != NULL; i++) {
    if (scan->columns[i] < kept->n_columns)
      duckdb_vector_reference_vector (duckdb_data_chunk_get_vector (output, i),
                                      duckdb_data_chunk_get_vector (chunk, scan->columns[i]));
  }
  duckdb_data_chunk_set_size (output, chunk != NULL ? duckdb_data_chunk_get_size (chunk) : 0);
}

gboolean
duck_rows_register (DuckEngine *engine, GError **error)
{
  return duck_engine_add_kernels (engine, keep_kernels, G_N_ELEMENTS (keep_kernels), engine, error) &&
         duck_lend_table_function (engine, "sluice_kept", kept_bind, kept_init, NULL, kept_scan, error);
}

/* ---- for other rooms ---- */

static gboolean
make_table (DuckRows *rows, const char *select, const char *table, BaseCancel *cancel, GError **error)
{
  g_autofree char *sql = g_strdup_printf ("CREATE OR REPLACE TEMP TABLE %s AS %s", table, select);

  rows->table = g_strdup (table);
  return duck_session_query_int64 (rows->session, sql, cancel, &rows->n_rows, NULL, error);
}

/* From now on the kept rows are what counts. */
static void
use_kept (DuckRows *rows, const Kept *kept)
{
  rows->n_rows = (gint64) kept->n_rows;
  rows->n_bytes = kept->n_bytes;
  rows->relation = g_strdup_printf ("sluice_kept(%" G_GUINT64_FORMAT "::UBIGINT)", rows->handle);
}

/* What is not taken goes into the table, and then the rest too. */
static gboolean
keep_once (DuckRows *rows, const Kept *kept, const char *select, const char *table, BaseCancel *cancel, GError **error)
{
  g_autofree char *insert =
      g_strdup_printf ("INSERT INTO %s FROM sluice_kept(%" G_GUINT64_FORMAT "::UBIGINT)", table, rows->handle);
  gint64 n_kept = 0;

  if (!make_table (rows, select, table, cancel, error))
    return FALSE;
  if (rows->n_rows == 0 && kept->n_rows > 0)
    use_kept (rows, kept);
  else if (kept->n_rows > 0 && !duck_session_query_int64 (rows->session, insert, cancel, &n_kept, NULL, error))
    return FALSE;
  rows->n_rows += n_kept;
  return TRUE;
}

/* Ends at the first row that was not taken; *@all says whether there was none. */
static gboolean
fill (DuckSession *session, Kept *kept, const char *select, BaseCancel *cancel, gboolean *all, GError **error)
{
  g_autofree char *sql = g_strconcat (select, " LIMIT 1", NULL);
  g_autoptr (DuckResult) result = duck_session_query_materialized (session, sql, cancel, error);
  const DuckChunk *chunk;

  if (result == NULL || !duck_result_next (result, &chunk, error))
    return FALSE;
  *all = chunk == NULL;
  if (*all && kept->names == NULL)
    duck_result_copy_columns (result, &kept->n_columns, &kept->names, &kept->types);
  return TRUE;
}

/* Leaves rows->relation NULL when a row was not taken. */
static gboolean
keep_or_stop (DuckRows *rows, Kept *kept, const char *select, BaseCancel *cancel, GError **error)
{
  gboolean all;

  if (!fill (rows->session, kept, select, cancel, &all, error))
    return FALSE;
  if (all)
    use_kept (rows, kept);
  return TRUE;
}

static char *
keeping_text (const char *select, guint64 handle)
{
  return g_strdup_printf ("SELECT * FROM (SELECT * FROM (%s) LIMIT 9223372036854775807) \"kept row\""
                          " WHERE NOT sluice_keep(%" G_GUINT64_FORMAT "::UBIGINT, \"kept row\")",
                          select, handle);
}

static gboolean
keep (DuckRows *rows, const char *select, guint64 max_bytes, const char *table, gboolean once, BaseCancel *cancel,
      GError **error)
{
  Kept *kept = kept_new (max_bytes);

  rows->handle = duck_lend_rows (rows->session->engine, kept);
  g_autofree char *keeping = keeping_text (select, rows->handle);
  gboolean good =
      once ? keep_once (rows, kept, keeping, table, cancel, error) : keep_or_stop (rows, kept, keeping, cancel, error);
  if (rows->relation == NULL)
    duck_engine_take_back (rows->session->engine, rows->handle);
  return good;
}

DuckRows *
duck_rows_new (DuckSession *session, const char *select, guint64 max_bytes, const char *table, gboolean once,
               BaseCancel *cancel, GError **error)
{
  g_autoptr (DuckRows) rows = g_new0 (DuckRows, 1);

  rows->session = session;
  if (max_bytes > 0 && !keep (rows, select, max_bytes, table, once, cancel, error))
    return NULL;
  if (rows->relation != NULL)
    return g_steal_pointer (&rows);
  if (rows->table == NULL && !make_table (rows, select, table, cancel, error))
    return NULL;
  rows->relation = g_strdup (table);
  rows->is_table = TRUE;
  return g_steal_pointer (&rows);
}

void
duck_rows_free (DuckRows *rows)
{
  if (rows == NULL)
    return;
  if (rows->table != NULL) {
    g_autofree char *sql = g_strdup_printf ("DROP TABLE IF EXISTS temp.%s", rows->table);
    (void) duck_session_execute (rows->session, sql, NULL, NULL); /* what stays goes with the session */
  }
  duck_engine_take_back (rows->session->engine, rows->handle);
  g_free (rows->relation);
  g_free (rows->table);
  g_free (rows);
}

const char *
duck_rows_relation (const DuckRows *rows)
{
  return rows->relation;
}

gint64
duck_rows_count (const DuckRows *rows)
{
  return rows->n_rows;
}

guint64
duck_rows_bytes (const DuckRows *rows)
{
  return rows->n_bytes;
}

gboolean
duck_rows_is_table (const DuckRows *rows)
{
  return rows->is_table;
}

/* ---- for duck-cache.c and duck-parts.c ---- */

/* Of whole chunks, as they lie in memory. */
static guint64
bytes_in_memory (const Kept *kept)
{
  guint64 n_slots = kept->chunks->len * duckdb_vector_size ();

  return kept->n_bytes + (n_slots - kept->n_rows) * kept->n_columns * sizeof (gint64);
}

gboolean
duck_rows_keep (DuckSession *session, const char *select, guint64 max_bytes, BaseCancel *cancel, DuckLent **lent,
                guint64 *n_bytes, GError **error)
{
  Kept *kept = kept_new (max_bytes);
  guint64 handle = duck_lend_rows (session->engine, kept);
  g_autofree char *keeping = keeping_text (select, handle);
  gboolean all = FALSE, good = fill (session, kept, keeping, cancel, &all, error);

  *lent = NULL;
  *n_bytes = bytes_in_memory (kept);
  if (good && all)
    good = (*lent = duck_lent_find (session->engine, handle, DUCK_LENT_ROWS, error)) != NULL;
  duck_engine_take_back (session->engine, handle);
  return good;
}

void
duck_kept_columns (const DuckLent *lent, guint *n_columns, char *const **names, const duckdb_logical_type **types)
{
  const Kept *kept = duck_lent_object (lent);

  *n_columns = kept->n_columns;
  *names = kept->names;
  *types = kept->types;
}

GPtrArray *
duck_kept_chunks (const DuckLent *lent)
{
  return ((const Kept *) duck_lent_object (lent))->chunks;
}

/* Parts: cached rows of several SELECTs as one table function, and of them only rows that may be wanted.
 *
 *   sluice_parts(handle UBIGINT) → TABLE     the columns of the parts, and the number of the part
 *
 * DuckDB hands no filter of a join to a C table function, so the rows that a join would drop are left out here, by the hash of their keys.
 *
 * Invariants:
 *  1. All parts have the columns of the first.
 *  2. A thread takes one chunk at a time, and gives the rows of several as one.
 */
#include "base-error.h"
#include "duck-cache.h"
#include "duck-lend-private.h"

#define BITS_PER_HASH 32
#define MOST_BITS     ((guint64) 1 << 28)

/* ---- which rows ---- */

/* A Bloom filter with three bits a hash, all of them in one word: of a thousand other hashes it lets one or two through. */
struct DuckWanted {
  gatomicrefcount refs;
  guint64 mask; /* number of words - 1 */
  guint64 *words;
};

static inline guint64
bits_of (guint64 hash)
{
  return (guint64) 1 << (hash >> 58) | (guint64) 1 << (hash >> 52 & 63) | (guint64) 1 << (hash >> 46 & 63);
}

static inline gboolean
may_want (const DuckWanted *wanted, guint64 hash)
{
  guint64 bits = bits_of (hash);

  return (wanted->words[hash & wanted->mask] & bits) == bits;
}

DuckWanted *
duck_wanted_new (DuckSession *session, const char *select, guint64 n_rows, BaseCancel *cancel, GError **error)
{
  g_autoptr (DuckWanted) wanted = g_new0 (DuckWanted, 1);
  g_autoptr (DuckResult) result = duck_session_query (session, select, cancel, error);
  guint64 n_words = 1;
  const DuckChunk *chunk;

  g_atomic_ref_count_init (&wanted->refs);
  if (result == NULL)
    return NULL;
  while (n_words * 64 < n_rows * BITS_PER_HASH && n_words * 64 < MOST_BITS)
    n_words *= 2;
  wanted->mask = n_words - 1;
  wanted->words = g_new0 (guint64, n_words);
  while (TRUE) {
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      return g_steal_pointer (&wanted);
    for (guint i = 0; i < chunk->n_rows; i++) {
      guint64 hash = duck_vector_get (&chunk->columns[0], guint64, i);

      wanted->words[hash & wanted->mask] |= bits_of (hash);
    }
  }
}

DuckWanted *
duck_wanted_ref (DuckWanted *wanted)
{
  g_atomic_ref_count_inc (&wanted->refs);
  return wanted;
}

void
duck_wanted_unref (DuckWanted *wanted)
{
  if (wanted == NULL || !g_atomic_ref_count_dec (&wanted->refs))
    return;
  g_free (wanted->words);
  g_free (wanted);
}

/* ---- sluice_parts ---- */

typedef struct {
  duckdb_data_chunk chunk; /* borrowed */
  guint part;
} PartChunk;

typedef struct {
  GPtrArray *rows; /* (element-type DuckLent) */
  GArray *chunks;  /* PartChunk */
  guint64 n_rows;
  const char *number_name;
  DuckWanted *wanted; /* (nullable) */
} Parts;

typedef struct {
  guint64 next_chunk; /* atomic */
  guint n_columns;
  guint *columns;
  gboolean *is_text; /* by column: VARCHAR or BLOB */
} PartsScan;

/* What is left of the chunk that a thread took last: the rows selection[from] … selection[to - 1]. */
typedef struct {
  PartChunk taken;
  duckdb_selection_vector selection;
  guint from, to;
} Thread;

guint64
duck_engine_lend_cached (DuckEngine *engine, DuckCached *const *cached, guint n_cached, const char *number_name,
                         DuckWanted *wanted)
{
  Parts *parts = g_new0 (Parts, 1);

  parts->rows = g_ptr_array_new_with_free_func (duck_lent_unref);
  parts->chunks = g_array_new (FALSE, FALSE, sizeof (PartChunk));
  parts->number_name = number_name;
  parts->wanted = wanted != NULL ? duck_wanted_ref (wanted) : NULL;
  for (guint i = 0; i < n_cached; i++) {
    GPtrArray *chunks = duck_kept_chunks (cached[i]);

    g_ptr_array_add (parts->rows, duck_lent_ref (cached[i]));
    for (guint k = 0; k < chunks->len; k++) {
      PartChunk one = { chunks->pdata[k], i };

      g_array_append_val (parts->chunks, one);
      parts->n_rows += duckdb_data_chunk_get_size (one.chunk);
    }
  }
  return duck_lend_parts (engine, parts);
}

void
duck_parts_free (gpointer data)
{
  Parts *parts = data;

  g_ptr_array_unref (parts->rows);
  g_array_unref (parts->chunks);
  duck_wanted_unref (parts->wanted);
  g_free (parts);
}

static guint
n_columns_of (const Parts *parts)
{
  char *const *names;
  const duckdb_logical_type *types;
  guint n;

  duck_kept_columns (parts->rows->pdata[0], &n, &names, &types);
  return n;
}

static void
parts_bind (duckdb_bind_info info)
{
  const Parts *parts = duck_lent_bind (info, DUCK_LENT_PARTS);
  const duckdb_logical_type *types;
  char *const *names;
  guint n;

  if (parts == NULL)
    return;
  duckdb_logical_type number = duckdb_create_logical_type (DUCKDB_TYPE_UBIGINT);
  duck_kept_columns (parts->rows->pdata[0], &n, &names, &types);
  for (guint i = 0; i < n; i++)
    duckdb_bind_add_result_column (info, names[i], types[i]);
  duckdb_bind_add_result_column (info, parts->number_name, number);
  duckdb_destroy_logical_type (&number);
  duckdb_bind_set_cardinality (info, parts->n_rows, true);
}

static void
parts_scan_free (void *data)
{
  PartsScan *scan = data;

  g_free (scan->columns);
  g_free (scan->is_text);
  g_free (scan);
}

static gboolean
is_text (duckdb_logical_type type)
{
  duckdb_type id = duckdb_get_type_id (type);

  return id == DUCKDB_TYPE_VARCHAR || id == DUCKDB_TYPE_BLOB;
}

static void
parts_init (duckdb_init_info info)
{
  const Parts *parts = duck_lent_object (duckdb_init_get_bind_data (info));
  PartsScan *scan = g_new0 (PartsScan, 1);
  const duckdb_logical_type *types;
  char *const *names;
  guint n;

  duck_kept_columns (parts->rows->pdata[0], &n, &names, &types);

  scan->n_columns = (guint) duckdb_init_get_column_count (info);
  scan->columns = g_new0 (guint, scan->n_columns);
  scan->is_text = g_new0 (gboolean, scan->n_columns);
  for (guint i = 0; i < scan->n_columns; i++) {
    scan->columns[i] = (guint) duckdb_init_get_column_index (info, i);
    scan->is_text[i] = scan->columns[i] < n && is_text (types[scan->columns[i]]);
  }
  duckdb_init_set_max_threads (info, CLAMP (parts->chunks->len, 1, 64));
  duckdb_init_set_init_data (info, scan, parts_scan_free);
}

static void
thread_free (void *data)
{
  Thread *thread = data;

  duckdb_destroy_selection_vector (thread->selection);
  g_free (thread);
}

static void
parts_thread (duckdb_init_info info)
{
  Thread *thread = g_new0 (Thread, 1);

  thread->selection = duckdb_create_selection_vector (duckdb_vector_size ());
  duckdb_init_set_init_data (info, thread, thread_free);
}

/* The next chunk, and which of its rows may be wanted. FALSE at the end. */
static gboolean
take_chunk (const Parts *parts, PartsScan *scan, Thread *thread)
{
  guint64 next = __atomic_fetch_add (&scan->next_chunk, 1, __ATOMIC_RELAXED);
  sel_t *rows = duckdb_selection_vector_get_data_ptr (thread->selection);

  thread->from = thread->to = 0;
  if (next >= parts->chunks->len)
    return FALSE;
  thread->taken = g_array_index (parts->chunks, PartChunk, next);
  guint n = (guint) duckdb_data_chunk_get_size (thread->taken.chunk);
  if (parts->wanted == NULL) {
    for (; thread->to < n; thread->to++)
      rows[thread->to] = thread->to;
    return TRUE;
  }
  const guint64 *hashes =
      duckdb_vector_get_data (duckdb_data_chunk_get_vector (thread->taken.chunk, n_columns_of (parts) - 1));
  for (guint i = 0; i < n; i++) {
    rows[thread->to] = i;
    thread->to += may_want (parts->wanted, hashes[i]) ? 1 : 0;
  }
  return TRUE;
}

/* Copies slots of texts: the texts stay where they are, in the parts, which outlive the query. */
static void
give_texts (const Thread *thread, duckdb_vector from, guint n, duckdb_vector to, guint size)
{
  const DuckStringSlot *texts = duckdb_vector_get_data (from);
  DuckStringSlot *out = duckdb_vector_get_data (to);
  guint64 *valid = duckdb_vector_get_validity (from);
  const sel_t *rows = (const sel_t *) duckdb_selection_vector_get_data_ptr (thread->selection) + thread->from;

  for (guint k = 0; k < n; k++)
    out[size + k] = texts[rows[k]];
  if (valid == NULL)
    return;
  duckdb_vector_ensure_validity_writable (to);
  for (guint k = 0; k < n; k++)
    duckdb_validity_set_row_validity (duckdb_vector_get_validity (to), size + k,
                                      duckdb_validity_row_is_valid (valid, rows[k]));
}

/* Of the thread's rows @n become those from @size on of @output. */
static void
give_rows (const Parts *parts, const PartsScan *scan, Thread *thread, guint n, duckdb_data_chunk output, guint size)
{
  guint n_columns = n_columns_of (parts);

  for (guint i = 0; i < scan->n_columns; i++) {
    duckdb_vector vector = duckdb_data_chunk_get_vector (output, i);

    if (scan->columns[i] < n_columns && scan->is_text[i]) {
      give_texts (thread, duckdb_data_chunk_get_vector (thread->taken.chunk, scan->columns[i]), n, vector, size);
    } else if (scan->columns[i] < n_columns) {
      duckdb_vector_copy_sel (duckdb_data_chunk_get_vector (thread->taken.chunk, scan->columns[i]), vector,
                              thread->selection, thread->from + n, thread->from, size);
    } else if (scan->columns[i] == n_columns) { /* beyond it: DuckDB's row id, which is not asked of us */
      guint64 *numbers = duckdb_vector_get_data (vector);

      for (guint k = 0; k < n; k++)
        numbers[size + k] = thread->taken.part;
    }
  }
  thread->from += n;
}

static void
parts_scan (duckdb_function_info info, duckdb_data_chunk output)
{
  const Parts *parts = duck_lent_object (duckdb_function_get_bind_data (info));
  PartsScan *scan = duckdb_function_get_init_data (info);
  Thread *thread = duckdb_function_get_local_init_data (info);
  guint size = 0, most = (guint) duckdb_vector_size ();

  while (size < most) {
    if (thread->from == thread->to) {
      if (!take_chunk (parts, scan, thread))
        break;
      continue;
    }
    guint n = MIN (thread->to - thread->from, most - size);
    give_rows (parts, scan, thread, n, output, size);
    size += n;
  }
  duckdb_data_chunk_set_size (output, size);
}

gboolean
duck_parts_register (DuckEngine *engine, GError **error)
{
  return duck_lend_table_function (engine, "sluice_parts", parts_bind, parts_init, parts_thread, parts_scan, error);
}

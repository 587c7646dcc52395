/* Lent tables: columns in memory in DuckDB's own slot layout, so that a scan is a memcpy; strings lie in one heap per column.
 *
 * Invariants:
 *  1. Before a row is begun every column has n_rows slots; the first set of a row does not matter: end_row() fills the rest.
 *  2. A validity bit is 1 for every row that was set.
 */
#include "duck-private.h"
#include "duck-table-private.h"

/* A string's place in its column's heap. */
typedef struct {
  guint64 offset;
  guint64 length;
} HeapSlot;

typedef struct {
  char *name;
  DuckKind kind;
  guint8 width, scale;
  guint8 bytes;      /* of a slot */
  GByteArray *slots; /* n_rows × bytes; HeapSlot for strings */
  GByteArray *heap;  /* of strings */
  GArray *validity;  /* of guint64 */
  gboolean is_set;   /* in the row being built */
  gboolean has_nulls;
} Column;

struct DuckTable {
  guint n_columns;
  Column *columns;
  guint64 n_rows;
};

static gboolean
is_string (DuckKind kind)
{
  return kind == DUCK_KIND_VARCHAR || kind == DUCK_KIND_BLOB;
}

DuckTable *
duck_table_new (const DuckTableColumn *columns, guint n_columns)
{
  DuckTable *table = g_new0 (DuckTable, 1);

  table->n_columns = n_columns;
  table->columns = g_new0 (Column, n_columns);
  for (guint i = 0; i < n_columns; i++) {
    Column *column = &table->columns[i];
    duckdb_logical_type logical = duck_type_to_logical (columns[i].kind, columns[i].width, columns[i].scale);
    DuckVector shape;
    duck_vector_init_logical (&shape, logical);
    duckdb_destroy_logical_type (&logical);
    g_assert (shape.bytes > 0 && shape.n_children == 0);
    column->name = g_strdup (columns[i].name);
    column->kind = columns[i].kind;
    column->width = columns[i].width;
    column->scale = columns[i].scale;
    column->bytes = shape.bytes;
    column->slots = g_byte_array_new ();
    column->heap = g_byte_array_new ();
    column->validity = g_array_new (FALSE, TRUE, sizeof (guint64));
  }
  return table;
}

void
duck_table_free (DuckTable *table)
{
  if (table == NULL)
    return;
  for (guint i = 0; i < table->n_columns; i++) {
    Column *column = &table->columns[i];
    g_free (column->name);
    g_byte_array_unref (column->slots);
    g_byte_array_unref (column->heap);
    g_array_unref (column->validity);
  }
  g_free (table->columns);
  g_free (table);
}

guint64
duck_table_n_rows (const DuckTable *table)
{
  return table->n_rows;
}

guint
duck_table_n_columns (const DuckTable *table)
{
  return table->n_columns;
}

DuckTableColumn
duck_table_column (const DuckTable *table, guint index)
{
  const Column *column = &table->columns[index];

  return (DuckTableColumn){ column->name, column->kind, column->width, column->scale };
}

/* ---- building ---- */

static Column *
start_cell (DuckTable *table, guint index)
{
  g_assert (index < table->n_columns);
  Column *column = &table->columns[index];

  g_assert (!column->is_set);
  column->is_set = TRUE;
  return column;
}

void
duck_table_set_int64 (DuckTable *table, guint column, gint64 value)
{
  duck_table_set_int128 (table, column, value);
}

void
duck_table_set_int128 (DuckTable *table, guint index, __int128 value)
{
  Column *column = start_cell (table, index);

  g_assert (!is_string (column->kind) && column->kind != DUCK_KIND_FLOAT && column->kind != DUCK_KIND_DOUBLE);
  g_byte_array_append (column->slots, (const guint8 *) &value, column->bytes); /* little-endian, as all of DuckDB */
}

void
duck_table_set_double (DuckTable *table, guint index, double value)
{
  Column *column = start_cell (table, index);
  float narrow = (float) value;

  g_assert (column->kind == DUCK_KIND_FLOAT || column->kind == DUCK_KIND_DOUBLE);
  if (column->kind == DUCK_KIND_FLOAT)
    g_byte_array_append (column->slots, (const guint8 *) &narrow, sizeof narrow);
  else
    g_byte_array_append (column->slots, (const guint8 *) &value, sizeof value);
}

void
duck_table_set_string (DuckTable *table, guint index, const char *text, gsize length)
{
  Column *column = start_cell (table, index);
  HeapSlot slot = { column->heap->len, length };

  g_assert (is_string (column->kind) && length <= G_MAXUINT);
  g_byte_array_append (column->heap, (const guint8 *) text, (guint) length);
  g_byte_array_append (column->slots, (const guint8 *) &slot, sizeof slot);
}

void
duck_table_end_row (DuckTable *table)
{
  static const guint8 zeros[sizeof (HeapSlot)];

  for (guint i = 0; i < table->n_columns; i++) {
    Column *column = &table->columns[i];
    if (table->n_rows % 64 == 0)
      g_array_set_size (column->validity, column->validity->len + 1);
    if (column->is_set)
      g_array_index (column->validity, guint64, table->n_rows / 64) |= G_GUINT64_CONSTANT (1) << (table->n_rows % 64);
    else
      g_byte_array_append (column->slots, zeros, column->bytes);
    column->has_nulls |= !column->is_set;
    column->is_set = FALSE;
  }
  table->n_rows++;
}

/* ---- reading ---- */

void
duck_table_fill (const DuckTable *table, guint index, guint64 start, guint n_rows, duckdb_vector vector)
{
  const Column *column = &table->columns[index];
  const guint8 *slots = column->slots->data + start * column->bytes;

  if (!is_string (column->kind)) {
    memcpy (duckdb_vector_get_data (vector), slots, (gsize) n_rows * column->bytes);
  } else {
    const HeapSlot *places = (const HeapSlot *) slots;
    for (guint row = 0; row < n_rows; row++)
      duckdb_vector_assign_string_element_len (vector, row, (const char *) column->heap->data + places[row].offset,
                                               places[row].length);
  }
  if (!column->has_nulls)
    return;
  g_assert (start % 64 == 0);
  duckdb_vector_ensure_validity_writable (vector);
  memcpy (duckdb_vector_get_validity (vector), &g_array_index (column->validity, guint64, start / 64),
          (n_rows + 63) / 64 * sizeof (guint64));
}

/* Bytes as a deletion vector's data, as its Z85 text, and as a file of vectors that an action points into. */
#include "delta-table.h"
#include "delta-vector.h"
#include "fuzz.h"
#include "store.h"

#include <string.h>

/* What decodes has one encoding, whose decoding is the same set. */
static void
read_data (const void *data, gsize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaVector) vector = delta_vector_decode (data, size, &error);
  g_autoptr (DeltaVector) again = NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint64 from = 0;
  guint64 row;

  fuzz_check (vector != NULL, error);
  if (vector == NULL)
    return;
  bytes = delta_vector_encode (vector);
  again = delta_vector_decode (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), NULL);
  fuzz_require (again != NULL && delta_vector_equal (vector, again), "decode (encode (v)) is v");
  for (guint i = 0; i < 1000 && delta_vector_next (vector, from, &row); i++) {
    fuzz_require (row >= from && delta_vector_contains (vector, row), "next gives a row that is in the vector");
    if (row == DELTA_VECTOR_MAX_ROW)
      break;
    from = row + 1;
  }
  fuzz_require (delta_vector_is_empty (vector) == !delta_vector_last (vector, &row), "empty means no last row");
  delta_vector_remove_all (vector, again);
  fuzz_require (delta_vector_is_empty (vector), "a vector less itself is empty");
}

static void
read_text (const char *text, gsize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = delta_vector_z85_decode (text, size, &error);

  fuzz_check (bytes != NULL, error);
  if (bytes == NULL)
    return;
  g_autofree char *again = delta_vector_z85_encode (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  fuzz_require (strlen (again) == size && memcmp (again, text, size) == 0, "Z85 text has one form");
  read_data (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
}

/* The first four bytes are what the action says of offset, size and cardinality; the rest is the file. */
static void
read_from_file (const guint8 *data, gsize size)
{
  g_autoptr (Store) store = store_memory_new (NULL);
  g_autoptr (DeltaTable) table = delta_table_new (store, NULL);
  g_autoptr (GError) error = NULL;
  DeltaVectorDescriptor descriptor = { 'u', "ab^-aqEH.-t@S}K{vb[*k^", data[0], data[1] + 256 * data[2], data[3] };
  g_autofree char *key = delta_vector_descriptor_file (&descriptor);
  g_autoptr (DeltaVector) vector = NULL;

  fuzz_require (key != NULL && store_put (store, key, data + 4, size - 4, STORE_PUT_SYNCED, NULL), "a key");
  vector = delta_vector_load (table, &descriptor, &error);
  fuzz_check (vector != NULL, error);
  fuzz_require (vector == NULL || delta_vector_cardinality (vector) == data[3], "the cardinality is as said");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  read_data (data, size);
  read_text ((const char *) data, size);
  if (size >= 4)
    read_from_file (data, size);
  return 0;
}

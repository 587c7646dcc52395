/* Deletion vectors byte by byte, as sets, and against damaged input. */
#include "../../../tests/support/canon.h"
#include "base-error.h"
#include "delta-table.h"
#include "delta-vector.h"
#include "store.h"

#include <string.h>

/* The inline example of PROTOCOL.md ("JSON Example 3"): rows 3, 4, 7, 11, 18, 29. */
#define SPEC_INLINE "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"

static DeltaTable *
memory_table (void)
{
  g_autoptr (Store) store = store_memory_new (NULL);

  return delta_table_new (store, NULL);
}

static DeltaVector *
vector_of (const guint64 *rows, gsize n_rows)
{
  DeltaVector *vector = delta_vector_new ();

  delta_vector_add_many (vector, rows, n_rows);
  return vector;
}

static void
test_reads_and_writes_the_inline_example (void)
{
  static const guint64 rows[] = { 3, 4, 7, 11, 18, 29 };
  g_autoptr (DeltaTable) table = memory_table ();
  g_autoptr (DeltaVector) expected = vector_of (rows, G_N_ELEMENTS (rows));
  g_autoptr (GError) error = NULL;
  DeltaVectorDescriptor descriptor = { 'i', (char *) SPEC_INLINE, -1, 40, 6 };
  g_autoptr (DeltaVector) vector = delta_vector_load (table, &descriptor, &error);
  g_autoptr (DeltaVectorDescriptor) written = NULL;

  g_assert_no_error (error);
  g_assert_true (delta_vector_equal (vector, expected));
  written = delta_vector_inline (expected);
  g_assert_cmpint (written->cardinality, ==, 6);
  {
    g_autoptr (DeltaVector) again = delta_vector_load (table, written, &error);
    g_assert_no_error (error);
    g_assert_true (delta_vector_equal (again, expected));
  }
}

/* Vectors that Spark and others wrote come out of decoding and encoding as they went in, or shorter. */
static void
test_encodes_golden_vectors_as_they_were (void)
{
  g_autofree char *directory = canon_golden_directory ("delta/tables");
  g_autoptr (GDir) tables = directory != NULL ? g_dir_open (directory, 0, NULL) : NULL;
  const char *table_name;
  guint n_vectors = 0;
  guint n_same = 0;

  while (tables != NULL && (table_name = g_dir_read_name (tables)) != NULL) {
    g_autofree char *location = g_build_filename (directory, table_name, NULL);
    g_autoptr (GDir) table = g_dir_open (location, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name (table)) != NULL) {
      g_autofree char *path = g_build_filename (location, name, NULL);
      g_autofree char *content = NULL;
      gsize size = 0;
      if (!g_str_has_prefix (name, "deletion_vector_") || !g_str_has_suffix (name, ".bin"))
        continue;
      g_assert_true (g_file_get_contents (path, &content, &size, NULL));
      for (gsize at = 1; at + 8 < size;) {
        gsize length = GUINT32_FROM_BE (*(const guint32 *) (const void *) memcpy (&(guint32){ 0 }, content + at, 4));
        g_autoptr (GError) error = NULL;
        g_autoptr (DeltaVector) vector = delta_vector_decode (content + at + 4, length, &error);
        g_autoptr (GBytes) encoded = NULL;
        g_assert_no_error (error);
        encoded = delta_vector_encode (vector);
        if (g_bytes_get_size (encoded) == length &&
            memcmp (g_bytes_get_data (encoded, NULL), content + at + 4, length) == 0) {
          n_same++;
        } else {
          /* Some writers leave out run containers: theirs is longer, ours must say the same. */
          g_autoptr (DeltaVector) again =
              delta_vector_decode (g_bytes_get_data (encoded, NULL), g_bytes_get_size (encoded), &error);
          g_assert_no_error (error);
          g_assert_true (delta_vector_equal (again, vector));
          g_assert_cmpuint (g_bytes_get_size (encoded), <, length);
        }
        at += length + 8;
        n_vectors++;
      }
    }
  }
  g_test_message ("%u golden vectors, %u come out byte by byte as they went in", n_vectors, n_same);
}

static void
test_names_files_as_the_protocol_does (void)
{
  DeltaVectorDescriptor prefixed = { 'u', (char *) "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6 };
  DeltaVectorDescriptor absolute = { 'p', (char *) "s3://mytable/deletion_vector_d2c639aa.bin", 4, 40, 6 };
  DeltaVectorDescriptor local = { 'p', (char *) "file:///a%20b/deletion_vector_1.bin", 4, 40, 6 };
  DeltaVectorDescriptor short_name = { 'u', (char *) "abc", 4, 40, 6 };
  g_autofree char *file = delta_vector_descriptor_file (&prefixed);
  g_autofree char *id = delta_vector_descriptor_id (&prefixed);
  g_autofree char *local_file = delta_vector_descriptor_file (&local);

  g_assert_cmpstr (file, ==, "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin");
  g_assert_cmpstr (id, ==, "uab^-aqEH.-t@S}K{vb[*k^@4");
  g_assert_cmpstr (local_file, ==, "/a b/deletion_vector_1.bin");
  g_assert_null (delta_vector_descriptor_file (&absolute));
  g_assert_null (delta_vector_descriptor_file (&short_name));
}

static void
test_is_a_set (void)
{
  for (guint round = 0; round < 200; round++) {
    g_autoptr (GHashTable) left_set = g_hash_table_new (NULL, NULL);
    g_autoptr (DeltaVector) left = delta_vector_new ();
    g_autoptr (DeltaVector) right = delta_vector_new ();
    g_autoptr (DeltaVector) both = NULL;
    g_autoptr (DeltaVector) difference = NULL;
    g_autoptr (DeltaVector) again = NULL;
    g_autoptr (GBytes) bytes = NULL;
    g_autoptr (GError) error = NULL;
    guint64 limit = round % 3 == 0 ? 100 : round % 3 == 1 ? 100000 : (guint64) 1 << 34;
    guint64 row = 0;
    guint64 n = 0;
    for (guint i = 0; i < 300; i++) {
      guint64 a = ((guint64) g_test_rand_int () << 20 ^ (guint64) g_test_rand_int ()) % limit;
      guint64 b = ((guint64) g_test_rand_int () << 20 ^ (guint64) g_test_rand_int ()) % limit;
      delta_vector_add (left, a);
      g_hash_table_add (left_set, GSIZE_TO_POINTER (a));
      delta_vector_add (right, b);
    }
    g_assert_cmpuint (delta_vector_cardinality (left), ==, g_hash_table_size (left_set));
    for (guint64 from = 0; delta_vector_next (left, from, &row); from = row + 1, n++)
      g_assert_true (g_hash_table_contains (left_set, GSIZE_TO_POINTER (row)));
    g_assert_cmpuint (n, ==, g_hash_table_size (left_set));
    both = delta_vector_copy (left);
    delta_vector_add_all (both, right);
    difference = delta_vector_copy (both);
    delta_vector_remove_all (difference, right);
    for (guint64 from = 0; delta_vector_next (both, from, &row); from = row + 1) {
      g_assert_true (delta_vector_contains (left, row) || delta_vector_contains (right, row));
      g_assert_cmpint (delta_vector_contains (difference, row), ==, !delta_vector_contains (right, row));
    }
    bytes = delta_vector_encode (both);
    again = delta_vector_decode (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), &error);
    g_assert_no_error (error);
    g_assert_true (delta_vector_equal (again, both));
  }
}

static void
test_writes_several_vectors_into_one_file (void)
{
  static const guint64 first_rows[] = { 0, 1, 2, 3, 70000 };
  static const guint64 second_rows[] = { 5, (guint64) 1 << 33 };
  g_autoptr (DeltaTable) table = memory_table ();
  g_autoptr (DeltaTable) fresh = delta_table_new (delta_table_store (table), NULL);
  g_autoptr (DeltaVector) first = vector_of (first_rows, G_N_ELEMENTS (first_rows));
  g_autoptr (DeltaVector) second = vector_of (second_rows, G_N_ELEMENTS (second_rows));
  DeltaVector *vectors[] = { first, second };
  g_autoptr (GPtrArray) descriptors = NULL;
  g_autoptr (GError) error = NULL;
  const DeltaVectorDescriptor *descriptor;

  g_assert_true (delta_vector_write (table, vectors, 2, &descriptors, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (descriptors->len, ==, 2);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (DeltaVector) read = delta_vector_load (fresh, descriptors->pdata[i], &error);
    g_assert_no_error (error);
    g_assert_true (delta_vector_equal (read, vectors[i]));
  }
  descriptor = descriptors->pdata[0];
  g_assert_cmpint (descriptor->offset, ==, 1);
  g_assert_cmpint (descriptor->cardinality, ==, 5);
}

/* Changes one byte of a written file at a time: every change is noticed. */
static void
test_notices_every_damaged_byte (void)
{
  static const guint64 rows[] = { 1, 2, 3, 9000 };
  g_autoptr (DeltaTable) table = memory_table ();
  Store *store = delta_table_store (table);
  g_autoptr (DeltaVector) vector = vector_of (rows, G_N_ELEMENTS (rows));
  DeltaVector *vectors[] = { vector };
  g_autoptr (GPtrArray) descriptors = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *key = NULL;
  gsize size;
  const guint8 *data;

  g_assert_true (delta_vector_write (table, vectors, 1, &descriptors, &error));
  key = delta_vector_descriptor_file (descriptors->pdata[0]);
  g_assert_true (store_read (store, key, &bytes, &error));
  data = g_bytes_get_data (bytes, &size);
  for (gsize i = 1; i < size; i++) {
    g_autofree guint8 *damaged = g_memdup2 (data, size);
    g_autoptr (DeltaTable) fresh = delta_table_new (store, NULL);
    g_autoptr (DeltaVector) read = NULL;
    damaged[i] ^= 0x40;
    g_assert_true (store_put (store, key, damaged, size, STORE_PUT_UNSYNCED, &error));
    read = delta_vector_load (fresh, descriptors->pdata[0], &error);
    g_assert_null (read);
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT);
    g_clear_error (&error);
  }
  g_assert_true (store_put (store, key, data, size - 1, STORE_PUT_UNSYNCED, &error));
  {
    g_autoptr (DeltaTable) fresh = delta_table_new (store, NULL);
    g_assert_null (delta_vector_load (fresh, descriptors->pdata[0], &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT);
    g_clear_error (&error);
  }
  g_assert_true (store_delete (store, key, &error));
  {
    g_autoptr (DeltaTable) fresh = delta_table_new (store, NULL);
    g_assert_null (delta_vector_load (fresh, descriptors->pdata[0], &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED);
  }
}

static void
test_refuses_malformed_data (void)
{
  static const struct {
    const char *what;
    const char *bytes;
    gsize size;
  } cases[] = {
    { "nothing", "", 0 },
    { "half a header", "\xd1\xd3\x39\x64", 4 },
    { "wrong magic", "\xd0\xd3\x39\x64\0\0\0\0\0\0\0\0", 12 },
    { "parts that are not there", "\xd1\xd3\x39\x64\x02\0\0\0\0\0\0\0", 12 },
    { "a count beyond all bounds", "\xd1\xd3\x39\x64\xff\xff\xff\xff\xff\xff\xff\x7f", 12 },
    { "a key with the top bit", "\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\x80\x3a\x30\0\0\0\0\0\0", 24 },
    { "an array out of order",
      "\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\0\x3a\x30\0\0\x01\0\0\0\0\0\x01\0\x10\0\0\0\x05\0\x04\0", 36 },
    { "runs that overlap",
      "\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\0\x3b\x30\0\0\x01\0\0\x09\0\x02\0\0\0\x08\0\x04\0\x03\0", 35 },
    { "a bitmap cut off", "\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\0\x3a\x30\0\0\x01\0\0\0", 24 },
    { "a bitmap with a wrong cookie", "\xd1\xd3\x39\x64\x01\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x01\0\0\0", 24 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaVector) vector = delta_vector_decode (cases[i].bytes, cases[i].size, &error);
    g_test_message ("%s", cases[i].what);
    g_assert_null (vector);
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT);
  }
}

static void
test_survives_random_damage (void)
{
  static const guint64 rows[] = { 1, 2, 3, 70000, 70001, 70002, 70003, 70004, (guint64) 1 << 32 };
  g_autoptr (DeltaVector) vector = vector_of (rows, G_N_ELEMENTS (rows));
  g_autoptr (GBytes) bytes = delta_vector_encode (vector);
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  for (guint i = 0; i < 20000; i++) {
    g_autofree guint8 *damaged = g_memdup2 (data, size);
    g_autoptr (DeltaVector) read = NULL;
    gsize length = (gsize) g_test_rand_int_range (0, (gint32) size + 1);
    for (int k = g_test_rand_int_range (0, 4); k > 0; k--)
      damaged[g_test_rand_int_range (0, (gint32) size)] = (guint8) g_test_rand_int ();
    read = delta_vector_decode (damaged, length, NULL);
    if (read != NULL)
      (void) delta_vector_cardinality (read); /* whatever it says, it does not crash */
  }
}

static void
test_z85_refuses_what_is_no_z85 (void)
{
  static const char *const cases[] = { "abcd", "ab\"cd", "#####", "     " };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (delta_vector_z85_decode (cases[i], strlen (cases[i]), &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/delta/vector/reads-and-writes-the-inline-example", test_reads_and_writes_the_inline_example);
  g_test_add_func ("/delta/vector/encodes-golden-vectors-as-they-were", test_encodes_golden_vectors_as_they_were);
  g_test_add_func ("/delta/vector/names-files-as-the-protocol-does", test_names_files_as_the_protocol_does);
  g_test_add_func ("/delta/vector/is-a-set", test_is_a_set);
  g_test_add_func ("/delta/vector/several-in-one-file", test_writes_several_vectors_into_one_file);
  g_test_add_func ("/delta/vector/notices-every-damaged-byte", test_notices_every_damaged_byte);
  g_test_add_func ("/delta/vector/refuses-malformed-data", test_refuses_malformed_data);
  g_test_add_func ("/delta/vector/survives-random-damage", test_survives_random_damage);
  g_test_add_func ("/delta/vector/z85-refuses", test_z85_refuses_what_is_no_z85);
  return g_test_run ();
}

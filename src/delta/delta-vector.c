/* Deletion vectors over 32-bit roaring bitmaps: one bitmap per high half of a position.
 *
 * Invariants:
 *   1. Parts are ascending by key and none is empty, so equal sets have equal encodings.
 *   2. Decoding never reads outside its input and never makes an inconsistent bitmap: every container is checked before roaring
 *      sees the bytes.
 *   3. A vector is not changed once it was shared (by a cache, a scan).
 */
#include "delta-vector.h"

#include "base-error.h"
#include "base-text.h"
#include "delta-file-private.h"
#include "delta-table-private.h"
#include "delta-vector-private.h"

#include <roaring/roaring.h>
#include <string.h>

#define MAGIC        1681511377u
#define NATIVE_MAGIC 1681511376u
#define FILE_VERSION 1
/* A vector of more data than this is refused before anything is allocated for it. */
#define MAX_VECTOR_BYTES (G_GINT64_CONSTANT (1) << 30)

typedef struct {
  guint32 key;
  roaring_bitmap_t *bitmap;
} Part;

struct DeltaVector {
  gatomicrefcount references;
  GArray *parts; /* Part */
};

static void
part_clear (gpointer data)
{
  Part *part = data;

  if (part->bitmap != NULL)
    roaring_bitmap_free (part->bitmap);
}

DeltaVector *
delta_vector_new (void)
{
  DeltaVector *vector = g_new (DeltaVector, 1);

  g_atomic_ref_count_init (&vector->references);
  vector->parts = g_array_new (FALSE, FALSE, sizeof (Part));
  g_array_set_clear_func (vector->parts, part_clear);
  return vector;
}

DeltaVector *
delta_vector_copy (const DeltaVector *vector)
{
  DeltaVector *copy = delta_vector_new ();

  for (guint i = 0; vector != NULL && i < vector->parts->len; i++) {
    const Part *part = &g_array_index (vector->parts, Part, i);
    Part own = { part->key, roaring_bitmap_copy (part->bitmap) };
    g_array_append_val (copy->parts, own);
  }
  return copy;
}

DeltaVector *
delta_vector_ref (DeltaVector *vector)
{
  g_atomic_ref_count_inc (&vector->references);
  return vector;
}

void
delta_vector_unref (DeltaVector *vector)
{
  if (vector == NULL || !g_atomic_ref_count_dec (&vector->references))
    return;
  g_array_unref (vector->parts);
  g_free (vector);
}

/* Index of the first part with a key ≥ @key. */
static guint
part_index (const DeltaVector *vector, guint32 key)
{
  guint low = 0;
  guint high = vector->parts->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (g_array_index (vector->parts, Part, middle).key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static roaring_bitmap_t *
part_find (const DeltaVector *vector, guint32 key)
{
  guint i;

  /* Nearly every file has fewer than 2^32 rows: one part with key 0. */
  if (vector->parts->len == 1)
    return g_array_index (vector->parts, Part, 0).key == key ? g_array_index (vector->parts, Part, 0).bitmap : NULL;
  i = part_index (vector, key);
  if (i < vector->parts->len && g_array_index (vector->parts, Part, i).key == key)
    return g_array_index (vector->parts, Part, i).bitmap;
  return NULL;
}

static roaring_bitmap_t *
part_get (DeltaVector *vector, guint32 key)
{
  guint i = part_index (vector, key);

  if (i == vector->parts->len || g_array_index (vector->parts, Part, i).key != key) {
    Part part = { key, roaring_bitmap_create () };
    g_array_insert_val (vector->parts, i, part);
  }
  return g_array_index (vector->parts, Part, i).bitmap;
}

void
delta_vector_add (DeltaVector *vector, guint64 row)
{
  g_assert (row <= DELTA_VECTOR_MAX_ROW);
  roaring_bitmap_add (part_get (vector, (guint32) (row >> 32)), (guint32) row);
}

void
delta_vector_add_many (DeltaVector *vector, const guint64 *rows, gsize n_rows)
{
  gsize i = 0;

  while (i < n_rows) {
    guint32 key = (guint32) (rows[i] >> 32);
    roaring_bitmap_t *bitmap;
    g_assert (rows[i] <= DELTA_VECTOR_MAX_ROW);
    bitmap = part_get (vector, key);
    for (; i < n_rows && (guint32) (rows[i] >> 32) == key; i++)
      roaring_bitmap_add (bitmap, (guint32) rows[i]);
  }
}

gboolean
delta_vector_contains (const DeltaVector *vector, guint64 row)
{
  roaring_bitmap_t *bitmap = part_find (vector, (guint32) (row >> 32));

  return bitmap != NULL && roaring_bitmap_contains (bitmap, (guint32) row);
}

guint64
delta_vector_cardinality (const DeltaVector *vector)
{
  guint64 cardinality = 0;

  for (guint i = 0; i < vector->parts->len; i++)
    cardinality += roaring_bitmap_get_cardinality (g_array_index (vector->parts, Part, i).bitmap);
  return cardinality;
}

gboolean
delta_vector_is_empty (const DeltaVector *vector)
{
  return vector->parts->len == 0;
}

gboolean
delta_vector_equal (const DeltaVector *a, const DeltaVector *b)
{
  if (a->parts->len != b->parts->len)
    return FALSE;
  for (guint i = 0; i < a->parts->len; i++) {
    const Part *left = &g_array_index (a->parts, Part, i);
    const Part *right = &g_array_index (b->parts, Part, i);
    if (left->key != right->key || !roaring_bitmap_equals (left->bitmap, right->bitmap))
      return FALSE;
  }
  return TRUE;
}

void
delta_vector_add_all (DeltaVector *vector, const DeltaVector *other)
{
  for (guint i = 0; i < other->parts->len; i++) {
    const Part *part = &g_array_index (other->parts, Part, i);
    roaring_bitmap_or_inplace (part_get (vector, part->key), part->bitmap);
  }
}

void
delta_vector_remove_all (DeltaVector *vector, const DeltaVector *other)
{
  for (guint i = vector->parts->len; i > 0; i--) {
    Part *part = &g_array_index (vector->parts, Part, i - 1);
    const roaring_bitmap_t *gone = part_find (other, part->key);
    if (gone != NULL)
      roaring_bitmap_andnot_inplace (part->bitmap, gone);
    if (roaring_bitmap_is_empty (part->bitmap))
      g_array_remove_index (vector->parts, i - 1);
  }
}

gboolean
delta_vector_next (const DeltaVector *vector, guint64 from, guint64 *row)
{
  for (guint i = part_index (vector, (guint32) (from >> 32)); i < vector->parts->len; i++) {
    const Part *part = &g_array_index (vector->parts, Part, i);
    guint32 start = part->key == (guint32) (from >> 32) ? (guint32) from : 0;
    roaring_uint32_iterator_t iterator;
    roaring_init_iterator (part->bitmap, &iterator);
    if (roaring_move_uint32_iterator_equalorlarger (&iterator, start)) {
      *row = ((guint64) part->key << 32) | iterator.current_value;
      return TRUE;
    }
  }
  return FALSE;
}

gboolean
delta_vector_last (const DeltaVector *vector, guint64 *row)
{
  const Part *part;

  if (vector->parts->len == 0)
    return FALSE;
  part = &g_array_index (vector->parts, Part, vector->parts->len - 1);
  *row = ((guint64) part->key << 32) | roaring_bitmap_maximum (part->bitmap);
  return TRUE;
}

gsize
delta_vector_list (const DeltaVector *vector, guint64 from, guint64 to, guint64 *rows, gsize n_most)
{
  gsize n = 0;

  for (guint i = part_index (vector, (guint32) (from >> 32)); i < vector->parts->len && n < n_most; i++) {
    const Part *part = &g_array_index (vector->parts, Part, i);
    guint64 high = (guint64) part->key << 32;
    guint32 start = part->key == (guint32) (from >> 32) ? (guint32) from : 0;
    roaring_uint32_iterator_t iterator;
    if (high > to)
      break;
    roaring_init_iterator (part->bitmap, &iterator);
    if (!roaring_move_uint32_iterator_equalorlarger (&iterator, start))
      continue;
    for (; iterator.has_value && n < n_most; roaring_advance_uint32_iterator (&iterator)) {
      if ((high | iterator.current_value) > to)
        return n;
      rows[n++] = high | iterator.current_value;
    }
  }
  return n;
}

void
delta_vector_mark (const DeltaVector *vector, const gint64 *rows, gsize n_rows, guint8 *marks, guint8 value)
{
  guint64 found[256];
  gsize n_found;

  gint64 first = rows[0];
  gint64 last = rows[n_rows - 1];

  /* The usual case: neighbouring rows of one scan. Only the marked ones are visited. */
  if (last - first == (gint64) n_rows - 1) {
    gsize i;
    for (i = 0; i < n_rows && rows[i] == first + (gint64) i; i++)
      ;
    if (i == n_rows) {
      guint64 from = (guint64) first;
      while ((n_found = delta_vector_list (vector, from, (guint64) last, found, G_N_ELEMENTS (found))) > 0) {
        for (gsize j = 0; j < n_found; j++)
          marks[found[j] - (guint64) first] = value;
        from = found[n_found - 1] + 1;
      }
      return;
    }
  }
  for (gsize i = 0; i < n_rows; i++)
    if (delta_vector_contains (vector, (guint64) rows[i]))
      marks[i] = value;
}

/* Data form ----------------------------------------------------------------------------------------------------------- */

static gboolean
corrupt (GError **error, const char *what)
{
  return base_error_set (error, SLUICE_ERROR_DELTA_DELETION_VECTOR_CORRUPT, "a deletion vector cannot be read: %s",
                         what);
}

static guint32
little32 (const guint8 *at)
{
  guint32 value;

  memcpy (&value, at, sizeof value);
  return GUINT32_FROM_LE (value);
}

static guint32
big32 (const guint8 *at)
{
  guint32 value;

  memcpy (&value, at, sizeof value);
  return GUINT32_FROM_BE (value);
}

static guint16
little16 (const guint8 *at)
{
  return (guint16) (at[0] | at[1] << 8);
}

/* One container at @at: its @cardinality says array or bit set, unless it is a run container. Returns: its bytes, 0 when it is
 * malformed or longer than @size. */
static gsize
check_container (const guint8 *at, gsize size, gboolean is_run, guint cardinality)
{
  gsize bytes;
  gint64 previous = -1;
  guint n_bits = 0;

  if (is_run) {
    guint n_runs = size >= 2 ? little16 (at) : 0;
    bytes = 2 + (gsize) n_runs * 4;
    if (n_runs == 0 || bytes > size)
      return 0;
    for (guint i = 0; i < n_runs; i++) {
      gint64 start = little16 (at + 2 + i * 4);
      gint64 last = start + little16 (at + 4 + i * 4);
      if (start <= previous || last > G_MAXUINT16)
        return 0;
      previous = last;
    }
    return bytes;
  }
  if (cardinality <= 4096) {
    bytes = (gsize) cardinality * 2;
    if (bytes > size)
      return 0;
    for (guint i = 0; i < cardinality; i++) {
      if (little16 (at + i * 2) <= previous)
        return 0;
      previous = little16 (at + i * 2);
    }
    return bytes;
  }
  if (size < 8192)
    return 0;
  for (guint i = 0; i < 8192; i++)
    n_bits += (guint) __builtin_popcount (at[i]);
  return n_bits == cardinality ? 8192 : 0;
}

/* Whether @size bytes begin with a well-formed portable bitmap (https://github.com/RoaringBitmap/RoaringFormatSpec). The
 * library's own reader keeps inside its input, but trusts the order and the counts in it, and prints what it does not like.
 * Returns: the bitmap's bytes, 0 when it is malformed. */
static gsize
check_bitmap (const guint8 *data, gsize size)
{
  guint32 cookie = size >= 8 ? little32 (data) : 0;
  gboolean has_runs = (cookie & 0xFFFF) == 12347;
  guint n = has_runs ? (cookie >> 16) + 1 : size >= 8 ? little32 (data + 4) : 0;
  gsize at = has_runs ? 4 : 8;
  const guint8 *run_flags = data + at;
  const guint8 *header;
  gint64 previous = -1;

  if (size < 8 || (!has_runs && cookie != 12346) || n > 65536)
    return 0;
  at += has_runs ? (n + 7) / 8 : 0;
  header = data + at;
  at += (gsize) n * 4 + (!has_runs || n >= 4 ? (gsize) n * 4 : 0);
  if (at > size)
    return 0;
  for (guint i = 0; i < n; i++) {
    gboolean is_run = has_runs && (run_flags[i / 8] >> (i % 8) & 1) != 0;
    gsize bytes = check_container (data + at, size - at, is_run, (guint) little16 (header + i * 4 + 2) + 1);
    if (bytes == 0 || little16 (header + i * 4) <= previous)
      return 0;
    previous = little16 (header + i * 4);
    at += bytes;
  }
  return at;
}

/* Returns: NULL when the bytes are no bitmap; else @bytes (out) of them are. */
static roaring_bitmap_t *
read_bitmap (const guint8 *data, gsize size, gsize *bytes)
{
  *bytes = check_bitmap (data, size);
  return *bytes > 0 ? roaring_bitmap_portable_deserialize_safe ((const char *) data, *bytes) : NULL;
}

/* The older form, big-endian, still in the protocol's own example: magic 1681511376, 4 bytes count, then per part 4 bytes size
 * and a bitmap; the key is the part's index. */
static DeltaVector *
decode_native (const guint8 *at, const guint8 *end, GError **error)
{
  g_autoptr (DeltaVector) vector = delta_vector_new ();
  guint32 n_parts = big32 (at + 4);

  at += 8;
  for (guint32 i = 0; i < n_parts; i++) {
    Part part = { i, NULL };
    guint32 size;
    gsize used;
    if (end - at < 4 || (gsize) (end - at) - 4 < (size = big32 (at)) || i > G_MAXINT32) {
      corrupt (error, "it ends inside a part");
      return NULL;
    }
    part.bitmap = read_bitmap (at + 4, size, &used);
    if (part.bitmap == NULL) {
      corrupt (error, "a roaring bitmap inside is malformed");
      return NULL;
    }
    at += 4 + size;
    if (roaring_bitmap_is_empty (part.bitmap))
      roaring_bitmap_free (part.bitmap);
    else
      g_array_append_val (vector->parts, part);
  }
  return g_steal_pointer (&vector);
}

DeltaVector *
delta_vector_decode (gconstpointer data, gsize size, GError **error)
{
  g_autoptr (DeltaVector) vector = delta_vector_new ();
  const guint8 *at = data;
  const guint8 *end = at + size;
  guint64 n_parts;
  gint64 previous = -1;

  if (size >= 8 && big32 (at) == NATIVE_MAGIC)
    return decode_native (at, end, error);
  if (size < 12 || little32 (at) != MAGIC) {
    corrupt (error, size < 12 ? "it is too short" : "its magic number is not 1681511377");
    return NULL;
  }
  n_parts = (guint64) little32 (at + 4) | (guint64) little32 (at + 8) << 32;
  at += 12;
  /* A part takes at least its key and an empty bitmap's header. */
  if (n_parts > (gsize) (end - at) / 8 + 1) {
    corrupt (error, "it promises more parts than it has bytes for");
    return NULL;
  }
  for (guint64 i = 0; i < n_parts; i++) {
    Part part;
    gsize used;
    if (end - at < 4) {
      corrupt (error, "it ends inside a part");
      return NULL;
    }
    part.key = little32 (at);
    at += 4;
    if ((part.key & 0x80000000u) != 0 || (gint64) part.key <= previous) {
      corrupt (error, "its keys are not ascending 31-bit numbers");
      return NULL;
    }
    previous = part.key;
    part.bitmap = read_bitmap (at, (gsize) (end - at), &used);
    if (part.bitmap == NULL) {
      corrupt (error, "a roaring bitmap inside is malformed");
      return NULL;
    }
    at += used;
    if (roaring_bitmap_is_empty (part.bitmap))
      roaring_bitmap_free (part.bitmap);
    else
      g_array_append_val (vector->parts, part);
  }
  return g_steal_pointer (&vector);
}

GBytes *
delta_vector_encode (const DeltaVector *vector)
{
  /* Run containers are made in a copy: other threads may be reading the vector. */
  g_autoptr (DeltaVector) optimized = delta_vector_copy (vector);
  gsize size = 12;
  guint8 *data;
  guint8 *at;
  guint32 word;
  guint64 n_parts = GUINT64_TO_LE ((guint64) vector->parts->len);

  for (guint i = 0; i < optimized->parts->len; i++) {
    Part *part = &g_array_index (optimized->parts, Part, i);
    (void) roaring_bitmap_run_optimize (part->bitmap); /* whether it helped does not matter */
    size += 4 + roaring_bitmap_portable_size_in_bytes (part->bitmap);
  }
  at = data = g_malloc (size);
  word = GUINT32_TO_LE (MAGIC);
  memcpy (at, &word, 4);
  memcpy (at + 4, &n_parts, 8);
  at += 12;
  for (guint i = 0; i < vector->parts->len; i++) {
    const Part *part = &g_array_index (optimized->parts, Part, i);
    word = GUINT32_TO_LE (part->key);
    memcpy (at, &word, 4);
    at += 4;
    at += roaring_bitmap_portable_serialize (part->bitmap, (char *) at);
  }
  return g_bytes_new_take (data, size);
}

/* Z85 (https://rfc.zeromq.org/spec/32/) and CRC-32 -------------------------------------------------------------------- */

static const char z85_digits[86] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

GBytes *
delta_vector_z85_decode (const char *text, gsize size, GError **error)
{
  g_autofree guint8 *data = NULL;

  if (size % 5 != 0) {
    corrupt (error, "its Z85 text is not a multiple of five characters");
    return NULL;
  }
  data = g_malloc (size / 5 * 4 + 1);
  for (gsize i = 0; i < size; i += 5) {
    guint64 value = 0;
    for (gsize k = 0; k < 5; k++) {
      const char *digit = text[i + k] != '\0' ? strchr (z85_digits, text[i + k]) : NULL;
      if (digit == NULL) {
        corrupt (error, "its Z85 text holds a character outside the alphabet");
        return NULL;
      }
      value = value * 85 + (guint64) (digit - z85_digits);
    }
    if (value > G_MAXUINT32) {
      corrupt (error, "its Z85 text holds a group beyond 32 bits");
      return NULL;
    }
    for (guint k = 0; k < 4; k++)
      data[i / 5 * 4 + k] = (guint8) (value >> (8 * (3 - k)));
  }
  return g_bytes_new_take (g_steal_pointer (&data), size / 5 * 4);
}

char *
delta_vector_z85_encode (gconstpointer data, gsize size)
{
  const guint8 *at = data;
  char *text = g_malloc (size / 4 * 5 + 1);
  char *to = text;

  g_assert (size % 4 == 0);
  for (gsize i = 0; i < size; i += 4) {
    guint32 value = big32 (at + i);
    for (int k = 4; k >= 0; k--) {
      to[k] = z85_digits[value % 85];
      value /= 85;
    }
    to += 5;
  }
  *to = '\0';
  return text;
}

static guint32
crc32 (const guint8 *data, gsize size)
{
  static gsize ready;
  static guint32 table[256];
  guint32 crc = 0xFFFFFFFFu;

  if (g_once_init_enter (&ready)) {
    for (guint32 i = 0; i < 256; i++) {
      guint32 value = i;
      for (int bit = 0; bit < 8; bit++)
        value = (value & 1) != 0 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
      table[i] = value;
    }
    g_once_init_leave (&ready, 1);
  }
  for (gsize i = 0; i < size; i++)
    crc = table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFu;
}

/* Files --------------------------------------------------------------------------------------------------------------- */

/* The UUID that the last 20 characters of a 'u' path encode. */
static char *
decode_uuid (const char *text)
{
  g_autoptr (GBytes) bytes = delta_vector_z85_decode (text, 20, NULL);
  const guint8 *b;

  if (bytes == NULL)
    return NULL;
  b = g_bytes_get_data (bytes, NULL);
  return g_strdup_printf ("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
                          b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

char *
delta_vector_descriptor_file (const DeltaVectorDescriptor *descriptor)
{
  gsize length = strlen (descriptor->path_or_inline);

  if (descriptor->storage == 'u' && length >= 20) {
    g_autofree char *uuid = decode_uuid (descriptor->path_or_inline + length - 20);
    if (uuid == NULL)
      return NULL;
    if (length == 20)
      return g_strdup_printf ("deletion_vector_%s.bin", uuid);
    return g_strdup_printf ("%.*s/deletion_vector_%s.bin", (int) (length - 20), descriptor->path_or_inline, uuid);
  }
  if (descriptor->storage == 'p') {
    g_autofree char *path = delta_file_decode_path (descriptor->path_or_inline);
    return path != NULL && path[0] == '/' ? g_steal_pointer (&path) : NULL;
  }
  return NULL;
}

static gboolean
read_file_range (DeltaTable *table, const char *file, gint64 offset, gint64 size, GBytes **bytes, GError **error)
{
  if (file[0] == '/') {
    g_autofree char *directory = g_path_get_dirname (file);
    g_autofree char *name = g_path_get_basename (file);
    g_autoptr (Store) store = store_open (store_context (delta_table_store (table)), directory, error);
    return store != NULL && store_read_range (store, name, offset, size, bytes, error);
  }
  if (!store_key_is_valid (file))
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                           "the deletion vector file `%s` of %s is not on this machine", file,
                           delta_table_location (table));
  return store_read_range (delta_table_store (table), file, offset, size, bytes, error);
}

/* The data of a vector that lies in a file, its frame checked. */
static GBytes *
read_framed (DeltaTable *table, const DeltaVectorDescriptor *descriptor, GError **error)
{
  g_autofree char *file = delta_vector_descriptor_file (descriptor);
  g_autoptr (GBytes) bytes = NULL;
  gint64 offset = MAX (descriptor->offset, 1); /* a file with one vector may leave the offset out: after the version */
  gint64 want = descriptor->size_bytes + 8;
  const guint8 *data;
  gsize size;

  if (file == NULL || descriptor->size_bytes > MAX_VECTOR_BYTES) {
    corrupt (error, file == NULL ? "its path is malformed" : "it is larger than 1 GiB");
    return NULL;
  }
  if (!read_file_range (table, file, offset, want, &bytes, error))
    return NULL;
  if (bytes == NULL) {
    base_error_set (error, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED,
                    "the deletion vector file `%s` of the table %s is not there", file, delta_table_location (table));
    base_error_add_param (error, "path", file);
    return NULL;
  }
  data = g_bytes_get_data (bytes, &size);
  if ((gint64) size != want) {
    corrupt (error, "its file is too short");
    return NULL;
  }
  if (big32 (data) != (guint32) descriptor->size_bytes) {
    corrupt (error, "its size in the file is not the one in the log");
    return NULL;
  }
  if (big32 (data + 4 + descriptor->size_bytes) != crc32 (data + 4, (gsize) descriptor->size_bytes)) {
    corrupt (error, "its checksum is wrong");
    return NULL;
  }
  return g_bytes_new_from_bytes (bytes, 4, (gsize) descriptor->size_bytes);
}

static GBytes *
read_inline (const DeltaVectorDescriptor *descriptor, GError **error)
{
  g_autoptr (GBytes) bytes =
      delta_vector_z85_decode (descriptor->path_or_inline, strlen (descriptor->path_or_inline), error);

  if (bytes == NULL)
    return NULL;
  if (descriptor->size_bytes > (gint64) g_bytes_get_size (bytes)) {
    corrupt (error, "its inline text is shorter than its size");
    return NULL;
  }
  return g_bytes_new_from_bytes (bytes, 0, (gsize) descriptor->size_bytes);
}

DeltaVector *
delta_vector_load (DeltaTable *table, const DeltaVectorDescriptor *descriptor, GError **error)
{
  g_autofree char *id = NULL;
  g_autoptr (GBytes) data = NULL;
  g_autoptr (DeltaVector) vector = NULL;

  if (descriptor == NULL)
    return delta_vector_new ();
  id = delta_vector_descriptor_id (descriptor);
  vector = delta_table_cached_vector (table, id);
  if (vector != NULL)
    return g_steal_pointer (&vector);
  data = descriptor->storage == 'i' ? read_inline (descriptor, error) : read_framed (table, descriptor, error);
  if (data != NULL)
    vector = delta_vector_decode (g_bytes_get_data (data, NULL), g_bytes_get_size (data), error);
  if (vector != NULL && delta_vector_cardinality (vector) != (guint64) descriptor->cardinality) {
    delta_vector_unref (g_steal_pointer (&vector));
    corrupt (error, "it marks another number of rows than the log says");
  }
  if (vector == NULL) {
    base_error_add_context (error, "reading the deletion vector %s of %s", id, delta_table_location (table));
    return NULL;
  }
  delta_table_cache_vector (table, id, vector);
  return g_steal_pointer (&vector);
}

static void
append_big32 (GByteArray *out, guint32 value)
{
  value = GUINT32_TO_BE (value);
  g_byte_array_append (out, (const guint8 *) &value, 4);
}

/* A fresh UUID as 16 bytes. */
static void
fresh_uuid (guint8 bytes[16], char **text)
{
  g_autofree char *uuid = base_text_uuid ();
  guint n = 0;

  for (const char *at = uuid; *at != '\0' && n < 16; at++)
    if (*at != '-') {
      bytes[n++] = (guint8) (g_ascii_xdigit_value (at[0]) * 16 + g_ascii_xdigit_value (at[1]));
      at++;
    }
  *text = g_steal_pointer (&uuid);
}

gboolean
delta_vector_write (DeltaTable *table, DeltaVector *const *vectors, guint n_vectors, GPtrArray **descriptors,
                    GError **error)
{
  g_autoptr (GByteArray) file = g_byte_array_new ();
  g_autoptr (GPtrArray) made = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_vector_descriptor_free);
  guint8 uuid[16];
  g_autofree char *uuid_text = NULL;
  g_autofree char *key = NULL;
  guint8 version = FILE_VERSION;
  StorePutOutcome outcome;
  g_autofree char *doubt = NULL;

  fresh_uuid (uuid, &uuid_text);
  key = g_strdup_printf ("deletion_vector_%s.bin", uuid_text);
  g_byte_array_append (file, &version, 1);
  for (guint i = 0; i < n_vectors; i++) {
    g_autoptr (GBytes) bytes = delta_vector_encode (vectors[i]);
    gsize size;
    const guint8 *data = g_bytes_get_data (bytes, &size);
    DeltaVectorDescriptor *descriptor;
    if ((gint64) size > MAX_VECTOR_BYTES || file->len + size > G_MAXINT32 - 64)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "deletion vectors of more than 1 GiB");
    descriptor = g_new (DeltaVectorDescriptor, 1);
    *descriptor = (DeltaVectorDescriptor){ 'u', delta_vector_z85_encode (uuid, 16), file->len, (gint64) size,
                                           (gint64) delta_vector_cardinality (vectors[i]) };
    g_ptr_array_add (made, descriptor);
    append_big32 (file, (guint32) size);
    g_byte_array_append (file, data, (guint) size);
    append_big32 (file, crc32 (data, size));
  }
  if (!store_put_if_absent (delta_table_store (table), key, file->data, file->len, &outcome, &doubt, error))
    return FALSE;
  if (outcome != STORE_PUT_DONE)
    return base_error_set (error, SLUICE_ERROR_IO_ERROR, "the deletion vector file %s could not be written: %s", key,
                           doubt != NULL ? doubt : "it exists already");
  *descriptors = g_steal_pointer (&made);
  return TRUE;
}

DeltaVectorDescriptor *
delta_vector_inline (const DeltaVector *vector)
{
  g_autoptr (GBytes) bytes = delta_vector_encode (vector);
  gsize size;
  gconstpointer data = g_bytes_get_data (bytes, &size);
  gsize padded_size = (size + 3) / 4 * 4;
  g_autofree guint8 *padded = g_malloc0 (MAX (padded_size, 4));
  DeltaVectorDescriptor *descriptor = g_new (DeltaVectorDescriptor, 1);

  memcpy (padded, data, size);
  *descriptor = (DeltaVectorDescriptor){ 'i', delta_vector_z85_encode (padded, padded_size), -1, (gint64) size,
                                         (gint64) delta_vector_cardinality (vector) };
  return descriptor;
}

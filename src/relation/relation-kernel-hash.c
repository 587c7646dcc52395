/* Digests: Spark's murmur3 and xxHash64 over values, and MD5, SHA and CRC-32 over bytes.
 *
 * hash and xxhash64 fold their arguments into a seed of 42; NULL leaves it as it is. Their description (argument 0) names the types.
 */
#include "base-json.h"
#include "relation-kernel-private.h"

#include <math.h>
#include <string.h>

/* ---- murmur3 as Spark has it: the tail is mixed byte by byte ---- */

static guint32
rotate32 (guint32 x, int n)
{
  return (x << n) | (x >> (32 - n));
}

static guint32
murmur_mix (guint32 h, guint32 k)
{
  k *= 0xcc9e2d51u;
  k = rotate32 (k, 15) * 0x1b873593u;
  return rotate32 (h ^ k, 13) * 5 + 0xe6546b64u;
}

static guint32
murmur_end (guint32 h, guint32 length)
{
  h ^= length;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}

static guint64
murmur_int (gint32 value, guint64 seed)
{
  return murmur_end (murmur_mix ((guint32) seed, (guint32) value), 4);
}

static guint64
murmur_long (gint64 value, guint64 seed)
{
  guint32 h = murmur_mix ((guint32) seed, (guint32) value);
  return murmur_end (murmur_mix (h, (guint32) ((guint64) value >> 32)), 8);
}

static guint64
murmur_bytes (const guint8 *bytes, gsize size, guint64 seed)
{
  guint32 h = (guint32) seed;
  gsize i = 0;
  for (; i + 4 <= size; i += 4) {
    guint32 word;
    memcpy (&word, bytes + i, 4);
    h = murmur_mix (h, GUINT32_FROM_LE (word));
  }
  for (; i < size; i++)
    h = murmur_mix (h, (guint32) (gint32) (gint8) bytes[i]);
  return murmur_end (h, (guint32) size);
}

/* ---- xxHash64 ---- */

#define PRIME_1 G_GUINT64_CONSTANT (0x9E3779B185EBCA87)
#define PRIME_2 G_GUINT64_CONSTANT (0xC2B2AE3D27D4EB4F)
#define PRIME_3 G_GUINT64_CONSTANT (0x165667B19E3779F9)
#define PRIME_4 G_GUINT64_CONSTANT (0x85EBCA77C2B2AE63)
#define PRIME_5 G_GUINT64_CONSTANT (0x27D4EB2F165667C5)

static guint64
rotate64 (guint64 x, int n)
{
  return (x << n) | (x >> (64 - n));
}

static guint64
xx_end (guint64 h)
{
  h ^= h >> 33;
  h *= PRIME_2;
  h ^= h >> 29;
  h *= PRIME_3;
  return h ^ (h >> 32);
}

static guint64
xx_int (gint32 value, guint64 seed)
{
  guint64 h = seed + PRIME_5 + 4;
  h ^= (guint64) (guint32) value * PRIME_1;
  return xx_end (rotate64 (h, 23) * PRIME_2 + PRIME_3);
}

static guint64
xx_long (gint64 value, guint64 seed)
{
  guint64 h = seed + PRIME_5 + 8;
  h ^= rotate64 ((guint64) value * PRIME_2, 31) * PRIME_1;
  return xx_end (rotate64 (h, 27) * PRIME_1 + PRIME_4);
}

static guint64
xx_word (const guint8 *p)
{
  guint64 word;
  memcpy (&word, p, 8);
  return GUINT64_FROM_LE (word);
}

static guint64
xx_bytes (const guint8 *bytes, gsize size, guint64 seed)
{
  gsize i = 0;
  guint64 h = seed + PRIME_5;
  if (size >= 32) {
    guint64 lanes[4] = { seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1 };
    for (; i + 32 <= size; i += 32)
      for (int k = 0; k < 4; k++)
        lanes[k] = rotate64 (lanes[k] + xx_word (bytes + i + 8 * k) * PRIME_2, 31) * PRIME_1;
    h = rotate64 (lanes[0], 1) + rotate64 (lanes[1], 7) + rotate64 (lanes[2], 12) + rotate64 (lanes[3], 18);
    for (int k = 0; k < 4; k++)
      h = (h ^ (rotate64 (lanes[k] * PRIME_2, 31) * PRIME_1)) * PRIME_1 + PRIME_4;
  }
  h += size;
  for (; i + 8 <= size; i += 8)
    h = rotate64 (h ^ (rotate64 (xx_word (bytes + i) * PRIME_2, 31) * PRIME_1), 27) * PRIME_1 + PRIME_4;
  if (i + 4 <= size) {
    guint32 word;
    memcpy (&word, bytes + i, 4);
    h = rotate64 (h ^ ((guint64) GUINT32_FROM_LE (word) * PRIME_1), 23) * PRIME_2 + PRIME_3;
    i += 4;
  }
  for (; i < size; i++)
    h = rotate64 (h ^ (bytes[i] * PRIME_5), 11) * PRIME_1;
  return xx_end (h);
}

/* ---- values ---- */

typedef struct {
  guint64 (*of_int) (gint32 value, guint64 seed);
  guint64 (*of_long) (gint64 value, guint64 seed);
  guint64 (*of_bytes) (const guint8 *bytes, gsize size, guint64 seed);
} Hasher;

static const Hasher murmur = { murmur_int, murmur_long, murmur_bytes };
static const Hasher xx = { xx_int, xx_long, xx_bytes };

/* BigInteger.toByteArray: two's complement, most significant byte first, as short as possible. */
static gsize
big_integer_bytes (RelationInt128 value, guint8 out[17])
{
  gsize n = 1;
  RelationInt128 rest = value;
  while (rest > 127 || rest < -128) {
    rest >>= 8;
    n++;
  }
  for (gsize i = 0; i < n; i++)
    out[n - 1 - i] = (guint8) (value >> (8 * i));
  return n;
}

static guint64
hash_value (const Hasher *hasher, const BaseType *type, const DuckVector *vector, guint64 row, guint64 seed)
{
  BaseTypeKind kind = base_type_kind (type);
  if (kind == BASE_TYPE_VOID || duck_vector_is_null (vector, row))
    return seed;
  switch (kind) {
  case BASE_TYPE_BOOLEAN:
    return hasher->of_int (duck_vector_bool (vector, row), seed);
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_DATE:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
    return hasher->of_int ((gint32) duck_vector_int64 (vector, row), seed);
  case BASE_TYPE_LONG:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return hasher->of_long (duck_vector_int64 (vector, row), seed);
  case BASE_TYPE_FLOAT: {
    float value = duck_vector_get (vector, float, row);
    gint32 bits = 0x7fc00000;
    if (value == 0)
      bits = 0;
    else if (!isnan (value))
      memcpy (&bits, &value, 4);
    return hasher->of_int (bits, seed);
  }
  case BASE_TYPE_DOUBLE: {
    double value = duck_vector_get (vector, double, row);
    gint64 bits = G_GINT64_CONSTANT (0x7ff8000000000000);
    if (value == 0)
      bits = 0;
    else if (!isnan (value))
      memcpy (&bits, &value, 8);
    return hasher->of_long (bits, seed);
  }
  case BASE_TYPE_DECIMAL: {
    guint8 bytes[17];
    RelationInt128 value = duck_vector_int128 (vector, row);
    if (base_type_precision (type) <= 18)
      return hasher->of_long ((gint64) value, seed);
    return hasher->of_bytes (bytes, big_integer_bytes (value, bytes), seed);
  }
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY: {
    gsize size;
    const char *bytes = duck_vector_string (vector, row, &size);
    return hasher->of_bytes ((const guint8 *) bytes, size, seed);
  }
  case BASE_TYPE_INTERVAL_CALENDAR: {
    DuckInterval interval = duck_vector_interval (vector, row);
    return hasher->of_int (interval.months, hasher->of_int (interval.days, hasher->of_long (interval.us, seed)));
  }
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++)
      seed = hash_value (hasher, base_type_field (type, i)->type, &vector->children[i], row, seed);
    return seed;
  case BASE_TYPE_ARRAY: {
    DuckListEntry entry = duck_vector_list (vector, row);
    for (guint64 i = 0; i < entry.length; i++)
      seed = hash_value (hasher, base_type_element (type), &vector->children[0], entry.offset + i, seed);
    return seed;
  }
  default:
    return seed; /* maps and variants were refused when the query was bound */
  }
}

static gboolean
hash_bind (const DuckKernelBind *bind, G_GNUC_UNUSED gpointer user_data, gpointer *bind_data, GError **error)
{
  g_autoptr (json_t) spec = relation_kernel_spec (bind, 0, error);
  if (spec == NULL)
    return FALSE;
  const json_t *types = json_object_get (spec, "args");
  g_autoptr (GPtrArray) result = g_ptr_array_new_with_free_func ((GDestroyNotify) base_type_unref);
  for (gsize i = 0; i < json_array_size (types); i++) {
    BaseType *type = base_type_from_json (json_array_get (types, i), error);
    if (type == NULL)
      return FALSE;
    g_ptr_array_add (result, type);
  }
  *bind_data = g_steal_pointer (&result);
  return TRUE;
}

static void
hash_bind_free (gpointer data)
{
  g_ptr_array_unref (data);
}

/* (spec, values…): an INTEGER is murmur3, a BIGINT xxHash64 */
static gboolean
hash_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  const Hasher *hasher = call->result->bytes == 4 ? &murmur : &xx;
  const GPtrArray *types = call->bind_data;
  for (guint row = 0; row < call->n_rows; row++) {
    guint64 seed = 42;
    for (guint i = 1; i < call->n_args && i <= types->len; i++)
      seed = hash_value (hasher, g_ptr_array_index (types, i - 1), &call->args[i], row, seed);
    if (call->result->bytes == 4)
      duck_vector_set (call->result, gint32, row, (gint32) (guint32) seed);
    else
      duck_vector_set (call->result, gint64, row, (gint64) seed);
  }
  return TRUE;
}

/* ---- SHA-224, which GLib lacks ---- */

static guint32
rotate_right (guint32 x, int n)
{
  return (x >> n) | (x << (32 - n));
}

static void
sha_block (guint32 state[8], const guint8 *block)
{
  static const guint32 k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
  };
  guint32 w[64], s[8];
  for (int i = 0; i < 16; i++)
    w[i] = (guint32) block[4 * i] << 24 | (guint32) block[4 * i + 1] << 16 | (guint32) block[4 * i + 2] << 8 |
           block[4 * i + 3];
  for (int i = 16; i < 64; i++)
    w[i] = w[i - 16] + (rotate_right (w[i - 15], 7) ^ rotate_right (w[i - 15], 18) ^ (w[i - 15] >> 3)) + w[i - 7] +
           (rotate_right (w[i - 2], 17) ^ rotate_right (w[i - 2], 19) ^ (w[i - 2] >> 10));
  memcpy (s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    guint32 t1 = s[7] + (rotate_right (s[4], 6) ^ rotate_right (s[4], 11) ^ rotate_right (s[4], 25)) +
                 ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
    guint32 t2 = (rotate_right (s[0], 2) ^ rotate_right (s[0], 13) ^ rotate_right (s[0], 22)) +
                 ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    memmove (s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++)
    state[i] += s[i];
}

static void
append_sha224 (GString *out, const char *bytes, gsize size)
{
  guint32 state[8] = { 0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4 };
  guint8 last[128] = { 0 };
  gsize whole = size / 64 * 64, rest = size - whole;
  for (gsize i = 0; i < whole; i += 64)
    sha_block (state, (const guint8 *) bytes + i);
  memcpy (last, bytes + whole, rest);
  last[rest] = 0x80;
  gsize total = rest < 56 ? 64 : 128;
  guint64 bits = GUINT64_TO_BE ((guint64) size * 8);
  memcpy (last + total - 8, &bits, 8);
  for (gsize i = 0; i < total; i += 64)
    sha_block (state, last + i);
  for (int i = 0; i < 7; i++)
    g_string_append_printf (out, "%08x", state[i]);
}

/* (bytes, -1 = MD5, -160 = SHA-1, else bits of SHA-2): NULL for another number */
static gboolean
digest_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    gint64 bits = duck_vector_int64 (&call->args[1], row);
    if (bits == 224) {
      g_autoptr (GString) out = g_string_new (NULL);
      append_sha224 (out, bytes, size);
      relation_vector_set_gstring (call->result, row, out);
      continue;
    }
    if (bits != -1 && bits != -160 && bits != 0 && bits != 256 && bits != 384 && bits != 512) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    GChecksumType type = bits == -1     ? G_CHECKSUM_MD5
                         : bits == -160 ? G_CHECKSUM_SHA1
                         : bits == 384  ? G_CHECKSUM_SHA384
                         : bits == 512  ? G_CHECKSUM_SHA512
                                        : G_CHECKSUM_SHA256;
    g_autofree char *text = g_compute_checksum_for_data (type, (const guchar *) bytes, size);
    duck_vector_set_string (call->result, row, text, strlen (text));
  }
  return TRUE;
}

static gboolean
crc32_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    guint32 crc = 0xffffffffu;
    for (gsize i = 0; i < size; i++) {
      crc ^= (guint8) bytes[i];
      for (int bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
    }
    duck_vector_set (call->result, gint64, row, (gint64) (crc ^ 0xffffffffu));
  }
  return TRUE;
}

#define SPEC .flags = DUCK_KERNEL_NULLS, .bind = hash_bind, .free_bind_data = hash_bind_free

const DuckKernel *
relation_kernel_rows_hash (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_hash", .args = { "VARCHAR" }, .varargs = "ANY", .result = "INTEGER", .run = hash_run, SPEC },
    { .name = "sluice_xxhash64", .args = { "VARCHAR" }, .varargs = "ANY", .result = "BIGINT", .run = hash_run, SPEC },
    { .name = "sluice_digest", .args = { "BLOB", "INTEGER" }, .result = "VARCHAR", .run = digest_run },
    { .name = "sluice_crc32", .args = { "BLOB" }, .result = "BIGINT", .run = crc32_run },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

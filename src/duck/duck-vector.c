/* Vectors: see duck-vector.h. The layout facts of DuckDB's C interface (slot sizes, the 16 byte string) are stated here once and
 * checked at compile time; a DuckVector is only a set of pointers into DuckDB's memory.
 */
#include "duck-vector.h"

#include "base-json.h"
#include "duck-private.h"

#include <math.h>

G_STATIC_ASSERT (sizeof (DuckStringSlot) == sizeof (duckdb_string_t));
G_STATIC_ASSERT (G_STRUCT_OFFSET (DuckStringSlot, u) == G_STRUCT_OFFSET (duckdb_string_t, value.pointer.ptr));
G_STATIC_ASSERT (G_STRUCT_OFFSET (DuckStringSlot, prefix) == G_STRUCT_OFFSET (duckdb_string_t, value.inlined.inlined));
G_STATIC_ASSERT (sizeof (DuckListEntry) == sizeof (duckdb_list_entry));
G_STATIC_ASSERT (sizeof (DuckInterval) == sizeof (duckdb_interval));
G_STATIC_ASSERT (sizeof (DuckInt128) == sizeof (duckdb_hugeint));

guint
duck_vector_capacity (void)
{
  return (guint) duckdb_vector_size ();
}

/* ---- shape ---- */

static guint8
decimal_bytes (guint width)
{
  if (width <= 4)
    return 2;
  if (width <= 9)
    return 4;
  return width <= 18 ? 8 : 16;
}

static guint8
slot_bytes (DuckKind kind, guint width)
{
  switch (kind) {
  case DUCK_KIND_BOOLEAN:
  case DUCK_KIND_TINYINT:
  case DUCK_KIND_UTINYINT:
    return 1;
  case DUCK_KIND_SMALLINT:
  case DUCK_KIND_USMALLINT:
    return 2;
  case DUCK_KIND_INTEGER:
  case DUCK_KIND_UINTEGER:
  case DUCK_KIND_FLOAT:
  case DUCK_KIND_DATE:
    return 4;
  case DUCK_KIND_BIGINT:
  case DUCK_KIND_UBIGINT:
  case DUCK_KIND_DOUBLE:
  case DUCK_KIND_TIME:
  case DUCK_KIND_TIMESTAMP:
  case DUCK_KIND_TIMESTAMP_TZ:
  case DUCK_KIND_TIMESTAMP_S:
  case DUCK_KIND_TIMESTAMP_MS:
  case DUCK_KIND_TIMESTAMP_NS:
    return 8;
  case DUCK_KIND_DECIMAL:
    return decimal_bytes (width);
  case DUCK_KIND_HUGEINT:
  case DUCK_KIND_UHUGEINT:
  case DUCK_KIND_UUID:
  case DUCK_KIND_VARCHAR:
  case DUCK_KIND_BLOB:
  case DUCK_KIND_INTERVAL:
  case DUCK_KIND_LIST:
  case DUCK_KIND_MAP:
    return 16;
  case DUCK_KIND_NULL:
  case DUCK_KIND_STRUCT:
  case DUCK_KIND_OTHER:
    return 0;
  }
  return 0;
}

void
duck_vector_init (DuckVector *vector, const DuckType *type)
{
  memset (vector, 0, sizeof *vector);
  vector->kind = duck_type_kind (type);
  vector->width = (guint8) duck_type_width (type);
  vector->scale = (guint8) duck_type_scale (type);
  vector->bytes = slot_bytes (vector->kind, vector->width);
  vector->n_children = duck_type_n_children (type);
  if (vector->n_children == 0)
    return;
  vector->children = g_new (DuckVector, vector->n_children);
  for (guint i = 0; i < vector->n_children; i++)
    duck_vector_init (&vector->children[i], duck_type_child (type, i));
}

/* The common case, a scalar, is done without making a DuckType: kernels come here for every argument of every call. */
void
duck_vector_init_logical (DuckVector *vector, duckdb_logical_type logical)
{
  DuckKind kind = duck_kind_from_id (duckdb_get_type_id (logical));

  if (kind >= DUCK_KIND_LIST) {
    g_autoptr (DuckType) type = duck_type_from_logical (logical);
    duck_vector_init (vector, type);
    return;
  }
  memset (vector, 0, sizeof *vector);
  vector->kind = kind;
  if (kind == DUCK_KIND_DECIMAL) {
    vector->width = duckdb_decimal_width (logical);
    vector->scale = duckdb_decimal_scale (logical);
  }
  vector->bytes = slot_bytes (kind, vector->width);
}

void
duck_vector_point (DuckVector *vector, duckdb_vector handle)
{
  vector->handle = handle;
  vector->validity = duckdb_vector_get_validity (handle);
  vector->data = vector->kind == DUCK_KIND_STRUCT ? NULL : duckdb_vector_get_data (handle);
  switch (vector->kind) {
  case DUCK_KIND_LIST:
    duck_vector_point (&vector->children[0], duckdb_list_vector_get_child (handle));
    break;
  case DUCK_KIND_MAP: { /* stored as a list of struct(key, value) */
    duckdb_vector entries = duckdb_list_vector_get_child (handle);
    duck_vector_point (&vector->children[0], duckdb_struct_vector_get_child (entries, 0));
    duck_vector_point (&vector->children[1], duckdb_struct_vector_get_child (entries, 1));
    break;
  }
  case DUCK_KIND_STRUCT:
    for (guint i = 0; i < vector->n_children; i++)
      duck_vector_point (&vector->children[i], duckdb_struct_vector_get_child (handle, i));
    break;
  default:
    break;
  }
}

void
duck_vector_clear (DuckVector *vector)
{
  for (guint i = 0; i < vector->n_children; i++)
    duck_vector_clear (&vector->children[i]);
  g_free (vector->children);
  vector->children = NULL;
  vector->n_children = 0;
}

char *
duck_vector_dup_string (const DuckVector *vector, guint64 row)
{
  gsize length;

  if (duck_vector_is_null (vector, row))
    return NULL;
  const char *text = duck_vector_string (vector, row, &length);
  return g_strndup (text, length);
}

/* ---- writing ---- */

void
duck_vector_set_null (DuckVector *vector, guint64 row)
{
  duckdb_vector_ensure_validity_writable (vector->handle);
  uint64_t *validity = duckdb_vector_get_validity (vector->handle);
  validity[row / 64] &= ~(G_GUINT64_CONSTANT (1) << (row % 64));
  vector->validity = validity;
  if (vector->kind == DUCK_KIND_STRUCT) {
    for (guint i = 0; i < vector->n_children; i++)
      duck_vector_set_null (&vector->children[i], row);
  } else if (vector->kind == DUCK_KIND_LIST || vector->kind == DUCK_KIND_MAP) {
    duck_vector_set (vector, DuckListEntry, row, ((DuckListEntry){ 0, 0 }));
  }
}

void
duck_vector_set_string (DuckVector *vector, guint64 row, const char *text, gsize length)
{
  duckdb_vector_assign_string_element_len (vector->handle, row, text, length);
}

guint64
duck_vector_set_list (DuckVector *vector, guint64 row, guint64 length)
{
  guint64 offset = duckdb_list_vector_get_size (vector->handle);

  /* Neither call can fail on a list vector; a lack of memory throws inside and ends the query. */
  (void) duckdb_list_vector_reserve (vector->handle, offset + length);
  (void) duckdb_list_vector_set_size (vector->handle, offset + length);
  duck_vector_point (vector, vector->handle);
  duck_vector_set (vector, DuckListEntry, row, ((DuckListEntry){ offset, length }));
  return offset;
}

/* ---- JSON text ---- */

static void
append_int128 (GString *out, unsigned __int128 magnitude, gboolean negative, guint scale)
{
  char digits[48];
  guint n = 0;

  do {
    digits[n++] = (char) ('0' + (int) (magnitude % 10));
    magnitude /= 10;
  } while (magnitude > 0 || n <= scale);
  if (negative)
    g_string_append_c (out, '-');
  while (n > 0) {
    if (n == scale)
      g_string_append_c (out, '.');
    g_string_append_c (out, digits[--n]);
  }
}

static void
append_signed (GString *out, DuckInt128 value, guint scale)
{
  append_int128 (out, value < 0 ? -(unsigned __int128) value : (unsigned __int128) value, value < 0, scale);
}

static void
append_double (GString *out, double value, gboolean is_float)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value)) {
    g_string_append (out, "\"NaN\"");
    return;
  }
  if (isinf (value)) {
    g_string_append (out, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  for (int digits = is_float ? 6 : 15; digits <= 17;
       digits++) { /* the shortest text that reads back as the same number */
    char format[8];
    g_snprintf (format, sizeof format, "%%.%dg", digits);
    g_ascii_formatd (text, sizeof text, format, value);
    double back = g_ascii_strtod (text, NULL);
    if (is_float ? (float) back == (float) value : back == value)
      break;
  }
  g_string_append (out, text);
  if (strpbrk (text, ".e") == NULL)
    g_string_append (out, ".0");
}

/* Days since 1970-01-01 as a date of the proleptic Gregorian calendar (Howard Hinnant's civil_from_days). */
static void
append_date (GString *out, gint64 days)
{
  gint64 z = days + 719468;
  gint64 era = (z >= 0 ? z : z - 146096) / 146097;
  gint64 day_of_era = z - era * 146097;
  gint64 year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  gint64 day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  gint64 shifted_month = (5 * day_of_year + 2) / 153;
  gint64 day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  gint64 month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  gint64 year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);

  g_string_append_printf (out, year < 0 ? "%05d-%02d-%02d" : "%04d-%02d-%02d", (int) year, (int) month, (int) day);
}

static void
append_time (GString *out, gint64 us)
{
  gint64 seconds = us / G_USEC_PER_SEC, fraction = us % G_USEC_PER_SEC;

  g_string_append_printf (out, "%02d:%02d:%02d", (int) (seconds / 3600), (int) (seconds / 60 % 60),
                          (int) (seconds % 60));
  if (fraction != 0)
    g_string_append_printf (out, ".%06d", (int) fraction);
}

static void
append_timestamp (GString *out, gint64 us, const char *suffix)
{
  const gint64 day_us = G_GINT64_CONSTANT (86400) * G_USEC_PER_SEC;
  gint64 days = us / day_us, rest = us % day_us;

  if (us == G_MAXINT64 || us == -G_MAXINT64) { /* DuckDB's infinities */
    g_string_append (out, us > 0 ? "infinity" : "-infinity");
    return;
  }
  if (rest < 0) {
    days--;
    rest += day_us;
  }
  append_date (out, days);
  g_string_append_c (out, 'T');
  append_time (out, rest);
  g_string_append (out, suffix);
}

/* The text of a value that JSON writes as a string. FALSE when JSON writes the kind otherwise. */
static gboolean
append_stringlike (const DuckVector *vector, guint64 row, GString *out)
{
  switch (vector->kind) {
  case DUCK_KIND_DATE: {
    gint32 days = duck_vector_get (vector, gint32, row);
    if (days == G_MAXINT32 || days == -G_MAXINT32)
      g_string_append (out, days > 0 ? "infinity" : "-infinity");
    else
      append_date (out, days);
    return TRUE;
  }
  case DUCK_KIND_TIME:
    append_time (out, duck_vector_get (vector, gint64, row));
    return TRUE;
  case DUCK_KIND_TIMESTAMP:
    append_timestamp (out, duck_vector_get (vector, gint64, row), "");
    return TRUE;
  case DUCK_KIND_TIMESTAMP_TZ:
    append_timestamp (out, duck_vector_get (vector, gint64, row), "Z");
    return TRUE;
  case DUCK_KIND_TIMESTAMP_S:
    append_timestamp (out, duck_vector_get (vector, gint64, row) * G_USEC_PER_SEC, "");
    return TRUE;
  case DUCK_KIND_TIMESTAMP_MS:
    append_timestamp (out, duck_vector_get (vector, gint64, row) * 1000, "");
    return TRUE;
  case DUCK_KIND_TIMESTAMP_NS: {
    gint64 ns = duck_vector_get (vector, gint64, row);
    append_timestamp (out, ns / 1000 - (ns % 1000 < 0 ? 1 : 0), "");
    return TRUE;
  }
  case DUCK_KIND_INTERVAL: {
    DuckInterval value = duck_vector_interval (vector, row);
    g_string_append_printf (out, "%d months %d days %" G_GINT64_FORMAT " microseconds", value.months, value.days,
                            value.us);
    return TRUE;
  }
  case DUCK_KIND_UUID: {
    unsigned __int128 value = (unsigned __int128) duck_vector_int128 (vector, row) ^ ((unsigned __int128) 1 << 127);
    guint64 high = (guint64) (value >> 64), low = (guint64) value;
    g_string_append_printf (out, "%08x-%04x-%04x-%04x-%012" G_GINT64_MODIFIER "x", (guint) (high >> 32),
                            (guint) (high >> 16) & 0xffff, (guint) high & 0xffff, (guint) (low >> 48),
                            low & G_GUINT64_CONSTANT (0xffffffffffff));
    return TRUE;
  }
  default:
    return FALSE;
  }
}

/* A scalar that is not written as a string. */
static void
append_number (const DuckVector *vector, guint64 row, GString *out)
{
  switch (vector->kind) {
  case DUCK_KIND_BOOLEAN:
    g_string_append (out, duck_vector_bool (vector, row) ? "true" : "false");
    break;
  case DUCK_KIND_FLOAT:
  case DUCK_KIND_DOUBLE:
    append_double (out, duck_vector_double (vector, row), vector->kind == DUCK_KIND_FLOAT);
    break;
  case DUCK_KIND_UHUGEINT:
    append_int128 (out, (unsigned __int128) duck_vector_int128 (vector, row), FALSE, 0);
    break;
  default:
    append_signed (out, duck_vector_int128 (vector, row), vector->scale);
  }
}

static gboolean
is_plain_key (DuckKind kind)
{
  return kind != DUCK_KIND_LIST && kind != DUCK_KIND_MAP && kind != DUCK_KIND_STRUCT && kind != DUCK_KIND_NULL &&
         kind != DUCK_KIND_OTHER;
}

/* A map's key as the name of a JSON member: a string stays as it is, anything else is its JSON text in quotes. */
static void
append_key (const DuckVector *keys, const DuckType *type, guint64 row, GString *out)
{
  g_autoptr (GString) text = g_string_new (NULL);

  duck_vector_append_json (keys, type, row, text);
  if (text->len > 0 && text->str[0] == '"')
    g_string_append_len (out, text->str, (gssize) text->len);
  else
    base_json_append_string (out, text->str, text->len);
}

static void
append_map (const DuckVector *vector, const DuckType *type, guint64 row, GString *out)
{
  DuckListEntry entry = duck_vector_list (vector, row);
  const DuckVector *keys = &vector->children[0], *values = &vector->children[1];
  gboolean as_object = is_plain_key (keys->kind);

  for (guint64 i = 0; i < entry.length && as_object; i++)
    as_object = !duck_vector_is_null (keys, entry.offset + i);
  g_string_append_c (out, as_object ? '{' : '[');
  for (guint64 i = 0; i < entry.length; i++) {
    if (i > 0)
      g_string_append_c (out, ',');
    if (as_object) {
      append_key (keys, duck_type_child (type, 0), entry.offset + i, out);
      g_string_append_c (out, ':');
      duck_vector_append_json (values, duck_type_child (type, 1), entry.offset + i, out);
    } else {
      g_string_append (out, "{\"key\":");
      duck_vector_append_json (keys, duck_type_child (type, 0), entry.offset + i, out);
      g_string_append (out, ",\"value\":");
      duck_vector_append_json (values, duck_type_child (type, 1), entry.offset + i, out);
      g_string_append_c (out, '}');
    }
  }
  g_string_append_c (out, as_object ? '}' : ']');
}

static void
append_nested (const DuckVector *vector, const DuckType *type, guint64 row, GString *out)
{
  if (vector->kind == DUCK_KIND_MAP) {
    append_map (vector, type, row, out);
    return;
  }
  if (vector->kind == DUCK_KIND_LIST) {
    DuckListEntry entry = duck_vector_list (vector, row);
    g_string_append_c (out, '[');
    for (guint64 i = 0; i < entry.length; i++) {
      if (i > 0)
        g_string_append_c (out, ',');
      duck_vector_append_json (&vector->children[0], duck_type_child (type, 0), entry.offset + i, out);
    }
    g_string_append_c (out, ']');
    return;
  }
  g_string_append_c (out, '{');
  for (guint i = 0; i < vector->n_children; i++) {
    const char *name = duck_type_child_name (type, i);
    if (i > 0)
      g_string_append_c (out, ',');
    base_json_append_string (out, name, strlen (name));
    g_string_append_c (out, ':');
    duck_vector_append_json (&vector->children[i], duck_type_child (type, i), row, out);
  }
  g_string_append_c (out, '}');
}

void
duck_vector_append_json (const DuckVector *vector, const DuckType *type, guint64 row, GString *out)
{
  if (vector->kind == DUCK_KIND_NULL || vector->kind == DUCK_KIND_OTHER || duck_vector_is_null (vector, row)) {
    g_string_append (out, "null");
  } else if (vector->kind == DUCK_KIND_VARCHAR) {
    gsize length;
    const char *text = duck_vector_string (vector, row, &length);
    base_json_append_string (out, text, length);
  } else if (vector->kind == DUCK_KIND_BLOB) {
    gsize length;
    const char *bytes = duck_vector_string (vector, row, &length);
    g_autofree char *text = g_base64_encode ((const guchar *) bytes, length);
    g_string_append_printf (out, "\"%s\"", text);
  } else if (vector->n_children > 0 || vector->kind == DUCK_KIND_STRUCT) {
    append_nested (vector, type, row, out);
  } else {
    gsize start = out->len;
    g_string_append_c (out, '"');
    if (append_stringlike (vector, row, out)) {
      g_string_append_c (out, '"');
    } else {
      g_string_truncate (out, start);
      append_number (vector, row, out);
    }
  }
}

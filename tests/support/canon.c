/* Rows as golden/delta/canon.py prints them. */
#include "canon.h"

#include <math.h>
#include <string.h>

void
canon_summary_clear (CanonSummary *summary)
{
  g_clear_pointer (&summary->rows, g_ptr_array_unref);
}

/* json.dumps(…, ensure_ascii=False), or with ensure_ascii for sort keys. */
static void
append_string (GString *out, const char *text, gsize size, gboolean ascii)
{
  const char *end = text + size;

  g_string_append_c (out, '"');
  for (const char *at = text; at < end;) {
    guchar c = (guchar) *at;
    if (c >= 0x80 && ascii) {
      gunichar point = g_utf8_get_char_validated (at, end - at);
      if (point > 0xFFFF)
        g_string_append_printf (out, "\\u%04x\\u%04x", 0xD800 + ((point - 0x10000) >> 10),
                                0xDC00 + ((point - 0x10000) & 0x3FF));
      else
        g_string_append_printf (out, "\\u%04x", point);
      at = g_utf8_next_char (at);
      continue;
    }
    switch (c) {
    case '"':
      g_string_append (out, "\\\"");
      break;
    case '\\':
      g_string_append (out, "\\\\");
      break;
    case '\n':
      g_string_append (out, "\\n");
      break;
    case '\r':
      g_string_append (out, "\\r");
      break;
    case '\t':
      g_string_append (out, "\\t");
      break;
    case '\b':
      g_string_append (out, "\\b");
      break;
    case '\f':
      g_string_append (out, "\\f");
      break;
    default:
      if (c < 0x20)
        g_string_append_printf (out, "\\u%04x", c);
      else
        g_string_append_c (out, (char) c);
    }
    at++;
  }
  g_string_append_c (out, '"');
}

/* Python's repr(): the fewest digits that read back the same, exponent form below 1e-4 and from 1e16. */
static void
append_real (GString *out, double value)
{
  char text[64];
  char digits[32];
  int n_digits = 0;
  int exponent;
  const char *at;

  if (isnan (value) || isinf (value)) {
    g_string_append (out, isnan (value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  for (int precision = 0; precision < 18; precision++) {
    char format[16];
    g_snprintf (format, sizeof format, "%%.%de", precision);
    g_ascii_formatd (text, sizeof text, format, value);
    if (g_ascii_strtod (text, NULL) == value)
      break;
  }
  at = text;
  if (*at == '-') {
    g_string_append_c (out, '-');
    at++;
  }
  for (; *at != 'e'; at++)
    if (*at != '.')
      digits[n_digits++] = *at;
  exponent = (int) g_ascii_strtoll (at + 1, NULL, 10);
  if (exponent < -4 || exponent >= 16) {
    g_string_append_c (out, digits[0]);
    if (n_digits > 1)
      g_string_append_printf (out, ".%.*s", n_digits - 1, digits + 1);
    g_string_append_printf (out, "e%c%02d", exponent < 0 ? '-' : '+', abs (exponent));
    return;
  }
  if (exponent < 0) {
    g_string_append (out, "0.");
    for (int i = -1; i > exponent; i--)
      g_string_append_c (out, '0');
    g_string_append_len (out, digits, n_digits);
    return;
  }
  for (int i = 0; i <= exponent; i++)
    g_string_append_c (out, i < n_digits ? digits[i] : '0');
  g_string_append_c (out, '.');
  if (n_digits > exponent + 1)
    g_string_append_len (out, digits + exponent + 1, n_digits - exponent - 1);
  else
    g_string_append_c (out, '0');
}

static void
append_decimal (GString *out, DuckInt128 unscaled, guint scale)
{
  g_autoptr (GString) digits = g_string_new (NULL);
  unsigned __int128 rest = unscaled < 0 ? -(unsigned __int128) unscaled : (unsigned __int128) unscaled;

  do {
    g_string_prepend_c (digits, (char) ('0' + (int) (rest % 10)));
    rest /= 10;
  } while (rest != 0);
  while (digits->len <= scale)
    g_string_prepend_c (digits, '0');
  if (scale > 0)
    g_string_insert_c (digits, (gssize) (digits->len - scale), '.');
  g_string_append_printf (out, "\"%s%s\"", unscaled < 0 ? "-" : "", digits->str);
}

static void
append_date (GString *out, gint64 days)
{
  /* Days to civil, Howard Hinnant's algorithm. */
  gint64 z = days + 719468;
  gint64 era = (z >= 0 ? z : z - 146096) / 146097;
  gint64 doe = z - era * 146097;
  gint64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  gint64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  gint64 mp = (5 * doy + 2) / 153;
  gint64 month = mp < 10 ? mp + 3 : mp - 9;

  g_string_append_printf (out, "\"%04d-%02d-%02d\"", (int) (yoe + era * 400 + (month <= 2 ? 1 : 0)), (int) month,
                          (int) (doy - (153 * mp + 2) / 5 + 1));
}

static void append_cell (GString *out, const DuckVector *vector, const BaseType *type, guint64 row, gboolean sort_key);

typedef struct {
  char *sort_key;
  char *text;
} Entry;

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  return strcmp (((const Entry *) a)->sort_key, ((const Entry *) b)->sort_key);
}

static void
append_map (GString *out, const DuckVector *vector, const BaseType *type, guint64 row)
{
  DuckListEntry range = duck_vector_list (vector, row);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));

  for (guint64 i = range.offset; i < range.offset + range.length; i++) {
    GString *key = g_string_new (NULL);
    GString *text = g_string_new ("[");
    Entry entry;
    append_cell (key, &vector->children[0], base_type_key (type), i, TRUE);
    append_cell (text, &vector->children[0], base_type_key (type), i, FALSE);
    g_string_append_c (text, ',');
    append_cell (text, &vector->children[1], base_type_value (type), i, FALSE);
    g_string_append_c (text, ']');
    entry = (Entry){ g_string_free (key, FALSE), g_string_free (text, FALSE) };
    g_array_append_val (entries, entry);
  }
  g_array_sort (entries, compare_entries);
  g_string_append_c (out, '[');
  for (guint i = 0; i < entries->len; i++) {
    Entry *entry = &g_array_index (entries, Entry, i);
    g_string_append_printf (out, "%s%s", i > 0 ? "," : "", entry->text);
    g_free (entry->text);
    g_free (entry->sort_key);
  }
  g_string_append_c (out, ']');
}

static void
append_cell (GString *out, const DuckVector *vector, const BaseType *type, guint64 row, gboolean sort_key)
{
  const char *separator = sort_key ? ", " : ",";
  gsize size;
  const char *text;

  if (base_type_kind (type) == BASE_TYPE_VOID || duck_vector_is_null (vector, row)) {
    g_string_append (out, "null");
    return;
  }
  switch (base_type_kind (type)) {
  case BASE_TYPE_BOOLEAN:
    g_string_append (out, duck_vector_bool (vector, row) ? "true" : "false");
    break;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    append_real (out, duck_vector_double (vector, row));
    break;
  case BASE_TYPE_DECIMAL:
    append_decimal (out, duck_vector_int128 (vector, row), base_type_scale (type));
    break;
  case BASE_TYPE_STRING:
    text = duck_vector_string (vector, row, &size);
    append_string (out, text, size, sort_key);
    break;
  case BASE_TYPE_BINARY:
    text = duck_vector_string (vector, row, &size);
    g_string_append_c (out, '"');
    for (gsize i = 0; i < size; i++)
      g_string_append_printf (out, "%02x", (guchar) text[i]);
    g_string_append_c (out, '"');
    break;
  case BASE_TYPE_DATE:
    append_date (out, duck_vector_int64 (vector, row));
    break;
  case BASE_TYPE_ARRAY: {
    DuckListEntry range = duck_vector_list (vector, row);
    g_string_append_c (out, '[');
    for (guint64 i = 0; i < range.length; i++) {
      g_string_append (out, i > 0 ? separator : "");
      append_cell (out, &vector->children[0], base_type_element (type), range.offset + i, sort_key);
    }
    g_string_append_c (out, ']');
    break;
  }
  case BASE_TYPE_MAP:
    append_map (out, vector, type, row);
    break;
  case BASE_TYPE_STRUCT:
    g_string_append_c (out, '[');
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      g_string_append (out, i > 0 ? separator : "");
      append_cell (out, &vector->children[i], base_type_field (type, i)->type, row, sort_key);
    }
    g_string_append_c (out, ']');
    break;
  default:
    g_string_append_printf (out, "%" G_GINT64_FORMAT, duck_vector_int64 (vector, row));
  }
}

void
canon_append_cell (GString *out, const DuckVector *vector, const BaseType *type, guint64 row)
{
  append_cell (out, vector, type, row, FALSE);
}

void
canon_append_row (GString *out, const DuckChunk *chunk, const BaseType *schema, guint64 row)
{
  g_string_append_c (out, '[');
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    g_string_append (out, i > 0 ? "," : "");
    append_cell (out, &chunk->columns[i], base_type_field (schema, i)->type, row, FALSE);
  }
  g_string_append_c (out, ']');
}

static guint64
row_digest (const GString *row)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_MD5);
  guint8 bytes[16];
  gsize size = sizeof bytes;
  guint64 value = 0;

  g_checksum_update (checksum, (const guchar *) row->str, (gssize) row->len);
  g_checksum_get_digest (checksum, bytes, &size);
  for (guint i = 0; i < 8; i++)
    value = value << 8 | bytes[i];
  return value;
}

gboolean
canon_query (DuckSession *session, const char *sql, const BaseType *schema, gboolean keep_rows, CanonSummary *summary,
             GError **error)
{
  g_autoptr (DuckResult) result = duck_session_query (session, sql, NULL, error);
  g_autoptr (GString) row = g_string_new (NULL);
  const DuckChunk *chunk;

  *summary = (CanonSummary){ 0 };
  if (result == NULL)
    return FALSE;
  if (keep_rows)
    summary->rows = g_ptr_array_new_with_free_func (g_free);
  do {
    if (!duck_result_next (result, &chunk, error)) {
      canon_summary_clear (summary);
      return FALSE;
    }
    for (guint i = 0; chunk != NULL && i < chunk->n_rows; i++) {
      g_string_truncate (row, 0);
      canon_append_row (row, chunk, schema, i);
      summary->n_rows++;
      summary->digest += row_digest (row);
      if (keep_rows)
        g_ptr_array_add (summary->rows, g_strdup (row->str));
    }
  } while (chunk != NULL);
  return TRUE;
}

char *
canon_digest_text (const CanonSummary *summary)
{
  return g_strdup_printf ("%016" G_GINT64_MODIFIER "x", summary->digest);
}

static json_t *
type_json (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    return json_pack ("{s:s,s:o}", "type", "array", "elementType", type_json (base_type_element (type)));
  case BASE_TYPE_MAP:
    return json_pack ("{s:s,s:o,s:o}", "type", "map", "keyType", type_json (base_type_key (type)), "valueType",
                      type_json (base_type_value (type)));
  case BASE_TYPE_STRUCT: {
    json_t *fields = json_array ();
    for (guint i = 0; i < base_type_n_fields (type); i++)
      json_array_append_new (fields, json_pack ("{s:s,s:o}", "name", base_type_field (type, i)->name, "type",
                                                type_json (base_type_field (type, i)->type)));
    return json_pack ("{s:s,s:o}", "type", "struct", "fields", fields);
  }
  default:
    return base_type_to_json (type);
  }
}

json_t *
canon_schema (const BaseType *schema)
{
  json_t *columns = json_array ();

  for (guint i = 0; i < base_type_n_fields (schema); i++)
    json_array_append_new (
        columns, json_pack ("[s,o]", base_type_field (schema, i)->name, type_json (base_type_field (schema, i)->type)));
  return columns;
}

char *
canon_golden_directory (const char *sub)
{
  const char *shared = g_getenv ("SLUICE_SHARED");
  const char *source = g_getenv ("SLUICE_SOURCE");
  g_autofree char *root =
      shared != NULL ? g_strdup (shared) : g_build_filename (source != NULL ? source : ".", "..", "shared", NULL);
  g_autofree char *directory = g_build_filename (root, "golden", sub, NULL);

  if (g_file_test (directory, G_FILE_TEST_IS_DIR))
    return g_steal_pointer (&directory);
  if (g_strcmp0 (g_getenv ("SLUICE_REQUIRE_SHARED"), "1") == 0)
    g_error ("the shared pages are required and not at %s", root);
  g_test_skip ("the shared pages are not here (set SLUICE_SHARED)");
  return NULL;
}

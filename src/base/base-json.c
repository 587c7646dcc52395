/* JSON text through jansson: see base-json.h. jansson bounds nesting at 2048 by itself; our callers bound the size. */
#include "base-json.h"

#include "base-error.h"

#include <string.h>

json_t *
base_json_parse (const char *text, gsize size, const char *what, GError **error)
{
  json_error_t where;
  json_t *json = json_loadb (text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);

  if (json == NULL)
    base_error_set (error, SLUICE_ERROR_INVALID_JSON, "%s is not valid JSON: %s at line %d, column %d", what,
                    where.text, where.line, where.column);
  return json;
}

/* jansson allocates with malloc, the rest of the house frees with g_free. */
static char *
dump (const json_t *json, size_t flags)
{
  char *text = json_dumps (json, flags | JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION (17));
  char *copy = g_strdup (text);

  free (text);
  return copy;
}

char *
base_json_text (const json_t *json)
{
  return dump (json, 0);
}

char *
base_json_canonical_text (const json_t *json)
{
  return dump (json, JSON_SORT_KEYS);
}

const char *
base_json_string (const json_t *object, const char *key)
{
  return json_string_value (json_object_get (object, key));
}

gint64
base_json_int64 (const json_t *object, const char *key, gint64 fallback)
{
  const json_t *value = json_object_get (object, key);

  return json_is_integer (value) ? json_integer_value (value) : fallback;
}

gboolean
base_json_bool (const json_t *object, const char *key, gboolean fallback)
{
  const json_t *value = json_object_get (object, key);

  return json_is_boolean (value) ? json_is_true (value) : fallback;
}

void
base_json_append_string (GString *out, const char *text, gsize size)
{
  g_string_append_c (out, '"');
  for (gsize i = 0; i < size; i++) {
    guchar c = (guchar) text[i];
    switch (c) {
    case '"':
      g_string_append (out, "\\\"");
      break;
    case '\\':
      g_string_append (out, "\\\\");
      break;
    case '\b':
      g_string_append (out, "\\b");
      break;
    case '\f':
      g_string_append (out, "\\f");
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
    default:
      if (c < 0x20)
        g_string_append_printf (out, "\\u%04X", c);
      else
        g_string_append_c (out, (char) c);
    }
  }
  g_string_append_c (out, '"');
}

static gboolean
read_hex4 (const char *at, const char *end, gunichar *value)
{
  *value = 0;
  for (int i = 0; i < 4; i++) {
    int digit = at + i < end ? g_ascii_xdigit_value (at[i]) : -1;
    if (digit < 0)
      return FALSE;
    *value = *value * 16 + (gunichar) digit;
  }
  return TRUE;
}

gboolean
base_json_read_unicode (const char **at, const char *end, gunichar *c)
{
  const char *p = *at;
  gunichar low;

  if (!read_hex4 (p, end, c))
    return FALSE;
  p += 4;
  if (*c >= 0xD800 && *c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && read_hex4 (p + 2, end, &low) &&
      low >= 0xDC00 && low < 0xE000) {
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
    p += 6;
  }
  *at = p;
  return TRUE;
}

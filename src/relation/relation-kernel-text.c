/* Encodings of bytes and text: base64, base32, hexadecimal, URLs, character sets, number bases. */
#include "relation-kernel-private.h"

#include <string.h>

/* ---- base64, base32, hexadecimal ---- */

/* MIME lines of 76 characters, as Java's MIME encoder. */
static gboolean
base64_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    g_autofree char *text = g_base64_encode ((const guchar *) bytes, size);
    g_autoptr (GString) out = g_string_new (NULL);
    gsize n = strlen (text);
    for (gsize i = 0; i < n; i += 76) {
      if (i > 0)
        g_string_append (out, "\r\n");
      g_string_append_len (out, text + i, (gssize) MIN (76, n - i));
    }
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* Digits of @alphabet, @bits each; other characters are skipped, as Java's MIME decoder does. */
static void
decode_digits (GString *out, const char *text, gsize size, const char *alphabet, int bits)
{
  guint32 buffer = 0;
  int n = 0;
  for (gsize i = 0; i < size && text[i] != '='; i++) {
    const char *digit = text[i] == '\0' ? NULL : strchr (alphabet, text[i]);
    if (digit == NULL)
      continue;
    buffer = (buffer << bits) | (guint32) (digit - alphabet);
    n += bits;
    if (n >= 8) {
      n -= 8;
      g_string_append_c (out, (char) (buffer >> n));
    }
  }
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base32_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

enum { DIGITS_BASE64, DIGITS_BASE32 };

/* (digits): the bytes they stand for */
static gboolean
decode_digits_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean base64 = call->variant == DIGITS_BASE64;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) out = g_string_new (NULL);
    decode_digits (out, text, size, base64 ? base64_digits : base32_digits, base64 ? 6 : 5);
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
base32_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) out = g_string_new (NULL);
    guint32 buffer = 0;
    int n = 0;
    for (gsize i = 0; i < size; i++) {
      buffer = (buffer << 8) | (guint8) bytes[i];
      for (n += 8; n >= 5; n -= 5)
        g_string_append_c (out, base32_digits[(buffer >> (n - 5)) & 31]);
    }
    if (n > 0)
      g_string_append_c (out, base32_digits[(buffer << (5 - n)) & 31]);
    while (out->len % 8 != 0)
      g_string_append_c (out, '=');
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
append_unhex (GString *out, const char *text, gsize size)
{
  gsize i = 0;
  if (size % 2 != 0) {
    int digit = g_ascii_xdigit_value (text[i++]);
    if (digit < 0)
      return FALSE;
    g_string_append_c (out, (char) digit);
  }
  for (; i < size; i += 2) {
    int high = g_ascii_xdigit_value (text[i]), low = g_ascii_xdigit_value (text[i + 1]);
    if (high < 0 || low < 0)
      return FALSE;
    g_string_append_c (out, (char) (high * 16 + low));
  }
  return TRUE;
}

/* (text, what: 0 NULL when malformed, 1 error) */
static gboolean
unhex_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) out = g_string_new (NULL);
    if (append_unhex (out, text, size))
      relation_vector_set_gstring (call->result, row, out);
    else if (duck_vector_bool (&call->args[1], row))
      return base_error_set (error, SLUICE_ERROR_CONVERSION_INVALID_INPUT, "'%.*s' is not hexadecimal",
                             (int) MIN (size, 100), text);
    else
      duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* ---- URLs ---- */

static gboolean
url_encode_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) out = g_string_new (NULL);
    for (gsize i = 0; i < size; i++) {
      if (g_ascii_isalnum (text[i]) || (text[i] != '\0' && strchr (".-*_", text[i]) != NULL))
        g_string_append_c (out, text[i]);
      else if (text[i] == ' ')
        g_string_append_c (out, '+');
      else
        g_string_append_printf (out, "%%%02X", (guint8) text[i]);
    }
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* (text, try?) */
static gboolean
url_decode_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) bytes = g_string_new (NULL);
    gboolean valid = TRUE;
    for (gsize i = 0; i < size && valid; i++) {
      if (text[i] == '+')
        g_string_append_c (bytes, ' ');
      else if (text[i] != '%')
        g_string_append_c (bytes, text[i]);
      else {
        valid = i + 2 < size && g_ascii_isxdigit (text[i + 1]) && g_ascii_isxdigit (text[i + 2]);
        if (valid)
          g_string_append_c (bytes,
                             (char) (g_ascii_xdigit_value (text[i + 1]) * 16 + g_ascii_xdigit_value (text[i + 2])));
        i += 2;
      }
    }
    if (valid) {
      g_autoptr (GString) out = g_string_new (NULL);
      (void) relation_append_utf8 (out, bytes->str, bytes->len); /* as Java's URLDecoder */
      relation_vector_set_gstring (call->result, row, out);
    } else if (duck_vector_bool (&call->args[1], row))
      duck_vector_set_null (call->result, row);
    else
      return base_error_set (error, SLUICE_ERROR_CANNOT_DECODE_URL, "'%.*s' is not an encoded URL",
                             (int) MIN (size, 100), text);
  }
  return TRUE;
}

typedef struct {
  const char *p;
  gsize size;
} Part;

typedef struct {
  Part scheme, authority, user, host, path, query, fragment;
  gboolean has_authority, has_user, has_host, has_query, has_fragment, has_scheme, opaque;
} Url;

/* What java.net.URI takes: no blanks, controls or brackets, whole % escapes. */
static gboolean
has_url_characters (const char *text, gsize size)
{
  for (gsize i = 0; i < size; i++) {
    guchar c = (guchar) text[i];
    if (c <= 0x20 || c == 0x7f || strchr ("<>\"{}|\\^`", c) != NULL)
      return FALSE;
    if (c == '%' && (i + 2 >= size || !g_ascii_isxdigit (text[i + 1]) || !g_ascii_isxdigit (text[i + 2])))
      return FALSE;
  }
  return TRUE;
}

static void
split_authority (Url *url)
{
  const char *p = url->authority.p, *end = p + url->authority.size;
  const char *at = memrchr (p, '@', url->authority.size);
  if (at != NULL) {
    url->has_user = TRUE;
    url->user = (Part){ p, (gsize) (at - p) };
    p = at + 1;
  }
  const char *colon = p < end && *p != '[' ? memchr (p, ':', (gsize) (end - p)) : NULL;
  const char *host_end = colon != NULL ? colon : end;
  gboolean valid = host_end > p;
  for (const char *c = p; c < host_end; c++)
    valid &= g_ascii_isalnum (*c) || strchr (".-[]:", *c) != NULL;
  for (const char *c = host_end + 1; colon != NULL && c < end; c++)
    valid &= g_ascii_isdigit (*c);
  url->has_host = valid;
  url->host = (Part){ p, (gsize) (host_end - p) };
  url->has_user &= valid;
}

static gboolean
split_url (const char *text, gsize size, Url *url)
{
  *url = (Url){ 0 };
  if (!has_url_characters (text, size))
    return FALSE;
  const char *p = text, *end = text + size;
  const char *hash = memchr (p, '#', size);
  if (hash != NULL) {
    url->has_fragment = TRUE;
    url->fragment = (Part){ hash + 1, (gsize) (end - hash - 1) };
    end = hash;
  }
  const char *c = p;
  while (c < end && (g_ascii_isalnum (*c) || strchr ("+-.", *c) != NULL))
    c++;
  if (c < end && *c == ':' && c > p && g_ascii_isalpha (*p)) {
    url->has_scheme = TRUE;
    url->scheme = (Part){ p, (gsize) (c - p) };
    p = c + 1;
    url->opaque = p < end && *p != '/';
    if (p == end)
      return FALSE;
  }
  const char *mark = url->opaque ? NULL : memchr (p, '?', (gsize) (end - p));
  if (mark != NULL) {
    url->has_query = TRUE;
    url->query = (Part){ mark + 1, (gsize) (end - mark - 1) };
    end = mark;
  }
  if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
    p += 2;
    const char *slash = memchr (p, '/', (gsize) (end - p));
    const char *to = slash != NULL ? slash : end;
    url->has_authority = to > p;
    url->authority = (Part){ p, (gsize) (to - p) };
    if (url->has_authority)
      split_authority (url);
    p = to;
  }
  url->path = (Part){ p, (gsize) (end - p) };
  return TRUE;
}

/* `name=value` of a query. */
static gboolean
query_value (const Part *query, const char *key, gsize size, Part *value)
{
  const char *p = query->p, *end = p + query->size;
  while (p <= end) {
    const char *amp = memchr (p, '&', (gsize) (end - p));
    const char *to = amp != NULL ? amp : end;
    if ((gsize) (to - p) > size && memcmp (p, key, size) == 0 && p[size] == '=') {
      *value = (Part){ p + size + 1, (gsize) (to - p) - size - 1 };
      return TRUE;
    }
    if (amp == NULL)
      return FALSE;
    p = amp + 1;
  }
  return FALSE;
}

/* (url, part, key or NULL, try?) */
static gboolean
parse_url_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    gboolean has_key = !duck_vector_is_null (&call->args[2], row);
    if (duck_vector_is_null (&call->args[0], row) || duck_vector_is_null (&call->args[1], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    gsize size, n, key_size = 0;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *part = duck_vector_string (&call->args[1], row, &n);
    const char *key = has_key ? duck_vector_string (&call->args[2], row, &key_size) : NULL;
    Url url;
    if (!split_url (text, size, &url)) {
      if (!duck_vector_bool (&call->args[3], row))
        return base_error_set (error, SLUICE_ERROR_INVALID_URL, "'%.*s' is not a URL; try_parse_url gives NULL instead",
                               (int) MIN (size, 200), text);
      duck_vector_set_null (call->result, row);
      continue;
    }
    g_autofree char *name = g_strndup (part, n);
    gboolean found = FALSE;
    Part value = { "", 0 };
    Part file = url.path;
    if (url.has_query)
      file.size = (gsize) (url.query.p + url.query.size - url.path.p);
    if (strcmp (name, "HOST") == 0)
      found = url.has_host, value = url.host;
    else if (strcmp (name, "PATH") == 0)
      found = !url.opaque, value = url.path;
    else if (strcmp (name, "QUERY") == 0)
      found = url.has_query, value = url.query;
    else if (strcmp (name, "REF") == 0)
      found = url.has_fragment, value = url.fragment;
    else if (strcmp (name, "PROTOCOL") == 0)
      found = url.has_scheme, value = url.scheme;
    else if (strcmp (name, "FILE") == 0)
      found = !url.opaque, value = file;
    else if (strcmp (name, "AUTHORITY") == 0)
      found = url.has_authority, value = url.authority;
    else if (strcmp (name, "USERINFO") == 0)
      found = url.has_user, value = url.user;
    if (has_key)
      found = found && strcmp (name, "QUERY") == 0 && query_value (&url.query, key, key_size, &value);
    if (found)
      duck_vector_set_string (call->result, row, value.p, value.size);
    else
      duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* ---- character sets ---- */

typedef enum {
  CHARSET_UTF8,
  CHARSET_ASCII,
  CHARSET_LATIN1,
  CHARSET_UTF16,
  CHARSET_UTF16BE,
  CHARSET_UTF16LE,
  CHARSET_UTF32
} Charset;

static gboolean
find_charset (const char *name, gsize size, Charset *charset, GError **error)
{
  static const char *const names[] = { "UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strlen (names[i]) == size && g_ascii_strncasecmp (names[i], name, size) == 0) {
      *charset = (Charset) i;
      return TRUE;
    }
  return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_CHARSET, "the character set '%.*s' is not known",
                         (int) MIN (size, 40), name);
}

static void
append_unit16 (GString *out, guint unit, gboolean little)
{
  g_string_append_c (out, (char) (little ? unit : unit >> 8));
  g_string_append_c (out, (char) (little ? unit >> 8 : unit));
}

static gboolean
encode_text (GString *out, const char *text, gsize size, Charset charset)
{
  if (charset == CHARSET_UTF8) {
    g_string_append_len (out, text, (gssize) size);
    return TRUE;
  }
  if (charset == CHARSET_UTF16 && size > 0)
    append_unit16 (out, 0xfeff, FALSE);
  gboolean little = charset == CHARSET_UTF16LE;
  for (const char *p = text; p < text + size; p = g_utf8_next_char (p)) {
    gunichar c = g_utf8_get_char (p);
    switch (charset) {
    case CHARSET_ASCII:
    case CHARSET_LATIN1:
      if (c > (charset == CHARSET_ASCII ? 0x7fu : 0xffu))
        return FALSE;
      g_string_append_c (out, (char) c);
      break;
    case CHARSET_UTF32:
      append_unit16 (out, c >> 16, FALSE);
      append_unit16 (out, c & 0xffff, FALSE);
      break;
    default:
      if (c >= 0x10000) {
        append_unit16 (out, 0xd800 + ((c - 0x10000) >> 10), little);
        append_unit16 (out, 0xdc00 + ((c - 0x10000) & 0x3ff), little);
      } else
        append_unit16 (out, c, little);
      break;
    }
  }
  return TRUE;
}

/* (text, character set) */
static gboolean
encode_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *name = duck_vector_string (&call->args[1], row, &n);
    Charset charset;
    g_autoptr (GString) out = g_string_new (NULL);
    if (!find_charset (name, n, &charset, error))
      return FALSE;
    if (!encode_text (out, text, size, charset))
      return base_error_set (error, SLUICE_ERROR_MALFORMED_CHARACTER_CODING, "a text cannot be encoded as %.*s",
                             (int) n, name);
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
decode_utf16 (GString *out, const guint8 *bytes, gsize size, Charset charset)
{
  gboolean little = charset == CHARSET_UTF16LE;
  gsize i = 0;
  if (size % 2 != 0)
    return FALSE;
  if (charset == CHARSET_UTF16 && size >= 2 &&
      ((bytes[0] == 0xfe && bytes[1] == 0xff) || (bytes[0] == 0xff && bytes[1] == 0xfe))) {
    little = bytes[0] == 0xff;
    i = 2;
  }
  for (; i < size; i += 2) {
    gunichar c = little ? (gunichar) (bytes[i] | bytes[i + 1] << 8) : (gunichar) (bytes[i] << 8 | bytes[i + 1]);
    if (c >= 0xd800 && c < 0xdc00 && i + 4 <= size) {
      gunichar low =
          little ? (gunichar) (bytes[i + 2] | bytes[i + 3] << 8) : (gunichar) (bytes[i + 2] << 8 | bytes[i + 3]);
      if (low < 0xdc00 || low > 0xdfff)
        return FALSE;
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      i += 2;
    } else if (c >= 0xd800 && c < 0xe000)
      return FALSE;
    g_string_append_unichar (out, c);
  }
  return TRUE;
}

static gboolean
decode_bytes (GString *out, const char *bytes, gsize size, Charset charset)
{
  switch (charset) {
  case CHARSET_UTF8:
    return relation_append_utf8 (out, bytes, size);
  case CHARSET_ASCII:
  case CHARSET_LATIN1:
    for (gsize i = 0; i < size; i++) {
      if (charset == CHARSET_ASCII && (guint8) bytes[i] > 0x7f)
        return FALSE;
      g_string_append_unichar (out, (guint8) bytes[i]);
    }
    return TRUE;
  case CHARSET_UTF32:
    if (size % 4 != 0)
      return FALSE;
    for (gsize i = 0; i < size; i += 4) {
      const guint8 *p = (const guint8 *) bytes + i;
      gunichar c = (gunichar) p[0] << 24 | (gunichar) p[1] << 16 | (gunichar) p[2] << 8 | p[3];
      if (!g_unichar_validate (c))
        return FALSE;
      g_string_append_unichar (out, c);
    }
    return TRUE;
  default:
    return decode_utf16 (out, (const guint8 *) bytes, size, charset);
  }
}

/* (bytes, character set) */
static gboolean
decode_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    const char *name = duck_vector_string (&call->args[1], row, &n);
    Charset charset;
    g_autoptr (GString) out = g_string_new (NULL);
    if (!find_charset (name, n, &charset, error))
      return FALSE;
    if (!decode_bytes (out, bytes, size, charset))
      return base_error_set (error, SLUICE_ERROR_MALFORMED_CHARACTER_CODING, "bytes are not %.*s", (int) n, name);
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* ---- number bases ---- */

/* (digits, from base, to base; negative = signed result): digits up to the first that is none */
static gboolean
conv_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gint64 from = duck_vector_int64 (&call->args[1], row), to = duck_vector_int64 (&call->args[2], row);
    if (from < 2 || from > 36 || ABS (to) < 2 || ABS (to) > 36 || size == 0) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    gboolean negative = text[0] == '-';
    guint64 value = 0;
    for (gsize i = negative; i < size; i++) {
      int digit = g_ascii_isdigit (text[i])   ? text[i] - '0'
                  : g_ascii_isalpha (text[i]) ? g_ascii_tolower (text[i]) - 'a' + 10
                                              : 99;
      if (digit >= from)
        break;
      RelationUint128 wide = (RelationUint128) value * (guint64) from + (guint64) digit;
      if (wide > G_MAXUINT64)
        return base_error_set (error, SLUICE_ERROR_ARITHMETIC_OVERFLOW, "a number does not fit 64 bits");
      value = (guint64) wide;
    }
    /* A negative number is its two's complement unless the result is signed. */
    if (negative && to > 0)
      value = (gint64) value < 0 ? G_MAXUINT64 : (guint64) - (gint64) value;
    gboolean minus = FALSE;
    if (to < 0) {
      if (negative)
        minus = value != 0;
      else if ((gint64) value < 0) {
        value = -value;
        minus = TRUE;
      }
    }
    char digits[72];
    gsize at = sizeof digits;
    do {
      digits[--at] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % (guint64) ABS (to)];
      value /= (guint64) ABS (to);
    } while (value > 0);
    if (minus)
      digits[--at] = '-';
    duck_vector_set_string (call->result, row, digits + at, sizeof digits - at);
  }
  return TRUE;
}

/* (text of a decimal number, places): with commas, rounded half even */
static gboolean
format_number_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gboolean negative = size > 0 && text[0] == '-';
    g_autoptr (GString) out = g_string_new (NULL);
    const char *digits = text + negative;
    gsize n = size - negative;
    const char *point = memchr (digits, '.', n);
    gsize whole = point != NULL ? (gsize) (point - digits) : n;
    for (gsize i = 0; i < n; i++) {
      if (i > 0 && i < whole && (whole - i) % 3 == 0)
        g_string_append_c (out, ',');
      g_string_append_c (out, digits[i]);
    }
    gboolean zero = strspn (out->str, "0.,") == out->len;
    if (negative && !zero)
      g_string_prepend_c (out, '-');
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

const DuckKernel *
relation_kernel_rows_text (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_base64", .args = { "BLOB" }, .result = "VARCHAR", .run = base64_run },
    { .name = "sluice_unbase64",
      .args = { "VARCHAR" },
      .result = "BLOB",
      .run = decode_digits_run,
      .variant = DIGITS_BASE64 },
    { .name = "sluice_base32", .args = { "BLOB" }, .result = "VARCHAR", .run = base32_run },
    { .name = "sluice_unbase32",
      .args = { "VARCHAR" },
      .result = "BLOB",
      .run = decode_digits_run,
      .variant = DIGITS_BASE32 },
    { .name = "sluice_unhex", .args = { "VARCHAR", "BOOLEAN" }, .result = "BLOB", .run = unhex_run },
    { .name = "sluice_url_encode", .args = { "VARCHAR" }, .result = "VARCHAR", .run = url_encode_run },
    { .name = "sluice_url_decode", .args = { "VARCHAR", "BOOLEAN" }, .result = "VARCHAR", .run = url_decode_run },
    { .name = "sluice_parse_url",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN" },
      .result = "VARCHAR",
      .flags = DUCK_KERNEL_NULLS,
      .run = parse_url_run },
    { .name = "sluice_encode", .args = { "VARCHAR", "VARCHAR" }, .result = "BLOB", .run = encode_run },
    { .name = "sluice_decode", .args = { "BLOB", "VARCHAR" }, .result = "VARCHAR", .run = decode_run },
    { .name = "sluice_conv", .args = { "VARCHAR", "INTEGER", "INTEGER" }, .result = "VARCHAR", .run = conv_run },
    { .name = "sluice_group_digits", .args = { "VARCHAR" }, .result = "VARCHAR", .run = format_number_run },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

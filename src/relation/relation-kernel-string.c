/* Strings by code points, as Java's String methods see them, where DuckDB answers differently.
 *
 * Arguments are valid UTF-8; binary forms work on bytes and share the callbacks (the vector's kind tells).
 */
#include "relation-kernel-private.h"

#include <string.h>

/* ---- code points ---- */

/* Byte offset of character @index, @size when there are fewer. */
static gsize
offset_of (const char *text, gsize size, gint64 index)
{
  gsize at = 0;
  for (; index > 0 && at < size; index--)
    at += relation_utf8_char_size (text + at);
  return MIN (at, size);
}

static gunichar *
to_chars (const char *text, gsize size, glong *n)
{
  gunichar *chars = g_new (gunichar, size + 1);
  glong count = 0;
  for (gsize at = 0; at < size; at += relation_utf8_char_size (text + at))
    chars[count++] = g_utf8_get_char (text + at);
  *n = count;
  return chars;
}

/* The first occurrence of @needle at or after byte @from, or -1. */
static gssize
find_bytes (const char *text, gsize size, const char *needle, gsize needle_size, gsize from)
{
  if (needle_size > size || from > size)
    return -1;
  const char *found = needle_size == 0 ? text + from : memmem (text + from, size - from, needle, needle_size);
  return found == NULL ? -1 : found - text;
}

/* A result longer than this is refused rather than built. */
#define MAX_RESULT_BYTES (256 * 1024 * 1024)

static gboolean
check_size (RelationInt128 size, GError **error)
{
  return size <= MAX_RESULT_BYTES ||
         base_error_set (error, SLUICE_ERROR_OUT_OF_MEMORY, "a string would have more than 256 MiB");
}

/* ---- case ---- */

typedef char *(*CaseFunction) (const char *text, gssize size);

static gboolean
is_ascii (const char *text, gsize size)
{
  for (gsize i = 0; i < size; i++)
    if ((guchar) text[i] >= 0x80)
      return FALSE;
  return TRUE;
}

/* GLib stops at NUL, so the text goes in pieces between them. */
static void
append_case (GString *out, const char *text, gsize size, CaseFunction function)
{
  while (size > 0) {
    gsize n = strnlen (text, size);
    if (n > 0) {
      g_autofree char *changed = function (text, (gssize) n);
      g_string_append (out, changed);
    }
    if (n < size)
      g_string_append_c (out, '\0');
    n += n < size;
    text += n;
    size -= n;
  }
}

enum { CASE_LOWER, CASE_UPPER };

static gboolean
case_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean upper = call->variant == CASE_UPPER;
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_string_truncate (out, 0);
    if (is_ascii (text, size))
      for (gsize i = 0; i < size; i++)
        g_string_append_c (out, upper ? g_ascii_toupper (text[i]) : g_ascii_tolower (text[i]));
    else
      append_case (out, text, size, upper ? g_utf8_strup : g_utf8_strdown);
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* The first letter after a blank is title case, the others lower case. */
static gboolean
initcap_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GString) lower = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_string_truncate (out, 0);
    g_string_truncate (lower, 0);
    append_case (lower, text, size, g_utf8_strdown);
    gboolean start = TRUE;
    for (gsize at = 0; at < lower->len; at += relation_utf8_char_size (lower->str + at)) {
      gunichar c = g_utf8_get_char (lower->str + at);
      g_string_append_unichar (out, start ? g_unichar_totitle (c) : c);
      start = c == ' ';
    }
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* ---- parts ---- */

/* (text or bytes, position from 1 or from the end, length) */
static gboolean
substring_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean bytes = call->args[0].kind == DUCK_KIND_BLOB;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gint64 n = bytes ? (gint64) size : relation_utf8_n_chars (text, size);
    gint64 position = duck_vector_int64 (&call->args[1], row), length = duck_vector_int64 (&call->args[2], row);
    gint64 start = position > 0 ? position - 1 : position < 0 ? n + position : 0;
    gint64 end = start + length;
    start = CLAMP (start, 0, n);
    end = CLAMP (end, start, n);
    gsize from = bytes ? (gsize) start : offset_of (text, size, start);
    gsize to = bytes ? (gsize) end : from + offset_of (text + from, size - from, end - start);
    duck_vector_set_string (call->result, row, text + from, to - from);
  }
  return TRUE;
}

/* (text, n): the last n characters */
static gboolean
right_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean bytes = call->args[0].kind == DUCK_KIND_BLOB;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gint64 n = bytes ? (gint64) size : relation_utf8_n_chars (text, size);
    gint64 wanted = CLAMP (duck_vector_int64 (&call->args[1], row), 0, n);
    gsize from = bytes ? (gsize) (n - wanted) : offset_of (text, size, n - wanted);
    duck_vector_set_string (call->result, row, text + from, size - from);
  }
  return TRUE;
}

/* (text, delimiter, count): up to the count-th delimiter, from the right when negative */
static gboolean
substring_index_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *delimiter = duck_vector_string (&call->args[1], row, &n);
    gint64 count = duck_vector_int64 (&call->args[2], row);
    gsize from = 0, to = size;
    if (count == 0 || n == 0)
      to = 0;
    else if (count > 0) {
      gsize at = 0;
      for (; count > 0; count--) {
        gssize found = find_bytes (text, size, delimiter, n, at);
        if (found < 0)
          break;
        to = (gsize) found;
        at = to + 1;
      }
      if (count > 0)
        to = size;
    } else {
      gssize at = (gssize) size - (gssize) n;
      for (; count < 0; count++, at--) {
        while (at >= 0 && memcmp (text + at, delimiter, n) != 0)
          at--;
        if (at < 0)
          break;
        from = (gsize) at + n;
      }
      if (count < 0)
        from = 0;
    }
    duck_vector_set_string (call->result, row, text + from, to - from);
  }
  return TRUE;
}

/* (text, characters, which ends: 1 left, 2 right, 3 both) */
static gboolean
trim_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *set = duck_vector_string (&call->args[1], row, &n);
    gint64 ends = duck_vector_int64 (&call->args[2], row);
    gsize from = 0, to = size;
    if ((ends & 1) != 0)
      while (from < to) {
        gsize step = relation_utf8_char_size (text + from);
        if (find_bytes (set, n, text + from, step, 0) < 0)
          break;
        from += step;
      }
    if ((ends & 2) != 0)
      while (to > from) {
        gsize step = 1;
        while (step < to - from && ((guchar) text[to - step] & 0xc0) == 0x80)
          step++;
        if (find_bytes (set, n, text + to - step, step, 0) < 0)
          break;
        to -= step;
      }
    duck_vector_set_string (call->result, row, text + from, to - from);
  }
  return TRUE;
}

/* (text or bytes, length, pad, left?) */
static gboolean
pad_run (const DuckKernelCall *call, GError **error)
{
  gboolean bytes = call->args[0].kind == DUCK_KIND_BLOB;
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, pad_size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gint64 length = MAX (duck_vector_int64 (&call->args[1], row), 0);
    const char *pad = duck_vector_string (&call->args[2], row, &pad_size);
    gboolean left = duck_vector_bool (&call->args[3], row);
    gint64 n = bytes ? (gint64) size : relation_utf8_n_chars (text, size);
    if (length <= n || pad_size == 0) {
      gsize to = length >= n ? size : bytes ? (gsize) length : offset_of (text, size, length);
      duck_vector_set_string (call->result, row, text, to);
      continue;
    }
    gint64 pad_chars = bytes ? (gint64) pad_size : relation_utf8_n_chars (pad, pad_size);
    gint64 missing = length - n;
    if (!check_size ((RelationInt128) missing * 4 + size, error))
      return FALSE;
    g_string_truncate (out, 0);
    if (!left)
      g_string_append_len (out, text, (gssize) size);
    for (gint64 i = 0; i < missing / pad_chars; i++)
      g_string_append_len (out, pad, (gssize) pad_size);
    gint64 rest = missing % pad_chars;
    g_string_append_len (out, pad, (gssize) (bytes ? (gsize) rest : offset_of (pad, pad_size, rest)));
    if (left)
      g_string_append_len (out, text, (gssize) size);
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
repeat_run (const DuckKernelCall *call, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gint64 n = size == 0 ? 0 : MAX (duck_vector_int64 (&call->args[1], row), 0);
    if (!check_size ((RelationInt128) n * size, error))
      return FALSE;
    g_string_truncate (out, 0);
    for (gint64 i = 0; i < n; i++)
      g_string_append_len (out, text, (gssize) size);
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
reverse_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autofree char *out = g_malloc (size + 1);
    for (gsize at = 0; at < size;) {
      gsize step = MIN (relation_utf8_char_size (text + at), size - at);
      memcpy (out + size - at - step, text + at, step);
      at += step;
    }
    duck_vector_set_string (call->result, row, out, size);
  }
  return TRUE;
}

/* ---- finding ---- */

/* (needle, text, start from 1): 0 when there is none */
static gboolean
locate_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    gint64 result = 0;
    if (duck_vector_is_null (&call->args[2], row)) {
      duck_vector_set (call->result, gint32, row, 0); /* Spark: a NULL start finds nothing */
      continue;
    }
    if (duck_vector_is_null (&call->args[0], row) || duck_vector_is_null (&call->args[1], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    gsize n, size;
    const char *needle = duck_vector_string (&call->args[0], row, &n);
    const char *text = duck_vector_string (&call->args[1], row, &size);
    gint64 start = duck_vector_int64 (&call->args[2], row);
    if (start >= 1 && start - 1 <= relation_utf8_n_chars (text, size)) {
      gssize found = find_bytes (text, size, needle, n, offset_of (text, size, start - 1));
      result = found < 0 ? 0 : relation_utf8_n_chars (text, (gsize) found) + 1;
    }
    duck_vector_set (call->result, gint32, row, (gint32) result);
  }
  return TRUE;
}

static gboolean
find_in_set_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize n, size;
    const char *word = duck_vector_string (&call->args[0], row, &n);
    const char *list = duck_vector_string (&call->args[1], row, &size);
    gint32 result = 0, index = 1;
    const char *end = list + size;
    if (memchr (word, ',', n) == NULL)
      for (const char *p = list;; index++) {
        const char *comma = memchr (p, ',', (gsize) (end - p));
        gsize length = (gsize) ((comma != NULL ? comma : end) - p);
        if (length == n && memcmp (p, word, n) == 0) {
          result = index;
          break;
        }
        if (comma == NULL)
          break;
        p = comma + 1;
      }
    duck_vector_set (call->result, gint32, row, result);
  }
  return TRUE;
}

/* ---- changing ---- */

static gboolean
replace_run (const DuckKernelCall *call, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n, m;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *search = duck_vector_string (&call->args[1], row, &n);
    const char *by = duck_vector_string (&call->args[2], row, &m);
    gsize at = 0;
    g_string_truncate (out, 0);
    for (;;) {
      gssize found = n == 0 ? -1 : find_bytes (text, size, search, n, at);
      if (found < 0)
        break;
      g_string_append_len (out, text + at, found - (gssize) at);
      g_string_append_len (out, by, (gssize) m);
      at = (gsize) found + n;
      if (!check_size (out->len, error))
        return FALSE;
    }
    g_string_append_len (out, text + at, (gssize) (size - at));
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* Each character of the second becomes the one at its place in the third, or vanishes. */
static gboolean
translate_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n, m;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *from = duck_vector_string (&call->args[1], row, &n);
    const char *to = duck_vector_string (&call->args[2], row, &m);
    g_string_truncate (out, 0);
    for (gsize at = 0; at < size; at += relation_utf8_char_size (text + at)) {
      gsize step = relation_utf8_char_size (text + at);
      gsize a = 0, b = 0;
      while (a < n && (relation_utf8_char_size (from + a) != step || memcmp (from + a, text + at, step) != 0)) {
        a += relation_utf8_char_size (from + a);
        if (b < m)
          b += relation_utf8_char_size (to + b);
      }
      if (a >= n)
        g_string_append_len (out, text + at, (gssize) step);
      else if (b < m)
        g_string_append_len (out, to + b, (gssize) relation_utf8_char_size (to + b));
    }
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* (text or bytes, by, position, length; -1 = that of @by) */
static gboolean
overlay_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean bytes = call->args[0].kind == DUCK_KIND_BLOB;
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, m;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *by = duck_vector_string (&call->args[1], row, &m);
    gint64 position = duck_vector_int64 (&call->args[2], row), length = duck_vector_int64 (&call->args[3], row);
    gint64 n = bytes ? (gint64) size : relation_utf8_n_chars (text, size);
    if (length < 0)
      length = bytes ? (gint64) m : relation_utf8_n_chars (by, m);
    /* Spark: substring(1, position - 1) || by || substring(position + length) */
    gint64 head = CLAMP (position - 1, 0, n);
    gint64 tail_position = position + length;
    gint64 tail = tail_position > 0 ? tail_position - 1 : tail_position < 0 ? MAX (n + tail_position, 0) : 0;
    tail = MIN (tail, n);
    g_string_truncate (out, 0);
    g_string_append_len (out, text, (gssize) (bytes ? (gsize) head : offset_of (text, size, head)));
    g_string_append_len (out, by, (gssize) m);
    gsize from = bytes ? (gsize) tail : offset_of (text, size, tail);
    g_string_append_len (out, text + from, (gssize) (size - from));
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* (text, delimiter, part): parts count from 1, or from the end */
static gboolean
split_part_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *delimiter = duck_vector_string (&call->args[1], row, &n);
    gint64 wanted = duck_vector_int64 (&call->args[2], row);
    if (wanted == 0)
      return base_error_set (error, SLUICE_ERROR_INVALID_INDEX_OF_ZERO,
                             "the index 0 is invalid; parts count from 1 or -1");
    gint64 n_parts = 1;
    if (wanted < 0 && n > 0)
      for (gssize at = find_bytes (text, size, delimiter, n, 0); at >= 0;
           at = find_bytes (text, size, delimiter, n, (gsize) at + n))
        n_parts++;
    gint64 index = wanted > 0 ? wanted - 1 : n_parts + wanted;
    gsize from = 0;
    gboolean found = index >= 0;
    for (gint64 i = 0; found && i < index; i++) {
      gssize at = n == 0 ? -1 : find_bytes (text, size, delimiter, n, from);
      found = at >= 0;
      from = (gsize) at + n;
    }
    if (!found) {
      duck_vector_set_string (call->result, row, "", 0);
      continue;
    }
    gssize to = n == 0 ? -1 : find_bytes (text, size, delimiter, n, from);
    duck_vector_set_string (call->result, row, text + from, (to < 0 ? size : (gsize) to) - from);
  }
  return TRUE;
}

/* ---- characters ---- */

static gboolean
ascii_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    duck_vector_set (call->result, gint32, row, size == 0 ? 0 : (gint32) g_utf8_get_char (text));
  }
  return TRUE;
}

static gboolean
chr_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 code = duck_vector_int64 (&call->args[0], row);
    char text[8];
    if (code < 0)
      duck_vector_set_string (call->result, row, "", 0);
    else
      duck_vector_set_string (call->result, row, text, (gsize) g_unichar_to_utf8 ((gunichar) (code & 0xff), text));
  }
  return TRUE;
}

static gboolean
soundex_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  /* Digits of A…Z; 0 = a vowel, which separates, 7 = H and W, which do not. */
  static const char codes[] = "01230127022455012623017202";
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    if (size == 0 || !g_ascii_isalpha (text[0])) {
      duck_vector_set_string (call->result, row, text, size);
      continue;
    }
    char out[4] = { g_ascii_toupper (text[0]), '0', '0', '0' };
    gsize n = 1;
    char last = codes[out[0] - 'A'];
    for (gsize i = 1; i < size && n < 4; i++) {
      if (!g_ascii_isalpha (text[i])) {
        last = '0';
        continue;
      }
      char code = codes[g_ascii_toupper (text[i]) - 'A'];
      if (code == '7')
        continue; /* what is before and after them is one sound */
      if (code != '0' && code != last)
        out[n++] = code;
      last = code;
    }
    duck_vector_set_string (call->result, row, out, 4);
  }
  return TRUE;
}

/* (a, b, most; negative = no limit): -1 above the limit */
static gboolean
levenshtein_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size_a, size_b;
    const char *text_a = duck_vector_string (&call->args[0], row, &size_a);
    const char *text_b = duck_vector_string (&call->args[1], row, &size_b);
    gint64 most = duck_vector_int64 (&call->args[2], row);
    glong n, m;
    if (!check_size ((RelationInt128) size_a * size_b, error))
      return FALSE;
    g_autofree gunichar *a = to_chars (text_a, size_a, &n);
    g_autofree gunichar *b = to_chars (text_b, size_b, &m);
    g_autofree glong *costs = g_new (glong, m + 1);
    for (glong k = 0; k <= m; k++)
      costs[k] = k;
    for (glong i = 1; i <= n; i++) {
      glong diagonal = costs[0];
      costs[0] = i;
      for (glong k = 1; k <= m; k++) {
        glong substitute = diagonal + (a[i - 1] != b[k - 1]);
        diagonal = costs[k];
        costs[k] = MIN (substitute, MIN (costs[k], costs[k - 1]) + 1);
      }
    }
    duck_vector_set (call->result, gint32, row, most >= 0 && costs[m] > most ? -1 : (gint32) costs[m]);
  }
  return TRUE;
}

/* (text, upper, lower, digit, other): NULL keeps the class */
static gboolean
mask_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; row < call->n_rows; row++) {
    if (duck_vector_is_null (&call->args[0], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_string_truncate (out, 0);
    for (gsize at = 0; at < size; at += relation_utf8_char_size (text + at)) {
      gunichar c = g_utf8_get_char (text + at);
      guint which = g_unichar_isupper (c) ? 1 : g_unichar_islower (c) ? 2 : g_unichar_isdigit (c) ? 3 : 4;
      gsize n;
      if (duck_vector_is_null (&call->args[which], row)) {
        g_string_append_unichar (out, c);
        continue;
      }
      const char *by = duck_vector_string (&call->args[which], row, &n);
      g_string_append_len (out, by, (gssize) n);
    }
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
quote_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_string_assign (out, "'");
    for (gsize i = 0; i < size; i++) {
      if (text[i] == '\'')
        g_string_append_c (out, '\\');
      g_string_append_c (out, text[i]);
    }
    g_string_append_c (out, '\'');
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

static gboolean
luhn_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    gboolean valid = size > 0;
    guint sum = 0;
    for (gsize i = 0; valid && i < size; i++) {
      valid = g_ascii_isdigit (text[i]);
      guint digit = (guint) (text[i] - '0') << ((size - i) % 2 == 0);
      sum += digit > 9 ? digit - 9 : digit;
    }
    duck_vector_set (call->result, guint8, row, valid && sum % 10 == 0);
  }
  return TRUE;
}

/* ---- UTF-8 ---- */

static gboolean
is_valid_utf8_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) valid = g_string_new (NULL);
    duck_vector_set (call->result, guint8, row, (guint8) relation_append_utf8 (valid, bytes, size));
  }
  return TRUE;
}

enum { UTF8_MAKE, UTF8_VALIDATE, UTF8_TRY };

static gboolean
utf8_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *bytes = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (GString) valid = g_string_new (NULL);
    if (relation_append_utf8 (valid, bytes, size) || call->variant == UTF8_MAKE)
      relation_vector_set_gstring (call->result, row, valid);
    else if (call->variant == UTF8_TRY)
      duck_vector_set_null (call->result, row);
    else
      return base_error_set (error, SLUICE_ERROR_INVALID_UTF8_STRING, "bytes are not valid UTF-8");
  }
  return TRUE;
}

/* The text itself, as long as bytes are characters: guards functions of DuckDB that count bytes. */
static gboolean
ascii_only_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    if (!is_ascii (text, size))
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                             "this function of text beyond ASCII is not supported");
    duck_vector_set_string (call->result, row, text, size);
  }
  return TRUE;
}

/* ---- errors on purpose ---- */

static gboolean
user_error (const DuckVector *message, guint row, GError **error)
{
  gsize size = 4;
  const char *text = duck_vector_is_null (message, row) ? "null" : duck_vector_string (message, row, &size);
  return base_error_set (error, SLUICE_ERROR_USER_RAISED_EXCEPTION, "%.*s", (int) MIN (size, 10000), text);
}

static gboolean
raise_error_run (const DuckKernelCall *call, GError **error)
{
  return call->n_rows == 0 || user_error (&call->args[0], 0, error);
}

static gboolean
assert_true_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    if (duck_vector_is_null (&call->args[0], row) || !duck_vector_bool (&call->args[0], row))
      return user_error (&call->args[1], row, error);
    duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

#define TEXT(sql_name, function)                                                                                       \
  {                                                                                                                    \
    .name = sql_name, .args = { "VARCHAR" }, .result = "VARCHAR", .run = function                                      \
  }

const DuckKernel *
relation_kernel_rows_string (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_upper", .args = { "VARCHAR" }, .result = "VARCHAR", .run = case_run, .variant = CASE_UPPER },
    { .name = "sluice_lower", .args = { "VARCHAR" }, .result = "VARCHAR", .run = case_run, .variant = CASE_LOWER },
    TEXT ("sluice_initcap", initcap_run),
    TEXT ("sluice_reverse", reverse_run),
    TEXT ("sluice_soundex", soundex_run),
    TEXT ("sluice_quote", quote_run),
    TEXT ("sluice_ascii_only", ascii_only_run),
    { .name = "sluice_substring",
      .args = { "VARCHAR", "INTEGER", "INTEGER" },
      .result = "VARCHAR",
      .run = substring_run },
    { .name = "sluice_substring", .args = { "BLOB", "INTEGER", "INTEGER" }, .result = "BLOB", .run = substring_run },
    { .name = "sluice_right", .args = { "VARCHAR", "INTEGER" }, .result = "VARCHAR", .run = right_run },
    { .name = "sluice_right", .args = { "BLOB", "INTEGER" }, .result = "BLOB", .run = right_run },
    { .name = "sluice_substring_index",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "VARCHAR",
      .run = substring_index_run },
    { .name = "sluice_trim", .args = { "VARCHAR", "VARCHAR", "INTEGER" }, .result = "VARCHAR", .run = trim_run },
    { .name = "sluice_pad",
      .args = { "VARCHAR", "INTEGER", "VARCHAR", "BOOLEAN" },
      .result = "VARCHAR",
      .run = pad_run },
    { .name = "sluice_pad", .args = { "BLOB", "INTEGER", "BLOB", "BOOLEAN" }, .result = "BLOB", .run = pad_run },
    { .name = "sluice_repeat", .args = { "VARCHAR", "INTEGER" }, .result = "VARCHAR", .run = repeat_run },
    { .name = "sluice_locate",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "INTEGER",
      .flags = DUCK_KERNEL_NULLS,
      .run = locate_run },
    { .name = "sluice_find_in_set", .args = { "VARCHAR", "VARCHAR" }, .result = "INTEGER", .run = find_in_set_run },
    { .name = "sluice_replace", .args = { "VARCHAR", "VARCHAR", "VARCHAR" }, .result = "VARCHAR", .run = replace_run },
    { .name = "sluice_translate",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR" },
      .result = "VARCHAR",
      .run = translate_run },
    { .name = "sluice_overlay",
      .args = { "VARCHAR", "VARCHAR", "INTEGER", "INTEGER" },
      .result = "VARCHAR",
      .run = overlay_run },
    { .name = "sluice_overlay",
      .args = { "BLOB", "BLOB", "INTEGER", "INTEGER" },
      .result = "BLOB",
      .run = overlay_run },
    { .name = "sluice_split_part",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "VARCHAR",
      .run = split_part_run },
    { .name = "sluice_ascii", .args = { "VARCHAR" }, .result = "INTEGER", .run = ascii_run },
    { .name = "sluice_chr", .args = { "BIGINT" }, .result = "VARCHAR", .run = chr_run },
    { .name = "sluice_levenshtein",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "INTEGER",
      .run = levenshtein_run },
    { .name = "sluice_mask",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR" },
      .result = "VARCHAR",
      .flags = DUCK_KERNEL_NULLS,
      .run = mask_run },
    { .name = "sluice_luhn_check", .args = { "VARCHAR" }, .result = "BOOLEAN", .run = luhn_run },
    { .name = "sluice_is_valid_utf8", .args = { "BLOB" }, .result = "BOOLEAN", .run = is_valid_utf8_run },
    { .name = "sluice_make_valid_utf8",
      .args = { "BLOB" },
      .result = "VARCHAR",
      .run = utf8_run,
      .variant = UTF8_MAKE },
    { .name = "sluice_validate_utf8",
      .args = { "BLOB" },
      .result = "VARCHAR",
      .run = utf8_run,
      .variant = UTF8_VALIDATE },
    { .name = "sluice_try_validate_utf8",
      .args = { "BLOB" },
      .result = "VARCHAR",
      .run = utf8_run,
      .variant = UTF8_TRY },
    { .name = "sluice_raise_error",
      .args = { "VARCHAR" },
      .result = "INTEGER",
      .flags = DUCK_KERNEL_NULLS | DUCK_KERNEL_VOLATILE,
      .run = raise_error_run },
    { .name = "sluice_assert_true",
      .args = { "BOOLEAN", "VARCHAR" },
      .result = "INTEGER",
      .flags = DUCK_KERNEL_NULLS | DUCK_KERNEL_VOLATILE,
      .run = assert_true_run },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

/* Small strings: see base-text.h. */
#include "base-text.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static void
append_quoted (GString *out, const char *text, char quote)
{
  g_string_append_c (out, quote);
  for (const char *p = text; *p != '\0'; p++) {
    if (*p == quote)
      g_string_append_c (out, quote);
    g_string_append_c (out, *p);
  }
  g_string_append_c (out, quote);
}

void
base_text_append_sql_literal (GString *out, const char *text)
{
  append_quoted (out, text, '\'');
}

void
base_text_append_sql_identifier (GString *out, const char *name)
{
  append_quoted (out, name, '"');
}

char *
base_text_sql_literal (const char *text)
{
  GString *out = g_string_new (NULL);

  append_quoted (out, text, '\'');
  return g_string_free (out, FALSE);
}

char *
base_text_sql_identifier (const char *name)
{
  GString *out = g_string_new (NULL);

  append_quoted (out, name, '"');
  return g_string_free (out, FALSE);
}

static gboolean
is_plain_name (const char *name)
{
  if (!g_ascii_isalpha (*name) && *name != '_')
    return FALSE;
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && *p != '_')
      return FALSE;
  return TRUE;
}

char *
base_text_spark_identifier (const char *name)
{
  if (is_plain_name (name))
    return g_strdup (name);
  GString *out = g_string_new (NULL);
  append_quoted (out, name, '`');
  return g_string_free (out, FALSE);
}

/* Characters that java.net.URI leaves alone in a path. Bytes above 127 are its "other" characters and stay as they are. */
static gboolean
stays_in_uri (guchar c)
{
  return g_ascii_isalnum (c) || c >= 128 || strchr ("/-_.!~*'():@&=+$,;", c) != NULL;
}

char *
base_text_uri_encode_path (const char *path)
{
  GString *out = g_string_sized_new (strlen (path) + 16);

  for (const guchar *p = (const guchar *) path; *p != '\0'; p++) {
    if (stays_in_uri (*p))
      g_string_append_c (out, (char) *p);
    else
      g_string_append_printf (out, "%%%02X", *p);
  }
  return g_string_free (out, FALSE);
}

char *
base_text_uri_decode (const char *text)
{
  g_autoptr (GString) out = g_string_sized_new (strlen (text));

  for (const char *p = text; *p != '\0'; p++) {
    if (*p != '%') {
      g_string_append_c (out, *p);
      continue;
    }
    int high = g_ascii_xdigit_value (p[1]);
    int low = high < 0 ? -1 : g_ascii_xdigit_value (p[2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0))
      return NULL;
    g_string_append_c (out, (char) (high * 16 + low));
    p += 2;
  }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

char *
base_text_uuid (void)
{
  /* Not g_uuid_string_random(): its generator's state is copied by fork(), and two processes would name the same files. */
  guint8 b[16];
  gsize n_filled = 0;

  while (n_filled < sizeof b) {
    gssize n = getrandom (b + n_filled, sizeof b - n_filled, 0);
    if (n > 0)
      n_filled += (gsize) n;
    else
      g_assert (errno == EINTR); /* the only failure of so small a request */
  }
  b[6] = (b[6] & 0x0f) | 0x40; /* version 4, random */
  b[8] = (b[8] & 0x3f) | 0x80; /* variant of RFC 4122 */
  return g_strdup_printf ("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
                          b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

char *
base_text_sha256 (gconstpointer data, gsize size)
{
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
}

char *
base_text_folded (const char *name)
{
  if (g_str_is_ascii (name))
    return g_ascii_strdown (name, -1);
  if (!g_utf8_validate (name, -1, NULL))
    return g_strdup (name);
  /* Lower of upper folds what differs only in case without g_utf8_casefold()'s expansions (ß stays apart from ss). */
  g_autofree char *upper = g_utf8_strup (name, -1);
  g_autofree char *lower_first = g_utf8_strdown (name, -1);
  if (g_utf8_strlen (upper, -1) != g_utf8_strlen (name, -1))
    return g_steal_pointer (&lower_first);
  return g_utf8_strdown (upper, -1);
}

gboolean
base_text_equal_ignore_case (const char *a, const char *b)
{
  if (g_ascii_strcasecmp (a, b) == 0)
    return TRUE;
  if (g_str_is_ascii (a) && g_str_is_ascii (b))
    return FALSE;
  g_autofree char *folded_a = base_text_folded (a);
  g_autofree char *folded_b = base_text_folded (b);
  return strcmp (folded_a, folded_b) == 0;
}

/* Levenshtein distance of two names, bytewise, bounded: names are cut at 63 bytes. */
static guint
edit_distance (const char *a, const char *b)
{
  guint row[64];
  gsize len_a = MIN (strlen (a), 63);
  gsize len_b = MIN (strlen (b), 63);

  for (guint j = 0; j <= len_b; j++)
    row[j] = j;
  for (guint i = 1; i <= len_a; i++) {
    guint diagonal = row[0];
    row[0] = i;
    for (guint j = 1; j <= len_b; j++) {
      guint substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = MIN (MIN (row[j], row[j - 1]) + 1, substituted);
    }
  }
  return row[len_b];
}

/* Of the whole candidate, or of its last part, which is a step farther: the name of something in another schema. */
static guint
name_distance (const char *name, const char *candidate)
{
  guint whole = edit_distance (name, candidate);
  const char *dot = strrchr (candidate, '.');

  return dot != NULL ? MIN (whole, edit_distance (name, dot + 1) + 1) : whole;
}

char *
base_text_near_names (const char *name, const char *const *candidates, guint n_most)
{
  g_autofree char *folded = base_text_folded (name);
  g_autoptr (GString) out = g_string_new (NULL);
  guint n_found = 0;

  for (guint distance = 0; distance <= MAX (1, strlen (name) / 3) && n_found < n_most; distance++) {
    for (guint i = 0; candidates[i] != NULL && n_found < n_most; i++) {
      g_autofree char *candidate = base_text_folded (candidates[i]);
      if (name_distance (folded, candidate) != distance)
        continue;
      g_string_append_printf (out, "%s`%s`", n_found++ > 0 ? ", " : "", candidates[i]);
    }
  }
  return n_found > 0 ? g_string_free (g_steal_pointer (&out), FALSE) : NULL;
}

gboolean
base_text_parse_int64 (const char *text, gint64 *value)
{
  return *text != '\0' && g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, value, NULL);
}

char *
base_text_size (guint64 bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  double size = (double) bytes;
  guint unit = 0;

  while (size >= 1024 && unit + 1 < G_N_ELEMENTS (units)) {
    size /= 1024;
    unit++;
  }
  return g_strdup_printf (unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

char *
base_text_count (guint64 n)
{
  char digits[32];
  int len = g_snprintf (digits, sizeof digits, "%" G_GUINT64_FORMAT, n);
  GString *out = g_string_sized_new (40);

  for (int i = 0; i < len; i++) {
    if (i > 0 && (len - i) % 3 == 0)
      g_string_append_c (out, ',');
    g_string_append_c (out, digits[i]);
  }
  return g_string_free (out, FALSE);
}

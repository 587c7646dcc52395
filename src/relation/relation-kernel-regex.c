/* LIKE and functions of regular expressions. */
#include "relation-kernel-private.h"
#include "relation-regex-private.h"

#include <string.h>

/* ---- LIKE ---- */

/* Whether every escape in the pattern stands before `_`, `%` or itself. */
static gboolean
check_like (const char *pattern, gsize size, gunichar escape, GError **error)
{
  for (gsize i = 0; i < size; i += relation_utf8_char_size (pattern + i)) {
    if (g_utf8_get_char (pattern + i) != escape)
      continue;
    i += relation_utf8_char_size (pattern + i);
    if (i >= size)
      return base_error_set (error, SLUICE_ERROR_INVALID_FORMAT_ESC_AT_THE_END,
                             "the escape character stands at the end of a LIKE pattern");
    gunichar next = g_utf8_get_char (pattern + i);
    if (next != '_' && next != '%' && next != escape)
      return base_error_set (error, SLUICE_ERROR_INVALID_FORMAT_ESC_IN_THE_MIDDLE,
                             "the escape character of a LIKE pattern stands before an ordinary character");
  }
  return TRUE;
}

/* Greedy matching with one point of return: the last `%`. */
static gboolean
like (const char *text, gsize size, const char *pattern, gsize n, gunichar escape)
{
  gsize t = 0, p = 0, back_t = 0, back_p = 0;
  gboolean has_back = FALSE;
  while (t < size || p < n) {
    if (p < n) {
      gunichar c = g_utf8_get_char (pattern + p);
      gsize step = relation_utf8_char_size (pattern + p);
      if (c == '%' && c != escape) {
        has_back = TRUE;
        p += step;
        back_p = p;
        back_t = t;
        continue;
      }
      gsize literal = p;
      if (c == escape) {
        literal = p + step;
        step += relation_utf8_char_size (pattern + literal);
      }
      if (t < size) {
        gsize width = relation_utf8_char_size (text + t);
        gboolean any = c == '_' && c != escape;
        if (any || (width == relation_utf8_char_size (pattern + literal) &&
                    memcmp (text + t, pattern + literal, width) == 0)) {
          t += width;
          p += step;
          continue;
        }
      }
    }
    if (!has_back || back_t >= size)
      return FALSE;
    back_t += relation_utf8_char_size (text + back_t);
    t = back_t;
    p = back_p;
  }
  return TRUE;
}

/* (text, pattern, escape) */
static gboolean
like_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n, m;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *pattern = duck_vector_string (&call->args[1], row, &n);
    const char *escape_text = duck_vector_string (&call->args[2], row, &m);
    gunichar escape = m == 0 ? '\\' : g_utf8_get_char (escape_text);
    if (!check_like (pattern, n, escape, error))
      return FALSE;
    duck_vector_set (call->result, guint8, row, (guint8) like (text, size, pattern, n, escape));
  }
  return TRUE;
}

/* ---- the expression of a call: argument 1 of all ---- */

static gboolean
regex_bind (const DuckKernelBind *bind, G_GNUC_UNUSED gpointer user_data, gpointer *bind_data, GError **error)
{
  g_autofree char *text = NULL;
  *bind_data = NULL;
  if (!duck_kernel_bind_constant (bind, 1, &text) || text == NULL)
    return TRUE;
  *bind_data = relation_regex_new (text, strlen (text), error);
  return *bind_data != NULL;
}

static void
regex_bind_free (gpointer data)
{
  relation_regex_free (data);
}

/* The search of a row: its expression and match data for it, its text, and where to look on. */
typedef struct {
  const DuckKernelCall *call;
  RelationRegex *own;
  const RelationRegex *regex;
  pcre2_match_data *data;
  const char *text;
  gsize size;
  gsize at;
} Matcher;

static void
matcher_clear (Matcher *matcher)
{
  relation_regex_free (matcher->own);
  if (matcher->data != NULL)
    pcre2_match_data_free (matcher->data);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Matcher, matcher_clear)

static gboolean
matcher_compile (Matcher *matcher, guint row, GError **error)
{
  if (matcher->regex != NULL && matcher->regex == matcher->call->bind_data)
    return TRUE;
  if (matcher->call->bind_data != NULL)
    matcher->regex = matcher->call->bind_data;
  else {
    gsize size;
    const char *text = duck_vector_string (&matcher->call->args[1], row, &size);
    relation_regex_free (matcher->own);
    matcher->own = relation_regex_new (text, size, error);
    if (matcher->own == NULL)
      return FALSE;
    matcher->regex = matcher->own;
  }
  if (matcher->data != NULL)
    pcre2_match_data_free (matcher->data);
  matcher->data = pcre2_match_data_create_from_pattern (matcher->regex->code, NULL);
  return TRUE;
}

/* Begins the text and the expression of a row: arguments 0 and 1. */
static gboolean
matcher_row (Matcher *matcher, guint row, GError **error)
{
  matcher->text = duck_vector_string (&matcher->call->args[0], row, &matcher->size);
  matcher->at = 0;
  return matcher_compile (matcher, row, error);
}

/* The next match, and then looks on behind it: past it, and by one character past an empty one. @groups: (out) (nullable). */
static gboolean
matcher_find (Matcher *matcher, const PCRE2_SIZE **groups, GError **error)
{
  const PCRE2_SIZE *found = NULL;
  if (matcher->at <= matcher->size &&
      !relation_regex_match (matcher->regex, matcher->data, matcher->text, matcher->size, matcher->at, &found, error))
    return FALSE;
  if (found != NULL && found[1] > found[0])
    matcher->at = found[1];
  else if (found != NULL)
    matcher->at = found[1] + (found[1] < matcher->size ? relation_utf8_char_size (matcher->text + found[1]) : 1);
  *groups = found;
  return TRUE;
}

static gboolean
check_group (const Matcher *matcher, gint64 group, GError **error)
{
  if (group >= 0 && group <= matcher->regex->n_groups)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_REGEX_GROUP_INDEX,
                         "the expression has %u groups, group %" G_GINT64_FORMAT " is not one",
                         matcher->regex->n_groups, group);
}

/* ---- functions ---- */

static gboolean
rlike_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    const PCRE2_SIZE *groups;
    if (!matcher_row (&matcher, row, error) || !matcher_find (&matcher, &groups, error))
      return FALSE;
    duck_vector_set (call->result, guint8, row, groups != NULL);
  }
  return TRUE;
}

/* (text, expression, group) */
static gboolean
extract_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 group = duck_vector_int64 (&call->args[2], row);
    const PCRE2_SIZE *groups;
    if (!matcher_row (&matcher, row, error) || !matcher_find (&matcher, &groups, error))
      return FALSE;
    if (groups != NULL && !check_group (&matcher, group, error))
      return FALSE;
    if (groups == NULL || groups[2 * group] == PCRE2_UNSET)
      duck_vector_set_string (call->result, row, "", 0);
    else
      duck_vector_set_string (call->result, row, matcher.text + groups[2 * group],
                              groups[2 * group + 1] - groups[2 * group]);
  }
  return TRUE;
}

typedef struct {
  gsize from, to;
} Span;

static void
write_spans (DuckVector *result, guint row, const char *text, const GArray *spans)
{
  guint64 start = duck_vector_set_list (result, row, spans->len);
  for (guint i = 0; i < spans->len; i++) {
    const Span *span = &g_array_index (spans, Span, i);
    duck_vector_set_string (&result->children[0], start + i, text + span->from, span->to - span->from);
  }
}

/* (text, expression, group) */
static gboolean
extract_all_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint64 group = duck_vector_int64 (&call->args[2], row);
    if (!matcher_row (&matcher, row, error))
      return FALSE;
    g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (Span));
    for (;;) {
      const PCRE2_SIZE *groups;
      if (!matcher_find (&matcher, &groups, error))
        return FALSE;
      if (groups == NULL)
        break;
      if (!check_group (&matcher, group, error))
        return FALSE;
      Span span = { 0, 0 };
      if (groups[2 * group] != PCRE2_UNSET)
        span = (Span){ groups[2 * group], groups[2 * group + 1] };
      g_array_append_val (spans, span);
    }
    write_spans (call->result, row, matcher.text, spans);
  }
  return TRUE;
}

enum { FIND_COUNT, FIND_POSITION };

static gboolean
find_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    if (!matcher_row (&matcher, row, error))
      return FALSE;
    gint32 result = 0;
    for (;;) {
      const PCRE2_SIZE *groups;
      if (!matcher_find (&matcher, &groups, error))
        return FALSE;
      if (groups == NULL)
        break;
      if (call->variant == FIND_POSITION) {
        result = (gint32) relation_utf8_n_chars (matcher.text, groups[0]) + 1;
        break;
      }
      result++;
    }
    duck_vector_set (call->result, gint32, row, result);
  }
  return TRUE;
}

static gboolean
substr_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    const PCRE2_SIZE *groups;
    if (!matcher_row (&matcher, row, error) || !matcher_find (&matcher, &groups, error))
      return FALSE;
    if (groups != NULL)
      duck_vector_set_string (call->result, row, matcher.text + groups[0], groups[1] - groups[0]);
    else
      duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* Java's Matcher.appendReplacement: `$1`, `${name}`, `\x`. */
static gboolean
append_replacement (GString *out, const Matcher *matcher, const char *by, gsize n, const PCRE2_SIZE *groups,
                    GError **error)
{
  for (gsize i = 0; i < n; i++) {
    if (by[i] == '\\') {
      if (++i >= n)
        return base_error_set (error, SLUICE_ERROR_INVALID_REGEXP_REPLACE, "the replacement ends with a backslash");
      g_string_append_c (out, by[i]);
      continue;
    }
    if (by[i] != '$') {
      g_string_append_c (out, by[i]);
      continue;
    }
    gint64 group = -1;
    if (i + 1 < n && g_ascii_isdigit (by[i + 1])) {
      group = by[++i] - '0';
      if (group > matcher->regex->n_groups)
        return base_error_set (error, SLUICE_ERROR_INVALID_REGEXP_REPLACE,
                               "the replacement names a group that is not there");
      while (i + 1 < n && g_ascii_isdigit (by[i + 1]) && group * 10 + (by[i + 1] - '0') <= matcher->regex->n_groups)
        group = group * 10 + (by[++i] - '0');
    } else if (i + 1 < n && by[i + 1] == '{') {
      const char *close = memchr (by + i, '}', n - i);
      g_autofree char *name = close == NULL ? NULL : g_strndup (by + i + 2, (gsize) (close - by) - i - 2);
      int number = name == NULL ? -1 : pcre2_substring_number_from_name (matcher->regex->code, (PCRE2_SPTR) name);
      if (number < 0)
        return base_error_set (error, SLUICE_ERROR_INVALID_REGEXP_REPLACE,
                               "the replacement names a group that is not there");
      group = number;
      i = (gsize) (close - by);
    } else
      return base_error_set (error, SLUICE_ERROR_INVALID_REGEXP_REPLACE, "a $ of the replacement names no group");
    if (groups[2 * group] != PCRE2_UNSET)
      g_string_append_len (out, matcher->text + groups[2 * group],
                           (gssize) (groups[2 * group + 1] - groups[2 * group]));
  }
  return TRUE;
}

/* (text, expression, replacement, position from 1) */
static gboolean
replace_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize n, copied = 0;
    const char *by = duck_vector_string (&call->args[2], row, &n);
    gint64 position = duck_vector_int64 (&call->args[3], row);
    if (!matcher_row (&matcher, row, error))
      return FALSE;
    if (position < 1)
      return base_error_set (error, SLUICE_ERROR_DATATYPE_MISMATCH_VALUE_OUT_OF_RANGE, "the position must be above 0");
    for (gint64 i = 1; i < position && matcher.at < matcher.size; i++)
      matcher.at += relation_utf8_char_size (matcher.text + matcher.at);
    g_string_truncate (out, 0);
    for (;;) {
      const PCRE2_SIZE *groups;
      if (!matcher_find (&matcher, &groups, error))
        return FALSE;
      if (groups == NULL)
        break;
      g_string_append_len (out, matcher.text + copied, (gssize) (groups[0] - copied));
      if (!append_replacement (out, &matcher, by, n, groups, error))
        return FALSE;
      copied = groups[1];
    }
    g_string_append_len (out, matcher.text + copied, (gssize) (matcher.size - copied));
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* String.split: @limit > 0 bounds the number of parts; trailing empty parts stay. @characters: an empty expression, which
 * makes no part behind the last character. */
static gboolean
split (Matcher *matcher, gint64 limit, gboolean characters, GArray *spans, GError **error)
{
  gsize from = 0;
  while (limit <= 0 || spans->len + 1 < limit) {
    const PCRE2_SIZE *groups;
    if (!matcher_find (matcher, &groups, error))
      return FALSE;
    if (groups == NULL || (characters && groups[0] >= matcher->size))
      break;
    if (groups[1] == 0) /* an empty match at the beginning makes no part */
      continue;
    Span span = { from, groups[0] };
    g_array_append_val (spans, span);
    from = groups[1];
  }
  Span last = { from, matcher->size };
  g_array_append_val (spans, last);
  return TRUE;
}

/* (text, expression, limit) */
static gboolean
split_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) matcher = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (Span));
    gsize pattern_size;
    duck_vector_string (&call->args[1], row, &pattern_size);
    if (!matcher_row (&matcher, row, error) ||
        !split (&matcher, duck_vector_int64 (&call->args[2], row), pattern_size == 0, spans, error))
      return FALSE;
    write_spans (call->result, row, matcher.text, spans);
  }
  return TRUE;
}

/* (text, expression between entries, expression between key and value) */
static gboolean
str_to_map_run (const DuckKernelCall *call, GError **error)
{
  g_auto (Matcher) entries = { .call = call };
  g_autoptr (GString) inner_text = g_string_new (NULL);
  g_auto (Matcher) inner = { .call = call };
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize entry_size, n;
    duck_vector_string (&call->args[1], row, &entry_size);
    const char *between = duck_vector_string (&call->args[2], row, &n);
    if (!matcher_row (&entries, row, error))
      return FALSE;
    if (inner.own == NULL || inner_text->len != n || memcmp (inner_text->str, between, n) != 0) {
      matcher_clear (&inner);
      inner = (Matcher){ .call = call, .own = relation_regex_new (between, n, error) };
      if (inner.own == NULL)
        return FALSE;
      inner.regex = inner.own;
      inner.data = pcre2_match_data_create_from_pattern (inner.regex->code, NULL);
      g_string_truncate (inner_text, 0);
      g_string_append_len (inner_text, between, (gssize) n);
    }
    g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (Span));
    g_autoptr (GHashTable) seen =
        g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);
    if (!split (&entries, -1, entry_size == 0, spans, error))
      return FALSE;
    guint64 start = duck_vector_set_list (call->result, row, spans->len);
    for (guint i = 0; i < spans->len; i++) {
      Span entry = g_array_index (spans, Span, i);
      g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (Span));
      const char *text = inner.text = entries.text + entry.from;
      inner.size = entry.to - entry.from;
      inner.at = 0;
      if (!split (&inner, 2, n == 0, parts, error))
        return FALSE;
      Span key = g_array_index (parts, Span, 0);
      if (!g_hash_table_add (seen, g_bytes_new (text + key.from, key.to - key.from)))
        return base_error_set (error, SLUICE_ERROR_DUPLICATED_MAP_KEY, "a key occurs twice in a map");
      duck_vector_set_string (&call->result->children[0], start + i, text + key.from, key.to - key.from);
      if (parts->len < 2)
        duck_vector_set_null (&call->result->children[1], start + i);
      else {
        Span value = g_array_index (parts, Span, 1);
        duck_vector_set_string (&call->result->children[1], start + i, text + value.from, value.to - value.from);
      }
    }
  }
  return TRUE;
}

#define REGEX .bind = regex_bind, .free_bind_data = regex_bind_free

const DuckKernel *
relation_kernel_rows_regex (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_like", .args = { "VARCHAR", "VARCHAR", "VARCHAR" }, .result = "BOOLEAN", .run = like_run },
    { .name = "sluice_rlike", .args = { "VARCHAR", "VARCHAR" }, .result = "BOOLEAN", .run = rlike_run, REGEX },
    { .name = "sluice_regexp_extract",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "VARCHAR",
      .run = extract_run,
      REGEX },
    { .name = "sluice_regexp_extract_all",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "VARCHAR[]",
      .run = extract_all_run,
      REGEX },
    { .name = "sluice_regexp_count",
      .args = { "VARCHAR", "VARCHAR" },
      .result = "INTEGER",
      .run = find_run,
      .variant = FIND_COUNT,
      REGEX },
    { .name = "sluice_regexp_instr",
      .args = { "VARCHAR", "VARCHAR" },
      .result = "INTEGER",
      .run = find_run,
      .variant = FIND_POSITION,
      REGEX },
    { .name = "sluice_regexp_substr", .args = { "VARCHAR", "VARCHAR" }, .result = "VARCHAR", .run = substr_run, REGEX },
    { .name = "sluice_regexp_replace",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "VARCHAR",
      .run = replace_run,
      REGEX },
    { .name = "sluice_str_to_map",
      .args = { "VARCHAR", "VARCHAR", "VARCHAR" },
      .result = "MAP(VARCHAR, VARCHAR)",
      .run = str_to_map_run,
      REGEX },
    { .name = "sluice_split",
      .args = { "VARCHAR", "VARCHAR", "INTEGER" },
      .result = "VARCHAR[]",
      .run = split_run,
      REGEX },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

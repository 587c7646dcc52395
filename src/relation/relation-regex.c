/* Java's regular expressions on PCRE2; see relation-regex-private.h.
 *
 * Both share most of their syntax. The translation changes what is spelled differently (\uXXXX, \p{Alpha}, \p{IsHan}, a leading
 * (?U)), keeps what is equal, and refuses what only one of them has. Without (?U) the classes \w, \d, \s and \b are ASCII in both.
 */
#include "base-error.h"
#include "relation-regex-private.h"

#include <string.h>

static const struct {
  const char *name, *set; /* members of a character class */
} properties[] = {
  { "Lower", "a-z" },
  { "Upper", "A-Z" },
  { "ASCII", "\\x00-\\x7F" },
  { "Alpha", "a-zA-Z" },
  { "Digit", "0-9" },
  { "Alnum", "a-zA-Z0-9" },
  { "Punct", "!-\\/:-@\\[-`{-~" },
  { "Graph", "!-~" },
  { "Print", "\\x20-~" },
  { "Blank", "\\x20\\t" },
  { "Cntrl", "\\x00-\\x1F\\x7F" },
  { "XDigit", "0-9a-fA-F" },
  { "Space", "\\x20\\t\\n\\x0B\\f\\r" },
};

typedef struct {
  const char *p, *end;
  GString *out;
  gboolean in_class;
} Translation;

static gboolean
unsupported (GError **error, const char *what)
{
  return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "%s in a regular expression is not supported", what);
}

static gboolean
malformed (GError **error, const char *what)
{
  return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_PATTERN, "a regular expression is malformed: %s",
                         what);
}

/* `\p{…}` and `\P{…}`; @t->p stands on the p. */
static gboolean
translate_property (Translation *t, GError **error)
{
  gboolean negated = *t->p == 'P';
  const char *open = t->p + 1;
  const char *close = open < t->end && *open == '{' ? memchr (open, '}', (gsize) (t->end - open)) : NULL;
  if (close == NULL) {
    g_string_append_printf (t->out, "\\%c", *t->p++);
    return TRUE;
  }
  g_autofree char *name = g_strndup (open + 1, (gsize) (close - open - 1));
  t->p = close + 1;
  for (gsize i = 0; i < G_N_ELEMENTS (properties); i++) {
    if (strcmp (properties[i].name, name) != 0)
      continue;
    if (t->in_class && negated)
      return unsupported (error, "a negated POSIX class inside a class");
    if (t->in_class)
      g_string_append (t->out, properties[i].set);
    else
      g_string_append_printf (t->out, "[%s%s]", negated ? "^" : "", properties[i].set);
    return TRUE;
  }
  if (g_str_has_prefix (name, "java") || g_str_has_prefix (name, "In") || strchr (name, '=') != NULL)
    return unsupported (error, "this \\p{…}");
  if (strcmp (name, "IsAlphabetic") == 0 || strcmp (name, "IsWhite_Space") == 0 ||
      strcmp (name, "IsIdeographic") == 0 || strcmp (name, "L1") == 0 || strcmp (name, "all") == 0)
    return unsupported (error, "this \\p{…}");
  g_string_append_printf (t->out, "\\%c{%s}", negated ? 'P' : 'p', g_str_has_prefix (name, "Is") ? name + 2 : name);
  return TRUE;
}

/* After a backslash. */
static gboolean
translate_escape (Translation *t, GError **error)
{
  if (t->p >= t->end)
    return malformed (error, "a backslash at its end");
  switch (*t->p) {
  case 'p':
  case 'P':
    return translate_property (t, error);
  case 'u': {
    char digits[5] = "";
    if (t->end - t->p < 5)
      return malformed (error, "\\u wants four digits");
    memcpy (digits, t->p + 1, 4);
    if (strspn (digits, "0123456789abcdefABCDEF") != 4)
      return malformed (error, "\\u wants four digits");
    g_string_append_printf (t->out, "\\x{%s}", digits);
    t->p += 5;
    return TRUE;
  }
  case 'Q': {
    const char *close = g_strstr_len (t->p, t->end - t->p, "\\E");
    const char *to = close != NULL ? close : t->end;
    for (const char *c = t->p + 1; c < to; c++) {
      if (!g_ascii_isalnum (*c) && (guchar) *c < 0x80)
        g_string_append_c (t->out, '\\');
      g_string_append_c (t->out, *c);
    }
    t->p = close != NULL ? close + 2 : t->end;
    return TRUE;
  }
  case 'X':
  case 'N':
  case 'C':
  case 'K':
  case 'g':
    return unsupported (error, "this escape");
  default:
    if (t->in_class && *t->p == 'b')
      return unsupported (error, "\\b inside a class");
    g_string_append_c (t->out, '\\');
    g_string_append_c (t->out, *t->p++);
    return TRUE;
  }
}

static gboolean
translate_class (Translation *t, GError **error)
{
  t->in_class = TRUE;
  g_string_append_c (t->out, *t->p++);
  if (t->p < t->end && *t->p == '^')
    g_string_append_c (t->out, *t->p++);
  if (t->p < t->end && *t->p == ']')
    return unsupported (error, "a class that begins with ]");
  while (t->p < t->end && *t->p != ']') {
    if (*t->p == '[')
      return unsupported (error, "a class inside a class");
    if (*t->p == '&' && t->p + 1 < t->end && t->p[1] == '&')
      return unsupported (error, "an intersection of classes");
    if (*t->p == '\\') {
      t->p++;
      if (!translate_escape (t, error))
        return FALSE;
      continue;
    }
    g_string_append_c (t->out, *t->p++);
  }
  if (t->p >= t->end)
    return malformed (error, "a class without its end");
  g_string_append_c (t->out, *t->p++);
  t->in_class = FALSE;
  return TRUE;
}

/* After an opening parenthesis: what may follow `?`. */
static gboolean
check_group (const Translation *t, GError **error)
{
  if (t->p >= t->end)
    return TRUE;
  if (*t->p == '*')
    return malformed (error, "* after (");
  if (*t->p != '?' || t->p + 1 >= t->end)
    return TRUE;
  char kind = t->p[1];
  if (strchr (":=!><-", kind) != NULL)
    return TRUE;
  if (!g_ascii_isalpha (kind))
    return malformed (error, "an unknown group");
  for (const char *c = t->p + 1; c < t->end && *c != ')' && *c != ':'; c++) {
    if (*c == 'U' || *c == 'u' || *c == 'd')
      return unsupported (error, "this flag inside the expression");
    if (strchr ("imsx-", *c) == NULL)
      return malformed (error, "an unknown group");
  }
  return TRUE;
}

static gboolean
translate (Translation *t, guint32 *options, GError **error)
{
  if (t->end - t->p >= 4 && memcmp (t->p, "(?U)", 4) == 0) {
    *options |= PCRE2_UCP;
    t->p += 4;
  }
  while (t->p < t->end) {
    char c = *t->p;
    if (c == '\\') {
      t->p++;
      if (!translate_escape (t, error))
        return FALSE;
    } else if (c == '[') {
      if (!translate_class (t, error))
        return FALSE;
    } else {
      g_string_append_c (t->out, c);
      t->p++;
      if (c == '(' && !check_group (t, error))
        return FALSE;
    }
  }
  return TRUE;
}

RelationRegex *
relation_regex_new (const char *text, gsize size, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  Translation t = { .p = text, .end = text + size, .out = out };
  guint32 options = PCRE2_UTF | PCRE2_NO_UTF_CHECK;
  if (size > 100000) {
    malformed (error, "it is too long");
    return NULL;
  }
  if (!translate (&t, &options, error))
    return NULL;
  pcre2_compile_context *context = pcre2_compile_context_create (NULL);
  pcre2_set_newline (context, PCRE2_NEWLINE_ANY);
  pcre2_set_parens_nest_limit (context, 250);
  int code;
  PCRE2_SIZE offset;
  pcre2_code *compiled = pcre2_compile ((PCRE2_SPTR) out->str, out->len, options, &code, &offset, context);
  pcre2_compile_context_free (context);
  if (compiled == NULL) {
    char message[256];
    pcre2_get_error_message (code, (PCRE2_UCHAR *) message, sizeof message);
    if (code == PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH || code == PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY)
      unsupported (error, message);
    else
      malformed (error, message);
    return NULL;
  }
  (void) pcre2_jit_compile (compiled, PCRE2_JIT_COMPLETE); /* without it matching is slower, not different */
  RelationRegex *regex = g_new0 (RelationRegex, 1);
  guint32 n_groups;
  pcre2_pattern_info (compiled, PCRE2_INFO_CAPTURECOUNT, &n_groups);
  regex->code = compiled;
  regex->n_groups = n_groups;
  return regex;
}

void
relation_regex_free (RelationRegex *regex)
{
  if (regex == NULL)
    return;
  pcre2_code_free (regex->code);
  g_free (regex);
}

gboolean
relation_regex_match (const RelationRegex *regex, pcre2_match_data *data, const char *text, gsize size, gsize start,
                      const PCRE2_SIZE **ovector, GError **error)
{
  int n = pcre2_match (regex->code, (PCRE2_SPTR) text, size, start, PCRE2_NO_UTF_CHECK, data, NULL);
  *ovector = n >= 0 ? pcre2_get_ovector_pointer (data) : NULL;
  if (n >= 0 || n == PCRE2_ERROR_NOMATCH)
    return TRUE;
  char message[256];
  pcre2_get_error_message (n, (PCRE2_UCHAR *) message, sizeof message);
  return base_error_set (error, SLUICE_ERROR_EXECUTION_ERROR, "a regular expression cannot be matched: %s", message);
}

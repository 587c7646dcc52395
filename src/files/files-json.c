/* The JSON tokenizer: see files-json-private.h. */
#include "base-json.h"
#include "files-json-private.h"

#include <string.h>

void
files_json_skip_space (FilesJsonSpan *cursor)
{
  while (cursor->at < cursor->end &&
         (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\n' || *cursor->at == '\r'))
    cursor->at++;
}

/* At the opening quote; gives the span between the quotes. */
static gboolean
scan_string (FilesJsonSpan *cursor, FilesJsonSpan *string)
{
  const char *p = cursor->at + 1;

  for (; p < cursor->end && *p != '"'; p++) {
    if ((guchar) *p < 0x20)
      return FALSE;
    if (*p != '\\')
      continue;
    if (++p == cursor->end || strchr ("\"\\/bfnrtu", *p) == NULL || *p == '\0')
      return FALSE;
    if (*p != 'u')
      continue;
    for (guint i = 1; i <= 4; i++)
      if (p + i >= cursor->end || !g_ascii_isxdigit (p[i]))
        return FALSE;
    p += 4;
  }
  if (p == cursor->end)
    return FALSE;
  *string = (FilesJsonSpan){ cursor->at + 1, p };
  cursor->at = p + 1;
  return TRUE;
}

static gboolean
scan_digits (const char **p, const char *end)
{
  const char *start = *p;

  while (*p < end && g_ascii_isdigit (**p))
    (*p)++;
  return *p > start;
}

static gboolean
scan_word (FilesJsonSpan *cursor, const char *word)
{
  gsize size = strlen (word);

  if ((gsize) (cursor->end - cursor->at) < size || memcmp (cursor->at, word, size) != 0)
    return FALSE;
  cursor->at += size;
  return TRUE;
}

static gboolean
scan_number (FilesJsonSpan *cursor, FilesJsonKind *kind)
{
  const char *p = cursor->at;
  const char *end = cursor->end;

  *kind = FILES_JSON_INTEGER;
  if (*p == '-')
    p++;
  if (p < end && *p == 'I') {
    cursor->at = p;
    *kind = FILES_JSON_NUMBER;
    return scan_word (cursor, "Infinity");
  }
  const char *digits = p;
  if (!scan_digits (&p, end) || (*digits == '0' && p - digits > 1))
    return FALSE;
  if (p < end && *p == '.') {
    p++;
    *kind = FILES_JSON_NUMBER;
    if (!scan_digits (&p, end))
      return FALSE;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    *kind = FILES_JSON_NUMBER;
    if (p < end && (*p == '+' || *p == '-'))
      p++;
    if (!scan_digits (&p, end))
      return FALSE;
  }
  cursor->at = p;
  return TRUE;
}

static gboolean scan_value (FilesJsonSpan *cursor, FilesJsonKind *kind, FilesJsonSpan *value, guint depth);

/* Past `[` or `{` and everything up to its partner. */
static gboolean
scan_container (FilesJsonSpan *cursor, gboolean is_object, guint depth)
{
  const char closing = is_object ? '}' : ']';
  FilesJsonSpan ignored;
  FilesJsonKind kind;

  if (depth >= FILES_JSON_MAX_DEPTH)
    return FALSE;
  cursor->at++;
  files_json_skip_space (cursor);
  if (cursor->at < cursor->end && *cursor->at == closing) {
    cursor->at++;
    return TRUE;
  }
  for (;;) {
    files_json_skip_space (cursor);
    if (is_object) {
      if (cursor->at == cursor->end || *cursor->at != '"' || !scan_string (cursor, &ignored))
        return FALSE;
      files_json_skip_space (cursor);
      if (cursor->at == cursor->end || *cursor->at++ != ':')
        return FALSE;
      files_json_skip_space (cursor);
    }
    if (!scan_value (cursor, &kind, &ignored, depth + 1))
      return FALSE;
    files_json_skip_space (cursor);
    if (cursor->at == cursor->end)
      return FALSE;
    if (*cursor->at == closing) {
      cursor->at++;
      return TRUE;
    }
    if (*cursor->at++ != ',')
      return FALSE;
  }
}

static gboolean
scan_value (FilesJsonSpan *cursor, FilesJsonKind *kind, FilesJsonSpan *value, guint depth)
{
  gboolean good;

  if (cursor->at == cursor->end)
    return FALSE;
  value->at = cursor->at;
  switch (*cursor->at) {
  case '"':
    *kind = FILES_JSON_STRING;
    return scan_string (cursor, value);
  case '{':
    *kind = FILES_JSON_OBJECT;
    good = scan_container (cursor, TRUE, depth);
    break;
  case '[':
    *kind = FILES_JSON_ARRAY;
    good = scan_container (cursor, FALSE, depth);
    break;
  case 't':
    *kind = FILES_JSON_TRUE;
    good = scan_word (cursor, "true");
    break;
  case 'f':
    *kind = FILES_JSON_FALSE;
    good = scan_word (cursor, "false");
    break;
  case 'n':
    *kind = FILES_JSON_NULL;
    good = scan_word (cursor, "null");
    break;
  case 'N':
    *kind = FILES_JSON_NUMBER;
    good = scan_word (cursor, "NaN");
    break;
  default:
    good = scan_number (cursor, kind);
  }
  value->end = cursor->at;
  return good;
}

gboolean
files_json_value (FilesJsonSpan *cursor, FilesJsonKind *kind, FilesJsonSpan *value)
{
  return scan_value (cursor, kind, value, 0);
}

FilesJsonSpan
files_json_enter (const FilesJsonSpan *container)
{
  return (FilesJsonSpan){ container->at + 1, container->end - 1 };
}

/* Steps over white space and one comma; FALSE at the end. The container is well-formed, so nothing else can stand here. */
static gboolean
step (FilesJsonSpan *cursor)
{
  files_json_skip_space (cursor);
  if (cursor->at < cursor->end && *cursor->at == ',') {
    cursor->at++;
    files_json_skip_space (cursor);
  }
  return cursor->at < cursor->end;
}

gboolean
files_json_next_element (FilesJsonSpan *cursor, FilesJsonKind *kind, FilesJsonSpan *value)
{
  return step (cursor) && scan_value (cursor, kind, value, 0);
}

gboolean
files_json_next_member (FilesJsonSpan *cursor, FilesJsonSpan *name, FilesJsonKind *kind, FilesJsonSpan *value)
{
  if (!step (cursor) || !scan_string (cursor, name))
    return FALSE;
  files_json_skip_space (cursor);
  if (cursor->at == cursor->end)
    return FALSE;
  cursor->at++; /* the colon */
  files_json_skip_space (cursor);
  return scan_value (cursor, kind, value, 0);
}

gboolean
files_json_has_escape (const FilesJsonSpan *string)
{
  return memchr (string->at, '\\', (gsize) (string->end - string->at)) != NULL;
}

void
files_json_decode (const FilesJsonSpan *string, GString *out)
{
  static const char from[] = "bfnrt";
  static const char to[] = "\b\f\n\r\t";

  g_string_truncate (out, 0);
  for (const char *p = string->at; p < string->end;) {
    if (*p != '\\') {
      g_string_append_c (out, *p++);
      continue;
    }
    char escape = p[1];
    const char *found = strchr (from, escape);
    gunichar c = 0;
    p += 2;
    if (escape != 'u')
      g_string_append_c (out, found != NULL ? to[found - from] : escape);
    else if (base_json_read_unicode (&p, string->end, &c)) /* always: the digits were looked at before */
      g_string_append_unichar (out, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
  }
}

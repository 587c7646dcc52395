/* JSON as Jackson reads and prints it; see relation-json-private.h. */
#include "base-json.h"
#include "relation-json-private.h"
#include "relation-number-private.h"

#include <string.h>

#define MAX_DEPTH 500

typedef struct {
  const char *p, *end;
  RelationJsonFlags flags;
  int depth;
} Parser;

void
relation_json_free (RelationJson *json)
{
  if (json == NULL)
    return;
  g_free (json->text);
  g_clear_pointer (&json->items, g_ptr_array_unref);
  g_clear_pointer (&json->keys, g_ptr_array_unref);
  g_free (json);
}

static void
free_json (gpointer data)
{
  relation_json_free (data);
}

static void
free_key (gpointer data)
{
  g_string_free (data, TRUE);
}

static void
skip_space (Parser *parser)
{
  for (;;) {
    while (parser->p < parser->end &&
           (*parser->p == ' ' || *parser->p == '\t' || *parser->p == '\n' || *parser->p == '\r'))
      parser->p++;
    if ((parser->flags & RELATION_JSON_COMMENTS) == 0 || parser->end - parser->p < 2 || *parser->p != '/')
      return;
    const char *close;
    if (parser->p[1] == '/') {
      close = memchr (parser->p, '\n', (gsize) (parser->end - parser->p));
      parser->p = close != NULL ? close + 1 : parser->end;
    } else if (parser->p[1] == '*') {
      close = memmem (parser->p + 2, (gsize) (parser->end - parser->p - 2), "*/", 2);
      parser->p = close != NULL ? close + 2 : parser->end;
    } else
      return;
  }
}

static gboolean
read_unicode (Parser *parser, GString *out)
{
  gunichar c;
  if (!base_json_read_unicode (&parser->p, parser->end, &c))
    return FALSE;
  if (c >= 0xd800 && c < 0xe000)
    g_string_append_c (out, '?'); /* half a pair has no UTF-8; Java prints a question mark */
  else
    g_string_append_unichar (out, c);
  return TRUE;
}

/* After the opening quote. */
static gboolean
read_string (Parser *parser, char quote, GString *out)
{
  while (parser->p < parser->end) {
    char c = *parser->p++;
    if (c == quote)
      return TRUE;
    if ((guchar) c < 0x20)
      return FALSE;
    if (c != '\\') {
      g_string_append_c (out, c);
      continue;
    }
    if (parser->p >= parser->end)
      return FALSE;
    c = *parser->p++;
    switch (c) {
    case '"':
    case '\\':
    case '/':
      g_string_append_c (out, c);
      break;
    case 'b':
      g_string_append_c (out, '\b');
      break;
    case 'f':
      g_string_append_c (out, '\f');
      break;
    case 'n':
      g_string_append_c (out, '\n');
      break;
    case 'r':
      g_string_append_c (out, '\r');
      break;
    case 't':
      g_string_append_c (out, '\t');
      break;
    case 'u':
      if (!read_unicode (parser, out))
        return FALSE;
      break;
    default:
      if (c != '\'' || (parser->flags & RELATION_JSON_SINGLE_QUOTES) == 0)
        return FALSE;
      g_string_append_c (out, c);
    }
  }
  return FALSE;
}

static RelationJson *
json_new (RelationJsonKind kind)
{
  RelationJson *json = g_new0 (RelationJson, 1);
  json->kind = kind;
  return json;
}

static RelationJson *
json_text (RelationJsonKind kind, const char *text, gsize size)
{
  RelationJson *json = json_new (kind);
  json->text = g_malloc (size + 1);
  memcpy (json->text, text, size);
  json->text[size] = '\0';
  json->size = size;
  return json;
}

static gboolean
take_word (Parser *parser, const char *word)
{
  gsize n = strlen (word);
  if ((gsize) (parser->end - parser->p) < n || memcmp (parser->p, word, n) != 0)
    return FALSE;
  if ((gsize) (parser->end - parser->p) > n && (g_ascii_isalnum (parser->p[n]) || parser->p[n] == '_'))
    return FALSE;
  parser->p += n;
  return TRUE;
}

static RelationJson *
read_number (Parser *parser)
{
  const char *start = parser->p;
  if (*parser->p == '-')
    parser->p++;
  const char *digits = parser->p;
  while (parser->p < parser->end && g_ascii_isdigit (*parser->p))
    parser->p++;
  if (parser->p == digits)
    return NULL;
  if (*digits == '0' && parser->p - digits > 1) {
    if ((parser->flags & RELATION_JSON_LEADING_ZEROS) == 0)
      return NULL;
    while (*digits == '0' && parser->p - digits > 1)
      digits++;
  }
  if (parser->p < parser->end && *parser->p == '.') {
    const char *fraction = ++parser->p;
    while (parser->p < parser->end && g_ascii_isdigit (*parser->p))
      parser->p++;
    if (parser->p == fraction)
      return NULL;
  }
  if (parser->p < parser->end && (*parser->p == 'e' || *parser->p == 'E')) {
    parser->p++;
    if (parser->p < parser->end && (*parser->p == '+' || *parser->p == '-'))
      parser->p++;
    const char *exponent = parser->p;
    while (parser->p < parser->end && g_ascii_isdigit (*parser->p))
      parser->p++;
    if (parser->p == exponent)
      return NULL;
  }
  if (parser->p < parser->end && (g_ascii_isalnum (*parser->p) || *parser->p == '_'))
    return NULL;
  g_autofree char *text = g_strdup_printf ("%s%.*s", *start == '-' ? "-" : "", (int) (parser->p - digits), digits);
  return json_text (RELATION_JSON_NUMBER, text, strlen (text));
}

static RelationJson *read_value (Parser *parser);

static gboolean
read_key (Parser *parser, GString *key)
{
  if (parser->p >= parser->end)
    return FALSE;
  char c = *parser->p;
  if (c == '"' || (c == '\'' && (parser->flags & RELATION_JSON_SINGLE_QUOTES) != 0)) {
    parser->p++;
    return read_string (parser, c, key);
  }
  if ((parser->flags & RELATION_JSON_BARE_NAMES) == 0)
    return FALSE;
  const char *start = parser->p;
  while (parser->p < parser->end && (g_ascii_isalnum (*parser->p) || strchr ("_$-", *parser->p) != NULL))
    parser->p++;
  g_string_append_len (key, start, parser->p - start);
  return parser->p > start;
}

static RelationJson *
read_container (Parser *parser)
{
  gboolean object = *parser->p++ == '{';
  char close = object ? '}' : ']';
  g_autoptr (RelationJson) json = json_new (object ? RELATION_JSON_OBJECT : RELATION_JSON_ARRAY);
  json->items = g_ptr_array_new_with_free_func (free_json);
  if (object)
    json->keys = g_ptr_array_new_with_free_func (free_key);
  skip_space (parser);
  if (parser->p < parser->end && *parser->p == close) {
    parser->p++;
    return g_steal_pointer (&json);
  }
  for (;;) {
    if (object) {
      GString *key = g_string_new (NULL);
      g_ptr_array_add (json->keys, key);
      skip_space (parser);
      if (!read_key (parser, key))
        return NULL;
      skip_space (parser);
      if (parser->p >= parser->end || *parser->p++ != ':')
        return NULL;
    }
    RelationJson *item = read_value (parser);
    if (item == NULL)
      return NULL;
    g_ptr_array_add (json->items, item);
    skip_space (parser);
    if (parser->p >= parser->end)
      return NULL;
    char c = *parser->p++;
    if (c == close)
      return g_steal_pointer (&json);
    if (c != ',')
      return NULL;
  }
}

static RelationJson *
read_value (Parser *parser)
{
  skip_space (parser);
  if (parser->p >= parser->end)
    return NULL;
  char c = *parser->p;
  if (c == '{' || c == '[') {
    if (parser->depth >= MAX_DEPTH)
      return NULL;
    parser->depth++;
    RelationJson *json = read_container (parser);
    parser->depth--;
    return json;
  }
  if (c == '"' || (c == '\'' && (parser->flags & RELATION_JSON_SINGLE_QUOTES) != 0)) {
    g_autoptr (GString) text = g_string_new (NULL);
    parser->p++;
    if (!read_string (parser, c, text))
      return NULL;
    return json_text (RELATION_JSON_STRING, text->str, text->len);
  }
  if (take_word (parser, "null"))
    return json_new (RELATION_JSON_NULL);
  if (take_word (parser, "true") || take_word (parser, "false")) {
    RelationJson *json = json_new (RELATION_JSON_BOOLEAN);
    json->truth = parser->p[-2] == 'u';
    return json;
  }
  if ((parser->flags & RELATION_JSON_NAN) != 0) {
    static const char *const words[] = { "NaN", "Infinity", "-Infinity", "INF", "-INF", "+INF" };
    for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
      if (take_word (parser, words[i]))
        return json_text (RELATION_JSON_NUMBER, words[i], strlen (words[i]));
  }
  return c == '-' || g_ascii_isdigit (c) ? read_number (parser) : NULL;
}

RelationJson *
relation_json_parse (const char *text, gsize size, RelationJsonFlags flags)
{
  Parser parser = { .p = text, .end = text + size, .flags = flags };
  g_autoptr (RelationJson) json = read_value (&parser);
  if (json == NULL)
    return NULL;
  skip_space (&parser);
  if (parser.p != parser.end && (flags & RELATION_JSON_TRAILING) == 0)
    return NULL;
  return g_steal_pointer (&json);
}

/* ---- printing ---- */

static void
append_number (GString *out, const RelationJson *json)
{
  char text[RELATION_NUMBER_TEXT_SIZE];
  if (strpbrk (json->text, ".eE") == NULL)
    g_string_append_len (out, json->text, (gssize) json->size);
  else
    g_string_append_len (out, text, (gssize) relation_double_text (g_ascii_strtod (json->text, NULL), text));
}

void
relation_json_print (GString *out, const RelationJson *json)
{
  switch (json->kind) {
  case RELATION_JSON_NULL:
    g_string_append (out, "null");
    break;
  case RELATION_JSON_BOOLEAN:
    g_string_append (out, json->truth ? "true" : "false");
    break;
  case RELATION_JSON_NUMBER:
    append_number (out, json);
    break;
  case RELATION_JSON_STRING:
    base_json_append_string (out, json->text, json->size);
    break;
  case RELATION_JSON_ARRAY:
  case RELATION_JSON_OBJECT: {
    gboolean object = json->kind == RELATION_JSON_OBJECT;
    g_string_append_c (out, object ? '{' : '[');
    for (guint i = 0; i < json->items->len; i++) {
      if (i > 0)
        g_string_append_c (out, ',');
      if (object) {
        const GString *key = g_ptr_array_index (json->keys, i);
        base_json_append_string (out, key->str, key->len);
        g_string_append_c (out, ':');
      }
      relation_json_print (out, g_ptr_array_index (json->items, i));
    }
    g_string_append_c (out, object ? '}' : ']');
    break;
  }
  }
}

const RelationJson *
relation_json_member (const RelationJson *json, const char *name, gsize size)
{
  for (guint i = json->items->len; i > 0; i--) {
    const GString *key = g_ptr_array_index (json->keys, i - 1);
    if (key->len == size && memcmp (key->str, name, size) == 0)
      return g_ptr_array_index (json->items, i - 1);
  }
  return NULL;
}

/* ---- paths ---- */

typedef struct {
  enum { STEP_NAME, STEP_INDEX, STEP_ALL } kind;
  char *name;
  gint64 index;
} Step;

static void
step_clear (gpointer data)
{
  g_free (((Step *) data)->name);
}

static gboolean
parse_path (const char *path, gsize size, GArray *steps)
{
  const char *p = path, *end = path + size;
  if (p >= end || *p++ != '$')
    return FALSE;
  while (p < end) {
    Step step = { .kind = STEP_NAME };
    if (*p == '.') {
      const char *start = ++p;
      while (p < end && *p != '.' && *p != '[')
        p++;
      if (p == start)
        return FALSE;
      if (p - start == 1 && *start == '*')
        return FALSE; /* `.*` finds nothing in Spark */
      step.name = g_strndup (start, (gsize) (p - start));
    } else if (*p == '[') {
      const char *start = ++p;
      if (p < end && *p == '\'') {
        start = ++p;
        while (p < end && *p != '\'')
          p++;
        if (end - p < 2 || p[1] != ']' || p == start)
          return FALSE;
        step.name = g_strndup (start, (gsize) (p - start));
        p += 2;
      } else if (end - p >= 2 && p[0] == '*' && p[1] == ']') {
        step.kind = STEP_ALL;
        p += 2;
      } else {
        while (p < end && g_ascii_isdigit (*p))
          p++;
        if (p == start || p >= end || *p != ']' || p - start > 10)
          return FALSE;
        step.kind = STEP_INDEX;
        step.index = g_ascii_strtoll (start, NULL, 10);
        p++;
      }
    } else
      return FALSE;
    g_array_append_val (steps, step);
  }
  return TRUE;
}

/* Adds what @steps from @at on find. FALSE: a path that is not done here. */
static gboolean
collect (const RelationJson *json, const GArray *steps, guint at, GPtrArray *found)
{
  if (at == steps->len) {
    if (json->kind != RELATION_JSON_NULL)
      g_ptr_array_add (found, (gpointer) json);
    return TRUE;
  }
  const Step *step = &g_array_index (steps, Step, at);
  if (step->kind == STEP_NAME) {
    if (json->kind != RELATION_JSON_OBJECT)
      return TRUE;
    for (guint i = 0; i < json->items->len; i++) { /* the first of equal names */
      const GString *key = g_ptr_array_index (json->keys, i);
      if (strcmp (key->str, step->name) == 0)
        return collect (g_ptr_array_index (json->items, i), steps, at + 1, found);
    }
    return TRUE;
  }
  if (json->kind != RELATION_JSON_ARRAY)
    return TRUE;
  if (step->kind == STEP_INDEX)
    return step->index >= (gint64) json->items->len ||
           collect (g_ptr_array_index (json->items, (guint) step->index), steps, at + 1, found);
  for (guint i = 0; i < json->items->len; i++)
    if (!collect (g_ptr_array_index (json->items, i), steps, at + 1, found))
      return FALSE;
  return TRUE;
}

RelationJsonPathOutcome
relation_json_path (const RelationJson *json, const char *path, gsize size, GString *out)
{
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (Step));
  g_array_set_clear_func (steps, step_clear);
  if (!parse_path (path, size, steps))
    return RELATION_JSON_NOT_FOUND;
  guint n_all = 0;
  for (guint i = 0; i < steps->len; i++)
    n_all += g_array_index (steps, Step, i).kind == STEP_ALL;
  if (n_all > 1)
    return RELATION_JSON_PATH_UNSUPPORTED;
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  (void) collect (json, steps, 0, found);
  if (found->len == 0)
    return RELATION_JSON_NOT_FOUND;
  if (n_all == 0) {
    const RelationJson *one = g_ptr_array_index (found, 0);
    if (one->kind == RELATION_JSON_STRING)
      g_string_append_len (out, one->text, (gssize) one->size);
    else
      relation_json_print (out, one);
    return RELATION_JSON_FOUND;
  }
  gboolean last_is_all = g_array_index (steps, Step, steps->len - 1).kind == STEP_ALL;
  gboolean brackets = found->len > 1 || last_is_all;
  if (found->len == 1 && last_is_all)
    return RELATION_JSON_PATH_UNSUPPORTED;
  if (brackets)
    g_string_append_c (out, '[');
  for (guint i = 0; i < found->len; i++) {
    if (i > 0)
      g_string_append_c (out, ',');
    relation_json_print (out, g_ptr_array_index (found, i));
  }
  if (brackets)
    g_string_append_c (out, ']');
  return RELATION_JSON_FOUND;
}

/* Sources: the text behind positions, variables put into it, and errors placed in the original. */
#include "base-error.h"
#include "sql-lexer-private.h"
#include "sql-source-private.h"

#include <string.h>

SqlSource *
sql_source_new (SqlArena *arena, const char *text, gsize length, const SqlParseOptions *options)
{
  SqlSource *source = sql_arena_new0 (arena, SqlSource);
  source->file = options != NULL ? sql_arena_strdup (arena, options->file) : NULL;
  source->first_line = options != NULL && options->first_line > 0 ? options->first_line : 1;
  source->original = sql_arena_strndup (arena, text, length);
  source->original_length = length;
  source->text = source->original;
  source->length = length;
  source->segments = sql_arena_new0 (arena, SqlSegment);
  source->n_segments = 1;
  source->start_line = source->first_line;
  source->start_column = 1;
  return source;
}

char *
sql_source_line (const SqlSource *source, guint line)
{
  const char *at = source->original;
  const char *end = at + source->original_length;
  for (guint i = source->first_line; i < line && at < end; i++) {
    const char *feed = memchr (at, '\n', (gsize) (end - at));
    at = feed == NULL ? end : feed + 1;
  }
  const char *feed = memchr (at, '\n', (gsize) (end - at));
  gsize size = (gsize) ((feed == NULL ? end : feed) - at);
  if (size > 0 && at[size - 1] == '\r')
    size--;
  g_autofree char *bytes = g_strndup (at, MIN (size, 4096));
  return g_utf8_make_valid (bytes, -1);
}

/* The place of byte @at of the original. Only for errors: it counts from the start. */
static void
find_place (const SqlSource *whole, gsize at, guint *line, guint *column)
{
  *line = whole->first_line;
  *column = 1;
  for (gsize i = 0; i < at; i++) {
    if (whole->original[i] == '\n') {
      (*line)++;
      *column = 1;
    } else if (((guchar) whole->original[i] & 0xC0) != 0x80) {
      (*column)++;
    }
  }
}

typedef struct {
  const SqlSource *whole;
  const SqlParseOptions *options;
  GString *text;
  GArray *segments; /* of SqlSegment */
} Replacer;

static void
start_segment (Replacer *replacer, gsize original, gboolean substituted)
{
  SqlSegment segment = { replacer->text->len, original, substituted };
  g_array_append_val (replacer->segments, segment);
}

/* Replaces the variable whose `${` stands at @at; @close is its `}`. */
static gboolean
replace_variable (Replacer *replacer, gsize at, gsize close, GError **error)
{
  const SqlSource *whole = replacer->whole;
  g_autofree char *key = g_strndup (whole->original + at + 2, close - at - 2);
  g_autofree char *value = NULL;
  if (!replacer->options->substitute (key, &value, replacer->options->substitute_data, error)) {
    guint line;
    guint column;
    find_place (whole, at, &line, &column);
    g_autofree char *source_line = sql_source_line (whole, line);
    base_error_set_position (error, whole->file, line, column, source_line);
    return FALSE;
  }
  start_segment (replacer, at, TRUE);
  g_string_append (replacer->text, value);
  start_segment (replacer, close + 1, FALSE);
  return TRUE;
}

/* Copies [@at, @end) and whatever belongs to a variable that begins in it. Returns: the offset behind, 0 on error. */
static gsize
copy_replacing (Replacer *replacer, gsize at, gsize end, gsize limit, GError **error)
{
  const char *original = replacer->whole->original;
  while (at < end) {
    gboolean escaped = limit - at >= 3 && original[at] == '$' && original[at + 1] == '$' && original[at + 2] == '{';
    gboolean variable = !escaped && limit - at >= 2 && original[at] == '$' && original[at + 1] == '{';
    const char *close = variable ? memchr (original + at, '}', limit - at) : NULL;
    if (escaped) {
      g_string_append (replacer->text, "${");
      at += 3;
      start_segment (replacer, at, FALSE);
    } else if (close != NULL) {
      if (!replace_variable (replacer, at, (gsize) (close - original), error))
        return 0;
      at = (gsize) (close - original) + 1;
    } else {
      g_string_append_c (replacer->text, original[at++]);
    }
  }
  return at;
}

SqlSource *
sql_source_new_piece (SqlArena *arena, const SqlSource *whole, gsize begin, gsize end, guint line, guint column,
                      const SqlParseOptions *options, GError **error)
{
  g_autoptr (GString) text = g_string_sized_new (end - begin + 1);
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (SqlSegment));
  Replacer replacer = { whole, options, text, segments };
  gboolean replacing = options != NULL && options->substitute != NULL;
  start_segment (&replacer, begin, FALSE);
  if (!replacing)
    g_string_append_len (text, whole->original + begin, (gssize) (end - begin));
  for (gsize at = begin; replacing && at < end;) {
    SqlChunk chunk;
    gboolean closed = TRUE;
    gsize next = sql_lexer_next_chunk (whole->original, end, at, &chunk, &closed);
    if (chunk == SQL_CHUNK_COMMENT) {
      g_string_append_len (text, whole->original + at, (gssize) (next - at));
      at = next;
      continue;
    }
    at = copy_replacing (&replacer, at, next, end, error);
    if (at == 0)
      return NULL;
  }
  SqlSource *source = sql_arena_new0 (arena, SqlSource);
  *source = *whole;
  source->text = sql_arena_strndup (arena, text->str, text->len);
  source->length = text->len;
  source->n_segments = segments->len;
  source->segments = sql_arena_new0_n (arena, SqlSegment, segments->len);
  memcpy (source->segments, segments->data, segments->len * sizeof (SqlSegment));
  source->start_line = line;
  source->start_column = column;
  return source;
}

char *
sql_position_text (const SqlPosition *position)
{
  if (position->source == NULL || position->end > position->source->length || position->begin > position->end)
    return NULL;
  return g_strndup (position->source->text + position->begin, position->end - position->begin);
}

void
sql_position_add_to_error (const SqlPosition *position, GError **error)
{
  if (position->source == NULL || position->line == 0)
    return;
  g_autofree char *source_line = sql_source_line (position->source, position->line);
  base_error_set_position (error, position->source->file, position->line, position->column, source_line);
}

const char *
sql_position_file (const SqlPosition *position)
{
  return position->source != NULL ? position->source->file : NULL;
}

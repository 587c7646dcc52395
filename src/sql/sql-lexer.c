/* The lexer of Spark SQL (SqlBaseLexer.g4), by hand.
 *
 * 1. Every byte is looked at once, except that a bad token may be followed by a fresh start.
 * 2. Lines and columns are counted while going, through the segments of the source, so that a position costs nothing later.
 * 3. `<`, `>` are single tokens: the parser joins shifts, and `array<array<int>>` needs no special case.
 */
#include "sql-lexer-private.h"

#include <string.h>

static const char *const word_texts[] = {
  "",
#define SQL_KEYWORD(word) #word,
#include "sql-keywords.def"
#undef SQL_KEYWORD
};

const char *
sql_word_text (SqlWord word)
{
  return word_texts[word];
}

static SqlWord
find_word (const char *text, gsize length)
{
  char upper[24];
  if (length >= sizeof upper)
    return SQL_WORD_OTHER;
  for (gsize i = 0; i < length; i++)
    upper[i] = g_ascii_toupper (text[i]);
  upper[length] = 0;
  guint low = 1;
  guint high = SQL_WORD_N;
  while (low < high) {
    guint middle = (low + high) / 2;
    int order = strcmp (upper, word_texts[middle]);
    if (order == 0)
      return (SqlWord) middle;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return SQL_WORD_OTHER;
}

/* ------------------------------------------------------------------ scanning pieces of text */

static gboolean
is_ident_byte (char c)
{
  return g_ascii_isalnum (c) || c == '_';
}

/* Length of the identifier character at @at, 0 when there is none. */
static gsize
ident_char (const char *text, gsize length, gsize at)
{
  if (at >= length)
    return 0;
  if ((guchar) text[at] < 0x80)
    return is_ident_byte (text[at]) ? 1 : 0;
  gunichar c = g_utf8_get_char_validated (text + at, (gssize) (length - at));
  if (c == (gunichar) -1 || c == (gunichar) -2)
    return 0;
  if (!g_unichar_isalnum (c) && !g_unichar_ismark (c))
    return 0;
  return (gsize) g_unichar_to_utf8 (c, NULL);
}

static gsize
space_char (const char *text, gsize length, gsize at)
{
  if (at >= length)
    return 0;
  guchar c = (guchar) text[at];
  if (c < 0x80)
    return c == ' ' || (c >= '\t' && c <= '\r') ? 1 : 0;
  gunichar wide = g_utf8_get_char_validated (text + at, (gssize) (length - at));
  if (wide == (gunichar) -1 || wide == (gunichar) -2)
    return 0;
  return g_unichar_isspace (wide) || wide == 0xFEFF ? (gsize) g_unichar_to_utf8 (wide, NULL) : 0;
}

static gsize
skip_comment (const char *text, gsize length, gsize at, gboolean *closed)
{
  if (at + 1 >= length)
    return at;
  if (text[at] == '-' && text[at + 1] == '-') {
    at += 2;
    while (at < length && text[at] != '\n' && text[at] != '\r') {
      if (text[at] == '\\' && at + 1 < length && text[at + 1] == '\n')
        at++;
      at++;
    }
    return at;
  }
  if (text[at] == '/' && text[at + 1] == '*') {
    gsize depth = 1;
    at += 2;
    while (at < length && depth > 0) {
      if (at + 1 < length && text[at] == '*' && text[at + 1] == '/') {
        depth--;
        at += 2;
      } else if (at + 1 < length && text[at] == '/' && text[at + 1] == '*') {
        depth++;
        at += 2;
      } else {
        at++;
      }
    }
    if (depth > 0)
      *closed = FALSE;
  }
  return at;
}

/* Steps over a string that starts with its quote at @at. */
static gsize
skip_string (const char *text, gsize length, gsize at, gboolean raw, gboolean *closed)
{
  char quote = text[at++];
  while (at < length) {
    if (text[at] == '\\' && !raw) {
      at += at + 1 < length ? 2 : 1;
    } else if (text[at] == quote) {
      if (!raw && at + 1 < length && text[at + 1] == quote)
        at += 2;
      else
        return at + 1;
    } else {
      at++;
    }
  }
  *closed = FALSE;
  return length;
}

static gsize
skip_quoted (const char *text, gsize length, gsize at, gboolean *closed)
{
  at++;
  while (at < length) {
    if (text[at] != '`') {
      at++;
    } else if (at + 1 < length && text[at + 1] == '`') {
      at += 2;
    } else {
      return at + 1;
    }
  }
  *closed = FALSE;
  return length;
}

/* Whether the quote at @at belongs to r'…', and not to an identifier that ends in r. */
static gboolean
is_raw_prefix (const char *text, gsize at)
{
  return at > 0 && (text[at - 1] == 'r' || text[at - 1] == 'R') &&
         (at == 1 || (!is_ident_byte (text[at - 2]) && (guchar) text[at - 2] < 0x80));
}

gsize
sql_lexer_next_chunk (const char *text, gsize length, gsize at, SqlChunk *chunk, gboolean *closed)
{
  char c = text[at];
  gsize step = space_char (text, length, at);
  if (step > 0) {
    *chunk = SQL_CHUNK_SPACE;
    return at + step;
  }
  gsize behind = skip_comment (text, length, at, closed);
  if (behind != at) {
    *chunk = SQL_CHUNK_COMMENT;
    return behind;
  }
  if (c == '\'' || c == '"') {
    *chunk = SQL_CHUNK_STRING;
    return skip_string (text, length, at, is_raw_prefix (text, at), closed);
  }
  if (c == '`') {
    *chunk = SQL_CHUNK_QUOTED;
    return skip_quoted (text, length, at, closed);
  }
  *chunk = c == ';' ? SQL_CHUNK_SEMICOLON : SQL_CHUNK_BYTE;
  return at + 1;
}

gsize
sql_lexer_piece_end (const char *text, gsize length, gsize begin, gboolean *content, gboolean *closed)
{
  *content = FALSE;
  *closed = TRUE;
  for (gsize at = begin; at < length;) {
    SqlChunk chunk;
    gsize next = sql_lexer_next_chunk (text, length, at, &chunk, closed);
    if (chunk == SQL_CHUNK_SEMICOLON)
      return at;
    if (chunk != SQL_CHUNK_SPACE && (chunk != SQL_CHUNK_COMMENT || !*closed))
      *content = TRUE;
    at = next;
  }
  return length;
}

/* The piece without the space and the comments around it. */
static SqlPiece
trim_piece (const char *text, gsize begin, gsize end)
{
  SqlPiece piece = { begin, end };
  SqlChunk chunk;
  gboolean closed = TRUE;
  while (piece.begin < end) {
    gsize next = sql_lexer_next_chunk (text, end, piece.begin, &chunk, &closed);
    if (chunk != SQL_CHUNK_SPACE && chunk != SQL_CHUNK_COMMENT)
      break;
    piece.begin = next;
  }
  piece.end = piece.begin;
  for (gsize at = piece.begin; at < end;) {
    at = sql_lexer_next_chunk (text, end, at, &chunk, &closed);
    if (chunk != SQL_CHUNK_SPACE && chunk != SQL_CHUNK_COMMENT)
      piece.end = at;
  }
  return piece;
}

void
sql_split (const char *text, gssize length, GArray **pieces, gboolean *complete)
{
  gsize size = length < 0 ? strlen (text) : (gsize) length;
  GArray *found = g_array_new (FALSE, FALSE, sizeof (SqlPiece));
  gsize begin = 0;
  gboolean ended = TRUE;
  while (begin < size) {
    gboolean content;
    gboolean closed;
    gsize end = sql_lexer_piece_end (text, size, begin, &content, &closed);
    if (content) {
      SqlPiece piece = trim_piece (text, begin, end);
      g_array_append_val (found, piece);
    }
    ended = closed && (end < size || !content);
    begin = end + 1;
  }
  if (complete != NULL)
    *complete = ended;
  *pieces = found;
}

/* ------------------------------------------------------------------ string escapes */

static gboolean
read_digits (const char *text, gsize length, gsize at, guint n, guint base, guint32 *value)
{
  if (at + n > length)
    return FALSE;
  guint32 result = 0;
  for (guint i = 0; i < n; i++) {
    int digit = g_ascii_xdigit_value (text[at + i]);
    if (digit < 0 || (guint) digit >= base)
      return FALSE;
    result = result * base + (guint32) digit;
  }
  *value = result;
  return TRUE;
}

/* Java strings are UTF-16: a pair of escapes makes one character, a lone half is written as `?`. */
static gsize
append_unicode (const char *text, gsize length, gsize at, guint32 value, GString *out)
{
  guint32 low;
  if (value >= 0xD800 && value < 0xDC00 && at + 6 <= length && text[at] == '\\' && text[at + 1] == 'u' &&
      read_digits (text, length, at + 2, 4, 16, &low) && low >= 0xDC00 && low < 0xE000) {
    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    at += 6;
  }
  if ((value >= 0xD800 && value < 0xE000) || value > 0x10FFFF)
    g_string_append_c (out, '?');
  else if (value == 0)
    g_string_append_len (out, "", 1);
  else
    g_string_append_unichar (out, value);
  return at;
}

/* @at stands behind the backslash. */
static gsize
decode_escape (const char *text, gsize length, gsize at, GString *out)
{
  static const char from[] = "0bnrtZ";
  static const char to[] = { 0, '\b', '\n', '\r', '\t', 0x1A };
  guint32 value;
  char c = text[at];
  if (c == 'u' && read_digits (text, length, at + 1, 4, 16, &value))
    return append_unicode (text, length, at + 5, value, out);
  if (c == 'U' && read_digits (text, length, at + 1, 8, 16, &value))
    return append_unicode (text, length, at + 9, value, out);
  if ((c == '0' || c == '1') && read_digits (text, length, at, 3, 8, &value))
    return append_unicode (text, length, at + 3, value, out);
  const char *found = strchr (from, c);
  if (found != NULL && c != 0) {
    g_string_append_c (out, to[found - from]);
  } else {
    if (c == '%' || c == '_')
      g_string_append_c (out, '\\');
    g_string_append_c (out, c);
  }
  return at + 1;
}

void
sql_lexer_decode_string (const char *raw, gsize length, GString *out)
{
  if (raw[0] == 'r' || raw[0] == 'R') {
    g_string_append_len (out, raw + 2, (gssize) length - 3);
    return;
  }
  char quote = raw[0];
  gsize end = length - 1;
  gsize at = 1;
  while (at < end) {
    if (raw[at] == '\\' && at + 1 < end) {
      at = decode_escape (raw, end, at + 1, out);
    } else {
      g_string_append_c (out, raw[at]);
      at += raw[at] == quote ? 2 : 1;
    }
  }
}

/* ------------------------------------------------------------------ tokens */

typedef struct {
  const SqlSource *source;
  const char *text;
  gsize length;
  gsize at;
  /* The place counted so far: @counted bytes of the lexed text are in @line and @column. */
  gsize counted;
  guint segment;
  gsize original;
  guint line;
  guint column;
} Lexer;

/* Moves the counter of lines and columns to the lexed offset @to. */
static void
count_to (Lexer *lexer, gsize to)
{
  const SqlSource *source = lexer->source;
  while (lexer->segment + 1 < source->n_segments && source->segments[lexer->segment + 1].begin <= to)
    lexer->segment++;
  const SqlSegment *segment = &source->segments[lexer->segment];
  gsize target = segment->substituted ? segment->original : segment->original + (to - segment->begin);
  for (; lexer->original < target; lexer->original++) {
    guchar c = (guchar) source->original[lexer->original];
    if (c == '\n') {
      lexer->line++;
      lexer->column = 1;
    } else if ((c & 0xC0) != 0x80) {
      lexer->column++;
    }
  }
}

/* The end of the exponent at @at, or @at when none stands there. */
static gsize
scan_exponent (const char *text, gsize length, gsize at)
{
  gsize end = at + 1;
  if (at >= length || (text[at] != 'e' && text[at] != 'E'))
    return at;
  if (end < length && (text[end] == '+' || text[end] == '-'))
    end++;
  if (end >= length || !g_ascii_isdigit (text[end]))
    return at;
  while (end < length && g_ascii_isdigit (text[end]))
    end++;
  return end;
}

/* The end of the number at @at, 0 when it is no number but an identifier that starts with a digit. */
static gsize
scan_number (const char *text, gsize length, gsize at, gboolean *integer)
{
  gsize end = at;
  *integer = TRUE;
  while (end < length && g_ascii_isdigit (text[end]))
    end++;
  if (end < length && text[end] == '.') {
    gsize fraction = end + 1;
    while (fraction < length && g_ascii_isdigit (text[fraction]))
      fraction++;
    gsize suffix = scan_exponent (text, length, fraction);
    if (suffix + 1 < length && g_ascii_strncasecmp (text + suffix, "BD", 2) == 0)
      suffix += 2;
    else if (suffix < length && strchr ("fFdD", text[suffix]) != NULL)
      suffix += 1;
    /* `1.e` is 1 . e: a decimal must not run into an identifier. */
    if (ident_char (text, length, suffix) == 0) {
      *integer = FALSE;
      return suffix;
    }
    if (end == at)
      return 0;
    return end;
  }
  if (ident_char (text, length, end) == 0)
    return end;
  gsize tail = scan_exponent (text, length, end), suffix = tail;
  if (suffix + 1 < length && g_ascii_strncasecmp (text + suffix, "BD", 2) == 0)
    suffix += 2;
  else if (suffix < length &&
           (strchr ("fFdD", text[suffix]) != NULL || (tail == end && strchr ("lLsSyY", text[suffix]) != NULL)))
    suffix += 1;
  if (suffix == end || ident_char (text, length, suffix) != 0)
    return 0;
  *integer = FALSE;
  return suffix;
}

static void
set_bad (SqlToken *token, SqlBad why)
{
  token->kind = SQL_TOKEN_BAD;
  token->word = (guint16) why;
}

static gsize
lex_text (const char *text, gsize length, gsize at, SqlToken *token)
{
  gboolean closed = TRUE;
  gsize end;
  gsize quote = text[at] == '\'' || text[at] == '"' ? at : at + 1;
  if (text[at] == '`') {
    end = skip_quoted (text, length, at, &closed);
    token->kind = SQL_TOKEN_QUOTED;
    if (!closed || end == at + 2)
      set_bad (token, SQL_BAD_QUOTED);
    return end;
  }
  gboolean binary = text[at] == 'x' || text[at] == 'X';
  end = skip_string (text, length, quote, quote != at, &closed);
  token->kind = binary ? SQL_TOKEN_BINARY : SQL_TOKEN_STRING;
  if (!closed)
    set_bad (token, SQL_BAD_STRING);
  return end;
}

static const struct {
  char text[4];
  guint8 kind;
} operators[] = {
  /* Longer ones before their beginnings. */
  { "<=>", SQL_TOKEN_NULL_SAFE_EQ },
  { "<=", SQL_TOKEN_LE },
  { "<>", SQL_TOKEN_NE },
  { "<", SQL_TOKEN_LT },
  { ">=", SQL_TOKEN_GE },
  { ">", SQL_TOKEN_GT },
  { "==", SQL_TOKEN_EQ },
  { "=>", SQL_TOKEN_FAT_ARROW },
  { "=", SQL_TOKEN_EQ },
  { "!=", SQL_TOKEN_NE },
  { "!<", SQL_TOKEN_GE },
  { "!>", SQL_TOKEN_LE },
  { "!", SQL_TOKEN_EXCLAMATION },
  { "->", SQL_TOKEN_ARROW },
  { "-", SQL_TOKEN_MINUS },
  { "||", SQL_TOKEN_CONCAT },
  { "|>", SQL_TOKEN_PIPE },
  { "|", SQL_TOKEN_BAR },
  { "::", SQL_TOKEN_DOUBLE_COLON },
  { ":", SQL_TOKEN_COLON },
  { "(", SQL_TOKEN_OPEN },
  { ")", SQL_TOKEN_CLOSE },
  { ",", SQL_TOKEN_COMMA },
  { ".", SQL_TOKEN_DOT },
  { "[", SQL_TOKEN_OPEN_BRACKET },
  { "]", SQL_TOKEN_CLOSE_BRACKET },
  { ";", SQL_TOKEN_SEMICOLON },
  { "+", SQL_TOKEN_PLUS },
  { "*", SQL_TOKEN_STAR },
  { "/", SQL_TOKEN_SLASH },
  { "%", SQL_TOKEN_PERCENT },
  { "~", SQL_TOKEN_TILDE },
  { "&", SQL_TOKEN_AMPERSAND },
  { "^", SQL_TOKEN_CARET },
  { "@", SQL_TOKEN_AT },
  { "?", SQL_TOKEN_QUESTION },
};

static gsize
lex_operator (const char *text, gsize length, gsize at, SqlToken *token)
{
  for (gsize i = 0; i < G_N_ELEMENTS (operators); i++) {
    gsize size = strlen (operators[i].text);
    if (size <= length - at && memcmp (text + at, operators[i].text, size) == 0) {
      token->kind = operators[i].kind;
      return at + size;
    }
  }
  gunichar c = g_utf8_get_char_validated (text + at, (gssize) (length - at));
  gboolean broken = c == (gunichar) -1 || c == (gunichar) -2;
  set_bad (token, broken ? SQL_BAD_UTF8 : SQL_BAD_CHARACTER);
  return at + (broken || c == 0 ? 1 : (gsize) g_unichar_to_utf8 (c, NULL));
}

static gsize
lex_one (const char *text, gsize length, gsize at, SqlToken *token)
{
  char c = text[at];
  char next = at + 1 < length ? text[at + 1] : 0;
  if (c == '\'' || c == '"' || c == '`' || (strchr ("rRxX", c) != NULL && c != 0 && (next == '\'' || next == '"')))
    return lex_text (text, length, at, token);
  if (g_ascii_isdigit (c) || (c == '.' && g_ascii_isdigit (next))) {
    gboolean integer;
    gsize end = scan_number (text, length, at, &integer);
    if (end != 0) {
      token->kind = integer ? SQL_TOKEN_INTEGER : SQL_TOKEN_NUMBER;
      return end;
    }
  }
  gsize end = at;
  gsize step;
  while ((step = ident_char (text, length, end)) > 0)
    end += step;
  if (end == at)
    return lex_operator (text, length, at, token);
  token->kind = SQL_TOKEN_WORD;
  token->word = (guint16) find_word (text + at, end - at);
  return end;
}

GArray *
sql_lexer_run (const SqlSource *source, guint n_most, gboolean *overflow)
{
  Lexer lexer = { .source = source, .text = source->text, .length = source->length };
  lexer.line = source->start_line;
  lexer.column = source->start_column;
  lexer.original = source->segments[0].original;
  GArray *tokens = g_array_new (FALSE, FALSE, sizeof (SqlToken));
  *overflow = FALSE;
  while (lexer.at < lexer.length) {
    gboolean closed = TRUE;
    gsize step = space_char (lexer.text, lexer.length, lexer.at);
    if (step > 0) {
      lexer.at += step;
      continue;
    }
    SqlToken token = { .begin = (guint32) lexer.at };
    count_to (&lexer, lexer.at);
    token.line = lexer.line;
    token.column = lexer.column;
    gsize end = skip_comment (lexer.text, lexer.length, lexer.at, &closed);
    if (end != lexer.at && closed) {
      lexer.at = end;
      continue;
    }
    if (tokens->len >= n_most) {
      *overflow = TRUE;
      break;
    }
    if (end != lexer.at)
      set_bad (&token, SQL_BAD_COMMENT);
    else
      end = lex_one (lexer.text, lexer.length, lexer.at, &token);
    token.end = (guint32) end;
    g_array_append_val (tokens, token);
    lexer.at = end;
  }
  count_to (&lexer, lexer.at);
  SqlToken end = { .kind = SQL_TOKEN_END, .begin = (guint32) lexer.at, .end = (guint32) lexer.at };
  end.line = lexer.line;
  end.column = lexer.column;
  g_array_append_val (tokens, end);
  return tokens;
}

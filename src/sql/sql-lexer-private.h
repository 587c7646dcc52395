/* Text → tokens. Lexing never fails: what cannot be read is a token SQL_TOKEN_BAD, which the parser reports when it gets there. */
#pragma once

#include "sql-source-private.h"

G_BEGIN_DECLS

typedef enum {
  SQL_TOKEN_END,
  SQL_TOKEN_WORD,   /* identifier or keyword, unquoted */
  SQL_TOKEN_QUOTED, /* `name` */
  SQL_TOKEN_STRING, /* '…', "…", r'…', r"…" */
  SQL_TOKEN_BINARY, /* X'…' */
  SQL_TOKEN_INTEGER,
  SQL_TOKEN_NUMBER, /* with point, exponent or suffix */
  SQL_TOKEN_OPEN,
  SQL_TOKEN_CLOSE,
  SQL_TOKEN_COMMA,
  SQL_TOKEN_DOT,
  SQL_TOKEN_OPEN_BRACKET,
  SQL_TOKEN_CLOSE_BRACKET,
  SQL_TOKEN_COLON,
  SQL_TOKEN_DOUBLE_COLON,
  SQL_TOKEN_SEMICOLON,
  SQL_TOKEN_PLUS,
  SQL_TOKEN_MINUS,
  SQL_TOKEN_STAR,
  SQL_TOKEN_SLASH,
  SQL_TOKEN_PERCENT,
  SQL_TOKEN_TILDE,
  SQL_TOKEN_AMPERSAND,
  SQL_TOKEN_BAR,
  SQL_TOKEN_CONCAT,
  SQL_TOKEN_CARET,
  SQL_TOKEN_EQ, /* = and == */
  SQL_TOKEN_NULL_SAFE_EQ,
  SQL_TOKEN_NE,
  SQL_TOKEN_LT,
  SQL_TOKEN_LE,
  SQL_TOKEN_GT,
  SQL_TOKEN_GE,
  SQL_TOKEN_EXCLAMATION,
  SQL_TOKEN_ARROW,     /* -> */
  SQL_TOKEN_FAT_ARROW, /* => */
  SQL_TOKEN_PIPE,      /* |> */
  SQL_TOKEN_AT,
  SQL_TOKEN_QUESTION,
  SQL_TOKEN_BAD,
} SqlTokenKind;

typedef enum {
  SQL_WORD_OTHER,
#define SQL_KEYWORD(word) SQL_WORD_##word,
#include "sql-keywords.def"
#undef SQL_KEYWORD
  SQL_WORD_N
} SqlWord;

typedef enum {
  SQL_BAD_CHARACTER,
  SQL_BAD_STRING,  /* no closing quote */
  SQL_BAD_QUOTED,  /* no closing backtick, or empty */
  SQL_BAD_COMMENT, /* no closing star slash */
  SQL_BAD_UTF8,
} SqlBad;

typedef struct {
  guint8 kind;   /* SqlTokenKind */
  guint16 word;  /* SqlWord of a WORD, SqlBad of a BAD */
  guint32 begin; /* bytes into source->text */
  guint32 end;
  guint32 line;
  guint32 column;
} SqlToken;

/* Ends with one SQL_TOKEN_END. Stops early, with END, after @n_most tokens and then sets @overflow.
 * Returns: (transfer full) (element-type SqlToken). */
GArray *sql_lexer_run (const SqlSource *source, guint n_most, gboolean *overflow);

/* Where the next piece ends: at the first `;` outside of literals, quoted names and comments at or after @begin, or at @length.
 * @content: (out): whether there is anything but space and comments
 * @closed: (out): FALSE when the text ended inside of a literal, a quoted name or a comment */
gsize sql_lexer_piece_end (const char *text, gsize length, gsize begin, gboolean *content, gboolean *closed);
typedef enum {
  SQL_CHUNK_SPACE,
  SQL_CHUNK_COMMENT,
  SQL_CHUNK_STRING,
  SQL_CHUNK_QUOTED,
  SQL_CHUNK_SEMICOLON,
  SQL_CHUNK_BYTE, /* one byte of anything else */
} SqlChunk;

/* Steps over one chunk at @at (< @length): what a text is made of when only its literals, comments and `;` matter.
 * @closed: (out): FALSE when the chunk reached the end of the text without its closing mark; else untouched
 * Returns: the offset behind it. */
gsize sql_lexer_next_chunk (const char *text, gsize length, gsize at, SqlChunk *chunk, gboolean *closed);

const char *sql_word_text (SqlWord word);

/* Decodes a STRING token's text, quotes and all, onto @out. */
void sql_lexer_decode_string (const char *raw, gsize length, GString *out);

G_END_DECLS

/* The text behind positions, and how `${…}` is put into it. */
#pragma once

#include "sql-parse.h"

G_BEGIN_DECLS

/* Bytes of the lexed text from @begin on came from @original (an offset into the original). Inside a substituted value all bytes
 * map to the `$` of its variable. */
typedef struct {
  gsize begin;
  gsize original;
  gboolean substituted;
} SqlSegment;

/* Lives in the arena and is read-only after it was made. */
struct SqlSource {
  const char *file; /* (nullable) */
  const char *original;
  gsize original_length;
  guint first_line; /* of @original */
  const char *text; /* what the lexer reads: one statement or the whole */
  gsize length;
  SqlSegment *segments; /* at least one, sorted by begin, the first at 0 */
  guint n_segments;
  guint start_line; /* line and column of text[0] in the original */
  guint start_column;
};

/* Copies @text into the arena as a source that is lexed as it is. */
SqlSource *sql_source_new (SqlArena *arena, const char *text, gsize length, const SqlParseOptions *options);
/* A source for the piece [begin, end) of @whole with variables replaced; @line and @column are those of @begin.
 * Errors: what options->substitute gives, with a position. */
SqlSource *sql_source_new_piece (SqlArena *arena, const SqlSource *whole, gsize begin, gsize end, guint line,
                                 guint column, const SqlParseOptions *options, GError **error);
/* The text of one line of the original. Returns: (transfer full). */
char *sql_source_line (const SqlSource *source, guint line);

G_END_DECLS

/* A JSON tokenizer over a span of bytes: what the converter and the inference of `files` share.
 *
 * It never copies: strings are spans with their escapes. Nesting is bounded by FILES_JSON_MAX_DEPTH. Grammar: RFC 8259, plus the
 * bare words NaN, Infinity and -Infinity, which Spark's reader accepts as numbers.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define FILES_JSON_MAX_DEPTH 200

typedef struct {
  const char *at;
  const char *end;
} FilesJsonSpan;

typedef enum {
  FILES_JSON_NULL,
  FILES_JSON_FALSE,
  FILES_JSON_TRUE,
  FILES_JSON_INTEGER, /* no fraction, no exponent */
  FILES_JSON_NUMBER,
  FILES_JSON_STRING,
  FILES_JSON_ARRAY,
  FILES_JSON_OBJECT,
} FilesJsonKind;

void files_json_skip_space (FilesJsonSpan *cursor);

/**
 * files_json_value:
 * @cursor: at the value's first byte; moved past the value
 * @kind: (out)
 * @value: (out): the whole value; of a string without its quotes
 *
 * Returns: FALSE when there is no well-formed value; @cursor is then anywhere.
 */
gboolean files_json_value (FilesJsonSpan *cursor, FilesJsonKind *kind, FilesJsonSpan *value);

/* Walks the members of an object or the elements of an array, whose span files_json_value() gave and so is well-formed.
 * Start with a copy of that span through files_json_enter(); each call gives one member until FALSE. @name: without quotes. */
FilesJsonSpan files_json_enter (const FilesJsonSpan *container);
gboolean files_json_next_member (FilesJsonSpan *cursor, FilesJsonSpan *name, FilesJsonKind *kind, FilesJsonSpan *value);
gboolean files_json_next_element (FilesJsonSpan *cursor, FilesJsonKind *kind, FilesJsonSpan *value);

/* Decodes the escapes of a string's span into @out (emptied first). Lone surrogates become U+FFFD. */
void files_json_decode (const FilesJsonSpan *string, GString *out);
/* Whether decoding would change the span. */
gboolean files_json_has_escape (const FilesJsonSpan *string);

G_END_DECLS

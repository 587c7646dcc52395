/* A strict, allocation-free walker over JSON text, for the two things of a log that come by the hundred thousand: file
 * actions and their statistics. Everything rare goes through jansson.
 *
 * Invariants: never reads outside [at, end); depth is bounded; after a failure `error` is set and every call fails.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define DELTA_JSON_MAX_DEPTH 128

typedef struct {
  const char *at;
  const char *end;
  const char *error; /* NULL = fine so far; else what was expected, a constant */
  guint depth;
} DeltaJson;

typedef enum {
  DELTA_JSON_INVALID,
  DELTA_JSON_NULL,
  DELTA_JSON_TRUE,
  DELTA_JSON_FALSE,
  DELTA_JSON_NUMBER,
  DELTA_JSON_STRING,
  DELTA_JSON_OBJECT,
  DELTA_JSON_ARRAY,
} DeltaJsonType;

/* A slice of the text. Of a string: between its quotes, still escaped when @escaped. */
typedef struct {
  const char *start;
  gsize size;
  gboolean escaped;
} DeltaJsonSlice;

static inline DeltaJson
delta_json (const char *text, gsize size)
{
  return (DeltaJson){ .at = text, .end = text + size };
}

DeltaJsonType delta_json_peek (DeltaJson *json);

/* `{`, then keys until FALSE (the `}` is then read, or an error is set). */
gboolean delta_json_enter_object (DeltaJson *json);
gboolean delta_json_next_key (DeltaJson *json, gboolean *first, DeltaJsonSlice *key);
gboolean delta_json_enter_array (DeltaJson *json);
gboolean delta_json_next_element (DeltaJson *json, gboolean *first);

gboolean delta_json_string (DeltaJson *json, DeltaJsonSlice *slice);
gboolean delta_json_number (DeltaJson *json, DeltaJsonSlice *slice);
gboolean delta_json_int64 (DeltaJson *json, gint64 *value); /* whole numbers only */
gboolean delta_json_bool (DeltaJson *json, gboolean *value);
gboolean delta_json_literal_null (DeltaJson *json); /* reads `null` if it is next; FALSE and nothing read otherwise */
/* Any value; @slice: (nullable): its whole text. */
gboolean delta_json_skip (DeltaJson *json, DeltaJsonSlice *slice);
/* Only white space may follow. */
gboolean delta_json_at_end (DeltaJson *json);

static inline gboolean
delta_json_is (const DeltaJsonSlice *slice, const char *text, gsize size)
{
  return slice->size == size && __builtin_memcmp (slice->start, text, size) == 0;
}
#define DELTA_JSON_IS(slice, literal) delta_json_is ((slice), "" literal, sizeof (literal) - 1)

/* The text of a string slice without escapes; may hold NUL: @size (out) (optional). NULL for a bad escape (a lone surrogate
 * becomes U+FFFD). Returns: (transfer full). */
char *delta_json_unescape (const DeltaJsonSlice *slice, gsize *size);

G_END_DECLS

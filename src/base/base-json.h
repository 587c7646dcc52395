/* JSON text through jansson, with bounds and our errors. */
#pragma once

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

G_DEFINE_AUTOPTR_CLEANUP_FUNC (json_t, json_decref)

/**
 * base_json_parse:
 * @text: @size bytes of UTF-8; one JSON value, white space around it allowed
 * @what: (transfer none): names the text in the error, e.g. "_delta_log/00000000000000000003.json line 2"
 *
 * Errors: SLUICE_ERROR_INVALID_JSON with @what, line and column. Duplicate keys: the last wins, as in Spark's reader.
 * Returns: (transfer full).
 */
json_t *base_json_parse (const char *text, gsize size, const char *what, GError **error);

/* Compact, keys in insertion order, UTF-8 unescaped. Returns: (transfer full). */
char *base_json_text (const json_t *json);
/* Compact with sorted keys: equal values give equal text. Returns: (transfer full). */
char *base_json_canonical_text (const json_t *json);

/* Appends @text, UTF-8 that may hold NUL, as a JSON string with its quotes, escaped as Jackson (Spark) does. */
void base_json_append_string (GString *out, const char *text, gsize size);

/* The digits of a `\uXXXX` at @at (behind the u), with an escape behind them that completes a surrogate pair. @at: moves behind what
 * was read. @c: (out): half of a pair that stands alone as it is, 0xD800 to 0xDFFF. FALSE: there are no four digits. */
gboolean base_json_read_unicode (const char **at, const char *end, gunichar *c);

/* Members of an object, tolerant: absent or of another type gives the default. Borrows live as long as @object. */
const char *base_json_string (const json_t *object, const char *key); /* (nullable) */
gint64 base_json_int64 (const json_t *object, const char *key, gint64 fallback);
gboolean base_json_bool (const json_t *object, const char *key, gboolean fallback);

G_END_DECLS

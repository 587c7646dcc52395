/* Small strings: quoting, percent-encoding, identifiers, digests, near names. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* `'it''s'` and `"a""b"`: a literal and an identifier of DuckDB's SQL. A NUL inside is refused by the callers before.
 * Returns: (transfer full). */
char *base_text_sql_literal (const char *text);
char *base_text_sql_identifier (const char *name);
void base_text_append_sql_literal (GString *out, const char *text);
void base_text_append_sql_identifier (GString *out, const char *name);
/* `` `a``b` ``: an identifier of Spark's SQL, quoted only when needed (not a plain [A-Za-z_][A-Za-z0-9_]* name). */
char *base_text_spark_identifier (const char *name);

/* Percent-encoding of a path inside a Delta log (RFC 2396 as java.net.URI prints it) and back. Decoding accepts any %XX.
 * Errors (decode): NULL for a bad escape or an encoded NUL. Returns: (transfer full). */
char *base_text_uri_encode_path (const char *path);
char *base_text_uri_decode (const char *text);

char *base_text_uuid (void);                             /* (transfer full): random, lower case */
char *base_text_sha256 (gconstpointer data, gsize size); /* (transfer full): 64 hex digits */
char *base_text_folded (const char *name);               /* (transfer full): for case-insensitive comparison of names */
gboolean base_text_equal_ignore_case (const char *a, const char *b);

/* The candidates nearest to @name by edit distance, or whose last part is (`sales.orders`), best first, at most @n_most and none farther than a third
 * of its length.
 * Returns: (transfer full): `` `a`, `b` ``, or NULL when there is none. */
char *base_text_near_names (const char *name, const char *const *candidates, guint n_most);

/* Whole-string numbers in the C locale. FALSE when anything is left over or out of range. */
gboolean base_text_parse_int64 (const char *text, gint64 *value);

/* `1.5 GiB`, `12,345`. Returns: (transfer full). */
char *base_text_size (guint64 bytes);
char *base_text_count (guint64 n);

G_END_DECLS

/* Canonical rows and their digest, as golden/delta/canon.py defines them: the contract of the golden tables. Test code only.
 *
 * A row is a JSON array: NULL null, numbers as numbers (Python's shortest form for floats, NaN and infinities as strings),
 * decimals as text, dates ISO, timestamps microseconds, binary hexadecimal, structs and lists as arrays, maps as arrays of
 * [key, value] sorted by the key's JSON. The digest is the sum of the first 8 bytes of every row's MD5, so order is of no matter.
 */
#pragma once

#include "base-cancel.h"
#include "base-type.h"
#include "duck-session.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct {
  guint64 n_rows;
  guint64 digest;
  GPtrArray *rows; /* (nullable): char *, when asked for */
} CanonSummary;
void canon_summary_clear (CanonSummary *summary);

/* Appends one cell. @type: the Spark type whose physical form the vector has. */
void canon_append_cell (GString *out, const DuckVector *vector, const BaseType *type, guint64 row);
/* Appends one row of a chunk; @schema: a struct with one field per column. */
void canon_append_row (GString *out, const DuckChunk *chunk, const BaseType *schema, guint64 row);
/* Runs @sql and sums up its rows. @keep_rows: also keeps their text. */
gboolean canon_query (DuckSession *session, const char *sql, const BaseType *schema, gboolean keep_rows,
                      CanonSummary *summary, GError **error);
/* "%016x", as in expected files. Returns: (transfer full). */
char *canon_digest_text (const CanonSummary *summary);
/* The types of a schema as expected files print them: [["name", type], …]. Returns: (transfer full). */
json_t *canon_schema (const BaseType *schema);

/* The shared pages' directory `<shared>/golden/<sub>` by SLUICE_SHARED (default ../shared beside the source), or NULL with
 * the test skipped (failed with SLUICE_REQUIRE_SHARED=1). Returns: (transfer full). */
char *canon_golden_directory (const char *sub);

G_END_DECLS

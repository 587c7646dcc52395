/* The kernels that turn JSON text into typed columns, and what they are called in DuckDB's SQL.
 *
 *   sluice_json_row(record VARCHAR, file VARCHAR, options VARCHAR) → STRUCT("f" STRUCT(fields…), "r" VARCHAR)
 *       registered per result type (duck_engine_kernel_instance); "f" holds the schema's fields in their order (INTEGER when there is
 *       none), "r" the rescued data
 *   sluice_json_records(content BLOB, lines BOOLEAN) → VARCHAR[]
 *       the records of a file: one a line, a top-level array gives its elements; without @lines the file is one value or array
 *   sluice_rescue(rescued VARCHAR, file VARCHAR, name VARCHAR, value VARCHAR) → VARCHAR
 *       adds one rescued string member to a rescued object (NULL value: unchanged)
 *
 * @options of sluice_json_row is a constant: members of FilesJsonMode joined by commas, then `;` and the numbers of fields that take
 * only strings, joined by commas.
 */
#pragma once

#include "duck-engine.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  FILES_JSON_FAIL_UNKNOWN = 1 << 0, /* a field that the schema lacks: UNKNOWN_FIELD_EXCEPTION */
  FILES_JSON_RESCUE = 1 << 1,       /* keep in "r" what does not fit */
  FILES_JSON_NESTED_AS_TEXT =
      1 << 2, /* objects and arrays in a STRING column are its JSON text; else they do not fit */
  FILES_JSON_FAIL_MALFORMED = 1 << 3, /* FAILFAST: MALFORMED_RECORD_IN_PARSING */
  FILES_JSON_CORRUPT_COLUMN = 1 << 4, /* the last field takes records that do not parse */
  FILES_JSON_IGNORE_CASE = 1 << 5,    /* names match without case */
  FILES_JSON_DROP_MALFORMED = 1 << 6, /* a record that does not parse gives NULL for the whole result */
} FilesJsonMode;

gboolean files_json_register (DuckEngine *engine, GError **error);

G_END_DECLS

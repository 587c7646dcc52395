/* A value of a sequence outside of tables: in the domain, and as a literal of DuckDB. */
#pragma once

#include "base-type.h"
#include "duck-vector.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

/* JSON of one value of an orderable @type: null; true and false; a number of the integers, of DATE (days), TIMESTAMP
 * and TIMESTAMP_NTZ (µs) and intervals (months, µs); text of FLOAT, DOUBLE, DECIMAL and STRING, hex digits of BINARY;
 * an array of the fields of a STRUCT and of the elements of an ARRAY. Returns: (transfer full). */
json_t *autocdc_value_json (const DuckVector *vector, guint64 row, const BaseType *type);

/* Appends the literal that @json is for @type. FALSE when it is none; @out then holds a part. */
gboolean autocdc_value_print (const json_t *json, const BaseType *type, GString *out);

G_END_DECLS

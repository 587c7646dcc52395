/* A constant value of a Spark type, as plain C. */
#pragma once

#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

/* Which member holds the value:
 *   BOOLEAN, BYTE … LONG, DATE (days since 1970-01-01), TIMESTAMP and TIMESTAMP_NTZ (microseconds), INTERVAL_YEAR_MONTH (months),
 *   INTERVAL_DAY_TIME (microseconds): @integer;   FLOAT, DOUBLE: @floating;
 *   STRING (UTF-8), BINARY: @text, @size bytes, a NUL follows that does not count;   DECIMAL: @text, plain digits such as `-12.30`
 *   with exactly the type's scale;   INTERVAL_CALENDAR: @months, @days, @integer (microseconds).
 * Nested values and VARIANT are never literals (they are calls of `array`, `struct`, `map`); a NULL of any type is one. */
typedef struct {
  BaseType *type;
  gboolean is_null;
  gint64 integer;
  double floating;
  char *text;
  gsize size;
  gint32 months;
  gint32 days;
} RelationLiteral;

RelationLiteral *relation_literal_new_null (const BaseType *type);                  /* (transfer full) */
RelationLiteral *relation_literal_new_integer (const BaseType *type, gint64 value); /* kinds of @integer */
RelationLiteral *relation_literal_new_double (const BaseType *type, double value);  /* FLOAT, DOUBLE */
RelationLiteral *relation_literal_new_text (const BaseType *type, const char *text,
                                            gsize size);                 /* STRING, BINARY, DECIMAL */
RelationLiteral *relation_literal_copy (const RelationLiteral *literal); /* (transfer full) */
void relation_literal_free (RelationLiteral *literal);                   /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationLiteral, relation_literal_free)

/* Appends DuckDB text whose value and physical type are exactly the literal's (`CAST(7 AS BIGINT)`, `'it''s'`, `NULL::VARCHAR`). */
void relation_literal_print (const RelationLiteral *literal, GString *out);

G_END_DECLS

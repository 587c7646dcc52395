/* One typed value: a partition value, a bound of a statistic, a constant of a predicate.
 */
#pragma once

#include "delta-scan.h"

G_BEGIN_DECLS

typedef struct {
  gboolean is_null;
  __int128
      integer; /* BOOLEAN, integers, DATE (days), TIMESTAMP* (microseconds), DECIMAL (unscaled, in the type's scale) */
  double real; /* FLOAT, DOUBLE */
  const char *text; /* STRING, BINARY: borrowed */
  gsize text_bytes;
} DeltaValue;

/* The value that @text of a partition value means for a column of @type. FALSE when it means none. */
gboolean delta_value_parse (const BaseType *type, const char *text, gsize text_bytes, DeltaValue *value);
/* A constant as a value of a column of @type. FALSE when they do not meet (then nothing is skipped). */
gboolean delta_value_from_constant (const BaseType *type, const DeltaConstant *constant, DeltaValue *value);
/* Order of two values of @type, none NULL; NaN is greater than all other numbers (Spark). */
int delta_value_compare (const BaseType *type, const DeltaValue *a, const DeltaValue *b);

/* Parsers of text forms; microseconds and days since 1970. A zone in the text of a timestamp is applied; none means UTC. */
gboolean delta_value_parse_date (const char *text, gsize size, gint64 *days);
gboolean delta_value_parse_timestamp (const char *text, gsize size, gint64 *us);
gboolean delta_value_parse_decimal (const char *text, gsize size, guint precision, guint scale, __int128 *unscaled);

G_END_DECLS

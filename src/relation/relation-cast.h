/* The cast table: (from, to) → may it be done, and the DuckDB text that does it as Spark does. */
#pragma once

#include "base-type.h"
#include "relation-function.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  RELATION_CAST_ANSI,  /* error on bad or too big input */
  RELATION_CAST_TRY,   /* NULL instead */
  RELATION_CAST_STORE, /* as ANSI; overflow is CAST_OVERFLOW_IN_TABLE_INSERT */
} RelationCastMode;

/* Whether CAST(@from AS @to) is legal under ANSI. @code: (out) (optional): the DATATYPE_MISMATCH.CAST_* code (SluiceError) when not. */
gboolean relation_cast_check (const BaseType *from, const BaseType *to, RelationCastMode mode, int *code);
/* Whether the result may be NULL though the input is not (TRY, or NaN to DECIMAL …). */
gboolean relation_cast_is_nullable (const BaseType *from, const BaseType *to, RelationCastMode mode);
/* Appends the text of the cast of @operand (DuckDB text, evaluated once if possible). The pair passed relation_cast_check().
 * @column: (nullable): of a store assignment, for its error. */
gboolean relation_cast_lower (RelationPrinter *printer, const char *operand, const BaseType *from, const BaseType *to,
                              RelationCastMode mode, const char *column, GString *out, GError **error);

G_END_DECLS

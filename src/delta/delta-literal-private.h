/* A value that the log says of a file, for DuckDB: as a literal of a query's text, or as a cell of a lent table. */
#pragma once

#include "delta-value-private.h"
#include "duck-lend.h"

#include <glib.h>

/* In the physical form of @type (duck_type_text). */
void delta_value_append_sql (GString *out, const BaseType *type, const DeltaValue *value);

/* A column for values of @type, which is not nested. @name: borrowed by the result. */
DuckTableColumn delta_value_table_column (const BaseType *type, const char *name);
/* Nothing for NULL: cells are NULL until they are set. */
void delta_value_set_cell (DuckTable *table, guint column, const BaseType *type, const DeltaValue *value);

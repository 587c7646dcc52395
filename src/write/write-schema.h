/* The rows that fit a table: schema evolution, store assignment with defaults and generated columns, table properties. */
#pragma once

#include "base-type.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct DeltaSnapshot DeltaSnapshot;
typedef struct RelationContext RelationContext;
typedef struct RelationPlan RelationPlan;

/**
 * write_schema_merge:
 * @table: (transfer none): a table's schema
 * @data: (transfer none): the schema of rows to be written
 *
 * Adds the fields of @data that @table lacks (compared without case, at any depth of structs, also inside arrays and maps) at the
 * end of their struct, nullable. Types of fields in both are those of @table. VOID fields are added as VOID.
 *
 * Returns: (transfer full): a reference on @table itself when nothing is missing.
 */
BaseType *write_schema_merge (const BaseType *table, const BaseType *data);

typedef enum { WRITE_FIT_BY_POSITION, WRITE_FIT_BY_NAME } WriteFitMode;

/**
 * write_plan_fit:
 * @schema: (transfer none): the table's schema, with its metadata (CURRENT_DEFAULT, delta.generationExpression)
 * @columns: (nullable) (transfer none): INSERT's column list, NULL-terminated; positions of @input are these columns
 * @input: (transfer none)
 *
 * Casts @input to @schema by Spark's store assignment; fills missing columns from their defaults, generated columns from
 * their expressions, nullable ones with NULL.
 *
 * Errors: INSERT_COLUMN_ARITY_MISMATCH…, INCOMPATIBLE_DATA_FOR_TABLE.…, CAST_INVALID_INPUT (at execution) and the like.
 * Returns: (transfer full): a plan whose columns are @schema's, in its order.
 */
RelationPlan *write_plan_fit (RelationContext *context, const BaseType *schema, WriteFitMode mode,
                              const char *const *columns, RelationPlan *input, GError **error);

/**
 * write_properties_check:
 * @configuration: (transfer none): object of strings
 *
 * Every `delta.*` key must be known and its value valid; other keys are free.
 * Errors: DELTA_UNKNOWN_CONFIGURATION with near names, DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION.
 */
gboolean write_properties_check (json_t *configuration, GError **error);

G_END_DECLS

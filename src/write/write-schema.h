/* The rows that fit a table: schema evolution, store assignment with defaults and generated columns. */
#pragma once

#include "base-type.h"
#include "relation-plan.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

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

/* @type with everything inside of it nullable, and without metadata of fields: what a query's column is in a table.
 * Returns: (transfer full). */
BaseType *write_schema_nullable (const BaseType *type);
/* @type without metadata of fields: what another table notes of them, such as ids of a column mapping. Returns: (transfer full). */
BaseType *write_schema_plain (const BaseType *type);

/**
 * write_plan_fit:
 * @schema: (transfer none): the table's schema, with its metadata (CURRENT_DEFAULT, delta.generationExpression)
 * @table_name: for errors
 * @flags: RELATION_ASSIGN_BY_POSITION or _BY_NAME, with _FILL where missing columns are allowed
 * @columns: (nullable) (transfer none): INSERT's column list, NULL-terminated: the columns that @input's positions are
 *
 * relation_plan_assign() with the table's own defaults; generated columns that @input does not give are computed from
 * the others.
 *
 * Errors: those of relation_plan_assign(); UNRESOLVED_COLUMN, COLUMN_ALREADY_EXISTS (in @columns).
 * Returns: (transfer full): a plan whose columns are @schema's, in its order.
 */
RelationPlan *write_plan_fit (RelationPlan *input, const BaseType *schema, RelationAssignFlags flags,
                              const char *const *columns, const char *table_name, const RelationContext *context,
                              GError **error);

/* Whether a value of @expr over rows of @schema can be stored as @type. Errors: the binder's, those of store assignment. */
gboolean write_value_fits (const SqlExpr *expr, const BaseType *schema, const BaseType *type,
                           const RelationContext *context, GError **error);
/* Whether @expr may generate the column of @schema. Errors, with the position: UNSUPPORTED_EXPRESSION_GENERATED_COLUMN,
 * DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH, the binder's. */
gboolean write_generated_check (const SqlExpr *expr, const BaseType *schema, const char *column,
                                const RelationContext *context, GError **error);
gboolean write_generated_is (const BaseField *field);

/**
 * write_plan_generate:
 * @plan: the columns of @schema that are not generated, in their order, and then others
 *
 * Computes the generated columns. Returns: (transfer full): a plan with the columns of @schema, in its order, and then the others.
 */
RelationPlan *write_plan_generate (RelationPlan *plan, const BaseType *schema, const RelationContext *context,
                                   GError **error);

G_END_DECLS

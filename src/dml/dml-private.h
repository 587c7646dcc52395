/* Inside dml: one function per statement, and what they share. */
#pragma once

#include "autocdc-dml.h"
#include "catalog-session.h"
#include "delta-snapshot.h"
#include "dml-definition.h"
#include "dml.h"
#include "sql-tree.h"
#include "write-batch.h"

#include <glib.h>

G_BEGIN_DECLS

gboolean dml_create_table (const DmlContext *context, const SqlStatement *statement, GError **error);
gboolean dml_drop_table (const DmlContext *context, const SqlStatement *statement, GError **error);
gboolean dml_insert (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_delete (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_update (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_merge (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_truncate (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_alter (const DmlContext *context, const SqlStatement *statement, GError **error);
gboolean dml_comment (const DmlContext *context, const SqlStatement *statement, GError **error);
gboolean dml_describe_history (const DmlContext *context, const SqlStatement *statement, DmlResult *result,
                               GError **error);
gboolean dml_describe_auto_cdc (const DmlContext *context, const SqlStatement *statement, DmlResult *result,
                                GError **error);
gboolean dml_describe_detail (const DmlContext *context, const SqlStatement *statement, DmlResult *result,
                              GError **error);

gboolean dml_optimize (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_restore (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_vacuum (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);
gboolean dml_reorg (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);

/* `UPDATE is not supported.` at the statement's position, with a hint. Returns: FALSE always. */
gboolean dml_unsupported (const SqlPosition *position, GError **error, const char *what, const char *hint);

/* The parts of a name. Returns: (transfer container): borrows the tree's texts; NULL + error for IDENTIFIER(…) of a non-constant. */
const char **dml_name_parts (const SqlName *name, GError **error);

/* What a name means for a statement about tables: a temporary view of a one-part name is passed over when @for_create. Errors have the
 * name's position. */
gboolean dml_resolve (const DmlContext *context, const SqlName *name, gboolean for_create, CatalogReference *reference,
                      GError **error);
/* The reference of an existing Delta table and its newest snapshot.
 * Errors: TABLE_OR_VIEW_NOT_FOUND, EXPECT_TABLE_NOT_VIEW, UNSUPPORTED_FEATURE for a provider other than delta. */
DeltaSnapshot *dml_open (const DmlContext *context, const SqlName *name, CatalogReference *reference, GError **error);
/* Its name for messages: `spark_catalog`.`s`.`t`, or the path. Returns: (transfer full). */
char *dml_reference_text (const CatalogReference *reference);

/* Options of a batch for this statement. */
WriteOptions dml_write_options (const DmlContext *context);

/* A transaction on @snapshot of a statement that writes no rows; as batches do, it records the session's userMetadata. (transfer full) */
DeltaTransaction *dml_transaction_new (const DmlContext *context, DeltaSnapshot *snapshot);
/* @memory: (out) (transfer full): that of the target of an AUTO CDC flow, NULL for other tables. Errors: those of autocdc_dml_new(). */
gboolean dml_memory_open (const DmlContext *context, const CatalogReference *reference, DeltaSnapshot *snapshot,
                          AutoCdcDml **memory, GError **error);

/* JSON texts of commitInfo parameters. Returns: (transfer full). */
char *dml_json_list (const char *const *texts);
char *dml_json_object (GHashTable *texts);

/* The answer of a statement that answers nothing. */
void dml_result_empty (DmlResult *result);
/* Whether @expr may be a CHECK condition over rows of @schema. Errors, with the position: DELTA_NON_BOOLEAN_CHECK_CONSTRAINT,
 * DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT, the binder's. */
gboolean dml_check_condition (const DmlContext *context, const SqlExpr *expr, const BaseType *schema, GError **error);
/* Whether @expr, which reads no column, may be the default of a column. Errors: INVALID_DEFAULT_VALUE.*, the binder's. */
gboolean dml_default_check (const DmlContext *context, const SqlExpr *expr, const BaseType *type, const char *column,
                            GError **error);

/* num_affected_rows and num_inserted_rows. */
void dml_result_inserted (DmlResult *result, guint64 n_rows);

G_END_DECLS

/* ALTER and COMMENT ON: dispatch, and the way of a change to its commit. */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-alter-private.h"
#include "relation-plan.h"
#include "sql-build.h"

#include <string.h>

#define MAX_ATTEMPTS 100 /* what reads rows meets every append */

/* ---- one change ---- */

static void
alteration_clear (DmlAlteration *alteration)
{
  g_clear_pointer (&alteration->batch, write_batch_free);
  catalog_reference_clear (&alteration->reference);
  g_clear_pointer (&alteration->snapshot, delta_snapshot_unref);
  g_clear_pointer (&alteration->name, g_free);
  g_clear_pointer (&alteration->metadata, delta_metadata_unref);
  g_clear_pointer (&alteration->wishes, g_hash_table_unref);
  g_clear_pointer (&alteration->protocol, delta_protocol_unref);
  g_clear_pointer (&alteration->parameters, json_decref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DmlAlteration, alteration_clear)

void
dml_alteration_take_metadata (DmlAlteration *alteration, DeltaMetadata *metadata)
{
  DeltaMetadata *old = alteration->metadata;
  alteration->metadata = metadata;
  delta_metadata_unref (old);
}

void
dml_alteration_set_parameter (DmlAlteration *alteration, const char *name, const char *value)
{
  json_object_set_new (alteration->parameters, name, json_string (value));
}

void
dml_alteration_set_json (DmlAlteration *alteration, const char *name, json_t *value)
{
  g_autofree char *text = base_json_text (value);
  dml_alteration_set_parameter (alteration, name, text);
  json_decref (value);
}

gboolean
dml_alteration_is_autocdc (const DmlAlteration *alteration)
{
  return delta_snapshot_domain (alteration->snapshot, AUTOCDC_DOMAIN) != NULL;
}

/* Puts what the step decided into the batch. */
static gboolean
apply (DmlAlteration *alteration, GError **error)
{
  DeltaTransaction *transaction = write_batch_transaction (alteration->batch);
  if (alteration->metadata != NULL && !write_batch_set_metadata (alteration->batch, alteration->metadata, error))
    return FALSE;
  if (alteration->wishes != NULL) {
    g_autoptr (DeltaProtocol) wished =
        dml_protocol_wished (delta_transaction_protocol (transaction), alteration->wishes, error);
    if (wished == NULL)
      return FALSE;
    delta_transaction_set_protocol (transaction, wished);
  }
  if (alteration->protocol != NULL)
    delta_transaction_set_protocol (transaction, alteration->protocol);
  return TRUE;
}

static gboolean
try_once (const DmlContext *context, const SqlName *table, DmlAlterStep step, gconstpointer data, gboolean last,
          gboolean *done, GError **error)
{
  g_auto (DmlAlteration) alteration = { .context = context, .table = table };
  alteration.snapshot = dml_open (context, table, &alteration.reference, error);
  if (alteration.snapshot == NULL)
    return FALSE;
  alteration.name = dml_reference_text (&alteration.reference);
  alteration.parameters = json_object ();
  WriteOptions options = dml_write_options (context);
  alteration.batch = write_batch_begin (delta_snapshot_table (alteration.snapshot), alteration.snapshot, context->duck,
                                        &options, error);
  if (alteration.batch == NULL || !step (&alteration, data, error))
    return FALSE;
  *done = alteration.is_void;
  if (alteration.is_void)
    return TRUE;
  if (!apply (&alteration, error))
    return FALSE;
  WriteCommit commit = { .operation = alteration.operation,
                         .parameters = alteration.parameters,
                         .reads_table = alteration.reads_rows };
  return write_batch_attempt (alteration.batch, &commit, last, done, error);
}

gboolean
dml_alter_run (const DmlContext *context, const SqlName *table, DmlAlterStep step, gconstpointer data, GError **error)
{
  gboolean done = FALSE;
  for (guint i = 0; i < MAX_ATTEMPTS && !done; i++) {
    if (!try_once (context, table, step, data, i + 1 == MAX_ATTEMPTS, &done, error)) {
      sql_position_add_to_error (&table->position, error);
      return FALSE;
    }
  }
  return TRUE;
}

/* ---- rows that are there ---- */

gboolean
dml_count_violations (DmlAlteration *alteration, const SqlExpr *condition, gint64 *n_rows, GError **error)
{
  const DmlContext *context = alteration->context;
  BaseType *schema = delta_snapshot_schema (alteration->snapshot);
  guint n_columns = base_type_n_fields (schema);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, n_columns + 1);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < n_columns; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", i));
    columns[i] = (DeltaScanColumn){ i, g_ptr_array_index (names, i) };
  }
  DeltaScanRequest request = { .columns = columns, .n_columns = n_columns };
  g_autoptr (DeltaScan) scan = delta_scan_new (alteration->snapshot, &request, context->cancel, error);
  if (scan == NULL)
    return FALSE;
  g_autoptr (RelationSource) source = relation_source_new_text ("rows", delta_scan_sql (scan), schema, FALSE);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
  RelationItem item = { .name = "holds", .expr = condition };
  g_autoptr (RelationPlan) holds = relation_plan_project (plan, &item, 1, context->relation, error);
  if (holds == NULL)
    return FALSE;
  RelationLowering lowering = { .now_us = context->relation->now_us, .session = context->duck };
  g_autoptr (RelationText) text = relation_plan_lower (holds, &lowering, error);
  if (text == NULL)
    return FALSE;
  g_autofree char *sql =
      g_strdup_printf ("SELECT count(*) FROM (%s) WHERE c0 IS NOT TRUE", relation_text_sql (text)->str);
  alteration->reads_rows = TRUE;
  return duck_session_query_int64 (context->duck, sql, context->cancel, n_rows, NULL, error);
}

/* ---- names ---- */

static gboolean
rename_to (const DmlContext *context, const SqlAlter *alter, gboolean is_view, GError **error)
{
  g_auto (CatalogReference) reference = { 0 };
  g_autofree const char **parts = dml_name_parts (&alter->target, error);
  if (parts == NULL || !dml_resolve (context, &alter->name, FALSE, &reference, error))
    return FALSE;
  g_autofree char *name = dml_reference_text (&reference);
  if (reference.kind == CATALOG_REFERENCE_ABSENT) {
    g_autofree const char **old = dml_name_parts (&alter->name, error);
    if (old != NULL)
      (void) catalog_session_set_not_found (context->names, old, alter->name.n, error); /* always FALSE */
    sql_position_add_to_error (&alter->name.position, error);
    return FALSE;
  }
  if (reference.kind == CATALOG_REFERENCE_PATH || reference.kind == CATALOG_REFERENCE_TEMPORARY_VIEW)
    return dml_unsupported (
        &alter->name.position, error,
        reference.kind == CATALOG_REFERENCE_PATH ? "RENAME of a path" : "RENAME of a temporary view", NULL);
  if (is_view != (reference.kind == CATALOG_REFERENCE_VIEW)) {
    base_error_set (error, is_view ? SLUICE_ERROR_EXPECT_VIEW_NOT_TABLE : SLUICE_ERROR_EXPECT_TABLE_NOT_VIEW,
                    is_view ? "%s is a table; use ALTER TABLE." : "%s is a view; use ALTER VIEW.", name);
    sql_position_add_to_error (&alter->name.position, error);
    return FALSE;
  }
  if (reference.entry->owner_pipeline != NULL)
    return dml_unsupported (&alter->name.position, error, "RENAME of what a pipeline owns",
                            "Rename it in the pipeline's files.");
  /* One part stays in the schema of the thing itself. */
  g_autofree char *schema = alter->target.n == 1
                                ? g_strdup (reference.schema)
                                : catalog_session_schema_of (context->names, parts, alter->target.n - 1, error);
  if (schema == NULL ||
      !catalog_rename (context->catalog, reference.schema, reference.name, schema, parts[alter->target.n - 1], error)) {
    sql_position_add_to_error (&alter->target.position, error);
    return FALSE;
  }
  return TRUE;
}

/* ---- dispatch ---- */

/* Forms that the parser knows and no table here has. */
static const struct {
  SqlAlterKind action;
  const char *name;
  const char *hint;
} refused_actions[] = {
  { SQL_ALTER_SET_LOCATION, "ALTER TABLE … SET LOCATION", "Create another table at that location." },
  { SQL_ALTER_SET_OWNER, "ALTER … OWNER TO", NULL },
  { SQL_ALTER_ADD_PARTITIONS, "ALTER TABLE … ADD PARTITION", "A Delta table's partitions come with its rows." },
  { SQL_ALTER_DROP_PARTITIONS, "ALTER TABLE … DROP PARTITION", "Use DELETE FROM … WHERE." },
  { SQL_ALTER_REFRESH_POLICY, "ALTER … REFRESH POLICY", "Write it into the pipeline's file." },
  { SQL_ALTER_SCHEDULE, "ALTER … SCHEDULE", "Run the pipeline when it is due." },
  { SQL_ALTER_VIEW_QUERY, "ALTER VIEW … AS", "Use CREATE OR REPLACE VIEW." },
};

static gboolean
alter_table (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  switch (alter->action) {
  case SQL_ALTER_SET_PROPERTIES:
    return dml_alter_set_properties (context, alter, error);
  case SQL_ALTER_UNSET_PROPERTIES:
    return dml_alter_unset_properties (context, alter, error);
  case SQL_ALTER_RENAME:
    return rename_to (context, alter, FALSE, error);
  case SQL_ALTER_ADD_CONSTRAINT:
    return dml_alter_add_constraint (context, alter, error);
  case SQL_ALTER_DROP_CONSTRAINT:
    return dml_alter_drop_constraint (context, alter, error);
  case SQL_ALTER_ADD_FEATURE:
    return dml_alter_add_feature (context, alter, error);
  case SQL_ALTER_DROP_FEATURE:
    return dml_alter_drop_feature (context, alter, error);
  case SQL_ALTER_ADOPT:
    return dml_alter_adopt (context, alter, error);
  case SQL_ALTER_CLUSTER_BY:
    return dml_alter_cluster_by (context, alter, error);
  case SQL_ALTER_ADD_COLUMNS:
  case SQL_ALTER_REPLACE_COLUMNS:
  case SQL_ALTER_DROP_COLUMNS:
  case SQL_ALTER_RENAME_COLUMN:
  case SQL_ALTER_COLUMN_TYPE:
  case SQL_ALTER_COLUMN_COMMENT:
  case SQL_ALTER_COLUMN_SET_NOT_NULL:
  case SQL_ALTER_COLUMN_DROP_NOT_NULL:
  case SQL_ALTER_COLUMN_SET_DEFAULT:
  case SQL_ALTER_COLUMN_DROP_DEFAULT:
  case SQL_ALTER_COLUMN_PLACE:
    return dml_alter_columns (context, alter, error);
  default:
    return dml_unsupported (&alter->action_position, error, "This form of ALTER TABLE", NULL);
  }
}

gboolean
dml_alter (const DmlContext *context, const SqlStatement *statement, GError **error)
{
  const SqlAlter *alter = &statement->u.alter;
  for (guint i = 0; i < G_N_ELEMENTS (refused_actions); i++) {
    if (refused_actions[i].action == alter->action)
      return dml_unsupported (&alter->action_position, error, refused_actions[i].name, refused_actions[i].hint);
  }
  switch (alter->object) {
  case SQL_OBJECT_TABLE:
  case SQL_OBJECT_STREAMING_TABLE:
    return alter_table (context, alter, error);
  case SQL_OBJECT_VIEW:
    return alter->action == SQL_ALTER_RENAME
               ? rename_to (context, alter, TRUE, error)
               : dml_unsupported (&alter->action_position, error, "This form of ALTER VIEW",
                                  "Use CREATE OR REPLACE VIEW.");
  case SQL_OBJECT_MATERIALIZED_VIEW:
    return dml_unsupported (&statement->position, error, "ALTER MATERIALIZED VIEW",
                            "Change it in the pipeline's files.");
  default:
    return dml_unsupported (&statement->position, error, "ALTER of anything but a table or view", NULL);
  }
}

gboolean
dml_comment (const DmlContext *context, const SqlStatement *statement, GError **error)
{
  const SqlComment *comment = &statement->u.comment;
  switch (comment->object) {
  case SQL_OBJECT_TABLE:
    return dml_alter_table_comment (context, &comment->name, comment->text, error);
  case SQL_OBJECT_COLUMN:
    return dml_comment_on_column (context, comment, error);
  default:
    return dml_unsupported (&statement->position, error, "COMMENT ON anything but a table or column",
                            "Give the comment when it is created.");
  }
}

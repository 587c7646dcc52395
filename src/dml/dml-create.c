/* CREATE TABLE and DROP TABLE.
 *
 * The Delta log decides: a table comes into being with the commit of version 0, put-if-absent, so of two creators one wins and the other
 * sees the winner's table. The catalog's row is put before it (catalog.h says why).
 *
 *   name in catalog?   log at the location?   CREATE               IF NOT EXISTS   OR REPLACE / REPLACE
 *   no                 no                     version 0            version 0       version 0 (REPLACE alone: error)
 *   no                 yes                    adopted if it fits   same            new version
 *   yes                yes                    error                nothing         new version
 */
#include "autocdc.h"
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-alter-private.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "sql-parse.h"
#include "write-schema.h"

#include <string.h>

/* One CREATE TABLE on its way. */
typedef struct {
  const DmlContext *context;
  const SqlCreateTable *create;
  const SqlPosition *position;
  CatalogReference reference;
  DmlDefinition definition;
  RelationPlan *plan; /* (nullable): AS query */
  char *location;     /* of the table */
  gboolean is_managed;
} Creation;

static void
creation_clear (Creation *creation)
{
  catalog_reference_clear (&creation->reference);
  dml_definition_clear (&creation->definition);
  g_clear_pointer (&creation->plan, relation_plan_unref);
  g_clear_pointer (&creation->location, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Creation, creation_clear)

static gboolean
check_form (const SqlCreateTable *create, const SqlPosition *position, GError **error)
{
  if (create->object != SQL_OBJECT_TABLE)
    return dml_unsupported (position, error,
                            create->object == SQL_OBJECT_STREAMING_TABLE
                                ? "CREATE STREAMING TABLE outside of a pipeline"
                                : "CREATE MATERIALIZED VIEW outside of a pipeline",
                            "Put the statement into a pipeline's file and use `sluice run`.");
  if (create->temporary)
    return dml_unsupported (position, error, "CREATE TEMPORARY TABLE", "Use CREATE TEMPORARY VIEW.");
  if (create->like.n > 0 && (create->or_replace || create->replace))
    return dml_unsupported (&create->like.position, error, "REPLACE TABLE … LIKE",
                            "Drop the table first, or use CREATE OR REPLACE TABLE … AS SELECT … WHERE false.");
  if (create->like.n > 0 && (create->has_elements || create->query != NULL)) {
    base_error_set (error, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "LIKE goes with neither columns nor AS query.");
    sql_position_add_to_error (&create->like.position, error);
    return FALSE;
  }
  if (create->clone != SQL_CLONE_NONE)
    return dml_unsupported (&create->clone_source.position, error, "CLONE", "Use CREATE TABLE … AS SELECT.");
  if (create->expectations.n > 0)
    return dml_unsupported (&create->expectations.items[0].position, error, "An expectation outside of a pipeline",
                            "Use a CHECK constraint.");
  if (create->query != NULL && create->columns.n > 0) {
    base_error_set (error, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "A column list and AS query together are not allowed.");
    sql_position_add_to_error (position, error);
    return FALSE;
  }
  for (guint i = 0; i < create->columns.n; i++) {
    if (create->columns.items[i].type == NULL) {
      base_error_set (error, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "A column needs a type.");
      sql_position_add_to_error (&create->columns.items[i].position, error);
      return FALSE;
    }
  }
  return TRUE;
}

/* ---- expressions ---- */

static gboolean
check_constraints (const Creation *creation, const SqlConstraint *constraints, guint n_constraints, GError **error)
{
  for (guint i = 0; i < n_constraints; i++) {
    if (constraints[i].kind == SQL_CONSTRAINT_CHECK &&
        !dml_check_condition (creation->context, constraints[i].check, creation->definition.schema, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
check_expressions (const Creation *creation, GError **error)
{
  const SqlCreateTable *create = creation->create;
  for (guint i = 0; i < create->columns.n; i++) {
    const SqlColumn *column = &create->columns.items[i];
    const char *name = column->name.parts[0].text;
    if (column->default_value != NULL &&
        !dml_default_check (creation->context, column->default_value, column->type->base, name, error))
      return FALSE;
    if (column->generated != NULL && !write_generated_check (column->generated, creation->definition.schema, name,
                                                             creation->context->relation, error))
      return FALSE;
    if (!check_constraints (creation, column->constraints, column->n_constraints, error))
      return FALSE;
  }
  return check_constraints (creation, create->constraints, create->n_constraints, error);
}

/* A CHECK condition that was given as a property. */
static gboolean
check_condition_text (const Creation *creation, const char *text, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  const SqlExpr *expr = sql_parse_expression (arena, text, -1, NULL, error);
  return expr != NULL && dml_check_condition (creation->context, expr, creation->definition.schema, error);
}

static gboolean
check_properties (const Creation *creation, GError **error)
{
  const SqlPropertyList *properties = &creation->create->properties;
  for (guint i = 0; i < properties->n; i++) {
    const SqlProperty *property = &properties->items[i];
    if (property->value == NULL)
      continue;
    if (!dml_property_check (property->key, property->value, NULL, error) ||
        (g_str_has_prefix (property->key, "delta.constraints.") && creation->create->query == NULL &&
         !check_condition_text (creation, property->value, error))) {
      sql_position_add_to_error (&property->position, error);
      return FALSE;
    }
  }
  return TRUE;
}

/* ---- what the table will be ---- */

/* The schema of AS query: names and types of its columns, nullable at every depth. */
static BaseType *
query_schema (RelationPlan *plan)
{
  BaseType *output = relation_plan_schema (plan);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (output); i++) {
    const BaseField *field = base_type_field (output, i);
    g_autoptr (BaseType) type = write_schema_nullable (field->type);
    base_struct_builder_add (builder, field->name, type, TRUE, NULL);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

/* Properties, comment and partitions of a table that is replaced: the new definition's, with the table's own id. */
static DeltaMetadata *
replaced_metadata (Creation *creation, DeltaMetadata *old, const BaseType *schema)
{
  g_autoptr (DeltaMetadata) fresh =
      dml_definition_metadata (&creation->definition, schema, base_clock_now_us (&creation->context->clock));
  g_autoptr (DeltaMetadata) metadata = delta_metadata_with_schema (old, delta_metadata_schema (fresh));
  DeltaMetadata *next = delta_metadata_with_partition_columns (metadata, delta_metadata_partition_columns (fresh));
  delta_metadata_unref (metadata);
  metadata = next;
  g_autofree const char **keys = delta_metadata_property_keys (old);
  for (guint i = 0; keys[i] != NULL; i++) {
    if (g_str_has_prefix (keys[i], "delta.rowTracking."))
      continue;
    next = delta_metadata_with_property (metadata, keys[i], NULL);
    delta_metadata_unref (metadata);
    metadata = next;
  }
  GHashTableIter iter;
  gpointer key, value;
  g_hash_table_iter_init (&iter, creation->definition.properties);
  while (g_hash_table_iter_next (&iter, &key, &value)) {
    next = delta_metadata_with_property (metadata, key, value);
    delta_metadata_unref (metadata);
    metadata = next;
  }
  return delta_metadata_with_texts (metadata, NULL,
                                    creation->definition.comment != NULL ? creation->definition.comment : "");
}

/* ---- LIKE ---- */

/* Whether a property says how the source itself is, and not what such a table is. */
static gboolean
is_of_one_table (const char *key)
{
  static const char *const prefixes[] = { "delta.rowTracking.", "delta.inCommitTimestampEnablement",
                                          "delta.requireCheckpointProtection", "sluice.", "pipelines." };

  for (guint i = 0; i < G_N_ELEMENTS (prefixes); i++)
    if (g_str_has_prefix (key, prefixes[i]))
      return TRUE;
  return FALSE;
}

/* Table features that are there because a property or a domain asks for them, or that a new table has no use for. */
static gboolean
is_own_feature (const char *name)
{
  static const char *const others[] = { "clustering", "domainMetadata", "rowTracking", "checkpointProtection", NULL };

  return g_strv_contains (others, name) || g_str_has_prefix (name, "sluice.");
}

static gboolean
has_property (const SqlPropertyList *list, const char *key)
{
  for (guint i = 0; i < list->n; i++)
    if (g_ascii_strcasecmp (list->items[i].key, key) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
has_identity (const BaseType *schema)
{
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    if (json_object_get (base_type_field (schema, i)->metadata, "delta.identity.start") != NULL)
      return TRUE;
  return FALSE;
}

/* Columns, partitions, clustering, comment and properties of the source, where the statement says nothing else. */
static gboolean
define_like (Creation *creation, GError **error)
{
  const SqlCreateTable *create = creation->create;
  DmlDefinition *definition = &creation->definition;
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) source = dml_open (creation->context, &create->like, &reference, error);
  if (source == NULL)
    return FALSE;
  DeltaMetadata *metadata = delta_snapshot_metadata (source);
  const char *const *features = delta_protocol_writer_features (delta_snapshot_protocol (source));
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  if (has_identity (delta_snapshot_schema (source)))
    return dml_unsupported (&create->like.position, error, "CREATE TABLE … LIKE a table with an identity column", NULL);
  base_type_unref (definition->schema);
  definition->schema = base_type_ref (delta_snapshot_schema (source));
  if (definition->partition_columns[0] == NULL && definition->clustering[0] == NULL) {
    g_strfreev (definition->partition_columns);
    definition->partition_columns = g_strdupv ((char **) delta_metadata_partition_columns (metadata));
    g_strfreev (definition->clustering);
    definition->clustering = dml_clustering_columns (source);
  }
  if (definition->comment == NULL)
    definition->comment = g_strdup (delta_metadata_description (metadata));
  for (guint i = 0; keys[i] != NULL; i++)
    if (!is_of_one_table (keys[i]) && !has_property (&create->properties, keys[i]))
      g_hash_table_insert (definition->properties, g_strdup (keys[i]),
                           g_strdup (delta_metadata_property (metadata, keys[i])));
  for (guint i = 0; features != NULL && features[i] != NULL; i++)
    if (!is_own_feature (features[i]))
      g_hash_table_insert (definition->properties, g_strconcat ("delta.feature.", features[i], NULL),
                           g_strdup ("supported"));
  return TRUE;
}

/* ---- the commit ---- */

static const char *
operation_name (const Creation *creation)
{
  gboolean query = creation->plan != NULL;
  if (creation->create->or_replace)
    return query ? "CREATE OR REPLACE TABLE AS SELECT" : "CREATE OR REPLACE TABLE";
  if (creation->create->replace)
    return query ? "REPLACE TABLE AS SELECT" : "REPLACE TABLE";
  return query ? "CREATE TABLE AS SELECT" : "CREATE TABLE";
}

static json_t *
operation_parameters (const Creation *creation)
{
  g_autofree char *partitions = dml_json_list ((const char *const *) creation->definition.partition_columns);
  g_autofree char *clustering = dml_json_list ((const char *const *) creation->definition.clustering);
  g_autofree char *properties = dml_json_object (creation->definition.properties);
  json_t *parameters = json_pack ("{s:s, s:s, s:s, s:s}", "isManaged", creation->is_managed ? "true" : "false",
                                  "partitionBy", partitions, "clusterBy", clustering, "properties", properties);
  if (creation->definition.comment != NULL)
    json_object_set_new (parameters, "description", json_string (creation->definition.comment));
  return parameters;
}

static gboolean
stage_rows (Creation *creation, WriteBatch *batch, GError **error)
{
  g_autofree char *name = dml_reference_text (&creation->reference);
  g_autoptr (RelationPlan) fitted =
      relation_plan_assign (creation->plan, write_batch_schema (batch), RELATION_ASSIGN_BY_POSITION, name, NULL,
                            creation->context->relation, error);
  if (fitted == NULL)
    return FALSE;
  RelationLowering lowering = { .now_us = creation->context->relation->now_us, .session = creation->context->duck };
  g_autoptr (RelationText) text = relation_plan_lower (fitted, &lowering, error);
  return text != NULL && write_batch_rows (batch, relation_text_sql (text)->str, WRITE_ROWS_DEFAULT, NULL, error);
}

/* What replacing must not do: change rows and names in one commit that the feed must tell
 * (cdf.md 2.12). */
static gboolean
check_replacement (DeltaSnapshot *snapshot, DeltaMetadata *metadata, const SqlPosition *position, GError **error)
{
  if (!delta_metadata_change_feed (metadata) || delta_metadata_mapping (metadata) == DELTA_MAPPING_NONE ||
      delta_snapshot_n_files (snapshot) == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_BLOCK_COLUMN_MAPPING_AND_CDC_OPERATION,
                  "Operation \"REPLACE TABLE\" is not allowed when the table has enabled change data feed (CDF) and "
                  "column mapping: its rows and its columns would change in one commit.");
  sql_position_add_to_error (position, error);
  return FALSE;
}

/* The protocol that the properties ask for. */
static gboolean
apply_wishes (const Creation *creation, DeltaTransaction *transaction, GError **error)
{
  g_autoptr (DeltaProtocol) wished =
      dml_protocol_wished (delta_transaction_protocol (transaction), creation->definition.properties, error);
  if (wished != NULL)
    delta_transaction_set_protocol (transaction, wished);
  return wished != NULL;
}

/* CLUSTER BY, or none any more. */
static gboolean
apply_clustering (const Creation *creation, DeltaSnapshot *snapshot, DeltaTransaction *transaction, GError **error)
{
  if (creation->definition.clustering[0] != NULL)
    return dml_definition_cluster (creation->definition.clustering, transaction, error);
  if (snapshot != NULL && delta_snapshot_domain (snapshot, "delta.clustering") != NULL)
    delta_transaction_set_domain (transaction, "delta.clustering", NULL);
  return TRUE;
}

/* Makes the version. @outcome: (out): a conflict means that another writer was faster. */
static gboolean
commit_version (Creation *creation, DeltaTable *table, DeltaSnapshot *snapshot, DeltaCommitResult *outcome,
                GError **error)
{
  WriteOptions options = dml_write_options (creation->context);
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, creation->context->duck, &options, error);
  if (batch == NULL)
    return FALSE;
  g_autoptr (BaseType) schema =
      creation->plan != NULL ? query_schema (creation->plan) : base_type_ref (creation->definition.schema);
  g_autoptr (DeltaMetadata) metadata =
      snapshot != NULL
          ? replaced_metadata (creation, delta_snapshot_metadata (snapshot), schema)
          : dml_definition_metadata (&creation->definition, schema, base_clock_now_us (&creation->context->clock));
  if (snapshot != NULL && !check_replacement (snapshot, metadata, &creation->create->name.position, error))
    return FALSE;
  DeltaTransaction *transaction = write_batch_transaction (batch);
  gboolean set = snapshot != NULL ? write_batch_replace_metadata (batch, metadata, error)
                                  : write_batch_set_metadata (batch, metadata, error);
  if (!set || !apply_wishes (creation, transaction, error) ||
      !apply_clustering (creation, snapshot, transaction, error))
    return FALSE;
  if (snapshot != NULL)
    autocdc_forget (transaction, snapshot);
  if (snapshot != NULL && !write_batch_remove_all (batch, NULL, error))
    return FALSE;
  if (creation->plan != NULL && !stage_rows (creation, batch, error))
    return FALSE;
  g_autoptr (json_t) parameters = operation_parameters (creation);
  WriteCommit commit = { .operation = operation_name (creation),
                         .parameters = parameters,
                         .reads_table = snapshot != NULL };
  return write_batch_commit (batch, &commit, outcome, error);
}

/* ---- the ways to go ---- */

static gboolean
already_exists (Creation *creation, GError **error)
{
  g_autofree char *name = dml_reference_text (&creation->reference);
  base_error_set (
      error, SLUICE_ERROR_TABLE_OR_VIEW_ALREADY_EXISTS,
      "Cannot create table or view %s because it already exists. Choose a different name, drop or replace the "
      "existing object, add the IF NOT EXISTS clause to tolerate pre-existing objects, or add the OR REPLACE "
      "clause.",
      name);
  sql_position_add_to_error (&creation->create->name.position, error);
  return FALSE;
}

/* A log is there and no name: the statement may only say what the table already is. */
static gboolean
adopt_existing (Creation *creation, DeltaSnapshot *snapshot, GError **error)
{
  BaseType *present = delta_snapshot_schema (snapshot);
  const char *const *partitions = delta_metadata_partition_columns (delta_snapshot_metadata (snapshot));
  const DmlDefinition *definition = &creation->definition;
  if (creation->plan != NULL) {
    base_error_set (error, SLUICE_ERROR_DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION,
                    "Cannot create a table of a query at %s: there is a Delta table already.", creation->location);
    return FALSE;
  }
  gboolean same_partitions = definition->partition_columns[0] == NULL ||
                             g_strv_equal ((const char *const *) definition->partition_columns, partitions);
  gboolean same_schema = base_type_n_fields (definition->schema) == 0 ||
                         base_type_equal (definition->schema, present, BASE_TYPE_EQUAL_IGNORE_NULLABILITY);
  if (!same_schema || !same_partitions) {
    g_autofree char *wanted = base_type_ddl (definition->schema);
    g_autofree char *found = base_type_ddl (present);
    base_error_set (error,
                    same_schema ? SLUICE_ERROR_DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING
                                : SLUICE_ERROR_DELTA_CREATE_TABLE_SCHEME_MISMATCH,
                    "The specified %s does not match the existing table at %s: specified %s, existing %s.",
                    same_schema ? "partitioning" : "schema", creation->location, wanted, found);
    return FALSE;
  }
  return TRUE;
}

/* Puts the name into the catalog unless the statement is about a path. */
static gboolean
register_name (Creation *creation, CatalogOutcome *outcome, GError **error)
{
  *outcome = CATALOG_CREATED;
  if (creation->reference.kind == CATALOG_REFERENCE_PATH)
    return TRUE;
  CatalogNew row = {
    .schema = creation->reference.schema,
    .name = creation->reference.name,
    .kind = CATALOG_KIND_TABLE,
    .provider = "delta",
    .location = creation->is_managed ? NULL : creation->location,
    .owner = creation->context->user,
    .now_us = base_clock_now_us (&creation->context->clock),
  };
  return catalog_create (creation->context->catalog, &row, outcome, NULL, error);
}

/* Takes the name of an external table back when its log could not be made; a managed one without a log does not exist anyway. */
static void
unregister_name (Creation *creation)
{
  if (creation->reference.kind != CATALOG_REFERENCE_PATH && !creation->is_managed)
    (void) catalog_drop (creation->context->catalog, creation->reference.schema, creation->reference.name, NULL, NULL);
}

static gboolean
replace_existing (Creation *creation, DeltaTable *table, GError **error)
{
  for (guint attempt = 0; attempt < 10; attempt++) {
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, creation->context->cancel, error);
    DeltaCommitResult outcome = { 0 };
    if (snapshot == NULL || !commit_version (creation, table, snapshot, &outcome, error))
      return FALSE;
    gboolean done = outcome.outcome == DELTA_COMMIT_DONE;
    if (!done && attempt == 9)
      (void) delta_commit_result_to_error (&outcome, error); /* always FALSE */
    delta_commit_result_clear (&outcome);
    if (done)
      return TRUE;
  }
  return FALSE;
}

static gboolean
create_first_version (Creation *creation, DeltaTable *table, GError **error)
{
  CatalogOutcome outcome;
  if (!register_name (creation, &outcome, error))
    return FALSE;
  if (outcome == CATALOG_EXISTS)
    return creation->create->if_not_exists || already_exists (creation, error);
  DeltaCommitResult committed = { 0 };
  if (!commit_version (creation, table, NULL, &committed, error)) {
    unregister_name (creation);
    return FALSE;
  }
  gboolean done = committed.outcome == DELTA_COMMIT_DONE;
  delta_commit_result_clear (&committed);
  return done || creation->create->if_not_exists || already_exists (creation, error);
}

/* Where the table is, or will be. */
static gboolean
find_location (Creation *creation, GError **error)
{
  const SqlCreateTable *create = creation->create;
  const char *location = create->location;
  for (guint i = 0; i < create->options.n && location == NULL; i++) {
    if (g_ascii_strcasecmp (create->options.items[i].key, "path") == 0)
      location = create->options.items[i].value;
  }
  if (creation->reference.kind == CATALOG_REFERENCE_PATH || creation->reference.kind == CATALOG_REFERENCE_TABLE) {
    creation->location = g_strdup (creation->reference.location);
    creation->is_managed = creation->reference.kind == CATALOG_REFERENCE_TABLE && creation->reference.is_managed;
    return TRUE;
  }
  creation->is_managed = location == NULL;
  creation->location = location != NULL
                           ? g_strdup (location)
                           : catalog_default_location (creation->context->catalog, creation->reference.schema,
                                                       creation->reference.name, error);
  if (creation->location == NULL)
    sql_position_add_to_error (&create->name.position, error);
  return creation->location != NULL;
}

static gboolean
run (Creation *creation, GError **error)
{
  const SqlCreateTable *create = creation->create;
  gboolean replaces = create->or_replace || create->replace;
  g_autoptr (DeltaTable) table = catalog_delta_table (creation->context->catalog, creation->location, error);
  gboolean exists = FALSE;
  if (table == NULL || !delta_table_exists (table, &exists, error))
    return FALSE;
  g_free (creation->location);
  creation->location = g_strdup (delta_table_location (table)); /* absolute, without a URI scheme */
  gboolean named = creation->reference.kind == CATALOG_REFERENCE_TABLE ||
                   (creation->reference.kind == CATALOG_REFERENCE_PATH && exists);
  if (named && !replaces)
    return create->if_not_exists || already_exists (creation, error);
  if (!exists && create->replace && !create->or_replace) {
    g_autofree const char **parts = dml_name_parts (&create->name, error);
    if (parts != NULL)
      (void) catalog_session_set_not_found (creation->context->names, parts, create->name.n, error); /* always FALSE */
    sql_position_add_to_error (&create->name.position, error);
    return FALSE;
  }
  if (!exists)
    return create_first_version (creation, table, error);
  CatalogOutcome outcome;
  if (replaces)
    return (named || register_name (creation, &outcome, error)) && replace_existing (creation, table, error);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, creation->context->cancel, error);
  return snapshot != NULL && adopt_existing (creation, snapshot, error) && register_name (creation, &outcome, error);
}

gboolean
dml_create_table (const DmlContext *context, const SqlStatement *statement, GError **error)
{
  const SqlCreateTable *create = &statement->u.create_table;
  g_auto (Creation) creation = { .context = context, .create = create, .position = &statement->position };
  if (!check_form (create, &statement->position, error) ||
      !dml_resolve (context, &create->name, TRUE, &creation.reference, error))
    return FALSE;
  if (creation.reference.kind == CATALOG_REFERENCE_VIEW)
    return create->if_not_exists || already_exists (&creation, error);
  if (creation.reference.entry != NULL && creation.reference.entry->owner_pipeline != NULL &&
      (create->or_replace || create->replace))
    return dml_unsupported (&create->name.position, error, "Replacing a table that a pipeline owns",
                            "Drop it from the pipeline first.");
  if (create->if_not_exists && creation.reference.kind == CATALOG_REFERENCE_TABLE)
    return TRUE;
  if (!dml_definition_from_create (create, context->settings, &creation.definition, error) ||
      (create->like.n > 0 && !define_like (&creation, error)) || !check_properties (&creation, error) ||
      !check_expressions (&creation, error))
    return FALSE;
  if (create->query != NULL) {
    creation.plan = relation_plan_new_query (create->query, context->relation, error);
    if (creation.plan == NULL)
      return FALSE;
    if (relation_plan_is_streaming (creation.plan))
      return dml_unsupported (&create->query->position, error, "A stream outside of a pipeline", NULL);
  }
  if (!find_location (&creation, error))
    return FALSE;
  if (!run (&creation, error)) {
    sql_position_add_to_error (&create->name.position, error);
    return FALSE;
  }
  return TRUE;
}

gboolean
dml_drop_table (const DmlContext *context, const SqlStatement *statement, GError **error)
{
  const SqlDrop *drop = &statement->u.drop;
  g_auto (CatalogReference) reference = { 0 };
  if (!dml_resolve (context, &drop->name, TRUE, &reference, error))
    return FALSE;
  g_autofree char *name = dml_reference_text (&reference);
  switch (reference.kind) {
  case CATALOG_REFERENCE_ABSENT: {
    if (drop->if_exists)
      return TRUE;
    g_autofree const char **parts = dml_name_parts (&drop->name, error);
    (void) catalog_session_set_not_found (context->names, parts, drop->name.n, error); /* always FALSE */
    sql_position_add_to_error (&drop->name.position, error);
    return FALSE;
  }
  case CATALOG_REFERENCE_VIEW:
  case CATALOG_REFERENCE_TEMPORARY_VIEW:
    base_error_set (error, SLUICE_ERROR_EXPECT_TABLE_NOT_VIEW, "%s is a view; use DROP VIEW.", name);
    sql_position_add_to_error (&drop->name.position, error);
    return FALSE;
  case CATALOG_REFERENCE_PATH:
    return dml_unsupported (&drop->name.position, error, "DROP TABLE of a path", "Remove the directory.");
  case CATALOG_REFERENCE_TABLE:
    break;
  }
  gboolean existed = FALSE;
  if (!catalog_drop (context->catalog, reference.schema, reference.name, &existed, error)) {
    sql_position_add_to_error (&drop->name.position, error);
    return FALSE;
  }
  return TRUE;
}

/* Tables before their flows run: see pipeline-setup.h. */
#include "pipeline-setup.h"

#include "autocdc.h"
#include "base-error.h"
#include "base-text.h"
#include "catalog.h"
#include "delta-transaction.h"
#include "dml-definition.h"
#include "dml.h"
#include "mview.h"
#include "pipeline-flow-private.h"
#include "stream-progress.h"
#include "stream-run.h"
#include "write-batch.h"

#include <string.h>

/* ---- what the declaration asks for ---- */

/* Properties of the table: the declared ones over the defaults of pipeline tables. */
static GHashTable *
wanted_properties (const PipelineDataset *dataset)
{
  GHashTable *properties = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  const SqlPropertyList *declared = &dataset->table->properties;

  g_hash_table_insert (properties, g_strdup ("delta.enableRowTracking"), g_strdup ("true"));
  if (pipeline_dataset_is_autocdc_target (dataset) &&
      base_settings_get_bool (dataset->place.settings, "engine.autoCdcTargets.legacyCdf"))
    g_hash_table_insert (properties, g_strdup ("delta.enableChangeDataFeed"), g_strdup ("true"));
  for (guint i = 0; i < declared->n; i++)
    g_hash_table_insert (properties, g_strdup (declared->items[i].key), g_strdup (declared->items[i].value));
  return properties;
}

static const char **
partition_columns (const PipelineDataset *dataset)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < dataset->table->n_partitioned_by; i++)
    g_ptr_array_add (names, (gpointer) dataset->table->partitioned_by[i].name.text);
  g_ptr_array_add (names, NULL);
  return (const char **) g_ptr_array_free (names, FALSE);
}

static gboolean
check_clustering (const PipelineDataset *dataset, const BaseType *schema, GError **error)
{
  const SqlClusterBy *cluster = &dataset->table->cluster_by;
  g_auto (GStrv) names = dml_definition_clustering (cluster, error);

  if (names == NULL)
    return FALSE;
  for (guint i = 0; names[i] != NULL; i++) {
    if (base_type_field_index (schema, names[i], TRUE) >= 0)
      continue;
    base_error_set (error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                    "CLUSTER BY names `%s`, which is no column of `%s`", names[i], dataset->label);
    sql_position_add_to_error (&cluster->columns.items[i].position, error);
    return FALSE;
  }
  return TRUE;
}

/* ---- making the table ---- */

static gboolean
commit_metadata (WriteBatch *batch, const char *operation, GError **error)
{
  WriteCommit commit = { .operation = operation };

  return write_batch_attempt (batch, &commit, TRUE, NULL, error);
}

/* A once flow that had begun will read its source again: what the source has lost since will be missing. */
static gboolean
warn_of_repeat (const PipelineRun *run, const PipelineFlow *flow, const StreamProgress *progress, GError **error)
{
  gboolean complete = FALSE;

  if (!flow->once)
    return TRUE;
  if (!pipeline_flow_is_complete (progress, &complete, error))
    return FALSE;
  if (!complete && stream_progress_last_planned (progress) < 0)
    return TRUE;
  g_autofree char *message = g_strdup_printf ("Flow '%s' is a once flow and runs again: rows that its source has lost "
                                              "since then will be missing in `%s`.",
                                              flow->name, flow->target->label);
  PipelineEvent event = { .level = PIPELINE_LEVEL_WARN,
                          .type = "flow_progress",
                          .message = message,
                          .batch = -1,
                          .details = json_pack ("{s:s}", "status", "QUEUED") };
  return pipeline_flow_log (run->log, flow, event, error);
}

/* Flows whose progress is about a table that is gone (dropped, or lost with its directory) begin anew with the one that is made now:
 * its first commit carries txn(new run id, -1), as that of a reset does. */
static gboolean
begin_anew (const PipelineRun *run, const PipelineDataset *dataset, DeltaTransaction *transaction, GPtrArray *progress,
            GError **error)
{
  for (guint i = 0; i < dataset->flows->len && dataset->kind == PIPELINE_STREAMING_TABLE; i++) {
    const PipelineFlow *flow = g_ptr_array_index (dataset->flows, i);
    g_autofree char *run_id = NULL;
    g_autoptr (StreamProgress) one =
        stream_progress_open (run->storage, flow->name, STREAM_PROGRESS_READ_ONLY, NULL, NULL, error);
    if (one == NULL)
      return FALSE;
    gboolean complete = FALSE;
    if (!pipeline_flow_is_complete (one, &complete, error))
      return FALSE;
    if (stream_progress_run_id (one) == NULL || (stream_progress_last_planned (one) < 0 && !complete))
      continue;
    if (!warn_of_repeat (run, flow, one, error) || !stream_progress_reset_begin (one, &run_id, error))
      return FALSE;
    delta_transaction_set_txn (transaction, run_id, -1);
    g_ptr_array_add (progress, g_steal_pointer (&one));
  }
  return TRUE;
}

static DeltaMetadata *
new_metadata (const PipelineDataset *dataset, const BaseType *schema, gint64 now_ms)
{
  g_autoptr (GHashTable) properties = wanted_properties (dataset);
  g_autofree const char **partitions = partition_columns (dataset);

  return delta_metadata_new (schema, partitions, properties, dataset->name, dataset->table->comment, now_ms);
}

static gboolean
create_table (const PipelineRun *run, const PipelineDataset *dataset, DeltaTable *table, const BaseType *schema,
              DuckSession *duck, GError **error)
{
  g_autoptr (DeltaMetadata) metadata = new_metadata (dataset, schema, base_clock_now_us (&run->clock) / 1000);
  WriteOptions options = { .cancel = run->cancel, .clock = run->clock };
  g_autoptr (WriteBatch) batch = write_batch_begin (table, NULL, duck, &options, error);
  g_autoptr (GPtrArray) progress = g_ptr_array_new_with_free_func ((GDestroyNotify) stream_progress_free);
  AutoCdcPlan *plan = pipeline_graph_autocdc (run->graph, dataset);
  g_auto (GStrv) clustering = dml_definition_clustering (&dataset->table->cluster_by, error);

  if (clustering == NULL || batch == NULL || !write_batch_set_metadata (batch, metadata, error) ||
      (clustering[0] != NULL && !dml_definition_cluster (clustering, write_batch_transaction (batch), error)) ||
      (plan != NULL && !autocdc_found (plan, NULL, batch, error)) ||
      !begin_anew (run, dataset, write_batch_transaction (batch), progress, error) ||
      !commit_metadata (
          batch, dataset->kind == PIPELINE_STREAMING_TABLE ? "CREATE STREAMING TABLE" : "CREATE MATERIALIZED VIEW",
          error))
    return FALSE;
  for (guint i = 0; i < progress->len; i++)
    if (!stream_progress_reset_end (g_ptr_array_index (progress, i), error))
      return FALSE;
  return TRUE;
}

/* ---- keeping it in step ---- */

static gboolean
check_partitions (const PipelineDataset *dataset, DeltaMetadata *metadata, GError **error)
{
  g_autofree const char **wanted = partition_columns (dataset);
  const char *const *now = delta_metadata_partition_columns (metadata);
  guint i = 0;

  while (wanted[i] != NULL && now[i] != NULL && base_text_equal_ignore_case (wanted[i], now[i]))
    i++;
  if (wanted[i] == NULL && now[i] == NULL)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                  "The partition columns of `%s` changed, which an existing table cannot follow", dataset->label);
  base_error_set_hint (error, "drop the table, then run the pipeline again");
  return FALSE;
}

/* The table's metadata as the declaration wants it; the same object when nothing changes. */
static DeltaMetadata *
changed_metadata (const PipelineDataset *dataset, DeltaSnapshot *snapshot, GError **error)
{
  const SqlPropertyList *declared = &dataset->table->properties;

  if (!check_partitions (dataset, delta_snapshot_metadata (snapshot), error))
    return NULL;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_ref (delta_snapshot_metadata (snapshot));
  for (guint i = 0; i < declared->n; i++) {
    if (g_strcmp0 (delta_metadata_property (metadata, declared->items[i].key), declared->items[i].value) == 0)
      continue;
    DeltaMetadata *changed = delta_metadata_with_property (metadata, declared->items[i].key, declared->items[i].value);
    delta_metadata_unref (metadata);
    metadata = changed;
  }
  if (g_strcmp0 (delta_metadata_description (metadata), dataset->table->comment) != 0 &&
      dataset->table->comment != NULL) {
    DeltaMetadata *changed =
        delta_metadata_with_texts (metadata, delta_metadata_name (metadata), dataset->table->comment);
    delta_metadata_unref (metadata);
    metadata = changed;
  }
  return g_steal_pointer (&metadata);
}

/* Whether the table is clustered by other columns than @wanted. One that the first batch will add waits for the update after it. No such clause, or
 * AUTO, leaves what is there. */
static gboolean
clusters_anew (const PipelineDataset *dataset, char *const *wanted, DeltaSnapshot *snapshot)
{
  SqlClusterKind kind = dataset->table->cluster_by.kind;
  g_auto (GStrv) now = dml_clustering_columns (snapshot);
  gboolean differs = g_strv_length (now) != g_strv_length ((char **) wanted);

  if (kind == SQL_CLUSTER_UNSET || kind == SQL_CLUSTER_AUTO)
    return FALSE;
  for (guint i = 0; wanted[i] != NULL; i++) {
    if (base_type_field_index (delta_snapshot_schema (snapshot), wanted[i], TRUE) < 0)
      return FALSE;
    differs = differs || !base_text_equal_ignore_case (now[i], wanted[i]);
  }
  return differs;
}

static gboolean
apply_changes (const PipelineRun *run, const PipelineDataset *dataset, DeltaTable *table, DuckSession *duck,
               GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, run->cancel, error);
  g_autoptr (DeltaMetadata) metadata = snapshot != NULL ? changed_metadata (dataset, snapshot, error) : NULL;

  g_auto (GStrv) clustering = metadata != NULL ? dml_definition_clustering (&dataset->table->cluster_by, error) : NULL;

  if (clustering == NULL)
    return FALSE;
  gboolean clusters = clusters_anew (dataset, clustering, snapshot),
           changes = metadata != delta_snapshot_metadata (snapshot);
  if (!clusters && !changes)
    return TRUE;
  WriteOptions options = { .cancel = run->cancel, .clock = run->clock };
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, duck, &options, error);
  return batch != NULL && (!changes || write_batch_set_metadata (batch, metadata, error)) &&
         (!clusters || dml_definition_cluster (clustering, write_batch_transaction (batch), error)) &&
         commit_metadata (batch, changes ? "SET TBLPROPERTIES" : "CLUSTER BY", error);
}

gboolean
pipeline_dataset_check (const PipelineDataset *dataset, const BaseType *schema, DeltaSnapshot *existing, GError **error)
{
  g_autofree char *schema_name = catalog_check_name (dataset->schema, error);
  g_autofree char *name = schema_name != NULL ? catalog_check_name (dataset->name, error) : NULL;

  if (name == NULL || dataset->table == NULL)
    return name != NULL;
  if (!check_clustering (dataset, schema, error))
    return FALSE;
  g_autoptr (DeltaMetadata) metadata =
      existing != NULL ? changed_metadata (dataset, existing, error) : new_metadata (dataset, schema, 0);
  return metadata != NULL && ((existing != NULL && metadata == delta_snapshot_metadata (existing)) ||
                              write_metadata_fits (metadata, existing, error));
}

static gboolean
set_up_table (const PipelineRun *run, const PipelineDataset *dataset, const BaseType *schema, GError **error)
{
  g_autoptr (DuckSession) duck = duck_session_new (catalog_engine (run->catalog), error);
  CatalogNew entry = { .schema = dataset->schema,
                       .name = dataset->name,
                       .kind = dataset->kind == PIPELINE_STREAMING_TABLE ? CATALOG_KIND_STREAMING_TABLE
                                                                         : CATALOG_KIND_MATERIALIZED_VIEW,
                       .is_private = dataset->is_private,
                       .location = dataset->table->location,
                       .owner_pipeline = run->pipeline_id,
                       .owner = run->user,
                       .now_us = base_clock_now_us (&run->clock) };
  g_autoptr (CatalogEntry) made = NULL;
  CatalogOutcome outcome;
  gboolean exists = FALSE;

  if (duck == NULL || !catalog_create (run->catalog, &entry, &outcome, &made, error))
    return FALSE;
  /* A table without an owner was marked to be adopted, or the graph would not have let it through. */
  if (outcome == CATALOG_EXISTS && (made->is_private != dataset->is_private || made->owner_pipeline == NULL) &&
      !catalog_replace (run->catalog, &entry, NULL, error))
    return FALSE;
  g_autoptr (DeltaTable) table = catalog_delta_table (run->catalog, made->location, error);
  if (table == NULL || !delta_table_exists (table, &exists, error))
    return FALSE;
  return exists ? apply_changes (run, dataset, table, duck, error)
                : create_table (run, dataset, table, schema, duck, error);
}

static gboolean
set_up_view (const PipelineRun *run, const PipelineDataset *dataset, GError **error)
{
  g_autofree char *text = sql_position_text (&dataset->view->query->position);
  g_autoptr (GPtrArray) columns = g_ptr_array_new ();

  for (guint i = 0; i < dataset->view->columns.n; i++) {
    const SqlColumn *column = &dataset->view->columns.items[i];
    g_ptr_array_add (columns, (gpointer) column->name.parts[0].text);
    g_ptr_array_add (columns, (gpointer) (column->comment != NULL ? column->comment : ""));
  }
  g_ptr_array_add (columns, NULL);
  CatalogNew entry = { .schema = dataset->schema,
                       .name = dataset->name,
                       .kind = CATALOG_KIND_VIEW,
                       .owner_pipeline = run->pipeline_id,
                       .owner = run->user,
                       .comment = dataset->view->comment,
                       .view_text = text,
                       .view_schema = dataset->place.schema,
                       .view_columns = dataset->view->columns.n > 0 ? (const char *const *) columns->pdata : NULL,
                       .now_us = base_clock_now_us (&run->clock) };
  return catalog_replace (run->catalog, &entry, NULL, error);
}

gboolean
pipeline_dataset_set_up (const PipelineRun *run, const PipelineDataset *dataset, const BaseType *schema, GError **error)
{
  if (dataset->kind == PIPELINE_TEMPORARY_VIEW)
    return TRUE;
  gboolean good =
      catalog_schema_create (run->catalog, dataset->schema, NULL, NULL, NULL, TRUE, error) &&
      (dataset->kind == PIPELINE_VIEW ? set_up_view (run, dataset, error) : set_up_table (run, dataset, schema, error));
  if (!good)
    base_error_add_context (error, "setting up `%s`", dataset->label);
  return good;
}

/* ---- reset ---- */

static gboolean
commit_reset (const PipelineRun *run, const PipelineDataset *dataset, DeltaTable *table, DuckSession *duck,
              GPtrArray *run_ids, GError **error)
{
  AutoCdcPlan *plan = pipeline_graph_autocdc (run->graph, dataset);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, run->cancel, error);
  WriteOptions options = { .cancel = run->cancel, .clock = run->clock };
  if (snapshot == NULL)
    return FALSE;
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, duck, &options, error);
  if (batch == NULL || !write_batch_remove_all (batch, NULL, error))
    return FALSE;
  DeltaTransaction *transaction = write_batch_transaction (batch);
  autocdc_forget (transaction, snapshot);
  if (plan != NULL && !autocdc_found (plan, snapshot, batch, error))
    return FALSE;
  if (delta_snapshot_domain (snapshot, MVIEW_DOMAIN) != NULL)
    delta_transaction_set_domain (transaction, MVIEW_DOMAIN, NULL);
  g_autoptr (GPtrArray) domains = delta_snapshot_domains (snapshot);
  for (guint i = 0; i < domains->len; i++) {
    const DeltaDomain *domain = g_ptr_array_index (domains, i);
    if (g_str_has_prefix (domain->domain, "sluice.flow."))
      delta_transaction_set_domain (transaction, domain->domain, NULL);
  }
  for (guint i = 0; i < run_ids->len; i++)
    delta_transaction_set_txn (transaction, g_ptr_array_index (run_ids, i), -1);
  WriteCommit commit = { .operation = "FULL REFRESH", .reads_table = TRUE };
  return write_batch_attempt (batch, &commit, TRUE, NULL, error);
}

gboolean
pipeline_dataset_reset (const PipelineRun *run, const PipelineDataset *dataset, GError **error)
{
  g_autoptr (DuckSession) duck = duck_session_new (catalog_engine (run->catalog), error);
  g_autoptr (DeltaTable) table = duck != NULL ? pipeline_dataset_open (run, dataset, error) : NULL;
  g_autoptr (GPtrArray) progress = g_ptr_array_new_with_free_func ((GDestroyNotify) stream_progress_free);
  g_autoptr (GPtrArray) run_ids = g_ptr_array_new_with_free_func (g_free);

  if (table == NULL)
    return FALSE;
  for (guint i = 0; i < dataset->flows->len && dataset->kind == PIPELINE_STREAMING_TABLE; i++) {
    const PipelineFlow *flow = g_ptr_array_index (dataset->flows, i);
    StreamProgress *one =
        stream_progress_open (run->storage, flow->name, STREAM_PROGRESS_MAKE, pipeline_table_has_run, table, error);
    char *run_id = NULL;
    if (one == NULL)
      return FALSE;
    g_ptr_array_add (progress, one);
    if (!warn_of_repeat (run, flow, one, error) || !stream_progress_reset_begin (one, &run_id, error))
      return FALSE;
    g_ptr_array_add (run_ids, run_id);
  }
  if (!commit_reset (run, dataset, table, duck, run_ids, error))
    return FALSE;
  for (guint i = 0; i < progress->len; i++)
    if (!stream_progress_reset_end (g_ptr_array_index (progress, i), error))
      return FALSE;
  return TRUE;
}

/* ---- reset of one flow's position ---- */

static gboolean
commit_flow_reset (const PipelineRun *run, DeltaTable *table, const char *old_run_id, const char *new_run_id,
                   GError **error)
{
  g_autoptr (DuckSession) duck = duck_session_new (catalog_engine (run->catalog), error);
  g_autoptr (DeltaSnapshot) snapshot = duck != NULL ? delta_table_snapshot (table, run->cancel, error) : NULL;
  g_autofree char *proof = stream_proof_domain (old_run_id);
  WriteOptions options = { .cancel = run->cancel, .clock = run->clock };

  if (snapshot == NULL)
    return FALSE;
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, duck, &options, error);
  if (batch == NULL)
    return FALSE;
  DeltaTransaction *transaction = write_batch_transaction (batch);
  if (delta_snapshot_domain (snapshot, proof) != NULL)
    delta_transaction_set_domain (transaction, proof, NULL);
  delta_transaction_set_txn (transaction, new_run_id, -1);
  return commit_metadata (batch, "RESET CHECKPOINT", error);
}

gboolean
pipeline_flow_reset (const PipelineRun *run, const PipelineFlow *flow, GError **error)
{
  g_autoptr (DeltaTable) table = pipeline_dataset_open (run, flow->target, error);
  g_autofree char *run_id = NULL;

  if (table == NULL)
    return FALSE;
  g_autoptr (StreamProgress) progress =
      stream_progress_open (run->storage, flow->name, STREAM_PROGRESS_MAKE, pipeline_table_has_run, table, error);
  if (progress == NULL)
    return FALSE;
  g_autofree char *old_run_id = g_strdup (stream_progress_run_id (progress));
  return warn_of_repeat (run, flow, progress, error) && stream_progress_reset_begin (progress, &run_id, error) &&
         commit_flow_reset (run, table, old_run_id, run_id, error) && stream_progress_reset_end (progress, error);
}

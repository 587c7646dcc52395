/* Running one flow: see pipeline-flow.h. */
#include "base-error.h"
#include "base-json.h"
#include "catalog-session.h"
#include "delta-transaction.h"
#include "mview.h"
#include "pipeline-flow-private.h"
#include "pipeline-snapshot.h"
#include "sql-print.h"
#include "stream-run.h"
#include "write-batch.h"
#include "write-compact.h"
#include "write-schema.h"

#include <string.h>

/* One running flow: its own session of the engine and of the catalog. The sink is its first member. */
typedef struct {
  StreamSink sink;
  const PipelineRun *run;
  const PipelineFlow *flow;
  PipelineFlowTotals *totals;
  DuckSession *duck;
  CatalogSession *catalog;
  DeltaTable *target;
  StreamProgress *progress; /* (nullable): streaming flows */
  PipelineBinding *binding;
  RelationPlan *plan;  /* the query, expectations counted */
  AutoCdcPlan *cdc;    /* (nullable) */
  AutoCdcAhead *ahead; /* (nullable): of the batch after the one that is applied */
  StreamRunOutcome outcome;
} Work;

static void
work_clear (Work *work)
{
  autocdc_ahead_free (work->ahead);
  autocdc_plan_unref (work->cdc);
  relation_plan_unref (work->plan);
  pipeline_binding_free (work->binding);
  stream_progress_free (work->progress);
  delta_table_unref (work->target);
  catalog_session_free (work->catalog);
  duck_session_free (work->duck);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

/* ---- set-up ---- */

DeltaTable *
pipeline_dataset_open (const PipelineRun *run, const PipelineDataset *dataset, GError **error)
{
  g_autoptr (CatalogEntry) entry = NULL;

  if (!catalog_find (run->catalog, dataset->schema, dataset->name, &entry, error))
    return NULL;
  if (entry == NULL || entry->location == NULL) {
    base_error_set (error, SLUICE_ERROR_TABLE_OR_VIEW_NOT_FOUND, "The table `%s` of the pipeline is gone",
                    dataset->label);
    return NULL;
  }
  return catalog_delta_table (run->catalog, entry->location, error);
}

static gboolean
work_open (Work *work, const PipelineRun *run, const PipelineFlow *flow, PipelineFlowTotals *totals, GError **error)
{
  work->run = run;
  work->flow = flow;
  work->totals = totals;
  totals->is_autocdc = flow->kind == PIPELINE_FLOW_AUTOCDC;
  work->duck = duck_session_new (catalog_engine (run->catalog), error);
  if (work->duck == NULL)
    return FALSE;
  const char *zone = base_settings_get (flow->place.settings, "spark.sql.session.timeZone");
  if (!duck_session_set_time_zone (work->duck, zone, error))
    return FALSE;
  CatalogSessionOptions options = {
    .settings = flow->place.settings, .duck = work->duck, .user = run->user, .owner_pipeline = run->pipeline_id
  };
  work->catalog = catalog_session_new (run->catalog, &options);
  catalog_session_set_cancel (work->catalog, run->cancel);
  if (!catalog_session_use (work->catalog, flow->place.schema, error))
    return FALSE;
  work->target = pipeline_dataset_open (run, flow->target, error);
  return work->target != NULL;
}

static PipelineBindingOptions
binding_options (const Work *work)
{
  return (PipelineBindingOptions){ .project = work->run->project,
                                   .catalog = work->catalog,
                                   .session = work->duck,
                                   .stores = work->run->stores,
                                   .cancel = work->run->cancel,
                                   .now_us = base_clock_now_us (&work->run->clock),
                                   .progress = work->progress };
}

static void
open_binding (Work *work)
{
  PipelineBindingOptions options = binding_options (work);

  work->binding = pipeline_binding_new (&options);
}

static const RelationContext *
context_of (Work *work)
{
  return pipeline_binding_context (work->binding, &work->flow->place);
}

/* ---- events ---- */

static json_t *
data_quality (GPtrArray *counts, guint64 *n_dropped)
{
  json_t *expectations = json_array ();

  *n_dropped = 0;
  for (guint i = 0; counts != NULL && i < counts->len; i++) {
    const RelationCounts *one = g_ptr_array_index (counts, i);
    *n_dropped += relation_counts_dropped (one);
    for (guint k = 0; k < relation_counts_n_expectations (one); k++)
      json_array_append_new (expectations, json_pack ("{s:s, s:s, s:I, s:I}", "name", relation_counts_name (one, k),
                                                      "dataset", relation_counts_dataset (one), "passed_records",
                                                      (json_int_t) relation_counts_passed (one, k), "failed_records",
                                                      (json_int_t) relation_counts_failed (one, k)));
  }
  return json_pack ("{s:I, s:o}", "dropped_records", (json_int_t) *n_dropped, "expectations", expectations);
}

/* Metrics of a batch of a stream: what it did, and what waits behind it, as far as that is known. */
static void
add_backlog (json_t *metrics, const StreamBacklog *backlog)
{
  const struct {
    const char *name;
    gint64 value;
  } counts[] = { { "backlog_bytes", backlog->bytes },
                 { "backlog_files", backlog->files },
                 { "backlog_records", backlog->records } };

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    if (counts[i].value >= 0)
      json_object_set_new (metrics, counts[i].name, json_integer ((json_int_t) counts[i].value));
}

gboolean
pipeline_flow_log (PipelineLog *log, const PipelineFlow *flow, PipelineEvent event, GError **error)
{
  event.dataset = flow->target->label;
  event.flow = flow->name;
  return pipeline_log_write (log, &event, error);
}

static gboolean
write_batch_event (Work *work, gint64 batch, json_t *metrics, GPtrArray *counts, GError **error)
{
  guint64 n_dropped = 0;
  g_autofree char *message = g_strdup_printf ("Completed a batch of the flow '%s'.", work->flow->name);
  json_t *quality = data_quality (counts, &n_dropped);
  json_t *details = json_pack ("{s:s, s:o, s:o}", "status", "RUNNING", "metrics", metrics, "data_quality", quality);
  PipelineEvent event = { .level = PIPELINE_LEVEL_INFO,
                          .type = "flow_progress",
                          .message = message,
                          .flow_id = work->progress != NULL ? stream_progress_run_id (work->progress) : NULL,
                          .batch = batch,
                          .details = details,
                          .durable = TRUE };

  work->totals->n_batches++;
  work->totals->n_dropped += n_dropped;
  return pipeline_flow_log (work->run->log, work->flow, event, error);
}

static gboolean
write_warnings (Work *work, const PipelineBinding *binding, GError **error)
{
  const GPtrArray *warnings = pipeline_binding_warnings (binding);

  for (guint i = 0; i < warnings->len; i++) {
    PipelineEvent event = { .level = PIPELINE_LEVEL_WARN,
                            .type = "flow_progress",
                            .message = g_ptr_array_index (warnings, i),
                            .batch = -1,
                            .details = json_pack ("{s:s}", "status", "RUNNING") };
    if (!pipeline_flow_log (work->run->log, work->flow, event, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- compaction ---- */

/* Batches of one run after which its target is looked at; it is at the end of the run too. */
#define BATCHES_PER_COMPACTION 32

/* Packs small files and files with many dead rows, a bounded amount. It is only work left when it fails: the flow goes on. */
static gboolean
compact_target (Work *work, GError **error)
{
  WriteCompacted done = { .version = -1 };
  g_autoptr (GError) failure = NULL;
  gboolean good = write_compact (work->target, work->duck, &work->run->clock, work->run->cancel, &done, &failure);

  if (!base_cancel_check (work->run->cancel, error))
    return FALSE;
  if (good && done.version < 0)
    return TRUE;
  g_autofree char *message =
      good ? g_strdup_printf ("Packed %u files of `%s` into %u.", done.n_files_removed, work->flow->target->label,
                              done.n_files_added)
           : g_strdup_printf ("The files of `%s` could not be packed: %s", work->flow->target->label, failure->message);
  PipelineEvent event = { .level = good ? PIPELINE_LEVEL_INFO : PIPELINE_LEVEL_WARN,
                          .type = "flow_progress",
                          .message = message,
                          .batch = -1,
                          .details = json_pack ("{s:s}", "status", "RUNNING") };
  return pipeline_flow_log (work->run->log, work->flow, event, error);
}

static gboolean
end_batch (Work *work, gint64 batch, json_t *metrics, GPtrArray *counts, GError **error)
{
  return write_batch_event (work, batch, metrics, counts, error) &&
         (work->totals->n_batches % BATCHES_PER_COMPACTION != 0 || compact_target (work, error));
}

/* ---- proof ---- */

static gboolean
sink_proof (StreamSink *sink, const char *run_id, gint64 *batch, char **digest, GError **error)
{
  Work *work = (Work *) sink;
  g_autofree char *domain = stream_proof_domain (run_id);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (work->target, work->run->cancel, error);

  return snapshot != NULL && stream_proof_read (delta_snapshot_domain (snapshot, domain), batch, digest, error);
}

gboolean
pipeline_table_has_run (const char *run_id, gboolean *has, gpointer data, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (data, NULL, error);

  if (snapshot == NULL)
    return FALSE;
  *has = delta_snapshot_txn_version (snapshot, run_id, G_MININT64) != G_MININT64;
  return TRUE;
}

/* ---- batch sides ---- */

/* What a stream is joined with is read as it is when a batch begins. */
static gboolean
renew_inputs (Work *work, gboolean *renewed, GError **error)
{
  *renewed = FALSE;
  return work->totals->n_batches == 0 || pipeline_binding_renew (work->binding, renewed, error);
}

/* ---- append ---- */

static gboolean
grow_schema (WriteBatch *batch, RelationPlan *plan, GError **error)
{
  BaseType *now = write_batch_schema (batch);
  g_autoptr (BaseType) merged = write_schema_merge (now, relation_plan_schema (plan));

  if (merged == now)
    return TRUE;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_with_schema (write_batch_metadata (batch), merged);
  return write_batch_set_metadata (batch, metadata, error);
}

static gboolean
commit_append (WriteBatch *write, const StreamBatch *batch, GError **error)
{
  g_autofree char *domain = stream_proof_domain (batch->run_id);
  g_autofree char *proof = stream_proof_text (batch->batch, batch->digest);
  g_autofree char *epoch = g_strdup_printf ("%" G_GINT64_FORMAT, batch->batch);
  g_autoptr (json_t) parameters =
      json_pack ("{s:s, s:s, s:s}", "outputMode", "Append", "queryId", batch->run_id, "epochId", epoch);
  WriteCommit commit = { .operation = "STREAMING UPDATE", .parameters = parameters };

  delta_transaction_set_txn (write_batch_transaction (write), batch->run_id, batch->batch);
  delta_transaction_set_domain (write_batch_transaction (write), domain, proof);
  return write_batch_attempt (write, &commit, TRUE, NULL, error);
}

static gboolean
append_apply (StreamSink *sink, const StreamBatch *batch, GError **error)
{
  Work *work = (Work *) sink;
  BaseClock clock = { batch->clock_us };
  gboolean renewed;
  if (!renew_inputs (work, &renewed, error))
    return FALSE;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (work->target, work->run->cancel, error);
  if (snapshot == NULL)
    return FALSE;
  WriteOptions options = { .cancel = work->run->cancel, .clock = clock, .context = context_of (work) };
  RelationAssignFlags flags =
      work->flow->by_name ? RELATION_ASSIGN_BY_NAME | RELATION_ASSIGN_FILL : RELATION_ASSIGN_BY_POSITION;
  RelationLowering lowering = { .now_us = batch->clock_us, .session = work->duck };
  guint64 n_rows = 0;

  g_autoptr (WriteBatch) write = write_batch_begin (work->target, snapshot, work->duck, &options, error);
  if (write == NULL || (work->flow->by_name && !grow_schema (write, work->plan, error)))
    return FALSE;
  g_autoptr (RelationPlan) fitted = write_plan_fit (work->plan, write_batch_schema (write), flags, NULL,
                                                    work->flow->target->label, context_of (work), error);
  g_autoptr (RelationText) text = fitted != NULL ? relation_plan_lower (fitted, &lowering, error) : NULL;
  if (text == NULL || !write_batch_rows (write, relation_text_sql (text)->str, WRITE_ROWS_DEFAULT, &n_rows, error))
    return FALSE;
  guint64 n_bytes = write_batch_counters (write)->bytes_added;
  if (n_rows > 0 && !commit_append (write, batch, error))
    return FALSE;
  g_autoptr (GPtrArray) counts = g_ptr_array_ref (relation_text_counts (text));
  work->totals->n_output_rows += n_rows;
  json_t *metrics =
      json_pack ("{s:I, s:I}", "num_output_rows", (json_int_t) n_rows, "num_output_bytes", (json_int_t) n_bytes);
  add_backlog (metrics, &batch->backlog);
  return end_batch (work, batch->batch, metrics, counts, error);
}

/* ---- AUTO CDC ---- */

static gint64
retention_seconds (const PipelineDataset *dataset)
{
  const char *value = pipeline_dataset_property (dataset, "pipelines.cdc.tombstoneGCThresholdInSeconds");

  if (value != NULL)
    return g_ascii_strtoll (value, NULL, 10);
  return base_settings_get_int (dataset->place.settings, "pipelines.cdc.tombstoneGCThresholdInSeconds");
}

static void
set_counts (GPtrArray **counts, RelationText *text)
{
  g_clear_pointer (counts, g_ptr_array_unref);
  *counts = g_ptr_array_ref (relation_text_counts (text));
}

/* What the functions of an AutoCdcBatch are given. */
typedef struct {
  const StreamBatch *batch;
  GPtrArray *counts; /* (nullable) */
} Applied;

static void
events_read (RelationText *text, gpointer data)
{
  set_counts (&((Applied *) data)->counts, text);
}

static void
look_ahead (gpointer data)
{
  stream_run_look_ahead (((const Applied *) data)->batch);
}

static void
autocdc_sink_read_ahead (StreamSink *sink, gint64 batch, gint64 clock_us)
{
  Work *work = (Work *) sink;
  AutoCdcBatch next = { .batch_id = batch, .clock_us = clock_us };

  work->ahead = autocdc_read_ahead (work->cdc, &next, context_of (work));
}

static gboolean
warn_of_ties (Work *work, gint64 batch, guint64 n_ties, GError **error)
{
  g_autofree char *message = g_strdup_printf (
      "Flow '%s': different events of one key have the same sequence value, %" G_GUINT64_FORMAT
      " times in batch %" G_GINT64_FORMAT ". SEQUENCE BY does not say which is newer; the greatest values were taken.",
      work->flow->name, n_ties, batch);
  PipelineEvent event = { .level = PIPELINE_LEVEL_WARN,
                          .type = "flow_progress",
                          .message = message,
                          .flow_id = stream_progress_run_id (work->progress),
                          .batch = batch,
                          .details = json_pack ("{s:s}", "status", "RUNNING") };
  return pipeline_flow_log (work->run->log, work->flow, event, error);
}

static gboolean
autocdc_sink_apply (StreamSink *sink, const StreamBatch *batch, GError **error)
{
  Work *work = (Work *) sink;
  g_autoptr (AutoCdcAhead) ahead = g_steal_pointer (&work->ahead);
  Applied mine = { .batch = batch };
  gboolean renewed;
  if (!renew_inputs (work, &renewed, error))
    return FALSE;
  AutoCdcBatch applied = { .run_id = batch->run_id,
                           .batch_id = batch->batch,
                           .offsets_digest = batch->digest,
                           .clock_us = batch->clock_us,
                           .retention_seconds = retention_seconds (work->flow->target),
                           .events_read = events_read,
                           .writing = look_ahead,
                           .data = &mine,
                           .ahead = batch->is_read_ahead && !renewed ? ahead : NULL };
  AutoCdcOutcome outcome = { 0 };
  gboolean good =
      autocdc_apply (work->target, work->cdc, &applied, context_of (work), work->run->cancel, &outcome, error);
  g_autoptr (GPtrArray) counts = mine.counts;

  if (!good)
    return FALSE;
  work->totals->n_upserted_rows += outcome.n_upserted_rows;
  work->totals->n_deleted_rows += outcome.n_deleted_rows;
  json_t *metrics =
      json_pack ("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "num_upserted_rows", (json_int_t) outcome.n_upserted_rows,
                 "num_deleted_rows", (json_int_t) outcome.n_deleted_rows, "num_source_events",
                 (json_int_t) outcome.n_source_events, "num_late_events_ignored", (json_int_t) outcome.n_late_events,
                 "state_rows", (json_int_t) outcome.n_state_rows, "tombstones_removed",
                 (json_int_t) outcome.n_tombstones_removed, "num_sequence_ties", (json_int_t) outcome.n_ties);
  add_backlog (metrics, &batch->backlog);
  return (outcome.n_ties == 0 || warn_of_ties (work, batch->batch, outcome.n_ties, error)) &&
         end_batch (work, batch->batch, metrics, counts, error);
}

static gboolean
plan_autocdc (Work *work, GError **error)
{
  const PipelineDataset *target = work->flow->target;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (work->target, work->run->cancel, error);
  g_autoptr (BaseType) declared = pipeline_dataset_declared_schema (target);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  AutoCdcFlow clauses = pipeline_flow_clauses (work->flow, arena);

  if (snapshot == NULL)
    return FALSE;
  clauses.together = target->flows->len > 1 ? pipeline_graph_schema (work->run->graph, target) : NULL;
  work->cdc = autocdc_plan_new (&clauses, work->plan, snapshot, declared,
                                pipeline_binding_context (work->binding, &work->flow->place), error);
  return work->cdc != NULL;
}

/* ---- streaming flows ---- */

static gboolean
plan_stream (Work *work, GError **error)
{
  const PipelineFlow *flow = work->flow;
  g_autoptr (RelationPlan) query =
      flow->kind == PIPELINE_FLOW_AUTOCDC
          ? pipeline_binding_source (work->binding, flow->autocdc->source, &flow->place, error)
          : pipeline_binding_query (work->binding, flow->query, &flow->place, error);

  if (query == NULL)
    return FALSE;
  work->plan = pipeline_binding_expect (work->binding, flow->target, query, error);
  return work->plan != NULL && (flow->kind != PIPELINE_FLOW_AUTOCDC || plan_autocdc (work, error));
}

/* Rows that a commit changed are not in the target: the log says so. */
static gboolean
write_skipped (Work *work, GError **error)
{
  StreamSource **sources = pipeline_binding_streams (work->binding);

  for (guint i = 0; i < pipeline_binding_n_streams (work->binding); i++) {
    if (sources[i]->n_skipped == 0)
      continue;
    g_autofree char *message =
        g_strdup_printf ("Flow '%s' left out %" G_GUINT64_FORMAT " commits of %s that change rows (skipChangeCommits).",
                         work->flow->name, sources[i]->n_skipped, sources[i]->leaf->name);
    PipelineEvent event = { .level = PIPELINE_LEVEL_INFO,
                            .type = "flow_progress",
                            .message = message,
                            .batch = -1,
                            .details = json_pack ("{s:s, s:{s:I}}", "status", "RUNNING", "metrics",
                                                  "num_skipped_commits", (json_int_t) sources[i]->n_skipped) };
    if (!pipeline_flow_log (work->run->log, work->flow, event, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- once flows ---- */

static char *
complete_key (const StreamProgress *progress)
{
  return stream_progress_run_key (progress, "complete");
}

gboolean
pipeline_flow_is_complete (const StreamProgress *progress, gboolean *complete, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;

  *complete = FALSE;
  if (stream_progress_run_id (progress) == NULL)
    return TRUE;
  g_autofree char *key = complete_key (progress);
  if (!store_read (stream_progress_storage (progress), key, &bytes, error))
    return FALSE;
  *complete = bytes != NULL;
  return TRUE;
}

gboolean
pipeline_flow_is_done (const PipelineRun *run, const PipelineFlow *flow, gboolean *done, GError **error)
{
  *done = FALSE;
  if (!flow->once)
    return TRUE;
  g_autoptr (DeltaTable) target = pipeline_dataset_open (run, flow->target, error);
  if (target == NULL)
    return FALSE;
  g_autoptr (StreamProgress) progress =
      stream_progress_open (run->storage, flow->name, STREAM_PROGRESS_MAKE, pipeline_table_has_run, target, error);
  return progress != NULL && pipeline_flow_is_complete (progress, done, error);
}

static gboolean
note_complete (Work *work, GError **error)
{
  g_autofree char *key = complete_key (work->progress);

  return store_put (work->run->storage, key, "v1\n", 3, STORE_PUT_SYNCED, error);
}

/* The source of a flow that appends the answer of a query once: one batch, and nothing behind it. */
static gboolean
answer_begin (G_GNUC_UNUSED StreamSource *source, G_GNUC_UNUSED StreamProgress *progress,
              G_GNUC_UNUSED const json_t *last, G_GNUC_UNUSED GError **error)
{
  return TRUE;
}

static gboolean
answer_plan (G_GNUC_UNUSED StreamSource *source, const json_t *last, json_t **next, gboolean *has_rows,
             G_GNUC_UNUSED GError **error)
{
  *next = last == NULL ? json_object () : NULL;
  *has_rows = TRUE;
  return TRUE;
}

static gboolean
answer_show (G_GNUC_UNUSED StreamSource *source, G_GNUC_UNUSED const json_t *last, G_GNUC_UNUSED const json_t *next,
             G_GNUC_UNUSED GError **error)
{
  return TRUE;
}

static StreamBacklog
answer_backlog (G_GNUC_UNUSED StreamSource *source, G_GNUC_UNUSED const json_t *last)
{
  return (StreamBacklog){ -1, -1, -1 };
}

static const StreamSourceClass answer_class = {
  .begin = answer_begin, .plan = answer_plan, .show = answer_show, .backlog = answer_backlog
};

/* ---- snapshots ---- */

typedef struct {
  PipelineSnapshots source; /* first */
  Work *work;
  GPtrArray *counts; /* (nullable): of the newest snapshot */
  gboolean warned;
} SnapshotWork;

static void
snapshot_rows_read (AutoCdcSnapshots *snapshots, RelationText *text)
{
  set_counts (&((SnapshotWork *) snapshots)->counts, text);
}

/* What became of a version; an unchanged snapshot has none. */
static gboolean
write_version_event (Work *work, const AutoCdcSnapshotDone *done, GError **error)
{
  gint64 duration_us = base_clock_now_us (&work->run->clock) - done->read_us;
  g_autofree char *time = base_clock_text_us (done->read_us);
  g_autofree char *message =
      done->skipped ? g_strdup_printf ("Flow '%s': the snapshot of version %s is skipped, because that of version %s "
                                       "was processed before; a version must be above the last one.",
                                       work->flow->name, done->version->text, done->last->text)
                    : g_strdup_printf ("Flow '%s' processed the snapshot of version %s, which it began to read at %s.",
                                       work->flow->name, done->version->text, time);
  json_t *details = json_pack ("{s:s, s:s, s:I, s:s, s:s, s:I}", "type", "CDC_SNAPSHOT", "status",
                               done->skipped ? "SKIPPED" : "COMPLETED", "duration_ms",
                               (json_int_t) (duration_us / 1000), "snapshot_version", done->version->text,
                               "ingestion_time", time, "num_snapshot_rows", (json_int_t) done->outcome.n_source_events);
  PipelineEvent event = { .level = done->skipped ? PIPELINE_LEVEL_WARN : PIPELINE_LEVEL_INFO,
                          .type = "operation_progress",
                          .message = message,
                          .flow_id = stream_progress_run_id (work->progress),
                          .batch = -1,
                          .details = details };

  return pipeline_flow_log (work->run->log, work->flow, event, error);
}

static gboolean
snapshot_done (AutoCdcSnapshots *snapshots, const AutoCdcSnapshotDone *done, GError **error)
{
  SnapshotWork *self = (SnapshotWork *) snapshots;
  Work *work = self->work;
  const AutoCdcOutcome *outcome = &done->outcome;

  if ((!self->warned && !write_warnings (work, self->source.binding, error)) ||
      (!done->unchanged && !write_version_event (work, done, error)))
    return FALSE;
  self->warned = TRUE;
  if (done->skipped)
    return TRUE;
  work->totals->n_upserted_rows += outcome->n_upserted_rows;
  work->totals->n_deleted_rows += outcome->n_deleted_rows;
  return end_batch (work, -1,
                    json_pack ("{s:I, s:I, s:I}", "num_upserted_rows", (json_int_t) outcome->n_upserted_rows,
                               "num_deleted_rows", (json_int_t) outcome->n_deleted_rows, "num_source_events",
                               (json_int_t) outcome->n_source_events),
                    self->counts, error);
}

static gboolean
apply_snapshots (Work *work, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  AutoCdcFlow clauses = pipeline_flow_clauses (work->flow, arena);
  g_autoptr (BaseType) declared = pipeline_dataset_declared_schema (work->flow->target);
  PipelineBindingOptions options = binding_options (work);
  SnapshotWork self = { .work = work };

  pipeline_snapshots_init (&self.source, work->flow, &options, &work->run->clock);
  self.source.base.rows_read = snapshot_rows_read;
  self.source.base.done = snapshot_done;
  gboolean good = autocdc_apply_snapshots (work->target, &clauses, declared, &self.source.base, context_of (work),
                                           work->run->cancel, error);
  pipeline_snapshots_clear (&self.source);
  g_clear_pointer (&self.counts, g_ptr_array_unref);
  return good;
}

/* The progress is the target's; the flow's own only gives it its id, and says whether a once flow is complete. */
static gboolean
run_snapshots (Work *work, GError **error)
{
  work->progress = stream_progress_open (work->run->storage, work->flow->name, STREAM_PROGRESS_MAKE,
                                         pipeline_table_has_run, work->target, error);
  if (work->progress == NULL)
    return FALSE;
  open_binding (work);
  return apply_snapshots (work, error) && (work->totals->n_batches == 0 || compact_target (work, error)) &&
         (!work->flow->once || note_complete (work, error));
}

/* ---- streaming flows, and those that run once ---- */

static gboolean
run_stream (Work *work, gboolean *must_restart, GError **error)
{
  gboolean is_answer = work->flow->once && work->flow->kind == PIPELINE_FLOW_APPEND;
  StreamSource answer = { .klass = &answer_class, .keep_from = G_MAXINT64 }, *answers = &answer;

  work->progress = stream_progress_open (work->run->storage, work->flow->name, STREAM_PROGRESS_MAKE,
                                         pipeline_table_has_run, work->target, error);
  if (work->progress == NULL)
    return FALSE;
  open_binding (work);
  if (!plan_stream (work, error) || !write_warnings (work, work->binding, error))
    return FALSE;
  work->sink = work->flow->kind == PIPELINE_FLOW_AUTOCDC
                   ? (StreamSink){ sink_proof, autocdc_sink_apply, autocdc_sink_read_ahead }
                   : (StreamSink){ sink_proof, append_apply, NULL };
  StreamRun run = { .progress = work->progress,
                    .sources = is_answer ? &answers : pipeline_binding_streams (work->binding),
                    .n_sources = is_answer ? 1 : pipeline_binding_n_streams (work->binding),
                    .sink = &work->sink,
                    .clock = work->run->clock,
                    .cancel = work->run->cancel };
  gboolean good = stream_run_available (&run, &work->outcome, error);
  *must_restart = work->outcome.must_restart;
  return good && write_skipped (work, error) &&
         (*must_restart || work->totals->n_batches == 0 || compact_target (work, error)) &&
         (!work->flow->once || *must_restart || note_complete (work, error));
}

/* ---- materialized views ---- */

static gboolean
write_planning_event (Work *work, const MviewDecision *decision, GError **error)
{
  const char *technique = mview_technique_text (decision->technique);
  g_autofree char *message = g_strdup_printf ("Flow '%s' planned as %s", work->flow->name, technique);
  g_autofree char *name = g_strconcat ("MAINTENANCE_TYPE_", technique, NULL);
  json_t *issues = json_array ();

  for (guint i = 0; i < decision->n_issues; i++) {
    const MviewIssue *issue = &decision->issues[i];
    json_t *one = json_pack ("{s:s, s:b}", "issue_type", issue->issue, "prevent_incrementalization", 1);
    if (issue->sub_type != NULL)
      json_object_set_new (one,
                           strcmp (issue->issue, "PLAN_NOT_DETERMINISTIC") == 0 ? "plan_not_deterministic_sub_type"
                                                                                : "plan_not_incrementalizable_sub_type",
                           json_string (issue->sub_type));
    json_array_append_new (issues, one);
  }
  json_t *details = json_pack ("{s:[{s:s, s:b, s:b, s:o}]}", "technique_information", "maintenance_type", name,
                               "is_chosen", 1, "is_applicable", 1, "incrementalization_issues", issues);
  PipelineEvent event = {
    .level = PIPELINE_LEVEL_INFO, .type = "planning_information", .message = message, .batch = -1, .details = details
  };
  return pipeline_flow_log (work->run->log, work->flow, event, error);
}

/* Text that changes with the definition: the query, where it stands, declared columns and expectations. */
static char *
definition_text (const PipelineFlow *flow)
{
  g_autofree char *query = sql_print_query (flow->query);
  g_autoptr (BaseType) declared = pipeline_dataset_declared_schema (flow->target);
  g_autofree char *columns = declared != NULL ? base_type_ddl (declared) : g_strdup ("");
  const SqlExpectationList *expectations = pipeline_dataset_expectations (flow->target);
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "%s\n%s\n%s", flow->place.schema, query, columns);
  for (guint i = 0; i < expectations->n; i++) {
    g_autofree char *condition = sql_print_expression (expectations->items[i].condition);
    g_string_append_printf (text, "\n%s %d %s", expectations->items[i].name.text, expectations->items[i].on_violation,
                            condition);
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static MviewPolicy
policy_of (const PipelineDataset *dataset)
{
  static const MviewPolicy policies[] = { [SQL_POLICY_UNSET] = MVIEW_POLICY_AUTO,
                                          [SQL_POLICY_AUTO] = MVIEW_POLICY_AUTO,
                                          [SQL_POLICY_INCREMENTAL] = MVIEW_POLICY_INCREMENTAL,
                                          [SQL_POLICY_INCREMENTAL_STRICT] = MVIEW_POLICY_INCREMENTAL_STRICT,
                                          [SQL_POLICY_FULL] = MVIEW_POLICY_FULL };

  return policies[dataset->table->refresh_policy];
}

/* Inputs that are tables; a view read by the query brings its own inputs with it. */
static GArray *
view_inputs (Work *work)
{
  GArray *inputs = g_array_new (FALSE, FALSE, sizeof (MviewInput));

  for (guint i = 0; i < pipeline_binding_n_inputs (work->binding); i++) {
    const PipelineInput *input = pipeline_binding_input (work->binding, i);
    gboolean is_view = input->dataset != NULL && !pipeline_dataset_is_stored (input->dataset);
    MviewInput one = { input->name, input->snapshot };
    if (!is_view)
      g_array_append_val (inputs, one);
  }
  return inputs;
}

static gboolean
run_view (Work *work, GError **error)
{
  g_autofree char *definition = definition_text (work->flow);
  MviewDecision decision;
  MviewOutcome outcome = { 0 };

  open_binding (work);
  g_autoptr (RelationPlan) query = pipeline_binding_query (work->binding, work->flow->query, &work->flow->place, error);
  if (query == NULL || !write_warnings (work, work->binding, error))
    return FALSE;
  work->plan = pipeline_binding_expect (work->binding, work->flow->target, query, error);
  if (work->plan == NULL)
    return FALSE;
  g_autoptr (GArray) inputs = view_inputs (work);
  MviewRequest request = { .name = work->flow->target->label,
                           .table = work->target,
                           .plan = work->plan,
                           .definition = definition,
                           .time_zone = duck_session_time_zone (work->duck),
                           .inputs = (const MviewInput *) (gpointer) inputs->data,
                           .n_inputs = inputs->len,
                           .policy = policy_of (work->flow->target),
                           .session = work->duck,
                           .clock = { base_clock_now_us (&work->run->clock) },
                           .cancel = work->run->cancel,
                           .context = context_of (work) };
  if (!mview_decide (&request, &decision, error) || !write_planning_event (work, &decision, error) ||
      !mview_refresh (&request, &decision, &outcome, error))
    return FALSE;
  if (decision.technique == MVIEW_NO_OP)
    return TRUE;
  work->totals->n_output_rows += outcome.n_rows;
  gboolean good = write_batch_event (work, -1,
                                     json_pack ("{s:I, s:I}", "num_output_rows", (json_int_t) outcome.n_rows,
                                                "num_output_bytes", (json_int_t) outcome.n_bytes),
                                     outcome.counts, error);
  mview_outcome_clear (&outcome);
  return good;
}

gboolean
pipeline_flow_run (const PipelineRun *run, const PipelineFlow *flow, PipelineFlowTotals *totals, gboolean *must_restart,
                   GError **error)
{
  g_auto (Work) work = { 0 };

  *must_restart = FALSE;
  if (!work_open (&work, run, flow, totals, error))
    return FALSE;
  if (flow->kind == PIPELINE_FLOW_COMPLETE)
    return run_view (&work, error);
  return pipeline_flow_is_snapshot (flow) ? run_snapshots (&work, error) : run_stream (&work, must_restart, error);
}

char *
pipeline_flow_id (const PipelineRun *run, const PipelineFlow *flow)
{
  g_autoptr (StreamProgress) progress =
      stream_progress_open (run->storage, flow->name, STREAM_PROGRESS_READ_ONLY, NULL, NULL, NULL);

  return progress != NULL ? g_strdup (stream_progress_run_id (progress)) : NULL;
}

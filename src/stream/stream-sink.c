/* A Delta table as a sink: see stream-sink.h. */
#include "stream-sink.h"

#include "base-error.h"
#include "base-json.h"
#include "write-batch.h"
#include "write-schema.h"

/* Another writer may change the table's metadata between reading it and committing: so often is a batch begun again. */
#define MAX_ATTEMPTS 10

typedef struct {
  StreamSink sink;
  StreamTableSinkRequest request;
  DeltaTable *table; /* (nullable): not there yet */
} TableSink;

/* TRUE also when there is no table and none is to be made. */
static gboolean
open_table (TableSink *sink, gboolean make, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (sink->table != NULL)
    return TRUE;
  sink->table = sink->request.open (make, sink->request.open_data, &failure);
  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

static gboolean
sink_proof (StreamSink *base, const char *run_id, gint64 *batch, char **digest, GError **error)
{
  TableSink *sink = (TableSink *) base;

  *batch = -1;
  *digest = NULL;
  if (!open_table (sink, FALSE, error))
    return FALSE;
  if (sink->table == NULL)
    return TRUE;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (sink->table, sink->request.cancel, error);
  if (snapshot == NULL)
    return FALSE;
  *batch = delta_snapshot_txn_version (snapshot, run_id, -1);
  return TRUE;
}

static gboolean
check_table (const TableSink *sink, DeltaSnapshot *snapshot, GError **error)
{
  if (delta_snapshot_domain (snapshot, "sluice.autoCdc") == NULL)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                  "A stream cannot write into %s: it is the target of an AUTO CDC flow", sink->request.name);
  base_error_set_hint (error, "send the rows through the flow's source");
  return FALSE;
}

static gboolean
grow_schema (const TableSink *sink, WriteBatch *write, GError **error)
{
  BaseType *now = write_batch_schema (write);
  g_autoptr (BaseType) merged = write_schema_merge (now, relation_plan_schema (sink->request.plan));

  if (!sink->request.merge_schema || merged == now)
    return TRUE;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_with_schema (write_batch_metadata (write), merged);
  return write_batch_set_metadata (write, metadata, error);
}

static gboolean
stage (const TableSink *sink, const StreamBatch *batch, WriteBatch *write, guint64 *n_rows, GError **error)
{
  const StreamTableSinkRequest *request = &sink->request;
  RelationLowering lowering = { .now_us = batch->clock_us, .session = request->session };
  RelationAssignFlags flags = RELATION_ASSIGN_BY_NAME | RELATION_ASSIGN_FILL;

  if (!grow_schema (sink, write, error))
    return FALSE;
  g_autoptr (RelationPlan) fitted =
      write_plan_fit (request->plan, write_batch_schema (write), flags, NULL, request->name, request->context, error);
  g_autoptr (RelationText) text = fitted != NULL ? relation_plan_lower (fitted, &lowering, error) : NULL;
  if (text == NULL)
    return FALSE;
  if (request->mode == STREAM_OUTPUT_COMPLETE && !write_batch_remove_all (write, NULL, error))
    return FALSE;
  return write_batch_rows (write, relation_text_sql (text)->str, WRITE_ROWS_DEFAULT, n_rows, error);
}

static gboolean
commit (const TableSink *sink, const StreamBatch *batch, WriteBatch *write, DeltaCommitResult *result, GError **error)
{
  gboolean is_complete = sink->request.mode == STREAM_OUTPUT_COMPLETE;
  g_autofree char *epoch = g_strdup_printf ("%" G_GINT64_FORMAT, batch->batch);
  g_autoptr (json_t) parameters = json_pack ("{s:s, s:s, s:s}", "outputMode", is_complete ? "Complete" : "Append",
                                             "queryId", batch->run_id, "epochId", epoch);
  WriteCommit commit = { .operation = "STREAMING UPDATE", .parameters = parameters, .reads_table = is_complete };

  delta_transaction_set_txn (write_batch_transaction (write), batch->run_id, batch->batch);
  return write_batch_commit (write, &commit, result, error);
}

/* One try. @again: (out): another writer was faster, and nothing was written. */
static gboolean
attempt (const TableSink *sink, const StreamBatch *batch, StreamSinkReport *report, gboolean may_retry, gboolean *again,
         GError **error)
{
  const StreamTableSinkRequest *request = &sink->request;
  WriteOptions options = { .cancel = request->cancel, .clock = { batch->clock_us }, .context = request->context };
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (sink->table, request->cancel, error);
  DeltaCommitResult result = { 0 };

  *again = FALSE;
  report->n_rows = 0;
  if (snapshot == NULL || !check_table (sink, snapshot, error))
    return FALSE;
  report->was_there = delta_snapshot_txn_version (snapshot, batch->run_id, -1) >= batch->batch;
  if (report->was_there)
    return TRUE;
  g_autoptr (WriteBatch) write = write_batch_begin (sink->table, snapshot, request->session, &options, error);
  if (write == NULL || !stage (sink, batch, write, &report->n_rows, error))
    return FALSE;
  report->n_bytes = write_batch_counters (write)->bytes_added;
  if (report->n_rows == 0 && request->mode == STREAM_OUTPUT_APPEND)
    return TRUE;
  if (!commit (sink, batch, write, &result, error))
    return FALSE;
  gboolean done = result.outcome == DELTA_COMMIT_DONE;
  if (done)
    report->version = result.version;
  *again = !done && may_retry;
  done = done || *again || delta_commit_result_to_error (&result, error);
  delta_commit_result_clear (&result);
  return done;
}

static gboolean
sink_apply (StreamSink *base, const StreamBatch *batch, GError **error)
{
  TableSink *sink = (TableSink *) base;
  gint64 began_us = g_get_monotonic_time ();
  StreamSinkReport report = { .batch = batch->batch, .version = DELTA_VERSION_NONE, .backlog = batch->backlog };
  gboolean again = TRUE;

  if (!open_table (sink, TRUE, error))
    return FALSE;
  for (guint n = 1; again; n++)
    if (!attempt (sink, batch, &report, n < MAX_ATTEMPTS, &again, error))
      return FALSE;
  report.duration_us = g_get_monotonic_time () - began_us;
  if (sink->request.listener != NULL)
    sink->request.listener (&report, sink->request.listener_data);
  return TRUE;
}

StreamSink *
stream_table_sink_new (const StreamTableSinkRequest *request)
{
  TableSink *sink = g_new0 (TableSink, 1);

  sink->sink = (StreamSink){ sink_proof, sink_apply, NULL };
  sink->request = *request;
  return &sink->sink;
}

void
stream_table_sink_free (StreamSink *base)
{
  if (base == NULL)
    return;
  delta_table_unref (((TableSink *) base)->table);
  g_free (base);
}

/* Materialized views: see mview.h. */
#include "mview.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-transaction.h"
#include "write-batch.h"
#include "write-schema.h"

#include <string.h>

const char *
mview_technique_text (MviewTechnique technique)
{
  static const char *const texts[] = { "NO_OP", "COMPLETE_RECOMPUTE" };

  return texts[technique];
}

static void
add_issue (MviewDecision *decision, const char *issue, const char *sub_type)
{
  if (decision->n_issues < G_N_ELEMENTS (decision->issues))
    decision->issues[decision->n_issues++] = (MviewIssue){ issue, sub_type };
}

/* ---- memory ---- */

static char *
fingerprint (const MviewRequest *request)
{
  g_autofree char *schema = base_type_ddl (relation_plan_schema (request->plan));
  g_autofree char *text = g_strconcat (request->definition, "\n", schema, NULL);

  return base_text_sha256 (text, strlen (text));
}

static char *
memory_text (const MviewRequest *request)
{
  g_autofree char *print = fingerprint (request);
  json_t *inputs = json_array ();

  for (guint i = 0; i < request->n_inputs; i++) {
    DeltaSnapshot *snapshot = request->inputs[i].snapshot;
    if (snapshot == NULL)
      continue;
    json_array_append_new (inputs, json_pack ("{s:s, s:s, s:I}", "name", request->inputs[i].name, "id",
                                              delta_metadata_id (delta_snapshot_metadata (snapshot)), "version",
                                              (json_int_t) delta_snapshot_version (snapshot)));
  }
  g_autoptr (json_t) memory =
      json_pack ("{s:s, s:s, s:o}", "fingerprint", print, "timeZone", request->time_zone, "inputs", inputs);
  return base_json_text (memory);
}

/* ---- deciding ---- */

typedef enum { SAME, CHANGED, LOST } Change;

/* Whether @snapshot holds other data than the version remembered for it. */
static gboolean
input_change (const json_t *remembered, const MviewInput *input, BaseCancel *cancel, Change *change, GError **error)
{
  DeltaTable *table = delta_snapshot_table (input->snapshot);
  DeltaVersion from = base_json_int64 (remembered, "version", -1);
  DeltaVersion to = delta_snapshot_version (input->snapshot);
  DeltaVersion earliest, latest;

  *change = SAME;
  if (g_strcmp0 (base_json_string (remembered, "id"), delta_metadata_id (delta_snapshot_metadata (input->snapshot))) !=
          0 ||
      from > to) {
    *change = LOST;
    return TRUE;
  }
  if (from == to)
    return TRUE;
  if (!delta_table_versions (table, &earliest, &latest, error))
    return FALSE;
  if (earliest > from + 1) {
    *change = LOST;
    return TRUE;
  }
  for (DeltaVersion version = to; version > from; version--) {
    g_autoptr (DeltaCommit) commit = delta_table_commit (table, version, cancel, error);
    if (commit == NULL)
      return FALSE;
    if (delta_commit_changes_data (commit) || delta_commit_metadata (commit) != NULL) {
      *change = CHANGED;
      return TRUE;
    }
  }
  return TRUE;
}

static const json_t *
remembered_input (const json_t *memory, const char *name)
{
  const json_t *inputs = json_object_get (memory, "inputs");

  for (size_t i = 0; i < json_array_size (inputs); i++)
    if (g_strcmp0 (base_json_string (json_array_get (inputs, i), "name"), name) == 0)
      return json_array_get (inputs, i);
  return NULL;
}

/* Reasons that no incremental technique can help against; FALSE in @same when there is one, or when an input changed. */
static gboolean
compare_inputs (const MviewRequest *request, const json_t *memory, MviewDecision *decision, gboolean *same,
                GError **error)
{
  *same = TRUE;
  for (guint i = 0; i < request->n_inputs; i++) {
    const json_t *remembered = remembered_input (memory, request->inputs[i].name);
    Change change = LOST;
    if (request->inputs[i].snapshot == NULL) {
      add_issue (decision, "INPUT_NOT_IN_DELTA", NULL);
      *same = FALSE;
      continue;
    }
    if (remembered != NULL && !input_change (remembered, &request->inputs[i], request->cancel, &change, error))
      return FALSE;
    if (change == LOST)
      add_issue (decision, "CHANGE_SET_MISSING", NULL);
    *same = *same && change == SAME;
  }
  return TRUE;
}

static void
add_plan_issue (const MviewRequest *request, MviewDecision *decision)
{
  gboolean distinct = (relation_plan_features (request->plan) & RELATION_FEATURE_DISTINCT_AGGREGATE) != 0;

  if (decision->n_issues == 0)
    add_issue (decision, "PLAN_NOT_INCREMENTALIZABLE", distinct ? "AGGREGATE_WITH_DISTINCT" : "OPERATOR_NOT_SUPPORTED");
}

/* Compares with what the table remembers. @first: (out): the view was never computed. */
static gboolean
decide_by_memory (const MviewRequest *request, const char *text, MviewDecision *decision, gboolean *first,
                  GError **error)
{
  g_autofree char *print = fingerprint (request);
  g_autoptr (json_t) memory = text != NULL ? base_json_parse (text, strlen (text), "the view's memory", NULL) : NULL;
  gboolean same = FALSE;

  *first = memory == NULL;
  if (*first) {
    add_issue (decision, "CHANGE_SET_MISSING", NULL);
    return TRUE;
  }
  if (g_strcmp0 (base_json_string (memory, "fingerprint"), print) != 0)
    add_issue (decision, "QUERY_FINGERPRINT_CHANGED", NULL);
  if (g_strcmp0 (base_json_string (memory, "timeZone"), request->time_zone) != 0)
    add_issue (decision, "TIME_ZONE_CHANGED", NULL);
  if (!relation_plan_is_deterministic (request->plan, NULL) ||
      (relation_plan_features (request->plan) & RELATION_FEATURE_CLOCK))
    add_issue (decision, "PLAN_NOT_DETERMINISTIC",
               relation_plan_is_deterministic (request->plan, NULL) ? "TIME_FUNCTION" : "NON_DETERMINISTIC_EXPRESSION");
  if (!compare_inputs (request, memory, decision, &same, error))
    return FALSE;
  if (decision->n_issues == 0 && same && request->policy != MVIEW_POLICY_FULL)
    decision->technique = MVIEW_NO_OP;
  return TRUE;
}

gboolean
mview_decide (const MviewRequest *request, MviewDecision *decision, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (request->table, request->cancel, error);
  gboolean first = FALSE;

  if (snapshot == NULL)
    return FALSE;
  *decision = (MviewDecision){ .technique = MVIEW_COMPLETE_RECOMPUTE };
  if (!decide_by_memory (request, delta_snapshot_domain (snapshot, MVIEW_DOMAIN), decision, &first, error))
    return FALSE;
  if (decision->technique == MVIEW_NO_OP)
    return TRUE;
  add_plan_issue (request, decision);
  if (first || request->policy != MVIEW_POLICY_INCREMENTAL_STRICT)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_MATERIALIZED_VIEW_NOT_INCREMENTALIZABLE,
                  "The view cannot be refreshed incrementally, and its refresh policy demands it: %s%s%s",
                  decision->issues[0].issue, decision->issues[0].sub_type != NULL ? ", " : "",
                  decision->issues[0].sub_type != NULL ? decision->issues[0].sub_type : "");
  base_error_set_hint (error, "a full refresh computes it anew; REFRESH POLICY AUTO allows it always");
  return FALSE;
}

/* ---- refreshing ---- */

void
mview_outcome_clear (MviewOutcome *outcome)
{
  g_clear_pointer (&outcome->counts, g_ptr_array_unref);
}

/* The table's schema follows the query's, where the declaration does not fix it. */
static gboolean
adopt_schema (WriteBatch *batch, RelationPlan *plan, GError **error)
{
  BaseType *wanted = relation_plan_schema (plan);
  BaseType *now = write_batch_schema (batch);

  if (base_type_equal (now, wanted, BASE_TYPE_EQUAL_IGNORE_NULLABILITY | BASE_TYPE_EQUAL_IGNORE_CASE))
    return TRUE;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_with_schema (write_batch_metadata (batch), wanted);
  return write_batch_set_metadata (batch, metadata, error);
}

static gboolean
commit (const MviewRequest *request, WriteBatch *batch, MviewOutcome *outcome, GError **error)
{
  g_autofree char *memory = memory_text (request);
  g_autoptr (json_t) parameters = json_pack ("{s:s}", "mode", "Overwrite");
  WriteCommit what = { .operation = "WRITE", .parameters = parameters, .reads_table = TRUE };
  DeltaCommitResult result = { 0 };

  delta_transaction_set_domain (write_batch_transaction (batch), MVIEW_DOMAIN, memory);
  outcome->n_bytes = write_batch_counters (batch)->bytes_added;
  if (!write_batch_commit (batch, &what, &result, error))
    return FALSE;
  gboolean done = result.outcome == DELTA_COMMIT_DONE || delta_commit_result_to_error (&result, error);
  outcome->version = result.version;
  delta_commit_result_clear (&result);
  return done;
}

gboolean
mview_refresh (const MviewRequest *request, const MviewDecision *decision, MviewOutcome *outcome, GError **error)
{
  MviewOutcome made = { .version = -1 };

  *outcome = made;
  if (decision->technique == MVIEW_NO_OP)
    return TRUE;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (request->table, request->cancel, error);
  if (snapshot == NULL)
    return FALSE;
  WriteOptions options = { .cancel = request->cancel, .clock = request->clock, .context = request->context };
  g_autoptr (WriteBatch) batch = write_batch_begin (request->table, snapshot, request->session, &options, error);
  if (batch == NULL || !adopt_schema (batch, request->plan, error) || !write_batch_remove_all (batch, NULL, error))
    return FALSE;
  g_autoptr (RelationPlan) fitted =
      write_plan_fit (request->plan, write_batch_schema (batch), RELATION_ASSIGN_BY_NAME | RELATION_ASSIGN_FILL, NULL,
                      request->name, request->context, error);
  RelationLowering lowering = { .now_us = base_clock_now_us (&request->clock), .session = request->session };
  g_autoptr (RelationText) text = fitted != NULL ? relation_plan_lower (fitted, &lowering, error) : NULL;
  if (text == NULL || !write_batch_rows (batch, relation_text_sql (text)->str, WRITE_ROWS_DEFAULT, &made.n_rows, error))
    return FALSE;
  made.counts = g_ptr_array_ref (relation_text_counts (text));
  if (!commit (request, batch, &made, error)) {
    mview_outcome_clear (&made);
    return FALSE;
  }
  *outcome = made;
  return TRUE;
}

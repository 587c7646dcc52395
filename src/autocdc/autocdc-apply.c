/* One batch, from its events to its commit.
 *
 *   events → checks → reduction → look-up of the affected keys → union of facts → reference function → difference → commit
 *
 * Everything from the reduction on is done again on a new snapshot when another writer's commit was in the way.
 */
#include "autocdc-state-private.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-metadata.h"
#include "delta-transaction.h"
#include "write-schema.h"

#define MAX_TRIES  100
#define ROWS_APART 10000

static char *
flow_domain (const AutoCdcBatch *batch)
{
  return g_strconcat (AUTOCDC_PROGRESS_PREFIX, batch->run_id, NULL);
}

/* Whether the target holds a version by now that this snapshot is not above. */
static gboolean
find_version (const AutoCdcWork *work, gboolean *done, GError **error)
{
  const AutoCdcDomain *domain = work->layout->domain;
  const AutoCdcVersion last = { domain->sequence_type, domain->snapshot_version };
  gboolean above = TRUE;

  if (last.text &&
      !autocdc_version_is_above (&work->snapshot->version, &last, work->session, work->cancel, &above, error))
    return FALSE;
  *done = !above;
  return TRUE;
}

/* Whether the target holds this batch already; with another digest that is somebody else's batch. */
static gboolean
find_progress (const AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean *done, GError **error)
{
  const AutoCdcBatch *batch = work->batch;
  gint64 version = delta_snapshot_txn_version (snapshot, batch->run_id, -1);
  g_autofree char *name = flow_domain (batch);
  const char *text = delta_snapshot_domain (snapshot, name);
  g_autoptr (json_t) progress = NULL;

  *done = version >= batch->batch_id;
  if (!*done || !text)
    return TRUE;
  if (!(progress = base_json_parse (text, strlen (text), name, error)))
    return FALSE;
  if (base_json_int64 (progress, "batch", -1) != batch->batch_id ||
      g_strcmp0 (base_json_string (progress, "offsets"), batch->offsets_digest) == 0)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT,
                         "%s holds batch %" G_GINT64_FORMAT " of flow %s with other offsets than the flow's log",
                         work->plan->target, batch->batch_id, work->plan->name);
}

/* What the general way came to. Late: older than what was known of the key, and without effect. */
static gboolean
count_general (AutoCdcWork *work, AutoCdcCounts *counts, GError **error)
{
  gboolean may_be_late = work->plan->type == AUTOCDC_SCD1 && !work->snapshot &&
                         (work->has_rows || work->has_state || work->layout->domain->truncate);
  gint64 values[5];

  autocdc_work_define (
      work, "late",
      may_be_late ? "SELECT count(*) FROM {events} e LEFT JOIN (SELECT {K}, max({O:s}) AS newest FROM"
                    " (SELECT {K}, hs AS s FROM {rows} UNION ALL SELECT {K}, s FROM {state}) GROUP BY {K}) p ON {J:e,p}"
                    " WHERE e.o < greatest(p.newest, {known truncate order}) AND NOT EXISTS (SELECT 1 FROM"
                    " {need} n WHERE n.src = 2 AND {J:n,e} AND {O:n.s} = e.o AND n.d = e.d)"
                  : "SELECT 0::BIGINT");
  if (!autocdc_work_numbers (work,
                             "SELECT count(*) FILTER (act = 1), count(*) FILTER (act = 2), count(*) FILTER (act = 3),"
                             " {late}, count(*) FILTER (act IN (1, 3) AND {end} IS NULL) FROM {general marks}",
                             values, G_N_ELEMENTS (values), error))
    return FALSE;
  counts->n_inserted += values[0];
  counts->n_deleted += values[1];
  counts->n_updated += values[2];
  counts->n_late += values[3];
  counts->n_lasting += values[4];
  return TRUE;
}

static gboolean
count_changes (AutoCdcWork *work, AutoCdcCounts *counts, GError **error)
{
  gint64 n_late;

  *counts = work->simple_counts;
  counts->n_deleted += work->n_cleared;
  counts->n_facts = work->n_add;
  if (work->has_general && !count_general (work, counts, error))
    return FALSE;
  if (!work->truncate)
    return TRUE;
  if (!autocdc_work_count (work, "SELECT count(*) FROM {truncates} WHERE o < {known truncate order}", &n_late, error))
    return FALSE;
  counts->n_late += n_late;
  return TRUE;
}

static guint64
state_rows (const AutoCdcDomain *domain)
{
  guint64 n = 0;

  for (guint i = 0; i < domain->files->len; i++)
    n += (guint64) ((AutoCdcStateFile *) domain->files->pdata[i])->n_rows;
  return n;
}

/* ---- staging: act is 1 and 3 of new rows, 2 and 3 of old ones ---- */

/* Rows that a truncate clears besides those of {marks}. */
static gboolean
stage_cleared (AutoCdcWork *work, WriteBatch *write, gboolean changes, GError **error)
{
  GPtrArray *files = work->cleared_files;
  g_autofree char *rows = NULL;

  if (work->n_cleared == 0)
    return TRUE;
  if (files->len > 0 && !write_batch_remove_files (write, (DeltaFile *const *) files->pdata, files->len, NULL, error))
    return FALSE;
  if (work->n_cleared_rows > 0) {
    rows = autocdc_work_text (work, "SELECT fi AS file_index, rn AS row_number FROM {cleared}");
    if (!write_batch_delete (write, work->scan, rows, NULL, error))
      return FALSE;
  }
  return !changes || write_batch_changes_of_deleted (write, "delete", NULL, error);
}

/* The table's columns c0, c1, … from a table of the work's shape. @as_read: it has the columns of several fields as they were. */
static void
set_columns (AutoCdcWork *work, const char *piece, const char *table, gboolean as_read)
{
  const AutoCdcLayout *layout = work->layout;
  guint n = base_type_n_fields (layout->schema);
  g_autoptr (GPtrArray) columns = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) text = g_string_new (NULL);

  g_ptr_array_set_size (columns, (gint) n);
  for (guint i = 0; i < layout->key_columns->len; i++)
    columns->pdata[g_array_index (layout->key_columns, guint, i)] = g_strdup_printf ("k%u", i);
  for (guint i = 0; i < autocdc_interval_columns (work->plan->type, NULL); i++)
    columns->pdata[layout->intervals[i]] = g_strdup (autocdc_interval_names[i]);
  for (guint i = 0; i < n; i++) {
    g_string_append (text, i ? ", " : "");
    if (columns->pdata[i])
      g_string_append_printf (text, "%s.%s", table, (char *) columns->pdata[i]);
    else if (write_generated_is (base_type_field (layout->schema, i)))
      g_string_append (text, "NULL"); /* autocdc_generate() */
    else if (as_read && autocdc_work_is_split (work, i))
      g_string_append_printf (text, "%s.c%u", table, i);
    else
      autocdc_append_column (work, text, i, table);
    g_string_append_printf (text, " AS c%u", i);
  }
  autocdc_work_take (work, piece, g_steal_pointer (&text));
}

static gboolean
write_rows (AutoCdcWork *work, WriteBatch *write, const char *rows, WriteRowsFlags flags, GError **error)
{
  g_autoptr (BaseType) binary = base_type_simple (BASE_TYPE_BINARY), integer = base_type_simple (BASE_TYPE_LONG),
                       string = base_type_simple (BASE_TYPE_STRING);
  static const char *const names[AUTOCDC_MAX_HIDDEN] = { "h0", "h1", "h2", "h3" };
  WriteHiddenColumn more[AUTOCDC_MAX_HIDDEN + 2];
  guint n = autocdc_hidden_columns (work->layout->domain, binary, integer, more);
  g_autofree char *text = NULL;
  RelationText *hold = NULL;

  for (guint i = 0; i < n; i++)
    more[i].name = names[i];
  if (flags & WRITE_ROWS_ROW_ID)
    more[n++] = (WriteHiddenColumn){ "row_id", integer };
  if (flags & WRITE_ROWS_CHANGE_TYPE)
    more[n++] = (WriteHiddenColumn){ "_change_type", string };
  text = autocdc_generate (work, rows, more, n, &hold, error);
  if (hold)
    g_ptr_array_add (work->generates, hold);
  /* Deletions, change rows and the state are told meanwhile. */
  if (!autocdc_work_has_tables (work))
    flags |= WRITE_ROWS_BESIDE;
  return text && write_batch_rows (write, text, flags, NULL, error);
}

/* Rows of histories that are over get files of their own where there are many of both kinds: such files are skipped by later batches
 * (autocdc-anchor.c), and by whoever asks for what is so now. */
static gboolean
are_apart (const AutoCdcWork *work, const AutoCdcCounts *counts)
{
  gint64 least = work->batch->rows_apart > 0 ? work->batch->rows_apart : ROWS_APART;

  return work->plan->type != AUTOCDC_SCD1 &&
         MIN (counts->n_inserted + counts->n_updated - counts->n_lasting, counts->n_lasting) >= least;
}

static gboolean
write_new_rows (AutoCdcWork *work, WriteBatch *write, const AutoCdcCounts *counts, WriteRowsFlags flags, GError **error)
{
  static const char *const parts[] = { "diff", "over", "lasting" };
  gboolean apart = are_apart (work, counts);

  for (guint i = apart ? 1 : 0; i < (apart ? G_N_ELEMENTS (parts) : 1); i++) {
    g_autofree char *rows = NULL;

    autocdc_work_set (work, "part", g_hash_table_lookup (work->pieces, parts[i]));
    rows =
        autocdc_work_text (work, "SELECT {new columns}{hidden}{row id}{change type} FROM {part} n WHERE n.act & 1 = 1");
    if (!write_rows (work, write, rows, flags, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
write_old_rows (AutoCdcWork *work, WriteBatch *write, const char *rows, GError **error)
{
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
  const WriteHiddenColumn change = { "_change_type", string };
  g_autoptr (RelationText) hold = NULL;
  g_autofree char *text = autocdc_generate (work, rows, &change, 1, &hold, error);

  return text && write_batch_changes (write, text, NULL, error);
}

static gboolean
stage_rows (AutoCdcWork *work, WriteBatch *write, const AutoCdcCounts *counts, GError **error)
{
  gboolean deletes = counts->n_deleted - work->n_cleared + counts->n_updated > 0;
  /* What readers cannot derive from files alone must be written out, and then all of it. */
  gboolean changes = write_batch_feed_is_on (write) &&
                     (counts->n_updated > 0 ||
                      (counts->n_deleted > 0 && (counts->n_inserted > 0 || !write_batch_uses_vectors (write))));
  WriteRowsFlags flags =
      (write_batch_tracks_rows (write) ? WRITE_ROWS_ROW_ID : 0) | (changes ? WRITE_ROWS_CHANGE_TYPE : 0);
  g_autoptr (GString) hash = g_string_new (NULL);
  g_autofree char *old_rows = NULL, *gone = NULL, *hidden = NULL;

  if (!stage_cleared (work, write, changes, error))
    return FALSE;
  if (counts->n_inserted + counts->n_deleted + counts->n_updated == 0)
    return TRUE;
  set_columns (work, "new columns", "n", FALSE);
  set_columns (work, "old columns", "r", TRUE);
  autocdc_append_hash (work, hash, "n");
  autocdc_work_take (work, "hash", g_steal_pointer (&hash));
  autocdc_work_set (work, "old rows", g_hash_table_lookup (work->pieces, work->keeps_old ? "old" : "rows"));
  autocdc_work_set (work, "row id", flags & WRITE_ROWS_ROW_ID ? ", n.rid AS row_id" : "");
  autocdc_work_set (work, "hidden gen", work->layout->domain->hidden_gen ? ", coalesce(n.hg, 0) AS h3" : "");
  hidden = autocdc_work_text (work, ", n.hs AS h0, n.hb AS h1, coalesce(n.hh, {hash}) AS h2{hidden gen}");
  autocdc_work_set (work, "hidden", autocdc_domain_hides (work->layout->domain) ? hidden : "");
  autocdc_work_set (work, "change type",
                    changes ? ", CASE n.act WHEN 1 THEN 'insert' ELSE 'update_postimage' END AS _change_type" : "");
  if (counts->n_inserted + counts->n_updated > 0 && !write_new_rows (work, write, counts, flags, error))
    return FALSE;
  gone = autocdc_work_text (work, "SELECT fi AS file_index, rn AS row_number FROM {marks} WHERE act >= 2");
  if (deletes && !write_batch_delete (write, work->scan, gone, NULL, error))
    return FALSE;
  if (!changes || !deletes)
    return TRUE;
  old_rows =
      autocdc_work_text (work, "SELECT {old columns}, CASE d.act WHEN 2 THEN 'delete' ELSE 'update_preimage' END AS"
                               " _change_type FROM {marks} d JOIN {old rows} r ON r.ix = d.rr"
                               " WHERE d.act >= 2");
  return write_old_rows (work, write, old_rows, error);
}

/* The version is taken, unless it is none without changes. Statements' rows were compared, all of them. */
static void
stage_version (AutoCdcWork *work, WriteBatch *write, const AutoCdcCounts *counts)
{
  const AutoCdcSnapshot *snapshot = work->snapshot;
  AutoCdcDomain *domain = work->layout->domain;

  if (!snapshot->only_changes || counts->n_inserted + counts->n_deleted + counts->n_updated > 0) {
    g_free (domain->snapshot_version);
    domain->snapshot_version = g_strdup (snapshot->version.text);
    domain->n_snapshot_rows = work->n_events;
    domain->snapshot_time_us = snapshot->read_us;
  }
  domain->gen = 0;
  autocdc_put_domain (work->layout, write);
}

static void
stage_progress (AutoCdcWork *work, WriteBatch *write)
{
  const AutoCdcBatch *batch = work->batch;
  DeltaTransaction *transaction = write_batch_transaction (write);
  g_autofree char *flow = flow_domain (batch), *progress = NULL;
  g_autoptr (json_t) json =
      json_pack ("{s:I, s:s}", "batch", (json_int_t) batch->batch_id, "offsets", batch->offsets_digest);

  progress = base_json_text (json);
  autocdc_put_domain (work->layout, write);
  delta_transaction_set_domain (transaction, flow, progress);
  delta_transaction_set_txn (transaction, batch->run_id, batch->batch_id);
}

static gboolean
commit (AutoCdcWork *work, WriteBatch *write, const AutoCdcOutcome *outcome, DeltaCommitResult *result, GError **error)
{
  static const char *const types[] = {
    [AUTOCDC_SCD1] = "1", [AUTOCDC_SCD2] = "2", [AUTOCDC_BITEMPORAL] = "bitemporal"
  };
  g_autoptr (json_t) parameters =
      json_pack ("{s:s, s:s}", "flow", work->plan->name, "scdType", types[work->plan->type]);
  g_autoptr (json_t) metrics = json_pack (
      "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "numSourceRows", (json_int_t) outcome->n_source_events, "numUpsertedRows",
      (json_int_t) outcome->n_upserted_rows, "numDeletedRows", (json_int_t) outcome->n_deleted_rows, "numStateRows",
      (json_int_t) outcome->n_state_rows, "numTombstonesRemoved", (json_int_t) outcome->n_tombstones_removed,
      "numLateEventsIgnored", (json_int_t) outcome->n_late_events, "numSequenceTies", (json_int_t) outcome->n_ties);
  g_autofree char *epoch = g_strdup_printf ("%" G_GINT64_FORMAT, work->batch->batch_id);
  WriteCommit commit = { .operation = "AUTO CDC", .parameters = parameters, .metrics = metrics, .reads_table = TRUE };

  if (work->snapshot) {
    commit.operation = "AUTO CDC FROM SNAPSHOT";
    json_object_set_new (parameters, "snapshotVersion", json_string (work->layout->domain->snapshot_version));
  } else {
    json_object_set_new (parameters, "queryId", json_string (work->batch->run_id));
    json_object_set_new (parameters, "epochId", json_string (epoch));
  }
  return write_batch_commit (write, &commit, result, error);
}

static WriteBatch *
begin_write (AutoCdcWork *work, DeltaTable *target, DeltaSnapshot *snapshot, const AutoCdcCounts *counts,
             GError **error)
{
  const AutoCdcDomain *domain = work->layout->domain;
  g_autoptr (BaseType) binary = base_type_simple (BASE_TYPE_BINARY), integer = base_type_simple (BASE_TYPE_LONG);
  WriteHiddenColumn hidden[AUTOCDC_MAX_HIDDEN];
  gint64 n_rows = counts->n_inserted + counts->n_updated;
  gint64 n_most = are_apart (work, counts) ? MAX (n_rows - counts->n_lasting, counts->n_lasting) : n_rows;
  WriteOptions options = { .cancel = work->cancel,
                           .clock = { work->batch->clock_us },
                           .context = work->context,
                           .n_rows_expected = (guint64) n_most,
                           .hidden = hidden,
                           .n_hidden = autocdc_hidden_columns (domain, binary, integer, hidden) };
  g_autoptr (WriteBatch) write = write_batch_begin (target, snapshot, work->session, &options, error);

  if (!write || !autocdc_put_schema (work->layout, write, snapshot, error))
    return NULL;
  return g_steal_pointer (&write);
}

/* What makes the kinds of targets differ. */
static gboolean (*const reference_functions[]) (AutoCdcWork *work, GError **error) = {
  [AUTOCDC_SCD1] = autocdc_scd1_compute,
  [AUTOCDC_SCD2] = autocdc_scd2_compute,
  [AUTOCDC_BITEMPORAL] = autocdc_bitemporal_compute,
};

static gboolean
compute_generally (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  work->has_general = TRUE;
  return autocdc_unite_facts (work, snapshot, error) && reference_functions[work->plan->type](work, error) &&
         autocdc_find_difference (work, error);
}

static gboolean
compute (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  gboolean feed = delta_metadata_change_feed (delta_snapshot_metadata (snapshot));
  gint64 n_complex;
  gboolean is_empty;

  work->tracks_rows = delta_metadata_row_tracking (delta_snapshot_metadata (snapshot));
  work->keeps_old = work->has_general = work->has_rows = work->has_state = FALSE;
  work->simple_counts = (AutoCdcCounts){ 0 };
  work->from_anchor = !work->snapshot && (work->plan->type == AUTOCDC_BITEMPORAL || autocdc_has_anchor (work));
  if (work->snapshot)
    return autocdc_compare_snapshot (work, snapshot, error) &&
           (work->n_changes == 0 || compute_generally (work, snapshot, error));
  if (!autocdc_reduce_events (work, error))
    return FALSE;
  is_empty = work->layout->domain->files->len == 0 && delta_snapshot_n_files (snapshot) == 0;
  if (work->clears && !is_empty)
    return autocdc_add_truncated_keys (work, snapshot, error) && autocdc_look_up (work, snapshot, error) &&
           compute_generally (work, snapshot, error) && autocdc_find_cleared (work, snapshot, error);
  if (autocdc_simple_history_applies (work)) {
    if (!autocdc_simple_history_split (work, snapshot, &n_complex, error) ||
        (n_complex > 0 && !compute_generally (work, snapshot, error)))
      return FALSE;
    autocdc_simple_history_add (work);
    return TRUE;
  }
  if (!autocdc_simple_applies (work))
    return autocdc_look_up (work, snapshot, error) && compute_generally (work, snapshot, error);
  /* SCD 1: most keys need their sequences compared and nothing else. */
  if (!autocdc_simple_split (work, snapshot, feed, &n_complex, error) ||
      (n_complex > 0 && !compute_generally (work, snapshot, error)))
    return FALSE;
  autocdc_simple_add (work);
  return TRUE;
}

/* A run that has written batches finds their memory, unless somebody replaced the table. */
static gboolean
check_memory (const AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  if (!work->layout->is_new || work->snapshot || delta_snapshot_txn_version (snapshot, work->batch->run_id, -1) < 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_AUXILIARY_TABLE_PROPERTY_MISSING,
                  "%s has no domain %s any more, and flow %s has written batches into it", work->plan->target,
                  AUTOCDC_DOMAIN, work->plan->name);
  base_error_set_hint (
      error, "a full refresh of %s begins anew%s", work->plan->target,
      work->plan->type == AUTOCDC_BITEMPORAL ? "" : "; ALTER STREAMING TABLE … ADOPT takes its rows as history");
  return FALSE;
}

/* @finished: FALSE when another commit was in the way; @result then says which. */
static gboolean
try_batch (AutoCdcWork *work, DeltaTable *target, AutoCdcOutcome *outcome, DeltaCommitResult *result,
           gboolean *finished, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (target, work->cancel, error);
  g_autoptr (WriteBatch) write = NULL;
  AutoCdcLayout *layout;
  AutoCdcCounts counts;
  gint64 n_expired;

  *finished = TRUE;
  if (!snapshot || (!work->snapshot && !find_progress (work, snapshot, &outcome->already_done, error)))
    return FALSE;
  if (outcome->already_done)
    return TRUE;
  if (!(layout = autocdc_layout_new (work->plan, snapshot, error)))
    return FALSE;
  autocdc_work_set_layout (work, layout);
  if (!autocdc_hear_truncates (work, error) || !check_memory (work, snapshot, error))
    return FALSE;
  layout->domain->retention_seconds = work->batch->retention_seconds;
  if (work->snapshot && !find_version (work, &outcome->already_done, error))
    return FALSE;
  outcome->n_state_rows = state_rows (layout->domain);
  if (outcome->already_done || (work->n_read == 0 && !work->snapshot))
    return TRUE;
  if (!autocdc_check_empty_keys (work, error) || (layout->adopts && !autocdc_check_adopted (work, snapshot, error)))
    return FALSE;
  if (!compute (work, snapshot, error) || !count_changes (work, &counts, error))
    return FALSE;
  outcome->n_late_events = (guint64) counts.n_late;
  outcome->n_ties = (guint64) work->n_ties;
  if (counts.n_inserted + counts.n_deleted + counts.n_updated + counts.n_facts == 0 && !layout->schema_changed &&
      !layout->adopts && !work->clears && (!work->snapshot || work->snapshot->only_changes))
    return TRUE;

  outcome->n_upserted_rows = (guint64) (counts.n_inserted + counts.n_updated);
  outcome->n_deleted_rows = (guint64) counts.n_deleted;
  if (!(write = begin_write (work, target, snapshot, &counts, error)) || !stage_rows (work, write, &counts, error) ||
      !autocdc_check_promise (work, write, error))
    return FALSE;
  if (autocdc_work_has_tables (work)) /* nothing is written beside; joining state files takes memory too */
    autocdc_work_keep (work, 0, (const char *const[]){ "add", NULL });
  if (!autocdc_state_write (work, write, snapshot, counts.n_facts, &n_expired, error))
    return FALSE;
  if (work->batch->writing && !work->told_writing && !autocdc_work_has_tables (work))
    work->batch->writing (work->batch->data);
  work->told_writing = TRUE;
  outcome->n_tombstones_removed = (guint64) n_expired;
  outcome->n_state_rows = state_rows (layout->domain);
  if (work->snapshot)
    stage_version (work, write, &counts);
  else
    stage_progress (work, write);
  if (!commit (work, write, outcome, result, error))
    return FALSE;
  *finished = result->outcome == DELTA_COMMIT_DONE;
  if (*finished)
    outcome->version = result->version;
  return TRUE;
}

static gboolean
apply (AutoCdcWork *work, DeltaTable *target, AutoCdcOutcome *outcome, GError **error)
{
  for (guint i = 0; i < MAX_TRIES; i++) {
    AutoCdcOutcome tried = { .version = -1, .n_source_events = (guint64) work->n_read };
    DeltaCommitResult result = { 0 };
    gboolean finished, ok;

    if (!base_cancel_check (work->cancel, error))
      return FALSE;
    ok = try_batch (work, target, &tried, &result, &finished, error);
    if (ok && !finished && i + 1 == MAX_TRIES)
      ok = delta_commit_result_to_error (&result, error);
    delta_commit_result_clear (&result);
    if (!ok)
      return FALSE;
    if (finished) {
      *outcome = tried;
      return TRUE;
    }
  }
  return base_error_set (error, SLUICE_ERROR_DELTA_CONCURRENT_WRITE, "other writers to %s won every time",
                         work->plan->target);
}

static gboolean
read_events (AutoCdcWork *work, GError **error)
{
  return autocdc_lower_events (work, error) && autocdc_read_events (work, error);
}

static void
tell_read (const AutoCdcWork *work)
{
  if (work->batch->events_read)
    work->batch->events_read (work->source, work->batch->data);
}

gboolean
autocdc_apply (DeltaTable *target, AutoCdcPlan *plan, const AutoCdcBatch *batch, const RelationContext *context,
               BaseCancel *cancel, AutoCdcOutcome *outcome, GError **error)
{
  g_autoptr (AutoCdcWork) work = autocdc_ahead_take (batch->ahead, plan, batch, context, cancel);

  if (!work) {
    work = autocdc_work_new (plan, batch, context, cancel);
    if (!read_events (work, error))
      return FALSE;
  }
  tell_read (work);
  return apply (work, target, outcome, error);
}

gboolean
autocdc_apply_snapshot (DeltaTable *target, AutoCdcPlan *plan, const AutoCdcSnapshot *snapshot,
                        const AutoCdcBatch *batch, const RelationContext *context, BaseCancel *cancel,
                        AutoCdcOutcome *outcome, GError **error)
{
  g_autoptr (AutoCdcWork) work = autocdc_work_new (plan, batch, context, cancel);

  work->snapshot = snapshot;
  if (!read_events (work, error))
    return FALSE;
  tell_read (work);
  return autocdc_check_snapshot (work, error) && apply (work, target, outcome, error);
}

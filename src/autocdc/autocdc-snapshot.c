/* A snapshot as events: where it differs from the target's open rows, which are the snapshot before it. See autocdc-snapshot.h. */
#include "autocdc-work-private.h"
#include "base-error.h"

/* ---- keys that occur twice ---- */

/* `(id, name) = (1, a)`: the least key of {twice}. */
static char *
first_twice (AutoCdcWork *work, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL), values = g_string_new (NULL);
  g_autofree char *sql = NULL, *value = NULL;

  for (guint i = 0; i < work->plan->keys->len; i++) {
    const AutoCdcColumn *key = work->plan->columns->pdata[g_array_index (work->plan->keys, guint, i)];

    g_string_append_printf (names, "%s%s", i ? ", " : "", key->name);
    g_string_append_printf (values, "%sk%u::VARCHAR", i ? ", " : "", i);
  }
  autocdc_work_take (work, "key texts", g_steal_pointer (&values));
  sql = autocdc_work_text (work, "SELECT concat_ws(', ', {key texts}) FROM {twice} ORDER BY {K} LIMIT 1");
  if (!duck_session_query_string (work->session, sql, work->cancel, &value, error))
    return NULL;
  return g_strdup_printf ("(%s) = (%s)", names->str, value);
}

gboolean
autocdc_check_snapshot (AutoCdcWork *work, GError **error)
{
  g_autofree char *key = NULL, *count = NULL;
  gint64 n_twice;

  if (!autocdc_work_make (work, "twice", "SELECT {K} FROM {events} GROUP BY {K} HAVING count(*) > 1", &n_twice, error))
    return FALSE;
  if (n_twice == 0)
    return TRUE;
  if (!(key = first_twice (work, error)))
    return FALSE;
  count = g_strdup_printf ("%" G_GINT64_FORMAT, n_twice);
  base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_DUPLICATE_KEY_VIOLATION,
                  "flow %s into %s: %s keys occur more than once in the snapshot of version %s, such as %s",
                  work->plan->name, work->plan->target, count, work->snapshot->version.text, key);
  base_error_add_param (error, "count", count);
  base_error_add_param (error, "key", key);
  base_error_add_param (error, "flowName", work->plan->name);
  base_error_set_hint (error, "nothing was written; the next snapshot without such keys goes on");
  return FALSE;
}

/* ---- comparison ---- */

static void
set_comparison (AutoCdcWork *work)
{
  g_autoptr (GString) same = g_string_new ("true"), keys = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    g_string_append (same, " AND ");
    autocdc_append_same (work, same, i, "r", "n");
  }
  for (guint i = 0; i < work->plan->keys->len; i++)
    g_string_append_printf (keys, "%scoalesce(n.k%u, r.k%u) AS k%u", i ? ", " : "", i, i, i);
  autocdc_work_take (work, "same values", g_steal_pointer (&same));
  autocdc_work_take (work, "either keys", g_steal_pointer (&keys));
}

/* {reduced}: an upsert for every key that is new or another, a delete for every key that is gone. Statements may have left a key with
 * several open rows: it always counts as another. */
static gboolean
find_changes (AutoCdcWork *work, gboolean any_open, GError **error)
{
  autocdc_set_event_values (work);
  if (!any_open)
    return autocdc_work_make (work, "reduced", "SELECT {K:e}, e.s, e.o, e.d{event values} FROM {events} e",
                              &work->n_changes, error);
  set_comparison (work);
  autocdc_work_set (work, "or several", work->has_statements ? " OR r.n > 1" : "");
  if (work->has_statements)
    autocdc_work_define (work, "open", "SELECT DISTINCT ON ({K}) *, count(*) OVER (PARTITION BY {K}) AS n FROM {open}");
  return autocdc_work_make (work, "reduced",
                            "SELECT {either keys}, {version} AS s, {version order} AS o, n.k0 IS NULL AS d{V:n} FROM"
                            " (SELECT {K:e}{event values} FROM {events} e) n FULL JOIN {open} r ON {J:r,n}"
                            " WHERE n.k0 IS NULL OR r.k0 IS NULL OR NOT ({same values}){or several}",
                            &work->n_changes, error);
}

gboolean
autocdc_compare_snapshot (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  g_autofree char *version = autocdc_version_literal (&work->snapshot->version);
  g_autofree char *order = relation_order_key (version, work->plan->sequence_type);
  gboolean any_open;

  work->n_add = 0;
  autocdc_work_set (work, "version", version);
  autocdc_work_set (work, "version order", order);
  if (!autocdc_define_open_rows (work, snapshot, &any_open, error) || !find_changes (work, any_open, error))
    return FALSE;
  autocdc_work_define (work, "reduced", "SELECT *, CASE WHEN d THEN ''::BLOB ELSE {batch set} END AS b FROM {reduced}");
  autocdc_work_set (work, "batch", g_hash_table_lookup (work->pieces, "reduced"));
  autocdc_work_set (work, "keys", g_hash_table_lookup (work->pieces, "reduced"));
  return work->n_changes == 0 || autocdc_look_up (work, snapshot, error);
}

/* ---- one snapshot after another ---- */

void
autocdc_snapshot_clear (AutoCdcSnapshot *snapshot)
{
  relation_plan_unref (snapshot->plan);
  autocdc_version_clear (&snapshot->version);
  *snapshot = (AutoCdcSnapshot){ 0 };
}

typedef struct {
  DeltaTable *target;
  const AutoCdcFlow *flow;
  const BaseType *declared;
  AutoCdcSnapshots *snapshots;
  const RelationContext *context;
  BaseCancel *cancel;
} Run;

static void
take_rows_read (RelationText *text, gpointer data)
{
  AutoCdcSnapshots *snapshots = data;

  if (snapshots->rows_read)
    snapshots->rows_read (snapshots, text);
}

static gboolean
apply_one (const Run *run, const AutoCdcSnapshot *snapshot, DeltaSnapshot *target, AutoCdcOutcome *outcome,
           GError **error)
{
  AutoCdcFlow flow = *run->flow;
  AutoCdcBatch batch = {
    .clock_us = snapshot->read_us, .retention_seconds = -1, .events_read = take_rows_read, .data = run->snapshots
  };
  g_autoptr (AutoCdcPlan) plan = NULL;

  flow.version_type = snapshot->version.type;
  plan = autocdc_plan_new (&flow, snapshot->plan, target, run->declared, run->context, error);
  return plan &&
         autocdc_apply_snapshot (run->target, plan, snapshot, &batch, run->context, run->cancel, outcome, error);
}

/* Asks for one snapshot and does what follows. @more: (out): ask again. */
static gboolean
step (const Run *run, gboolean is_first, gboolean *more, GError **error)
{
  g_autoptr (DeltaSnapshot) target = delta_table_snapshot (run->target, run->cancel, error);
  g_auto (AutoCdcVersion) last = { 0 };
  g_auto (AutoCdcSnapshot) snapshot = { 0 };
  AutoCdcSnapshotDone done = { 0 };
  gboolean above = TRUE;

  *more = FALSE;
  if (!target || !autocdc_last_version (target, &last, error) ||
      !run->snapshots->next (run->snapshots, last.text ? &last : NULL, &snapshot, error))
    return FALSE;
  if (!snapshot.plan) {
    if (!is_first || last.text)
      return TRUE;
    base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_FIRST_SNAPSHOT_EMPTY,
                    "flow %s has no first snapshot to begin with", autocdc_flow_name (run->flow));
    base_error_add_param (error, "flowName", autocdc_flow_name (run->flow));
    base_error_set_hint (error, "the version query of the first call must give a row: load the first snapshot, or look "
                                "at the query's conditions for last_snapshot_version(), which is no row then");
    return FALSE;
  }
  if (!snapshot.version.text) {
    base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_INVALID_TUPLE_NULL_SNAPSHOT_VERSION,
                    "the version of a snapshot of flow %s is NULL", autocdc_flow_name (run->flow));
    base_error_add_param (error, "flowName", autocdc_flow_name (run->flow));
    base_error_set_hint (error,
                         "where there is no next snapshot the version query gives no row: HAVING count(*) > 0, or "
                         "a condition on the value");
    return FALSE;
  }
  /* Another type is refused by the plan. */
  if (last.text && base_type_equal (last.type, snapshot.version.type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY) &&
      !autocdc_version_is_above (&snapshot.version, &last, run->context->session, run->cancel, &above, error))
    return FALSE;
  done.version = &snapshot.version;
  done.last = last.text ? &last : NULL;
  done.read_us = snapshot.read_us;
  if (above && !apply_one (run, &snapshot, target, &done.outcome, error))
    return FALSE;
  above = above && !done.outcome.already_done;
  done.skipped = !above;
  done.unchanged = above && snapshot.only_changes && done.outcome.n_upserted_rows + done.outcome.n_deleted_rows == 0;
  *more = above;
  return !run->snapshots->done || run->snapshots->done (run->snapshots, &done, error);
}

gboolean
autocdc_apply_snapshots (DeltaTable *target, const AutoCdcFlow *flow, const BaseType *declared,
                         AutoCdcSnapshots *snapshots, const RelationContext *context, BaseCancel *cancel,
                         GError **error)
{
  Run run = { target, flow, declared, snapshots, context, cancel };
  gboolean more = TRUE;

  for (gboolean is_first = TRUE; more; is_first = FALSE)
    if (!base_cancel_check (cancel, error) || !step (&run, is_first, &more, error))
      return FALSE;
  return TRUE;
}

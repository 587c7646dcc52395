/* TRUNCATE (autocdc.md §5.5): a delete of every key, known or unknown, at its sequence.
 *
 * Only the newest one of the target counts, and the domain holds it: facts below it are void wherever they are found. The batch that
 * brings it also clears the rows whose fact is below it. Of these it reads the hidden sequence alone; a file in which no row
 * stands and no row was looked up goes whole, unread but for its statistics. Where a key has upserts in state files its row may have to
 * stay or to change instead, so such keys go the general way together with those of the batch.
 */
#include "autocdc-value-private.h"
#include "autocdc-work-private.h"
#include "base-error.h"
#include "relation-plan.h"

gboolean
autocdc_take_truncates (AutoCdcWork *work, GError **error)
{
  g_autofree char *sql = NULL;
  g_autoptr (DuckResult) result = NULL;
  const DuckChunk *chunk;

  if (!work->plan->truncates)
    return TRUE;
  sql = autocdc_work_text (work, "SELECT s FROM {events} WHERE t ORDER BY o DESC LIMIT 1");
  result = duck_session_query_materialized (work->session, sql, work->cancel, error);
  if (!result || !duck_result_next (result, &chunk, error))
    return FALSE;
  if (!chunk || chunk->n_rows == 0)
    return TRUE;
  work->truncate = autocdc_value_json (&chunk->columns[0], 0, work->plan->sequence_type);
  return autocdc_work_make (work, "truncates", "SELECT o FROM {events} WHERE t", NULL, error) &&
         autocdc_work_make (work, "events", "SELECT * FROM {events} WHERE NOT t", &work->n_events, error);
}

/* The pieces `<name>` and `<name> order`: a truncate's sequence and its order key. */
static void
set_truncate (AutoCdcWork *work, const char *name, const json_t *truncate)
{
  const BaseType *type = work->plan->sequence_type;
  g_autoptr (GString) literal = g_string_new (NULL);
  g_autofree char *order = NULL, *order_name = g_strconcat (name, " order", NULL);

  if (truncate) {
    autocdc_value_print (truncate, type, literal);
    order = relation_order_key (literal->str, type);
  }
  autocdc_work_set (work, order_name, order ? order : "NULL");
  autocdc_work_set (work, name, order ? literal->str : "NULL");
}

void
autocdc_set_truncate (AutoCdcWork *work)
{
  work->clears = FALSE;
  work->n_cleared = work->n_cleared_rows = 0;
  g_ptr_array_set_size (work->cleared_files, 0);
  set_truncate (work, "known truncate", work->layout->domain->truncate);
  set_truncate (work, "truncate", work->layout->domain->truncate);
}

gboolean
autocdc_hear_truncates (AutoCdcWork *work, GError **error)
{
  AutoCdcDomain *domain = work->layout->domain;
  gint64 is_newer = 1;

  if (!work->truncate)
    return TRUE;
  set_truncate (work, "truncate", work->truncate);
  if (domain->truncate &&
      !autocdc_work_count (work, "SELECT ({truncate order} > {known truncate order})::BIGINT", &is_newer, error))
    return FALSE;
  work->clears = is_newer != 0;
  if (work->clears) {
    json_decref (domain->truncate);
    domain->truncate = json_incref (work->truncate);
  }
  set_truncate (work, "truncate", domain->truncate);
  return TRUE;
}

gboolean
autocdc_add_truncated_keys (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  GPtrArray *files = work->layout->domain->files;
  g_autoptr (GString) scan = g_string_new (NULL);
  gint64 n_standing;

  if (files->len == 0)
    return TRUE;
  if (!autocdc_append_state_scan (work, delta_snapshot_table (snapshot), files, scan, error))
    return FALSE;
  autocdc_work_take (work, "old facts", g_steal_pointer (&scan));
  if (!autocdc_work_count (work, "SELECT count(*) FROM ({old facts}) WHERE {T:o}", &n_standing, error) ||
      !autocdc_work_make (work, "upserts",
                          "SELECT {K}, coalesce(bool_or({T:o}), false) AS above FROM ({old facts}) WHERE NOT d"
                          " GROUP BY {K}",
                          NULL, error))
    return FALSE;
  autocdc_work_define (work, "keys", "SELECT {K} FROM {upserts} WHERE NOT above");
  if (!autocdc_look_up_rows (work, snapshot, "old", FALSE, error) ||
      !autocdc_work_make (work, "keys",
                          "SELECT {K} FROM {best} UNION SELECT {K} FROM {upserts} WHERE above"
                          " UNION SELECT {K} FROM {old} WHERE {T:ho}",
                          NULL, error))
    return FALSE;
  if (n_standing == 0)
    g_ptr_array_set_size (files, 0);
  return TRUE;
}

/* ---- rows of other keys ---- */

/* For each file of the scan whether a row in it stands or was looked up. Returns: (transfer full): an array of gboolean. */
static gboolean *
files_in_use (AutoCdcWork *work, GError **error)
{
  g_autofree char *sql = NULL;
  g_autoptr (GArray) indexes = NULL;
  g_autofree gboolean *in_use = g_new0 (gboolean, delta_scan_n_files (work->scan) + 1);

  autocdc_work_set (work, "scan", delta_scan_sql (work->scan));
  sql = autocdc_work_text (work, "SELECT DISTINCT t.fi FROM ({scan}) t WHERE {O:t.hs} >= {truncate order}"
                                 " UNION SELECT DISTINCT fi FROM {rows}");
  if (!(indexes = duck_session_query_int64s (work->session, sql, work->cancel, error)))
    return NULL;
  for (guint i = 0; i < indexes->len; i++)
    in_use[g_array_index (indexes, gint64, i)] = TRUE;
  return g_steal_pointer (&in_use);
}

gboolean
autocdc_find_cleared (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  g_autoptr (GArray) inputs = autocdc_inputs_new ();
  g_autofree gboolean *in_use = NULL;
  g_autoptr (DeltaScan) scan = NULL;
  gint64 n_rows = 0;

  if (!work->has_rows)
    return TRUE;
  if (!(in_use = files_in_use (work, error)))
    return FALSE;
  for (guint i = 0; i < delta_scan_n_files (work->scan); i++) {
    DeltaFile *file = delta_scan_file (work->scan, i);
    gint64 n = delta_file_n_live_records (file);

    if (in_use[i] || n < 0) {
      autocdc_inputs_add (inputs, work->scan, i);
      continue;
    }
    g_ptr_array_add (work->cleared_files, delta_file_ref (file));
    work->n_cleared += n;
  }
  if (inputs->len > 0) {
    if (!(scan = autocdc_scan_rows (work, snapshot, FALSE, inputs, error)))
      return FALSE;
    autocdc_work_set (work, "scan", delta_scan_sql (scan));
    if (!autocdc_work_make (work, "cleared",
                            "SELECT t.place AS fi, t.rn FROM ({scan}) t ANTI JOIN {rows} r ON r.fi = t.place AND"
                            " r.rn = t.rn WHERE ({O:t.hs} >= {truncate order}) IS NOT TRUE",
                            &n_rows, error))
      return FALSE;
  }
  work->n_cleared += n_rows;
  work->n_cleared_rows = n_rows;
  return TRUE;
}

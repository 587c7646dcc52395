/* What a statement on the target leaves in its memory. See autocdc-dml.h.
 *
 *   {added}    the statement's rows, as it gave them: c<i> and what its flags say
 *   {removed}  k of the rows that it deleted
 *   {keys}     the keys of both
 *   {old}      their rows before, SCD 1
 *   {newest}   k, s: the newest sequence known, SCD 1
 *
 * The target's own columns stand for a source's, so that layout, look-up and state files are those of a batch.
 */
#include "autocdc-dml.h"

#include "autocdc-state-private.h"
#include "base-error.h"
#include "base-text.h"
#include "delta-metadata.h"

struct AutoCdcDml {
  AutoCdcWork *work;
  AutoCdcBatch batch;
  RelationContext context;
  DeltaSnapshot *snapshot;
  BaseType *binary, *integer;
  WriteHiddenColumn hidden[AUTOCDC_MAX_HIDDEN];
};

void
autocdc_dml_free (AutoCdcDml *dml)
{
  if (!dml)
    return;
  autocdc_work_free (dml->work);
  g_clear_pointer (&dml->snapshot, delta_snapshot_unref);
  base_type_unref (dml->binary);
  base_type_unref (dml->integer);
  g_free (dml);
}

AutoCdcDml *
autocdc_dml_new (DeltaSnapshot *snapshot, const char *name, const RelationContext *context, gint64 clock_us,
                 BaseCancel *cancel, GError **error)
{
  g_autoptr (AutoCdcPlan) plan = autocdc_plan_of_target (snapshot, name, error);
  g_autoptr (AutoCdcDml) dml = NULL;
  AutoCdcLayout *layout = plan ? autocdc_layout_new (plan, snapshot, error) : NULL;

  if (!layout)
    return NULL;
  dml = g_new0 (AutoCdcDml, 1);
  dml->context = *context;
  dml->snapshot = delta_snapshot_ref (snapshot);
  dml->batch = (AutoCdcBatch){ .clock_us = clock_us, .retention_seconds = -1 };
  dml->work = autocdc_work_new (plan, &dml->batch, &dml->context, cancel);
  autocdc_work_set_layout (dml->work, layout);
  dml->work->tracks_rows = delta_metadata_row_tracking (delta_snapshot_metadata (snapshot));
  dml->binary = base_type_simple (BASE_TYPE_BINARY);
  dml->integer = base_type_simple (BASE_TYPE_LONG);
  return g_steal_pointer (&dml);
}

void
autocdc_dml_begin (AutoCdcDml *dml, WriteOptions *options)
{
  AutoCdcDomain *domain = dml->work->layout->domain;

  autocdc_domain_begin_statement (domain);
  dml->work->has_statements = TRUE;
  options->hidden = dml->hidden;
  options->n_hidden = autocdc_hidden_columns (domain, dml->binary, dml->integer, dml->hidden);
}

/* ---- what the statement does ---- */

/* The pieces `added keys` (c3 AS k0, …) and `added values`. */
static void
set_added_columns (AutoCdcWork *work)
{
  const AutoCdcLayout *layout = work->layout;
  g_autoptr (GString) keys = g_string_new (NULL), values = g_string_new (NULL), all = g_string_new (NULL);

  for (guint i = 0; i < layout->key_columns->len; i++)
    g_string_append_printf (keys, "%sc%u AS k%u", i ? ", " : "", g_array_index (layout->key_columns, guint, i), i);
  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);
    g_autofree char *column = g_strdup_printf ("c%u", field->column);

    g_string_append (values, ", ");
    autocdc_append_field (values, field, column, base_type_field (layout->schema, field->column)->type);
    g_string_append_printf (values, " AS v%u", i);
  }
  for (guint i = 0; i < base_type_n_fields (layout->schema); i++)
    g_string_append_printf (all, "%sn.c%u", i ? ", " : "", i);
  autocdc_work_take (work, "added keys", g_steal_pointer (&keys));
  autocdc_work_take (work, "added values", g_steal_pointer (&values));
  autocdc_work_take (work, "added columns", g_steal_pointer (&all));
}

static gboolean
collect (AutoCdcDml *dml, WriteBatch *write, const char *rows, gint64 *n_added, gint64 *n_removed, GError **error)
{
  AutoCdcWork *work = dml->work;
  const GArray *columns = work->layout->key_columns;

  set_added_columns (work);
  if (!write_batch_deleted (write, "autocdc_removed_keys", (const guint *) (gconstpointer) columns->data, columns->len,
                            error) ||
      !autocdc_work_make (work, "removed", "SELECT {added keys} FROM autocdc_removed_keys", n_removed, error) ||
      !duck_session_execute (work->session, "DROP TABLE temp.autocdc_removed_keys", work->cancel, error))
    return FALSE;
  if (!rows) {
    *n_added = 0;
    autocdc_work_define (work, "added key rows", "SELECT * FROM {removed} WHERE false");
  } else {
    autocdc_work_set (work, "source", rows);
    if (!autocdc_work_make_once (work, "added", "FROM ({source})", n_added, error))
      return FALSE;
    autocdc_work_define (work, "added key rows", "SELECT {added keys} FROM {added}");
  }
  return autocdc_work_make (work, "keys", "SELECT * FROM {removed} UNION SELECT * FROM {added key rows}", NULL, error);
}

static gboolean
refuse_nulls (AutoCdcWork *work, GError **error)
{
  const AutoCdcLayout *layout = work->layout;
  gboolean history = autocdc_interval_columns (work->plan->type, NULL) > 0;
  guint n_keys = layout->key_columns->len;
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  g_autofree gint64 *n_nulls = g_new0 (gint64, n_keys + 1);

  for (guint i = 0; i < n_keys; i++)
    g_string_append_printf (
        sql, autocdc_key_may_be_empty (layout, i) ? "count(*) - count(c%u), " : "count(*) - count(nullif(c%u, '')), ",
        g_array_index (layout->key_columns, guint, i));
  if (history)
    g_string_append_printf (sql, "count(*) - count(c%u)", layout->intervals[0]);
  else
    g_string_append (sql, "0::BIGINT");
  g_string_append (sql, " FROM {added}");
  if (!autocdc_work_numbers (work, sql->str, n_nulls, n_keys + 1, error))
    return FALSE;
  for (guint i = 0; i < n_keys; i++) {
    if (n_nulls[i] == 0)
      continue;
    base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_KEY,
                    "%" G_GINT64_FORMAT " rows for %s, the target of an AUTO CDC flow, have no value in its key %s.",
                    n_nulls[i], work->plan->target, (char *) layout->domain->keys->pdata[i]);
    base_error_set_hint (error, autocdc_key_may_be_empty (layout, i)
                                    ? "every row of a target has its key"
                                    : "every row of a target has its key; an empty one is NULL in a partition column");
    return FALSE;
  }
  if (n_nulls[n_keys] == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_SEQUENCE,
                  "%" G_GINT64_FORMAT " rows for %s, which keeps history (SCD TYPE 2), have no value in __START_AT.",
                  n_nulls[n_keys], work->plan->target);
  base_error_set_hint (error,
                       "who writes rows says when they begin: a value, and NULL in __END_AT for a row that is current");
  return FALSE;
}

/* ---- memory ---- */

/* The pieces `no sequence` and `order`: what a fact without sequences has for them, and the order key of the second one. */
static void
set_no_sequence (AutoCdcWork *work)
{
  gboolean has_system = work->plan->system_type != NULL;
  g_autofree char *none = autocdc_work_text (work, has_system ? "NULL::{S} AS s, NULL::{Z} AS y" : "NULL::{S} AS s");
  g_autofree char *order = autocdc_work_text (work, has_system ? ", {P:y} AS p" : "");

  autocdc_work_set (work, "no sequence", none);
  autocdc_work_set (work, "order", order);
}

/* {reduced} and {batch}, for shape: no event has any of {keys}. */
static void
define_no_events (AutoCdcWork *work)
{
  autocdc_work_define (work, "reduced",
                       "SELECT *, {O:s} AS o{order}, false AS d, ''::BLOB AS b{no values} FROM (SELECT *, {no sequence}"
                       " FROM {keys}) WHERE false");
  autocdc_work_set (work, "batch", g_hash_table_lookup (work->pieces, "reduced"));
}

/* SCD 1: {newest}, and a delete there for every key that is left without a row. */
static gboolean
find_newest (AutoCdcDml *dml, GError **error)
{
  AutoCdcWork *work = dml->work;

  define_no_events (work);
  return autocdc_look_up_rows (work, dml->snapshot, "old", FALSE, error) &&
         autocdc_look_up_state (work, delta_snapshot_table (dml->snapshot), error) &&
         autocdc_work_make (work, "newest",
                            "SELECT {K}, arg_max(s, o) AS s FROM (SELECT {K}, hs AS s, ho AS o FROM {old}"
                            " WHERE hb IS NOT NULL AND {T:ho} UNION ALL SELECT {K}, s, o FROM {state}) GROUP BY {K}",
                            NULL, error) &&
         autocdc_work_make (
             work, "add",
             "SELECT {K:r}, q.s, {O:q.s} AS o, true AS d, ''::BLOB AS b{no values}, {clock} AS w, {gen} AS g"
             " FROM (SELECT {K}, count(*) AS n FROM {removed} GROUP BY {K}) r"
             " JOIN (SELECT {K}, count(*) AS n FROM {old} GROUP BY {K}) t ON {J:r,t} AND t.n <= r.n"
             " JOIN {newest} q ON {J:r,q} AND q.s IS NOT NULL ANTI JOIN {added key rows} a ON {J:r,a}",
             &work->n_add, error);
}

/* Not SCD 1: a reset for every key. */
static gboolean
find_resets (AutoCdcWork *work, GError **error)
{
  return autocdc_work_make (
      work, "add",
      "SELECT *, {O:s} AS o{order}, false AS d, {batch set} AS b{no values}, {clock} AS w, {gen} AS g"
      " FROM (SELECT {K}, {no sequence} FROM {keys})",
      &work->n_add, error);
}

/* Bitemporal: what a row says of one belief follows from all events of its key, so a key goes whole or not at all. */
static gboolean
refuse_changed_keys (AutoCdcDml *dml, gint64 n_added, GError **error)
{
  AutoCdcWork *work = dml->work;
  gint64 n_left = 0;

  define_no_events (work);
  if (n_added == 0 &&
      (!autocdc_look_up_rows (work, dml->snapshot, "old", FALSE, error) ||
       !autocdc_work_numbers (work,
                              "SELECT count(*) FROM (SELECT {K}, count(*) AS n FROM {old} GROUP BY {K}) t"
                              " JOIN (SELECT {K}, count(*) AS n FROM {removed} GROUP BY {K}) r"
                              " ON {J:t,r} AND t.n > r.n",
                              &n_left, 1, error)))
    return FALSE;
  if (n_added + n_left == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_AUTOCDC_BITEMPORAL_STATEMENT,
                  "%s is the target of a bitemporal AUTO CDC flow: a statement may delete all rows of a key and "
                  "nothing else",
                  work->plan->target);
  base_error_set_hint (error, n_added > 0 ? "a correction is an event with a later system sequence"
                                          : "the condition of the DELETE names whole keys");
  return FALSE;
}

/* {add}: what later events must know. Later snapshots find the rows themselves. */
static gboolean
remember (AutoCdcDml *dml, GError **error)
{
  AutoCdcWork *work = dml->work;

  if (work->layout->domain->of_snapshots)
    return TRUE;
  return work->plan->type == AUTOCDC_SCD1 ? find_newest (dml, error) : find_resets (work, error);
}

static gboolean
stage_rows (AutoCdcWork *work, WriteBatch *write, WriteRowsFlags flags, guint64 *n_rows, GError **error)
{
  g_autoptr (GString) hash = g_string_new (NULL), start = g_string_new (NULL), more = g_string_new (NULL);
  g_autofree char *rows = NULL;

  if (work->plan->type == AUTOCDC_SCD2)
    g_string_append_printf (start, "n.c%u", work->layout->intervals[0]);
  else
    g_string_append_printf (start, "coalesce(q.s, %s)", (char *) g_hash_table_lookup (work->pieces, "truncate"));
  if (flags & WRITE_ROWS_ROW_ID)
    g_string_append (more, ", n.row_id");
  if (flags & WRITE_ROWS_ROW_COMMIT_VERSION)
    g_string_append (more, ", n.row_commit_version");
  if (flags & WRITE_ROWS_CHANGE_TYPE)
    g_string_append (more, ", n._change_type");
  autocdc_append_hash (work, hash, "n");
  autocdc_work_take (work, "hash", g_steal_pointer (&hash));
  autocdc_work_take (work, "start", g_steal_pointer (&start));
  autocdc_work_take (work, "more", g_steal_pointer (&more));
  autocdc_work_set (work, "sequences", "");
  if (work->plan->type == AUTOCDC_SCD1 && !work->layout->domain->of_snapshots) {
    g_autofree char *sequences = autocdc_work_text (work, " LEFT JOIN {newest} q ON {J:n,q}");

    autocdc_work_set (work, "sequences", sequences);
  }
  autocdc_work_set (work, "hidden", "");
  if (!work->layout->domain->of_snapshots) {
    g_autofree char *hidden = autocdc_work_text (work, ", {start} AS h0, {batch set} AS h1, {hash} AS h2, {gen} AS h3");

    autocdc_work_set (work, "hidden", hidden);
  }
  rows = autocdc_work_text (
      work,
      "SELECT {added columns}{hidden}{more} FROM (SELECT *, {added keys}{added values} FROM {added}) n{sequences}");
  return write_batch_rows (write, rows, flags, n_rows, error);
}

gboolean
autocdc_dml_write (AutoCdcDml *dml, WriteBatch *write, const char *rows, WriteRowsFlags flags, guint64 *n_rows,
                   GError **error)
{
  AutoCdcWork *work = dml->work;
  g_autofree char *gen = g_strdup_printf ("%" G_GINT64_FORMAT "::BIGINT", work->layout->domain->gen);
  gint64 n_added, n_removed, n_expired;

  if (n_rows)
    *n_rows = 0;
  if (!collect (dml, write, rows, &n_added, &n_removed, error))
    return FALSE;
  if (n_added + n_removed == 0)
    return TRUE;
  autocdc_work_set (work, "gen", gen);
  autocdc_set_no_values (work);
  set_no_sequence (work);
  if ((work->plan->type == AUTOCDC_BITEMPORAL && !refuse_changed_keys (dml, n_added, error)) ||
      (n_added > 0 && !refuse_nulls (work, error)) || !remember (dml, error) ||
      (n_added > 0 && !stage_rows (work, write, flags, n_rows, error)) ||
      !autocdc_state_write (work, write, dml->snapshot, work->n_add, &n_expired, error))
    return FALSE;
  autocdc_put_domain (work->layout, write);
  return TRUE;
}

/* ---- REORG ---- */

/* SCD 1: of a key with several rows the oldest, which needs of the memory what any of them does: the others are of statements, and say all
 * fields. */
static gboolean
keep_oldest_rows (AutoCdcWork *work, GError **error)
{
  return autocdc_work_make (work, "rows",
                            "SELECT * FROM {rows} QUALIFY row_number() OVER (PARTITION BY {K}"
                            " ORDER BY ho NULLS FIRST, hg, ix) = 1",
                            NULL, error);
}

/* {add}: of the facts in state files what is needed. A reset whose key has no row from before it has nothing to say any more: what it
 * made void is left out here. */
static gboolean
find_needed (AutoCdcDml *dml, GError **error)
{
  AutoCdcWork *work = dml->work;
  gboolean history = work->plan->type != AUTOCDC_SCD1, holds = autocdc_rows_hold (work->plan);
  g_autofree char *resets = NULL;

  autocdc_work_set (work, "resets kept", "");
  if (!autocdc_look_up_state (work, delta_snapshot_table (dml->snapshot), error) ||
      (holds && !autocdc_look_up_rows (work, dml->snapshot, "rows", TRUE, error)) ||
      (!history && work->has_statements && !keep_oldest_rows (work, error)) ||
      !autocdc_unite_facts (work, dml->snapshot, error) || (!history && !autocdc_scd1_compute (work, error)))
    return FALSE;
  if (history && holds && work->has_statements) { /* they say what the key's rows hold */
    resets = autocdc_work_text (work, " UNION ALL SELECT {K}, s, {O:s} AS o, false, rb{no values}, {clock}, rg"
                                      " FROM (SELECT q.*, NULL::{S} AS s FROM {resets} q WHERE"
                                      " EXISTS (SELECT 1 FROM {rows} r WHERE {J:r,q} AND r.hg < q.rg))");
    autocdc_work_set (work, "resets kept", resets);
  }
  if (history)
    autocdc_work_set (work, "need", g_hash_table_lookup (work->pieces, "facts"));
  return autocdc_work_make (work, "add",
                            "SELECT {K:f}, f.s, {O:f.s} AS o{Y:f}, f.d, f.b{V:f}, coalesce(f.w, {clock}) AS w, f.g"
                            " FROM {need} f WHERE f.src <> 1"
                            "{resets kept}",
                            &work->n_add, error);
}

gboolean
autocdc_dml_purge (AutoCdcDml *dml, WriteBatch *write, gboolean *changed, GError **error)
{
  AutoCdcWork *work = dml->work;
  GPtrArray *files = work->layout->domain->files;
  g_autoptr (GString) scan = g_string_new (NULL);
  gint64 n_before = 0, n_expired;

  *changed = FALSE;
  if (files->len == 0)
    return TRUE;
  for (guint i = 0; i < files->len; i++)
    n_before += ((AutoCdcStateFile *) files->pdata[i])->n_rows;
  if (!autocdc_append_state_scan (work, delta_snapshot_table (dml->snapshot), files, scan, error))
    return FALSE;
  autocdc_work_take (work, "old facts", g_steal_pointer (&scan));
  autocdc_set_no_values (work);
  set_no_sequence (work);
  if (!autocdc_work_make (work, "keys", "SELECT DISTINCT {K} FROM ({old facts})", NULL, error))
    return FALSE;
  define_no_events (work);
  dml->batch.retention_seconds = work->layout->domain->retention_seconds;
  if (!find_needed (dml, error) || !autocdc_state_expire (work, dml->snapshot, &work->n_add, error))
    return FALSE;
  *changed = files->len > 1 || work->n_add < n_before;
  if (!*changed)
    return TRUE;
  g_ptr_array_set_size (files, 0);
  if (!autocdc_state_write (work, write, dml->snapshot, work->n_add, &n_expired, error))
    return FALSE;
  autocdc_put_domain (work->layout, write);
  return TRUE;
}

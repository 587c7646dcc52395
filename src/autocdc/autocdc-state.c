/* State files: facts in Parquet below `_autocdc/`, named by the domain.
 *
 * Columns: k<j> the keys, seq, system (bitemporal), kind (0 upsert, 1 delete, 2 reset), set (bits over the domain's
 * fields; empty for a delete), f<i> the value of field i (absent in files older than the field), written (µs), gen of
 * the statement (0: an event). Files only ever add facts. When eight of about one size are there they become one (size
 * tiers, fan-out 8); what is surely not needed any more stays behind.
 */
#include "autocdc-state-private.h"
#include "base-error.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "duck-path.h"
#include "duck-type.h"
#include "store.h"

#define FAN_OUT   8
#define TIER_ROWS 1000

guint
autocdc_hidden_columns (const AutoCdcDomain *domain, const BaseType *binary, const BaseType *integer,
                        WriteHiddenColumn *hidden)
{
  if (!autocdc_domain_hides (domain))
    return 0;
  hidden[0] = (WriteHiddenColumn){ domain->hidden_sequence, domain->sequence_type };
  hidden[1] = (WriteHiddenColumn){ domain->hidden_set, binary };
  hidden[2] = (WriteHiddenColumn){ domain->hidden_hash, integer };
  hidden[3] = (WriteHiddenColumn){ domain->hidden_gen, integer };
  return domain->hidden_gen ? 4 : 3;
}

static void
append_schema_entry (GString *out, const char *name, const char *type)
{
  g_autofree char *literal = base_text_sql_literal (type);

  g_string_append_printf (out, "%s'%s': {name: '%s', type: %s, default_value: NULL}",
                          g_str_has_suffix (out->str, "{") ? "" : ", ", name, name, literal);
}

static void
append_schema (AutoCdcWork *work, GString *out)
{
  g_autofree char *sequence = duck_type_text (work->plan->sequence_type);

  g_string_append (out, "schema = MAP {");
  for (guint i = 0; i < work->plan->keys->len; i++) {
    const AutoCdcColumn *key = work->plan->columns->pdata[g_array_index (work->plan->keys, guint, i)];
    g_autofree char *name = g_strdup_printf ("k%u", i), *type = duck_type_text (key->type);

    append_schema_entry (out, name, type);
  }
  append_schema_entry (out, "seq", sequence);
  if (work->plan->system_type) {
    g_autofree char *system = duck_type_text (work->plan->system_type);

    append_schema_entry (out, "system", system);
  }
  append_schema_entry (out, "kind", "TINYINT");
  append_schema_entry (out, "set", "BLOB");
  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    g_autofree char *name = g_strdup_printf ("f%u", i), *type = duck_type_text (autocdc_work_field (work, i)->type);

    append_schema_entry (out, name, type);
  }
  append_schema_entry (out, "written", "BIGINT");
  append_schema_entry (out, "gen", "BIGINT");
  g_string_append_c (out, '}');
}

gboolean
autocdc_append_state_scan (AutoCdcWork *work, DeltaTable *table, GPtrArray *files, GString *out, GError **error)
{
  g_autoptr (GString) values = g_string_new (NULL);
  g_autofree char *columns = NULL;
  gint64 n_rows = 0;

  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    g_string_append_printf (values, ", f%u AS v%u", i, i);
  autocdc_work_take (work, "state values", g_steal_pointer (&values));
  columns = autocdc_work_text (
      work, work->plan->system_type ? "SELECT {K}, seq AS s, {O:seq} AS o, system AS y, {P:system} AS p, kind = 1"
                                      " AS d, \"set\" AS b{state values}, written AS w, gen AS g FROM read_parquet(["
                                    : "SELECT {K}, seq AS s, {O:seq} AS o, kind = 1 AS d, \"set\" AS b{state values},"
                                      " written AS w, gen AS g FROM read_parquet([");
  g_string_append (out, columns);
  for (guint i = 0; i < files->len; i++) {
    const AutoCdcStateFile *file = files->pdata[i];
    g_autofree char *path = store_local_path (delta_table_store (table), file->path);

    if (!path)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "AUTO CDC keeps its memory on local disks only");
    g_string_append (out, i ? ", " : "");
    duck_path_append (out, path);
    n_rows += file->n_rows;
  }
  g_string_append_printf (out, "], hive_partitioning = false, explicit_cardinality = %" G_GINT64_FORMAT ", ", n_rows);
  append_schema (work, out);
  g_string_append_c (out, ')');
  return TRUE;
}

/* ---- which files become one ---- */

static guint
tier_of (gint64 n_rows)
{
  guint tier = 0;

  for (gint64 limit = TIER_ROWS; n_rows >= limit && tier < 16; limit *= FAN_OUT)
    tier++;
  return tier;
}

static int
compare_sizes (gconstpointer a, gconstpointer b)
{
  const AutoCdcStateFile *x = *(AutoCdcStateFile *const *) a, *y = *(AutoCdcStateFile *const *) b;

  return x->n_rows < y->n_rows ? -1 : x->n_rows > y->n_rows;
}

GPtrArray *
autocdc_state_choose (const GPtrArray *files, gint64 n_new)
{
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  GPtrArray *merge = g_ptr_array_new ();
  gint64 n_rows = n_new;
  guint n = 0;

  for (guint i = 0; i < files->len; i++)
    g_ptr_array_add (sorted, files->pdata[i]);
  g_ptr_array_sort (sorted, compare_sizes);
  while (n < sorted->len) {
    guint end = n, tier = tier_of (n_rows);

    while (end < sorted->len && tier_of (((AutoCdcStateFile *) sorted->pdata[end])->n_rows) <= tier)
      end++;
    if (end - n + 1 < FAN_OUT) {
      if (sorted->len - n < AUTOCDC_MAX_STATE_FILES)
        break;
      end = MAX (end, MIN (n + FAN_OUT, sorted->len));
    }
    for (; n < end; n++) {
      g_ptr_array_add (merge, sorted->pdata[n]);
      n_rows += ((AutoCdcStateFile *) sorted->pdata[n])->n_rows;
    }
  }
  return merge;
}

/* ---- what is not needed any more ---- */

/* What resets of the same files make void; SCD 1: its places among the key's facts. */
static gboolean
drop_void (AutoCdcWork *work, GError **error)
{
  if (!work->has_statements || work->plan->type == AUTOCDC_SCD1)
    return autocdc_rank_facts (work, "merge", error);
  return autocdc_work_make (work, "merge",
                            "SELECT f.* FROM {merge} f WHERE NOT EXISTS (SELECT 1 FROM {merge} q WHERE {J:q,f}"
                            " AND q.s IS NULL AND q.g > f.g)",
                            NULL, error);
}

/* Leaves out of {merge} what other facts of it make idle: SCD 1, what is below a delete, and upserts all of whose
 * fields have newer authors; histories, an upsert at the sequence of a delete. It must go before the delete expires. */
static gboolean
drop_idle (AutoCdcWork *work, GError **error)
{
  gint64 n_idle;

  if (work->plan->type != AUTOCDC_SCD1)
    return autocdc_work_count (work,
                               "SELECT count(*) FROM (SELECT 1 FROM {merge} GROUP BY {K}, {I} HAVING bool_or(d) AND"
                               " NOT bool_and(d))",
                               &n_idle, error) &&
           (n_idle == 0 ||
            autocdc_work_make (work, "merge",
                               "SELECT f.* FROM {merge} f WHERE f.d OR NOT EXISTS (SELECT 1 FROM {merge} q WHERE"
                               " {J:q,f} AND {E:q,f} AND q.d AND q.g >= f.g)",
                               NULL, error));
  if (!work->is_partial)
    return autocdc_work_make (work, "merge",
                              "SELECT f.* FROM {merge} f WHERE NOT EXISTS (SELECT 1 FROM {merge} q WHERE {J:q,f}"
                              " AND q.o > f.o AND (q.d OR (NOT f.d AND q.b = f.b)))",
                              NULL, error);
  g_clear_pointer (&work->authored, g_free); /* was of other facts */
  return autocdc_scd1_find_needed (work, "merge", error) &&
         autocdc_work_make (work, "merge", "SELECT {K}, s, o, d, b{V}, w, g FROM {need}", NULL, error);
}

/* What was written before has expired (autocdc.md §5.8); G_MININT64: nothing has. */
static gint64
expiry (const AutoCdcWork *work)
{
  gint64 seconds = work->batch->retention_seconds;

  if (seconds < 0 || work->plan->type == AUTOCDC_BITEMPORAL || seconds > work->batch->clock_us / G_USEC_PER_SEC)
    return G_MININT64;
  return work->batch->clock_us - seconds * G_USEC_PER_SEC;
}

/* Whether @file may hold an upsert from before @before_us: one that a delete written then made idle, and that would stand again without
 * the delete. (`written` never decreases from one commit to the next.) */
static gboolean
may_hold_idle (const AutoCdcStateFile *file, gint64 before_us)
{
  return file->n_deletes < file->n_rows && file->oldest_us <= before_us;
}

/* Takes files of nothing but expired deletes off the list, unread. Returns: how many facts. */
static gint64
drop_expired_files (AutoCdcWork *work)
{
  GPtrArray *files = work->layout->domain->files;
  gint64 before_us = expiry (work), n_expired = 0;

  for (guint i = files->len; i > 0; i--) {
    const AutoCdcStateFile *file = files->pdata[i - 1];
    gboolean expired = file->n_deletes == file->n_rows && file->newest_us < before_us;

    for (guint j = 0; expired && j < files->len; j++)
      expired = !may_hold_idle (files->pdata[j], file->newest_us);
    if (!expired)
      continue;
    n_expired += file->n_rows;
    g_ptr_array_remove_index (files, i - 1);
  }
  return n_expired;
}

/* {runs} gets rg, the gen of the key's newest reset, below which facts are void. A row from before it holds the upsert at its start. */
static gboolean
hear_resets (AutoCdcWork *work, DeltaSnapshot *snapshot, GPtrArray *merge, GError **error)
{
  GPtrArray *files = work->layout->domain->files;
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  g_autoptr (GString) scan = g_string_new (NULL);

  if (!work->has_statements) {
    autocdc_work_define (work, "runs", "SELECT *, 0::BIGINT AS rg FROM {runs}");
    return TRUE;
  }
  for (guint i = 0; i < files->len; i++)
    if (!g_ptr_array_find (merge, files->pdata[i], NULL))
      g_ptr_array_add (others, files->pdata[i]);
  if (others->len > 0 && !autocdc_append_state_scan (work, delta_snapshot_table (snapshot), others, scan, error))
    return FALSE;
  autocdc_work_take (work, "other facts", g_steal_pointer (&scan));
  autocdc_work_define (work, "resets",
                       others->len > 0 ? "SELECT {K}, g FROM {merge} WHERE s IS NULL UNION ALL"
                                         " SELECT {K}, g FROM ({other facts}) WHERE s IS NULL"
                                       : "SELECT {K}, g FROM {merge} WHERE s IS NULL");
  return autocdc_work_make (work, "runs",
                            "SELECT r.* REPLACE (CASE WHEN r.hg < q.rg THEN r.so ELSE r.ho END AS ho),"
                            " coalesce(q.rg, 0) AS rg FROM {runs} r LEFT JOIN"
                            " (SELECT {K}, max(g) AS rg FROM {resets} GROUP BY {K}) q ON {J:r,q}",
                            NULL, error);
}

/* {expired} gets inner members of runs. In a run, which one row shows, that are the upserts between its start and its
 * end but the first one, and those that have a later one of their set: these author nothing that is shown. Where a
 * column is not tracked members may differ, and the later one must have expired too: a late event behind it would show
 * its values. */
static gboolean
find_inner_members (AutoCdcWork *work, DeltaSnapshot *snapshot, GPtrArray *merge, GError **error)
{
  gint64 n_old;
  gboolean all_tracked = TRUE;

  if (!autocdc_work_make (work, "keys",
                          "SELECT DISTINCT {K} FROM {merge} WHERE NOT d AND s IS NOT NULL AND w < {expiry}", &n_old,
                          error))
    return FALSE;
  if (n_old == 0 || delta_snapshot_n_files (snapshot) == 0)
    return TRUE;
  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    all_tracked = all_tracked && autocdc_work_field (work, i)->tracked;
  autocdc_work_define (work, "later",
                       all_tracked ? "greatest(max(f.o) OVER (PARTITION BY {K:f}, r.so, f.b),"
                                     " CASE WHEN r.hb = f.b THEN r.ho END)"
                                   : "max(CASE WHEN f.w < {expiry} THEN f.o END) OVER (PARTITION BY {K:f}, r.so, f.b)");
  return autocdc_look_up_runs (work, snapshot, "runs", error) && hear_resets (work, snapshot, merge, error) &&
         autocdc_work_make (work, "expired",
                            "SELECT * FROM {expired} UNION ALL SELECT {K}, o, false FROM (SELECT {K:f}, f.o,"
                            " max(f.w) OVER (PARTITION BY {K:f}, f.o) AS written, {later} AS later"
                            " FROM {merge} f JOIN {runs} r ON {J:r,f} AND f.g >= r.rg AND f.o > r.so"
                            " AND (r.eo IS NULL OR f.o < r.eo) WHERE NOT f.d)"
                            " WHERE written < {expiry} AND o < later",
                            NULL, error);
}

/* A delete stays while another file than those of @merge holds an upsert that it makes idle, and so does an inner member while another file
 * holds one of its sequence. */
static gboolean
keep_guards (AutoCdcWork *work, DeltaSnapshot *snapshot, GPtrArray *merge, GError **error)
{
  GPtrArray *files = work->layout->domain->files;
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  g_autoptr (GString) scan = g_string_new (NULL);

  for (guint i = 0; i < files->len; i++)
    if (!g_ptr_array_find (merge, files->pdata[i], NULL) && may_hold_idle (files->pdata[i], expiry (work)))
      g_ptr_array_add (others, files->pdata[i]);
  if (others->len == 0)
    return TRUE;
  if (!autocdc_append_state_scan (work, delta_snapshot_table (snapshot), others, scan, error))
    return FALSE;
  autocdc_work_take (work, "other facts", g_steal_pointer (&scan));
  autocdc_work_set (work, "made idle", work->plan->type == AUTOCDC_SCD1 ? "(u.o IS NULL OR u.o <= f.o)" : "u.o = f.o");
  return autocdc_work_make (work, "expired",
                            "SELECT f.* FROM {expired} f WHERE NOT EXISTS (SELECT 1 FROM ({other facts}) u"
                            " WHERE {J:u,f} AND NOT u.d AND {made idle})",
                            NULL, error);
}

/* Leaves out of {merge} what has expired. */
static gboolean
expire (AutoCdcWork *work, DeltaSnapshot *snapshot, GPtrArray *merge, gint64 *n_expired, GError **error)
{
  g_autofree char *before = g_strdup_printf ("%" G_GINT64_FORMAT "::BIGINT", expiry (work));
  gint64 n_before, n_after, n_found;

  if (expiry (work) == G_MININT64)
    return TRUE;
  autocdc_work_set (work, "expiry", before);
  if (!autocdc_work_make (work, "expired", "SELECT {K}, {O:s} AS o, d FROM {merge} WHERE d AND w < {expiry}", NULL,
                          error) ||
      (work->plan->type != AUTOCDC_SCD1 && !find_inner_members (work, snapshot, merge, error)) ||
      !keep_guards (work, snapshot, merge, error) ||
      !autocdc_work_count (work, "SELECT count(*) FROM {expired}", &n_found, error))
    return FALSE;
  if (n_found == 0)
    return TRUE;
  if (!autocdc_work_count (work, "SELECT count(*) FROM {merge}", &n_before, error) ||
      !autocdc_work_make (work, "merge",
                          "SELECT f.* FROM {merge} f WHERE f.w >= {expiry} OR NOT EXISTS (SELECT 1 FROM {expired} q"
                          " WHERE {J:q,f} AND q.o = {O:f.s} AND q.d = f.d)",
                          &n_after, error))
    return FALSE;
  *n_expired = n_before - n_after;
  return TRUE;
}

gboolean
autocdc_state_expire (AutoCdcWork *work, DeltaSnapshot *snapshot, gint64 *n_add, GError **error)
{
  g_autoptr (GPtrArray) all = g_ptr_array_ref (work->layout->domain->files);
  gint64 n_expired = 0;

  if (!autocdc_work_make (work, "merge", "SELECT * FROM {add}", NULL, error) ||
      !expire (work, snapshot, all, &n_expired, error))
    return FALSE;
  *n_add -= n_expired;
  return n_expired == 0 || autocdc_work_make (work, "add", "SELECT * FROM {merge}", NULL, error);
}

/* ---- writing ---- */

static void
set_fact_columns (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    g_string_append_printf (values, ", v%u AS f%u", i, i);
  autocdc_work_take (work, "fact values", g_steal_pointer (&values));
}

static gboolean
fill_file_facts (AutoCdcWork *work, AutoCdcStateFile *file, GError **error)
{
  gint64 values[3];

  if (!autocdc_work_numbers (work, "SELECT count(*) FILTER (d), min(w), max(w) FROM {written}", values, 3, error))
    return FALSE;
  file->n_deletes = values[0];
  file->oldest_us = values[1];
  file->newest_us = values[2];
  return TRUE;
}

/* {merge}: facts of @merge and of {add} together, one per (key, sequence, set), without what is not needed any more. */
static gboolean
merge_facts (AutoCdcWork *work, DeltaSnapshot *snapshot, GPtrArray *merge, gint64 *n_expired, GError **error)
{
  g_autoptr (GString) scan = g_string_new (NULL);

  if (!autocdc_append_state_scan (work, delta_snapshot_table (snapshot), merge, scan, error))
    return FALSE;
  autocdc_work_take (work, "old facts", g_steal_pointer (&scan));
  /* A copy is made only where something is left out. */
  autocdc_work_define (
      work, "merge", "SELECT * FROM ({old facts}) WHERE {T:o} UNION ALL SELECT {K}, s, o{Y}, d, b{V}, w, g FROM {add}");
  return drop_void (work, error) &&
         autocdc_normalise (work, "merge", (const char *const[]){ "o", "d", "b", "g", NULL }, ", f.w DESC",
                            ", max(w) AS w", NULL, error) &&
         drop_idle (work, error) && expire (work, snapshot, merge, n_expired, error);
}

gboolean
autocdc_state_write (AutoCdcWork *work, WriteBatch *write, DeltaSnapshot *snapshot, gint64 n_new, gint64 *n_expired,
                     GError **error)
{
  AutoCdcDomain *domain = work->layout->domain;
  g_autoptr (GPtrArray) merge = NULL;
  g_autofree char *sql = NULL;
  const char *written = "add";
  WriteSideFile side = { 0 };
  AutoCdcStateFile *file;

  *n_expired = drop_expired_files (work);
  if (n_new == 0)
    return TRUE;
  set_fact_columns (work);
  merge = autocdc_state_choose (domain->files, n_new);
  if (merge->len > 0) {
    gint64 n = 0;

    if (!merge_facts (work, snapshot, merge, &n, error))
      return FALSE;
    *n_expired += n;
    written = "merge";
    for (guint i = 0; i < merge->len; i++)
      g_ptr_array_remove (domain->files, merge->pdata[i]);
  }
  autocdc_work_set (work, "kind",
                    work->plan->type == AUTOCDC_SCD1 ? "d" : "CASE WHEN s IS NULL THEN 2 ELSE d::TINYINT END");
  autocdc_work_set (work, "system", work->plan->system_type ? ", y AS system" : "");
  autocdc_work_set (work, "written", g_hash_table_lookup (work->pieces, written));
  sql = autocdc_work_text (
      work, "SELECT {K}, s AS seq{system}, {kind}::TINYINT AS kind, b AS \"set\"{fact values}, w AS written, g AS gen"
            " FROM {written} ORDER BY {K}, o");
  if (!write_batch_side_file (write, "_autocdc", sql, &side, error))
    return FALSE;
  if (side.path) {
    file = g_new0 (AutoCdcStateFile, 1);
    file->path = g_strdup (side.path);
    file->n_rows = (gint64) side.n_rows;
    file->size_bytes = (gint64) side.size_bytes;
    g_ptr_array_add (domain->files, file);
    if (!fill_file_facts (work, file, error)) {
      write_side_file_clear (&side);
      return FALSE;
    }
  }
  write_side_file_clear (&side);
  return TRUE;
}

gboolean
autocdc_put_schema (const AutoCdcLayout *layout, WriteBatch *write, DeltaSnapshot *snapshot, GError **error)
{
  g_autoptr (DeltaMetadata) metadata = NULL;

  if (!layout->schema_changed)
    return TRUE;
  metadata = delta_metadata_with_schema (delta_snapshot_metadata (snapshot), layout->schema);
  return write_batch_set_metadata (write, metadata, error);
}

void
autocdc_put_domain (const AutoCdcLayout *layout, WriteBatch *write)
{
  DeltaTransaction *transaction = write_batch_transaction (write);
  g_autofree char *domain = autocdc_domain_text (layout->domain);

  delta_transaction_require_feature (transaction, "domainMetadata");
  delta_transaction_require_feature (transaction, AUTOCDC_FEATURE);
  delta_transaction_set_domain (transaction, AUTOCDC_DOMAIN, domain);
  if (layout->adopts)
    delta_transaction_set_domain (transaction, AUTOCDC_ADOPT_DOMAIN, NULL);
}

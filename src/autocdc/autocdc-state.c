/* State files: facts in Parquet below `_autocdc/`, named by the domain.
 *
 * Columns: k<j> the keys, seq, kind (0 upsert, 1 delete, 2 reset), set (bits over the domain's fields; empty for a delete),
 * f<i> the value of field i (absent in files older than the field), written (µs), gen of the statement (0: an event). Files only ever add facts. When eight of
 * about one size are there they become one (size tiers, fan-out 8); what is surely not needed any more stays behind.
 */
#include "autocdc-state-private.h"
#include "base-error.h"
#include "base-text.h"
#include "duck-path.h"
#include "duck-type.h"
#include "store.h"

#define FAN_OUT   8
#define TIER_ROWS 1000
#define MAX_FILES 24

guint
autocdc_hidden_columns (const AutoCdcDomain *domain, const BaseType *binary, const BaseType *integer,
                        WriteHiddenColumn *hidden)
{
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
  columns = autocdc_work_text (work, "SELECT {K}, seq AS s, {O:seq} AS o, kind = 1 AS d, \"set\" AS b{state values},"
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

  for (gint64 limit = TIER_ROWS; n_rows >= limit && tier < 20; limit *= FAN_OUT)
    tier++;
  return tier;
}

/* When tombstones that may go were written at the latest. SCD 1: an upsert that a tombstone outdoes may still be in a file that is as old
 * as it, and would stand again. @gone: (nullable): files that are not in the way. */
static gint64
expiry (const AutoCdcWork *work, const GPtrArray *gone)
{
  const GPtrArray *files = work->layout->domain->files;
  gint64 cutoff = work->batch->retention_seconds < 0
                      ? G_MININT64
                      : work->batch->clock_us - work->batch->retention_seconds * G_USEC_PER_SEC;

  for (guint i = 0; work->plan->type == AUTOCDC_SCD1 && i < files->len; i++) {
    const AutoCdcStateFile *file = files->pdata[i];

    if (file->n_deletes < file->n_rows && !(gone && g_ptr_array_find ((GPtrArray *) gone, file, NULL)))
      cutoff = MIN (cutoff, file->oldest_us);
  }
  return cutoff;
}

/* Adds every file of @tier or below to @merge when, with what is there already, they are enough. */
static gboolean
gather_tier (const GPtrArray *keep, GPtrArray *merge, guint tier, gint64 *n_rows, gint64 n_new)
{
  guint n = n_new > 0 ? 1 : 0;
  gboolean added = FALSE;

  for (guint i = 0; i < keep->len; i++)
    n += !g_ptr_array_find (merge, keep->pdata[i], NULL) &&
         tier_of (((AutoCdcStateFile *) keep->pdata[i])->n_rows) <= tier;
  if (n < FAN_OUT && !(keep->len - merge->len >= MAX_FILES))
    return FALSE;
  for (guint i = 0; i < keep->len; i++) {
    AutoCdcStateFile *file = keep->pdata[i];

    if (g_ptr_array_find (merge, file, NULL) || (tier_of (file->n_rows) > tier && n >= FAN_OUT))
      continue;
    g_ptr_array_add (merge, file);
    *n_rows += file->n_rows;
    added = TRUE;
  }
  return added;
}

static GPtrArray *
choose_merge (const GPtrArray *keep, gint64 n_new)
{
  GPtrArray *merge = g_ptr_array_new ();
  gint64 n_rows = n_new;

  if (n_new == 0)
    return merge;
  while (gather_tier (keep, merge, tier_of (n_rows), &n_rows, n_new))
    ;
  return merge;
}

/* ---- writing ---- */

static gboolean
set_fact_columns (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    g_string_append_printf (values, ", v%u AS f%u", i, i);
  autocdc_work_take (work, "fact values", g_steal_pointer (&values));
  return TRUE;
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

static gboolean
drop_expired (AutoCdcWork *work, gint64 cutoff, gint64 *n_expired, GError **error)
{
  g_autofree char *expired = g_strdup_printf ("d AND w < %" G_GINT64_FORMAT, cutoff);

  if (cutoff == G_MININT64)
    return TRUE;
  autocdc_work_set (work, "expired", expired);
  if (!autocdc_work_count (work, "SELECT count(*) FROM {merge} WHERE {expired}", n_expired, error))
    return FALSE;
  return *n_expired == 0 ||
         autocdc_work_make (work, "merge", "SELECT * FROM {merge} WHERE ({expired}) IS NOT TRUE", NULL, error);
}

/* SCD 1: leaves out of {merge} what newer facts of it make idle. */
static gboolean
drop_idle (AutoCdcWork *work, GError **error)
{
  if (!work->is_partial)
    return autocdc_work_make (work, "merge",
                              "SELECT f.* FROM {merge} f WHERE NOT EXISTS (SELECT 1 FROM {merge} q WHERE {J:q,f}"
                              " AND q.o > f.o AND (q.d OR (NOT f.d AND q.b = f.b)))",
                              NULL, error);
  g_clear_pointer (&work->authored, g_free); /* was of other facts */
  return autocdc_scd1_find_needed (work, "merge", error) &&
         autocdc_work_make (work, "merge", "SELECT {K}, s, o, d, b{V}, w, g FROM {need}", NULL, error);
}

/* Facts of @merge and of {add} together: one per (key, sequence, set), without idle ones and expired tombstones. */
static gboolean
merge_facts (AutoCdcWork *work, DeltaTable *table, GPtrArray *merge, gint64 *n_expired, GError **error)
{
  g_autoptr (GString) scan = g_string_new (NULL);

  if (!autocdc_append_state_scan (work, table, merge, scan, error))
    return FALSE;
  autocdc_work_take (work, "old facts", g_steal_pointer (&scan));
  return autocdc_work_make (work, "merge", "{old facts} UNION ALL SELECT {K}, s, o, d, b{V}, w, g FROM {add}", NULL,
                            error) &&
         drop_void (work, error) &&
         autocdc_normalise (work, "merge", (const char *const[]){ "o", "d", "b", "g", NULL }, ", f.w DESC",
                            ", max(w) AS w", NULL, error) &&
         (work->plan->type != AUTOCDC_SCD1 || drop_idle (work, error)) &&
         drop_expired (work, expiry (work, merge), n_expired, error);
}

gboolean
autocdc_state_write (AutoCdcWork *work, WriteBatch *write, DeltaTable *table, gint64 n_new, gint64 *n_expired,
                     GError **error)
{
  AutoCdcDomain *domain = work->layout->domain;
  g_autoptr (GPtrArray) merge = NULL;
  g_autofree char *sql = NULL;
  const char *written = "add";
  WriteSideFile side = { 0 };
  AutoCdcStateFile *file;

  *n_expired = 0;
  for (guint i = domain->files->len; i > 0; i--) {
    const AutoCdcStateFile *old = domain->files->pdata[i - 1];

    if (old->n_deletes < old->n_rows || old->newest_us >= expiry (work, NULL))
      continue;
    *n_expired += old->n_rows;
    g_ptr_array_remove_index (domain->files, i - 1);
  }
  if (n_new == 0)
    return TRUE;
  set_fact_columns (work);
  merge = choose_merge (domain->files, n_new);
  if (merge->len > 0) {
    gint64 n = 0;

    if (!merge_facts (work, table, merge, &n, error))
      return FALSE;
    *n_expired += n;
    written = "merge";
    for (guint i = 0; i < merge->len; i++)
      g_ptr_array_remove (domain->files, merge->pdata[i]);
  }
  autocdc_work_set (work, "kind",
                    work->plan->type == AUTOCDC_SCD2 ? "CASE WHEN s IS NULL THEN 2 ELSE d::TINYINT END" : "d");
  autocdc_work_set (work, "written", g_hash_table_lookup (work->pieces, written));
  sql = autocdc_work_text (
      work, "SELECT {K}, s AS seq, {kind}::TINYINT AS kind, b AS \"set\"{fact values}, w AS written, g AS gen"
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

void
autocdc_put_domain (AutoCdcWork *work, WriteBatch *write)
{
  DeltaTransaction *transaction = write_batch_transaction (write);
  g_autofree char *domain = autocdc_domain_text (work->layout->domain);

  delta_transaction_require_feature (transaction, "domainMetadata");
  delta_transaction_require_feature (transaction, AUTOCDC_FEATURE);
  delta_transaction_set_domain (transaction, AUTOCDC_DOMAIN, domain);
}

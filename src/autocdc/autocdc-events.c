/* Reading a batch: events, checks, reduction to facts. */
#include "autocdc-work-private.h"
#include "base-error.h"
#include "base-text.h"

/* @n_nulls: by key. */
static gboolean
refuse_null_keys (AutoCdcWork *work, const gint64 *n_nulls, GError **error)
{
  g_autoptr (GString) counts = g_string_new (NULL);

  for (guint i = 0; i < work->plan->keys->len; i++) {
    const AutoCdcColumn *key = work->plan->columns->pdata[g_array_index (work->plan->keys, guint, i)];

    if (n_nulls[i] > 0)
      g_string_append_printf (counts, "%s%s: %" G_GINT64_FORMAT, counts->len ? ", " : "", key->name, n_nulls[i]);
  }
  if (counts->len == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_KEY,
                  "flow %s into %s: events with a NULL key in batch %" G_GINT64_FORMAT " (events by column: %s)",
                  work->plan->name, work->plan->target, work->batch->batch_id, counts->str);
  base_error_add_param (error, "nullCounts", counts->str);
  base_error_set_hint (
      error, "an expectation on the target that drops such events lets the others through, also of this batch");
  return FALSE;
}

gboolean
autocdc_check_empty_keys (AutoCdcWork *work, GError **error)
{
  const AutoCdcLayout *layout = work->layout;

  for (guint key = 0; key < layout->key_columns->len; key++) {
    g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM {events} WHERE k%u = ''", key);
    gint64 n;

    if (autocdc_key_may_be_empty (layout, key))
      continue;
    if (!autocdc_work_count (work, sql, &n, error))
      return FALSE;
    if (n == 0)
      continue;
    base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_KEY,
                    "flow %s into %s: %" G_GINT64_FORMAT " events of batch %" G_GINT64_FORMAT " have an empty key %s, "
                    "which is NULL in a partition column",
                    work->plan->name, work->plan->target, n, work->batch->batch_id,
                    (char *) layout->domain->keys->pdata[key]);
    base_error_set_hint (error, "partition the target by another column, or drop such events by an expectation on the "
                                "target");
    return FALSE;
  }
  return TRUE;
}

/* The names that an event may give of columns that it writes, in lower case: those of the source, and of the target. */
static void
append_known_names (const AutoCdcWork *work, GString *out)
{
  const BaseType *target = work->plan->target_schema;

  for (guint i = 0; i < work->plan->source_names->len; i++) {
    g_autofree char *name = base_text_sql_literal (work->plan->source_names->pdata[i]);

    g_string_append_printf (out, "%slower(%s)", i ? ", " : "", name);
  }
  for (guint i = 0; i < base_type_n_fields (target); i++) {
    g_autofree char *name = base_text_sql_literal (base_type_field (target, i)->name);

    if (!autocdc_is_interval_column (work->plan, base_type_field (target, i)->name))
      g_string_append_printf (out, ", lower(%s)", name);
  }
}

static gboolean
refuse_unknown_columns (AutoCdcWork *work, GError **error)
{
  g_autoptr (GString) names = NULL;
  g_autofree char *sql = NULL, *name = NULL, *count = NULL;
  gint64 n;

  if (!work->plan->columns_to_update)
    return TRUE;
  names = g_string_new (NULL);
  append_known_names (work, names);
  autocdc_work_take (work, "known names", g_steal_pointer (&names));
  autocdc_work_define (work, "unknown",
                       "SELECT * FROM (SELECT unnest(u) AS n FROM {events} WHERE NOT d) WHERE n IS NULL OR n NOT IN"
                       " ({known names})");
  if (!autocdc_work_count (work, "SELECT count(*) FROM {unknown}", &n, error))
    return FALSE;
  if (n == 0)
    return TRUE;
  sql = autocdc_work_text (work, "SELECT coalesce(min(n), 'NULL') FROM {unknown}");
  if (!duck_session_query_string (work->session, sql, work->cancel, &name, error))
    return FALSE;
  count = g_strdup_printf ("%" G_GINT64_FORMAT, n);
  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_UNKNOWN_COLUMN_TO_UPDATE,
                  "flow %s into %s: %s names in %s of batch %" G_GINT64_FORMAT " are no columns, such as %s",
                  work->plan->name, work->plan->target, count, work->plan->columns_to_update, work->batch->batch_id,
                  name);
  base_error_add_param (error, "columnName", name);
  base_error_add_param (error, "count", count);
  base_error_set_hint (
      error, "the array names columns of the source or the target; an empty one writes nothing, NULL writes all");
  return FALSE;
}

static gboolean
refuse_null_sequences (AutoCdcWork *work, SluiceError code, const char *what, gint64 n, GError **error)
{
  g_autofree char *count = g_strdup_printf ("%" G_GINT64_FORMAT, n);

  if (n == 0)
    return TRUE;
  base_error_set (error, code, "flow %s into %s: %s events with a NULL %s in batch %" G_GINT64_FORMAT, work->plan->name,
                  work->plan->target, count, what, work->batch->batch_id);
  base_error_add_param (error, "nullCount", count);
  base_error_set_hint (
      error, "an expectation on the target that drops such events lets the others through, also of this batch");
  return FALSE;
}

/* Truncates need no key. */
static gboolean
validate (AutoCdcWork *work, GError **error)
{
  const AutoCdcPlan *plan = work->plan;
  guint n_keys = plan->keys->len;
  g_autoptr (GString) counts = g_string_new ("SELECT count(*) - count(s)");
  g_autofree gint64 *n = g_new0 (gint64, n_keys + 3);

  g_string_append (counts, plan->system_type ? ", count(*) - count(y)" : ", 0::BIGINT");
  g_string_append (counts, plan->where ? ", count(*) FILTER (NOT h)" : ", 0::BIGINT");
  for (guint i = 0; i < n_keys; i++)
    g_string_append_printf (counts, ", count(*) FILTER (k%u IS NULL%s)", i, plan->truncates ? " AND NOT t" : "");
  g_string_append (counts, " FROM {events}");
  return autocdc_work_numbers (work, counts->str, n, n_keys + 3, error) &&
         refuse_null_sequences (work, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_SEQUENCE, "sequence", n[0],
                                error) &&
         refuse_null_sequences (work, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_SYSTEM_SEQUENCE,
                                "system sequence", n[1], error) &&
         refuse_null_keys (work, n + 3, error) && (n[2] == 0 || autocdc_refuse_promise (work, n[2], "events", error));
}

/* `c4 AS s, coalesce(c5, false) AS d, …`: the sequence, the conditions, the columns to update and the system sequence,
 * which follow the columns. */
static void
append_conditions (AutoCdcWork *work, GString *columns)
{
  const AutoCdcPlan *plan = work->plan;
  guint next = plan->columns->len;
  g_autofree char *sequence =
      work->snapshot ? autocdc_version_literal (&work->snapshot->version) : g_strdup_printf ("c%u", next++);

  autocdc_append_value (columns, sequence, plan->sequence_type, plan->sequence_type);
  if (plan->deletes)
    g_string_append_printf (columns, " AS s, coalesce(c%u, false) AS d", next++);
  else
    g_string_append (columns, " AS s, false AS d");
  if (plan->truncates)
    g_string_append_printf (columns, ", coalesce(c%u, false) AS t", next++);
  if (plan->where)
    g_string_append_printf (columns, ", coalesce(c%u, false) AS h", next++);
  if (plan->columns_to_update)
    g_string_append_printf (columns, ", list_transform(c%u, lambda n: lower(n)) AS u", next++);
  if (plan->system_type) {
    g_autofree char *system = g_strdup_printf ("c%u", next);

    g_string_append (columns, ", ");
    autocdc_append_value (columns, system, plan->system_type, plan->system_type);
    g_string_append (columns, " AS y");
  }
}

gboolean
autocdc_lower_events (AutoCdcWork *work, GError **error)
{
  const AutoCdcPlan *plan = work->plan;
  RelationLowering lowering = { .now_us = work->batch->clock_us, .session = work->session };
  g_autoptr (GString) columns = g_string_new (NULL);

  if (!(work->source = relation_plan_lower (plan->events, &lowering, error)))
    return FALSE;
  for (guint i = 0; i < plan->keys->len; i++) {
    guint key = g_array_index (plan->keys, guint, i);
    const AutoCdcColumn *column = plan->columns->pdata[key];
    g_autofree char *name = g_strdup_printf ("c%u", key);

    autocdc_append_value (columns, name, column->type, column->type);
    g_string_append_printf (columns, " AS k%u, ", i);
  }
  for (guint i = 0; i < plan->columns->len; i++) {
    const AutoCdcColumn *column = plan->columns->pdata[i];
    g_autofree char *name = g_strdup_printf ("c%u", i);

    if (column->is_key)
      continue;
    autocdc_append_value (columns, name, column->type, column->type);
    g_string_append_printf (columns, " AS x%u, ", i);
  }
  append_conditions (work, columns);
  autocdc_work_take (work, "columns", g_steal_pointer (&columns));
  autocdc_work_set (work, "source", relation_text_sql (work->source)->str);
  return TRUE;
}

/* {best}: of every key what of it may be the newest on each side (SCD 1), or its instants. Keys, sequences and positions first. */
static gboolean
find_best (AutoCdcWork *work, GError **error)
{
  return autocdc_work_make (
      work, "best",
      work->plan->type == AUTOCDC_SCD1
          ? "SELECT {K}, max(o) FILTER (d) AS dm, max(o) FILTER (NOT d) AS um FROM {events} GROUP BY {K}"
          : "SELECT {K}, {I}, bool_or(d) AS d, bool_or(d) AND NOT bool_and(d) AS mixed FROM {events}"
            " GROUP BY {K}, {I}",
      &work->n_keys, error);
}

gboolean
autocdc_read_events (AutoCdcWork *work, GError **error)
{
  if (!autocdc_work_make_once (work, "events",
                               work->plan->system_type
                                   ? "SELECT *, {O:s} AS o, {P:y} AS p FROM (SELECT {columns} FROM ({source}))"
                                   : "SELECT *, {O:s} AS o FROM (SELECT {columns} FROM ({source}))",
                               &work->n_events, error))
    return FALSE;
  work->n_read = work->n_events;
  if (work->n_read > 0 && (!validate (work, error) || !autocdc_take_truncates (work, error) ||
                           !refuse_unknown_columns (work, error) || (!work->snapshot && !find_best (work, error))))
    return FALSE;
  work->n_lasting = work->relations->len;
  return TRUE;
}

void
autocdc_set_event_values (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL), flags = g_string_new ("sluice_bits(");
  guint n = autocdc_work_n_fields (work);

  for (guint i = 0; i < n; i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);
    const AutoCdcColumn *column = field->source < 0 ? NULL : work->plan->columns->pdata[field->source];
    g_autofree char *expr = g_strdup_printf ("e.x%d", field->source), *name = base_text_sql_literal (field->name);
    g_autofree char *named = g_strdup_printf ("(e.u IS NULL OR list_contains(e.u, lower(%s)))", name);
    gboolean by_name = work->plan->columns_to_update && column;

    g_string_append (values, by_name ? ", CASE WHEN " : ", ");
    g_string_append_printf (values, "%s%s", by_name ? named : "", by_name ? " THEN " : "");
    autocdc_append_field (values, field, expr, column ? column->type : NULL);
    g_string_append_printf (values, "%s AS v%u", by_name ? " END" : "", i);
    g_string_append (flags, i ? ", " : "");
    if (!column)
      g_string_append (flags, "false");
    else if (by_name)
      g_string_append (flags, named);
    else if (field->ignores_null)
      g_string_append_printf (flags, "v%u IS NOT NULL", i);
    else
      g_string_append (flags, "true");
  }
  g_string_append (flags, n ? ")" : "");
  if (work->is_partial)
    g_string_append_printf (values, ", CASE WHEN e.d THEN ''::BLOB ELSE %s END AS b", n ? flags->str : "''::BLOB");
  autocdc_work_take (work, "event values", g_steal_pointer (&values));
}

/* SCD 1: of a key with several events its newest delete, and its newest upsert unless the delete is above it; all upserts that are not
 * below the delete where they may author different fields. */
static gboolean
reduce_to_newest (AutoCdcWork *work, GError **error)
{
  gint64 n_winners, newest[2];

  autocdc_work_set (work, "stands",
                    work->is_partial ? "g.dm IS NULL OR e.o >= g.dm" : "e.o = g.um AND (g.dm IS NULL OR g.um >= g.dm)");
  if (!autocdc_work_make (work, "reduced",
                          "SELECT {K:e}, e.s, e.o, e.d{event values} FROM {events} e JOIN {best} g ON {J:e,g}"
                          " AND CASE WHEN e.d THEN e.o = g.dm ELSE {stands} END",
                          &n_winners, error) ||
      !autocdc_work_numbers (work,
                             "SELECT coalesce(sum((dm IS NOT NULL)::INTEGER +"
                             " (um IS NOT NULL AND (dm IS NULL OR um >= dm))::INTEGER), 0)::BIGINT,"
                             " count(*) FILTER (um = dm) FROM {best}",
                             newest, G_N_ELEMENTS (newest), error))
    return FALSE;
  work->n_ties += newest[1];
  if (work->is_partial)
    return autocdc_normalise (work, "reduced", (const char *const[]){ "o", "d", NULL }, "", "", &work->n_ties, error);
  return n_winners == newest[0] ||
         autocdc_normalise (work, "reduced", (const char *const[]){ "d", NULL }, "", "", &work->n_ties, error);
}

/* One fact per key and instant; a delete wins, else the greatest row. */
static gboolean
reduce_to_instants (AutoCdcWork *work, GError **error)
{
  gint64 n_facts, n_mixed;

  if (!autocdc_work_make (work, "reduced",
                          "SELECT {K:e}, e.s, e.o{Y:e}, e.d{event values} FROM {events} e JOIN {best} g ON {J:e,g}"
                          " AND {E:e,g} AND e.d = g.d",
                          &n_facts, error) ||
      !autocdc_work_count (work, "SELECT count(*) FILTER (mixed) FROM {best}", &n_mixed, error))
    return FALSE;
  work->n_ties += n_mixed;
  return n_facts == work->n_keys ||
         autocdc_normalise (work, "reduced", (const char *const[]){ "o", "d", NULL }, "", "", &work->n_ties, error);
}

/* Values are copied only where a key (or its sequence) has several events. */
gboolean
autocdc_reduce_events (AutoCdcWork *work, GError **error)
{
  gboolean newest = work->plan->type == AUTOCDC_SCD1;

  work->n_ties = 0;
  autocdc_set_event_values (work);
  if (work->n_keys == work->n_events)
    autocdc_work_define (work, "reduced", "SELECT {K:e}, e.s, e.o{Y:e}, e.d{event values} FROM {events} e");
  else if (!(newest ? reduce_to_newest (work, error) : reduce_to_instants (work, error)))
    return FALSE;
  if (!work->is_partial)
    autocdc_work_define (work, "reduced",
                         "SELECT *, CASE WHEN d THEN ''::BLOB ELSE {batch set} END AS b FROM {reduced}");
  autocdc_work_set (work, "batch", g_hash_table_lookup (work->pieces, "reduced"));
  autocdc_work_set (work, "keys", g_hash_table_lookup (work->pieces, "best"));
  return TRUE;
}

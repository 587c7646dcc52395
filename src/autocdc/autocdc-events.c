/* Reading a batch: events, checks, reduction to facts. */
#include "autocdc-work-private.h"
#include "base-error.h"
#include "duck-type.h"

static gboolean
count_null_keys (AutoCdcWork *work, GError **error)
{
  g_autoptr (GString) counts = g_string_new (NULL);
  gint64 total = 0;

  for (guint i = 0; i < work->plan->keys->len; i++) {
    const AutoCdcColumn *key = work->plan->columns->pdata[g_array_index (work->plan->keys, guint, i)];
    g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM autocdc_events WHERE k%u IS NULL", i);
    gint64 n;

    if (!autocdc_work_count (work, sql, &n, error))
      return FALSE;
    if (n > 0)
      g_string_append_printf (counts, "%s%s: %" G_GINT64_FORMAT, counts->len ? ", " : "", key->name, n);
    total += n;
  }
  if (total == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_KEY,
                  "flow %s into %s: events with a NULL key in batch %" G_GINT64_FORMAT " (%s)", work->plan->name,
                  work->plan->target, work->batch->batch_id, counts->str);
  base_error_add_param (error, "nullCounts", counts->str);
  base_error_set_hint (error, "an expectation on the source that drops such rows lets the others through");
  return FALSE;
}

static gboolean
validate (AutoCdcWork *work, GError **error)
{
  gint64 n_bad, n_null_sequence;
  g_autoptr (GString) any = g_string_new ("s IS NULL");
  g_autofree char *count = NULL;

  for (guint i = 0; i < work->plan->keys->len; i++)
    g_string_append_printf (any, " OR k%u IS NULL", i);
  autocdc_work_take (work, "bad", g_steal_pointer (&any));
  if (!autocdc_work_count (work, "SELECT count(*) FROM autocdc_events WHERE {bad}", &n_bad, error))
    return FALSE;
  if (n_bad == 0)
    return TRUE;
  if (!autocdc_work_count (work, "SELECT count(*) FROM autocdc_events WHERE s IS NULL", &n_null_sequence, error))
    return FALSE;
  if (n_null_sequence == 0)
    return count_null_keys (work, error);
  count = g_strdup_printf ("%" G_GINT64_FORMAT, n_null_sequence);
  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_SEQUENCE,
                  "flow %s into %s: %s events with a NULL sequence in batch %" G_GINT64_FORMAT, work->plan->name,
                  work->plan->target, count, work->batch->batch_id);
  base_error_add_param (error, "nullCount", count);
  base_error_set_hint (error, "an expectation on the source that drops such rows lets the others through");
  return FALSE;
}

gboolean
autocdc_read_events (AutoCdcWork *work, GError **error)
{
  const AutoCdcPlan *plan = work->plan;
  RelationLowering lowering = { .now_us = work->batch->clock_us, .session = work->session };
  g_autoptr (RelationText) text = relation_plan_lower (plan->events, &lowering, error);
  g_autoptr (GString) columns = g_string_new (NULL);
  g_autofree char *sequence = NULL;

  if (!text)
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
  sequence = g_strdup_printf ("c%u", plan->columns->len);
  autocdc_append_value (columns, sequence, plan->sequence_type, plan->sequence_type);
  if (plan->deletes)
    g_string_append_printf (columns, " AS s, coalesce(c%u, false) AS d", plan->columns->len + 1);
  else
    g_string_append (columns, " AS s, false AS d");
  autocdc_work_take (work, "columns", g_steal_pointer (&columns));
  autocdc_work_set (work, "source", relation_text_sql (text)->str);
  if (!autocdc_work_run (work,
                         "CREATE OR REPLACE TEMP TABLE autocdc_events AS"
                         " SELECT *, {O:s} AS o FROM (SELECT {columns} FROM ({source}))",
                         error))
    return FALSE;
  if (work->batch->events_read)
    work->batch->events_read (text, work->batch->events_read_data);
  return autocdc_work_count (work, "SELECT count(*) FROM autocdc_events", &work->n_events, error) &&
         validate (work, error);
}

/* Values of the batch's events: v<i> from x<source>, NULL where the source has no such column. */
static void
set_event_values (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);

    g_string_append (values, ", ");
    if (field->source < 0) {
      g_string_append (values, "NULL::");
      duck_type_append_text (values, field->type);
    } else {
      const AutoCdcColumn *column = work->plan->columns->pdata[field->source];
      g_autofree char *name = g_strdup_printf ("e.x%d", field->source);

      autocdc_append_value (values, name, column->type, field->type);
    }
    g_string_append_printf (values, " AS v%u", i);
  }
  autocdc_work_take (work, "event values", g_steal_pointer (&values));
}

/* SCD 1: a key's newest delete, and its newest upsert unless the delete is above it; keys, sequences and positions first. */
static gboolean
reduce_to_newest (AutoCdcWork *work, GError **error)
{
  gint64 n_winners, n_keys;

  if (!autocdc_work_run (work,
                         "CREATE OR REPLACE TEMP TABLE autocdc_best AS SELECT {K}, max(o) FILTER (d) AS dm,"
                         " max(o) FILTER (NOT d) AS um FROM autocdc_events GROUP BY {K};"
                         "CREATE OR REPLACE TEMP TABLE autocdc_batch AS SELECT {K:e}, e.s, e.o, e.d{event values}"
                         " FROM autocdc_events e JOIN autocdc_best g ON {J:e,g} AND CASE WHEN e.d THEN e.o = g.dm"
                         " ELSE e.o = g.um AND (g.dm IS NULL OR g.um >= g.dm) END;"
                         "CREATE OR REPLACE TEMP TABLE autocdc_keys AS SELECT {K} FROM autocdc_best",
                         error) ||
      !autocdc_work_count (work, "SELECT count(*) FROM autocdc_batch", &n_winners, error) ||
      !autocdc_work_count (work,
                           "SELECT coalesce(sum((dm IS NOT NULL)::INTEGER +"
                           " (um IS NOT NULL AND (dm IS NULL OR um >= dm))::INTEGER), 0)::BIGINT FROM autocdc_best",
                           &n_keys, error))
    return FALSE;
  return n_winners == n_keys ||
         autocdc_keep_greatest (work, "autocdc_batch", (const char *const[]){ "d", NULL }, "", error);
}

/* SCD 2: one fact per key and sequence; a delete wins, else the greatest row. */
static gboolean
reduce_to_sequences (AutoCdcWork *work, GError **error)
{
  gint64 n_facts, n_sequences;

  if (!autocdc_work_run (
          work,
          "CREATE OR REPLACE TEMP TABLE autocdc_best AS SELECT {K}, o, bool_or(d) AS d FROM autocdc_events"
          " GROUP BY {K}, o;"
          "CREATE OR REPLACE TEMP TABLE autocdc_batch AS SELECT {K:e}, e.s, e.o, e.d{event values}"
          " FROM autocdc_events e JOIN autocdc_best g ON {J:e,g} AND e.o = g.o AND e.d = g.d;"
          "CREATE OR REPLACE TEMP TABLE autocdc_keys AS SELECT DISTINCT {K} FROM autocdc_best",
          error) ||
      !autocdc_work_count (work, "SELECT count(*) FROM autocdc_batch", &n_facts, error) ||
      !autocdc_work_count (work, "SELECT count(*) FROM autocdc_best", &n_sequences, error))
    return FALSE;
  return n_facts == n_sequences ||
         autocdc_keep_greatest (work, "autocdc_batch", (const char *const[]){ "o", NULL }, "", error);
}

gboolean
autocdc_reduce_events (AutoCdcWork *work, GError **error)
{
  set_event_values (work);
  return work->plan->type == AUTOCDC_SCD1 ? reduce_to_newest (work, error) : reduce_to_sequences (work, error);
}

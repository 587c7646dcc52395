/* How a table becomes a target: empty, by the pipeline that makes or empties it; with the rows that it has, by ADOPT. And targets that are
 * none any more. */
#include "autocdc-state-private.h"
#include "base-error.h"

gboolean
autocdc_found (AutoCdcPlan *plan, DeltaSnapshot *snapshot, WriteBatch *write, GError **error)
{
  g_autoptr (AutoCdcLayout) layout = autocdc_layout_anew (plan, snapshot, error);

  if (!layout || (snapshot && !autocdc_put_schema (layout, write, snapshot, error)))
    return FALSE;
  autocdc_put_domain (layout, write);
  return TRUE;
}

void
autocdc_forget (DeltaTransaction *transaction, DeltaSnapshot *snapshot)
{
  static const char *const domains[] = { AUTOCDC_DOMAIN, AUTOCDC_ADOPT_DOMAIN };

  for (guint i = 0; i < G_N_ELEMENTS (domains); i++)
    if (delta_snapshot_domain (snapshot, domains[i]))
      delta_transaction_set_domain (transaction, domains[i], NULL);
}

gboolean
autocdc_begin_adoption (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error)
{
  const AutoCdcPlan *plan = layout->plan;
  const BaseType *present = delta_snapshot_schema (snapshot);
  g_autoptr (GPtrArray) names = g_ptr_array_new (), types = g_ptr_array_new ();

  if (plan->type == AUTOCDC_BITEMPORAL)
    return base_error_set (
        error, SLUICE_ERROR_AUTOCDC_CANNOT_ADOPT,
        "%s is to be adopted as the target of flow %s, which is BITEMPORAL: its rows do not say what was "
        "believed when",
        plan->target, plan->name);
  if (plan->from_snapshot)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_CANNOT_ADOPT,
                           "%s is to be adopted as the target of flow %s, which reads snapshots: its rows are of no "
                           "version of theirs",
                           plan->target, plan->name);
  for (guint i = 0; i < layout->domain->keys->len; i++) {
    g_ptr_array_add (names, layout->domain->keys->pdata[i]);
    g_ptr_array_add (types, layout->domain->key_types->pdata[i]);
  }
  if (plan->type == AUTOCDC_SCD2) {
    g_ptr_array_add (names, (gpointer) AUTOCDC_START_AT);
    g_ptr_array_add (names, (gpointer) AUTOCDC_END_AT);
    g_ptr_array_add (types, plan->sequence_type);
    g_ptr_array_add (types, plan->sequence_type);
  }
  for (guint i = 0; i < names->len; i++) {
    int column = base_type_field_index (present, names->pdata[i], TRUE);
    g_autofree char *type = base_type_text (types->pdata[i]);

    if (column >= 0 && autocdc_same_type (base_type_field (present, (guint) column)->type, types->pdata[i]))
      continue;
    return base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                           "%s is to be adopted as the target of flow %s and has no column %s of type %s", plan->target,
                           plan->name, (char *) names->pdata[i], type);
  }
  autocdc_domain_begin_statement (layout->domain);
  return TRUE;
}

void
autocdc_count_adopted (AutoCdcLayout *layout, const BaseType *present)
{
  for (guint i = 0; i < layout->fields->len; i++)
    if (base_type_field_index (present, ((char **) layout->domain->fields->pdata[i])[0], TRUE) >= 0)
      layout->domain->n_adopted = i + 1;
}

gboolean
autocdc_check_adopted (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  const AutoCdcLayout *layout = work->layout;
  const BaseType *present = delta_snapshot_schema (snapshot);
  guint n = layout->domain->keys->len + (work->plan->type == AUTOCDC_SCD2 ? 1 : 0);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, n);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  DeltaScanRequest request = { .columns = columns, .n_columns = n };
  g_autofree gint64 *n_nulls = g_new0 (gint64, n);
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  g_autoptr (DeltaScan) scan = NULL;

  for (guint i = 0; i < n; i++) {
    const char *name = i < layout->domain->keys->len ? layout->domain->keys->pdata[i] : AUTOCDC_START_AT;

    g_ptr_array_add (names, g_strdup_printf ("p%u", i));
    columns[i] = (DeltaScanColumn){ (guint) base_type_field_index (present, name, TRUE), names->pdata[i] };
    g_string_append_printf (sql, "%scount(*) - count(p%u)", i ? ", " : "", i);
  }
  if (!(scan = delta_scan_new (snapshot, &request, work->cancel, error)))
    return FALSE;
  autocdc_work_set (work, "scan", delta_scan_sql (scan));
  g_string_append (sql, " FROM ({scan})");
  if (!autocdc_work_numbers (work, sql->str, n_nulls, n, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (n_nulls[i] > 0)
      return base_error_set (
          error,
          i < layout->domain->keys->len ? SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_KEY
                                        : SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NULL_SEQUENCE,
          "%s is to be adopted as the target of flow %s, and %" G_GINT64_FORMAT " of its rows have no value in %s",
          work->plan->target, work->plan->name, n_nulls[i], base_type_field (present, columns[i].column)->name);
  return TRUE;
}

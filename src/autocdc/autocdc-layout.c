/* A plan laid on a snapshot of its target: which memory it finds there, and where every column and field of it lies. What may differ is
 * judged by autocdc-drift.c and autocdc-schema.c. */
#include "autocdc-plan-private.h"
#include "base-error.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "write-schema.h"

#include <string.h>

void
autocdc_layout_free (AutoCdcLayout *layout)
{
  if (!layout)
    return;
  autocdc_domain_free (layout->domain);
  base_type_unref (layout->schema);
  g_array_unref (layout->key_columns);
  g_array_unref (layout->empty_keys);
  g_array_unref (layout->fields);
  g_array_unref (layout->by_name);
  g_free (layout);
}

/* ---- fields ---- */

static void
begin_domain (AutoCdcLayout *layout)
{
  const AutoCdcPlan *plan = layout->plan;
  AutoCdcDomain *domain = layout->domain = autocdc_domain_new (plan->type, plan->from_snapshot);

  domain->sequence_type = base_type_ref (plan->sequence_type);
  domain->system_type = base_type_ref (plan->system_type);
  for (guint i = 0; i < plan->keys->len; i++) {
    const AutoCdcColumn *key = plan->columns->pdata[g_array_index (plan->keys, guint, i)];

    g_ptr_array_add (domain->keys, g_strdup (key->name));
    g_ptr_array_add (domain->key_types, base_type_ref (key->type));
  }
}

static void
copy_choice (GPtrArray **to, GPtrArray *from)
{
  g_clear_pointer (to, g_ptr_array_unref);
  *to = from ? g_ptr_array_ref (from) : NULL;
}

static void
record_choices (AutoCdcLayout *layout)
{
  const AutoCdcPlan *plan = layout->plan;

  copy_choice (&layout->domain->track_columns, plan->track_columns);
  copy_choice (&layout->domain->track_except, plan->track_except);
  copy_choice (&layout->domain->ignore_columns, plan->ignore_columns);
  copy_choice (&layout->domain->ignore_except, plan->ignore_except);
  layout->domain->columns_to_update = plan->columns_to_update != NULL;
}

const BaseType *
autocdc_leaf_type (const BaseType *type, const char *const *path)
{
  for (; *path; path++) {
    int index = base_type_kind (type) == BASE_TYPE_STRUCT ? base_type_field_index (type, *path, TRUE) : -1;

    if (index < 0)
      return NULL;
    type = base_type_field (type, (guint) index)->type;
  }
  return type;
}

/* Appends the fields at and below the end of @path that the domain does not have. */
static void
add_fields (AutoCdcDomain *domain, GPtrArray *path, const BaseType *type, gboolean by_leaf)
{
  if (by_leaf && base_type_kind (type) == BASE_TYPE_STRUCT) {
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      g_ptr_array_insert (path, (gint) path->len - 1, (char *) base_type_field (type, i)->name);
      add_fields (domain, path, base_type_field (type, i)->type, TRUE);
      g_ptr_array_remove_index (path, path->len - 2);
    }
  } else if (autocdc_domain_field (domain, (const char *const *) path->pdata) < 0) {
    g_ptr_array_add (domain->fields, g_strdupv ((char **) path->pdata));
  }
}

static gboolean
find_field (AutoCdcLayout *layout, const char *const *path, GError **error)
{
  const AutoCdcPlan *plan = layout->plan;
  int column = base_type_field_index (layout->schema, path[0], TRUE);
  const BaseField *target = column < 0 ? NULL : base_type_field (layout->schema, (guint) column);
  AutoCdcField field = { .path = path, .column = (guint) column, .source = -1 };

  if (!target || !(field.type = autocdc_leaf_type (target->type, path + 1)))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_AUXILIARY_TABLE_PROPERTY_MALFORMED,
                           "the memory of %s speaks of the column %s%s%s, which the table does not have", plan->target,
                           path[0], path[1] ? "." : "", path[1] ? path[1] : "");
  field.name = target->name;
  column = autocdc_plan_column (plan, field.name);
  if (column >= 0 && autocdc_leaf_type (((AutoCdcColumn *) plan->columns->pdata[column])->type, path + 1))
    field.source = column;
  field.tracked = autocdc_domain_tracks (layout->domain, field.name);
  field.ignores_null = autocdc_domain_ignores_null (layout->domain, field.name);
  g_array_append_val (layout->fields, field);
  return TRUE;
}

static gboolean
find_fields (AutoCdcLayout *layout, GError **error)
{
  AutoCdcDomain *domain = layout->domain;
  const char *const *intervals;
  guint n_intervals = autocdc_interval_columns (layout->plan->type, &intervals);

  for (guint i = 0; i < base_type_n_fields (layout->schema); i++) {
    const BaseField *column = base_type_field (layout->schema, i);
    g_autoptr (GPtrArray) path = g_ptr_array_new ();

    if (autocdc_domain_key (domain, column->name) >= 0 || autocdc_is_interval_column (layout->plan, column->name))
      continue;
    if (write_generated_is (column)) {
      if (layout->plan->events && autocdc_plan_column (layout->plan, column->name) >= 0)
        return base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                               "flow %s gives the column %s, which %s computes itself", layout->plan->name,
                               column->name, layout->plan->target);
      continue;
    }
    g_ptr_array_add (path, column->name);
    g_ptr_array_add (path, NULL);
    add_fields (domain, path, column->type, autocdc_domain_ignores_null (domain, column->name));
  }
  for (guint i = 0; i < domain->fields->len; i++)
    if (!find_field (layout, domain->fields->pdata[i], error))
      return FALSE;
  for (guint i = 0; i < domain->keys->len; i++) {
    int column = base_type_field_index (layout->schema, domain->keys->pdata[i], TRUE);

    if (column < 0)
      return base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_KEY_SCHEMA_DRIFT, "%s has no column %s, its key",
                             layout->plan->target, (char *) domain->keys->pdata[i]);
    g_array_append_val (layout->key_columns, column);
  }
  for (guint i = 0; i < n_intervals; i++) {
    int column = base_type_field_index (layout->schema, intervals[i], TRUE);

    if (column < 0)
      return base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_SCD_TYPE_DRIFT, "%s has no column %s",
                             layout->plan->target, intervals[i]);
    layout->intervals[i] = (guint) column;
  }
  return TRUE;
}

gboolean
autocdc_key_may_be_empty (const AutoCdcLayout *layout, guint key)
{
  for (guint i = 0; i < layout->empty_keys->len; i++)
    if (g_array_index (layout->empty_keys, guint, i) == key)
      return FALSE;
  return TRUE;
}

/* Values of partition columns are texts, of which the empty one is NULL. */
static void
find_partitions (AutoCdcLayout *layout, DeltaSnapshot *snapshot)
{
  const char *const *names = delta_metadata_partition_columns (delta_snapshot_metadata (snapshot));

  for (guint i = 0; names[i]; i++) {
    int column = base_type_field_index (layout->schema, names[i], TRUE);
    BaseTypeKind kind =
        column < 0 ? BASE_TYPE_VOID : base_type_kind (base_type_field (layout->schema, (guint) column)->type);

    if (kind != BASE_TYPE_STRING && kind != BASE_TYPE_BINARY)
      continue;
    for (guint j = 0; j < layout->key_columns->len; j++)
      if (g_array_index (layout->key_columns, guint, j) == (guint) column)
        g_array_append_val (layout->empty_keys, j);
    for (guint j = 0; j < layout->fields->len; j++)
      if (g_array_index (layout->fields, AutoCdcField, j).column == (guint) column)
        g_array_index (layout->fields, AutoCdcField, j).empty_is_null = TRUE;
  }
}

static gint
compare_names (gconstpointer a, gconstpointer b, gpointer data)
{
  const AutoCdcLayout *layout = data;
  g_autofree char *x = g_utf8_strdown (g_array_index (layout->fields, AutoCdcField, *(const guint *) a).name, -1);
  g_autofree char *y = g_utf8_strdown (g_array_index (layout->fields, AutoCdcField, *(const guint *) b).name, -1);

  return strcmp (x, y);
}

/* A target that was founded (autocdc_found()) and has had neither a batch nor rows since: what its domain says may still change with the
 * flow's clauses. */
static gboolean
is_untouched (const AutoCdcDomain *domain, DeltaSnapshot *snapshot)
{
  g_autoptr (GPtrArray) domains = delta_snapshot_domains (snapshot);

  if (delta_snapshot_n_files (snapshot) > 0 || domain->files->len > 0 || domain->snapshot_version)
    return FALSE;
  for (guint i = 0; i < domains->len; i++)
    if (g_str_has_prefix (((const DeltaDomain *) domains->pdata[i])->domain, AUTOCDC_PROGRESS_PREFIX))
      return FALSE;
  return TRUE;
}

/* The domain as the target's log has it; none where there is nothing to remember yet. */
static gboolean
find_domain (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error)
{
  const char *text = snapshot ? delta_snapshot_domain (snapshot, AUTOCDC_DOMAIN) : NULL;

  if (!text)
    return TRUE;
  if (!(layout->domain = autocdc_domain_parse (text, error)))
    return FALSE;
  if (!layout->plan->events || !is_untouched (layout->domain, snapshot))
    return autocdc_check_drift (layout->plan, layout->domain, error);
  g_clear_pointer (&layout->domain, autocdc_domain_free);
  return TRUE;
}

static gboolean
refuse_rows (const AutoCdcPlan *plan, GError **error)
{
  base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_AUXILIARY_TABLE_PROPERTY_MISSING,
                  "%s holds rows and no domain %s: nothing is known of where they come from", plan->target,
                  AUTOCDC_DOMAIN);
  if (plan->type == AUTOCDC_BITEMPORAL || plan->from_snapshot)
    base_error_set_hint (error, "a full refresh of %s removes them and begins anew", plan->target);
  else
    base_error_set_hint (error,
                         "a full refresh of %s removes them and begins anew; ALTER STREAMING TABLE … ADOPT takes its "
                         "rows as history",
                         plan->target);
  return FALSE;
}

/* @anew: whatever the table holds is gone. */
static gboolean
lay (AutoCdcLayout *layout, DeltaSnapshot *snapshot, gboolean anew, GError **error)
{
  if (!anew && !find_domain (layout, snapshot, error))
    return FALSE;
  if (!layout->domain) {
    layout->adopts = !anew && snapshot && delta_snapshot_domain (snapshot, AUTOCDC_ADOPT_DOMAIN);
    layout->is_new = !layout->adopts;
    if (!anew && layout->is_new && snapshot && delta_snapshot_n_files (snapshot) > 0)
      return refuse_rows (layout->plan, error);
    begin_domain (layout);
    if (layout->adopts && !autocdc_begin_adoption (layout, snapshot, error))
      return FALSE;
  }
  record_choices (layout);
  if (!autocdc_find_schema (layout, snapshot, error) || !find_fields (layout, error))
    return FALSE;
  if (snapshot)
    find_partitions (layout, snapshot);
  if (layout->adopts)
    autocdc_count_adopted (layout, delta_snapshot_schema (snapshot));
  for (guint i = 0; i < layout->fields->len; i++)
    g_array_append_val (layout->by_name, i);
  g_array_sort_with_data (layout->by_name, compare_names, layout);
  return TRUE;
}

static AutoCdcLayout *
layout_new (AutoCdcPlan *plan, DeltaSnapshot *snapshot, gboolean anew, GError **error)
{
  g_autoptr (AutoCdcLayout) layout = g_new0 (AutoCdcLayout, 1);

  layout->plan = plan;
  layout->key_columns = g_array_new (FALSE, FALSE, sizeof (guint));
  layout->empty_keys = g_array_new (FALSE, FALSE, sizeof (guint));
  layout->fields = g_array_new (FALSE, TRUE, sizeof (AutoCdcField));
  layout->by_name = g_array_new (FALSE, FALSE, sizeof (guint));
  if (!lay (layout, snapshot, anew, error))
    return NULL;
  return g_steal_pointer (&layout);
}

AutoCdcLayout *
autocdc_layout_new (AutoCdcPlan *plan, DeltaSnapshot *snapshot, GError **error)
{
  return layout_new (plan, snapshot, FALSE, error);
}

AutoCdcLayout *
autocdc_layout_anew (AutoCdcPlan *plan, DeltaSnapshot *snapshot, GError **error)
{
  return layout_new (plan, snapshot, TRUE, error);
}

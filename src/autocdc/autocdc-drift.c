/* Whether a flow is still the one that its target's domain records: keys, type, sequence, choices of columns (autocdc.md §5.9). */
#include "autocdc-plan-private.h"
#include "base-error.h"
#include "base-text.h"

#include <string.h>

/* The order in which KEYS names them is no difference: from here on the plan has that of the memory. */
static gboolean
check_keys (AutoCdcPlan *plan, const AutoCdcDomain *domain, GError **error)
{
  gboolean equal = plan->keys->len == domain->keys->len;
  g_autoptr (GArray) ordered = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint j = 0; equal && j < domain->keys->len; j++) {
    for (guint i = 0; i < plan->keys->len && ordered->len == j; i++) {
      guint column = g_array_index (plan->keys, guint, i);
      const AutoCdcColumn *key = plan->columns->pdata[column];

      if (base_text_equal_ignore_case (key->name, domain->keys->pdata[j]) &&
          autocdc_same_type (key->type, domain->key_types->pdata[j]))
        g_array_append_val (ordered, column);
    }
    equal = ordered->len == j + 1;
  }
  if (equal) {
    /* What is there stays where it can: a batch may be read ahead with it. */
    if (memcmp (plan->keys->data, ordered->data, ordered->len * sizeof (guint)) != 0) {
      g_array_unref (plan->keys);
      plan->keys = g_steal_pointer (&ordered);
    }
    return TRUE;
  }
  base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_KEY_SCHEMA_DRIFT,
                  "flow %s has other keys, or keys of other types, than those recorded for %s", plan->name,
                  plan->target);
  base_error_set_hint (error, "a full refresh of %s begins anew with the new keys", plan->target);
  return FALSE;
}

static gboolean set_choice_drift (const AutoCdcPlan *plan, SluiceError code, GError **error, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

/* A choice of columns may be worded anew, and name columns that are new, but not change for columns that are there. */
static gboolean
set_choice_drift (const AutoCdcPlan *plan, SluiceError code, GError **error, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list arguments;

  va_start (arguments, format);
  what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  base_error_set (error, code, "flow %s %s", plan->name, what);
  base_error_set_hint (error, "a full refresh of %s begins anew with the new choice", plan->target);
  return FALSE;
}

static gboolean
check_tracking (const AutoCdcPlan *plan, const AutoCdcDomain *domain, GError **error)
{
  for (guint i = 0; i < domain->fields->len; i++) {
    const char *column = ((GStrv) domain->fields->pdata[i])[0];
    gboolean before = autocdc_domain_tracks (domain, column),
             after = autocdc_choice_covers (plan->track_columns, plan->track_except, column, TRUE);

    if (before != after)
      return set_choice_drift (plan, SLUICE_ERROR_AUTOCDC_INVALID_STATE_TRACK_HISTORY_DRIFT, error,
                               "%s the history of %s, which was%s tracked in %s before",
                               after ? "tracks" : "does not track", column, before ? "" : " not", plan->target);
  }
  return TRUE;
}

/* How equal sequences are resolved and what a NULL said is in the memory already. */
static gboolean
check_partial (const AutoCdcPlan *plan, const AutoCdcDomain *domain, GError **error)
{
  gboolean ignored_before = domain->ignore_columns || domain->ignore_except,
           ignores = plan->ignore_columns || plan->ignore_except;

  if (domain->columns_to_update != (plan->columns_to_update != NULL))
    return set_choice_drift (plan, SLUICE_ERROR_AUTOCDC_INVALID_STATE_COLUMNS_TO_UPDATE_DRIFT, error,
                             "has %sCOLUMNS TO UPDATE, and %s was kept %s", plan->columns_to_update ? "" : "no ",
                             plan->target, domain->columns_to_update ? "with it" : "without");
  if (ignores != ignored_before)
    return set_choice_drift (plan, SLUICE_ERROR_AUTOCDC_INVALID_STATE_IGNORE_NULL_DRIFT, error,
                             "has %sIGNORE NULL UPDATES, and %s was kept %s", ignores ? "" : "no ", plan->target,
                             ignored_before ? "with it" : "without");
  for (guint i = 0; i < domain->fields->len; i++) {
    const char *column = ((GStrv) domain->fields->pdata[i])[0];
    gboolean before = autocdc_domain_ignores_null (domain, column),
             after = autocdc_choice_covers (plan->ignore_columns, plan->ignore_except, column, FALSE);

    if (before != after)
      return set_choice_drift (plan, SLUICE_ERROR_AUTOCDC_INVALID_STATE_IGNORE_NULL_DRIFT, error,
                               "%s NULL in %s, which was%s ignored in %s before", after ? "ignores" : "does not ignore",
                               column, before ? "" : " not", plan->target);
  }
  return TRUE;
}

static gboolean
check_sequence (const AutoCdcPlan *plan, const char *clause, const BaseType *now, const BaseType *then, GError **error)
{
  g_autofree char *now_text = NULL, *then_text = NULL;

  if (base_type_equal (now, then, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
    return TRUE;
  now_text = base_type_text (now);
  then_text = base_type_text (then);
  if (plan->from_snapshot) {
    base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_INVALID_SNAPSHOT_VERSION_TYPE,
                    "the version of flow %s is of type %s, the versions recorded in %s are of type %s", plan->name,
                    now_text, plan->target, then_text);
    base_error_set_hint (error, "cast the version, or refresh %s fully", plan->target);
    return FALSE;
  }
  base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_SEQUENCING_TYPE_DRIFT,
                  "%s of flow %s is of type %s, the sequences recorded in %s are of type %s", clause, plan->name,
                  now_text, plan->target, then_text);
  base_error_set_hint (error, "the expression may change, its type may not; cast it, or refresh %s fully",
                       plan->target);
  return FALSE;
}

gboolean
autocdc_check_drift (AutoCdcPlan *plan, AutoCdcDomain *domain, GError **error)
{
  if (!check_keys (plan, domain, error))
    return FALSE;
  if (plan->type != domain->type) {
    base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_SCD_TYPE_DRIFT, "flow %s is %s, %s was kept as %s",
                    plan->name, autocdc_type_text (plan->type), plan->target, autocdc_type_text (domain->type));
    base_error_set_hint (error, "a full refresh of %s begins anew with the new type", plan->target);
    return FALSE;
  }
  if (plan->from_snapshot != domain->of_snapshots) {
    base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_SEQUENCING_TYPE_DRIFT,
                    plan->from_snapshot
                        ? "flow %s reads snapshots, %s was kept by events: its sequences are no versions"
                        : "flow %s reads events, %s was kept by snapshots: its versions are no sequences",
                    plan->name, plan->target);
    base_error_set_hint (error, "a full refresh of %s begins anew with the new source", plan->target);
    return FALSE;
  }
  return check_sequence (plan, "SEQUENCE BY", plan->sequence_type, domain->sequence_type, error) &&
         (!plan->system_type ||
          check_sequence (plan, "SYSTEM SEQUENCE BY", plan->system_type, domain->system_type, error)) &&
         check_tracking (plan, domain, error) && check_partial (plan, domain, error);
}

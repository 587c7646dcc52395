/* The clauses of a flow: which go together, which are run. */
#include "autocdc.h"
#include "base-error.h"

static gboolean
list_given (const char *const *list)
{
  return list && list[0];
}

/* The combinations of autocdc.md §2.3, in the order in which its table lists them. */
static gboolean
check_combinations (const AutoCdcFlow *flow, GError **error)
{
  AutoCdcType type = flow->type ? flow->type : AUTOCDC_SCD1;
  gboolean tracks = list_given (flow->track_history) || list_given (flow->track_except);
  guint n_ignore_null =
      (flow->ignore_null ? 1 : 0) + (flow->ignore_null_columns ? 1 : 0) + (flow->ignore_null_except ? 1 : 0);

  if (!list_given (flow->keys))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_EMPTY_KEYS, "flow %s names no key column", flow->name);
  if (!flow->sequence_by && !flow->from_snapshot)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_MISSING_SEQUENCE_BY,
                           "flow %s has no SEQUENCE BY: without it there is no telling which event is newer",
                           flow->name);
  if (list_given (flow->columns) && list_given (flow->except_columns))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST,
                           "flow %s gives both a list of columns and a list of excepted columns", flow->name);
  if (list_given (flow->track_history) && list_given (flow->track_except))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_BOTH_TRACK_HISTORY_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST,
                           "flow %s gives both a list of tracked columns and a list of excepted ones", flow->name);
  if (tracks && type != AUTOCDC_SCD2)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2,
                           "flow %s tracks history, which only SCD TYPE 2 keeps", flow->name);
  if (flow->truncate_when && type != AUTOCDC_SCD1)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_TRUNCATE_REQUIRES_SCD1,
                           "flow %s applies truncates, which only SCD TYPE 1 does", flow->name);
  if (n_ignore_null > 1)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_CONFLICTING_IGNORE_NULL_UPDATES_OPTIONS,
                           "flow %s gives more than one form of IGNORE NULL UPDATES", flow->name);
  if (flow->ignore_null_columns && !flow->ignore_null_columns[0])
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST,
                           "flow %s gives IGNORE NULL UPDATES an empty list", flow->name);
  if (flow->columns_to_update && (n_ignore_null > 0 || type == AUTOCDC_BITEMPORAL))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT,
                           "flow %s: COLUMNS TO UPDATE does not go with %s", flow->name,
                           n_ignore_null > 0 ? "IGNORE NULL UPDATES" : "BITEMPORAL");
  if ((type == AUTOCDC_BITEMPORAL) != (flow->system_sequence_by != NULL))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY,
                           type == AUTOCDC_BITEMPORAL ? "flow %s is BITEMPORAL and has no SYSTEM SEQUENCE BY"
                                                      : "flow %s has SYSTEM SEQUENCE BY and is not BITEMPORAL",
                           flow->name);
  return TRUE;
}

/* Clauses that are understood and not run. */
static gboolean
check_supported (const AutoCdcFlow *flow, GError **error)
{
  const struct {
    gboolean given;
    const char *clause;
  } clauses[] = {
    { flow->from_snapshot, "FROM SNAPSHOT" },
    { flow->type == AUTOCDC_BITEMPORAL, "STORED AS BITEMPORAL" },
    { flow->truncate_when != NULL, "APPLY AS TRUNCATE WHEN" },
    { flow->ignore_null || flow->ignore_null_columns || flow->ignore_null_except, "IGNORE NULL UPDATES" },
    { flow->columns_to_update != NULL, "COLUMNS TO UPDATE" },
    { flow->where != NULL, "WHERE" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (clauses); i++) {
    if (!clauses[i].given)
      continue;
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "flow %s: the AUTO CDC clause %s is not supported",
                    flow->name, clauses[i].clause);
    base_error_add_param (error, "feature", clauses[i].clause);
    return FALSE;
  }
  return TRUE;
}

gboolean
autocdc_flow_check (const AutoCdcFlow *flow, GError **error)
{
  return check_combinations (flow, error) && check_supported (flow, error);
}

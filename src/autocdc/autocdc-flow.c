/* The clauses of a flow: which go together, which are run. */
#include "autocdc-plan-private.h"
#include "base-error.h"

const char *
autocdc_flow_name (const AutoCdcFlow *flow)
{
  return flow->name ? flow->name : "(unnamed)";
}

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
  gboolean ignores_null = flow->ignore_null || flow->ignore_null_columns || flow->ignore_null_except;
  const struct {
    gboolean wrong;
    SluiceError code;
    const char *what, *hint;
  } combinations[] = {
    { !list_given (flow->keys), SLUICE_ERROR_AUTOCDC_EMPTY_KEYS, "names no key column",
      "KEYS (a, b) behind the source names the columns that make two events speak of one row" },
    { !flow->sequence_by && !flow->from_snapshot, SLUICE_ERROR_AUTOCDC_MISSING_SEQUENCE_BY,
      "has no SEQUENCE BY: without it there is no telling which event is newer",
      "SEQUENCE BY takes a column or an expression that grows with every event of a key, such as a time of change" },
    { list_given (flow->columns) && list_given (flow->except_columns),
      SLUICE_ERROR_AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST,
      "gives both a list of columns and a list of excepted columns", "leave one of them out" },
    { list_given (flow->track_history) && list_given (flow->track_except),
      SLUICE_ERROR_AUTOCDC_BOTH_TRACK_HISTORY_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST,
      "gives both a list of tracked columns and a list of excepted ones", "leave one of them out" },
    { (list_given (flow->track_history) || list_given (flow->track_except)) && type != AUTOCDC_SCD2,
      SLUICE_ERROR_AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2, "tracks history, which only SCD TYPE 2 keeps",
      "leave TRACK HISTORY ON out, or write STORED AS SCD TYPE 2" },
    { flow->truncate_when && type != AUTOCDC_SCD1, SLUICE_ERROR_AUTOCDC_TRUNCATE_REQUIRES_SCD1,
      "applies truncates, which only SCD TYPE 1 does",
      "leave APPLY AS TRUNCATE WHEN out, or write STORED AS SCD TYPE 1" },
    { (flow->ignore_null ? 1 : 0) + (flow->ignore_null_columns ? 1 : 0) + (flow->ignore_null_except ? 1 : 0) > 1,
      SLUICE_ERROR_AUTOCDC_CONFLICTING_IGNORE_NULL_UPDATES_OPTIONS, "gives more than one form of IGNORE NULL UPDATES",
      "leave all but one out" },
    { (flow->ignore_null_columns && !flow->ignore_null_columns[0]) ||
          (flow->ignore_null_except && !flow->ignore_null_except[0]),
      SLUICE_ERROR_AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST, "gives IGNORE NULL UPDATES an empty list",
      "name columns, or write IGNORE NULL UPDATES alone for all of them" },
    { flow->columns_to_update && ignores_null, SLUICE_ERROR_AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT,
      "has COLUMNS TO UPDATE, which does not go with IGNORE NULL UPDATES",
      "an event says what it writes either by its NULLs or by name: leave one of them out" },
    { flow->columns_to_update && type == AUTOCDC_BITEMPORAL, SLUICE_ERROR_AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT,
      "has COLUMNS TO UPDATE, which does not go with BITEMPORAL",
      "IGNORE NULL UPDATES does, for events whose NULLs say nothing" },
    { (type == AUTOCDC_BITEMPORAL) != (flow->system_sequence_by != NULL),
      SLUICE_ERROR_AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY,
      "has one of SYSTEM SEQUENCE BY and BITEMPORAL without the other",
      "SYSTEM SEQUENCE BY says when an event was known, which only STORED AS BITEMPORAL keeps" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (combinations); i++) {
    if (!combinations[i].wrong)
      continue;
    base_error_set (error, combinations[i].code, "flow %s %s", autocdc_flow_name (flow), combinations[i].what);
    base_error_set_hint (error, "%s", combinations[i].hint);
    return FALSE;
  }
  return TRUE;
}

/* What speaks of events does not go with FROM SNAPSHOT. */
static gboolean
check_snapshot_clauses (const AutoCdcFlow *flow, GError **error)
{
  const struct {
    gboolean given;
    const char *clause;
  } clauses[] = {
    { flow->sequence_by != NULL, "SEQUENCE BY" },
    { flow->delete_when != NULL, "APPLY AS DELETE WHEN" },
    { flow->truncate_when != NULL, "APPLY AS TRUNCATE WHEN" },
    { flow->ignore_null || flow->ignore_null_columns || flow->ignore_null_except, "IGNORE NULL UPDATES" },
    { flow->columns_to_update != NULL, "COLUMNS TO UPDATE" },
    { flow->where != NULL, "WHERE" },
    { flow->type == AUTOCDC_BITEMPORAL, "STORED AS BITEMPORAL" },
  };

  for (guint i = 0; flow->from_snapshot && i < G_N_ELEMENTS (clauses); i++) {
    if (!clauses[i].given)
      continue;
    base_error_set (error, SLUICE_ERROR_AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT,
                    "flow %s: %s speaks of change events, and FROM SNAPSHOT has none", autocdc_flow_name (flow),
                    clauses[i].clause);
    base_error_add_param (error, "clause", clauses[i].clause);
    return FALSE;
  }
  return TRUE;
}

gboolean
autocdc_flow_check (const AutoCdcFlow *flow, GError **error)
{
  return check_combinations (flow, error) && check_snapshot_clauses (flow, error);
}

char *
autocdc_column_name (const SqlExpr *expr, GError **error)
{
  if (expr->kind == SQL_EXPR_COLUMN && expr->u.column.name.n == 1)
    return g_strdup (expr->u.column.name.parts[0].text);
  if (expr->kind == SQL_EXPR_COLUMN || expr->kind == SQL_EXPR_FIELD)
    base_error_set (error, SLUICE_ERROR_AUTOCDC_MULTIPART_COLUMN_IDENTIFIER,
                    "this clause takes the name of a column, not a path; quote a name that has a dot in it");
  else
    base_error_set (error, SLUICE_ERROR_AUTOCDC_NON_COLUMN_IDENTIFIER,
                    "this clause takes the name of a column, not an expression");
  base_error_set_position (error, NULL, expr->position.line, expr->position.column, NULL);
  return NULL;
}

static const char *const *
names_of (const SqlIdentList *list, SqlArena *arena)
{
  const char **names = sql_arena_new0_n (arena, const char *, list->n + 1);

  for (guint i = 0; i < list->n; i++)
    names[i] = list->items[i].text;
  return names;
}

static const char *const *
chosen (const SqlColumnChoice *choice, SqlChoiceKind kind, SqlArena *arena)
{
  return choice->kind == kind ? names_of (&choice->columns, arena) : NULL;
}

AutoCdcFlow
autocdc_flow_from_sql (const SqlAutoCdc *clauses, const char *name, const char *target, SqlArena *arena)
{
  static const AutoCdcType types[] = {
    [SQL_STORED_AS_UNSET] = AUTOCDC_SCD1,
    [SQL_STORED_AS_SCD1] = AUTOCDC_SCD1,
    [SQL_STORED_AS_SCD2] = AUTOCDC_SCD2,
    [SQL_STORED_AS_BITEMPORAL] = AUTOCDC_BITEMPORAL,
  };

  return (AutoCdcFlow){
    .name = name,
    .target = target,
    .keys = names_of (&clauses->keys, arena),
    .sequence_by = clauses->sequence_by,
    .system_sequence_by = clauses->system_sequence_by,
    .delete_when = clauses->delete_when,
    .truncate_when = clauses->truncate_when,
    .where = clauses->where,
    .columns = chosen (&clauses->columns, SQL_CHOICE_LIST, arena),
    .except_columns = chosen (&clauses->columns, SQL_CHOICE_EXCEPT, arena),
    .track_history = chosen (&clauses->track_history, SQL_CHOICE_LIST, arena),
    .track_except = chosen (&clauses->track_history, SQL_CHOICE_EXCEPT, arena),
    .ignore_null = clauses->ignore_null_updates.kind == SQL_CHOICE_ALL,
    .ignore_null_columns = chosen (&clauses->ignore_null_updates, SQL_CHOICE_LIST, arena),
    .ignore_null_except = chosen (&clauses->ignore_null_updates, SQL_CHOICE_EXCEPT, arena),
    .columns_to_update = clauses->columns_to_update ? clauses->columns_to_update->text : NULL,
    .type = types[clauses->stored_as],
    .from_snapshot = clauses->snapshot,
  };
}

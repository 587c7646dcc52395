/* Several flows into one target: whether they agree, and what they give it together (autocdc.md §7.1). */
#include "autocdc-plan-private.h"
#include "base-error.h"
#include "base-text.h"

/* The column of both sources that one flow selects and the other does not; what one source alone has is no choice of columns. (nullable) */
static const char *
selected_by_one (const AutoCdcPlan *a, const AutoCdcPlan *b)
{
  for (guint i = 0; i < a->source_names->len; i++) {
    const char *name = a->source_names->pdata[i];

    if (autocdc_name_index (b->source_names, name) >= 0 &&
        (autocdc_plan_column (a, name) < 0) != (autocdc_plan_column (b, name) < 0))
      return name;
  }
  return NULL;
}

typedef struct {
  const GPtrArray *columns, *except; /* (nullable) */
} Choice;

/* A selected column that one choice covers and the other does not. (nullable) */
static const char *
covered_by_one (const AutoCdcPlan *a, Choice of_a, const AutoCdcPlan *b, Choice of_b, gboolean otherwise)
{
  for (guint i = 0; i < a->columns->len + b->columns->len; i++) {
    const AutoCdcColumn *column = i < a->columns->len ? a->columns->pdata[i] : b->columns->pdata[i - a->columns->len];

    if (!column->is_key && autocdc_choice_covers (of_a.columns, of_a.except, column->name, otherwise) !=
                               autocdc_choice_covers (of_b.columns, of_b.except, column->name, otherwise))
      return column->name;
  }
  return NULL;
}

static gboolean
keys_equal (const AutoCdcPlan *a, const AutoCdcPlan *b)
{
  if (a->keys->len != b->keys->len)
    return FALSE;
  for (guint i = 0; i < a->keys->len; i++) {
    const AutoCdcColumn *key = a->columns->pdata[g_array_index (a->keys, guint, i)];
    gboolean found = FALSE;

    for (guint j = 0; j < b->keys->len && !found; j++) {
      const AutoCdcColumn *other = b->columns->pdata[g_array_index (b->keys, guint, j)];

      found = base_text_equal_ignore_case (key->name, other->name) &&
              base_type_equal (key->type, other->type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY);
    }
    if (!found)
      return FALSE;
  }
  return TRUE;
}

static gboolean
same_optional_type (const BaseType *a, const BaseType *b)
{
  return a && b ? base_type_equal (a, b, BASE_TYPE_EQUAL_IGNORE_NULLABILITY) : a == b;
}

static gboolean
pair_agrees (const AutoCdcPlan *a, const AutoCdcPlan *b, GError **error)
{
  const char *selected = selected_by_one (a, b);
  const char *tracked = covered_by_one (a, (Choice){ a->track_columns, a->track_except }, b,
                                        (Choice){ b->track_columns, b->track_except }, TRUE);
  const char *ignored = covered_by_one (a, (Choice){ a->ignore_columns, a->ignore_except }, b,
                                        (Choice){ b->ignore_columns, b->ignore_except }, FALSE);
  gboolean ignores = a->ignore_columns || a->ignore_except, other_ignores = b->ignore_columns || b->ignore_except;
  const struct {
    gboolean agrees;
    SluiceError code;
    const char *what, *column;
  } checks[] = {
    { keys_equal (a, b), SLUICE_ERROR_AUTOCDC_INVALID_STATE_KEY_SCHEMA_DRIFT, "keys", NULL },
    { a->type == b->type, SLUICE_ERROR_AUTOCDC_INVALID_STATE_SCD_TYPE_DRIFT, "SCD type", NULL },
    { base_type_equal (a->sequence_type, b->sequence_type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY),
      SLUICE_ERROR_AUTOCDC_INVALID_STATE_SEQUENCING_TYPE_DRIFT, "type of the sequence", NULL },
    { same_optional_type (a->system_type, b->system_type), SLUICE_ERROR_AUTOCDC_INVALID_STATE_SEQUENCING_TYPE_DRIFT,
      "type of the system sequence", NULL },
    { !tracked, SLUICE_ERROR_AUTOCDC_INVALID_STATE_TRACK_HISTORY_DRIFT, "tracked columns", tracked },
    { !selected, SLUICE_ERROR_AUTOCDC_FLOWS_DISAGREE, "choice of columns", selected },
    { !ignored && ignores == other_ignores, SLUICE_ERROR_AUTOCDC_FLOWS_DISAGREE, "choice of columns to ignore NULL in",
      ignored },
    { !a->columns_to_update == !b->columns_to_update, SLUICE_ERROR_AUTOCDC_FLOWS_DISAGREE, "COLUMNS TO UPDATE", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (checks); i++) {
    const char *column = checks[i].column;

    if (checks[i].agrees)
      continue;
    base_error_set (error, checks[i].code, "flows %s and %s into %s differ in their %s%s%s", a->name, b->name,
                    a->target, checks[i].what, column ? ": " : "", column ? column : "");
    if (column)
      base_error_add_param (error, "columnName", column);
    base_error_set_hint (error,
                         "flows into one table have the same clauses; where the sources differ, a view makes them "
                         "alike");
    return FALSE;
  }
  return TRUE;
}

/* @all: (inout): with what @plan gives. */
static gboolean
unite (const AutoCdcPlan *plan, BaseType **all, GError **error)
{
  const char *differs = NULL;
  BaseType *both = autocdc_schema_unite (plan, *all, plan->target_schema, &differs);

  if (!both) {
    base_error_set (error, SLUICE_ERROR_AUTOCDC_FLOWS_DISAGREE, "flows into %s give the column %s different types",
                    plan->target, differs);
    base_error_add_param (error, "columnName", differs);
    base_error_set_hint (error, "cast the column to one type in views that the flows read");
    return FALSE;
  }
  base_type_unref (*all);
  *all = both;
  return TRUE;
}

gboolean
autocdc_plans_agree (AutoCdcPlan *const *plans, guint n_plans, BaseType **together, guint *differs, GError **error)
{
  g_autoptr (BaseType) all = base_type_ref (plans[0]->target_schema);

  for (guint i = 1; i < n_plans; i++) {
    *differs = i;
    if (!pair_agrees (plans[0], plans[i], error) || !unite (plans[i], &all, error))
      return FALSE;
  }
  for (guint i = 0; i < n_plans; i++) { /* what a later one added to a struct, an earlier one may have to leave out */
    *differs = i;
    if (!unite (plans[i], &all, error))
      return FALSE;
  }
  *together = g_steal_pointer (&all);
  return TRUE;
}

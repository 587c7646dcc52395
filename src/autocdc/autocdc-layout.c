/* A plan laid on a snapshot of its target: drift, schema evolution, fields of the memory. */
#include "autocdc-plan-private.h"
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "delta-widening.h"
#include "write-schema.h"

#include <string.h>

#define GENERATION_EXPRESSION "delta.generationExpression"
#define TYPE_WIDENING         "delta.enableTypeWidening"

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

static gboolean
same_type (const BaseType *a, const BaseType *b)
{
  return base_type_equal (a, b, BASE_TYPE_EQUAL_IGNORE_NULLABILITY | BASE_TYPE_EQUAL_IGNORE_CASE);
}

/* ---- drift ---- */

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
          same_type (key->type, domain->key_types->pdata[j]))
        g_array_append_val (ordered, column);
    }
    equal = ordered->len == j + 1;
  }
  if (equal) {
    g_array_unref (plan->keys);
    plan->keys = g_steal_pointer (&ordered);
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
                             "has %sCOLUMNS TO UPDATE, %s was kept with%s", plan->columns_to_update ? "" : "no ",
                             plan->target, domain->columns_to_update ? "" : "out");
  if (ignores != ignored_before)
    return set_choice_drift (plan, SLUICE_ERROR_AUTOCDC_INVALID_STATE_IGNORE_NULL_DRIFT, error,
                             "has %sIGNORE NULL UPDATES, %s was kept with%s", ignores ? "" : "no ", plan->target,
                             ignored_before ? "" : "out");
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

static gboolean
check_drift (AutoCdcPlan *plan, AutoCdcDomain *domain, GError **error)
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

/* ---- types of columns that both have ---- */

typedef enum {
  FIT_SAME,  /* the source's values fit the target's type, perhaps after a cast up or with new leaves */
  FIT_WIDER, /* the target must be widened */
  FIT_DRIFT,
} Fit;

static Fit fit_type (const BaseType *target, const BaseType *source, gboolean by_leaf, BaseType **merged);

static Fit
fit_struct (const BaseType *target, const BaseType *source, gboolean by_leaf, BaseType **merged)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  Fit worst = FIT_SAME;

  for (guint i = 0; i < base_type_n_fields (target); i++) {
    const BaseField *field = base_type_field (target, i);
    int index = base_type_field_index (source, field->name, TRUE);
    g_autoptr (BaseType) type = index < 0 && by_leaf ? base_type_ref (field->type) : NULL;
    Fit fit = type        ? FIT_SAME
              : index < 0 ? FIT_DRIFT
                          : fit_type (field->type, base_type_field (source, (guint) index)->type, by_leaf, &type);

    if (fit == FIT_DRIFT)
      return fit;
    worst = MAX (worst, fit);
    base_struct_builder_add (builder, field->name, type, field->nullable, field->metadata);
  }
  for (guint i = 0; i < base_type_n_fields (source); i++) {
    const BaseField *field = base_type_field (source, i);

    if (base_type_field_index (target, field->name, TRUE) < 0)
      base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
  }
  *merged = base_struct_builder_end (g_steal_pointer (&builder));
  return worst;
}

/* @by_leaf: leaves of structs are fields of their own, which a source may lose as it may lose columns.
 * @merged: the target's type afterwards, unless they do not fit. */
static Fit
fit_type (const BaseType *target, const BaseType *source, gboolean by_leaf, BaseType **merged)
{
  BaseTypeKind kind = base_type_kind (target);
  g_autoptr (BaseType) inner = NULL, key = NULL;
  Fit fit, key_fit;

  if (same_type (target, source) || base_type_kind (source) == BASE_TYPE_VOID ||
      delta_type_can_widen (source, target)) {
    *merged = base_type_ref (target);
    return FIT_SAME;
  }
  if (delta_type_can_widen (target, source)) {
    *merged = base_type_ref (source);
    return FIT_WIDER;
  }
  if (kind != base_type_kind (source))
    return FIT_DRIFT;
  if (kind == BASE_TYPE_STRUCT)
    return fit_struct (target, source, by_leaf, merged);
  if (kind == BASE_TYPE_ARRAY) {
    fit = fit_type (base_type_element (target), base_type_element (source), FALSE, &inner);
    if (fit != FIT_DRIFT)
      *merged = base_type_array (inner, TRUE);
    return fit;
  }
  if (kind != BASE_TYPE_MAP)
    return FIT_DRIFT;
  key_fit = fit_type (base_type_key (target), base_type_key (source), FALSE, &key);
  fit = fit_type (base_type_value (target), base_type_value (source), FALSE, &inner);
  fit = MAX (fit, key_fit);
  if (fit != FIT_DRIFT)
    *merged = base_type_map (key, inner, TRUE);
  return fit;
}

/* The type of the target's column afterwards. @may_widen: the table allows it. */
static BaseType *
fitted_type (const AutoCdcPlan *plan, const char *name, const BaseType *target, const BaseType *source,
             gboolean may_widen, GError **error)
{
  g_autoptr (BaseType) merged = NULL;
  gboolean by_leaf = autocdc_choice_covers (plan->ignore_columns, plan->ignore_except, name, FALSE);
  Fit fit = fit_type (target, source, by_leaf, &merged);
  g_autofree char *now = NULL, *then = NULL;

  if (fit == FIT_SAME || (fit == FIT_WIDER && may_widen))
    return g_steal_pointer (&merged);
  now = base_type_text (source);
  then = base_type_text (target);
  base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_COLUMN_TYPE_DRIFT,
                  "flow %s: column %s is of type %s now and of type %s in %s", plan->name, name, now, then,
                  plan->target);
  base_error_add_param (error, "columnName", name);
  if (fit == FIT_WIDER)
    base_error_set_hint (error,
                         "with the table property " TYPE_WIDENING " = true the target follows; without it, cast the "
                         "column in the source or refresh %s fully",
                         plan->target);
  return NULL;
}

/* ---- changed types, as Delta notes them ---- */

static void add_fitted (BaseStructBuilder *builder, const BaseField *field, const BaseType *type);

/* @to, which @from became. Leaves that changed are noted with @field, in whose type they are; those in a struct with the struct's own
 * fields. @path: (nullable): where below the field's type they stand. */
static BaseType *
noted_type (BaseField *field, const BaseType *from, const BaseType *to, const char *path)
{
  g_autofree char *element = g_strdup_printf ("%s%selement", path ? path : "", path ? "." : "");
  g_autofree char *key = g_strdup_printf ("%s%skey", path ? path : "", path ? "." : "");
  g_autofree char *value = g_strdup_printf ("%s%svalue", path ? path : "", path ? "." : "");
  g_autoptr (BaseType) inner = NULL, inner_key = NULL;

  if (same_type (from, to))
    return base_type_ref (to);
  if (base_type_kind (from) == BASE_TYPE_STRUCT) {
    g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

    for (guint i = 0; i < base_type_n_fields (to); i++) {
      const BaseField *after = base_type_field (to, i);
      int before = base_type_field_index (from, after->name, FALSE);

      if (before >= 0)
        add_fitted (builder, base_type_field (from, (guint) before), after->type);
      else
        base_struct_builder_add (builder, after->name, after->type, after->nullable, after->metadata);
    }
    return base_struct_builder_end (g_steal_pointer (&builder));
  }
  if (base_type_kind (from) == BASE_TYPE_ARRAY) {
    inner = noted_type (field, base_type_element (from), base_type_element (to), element);
    return base_type_array (inner, base_type_contains_null (to));
  }
  if (base_type_kind (from) == BASE_TYPE_MAP) {
    inner_key = noted_type (field, base_type_key (from), base_type_key (to), key);
    inner = noted_type (field, base_type_value (from), base_type_value (to), value);
    return base_type_map (inner_key, inner, base_type_contains_null (to));
  }
  json_t *metadata = delta_field_add_type_change (field, from, to, path);
  json_decref (field->metadata);
  field->metadata = metadata;
  return base_type_ref (to);
}

/* @field of the target with the type that it has after the batch. */
static void
add_fitted (BaseStructBuilder *builder, const BaseField *field, const BaseType *type)
{
  BaseField changed = *field;
  g_autoptr (BaseType) noted = NULL;

  changed.metadata = json_incref (field->metadata);
  noted = noted_type (&changed, field->type, type, NULL);
  base_struct_builder_add (builder, field->name, noted, field->nullable, changed.metadata);
  json_decref (changed.metadata);
}

/* ---- the schema after the batch ---- */

BaseType *
autocdc_schema_unite (const AutoCdcPlan *plan, const BaseType *a, const BaseType *b, const char **differs)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

  for (guint i = 0; i < base_type_n_fields (a); i++) {
    const BaseField *field = base_type_field (a, i);
    int other = base_type_field_index (b, field->name, TRUE);
    g_autoptr (BaseType) type = NULL;

    if (other < 0) {
      type = base_type_ref (field->type);
    } else if (fit_type (field->type, base_type_field (b, (guint) other)->type,
                         autocdc_choice_covers (plan->ignore_columns, plan->ignore_except, field->name, FALSE),
                         &type) == FIT_DRIFT) {
      *differs = field->name;
      return NULL;
    }
    base_struct_builder_add (builder, field->name, type, field->nullable, field->metadata);
  }
  for (guint i = 0; i < base_type_n_fields (b); i++) {
    const BaseField *field = base_type_field (b, i);

    if (base_type_field_index (a, field->name, TRUE) < 0)
      base_struct_builder_add (builder, field->name, field->type, field->nullable, field->metadata);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static void
add_new_columns (const BaseType *given, const BaseType *present, BaseStructBuilder *builder)
{
  for (guint i = 0; i < base_type_n_fields (given); i++) {
    const BaseField *field = base_type_field (given, i);

    if (base_type_field_index (present, field->name, TRUE) < 0)
      base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
  }
}

/* A target with memory: what it has, plus what is new; intervals stay last. */
static BaseType *
evolved_schema (const AutoCdcPlan *plan, const BaseType *given, const BaseType *present, gboolean may_widen,
                GError **error)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  gboolean added = FALSE;

  for (guint i = 0; i < base_type_n_fields (present); i++) {
    const BaseField *field = base_type_field (present, i);
    int source = base_type_field_index (given, field->name, TRUE);
    g_autoptr (BaseType) type = NULL;

    if (autocdc_is_interval_column (plan, field->name) && !added) {
      add_new_columns (given, present, builder);
      added = TRUE;
    }
    if (source < 0)
      type = base_type_ref (field->type);
    else if (!(type = fitted_type (plan, field->name, field->type, base_type_field (given, (guint) source)->type,
                                   may_widen, error)))
      return NULL;
    add_fitted (builder, field, type);
  }
  if (!added)
    add_new_columns (given, present, builder);
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static void
add_inferred (BaseStructBuilder *builder, const BaseType *present, const char *name, const BaseType *type)
{
  int index = present ? base_type_field_index (present, name, TRUE) : -1;
  const BaseField *field = index >= 0 ? base_type_field (present, (guint) index) : NULL;

  if (field && base_type_equal (field->type, type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
    base_struct_builder_add (builder, field->name, field->type, field->nullable, field->metadata);
  else
    base_struct_builder_add (builder, name, type, TRUE, NULL);
}

/* What the flows into the target give, without intervals: what this flow gives, within what they gave together. */
static BaseType *
given_columns (const AutoCdcPlan *plan, GError **error)
{
  g_autoptr (BaseStructBuilder) own = base_struct_builder_new (), others = base_struct_builder_new ();
  g_autoptr (BaseType) mine = NULL, theirs = NULL;
  const char *differs;
  BaseType *both;

  for (guint i = 0; i < plan->columns->len; i++) {
    const AutoCdcColumn *column = plan->columns->pdata[i];

    base_struct_builder_add (own, column->name, column->type, TRUE, NULL);
  }
  mine = base_struct_builder_end (g_steal_pointer (&own));
  if (!plan->together)
    return g_steal_pointer (&mine);
  for (guint i = 0; i < base_type_n_fields (plan->together); i++) {
    const BaseField *field = base_type_field (plan->together, i);

    if (!autocdc_is_interval_column (plan, field->name) && !write_generated_is (field))
      base_struct_builder_add (others, field->name, field->type, TRUE, NULL);
  }
  theirs = base_struct_builder_end (g_steal_pointer (&others));
  if (!(both = autocdc_schema_unite (plan, theirs, mine, &differs)))
    base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_COLUMN_TYPE_DRIFT,
                    "flow %s: column %s is of another type than other flows give it to %s", plan->name, differs,
                    plan->target);
  return both;
}

/* An empty target: what the flow says. Columns that the table has already keep what their metadata says. */
static BaseType *
inferred_schema (const AutoCdcPlan *plan, const BaseType *given, const BaseType *present)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  const char *const *intervals;
  guint n_intervals = autocdc_interval_columns (plan->type, &intervals);

  for (guint i = 0; i < base_type_n_fields (given); i++) {
    const BaseField *field = base_type_field (given, i);

    add_inferred (builder, present, field->name, field->type);
  }
  for (guint i = 0; i < n_intervals; i++)
    add_inferred (builder, present, intervals[i], i < 2 ? plan->sequence_type : plan->system_type);
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static gboolean
refuse_declared (const AutoCdcPlan *plan, const char *column, const char *what, GError **error)
{
  base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                  "%s declares the column %s, %s", plan->target, column, what);
  base_error_set_hint (error, "a target declares the columns that its flows give, with their types, and no others but "
                              "generated ones");
  return FALSE;
}

/* A declared column that the table computes. @inferred: (nullable): the column of that name that there is otherwise. */
static gboolean
check_generated (const AutoCdcLayout *layout, const BaseField *field, const BaseField *inferred, GError **error)
{
  const AutoCdcPlan *plan = layout->plan;
  const char *expression = base_json_string (field->metadata, GENERATION_EXPRESSION);

  if (inferred && !write_generated_is (inferred))
    return refuse_declared (plan, field->name, "which the table computes, and a flow gives it too", error);
  if (layout->is_new || (inferred && same_type (field->type, inferred->type) &&
                         g_strcmp0 (base_json_string (inferred->metadata, GENERATION_EXPRESSION), expression) == 0))
    return TRUE;
  refuse_declared (plan, field->name,
                   inferred ? "which the table computes in another way" : "which the table does not have", error);
  base_error_set_hint (error, "a full refresh of %s makes it", plan->target);
  return FALSE;
}

static gboolean
check_declared (const AutoCdcLayout *layout, const BaseType *schema, GError **error)
{
  const AutoCdcPlan *plan = layout->plan;
  const BaseType *declared = plan->declared;

  for (guint i = 0; i < base_type_n_fields (declared); i++) {
    const BaseField *field = base_type_field (declared, i);
    int index = base_type_field_index (schema, field->name, TRUE);
    const BaseField *inferred = index >= 0 ? base_type_field (schema, (guint) index) : NULL;
    g_autofree char *what = NULL, *type = NULL, *other = NULL;

    if (write_generated_is (field)) {
      if (!check_generated (layout, field, inferred, error))
        return FALSE;
      continue;
    }
    if (inferred && same_type (field->type, inferred->type))
      continue;
    type = base_type_text (field->type);
    other = inferred ? base_type_text (inferred->type) : NULL;
    what = inferred ? g_strdup_printf ("of type %s, and flow %s gives %s", type, plan->name, other)
                    : g_strdup_printf ("which flow %s does not give", plan->name);
    return refuse_declared (plan, field->name, what, error);
  }
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const char *name = base_type_field (schema, i)->name;

    if (base_type_field_index (declared, name, TRUE) < 0) {
      g_autofree char *type = base_type_text (base_type_field (schema, i)->type);

      base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                      "%s does not declare the column %s, which flow %s gives", plan->target, name, plan->name);
      base_error_set_hint (error,
                           autocdc_is_interval_column (plan, name)
                               ? "declare `%s` %s too, or leave the columns out of CREATE STREAMING TABLE"
                               : "declare `%s` %s too, or leave it out by COLUMNS * EXCEPT",
                           name, type);
      return FALSE;
    }
  }
  return TRUE;
}

/* The declared order, names and nullability; metadata of columns that are there already. */
static BaseType *
declared_schema (const AutoCdcPlan *plan, const BaseType *inferred)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

  for (guint i = 0; i < base_type_n_fields (plan->declared); i++) {
    const BaseField *field = base_type_field (plan->declared, i);
    int index = base_type_field_index (inferred, field->name, TRUE);
    json_t *metadata = index >= 0 ? base_type_field (inferred, (guint) index)->metadata : NULL;

    base_struct_builder_add (builder, field->name, field->type, field->nullable, metadata ? metadata : field->metadata);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

/* Columns that are there already and change their types: the hashes of values that rows hold say nothing any more. */
static gboolean
changes_types (const BaseType *present, const BaseType *schema)
{
  for (guint i = 0; i < base_type_n_fields (present); i++) {
    int index = base_type_field_index (schema, base_type_field (present, i)->name, TRUE);

    if (index >= 0 && !same_type (base_type_field (present, i)->type, base_type_field (schema, (guint) index)->type))
      return TRUE;
  }
  return FALSE;
}

static gboolean
find_schema (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error)
{
  const AutoCdcPlan *plan = layout->plan;
  const BaseType *present = snapshot ? delta_snapshot_schema (snapshot) : NULL;
  gboolean may_widen =
      plan->may_widen || (snapshot && delta_metadata_bool (delta_snapshot_metadata (snapshot), TYPE_WIDENING, FALSE));
  g_autoptr (BaseType) given = given_columns (plan, error);
  g_autoptr (BaseType) schema = NULL;

  if (!given)
    return FALSE;
  schema =
      layout->is_new ? inferred_schema (plan, given, present) : evolved_schema (plan, given, present, may_widen, error);
  if (!schema || (plan->declared && !check_declared (layout, schema, error)))
    return FALSE;
  layout->schema = layout->is_new && plan->declared ? declared_schema (plan, schema) : g_steal_pointer (&schema);
  layout->schema_changed = !present || !base_type_equal (present, layout->schema, BASE_TYPE_EQUAL_METADATA);
  if (!layout->is_new && autocdc_domain_hides (layout->domain) && changes_types (present, layout->schema))
    autocdc_domain_renew_hash (layout->domain);
  return TRUE;
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

/* Keys and intervals must be there as the flow has them; other columns may come and go as in any target. */
static gboolean
begin_adoption (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error)
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

    if (column >= 0 && same_type (base_type_field (present, (guint) column)->type, types->pdata[i]))
      continue;
    return base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                           "%s is to be adopted as the target of flow %s and has no column %s of type %s", plan->target,
                           plan->name, (char *) names->pdata[i], type);
  }
  autocdc_domain_begin_statement (layout->domain);
  return TRUE;
}

/* Its rows author the columns that they have. */
static void
count_adopted (AutoCdcLayout *layout, const BaseType *present)
{
  for (guint i = 0; i < layout->fields->len; i++)
    if (base_type_field_index (present, ((char **) layout->domain->fields->pdata[i])[0], TRUE) >= 0)
      layout->domain->n_adopted = i + 1;
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
    return check_drift (layout->plan, layout->domain, error);
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
    if (layout->adopts && !begin_adoption (layout, snapshot, error))
      return FALSE;
  }
  record_choices (layout);
  if (!find_schema (layout, snapshot, error) || !find_fields (layout, error))
    return FALSE;
  if (snapshot)
    find_partitions (layout, snapshot);
  if (layout->adopts)
    count_adopted (layout, delta_snapshot_schema (snapshot));
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

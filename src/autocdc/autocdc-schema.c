/* The schema that a target has after the next batch: what it has, what flows give, what its author declared (autocdc.md §4, §5.9).
 *
 * Types of columns that are there follow their source where Delta can widen them and the table allows it; each change
 * is noted as Delta notes it.
 */
#include "autocdc-plan-private.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-metadata.h"
#include "delta-widening.h"
#include "write-schema.h"

#define GENERATION_EXPRESSION "delta.generationExpression"
#define TYPE_WIDENING         "delta.enableTypeWidening"

gboolean
autocdc_same_type (const BaseType *a, const BaseType *b)
{
  return base_type_equal (a, b, BASE_TYPE_EQUAL_IGNORE_NULLABILITY | BASE_TYPE_EQUAL_IGNORE_CASE);
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

  if (autocdc_same_type (target, source) || base_type_kind (source) == BASE_TYPE_VOID ||
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
  else
    base_error_set_hint (error, "cast the column in a view that the flow reads, or refresh %s fully", plan->target);
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

  if (autocdc_same_type (from, to))
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
  if (!(both = autocdc_schema_unite (plan, theirs, mine, &differs))) {
    base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_COLUMN_TYPE_DRIFT,
                    "flow %s: column %s is of another type than other flows give it to %s", plan->name, differs,
                    plan->target);
    base_error_set_hint (error, "cast the column to one type in views that the flows read");
  }
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
  if (layout->is_new || (inferred && autocdc_same_type (field->type, inferred->type) &&
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
    if (inferred && autocdc_same_type (field->type, inferred->type))
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

    if (index >= 0 &&
        !autocdc_same_type (base_type_field (present, i)->type, base_type_field (schema, (guint) index)->type))
      return TRUE;
  }
  return FALSE;
}

gboolean
autocdc_find_schema (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error)
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

/* Clauses against the schema of the source. */
#include "autocdc-plan-private.h"
#include "autocdc-snapshot.h"
#include "base-error.h"
#include "base-text.h"
#include "sql-build.h"
#include "sql-print.h"
#include "write-schema.h"

#include <string.h>

#define RESERVED_PREFIX "__autocdc_"

static void
column_free (AutoCdcColumn *column)
{
  g_free (column->name);
  base_type_unref (column->type);
  g_free (column);
}

AutoCdcPlan *
autocdc_plan_ref (AutoCdcPlan *plan)
{
  g_atomic_int_inc (&plan->ref_count);
  return plan;
}

void
autocdc_plan_unref (AutoCdcPlan *plan)
{
  if (!plan || !g_atomic_int_dec_and_test (&plan->ref_count))
    return;
  g_free (plan->name);
  g_free (plan->target);
  g_ptr_array_unref (plan->columns);
  g_array_unref (plan->keys);
  relation_plan_unref (plan->events);
  base_type_unref (plan->sequence_type);
  g_free (plan->where);
  g_clear_pointer (&plan->where_columns, g_ptr_array_unref);
  base_type_unref (plan->system_type);
  g_clear_pointer (&plan->track_columns, g_ptr_array_unref);
  g_clear_pointer (&plan->track_except, g_ptr_array_unref);
  g_clear_pointer (&plan->ignore_columns, g_ptr_array_unref);
  g_clear_pointer (&plan->ignore_except, g_ptr_array_unref);
  g_free (plan->columns_to_update);
  g_clear_pointer (&plan->source_names, g_ptr_array_unref);
  g_clear_pointer (&plan->chosen, g_ptr_array_unref);
  g_clear_pointer (&plan->excepted, g_ptr_array_unref);
  base_type_unref (plan->declared);
  base_type_unref (plan->together);
  base_type_unref (plan->target_schema);
  g_free (plan);
}

const BaseType *
autocdc_plan_target_schema (const AutoCdcPlan *plan)
{
  return plan->target_schema;
}

AutoCdcType
autocdc_plan_type (const AutoCdcPlan *plan)
{
  return plan->type;
}

/* Of the events' query: the last one. */
static guint
system_column (const AutoCdcPlan *plan)
{
  return base_type_n_fields (relation_plan_schema (plan->events)) - 1;
}

char *
autocdc_plan_warning (const AutoCdcPlan *plan)
{
  gboolean sequence, system;

  if (plan->from_snapshot)
    return NULL;
  sequence = relation_plan_column_tells_time (plan->events, plan->columns->len);
  system = plan->system_type && relation_plan_column_tells_time (plan->events, system_column (plan));
  if (!sequence && !system)
    return NULL;
  return g_strdup_printf ("%s of flow '%s' comes from the clock: events are ordered by when they are read, and %s "
                          "then. Use a time or number that the source gives its events.",
                          sequence ? "SEQUENCE BY" : "SYSTEM SEQUENCE BY", plan->name,
                          sequence ? "history begins" : "are known since");
}

const char *
autocdc_type_text (AutoCdcType type)
{
  static const char *const texts[] = {
    [AUTOCDC_SCD1] = "SCD TYPE 1", [AUTOCDC_SCD2] = "SCD TYPE 2", [AUTOCDC_BITEMPORAL] = "BITEMPORAL"
  };

  return texts[type];
}

guint
autocdc_interval_columns (AutoCdcType type, const char *const **names)
{
  static const char *const all[] = { AUTOCDC_START_AT, AUTOCDC_END_AT, "__SYSTEM_START_AT", "__SYSTEM_END_AT" };

  if (names)
    *names = all;
  return type == AUTOCDC_BITEMPORAL ? 4 : type == AUTOCDC_SCD2 ? 2 : 0;
}

gboolean
autocdc_rows_hold (const AutoCdcPlan *plan)
{
  return plan->type != AUTOCDC_BITEMPORAL;
}

gboolean
autocdc_is_interval_column (const AutoCdcPlan *plan, const char *name)
{
  const char *const *names;
  guint n = autocdc_interval_columns (plan->type, &names);

  for (guint i = 0; i < n; i++)
    if (base_text_equal_ignore_case (names[i], name))
      return TRUE;
  return FALSE;
}

int
autocdc_plan_column (const AutoCdcPlan *plan, const char *name)
{
  for (guint i = 0; i < plan->columns->len; i++)
    if (base_text_equal_ignore_case (((AutoCdcColumn *) plan->columns->pdata[i])->name, name))
      return (int) i;
  return -1;
}

/* NULL for a clause that was not given or is empty. */
static GPtrArray *
copy_names (const char *const *names)
{
  GPtrArray *copy;

  if (!names || !names[0])
    return NULL;
  copy = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; names[i]; i++)
    g_ptr_array_add (copy, g_strdup (names[i]));
  return copy;
}

/* ---- names ---- */

static char *
names_text (const BaseType *schema)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < base_type_n_fields (schema); i++)
    g_string_append_printf (text, "%s`%s`", i ? ", " : "", base_type_field (schema, i)->name);
  return g_string_free (text, FALSE);
}

/* Every name of a clause must be a column of @schema. @more: (nullable): a second place to look. */
static gboolean
check_known (const AutoCdcPlan *plan, const GPtrArray *names, const char *clause, const BaseType *schema,
             const BaseType *more, GError **error)
{
  g_autoptr (GString) missing = g_string_new (NULL);
  g_autofree char *available = NULL;

  for (guint i = 0; names && i < names->len; i++) {
    if (base_type_field_index (schema, names->pdata[i], TRUE) >= 0 ||
        (more && base_type_field_index (more, names->pdata[i], TRUE) >= 0))
      continue;
    g_string_append_printf (missing, "%s`%s`", missing->len ? ", " : "", (char *) names->pdata[i]);
  }
  if (missing->len == 0)
    return TRUE;
  available = names_text (schema);
  base_error_set (error, SLUICE_ERROR_AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA,
                  "flow %s: %s names %s, which is not among the columns %s", plan->name, clause, missing->str,
                  available);
  base_error_add_param (error, "missingColumns", missing->str);
  base_error_add_param (error, "availableColumns", available);
  base_error_set_hint (error, more ? "names here are those of columns that the target has or gets"
                                   : "names here are those of columns of the source; backticks allow any character");
  return FALSE;
}

static gboolean
refuse_reserved (const AutoCdcPlan *plan, const char *name, SluiceError code, const char *why, GError **error)
{
  base_error_set (error, code, "flow %s: the source has a column %s, %s", plan->name, name, why);
  base_error_add_param (error, "columnName", name);
  base_error_set_hint (error, "rename it in a view that the flow reads, or leave it out by COLUMNS * EXCEPT (%s)",
                       name);
  return FALSE;
}

/* Columns that the target would have. */
static gboolean
check_reserved_names (const AutoCdcPlan *plan, GError **error)
{
  for (guint i = 0; i < plan->columns->len; i++) {
    const char *name = ((AutoCdcColumn *) plan->columns->pdata[i])->name;

    if (g_ascii_strncasecmp (name, RESERVED_PREFIX, strlen (RESERVED_PREFIX)) == 0)
      return refuse_reserved (plan, name, SLUICE_ERROR_AUTOCDC_RESERVED_COLUMN_NAME_PREFIX_CONFLICT,
                              "and names that begin with " RESERVED_PREFIX " are AUTO CDC's own", error);
    if (autocdc_is_interval_column (plan, name)) {
      g_autofree char *why = g_strdup_printf ("which %s adds to the target", autocdc_type_text (plan->type));

      return refuse_reserved (plan, name, SLUICE_ERROR_AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT, why, error);
    }
  }
  return TRUE;
}

static gboolean
check_source_names (const AutoCdcPlan *plan, const BaseType *schema, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const char *name = base_type_field (schema, i)->name;

    for (guint j = 0; j < i; j++) {
      if (!base_text_equal_ignore_case (name, base_type_field (schema, j)->name))
        continue;
      base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS,
                      "flow %s: the source has the column %s twice (names are compared without case)", plan->name,
                      name);
      base_error_set_hint (error, "rename one of them in a view that the flow reads");
      return FALSE;
    }
  }
  return TRUE;
}

static AutoCdcColumn *
add_column (AutoCdcPlan *plan, const char *name, const BaseType *type)
{
  AutoCdcColumn *column = g_new0 (AutoCdcColumn, 1);

  column->name = g_strdup (name);
  column->type = write_schema_plain (type); /* what its source notes of its leaves is not the target's */
  g_ptr_array_add (plan->columns, column);
  return column;
}

static gboolean
select_columns (AutoCdcPlan *plan, const BaseType *schema, GError **error)
{
  if (!check_known (plan, plan->chosen, "COLUMNS", schema, NULL, error) ||
      !check_known (plan, plan->excepted, "COLUMNS * EXCEPT", schema, NULL, error))
    return FALSE;
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);

    if (plan->chosen
            ? autocdc_name_index (plan->chosen, field->name) < 0
            : autocdc_name_index (plan->excepted, field->name) >= 0 ||
                  (plan->columns_to_update && base_text_equal_ignore_case (field->name, plan->columns_to_update)))
      continue;
    add_column (plan, field->name, field->type);
  }
  return TRUE;
}

static gboolean
find_keys (AutoCdcPlan *plan, const char *const *keys, const BaseType *schema, GError **error)
{
  for (guint i = 0; keys[i]; i++) {
    int column = autocdc_plan_column (plan, keys[i]);

    if (column < 0) {
      gboolean dropped = base_type_field_index (schema, keys[i], TRUE) >= 0;
      g_autofree char *available = names_text (schema);

      base_error_set (error, SLUICE_ERROR_AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA, "flow %s: the key %s is %s", plan->name,
                      keys[i], dropped ? "dropped by COLUMNS" : "no column of the source");
      base_error_add_param (error, "keyColumnName", keys[i]);
      if (dropped)
        base_error_set_hint (error, "rows of the target are found by their keys: COLUMNS must keep all of them");
      else
        base_error_set_hint (error, "the source has the columns %s", available);
      return FALSE;
    }
    AutoCdcColumn *found = plan->columns->pdata[column];

    if (!base_type_is_orderable (found->type)) {
      g_autofree char *type = base_type_text (found->type);

      base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "flow %s: the key %s is of type %s, which has no order",
                      plan->name, keys[i], type);
      base_error_set_hint (error, "a view that the flow reads may make a key of it: to_json() of a MAP, or its parts");
      return FALSE;
    }
    if (found->is_key)
      continue; /* named twice */
    found->is_key = TRUE;
    g_array_append_val (plan->keys, column);
  }
  return TRUE;
}

/* ---- expressions ---- */

static gboolean
refuse_chance (const AutoCdcPlan *plan, const char *clause, const SqlExpr *expr, const char *hint, GError **error)
{
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "flow %s: %s gives another value each time it is asked",
                  plan->name, clause);
  base_error_set_hint (error, "%s", hint);
  sql_position_add_to_error (&expr->position, error);
  return FALSE;
}

/* Returns: (transfer full): the type of a sequence. */
static BaseType *
bind_sequence (AutoCdcPlan *plan, const char *clause, const SqlExpr *sequence, const BaseType *schema,
               const RelationContext *context, GError **error)
{
  gboolean deterministic = TRUE;
  g_autoptr (BaseType) type = relation_expr_type (sequence, schema, NULL, &deterministic, context, error);
  g_autofree char *text = NULL;

  if (!type)
    return NULL;
  if (!deterministic) {
    refuse_chance (plan, clause, sequence,
                   "an order must be that of the events: take a column of the source, or what follows from one", error);
    return NULL;
  }
  if (base_type_kind (type) != BASE_TYPE_VOID && base_type_is_orderable (type))
    return write_schema_plain (type);
  text = base_type_text (type);
  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_NON_ORDERABLE_SEQUENCE,
                  "flow %s: %s is of type %s, which has no order", plan->name, clause, text);
  base_error_add_param (error, "dataType", text);
  base_error_set_hint (error,
                       "numbers, texts, bytes, dates, times and intervals have one, and STRUCT and ARRAY of such");
  sql_position_add_to_error (&sequence->position, error);
  return NULL;
}

static gboolean
bind_sequences (AutoCdcPlan *plan, const AutoCdcFlow *flow, const BaseType *schema, const RelationContext *context,
                GError **error)
{
  if (plan->from_snapshot) {
    plan->sequence_type = write_schema_plain (flow->version_type);
    return autocdc_version_type_check (plan->sequence_type, plan->name, error);
  }
  plan->sequence_type = bind_sequence (plan, "SEQUENCE BY", flow->sequence_by, schema, context, error);
  if (!plan->sequence_type || !flow->system_sequence_by)
    return plan->sequence_type != NULL;
  plan->system_type = bind_sequence (plan, "SYSTEM SEQUENCE BY", flow->system_sequence_by, schema, context, error);
  return plan->system_type != NULL;
}

static gboolean
check_condition (const AutoCdcPlan *plan, const char *clause, const SqlExpr *condition, const BaseType *schema,
                 const RelationContext *context, GError **error)
{
  g_autoptr (BaseType) type = NULL;
  g_autofree char *text = NULL;
  gboolean deterministic = TRUE;

  if (!condition)
    return TRUE;
  if (!(type = relation_expr_type (condition, schema, NULL, &deterministic, context, error)))
    return FALSE;
  if (!deterministic)
    return refuse_chance (plan, clause, condition,
                          "a batch that comes again must say the same: ask a column of the source", error);
  if (base_type_kind (type) == BASE_TYPE_BOOLEAN)
    return TRUE;
  text = base_type_text (type);
  base_error_set (error, SLUICE_ERROR_DATATYPE_MISMATCH_FILTER_NOT_BOOLEAN,
                  "flow %s: %s is of type %s, not a condition", plan->name, clause, text);
  base_error_set_hint (error, "compare it with a value, such as operation = 'DELETE'");
  sql_position_add_to_error (&condition->position, error);
  return FALSE;
}

/* The column whose arrays name the columns that an event writes. */
static gboolean
check_columns_to_update (const AutoCdcPlan *plan, const BaseType *schema, GError **error)
{
  g_autoptr (GPtrArray) names = NULL;
  g_autofree char *text = NULL;
  const BaseType *type;

  if (!plan->columns_to_update)
    return TRUE;
  names = copy_names ((const char *const[]){ plan->columns_to_update, NULL });
  if (!check_known (plan, names, "COLUMNS TO UPDATE", schema, NULL, error))
    return FALSE;
  type = base_type_field (schema, (guint) base_type_field_index (schema, plan->columns_to_update, TRUE))->type;
  if (base_type_kind (type) == BASE_TYPE_ARRAY && base_type_kind (base_type_element (type)) == BASE_TYPE_STRING)
    return TRUE;
  text = base_type_text (type);
  base_error_set (error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                  "flow %s: the column %s of COLUMNS TO UPDATE is of type %s, not an ARRAY<STRING> of names",
                  plan->name, plan->columns_to_update, text);
  base_error_set_hint (error, "a view that the flow reads may make one: split(%s, ',')", plan->columns_to_update);
  return FALSE;
}

static gboolean
keep_where (AutoCdcPlan *plan, const SqlExpr *condition, const BaseType *schema, const RelationContext *context,
            GError **error)
{
  g_autoptr (GArray) columns = relation_expr_columns (condition, schema, context, error);

  if (!columns)
    return FALSE;
  plan->where = sql_print_expression (condition);
  plan->where_columns = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < columns->len; i++)
    g_ptr_array_add (plan->where_columns, g_strdup (base_type_field (schema, g_array_index (columns, guint, i))->name));
  return TRUE;
}

static gboolean
bind_events (AutoCdcPlan *plan, const AutoCdcFlow *flow, RelationPlan *source, const RelationContext *context,
             GError **error)
{
  BaseType *schema = relation_plan_schema (source);
  g_autoptr (GArray) items = g_array_new (FALSE, TRUE, sizeof (RelationItem));
  RelationItem sequence = { .name = "sequence", .expr = flow->sequence_by };
  const RelationItem conditions[] = { { .name = "delete", .expr = flow->delete_when },
                                      { .name = "truncate", .expr = flow->truncate_when },
                                      { .name = "where", .expr = flow->where },
                                      { .name = "system", .expr = flow->system_sequence_by } };

  for (guint i = 0; i < plan->columns->len; i++) {
    const AutoCdcColumn *column = plan->columns->pdata[i];
    RelationItem item = { .column = (guint) base_type_field_index (schema, column->name, FALSE) };

    g_array_append_val (items, item);
  }
  if (!plan->from_snapshot)
    g_array_append_val (items, sequence);
  for (guint i = 0; i < G_N_ELEMENTS (conditions); i++)
    if (conditions[i].expr)
      g_array_append_val (items, conditions[i]);
  plan->deletes = flow->delete_when != NULL;
  plan->truncates = flow->truncate_when != NULL;
  if (plan->columns_to_update) {
    RelationItem update = { .column = (guint) base_type_field_index (schema, plan->columns_to_update, TRUE) };

    g_array_append_val (items, update);
  }
  plan->events = relation_plan_project (source, (RelationItem *) (gpointer) items->data, items->len, context, error);
  /* An expression over the rows of a batch, such as a window function, would say another thing in another batch. */
  return plan->events && relation_plan_check_append (plan->events, error);
}

/* ---- the plan ---- */

static gboolean
analyse (AutoCdcPlan *plan, const AutoCdcFlow *flow, RelationPlan *source, DeltaSnapshot *target,
         const RelationContext *context, GError **error)
{
  BaseType *schema = relation_plan_schema (source);
  g_autoptr (AutoCdcLayout) layout = NULL;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (BaseType) selected = NULL;
  BaseType *present = target ? delta_snapshot_schema (target) : NULL;

  plan->source_names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    g_ptr_array_add (plan->source_names, g_strdup (base_type_field (schema, i)->name));
  if (!check_source_names (plan, schema, error) || !select_columns (plan, schema, error) ||
      !check_reserved_names (plan, error) || !find_keys (plan, flow->keys, schema, error))
    return FALSE;
  for (guint i = 0; i < plan->columns->len; i++) {
    const AutoCdcColumn *column = plan->columns->pdata[i];

    base_struct_builder_add (builder, column->name, column->type, TRUE, NULL);
  }
  selected = base_struct_builder_end (g_steal_pointer (&builder));
  if (!check_known (plan, plan->track_columns, "TRACK HISTORY ON", selected, present, error) ||
      !check_known (plan, plan->track_except, "TRACK HISTORY ON * EXCEPT", selected, present, error) ||
      !check_known (plan, plan->ignore_columns, "IGNORE NULL UPDATES ON", selected, present, error) ||
      !check_known (plan, plan->ignore_except, "IGNORE NULL UPDATES ON * EXCEPT", selected, present, error) ||
      !check_columns_to_update (plan, schema, error) || !bind_sequences (plan, flow, schema, context, error) ||
      !check_condition (plan, "APPLY AS DELETE WHEN", flow->delete_when, schema, context, error) ||
      !check_condition (plan, "APPLY AS TRUNCATE WHEN", flow->truncate_when, schema, context, error) ||
      !check_condition (plan, "WHERE", flow->where, schema, context, error) ||
      (flow->where && !keep_where (plan, flow->where, schema, context, error)) ||
      !bind_events (plan, flow, source, context, error))
    return FALSE;
  if (!(layout = autocdc_layout_new (plan, target, error)))
    return FALSE;
  plan->target_schema = base_type_ref (layout->schema);
  return TRUE;
}

AutoCdcPlan *
autocdc_plan_new (const AutoCdcFlow *flow, RelationPlan *source, DeltaSnapshot *target, const BaseType *declared,
                  const RelationContext *context, GError **error)
{
  g_autoptr (AutoCdcPlan) plan = NULL;

  if (!source) {
    base_error_set (error, SLUICE_ERROR_AUTOCDC_MISSING_SOURCE, "flow %s has no source", autocdc_flow_name (flow));
    return NULL;
  }
  if (!autocdc_flow_check (flow, error))
    return NULL;
  plan = g_new0 (AutoCdcPlan, 1);
  plan->ref_count = 1;
  plan->name = g_strdup (autocdc_flow_name (flow));
  plan->target = g_strdup (flow->target ? flow->target : plan->name);
  plan->type = flow->type ? flow->type : AUTOCDC_SCD1;
  plan->from_snapshot = flow->from_snapshot;
  plan->columns = g_ptr_array_new_with_free_func ((GDestroyNotify) column_free);
  plan->keys = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->chosen = copy_names (flow->columns);
  plan->excepted = copy_names (flow->except_columns);
  plan->track_columns = copy_names (flow->track_history);
  plan->track_except = copy_names (flow->track_except);
  plan->ignore_columns = copy_names (flow->ignore_null_columns);
  plan->ignore_except =
      flow->ignore_null ? g_ptr_array_new_with_free_func (g_free) : copy_names (flow->ignore_null_except);
  plan->columns_to_update = g_strdup (flow->columns_to_update);
  plan->declared = base_type_ref (declared);
  plan->together = base_type_ref (flow->together);
  plan->may_widen = flow->may_widen;
  if (!analyse (plan, flow, source, target, context, error))
    return NULL;
  return g_steal_pointer (&plan);
}

AutoCdcPlan *
autocdc_plan_of_target (DeltaSnapshot *snapshot, const char *name, GError **error)
{
  g_autoptr (AutoCdcDomain) domain = autocdc_domain_parse (delta_snapshot_domain (snapshot, AUTOCDC_DOMAIN), error);
  BaseType *schema = delta_snapshot_schema (snapshot);
  AutoCdcPlan *plan;

  if (!domain)
    return NULL;
  plan = g_new0 (AutoCdcPlan, 1);
  plan->ref_count = 1;
  plan->name = g_strdup (name);
  plan->target = g_strdup (name);
  plan->type = domain->type;
  plan->from_snapshot = domain->of_snapshots;
  plan->columns = g_ptr_array_new_with_free_func ((GDestroyNotify) column_free);
  plan->keys = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->sequence_type = base_type_ref (domain->sequence_type);
  plan->system_type = base_type_ref (domain->system_type);
  plan->track_columns = domain->track_columns ? g_ptr_array_ref (domain->track_columns) : NULL;
  plan->track_except = domain->track_except ? g_ptr_array_ref (domain->track_except) : NULL;
  plan->ignore_columns = domain->ignore_columns ? g_ptr_array_ref (domain->ignore_columns) : NULL;
  plan->ignore_except = domain->ignore_except ? g_ptr_array_ref (domain->ignore_except) : NULL;
  plan->columns_to_update = domain->columns_to_update ? g_strdup ("") : NULL;
  for (guint i = 0; i < domain->keys->len; i++) {
    add_column (plan, domain->keys->pdata[i], domain->key_types->pdata[i])->is_key = TRUE;
    g_array_append_val (plan->keys, i);
  }
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);

    if (autocdc_domain_key (domain, field->name) >= 0 || autocdc_is_interval_column (plan, field->name))
      continue;
    add_column (plan, field->name, field->type);
  }
  return plan;
}

/* Constraints: the text of rows becomes a text that fails at the first row that breaks one.
 *
 * Conditions are evaluated in a projection and never in a filter: DuckDB reorders filters, and a row that the query itself
 * filters out must not fail a constraint.
 *
 * Sources of constraints, all in the table's metadata: a field that is not nullable (at any depth of structs), the field metadata
 * `delta.invariants` and `delta.generationExpression`, the properties `delta.constraints.<name>`, and the field metadata
 * `__CHAR_VARCHAR_TYPE_STRING`. A condition that is NULL does not hold, as in Spark.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "relation-plan.h"
#include "relation-source.h"
#include "sql-parse.h"
#include "write-private.h"

#include <string.h>

typedef struct {
  char *label; /* `CHECK constraint positive (a > 0)`, for the message */
  char *text;  /* SQL of the condition */
} Check;

static void
check_free (gpointer data)
{
  Check *check = data;
  g_free (check->label);
  g_free (check->text);
  g_free (check);
}

static void
add_check (GPtrArray *checks, char *label, char *text)
{
  Check *check = g_new0 (Check, 1);
  check->label = label;
  check->text = text;
  g_ptr_array_add (checks, check);
}

static gboolean
collect_field_checks (const BaseField *field, GPtrArray *checks, GError **error)
{
  const char *invariants = base_json_string (field->metadata, "delta.invariants");
  if (invariants != NULL) {
    g_autoptr (json_t) root = base_json_parse (invariants, strlen (invariants), "delta.invariants", error);
    if (root == NULL)
      return FALSE;
    json_t *inner = json_object_get (root, "expression");
    const char *text = json_is_object (inner) ? base_json_string (inner, "expression") : json_string_value (inner);
    if (text == NULL)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                             "The invariant of column %s is of a form that is not known: %s", field->name, invariants);
    add_check (checks, g_strdup_printf ("CHECK constraint EXPRESSION(%s)", text), g_strdup (text));
  }
  const char *generation = base_json_string (field->metadata, "delta.generationExpression");
  if (generation != NULL) {
    g_autofree char *quoted = base_text_spark_identifier (field->name);
    add_check (checks, g_strdup_printf ("CHECK constraint Generated Column (%s <=> %s)", quoted, generation),
               g_strdup_printf ("%s <=> (%s)", quoted, generation));
  }
  return TRUE;
}

static GPtrArray *
collect_checks (DeltaMetadata *metadata, GError **error)
{
  g_autoptr (GPtrArray) checks = g_ptr_array_new_with_free_func (check_free);
  BaseType *schema = delta_metadata_schema (metadata);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    if (field->metadata != NULL && !collect_field_checks (field, checks, error))
      return NULL;
  }
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  for (guint i = 0; keys[i] != NULL; i++) {
    if (!g_str_has_prefix (keys[i], "delta.constraints."))
      continue;
    const char *text = delta_metadata_property (metadata, keys[i]);
    add_check (checks, g_strdup_printf ("CHECK constraint %s (%s)", keys[i] + strlen ("delta.constraints."), text),
               g_strdup (text));
  }
  return g_steal_pointer (&checks);
}

/* ---- NOT NULL ---- */

static void
append_error (GString *sql, const char *condition, const char *message)
{
  g_autofree char *text = g_strdup_printf ("SLUICE[%s] %s", condition, message);
  g_string_append (sql, "error(");
  base_text_append_sql_literal (sql, text);
}

/* Appends ` WHEN <violated> THEN error(…)` for @value and every field below that must not be NULL where its struct is not.
 * @parent: (nullable): the struct that @value is a field of */
static void
append_not_null (GString *sql, const char *parent, const char *value, const char *path, const BaseField *field)
{
  if (!field->nullable) {
    g_autofree char *message = g_strdup_printf ("NOT NULL constraint violated for column: %s.", path);
    g_string_append (sql, " WHEN ");
    if (parent != NULL)
      g_string_append_printf (sql, "%s IS NOT NULL AND ", parent);
    g_string_append_printf (sql, "%s IS NULL THEN ", value);
    append_error (sql, "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", message);
    g_string_append_c (sql, ')');
  }
  if (base_type_kind (field->type) != BASE_TYPE_STRUCT)
    return;
  for (guint i = 0; i < base_type_n_fields (field->type); i++) {
    const BaseField *inner = base_type_field (field->type, i);
    g_autofree char *name = base_text_sql_literal (inner->name);
    g_autofree char *extract = g_strdup_printf ("struct_extract(%s, %s)", value, name);
    g_autofree char *inner_path = g_strdup_printf ("%s.%s", path, inner->name);
    append_not_null (sql, value, extract, inner_path, inner);
  }
}

static void
append_not_null_case (GString *sql, guint column, const BaseField *field)
{
  g_autofree char *value = g_strdup_printf ("c%u", column);
  g_autoptr (GString) whens = g_string_new (NULL);
  append_not_null (whens, NULL, value, field->name, field);
  if (whens->len > 0)
    g_string_append_printf (sql, "CASE%s ELSE %s END", whens->str, value);
  else
    g_string_append (sql, value);
}

/* ---- CHAR and VARCHAR ---- */

/* `varchar(5)` → 5, *pads FALSE; `char(5)` → 5, *pads TRUE; 0 for neither. */
static gint64
declared_length (const BaseField *field, gboolean *pads)
{
  const char *text = field->metadata != NULL ? base_json_string (field->metadata, "__CHAR_VARCHAR_TYPE_STRING") : NULL;
  gint64 length = 0;
  if (text == NULL || base_type_kind (field->type) != BASE_TYPE_STRING)
    return 0;
  *pads = g_str_has_prefix (text, "char(");
  const char *open = strchr (text, '(');
  if (open == NULL || (!*pads && !g_str_has_prefix (text, "varchar(")))
    return 0;
  g_autofree char *digits = g_strndup (open + 1, strcspn (open + 1, ")"));
  return base_text_parse_int64 (digits, &length) && length > 0 ? length : 0;
}

/* Trailing spaces beyond the length are cut, other characters are an error, CHAR is filled up. */
static char *
length_expression (guint column, gint64 length, gboolean pads)
{
  g_autoptr (GString) sql = g_string_new (NULL);
  g_autofree char *message =
      g_strdup_printf ("Exceeds char/varchar type length limitation: %" G_GINT64_FORMAT ".", length);
  g_string_append_printf (sql, "CASE WHEN length(c%u) <= %" G_GINT64_FORMAT " THEN ", column, length);
  g_string_append_printf (sql, pads ? "rpad(c%u, %" G_GINT64_FORMAT ", ' ')" : "c%u", column, length);
  g_string_append_printf (sql,
                          " WHEN length(rtrim(c%u, ' ')) <= %" G_GINT64_FORMAT " THEN left(c%u, %" G_GINT64_FORMAT
                          ") WHEN c%u IS NULL THEN NULL ELSE ",
                          column, length, column, length, column);
  append_error (sql, "EXCEED_LIMIT_LENGTH", message);
  g_string_append (sql, ") END");
  return g_string_free (g_steal_pointer (&sql), FALSE);
}

/* ---- conditions ---- */

static guint
n_extras (WriteBatch *batch, WriteRowsFlags flags)
{
  return batch->hidden->len + ((flags & WRITE_ROWS_ROW_ID) != 0) + ((flags & WRITE_ROWS_ROW_COMMIT_VERSION) != 0) +
         ((flags & WRITE_ROWS_CHANGE_TYPE) != 0);
}

/* The name of the i-th extra column of the text, and its type. Returns: (transfer full). */
static char *
extra_column (WriteBatch *batch, WriteRowsFlags flags, guint index, BaseType **type)
{
  if (index < batch->hidden->len) {
    *type = base_type_ref (g_array_index (batch->hidden, WriteHidden, index).type);
    return g_strdup_printf ("h%u", index);
  }
  index -= batch->hidden->len;
  const char *names[3];
  guint n = 0;
  if ((flags & WRITE_ROWS_ROW_ID) != 0)
    names[n++] = "row_id";
  if ((flags & WRITE_ROWS_ROW_COMMIT_VERSION) != 0)
    names[n++] = "row_commit_version";
  if ((flags & WRITE_ROWS_CHANGE_TYPE) != 0)
    names[n++] = "_change_type";
  g_assert (index < n);
  *type = base_type_simple (g_str_equal (names[index], "_change_type") ? BASE_TYPE_STRING : BASE_TYPE_LONG);
  return g_strdup (names[index]);
}

/* Binds the conditions over the text. The result's columns: c0 … the schema's, then the extras, then one BOOLEAN per check. */
static RelationText *
lower_checks (WriteBatch *batch, const char *sql, WriteRowsFlags flags, GPtrArray *checks, GError **error)
{
  BaseType *schema = write_batch_schema (batch);
  guint n_columns = base_type_n_fields (schema), n_more = n_extras (batch, flags);
  g_autoptr (GString) text = g_string_new ("SELECT ");
  BaseStructBuilder *builder = base_struct_builder_new ();
  for (guint i = 0; i < n_columns; i++) {
    const BaseField *field = base_type_field (schema, i);
    g_string_append_printf (text, "%sc%u", i > 0 ? ", " : "", i);
    base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
  }
  for (guint i = 0; i < n_more; i++) {
    g_autoptr (BaseType) type = NULL;
    g_autofree char *name = extra_column (batch, flags, i, &type);
    g_autofree char *display = g_strdup_printf ("\x1b%s", name); /* no user's name */
    g_string_append_printf (text, ", %s", name);
    base_struct_builder_add (builder, display, type, TRUE, NULL);
  }
  g_string_append_printf (text, " FROM (%s)", sql);
  g_autoptr (BaseType) rows = base_struct_builder_end (builder);

  g_autoptr (RelationSource) source = relation_source_new_text ("rows to be written", text->str, rows, FALSE);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  guint n_items = n_columns + n_more + checks->len;
  g_autofree RelationItem *items = g_new0 (RelationItem, n_items);
  g_autoptr (BaseType) boolean = base_type_simple (BASE_TYPE_BOOLEAN);
  for (guint i = 0; i < n_columns + n_more; i++)
    items[i].column = i;
  for (guint i = 0; i < checks->len; i++) {
    const Check *check = g_ptr_array_index (checks, i);
    items[n_columns + n_more + i].expr = sql_parse_expression (arena, check->text, -1, NULL, error);
    if (items[n_columns + n_more + i].expr == NULL) {
      base_error_add_context (error, "reading the %s", check->label);
      return NULL;
    }
  }
  g_autoptr (RelationPlan) projected = relation_plan_project (plan, items, n_items, batch->context, error);
  if (projected == NULL) {
    base_error_add_context (error, "binding the constraints of %s", delta_table_location (batch->table));
    return NULL;
  }
  for (guint i = 0; i < checks->len; i++) {
    const BaseField *field = base_type_field (relation_plan_schema (projected), n_columns + n_more + i);
    if (!base_type_equal (field->type, boolean, BASE_TYPE_EQUAL_EXACT)) {
      base_error_set (error, SLUICE_ERROR_DELTA_NON_BOOLEAN_CHECK_CONSTRAINT, "%s is not a boolean expression.",
                      ((const Check *) g_ptr_array_index (checks, i))->label);
      return NULL;
    }
  }
  RelationLowering lowering = { .now_us = batch->context->now_us, .session = batch->session };
  return relation_plan_lower (projected, &lowering, error);
}

/* ` WHEN c9 IS NOT TRUE THEN error('…' || values)`. */
static gboolean
append_check (WriteBatch *batch, GString *sql, const Check *check, guint column, GError **error)
{
  BaseType *schema = write_batch_schema (batch);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlExpr *expr = sql_parse_expression (arena, check->text, -1, NULL, error);
  if (expr == NULL)
    return FALSE;
  g_autoptr (GArray) used = relation_expr_columns (expr, schema, batch->context, error);
  if (used == NULL)
    return FALSE;
  g_autofree char *message = g_strdup_printf ("%s violated by row with values:", check->label);
  g_string_append_printf (sql, " WHEN c%u IS NOT TRUE THEN ", column);
  append_error (sql, "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", message);
  for (guint i = 0; i < used->len; i++) {
    guint index = g_array_index (used, guint, i);
    g_autofree char *label = g_strdup_printf (" - %s : ", base_type_field (schema, index)->name);
    g_string_append (sql, " || chr(10) || ");
    base_text_append_sql_literal (sql, label);
    g_string_append_printf (sql, " || coalesce(CAST(c%u AS VARCHAR), 'null')", index);
  }
  g_string_append_c (sql, ')');
  return TRUE;
}

static gboolean
has_not_null (const BaseField *field)
{
  if (!field->nullable)
    return TRUE;
  for (guint i = 0; base_type_kind (field->type) == BASE_TYPE_STRUCT && i < base_type_n_fields (field->type); i++) {
    if (has_not_null (base_type_field (field->type, i)))
      return TRUE;
  }
  return FALSE;
}

/* Appends the value of one column, with its own checks and, for the first, those of whole rows. */
static gboolean
append_column (WriteBatch *batch, GString *sql, const WriteColumn *column, GPtrArray *checks, guint first_check,
               GError **error)
{
  gboolean pads = FALSE;
  gint64 length = declared_length (column->field, &pads);
  g_autoptr (GString) value = g_string_new (NULL);
  if (length > 0) {
    g_autofree char *text = length_expression (column->index, length, pads);
    if (column->field->nullable) {
      g_string_append (value, text);
    } else {
      g_autofree char *name = g_strdup_printf ("c%u", column->index);
      g_string_append (value, "CASE");
      append_not_null (value, NULL, name, column->field->name, column->field);
      g_string_append_printf (value, " ELSE %s END", text);
    }
  } else {
    append_not_null_case (value, column->index, column->field);
  }
  if (checks != NULL && checks->len > 0) {
    g_string_append (sql, "CASE"); /* NOT NULL of all columns first, as Spark does */
    for (guint i = 0; i < write_layout_n_columns (batch->layout); i++) {
      const WriteColumn *other = write_layout_column (batch->layout, i);
      g_autofree char *name = g_strdup_printf ("c%u", other->index);
      append_not_null (sql, NULL, name, other->field->name, other->field);
    }
    for (guint i = 0; i < checks->len; i++) {
      if (!append_check (batch, sql, g_ptr_array_index (checks, i), first_check + i, error))
        return FALSE;
    }
    g_string_append_printf (sql, " ELSE %s END", value->str);
  } else {
    g_string_append (sql, value->str);
  }
  g_string_append_printf (sql, " AS c%u", column->index);
  return TRUE;
}

char *
write_constraints_wrap (WriteBatch *batch, const char *sql, WriteRowsFlags flags, RelationText **hold, GError **error)
{
  g_autoptr (GPtrArray) checks = collect_checks (write_layout_metadata (batch->layout), error);
  if (checks == NULL)
    return NULL;
  gboolean any = checks->len > 0;
  for (guint i = 0; i < write_layout_n_columns (batch->layout) && !any; i++) {
    gboolean pads;
    const BaseField *field = write_layout_column (batch->layout, i)->field;
    any = has_not_null (field) || declared_length (field, &pads) > 0;
  }
  if (!any)
    return g_strdup (sql);
  guint n_columns = base_type_n_fields (write_batch_schema (batch)), n_more = n_extras (batch, flags);
  g_autoptr (RelationText) lowered = NULL;
  if (checks->len > 0) {
    if (batch->context == NULL) {
      base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "A table with constraints is written without a context.");
      return NULL;
    }
    lowered = lower_checks (batch, sql, flags, checks, error);
    if (lowered == NULL)
      return NULL;
  }
  g_autoptr (GString) text = g_string_new ("SELECT ");
  for (guint i = 0; i < write_layout_n_columns (batch->layout); i++) {
    if (i > 0)
      g_string_append (text, ", ");
    if (!append_column (batch, text, write_layout_column (batch->layout, i), i == 0 ? checks : NULL, n_columns + n_more,
                        error))
      return NULL;
  }
  for (guint i = 0; i < n_more; i++) {
    g_autoptr (BaseType) type = NULL;
    g_autofree char *name = extra_column (batch, flags, i, &type);
    if (lowered != NULL)
      g_string_append_printf (text, ", c%u AS %s", n_columns + i, name);
    else
      g_string_append_printf (text, ", %s", name);
  }
  g_string_append_printf (text, " FROM (%s)", lowered != NULL ? relation_text_sql (lowered)->str : sql);
  *hold = g_steal_pointer (&lowered);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ADD, DROP, RENAME, REPLACE COLUMNS and ALTER COLUMN: a schema made of a schema.
 *
 * A column is named by a path: fields of structs, `element` of an array, `key` and `value` of a map. edit_at() walks down to the struct
 * that holds the last part, lets an edit make another struct of it, and rebuilds what is above. What depends on a column (partitions,
 * clustering, CHECK, GENERATED, the feed's names, AUTO CDC) is looked at before.
 *
 * With column mapping the physical name stays with a field through every rename, and a field added later gets a fresh one, so old files
 * and old versions read right. Without it, renaming and dropping are refused.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-widening.h"
#include "dml-alter-private.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "sql-parse.h"

#include <string.h>

#define STATS_COLUMNS   "delta.dataSkippingStatsColumns"
#define LENGTH_KEY      "__CHAR_VARCHAR_TYPE_STRING"
#define CURRENT_DEFAULT "CURRENT_DEFAULT"
#define GENERATION      "delta.generationExpression"

/* One field of a struct being made. Borrows; @type and @metadata are counted. */
typedef struct {
  const char *name;
  BaseType *type;
  gboolean nullable;
  json_t *metadata; /* (nullable) */
} Field;

static void
field_clear (Field *field)
{
  g_clear_pointer (&field->type, base_type_unref);
  g_clear_pointer (&field->metadata, json_decref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Field, field_clear)

/* A copy whose metadata may be changed. */
static Field
field_of (const BaseField *field)
{
  return (Field){ field->name, base_type_ref (field->type), field->nullable,
                  field->metadata != NULL ? json_deep_copy (field->metadata) : json_object () };
}

static json_t *
metadata_or_null (json_t *metadata)
{
  return json_object_size (metadata) > 0 ? metadata : NULL;
}

/* ---- errors ---- */

static char *
path_text (const SqlIdent *parts, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < n; i++) {
    g_autofree char *part = base_text_spark_identifier (parts[i].text);
    g_string_append_printf (text, "%s%s", i > 0 ? "." : "", part);
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
fail_at (const SqlPosition *position, GError **error)
{
  sql_position_add_to_error (position, error);
  return FALSE;
}

/* No field @part in @structure ((nullable): what has no fields). */
static gboolean
set_not_found (const BaseType *structure, const SqlIdent *part, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; structure != NULL && i < base_type_n_fields (structure); i++)
    g_ptr_array_add (names, base_type_field (structure, i)->name);
  g_ptr_array_add (names, NULL);
  g_autofree char *near = base_text_near_names (part->text, (const char *const *) names->pdata, 3);
  g_autofree char *quoted = base_text_spark_identifier (part->text);
  base_error_set (
      error,
      near != NULL ? SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION : SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
      "A column with name %s cannot be resolved.%s%s%s", quoted,
      near != NULL ? " Did you mean one of the following? [" : "", near != NULL ? near : "", near != NULL ? "]" : "");
  return fail_at (&part->position, error);
}

static gboolean
set_exists (const SqlIdent *name, const char *operation, GError **error)
{
  base_error_set (error, SLUICE_ERROR_FIELD_ALREADY_EXISTS, "Cannot %s column, because `%s` already exists.", operation,
                  name->text);
  return fail_at (&name->position, error);
}

/* ---- walking ---- */

/* Makes another struct of @structure. Returns: (transfer full): NULL on error. */
typedef BaseType *(*StructEdit) (const BaseType *structure, gpointer data, GError **error);

static BaseType *edit_at (const BaseType *type, const SqlIdent *parts, guint n, StructEdit edit, gpointer data,
                          GError **error);

static BaseType *
edit_in_struct (const BaseType *type, const SqlIdent *parts, guint n, StructEdit edit, gpointer data, GError **error)
{
  int index = base_type_field_index (type, parts[0].text, TRUE);
  if (index < 0) {
    set_not_found (type, &parts[0], error);
    return NULL;
  }
  g_autoptr (BaseType) inner =
      edit_at (base_type_field (type, (guint) index)->type, parts + 1, n - 1, edit, data, error);
  if (inner == NULL)
    return NULL;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    base_struct_builder_add (builder, field->name, i == (guint) index ? inner : field->type, field->nullable,
                             field->metadata);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static BaseType *
edit_at (const BaseType *type, const SqlIdent *parts, guint n, StructEdit edit, gpointer data, GError **error)
{
  const char *part = n > 0 ? parts[0].text : NULL;
  switch (base_type_kind (type)) {
  case BASE_TYPE_STRUCT:
    return n == 0 ? edit (type, data, error) : edit_in_struct (type, parts, n, edit, data, error);
  case BASE_TYPE_ARRAY: {
    if (part == NULL || g_ascii_strcasecmp (part, "element") != 0)
      break;
    g_autoptr (BaseType) element = edit_at (base_type_element (type), parts + 1, n - 1, edit, data, error);
    return element != NULL ? base_type_array (element, base_type_contains_null (type)) : NULL;
  }
  case BASE_TYPE_MAP: {
    gboolean is_key = part != NULL && g_ascii_strcasecmp (part, "key") == 0;
    if (part == NULL || (!is_key && g_ascii_strcasecmp (part, "value") != 0))
      break;
    g_autoptr (BaseType) changed =
        edit_at (is_key ? base_type_key (type) : base_type_value (type), parts + 1, n - 1, edit, data, error);
    if (changed == NULL)
      return NULL;
    return base_type_map (is_key ? changed : base_type_key (type), is_key ? base_type_value (type) : changed,
                          base_type_contains_null (type));
  }
  default:
    break;
  }
  if (part != NULL) {
    set_not_found (NULL, &parts[0], error);
    return NULL;
  }
  g_autofree char *text = base_type_text (type);
  base_error_set (error, SLUICE_ERROR_INVALID_FIELD_NAME,
                  "The name goes on below a column that is not a struct, but %s.", text);
  return NULL;
}

/* The field that @column names, NULL with an error when there is none. @n_parts: (out): parts of the path up to the field; the rest, if
 * any, are `element`, `key` or `value` below it. */
static const BaseField *
find_field (const BaseType *schema, const SqlName *column, guint *n_parts, GError **error)
{
  const BaseType *type = schema;
  const BaseField *field = NULL;
  for (guint i = 0; i < column->n; i++) {
    const char *part = column->parts[i].text;
    gboolean is_value = g_ascii_strcasecmp (part, "value") == 0;
    if (base_type_kind (type) == BASE_TYPE_STRUCT) {
      int index = base_type_field_index (type, part, TRUE);
      if (index < 0) {
        set_not_found (type, &column->parts[i], error);
        return NULL;
      }
      field = base_type_field (type, (guint) index);
      *n_parts = i + 1;
      type = field->type;
    } else if (base_type_kind (type) == BASE_TYPE_ARRAY && g_ascii_strcasecmp (part, "element") == 0) {
      type = base_type_element (type);
    } else if (base_type_kind (type) == BASE_TYPE_MAP && (is_value || g_ascii_strcasecmp (part, "key") == 0)) {
      type = is_value ? base_type_value (type) : base_type_key (type);
    } else {
      set_not_found (NULL, &column->parts[i], error);
      return NULL;
    }
  }
  return field;
}

/* The same where only a field will do. */
static const BaseField *
find_whole_field (const BaseType *schema, const SqlName *column, GError **error)
{
  guint n_parts = 0;
  const BaseField *field = find_field (schema, column, &n_parts, error);
  if (field == NULL || n_parts == column->n)
    return field;
  dml_unsupported (&column->parts[n_parts].position, error,
                   "Changing more than the type of an array's element or a map's parts", NULL);
  return NULL;
}

/* ---- edits ---- */

typedef struct {
  const char *old_name; /* (nullable): a field that is added */
  const Field *field;   /* (nullable): a field that is dropped */
  SqlPlaceKind place;
  const SqlIdent *after;
} Edit;

static void
add_field (BaseStructBuilder *builder, const Field *field)
{
  base_struct_builder_add (builder, field->name, field->type, field->nullable, metadata_or_null (field->metadata));
}

/* Adds, drops, or changes one field, and puts it into its place. */
static BaseType *
edit_struct (const BaseType *structure, gpointer data, GError **error)
{
  const Edit *edit = data;
  guint n_fields = base_type_n_fields (structure);
  int old = edit->old_name != NULL ? base_type_field_index (structure, edit->old_name, TRUE) : -1;
  int after = edit->place == SQL_PLACE_AFTER ? base_type_field_index (structure, edit->after->text, TRUE) : -1;
  if (edit->place == SQL_PLACE_AFTER && after < 0) {
    g_autofree char *quoted = base_text_spark_identifier (edit->after->text);
    if (edit->old_name != NULL) {
      set_not_found (structure, edit->after, error);
      return NULL;
    }
    base_error_set (error, SLUICE_ERROR_FIELD_NOT_FOUND, "No such struct field %s.", quoted);
    fail_at (&edit->after->position, error);
    return NULL;
  }
  if (edit->place == SQL_PLACE_AFTER && after == old)
    after = old - 1; /* behind itself: where it is */
  gboolean moves =
      edit->field != NULL && edit->place != SQL_PLACE_NONE && !(edit->place == SQL_PLACE_AFTER && after < 0);
  gboolean first = edit->place == SQL_PLACE_FIRST || (edit->place == SQL_PLACE_AFTER && after < 0);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  if (first)
    add_field (builder, edit->field);
  for (guint i = 0; i < n_fields; i++) {
    const BaseField *field = base_type_field (structure, i);
    if (old < 0 || i != (guint) old)
      base_struct_builder_add (builder, field->name, field->type, field->nullable, field->metadata);
    else if (edit->field != NULL && !moves && !first)
      add_field (builder, edit->field);
    if (moves && !first && i == (guint) after)
      add_field (builder, edit->field);
  }
  if (edit->field != NULL && old < 0 && edit->place == SQL_PLACE_NONE)
    add_field (builder, edit->field);
  return base_struct_builder_end (g_steal_pointer (&builder));
}

/* ---- what depends on a column ---- */

/* Whether @text reads the column: of the table's columns by name; of fields, when it does not bind without the field. */
static gboolean
reads_column (const DmlAlteration *alteration, const char *text, const SqlName *column, const BaseType *without,
              gboolean *reads, GError **error)
{
  const DmlContext *context = alteration->context;
  BaseType *schema = delta_snapshot_schema (alteration->snapshot);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  const SqlExpr *expr = sql_parse_expression (arena, text, -1, NULL, error);
  if (expr == NULL)
    return FALSE;
  g_autoptr (GArray) used = relation_expr_columns (expr, schema, context->relation, error);
  if (used == NULL)
    return FALSE;
  int index = base_type_field_index (schema, column->parts[0].text, TRUE);
  *reads = FALSE;
  for (guint i = 0; i < used->len; i++)
    *reads = *reads || (int) g_array_index (used, guint, i) == index;
  if (!*reads || column->n == 1)
    return TRUE;
  g_autoptr (BaseType) type = relation_expr_type (expr, without, NULL, NULL, context->relation, NULL);
  *reads = type == NULL;
  return TRUE;
}

/* Errors: DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE, DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE. */
static gboolean
check_dependents (const DmlAlteration *alteration, const SqlName *column, const BaseType *without, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  BaseType *schema = delta_metadata_schema (metadata);
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  g_autofree char *name = path_text (column->parts, column->n);
  g_autoptr (GString) checks = g_string_new (NULL);
  g_autoptr (GString) generated = g_string_new (NULL);
  gboolean reads = FALSE;
  for (guint i = 0; keys[i] != NULL; i++) {
    if (!g_str_has_prefix (keys[i], "delta.constraints."))
      continue;
    const char *text = delta_metadata_property (metadata, keys[i]);
    if (!reads_column (alteration, text, column, without, &reads, error))
      return FALSE;
    if (reads)
      g_string_append_printf (checks, "\n%s -> %s", keys[i] + strlen ("delta.constraints."), text);
  }
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    const char *text = field->metadata != NULL ? base_json_string (field->metadata, GENERATION) : NULL;
    if (text == NULL)
      continue;
    if (!reads_column (alteration, text, column, without, &reads, error))
      return FALSE;
    if (reads)
      g_string_append_printf (generated, "\n%s -> %s", field->name, text);
  }
  if (checks->len > 0)
    base_error_set (error, SLUICE_ERROR_DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE,
                    "Cannot alter column %s because this column is referenced by the following check constraint(s):%s",
                    name, checks->str);
  else if (generated->len > 0)
    base_error_set (error, SLUICE_ERROR_DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE,
                    "Cannot alter column %s because this column is referenced by the following generated "
                    "column(s):%s",
                    name, generated->str);
  return (checks->len == 0 && generated->len == 0) || fail_at (&column->position, error);
}

static gboolean
refuse_owned (const DmlAlteration *alteration, const char *what, GError **error)
{
  const CatalogEntry *entry = alteration->reference.entry;
  if (dml_alteration_is_autocdc (alteration)) {
    g_autofree char *text = g_strconcat (what, " on the target of an AUTO CDC flow", NULL);
    return dml_unsupported (&alteration->table->position, error, text, "Change the flow, or its source.");
  }
  if (entry != NULL && entry->kind == CATALOG_KIND_MATERIALIZED_VIEW) {
    g_autofree char *text = g_strconcat (what, " on a materialized view", NULL);
    return dml_unsupported (&alteration->table->position, error, text, "Change its query.");
  }
  return TRUE;
}

static gboolean
check_feed_name (const DmlAlteration *alteration, const SqlName *path, const SqlIdent *name, GError **error)
{
  static const char *const reserved[] = { "_change_type", "_commit_version", "_commit_timestamp" };
  if (path->n > 1 || !delta_metadata_change_feed (delta_snapshot_metadata (alteration->snapshot)))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (reserved); i++) {
    if (!base_text_equal_ignore_case (name->text, reserved[i]))
      continue;
    base_error_set (error, SLUICE_ERROR_RESERVED_CDC_COLUMNS_ON_WRITE,
                    "The column name %s is used internally as metadata for Change Data Feed. Choose another name, or "
                    "disable the feed by setting delta.enableChangeDataFeed to false.",
                    name->text);
    return fail_at (&name->position, error);
  }
  return TRUE;
}

/* Features that a schema needs and that come only by the user's own word on a table that exists. */
static gboolean
check_features (const DmlAlteration *alteration, const BaseType *schema, GError **error)
{
  static const char *const manual[] = { "timestampNtz", "variantType" };
  DeltaProtocol *present = delta_snapshot_protocol (alteration->snapshot);
  g_autoptr (DeltaMetadata) metadata =
      delta_metadata_with_schema (delta_snapshot_metadata (alteration->snapshot), schema);
  g_autoptr (DeltaProtocol) needed = delta_protocol_for_metadata (metadata);
  for (guint i = 0; i < G_N_ELEMENTS (manual); i++) {
    if (!delta_protocol_has (needed, manual[i]) || delta_protocol_has (present, manual[i]))
      continue;
    base_error_set (error, SLUICE_ERROR_DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT,
                    "Your table schema requires manually enablement of the following table feature(s): %s.", manual[i]);
    base_error_set_hint (error, "ALTER TABLE … SET TBLPROPERTIES ('delta.feature.%s' = 'supported')", manual[i]);
    return FALSE;
  }
  return TRUE;
}

/* The snapshot's metadata with @schema, after the checks that every new schema needs. */
static gboolean
take_schema (DmlAlteration *alteration, const BaseType *schema, GError **error)
{
  if (!check_features (alteration, schema, error))
    return FALSE;
  DeltaMetadata *from =
      alteration->metadata != NULL ? alteration->metadata : delta_snapshot_metadata (alteration->snapshot);
  dml_alteration_take_metadata (alteration, delta_metadata_with_schema (from, schema));
  return TRUE;
}

/* ---- commitInfo ---- */

static json_t *
field_json (const SqlIdent *parents, guint n_parents, const Field *field)
{
  g_autoptr (GString) name = g_string_new (NULL);
  for (guint i = 0; i < n_parents; i++)
    g_string_append_printf (name, "%s.", parents[i].text);
  g_string_append (name, field->name);
  g_autoptr (json_t) type_json = base_type_to_json (field->type);
  const char *plain = json_string_value (type_json);
  const char *type = plain != NULL ? plain : json_string_value (json_object_get (type_json, "type"));
  return json_pack ("{s:s, s:s, s:b, s:O}", "name", name->str, "type", type != NULL ? type : "", "nullable",
                    field->nullable, "metadata", field->metadata);
}

static char *
place_text (SqlPlaceKind place, const SqlIdent *after)
{
  if (place == SQL_PLACE_FIRST)
    return g_strdup ("FIRST");
  return place == SQL_PLACE_AFTER ? g_strdup_printf ("AFTER %s", after->text) : NULL;
}

/* ---- ADD COLUMNS ---- */

/* Whether any field at any depth may not be NULL. */
static gboolean
has_not_null (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      if (!field->nullable || has_not_null (field->type))
        return TRUE;
    }
    return FALSE;
  case BASE_TYPE_ARRAY:
    return has_not_null (base_type_element (type));
  case BASE_TYPE_MAP:
    return has_not_null (base_type_key (type)) || has_not_null (base_type_value (type));
  default:
    return FALSE;
  }
}

static void
set_length (json_t *metadata, const SqlType *type)
{
  json_object_del (metadata, LENGTH_KEY);
  if (type->length_kind == SQL_TYPE_PLAIN)
    return;
  g_autofree char *text =
      g_strdup_printf ("%s(%u)", type->length_kind == SQL_TYPE_CHAR ? "char" : "varchar", type->length);
  json_object_set_new (metadata, LENGTH_KEY, json_string (text));
}

static gboolean
check_new_column (const DmlAlteration *alteration, const SqlColumn *column, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  const SqlIdent *name = &column->name.parts[column->name.n - 1];
  if (column->default_value != NULL) {
    base_error_set (error, SLUICE_ERROR_WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED,
                    "DEFAULT values are not supported when adding new columns to previously existing Delta tables.");
    base_error_set_hint (error, "Add the column without a default, then use ALTER TABLE … ALTER COLUMN %s SET DEFAULT.",
                         name->text);
    return fail_at (&column->default_value->position, error);
  }
  if (column->not_null || has_not_null (column->type->base)) {
    base_error_set (error, SLUICE_ERROR_DELTA_OPERATION_NOT_ALLOWED,
                    "Operation not allowed: `NOT NULL in ALTER TABLE ADD COLUMNS` is not supported for Delta tables.");
    return fail_at (&column->position, error);
  }
  if (column->generated != NULL || column->identity != SQL_IDENTITY_NONE || column->mask != NULL ||
      column->n_constraints > 0)
    return dml_unsupported (&column->position, error,
                            column->n_constraints > 0 ? "A constraint in ALTER TABLE ADD COLUMNS"
                                                      : "A generated or masked column in ALTER TABLE ADD COLUMNS",
                            column->n_constraints > 0 ? "Add the column, then use ALTER TABLE … ADD CONSTRAINT."
                                                      : NULL);
  const char *const internal[] = { delta_metadata_row_id_column (metadata),
                                   delta_metadata_row_commit_version_column (metadata) };
  for (guint i = 0; i < G_N_ELEMENTS (internal); i++) {
    if (internal[i] != NULL && base_text_equal_ignore_case (internal[i], name->text)) {
      base_error_set (error, SLUICE_ERROR_DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED,
                      "Failed to add column %s because the name is reserved.", name->text);
      return fail_at (&name->position, error);
    }
  }
  return check_feed_name (alteration, &column->name, name, error);
}

/* No column before the @index-th may have its name. */
static gboolean
check_twice (const SqlColumnList *columns, guint index, GError **error)
{
  const SqlName *name = &columns->items[index].name;
  for (guint i = 0; i < index; i++) {
    const SqlName *other = &columns->items[i].name;
    gboolean same = other->n == name->n;
    for (guint k = 0; same && k < name->n; k++)
      same = base_text_equal_ignore_case (other->parts[k].text, name->parts[k].text);
    if (!same)
      continue;
    base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS,
                    "The column `%s` already exists. Choose another name or rename the existing column.",
                    name->parts[name->n - 1].text);
    return fail_at (&name->position, error);
  }
  return TRUE;
}

/* Refuses a name that the struct has already, then adds. */
static BaseType *
edit_add (const BaseType *structure, gpointer data, GError **error)
{
  const Edit *edit = data;
  SqlIdent name = { .text = edit->field->name };
  if (base_type_field_index (structure, name.text, TRUE) != -1) {
    set_exists (&name, "add", error);
    return NULL;
  }
  return edit_struct (structure, data, error);
}

static gboolean
add_columns (DmlAlteration *alteration, const SqlAlter *alter, GError **error)
{
  g_autoptr (BaseType) schema = base_type_ref (delta_snapshot_schema (alteration->snapshot));
  g_autoptr (json_t) log = json_array ();
  if (!refuse_owned (alteration, "ADD COLUMNS", error))
    return FALSE;
  for (guint i = 0; i < alter->columns.n; i++) {
    const SqlColumn *column = &alter->columns.items[i];
    if (!check_new_column (alteration, column, error) || !check_twice (&alter->columns, i, error))
      return FALSE;
    g_auto (Field) field = { column->name.parts[column->name.n - 1].text, base_type_ref (column->type->base), TRUE,
                             json_object () };
    if (column->comment != NULL)
      json_object_set_new (field.metadata, "comment", json_string (column->comment));
    set_length (field.metadata, column->type);
    Edit edit = { .field = &field, .place = column->place, .after = &column->place_after };
    BaseType *next = edit_at (schema, column->name.parts, column->name.n - 1, edit_add, &edit, error);
    if (next == NULL)
      return fail_at (&column->name.position, error);
    base_type_unref (schema);
    schema = next;
    g_autofree char *place = place_text (column->place, &column->place_after);
    json_t *entry = json_pack ("{s:o}", "column", field_json (column->name.parts, column->name.n - 1, &field));
    if (place != NULL)
      json_object_set_new (entry, "position", json_string (place));
    json_array_append_new (log, entry);
  }
  alteration->operation = "ADD COLUMNS";
  dml_alteration_set_json (alteration, "columns", json_incref (log));
  return take_schema (alteration, schema, error);
}

/* ---- DROP COLUMNS ---- */

/* The property with the names of the columns that have statistics, when a column is dropped or renamed. @to: (nullable) */
static void
adapt_statistics_columns (DmlAlteration *alteration, const char *from, const char *to)
{
  DeltaMetadata *metadata = alteration->metadata;
  const char *text = delta_metadata_property (metadata, STATS_COLUMNS);
  if (text == NULL)
    return;
  g_auto (GStrv) names = g_strsplit (text, ",", -1);
  g_autoptr (GString) made = g_string_new (NULL);
  gsize length = strlen (from);
  for (char **name = names; *name != NULL; name++) {
    const char *kept = g_strstrip (*name);
    g_autofree char *changed = NULL;
    if (g_ascii_strncasecmp (kept, from, length) == 0 && (kept[length] == '\0' || kept[length] == '.')) {
      if (to == NULL)
        continue;
      kept = changed = g_strconcat (to, kept + length, NULL);
    }
    g_string_append_printf (made, "%s%s", made->len > 0 ? "," : "", kept);
  }
  dml_alteration_take_metadata (
      alteration, delta_metadata_with_property (metadata, STATS_COLUMNS, made->len > 0 ? made->str : NULL));
}

static gboolean
check_drop (const DmlAlteration *alteration, const SqlName *column, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  if (column->n > 1)
    return TRUE;
  int index = base_type_field_index (delta_metadata_schema (metadata), column->parts[0].text, TRUE);
  const char *name = base_type_field (delta_metadata_schema (metadata), (guint) index)->name;
  if (delta_metadata_is_partition_column (metadata, (guint) index)) {
    base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN,
                    "Dropping partition columns (%s) is not allowed.", name);
    return fail_at (&column->position, error);
  }
  g_auto (GStrv) clustering = dml_clustering_columns (alteration->snapshot);
  if (g_strv_contains ((const char *const *) clustering, name)) {
    base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN,
                    "Dropping clustering columns (%s) is not allowed.", name);
    return fail_at (&column->position, error);
  }
  return TRUE;
}

static BaseType *
edit_drop (const BaseType *structure, gpointer data, GError **error)
{
  const Edit *edit = data;
  if (base_type_n_fields (structure) == 1) {
    base_error_set (error, SLUICE_ERROR_DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA,
                    "Cannot drop column from a schema with a single column (%s).", edit->old_name);
    return NULL;
  }
  return edit_struct (structure, data, error);
}

static gboolean
drop_columns (DmlAlteration *alteration, const SqlAlter *alter, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  g_autoptr (BaseType) schema = base_type_ref (delta_metadata_schema (metadata));
  g_autoptr (json_t) log = json_array ();
  if (!refuse_owned (alteration, "DROP COLUMN", error))
    return FALSE;
  dml_alteration_take_metadata (alteration, delta_metadata_ref (metadata));
  for (guint i = 0; i < alter->names.n; i++) {
    const SqlName *column = &alter->names.items[i];
    g_autoptr (GError) missing = NULL;
    const BaseField *field = find_whole_field (schema, column, &missing);
    if (field == NULL && alter->if_exists && !g_error_matches (missing, SLUICE_ERROR, SLUICE_ERROR_UNSUPPORTED_FEATURE))
      continue;
    if (field == NULL) {
      g_propagate_error (error, g_steal_pointer (&missing));
      return FALSE;
    }
    if (delta_metadata_mapping (metadata) == DELTA_MAPPING_NONE) {
      base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_DROP_COLUMN,
                      "DROP COLUMN is not supported for your Delta table.");
      base_error_set_hint (error, "ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')");
      return fail_at (&column->position, error);
    }
    Edit edit = { .old_name = field->name };
    if (!check_drop (alteration, column, error))
      return FALSE;
    g_autoptr (BaseType) next = edit_at (schema, column->parts, column->n - 1, edit_drop, &edit, error);
    if (next == NULL)
      return fail_at (&column->position, error);
    if (!check_dependents (alteration, column, next, error))
      return FALSE;
    g_autofree char *path = path_text (column->parts, column->n);
    adapt_statistics_columns (alteration, path, NULL);
    base_type_unref (schema);
    schema = g_steal_pointer (&next);
    json_array_append_new (log, json_string (path));
  }
  alteration->is_void = json_array_size (log) == 0;
  alteration->operation = "DROP COLUMNS";
  dml_alteration_set_json (alteration, "columns", json_incref (log));
  return take_schema (alteration, schema, error);
}

/* ---- RENAME COLUMN ---- */

static BaseType *
edit_rename (const BaseType *structure, gpointer data, GError **error)
{
  const Edit *edit = data;
  int old = base_type_field_index (structure, edit->old_name, TRUE);
  int taken = base_type_field_index (structure, edit->field->name, TRUE);
  SqlIdent name = { .text = edit->field->name };
  if (taken != -1 && taken != old) {
    set_exists (&name, "rename", error);
    return NULL;
  }
  return edit_struct (structure, data, error);
}

/* Partition columns are named in the metadata by their names of today. */
static void
rename_partition (DmlAlteration *alteration, const char *from, const char *to)
{
  const char *const *present = delta_metadata_partition_columns (alteration->metadata);
  g_auto (GStrv) names = g_strdupv ((char **) present);
  for (char **name = names; *name != NULL; name++) {
    if (!g_str_equal (*name, from))
      continue;
    g_free (*name);
    *name = g_strdup (to);
  }
  dml_alteration_take_metadata (
      alteration, delta_metadata_with_partition_columns (alteration->metadata, (const char *const *) names));
}

static gboolean
rename_column (DmlAlteration *alteration, const SqlAlter *alter, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  BaseType *schema = delta_metadata_schema (metadata);
  const SqlName *column = &alter->column;
  if (!refuse_owned (alteration, "RENAME COLUMN", error))
    return FALSE;
  const BaseField *old = find_whole_field (schema, column, error);
  if (old == NULL)
    return FALSE;
  if (delta_metadata_mapping (metadata) == DELTA_MAPPING_NONE) {
    base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_RENAME_COLUMN,
                    "Column rename is not supported for your Delta table.");
    base_error_set_hint (error, "ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')");
    return fail_at (&column->position, error);
  }
  g_auto (Field) field = field_of (old);
  field.name = alter->new_name.text;
  Edit edit = { .old_name = old->name, .field = &field };
  g_autoptr (BaseType) next = edit_at (schema, column->parts, column->n - 1, edit_rename, &edit, error);
  if (next == NULL)
    return fail_at (&alter->new_name.position, error);
  if (!check_feed_name (alteration, column, &alter->new_name, error) ||
      !check_dependents (alteration, column, next, error))
    return FALSE;
  dml_alteration_take_metadata (alteration, delta_metadata_ref (metadata));
  if (!take_schema (alteration, next, error))
    return FALSE;
  if (column->n == 1)
    rename_partition (alteration, old->name, field.name);
  g_autofree char *from = path_text (column->parts, column->n);
  g_autofree char *parent = path_text (column->parts, column->n - 1);
  g_autofree char *last = base_text_spark_identifier (field.name);
  g_autofree char *to = column->n > 1 ? g_strdup_printf ("%s.%s", parent, last) : g_strdup (last);
  adapt_statistics_columns (alteration, from, to);
  alteration->operation = "RENAME COLUMN";
  dml_alteration_set_parameter (alteration, "oldColumnPath", from);
  dml_alteration_set_parameter (alteration, "newColumnPath", to);
  return TRUE;
}

/* ---- ALTER COLUMN … TYPE ---- */

/* `varchar(5)` → 5. 0: no length. */
static gint64
length_of (const json_t *metadata, gboolean *is_char)
{
  const char *text = metadata != NULL ? base_json_string (metadata, LENGTH_KEY) : NULL;
  gint64 length = 0;
  *is_char = text != NULL && g_str_has_prefix (text, "char(");
  const char *open = text != NULL ? strchr (text, '(') : NULL;
  if (open == NULL)
    return 0;
  g_autofree char *digits = g_strndup (open + 1, strcspn (open + 1, ")"));
  return base_text_parse_int64 (digits, &length) ? length : 0;
}

/* Text of another length: longer VARCHAR, CHAR to VARCHAR, either to STRING. */
static gboolean
may_change_length (const json_t *metadata, const SqlType *type)
{
  gboolean is_char = FALSE;
  gint64 length = length_of (metadata, &is_char);
  if (type->length_kind == SQL_TYPE_PLAIN)
    return TRUE;
  if (length == 0)
    return FALSE;
  if (type->length_kind == SQL_TYPE_CHAR)
    return is_char && length == type->length;
  return length <= type->length;
}

static gboolean
refuse_type (const BaseType *old, const SqlAlter *alter, GError **error)
{
  g_autofree char *from = base_type_text (old);
  g_autofree char *path = path_text (alter->column.parts, alter->column.n);
  base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP,
                  "ALTER TABLE CHANGE COLUMN is not supported for changing column %s from %s to %s.", path, from,
                  alter->type.text);
  return fail_at (&alter->type.position, error);
}

static gboolean
refuse_length (const DmlAlteration *alteration, const SqlAlter *alter, GError **error)
{
  g_autofree char *path = path_text (alter->column.parts, alter->column.n);
  base_error_set (error, SLUICE_ERROR_NOT_SUPPORTED_CHANGE_COLUMN,
                  "ALTER TABLE ALTER/CHANGE COLUMN is not supported for changing %s's column %s to %s.",
                  alteration->name, path, alter->type.text);
  return fail_at (&alter->type.position, error);
}

static gboolean
refuse_nested (const DmlAlteration *alteration, const SqlAlter *alter, const BaseType *old, GError **error)
{
  BaseTypeKind kind = base_type_kind (old);
  g_autofree char *path = path_text (alter->column.parts, alter->column.n);
  if (kind == BASE_TYPE_STRUCT)
    base_error_set (error, SLUICE_ERROR_CANNOT_UPDATE_FIELD_STRUCT_TYPE,
                    "Cannot update %s field %s type: update struct by adding, deleting, or updating its fields.",
                    alteration->name, path);
  else if (kind == BASE_TYPE_ARRAY)
    base_error_set (error, SLUICE_ERROR_CANNOT_UPDATE_FIELD_ARRAY_TYPE,
                    "Cannot update %s field %s type: update the element by updating %s.element.", alteration->name,
                    path, path);
  else
    base_error_set (error, SLUICE_ERROR_CANNOT_UPDATE_FIELD_MAP_TYPE,
                    "Cannot update %s field %s type: update a map by updating %s.key or %s.value.", alteration->name,
                    path, path, path);
  return fail_at (&alter->type.position, error);
}

/* The type at the end of `element`, `key` and `value` steps below @type. */
static const BaseType *
leaf_of (const BaseType *type, const SqlIdent *parts, guint n)
{
  for (guint i = 0; i < n; i++)
    type = base_type_kind (type) == BASE_TYPE_ARRAY         ? base_type_element (type)
           : g_ascii_strcasecmp (parts[i].text, "key") == 0 ? base_type_key (type)
                                                            : base_type_value (type);
  return type;
}

/* @type with another leaf. Returns: (transfer full). */
static BaseType *
with_leaf (const BaseType *type, const SqlIdent *parts, guint n, const BaseType *leaf)
{
  if (n == 0)
    return base_type_ref (leaf);
  if (base_type_kind (type) == BASE_TYPE_ARRAY) {
    g_autoptr (BaseType) element = with_leaf (base_type_element (type), parts + 1, n - 1, leaf);
    return base_type_array (element, base_type_contains_null (type));
  }
  gboolean is_key = g_ascii_strcasecmp (parts[0].text, "key") == 0;
  g_autoptr (BaseType) part =
      with_leaf (is_key ? base_type_key (type) : base_type_value (type), parts + 1, n - 1, leaf);
  return base_type_map (is_key ? part : base_type_key (type), is_key ? base_type_value (type) : part,
                        base_type_contains_null (type));
}

/* @n_parts: of the path up to the field. */
static gboolean
change_type (DmlAlteration *alteration, const SqlAlter *alter, const BaseField *old, guint n_parts, Field *field,
             GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  const SqlIdent *below = alter->column.parts + n_parts;
  guint n_below = alter->column.n - n_parts;
  const BaseType *from = leaf_of (old->type, below, n_below), *to = alter->type.base;
  gboolean same = base_type_equal (from, to, BASE_TYPE_EQUAL_IGNORE_NULLABILITY);
  if (!same && base_type_is_nested (from))
    return refuse_nested (alteration, alter, from, error);
  if (same && (n_below > 0 || base_type_kind (to) != BASE_TYPE_STRING))
    return alter->type.length_kind == SQL_TYPE_PLAIN || refuse_length (alteration, alter, error);
  if (same) {
    if (!may_change_length (old->metadata, &alter->type))
      return refuse_length (alteration, alter, error);
    set_length (field->metadata, &alter->type);
    return TRUE;
  }
  gboolean widens = delta_type_can_widen (from, to);
  if (!widens || !delta_metadata_bool (metadata, "delta.enableTypeWidening", FALSE)) {
    (void) refuse_type (from, alter, error); /* always FALSE */
    if (widens)
      base_error_set_hint (error, "ALTER TABLE … SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')");
    return FALSE;
  }
  g_autoptr (GString) path = g_string_new (NULL);
  for (guint i = 0; i < n_below; i++) {
    g_autofree char *word = g_ascii_strdown (below[i].text, -1);
    g_string_append_printf (path, "%s%s", i > 0 ? "." : "", word);
  }
  json_decref (field->metadata);
  field->metadata = delta_field_add_type_change (old, from, to, n_below > 0 ? path->str : NULL);
  base_type_unref (field->type);
  field->type = with_leaf (old->type, below, n_below, to);
  return TRUE;
}

/* ---- ALTER COLUMN … DEFAULT, NOT NULL ---- */

static gboolean
set_default (DmlAlteration *alteration, const SqlAlter *alter, Field *field, GError **error)
{
  if (!delta_protocol_has (delta_snapshot_protocol (alteration->snapshot), "allowColumnDefaults")) {
    base_error_set (error, SLUICE_ERROR_WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED,
                    "Failed to execute ALTER COLUMN because it assigned a column DEFAULT value, but the corresponding "
                    "table feature was not enabled.");
    base_error_set_hint (error, "ALTER TABLE … SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')");
    return fail_at (&alter->action_position, error);
  }
  if (alter->column.n > 1)
    return dml_unsupported (&alter->column.position, error, "DEFAULT of a nested field", NULL);
  if (json_object_get (field->metadata, GENERATION) != NULL)
    return dml_unsupported (&alter->column.position, error, "DEFAULT of a generated column", NULL);
  if (!dml_default_check (alteration->context, alter->expression, field->type, field->name, error))
    return FALSE;
  g_autofree char *text = sql_position_text (&alter->expression->position);
  json_object_set_new (field->metadata, CURRENT_DEFAULT, json_string (text));
  return TRUE;
}

/* Rows that are there must obey. */
static gboolean
set_not_null (DmlAlteration *alteration, const SqlAlter *alter, Field *field, GError **error)
{
  const SqlName *column = &alter->column;
  const BaseType *type = delta_snapshot_schema (alteration->snapshot);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  for (guint i = 0; i < column->n; i++) {
    if (base_type_kind (type) != BASE_TYPE_STRUCT)
      return dml_unsupported (&column->position, error, "NOT NULL inside an array or map", NULL);
    const BaseField *step = base_type_field (type, (guint) base_type_field_index (type, column->parts[i].text, TRUE));
    if (i + 1 < column->n && step->nullable) {
      base_error_set (error, SLUICE_ERROR_DELTA_NOT_NULL_NESTED_FIELD,
                      "A field cannot be NOT NULL in a struct that may be NULL. Set the nullability of %s first.",
                      step->name);
      return fail_at (&column->position, error);
    }
    type = step->type;
  }
  g_autofree char *path = path_text (column->parts, column->n);
  g_autofree char *text = g_strdup_printf ("%s IS NOT NULL", path);
  SqlExpr *condition = sql_parse_expression (arena, text, -1, NULL, error);
  gint64 n_rows = 0;
  if (condition == NULL || !dml_count_violations (alteration, condition, &n_rows, error))
    return FALSE;
  if (n_rows > 0) {
    base_error_set (error, SLUICE_ERROR_DELTA_NEW_NOT_NULL_VIOLATION,
                    "%" G_GINT64_FORMAT " rows in %s violate the new NOT NULL constraint on %s.", n_rows,
                    alteration->name, path);
    return fail_at (&column->position, error);
  }
  field->nullable = FALSE;
  return TRUE;
}

/* ---- ALTER COLUMN ---- */

static gboolean
change_field (DmlAlteration *alteration, const SqlAlter *alter, const BaseField *old, guint n_parts, Field *field,
              GError **error)
{
  switch (alter->action) {
  case SQL_ALTER_COLUMN_TYPE:
    if (!change_type (alteration, alter, old, n_parts, field, error))
      return FALSE;
    if (alter->text != NULL)
      json_object_set_new (field->metadata, "comment", json_string (alter->text));
    return TRUE;
  case SQL_ALTER_COLUMN_COMMENT:
    if (alter->text != NULL)
      json_object_set_new (field->metadata, "comment", json_string (alter->text));
    else
      json_object_del (field->metadata, "comment");
    return TRUE;
  case SQL_ALTER_COLUMN_SET_NOT_NULL:
    return !old->nullable || set_not_null (alteration, alter, field, error);
  case SQL_ALTER_COLUMN_DROP_NOT_NULL:
    field->nullable = TRUE;
    return TRUE;
  case SQL_ALTER_COLUMN_SET_DEFAULT:
    return set_default (alteration, alter, field, error);
  case SQL_ALTER_COLUMN_DROP_DEFAULT:
    json_object_del (field->metadata, CURRENT_DEFAULT);
    return TRUE;
  default:
    return TRUE; /* its place alone */
  }
}

static gboolean
change_column (DmlAlteration *alteration, const SqlAlter *alter, GError **error)
{
  BaseType *schema = delta_snapshot_schema (alteration->snapshot);
  const SqlName *column = &alter->column;
  if (alter->action != SQL_ALTER_COLUMN_COMMENT && !refuse_owned (alteration, "ALTER COLUMN", error))
    return FALSE;
  guint n_parts = column->n;
  const BaseField *old = alter->action == SQL_ALTER_COLUMN_TYPE ? find_field (schema, column, &n_parts, error)
                                                                : find_whole_field (schema, column, error);
  if (old == NULL)
    return FALSE;
  g_auto (Field) field = field_of (old);
  if (!change_field (alteration, alter, old, n_parts, &field, error))
    return FALSE;
  Edit edit = { .old_name = old->name, .field = &field, .place = alter->place, .after = &alter->place_after };
  g_autoptr (BaseType) next = edit_at (schema, column->parts, n_parts - 1, edit_struct, &edit, error);
  if (next == NULL)
    return fail_at (&column->position, error);
  if (!base_type_equal (old->type, field.type, BASE_TYPE_EQUAL_EXACT)) {
    Edit drop = { .old_name = old->name };
    g_autoptr (BaseType) without = edit_at (schema, column->parts, n_parts - 1, edit_struct, &drop, error);
    if (without == NULL || !check_dependents (alteration, column, without, error))
      return FALSE;
  }
  g_autofree char *place = place_text (alter->place, &alter->place_after);
  alteration->operation = "CHANGE COLUMN";
  dml_alteration_set_json (alteration, "column", field_json (column->parts, n_parts - 1, &field));
  if (place != NULL)
    dml_alteration_set_parameter (alteration, "position", place);
  return take_schema (alteration, next, error);
}

/* ---- REPLACE COLUMNS ---- */

static gboolean
refuse_replacement (const SqlPosition *position, const char *reason, const char *name, GError **error)
{
  base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP,
                  "Unsupported ALTER TABLE REPLACE COLUMNS operation. Reason: %s (%s).", reason, name);
  return fail_at (position, error);
}

/* One column of the new list: the old one with its new comment, or a new one. */
static gboolean
replacement (const DmlAlteration *alteration, const SqlColumn *column, Field *field, GError **error)
{
  BaseType *schema = delta_snapshot_schema (alteration->snapshot);
  if (column->name.n != 1)
    return refuse_replacement (&column->position, "nested columns", column->name.parts[0].text, error);
  int index = base_type_field_index (schema, column->name.parts[0].text, TRUE);
  if (index < 0) {
    if (!check_new_column (alteration, column, error))
      return FALSE;
    *field = (Field){ column->name.parts[0].text, base_type_ref (column->type->base), TRUE, json_object () };
    set_length (field->metadata, column->type);
  } else {
    const BaseField *old = base_type_field (schema, (guint) index);
    if (!base_type_equal (old->type, column->type->base, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
      return refuse_replacement (&column->position, "changing data type", old->name, error);
    if (old->nullable && column->not_null)
      return refuse_replacement (&column->position, "tightening nullability", old->name, error);
    *field = field_of (old);
    field->nullable = !column->not_null;
  }
  if (column->comment != NULL)
    json_object_set_new (field->metadata, "comment", json_string (column->comment));
  return TRUE;
}

static gboolean
replace_columns (DmlAlteration *alteration, const SqlAlter *alter, GError **error)
{
  BaseType *schema = delta_snapshot_schema (alteration->snapshot);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (json_t) log = json_array ();
  if (!refuse_owned (alteration, "REPLACE COLUMNS", error))
    return FALSE;
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const char *name = base_type_field (schema, i)->name;
    gboolean kept = FALSE;
    for (guint k = 0; k < alter->columns.n; k++)
      kept = kept || base_text_equal_ignore_case (alter->columns.items[k].name.parts[0].text, name);
    if (!kept)
      return refuse_replacement (&alter->action_position, "dropping a column", name, error);
  }
  for (guint i = 0; i < alter->columns.n; i++) {
    g_auto (Field) field = { 0 };
    if (!replacement (alteration, &alter->columns.items[i], &field, error))
      return FALSE;
    add_field (builder, &field);
    json_array_append_new (log, field_json (NULL, 0, &field));
  }
  g_autoptr (BaseType) next = base_struct_builder_end (g_steal_pointer (&builder));
  alteration->operation = "REPLACE COLUMNS";
  dml_alteration_set_json (alteration, "columns", json_incref (log));
  return take_schema (alteration, next, error);
}

/* ---- statements ---- */

static gboolean
step (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlAlter *alter = data;
  switch (alter->action) {
  case SQL_ALTER_ADD_COLUMNS:
    return add_columns (alteration, alter, error);
  case SQL_ALTER_DROP_COLUMNS:
    return drop_columns (alteration, alter, error);
  case SQL_ALTER_RENAME_COLUMN:
    return rename_column (alteration, alter, error);
  case SQL_ALTER_REPLACE_COLUMNS:
    return replace_columns (alteration, alter, error);
  default:
    return change_column (alteration, alter, error);
  }
}

gboolean
dml_alter_columns (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  return dml_alter_run (context, &alter->name, step, alter, error);
}

gboolean
dml_comment_on_column (const DmlContext *context, const SqlComment *comment, GError **error)
{
  SqlAlter alter = { .action = SQL_ALTER_COLUMN_COMMENT, .text = comment->text, .name = comment->name };
  alter.action_position = comment->name.position;
  /* Where the table's name ends and the column's begins is told by what exists. */
  for (guint n = MIN (comment->name.n, 4) - 1; n >= 1 && n < comment->name.n; n--) {
    SqlName table = comment->name;
    g_auto (CatalogReference) reference = { 0 };
    table.n = n;
    if (n > 3 || !dml_resolve (context, &table, FALSE, &reference, NULL) || reference.kind == CATALOG_REFERENCE_ABSENT)
      continue;
    alter.name = table;
    alter.column = comment->name;
    alter.column.parts += n;
    alter.column.n -= n;
    return dml_alter_columns (context, &alter, error);
  }
  g_autofree const char **parts = dml_name_parts (&comment->name, error);
  if (parts != NULL)
    (void) catalog_session_set_not_found (context->names, parts, MAX (comment->name.n, 2) - 1,
                                          error); /* always FALSE */
  sql_position_add_to_error (&comment->name.position, error);
  return FALSE;
}

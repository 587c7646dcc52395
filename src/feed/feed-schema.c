/* Schemas of a feed, and which data fits which (cdf.md §1.2, §2.11, §6.3). */
#include "base-error.h"
#include "base-text.h"
#include "delta-widening.h"
#include "feed-private.h"

#include <string.h>

static const char *const reserved[] = { FEED_CHANGE_TYPE, FEED_COMMIT_VERSION, FEED_COMMIT_TIMESTAMP };

static gboolean
check_reserved (const BaseType *schema, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const char *name = base_type_field (schema, i)->name;
    for (guint j = 0; j < G_N_ELEMENTS (reserved); j++)
      if (base_text_equal_ignore_case (name, reserved[j]))
        g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", name);
  }
  if (names->len == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS,
                  "the table has columns whose names its change feed uses: %s", names->str);
  base_error_add_param (error, "columnList", names->str);
  base_error_set_hint (error, "rename or drop these columns to read the table's changes");
  return FALSE;
}

BaseType *
feed_schema_new (const BaseType *schema, GError **error)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) instant = base_type_simple (BASE_TYPE_TIMESTAMP);

  if (!check_reserved (schema, error))
    return NULL;
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    /* A column added later is NULL in older rows, whatever it says today. */
    base_struct_builder_add (builder, field->name, field->type, TRUE, field->metadata);
  }
  base_struct_builder_add (builder, FEED_CHANGE_TYPE, text, FALSE, NULL);
  base_struct_builder_add (builder, FEED_COMMIT_VERSION, number, FALSE, NULL);
  base_struct_builder_add (builder, FEED_COMMIT_TIMESTAMP, instant, FALSE, NULL);
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static gboolean
type_fits (const BaseType *data, DeltaMapping data_mapping, const BaseType *read, DeltaMapping read_mapping)
{
  if (base_type_kind (data) != base_type_kind (read))
    return FALSE;
  switch (base_type_kind (data)) {
  case BASE_TYPE_ARRAY:
    return (base_type_contains_null (read) || !base_type_contains_null (data)) &&
           type_fits (base_type_element (data), data_mapping, base_type_element (read), read_mapping);
  case BASE_TYPE_MAP:
    return (base_type_contains_null (read) || !base_type_contains_null (data)) &&
           type_fits (base_type_key (data), data_mapping, base_type_key (read), read_mapping) &&
           type_fits (base_type_value (data), data_mapping, base_type_value (read), read_mapping);
  case BASE_TYPE_STRUCT:
    break;
  default:
    return base_type_equal (data, read, BASE_TYPE_EQUAL_EXACT);
  }
  for (guint i = 0; i < base_type_n_fields (data); i++) {
    const BaseField *field = base_type_field (data, i);
    int at = base_type_field_index (read, field->name, FALSE);
    const BaseField *target = at >= 0 ? base_type_field (read, (guint) at) : NULL;
    if (target == NULL || (field->nullable && !target->nullable) ||
        strcmp (delta_field_physical_name (field, data_mapping), delta_field_physical_name (target, read_mapping)) !=
            0 ||
        !type_fits (field->type, data_mapping, target->type, read_mapping))
      return FALSE;
  }
  return TRUE;
}

gboolean
feed_schema_fits (DeltaMetadata *data, DeltaMetadata *read)
{
  if (data == read)
    return TRUE;
  /* A file written under other partition columns holds in itself what the log should say, or the other way round. */
  return g_strv_equal (delta_metadata_partition_columns (data), delta_metadata_partition_columns (read)) &&
         type_fits (delta_metadata_schema (data), delta_metadata_mapping (data), delta_metadata_schema (read),
                    delta_metadata_mapping (read));
}

/* The column of @before that a column of @read was: the same one by whatever name, else one of its name. Returns: -1: none. */
static int
find_column (DeltaMetadata *before, DeltaMetadata *read, const BaseField *field)
{
  BaseType *old = delta_metadata_schema (before);
  const char *physical = delta_field_physical_name (field, delta_metadata_mapping (read));

  for (guint i = 0; i < base_type_n_fields (old); i++)
    if (g_str_equal (delta_field_physical_name (base_type_field (old, i), delta_metadata_mapping (before)), physical))
      return (int) i;
  return base_type_field_index (old, field->name, FALSE);
}

/* Whether @now is @old with wider types and further leaves: old files are read as @now. */
static gboolean
type_grew (const BaseType *old, DeltaMapping old_mapping, const BaseType *now, DeltaMapping now_mapping)
{
  if (base_type_kind (old) != base_type_kind (now) || !base_type_is_nested (old))
    return base_type_equal (old, now, BASE_TYPE_EQUAL_EXACT) || delta_type_can_widen (old, now);
  switch (base_type_kind (old)) {
  case BASE_TYPE_ARRAY:
    return type_grew (base_type_element (old), old_mapping, base_type_element (now), now_mapping);
  case BASE_TYPE_MAP:
    return type_grew (base_type_key (old), old_mapping, base_type_key (now), now_mapping) &&
           type_grew (base_type_value (old), old_mapping, base_type_value (now), now_mapping);
  default:
    break;
  }
  for (guint i = 0; i < base_type_n_fields (old); i++) {
    const BaseField *field = base_type_field (old, i);
    int at = base_type_field_index (now, field->name, FALSE);
    const BaseField *target = at >= 0 ? base_type_field (now, (guint) at) : NULL;
    if (target == NULL ||
        !g_str_equal (delta_field_physical_name (field, old_mapping),
                      delta_field_physical_name (target, now_mapping)) ||
        !type_grew (field->type, old_mapping, target->type, now_mapping))
      return FALSE;
  }
  return TRUE;
}

static gboolean
field_grew (const BaseField *old, DeltaMetadata *before, const BaseField *now, DeltaMetadata *read)
{
  DeltaMapping old_mapping = delta_metadata_mapping (before), now_mapping = delta_metadata_mapping (read);

  return g_str_equal (delta_field_physical_name (old, old_mapping), delta_field_physical_name (now, now_mapping)) &&
         type_grew (old->type, old_mapping, now->type, now_mapping);
}

/* Fields without a name and an id in files get ones that no file of @before has. @schema: (transfer full). */
static BaseType *
map_absent (DeltaMetadata *before, BaseType *schema)
{
  gint64 max_id = delta_metadata_int (before, "delta.columnMapping.maxColumnId", 0);
  g_autoptr (BaseType) unmapped = schema;

  if (delta_metadata_mapping (before) == DELTA_MAPPING_NONE)
    return g_steal_pointer (&unmapped);
  return delta_schema_assign_mapping (unmapped, &max_id, FALSE);
}

DeltaMetadata *
feed_schema_of_deleted (DeltaMetadata *before, DeltaMetadata *read)
{
  gboolean is_mapped = delta_metadata_mapping (before) != DELTA_MAPPING_NONE;
  g_autoptr (BaseStructBuilder) builder = NULL;
  g_autoptr (BaseType) schema = NULL;
  g_autoptr (GPtrArray) partitions = g_ptr_array_new ();
  g_autoptr (DeltaMetadata) columns = NULL;

  if (feed_schema_fits (before, read))
    return NULL;
  builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (delta_metadata_schema (read)); i++) {
    const BaseField *field = base_type_field (delta_metadata_schema (read), i);
    int at = find_column (before, read, field);
    const BaseField *source = at >= 0 ? base_type_field (delta_metadata_schema (before), (guint) at) : NULL;
    if (source != NULL && !base_type_equal (source->type, field->type, BASE_TYPE_EQUAL_EXACT))
      source = field_grew (source, before, field, read) ? field : NULL;
    /* The name and the id of a column that @before lacks may be those of another one in its files. */
    base_struct_builder_add (builder, field->name, source != NULL ? source->type : field->type, TRUE,
                             source != NULL ? source->metadata
                             : is_mapped    ? NULL
                                            : field->metadata);
    if (at >= 0 && (source != NULL || !is_mapped) && delta_metadata_is_partition_column (before, (guint) at))
      g_ptr_array_add (partitions, field->name);
  }
  g_ptr_array_add (partitions, NULL);
  schema = map_absent (before, base_struct_builder_end (g_steal_pointer (&builder)));
  columns = delta_metadata_with_schema (before, schema);
  return delta_metadata_with_partition_columns (columns, (const char *const *) partitions->pdata);
}

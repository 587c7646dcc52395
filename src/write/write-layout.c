/* The physical form of a table's rows.
 *
 * 1. The text of a row's values mentions c0, c1, … only; users' names appear in it as quoted output names and struct keys.
 * 2. A value is rebuilt only where a nested field's physical name differs from its name: most tables pass through untouched.
 * 3. Field ids are written exactly for fields that have one, so hidden columns never get one (DuckDB's FIELD_IDS 'auto' would).
 * 4. Instants among partition values are in UTC with a `Z`: the older form without a zone means another instant to a reader in
 *    another zone. An empty string is NULL: the protocol cannot tell them apart.
 */
#include "write-layout.h"

#include "base-text.h"

struct WriteLayout {
  DeltaMetadata *metadata;
  DeltaMapping mapping;
  GArray *columns;    /* WriteColumn */
  GArray *partitions; /* WriteColumn */
};

WriteLayout *
write_layout_new (DeltaMetadata *metadata)
{
  WriteLayout *layout = g_new0 (WriteLayout, 1);
  layout->metadata = delta_metadata_ref (metadata);
  layout->mapping = delta_metadata_mapping (metadata);
  layout->columns = g_array_new (FALSE, FALSE, sizeof (WriteColumn));
  layout->partitions = g_array_new (FALSE, FALSE, sizeof (WriteColumn));

  BaseType *schema = delta_metadata_schema (metadata);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    WriteColumn column = {
      .index = i,
      .field = field,
      .physical = delta_field_physical_name (field, layout->mapping),
      .partition = delta_metadata_is_partition_column (metadata, i),
    };
    if (base_type_kind (field->type) != BASE_TYPE_VOID)
      g_array_append_val (layout->columns, column);
  }

  const char *const *names = delta_metadata_partition_columns (metadata);
  for (guint i = 0; names != NULL && names[i] != NULL; i++) {
    int index = base_type_field_index (schema, names[i], TRUE);
    if (index < 0)
      continue;
    const BaseField *field = base_type_field (schema, (guint) index);
    WriteColumn column = { .index = (guint) index,
                           .field = field,
                           .physical = delta_field_physical_name (field, layout->mapping),
                           .partition = TRUE };
    g_array_append_val (layout->partitions, column);
  }
  return layout;
}

void
write_layout_free (WriteLayout *layout)
{
  if (layout == NULL)
    return;
  g_array_unref (layout->columns);
  g_array_unref (layout->partitions);
  delta_metadata_unref (layout->metadata);
  g_free (layout);
}

DeltaMetadata *
write_layout_metadata (WriteLayout *layout)
{
  return layout->metadata;
}

guint
write_layout_n_columns (WriteLayout *layout)
{
  return layout->columns->len;
}

const WriteColumn *
write_layout_column (WriteLayout *layout, guint index)
{
  return &g_array_index (layout->columns, WriteColumn, index);
}

guint
write_layout_n_partitions (WriteLayout *layout)
{
  return layout->partitions->len;
}

const WriteColumn *
write_layout_partition (WriteLayout *layout, guint index)
{
  return &g_array_index (layout->partitions, WriteColumn, index);
}

/* ---- values under physical names ---- */

static gboolean
has_renames (const BaseType *type, DeltaMapping mapping)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    return has_renames (base_type_element (type), mapping);
  case BASE_TYPE_MAP:
    return has_renames (base_type_key (type), mapping) || has_renames (base_type_value (type), mapping);
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      if (g_strcmp0 (field->name, delta_field_physical_name (field, mapping)) != 0 ||
          has_renames (field->type, mapping))
        return TRUE;
    }
    return FALSE;
  default:
    return FALSE;
  }
}

/* @depth keeps the variables of nested lambdas apart. */
static void
append_value (GString *sql, const char *value, const BaseType *type, DeltaMapping mapping, guint depth)
{
  if (!has_renames (type, mapping)) {
    g_string_append (sql, value);
    return;
  }
  g_autofree char *variable = g_strdup_printf ("x%u", depth);
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    g_string_append_printf (sql, "list_transform(%s, lambda %s: ", value, variable);
    append_value (sql, variable, base_type_element (type), mapping, depth + 1);
    g_string_append_c (sql, ')');
    return;
  case BASE_TYPE_MAP: {
    g_autofree char *key = g_strdup_printf ("%s.key", variable);
    g_autofree char *entry = g_strdup_printf ("%s.value", variable);
    g_string_append_printf (sql, "map_from_entries(list_transform(map_entries(%s), lambda %s: struct_pack(k := ", value,
                            variable);
    append_value (sql, key, base_type_key (type), mapping, depth + 1);
    g_string_append (sql, ", v := ");
    append_value (sql, entry, base_type_value (type), mapping, depth + 1);
    g_string_append (sql, ")))");
    return;
  }
  default:
    break;
  }
  g_string_append_printf (sql, "CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(", value);
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    g_autoptr (GString) part = g_string_new (NULL);
    g_string_append_printf (part, "struct_extract(%s, ", value);
    base_text_append_sql_literal (part, field->name);
    g_string_append_c (part, ')');
    if (i > 0)
      g_string_append (sql, ", ");
    base_text_append_sql_identifier (sql, delta_field_physical_name (field, mapping));
    g_string_append (sql, " := ");
    append_value (sql, part->str, field->type, mapping, depth + 1);
  }
  g_string_append (sql, ") END");
}

gboolean
write_layout_append_data (WriteLayout *layout, GString *sql)
{
  gboolean any = FALSE;
  for (guint i = 0; i < layout->columns->len; i++) {
    const WriteColumn *column = write_layout_column (layout, i);
    if (column->partition)
      continue;
    g_autofree char *value = g_strdup_printf ("c%u", column->index);
    if (any)
      g_string_append (sql, ", ");
    append_value (sql, value, column->field->type, layout->mapping, 0);
    g_string_append (sql, " AS ");
    base_text_append_sql_identifier (sql, column->physical);
    any = TRUE;
  }
  return any;
}

/* ---- field ids ---- */

static void append_field_ids (GString *text, const BaseType *type, DeltaMapping mapping, gboolean *first);

static void
append_one_id (GString *text, const char *name, gint64 id, const BaseType *type, DeltaMapping mapping, gboolean *first)
{
  g_string_append (text, *first ? "" : ", ");
  *first = FALSE;
  base_text_append_sql_identifier (text, name);
  g_string_append (text, ": ");
  if (!base_type_is_nested (type)) {
    g_string_append_printf (text, "%" G_GINT64_FORMAT, id);
    return;
  }
  gboolean inner = TRUE;
  g_string_append_c (text, '{');
  if (id >= 0) {
    g_string_append_printf (text, "__duckdb_field_id: %" G_GINT64_FORMAT, id);
    inner = FALSE;
  }
  append_field_ids (text, type, mapping, &inner);
  g_string_append_c (text, '}');
}

static gboolean
has_ids (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    return has_ids (base_type_element (type));
  case BASE_TYPE_MAP:
    return has_ids (base_type_key (type)) || has_ids (base_type_value (type));
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      if (delta_field_id (field) >= 0 || has_ids (field->type))
        return TRUE;
    }
    return FALSE;
  default:
    return FALSE;
  }
}

static void
append_field_ids (GString *text, const BaseType *type, DeltaMapping mapping, gboolean *first)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    if (has_ids (base_type_element (type)))
      append_one_id (text, "element", -1, base_type_element (type), mapping, first);
    return;
  case BASE_TYPE_MAP:
    if (has_ids (base_type_key (type)))
      append_one_id (text, "key", -1, base_type_key (type), mapping, first);
    if (has_ids (base_type_value (type)))
      append_one_id (text, "value", -1, base_type_value (type), mapping, first);
    return;
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      if (delta_field_id (field) >= 0 || has_ids (field->type))
        append_one_id (text, delta_field_physical_name (field, mapping), delta_field_id (field), field->type, mapping,
                       first);
    }
    return;
  default:
    return;
  }
}

char *
write_layout_field_ids (WriteLayout *layout)
{
  if (layout->mapping == DELTA_MAPPING_NONE)
    return NULL;
  gboolean first = TRUE;
  g_autoptr (GString) text = g_string_new ("{");
  for (guint i = 0; i < layout->columns->len; i++) {
    const WriteColumn *column = write_layout_column (layout, i);
    gint64 id = delta_field_id (column->field);
    if (!column->partition && (id >= 0 || has_ids (column->field->type)))
      append_one_id (text, column->physical, id, column->field->type, layout->mapping, &first);
  }
  g_string_append_c (text, '}');
  return first ? NULL : g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- partition values ---- */

gboolean
write_partition_type_is_legal (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
  case BASE_TYPE_DECIMAL:
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    return TRUE;
  case BASE_TYPE_VOID:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return FALSE;
  }
  return FALSE;
}

/* A NUL cannot be in a path, and would make two values one. */
static char *
text_expression (const char *text)
{
  return g_strdup_printf (
      "CASE WHEN contains(%s, chr(0)) THEN error('SLUICE[DELTA_INVALID_PARTITION_VALUE] A partition "
      "value holds a NUL character.') ELSE nullif(%s, '') END",
      text, text);
}

char *
write_partition_expression (const char *column, const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE: /* Java's spelling of the three that have no digits */
    return g_strdup_printf ("CASE WHEN isnan(%s) THEN 'NaN' WHEN isinf(%s) THEN CASE WHEN %s > 0 THEN 'Infinity' ELSE "
                            "'-Infinity' END ELSE CAST(%s AS VARCHAR) END",
                            column, column, column, column);
  case BASE_TYPE_STRING:
    return text_expression (column);
  case BASE_TYPE_BINARY: {
    g_autofree char *text = g_strdup_printf ("decode(%s)", column);
    return text_expression (text);
  }
  case BASE_TYPE_TIMESTAMP:
    return g_strdup_printf ("strftime(timezone('UTC', %s), '%%Y-%%m-%%dT%%H:%%M:%%S.%%fZ')", column);
  case BASE_TYPE_TIMESTAMP_NTZ:
    return g_strdup_printf ("strftime(%s, '%%Y-%%m-%%d %%H:%%M:%%S.%%f')", column);
  default:
    return g_strdup_printf ("CAST(%s AS VARCHAR)", column);
  }
}

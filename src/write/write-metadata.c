/* What a table's schema must be before rows of it can be written: names, types, partition columns.
 *
 * The delta.* properties and what they ask of the schema are checked by delta_metadata_prepare().
 */
#include "base-error.h"
#include "base-text.h"
#include "write-private.h"

#include <string.h>

/* Parquet and Spark refuse these in a column name unless column mapping hides the name from the file. */
static const char illegal_characters[] = " ,;{}()\n\t=";

static gboolean
check_type (const char *column, const BaseType *type, GError **error)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR: {
    g_autofree char *text = base_type_text (type);
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_DATA_TYPES,
                           "Found columns using unsupported data types: [%s: %s]. A Delta table cannot hold intervals.",
                           column, text);
  }
  case BASE_TYPE_ARRAY:
    return check_type (column, base_type_element (type), error);
  case BASE_TYPE_MAP:
    return check_type (column, base_type_key (type), error) && check_type (column, base_type_value (type), error);
  default:
    return TRUE;
  }
}

static gboolean
check_fields (const BaseType *type, gboolean mapped, GError **error)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    return check_fields (base_type_element (type), mapped, error);
  case BASE_TYPE_MAP:
    return check_fields (base_type_key (type), mapped, error) && check_fields (base_type_value (type), mapped, error);
  case BASE_TYPE_STRUCT:
    break;
  default:
    return TRUE;
  }
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    if (!g_hash_table_add (seen, base_text_folded (field->name))) {
      g_autofree char *name = base_text_spark_identifier (field->name);
      return base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS,
                             "The column %s already exists. Choose another name or rename the existing column.", name);
    }
    if (!mapped && strpbrk (field->name, illegal_characters) != NULL) {
      base_error_set (error, SLUICE_ERROR_DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES,
                      "Found invalid character(s) among ' ,;{}()\\n\\t=' in the column name '%s'.", field->name);
      base_error_set_hint (error,
                           "Enable column mapping with 'delta.columnMapping.mode' = 'name', or rename the column.");
      return FALSE;
    }
    if (!check_type (field->name, field->type, error) || !check_fields (field->type, mapped, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
check_partitions (DeltaMetadata *metadata, GError **error)
{
  BaseType *schema = delta_metadata_schema (metadata);
  const char *const *names = delta_metadata_partition_columns (metadata);
  guint n_partitions = 0;
  for (; names != NULL && names[n_partitions] != NULL; n_partitions++) {
    const char *name = names[n_partitions];
    int index = base_type_field_index (schema, name, TRUE);
    if (index < 0)
      return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PARTITION_COLUMN,
                             "%s is not a valid partition column: the table has no column of this name.", name);
    for (guint i = 0; i < n_partitions; i++) {
      if (base_text_equal_ignore_case (names[i], name))
        return base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS, "The partition column `%s` is named twice.",
                               name);
    }
    const BaseField *field = base_type_field (schema, (guint) index);
    if (!write_partition_type_is_legal (field->type)) {
      g_autofree char *type = base_type_text (field->type);
      return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PARTITION_COLUMN_TYPE,
                             "Using column %s of type %s as a partition column is not supported.", name, type);
    }
  }
  if (n_partitions > 0 && n_partitions == base_type_n_fields (schema))
    return base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION,
                           "Cannot use all columns for partition columns.");
  return TRUE;
}

gboolean
write_metadata_check (DeltaMetadata *metadata, GError **error)
{
  gboolean mapped = delta_metadata_mapping (metadata) != DELTA_MAPPING_NONE;
  return check_fields (delta_metadata_schema (metadata), mapped, error) && check_partitions (metadata, error);
}

/* A table's metadata as an immutable value: `metaData` actions in and out, typed properties, column mapping.
 *
 * Invariants:
 *   1. `schema` is a struct; every partition column is one of its fields.
 *   2. `properties` is sorted by key (a GTree), so equal metadata gives equal JSON.
 *   3. Whoever changes something makes a new value; the id stays.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-settings.h"
#include "base-text.h"
#include "delta-metadata-private.h"

#include <string.h>

#define ID_KEY            "delta.columnMapping.id"
#define PHYSICAL_NAME_KEY "delta.columnMapping.physicalName"

struct DeltaMetadata {
  gatomicrefcount references;
  char *id;
  char *name;
  char *description;
  BaseType *schema;
  char **partition_columns;
  GTree *properties;
  gint64 created_ms;
};

static int
compare_keys (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  return strcmp (a, b);
}

static DeltaMetadata *
metadata_alloc (void)
{
  DeltaMetadata *metadata = g_new0 (DeltaMetadata, 1);

  g_atomic_ref_count_init (&metadata->references);
  metadata->properties = g_tree_new_full (compare_keys, NULL, g_free, g_free);
  metadata->partition_columns = g_new0 (char *, 1);
  metadata->created_ms = -1;
  return metadata;
}

DeltaMetadata *
delta_metadata_ref (DeltaMetadata *metadata)
{
  g_atomic_ref_count_inc (&metadata->references);
  return metadata;
}

void
delta_metadata_unref (DeltaMetadata *metadata)
{
  if (metadata == NULL || !g_atomic_ref_count_dec (&metadata->references))
    return;
  g_free (metadata->id);
  g_free (metadata->name);
  g_free (metadata->description);
  base_type_unref (metadata->schema);
  g_strfreev (metadata->partition_columns);
  g_tree_unref (metadata->properties);
  g_free (metadata);
}

static gboolean
copy_property (gpointer key, gpointer value, gpointer tree)
{
  g_tree_insert (tree, g_strdup (key), g_strdup (value));
  return FALSE;
}

static DeltaMetadata *
metadata_copy (DeltaMetadata *metadata)
{
  DeltaMetadata *copy = metadata_alloc ();

  copy->id = g_strdup (metadata->id);
  copy->name = g_strdup (metadata->name);
  copy->description = g_strdup (metadata->description);
  copy->schema = base_type_ref (metadata->schema);
  g_strfreev (copy->partition_columns);
  copy->partition_columns = g_strdupv (metadata->partition_columns);
  g_tree_foreach (metadata->properties, copy_property, copy->properties);
  copy->created_ms = metadata->created_ms;
  return copy;
}

DeltaMetadata *
delta_metadata_new (const BaseType *schema, const char *const *partition_columns, GHashTable *configuration,
                    const char *name, const char *description, gint64 created_ms)
{
  DeltaMetadata *metadata = metadata_alloc ();

  metadata->id = base_text_uuid ();
  metadata->name = g_strdup (name);
  metadata->description = g_strdup (description);
  metadata->schema = base_type_ref (schema);
  if (partition_columns != NULL) {
    g_strfreev (metadata->partition_columns);
    metadata->partition_columns = g_strdupv ((char **) partition_columns);
  }
  if (configuration != NULL) {
    GHashTableIter iter;
    gpointer key;
    gpointer value;
    g_hash_table_iter_init (&iter, configuration);
    while (g_hash_table_iter_next (&iter, &key, &value))
      copy_property (key, value, metadata->properties);
  }
  metadata->created_ms = created_ms;
  return metadata;
}

DeltaMetadata *
delta_metadata_with_schema (DeltaMetadata *metadata, const BaseType *schema)
{
  DeltaMetadata *copy = metadata_copy (metadata);

  base_type_unref (copy->schema);
  copy->schema = base_type_ref (schema);
  return copy;
}

DeltaMetadata *
delta_metadata_with_partition_columns (DeltaMetadata *metadata, const char *const *columns)
{
  DeltaMetadata *copy = metadata_copy (metadata);

  g_strfreev (copy->partition_columns);
  copy->partition_columns = g_strdupv ((char **) columns);
  return copy;
}

DeltaMetadata *
delta_metadata_with_property (DeltaMetadata *metadata, const char *key, const char *value)
{
  DeltaMetadata *copy = metadata_copy (metadata);

  if (value == NULL)
    g_tree_remove (copy->properties, key);
  else
    copy_property ((gpointer) key, (gpointer) value, copy->properties);
  return copy;
}

DeltaMetadata *
delta_metadata_with_texts (DeltaMetadata *metadata, const char *name, const char *description)
{
  DeltaMetadata *copy = metadata_copy (metadata);

  g_free (copy->name);
  copy->name = g_strdup (name);
  g_free (copy->description);
  copy->description = g_strdup (description);
  return copy;
}

/* Facts --------------------------------------------------------------------------------------------------------------- */

const char *
delta_metadata_id (DeltaMetadata *metadata)
{
  return metadata->id;
}

const char *
delta_metadata_name (DeltaMetadata *metadata)
{
  return metadata->name;
}

const char *
delta_metadata_description (DeltaMetadata *metadata)
{
  return metadata->description;
}

BaseType *
delta_metadata_schema (DeltaMetadata *metadata)
{
  return metadata->schema;
}

const char *const *
delta_metadata_partition_columns (DeltaMetadata *metadata)
{
  return (const char *const *) metadata->partition_columns;
}

gboolean
delta_metadata_is_partition_column (DeltaMetadata *metadata, guint column)
{
  const char *name = base_type_field (metadata->schema, column)->name;

  for (char **at = metadata->partition_columns; *at != NULL; at++)
    if (strcmp (*at, name) == 0)
      return TRUE;
  return FALSE;
}

gint64
delta_metadata_created_ms (DeltaMetadata *metadata)
{
  return metadata->created_ms;
}

static gboolean
collect_key (gpointer key, gpointer value G_GNUC_UNUSED, gpointer keys)
{
  g_ptr_array_add (keys, key);
  return FALSE;
}

const char **
delta_metadata_property_keys (DeltaMetadata *metadata)
{
  GPtrArray *keys = g_ptr_array_new ();

  g_tree_foreach (metadata->properties, collect_key, keys);
  g_ptr_array_add (keys, NULL);
  return (const char **) g_ptr_array_free (keys, FALSE);
}

const char *
delta_metadata_property (DeltaMetadata *metadata, const char *key)
{
  return g_tree_lookup (metadata->properties, key);
}

/* Properties ---------------------------------------------------------------------------------------------------------- */

gboolean
delta_metadata_bool (DeltaMetadata *metadata, const char *key, gboolean fallback)
{
  const char *text = delta_metadata_property (metadata, key);

  if (text == NULL)
    return fallback;
  if (g_ascii_strcasecmp (text, "true") == 0)
    return TRUE;
  return g_ascii_strcasecmp (text, "false") == 0 ? FALSE : fallback;
}

gint64
delta_metadata_int (DeltaMetadata *metadata, const char *key, gint64 fallback)
{
  const char *text = delta_metadata_property (metadata, key);
  gint64 value;

  return text != NULL && base_text_parse_int64 (text, &value) ? value : fallback;
}

gint64
delta_metadata_interval_us (DeltaMetadata *metadata, const char *key, gint64 fallback_us)
{
  const char *text = delta_metadata_property (metadata, key);
  gint64 value_us;

  if (text == NULL)
    return fallback_us;
  if (g_ascii_strncasecmp (text, "interval ", 9) == 0)
    text += 9;
  return base_settings_parse_duration (text, &value_us) ? value_us : fallback_us;
}

DeltaMapping
delta_metadata_mapping (DeltaMetadata *metadata)
{
  const char *mode = delta_metadata_property (metadata, "delta.columnMapping.mode");

  if (mode != NULL && g_ascii_strcasecmp (mode, "name") == 0)
    return DELTA_MAPPING_NAME;
  if (mode != NULL && g_ascii_strcasecmp (mode, "id") == 0)
    return DELTA_MAPPING_ID;
  return DELTA_MAPPING_NONE;
}

gboolean
delta_metadata_change_feed (DeltaMetadata *metadata)
{
  if (delta_metadata_property (metadata, "delta.enableChangeDataFeed") != NULL)
    return delta_metadata_bool (metadata, "delta.enableChangeDataFeed", FALSE);
  return delta_metadata_bool (metadata, "delta.enableChangeDataCapture", FALSE);
}

gboolean
delta_metadata_deletion_vectors (DeltaMetadata *metadata)
{
  return delta_metadata_bool (metadata, "delta.enableDeletionVectors", FALSE);
}

gboolean
delta_metadata_row_tracking (DeltaMetadata *metadata)
{
  return delta_metadata_bool (metadata, "delta.enableRowTracking", FALSE);
}

gboolean
delta_metadata_append_only (DeltaMetadata *metadata)
{
  return delta_metadata_bool (metadata, "delta.appendOnly", FALSE);
}

gboolean
delta_metadata_commit_timestamps (DeltaMetadata *metadata)
{
  return delta_metadata_bool (metadata, "delta.enableInCommitTimestamps", FALSE);
}

const char *
delta_metadata_row_id_column (DeltaMetadata *metadata)
{
  return delta_metadata_property (metadata, "delta.rowTracking.materializedRowIdColumnName");
}

const char *
delta_metadata_row_commit_version_column (DeltaMetadata *metadata)
{
  return delta_metadata_property (metadata, "delta.rowTracking.materializedRowCommitVersionColumnName");
}

/* Column mapping ------------------------------------------------------------------------------------------------------ */

const char *
delta_field_physical_name (const BaseField *field, DeltaMapping mapping)
{
  const char *name = NULL;

  if (mapping != DELTA_MAPPING_NONE && field->metadata != NULL)
    name = base_json_string (field->metadata, PHYSICAL_NAME_KEY);
  return name != NULL ? name : field->name;
}

gint64
delta_field_id (const BaseField *field)
{
  return field->metadata != NULL ? base_json_int64 (field->metadata, ID_KEY, -1) : -1;
}

static gint64
greatest_id (const BaseType *type)
{
  gint64 greatest = 0;

  switch (base_type_kind (type)) {
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      greatest = MAX (greatest, MAX (delta_field_id (field), greatest_id (field->type)));
    }
    return greatest;
  case BASE_TYPE_ARRAY:
    return greatest_id (base_type_element (type));
  case BASE_TYPE_MAP:
    return MAX (greatest_id (base_type_key (type)), greatest_id (base_type_value (type)));
  default:
    return 0;
  }
}

static BaseType *
assign_mapping (const BaseType *type, gint64 *max_id, gboolean keep_names)
{
  if (base_type_kind (type) == BASE_TYPE_ARRAY) {
    g_autoptr (BaseType) element = assign_mapping (base_type_element (type), max_id, keep_names);
    return base_type_array (element, base_type_contains_null (type));
  }
  if (base_type_kind (type) == BASE_TYPE_MAP) {
    g_autoptr (BaseType) key = assign_mapping (base_type_key (type), max_id, keep_names);
    g_autoptr (BaseType) value = assign_mapping (base_type_value (type), max_id, keep_names);
    return base_type_map (key, value, base_type_contains_null (type));
  }
  if (base_type_kind (type) != BASE_TYPE_STRUCT)
    return base_type_ref (type);

  BaseStructBuilder *builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    g_autoptr (json_t) metadata = field->metadata != NULL ? json_deep_copy (field->metadata) : json_object ();
    if (delta_field_id (field) < 0)
      json_object_set_new (metadata, ID_KEY, json_integer (++*max_id));
    if (base_json_string (metadata, PHYSICAL_NAME_KEY) == NULL) {
      g_autofree char *uuid = base_text_uuid ();
      g_autofree char *fresh = g_strconcat ("col-", uuid, NULL);
      json_object_set_new (metadata, PHYSICAL_NAME_KEY, json_string (keep_names ? field->name : fresh));
    }
    g_autoptr (BaseType) child = assign_mapping (field->type, max_id, keep_names);
    base_struct_builder_add (builder, field->name, child, field->nullable, metadata);
  }
  return base_struct_builder_end (builder);
}

BaseType *
delta_schema_assign_mapping (const BaseType *schema, gint64 *max_id, gboolean keep_names)
{
  *max_id = MAX (*max_id, greatest_id (schema));
  return assign_mapping (schema, max_id, keep_names);
}

DeltaMetadata *
delta_metadata_enable_row_tracking (DeltaMetadata *metadata)
{
  DeltaMetadata *copy = metadata_copy (metadata);
  static const struct {
    const char *key;
    const char *prefix;
  } columns[] = {
    { "delta.rowTracking.materializedRowIdColumnName", "_row-id-col-" },
    { "delta.rowTracking.materializedRowCommitVersionColumnName", "_row-commit-version-col-" },
  };

  copy_property ((gpointer) "delta.enableRowTracking", (gpointer) "true", copy->properties);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    if (g_tree_lookup (copy->properties, columns[i].key) == NULL) {
      g_autofree char *uuid = base_text_uuid ();
      g_tree_insert (copy->properties, g_strdup (columns[i].key), g_strconcat (columns[i].prefix, uuid, NULL));
    }
  return copy;
}

/* JSON ---------------------------------------------------------------------------------------------------------------- */

static gboolean
read_schema (DeltaMetadata *metadata, const json_t *object, GError **error)
{
  const char *text = base_json_string (object, "schemaString");
  g_autoptr (json_t) json = NULL;

  if (text == NULL) {
    /* A table of no columns, as Delta's own reader takes it. */
    metadata->schema = base_struct_builder_end (base_struct_builder_new ());
    return TRUE;
  }
  json = base_json_parse (text, strlen (text), "schemaString", error);
  if (json == NULL)
    return FALSE;
  metadata->schema = base_type_from_json (json, error);
  if (metadata->schema == NULL)
    return FALSE;
  if (base_type_kind (metadata->schema) != BASE_TYPE_STRUCT)
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "the schema of a metaData action is not a struct");
  return TRUE;
}

static gboolean
read_partition_columns (DeltaMetadata *metadata, const json_t *object, GError **error)
{
  const json_t *columns = json_object_get (object, "partitionColumns");
  gsize n_columns = json_array_size (columns);

  g_strfreev (metadata->partition_columns);
  metadata->partition_columns = g_new0 (char *, n_columns + 1);
  for (gsize i = 0; i < n_columns; i++) {
    const char *name = json_string_value (json_array_get (columns, i));
    int index = name != NULL ? base_type_field_index (metadata->schema, name, TRUE) : -1;
    if (index < 0)
      return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT,
                             "the partition column `%s` is not a column of the schema", name != NULL ? name : "?");
    metadata->partition_columns[i] = g_strdup (base_type_field (metadata->schema, (guint) index)->name);
  }
  return TRUE;
}

DeltaMetadata *
delta_metadata_from_json (const json_t *object, GError **error)
{
  g_autoptr (DeltaMetadata) metadata = metadata_alloc ();
  const json_t *format = json_object_get (object, "format");
  const char *provider = json_is_object (format) ? base_json_string (format, "provider") : NULL;
  const char *key;
  json_t *value;

  if (!json_is_object (object)) {
    base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "a metaData action is not an object");
    return NULL;
  }
  if (provider != NULL && g_ascii_strcasecmp (provider, "parquet") != 0) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FILE_FORMAT, "the table's files are `%s`, not parquet", provider);
    return NULL;
  }
  metadata->id = g_strdup (base_json_string (object, "id"));
  if (metadata->id == NULL)
    metadata->id = g_strdup ("");
  metadata->name = g_strdup (base_json_string (object, "name"));
  metadata->description = g_strdup (base_json_string (object, "description"));
  metadata->created_ms = base_json_int64 (object, "createdTime", -1);
  json_object_foreach (json_object_get (object, "configuration"), key, value)
  {
    if (json_is_string (value))
      copy_property ((gpointer) key, (gpointer) json_string_value (value), metadata->properties);
  }
  if (!read_schema (metadata, object, error) || !read_partition_columns (metadata, object, error))
    return NULL;
  return g_steal_pointer (&metadata);
}

static gboolean
add_property_json (gpointer key, gpointer value, gpointer object)
{
  json_object_set_new (object, key, json_string (value));
  return FALSE;
}

json_t *
delta_metadata_to_json (DeltaMetadata *metadata)
{
  json_t *object = json_object ();
  json_t *format = json_object ();
  json_t *columns = json_array ();
  json_t *configuration = json_object ();
  g_autoptr (json_t) schema = base_type_to_json (metadata->schema);
  g_autofree char *schema_text = base_json_text (schema);

  json_object_set_new (object, "id", json_string (metadata->id));
  if (metadata->name != NULL)
    json_object_set_new (object, "name", json_string (metadata->name));
  if (metadata->description != NULL)
    json_object_set_new (object, "description", json_string (metadata->description));
  json_object_set_new (format, "provider", json_string ("parquet"));
  json_object_set_new (format, "options", json_object ());
  json_object_set_new (object, "format", format);
  json_object_set_new (object, "schemaString", json_string (schema_text));
  for (char **at = metadata->partition_columns; *at != NULL; at++)
    json_array_append_new (columns, json_string (*at));
  json_object_set_new (object, "partitionColumns", columns);
  g_tree_foreach (metadata->properties, add_property_json, configuration);
  json_object_set_new (object, "configuration", configuration);
  if (metadata->created_ms >= 0)
    json_object_set_new (object, "createdTime", json_integer (metadata->created_ms));
  return object;
}

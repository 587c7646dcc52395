/* The log of schemas: see stream-schema-log.h. Entries are written once and never changed. */
#include "stream-schema-log.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"

#include <string.h>

struct StreamSchemaLog {
  Store *storage;
  char *prefix; /* of the keys of entries, with its final / */
  char *table_id;
  char *source;
};

void
stream_schema_entry_clear (StreamSchemaEntry *entry)
{
  g_clear_pointer (&entry->metadata, delta_metadata_unref);
  g_clear_pointer (&entry->protocol, delta_protocol_unref);
}

/* @location relative to the checkpoint at @root; NULL when it is not below it. (transfer full). */
static char *
below_checkpoint (const char *root, const char *location)
{
  g_autofree char *path = NULL;
  g_autofree char *base = g_canonicalize_filename (root, NULL);

  if (g_ascii_strncasecmp (location, "file:", 5) == 0) {
    const char *rest = location + 5;
    while (rest[0] == '/' && rest[1] == '/')
      rest++;
    path = base_text_uri_decode (rest);
  } else {
    path = g_strdup (location);
  }
  if (path == NULL || *path == '\0')
    return NULL;
  g_autofree char *whole = g_canonicalize_filename (path, base);
  if (strcmp (whole, base) == 0)
    return g_strdup ("");
  gsize length = strlen (base);
  return strncmp (whole, base, length) == 0 && whole[length] == '/' ? g_strdup (whole + length + 1) : NULL;
}

StreamSchemaLog *
stream_schema_log_open (StreamProgress *progress, const char *location, const char *table_id, const char *tracking_id,
                        guint source, GError **error)
{
  g_autofree char *run = stream_progress_run_key (progress, "");
  g_autofree char *root = g_build_filename (store_root (stream_progress_storage (progress)), run, NULL);
  g_autofree char *base = g_canonicalize_filename (root, NULL);
  g_autofree char *relative = below_checkpoint (base, location);

  if (relative == NULL) {
    base_error_set (error, SLUICE_ERROR_DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT,
                    "The schema location '%s' must be below the checkpoint '%s'", location, base);
    base_error_add_param (error, "schemaTrackingLocation", location);
    base_error_add_param (error, "checkpointLocation", base);
    base_error_set_hint (error, "a relative path is taken from there, such as schemaTrackingLocation = '_schemas'");
    return NULL;
  }
  StreamSchemaLog *log = g_new0 (StreamSchemaLog, 1);
  g_autofree char *directory =
      g_strdup_printf ("%s%s_schema_log_%s%s%s/", relative, *relative != '\0' ? "/" : "", table_id,
                       tracking_id != NULL ? "_" : "", tracking_id != NULL ? tracking_id : "");
  log->storage = store_ref (stream_progress_storage (progress));
  log->prefix = stream_progress_run_key (progress, directory);
  log->table_id = g_strdup (table_id);
  log->source = g_strdup_printf ("file:%s/sources/%u", base, source);
  return log;
}

void
stream_schema_log_free (StreamSchemaLog *log)
{
  if (log == NULL)
    return;
  store_unref (log->storage);
  g_free (log->prefix);
  g_free (log->table_id);
  g_free (log->source);
  g_free (log);
}

const char *
stream_schema_log_source (const StreamSchemaLog *log)
{
  return log->source;
}

/* ---- reading ---- */

static gboolean
newest_number (StreamSchemaLog *log, gint64 *newest, GError **error)
{
  g_autoptr (GPtrArray) entries = NULL;

  if (!store_list (log->storage, log->prefix, NULL, STORE_LIST_NAMES_ONLY, 0, &entries, error))
    return FALSE;
  *newest = -1;
  for (guint i = 0; i < entries->len; i++) {
    const char *name = ((const StoreEntry *) g_ptr_array_index (entries, i))->key + strlen (log->prefix);
    gint64 number;
    if (*name != '\0' && strspn (name, "0123456789") == strlen (name) && base_text_parse_int64 (name, &number))
      *newest = MAX (*newest, number);
  }
  return TRUE;
}

static gboolean
damaged (const StreamSchemaLog *log, SluiceError code, const char *what, GError **error)
{
  base_error_set (error, code, "The log of schemas at '%s/%s' is damaged: %s", store_root (log->storage), log->prefix,
                  what);
  base_error_set_hint (error, "choose a new schemaTrackingLocation");
  return FALSE;
}

static BaseType *
schema_of (const json_t *json, const char *key)
{
  const char *text = base_json_string (json, key);
  g_autoptr (json_t) schema = text != NULL ? base_json_parse (text, strlen (text), key, NULL) : NULL;
  BaseType *type = schema != NULL ? base_type_from_json (schema, NULL) : NULL;

  if (type != NULL && base_type_kind (type) != BASE_TYPE_STRUCT)
    g_clear_pointer (&type, base_type_unref);
  return type;
}

/* @model's metadata with the properties of the entry. */
static DeltaMetadata *
with_properties (DeltaMetadata *model, const json_t *properties)
{
  DeltaMetadata *metadata = delta_metadata_ref (model);
  g_autofree const char **keys = delta_metadata_property_keys (model);
  const char *key;
  json_t *value;

  if (!json_is_object (properties))
    return metadata;
  for (guint i = 0; keys[i] != NULL; i++) {
    if (json_object_get (properties, keys[i]) != NULL)
      continue;
    DeltaMetadata *less = delta_metadata_with_property (metadata, keys[i], NULL);
    delta_metadata_unref (metadata);
    metadata = less;
  }
  json_object_foreach ((json_t *) properties, key, value)
  {
    DeltaMetadata *more = delta_metadata_with_property (metadata, key, json_string_value (value));
    delta_metadata_unref (metadata);
    metadata = more;
  }
  return metadata;
}

static DeltaMetadata *
metadata_of (const json_t *json, DeltaMetadata *model)
{
  g_autoptr (BaseType) schema = schema_of (json, "dataSchemaJson");
  g_autoptr (BaseType) partitions = schema_of (json, "partitionSchemaJson");
  g_autoptr (GPtrArray) columns = g_ptr_array_new ();

  if (schema == NULL || partitions == NULL)
    return NULL;
  for (guint i = 0; i < base_type_n_fields (partitions); i++)
    g_ptr_array_add (columns, (gpointer) base_type_field (partitions, i)->name);
  g_ptr_array_add (columns, NULL);
  g_autoptr (DeltaMetadata) configured = with_properties (model, json_object_get (json, "tableConfigurations"));
  g_autoptr (DeltaMetadata) shaped = delta_metadata_with_schema (configured, schema);
  return delta_metadata_with_partition_columns (shaped, (const char *const *) columns->pdata);
}

gboolean
stream_schema_log_read (StreamSchemaLog *log, DeltaSnapshot *model, gint64 number, StreamSchemaEntry *entry,
                        GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *key = NULL;

  if (number < 0 && !newest_number (log, &number, error))
    return FALSE;
  *entry = (StreamSchemaEntry){ .number = -1, .previous = -1, .version = DELTA_VERSION_NONE };
  if (number < 0)
    return TRUE;
  key = g_strdup_printf ("%s%" G_GINT64_FORMAT, log->prefix, number);
  if (!store_read (log->storage, key, &bytes, error))
    return FALSE;
  gsize size = 0;
  const char *text = bytes != NULL ? g_bytes_get_data (bytes, &size) : NULL;
  if (size < 3 || strncmp (text, "v1\n", 3) != 0)
    return damaged (log, SLUICE_ERROR_DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED, "an entry is not of version 1",
                    error);
  g_autoptr (json_t) json = base_json_parse (text + 3, size - 3, key, NULL);
  gint64 version = base_json_int64 (json, "deltaCommitVersion", -1);
  if (json == NULL || version < 0)
    return damaged (log, SLUICE_ERROR_DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED, "an entry does not read", error);
  if (g_strcmp0 (base_json_string (json, "tableId"), log->table_id) != 0)
    return damaged (log, SLUICE_ERROR_DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID,
                    "it belongs to another table", error);
  DeltaMetadata *metadata = metadata_of (json, delta_snapshot_metadata (model));
  if (metadata == NULL)
    return damaged (log, SLUICE_ERROR_DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED, "a schema does not read", error);
  *entry = (StreamSchemaEntry){ .number = number,
                                .previous = base_json_int64 (json, "previousMetadataSeqNum", number - 1),
                                .version = version,
                                .metadata = metadata,
                                .protocol = delta_protocol_ref (delta_snapshot_protocol (model)) };
  return TRUE;
}

/* ---- writing ---- */

static char *
json_text_of (const BaseType *type)
{
  g_autoptr (json_t) json = base_type_to_json (type);

  return base_json_text (json);
}

static json_t *
list_of (const char *const *names)
{
  json_t *list = json_array ();

  for (guint i = 0; names[i] != NULL; i++)
    json_array_append_new (list, json_string (names[i]));
  return list;
}

static char *
protocol_text (DeltaProtocol *protocol)
{
  json_t *inner = json_pack ("{s:i, s:i}", "minReaderVersion", delta_protocol_reader_version (protocol),
                             "minWriterVersion", delta_protocol_writer_version (protocol));

  if (delta_protocol_reader_version (protocol) >= 3)
    json_object_set_new (inner, "readerFeatures", list_of (delta_protocol_reader_features (protocol)));
  if (delta_protocol_writer_version (protocol) >= 7)
    json_object_set_new (inner, "writerFeatures", list_of (delta_protocol_writer_features (protocol)));
  g_autoptr (json_t) action = json_pack ("{s:o}", "protocol", inner);
  return base_json_text (action);
}

static BaseType *
partition_schema (DeltaMetadata *metadata)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  const char *const *columns = delta_metadata_partition_columns (metadata);
  BaseType *schema = delta_metadata_schema (metadata);

  for (guint i = 0; columns[i] != NULL; i++) {
    int at = base_type_field_index (schema, columns[i], TRUE);
    const BaseField *field = at >= 0 ? base_type_field (schema, (guint) at) : NULL;
    if (field != NULL)
      base_struct_builder_add (builder, field->name, field->type, field->nullable, field->metadata);
  }
  return base_struct_builder_end (builder);
}

static json_t *
properties_of (DeltaMetadata *metadata)
{
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  json_t *properties = json_object ();

  for (guint i = 0; keys[i] != NULL; i++)
    json_object_set_new (properties, keys[i], json_string (delta_metadata_property (metadata, keys[i])));
  return properties;
}

gboolean
stream_schema_log_add (StreamSchemaLog *log, const StreamSchemaEntry *entry, GError **error)
{
  g_autoptr (BaseType) partitions = partition_schema (entry->metadata);
  g_autofree char *data_text = json_text_of (delta_metadata_schema (entry->metadata));
  g_autofree char *partition_text = json_text_of (partitions);
  g_autofree char *protocol = protocol_text (entry->protocol);
  g_autofree char *key = g_strdup_printf ("%s%" G_GINT64_FORMAT, log->prefix, entry->number);
  g_autofree char *doubt = NULL;
  StorePutOutcome outcome;
  g_autoptr (json_t) json =
      json_pack ("{s:s, s:I, s:s, s:s, s:s, s:o, s:s}", "tableId", log->table_id, "deltaCommitVersion",
                 (json_int_t) entry->version, "dataSchemaJson", data_text, "partitionSchemaJson", partition_text,
                 "sourceMetadataPath", log->source, "tableConfigurations", properties_of (entry->metadata),
                 "protocolJson", protocol);

  if (entry->previous != entry->number - 1)
    json_object_set_new (json, "previousMetadataSeqNum", json_integer (entry->previous));
  g_autofree char *body = base_json_text (json);
  g_autofree char *text = g_strconcat ("v1\n", body, NULL);
  if (!store_put_if_absent (log->storage, key, text, strlen (text), &outcome, &doubt, error))
    return FALSE;
  if (outcome == STORE_PUT_DONE)
    return TRUE;
  if (outcome == STORE_PUT_UNKNOWN)
    return base_error_set (error, SLUICE_ERROR_IO_ERROR, "whether '%s' was written is not known: %s", key, doubt);
  base_error_set (error, SLUICE_ERROR_DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT,
                  "Another stream writes to the schema location '%s/%s'", store_root (log->storage), log->prefix);
  base_error_set_hint (error, "give each stream a schemaTrackingLocation or a streamingSourceTrackingId of its own");
  return FALSE;
}

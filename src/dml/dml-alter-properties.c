/* SET and UNSET TBLPROPERTIES, COMMENT ON TABLE, and what properties ask of the protocol.
 *
 * Types of values, transitions and reserved names are delta's to judge (delta_metadata_prepare). Here is who may set a key, and the
 * wishes that are no properties: `delta.feature.<name>` and the two protocol versions.
 */
#include "base-error.h"
#include "base-text.h"
#include "dml-alter-private.h"
#include "sql-build.h"

#include <string.h>

#define FEATURE_PREFIX "delta.feature."

/* Properties that only the engine writes. */
static const char *const own_keys[] = {
  "delta.columnMapping.maxColumnId",
  "delta.inCommitTimestampEnablementTimestamp",
  "delta.inCommitTimestampEnablementVersion",
  "delta.rowTracking.materializedRowCommitVersionColumnName",
  "delta.rowTracking.materializedRowIdColumnName",
};

/* Properties whose value needs a table feature that does not follow from the metadata in any other way. */
static const struct {
  const char *key;
  const char *value;
  const char *feature;
} needed_features[] = {
  { "delta.checkpointPolicy", "v2", "v2Checkpoint" },
  { "delta.enableIcebergCompatV1", "true", "icebergCompatV1" },
  { "delta.enableIcebergCompatV2", "true", "icebergCompatV2" },
  { "delta.enableIcebergCompatV3", "true", "icebergCompatV3" },
  { "delta.enableTypeWidening", "true", "typeWidening" },
  { "delta.enableVariantShredding", "true", "variantShredding" },
};

/* Files beside the table that this engine would let go stale. */
static const char *const unkept_keys[] = {
  "delta.compatibility.symlinkFormatManifest.enabled",
  "delta.universalFormat.enabledFormats",
};

gboolean
dml_property_check (const char *key, const char *value, DeltaMetadata *metadata, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (own_keys); i++) {
    const char *present = metadata != NULL ? delta_metadata_property (metadata, own_keys[i]) : NULL;
    if (g_ascii_strcasecmp (key, own_keys[i]) == 0 && g_strcmp0 (present, value) != 0)
      return base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_MODIFY_TABLE_PROPERTY,
                             "The Delta table configuration %s cannot be specified by the user.", key);
  }
  for (guint i = 0; i < G_N_ELEMENTS (unkept_keys); i++) {
    if (g_ascii_strcasecmp (key, unkept_keys[i]) == 0 && *value != '\0' && g_ascii_strcasecmp (value, "false") != 0)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "The table property %s is not supported.", key);
  }
  return TRUE;
}

/* ---- wishes to the protocol ---- */

static gboolean
wish_version (const char *key, const char *value, int greatest, int *version, GError **error)
{
  gint64 number;
  if (!base_text_parse_int64 (value, &number) || number < 1 || number > G_MAXINT)
    return base_error_set (error, SLUICE_ERROR_DELTA_PROTOCOL_PROPERTY_NOT_INT,
                           "Protocol property %s needs to be an integer. Found %s.", key, value);
  if (number > greatest)
    return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PROTOCOL_VERSION,
                           "%s is %s; this engine knows versions up to %d.", key, value, greatest);
  *version = (int) number;
  return TRUE;
}

static gboolean
wish_feature (const char *name, const char *status, DeltaProtocol **protocol, GError **error)
{
  if (g_ascii_strcasecmp (status, "supported") != 0 && g_ascii_strcasecmp (status, "enabled") != 0)
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURE_STATUS,
                           "Expecting the status for table feature %s to be \"supported\", but got \"%s\".", name,
                           status);
  if (g_str_equal (name, "clustering") && !delta_protocol_has (*protocol, "clustering"))
    return base_error_set (error, SLUICE_ERROR_DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED,
                           "Cannot enable the clustering table feature by a property. Use CREATE OR REPLACE TABLE … "
                           "CLUSTER BY to create a table with clustering.");
  g_autoptr (DeltaProtocol) raised = delta_protocol_with_feature (*protocol, name);
  if (g_str_has_prefix (name, "sluice.") || !delta_protocol_check_write (raised, NULL))
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_IN_CONFIG,
                           "Table features configured in the table properties are not supported by this engine: %s.",
                           name);
  delta_protocol_unref (*protocol);
  *protocol = g_steal_pointer (&raised);
  return TRUE;
}

DeltaProtocol *
dml_protocol_wished (DeltaProtocol *protocol, GHashTable *properties, GError **error)
{
  g_autoptr (DeltaProtocol) wished = delta_protocol_ref (protocol);
  g_autoptr (GList) keys = g_list_sort (g_hash_table_get_keys (properties), (GCompareFunc) strcmp);
  int reader = 1, writer = 1;
  for (GList *at = keys; at != NULL; at = at->next) {
    const char *key = at->data, *value = g_hash_table_lookup (properties, key);
    if (g_ascii_strncasecmp (key, FEATURE_PREFIX, strlen (FEATURE_PREFIX)) == 0) {
      if (!wish_feature (key + strlen (FEATURE_PREFIX), value, &wished, error))
        return NULL;
      continue;
    }
    if ((g_ascii_strcasecmp (key, "delta.minReaderVersion") == 0 && !wish_version (key, value, 3, &reader, error)) ||
        (g_ascii_strcasecmp (key, "delta.minWriterVersion") == 0 && !wish_version (key, value, 7, &writer, error)))
      return NULL;
    for (guint i = 0; i < G_N_ELEMENTS (needed_features); i++) {
      if (g_ascii_strcasecmp (key, needed_features[i].key) != 0 ||
          g_ascii_strcasecmp (value, needed_features[i].value) != 0)
        continue;
      DeltaProtocol *raised = delta_protocol_with_feature (wished, needed_features[i].feature);
      delta_protocol_unref (wished);
      wished = raised;
    }
  }
  if (reader > 2 && writer < 7 && delta_protocol_writer_version (wished) < 7) {
    base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PROTOCOL_VERSION,
                    "Protocol reader version %d needs writer version 7 at least.", reader);
    return NULL;
  }
  g_autoptr (DeltaProtocol) raised = delta_protocol_with_versions (wished, reader, writer);
  return delta_protocol_check_write (raised, error) ? g_steal_pointer (&raised) : NULL;
}

/* ---- SET ---- */

static gboolean
check_key (const SqlProperty *property, const char *value, DeltaMetadata *metadata, GError **error)
{
  const char *key = property->key;
  if (g_ascii_strncasecmp (key, "delta.constraints.", strlen ("delta.constraints.")) == 0)
    return base_error_set (error, SLUICE_ERROR_DELTA_ADD_CONSTRAINTS,
                           "Please use ALTER TABLE ADD CONSTRAINT to add CHECK constraints.");
  if (g_str_equal (key, "location") || g_str_equal (key, "provider") || g_str_equal (key, "owner"))
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE_SET_TABLE_PROPERTY,
                           "The feature is not supported: %s is a reserved table property.", key);
  return dml_property_check (key, value, metadata, error);
}

/* The properties of the statement. Returns: (transfer full): NULL on error, with the position. */
static GHashTable *
read_properties (const SqlAlter *alter, GError **error)
{
  g_autoptr (GHashTable) properties = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; i < alter->properties.n; i++) {
    const SqlProperty *property = &alter->properties.items[i];
    if (property->value == NULL) {
      base_error_set (error, SLUICE_ERROR_INVALID_CONF_VALUE, "The table property %s has no constant value.",
                      property->key);
      sql_position_add_to_error (&property->position, error);
      return NULL;
    }
    if (g_hash_table_contains (properties, property->key)) {
      base_error_set (error, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "The table property %s is given twice.", property->key);
      sql_position_add_to_error (&property->position, error);
      return NULL;
    }
    g_hash_table_insert (properties, g_strdup (property->key), g_strdup (property->value));
  }
  return g_steal_pointer (&properties);
}

/* The snapshot's metadata with the statement's properties. Returns: (transfer full). */
static DeltaMetadata *
with_properties (DeltaMetadata *metadata, const SqlAlter *alter, GError **error)
{
  g_autoptr (DeltaMetadata) made = delta_metadata_ref (metadata);
  for (guint i = 0; i < alter->properties.n; i++) {
    const SqlProperty *property = &alter->properties.items[i];
    if (!check_key (property, property->value, metadata, error)) {
      sql_position_add_to_error (&property->position, error);
      return NULL;
    }
    DeltaMetadata *next = g_str_equal (property->key, "comment")
                              ? delta_metadata_with_texts (made, delta_metadata_name (made), property->value)
                              : delta_metadata_with_property (made, property->key, property->value);
    delta_metadata_unref (made);
    made = next;
  }
  return g_steal_pointer (&made);
}

/* As commitInfo tells them: in the statement's order, Delta's own keys in their own spelling. */
static json_t *
properties_json (const SqlPropertyList *properties)
{
  json_t *object = json_object ();
  for (guint i = 0; i < properties->n; i++) {
    const SqlProperty *property = &properties->items[i];
    const char *name = delta_property_name (property->key);
    json_object_set_new (object, name != NULL ? name : property->key, json_string (property->value));
  }
  return object;
}

static gboolean
set_properties (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlAlter *alter = data;
  DeltaMetadata *old = delta_snapshot_metadata (alteration->snapshot);
  g_autoptr (GHashTable) properties = read_properties (alter, error);
  g_autoptr (DeltaMetadata) metadata = properties != NULL ? with_properties (old, alter, error) : NULL;
  if (metadata == NULL)
    return FALSE;
  if (dml_alteration_is_autocdc (alteration) && delta_metadata_row_tracking (old) &&
      !delta_metadata_row_tracking (metadata))
    return dml_unsupported (&alteration->table->position, error,
                            "Switching row tracking off on the target of an AUTO CDC flow", NULL);
  dml_alteration_take_metadata (alteration, g_steal_pointer (&metadata));
  alteration->operation = "SET TBLPROPERTIES";
  dml_alteration_set_json (alteration, "properties", properties_json (&alter->properties));
  alteration->wishes = g_steal_pointer (&properties);
  return TRUE;
}

/* Whether the statement switches row tracking on; all of it is checked before anything is committed. */
static gboolean
wants_row_tracking (const DmlContext *context, const SqlAlter *alter, gboolean *wants, GError **error)
{
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) snapshot = dml_open (context, &alter->name, &reference, error);
  g_autoptr (GHashTable) properties = snapshot != NULL ? read_properties (alter, error) : NULL;
  if (properties == NULL)
    return FALSE;
  g_autoptr (DeltaMetadata) metadata = with_properties (delta_snapshot_metadata (snapshot), alter, error);
  if (metadata == NULL || !write_metadata_fits (metadata, snapshot, error)) {
    sql_position_add_to_error (&alter->name.position, error);
    return FALSE;
  }
  *wants = delta_metadata_row_tracking (metadata) && !delta_metadata_row_tracking (delta_snapshot_metadata (snapshot));
  return TRUE;
}

gboolean
dml_alter_set_properties (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  gboolean row_tracking = FALSE;
  for (guint i = 0; i < alter->properties.n && !row_tracking; i++)
    row_tracking = g_ascii_strcasecmp (alter->properties.items[i].key, "delta.enableRowTracking") == 0;
  if (row_tracking && !wants_row_tracking (context, alter, &row_tracking, error))
    return FALSE;
  if (row_tracking && !dml_enable_row_tracking (context, &alter->name, error))
    return FALSE;
  return dml_alter_run (context, &alter->name, set_properties, alter, error);
}

/* ---- UNSET ---- */

/* The key as the table spells it, for keys of Delta's own in any case; NULL when it is not there. */
static const char *
find_key (DeltaMetadata *metadata, const char *key)
{
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  gboolean own = g_ascii_strncasecmp (key, "delta.", 6) == 0;
  for (guint i = 0; keys[i] != NULL; i++) {
    if (g_str_equal (keys[i], key) || (own && g_ascii_strcasecmp (keys[i], key) == 0))
      return keys[i];
  }
  return NULL;
}

static gboolean
unset_one (DmlAlteration *alteration, const SqlProperty *property, gboolean if_exists, GError **error)
{
  DeltaMetadata *metadata = alteration->metadata;
  if (g_str_equal (property->key, "comment")) {
    dml_alteration_take_metadata (alteration,
                                  delta_metadata_with_texts (metadata, delta_metadata_name (metadata), NULL));
    return TRUE;
  }
  const char *key = find_key (metadata, property->key);
  if (key == NULL)
    return if_exists || base_error_set (error, SLUICE_ERROR_DELTA_UNSET_NON_EXISTENT_PROPERTY,
                                        "Attempted to unset non-existent property '%s' in table %s.", property->key,
                                        alteration->name);
  for (guint i = 0; i < G_N_ELEMENTS (own_keys); i++) {
    if (g_str_equal (key, own_keys[i]))
      return base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_MODIFY_TABLE_PROPERTY,
                             "The Delta table configuration %s cannot be changed by the user.", key);
  }
  dml_alteration_take_metadata (alteration, delta_metadata_with_property (metadata, key, NULL));
  return TRUE;
}

static gboolean
unset_properties (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlAlter *alter = data;
  DeltaMetadata *old = delta_snapshot_metadata (alteration->snapshot);
  json_t *keys = json_array ();
  dml_alteration_take_metadata (alteration, delta_metadata_ref (old));
  for (guint i = 0; i < alter->properties.n; i++) {
    const SqlProperty *property = &alter->properties.items[i];
    if (!unset_one (alteration, property, alter->if_exists, error)) {
      sql_position_add_to_error (&property->position, error);
      json_decref (keys);
      return FALSE;
    }
    const char *name = delta_property_name (property->key);
    json_array_append_new (keys, json_string (name != NULL ? name : property->key));
  }
  alteration->operation = "UNSET TBLPROPERTIES";
  dml_alteration_set_json (alteration, "properties", keys);
  dml_alteration_set_parameter (alteration, "ifExists", alter->if_exists ? "true" : "false");
  if (dml_alteration_is_autocdc (alteration) && delta_metadata_row_tracking (old) &&
      !delta_metadata_row_tracking (alteration->metadata))
    return dml_unsupported (&alteration->table->position, error,
                            "Switching row tracking off on the target of an AUTO CDC flow", NULL);
  return TRUE;
}

gboolean
dml_alter_unset_properties (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  return dml_alter_run (context, &alter->name, unset_properties, alter, error);
}

/* ---- COMMENT ON TABLE ---- */

static gboolean
set_comment (DmlAlteration *alteration, gconstpointer data, GError **error G_GNUC_UNUSED)
{
  const char *text = data;
  DeltaMetadata *old = delta_snapshot_metadata (alteration->snapshot);
  dml_alteration_take_metadata (alteration, delta_metadata_with_texts (old, delta_metadata_name (old), text));
  alteration->operation = "SET TBLPROPERTIES";
  dml_alteration_set_json (alteration, "properties", json_pack ("{s:s}", "comment", text != NULL ? text : ""));
  return TRUE;
}

gboolean
dml_alter_table_comment (const DmlContext *context, const SqlName *table, const char *text, GError **error)
{
  return dml_alter_run (context, table, set_comment, text, error);
}

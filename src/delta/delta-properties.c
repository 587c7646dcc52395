/* The properties `delta.*` that a table may have, and what setting them asks of its metadata.
 *
 * One row per property: its type, so that a bad value is refused where it is set and never met later. Keys are found without
 * regard to case and stored as the row spells them.
 */
#include "base-error.h"
#include "base-settings.h"
#include "base-text.h"
#include "delta-metadata-private.h"

#include <string.h>

typedef enum {
  TEXT,
  BOOLEAN,
  NUMBER,   /* at least 0 */
  POSITIVE, /* at least 1 */
  COLUMNS,  /* at least -1 */
  INTERVAL, /* without months and years */
  MAPPING,
  ISOLATION,
  POLICY,
  PREFIX, /* any key that begins so */
} Kind;

static const struct {
  const char *key;
  Kind kind;
} rows[] = {
  { "delta.appendOnly", BOOLEAN },
  { "delta.autoOptimize.", PREFIX },
  { "delta.checkpoint.writeStatsAsJson", BOOLEAN },
  { "delta.checkpoint.writeStatsAsStruct", BOOLEAN },
  { "delta.checkpointInterval", POSITIVE },
  { "delta.checkpointPolicy", POLICY },
  { "delta.columnMapping.maxColumnId", NUMBER },
  { "delta.columnMapping.mode", MAPPING },
  { "delta.compatibility.symlinkFormatManifest.enabled", BOOLEAN },
  { "delta.constraints.", PREFIX },
  { "delta.dataSkippingNumIndexedCols", COLUMNS },
  { "delta.dataSkippingStatsColumns", TEXT },
  { "delta.deletedFileRetentionDuration", INTERVAL },
  { "delta.enableChangeDataCapture", BOOLEAN },
  { "delta.enableChangeDataFeed", BOOLEAN },
  { "delta.enableDeletionVectors", BOOLEAN },
  { "delta.enableExpiredLogCleanup", BOOLEAN },
  { "delta.enableFullRetentionRollback", BOOLEAN },
  { "delta.enableIcebergCompatV1", BOOLEAN },
  { "delta.enableIcebergCompatV2", BOOLEAN },
  { "delta.enableIcebergCompatV3", BOOLEAN },
  { "delta.enableInCommitTimestamps", BOOLEAN },
  { "delta.enableRowTracking", BOOLEAN },
  { "delta.enableTypeWidening", BOOLEAN },
  { "delta.enableVariantShredding", BOOLEAN },
  { "delta.inCommitTimestampEnablementTimestamp", NUMBER },
  { "delta.inCommitTimestampEnablementVersion", NUMBER },
  { "delta.isolationLevel", ISOLATION },
  { "delta.logRetentionDuration", INTERVAL },
  { "delta.parquet.", PREFIX },
  { "delta.randomPrefixLength", POSITIVE },
  { "delta.randomizeFilePrefixes", BOOLEAN },
  { "delta.requireCheckpointProtectionBeforeVersion", NUMBER },
  { "delta.rowTracking.materializedRowCommitVersionColumnName", TEXT },
  { "delta.rowTracking.materializedRowIdColumnName", TEXT },
  { "delta.rowTrackingSuspended", BOOLEAN },
  { "delta.sampleRetentionDuration", INTERVAL },
  { "delta.setTransactionRetentionDuration", INTERVAL },
  { "delta.targetFileSize", TEXT },
  { "delta.tuneFileSizesForRewrites", BOOLEAN },
  { "delta.universalFormat.enabledFormats", TEXT },
  { "delta.vacuum.", PREFIX },
  { "delta.workloadBasedColumns.columns", TEXT },
};

static gboolean
find_row (const char *key, guint *index)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].kind == PREFIX ? g_ascii_strncasecmp (key, rows[i].key, strlen (rows[i].key)) == 0
                               : g_ascii_strcasecmp (key, rows[i].key) == 0) {
      *index = i;
      return TRUE;
    }
  return FALSE;
}

const char *
delta_property_name (const char *key)
{
  guint index;

  return find_row (key, &index) && rows[index].kind != PREFIX ? rows[index].key : NULL;
}

static gboolean
is_interval (const char *value)
{
  gint64 us;

  if (g_ascii_strncasecmp (value, "interval ", 9) == 0)
    value += 9;
  return base_settings_parse_duration (value, &us) && us >= 0;
}

/* What a value must be; NULL when it is. */
static const char *
complaint (Kind kind, const char *value)
{
  gint64 number;

  switch (kind) {
  case TEXT:
  case PREFIX:
    return NULL;
  case BOOLEAN:
    return g_ascii_strcasecmp (value, "true") == 0 || g_ascii_strcasecmp (value, "false") == 0 ? NULL : "true or false";
  case NUMBER:
    return base_text_parse_int64 (value, &number) && number >= 0 ? NULL : "a whole number of at least 0";
  case POSITIVE:
    return base_text_parse_int64 (value, &number) && number >= 1 ? NULL : "a whole number of at least 1";
  case COLUMNS:
    return base_text_parse_int64 (value, &number) && number >= -1 ? NULL : "a whole number of at least -1";
  case INTERVAL:
    return is_interval (value) ? NULL : "an interval such as `interval 7 days`, without months and years";
  case MAPPING:
    return g_ascii_strcasecmp (value, "none") == 0 || g_ascii_strcasecmp (value, "name") == 0 ||
                   g_ascii_strcasecmp (value, "id") == 0
               ? NULL
               : "none, name or id";
  case ISOLATION:
    return g_ascii_strcasecmp (value, "Serializable") == 0 || g_ascii_strcasecmp (value, "WriteSerializable") == 0
               ? NULL
               : "Serializable or WriteSerializable";
  case POLICY:
    return g_ascii_strcasecmp (value, "classic") == 0 || g_ascii_strcasecmp (value, "v2") == 0 ? NULL : "classic or v2";
  }
  return NULL;
}

static gboolean
check_property (const char *key, const char *value, GError **error)
{
  const char *expected;
  guint index;

  if (!find_row (key, &index)) {
    const char *candidates[G_N_ELEMENTS (rows) + 1] = { NULL };
    g_autofree char *near = NULL;
    for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
      candidates[i] = rows[i].key;
    near = base_text_near_names (key, candidates, 3);
    base_error_set (error, SLUICE_ERROR_DELTA_UNKNOWN_CONFIGURATION, "there is no table property `%s`", key);
    if (near != NULL)
      base_error_set_hint (error, "did you mean %s?", near);
    return FALSE;
  }
  expected = complaint (rows[index].kind, value);
  if (expected == NULL)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_DELTA_ILLEGAL_OPTION, "the table property `%s` must be %s, not `%s`", key,
                         expected, value);
}

/* Checks every delta.* property and spells its key as its row does. `delta.feature.*` and the protocol versions are wishes to
 * the protocol, checked elsewhere and not kept. */
static DeltaMetadata *
check_properties (DeltaMetadata *metadata, DeltaMetadata *old, GError **error)
{
  g_autoptr (DeltaMetadata) checked = delta_metadata_ref (metadata);
  g_autofree const char **keys = delta_metadata_property_keys (metadata);

  for (const char **key = keys; *key != NULL; key++) {
    const char *value = delta_metadata_property (metadata, *key);
    const char *before = old != NULL ? delta_metadata_property (old, *key) : NULL;
    guint index;
    DeltaMetadata *renamed;
    g_autoptr (DeltaMetadata) without = NULL;
    if (g_ascii_strncasecmp (*key, "delta.", 6) != 0 || g_strcmp0 (before, value) == 0)
      continue; /* users' own, and what another engine has set already */
    if (g_ascii_strncasecmp (*key, "delta.feature.", 14) == 0 ||
        g_ascii_strcasecmp (*key, "delta.minReaderVersion") == 0 ||
        g_ascii_strcasecmp (*key, "delta.minWriterVersion") == 0) {
      renamed = delta_metadata_with_property (checked, *key, NULL);
    } else {
      if (!check_property (*key, value, error))
        return NULL;
      if (!find_row (*key, &index) || rows[index].kind == PREFIX || strcmp (*key, rows[index].key) == 0)
        continue;
      without = delta_metadata_with_property (checked, *key, NULL);
      renamed = delta_metadata_with_property (without, rows[index].key, value);
    }
    delta_metadata_unref (checked);
    checked = renamed;
  }
  return g_steal_pointer (&checked);
}

static gboolean
check_feed_names (DeltaMetadata *metadata, GError **error)
{
  static const char *const reserved[] = { "_change_type", "_commit_version", "_commit_timestamp" };
  BaseType *schema = delta_metadata_schema (metadata);
  g_autoptr (GString) found = g_string_new (NULL);

  if (!delta_metadata_change_feed (metadata))
    return TRUE;
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    for (guint k = 0; k < G_N_ELEMENTS (reserved); k++)
      if (base_text_equal_ignore_case (base_type_field (schema, i)->name, reserved[k]))
        g_string_append_printf (found, "%s`%s`", found->len > 0 ? ", " : "", base_type_field (schema, i)->name);
  if (found->len == 0)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS,
                         "the change data feed cannot be enabled: its reserved names are columns of the table: %s",
                         found->str);
}

/* Retentions: the log must not forget files that VACUUM still keeps (cdf.md 9.5). */
static gboolean
check_retentions (DeltaMetadata *metadata, GError **error)
{
  gint64 day_us = G_GINT64_CONSTANT (86400000000);
  gint64 log_us = delta_metadata_interval_us (metadata, "delta.logRetentionDuration", 30 * day_us);
  gint64 file_us = delta_metadata_interval_us (metadata, "delta.deletedFileRetentionDuration", 7 * day_us);

  if (log_us >= file_us)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_DELTA_ILLEGAL_OPTION,
                         "delta.logRetentionDuration must not be shorter than delta.deletedFileRetentionDuration");
}

/* Column mapping: from none to name on a table that exists, any mode on a new one; never back. */
static DeltaMetadata *
prepare_mapping (DeltaMetadata *metadata, DeltaMetadata *old, GError **error)
{
  DeltaMapping mapping = delta_metadata_mapping (metadata);
  DeltaMapping before = old != NULL ? delta_metadata_mapping (old) : mapping;
  gint64 max_id = delta_metadata_int (metadata, "delta.columnMapping.maxColumnId", 0);
  g_autoptr (BaseType) schema = NULL;
  g_autoptr (DeltaMetadata) with_schema = NULL;
  g_autofree char *max_text = NULL;

  if (mapping != before && !(before == DELTA_MAPPING_NONE && mapping == DELTA_MAPPING_NAME)) {
    static const char *const names[] = { "none", "name", "id" };
    base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE,
                    "Changing column mapping mode from '%s' to '%s' is not supported: it can be changed from none to "
                    "name only.",
                    names[before], names[mapping]);
    return NULL;
  }
  if (mapping == DELTA_MAPPING_NONE)
    return delta_metadata_ref (metadata);
  schema = delta_schema_assign_mapping (delta_metadata_schema (metadata), &max_id,
                                        old != NULL && before == DELTA_MAPPING_NONE);
  with_schema = delta_metadata_with_schema (metadata, schema);
  max_text = g_strdup_printf ("%" G_GINT64_FORMAT, max_id);
  return delta_metadata_with_property (with_schema, "delta.columnMapping.maxColumnId", max_text);
}

static gboolean
check_row_tracking (DeltaMetadata *metadata, GError **error)
{
  if (delta_metadata_row_tracking (metadata) && delta_metadata_bool (metadata, "delta.rowTrackingSuspended", FALSE))
    return base_error_set (error, SLUICE_ERROR_DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION,
                           "delta.enableRowTracking and delta.rowTrackingSuspended cannot both be true");
  return TRUE;
}

DeltaMetadata *
delta_metadata_prepare (DeltaMetadata *metadata, DeltaMetadata *old, GError **error)
{
  g_autoptr (DeltaMetadata) checked = check_properties (metadata, old, error);
  g_autoptr (DeltaMetadata) mapped = NULL;

  if (checked == NULL || !check_feed_names (checked, error) || !check_retentions (checked, error) ||
      !check_row_tracking (checked, error))
    return NULL;
  mapped = prepare_mapping (checked, old, error);
  if (mapped == NULL)
    return NULL;
  return delta_metadata_row_tracking (mapped) ? delta_metadata_enable_row_tracking (mapped) : g_steal_pointer (&mapped);
}

char **
delta_metadata_wished_features (DeltaMetadata *metadata)
{
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  GPtrArray *names = g_ptr_array_new ();

  for (const char **key = keys; *key != NULL; key++)
    if (g_ascii_strncasecmp (*key, "delta.feature.", 14) == 0 &&
        g_ascii_strcasecmp (delta_metadata_property (metadata, *key), "supported") == 0)
      g_ptr_array_add (names, g_strdup (*key + 14));
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

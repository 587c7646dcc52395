/* Table features that are more than a property: switching row tracking on, DROP FEATURE, ADOPT, CLUSTER BY.
 *
 * DROP FEATURE is one commit that takes the feature's traces out of the newest version and its name out of the protocol. That is right
 * for features that readers of older versions need not know, because the log still says what those versions need. Features that
 * readers must know are refused: their versions in the log would have to go first.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-alter-private.h"
#include "sql-build.h"

#include <string.h>

#define ROW_TRACKING_DOMAIN "delta.rowTracking"
#define CLUSTERING_DOMAIN   "delta.clustering"

/* ---- row tracking on a table that exists ---- */

static json_t *
names_json (const char *const *names)
{
  json_t *list = json_array ();
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    json_array_append_new (list, json_string (names[i]));
  return list;
}

/* The commit that raises the protocol alone. @raised: (transfer full) */
static gboolean
upgrade_protocol (DmlAlteration *alteration, DeltaProtocol *raised, GError **error)
{
  alteration->is_void = delta_protocol_equal (raised, delta_snapshot_protocol (alteration->snapshot));
  alteration->protocol = raised;
  alteration->operation = "UPGRADE PROTOCOL";
  json_t *protocol = json_pack ("{s:i, s:i, s:o, s:o}", "minReaderVersion", delta_protocol_reader_version (raised),
                                "minWriterVersion", delta_protocol_writer_version (raised), "readerFeatures",
                                names_json (delta_protocol_reader_features (raised)), "writerFeatures",
                                names_json (delta_protocol_writer_features (raised)));
  dml_alteration_set_json (alteration, "newProtocol", protocol);
  return delta_protocol_check_write (raised, error);
}

static gboolean
raise_for_row_tracking (DmlAlteration *alteration, gconstpointer data G_GNUC_UNUSED, GError **error)
{
  DeltaProtocol *present = delta_snapshot_protocol (alteration->snapshot);
  return upgrade_protocol (alteration, delta_protocol_with_feature (present, "rowTracking"), error);
}

/* Adds the file again with other row ids: its rows do not change, so no feed shows it. */
static gboolean
add_again (DmlAlteration *alteration, DeltaFile *file, GError **error)
{
  DeltaTransaction *transaction = write_batch_transaction (alteration->batch);
  DeltaFileInfo info = delta_file_info (file);
  info.data_change = FALSE;
  info.base_row_id = -1;
  info.default_row_commit_version = DELTA_VERSION_NONE;
  g_autoptr (DeltaFile) again = delta_file_new (&info);
  delta_transaction_read_file (transaction, file);
  return delta_transaction_add (transaction, again, error);
}

/* Every file without row ids is added again; the commit gives it some. */
static gboolean
backfill (DmlAlteration *alteration, gconstpointer data G_GNUC_UNUSED, GError **error)
{
  DeltaSnapshot *snapshot = alteration->snapshot;
  alteration->is_void = TRUE;
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++) {
    DeltaFile *file = delta_snapshot_file (snapshot, i);
    if (delta_file_base_row_id (file) >= 0)
      continue;
    if (!add_again (alteration, file, error))
      return FALSE;
    alteration->is_void = FALSE;
  }
  delta_transaction_set_blind_append (write_batch_transaction (alteration->batch), FALSE);
  alteration->operation = "ROW TRACKING BACKFILL";
  dml_alteration_set_parameter (alteration, "batchId", "0");
  return TRUE;
}

gboolean
dml_enable_row_tracking (const DmlContext *context, const SqlName *table, GError **error)
{
  return dml_alter_run (context, table, raise_for_row_tracking, NULL, error) &&
         dml_alter_run (context, table, backfill, NULL, error);
}

/* ---- ADD FEATURE ---- */

static gboolean
add_feature (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlAlter *alter = data;
  g_autoptr (GHashTable) wishes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_insert (wishes, g_strconcat ("delta.feature.", alter->new_name.text, NULL), (gpointer) "supported");
  DeltaProtocol *raised = dml_protocol_wished (delta_snapshot_protocol (alteration->snapshot), wishes, error);
  return raised != NULL && upgrade_protocol (alteration, raised, error);
}

gboolean
dml_alter_add_feature (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  return dml_alter_run (context, &alter->name, add_feature, alter, error);
}

/* ---- DROP FEATURE ---- */

typedef gboolean (*Removal) (DmlAlteration *alteration, GError **error);

static void
unset (DmlAlteration *alteration, const char *key)
{
  dml_alteration_take_metadata (alteration, delta_metadata_with_property (alteration->metadata, key, NULL));
}

static gboolean
remove_check_constraints (DmlAlteration *alteration, GError **error)
{
  g_autofree const char **keys = delta_metadata_property_keys (alteration->metadata);
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; keys[i] != NULL; i++) {
    if (g_str_has_prefix (keys[i], "delta.constraints."))
      g_string_append_printf (names, "%s`%s`", names->len > 0 ? ", " : "", keys[i] + strlen ("delta.constraints."));
  }
  return names->len == 0 || base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE,
                                            "Cannot drop the CHECK constraints table feature. The following "
                                            "constraints must be dropped first: %s.",
                                            names->str);
}

static gboolean
remove_commit_timestamps (DmlAlteration *alteration, GError **error G_GNUC_UNUSED)
{
  unset (alteration, "delta.enableInCommitTimestamps");
  unset (alteration, "delta.inCommitTimestampEnablementTimestamp");
  unset (alteration, "delta.inCommitTimestampEnablementVersion");
  return TRUE;
}

static gboolean
remove_row_tracking (DmlAlteration *alteration, GError **error)
{
  DeltaSnapshot *snapshot = alteration->snapshot;
  if (dml_alteration_is_autocdc (alteration))
    return base_error_set (error, SLUICE_ERROR_DELTA_FEATURE_DROP_DEPENDENT_FEATURE,
                           "Cannot drop table feature `rowTracking` because some other features (" AUTOCDC_FEATURE
                           ") in this table depend on it. Drop them first.");
  unset (alteration, "delta.enableRowTracking");
  unset (alteration, "delta.rowTrackingSuspended");
  unset (alteration, "delta.rowTracking.materializedRowIdColumnName");
  unset (alteration, "delta.rowTracking.materializedRowCommitVersionColumnName");
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++) {
    DeltaFile *file = delta_snapshot_file (snapshot, i);
    if (delta_file_base_row_id (file) >= 0 && !add_again (alteration, file, error))
      return FALSE;
  }
  alteration->reads_rows = TRUE; /* files added meanwhile have ids too */
  if (delta_snapshot_domain (snapshot, ROW_TRACKING_DOMAIN) != NULL)
    delta_transaction_set_domain (write_batch_transaction (alteration->batch), ROW_TRACKING_DOMAIN, NULL);
  return TRUE;
}

static gboolean
remove_defaults (DmlAlteration *alteration, GError **error)
{
  BaseType *schema = delta_metadata_schema (alteration->metadata);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    if (field->metadata != NULL && json_object_get (field->metadata, "CURRENT_DEFAULT") != NULL)
      return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_OPERATION,
                             "Cannot drop allowColumnDefaults: the column `%s` has a default. Use ALTER COLUMN … DROP "
                             "DEFAULT first.",
                             field->name);
  }
  return TRUE;
}

static gboolean
remove_domains (DmlAlteration *alteration, GError **error)
{
  g_autoptr (GPtrArray) domains = delta_snapshot_domains (alteration->snapshot);
  for (guint i = 0; i < domains->len; i++) {
    const DeltaDomain *domain = g_ptr_array_index (domains, i);
    if (g_str_has_prefix (domain->domain, "sluice."))
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                             "Cannot drop domainMetadata: a pipeline keeps its progress in the domain %s.",
                             domain->domain);
    delta_transaction_set_domain (write_batch_transaction (alteration->batch), domain->domain, NULL);
  }
  return TRUE;
}

/* The target becomes a plain table; its flow needs a full refresh. */
static gboolean
remove_auto_cdc (DmlAlteration *alteration, GError **error G_GNUC_UNUSED)
{
  autocdc_forget (write_batch_transaction (alteration->batch), alteration->snapshot);
  return TRUE;
}

static const struct {
  const char *feature;
  Removal remove;
} removals[] = {
  { "allowColumnDefaults", remove_defaults }, { "checkConstraints", remove_check_constraints },
  { "domainMetadata", remove_domains },       { "inCommitTimestamp", remove_commit_timestamps },
  { "rowTracking", remove_row_tracking },     { AUTOCDC_FEATURE, remove_auto_cdc },
};

static const struct {
  const char *feature;
  const char *needs;
} dependencies[] = {
  { "clustering", "domainMetadata" },
  { "rowTracking", "domainMetadata" },
  { AUTOCDC_FEATURE, "domainMetadata" },
};

static gboolean
check_dependencies (DeltaProtocol *protocol, const char *feature, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (dependencies); i++) {
    if (g_str_equal (dependencies[i].needs, feature) && delta_protocol_has (protocol, dependencies[i].feature))
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", dependencies[i].feature);
  }
  return names->len == 0 || base_error_set (error, SLUICE_ERROR_DELTA_FEATURE_DROP_DEPENDENT_FEATURE,
                                            "Cannot drop table feature `%s` because some other features (%s) in this "
                                            "table depend on it. Drop them first.",
                                            feature, names->str);
}

static gboolean
drop_feature (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlAlter *alter = data;
  const char *feature = alter->new_name.text;
  DeltaProtocol *protocol = delta_snapshot_protocol (alteration->snapshot);
  Removal removal = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (removals); i++) {
    if (g_str_equal (removals[i].feature, feature))
      removal = removals[i].remove;
  }
  if (!delta_protocol_has (protocol, feature))
    return base_error_set (error, SLUICE_ERROR_DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT,
                           "Cannot drop %s from this table because it is not currently present in the table's "
                           "protocol.",
                           feature);
  if (removal == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE,
                           "Cannot drop %s because dropping this feature is not supported.", feature);
  if (alter->truncate_history)
    return base_error_set (error, SLUICE_ERROR_DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED,
                           "The feature %s does not require history truncation.", feature);
  if (!check_dependencies (protocol, feature, error))
    return FALSE;
  dml_alteration_take_metadata (alteration, delta_metadata_ref (delta_snapshot_metadata (alteration->snapshot)));
  if (!removal (alteration, error))
    return FALSE;
  alteration->protocol = delta_protocol_without_feature (protocol, feature);
  alteration->operation = "DROP FEATURE";
  dml_alteration_set_parameter (alteration, "featureName", feature);
  dml_alteration_set_parameter (alteration, "truncateHistory", "false");
  return TRUE;
}

gboolean
dml_alter_drop_feature (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  if (dml_alter_run (context, &alter->name, drop_feature, alter, error))
    return TRUE;
  sql_position_add_to_error (&alter->new_name.position, error);
  return FALSE;
}

/* ---- ADOPT ---- */

/* Marks the table: the next batch of an AUTO CDC flow into it takes its rows as history. */
static gboolean
adopt (DmlAlteration *alteration, gconstpointer data G_GNUC_UNUSED, GError **error)
{
  DeltaTransaction *transaction = write_batch_transaction (alteration->batch);
  BaseType *schema = delta_snapshot_schema (alteration->snapshot);
  if (dml_alteration_is_autocdc (alteration))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_CANNOT_ADOPT, "%s is the target of an AUTO CDC flow already.",
                           alteration->name);
  if (alteration->reference.entry != NULL && alteration->reference.entry->kind == CATALOG_KIND_MATERIALIZED_VIEW)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_CANNOT_ADOPT, "%s is a materialized view.", alteration->name);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    if (field->metadata != NULL && json_object_get (field->metadata, "delta.identity.start") != NULL)
      return base_error_set (error, SLUICE_ERROR_AUTOCDC_CANNOT_ADOPT,
                             "Column %s of %s is an identity column, which no flow fills.", field->name,
                             alteration->name);
  }
  alteration->is_void = delta_snapshot_domain (alteration->snapshot, AUTOCDC_ADOPT_DOMAIN) != NULL;
  alteration->operation = "ADOPT";
  delta_transaction_require_feature (transaction, "domainMetadata");
  delta_transaction_set_domain (transaction, AUTOCDC_ADOPT_DOMAIN, "{}");
  return TRUE;
}

gboolean
dml_alter_adopt (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  return dml_alter_run (context, &alter->name, adopt, NULL, error);
}

/* ---- CLUSTER BY ---- */

char **
dml_clustering_columns (DeltaSnapshot *snapshot)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *text = delta_snapshot_domain (snapshot, CLUSTERING_DOMAIN);
  g_autoptr (json_t) domain = text != NULL ? base_json_parse (text, strlen (text), CLUSTERING_DOMAIN, NULL) : NULL;
  DeltaMapping mapping = delta_metadata_mapping (delta_snapshot_metadata (snapshot));
  BaseType *schema = delta_snapshot_schema (snapshot);
  size_t at;
  json_t *path;
  json_array_foreach (json_object_get (domain, "clusteringColumns"), at, path)
  {
    const char *physical = json_string_value (json_array_get (path, 0));
    for (guint i = 0; physical != NULL && i < base_type_n_fields (schema); i++) {
      const BaseField *field = base_type_field (schema, i);
      if (g_str_equal (delta_field_physical_name (field, mapping), physical))
        g_ptr_array_add (names, g_strdup (field->name));
    }
  }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

static gboolean
cluster_by (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlClusterBy *cluster = data;
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  if (delta_metadata_partition_columns (metadata)[0] != NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED,
                           "ALTER TABLE CLUSTER BY cannot be applied to a partitioned table.");
  gboolean is_clustered = delta_protocol_has (delta_snapshot_protocol (alteration->snapshot), "clustering");
  alteration->is_void = !is_clustered && cluster->kind == SQL_CLUSTER_NONE;
  if (alteration->is_void)
    return TRUE;
  g_auto (GStrv) old = dml_clustering_columns (alteration->snapshot);
  g_auto (GStrv) wanted = dml_definition_clustering (cluster, error);
  if (wanted == NULL || !dml_definition_cluster (wanted, write_batch_transaction (alteration->batch), error))
    return FALSE;
  g_autofree char *before = g_strjoinv (",", old);
  g_autofree char *after = g_strjoinv (",", wanted);
  alteration->operation = "CLUSTER BY";
  dml_alteration_set_parameter (alteration, "oldClusteringColumns", before);
  dml_alteration_set_parameter (alteration, "newClusteringColumns", after);
  return TRUE;
}

gboolean
dml_alter_cluster_by (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  if (alter->cluster_by.kind == SQL_CLUSTER_AUTO)
    return dml_unsupported (&alter->cluster_by.position, error, "CLUSTER BY AUTO", "Name the columns.");
  return dml_alter_run (context, &alter->name, cluster_by, &alter->cluster_by, error);
}

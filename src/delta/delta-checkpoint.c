/* Writing classic checkpoints.
 *
 * A checkpoint is made of the snapshot, never of the log: every action becomes one row of a lent table, as the JSON that a
 * commit would hold, and DuckDB turns that into the columns of the protocol's checkpoint schema. Order of steps: Parquet to a
 * scratch file, published (fsync, rename), then `_last_checkpoint`; a crash in between leaves a checkpoint that listings find.
 */
#include "delta-checkpoint.h"

#include "base-error.h"
#include "base-json.h"
#include "delta-file-private.h"
#include "delta-log-private.h"
#include "delta-metadata-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"
#include "duck-copy.h"
#include "duck-lend.h"

#include <string.h>

#define DAY_US                    G_GINT64_CONSTANT (86400000000)
#define DEFAULT_INTERVAL          10
#define DEFAULT_FILE_RETENTION_US (7 * DAY_US)

#define VECTOR_TYPE                                                                                                    \
  "\"deletionVector\":{\"storageType\":\"VARCHAR\",\"pathOrInlineDv\":\"VARCHAR\",\"offset\":\"INTEGER\","             \
  "\"sizeInBytes\":\"INTEGER\",\"cardinality\":\"BIGINT\"}"

/* Columns of a checkpoint: name, and the type as json_transform() takes it. */
static const struct {
  const char *name;
  const char *type;
} columns[] = {
  { "txn", "{\"appId\":\"VARCHAR\",\"version\":\"BIGINT\",\"lastUpdated\":\"BIGINT\"}" },
  { "add", "{\"path\":\"VARCHAR\",\"partitionValues\":\"MAP(VARCHAR, VARCHAR)\",\"size\":\"BIGINT\","
           "\"modificationTime\":\"BIGINT\",\"dataChange\":\"BOOLEAN\",\"stats\":\"VARCHAR\","
           "\"tags\":\"MAP(VARCHAR, VARCHAR)\"," VECTOR_TYPE ",\"baseRowId\":\"BIGINT\","
           "\"defaultRowCommitVersion\":\"BIGINT\",\"clusteringProvider\":\"VARCHAR\"}" },
  { "remove", "{\"path\":\"VARCHAR\",\"deletionTimestamp\":\"BIGINT\",\"dataChange\":\"BOOLEAN\","
              "\"extendedFileMetadata\":\"BOOLEAN\",\"partitionValues\":\"MAP(VARCHAR, VARCHAR)\","
              "\"size\":\"BIGINT\"," VECTOR_TYPE ",\"baseRowId\":\"BIGINT\",\"defaultRowCommitVersion\":\"BIGINT\"}" },
  { "metaData", "{\"id\":\"VARCHAR\",\"name\":\"VARCHAR\",\"description\":\"VARCHAR\","
                "\"format\":{\"provider\":\"VARCHAR\",\"options\":\"MAP(VARCHAR, VARCHAR)\"},"
                "\"schemaString\":\"VARCHAR\",\"partitionColumns\":[\"VARCHAR\"],"
                "\"configuration\":\"MAP(VARCHAR, VARCHAR)\",\"createdTime\":\"BIGINT\"}" },
  { "protocol", "{\"minReaderVersion\":\"INTEGER\",\"minWriterVersion\":\"INTEGER\",\"readerFeatures\":[\"VARCHAR\"],"
                "\"writerFeatures\":[\"VARCHAR\"]}" },
  { "domainMetadata", "{\"domain\":\"VARCHAR\",\"configuration\":\"VARCHAR\",\"removed\":\"BOOLEAN\"}" },
  { "checkpointMetadata", "{\"version\":\"BIGINT\",\"tags\":\"MAP(VARCHAR, VARCHAR)\"}" },
};
enum { COL_TXN, COL_ADD, COL_REMOVE, COL_METADATA, COL_PROTOCOL, COL_DOMAIN, COL_CHECKPOINT, N_V1 = COL_CHECKPOINT };

/* When ---------------------------------------------------------------------------------------------------------------- */

static gboolean
is_due (gint64 n_commits, gint64 interval, gint64 json_bytes, gint64 checkpoint_bytes)
{
  return n_commits >= interval && (json_bytes > checkpoint_bytes / 4 || n_commits >= 10 * interval);
}

gboolean
delta_checkpoint_is_due (DeltaSnapshot *snapshot)
{
  const DeltaSnapshotOrigin *origin = delta_snapshot_origin (snapshot);
  gint64 interval =
      delta_metadata_int (delta_snapshot_metadata (snapshot), "delta.checkpointInterval", DEFAULT_INTERVAL);
  gint64 n_commits = origin->version - origin->checkpoint_version;
  Store *store = delta_table_store (delta_snapshot_table (snapshot));
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (json_t) hint = NULL;
  DeltaVersion version;

  if (!is_due (n_commits, MAX (interval, 1), origin->json_bytes, origin->checkpoint_bytes))
    return FALSE;
  /* This snapshot may have grown past a checkpoint that somebody wrote meanwhile. */
  if (!store_read (store, DELTA_LOG_LAST_CHECKPOINT, &bytes, NULL) || bytes == NULL)
    return TRUE;
  hint = base_json_parse (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "_last_checkpoint", NULL);
  version = json_is_object (hint) ? base_json_int64 (hint, "version", DELTA_VERSION_NONE) : DELTA_VERSION_NONE;
  if (version <= origin->checkpoint_version)
    return TRUE;
  if (version >= origin->version)
    return FALSE;
  /* How much of the JSON lies after it is told well enough by its share of the commits. */
  return is_due (origin->version - version, MAX (interval, 1),
                 origin->json_bytes / n_commits * (origin->version - version),
                 base_json_int64 (hint, "sizeInBytes", origin->checkpoint_bytes));
}

/* Writing ------------------------------------------------------------------------------------------------------------- */

static void
add_row (DuckTable *table, guint column, const char *text, gsize size)
{
  duck_table_set_string (table, column, text, size);
  duck_table_end_row (table);
}

static void
add_json_row (DuckTable *table, guint column, json_t *object)
{
  g_autofree char *text = base_json_text (object);

  add_row (table, column, text, strlen (text));
  json_decref (object);
}

/* A file as it stands in a checkpoint: nothing in it is a change. */
static void
add_file_row (DuckTable *table, guint column, DeltaFile *file, GString *scratch)
{
  DeltaFileInfo info = delta_file_info (file);
  g_autoptr (DeltaFile) still = NULL;

  info.data_change = FALSE;
  still = delta_file_new (&info);
  g_string_truncate (scratch, 0);
  delta_file_append_json (scratch, still, column == COL_ADD ? DELTA_FILE_ADD : DELTA_FILE_REMOVE);
  add_row (table, column, scratch->str, scratch->len);
}

/* Whether the checkpoint is to be of the V2 form: delta.checkpointPolicy asks for it and readers know of it. */
static gboolean
wants_v2 (DeltaSnapshot *snapshot)
{
  const char *policy = delta_metadata_property (delta_snapshot_metadata (snapshot), "delta.checkpointPolicy");

  return policy != NULL && g_ascii_strcasecmp (policy, "v2") == 0 &&
         delta_protocol_has (delta_snapshot_protocol (snapshot), "v2Checkpoint");
}

static void
add_small_rows (DuckTable *table, DeltaSnapshot *snapshot, gint64 now_us)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (snapshot);
  gint64 txn_retention_us = delta_metadata_interval_us (metadata, "delta.setTransactionRetentionDuration", -1);
  g_autoptr (GPtrArray) txns = delta_snapshot_txns (snapshot);
  g_autoptr (GPtrArray) domains = delta_snapshot_domains (snapshot);

  if (wants_v2 (snapshot))
    add_json_row (table, COL_CHECKPOINT,
                  json_pack ("{s:I}", "version", (json_int_t) delta_snapshot_version (snapshot)));
  add_json_row (table, COL_PROTOCOL, delta_protocol_to_json (delta_snapshot_protocol (snapshot)));
  add_json_row (table, COL_METADATA, delta_metadata_to_json (metadata));
  for (guint i = 0; i < txns->len; i++) {
    const DeltaTxn *txn = txns->pdata[i];
    json_t *object;
    if (txn_retention_us >= 0 && txn->last_updated_ms >= 0 && txn->last_updated_ms * 1000 < now_us - txn_retention_us)
      continue;
    object = json_pack ("{s:s,s:I}", "appId", txn->app_id, "version", (json_int_t) txn->version);
    if (txn->last_updated_ms >= 0)
      json_object_set_new (object, "lastUpdated", json_integer (txn->last_updated_ms));
    add_json_row (table, COL_TXN, object);
  }
  for (guint i = 0; i < domains->len; i++) {
    const DeltaDomain *domain = domains->pdata[i];
    add_json_row (
        table, COL_DOMAIN,
        json_pack ("{s:s,s:s,s:b}", "domain", domain->domain, "configuration", domain->configuration, "removed", 0));
  }
}

/* Every action of the checkpoint as a row with one JSON column set. */
static DuckTable *
make_rows (DeltaSnapshot *snapshot, gint64 now_us)
{
  DuckTableColumn texts[G_N_ELEMENTS (columns)];
  DuckTable *table;
  g_autoptr (GString) scratch = g_string_new (NULL);
  gint64 retention_us = delta_metadata_interval_us (delta_snapshot_metadata (snapshot),
                                                    "delta.deletedFileRetentionDuration", DEFAULT_FILE_RETENTION_US);

  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    texts[i] = (DuckTableColumn){ .name = columns[i].name, .kind = DUCK_KIND_VARCHAR };
  table = duck_table_new (texts, G_N_ELEMENTS (columns));
  add_small_rows (table, snapshot, now_us);
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++)
    add_file_row (table, COL_ADD, delta_snapshot_file (snapshot, i), scratch);
  for (guint i = 0; i < delta_snapshot_n_tombstones (snapshot); i++) {
    DeltaFile *file = delta_snapshot_tombstone (snapshot, i);
    if (MAX (delta_file_deletion_ms (file), 0) * 1000 > now_us - retention_us)
      add_file_row (table, COL_REMOVE, file, scratch);
  }
  return table;
}

static char *
make_select (guint64 handle, gboolean v2)
{
  GString *sql = g_string_new ("SELECT ");

  for (guint i = 0; i < (v2 ? G_N_ELEMENTS (columns) : N_V1); i++)
    g_string_append_printf (sql, "%sjson_transform(r.\"%s\", '%s') AS \"%s\"", i > 0 ? ", " : "", columns[i].name,
                            columns[i].type, columns[i].name);
  g_string_append_printf (sql, " FROM sluice_files(%" G_GUINT64_FORMAT "::UBIGINT) r", handle);
  return g_string_free (sql, FALSE);
}

/* `checksum` is the MD5 of the other members in their canonical form (PROTOCOL.md "JSON checksum"). */
static gboolean
write_hint (Store *store, DeltaVersion version, guint64 n_actions, gint64 size_bytes, guint n_adds, GError **error)
{
  g_autofree char *canonical = NULL;
  g_autofree char *checksum = NULL;
  g_autofree char *text = NULL;
  DeltaVersion present;

  if (!delta_log_last_checkpoint (store, &present, error))
    return FALSE;
  if (present >= version)
    return TRUE;
  canonical = g_strdup_printf ("\"numOfAddFiles\"=%u,\"size\"=%" G_GUINT64_FORMAT ",\"sizeInBytes\"=%" G_GINT64_FORMAT
                               ",\"version\"=%" G_GINT64_FORMAT,
                               n_adds, n_actions, size_bytes, version);
  checksum = g_compute_checksum_for_string (G_CHECKSUM_MD5, canonical, -1);
  text = g_strdup_printf ("{\"version\":%" G_GINT64_FORMAT ",\"size\":%" G_GUINT64_FORMAT
                          ",\"sizeInBytes\":%" G_GINT64_FORMAT ",\"numOfAddFiles\":%u,\"checksum\":\"%s\"}",
                          version, n_actions, size_bytes, n_adds, checksum);
  return store_put (store, DELTA_LOG_LAST_CHECKPOINT, text, strlen (text), STORE_PUT_SYNCED, error);
}

gboolean
delta_checkpoint_write (DeltaSnapshot *snapshot, const BaseClock *clock, BaseCancel *cancel, GError **error)
{
  DeltaTable *table = delta_snapshot_table (snapshot);
  Store *store = delta_table_store (table);
  g_autofree char *key = delta_log_checkpoint_key (delta_snapshot_version (snapshot));
  g_autoptr (DuckSession) session = delta_table_session (table, error);
  g_autofree char *scratch = NULL;
  g_autofree char *sql = NULL;
  g_autoptr (GPtrArray) holds = duck_holds_new ();
  g_autoptr (GPtrArray) files = NULL;
  g_autoptr (GError) failure = NULL;
  DuckTable *rows;
  guint64 n_actions;
  guint64 handle;
  gint64 size_bytes;

  if (session == NULL || !delta_protocol_check_write (delta_snapshot_protocol (snapshot), error))
    return FALSE;
  scratch = store_scratch_path (store, ".checkpoint.parquet", error);
  if (scratch == NULL)
    return FALSE;
  rows = make_rows (snapshot, base_clock_now_us (clock));
  n_actions = duck_table_n_rows (rows);
  handle = duck_engine_lend_table (delta_table_engine (table), rows);
  duck_holds_add (holds, delta_table_engine (table), handle);
  sql = make_select (handle, wants_v2 (snapshot));
  files = duck_session_copy_parquet (session, sql, scratch, NULL, cancel, error);
  if (files == NULL) {
    base_error_add_context (error, "writing a checkpoint of %s", delta_table_location (table));
    return FALSE;
  }
  size_bytes = ((const DuckCopyFile *) files->pdata[0])->file_bytes;
  if (!store_publish_file (store, scratch, key, &failure) &&
      !g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_OBJECT_STORE_CONFLICT)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  return write_hint (store, delta_snapshot_version (snapshot), n_actions, size_bytes, delta_snapshot_n_files (snapshot),
                     error);
}

void
delta_checkpoint_maintain (DeltaTable *table, const BaseClock *clock, BaseCancel *cancel)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, cancel, NULL);

  if (snapshot == NULL || !delta_checkpoint_is_due (snapshot) ||
      !delta_checkpoint_write (snapshot, clock, cancel, NULL))
    return;
  /* With the same cutoff, which moves once a day, the same would be kept. What fails is tried again by the next process. */
  if (delta_table_claim_cleanup (table, delta_log_cutoff_us (snapshot, clock)))
    (void) delta_log_cleanup (snapshot, clock, cancel, NULL, NULL);
}

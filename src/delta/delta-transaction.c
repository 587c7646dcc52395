/* One commit: what it reads, what it writes, and how it meets the commits of others.
 *
 *   collect (add, remove, …) ──commit──▶ try version n ──DONE──▶ done
 *                                          │EXISTS              ▲
 *                                          ▼                    │ our own txnId
 *                              read winner n ──────────────────┘
 *                                 │ conflict ──▶ CONFLICT
 *                                 └ none: rebase on n, try n + 1
 *
 * A put whose end is unknown is settled the same way: version n is read back, and its txnId tells whose it is.
 *
 * Invariants:
 *   1. The text of a commit is made anew for every try: row ids, commit versions and the in-commit timestamp follow from the
 *      version tried and the winners before it, never from an earlier try.
 *   2. Winners that changed metadata or protocol are always conflicts, so both are the read snapshot's or our own.
 *   3. One metaData, one protocol, one txn per application, one domainMetadata per domain; a path once among adds and once
 *      among removes.
 */
#include "delta-transaction.h"

#include "base-json.h"
#include "base-text.h"
#include "delta-file-private.h"
#include "delta-log-private.h"
#include "delta-metadata-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"

#include <string.h>

#define MAX_TRIES 10000
/* Puts of one version whose end stays unknown. */
#define MAX_UNKNOWN         5
#define ROW_TRACKING_DOMAIN "delta.rowTracking"

struct DeltaTransaction {
  DeltaTable *table;
  DeltaSnapshot *read; /* NULL: creates the table */
  BaseClock clock;
  char *txn_id;
  /* What was read. */
  gboolean read_table;
  GHashTable *read_files;   /* decoded paths */
  GPtrArray *read_matching; /* ReadMatching */
  GHashTable *read_txns;    /* application ids */
  /* What is written. */
  GPtrArray *adds, *removes, *cdcs; /* DeltaFile */
  GHashTable *added, *removed;      /* decoded paths, borrowed from the files */
  DeltaMetadata *metadata;          /* of the state after the commit */
  DeltaProtocol *protocol;
  gboolean metadata_set, protocol_set;
  GHashTable *txns;    /* application id → DeltaTxn */
  GHashTable *domains; /* domain → DeltaDomain */
  /* commitInfo. */
  char *operation;
  json_t *parameters, *metrics, *tags;
  char *user_metadata;
  int blind_append;   /* -1 = worked out */
  int rows_preserved; /* -1 = true */
};

/* A copy of predicates with their constants. */
typedef struct {
  DeltaPredicate *predicates;
  guint n_predicates;
  GPtrArray *owned;
} ReadMatching;

static void
read_matching_free (gpointer data)
{
  ReadMatching *matching = data;

  g_ptr_array_unref (matching->owned);
  g_free (matching->predicates);
  g_free (matching);
}

DeltaTransaction *
delta_transaction_new (DeltaTable *table, DeltaSnapshot *read, const BaseClock *clock)
{
  DeltaTransaction *transaction = g_new0 (DeltaTransaction, 1);

  transaction->table = delta_table_ref (table);
  if (clock != NULL)
    transaction->clock = *clock;
  transaction->txn_id = base_text_uuid ();
  transaction->read_files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  transaction->read_matching = g_ptr_array_new_with_free_func (read_matching_free);
  transaction->read_txns = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  transaction->adds = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  transaction->removes = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  transaction->cdcs = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  transaction->added = g_hash_table_new (g_str_hash, g_str_equal);
  transaction->removed = g_hash_table_new (g_str_hash, g_str_equal);
  transaction->txns = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) delta_txn_free);
  transaction->domains = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) delta_domain_free);
  transaction->operation = g_strdup ("WRITE");
  transaction->parameters = json_object ();
  transaction->metrics = json_object ();
  transaction->tags = json_object ();
  transaction->blind_append = -1;
  transaction->rows_preserved = -1;
  if (read != NULL) {
    transaction->read = delta_snapshot_ref (read);
    transaction->metadata = delta_metadata_ref (delta_snapshot_metadata (read));
    transaction->protocol = delta_protocol_ref (delta_snapshot_protocol (read));
  } else {
    transaction->protocol = delta_protocol_new (1, 2, NULL, NULL);
    transaction->protocol_set = TRUE;
  }
  return transaction;
}

DeltaTransaction *
delta_transaction_new_table (DeltaTable *table, DeltaMetadata *metadata, const BaseClock *clock)
{
  DeltaTransaction *transaction = delta_transaction_new (table, NULL, clock);

  delta_transaction_set_operation (transaction, "CREATE TABLE");
  delta_transaction_set_metadata (transaction, metadata);
  return transaction;
}

void
delta_transaction_free (DeltaTransaction *transaction)
{
  if (transaction == NULL)
    return;
  g_hash_table_unref (transaction->read_files);
  g_ptr_array_unref (transaction->read_matching);
  g_hash_table_unref (transaction->read_txns);
  g_hash_table_unref (transaction->added);
  g_hash_table_unref (transaction->removed);
  g_ptr_array_unref (transaction->adds);
  g_ptr_array_unref (transaction->removes);
  g_ptr_array_unref (transaction->cdcs);
  g_hash_table_unref (transaction->txns);
  g_hash_table_unref (transaction->domains);
  delta_metadata_unref (transaction->metadata);
  delta_protocol_unref (transaction->protocol);
  g_free (transaction->operation);
  json_decref (transaction->parameters);
  json_decref (transaction->metrics);
  json_decref (transaction->tags);
  g_free (transaction->user_metadata);
  g_free (transaction->txn_id);
  delta_snapshot_unref (transaction->read);
  delta_table_unref (transaction->table);
  g_free (transaction);
}

DeltaTable *
delta_transaction_table (DeltaTransaction *transaction)
{
  return transaction->table;
}

DeltaSnapshot *
delta_transaction_read_snapshot (DeltaTransaction *transaction)
{
  return transaction->read;
}

DeltaMetadata *
delta_transaction_metadata (DeltaTransaction *transaction)
{
  return transaction->metadata;
}

DeltaProtocol *
delta_transaction_protocol (DeltaTransaction *transaction)
{
  return transaction->protocol;
}

DeltaVersion
delta_transaction_next_version (DeltaTransaction *transaction)
{
  return transaction->read != NULL ? delta_snapshot_version (transaction->read) + 1 : 0;
}

/* Reading ------------------------------------------------------------------------------------------------------------- */

void
delta_transaction_read_table (DeltaTransaction *transaction)
{
  transaction->read_table = TRUE;
}

void
delta_transaction_read_file (DeltaTransaction *transaction, DeltaFile *file)
{
  g_hash_table_add (transaction->read_files, g_strdup (delta_file_decoded_path (file)));
}

void
delta_transaction_read_matching (DeltaTransaction *transaction, const DeltaPredicate *predicates, guint n_predicates)
{
  ReadMatching *matching = g_new0 (ReadMatching, 1);

  matching->owned = g_ptr_array_new_with_free_func (g_free);
  matching->n_predicates = n_predicates;
  matching->predicates = g_new0 (DeltaPredicate, MAX (n_predicates, 1));
  for (guint i = 0; i < n_predicates; i++) {
    DeltaConstant *constants = g_new0 (DeltaConstant, MAX (predicates[i].n_constants, 1));
    g_ptr_array_add (matching->owned, constants);
    matching->predicates[i] = predicates[i];
    matching->predicates[i].constants = constants;
    for (guint k = 0; k < predicates[i].n_constants; k++) {
      constants[k] = predicates[i].constants[k];
      if (constants[k].text != NULL) {
        char *text = g_memdup2 (constants[k].text, MAX (constants[k].text_bytes, 1));
        g_ptr_array_add (matching->owned, text);
        constants[k].text = text;
      }
    }
  }
  g_ptr_array_add (transaction->read_matching, matching);
}

void
delta_transaction_read_txn (DeltaTransaction *transaction, const char *app_id)
{
  g_hash_table_add (transaction->read_txns, g_strdup (app_id));
}

/* Writing ------------------------------------------------------------------------------------------------------------- */

static gboolean
tracks_rows (DeltaTransaction *transaction)
{
  return delta_protocol_has (transaction->protocol, "rowTracking") &&
         (transaction->metadata == NULL ||
          !delta_metadata_bool (transaction->metadata, "delta.rowTrackingSuspended", FALSE));
}

gboolean
delta_transaction_add (DeltaTransaction *transaction, DeltaFile *file, GError **error)
{
  if (tracks_rows (transaction) && delta_file_base_row_id (file) < 0 && delta_file_n_records (file) < 0)
    return base_error_set (error, SLUICE_ERROR_DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS,
                           "the file `%s` says no number of rows, so its rows get no ids", delta_file_path (file));
  if (g_hash_table_contains (transaction->added, delta_file_decoded_path (file)))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "the file `%s` is added twice in one commit",
                           delta_file_path (file));
  if (delta_file_vector (file) != NULL)
    delta_transaction_require_feature (transaction, "deletionVectors");
  g_ptr_array_add (transaction->adds, delta_file_ref (file));
  g_hash_table_add (transaction->added, (gpointer) delta_file_decoded_path (file));
  return TRUE;
}

gboolean
delta_transaction_remove (DeltaTransaction *transaction, DeltaFile *file, gboolean data_change, GError **error)
{
  DeltaFileInfo info = delta_file_info (file);
  DeltaFile *removed;

  if (data_change && transaction->metadata != NULL && delta_metadata_append_only (transaction->metadata))
    return base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_MODIFY_APPEND_ONLY,
                           "the table %s is append-only (delta.appendOnly): its rows cannot be changed or removed",
                           delta_table_location (transaction->table));
  if (g_hash_table_contains (transaction->removed, delta_file_decoded_path (file)))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "the file `%s` is removed twice in one commit",
                           delta_file_path (file));
  info.data_change = data_change;
  info.extended = TRUE;
  info.deletion_ms = base_clock_now_us (&transaction->clock) / 1000;
  removed = delta_file_new (&info);
  g_ptr_array_add (transaction->removes, removed);
  g_hash_table_add (transaction->removed, (gpointer) delta_file_decoded_path (removed));
  return TRUE;
}

/* Statistics after rows were marked: the bounds are still bounds, but no longer met. The text is changed in place, because
 * reading and printing it again would round numbers. */
static char *
widen_stats (const char *stats)
{
  DeltaJson json = delta_json (stats, strlen (stats));
  DeltaJsonSlice key;
  DeltaJsonSlice value;
  gboolean first = TRUE;
  const char *end;

  if (!delta_json_enter_object (&json))
    return g_strdup (stats);
  while (delta_json_next_key (&json, &first, &key)) {
    if (!delta_json_skip (&json, &value))
      return g_strdup (stats);
    if (DELTA_JSON_IS (&key, "tightBounds"))
      return g_strdup_printf ("%.*sfalse%s", (int) (value.start - stats), stats, value.start + value.size);
  }
  if (json.error != NULL)
    return g_strdup (stats);
  end = json.at - 1; /* the closing bracket */
  return g_strdup_printf ("%.*s%s\"tightBounds\":false}", (int) (end - stats), stats, first ? "" : ",");
}

gboolean
delta_transaction_update_vector (DeltaTransaction *transaction, DeltaFile *file, const DeltaVectorDescriptor *vector,
                                 gboolean data_change, GError **error)
{
  DeltaFileInfo info = delta_file_info (file);
  g_autofree char *stats = info.stats != NULL ? widen_stats (info.stats) : NULL;
  g_autoptr (DeltaFile) added = NULL;

  if (vector != NULL && delta_file_n_records (file) < 0)
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_OPERATION,
                           "the file `%s` says no number of rows, so no deletion vector can be put on it",
                           delta_file_path (file));
  info.stats = stats;
  info.vector = vector;
  info.data_change = data_change;
  added = delta_file_new (&info);
  delta_transaction_read_file (transaction, file);
  return delta_transaction_remove (transaction, file, data_change, error) &&
         delta_transaction_add (transaction, added, error);
}

void
delta_transaction_add_cdc (DeltaTransaction *transaction, DeltaFile *file)
{
  g_ptr_array_add (transaction->cdcs, delta_file_ref (file));
}

static void
raise_protocol (DeltaTransaction *transaction, DeltaProtocol *raised)
{
  if (delta_protocol_equal (raised, transaction->protocol)) {
    delta_protocol_unref (raised);
    return;
  }
  delta_protocol_unref (transaction->protocol);
  transaction->protocol = raised;
  transaction->protocol_set = TRUE;
}

void
delta_transaction_set_metadata (DeltaTransaction *transaction, DeltaMetadata *metadata)
{
  DeltaMetadata *old = transaction->metadata;

  transaction->metadata = delta_metadata_ref (metadata);
  transaction->metadata_set = TRUE;
  delta_metadata_unref (old);
  raise_protocol (transaction, delta_protocol_upgraded (transaction->protocol, metadata));
}

void
delta_transaction_set_protocol (DeltaTransaction *transaction, DeltaProtocol *protocol)
{
  raise_protocol (transaction, delta_protocol_ref (protocol));
}

void
delta_transaction_require_feature (DeltaTransaction *transaction, const char *feature)
{
  raise_protocol (transaction, delta_protocol_with_feature (transaction->protocol, feature));
}

void
delta_transaction_set_txn (DeltaTransaction *transaction, const char *app_id, gint64 version)
{
  DeltaTxn *txn = delta_txn_new (app_id, version, base_clock_now_us (&transaction->clock) / 1000);

  g_hash_table_replace (transaction->txns, txn->app_id, txn);
  delta_transaction_read_txn (transaction, app_id);
}

void
delta_transaction_set_domain (DeltaTransaction *transaction, const char *name, const char *configuration)
{
  DeltaDomain *domain = delta_domain_new (name, configuration != NULL ? configuration : "", configuration == NULL);

  if (configuration == NULL && transaction->read != NULL && delta_snapshot_domain (transaction->read, name) != NULL) {
    /* The tombstone repeats what it removes. */
    g_free (domain->configuration);
    domain->configuration = g_strdup (delta_snapshot_domain (transaction->read, name));
  }
  g_hash_table_replace (transaction->domains, domain->domain, domain);
  delta_transaction_require_feature (transaction, "domainMetadata");
}

const char *
delta_transaction_domain (DeltaTransaction *transaction, const char *name)
{
  const DeltaDomain *domain = g_hash_table_lookup (transaction->domains, name);

  if (domain != NULL)
    return domain->removed ? NULL : domain->configuration;
  return transaction->read != NULL ? delta_snapshot_domain (transaction->read, name) : NULL;
}

void
delta_transaction_set_operation (DeltaTransaction *transaction, const char *operation)
{
  g_free (transaction->operation);
  transaction->operation = g_strdup (operation);
}

void
delta_transaction_set_parameter (DeltaTransaction *transaction, const char *name, const char *value)
{
  json_object_set_new (transaction->parameters, name, value != NULL ? json_string (value) : json_null ());
}

void
delta_transaction_set_metric (DeltaTransaction *transaction, const char *name, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);

  json_object_set_new (transaction->metrics, name, json_string (text));
}

void
delta_transaction_set_tag (DeltaTransaction *transaction, const char *name, const char *value)
{
  json_object_set_new (transaction->tags, name, json_string (value));
}

void
delta_transaction_set_user_metadata (DeltaTransaction *transaction, const char *text)
{
  g_free (transaction->user_metadata);
  transaction->user_metadata = g_strdup (text);
}

void
delta_transaction_set_blind_append (DeltaTransaction *transaction, gboolean blind)
{
  transaction->blind_append = blind;
}

void
delta_transaction_set_rows_preserved (DeltaTransaction *transaction, gboolean preserved)
{
  transaction->rows_preserved = preserved;
}

gboolean
delta_transaction_is_empty (DeltaTransaction *transaction)
{
  return transaction->adds->len == 0 && transaction->removes->len == 0 && transaction->cdcs->len == 0 &&
         !transaction->metadata_set && !transaction->protocol_set && g_hash_table_size (transaction->txns) == 0 &&
         g_hash_table_size (transaction->domains) == 0;
}

/* The text of a commit ------------------------------------------------------------------------------------------------ */

/* What a try stands on: facts of the version before it. */
typedef struct {
  DeltaVersion version;   /* to be made */
  gint64 high_water_mark; /* of row ids so far */
  gint64 previous_ms;     /* timestamp of version - 1; G_MININT64 = none */
  gint64 timestamp_ms;    /* of this commit */
} Ground;

static gboolean
changes_data (DeltaTransaction *transaction)
{
  for (guint i = 0; i < transaction->adds->len; i++)
    if (delta_file_data_change (transaction->adds->pdata[i]))
      return TRUE;
  for (guint i = 0; i < transaction->removes->len; i++)
    if (delta_file_data_change (transaction->removes->pdata[i]))
      return TRUE;
  return FALSE;
}

static gboolean
is_blind_append (DeltaTransaction *transaction)
{
  if (transaction->blind_append >= 0)
    return transaction->blind_append != 0;
  return transaction->adds->len > 0 && transaction->removes->len == 0 && !transaction->read_table &&
         g_hash_table_size (transaction->read_files) == 0 && transaction->read_matching->len == 0;
}

static const char *
isolation_level (DeltaTransaction *transaction)
{
  const char *property =
      transaction->metadata != NULL ? delta_metadata_property (transaction->metadata, "delta.isolationLevel") : NULL;

  if (!changes_data (transaction) && !transaction->metadata_set)
    return "SnapshotIsolation";
  return property != NULL && g_ascii_strcasecmp (property, "WriteSerializable") == 0 ? "WriteSerializable"
                                                                                     : "Serializable";
}

static void
append_action (GString *out, const char *name, json_t *object)
{
  g_autofree char *text = base_json_text (object);

  g_string_append_printf (out, "{\"%s\":%s}\n", name, text);
  json_decref (object);
}

static void
append_commit_info (DeltaTransaction *transaction, const Ground *ground, GString *out)
{
  json_t *info = json_object ();
  gboolean stamped = delta_metadata_commit_timestamps (transaction->metadata);

  if (stamped)
    json_object_set_new (info, "inCommitTimestamp", json_integer (ground->timestamp_ms));
  json_object_set_new (info, "timestamp", json_integer (ground->timestamp_ms));
  json_object_set_new (info, "operation", json_string (transaction->operation));
  json_object_set (info, "operationParameters", transaction->parameters);
  if (transaction->read != NULL)
    json_object_set_new (info, "readVersion", json_integer (delta_snapshot_version (transaction->read)));
  json_object_set_new (info, "isolationLevel", json_string (isolation_level (transaction)));
  json_object_set_new (info, "isBlindAppend", json_boolean (is_blind_append (transaction)));
  json_object_set (info, "operationMetrics", transaction->metrics);
  if (tracks_rows (transaction) && json_object_get (transaction->tags, "delta.rowTracking.preserved") == NULL)
    json_object_set_new (transaction->tags, "delta.rowTracking.preserved",
                         json_string (transaction->rows_preserved != 0 ? "true" : "false"));
  if (json_object_size (transaction->tags) > 0)
    json_object_set (info, "tags", transaction->tags);
  if (transaction->user_metadata != NULL)
    json_object_set_new (info, "userMetadata", json_string (transaction->user_metadata));
  json_object_set_new (info, "engineInfo", json_string ("Sluice/" SLUICE_VERSION));
  json_object_set_new (info, "txnId", json_string (transaction->txn_id));
  append_action (out, "commitInfo", info);
}

/* The metadata of this try: enabling in-commit timestamps on a table that has commits records when, and metadata that replaces
 * another keeps the record. */
static DeltaMetadata *
metadata_to_write (DeltaTransaction *transaction, const Ground *ground)
{
  static const char *const keys[] = { "delta.inCommitTimestampEnablementVersion",
                                      "delta.inCommitTimestampEnablementTimestamp" };
  DeltaMetadata *old = transaction->read != NULL ? delta_snapshot_metadata (transaction->read) : NULL;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_ref (transaction->metadata);
  gboolean kept = old != NULL && delta_metadata_commit_timestamps (old);

  if (old == NULL || !delta_metadata_commit_timestamps (metadata))
    return g_steal_pointer (&metadata);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_autofree char *now = g_strdup_printf ("%" G_GINT64_FORMAT, i == 0 ? ground->version : ground->timestamp_ms);
    DeltaMetadata *changed =
        delta_metadata_with_property (metadata, keys[i], kept ? delta_metadata_property (old, keys[i]) : now);
    delta_metadata_unref (metadata);
    metadata = changed;
  }
  return g_steal_pointer (&metadata);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Keys of a table of texts, sorted, so that equal transactions give equal commits. */
static GPtrArray *
sorted_keys (GHashTable *table)
{
  GPtrArray *keys = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, table);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_ptr_array_add (keys, key);
  g_ptr_array_sort (keys, compare_texts);
  return keys;
}

static void
append_txns_and_domains (DeltaTransaction *transaction, GString *out)
{
  g_autoptr (GPtrArray) apps = sorted_keys (transaction->txns);
  g_autoptr (GPtrArray) names = sorted_keys (transaction->domains);

  for (guint i = 0; i < apps->len; i++) {
    const DeltaTxn *txn = g_hash_table_lookup (transaction->txns, apps->pdata[i]);
    append_action (out, "txn",
                   json_pack ("{s:s,s:I,s:I}", "appId", txn->app_id, "version", (json_int_t) txn->version,
                              "lastUpdated", (json_int_t) txn->last_updated_ms));
  }
  for (guint i = 0; i < names->len; i++) {
    const DeltaDomain *domain = g_hash_table_lookup (transaction->domains, names->pdata[i]);
    append_action (out, "domainMetadata",
                   json_pack ("{s:s,s:s,s:b}", "domain", domain->domain, "configuration", domain->configuration,
                              "removed", domain->removed ? 1 : 0));
  }
}

/* @file with the row ids and commit version that it lacks. Returns: (transfer full). */
static DeltaFile *
with_row_tracking (DeltaFile *file, DeltaVersion version, gint64 *high_water_mark)
{
  DeltaFileInfo info = delta_file_info (file);

  if (info.base_row_id >= 0 && info.default_row_commit_version >= 0)
    return delta_file_ref (file);
  if (info.base_row_id < 0) {
    info.base_row_id = *high_water_mark + 1;
    *high_water_mark += delta_file_n_records (file);
  }
  if (info.default_row_commit_version < 0)
    info.default_row_commit_version = version;
  return delta_file_new (&info);
}

static void
append_file (GString *out, const char *name, const DeltaFile *file, DeltaFileRole role)
{
  g_string_append_printf (out, "{\"%s\":", name);
  delta_file_append_json (out, file, role);
  g_string_append (out, "}\n");
}

/* Settles the timestamp of the try and writes all actions. @ground: its mark and timestamp move on. */
static GString *
commit_text (DeltaTransaction *transaction, Ground *ground)
{
  GString *out = g_string_new (NULL);
  gint64 mark = ground->high_water_mark;
  gboolean assign = tracks_rows (transaction);
  g_autoptr (GString) files = g_string_new (NULL);

  ground->timestamp_ms = base_clock_now_us (&transaction->clock) / 1000;
  if (delta_metadata_commit_timestamps (transaction->metadata) && ground->previous_ms != G_MININT64)
    ground->timestamp_ms = MAX (ground->timestamp_ms, ground->previous_ms + 1);
  append_commit_info (transaction, ground, out);
  if (transaction->protocol_set)
    append_action (out, "protocol", delta_protocol_to_json (transaction->protocol));
  if (transaction->metadata_set) {
    g_autoptr (DeltaMetadata) metadata = metadata_to_write (transaction, ground);
    append_action (out, "metaData", delta_metadata_to_json (metadata));
  }
  for (guint i = 0; i < transaction->removes->len; i++)
    append_file (files, "remove", transaction->removes->pdata[i], DELTA_FILE_REMOVE);
  for (guint i = 0; i < transaction->adds->len; i++) {
    DeltaFile *file = transaction->adds->pdata[i];
    g_autoptr (DeltaFile) tracked = assign ? with_row_tracking (file, ground->version, &mark) : delta_file_ref (file);
    append_file (files, "add", tracked, DELTA_FILE_ADD);
  }
  for (guint i = 0; i < transaction->cdcs->len; i++)
    append_file (files, "cdc", transaction->cdcs->pdata[i], DELTA_FILE_CDC);
  append_txns_and_domains (transaction, out);
  if (mark > ground->high_water_mark) {
    g_autofree char *configuration = g_strdup_printf (
        "{\"domainName\":\"" ROW_TRACKING_DOMAIN "\",\"rowIdHighWaterMark\":%" G_GINT64_FORMAT "}", mark);
    append_action (
        out, "domainMetadata",
        json_pack ("{s:s,s:s,s:b}", "domain", ROW_TRACKING_DOMAIN, "configuration", configuration, "removed", 0));
  }
  g_string_append_len (out, files->str, (gssize) files->len);
  return out;
}

/* Conflicts ----------------------------------------------------------------------------------------------------------- */

void
delta_commit_result_clear (DeltaCommitResult *result)
{
  g_clear_pointer (&result->reason, g_free);
}

gboolean
delta_commit_result_to_error (const DeltaCommitResult *result, GError **error)
{
  return base_error_set (error, result->condition, "%s",
                         result->reason != NULL ? result->reason : "another commit won");
}

static gboolean conflict (DeltaCommitResult *result, DeltaCommit *winner, SluiceError condition, const char *format,
                          ...) G_GNUC_PRINTF (4, 5);

/* Returns: TRUE always, "there is a conflict". */
static gboolean
conflict (DeltaCommitResult *result, DeltaCommit *winner, SluiceError condition, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list arguments;

  va_start (arguments, format);
  what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  result->outcome = DELTA_COMMIT_CONFLICT;
  result->version = delta_commit_version (winner);
  result->condition = condition;
  g_free (result->reason);
  result->reason = g_strdup_printf ("version %" G_GINT64_FORMAT ", committed meanwhile, %s", result->version, what);
  return TRUE;
}

static gboolean
matches_what_was_read (DeltaTransaction *transaction, DeltaFile *file)
{
  for (guint i = 0; i < transaction->read_matching->len; i++) {
    const ReadMatching *matching = transaction->read_matching->pdata[i];
    if (delta_file_may_match (transaction->metadata, file, matching->predicates, matching->n_predicates))
      return TRUE;
  }
  return FALSE;
}

static gboolean
conflicts_with_add (DeltaTransaction *transaction, DeltaCommit *winner, DeltaFile *file, DeltaCommitResult *result)
{
  const char *level = isolation_level (transaction);

  /* With a new vector on both sides it is the removal that tells. */
  if (g_hash_table_contains (transaction->added, delta_file_decoded_path (file)) &&
      !g_hash_table_contains (transaction->removed, delta_file_decoded_path (file)))
    return conflict (result, winner, SLUICE_ERROR_DELTA_CONCURRENT_APPEND, "added the same file `%s`",
                     delta_file_path (file));
  /* Maintenance moves rows, it adds none; a transaction that only moves rows does not care for new ones. */
  if (!delta_file_data_change (file) || strcmp (level, "SnapshotIsolation") == 0)
    return FALSE;
  if (strcmp (level, "WriteSerializable") == 0 && delta_commit_is_blind_append (winner) && !transaction->metadata_set)
    return FALSE;
  if (transaction->read_table || matches_what_was_read (transaction, file))
    return conflict (result, winner, SLUICE_ERROR_DELTA_CONCURRENT_APPEND,
                     "added rows (`%s`) to what this transaction read", delta_file_path (file));
  return FALSE;
}

static gboolean
conflicts_with_remove (DeltaTransaction *transaction, DeltaCommit *winner, DeltaFile *file, DeltaCommitResult *result)
{
  const char *path = delta_file_decoded_path (file);

  if (g_hash_table_contains (transaction->removed, path))
    return conflict (result, winner, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_DELETE,
                     "changed or removed the file `%s`, which this transaction changes too", delta_file_path (file));
  if (g_hash_table_contains (transaction->read_files, path) ||
      (delta_file_data_change (file) &&
       (transaction->read_table || (delta_file_is_extended (file) && matches_what_was_read (transaction, file)) ||
        (!delta_file_is_extended (file) && transaction->read_matching->len > 0))))
    return conflict (result, winner, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_READ,
                     "removed the file `%s`, which this transaction read", delta_file_path (file));
  return FALSE;
}

static gboolean
conflicts_with_action (DeltaTransaction *transaction, DeltaCommit *winner, const DeltaAction *action,
                       DeltaCommitResult *result)
{
  switch (action->kind) {
  case DELTA_ACTION_PROTOCOL:
    return conflict (result, winner, SLUICE_ERROR_DELTA_PROTOCOL_CHANGED, "changed the table's protocol");
  case DELTA_ACTION_METADATA:
    return conflict (result, winner, SLUICE_ERROR_DELTA_METADATA_CHANGED, "changed the table's metadata");
  case DELTA_ACTION_ADD:
    return conflicts_with_add (transaction, winner, action->file, result);
  case DELTA_ACTION_REMOVE:
    return conflicts_with_remove (transaction, winner, action->file, result);
  case DELTA_ACTION_TXN:
    return g_hash_table_contains (transaction->read_txns, action->txn->app_id) &&
           conflict (result, winner, SLUICE_ERROR_DELTA_CONCURRENT_TRANSACTION, "was made by the same application `%s`",
                     action->txn->app_id);
  case DELTA_ACTION_DOMAIN:
    return strcmp (action->domain->domain, ROW_TRACKING_DOMAIN) != 0 &&
           g_hash_table_contains (transaction->domains, action->domain->domain) &&
           conflict (result, winner, SLUICE_ERROR_DELTA_CONCURRENT_TRANSACTION, "wrote the same domain `%s`",
                     action->domain->domain);
  case DELTA_ACTION_CDC:
  case DELTA_ACTION_COMMIT_INFO:
    return FALSE;
  }
  return FALSE;
}

/* The actions of one kind decide before those of the next, so that the worst reason is told. */
static gboolean
conflicts_with (DeltaTransaction *transaction, DeltaCommit *winner, DeltaCommitResult *result)
{
  static const DeltaActionKind order[] = { DELTA_ACTION_PROTOCOL, DELTA_ACTION_METADATA, DELTA_ACTION_ADD,
                                           DELTA_ACTION_REMOVE,   DELTA_ACTION_TXN,      DELTA_ACTION_DOMAIN };

  for (guint k = 0; k < G_N_ELEMENTS (order); k++)
    for (guint i = 0; i < delta_commit_n_actions (winner); i++) {
      const DeltaAction *action = delta_commit_action (winner, i);
      if (action->kind == order[k] && conflicts_with_action (transaction, winner, action, result))
        return TRUE;
    }
  return FALSE;
}

/* What the winner leaves for the next try. */
static void
stand_on (Ground *ground, DeltaCommit *winner)
{
  gint64 stamped_ms = delta_commit_in_commit_timestamp_ms (winner);

  for (guint i = 0; i < delta_commit_n_actions (winner); i++) {
    const DeltaAction *action = delta_commit_action (winner, i);
    g_autoptr (json_t) json = NULL;
    if (action->kind != DELTA_ACTION_DOMAIN || strcmp (action->domain->domain, ROW_TRACKING_DOMAIN) != 0)
      continue;
    json = base_json_parse (action->domain->configuration, strlen (action->domain->configuration), ROW_TRACKING_DOMAIN,
                            NULL);
    if (json_is_object (json))
      ground->high_water_mark = MAX (ground->high_water_mark, base_json_int64 (json, "rowIdHighWaterMark", -1));
  }
  ground->previous_ms = MAX (ground->previous_ms, stamped_ms >= 0 ? stamped_ms : delta_commit_modified_ms (winner));
  ground->version = delta_commit_version (winner) + 1;
}

/* Committing ---------------------------------------------------------------------------------------------------------- */

static gboolean
check_before_commit (DeltaTransaction *transaction, GError **error)
{
  if (transaction->metadata == NULL)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "a new table needs metadata");
  if (transaction->read != NULL && !delta_protocol_check_write (delta_snapshot_protocol (transaction->read), error))
    return FALSE;
  if (!delta_protocol_check_write (transaction->protocol, error))
    return FALSE;
  /* Files added before the protocol was raised. */
  for (guint i = 0; tracks_rows (transaction) && i < transaction->adds->len; i++) {
    DeltaFile *file = transaction->adds->pdata[i];
    if (delta_file_base_row_id (file) < 0 && delta_file_n_records (file) < 0)
      return base_error_set (error, SLUICE_ERROR_DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS,
                             "the file `%s` says no number of rows, so its rows get no ids", delta_file_path (file));
  }
  return TRUE;
}

/* A table that was removed or replaced since it was read must not get the next version of the old one. */
static gboolean
check_still_there (DeltaTransaction *transaction, DeltaCommitResult *result, gboolean *gone, GError **error)
{
  const DeltaSnapshotOrigin *origin;
  g_autofree char *key = NULL;
  StoreEntry *entry = NULL;

  *gone = FALSE;
  if (transaction->read == NULL)
    return TRUE;
  origin = delta_snapshot_origin (transaction->read);
  if (origin->commit_size_bytes < 0)
    return TRUE;
  key = delta_log_commit_key (origin->version);
  if (!store_stat (delta_table_store (transaction->table), key, &entry, error))
    return FALSE;
  *gone = entry == NULL || entry->size_bytes != origin->commit_size_bytes ||
          entry->modified_us != origin->commit_modified_us;
  if (entry != NULL)
    store_entry_free (entry);
  if (*gone) {
    result->outcome = DELTA_COMMIT_CONFLICT;
    result->version = origin->version;
    result->condition = SLUICE_ERROR_DELTA_METADATA_CHANGED;
    g_free (result->reason);
    result->reason =
        g_strdup_printf ("the table %s was removed or replaced meanwhile", delta_table_location (transaction->table));
  }
  return TRUE;
}

static gboolean
is_ours (DeltaTransaction *transaction, DeltaCommit *commit)
{
  const json_t *info = delta_commit_info (commit);

  return info != NULL && g_strcmp0 (base_json_string (info, "txnId"), transaction->txn_id) == 0;
}

typedef enum { PUT_DONE, PUT_LOST } PutEnd;

/* Puts the commit of @ground. @winner: (out) (transfer full): with PUT_LOST the commit that is there instead. */
static gboolean
put_version (DeltaTransaction *transaction, const Ground *ground, const GString *text, BaseCancel *cancel, PutEnd *end,
             DeltaCommit **winner, GError **error)
{
  g_autofree char *key = delta_log_commit_key (ground->version);
  g_autofree char *doubt = NULL;

  for (guint i = 0; i < MAX_UNKNOWN; i++) {
    g_autoptr (GError) failure = NULL;
    g_autoptr (DeltaCommit) there = NULL;
    StorePutOutcome outcome;
    g_clear_pointer (&doubt, g_free);
    if (!store_put_if_absent (delta_table_store (transaction->table), key, text->str, text->len, &outcome, &doubt,
                              error))
      return FALSE;
    if (outcome == STORE_PUT_DONE) {
      *end = PUT_DONE;
      return TRUE;
    }
    /* Cancelling must not leave the question open: the read back does not ask. */
    there = delta_table_commit (transaction->table, ground->version, NULL, &failure);
    if (there != NULL) {
      *end = is_ours (transaction, there) ? PUT_DONE : PUT_LOST;
      if (*end == PUT_LOST)
        *winner = g_steal_pointer (&there);
      return TRUE;
    }
    if (outcome == STORE_PUT_EXISTS) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    /* Unknown, and nothing to be seen: putting the same bytes again can do no harm. */
    if (!base_cancel_check (cancel, NULL))
      break;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_COMMIT_UNKNOWN,
                  "it is not known whether version %" G_GINT64_FORMAT " of %s was committed: %s", ground->version,
                  delta_table_location (transaction->table), doubt != NULL ? doubt : "the storage did not answer");
  return FALSE;
}

/* After a lost put: walks over the winners up to the newest. TRUE with result->outcome CONFLICT, or @ground moved on. */
static gboolean
meet_winners (DeltaTransaction *transaction, DeltaCommit *first, Ground *ground, BaseCancel *cancel,
              DeltaCommitResult *result, GError **error)
{
  g_autoptr (DeltaCommit) winner = delta_commit_ref (first);

  for (;;) {
    g_autoptr (GBytes) bytes = NULL;
    if (transaction->read == NULL) {
      conflict (result, winner, SLUICE_ERROR_DELTA_PROTOCOL_CHANGED, "made the table that this transaction makes");
      return TRUE;
    }
    if (conflicts_with (transaction, winner, result))
      return TRUE;
    stand_on (ground, winner);
    if (!delta_log_read_commit (delta_table_store (transaction->table), ground->version, &bytes, error))
      return FALSE;
    if (bytes == NULL)
      return TRUE;
    delta_commit_unref (g_steal_pointer (&winner));
    winner = delta_table_commit (transaction->table, ground->version, cancel, error);
    if (winner == NULL)
      return FALSE;
  }
}

gboolean
delta_transaction_commit (DeltaTransaction *transaction, BaseCancel *cancel, DeltaCommitResult *result, GError **error)
{
  DeltaCommitResult made = { .outcome = DELTA_COMMIT_DONE };
  Ground ground = { .version = delta_transaction_next_version (transaction),
                    .high_water_mark = -1,
                    .previous_ms = G_MININT64 };
  gboolean gone;

  if (!check_before_commit (transaction, error) || !check_still_there (transaction, &made, &gone, error))
    return FALSE;
  if (gone) {
    *result = made;
    return TRUE;
  }
  if (transaction->read != NULL) {
    ground.high_water_mark = delta_snapshot_row_id_high_water_mark (transaction->read);
    if (delta_snapshot_timestamp_ms (transaction->read) >= 0)
      ground.previous_ms = delta_snapshot_timestamp_ms (transaction->read);
  }
  while (made.n_tries < MAX_TRIES) {
    g_autoptr (DeltaCommit) winner = NULL;
    GString *text = NULL;
    PutEnd end;
    gboolean put;
    if (!base_cancel_check (cancel, error))
      return FALSE;
    text = commit_text (transaction, &ground);
    made.n_tries++;
    put = put_version (transaction, &ground, text, cancel, &end, &winner, error);
    g_string_free (text, TRUE);
    if (!put)
      return FALSE;
    if (end == PUT_DONE) {
      made.version = ground.version;
      made.timestamp_ms = ground.timestamp_ms;
      *result = made;
      return TRUE;
    }
    if (!meet_winners (transaction, winner, &ground, cancel, &made, error)) {
      delta_commit_result_clear (&made);
      return FALSE;
    }
    if (made.outcome == DELTA_COMMIT_CONFLICT) {
      *result = made;
      return TRUE;
    }
  }
  return base_error_set (error, SLUICE_ERROR_DELTA_CONCURRENT_WRITE,
                         "the commit to %s lost %d tries against other writers",
                         delta_table_location (transaction->table), MAX_TRIES);
}

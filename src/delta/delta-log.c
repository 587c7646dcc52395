/* The log's files: what their names say, and the actions that a commit's lines hold.
 *
 * File actions, the bulk of every log, are read by the walker of delta-json; everything else goes through jansson, one line
 * at a time. A line holds one object with one action; objects of unknown actions are skipped, as the protocol asks.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-file-private.h"
#include "delta-log-private.h"
#include "delta-metadata-private.h"

#include <string.h>

#define MAX_PROBED_COMMITS 256 /* a listing is cheaper than more, and may show a newer checkpoint */
#define PROBED_GAP         3   /* names that must be missing in a row before the log is taken to end */

/* Names --------------------------------------------------------------------------------------------------------------- */

char *
delta_log_commit_key (DeltaVersion version)
{
  return g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT ".json", version);
}

char *
delta_log_checkpoint_key (DeltaVersion version)
{
  return g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT ".checkpoint.parquet", version);
}

char *
delta_log_checksum_key (DeltaVersion version)
{
  return g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT ".crc", version);
}

char *
delta_log_compaction_key (const DeltaLogCompaction *compaction)
{
  return g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT ".%020" G_GINT64_FORMAT ".compacted.json",
                          compaction->from, compaction->to);
}

char **
delta_log_checkpoint_keys (const DeltaLogCheckpoint *checkpoint)
{
  char **keys = g_new0 (char *, checkpoint->n_parts + 1);

  switch (checkpoint->kind) {
  case DELTA_CHECKPOINT_CLASSIC:
    keys[0] = delta_log_checkpoint_key (checkpoint->version);
    break;
  case DELTA_CHECKPOINT_PARTS:
    for (guint i = 0; i < checkpoint->n_parts; i++)
      keys[i] = g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT ".checkpoint.%010u.%010u.parquet",
                                 checkpoint->version, i + 1, checkpoint->n_parts);
    break;
  case DELTA_CHECKPOINT_UUID_JSON:
  case DELTA_CHECKPOINT_UUID_PARQUET:
    keys[0] = g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT ".checkpoint.%s.%s", checkpoint->version,
                               checkpoint->uuid, checkpoint->kind == DELTA_CHECKPOINT_UUID_JSON ? "json" : "parquet");
    break;
  }
  return keys;
}

/* @digits digits at *@at, which moves past them. */
static gboolean
read_digits (const char **at, guint digits, gint64 *value)
{
  *value = 0;
  for (guint i = 0; i < digits; i++) {
    int digit = g_ascii_digit_value ((*at)[i]);
    if (digit < 0 || *value > (G_MAXINT64 - digit) / 10)
      return FALSE;
    *value = *value * 10 + digit;
  }
  *at += digits;
  return TRUE;
}

void
delta_log_listing_clear (DeltaLogListing *listing)
{
  g_clear_pointer (&listing->commits, g_array_unref);
  g_clear_pointer (&listing->checkpoints, g_array_unref);
  g_clear_pointer (&listing->compactions, g_array_unref);
  g_clear_pointer (&listing->checksums, g_array_unref);
}

/* Parts of one checkpoint come one after the other in a sorted listing; a second set of parts with another N starts anew. */
static void
note_part (GArray *checkpoints, DeltaVersion version, gint64 part, gint64 n_parts, gint64 size_bytes)
{
  DeltaLogCheckpoint *last = NULL;

  /* No writer numbers a single part; without it the commits are read. */
  if (n_parts < 2 || n_parts > 100000 || part < 1 || part > n_parts)
    return;
  for (guint i = checkpoints->len; i > 0 && last == NULL; i--) {
    DeltaLogCheckpoint *seen = &g_array_index (checkpoints, DeltaLogCheckpoint, i - 1);
    if (seen->version != version)
      break;
    if (seen->kind == DELTA_CHECKPOINT_PARTS && seen->n_parts == n_parts)
      last = seen;
  }
  if (last != NULL) {
    last->n_found += part == last->n_found + 1 ? 1 : 0;
    last->size_bytes += MAX (size_bytes, 0);
  } else {
    DeltaLogCheckpoint checkpoint = { .version = version,
                                      .kind = DELTA_CHECKPOINT_PARTS,
                                      .n_parts = (guint) n_parts,
                                      .n_found = part == 1 ? 1 : 0,
                                      .size_bytes = MAX (size_bytes, 0) };
    g_array_append_val (checkpoints, checkpoint);
  }
}

/* @at: what follows `<version>.checkpoint.`. */
static void
note_checkpoint (GArray *checkpoints, DeltaVersion version, const char *at, gint64 size_bytes)
{
  DeltaLogCheckpoint checkpoint = { .version = version, .n_parts = 1, .n_found = 1, .size_bytes = MAX (size_bytes, 0) };
  const char *rest = at;
  gint64 part;
  gint64 n_parts;

  if (strcmp (at, "parquet") == 0) {
    g_array_append_val (checkpoints, checkpoint);
    return;
  }
  if (read_digits (&rest, 10, &part) && *rest == '.') {
    rest++;
    if (read_digits (&rest, 10, &n_parts) && strcmp (rest, ".parquet") == 0)
      note_part (checkpoints, version, part, n_parts, size_bytes);
    return;
  }
  if (strlen (at) < 37 || at[36] != '.')
    return;
  memcpy (checkpoint.uuid, at, 36);
  if (!g_uuid_string_is_valid (checkpoint.uuid))
    return;
  if (strcmp (at + 37, "json") == 0)
    checkpoint.kind = DELTA_CHECKPOINT_UUID_JSON;
  else if (strcmp (at + 37, "parquet") == 0)
    checkpoint.kind = DELTA_CHECKPOINT_UUID_PARQUET;
  else
    return;
  g_array_append_val (checkpoints, checkpoint);
}

static void
note_entry (DeltaLogListing *listing, const StoreEntry *entry)
{
  const char *at = entry->key + strlen (DELTA_LOG_DIRECTORY);
  gint64 version;
  gint64 to;

  if (!g_str_has_prefix (entry->key, DELTA_LOG_DIRECTORY) || !read_digits (&at, 20, &version) || *at++ != '.')
    return;
  if (strcmp (at, "json") == 0) {
    DeltaLogCommit commit = { version, entry->size_bytes, entry->modified_us / 1000, entry->modified_us };
    g_array_append_val (listing->commits, commit);
  } else if (strcmp (at, "crc") == 0) {
    g_array_append_val (listing->checksums, version);
  } else if (g_str_has_prefix (at, "checkpoint.")) {
    note_checkpoint (listing->checkpoints, version, at + strlen ("checkpoint."), entry->size_bytes);
  } else if (read_digits (&at, 20, &to) && strcmp (at, ".compacted.json") == 0 && to > version) {
    DeltaLogCompaction compaction = { version, to, entry->size_bytes };
    g_array_append_val (listing->compactions, compaction);
  }
}

gboolean
delta_log_has_checksum (const DeltaLogListing *listing, DeltaVersion version)
{
  /* The versions asked for are the newest. */
  for (guint i = listing->checksums->len; i > 0; i--) {
    DeltaVersion seen = g_array_index (listing->checksums, DeltaVersion, i - 1);
    if (seen <= version)
      return seen == version;
  }
  return FALSE;
}

const DeltaLogCompaction *
delta_log_find_compaction (const DeltaLogListing *listing, DeltaVersion from, DeltaVersion to)
{
  const DeltaLogCompaction *best = NULL;
  guint low = 0;
  guint high = listing->compactions->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (g_array_index (listing->compactions, DeltaLogCompaction, middle).from < from)
      low = middle + 1;
    else
      high = middle;
  }
  for (guint i = low; i < listing->compactions->len; i++) {
    const DeltaLogCompaction *compaction = &g_array_index (listing->compactions, DeltaLogCompaction, i);
    if (compaction->from > from || compaction->to > to)
      break;
    best = compaction;
  }
  return best;
}

static void
listing_init (DeltaLogListing *listing)
{
  listing->commits = g_array_new (FALSE, FALSE, sizeof (DeltaLogCommit));
  listing->checkpoints = g_array_new (FALSE, FALSE, sizeof (DeltaLogCheckpoint));
  listing->compactions = g_array_new (FALSE, FALSE, sizeof (DeltaLogCompaction));
  listing->checksums = g_array_new (FALSE, FALSE, sizeof (DeltaVersion));
}

gboolean
delta_log_list (Store *store, DeltaVersion from, gboolean names_only, DeltaLogListing *listing, GError **error)
{
  g_autoptr (GPtrArray) entries = NULL;
  g_autofree char *start = NULL;
  const char *previous = "";
  StoreListFlags flags = STORE_LIST_DIRECTORY | (names_only ? STORE_LIST_NAMES_ONLY : 0);

  if (from > 0)
    start = g_strdup_printf (DELTA_LOG_DIRECTORY "%020" G_GINT64_FORMAT, from);
  if (!store_list (store, DELTA_LOG_DIRECTORY, start, flags, 0, &entries, error))
    return FALSE;
  listing_init (listing);
  for (guint i = 0; i < entries->len; i++) {
    const StoreEntry *entry = entries->pdata[i];
    if (strcmp (entry->key, previous) != 0) /* a store may show a key twice */
      note_entry (listing, entry);
    previous = entry->key;
  }
  for (guint i = listing->checkpoints->len; i > 0; i--) {
    DeltaLogCheckpoint *checkpoint = &g_array_index (listing->checkpoints, DeltaLogCheckpoint, i - 1);
    if (checkpoint->n_found != checkpoint->n_parts)
      g_array_remove_index (listing->checkpoints, i - 1);
  }
  return TRUE;
}

/* Notes the file of @key when there is one. */
static gboolean
probe_file (Store *store, char *key, DeltaLogListing *listing, gboolean *there, GError **error)
{
  g_autofree char *owned = key;
  StoreEntry *entry = NULL;

  if (!store_stat (store, owned, &entry, error))
    return FALSE;
  *there = entry != NULL;
  if (entry == NULL)
    return TRUE;
  note_entry (listing, entry);
  store_entry_free (entry);
  return TRUE;
}

gboolean
delta_log_probe (Store *store, DeltaVersion checkpoint, DeltaLogListing *listing, gboolean *found, GError **error)
{
  DeltaVersion latest = checkpoint;
  gboolean there;

  *found = FALSE;
  listing_init (listing);
  if (!probe_file (store, delta_log_checkpoint_key (checkpoint), listing, &there, error))
    return FALSE;
  if (there && !probe_file (store, delta_log_commit_key (checkpoint), listing, &there, error))
    return FALSE;
  if (!there)
    return TRUE;
  for (DeltaVersion version = checkpoint + 1; version <= latest + PROBED_GAP; version++) {
    if (version > checkpoint + MAX_PROBED_COMMITS)
      return TRUE;
    if (!probe_file (store, delta_log_commit_key (version), listing, &there, error))
      return FALSE;
    if (there && version > latest + 1)
      return TRUE;
    if (there)
      latest = version;
  }
  *found = TRUE;
  return probe_file (store, delta_log_checksum_key (latest), listing, &there, error);
}

gboolean
delta_log_last_checkpoint (Store *store, DeltaVersion *version, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (json_t) json = NULL;
  gconstpointer data;
  gsize size;

  if (!store_read (store, DELTA_LOG_LAST_CHECKPOINT, &bytes, error))
    return FALSE;
  *version = DELTA_VERSION_NONE;
  if (bytes == NULL)
    return TRUE;
  data = g_bytes_get_data (bytes, &size);
  json = size < (1u << 26) ? base_json_parse (data, size, "_last_checkpoint", NULL) : NULL;
  if (json_is_object (json))
    *version = MAX (base_json_int64 (json, "version", DELTA_VERSION_NONE), DELTA_VERSION_NONE);
  return TRUE;
}

gboolean
delta_log_read_file (Store *store, const char *key, GBytes **bytes, GError **error)
{
  g_autoptr (GBytes) read = NULL;

  if (!store_read (store, key, &read, error))
    return FALSE;
  if (read != NULL && g_bytes_get_size (read) > DELTA_LOG_MAX_COMMIT_BYTES)
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "the file %s is larger than 1 GiB", key);
  *bytes = g_steal_pointer (&read);
  return TRUE;
}

gboolean
delta_log_read_commit (Store *store, DeltaVersion version, GBytes **bytes, GError **error)
{
  g_autofree char *key = delta_log_commit_key (version);

  return delta_log_read_file (store, key, bytes, error);
}

/* Values -------------------------------------------------------------------------------------------------------------- */

DeltaTxn *
delta_txn_new (const char *app_id, gint64 version, gint64 last_updated_ms)
{
  DeltaTxn *txn = g_new (DeltaTxn, 1);

  *txn = (DeltaTxn){ g_strdup (app_id), version, last_updated_ms };
  return txn;
}

void
delta_txn_free (DeltaTxn *txn)
{
  if (txn == NULL)
    return;
  g_free (txn->app_id);
  g_free (txn);
}

DeltaDomain *
delta_domain_new (const char *domain, const char *configuration, gboolean removed)
{
  DeltaDomain *value = g_new (DeltaDomain, 1);

  *value = (DeltaDomain){ g_strdup (domain), g_strdup (configuration), removed };
  return value;
}

void
delta_domain_free (DeltaDomain *domain)
{
  if (domain == NULL)
    return;
  g_free (domain->domain);
  g_free (domain->configuration);
  g_free (domain);
}

void
delta_action_clear (DeltaAction *action)
{
  switch (action->kind) {
  case DELTA_ACTION_ADD:
  case DELTA_ACTION_REMOVE:
  case DELTA_ACTION_CDC:
    g_clear_pointer (&action->file, delta_file_unref);
    break;
  case DELTA_ACTION_METADATA:
    g_clear_pointer (&action->metadata, delta_metadata_unref);
    break;
  case DELTA_ACTION_PROTOCOL:
    g_clear_pointer (&action->protocol, delta_protocol_unref);
    break;
  case DELTA_ACTION_TXN:
    g_clear_pointer (&action->txn, delta_txn_free);
    break;
  case DELTA_ACTION_DOMAIN:
    g_clear_pointer (&action->domain, delta_domain_free);
    break;
  case DELTA_ACTION_COMMIT_INFO:
    g_clear_pointer (&action->commit_info, json_decref);
    break;
  }
}

/* Lines --------------------------------------------------------------------------------------------------------------- */

static gboolean
find_kind (const DeltaJsonSlice *key, DeltaActionKind *kind)
{
  static const struct {
    const char *name;
    DeltaActionKind kind;
  } rows[] = {
    { "add", DELTA_ACTION_ADD },
    { "remove", DELTA_ACTION_REMOVE },
    { "cdc", DELTA_ACTION_CDC },
    { "metaData", DELTA_ACTION_METADATA },
    { "protocol", DELTA_ACTION_PROTOCOL },
    { "txn", DELTA_ACTION_TXN },
    { "domainMetadata", DELTA_ACTION_DOMAIN },
    { "commitInfo", DELTA_ACTION_COMMIT_INFO },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (delta_json_is (key, rows[i].name, strlen (rows[i].name))) {
      *kind = rows[i].kind;
      return TRUE;
    }
  return FALSE;
}

static gboolean
fill_txn (DeltaAction *action, const json_t *object, GError **error)
{
  const char *app_id = base_json_string (object, "appId");

  if (app_id == NULL || !json_is_integer (json_object_get (object, "version")))
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "a txn action lacks appId or version");
  action->txn =
      delta_txn_new (app_id, base_json_int64 (object, "version", 0), base_json_int64 (object, "lastUpdated", -1));
  return TRUE;
}

static gboolean
fill_domain (DeltaAction *action, const json_t *object, GError **error)
{
  const char *domain = base_json_string (object, "domain");
  const char *configuration = base_json_string (object, "configuration");

  if (domain == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "a domainMetadata action lacks its domain");
  action->domain =
      delta_domain_new (domain, configuration != NULL ? configuration : "", base_json_bool (object, "removed", FALSE));
  return TRUE;
}

/* Everything that is not a file. */
static gboolean
fill_action (DeltaAction *action, const DeltaJsonSlice *slice, GError **error)
{
  g_autoptr (json_t) object = base_json_parse (slice->start, slice->size, "an action", error);

  if (object == NULL)
    return FALSE;
  if (!json_is_object (object))
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "an action is not an object");
  switch (action->kind) {
  case DELTA_ACTION_METADATA:
    action->metadata = delta_metadata_from_json (object, error);
    return action->metadata != NULL;
  case DELTA_ACTION_PROTOCOL:
    action->protocol = delta_protocol_from_json (object, error);
    return action->protocol != NULL;
  case DELTA_ACTION_TXN:
    return fill_txn (action, object, error);
  case DELTA_ACTION_DOMAIN:
    return fill_domain (action, object, error);
  case DELTA_ACTION_COMMIT_INFO:
    action->commit_info = g_steal_pointer (&object);
    return TRUE;
  case DELTA_ACTION_ADD:
  case DELTA_ACTION_REMOVE:
  case DELTA_ACTION_CDC:
    break;
  }
  g_assert_not_reached ();
}

/* Reads the value of one action and hands it over. */
static gboolean
take_action (DeltaJson *json, DeltaActionKind kind, DeltaLogActionFunc func, gpointer data, GError **error)
{
  DeltaAction action = { .kind = kind };
  g_autofree char *problem = NULL;
  DeltaJsonSlice slice;
  gboolean done;

  if (delta_json_literal_null (json))
    return TRUE;
  if (kind == DELTA_ACTION_ADD || kind == DELTA_ACTION_REMOVE || kind == DELTA_ACTION_CDC) {
    static const DeltaFileRole roles[] = { [DELTA_ACTION_ADD] = DELTA_FILE_ADD,
                                           [DELTA_ACTION_REMOVE] = DELTA_FILE_REMOVE,
                                           [DELTA_ACTION_CDC] = DELTA_FILE_CDC };
    action.file = delta_file_parse (json, roles[kind], &problem);
    if (action.file == NULL && problem != NULL)
      return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "%s", problem);
    if (action.file == NULL)
      return TRUE; /* the caller looks at the walker */
  } else {
    if (!delta_json_skip (json, &slice))
      return TRUE;
    if (!fill_action (&action, &slice, error))
      return FALSE;
  }
  done = func (&action, data, error);
  delta_action_clear (&action);
  return done;
}

gboolean
delta_log_parse_line (const char *text, gsize size, guint kinds, DeltaLogActionFunc func, gpointer data, GError **error)
{
  DeltaJson json = delta_json (text, size);
  DeltaActionKind kind;
  DeltaJsonSlice key;
  gboolean first = TRUE;

  if (delta_json_enter_object (&json))
    while (delta_json_next_key (&json, &first, &key)) {
      if (!find_kind (&key, &kind) || (kinds & (1u << kind)) == 0) {
        if (!delta_json_skip (&json, NULL))
          break;
      } else if (!take_action (&json, kind, func, data, error)) {
        return FALSE;
      } else if (json.error != NULL) {
        break;
      }
    }
  if (json.error == NULL)
    (void) delta_json_at_end (&json); /* the walker remembers the error */
  if (json.error == NULL)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT,
                         "an action is malformed at byte %" G_GSIZE_FORMAT " of its line: expected %s",
                         (gsize) (json.at - text) + 1, json.error);
}

gboolean
delta_log_parse (GBytes *bytes, const char *file_name, guint kinds, DeltaLogActionFunc func, gpointer data,
                 GError **error)
{
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  if (text == NULL) /* an empty file */
    return TRUE;
  const char *at = text;
  const char *end = text + size;
  const char *bad;
  guint line = 1;

  if (!g_utf8_validate_len (text, size, &bad)) {
    for (const char *p = text; p < bad; p++)
      line += *p == '\n';
    base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "the file %s is not UTF-8 text", file_name);
    base_error_set_position (error, file_name, line, 0, NULL);
    return FALSE;
  }
  for (; at < end; line++) {
    const char *stop = memchr (at, '\n', (gsize) (end - at));
    gsize length = (gsize) ((stop != NULL ? stop : end) - at);
    DeltaJson probe = delta_json (at, length);
    /* A blank line is no action. */
    if (delta_json_peek (&probe) != DELTA_JSON_INVALID || probe.at < probe.end)
      if (!delta_log_parse_line (at, length, kinds, func, data, error)) {
        base_error_set_position (error, file_name, line, 0, NULL);
        base_error_add_context (error, "reading line %u of %s", line, file_name);
        return FALSE;
      }
    at += length + 1;
  }
  return TRUE;
}

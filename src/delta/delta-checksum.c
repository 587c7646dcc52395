/* Checksum files (PROTOCOL.md "Version Checksum File"): `<version>.crc` says what the state of a version must add up to.
 *
 * Nothing is ever taken from such a file: it is compared with a state that was worked out without it. A file that is broken, or
 * that is not there, says nothing.
 */
#include "base-error.h"
#include "base-json.h"
#include "delta-json-private.h"
#include "delta-metadata-private.h"
#include "delta-snapshot-private.h"
#include "delta-table.h"
#include "store.h"

#include <string.h>

/* Larger ones are not read: the lists that they may hold are of no use here. */
#define MAX_BYTES (G_GINT64_CONSTANT (64) << 20)

/* What one file says; numbers: -1 = nothing. */
typedef struct {
  gint64 n_files, size_bytes, n_metadata, n_protocol, n_deleted_rows, n_vectors;
  json_t *metadata, *protocol, *domains; /* (nullable) */
} Claim;

static void
claim_clear (Claim *claim)
{
  json_decref (claim->metadata);
  json_decref (claim->protocol);
  json_decref (claim->domains);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Claim, claim_clear)

static gboolean
read_member (DeltaJson *json, const DeltaJsonSlice *key, Claim *claim)
{
  const struct {
    const char *name;
    gint64 *number;
    json_t **value;
  } rows[] = {
    { "numFiles", &claim->n_files, NULL },
    { "tableSizeBytes", &claim->size_bytes, NULL },
    { "numMetadata", &claim->n_metadata, NULL },
    { "numProtocol", &claim->n_protocol, NULL },
    { "numDeletedRecordsOpt", &claim->n_deleted_rows, NULL },
    { "numDeletionVectorsOpt", &claim->n_vectors, NULL },
    { "metadata", NULL, &claim->metadata },
    { "protocol", NULL, &claim->protocol },
    { "domainMetadata", NULL, &claim->domains },
  };
  DeltaJsonSlice slice;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    if (!delta_json_is (key, rows[i].name, strlen (rows[i].name)))
      continue;
    if (delta_json_literal_null (json))
      return TRUE;
    if (rows[i].number != NULL)
      return delta_json_int64 (json, rows[i].number);
    if (*rows[i].value != NULL || !delta_json_skip (json, &slice))
      return FALSE;
    *rows[i].value = base_json_parse (slice.start, slice.size, rows[i].name, NULL);
    return *rows[i].value != NULL;
  }
  return delta_json_skip (json, NULL);
}

static gboolean
read_claim (const char *text, gsize size, Claim *claim)
{
  DeltaJson json = delta_json (text, size);
  DeltaJsonSlice key;
  gboolean first = TRUE;

  if (!g_utf8_validate_len (text, size, NULL) || !delta_json_enter_object (&json))
    return FALSE;
  while (delta_json_next_key (&json, &first, &key))
    if (!read_member (&json, &key, claim))
      return FALSE;
  return json.error == NULL && delta_json_at_end (&json) && claim->n_files >= 0 && claim->size_bytes >= 0;
}

static void
count_deleted (DeltaSnapshot *snapshot, gint64 *n_vectors, gint64 *n_rows)
{
  *n_vectors = *n_rows = 0;
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++) {
    const DeltaVectorDescriptor *vector = delta_file_vector (delta_snapshot_file (snapshot, i));
    *n_vectors += vector != NULL ? 1 : 0;
    *n_rows += vector != NULL ? vector->cardinality : 0;
  }
}

static gboolean
numbers_agree (const Claim *claim, DeltaSnapshot *snapshot)
{
  gint64 n_vectors;
  gint64 n_deleted;

  count_deleted (snapshot, &n_vectors, &n_deleted);
  return claim->n_metadata <= 1 && claim->n_protocol <= 1 && claim->n_files == delta_snapshot_n_files (snapshot) &&
         claim->size_bytes == delta_snapshot_size_bytes (snapshot) &&
         (claim->n_vectors < 0 || claim->n_vectors == n_vectors) &&
         (claim->n_deleted_rows < 0 || claim->n_deleted_rows == n_deleted);
}

static gboolean
domains_agree (const json_t *list, DeltaSnapshot *snapshot)
{
  g_autoptr (GPtrArray) domains = delta_snapshot_domains (snapshot);
  gsize i;
  json_t *domain;

  if (json_array_size (list) != domains->len)
    return FALSE;
  json_array_foreach (list, i, domain)
  {
    const char *name = base_json_string (domain, "domain");
    const char *there = name != NULL ? delta_snapshot_domain (snapshot, name) : NULL;
    if (there == NULL || g_strcmp0 (there, base_json_string (domain, "configuration")) != 0)
      return FALSE;
  }
  return TRUE;
}

static DeltaChecksum
compare (const Claim *claim, DeltaSnapshot *snapshot)
{
  g_autoptr (DeltaProtocol) protocol =
      claim->protocol != NULL ? delta_protocol_from_json (claim->protocol, NULL) : NULL;
  g_autoptr (DeltaMetadata) metadata =
      claim->metadata != NULL ? delta_metadata_from_json (claim->metadata, NULL) : NULL;
  gboolean tells_domains = json_is_array (claim->domains);

  if (!numbers_agree (claim, snapshot) || (tells_domains && !domains_agree (claim->domains, snapshot)))
    return DELTA_CHECKSUM_DIFFERS;
  if (protocol != NULL && !delta_protocol_equal (protocol, delta_snapshot_protocol (snapshot)))
    return DELTA_CHECKSUM_DIFFERS;
  if (metadata != NULL &&
      (strcmp (delta_metadata_id (metadata), delta_metadata_id (delta_snapshot_metadata (snapshot))) != 0 ||
       !base_type_equal (delta_metadata_schema (metadata), delta_snapshot_schema (snapshot),
                         BASE_TYPE_EQUAL_EXACT | BASE_TYPE_EQUAL_METADATA)))
    return DELTA_CHECKSUM_DIFFERS;
  return protocol != NULL && metadata != NULL && (tells_domains || !delta_protocol_has (protocol, "domainMetadata"))
             ? DELTA_CHECKSUM_CONFIRMS
             : DELTA_CHECKSUM_NONE;
}

DeltaChecksum
delta_checksum_compare (DeltaSnapshot *snapshot)
{
  g_autofree char *key = delta_log_checksum_key (delta_snapshot_version (snapshot));
  Store *store = delta_table_store (delta_snapshot_table (snapshot));
  g_auto (Claim) claim = { -1, -1, -1, -1, -1, -1, NULL, NULL, NULL };
  g_autoptr (GBytes) bytes = NULL;
  const char *text;
  gsize size;

  /* It is optional: whatever keeps it from being read makes it say nothing. */
  if (!store_read (store, key, &bytes, NULL) || bytes == NULL)
    return DELTA_CHECKSUM_NONE;
  text = g_bytes_get_data (bytes, &size);
  if (text == NULL || size > MAX_BYTES || !read_claim (text, size, &claim))
    return DELTA_CHECKSUM_NONE;
  return compare (&claim, snapshot);
}

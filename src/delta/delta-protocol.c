/* Protocol versions and table features.
 *
 * features.def says for every feature since which legacy versions it is implied, whether readers must know it, and what this
 * engine does. A feature that has no row is unknown: refused when readers list it, and for writes.
 */
#include "base-error.h"
#include "base-json.h"
#include "delta-metadata-private.h"

#include <string.h>

#define MAX_READER_VERSION 3
#define MAX_WRITER_VERSION 7

/* Who must know a feature. */
typedef enum { WRITERS, READERS } Audience;
/* What this engine does with tables that have it. */
typedef enum { REFUSED, READ, READ_WRITE } Duty;

typedef struct {
  const char *name;
  int legacy_reader; /* 0 = none */
  int legacy_writer; /* 0 = only as a table feature */
  Audience audience;
  Duty duty;
  const char *needs; /* (nullable): another feature that must come along */
} Feature;

static const Feature features[] = {
#define DELTA_FEATURE_ROW(name, reader, writer, audience, duty, needs, text)                                           \
  { name, reader, writer, audience, duty, needs },
#include "features.def"
#undef DELTA_FEATURE_ROW
};

struct DeltaProtocol {
  gatomicrefcount references;
  int reader_version;
  int writer_version;
  char **reader_features; /* sorted, each once */
  char **writer_features;
};

static const Feature *
feature_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (features); i++)
    if (strcmp (features[i].name, name) == 0)
      return &features[i];
  return NULL;
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* A sorted copy without repetition. */
static char **
sorted_set (const char *const *texts)
{
  g_autoptr (GPtrArray) set = g_ptr_array_new ();
  guint n_kept = 0;

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    g_ptr_array_add (set, (gpointer) texts[i]);
  g_ptr_array_sort (set, compare_texts);
  char **result = g_new0 (char *, set->len + 1);
  for (guint i = 0; i < set->len; i++)
    if (n_kept == 0 || strcmp (result[n_kept - 1], set->pdata[i]) != 0)
      result[n_kept++] = g_strdup (set->pdata[i]);
  return result;
}

DeltaProtocol *
delta_protocol_new (int reader_version, int writer_version, const char *const *reader_features,
                    const char *const *writer_features)
{
  DeltaProtocol *protocol = g_new0 (DeltaProtocol, 1);

  g_atomic_ref_count_init (&protocol->references);
  protocol->reader_version = reader_version;
  protocol->writer_version = writer_version;
  protocol->reader_features = sorted_set (reader_features);
  protocol->writer_features = sorted_set (writer_features);
  return protocol;
}

DeltaProtocol *
delta_protocol_ref (DeltaProtocol *protocol)
{
  g_atomic_ref_count_inc (&protocol->references);
  return protocol;
}

void
delta_protocol_unref (DeltaProtocol *protocol)
{
  if (protocol == NULL || !g_atomic_ref_count_dec (&protocol->references))
    return;
  g_strfreev (protocol->reader_features);
  g_strfreev (protocol->writer_features);
  g_free (protocol);
}

int
delta_protocol_reader_version (DeltaProtocol *protocol)
{
  return protocol->reader_version;
}

int
delta_protocol_writer_version (DeltaProtocol *protocol)
{
  return protocol->writer_version;
}

const char *const *
delta_protocol_reader_features (DeltaProtocol *protocol)
{
  return (const char *const *) protocol->reader_features;
}

const char *const *
delta_protocol_writer_features (DeltaProtocol *protocol)
{
  return (const char *const *) protocol->writer_features;
}

gboolean
delta_protocol_has (DeltaProtocol *protocol, const char *name)
{
  const Feature *feature = feature_find (name);

  if (protocol->writer_version >= MAX_WRITER_VERSION)
    return g_strv_contains ((const char *const *) protocol->writer_features, name);
  return feature != NULL && feature->legacy_writer > 0 && protocol->writer_version >= feature->legacy_writer &&
         protocol->reader_version >= feature->legacy_reader;
}

gboolean
delta_protocol_equal (DeltaProtocol *a, DeltaProtocol *b)
{
  return a->reader_version == b->reader_version && a->writer_version == b->writer_version &&
         g_strv_equal ((const char *const *) a->reader_features, (const char *const *) b->reader_features) &&
         g_strv_equal ((const char *const *) a->writer_features, (const char *const *) b->writer_features);
}

/* What this engine can do --------------------------------------------------------------------------------------------- */

static gboolean
check_features (char **listed, Duty least, SluiceError code, const char *verb, GError **error)
{
  g_autoptr (GString) missing = g_string_new (NULL);

  for (char **at = listed; *at != NULL; at++) {
    const Feature *feature = feature_find (*at);
    if (feature == NULL || feature->duty < least)
      g_string_append_printf (missing, "%s%s", missing->len > 0 ? ", " : "", *at);
  }
  if (missing->len == 0)
    return TRUE;
  base_error_set (error, code, "the table cannot be %s: it needs table features that this engine does not support: %s",
                  verb, missing->str);
  base_error_add_param (error, "unsupported", missing->str);
  return FALSE;
}

gboolean
delta_protocol_check_read (DeltaProtocol *protocol, GError **error)
{
  if (protocol->reader_version > MAX_READER_VERSION || protocol->reader_version < 1)
    return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PROTOCOL_VERSION,
                           "the table needs protocol reader version %d; this engine reads versions 1 to %d",
                           protocol->reader_version, MAX_READER_VERSION);
  return check_features (protocol->reader_features, READ, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_READ, "read",
                         error);
}

gboolean
delta_protocol_check_write (DeltaProtocol *protocol, GError **error)
{
  if (!delta_protocol_check_read (protocol, error))
    return FALSE;
  if (protocol->writer_version > MAX_WRITER_VERSION || protocol->writer_version < 1)
    return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PROTOCOL_VERSION,
                           "the table needs protocol writer version %d; this engine writes versions 1 to %d",
                           protocol->writer_version, MAX_WRITER_VERSION);
  return check_features (protocol->writer_features, READ_WRITE, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_WRITE,
                         "written", error);
}

/* Upgrades ------------------------------------------------------------------------------------------------------------ */

/* All features that @protocol supports, with their names borrowed from the table or from @protocol. */
static GPtrArray *
supported_features (DeltaProtocol *protocol)
{
  GPtrArray *names = g_ptr_array_new ();

  if (protocol->writer_version >= MAX_WRITER_VERSION)
    for (char **at = protocol->writer_features; *at != NULL; at++)
      g_ptr_array_add (names, *at);
  else
    for (guint i = 0; i < G_N_ELEMENTS (features); i++)
      if (delta_protocol_has (protocol, features[i].name))
        g_ptr_array_add (names, (gpointer) features[i].name);
  return names;
}

/* The protocol with table features that supports exactly @names. */
static DeltaProtocol *
protocol_of_features (GPtrArray *names, int least_reader)
{
  g_autoptr (GPtrArray) for_readers = g_ptr_array_new ();
  int reader_version = MAX (least_reader, 1);

  for (guint i = 0; i < names->len; i++) {
    const Feature *feature = feature_find (names->pdata[i]);
    if (feature == NULL || feature->audience != READERS)
      continue;
    g_ptr_array_add (for_readers, names->pdata[i]);
    reader_version = MAX (reader_version, feature->legacy_reader > 0 ? feature->legacy_reader : MAX_READER_VERSION);
  }
  g_ptr_array_add (for_readers, NULL);
  g_ptr_array_add (names, NULL);
  return delta_protocol_new (reader_version, MAX_WRITER_VERSION,
                             reader_version >= MAX_READER_VERSION ? (const char *const *) for_readers->pdata : NULL,
                             (const char *const *) names->pdata);
}

DeltaProtocol *
delta_protocol_with_feature (DeltaProtocol *protocol, const char *name)
{
  const Feature *feature = feature_find (name);
  g_autoptr (GPtrArray) names = NULL;
  g_autoptr (DeltaProtocol) base = NULL;

  if (delta_protocol_has (protocol, name))
    return delta_protocol_ref (protocol);
  base = feature != NULL && feature->needs != NULL ? delta_protocol_with_feature (protocol, feature->needs)
                                                   : delta_protocol_ref (protocol);
  names = supported_features (base);
  g_ptr_array_add (names, (gpointer) name);
  return protocol_of_features (names, base->reader_version);
}

DeltaProtocol *
delta_protocol_without_feature (DeltaProtocol *protocol, const char *name)
{
  g_autoptr (GPtrArray) names = NULL;
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();

  if (!delta_protocol_has (protocol, name))
    return delta_protocol_ref (protocol);
  names = supported_features (protocol);
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], name) != 0)
      g_ptr_array_add (kept, names->pdata[i]);
  return protocol_of_features (kept, 1);
}

DeltaProtocol *
delta_protocol_with_versions (DeltaProtocol *protocol, int reader_version, int writer_version)
{
  int reader = MAX (reader_version, protocol->reader_version);
  int writer = MAX (writer_version, protocol->writer_version);
  g_autoptr (GPtrArray) names = NULL;

  if (reader == protocol->reader_version && writer == protocol->writer_version)
    return delta_protocol_ref (protocol);
  if (writer < MAX_WRITER_VERSION)
    return delta_protocol_new (reader, writer, NULL, NULL);
  names = supported_features (protocol);
  return protocol_of_features (names, reader);
}

gboolean
delta_metadata_has_field_key (DeltaMetadata *metadata, const char *key)
{
  BaseType *schema = delta_metadata_schema (metadata);

  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    if (field->metadata != NULL && json_object_get (field->metadata, key) != NULL)
      return TRUE;
  }
  return FALSE;
}

/* NOT NULL, here or in a struct inside. */
static gboolean
has_required_field (const BaseType *type)
{
  for (guint i = 0; base_type_kind (type) == BASE_TYPE_STRUCT && i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    if (!field->nullable || has_required_field (field->type))
      return TRUE;
  }
  return FALSE;
}

static gboolean
is_checkpoint_policy_v2 (DeltaMetadata *metadata)
{
  const char *policy = delta_metadata_property (metadata, "delta.checkpointPolicy");

  return policy != NULL && g_ascii_strcasecmp (policy, "v2") == 0;
}

/* The features that @metadata makes active. One that a table has by its preview's name is not wanted twice. */
static GPtrArray *
active_features (DeltaMetadata *metadata, DeltaProtocol *protocol)
{
  GPtrArray *names = g_ptr_array_new ();
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  BaseType *schema = delta_metadata_schema (metadata);
  const struct {
    const char *name;
    gboolean active;
  } rules[] = {
    { "appendOnly", delta_metadata_append_only (metadata) },
    { "invariants", has_required_field (schema) || delta_metadata_has_field_key (metadata, "delta.invariants") },
    { "changeDataFeed", delta_metadata_change_feed (metadata) },
    { "columnMapping", delta_metadata_mapping (metadata) != DELTA_MAPPING_NONE },
    { "deletionVectors", delta_metadata_deletion_vectors (metadata) },
    { "rowTracking", delta_metadata_row_tracking (metadata) },
    { "inCommitTimestamp", delta_metadata_commit_timestamps (metadata) },
    { "timestampNtz", base_type_holds (schema, BASE_TYPE_TIMESTAMP_NTZ) },
    { "typeWidening", delta_metadata_bool (metadata, "delta.enableTypeWidening", FALSE) &&
                          !delta_protocol_has (protocol, "typeWidening-preview") },
    { "v2Checkpoint", is_checkpoint_policy_v2 (metadata) },
    { "variantType",
      base_type_holds (schema, BASE_TYPE_VARIANT) && !delta_protocol_has (protocol, "variantType-preview") },
    { "variantShredding", delta_metadata_bool (metadata, "delta.enableVariantShredding", FALSE) },
    { "icebergCompatV1", delta_metadata_bool (metadata, "delta.enableIcebergCompatV1", FALSE) },
    { "icebergCompatV2", delta_metadata_bool (metadata, "delta.enableIcebergCompatV2", FALSE) },
    { "icebergCompatV3", delta_metadata_bool (metadata, "delta.enableIcebergCompatV3", FALSE) },
    { "generatedColumns", delta_metadata_has_field_key (metadata, "delta.generationExpression") },
    { "allowColumnDefaults", delta_metadata_has_field_key (metadata, "CURRENT_DEFAULT") },
    { "identityColumns", delta_metadata_has_field_key (metadata, "delta.identity.start") },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (rules[i].active)
      g_ptr_array_add (names, (gpointer) rules[i].name);
  for (const char **key = keys; *key != NULL; key++)
    if (g_str_has_prefix (*key, "delta.constraints.")) {
      g_ptr_array_add (names, (gpointer) "checkConstraints");
      break;
    }
  return names;
}

DeltaProtocol *
delta_protocol_upgraded (DeltaProtocol *protocol, DeltaMetadata *metadata)
{
  g_autoptr (GPtrArray) names = active_features (metadata, protocol);
  g_autoptr (DeltaProtocol) upgraded = delta_protocol_ref (protocol);
  gboolean legacy = protocol->writer_version < MAX_WRITER_VERSION;
  int reader = protocol->reader_version;
  int writer = protocol->writer_version;

  /* A legacy protocol stays one as long as legacy versions can say it all. */
  for (guint i = 0; i < names->len && legacy; i++) {
    const Feature *feature = feature_find (names->pdata[i]);
    legacy = feature->legacy_writer > 0;
    reader = MAX (reader, feature->legacy_reader);
    writer = MAX (writer, feature->legacy_writer);
  }
  if (legacy) {
    if (reader == protocol->reader_version && writer == protocol->writer_version)
      return g_steal_pointer (&upgraded);
    return delta_protocol_new (reader, writer, NULL, NULL);
  }
  for (guint i = 0; i < names->len; i++) {
    DeltaProtocol *next = delta_protocol_with_feature (upgraded, names->pdata[i]);
    delta_protocol_unref (upgraded);
    upgraded = next;
  }
  return g_steal_pointer (&upgraded);
}

DeltaProtocol *
delta_protocol_for_metadata (DeltaMetadata *metadata)
{
  g_autoptr (DeltaProtocol) least = delta_protocol_new (1, 2, NULL, NULL);

  return delta_protocol_upgraded (least, metadata);
}

/* JSON ---------------------------------------------------------------------------------------------------------------- */

static gboolean
read_features (const json_t *object, const char *key, GPtrArray *names, GError **error)
{
  const json_t *list = json_object_get (object, key);
  gsize i;
  json_t *name;

  if (list != NULL && !json_is_null (list) && !json_is_array (list))
    return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "%s of a protocol action is not an array", key);
  json_array_foreach (list, i, name)
  {
    if (!json_is_string (name))
      return base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT, "%s of a protocol action holds no text", key);
    g_ptr_array_add (names, (gpointer) json_string_value (name));
  }
  g_ptr_array_add (names, NULL);
  return TRUE;
}

DeltaProtocol *
delta_protocol_from_json (const json_t *object, GError **error)
{
  g_autoptr (GPtrArray) for_readers = g_ptr_array_new ();
  g_autoptr (GPtrArray) for_writers = g_ptr_array_new ();
  gint64 reader = base_json_int64 (object, "minReaderVersion", -1);
  gint64 writer = base_json_int64 (object, "minWriterVersion", -1);

  if (reader < 0 || writer < 0 || reader > G_MAXINT || writer > G_MAXINT) {
    base_error_set (error, SLUICE_ERROR_DELTA_LOG_CORRUPT,
                    "a protocol action lacks minReaderVersion or minWriterVersion");
    return NULL;
  }
  if (!read_features (object, "readerFeatures", for_readers, error) ||
      !read_features (object, "writerFeatures", for_writers, error))
    return NULL;
  return delta_protocol_new ((int) reader, (int) writer, (const char *const *) for_readers->pdata,
                             (const char *const *) for_writers->pdata);
}

static json_t *
names_json (char **names)
{
  json_t *list = json_array ();

  for (char **at = names; *at != NULL; at++)
    json_array_append_new (list, json_string (*at));
  return list;
}

json_t *
delta_protocol_to_json (DeltaProtocol *protocol)
{
  json_t *object = json_object ();

  json_object_set_new (object, "minReaderVersion", json_integer (protocol->reader_version));
  json_object_set_new (object, "minWriterVersion", json_integer (protocol->writer_version));
  if (protocol->reader_version >= MAX_READER_VERSION)
    json_object_set_new (object, "readerFeatures", names_json (protocol->reader_features));
  if (protocol->writer_version >= MAX_WRITER_VERSION)
    json_object_set_new (object, "writerFeatures", names_json (protocol->writer_features));
  return object;
}

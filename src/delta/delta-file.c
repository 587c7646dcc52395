/* A logical file as a value: built by a writer (delta_file_new) or read from an action (delta_file_parse).
 *
 * Statistics stay text until somebody asks: most scans never look inside, and a log may name a million files.
 *
 * Invariants:
 *   1. `decoded` is a key relative to the table's root, or absolute (`/…` or `scheme:/…`); `file:` forms are made plain.
 *   2. `key` = decoded path, then line feed and vector id when there is a vector: two actions speak of the same logical file
 *      exactly when their keys are equal.
 *   3. Partition values are never empty text: the protocol reads an empty string as NULL.
 */
#include "base-json.h"
#include "base-text.h"
#include "delta-file-private.h"

#include <string.h>

struct DeltaFile {
  gatomicrefcount references;
  gboolean data_change;
  gboolean extended;
  char *path;
  char *decoded; /* == path when nothing was encoded */
  char *key;     /* == decoded without a vector */
  gint64 size_bytes;
  gint64 modified_ms;
  gint64 deletion_ms;
  gint64 base_row_id;
  DeltaVersion default_row_commit_version;
  DeltaPartitionValue *values; /* their texts are owned */
  guint n_values;
  char *stats;
  DeltaVectorDescriptor *vector;
  json_t *tags;
  char *clustering_provider;
};

/* Descriptors --------------------------------------------------------------------------------------------------------- */

DeltaVectorDescriptor *
delta_vector_descriptor_copy (const DeltaVectorDescriptor *descriptor)
{
  DeltaVectorDescriptor *copy;

  if (descriptor == NULL)
    return NULL;
  copy = g_new (DeltaVectorDescriptor, 1);
  *copy = *descriptor;
  copy->path_or_inline = g_strdup (descriptor->path_or_inline);
  return copy;
}

void
delta_vector_descriptor_free (DeltaVectorDescriptor *descriptor)
{
  if (descriptor == NULL)
    return;
  g_free (descriptor->path_or_inline);
  g_free (descriptor);
}

char *
delta_vector_descriptor_id (const DeltaVectorDescriptor *descriptor)
{
  if (descriptor->offset >= 0)
    return g_strdup_printf ("%c%s@%" G_GINT64_FORMAT, descriptor->storage, descriptor->path_or_inline,
                            descriptor->offset);
  return g_strdup_printf ("%c%s", descriptor->storage, descriptor->path_or_inline);
}

gboolean
delta_vector_descriptor_equal (const DeltaVectorDescriptor *a, const DeltaVectorDescriptor *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return a->storage == b->storage && a->offset == b->offset && strcmp (a->path_or_inline, b->path_or_inline) == 0;
}

/* Paths --------------------------------------------------------------------------------------------------------------- */

/* Length of `scheme:` when a `/` follows it, else 0: a colon inside a relative path is no scheme. */
static gsize
scheme_length (const char *path)
{
  gsize i = 0;

  if (!g_ascii_isalpha (path[0]))
    return 0;
  while (g_ascii_isalnum (path[i]) || path[i] == '+' || path[i] == '-' || path[i] == '.')
    i++;
  return path[i] == ':' && path[i + 1] == '/' ? i + 1 : 0;
}

char *
delta_file_decode_path (const char *path)
{
  g_autofree char *decoded = base_text_uri_decode (path);
  const char *rest;

  if (decoded == NULL)
    return NULL;
  if (scheme_length (path) != 5 || g_ascii_strncasecmp (path, "file:", 5) != 0)
    return g_steal_pointer (&decoded);
  rest = decoded + 5;
  if (g_str_has_prefix (rest, "//localhost/"))
    rest += strlen ("//localhost");
  while (rest[0] == '/' && rest[1] == '/')
    rest++;
  return g_strdup (rest);
}

char *
delta_file_encode_path (const char *key)
{
  return base_text_uri_encode_path (key);
}

/* File systems take names of 255 bytes: a longer directory is named by its digest. Nothing is read from these names. */
#define MAX_DIRECTORY_BYTES 250

/* Hive's escaping of a partition directory: what file systems or URIs might misread becomes %XX. */
static void
append_hive_escaped (GString *out, const char *text)
{
  for (const guchar *at = (const guchar *) text; *at != '\0'; at++)
    if (*at < 0x20 || *at == 0x7F || strchr ("\"#%'*/:=?\\{[]^", *at) != NULL)
      g_string_append_printf (out, "%%%02X", *at);
    else
      g_string_append_c (out, (char) *at);
}

char *
delta_file_partition_directory (const char *column, const char *value)
{
  GString *out = g_string_new (NULL);

  append_hive_escaped (out, column);
  g_string_append_c (out, '=');
  if (value == NULL || value[0] == '\0')
    g_string_append (out, "__HIVE_DEFAULT_PARTITION__");
  else
    append_hive_escaped (out, value);
  if (out->len > MAX_DIRECTORY_BYTES) {
    g_autofree char *digest = base_text_sha256 (out->str, out->len);
    g_string_assign (out, digest);
  }
  g_string_append_c (out, '/');
  return g_string_free (out, FALSE);
}

/* Life ---------------------------------------------------------------------------------------------------------------- */

DeltaFile *
delta_file_ref (DeltaFile *file)
{
  g_atomic_ref_count_inc (&file->references);
  return file;
}

void
delta_file_unref (DeltaFile *file)
{
  if (file == NULL || !g_atomic_ref_count_dec (&file->references))
    return;
  if (file->key != file->decoded)
    g_free (file->key);
  if (file->decoded != file->path)
    g_free (file->decoded);
  g_free (file->path);
  for (guint i = 0; i < file->n_values; i++) {
    g_free ((char *) file->values[i].column);
    g_free ((char *) file->values[i].text);
  }
  g_free (file->values);
  g_free (file->stats);
  delta_vector_descriptor_free (file->vector);
  json_decref (file->tags);
  g_free (file->clustering_provider);
  g_free (file);
}

static DeltaFile *
file_alloc (void)
{
  DeltaFile *file = g_new0 (DeltaFile, 1);

  g_atomic_ref_count_init (&file->references);
  file->deletion_ms = -1;
  file->base_row_id = -1;
  file->default_row_commit_version = DELTA_VERSION_NONE;
  return file;
}

/* Derives the decoded path and the key. FALSE for a bad escape. */
static gboolean
derive_key (DeltaFile *file)
{
  char *decoded;

  if (strpbrk (file->path, "%:") == NULL) {
    file->decoded = file->path;
  } else {
    decoded = delta_file_decode_path (file->path);
    if (decoded == NULL)
      return FALSE;
    file->decoded = decoded;
  }
  if (file->vector == NULL) {
    file->key = file->decoded;
  } else {
    g_autofree char *id = delta_vector_descriptor_id (file->vector);
    file->key = g_strconcat (file->decoded, "\n", id, NULL);
  }
  return TRUE;
}

DeltaFile *
delta_file_new_foreign (const DeltaFileInfo *info)
{
  g_autoptr (DeltaFile) file = file_alloc ();

  file->path = g_strdup (info->path);
  file->size_bytes = info->size_bytes;
  file->modified_ms = info->modified_ms;
  file->data_change = info->data_change;
  file->n_values = info->n_partition_values;
  file->values = g_new0 (DeltaPartitionValue, MAX (file->n_values, 1));
  for (guint i = 0; i < file->n_values; i++) {
    const DeltaPartitionValue *value = &info->partition_values[i];
    gboolean is_null = value->text == NULL || value->text_bytes == 0;
    file->values[i].column = g_strdup (value->column);
    if (!is_null) {
      char *text = g_malloc (value->text_bytes + 1);
      memcpy (text, value->text, value->text_bytes);
      text[value->text_bytes] = '\0';
      file->values[i].text = text;
      file->values[i].text_bytes = value->text_bytes;
    }
  }
  file->stats = g_strdup (info->stats);
  file->vector = delta_vector_descriptor_copy (info->vector);
  file->base_row_id = info->base_row_id;
  file->default_row_commit_version = info->default_row_commit_version;
  file->tags = info->tags != NULL ? json_deep_copy (info->tags) : NULL;
  file->clustering_provider = g_strdup (info->clustering_provider);
  file->deletion_ms = info->deletion_ms;
  file->extended = info->extended;
  return derive_key (file) ? g_steal_pointer (&file) : NULL;
}

DeltaFile *
delta_file_new (const DeltaFileInfo *info)
{
  DeltaFile *file = delta_file_new_foreign (info);

  /* A writer's path is encoded by delta_file_encode_path(); anything else is a mistake of ours. */
  g_assert (file != NULL);
  return file;
}

DeltaFileInfo
delta_file_info (const DeltaFile *file)
{
  return (DeltaFileInfo){
    .path = file->path,
    .size_bytes = file->size_bytes,
    .modified_ms = file->modified_ms,
    .data_change = file->data_change,
    .partition_values = file->values,
    .n_partition_values = file->n_values,
    .stats = file->stats,
    .vector = file->vector,
    .base_row_id = file->base_row_id,
    .default_row_commit_version = file->default_row_commit_version,
    .tags = file->tags,
    .clustering_provider = file->clustering_provider,
    .deletion_ms = file->deletion_ms,
    .extended = file->extended,
  };
}

/* Facts --------------------------------------------------------------------------------------------------------------- */

const char *
delta_file_path (const DeltaFile *file)
{
  return file->path;
}

const char *
delta_file_decoded_path (const DeltaFile *file)
{
  return file->decoded;
}

const char *
delta_file_key (const DeltaFile *file)
{
  return file->key;
}

int
delta_file_compare (const DeltaFile *a, const DeltaFile *b)
{
  return strcmp (a->key, b->key);
}

gboolean
delta_file_is_absolute (const DeltaFile *file)
{
  return file->decoded[0] == '/' || scheme_length (file->decoded) > 0;
}

gint64
delta_file_size_bytes (const DeltaFile *file)
{
  return file->size_bytes;
}

gint64
delta_file_modified_ms (const DeltaFile *file)
{
  return file->modified_ms;
}

gboolean
delta_file_data_change (const DeltaFile *file)
{
  return file->data_change;
}

guint
delta_file_n_partition_values (const DeltaFile *file)
{
  return file->n_values;
}

DeltaPartitionValue
delta_file_partition_value (const DeltaFile *file, guint index)
{
  g_assert (index < file->n_values);
  return file->values[index];
}

gboolean
delta_file_find_partition_value (const DeltaFile *file, const char *physical_name, DeltaPartitionValue *value)
{
  for (guint i = 0; i < file->n_values; i++)
    if (strcmp (file->values[i].column, physical_name) == 0) {
      *value = file->values[i];
      return TRUE;
    }
  *value = (DeltaPartitionValue){ .column = physical_name };
  return FALSE;
}

const char *
delta_file_stats (const DeltaFile *file)
{
  return file->stats;
}

gint64
delta_file_n_records (const DeltaFile *file)
{
  DeltaJson json;
  DeltaJsonSlice key;
  gboolean first = TRUE;
  gint64 n_records;

  if (file->stats == NULL)
    return -1;
  json = delta_json (file->stats, strlen (file->stats));
  if (!delta_json_enter_object (&json))
    return -1;
  while (delta_json_next_key (&json, &first, &key)) {
    if (DELTA_JSON_IS (&key, "numRecords") && delta_json_peek (&json) == DELTA_JSON_NUMBER)
      return delta_json_int64 (&json, &n_records) && n_records >= 0 ? n_records : -1;
    if (!delta_json_skip (&json, NULL))
      return -1;
  }
  return -1;
}

gint64
delta_file_n_live_records (const DeltaFile *file)
{
  gint64 n_records = delta_file_n_records (file);

  if (n_records < 0)
    return -1;
  return file->vector != NULL ? MAX (n_records - file->vector->cardinality, 0) : n_records;
}

const DeltaVectorDescriptor *
delta_file_vector (const DeltaFile *file)
{
  return file->vector;
}

gint64
delta_file_base_row_id (const DeltaFile *file)
{
  return file->base_row_id;
}

DeltaVersion
delta_file_default_row_commit_version (const DeltaFile *file)
{
  return file->default_row_commit_version;
}

const json_t *
delta_file_tags (const DeltaFile *file)
{
  return file->tags;
}

const char *
delta_file_clustering_provider (const DeltaFile *file)
{
  return file->clustering_provider;
}

gint64
delta_file_deletion_ms (const DeltaFile *file)
{
  return file->deletion_ms;
}

gboolean
delta_file_is_extended (const DeltaFile *file)
{
  return file->extended;
}

/* JSON ---------------------------------------------------------------------------------------------------------------- */

/* A string without NUL, for paths and names. */
static char *
take_text (DeltaJson *json)
{
  DeltaJsonSlice slice;
  g_autofree char *text = NULL;
  gsize size;

  if (!delta_json_string (json, &slice))
    return NULL;
  text = delta_json_unescape (&slice, &size);
  if (memchr (text, '\0', size) != NULL) {
    json->error = "a string without NUL";
    return NULL;
  }
  return g_steal_pointer (&text);
}

static void
set_text (DeltaJson *json, char **target)
{
  char *text;

  if (delta_json_literal_null (json))
    return;
  text = take_text (json);
  if (text == NULL)
    return;
  g_free (*target);
  *target = text;
}

static void
set_int64 (DeltaJson *json, gint64 *target)
{
  if (!delta_json_literal_null (json))
    (void) delta_json_int64 (json, target); /* the walker remembers the error */
}

static void
set_bool (DeltaJson *json, gboolean *target)
{
  if (!delta_json_literal_null (json))
    (void) delta_json_bool (json, target); /* the walker remembers the error */
}

static void
parse_partition_values (DeltaJson *json, DeltaFile *file)
{
  g_autoptr (GArray) values = NULL;
  DeltaJsonSlice key;
  DeltaJsonSlice text;
  gboolean first = TRUE;

  if (file->n_values > 0) {
    json->error = "partitionValues only once";
    return;
  }
  if (delta_json_literal_null (json) || !delta_json_enter_object (json))
    return;
  while (delta_json_next_key (json, &first, &key)) {
    DeltaPartitionValue value = { 0 };
    if (!delta_json_literal_null (json)) {
      if (!delta_json_string (json, &text))
        break;
      if (text.size > 0)
        value.text = delta_json_unescape (&text, &value.text_bytes);
    }
    value.column = delta_json_unescape (&key, NULL);
    if (values == NULL)
      values = g_array_new (FALSE, FALSE, sizeof (DeltaPartitionValue));
    g_array_append_val (values, value);
  }
  if (values == NULL)
    return;
  file->n_values = values->len;
  file->values = (DeltaPartitionValue *) g_array_free (g_steal_pointer (&values), FALSE);
}

static void
parse_vector (DeltaJson *json, DeltaFile *file)
{
  g_autoptr (DeltaVectorDescriptor) vector = NULL;
  g_autofree char *storage = NULL;
  DeltaJsonSlice key;
  gboolean first = TRUE;

  if (delta_json_literal_null (json) || !delta_json_enter_object (json))
    return;
  vector = g_new0 (DeltaVectorDescriptor, 1);
  vector->offset = -1;
  vector->size_bytes = -1;
  vector->cardinality = -1;
  while (delta_json_next_key (json, &first, &key)) {
    if (DELTA_JSON_IS (&key, "storageType"))
      set_text (json, &storage);
    else if (DELTA_JSON_IS (&key, "pathOrInlineDv"))
      set_text (json, &vector->path_or_inline);
    else if (DELTA_JSON_IS (&key, "offset"))
      set_int64 (json, &vector->offset);
    else if (DELTA_JSON_IS (&key, "sizeInBytes"))
      set_int64 (json, &vector->size_bytes);
    else if (DELTA_JSON_IS (&key, "cardinality"))
      set_int64 (json, &vector->cardinality);
    else if (!delta_json_skip (json, NULL))
      return;
  }
  if (json->error != NULL)
    return;
  if (storage == NULL || strlen (storage) != 1 || strchr ("uip", storage[0]) == NULL ||
      vector->path_or_inline == NULL || vector->size_bytes < 0 || vector->cardinality < 0 || vector->offset < -1) {
    json->error = "a whole deletion vector descriptor (storageType, pathOrInlineDv, sizeInBytes, cardinality)";
    return;
  }
  vector->storage = storage[0];
  delta_vector_descriptor_free (file->vector);
  file->vector = g_steal_pointer (&vector);
}

static void
parse_tags (DeltaJson *json, DeltaFile *file)
{
  DeltaJsonSlice slice;
  json_t *tags;

  if (delta_json_literal_null (json) || !delta_json_skip (json, &slice))
    return;
  tags = json_loadb (slice.start, slice.size, JSON_ALLOW_NUL, NULL);
  if (!json_is_object (tags)) {
    json_decref (tags);
    json->error = "tags as an object";
    return;
  }
  json_decref (file->tags);
  file->tags = tags;
}

/* Statistics are text in a commit; the JSON of a checkpoint row may hold them as an object (stats_parsed). */
static void
parse_stats (DeltaJson *json, DeltaFile *file, gboolean parsed)
{
  DeltaJsonSlice slice;

  if (!parsed) {
    set_text (json, &file->stats);
    return;
  }
  if (!delta_json_skip (json, &slice) || file->stats != NULL || slice.start[0] != '{')
    return;
  file->stats = g_strndup (slice.start, slice.size);
}

static void
parse_member (DeltaJson *json, const DeltaJsonSlice *key, DeltaFile *file)
{
  if (DELTA_JSON_IS (key, "path"))
    set_text (json, &file->path);
  else if (DELTA_JSON_IS (key, "partitionValues"))
    parse_partition_values (json, file);
  else if (DELTA_JSON_IS (key, "size"))
    set_int64 (json, &file->size_bytes);
  else if (DELTA_JSON_IS (key, "modificationTime"))
    set_int64 (json, &file->modified_ms);
  else if (DELTA_JSON_IS (key, "dataChange"))
    set_bool (json, &file->data_change);
  else if (DELTA_JSON_IS (key, "stats"))
    parse_stats (json, file, FALSE);
  else if (DELTA_JSON_IS (key, "stats_parsed"))
    parse_stats (json, file, TRUE);
  else if (DELTA_JSON_IS (key, "deletionVector"))
    parse_vector (json, file);
  else if (DELTA_JSON_IS (key, "deletionTimestamp"))
    set_int64 (json, &file->deletion_ms);
  else if (DELTA_JSON_IS (key, "extendedFileMetadata"))
    set_bool (json, &file->extended);
  else if (DELTA_JSON_IS (key, "baseRowId"))
    set_int64 (json, &file->base_row_id);
  else if (DELTA_JSON_IS (key, "defaultRowCommitVersion"))
    set_int64 (json, &file->default_row_commit_version);
  else if (DELTA_JSON_IS (key, "tags"))
    parse_tags (json, file);
  else if (DELTA_JSON_IS (key, "clusteringProvider"))
    set_text (json, &file->clustering_provider);
  else
    (void) delta_json_skip (json, NULL); /* the walker remembers the error */
}

DeltaFile *
delta_file_parse (DeltaJson *json, DeltaFileRole role, char **problem)
{
  g_autoptr (DeltaFile) file = file_alloc ();
  DeltaJsonSlice key;
  gboolean first = TRUE;

  /* Commits of the first Delta releases leave dataChange out of removes; it was always true then. */
  file->data_change = role != DELTA_FILE_CDC;
  if (!delta_json_enter_object (json))
    return NULL;
  while (delta_json_next_key (json, &first, &key))
    parse_member (json, &key, file);
  if (json->error != NULL)
    return NULL;
  if (file->path == NULL || file->path[0] == '\0') {
    *problem = g_strdup ("a file action has no path");
    return NULL;
  }
  if (file->size_bytes < 0 || file->base_row_id < -1 || file->default_row_commit_version < DELTA_VERSION_NONE) {
    *problem = g_strdup_printf ("the action of `%s` has a negative size, row id or version", file->path);
    return NULL;
  }
  if (!derive_key (file)) {
    *problem = g_strdup_printf ("the path `%s` is not percent-encoded as it must be", file->path);
    return NULL;
  }
  return g_steal_pointer (&file);
}

static void
append_partition_values (GString *out, const DeltaFile *file)
{
  g_string_append (out, "\"partitionValues\":{");
  for (guint i = 0; i < file->n_values; i++) {
    if (i > 0)
      g_string_append_c (out, ',');
    base_json_append_string (out, file->values[i].column, strlen (file->values[i].column));
    g_string_append_c (out, ':');
    if (file->values[i].text == NULL)
      g_string_append (out, "null");
    else
      base_json_append_string (out, file->values[i].text, file->values[i].text_bytes);
  }
  g_string_append_c (out, '}');
}

static void
append_vector (GString *out, const DeltaVectorDescriptor *vector)
{
  g_string_append_printf (out, ",\"deletionVector\":{\"storageType\":\"%c\",\"pathOrInlineDv\":", vector->storage);
  base_json_append_string (out, vector->path_or_inline, strlen (vector->path_or_inline));
  if (vector->offset >= 0)
    g_string_append_printf (out, ",\"offset\":%" G_GINT64_FORMAT, vector->offset);
  g_string_append_printf (out, ",\"sizeInBytes\":%" G_GINT64_FORMAT ",\"cardinality\":%" G_GINT64_FORMAT "}",
                          vector->size_bytes, vector->cardinality);
}

void
delta_file_append_json (GString *out, const DeltaFile *file, DeltaFileRole role)
{
  g_string_append (out, "{\"path\":");
  base_json_append_string (out, file->path, strlen (file->path));
  if (role == DELTA_FILE_REMOVE) {
    if (file->deletion_ms >= 0)
      g_string_append_printf (out, ",\"deletionTimestamp\":%" G_GINT64_FORMAT, file->deletion_ms);
    g_string_append_printf (out, ",\"dataChange\":%s,\"extendedFileMetadata\":%s", file->data_change ? "true" : "false",
                            file->extended ? "true" : "false");
  }
  if (role != DELTA_FILE_REMOVE || file->extended) {
    g_string_append_c (out, ',');
    append_partition_values (out, file);
    g_string_append_printf (out, ",\"size\":%" G_GINT64_FORMAT, file->size_bytes);
  }
  if (role == DELTA_FILE_ADD)
    g_string_append_printf (out, ",\"modificationTime\":%" G_GINT64_FORMAT, file->modified_ms);
  if (role != DELTA_FILE_REMOVE)
    g_string_append_printf (out, ",\"dataChange\":%s", file->data_change ? "true" : "false");
  if (file->stats != NULL && role != DELTA_FILE_CDC) {
    g_string_append (out, ",\"stats\":");
    base_json_append_string (out, file->stats, strlen (file->stats));
  }
  if (file->tags != NULL) {
    g_autofree char *tags = base_json_text (file->tags);
    g_string_append_printf (out, ",\"tags\":%s", tags);
  }
  if (file->vector != NULL)
    append_vector (out, file->vector);
  if (file->base_row_id >= 0)
    g_string_append_printf (out, ",\"baseRowId\":%" G_GINT64_FORMAT, file->base_row_id);
  if (file->default_row_commit_version >= 0)
    g_string_append_printf (out, ",\"defaultRowCommitVersion\":%" G_GINT64_FORMAT, file->default_row_commit_version);
  if (file->clustering_provider != NULL && role == DELTA_FILE_ADD) {
    g_string_append (out, ",\"clusteringProvider\":");
    base_json_append_string (out, file->clustering_provider, strlen (file->clustering_provider));
  }
  g_string_append_c (out, '}');
}

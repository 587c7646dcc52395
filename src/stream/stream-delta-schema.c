/* Schemas of a stream over a Delta table (cdf.md §10.12): see stream-delta-private.h.
 *
 * Without tracking one schema, that of the table when the stream was made, reads everything. What was written under another one
 * must fit it: new nullable columns are NULL in older rows. A change that a restart would follow is
 * DELTA_SCHEMA_CHANGED_WITH_VERSION; a column that was renamed, dropped or retyped stops the stream for good.
 *
 * With tracking every change of the metadata ends a batch (the barrier), is put into the log of schemas once that batch is done, and
 * ends the run; the next run reads with it, when it is additive or was allowed.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-table.h"
#include "feed.h"
#include "stream-delta-private.h"

#include <string.h>

/* ---- what changed between two schemas ---- */

typedef enum { CHANGE_RENAME, CHANGE_DROP, CHANGE_TYPE } SchemaChange;
#define N_CHANGES 3

typedef struct {
  GString *texts[N_CHANGES]; /* what was changed, for people; empty = nothing */
} SchemaChanges;

static void
schema_changes_clear (SchemaChanges *changes)
{
  for (guint i = 0; i < N_CHANGES; i++)
    g_string_free (changes->texts[i], TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SchemaChanges, schema_changes_clear)

static void
note (SchemaChanges *changes, SchemaChange kind, const char *text)
{
  g_string_append_printf (changes->texts[kind], "%s%s", changes->texts[kind]->len > 0 ? ", " : "", text);
}

typedef struct {
  DeltaMapping old_mapping;
  DeltaMapping new_mapping;
  SchemaChanges *changes;
} Comparison;

static const BaseField *
find_physical (const BaseType *type, const char *physical, DeltaMapping mapping)
{
  for (guint i = 0; i < base_type_n_fields (type); i++)
    if (strcmp (delta_field_physical_name (base_type_field (type, i), mapping), physical) == 0)
      return base_type_field (type, i);
  return NULL;
}

static void
compare_types (const Comparison *comparison, const BaseType *old, const BaseType *new, const char *path)
{
  if (base_type_kind (old) != base_type_kind (new)) {
    g_autofree char *from = base_type_text (old);
    g_autofree char *to = base_type_text (new);
    g_autofree char *text = g_strdup_printf ("'%s': %s -> %s", path, from, to);
    note (comparison->changes, CHANGE_TYPE, text);
    return;
  }
  switch (base_type_kind (old)) {
  case BASE_TYPE_ARRAY:
    compare_types (comparison, base_type_element (old), base_type_element (new), path);
    return;
  case BASE_TYPE_MAP:
    compare_types (comparison, base_type_key (old), base_type_key (new), path);
    compare_types (comparison, base_type_value (old), base_type_value (new), path);
    return;
  case BASE_TYPE_STRUCT:
    break;
  default:
    if (!base_type_equal (old, new, BASE_TYPE_EQUAL_EXACT)) {
      g_autofree char *from = base_type_text (old);
      g_autofree char *to = base_type_text (new);
      g_autofree char *text = g_strdup_printf ("'%s': %s -> %s", path, from, to);
      note (comparison->changes, CHANGE_TYPE, text);
    }
    return;
  }
  for (guint i = 0; i < base_type_n_fields (old); i++) {
    const BaseField *field = base_type_field (old, i);
    const char *physical = delta_field_physical_name (field, comparison->old_mapping);
    const BaseField *now = find_physical (new, physical, comparison->new_mapping);
    g_autofree char *name = *path != '\0' ? g_strconcat (path, ".", field->name, NULL) : g_strdup (field->name);
    if (now == NULL) {
      g_autofree char *text = g_strdup_printf ("'%s'", name);
      note (comparison->changes, CHANGE_DROP, text);
      continue;
    }
    if (strcmp (field->name, now->name) != 0) {
      g_autofree char *text = g_strdup_printf ("'%s' -> '%s'", name, now->name);
      note (comparison->changes, CHANGE_RENAME, text);
    }
    compare_types (comparison, field->type, now->type, name);
  }
}

static void
schema_changes_find (DeltaMetadata *old, DeltaMetadata *new, SchemaChanges *changes)
{
  Comparison comparison = { delta_metadata_mapping (old), delta_metadata_mapping (new), changes };

  for (guint i = 0; i < N_CHANGES; i++)
    changes->texts[i] = g_string_new (NULL);
  compare_types (&comparison, delta_metadata_schema (old), delta_metadata_schema (new), "");
}

/* ---- without tracking ---- */

static gboolean
same_partitioning (DeltaMetadata *a, DeltaMetadata *b)
{
  return g_strv_equal (delta_metadata_partition_columns (a), delta_metadata_partition_columns (b));
}

/* A column of a mapped table was renamed or dropped, or mapping was taken off, or a type was widened: what a stream that tracks schemas
 * can follow. */
static gboolean
needs_tracking (const StreamDelta *stream, DeltaMetadata *old, DeltaMetadata *new)
{
  DeltaProtocol *protocol = delta_snapshot_protocol (stream->snapshot);
  gboolean widens =
      delta_protocol_has (protocol, "typeWidening") || delta_protocol_has (protocol, "typeWidening-preview");
  g_auto (SchemaChanges) changes;
  gboolean is_mapped = delta_metadata_mapping (new) != DELTA_MAPPING_NONE;

  schema_changes_find (old, new, &changes);
  if (widens && changes.texts[CHANGE_TYPE]->len > 0)
    return TRUE;
  if (!is_mapped)
    return delta_metadata_mapping (old) != DELTA_MAPPING_NONE;
  return changes.texts[CHANGE_RENAME]->len > 0 || changes.texts[CHANGE_DROP]->len > 0 || !same_partitioning (old, new);
}

static gboolean
incompatible (const StreamDelta *stream, SluiceError code, DeltaMetadata *metadata, DeltaVersion version,
              GError **error)
{
  g_autofree char *read = base_type_ddl (delta_metadata_schema (stream->metadata));
  g_autofree char *other = base_type_ddl (delta_metadata_schema (metadata));
  g_autofree char *at = g_strdup_printf ("%" G_GINT64_FORMAT, version);
  gboolean is_retryable = code == SLUICE_ERROR_DELTA_SCHEMA_CHANGED_WITH_VERSION;

  base_error_set (error, code,
                  is_retryable ? "The schema of %s changed in version %s: the stream reads with %s, and now it is %s"
                               : "The schema of %s at version %s does not fit the one that the stream reads with "
                                 "(a column was renamed, dropped or changed its type): it reads with %s, and there it "
                                 "is %s",
                  stream->base.leaf->name, at, read, other);
  base_error_add_param (error, "version", at);
  base_error_add_param (error, "readSchema", read);
  base_error_add_param (error, is_retryable ? "dataSchema" : "incompatibleSchema", other);
  if (is_retryable)
    base_error_set_hint (error, "start the stream again: it goes on with the new schema");
  else if (code == SLUICE_ERROR_DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG)
    base_error_set_hint (
        error,
        "STREAM %s WITH (schemaTrackingLocation = '_schemas') reads each version with its own schema, "
        "of which it keeps a log below the checkpoint; a new checkpoint with startingVersion skips the "
        "change",
        stream->base.leaf->name);
  else
    base_error_set_hint (error,
                         "a full refresh of the target, or a new checkpoint, reads the source from its "
                         "beginning; startingVersion = %s with a new checkpoint begins at the change",
                         at);
  return FALSE;
}

gboolean
stream_delta_check_metadata (const StreamDelta *stream, DeltaMetadata *metadata, DeltaVersion version, GError **error)
{
  DeltaMetadata *read = stream->metadata;
  gboolean is_older = version < stream->read_version;

  if (metadata == read)
    return TRUE;
  if (strcmp (delta_metadata_id (metadata), delta_metadata_id (read)) != 0) {
    base_error_set (error, SLUICE_ERROR_DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE,
                    "The table %s has another id in version %" G_GINT64_FORMAT " ('%s') than before ('%s')",
                    stream->base.leaf->name, version, delta_metadata_id (metadata), delta_metadata_id (read));
    return FALSE;
  }
  if (needs_tracking (stream, is_older ? metadata : read, is_older ? read : metadata))
    return incompatible (stream, SLUICE_ERROR_DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG, metadata,
                         version, error);
  if (feed_schema_fits (metadata, read))
    return TRUE;
  return incompatible (stream,
                       !is_older && feed_schema_fits (read, metadata)
                           ? SLUICE_ERROR_DELTA_SCHEMA_CHANGED_WITH_VERSION
                           : SLUICE_ERROR_DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE,
                       metadata, version, error);
}

/* ---- tracking ---- */

static gboolean
same_delta_properties (DeltaMetadata *a, DeltaMetadata *b)
{
  DeltaMetadata *both[] = { a, b };

  for (guint i = 0; i < 2; i++) {
    g_autofree const char **keys = delta_metadata_property_keys (both[i]);
    for (guint k = 0; keys[k] != NULL; k++)
      if (g_str_has_prefix (keys[k], "delta.") &&
          g_strcmp0 (delta_metadata_property (both[i], keys[k]), delta_metadata_property (both[1 - i], keys[k])) != 0)
        return FALSE;
  }
  return TRUE;
}

static gboolean
same_schema (DeltaMetadata *a, DeltaMetadata *b)
{
  g_autoptr (json_t) json_a = base_type_to_json (delta_metadata_schema (a));
  g_autoptr (json_t) json_b = base_type_to_json (delta_metadata_schema (b));

  return json_equal (json_a, json_b);
}

/* A change of the protocol alone gives no batch of its own here, unlike in Spark: nothing is read differently. */
static gboolean
differs (const StreamDelta *stream, DeltaMetadata *metadata)
{
  return metadata != NULL &&
         (!same_schema (metadata, stream->metadata) || !same_partitioning (metadata, stream->metadata) ||
          !same_delta_properties (metadata, stream->metadata));
}

gboolean
stream_delta_check_commit (StreamDelta *stream, DeltaCommit *commit, gboolean *is_barrier, GError **error)
{
  DeltaMetadata *metadata = delta_commit_metadata (commit);
  DeltaProtocol *protocol = delta_commit_protocol (commit);
  DeltaVersion version = delta_commit_version (commit);

  *is_barrier = FALSE;
  if (protocol != NULL && !delta_protocol_check_read (protocol, error))
    return FALSE;
  if (stream->schemas == NULL)
    return metadata == NULL || stream_delta_check_metadata (stream, metadata, version, error);
  *is_barrier = version > stream->read_version && differs (stream, metadata);
  return TRUE;
}

gboolean
stream_delta_pass_barrier (StreamDelta *stream, DeltaVersion version, GError **error)
{
  if (stream->schemas == NULL || stream->read_version >= version)
    return TRUE;
  g_autoptr (DeltaCommit) commit = stream_delta_commit (stream, version, error);
  if (commit == NULL)
    return FALSE;
  DeltaMetadata *metadata = delta_commit_metadata (commit);
  DeltaProtocol *protocol = delta_commit_protocol (commit);
  if (!differs (stream, metadata))
    return TRUE;
  g_auto (StreamSchemaEntry) newest = { 0 };
  if (!stream_schema_log_read (stream->schemas, stream->snapshot, -1, &newest, error))
    return FALSE;
  StreamSchemaEntry entry = { .number = newest.number + 1,
                              .previous = newest.number,
                              .version = version,
                              .metadata = metadata != NULL ? metadata : stream->metadata,
                              .protocol = protocol != NULL ? protocol : delta_snapshot_protocol (stream->snapshot) };
  if (!stream_schema_log_add (stream->schemas, &entry, error))
    return FALSE;
  g_autofree char *schema = base_type_ddl (delta_metadata_schema (entry.metadata));
  base_error_set (error, SLUICE_ERROR_DELTA_STREAMING_METADATA_EVOLUTION,
                  "The schema, the properties or the protocol of %s changed in version %" G_GINT64_FORMAT
                  "; the log of schemas is up to date: %s",
                  stream->base.leaf->name, version, schema);
  base_error_add_param (error, "schema", schema);
  base_error_set_hint (error, "start the stream again: it goes on with the new schema");
  return FALSE;
}

/* ---- what may be gone on with ---- */

/* Java's String.hashCode() of the source's name: how Spark's settings name one stream. */
static gint32
java_hash (const char *text)
{
  glong n = 0;
  g_autofree gunichar2 *units = g_utf8_to_utf16 (text, -1, NULL, &n, NULL);
  guint32 hash = 0;

  for (glong i = 0; i < n; i++)
    hash = hash * 31 + units[i];
  return (gint32) hash;
}

static gboolean
is_allowed_by_settings (const StreamDelta *stream, const char *action, DeltaVersion version)
{
  g_autofree char *key = g_strconcat ("spark.databricks.delta.streaming.allowSourceColumn", action, NULL);
  g_autofree char *own = g_strdup_printf ("%s.ckpt_%d", key, java_hash (stream_schema_log_source (stream->schemas)));
  g_autofree char *at = g_strdup_printf ("%" G_GINT64_FORMAT, version);
  const char *of_all = stream->settings != NULL ? base_settings_get (stream->settings, key) : NULL;
  const char *of_one = stream->settings != NULL ? base_settings_get (stream->settings, own) : NULL;

  return (of_all != NULL && g_ascii_strcasecmp (of_all, "always") == 0) ||
         (of_one != NULL && (g_ascii_strcasecmp (of_one, "always") == 0 || strcmp (of_one, at) == 0));
}

static gboolean
is_allowed (const StreamDelta *stream, SchemaChange kind, DeltaVersion version)
{
  static const char *const actions[] = { "Rename", "Drop", "TypeChange" };
  g_autofree char *at = g_strdup_printf ("%" G_GINT64_FORMAT, version);
  const char *option = stream->allow[kind];

  if (option != NULL && (g_ascii_strcasecmp (option, "always") == 0 || strcmp (option, at) == 0))
    return TRUE;
  return is_allowed_by_settings (stream, actions[kind], version) ||
         (kind != CHANGE_TYPE && is_allowed_by_settings (stream, "RenameAndDrop", version));
}

gboolean
stream_delta_check_allowed (const StreamDelta *stream, GError **error)
{
  static const char *const names[] = { "RENAME COLUMN", "DROP COLUMN", "TYPE WIDENING" };
  static const char *const options[] = { "allowSourceColumnRename", "allowSourceColumnDrop",
                                         "allowSourceColumnTypeChange" };
  g_auto (StreamSchemaEntry) current = { 0 };
  g_auto (StreamSchemaEntry) previous = { 0 };
  g_autoptr (GString) types = g_string_new (NULL);
  g_autoptr (GString) details = g_string_new (NULL);
  g_autoptr (GString) wanted = g_string_new (NULL);

  if (stream->schemas == NULL)
    return TRUE;
  if (!stream_schema_log_read (stream->schemas, stream->snapshot, -1, &current, error))
    return FALSE;
  if (current.number < 0 || current.previous < 0)
    return TRUE;
  if (!stream_schema_log_read (stream->schemas, stream->snapshot, current.previous, &previous, error))
    return FALSE;
  if (previous.number < 0)
    return TRUE;
  g_auto (SchemaChanges) changes;
  schema_changes_find (previous.metadata, current.metadata, &changes);
  for (guint i = 0; i < N_CHANGES; i++) {
    if (changes.texts[i]->len == 0 || is_allowed (stream, i, current.version))
      continue;
    g_string_append_printf (types, "%s%s", types->len > 0 ? ", " : "", names[i]);
    g_string_append_printf (details, "%s%s", details->len > 0 ? ", " : "", changes.texts[i]->str);
    g_string_append_printf (wanted, "%s%s = '%" G_GINT64_FORMAT "'", wanted->len > 0 ? ", " : "", options[i],
                            current.version);
  }
  if (types->len == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION,
                  "The schema of %s changed in a way that only adding columns would not (%s) between versions "
                  "%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT ": %s",
                  stream->base.leaf->name, types->str, previous.version, current.version, details->str);
  base_error_add_param (error, "opType", types->str);
  base_error_add_param (error, "columnChangeDetails", details->str);
  base_error_set_hint (error,
                       "bring the target in step where that is needed, then go on with these options of the source, in "
                       "WITH (…): %s ('always' allows every such change)",
                       wanted->str);
  return FALSE;
}

/* ---- which schema to read with ---- */

/* The version whose schema the stream needs first, and whether it has offsets at all. */
static gboolean
first_version (StreamDelta *stream, const StreamTableRequest *request, DeltaVersion *version, gboolean *has_offsets,
               GError **error)
{
  gint64 newest = stream_progress_last_planned (request->progress);
  g_autoptr (json_t) offsets = NULL;
  g_autofree char *digest = NULL;
  g_auto (StreamDeltaOffset) offset = { 0 };

  if (!stream_progress_is_marked_done (request->progress))
    newest--; /* the batch is applied once more */
  *has_offsets = stream_progress_last_planned (request->progress) >= 0;
  *version = stream->options.starting_version >= 0 ? stream->options.starting_version : stream->end;
  if (stream->options.starting_timestamp_ms != G_MININT64 &&
      !delta_table_version_at (stream->table, stream->options.starting_timestamp_ms, DELTA_AT_OR_AFTER, TRUE, version,
                               error))
    return FALSE;
  if (newest < 0)
    return TRUE;
  if (!stream_progress_read (request->progress, newest, &offsets, &digest, error))
    return FALSE;
  const json_t *mine = json_array_get (json_object_get (offsets, "sources"), request->index);
  if (!json_is_object (mine))
    return TRUE;
  if (!stream_delta_offset_read (mine, &offset, error))
    return FALSE;
  *version = offset.version;
  return TRUE;
}

/* Begins the log with the schema at @version, behind @newest when that was written before anything was read. */
static gboolean
begin_log (StreamDelta *stream, DeltaVersion version, const StreamSchemaEntry *newest, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = version >= delta_snapshot_version (stream->snapshot)
                                           ? delta_snapshot_ref (stream->snapshot)
                                           : delta_table_snapshot_at (stream->table, version, stream->cancel, error);
  if (snapshot == NULL)
    return FALSE;
  StreamSchemaEntry entry = { .number = newest->number + 1,
                              .previous = -1,
                              .version = delta_snapshot_version (snapshot),
                              .metadata = delta_snapshot_metadata (snapshot),
                              .protocol = delta_snapshot_protocol (snapshot) };
  if (newest->number >= 0 && same_schema (newest->metadata, entry.metadata) && newest->version == entry.version)
    return TRUE;
  return stream_schema_log_add (stream->schemas, &entry, error);
}

/* Consecutive commits that change nothing but the metadata are followed at once. */
static gboolean
merge_changes (StreamDelta *stream, StreamSchemaEntry *current, GError **error)
{
  g_autoptr (DeltaMetadata) metadata = NULL;
  g_autoptr (DeltaProtocol) protocol = NULL;
  DeltaVersion reached = current->version;

  for (DeltaVersion version = current->version; version <= stream->end; version++) {
    g_autoptr (DeltaCommit) commit = delta_table_commit (stream->table, version, stream->cancel, NULL);
    if (commit == NULL)
      break; /* cleaned up: the stream is past it, or says so itself */
    gboolean changes = delta_commit_metadata (commit) != NULL || delta_commit_protocol (commit) != NULL;
    for (guint i = 0; i < delta_commit_n_actions (commit) && changes; i++)
      changes = delta_commit_action (commit, i)->kind > DELTA_ACTION_CDC;
    if (!changes)
      break;
    reached = version;
    if (delta_commit_metadata (commit) != NULL) {
      delta_metadata_unref (metadata);
      metadata = delta_metadata_ref (delta_commit_metadata (commit));
    }
    if (delta_commit_protocol (commit) != NULL) {
      delta_protocol_unref (protocol);
      protocol = delta_protocol_ref (delta_commit_protocol (commit));
    }
  }
  if (reached == current->version)
    return TRUE;
  StreamSchemaEntry entry = { .number = current->number + 1,
                              .previous = current->previous,
                              .version = reached,
                              .metadata = metadata != NULL ? metadata : current->metadata,
                              .protocol = protocol != NULL ? protocol : current->protocol };
  return stream_schema_log_add (stream->schemas, &entry, error);
}

gboolean
stream_delta_track (StreamDelta *stream, const StreamTableRequest *request, const StreamDeltaOptions *options,
                    GError **error)
{
  const char *id = delta_metadata_id (delta_snapshot_metadata (stream->snapshot));
  g_auto (StreamSchemaEntry) found = { 0 };
  g_auto (StreamSchemaEntry) newest = { 0 };
  DeltaVersion version;
  gboolean has_offsets;

  stream->schemas = stream_schema_log_open (request->progress, options->schema_location, id, options->tracking_id,
                                            request->index, error);
  if (stream->schemas == NULL || !stream_schema_log_read (stream->schemas, stream->snapshot, -1, &found, error) ||
      !first_version (stream, request, &version, &has_offsets, error))
    return FALSE;
  if ((found.number < 0 || !has_offsets) && !begin_log (stream, version, &found, error))
    return FALSE;
  if (found.number >= 0 && has_offsets && !merge_changes (stream, &found, error))
    return FALSE;
  if (!stream_schema_log_read (stream->schemas, stream->snapshot, -1, &newest, error))
    return FALSE;
  g_assert (newest.number >= 0); /* it was begun above */
  delta_metadata_unref (stream->metadata);
  stream->metadata = delta_metadata_ref (newest.metadata);
  stream->read_version = newest.version;
  return TRUE;
}

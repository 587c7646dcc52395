/* Reading a classic checkpoint, in one file or several, through DuckDB in bulk.
 *
 * The schema of a checkpoint is its writer's choice within the protocol: any column or member may be missing. So the file is
 * described first, and a flat SELECT is made of what is there: one column per member of add and remove, JSON text for
 * the rare actions, which then go the way of a commit's lines.
 */
#include "base-error.h"
#include "base-text.h"
#include "delta-file-private.h"
#include "delta-scan-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"

#include <string.h>

/* Members of add and remove, in the order of the SELECT. */
enum {
  COL_PATH,
  COL_PARTITION_VALUES,
  COL_SIZE,
  COL_MODIFIED,
  COL_DATA_CHANGE,
  COL_STATS,
  COL_TAGS,
  COL_DV_STORAGE,
  COL_DV_PATH,
  COL_DV_OFFSET,
  COL_DV_SIZE,
  COL_DV_CARDINALITY,
  COL_BASE_ROW_ID,
  COL_ROW_COMMIT_VERSION,
  COL_CLUSTERING,
  COL_DELETION,
  COL_EXTENDED,
  N_COLS,
};

static const struct {
  const char *parent; /* (nullable): a struct inside the action */
  const char *name;
  const char *type; /* the type to cast to */
} members[N_COLS] = {
  [COL_PATH] = { NULL, "path", "VARCHAR" },
  [COL_PARTITION_VALUES] = { NULL, "partitionValues", "MAP(VARCHAR, VARCHAR)" },
  [COL_SIZE] = { NULL, "size", "BIGINT" },
  [COL_MODIFIED] = { NULL, "modificationTime", "BIGINT" },
  [COL_DATA_CHANGE] = { NULL, "dataChange", "BOOLEAN" },
  [COL_STATS] = { NULL, "stats", "VARCHAR" },
  [COL_TAGS] = { NULL, "tags", "JSON" },
  [COL_DV_STORAGE] = { "deletionVector", "storageType", "VARCHAR" },
  [COL_DV_PATH] = { "deletionVector", "pathOrInlineDv", "VARCHAR" },
  [COL_DV_OFFSET] = { "deletionVector", "offset", "BIGINT" },
  [COL_DV_SIZE] = { "deletionVector", "sizeInBytes", "BIGINT" },
  [COL_DV_CARDINALITY] = { "deletionVector", "cardinality", "BIGINT" },
  [COL_BASE_ROW_ID] = { NULL, "baseRowId", "BIGINT" },
  [COL_ROW_COMMIT_VERSION] = { NULL, "defaultRowCommitVersion", "BIGINT" },
  [COL_CLUSTERING] = { NULL, "clusteringProvider", "VARCHAR" },
  [COL_DELETION] = { NULL, "deletionTimestamp", "BIGINT" },
  [COL_EXTENDED] = { NULL, "extendedFileMetadata", "BOOLEAN" },
};

/* Rare actions: columns given as JSON. */
static const char *const rare_columns[] = { "txn", "metaData", "protocol", "domainMetadata" };
/* Actions of the V2 form. delta-rs writes the column `sidecar`, with nothing in it, into classic checkpoints too. */
static const char *const v2_columns[] = { "sidecar", "checkpointMetadata" };
#define COL_V2 (2 * N_COLS + G_N_ELEMENTS (rare_columns)) /* whether the row holds one of them */

static const DuckType *
struct_member (const DuckType *type, const char *name)
{
  if (type == NULL || duck_type_kind (type) != DUCK_KIND_STRUCT)
    return NULL;
  for (guint i = 0; i < duck_type_n_children (type); i++)
    if (g_ascii_strcasecmp (duck_type_child_name (type, i), name) == 0)
      return duck_type_child (type, i);
  return NULL;
}

static const DuckType *
find_column (GPtrArray *columns, const char *name)
{
  for (guint i = 0; i < columns->len; i++) {
    const DuckColumn *column = columns->pdata[i];
    if (strcmp (column->name, name) == 0)
      return column->type;
  }
  return NULL;
}

/* The expression of one member of @action (its type or NULL). */
static void
append_member (GString *sql, const char *action, const DuckType *type, guint index)
{
  const DuckType *parent = members[index].parent != NULL ? struct_member (type, members[index].parent) : type;
  const DuckType *member = struct_member (parent, members[index].name);

  if (index == COL_STATS && struct_member (type, "stats_parsed") != NULL) {
    g_string_append_printf (sql, "coalesce(%s, CAST(to_json(%s.stats_parsed) AS VARCHAR))",
                            member != NULL ? "CAST(add.stats AS VARCHAR)" : "NULL", action);
    return;
  }
  if (member == NULL) {
    g_string_append_printf (sql, "NULL::%s",
                            strcmp (members[index].type, "JSON") == 0 ? "VARCHAR" : members[index].type);
    return;
  }
  g_string_append (sql, strcmp (members[index].type, "JSON") == 0 ? "CAST(to_json(" : "CAST(");
  g_string_append (sql, action);
  if (members[index].parent != NULL)
    g_string_append_printf (sql, ".\"%s\"", members[index].parent);
  g_string_append_printf (sql, ".\"%s\"", members[index].name);
  g_string_append_printf (sql, strcmp (members[index].type, "JSON") == 0 ? ") AS VARCHAR)" : " AS %s)",
                          members[index].type);
}

static void
append_source (GString *sql, char **paths)
{
  g_string_append (sql, "read_parquet([");
  for (char **path = paths; *path != NULL; path++) {
    if (path != paths)
      g_string_append (sql, ", ");
    base_text_append_sql_literal (sql, *path);
  }
  g_string_append (sql, "], hive_partitioning = false)");
}

/* Paths as DuckDB takes them: every one is a glob. */
static char **
local_paths (DeltaTable *table, const DeltaLogCheckpoint *checkpoint, GError **error)
{
  g_auto (GStrv) keys = delta_log_checkpoint_keys (checkpoint);
  g_auto (GStrv) paths = g_new0 (char *, checkpoint->n_parts + 1);

  for (guint i = 0; keys[i] != NULL; i++) {
    g_autofree char *path = store_local_path (delta_table_store (table), keys[i]);
    if (path == NULL) {
      base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "the table %s is not on this machine",
                      delta_table_location (table));
      return NULL;
    }
    paths[i] = delta_scan_escape_glob (path);
  }
  return g_steal_pointer (&paths);
}

static char *
make_select (GPtrArray *columns, char **paths)
{
  GString *sql = g_string_new ("SELECT ");
  const DuckType *add = find_column (columns, "add");
  const DuckType *remove = find_column (columns, "remove");

  for (guint i = 0; i < N_COLS; i++) {
    append_member (sql, "add", add, i);
    g_string_append (sql, ", ");
  }
  for (guint i = 0; i < N_COLS; i++) {
    append_member (sql, "remove", remove, i);
    g_string_append (sql, ", ");
  }
  for (guint i = 0; i < G_N_ELEMENTS (rare_columns); i++) {
    if (i > 0)
      g_string_append (sql, ", ");
    if (find_column (columns, rare_columns[i]) != NULL)
      g_string_append_printf (sql, "CAST(to_json(\"%s\") AS VARCHAR)", rare_columns[i]);
    else
      g_string_append (sql, "NULL::VARCHAR");
  }
  g_string_append (sql, ", false");
  for (guint i = 0; i < G_N_ELEMENTS (v2_columns); i++)
    if (find_column (columns, v2_columns[i]) != NULL)
      g_string_append_printf (sql, " OR \"%s\" IS NOT NULL", v2_columns[i]);
  g_string_append (sql, " FROM ");
  append_source (sql, paths);
  return g_string_free (sql, FALSE);
}

static gint64
int64_or (const DuckVector *column, guint64 row, gint64 fallback)
{
  return duck_vector_is_null (column, row) ? fallback : duck_vector_int64 (column, row);
}

static GArray *
partition_values (const DuckVector *column, guint64 row)
{
  GArray *values = g_array_new (FALSE, FALSE, sizeof (DeltaPartitionValue));
  DuckListEntry range;

  if (duck_vector_is_null (column, row))
    return values;
  range = duck_vector_list (column, row);
  for (guint64 i = range.offset; i < range.offset + range.length; i++) {
    DeltaPartitionValue value = { .column = duck_vector_dup_string (&column->children[0], i) };
    if (value.column == NULL)
      continue;
    if (!duck_vector_is_null (&column->children[1], i))
      value.text = duck_vector_string (&column->children[1], i, &value.text_bytes);
    g_array_append_val (values, value);
  }
  return values;
}

/* The file of one row; columns begin at @columns. */
static DeltaFile *
row_file (const DuckVector *columns, guint64 row, GError **error)
{
  g_autofree char *path = duck_vector_dup_string (&columns[COL_PATH], row);
  g_autofree char *stats = duck_vector_dup_string (&columns[COL_STATS], row);
  g_autofree char *tags_text = duck_vector_dup_string (&columns[COL_TAGS], row);
  g_autofree char *storage = duck_vector_dup_string (&columns[COL_DV_STORAGE], row);
  g_autofree char *vector_path = duck_vector_dup_string (&columns[COL_DV_PATH], row);
  g_autofree char *clustering = duck_vector_dup_string (&columns[COL_CLUSTERING], row);
  g_autoptr (GArray) values = partition_values (&columns[COL_PARTITION_VALUES], row);
  json_t *tags = tags_text != NULL ? json_loads (tags_text, 0, NULL) : NULL;
  DeltaFileInfo info = DELTA_FILE_INFO_INIT;
  DeltaVectorDescriptor vector;
  DeltaFile *file = NULL;

  info.path = path;
  info.size_bytes = int64_or (&columns[COL_SIZE], row, 0);
  info.modified_ms = int64_or (&columns[COL_MODIFIED], row, 0);
  info.data_change =
      duck_vector_is_null (&columns[COL_DATA_CHANGE], row) || duck_vector_bool (&columns[COL_DATA_CHANGE], row);
  info.partition_values = (const DeltaPartitionValue *) values->data;
  info.n_partition_values = values->len;
  info.stats = stats;
  info.tags = json_is_object (tags) ? tags : NULL;
  info.base_row_id = int64_or (&columns[COL_BASE_ROW_ID], row, -1);
  info.default_row_commit_version = int64_or (&columns[COL_ROW_COMMIT_VERSION], row, DELTA_VERSION_NONE);
  info.clustering_provider = clustering;
  info.deletion_ms = int64_or (&columns[COL_DELETION], row, -1);
  info.extended = !duck_vector_is_null (&columns[COL_EXTENDED], row) && duck_vector_bool (&columns[COL_EXTENDED], row);
  if (storage != NULL && vector_path != NULL) {
    vector = (DeltaVectorDescriptor){ storage[0], vector_path, int64_or (&columns[COL_DV_OFFSET], row, -1),
                                      int64_or (&columns[COL_DV_SIZE], row, -1),
                                      int64_or (&columns[COL_DV_CARDINALITY], row, -1) };
    info.vector = &vector;
  }
  if (storage != NULL && (strlen (storage) != 1 || strchr ("uip", storage[0]) == NULL || info.vector == NULL ||
                          vector.size_bytes < 0 || vector.cardinality < 0))
    base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "the deletion vector of `%s` is not whole", path);
  else if (info.size_bytes < 0 || (file = delta_file_new_foreign (&info)) == NULL)
    base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "the file `%s` has a malformed path or size", path);
  json_decref (tags);
  for (guint i = 0; i < values->len; i++)
    g_free ((char *) g_array_index (values, DeltaPartitionValue, i).column);
  return file;
}

static gboolean
replay_file_row (const DuckVector *columns, guint64 row, DeltaActionKind kind, DeltaReplay *replay, GError **error)
{
  DeltaAction action = { .kind = kind };
  gboolean done;

  if (duck_vector_is_null (&columns[COL_PATH], row))
    return TRUE;
  action.file = row_file (columns, row, error);
  if (action.file == NULL)
    return FALSE;
  done = delta_replay_action (&action, replay, error);
  delta_action_clear (&action);
  return done;
}

static gboolean
replay_rare (const DuckVector *column, guint64 row, const char *name, DeltaReplay *replay, GError **error)
{
  g_autoptr (GString) line = NULL;
  gsize size;
  const char *text;

  if (duck_vector_is_null (column, row))
    return TRUE;
  text = duck_vector_string (column, row, &size);
  line = g_string_new (NULL);
  g_string_append_printf (line, "{\"%s\":", name);
  g_string_append_len (line, text, (gssize) size);
  g_string_append_c (line, '}');
  return delta_log_parse_line (line->str, line->len, DELTA_REPLAY_KINDS, delta_replay_action, replay, error);
}

static gboolean
replay_chunk (const DuckChunk *chunk, DeltaReplay *replay, GError **error)
{
  for (guint row = 0; row < chunk->n_rows; row++) {
    if (duck_vector_bool (&chunk->columns[COL_V2], row))
      return base_error_set (
          error, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_READ,
          "the checkpoint is of the V2 form: this engine does not support the table feature v2Checkpoint");
    if (!replay_file_row (chunk->columns, row, DELTA_ACTION_ADD, replay, error) ||
        !replay_file_row (chunk->columns + N_COLS, row, DELTA_ACTION_REMOVE, replay, error))
      return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS (rare_columns); i++)
      if (!replay_rare (&chunk->columns[2 * N_COLS + i], row, rare_columns[i], replay, error))
        return FALSE;
  }
  return TRUE;
}

static gboolean
read_parts (DuckSession *session, char **paths, DeltaReplay *replay, BaseCancel *cancel, GError **error)
{
  g_autoptr (GString) describe = g_string_new ("SELECT * FROM ");
  g_autoptr (GPtrArray) columns = NULL;
  g_autoptr (DuckResult) result = NULL;
  g_autofree char *sql = NULL;
  const DuckChunk *chunk;

  append_source (describe, paths);
  columns = duck_session_describe (session, describe->str, error);
  if (columns == NULL)
    return FALSE;
  sql = make_select (columns, paths);
  result = duck_session_query (session, sql, cancel, error);
  if (result == NULL)
    return FALSE;
  do {
    if (!duck_result_next (result, &chunk, error) || (chunk != NULL && !replay_chunk (chunk, replay, error)))
      return FALSE;
  } while (chunk != NULL);
  return TRUE;
}

gboolean
delta_checkpoint_read (DeltaTable *table, const DeltaLogCheckpoint *checkpoint, DeltaReplay *replay, BaseCancel *cancel,
                       GError **error)
{
  g_autoptr (DuckSession) session = delta_table_session (table, error);
  g_autoptr (GError) failure = NULL;
  g_auto (GStrv) paths = NULL;

  if (session == NULL)
    return FALSE;
  paths = local_paths (table, checkpoint, error);
  if (paths == NULL)
    return FALSE;
  if (read_parts (session, paths, replay, cancel, &failure))
    return TRUE;
  if (g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_OPERATION_CANCELED) ||
      g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_OUT_OF_MEMORY) ||
      g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_READ) ||
      g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_UNSUPPORTED_DATATYPE)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT,
                  "the checkpoint of version %" G_GINT64_FORMAT " of %s cannot be read: %s", checkpoint->version,
                  delta_table_location (table), failure->message);
  return FALSE;
}

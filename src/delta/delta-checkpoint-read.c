/* Reading a checkpoint, of either form and any naming, through DuckDB in bulk.
 *
 * The schema of a checkpoint is its writer's choice within the protocol: any column or member may be missing. So every file is
 * described first, and a flat SELECT is made of what is there: one column per member of add and remove, JSON text for
 * the rare actions, which then go the way of a commit's lines. Files that want the same SELECT are read together.
 *
 * A checkpoint of the V2 form says so (checkpointMetadata) and may keep its file actions in sidecars. Its top file may be
 * JSON, whose lines are those of a commit, besides the two kinds of action that only checkpoints have.
 */
#include "base-error.h"
#include "base-json.h"
#include "delta-file-private.h"
#include "delta-snapshot-private.h"
#include "delta-table-private.h"
#include "duck-path.h"

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

/* Rare actions: columns given as JSON. The last two are those of the V2 form; delta-rs writes the column `sidecar`, with
 * nothing in it, into classic checkpoints too. */
enum { RARE_TXN, RARE_METADATA, RARE_PROTOCOL, RARE_DOMAIN, RARE_SIDECAR, RARE_CHECKPOINT, N_RARE };
static const char *const rare_columns[N_RARE] = {
  [RARE_TXN] = "txn",           [RARE_METADATA] = "metaData",
  [RARE_PROTOCOL] = "protocol", [RARE_DOMAIN] = "domainMetadata",
  [RARE_SIDECAR] = "sidecar",   [RARE_CHECKPOINT] = "checkpointMetadata",
};

#define MAX_SIDECARS 100000

/* One checkpoint while it is read. */
typedef struct {
  DeltaTable *table;
  const DeltaLogCheckpoint *checkpoint;
  DeltaReplay *replay; /* (nullable): only the sidecars are asked for */
  BaseCancel *cancel;
  DuckSession *session; /* made when needed */
  GPtrArray *sidecars;  /* char*: keys */
  gint64 sidecar_bytes;
  gboolean is_v2;
} Reader;

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

/* Most rows have nothing there, which to_json() would write out all the same. */
static void
append_json (GString *sql, const char *value)
{
  g_string_append_printf (sql, "CASE WHEN %s IS NOT NULL THEN CAST(to_json(%s) AS VARCHAR) END", value, value);
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
  g_autofree char *value = members[index].parent != NULL ? g_strdup_printf ("%s.\"%s\".\"%s\"", action,
                                                                            members[index].parent, members[index].name)
                                                         : g_strdup_printf ("%s.\"%s\"", action, members[index].name);
  if (strcmp (members[index].type, "JSON") == 0)
    append_json (sql, value);
  else
    g_string_append_printf (sql, "CAST(%s AS %s)", value, members[index].type);
}

static void
append_source (GString *sql, const char *const *paths, guint n_paths)
{
  g_string_append (sql, "read_parquet([");
  for (guint i = 0; i < n_paths; i++) {
    if (i > 0)
      g_string_append (sql, ", ");
    duck_path_append (sql, paths[i]);
  }
  g_string_append (sql, "], hive_partitioning = false)");
}

/* Paths as DuckDB takes them: every one is a glob. @keys: NULL-terminated. */
static char **
local_paths (DeltaTable *table, const char *const *keys, GError **error)
{
  g_auto (GStrv) paths = g_new0 (char *, g_strv_length ((char **) keys) + 1);

  for (guint i = 0; keys[i] != NULL; i++) {
    paths[i] = store_local_path (delta_table_store (table), keys[i]);
    if (paths[i] == NULL) {
      base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "the table %s is not on this machine",
                      delta_table_location (table));
      return NULL;
    }
  }
  return g_steal_pointer (&paths);
}

/* The SELECT of one file, up to its FROM. @files_only: a sidecar, where other actions do not count. */
static char *
make_select (GPtrArray *columns, gboolean files_only)
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
  for (guint i = 0; i < N_RARE; i++) {
    if (i > 0)
      g_string_append (sql, ", ");
    g_autofree char *column = g_strdup_printf ("\"%s\"", rare_columns[i]);
    if (!files_only && find_column (columns, rare_columns[i]) != NULL)
      append_json (sql, column);
    else
      g_string_append (sql, "NULL::VARCHAR");
  }
  g_string_append (sql, " FROM ");
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

/* The V2 form ---------------------------------------------------------------------------------------------------------- */

/* Sidecars lie in one directory, whatever the path before the name says. */
static gboolean
take_sidecar (Reader *reader, const json_t *sidecar, GError **error)
{
  const char *path = base_json_string (sidecar, "path");
  const char *slash = path != NULL ? strrchr (path, '/') : NULL;
  g_autofree char *name = path != NULL ? delta_file_decode_path (slash != NULL ? slash + 1 : path) : NULL;
  g_autofree char *key = NULL;

  if (path == NULL && json_object_get (sidecar, "path") == NULL)
    return TRUE; /* a struct of NULLs */
  key = name != NULL ? g_strconcat (DELTA_LOG_SIDECARS, name, NULL) : NULL;
  if (key == NULL || name[0] == '\0' || strchr (name, '/') != NULL || !store_key_is_valid (key))
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "`%.200s` is no name of a sidecar",
                           path != NULL ? path : "?");
  if (reader->sidecars->len >= MAX_SIDECARS)
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "it has more than %d sidecars", MAX_SIDECARS);
  reader->sidecar_bytes += CLAMP (base_json_int64 (sidecar, "sizeInBytes", 0), 0, G_GINT64_CONSTANT (1) << 40);
  g_ptr_array_add (reader->sidecars, g_steal_pointer (&key));
  return TRUE;
}

static gboolean
take_checkpoint_metadata (Reader *reader, const json_t *metadata, GError **error)
{
  gint64 version = base_json_int64 (metadata, "version", DELTA_VERSION_NONE);

  if (json_is_null (json_object_get (metadata, "version")) || json_object_size (metadata) == 0)
    return TRUE; /* a struct of NULLs */
  if (version != reader->checkpoint->version)
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT,
                           "its checkpointMetadata speaks of version %" G_GINT64_FORMAT, version);
  reader->is_v2 = TRUE;
  return TRUE;
}

/* @text: the value of a `sidecar` or `checkpointMetadata` action. */
static gboolean
take_v2_action (Reader *reader, gboolean is_sidecar, const char *text, gsize size, GError **error)
{
  const char *name = is_sidecar ? "a sidecar action" : "a checkpointMetadata action";
  g_autoptr (json_t) object = base_json_parse (text, size, name, error);

  if (object == NULL)
    return FALSE;
  if (json_is_null (object))
    return TRUE;
  if (!json_is_object (object))
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "%s is no object", name);
  return is_sidecar ? take_sidecar (reader, object, error) : take_checkpoint_metadata (reader, object, error);
}

static gboolean
check_form (Reader *reader, GError **error)
{
  gboolean must_be_v2 = reader->checkpoint->kind == DELTA_CHECKPOINT_UUID_JSON ||
                        reader->checkpoint->kind == DELTA_CHECKPOINT_UUID_PARQUET || reader->sidecars->len > 0;

  if (must_be_v2 && !reader->is_v2)
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "it lacks its checkpointMetadata action");
  return TRUE;
}

/* Parquet --------------------------------------------------------------------------------------------------------------- */

static gboolean
replay_rare (Reader *reader, const DuckVector *column, guint64 row, guint rare, GError **error)
{
  g_autoptr (GString) line = NULL;
  gsize size;
  const char *text;

  if (duck_vector_is_null (column, row))
    return TRUE;
  text = duck_vector_string (column, row, &size);
  if (rare == RARE_SIDECAR || rare == RARE_CHECKPOINT)
    return take_v2_action (reader, rare == RARE_SIDECAR, text, size, error);
  line = g_string_new (NULL);
  g_string_append_printf (line, "{\"%s\":", rare_columns[rare]);
  g_string_append_len (line, text, (gssize) size);
  g_string_append_c (line, '}');
  return delta_log_parse_line (line->str, line->len, DELTA_REPLAY_KINDS, delta_replay_action, reader->replay, error);
}

static gboolean
replay_chunk (Reader *reader, const DuckChunk *chunk, GError **error)
{
  for (guint row = 0; row < chunk->n_rows; row++) {
    if (!replay_file_row (chunk->columns, row, DELTA_ACTION_ADD, reader->replay, error) ||
        !replay_file_row (chunk->columns + N_COLS, row, DELTA_ACTION_REMOVE, reader->replay, error))
      return FALSE;
    for (guint i = 0; i < N_RARE; i++)
      if (!replay_rare (reader, &chunk->columns[2 * N_COLS + i], row, i, error))
        return FALSE;
  }
  return TRUE;
}

static gboolean
need_session (Reader *reader, GError **error)
{
  if (reader->session == NULL)
    reader->session = delta_table_session (reader->table, error);
  return reader->session != NULL;
}

static GPtrArray *
describe (Reader *reader, const char *path, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT * FROM ");

  append_source (sql, &path, 1);
  return duck_session_describe (reader->session, sql->str, error);
}

/* Reads files that want the same @select. */
static gboolean
read_alike (Reader *reader, const char *select, const char *const *paths, guint n_paths, GError **error)
{
  g_autoptr (GString) sql = g_string_new (select);
  g_autoptr (DuckResult) result = NULL;
  const DuckChunk *chunk;

  append_source (sql, paths, n_paths);
  result = duck_session_query (reader->session, sql->str, reader->cancel, error);
  if (result == NULL)
    return FALSE;
  do {
    if (!duck_result_next (result, &chunk, error) || (chunk != NULL && !replay_chunk (reader, chunk, error)))
      return FALSE;
  } while (chunk != NULL);
  return TRUE;
}

/* @keys: NULL-terminated. */
static gboolean
read_parquet_files (Reader *reader, const char *const *keys, gboolean files_only, GError **error)
{
  g_auto (GStrv) paths = local_paths (reader->table, keys, error);
  g_autofree char *select = NULL;
  guint start = 0;

  if (paths == NULL || !need_session (reader, error))
    return FALSE;
  for (guint i = 0; paths[i] != NULL; i++) {
    g_autoptr (GPtrArray) columns = describe (reader, paths[i], error);
    g_autofree char *own = NULL;
    if (columns == NULL)
      return FALSE;
    own = make_select (columns, files_only);
    if (select != NULL && strcmp (own, select) != 0) {
      if (!read_alike (reader, select, (const char *const *) paths + start, i - start, error))
        return FALSE;
      start = i;
    }
    g_free (select);
    select = g_steal_pointer (&own);
  }
  return select == NULL ||
         read_alike (reader, select, (const char *const *) paths + start, g_strv_length (paths) - start, error);
}

/* Only what `sidecar` says, for those who keep or delete sidecars. */
static gboolean
read_sidecar_names (Reader *reader, const char *const *keys, GError **error)
{
  g_auto (GStrv) paths = local_paths (reader->table, keys, error);
  g_autoptr (GPtrArray) columns = NULL;
  g_autoptr (DuckResult) result = NULL;
  g_autoptr (GString) sql = g_string_new ("SELECT CAST(to_json(sidecar) AS VARCHAR) FROM ");
  const DuckChunk *chunk;

  if (paths == NULL || !need_session (reader, error))
    return FALSE;
  columns = describe (reader, paths[0], error);
  if (columns == NULL)
    return FALSE;
  if (find_column (columns, rare_columns[RARE_SIDECAR]) == NULL)
    return TRUE;
  append_source (sql, (const char *const *) paths, 1);
  g_string_append (sql, " WHERE sidecar IS NOT NULL");
  result = duck_session_query (reader->session, sql->str, reader->cancel, error);
  if (result == NULL)
    return FALSE;
  do {
    if (!duck_result_next (result, &chunk, error))
      return FALSE;
    for (guint row = 0; chunk != NULL && row < chunk->n_rows; row++)
      if (!replay_rare (reader, &chunk->columns[0], row, RARE_SIDECAR, error))
        return FALSE;
  } while (chunk != NULL);
  return TRUE;
}

/* JSON ------------------------------------------------------------------------------------------------------------------ */

/* One line of a JSON checkpoint: an action of the V2 form, or one of a commit. */
static gboolean
read_line (Reader *reader, const char *text, gsize size, GError **error)
{
  DeltaJson json = delta_json (text, size);
  DeltaJsonSlice key;
  DeltaJsonSlice value;
  gboolean first = TRUE;

  if (delta_json_enter_object (&json) && delta_json_next_key (&json, &first, &key)) {
    gboolean is_sidecar = DELTA_JSON_IS (&key, "sidecar");
    if ((is_sidecar || DELTA_JSON_IS (&key, "checkpointMetadata")) && delta_json_skip (&json, &value) &&
        !delta_json_next_key (&json, &first, &key) && json.error == NULL && delta_json_at_end (&json))
      return take_v2_action (reader, is_sidecar, value.start, value.size, error);
  }
  if (reader->replay == NULL)
    return TRUE;
  return delta_log_parse_line (text, size, DELTA_REPLAY_KINDS, delta_replay_action, reader->replay, error);
}

static gboolean
read_json_file (Reader *reader, const char *key, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  const char *at;
  const char *end;
  gsize size;

  if (!base_cancel_check (reader->cancel, error) ||
      !delta_log_read_file (delta_table_store (reader->table), key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "it went away");
  at = g_bytes_get_data (bytes, &size);
  if (!g_utf8_validate_len (at != NULL ? at : "", size, NULL))
    return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT, "it is not UTF-8 text");
  for (end = at + size; at < end;) {
    const char *stop = memchr (at, '\n', (gsize) (end - at));
    gsize length = (gsize) ((stop != NULL ? stop : end) - at);
    DeltaJson probe = delta_json (at, length);
    /* A blank line is no action. */
    if ((delta_json_peek (&probe) != DELTA_JSON_INVALID || probe.at < probe.end) &&
        !read_line (reader, at, length, error))
      return FALSE;
    at += length + (stop != NULL ? 1 : 0);
  }
  return TRUE;
}

/* All ------------------------------------------------------------------------------------------------------------------- */

static gboolean
read_all (Reader *reader, GError **error)
{
  g_auto (GStrv) keys = delta_log_checkpoint_keys (reader->checkpoint);
  const char *const *names = (const char *const *) keys;

  if (reader->checkpoint->kind == DELTA_CHECKPOINT_UUID_JSON) {
    if (!read_json_file (reader, keys[0], error))
      return FALSE;
  } else if (reader->replay == NULL) {
    return read_sidecar_names (reader, names, error);
  } else if (!read_parquet_files (reader, names, FALSE, error)) {
    return FALSE;
  }
  if (reader->replay == NULL)
    return TRUE;
  if (!check_form (reader, error))
    return FALSE;
  if (reader->sidecars->len == 0)
    return TRUE;
  g_ptr_array_add (reader->sidecars, NULL);
  return read_parquet_files (reader, (const char *const *) reader->sidecars->pdata, TRUE, error);
}

/* What another checkpoint or the commits would not mend. */
static gboolean
is_final (const GError *failure)
{
  static const SluiceError codes[] = { SLUICE_ERROR_OPERATION_CANCELED, SLUICE_ERROR_OUT_OF_MEMORY,
                                       SLUICE_ERROR_UNSUPPORTED_DATATYPE, SLUICE_ERROR_UNSUPPORTED_FEATURE };

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    if (g_error_matches (failure, SLUICE_ERROR, (int) codes[i]))
      return TRUE;
  return FALSE;
}

static gboolean
run_reader (Reader *reader, GError **error)
{
  g_autoptr (GError) failure = NULL;
  gboolean done;

  reader->sidecars = g_ptr_array_new_with_free_func (g_free);
  done = read_all (reader, &failure);
  g_clear_pointer (&reader->session, duck_session_free);
  if (done)
    return TRUE;
  g_clear_pointer (&reader->sidecars, g_ptr_array_unref);
  if (is_final (failure)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  return base_error_set (error, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT,
                         "the checkpoint of version %" G_GINT64_FORMAT " of %s cannot be read: %s",
                         reader->checkpoint->version, delta_table_location (reader->table), failure->message);
}

gboolean
delta_checkpoint_read (DeltaTable *table, const DeltaLogCheckpoint *checkpoint, DeltaReplay *replay, gint64 *size_bytes,
                       BaseCancel *cancel, GError **error)
{
  Reader reader = { .table = table, .checkpoint = checkpoint, .replay = replay, .cancel = cancel };

  if (!run_reader (&reader, error))
    return FALSE;
  *size_bytes = checkpoint->size_bytes + reader.sidecar_bytes;
  g_ptr_array_unref (reader.sidecars);
  return TRUE;
}

gboolean
delta_checkpoint_sidecars (DeltaTable *table, const DeltaLogCheckpoint *checkpoint, GPtrArray **keys,
                           BaseCancel *cancel, GError **error)
{
  Reader reader = { .table = table, .checkpoint = checkpoint, .cancel = cancel };

  if (!run_reader (&reader, error))
    return FALSE;
  *keys = reader.sidecars;
  return TRUE;
}

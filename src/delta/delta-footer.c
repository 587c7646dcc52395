/* Footers are read only where the log does not say enough: column mapping by id (DuckDB matches nested fields by name only), and
 * timestamps, which some writers store without a zone (INT96): DuckDB would shift those by the session's time zone.
 */
#include "base-error.h"
#include "delta-footer-private.h"
#include "delta-table-private.h"
#include "duck-path.h"

#include <string.h>

/* Files asked for in one query. */
#define BATCH 500
/* Schemas of more nodes than this are refused. */
#define MAX_NODES 100000
#define MAX_DEPTH 100

/* One row of parquet_schema. */
typedef struct {
  char *name;
  gint64 field_id;
  gint64 n_children;
  gboolean wall_clock;
  char *type;
} Row;

static void
row_clear (gpointer data)
{
  g_free (((Row *) data)->name);
  g_free (((Row *) data)->type);
}

static void
node_clear (DeltaFooterNode *node)
{
  for (guint i = 0; i < node->n_children; i++)
    node_clear (&node->children[i]);
  g_free (node->children);
  g_free (node->name);
  g_free (node->type);
}

static void
node_free (gpointer data)
{
  node_clear (data);
  g_free (data);
}

/* Builds the node of row *@next and those below it; rows are in depth-first order. */
static gboolean
build_node (GArray *rows, guint *next, guint depth, DeltaFooterNode *node)
{
  Row *row;

  *node = (DeltaFooterNode){ .field_id = -1 };
  if (*next >= rows->len || depth > MAX_DEPTH)
    return FALSE;
  row = &g_array_index (rows, Row, (*next)++);
  node->name = g_strdup (row->name);
  node->field_id = row->field_id;
  node->wall_clock = row->wall_clock;
  node->type = row->n_children <= 0 ? g_strdup (row->type) : NULL;
  node->has_ids = row->field_id >= 0;
  if (row->n_children <= 0)
    return TRUE;
  if (row->n_children > rows->len)
    return FALSE;
  node->children = g_new0 (DeltaFooterNode, (gsize) row->n_children);
  for (gint64 i = 0; i < row->n_children; i++) {
    node->n_children++;
    if (!build_node (rows, next, depth + 1, &node->children[i]))
      return FALSE;
    node->has_ids |= node->children[i].has_ids;
  }
  return TRUE;
}

/* Ends the file whose rows were collected. */
static gboolean
keep_footer (DeltaTable *table, const char *path, GArray *rows, GError **error)
{
  DeltaFooterNode *root = g_new0 (DeltaFooterNode, 1);
  guint next = 0;

  if (!build_node (rows, &next, 0, root) || next < rows->len) {
    node_free (root);
    return base_error_set (error, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE,
                           "the schema of the Parquet file %s is malformed", path);
  }
  (void) delta_table_cache_footer (table, path, root, node_free); /* the first one kept wins */
  g_array_set_size (rows, 0);
  return TRUE;
}

static gboolean
take_row (const DuckChunk *chunk, guint i, GArray *rows, GError **error)
{
  Row row = { .field_id = -1 };
  g_autofree char *type = duck_vector_dup_string (&chunk->columns[4], i);

  if (rows->len >= MAX_NODES)
    return base_error_set (error, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE,
                           "a Parquet file has more than %d schema elements", MAX_NODES);
  row.name = duck_vector_dup_string (&chunk->columns[1], i);
  if (row.name == NULL)
    row.name = g_strdup ("");
  if (!duck_vector_is_null (&chunk->columns[2], i))
    row.n_children = duck_vector_int64 (&chunk->columns[2], i);
  if (!duck_vector_is_null (&chunk->columns[3], i))
    row.field_id = duck_vector_int64 (&chunk->columns[3], i);
  row.wall_clock =
      type != NULL && g_str_has_prefix (type, "TIMESTAMP") && strcmp (type, "TIMESTAMP WITH TIME ZONE") != 0;
  row.type = g_steal_pointer (&type);
  g_array_append_val (rows, row);
  return TRUE;
}

static gboolean
read_batch (DeltaTable *table, DuckSession *session, GPtrArray *paths, BaseCancel *cancel, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT file_name, name, num_children::BIGINT, field_id::BIGINT, duckdb_type "
                                          "FROM parquet_schema([");
  g_autoptr (DuckResult) result = NULL;
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_autofree char *current = NULL;
  const DuckChunk *chunk;

  g_array_set_clear_func (rows, row_clear);
  for (guint i = 0; i < paths->len; i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    duck_path_append (sql, paths->pdata[i]);
  }
  g_string_append (sql, "]) ORDER BY file_name, column_id");
  result = duck_session_query (session, sql->str, cancel, error);
  if (result == NULL)
    return FALSE;
  do {
    if (!duck_result_next (result, &chunk, error))
      return FALSE;
    for (guint i = 0; chunk != NULL && i < chunk->n_rows; i++) {
      g_autofree char *file = duck_vector_dup_string (&chunk->columns[0], i);
      if (current != NULL && strcmp (current, file) != 0 && !keep_footer (table, current, rows, error))
        return FALSE;
      g_free (current);
      current = g_steal_pointer (&file);
      if (!take_row (chunk, i, rows, error))
        return FALSE;
    }
  } while (chunk != NULL);
  return current == NULL || keep_footer (table, current, rows, error);
}

gboolean
delta_footers_load (DeltaTable *table, const char *const *paths, guint n_paths, const DeltaFooterNode **footers,
                    BaseCancel *cancel, GError **error)
{
  g_autoptr (DuckSession) session = NULL;
  g_autoptr (GPtrArray) missing = g_ptr_array_new ();
  g_autoptr (GHashTable) asked = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GError) failure = NULL;

  for (guint i = 0; i < n_paths; i++) {
    /* A feed reads a file twice that came and went in its range; the rows of its schema must come once. */
    if (delta_table_cached_footer (table, paths[i]) == NULL && g_hash_table_add (asked, (gpointer) paths[i]))
      g_ptr_array_add (missing, (gpointer) paths[i]);
    if (missing->len == 0 || (missing->len < BATCH && i + 1 < n_paths))
      continue;
    if (session == NULL && (session = delta_table_session (table, error)) == NULL)
      return FALSE;
    if (!read_batch (table, session, missing, cancel, &failure)) {
      if (g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_FILE_NOT_FOUND)) {
        const char *path = base_error_param (failure, "file");
        base_error_set (error, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED,
                        "the data file %s, which the log of %s names, is not there",
                        path != NULL ? path : (const char *) missing->pdata[0], delta_table_location (table));
        base_error_add_param (error, "path", path != NULL ? path : (const char *) missing->pdata[0]);
        return FALSE;
      }
      g_propagate_error (error, g_steal_pointer (&failure));
      base_error_add_context (error, "reading Parquet footers of %s", delta_table_location (table));
      return FALSE;
    }
    g_ptr_array_set_size (missing, 0);
  }
  for (guint i = 0; i < n_paths; i++) {
    footers[i] = delta_table_cached_footer (table, paths[i]);
    if (footers[i] == NULL)
      return base_error_set (error, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE, "the footer of %s was not found",
                             paths[i]);
  }
  return TRUE;
}

const DeltaFooterNode *
delta_footer_child (const DeltaFooterNode *node, const char *name)
{
  for (guint i = 0; node != NULL && i < node->n_children; i++)
    if (strcmp (node->children[i].name, name) == 0)
      return &node->children[i];
  return NULL;
}

const DeltaFooterNode *
delta_footer_child_by_id (const DeltaFooterNode *node, gint64 field_id)
{
  for (guint i = 0; node != NULL && field_id >= 0 && i < node->n_children; i++)
    if (node->children[i].field_id == field_id)
      return &node->children[i];
  return NULL;
}

/* Three levels (`list` / `element`) as the standard asks, or the two levels of old writers. */
const DeltaFooterNode *
delta_footer_element (const DeltaFooterNode *list)
{
  const DeltaFooterNode *repeated;

  if (list == NULL || list->n_children != 1)
    return NULL;
  repeated = &list->children[0];
  if (repeated->n_children == 1 && strcmp (repeated->name, "array") != 0 &&
      !g_str_has_suffix (repeated->name, "_tuple"))
    return &repeated->children[0];
  return repeated;
}

const DeltaFooterNode *
delta_footer_map_part (const DeltaFooterNode *map, guint part)
{
  if (map == NULL || map->n_children != 1 || map->children[0].n_children <= part)
    return NULL;
  return &map->children[0].children[part];
}

/* DESCRIBE HISTORY, DESCRIBE DETAIL, DESCRIBE AUTO CDC: facts of the log as rows. The columns of the first two are Delta's own.
 *
 * The answer is a text of literals, one SELECT per row, so that it goes the same way to the user as any query's.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-alter-private.h"
#include "duck-type.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "sql-parse.h"

#include <string.h>

static const char history_ddl[] =
    "version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING, "
    "operationParameters MAP<STRING, STRING>, "
    "job STRUCT<jobId: STRING, jobName: STRING, jobRunId: STRING, runId: STRING, jobOwnerId: STRING, triggerType: "
    "STRING>, "
    "notebook STRUCT<notebookId: STRING>, clusterId STRING, readVersion BIGINT, isolationLevel STRING, "
    "isBlindAppend BOOLEAN, operationMetrics MAP<STRING, STRING>, userMetadata STRING, engineInfo STRING";

static const char detail_ddl[] =
    "format STRING, id STRING, name STRING, description STRING, location STRING, createdAt TIMESTAMP, "
    "lastModified TIMESTAMP, partitionColumns ARRAY<STRING>, clusteringColumns ARRAY<STRING>, numFiles BIGINT, "
    "sizeInBytes BIGINT, properties MAP<STRING, STRING>, minReaderVersion INT, minWriterVersion INT, "
    "tableFeatures ARRAY<STRING>";

/* Rows of literals in the types of a schema. */
typedef struct {
  BaseType *schema;
  GString *sql;
  guint n_rows;
  guint n_cells; /* of the row being written */
} Rows;

static gboolean
rows_begin (Rows *rows, const char *ddl, GError **error)
{
  *rows = (Rows){ .schema = sql_parse_schema (ddl, -1, error), .sql = g_string_new (NULL) };
  return rows->schema != NULL;
}

static void
rows_clear (Rows *rows)
{
  g_clear_pointer (&rows->schema, base_type_unref);
  if (rows->sql != NULL)
    g_string_free (g_steal_pointer (&rows->sql), TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rows, rows_clear)

/* Appends one cell; @literal is DuckDB text. */
static void
add_cell (Rows *rows, const char *literal)
{
  g_autofree char *type = duck_type_text (base_type_field (rows->schema, rows->n_cells)->type);
  if (rows->n_cells == 0)
    g_string_append (rows->sql, rows->n_rows++ > 0 ? " UNION ALL SELECT " : "SELECT ");
  else
    g_string_append (rows->sql, ", ");
  g_string_append_printf (rows->sql, "CAST(%s AS %s) AS c%u", literal, type, rows->n_cells);
  rows->n_cells = (rows->n_cells + 1) % base_type_n_fields (rows->schema);
}

static void
add_text (Rows *rows, const char *text)
{
  g_autofree char *literal = text != NULL ? base_text_sql_literal (text) : g_strdup ("NULL");
  add_cell (rows, literal);
}

static void
add_int (Rows *rows, gint64 value, gboolean is_null)
{
  g_autofree char *literal = is_null ? g_strdup ("NULL") : g_strdup_printf ("%" G_GINT64_FORMAT, value);
  add_cell (rows, literal);
}

static void
add_time_ms (Rows *rows, gint64 time_ms)
{
  g_autofree char *literal =
      time_ms < 0 ? g_strdup ("NULL") : g_strdup_printf ("make_timestamptz(%" G_GINT64_FORMAT ")", time_ms * 1000);
  add_cell (rows, literal);
}

static void
add_list (Rows *rows, const char *const *texts)
{
  g_autoptr (GString) literal = g_string_new ("[");
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++) {
    g_string_append (literal, i > 0 ? ", " : "");
    base_text_append_sql_literal (literal, texts[i]);
  }
  g_string_append_c (literal, ']');
  add_cell (rows, literal->str);
}

/* A JSON object as MAP<STRING, STRING>: texts as they are, other values as JSON text. NULL stays NULL. */
static void
add_map (Rows *rows, const json_t *object)
{
  if (!json_is_object (object)) {
    add_cell (rows, "NULL");
    return;
  }
  if (json_object_size (object) == 0) {
    add_cell (rows, "map([]::VARCHAR[], []::VARCHAR[])");
    return;
  }
  g_autoptr (GString) keys = g_string_new (NULL);
  g_autoptr (GString) values = g_string_new (NULL);
  const char *key;
  json_t *value;
  json_object_foreach ((json_t *) object, key, value)
  {
    g_autofree char *text = json_is_string (value) ? g_strdup (json_string_value (value)) : base_json_text (value);
    g_string_append (keys, keys->len > 0 ? ", " : "");
    base_text_append_sql_literal (keys, key);
    g_string_append (values, values->len > 0 ? ", " : "");
    if (json_is_null (value))
      g_string_append (values, "NULL");
    else
      base_text_append_sql_literal (values, text);
  }
  g_autofree char *literal = g_strdup_printf ("map([%s], [%s]::VARCHAR[])", keys->str, values->str);
  add_cell (rows, literal);
}

static void
rows_to_result (Rows *rows, DmlResult *result)
{
  dml_result_clear (result);
  result->schema = base_type_ref (rows->schema);
  if (rows->n_rows > 0) {
    result->sql = g_strdup (rows->sql->str);
    return;
  }
  /* A log whose commits are all cleaned away has no history, but columns. */
  for (guint i = 0; i < base_type_n_fields (rows->schema); i++)
    add_cell (rows, "NULL");
  result->sql = g_strconcat (rows->sql->str, " WHERE false", NULL);
}

/* A JSON object as the STRUCT of texts that the column is. NULL stays NULL. */
static void
add_struct (Rows *rows, const json_t *object)
{
  const BaseType *type = base_type_field (rows->schema, rows->n_cells)->type;
  g_autoptr (GString) literal = g_string_new ("struct_pack(");
  if (!json_is_object (object)) {
    add_cell (rows, "NULL");
    return;
  }
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const char *name = base_type_field (type, i)->name;
    const json_t *value = json_object_get (object, name);
    g_autofree char *text = json_is_string (value)                   ? g_strdup (json_string_value (value))
                            : value != NULL && !json_is_null (value) ? base_json_text (value)
                                                                     : NULL;
    g_string_append (literal, i > 0 ? ", " : "");
    base_text_append_sql_identifier (literal, name);
    g_string_append (literal, " := ");
    if (text != NULL)
      base_text_append_sql_literal (literal, text);
    else
      g_string_append (literal, "NULL::VARCHAR");
  }
  g_string_append_c (literal, ')');
  add_cell (rows, literal->str);
}

static void
add_history_row (Rows *rows, const DeltaHistoryEntry *entry)
{
  const json_t *info = entry->commit_info;
  add_int (rows, entry->version, FALSE);
  add_time_ms (rows, entry->timestamp_ms);
  add_text (rows, info != NULL ? base_json_string (info, "userId") : NULL);
  add_text (rows, info != NULL ? base_json_string (info, "userName") : NULL);
  add_text (rows, info != NULL ? base_json_string (info, "operation") : NULL);
  add_map (rows, info != NULL ? json_object_get (info, "operationParameters") : NULL);
  add_struct (rows, info != NULL ? json_object_get (info, "job") : NULL);
  add_struct (rows, info != NULL ? json_object_get (info, "notebook") : NULL);
  add_text (rows, info != NULL ? base_json_string (info, "clusterId") : NULL);
  const json_t *read_version = info != NULL ? json_object_get (info, "readVersion") : NULL;
  add_int (rows, json_integer_value (read_version), !json_is_integer (read_version));
  add_text (rows, info != NULL ? base_json_string (info, "isolationLevel") : NULL);
  const json_t *blind = info != NULL ? json_object_get (info, "isBlindAppend") : NULL;
  add_cell (rows, json_is_boolean (blind) ? (json_is_true (blind) ? "true" : "false") : "NULL");
  add_map (rows, info != NULL ? json_object_get (info, "operationMetrics") : NULL);
  add_text (rows, info != NULL ? base_json_string (info, "userMetadata") : NULL);
  add_text (rows, info != NULL ? base_json_string (info, "engineInfo") : NULL);
}

gboolean
dml_describe_history (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlDescribe *describe = &statement->u.describe;
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) snapshot = dml_open (context, &describe->name, &reference, error);
  if (snapshot == NULL)
    return FALSE;
  guint n_most = 0;
  if (describe->limit != NULL) {
    g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_LONG);
    g_autoptr (RelationLiteral) limit = relation_eval_constant (describe->limit, type, context->relation, error);
    if (limit == NULL)
      return FALSE;
    n_most = limit->is_null ? 0 : (guint) CLAMP (limit->integer, 1, G_MAXINT);
  }
  g_autoptr (GPtrArray) history = delta_table_history (delta_snapshot_table (snapshot), n_most, context->cancel, error);
  g_auto (Rows) rows = { 0 };
  if (history == NULL || !rows_begin (&rows, history_ddl, error))
    return FALSE;
  for (guint i = 0; i < history->len; i++)
    add_history_row (&rows, g_ptr_array_index (history, i));
  rows_to_result (&rows, result);
  return TRUE;
}

gboolean
dml_describe_detail (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlDescribe *describe = &statement->u.describe;
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) snapshot = dml_open (context, &describe->name, &reference, error);
  g_auto (Rows) rows = { 0 };
  if (snapshot == NULL || !rows_begin (&rows, detail_ddl, error))
    return FALSE;
  DeltaMetadata *metadata = delta_snapshot_metadata (snapshot);
  DeltaProtocol *protocol = delta_snapshot_protocol (snapshot);
  g_autofree char *name =
      reference.entry != NULL ? g_strdup_printf ("%s.%s.%s", CATALOG_NAME, reference.schema, reference.name) : NULL;
  g_autofree char *location = g_strconcat ("file:", delta_table_location (delta_snapshot_table (snapshot)), NULL);
  g_auto (GStrv) clustering = dml_clustering_columns (snapshot);
  /* Those that legacy versions imply are features too. */
  g_autoptr (DeltaProtocol) spelt = delta_protocol_with_versions (protocol, 1, 7);
  g_autoptr (json_t) properties = json_object ();
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  for (guint i = 0; keys[i] != NULL; i++)
    json_object_set_new (properties, keys[i], json_string (delta_metadata_property (metadata, keys[i])));

  add_text (&rows, "delta");
  add_text (&rows, delta_metadata_id (metadata));
  add_text (&rows, name);
  add_text (&rows, delta_metadata_description (metadata));
  add_text (&rows, location);
  add_time_ms (&rows, delta_metadata_created_ms (metadata));
  add_time_ms (&rows, delta_snapshot_timestamp_ms (snapshot));
  add_list (&rows, delta_metadata_partition_columns (metadata));
  add_list (&rows, (const char *const *) clustering);
  add_int (&rows, delta_snapshot_n_files (snapshot), FALSE);
  add_int (&rows, delta_snapshot_size_bytes (snapshot), FALSE);
  add_map (&rows, properties);
  add_int (&rows, delta_protocol_reader_version (protocol), FALSE);
  add_int (&rows, delta_protocol_writer_version (protocol), FALSE);
  add_list (&rows, delta_protocol_writer_features (spelt));
  rows_to_result (&rows, result);
  return TRUE;
}

static void
add_fact (const char *name, const char *value, gpointer rows)
{
  add_text (rows, name);
  add_text (rows, value);
}

gboolean
dml_describe_auto_cdc (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlName *name = &statement->u.describe.name;
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) snapshot = dml_open (context, name, &reference, error);
  g_auto (Rows) rows = { 0 };
  if (snapshot == NULL || !rows_begin (&rows, "name STRING, value STRING", error))
    return FALSE;
  g_autofree char *text = dml_reference_text (&reference);
  if (!autocdc_describe (snapshot, text, context->duck, add_fact, &rows, context->cancel, error)) {
    sql_position_add_to_error (&name->position, error);
    return FALSE;
  }
  rows_to_result (&rows, result);
  return TRUE;
}

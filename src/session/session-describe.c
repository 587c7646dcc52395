/* DESCRIBE: columns of tables, views and queries; facts of schemas and functions. */
#include "session-private.h"

#include <base-error.h>
#include <base-json.h>
#include <base-text.h>
#include <delta-metadata.h>
#include <delta-snapshot.h>
#include <dml.h>
#include <relation-function.h>
#include <string.h>

static const char *const describe_columns[] = { "col_name", "data_type", "comment", NULL };

/* A plan of `SELECT * FROM` the name that @reference was resolved from. */
static RelationPlan *
plan_of_name (const SessionCall *call, const CatalogReference *reference, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  const char *parts[2] = { reference->schema, reference->name };
  gboolean is_temporary = reference->kind == CATALOG_REFERENCE_TEMPORARY_VIEW;
  SqlName name = sql_build_name (arena, is_temporary ? parts + 1 : parts, is_temporary ? 1 : 2);
  SqlQuery *query = sql_build_select_all (arena, &name, FALSE);

  return relation_plan_new_query (query, &call->context, error);
}

BaseType *
session_reference_schema (const SessionCall *call, const CatalogReference *reference, GError **error)
{
  if (reference->kind == CATALOG_REFERENCE_VIEW || reference->kind == CATALOG_REFERENCE_TEMPORARY_VIEW) {
    g_autoptr (RelationPlan) plan = plan_of_name (call, reference, error);
    return plan == NULL ? NULL : base_type_ref (relation_plan_schema (plan));
  }
  g_autoptr (DeltaSnapshot) snapshot =
      catalog_session_snapshot (call->session->names, reference, -1, RELATION_NO_TIME, error);
  return snapshot == NULL ? NULL : base_type_ref (delta_snapshot_schema (snapshot));
}

static void
add_pair (GPtrArray *pairs, const char *key, const char *value)
{
  g_ptr_array_add (pairs, g_strdup (key));
  g_ptr_array_add (pairs, g_strdup (value));
}

char **
session_reference_properties (const SessionCall *call, const CatalogReference *reference, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autofree const char **keys = NULL;
  GPtrArray *pairs;

  if (reference->kind == CATALOG_REFERENCE_VIEW)
    return reference->entry->properties != NULL ? g_strdupv (reference->entry->properties) : g_new0 (char *, 1);
  if (reference->kind == CATALOG_REFERENCE_TEMPORARY_VIEW)
    return g_new0 (char *, 1);
  snapshot = catalog_session_snapshot (call->session->names, reference, -1, RELATION_NO_TIME, error);
  if (snapshot == NULL)
    return NULL;
  pairs = g_ptr_array_new ();
  keys = delta_metadata_property_keys (delta_snapshot_metadata (snapshot));
  for (guint i = 0; keys[i] != NULL; i++)
    add_pair (pairs, keys[i], delta_metadata_property (delta_snapshot_metadata (snapshot), keys[i]));
  {
    DeltaProtocol *protocol = delta_snapshot_protocol (snapshot);
    g_autofree char *reader = g_strdup_printf ("%d", delta_protocol_reader_version (protocol));
    g_autofree char *writer = g_strdup_printf ("%d", delta_protocol_writer_version (protocol));
    add_pair (pairs, "delta.minReaderVersion", reader);
    add_pair (pairs, "delta.minWriterVersion", writer);
  }
  g_ptr_array_add (pairs, NULL);
  return (char **) g_ptr_array_free (pairs, FALSE);
}

/* @view_columns: (nullable): name, comment, … of a view that declared them. */
static void
add_fields (SessionRows *rows, const BaseType *schema, char *const *view_columns)
{
  guint n_declared = view_columns == NULL ? 0 : g_strv_length ((char **) view_columns) / 2;

  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    g_autofree char *type = base_type_text (field->type);
    if (i < n_declared && view_columns[2 * i + 1][0] != '\0') {
      session_rows_add (rows, field->name, type, view_columns[2 * i + 1]);
      continue;
    }
    session_rows_add (rows, field->name, type,
                      field->metadata != NULL ? base_json_string (field->metadata, "comment") : NULL);
  }
}

/* @names: (nullable): columns of the table, under a title; nothing for none. */
static void
add_named_fields (SessionRows *rows, const char *title, const BaseType *schema, const char *const *names)
{
  if (names == NULL || names[0] == NULL)
    return;
  session_rows_add (rows, title, "", "");
  session_rows_add (rows, "# col_name", "data_type", "comment");
  for (guint i = 0; names[i] != NULL; i++) {
    int index = base_type_field_index (schema, names[i], TRUE);
    g_autofree char *type = index < 0 ? NULL : base_type_text (base_type_field (schema, (guint) index)->type);
    session_rows_add (rows, names[i], type != NULL ? type : "", NULL);
  }
}

/* `[a=1,b=2]`. Returns: (transfer full). */
static char *
pairs_text (char *const *pairs)
{
  GString *text = g_string_new ("[");

  for (guint i = 0; pairs != NULL && pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
    g_string_append_printf (text, "%s%s=%s", i == 0 ? "" : ",", pairs[i], pairs[i + 1]);
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static void
add_fact (SessionRows *rows, const char *name, const char *value)
{
  if (value != NULL)
    session_rows_add (rows, name, value, "");
}

static void
add_facts (SessionRows *rows, const CatalogReference *reference, DeltaSnapshot *snapshot, char *const *properties)
{
  const CatalogEntry *entry = reference->entry;
  const char *comment = snapshot != NULL ? delta_metadata_description (delta_snapshot_metadata (snapshot))
                        : entry != NULL  ? entry->comment
                                         : NULL;

  session_rows_add (rows, "", "", "");
  session_rows_add (rows, "# Detailed Table Information", "", "");
  if (entry != NULL) {
    g_autofree char *created = entry->created_us > 0 ? base_clock_text_us (entry->created_us) : NULL;
    add_fact (rows, "Catalog", CATALOG_NAME);
    add_fact (rows, "Database", entry->schema);
    add_fact (rows, "Table", entry->name);
    add_fact (rows, "Owner", entry->owner);
    add_fact (rows, "Created Time", created);
    add_fact (rows, "Type", catalog_kind_text (entry->kind, entry->is_managed));
    add_fact (rows, "Pipeline", entry->owner_pipeline);
  }
  add_fact (rows, "Provider", reference->provider);
  add_fact (rows, "Comment", comment);
  add_fact (rows, "Location", reference->location);
  if (properties != NULL && properties[0] != NULL) {
    g_autofree char *text = pairs_text (properties);
    add_fact (rows, "Table Properties", text);
  }
  if (entry != NULL && entry->kind == CATALOG_KIND_VIEW) {
    add_fact (rows, "View Text", entry->view_text);
    add_fact (rows, "View Catalog and Namespace", entry->view_schema);
  }
}

static gboolean
describe_column (const SqlDescribe *describe, const BaseType *schema, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "info_name", "info_value", NULL };
  const char *name = describe->column.parts[0].text;
  int index = describe->column.n == 1 ? base_type_field_index (schema, name, TRUE) : -1;
  const BaseField *field;
  g_autofree char *type = NULL;
  const char *comment;
  SessionRows *rows;

  if (index < 0) {
    base_error_set (error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION, "there is no column `%s`", name);
    return session_fail_at (&describe->column.position, error);
  }
  field = base_type_field (schema, (guint) index);
  type = base_type_text (field->type);
  comment = field->metadata != NULL ? base_json_string (field->metadata, "comment") : NULL;
  rows = session_rows_new (columns);
  session_rows_add (rows, "col_name", field->name);
  session_rows_add (rows, "data_type", type);
  session_rows_add (rows, "comment", comment != NULL ? comment : "NULL");
  session_rows_end (rows, answer);
  return TRUE;
}

/* Version or time of `t VERSION AS OF …`. */
static gboolean
travel_of (const SessionCall *call, const SqlTravel *travel, gint64 *version, gint64 *timestamp_us, GError **error)
{
  BaseTypeKind kind = travel->kind == SQL_TRAVEL_VERSION ? BASE_TYPE_LONG : BASE_TYPE_TIMESTAMP;
  g_autoptr (BaseType) type = base_type_simple (kind);
  g_autoptr (RelationLiteral) value = NULL;

  if (travel->kind == SQL_TRAVEL_NONE)
    return TRUE;
  if (travel->kind == SQL_TRAVEL_AT_TIMESTAMP) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "DESCRIBE takes VERSION AS OF or TIMESTAMP AS OF");
    return session_fail_at (&travel->position, error);
  }
  value = relation_eval_constant (travel->value, type, &call->context, error);
  if (value == NULL)
    return FALSE;
  if (value->is_null) {
    base_error_set (error, SLUICE_ERROR_DELTA_TIMESTAMP_INVALID, "a version or timestamp must not be NULL");
    return session_fail_at (&travel->position, error);
  }
  if (kind == BASE_TYPE_LONG)
    *version = value->integer;
  else
    *timestamp_us = value->integer;
  return TRUE;
}

static gboolean
describe_table (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  const SqlDescribe *describe = &call->statement->u.describe;
  CatalogSession *names = call->session->names;
  g_autofree const char **parts = sql_name_parts (&describe->name);
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (BaseType) schema = NULL;
  gint64 version = -1, timestamp_us = RELATION_NO_TIME;
  SessionRows *rows;

  if (describe->as_json || describe->n_partition > 0) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "this form of DESCRIBE is not supported");
    return session_fail_at (&call->statement->position, error);
  }
  if (!travel_of (call, &describe->travel, &version, &timestamp_us, error))
    return FALSE;
  if (!catalog_session_resolve (names, parts, describe->name.n, &reference, error))
    return session_fail_at (&describe->name.position, error);
  if (reference.kind == CATALOG_REFERENCE_ABSENT) {
    catalog_session_set_not_found (names, parts, describe->name.n, error);
    return session_fail_at (&describe->name.position, error);
  }
  if (reference.kind == CATALOG_REFERENCE_TABLE || reference.kind == CATALOG_REFERENCE_PATH) {
    snapshot = catalog_session_snapshot (names, &reference, version, timestamp_us, error);
    schema = snapshot == NULL ? NULL : base_type_ref (delta_snapshot_schema (snapshot));
  } else {
    schema = session_reference_schema (call, &reference, error);
  }
  if (schema == NULL)
    return session_fail_at (&describe->name.position, error);
  if (describe->column.n > 0)
    return describe_column (describe, schema, answer, error);
  rows = session_rows_new (describe_columns);
  add_fields (rows, schema, reference.entry != NULL ? reference.entry->view_columns : NULL);
  if (snapshot != NULL) { /* as Spark shows them */
    g_auto (GStrv) clustering = dml_clustering_columns (snapshot);
    add_named_fields (rows, "# Partition Information", schema,
                      delta_metadata_partition_columns (delta_snapshot_metadata (snapshot)));
    add_named_fields (rows, "# Clustering Information", schema, (const char *const *) clustering);
  }
  if (describe->extended) {
    g_auto (GStrv) properties = session_reference_properties (call, &reference, NULL);
    add_facts (rows, &reference, snapshot, properties);
  }
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
describe_query (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  g_autoptr (RelationPlan) plan = relation_plan_new_query (call->statement->u.describe.query, &call->context, error);
  SessionRows *rows;

  if (plan == NULL)
    return FALSE;
  rows = session_rows_new (describe_columns);
  add_fields (rows, relation_plan_schema (plan), NULL);
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
describe_schema (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "info_name", "info_value", NULL };
  const SqlDescribe *describe = &call->statement->u.describe;
  SluiceSession *session = call->session;
  g_autofree const char **parts = sql_name_parts (&describe->name);
  g_autofree char *name = catalog_session_schema_of (session->names, parts, describe->name.n, error);
  g_autoptr (CatalogSchema) schema = NULL;
  SessionRows *rows;

  if (name == NULL || !catalog_schema_find (session->warehouse->catalog, name, &schema, error))
    return session_fail_at (&describe->name.position, error);
  if (schema == NULL) {
    base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_FOUND, "the schema `%s` cannot be found", name);
    base_error_add_param (error, "schemaName", name);
    return session_fail_at (&describe->name.position, error);
  }
  rows = session_rows_new (columns);
  session_rows_add (rows, "Catalog Name", CATALOG_NAME);
  session_rows_add (rows, "Namespace Name", schema->name);
  session_rows_add (rows, "Comment", schema->comment != NULL ? schema->comment : "");
  session_rows_add (rows, "Location", schema->location);
  if (describe->extended) {
    g_autofree char *properties = pairs_text (schema->properties);
    session_rows_add (rows, "Properties", properties);
  }
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
describe_function (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "function_desc", NULL };
  const SqlDescribe *describe = &call->statement->u.describe;
  const char *name = describe->name.n > 0 ? describe->name.parts[describe->name.n - 1].text : "";
  const RelationFunction *found[8];
  guint n = relation_function_find (name, found, G_N_ELEMENTS (found));
  g_autofree char *first = g_strconcat ("Function: ", name, NULL);
  SessionRows *rows;

  if (n == 0) {
    g_autofree char *near_names = NULL;
    guint n_names;
    const char *const *all = relation_function_names (&n_names);
    near_names = base_text_near_names (name, all, 3);
    base_error_set (error, SLUICE_ERROR_UNRESOLVED_ROUTINE, "there is no function `%s`", name);
    if (near_names != NULL)
      base_error_set_hint (error, "did you mean %s?", near_names);
    return session_fail_at (&describe->name.position, error);
  }
  rows = session_rows_new (columns);
  session_rows_add (rows, first);
  for (guint i = 0; i < MIN (n, G_N_ELEMENTS (found)); i++) {
    g_autofree char *usage = g_strconcat ("Usage: ", found[i]->doc, NULL);
    session_rows_add (rows, usage);
  }
  session_rows_end (rows, answer);
  return TRUE;
}

gboolean
session_describe (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  switch (call->statement->u.describe.kind) {
  case SQL_DESCRIBE_TABLE:
    return describe_table (call, answer, error);
  case SQL_DESCRIBE_QUERY:
    return describe_query (call, answer, error);
  case SQL_DESCRIBE_SCHEMA:
    return describe_schema (call, answer, error);
  case SQL_DESCRIBE_FUNCTION:
    return describe_function (call, answer, error);
  case SQL_DESCRIBE_HISTORY:
  case SQL_DESCRIBE_DETAIL:
  case SQL_DESCRIBE_AUTO_CDC:
  case SQL_DESCRIBE_CATALOG:
    break;
  }
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "this form of DESCRIBE is not supported");
  return session_fail_at (&call->statement->position, error);
}

/* SHOW: columns and their names as Spark answers. */
#include "session-private.h"

#include <base-error.h>
#include <base-json.h>
#include <base-text.h>
#include <delta-metadata.h>
#include <delta-snapshot.h>
#include <dml.h>
#include <relation-function.h>
#include <sql-print.h>
#include <string.h>

/* Spark's pattern of SHOW: alternatives by `|`, `*` for any text, case-insensitive; NULL matches all. */
static gboolean
matches (const char *pattern, const char *name)
{
  g_auto (GStrv) alternatives = NULL;
  g_autofree char *folded = g_ascii_strdown (name, -1);

  if (pattern == NULL)
    return TRUE;
  alternatives = g_strsplit (pattern, "|", 0);
  for (char **alternative = alternatives; *alternative != NULL; alternative++) {
    g_autofree char *glob = g_ascii_strdown (g_strstrip (*alternative), -1);
    g_autoptr (GString) plain = g_string_new (NULL);
    /* `?` is a plain character here, and cannot be in a name. */
    for (const char *c = glob; *c != '\0'; c++)
      g_string_append_c (plain, *c == '?' ? '\001' : *c);
    if (g_pattern_match_simple (plain->str, folded))
      return TRUE;
  }
  return FALSE;
}

/* The schema of IN, which must exist. Returns: (transfer full). */
static char *
schema_of_show (const SessionCall *call, const SqlName *in, GError **error)
{
  SluiceSession *session = call->session;
  g_autofree const char **parts = sql_name_parts (in);
  g_autofree char *schema = catalog_session_schema_of (session->names, parts, in->n, error);
  gboolean exists = FALSE;

  if (schema != NULL && !catalog_schema_exists (session->warehouse->catalog, schema, &exists, error))
    return NULL;
  if (schema != NULL && exists)
    return g_steal_pointer (&schema);
  if (schema != NULL) {
    base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_FOUND, "the schema `%s` cannot be found", schema);
    base_error_add_param (error, "schemaName", schema);
  }
  session_fail_at (&in->position, error);
  return NULL;
}

static gboolean
show_tables (const SessionCall *call, gboolean views_only, SessionAnswer *answer, GError **error)
{
  static const char *const table_columns[] = { "namespace", "tableName", "isTemporary?", NULL };
  static const char *const view_columns[] = { "namespace", "viewName", "isTemporary?", NULL };
  const SqlShow *show = &call->statement->u.show;
  SluiceSession *session = call->session;
  g_autofree char *schema = schema_of_show (call, &show->in, error);
  g_autoptr (GPtrArray) entries = NULL;
  g_auto (GStrv) temporary = catalog_session_temporary_views (session->names);
  SessionRows *rows;

  if (schema == NULL || (entries = catalog_list (session->warehouse->catalog, schema, error)) == NULL)
    return FALSE;
  rows = session_rows_new (views_only ? view_columns : table_columns);
  for (guint i = 0; i < entries->len; i++) {
    const CatalogEntry *entry = g_ptr_array_index (entries, i);
    if (!entry->is_private && (!views_only || entry->kind == CATALOG_KIND_VIEW) && matches (show->pattern, entry->name))
      session_rows_add (rows, entry->schema, entry->name, "false");
  }
  for (char **name = temporary; *name != NULL; name++)
    if (matches (show->pattern, *name))
      session_rows_add (rows, "", *name, "true");
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
show_schemas (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "namespace", NULL };
  g_auto (GStrv) names = catalog_schema_list (call->session->warehouse->catalog, error);
  SessionRows *rows;

  if (names == NULL)
    return FALSE;
  rows = session_rows_new (columns);
  for (char **name = names; *name != NULL; name++)
    if (matches (call->statement->u.show.pattern, *name))
      session_rows_add (rows, *name);
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
show_catalogs (const SessionCall *call, SessionAnswer *answer)
{
  static const char *const columns[] = { "catalog", NULL };
  SessionRows *rows = session_rows_new (columns);

  if (matches (call->statement->u.show.pattern, CATALOG_NAME))
    session_rows_add (rows, CATALOG_NAME);
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
show_current_schema (const SessionCall *call, SessionAnswer *answer)
{
  static const char *const columns[] = { "catalog", "namespace", NULL };
  SessionRows *rows = session_rows_new (columns);

  session_rows_add (rows, CATALOG_NAME, catalog_session_schema (call->session->names));
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
show_functions (const SessionCall *call, SessionAnswer *answer)
{
  static const char *const columns[] = { "function", NULL };
  const SqlShow *show = &call->statement->u.show;
  SessionRows *rows = session_rows_new (columns);
  guint n;
  const char *const *names = relation_function_names (&n);
  const char *pattern = show->name.n > 0 ? show->name.parts[show->name.n - 1].text : show->pattern;

  for (guint i = 0; i < n; i++)
    if (matches (pattern, names[i]))
      session_rows_add (rows, names[i]);
  session_rows_end (rows, answer);
  return TRUE;
}

/* The name that SHOW is about; SHOW COLUMNS IN t IN s has the schema apart. Clear @reference. */
static gboolean
resolve_shown (const SessionCall *call, CatalogReference *reference, GError **error)
{
  const SqlShow *show = &call->statement->u.show;
  g_autofree const char **parts = sql_name_parts (&show->name);
  const char *joined[3] = { NULL };
  guint n = show->name.n;

  if (show->in.n > 0 && n == 1) {
    joined[0] = show->in.parts[show->in.n - 1].text;
    joined[1] = parts[0];
    n = 2;
  }
  if (!catalog_session_resolve (call->session->names, joined[0] != NULL ? joined : parts, n, reference, error))
    return session_fail_at (&show->name.position, error);
  if (reference->kind == CATALOG_REFERENCE_ABSENT) {
    catalog_session_set_not_found (call->session->names, joined[0] != NULL ? joined : parts, n, error);
    return session_fail_at (&show->name.position, error);
  }
  return TRUE;
}

static gboolean
show_columns (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "col_name", NULL };
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (BaseType) schema = NULL;
  SessionRows *rows;

  if (!resolve_shown (call, &reference, error))
    return FALSE;
  schema = session_reference_schema (call, &reference, error);
  if (schema == NULL)
    return FALSE;
  rows = session_rows_new (columns);
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    session_rows_add (rows, base_type_field (schema, i)->name);
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
show_properties (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "key", "value", NULL };
  const SqlShow *show = &call->statement->u.show;
  g_auto (CatalogReference) reference = { 0 };
  g_auto (GStrv) pairs = NULL;
  SessionRows *rows;
  gboolean found = FALSE;

  if (!resolve_shown (call, &reference, error) ||
      (pairs = session_reference_properties (call, &reference, error)) == NULL)
    return FALSE;
  rows = session_rows_new (columns);
  for (guint i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
    if (show->key == NULL || strcmp (show->key, pairs[i]) == 0) {
      session_rows_add (rows, pairs[i], pairs[i + 1]);
      found = TRUE;
    }
  if (show->key != NULL && !found) {
    g_autofree char *text = g_strdup_printf ("Table %s does not have property: %s", reference.name, show->key);
    session_rows_add (rows, show->key, text);
  }
  session_rows_end (rows, answer);
  return TRUE;
}

/* Returns: (transfer full): a string literal of Spark. */
static char *
literal_of (const char *text)
{
  return sql_print_string_literal (text, strlen (text));
}

static void
append_pairs (GString *out, const char *word, char *const *pairs)
{
  if (pairs == NULL || pairs[0] == NULL)
    return;
  g_string_append_printf (out, "%s (", word);
  for (guint i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2) {
    g_autofree char *key = literal_of (pairs[i]);
    g_autofree char *value = literal_of (pairs[i + 1]);
    g_string_append_printf (out, "%s\n  %s = %s", i == 0 ? "" : ",", key, value);
  }
  g_string_append (out, ")\n");
}

static void
append_create_view (GString *out, const CatalogEntry *entry)
{
  g_autofree char *name = catalog_entry_text (entry);

  g_string_append_printf (out, "CREATE VIEW %s", name);
  if (entry->view_columns != NULL && entry->view_columns[0] != NULL) {
    g_string_append (out, " (");
    for (guint i = 0; entry->view_columns[i] != NULL && entry->view_columns[i + 1] != NULL; i += 2) {
      g_autofree char *column = base_text_spark_identifier (entry->view_columns[i]);
      g_string_append_printf (out, "%s\n  %s", i == 0 ? "" : ",", column);
      if (entry->view_columns[i + 1][0] != '\0') {
        g_autofree char *comment = literal_of (entry->view_columns[i + 1]);
        g_string_append_printf (out, " COMMENT %s", comment);
      }
    }
    g_string_append_c (out, ')');
  }
  g_string_append_c (out, '\n');
  if (entry->comment != NULL) {
    g_autofree char *comment = literal_of (entry->comment);
    g_string_append_printf (out, "COMMENT %s\n", comment);
  }
  append_pairs (out, "TBLPROPERTIES", entry->properties);
  g_string_append_printf (out, "AS %s\n", entry->view_text);
}

/* `varchar(3)` for a column declared so, GENERATED, DEFAULT and COMMENT. */
static void
append_column (GString *out, const BaseField *field)
{
  const char *length =
      field->metadata != NULL ? base_json_string (field->metadata, "__CHAR_VARCHAR_TYPE_STRING") : NULL;
  const char *generated =
      field->metadata != NULL ? base_json_string (field->metadata, "delta.generationExpression") : NULL;
  const char *value = field->metadata != NULL ? base_json_string (field->metadata, "CURRENT_DEFAULT") : NULL;
  const char *comment = field->metadata != NULL ? base_json_string (field->metadata, "comment") : NULL;
  g_autofree char *name = base_text_spark_identifier (field->name);

  if (length != NULL && base_type_kind (field->type) == BASE_TYPE_STRING) {
    g_autofree char *type = g_ascii_strup (length, -1);
    g_string_append_printf (out, "%s %s%s", name, type, field->nullable ? "" : " NOT NULL");
  } else {
    BaseStructBuilder *one = base_struct_builder_new ();
    base_struct_builder_add (one, field->name, field->type, field->nullable, NULL);
    g_autoptr (BaseType) alone = base_struct_builder_end (one);
    g_autofree char *ddl = base_type_ddl (alone);
    g_string_append (out, ddl);
  }
  if (generated != NULL)
    g_string_append_printf (out, " GENERATED ALWAYS AS (%s)", generated);
  if (value != NULL)
    g_string_append_printf (out, " DEFAULT %s", value);
  if (comment != NULL) {
    g_autofree char *literal = literal_of (comment);
    g_string_append_printf (out, " COMMENT %s", literal);
  }
}

/* A list of names in parentheses behind a word, if there are any. */
static void
append_names (GString *out, const char *word, const char *const *names)
{
  if (names == NULL || names[0] == NULL)
    return;
  g_string_append_printf (out, "%s (", word);
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *column = base_text_spark_identifier (names[i]);
    g_string_append_printf (out, "%s%s", i == 0 ? "" : ", ", column);
  }
  g_string_append (out, ")\n");
}

/* Properties that CREATE TABLE takes: not those that the engine itself sets. */
static char **
settable_properties (char *const *pairs)
{
  static const char *const own[] = {
    "delta.columnMapping.maxColumnId",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.inCommitTimestampEnablementVersion",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.rowTracking.materializedRowIdColumnName",
    NULL,
  };
  GStrvBuilder *kept = g_strv_builder_new ();
  char **result;

  for (guint i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
    if (!g_strv_contains (own, pairs[i]))
      g_strv_builder_add_many (kept, pairs[i], pairs[i + 1], NULL);
  result = g_strv_builder_end (kept);
  g_strv_builder_unref (kept);
  return result;
}

static void
append_create_table (GString *out, const CatalogReference *reference, DeltaSnapshot *snapshot, char *const *properties)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (snapshot);
  const char *const *partitions = delta_metadata_partition_columns (metadata);
  BaseType *schema = delta_snapshot_schema (snapshot);
  g_auto (GStrv) clustering = dml_clustering_columns (snapshot);
  g_auto (GStrv) settable = settable_properties (properties);
  g_autofree char *name = reference->entry != NULL ? catalog_entry_text (reference->entry)
                                                   : g_strdup_printf ("delta.`%s`", reference->location);

  g_string_append_printf (out, "CREATE TABLE %s (", name);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    g_string_append (out, i == 0 ? "\n  " : ",\n  ");
    append_column (out, base_type_field (schema, i));
  }
  g_string_append (out, ")\nUSING delta\n");
  append_names (out, "PARTITIONED BY", partitions);
  append_names (out, "CLUSTER BY", (const char *const *) clustering);
  if (reference->entry != NULL && !reference->is_managed) {
    g_autofree char *location = literal_of (reference->location);
    g_string_append_printf (out, "LOCATION %s\n", location);
  }
  if (delta_metadata_description (metadata) != NULL) {
    g_autofree char *comment = literal_of (delta_metadata_description (metadata));
    g_string_append_printf (out, "COMMENT %s\n", comment);
  }
  append_pairs (out, "TBLPROPERTIES", settable);
}

static gboolean
show_create_table (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "createtab_stmt", NULL };
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (GString) text = g_string_new (NULL);
  SessionRows *rows;

  if (!resolve_shown (call, &reference, error))
    return FALSE;
  if (reference.kind == CATALOG_REFERENCE_VIEW) {
    append_create_view (text, reference.entry);
  } else if (reference.kind == CATALOG_REFERENCE_TEMPORARY_VIEW) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "SHOW CREATE TABLE does not show temporary views");
    return session_fail_at (&call->statement->u.show.name.position, error);
  } else {
    g_autoptr (DeltaSnapshot) snapshot =
        catalog_session_snapshot (call->session->names, &reference, -1, RELATION_NO_TIME, error);
    g_auto (GStrv) properties = NULL;
    if (snapshot == NULL || (properties = session_reference_properties (call, &reference, error)) == NULL)
      return session_fail_at (&call->statement->u.show.name.position, error);
    append_create_table (text, &reference, snapshot, properties);
  }
  rows = session_rows_new (columns);
  session_rows_add (rows, text->str);
  session_rows_end (rows, answer);
  return TRUE;
}

gboolean
session_show (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  switch (call->statement->u.show.kind) {
  case SQL_SHOW_TABLES:
    return show_tables (call, FALSE, answer, error);
  case SQL_SHOW_VIEWS:
    return show_tables (call, TRUE, answer, error);
  case SQL_SHOW_SCHEMAS:
    return show_schemas (call, answer, error);
  case SQL_SHOW_CATALOGS:
    return show_catalogs (call, answer);
  case SQL_SHOW_CURRENT_SCHEMA:
    return show_current_schema (call, answer);
  case SQL_SHOW_FUNCTIONS:
    return show_functions (call, answer);
  case SQL_SHOW_COLUMNS:
    return show_columns (call, answer, error);
  case SQL_SHOW_PROPERTIES:
    return show_properties (call, answer, error);
  case SQL_SHOW_CREATE_TABLE:
    return show_create_table (call, answer, error);
  case SQL_SHOW_TABLE_EXTENDED:
  case SQL_SHOW_PARTITIONS:
    break;
  }
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "this form of SHOW is not supported");
  return session_fail_at (&call->statement->position, error);
}

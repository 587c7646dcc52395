/* Dispatch of statements, and what they share. */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-private.h"
#include "sql-build.h"

#include <string.h>

void
dml_result_clear (DmlResult *result)
{
  g_clear_pointer (&result->schema, base_type_unref);
  g_clear_pointer (&result->sql, g_free);
  g_clear_pointer (&result->warning, g_free);
}

void
dml_result_empty (DmlResult *result)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  result->schema = base_struct_builder_end (g_steal_pointer (&builder));
  result->sql = NULL;
}

void
dml_result_inserted (DmlResult *result, guint64 n_rows)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  base_struct_builder_add (builder, "num_affected_rows", type, TRUE, NULL);
  base_struct_builder_add (builder, "num_inserted_rows", type, TRUE, NULL);
  result->schema = base_struct_builder_end (g_steal_pointer (&builder));
  result->sql = g_strdup_printf ("SELECT %" G_GUINT64_FORMAT "::BIGINT AS c0, %" G_GUINT64_FORMAT "::BIGINT AS c1",
                                 n_rows, n_rows);
}

gboolean
dml_unsupported (const SqlPosition *position, GError **error, const char *what, const char *hint)
{
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "%s is not supported.", what);
  if (hint != NULL)
    base_error_set_hint (error, "%s", hint);
  sql_position_add_to_error (position, error);
  return FALSE;
}

const char **
dml_name_parts (const SqlName *name, GError **error)
{
  if (name->n == 0) {
    dml_unsupported (&name->position, error, "IDENTIFIER(…) of anything but constant text in the name of a table",
                     NULL);
    return NULL;
  }
  return sql_name_parts (name);
}

gboolean
dml_resolve (const DmlContext *context, const SqlName *name, gboolean for_create, CatalogReference *reference,
             GError **error)
{
  g_autofree const char **parts = dml_name_parts (name, error);
  if (parts == NULL)
    return FALSE;
  g_auto (CatalogReference) found = { 0 };
  gboolean ok = catalog_session_resolve (context->names, parts, name->n, &found, error);
  if (ok && for_create && found.kind == CATALOG_REFERENCE_TEMPORARY_VIEW) {
    const char *qualified[3] = { catalog_session_schema (context->names), parts[0], NULL };
    catalog_reference_clear (&found);
    found = (CatalogReference){ 0 };
    ok = catalog_session_resolve (context->names, qualified, 2, &found, error);
  }
  if (!ok) {
    sql_position_add_to_error (&name->position, error);
    return FALSE;
  }
  *reference = found;
  found = (CatalogReference){ 0 };
  return TRUE;
}

char *
dml_reference_text (const CatalogReference *reference)
{
  if (reference->entry != NULL)
    return catalog_entry_text (reference->entry);
  if (reference->kind == CATALOG_REFERENCE_PATH)
    return g_strdup_printf ("%s.`%s`", reference->provider, reference->name);
  return g_strdup_printf ("`%s`.`%s`.`%s`", CATALOG_NAME, reference->schema != NULL ? reference->schema : "",
                          reference->name);
}

DeltaSnapshot *
dml_open (const DmlContext *context, const SqlName *name, CatalogReference *reference, GError **error)
{
  g_auto (CatalogReference) found = { 0 };
  if (!dml_resolve (context, name, FALSE, &found, error))
    return NULL;
  g_autofree char *text = dml_reference_text (&found);
  switch (found.kind) {
  case CATALOG_REFERENCE_ABSENT: {
    g_autofree const char **parts = dml_name_parts (name, error);
    (void) catalog_session_set_not_found (context->names, parts, name->n, error); /* always FALSE */
    sql_position_add_to_error (&name->position, error);
    return NULL;
  }
  case CATALOG_REFERENCE_VIEW:
  case CATALOG_REFERENCE_TEMPORARY_VIEW:
    base_error_set (error, SLUICE_ERROR_EXPECT_TABLE_NOT_VIEW, "%s is a view and not a table.", text);
    sql_position_add_to_error (&name->position, error);
    return NULL;
  case CATALOG_REFERENCE_TABLE:
  case CATALOG_REFERENCE_PATH:
    break;
  }
  if (found.provider != NULL && g_ascii_strcasecmp (found.provider, "delta") != 0) {
    dml_unsupported (&name->position, error, "This statement on a table that is not a Delta table", NULL);
    return NULL;
  }
  DeltaSnapshot *snapshot = catalog_session_snapshot (context->names, &found, -1, RELATION_NO_TIME, error);
  if (snapshot == NULL) {
    sql_position_add_to_error (&name->position, error);
    return NULL;
  }
  *reference = found;
  found = (CatalogReference){ 0 };
  return snapshot;
}

static const char *
user_metadata (const DmlContext *context)
{
  return base_settings_get (context->settings, "spark.databricks.delta.commitInfo.userMetadata");
}

WriteOptions
dml_write_options (const DmlContext *context)
{
  return (WriteOptions){ .cancel = context->cancel,
                         .clock = context->clock,
                         .context = context->relation,
                         .user_metadata = user_metadata (context) };
}

DeltaTransaction *
dml_transaction_new (const DmlContext *context, DeltaSnapshot *snapshot)
{
  DeltaTransaction *transaction = delta_transaction_new (delta_snapshot_table (snapshot), snapshot, &context->clock);
  delta_transaction_set_user_metadata (transaction, user_metadata (context));
  return transaction;
}

gboolean
dml_memory_open (const DmlContext *context, const CatalogReference *reference, DeltaSnapshot *snapshot,
                 AutoCdcDml **memory, GError **error)
{
  *memory = NULL;
  if (delta_snapshot_domain (snapshot, AUTOCDC_DOMAIN) == NULL)
    return TRUE;
  g_autofree char *name = dml_reference_text (reference);
  RelationContext relation = *context->relation;
  relation.session = context->duck;
  *memory = autocdc_dml_new (snapshot, name, &relation, base_clock_now_us (&context->clock), context->cancel, error);
  return *memory != NULL;
}

char *
dml_json_list (const char *const *texts)
{
  g_autoptr (json_t) list = json_array ();
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    json_array_append_new (list, json_string (texts[i]));
  return base_json_text (list);
}

char *
dml_json_object (GHashTable *texts)
{
  g_autoptr (json_t) object = json_object ();
  g_autoptr (GList) keys = g_list_sort (g_hash_table_get_keys (texts), (GCompareFunc) strcmp);
  for (GList *key = keys; key != NULL; key = key->next)
    json_object_set_new (object, key->data, json_string (g_hash_table_lookup (texts, key->data)));
  return base_json_text (object);
}

/* ---- dispatch ---- */

/* Statements that change tables in ways this engine does not know, by kind. */
static const struct {
  SqlStatementKind kind;
  const char *name;
  const char *hint;
} unsupported_statements[] = {
  { SQL_STATEMENT_ANALYZE, "ANALYZE TABLE", "Statistics are written with every file." },
  { SQL_STATEMENT_CONVERT, "CONVERT TO DELTA", "Use CREATE TABLE … AS SELECT * FROM parquet.`/dir`." },
  { SQL_STATEMENT_REFRESH, "REFRESH", "Run the pipeline that owns the table." },
  { SQL_STATEMENT_CREATE_FLOW, "CREATE FLOW outside of a pipeline",
    "Put it into a pipeline's file and use `sluice run`." },
};

gboolean
dml_handles (const SqlStatement *statement)
{
  switch (statement->kind) {
  case SQL_STATEMENT_CREATE_TABLE:
  case SQL_STATEMENT_INSERT:
  case SQL_STATEMENT_OPTIMIZE:
  case SQL_STATEMENT_REORG:
  case SQL_STATEMENT_DELETE:
  case SQL_STATEMENT_UPDATE:
  case SQL_STATEMENT_MERGE:
  case SQL_STATEMENT_TRUNCATE:
  case SQL_STATEMENT_RESTORE:
  case SQL_STATEMENT_ALTER:
  case SQL_STATEMENT_COMMENT:
  case SQL_STATEMENT_VACUUM:
    return TRUE;
  case SQL_STATEMENT_DROP:
    return statement->u.drop.object == SQL_OBJECT_TABLE || statement->u.drop.object == SQL_OBJECT_STREAMING_TABLE ||
           statement->u.drop.object == SQL_OBJECT_MATERIALIZED_VIEW;
  case SQL_STATEMENT_DESCRIBE:
    return statement->u.describe.kind == SQL_DESCRIBE_HISTORY || statement->u.describe.kind == SQL_DESCRIBE_DETAIL ||
           statement->u.describe.kind == SQL_DESCRIBE_AUTO_CDC;
  default:
    break;
  }
  for (guint i = 0; i < G_N_ELEMENTS (unsupported_statements); i++) {
    if (unsupported_statements[i].kind == statement->kind)
      return TRUE;
  }
  return FALSE;
}

gboolean
dml_execute (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  g_auto (DmlResult) answer = { 0 };
  gboolean ok = FALSE;
  dml_result_empty (&answer);
  switch (statement->kind) {
  case SQL_STATEMENT_CREATE_TABLE:
    ok = dml_create_table (context, statement, error);
    break;
  case SQL_STATEMENT_DROP:
    ok = dml_drop_table (context, statement, error);
    break;
  case SQL_STATEMENT_INSERT:
    ok = dml_insert (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_DELETE:
    ok = dml_delete (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_MERGE:
    ok = dml_merge (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_UPDATE:
    ok = dml_update (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_TRUNCATE:
    ok = dml_truncate (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_ALTER:
    ok = dml_alter (context, statement, error);
    break;
  case SQL_STATEMENT_COMMENT:
    ok = dml_comment (context, statement, error);
    break;
  case SQL_STATEMENT_DESCRIBE:
    ok = statement->u.describe.kind == SQL_DESCRIBE_HISTORY ? dml_describe_history (context, statement, &answer, error)
         : statement->u.describe.kind == SQL_DESCRIBE_DETAIL
             ? dml_describe_detail (context, statement, &answer, error)
             : dml_describe_auto_cdc (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_OPTIMIZE:
    ok = dml_optimize (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_REORG:
    ok = dml_reorg (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_RESTORE:
    ok = dml_restore (context, statement, &answer, error);
    break;
  case SQL_STATEMENT_VACUUM:
    ok = dml_vacuum (context, statement, &answer, error);
    break;
  default:
    for (guint i = 0; i < G_N_ELEMENTS (unsupported_statements); i++) {
      if (unsupported_statements[i].kind == statement->kind)
        return dml_unsupported (&statement->position, error, unsupported_statements[i].name,
                                unsupported_statements[i].hint);
    }
    return dml_unsupported (&statement->position, error, "This statement", NULL);
  }
  if (!ok)
    return FALSE;
  *result = answer;
  answer = (DmlResult){ 0 };
  return TRUE;
}

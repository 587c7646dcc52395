/* CREATE VIEW and DROP VIEW.
 *
 * A view is kept as the text of its query, checked by binding it once. Two rules are Spark's: a persisted view reads no
 * temporary one (INVALID_TEMP_OBJ_REFERENCE), and a view that is replaced does not come to read itself (RECURSIVE_VIEW), also not
 * through other views.
 */
#include "session-private.h"

#include <base-error.h>
#include <base-text.h>
#include <sql-walk.h>
#include <string.h>

#define MAX_DEPTH 100

/* What a view may not read. */
typedef struct {
  CatalogSession *names;
  const char *schema; /* (nullable): of the view that is made; NULL = temporary */
  const char *name;
  guint depth;
  gboolean in_view; /* the text looked at is a view's that is read, not the new one's */
  GError *error;    /* set at the first offence */
} ViewCheck;

static void check_query (ViewCheck *check, const SqlQuery *query);

static void
check_text (ViewCheck *check, const char *text)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  ViewCheck inner = *check;
  SqlQuery *query;

  if (text == NULL || check->depth >= MAX_DEPTH)
    return; /* binding says what is wrong with it */
  query = sql_parse_query (arena, text, -1, NULL, NULL);
  inner.depth++;
  inner.in_view = TRUE;
  if (query != NULL)
    check_query (&inner, query);
  check->error = inner.error;
}

static void
check_reference (const SqlRelation *relation, gpointer data)
{
  ViewCheck *check = data;
  g_auto (CatalogReference) reference = { 0 };
  g_autofree const char **parts = NULL;
  const SqlName *name;

  if (check->error != NULL || relation->kind != SQL_RELATION_TABLE)
    return;
  name = &relation->u.table.name;
  parts = sql_name_parts (name);
  if (name->n == 0 || !catalog_session_resolve (check->names, parts, name->n, &reference, NULL))
    return; /* binding says what is wrong with it */
  if (reference.kind == CATALOG_REFERENCE_TEMPORARY_VIEW) {
    if (check->schema != NULL && !check->in_view) {
      base_error_set (&check->error, SLUICE_ERROR_INVALID_TEMP_OBJ_REFERENCE,
                      "the view `%s` is kept, and cannot read the temporary view `%s`", check->name, reference.name);
      base_error_set_hint (&check->error, "make it a temporary view, or read a table");
      sql_position_add_to_error (&name->position, &check->error);
    } else if (check->schema == NULL && strcmp (reference.name, check->name) == 0) {
      base_error_set (&check->error, SLUICE_ERROR_RECURSIVE_VIEW, "the view `%s` would read itself", check->name);
      sql_position_add_to_error (&name->position, &check->error);
    } else {
      check_text (check, catalog_session_temporary_view_text (check->names, reference.name));
    }
  } else if (reference.kind == CATALOG_REFERENCE_VIEW) {
    if (check->schema != NULL && strcmp (reference.schema, check->schema) == 0 &&
        strcmp (reference.name, check->name) == 0) {
      base_error_set (&check->error, SLUICE_ERROR_RECURSIVE_VIEW, "the view `%s`.`%s` would read itself", check->schema,
                      check->name);
      sql_position_add_to_error (&name->position, &check->error);
    } else {
      check_text (check, reference.entry->view_text);
    }
  }
}

static void
check_query (ViewCheck *check, const SqlQuery *query)
{
  sql_query_each_reference (query, check_reference, check);
}

/* Binds the query once: its columns must have names of their own and be as many as were declared. */
static gboolean
check_columns (const SessionCall *call, const SqlCreateView *create, GError **error)
{
  g_autoptr (RelationPlan) plan = relation_plan_new_query (create->query, &call->context, error);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  BaseType *schema;
  guint n;

  if (plan == NULL)
    return FALSE;
  schema = relation_plan_schema (plan);
  n = base_type_n_fields (schema);
  if (create->columns.n > 0 && create->columns.n != n) {
    base_error_set (error,
                    create->columns.n > n ? SLUICE_ERROR_CREATE_VIEW_COLUMN_ARITY_MISMATCH_NOT_ENOUGH_DATA_COLUMNS
                                          : SLUICE_ERROR_CREATE_VIEW_COLUMN_ARITY_MISMATCH_TOO_MANY_DATA_COLUMNS,
                    "the view names %u columns, its query has %u", create->columns.n, n);
    return session_fail_at (&create->name.position, error);
  }
  for (guint i = 0; i < n; i++) {
    const char *name =
        create->columns.n > 0 ? create->columns.items[i].name.parts[0].text : base_type_field (schema, i)->name;
    if (!g_hash_table_add (seen, base_text_folded (name))) {
      base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS, "the view has two columns named `%s`", name);
      base_error_add_param (error, "columnName", name);
      return session_fail_at (&create->name.position, error);
    }
  }
  return TRUE;
}

static gboolean
check_view (const SessionCall *call, const SqlCreateView *create, const char *schema, const char *name, GError **error)
{
  ViewCheck check = { .names = call->session->names, .schema = schema, .name = name };

  if (create->expectations.n > 0) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "expectations belong to views of a pipeline");
    return session_fail_at (&create->name.position, error);
  }
  check_query (&check, create->query);
  if (check.error != NULL) {
    g_propagate_error (error, check.error);
    return FALSE;
  }
  return check_columns (call, create, error);
}

static gboolean
create_temporary_view (const SessionCall *call, const SqlCreateView *create, const char *text, GError **error)
{
  g_autofree const char **columns = g_new0 (const char *, create->columns.n + 1);
  g_autofree char *name = NULL;

  if (create->global || create->name.n != 1) {
    if (create->global)
      base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "global temporary views are not supported");
    else
      base_error_set (error, SLUICE_ERROR_TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS, "a temporary view's name has one part");
    return session_fail_at (&create->name.position, error);
  }
  name = g_ascii_strdown (create->name.parts[0].text, -1);
  if (!check_view (call, create, NULL, name, error))
    return FALSE;
  for (guint i = 0; i < create->columns.n; i++)
    columns[i] = create->columns.items[i].name.parts[0].text;
  if (!catalog_session_put_temporary_view (call->session->names, name, text, create->columns.n > 0 ? columns : NULL,
                                           create->or_replace, error))
    return session_fail_at (&create->name.position, error);
  return TRUE;
}

/* Schema and name of a persisted view as written. @schema, @name: (out) (transfer full). */
static gboolean
split_name (const SessionCall *call, const SqlName *name, char **schema, char **last, GError **error)
{
  g_autofree const char **parts = sql_name_parts (name);

  if (name->n == 0) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "a view's name must be written out");
    return session_fail_at (&name->position, error);
  }
  *schema = catalog_session_schema_of (call->session->names, parts, name->n - 1, error);
  if (*schema == NULL)
    return session_fail_at (&name->position, error);
  *last = g_ascii_strdown (parts[name->n - 1], -1);
  return TRUE;
}

static gboolean
set_exists (const SqlCreateView *create, const CatalogEntry *entry, GError **error)
{
  gboolean is_view = entry->kind == CATALOG_KIND_VIEW;
  g_autofree char *text = catalog_entry_text (entry);

  if (create->or_replace && !is_view) {
    base_error_set (error, SLUICE_ERROR_EXPECT_VIEW_NOT_TABLE, "%s is a table and cannot be replaced by a view", text);
  } else {
    base_error_set (error, SLUICE_ERROR_TABLE_OR_VIEW_ALREADY_EXISTS, "the %s %s exists already",
                    is_view ? "view" : "table", text);
    base_error_set_hint (error, "CREATE OR REPLACE VIEW replaces a view");
  }
  base_error_add_param (error, "relationName", text);
  return session_fail_at (&create->name.position, error);
}

static gboolean
create_kept_view (const SessionCall *call, const SqlCreateView *create, const char *text, GError **error)
{
  Catalog *catalog = call->session->warehouse->catalog;
  g_autofree char *schema = NULL, *name = NULL;
  g_autofree const char **properties = g_new0 (const char *, 2 * create->properties.n + 1);
  g_autofree const char **columns = g_new0 (const char *, 2 * create->columns.n + 1);
  g_autoptr (CatalogEntry) entry = NULL;
  CatalogOutcome outcome = CATALOG_CREATED;
  CatalogNew new_entry = { .kind = CATALOG_KIND_VIEW };

  if (!split_name (call, &create->name, &schema, &name, error))
    return FALSE;
  if (!catalog_find (catalog, schema, name, &entry, error))
    return FALSE;
  if (entry != NULL && create->if_not_exists)
    return TRUE;
  if (entry != NULL && (!create->or_replace || entry->kind != CATALOG_KIND_VIEW))
    return set_exists (create, entry, error);
  if (!check_view (call, create, schema, name, error))
    return FALSE;
  for (guint i = 0; i < create->properties.n; i++) {
    properties[2 * i] = create->properties.items[i].key;
    properties[2 * i + 1] = create->properties.items[i].value != NULL ? create->properties.items[i].value : "";
  }
  for (guint i = 0; i < create->columns.n; i++) {
    const char *comment = create->columns.items[i].comment;
    columns[2 * i] = create->columns.items[i].name.parts[0].text;
    columns[2 * i + 1] = comment != NULL ? comment : "";
  }
  new_entry.schema = schema;
  new_entry.name = name;
  new_entry.owner = call->session->warehouse->user;
  new_entry.comment = create->comment;
  new_entry.properties = properties;
  new_entry.view_text = text;
  new_entry.view_schema = catalog_session_schema (call->session->names);
  new_entry.view_columns = create->columns.n > 0 ? columns : NULL;
  new_entry.now_us = call->now_us;
  g_clear_pointer (&entry, catalog_entry_unref);
  if (create->or_replace ? !catalog_replace (catalog, &new_entry, NULL, error)
                         : !catalog_create (catalog, &new_entry, &outcome, &entry, error))
    return session_fail_at (&create->name.position, error);
  /* Another process was faster. */
  return outcome == CATALOG_CREATED || create->if_not_exists || set_exists (create, entry, error);
}

gboolean
session_create_view (const SessionCall *call, SessionAnswer *answer G_GNUC_UNUSED, GError **error)
{
  const SqlCreateView *create = &call->statement->u.create_view;
  g_autofree char *text = sql_position_text (&create->query->position);

  if (create->live || create->or_refresh) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "this form of CREATE VIEW belongs into a pipeline's files");
    return session_fail_at (&call->statement->position, error);
  }
  if (create->temporary || create->global)
    return create_temporary_view (call, create, text, error);
  return create_kept_view (call, create, text, error);
}

gboolean
session_drop_view (const SessionCall *call, SessionAnswer *answer G_GNUC_UNUSED, GError **error)
{
  const SqlDrop *drop = &call->statement->u.drop;
  CatalogSession *names = call->session->names;
  g_autofree const char **parts = sql_name_parts (&drop->name);
  g_auto (CatalogReference) reference = { 0 };

  if (!catalog_session_resolve (names, parts, drop->name.n, &reference, error))
    return session_fail_at (&drop->name.position, error);
  switch (reference.kind) {
  case CATALOG_REFERENCE_TEMPORARY_VIEW:
    (void) catalog_session_drop_temporary_view (names, reference.name); /* it is there */
    return TRUE;
  case CATALOG_REFERENCE_VIEW:
    return catalog_drop (call->session->warehouse->catalog, reference.schema, reference.name, NULL, error);
  case CATALOG_REFERENCE_TABLE:
    base_error_set (error, SLUICE_ERROR_EXPECT_VIEW_NOT_TABLE, "`%s` is a table: use DROP TABLE", reference.name);
    return session_fail_at (&drop->name.position, error);
  case CATALOG_REFERENCE_ABSENT:
  case CATALOG_REFERENCE_PATH:
    break;
  }
  if (drop->if_exists)
    return TRUE;
  catalog_session_set_not_found (names, parts, drop->name.n, error);
  return session_fail_at (&drop->name.position, error);
}

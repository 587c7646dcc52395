/* Schemas: rows of `schemas`. */
#include "catalog-private.h"

#include <base-error.h>
#include <base-text.h>
#include <glib/gstdio.h>
#include <store.h>
#include <string.h>

static char *
default_location (Catalog *catalog, const char *schema)
{
  g_autofree char *directory = NULL;

  if (strcmp (schema, CATALOG_DEFAULT_SCHEMA) == 0)
    return g_strdup (catalog->warehouse);
  directory = g_strconcat (schema, CATALOG_SCHEMA_SUFFIX, NULL);
  return g_build_filename (catalog->warehouse, directory, NULL);
}

static gboolean
set_schema_not_found (const char *schema, GError **error)
{
  base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_FOUND, "the schema `%s` cannot be found", schema);
  base_error_add_param (error, "schemaName", schema);
  base_error_set_hint (error, "SHOW SCHEMAS lists them; CREATE SCHEMA makes one");
  return FALSE;
}

static CatalogSchema *
default_schema (Catalog *catalog)
{
  CatalogSchema *schema = g_new0 (CatalogSchema, 1);
  schema->name = g_strdup (CATALOG_DEFAULT_SCHEMA);
  schema->location = default_location (catalog, CATALOG_DEFAULT_SCHEMA);
  schema->is_default_location = TRUE;
  return schema;
}

/* In a transaction. @schema: (out) (nullable). */
static gboolean
read_schema (Catalog *catalog, const char *name, CatalogSchema **schema, GError **error)
{
  g_autoptr (sqlite3_stmt) statement = NULL;
  g_autofree char *properties = NULL;
  gboolean has_row;
  CatalogSchema *found;

  statement = catalog_database_prepare (
      catalog->database, "SELECT location, comment, properties FROM schemas WHERE name = ?", "s", error, name);
  if (statement == NULL || !catalog_database_step (catalog->database, statement, &has_row, error))
    return FALSE;
  *schema = NULL;
  if (!has_row)
    return TRUE;
  found = g_new0 (CatalogSchema, 1);
  found->name = g_strdup (name);
  found->location = catalog_database_dup_text (statement, 0);
  found->comment = catalog_database_dup_text (statement, 1);
  properties = catalog_database_dup_text (statement, 2);
  found->properties = catalog_pairs_from_text (properties);
  found->is_default_location = found->location == NULL;
  if (found->location == NULL)
    found->location = default_location (catalog, name);
  *schema = found;
  return TRUE;
}

gboolean
catalog_schema_location (Catalog *catalog, const char *schema, char **location, GError **error)
{
  g_autoptr (CatalogSchema) found = NULL;

  if (!read_schema (catalog, schema, &found, error))
    return FALSE;
  *location = found == NULL ? NULL : g_steal_pointer (&found->location);
  return TRUE;
}

gboolean
catalog_schema_find (Catalog *catalog, const char *name, CatalogSchema **schema, GError **error)
{
  g_autofree char *folded = catalog_fold_name (name);
  gboolean is_there, ok;

  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_READ, &is_there, error))
    return FALSE;
  if (!is_there) {
    *schema = strcmp (folded, CATALOG_DEFAULT_SCHEMA) == 0 ? default_schema (catalog) : NULL;
    return TRUE;
  }
  ok = read_schema (catalog, folded, schema, error);
  (void) catalog_database_end (catalog->database, ok, NULL); /* it only read */
  return ok;
}

gboolean
catalog_schema_exists (Catalog *catalog, const char *name, gboolean *exists, GError **error)
{
  g_autoptr (CatalogSchema) schema = NULL;

  if (!catalog_schema_find (catalog, name, &schema, error))
    return FALSE;
  *exists = schema != NULL;
  return TRUE;
}

/* In a write transaction. */
static gboolean
insert_schema (Catalog *catalog, const char *name, const char *location, const char *comment,
               const char *const *properties, gboolean if_not_exists, GError **error)
{
  g_autoptr (CatalogSchema) existing = NULL;
  g_autofree char *pairs = catalog_pairs_to_text (properties);

  if (!read_schema (catalog, name, &existing, error))
    return FALSE;
  if (existing != NULL && if_not_exists)
    return TRUE;
  if (existing != NULL) {
    base_error_set (error, SLUICE_ERROR_SCHEMA_ALREADY_EXISTS, "the schema `%s` exists already", name);
    base_error_add_param (error, "schemaName", name);
    base_error_set_hint (error, "choose another name, or CREATE SCHEMA IF NOT EXISTS");
    return FALSE;
  }
  return store_context_step (catalog->stores, "catalog-put", name, error) &&
         catalog_database_run (catalog->database,
                               "INSERT INTO schemas (name, location, comment, properties) VALUES (?, ?, ?, ?)", "ssss",
                               error, name, location, comment, pairs);
}

gboolean
catalog_schema_create (Catalog *catalog, const char *name, const char *location, const char *comment,
                       const char *const *properties, gboolean if_not_exists, GError **error)
{
  g_autofree char *checked = catalog_check_name (name, error);
  g_autoptr (Store) store = NULL;
  gboolean is_there, ok;

  if (checked == NULL)
    return FALSE;
  if (location != NULL && (store = store_open (NULL, location, error)) == NULL)
    return FALSE;
  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_WRITE, &is_there, error))
    return FALSE;
  ok = insert_schema (catalog, checked, store == NULL ? NULL : store_root (store), comment, properties, if_not_exists,
                      error);
  return catalog_database_end (catalog->database, ok, ok ? error : NULL) && ok;
}

gboolean
catalog_schema_drop (Catalog *catalog, const char *name, gboolean if_exists, gboolean cascade, GError **error)
{
  g_autofree char *folded = catalog_fold_name (name);
  g_autoptr (CatalogSchema) schema = NULL;
  g_autoptr (GPtrArray) entries = NULL;
  gboolean is_there, ok;

  if (strcmp (folded, CATALOG_DEFAULT_SCHEMA) == 0)
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "the schema `default` cannot be dropped");
  if (!catalog_schema_find (catalog, folded, &schema, error))
    return FALSE;
  if (schema == NULL)
    return if_exists || set_schema_not_found (folded, error);
  if ((entries = catalog_list (catalog, folded, error)) == NULL)
    return FALSE;
  if (entries->len > 0 && !cascade) {
    base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_EMPTY, "the schema `%s` holds %u tables or views", folded,
                    entries->len);
    base_error_add_param (error, "schemaName", folded);
    base_error_set_hint (error, "drop them first, or DROP SCHEMA … CASCADE");
    return FALSE;
  }
  for (guint i = 0; i < entries->len; i++) {
    const CatalogEntry *entry = g_ptr_array_index (entries, i);
    if (!catalog_drop (catalog, entry->schema, entry->name, NULL, error))
      return FALSE;
  }
  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_WRITE, &is_there, error))
    return FALSE;
  /* Rows without a log are no tables, and would keep the schema for ever. */
  ok = store_context_step (catalog->stores, "catalog-delete", folded, error) &&
       catalog_database_run (catalog->database, "DELETE FROM entries WHERE schema = ?", "s", error, folded) &&
       catalog_database_run (catalog->database, "DELETE FROM schemas WHERE name = ?", "s", error, folded);
  if (!catalog_database_end (catalog->database, ok, ok ? error : NULL) || !ok)
    return FALSE;
  if (schema->is_default_location)
    (void) g_rmdir (schema->location); /* foreign files in it keep it */
  return TRUE;
}

/* In a transaction. */
static gboolean
read_names (Catalog *catalog, GPtrArray *names, GError **error)
{
  g_autoptr (sqlite3_stmt) statement =
      catalog_database_prepare (catalog->database, "SELECT name FROM schemas ORDER BY name", "", error);
  gboolean has_row;

  if (statement == NULL)
    return FALSE;
  for (;;) {
    if (!catalog_database_step (catalog->database, statement, &has_row, error))
      return FALSE;
    if (!has_row)
      return TRUE;
    g_ptr_array_add (names, catalog_database_dup_text (statement, 0));
  }
}

char **
catalog_schema_list (Catalog *catalog, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  gboolean is_there, ok = TRUE;

  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_READ, &is_there, error))
    return NULL;
  if (is_there) {
    ok = read_names (catalog, names, error);
    (void) catalog_database_end (catalog->database, ok, NULL); /* it only read */
  } else {
    g_ptr_array_add (names, g_strdup (CATALOG_DEFAULT_SCHEMA));
  }
  if (!ok)
    return NULL;
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

char *
catalog_default_location (Catalog *catalog, const char *schema, const char *name, GError **error)
{
  g_autoptr (CatalogSchema) found = NULL;
  g_autofree char *folded = catalog_check_relation_name (name, error);

  if (folded == NULL || !catalog_schema_find (catalog, schema, &found, error))
    return NULL;
  if (found == NULL) {
    set_schema_not_found (schema, error);
    return NULL;
  }
  return g_build_filename (found->location, folded, NULL);
}

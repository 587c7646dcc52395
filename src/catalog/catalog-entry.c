/* Tables and views: rows of `entries`.
 *
 * Invariants:
 * 1. A row names a table only while it is external or its directory holds a Delta log (entry_is_alive); other rows are those of a
 *    CREATE that has not committed yet or never will, and any CREATE may take them.
 * 2. DROP's point of no return is the rename of the directory: before it the table is whole, after it the row is dead.
 *    The directory is moved within the write transaction, so nobody can have made a new table at the same place.
 * 3. The location of a managed table is not stored: it follows from the warehouse, which may be moved as a whole.
 */
#include "catalog-private.h"

#include <base-error.h>
#include <base-text.h>
#include <delta-table.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <store.h>
#include <string.h>
#include <unistd.h>

#define TRASH_PREFIX ".sluice-trash-"
#define COLUMNS                                                                                                        \
  "schema, name, kind, is_private, is_managed, provider, location, owner_pipeline, owner, comment, properties, "       \
  "view_text, view_schema, view_columns, created_us"

/* A row as an entry. @schema_location: of its schema. */
static CatalogEntry *
entry_from_row (sqlite3_stmt *row, const char *schema_location)
{
  CatalogEntry *entry = g_new0 (CatalogEntry, 1);
  g_autofree char *properties = catalog_database_dup_text (row, 10);
  g_autofree char *view_columns = catalog_database_dup_text (row, 13);

  entry->ref_count = 1;
  entry->schema = catalog_database_dup_text (row, 0);
  entry->name = catalog_database_dup_text (row, 1);
  entry->kind = (CatalogKind) CLAMP (sqlite3_column_int64 (row, 2), 0, CATALOG_KIND_VIEW);
  entry->is_private = sqlite3_column_int64 (row, 3) != 0;
  entry->is_managed = sqlite3_column_int64 (row, 4) != 0;
  entry->provider = catalog_database_dup_text (row, 5);
  entry->location = catalog_database_dup_text (row, 6);
  if (entry->is_managed && entry->location == NULL)
    entry->location = g_build_filename (schema_location, entry->name, NULL);
  entry->owner_pipeline = catalog_database_dup_text (row, 7);
  entry->owner = catalog_database_dup_text (row, 8);
  entry->comment = catalog_database_dup_text (row, 9);
  entry->properties = catalog_pairs_from_text (properties);
  entry->view_text = catalog_database_dup_text (row, 11);
  entry->view_schema = catalog_database_dup_text (row, 12);
  entry->view_columns = catalog_pairs_from_text (view_columns);
  entry->created_us = sqlite3_column_int64 (row, 14);
  return entry;
}

/* Invariant 1. */
static gboolean
entry_is_alive (Catalog *catalog, const CatalogEntry *entry, gboolean *alive, GError **error)
{
  g_autoptr (DeltaTable) table = NULL;

  if (entry->kind == CATALOG_KIND_VIEW || entry->location == NULL) {
    *alive = TRUE;
    return TRUE;
  }
  table = catalog_delta_table (catalog, entry->location, error);
  return table != NULL && delta_table_exists (table, alive, error);
}

static gboolean
set_schema_not_found (const char *schema, GError **error)
{
  base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_FOUND, "the schema `%s` cannot be found", schema);
  base_error_add_param (error, "schemaName", schema);
  return FALSE;
}

/* In a transaction. @entry: (out) (nullable): the row whether alive or not. */
static gboolean
read_entry (Catalog *catalog, const char *schema, const char *name, CatalogEntry **entry, GError **error)
{
  g_autoptr (sqlite3_stmt) row = NULL;
  g_autofree char *location = NULL;
  gboolean has_row;

  if (!catalog_schema_location (catalog, schema, &location, error))
    return FALSE;
  row = catalog_database_prepare (catalog->database, "SELECT " COLUMNS " FROM entries WHERE schema = ? AND name = ?",
                                  "ss", error, schema, name);
  if (row == NULL || !catalog_database_step (catalog->database, row, &has_row, error))
    return FALSE;
  *entry = has_row && location != NULL ? entry_from_row (row, location) : NULL;
  return TRUE;
}

gboolean
catalog_find (Catalog *catalog, const char *schema, const char *name, CatalogEntry **entry, GError **error)
{
  g_autofree char *folded_schema = catalog_fold_name (schema);
  g_autofree char *folded = catalog_fold_name (name);
  g_autoptr (CatalogEntry) found = NULL;
  gboolean is_there, ok, alive = FALSE;

  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_READ, &is_there, error))
    return FALSE;
  if (is_there) {
    ok = read_entry (catalog, folded_schema, folded, &found, error);
    (void) catalog_database_end (catalog->database, ok, NULL); /* it only read */
    if (!ok)
      return FALSE;
  }
  if (found != NULL && found->is_managed && !entry_is_alive (catalog, found, &alive, error))
    return FALSE;
  if (found != NULL && found->is_managed && !alive)
    g_clear_pointer (&found, catalog_entry_unref);
  *entry = g_steal_pointer (&found);
  return TRUE;
}

/* In a transaction. */
static gboolean
read_entries (Catalog *catalog, const char *schema, GPtrArray *entries, GError **error)
{
  g_autoptr (sqlite3_stmt) row = NULL;
  g_autofree char *location = NULL;
  gboolean has_row;

  if (!catalog_schema_location (catalog, schema, &location, error))
    return FALSE;
  if (location == NULL)
    return TRUE;
  row = catalog_database_prepare (catalog->database, "SELECT " COLUMNS " FROM entries WHERE schema = ? ORDER BY name",
                                  "s", error, schema);
  if (row == NULL)
    return FALSE;
  for (;;) {
    if (!catalog_database_step (catalog->database, row, &has_row, error))
      return FALSE;
    if (!has_row)
      return TRUE;
    g_ptr_array_add (entries, entry_from_row (row, location));
  }
}

GPtrArray *
catalog_list (Catalog *catalog, const char *schema, GError **error)
{
  g_autofree char *folded = catalog_fold_name (schema);
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func ((GDestroyNotify) catalog_entry_unref);
  gboolean is_there, ok;

  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_READ, &is_there, error))
    return NULL;
  if (!is_there)
    return g_steal_pointer (&entries);
  ok = read_entries (catalog, folded, entries, error);
  (void) catalog_database_end (catalog->database, ok, NULL); /* it only read */
  if (!ok)
    return NULL;
  for (guint i = entries->len; i > 0; i--) {
    const CatalogEntry *entry = g_ptr_array_index (entries, i - 1);
    gboolean alive;
    if (entry->is_managed && !entry_is_alive (catalog, entry, &alive, error))
      return NULL;
    if (entry->is_managed && !alive)
      g_ptr_array_remove_index (entries, i - 1);
  }
  return g_steal_pointer (&entries);
}

/* --- Creating --- */

/* In a write transaction: puts the row of @new_entry in the place of whatever row there is. */
static gboolean
write_row (Catalog *catalog, const CatalogNew *new_entry, const char *schema, const char *name, const char *location,
           gboolean is_managed, GError **error)
{
  g_autofree char *properties = catalog_pairs_to_text (new_entry->properties);
  g_autofree char *view_columns = catalog_pairs_to_text (new_entry->view_columns);
  gboolean is_view = new_entry->kind == CATALOG_KIND_VIEW;
  const char *provider = new_entry->provider != NULL || is_view ? new_entry->provider : "delta";

  return store_context_step (catalog->stores, "catalog-put", name, error) &&
         catalog_database_run (
             catalog->database,
             "INSERT OR REPLACE INTO entries (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
             "ssiiisssssssssi", error, schema, name, (gint64) new_entry->kind, (gint64) new_entry->is_private,
             (gint64) is_managed, provider, location, new_entry->owner_pipeline, new_entry->owner, new_entry->comment,
             properties, new_entry->view_text, new_entry->view_schema, view_columns, new_entry->now_us);
}

typedef enum { PUT_IF_FREE, PUT_ALWAYS } PutRule;

/* In a write transaction. */
static gboolean
put_entry (Catalog *catalog, const CatalogNew *new_entry, const char *schema, const char *name, PutRule rule,
           CatalogOutcome *outcome, CatalogEntry **entry, GError **error)
{
  g_autoptr (CatalogEntry) existing = NULL;
  g_autoptr (Store) store = NULL;
  g_autofree char *schema_location = NULL;
  gboolean is_view = new_entry->kind == CATALOG_KIND_VIEW;
  gboolean is_managed = !is_view && new_entry->location == NULL;
  gboolean alive = FALSE;
  const char *location;

  if (!catalog_schema_location (catalog, schema, &schema_location, error))
    return FALSE;
  if (schema_location == NULL)
    return set_schema_not_found (schema, error);
  if (!read_entry (catalog, schema, name, &existing, error) ||
      (existing != NULL && !entry_is_alive (catalog, existing, &alive, error)))
    return FALSE;
  if (alive && rule == PUT_IF_FREE) {
    *outcome = CATALOG_EXISTS;
    *entry = g_steal_pointer (&existing);
    return TRUE;
  }
  if (new_entry->location != NULL && (store = store_open (NULL, new_entry->location, error)) == NULL)
    return FALSE;
  location = store == NULL ? NULL : store_root (store);
  if (alive && !is_view && existing->location != NULL) {
    is_managed = existing->is_managed;
    location = is_managed ? NULL : existing->location;
  }
  if (!write_row (catalog, new_entry, schema, name, location, is_managed, error) ||
      !read_entry (catalog, schema, name, entry, error))
    return FALSE;
  *outcome = CATALOG_CREATED;
  return TRUE;
}

static gboolean
put_in_transaction (Catalog *catalog, const CatalogNew *new_entry, PutRule rule, CatalogOutcome *outcome,
                    CatalogEntry **entry, GError **error)
{
  g_autofree char *schema = catalog_fold_name (new_entry->schema);
  g_autofree char *name = catalog_check_relation_name (new_entry->name, error);
  g_autoptr (CatalogEntry) found = NULL;
  gboolean is_there, ok;

  if (name == NULL || !catalog_database_begin (catalog->database, CATALOG_ACCESS_WRITE, &is_there, error))
    return FALSE;
  ok = put_entry (catalog, new_entry, schema, name, rule, outcome, &found, error);
  if (!catalog_database_end (catalog->database, ok, ok ? error : NULL) || !ok)
    return FALSE;
  if (entry != NULL)
    *entry = g_steal_pointer (&found);
  return TRUE;
}

gboolean
catalog_create (Catalog *catalog, const CatalogNew *new_entry, CatalogOutcome *outcome, CatalogEntry **entry,
                GError **error)
{
  return put_in_transaction (catalog, new_entry, PUT_IF_FREE, outcome, entry, error);
}

gboolean
catalog_replace (Catalog *catalog, const CatalogNew *new_entry, CatalogEntry **entry, GError **error)
{
  CatalogOutcome outcome;
  return put_in_transaction (catalog, new_entry, PUT_ALWAYS, &outcome, entry, error);
}

/* --- Dropping and renaming --- */

static gboolean
rename_directory (const char *from, const char *to, gboolean *was_there, GError **error)
{
  *was_there = TRUE;
  if (renameat2 (AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
    return TRUE;
  if (errno == ENOENT) {
    *was_there = FALSE;
    return TRUE;
  }
  if ((errno == EINVAL || errno == ENOSYS) && !g_file_test (to, G_FILE_TEST_EXISTS) && rename (from, to) == 0)
    return TRUE;
  g_autofree char *what = g_strdup_printf ("rename %s", from);
  return base_error_set_errno (error, errno, what);
}

gboolean
catalog_trash_directory (Catalog *catalog, const char *location, char **moved, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (location);
  g_autofree char *uuid = base_text_uuid ();
  g_autofree char *trash = g_strconcat (parent, "/" TRASH_PREFIX, uuid, NULL);
  gboolean was_there;

  if (!store_context_step (catalog->stores, "catalog-move", location, error) ||
      !rename_directory (location, trash, &was_there, error))
    return FALSE;
  catalog_forget_table (catalog, location);
  *moved = was_there ? g_steal_pointer (&trash) : NULL;
  return TRUE;
}

void
catalog_trash_delete (Catalog *catalog, const char *moved)
{
  g_autofree char *parent = NULL;
  g_autoptr (GDir) directory = NULL;
  const char *name;

  if (moved == NULL)
    return;
  parent = g_path_get_dirname (moved);
  directory = g_dir_open (parent, 0, NULL);
  while (directory != NULL && (name = g_dir_read_name (directory)) != NULL) {
    g_autofree char *path = g_build_filename (parent, name, NULL);
    g_autoptr (Store) store = NULL;
    if (g_str_has_prefix (name, TRASH_PREFIX) && (store = store_open (catalog->stores, path, NULL)) != NULL)
      (void) store_delete_tree (store, "", NULL); /* what stays is deleted with the next one */
  }
}

/* In a write transaction. */
static gboolean
drop_entry (Catalog *catalog, const char *schema, const char *name, gboolean *existed, char **moved, GError **error)
{
  g_autoptr (CatalogEntry) entry = NULL;

  if (!read_entry (catalog, schema, name, &entry, error))
    return FALSE;
  *existed = entry != NULL;
  if (entry == NULL)
    return TRUE;
  if (entry->is_managed && !entry_is_alive (catalog, entry, existed, error))
    return FALSE;
  if (!*existed)
    return TRUE; /* maybe another process is between its row and its first commit: leave its files alone */
  if (entry->is_managed && !catalog_trash_directory (catalog, entry->location, moved, error))
    return FALSE;
  return store_context_step (catalog->stores, "catalog-delete", name, error) &&
         catalog_database_run (catalog->database, "DELETE FROM entries WHERE schema = ? AND name = ?", "ss", error,
                               schema, name);
}

gboolean
catalog_drop (Catalog *catalog, const char *schema, const char *name, gboolean *existed, GError **error)
{
  g_autofree char *folded_schema = catalog_fold_name (schema);
  g_autofree char *folded = catalog_fold_name (name);
  g_autofree char *moved = NULL;
  gboolean is_there, ok, was_there = FALSE;

  if (!catalog_database_begin (catalog->database, CATALOG_ACCESS_WRITE, &is_there, error))
    return FALSE;
  ok = drop_entry (catalog, folded_schema, folded, &was_there, &moved, error);
  ok = catalog_database_end (catalog->database, ok, ok ? error : NULL) && ok;
  catalog_trash_delete (catalog, moved);
  if (!ok)
    return FALSE;
  if (existed != NULL)
    *existed = was_there;
  return TRUE;
}

static gboolean
set_entry_error (SluiceError code, const char *schema, const char *name, const char *what, GError **error)
{
  g_autofree char *full = g_strdup_printf ("`%s`.`%s`", schema, name);
  base_error_set (error, code, "the table or view %s %s", full, what);
  base_error_add_param (error, "relationName", full);
  return FALSE;
}

/* In a write transaction. */
static gboolean
rename_entry (Catalog *catalog, const char *schema, const char *name, const char *new_schema, const char *new_name,
              GError **error)
{
  g_autoptr (CatalogEntry) entry = NULL, taken = NULL;
  g_autofree char *schema_location = NULL;
  gboolean alive = FALSE, was_there;

  if (!read_entry (catalog, schema, name, &entry, error) ||
      (entry != NULL && entry->is_managed && !entry_is_alive (catalog, entry, &alive, error)))
    return FALSE;
  if (entry == NULL || (entry->is_managed && !alive))
    return set_entry_error (SLUICE_ERROR_TABLE_OR_VIEW_NOT_FOUND, schema, name, "cannot be found", error);
  if (!catalog_schema_location (catalog, new_schema, &schema_location, error))
    return FALSE;
  if (schema_location == NULL)
    return set_schema_not_found (new_schema, error);
  if (!read_entry (catalog, new_schema, new_name, &taken, error))
    return FALSE;
  alive = FALSE;
  if (taken != NULL && !entry_is_alive (catalog, taken, &alive, error))
    return FALSE;
  if (alive)
    return set_entry_error (SLUICE_ERROR_TABLE_OR_VIEW_ALREADY_EXISTS, new_schema, new_name, "exists already", error);
  if (!store_context_step (catalog->stores, "catalog-put", new_name, error) ||
      !catalog_database_run (catalog->database, "DELETE FROM entries WHERE schema = ? AND name = ?", "ss", error,
                             new_schema, new_name) ||
      !catalog_database_run (catalog->database, "UPDATE entries SET schema = ?, name = ? WHERE schema = ? AND name = ?",
                             "ssss", error, new_schema, new_name, schema, name))
    return FALSE;
  if (entry->is_managed) {
    g_autofree char *target = g_build_filename (schema_location, new_name, NULL);
    if (g_mkdir_with_parents (schema_location, 0777) != 0) {
      g_autofree char *what = g_strdup_printf ("make the directory %s", schema_location);
      return base_error_set_errno (error, errno, what);
    }
    if (!store_context_step (catalog->stores, "catalog-move", entry->location, error) ||
        !rename_directory (entry->location, target, &was_there, error))
      return FALSE;
    catalog_forget_table (catalog, entry->location);
    catalog_forget_table (catalog, target);
  }
  return TRUE;
}

gboolean
catalog_rename (Catalog *catalog, const char *schema, const char *name, const char *new_schema, const char *new_name,
                GError **error)
{
  g_autofree char *from_schema = catalog_fold_name (schema);
  g_autofree char *from = catalog_fold_name (name);
  g_autofree char *to_schema = catalog_fold_name (new_schema);
  g_autofree char *to = catalog_check_relation_name (new_name, error);
  gboolean is_there, ok;

  if (to == NULL || !catalog_database_begin (catalog->database, CATALOG_ACCESS_WRITE, &is_there, error))
    return FALSE;
  ok = rename_entry (catalog, from_schema, from, to_schema, to, error);
  return catalog_database_end (catalog->database, ok, ok ? error : NULL) && ok;
}

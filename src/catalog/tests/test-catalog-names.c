/* Names in the SQLite file: what exists, what a crash leaves, several processes. */
#include "../../../tests/support/tree.h"
#include "catalog.h"

#include <base-error.h>
#include <delta-snapshot.h>
#include <delta-table.h>
#include <glib/gstdio.h>
#include <store.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  char *directory;
  Catalog *catalog;
} Fixture;

static Catalog *
open_catalog (const char *directory, StoreContext *stores)
{
  g_autoptr (GError) error = NULL;
  Catalog *catalog = catalog_open (directory, stores, NULL, &error);
  g_assert_no_error (error);
  return catalog;
}

static void
set_up (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  fixture->directory = g_dir_make_tmp ("sluice-catalog-XXXXXX", NULL);
  fixture->catalog = open_catalog (fixture->directory, NULL);
}

static void
tear_down (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  catalog_unref (fixture->catalog);
  tree_remove (fixture->directory);
  g_free (fixture->directory);
}

/* Version 0 of a table with one column, or whatever is wrong. */
static gboolean
commit_first_version (StoreContext *stores, const char *location, GError **error)
{
  static const char text[] = "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
                             "{\"metaData\":{\"id\":\"f5d6a4b2-0000-4000-8000-000000000000\",\"format\":{\"provider\":"
                             "\"parquet\",\"options\":{}},"
                             "\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[{\\\"name\\\":\\\"x\\\","
                             "\\\"type\\\":\\\"integer\\\","
                             "\\\"nullable\\\":true,\\\"metadata\\\":{}}]}\",\"partitionColumns\":[],\"configuration\":"
                             "{},\"createdTime\":0}}\n";
  g_autoptr (Store) store = store_open (stores, location, error);
  StorePutOutcome outcome;

  return store != NULL && store_put_if_absent (store, "_delta_log/00000000000000000000.json", text, sizeof text - 1,
                                               &outcome, NULL, error);
}

/* What CREATE TABLE does. */
static gboolean
create_table (Catalog *catalog, const char *schema, const char *name, GError **error)
{
  CatalogNew new_entry = { .schema = schema, .name = name, .kind = CATALOG_KIND_TABLE, .now_us = 1 };
  g_autoptr (CatalogEntry) entry = NULL;
  CatalogOutcome outcome;

  return catalog_create (catalog, &new_entry, &outcome, &entry, error) &&
         (outcome == CATALOG_EXISTS || commit_first_version (catalog_stores (catalog), entry->location, error));
}

static gboolean
table_exists (Catalog *catalog, const char *schema, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CatalogEntry) entry = NULL;

  g_assert_true (catalog_find (catalog, schema, name, &entry, &error));
  return entry != NULL;
}

static void
test_an_empty_warehouse_is_not_touched (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) schemas = catalog_schema_list (fixture->catalog, &error);
  g_autoptr (GPtrArray) entries = catalog_list (fixture->catalog, "default", &error);
  g_autofree char *file = g_build_filename (fixture->directory, ".sluice", NULL);

  g_assert_cmpuint (g_strv_length (schemas), ==, 1);
  g_assert_cmpuint (entries->len, ==, 0);
  g_assert_false (table_exists (fixture->catalog, "default", "t"));
  g_assert_false (g_file_test (file, G_FILE_TEST_EXISTS));
}

static void
test_a_table_is_its_row_and_its_log (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  CatalogNew new_entry = { .schema = "default", .name = "T", .kind = CATALOG_KIND_TABLE, .owner = "me", .now_us = 7 };
  g_autoptr (CatalogEntry) entry = NULL, again = NULL, found = NULL;
  g_autofree char *expected = g_build_filename (fixture->directory, "t", NULL);
  CatalogOutcome outcome;

  g_assert_true (catalog_create (fixture->catalog, &new_entry, &outcome, &entry, &error));
  g_assert_cmpint (outcome, ==, CATALOG_CREATED);
  g_assert_cmpstr (entry->location, ==, expected);
  g_assert_false (table_exists (fixture->catalog, "default", "t"));
  /* The row of a creation that never committed is free. */
  g_assert_true (catalog_create (fixture->catalog, &new_entry, &outcome, NULL, &error));
  g_assert_cmpint (outcome, ==, CATALOG_CREATED);
  g_assert_true (commit_first_version (NULL, entry->location, &error));
  g_assert_true (catalog_create (fixture->catalog, &new_entry, &outcome, &again, &error));
  g_assert_cmpint (outcome, ==, CATALOG_EXISTS);
  g_assert_true (catalog_find (fixture->catalog, "DEFAULT", "T", &found, &error));
  g_assert_cmpstr (found->name, ==, "t");
  g_assert_cmpstr (found->provider, ==, "delta");
  g_assert_cmpstr (found->owner, ==, "me");
  g_assert_cmpint (found->created_us, ==, 7);
  g_assert_true (found->is_managed);
}

static void
test_drop_deletes_managed_tables_only (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *outside = g_build_filename (fixture->directory, "outside", NULL);
  CatalogNew external = { .schema = "default", .name = "e", .kind = CATALOG_KIND_TABLE, .location = outside };
  CatalogOutcome outcome;
  gboolean existed;
  g_autofree char *managed = g_build_filename (fixture->directory, "m", NULL);

  g_assert_true (create_table (fixture->catalog, "default", "m", &error));
  g_assert_true (catalog_create (fixture->catalog, &external, &outcome, NULL, &error));
  g_assert_true (commit_first_version (NULL, outside, &error));
  g_assert_true (catalog_drop (fixture->catalog, "default", "m", &existed, &error));
  g_assert_true (existed);
  g_assert_true (catalog_drop (fixture->catalog, "default", "e", &existed, &error));
  g_assert_true (existed);
  g_assert_false (g_file_test (managed, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (outside, G_FILE_TEST_EXISTS));
  g_assert_true (catalog_drop (fixture->catalog, "default", "m", &existed, &error));
  g_assert_false (existed);
}

static void
test_schemas (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const properties[] = { "a", "b", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (CatalogSchema) schema = NULL;
  g_autofree char *location = g_build_filename (fixture->directory, "sales.db", NULL);

  g_assert_true (catalog_schema_create (fixture->catalog, "Sales", NULL, "sold", properties, FALSE, &error));
  g_assert_false (catalog_schema_create (fixture->catalog, "sales", NULL, NULL, NULL, FALSE, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_SCHEMA_ALREADY_EXISTS);
  g_clear_error (&error);
  g_assert_true (catalog_schema_find (fixture->catalog, "SALES", &schema, &error));
  g_assert_cmpstr (schema->name, ==, "sales");
  g_assert_cmpstr (schema->location, ==, location);
  g_assert_cmpstr (schema->comment, ==, "sold");
  g_assert_cmpstr (schema->properties[1], ==, "b");
  g_assert_true (create_table (fixture->catalog, "sales", "orders", &error));
  g_assert_false (catalog_schema_drop (fixture->catalog, "sales", FALSE, FALSE, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_SCHEMA_NOT_EMPTY);
  g_clear_error (&error);
  g_assert_true (catalog_schema_drop (fixture->catalog, "sales", FALSE, TRUE, &error));
  g_assert_false (g_file_test (location, G_FILE_TEST_EXISTS));
  g_assert_false (create_table (fixture->catalog, "sales", "orders", &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_SCHEMA_NOT_FOUND);
}

static void
test_names_are_checked (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const bad[] = { "", "..", "a/b", "a b", ".a", "a.", "a..b", "x.DB", "é", "../../x" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (create_table (fixture->catalog, "default", bad[i], &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INVALID_SCHEMA_OR_RELATION_NAME);
    g_assert_false (table_exists (fixture->catalog, "default", bad[i]));
  }
}

static void
test_views_keep_everything (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const columns[] = { "a", "first", "b", "", NULL };
  static const char *const properties[] = { "k", "v'\"", NULL };
  g_autoptr (GError) error = NULL;
  CatalogNew view = { .schema = "default",
                      .name = "v",
                      .kind = CATALOG_KIND_VIEW,
                      .comment = "c",
                      .properties = properties,
                      .view_text = "SELECT 1, 'é\n'",
                      .view_schema = "s",
                      .view_columns = columns };
  g_autoptr (Catalog) other = open_catalog (fixture->directory, NULL);
  g_autoptr (CatalogEntry) entry = NULL, replaced = NULL;
  CatalogOutcome outcome;

  g_assert_true (catalog_create (fixture->catalog, &view, &outcome, NULL, &error));
  g_assert_true (catalog_find (other, "default", "v", &entry, &error));
  g_assert_cmpint (entry->kind, ==, CATALOG_KIND_VIEW);
  g_assert_null (entry->location);
  g_assert_cmpstr (entry->view_text, ==, view.view_text);
  g_assert_cmpstr (entry->view_schema, ==, "s");
  g_assert_cmpstr (entry->view_columns[1], ==, "first");
  g_assert_cmpstr (entry->view_columns[3], ==, "");
  g_assert_cmpstr (entry->properties[1], ==, "v'\"");
  view.view_text = "SELECT 2";
  view.view_columns = NULL;
  g_assert_true (catalog_replace (other, &view, NULL, &error));
  g_assert_true (catalog_find (fixture->catalog, "default", "v", &replaced, &error));
  g_assert_cmpstr (replaced->view_text, ==, "SELECT 2");
  g_assert_null (replaced->view_columns);
}

static void
test_rename_moves_the_directory (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (catalog_schema_create (fixture->catalog, "s", NULL, NULL, NULL, FALSE, &error));
  g_assert_true (create_table (fixture->catalog, "default", "a", &error));
  g_assert_true (create_table (fixture->catalog, "default", "b", &error));
  g_assert_false (catalog_rename (fixture->catalog, "default", "a", "default", "b", &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_TABLE_OR_VIEW_ALREADY_EXISTS);
  g_clear_error (&error);
  g_assert_true (catalog_rename (fixture->catalog, "default", "a", "s", "c", &error));
  g_assert_false (table_exists (fixture->catalog, "default", "a"));
  g_assert_true (table_exists (fixture->catalog, "s", "c"));
}

/* The cached table must not outlive the directory it was read from. */
static void
test_a_table_made_anew_by_another_process_is_seen (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Catalog) other = open_catalog (fixture->directory, NULL);
  g_autofree char *location = g_build_filename (fixture->directory, "t", NULL);
  g_autoptr (DeltaTable) before = NULL, same = NULL, after = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  g_assert_true (create_table (fixture->catalog, "default", "t", &error));
  before = catalog_delta_table (fixture->catalog, location, &error);
  snapshot = delta_table_snapshot (before, NULL, &error);
  g_assert_no_error (error);
  same = catalog_delta_table (fixture->catalog, location, &error);
  g_assert_true (same == before);
  g_assert_true (catalog_drop (other, "default", "t", NULL, &error));
  g_assert_true (create_table (other, "default", "t", &error));
  after = catalog_delta_table (fixture->catalog, location, &error);
  g_assert_true (after != before);
}

/* A fault at the n-th step of CREATE, DROP and CREATE again, n = 1, 2, 3 …; afterwards another process must find a table or
 * none, and be able to create and drop it. */
static void
test_crashes_heal (gconstpointer data)
{
  StoreFaultMode mode = (StoreFaultMode) GPOINTER_TO_INT (data);
  gboolean injected = TRUE;

  for (guint64 n = 1; injected; n++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *directory = g_dir_make_tmp ("sluice-crash-XXXXXX", NULL);
    g_autoptr (StoreContext) stores = store_context_new ();
    g_autoptr (Catalog) crashing = open_catalog (directory, stores);
    g_autoptr (Catalog) next = open_catalog (directory, NULL);
    gboolean existed = FALSE;

    store_context_set_fault (stores, n, mode);
    (void) (create_table (crashing, "default", "t", NULL) && catalog_drop (crashing, "default", "t", NULL, NULL) &&
            create_table (crashing, "default", "t", NULL)); /* fails where the fault is */
    injected = store_context_was_injected (stores);

    existed = table_exists (next, "default", "t");
    g_assert_true (injected || existed);
    g_assert_true (create_table (next, "default", "t", &error));
    g_assert_true (table_exists (next, "default", "t"));
    g_assert_true (catalog_drop (next, "default", "t", &existed, &error));
    g_assert_no_error (error);
    g_assert_true (existed);
    g_assert_false (table_exists (next, "default", "t"));
    tree_remove (directory);
    g_assert_cmpuint (n, <, 200);
  }
}

#define N_TABLES 10

static void
test_processes_share_the_file (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  pid_t children[4];
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) entries = NULL;

  for (guint i = 0; i < 4; i++) {
    children[i] = fork ();
    g_assert_cmpint (children[i], >=, 0);
    if (children[i] != 0)
      continue;
    Catalog *catalog = catalog_open (fixture->directory, NULL, NULL, NULL);
    for (guint k = 0; k < N_TABLES; k++) {
      g_autofree char *own = g_strdup_printf ("t_%u_%u", i, k);
      g_autofree char *shared = g_strdup_printf ("shared_%u", k);
      if (!create_table (catalog, "default", own, NULL) || !create_table (catalog, "default", shared, NULL))
        _exit (1);
    }
    _exit (0);
  }
  for (guint i = 0; i < 4; i++) {
    int status = 0;
    g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
    g_assert_true (WIFEXITED (status));
    g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  }
  entries = catalog_list (fixture->catalog, "default", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (entries->len, ==, 5 * N_TABLES);
}

static void
test_a_file_that_is_no_database_is_named (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *directory = g_build_filename (fixture->directory, ".sluice", NULL);
  g_autofree char *file = g_build_filename (directory, "catalog.sqlite", NULL);
  g_autofree char *noise = g_strnfill (8192, 'x');
  g_autoptr (CatalogEntry) entry = NULL;

  g_assert_cmpint (g_mkdir (directory, 0777), ==, 0);
  g_assert_true (g_file_set_contents (file, noise, -1, &error));
  g_assert_false (catalog_find (fixture->catalog, "default", "t", &entry, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_CATALOG_CORRUPT);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run) (Fixture *, gconstpointer);
  } tests[] = {
    { "an-empty-warehouse-is-not-touched", test_an_empty_warehouse_is_not_touched },
    { "a-table-is-its-row-and-its-log", test_a_table_is_its_row_and_its_log },
    { "drop-deletes-managed-tables-only", test_drop_deletes_managed_tables_only },
    { "schemas", test_schemas },
    { "names-are-checked", test_names_are_checked },
    { "views-keep-everything", test_views_keep_everything },
    { "rename-moves-the-directory", test_rename_moves_the_directory },
    { "a-table-made-anew-by-another-process-is-seen", test_a_table_made_anew_by_another_process_is_seen },
    { "processes-share-the-file", test_processes_share_the_file },
    { "a-file-that-is-no-database-is-named", test_a_file_that_is_no_database_is_named },
  };

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tests); i++) {
    g_autofree char *path = g_strconcat ("/catalog/names/", tests[i].name, NULL);
    g_test_add (path, Fixture, NULL, set_up, tests[i].run, tear_down);
  }
  g_test_add_data_func ("/catalog/names/crashes-heal/crash", GINT_TO_POINTER (STORE_FAULT_CRASH), test_crashes_heal);
  g_test_add_data_func ("/catalog/names/crashes-heal/fail", GINT_TO_POINTER (STORE_FAULT_FAIL), test_crashes_heal);
  return g_test_run ();
}

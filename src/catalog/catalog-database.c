/* The SQLite file behind the names.
 *
 * Several processes share it. It uses a rollback journal, not WAL: writes are rare and tiny, a rollback journal needs no
 * shared memory and leaves one file at rest, and EXTRA makes the end of a transaction durable (it also syncs the directory after
 * the journal is deleted). Writers take the write lock at BEGIN, so a transaction never fails in its middle because
 * another writer came first; who waits longer than BUSY_MS gives up.
 *
 * The file's form is PRAGMA user_version; `steps` brings an older one up to date inside one write transaction.
 */
#include "catalog-private.h"

#include <base-error.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <stdarg.h>

#define BUSY_MS 60000

/* Step i makes version i + 1. Never change one that was released: add another. */
static const char *const steps[] = {
  "CREATE TABLE schemas (name TEXT PRIMARY KEY, location TEXT, comment TEXT, properties TEXT) WITHOUT ROWID;"
  "INSERT INTO schemas (name) VALUES ('default');"
  "CREATE TABLE entries (schema TEXT NOT NULL REFERENCES schemas (name), name TEXT NOT NULL, kind INTEGER NOT NULL,"
  " is_private INTEGER NOT NULL, is_managed INTEGER NOT NULL, provider TEXT, location TEXT, owner_pipeline TEXT, owner "
  "TEXT,"
  " comment TEXT, properties TEXT, view_text TEXT, view_schema TEXT, view_columns TEXT, created_us INTEGER NOT NULL,"
  " PRIMARY KEY (schema, name)) WITHOUT ROWID;",
};

struct CatalogDatabase {
  char *path;
  GMutex lock; /* held from begin to end */
  sqlite3 *connection;
  gboolean is_current; /* its version was checked */
};

CatalogDatabase *
catalog_database_new (const char *path)
{
  CatalogDatabase *database = g_new0 (CatalogDatabase, 1);
  database->path = g_strdup (path);
  g_mutex_init (&database->lock);
  return database;
}

void
catalog_database_free (CatalogDatabase *database)
{
  if (database == NULL)
    return;
  sqlite3_close_v2 (database->connection);
  g_mutex_clear (&database->lock);
  g_free (database->path);
  g_free (database);
}

static gboolean
set_error (CatalogDatabase *database, int code, GError **error)
{
  const char *message = database->connection != NULL ? sqlite3_errmsg (database->connection) : sqlite3_errstr (code);
  SluiceError ours = SLUICE_ERROR_IO_ERROR;

  switch (code & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_SCHEMA:
  case SQLITE_ERROR: /* our statements are right for a file of our version: then the file is not what it says */
    ours = SLUICE_ERROR_CATALOG_CORRUPT;
    break;
  case SQLITE_FULL:
    ours = SLUICE_ERROR_STORAGE_FULL;
    break;
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    ours = SLUICE_ERROR_FILE_ACCESS_DENIED;
    break;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return base_error_set (error, ours, "the catalog %s is locked by another process for more than %d seconds",
                           database->path, BUSY_MS / 1000);
  }
  return base_error_set (error, ours, "the catalog %s: %s", database->path, message);
}

static gboolean
run_plain (CatalogDatabase *database, const char *sql, GError **error)
{
  int code = sqlite3_exec (database->connection, sql, NULL, NULL, NULL);
  return code == SQLITE_OK || set_error (database, code, error);
}

static void
close_connection (CatalogDatabase *database)
{
  sqlite3_close_v2 (database->connection);
  database->connection = NULL;
  database->is_current = FALSE;
}

static gboolean
open_connection (CatalogDatabase *database, CatalogAccess access, GError **error)
{
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE; /* @lock serialises */
  int code;

  if (database->connection != NULL)
    return TRUE;
  if (access == CATALOG_ACCESS_WRITE) {
    g_autofree char *directory = g_path_get_dirname (database->path);
    if (g_mkdir_with_parents (directory, 0777) != 0) {
      g_autofree char *what = g_strdup_printf ("make the directory %s", directory);
      return base_error_set_errno (error, errno, what);
    }
    code = sqlite3_open_v2 (database->path, &database->connection, flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                            NULL);
  } else {
    /* SQLite itself falls back to reading only when the file may not be written. */
    code = sqlite3_open_v2 (database->path, &database->connection, flags | SQLITE_OPEN_READWRITE, NULL);
  }
  if (code != SQLITE_OK) {
    set_error (database, code, error);
    close_connection (database);
    return FALSE;
  }
  sqlite3_extended_result_codes (database->connection, 1);
  sqlite3_busy_timeout (database->connection, BUSY_MS);
  if (run_plain (database, "PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF", error))
    return TRUE;
  close_connection (database);
  return FALSE;
}

static gboolean
read_version (CatalogDatabase *database, gint64 *version, GError **error)
{
  g_autoptr (sqlite3_stmt) statement = catalog_database_prepare (database, "PRAGMA user_version", "", error);
  gboolean has_row = FALSE;

  if (statement == NULL || !catalog_database_step (database, statement, &has_row, error))
    return FALSE;
  *version = has_row ? sqlite3_column_int64 (statement, 0) : 0;
  if (*version >= 0 && *version <= (gint64) G_N_ELEMENTS (steps))
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_CATALOG_CORRUPT,
                         "the catalog %s has version %" G_GINT64_FORMAT ", this program knows up to %d", database->path,
                         *version, (int) G_N_ELEMENTS (steps));
}

/* In a write transaction. */
static gboolean
bring_up_to_date (CatalogDatabase *database, gint64 version, GError **error)
{
  g_autofree char *pragma = g_strdup_printf ("PRAGMA user_version = %d", (int) G_N_ELEMENTS (steps));

  for (gsize i = (gsize) version; i < G_N_ELEMENTS (steps); i++)
    if (!run_plain (database, steps[i], error))
      return FALSE;
  return run_plain (database, pragma, error);
}

static gboolean
begin_locked (CatalogDatabase *database, CatalogAccess access, gboolean *is_there, GError **error)
{
  gint64 version = G_N_ELEMENTS (steps);

  if (access == CATALOG_ACCESS_READ && database->connection == NULL &&
      !g_file_test (database->path, G_FILE_TEST_EXISTS)) {
    *is_there = FALSE;
    return TRUE;
  }
  /* Deleted under our feet, with its warehouse: a new file is another catalog. */
  if (database->connection != NULL && !g_file_test (database->path, G_FILE_TEST_EXISTS))
    close_connection (database);
  if (!open_connection (database, access, error) ||
      !run_plain (database, access == CATALOG_ACCESS_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", error))
    return FALSE;
  if (!database->is_current && !read_version (database, &version, error)) {
    (void) sqlite3_exec (database->connection, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one to tell */
    return FALSE;
  }
  if (version < (gint64) G_N_ELEMENTS (steps) && access == CATALOG_ACCESS_READ) {
    /* Another process is just making it, or it is of an older form: the write lock tells which. */
    (void) sqlite3_exec (database->connection, "ROLLBACK", NULL, NULL, NULL); /* nothing was done */
    if (version == 0) {
      *is_there = FALSE;
      return TRUE;
    }
    return begin_locked (database, CATALOG_ACCESS_WRITE, is_there, error);
  }
  if (version < (gint64) G_N_ELEMENTS (steps) && !bring_up_to_date (database, version, error)) {
    (void) sqlite3_exec (database->connection, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one to tell */
    return FALSE;
  }
  *is_there = TRUE;
  return TRUE;
}

gboolean
catalog_database_begin (CatalogDatabase *database, CatalogAccess access, gboolean *is_there, GError **error)
{
  gboolean there = FALSE, ok;

  g_mutex_lock (&database->lock);
  ok = begin_locked (database, access, &there, error);
  if (!ok || !there)
    g_mutex_unlock (&database->lock); /* else the lock stays with the transaction */
  if (ok)
    *is_there = there;
  return ok;
}

gboolean
catalog_database_end (CatalogDatabase *database, gboolean commit, GError **error)
{
  gboolean ok = TRUE;

  if (commit)
    ok = run_plain (database, "COMMIT", error);
  if (!commit || !ok)
    (void) sqlite3_exec (database->connection, "ROLLBACK", NULL, NULL, NULL); /* a failed COMMIT may have ended it */
  database->is_current = ok && commit;
  g_mutex_unlock (&database->lock);
  return ok;
}

static sqlite3_stmt *
prepare_valist (CatalogDatabase *database, const char *sql, const char *kinds, GError **error, va_list values)
{
  g_autoptr (sqlite3_stmt) statement = NULL;
  int code = sqlite3_prepare_v2 (database->connection, sql, -1, &statement, NULL);

  for (int i = 0; code == SQLITE_OK && kinds[i] != '\0'; i++)
    if (kinds[i] == 's')
      code = sqlite3_bind_text (statement, i + 1, va_arg (values, const char *), -1, SQLITE_TRANSIENT);
    else
      code = sqlite3_bind_int64 (statement, i + 1, va_arg (values, gint64));
  if (code == SQLITE_OK)
    return g_steal_pointer (&statement);
  set_error (database, code, error);
  return NULL;
}

sqlite3_stmt *
catalog_database_prepare (CatalogDatabase *database, const char *sql, const char *kinds, GError **error, ...)
{
  va_list values;
  sqlite3_stmt *statement;

  va_start (values, error);
  statement = prepare_valist (database, sql, kinds, error, values);
  va_end (values);
  return statement;
}

gboolean
catalog_database_step (CatalogDatabase *database, sqlite3_stmt *statement, gboolean *has_row, GError **error)
{
  int code = sqlite3_step (statement);

  *has_row = code == SQLITE_ROW;
  return code == SQLITE_ROW || code == SQLITE_DONE || set_error (database, code, error);
}

gboolean
catalog_database_run (CatalogDatabase *database, const char *sql, const char *kinds, GError **error, ...)
{
  g_autoptr (sqlite3_stmt) statement = NULL;
  gboolean has_row = TRUE;
  va_list values;

  va_start (values, error);
  statement = prepare_valist (database, sql, kinds, error, values);
  va_end (values);
  if (statement == NULL)
    return FALSE;
  while (has_row)
    if (!catalog_database_step (database, statement, &has_row, error))
      return FALSE;
  return TRUE;
}

char *
catalog_database_dup_text (sqlite3_stmt *statement, int column)
{
  return g_strdup ((const char *) sqlite3_column_text (statement, column));
}

/* The catalog's parts for each other. */
#pragma once

#include "catalog-session.h"

#include <delta-scan.h>
#include <duck-engine.h>
#include <feed.h>
#include <glib.h>
#include <sqlite3.h>

G_BEGIN_DECLS

/* ---- The SQLite file ---- */

typedef struct CatalogDatabase CatalogDatabase;
CatalogDatabase *catalog_database_new (const char *path); /* touches nothing; (transfer full) */
void catalog_database_free (CatalogDatabase *database);   /* accepts NULL */

typedef enum {
  CATALOG_ACCESS_READ,
  CATALOG_ACCESS_WRITE, /* makes the file; takes the write lock at once, so no upgrade can fail later */
} CatalogAccess;

/* Begins a transaction and holds the database for this thread until _end(). @is_there: (out): FALSE when reading a file that does
 * not exist yet: then nothing was begun and _end() must not be called. */
gboolean catalog_database_begin (CatalogDatabase *database, CatalogAccess access, gboolean *is_there, GError **error);
/* Ends it; @commit FALSE rolls back and never fails. */
gboolean catalog_database_end (CatalogDatabase *database, gboolean commit, GError **error);

/* Between begin and end. Text of @format is taken as it is; values are bound: `s` text (nullable), `i` gint64. */
sqlite3_stmt *catalog_database_prepare (CatalogDatabase *database, const char *sql, const char *kinds, GError **error,
                                        ...);
gboolean catalog_database_step (CatalogDatabase *database, sqlite3_stmt *statement, gboolean *has_row, GError **error);
/* Prepare, step to the end, finalize. */
gboolean catalog_database_run (CatalogDatabase *database, const char *sql, const char *kinds, GError **error, ...);
/* Text of a column, NULL for NULL. Returns: (transfer full). */
char *catalog_database_dup_text (sqlite3_stmt *statement, int column);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (sqlite3_stmt, sqlite3_finalize)

/* ---- Catalog ---- */

struct Catalog {
  gatomicrefcount refs;
  char *warehouse;
  StoreContext *stores; /* (nullable) */
  DuckEngine *engine;   /* (nullable) */
  CatalogDatabase *database;
  GMutex tables_lock;
  GHashTable *tables;   /* location → CachedTable */
  GPtrArray *functions; /* (element-type CatalogFunction) */
};

/* Forgets the cached DeltaTable of a location. */
void catalog_forget_table (Catalog *catalog, const char *location);
/* Lower case for look-up; never fails. Returns: (transfer full). */
char *catalog_fold_name (const char *name);

/* Key, value, … as JSON text and back (NULL for none). */
char *catalog_pairs_to_text (const char *const *pairs);
char **catalog_pairs_from_text (const char *text);

/* In a transaction: @location: (out) (nullable) (transfer full): NULL when there is no such schema. */
gboolean catalog_schema_location (Catalog *catalog, const char *schema, char **location, GError **error);
/* Moves a directory out of the way under a hidden name beside it: afterwards its names are free. @moved: (out) (nullable)
 * (transfer full): where it is now, NULL when there was none. */
gboolean catalog_trash_directory (Catalog *catalog, const char *location, char **moved, GError **error);
/* Deletes what was moved away, and what dead processes left beside it. Never fails: what stays, stays. */
void catalog_trash_delete (Catalog *catalog, const char *moved);

/* ---- Resolving ---- */

/* A table function of this room: rows of catalog-function.c. @found: (out). */
gboolean catalog_function_bind (CatalogSession *session, const RelationTableFunctionRequest *request,
                                RelationTableAnswer *answer, gboolean *found, GError **error);

/* Table functions of raw files: CatalogFunctionBind. @data: GINT_TO_POINTER() of a FilesAsk. */
gboolean catalog_files_bind (CatalogSession *session, const RelationTableFunctionRequest *request,
                             RelationTableAnswer *answer, gpointer data, GError **error);
/* The change feed: CatalogFunctionBind. @data: GINT_TO_POINTER() of whether the table is named by its path. */
gboolean catalog_table_changes_bind (CatalogSession *session, const RelationTableFunctionRequest *request,
                                     RelationTableAnswer *answer, gpointer data, GError **error);
/* The start of a feed at the first version that can be read. */
#define CATALOG_EARLIEST "earliest"
/* Milliseconds since 1970 in the session's time zone. Errors: DELTA_TIMESTAMP_INVALID. */
gboolean catalog_timestamp_of (CatalogSession *session, const char *text, gint64 *value_ms, GError **error);
/* One bound of a feed: a number is a version, a text or an instant a timestamp. @what: for errors. */
gboolean catalog_feed_bound (CatalogSession *session, const char *what, const RelationLiteral *value, FeedBound *bound,
                             GError **error);
/* Bounds and options of a table reference that asks for changes (catalog-changes.c). */
gboolean catalog_changes_read (CatalogSession *session, const RelationTableRequest *request, FeedRequest *feed,
                               GError **error);
/* The answer to such a reference of a Delta table. @name: for lineage. */
gboolean catalog_changes_bind (CatalogSession *session, const CatalogReference *reference,
                               const RelationTableRequest *request, const char *name, RelationTableAnswer *answer,
                               GError **error);
/* A query on parquet.`path`, json.`path`, csv.`path`. */
gboolean catalog_file_path_bind (CatalogSession *session, const char *provider, const char *path,
                                 const RelationTableRequest *request, RelationTableAnswer *answer, GError **error);

/* The directory of a schema is its name and this. */
#define CATALOG_SCHEMA_SUFFIX ".db"

/* The name of a table or view as the catalog keeps it: as catalog_check_name(), and with dots inside.
 * Errors: INVALID_SCHEMA_OR_RELATION_NAME. Returns: (transfer full). */
char *catalog_check_relation_name (const char *name, GError **error);

G_END_DECLS

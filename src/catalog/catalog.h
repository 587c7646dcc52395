/* Names of a warehouse: schemas, tables, views, and where their data is.
 *
 * A warehouse is a directory laid out as Spark's: `<warehouse>/<table>` for the schema `default`, `<warehouse>/<schema>.db/<table>`
 * for others. The names are rows of a SQLite file, `<warehouse>/.sluice/catalog.sqlite`; several processes share it.
 * Names are kept and compared in lower case, as Spark's session catalog does.
 *
 * A table exists when its row exists *and*, for a managed table, its directory holds a Delta log. So CREATE puts the row first
 * and commits version 0 afterwards, DROP moves the directory away first and deletes the row afterwards, and a crash between
 * the two leaves no table: the row without a log is free to be taken by the next CREATE.
 */
#pragma once

#include "base-clock.h"
#include "base-settings.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct StoreContext StoreContext;
typedef struct DuckEngine DuckEngine;
typedef struct DeltaTable DeltaTable;

#define CATALOG_NAME           "spark_catalog"
#define CATALOG_DEFAULT_SCHEMA "default"

typedef enum {
  CATALOG_KIND_TABLE,
  CATALOG_KIND_STREAMING_TABLE,
  CATALOG_KIND_MATERIALIZED_VIEW,
  CATALOG_KIND_VIEW,
} CatalogKind;
/* "MANAGED", "EXTERNAL", "STREAMING_TABLE", "MATERIALIZED_VIEW", "VIEW": as DESCRIBE EXTENDED says. */
const char *catalog_kind_text (CatalogKind kind, gboolean is_managed);

/* One name. Immutable, reference-counted. */
typedef struct CatalogEntry CatalogEntry;
struct CatalogEntry {
  gint ref_count;
  char *schema; /* lower case */
  char *name;   /* lower case */
  CatalogKind kind;
  gboolean is_private;  /* seen only by the pipeline that owns it */
  gboolean is_managed;  /* DROP deletes the directory */
  char *provider;       /* (nullable): "delta"; NULL for a view */
  char *location;       /* (nullable): absolute directory; NULL for a view */
  char *owner_pipeline; /* (nullable): id of the pipeline that writes it */
  char *owner;          /* (nullable): the user who made it */
  char *comment;        /* (nullable): of a view; a table's is in its Delta metadata */
  char **properties;    /* key, value, key, value …, NULL: of a view; a table's are in its Delta metadata */
  char *view_text;      /* (nullable): the view's query as written */
  char *view_schema;    /* (nullable): current schema when it was made, in which its names are resolved */
  char **view_columns;  /* (nullable): declared names: name, comment or "", name, comment …, NULL */
  gint64 created_us;
};
CatalogEntry *catalog_entry_ref (CatalogEntry *entry);
void catalog_entry_unref (CatalogEntry *entry); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CatalogEntry, catalog_entry_unref)
/* `spark_catalog`.`schema`.`name`, quoted where needed, for messages. Returns: (transfer full). */
char *catalog_entry_text (const CatalogEntry *entry);

typedef struct Catalog Catalog;

/**
 * catalog_open:
 * @warehouse: directory or `file:` URI; made when something is first written
 * @stores: (nullable): counts and faults; a reference is taken
 * @engine: (nullable): reads checkpoints of tables; a reference is taken. NULL: tables without checkpoints only
 *
 * Reads nothing yet: a warehouse that does not exist is empty, with the schema `default`.
 *
 * Errors:   INVALID_OPTION, UNSUPPORTED_FEATURE (another URI scheme).
 * Threads:  a Catalog serves any number of threads; calls on the database are serialised.
 * Returns:  (transfer full).
 */
Catalog *catalog_open (const char *warehouse, StoreContext *stores, DuckEngine *engine, GError **error);
Catalog *catalog_ref (Catalog *catalog);
void catalog_unref (Catalog *catalog); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Catalog, catalog_unref)

/* Borrows: the catalog's life. */
const char *catalog_warehouse (Catalog *catalog); /* absolute directory */
StoreContext *catalog_stores (Catalog *catalog);  /* (nullable) */
DuckEngine *catalog_engine (Catalog *catalog);    /* (nullable) */

/* Errors of everything below that reads or writes names: CATALOG_CORRUPT; IO_ERROR (also: locked by others for too long). */

/* ---- Schemas ---- */
typedef struct {
  char *name;
  char *comment;  /* (nullable) */
  char *location; /* of its managed tables */
  gboolean is_default_location;
  char **properties; /* key, value …, NULL */
} CatalogSchema;
void catalog_schema_free (CatalogSchema *schema);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CatalogSchema, catalog_schema_free)
/* @schema: (out) (nullable) (transfer full): NULL when there is none. */
gboolean catalog_schema_find (Catalog *catalog, const char *name, CatalogSchema **schema, GError **error);
gboolean catalog_schema_exists (Catalog *catalog, const char *name, gboolean *exists, GError **error);
/* @location: (nullable); @properties: (nullable). Errors: SCHEMA_ALREADY_EXISTS unless @if_not_exists. */
gboolean catalog_schema_create (Catalog *catalog, const char *name, const char *location, const char *comment,
                                const char *const *properties, gboolean if_not_exists, GError **error);
/* Errors: SCHEMA_NOT_FOUND unless @if_exists; SCHEMA_NOT_EMPTY unless @cascade; UNSUPPORTED_FEATURE for `default`. */
gboolean catalog_schema_drop (Catalog *catalog, const char *name, gboolean if_exists, gboolean cascade, GError **error);
/* Sorted names. Returns: (transfer full). */
char **catalog_schema_list (Catalog *catalog, GError **error);

/* ---- Tables and views ---- */

/**
 * catalog_find:
 * @entry: (out) (nullable) (transfer full): NULL when there is no such table or view
 *
 * Looks one name up. Private entries are found too: the caller looks at `is_private` (catalog_session_resolve() does).
 */
gboolean catalog_find (Catalog *catalog, const char *schema, const char *name, CatalogEntry **entry, GError **error);

/* All names of a schema that exist, sorted; private ones included. Returns: (transfer full) (element-type CatalogEntry). */
GPtrArray *catalog_list (Catalog *catalog, const char *schema, GError **error);

/* Where a new managed table of this name lives. Errors: SCHEMA_NOT_FOUND. Returns: (transfer full). */
char *catalog_default_location (Catalog *catalog, const char *schema, const char *name, GError **error);

typedef struct {
  const char *schema;
  const char *name;
  CatalogKind kind;
  gboolean is_private;
  const char *provider;            /* (nullable): NULL = "delta" for what is not a view */
  const char *location;            /* (nullable): NULL = managed, at the default location; else external */
  const char *owner_pipeline;      /* (nullable) */
  const char *owner;               /* (nullable) */
  const char *comment;             /* (nullable): views */
  const char *const *properties;   /* (nullable): views */
  const char *view_text;           /* views */
  const char *view_schema;         /* views */
  const char *const *view_columns; /* (nullable): views */
  gint64 now_us;                   /* creation time */
} CatalogNew;

typedef enum {
  CATALOG_CREATED,
  CATALOG_EXISTS, /* a table or view of this name exists; nothing was done */
} CatalogOutcome;

/**
 * catalog_create:
 * @outcome: (out)
 * @entry: (out) (optional) (transfer full): the new entry, or the one that exists
 *
 * Puts a name into the catalog. For a table call it *before* the commit of version 0: until then the name does not exist for
 * others, and two creators of one table are told apart by that commit (the loser sees the winner's table). @new->location
 * NULL with an existing log at the default location is CATALOG_CREATED too: the log decides what the caller may do with it.
 *
 * Errors: SCHEMA_NOT_FOUND.
 */
gboolean catalog_create (Catalog *catalog, const CatalogNew *new_entry, CatalogOutcome *outcome, CatalogEntry **entry,
                         GError **error);
/* CREATE OR REPLACE VIEW, and updates of a pipeline's entries (owner, kind, private): the row takes all values of @new_entry
 * except that an entry with a location keeps its location and whether it is managed. Creates when absent. */
gboolean catalog_replace (Catalog *catalog, const CatalogNew *new_entry, CatalogEntry **entry, GError **error);
/* @existed: (out) (optional). Deletes the row, and a managed table's directory (see the top). */
gboolean catalog_drop (Catalog *catalog, const char *schema, const char *name, gboolean *existed, GError **error);
/* ALTER … RENAME of a view or an external table's name; a managed table's directory moves along.
 * Errors: TABLE_OR_VIEW_NOT_FOUND, TABLE_OR_VIEW_ALREADY_EXISTS, SCHEMA_NOT_FOUND. */
gboolean catalog_rename (Catalog *catalog, const char *schema, const char *name, const char *new_schema,
                         const char *new_name, GError **error);

/* ---- Delta tables ---- */

/* The table at a directory. The catalog keeps one DeltaTable per location, so that its newest snapshot is advanced and not read
 * anew. Touches no storage. Errors: INVALID_OPTION, UNSUPPORTED_FEATURE (URI). Returns: (transfer full). */
DeltaTable *catalog_delta_table (Catalog *catalog, const char *location, GError **error);

/* The name of a schema as the catalog keeps it; datasets of pipelines have such names too.
 * Errors: INVALID_SCHEMA_OR_RELATION_NAME. Returns: (transfer full): lower case. */
char *catalog_check_name (const char *name, GError **error);

G_END_DECLS

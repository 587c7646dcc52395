/* What one user sees of a catalog: the current schema, temporary views, and how names in queries become rows.
 *
 * A CatalogSession belongs to one thread at a time.
 */
#pragma once

#include "base-cancel.h"
#include "catalog.h"
#include "delta-scan.h"
#include "relation-resolver.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct CatalogSession CatalogSession;
typedef struct DuckSession DuckSession;
typedef struct DeltaSnapshot DeltaSnapshot;

typedef struct {
  BaseSettings *settings; /* (nullable): a reference is taken */
  DuckSession *duck; /* (nullable): for sources that ask DuckDB (inference of files); lives as long as the session */
  const char *user;  /* (nullable): current_user() */
  const char *owner_pipeline; /* (nullable): whose private tables are seen */
} CatalogSessionOptions;

CatalogSession *catalog_session_new (Catalog *catalog, const CatalogSessionOptions *options);
void catalog_session_free (CatalogSession *session); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CatalogSession, catalog_session_free)

Catalog *catalog_session_catalog (CatalogSession *session);           /* (transfer none) */
RelationResolver *catalog_session_resolver (CatalogSession *session); /* (transfer none): lives as long as @session */
BaseSettings *catalog_session_settings (CatalogSession *session);     /* (nullable) (transfer none) */
DuckSession *catalog_session_duck (CatalogSession *session);          /* (nullable) (transfer none) */

/* Used by reads that may take long; set before each statement. @cancel: (nullable): lives until it is set again. */
void catalog_session_set_cancel (CatalogSession *session, BaseCancel *cancel);
BaseCancel *catalog_session_cancel (CatalogSession *session); /* (nullable) (transfer none) */

const char *catalog_session_schema (CatalogSession *session); /* current schema; borrowed until it is set again */
/* Errors: SCHEMA_NOT_FOUND. */
gboolean catalog_session_use (CatalogSession *session, const char *schema, GError **error);

/* The schema that parts name: `s`, `spark_catalog.s`; none = the current one. Does not look whether it exists.
 * Errors: SCHEMA_NOT_FOUND for another catalog or more parts. Returns: (transfer full). */
char *catalog_session_schema_of (CatalogSession *session, const char *const *parts, guint n_parts, GError **error);

/* Temporary views: text, resolved in this session. @columns: (nullable): declared names, NULL-terminated.
 * Errors: TABLE_OR_VIEW_ALREADY_EXISTS unless @or_replace. */
gboolean catalog_session_put_temporary_view (CatalogSession *session, const char *name, const char *text,
                                             const char *const *columns, gboolean or_replace, GError **error);
gboolean catalog_session_drop_temporary_view (CatalogSession *session, const char *name); /* whether there was one */
char **catalog_session_temporary_views (CatalogSession *session);                         /* (transfer full): sorted */
/* Returns: (transfer none) (nullable): its query's text. */
const char *catalog_session_temporary_view_text (CatalogSession *session, const char *name);

/* ---- What a name is ---- */

typedef enum {
  CATALOG_REFERENCE_ABSENT,         /* no such name; @schema and @name say which it would be */
  CATALOG_REFERENCE_TABLE,          /* a table of the catalog (streaming table, materialized view): @entry, @location */
  CATALOG_REFERENCE_VIEW,           /* @entry */
  CATALOG_REFERENCE_TEMPORARY_VIEW, /* @name */
  CATALOG_REFERENCE_PATH,           /* delta.`/dir`, parquet.`…`, json.`…`, csv.`…`: @provider, @location */
} CatalogReferenceKind;

typedef struct {
  CatalogReferenceKind kind;
  CatalogEntry *entry; /* (nullable) (transfer full) */
  char *schema;        /* (nullable): lower case; NULL for PATH and TEMPORARY_VIEW */
  char *name;          /* lower case; the path as written for PATH */
  char *provider;      /* (nullable): "delta", "parquet", "json", "csv" */
  char *location;      /* (nullable): absolute directory of a Delta table; of other providers the path as written */
  gboolean is_managed;
} CatalogReference;
void catalog_reference_clear (CatalogReference *reference);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CatalogReference, catalog_reference_clear)

/**
 * catalog_session_resolve:
 * @parts: unquoted: `t`, `s.t`, `spark_catalog.s.t`, or a provider and a path
 * @reference: (out caller-allocates)
 *
 * Temporary views win over one-part names, then the current schema. A schema named like a provider wins over a path.
 * Private tables are found by their own pipeline only. A path says nothing about whether something is there.
 *
 * Errors: TABLE_OR_VIEW_NOT_FOUND for more than three parts or another catalog.
 */
gboolean catalog_session_resolve (CatalogSession *session, const char *const *parts, guint n_parts,
                                  CatalogReference *reference, GError **error);
/* TABLE_OR_VIEW_NOT_FOUND for the parts, with near names as the hint. Returns: FALSE always. */
gboolean catalog_session_set_not_found (CatalogSession *session, const char *const *parts, guint n_parts,
                                        GError **error);

/* The snapshot of a Delta table that a name with time travel means: the newest with version -1 and RELATION_NO_TIME.
 * Errors: TABLE_OR_VIEW_NOT_FOUND (absent), EXPECT_TABLE_NOT_VIEW, DELTA_TABLE_NOT_FOUND, those of the log and of time travel.
 * Returns: (transfer full). */
DeltaSnapshot *catalog_session_snapshot (CatalogSession *session, const CatalogReference *reference, gint64 version,
                                         gint64 timestamp_us, GError **error);

/**
 * catalog_batch_travel:
 * @version: (out): -1 = not said
 * @timestamp_us: (out): RELATION_NO_TIME = not said
 *
 * The version that a batch read of a Delta table means by its clause (VERSION AS OF) or its options (versionAsOf, timestampAsOf).
 *
 * Errors: INVALID_OPTION for other options, DELTA_VERSION_INVALID, DELTA_TIMESTAMP_INVALID,
 *         DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS when it is said twice.
 */
gboolean catalog_batch_travel (CatalogSession *session, const RelationTableRequest *request, gint64 *version,
                               gint64 *timestamp_us, GError **error);
/* The snapshot that a read of a Delta table means, the suffix of a path (`@v3`) included, which is cut off from @reference's
 * location. @says_version: (out) (optional): whether it says which, else it is the newest. Errors: those of catalog_batch_travel() and
 * catalog_session_snapshot(); DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION. Returns: (transfer full). */
DeltaSnapshot *catalog_travel_snapshot (CatalogSession *session, CatalogReference *reference,
                                        const RelationTableRequest *request, gboolean *says_version, GError **error);

/* Whether a batch read of a table asks for its changes: CHANGES FROM, or the option readChangeFeed. Such a request is answered by
 * the resolver of a session alone. Errors: DELTA_ILLEGAL_OPTION. */
gboolean catalog_asks_for_changes (const RelationTableRequest *request, gboolean *asks, GError **error);
/* Whether bounds and options of such a request are right in themselves, whatever the table. Errors: INVALID_OPTION, DELTA_VERSION_INVALID,
 * DELTA_TIMESTAMP_INVALID, DELTA_MULTIPLE_CDC_BOUNDARY. */
gboolean catalog_changes_check (CatalogSession *session, const RelationTableRequest *request, GError **error);

/* A source over a snapshot: all columns of its schema; `_metadata` hidden. @name: for errors and lineage.
 * Returns: (transfer full). */
RelationSource *catalog_delta_source_new (DeltaSnapshot *snapshot, const char *name);
/* Lets such a source read the newest snapshot of its table from now on, unless that has other columns than queries were bound to. @renewed: (out):
 * whether that is another version. Errors: those of the log. */
gboolean catalog_delta_source_renew (RelationSource *source, BaseCancel *cancel, gboolean *renewed, GError **error);
/* `_metadata` for other leaves over a Delta table: its type; what a scan must give for it, where the request does not ask for it already;
 * and its expression over the scan's outputs. @request: borrows no memory of the snapshot. */
#define CATALOG_METADATA "_metadata"
BaseType *catalog_metadata_type (DeltaSnapshot *snapshot); /* (transfer full) */
void catalog_metadata_request (DeltaSnapshot *snapshot, DeltaScanRequest *request);
void catalog_metadata_append (DeltaSnapshot *snapshot, const DeltaScanRequest *request, GString *sql);
/* What a scan may skip by, as delta says it. @predicates, @constants: room for one per skip; the first borrow the second.
 * Returns: how many were understood; the others only skip nothing. */
guint catalog_delta_predicates (const RelationScan *scan, guint n_columns, DeltaPredicate *predicates,
                                DeltaConstant *constants);

/**
 * catalog_table_changes_stream:
 * @parts: (out) (transfer full): of the table's name
 * @options: (out) (transfer full): key, value, …, NULL
 *
 * STREAM table_changes(name, start) as what it means: STREAM name WITH (readChangeFeed => 'true', startingVersion => start).
 *
 * Errors: INCORRECT_NUMBER_OF_ARGUMENTS, those of the bounds of table_changes().
 */
gboolean catalog_table_changes_stream (CatalogSession *session, const RelationTableFunctionRequest *request,
                                       char ***parts, char ***options, GError **error);

/* ---- Table functions of upper rooms ---- */

/**
 * CatalogFunctionBind:
 *
 * Answers one call of a table function in a query. Errors carry no position: the binder adds it.
 */
typedef gboolean (*CatalogFunctionBind) (CatalogSession *session, const RelationTableFunctionRequest *request,
                                         RelationTableAnswer *answer, gpointer data, GError **error);

/* One table function: `event_log` from pipeline, others as rooms bring them. Those of this room (read_files, table_changes …) are
 * rows of catalog-function.c. @name: lower case, static. Later rows of the same name win. */
typedef struct {
  const char *name;
  CatalogFunctionBind bind;
  gpointer data;
} CatalogFunction;
/* Threads: before sessions use @catalog. */
void catalog_add_function (Catalog *catalog, const CatalogFunction *function);

G_END_DECLS

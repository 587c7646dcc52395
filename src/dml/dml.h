/* Statements on tables: CREATE TABLE, DROP TABLE, INSERT, DESCRIBE HISTORY and DETAIL; and a named error for the others.
 *
 * `session` parses and dispatches. What only concerns names or settings (SET, USE, SHOW, DESCRIBE TABLE, schemas, views, queries)
 * it does itself; what touches a table's log or rows comes here.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "base-settings.h"
#include "base-type.h"
#include "relation-plan.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct Catalog Catalog;
typedef struct CatalogSession CatalogSession;

typedef struct DeltaSnapshot DeltaSnapshot;
typedef struct SqlStatement SqlStatement;
typedef struct StoreContext StoreContext;

/* Everything borrowed for the call. */
typedef struct {
  Catalog *catalog;
  CatalogSession *names; /* current schema, temporary views */
  RelationContext *
      relation; /* binds the statement's queries and expressions: resolver over `names`, settings, the clock's literal */
  BaseSettings *settings;
  DuckSession *duck;
  BaseCancel *cancel; /* (nullable) */
  BaseClock clock;
  StoreContext *stores;
  const char *user; /* (nullable): into commitInfo and the owner of new tables */
} DmlContext;

/* A statement's answer: the text of one DuckDB SELECT with columns c0, c1, … of duck_type_text() of the schema's types. */
typedef struct {
  BaseType *schema; /* display names and types; a struct without fields: the statement answers nothing */
  char *sql;        /* NULL when the schema has no fields */
  char *warning;    /* (nullable): what the user should know, although all went well; one sentence or two */
} DmlResult;
void dml_result_clear (DmlResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DmlResult, dml_result_clear)

/* Whether dml_execute() knows the statement's kind (it may still answer with UNSUPPORTED_FEATURE at its position). */
gboolean dml_handles (const SqlStatement *statement);

/**
 * dml_execute:
 * @result: (out caller-allocates): cleared with dml_result_clear() by the caller; INSERT answers num_affected_rows and num_inserted_rows
 *
 * Runs one statement to its end: all of it is committed, or nothing.
 *
 * Errors: Spark's and Delta's conditions, with the statement's position where the cause has one.
 */
gboolean dml_execute (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error);

/* The columns of the domain `delta.clustering`, by their names in the snapshot's schema. Returns: (transfer full): NULL-terminated. */
char **dml_clustering_columns (DeltaSnapshot *snapshot);

G_END_DECLS

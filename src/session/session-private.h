/* The session's parts for each other. */
#pragma once

#include "session.h"

#include <catalog-session.h>
#include <catalog.h>
#include <duck-engine.h>
#include <duck-result.h>
#include <duck-session.h>
#include <relation-plan.h>
#include <relation-render.h>
#include <sql-build.h>
#include <sql-parse.h>
#include <store-context.h>

G_BEGIN_DECLS

struct SluiceWarehouse {
  gatomicrefcount refs;
  char *user;
  BaseClock clock;
  StoreContext *stores;   /* (nullable) */
  BaseSettings *settings; /* defaults of sessions */
  DuckEngine *engine;
  Catalog *catalog;
};

struct SluiceSession {
  SluiceWarehouse *warehouse;
  BaseSettings *settings;
  DuckSession *duck;
  CatalogSession *names;
  GMutex cancel_lock;
  BaseCancel *cancel;         /* of the statement that runs; under @cancel_lock */
  gboolean keeps_cancel;      /* given by session_use_cancel() */
  SluiceResult *result;       /* (nullable): the last result while it may still be read */
  RelationRenderer *renderer; /* (nullable): made for the time zone when first needed */
};

typedef struct {
  char *type;     /* (nullable) */
  GString *value; /* (nullable): of the current row */
} SessionTexts;

struct SluiceResult {
  SluiceSession *session; /* (nullable): NULL once detached */
  BaseType *schema;
  RelationText *text; /* (nullable) */
  RelationPlan *plan; /* (nullable) */
  DuckResult *rows;   /* (nullable): NULL without columns, at the end, or once detached */
  const DuckChunk *chunk;
  guint row; /* in @chunk: the current one */
  gboolean at_end;
  gboolean has_repeated_names;
  char *warning; /* (nullable) */

  /* Texts that sluice.h lends out. */
  SessionTexts *texts; /* (nullable): one per column */
  GString *json;       /* (nullable): the current row */
};

/* An answer as the text of one DuckDB SELECT with columns c0, c1, …; a schema without fields answers nothing. */
typedef struct {
  BaseType *schema;
  char *sql;     /* (nullable) */
  char *warning; /* (nullable) */
} SessionAnswer;
void session_answer_clear (SessionAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SessionAnswer, session_answer_clear)

/* Builds small answers row by row. */
typedef struct SessionRows SessionRows;
/* @columns: names, NULL-terminated; a name that ends with `?` is a BOOLEAN column, all others are STRING. */
SessionRows *session_rows_new (const char *const *columns);
/* As many values as columns; NULL is NULL, "true" and "false" for BOOLEAN. */
void session_rows_add (SessionRows *rows, ...);
void session_rows_add_values (SessionRows *rows, const char *const *values);
void session_rows_end (SessionRows *rows, SessionAnswer *answer); /* frees @rows */
void session_rows_free (SessionRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SessionRows, session_rows_free)

/* What one statement needs. */
typedef struct {
  SluiceSession *session;
  const SqlStatement *statement;
  RelationContext context;
  gint64 now_us;
} SessionCall;

/* Statements of this room. @handled: (out): FALSE when the statement's kind is not one of them. */
gboolean session_statement_run (const SessionCall *call, SessionAnswer *answer, gboolean *handled, GError **error);

/* session-show.c, session-describe.c, session-view.c */
gboolean session_show (const SessionCall *call, SessionAnswer *answer, GError **error);
gboolean session_describe (const SessionCall *call, SessionAnswer *answer, GError **error);
gboolean session_create_view (const SessionCall *call, SessionAnswer *answer, GError **error);
gboolean session_drop_view (const SessionCall *call, SessionAnswer *answer, GError **error);

/* What a name means to SHOW and DESCRIBE. Errors as of catalog_session_snapshot() and binding. Returns: (transfer full). */
BaseType *session_reference_schema (const SessionCall *call, const CatalogReference *reference, GError **error);
/* Properties: key, value, …, NULL. */
char **session_reference_properties (const SessionCall *call, const CatalogReference *reference, GError **error);

/* Sets a key in the session, with what follows from it (time zone). */
gboolean session_apply_setting (SluiceSession *session, const char *key, const char *value, GError **error);

/* Adds the name's position to *error; FALSE always. */
gboolean session_fail_at (const SqlPosition *position, GError **error);

/* Starts @sql and gives its rows under @schema. @text: (nullable) (transfer full): held until the result is freed.
 * @plan: (nullable): a reference is taken. */
SluiceResult *session_result_new (SluiceSession *session, const BaseType *schema, const char *sql, RelationText *text,
                                  RelationPlan *plan, GError **error);
/* Ends a result whose session goes on: reading it further is an error. */
void session_result_detach (SluiceResult *result);
RelationRenderer *session_renderer (SluiceSession *session, GError **error); /* (transfer none) */

G_END_DECLS

/* One user at one warehouse: runs statements, gives results. What include/sluice.h wraps, for the rooms of this house.
 *
 * A warehouse is opened once per process and holds what is shared: the DuckDB engine with its kernels, the catalog, the context of
 * all stores, the clock. A session holds what one user sets: current schema, temporary views, settings, the time zone.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "base-settings.h"
#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct SluiceWarehouse SluiceWarehouse;
typedef struct SluiceSession SluiceSession;
typedef struct SluiceResult SluiceResult;

typedef struct Catalog Catalog;
typedef struct CatalogSession CatalogSession;
typedef struct DuckEngine DuckEngine;
typedef struct DuckSession DuckSession;
typedef struct StoreContext StoreContext;
struct ArrowSchema;
struct ArrowArray;

/* ---- The environment: read here and nowhere below ---- */

/* SLUICE_CLOCK_US, SLUICE_FAULT, SLUICE_FAULT_COUNT, SLUICE_WAREHOUSE. */
typedef struct {
  BaseClock clock;
  StoreContext *stores; /* (nullable): set when faults or their count were asked for */
  char *warehouse;      /* (nullable) */
  char *user;           /* the login name, or "unknown" */
} SessionEnvironment;
/* Errors: INVALID_OPTION for a value that cannot be read. Returns: (transfer full). */
SessionEnvironment *session_environment_new (GError **error);
/* Storage operations so far, for the tests that make each one fail; -1 when SLUICE_FAULT_COUNT did not ask for them. */
gint64 session_environment_n_operations (const SessionEnvironment *environment);
void session_environment_free (SessionEnvironment *environment); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SessionEnvironment, session_environment_free)

/* ---- Warehouses ---- */

/**
 * session_warehouse_open:
 * @directory: a directory or a file: URI
 * @environment: (nullable): clock and stores; copied
 * @settings: (nullable): engine.memoryLimit, engine.threads, engine.tempDirectory and the defaults of sessions; a reference is
 *     taken
 *
 * Errors:  INVALID_OPTION, UNSUPPORTED_FEATURE, INVALID_CONF_VALUE, those of the engine.
 * Threads: a warehouse serves any number of threads.
 * Returns: (transfer full).
 */
SluiceWarehouse *session_warehouse_open (const char *directory, const SessionEnvironment *environment,
                                         BaseSettings *settings, GError **error);
SluiceWarehouse *session_warehouse_ref (SluiceWarehouse *warehouse);
void session_warehouse_unref (SluiceWarehouse *warehouse); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SluiceWarehouse, session_warehouse_unref)
/* Borrows: the warehouse's life. */
const char *session_warehouse_directory (SluiceWarehouse *warehouse); /* absolute */
Catalog *session_warehouse_catalog (SluiceWarehouse *warehouse);
DuckEngine *session_warehouse_engine (SluiceWarehouse *warehouse);
StoreContext *session_warehouse_stores (SluiceWarehouse *warehouse); /* (nullable) */

/* ---- Sessions ---- */

/* Threads: one at a time, except session_cancel(). Returns: (transfer full). */
SluiceSession *session_new (SluiceWarehouse *warehouse, GError **error);
void session_free (SluiceSession *session); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SluiceSession, session_free)
/* Errors: INVALID_CONF_VALUE, INVALID_TIMEZONE. */
gboolean session_set (SluiceSession *session, const char *key, const char *value, GError **error);
/* Stops the statement that runs now and the reading of its result. Threads: any, not a signal handler. */
void session_cancel (SluiceSession *session);
/* @cancel: (nullable): used for all statements from now on instead of one per statement; a reference is taken. */
void session_use_cancel (SluiceSession *session, BaseCancel *cancel);

/* ---- Statements ---- */

/* Runs exactly one statement. @file: (nullable): names the text in errors. Ends the session's former result.
 * Returns: (transfer full). */
SluiceResult *session_run (SluiceSession *session, const char *sql, gssize length, const char *file, GError **error);

/* The statements of a text one after the other; `${key}` is replaced from the session's settings, so that a SET feeds the
 * statements behind it. @text must live as long as the script. */
typedef struct SessionScript SessionScript;
SessionScript *session_script_new (SluiceSession *session, const char *text, gssize length, const char *file);
void session_script_free (SessionScript *script); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SessionScript, session_script_free)
/* Runs the next statement. @result: (out) (nullable) (transfer full): NULL at the end of the text. After an error the next call
 * goes on behind the failed statement. */
gboolean session_script_next (SessionScript *script, SluiceResult **result, GError **error);
/* Whether a text ends behind a statement's `;`, outside of literals and comments: what a shell needs to know. */
gboolean session_text_is_complete (const char *text, gssize length);

/* ---- Results ---- */

void session_result_free (SluiceResult *result); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SluiceResult, session_result_free)
/* A struct: Spark's display names (duplicates possible) and types; no fields: the statement answers nothing. Borrowed. */
BaseType *session_result_schema (const SluiceResult *result);
/* What the user should know of a statement that went well; NULL when there is nothing. Borrowed. */
const char *session_result_warning (const SluiceResult *result);
/* Steps to the next row; @has_row: (out): FALSE at the end. Errors: those of the query. */
gboolean session_result_next (SluiceResult *result, gboolean *has_row, GError **error);

/* The current row. */
gboolean session_result_is_null (SluiceResult *result, guint column);
/* As CAST(value AS STRING) says, but BINARY as `[31 0A]`; nothing is appended for NULL. Errors of these: a malformed VARIANT, a time zone. */
gboolean session_result_append_text (SluiceResult *result, guint column, GString *out, GError **error);
/* As golden/sql renders values: numbers as JSON numbers, decimals as strings, timestamps with Z … */
gboolean session_result_append_json (SluiceResult *result, guint column, GString *out, GError **error);
/* The whole row: an object, or a list of [name, value] when names repeat. */
gboolean session_result_append_json_row (SluiceResult *result, GString *out, GError **error);

/* Arrow C data interface, instead of session_result_next(). */
gboolean session_result_arrow_schema (SluiceResult *result, struct ArrowSchema *schema, GError **error);
gboolean session_result_arrow_next (SluiceResult *result, struct ArrowArray *array, gboolean *at_end, GError **error);

G_END_DECLS

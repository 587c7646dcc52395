/* What the files of this room share. Nothing outside `duck` may include this: it brings duckdb.h. */
#pragma once

#include "base-cancel.h"
#include "base-error.h"
#include "duck-engine.h"
#include "duck-kernel.h"
#include "duck-lend.h"
#include "duck-result.h"
#include "duck-session.h"
#include "duck-type.h"
#include "duck-vector.h"

#include <duckdb.h>
#include <glib.h>

G_BEGIN_DECLS

/* ---- types and vectors ---- */

DuckKind duck_kind_from_id (duckdb_type id);
DuckType *duck_type_from_logical (duckdb_logical_type logical); /* (transfer full); @logical stays the caller's */
duckdb_logical_type duck_type_to_logical (DuckKind kind, guint width,
                                          guint scale); /* scalar kinds only; caller destroys */
/* The type of a name as duck_type_name() spells it, when it is a scalar one without parameters or a list of such: NULL for others. */
duckdb_logical_type duck_type_name_to_logical (const char *name, gsize length);

/* Gives @vector the shape of a type; duck_vector_point() then sets the pointers of this very DuckDB vector. */
void duck_vector_init (DuckVector *vector, const DuckType *type);
void duck_vector_init_logical (DuckVector *vector, duckdb_logical_type logical);
void duck_vector_point (DuckVector *vector, duckdb_vector handle);
void duck_vector_clear (DuckVector *vector); /* frees the children, not the vector itself */

/* ---- errors ---- */

/* Turns DuckDB's text into @error. @sql: (nullable). Returns: FALSE. */
gboolean duck_error_set (DuckEngine *engine, const char *message, const char *sql, GError **error);
/* The text under which an error of ours travels through DuckDB; the whole error is kept by the engine until it comes out.
 * @error: (transfer full). Returns: (transfer full). */
char *duck_error_wrap (DuckEngine *engine, GError *error);

/* ---- engine ---- */

#define DUCK_ENGINE_KEPT_ERRORS 64

typedef struct {
  guint64 id;
  GError *error;
} DuckKeptError;

typedef struct DuckCache DuckCache;

struct DuckEngine {
  gatomicrefcount refs;
  duckdb_database database;
  char *temp_directory;
  guint n_threads;
  guint64 memory_bytes; /* the limit, of which DuckDB gets the most */

  GMutex error_lock;
  guint64 last_error_id;                         /* guarded by error_lock */
  DuckKeptError errors[DUCK_ENGINE_KEPT_ERRORS]; /* a ring; guarded by error_lock */

  GMutex interrupt_lock;
  GCond interrupt_cond;
  GPtrArray *interrupts; /* of DuckRun, canceled and not yet back; guarded by interrupt_lock */
  GThread *interrupter;  /* guarded by interrupt_lock */
  gboolean closing;      /* guarded by interrupt_lock */

  GMutex kernel_lock;
  duckdb_connection kernel_connection; /* guarded by kernel_lock */
  GHashTable *kernels;                 /* name → Kernel registration with no fixed result; guarded by kernel_lock */
  GHashTable *instances;               /* "name type" → SQL name; guarded by kernel_lock */
  GPtrArray *kernel_entries;           /* owns what registered functions point to; guarded by kernel_lock */

  GMutex empty_lock;
  int empty_fd;     /* -1 until it is made; guarded by empty_lock */
  char *empty_path; /* guarded by empty_lock */

  GMutex keep_lock;
  GPtrArray *kept; /* of Kept, see duck_engine_keep(); guarded by keep_lock */

  GMutex lend_lock;
  guint64 last_handle; /* guarded by lend_lock */
  GHashTable *lent;    /* handle → DuckLent; guarded by lend_lock */

  DuckCache *cache; /* has its own lock */
};

gboolean duck_engine_init_kernels (DuckEngine *engine, GError **error);
void duck_engine_disconnect_kernels (DuckEngine *engine); /* before the database is closed */
void duck_engine_clear_kernels (DuckEngine *engine);      /* after it */
gboolean duck_engine_init_lend (DuckEngine *engine, GError **error);
void duck_engine_clear_lend (DuckEngine *engine);

/* One call into DuckDB that a BaseCancel may interrupt: begin, call, end. After it was raised, DuckDB is interrupted every few
 * milliseconds until the end, because an interrupt that comes before DuckDB has begun is lost. */
typedef struct {
  DuckEngine *engine;
  duckdb_connection connection;
  BaseCancel *cancel;
  guint hook_id;
} DuckRun;

gboolean duck_run_begin (DuckRun *run, DuckEngine *engine, duckdb_connection connection, BaseCancel *cancel,
                         GError **error);
void duck_run_end (DuckRun *run);

/* The logical type that a text names, through a connection. Caller destroys. NULL + @error. */
duckdb_logical_type duck_parse_logical (DuckEngine *engine, duckdb_connection connection, const char *text,
                                        GError **error);

/* ---- session and result ---- */

struct DuckSession {
  DuckEngine *engine;
  duckdb_connection connection;
  char *time_zone;
  DuckResult *streaming; /* the unfinished result, not owned */
};

/* @result: (transfer full) of DuckDB's struct. Returns: (transfer full). */
DuckResult *duck_result_new (DuckSession *session, duckdb_result *result, gboolean streaming, const char *sql,
                             BaseCancel *cancel);
/* @names: NULL-terminated; the caller frees them and destroys the types. */
void duck_result_copy_columns (DuckResult *result, guint *n_columns, char ***names, duckdb_logical_type **types);
/* Reads to the end without keeping anything. */
gboolean duck_result_drain (DuckResult *result, GError **error);
/* When a streaming query fails in one thread, DuckDB interrupts the others before it notes the reason, and the reader sometimes
 * gets that interrupt for an answer (1.5.5; one in 25 of failing parallel scans). Such an error says canceled though nobody
 * canceled. Then this runs the query again to learn the reason; any other @error comes back as it is.
 * @error: (transfer full). Returns: (transfer full): never NULL. */
GError *duck_session_real_error (DuckSession *session, GError *error, const char *sql, BaseCancel *cancel);
/* Ends a streaming result whose session goes on. */
void duck_result_abandon (DuckResult *result);

G_END_DECLS

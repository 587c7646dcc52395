/* A session: one statement after the other.
 *
 * session_run_tree() is the one way every statement goes: the former result ends, a fresh cancel is put up, then the statement
 * is a query (bound, lowered, streamed), one of this room's own (names and settings), or one of `dml`'s.
 */
#include "session-private.h"

#include <base-error.h>
#include <dml.h>
#include <string.h>

SluiceSession *
session_new (SluiceWarehouse *warehouse, GError **error)
{
  g_autoptr (SluiceSession) session = g_new0 (SluiceSession, 1);
  CatalogSessionOptions options = { 0 };
  const char *zone;

  g_mutex_init (&session->cancel_lock);
  session->warehouse = session_warehouse_ref (warehouse);
  session->settings = base_settings_new (warehouse->settings);
  session->duck = duck_session_new (warehouse->engine, error);
  if (session->duck == NULL)
    return NULL;
  zone = base_settings_get (session->settings, "spark.sql.session.timeZone");
  if (zone != NULL && !duck_session_set_time_zone (session->duck, zone, error))
    return NULL;
  options.settings = session->settings;
  options.duck = session->duck;
  options.user = warehouse->user;
  session->names = catalog_session_new (warehouse->catalog, &options);
  return g_steal_pointer (&session);
}

void
session_free (SluiceSession *session)
{
  if (session == NULL)
    return;
  if (session->result != NULL)
    session_result_detach (session->result);
  catalog_session_free (session->names);
  relation_renderer_free (session->renderer);
  duck_session_free (session->duck);
  base_settings_unref (session->settings);
  base_cancel_unref (session->cancel);
  g_mutex_clear (&session->cancel_lock);
  session_warehouse_unref (session->warehouse);
  g_free (session);
}

gboolean
session_apply_setting (SluiceSession *session, const char *key, const char *value, GError **error)
{
  gboolean is_zone = strcmp (key, "spark.sql.session.timeZone") == 0;

  if (is_zone && !duck_session_set_time_zone (session->duck, value, error))
    return FALSE;
  if (is_zone)
    g_clear_pointer (&session->renderer, relation_renderer_free);
  return base_settings_set (session->settings, key, value, error);
}

gboolean
session_set (SluiceSession *session, const char *key, const char *value, GError **error)
{
  return session_apply_setting (session, key, value, error);
}

/* --- Cancelling --- */

void
session_cancel (SluiceSession *session)
{
  g_autoptr (BaseCancel) cancel = NULL;

  g_mutex_lock (&session->cancel_lock);
  cancel = base_cancel_ref (session->cancel);
  g_mutex_unlock (&session->cancel_lock);
  if (cancel != NULL)
    base_cancel_raise (cancel);
}

void
session_use_cancel (SluiceSession *session, BaseCancel *cancel)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&session->cancel_lock);
  base_cancel_unref (session->cancel);
  session->cancel = base_cancel_ref (cancel);
  session->keeps_cancel = cancel != NULL;
}

/* A raised flag stays up, so every statement gets its own. */
static void
renew_cancel (SluiceSession *session)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&session->cancel_lock);
  if (session->keeps_cancel)
    return;
  base_cancel_unref (session->cancel);
  session->cancel = base_cancel_new ();
}

/* --- Running --- */

gboolean
session_fail_at (const SqlPosition *position, GError **error)
{
  sql_position_add_to_error (position, error);
  return FALSE;
}

void
session_answer_clear (SessionAnswer *answer)
{
  g_clear_pointer (&answer->schema, base_type_unref);
  g_clear_pointer (&answer->sql, g_free);
  g_clear_pointer (&answer->warning, g_free);
}

static SluiceResult *
run_query (const SessionCall *call, GError **error)
{
  SluiceSession *session = call->session;
  g_autoptr (RelationPlan) plan = relation_plan_new_query (call->statement->u.query, &call->context, error);
  RelationLowering lowering = { .now_us = call->now_us, .session = session->duck };
  g_autoptr (RelationText) text = NULL;
  const char *sql;

  if (plan == NULL)
    return NULL;
  if (relation_plan_is_streaming (plan)) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_STREAMING_OPERATION, "a streaming query runs in a pipeline only");
    base_error_set_hint (error, "leave STREAM out to read the table as it is now");
    session_fail_at (&call->statement->position, error);
    return NULL;
  }
  text = relation_plan_lower (plan, &lowering, error);
  if (text == NULL)
    return NULL;
  sql = relation_text_sql (text)->str;
  return session_result_new (session, relation_plan_schema (plan), sql, g_steal_pointer (&text), plan, error);
}

static gboolean
run_dml (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  SluiceSession *session = call->session;
  g_auto (DmlResult) result = { 0 };
  RelationContext relation = call->context;
  DmlContext context = {
    .catalog = session->warehouse->catalog,
    .names = session->names,
    .relation = &relation,
    .settings = session->settings,
    .duck = session->duck,
    .cancel = session->cancel,
    .clock = session->warehouse->clock,
    .stores = session->warehouse->stores,
    .user = session->warehouse->user,
  };

  if (!dml_execute (&context, call->statement, &result, error))
    return FALSE;
  answer->schema = g_steal_pointer (&result.schema);
  answer->sql = g_steal_pointer (&result.sql);
  answer->warning = g_steal_pointer (&result.warning);
  return TRUE;
}

static SluiceResult *
run_tree (SluiceSession *session, const SqlStatement *statement, const char *file, const char *text, GError **error)
{
  g_auto (SessionAnswer) answer = { 0 };
  SessionCall call = { .session = session, .statement = statement };
  gboolean handled = FALSE;

  if (session->result != NULL)
    session_result_detach (session->result);
  renew_cancel (session);
  if (!base_cancel_check (session->cancel, error))
    return NULL;
  catalog_session_set_cancel (session->names, session->cancel);
  call.now_us = base_clock_now_us (&session->warehouse->clock);
  call.context = (RelationContext){
    .resolver = catalog_session_resolver (session->names),
    .settings = session->settings,
    .now_us = call.now_us,
    .session = session->duck,
    .file = file,
    .text = text,
  };
  if (statement->kind == SQL_STATEMENT_QUERY)
    return run_query (&call, error);
  if (!session_statement_run (&call, &answer, &handled, error))
    return NULL;
  if (!handled && dml_handles (statement)) {
    handled = TRUE;
    if (!run_dml (&call, &answer, error))
      return NULL;
  }
  if (!handled) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "this statement cannot be run here");
    base_error_set_hint (
        error, "streaming tables, materialized views and flows are defined in a pipeline's files: see sluice init");
    session_fail_at (&statement->position, error);
    return NULL;
  }
  SluiceResult *result = session_result_new (session, answer.schema, answer.sql, NULL, NULL, error);
  if (result != NULL)
    result->warning = g_steal_pointer (&answer.warning);
  return result;
}

/* --- Texts --- */

struct SessionScript {
  SluiceSession *session;
  SqlArena *arena;
  SqlScriptParser *parser;
  const char *text;
  char *file;
};

/* `${key}` as Spark does it: a key that is not set stays as it is written. */
static gboolean
substitute (const char *key, char **value, gpointer data, GError **error G_GNUC_UNUSED)
{
  SluiceSession *session = data;
  const char *found = base_settings_get (session->settings, key);

  *value = found != NULL ? g_strdup (found) : g_strconcat ("${", key, "}", NULL);
  return TRUE;
}

SessionScript *
session_script_new (SluiceSession *session, const char *text, gssize length, const char *file)
{
  SessionScript *script = g_new0 (SessionScript, 1);
  SqlParseOptions options = { .substitute = substitute, .substitute_data = session };

  script->session = session;
  script->arena = sql_arena_new ();
  script->text = text;
  script->file = g_strdup (file);
  options.file = script->file;
  script->parser = sql_script_parser_new (script->arena, text, length, &options);
  return script;
}

void
session_script_free (SessionScript *script)
{
  if (script == NULL)
    return;
  sql_script_parser_free (script->parser);
  sql_arena_unref (script->arena);
  g_free (script->file);
  g_free (script);
}

gboolean
session_script_next (SessionScript *script, SluiceResult **result, GError **error)
{
  SqlStatement *statement = NULL;
  SluiceResult *answer = NULL;

  if (!sql_script_parser_next (script->parser, &statement, error))
    return FALSE;
  if (statement != NULL) {
    answer = run_tree (script->session, statement, script->file, script->text, error);
    if (answer == NULL)
      return FALSE;
  }
  *result = answer;
  return TRUE;
}

gboolean
session_text_is_complete (const char *text, gssize length)
{
  g_autoptr (GArray) pieces = NULL;
  gboolean is_complete = FALSE;

  sql_split (text, length, &pieces, &is_complete);
  return is_complete;
}

SluiceResult *
session_run (SluiceSession *session, const char *sql, gssize length, const char *file, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlParseOptions options = { .file = file, .substitute = substitute, .substitute_data = session };
  SqlStatement *statement = sql_parse_statement (arena, sql, length, &options, error);

  if (statement == NULL)
    return NULL;
  return run_tree (session, statement, file, sql, error);
}

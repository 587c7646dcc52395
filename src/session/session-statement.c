/* Statements that concern names and settings only: a table of kinds. */
#include "session-private.h"

#include <base-error.h>
#include <base-text.h>
#include <relation-plan.h>
#include <string.h>

static gboolean
answer_nothing (SessionAnswer *answer)
{
  answer->schema = base_struct_builder_end (base_struct_builder_new ());
  return TRUE;
}

static const char *const key_value[] = { "key", "value", NULL };

/* `INTERVAL '+05:30' HOUR TO MINUTE` and the like as `+05:30`. Returns: (transfer full). */
static char *
zone_of_interval (const SessionCall *call, const SqlExpr *expr, GError **error)
{
  g_autoptr (RelationLiteral) literal = relation_eval_constant (expr, NULL, &call->context, error);
  gint64 minutes;

  if (literal == NULL)
    return NULL;
  if (literal->is_null || base_type_kind (literal->type) != BASE_TYPE_INTERVAL_DAY_TIME ||
      literal->integer % (60 * G_USEC_PER_SEC) != 0 || ABS (literal->integer) > 18 * 3600 * (gint64) G_USEC_PER_SEC) {
    base_error_set (error, SLUICE_ERROR_INVALID_TIMEZONE, "a time zone is an interval of whole minutes up to 18 hours");
    session_fail_at (&expr->position, error);
    return NULL;
  }
  minutes = literal->integer / (60 * (gint64) G_USEC_PER_SEC);
  return g_strdup_printf ("%c%02d:%02d", minutes < 0 ? '-' : '+', (int) (ABS (minutes) / 60),
                          (int) (ABS (minutes) % 60));
}

static void
list_settings (SluiceSession *session, gboolean verbose, SessionAnswer *answer)
{
  static const char *const verbose_columns[] = { "key", "value", "meaning", "Since version", NULL };
  SessionRows *rows = session_rows_new (verbose ? verbose_columns : key_value);

  if (verbose) {
    guint n;
    const BaseSettingRow *all = base_settings_rows (&n);
    for (guint i = 0; i < n; i++) {
      const char *value = base_settings_get (session->settings, all[i].key);
      session_rows_add (rows, all[i].key, value != NULL ? value : "<undefined>", all[i].text, "0.1.0");
    }
  } else {
    g_auto (GStrv) pairs = base_settings_list (session->settings);
    for (guint i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
      session_rows_add (rows, pairs[i], pairs[i + 1]);
  }
  session_rows_end (rows, answer);
}

static gboolean
run_set (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  const SqlSet *set = &call->statement->u.set;
  g_autofree char *zone = NULL;
  const char *value = set->value;
  SessionRows *rows;

  if (set->key == NULL) {
    list_settings (call->session, set->verbose, answer);
    return TRUE;
  }
  if (set->time_zone_interval != NULL) {
    zone = zone_of_interval (call, set->time_zone_interval, error);
    if (zone == NULL)
      return FALSE;
    value = zone;
  }
  if (value != NULL) {
    if (set->time_zone && g_ascii_strcasecmp (value, "LOCAL") == 0)
      value = "UTC"; /* the machine's zone must not change answers */
    if (!session_apply_setting (call->session, set->key, value, error))
      return session_fail_at (&call->statement->position, error);
  } else {
    value = base_settings_get (call->session->settings, set->key);
  }
  rows = session_rows_new (key_value);
  session_rows_add (rows, set->key, value != NULL ? value : "<undefined>");
  session_rows_end (rows, answer);
  return TRUE;
}

static gboolean
reset_one (SluiceSession *session, const char *key, GError **error)
{
  base_settings_unset (session->settings, key);
  if (strcmp (key, "spark.sql.session.timeZone") != 0)
    return TRUE;
  g_clear_pointer (&session->renderer, relation_renderer_free);
  return duck_session_set_time_zone (session->duck, base_settings_get (session->settings, key), error);
}

static gboolean
run_reset (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  const SqlReset *reset = &call->statement->u.reset;
  g_auto (GStrv) pairs = NULL;

  if (reset->key != NULL)
    return reset_one (call->session, reset->key, error) && answer_nothing (answer);
  pairs = base_settings_list (call->session->settings);
  for (guint i = 0; pairs[i] != NULL && pairs[i + 1] != NULL; i += 2)
    if (!reset_one (call->session, pairs[i], error))
      return FALSE;
  return answer_nothing (answer);
}

static gboolean
run_use (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  const SqlUse *use = &call->statement->u.use;
  g_autofree const char **parts = sql_name_parts (&use->name);
  g_autofree char *schema = NULL;

  if (use->what == SQL_USE_CATALOG ||
      (use->what == SQL_USE_NAME && use->name.n == 1 && g_ascii_strcasecmp (parts[0], CATALOG_NAME) == 0)) {
    if (use->name.n == 1 && g_ascii_strcasecmp (parts[0], CATALOG_NAME) == 0)
      return answer_nothing (answer);
    base_error_set (error, SLUICE_ERROR_CATALOG_NOT_FOUND, "there is one catalog, " CATALOG_NAME ", not `%s`",
                    use->name.n > 0 ? parts[0] : "");
    return session_fail_at (&use->name.position, error);
  }
  schema = catalog_session_schema_of (call->session->names, parts, use->name.n, error);
  if (schema == NULL || !catalog_session_use (call->session->names, schema, error))
    return session_fail_at (&use->name.position, error);
  return answer_nothing (answer);
}

/* Key, value, … of a property list. Returns: (transfer container). */
static const char **
property_pairs (const SqlPropertyList *list)
{
  const char **pairs = g_new0 (const char *, 2 * list->n + 1);
  for (guint i = 0; i < list->n; i++) {
    pairs[2 * i] = list->items[i].key;
    pairs[2 * i + 1] = list->items[i].value != NULL ? list->items[i].value : "";
  }
  return pairs;
}

static gboolean
run_create_schema (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  const SqlCreateSchema *create = &call->statement->u.create_schema;
  g_autofree const char **parts = sql_name_parts (&create->name);
  g_autofree const char **properties = property_pairs (&create->properties);
  g_autofree char *schema = NULL;

  if (create->object != SQL_OBJECT_SCHEMA) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "catalogs cannot be made: a warehouse has one, " CATALOG_NAME);
    return session_fail_at (&call->statement->position, error);
  }
  schema = catalog_session_schema_of (call->session->names, parts, create->name.n, error);
  if (schema == NULL || !catalog_schema_create (call->session->warehouse->catalog, schema, create->location,
                                                create->comment, properties, create->if_not_exists, error))
    return session_fail_at (&create->name.position, error);
  return answer_nothing (answer);
}

static gboolean
drop_schema (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  const SqlDrop *drop = &call->statement->u.drop;
  SluiceSession *session = call->session;
  g_autofree const char **parts = sql_name_parts (&drop->name);
  g_autofree char *schema = catalog_session_schema_of (session->names, parts, drop->name.n, error);

  if (schema == NULL ||
      !catalog_schema_drop (session->warehouse->catalog, schema, drop->if_exists, drop->cascade, error))
    return session_fail_at (&drop->name.position, error);
  if (strcmp (schema, catalog_session_schema (session->names)) == 0 &&
      !catalog_session_use (session->names, CATALOG_DEFAULT_SCHEMA, error))
    return FALSE;
  return answer_nothing (answer);
}

static gboolean
run_drop (const SessionCall *call, SessionAnswer *answer, gboolean *handled, GError **error)
{
  switch (call->statement->u.drop.object) {
  case SQL_OBJECT_SCHEMA:
    return drop_schema (call, answer, error);
  case SQL_OBJECT_VIEW:
    return session_drop_view (call, answer, error) && answer_nothing (answer);
  case SQL_OBJECT_TABLE:
  case SQL_OBJECT_STREAMING_TABLE:
  case SQL_OBJECT_MATERIALIZED_VIEW:
  case SQL_OBJECT_CATALOG:
  case SQL_OBJECT_COLUMN:
  case SQL_OBJECT_FUNCTION:
  case SQL_OBJECT_FLOW:
    break;
  }
  *handled = FALSE;
  return TRUE;
}

static gboolean
run_explain (const SessionCall *call, SessionAnswer *answer, GError **error)
{
  static const char *const columns[] = { "plan", NULL };
  const SqlExplain *explain = &call->statement->u.explain;
  g_autoptr (RelationPlan) plan = NULL;
  g_autoptr (RelationText) text = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *tree = NULL;
  SessionRows *rows;

  if (explain->statement->kind != SQL_STATEMENT_QUERY) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "EXPLAIN explains queries");
    return session_fail_at (&explain->statement->position, error);
  }
  plan = relation_plan_new_query (explain->statement->u.query, &call->context, error);
  if (plan == NULL)
    return FALSE;
  tree = relation_plan_explain (plan);
  g_string_append (out, tree);
  if (explain->mode != NULL && g_ascii_strcasecmp (explain->mode, "LOGICAL") != 0) {
    RelationLowering lowering = { .now_us = call->now_us, .session = call->session->duck };
    text = relation_plan_lower (plan, &lowering, error);
    if (text == NULL)
      return FALSE;
    g_string_append_printf (out, "\n== DuckDB ==\n%s\n", relation_text_sql (text)->str);
  }
  rows = session_rows_new (columns);
  session_rows_add (rows, out->str);
  session_rows_end (rows, answer);
  return TRUE;
}

gboolean
session_statement_run (const SessionCall *call, SessionAnswer *answer, gboolean *handled, GError **error)
{
  *handled = TRUE;
  switch (call->statement->kind) {
  case SQL_STATEMENT_SET:
    return run_set (call, answer, error);
  case SQL_STATEMENT_RESET:
    return run_reset (call, answer, error);
  case SQL_STATEMENT_USE:
    return run_use (call, answer, error);
  case SQL_STATEMENT_SHOW:
    return session_show (call, answer, error);
  case SQL_STATEMENT_DESCRIBE:
    if (call->statement->u.describe.kind == SQL_DESCRIBE_HISTORY ||
        call->statement->u.describe.kind == SQL_DESCRIBE_DETAIL ||
        call->statement->u.describe.kind == SQL_DESCRIBE_AUTO_CDC)
      break;
    return session_describe (call, answer, error);
  case SQL_STATEMENT_CREATE_SCHEMA:
    return run_create_schema (call, answer, error);
  case SQL_STATEMENT_CREATE_VIEW:
    return session_create_view (call, answer, error) && answer_nothing (answer);
  case SQL_STATEMENT_DROP:
    return run_drop (call, answer, handled, error);
  case SQL_STATEMENT_EXPLAIN:
    return run_explain (call, answer, error);
  case SQL_STATEMENT_QUERY:
  case SQL_STATEMENT_CREATE_TABLE:
  case SQL_STATEMENT_CREATE_FLOW:
  case SQL_STATEMENT_INSERT:
  case SQL_STATEMENT_UPDATE:
  case SQL_STATEMENT_DELETE:
  case SQL_STATEMENT_MERGE:
  case SQL_STATEMENT_TRUNCATE:
  case SQL_STATEMENT_ALTER:
  case SQL_STATEMENT_COMMENT:
  case SQL_STATEMENT_OPTIMIZE:
  case SQL_STATEMENT_VACUUM:
  case SQL_STATEMENT_RESTORE:
  case SQL_STATEMENT_REFRESH:
  case SQL_STATEMENT_REORG:
  case SQL_STATEMENT_ANALYZE:
  case SQL_STATEMENT_CONVERT:
    break;
  }
  *handled = FALSE;
  return TRUE;
}

/* VACUUM: deletes files that no version within the retention needs.
 *
 * VACUUM START is committed before the first file goes and VACUUM END after the last, so that history tells since when older versions
 * may lack files. Neither changes the table. What became needed between the search and the start is not deleted.
 */
#include "base-error.h"
#include "base-text.h"
#include "delta-checkpoint.h"
#include "delta-transaction.h"
#include "delta-vacuum.h"
#include "dml-private.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "sql-parse.h"
#include "store.h"

#include <math.h>

#define HOUR_US              G_GINT64_CONSTANT (3600000000)
#define DEFAULT_RETENTION_US (7 * 24 * HOUR_US)
/* Files that DRY RUN shows, as Spark does. */
#define DRY_RUN_MOST 1000

typedef struct {
  gint64 configured_us; /* delta.deletedFileRetentionDuration */
  gint64 given_us;      /* RETAIN; -1 = not given */
  gboolean is_checked;
} Retention;

static gboolean
setting (const DmlContext *context, const char *key)
{
  return context->settings == NULL || base_settings_get_bool (context->settings, key);
}

static gboolean
read_retention (const DmlContext *context, const SqlVacuum *vacuum, DeltaSnapshot *snapshot, Retention *retention,
                GError **error)
{
  *retention = (Retention){
    .configured_us = delta_metadata_interval_us (delta_snapshot_metadata (snapshot),
                                                 "delta.deletedFileRetentionDuration", DEFAULT_RETENTION_US),
    .given_us = -1,
    .is_checked = setting (context, "spark.databricks.delta.retentionDurationCheck.enabled"),
  };
  if (vacuum->retain_hours == NULL)
    return TRUE;
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_DOUBLE);
  g_autoptr (RelationLiteral) hours = relation_eval_constant (vacuum->retain_hours, type, context->relation, error);
  if (hours == NULL)
    return FALSE;
  if (hours->is_null || !(hours->floating >= 0) || hours->floating > 1e9) {
    base_error_set (error, SLUICE_ERROR_DELTA_ILLEGAL_OPTION, "RETAIN takes a number of hours from 0.");
    sql_position_add_to_error (&vacuum->retain_hours->position, error);
    return FALSE;
  }
  retention->given_us = (gint64) llround (hours->floating * (double) HOUR_US);
  if (retention->given_us >= retention->configured_us || !retention->is_checked)
    return TRUE;
  g_autofree char *configured = g_strdup_printf ("%" G_GINT64_FORMAT, retention->configured_us / HOUR_US);
  base_error_set (
      error, SLUICE_ERROR_DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT,
      "Are you sure you would like to vacuum files with such a low retention period? If you have writers that "
      "are currently writing to this table, there is a risk that you may corrupt the state of your Delta "
      "table. The table's retention is %s hours.",
      configured);
  base_error_add_param (error, "configuredRetentionHours", configured);
  base_error_set_hint (
      error, "%s",
      "SET spark.databricks.delta.retentionDurationCheck.enabled = false switches this check off, if no "
      "other process writes to the table or reads older versions of it");
  sql_position_add_to_error (&vacuum->retain_hours->position, error);
  return FALSE;
}

/* ---- the two commits ---- */

typedef struct {
  const char *name;
  const char *text; /* (nullable): the parameter is left out */
} Parameter;

typedef struct {
  const char *name;
  gint64 value;
} Metric;

/* A commit without actions. */
static gboolean
commit_note (const DmlContext *context, DeltaSnapshot *snapshot, const char *operation, const Parameter *parameters,
             guint n_parameters, const Metric *metrics, guint n_metrics, GError **error)
{
  g_autoptr (DeltaTransaction) transaction = dml_transaction_new (context, snapshot);
  DeltaCommitResult result = { 0 };

  delta_transaction_set_operation (transaction, operation);
  delta_transaction_set_blind_append (transaction, TRUE);
  for (guint i = 0; i < n_parameters; i++) {
    if (parameters[i].text != NULL)
      delta_transaction_set_parameter (transaction, parameters[i].name, parameters[i].text);
  }
  for (guint i = 0; i < n_metrics; i++)
    delta_transaction_set_metric (transaction, metrics[i].name, metrics[i].value);
  gboolean ok = delta_transaction_commit (transaction, context->cancel, &result, error);
  if (ok && result.outcome == DELTA_COMMIT_CONFLICT)
    ok = delta_commit_result_to_error (&result, error);
  delta_commit_result_clear (&result);
  return ok;
}

static gboolean
commit_start (const DmlContext *context, DeltaSnapshot *snapshot, const Retention *retention, DeltaVacuum *plan,
              GError **error)
{
  g_autofree char *configured = g_strdup_printf ("%" G_GINT64_FORMAT, retention->configured_us / 1000);
  g_autofree char *given =
      retention->given_us >= 0 ? g_strdup_printf ("%" G_GINT64_FORMAT, retention->given_us / 1000) : NULL;
  const Parameter parameters[] = { { "retentionCheckEnabled", retention->is_checked ? "true" : "false" },
                                   { "specifiedRetentionMillis", given },
                                   { "defaultRetentionMillis", configured } };
  const Metric metrics[] = { { "numFilesToDelete", delta_vacuum_n_files (plan) },
                             { "sizeOfDataToDelete", delta_vacuum_bytes (plan) } };

  return commit_note (context, snapshot, "VACUUM START", parameters, G_N_ELEMENTS (parameters), metrics,
                      G_N_ELEMENTS (metrics), error);
}

static gboolean
commit_end (const DmlContext *context, DeltaTable *table, DeltaVacuum *plan, guint n_deleted, gboolean ok,
            GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, context->cancel, error);
  const Parameter parameters[] = { { "status", ok ? "COMPLETED" : "FAILED" } };
  const Metric metrics[] = { { "numDeletedFiles", n_deleted },
                             { "numVacuumedDirectories", delta_vacuum_n_directories (plan) } };

  return snapshot != NULL && commit_note (context, snapshot, "VACUUM END", parameters, G_N_ELEMENTS (parameters),
                                          metrics, G_N_ELEMENTS (metrics), error);
}

/* ---- the statement ---- */

static gboolean
delete_files (const DmlContext *context, DeltaSnapshot *snapshot, const Retention *retention, DeltaVacuum *plan,
              GError **error)
{
  DeltaTable *table = delta_snapshot_table (snapshot);
  gboolean logged = setting (context, "spark.databricks.delta.vacuum.logging.enabled");
  guint n_deleted = 0;

  if (logged && !commit_start (context, snapshot, retention, plan, error))
    return FALSE;
  g_autoptr (DeltaSnapshot) newest = delta_table_snapshot (table, context->cancel, error);
  gboolean ok = newest != NULL && delta_vacuum_run (plan, newest, context->cancel, &n_deleted, error);
  /* After a failure the first error is the one to tell. */
  if (logged && !commit_end (context, table, plan, n_deleted, ok, ok ? error : NULL))
    return FALSE;
  if (logged && ok)
    delta_checkpoint_maintain (table, &context->clock, context->cancel);
  return ok;
}

static char *
uri_of (DeltaTable *table, const char *key)
{
  g_autofree char *path = g_strconcat (delta_table_location (table), key != NULL ? "/" : "", key, NULL);
  g_autofree char *encoded = delta_file_encode_path (path);

  return g_strconcat ("file:", key != NULL ? encoded : path, NULL);
}

static gboolean
answer (DeltaTable *table, DeltaVacuum *plan, gboolean dry_run, DmlResult *result, GError **error)
{
  g_autoptr (BaseType) schema = sql_parse_schema ("path STRING", -1, error);
  g_autoptr (GString) sql = g_string_new (NULL);
  guint n = dry_run ? MIN (delta_vacuum_n_files (plan), DRY_RUN_MOST) : 1;

  if (schema == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++) {
    g_autofree char *uri = uri_of (table, dry_run ? delta_vacuum_file (plan, i) : NULL);
    g_string_append (sql, i > 0 ? " UNION ALL SELECT " : "SELECT ");
    base_text_append_sql_literal (sql, uri);
    g_string_append (sql, " AS c0");
  }
  if (n == 0)
    g_string_append (sql, "SELECT NULL::VARCHAR AS c0 WHERE false");
  dml_result_clear (result);
  result->schema = g_steal_pointer (&schema);
  result->sql = g_string_free (g_steal_pointer (&sql), FALSE);
  return TRUE;
}

gboolean
dml_vacuum (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlVacuum *vacuum = &statement->u.vacuum;
  g_auto (CatalogReference) reference = { 0 };
  Retention retention;
  g_autoptr (DeltaSnapshot) snapshot = dml_open (context, &vacuum->table, &reference, error);

  if (snapshot == NULL || !delta_protocol_check_write (delta_snapshot_protocol (snapshot), error) ||
      !read_retention (context, vacuum, snapshot, &retention, error))
    return FALSE;
  gint64 now_us = base_clock_now_us (&context->clock);
  gint64 kept_us = retention.given_us >= 0 ? retention.given_us : retention.configured_us;
  DeltaVacuumMode mode = vacuum->mode == SQL_VACUUM_LITE ? DELTA_VACUUM_LITE : DELTA_VACUUM_FULL;
  DeltaTable *table = delta_snapshot_table (snapshot);
  g_autoptr (DeltaVacuum) plan = delta_vacuum_new (snapshot, (now_us - kept_us) / 1000, mode, context->cancel, error);
  if (plan == NULL)
    return FALSE;
  if (!vacuum->dry_run) {
    if (!delete_files (context, snapshot, &retention, plan, error))
      return FALSE;
    /* Scratch files of dead processes; a living one does not keep its own for so long. */
    store_scratch_clean (delta_table_store (table), now_us - MAX (kept_us, 24 * HOUR_US));
  }
  return answer (table, plan, vacuum->dry_run, result, error);
}

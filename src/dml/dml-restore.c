/* RESTORE TABLE: the state of an older version becomes the newest one.
 *
 * Files that the old version had and the newest has not are added again as they were, so their rows have their old ids; files that
 * came since are removed; a file in both with another deletion vector gets the old one back. Schema and properties are those of
 * the old version, the protocol never goes down. Memory that travels with rows (domains `sluice.*`, clustering) comes back with them;
 * progress (`txn`, `sluice.flow.*`) and the mark of row ids stay, so that no event is read twice and no id is given twice.
 */
#include "base-error.h"
#include "base-text.h"
#include "delta-checkpoint.h"
#include "dml-private.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "sql-parse.h"
#include "store.h"

#include <string.h>

#define MAX_ATTEMPTS 10

static const char result_ddl[] =
    "table_size_after_restore BIGINT, num_of_files_after_restore BIGINT, num_removed_files BIGINT, "
    "num_restored_files BIGINT, removed_files_size BIGINT, restored_files_size BIGINT";

/* What the commit does, in its own words. */
typedef struct {
  gint64 n_restored, restored_bytes;
  gint64 n_removed, removed_bytes;
  gint64 n_after, bytes_after;
  gboolean is_done;
  char *warning; /* (nullable) (owned): once done */
} Report;

/* ---- which version ---- */

typedef struct {
  gint64 version;      /* -1: by timestamp */
  gint64 timestamp_us; /* RELATION_NO_TIME: by version */
  char *timestamp;     /* (nullable): as written, for commitInfo */
} Wish;

static void
wish_clear (Wish *wish)
{
  g_free (wish->timestamp);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Wish, wish_clear)

static gboolean
read_wish (const DmlContext *context, const SqlTravel *travel, Wish *wish, GError **error)
{
  gboolean by_version = travel->kind == SQL_TRAVEL_VERSION;
  g_autoptr (BaseType) type = base_type_simple (by_version ? BASE_TYPE_LONG : BASE_TYPE_TIMESTAMP);
  g_autoptr (RelationLiteral) value = relation_eval_constant (travel->value, type, context->relation, error);

  if (value == NULL)
    return FALSE;
  if (value->is_null || (by_version && value->integer < 0)) {
    base_error_set (error, SLUICE_ERROR_INVALID_TIME_TRAVEL_SPEC, "%s",
                    by_version ? "A version is a number from 0." : "The timestamp of a time travel is NULL.");
    sql_position_add_to_error (&travel->position, error);
    return FALSE;
  }
  wish->version = by_version ? value->integer : -1;
  wish->timestamp_us = by_version ? RELATION_NO_TIME : value->integer;
  wish->timestamp = by_version ? NULL : base_clock_text_us (value->integer);
  return TRUE;
}

/* An error of time travel as RESTORE's own. */
static void
rename_travel_error (GError **error)
{
  static const struct {
    SluiceError from, to;
  } names[] = {
    { SLUICE_ERROR_DELTA_VERSION_NOT_FOUND, SLUICE_ERROR_DELTA_CANNOT_RESTORE_TABLE_VERSION },
    { SLUICE_ERROR_DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION, SLUICE_ERROR_DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER },
    { SLUICE_ERROR_DELTA_TIMESTAMP_GREATER_THAN_COMMIT, SLUICE_ERROR_DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER },
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    if (!g_error_matches (*error, SLUICE_ERROR, names[i].from))
      continue;
    g_autofree char *cause = g_strdup ((*error)->message);
    g_clear_error (error);
    base_error_set (error, names[i].to, "The table cannot be restored: %s", cause);
    return;
  }
}

static DeltaSnapshot *
open_old (const DmlContext *context, const CatalogReference *reference, DeltaSnapshot *now, const Wish *wish,
          GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (DeltaSnapshot) old =
      catalog_session_snapshot (context->names, reference, wish->version, wish->timestamp_us, &failure);

  if (old != NULL && delta_snapshot_version (old) >= delta_snapshot_version (now)) {
    base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_RESTORE_TABLE_VERSION,
                    "Version %" G_GINT64_FORMAT " is the newest one: a table is restored to an older version.",
                    delta_snapshot_version (old));
    return NULL;
  }
  if (old == NULL) {
    rename_travel_error (&failure);
    g_propagate_error (error, g_steal_pointer (&failure));
    return NULL;
  }
  return g_steal_pointer (&old);
}

/* ---- whether its files are there ---- */

static gboolean
require_there (DeltaSnapshot *old, const char *path, GError **error)
{
  DeltaTable *table = delta_snapshot_table (old);

  return delta_table_has_file (table, path) ||
         delta_table_set_file_gone (table, path, delta_snapshot_version (old), NULL, error);
}

static gboolean
require_file (DeltaSnapshot *old, DeltaFile *file, GError **error)
{
  g_autofree char *path = delta_table_file_path (delta_snapshot_table (old), file, error);

  if (path == NULL || !require_there (old, delta_file_decoded_path (file), error))
    return FALSE;
  if (delta_file_vector (file) == NULL)
    return TRUE;
  g_autofree char *vector = delta_vector_descriptor_file (delta_file_vector (file));
  return vector == NULL || require_there (old, vector, error);
}

/* ---- the commit ---- */

/* The old metadata with what may not go back: where column ids go on, and in-commit timestamps, by which the log is ordered. */
static DeltaMetadata *
metadata_of (DeltaSnapshot *now, DeltaSnapshot *old)
{
  static const char *const timestamps[] = { "delta.enableInCommitTimestamps",
                                            "delta.inCommitTimestampEnablementVersion",
                                            "delta.inCommitTimestampEnablementTimestamp" };
  static const char ids[] = "delta.columnMapping.maxColumnId";
  DeltaMetadata *newest = delta_snapshot_metadata (now);
  g_autoptr (DeltaMetadata) metadata = delta_metadata_ref (delta_snapshot_metadata (old));

  for (guint i = 0; delta_metadata_commit_timestamps (newest) && i < G_N_ELEMENTS (timestamps); i++) {
    DeltaMetadata *kept =
        delta_metadata_with_property (metadata, timestamps[i], delta_metadata_property (newest, timestamps[i]));
    delta_metadata_unref (metadata);
    metadata = kept;
  }
  if (delta_metadata_property (metadata, ids) != NULL &&
      delta_metadata_int (newest, ids, 0) > delta_metadata_int (metadata, ids, 0)) {
    DeltaMetadata *kept = delta_metadata_with_property (metadata, ids, delta_metadata_property (newest, ids));
    delta_metadata_unref (metadata);
    metadata = kept;
  }
  return g_steal_pointer (&metadata);
}

static gboolean
add_back (DeltaTransaction *transaction, DeltaSnapshot *old, DeltaFile *file, Report *report, GError **error)
{
  DeltaFileInfo info = delta_file_info (file);
  g_autoptr (DeltaFile) again = NULL;

  if (!require_file (old, file, error))
    return FALSE;
  info.data_change = TRUE;
  again = delta_file_new (&info);
  report->n_restored++;
  report->restored_bytes += delta_file_size_bytes (file);
  return delta_transaction_add (transaction, again, error);
}

static gboolean
take_away (DeltaTransaction *transaction, DeltaFile *file, Report *report, GError **error)
{
  report->n_removed++;
  report->removed_bytes += delta_file_size_bytes (file);
  return delta_transaction_remove (transaction, file, TRUE, error);
}

static gboolean
put_files (DeltaTransaction *transaction, DeltaSnapshot *now, DeltaSnapshot *old, Report *report, GError **error)
{
  for (guint i = 0; i < delta_snapshot_n_files (old); i++) {
    DeltaFile *file = delta_snapshot_file (old, i);
    DeltaFile *present = delta_snapshot_find_file (now, delta_file_path (file));
    if (present != NULL && delta_vector_descriptor_equal (delta_file_vector (present), delta_file_vector (file)))
      continue;
    if ((present != NULL && !take_away (transaction, present, report, error)) ||
        !add_back (transaction, old, file, report, error))
      return FALSE;
  }
  for (guint i = 0; i < delta_snapshot_n_files (now); i++) {
    DeltaFile *file = delta_snapshot_file (now, i);
    if (delta_snapshot_find_file (old, delta_file_path (file)) == NULL && !take_away (transaction, file, report, error))
      return FALSE;
  }
  report->n_after = delta_snapshot_n_files (old);
  report->bytes_after = delta_snapshot_size_bytes (old);
  return TRUE;
}

/* Domains that say something of the rows; others say how far somebody is. */
static gboolean
is_of_rows (const char *domain)
{
  return g_str_equal (domain, "delta.clustering") ||
         (g_str_has_prefix (domain, "sluice.") && !g_str_has_prefix (domain, "sluice.flow."));
}

static gboolean
put_domains (DeltaTransaction *transaction, DeltaSnapshot *now, DeltaSnapshot *old, GError **error)
{
  g_autoptr (GPtrArray) before = delta_snapshot_domains (old);
  g_autoptr (GPtrArray) present = delta_snapshot_domains (now);
  g_auto (GStrv) files = delta_snapshot_domain_files (old);

  for (guint i = 0; i < before->len; i++) {
    const DeltaDomain *domain = before->pdata[i];
    if (is_of_rows (domain->domain) &&
        g_strcmp0 (delta_snapshot_domain (now, domain->domain), domain->configuration) != 0)
      delta_transaction_set_domain (transaction, domain->domain, domain->configuration);
  }
  for (guint i = 0; i < present->len; i++) {
    const DeltaDomain *domain = present->pdata[i];
    if (is_of_rows (domain->domain) && delta_snapshot_domain (old, domain->domain) == NULL)
      delta_transaction_set_domain (transaction, domain->domain, NULL);
  }
  for (char **file = files; *file != NULL; file++) {
    if (!require_there (old, *file, error))
      return FALSE;
  }
  return TRUE;
}

static void
describe (DeltaTransaction *transaction, const Wish *wish, const Report *report)
{
  g_autofree char *version = wish->version >= 0 ? g_strdup_printf ("%" G_GINT64_FORMAT, wish->version) : NULL;

  delta_transaction_set_operation (transaction, "RESTORE");
  delta_transaction_set_parameter (transaction, "version", version);
  delta_transaction_set_parameter (transaction, "timestamp", wish->timestamp);
  delta_transaction_set_metric (transaction, "numRestoredFiles", report->n_restored);
  delta_transaction_set_metric (transaction, "restoredFilesSize", report->restored_bytes);
  delta_transaction_set_metric (transaction, "numRemovedFiles", report->n_removed);
  delta_transaction_set_metric (transaction, "removedFilesSize", report->removed_bytes);
  delta_transaction_set_metric (transaction, "numOfFilesAfterRestore", report->n_after);
  delta_transaction_set_metric (transaction, "tableSizeAfterRestore", report->bytes_after);
}

/* Progress stays: what streams read since @old is not read again (autocdc.md 9.1). Returns: (transfer full) (nullable). */
static char *
warn_of_streams (DeltaSnapshot *now, DeltaSnapshot *old)
{
  g_autoptr (GPtrArray) txns = delta_snapshot_txns (now);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < txns->len; i++) {
    const DeltaTxn *txn = txns->pdata[i];
    if (txn->version > delta_snapshot_txn_version (old, txn->app_id, -1))
      g_ptr_array_add (names, txn->app_id);
  }
  if (names->len == 0)
    return NULL;
  g_ptr_array_add (names, NULL);
  g_autofree char *list = g_strjoinv (", ", (char **) names->pdata);
  return g_strdup_printf (
      "streams wrote into %s after version %" G_GINT64_FORMAT
      " (%s): what they have read since is not applied again, unless they start anew, by a full refresh "
      "or with another checkpoint.",
      delta_table_location (delta_snapshot_table (old)), delta_snapshot_version (old), list);
}

static gboolean
try_once (const DmlContext *context, const SqlRestore *restore, const Wish *wish, gboolean last, Report *report,
          GError **error)
{
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) now = dml_open (context, &restore->table, &reference, error);
  if (now == NULL)
    return FALSE;
  if (reference.entry != NULL && reference.entry->kind == CATALOG_KIND_MATERIALIZED_VIEW)
    return dml_unsupported (&restore->table.position, error, "RESTORE of a materialized view",
                            "Restore the tables that its query reads, and run its pipeline.");
  g_autoptr (DeltaSnapshot) old = open_old (context, &reference, now, wish, error);
  if (old == NULL) {
    sql_position_add_to_error (&restore->travel.position, error);
    return FALSE;
  }
  DeltaTable *table = delta_snapshot_table (now);
  g_autoptr (DeltaTransaction) transaction = dml_transaction_new (context, now);
  g_autoptr (DeltaMetadata) metadata = metadata_of (now, old);
  *report = (Report){ 0 };
  delta_transaction_read_table (transaction);
  delta_transaction_set_metadata (transaction, metadata);
  if (!put_files (transaction, now, old, report, error) || !put_domains (transaction, now, old, error))
    return FALSE;
  describe (transaction, wish, report);
  DeltaCommitResult result = { 0 };
  if (!delta_transaction_commit (transaction, context->cancel, &result, error))
    return FALSE;
  report->is_done = result.outcome == DELTA_COMMIT_DONE;
  gboolean ok = report->is_done || !last || delta_commit_result_to_error (&result, error);
  delta_commit_result_clear (&result);
  if (report->is_done) {
    report->warning = warn_of_streams (now, old);
    delta_checkpoint_maintain (table, &context->clock, context->cancel);
  }
  return ok;
}

gboolean
dml_restore (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlRestore *restore = &statement->u.restore;
  g_auto (Wish) wish = { 0 };
  Report report = { 0 };

  if (!read_wish (context, &restore->travel, &wish, error))
    return FALSE;
  for (guint i = 0; i < MAX_ATTEMPTS && !report.is_done; i++) {
    if (!try_once (context, restore, &wish, i + 1 == MAX_ATTEMPTS, &report, error))
      return FALSE;
  }
  g_autofree char *warning = report.warning;
  g_autoptr (BaseType) schema = sql_parse_schema (result_ddl, -1, error);
  if (schema == NULL)
    return FALSE;
  dml_result_clear (result);
  result->warning = g_steal_pointer (&warning);
  result->schema = g_steal_pointer (&schema);
  result->sql =
      g_strdup_printf ("SELECT %" G_GINT64_FORMAT "::BIGINT AS c0, %" G_GINT64_FORMAT
                       "::BIGINT AS c1, %" G_GINT64_FORMAT "::BIGINT AS c2, %" G_GINT64_FORMAT
                       "::BIGINT AS c3, %" G_GINT64_FORMAT "::BIGINT AS c4, %" G_GINT64_FORMAT "::BIGINT AS c5",
                       report.bytes_after, report.n_after, report.n_removed, report.n_restored, report.removed_bytes,
                       report.restored_bytes);
  return TRUE;
}

/* DELETE and TRUNCATE TABLE.
 *
 * A condition over partition columns alone (or none) removes whole files and reads none: the log says it all. Any other finds the
 * rows by reading the columns of the condition only.
 */
#include "base-json.h"
#include "dml-target-private.h"
#include "duck-session.h"
#include "sql-tree.h"

static const WriteMetric delete_metrics[] = {
  { "numRemovedFiles", G_STRUCT_OFFSET (WriteCounters, n_files_removed) },
  { "numRemovedBytes", G_STRUCT_OFFSET (WriteCounters, bytes_removed) },
  { "numAddedFiles", G_STRUCT_OFFSET (WriteCounters, n_files_added) },
  { "numAddedBytes", G_STRUCT_OFFSET (WriteCounters, bytes_added) },
  { "numCopiedRows", G_STRUCT_OFFSET (WriteCounters, n_rows_copied) },
  { "numAddedChangeFiles", G_STRUCT_OFFSET (WriteCounters, n_change_files) },
  { "numDeletionVectorsAdded", G_STRUCT_OFFSET (WriteCounters, n_vectors_added) },
  { "numDeletionVectorsRemoved", G_STRUCT_OFFSET (WriteCounters, n_vectors_removed) },
  { "numDeletionVectorsUpdated", G_STRUCT_OFFSET (WriteCounters, n_vectors_updated) },
  { NULL, 0 },
};

static const WriteMetric truncate_metrics[] = {
  { "numRemovedFiles", G_STRUCT_OFFSET (WriteCounters, n_files_removed) },
  { NULL, 0 },
};

gboolean
dml_delete_whole_files (DmlTarget *target, const char *sql, gint64 *n_rows, GError **error)
{
  g_autofree char *distinct = g_strdup_printf ("SELECT DISTINCT c0 FROM (%s)", sql);
  g_autoptr (GArray) indexes =
      duck_session_query_int64s (target->context->duck, distinct, target->context->cancel, error);
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  if (indexes == NULL)
    return FALSE;
  for (guint i = 0; i < indexes->len; i++)
    g_ptr_array_add (files, delta_scan_file (target->scan, g_array_index (indexes, gint64, i)));
  return write_batch_remove_files (target->batch, (DeltaFile *const *) files->pdata, files->len, n_rows, error);
}

/* Deletes the rows of the target that satisfy @where. @n_rows: (out): -1 = not known. */
gboolean
dml_delete_matching (DmlTarget *target, SqlExpr *where, const SqlIdent *alias, const char *what, gint64 *n_rows,
                     GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlNamed items[] = {
    dml_named (arena, sql_build_column (arena, DML_FILE), DML_FILE),
    dml_named (arena, sql_build_column (arena, DML_ROW), DML_ROW),
  };
  SqlRelation *from = dml_leaf_relation (arena, DML_TARGET, alias);
  g_autoptr (RelationPlan) plan = dml_bind (target, dml_query (arena, items, 2, from, where), TRUE, what, error);
  g_autoptr (RelationText) text = plan != NULL ? dml_lower (target, plan, error) : NULL;
  if (text == NULL)
    return FALSE;
  if (!target->reads_data)
    return dml_delete_whole_files (target, relation_text_sql (text)->str, n_rows, error);
  g_autofree char *sql =
      g_strdup_printf ("SELECT c0 AS file_index, c1 AS row_number FROM (%s)", relation_text_sql (text)->str);
  guint64 n_deleted = 0;
  if (!write_batch_delete (target->batch, target->scan, sql, &n_deleted, error))
    return FALSE;
  *n_rows = (gint64) n_deleted;
  return TRUE;
}

static gboolean
delete_once (const DmlContext *context, const SqlStatement *statement, gboolean last, DmlResult *result,
             gboolean *is_done, GError **error)
{
  static const char *const names[] = { "num_affected_rows", NULL };
  const SqlDelete *delete_ = &statement->u.delete_;
  gint64 n_rows = 0;
  g_autoptr (DmlTarget) target = dml_target_open (context, &delete_->table, "DELETE", error);
  if (target == NULL)
    return FALSE;
  gboolean ok = delete_->where == NULL ? write_batch_remove_all (target->batch, &n_rows, error)
                                       : dml_delete_matching (target, delete_->where, delete_->alias,
                                                              "the DELETE condition", &n_rows, error);
  target->scanned_us = g_get_monotonic_time ();
  if (!ok || (write_batch_feed_is_on (target->batch) && write_batch_copies_rows (target->batch) &&
              !write_batch_changes_of_deleted (target->batch, "delete", NULL, error)))
    return FALSE;
  g_autofree char *predicate = dml_predicate_text (delete_->where);
  g_autoptr (json_t) parameters = json_pack ("{s:s}", "predicate", predicate);
  g_autoptr (json_t) metrics = json_object ();
  if (n_rows >= 0)
    json_object_set_new (metrics, "numDeletedRows", json_integer (n_rows));
  WriteCommit commit = { .operation = "DELETE",
                         .parameters = parameters,
                         .metrics = metrics,
                         .counted = delete_metrics,
                         .reads_table = delete_->where == NULL };
  if (!dml_target_commit (target, &commit, last, is_done, error))
    return FALSE;
  dml_result_counts (result, names, &n_rows);
  return TRUE;
}

gboolean
dml_delete (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  return dml_attempt (context, statement, delete_once, result, error);
}

static gboolean
truncate_once (const DmlContext *context, const SqlStatement *statement, gboolean last, DmlResult *result,
               gboolean *is_done, GError **error)
{
  g_autoptr (DmlTarget) target = dml_target_open (context, &statement->u.truncate.table, "TRUNCATE TABLE", error);
  if (target == NULL || !write_batch_remove_all (target->batch, NULL, error))
    return FALSE;
  WriteCommit commit = { .operation = "TRUNCATE", .counted = truncate_metrics, .reads_table = TRUE };
  if (!dml_target_commit (target, &commit, last, is_done, error))
    return FALSE;
  dml_result_empty (result);
  return TRUE;
}

gboolean
dml_truncate (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  if (statement->u.truncate.n_partition > 0)
    return dml_unsupported (&statement->u.truncate.partition[0].name.position, error, "TRUNCATE TABLE … PARTITION",
                            "Use DELETE FROM … WHERE.");
  return dml_attempt (context, statement, truncate_once, result, error);
}

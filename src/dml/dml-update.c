/* UPDATE.
 *
 * The rows that satisfy the condition are computed once, with their places, into a temporary table (it spills); from it come the places
 * to delete and the rows to add. Their old values, which only a legacy feed wants, are read from the deleted places. Without a
 * condition every row changes: all files are replaced in one pass and nothing is kept between.
 *
 * Rows whose values do not change are rewritten like the others, so that the feed shows them as a pair (cdf.md 5.3), unless
 * engine.dml.skipUnchangedRows is set.
 */
#include "base-json.h"
#include "dml-target-private.h"
#include "duck-session.h"
#include "sql-tree.h"
#include "write-schema.h"

#define PLACES 3 /* file, position, row id: columns before those of the schema */

static const WriteMetric update_metrics[] = {
  { "numRemovedFiles", G_STRUCT_OFFSET (WriteCounters, n_files_removed) },
  { "numRemovedBytes", G_STRUCT_OFFSET (WriteCounters, bytes_removed) },
  { "numAddedFiles", G_STRUCT_OFFSET (WriteCounters, n_files_added) },
  { "numAddedBytes", G_STRUCT_OFFSET (WriteCounters, bytes_added) },
  { "numUpdatedRows", G_STRUCT_OFFSET (WriteCounters, n_rows_added) },
  { "numCopiedRows", G_STRUCT_OFFSET (WriteCounters, n_rows_copied) },
  { "numAddedChangeFiles", G_STRUCT_OFFSET (WriteCounters, n_change_files) },
  { "numDeletionVectorsAdded", G_STRUCT_OFFSET (WriteCounters, n_vectors_added) },
  { "numDeletionVectorsRemoved", G_STRUCT_OFFSET (WriteCounters, n_vectors_removed) },
  { "numDeletionVectorsUpdated", G_STRUCT_OFFSET (WriteCounters, n_vectors_updated) },
  { NULL, 0 },
};

/* The condition alone, bound to say what is wrong with it: only it must be deterministic, not the new values. */
static gboolean
check_condition (DmlTarget *target, const SqlUpdate *update, SqlArena *arena, GError **error)
{
  SqlNamed one = dml_named (arena, sql_build_column (arena, DML_ROW), DML_ROW);
  SqlRelation *from = dml_leaf_relation (arena, DML_TARGET, update->alias);
  g_autoptr (RelationPlan) plan =
      dml_bind (target, dml_query (arena, &one, 1, from, update->where), TRUE, "the UPDATE condition", error);
  return plan != NULL;
}

/* Places, old values of the columns in @old (their numbers, when unchanged rows are to be left alone) and new values of the rows to
 * change. */
static RelationPlan *
bind_rows (DmlTarget *target, const SqlUpdate *update, GArray *old, SqlArena *arena, GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  guint n_columns = base_type_n_fields (schema), n_items = PLACES;
  g_autofree SqlExpr **values = dml_assigned_values (target, &update->assignments, update->alias, arena, error);
  g_autofree SqlNamed *items = g_new0 (SqlNamed, PLACES + 2 * n_columns + 1);
  g_autofree gboolean *given = g_new0 (gboolean, n_columns + 1);
  if (values == NULL)
    return NULL;
  items[0] = dml_named (arena, sql_build_column (arena, DML_FILE), DML_FILE);
  items[1] = dml_named (arena, sql_build_column (arena, DML_ROW), DML_ROW);
  items[2] = dml_named (arena, sql_build_column (arena, DML_ROW_ID), DML_ROW_ID);
  for (guint k = 0; k < n_columns && dml_skips_unchanged (target); k++) {
    g_autofree char *name = g_strdup_printf ("\x1b"
                                             "old %u",
                                             k);
    if (values[k] == NULL)
      continue;
    items[n_items++] = dml_named (arena, dml_column (arena, DML_TARGET_COLUMN, k), name);
    g_array_append_val (old, k);
  }
  for (guint k = 0; k < n_columns; k++) {
    const BaseField *field = base_type_field (schema, k);
    given[k] = values[k] != NULL || !write_generated_is (field);
    if (given[k])
      items[n_items++] =
          dml_named (arena, values[k] != NULL ? values[k] : dml_column (arena, DML_TARGET_COLUMN, k), field->name);
  }
  SqlRelation *from = dml_leaf_relation (arena, DML_TARGET, update->alias);
  SqlQuery *query = dml_query (arena, items, n_items, from, update->where);
  g_autoptr (RelationPlan) plan = dml_bind (target, query, FALSE, "UPDATE", error);
  return plan != NULL ? dml_fit_values (target, plan, PLACES + old->len, given, error) : NULL;
}

/* SELECT c3 AS c0, …, c2 AS row_id [, 'update_postimage' AS _change_type] FROM rows, whose columns of the schema begin at @first. */
static char *
rows_text (DmlTarget *target, const char *rows, guint first, WriteRowsFlags flags)
{
  GString *sql = g_string_new ("SELECT ");
  for (guint k = 0; k < base_type_n_fields (write_batch_schema (target->batch)); k++)
    g_string_append_printf (sql, "c%u AS c%u, ", first + k, k);
  g_string_append (sql, "c2 AS row_id");
  if ((flags & WRITE_ROWS_CHANGE_TYPE) != 0)
    g_string_append (sql, ", 'update_postimage' AS _change_type");
  g_string_append_printf (sql, " FROM %s", rows);
  return g_string_free (sql, FALSE);
}

static gboolean
apply (DmlTarget *target, const SqlUpdate *update, const char *text, const GArray *old, GError **error)
{
  guint first = PLACES + old->len;
  WriteBatch *batch = target->batch;
  DuckSession *duck = target->context->duck;
  WriteRowsFlags flags = write_batch_tracks_rows (batch) ? WRITE_ROWS_ROW_ID : WRITE_ROWS_DEFAULT;
  guint64 n_deleted = 1;
  target->scanned_us = g_get_monotonic_time ();
  if (write_batch_feed_is_on (batch))
    flags |= WRITE_ROWS_CHANGE_TYPE;
  if (update->where == NULL && old->len == 0) {
    g_autofree char *rows = g_strdup_printf ("(%s)", text);
    g_autofree char *sql = rows_text (target, rows, first, flags);
    if (!write_batch_remove_all (batch, NULL, error) || !dml_target_rows (target, sql, flags, NULL, error))
      return FALSE;
  } else {
    g_autoptr (GString) fill = g_string_new (NULL);
    g_string_append_printf (fill, "CREATE OR REPLACE TEMP TABLE dml_rows AS SELECT * FROM (%s)", text);
    for (guint i = 0; i < old->len; i++)
      g_string_append_printf (fill, " %s c%u IS DISTINCT FROM c%u", i == 0 ? "WHERE" : "OR", PLACES + i,
                              first + g_array_index (old, guint, i));
    g_autofree char *sql = rows_text (target, "dml_rows", first, flags);
    if (!duck_session_execute (duck, fill->str, target->context->cancel, error))
      return FALSE;
    target->scanned_us = g_get_monotonic_time ();
    if (!write_batch_delete (batch, target->scan, "SELECT c0 AS file_index, c1 AS row_number FROM dml_rows", &n_deleted,
                             error) ||
        (n_deleted > 0 && !dml_target_rows (target, sql, flags, NULL, error)))
      return FALSE;
  }
  return (flags & WRITE_ROWS_CHANGE_TYPE) == 0 || write_batch_is_empty (batch) ||
         write_batch_changes_of_deleted (batch, "update_preimage", NULL, error);
}

static gboolean
update_once (const DmlContext *context, const SqlStatement *statement, gboolean last, DmlResult *result,
             gboolean *is_done, GError **error)
{
  static const char *const names[] = { "num_affected_rows", NULL };
  const SqlUpdate *update = &statement->u.update;
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (DmlTarget) target = dml_target_open (context, &update->table, "UPDATE", error);
  if (target == NULL || (update->where != NULL && !check_condition (target, update, arena, error)))
    return FALSE;
  g_autoptr (GArray) old = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (RelationPlan) plan = bind_rows (target, update, old, arena, error);
  g_autoptr (RelationText) text = plan != NULL ? dml_lower (target, plan, error) : NULL;
  gboolean ok = text != NULL && apply (target, update, relation_text_sql (text)->str, old, error);
  dml_drop_temporary (context, "dml_rows");
  if (!ok)
    return FALSE;
  gint64 n_rows = (gint64) write_batch_counters (target->batch)->n_rows_added;
  g_autofree char *predicate = dml_predicate_text (update->where);
  g_autoptr (json_t) parameters = json_pack ("{s:s}", "predicate", predicate);
  WriteCommit commit = { .operation = "UPDATE", .parameters = parameters, .counted = update_metrics };
  if (!dml_target_commit (target, &commit, last, is_done, error))
    return FALSE;
  dml_result_counts (result, names, &n_rows);
  return TRUE;
}

gboolean
dml_update (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  return dml_attempt (context, statement, update_once, result, error);
}

/* INSERT that replaces a part of the table: INSERT OVERWRITE … PARTITION, dynamic partition overwrite, REPLACE WHERE, REPLACE USING.
 *
 * The new rows stand in the temporary table dml_rows, as the table's columns c0, c1, …. What they replace is found like what DELETE
 * deletes: rows that satisfy a condition, or rows whose values of some columns are those of a new row (NULL equals NULL). Where
 * partition values alone decide, whole files go unread.
 */
#include "base-error.h"
#include "base-text.h"
#include "dml-insert-private.h"
#include "dml-merge-private.h"
#include "duck-session.h"
#include "sql-print.h"

#include <string.h>

const WriteMetric dml_replace_metrics[] = {
  { "numFiles", G_STRUCT_OFFSET (WriteCounters, n_files_added) },
  { "numOutputRows", G_STRUCT_OFFSET (WriteCounters, n_rows_added) },
  { "numOutputBytes", G_STRUCT_OFFSET (WriteCounters, bytes_added) },
  { "numRemovedFiles", G_STRUCT_OFFSET (WriteCounters, n_files_removed) },
  { "numRemovedBytes", G_STRUCT_OFFSET (WriteCounters, bytes_removed) },
  { "numCopiedRows", G_STRUCT_OFFSET (WriteCounters, n_rows_copied) },
  { "numAddedChangeFiles", G_STRUCT_OFFSET (WriteCounters, n_change_files) },
  { NULL, 0 },
};

/* column = value, or column IS NULL. NULL with an error. */
static SqlExpr *
column_is (DmlTarget *target, guint column, const SqlExpr *value, SqlArena *arena, GError **error)
{
  const BaseType *type = base_type_field (write_batch_schema (target->batch), column)->type;
  SqlExpr *cast = sql_build_cast (arena, (SqlExpr *) value, type), *test;
  g_autoptr (RelationLiteral) literal = relation_eval_constant (cast, type, &target->relation, error);
  if (literal == NULL)
    return NULL;
  if (!literal->is_null)
    return sql_build_binary (arena, SQL_BINARY_EQ, dml_column (arena, DML_TARGET_COLUMN, column), cast);
  test = sql_arena_new0 (arena, SqlExpr);
  test->kind = SQL_EXPR_IS;
  test->depth = 2;
  test->u.is.test = SQL_IS_NULL;
  test->u.is.value = dml_column (arena, DML_TARGET_COLUMN, column);
  return test;
}

/* The conditions of PARTITION (p = v, q). Returns: TRUE when no partition is fixed. */
static SqlExpr *
static_condition (DmlTarget *target, const SqlInsert *insert, SqlArena *arena, GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  SqlExpr *condition = NULL;
  for (guint k = 0; k < insert->n_partition; k++) {
    const SqlPartitionValue *part = &insert->partition[k];
    int index = base_type_field_index (schema, part->name.text, TRUE);
    if (index < 0 || !delta_metadata_is_partition_column (write_batch_metadata (target->batch), (guint) index)) {
      base_error_set (error, SLUICE_ERROR_NON_PARTITION_COLUMN,
                      "PARTITION clause cannot contain the non-partition column: `%s`.", part->name.text);
      sql_position_add_to_error (&part->name.position, error);
      return NULL;
    }
    if (part->value == NULL)
      continue;
    SqlExpr *equal = column_is (target, (guint) index, part->value, arena, error);
    if (equal == NULL)
      return NULL;
    condition = condition == NULL ? equal : sql_build_binary (arena, SQL_BINARY_AND, condition, equal);
  }
  return condition != NULL ? condition : sql_build_boolean (arena, TRUE);
}

static gboolean
skip_by_column (DmlTarget *target, guint column, GError **error)
{
  const BaseType *type = base_type_field (write_batch_schema (target->batch), column)->type;
  g_autofree char *count =
      g_strdup_printf ("SELECT CASE WHEN count(*) > count(c%u) THEN -1 ELSE count(*) END FROM dml_rows", column);
  g_autofree char *text = g_strdup_printf ("SELECT c%u AS c0 FROM dml_rows", column);
  gint64 n_rows = 0; /* -1: NULLs among them */
  return duck_session_query_int64 (target->context->duck, count, target->context->cancel, &n_rows, NULL, error) &&
         (n_rows < 0 || dml_skip_by_values (target, column, text, n_rows, type, error));
}

/* Deletes the rows whose values of @columns some new row has. */
static gboolean
replace_same (DmlTarget *target, const GArray *columns, gint64 *n_rows, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autofree SqlNamed *items = g_new0 (SqlNamed, columns->len + 2);
  g_autoptr (GString) same = g_string_new (NULL), keys = g_string_new (NULL);
  items[0] = dml_named (arena, sql_build_column (arena, DML_FILE), DML_FILE);
  items[1] = dml_named (arena, sql_build_column (arena, DML_ROW), DML_ROW);
  for (guint i = 0; i < columns->len; i++) {
    guint column = g_array_index (columns, guint, i);
    items[2 + i] = dml_named (arena, dml_column (arena, DML_TARGET_COLUMN, column),
                              "\x1b"
                              "key");
    g_string_append_printf (same, "%st.c%u IS NOT DISTINCT FROM d.k%u", i > 0 ? " AND " : "", 2 + i, i);
    g_string_append_printf (keys, "%sc%u AS k%u", i > 0 ? ", " : "", column, i);
    if (!skip_by_column (target, column, error))
      return FALSE;
  }
  SqlRelation *from = dml_leaf_relation (arena, DML_TARGET, NULL);
  g_autoptr (RelationPlan) plan =
      dml_bind (target, dml_query (arena, items, columns->len + 2, from, NULL), TRUE, "INSERT", error);
  g_autoptr (RelationText) text = plan != NULL ? dml_lower (target, plan, error) : NULL;
  if (text == NULL)
    return FALSE;
  g_autofree char *found =
      g_strdup_printf ("SELECT t.c0, t.c1 FROM (%s) t SEMI JOIN (SELECT DISTINCT %s FROM dml_rows) d ON %s",
                       relation_text_sql (text)->str, keys->str, same->str);
  if (!target->reads_data)
    return dml_delete_whole_files (target, found, n_rows, error);
  g_autofree char *places = g_strdup_printf ("SELECT c0 AS file_index, c1 AS row_number FROM (%s)", found);
  guint64 n_deleted = 0;
  if (!write_batch_delete (target->batch, target->scan, places, &n_deleted, error))
    return FALSE;
  *n_rows = (gint64) n_deleted;
  return TRUE;
}

/* Every new row must satisfy the condition, else it would not be found where it was put. */
static gboolean
check_new_rows (DmlTarget *target, SqlExpr *where, GError **error)
{
  BaseSettings *settings = target->context->settings;
  const char *setting =
      settings != NULL ? base_settings_get (settings, "spark.databricks.delta.replaceWhere.constraintCheck.enabled")
                       : NULL;
  if (setting != NULL && g_ascii_strcasecmp (setting, "false") == 0)
    return TRUE;
  g_autoptr (SqlArena) arena = sql_arena_new ();
  dml_target_set_source (target, "dml_rows", NULL, write_batch_schema (target->batch),
                         (const char *const *) target->qualifier, -1);
  SqlNamed item = dml_named (arena, where, "holds");
  SqlRelation *from = dml_leaf_relation (arena, DML_SOURCE, NULL);
  g_autoptr (RelationPlan) plan =
      dml_bind (target, dml_query (arena, &item, 1, from, NULL), TRUE, "REPLACE WHERE", error);
  g_autoptr (RelationText) text = plan != NULL ? dml_lower (target, plan, error) : NULL;
  if (text == NULL)
    return FALSE;
  g_autofree char *sql =
      g_strdup_printf ("SELECT count(*) FROM (%s) WHERE c0 IS NOT TRUE", relation_text_sql (text)->str);
  gint64 n_wrong = 0;
  if (!duck_session_query_int64 (target->context->duck, sql, target->context->cancel, &n_wrong, NULL, error))
    return FALSE;
  if (n_wrong == 0)
    return TRUE;
  g_autofree char *condition = sql_print_expression (where);
  base_error_set (
      error, SLUICE_ERROR_DELTA_REPLACE_WHERE_MISMATCH,
      "Written data does not conform to partial table overwrite condition or constraint '%s': %" G_GINT64_FORMAT
      " rows.",
      condition, n_wrong);
  sql_position_add_to_error (&where->position, error);
  return FALSE;
}

/* Numbers of the columns that decide which rows go. NULL with an error. */
static GArray *
key_columns (DmlTarget *target, const SqlInsert *insert, GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < insert->replace_using.n; i++) {
    const SqlIdent *ident = &insert->replace_using.items[i];
    int index = base_type_field_index (schema, ident->text, TRUE);
    if (index < 0) {
      base_error_set (error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                      "A column with name `%s` cannot be resolved.", ident->text);
      sql_position_add_to_error (&ident->position, error);
      return NULL;
    }
    guint column = (guint) index;
    g_array_append_val (columns, column);
  }
  for (guint k = 0; insert->replace_using.n == 0 && k < base_type_n_fields (schema); k++)
    if (delta_metadata_is_partition_column (write_batch_metadata (target->batch), k))
      g_array_append_val (columns, k);
  return g_steal_pointer (&columns);
}

DmlReplace
dml_insert_replaces (const DmlContext *context, const SqlInsert *insert, DmlTarget *target)
{
  const char *mode = context->settings != NULL
                         ? base_settings_get (context->settings, "spark.sql.sources.partitionOverwriteMode")
                         : NULL;
  gboolean partitioned = delta_metadata_partition_columns (delta_snapshot_metadata (target->snapshot))[0] != NULL;
  if (insert->replace_where != NULL)
    return DML_REPLACE_WHERE;
  if (insert->replace_using.n > 0)
    return DML_REPLACE_SAME;
  if (!insert->overwrite)
    return DML_REPLACE_NOTHING;
  if (partitioned && mode != NULL && g_ascii_strcasecmp (mode, "dynamic") == 0)
    return DML_REPLACE_SAME;
  for (guint k = 0; k < insert->n_partition; k++)
    if (insert->partition[k].value != NULL)
      return DML_REPLACE_PARTITIONS;
  return DML_REPLACE_ALL;
}

gboolean
dml_insert_replace (DmlTarget *target, const SqlInsert *insert, DmlReplace replaces, const char *rows,
                    gint64 *n_deleted, guint64 *n_rows, GError **error)
{
  const DmlContext *context = target->context;
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autofree char *fill = g_strdup_printf ("CREATE OR REPLACE TEMP TABLE dml_rows AS %s", rows);
  if (!duck_session_execute (context->duck, fill, context->cancel, error))
    return FALSE;
  if (replaces == DML_REPLACE_SAME) {
    g_autoptr (GArray) columns = key_columns (target, insert, error);
    if (columns == NULL || !replace_same (target, columns, n_deleted, error))
      return FALSE;
  } else {
    SqlExpr *where =
        replaces == DML_REPLACE_WHERE ? insert->replace_where : static_condition (target, insert, arena, error);
    if (where == NULL || (replaces == DML_REPLACE_WHERE && !check_new_rows (target, where, error)) ||
        !dml_delete_matching (target, where, NULL, "the condition of REPLACE", n_deleted, error))
      return FALSE;
  }
  gboolean tells = write_batch_feed_is_on (target->batch) && write_batch_copies_rows (target->batch);
  return dml_target_rows (target, tells ? "SELECT *, 'insert' AS _change_type FROM dml_rows" : "SELECT * FROM dml_rows",
                          tells ? WRITE_ROWS_CHANGE_TYPE : WRITE_ROWS_DEFAULT, n_rows, error) &&
         (!tells || write_batch_changes_of_deleted (target->batch, "delete", NULL, error));
}

/* INSERT INTO and INSERT OVERWRITE.
 *
 * The query's rows are fitted to the table (write_plan_fit), staged and committed once. An append conflicts with nothing but changes of
 * metadata or protocol; an overwrite depends on the whole table. After a conflict the statement starts again from the newest
 * snapshot, query included.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-insert-private.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "sql-parse.h"
#include "sql-print.h"
#include "write-schema.h"

#include <string.h>

static gboolean
check_form (const SqlInsert *insert, const SqlPosition *position, GError **error)
{
  if (insert->once)
    return dml_unsupported (position, error, "INSERT INTO ONCE outside of a pipeline", NULL);
  if (insert->overwrite && insert->replace_where != NULL)
    return dml_unsupported (&insert->replace_where->position, error, "INSERT OVERWRITE … REPLACE WHERE",
                            "Use INSERT INTO … REPLACE WHERE.");
  if (insert->overwrite && insert->replace_using.n > 0)
    return dml_unsupported (&insert->replace_using.items[0].position, error, "INSERT OVERWRITE … REPLACE USING",
                            "Use INSERT INTO … REPLACE USING.");
  if (insert->if_not_exists)
    return dml_unsupported (position, error, "INSERT … IF NOT EXISTS", NULL);
  return TRUE;
}

/* ---- columns ---- */

/* The names that the query's positions are: the column list, or with PARTITION the columns that it does not fix, in the table's order,
 * then the dynamic partitions. Returns: (transfer full) (nullable): NULL when the statement says nothing. */
static char **
column_list (const SqlInsert *insert, BaseType *schema)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  if (insert->columns.n > 0) {
    for (guint i = 0; i < insert->columns.n; i++)
      g_ptr_array_add (names, g_strdup (insert->columns.items[i].text));
  } else if (insert->n_partition > 0 && !insert->by_name) {
    for (guint i = 0; i < base_type_n_fields (schema); i++) {
      const char *name = base_type_field (schema, i)->name;
      gboolean fixed = FALSE;
      for (guint k = 0; k < insert->n_partition; k++)
        fixed = fixed || base_text_equal_ignore_case (insert->partition[k].name.text, name);
      if (!fixed)
        g_ptr_array_add (names, g_strdup (name));
    }
    for (guint k = 0; k < insert->n_partition; k++) {
      if (insert->partition[k].value == NULL)
        g_ptr_array_add (names, g_strdup (insert->partition[k].name.text));
    }
  } else {
    return NULL;
  }
  for (guint k = 0; k < insert->n_partition; k++) {
    if (insert->partition[k].value != NULL)
      g_ptr_array_add (names, g_strdup (insert->partition[k].name.text));
  }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* The query's columns, then the values of PARTITION (p = v). */
static RelationPlan *
add_partition_values (DmlTarget *target, const SqlInsert *insert, RelationPlan *plan, GError **error)
{
  guint n_given = base_type_n_fields (relation_plan_schema (plan)), n_items = n_given;
  g_autofree RelationItem *items = g_new0 (RelationItem, n_given + insert->n_partition + 1);
  for (guint i = 0; i < n_given; i++)
    items[i].column = i;
  for (guint k = 0; k < insert->n_partition; k++) {
    if (insert->partition[k].value == NULL)
      continue;
    items[n_items].name = insert->partition[k].name.text;
    items[n_items++].expr = insert->partition[k].value;
  }
  return n_items > n_given ? relation_plan_project (plan, items, n_items, &target->relation, error)
                           : relation_plan_ref (plan);
}

static gboolean
is_default_word (const SqlExpr *expr)
{
  return expr->kind == SQL_EXPR_COLUMN && expr->u.column.name.n == 1 && !expr->u.column.name.parts[0].quoted &&
         g_ascii_strcasecmp (expr->u.column.name.parts[0].text, "DEFAULT") == 0;
}

static gboolean
has_default_word (const SqlBody *body)
{
  for (guint r = 0; body->kind == SQL_BODY_VALUES && r < body->u.values.n; r++) {
    for (guint i = 0; i < body->u.values.rows[r].n; i++) {
      if (is_default_word (body->u.values.rows[r].items[i]))
        return TRUE;
    }
  }
  return FALSE;
}

/* VALUES (…, DEFAULT, …) with the columns' defaults in place of the word. @query itself when there is none. */
static const SqlQuery *
put_defaults (const SqlQuery *query, BaseType *schema, char **columns, SqlArena *arena, GError **error)
{
  if (query->body == NULL || !has_default_word (query->body))
    return query;
  SqlQuery *copy = sql_arena_new0 (arena, SqlQuery);
  *copy = *query;
  copy->body = sql_arena_new0 (arena, SqlBody);
  *copy->body = *query->body;
  guint n_rows = query->body->u.values.n;
  copy->body->u.values.rows = sql_arena_new0_n (arena, SqlExprList, n_rows);
  guint n_listed = columns != NULL ? g_strv_length (columns) : base_type_n_fields (schema);
  for (guint r = 0; r < n_rows; r++) {
    const SqlExprList *row = &query->body->u.values.rows[r];
    SqlExprList *made = &copy->body->u.values.rows[r];
    made->n = row->n;
    made->items = sql_arena_new0_n (arena, SqlExpr *, row->n);
    for (guint i = 0; i < row->n; i++) {
      made->items[i] = row->items[i];
      if (!is_default_word (row->items[i]) || i >= n_listed)
        continue;
      int index = columns != NULL ? base_type_field_index (schema, columns[i], TRUE) : (int) i;
      const BaseField *field = index >= 0 ? base_type_field (schema, (guint) index) : NULL;
      const char *text =
          field != NULL && field->metadata != NULL ? base_json_string (field->metadata, "CURRENT_DEFAULT") : NULL;
      made->items[i] = text != NULL ? sql_parse_expression (arena, text, -1, NULL, error) : sql_build_null (arena);
      if (made->items[i] == NULL)
        return NULL;
    }
  }
  return copy;
}

/* ---- one attempt ---- */

static RelationPlan *
fit_query (DmlTarget *target, const SqlInsert *insert, GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  g_auto (GStrv) columns = column_list (insert, schema);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  const SqlQuery *query = put_defaults (insert->query, schema, columns, arena, error);
  g_autoptr (RelationPlan) plan = query != NULL ? relation_plan_new_query (query, &target->relation, error) : NULL;
  if (plan == NULL)
    return NULL;
  dml_note_sources (target, plan);
  if (relation_plan_is_streaming (plan)) {
    dml_unsupported (&insert->query->position, error, "A stream outside of a pipeline", NULL);
    return NULL;
  }
  g_autoptr (RelationPlan) whole = add_partition_values (target, insert, plan, error);
  if (whole == NULL)
    return NULL;
  RelationAssignFlags flags =
      insert->by_name ? RELATION_ASSIGN_BY_NAME | RELATION_ASSIGN_FILL : RELATION_ASSIGN_BY_POSITION;
  RelationPlan *fitted =
      write_plan_fit (whole, schema, flags, (const char *const *) columns, target->name, &target->relation, error);
  if (fitted == NULL)
    sql_position_add_to_error (&insert->table.position, error);
  return fitted;
}

/* The new rows into the batch, and out of the table what they replace. */
static gboolean
stage (DmlTarget *target, const SqlInsert *insert, DmlReplace replaces, const char *rows, guint64 *n_rows,
       json_t *metrics, GError **error)
{
  gint64 n_deleted = -1;
  switch (replaces) {
  case DML_REPLACE_NOTHING:
    return dml_target_rows (target, rows, WRITE_ROWS_DEFAULT, n_rows, error);
  case DML_REPLACE_ALL:
    return write_batch_remove_all (target->batch, NULL, error) &&
           dml_target_rows (target, rows, WRITE_ROWS_DEFAULT, n_rows, error);
  case DML_REPLACE_PARTITIONS:
  case DML_REPLACE_SAME:
  case DML_REPLACE_WHERE:
    break;
  }
  gboolean ok = dml_insert_replace (target, insert, replaces, rows, &n_deleted, n_rows, error);
  dml_drop_temporary (target->context, "dml_rows");
  if (ok && n_deleted >= 0)
    json_object_set_new (metrics, "numDeletedRows", json_integer (n_deleted));
  return ok;
}

static gboolean
insert_once (const DmlContext *context, const SqlStatement *statement, gboolean last, DmlResult *result,
             gboolean *is_done, GError **error)
{
  const SqlInsert *insert = &statement->u.insert;
  g_autoptr (DmlTarget) target = dml_target_open (context, &insert->table, "INSERT", error);
  if (target == NULL)
    return FALSE;
  g_autoptr (RelationPlan) plan = fit_query (target, insert, error);
  g_autoptr (RelationText) text = plan != NULL ? dml_lower (target, plan, error) : NULL;
  if (text == NULL)
    return FALSE;
  DmlReplace replaces = dml_insert_replaces (context, insert, target);
  gboolean partly = replaces != DML_REPLACE_NOTHING && replaces != DML_REPLACE_ALL;
  guint64 n_rows = 0;
  g_autoptr (json_t) metrics = json_object ();
  if (!stage (target, insert, replaces, relation_text_sql (text)->str, &n_rows, metrics, error))
    return FALSE;
  g_autofree char *partitions = dml_json_list (NULL);
  g_autofree char *predicate = insert->replace_where != NULL ? sql_print_expression (insert->replace_where) : NULL;
  g_autoptr (json_t) parameters =
      json_pack ("{s:s, s:s, s:s}", "mode", replaces != DML_REPLACE_NOTHING ? "Overwrite" : "Append", "statsOnLoad",
                 "false", "partitionBy", partitions);
  if (predicate != NULL)
    json_object_set_new (parameters, "predicate", json_string (predicate));
  WriteCommit commit = { .operation = "WRITE",
                         .parameters = parameters,
                         .metrics = metrics,
                         .counted = partly ? dml_replace_metrics : NULL,
                         .reads_table = replaces == DML_REPLACE_ALL };
  if (!dml_target_commit (target, &commit, last, is_done, error))
    return FALSE;
  dml_result_inserted (result, n_rows);
  return TRUE;
}

gboolean
dml_insert (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  return check_form (&statement->u.insert, &statement->position, error) &&
         dml_attempt (context, statement, insert_once, result, error);
}

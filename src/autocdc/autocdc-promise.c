/* WHERE of APPLY CHANGES (autocdc.md §2.4): it does not filter, it promises what every event and every row of the target that the batch
 * touches is like. Rows are checked where the target has all columns that the condition reads. */
#include "autocdc-state-private.h"
#include "base-error.h"
#include "relation-plan.h"
#include "relation-source.h"
#include "sql-parse.h"

gboolean
autocdc_refuse_promise (const AutoCdcWork *work, gint64 n, const char *what, GError **error)
{
  g_autofree char *count = g_strdup_printf ("%" G_GINT64_FORMAT, n);

  base_error_set (error, SLUICE_ERROR_AUTOCDC_MICROBATCH_VALIDATION_WHERE_NOT_SATISFIED,
                  "flow %s into %s: %s %s for which WHERE %s is not true, in batch %" G_GINT64_FORMAT, work->plan->name,
                  work->plan->target, count, what, work->plan->where, work->batch->batch_id);
  base_error_add_param (error, "count", count);
  base_error_set_hint (error, "WHERE of APPLY CHANGES does not filter, it promises what events and rows of the target "
                              "are like; a view over the source filters");
  return FALSE;
}

/* @sql: the rows, with the columns of @schema by position. */
static gboolean
check_rows (AutoCdcWork *work, const char *sql, const BaseType *schema, const char *what, GError **error)
{
  RelationLowering lowering = { .now_us = work->batch->clock_us, .session = work->session };
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlExpr *condition = sql_parse_expression (arena, work->plan->where, -1, NULL, error);
  g_autoptr (RelationSource) source = relation_source_new_text (work->plan->target, sql, schema, FALSE);
  g_autoptr (RelationPlan) rows = relation_plan_new_source (source), good = NULL;
  g_autoptr (RelationText) text = NULL;
  g_autofree char *count = NULL;
  gint64 n;

  if (!condition || !(good = relation_plan_filter (rows, condition, work->context, error)) ||
      !(text = relation_plan_lower (good, &lowering, error)))
    return FALSE;
  count =
      g_strdup_printf ("SELECT (SELECT count(*) FROM (%s)) - count(*) FROM (%s)", sql, relation_text_sql (text)->str);
  if (!duck_session_query_int64 (work->session, count, work->cancel, &n, NULL, error))
    return FALSE;
  return n == 0 || autocdc_refuse_promise (work, n, what, error);
}

/* The columns that WHERE reads as a struct, and `c3, c5`. FALSE: the target lacks one. */
static gboolean
find_columns (const AutoCdcWork *work, GArray *columns, BaseType **schema, GString *list)
{
  const BaseType *target = work->layout->schema;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

  for (guint i = 0; i < work->plan->where_columns->len; i++) {
    int index = base_type_field_index (target, work->plan->where_columns->pdata[i], TRUE);
    guint column = (guint) index;

    if (index < 0)
      return FALSE;
    base_struct_builder_add (builder, work->plan->where_columns->pdata[i], base_type_field (target, column)->type, TRUE,
                             NULL);
    g_string_append_printf (list, "%sc%u", i ? ", " : "", column);
    g_array_append_val (columns, column);
  }
  *schema = base_struct_builder_end (g_steal_pointer (&builder));
  return columns->len > 0;
}

gboolean
autocdc_check_promise (AutoCdcWork *work, WriteBatch *write, GError **error)
{
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GString) list = g_string_new (NULL);
  g_autoptr (BaseType) schema = NULL;
  g_autofree char *added = NULL, *removed = NULL;
  gboolean ok;

  if (!work->plan->where || !find_columns (work, columns, &schema, list))
    return TRUE;
  autocdc_work_set (work, "where columns", list->str);
  added = autocdc_work_text (work, "SELECT {where columns} FROM (SELECT {new columns} FROM {diff} n"
                                   " WHERE n.act IN (1, 3))");
  removed = autocdc_work_text (work, "SELECT {where columns} FROM temp.autocdc_removed_rows");
  if (!check_rows (work, added, schema, "rows to be written", error) ||
      !write_batch_deleted (write, "autocdc_removed_rows", (const guint *) (gconstpointer) columns->data, columns->len,
                            error))
    return FALSE;
  ok = check_rows (work, removed, schema, "rows of the target", error);
  return duck_session_execute (work->session, "DROP TABLE temp.autocdc_removed_rows", NULL, ok ? error : NULL) && ok;
}

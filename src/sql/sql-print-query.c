/* Queries and relations as text. */
#include "sql-print-private.h"

void
sql_print_named (GString *out, const SqlNamedList *list)
{
  for (guint i = 0; i < list->n; i++) {
    const SqlNamed *named = &list->items[i];
    g_string_append (out, i > 0 ? ", " : "");
    sql_print_expr (out, named->value);
    if (named->aliases.n > 0) {
      g_string_append (out, named->aliases_in_list ? " AS (" : " AS ");
      sql_print_idents (out, &named->aliases);
      g_string_append (out, named->aliases_in_list ? ")" : "");
    }
  }
}

void
sql_print_properties (GString *out, const SqlPropertyList *list)
{
  g_string_append_c (out, '(');
  for (guint i = 0; i < list->n; i++) {
    g_string_append (out, i > 0 ? ", " : "");
    sql_print_text (out, list->items[i].key);
    if (list->items[i].expression != NULL) {
      g_string_append (out, " = ");
      sql_print_expr (out, list->items[i].expression);
    }
  }
  g_string_append_c (out, ')');
}

void
sql_print_travel (GString *out, const SqlTravel *travel)
{
  switch (travel->kind) {
  case SQL_TRAVEL_NONE:
    return;
  case SQL_TRAVEL_VERSION:
    g_string_append (out, " VERSION AS OF ");
    break;
  case SQL_TRAVEL_TIMESTAMP:
    g_string_append (out, " TIMESTAMP AS OF ");
    break;
  case SQL_TRAVEL_AT_TIMESTAMP:
    g_string_append_printf (out, "@%s", travel->value->u.literal.text);
    return;
  }
  g_string_append_c (out, '(');
  sql_print_expr (out, travel->value);
  g_string_append_c (out, ')');
}

static void
print_changes_bound (GString *out, const char *before, const SqlChanges *changes, const SqlExpr *value,
                     gboolean exclusive)
{
  g_string_append_printf (out, " %s %s (", before, changes->kind == SQL_TRAVEL_VERSION ? "VERSION" : "TIMESTAMP");
  sql_print_expr (out, value);
  g_string_append (out, exclusive ? ") EXCLUSIVE" : ")");
}

static void
print_changes (GString *out, const SqlChanges *changes)
{
  if (changes->kind == SQL_TRAVEL_NONE)
    return;
  print_changes_bound (out, "CHANGES FROM", changes, changes->start, changes->start_exclusive);
  if (changes->end != NULL)
    print_changes_bound (out, "TO", changes, changes->end, changes->end_exclusive);
}

static void
print_rows (GString *out, const SqlExprList *rows, guint n)
{
  g_string_append (out, "VALUES ");
  for (guint i = 0; i < n; i++) {
    g_string_append (out, i > 0 ? ", (" : "(");
    sql_print_exprs (out, &rows[i]);
    g_string_append_c (out, ')');
  }
}

static void
print_query_in_parentheses (GString *out, const SqlQuery *query)
{
  g_string_append_c (out, '(');
  sql_print_select_query (out, query);
  g_string_append_c (out, ')');
}

/* ------------------------------------------------------------------ relations */

static void
print_alias (GString *out, const SqlRelation *relation)
{
  if (relation->alias == NULL)
    return;
  g_string_append (out, " AS ");
  sql_print_ident (out, relation->alias);
  if (relation->column_aliases.n > 0) {
    g_string_append_c (out, '(');
    sql_print_idents (out, &relation->column_aliases);
    g_string_append_c (out, ')');
  }
}

/* Whether @relation needs parentheses as the right side of a join or the input of a sample. */
static gboolean
is_composite (const SqlRelation *relation)
{
  return (relation->kind == SQL_RELATION_JOIN && relation->alias == NULL) || relation->kind == SQL_RELATION_PIVOT ||
         relation->kind == SQL_RELATION_UNPIVOT || relation->kind == SQL_RELATION_LATERAL_VIEW;
}

static void
print_operand (GString *out, const SqlRelation *relation, gboolean wrap)
{
  g_string_append (out, wrap ? "(" : "");
  sql_print_from (out, relation);
  g_string_append (out, wrap ? ")" : "");
}

static void
print_join (GString *out, const SqlRelation *relation)
{
  static const char *const words[] = {
    ",", " JOIN ", " CROSS JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " LEFT SEMI JOIN ", " LEFT ANTI JOIN "
  };
  SqlJoinKind kind = relation->u.join.kind;
  g_string_append (out, relation->alias != NULL ? "(" : "");
  if (relation->u.join.left != NULL)
    sql_print_from (out, relation->u.join.left);
  g_string_append (out, relation->u.join.natural ? " NATURAL" : "");
  g_string_append (out, kind == SQL_JOIN_COMMA ? ", " : words[kind]);
  print_operand (out, relation->u.join.right, kind != SQL_JOIN_COMMA && is_composite (relation->u.join.right));
  if (relation->u.join.on != NULL) {
    g_string_append (out, " ON ");
    sql_print_expr (out, relation->u.join.on);
  }
  if (relation->u.join.using.n > 0) {
    g_string_append (out, " USING (");
    sql_print_idents (out, &relation->u.join.using);
    g_string_append_c (out, ')');
  }
  g_string_append (out, relation->alias != NULL ? ")" : "");
  print_alias (out, relation);
}

static void
print_lateral_view (GString *out, const SqlRelation *relation)
{
  if (relation->u.view.input != NULL)
    sql_print_from (out, relation->u.view.input);
  g_string_append (out, relation->u.view.outer ? " LATERAL VIEW OUTER " : " LATERAL VIEW ");
  sql_print_expr (out, relation->u.view.call);
  if (relation->alias != NULL) {
    g_string_append_c (out, ' ');
    sql_print_ident (out, relation->alias);
  }
  if (relation->column_aliases.n > 0) {
    g_string_append (out, " AS ");
    sql_print_idents (out, &relation->column_aliases);
  }
}

static void
print_name_list (GString *out, const SqlNameList *list)
{
  g_string_append (out, list->n > 1 ? "(" : "");
  sql_print_names (out, list);
  g_string_append (out, list->n > 1 ? ")" : "");
}

static void
print_pivot (GString *out, const SqlRelation *relation)
{
  if (relation->u.pivot.input != NULL)
    sql_print_from (out, relation->u.pivot.input);
  g_string_append (out, " PIVOT (");
  sql_print_named (out, &relation->u.pivot.aggregates);
  g_string_append (out, " FOR ");
  print_name_list (out, &relation->u.pivot.columns);
  g_string_append (out, " IN (");
  for (guint i = 0; i < relation->u.pivot.n_values; i++) {
    const SqlPivotValue *value = &relation->u.pivot.values[i];
    g_string_append (out, i > 0 ? ", " : "");
    g_string_append (out, value->values.n > 1 ? "(" : "");
    sql_print_exprs (out, &value->values);
    g_string_append (out, value->values.n > 1 ? ")" : "");
    if (value->alias != NULL) {
      g_string_append (out, " AS ");
      sql_print_ident (out, value->alias);
    }
  }
  g_string_append (out, "))");
  print_alias (out, relation);
}

static void
print_unpivot (GString *out, const SqlRelation *relation)
{
  const SqlIdentList *names = &relation->u.unpivot.value_names;
  if (relation->u.unpivot.input != NULL)
    sql_print_from (out, relation->u.unpivot.input);
  g_string_append (out, relation->u.unpivot.include_nulls ? " UNPIVOT INCLUDE NULLS (" : " UNPIVOT (");
  g_string_append (out, names->n > 1 ? "(" : "");
  sql_print_idents (out, names);
  g_string_append (out, names->n > 1 ? ") FOR " : " FOR ");
  sql_print_ident (out, &relation->u.unpivot.name_column);
  g_string_append (out, " IN (");
  for (guint i = 0; i < relation->u.unpivot.n_columns; i++) {
    const SqlUnpivotColumn *column = &relation->u.unpivot.columns[i];
    g_string_append (out, i > 0 ? ", " : "");
    print_name_list (out, &column->columns);
    if (column->alias != NULL) {
      g_string_append (out, " AS ");
      sql_print_ident (out, column->alias);
    }
  }
  g_string_append (out, "))");
  print_alias (out, relation);
}

static void
print_sample (GString *out, const SqlRelation *relation)
{
  const SqlRelation *input = relation->u.sample.input;
  if (input != NULL)
    print_operand (out, input, is_composite (input) || input->alias != NULL);
  g_string_append (out, " TABLESAMPLE (");
  g_string_append (out, relation->u.sample.kind == SQL_SAMPLE_BUCKET ? "BUCKET " : "");
  sql_print_expr (out, relation->u.sample.value);
  if (relation->u.sample.kind == SQL_SAMPLE_BUCKET)
    g_string_append_printf (out, " OUT OF %u", relation->u.sample.n_buckets);
  else
    g_string_append (out, relation->u.sample.kind == SQL_SAMPLE_ROWS ? " ROWS" : " PERCENT");
  if (relation->u.sample.bucket_on != NULL) {
    g_string_append (out, " ON ");
    sql_print_expr (out, relation->u.sample.bucket_on);
  }
  g_string_append_c (out, ')');
  if (relation->u.sample.seed != NULL) {
    g_string_append (out, " REPEATABLE (");
    sql_print_expr (out, relation->u.sample.seed);
    g_string_append_c (out, ')');
  }
  print_alias (out, relation);
}

static void
print_reference (GString *out, const SqlRelation *relation)
{
  gboolean table = relation->kind == SQL_RELATION_TABLE;
  const SqlPropertyList *options = table ? &relation->u.table.options : &relation->u.function.options;
  g_string_append (out, relation->streaming ? "STREAM(" : "");
  if (table) {
    sql_print_name (out, &relation->u.table.name);
    sql_print_travel (out, &relation->u.table.travel);
    print_changes (out, &relation->u.table.changes);
  } else {
    sql_print_expr (out, relation->u.function.call);
  }
  if (options->given) {
    g_string_append (out, " WITH ");
    sql_print_properties (out, options);
  }
  g_string_append (out, relation->streaming ? ")" : "");
  print_alias (out, relation);
}

void
sql_print_from (GString *out, const SqlRelation *relation)
{
  g_string_append (out, relation->lateral ? "LATERAL " : "");
  switch (relation->kind) {
  case SQL_RELATION_TABLE:
  case SQL_RELATION_FUNCTION:
    print_reference (out, relation);
    break;
  case SQL_RELATION_SUBQUERY:
    print_query_in_parentheses (out, relation->u.query);
    print_alias (out, relation);
    break;
  case SQL_RELATION_VALUES:
    print_rows (out, relation->u.values.rows, relation->u.values.n);
    print_alias (out, relation);
    break;
  case SQL_RELATION_JOIN:
    print_join (out, relation);
    break;
  case SQL_RELATION_LATERAL_VIEW:
    print_lateral_view (out, relation);
    break;
  case SQL_RELATION_PIVOT:
    print_pivot (out, relation);
    break;
  case SQL_RELATION_UNPIVOT:
    print_unpivot (out, relation);
    break;
  case SQL_RELATION_SAMPLE:
    print_sample (out, relation);
    break;
  }
}

/* ------------------------------------------------------------------ SELECT */

static void
print_windows (GString *out, const SqlNamedWindow *windows, guint n)
{
  for (guint i = 0; i < n; i++) {
    g_string_append (out, i > 0 ? ", " : " WINDOW ");
    sql_print_ident (out, &windows[i].name);
    g_string_append (out, " AS ");
    sql_print_window (out, &windows[i].window);
  }
}

static void
print_group_item (GString *out, const SqlGroupItem *item)
{
  static const char *const words[] = { "", "ROLLUP (", "CUBE (", "GROUPING SETS (" };
  g_string_append (out, words[item->kind]);
  for (guint i = 0; i < item->n_sets; i++) {
    const SqlExprList *set = &item->sets[i];
    gboolean plain = set->n == 1;
    g_string_append (out, i > 0 ? ", " : "");
    g_string_append (out, plain ? "" : "(");
    sql_print_exprs (out, set);
    g_string_append (out, plain ? "" : ")");
  }
  for (guint i = 0; i < item->n_nested; i++) {
    g_string_append (out, i + item->n_sets > 0 ? ", " : "");
    print_group_item (out, &item->nested[i]);
  }
  g_string_append (out, item->kind == SQL_GROUP_ITEM_EXPR ? "" : ")");
}

static void
print_select (GString *out, const SqlSelect *select)
{
  if (!select->implicit) {
    g_string_append (out, select->distinct ? "SELECT DISTINCT " : "SELECT ");
    sql_print_named (out, &select->items);
  }
  if (select->from != NULL) {
    g_string_append (out, select->implicit ? "FROM " : " FROM ");
    sql_print_from (out, select->from);
  }
  if (select->where != NULL) {
    g_string_append (out, " WHERE ");
    sql_print_expr (out, select->where);
  }
  if (select->group_by.kind == SQL_GROUP_ALL)
    g_string_append (out, " GROUP BY ALL");
  for (guint i = 0; i < select->group_by.n; i++) {
    g_string_append (out, i > 0 ? ", " : " GROUP BY ");
    print_group_item (out, &select->group_by.items[i]);
  }
  if (select->having != NULL) {
    g_string_append (out, " HAVING ");
    sql_print_expr (out, select->having);
  }
  if (select->qualify != NULL) {
    g_string_append (out, " QUALIFY ");
    sql_print_expr (out, select->qualify);
  }
  print_windows (out, select->windows, select->n_windows);
}

static void
print_organization (GString *out, const SqlOrganization *organization)
{
  if (organization->order_by.n > 0) {
    g_string_append (out, " ORDER BY ");
    sql_print_sort (out, &organization->order_by);
  }
  if (organization->cluster_by.n > 0) {
    g_string_append (out, " CLUSTER BY ");
    sql_print_exprs (out, &organization->cluster_by);
  }
  if (organization->distribute_by.n > 0) {
    g_string_append (out, " DISTRIBUTE BY ");
    sql_print_exprs (out, &organization->distribute_by);
  }
  if (organization->sort_by.n > 0) {
    g_string_append (out, " SORT BY ");
    sql_print_sort (out, &organization->sort_by);
  }
  print_windows (out, organization->windows, organization->n_windows);
  if (organization->limit != NULL) {
    g_string_append (out, " LIMIT ");
    sql_print_expr (out, organization->limit);
  }
  g_string_append (out, organization->limit_all ? " LIMIT ALL" : "");
  if (organization->offset != NULL) {
    g_string_append (out, " OFFSET ");
    sql_print_expr (out, organization->offset);
  }
}

static void print_body (GString *out, const SqlBody *body);

static void
print_set_words (GString *out, SqlSetOp op, gboolean all)
{
  static const char *const words[] = { "UNION", "EXCEPT", "INTERSECT" };
  g_string_append_printf (out, " %s%s ", words[op], all ? " ALL" : "");
}

static void
print_pipe (GString *out, const SqlPipe *pipe)
{
  switch (pipe->kind) {
  case SQL_PIPE_SELECT:
    g_string_append (out, pipe->distinct ? " SELECT DISTINCT " : " SELECT ");
    sql_print_named (out, &pipe->items);
    break;
  case SQL_PIPE_EXTEND:
    g_string_append (out, " EXTEND ");
    sql_print_named (out, &pipe->items);
    break;
  case SQL_PIPE_SET:
    for (guint i = 0; i < pipe->items.n; i++) {
      g_string_append (out, i > 0 ? ", " : " SET ");
      sql_print_ident (out, pipe->items.items[i].aliases.items);
      g_string_append (out, " = ");
      sql_print_expr (out, pipe->items.items[i].value);
    }
    break;
  case SQL_PIPE_DROP:
    g_string_append (out, " DROP ");
    sql_print_names (out, &pipe->names);
    break;
  case SQL_PIPE_AS:
    g_string_append (out, " AS ");
    sql_print_ident (out, &pipe->alias);
    break;
  case SQL_PIPE_WHERE:
    g_string_append (out, " WHERE ");
    sql_print_expr (out, pipe->condition);
    break;
  case SQL_PIPE_AGGREGATE:
    g_string_append (out, " AGGREGATE ");
    sql_print_named (out, &pipe->items);
    if (pipe->group_by.n > 0 || pipe->group_by_all) {
      g_string_append (out, pipe->group_by_all ? " GROUP BY ALL" : " GROUP BY ");
      sql_print_named (out, &pipe->group_by);
    }
    break;
  case SQL_PIPE_RELATION:
    sql_print_from (out, pipe->relation);
    break;
  case SQL_PIPE_SET_OPERATION:
    print_set_words (out, pipe->set_op, pipe->set_all);
    print_body (out, pipe->right);
    break;
  case SQL_PIPE_ORGANIZE:
    print_organization (out, &pipe->organization);
    break;
  }
}

static void
print_body (GString *out, const SqlBody *body)
{
  switch (body->kind) {
  case SQL_BODY_SELECT:
    print_select (out, &body->u.select);
    break;
  case SQL_BODY_SET:
    print_body (out, body->u.set.left);
    print_set_words (out, body->u.set.op, body->u.set.all);
    print_body (out, body->u.set.right);
    break;
  case SQL_BODY_VALUES:
    print_rows (out, body->u.values.rows, body->u.values.n);
    if (body->u.values.alias != NULL) {
      g_string_append (out, " AS ");
      sql_print_ident (out, body->u.values.alias);
    }
    if (body->u.values.columns.n > 0) {
      g_string_append_c (out, '(');
      sql_print_idents (out, &body->u.values.columns);
      g_string_append_c (out, ')');
    }
    break;
  case SQL_BODY_TABLE:
    g_string_append (out, "TABLE ");
    sql_print_name (out, &body->u.table);
    break;
  case SQL_BODY_QUERY:
    print_query_in_parentheses (out, body->u.query);
    break;
  case SQL_BODY_PIPE:
    print_body (out, body->u.pipe.input);
    g_string_append (out, " |>");
    print_pipe (out, body->u.pipe.op);
    break;
  }
}

void
sql_print_select_query (GString *out, const SqlQuery *query)
{
  for (guint i = 0; i < query->n_ctes; i++) {
    const SqlCte *cte = &query->ctes[i];
    g_string_append (out, i > 0 ? ", " : "WITH ");
    sql_print_ident (out, &cte->name);
    if (cte->columns.n > 0) {
      g_string_append_c (out, '(');
      sql_print_idents (out, &cte->columns);
      g_string_append_c (out, ')');
    }
    g_string_append (out, " AS ");
    print_query_in_parentheses (out, cte->query);
  }
  g_string_append (out, query->n_ctes > 0 ? " " : "");
  print_body (out, query->body);
  print_organization (out, &query->organization);
}

char *
sql_print_query (const SqlQuery *query)
{
  GString *out = g_string_new (NULL);
  sql_print_select_query (out, query);
  return g_string_free (out, FALSE);
}

char *
sql_print_relation (const SqlRelation *relation)
{
  GString *out = g_string_new (NULL);
  sql_print_from (out, relation);
  return g_string_free (out, FALSE);
}

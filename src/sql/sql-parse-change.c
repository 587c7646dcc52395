/* Statements that change tables: INSERT, UPDATE, DELETE, MERGE, ALTER, maintenance. */
#include "base-text.h"
#include "sql-parser-private.h"

/* A table by name, or by '/dir' as the name delta.`/dir`. */
static gboolean
parse_table_or_path (SqlParser *parser, SqlName *name)
{
  if (sql_parser_kind (parser, 0) != SQL_TOKEN_STRING)
    return sql_parser_name (parser, name);
  guint start = parser->at;
  const char *path = sql_parser_string (parser, NULL);
  if (path == NULL)
    return FALSE;
  const char *const parts[] = { "delta", path };
  *name = sql_build_name (parser->arena, parts, 2);
  name->position = sql_parser_span (parser, start);
  name->parts[0].quoted = FALSE;
  name->parts[0].position = name->parts[1].position = name->position;
  return TRUE;
}

gboolean
sql_parser_partition (SqlParser *parser, SqlPartitionValue **items, guint *n)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (SqlPartitionValue));
  if (!EXPECT1 (parser, PARTITION) || !sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  do {
    SqlPartitionValue value = { 0 };
    if (!sql_parser_ident (parser, &value.name))
      return FALSE;
    if (sql_parser_accept_token (parser, SQL_TOKEN_EQ) && (value.value = sql_parser_expression (parser)) == NULL)
      return FALSE;
    g_array_append_val (values, value);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *items = sql_parser_keep (parser, values);
  *n = values->len;
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

/* ------------------------------------------------------------------ INSERT */

static gboolean
parse_insert_target (SqlParser *parser, SqlInsert *insert, gboolean in_flow)
{
  if (AT1 (parser, OVERWRITE)) {
    insert->overwrite = TRUE;
    parser->at++;
    ACCEPT1 (parser, INTO);
  } else if (!EXPECT1 (parser, INTO)) {
    return FALSE;
  }
  if (in_flow)
    insert->once = ACCEPT1 (parser, ONCE);
  if (AT1 (parser, TABLE) && sql_parser_at_ident (parser, 1))
    parser->at++;
  if (!sql_parser_name (parser, &insert->table))
    return FALSE;
  if (AT1 (parser, WITH) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN) {
    parser->at++;
    if (!sql_parser_properties (parser, &insert->options))
      return FALSE;
  }
  if (AT1 (parser, PARTITION)) {
    if (!sql_parser_partition (parser, &insert->partition, &insert->n_partition))
      return FALSE;
    insert->if_not_exists = ACCEPT3 (parser, IF, NOT, EXISTS);
  }
  return TRUE;
}

gboolean
sql_parser_insert (SqlParser *parser, SqlInsert *insert, gboolean in_flow)
{
  parser->at++;
  if (!parse_insert_target (parser, insert, in_flow))
    return FALSE;
  if (ACCEPT2 (parser, BY, NAME)) {
    insert->by_name = TRUE;
  } else if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && !sql_parser_is_query (parser, parser->at)) {
    if (!sql_parser_ident_list (parser, &insert->columns))
      return FALSE;
    insert->by_name = ACCEPT2 (parser, BY, NAME);
  }
  if (ACCEPT2 (parser, REPLACE, WHERE)) {
    insert->replace_where = sql_parser_expression (parser);
    if (insert->replace_where == NULL)
      return FALSE;
  } else if (ACCEPT2 (parser, REPLACE, USING)) {
    if (!sql_parser_ident_list (parser, &insert->replace_using))
      return FALSE;
  }
  insert->query = sql_parser_query (parser);
  return insert->query != NULL;
}

/* ------------------------------------------------------------------ UPDATE, DELETE, MERGE */

static gboolean
parse_assignments (SqlParser *parser, SqlAssignmentList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlAssignment));
  do {
    guint start = parser->at;
    SqlAssignment assignment = { 0 };
    if (!sql_parser_name (parser, &assignment.column) || !sql_parser_expect_token (parser, SQL_TOKEN_EQ, "="))
      return FALSE;
    assignment.value = sql_parser_expression (parser);
    if (assignment.value == NULL)
      return FALSE;
    assignment.position = sql_parser_span (parser, start);
    g_array_append_val (items, assignment);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *list = (SqlAssignmentList){ sql_parser_keep (parser, items), items->len };
  return TRUE;
}

static gboolean
parse_where (SqlParser *parser, SqlExpr **where)
{
  if (!ACCEPT1 (parser, WHERE))
    return parser->error == NULL;
  *where = sql_parser_expression (parser);
  return *where != NULL;
}

static gboolean
parse_merge_action (SqlParser *parser, SqlMergeClause *clause)
{
  gboolean insert = clause->when == SQL_MERGE_NOT_MATCHED;
  if (!insert && ACCEPT1 (parser, DELETE)) {
    clause->action = SQL_MERGE_DELETE;
    return TRUE;
  }
  if (!insert && ACCEPT1 (parser, UPDATE)) {
    clause->action = SQL_MERGE_UPDATE;
    if (!EXPECT1 (parser, SET))
      return FALSE;
    if (clause->when == SQL_MERGE_MATCHED && sql_parser_accept_token (parser, SQL_TOKEN_STAR)) {
      clause->action = SQL_MERGE_UPDATE_ALL;
      return TRUE;
    }
    return parse_assignments (parser, &clause->assignments);
  }
  if (!insert) {
    sql_parser_fail (parser, "UPDATE SET or DELETE");
    return FALSE;
  }
  if (!EXPECT1 (parser, INSERT))
    return FALSE;
  clause->action = SQL_MERGE_INSERT_ALL;
  if (sql_parser_accept_token (parser, SQL_TOKEN_STAR))
    return TRUE;
  clause->action = SQL_MERGE_INSERT;
  return sql_parser_name_list (parser, &clause->columns) && EXPECT1 (parser, VALUES) &&
         sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "(") &&
         sql_parser_expression_list (parser, &clause->values) &&
         sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

static gboolean
parse_merge_clause (SqlParser *parser, SqlMergeClause *clause)
{
  guint start = parser->at;
  if (!EXPECT1 (parser, WHEN))
    return FALSE;
  if (ACCEPT1 (parser, MATCHED)) {
    clause->when = SQL_MERGE_MATCHED;
  } else {
    if (!EXPECT2 (parser, NOT, MATCHED))
      return FALSE;
    clause->when = ACCEPT2 (parser, BY, SOURCE) ? SQL_MERGE_NOT_MATCHED_BY_SOURCE : SQL_MERGE_NOT_MATCHED;
    ACCEPT2 (parser, BY, TARGET);
  }
  if (ACCEPT1 (parser, AND) && (clause->condition = sql_parser_expression (parser)) == NULL)
    return FALSE;
  if (!EXPECT1 (parser, THEN) || !parse_merge_action (parser, clause))
    return FALSE;
  clause->position = sql_parser_span (parser, start);
  return TRUE;
}

static gboolean
parse_merge (SqlParser *parser, SqlMerge *merge)
{
  g_autoptr (GArray) clauses = g_array_new (FALSE, FALSE, sizeof (SqlMergeClause));
  parser->at++;
  merge->with_schema_evolution = ACCEPT3 (parser, WITH, SCHEMA, EVOLUTION);
  if (!EXPECT1 (parser, INTO) || !sql_parser_name (parser, &merge->target))
    return FALSE;
  merge->alias = sql_parser_alias (parser);
  if (!EXPECT1 (parser, USING))
    return FALSE;
  merge->source = sql_parser_relation_primary (parser);
  if (merge->source == NULL || !EXPECT1 (parser, ON))
    return FALSE;
  merge->on = sql_parser_expression (parser);
  if (merge->on == NULL)
    return FALSE;
  do {
    SqlMergeClause clause = { 0 };
    if (!parse_merge_clause (parser, &clause))
      return FALSE;
    g_array_append_val (clauses, clause);
  } while (AT1 (parser, WHEN));
  merge->clauses = sql_parser_keep (parser, clauses);
  merge->n_clauses = clauses->len;
  return TRUE;
}

gboolean
sql_parser_change (SqlParser *parser, SqlStatement *statement)
{
  if (AT1 (parser, MERGE)) {
    statement->kind = SQL_STATEMENT_MERGE;
    return parse_merge (parser, &statement->u.merge);
  }
  if (AT1 (parser, UPDATE)) {
    SqlUpdate *update = &statement->u.update;
    statement->kind = SQL_STATEMENT_UPDATE;
    parser->at++;
    if (!sql_parser_name (parser, &update->table))
      return FALSE;
    update->alias = sql_parser_alias (parser);
    return EXPECT1 (parser, SET) && parse_assignments (parser, &update->assignments) &&
           parse_where (parser, &update->where);
  }
  SqlDelete *delete_ = &statement->u.delete_;
  statement->kind = SQL_STATEMENT_DELETE;
  parser->at++;
  if (!EXPECT1 (parser, FROM) || !sql_parser_name (parser, &delete_->table))
    return FALSE;
  delete_->alias = sql_parser_alias (parser);
  return parse_where (parser, &delete_->where);
}

/* ------------------------------------------------------------------ ALTER */

static gboolean
parse_place (SqlParser *parser, SqlPlaceKind *place, SqlIdent *after)
{
  if (ACCEPT1 (parser, FIRST)) {
    *place = SQL_PLACE_FIRST;
  } else if (ACCEPT1 (parser, AFTER)) {
    *place = SQL_PLACE_AFTER;
    return sql_parser_ident (parser, after);
  }
  return TRUE;
}

static gboolean
parse_new_columns (SqlParser *parser, SqlColumnList *list)
{
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (SqlColumn));
  gboolean open = sql_parser_accept_token (parser, SQL_TOKEN_OPEN);
  do {
    SqlColumn column = { 0 };
    if (!sql_parser_column (parser, &column, TRUE) || !parse_place (parser, &column.place, &column.place_after))
      return FALSE;
    g_array_append_val (columns, column);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *list = (SqlColumnList){ sql_parser_keep (parser, columns), columns->len };
  return !open || sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

static gboolean
parse_names (SqlParser *parser, SqlNameList *list)
{
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN)
    return sql_parser_name_list (parser, list);
  g_autoptr (GArray) names = g_array_new (FALSE, FALSE, sizeof (SqlName));
  do {
    SqlName name;
    if (!sql_parser_name (parser, &name))
      return FALSE;
    g_array_append_val (names, name);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *list = (SqlNameList){ sql_parser_keep (parser, names), names->len };
  return TRUE;
}

/* A feature's name may have a dot: sluice.autoCdc. */
static void
parse_feature_name (SqlParser *parser, SqlAlter *alter)
{
  SqlName name;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_STRING) {
    alter->new_name.position = sql_parser_here (parser);
    alter->new_name.quoted = TRUE;
    alter->new_name.text = sql_parser_string (parser, NULL);
  } else if (sql_parser_name (parser, &name)) {
    g_autoptr (GString) text = g_string_new (NULL);
    for (guint i = 0; i < name.n; i++)
      g_string_append_printf (text, "%s%s", i > 0 ? "." : "", name.parts[i].text);
    alter->new_name.position = name.position;
    alter->new_name.text = sql_arena_strdup (parser->arena, text->str);
  }
}

static gboolean
parse_alter_add (SqlParser *parser, SqlAlter *alter)
{
  if (ACCEPT1 (parser, COLUMNS) || ACCEPT1 (parser, COLUMN)) {
    alter->action = SQL_ALTER_ADD_COLUMNS;
    return parse_new_columns (parser, &alter->columns);
  }
  if (AT1 (parser, SCHEDULE) || AT1 (parser, TRIGGER)) {
    alter->action = SQL_ALTER_SCHEDULE;
    alter->text = sql_parser_schedule (parser);
    return TRUE;
  }
  if (ACCEPT1 (parser, FEATURE)) {
    alter->action = SQL_ALTER_ADD_FEATURE;
    parse_feature_name (parser, alter);
    return parser->error == NULL;
  }
  alter->if_exists = ACCEPT3 (parser, IF, NOT, EXISTS);
  if (AT1 (parser, PARTITION)) {
    alter->action = SQL_ALTER_ADD_PARTITIONS;
    return sql_parser_partition (parser, &alter->partition, &alter->n_partition);
  }
  alter->action = SQL_ALTER_ADD_CONSTRAINT;
  alter->constraint = sql_arena_new0 (parser->arena, SqlConstraint);
  return sql_parser_constraint (parser, alter->constraint);
}

static gboolean
parse_drop_constraint (SqlParser *parser, SqlAlter *alter)
{
  alter->action = SQL_ALTER_DROP_CONSTRAINT;
  if (!ACCEPT1 (parser, CONSTRAINT)) {
    gboolean primary = ACCEPT2 (parser, PRIMARY, KEY);
    if (!primary && !EXPECT2 (parser, FOREIGN, KEY))
      return FALSE;
    alter->constraint = sql_arena_new0 (parser->arena, SqlConstraint);
    alter->constraint->kind = primary ? SQL_CONSTRAINT_PRIMARY_KEY : SQL_CONSTRAINT_FOREIGN_KEY;
    alter->if_exists = ACCEPT2 (parser, IF, EXISTS);
    if (!primary && !sql_parser_ident_list (parser, &alter->constraint->columns))
      return FALSE;
  } else {
    alter->if_exists = ACCEPT2 (parser, IF, EXISTS);
    if (!sql_parser_ident (parser, &alter->new_name))
      return FALSE;
  }
  alter->cascade = ACCEPT1 (parser, CASCADE);
  ACCEPT1 (parser, RESTRICT);
  return TRUE;
}

static gboolean
parse_alter_drop (SqlParser *parser, SqlAlter *alter)
{
  if (ACCEPT1 (parser, COLUMNS) || ACCEPT1 (parser, COLUMN)) {
    alter->action = SQL_ALTER_DROP_COLUMNS;
    alter->if_exists = ACCEPT2 (parser, IF, EXISTS);
    return parse_names (parser, &alter->names);
  }
  if (ACCEPT1 (parser, FEATURE)) {
    alter->action = SQL_ALTER_DROP_FEATURE;
    parse_feature_name (parser, alter);
    alter->truncate_history = ACCEPT2 (parser, TRUNCATE, HISTORY);
    return parser->error == NULL;
  }
  if (ACCEPT1 (parser, SCHEDULE)) {
    alter->action = SQL_ALTER_SCHEDULE;
    return TRUE;
  }
  if (AT1 (parser, PARTITION) || AT3 (parser, IF, EXISTS, PARTITION)) {
    alter->action = SQL_ALTER_DROP_PARTITIONS;
    alter->if_exists = ACCEPT2 (parser, IF, EXISTS);
    return sql_parser_partition (parser, &alter->partition, &alter->n_partition);
  }
  return parse_drop_constraint (parser, alter);
}

/* CHANGE COLUMN c c INT [COMMENT '…'] [FIRST | AFTER d]: Hive's form, without its renaming. Stands at the second name. */
static gboolean
parse_hive_change (SqlParser *parser, SqlAlter *alter)
{
  SqlIdent name;
  if (!sql_parser_ident (parser, &name))
    return FALSE;
  if (!base_text_equal_ignore_case (name.text, alter->column.parts[alter->column.n - 1].text)) {
    sql_parser_fail_at (parser, &name.position, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                        "a column is not renamed in this form; use RENAME COLUMN");
    return FALSE;
  }
  alter->action = SQL_ALTER_COLUMN_TYPE;
  if (!sql_parser_type (parser, &alter->type))
    return FALSE;
  if (ACCEPT1 (parser, COMMENT)) {
    alter->text = sql_parser_string (parser, NULL);
    if (alter->text == NULL)
      return FALSE;
  }
  return parse_place (parser, &alter->place, &alter->place_after);
}

/* ALTER COLUMN c …. */
static gboolean
parse_alter_column (SqlParser *parser, SqlAlter *alter)
{
  if (!sql_parser_name (parser, &alter->column))
    return FALSE;
  if (ACCEPT1 (parser, TYPE)) {
    alter->action = SQL_ALTER_COLUMN_TYPE;
    return sql_parser_type (parser, &alter->type);
  }
  if (ACCEPT1 (parser, COMMENT)) {
    alter->action = SQL_ALTER_COLUMN_COMMENT;
    alter->text = sql_parser_string (parser, NULL);
    return alter->text != NULL;
  }
  if (ACCEPT3 (parser, SET, NOT, NULL)) {
    alter->action = SQL_ALTER_COLUMN_SET_NOT_NULL;
  } else if (ACCEPT3 (parser, DROP, NOT, NULL)) {
    alter->action = SQL_ALTER_COLUMN_DROP_NOT_NULL;
  } else if (ACCEPT2 (parser, DROP, DEFAULT)) {
    alter->action = SQL_ALTER_COLUMN_DROP_DEFAULT;
  } else if (ACCEPT2 (parser, SET, DEFAULT)) {
    alter->action = SQL_ALTER_COLUMN_SET_DEFAULT;
    alter->expression = sql_parser_expression (parser);
    return alter->expression != NULL;
  } else if (AT1 (parser, FIRST) || AT1 (parser, AFTER)) {
    alter->action = SQL_ALTER_COLUMN_PLACE;
    return parse_place (parser, &alter->place, &alter->place_after);
  } else if (sql_parser_at_ident (parser, 0) && sql_parser_kind (parser, 1) == SQL_TOKEN_WORD) {
    return parse_hive_change (parser, alter);
  } else {
    sql_parser_fail (parser, "TYPE, COMMENT, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT, FIRST or AFTER");
    return FALSE;
  }
  return TRUE;
}

static gboolean
parse_alter_set (SqlParser *parser, SqlAlter *alter)
{
  if (ACCEPT1 (parser, TBLPROPERTIES) || ACCEPT1 (parser, DBPROPERTIES) || ACCEPT1 (parser, PROPERTIES)) {
    alter->action = SQL_ALTER_SET_PROPERTIES;
    return sql_parser_properties (parser, &alter->properties);
  }
  if (ACCEPT1 (parser, LOCATION)) {
    alter->action = SQL_ALTER_SET_LOCATION;
    alter->text = sql_parser_string (parser, NULL);
    return alter->text != NULL;
  }
  if (ACCEPT2 (parser, OWNER, TO)) {
    alter->action = SQL_ALTER_SET_OWNER;
    return sql_parser_ident (parser, &alter->new_name);
  }
  if (AT2 (parser, REFRESH, POLICY)) {
    alter->action = SQL_ALTER_REFRESH_POLICY;
    return sql_parser_refresh_policy (parser, &alter->refresh_policy);
  }
  sql_parser_fail (parser, "TBLPROPERTIES, LOCATION or OWNER TO");
  return FALSE;
}

static gboolean
parse_alter_action (SqlParser *parser, SqlAlter *alter)
{
  if (alter->object == SQL_OBJECT_STREAMING_TABLE && ACCEPT1 (parser, ADOPT)) {
    alter->action = SQL_ALTER_ADOPT;
    return TRUE;
  }
  if (ACCEPT1 (parser, ADD))
    return parse_alter_add (parser, alter);
  if (ACCEPT1 (parser, DROP))
    return parse_alter_drop (parser, alter);
  if (ACCEPT2 (parser, RENAME, TO)) {
    alter->action = SQL_ALTER_RENAME;
    return sql_parser_name (parser, &alter->target);
  }
  if (ACCEPT2 (parser, RENAME, COLUMN)) {
    alter->action = SQL_ALTER_RENAME_COLUMN;
    return sql_parser_name (parser, &alter->column) && EXPECT1 (parser, TO) &&
           sql_parser_ident (parser, &alter->new_name);
  }
  if (ACCEPT2 (parser, REPLACE, COLUMNS)) {
    alter->action = SQL_ALTER_REPLACE_COLUMNS;
    return parse_new_columns (parser, &alter->columns);
  }
  if (AT2 (parser, ALTER, SCHEDULE)) {
    parser->at++;
    alter->action = SQL_ALTER_SCHEDULE;
    alter->text = sql_parser_schedule (parser);
    return TRUE;
  }
  if (ACCEPT1 (parser, ALTER) || ACCEPT1 (parser, CHANGE)) {
    ACCEPT1 (parser, COLUMN);
    return parse_alter_column (parser, alter);
  }
  if (ACCEPT1 (parser, SET))
    return parse_alter_set (parser, alter);
  if (ACCEPT2 (parser, OWNER, TO)) {
    alter->action = SQL_ALTER_SET_OWNER;
    return sql_parser_ident (parser, &alter->new_name);
  }
  if (ACCEPT1 (parser, UNSET)) {
    alter->action = SQL_ALTER_UNSET_PROPERTIES;
    if (!EXPECT1 (parser, TBLPROPERTIES))
      return FALSE;
    alter->if_exists = ACCEPT2 (parser, IF, EXISTS);
    return sql_parser_properties (parser, &alter->properties);
  }
  if (AT2 (parser, CLUSTER, BY)) {
    alter->action = SQL_ALTER_CLUSTER_BY;
    return sql_parser_cluster_by (parser, &alter->cluster_by);
  }
  if (alter->object == SQL_OBJECT_VIEW && (AT1 (parser, AS) || sql_parser_starts_query (sql_parser_word (parser, 0)))) {
    ACCEPT1 (parser, AS);
    alter->action = SQL_ALTER_VIEW_QUERY;
    alter->query = sql_parser_query (parser);
    return alter->query != NULL;
  }
  sql_parser_fail (parser, "ADD, DROP, RENAME, ALTER COLUMN, SET, UNSET, CLUSTER BY or REPLACE COLUMNS");
  return FALSE;
}

gboolean
sql_parser_alter (SqlParser *parser, SqlStatement *statement)
{
  SqlAlter *alter = &statement->u.alter;
  statement->kind = SQL_STATEMENT_ALTER;
  parser->at++;
  if (ACCEPT1 (parser, TABLE)) {
    alter->object = SQL_OBJECT_TABLE;
  } else if (ACCEPT1 (parser, VIEW)) {
    alter->object = SQL_OBJECT_VIEW;
  } else if (ACCEPT2 (parser, STREAMING, TABLE)) {
    alter->object = SQL_OBJECT_STREAMING_TABLE;
  } else if (ACCEPT2 (parser, MATERIALIZED, VIEW)) {
    alter->object = SQL_OBJECT_MATERIALIZED_VIEW;
  } else if (ACCEPT1 (parser, SCHEMA) || ACCEPT1 (parser, DATABASE) || ACCEPT1 (parser, NAMESPACE)) {
    alter->object = SQL_OBJECT_SCHEMA;
  } else {
    sql_parser_fail (parser, "TABLE, VIEW, STREAMING TABLE, MATERIALIZED VIEW or SCHEMA");
    return FALSE;
  }
  if (!sql_parser_name (parser, &alter->name))
    return FALSE;
  guint start = parser->at;
  if (!parse_alter_action (parser, alter))
    return FALSE;
  alter->action_position = sql_parser_span (parser, start);
  return TRUE;
}

/* ------------------------------------------------------------------ maintenance */

static gboolean
parse_optimize (SqlParser *parser, SqlOptimize *optimize)
{
  if (AT1 (parser, TABLE) && sql_parser_at_ident (parser, 1))
    parser->at++;
  if (!parse_table_or_path (parser, &optimize->table))
    return FALSE;
  optimize->full = ACCEPT1 (parser, FULL);
  if (!parse_where (parser, &optimize->where))
    return FALSE;
  return !ACCEPT2 (parser, ZORDER, BY) || parse_names (parser, &optimize->zorder_by);
}

static gboolean
parse_vacuum (SqlParser *parser, SqlVacuum *vacuum)
{
  if (AT1 (parser, TABLE) && sql_parser_at_ident (parser, 1))
    parser->at++;
  if (!parse_table_or_path (parser, &vacuum->table))
    return FALSE;
  for (;;) {
    if (vacuum->mode == SQL_VACUUM_DEFAULT && ACCEPT1 (parser, FULL)) {
      vacuum->mode = SQL_VACUUM_FULL;
    } else if (vacuum->mode == SQL_VACUUM_DEFAULT && ACCEPT1 (parser, LITE)) {
      vacuum->mode = SQL_VACUUM_LITE;
    } else if (vacuum->retain_hours == NULL && ACCEPT1 (parser, RETAIN)) {
      vacuum->retain_hours = sql_parser_value (parser);
      if (vacuum->retain_hours == NULL || (!ACCEPT1 (parser, HOURS) && !EXPECT1 (parser, HOUR)))
        return FALSE;
    } else if (!vacuum->dry_run && ACCEPT2 (parser, DRY, RUN)) {
      vacuum->dry_run = TRUE;
    } else {
      return parser->error == NULL;
    }
  }
}

static gboolean
parse_restore (SqlParser *parser, SqlRestore *restore)
{
  if (AT1 (parser, TABLE) && (sql_parser_at_ident (parser, 1) || sql_parser_kind (parser, 1) == SQL_TOKEN_STRING))
    parser->at++;
  if (!parse_table_or_path (parser, &restore->table))
    return FALSE;
  ACCEPT1 (parser, TO);
  if (!AT1 (parser, VERSION) && !AT1 (parser, TIMESTAMP)) {
    sql_parser_fail (parser, "VERSION AS OF or TIMESTAMP AS OF");
    return FALSE;
  }
  return sql_parser_travel (parser, &restore->travel);
}

static gboolean
parse_refresh (SqlParser *parser, SqlRefresh *refresh)
{
  refresh->object = SQL_OBJECT_TABLE;
  if (ACCEPT2 (parser, MATERIALIZED, VIEW))
    refresh->object = SQL_OBJECT_MATERIALIZED_VIEW;
  else if (ACCEPT2 (parser, STREAMING, TABLE))
    refresh->object = SQL_OBJECT_STREAMING_TABLE;
  else if (AT1 (parser, TABLE) && sql_parser_at_ident (parser, 1))
    parser->at++;
  if (!sql_parser_name (parser, &refresh->name))
    return FALSE;
  refresh->full = ACCEPT1 (parser, FULL);
  return TRUE;
}

static gboolean
parse_reorg (SqlParser *parser, SqlReorg *reorg)
{
  if (!EXPECT1 (parser, TABLE) || !parse_table_or_path (parser, &reorg->table) ||
      !parse_where (parser, &reorg->where) || !EXPECT1 (parser, APPLY) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  if (ACCEPT1 (parser, PURGE)) {
    reorg->action = SQL_REORG_PURGE;
  } else if (ACCEPT1 (parser, CHECKPOINT)) {
    reorg->action = SQL_REORG_CHECKPOINT;
  } else {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "REORG TABLE takes APPLY (PURGE) only");
    return FALSE;
  }
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
}

static gboolean
parse_analyze (SqlParser *parser, SqlAnalyze *analyze)
{
  if (!EXPECT1 (parser, TABLE) || !sql_parser_name (parser, &analyze->table) || !EXPECT1 (parser, COMPUTE))
    return FALSE;
  ACCEPT1 (parser, DELTA);
  if (!EXPECT1 (parser, STATISTICS))
    return FALSE;
  if (ACCEPT1 (parser, NOSCAN)) {
    analyze->no_scan = TRUE;
  } else if (ACCEPT3 (parser, FOR, ALL, COLUMNS)) {
    analyze->all_columns = TRUE;
  } else if (ACCEPT2 (parser, FOR, COLUMNS)) {
    g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (SqlIdent));
    do {
      SqlIdent ident;
      if (!sql_parser_ident (parser, &ident))
        return FALSE;
      g_array_append_val (columns, ident);
    } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
    analyze->columns = (SqlIdentList){ sql_parser_keep (parser, columns), columns->len };
  }
  return TRUE;
}

static gboolean
parse_convert (SqlParser *parser, SqlConvert *convert)
{
  if (!EXPECT2 (parser, TO, DELTA) || !sql_parser_name (parser, &convert->source))
    return FALSE;
  convert->no_statistics = ACCEPT2 (parser, NO, STATISTICS);
  return !ACCEPT2 (parser, PARTITIONED, BY) || parse_new_columns (parser, &convert->partitioned_by);
}

gboolean
sql_parser_maintain (SqlParser *parser, SqlStatement *statement)
{
  SqlWord word = sql_parser_word (parser, 0);
  parser->at++;
  switch ((int) word) {
  case SQL_WORD_OPTIMIZE:
    statement->kind = SQL_STATEMENT_OPTIMIZE;
    return parse_optimize (parser, &statement->u.optimize);
  case SQL_WORD_VACUUM:
    statement->kind = SQL_STATEMENT_VACUUM;
    return parse_vacuum (parser, &statement->u.vacuum);
  case SQL_WORD_RESTORE:
    statement->kind = SQL_STATEMENT_RESTORE;
    return parse_restore (parser, &statement->u.restore);
  case SQL_WORD_REFRESH:
    statement->kind = SQL_STATEMENT_REFRESH;
    return parse_refresh (parser, &statement->u.refresh);
  case SQL_WORD_REORG:
    statement->kind = SQL_STATEMENT_REORG;
    return parse_reorg (parser, &statement->u.reorg);
  case SQL_WORD_ANALYZE:
    statement->kind = SQL_STATEMENT_ANALYZE;
    return parse_analyze (parser, &statement->u.analyze);
  default:
    statement->kind = SQL_STATEMENT_CONVERT;
    return parse_convert (parser, &statement->u.convert);
  }
}

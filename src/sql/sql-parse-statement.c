/* The dispatcher of statements, and the small ones: DROP, USE, SET, RESET, SHOW, DESCRIBE, EXPLAIN, COMMENT, TRUNCATE. */
#include "sql-parser-private.h"

/* ------------------------------------------------------------------ DROP, USE, COMMENT, TRUNCATE */

static gboolean
accept_object (SqlParser *parser, SqlObjectKind *object)
{
  static const struct {
    SqlWord words[2];
    SqlObjectKind object;
  } objects[] = {
    { { SQL_WORD_STREAMING, SQL_WORD_TABLE }, SQL_OBJECT_STREAMING_TABLE },
    { { SQL_WORD_MATERIALIZED, SQL_WORD_VIEW }, SQL_OBJECT_MATERIALIZED_VIEW },
    { { SQL_WORD_TABLE }, SQL_OBJECT_TABLE },
    { { SQL_WORD_VIEW }, SQL_OBJECT_VIEW },
    { { SQL_WORD_SCHEMA }, SQL_OBJECT_SCHEMA },
    { { SQL_WORD_DATABASE }, SQL_OBJECT_SCHEMA },
    { { SQL_WORD_NAMESPACE }, SQL_OBJECT_SCHEMA },
    { { SQL_WORD_CATALOG }, SQL_OBJECT_CATALOG },
    { { SQL_WORD_FUNCTION }, SQL_OBJECT_FUNCTION },
    { { SQL_WORD_COLUMN }, SQL_OBJECT_COLUMN },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (objects); i++) {
    if (sql_parser_accept (parser, objects[i].words[0], objects[i].words[1], SQL_WORD_OTHER, SQL_WORD_OTHER)) {
      *object = objects[i].object;
      return TRUE;
    }
  }
  return FALSE;
}

static gboolean
parse_drop (SqlParser *parser, SqlDrop *drop)
{
  parser->at++;
  drop->temporary = ACCEPT1 (parser, TEMPORARY) || ACCEPT1 (parser, TEMP);
  if (!accept_object (parser, &drop->object) || drop->object == SQL_OBJECT_COLUMN) {
    sql_parser_fail (parser, "TABLE, VIEW, SCHEMA, STREAMING TABLE or MATERIALIZED VIEW");
    return FALSE;
  }
  drop->if_exists = ACCEPT2 (parser, IF, EXISTS);
  if (!sql_parser_name (parser, &drop->name))
    return FALSE;
  drop->cascade = ACCEPT1 (parser, CASCADE);
  drop->restrict_given = ACCEPT1 (parser, RESTRICT);
  drop->purge = ACCEPT1 (parser, PURGE);
  return TRUE;
}

static gboolean
parse_use (SqlParser *parser, SqlUse *use)
{
  parser->at++;
  gboolean more = sql_parser_at_ident (parser, 1) || sql_parser_kind (parser, 1) == SQL_TOKEN_STRING;
  if (more && ACCEPT1 (parser, CATALOG))
    use->what = SQL_USE_CATALOG;
  else if (more && (ACCEPT1 (parser, SCHEMA) || ACCEPT1 (parser, DATABASE) || ACCEPT1 (parser, NAMESPACE)))
    use->what = SQL_USE_SCHEMA;
  return sql_parser_name (parser, &use->name);
}

static gboolean
parse_comment (SqlParser *parser, SqlComment *comment)
{
  parser->at++;
  if (!EXPECT1 (parser, ON))
    return FALSE;
  if (!accept_object (parser, &comment->object)) {
    sql_parser_fail (parser, "TABLE, VIEW, COLUMN, SCHEMA or CATALOG");
    return FALSE;
  }
  if (!sql_parser_name (parser, &comment->name) || !EXPECT1 (parser, IS))
    return FALSE;
  if (ACCEPT1 (parser, NULL))
    return TRUE;
  comment->text = sql_parser_string (parser, NULL);
  return comment->text != NULL;
}

static gboolean
parse_truncate (SqlParser *parser, SqlTruncate *truncate)
{
  parser->at++;
  if (!EXPECT1 (parser, TABLE) || !sql_parser_name (parser, &truncate->table))
    return FALSE;
  return !AT1 (parser, PARTITION) || sql_parser_partition (parser, &truncate->partition, &truncate->n_partition);
}

/* ------------------------------------------------------------------ SET, RESET */

/* The source text from token @start to token @end, this one not included; backticks around it are taken off. */
static const char *
raw_text (SqlParser *parser, guint start, guint end)
{
  const char *text = parser->source->text + parser->tokens[start].begin;
  gsize length = parser->tokens[end - 1].end - parser->tokens[start].begin;
  if (end - start == 1 && parser->tokens[start].kind == SQL_TOKEN_QUOTED) {
    text++;
    length -= 2;
  }
  for (gsize i = 0; i < length; i++) {
    if (text[i] == 0)
      return sql_parser_fail (parser, "text without zero characters");
  }
  return sql_arena_strndup (parser->arena, text, length);
}

static gboolean
parse_time_zone (SqlParser *parser, SqlSet *set)
{
  parser->at += 2;
  set->time_zone = TRUE;
  set->key = "spark.sql.session.timeZone";
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_STRING) {
    set->value = sql_parser_string (parser, NULL);
    return set->value != NULL;
  }
  SqlIdent ident;
  if (!AT1 (parser, INTERVAL)) {
    if (!sql_parser_ident (parser, &ident))
      return FALSE;
    set->value = ident.text;
    return TRUE;
  }
  set->time_zone_interval = sql_parser_value (parser);
  return set->time_zone_interval != NULL;
}

/* The value is not SQL: it reaches from behind = to the end of the statement, as written. */
static gboolean
parse_set (SqlParser *parser, SqlStatement *statement)
{
  SqlSet *set = &statement->u.set;
  statement->kind = SQL_STATEMENT_SET;
  parser->at++;
  if (sql_parser_at_end (parser) || sql_parser_kind (parser, 0) == SQL_TOKEN_SEMICOLON)
    return TRUE;
  if (AT2 (parser, TIME, ZONE) && sql_parser_kind (parser, 2) != SQL_TOKEN_END)
    return parse_time_zone (parser, set);
  if (AT1 (parser, CATALOG) && sql_parser_at_ident (parser, 1)) {
    statement->kind = SQL_STATEMENT_USE;
    statement->u.use = (SqlUse){ .what = SQL_USE_CATALOG };
    parser->at++;
    return sql_parser_name (parser, &statement->u.use.name);
  }
  if ((AT1 (parser, VAR) || AT1 (parser, VARIABLE)) && sql_parser_at_ident (parser, 1)) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "session variables are not supported");
    return FALSE;
  }
  guint start = parser->at;
  guint end = parser->n - 1;
  while (end > start && parser->tokens[end - 1].kind == SQL_TOKEN_SEMICOLON)
    end--;
  if (end - start == 2 && parser->tokens[start].kind == SQL_TOKEN_MINUS &&
      parser->tokens[start + 1].kind == SQL_TOKEN_WORD &&
      g_ascii_tolower (parser->source->text[parser->tokens[start + 1].begin]) == 'v' &&
      parser->tokens[start + 1].end - parser->tokens[start + 1].begin == 1) {
    set->verbose = TRUE;
    parser->at = end;
    return TRUE;
  }
  guint equals = start;
  while (equals < end && parser->tokens[equals].kind != SQL_TOKEN_EQ)
    equals++;
  if (equals == start || !sql_parser_at_ident (parser, 0)) {
    sql_parser_fail (parser, "the name of a setting");
    return FALSE;
  }
  for (guint i = start + 1; i < equals; i++) {
    if (parser->tokens[i].begin != parser->tokens[i - 1].end) {
      parser->at = i;
      sql_parser_fail (parser, "= or the end of the statement");
      return FALSE;
    }
  }
  set->key = raw_text (parser, start, equals);
  if (equals < end)
    set->value = equals + 1 < end ? raw_text (parser, equals + 1, end) : "";
  if (parser->error == NULL)
    parser->at = end;
  return parser->error == NULL;
}

static gboolean
parse_reset (SqlParser *parser, SqlReset *reset)
{
  parser->at++;
  guint end = parser->n - 1;
  while (end > parser->at && parser->tokens[end - 1].kind == SQL_TOKEN_SEMICOLON)
    end--;
  if (parser->at == end)
    return TRUE;
  reset->key = raw_text (parser, parser->at, end);
  if (parser->error == NULL)
    parser->at = end;
  return parser->error == NULL;
}

/* ------------------------------------------------------------------ SHOW */

static gboolean
parse_pattern (SqlParser *parser, SqlShow *show)
{
  gboolean like = ACCEPT1 (parser, LIKE);
  if (!like && sql_parser_kind (parser, 0) != SQL_TOKEN_STRING)
    return TRUE;
  show->pattern = sql_parser_string (parser, NULL);
  return show->pattern != NULL;
}

static gboolean
parse_in (SqlParser *parser, SqlName *name)
{
  return (!ACCEPT1 (parser, IN) && !ACCEPT1 (parser, FROM)) || sql_parser_name (parser, name);
}

static gboolean
parse_show_functions (SqlParser *parser, SqlShow *show)
{
  show->kind = SQL_SHOW_FUNCTIONS;
  if (!AT1 (parser, FUNCTIONS)) {
    show->scope = AT1 (parser, USER) ? "USER" : AT1 (parser, SYSTEM) ? "SYSTEM" : "ALL";
    parser->at++;
  }
  parser->at++;
  if (!parse_in (parser, &show->in))
    return FALSE;
  gboolean like = AT1 (parser, LIKE) && sql_parser_kind (parser, 1) != SQL_TOKEN_STRING;
  if (like)
    parser->at++;
  if (sql_parser_at_ident (parser, 0) && !AT1 (parser, LIKE))
    return sql_parser_name (parser, &show->name);
  return parse_pattern (parser, show);
}

static gboolean
parse_show_of_table (SqlParser *parser, SqlShow *show)
{
  if (ACCEPT1 (parser, COLUMNS)) {
    show->kind = SQL_SHOW_COLUMNS;
    if (!AT1 (parser, IN) && !AT1 (parser, FROM)) {
      sql_parser_fail (parser, "IN or FROM");
      return FALSE;
    }
    return parse_in (parser, &show->name) && parse_in (parser, &show->in);
  }
  if (ACCEPT1 (parser, TBLPROPERTIES)) {
    show->kind = SQL_SHOW_PROPERTIES;
    if (!sql_parser_name (parser, &show->name))
      return FALSE;
    if (sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN)
      return TRUE;
    SqlPropertyList keys = { 0 };
    if (!sql_parser_properties (parser, &keys))
      return FALSE;
    show->key = keys.n > 0 ? keys.items[0].key : NULL;
    return TRUE;
  }
  if (ACCEPT2 (parser, CREATE, TABLE)) {
    show->kind = SQL_SHOW_CREATE_TABLE;
    return sql_parser_name (parser, &show->name);
  }
  if (!EXPECT1 (parser, PARTITIONS))
    return FALSE;
  show->kind = SQL_SHOW_PARTITIONS;
  if (!sql_parser_name (parser, &show->name))
    return FALSE;
  return !AT1 (parser, PARTITION) || sql_parser_partition (parser, &show->partition, &show->n_partition);
}

static gboolean
parse_show (SqlParser *parser, SqlShow *show)
{
  parser->at++;
  if (ACCEPT2 (parser, TABLE, EXTENDED)) {
    show->kind = SQL_SHOW_TABLE_EXTENDED;
    if (!parse_in (parser, &show->in) || !parse_pattern (parser, show))
      return FALSE;
    return !AT1 (parser, PARTITION) || sql_parser_partition (parser, &show->partition, &show->n_partition);
  }
  if (ACCEPT2 (parser, CURRENT, NAMESPACE) || ACCEPT2 (parser, CURRENT, SCHEMA) ||
      ACCEPT2 (parser, CURRENT, DATABASE)) {
    show->kind = SQL_SHOW_CURRENT_SCHEMA;
    return TRUE;
  }
  SqlWord next = sql_parser_word (parser, 1);
  if (AT1 (parser, FUNCTIONS) ||
      (next == SQL_WORD_FUNCTIONS && (AT1 (parser, USER) || AT1 (parser, SYSTEM) || AT1 (parser, ALL))))
    return parse_show_functions (parser, show);
  if (AT1 (parser, COLUMNS) || AT1 (parser, TBLPROPERTIES) || AT2 (parser, CREATE, TABLE) || AT1 (parser, PARTITIONS))
    return parse_show_of_table (parser, show);
  if (ACCEPT1 (parser, TABLES)) {
    show->kind = SQL_SHOW_TABLES;
  } else if (ACCEPT1 (parser, VIEWS)) {
    show->kind = SQL_SHOW_VIEWS;
  } else if (ACCEPT1 (parser, CATALOGS)) {
    show->kind = SQL_SHOW_CATALOGS;
  } else if (ACCEPT1 (parser, SCHEMAS) || ACCEPT1 (parser, DATABASES) || ACCEPT1 (parser, NAMESPACES)) {
    show->kind = SQL_SHOW_SCHEMAS;
  } else {
    sql_parser_fail (parser, "TABLES, VIEWS, SCHEMAS, COLUMNS, TBLPROPERTIES, FUNCTIONS, PARTITIONS or CREATE TABLE");
    return FALSE;
  }
  return parse_in (parser, &show->in) && parse_pattern (parser, show);
}

/* ------------------------------------------------------------------ DESCRIBE, EXPLAIN */

/* A table by name or '/dir', with time travel. */
static gboolean
parse_described (SqlParser *parser, SqlDescribe *describe)
{
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_STRING) {
    SqlPosition here = sql_parser_here (parser);
    const char *path = sql_parser_string (parser, NULL);
    if (path == NULL)
      return FALSE;
    const char *const parts[] = { "delta", path };
    describe->name = sql_build_name (parser->arena, parts, 2);
    describe->name.parts[0].quoted = FALSE;
    describe->name.position = here;
    return TRUE;
  }
  SqlRelation *relation = sql_parser_table (parser);
  if (relation == NULL)
    return FALSE;
  if (relation->kind != SQL_RELATION_TABLE || relation->streaming) {
    sql_parser_fail_at (parser, &relation->position, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                        "syntax error: DESCRIBE takes the name of a table");
    return FALSE;
  }
  describe->name = relation->u.table.name;
  describe->travel = relation->u.table.travel;
  return TRUE;
}

static gboolean
parse_describe_table (SqlParser *parser, SqlDescribe *describe)
{
  if (AT1 (parser, TABLE) && (sql_parser_at_ident (parser, 1) || sql_parser_kind (parser, 1) == SQL_TOKEN_STRING))
    parser->at++;
  gboolean more = sql_parser_at_ident (parser, 1) || sql_parser_kind (parser, 1) == SQL_TOKEN_STRING;
  describe->extended = describe->extended || (more && (ACCEPT1 (parser, EXTENDED) || ACCEPT1 (parser, FORMATTED)));
  if (!parse_described (parser, describe))
    return FALSE;
  if (AT1 (parser, PARTITION) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN &&
      !sql_parser_partition (parser, &describe->partition, &describe->n_partition))
    return FALSE;
  if (sql_parser_at_ident (parser, 0) && !AT1 (parser, AS) && !sql_parser_name (parser, &describe->column))
    return FALSE;
  if (ACCEPT1 (parser, AS)) {
    describe->as_json = TRUE;
    return EXPECT1 (parser, JSON);
  }
  return parser->error == NULL;
}

static gboolean
parse_describe (SqlParser *parser, SqlDescribe *describe)
{
  parser->at++;
  SqlWord word = sql_parser_word (parser, 0);
  gboolean more = sql_parser_at_ident (parser, 1) || sql_parser_kind (parser, 1) == SQL_TOKEN_STRING;
  describe->kind = SQL_DESCRIBE_TABLE;
  if (word == SQL_WORD_SELECT || word == SQL_WORD_WITH || (word == SQL_WORD_VALUES && !sql_parser_at_end (parser)) ||
      sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN || (word == SQL_WORD_FROM && more) ||
      (word == SQL_WORD_QUERY && (more || sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN))) {
    describe->kind = SQL_DESCRIBE_QUERY;
    ACCEPT1 (parser, QUERY);
    describe->query = sql_parser_query (parser);
    return describe->query != NULL;
  }
  if (more && ACCEPT1 (parser, HISTORY)) {
    describe->kind = SQL_DESCRIBE_HISTORY;
    if (!parse_described (parser, describe))
      return FALSE;
    if (ACCEPT1 (parser, LIMIT))
      describe->limit = sql_parser_value (parser);
    return parser->error == NULL;
  }
  if (more && ACCEPT1 (parser, DETAIL)) {
    describe->kind = SQL_DESCRIBE_DETAIL;
    return parse_described (parser, describe);
  }
  if (AT2 (parser, AUTO, CDC) && sql_parser_at_ident (parser, 2)) {
    parser->at += 2;
    describe->kind = SQL_DESCRIBE_AUTO_CDC;
    return parse_described (parser, describe);
  }
  if (more && (word == SQL_WORD_SCHEMA || word == SQL_WORD_DATABASE || word == SQL_WORD_NAMESPACE ||
               word == SQL_WORD_FUNCTION || word == SQL_WORD_CATALOG)) {
    describe->kind = word == SQL_WORD_FUNCTION  ? SQL_DESCRIBE_FUNCTION
                     : word == SQL_WORD_CATALOG ? SQL_DESCRIBE_CATALOG
                                                : SQL_DESCRIBE_SCHEMA;
    parser->at++;
    describe->extended = sql_parser_at_ident (parser, 1) && ACCEPT1 (parser, EXTENDED);
    return sql_parser_name (parser, &describe->name);
  }
  return parse_describe_table (parser, describe);
}

static gboolean
parse_explain (SqlParser *parser, SqlExplain *explain)
{
  static const SqlWord modes[] = { SQL_WORD_EXTENDED, SQL_WORD_FORMATTED, SQL_WORD_CODEGEN, SQL_WORD_COST,
                                   SQL_WORD_LOGICAL };
  parser->at++;
  for (gsize i = 0; i < G_N_ELEMENTS (modes) && explain->mode == NULL; i++) {
    if (sql_parser_word (parser, 0) == modes[i]) {
      explain->mode = sql_word_text (modes[i]);
      parser->at++;
    }
  }
  if (!sql_parser_enter (parser))
    return FALSE;
  explain->statement = sql_parser_statement (parser);
  sql_parser_leave (parser);
  return explain->statement != NULL;
}

/* ------------------------------------------------------------------ the dispatcher */

static gboolean
parse_query_statement (SqlParser *parser, SqlStatement *statement)
{
  statement->kind = SQL_STATEMENT_QUERY;
  statement->u.query = sql_parser_query (parser);
  return statement->u.query != NULL;
}

static gboolean
refuse (SqlParser *parser)
{
  SqlPosition here = sql_parser_here (parser);
  sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "%s is not supported",
                      sql_word_text (sql_parser_word (parser, 0)));
  return FALSE;
}

static gboolean
parse_statement (SqlParser *parser, SqlStatement *statement)
{
  switch ((int) sql_parser_word (parser, 0)) {
  case SQL_WORD_SELECT:
  case SQL_WORD_WITH:
  case SQL_WORD_VALUES:
  case SQL_WORD_TABLE:
  case SQL_WORD_FROM:
    return parse_query_statement (parser, statement);
  case SQL_WORD_CREATE:
  case SQL_WORD_REPLACE:
    return sql_parser_create (parser, statement);
  case SQL_WORD_APPLY:
    return sql_parser_apply_changes (parser, statement);
  case SQL_WORD_INSERT:
    statement->kind = SQL_STATEMENT_INSERT;
    return sql_parser_insert (parser, &statement->u.insert, FALSE);
  case SQL_WORD_UPDATE:
  case SQL_WORD_DELETE:
  case SQL_WORD_MERGE:
    return sql_parser_change (parser, statement);
  case SQL_WORD_ALTER:
    return sql_parser_alter (parser, statement);
  case SQL_WORD_OPTIMIZE:
  case SQL_WORD_VACUUM:
  case SQL_WORD_RESTORE:
  case SQL_WORD_REFRESH:
  case SQL_WORD_REORG:
  case SQL_WORD_ANALYZE:
  case SQL_WORD_CONVERT:
    return sql_parser_maintain (parser, statement);
  case SQL_WORD_DROP:
    statement->kind = SQL_STATEMENT_DROP;
    return parse_drop (parser, &statement->u.drop);
  case SQL_WORD_USE:
    statement->kind = SQL_STATEMENT_USE;
    return parse_use (parser, &statement->u.use);
  case SQL_WORD_SET:
    return parse_set (parser, statement);
  case SQL_WORD_RESET:
    statement->kind = SQL_STATEMENT_RESET;
    return parse_reset (parser, &statement->u.reset);
  case SQL_WORD_SHOW:
    statement->kind = SQL_STATEMENT_SHOW;
    return parse_show (parser, &statement->u.show);
  case SQL_WORD_DESCRIBE:
  case SQL_WORD_DESC:
    statement->kind = SQL_STATEMENT_DESCRIBE;
    return parse_describe (parser, &statement->u.describe);
  case SQL_WORD_EXPLAIN:
    statement->kind = SQL_STATEMENT_EXPLAIN;
    return parse_explain (parser, &statement->u.explain);
  case SQL_WORD_COMMENT:
    statement->kind = SQL_STATEMENT_COMMENT;
    return parse_comment (parser, &statement->u.comment);
  case SQL_WORD_TRUNCATE:
    statement->kind = SQL_STATEMENT_TRUNCATE;
    return parse_truncate (parser, &statement->u.truncate);
  case SQL_WORD_CACHE:
  case SQL_WORD_UNCACHE:
  case SQL_WORD_GRANT:
  case SQL_WORD_REVOKE:
  case SQL_WORD_CALL:
  case SQL_WORD_DECLARE:
  case SQL_WORD_EXECUTE:
  case SQL_WORD_COPY:
  case SQL_WORD_LOAD:
  case SQL_WORD_MSCK:
  case SQL_WORD_FSCK:
  case SQL_WORD_UNDROP:
  case SQL_WORD_SYNC:
  case SQL_WORD_BEGIN:
    return refuse (parser);
  default:
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN)
      return parse_query_statement (parser, statement);
    sql_parser_fail (parser, "a statement");
    return FALSE;
  }
}

SqlStatement *
sql_parser_statement (SqlParser *parser)
{
  guint start = parser->at;
  SqlStatement *statement = sql_arena_new0 (parser->arena, SqlStatement);
  if (!parse_statement (parser, statement) || parser->error != NULL)
    return NULL;
  statement->n_parameters = parser->n_questions;
  statement->position = sql_parser_span (parser, start);
  return statement;
}

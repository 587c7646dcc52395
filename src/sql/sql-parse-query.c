/* Queries and relations.
 *
 * Spark's keywords are not reserved, so a bare word behind an expression or a table may be an alias or the next clause. The rule
 * here: the words of select_stops and table_stops begin a clause (some only together with BY, OF, …), every other word is an
 * alias; after AS any word is.
 */
#include "sql-parser-private.h"

#include <string.h>

static SqlBody *parse_terms (SqlParser *parser, guint least);
static SqlRelation *parse_relation (SqlParser *parser);

/* ------------------------------------------------------------------ tools */

static SqlBody *
new_body (SqlParser *parser, SqlBodyKind kind)
{
  SqlBody *body = sql_arena_new0 (parser->arena, SqlBody);
  body->kind = kind;
  body->depth = 1;
  return body;
}

static SqlRelation *
new_relation (SqlParser *parser, SqlRelationKind kind)
{
  SqlRelation *relation = sql_arena_new0 (parser->arena, SqlRelation);
  relation->kind = kind;
  relation->depth = 1;
  return relation;
}

static void
hang_expr (SqlParser *parser, guint *depth, const SqlExpr *expr)
{
  if (expr != NULL)
    sql_parser_deepen (parser, depth, expr->depth);
}

static void
hang_list (SqlParser *parser, guint *depth, const SqlExprList *list)
{
  for (guint i = 0; i < list->n; i++)
    hang_expr (parser, depth, list->items[i]);
}

static void
hang_sort (SqlParser *parser, guint *depth, const SqlSortList *list)
{
  for (guint i = 0; i < list->n; i++)
    hang_expr (parser, depth, list->items[i].value);
}

static void
hang_named (SqlParser *parser, guint *depth, const SqlNamedList *list)
{
  for (guint i = 0; i < list->n; i++)
    hang_expr (parser, depth, list->items[i].value);
}

gboolean
sql_parser_starts_query (SqlWord word)
{
  return word == SQL_WORD_SELECT || word == SQL_WORD_WITH || word == SQL_WORD_VALUES || word == SQL_WORD_TABLE ||
         word == SQL_WORD_FROM;
}

static gboolean
is_set_word (SqlWord word)
{
  return word == SQL_WORD_UNION || word == SQL_WORD_EXCEPT || word == SQL_WORD_INTERSECT || word == SQL_WORD_MINUS ||
         word == SQL_WORD_SETMINUS;
}

/* Whether the token at @index may begin a query and not only be a column of that name. */
static gboolean
begins_query (const SqlParser *parser, guint index)
{
  const SqlToken *token = &parser->tokens[index];
  const SqlToken *next = &parser->tokens[MIN (index + 1, parser->n - 1)];
  if (token->kind != SQL_TOKEN_WORD || !sql_parser_starts_query ((SqlWord) token->word))
    return FALSE;
  if (token->word == SQL_WORD_SELECT)
    return TRUE;
  if (token->word == SQL_WORD_VALUES)
    return next->kind != SQL_TOKEN_CLOSE && next->kind != SQL_TOKEN_COMMA && next->kind != SQL_TOKEN_DOT;
  return next->kind == SQL_TOKEN_WORD || next->kind == SQL_TOKEN_QUOTED ||
         (token->word == SQL_WORD_FROM && next->kind == SQL_TOKEN_OPEN);
}

gboolean
sql_parser_is_query (const SqlParser *parser, guint open)
{
  enum { MOST = 256 };
  guint depth = 1;
  while (depth < MOST && parser->tokens[open + depth].kind == SQL_TOKEN_OPEN)
    depth++;
  if (!begins_query (parser, open + depth))
    return FALSE;
  /* ((SELECT 1) UNION …) is a query, ((SELECT 1) + 1) is not: look behind every inner parenthesis. */
  for (guint i = depth - 1; i >= 1; i--) {
    guint behind = parser->match[open + i] + 1;
    const SqlToken *token = &parser->tokens[MIN (behind, parser->n - 1)];
    SqlWord word = token->kind == SQL_TOKEN_WORD ? (SqlWord) token->word : SQL_WORD_OTHER;
    if (token->kind == SQL_TOKEN_CLOSE || token->kind == SQL_TOKEN_PIPE || is_set_word (word) ||
        word == SQL_WORD_ORDER || word == SQL_WORD_LIMIT || word == SQL_WORD_OFFSET || word == SQL_WORD_SORT ||
        word == SQL_WORD_CLUSTER || word == SQL_WORD_DISTRIBUTE)
      continue;
    return FALSE;
  }
  return TRUE;
}

static gboolean
is_changes_kind (SqlWord word)
{
  return word == SQL_WORD_VERSION || word == SQL_WORD_SYSTEM_VERSION || word == SQL_WORD_TIMESTAMP ||
         word == SQL_WORD_SYSTEM_TIME;
}

/* Whether the word here begins a clause, so that it is no alias. */
static gboolean
at_clause (const SqlParser *parser, gboolean table)
{
  SqlWord next = sql_parser_word (parser, 1);
  switch ((int) sql_parser_word (parser, 0)) {
  case SQL_WORD_FROM:
  case SQL_WORD_WHERE:
  case SQL_WORD_HAVING:
  case SQL_WORD_QUALIFY:
  case SQL_WORD_SELECT:
  case SQL_WORD_UNION:
  case SQL_WORD_EXCEPT:
  case SQL_WORD_INTERSECT:
  case SQL_WORD_MINUS:
  case SQL_WORD_SETMINUS:
  case SQL_WORD_LATERAL:
  case SQL_WORD_JOIN:
  case SQL_WORD_ON:
  case SQL_WORD_USING:
  case SQL_WORD_AS:
  case SQL_WORD_AND:
  case SQL_WORD_OR:
  case SQL_WORD_LIMIT:
    return TRUE;
  case SQL_WORD_GROUP:
  case SQL_WORD_ORDER:
  case SQL_WORD_SORT:
  case SQL_WORD_CLUSTER:
  case SQL_WORD_DISTRIBUTE:
    return next == SQL_WORD_BY;
  case SQL_WORD_OFFSET:
    return sql_parser_kind (parser, 1) == SQL_TOKEN_INTEGER || sql_parser_kind (parser, 1) == SQL_TOKEN_COLON ||
           sql_parser_kind (parser, 1) == SQL_TOKEN_QUESTION || sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
  case SQL_WORD_WINDOW:
    return sql_parser_at_ident (parser, 1) && sql_parser_word (parser, 2) == SQL_WORD_AS;
  case SQL_WORD_WHEN:
  case SQL_WORD_SET:
  case SQL_WORD_CROSS:
  case SQL_WORD_INNER:
  case SQL_WORD_LEFT:
  case SQL_WORD_RIGHT:
  case SQL_WORD_FULL:
  case SQL_WORD_SEMI:
  case SQL_WORD_ANTI:
  case SQL_WORD_NATURAL:
  case SQL_WORD_PIVOT:
  case SQL_WORD_UNPIVOT:
  case SQL_WORD_TABLESAMPLE:
    return table;
  case SQL_WORD_WITH:
    return table && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
  case SQL_WORD_VERSION:
  case SQL_WORD_TIMESTAMP:
  case SQL_WORD_SYSTEM_VERSION:
  case SQL_WORD_SYSTEM_TIME:
    return table && next == SQL_WORD_AS && sql_parser_word (parser, 2) == SQL_WORD_OF;
  case SQL_WORD_CHANGES:
    return table && next == SQL_WORD_FROM && is_changes_kind (sql_parser_word (parser, 2));
  case SQL_WORD_FOR:
    return table && (next == SQL_WORD_VERSION || next == SQL_WORD_TIMESTAMP || next == SQL_WORD_SYSTEM_VERSION ||
                     next == SQL_WORD_SYSTEM_TIME);
  default:
    return FALSE;
  }
}

const SqlIdent *
sql_parser_alias (SqlParser *parser)
{
  SqlIdent alias;
  gboolean as = AT1 (parser, AS);
  if (as)
    parser->at++;
  else if (!sql_parser_at_ident (parser, 0) || at_clause (parser, TRUE))
    return NULL;
  return sql_parser_ident (parser, &alias) ? sql_parser_keep_ident (parser, &alias) : NULL;
}

gboolean
sql_parser_named (SqlParser *parser, SqlNamed *named)
{
  guint start = parser->at;
  named->value = sql_parser_expression (parser);
  if (named->value == NULL)
    return FALSE;
  gboolean as = AT1 (parser, AS);
  if (as)
    parser->at++;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    named->aliases_in_list = TRUE;
    if (!sql_parser_ident_list (parser, &named->aliases))
      return FALSE;
  } else if (as || (sql_parser_at_ident (parser, 0) && !at_clause (parser, FALSE))) {
    SqlIdent alias;
    if (!sql_parser_ident (parser, &alias))
      return FALSE;
    named->aliases = (SqlIdentList){ (SqlIdent *) sql_parser_keep_ident (parser, &alias), 1 };
  }
  named->position = sql_parser_span (parser, start);
  return TRUE;
}

gboolean
sql_parser_named_list (SqlParser *parser, SqlNamedList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlNamed));
  do {
    SqlNamed named = { 0 };
    if (!sql_parser_named (parser, &named))
      return FALSE;
    g_array_append_val (items, named);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  list->items = sql_parser_keep (parser, items);
  list->n = items->len;
  return TRUE;
}

/* ------------------------------------------------------------------ table references */

gboolean
sql_parser_travel (SqlParser *parser, SqlTravel *travel)
{
  guint start = parser->at;
  ACCEPT1 (parser, FOR);
  gboolean version = AT1 (parser, VERSION) || AT1 (parser, SYSTEM_VERSION);
  parser->at++;
  if (!EXPECT2 (parser, AS, OF))
    return FALSE;
  travel->kind = version ? SQL_TRAVEL_VERSION : SQL_TRAVEL_TIMESTAMP;
  travel->value = sql_parser_value (parser);
  travel->position = sql_parser_span (parser, start);
  return travel->value != NULL;
}

static gboolean
at_travel (const SqlParser *parser)
{
  guint skip = AT1 (parser, FOR) ? 1 : 0;
  SqlWord word = sql_parser_word (parser, skip);
  return (word == SQL_WORD_VERSION || word == SQL_WORD_TIMESTAMP || word == SQL_WORD_SYSTEM_VERSION ||
          word == SQL_WORD_SYSTEM_TIME) &&
         sql_parser_word (parser, skip + 1) == SQL_WORD_AS && sql_parser_word (parser, skip + 2) == SQL_WORD_OF;
}

/* A table called `changes` may also stand before FROM. */
static gboolean
at_changes (const SqlParser *parser)
{
  return AT2 (parser, CHANGES, FROM) && is_changes_kind (sql_parser_word (parser, 2));
}

/* One bound after its kind, and whether it counts itself. */
static gboolean
parse_changes_bound (SqlParser *parser, SqlExpr **value, gboolean *exclusive)
{
  *value = sql_parser_value (parser);
  if (*value == NULL)
    return FALSE;
  *exclusive = ACCEPT1 (parser, EXCLUSIVE);
  if (!*exclusive)
    ACCEPT1 (parser, INCLUSIVE);
  return TRUE;
}

static gboolean
parse_changes (SqlParser *parser, SqlChanges *changes)
{
  guint start = parser->at;
  parser->at += 2;
  gboolean version = AT1 (parser, VERSION) || AT1 (parser, SYSTEM_VERSION);
  parser->at++;
  changes->kind = version ? SQL_TRAVEL_VERSION : SQL_TRAVEL_TIMESTAMP;
  if (!parse_changes_bound (parser, &changes->start, &changes->start_exclusive))
    return FALSE;
  if (ACCEPT1 (parser, TO)) {
    gboolean same = version ? AT1 (parser, VERSION) || AT1 (parser, SYSTEM_VERSION)
                            : AT1 (parser, TIMESTAMP) || AT1 (parser, SYSTEM_TIME);
    if (!same) {
      sql_parser_fail (parser, version ? "TO VERSION" : "TO TIMESTAMP");
      return FALSE;
    }
    parser->at++;
    if (!parse_changes_bound (parser, &changes->end, &changes->end_exclusive))
      return FALSE;
  }
  changes->position = sql_parser_span (parser, start);
  return TRUE;
}

/* t@v12 and t@20190101000000000, stands on @. */
static gboolean
parse_at_suffix (SqlParser *parser, SqlTravel *travel)
{
  guint start = parser->at;
  parser->at++;
  const SqlToken *token = sql_parser_token (parser, 0);
  g_autofree char *word = g_strndup (parser->source->text + token->begin, token->end - token->begin);
  g_autofree char *suffix = g_strconcat ("t@", word, NULL);
  gsize length;
  if ((token->kind != SQL_TOKEN_WORD && token->kind != SQL_TOKEN_INTEGER) ||
      !sql_travel_from_suffix (parser->arena, suffix, &length, travel)) {
    sql_parser_fail (parser, "v and a version, or a time as yyyyMMddHHmmssSSS");
    return FALSE;
  }
  travel->value->position = sql_parser_here (parser);
  parser->at++;
  travel->position = sql_parser_span (parser, start);
  return TRUE;
}

/* A name that is read: table or function. */
static SqlRelation *
parse_reference (SqlParser *parser)
{
  guint start = parser->at;
  SqlName name;
  if (!sql_parser_name (parser, &name))
    return NULL;
  SqlRelation *relation;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    relation = new_relation (parser, SQL_RELATION_FUNCTION);
    relation->u.function.call = sql_parser_call (parser, &name, start);
    if (relation->u.function.call == NULL)
      return NULL;
    hang_expr (parser, &relation->depth, relation->u.function.call);
  } else {
    relation = new_relation (parser, SQL_RELATION_TABLE);
    relation->u.table.name = name;
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_AT && !parse_at_suffix (parser, &relation->u.table.travel))
      return NULL;
  }
  relation->position = sql_parser_span (parser, start);
  return relation;
}

/* What may follow a reference inside and outside of STREAM( ): time travel and options. */
static gboolean
parse_reference_tail (SqlParser *parser, SqlRelation *relation)
{
  gboolean table = relation->kind == SQL_RELATION_TABLE;
  if (table && at_travel (parser)) {
    if (relation->u.table.travel.kind != SQL_TRAVEL_NONE) {
      SqlPosition here = sql_parser_here (parser);
      sql_parser_fail_at (parser, &here, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS,
                          "Cannot specify time travel in multiple formats.");
      return FALSE;
    }
    if (!sql_parser_travel (parser, &relation->u.table.travel))
      return FALSE;
  }
  if (table && at_changes (parser)) {
    if (relation->u.table.travel.kind != SQL_TRAVEL_NONE || relation->u.table.changes.kind != SQL_TRAVEL_NONE) {
      sql_parser_fail (parser, "one time travel clause only");
      return FALSE;
    }
    if (!parse_changes (parser, &relation->u.table.changes))
      return FALSE;
  }
  if (AT1 (parser, WITH) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN) {
    parser->at++;
    if (!sql_parser_properties (parser, table ? &relation->u.table.options : &relation->u.function.options))
      return FALSE;
  }
  return TRUE;
}

/* Whether STREAM here is the word before a streamed reference, not a table of that name. */
static gboolean
at_stream (const SqlParser *parser)
{
  if (!AT1 (parser, STREAM))
    return FALSE;
  if (sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN || sql_parser_kind (parser, 1) == SQL_TOKEN_QUOTED)
    return TRUE;
  SqlParser next = *parser;
  next.at++;
  return sql_parser_at_ident (parser, 1) && !at_clause (&next, TRUE);
}

SqlRelation *
sql_parser_table (SqlParser *parser)
{
  guint start = parser->at;
  gboolean streaming = at_stream (parser);
  if (streaming)
    parser->at++;
  gboolean in_parentheses = streaming && sql_parser_accept_token (parser, SQL_TOKEN_OPEN);
  /* TABLE(f(…)) is the long spelling of f(…). */
  gboolean table_word = !streaming && AT1 (parser, TABLE) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
  if (table_word) {
    parser->at += 2;
    in_parentheses = TRUE;
  }
  SqlRelation *relation = parse_reference (parser);
  if (relation == NULL || !parse_reference_tail (parser, relation))
    return NULL;
  if (in_parentheses &&
      (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")") || !parse_reference_tail (parser, relation)))
    return NULL;
  relation->streaming = streaming;
  relation->position = sql_parser_span (parser, start);
  return parser->error == NULL ? relation : NULL;
}

/* One expression as a row of its own, or with @brackets the row `(a, b)`. */
static gboolean
parse_row (SqlParser *parser, gboolean brackets, SqlExprList *row)
{
  SqlExpr *value = sql_parser_expression (parser);
  if (value == NULL)
    return FALSE;
  if (brackets && value->kind == SQL_EXPR_ROW) {
    *row = value->u.row;
  } else {
    row->items = sql_arena_new0 (parser->arena, SqlExpr *);
    row->items[0] = value;
    row->n = 1;
  }
  return TRUE;
}

static gboolean
parse_rows (SqlParser *parser, SqlExprList **rows, guint *n, guint *depth)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlExprList));
  do {
    SqlExprList row = { 0 };
    if (!parse_row (parser, TRUE, &row))
      return FALSE;
    hang_list (parser, depth, &row);
    g_array_append_val (items, row);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *rows = sql_parser_keep (parser, items);
  *n = items->len;
  return parser->error == NULL;
}

static gboolean
parse_alias (SqlParser *parser, SqlRelation *relation)
{
  const SqlIdent *alias = sql_parser_alias (parser);
  if (parser->error != NULL)
    return FALSE;
  if (alias == NULL)
    return TRUE;
  relation->alias = alias;
  return sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN || sql_parser_ident_list (parser, &relation->column_aliases);
}

static SqlRelation *
parse_sample (SqlParser *parser, SqlRelation *input, guint start)
{
  SqlRelation *relation = new_relation (parser, SQL_RELATION_SAMPLE);
  parser->at++;
  relation->u.sample.input = input;
  if (input != NULL)
    sql_parser_deepen (parser, &relation->depth, input->depth);
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return NULL;
  gboolean bucket = ACCEPT1 (parser, BUCKET);
  relation->u.sample.value = sql_parser_value (parser);
  if (relation->u.sample.value == NULL)
    return NULL;
  hang_expr (parser, &relation->depth, relation->u.sample.value);
  if (bucket) {
    relation->u.sample.kind = SQL_SAMPLE_BUCKET;
    if (!EXPECT2 (parser, OUT, OF))
      return NULL;
    const SqlToken *token = sql_parser_token (parser, 0);
    g_autofree char *digits = g_strndup (parser->source->text + token->begin, token->end - token->begin);
    guint64 n = g_ascii_strtoull (digits, NULL, 10);
    if (token->kind != SQL_TOKEN_INTEGER || n > G_MAXINT32)
      return sql_parser_fail (parser, "a number of buckets");
    relation->u.sample.n_buckets = (guint) n;
    parser->at++;
    if (ACCEPT1 (parser, ON)) {
      relation->u.sample.bucket_on = sql_parser_expression (parser);
      hang_expr (parser, &relation->depth, relation->u.sample.bucket_on);
    }
  } else if (ACCEPT1 (parser, ROWS)) {
    relation->u.sample.kind = SQL_SAMPLE_ROWS;
  } else if (!EXPECT1 (parser, PERCENT)) {
    return NULL;
  }
  if (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return NULL;
  if (AT1 (parser, REPEATABLE)) {
    parser->at++;
    if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
      return NULL;
    relation->u.sample.seed = sql_parser_value (parser);
    if (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
      return NULL;
  }
  relation->position = sql_parser_span (parser, start);
  return relation;
}

/* ( query ) or ( relation ), stands on (. */
static SqlRelation *
parse_parenthesis (SqlParser *parser)
{
  guint start = parser->at;
  SqlRelation *relation;
  if (sql_parser_is_query (parser, parser->at)) {
    relation = new_relation (parser, SQL_RELATION_SUBQUERY);
    parser->at++;
    relation->u.query = sql_parser_query (parser);
    if (relation->u.query == NULL)
      return NULL;
    sql_parser_deepen (parser, &relation->depth, relation->u.query->depth);
  } else {
    parser->at++;
    if (!sql_parser_enter (parser))
      return NULL;
    relation = parse_relation (parser);
    sql_parser_leave (parser);
    if (relation == NULL)
      return NULL;
  }
  if (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return NULL;
  relation->position = sql_parser_span (parser, start);
  return relation;
}

/* An alias over a relation that has one already, as in `(t AS a) AS b`: a subquery over it. */
static SqlRelation *
wrap_aliased (SqlParser *parser, SqlRelation *inner)
{
  SqlBody *body = new_body (parser, SQL_BODY_SELECT);
  body->position = inner->position;
  body->u.select.implicit = TRUE;
  body->u.select.from = inner;
  body->u.select.items.items = sql_arena_new0 (parser->arena, SqlNamed);
  body->u.select.items.n = 1;
  body->u.select.items.items[0].value = sql_parser_new_expr (parser, SQL_EXPR_STAR);
  body->u.select.items.items[0].value->position = inner->position;
  body->u.select.items.items[0].position = inner->position;
  sql_parser_deepen (parser, &body->depth, inner->depth);
  SqlQuery *query = sql_arena_new0 (parser->arena, SqlQuery);
  query->position = inner->position;
  query->body = body;
  query->depth = 1;
  sql_parser_deepen (parser, &query->depth, body->depth);
  SqlRelation *relation = new_relation (parser, SQL_RELATION_SUBQUERY);
  relation->position = inner->position;
  relation->u.query = query;
  sql_parser_deepen (parser, &relation->depth, query->depth);
  return relation;
}

SqlRelation *
sql_parser_relation_primary (SqlParser *parser)
{
  guint start = parser->at;
  SqlRelation *relation;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    relation = parse_parenthesis (parser);
  } else if (begins_query (parser, parser->at) && AT1 (parser, VALUES)) {
    relation = new_relation (parser, SQL_RELATION_VALUES);
    parser->at++;
    if (!parse_rows (parser, &relation->u.values.rows, &relation->u.values.n, &relation->depth))
      return NULL;
    relation->position = sql_parser_span (parser, start);
  } else {
    relation = sql_parser_table (parser);
  }
  if (relation != NULL && AT1 (parser, TABLESAMPLE))
    relation = parse_sample (parser, relation, start);
  if (relation == NULL)
    return NULL;
  gboolean more = AT1 (parser, AS) || (sql_parser_at_ident (parser, 0) && !at_clause (parser, TRUE));
  if (more && relation->alias != NULL)
    relation = wrap_aliased (parser, relation);
  return parse_alias (parser, relation) && parser->error == NULL ? relation : NULL;
}

/* ------------------------------------------------------------------ joins and what else follows a relation */

/* The words of a join. @natural is set too. Returns: FALSE, nothing consumed, when there is no join here. */
static gboolean
accept_join (SqlParser *parser, SqlJoinKind *kind, gboolean *natural)
{
  static const struct {
    SqlWord words[3];
    SqlJoinKind kind;
  } table[] = {
    { { SQL_WORD_JOIN }, SQL_JOIN_INNER },
    { { SQL_WORD_INNER, SQL_WORD_JOIN }, SQL_JOIN_INNER },
    { { SQL_WORD_CROSS, SQL_WORD_JOIN }, SQL_JOIN_CROSS },
    { { SQL_WORD_LEFT, SQL_WORD_JOIN }, SQL_JOIN_LEFT },
    { { SQL_WORD_LEFT, SQL_WORD_OUTER, SQL_WORD_JOIN }, SQL_JOIN_LEFT },
    { { SQL_WORD_RIGHT, SQL_WORD_JOIN }, SQL_JOIN_RIGHT },
    { { SQL_WORD_RIGHT, SQL_WORD_OUTER, SQL_WORD_JOIN }, SQL_JOIN_RIGHT },
    { { SQL_WORD_FULL, SQL_WORD_JOIN }, SQL_JOIN_FULL },
    { { SQL_WORD_FULL, SQL_WORD_OUTER, SQL_WORD_JOIN }, SQL_JOIN_FULL },
    { { SQL_WORD_SEMI, SQL_WORD_JOIN }, SQL_JOIN_LEFT_SEMI },
    { { SQL_WORD_LEFT, SQL_WORD_SEMI, SQL_WORD_JOIN }, SQL_JOIN_LEFT_SEMI },
    { { SQL_WORD_ANTI, SQL_WORD_JOIN }, SQL_JOIN_LEFT_ANTI },
    { { SQL_WORD_LEFT, SQL_WORD_ANTI, SQL_WORD_JOIN }, SQL_JOIN_LEFT_ANTI },
  };
  guint skip = AT1 (parser, NATURAL) ? 1 : 0;
  for (gsize i = 0; i < G_N_ELEMENTS (table); i++) {
    guint n = 0;
    while (n < 3 && table[i].words[n] != SQL_WORD_OTHER && sql_parser_word (parser, skip + n) == table[i].words[n])
      n++;
    if (n == 3 || table[i].words[n] == SQL_WORD_OTHER) {
      *kind = table[i].kind;
      *natural = skip == 1;
      parser->at += skip + n;
      return TRUE;
    }
  }
  return FALSE;
}

static SqlRelation *
new_join (SqlParser *parser, SqlJoinKind kind, SqlRelation *left, SqlRelation *right, guint start)
{
  SqlRelation *join = new_relation (parser, SQL_RELATION_JOIN);
  join->u.join.kind = kind;
  join->u.join.left = left;
  join->u.join.right = right;
  if (left != NULL)
    sql_parser_deepen (parser, &join->depth, left->depth);
  sql_parser_deepen (parser, &join->depth, right->depth);
  join->position = sql_parser_span (parser, start);
  return join;
}

static SqlRelation *
parse_operand (SqlParser *parser)
{
  gboolean lateral = AT1 (parser, LATERAL) && sql_parser_word (parser, 1) != SQL_WORD_VIEW;
  if (lateral)
    parser->at++;
  SqlRelation *relation = sql_parser_relation_primary (parser);
  if (relation != NULL)
    relation->lateral = lateral;
  return relation;
}

static SqlRelation *
parse_join_rest (SqlParser *parser, SqlJoinKind kind, gboolean natural, SqlRelation *left, guint start)
{
  SqlRelation *right = parse_operand (parser);
  if (right == NULL)
    return NULL;
  SqlRelation *join = new_join (parser, kind, left, right, start);
  join->u.join.natural = natural;
  if (ACCEPT1 (parser, ON)) {
    join->u.join.on = sql_parser_expression (parser);
    if (join->u.join.on == NULL)
      return NULL;
    hang_expr (parser, &join->depth, join->u.join.on);
  } else if (AT1 (parser, USING)) {
    parser->at++;
    if (!sql_parser_ident_list (parser, &join->u.join.using))
      return NULL;
  }
  join->position = sql_parser_span (parser, start);
  return parser->error == NULL ? join : NULL;
}

static gboolean
parse_pivot_value (SqlParser *parser, gboolean row, SqlPivotValue *value)
{
  if (!parse_row (parser, row, &value->values))
    return FALSE;
  gboolean as = ACCEPT1 (parser, AS);
  if (as || sql_parser_at_ident (parser, 0)) {
    SqlIdent alias;
    if (!sql_parser_ident (parser, &alias))
      return FALSE;
    value->alias = sql_parser_keep_ident (parser, &alias);
  }
  return TRUE;
}

static gboolean
parse_name_or_list (SqlParser *parser, SqlNameList *list)
{
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN)
    return sql_parser_name_list (parser, list);
  list->items = sql_arena_new0 (parser->arena, SqlName);
  list->n = 1;
  return sql_parser_name (parser, list->items);
}

/* After the last item of PIVOT's or UNPIVOT's list: both brackets and the alias. */
static SqlRelation *
end_pivot (SqlParser *parser, SqlRelation *relation, guint start)
{
  if (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )") ||
      !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")") || !parse_alias (parser, relation))
    return NULL;
  relation->position = sql_parser_span (parser, start);
  return parser->error == NULL ? relation : NULL;
}

static SqlRelation *
parse_pivot (SqlParser *parser, SqlRelation *input, guint start)
{
  SqlRelation *relation = new_relation (parser, SQL_RELATION_PIVOT);
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (SqlPivotValue));
  parser->at++;
  relation->u.pivot.input = input;
  if (input != NULL)
    sql_parser_deepen (parser, &relation->depth, input->depth);
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return NULL;
  /* `FOR` would pass for an alias of the last aggregate. */
  g_autoptr (GArray) aggregates = g_array_new (FALSE, FALSE, sizeof (SqlNamed));
  do {
    guint item_start = parser->at;
    SqlNamed named = { .value = sql_parser_expression (parser) };
    if (named.value == NULL)
      return NULL;
    gboolean as = ACCEPT1 (parser, AS);
    if (as || (sql_parser_at_ident (parser, 0) && !AT1 (parser, FOR))) {
      SqlIdent alias;
      if (!sql_parser_ident (parser, &alias))
        return NULL;
      named.aliases = (SqlIdentList){ (SqlIdent *) sql_parser_keep_ident (parser, &alias), 1 };
    }
    named.position = sql_parser_span (parser, item_start);
    hang_expr (parser, &relation->depth, named.value);
    g_array_append_val (aggregates, named);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  relation->u.pivot.aggregates = (SqlNamedList){ sql_parser_keep (parser, aggregates), aggregates->len };
  if (!EXPECT1 (parser, FOR) || !parse_name_or_list (parser, &relation->u.pivot.columns) || !EXPECT1 (parser, IN) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return NULL;
  do {
    SqlPivotValue value = { 0 };
    if (!parse_pivot_value (parser, relation->u.pivot.columns.n > 1, &value))
      return NULL;
    hang_list (parser, &relation->depth, &value.values);
    g_array_append_val (values, value);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  relation->u.pivot.values = sql_parser_keep (parser, values);
  relation->u.pivot.n_values = values->len;
  return end_pivot (parser, relation, start);
}

static SqlRelation *
parse_unpivot (SqlParser *parser, SqlRelation *input, guint start)
{
  SqlRelation *relation = new_relation (parser, SQL_RELATION_UNPIVOT);
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (SqlUnpivotColumn));
  parser->at++;
  relation->u.unpivot.input = input;
  if (input != NULL)
    sql_parser_deepen (parser, &relation->depth, input->depth);
  if (ACCEPT2 (parser, INCLUDE, NULLS))
    relation->u.unpivot.include_nulls = TRUE;
  else
    ACCEPT2 (parser, EXCLUDE, NULLS);
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return NULL;
  SqlIdentList *names = &relation->u.unpivot.value_names;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    if (!sql_parser_ident_list (parser, names))
      return NULL;
  } else {
    *names = (SqlIdentList){ sql_arena_new0 (parser->arena, SqlIdent), 1 };
    if (!sql_parser_ident (parser, names->items))
      return NULL;
  }
  if (!EXPECT1 (parser, FOR) || !sql_parser_ident (parser, &relation->u.unpivot.name_column) || !EXPECT1 (parser, IN) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return NULL;
  do {
    SqlUnpivotColumn column = { 0 };
    if (!parse_name_or_list (parser, &column.columns))
      return NULL;
    gboolean as = ACCEPT1 (parser, AS);
    if (as || sql_parser_at_ident (parser, 0)) {
      SqlIdent alias;
      if (!sql_parser_ident (parser, &alias))
        return NULL;
      column.alias = sql_parser_keep_ident (parser, &alias);
    }
    g_array_append_val (columns, column);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  relation->u.unpivot.columns = sql_parser_keep (parser, columns);
  relation->u.unpivot.n_columns = columns->len;
  return end_pivot (parser, relation, start);
}

/* LATERAL VIEW [OUTER] f(…) t [AS a, b]. */
static SqlRelation *
parse_lateral_view (SqlParser *parser, SqlRelation *input, guint start)
{
  SqlRelation *relation = new_relation (parser, SQL_RELATION_LATERAL_VIEW);
  parser->at += 2;
  relation->u.view.input = input;
  if (input != NULL)
    sql_parser_deepen (parser, &relation->depth, input->depth);
  relation->u.view.outer = AT1 (parser, OUTER) && sql_parser_kind (parser, 1) != SQL_TOKEN_OPEN;
  if (relation->u.view.outer)
    parser->at++;
  SqlName name;
  guint call_start = parser->at;
  if (!sql_parser_name (parser, &name))
    return NULL;
  if (sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN)
    return sql_parser_fail (parser, "(");
  relation->u.view.call = sql_parser_call (parser, &name, call_start);
  if (relation->u.view.call == NULL)
    return NULL;
  hang_expr (parser, &relation->depth, relation->u.view.call);
  /* The table's name is required: a clause here means that it was forgotten. */
  SqlIdent alias;
  if (at_clause (parser, TRUE) && !AT1 (parser, AS))
    return sql_parser_fail (parser, "a name for the lateral view");
  if (!AT1 (parser, AS)) {
    if (!sql_parser_ident (parser, &alias))
      return NULL;
    relation->alias = sql_parser_keep_ident (parser, &alias);
  }
  gboolean as = ACCEPT1 (parser, AS);
  if (as || (sql_parser_at_ident (parser, 0) && !at_clause (parser, TRUE))) {
    g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (SqlIdent));
    do {
      if (!sql_parser_ident (parser, &alias))
        return NULL;
      g_array_append_val (columns, alias);
    } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
    relation->column_aliases = (SqlIdentList){ sql_parser_keep (parser, columns), columns->len };
  }
  relation->position = sql_parser_span (parser, start);
  return parser->error == NULL ? relation : NULL;
}

/* Joins, PIVOT and UNPIVOT after one relation; @relation may be NULL (the input of a pipe) when @once, then exactly one. */
static SqlRelation *
parse_extensions (SqlParser *parser, SqlRelation *relation, gboolean once, guint start)
{
  do {
    SqlJoinKind kind;
    gboolean natural;
    if (accept_join (parser, &kind, &natural))
      relation = parse_join_rest (parser, kind, natural, relation, start);
    else if (AT1 (parser, PIVOT) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN)
      relation = parse_pivot (parser, relation, start);
    else if (AT1 (parser, UNPIVOT))
      relation = parse_unpivot (parser, relation, start);
    else
      return once ? sql_parser_fail (parser, "an operator") : relation;
  } while (relation != NULL && !once);
  return relation;
}

/* One item of FROM with its joins. */
static SqlRelation *
parse_relation (SqlParser *parser)
{
  guint start = parser->at;
  SqlRelation *relation = parse_operand (parser);
  return relation != NULL ? parse_extensions (parser, relation, FALSE, start) : NULL;
}

static SqlRelation *
parse_from (SqlParser *parser)
{
  guint start = parser->at;
  SqlRelation *from = parse_relation (parser);
  while (from != NULL && sql_parser_accept_token (parser, SQL_TOKEN_COMMA)) {
    SqlRelation *right = parse_relation (parser);
    from = right != NULL ? new_join (parser, SQL_JOIN_COMMA, from, right, start) : NULL;
  }
  while (from != NULL && AT2 (parser, LATERAL, VIEW))
    from = parse_lateral_view (parser, from, start);
  if (from != NULL && (AT1 (parser, PIVOT) || AT1 (parser, UNPIVOT)))
    from = parse_extensions (parser, from, FALSE, start);
  return parser->error == NULL ? from : NULL;
}

/* ------------------------------------------------------------------ SELECT */

/* ( set, set, … ) of ROLLUP, CUBE, GROUPING SETS. */
static gboolean
parse_group_sets (SqlParser *parser, SqlGroupItem *item, guint *depth)
{
  g_autoptr (GArray) sets = g_array_new (FALSE, FALSE, sizeof (SqlExprList));
  g_autoptr (GArray) nested = g_array_new (FALSE, FALSE, sizeof (SqlGroupItem));
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  do {
    SqlExprList set = { 0 };
    guint start = parser->at;
    gboolean rollup = AT1 (parser, ROLLUP) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
    gboolean cube = AT1 (parser, CUBE) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
    if (item->kind == SQL_GROUP_ITEM_SETS && (rollup || cube || AT2 (parser, GROUPING, SETS))) {
      SqlGroupItem inner = { .kind = rollup ? SQL_GROUP_ITEM_ROLLUP
                                     : cube ? SQL_GROUP_ITEM_CUBE
                                            : SQL_GROUP_ITEM_SETS };
      parser->at += rollup || cube ? 1 : 2;
      if (!sql_parser_enter (parser))
        return FALSE;
      gboolean done = parse_group_sets (parser, &inner, depth);
      sql_parser_leave (parser);
      if (!done)
        return FALSE;
      inner.position = sql_parser_span (parser, start);
      g_array_append_val (nested, inner);
      continue;
    }
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && sql_parser_kind (parser, 1) == SQL_TOKEN_CLOSE)
      parser->at += 2;
    else if (!parse_row (parser, TRUE, &set))
      return FALSE;
    hang_list (parser, depth, &set);
    g_array_append_val (sets, set);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  item->sets = sql_parser_keep (parser, sets);
  item->n_sets = sets->len;
  item->nested = sql_parser_keep (parser, nested);
  item->n_nested = nested->len;
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

static gboolean
parse_group_item (SqlParser *parser, SqlGroupItem *item, guint *depth)
{
  guint start = parser->at;
  gboolean open = sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
  gboolean done;
  if ((AT1 (parser, ROLLUP) || AT1 (parser, CUBE)) && open) {
    item->kind = AT1 (parser, ROLLUP) ? SQL_GROUP_ITEM_ROLLUP : SQL_GROUP_ITEM_CUBE;
    parser->at++;
    done = parse_group_sets (parser, item, depth);
  } else if (ACCEPT2 (parser, GROUPING, SETS)) {
    item->kind = SQL_GROUP_ITEM_SETS;
    done = parse_group_sets (parser, item, depth);
  } else {
    SqlExpr *expr = sql_parser_expression (parser);
    item->kind = SQL_GROUP_ITEM_EXPR;
    item->sets = sql_arena_new0 (parser->arena, SqlExprList);
    item->n_sets = 1;
    item->sets[0].items = sql_arena_new0 (parser->arena, SqlExpr *);
    item->sets[0].items[0] = expr;
    item->sets[0].n = 1;
    hang_expr (parser, depth, expr);
    done = expr != NULL;
  }
  item->position = sql_parser_span (parser, start);
  return done && parser->error == NULL;
}

/* `a, b WITH ROLLUP` becomes ROLLUP (a, b). */
static gboolean
fold_group (SqlParser *parser, SqlGroupBy *group_by, SqlGroupItem *folded)
{
  folded->sets = sql_arena_new0_n (parser->arena, SqlExprList, group_by->n);
  folded->n_sets = group_by->n;
  folded->position = group_by->items[0].position;
  for (guint i = 0; i < group_by->n; i++) {
    if (group_by->items[i].kind != SQL_GROUP_ITEM_EXPR) {
      sql_parser_fail (parser, "the end of GROUP BY");
      return FALSE;
    }
    folded->sets[i] = group_by->items[i].sets[0];
  }
  group_by->items = sql_arena_new0 (parser->arena, SqlGroupItem);
  group_by->items[0] = *folded;
  group_by->n = 1;
  return TRUE;
}

static gboolean
parse_group_by (SqlParser *parser, SqlGroupBy *group_by, guint *depth)
{
  SqlTokenKind next = sql_parser_kind (parser, 1);
  if (AT1 (parser, ALL) && next != SQL_TOKEN_DOT && next != SQL_TOKEN_COMMA && next != SQL_TOKEN_OPEN) {
    parser->at++;
    group_by->kind = SQL_GROUP_ALL;
    return TRUE;
  }
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlGroupItem));
  do {
    SqlGroupItem item = { 0 };
    if (!parse_group_item (parser, &item, depth))
      return FALSE;
    g_array_append_val (items, item);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *group_by = (SqlGroupBy){ SQL_GROUP_LIST, sql_parser_keep (parser, items), items->len };
  SqlGroupItem folded = { 0 };
  if (ACCEPT2 (parser, WITH, ROLLUP) || ACCEPT2 (parser, WITH, CUBE)) {
    folded.kind = parser->tokens[parser->at - 1].word == SQL_WORD_ROLLUP ? SQL_GROUP_ITEM_ROLLUP : SQL_GROUP_ITEM_CUBE;
    return fold_group (parser, group_by, &folded);
  }
  if (AT2 (parser, GROUPING, SETS)) {
    /* Hive's form: the list before GROUPING SETS only repeats the columns of the sets. */
    guint start = parser->at;
    parser->at += 2;
    folded.kind = SQL_GROUP_ITEM_SETS;
    if (!parse_group_sets (parser, &folded, depth))
      return FALSE;
    folded.position = sql_parser_span (parser, start);
    group_by->items = sql_arena_new0 (parser->arena, SqlGroupItem);
    group_by->items[0] = folded;
    group_by->n = 1;
  }
  return TRUE;
}

static gboolean
parse_windows (SqlParser *parser, SqlNamedWindow **windows, guint *n, guint *depth)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlNamedWindow));
  do {
    SqlNamedWindow named = { 0 };
    if (!sql_parser_ident (parser, &named.name) || !EXPECT1 (parser, AS) || !sql_parser_window (parser, &named.window))
      return FALSE;
    hang_list (parser, depth, &named.window.partition_by);
    hang_sort (parser, depth, &named.window.order_by);
    g_array_append_val (items, named);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *windows = sql_parser_keep (parser, items);
  *n = items->len;
  return TRUE;
}

static gboolean
at_window_clause (const SqlParser *parser)
{
  return AT1 (parser, WINDOW) && sql_parser_at_ident (parser, 1) && sql_parser_word (parser, 2) == SQL_WORD_AS;
}

/* WHERE … WINDOW. */
static gboolean
parse_select_tail (SqlParser *parser, SqlSelect *select, guint *depth)
{
  if (ACCEPT1 (parser, WHERE)) {
    select->where = sql_parser_expression (parser);
    hang_expr (parser, depth, select->where);
  }
  if (ACCEPT2 (parser, GROUP, BY) && !parse_group_by (parser, &select->group_by, depth))
    return FALSE;
  if (ACCEPT1 (parser, HAVING)) {
    select->having = sql_parser_expression (parser);
    hang_expr (parser, depth, select->having);
  }
  for (guint i = 0; i < 2; i++) {
    if (select->qualify == NULL && ACCEPT1 (parser, QUALIFY)) {
      select->qualify = sql_parser_expression (parser);
      hang_expr (parser, depth, select->qualify);
    }
    if (select->n_windows == 0 && at_window_clause (parser)) {
      parser->at++;
      if (!parse_windows (parser, &select->windows, &select->n_windows, depth))
        return FALSE;
    }
  }
  return parser->error == NULL;
}

static gboolean
parse_select_items (SqlParser *parser, SqlSelect *select, guint *depth)
{
  SqlTokenKind next = sql_parser_kind (parser, 1);
  gboolean quantifier = next != SQL_TOKEN_COMMA && next != SQL_TOKEN_DOT && next != SQL_TOKEN_CLOSE &&
                        next != SQL_TOKEN_END && sql_parser_word (parser, 1) != SQL_WORD_FROM;
  if (quantifier && AT1 (parser, DISTINCT)) {
    select->distinct = TRUE;
    parser->at++;
  } else if (quantifier && AT1 (parser, ALL)) {
    parser->at++;
  }
  if (!sql_parser_named_list (parser, &select->items))
    return FALSE;
  hang_named (parser, depth, &select->items);
  return TRUE;
}

static SqlBody *
parse_select (SqlParser *parser)
{
  guint start = parser->at;
  SqlBody *body = new_body (parser, SQL_BODY_SELECT);
  SqlSelect *select = &body->u.select;
  parser->at++;
  if (!parse_select_items (parser, select, &body->depth))
    return NULL;
  if (ACCEPT1 (parser, FROM)) {
    select->from = parse_from (parser);
    if (select->from == NULL)
      return NULL;
    sql_parser_deepen (parser, &body->depth, select->from->depth);
  }
  if (!parse_select_tail (parser, select, &body->depth))
    return NULL;
  body->position = sql_parser_span (parser, start);
  return body;
}

/* FROM t, and FROM t SELECT …. */
static SqlBody *
parse_from_first (SqlParser *parser)
{
  guint start = parser->at;
  SqlBody *body = new_body (parser, SQL_BODY_SELECT);
  SqlSelect *select = &body->u.select;
  parser->at++;
  select->from = parse_from (parser);
  if (select->from == NULL)
    return NULL;
  sql_parser_deepen (parser, &body->depth, select->from->depth);
  if (ACCEPT1 (parser, SELECT)) {
    if (!parse_select_items (parser, select, &body->depth) || !parse_select_tail (parser, select, &body->depth))
      return NULL;
  } else {
    select->implicit = TRUE;
    select->items = (SqlNamedList){ sql_arena_new0 (parser->arena, SqlNamed), 1 };
    select->items.items[0].value = sql_parser_new_expr (parser, SQL_EXPR_STAR);
    select->items.items[0].value->position = sql_parser_span (parser, start);
    select->items.items[0].position = select->items.items[0].value->position;
  }
  body->position = sql_parser_span (parser, start);
  return body;
}

static SqlBody *
parse_values (SqlParser *parser)
{
  guint start = parser->at;
  SqlBody *body = new_body (parser, SQL_BODY_VALUES);
  parser->at++;
  if (!parse_rows (parser, &body->u.values.rows, &body->u.values.n, &body->depth))
    return NULL;
  body->u.values.alias = sql_parser_alias (parser);
  if (body->u.values.alias != NULL && sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN &&
      !sql_parser_ident_list (parser, &body->u.values.columns))
    return NULL;
  body->position = sql_parser_span (parser, start);
  return parser->error == NULL ? body : NULL;
}

static SqlBody *
parse_body_primary (SqlParser *parser)
{
  guint start = parser->at;
  if (AT1 (parser, SELECT))
    return parse_select (parser);
  if (AT1 (parser, FROM))
    return parse_from_first (parser);
  if (AT1 (parser, VALUES))
    return parse_values (parser);
  if (AT1 (parser, TABLE)) {
    SqlBody *body = new_body (parser, SQL_BODY_TABLE);
    parser->at++;
    if (!sql_parser_name (parser, &body->u.table))
      return NULL;
    body->position = sql_parser_span (parser, start);
    return body;
  }
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    SqlBody *body = new_body (parser, SQL_BODY_QUERY);
    parser->at++;
    body->u.query = sql_parser_query (parser);
    if (body->u.query == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
      return NULL;
    sql_parser_deepen (parser, &body->depth, body->u.query->depth);
    body->position = sql_parser_span (parser, start);
    return body;
  }
  if (AT2 (parser, MAP, FROM) || AT1 (parser, MAP) || AT1 (parser, REPLACE))
    return sql_parser_fail (parser, "a query");
  return sql_parser_fail (parser, "a query (SELECT, WITH, VALUES, TABLE, FROM or a parenthesis)");
}

/* ------------------------------------------------------------------ ORDER BY … OFFSET */

static gboolean
parse_order_by (SqlParser *parser, SqlOrganization *organization, guint *depth)
{
  SqlWord after = sql_parser_word (parser, 1);
  SqlTokenKind kind = sql_parser_kind (parser, 1);
  gboolean all =
      AT1 (parser, ALL) && (kind == SQL_TOKEN_END || kind == SQL_TOKEN_CLOSE || kind == SQL_TOKEN_SEMICOLON ||
                            kind == SQL_TOKEN_PIPE || after == SQL_WORD_ASC || after == SQL_WORD_DESC ||
                            after == SQL_WORD_NULLS || after == SQL_WORD_LIMIT || after == SQL_WORD_OFFSET);
  if (!all) {
    if (!sql_parser_sort_list (parser, &organization->order_by))
      return FALSE;
    hang_sort (parser, depth, &organization->order_by);
    return TRUE;
  }
  parser->at++;
  organization->order_by_all = TRUE;
  organization->order_by = (SqlSortList){ sql_arena_new0 (parser->arena, SqlSortItem), 1 };
  SqlSortItem *item = organization->order_by.items;
  if (ACCEPT1 (parser, ASC))
    item->direction = SQL_DIRECTION_ASC;
  else if (ACCEPT1 (parser, DESC))
    item->direction = SQL_DIRECTION_DESC;
  if (ACCEPT2 (parser, NULLS, FIRST))
    item->nulls = SQL_NULLS_FIRST;
  else if (ACCEPT2 (parser, NULLS, LAST))
    item->nulls = SQL_NULLS_LAST;
  return TRUE;
}

/* Returns: FALSE on error; @any tells whether there was a clause. */
static gboolean
parse_organization (SqlParser *parser, SqlOrganization *organization, guint *depth, gboolean *any)
{
  guint start = parser->at;
  if (ACCEPT2 (parser, ORDER, BY) && !parse_order_by (parser, organization, depth))
    return FALSE;
  if (ACCEPT2 (parser, CLUSTER, BY) && !sql_parser_expression_list (parser, &organization->cluster_by))
    return FALSE;
  if (ACCEPT2 (parser, DISTRIBUTE, BY) && !sql_parser_expression_list (parser, &organization->distribute_by))
    return FALSE;
  if (ACCEPT2 (parser, SORT, BY) && !sql_parser_sort_list (parser, &organization->sort_by))
    return FALSE;
  hang_list (parser, depth, &organization->cluster_by);
  hang_list (parser, depth, &organization->distribute_by);
  hang_sort (parser, depth, &organization->sort_by);
  if (at_window_clause (parser)) {
    parser->at++;
    if (!parse_windows (parser, &organization->windows, &organization->n_windows, depth))
      return FALSE;
  }
  if (ACCEPT1 (parser, LIMIT)) {
    if (ACCEPT1 (parser, ALL))
      organization->limit_all = TRUE;
    else if ((organization->limit = sql_parser_expression (parser)) == NULL)
      return FALSE;
    hang_expr (parser, depth, organization->limit);
  }
  if (ACCEPT1 (parser, OFFSET)) {
    organization->offset = sql_parser_expression (parser);
    hang_expr (parser, depth, organization->offset);
  }
  *any = parser->at != start;
  return parser->error == NULL;
}

/* ------------------------------------------------------------------ pipes and set operations */

static gboolean
parse_pipe_set (SqlParser *parser, SqlPipe *pipe, guint *depth)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlNamed));
  do {
    SqlIdent column;
    SqlNamed named = { 0 };
    guint start = parser->at;
    if (!sql_parser_ident (parser, &column) || !sql_parser_expect_token (parser, SQL_TOKEN_EQ, "="))
      return FALSE;
    named.value = sql_parser_expression (parser);
    if (named.value == NULL)
      return FALSE;
    named.aliases = (SqlIdentList){ (SqlIdent *) sql_parser_keep_ident (parser, &column), 1 };
    named.position = sql_parser_span (parser, start);
    hang_expr (parser, depth, named.value);
    g_array_append_val (items, named);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  pipe->items = (SqlNamedList){ sql_parser_keep (parser, items), items->len };
  return TRUE;
}

static gboolean
parse_pipe_aggregate (SqlParser *parser, SqlPipe *pipe, guint *depth)
{
  if (!AT2 (parser, GROUP, BY) && !sql_parser_named_list (parser, &pipe->items))
    return FALSE;
  hang_named (parser, depth, &pipe->items);
  if (!ACCEPT2 (parser, GROUP, BY))
    return TRUE;
  if (AT1 (parser, ALL) && !sql_parser_at_ident (parser, 1) && sql_parser_kind (parser, 1) != SQL_TOKEN_COMMA) {
    parser->at++;
    pipe->group_by_all = TRUE;
    return TRUE;
  }
  if ((AT1 (parser, ROLLUP) || AT1 (parser, CUBE) || AT2 (parser, GROUPING, SETS)) &&
      (sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN || sql_parser_word (parser, 1) == SQL_WORD_SETS)) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "|> AGGREGATE takes a plain list of groups");
    return FALSE;
  }
  if (!sql_parser_named_list (parser, &pipe->group_by))
    return FALSE;
  hang_named (parser, depth, &pipe->group_by);
  return TRUE;
}

static gboolean
parse_name_items (SqlParser *parser, SqlNameList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlName));
  do {
    SqlName name;
    if (!sql_parser_name (parser, &name))
      return FALSE;
    g_array_append_val (items, name);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  *list = (SqlNameList){ sql_parser_keep (parser, items), items->len };
  return TRUE;
}

static gboolean
accept_set_op (SqlParser *parser, SqlSetOp *op, gboolean *all)
{
  SqlWord word = sql_parser_word (parser, 0);
  if (!is_set_word (word))
    return FALSE;
  *op = word == SQL_WORD_UNION ? SQL_SET_UNION : word == SQL_WORD_INTERSECT ? SQL_SET_INTERSECT : SQL_SET_EXCEPT;
  parser->at++;
  *all = ACCEPT1 (parser, ALL);
  if (!*all)
    ACCEPT1 (parser, DISTINCT);
  return TRUE;
}

static gboolean
parse_pipe_rest (SqlParser *parser, SqlPipe *pipe, guint *depth, guint start)
{
  gboolean any;
  if (ACCEPT1 (parser, SELECT)) {
    SqlSelect select = { 0 };
    pipe->kind = SQL_PIPE_SELECT;
    if (!parse_select_items (parser, &select, depth))
      return FALSE;
    pipe->distinct = select.distinct;
    pipe->items = select.items;
    return TRUE;
  }
  if (ACCEPT1 (parser, EXTEND)) {
    pipe->kind = SQL_PIPE_EXTEND;
    if (!sql_parser_named_list (parser, &pipe->items))
      return FALSE;
    hang_named (parser, depth, &pipe->items);
    return TRUE;
  }
  if (ACCEPT1 (parser, SET)) {
    pipe->kind = SQL_PIPE_SET;
    return parse_pipe_set (parser, pipe, depth);
  }
  if (ACCEPT1 (parser, DROP)) {
    pipe->kind = SQL_PIPE_DROP;
    return parse_name_items (parser, &pipe->names);
  }
  if (ACCEPT1 (parser, AS)) {
    pipe->kind = SQL_PIPE_AS;
    return sql_parser_ident (parser, &pipe->alias);
  }
  if (ACCEPT1 (parser, WHERE)) {
    pipe->kind = SQL_PIPE_WHERE;
    pipe->condition = sql_parser_expression (parser);
    hang_expr (parser, depth, pipe->condition);
    return pipe->condition != NULL;
  }
  if (ACCEPT1 (parser, AGGREGATE)) {
    pipe->kind = SQL_PIPE_AGGREGATE;
    return parse_pipe_aggregate (parser, pipe, depth);
  }
  if (accept_set_op (parser, &pipe->set_op, &pipe->set_all)) {
    pipe->kind = SQL_PIPE_SET_OPERATION;
    pipe->right = parse_body_primary (parser);
    if (pipe->right == NULL)
      return FALSE;
    sql_parser_deepen (parser, depth, pipe->right->depth);
    return TRUE;
  }
  if (!parse_organization (parser, &pipe->organization, depth, &any))
    return FALSE;
  pipe->kind = any ? SQL_PIPE_ORGANIZE : SQL_PIPE_RELATION;
  if (any)
    return TRUE;
  if (AT1 (parser, TABLESAMPLE))
    pipe->relation = parse_sample (parser, NULL, start);
  else if (AT2 (parser, LATERAL, VIEW))
    pipe->relation = parse_lateral_view (parser, NULL, start);
  else
    pipe->relation = parse_extensions (parser, NULL, TRUE, start);
  if (pipe->relation == NULL)
    return FALSE;
  sql_parser_deepen (parser, depth, pipe->relation->depth);
  return TRUE;
}

static SqlBody *
parse_pipe (SqlParser *parser, SqlBody *input, guint start)
{
  SqlBody *body = new_body (parser, SQL_BODY_PIPE);
  SqlPipe *pipe = sql_arena_new0 (parser->arena, SqlPipe);
  parser->at++;
  guint pipe_start = parser->at;
  body->u.pipe.input = input;
  body->u.pipe.op = pipe;
  sql_parser_deepen (parser, &body->depth, input->depth);
  if (!parse_pipe_rest (parser, pipe, &body->depth, pipe_start))
    return NULL;
  pipe->position = sql_parser_span (parser, pipe_start);
  body->position = sql_parser_span (parser, start);
  return parser->error == NULL ? body : NULL;
}

enum { TERM_PIPE, TERM_UNION, TERM_INTERSECT };

static SqlBody *
parse_terms (SqlParser *parser, guint least)
{
  guint start = parser->at;
  SqlBody *left = parse_body_primary (parser);
  while (left != NULL && parser->error == NULL) {
    SqlSetOp op;
    gboolean all;
    SqlWord word = sql_parser_word (parser, 0);
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_PIPE && least <= TERM_PIPE) {
      left = parse_pipe (parser, left, start);
      continue;
    }
    guint level = word == SQL_WORD_INTERSECT ? TERM_INTERSECT : TERM_UNION;
    if (!is_set_word (word) || level < least)
      return left;
    accept_set_op (parser, &op, &all);
    SqlBody *right = parse_terms (parser, level + 1);
    if (right == NULL)
      return NULL;
    SqlBody *body = new_body (parser, SQL_BODY_SET);
    body->u.set.op = op;
    body->u.set.all = all;
    body->u.set.left = left;
    body->u.set.right = right;
    sql_parser_deepen (parser, &body->depth, left->depth);
    sql_parser_deepen (parser, &body->depth, right->depth);
    body->position = sql_parser_span (parser, start);
    left = body;
  }
  return parser->error == NULL ? left : NULL;
}

/* ------------------------------------------------------------------ queries */

static gboolean
parse_ctes (SqlParser *parser, SqlQuery *query)
{
  g_autoptr (GArray) ctes = g_array_new (FALSE, FALSE, sizeof (SqlCte));
  if (AT1 (parser, RECURSIVE) && sql_parser_at_ident (parser, 1) && sql_parser_word (parser, 1) != SQL_WORD_AS) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "recursive queries are not supported");
    return FALSE;
  }
  do {
    guint start = parser->at;
    SqlCte cte = { 0 };
    if (!sql_parser_ident (parser, &cte.name))
      return FALSE;
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && !sql_parser_is_query (parser, parser->at) &&
        !sql_parser_ident_list (parser, &cte.columns))
      return FALSE;
    ACCEPT1 (parser, AS);
    if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "AS ("))
      return FALSE;
    cte.query = sql_parser_query (parser);
    if (cte.query == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
      return FALSE;
    sql_parser_deepen (parser, &query->depth, cte.query->depth);
    cte.position = sql_parser_span (parser, start);
    g_array_append_val (ctes, cte);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  query->ctes = sql_parser_keep (parser, ctes);
  query->n_ctes = ctes->len;
  return TRUE;
}

SqlQuery *
sql_parser_query (SqlParser *parser)
{
  guint start = parser->at;
  gboolean any;
  SqlQuery *query = sql_arena_new0 (parser->arena, SqlQuery);
  query->depth = 1;
  if (!sql_parser_enter (parser))
    return NULL;
  gboolean done = !ACCEPT1 (parser, WITH) || parse_ctes (parser, query);
  query->body = done ? parse_terms (parser, TERM_PIPE) : NULL;
  done = query->body != NULL && parse_organization (parser, &query->organization, &query->depth, &any);
  sql_parser_leave (parser);
  if (!done || parser->error != NULL)
    return NULL;
  sql_parser_deepen (parser, &query->depth, query->body->depth);
  query->position = sql_parser_span (parser, start);
  return parser->error == NULL ? query : NULL;
}

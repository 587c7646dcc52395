/* CREATE: tables, streaming tables, views, schemas, flows, and the clauses of AUTO CDC. */
#include "sql-parser-private.h"

#include <string.h>

/* ------------------------------------------------------------------ constraints and columns */

/* NOT ENFORCED, RELY and the like change nothing: keys are informational. */
static void
skip_constraint_traits (SqlParser *parser)
{
  while (ACCEPT2 (parser, NOT, ENFORCED) || ACCEPT1 (parser, ENFORCED) || ACCEPT1 (parser, RELY) ||
         ACCEPT1 (parser, NORELY))
    ;
}

static gboolean
parse_references (SqlParser *parser, SqlConstraint *constraint)
{
  constraint->kind = SQL_CONSTRAINT_FOREIGN_KEY;
  if (!EXPECT1 (parser, REFERENCES) || !sql_parser_name (parser, &constraint->references))
    return FALSE;
  return sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN ||
         sql_parser_ident_list (parser, &constraint->referenced_columns);
}

static gboolean
parse_check (SqlParser *parser, SqlConstraint *constraint)
{
  constraint->kind = SQL_CONSTRAINT_CHECK;
  if (!EXPECT1 (parser, CHECK) || !sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  constraint->check = sql_parser_expression (parser);
  return constraint->check != NULL && sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
}

static gboolean
parse_constraint_name (SqlParser *parser, SqlConstraint *constraint)
{
  SqlIdent name;
  if (!ACCEPT1 (parser, CONSTRAINT))
    return TRUE;
  if (!sql_parser_ident (parser, &name))
    return FALSE;
  constraint->name = sql_parser_keep_ident (parser, &name);
  return TRUE;
}

gboolean
sql_parser_constraint (SqlParser *parser, SqlConstraint *constraint)
{
  guint start = parser->at;
  gboolean done;
  if (!parse_constraint_name (parser, constraint))
    return FALSE;
  if (AT1 (parser, CHECK)) {
    done = parse_check (parser, constraint);
  } else if (ACCEPT2 (parser, PRIMARY, KEY)) {
    constraint->kind = SQL_CONSTRAINT_PRIMARY_KEY;
    done = sql_parser_ident_list (parser, &constraint->columns);
  } else if (ACCEPT1 (parser, UNIQUE)) {
    constraint->kind = SQL_CONSTRAINT_UNIQUE;
    done = sql_parser_ident_list (parser, &constraint->columns);
  } else if (ACCEPT2 (parser, FOREIGN, KEY)) {
    done = sql_parser_ident_list (parser, &constraint->columns) && parse_references (parser, constraint);
  } else {
    sql_parser_fail (parser, "EXPECT, CHECK, PRIMARY KEY, FOREIGN KEY or UNIQUE");
    return FALSE;
  }
  if (!done)
    return FALSE;
  skip_constraint_traits (parser);
  constraint->position = sql_parser_span (parser, start);
  return TRUE;
}

static gboolean
at_column_constraint (const SqlParser *parser)
{
  return AT1 (parser, CONSTRAINT) || AT2 (parser, PRIMARY, KEY) || AT2 (parser, FOREIGN, KEY) ||
         AT1 (parser, REFERENCES) || AT1 (parser, UNIQUE) ||
         (AT1 (parser, CHECK) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN);
}

static gboolean
parse_column_constraint (SqlParser *parser, SqlConstraint *constraint)
{
  guint start = parser->at;
  gboolean done = TRUE;
  if (!parse_constraint_name (parser, constraint))
    return FALSE;
  if (ACCEPT2 (parser, PRIMARY, KEY))
    constraint->kind = SQL_CONSTRAINT_PRIMARY_KEY;
  else if (ACCEPT1 (parser, UNIQUE))
    constraint->kind = SQL_CONSTRAINT_UNIQUE;
  else if (AT1 (parser, CHECK))
    done = parse_check (parser, constraint);
  else
    done = (ACCEPT2 (parser, FOREIGN, KEY), parse_references (parser, constraint));
  if (!done)
    return FALSE;
  skip_constraint_traits (parser);
  constraint->position = sql_parser_span (parser, start);
  return TRUE;
}

/* A whole number, maybe signed, as text. */
static const char *
parse_integer_text (SqlParser *parser)
{
  gboolean negative = sql_parser_accept_token (parser, SQL_TOKEN_MINUS);
  const SqlToken *token = sql_parser_token (parser, 0);
  if (token->kind != SQL_TOKEN_INTEGER)
    return sql_parser_fail (parser, "a whole number");
  g_autofree char *digits = g_strndup (parser->source->text + token->begin, token->end - token->begin);
  g_autofree char *text = g_strconcat (negative ? "-" : "", digits, NULL);
  parser->at++;
  return sql_arena_strdup (parser->arena, text);
}

/* Stands behind GENERATED. */
static gboolean
parse_generated (SqlParser *parser, SqlColumn *column)
{
  gboolean always = ACCEPT1 (parser, ALWAYS);
  if (!always && !EXPECT2 (parser, BY, DEFAULT))
    return FALSE;
  if (!EXPECT1 (parser, AS))
    return FALSE;
  if (!AT1 (parser, IDENTITY)) {
    if (!always) {
      sql_parser_fail (parser, "IDENTITY");
      return FALSE;
    }
    if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
      return FALSE;
    column->generated = sql_parser_expression (parser);
    return column->generated != NULL && sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
  }
  parser->at++;
  column->identity = always ? SQL_IDENTITY_ALWAYS : SQL_IDENTITY_BY_DEFAULT;
  if (!sql_parser_accept_token (parser, SQL_TOKEN_OPEN))
    return TRUE;
  while (parser->error == NULL && sql_parser_kind (parser, 0) != SQL_TOKEN_CLOSE) {
    if (column->identity_start == NULL && ACCEPT2 (parser, START, WITH)) {
      column->identity_start = parse_integer_text (parser);
    } else if (column->identity_increment == NULL && ACCEPT2 (parser, INCREMENT, BY)) {
      column->identity_increment = parse_integer_text (parser);
    } else {
      sql_parser_fail (parser, "START WITH, INCREMENT BY or )");
    }
  }
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
}

/* MASK f [USING COLUMNS (…)]: kept as text, so that nobody overlooks it. */
static gboolean
parse_mask (SqlParser *parser, SqlColumn *column)
{
  guint start = parser->at;
  SqlName function;
  parser->at++;
  if (!sql_parser_name (parser, &function))
    return FALSE;
  if (ACCEPT2 (parser, USING, COLUMNS)) {
    if (sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN) {
      sql_parser_fail (parser, "(");
      return FALSE;
    }
    parser->at = parser->match[parser->at] + 1;
  }
  SqlPosition position = sql_parser_span (parser, start);
  g_autofree char *text = sql_position_text (&position);
  column->mask = sql_arena_strdup (parser->arena, text);
  return TRUE;
}

/* One property of a column. @any: (out): whether there was one. */
static gboolean
parse_column_property (SqlParser *parser, SqlColumn *column, GArray *constraints, gboolean *any)
{
  *any = TRUE;
  if (!column->not_null && ACCEPT2 (parser, NOT, NULL)) {
    column->not_null = TRUE;
    return TRUE;
  }
  if (column->default_value == NULL && ACCEPT1 (parser, DEFAULT)) {
    column->default_value = sql_parser_expression (parser);
    return column->default_value != NULL;
  }
  if (column->generated == NULL && column->identity == SQL_IDENTITY_NONE && ACCEPT1 (parser, GENERATED))
    return parse_generated (parser, column);
  if (column->comment == NULL && AT1 (parser, COMMENT) && sql_parser_kind (parser, 1) == SQL_TOKEN_STRING) {
    parser->at++;
    column->comment = sql_parser_string (parser, NULL);
    return column->comment != NULL;
  }
  if (column->mask == NULL && AT1 (parser, MASK))
    return parse_mask (parser, column);
  if (at_column_constraint (parser)) {
    SqlConstraint constraint = { 0 };
    if (!parse_column_constraint (parser, &constraint))
      return FALSE;
    g_array_append_val (constraints, constraint);
    return TRUE;
  }
  *any = FALSE;
  return TRUE;
}

static gboolean
at_type (const SqlParser *parser)
{
  switch ((int) sql_parser_word (parser, 0)) {
  case SQL_WORD_NOT:
  case SQL_WORD_DEFAULT:
  case SQL_WORD_GENERATED:
  case SQL_WORD_COMMENT:
  case SQL_WORD_MASK:
  case SQL_WORD_CONSTRAINT:
  case SQL_WORD_PRIMARY:
  case SQL_WORD_FOREIGN:
  case SQL_WORD_REFERENCES:
  case SQL_WORD_UNIQUE:
  case SQL_WORD_CHECK:
  case SQL_WORD_FIRST:
  case SQL_WORD_AFTER:
    return FALSE;
  default:
    return sql_parser_kind (parser, 0) == SQL_TOKEN_WORD;
  }
}

gboolean
sql_parser_column (SqlParser *parser, SqlColumn *column, gboolean type_required)
{
  guint start = parser->at;
  g_autoptr (GArray) constraints = g_array_new (FALSE, FALSE, sizeof (SqlConstraint));
  if (!sql_parser_name (parser, &column->name))
    return FALSE;
  if (type_required || at_type (parser)) {
    column->type = sql_arena_new0 (parser->arena, SqlType);
    if (!sql_parser_type (parser, column->type))
      return FALSE;
  }
  gboolean any = TRUE;
  while (any) {
    if (!parse_column_property (parser, column, constraints, &any))
      return FALSE;
  }
  column->constraints = sql_parser_keep (parser, constraints);
  column->n_constraints = constraints->len;
  column->position = sql_parser_span (parser, start);
  return TRUE;
}

/* ------------------------------------------------------------------ elements */

static gboolean
parse_expectation (SqlParser *parser, SqlExpectation *expectation)
{
  guint start = parser->at;
  parser->at++;
  if (!sql_parser_ident (parser, &expectation->name) || !EXPECT1 (parser, EXPECT) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  expectation->condition = sql_parser_expression (parser);
  if (expectation->condition == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return FALSE;
  if (ACCEPT2 (parser, ON, VIOLATION)) {
    if (ACCEPT2 (parser, DROP, ROW)) {
      expectation->on_violation = SQL_VIOLATION_DROP_ROW;
    } else if (ACCEPT2 (parser, FAIL, UPDATE)) {
      expectation->on_violation = SQL_VIOLATION_FAIL_UPDATE;
    } else {
      sql_parser_fail (parser, "DROP ROW or FAIL UPDATE");
      return FALSE;
    }
  }
  expectation->position = sql_parser_span (parser, start);
  return TRUE;
}

typedef struct {
  SqlColumnList columns;
  SqlConstraint *constraints;
  guint n_constraints;
  SqlExpectationList expectations;
} Elements;

/* ( column | expectation | constraint, … ) */
static gboolean
parse_elements (SqlParser *parser, Elements *elements)
{
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (SqlColumn));
  g_autoptr (GArray) constraints = g_array_new (FALSE, FALSE, sizeof (SqlConstraint));
  g_autoptr (GArray) expectations = g_array_new (FALSE, FALSE, sizeof (SqlExpectation));
  parser->at++;
  do {
    SqlTokenKind next = sql_parser_kind (parser, 1);
    if (AT1 (parser, CONSTRAINT) && sql_parser_at_ident (parser, 1) && sql_parser_word (parser, 2) == SQL_WORD_EXPECT) {
      SqlExpectation expectation = { 0 };
      if (!parse_expectation (parser, &expectation))
        return FALSE;
      g_array_append_val (expectations, expectation);
    } else if ((AT1 (parser, CONSTRAINT) && sql_parser_at_ident (parser, 1)) || AT2 (parser, PRIMARY, KEY) ||
               AT2 (parser, FOREIGN, KEY) ||
               ((AT1 (parser, CHECK) || AT1 (parser, UNIQUE)) && next == SQL_TOKEN_OPEN)) {
      SqlConstraint constraint = { 0 };
      if (!sql_parser_constraint (parser, &constraint))
        return FALSE;
      g_array_append_val (constraints, constraint);
    } else {
      SqlColumn column = { 0 };
      if (!sql_parser_column (parser, &column, FALSE))
        return FALSE;
      g_array_append_val (columns, column);
    }
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  elements->columns = (SqlColumnList){ sql_parser_keep (parser, columns), columns->len };
  elements->constraints = sql_parser_keep (parser, constraints);
  elements->n_constraints = constraints->len;
  elements->expectations = (SqlExpectationList){ sql_parser_keep (parser, expectations), expectations->len };
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

/* ------------------------------------------------------------------ AUTO CDC */

static gboolean
parse_cdc_column (SqlParser *parser, SqlIdent *ident)
{
  SqlPosition here = sql_parser_here (parser);
  SqlTokenKind kind = sql_parser_kind (parser, 0);
  if (kind == SQL_TOKEN_END || kind == SQL_TOKEN_BAD) {
    sql_parser_fail (parser, "a column name");
    return FALSE;
  }
  gboolean plain = sql_parser_at_ident (parser, 0);
  SqlTokenKind next = sql_parser_kind (parser, 1);
  if (plain && next == SQL_TOKEN_DOT) {
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_AUTOCDC_MULTIPART_COLUMN_IDENTIFIER,
                        "a plain column name is needed here; put a name that has a dot in backticks");
    return FALSE;
  }
  plain = plain && (next == SQL_TOKEN_COMMA || next == SQL_TOKEN_CLOSE || next == SQL_TOKEN_END ||
                    next == SQL_TOKEN_SEMICOLON || next == SQL_TOKEN_WORD);
  if (!plain) {
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_AUTOCDC_NON_COLUMN_IDENTIFIER,
                        "a column name is needed here, not an expression");
    return FALSE;
  }
  return sql_parser_ident (parser, ident);
}

static gboolean
parse_cdc_columns (SqlParser *parser, SqlIdentList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlIdent));
  gboolean open = sql_parser_accept_token (parser, SQL_TOKEN_OPEN);
  if (!open || sql_parser_kind (parser, 0) != SQL_TOKEN_CLOSE) {
    do {
      SqlIdent ident;
      if (!parse_cdc_column (parser, &ident))
        return FALSE;
      g_array_append_val (items, ident);
    } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  }
  *list = (SqlIdentList){ sql_parser_keep (parser, items), items->len };
  return !open || sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

static gboolean
parse_choice (SqlParser *parser, guint start, SqlColumnChoice *choice)
{
  choice->kind = SQL_CHOICE_LIST;
  if (sql_parser_accept_token (parser, SQL_TOKEN_STAR)) {
    choice->kind = SQL_CHOICE_EXCEPT;
    if (!EXPECT1 (parser, EXCEPT))
      return FALSE;
    if (sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN) {
      sql_parser_fail (parser, "(");
      return FALSE;
    }
  }
  if (!parse_cdc_columns (parser, &choice->columns))
    return FALSE;
  choice->position = sql_parser_span (parser, start);
  return TRUE;
}

static gboolean
parse_cdc_source (SqlParser *parser, SqlAutoCdc *cdc)
{
  SqlPosition here = sql_parser_here (parser);
  if (AT1 (parser, KEYS) || sql_parser_at_end (parser)) {
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_AUTOCDC_MISSING_SOURCE,
                        "AUTO CDC needs FROM and a source before KEYS");
    return FALSE;
  }
  if (!EXPECT1 (parser, FROM))
    return FALSE;
  gboolean snapshot =
      AT1 (parser, SNAPSHOT) &&
      (sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN || sql_parser_kind (parser, 1) == SQL_TOKEN_QUOTED ||
       (sql_parser_at_ident (parser, 1) && sql_parser_word (parser, 1) != SQL_WORD_KEYS));
  if (!snapshot) {
    cdc->source = sql_parser_table (parser);
    return cdc->source != NULL;
  }
  parser->at++;
  cdc->snapshot = TRUE;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    gboolean query = sql_parser_is_query (parser, parser->at);
    parser->at++;
    if (query)
      cdc->snapshot_query = sql_parser_query (parser);
    else
      cdc->source = sql_parser_table (parser);
    if (parser->error != NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
      return FALSE;
  } else {
    cdc->source = sql_parser_table (parser);
    if (cdc->source == NULL)
      return FALSE;
  }
  if (!ACCEPT2 (parser, WITH, VERSION))
    return TRUE;
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  cdc->version_query = sql_parser_query (parser);
  return cdc->version_query != NULL && sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
}

typedef enum {
  CLAUSE_WHERE = 1 << 0,
  CLAUSE_IGNORE_NULL = 1 << 1,
  CLAUSE_DELETE = 1 << 2,
  CLAUSE_TRUNCATE = 1 << 3,
  CLAUSE_SEQUENCE = 1 << 4,
  CLAUSE_SYSTEM_SEQUENCE = 1 << 5,
  CLAUSE_COLUMNS = 1 << 6,
  CLAUSE_STORED_AS = 1 << 7,
  CLAUSE_TRACK_HISTORY = 1 << 8,
  CLAUSE_COLUMNS_TO_UPDATE = 1 << 9,
} CdcClause;

static const struct {
  SqlWord words[4];
  CdcClause clause;
  const char *text;
} cdc_clauses[] = {
  { { SQL_WORD_WHERE }, CLAUSE_WHERE, "WHERE" },
  { { SQL_WORD_IGNORE, SQL_WORD_NULL, SQL_WORD_UPDATES }, CLAUSE_IGNORE_NULL, "IGNORE NULL UPDATES" },
  { { SQL_WORD_APPLY, SQL_WORD_AS, SQL_WORD_DELETE, SQL_WORD_WHEN }, CLAUSE_DELETE, "APPLY AS DELETE WHEN" },
  { { SQL_WORD_APPLY, SQL_WORD_AS, SQL_WORD_TRUNCATE, SQL_WORD_WHEN }, CLAUSE_TRUNCATE, "APPLY AS TRUNCATE WHEN" },
  { { SQL_WORD_SEQUENCE, SQL_WORD_BY }, CLAUSE_SEQUENCE, "SEQUENCE BY" },
  { { SQL_WORD_SYSTEM, SQL_WORD_SEQUENCE, SQL_WORD_BY }, CLAUSE_SYSTEM_SEQUENCE, "SYSTEM SEQUENCE BY" },
  { { SQL_WORD_COLUMNS, SQL_WORD_TO, SQL_WORD_UPDATE }, CLAUSE_COLUMNS_TO_UPDATE, "COLUMNS TO UPDATE" },
  { { SQL_WORD_COLUMNS }, CLAUSE_COLUMNS, "COLUMNS" },
  { { SQL_WORD_STORED, SQL_WORD_AS }, CLAUSE_STORED_AS, "STORED AS" },
  { { SQL_WORD_TRACK, SQL_WORD_HISTORY, SQL_WORD_ON }, CLAUSE_TRACK_HISTORY, "TRACK HISTORY ON" },
};

/* The clause whose words stand here, 0 when there is none; @n_words: (out). */
static CdcClause
at_cdc_clause (const SqlParser *parser, guint *n_words, const char **text)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cdc_clauses); i++) {
    guint n = 0;
    while (n < 4 && cdc_clauses[i].words[n] != SQL_WORD_OTHER && sql_parser_word (parser, n) == cdc_clauses[i].words[n])
      n++;
    if (n == 4 || cdc_clauses[i].words[n] == SQL_WORD_OTHER) {
      *n_words = n;
      *text = cdc_clauses[i].text;
      return cdc_clauses[i].clause;
    }
  }
  return 0;
}

static void
fail_no_cdc_clause (SqlParser *parser)
{
  g_autoptr (GString) hint = g_string_new ("the clauses are ");

  if (parser->error != NULL)
    return;
  sql_parser_fail (parser, "a clause of AUTO CDC or the end of the statement");
  for (gsize i = 0; i < G_N_ELEMENTS (cdc_clauses); i++)
    if (cdc_clauses[i].clause != CLAUSE_WHERE)
      g_string_append_printf (hint, "%s%s", cdc_clauses[i].text, i + 1 < G_N_ELEMENTS (cdc_clauses) ? ", " : "");
  base_error_set_hint (&parser->error, "%s", hint->str);
}

static gboolean
parse_stored_as (SqlParser *parser, SqlAutoCdc *cdc)
{
  if (ACCEPT1 (parser, BITEMPORAL)) {
    cdc->stored_as = SQL_STORED_AS_BITEMPORAL;
    return TRUE;
  }
  if (!ACCEPT2 (parser, SCD, TYPE)) {
    sql_parser_fail (parser, "SCD TYPE 1, SCD TYPE 2 or BITEMPORAL");
    return FALSE;
  }
  const SqlToken *token = sql_parser_token (parser, 0);
  char digit = parser->source->text[token->begin];
  if (token->kind != SQL_TOKEN_INTEGER || token->end - token->begin != 1 || (digit != '1' && digit != '2')) {
    sql_parser_fail (parser, "1 or 2");
    return FALSE;
  }
  parser->at++;
  cdc->stored_as = digit == '1' ? SQL_STORED_AS_SCD1 : SQL_STORED_AS_SCD2;
  return TRUE;
}

static gboolean
parse_cdc_expression (SqlParser *parser, SqlExpr **expr)
{
  *expr = sql_parser_expression (parser);
  return *expr != NULL;
}

static gboolean
parse_cdc_clause (SqlParser *parser, CdcClause clause, guint start, SqlAutoCdc *cdc)
{
  SqlIdent ident;
  switch (clause) {
  case CLAUSE_WHERE:
    return parse_cdc_expression (parser, &cdc->where);
  case CLAUSE_IGNORE_NULL:
    cdc->ignore_null_updates.kind = SQL_CHOICE_ALL;
    cdc->ignore_null_updates.position = sql_parser_span (parser, start);
    return !ACCEPT1 (parser, ON) || parse_choice (parser, start, &cdc->ignore_null_updates);
  case CLAUSE_DELETE:
    return parse_cdc_expression (parser, &cdc->delete_when);
  case CLAUSE_TRUNCATE:
    return parse_cdc_expression (parser, &cdc->truncate_when);
  case CLAUSE_SEQUENCE:
    return parse_cdc_expression (parser, &cdc->sequence_by);
  case CLAUSE_SYSTEM_SEQUENCE:
    return parse_cdc_expression (parser, &cdc->system_sequence_by);
  case CLAUSE_COLUMNS:
    return parse_choice (parser, start, &cdc->columns);
  case CLAUSE_STORED_AS:
    return parse_stored_as (parser, cdc);
  case CLAUSE_TRACK_HISTORY:
    return parse_choice (parser, start, &cdc->track_history);
  case CLAUSE_COLUMNS_TO_UPDATE:
    if (!parse_cdc_column (parser, &ident))
      return FALSE;
    cdc->columns_to_update = sql_parser_keep_ident (parser, &ident);
    return TRUE;
  }
  return FALSE;
}

/* FROM … to the end. */
static gboolean
parse_cdc_body (SqlParser *parser, SqlAutoCdc *cdc)
{
  guint n_words;
  const char *text;
  guint seen = 0;
  if (!parse_cdc_source (parser, cdc))
    return FALSE;
  SqlPosition here = sql_parser_here (parser);
  gboolean no_keys = sql_parser_at_end (parser) || at_cdc_clause (parser, &n_words, &text) != 0 ||
                     (AT1 (parser, KEYS) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN &&
                      sql_parser_kind (parser, 2) == SQL_TOKEN_CLOSE);
  if (no_keys) {
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_AUTOCDC_EMPTY_KEYS,
                        "AUTO CDC needs KEYS (column, …) after the source");
    return FALSE;
  }
  if (!EXPECT1 (parser, KEYS))
    return FALSE;
  if (sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN) {
    sql_parser_fail (parser, "(");
    return FALSE;
  }
  if (!parse_cdc_columns (parser, &cdc->keys))
    return FALSE;
  CdcClause clause;
  while ((clause = at_cdc_clause (parser, &n_words, &text)) != 0) {
    guint start = parser->at;
    here = sql_parser_here (parser);
    if ((seen & clause) != 0) {
      sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                          "syntax error: the clause %s is written twice", text);
      return FALSE;
    }
    if (clause == CLAUSE_WHERE && !cdc->apply_changes) {
      sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                          "syntax error at or near WHERE: AUTO CDC has no WHERE; filter the source in a view");
      return FALSE;
    }
    seen |= clause;
    parser->at += n_words;
    if (!parse_cdc_clause (parser, clause, start, cdc))
      return FALSE;
  }
  if (!sql_parser_at_end (parser) && sql_parser_kind (parser, 0) != SQL_TOKEN_SEMICOLON) {
    fail_no_cdc_clause (parser);
    return FALSE;
  }
  return parser->error == NULL;
}

/* AUTO CDC | APPLY CHANGES [ONCE] [INTO target] body. Without INTO the target is @target. */
static SqlAutoCdc *
parse_auto_cdc (SqlParser *parser, const SqlName *target)
{
  guint start = parser->at;
  SqlAutoCdc *cdc = sql_arena_new0 (parser->arena, SqlAutoCdc);
  cdc->apply_changes = AT1 (parser, APPLY);
  if (!ACCEPT2 (parser, APPLY, CHANGES) && !EXPECT2 (parser, AUTO, CDC))
    return NULL;
  cdc->once = ACCEPT1 (parser, ONCE);
  if (target != NULL)
    cdc->target = *target;
  else if (!EXPECT1 (parser, INTO) || !sql_parser_name (parser, &cdc->target))
    return NULL;
  if (!parse_cdc_body (parser, cdc))
    return NULL;
  cdc->position = sql_parser_span (parser, start);
  return cdc;
}

gboolean
sql_parser_apply_changes (SqlParser *parser, SqlStatement *statement)
{
  SqlCreateFlow *flow = &statement->u.create_flow;
  statement->kind = SQL_STATEMENT_CREATE_FLOW;
  flow->legacy = TRUE;
  flow->autocdc = parse_auto_cdc (parser, NULL);
  if (flow->autocdc == NULL)
    return FALSE;
  flow->name = flow->autocdc->target;
  return TRUE;
}

static gboolean
parse_flow (SqlParser *parser, SqlStatement *statement)
{
  SqlCreateFlow *flow = &statement->u.create_flow;
  statement->kind = SQL_STATEMENT_CREATE_FLOW;
  if (!sql_parser_name (parser, &flow->name))
    return FALSE;
  if (ACCEPT1 (parser, COMMENT) && (flow->comment = sql_parser_string (parser, NULL)) == NULL)
    return FALSE;
  if (!EXPECT1 (parser, AS))
    return FALSE;
  if (AT1 (parser, INSERT)) {
    flow->insert = sql_arena_new0 (parser->arena, SqlInsert);
    return sql_parser_insert (parser, flow->insert, TRUE);
  }
  if (!AT1 (parser, AUTO) && !AT1 (parser, APPLY)) {
    sql_parser_fail (parser, "INSERT INTO or AUTO CDC");
    return FALSE;
  }
  flow->autocdc = parse_auto_cdc (parser, NULL);
  return flow->autocdc != NULL;
}

/* ------------------------------------------------------------------ clauses of tables */

gboolean
sql_parser_cluster_by (SqlParser *parser, SqlClusterBy *cluster_by)
{
  guint start = parser->at;
  if (!EXPECT2 (parser, CLUSTER, BY))
    return FALSE;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    cluster_by->kind = SQL_CLUSTER_COLUMNS;
    if (!sql_parser_name_list (parser, &cluster_by->columns))
      return FALSE;
  } else if (ACCEPT1 (parser, AUTO)) {
    cluster_by->kind = SQL_CLUSTER_AUTO;
  } else if (ACCEPT1 (parser, NONE)) {
    cluster_by->kind = SQL_CLUSTER_NONE;
  } else {
    sql_parser_fail (parser, "(, AUTO or NONE");
    return FALSE;
  }
  cluster_by->position = sql_parser_span (parser, start);
  return TRUE;
}

gboolean
sql_parser_refresh_policy (SqlParser *parser, SqlRefreshPolicy *policy)
{
  if (!EXPECT2 (parser, REFRESH, POLICY))
    return FALSE;
  if (ACCEPT1 (parser, AUTO)) {
    *policy = SQL_POLICY_AUTO;
  } else if (ACCEPT2 (parser, INCREMENTAL, STRICT)) {
    *policy = SQL_POLICY_INCREMENTAL_STRICT;
  } else if (ACCEPT1 (parser, INCREMENTAL)) {
    *policy = SQL_POLICY_INCREMENTAL;
  } else if (ACCEPT1 (parser, FULL)) {
    *policy = SQL_POLICY_FULL;
  } else {
    sql_parser_fail (parser, "AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL");
    return FALSE;
  }
  return TRUE;
}

const char *
sql_parser_schedule (SqlParser *parser)
{
  guint start = parser->at;
  while (!sql_parser_at_end (parser) && sql_parser_kind (parser, 0) != SQL_TOKEN_SEMICOLON && !AT1 (parser, AS) &&
         !AT1 (parser, COMMENT) && !AT1 (parser, TBLPROPERTIES) && !AT1 (parser, FLOW))
    parser->at++;
  SqlPosition position = sql_parser_span (parser, start);
  g_autofree char *text = sql_position_text (&position);
  return sql_arena_strdup (parser->arena, text);
}

static gboolean
parse_partitioned_by (SqlParser *parser, SqlCreateTable *table)
{
  guint start = parser->at;
  g_autoptr (GArray) fields = g_array_new (FALSE, FALSE, sizeof (SqlPartitionField));
  parser->at += 2;
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  do {
    guint field_start = parser->at;
    SqlPartitionField field = { 0 };
    if (sql_parser_at_ident (parser, 0) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN) {
      SqlName name;
      if (!sql_parser_name (parser, &name))
        return FALSE;
      field.transform = sql_parser_call (parser, &name, field_start);
      field.name.text = "";
      if (field.transform == NULL)
        return FALSE;
    } else {
      if (!sql_parser_ident (parser, &field.name))
        return FALSE;
      if (at_type (parser)) {
        field.type = sql_arena_new0 (parser->arena, SqlType);
        if (!sql_parser_type (parser, field.type))
          return FALSE;
        if (ACCEPT1 (parser, COMMENT) && sql_parser_string (parser, NULL) == NULL)
          return FALSE;
      }
    }
    field.position = sql_parser_span (parser, field_start);
    g_array_append_val (fields, field);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  table->partitioned_by = sql_parser_keep (parser, fields);
  table->n_partitioned_by = fields->len;
  if (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )"))
    return FALSE;
  table->partitioned_by_position = sql_parser_span (parser, start);
  return TRUE;
}

static gboolean
parse_row_filter (SqlParser *parser, SqlCreateTable *table)
{
  guint start = parser->at;
  SqlName *name = sql_arena_new0 (parser->arena, SqlName);
  parser->at += 3;
  if (!sql_parser_name (parser, name) || !EXPECT1 (parser, ON))
    return FALSE;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && sql_parser_kind (parser, 1) == SQL_TOKEN_CLOSE)
    parser->at += 2;
  else if (!sql_parser_ident_list (parser, &table->row_filter_columns))
    return FALSE;
  table->row_filter = name;
  table->row_filter_position = sql_parser_span (parser, start);
  return TRUE;
}

static gboolean
say_twice (SqlParser *parser, gboolean given, const char *clause)
{
  if (given) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "syntax error: the clause %s is written twice",
                        clause);
  }
  return !given;
}

static gboolean
parse_text_clause (SqlParser *parser, const char *clause, const char **text)
{
  if (!say_twice (parser, *text != NULL, clause))
    return FALSE;
  parser->at++;
  *text = sql_parser_string (parser, NULL);
  return *text != NULL;
}

/* One clause. @any: (out): whether there was one. */
static gboolean
parse_table_clause (SqlParser *parser, SqlCreateTable *table, gboolean *any)
{
  *any = TRUE;
  if (AT1 (parser, USING)) {
    SqlName *format = sql_arena_new0 (parser->arena, SqlName);
    if (!say_twice (parser, table->format != NULL, "USING"))
      return FALSE;
    parser->at++;
    table->format = format;
    return sql_parser_name (parser, format);
  }
  if (AT2 (parser, PARTITIONED, BY))
    return say_twice (parser, table->n_partitioned_by > 0, "PARTITIONED BY") && parse_partitioned_by (parser, table);
  if (AT2 (parser, CLUSTER, BY))
    return say_twice (parser, table->cluster_by.kind != SQL_CLUSTER_UNSET, "CLUSTER BY") &&
           sql_parser_cluster_by (parser, &table->cluster_by);
  if (AT1 (parser, LOCATION))
    return parse_text_clause (parser, "LOCATION", &table->location);
  if (AT1 (parser, COMMENT))
    return parse_text_clause (parser, "COMMENT", &table->comment);
  if (AT1 (parser, TBLPROPERTIES)) {
    if (!say_twice (parser, table->properties.given, "TBLPROPERTIES"))
      return FALSE;
    parser->at++;
    return sql_parser_properties (parser, &table->properties);
  }
  if (AT1 (parser, OPTIONS)) {
    if (!say_twice (parser, table->options.given, "OPTIONS"))
      return FALSE;
    parser->at++;
    return sql_parser_properties (parser, &table->options);
  }
  if (AT3 (parser, WITH, ROW, FILTER))
    return say_twice (parser, table->row_filter != NULL, "WITH ROW FILTER") && parse_row_filter (parser, table);
  if (AT2 (parser, REFRESH, POLICY))
    return say_twice (parser, table->refresh_policy != SQL_POLICY_UNSET, "REFRESH POLICY") &&
           sql_parser_refresh_policy (parser, &table->refresh_policy);
  if (AT1 (parser, SCHEDULE) || AT2 (parser, TRIGGER, ON)) {
    if (!say_twice (parser, table->schedule != NULL, "SCHEDULE"))
      return FALSE;
    table->schedule = sql_parser_schedule (parser);
    return TRUE;
  }
  *any = FALSE;
  return TRUE;
}

static gboolean
parse_clone (SqlParser *parser, SqlCreateTable *table)
{
  table->clone = ACCEPT1 (parser, SHALLOW) ? SQL_CLONE_SHALLOW : SQL_CLONE_DEEP;
  ACCEPT1 (parser, DEEP);
  if (!EXPECT1 (parser, CLONE))
    return FALSE;
  SqlRelation *source = sql_parser_table (parser);
  if (source == NULL)
    return FALSE;
  if (source->kind != SQL_RELATION_TABLE) {
    sql_parser_fail_at (parser, &source->position, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                        "syntax error: CLONE takes the name of a table");
    return FALSE;
  }
  table->clone_source = source->u.table.name;
  table->clone_travel = source->u.table.travel;
  return TRUE;
}

static gboolean
parse_table (SqlParser *parser, SqlCreateTable *table)
{
  table->if_not_exists = ACCEPT3 (parser, IF, NOT, EXISTS);
  if (!sql_parser_name (parser, &table->name))
    return FALSE;
  if (ACCEPT1 (parser, LIKE) && !sql_parser_name (parser, &table->like))
    return FALSE;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && !sql_parser_is_query (parser, parser->at)) {
    Elements elements = { 0 };
    if (!parse_elements (parser, &elements))
      return FALSE;
    table->has_elements = TRUE;
    table->columns = elements.columns;
    table->constraints = elements.constraints;
    table->n_constraints = elements.n_constraints;
    table->expectations = elements.expectations;
  }
  gboolean any = TRUE;
  while (any) {
    if (AT1 (parser, CLONE) || AT2 (parser, SHALLOW, CLONE) || AT2 (parser, DEEP, CLONE)) {
      if (!parse_clone (parser, table))
        return FALSE;
    } else if (!parse_table_clause (parser, table, &any)) {
      return FALSE;
    }
  }
  if (table->object == SQL_OBJECT_STREAMING_TABLE && ACCEPT1 (parser, FLOW)) {
    table->autocdc = parse_auto_cdc (parser, &table->name);
    return table->autocdc != NULL;
  }
  gboolean as = ACCEPT1 (parser, AS);
  if (as || sql_parser_starts_query (sql_parser_word (parser, 0)) || sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    table->query = sql_parser_query (parser);
    return table->query != NULL;
  }
  if (table->object == SQL_OBJECT_MATERIALIZED_VIEW)
    return EXPECT1 (parser, AS);
  return parser->error == NULL;
}

/* ------------------------------------------------------------------ views and schemas */

static gboolean
parse_view (SqlParser *parser, SqlCreateView *view)
{
  view->if_not_exists = ACCEPT3 (parser, IF, NOT, EXISTS);
  if (!sql_parser_name (parser, &view->name))
    return FALSE;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN) {
    Elements elements = { 0 };
    if (!parse_elements (parser, &elements))
      return FALSE;
    if (elements.n_constraints > 0) {
      sql_parser_fail_at (parser, &elements.constraints[0].position, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                          "syntax error: a view has no constraints");
      return FALSE;
    }
    view->has_elements = TRUE;
    view->columns = elements.columns;
    view->expectations = elements.expectations;
  }
  for (;;) {
    if (AT1 (parser, COMMENT)) {
      if (!parse_text_clause (parser, "COMMENT", &view->comment))
        return FALSE;
    } else if (AT1 (parser, TBLPROPERTIES)) {
      if (!say_twice (parser, view->properties.given, "TBLPROPERTIES"))
        return FALSE;
      parser->at++;
      if (!sql_parser_properties (parser, &view->properties))
        return FALSE;
    } else {
      break;
    }
  }
  if (!EXPECT1 (parser, AS))
    return FALSE;
  view->query = sql_parser_query (parser);
  return view->query != NULL;
}

static gboolean
parse_schema (SqlParser *parser, SqlCreateSchema *schema)
{
  schema->if_not_exists = ACCEPT3 (parser, IF, NOT, EXISTS);
  if (!sql_parser_name (parser, &schema->name))
    return FALSE;
  for (;;) {
    ACCEPT1 (parser, MANAGED);
    if (AT1 (parser, COMMENT)) {
      if (!parse_text_clause (parser, "COMMENT", &schema->comment))
        return FALSE;
    } else if (AT1 (parser, LOCATION)) {
      if (!parse_text_clause (parser, "LOCATION", &schema->location))
        return FALSE;
    } else if (ACCEPT2 (parser, WITH, DBPROPERTIES) || ACCEPT2 (parser, WITH, PROPERTIES)) {
      if (!say_twice (parser, schema->properties.given, "WITH DBPROPERTIES") ||
          !sql_parser_properties (parser, &schema->properties))
        return FALSE;
    } else {
      return parser->error == NULL;
    }
  }
}

/* ------------------------------------------------------------------ CREATE */

typedef struct {
  gboolean or_replace;
  gboolean or_refresh;
  gboolean is_private;
  gboolean temporary;
  gboolean global;
  gboolean external;
  gboolean streaming;
  gboolean materialized;
  gboolean live;
} CreateWords;

static void
read_create_words (SqlParser *parser, CreateWords *words)
{
  if (ACCEPT2 (parser, OR, REPLACE))
    words->or_replace = TRUE;
  else if (ACCEPT2 (parser, OR, REFRESH))
    words->or_refresh = TRUE;
  for (;;) {
    if (ACCEPT1 (parser, PRIVATE))
      words->is_private = TRUE;
    else if (ACCEPT1 (parser, TEMPORARY) || ACCEPT1 (parser, TEMP))
      words->temporary = TRUE;
    else if (ACCEPT1 (parser, GLOBAL))
      words->global = TRUE;
    else if (ACCEPT1 (parser, EXTERNAL))
      words->external = TRUE;
    else if (ACCEPT1 (parser, STREAMING) || ACCEPT1 (parser, INCREMENTAL))
      words->streaming = TRUE;
    else if (ACCEPT1 (parser, MATERIALIZED))
      words->materialized = TRUE;
    else if (ACCEPT1 (parser, LIVE))
      words->live = TRUE;
    else
      return;
  }
}

static gboolean
parse_create_table (SqlParser *parser, const CreateWords *words, gboolean replace, SqlStatement *statement)
{
  SqlCreateTable *table = &statement->u.create_table;
  statement->kind = SQL_STATEMENT_CREATE_TABLE;
  table->object = words->streaming                     ? SQL_OBJECT_STREAMING_TABLE
                  : words->materialized || words->live ? SQL_OBJECT_MATERIALIZED_VIEW
                                                       : SQL_OBJECT_TABLE;
  gboolean dataset = table->object != SQL_OBJECT_TABLE;
  if (!dataset && (words->is_private || words->or_refresh || words->temporary)) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                        "syntax error at or near TABLE: expected STREAMING TABLE, MATERIALIZED VIEW or VIEW");
    return FALSE;
  }
  table->or_replace = words->or_replace;
  table->or_refresh = words->or_refresh;
  table->replace = replace;
  table->is_private = dataset && (words->is_private || words->temporary);
  table->temporary = words->temporary;
  table->external = words->external;
  table->live = words->live;
  parser->at++;
  return parse_table (parser, table);
}

static gboolean
parse_create_view (SqlParser *parser, const CreateWords *words, SqlStatement *statement)
{
  SqlCreateView *view = &statement->u.create_view;
  statement->kind = SQL_STATEMENT_CREATE_VIEW;
  view->or_replace = words->or_replace;
  view->or_refresh = words->or_refresh;
  view->temporary = words->temporary;
  view->global = words->global;
  view->live = words->live;
  parser->at++;
  return parse_view (parser, view);
}

gboolean
sql_parser_create (SqlParser *parser, SqlStatement *statement)
{
  CreateWords words = { 0 };
  gboolean replace = AT1 (parser, REPLACE);
  parser->at++;
  if (!replace)
    read_create_words (parser, &words);
  if (AT1 (parser, TABLE) && !words.materialized)
    return parse_create_table (parser, &words, replace, statement);
  if (AT1 (parser, VIEW) && words.materialized)
    return parse_create_table (parser, &words, replace, statement);
  if (AT1 (parser, VIEW) && !words.streaming && !replace)
    return parse_create_view (parser, &words, statement);
  gboolean plain = !words.streaming && !words.materialized && !words.live && !words.temporary && !replace;
  if (plain && ACCEPT1 (parser, FLOW))
    return parse_flow (parser, statement);
  if (plain && (AT1 (parser, SCHEMA) || AT1 (parser, DATABASE) || AT1 (parser, NAMESPACE) || AT1 (parser, CATALOG))) {
    statement->kind = SQL_STATEMENT_CREATE_SCHEMA;
    statement->u.create_schema.object = AT1 (parser, CATALOG) ? SQL_OBJECT_CATALOG : SQL_OBJECT_SCHEMA;
    parser->at++;
    return parse_schema (parser, &statement->u.create_schema);
  }
  if (AT1 (parser, FUNCTION)) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "CREATE FUNCTION is not supported");
    return FALSE;
  }
  sql_parser_fail (parser, "TABLE, VIEW, STREAMING TABLE, MATERIALIZED VIEW, FLOW or SCHEMA");
  return FALSE;
}

/* The parser's tools, the small pieces of the grammar, and the entry points. */
#include "sql-parser-private.h"

#include <stdarg.h>
#include <string.h>

enum {
  MAX_TEXT = 16 * 1024 * 1024,
  MAX_TOKENS = 2 * 1000 * 1000,
  MAX_NESTING = 200,
  MAX_HEIGHT = 2000,
  MAX_NAME_PARTS = 256,
};

/* ------------------------------------------------------------------ the parser */

static guint *
match_parentheses (const SqlToken *tokens, guint n)
{
  guint *match = g_new (guint, n);
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < n; i++) {
    match[i] = n - 1;
    if (tokens[i].kind == SQL_TOKEN_OPEN) {
      g_array_append_val (open, i);
    } else if (tokens[i].kind == SQL_TOKEN_CLOSE && open->len > 0) {
      match[g_array_index (open, guint, open->len - 1)] = i;
      g_array_set_size (open, open->len - 1);
    }
  }
  return match;
}

gboolean
sql_parser_init (SqlParser *parser, SqlArena *arena, const SqlSource *source, GError **error)
{
  gboolean overflow;
  *parser = (SqlParser){ .arena = arena, .source = source };
  parser->token_array = sql_lexer_run (source, MAX_TOKENS, &overflow);
  parser->tokens = (const SqlToken *) (gpointer) parser->token_array->data;
  parser->n = parser->token_array->len;
  if (overflow)
    return base_error_set (error, SLUICE_ERROR_SQL_TOO_LARGE, "the statement has more than %d tokens", MAX_TOKENS);
  parser->match_array = match_parentheses (parser->tokens, parser->n);
  parser->match = parser->match_array;
  return TRUE;
}

void
sql_parser_clear (SqlParser *parser)
{
  g_clear_pointer (&parser->token_array, g_array_unref);
  g_clear_pointer (&parser->match_array, g_free);
  g_clear_error (&parser->error);
}

gboolean
sql_parser_at (const SqlParser *parser, SqlWord a, SqlWord b, SqlWord c, SqlWord d)
{
  return sql_parser_word (parser, 0) == a && (b == SQL_WORD_OTHER || sql_parser_word (parser, 1) == b) &&
         (c == SQL_WORD_OTHER || sql_parser_word (parser, 2) == c) &&
         (d == SQL_WORD_OTHER || sql_parser_word (parser, 3) == d);
}

static guint
count_words (SqlWord b, SqlWord c, SqlWord d)
{
  return 1 + (b != SQL_WORD_OTHER) + (c != SQL_WORD_OTHER) + (d != SQL_WORD_OTHER);
}

gboolean
sql_parser_accept (SqlParser *parser, SqlWord a, SqlWord b, SqlWord c, SqlWord d)
{
  if (!sql_parser_at (parser, a, b, c, d))
    return FALSE;
  parser->at += count_words (b, c, d);
  return TRUE;
}

gboolean
sql_parser_expect (SqlParser *parser, SqlWord a, SqlWord b, SqlWord c, SqlWord d)
{
  const SqlWord words[] = { a, b, c, d };
  guint n = count_words (b, c, d);
  for (guint i = 0; i < n; i++) {
    if (sql_parser_word (parser, 0) != words[i]) {
      sql_parser_fail (parser, sql_word_text (words[i]));
      return FALSE;
    }
    parser->at++;
  }
  return TRUE;
}

gboolean
sql_parser_accept_token (SqlParser *parser, SqlTokenKind kind)
{
  if (sql_parser_kind (parser, 0) != kind || kind == SQL_TOKEN_END)
    return FALSE;
  parser->at++;
  return TRUE;
}

gboolean
sql_parser_expect_token (SqlParser *parser, SqlTokenKind kind, const char *what)
{
  if (sql_parser_accept_token (parser, kind))
    return TRUE;
  sql_parser_fail (parser, what);
  return FALSE;
}

gboolean
sql_parser_at_end (const SqlParser *parser)
{
  return sql_parser_kind (parser, 0) == SQL_TOKEN_END;
}

/* ------------------------------------------------------------------ errors and positions */

SqlPosition
sql_parser_here (const SqlParser *parser)
{
  const SqlToken *token = sql_parser_token (parser, 0);
  return (SqlPosition){ parser->source, token->begin, token->end, token->line, token->column };
}

SqlPosition
sql_parser_span (const SqlParser *parser, guint start)
{
  const SqlToken *first = &parser->tokens[MIN (start, parser->n - 1)];
  const SqlToken *last = &parser->tokens[parser->at > start ? parser->at - 1 : start];
  return (SqlPosition){ parser->source, first->begin, MAX (last->end, first->begin), first->line, first->column };
}

static void
take_error (SqlParser *parser, const SqlPosition *position, GError *error)
{
  if (parser->error != NULL) {
    g_error_free (error);
  } else {
    parser->error = error;
    sql_position_add_to_error (position, &parser->error);
  }
  parser->at = parser->n - 1;
}

gpointer
sql_parser_fail_at (SqlParser *parser, const SqlPosition *position, SluiceError code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  GError *error = NULL;
  base_error_set (&error, code, "%s", message);
  take_error (parser, position, error);
  return NULL;
}

static const char *
bad_token_text (SqlBad why)
{
  switch (why) {
  case SQL_BAD_CHARACTER:
    return "a character that SQL does not have";
  case SQL_BAD_STRING:
    return "the string literal has no closing quote";
  case SQL_BAD_QUOTED:
    return "the quoted name is empty or has no closing backtick";
  case SQL_BAD_COMMENT:
    return "the comment has no closing */";
  case SQL_BAD_UTF8:
    return "the text is not valid UTF-8";
  }
  return "";
}

gpointer
sql_parser_fail (SqlParser *parser, const char *expected)
{
  if (parser->error != NULL)
    return NULL;
  SqlPosition here = sql_parser_here (parser);
  const SqlToken *token = sql_parser_token (parser, 0);
  if (token->kind == SQL_TOKEN_BAD)
    return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "syntax error: %s",
                               bad_token_text ((SqlBad) token->word));
  if (token->kind == SQL_TOKEN_END)
    return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                               "syntax error at the end of the statement: expected %s", expected);
  g_autofree char *bytes = g_strndup (parser->source->text + token->begin, MIN (token->end - token->begin, 60));
  g_autofree char *text = g_utf8_make_valid (bytes, -1);
  return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "syntax error at or near %s: expected %s",
                             text, expected);
}

gboolean
sql_parser_enter (SqlParser *parser)
{
  if (++parser->depth <= MAX_NESTING)
    return TRUE;
  parser->depth--;
  SqlPosition here = sql_parser_here (parser);
  sql_parser_fail_at (parser, &here, SLUICE_ERROR_SQL_TOO_DEEP, "the statement is nested more than %d levels deep",
                      MAX_NESTING);
  return FALSE;
}

void
sql_parser_leave (SqlParser *parser)
{
  parser->depth--;
}

void
sql_parser_deepen (SqlParser *parser, guint *depth, guint below)
{
  *depth = MAX (*depth, below + 1);
  if (*depth <= MAX_HEIGHT)
    return;
  SqlPosition here = sql_parser_here (parser);
  sql_parser_fail_at (parser, &here, SLUICE_ERROR_SQL_TOO_DEEP,
                      "the statement makes a tree of more than %d levels; split the chain of operators or joins",
                      MAX_HEIGHT);
}

gpointer
sql_parser_keep (SqlParser *parser, const GArray *array)
{
  gsize size = (gsize) array->len * g_array_get_element_size ((GArray *) array);
  if (size == 0)
    return NULL;
  gpointer copy = sql_arena_alloc (parser->arena, size);
  memcpy (copy, array->data, size);
  return copy;
}

/* ------------------------------------------------------------------ names and texts */

gboolean
sql_parser_at_ident (const SqlParser *parser, guint ahead)
{
  SqlTokenKind kind = sql_parser_kind (parser, ahead);
  return kind == SQL_TOKEN_WORD || kind == SQL_TOKEN_QUOTED;
}

gboolean
sql_parser_ident (SqlParser *parser, SqlIdent *ident)
{
  const SqlToken *token = sql_parser_token (parser, 0);
  if (token->kind != SQL_TOKEN_WORD && token->kind != SQL_TOKEN_QUOTED) {
    sql_parser_fail (parser, "a name");
    return FALSE;
  }
  const char *text = parser->source->text + token->begin;
  gsize length = token->end - token->begin;
  *ident = (SqlIdent){ .position = sql_parser_here (parser), .quoted = token->kind == SQL_TOKEN_QUOTED };
  if (!ident->quoted) {
    ident->text = sql_arena_strndup (parser->arena, text, length);
  } else {
    if (memchr (text, 0, length) != NULL || !g_utf8_validate_len (text, length, NULL)) {
      sql_parser_fail_at (parser, &ident->position, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                          "syntax error: the quoted name is not valid UTF-8 text");
      return FALSE;
    }
    char *out = sql_arena_alloc (parser->arena, length);
    ident->text = out;
    for (gsize i = 1; i + 1 < length; i++) {
      *out++ = text[i];
      if (text[i] == '`')
        i++;
    }
  }
  parser->at++;
  return TRUE;
}

const SqlIdent *
sql_parser_keep_ident (SqlParser *parser, const SqlIdent *ident)
{
  SqlIdent *copy = sql_arena_new0 (parser->arena, SqlIdent);
  *copy = *ident;
  return copy;
}

gboolean
sql_parser_ident_list (SqlParser *parser, SqlIdentList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlIdent));
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  do {
    SqlIdent ident;
    if (!sql_parser_ident (parser, &ident))
      return FALSE;
    g_array_append_val (items, ident);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  list->items = sql_parser_keep (parser, items);
  list->n = items->len;
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

/* The text of a constant expression of string literals joined by ||, NULL when it is none. */
static char *
constant_text (const SqlExpr *expr)
{
  if (expr->kind == SQL_EXPR_LITERAL && expr->u.literal.kind == SQL_LITERAL_STRING)
    return g_strdup (expr->u.literal.text);
  if (expr->kind != SQL_EXPR_BINARY || expr->u.binary.op != SQL_BINARY_CONCAT)
    return NULL;
  g_autofree char *left = constant_text (expr->u.binary.left);
  g_autofree char *right = left != NULL ? constant_text (expr->u.binary.right) : NULL;
  return right != NULL ? g_strconcat (left, right, NULL) : NULL;
}

/* IDENTIFIER('a.b'): the text is parsed as a name of its own. */
gboolean
sql_parser_split_name (SqlParser *parser, const SqlPosition *position, const char *text, SqlName *name)
{
  GError *error = NULL;
  SqlName *parsed = sql_parse_name (parser->arena, text, -1, &error);
  if (parsed == NULL) {
    sql_parser_fail_at (parser, position, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "syntax error: '%s' is not a name", text);
    g_error_free (error);
    return FALSE;
  }
  *name = *parsed;
  name->position = *position;
  for (guint i = 0; i < name->n; i++)
    name->parts[i].position = *position;
  return TRUE;
}

static gboolean
parse_dynamic_name (SqlParser *parser, guint start, SqlName *name)
{
  parser->at += 2;
  SqlExpr *expr = sql_parser_expression (parser);
  if (expr == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return FALSE;
  g_autofree char *text = constant_text (expr);
  SqlPosition position = sql_parser_span (parser, start);
  if (text != NULL)
    return sql_parser_split_name (parser, &position, text, name);
  *name = (SqlName){ .position = position, .dynamic = expr };
  return TRUE;
}

gboolean
sql_parser_name (SqlParser *parser, SqlName *name)
{
  guint start = parser->at;
  if (AT1 (parser, IDENTIFIER) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN)
    return parse_dynamic_name (parser, start, name);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (SqlIdent));
  do {
    SqlIdent ident;
    if (!sql_parser_ident (parser, &ident))
      return FALSE;
    g_array_append_val (parts, ident);
    if (parts->len > MAX_NAME_PARTS) {
      sql_parser_fail_at (parser, &ident.position, SLUICE_ERROR_SQL_TOO_DEEP, "a name has more than %d parts",
                          MAX_NAME_PARTS);
      return FALSE;
    }
  } while (sql_parser_at_ident (parser, 1) && sql_parser_accept_token (parser, SQL_TOKEN_DOT));
  *name = (SqlName){ .position = sql_parser_span (parser, start) };
  name->parts = sql_parser_keep (parser, parts);
  name->n = parts->len;
  return TRUE;
}

gboolean
sql_parser_name_list (SqlParser *parser, SqlNameList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlName));
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  do {
    SqlName name;
    if (!sql_parser_name (parser, &name))
      return FALSE;
    g_array_append_val (items, name);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  list->items = sql_parser_keep (parser, items);
  list->n = items->len;
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

const char *
sql_parser_string (SqlParser *parser, gsize *length)
{
  if (sql_parser_kind (parser, 0) != SQL_TOKEN_STRING)
    return sql_parser_fail (parser, "a string");
  g_autoptr (GString) text = g_string_new (NULL);
  SqlPosition here = sql_parser_here (parser);
  while (sql_parser_kind (parser, 0) == SQL_TOKEN_STRING) {
    const SqlToken *token = sql_parser_token (parser, 0);
    sql_lexer_decode_string (parser->source->text + token->begin, token->end - token->begin, text);
    parser->at++;
  }
  for (gsize at = 0; at < text->len;) {
    const char *end;
    if (g_utf8_validate_len (text->str + at, text->len - at, &end))
      break;
    at = (gsize) (end - text->str);
    if (text->str[at] != 0)
      return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                                 "syntax error: the string literal is not valid UTF-8");
    at++;
  }
  if (length != NULL)
    *length = text->len;
  else if (strlen (text->str) != text->len)
    return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                               "syntax error: a zero character may not stand here");
  return sql_arena_strndup (parser->arena, text->str, text->len);
}

static const char *
property_key (SqlParser *parser)
{
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_STRING)
    return sql_parser_string (parser, NULL);
  g_autoptr (GString) key = g_string_new (NULL);
  do {
    SqlIdent ident;
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_INTEGER) {
      const SqlToken *token = sql_parser_token (parser, 0);
      g_string_append_len (key, parser->source->text + token->begin, token->end - token->begin);
      parser->at++;
    } else if (sql_parser_ident (parser, &ident)) {
      g_string_append (key, ident.text);
    } else {
      return NULL;
    }
    if (sql_parser_kind (parser, 0) == SQL_TOKEN_DOT)
      g_string_append_c (key, '.');
  } while (sql_parser_accept_token (parser, SQL_TOKEN_DOT));
  return sql_arena_strdup (parser->arena, key->str);
}

/* The text of a constant: what a property is set to. NULL for anything else. */
static const char *
constant_value (SqlParser *parser, const SqlExpr *value)
{
  if (value->kind == SQL_EXPR_LITERAL && value->u.literal.kind != SQL_LITERAL_NULL &&
      value->u.literal.kind != SQL_LITERAL_BINARY)
    return value->u.literal.text;
  g_autofree char *joined = constant_text (value);
  return sql_arena_strdup (parser->arena, joined);
}

gboolean
sql_parser_properties (SqlParser *parser, SqlPropertyList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlProperty));
  list->given = TRUE;
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  if (sql_parser_accept_token (parser, SQL_TOKEN_CLOSE))
    return TRUE;
  do {
    guint start = parser->at;
    SqlProperty property = { .key = property_key (parser) };
    if (property.key == NULL)
      return FALSE;
    if (sql_parser_accept_token (parser, SQL_TOKEN_EQ) ||
        (sql_parser_kind (parser, 0) != SQL_TOKEN_COMMA && sql_parser_kind (parser, 0) != SQL_TOKEN_CLOSE)) {
      property.expression = sql_parser_expression (parser);
      if (property.expression == NULL)
        return FALSE;
      property.value = constant_value (parser, property.expression);
    }
    property.position = sql_parser_span (parser, start);
    g_array_append_val (items, property);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  list->items = sql_parser_keep (parser, items);
  list->n = items->len;
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )");
}

/* ------------------------------------------------------------------ entry points */

typedef gpointer (*ParseFunc) (SqlParser *parser);

static gboolean
check_size (gsize length, const SqlParseOptions *options, GError **error)
{
  if (length <= MAX_TEXT)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_SQL_TOO_LARGE, "the text has %" G_GSIZE_FORMAT " bytes, more than %d", length,
                  MAX_TEXT);
  base_error_set_position (error, options != NULL ? options->file : NULL, 1, 1, NULL);
  return FALSE;
}

/* Runs @func over all of @source; nothing but `;` may be left. */
static gpointer
run_parser (SqlArena *arena, const SqlSource *source, ParseFunc func, GError **error)
{
  SqlParser parser;
  gpointer result = NULL;
  if (sql_parser_init (&parser, arena, source, error)) {
    result = func (&parser);
    while (result != NULL && parser.error == NULL && sql_parser_accept_token (&parser, SQL_TOKEN_SEMICOLON))
      ;
    if (result != NULL && parser.error == NULL && !sql_parser_at_end (&parser))
      sql_parser_fail (&parser, "the end of the statement");
    if (parser.error != NULL) {
      g_propagate_error (error, g_steal_pointer (&parser.error));
      result = NULL;
    }
  }
  sql_parser_clear (&parser);
  return result;
}

static gpointer
parse_whole (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options, ParseFunc func,
             GError **error)
{
  gsize size = length < 0 ? strlen (text) : (gsize) length;
  if (!check_size (size, options, error))
    return NULL;
  SqlSource *source = sql_source_new (arena, text, size, options);
  if (options != NULL && options->substitute != NULL) {
    source = sql_source_new_piece (arena, source, 0, size, source->first_line, 1, options, error);
    if (source == NULL || !check_size (source->length, options, error))
      return NULL;
  }
  return run_parser (arena, source, func, error);
}

static gpointer
statement_func (SqlParser *parser)
{
  if (sql_parser_at_end (parser)) {
    SqlPosition here = sql_parser_here (parser);
    return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_EMPTY_STATEMENT, "there is no statement");
  }
  return sql_parser_statement (parser);
}

static gpointer
query_func (SqlParser *parser)
{
  return sql_parser_query (parser);
}

static gpointer
expression_func (SqlParser *parser)
{
  return sql_parser_expression (parser);
}

static gpointer
named_func (SqlParser *parser)
{
  SqlNamed *named = sql_arena_new0 (parser->arena, SqlNamed);
  return sql_parser_named (parser, named) ? named : NULL;
}

static gpointer
name_func (SqlParser *parser)
{
  SqlName *name = sql_arena_new0 (parser->arena, SqlName);
  return sql_parser_name (parser, name) ? name : NULL;
}

static gpointer
table_func (SqlParser *parser)
{
  return sql_parser_table (parser);
}

SqlStatement *
sql_parse_statement (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options, GError **error)
{
  return parse_whole (arena, text, length, options, statement_func, error);
}

SqlQuery *
sql_parse_query (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options, GError **error)
{
  return parse_whole (arena, text, length, options, query_func, error);
}

SqlExpr *
sql_parse_expression (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options, GError **error)
{
  return parse_whole (arena, text, length, options, expression_func, error);
}

SqlNamed *
sql_parse_named_expression (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options,
                            GError **error)
{
  return parse_whole (arena, text, length, options, named_func, error);
}

SqlName *
sql_parse_name (SqlArena *arena, const char *text, gssize length, GError **error)
{
  return parse_whole (arena, text, length, NULL, name_func, error);
}

SqlRelation *
sql_parse_table (SqlArena *arena, const char *text, gssize length, GError **error)
{
  return parse_whole (arena, text, length, NULL, table_func, error);
}

/* ------------------------------------------------------------------ scripts */

struct SqlScriptParser {
  SqlArena *arena;
  SqlParseOptions options;
  gboolean has_options;
  const SqlSource *whole; /* NULL: too large, said at the first call */
  gsize length;
  gsize at;
  guint line; /* of @at */
  guint column;
};

SqlScriptParser *
sql_script_parser_new (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options)
{
  SqlScriptParser *parser = g_new0 (SqlScriptParser, 1);
  parser->arena = sql_arena_ref (arena);
  parser->length = length < 0 ? strlen (text) : (gsize) length;
  if (options != NULL)
    parser->options = *options;
  parser->options.file = options != NULL ? sql_arena_strdup (arena, options->file) : NULL;
  if (parser->length <= MAX_TEXT)
    parser->whole = sql_source_new (arena, text, parser->length, options);
  parser->line = parser->whole != NULL ? parser->whole->first_line : 1;
  parser->column = 1;
  return parser;
}

void
sql_script_parser_free (SqlScriptParser *parser)
{
  if (parser == NULL)
    return;
  sql_arena_unref (parser->arena);
  g_free (parser);
}

static void
advance_script (SqlScriptParser *parser, gsize to)
{
  for (; parser->at < to; parser->at++) {
    guchar c = (guchar) parser->whole->original[parser->at];
    if (c == '\n') {
      parser->line++;
      parser->column = 1;
    } else if ((c & 0xC0) != 0x80) {
      parser->column++;
    }
  }
}

gboolean
sql_script_parser_next (SqlScriptParser *parser, SqlStatement **statement, GError **error)
{
  if (parser->whole == NULL) {
    gsize length = parser->length;
    parser->length = 0;
    if (!check_size (length, &parser->options, error))
      return FALSE;
  }
  while (parser->at < parser->length) {
    gboolean content;
    gboolean closed;
    gsize begin = parser->at;
    gsize end = sql_lexer_piece_end (parser->whole->original, parser->length, begin, &content, &closed);
    guint line = parser->line;
    guint column = parser->column;
    advance_script (parser, MIN (end + 1, parser->length));
    if (!content)
      continue;
    SqlSource *source =
        sql_source_new_piece (parser->arena, parser->whole, begin, end, line, column, &parser->options, error);
    if (source == NULL || !check_size (source->length, &parser->options, error))
      return FALSE;
    SqlStatement *parsed = run_parser (parser->arena, source, statement_func, error);
    if (parsed == NULL)
      return FALSE;
    *statement = parsed;
    return TRUE;
  }
  *statement = NULL;
  return TRUE;
}

SqlScript *
sql_parse_script (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options, GError **error)
{
  g_autoptr (SqlScriptParser) parser = sql_script_parser_new (arena, text, length, options);
  g_autoptr (GPtrArray) statements = g_ptr_array_new ();
  SqlStatement *statement;
  do {
    if (!sql_script_parser_next (parser, &statement, error))
      return NULL;
    if (statement != NULL)
      g_ptr_array_add (statements, statement);
  } while (statement != NULL);
  SqlScript *script = sql_arena_new0 (arena, SqlScript);
  script->n = statements->len;
  script->statements = sql_arena_new0_n (arena, SqlStatement *, statements->len);
  if (statements->len > 0)
    memcpy (script->statements, statements->pdata, statements->len * sizeof (gpointer));
  return script;
}

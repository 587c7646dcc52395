/* Statements: the dispatcher. */
#include "sql-parser-private.h"

SqlStatement *
sql_parser_statement (SqlParser *parser)
{
  guint start = parser->at;
  SqlStatement *statement = sql_arena_new0 (parser->arena, SqlStatement);
  statement->kind = SQL_STATEMENT_QUERY;
  statement->u.query = sql_parser_query (parser);
  if (statement->u.query == NULL)
    return NULL;
  statement->n_parameters = parser->n_questions;
  statement->position = sql_parser_span (parser, start);
  return statement;
}

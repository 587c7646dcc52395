/* Spark SQL text → syntax tree.
 *
 * Every function is pure: the same text gives the same tree. Trees live in the caller's arena (sql-build.h).
 *
 * Bounds: text of at most 16 MiB, 2,000,000 tokens a statement, 200 levels of parentheses and subqueries, trees (long chains of
 * operators, joins, UNIONs) of at most 2,000 levels; beyond them SLUICE_ERROR_SQL_TOO_LARGE and SLUICE_ERROR_SQL_TOO_DEEP. Any bytes are safe as input.
 *
 * Errors of all: SLUICE_ERROR_PARSE_SYNTAX_ERROR with file, line, column, source line and what was expected;
 * SLUICE_ERROR_PARSE_EMPTY_STATEMENT; SLUICE_ERROR_UNSUPPORTED_FEATURE for a construct that Spark has and this engine has not;
 * SLUICE_ERROR_INVALID_NUMERIC_LITERAL_RANGE and the conditions of AUTO CDC clauses that are wrong in themselves. They always
 * carry a position. After an error the arena may hold some unreachable memory, and stays usable.
 * Threads: any, one arena in one thread.
 */
#pragma once

#include "sql-build.h"

G_BEGIN_DECLS

/**
 * SqlSubstitute:
 * @key: the text between `${` and `}`
 * @value: (out) (transfer full): what to put there
 *
 * Looks up one configuration variable. Returns: FALSE with @error set when there is none; the position is added by the caller.
 */
typedef gboolean (*SqlSubstitute) (const char *key, char **value, gpointer data, GError **error);

typedef struct {
  const char *file;         /* (nullable): for positions only */
  guint first_line;         /* line number of the text's first line; 0 means 1 */
  SqlSubstitute substitute; /* (nullable): then `${` has no meaning */
  gpointer substitute_data;
} SqlParseOptions;

/* One statement's own piece of a text. */
typedef struct {
  gsize begin; /* byte offsets into the text, first and one past the last byte of the statement; without the `;` */
  gsize end;
} SqlPiece;

/**
 * sql_split:
 * @length: of @text in bytes, -1: up to NUL
 * @pieces: (out) (transfer full) (element-type SqlPiece): statements in order, the empty ones left out
 * @complete: (out) (nullable): whether the text ends outside of literals and comments and its last statement was ended by `;`
 *   (what an interactive shell needs to know)
 *
 * Cuts a text at `;` outside of literals, comments and quoted names; never fails: an open literal reaches to the end.
 */
void sql_split (const char *text, gssize length, GArray **pieces, gboolean *complete);

typedef struct {
  SqlStatement **statements;
  guint n;
} SqlScript;

/**
 * sql_parse_script:
 * @options: (nullable)
 *
 * Parses all statements of a text. A SET key = value statement changes nothing here; callers that let SET feed the
 * substitution of later statements use sql_script_parser_*.
 *
 * Returns: (nullable): NULL on error; an empty text is a script of no statements.
 */
SqlScript *sql_parse_script (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options,
                             GError **error);

/* One statement after the other, so that the caller can act between them (SET feeding `${…}` of later statements; going on
 * after an error). The text must stay valid until the parser is freed. */
typedef struct SqlScriptParser SqlScriptParser;
SqlScriptParser *sql_script_parser_new (SqlArena *arena, const char *text, gssize length,
                                        const SqlParseOptions *options);
/* @statement: (out): NULL at the end. Returns: FALSE on error; then the next call goes on behind the failed statement. */
gboolean sql_script_parser_next (SqlScriptParser *parser, SqlStatement **statement, GError **error);
void sql_script_parser_free (SqlScriptParser *parser); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SqlScriptParser, sql_script_parser_free)

/* Exactly one statement, maybe followed by one `;`. */
SqlStatement *sql_parse_statement (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options,
                                   GError **error);
/* Exactly one query, expression, name, list of column definitions. Returns: NULL on error. */
SqlQuery *sql_parse_query (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options,
                           GError **error);
SqlExpr *sql_parse_expression (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options,
                               GError **error);
/* `e AS x`, `e AS (k, v)`, `e`. */
SqlNamed *sql_parse_named_expression (SqlArena *arena, const char *text, gssize length, const SqlParseOptions *options,
                                      GError **error);
SqlName *sql_parse_name (SqlArena *arena, const char *text, gssize length, GError **error);
/* A table reference: name with time travel, options, STREAM. No alias, no join. */
SqlRelation *sql_parse_table (SqlArena *arena, const char *text, gssize length, GError **error);
/* `INT`, `array<struct<a: INT>>`. Returns: (transfer full): NULL on error. */
BaseType *sql_parse_type (const char *text, gssize length, GError **error);
/* `id INT NOT NULL, name STRING COMMENT 'x'`, also `a: INT, b: STRING` and a whole `STRUCT<…>`: a struct type.
 * Returns: (transfer full): NULL on error. */
BaseType *sql_parse_schema (const char *text, gssize length, GError **error);

/* The type of a column, or of a place inside one: of a field, of `element` of an array, of `key` or `value` of a map. */
typedef struct {
  char **path; /* at least one name */
  BaseType *type;
} SqlSchemaHint;
/* `a INT, b.c DATE`. Returns: (transfer full) (element-type SqlSchemaHint): NULL on error. */
GPtrArray *sql_parse_schema_hints (const char *text, gssize length, GError **error);

G_END_DECLS

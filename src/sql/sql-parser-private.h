/* The parser: recursive descent over the tokens of one text.
 *
 * 1. The first error wins. After it the parser stands on the END token, so that every loop ends by itself; functions that make a
 *    node return NULL then, and nobody looks into a node before asking.
 * 2. Recursion is bounded by @depth (sql_parser_enter), the height of trees by sql_parser_deepen; both give SQL_TOO_DEEP.
 * 3. Look-ahead is by index into the tokens; @match jumps over parentheses. Nothing is parsed twice.
 */
#pragma once

#include "base-error.h"
#include "sql-lexer-private.h"

G_BEGIN_DECLS

typedef struct {
  SqlArena *arena;
  const SqlSource *source;
  const SqlToken *tokens;
  guint n;            /* END included */
  const guint *match; /* of an OPEN: index of its CLOSE, or n - 1 */
  guint at;
  guint depth;
  guint n_questions;
  GError *error;
  GArray *token_array;
  guint *match_array;
} SqlParser;

/* Errors: SQL_TOO_LARGE. sql_parser_clear() afterwards in any case. */
gboolean sql_parser_init (SqlParser *parser, SqlArena *arena, const SqlSource *source, GError **error);
void sql_parser_clear (SqlParser *parser);

static inline const SqlToken *
sql_parser_token (const SqlParser *parser, guint ahead)
{
  guint index = parser->at + ahead;
  return &parser->tokens[index < parser->n ? index : parser->n - 1];
}

static inline SqlTokenKind
sql_parser_kind (const SqlParser *parser, guint ahead)
{
  return (SqlTokenKind) sql_parser_token (parser, ahead)->kind;
}

/* SQL_WORD_OTHER for anything but an unquoted keyword. */
static inline SqlWord
sql_parser_word (const SqlParser *parser, guint ahead)
{
  const SqlToken *token = sql_parser_token (parser, ahead);
  return token->kind == SQL_TOKEN_WORD ? (SqlWord) token->word : SQL_WORD_OTHER;
}

/* Up to four words in a row, ended by SQL_WORD_OTHER. */
gboolean sql_parser_at (const SqlParser *parser, SqlWord a, SqlWord b, SqlWord c, SqlWord d);
gboolean sql_parser_accept (SqlParser *parser, SqlWord a, SqlWord b, SqlWord c, SqlWord d);
gboolean sql_parser_expect (SqlParser *parser, SqlWord a, SqlWord b, SqlWord c, SqlWord d);
#define AT1(p, a)              sql_parser_at ((p), SQL_WORD_##a, SQL_WORD_OTHER, SQL_WORD_OTHER, SQL_WORD_OTHER)
#define AT2(p, a, b)           sql_parser_at ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_OTHER, SQL_WORD_OTHER)
#define AT3(p, a, b, c)        sql_parser_at ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_##c, SQL_WORD_OTHER)
#define ACCEPT1(p, a)          sql_parser_accept ((p), SQL_WORD_##a, SQL_WORD_OTHER, SQL_WORD_OTHER, SQL_WORD_OTHER)
#define ACCEPT2(p, a, b)       sql_parser_accept ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_OTHER, SQL_WORD_OTHER)
#define ACCEPT3(p, a, b, c)    sql_parser_accept ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_##c, SQL_WORD_OTHER)
#define ACCEPT4(p, a, b, c, d) sql_parser_accept ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_##c, SQL_WORD_##d)
#define EXPECT1(p, a)          sql_parser_expect ((p), SQL_WORD_##a, SQL_WORD_OTHER, SQL_WORD_OTHER, SQL_WORD_OTHER)
#define EXPECT2(p, a, b)       sql_parser_expect ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_OTHER, SQL_WORD_OTHER)
#define EXPECT3(p, a, b, c)    sql_parser_expect ((p), SQL_WORD_##a, SQL_WORD_##b, SQL_WORD_##c, SQL_WORD_OTHER)

gboolean sql_parser_accept_token (SqlParser *parser, SqlTokenKind kind);
gboolean sql_parser_expect_token (SqlParser *parser, SqlTokenKind kind, const char *what);
/* Whether the tokens end here (END). */
gboolean sql_parser_at_end (const SqlParser *parser);

/* PARSE_SYNTAX_ERROR at the current token. Returns: NULL always. */
gpointer sql_parser_fail (SqlParser *parser, const char *expected);
/* Any condition at a position. Returns: NULL always. */
gpointer sql_parser_fail_at (SqlParser *parser, const SqlPosition *position, SluiceError code, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

SqlPosition sql_parser_here (const SqlParser *parser);
/* From token @start to the token before the current one. */
SqlPosition sql_parser_span (const SqlParser *parser, guint start);

/* Returns: FALSE with SQL_TOO_DEEP when too deep; else sql_parser_leave() must follow. */
gboolean sql_parser_enter (SqlParser *parser);
void sql_parser_leave (SqlParser *parser);
/* Makes *@depth more than @below. */
void sql_parser_deepen (SqlParser *parser, guint *depth, guint below);

/* Copies a temporary array into the arena. */
gpointer sql_parser_keep (SqlParser *parser, const GArray *array);

/* ---- pieces (sql-parser.c) */
gboolean sql_parser_at_ident (const SqlParser *parser, guint ahead);    /* any word or `name` */
gboolean sql_parser_ident (SqlParser *parser, SqlIdent *ident);         /* any word or `name` */
gboolean sql_parser_ident_list (SqlParser *parser, SqlIdentList *list); /* ( a, b ) */
gboolean sql_parser_name (SqlParser *parser, SqlName *name);            /* a.b.c, IDENTIFIER(…) */
gboolean sql_parser_name_list (SqlParser *parser, SqlNameList *list);   /* ( a.b, c ) */
const char *sql_parser_string (SqlParser *parser, gsize *length); /* adjacent literals joined; @length (nullable) */
gboolean sql_parser_properties (SqlParser *parser, SqlPropertyList *list); /* ( k = v, … ) or ( k, … ) */
const SqlIdent *sql_parser_keep_ident (SqlParser *parser, const SqlIdent *ident);
gboolean sql_parser_split_name (SqlParser *parser, const SqlPosition *position, const char *text, SqlName *name);

/* ---- sql-parse-expression.c */
SqlExpr *sql_parser_expression (SqlParser *parser);
SqlExpr *sql_parser_value (SqlParser *parser); /* without predicates, NOT, AND, OR */
SqlExpr *sql_parser_new_expr (SqlParser *parser, SqlExprKind kind);
gboolean sql_parser_sort_list (SqlParser *parser, SqlSortList *list);
gboolean sql_parser_expression_list (SqlParser *parser, SqlExprList *list);     /* a, b */
gboolean sql_parser_window (SqlParser *parser, SqlWindow *window);              /* ( … ) or name */
SqlExpr *sql_parser_call (SqlParser *parser, const SqlName *name, guint start); /* stands on ( */
SqlExpr *sql_parser_constant (SqlParser *parser); /* literal of a property value, maybe signed */

/* ---- sql-parse-query.c */
SqlQuery *sql_parser_query (SqlParser *parser);
SqlRelation *sql_parser_table (SqlParser *parser);            /* table or function reference, no alias */
SqlRelation *sql_parser_relation_primary (SqlParser *parser); /* with alias, no join */
gboolean sql_parser_travel (SqlParser *parser, SqlTravel *travel);
/* Whether the OPEN token at index @open begins ( query ). */
gboolean sql_parser_is_query (const SqlParser *parser, guint open);
gboolean sql_parser_starts_query (SqlWord word);
gboolean sql_parser_named_list (SqlParser *parser, SqlNamedList *list);
gboolean sql_parser_named (SqlParser *parser, SqlNamed *named);
const SqlIdent *sql_parser_alias (SqlParser *parser); /* (nullable): [AS] name where a table alias may stand */

/* ---- sql-parse-type.c */
gboolean sql_parser_type (SqlParser *parser, SqlType *type);
gboolean sql_parser_interval_unit (SqlParser *parser, guint ahead, SqlIntervalUnit *unit, gboolean *plural);

/* ---- sql-parse-statement.c, sql-parse-table.c, sql-parse-change.c */
SqlStatement *sql_parser_statement (SqlParser *parser);
gboolean sql_parser_partition (SqlParser *parser, SqlPartitionValue **items, guint *n); /* PARTITION ( … ) */
gboolean sql_parser_create (SqlParser *parser, SqlStatement *statement); /* stands on CREATE or REPLACE */
gboolean sql_parser_apply_changes (SqlParser *parser, SqlStatement *statement);
gboolean sql_parser_column (SqlParser *parser, SqlColumn *column, gboolean type_required);
gboolean sql_parser_constraint (SqlParser *parser, SqlConstraint *constraint); /* table constraint */
gboolean sql_parser_cluster_by (SqlParser *parser, SqlClusterBy *cluster_by);
gboolean sql_parser_refresh_policy (SqlParser *parser, SqlRefreshPolicy *policy);
const char *sql_parser_schedule (SqlParser *parser);
gboolean sql_parser_insert (SqlParser *parser, SqlInsert *insert, gboolean in_flow); /* stands on INSERT */
gboolean sql_parser_change (SqlParser *parser, SqlStatement *statement);             /* UPDATE, DELETE, MERGE */
gboolean sql_parser_alter (SqlParser *parser, SqlStatement *statement);
gboolean sql_parser_maintain (SqlParser *parser, SqlStatement *statement); /* OPTIMIZE … CONVERT */

G_END_DECLS

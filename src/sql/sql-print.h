/* Syntax tree → Spark SQL text.
 *
 * parse(print(tree)) is the tree again (positions apart). Keywords are upper case, names are quoted where needed, everything is
 * on one line, parentheses stand only where precedence needs them.
 */
#pragma once

#include "sql-tree.h"

G_BEGIN_DECLS

/* Returns: (transfer full). */
char *sql_print_expression (const SqlExpr *expression);
char *sql_print_query (const SqlQuery *query);
char *sql_print_relation (const SqlRelation *relation);
char *sql_print_statement (const SqlStatement *statement);
/* `'it\'s'`: a string literal of Spark. @length: in bytes, -1: up to NUL. Returns: (transfer full). */
char *sql_print_string_literal (const char *text, gssize length);

G_END_DECLS

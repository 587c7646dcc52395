/* Pieces of printing shared by expressions, queries and statements. Everything appends to @out. */
#pragma once

#include "sql-print.h"

G_BEGIN_DECLS

void sql_print_ident (GString *out, const SqlIdent *ident);
void sql_print_idents (GString *out, const SqlIdentList *list); /* a, b */
void sql_print_name (GString *out, const SqlName *name);
void sql_print_names (GString *out, const SqlNameList *list);
void sql_print_string (GString *out, const char *text, gsize length);
void sql_print_text (GString *out, const char *text); /* a string literal of a NUL-terminated text */
void sql_print_expr (GString *out, const SqlExpr *expr);
void sql_print_exprs (GString *out, const SqlExprList *list);
void sql_print_sort (GString *out, const SqlSortList *list);
void sql_print_window (GString *out, const SqlWindow *window);
void sql_print_named (GString *out, const SqlNamedList *list);
void sql_print_properties (GString *out, const SqlPropertyList *list); /* ( … ) */
void sql_print_travel (GString *out, const SqlTravel *travel);         /* with a space before it */
void sql_print_select_query (GString *out, const SqlQuery *query);
void sql_print_from (GString *out, const SqlRelation *relation);

G_END_DECLS

/* Visiting a tree without knowing all of it. */
#pragma once

#include "sql-tree.h"

G_BEGIN_DECLS

/* What a visitor answers. */
typedef enum {
  SQL_WALK_ON,   /* go into the node's parts */
  SQL_WALK_SKIP, /* not into the parts of this one */
  SQL_WALK_STOP, /* end the whole walk */
} SqlWalk;

/* Each slot is (nullable). Nodes are visited before their parts, in the order of the text; queries inside expressions too. */
typedef struct {
  SqlWalk (*expression) (const SqlExpr *expression, gpointer data);
  SqlWalk (*relation) (const SqlRelation *relation, gpointer data);
  SqlWalk (*query) (const SqlQuery *query, gpointer data);
} SqlVisitor;

/* Returns: FALSE when a visitor stopped the walk. */
gboolean sql_walk_expression (const SqlExpr *expression, const SqlVisitor *visitor, gpointer data);
gboolean sql_walk_relation (const SqlRelation *relation, const SqlVisitor *visitor, gpointer data);
gboolean sql_walk_query (const SqlQuery *query, const SqlVisitor *visitor, gpointer data);

/**
 * SqlReferenceFunc:
 * @relation: a SQL_RELATION_TABLE that names no CTE in scope, or a SQL_RELATION_FUNCTION; for `TABLE t` as a query or argument a
 *   relation made up for the call
 *
 * Calls once per table reference of a query, what a graph of datasets needs.
 */
typedef void (*SqlReferenceFunc) (const SqlRelation *relation, gpointer data);
void sql_query_each_reference (const SqlQuery *query, SqlReferenceFunc func, gpointer data);

G_END_DECLS

/* How strongly an expression binds, for reading and printing alike. */
#pragma once

#include "sql-tree.h"

G_BEGIN_DECLS

/* Loosest first: this is SqlBaseParser.g4's order. */
enum {
  SQL_LEVEL_LAMBDA,
  SQL_LEVEL_OR,
  SQL_LEVEL_AND,
  SQL_LEVEL_NOT,
  SQL_LEVEL_PREDICATE, /* BETWEEN, IN, LIKE, IS: one only */
  SQL_LEVEL_COMPARISON,
  SQL_LEVEL_BIT_OR,
  SQL_LEVEL_BIT_XOR,
  SQL_LEVEL_BIT_AND,
  SQL_LEVEL_SHIFT,
  SQL_LEVEL_ADD,
  SQL_LEVEL_MULTIPLY,
  SQL_LEVEL_UNARY,
  SQL_LEVEL_PRIMARY, /* with what follows it: . [] :: : */
};

typedef struct {
  const char *text;
  guint level;
} SqlBinaryOperator;

extern const SqlBinaryOperator sql_binary_operators[]; /* by SqlBinaryOp */

G_END_DECLS

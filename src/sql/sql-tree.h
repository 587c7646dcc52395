/* The syntax tree of Spark SQL as this engine reads it: what was written, with positions, and nothing resolved.
 *
 * Memory: every node, list and text lives in one SqlArena and is valid as long as somebody holds a reference on that arena.
 * Nodes are never freed one by one; whoever keeps a node keeps the arena (sql_arena_ref). Trees are read-only once parsed;
 * front ends that are not SQL text (Python, checks added by the engine) build the same nodes with the helpers of
 * sql-build.h. A node may be shared by several trees of one arena.
 *
 * Conventions: a list is {items, n} and empty when absent; a pointer marked (nullable) is NULL when the clause was not
 * written; texts are UTF-8 and NUL-terminated; texts of literals also carry a length, because they may hold NUL.
 * Names keep the spelling of the source, without quotes. Parentheses leave no node.
 */
#pragma once

#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct SqlArena SqlArena;   /* sql-build.h */
typedef struct SqlSource SqlSource; /* the text that was parsed: file name, lines; lives in the arena */

typedef struct SqlExpr SqlExpr;
typedef struct SqlQuery SqlQuery;
typedef struct SqlBody SqlBody;
typedef struct SqlRelation SqlRelation;
typedef struct SqlStatement SqlStatement;

/* Where a node stood. @begin and @end are byte offsets into the text the lexer saw (after `${…}` was substituted); @line and
 * @column (in characters) count from 1 and refer to the original text; 0 and NULL for nodes that were built by hand. */
typedef struct {
  const SqlSource *source; /* (nullable) */
  guint32 begin;
  guint32 end;
  guint32 line;
  guint32 column;
} SqlPosition;

/* One identifier as written. */
typedef struct {
  SqlPosition position;
  const char *text; /* never empty */
  gboolean quoted;  /* stood in backticks */
} SqlIdent;

typedef struct {
  SqlIdent *items;
  guint n;
} SqlIdentList;

/* A name of one or more parts: `a`, `s.t`, `c.s.t`, ``delta.`/dir` ``. IDENTIFIER('a.b') of constant text is already taken
 * apart; @dynamic is IDENTIFIER(…) around anything else, then @n is 0. */
typedef struct {
  SqlPosition position;
  SqlIdent *parts;
  guint n;
  SqlExpr *dynamic; /* (nullable) */
} SqlName;

typedef struct {
  SqlName *items;
  guint n;
} SqlNameList;

typedef struct {
  SqlExpr **items;
  guint n;
} SqlExprList;

/* A data type as written. CHAR(n) and VARCHAR(n) are STRING in @base at every depth; @text keeps them. */
typedef struct {
  SqlPosition position;
  BaseType *base;   /* owned by the arena */
  const char *text; /* canonical DDL: `DECIMAL(10,2)`, `STRUCT<a: VARCHAR(3) NOT NULL>` */
  enum { SQL_TYPE_PLAIN, SQL_TYPE_CHAR, SQL_TYPE_VARCHAR } length_kind; /* of the outermost type */
  guint length;
} SqlType;

/* ---------------------------------------------------------------- expressions */

typedef enum {
  SQL_EXPR_LITERAL,
  SQL_EXPR_INTERVAL,  /* INTERVAL literal in units; INTERVAL '3 days' is a SQL_LITERAL_TYPED */
  SQL_EXPR_COLUMN,    /* a, t.a, a.b.c: what is table, column, field is the binder's to find */
  SQL_EXPR_STAR,      /* *, t.*, * EXCEPT (…) */
  SQL_EXPR_PARAMETER, /* :name, ? */
  SQL_EXPR_FIELD,     /* base.field where base is no column name */
  SQL_EXPR_INDEX,     /* base[index] */
  SQL_EXPR_JSON_PATH, /* base:path */
  SQL_EXPR_UNARY,
  SQL_EXPR_BINARY,
  SQL_EXPR_BETWEEN,
  SQL_EXPR_IN_LIST,
  SQL_EXPR_IN_QUERY,
  SQL_EXPR_LIKE, /* LIKE, ILIKE, RLIKE/REGEXP */
  SQL_EXPR_IS,   /* IS [NOT] NULL, TRUE, FALSE, UNKNOWN, DISTINCT FROM */
  SQL_EXPR_CASE,
  SQL_EXPR_CAST,
  SQL_EXPR_CALL, /* every function call, special forms included */
  SQL_EXPR_LAMBDA,
  SQL_EXPR_ROW,      /* (a, b, …): two or more */
  SQL_EXPR_ALIAS,    /* a AS x: only as an argument of struct(…) and in PIVOT */
  SQL_EXPR_SUBQUERY, /* scalar */
  SQL_EXPR_EXISTS,
  SQL_EXPR_TABLE, /* TABLE t, TABLE(query) as an argument of a table function */
} SqlExprKind;

typedef enum {
  SQL_LITERAL_NULL,
  SQL_LITERAL_BOOLEAN,
  SQL_LITERAL_INTEGER,  /* digits without suffix: INT, else BIGINT, else DECIMAL by size */
  SQL_LITERAL_TINYINT,  /* 1Y */
  SQL_LITERAL_SMALLINT, /* 1S */
  SQL_LITERAL_BIGINT,   /* 1L */
  SQL_LITERAL_FLOAT,    /* 1F */
  SQL_LITERAL_DOUBLE,   /* 1D, 1E3 */
  SQL_LITERAL_DECIMAL,  /* 1.5, 1BD, 1E3BD */
  SQL_LITERAL_STRING,   /* escapes decoded, adjacent literals joined */
  SQL_LITERAL_BINARY,   /* X'…' as bytes */
  SQL_LITERAL_TYPED,    /* DATE'…': the word in @type_name, upper case; the text is not checked */
} SqlLiteralKind;

/* Numbers keep their digits in @text without suffix, with a leading `-` when the literal was written after a minus sign
 * (Spark: -2147483648 is an INT literal); the ranges of Y, S, L, F, D and BD were checked while parsing. */
typedef struct {
  SqlLiteralKind kind;
  const char *text;      /* number, string, bytes, typed text; "true"/"false"; "NULL" */
  gsize length;          /* of @text in bytes */
  gboolean truth;        /* BOOLEAN */
  const char *type_name; /* TYPED: DATE, TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP_LTZ, TIME, INTERVAL */
} SqlLiteral;

typedef enum {
  SQL_UNIT_NONE,
  SQL_UNIT_YEAR,
  SQL_UNIT_MONTH,
  SQL_UNIT_WEEK,
  SQL_UNIT_DAY,
  SQL_UNIT_HOUR,
  SQL_UNIT_MINUTE,
  SQL_UNIT_SECOND,
  SQL_UNIT_MILLISECOND,
  SQL_UNIT_MICROSECOND,
  SQL_UNIT_NANOSECOND,
} SqlIntervalUnit;

/* One `value unit` of INTERVAL 1 DAY -2 HOURS, or the only one of INTERVAL '1-2' YEAR TO MONTH. */
typedef struct {
  SqlPosition position;
  const char *text; /* the number, or the inside of the string */
  gboolean quoted;  /* stood as a string */
  gboolean negated; /* a minus sign stood before it (not part of @text) */
  SqlIntervalUnit unit;
  SqlIntervalUnit to; /* NONE without TO */
} SqlIntervalPart;

typedef struct {
  SqlIntervalPart *parts;
  guint n;
} SqlInterval;

typedef enum {
  SQL_UNARY_NOT,
  SQL_UNARY_MINUS,
  SQL_UNARY_PLUS,
  SQL_UNARY_BIT_NOT,
} SqlUnaryOp;

typedef enum {
  SQL_BINARY_OR,
  SQL_BINARY_AND,
  SQL_BINARY_EQ,
  SQL_BINARY_NULL_SAFE_EQ, /* <=> */
  SQL_BINARY_NE,           /* <> and != */
  SQL_BINARY_LT,
  SQL_BINARY_LE,
  SQL_BINARY_GT,
  SQL_BINARY_GE,
  SQL_BINARY_BIT_OR,
  SQL_BINARY_BIT_XOR,
  SQL_BINARY_BIT_AND,
  SQL_BINARY_SHIFT_LEFT,
  SQL_BINARY_SHIFT_RIGHT,
  SQL_BINARY_SHIFT_RIGHT_UNSIGNED,
  SQL_BINARY_CONCAT, /* || */
  SQL_BINARY_ADD,
  SQL_BINARY_SUBTRACT,
  SQL_BINARY_MULTIPLY,
  SQL_BINARY_DIVIDE,
  SQL_BINARY_MODULO,
  SQL_BINARY_INT_DIVIDE, /* DIV */
} SqlBinaryOp;

typedef enum { SQL_LIKE_LIKE, SQL_LIKE_ILIKE, SQL_LIKE_RLIKE } SqlLikeOp;
typedef enum { SQL_QUANTIFIER_NONE, SQL_QUANTIFIER_ANY, SQL_QUANTIFIER_ALL } SqlQuantifier; /* SOME is ANY */

typedef enum {
  SQL_IS_NULL,
  SQL_IS_TRUE,
  SQL_IS_FALSE,
  SQL_IS_UNKNOWN,
  SQL_IS_DISTINCT_FROM,
} SqlIsKind;

typedef struct {
  SqlExpr *condition; /* or the compared value when CASE has an operand */
  SqlExpr *result;
} SqlWhen;

typedef enum { SQL_STEP_FIELD, SQL_STEP_INDEX, SQL_STEP_WILDCARD } SqlStepKind;

/* One step of `base:a.b['c'][0][*]`; a further `:` is read like a `.`. */
typedef struct {
  SqlPosition position;
  SqlStepKind kind;
  const char *name;   /* FIELD */
  gboolean bracketed; /* FIELD: written ['name'] (exact case) */
  gint64 index;       /* INDEX */
} SqlPathStep;

typedef enum { SQL_DIRECTION_DEFAULT, SQL_DIRECTION_ASC, SQL_DIRECTION_DESC } SqlDirection;
typedef enum { SQL_NULLS_DEFAULT, SQL_NULLS_FIRST, SQL_NULLS_LAST } SqlNullsOrder;

typedef struct {
  SqlExpr *value;
  SqlDirection direction;
  SqlNullsOrder nulls;
} SqlSortItem;

typedef struct {
  SqlSortItem *items;
  guint n;
} SqlSortList;

typedef enum {
  SQL_BOUND_UNBOUNDED_PRECEDING,
  SQL_BOUND_PRECEDING, /* value PRECEDING */
  SQL_BOUND_CURRENT_ROW,
  SQL_BOUND_FOLLOWING, /* value FOLLOWING */
  SQL_BOUND_UNBOUNDED_FOLLOWING,
} SqlBoundKind;

typedef struct {
  SqlPosition position;
  SqlBoundKind kind;
  SqlExpr *value; /* PRECEDING, FOLLOWING */
} SqlBound;

typedef struct {
  gboolean range; /* RANGE, else ROWS */
  SqlBound start;
  SqlBound end; /* CURRENT ROW when only one bound was written */
} SqlFrame;

/* OVER w and OVER (w): @name alone. OVER (PARTITION BY … ORDER BY … frame): the rest. */
typedef struct {
  SqlPosition position;
  const SqlIdent *name; /* (nullable) */
  SqlExprList partition_by;
  SqlSortList order_by;
  SqlFrame *frame; /* (nullable) */
} SqlWindow;

typedef struct {
  const SqlIdent *name; /* (nullable): name => value */
  SqlExpr *value;
} SqlArg;

typedef enum {
  SQL_CALL_PLAIN,     /* f(a, b) */
  SQL_CALL_BARE,      /* CURRENT_DATE without parentheses; no args */
  SQL_CALL_EXTRACT,   /* EXTRACT(field FROM source): args = field as string literal, source */
  SQL_CALL_SUBSTRING, /* SUBSTRING(s FROM p [FOR n]): args = s, p [, n] */
  SQL_CALL_POSITION,  /* POSITION(a IN b): args = a, b */
  SQL_CALL_TRIM,      /* TRIM([BOTH|LEADING|TRAILING] [chars] FROM s): args = s [, chars] */
  SQL_CALL_OVERLAY,   /* OVERLAY(s PLACING r FROM p [FOR n]): args = s, r, p [, n] */
  SQL_CALL_UNIT, /* DATEADD(DAY, …), DATEDIFF(DAY, …, …), TIMESTAMPADD, TIMESTAMPDIFF: args[0] = unit as string literal */
} SqlCallForm;

typedef enum { SQL_TRIM_BOTH, SQL_TRIM_LEADING, SQL_TRIM_TRAILING } SqlTrimSide;
typedef enum { SQL_NULL_TREATMENT_DEFAULT, SQL_NULL_TREATMENT_RESPECT, SQL_NULL_TREATMENT_IGNORE } SqlNullTreatment;

/* @name is as written; the words of special forms are `extract`, `trim`, … in the writer's spelling. count(*) has a
 * SQL_EXPR_STAR as its argument. */
typedef struct {
  SqlName name;
  SqlCallForm form;
  SqlArg *args;
  guint n_args;
  gboolean distinct;
  SqlTrimSide trim_side;    /* TRIM */
  gboolean trim_side_given; /* TRIM */
  SqlSortList within_group; /* WITHIN GROUP (ORDER BY …) */
  SqlExpr *filter;          /* (nullable): FILTER (WHERE …) */
  SqlNullTreatment nulls;   /* inside or behind the parentheses */
  SqlWindow *over;          /* (nullable) */
} SqlCall;

struct SqlExpr {
  SqlExprKind kind;
  guint depth; /* levels of the tree from here down, 1 for a leaf; bounded, so that recursion over a tree is safe */
  SqlPosition position; /* of the whole expression, without parentheses around it */
  SqlPosition at;       /* where an error is best shown: the operator, the function's name, else = position */
  union {
    SqlLiteral literal;
    SqlInterval interval;
    struct {
      SqlName name;
    } column;
    struct {
      SqlName qualifier; /* n = 0: none */
      SqlNameList except;
      gboolean has_except;
    } star;
    struct {
      const char *name; /* (nullable): NULL for ? */
      guint index;      /* of this ? among all ? of the statement, from 0 */
    } parameter;
    struct {
      SqlExpr *base;
      SqlIdent name;
    } field;
    struct {
      SqlExpr *base;
      SqlExpr *index;
    } index;
    struct {
      SqlExpr *base;
      SqlPathStep *steps;
      guint n;
    } path;
    struct {
      SqlUnaryOp op;
      SqlExpr *operand;
    } unary;
    struct {
      SqlBinaryOp op;
      SqlExpr *left;
      SqlExpr *right;
    } binary;
    struct {
      SqlExpr *value;
      SqlExpr *low;
      SqlExpr *high;
      gboolean negated;
    } between;
    struct {
      SqlExpr *value;
      SqlExprList items;
      gboolean negated;
    } in_list;
    struct {
      SqlExpr *value; /* a ROW for (a, b) IN (…) */
      SqlQuery *query;
      gboolean negated;
    } in_query;
    struct {
      SqlLikeOp op;
      SqlQuantifier quantifier;
      SqlExpr *value;
      SqlExprList patterns; /* one without a quantifier */
      SqlExpr *escape;      /* (nullable): a string literal */
      gboolean negated;
    } like;
    struct {
      SqlIsKind test;
      SqlExpr *value;
      SqlExpr *other; /* DISTINCT FROM */
      gboolean negated;
    } is;
    struct {
      SqlExpr *operand; /* (nullable): CASE operand WHEN … */
      SqlWhen *whens;
      guint n;
      SqlExpr *otherwise; /* (nullable) */
    } cases;
    struct {
      SqlExpr *value;
      SqlType type;
      gboolean is_try;   /* TRY_CAST */
      gboolean is_colon; /* value::type */
    } cast;
    SqlCall call;
    struct {
      SqlIdentList params;
      SqlExpr *body;
    } lambda;
    SqlExprList row;
    struct {
      SqlExpr *value;
      SqlIdent name;
    } alias;
    SqlQuery *query; /* SUBQUERY, EXISTS */
    struct {
      SqlName name;    /* n = 0 when @query */
      SqlQuery *query; /* (nullable) */
    } table;
  } u;
};

/* ---------------------------------------------------------------- queries */

/* An expression with the names given to its results: `e`, `e AS x`, `e AS (k, v)`. */
typedef struct {
  SqlPosition position;
  SqlExpr *value;
  SqlIdentList aliases;     /* one, or several in parentheses */
  gboolean aliases_in_list; /* written in parentheses */
} SqlNamed;

typedef struct {
  SqlNamed *items;
  guint n;
} SqlNamedList;

typedef struct {
  SqlPosition position;
  SqlIdent name;
  SqlIdentList columns;
  SqlQuery *query;
} SqlCte;

typedef struct {
  SqlIdent name;
  SqlWindow window;
} SqlNamedWindow;

typedef enum {
  SQL_GROUP_NONE,
  SQL_GROUP_LIST, /* GROUP BY a, b, and any mix with ROLLUP/CUBE/GROUPING SETS: see @items */
  SQL_GROUP_ALL,  /* GROUP BY ALL */
} SqlGroupKind;

typedef enum { SQL_GROUP_ITEM_EXPR, SQL_GROUP_ITEM_ROLLUP, SQL_GROUP_ITEM_CUBE, SQL_GROUP_ITEM_SETS } SqlGroupItemKind;

/* EXPR: one set of one expression. ROLLUP/CUBE: @sets are their elements, each one or more expressions. SETS: each a grouping
 * set, maybe empty; a nested ROLLUP/CUBE/GROUPING SETS inside SETS stands in @nested. */
typedef struct SqlGroupItem SqlGroupItem;
struct SqlGroupItem {
  SqlPosition position;
  SqlGroupItemKind kind;
  SqlExprList *sets;
  guint n_sets;
  SqlGroupItem *nested; /* SETS only */
  guint n_nested;
};

typedef struct {
  SqlGroupKind kind;
  SqlGroupItem *items;
  guint n;
  /* The old form `GROUP BY a, b WITH ROLLUP|CUBE` and `GROUP BY a, b GROUPING SETS (…)` are rewritten into one item. */
} SqlGroupBy;

typedef struct {
  gboolean distinct;
  gboolean implicit; /* `FROM t` without SELECT: items is one star */
  SqlNamedList items;
  SqlRelation *from; /* (nullable); several items are joined with SQL_JOIN_COMMA */
  SqlExpr *where;    /* (nullable) */
  SqlGroupBy group_by;
  SqlExpr *having;  /* (nullable) */
  SqlExpr *qualify; /* (nullable) */
  SqlNamedWindow *windows;
  guint n_windows;
} SqlSelect;

typedef enum { SQL_SET_UNION, SQL_SET_EXCEPT, SQL_SET_INTERSECT } SqlSetOp; /* MINUS is EXCEPT */

typedef enum {
  SQL_BODY_SELECT,
  SQL_BODY_SET,
  SQL_BODY_VALUES,
  SQL_BODY_TABLE, /* TABLE t */
  SQL_BODY_QUERY, /* ( query ) */
  SQL_BODY_PIPE,  /* input |> operator */
} SqlBodyKind;

/* The ORDER BY … OFFSET part of a query. */
typedef struct {
  SqlSortList order_by;
  gboolean order_by_all; /* ORDER BY ALL: @order_by holds one item with value NULL for its direction */
  SqlExprList cluster_by;
  SqlExprList distribute_by;
  SqlSortList sort_by;
  SqlNamedWindow *windows; /* WINDOW after a set operation */
  guint n_windows;
  SqlExpr *limit; /* (nullable): also for LIMIT ALL, see @limit_all */
  gboolean limit_all;
  SqlExpr *offset; /* (nullable) */
} SqlOrganization;

typedef enum {
  SQL_PIPE_SELECT,
  SQL_PIPE_EXTEND,
  SQL_PIPE_SET,
  SQL_PIPE_DROP,
  SQL_PIPE_AS,
  SQL_PIPE_WHERE,
  SQL_PIPE_AGGREGATE,
  SQL_PIPE_RELATION, /* JOIN, PIVOT, UNPIVOT, TABLESAMPLE, LATERAL VIEW: @relation's innermost left input is NULL = the pipe's input */
  SQL_PIPE_SET_OPERATION,
  SQL_PIPE_ORGANIZE, /* ORDER BY, SORT BY, LIMIT, … */
} SqlPipeKind;

typedef struct {
  SqlPosition position;
  SqlPipeKind kind;
  gboolean distinct;     /* SELECT */
  SqlNamedList items;    /* SELECT, EXTEND, AGGREGATE; SET: value AS column */
  SqlNamedList group_by; /* AGGREGATE: GROUP BY list with aliases */
  gboolean group_by_all; /* AGGREGATE */
  SqlNameList names;     /* DROP */
  SqlIdent alias;        /* AS */
  SqlExpr *condition;    /* WHERE */
  SqlRelation *relation; /* RELATION */
  SqlSetOp set_op;       /* SET_OPERATION */
  gboolean set_all;
  SqlBody *right;
  SqlOrganization organization; /* ORGANIZE */
} SqlPipe;

struct SqlBody {
  SqlBodyKind kind;
  guint depth; /* as in SqlExpr, queries and expressions inside counted */
  SqlPosition position;
  union {
    SqlSelect select;
    struct {
      SqlSetOp op;
      gboolean all; /* ALL; without it DISTINCT */
      SqlBody *left;
      SqlBody *right;
    } set;
    struct {
      SqlExprList *rows; /* a row of one value may be written without parentheses */
      guint n;
      const SqlIdent *alias; /* (nullable): VALUES … AS t(a, b) as a query */
      SqlIdentList columns;
    } values;
    SqlName table;
    SqlQuery *query;
    struct {
      SqlBody *input;
      SqlPipe *op;
    } pipe;
  } u;
};

struct SqlQuery {
  SqlPosition position;
  guint depth; /* as in SqlBody */
  SqlCte *ctes;
  guint n_ctes;
  SqlBody *body;
  SqlOrganization organization;
};

/* ---------------------------------------------------------------- relations */

/* One entry of an option or property list. */
typedef struct {
  SqlPosition position;
  const char *key; /* dotted keys as one text: `delta.appendOnly` */
  const char
      *value; /* (nullable): the constant's text: string content, number, true/false; NULL if not constant or absent */
  SqlExpr *expression; /* (nullable): the value as written */
} SqlProperty;

typedef struct {
  SqlProperty *items;
  guint n;
  gboolean given; /* the clause was written, maybe empty */
} SqlPropertyList;

typedef enum {
  SQL_TRAVEL_NONE,
  SQL_TRAVEL_VERSION,      /* VERSION AS OF n, FOR SYSTEM_VERSION AS OF n, t@v123: @value */
  SQL_TRAVEL_TIMESTAMP,    /* TIMESTAMP AS OF e, FOR SYSTEM_TIME AS OF e: @value */
  SQL_TRAVEL_AT_TIMESTAMP, /* t@yyyyMMddHHmmssSSS: @value is a string literal of these 17 digits, session time zone */
} SqlTravelKind;

typedef struct {
  SqlPosition position;
  SqlTravelKind kind;
  SqlExpr *value;
} SqlTravel;

/* t CHANGES FROM VERSION a [INCLUSIVE | EXCLUSIVE] [TO VERSION b [INCLUSIVE | EXCLUSIVE]], or with TIMESTAMP. */
typedef struct {
  SqlPosition position;
  SqlTravelKind kind; /* NONE (nothing was written), VERSION, TIMESTAMP */
  SqlExpr *start;
  SqlExpr *end; /* (nullable) */
  gboolean start_exclusive;
  gboolean end_exclusive;
} SqlChanges;

typedef enum {
  SQL_RELATION_TABLE,
  SQL_RELATION_FUNCTION, /* read_files(…), range(10), explode(…) in FROM */
  SQL_RELATION_SUBQUERY,
  SQL_RELATION_VALUES,
  SQL_RELATION_JOIN,
  SQL_RELATION_LATERAL_VIEW, /* input LATERAL VIEW [OUTER] f(…) t AS a, b */
  SQL_RELATION_PIVOT,
  SQL_RELATION_UNPIVOT,
  SQL_RELATION_SAMPLE,
} SqlRelationKind;

typedef enum {
  SQL_JOIN_COMMA, /* a, b */
  SQL_JOIN_INNER,
  SQL_JOIN_CROSS,
  SQL_JOIN_LEFT,
  SQL_JOIN_RIGHT,
  SQL_JOIN_FULL,
  SQL_JOIN_LEFT_SEMI,
  SQL_JOIN_LEFT_ANTI,
} SqlJoinKind;

typedef struct {
  SqlExprList values;    /* one, or one per FOR column */
  const SqlIdent *alias; /* (nullable) */
} SqlPivotValue;

typedef struct {
  SqlNameList columns;
  const SqlIdent *alias; /* (nullable) */
} SqlUnpivotColumn;

typedef enum { SQL_SAMPLE_PERCENT, SQL_SAMPLE_ROWS, SQL_SAMPLE_BUCKET } SqlSampleKind;

struct SqlRelation {
  SqlRelationKind kind;
  guint depth; /* as in SqlBody */
  SqlPosition position;
  const SqlIdent *alias;       /* (nullable); for LATERAL_VIEW the name of its table */
  SqlIdentList column_aliases; /* t(a, b); for LATERAL_VIEW the names after AS */
  gboolean streaming;          /* TABLE, FUNCTION: STREAM was written */
  gboolean lateral;            /* SUBQUERY, FUNCTION: LATERAL was written */
  union {
    struct {
      SqlName name;
      SqlTravel travel;
      SqlChanges changes;
      SqlPropertyList options; /* WITH (…) */
    } table;
    struct {
      SqlExpr *call; /* always SQL_EXPR_CALL */
      SqlPropertyList options;
    } function;
    SqlQuery *query;
    struct {
      SqlExprList *rows;
      guint n;
    } values;
    struct {
      SqlJoinKind kind;
      gboolean natural;
      SqlRelation *left; /* NULL only inside SQL_PIPE_RELATION, likewise @input below */
      SqlRelation *right;
      SqlExpr *on; /* (nullable) */
      SqlIdentList using;
    } join;
    struct {
      SqlRelation *input;
      gboolean outer;
      SqlExpr *call; /* always SQL_EXPR_CALL */
    } view;
    struct {
      SqlRelation *input;
      SqlNamedList aggregates;
      SqlNameList columns; /* FOR c or FOR (c, d) */
      SqlPivotValue *values;
      guint n_values;
    } pivot;
    struct {
      SqlRelation *input;
      gboolean include_nulls;
      SqlIdentList value_names;
      SqlIdent name_column;
      SqlUnpivotColumn *columns;
      guint n_columns;
    } unpivot;
    struct {
      SqlRelation *input;
      SqlSampleKind kind;
      SqlExpr *value;     /* percentage or number of rows; bucket number */
      guint n_buckets;    /* BUCKET x OUT OF n */
      SqlExpr *bucket_on; /* (nullable) */
      SqlExpr *seed;      /* (nullable): REPEATABLE (n) */
    } sample;
  } u;
};

/* ---------------------------------------------------------------- columns and tables */

typedef enum {
  SQL_CONSTRAINT_PRIMARY_KEY,
  SQL_CONSTRAINT_FOREIGN_KEY,
  SQL_CONSTRAINT_CHECK,
  SQL_CONSTRAINT_UNIQUE,
} SqlConstraintKind;

typedef struct {
  SqlPosition position;
  SqlConstraintKind kind;
  const SqlIdent *name; /* (nullable) */
  SqlIdentList columns; /* of a table constraint; empty for one written at a column */
  SqlExpr *check;       /* CHECK */
  SqlName references;   /* FOREIGN KEY */
  SqlIdentList referenced_columns;
} SqlConstraint;

typedef enum { SQL_VIOLATION_WARN, SQL_VIOLATION_DROP_ROW, SQL_VIOLATION_FAIL_UPDATE } SqlViolation;

typedef struct {
  SqlPosition position;
  SqlIdent name;
  SqlExpr *condition;
  SqlViolation on_violation;
} SqlExpectation;

typedef struct {
  SqlExpectation *items;
  guint n;
} SqlExpectationList;

typedef enum { SQL_IDENTITY_NONE, SQL_IDENTITY_ALWAYS, SQL_IDENTITY_BY_DEFAULT } SqlIdentityKind;
typedef enum { SQL_PLACE_NONE, SQL_PLACE_FIRST, SQL_PLACE_AFTER } SqlPlaceKind;

typedef struct {
  SqlPosition position;
  SqlName name;  /* one part; ALTER TABLE ADD COLUMN may name a nested field */
  SqlType *type; /* (nullable): view columns, streaming tables */
  gboolean not_null;
  SqlExpr *default_value; /* (nullable) */
  SqlExpr *generated;     /* (nullable): GENERATED ALWAYS AS (…) */
  SqlIdentityKind identity;
  const char *identity_start;     /* (nullable): digits, maybe with a sign */
  const char *identity_increment; /* (nullable) */
  const char *comment;            /* (nullable) */
  SqlConstraint *constraints;
  guint n_constraints;
  const char *mask;   /* (nullable): the text of a MASK clause, to be refused or applied */
  SqlPlaceKind place; /* ALTER TABLE ADD COLUMN … FIRST | AFTER c */
  SqlIdent place_after;
} SqlColumn;

typedef struct {
  SqlColumn *items;
  guint n;
} SqlColumnList;

typedef enum { SQL_CLUSTER_UNSET, SQL_CLUSTER_COLUMNS, SQL_CLUSTER_AUTO, SQL_CLUSTER_NONE } SqlClusterKind;

typedef struct {
  SqlPosition position;
  SqlClusterKind kind;
  SqlNameList columns;
} SqlClusterBy;

/* Which columns a clause of AUTO CDC means. */
typedef enum {
  SQL_CHOICE_UNSET,  /* clause not written */
  SQL_CHOICE_ALL,    /* clause written without a list (IGNORE NULL UPDATES) */
  SQL_CHOICE_LIST,   /* exactly these */
  SQL_CHOICE_EXCEPT, /* all but these */
} SqlChoiceKind;

typedef struct {
  SqlPosition position;
  SqlChoiceKind kind;
  SqlIdentList columns;
} SqlColumnChoice;

typedef enum { SQL_STORED_AS_UNSET, SQL_STORED_AS_SCD1, SQL_STORED_AS_SCD2, SQL_STORED_AS_BITEMPORAL } SqlStoredAs;

/* The clauses of AUTO CDC, whatever spelling or language they came from (autocdc.md §2). What excludes what is checked by the
 * graph validation, not here; only a clause written twice is a syntax error. */
typedef struct {
  SqlPosition position;
  gboolean apply_changes; /* APPLY CHANGES was written */
  gboolean once;
  SqlName target;      /* as written, LIVE. included */
  SqlRelation *source; /* (nullable): TABLE or FUNCTION, @streaming when read with STREAM; NULL for SNAPSHOT (query) */
  gboolean snapshot;   /* FROM SNAPSHOT … */
  SqlQuery *snapshot_query; /* (nullable): SNAPSHOT (query) */
  SqlQuery *version_query;  /* (nullable): WITH VERSION (query) */
  SqlIdentList keys;
  SqlExpr *where; /* (nullable) */
  SqlColumnChoice ignore_null_updates;
  SqlExpr *delete_when;        /* (nullable) */
  SqlExpr *truncate_when;      /* (nullable) */
  SqlExpr *sequence_by;        /* (nullable) */
  SqlExpr *system_sequence_by; /* (nullable) */
  SqlColumnChoice columns;
  SqlStoredAs stored_as;
  SqlColumnChoice track_history;
  const SqlIdent *columns_to_update; /* (nullable) */
} SqlAutoCdc;

/* ---------------------------------------------------------------- statements */

typedef enum {
  SQL_STATEMENT_QUERY,
  SQL_STATEMENT_CREATE_TABLE, /* tables, streaming tables, materialized views */
  SQL_STATEMENT_CREATE_VIEW,
  SQL_STATEMENT_CREATE_FLOW, /* also the legacy APPLY CHANGES INTO */
  SQL_STATEMENT_CREATE_SCHEMA,
  SQL_STATEMENT_DROP,
  SQL_STATEMENT_USE,
  SQL_STATEMENT_SET,
  SQL_STATEMENT_RESET,
  SQL_STATEMENT_SHOW,
  SQL_STATEMENT_DESCRIBE,
  SQL_STATEMENT_EXPLAIN,
  SQL_STATEMENT_INSERT,
  SQL_STATEMENT_UPDATE,
  SQL_STATEMENT_DELETE,
  SQL_STATEMENT_MERGE,
  SQL_STATEMENT_TRUNCATE,
  SQL_STATEMENT_ALTER,
  SQL_STATEMENT_COMMENT, /* COMMENT ON … IS … */
  SQL_STATEMENT_OPTIMIZE,
  SQL_STATEMENT_VACUUM,
  SQL_STATEMENT_RESTORE,
  SQL_STATEMENT_REFRESH,
  SQL_STATEMENT_REORG,
  SQL_STATEMENT_ANALYZE,
  SQL_STATEMENT_CONVERT, /* CONVERT TO DELTA */
} SqlStatementKind;

/* What a statement is about. */
typedef enum {
  SQL_OBJECT_TABLE,
  SQL_OBJECT_STREAMING_TABLE,
  SQL_OBJECT_MATERIALIZED_VIEW,
  SQL_OBJECT_VIEW,
  SQL_OBJECT_SCHEMA,
  SQL_OBJECT_CATALOG,
  SQL_OBJECT_COLUMN,
  SQL_OBJECT_FUNCTION,
  SQL_OBJECT_FLOW,
} SqlObjectKind;

typedef enum {
  SQL_POLICY_UNSET,
  SQL_POLICY_AUTO,
  SQL_POLICY_INCREMENTAL,
  SQL_POLICY_INCREMENTAL_STRICT,
  SQL_POLICY_FULL
} SqlRefreshPolicy;
typedef enum { SQL_CLONE_NONE, SQL_CLONE_SHALLOW, SQL_CLONE_DEEP } SqlCloneKind;

/* One partitioning element: a column name, a new column with a type, or a transform such as years(ts). */
typedef struct {
  SqlPosition position;
  SqlIdent name;
  SqlType *type;      /* (nullable) */
  SqlExpr *transform; /* (nullable): SQL_EXPR_CALL; then @name is empty */
} SqlPartitionField;

typedef struct {
  SqlObjectKind object; /* TABLE, STREAMING_TABLE, MATERIALIZED_VIEW */
  SqlName name;
  gboolean or_replace;
  gboolean or_refresh;
  gboolean replace; /* REPLACE TABLE without CREATE */
  gboolean if_not_exists;
  gboolean is_private; /* PRIVATE, or TEMPORARY of a pipeline dataset */
  gboolean temporary;  /* TEMPORARY was the word written */
  gboolean external;
  gboolean live;         /* the legacy spelling with LIVE */
  gboolean has_elements; /* a parenthesised list was written */
  SqlColumnList columns;
  SqlConstraint *constraints; /* table constraints */
  guint n_constraints;
  SqlExpectationList expectations;
  const SqlName *format; /* (nullable): USING */
  SqlPartitionField *partitioned_by;
  guint n_partitioned_by;
  SqlPosition partitioned_by_position;
  SqlClusterBy cluster_by;
  const char *location;       /* (nullable) */
  const char *comment;        /* (nullable) */
  SqlPropertyList properties; /* TBLPROPERTIES */
  SqlPropertyList options;    /* OPTIONS */
  const SqlName *row_filter;  /* (nullable): WITH ROW FILTER f ON (…) */
  SqlPosition row_filter_position;
  SqlIdentList row_filter_columns;
  SqlRefreshPolicy refresh_policy;
  const char *schedule; /* (nullable): the text of SCHEDULE … or TRIGGER ON … */
  SqlName like;         /* CREATE TABLE t LIKE source; n = 0: none */
  SqlCloneKind clone;   /* CREATE TABLE t [SHALLOW|DEEP] CLONE source */
  SqlName clone_source;
  SqlTravel clone_travel;
  SqlQuery *query;     /* (nullable): AS query */
  SqlAutoCdc *autocdc; /* (nullable): FLOW AUTO CDC … */
} SqlCreateTable;

typedef struct {
  SqlName name;
  gboolean or_replace;
  gboolean or_refresh;
  gboolean if_not_exists;
  gboolean temporary;
  gboolean global;
  gboolean live;
  gboolean has_elements;
  SqlColumnList columns; /* name and comment */
  SqlExpectationList expectations;
  const char *comment; /* (nullable) */
  SqlPropertyList properties;
  SqlQuery *query; /* its text: sql_position_text (&query->position) */
} SqlCreateView;

/* PARTITION (a = 1, b). */
typedef struct {
  SqlIdent name;
  SqlExpr *value; /* (nullable): dynamic */
} SqlPartitionValue;

typedef struct {
  SqlName table;
  SqlTravel travel;        /* never set by the grammar of INSERT; kept out of the name */
  SqlPropertyList options; /* WITH (…) */
  gboolean overwrite;
  gboolean once;          /* INSERT INTO ONCE, inside CREATE FLOW */
  gboolean if_not_exists; /* INSERT OVERWRITE … PARTITION … IF NOT EXISTS */
  gboolean by_name;
  SqlPartitionValue *partition;
  guint n_partition;
  SqlIdentList columns;
  SqlExpr *replace_where;     /* (nullable): INSERT INTO t REPLACE WHERE c */
  SqlIdentList replace_using; /* INSERT INTO t REPLACE USING (a, b) */
  SqlQuery *query;
} SqlInsert;

/* Either @insert or @autocdc. */
typedef struct {
  SqlName name;
  gboolean legacy;     /* APPLY CHANGES INTO t: @name is the target */
  const char *comment; /* (nullable) */
  SqlInsert *insert;   /* (nullable) */
  SqlAutoCdc *autocdc; /* (nullable) */
} SqlCreateFlow;

typedef struct {
  SqlObjectKind object; /* SCHEMA or CATALOG */
  SqlName name;
  gboolean if_not_exists;
  const char *comment;  /* (nullable) */
  const char *location; /* (nullable): LOCATION or MANAGED LOCATION */
  SqlPropertyList properties;
} SqlCreateSchema;

typedef struct {
  SqlObjectKind object; /* SCHEMA, TABLE, VIEW, MATERIALIZED_VIEW, STREAMING_TABLE, FUNCTION */
  SqlName name;
  gboolean if_exists;
  gboolean cascade;
  gboolean restrict_given;
  gboolean purge;
  gboolean temporary;
} SqlDrop;

typedef struct {
  enum { SQL_USE_NAME, SQL_USE_SCHEMA, SQL_USE_CATALOG } what; /* NAME: no word before the name */
  SqlName name;
} SqlUse;

/* SET: @key NULL lists settings. SET k: @value NULL asks. SET TIME ZONE v is @key `spark.sql.session.timeZone`. */
typedef struct {
  const char *key;   /* (nullable) */
  const char *value; /* (nullable) */
  gboolean verbose;  /* SET -v */
  gboolean time_zone;
  SqlExpr *time_zone_interval; /* (nullable): SET TIME ZONE INTERVAL …; then @value is NULL */
} SqlSet;

typedef struct {
  const char *key; /* (nullable): all */
} SqlReset;

typedef enum {
  SQL_SHOW_TABLES,
  SQL_SHOW_TABLE_EXTENDED,
  SQL_SHOW_VIEWS,
  SQL_SHOW_SCHEMAS,
  SQL_SHOW_CATALOGS,
  SQL_SHOW_COLUMNS,
  SQL_SHOW_PROPERTIES,
  SQL_SHOW_FUNCTIONS,
  SQL_SHOW_CREATE_TABLE,
  SQL_SHOW_PARTITIONS,
  SQL_SHOW_CURRENT_SCHEMA, /* SHOW CURRENT NAMESPACE|SCHEMA|DATABASE */
} SqlShowKind;

typedef struct {
  SqlShowKind kind;
  SqlName name; /* COLUMNS, PROPERTIES, CREATE TABLE, PARTITIONS: the table; FUNCTIONS: one function; n = 0: none */
  SqlName in;   /* FROM|IN schema; n = 0: none */
  const char *pattern; /* (nullable): [LIKE] 'pattern' */
  const char *scope;   /* (nullable): FUNCTIONS: USER, SYSTEM, ALL */
  const char *key;     /* (nullable): PROPERTIES: one key */
  SqlPartitionValue *partition;
  guint n_partition;
} SqlShow;

typedef enum {
  SQL_DESCRIBE_TABLE,
  SQL_DESCRIBE_HISTORY,
  SQL_DESCRIBE_DETAIL,
  SQL_DESCRIBE_SCHEMA,
  SQL_DESCRIBE_FUNCTION,
  SQL_DESCRIBE_QUERY,
  SQL_DESCRIBE_AUTO_CDC,
  SQL_DESCRIBE_CATALOG,
} SqlDescribeKind;

typedef struct {
  SqlDescribeKind kind;
  gboolean extended; /* EXTENDED or FORMATTED */
  gboolean as_json;
  SqlName name;
  SqlTravel travel;
  SqlName column; /* DESCRIBE t c; n = 0: none */
  SqlPartitionValue *partition;
  guint n_partition;
  SqlQuery *query; /* QUERY */
  SqlExpr *limit;  /* (nullable): HISTORY … LIMIT n */
} SqlDescribe;

typedef struct {
  const char *mode; /* (nullable): EXTENDED, FORMATTED, CODEGEN, COST, LOGICAL */
  SqlStatement *statement;
} SqlExplain;

typedef struct {
  SqlPosition position;
  SqlName column; /* a.b: a field */
  SqlExpr *value; /* DEFAULT is a column of that name */
} SqlAssignment;

typedef struct {
  SqlAssignment *items;
  guint n;
} SqlAssignmentList;

typedef struct {
  SqlName table;
  const SqlIdent *alias; /* (nullable) */
  SqlAssignmentList assignments;
  SqlExpr *where; /* (nullable) */
} SqlUpdate;

typedef struct {
  SqlName table;
  const SqlIdent *alias; /* (nullable) */
  SqlExpr *where;        /* (nullable) */
} SqlDelete;

typedef enum { SQL_MERGE_MATCHED, SQL_MERGE_NOT_MATCHED, SQL_MERGE_NOT_MATCHED_BY_SOURCE } SqlMergeWhen;
typedef enum {
  SQL_MERGE_UPDATE,
  SQL_MERGE_UPDATE_ALL,
  SQL_MERGE_DELETE,
  SQL_MERGE_INSERT,
  SQL_MERGE_INSERT_ALL
} SqlMergeAction;

typedef struct {
  SqlPosition position;
  SqlMergeWhen when;
  SqlExpr *condition; /* (nullable): AND … */
  SqlMergeAction action;
  SqlAssignmentList assignments; /* UPDATE */
  SqlNameList columns;           /* INSERT (…) */
  SqlExprList values;            /* INSERT … VALUES (…) */
} SqlMergeClause;

typedef struct {
  gboolean with_schema_evolution;
  SqlName target;
  const SqlIdent *alias; /* (nullable) */
  SqlRelation *source;
  SqlExpr *on;
  SqlMergeClause *clauses; /* at least one */
  guint n_clauses;
} SqlMerge;

typedef struct {
  SqlName table;
  SqlPartitionValue *partition;
  guint n_partition;
} SqlTruncate;

typedef enum {
  SQL_ALTER_ADOPT,           /* STREAMING_TABLE only */
  SQL_ALTER_ADD_COLUMNS,     /* @columns */
  SQL_ALTER_REPLACE_COLUMNS, /* @columns */
  SQL_ALTER_DROP_COLUMNS,    /* @names, @if_exists */
  SQL_ALTER_RENAME_COLUMN,   /* @column, @new_name */
  SQL_ALTER_COLUMN_TYPE,    /* @column, @type; CHANGE COLUMN c c INT … also (nullable) @text, a comment, and @place */
  SQL_ALTER_COLUMN_COMMENT, /* @column, @text */
  SQL_ALTER_COLUMN_SET_NOT_NULL,
  SQL_ALTER_COLUMN_DROP_NOT_NULL,
  SQL_ALTER_COLUMN_SET_DEFAULT, /* @column, @expression */
  SQL_ALTER_COLUMN_DROP_DEFAULT,
  SQL_ALTER_COLUMN_PLACE, /* @column, @place, @place_after */
  SQL_ALTER_RENAME,       /* @target */
  SQL_ALTER_SET_PROPERTIES,
  SQL_ALTER_UNSET_PROPERTIES, /* keys in @properties, @if_exists */
  SQL_ALTER_SET_LOCATION,     /* @text */
  SQL_ALTER_SET_OWNER,        /* @new_name */
  SQL_ALTER_ADD_CONSTRAINT,   /* @constraint */
  SQL_ALTER_DROP_CONSTRAINT,  /* @new_name; @if_exists, @cascade; PRIMARY KEY and FOREIGN KEY: @constraint */
  SQL_ALTER_CLUSTER_BY,       /* @cluster_by */
  SQL_ALTER_ADD_FEATURE,      /* @new_name */
  SQL_ALTER_DROP_FEATURE,     /* @new_name, @truncate_history */
  SQL_ALTER_ADD_PARTITIONS,   /* @partition, @if_exists means IF NOT EXISTS */
  SQL_ALTER_DROP_PARTITIONS,  /* @partition, @if_exists */
  SQL_ALTER_VIEW_QUERY,       /* @query */
  SQL_ALTER_REFRESH_POLICY,   /* @refresh_policy */
  SQL_ALTER_SCHEDULE,         /* @text; NULL: DROP SCHEDULE */
} SqlAlterKind;

typedef struct {
  SqlObjectKind object; /* TABLE, VIEW, STREAMING_TABLE, MATERIALIZED_VIEW, SCHEMA */
  SqlName name;
  SqlAlterKind action;
  SqlPosition action_position;
  SqlColumnList columns;
  SqlNameList names;
  SqlName column;
  SqlIdent new_name;
  SqlType type;
  const char *text; /* (nullable) */
  SqlExpr *expression;
  SqlPlaceKind place;
  SqlIdent place_after;
  SqlName target;
  SqlPropertyList properties;
  SqlConstraint *constraint;
  SqlClusterBy cluster_by;
  gboolean if_exists;
  gboolean cascade;
  gboolean truncate_history;
  SqlPartitionValue *partition;
  guint n_partition;
  SqlQuery *query;
  SqlRefreshPolicy refresh_policy;
} SqlAlter;

typedef struct {
  SqlObjectKind object; /* TABLE, SCHEMA, CATALOG, VIEW, COLUMN */
  SqlName name;
  const char *text; /* (nullable): IS NULL */
} SqlComment;

typedef struct {
  SqlName table;
  gboolean full;  /* OPTIMIZE t FULL */
  SqlExpr *where; /* (nullable) */
  SqlNameList zorder_by;
} SqlOptimize;

typedef struct {
  SqlName table; /* VACUUM '/dir' is the name delta.`/dir` */
  enum { SQL_VACUUM_DEFAULT, SQL_VACUUM_FULL, SQL_VACUUM_LITE } mode;
  SqlExpr *retain_hours; /* (nullable): RETAIN n HOURS */
  gboolean dry_run;
} SqlVacuum;

typedef struct {
  SqlName table;
  SqlTravel travel;
} SqlRestore;

typedef struct {
  SqlObjectKind object; /* TABLE, STREAMING_TABLE, MATERIALIZED_VIEW */
  SqlName name;
  gboolean full;
} SqlRefresh;

typedef struct {
  SqlName table;
  SqlExpr *where; /* (nullable) */
  enum { SQL_REORG_PURGE, SQL_REORG_UPGRADE_UNIFORM, SQL_REORG_CHECKPOINT } action;
} SqlReorg;

typedef struct {
  SqlName table;
  gboolean no_scan;
  gboolean all_columns;
  SqlIdentList columns;
} SqlAnalyze;

typedef struct {
  SqlName source; /* parquet.`/dir` */
  gboolean no_statistics;
  SqlColumnList partitioned_by;
} SqlConvert;

struct SqlStatement {
  SqlStatementKind kind;
  SqlPosition position; /* first to last token, without `;`; its text: sql_position_text() */
  guint n_parameters;   /* number of ? */
  union {
    SqlQuery *query;
    SqlCreateTable create_table;
    SqlCreateView create_view;
    SqlCreateFlow create_flow;
    SqlCreateSchema create_schema;
    SqlDrop drop;
    SqlUse use;
    SqlSet set;
    SqlReset reset;
    SqlShow show;
    SqlDescribe describe;
    SqlExplain explain;
    SqlInsert insert;
    SqlUpdate update;
    SqlDelete delete_; /* `delete` is a word of C++ */
    SqlMerge merge;
    SqlTruncate truncate;
    SqlAlter alter;
    SqlComment comment;
    SqlOptimize optimize;
    SqlVacuum vacuum;
    SqlRestore restore;
    SqlRefresh refresh;
    SqlReorg reorg;
    SqlAnalyze analyze;
    SqlConvert convert;
  } u;
};

G_END_DECLS

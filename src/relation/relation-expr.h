/* A typed, bound expression.
 *
 * The binder makes it from SqlExpr; function rows (relation-function.h) shape their calls; lowering prints it. Expressions live
 * in the arena of their plan and are never freed one by one; they are immutable once their parent was made.
 */
#pragma once

#include "base-type.h"
#include "relation-literal.h"
#include "sql-tree.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct RelationExpr RelationExpr;
typedef struct RelationFunction RelationFunction;
typedef struct RelationOperator RelationOperator;
typedef struct RelationBinder RelationBinder;

typedef enum {
  RELATION_EXPR_LITERAL,         /* literal */
  RELATION_EXPR_COLUMN,          /* column_id */
  RELATION_EXPR_LAMBDA_VARIABLE, /* column_id */
  RELATION_EXPR_LAMBDA,          /* args[0] = body; parameters */
  RELATION_EXPR_CAST,            /* args[0]; try_cast, store */
  RELATION_EXPR_CALL,            /* function, args, data; aggregates: distinct, filter, order */
  RELATION_EXPR_FIELD,           /* args[0], field_index: a struct's field */
  RELATION_EXPR_SUBQUERY,        /* subquery: scalar, EXISTS, IN (args = left side) */
  RELATION_EXPR_NOW,             /* the statement's clock as TIMESTAMP */
} RelationExprKind;

typedef enum {
  RELATION_SUBQUERY_SCALAR,
  RELATION_SUBQUERY_EXISTS,
  RELATION_SUBQUERY_IN,
  RELATION_SUBQUERY_NOT_IN,
} RelationSubqueryKind;

typedef struct {
  RelationExpr *expr;
  gboolean descending;
  gboolean nulls_first;
} RelationSort;

typedef enum { RELATION_FRAME_ROWS, RELATION_FRAME_RANGE } RelationFrameUnit;
typedef enum {
  RELATION_BOUND_UNBOUNDED_PRECEDING,
  RELATION_BOUND_PRECEDING,
  RELATION_BOUND_CURRENT_ROW,
  RELATION_BOUND_FOLLOWING,
  RELATION_BOUND_UNBOUNDED_FOLLOWING,
} RelationBoundKind;
typedef struct {
  RelationBoundKind kind;
  RelationExpr *offset; /* (nullable): PRECEDING and FOLLOWING */
} RelationBound;

typedef struct {
  RelationExpr **partition;
  guint n_partition;
  RelationSort *order;
  guint n_order;
  gboolean has_frame;
  RelationFrameUnit unit;
  RelationBound start;
  RelationBound end;
} RelationWindow;

struct RelationExpr {
  RelationExprKind kind;
  BaseType *type; /* owned by the arena */
  gboolean nullable;
  gboolean foldable; /* no column, no subquery, no lambda variable from outside, deterministic */
  gboolean deterministic;
  const char *display;         /* Spark's text of it (toPrettySQL), for names of columns and for errors */
  const SqlPosition *position; /* (nullable): in the text; NULL = made by the binder. Valid only while binding */
  RelationExpr **args;
  guint n_args;
  /* by kind */
  const RelationLiteral *literal;
  guint column_id;
  guint origin;      /* COLUMN: the column it was selected from unchanged, through all SELECTs; else 0 */
  guint *parameters; /* LAMBDA: ids of its variables */
  guint n_parameters;
  gboolean try_cast;
  const char *store;      /* (nullable): store assignment to this column: overflow is CAST_OVERFLOW_IN_TABLE_INSERT */
  gboolean explicit_cast; /* the user wrote it (it shows in display names) */
  guint field_index;
  const RelationFunction *function;
  gconstpointer data; /* CALL: what bind() kept for lower() */
  gboolean distinct;
  gboolean ignore_nulls;
  RelationExpr *filter; /* (nullable) FILTER (WHERE …) */
  RelationSort *order;  /* WITHIN GROUP (ORDER BY …), or the aggregate's own order */
  guint n_order;
  const RelationWindow *window; /* (nullable) OVER (…) */
  RelationSubqueryKind subquery_kind;
  RelationOperator *subquery;
};

/* Makers, for bind() callbacks; memory is the binder's. Display text and position are the callback's to keep (they are taken from
 * the call by relation_call_* where possible). */
gpointer relation_binder_alloc (RelationBinder *binder, gsize size); /* zeroed; lives as long as the plan */
char *relation_binder_printf (RelationBinder *binder, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Keeps a type as long as the plan. @type: (transfer full). Returns: (transfer none). */
BaseType *relation_binder_keep_type (RelationBinder *binder, BaseType *type);
RelationExpr *relation_expr_new_literal (RelationBinder *binder, RelationLiteral *literal); /* (transfer full) */
RelationExpr *relation_expr_new_int (RelationBinder *binder, gint32 value);
RelationExpr *relation_expr_new_string (RelationBinder *binder, const char *value);
RelationExpr *relation_expr_new_null (RelationBinder *binder, const BaseType *type);
/* A cast that Spark inserts; returns @expr itself when the types are equal but for nullability; a literal is folded where the cast
 * is plain (NULL, integer widening). The cast is not checked: ask relation_cast_check() or relation_coerce_*() first. */
RelationExpr *relation_expr_new_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type);
/* Binds a call of a function row by name, as if the user had written it. */
RelationExpr *relation_expr_new_call (RelationBinder *binder, const char *name, RelationExpr *const *args, guint n_args,
                                      GError **error);
/* The statement's clock as a TIMESTAMP: @display such as "current_timestamp()". */
RelationExpr *relation_expr_new_now (RelationBinder *binder, const char *display);
/* The value of a foldable expression (runs it on the engine unless it is a literal). Nested values cannot be folded.
 * Returns: (transfer none), lives as long as the plan. */
const RelationLiteral *relation_expr_fold (RelationBinder *binder, const RelationExpr *expr, GError **error);
/* Session time zone, for folding. */
const char *relation_binder_time_zone (RelationBinder *binder);
const char *relation_binder_user (RelationBinder *binder);
const char *relation_binder_catalog (RelationBinder *binder);
const char *relation_binder_schema (RelationBinder *binder);

/* Sets an error of the binder with the position of @at ((nullable)). Returns FALSE always. */
gboolean relation_binder_error (RelationBinder *binder, const RelationExpr *at, GError **error, int code,
                                const char *format, ...) G_GNUC_PRINTF (5, 6);

G_END_DECLS

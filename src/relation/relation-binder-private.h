/* The binder's inside: scopes, and how the files of the binder call each other. Private to this room. */
#pragma once

#include "base-error.h"
#include "relation-coerce.h"
#include "relation-function.h"
#include "relation-tree-private.h"
#include "sql-build.h"
#include "sql-tree.h"
#include "sql-walk.h"

#include <glib.h>

G_BEGIN_DECLS

/* One column that a name may mean. */
typedef struct {
  RelationColumn column;
  const char *const *qualifier; /* (nullable): parts such as {"spark_catalog", "main", "t"}, arena memory */
  guint n_qualifier;
  gboolean by_name_only;   /* hidden columns of a source: not in `*` */
  gboolean qualified_only; /* the other side's key of a USING join: not in `*`, found as t.k only */
} RelationScopeColumn;

/* window(ts, …) that became a column of the scope. */
typedef struct RelationTimeWindow RelationTimeWindow;
struct RelationTimeWindow {
  RelationTimeWindow *next;
  RelationExpr *call;
  RelationColumn column;
};

typedef struct RelationScope RelationScope;
struct RelationScope {
  RelationScopeColumn *columns;
  guint n_columns;
  RelationScope *outer; /* (nullable): the query around a subquery */
  RelationTimeWindow *time_windows;
};

/* Names given in the same SELECT list before: lateral column aliases. */
typedef struct {
  const char *name;
  RelationExpr *expr;
} RelationAlias;

typedef struct RelationLambdaScope RelationLambdaScope;
struct RelationLambdaScope {
  RelationLambdaScope *outer;
  const char *const *names;
  RelationExpr **variables;
  guint n;
};

/* Common table expressions in scope, innermost first. */
typedef struct RelationCteScope RelationCteScope;
struct RelationCteScope {
  RelationCteScope *outer;
  const char *name;
  RelationShared *shared;
  RelationOperator *root;
  gboolean streaming;
};

/* Where an expression stands. */
typedef struct {
  RelationScope *scope;
  RelationCteScope *ctes;
  const RelationLambdaScope *lambdas;
  const RelationAlias *aliases; /* output names: (array length=n_aliases) */
  guint n_aliases;
  gboolean aliases_first; /* ORDER BY, HAVING: output names before input columns */
  const SqlNamedWindow *windows;
  guint n_windows;
  const char *clause; /* (nullable): WHERE, JOIN … where aggregates and windows are not allowed */
  gboolean in_select; /* the value shows: `x IN (query)` is false instead of NULL */
  gboolean saw_alias; /* out: an output name was used */
} RelationBindScope;

struct RelationBinder {
  RelationArena *arena;
  const RelationContext *context;
  RelationResolver *resolver;
  guint next_id;
  guint depth;      /* of views and queries in each other */
  GPtrArray *plans; /* borrowed RelationPlan, RelationShared …: bound plans that the resolver gave */
};

#define RELATION_MAX_DEPTH 400

/* ---- errors ---- */
gboolean relation_bind_error (const SqlPosition *position, GError **error, int code, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* UNSUPPORTED_FEATURE at @position. */
gboolean relation_bind_unsupported (const SqlPosition *position, GError **error, const char *what);

/* ---- relation-bind-expr.c ---- */
RelationExpr *relation_bind_expr (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr,
                                  GError **error);
/* As @expr, and a boolean: DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN. */
RelationExpr *relation_bind_condition (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr,
                                       GError **error);
/* The name an unnamed output column gets. */
const char *relation_bind_output_name (RelationBinder *binder, const SqlExpr *sql, const RelationExpr *expr);
/* Binds the body of a lambda placeholder for parameters of these types. */
RelationExpr *relation_bind_lambda (RelationBinder *binder, RelationExpr *placeholder, BaseType *const *types,
                                    const gboolean *nullable, guint n_types, GError **error);
gboolean relation_bind_sort_list (RelationBinder *binder, RelationBindScope *scope, const SqlSortList *list,
                                  RelationSort **order, guint *n_order, GError **error);
/* Constant value: folds after binding without any column in scope. */
const RelationLiteral *relation_bind_constant (RelationBinder *binder, const SqlExpr *expr, const BaseType *type,
                                               GError **error);

/* named_struct() of these values under their own names; `*` and `a AS x` allowed. */
RelationExpr *relation_bind_struct (RelationBinder *binder, RelationBindScope *scope, SqlExpr *const *items, guint n,
                                    const SqlPosition *at, GError **error);

/* ---- relation-bind-call.c ---- */
gboolean relation_expr_is_grouping (const RelationExpr *expr, gboolean *is_id);
RelationExpr *relation_expr_new_grouping (RelationBinder *binder, gboolean is_id, RelationExpr **args, guint n_args,
                                          const char *display, const SqlPosition *at);
RelationExpr *relation_bind_call (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr,
                                  GError **error);

/* ---- relation-function.c ---- */
/* Finds the row for the call's name and arguments, checks, casts, and makes the expression. */
RelationExpr *relation_function_bind (RelationCall *call, GError **error);

/* ---- relation-scope.c ---- */
/* Resolves a column name; (nullable) without error when nothing has this name. */
RelationExpr *relation_scope_find (RelationBinder *binder, RelationBindScope *scope, const SqlName *name,
                                   const SqlPosition *at, gboolean *ok, GError **error);
gboolean relation_scope_unresolved (RelationBindScope *scope, const SqlName *name, const SqlPosition *at,
                                    GError **error);
/* base.name for a struct, array of structs, or map. */
RelationExpr *relation_scope_field (RelationBinder *binder, RelationExpr *base, const SqlIdent *name, GError **error);
RelationExpr *relation_scope_use (RelationBinder *binder, const RelationScopeColumn *column, const char *name,
                                  const SqlPosition *at);
RelationScope *relation_scope_new (RelationBinder *binder, guint n_columns, RelationScope *outer);
/* Columns of an operator under a table name. */
RelationScope *relation_scope_of_operator (RelationBinder *binder, RelationOperator *op, const char *const *qualifier,
                                           guint n_qualifier, RelationScope *outer);
RelationScope *relation_scope_join (RelationBinder *binder, RelationScope *left, RelationScope *right);
/* Columns that `*`, `t.*`, `* EXCEPT (…)` stand for: (element-type RelationExpr). */
gboolean relation_scope_star (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *star, GPtrArray *out,
                              GError **error);

/* ---- relation-bind-relation.c ---- */
/* FROM: an operator and the scope of its columns. @pipe_input: (nullable): the relation where the tree has NULL. */
typedef struct {
  RelationOperator *op;
  RelationScope *scope;
} RelationInput;
gboolean relation_bind_relation (RelationBinder *binder, const SqlRelation *relation, RelationScope *outer,
                                 RelationCteScope *ctes, const RelationInput *pipe_input, RelationInput *bound,
                                 GError **error);
/* VALUES: columns col1, col2 … */
gboolean relation_bind_values (RelationBinder *binder, const SqlExprList *rows, guint n_rows, RelationScope *outer,
                               RelationCteScope *ctes, const SqlPosition *at, RelationOperator **op, GError **error);
/* relation-bind-pivot.c */
RelationOperator *relation_bind_pivot (RelationBinder *binder, const SqlRelation *relation, RelationInput *input,
                                       RelationCteScope *ctes, GError **error);
RelationOperator *relation_bind_unpivot (RelationBinder *binder, const SqlRelation *relation, RelationInput *input,
                                         RelationCteScope *ctes, GError **error);
/* A generator over @bound: its columns are added. */
gboolean relation_bind_generate (RelationBinder *binder, RelationInput *bound, RelationExpr *call, gboolean outer_rows,
                                 const SqlIdentList *names, const char *qualifier, const SqlPosition *at,
                                 GError **error);

/* ---- relation-bind-query.c ---- */
RelationOperator *relation_bind_query (RelationBinder *binder, const SqlQuery *query, RelationScope *outer,
                                       RelationCteScope *ctes, GError **error);
RelationOperator *relation_bind_body (RelationBinder *binder, const SqlBody *body, const SqlOrganization *organization,
                                      RelationScope *outer, RelationCteScope *ctes, GError **error);
gboolean relation_bind_organization (RelationBinder *binder, RelationOperator **op, const SqlOrganization *organization,
                                     RelationScope *outer, RelationCteScope *ctes, GError **error);

/* relation-bind-window.c: window(ts, 'length'[, 'slide'[, 'start']]): a column `window` is added to @input; bound calls find it. */
gboolean relation_bind_time_window (RelationBinder *binder, RelationBindScope *scope, RelationInput *input,
                                    const SqlExpr *call, GError **error);

/* The column of a window() call that was put below. */
RelationExpr *relation_bind_window_use (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *sql,
                                        GError **error);

/* ---- relation-bind-select.c ---- */
RelationOperator *relation_bind_select (RelationBinder *binder, const SqlSelect *select,
                                        const SqlOrganization *organization, gboolean *sorted, RelationScope *outer,
                                        RelationCteScope *ctes, const RelationInput *pipe_input, const SqlPosition *at,
                                        GError **error);

/* ---- operators ---- */
RelationOperator *relation_op_new (RelationBinder *binder, RelationOperatorKind kind, RelationOperator *input);
RelationColumn *relation_op_columns_new (RelationBinder *binder, RelationOperator *op, guint n);
void relation_op_columns_from (RelationOperator *op, const RelationOperator *from);
void relation_column_set (RelationBinder *binder, RelationColumn *column, const char *name, BaseType *type,
                          gboolean nullable);
RelationOperator *relation_op_filter (RelationBinder *binder, RelationOperator *input, RelationExpr *condition);
/* PROJECT of @exprs; a COLUMN keeps its id when @keep_ids. */
RelationOperator *relation_op_project (RelationBinder *binder, RelationOperator *input, RelationExpr *const *exprs,
                                       const char *const *names, guint n, gboolean keep_ids);
RelationOperator *relation_op_shared (RelationBinder *binder, RelationShared *shared, const char *const *names);
RelationOperator *relation_op_set (RelationBinder *binder, RelationSetKind kind, RelationOperator *left,
                                   RelationOperator *right, const SqlPosition *at, GError **error);
RelationOperator *relation_op_source (RelationBinder *binder, RelationSource *source); /* (transfer full) */
RelationOperator *relation_op_limit (RelationBinder *binder, RelationOperator *input, gint64 limit, gint64 offset);
RelationOperator *relation_op_sort (RelationBinder *binder, RelationOperator *input, RelationSort *order, guint n_order,
                                    guint n_columns);

RelationExpr *relation_expr_new (RelationBinder *binder, RelationExprKind kind, const BaseType *type,
                                 gboolean nullable);
RelationExpr *relation_expr_new_field (RelationBinder *binder, RelationExpr *base, guint index);
RelationExpr *relation_expr_new_explicit_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type,
                                               gboolean is_try);
/* Store assignment to @column (no cast when the types are equal but for nullability). */
RelationExpr *relation_expr_new_store_cast (RelationBinder *binder, RelationExpr *expr, const BaseType *type,
                                            const char *column);
/* Merges NOT: "not"(expr). */
RelationExpr *relation_expr_not (RelationBinder *binder, RelationExpr *expr, const SqlPosition *at, GError **error);
RelationExpr *relation_expr_call_at (RelationBinder *binder, const char *name, RelationExpr *const *args, guint n_args,
                                     const SqlPosition *at, GError **error);
RelationExpr *relation_expr_and (RelationBinder *binder, RelationExpr *a, RelationExpr *b, GError **error);

void relation_binder_init (RelationBinder *binder, RelationArena *arena, const RelationContext *context, guint next_id);
/* A binder that goes on where @plan ended; @arena keeps the plan. @context: (nullable). */
void relation_binder_extend (RelationBinder *binder, RelationArena *arena, RelationPlan *plan,
                             const RelationContext *context);

G_END_DECLS

/* The operators of a bound tree, and the arena they live in. Private to this room. */
#pragma once

#include "relation-expr.h"
#include "relation-function.h"
#include "relation-plan.h"

#include <glib.h>

G_BEGIN_DECLS

/* ---- arena: memory of a plan; plans over plans keep the arenas of what they are made from ---- */

typedef struct RelationArena RelationArena;
RelationArena *relation_arena_new (void);
RelationArena *relation_arena_ref (RelationArena *arena);
void relation_arena_unref (RelationArena *arena);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationArena, relation_arena_unref)
gpointer relation_arena_alloc (RelationArena *arena, gsize size); /* zeroed */
char *relation_arena_strdup (RelationArena *arena, const char *text);
BaseType *relation_arena_keep_type (RelationArena *arena, BaseType *type);                /* (transfer full) */
void relation_arena_keep (RelationArena *arena, gpointer object, GDestroyNotify release); /* (transfer full) */

#define relation_arena_new0(arena, Type)      ((Type *) relation_arena_alloc ((arena), sizeof (Type)))
#define relation_arena_new0_n(arena, Type, n) ((Type *) relation_arena_alloc ((arena), sizeof (Type) * (gsize) (n)))

/* ---- operators ---- */

/* One output column of an operator. Ids are unique within a tree and are printed `x<id>`. */
typedef struct {
  guint id;
  const char *name; /* Spark's display name */
  BaseType *type;
  gboolean nullable;
  guint origin; /* id of the column that it is an unnamed copy of, 0 = its own */
} RelationColumn;

typedef enum {
  RELATION_OP_SOURCE,    /* source, skips */
  RELATION_OP_ONE_ROW,   /* one row without columns */
  RELATION_OP_VALUES,    /* exprs: n_rows × n_columns */
  RELATION_OP_PROJECT,   /* exprs, one per column; may hold window calls */
  RELATION_OP_FILTER,    /* condition */
  RELATION_OP_AGGREGATE, /* exprs: n_groups COLUMNs, then aggregate calls; sets */
  RELATION_OP_SORT,      /* order; columns may be fewer than the input's */
  RELATION_OP_LIMIT,     /* limit (-1 none), offset */
  RELATION_OP_DISTINCT,
  RELATION_OP_JOIN,     /* join, condition, lateral */
  RELATION_OP_SET,      /* set: input and right, columns by position */
  RELATION_OP_GENERATE, /* exprs[0] = generator call, outer; columns = input's, then the generator's */
  RELATION_OP_SHARED,   /* shared: a CTE's tree under new ids */
  RELATION_OP_EXPECT,   /* expect */
  RELATION_OP_RANGE,    /* range_start, range_end, range_step: one BIGINT column */
} RelationOperatorKind;

typedef enum {
  RELATION_JOIN_INNER,
  RELATION_JOIN_LEFT,
  RELATION_JOIN_RIGHT,
  RELATION_JOIN_FULL,
  RELATION_JOIN_CROSS,
  RELATION_JOIN_SEMI,
  RELATION_JOIN_ANTI,
} RelationJoinKind;

typedef enum {
  RELATION_SET_UNION_ALL,
  RELATION_SET_UNION,
  RELATION_SET_EXCEPT,
  RELATION_SET_EXCEPT_ALL,
  RELATION_SET_INTERSECT,
  RELATION_SET_INTERSECT_ALL,
} RelationSetKind;

/* A tree that several operators refer to: bound once, printed once as a CTE when referred to more than once. */
typedef struct {
  RelationOperator *root;
  guint n_references;
} RelationShared;

typedef struct {
  const char *dataset;
  guint n;
  const char **names;
  RelationExpectAction *actions;
  RelationExpr **conditions;
} RelationExpect;

struct RelationOperator {
  RelationOperatorKind kind;
  RelationOperator *input; /* (nullable) */
  RelationOperator *right; /* (nullable) */
  RelationColumn *columns;
  guint n_columns;
  /* by kind */
  RelationSource *source; /* kept by the arena */
  guint
      n_hidden; /* columns behind the last of @columns that only a name reaches (SOURCE, and what passes all through) */
  RelationExpr **exprs;
  guint n_exprs;
  guint n_rows; /* VALUES */
  RelationExpr *condition;
  guint n_groups;
  guint **sets; /* AGGREGATE: (nullable) grouping sets as lists of column numbers */
  guint *set_sizes;
  guint n_sets;
  guint
      grouping_id; /* AGGREGATE with sets: number of the column that holds grouping_id() of all groups, G_MAXUINT = none */
  gboolean not_empty; /* AGGREGATE without groups: no row for no input (ROLLUP) */
  RelationSort *order;
  guint n_order;
  gint64 limit;
  gint64 offset;
  RelationJoinKind join;
  gboolean lateral;
  RelationSetKind set;
  gboolean outer;
  RelationShared *shared;
  RelationExpect *expect;
  gint64 range_start, range_end, range_step;
  RelationSkip *skips;
  guint n_skips;
};

struct RelationPlan {
  gint ref_count;
  RelationArena *arena;
  RelationOperator *root;
  guint next_id;
  BaseType *schema;
  GPtrArray *sources;        /* borrowed from arenas, each once */
  const char *volatile_name; /* (nullable) */
  RelationFeatures features;
  RelationFeatures streaming_features;
  gboolean streaming;
};

/* Wraps a finished tree. Takes a reference on @arena. Returns: (transfer full). */
RelationPlan *relation_plan_new_tree (RelationArena *arena, RelationOperator *root, guint next_id);

/* ---- walking and comparing expressions (relation-expr.c) ---- */

/* @visit returns FALSE to stop. Does not enter subquery trees. Returns: FALSE when stopped. */
typedef gboolean (*RelationExprVisit) (RelationExpr *expr, gpointer data);
gboolean relation_expr_walk (RelationExpr *expr, RelationExprVisit visit, gpointer data);
/* Calls @visit for every expression of the tree, subqueries' trees included. */
gboolean relation_operator_walk_exprs (RelationOperator *op, RelationExprVisit visit, gpointer data);
/* Same meaning: same shape, functions, ids, literals. Volatile calls equal nothing. */
gboolean relation_expr_equal (const RelationExpr *a, const RelationExpr *b);
/* A copy in which @replace may put another expression in the place of a node (it returns NULL to go on into the node's parts). */
typedef RelationExpr *(*RelationExprReplace) (RelationExpr *expr, gpointer data);
RelationExpr *relation_expr_rewrite (RelationArena *arena, RelationExpr *expr, RelationExprReplace replace,
                                     gpointer data);
RelationExpr *relation_expr_new_column (RelationArena *arena, const RelationColumn *column);
gboolean relation_expr_is_aggregate (const RelationExpr *expr); /* an aggregate call without OVER */
gboolean relation_expr_has_aggregate (RelationExpr *expr);
gboolean relation_expr_has_window (RelationExpr *expr);
gboolean relation_expr_has_generator (RelationExpr *expr);
gboolean relation_expr_has_subquery (RelationExpr *expr);
gboolean relation_type_same (const BaseType *a, const BaseType *b); /* equal but for nullability and metadata */

/* ---- printing (relation-print.c) ---- */

/* Moves holds and counts of @from to @text. */
void relation_text_absorb (RelationText *text, RelationText *from);

struct RelationPrinter {
  const RelationLowering *lowering;
  RelationText *text; /* holds and counts go there */
  GPtrArray *shared;  /* RelationShared printed as CTEs, in order */
  GPtrArray *shared_texts;
  const RelationOperator *input; /* of the expressions being printed */
  GHashTable *used;              /* ids that anything names: what sources are asked for */
  guint depth;
};
gboolean relation_printer_operator (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error);
/* The same with the output columns named c0, c1 …; what it shares is in @printer. */
gboolean relation_printer_root (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error);
/* The condition part of an expectation: see relation-expect.c. */
gboolean relation_expect_print (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error);

G_END_DECLS

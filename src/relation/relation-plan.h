/* A bound query: what it yields, what it needs, and its DuckDB text.
 *
 * A RelationPlan is an immutable, reference-counted value. It is made from a query's tree, from a source, or from another plan
 * (project, filter, store assignment, union, expectations), and lowered as often as wanted: each lowering asks the leaves again.
 */
#pragma once

#include "base-settings.h"
#include "base-type.h"
#include "relation-literal.h"
#include "relation-resolver.h"
#include "relation-source.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct SqlExpr SqlExpr;
typedef struct SqlQuery SqlQuery;
typedef struct DuckSession DuckSession;

/* What binding needs from outside. All borrowed for the call only, except what a source holds itself. */
typedef struct {
  RelationResolver *resolver; /* (nullable): NULL = no table is known */
  BaseSettings *settings;     /* (nullable) */
  gint64 now_us;              /* the clock for constants such as `TIMESTAMP AS OF current_timestamp() - …` */
  DuckSession *session;       /* folds constants; its time zone is the session time zone */
  const char *file;           /* (nullable): names the text in errors */
  const char *text;           /* (nullable): the whole text, for the source line under the caret */
} RelationContext;

/* Binds @query: names, types, coercion, every analysis error with its position.
 * Errors: Spark's analysis conditions; UNSUPPORTED_FEATURE for a construct that the parser knows and the binder does not.
 * Returns: (transfer full). */
RelationPlan *relation_plan_new_query (const SqlQuery *query, const RelationContext *context, GError **error);
/* `SELECT *` of @source; its hidden columns stay reachable by relation_plan_project(). Returns: (transfer full). */
RelationPlan *relation_plan_new_source (RelationSource *source);
RelationPlan *relation_plan_ref (RelationPlan *plan);
void relation_plan_unref (RelationPlan *plan); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationPlan, relation_plan_unref)

/* ---- Facts. Borrows live as long as @plan. ---- */

/* Struct of the output columns: Spark's display names (duplicates possible), types, nullability. */
BaseType *relation_plan_schema (const RelationPlan *plan);
gboolean relation_plan_is_streaming (const RelationPlan *plan); /* any streaming leaf */
/* @reason: (out) (optional): the function that makes it not deterministic, e.g. "rand". */
gboolean relation_plan_is_deterministic (const RelationPlan *plan, const char **reason);
/* Whether values of an output column come from current_timestamp() or the like, through whatever the plan does to them. What a
 * condition let through does not count. */
gboolean relation_plan_column_tells_time (const RelationPlan *plan, guint column);
guint relation_plan_n_sources (const RelationPlan *plan);
RelationSource *relation_plan_source (const RelationPlan *plan, guint index);

typedef enum {
  RELATION_FEATURE_AGGREGATE = 1 << 0,
  RELATION_FEATURE_DISTINCT = 1 << 1,
  RELATION_FEATURE_WINDOW = 1 << 2,
  RELATION_FEATURE_SORT = 1 << 3,
  RELATION_FEATURE_LIMIT = 1 << 4,
  RELATION_FEATURE_JOIN = 1 << 5,
  RELATION_FEATURE_SUBQUERY = 1 << 6,
  RELATION_FEATURE_SET_OPERATION = 1 << 7, /* other than UNION ALL */
  RELATION_FEATURE_UNION = 1 << 8,
  RELATION_FEATURE_GENERATE = 1 << 9,
  RELATION_FEATURE_CLOCK = 1 << 10, /* reads current_timestamp() or the like */
  RELATION_FEATURE_DISTINCT_AGGREGATE = 1 << 11,
} RelationFeatures;
/* Of the whole tree. */
RelationFeatures relation_plan_features (const RelationPlan *plan);
/* Of the operators that have a streaming leaf below them: what §12 of pipelines.md must judge. @operation_position: not known. */
RelationFeatures relation_plan_streaming_features (const RelationPlan *plan);
/* Errors: UNSUPPORTED_STREAMING_OPERATION (sort, limit, window, distinct aggregate, set operation …) or
 * STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION (aggregate) when the plan cannot run batch by batch in append mode;
 * also UNSUPPORTED_STREAMING_OPERATION for a join of two streams and for an outer join that keeps the static side.
 * TRUE for a plan that does not stream at all. */
gboolean relation_plan_check_append (const RelationPlan *plan, GError **error);

/* The tree as indented text, for EXPLAIN and tests. Returns: (transfer full). */
char *relation_plan_explain (const RelationPlan *plan);

/* ---- Lowering ---- */

typedef struct {
  gint64 now_us;        /* value of current_timestamp() in this run */
  DuckSession *session; /* that will run the text; also asked to describe it when @check_types */
  gboolean
      check_types; /* compare DuckDB's types with ours (INTERNAL_ERROR); env SLUICE_CHECK_TYPES=1 also switches it on */
} RelationLowering;

/* One complete DuckDB SELECT whose columns are named c0, c1, … in the order of the schema, in the physical types of
 * duck_type_text(). The order of rows is the query's own when it sorts.
 * Errors: those of the sources' scans. Threads: one at a time per plan.
 * Returns: (transfer full); keep it until the query has ended. */
RelationText *relation_plan_lower (RelationPlan *plan, const RelationLowering *lowering, GError **error);

/* ---- Plans over plans. All take a reference on @plan and return (transfer full). ---- */

/* One output column: an expression over the input's columns (by their display names), or an input column as it is. */
typedef struct {
  const char *name;    /* (nullable): output name; NULL = the column's or the expression's display name */
  const SqlExpr *expr; /* (nullable): NULL = keep column @column */
  guint column;
  BaseType *type; /* (nullable): cast to it by store assignment (relation_plan_assign's rule), NULL = as it is */
} RelationItem;
RelationPlan *relation_plan_project (RelationPlan *plan, const RelationItem *items, guint n_items,
                                     const RelationContext *context, GError **error);
/* Rows for which @condition is TRUE. Errors: DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN and the binder's. */
RelationPlan *relation_plan_filter (RelationPlan *plan, const SqlExpr *condition, const RelationContext *context,
                                    GError **error);
/* @n_rows first rows in any order. */
RelationPlan *relation_plan_limit (RelationPlan *plan, guint64 n_rows);

typedef enum {
  RELATION_ASSIGN_BY_POSITION,   /* INSERT INTO t SELECT … */
  RELATION_ASSIGN_BY_NAME,       /* BY NAME, streaming appends: case-insensitive, also inside structs */
  RELATION_ASSIGN_FILL = 1 << 4, /* by name: a missing target column becomes its default, else NULL */
} RelationAssignFlags;

/**
 * relation_plan_assign:
 * @target: struct: the table's columns
 * @table_name: for errors, e.g. `spark_catalog`.`main`.`t`
 * @defaults: (nullable) (array): per target column an expression for a missing column, or NULL
 *
 * The plan's rows as rows of a table, by Spark's ANSI store assignment: values that do not fit fail when the query runs
 * (CAST_OVERFLOW_IN_TABLE_INSERT), casts that are never safe fail here.
 *
 * Errors: INCOMPATIBLE_DATA_FOR_TABLE.{CANNOT_SAFELY_CAST, CANNOT_FIND_DATA, EXTRA_COLUMNS, EXTRA_STRUCT_FIELDS, AMBIGUOUS_COLUMN_NAME,
 *   STRUCT_MISSING_FIELDS}, INSERT_COLUMN_ARITY_MISMATCH.{NOT_ENOUGH_DATA_COLUMNS, TOO_MANY_DATA_COLUMNS}.
 *   Nullability is not judged here: `write` enforces NOT NULL.
 * Returns: (transfer full): a plan whose schema has @target's names and types.
 */
RelationPlan *relation_plan_assign (RelationPlan *plan, const BaseType *target, RelationAssignFlags flags,
                                    const char *table_name, const SqlExpr *const *defaults,
                                    const RelationContext *context, GError **error);

/* UNION ALL of both; @by_name also fills columns that one side lacks with NULL. Types widen by Spark's set operation rule. */
RelationPlan *relation_plan_union (RelationPlan *a, RelationPlan *b, gboolean by_name, GError **error);

/* ---- Expectations (D12; pipelines.md §8) ---- */

typedef enum {
  RELATION_EXPECT_KEEP,
  RELATION_EXPECT_DROP,
  RELATION_EXPECT_FAIL, /* the first violating row aborts the query: EXPECTATION_FAILED with the row as JSON */
} RelationExpectAction;

typedef struct {
  const char *name;
  const SqlExpr *condition; /* over the plan's columns, deterministic, no subquery; holds only when TRUE */
  RelationExpectAction action;
} RelationExpectation;

/* Counts every row once, behind a fence that no filter passes, and drops what must be dropped.
 * @dataset: whose expectations these are; names the counts.
 * Errors: DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN, INVALID_EXPECTATION for a subquery, aggregate or non-deterministic function. */
RelationPlan *relation_plan_expect (RelationPlan *plan, const char *dataset, const RelationExpectation *expectations,
                                    guint n_expectations, const RelationContext *context, GError **error);

/* Numbers of one lowering (relation_text_counts()). Threads: written by the query's threads, read after it ended. */
const char *relation_counts_dataset (const RelationCounts *counts);
guint relation_counts_n_expectations (const RelationCounts *counts);
const char *relation_counts_name (const RelationCounts *counts, guint index);
RelationExpectAction relation_counts_action (const RelationCounts *counts, guint index);
guint64 relation_counts_passed (const RelationCounts *counts, guint index);
guint64 relation_counts_failed (const RelationCounts *counts, guint index);
guint64 relation_counts_rows (const RelationCounts *counts);    /* rows seen */
guint64 relation_counts_dropped (const RelationCounts *counts); /* rows removed, each once */
RelationCounts *relation_counts_ref (RelationCounts *counts);
void relation_counts_unref (RelationCounts *counts); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationCounts, relation_counts_unref)

/* ---- Expressions alone ---- */

/* The value of an expression without columns: arguments, options, LIMIT, TIMESTAMP AS OF. @type: (nullable): cast to it first.
 * Errors: the binder's; ARGUMENT_NOT_CONSTANT when it needs rows. Returns: (transfer full). */
RelationLiteral *relation_eval_constant (const SqlExpr *expr, const BaseType *type, const RelationContext *context,
                                         GError **error);
/* The names of the columns of @schema (struct) that @expr reads, top level, each once, in schema order; indexes.
 * Errors: the binder's. Returns: (transfer full) (element-type guint). */
GArray *relation_expr_columns (const SqlExpr *expr, const BaseType *schema, const RelationContext *context,
                               GError **error);
/* Type of @expr over rows of @schema. Returns: (transfer full). @deterministic: (out) (optional). */
BaseType *relation_expr_type (const SqlExpr *expr, const BaseType *schema, gboolean *nullable, gboolean *deterministic,
                              const RelationContext *context, GError **error);

/* ---- The total order of autocdc.md §5.2 ---- */

/**
 * relation_order_key:
 * @column: DuckDB text of a value of @type; evaluated several times, so give a column name
 *
 * A DuckDB expression whose `<`, `=`, min() and max() are the total order: NULL inside a struct or array lowest, -0.0 = 0.0,
 * NaN highest, text bytewise. A NULL @column itself gives NULL. Scalars stay themselves where DuckDB's order is right (so
 * statistics and pruning still work); structs and arrays become BLOBs.
 *
 * Returns: (transfer full).
 */
char *relation_order_key (const char *column, const BaseType *type);
/* The same with NULL lowest and never NULL, and with MAP (entries sorted by key) and VARIANT (its bytes): for ties and for
 * equality. Always a BLOB. Returns: (transfer full). */
char *relation_tie_key (const char *column, const BaseType *type);

G_END_DECLS

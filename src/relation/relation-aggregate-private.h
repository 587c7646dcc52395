/* Splitting expressions at the aggregates in them. Private to this room. */
#pragma once

#include "relation-binder-private.h"

G_BEGIN_DECLS

/* One AGGREGATE operator being built: expressions over its input are rewritten into expressions over its output, and what they
 * need is collected. */
typedef struct {
  RelationBinder *binder;
  RelationOperator *input;
  RelationScope *local;  /* the input's columns: those that must be grouped or aggregated */
  GPtrArray *groups;     /* RelationExpr over the input, each once */
  GArray *group_columns; /* RelationColumn, one per group */
  GPtrArray *calls;      /* aggregate calls over the input, each once */
  GArray *call_columns;  /* RelationColumn, one per call */
  gboolean has_sets;
  GPtrArray *sets; /* GArray of group numbers */
  RelationColumn grouping_id;
  GError *error; /* first one of a rewrite */
} RelationAggregation;

void relation_aggregation_init (RelationAggregation *aggregation, RelationBinder *binder, RelationInput *input);
void relation_aggregation_clear (RelationAggregation *aggregation);
/* Adds a grouping expression unless an equal one is there. Returns: its number. */
guint relation_aggregation_add_group (RelationAggregation *aggregation, RelationExpr *expr);
/* Fixes the groups; before the first rewrite. */
void relation_aggregation_end_groups (RelationAggregation *aggregation);
/* (nullable): NULL on error. */
RelationExpr *relation_aggregation_rewrite (RelationAggregation *aggregation, RelationExpr *expr, GError **error);
/* The operator; after the last rewrite. */
RelationOperator *relation_aggregation_finish (RelationAggregation *aggregation);

G_END_DECLS

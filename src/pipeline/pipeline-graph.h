/* The graph of a pipeline: derived from the queries, sorted, and every flow analysed (pipelines.md §9).
 *
 * Order of the phases: sort → analyse in that order (schemas flow down) → validate. All problems of a phase are reported together;
 * flows below a bad dataset are marked and give no errors of their own.
 */
#pragma once

#include "pipeline-binding.h"
#include "pipeline-project.h"
#include "store.h"

G_BEGIN_DECLS

typedef struct PipelineGraph PipelineGraph;

typedef struct {
  gboolean full_refresh_all;
  const gboolean *full_refresh; /* (nullable): per dataset, by index */
} PipelineResetRequest;

/**
 * pipeline_graph_new:
 * @options: a binding's environment (its `schemas` and `progress` are not looked at)
 * @storage: (nullable): where flows keep their progress: schemas of file sources are read from there
 * @pipeline_id: (nullable): owns tables; NULL = not known yet (a pipeline that never ran)
 * @reset: (nullable): which resets are wanted, for the checks of §9 and §10.1
 * @problems: (element-type GError) (transfer full elements)
 *
 * Returns: (transfer full): also when there are problems.
 */
PipelineGraph *pipeline_graph_new (const PipelineBindingOptions *options, Store *storage, const char *pipeline_id,
                                   const PipelineResetRequest *reset, GPtrArray *problems);
void pipeline_graph_free (PipelineGraph *graph); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PipelineGraph, pipeline_graph_free)

/* Datasets in an order in which inputs stand before what reads them. Borrows: the graph's life. */
guint pipeline_graph_n_datasets (const PipelineGraph *graph);
PipelineDataset *pipeline_graph_dataset (const PipelineGraph *graph, guint position);
/* Datasets of this pipeline that @dataset reads (through no view in between). (element-type PipelineDataset) */
GPtrArray *pipeline_graph_inputs (const PipelineGraph *graph, const PipelineDataset *dataset);
/* The same with views looked through: the stored datasets that must be up to date before @dataset's flows run. (transfer full) */
GPtrArray *pipeline_graph_stored_inputs (const PipelineGraph *graph, const PipelineDataset *dataset);
/* Names of all inputs of one flow, pipeline and outside, for lineage: NULL-terminated. */
const char *const *pipeline_graph_flow_inputs (const PipelineGraph *graph, const PipelineFlow *flow);
/* What the author of a flow should think over. (element-type utf8) */
GPtrArray *pipeline_graph_flow_warnings (const PipelineGraph *graph, const PipelineFlow *flow);
/* The dataset's schema after analysis; (nullable) when that failed. */
BaseType *pipeline_graph_schema (const PipelineGraph *graph, const PipelineDataset *dataset);
/* The plan of one of the AUTO CDC flows into the dataset, for all of them: what it begins with; (nullable) where there are none. */
AutoCdcPlan *pipeline_graph_autocdc (const PipelineGraph *graph, const PipelineDataset *dataset);

/* The graph as lines of text: `bronze (streaming table) ← read_files('/in')`. Returns: (transfer full). */
char *pipeline_graph_text (const PipelineGraph *graph);
/* In the DOT language, for drawing. Returns: (transfer full). */
char *pipeline_graph_dot (const PipelineGraph *graph);

/* "streaming table", "materialized view", "temporary view", "view". */
const char *pipeline_dataset_kind_text (PipelineDatasetKind kind);

/* The schema that a dataset's declaration asks for, when every column has a type; NULL otherwise. Nullability and comments are
 * the declaration's. Returns: (transfer full) (nullable). */
BaseType *pipeline_dataset_declared_schema (const PipelineDataset *dataset);

G_END_DECLS

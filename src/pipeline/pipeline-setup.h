/* Tables of a pipeline before their flows run: made, kept in step with their declaration, emptied by a full refresh. */
#pragma once

#include "pipeline-flow.h"

G_BEGIN_DECLS

/**
 * pipeline_dataset_set_up:
 * @schema: of the graph
 *
 * Makes the dataset's table (or view entry) if it is not there, and applies changed properties and comments to it.
 */
gboolean pipeline_dataset_set_up (const PipelineRun *run, const PipelineDataset *dataset, const BaseType *schema,
                                  GError **error);

/* Whether pipeline_dataset_set_up() could do it: name, properties, partition columns, names and types of columns. Writes nothing.
 * @existing: (nullable): the table as it is. */
gboolean pipeline_dataset_check (const PipelineDataset *dataset, const BaseType *schema, DeltaSnapshot *existing,
                                 GError **error);

/* A full refresh: one commit removes all rows and memory and carries txn(new run id, -1) of every flow; then their progress starts anew. */
gboolean pipeline_dataset_reset (const PipelineRun *run, const PipelineDataset *dataset, GError **error);

/* The flow reads its sources from their beginning again, or from where its options say; its target keeps its rows. The target's
 * commit carries txn(new run id, -1). */
gboolean pipeline_flow_reset (const PipelineRun *run, const PipelineFlow *flow, GError **error);

G_END_DECLS

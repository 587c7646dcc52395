/* What running a flow and setting up its table share. */
#pragma once

#include "delta-table.h"
#include "pipeline-flow.h"
#include "stream-progress.h"

G_BEGIN_DECLS

/* The dataset's table as the catalog knows it. Errors: TABLE_OR_VIEW_NOT_FOUND. Returns: (transfer full). */
DeltaTable *pipeline_dataset_open (const PipelineRun *run, const PipelineDataset *dataset, GError **error);

/* A StreamProgressHasRun; @data: (DeltaTable *) the target. */
gboolean pipeline_table_has_run (const char *run_id, gboolean *has, gpointer data, GError **error);

/* A once flow that read its source to the end is complete; this is noted with its run, so that a reset makes it due again. */
gboolean pipeline_flow_is_complete (const StreamProgress *progress, gboolean *complete, GError **error);

G_END_DECLS

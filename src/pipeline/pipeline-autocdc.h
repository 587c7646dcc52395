/* The clauses of an AUTO CDC flow, as SQL wrote them, in the form that the room `autocdc` takes. */
#pragma once

#include "autocdc.h"
#include "pipeline-project.h"

G_BEGIN_DECLS

/* Owns the lists that `flow` points to. */
typedef struct {
  AutoCdcFlow flow;
  GPtrArray *lists; /* of GPtrArray: arrays of names */
} PipelineAutoCdc;

/* Fills @out from @flow; texts are borrowed from the project's trees. */
void pipeline_autocdc_init (PipelineAutoCdc *out, const PipelineFlow *flow);
void pipeline_autocdc_clear (PipelineAutoCdc *out);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PipelineAutoCdc, pipeline_autocdc_clear)

G_END_DECLS

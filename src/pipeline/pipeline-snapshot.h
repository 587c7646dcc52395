/* FROM SNAPSHOT in SQL: the snapshots of a flow, for the room `autocdc`.
 *
 * A table, a view or a query, read as a batch. Without WITH VERSION there is one snapshot an update, and its version is its place or the start
 * of its reading; with it, the version query names the next one until it gives no row, and the snapshot query reads it.
 */
#pragma once

#include "autocdc-snapshot.h"
#include "base-clock.h"
#include "pipeline-binding.h"

G_BEGIN_DECLS

/**
 * pipeline_snapshot_plan:
 * @binding: for analysis, which runs nothing
 * @existing: (nullable): the target as it is
 * @version_type: (out)
 *
 * The rows of the flow's snapshots, expectations of the target counted.
 *
 * Errors: the binder's; UNSUPPORTED_STREAMING_OPERATION for a streaming query;
 *   APPLY_CHANGES_FROM_SNAPSHOT_ERROR.{INVALID_SNAPSHOT_VERSION, INVALID_SNAPSHOT_VERSION_TYPE}; INVALID_CONF_VALUE.
 * Returns: (transfer full).
 */
RelationPlan *pipeline_snapshot_plan (PipelineBinding *binding, const PipelineFlow *flow, DeltaSnapshot *existing,
                                      BaseType **version_type, GError **error);

/* Whether a call of a table function is one of last_snapshot_version() and current_snapshot_version(), which read nothing. */
gboolean pipeline_is_version_function (const SqlExpr *call);

/* A source of snapshots. `base.rows_read` and `base.done` are the user's to set. */
typedef struct {
  AutoCdcSnapshots base;
  const PipelineFlow *flow;
  PipelineBindingOptions options; /* of a binding that runs; now_us is set anew for each */
  BaseClock clock;
  PipelineBinding *binding; /* (nullable): of the newest snapshot */
  gboolean ended;           /* without WITH VERSION: it was given */
} PipelineSnapshots;

void pipeline_snapshots_init (PipelineSnapshots *snapshots, const PipelineFlow *flow,
                              const PipelineBindingOptions *options, const BaseClock *clock);
void pipeline_snapshots_clear (PipelineSnapshots *snapshots);

G_END_DECLS

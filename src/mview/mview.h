/* Materialized views: what must be recomputed, and doing it (pipelines.md §11).
 *
 * A view remembers, in the domain `sluice.materializedView` of its own table, the fingerprint of its definition and the version of
 * every input that its contents were computed from. Data, memory and progress change in one commit.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "delta-snapshot.h"
#include "delta-table.h"
#include "duck-session.h"
#include "relation-plan.h"

#include <glib.h>

G_BEGIN_DECLS

#define MVIEW_DOMAIN "sluice.materializedView"

/* Names as in the event log, without the prefix MAINTENANCE_TYPE_. */
typedef enum {
  MVIEW_NO_OP,
  MVIEW_COMPLETE_RECOMPUTE,
} MviewTechnique;
const char *mview_technique_text (MviewTechnique technique);

typedef enum {
  MVIEW_POLICY_AUTO,
  MVIEW_POLICY_INCREMENTAL,
  MVIEW_POLICY_INCREMENTAL_STRICT,
  MVIEW_POLICY_FULL
} MviewPolicy;

/* One thing that the query reads. */
typedef struct {
  const char *name;
  DeltaSnapshot *snapshot; /* (nullable): the version it is pinned to; NULL = not a Delta table, or not pinned */
} MviewInput;

/* All (transfer none), for the two calls below. */
typedef struct {
  const char *name;   /* of the view, for errors */
  DeltaTable *table;  /* exists */
  RelationPlan *plan; /* the query over the pinned inputs */
  const char
      *definition;       /* text that changes when the definition does: printed query, declared columns, expectations */
  const char *time_zone; /* of the session */
  const MviewInput *inputs;
  guint n_inputs;
  MviewPolicy policy;
  DuckSession *session;
  BaseClock clock;                /* the query's current_timestamp() */
  BaseCancel *cancel;             /* (nullable) */
  const RelationContext *context; /* binds constraints of the table */
} MviewRequest;

/* Why a cheaper technique was not taken. Texts are static. */
typedef struct {
  const char *issue;    /* CHANGE_SET_MISSING, QUERY_FINGERPRINT_CHANGED, … */
  const char *sub_type; /* (nullable): AGGREGATE_WITH_DISTINCT, … */
} MviewIssue;

typedef struct {
  MviewTechnique technique;
  MviewIssue issues[4];
  guint n_issues;
} MviewDecision;

/* Chooses the technique. Reads the logs of the inputs since the last refresh, no data.
 * Errors: MATERIALIZED_VIEW_NOT_INCREMENTALIZABLE (policy incremental_strict, not the first refresh); those of logs. */
gboolean mview_decide (const MviewRequest *request, MviewDecision *decision, GError **error);

typedef struct {
  gint64 version; /* of the commit, -1 = none */
  guint64 n_rows; /* written */
  guint64 n_bytes;
  GPtrArray *counts; /* (transfer full) (nullable) (element-type RelationCounts): expectations */
} MviewOutcome;
void mview_outcome_clear (MviewOutcome *outcome);

/* Brings the view up to date by the chosen technique: one commit, or none for NO_OP. Another writer's commit on the view is an error
 * of class CONFLICT: refresh again. */
gboolean mview_refresh (const MviewRequest *request, const MviewDecision *decision, MviewOutcome *outcome,
                        GError **error);

G_END_DECLS

/* AUTO CDC FROM SNAPSHOT: whole states of a source, one version after another → the rows of a target.
 *
 * A source of snapshots is a struct of functions: it is asked for the snapshot after the last version, and again, until it has none.
 * Each snapshot is compared with the target's open rows, which are the snapshot before it; what differs are the events of its version,
 * and from there on it is AUTO CDC like any other, with the version as sequence. Rows and version are one commit.
 */
#pragma once

#include "autocdc.h"

G_BEGIN_DECLS

/* The version of a snapshot. Zero-initialise. */
typedef struct {
  BaseType *type;
  char *text; /* the value as DuckDB's VARCHAR: CAST(text AS type) gives it back; NULL = no value */
} AutoCdcVersion;

void autocdc_version_clear (AutoCdcVersion *version);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (AutoCdcVersion, autocdc_version_clear)

/* Whether values of @type may be versions: numbers, texts, bytes, dates, times, structs of such. @flow: its name.
 * Errors: APPLY_CHANGES_FROM_SNAPSHOT_ERROR.INVALID_SNAPSHOT_VERSION_TYPE. */
gboolean autocdc_version_type_check (const BaseType *type, const char *flow, GError **error);

/* DuckDB text of the value, NULL of its type where there is none. Returns: (transfer full). */
char *autocdc_version_literal (const AutoCdcVersion *version);

/**
 * autocdc_version_query:
 * @plan: a query of at most one row of one column
 * @found: (out): whether there was a row
 * @version: (out): cleared by the caller; without text when the value is NULL
 *
 * Errors: APPLY_CHANGES_FROM_SNAPSHOT_ERROR.INVALID_SNAPSHOT_VERSION for several rows or columns.
 */
gboolean autocdc_version_query (RelationPlan *plan, gint64 now_us, DuckSession *session, BaseCancel *cancel,
                                gboolean *found, AutoCdcVersion *version, GError **error);

/* What a source gives. Zero-initialise. */
typedef struct {
  RelationPlan *plan; /* its rows, expectations and all; a reference is the taker's; NULL = there is no snapshot now */
  AutoCdcVersion version;
  gint64 read_us; /* when its reading began */
  /* Its version is its place, not its name: when it holds what the one before held, there is no such version. */
  gboolean only_changes;
} AutoCdcSnapshot;

void autocdc_snapshot_clear (AutoCdcSnapshot *snapshot);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (AutoCdcSnapshot, autocdc_snapshot_clear)

/* What became of one. Borrowed for the call. */
typedef struct {
  const AutoCdcVersion *version;
  const AutoCdcVersion *last; /* (nullable): the version before */
  gboolean skipped;           /* not above the last: nothing was done, and no further one is asked for */
  gboolean unchanged;         /* only_changes, and there were none: the version was not taken */
  gint64 read_us;
  AutoCdcOutcome outcome;
} AutoCdcSnapshotDone;

/* Embed it as the first member. */
typedef struct AutoCdcSnapshots AutoCdcSnapshots;
struct AutoCdcSnapshots {
  /* The snapshot after @last; @last is NULL when the target has none. */
  gboolean (*next) (AutoCdcSnapshots *snapshots, const AutoCdcVersion *last, AutoCdcSnapshot *snapshot, GError **error);
  /* (nullable): the rows were read; the counts of expectations in @text are final. */
  void (*rows_read) (AutoCdcSnapshots *snapshots, RelationText *text);
  /* (nullable): a snapshot was committed or skipped. */
  gboolean (*done) (AutoCdcSnapshots *snapshots, const AutoCdcSnapshotDone *done, GError **error);
};

/**
 * autocdc_apply_snapshots:
 * @target: must exist
 * @flow: with from_snapshot; its version_type is not looked at
 * @declared: (nullable): the schema that the author declared for the target
 * @snapshots: asked until it has no more, or gives one that is not above the last
 * @context: (transfer none): its session runs every query and lends its temporary tables `autocdc_*`
 *
 * Errors: APPLY_CHANGES_FROM_SNAPSHOT_ERROR.{FIRST_SNAPSHOT_EMPTY, INVALID_TUPLE_NULL_SNAPSHOT_VERSION,
 *   INVALID_SNAPSHOT_VERSION_TYPE, DUPLICATE_KEY_VIOLATION}, AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY, and those of
 *   autocdc_plan_new() and autocdc_apply(). What was committed before an error stays.
 * Source: autocdc.md §8.
 */
gboolean autocdc_apply_snapshots (DeltaTable *target, const AutoCdcFlow *flow, const BaseType *declared,
                                  AutoCdcSnapshots *snapshots, const RelationContext *context, BaseCancel *cancel,
                                  GError **error);

/* The version of the target's last snapshot; its type is NULL when the target is none of snapshots.
 * Errors: as autocdc_plan_new(). */
gboolean autocdc_last_version (DeltaSnapshot *target, AutoCdcVersion *last, GError **error);

G_END_DECLS

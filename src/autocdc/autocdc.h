/* AUTO CDC: change events → the rows of a target table.
 *
 * The target is a function of the *set* of all events so far, whatever their order, their batches and their repetitions.
 * A caller describes a flow (AutoCdcFlow, the same for every front end), has it analysed against the schema of its source
 * and the state of its target (AutoCdcPlan), and applies one micro-batch after another. Each batch is at most one commit of the
 * target, which carries rows, memory and progress together.
 */
#pragma once

#include "base-cancel.h"
#include "base-type.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "duck-session.h"
#include "relation-plan.h"
#include "sql-build.h"
#include "write-batch.h"

#include <glib.h>

G_BEGIN_DECLS

/* The domain of an AUTO CDC target's log, and the writer-only feature of its protocol. The commit that makes or empties the target has
 * it already (autocdc_found()). */
#define AUTOCDC_DOMAIN "sluice.autoCdc"
/* The mark of ALTER STREAMING TABLE … ADOPT on a table without AUTOCDC_DOMAIN: the first batch of a flow takes the rows that are there as
 * its history, instead of refusing them. That batch takes the mark away. */
#define AUTOCDC_ADOPT_DOMAIN "sluice.adopt"
#define AUTOCDC_FEATURE      "sluice.autoCdc"

typedef enum {
  AUTOCDC_SCD1 = 1,
  AUTOCDC_SCD2 = 2,
  AUTOCDC_BITEMPORAL = 3,
} AutoCdcType;

/* A flow as its author wrote it. Zero-initialise, then fill. Everything is (transfer none); a plan keeps nothing of it. Lists
 * are NULL-terminated; NULL = the clause was not given. Names are plain column names without quotes. */
typedef struct {
  const char *name;                       /* of the flow, for messages */
  const char *target;                     /* of the target, for messages */
  const char *const *keys;                /* KEYS */
  const SqlExpr *sequence_by;             /* SEQUENCE BY */
  const SqlExpr *system_sequence_by;      /* SYSTEM SEQUENCE BY */
  const SqlExpr *delete_when;             /* APPLY AS DELETE WHEN */
  const SqlExpr *truncate_when;           /* APPLY AS TRUNCATE WHEN */
  const SqlExpr *where;                   /* WHERE of APPLY CHANGES */
  const char *const *columns;             /* COLUMNS (…); empty = not given */
  const char *const *except_columns;      /* COLUMNS * EXCEPT (…); empty = not given */
  const char *const *track_history;       /* TRACK HISTORY ON …; empty = not given */
  const char *const *track_except;        /* TRACK HISTORY ON * EXCEPT (…); empty = not given */
  gboolean ignore_null;                   /* IGNORE NULL UPDATES */
  const char *const *ignore_null_columns; /* … ON (…); empty is an error */
  const char *const *ignore_null_except;  /* … ON * EXCEPT (…) */
  const char *columns_to_update;          /* COLUMNS TO UPDATE */
  AutoCdcType type;                       /* STORED AS; 0 = AUTOCDC_SCD1 */
  gboolean from_snapshot;                 /* FROM SNAPSHOT */
  const BaseType *together; /* what all flows into the target give: autocdc_plans_agree(); NULL = it is the only one */
  gboolean may_widen;       /* the target's declaration sets delta.enableTypeWidening */
  const BaseType *version_type; /* FROM SNAPSHOT: type of its versions (autocdc-snapshot.h) */
} AutoCdcFlow;

/**
 * autocdc_column_name:
 * @expr: (transfer none): what stands where a clause wants the name of a column
 *
 * Errors: AUTOCDC_MULTIPART_COLUMN_IDENTIFIER for `a.b`, AUTOCDC_NON_COLUMN_IDENTIFIER for any other expression, both at its
 * position.
 * Returns: (transfer full).
 */
char *autocdc_column_name (const SqlExpr *expr, GError **error);

/* The flow that the clauses of SQL describe; lists are made in @arena, names and expressions are borrowed from the tree.
 * @name, @target: as the pipeline calls them. */
AutoCdcFlow autocdc_flow_from_sql (const SqlAutoCdc *clauses, const char *name, const char *target, SqlArena *arena);

/**
 * autocdc_flow_check:
 *
 * The checks of a flow's clauses that need no schema: the combinations of autocdc.md §2.3.
 */
gboolean autocdc_flow_check (const AutoCdcFlow *flow, GError **error);

/* An analysed flow: immutable, reference-counted, usable for every batch until the schema of the source changes. */
typedef struct AutoCdcPlan AutoCdcPlan;
AutoCdcPlan *autocdc_plan_ref (AutoCdcPlan *plan);
void autocdc_plan_unref (AutoCdcPlan *plan); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (AutoCdcPlan, autocdc_plan_unref)

/**
 * autocdc_plan_new:
 * @flow: the flow; checked by autocdc_flow_check() first
 * @source: (transfer none): the bound query whose rows are the change events, expectations and all; a streaming leaf in it
 *   stands for the current micro-batch when the plan is applied. A reference is kept.
 * @target: (nullable): the target as it is; NULL when it does not exist yet. Only read here.
 * @declared: (nullable): the schema that the author declared for the target
 * @context: binds the clauses' expressions; for the call only
 *
 * Resolves the clauses against the source's columns, finds the target's schema, and compares both with what the target's
 * domain recorded.
 *
 * Errors: the conditions of autocdc.md §2.3; AUTOCDC_INVALID_STATE.* for a target that holds something else;
 * USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE; every binding error of an expression, at its position.
 * Returns: (transfer full).
 */
AutoCdcPlan *autocdc_plan_new (const AutoCdcFlow *flow, RelationPlan *source, DeltaSnapshot *target,
                               const BaseType *declared, const RelationContext *context, GError **error);

/* The schema that the target has after the next batch: what it has now, plus new columns of the source, interval columns last.
 * A target that does not exist yet is to be created with it. Borrowed. */
const BaseType *autocdc_plan_target_schema (const AutoCdcPlan *plan);
AutoCdcType autocdc_plan_type (const AutoCdcPlan *plan);

/* What its author should think over: a sequence that comes from the clock, in SEQUENCE BY or in the source's query, says when an event
 * was read, not when it was. Returns: (transfer full) (nullable): one sentence or two. */
char *autocdc_plan_warning (const AutoCdcPlan *plan);

/**
 * autocdc_plans_agree:
 * @plans: of the flows that feed one target, each made as if it were the only one, without a declared schema
 * @together: (out) (transfer full): the schema that they give the target: its columns are those of any of them
 * @differs: (out): on error the plan that differs from those before it
 *
 * Whether flows fit together. Each is then planned again with AutoCdcFlow.together: every event authors what its own source has.
 *
 * Errors: AUTOCDC_INVALID_STATE.{KEY_SCHEMA,SCD_TYPE,SEQUENCING_TYPE,TRACK_HISTORY}_DRIFT or AUTOCDC_FLOWS_DISAGREE where they
 * differ.
 */
gboolean autocdc_plans_agree (AutoCdcPlan *const *plans, guint n_plans, BaseType **together, guint *differs,
                              GError **error);

/* Events that are read while the batch before them is applied. */
typedef struct AutoCdcAhead AutoCdcAhead;

/* One micro-batch, as the stream logged it. */
typedef struct {
  const char *run_id;         /* of the flow's progress: the appId of the commit's `txn` */
  gint64 batch_id;            /* from 0 */
  const char *offsets_digest; /* sha256 of the batch's logged offsets, 64 hex digits */
  gint64 clock_us;            /* the batch's clock, read when its offsets were logged */
  gint64 retention_seconds;   /* of tombstones; -1 = for ever; the table's own property, where set, is put here */
  guint64 kept_bytes; /* what intermediate results may take in memory before they become temporary tables; 0 = 96 MiB */
  gint64
      rows_apart; /* histories: rows that are over get files of their own where so many of both kinds are written; 0 = 10,000 */
  /* (nullable): called once, when the last event was read; the counts of expectations in @text are final then. */
  void (*events_read) (RelationText *text, gpointer data);
  /* (nullable): called at most once, when all is read and the new rows are being written: the time for autocdc_read_ahead(). Not where
   * the batch is too large for what is kept in memory. */
  void (*writing) (gpointer data);
  gpointer data;       /* for these functions */
  AutoCdcAhead *ahead; /* (nullable): what autocdc_read_ahead() began for this batch */
} AutoCdcBatch;

typedef struct {
  gint64 version;          /* of the commit; -1 = the batch changed nothing and made none */
  gboolean already_done;   /* the target had this batch with this digest before */
  guint64 n_source_events; /* rows read */
  guint64 n_upserted_rows; /* target rows inserted or updated */
  guint64 n_deleted_rows;  /* target rows removed */
  guint64 n_late_events;   /* SCD 1: events that changed nothing because the key had newer ones before */
  guint64 n_ties;       /* times that different events met at one key and sequence, in the batch or with what was known;
                              SCD 1: at the newest sequence of their key */
  guint64 n_state_rows; /* facts in state files after the batch */
  guint64 n_tombstones_removed;
} AutoCdcOutcome;

/**
 * autocdc_apply:
 * @target: the table, which must exist; its newest version is taken
 * @plan: as analysed against the source of this batch
 * @context: (transfer none): its session runs every query and lends its temporary tables `autocdc_*` to this call; binds
 *   constraints of the table
 * @cancel: (nullable)
 * @outcome: (out)
 *
 * Reads the batch's events once, computes what the target's rows must be, and commits the difference: data files,
 * deletion vectors (or rewritten files), change files when the table records its feed, state files, schema and domain,
 * `txn` and the flow's progress. A first batch makes an empty table an AUTO CDC target, if it is none. Another writer's
 * commit that matters makes it compute again; the events are not read again.
 *
 * Errors: AUTOCDC_MICROBATCH_VALIDATION.* (nothing is written), AUTOCDC_INVALID_STATE.*, FLOW_CHECKPOINT_CORRUPT when the target
 * holds this batch with another digest, DELTA_CONCURRENT_WRITE after too many tries, and all that reading and writing may say.
 * Threads: one per session; flows into different tables may run at the same time.
 */
gboolean autocdc_apply (DeltaTable *target, AutoCdcPlan *plan, const AutoCdcBatch *batch,
                        const RelationContext *context, BaseCancel *cancel, AutoCdcOutcome *outcome, GError **error);

/**
 * autocdc_read_ahead:
 * @plan: as for autocdc_apply(); its source gives the events of the next batch
 * @batch: the next one, as far as it is known: number, clock, kept_bytes
 * @context: (transfer none): for the call only; of its session the engine and the time zone are used
 *
 * Begins to read the events, in a thread and a session of its own. Nothing of it is seen from outside: what goes wrong is left to the batch
 * itself, which then reads its events again.
 *
 * Returns: (transfer full): for AutoCdcBatch.ahead, once. NULL: nothing was begun; with little memory nothing ever is.
 */
AutoCdcAhead *autocdc_read_ahead (AutoCdcPlan *plan, const AutoCdcBatch *batch, const RelationContext *context);
void autocdc_ahead_free (AutoCdcAhead *ahead); /* accepts NULL; stops the reading */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (AutoCdcAhead, autocdc_ahead_free)

/**
 * autocdc_found:
 * @plan: of a flow into the table; of several, one that was made with AutoCdcFlow.together
 * @snapshot: (nullable): what @write is on; NULL: @write makes the table, with autocdc_plan_target_schema()
 * @write: a commit after which the table has no rows
 *
 * Makes the table a target before its first batch, so that statements until then are remembered as those after it. Until there are rows or
 * a batch, another plan may begin it anew.
 *
 * Errors: as autocdc_plan_new(); those of write_batch_set_metadata() when the schema changes.
 */
gboolean autocdc_found (AutoCdcPlan *plan, DeltaSnapshot *snapshot, WriteBatch *write, GError **error);

/* Puts it into a commit on @snapshot that the table is no target any more, and no mark is on it. */
void autocdc_forget (DeltaTransaction *transaction, DeltaSnapshot *snapshot);

/* ---- what a target's memory says ---- */

typedef void (*AutoCdcFactFunc) (const char *name, const char *value, gpointer data);

/**
 * autocdc_describe:
 * @name: of the table, for messages
 * @session: counts in state files
 * @fact: called for one fact after the other: clauses as the domain records them, memory, files, and sums over the commits of
 *   batches that the log still has (a batch that changed nothing made none)
 *
 * Errors: AUTOCDC_NOT_A_TARGET; AUTOCDC_INVALID_STATE.*; UNSUPPORTED_FEATURE.
 */
gboolean autocdc_describe (DeltaSnapshot *snapshot, const char *name, DuckSession *session, AutoCdcFactFunc fact,
                           gpointer data, BaseCancel *cancel, GError **error);

G_END_DECLS

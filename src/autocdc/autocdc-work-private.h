/* One try of one batch: the relations it goes through, and the text of its queries.
 *
 * A kind of target is one relation, the reference function: {new}. Bitemporal ones have in {events}, {reduced}, {state} and {facts}
 * also y, the system sequence, and p, its order key; an instant is o, and p where there is one.
 *
 *   {truncates} o of its truncates
 *   {events}   the batch as read, without its truncates; of a snapshot, its rows as upserts: k<j> keys, s sequence, o
 *              its order key, d whether a delete, x<i> selected columns, u the columns to update, in lower case
 *   {best}     its keys (SCD 1) or keys and instants
 *   {reduced}  reduced to normalised facts: k, s, o, d, b the set of the fields that it authors (empty for a delete),
 *              v<i> the values of field i
 *   {keys}     the keys to look up, some perhaps twice
 *   {batch}    the part of {reduced} that goes the general way
 *   {rows}     their visible rows: ix number (of file and position), fi, rn file and position, rid row id, k, st, en
 *              interval (bitemporal: ys, ye too), hs, ho, hb fact held (bitemporal: none), hg its gen, hh hash of the
 *              values, v, and c<i> as it is of a column i that is several fields
 *   {state}    their facts in state files: k, s, o, d, b set, v, w written, g gen; not SCD 1: a reset has no sequence
 *   {anchors}, {before}: see autocdc-anchor.c
 *   {facts}    the union, normalised: k, s, o, d, b, v, w, g, src (0 state, 1 row, 2 batch), ri (ix of the row that holds it). SCD 1, when
 *              statements changed rows: o is the rank of sequence and gen among the facts of the key
 *   {met}      of a partial target: facts of one key and instant, which become one in {merged}; {said}: which of them says all of it
 *   {new}      what the rows must be: k, st, en (ys, ye), v, hs, ho, hb, hg
 *   {need}     the facts to remember, with the columns of {facts}
 *   {diff}     act 0 keep, 1 insert, 2 delete, 3 update; fi, rn, rid, rr (ix of the old row), columns of {new}, and hh,
 *              the hash of the values where it is known
 *   {over}, {lasting}: histories: its rows with an end, and without one (bitemporal: of belief)
 *   {marks}    {diff} without values
 *   {add}      facts for a new state file
 *   {cleared}  fi, rn of rows that the batch's truncate clears, beside those in {rows} and in work->cleared_files
 *
 * A relation is rows kept in memory (or, when there are too many, in a temporary table), or, where a copy is not worth
 * making, a SELECT in parentheses. It never changes: a step that changes one makes another of the same name.
 *
 * Text is written as templates, in which braces outside of quotes are places to fill: {K} the keys (`k0, k1`), {K:t}
 * with a table's name, {J:a,b} equality of keys, {V} and {V:t} the values, {Y} and {Y:t} `y, p`, {W} and {W:t} the
 * intervals, {H} and {H:t} the fact held, all of them with a leading comma; {I} and {I:t} the instant, {E:a,b} equality
 * of instants; {tie:t} the payload order for ORDER BY with a leading comma, {S} the type of the sequence, {O:column}
 * its order key, {Z} and {P:column} those of the system sequence, {T:column} whether that order key is not below the
 * newest truncate, and {name} for a piece that was set by autocdc_work_set().
 */
#pragma once

#include "autocdc-plan-private.h"
#include "autocdc-snapshot.h"
#include "delta-scan.h"
#include "duck-rows.h"

G_BEGIN_DECLS

typedef enum { AUTOCDC_AUTHORED_ALWAYS, AUTOCDC_AUTHORED_NEVER, AUTOCDC_AUTHORED_SOMETIMES } AutoCdcAuthored;

typedef struct {
  gint64 n_inserted, n_deleted, n_updated; /* rows */
  gint64 n_lasting; /* of those inserted and updated: histories, without an end (bitemporal: still believed) */
  gint64 n_facts;   /* for a state file */
  gint64 n_late;    /* events */
} AutoCdcCounts;

typedef struct {
  AutoCdcPlan *plan;
  AutoCdcLayout *layout; /* of the current try */
  const RelationContext *context;
  DuckSession *session;
  BaseCancel *cancel;
  const AutoCdcBatch *batch;
  const AutoCdcSnapshot *snapshot; /* (nullable): that the batch is; run id and offsets are not set then */
  GHashTable *pieces;
  GPtrArray *relations; /* (element-type DuckRows): what autocdc_work_make() made, the first n_lasting for all tries */
  guint n_lasting, n_relations;
  guint64 kept_bytes;
  gboolean is_large; /* what was read once does not fit into memory */

  gboolean tracks_rows; /* the target has row ids */
  gboolean has_general; /* the general way ran in this try */
  gboolean
      from_anchor; /* histories: rows that were over before the batch's first instant of their key are not looked at */
  gboolean has_before;     /* {before} is there */
  gboolean has_rows;       /* the target has files: {rows} or {old} is a table */
  gboolean has_state;      /* there are state files: {state} is a table */
  gboolean has_statements; /* statements changed rows of the target: gens matter */
  gboolean keeps_old;      /* all old rows with their values are in {old}, not in {rows} */
  GArray *skips; /* (nullable) (element-type DeltaPredicate): by the batch's keys; every scan of a try has the same */
  guint n_key_skips;        /* the first ones of skips: the others say what is over */
  GPtrArray *constants;     /* of skips */
  DeltaScan *scan;          /* (nullable): that the rows came from */
  RelationText *source;     /* (nullable): what the text of the events needs */
  DuckSession *own_session; /* (nullable): where the events were read ahead */
  GPtrArray *generates;     /* (element-type RelationText): what the text of the rows to be written needs */
  DuckWanted *wanted;       /* (nullable): hashes of the keys that a look-up of type 1 is for */
  gboolean is_partial;      /* autocdc_domain_is_partial() */
  gboolean has_one_set;     /* every upsert in play authors the same fields */
  GPtrArray *sets;          /* (element-type GBytes): every set that a fact in play has, unless the target is partial */
  AutoCdcAuthored *authored; /* (nullable): of a partial target, by field, once its facts are united */
  GBytes *batch_set;         /* what the batch's upserts author, all of it unless the target is partial */
  json_t *truncate;          /* (nullable): the batch's newest truncate */
  gboolean clears; /* it is above the one that the target knew: rows of keys that the batch does not name may go */
  GPtrArray *cleared_files;    /* (element-type DeltaFile): all of whose rows go */
  gint64 n_cleared;            /* rows of {cleared} and of cleared_files */
  gint64 n_cleared_rows;       /* of {cleared} */
  gboolean told_writing;       /* AutoCdcBatch.writing was called */
  gint64 n_read;               /* rows of the batch */
  gint64 n_events;             /* of {events} */
  gint64 n_keys;               /* of the batch; not SCD 1: keys and instants */
  gint64 n_twice;              /* keys and identities that autocdc_normalise() found several times */
  gint64 n_changes;            /* of a snapshot: keys in which it differs from the target */
  gint64 n_add;                /* rows of {add} */
  gint64 n_simple_facts;       /* that {simple} has for {add} */
  AutoCdcCounts simple_counts; /* of its keys */
  gint64 n_ties;               /* see AutoCdcOutcome */
} AutoCdcWork;

/* Names of interval columns in relations. */
extern const char *const autocdc_interval_names[AUTOCDC_MAX_INTERVALS];

guint64 autocdc_kept_bytes (const AutoCdcBatch *batch);
AutoCdcWork *autocdc_work_new (AutoCdcPlan *plan, const AutoCdcBatch *batch, const RelationContext *context,
                               BaseCancel *cancel);
void autocdc_work_free (AutoCdcWork *work);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (AutoCdcWork, autocdc_work_free)
/* Begins a try. @layout: (transfer full). */
void autocdc_work_set_layout (AutoCdcWork *work, AutoCdcLayout *layout);

void autocdc_work_set (AutoCdcWork *work, const char *piece, const char *text);
void autocdc_work_take (AutoCdcWork *work, const char *piece, GString *text); /* @text: (transfer full) */
/* Whether a relation is a temporary table, which other sessions do not see. */
gboolean autocdc_work_has_tables (const AutoCdcWork *work);
char *autocdc_work_text (AutoCdcWork *work, const char *pattern); /* (transfer full) */
/* The relation @name is from now on the rows of a SELECT: those that it gives now, or the SELECT itself wherever @name is used.
 * @n_rows: (out) (optional). */
gboolean autocdc_work_make (AutoCdcWork *work, const char *name, const char *pattern, gint64 *n_rows, GError **error);
void autocdc_work_define (AutoCdcWork *work, const char *name, const char *pattern);
/* autocdc_work_make() of a SELECT that must not run twice, not even a part of it. */
gboolean autocdc_work_make_once (AutoCdcWork *work, const char *name, const char *pattern, gint64 *n_rows,
                                 GError **error);
/* Gives up the relations of this try, those made since there were @n_before, that none of @pieces (NULL-terminated) names. */
void autocdc_work_keep (AutoCdcWork *work, guint n_before, const char *const *pieces);
/* The first row of a SELECT of @n_values integers, NULL as 0. */
gboolean autocdc_work_numbers (AutoCdcWork *work, const char *pattern, gint64 *values, guint n_values, GError **error);
/* The same of one integer. */
gboolean autocdc_work_count (AutoCdcWork *work, const char *pattern, gint64 *value, GError **error);

/* Leaves one fact of the table @name per keys and @identity (NULL-terminated: `o` and others): the one of the greatest values, then by
 * @then (`, f.src`). In a partial target set `b` is no identity: what was there several times becomes one fact, field by field the greatest
 * value, with the union of the sets; further columns of the table are given by @rest (`, max(w) AS w`), and {met} has what {merged} was
 * made of. Sets work->n_twice. @n_ties: (inout) (optional): grows by the number of those whose upserts had different values. */
gboolean autocdc_normalise (AutoCdcWork *work, const char *name, const char *const *identity, const char *then,
                            const char *rest, gint64 *n_ties, GError **error);

/* ---- fields ---- */

guint autocdc_work_n_fields (const AutoCdcWork *work);
const AutoCdcField *autocdc_work_field (const AutoCdcWork *work, guint index);
/* Whether the target's column is of several fields. */
gboolean autocdc_work_is_split (const AutoCdcWork *work, guint column);
/* `CASE …` bytes over the domain's field list as a literal. */
void autocdc_append_set (GString *out, GBytes *set);
/* The set of the fields 0 … @n - 1. Returns: (transfer full). */
GBytes *autocdc_first_fields (guint n);
/* Whether @set has field @index. */
gboolean autocdc_set_has (GBytes *set, guint index);
/* Whether every upsert of the batch authors all fields; whether every one in play does. */
gboolean autocdc_batch_authors_all (const AutoCdcWork *work);
gboolean autocdc_facts_author_all (const AutoCdcWork *work);

/* Over all sets in play. */
AutoCdcAuthored autocdc_work_authored (const AutoCdcWork *work, guint index);
/* Appends a condition that the set in @column has field @index. */
void autocdc_append_authors (const AutoCdcWork *work, GString *out, guint index, const char *column);
/* Appends NULL-safe equality of field @index of two tables. */
void autocdc_append_same (const AutoCdcWork *work, GString *out, guint index, const char *a, const char *b);
/* Appends @expr, a value of @from, as a value of @to: casts up, leaves by name, -0.0 as 0.0. */
void autocdc_append_value (GString *out, const char *expr, const BaseType *from, const BaseType *to);
/* Appends the value of a field from @expr, a value of its column in a table where that has type @type. (nullable): NULL, as for a
 * leaf that @type does not have. */
void autocdc_append_field (GString *out, const AutoCdcField *field, const char *expr, const BaseType *type);
/* Appends the value of the target's column @column from the field values of @table. A struct of fields is a struct, of NULLs if need
 * be, except where that would put NULL into a NOT NULL leaf. */
void autocdc_append_column (const AutoCdcWork *work, GString *out, guint column, const char *table);

/* The piece `no values`: a NULL of its type for every field. */
void autocdc_set_no_values (AutoCdcWork *work);

/* ---- the steps ---- */

/* Whether the rows that the target had before have keys and, type 2, starts. Errors: AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY,
 * .NULL_SEQUENCE. */
gboolean autocdc_check_adopted (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* The text of the source, for autocdc_read_events(). */
gboolean autocdc_lower_events (AutoCdcWork *work, GError **error);
/* {events}, {best}, work->truncate; validates. Needs no layout. */
gboolean autocdc_read_events (AutoCdcWork *work, GError **error);
/* What autocdc_read_ahead() read, to go on with. @ahead: (nullable). Returns: (transfer full) (nullable): NULL: the events are to be read. */
AutoCdcWork *autocdc_ahead_take (AutoCdcAhead *ahead, const AutoCdcPlan *plan, const AutoCdcBatch *batch,
                                 const RelationContext *context, BaseCancel *cancel);
/* Refuses a batch for @n events or rows that break the promise of WHERE. FALSE. */
gboolean autocdc_refuse_promise (const AutoCdcWork *work, gint64 n, const char *what, GError **error);
/* Refuses empty keys where they are NULL in the target. */
gboolean autocdc_check_empty_keys (AutoCdcWork *work, GError **error);
/* Takes truncates out of {events}. */
gboolean autocdc_take_truncates (AutoCdcWork *work, GError **error);
/* Begins a try: the truncate that the target knows. */
void autocdc_set_truncate (AutoCdcWork *work);
/* Of the batch's newest truncate and the one that the target knew, the newer one becomes the layout's; {T:column}. */
gboolean autocdc_hear_truncates (AutoCdcWork *work, GError **error);
/* A batch that clears: {keys} gets keys whose rows the truncate may change otherwise than by clearing them. */
gboolean autocdc_add_truncated_keys (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* {cleared}, work->cleared_files, of {rows} and their scan. */
gboolean autocdc_find_cleared (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* The piece `event values`, of events `e`: v<i> from x<source>, NULL where the source has no such field. Of a partial
 * target also the set b, behind them: what the event does not author has no value. */
void autocdc_set_event_values (AutoCdcWork *work);
/* {best}, {reduced}, {keys}, {batch}. */
gboolean autocdc_reduce_events (AutoCdcWork *work, GError **error);
/* An axis of time: rows that end on it before the batch's first event of their key stay as they are. */
typedef struct {
  guint end; /* the column in the target */
  const BaseType *type;
  const char *order;  /* of events */
  const char *column; /* the order key of t.<end>, as a pattern */
} AutoCdcAxis;
/* Business time, and of bitemporal targets system time. Returns: how many. */
guint autocdc_find_axes (const AutoCdcWork *work, const BaseType *present, AutoCdcAxis axes[2]);
/* work->skips without a condition on keys: of snapshots open rows alone are looked at. */
void autocdc_begin_skips (AutoCdcWork *work, const BaseType *present);
/* work->skips by {keys}, and the piece {recent}, a condition for row groups. */
gboolean autocdc_find_skips (AutoCdcWork *work, const BaseType *present, GError **error);
/* A scan whose columns are p<i> by their place in the schema, fi, rn, rid (where a file holds it), hs, hb, hh. @inputs: (nullable): files
 * instead of those that may hold the batch's keys, each with one value, which becomes the column place. */
DeltaScan *autocdc_scan_rows (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean payload, GArray *inputs,
                              GError **error);
/* The input of a scan that is the file @index of @scan; the array that autocdc_inputs_new() makes owns it. */
GArray *autocdc_inputs_new (void);
void autocdc_inputs_add (GArray *inputs, DeltaScan *scan, gint64 index);
/* Whether @a is above @b, which is of the same type. */
gboolean autocdc_version_is_above (const AutoCdcVersion *a, const AutoCdcVersion *b, DuckSession *session,
                                   BaseCancel *cancel, gboolean *above, GError **error);
/* Refuses keys that {events} has twice. */
gboolean autocdc_check_snapshot (AutoCdcWork *work, GError **error);
/* {reduced}, {keys}, {batch} of a snapshot: where it differs from the open rows. work->n_changes. */
gboolean autocdc_compare_snapshot (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* {open}: the keys and values of all open rows, in place: for one query, before any other look-up. Sets work->scan. @any: (out): there are
 * files, else nothing was made. */
gboolean autocdc_define_open_rows (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean *any, GError **error);
/* The relation @name with the columns of {rows}; without @payload no v, st and en. Sets work->scan. */
gboolean autocdc_look_up_rows (AutoCdcWork *work, DeltaSnapshot *snapshot, const char *name, gboolean payload,
                               GError **error);
/* {rows} from {old}, which has no payload, for {keys}. */
gboolean autocdc_look_up_payload (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* The relation @name: k, so, eo, ho, hb, hg of all rows of {keys}: order keys of start, end and sequence held, its set,
 * gen. Histories only. */
gboolean autocdc_look_up_runs (AutoCdcWork *work, DeltaSnapshot *snapshot, const char *name, GError **error);
/* {known}: what a key's facts in state files come to when their values are not asked for. */
gboolean autocdc_look_up_known (AutoCdcWork *work, DeltaTable *table, GError **error);
gboolean autocdc_look_up_state (AutoCdcWork *work, DeltaTable *table, GError **error);
/* {rows}, {state}. */
gboolean autocdc_look_up (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* SCD 1: o of the table @name of facts becomes the rank of sequence (none is lowest) and gen among those of the key. */
gboolean autocdc_rank_facts (AutoCdcWork *work, const char *name, GError **error);
/* {facts}, work->sets. */
gboolean autocdc_unite_facts (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* One more set is in play. */
void autocdc_add_set (AutoCdcWork *work, GBytes *set);
/* Whether facts from the anchor on are enough; bitemporal: if they show that none inherits. */
gboolean autocdc_has_anchor (const AutoCdcWork *work);
/* {anchors} of {batch} and {rows}. */
void autocdc_define_anchors (AutoCdcWork *work);
/* {before} where facts inherit from before the anchor. */
gboolean autocdc_find_before (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* {before} of {rows}. */
gboolean autocdc_look_up_before (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error);
/* Takes it out of {histories}. */
void autocdc_forget_before (AutoCdcWork *work);
/* {histories}: the rows that the facts of the relation @told make, a history for each of @line (`{K}`): line, st, en, v, hs and ho of the
 * last step. Leaves the pieces `changes before` and `changes behind`: ` OR …` a tracked field differs from that of the
 * row before or behind in the window w. */
gboolean autocdc_find_histories (AutoCdcWork *work, const char *told, const char *line, GError **error);
/* {need} of the facts in the table @known: the upserts that stand, with the newest sequences of their key, and every
 * key's newest delete. */
gboolean autocdc_scd1_find_needed (AutoCdcWork *work, const char *known, GError **error);
/* {new}, {need}: the reference functions. */
gboolean autocdc_scd1_compute (AutoCdcWork *work, GError **error);
gboolean autocdc_scd2_compute (AutoCdcWork *work, GError **error);
gboolean autocdc_bitemporal_compute (AutoCdcWork *work, GError **error);
/* SCD 1, the short cut: outcome of the keys that need no payload. */
gboolean autocdc_simple_applies (const AutoCdcWork *work);
/* {simple}; @n_complex: (out): keys for the general way, which then has {keys}, {batch}, {rows} and {state} of theirs. */
gboolean autocdc_simple_split (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean with_old_rows, gint64 *n_complex,
                               GError **error);
/* Their part of {diff}, {marks} and {add}, beside that of the general way when it ran. */
void autocdc_simple_add (AutoCdcWork *work);
/* The same of partial targets: {simple} of {old} and {known}; their part. */
gboolean autocdc_partial_classify (AutoCdcWork *work, GError **error);
void autocdc_partial_add (AutoCdcWork *work);
/* SCD 2: the same of keys all of whose events are newer than what is known of them. */
gboolean autocdc_simple_history_applies (const AutoCdcWork *work);
gboolean autocdc_simple_history_split (AutoCdcWork *work, DeltaSnapshot *snapshot, gint64 *n_complex, GError **error);
void autocdc_simple_history_add (AutoCdcWork *work);
/* For both: {keys} and so on of what is complex in {simple}; the texts of their parts. */
gboolean autocdc_set_aside (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean with_old_rows, GError **error);
void autocdc_add_simple (AutoCdcWork *work, const char *diff, const char *marks, const char *facts);
/* The piece `shows`: whether @fact, a table of facts, shows all its values in the row `n`. */
void autocdc_set_shows (AutoCdcWork *work, const char *fact);
/* Appends the hash of field values of a table. */
void autocdc_append_hash (const AutoCdcWork *work, GString *out, const char *table);
/* {diff}, {marks}, {add}. */
gboolean autocdc_find_difference (AutoCdcWork *work, GError **error);

/* One snapshot, which is above the last version: autocdc_apply() of what differs. */
gboolean autocdc_apply_snapshot (DeltaTable *target, AutoCdcPlan *plan, const AutoCdcSnapshot *snapshot,
                                 const AutoCdcBatch *batch, const RelationContext *context, BaseCancel *cancel,
                                 AutoCdcOutcome *outcome, GError **error);

/* Appends a SELECT of facts of state files in the shape k, s, o, d, b, v, w, g; @files must not be empty. */
gboolean autocdc_append_state_scan (AutoCdcWork *work, DeltaTable *table, GPtrArray *files, GString *out,
                                    GError **error);

G_END_DECLS

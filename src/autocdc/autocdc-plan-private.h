/* An analysed flow, and how it lies on its target.
 *
 * The plan knows the source: clauses resolved, expressions bound, events as one query. The layout is the plan laid on one
 * snapshot of the target: its schema after the next batch, its domain with new fields appended, which event column goes where.
 * A layout lives as long as one try of a batch.
 */
#pragma once

#include "autocdc-domain-private.h"

G_BEGIN_DECLS

/* Of the flow, for messages. */
const char *autocdc_flow_name (const AutoCdcFlow *flow);
/* "SCD TYPE 1", "SCD TYPE 2", "BITEMPORAL". */
const char *autocdc_type_text (AutoCdcType type);

/* One selected column of the source. In the events' query it is column i. */
typedef struct {
  char *name;
  BaseType *type;
  gboolean is_key;
} AutoCdcColumn;

struct AutoCdcPlan {
  gint ref_count;
  char *name;
  char *target;
  AutoCdcType type;
  GPtrArray *columns; /* (element-type AutoCdcColumn): selected, in source order */
  GArray *keys;       /* (element-type guint): the columns that are keys, in the order of KEYS, or of the memory */
  /* Columns …, the sequence, and of what was given: whether it is a delete, a truncate, what WHERE says, the columns to update, the system
   * sequence. Of a snapshot, columns alone. */
  RelationPlan *events;
  BaseType *sequence_type;
  BaseType *system_type;     /* (nullable): of SYSTEM SEQUENCE BY */
  gboolean from_snapshot;    /* sequences are versions of snapshots */
  gboolean deletes;          /* APPLY AS DELETE WHEN was given */
  gboolean truncates;        /* APPLY AS TRUNCATE WHEN was given */
  char *where;               /* (nullable): the condition of WHERE */
  GPtrArray *where_columns;  /* (nullable) (element-type utf8): columns of the source that it reads */
  GPtrArray *track_columns;  /* (nullable) (element-type utf8) */
  GPtrArray *track_except;   /* (nullable) (element-type utf8) */
  GPtrArray *ignore_columns; /* (nullable) (element-type utf8) */
  GPtrArray *ignore_except;  /* (nullable) (element-type utf8): empty for IGNORE NULL UPDATES of all columns */
  char *columns_to_update;   /* (nullable) */
  GPtrArray *source_names;   /* (element-type utf8): all columns of the source */
  GPtrArray *chosen;         /* (nullable): names of COLUMNS */
  GPtrArray *excepted;       /* (nullable): names of COLUMNS * EXCEPT */
  BaseType *declared;        /* (nullable) */
  BaseType *together;        /* (nullable): what all flows into the target give */
  gboolean may_widen;        /* the target will allow changes of types */
  BaseType *target_schema;
};

/* The plan that a target's domain and schema are: no events, every column of the target for one of the source. @name: of the target.
 * Errors: as autocdc_domain_parse(). Returns: (transfer full). */
AutoCdcPlan *autocdc_plan_of_target (DeltaSnapshot *snapshot, const char *name, GError **error);

/* A field of the memory: a column of the target that is neither key nor interval, or a leaf of such a struct column where ignore-null
 * covers it. Its number is its index in the domain. */
typedef struct {
  const char *name;        /* of the column */
  const char *const *path; /* (array zero-terminated=1): the column, then the way to the leaf */
  const BaseType *type;    /* in the target */
  guint column;            /* in the target's schema */
  int source;              /* column of the plan, -1 = the source has none, or not this leaf of it */
  gboolean tracked;
  gboolean ignores_null;
  gboolean empty_is_null; /* a partition column of text or bytes, where Delta cannot tell them apart */
} AutoCdcField;

/* The selected column of that name, without case, or -1. */
int autocdc_plan_column (const AutoCdcPlan *plan, const char *name);

#define AUTOCDC_MAX_INTERVALS 4
/* The interval columns that a kind of target has last in its schema; even ones are starts, the second pair is of system time.
 * @names: (out) (optional). Returns: how many. */
guint autocdc_interval_columns (AutoCdcType type, const char *const **names);
/* Whether visible rows hold facts: in hidden columns, or, where snapshots are kept, by what they show. */
gboolean autocdc_rows_hold (const AutoCdcPlan *plan);
gboolean autocdc_is_interval_column (const AutoCdcPlan *plan, const char *name);
/* The type at the end of @path (nullable: names below @type) in @type, names without case; NULL when there is none. */
const BaseType *autocdc_leaf_type (const BaseType *type, const char *const *path);

typedef struct {
  AutoCdcPlan *plan;
  AutoCdcDomain *domain; /* as it will be, files still the old ones */
  gboolean is_new;       /* the target has no domain yet, and no rows */
  gboolean adopts;       /* it has no domain yet, and rows that become history */
  BaseType *schema;      /* after the batch */
  gboolean schema_changed;
  GArray *key_columns; /* (element-type guint): in the target's schema */
  GArray
      *empty_keys; /* (element-type guint): keys, by number, that are such partition columns: '' is no value of them */
  GArray *fields;  /* (element-type AutoCdcField) */
  GArray *by_name; /* (element-type guint): fields in bytewise order of their lower-cased names */
  guint intervals[AUTOCDC_MAX_INTERVALS]; /* in the target's schema: the interval columns */
} AutoCdcLayout;

/* @snapshot: (nullable): NULL for a table that does not exist. Errors: as autocdc_plan_new(). Returns: (transfer full). */
AutoCdcLayout *autocdc_layout_new (AutoCdcPlan *plan, DeltaSnapshot *snapshot, GError **error);
/* The same of a table that @plan begins anew: what rows and memory @snapshot has count for nothing. */
AutoCdcLayout *autocdc_layout_anew (AutoCdcPlan *plan, DeltaSnapshot *snapshot, GError **error);
void autocdc_layout_free (AutoCdcLayout *layout);
/* Whether '' is a value of the key of that number: not of a partition column. */
gboolean autocdc_key_may_be_empty (const AutoCdcLayout *layout, guint key);
/* Columns of either, in the order of @a, then of @b; each with the type that takes both's values. @plan: of a flow that gives them.
 * @differs: (out): the column for which there is no such type. Returns: (transfer full) (nullable). */
BaseType *autocdc_schema_unite (const AutoCdcPlan *plan, const BaseType *a, const BaseType *b, const char **differs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (AutoCdcLayout, autocdc_layout_free)

/* The steps of laying. */
/* Whether the plan fits what the domain records; its keys get the order that they have there. Errors: AUTOCDC_INVALID_STATE.*. */
gboolean autocdc_check_drift (AutoCdcPlan *plan, AutoCdcDomain *domain, GError **error);
/* layout->schema, and whether it is another one. @snapshot: (nullable). Errors: AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT,
 * USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE. */
gboolean autocdc_find_schema (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error);
/* Whether the rows of @snapshot may become the history of the plan's flow: keys and intervals must be there as the flow
 * has them; other columns may come and go as in any target. Errors: AUTOCDC_CANNOT_ADOPT,
 * USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE. */
gboolean autocdc_begin_adoption (AutoCdcLayout *layout, DeltaSnapshot *snapshot, GError **error);
/* Once the fields are known: adopted rows author the columns that they have. */
void autocdc_count_adopted (AutoCdcLayout *layout, const BaseType *present);
/* Equal but for nullability, and for case in names of leaves. */
gboolean autocdc_same_type (const BaseType *a, const BaseType *b);

/* Of the domains that hold the progress of flows, one for each run. */
#define AUTOCDC_PROGRESS_PREFIX "sluice.flow."

#define AUTOCDC_START_AT "__START_AT"
#define AUTOCDC_END_AT   "__END_AT"

G_END_DECLS

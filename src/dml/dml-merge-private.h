/* A MERGE in the making, shared by dml-merge.c and dml-merge-skip.c. */
#pragma once

#include "dml-target-private.h"

#include <glib.h>

G_BEGIN_DECLS

/* What a clause does. */
typedef struct {
  SqlExpr **values;    /* (nullable): per column of the schema, NULL: keeps its value, or is generated */
  guint *value_at;     /* UPDATE: their columns in the group's table, or in dml_source */
  gboolean *in_source; /* UPDATE: which of them are columns of dml_source */
} MergeClause;

/* Rows of the target that clauses of one kind may take. */
typedef struct {
  SqlMergeWhen when;
  const char *table; /* temporary */
  RelationPlan *plan;
  RelationText *text;
  DeltaScan *scan; /* whose files c0 numbers */
  guint *old_at;   /* per column of the schema: its old value's column in the table */
  gint64 n_updated, n_deleted;
  gboolean is_counted; /* the two are known */
} MergeGroup;

typedef struct {
  const SqlMerge *sql;
  SqlArena *arena;
  DmlTarget *target;
  BaseType *source_schema;
  gint64 n_source_rows;
  gboolean evolves; /* WITH SCHEMA EVOLUTION */
  MergeClause *clauses;
  MergeGroup match, rest;
  GPtrArray *texts; /* RelationText: live until the rows are written */
  gint64 n_inserted;
} Merge;

/* Finds conditions on columns of the target that follow from the source's values where ON says `column = expression of the source`,
 * and leaves them in the target's skips. */
gboolean dml_merge_find_skips (Merge *merge, GError **error);
/* Leaves in the target's skips that @column has one of the values c0 (of @type) that @text selects in @n_rows rows. Nothing for types that statistics
 * do not tell exactly. */
gboolean dml_skip_by_values (DmlTarget *target, guint column, const char *text, gint64 n_rows, const BaseType *type,
                             GError **error);

G_END_DECLS

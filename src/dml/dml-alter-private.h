/* Inside dml: one change of a table's metadata or protocol on its way to a commit.
 *
 * A statement is one or more *steps*. A step looks at the newest snapshot and says what the table shall be; the runner commits that,
 * and when another writer was faster it runs the step again on the new snapshot.
 */
#pragma once

#include "dml-private.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct {
  const DmlContext *context;
  const SqlName *table; /* whose position errors have */
  CatalogReference reference;
  DeltaSnapshot *snapshot;
  char *name; /* of the table, for messages */

  /* What the step decides. */
  DeltaMetadata *metadata; /* (nullable): unchanged */
  GHashTable *wishes;      /* (nullable): properties that ask for protocol versions or features (dml_protocol_wished) */
  DeltaProtocol *protocol; /* (nullable): exactly this one */
  const char *operation;   /* static */
  json_t *parameters;      /* object of strings */
  gboolean reads_rows;     /* the step looked at the table's rows: added files are conflicts */
  gboolean is_void;        /* nothing to commit */
  WriteBatch *batch;       /* for file actions and domains of the step */
} DmlAlteration;

/* Errors are the statement's. @data: the step's own. */
typedef gboolean (*DmlAlterStep) (DmlAlteration *alteration, gconstpointer data, GError **error);

/* Opens the table, runs @step and commits, again and again until no other writer was faster. */
gboolean dml_alter_run (const DmlContext *context, const SqlName *table, DmlAlterStep step, gconstpointer data,
                        GError **error);

void dml_alteration_take_metadata (DmlAlteration *alteration, DeltaMetadata *metadata); /* (transfer full) */
void dml_alteration_set_parameter (DmlAlteration *alteration, const char *name, const char *value);
/* As a JSON text. @value: (transfer full). */
void dml_alteration_set_json (DmlAlteration *alteration, const char *name, json_t *value);
/* The table is kept by an AUTO CDC flow, whose memory names its columns. */
gboolean dml_alteration_is_autocdc (const DmlAlteration *alteration);

/* Counts live rows of the snapshot for which @condition is not TRUE. */
gboolean dml_count_violations (DmlAlteration *alteration, const SqlExpr *condition, gint64 *n_rows, GError **error);

/* dml-alter-properties.c */
gboolean dml_alter_set_properties (const DmlContext *context, const SqlAlter *alter, GError **error);
gboolean dml_alter_unset_properties (const DmlContext *context, const SqlAlter *alter, GError **error);
/* @text: (nullable): none */
gboolean dml_alter_table_comment (const DmlContext *context, const SqlName *table, const char *text, GError **error);

/* What properties ask of the protocol: `delta.feature.<x>`, `delta.minReaderVersion`, `delta.minWriterVersion`.
 * Errors: DELTA_UNSUPPORTED_FEATURES_IN_CONFIG, DELTA_UNSUPPORTED_FEATURE_STATUS, DELTA_PROTOCOL_PROPERTY_NOT_INT,
 *         DELTA_INVALID_PROTOCOL_VERSION.
 * Returns: (transfer full): @protocol raised. */
DeltaProtocol *dml_protocol_wished (DeltaProtocol *protocol, GHashTable *properties, GError **error);
/* Whether a user may set the property. @metadata: (nullable): of the table that has it. Errors: DELTA_CANNOT_MODIFY_TABLE_PROPERTY,
 * UNSUPPORTED_FEATURE (what this engine does not keep up). */
gboolean dml_property_check (const char *key, const char *value, DeltaMetadata *metadata, GError **error);

/* dml-alter-columns.c: ADD, DROP, RENAME, REPLACE COLUMNS and ALTER COLUMN. @is_change: the statement is COMMENT ON COLUMN. */
gboolean dml_alter_columns (const DmlContext *context, const SqlAlter *alter, GError **error);
/* COMMENT ON COLUMN: @name is the table's with the column behind it. */
gboolean dml_comment_on_column (const DmlContext *context, const SqlComment *comment, GError **error);

/* dml-alter-constraint.c */
gboolean dml_alter_add_constraint (const DmlContext *context, const SqlAlter *alter, GError **error);
gboolean dml_alter_drop_constraint (const DmlContext *context, const SqlAlter *alter, GError **error);

/* dml-alter-feature.c */
gboolean dml_alter_add_feature (const DmlContext *context, const SqlAlter *alter, GError **error);
gboolean dml_alter_drop_feature (const DmlContext *context, const SqlAlter *alter, GError **error);
gboolean dml_alter_adopt (const DmlContext *context, const SqlAlter *alter, GError **error);
gboolean dml_alter_cluster_by (const DmlContext *context, const SqlAlter *alter, GError **error);
/* What row tracking needs before delta.enableRowTracking may be set on a table that has files: the protocol, then ids for every
 * file that has none. Each is a commit of its own, and neither shows in a feed. */
gboolean dml_enable_row_tracking (const DmlContext *context, const SqlName *table, GError **error);

G_END_DECLS

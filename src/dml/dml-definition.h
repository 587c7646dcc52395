/* What CREATE TABLE says about a table, as Delta metadata: shared by statements and by pipelines that declare tables.
 */
#pragma once

#include "base-settings.h"
#include "base-type.h"
#include "delta-metadata.h"
#include "delta-transaction.h"
#include "sql-tree.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct {
  BaseType *schema;         /* a struct; without fields when no columns were written */
  char **partition_columns; /* NULL-terminated, spelled as in the schema where it is known */
  char **clustering;        /* NULL-terminated: names of CLUSTER BY */
  GHashTable *properties;   /* char * → char *: TBLPROPERTIES, defaults of the session, CHECK constraints */
  char *comment;            /* (nullable) */
} DmlDefinition;
void dml_definition_clear (DmlDefinition *definition);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DmlDefinition, dml_definition_clear)

/**
 * dml_definition_from_create:
 * @settings: (nullable): `spark.databricks.delta.properties.defaults.<x>` become `delta.<x>` where the statement does not say
 * @definition: (out caller-allocates)
 *
 * Reads columns (types, NOT NULL, DEFAULT, GENERATED, CHAR and VARCHAR lengths, COMMENT, CHECK), PARTITIONED BY, CLUSTER BY, TBLPROPERTIES,
 * COMMENT. Primary and foreign keys are informational and leave no trace. Columns without a type are left out of the schema.
 *
 * Errors: UNSUPPORTED_FEATURE with its position: identity columns, masks, row filters, partition transforms, a format other than
 *         delta, PARTITIONED BY with CLUSTER BY; DELTA_UNKNOWN_CONFIGURATION comes later, from write_batch_set_metadata().
 */
gboolean dml_definition_from_create (const SqlCreateTable *create, BaseSettings *settings, DmlDefinition *definition,
                                     GError **error);

/* Comment, generation expression, and the length of CHAR and VARCHAR into the metadata of a column that has a type. */
void dml_definition_note_column (const SqlColumn *column, json_t *metadata);
/* The columns that CLUSTER BY names, none for NONE and AUTO. Returns: (transfer full): NULL-terminated; NULL with UNSUPPORTED_FEATURE for
 * nested ones. */
GStrv dml_definition_clustering (const SqlClusterBy *cluster, GError **error);

/* The metadata of a new table with this definition. @schema: (nullable): instead of the definition's. Returns: (transfer full). */
DeltaMetadata *dml_definition_metadata (const DmlDefinition *definition, const BaseType *schema, gint64 now_us);
/* Puts CLUSTER BY into the commit (domain `delta.clustering`), after write_batch_set_metadata(). @names: NULL-terminated; none: the table is
 * clustered no more.
 * Errors: UNRESOLVED_COLUMN.WITHOUT_SUGGESTION. */
gboolean dml_definition_cluster (char *const *names, DeltaTransaction *transaction, GError **error);

G_END_DECLS

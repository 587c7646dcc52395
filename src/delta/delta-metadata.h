/* What a table is: its metadata action (schema, partition columns, properties) and its protocol. Immutable,
 * reference-counted values; a changed one is a new one.
 */
#pragma once

#include "base-type.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef enum { DELTA_MAPPING_NONE, DELTA_MAPPING_NAME, DELTA_MAPPING_ID } DeltaMapping;

typedef struct DeltaMetadata DeltaMetadata;

/* @schema: a struct type; @partition_columns: (nullable): NULL-terminated logical names; @configuration: (nullable):
 * strings → strings; @name, @description: (nullable). The id is a fresh UUID. Returns: (transfer full). */
DeltaMetadata *delta_metadata_new (const BaseType *schema, const char *const *partition_columns,
                                   GHashTable *configuration, const char *name, const char *description,
                                   gint64 created_ms);
DeltaMetadata *delta_metadata_ref (DeltaMetadata *metadata); /* (transfer full) */
void delta_metadata_unref (DeltaMetadata *metadata);         /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaMetadata, delta_metadata_unref)

/* The same table with one thing changed. Returns: (transfer full). */
DeltaMetadata *delta_metadata_with_schema (DeltaMetadata *metadata, const BaseType *schema);
DeltaMetadata *delta_metadata_with_partition_columns (DeltaMetadata *metadata, const char *const *columns);
DeltaMetadata *delta_metadata_with_property (DeltaMetadata *metadata, const char *key,
                                             const char *value); /* NULL unsets */
DeltaMetadata *delta_metadata_with_texts (DeltaMetadata *metadata, const char *name, const char *description);

/* Facts. Borrows live as long as @metadata. */
const char *delta_metadata_id (DeltaMetadata *metadata);
const char *delta_metadata_name (DeltaMetadata *metadata);        /* (nullable) */
const char *delta_metadata_description (DeltaMetadata *metadata); /* (nullable) */
BaseType *delta_metadata_schema (DeltaMetadata *metadata);        /* a struct; field metadata as in the log */
const char *const *delta_metadata_partition_columns (DeltaMetadata *metadata); /* NULL-terminated, logical names */
gboolean delta_metadata_is_partition_column (DeltaMetadata *metadata, guint column);
gint64 delta_metadata_created_ms (DeltaMetadata *metadata); /* -1 = not said */
/* All properties, sorted by key. Returns: (transfer container): keys, NULL-terminated. */
const char **delta_metadata_property_keys (DeltaMetadata *metadata);
const char *delta_metadata_property (DeltaMetadata *metadata, const char *key); /* (nullable) */

/* A property `delta.…` in its own spelling, whatever the case of @key; NULL for others. (transfer none) */
const char *delta_property_name (const char *key);

/* Properties with their type and default. A value that cannot be read counts as the default. */
gboolean delta_metadata_bool (DeltaMetadata *metadata, const char *key, gboolean fallback);
gint64 delta_metadata_int (DeltaMetadata *metadata, const char *key, gint64 fallback);
gint64 delta_metadata_interval_us (DeltaMetadata *metadata, const char *key,
                                   gint64 fallback_us); /* `interval 1 week` */
DeltaMapping delta_metadata_mapping (DeltaMetadata *metadata);
gboolean delta_metadata_change_feed (DeltaMetadata *metadata);       /* enableChangeDataFeed or its old synonym */
gboolean delta_metadata_deletion_vectors (DeltaMetadata *metadata);  /* delta.enableDeletionVectors */
gboolean delta_metadata_row_tracking (DeltaMetadata *metadata);      /* delta.enableRowTracking */
gboolean delta_metadata_append_only (DeltaMetadata *metadata);       /* delta.appendOnly */
gboolean delta_metadata_commit_timestamps (DeltaMetadata *metadata); /* delta.enableInCommitTimestamps */
const char *delta_metadata_row_id_column (DeltaMetadata *metadata);  /* (nullable): hidden physical column */
const char *delta_metadata_row_commit_version_column (DeltaMetadata *metadata); /* (nullable) */

/* Column mapping. Without it the physical name is the name and the id is -1. */
const char *delta_field_physical_name (const BaseField *field, DeltaMapping mapping);
gint64 delta_field_id (const BaseField *field);
/* Gives every field of @schema, nested ones too, an id and a physical name where it has none; @max_id: (inout): the
 * property delta.columnMapping.maxColumnId. A new table gets physical names `col-<uuid>`; a table that turns mapping on
 * keeps the names it has (@keep_names). Returns: (transfer full). */
BaseType *delta_schema_assign_mapping (const BaseType *schema, gint64 *max_id, gboolean keep_names);

/* Protocol ------------------------------------------------------------------------------------------------------------ */

typedef struct DeltaProtocol DeltaProtocol;

DeltaProtocol *delta_protocol_ref (DeltaProtocol *protocol); /* (transfer full) */
void delta_protocol_unref (DeltaProtocol *protocol);         /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaProtocol, delta_protocol_unref)
int delta_protocol_reader_version (DeltaProtocol *protocol);
int delta_protocol_writer_version (DeltaProtocol *protocol);
/* The lists as in the action, sorted; empty without table features. Borrow. */
const char *const *delta_protocol_reader_features (DeltaProtocol *protocol);
const char *const *delta_protocol_writer_features (DeltaProtocol *protocol);
/* Whether the protocol supports @feature, by list or implied by a legacy version. */
gboolean delta_protocol_has (DeltaProtocol *protocol, const char *feature);
/* Whether this engine can read, write. Errors: DELTA_UNSUPPORTED_FEATURES_FOR_READ / _FOR_WRITE naming every feature,
 * DELTA_INVALID_PROTOCOL_VERSION. */
gboolean delta_protocol_check_read (DeltaProtocol *protocol, GError **error);
gboolean delta_protocol_check_write (DeltaProtocol *protocol, GError **error);
/* The least protocol of a new table with this metadata: versions 1/2 when nothing asks for more, else the legacy versions
 * or table features that its schema and properties need. Returns: (transfer full). */
DeltaProtocol *delta_protocol_for_metadata (DeltaMetadata *metadata);
/* @protocol with @feature added (as table features when it has no legacy version, legacy features then listed too), or the
 * same when it has it already. Dependencies come along (rowTracking → domainMetadata). Returns: (transfer full). */
DeltaProtocol *delta_protocol_with_feature (DeltaProtocol *protocol, const char *feature);
/* @protocol without @feature. Returns: (transfer full). */
DeltaProtocol *delta_protocol_without_feature (DeltaProtocol *protocol, const char *feature);
/* @protocol raised to these versions; writer version 7 lists what the legacy versions implied. Lower versions change nothing. What the
 * versions mean is not checked: delta_protocol_check_write(). Returns: (transfer full). */
DeltaProtocol *delta_protocol_with_versions (DeltaProtocol *protocol, int reader_version, int writer_version);
/* @protocol raised to what @metadata needs; the same object when it needs nothing more. Returns: (transfer full). */
DeltaProtocol *delta_protocol_upgraded (DeltaProtocol *protocol, DeltaMetadata *metadata);
gboolean delta_protocol_equal (DeltaProtocol *a, DeltaProtocol *b);

/* @metadata made ready for delta.enableRowTracking=true: the property and fresh names of the two hidden columns, kept
 * where they exist. Returns: (transfer full). */
DeltaMetadata *delta_metadata_enable_row_tracking (DeltaMetadata *metadata);

/**
 * delta_metadata_prepare:
 * @metadata: the metadata that a statement wants
 * @old: (nullable): the table's present one, NULL for a new table
 *
 * Checks the delta.* properties (known, values of their type, allowed transitions, feed and reserved names) and does what
 * they ask of the metadata: ids and physical names for column mapping, hidden names for row tracking, none of it twice.
 * `delta.feature.<name>` and the protocol versions are dropped: ask delta_metadata_wished_features() of the metadata before.
 *
 * Errors:   DELTA_UNKNOWN_CONFIGURATION, DELTA_ILLEGAL_OPTION, DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS,
 *           DELTA_UNSUPPORTED_OPERATION, DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION.
 * Returns:  (transfer full).
 */
DeltaMetadata *delta_metadata_prepare (DeltaMetadata *metadata, DeltaMetadata *old, GError **error);

/* The names that properties `delta.feature.<name> = supported` ask for, for delta_transaction_require_feature().
 * Returns: (transfer full): NULL-terminated. */
char **delta_metadata_wished_features (DeltaMetadata *metadata);

G_END_DECLS

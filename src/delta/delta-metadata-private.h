/* Metadata and protocol as actions of the log. */
#pragma once

#include "delta-metadata.h"

G_BEGIN_DECLS

/* From the object of a `metaData` or `protocol` action. Errors: DELTA_LOG_CORRUPT, INVALID_SCHEMA_JSON,
 * UNSUPPORTED_DATATYPE, UNSUPPORTED_FILE_FORMAT (a provider other than parquet). Returns: (transfer full). */
DeltaMetadata *delta_metadata_from_json (const json_t *object, GError **error);
json_t *delta_metadata_to_json (DeltaMetadata *metadata); /* (transfer full): the object without its action's name */
DeltaProtocol *delta_protocol_from_json (const json_t *object, GError **error);
json_t *delta_protocol_to_json (DeltaProtocol *protocol); /* (transfer full) */

/* Whether a top-level field's metadata has @key. */
gboolean delta_metadata_has_field_key (DeltaMetadata *metadata, const char *key);

DeltaProtocol *delta_protocol_new (int reader_version, int writer_version, const char *const *reader_features,
                                   const char *const *writer_features);

G_END_DECLS

/* What the room itself knows of a DeltaTable. */
#pragma once

#include "delta-log-private.h"
#include "delta-table.h"
#include "delta-vector.h"
#include "duck-session.h"

G_BEGIN_DECLS

/* A hold keeps the table's memory, a reference its caches too: the cached snapshot holds its table without a cycle. */
DeltaTable *delta_table_hold (DeltaTable *table);
void delta_table_release (DeltaTable *table);

/* A session for reading metadata. Errors: UNSUPPORTED_FEATURE without an engine. Returns: (transfer full). */
DuckSession *delta_table_session (DeltaTable *table, GError **error);

/* Whether no clean-up of the log with this cutoff was claimed through @table yet. */
gboolean delta_table_claim_cleanup (DeltaTable *table, gint64 cutoff_us);
/* The timestamp of the log's first commit; that of later ones would need the ones before. */
gboolean delta_table_first_timestamp (DeltaTable *table, DeltaVersion first, DeltaMetadata *metadata,
                                      gint64 *timestamp_ms, GError **error);

/* Vectors kept for a while; both take care of locking. @id: as delta_vector_descriptor_id(). */
DeltaVector *delta_table_cached_vector (DeltaTable *table, const char *id); /* (transfer full) (nullable) */
void delta_table_cache_vector (DeltaTable *table, const char *id, DeltaVector *vector);

/* Something kept per file path (footers); the value's life is the table's. (nullable) */
gpointer delta_table_cached_footer (DeltaTable *table, const char *path);
/* @footer: (transfer full): freed by @free_footer; if another was put first, that one is returned and @footer freed. */
gpointer delta_table_cache_footer (DeltaTable *table, const char *path, gpointer footer, GDestroyNotify free_footer);

G_END_DECLS

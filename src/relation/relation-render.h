/* Values of a result as text for people and as JSON for programs. */
#pragma once

#include "base-type.h"
#include "duck-engine.h"
#include "duck-vector.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct RelationRenderer RelationRenderer;

/**
 * relation_renderer_new:
 * @engine: reads the transitions of @time_zone once; not kept
 * @time_zone: of the session: shown times of TIMESTAMP as text are in it
 *
 * Errors:   INVALID_TIMEZONE.
 * Threads:  a renderer serves any number of threads.
 * Returns:  (transfer full).
 */
RelationRenderer *relation_renderer_new (DuckEngine *engine, const char *time_zone, GError **error);
void relation_renderer_free (RelationRenderer *renderer); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationRenderer, relation_renderer_free)

/* CAST(value AS STRING): `[1, null]`, `{a -> 1}`, `2024-02-29 10:11:12.5`; a NULL gives `null`. @vector: in the physical form of @type.
 * Errors: a VARIANT that cannot be shown. */
gboolean relation_renderer_append_text (RelationRenderer *renderer, GString *out, const BaseType *type,
                                        const DuckVector *vector, guint64 row, GError **error);

/* JSON: integers and floating numbers as numbers (NaN and infinities as strings), decimals as strings with their scale, dates
 * `YYYY-MM-DD`, timestamps as UTC instants with six digits and `Z` (TIMESTAMP_NTZ without), binary as hex, structs as objects
 * (lists of [name, value] if names repeat), maps as lists of [key, value] sorted by key, intervals as Spark's text.
 * Errors: as above. */
gboolean relation_renderer_append_json (RelationRenderer *renderer, GString *out, const BaseType *type,
                                        const DuckVector *vector, guint64 row, GError **error);

/* A JSON string with quotes; @size: of @text in bytes, -1: up to NUL. @text is UTF-8. */
void relation_render_json_string (GString *out, const char *text, gssize size);

G_END_DECLS

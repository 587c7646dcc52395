/* Date and time patterns: the letters of Java's DateTimeFormatter that Spark allows, for printing and for strict reading.
 *
 * A compiled pattern is immutable and safe from any thread.
 */
#pragma once

#include "relation-civil-private.h"
#include "relation-zone-private.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct RelationPattern RelationPattern;

/**
 * relation_pattern_new:
 * @text: @size bytes, the pattern
 * @for_reading: some letters print but are not read
 *
 * Errors:   INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION when only the formatter before Spark 3 knows it,
 *           …DATETIME_WEEK_BASED_PATTERN, INVALID_DATETIME_PATTERN.* otherwise.
 * Returns:  (transfer full).
 */
RelationPattern *relation_pattern_new (const char *text, gsize size, gboolean for_reading, GError **error);
void relation_pattern_free (RelationPattern *pattern);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationPattern, relation_pattern_free)

/* Appends @instant_us in @zone. Errors: UNSUPPORTED_FEATURE for names of zones that are not known here. */
gboolean relation_pattern_format (const RelationPattern *pattern, gint64 instant_us, const RelationZone *zone,
                                  GString *out, GError **error);

typedef struct {
  gint64 wall_us;
  gboolean has_offset; /* the text named an offset */
  gint64 offset_us;
  char zone[72]; /* the text named a region; else empty */
} RelationPatternTime;

/* Reads the whole text. FALSE: it does not match or names no date. */
gboolean relation_pattern_parse (const RelationPattern *pattern, const char *text, gsize size,
                                 RelationPatternTime *time);

G_END_DECLS

/* Time zones: offsets of a zone over time, and Spark's choice of an instant for a local time.
 *
 * Regions are read from DuckDB's ICU once each and kept as a table of transitions; fixed offsets need no table.
 */
#pragma once

#include "relation-civil-private.h"

G_BEGIN_DECLS

typedef struct RelationZone RelationZone;   /* immutable */
typedef struct RelationZones RelationZones; /* a cache of zones, safe from any thread */

typedef struct {
  gint64 utc_us;    /* first instant with @offset_us */
  gint64 offset_us; /* local minus UTC */
} RelationZoneTransition;

/* Reads the transitions of a region. @transitions: (out) (transfer full): GArray of RelationZoneTransition in order, the
 * first at G_MININT64. Returns: FALSE with no error set when ICU does not know @region. */
typedef gboolean (*RelationZoneLoader) (gpointer data, const char *region, GArray **transitions, GError **error);

RelationZones *relation_zones_new (RelationZoneLoader loader, gpointer loader_data);
RelationZones *relation_zones_ref (RelationZones *zones);
void relation_zones_unref (RelationZones *zones);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationZones, relation_zones_unref)

/**
 * relation_zones_get:
 * @name: @size bytes: a region, `UTC`, `Z`, `+5:30`, `GMT+1` or one of Java's short names
 *
 * Errors:   INVALID_TIMEZONE; those of the loader.
 * Returns:  (transfer none): lives as long as @zones.
 */
const RelationZone *relation_zones_get (RelationZones *zones, const char *name, gsize size, GError **error);

const char *
relation_zone_id (const RelationZone *zone); /* Java's id: `America/Los_Angeles`, `Z` of fixed zero, `+05:30` */
gboolean relation_zone_is_fixed (const RelationZone *zone);
gint64 relation_zone_offset_us (const RelationZone *zone, gint64 instant_us);
gint64 relation_zone_to_wall (const RelationZone *zone, gint64 instant_us);
/* A gap shifts forward by its length, an overlap takes the earlier instant. */
gint64 relation_zone_to_instant (const RelationZone *zone, gint64 wall_us);
/* Whether the offset in force is larger than the smallest one around it in the same year: daylight saving. */
gboolean relation_zone_is_daylight (const RelationZone *zone, gint64 instant_us);

G_END_DECLS

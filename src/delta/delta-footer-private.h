/* The schema in the footer of a Parquet file: names, field ids, and which timestamps are wall clock ones.
 */
#pragma once

#include "base-cancel.h"
#include "delta-table.h"

G_BEGIN_DECLS

/* One node of the schema tree, as Parquet has it (lists and maps with their inner groups). */
typedef struct DeltaFooterNode DeltaFooterNode;
struct DeltaFooterNode {
  char *name;
  gint64 field_id;     /* -1 = none */
  gboolean wall_clock; /* a timestamp that DuckDB takes for one without a zone (INT96, isAdjustedToUTC = false) */
  char *type;          /* (nullable): DuckDB's name of a leaf's type */
  gboolean has_ids;    /* this node or one below has a field id */
  guint n_children;
  DeltaFooterNode *children;
};

/* Makes sure that the footers of @paths (n_paths local paths) are known; they stay with the table.
 * @footers: (out caller-allocates) (array length=n_paths): borrows, the table's life.
 * Errors: DELTA_FILE_NOT_FOUND_DETAILED, DELTA_DATA_FILE_UNREADABLE. */
gboolean delta_footers_load (DeltaTable *table, const char *const *paths, guint n_paths,
                             const DeltaFooterNode **footers, BaseCancel *cancel, GError **error);

/* Children of a node, (nullable) in and out. */
const DeltaFooterNode *delta_footer_child (const DeltaFooterNode *node, const char *name);
const DeltaFooterNode *delta_footer_child_by_id (const DeltaFooterNode *node, gint64 field_id);
const DeltaFooterNode *delta_footer_element (const DeltaFooterNode *list);
const DeltaFooterNode *delta_footer_map_part (const DeltaFooterNode *map, guint part); /* 0 key, 1 value */

G_END_DECLS

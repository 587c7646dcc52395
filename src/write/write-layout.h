/* The physical form of a table's rows: which columns a data file has, under which names, and how a row's values are told in
 * DuckDB text. Private to the room.
 */
#pragma once

#include "base-type.h"
#include "delta-metadata.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  guint index; /* in the schema */
  const BaseField *field;
  const char *physical; /* name in the file, or in partitionValues */
  gboolean partition;
} WriteColumn;

typedef struct WriteLayout WriteLayout;

/* Keeps @metadata. Columns of type VOID have no place in files and are left out of the layout. Returns: (transfer full). */
WriteLayout *write_layout_new (DeltaMetadata *metadata);
void write_layout_free (WriteLayout *layout); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (WriteLayout, write_layout_free)

DeltaMetadata *write_layout_metadata (WriteLayout *layout);
/* In schema order; borrows live as long as @layout. */
guint write_layout_n_columns (WriteLayout *layout);
const WriteColumn *write_layout_column (WriteLayout *layout, guint index);
/* In the order of the partition columns. */
guint write_layout_n_partitions (WriteLayout *layout);
const WriteColumn *write_layout_partition (WriteLayout *layout, guint index);

/* Appends, for every data column, `<value> AS "physical"`, comma between; the value is `c<i>` with nested fields under their
 * physical names. Returns: whether anything was appended. */
gboolean write_layout_append_data (WriteLayout *layout, GString *sql);
/* DuckDB's FIELD_IDS text; NULL without column mapping. Returns: (transfer full). */
char *write_layout_field_ids (WriteLayout *layout);

/* SQL of a partition column's text as Delta writes it (VARCHAR; NULL for NULL and for an empty string).
 * Source: Delta PROTOCOL.md, "Partition Value Serialization". Returns: (transfer full). */
char *write_partition_expression (const char *column, const BaseType *type);
/* Whether a column of this type may partition a table. */
gboolean write_partition_type_is_legal (const BaseType *type);

G_END_DECLS

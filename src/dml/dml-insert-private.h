/* INSERT's two halves: dml-insert.c (the new rows), dml-overwrite.c (what they replace). */
#pragma once

#include "dml-target-private.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  DML_REPLACE_NOTHING,
  DML_REPLACE_ALL,
  DML_REPLACE_PARTITIONS, /* those that PARTITION (p = v) fixes */
  DML_REPLACE_SAME,       /* rows with the new rows' partition values, or values of REPLACE USING */
  DML_REPLACE_WHERE,
} DmlReplace;

DmlReplace dml_insert_replaces (const DmlContext *context, const SqlInsert *insert, DmlTarget *target);

/* The metrics of a commit that replaces a part of the table. */
extern const WriteMetric dml_replace_metrics[];

/**
 * dml_insert_replace:
 * @rows: (transfer none): DuckDB text of the new rows
 * @n_deleted: (out): -1 = not known
 *
 * Stages the new rows and deletes what they replace. Leaves the temporary table dml_rows.
 *
 * Errors: DELTA_REPLACE_WHERE_MISMATCH, NON_PARTITION_COLUMN, UNRESOLVED_COLUMN.
 */
gboolean dml_insert_replace (DmlTarget *target, const SqlInsert *insert, DmlReplace replaces, const char *rows,
                             gint64 *n_deleted, guint64 *n_rows, GError **error);

G_END_DECLS

/* Statements on the target of an AUTO CDC flow: DELETE, UPDATE, MERGE, INSERT and their relatives.
 *
 * A statement deletes rows of its batch as on any table, and then hands over the rows that it adds or changes. What later events must
 * know of it goes into the same commit:
 *
 *   SCD 1   an added or changed row has the newest sequence known of its key (below all others when there is none) and wins ties;
 *           a key that is left without a row has a delete there.
 *   SCD 2   every touched key begins anew: what was known is void, each of its rows is an upsert at __START_AT, an __END_AT at
 *           which no row begins is a delete.
 *
 *   BITEMPORAL   a key may be deleted whole, and begins anew.
 */
#pragma once

#include "autocdc.h"
#include "write-batch.h"

G_BEGIN_DECLS

typedef struct AutoCdcDml AutoCdcDml;

/**
 * autocdc_dml_new:
 * @snapshot: (transfer none): of a table with the domain AUTOCDC_DOMAIN; a reference is kept
 * @name: of the table, for messages
 * @context: (transfer none): its session runs every query and lends its temporary tables `autocdc_*`; outlives the result
 * @clock_us: when the statement began
 *
 * One attempt of a statement. Errors: AUTOCDC_INVALID_STATE.*, UNSUPPORTED_FEATURE for memory that this engine does not read.
 * Returns: (transfer full).
 */
AutoCdcDml *autocdc_dml_new (DeltaSnapshot *snapshot, const char *name, const RelationContext *context, gint64 clock_us,
                             BaseCancel *cancel, GError **error);
void autocdc_dml_free (AutoCdcDml *dml); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (AutoCdcDml, autocdc_dml_free)

/* For a statement that changes rows, before its batch begins: numbers it, and puts the hidden columns into the batch's options. They
 * live as long as @dml. */
void autocdc_dml_begin (AutoCdcDml *dml, WriteOptions *options);

/**
 * autocdc_dml_write:
 * @write: the statement's batch, from which all rows are deleted or removed that shall go
 * @rows: (nullable): the rows to add, as write_batch_rows() takes them
 * @n_rows: (out) (optional): rows written
 *
 * Stages rows, state file and domain. To be called once; the commit must depend on the whole table (reads_table).
 *
 * Errors: AUTOCDC_BITEMPORAL_STATEMENT for more than keys deleted whole, AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY, and
 * .NULL_SEQUENCE for a row of SCD 2 without __START_AT; those of write_batch_rows().
 */
gboolean autocdc_dml_write (AutoCdcDml *dml, WriteBatch *write, const char *rows, WriteRowsFlags flags, guint64 *n_rows,
                            GError **error);

/**
 * autocdc_dml_purge:
 * @dml: of a statement that changes no rows (REORG … APPLY (PURGE)), instead of autocdc_dml_write()
 * @changed: (out): whether there was anything to drop or to join; FALSE: nothing was staged
 *
 * Stages one state file, in place of all, of the facts that are still needed and that no row holds: values of rows that were deleted or
 * changed by statements are not in it, nor deletes that are older than the retention of the newest batch. The key of a delete that must be
 * remembered stays.
 */
gboolean autocdc_dml_purge (AutoCdcDml *dml, WriteBatch *write, gboolean *changed, GError **error);

G_END_DECLS

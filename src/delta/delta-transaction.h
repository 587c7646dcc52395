/* One commit in the making (architecture D5).
 *
 * A transaction collects actions against the snapshot that it read, then commits version read + 1 by put-if-absent. When
 * another writer won, the winners' commits are checked against what this one read and wrote, as the protocol says: no
 * conflict → the actions are rebased (row ids, commit versions, in-commit timestamp) and tried on the next version.
 * Every data file, vector and change file must be published before delta_transaction_commit() is called.
 */
#pragma once

#include "base-cancel.h"
#include "base-clock.h"
#include "base-error.h"
#include "delta-scan.h"
#include "delta-snapshot.h"
#include "delta-table.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct DeltaTransaction DeltaTransaction;

/* @read: (nullable): NULL for a table that does not exist yet. A reference is taken. Returns: (transfer full). */
DeltaTransaction *delta_transaction_new (DeltaTable *table, DeltaSnapshot *read, const BaseClock *clock);
/* Creates a table: @metadata (see delta_metadata_prepare()) with the least protocol it needs, operation CREATE TABLE.
 * A table that appears meanwhile is the conflict DELTA_PROTOCOL_CHANGED. Returns: (transfer full). */
DeltaTransaction *delta_transaction_new_table (DeltaTable *table, DeltaMetadata *metadata, const BaseClock *clock);
void delta_transaction_free (DeltaTransaction *transaction); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaTransaction, delta_transaction_free)

DeltaTable *delta_transaction_table (DeltaTransaction *transaction);
DeltaSnapshot *delta_transaction_read_snapshot (DeltaTransaction *transaction); /* (nullable) */
/* Metadata and protocol as they will be after the commit. Borrows: until the next set. */
DeltaMetadata *delta_transaction_metadata (DeltaTransaction *transaction);
DeltaProtocol *delta_transaction_protocol (DeltaTransaction *transaction);
/* The version tried first. */
DeltaVersion delta_transaction_next_version (DeltaTransaction *transaction);

/* What was read. Without any of these the transaction is blind and conflicts only on protocol, metadata, txn and domain. */
void delta_transaction_read_table (DeltaTransaction *transaction);                 /* everything */
void delta_transaction_read_file (DeltaTransaction *transaction, DeltaFile *file); /* this file */
/* Rows that satisfy @predicates (copied): added files that may match them are conflicts. Several calls add up. */
void delta_transaction_read_matching (DeltaTransaction *transaction, const DeltaPredicate *predicates,
                                      guint n_predicates);
/* The result depends on this application's last txn: a winner with the same one is a conflict. Setting a txn implies it. */
void delta_transaction_read_txn (DeltaTransaction *transaction, const char *app_id);

/* File actions. A path may be added once and removed once.
 * Errors of the bool ones: DELTA_CANNOT_MODIFY_APPEND_ONLY (a data-changing remove), DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS. */
gboolean delta_transaction_add (DeltaTransaction *transaction, DeltaFile *file, GError **error);
gboolean delta_transaction_remove (DeltaTransaction *transaction, DeltaFile *file, gboolean data_change,
                                   GError **error);
/* Removes @file with its present vector and adds the same path with @vector ((nullable): none); its statistics become wide
 * (tightBounds false). Marks @file as read. */
gboolean delta_transaction_update_vector (DeltaTransaction *transaction, DeltaFile *file,
                                          const DeltaVectorDescriptor *vector, gboolean data_change, GError **error);
void delta_transaction_add_cdc (DeltaTransaction *transaction, DeltaFile *file);

/* One each per commit: the last call wins. */
void delta_transaction_set_metadata (DeltaTransaction *transaction, DeltaMetadata *metadata);
void delta_transaction_set_protocol (DeltaTransaction *transaction, DeltaProtocol *protocol);
/* Raises the protocol so that it has @feature (no action when it has). */
void delta_transaction_require_feature (DeltaTransaction *transaction, const char *feature);
void delta_transaction_set_txn (DeltaTransaction *transaction, const char *app_id, gint64 version);
/* @configuration: NULL removes the domain. */
void delta_transaction_set_domain (DeltaTransaction *transaction, const char *domain, const char *configuration);

/* The configuration of @domain as it will be after the commit; NULL when there is none. Borrow: until the next set. */
const char *delta_transaction_domain (DeltaTransaction *transaction, const char *domain);

/* commitInfo. @value of a parameter is text (JSON texts stay texts, as Spark writes them), NULL is JSON's null. */
void delta_transaction_set_operation (DeltaTransaction *transaction, const char *operation);
void delta_transaction_set_parameter (DeltaTransaction *transaction, const char *name, const char *value);
void delta_transaction_set_metric (DeltaTransaction *transaction, const char *name, gint64 value);
void delta_transaction_set_tag (DeltaTransaction *transaction, const char *name, const char *value);
void delta_transaction_set_user_metadata (DeltaTransaction *transaction, const char *text);
/* isBlindAppend of commitInfo; unset = worked out: only adds and nothing read. */
void delta_transaction_set_blind_append (DeltaTransaction *transaction, gboolean blind);
/* delta.rowTracking.preserved; unset = true, as this engine always keeps ids. */
void delta_transaction_set_rows_preserved (DeltaTransaction *transaction, gboolean preserved);

/* Whether anything but commitInfo would be written. */
gboolean delta_transaction_is_empty (DeltaTransaction *transaction);

typedef enum {
  DELTA_COMMIT_DONE,
  DELTA_COMMIT_CONFLICT, /* another commit won and touches what this one read or wrote: read again and recompute */
} DeltaCommitOutcome;

typedef struct {
  DeltaCommitOutcome outcome;
  DeltaVersion version;  /* DONE: the version made; CONFLICT: the winner that conflicts */
  gint64 timestamp_ms;   /* DONE: inCommitTimestamp, or the time of the commit */
  guint n_tries;         /* puts tried */
  SluiceError condition; /* CONFLICT: DELTA_CONCURRENT_APPEND, …, DELTA_METADATA_CHANGED, DELTA_PROTOCOL_CHANGED */
  char *reason;          /* CONFLICT: a sentence (transfer full): g_free */
} DeltaCommitResult;
void delta_commit_result_clear (DeltaCommitResult *result);

/**
 * delta_transaction_commit:
 * @result: (out): cleared by the caller with delta_commit_result_clear()
 *
 * A put whose end is unknown is settled by reading the version back and looking for this transaction's own txnId.
 * The transaction is spent afterwards, whatever the outcome. The table's cached snapshot is advanced by the next reader.
 *
 * Errors:   DELTA_COMMIT_UNKNOWN: could not be settled; DELTA_CONCURRENT_WRITE: lost 10,000 tries;
 *           DELTA_UNSUPPORTED_FEATURES_FOR_WRITE; storage errors: nothing was committed.
 * Returns:  TRUE if @result was set.
 */
gboolean delta_transaction_commit (DeltaTransaction *transaction, BaseCancel *cancel, DeltaCommitResult *result,
                                   GError **error);
/* The conflict as the error of its condition, for callers that do not retry. Returns: FALSE always. */
gboolean delta_commit_result_to_error (const DeltaCommitResult *result, GError **error);

G_END_DECLS

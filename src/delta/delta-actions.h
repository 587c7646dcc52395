/* The actions of one commit, in the order of its file: for the change feed, streams, history and conflict checks.
 */
#pragma once

#include "delta-file.h"
#include "delta-metadata.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef enum {
  DELTA_ACTION_ADD,
  DELTA_ACTION_REMOVE,
  DELTA_ACTION_CDC,
  DELTA_ACTION_METADATA,
  DELTA_ACTION_PROTOCOL,
  DELTA_ACTION_TXN,
  DELTA_ACTION_DOMAIN,
  DELTA_ACTION_COMMIT_INFO,
} DeltaActionKind;

typedef struct {
  char *app_id;
  gint64 version;
  gint64 last_updated_ms; /* -1 = not said */
} DeltaTxn;

typedef struct {
  char *domain;
  char *configuration; /* text, by convention JSON */
  gboolean removed;
} DeltaDomain;

typedef struct {
  DeltaActionKind kind;
  union {
    DeltaFile *file;         /* ADD, REMOVE, CDC */
    DeltaMetadata *metadata; /* METADATA */
    DeltaProtocol *protocol; /* PROTOCOL */
    DeltaTxn *txn;           /* TXN */
    DeltaDomain *domain;     /* DOMAIN */
    json_t *commit_info;     /* COMMIT_INFO: an object, read only */
  };
} DeltaAction;

/* One commit: an immutable, reference-counted value. Unknown actions are left out. */
typedef struct DeltaCommit DeltaCommit;
DeltaCommit *delta_commit_ref (DeltaCommit *commit); /* (transfer full) */
void delta_commit_unref (DeltaCommit *commit);       /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaCommit, delta_commit_unref)

DeltaVersion delta_commit_version (DeltaCommit *commit);
guint delta_commit_n_actions (DeltaCommit *commit);
const DeltaAction *delta_commit_action (DeltaCommit *commit, guint index); /* borrow: the commit's life */
/* The last action of these kinds, NULL when the commit has none. Borrows: the commit's life. */
DeltaMetadata *delta_commit_metadata (DeltaCommit *commit);
DeltaProtocol *delta_commit_protocol (DeltaCommit *commit);
const json_t *delta_commit_info (DeltaCommit *commit);
/* Any add or remove with dataChange = true. */
gboolean delta_commit_changes_data (DeltaCommit *commit);
gboolean delta_commit_is_blind_append (DeltaCommit *commit); /* by its own word */
/* Milliseconds: commitInfo.inCommitTimestamp, -1 = none; and the file's own modification time. */
gint64 delta_commit_in_commit_timestamp_ms (DeltaCommit *commit);
gint64 delta_commit_modified_ms (DeltaCommit *commit);
gint64 delta_commit_size_bytes (DeltaCommit *commit);

G_END_DECLS

/* Making snapshots: a replay collects actions over an optional base snapshot and ends in a new value. */
#pragma once

#include "base-cancel.h"
#include "delta-log-private.h"
#include "delta-snapshot.h"

G_BEGIN_DECLS

/* What a snapshot remembers of where it came from. */
typedef struct {
  DeltaVersion version;
  gint64 timestamp_ms;      /* -1 = unknown */
  gint64 commit_size_bytes; /* identity of the version's commit file; -1 = it was not there */
  gint64 commit_modified_us;
  DeltaVersion checkpoint_version; /* newest one known below or at the version; DELTA_VERSION_NONE = none */
  gint64 checkpoint_bytes;
  gint64 json_bytes; /* of the commits after that checkpoint */
} DeltaSnapshotOrigin;
const DeltaSnapshotOrigin *delta_snapshot_origin (DeltaSnapshot *snapshot);

typedef struct DeltaReplay DeltaReplay;
/* @base: (nullable). Returns: (transfer full). */
DeltaReplay *delta_replay_new (DeltaSnapshot *base);
void delta_replay_free (DeltaReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaReplay, delta_replay_free)
/* A DeltaLogActionFunc over a DeltaReplay: later actions win over earlier ones. */
gboolean delta_replay_action (DeltaAction *action, gpointer replay, GError **error);
/* The kinds a replay wants; commitInfo of the last commit only. */
#define DELTA_REPLAY_KINDS                                                                                             \
  (1u << DELTA_ACTION_ADD | 1u << DELTA_ACTION_REMOVE | 1u << DELTA_ACTION_METADATA | 1u << DELTA_ACTION_PROTOCOL |    \
   1u << DELTA_ACTION_TXN | 1u << DELTA_ACTION_DOMAIN)
/* inCommitTimestamp of the last commitInfo seen, -1 = none. */
gint64 delta_replay_in_commit_timestamp_ms (DeltaReplay *replay);
/* (nullable): as it would be if the replay ended here. Borrow. */
DeltaMetadata *delta_replay_metadata (DeltaReplay *replay);

/* Ends the replay; @replay is spent. Errors: DELTA_STATE_RECOVER_ERROR, those of delta_protocol_check_read().
 * Returns: (transfer full). */
DeltaSnapshot *delta_replay_end (DeltaReplay *replay, DeltaTable *table, const DeltaSnapshotOrigin *origin,
                                 GError **error);

/* Reads a checkpoint, its sidecars too, into @replay. @size_bytes: (out): of all its files.
 * Errors: DELTA_CHECKPOINT_CORRUPT. */
gboolean delta_checkpoint_read (DeltaTable *table, const DeltaLogCheckpoint *checkpoint, DeltaReplay *replay,
                                gint64 *size_bytes, BaseCancel *cancel, GError **error);
/* The keys of a checkpoint's sidecars. @keys: (out) (transfer full) (element-type char*). Errors: as above. */
gboolean delta_checkpoint_sidecars (DeltaTable *table, const DeltaLogCheckpoint *checkpoint, GPtrArray **keys,
                                    BaseCancel *cancel, GError **error);

/* What `<version>.crc` says to a snapshot that was worked out without it. */
typedef enum {
  DELTA_CHECKSUM_NONE, /* not there, broken, or not enough to tell */
  DELTA_CHECKSUM_DIFFERS,
  DELTA_CHECKSUM_CONFIRMS, /* files, protocol, metadata and domains */
} DeltaChecksum;
DeltaChecksum delta_checksum_compare (DeltaSnapshot *snapshot);

/* The files that the text of one `sluice.*` domain names, as delta_snapshot_domain_files(). Returns: (transfer full). */
char **delta_domain_files (const char *configuration);

/* Whether in-commit timestamps rule version @version under @metadata. */
gboolean delta_metadata_uses_in_commit_timestamp (DeltaMetadata *metadata, DeltaVersion version);

G_END_DECLS

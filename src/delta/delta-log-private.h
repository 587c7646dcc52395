/* The files of `_delta_log`: names, listings, and the lines of a commit.
 *
 *   <20 digits>.json                                          a commit
 *   <20 digits>.checkpoint.parquet                            a checkpoint in one file, of the V1 or the V2 form
 *   <20 digits>.checkpoint.<10 digits>.<10 digits>.parquet    part P of N of a checkpoint
 *   <20 digits>.checkpoint.<uuid>.(json|parquet)              a checkpoint of the V2 form
 *   _sidecars/<any>.parquet                                   file actions of V2 checkpoints
 *   <20 digits>.<20 digits>.compacted.json                    a log compaction
 *   <20 digits>.crc                                           what the version must add up to
 *   _last_checkpoint                                          a hint
 */
#pragma once

#include "delta-actions.h"
#include "store.h"

G_BEGIN_DECLS

#define DELTA_LOG_DIRECTORY       "_delta_log/"
#define DELTA_LOG_SIDECARS        DELTA_LOG_DIRECTORY "_sidecars/"
#define DELTA_LOG_LAST_CHECKPOINT DELTA_LOG_DIRECTORY "_last_checkpoint"
/* A commit file of more than this is refused: a line of it may become one JSON tree. */
#define DELTA_LOG_MAX_COMMIT_BYTES (G_GINT64_CONSTANT (1) << 30)

char *delta_log_commit_key (DeltaVersion version);     /* (transfer full) */
char *delta_log_checkpoint_key (DeltaVersion version); /* (transfer full): of a checkpoint in one file */
char *delta_log_checksum_key (DeltaVersion version);   /* (transfer full) */

typedef struct {
  DeltaVersion version;
  gint64 size_bytes;
  gint64 modified_ms;
  gint64 modified_us;
} DeltaLogCommit;

typedef enum {
  DELTA_CHECKPOINT_CLASSIC, /* one Parquet file named by its version; may be of the V2 form */
  DELTA_CHECKPOINT_PARTS,
  DELTA_CHECKPOINT_UUID_JSON,
  DELTA_CHECKPOINT_UUID_PARQUET,
} DeltaCheckpointKind;

typedef struct {
  DeltaVersion version;
  DeltaCheckpointKind kind;
  guint n_parts; /* 1 but for PARTS */
  guint n_found; /* parts seen */
  gint64 size_bytes;
  char uuid[37]; /* of the UUID kinds */
} DeltaLogCheckpoint;

/* The commits @from … @to in one file. */
typedef struct {
  DeltaVersion from;
  DeltaVersion to;
  gint64 size_bytes;
} DeltaLogCompaction;

/* What a listing shows, each ascending by version. */
typedef struct {
  GArray *commits;     /* DeltaLogCommit */
  GArray *checkpoints; /* DeltaLogCheckpoint: whole ones only */
  GArray *compactions; /* DeltaLogCompaction, by from, then by to */
  GArray *checksums;   /* DeltaVersion: which versions have one */
} DeltaLogListing;
void delta_log_listing_clear (DeltaLogListing *listing);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (DeltaLogListing, delta_log_listing_clear)

/* Lists files of versions ≥ @from. @names_only: sizes and times are then not known. */
gboolean delta_log_list (Store *store, DeltaVersion from, gboolean names_only, DeltaLogListing *listing,
                         GError **error);

/* The same without a listing, whose cost grows with the whole log: asks for the classic checkpoint of @checkpoint and for the commits from
 * there on by name, until some are missing in a row. No compactions are looked for.
 * @found: (out): FALSE when a listing must tell: no such checkpoint, a gap, or more than a few hundred commits after it. */
gboolean delta_log_probe (Store *store, DeltaVersion checkpoint, DeltaLogListing *listing, gboolean *found,
                          GError **error);

/* Whether @version has a checksum file. */
gboolean delta_log_has_checksum (const DeltaLogListing *listing, DeltaVersion version);
/* The longest compaction that begins at @from and ends at @to or before; NULL when there is none. */
const DeltaLogCompaction *delta_log_find_compaction (const DeltaLogListing *listing, DeltaVersion from,
                                                     DeltaVersion to);
char *delta_log_compaction_key (const DeltaLogCompaction *compaction); /* (transfer full) */

/* Keys of a checkpoint's files, without sidecars. Returns: (transfer full): NULL-terminated. */
char **delta_log_checkpoint_keys (const DeltaLogCheckpoint *checkpoint);

/* The version that _last_checkpoint names; DELTA_VERSION_NONE when it is not there or cannot be believed. */
gboolean delta_log_last_checkpoint (Store *store, DeltaVersion *version, GError **error);

/* Calls @func for every action of the kinds in @kinds (bits 1 << DeltaActionKind), in order. What the action points at is
 * freed after the call: take references, or steal from a txn, domain or commit_info by setting the member NULL. */
typedef gboolean (*DeltaLogActionFunc) (DeltaAction *action, gpointer data, GError **error);
#define DELTA_LOG_ALL_KINDS 0xFFFFu
/* @bytes: a file of the log. @file_name: for errors. Errors: DELTA_LOG_CORRUPT with file and line, and those of metadata. */
gboolean delta_log_parse (GBytes *bytes, const char *file_name, guint kinds, DeltaLogActionFunc func, gpointer data,
                          GError **error);
/* The same for one action `{"add":{…}}`. */
gboolean delta_log_parse_line (const char *text, gsize size, guint kinds, DeltaLogActionFunc func, gpointer data,
                               GError **error);

/* Reads a file of actions whole. @bytes: (out) (nullable): NULL when it is not there.
 * Errors: DELTA_LOG_CORRUPT when it is larger than DELTA_LOG_MAX_COMMIT_BYTES. */
gboolean delta_log_read_file (Store *store, const char *key, GBytes **bytes, GError **error);
/* The same for one commit file. */
gboolean delta_log_read_commit (Store *store, DeltaVersion version, GBytes **bytes, GError **error);

void delta_txn_free (DeltaTxn *txn);
DeltaTxn *delta_txn_new (const char *app_id, gint64 version, gint64 last_updated_ms);
void delta_domain_free (DeltaDomain *domain);
DeltaDomain *delta_domain_new (const char *domain, const char *configuration, gboolean removed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaTxn, delta_txn_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaDomain, delta_domain_free)
void delta_action_clear (DeltaAction *action);

DeltaCommit *delta_commit_parse (DeltaVersion version, GBytes *bytes, gint64 modified_ms, GError **error);

G_END_DECLS

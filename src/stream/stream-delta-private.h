/* What the two streams over a Delta table share: options, offsets, their start, the initial snapshot, schemas, the way a batch is
 * planned. stream-delta.c adds what a commit appends, stream-feed.c what it changes. */
#pragma once

#include "stream-schema-log.h"
#include "stream-table.h"

G_BEGIN_DECLS

typedef struct DeltaTable DeltaTable;

/* ---- options ---- */

typedef struct {
  gint64 starting_version;      /* -1 = not given */
  gint64 starting_timestamp_ms; /* G_MININT64 = not given */
  gboolean starting_latest;     /* startingVersion = latest */
  gboolean skip_change_commits;
  gboolean ignore_deletes;
  gboolean ignore_changes;
  gboolean read_change_feed;
  gboolean fail_on_data_loss; /* FALSE: a stream whose log was cleaned up goes on at the earliest version */
  gint64 max_files;           /* 0 = no limit */
  gint64 max_bytes;           /* 0 = no limit */
  /* Borrowed from the pairs, all (nullable). */
  const char *exclude_regex; /* files whose path it matches give nothing */
  const char *schema_location;
  const char *tracking_id;
  const char *allow_rename, *allow_drop, *allow_type_change; /* "always" or a version */
} StreamDeltaOptions;

gboolean stream_delta_options_read (const char *const *pairs, DuckSession *session, StreamDeltaOptions *options,
                                    GError **error);

/* ---- offsets ---- */

#define STREAM_DELTA_BASE        (-1)  /* nothing of the version yet */
#define STREAM_DELTA_CHANGE      (-20) /* stands before a change of the metadata */
#define STREAM_DELTA_POST_CHANGE (-19) /* the same, as Spark writes it a second time */

typedef struct {
  char *table_id;
  DeltaVersion version;
  gint64 index;      /* of the last file read of @version, or one of the above */
  gboolean is_start; /* files of the snapshot @version, not of its commit */
} StreamDeltaOffset;
void stream_delta_offset_clear (StreamDeltaOffset *offset);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StreamDeltaOffset, stream_delta_offset_clear)

/* Errors: FLOW_CHECKPOINT_CORRUPT, DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION. */
gboolean stream_delta_offset_read (const json_t *json, StreamDeltaOffset *offset, GError **error);
json_t *stream_delta_offset_write (const StreamDeltaOffset *offset); /* (transfer full) */

/* ---- the stream ---- */

typedef struct {
  StreamSource base;
  DeltaTable *table;
  DeltaSnapshot *snapshot;    /* when the stream was made */
  DeltaMetadata *metadata;    /* whose schema the leaf has: the snapshot's, or the one tracked */
  DeltaVersion read_version;  /* that @metadata is of */
  StreamSchemaLog *schemas;   /* (nullable): schemas are tracked */
  StreamDeltaOptions options; /* without what it borrows */
  char *allow[3];             /* (nullable): by StreamSchemaChange */
  GRegex *exclude;            /* (nullable) */
  BaseSettings *settings;     /* (nullable) */
  BaseCancel *cancel;
  DeltaVersion end;      /* up to which this run reads */
  DeltaVersion earliest; /* that the log held when this run began */
  gboolean has_begun;
  DeltaSnapshot *start;   /* (nullable): the initial snapshot */
  GPtrArray *start_files; /* (nullable): its files in reading order: by modification time, then path */
} StreamDelta;

/* Fills everything but klass and leaf. */
gboolean stream_delta_init (StreamDelta *stream, const StreamTableRequest *request, const StreamDeltaOptions *options,
                            GError **error);
void stream_delta_clear (StreamDelta *stream);
/* A StreamSourceClass.begin. The first run ends at the snapshot that gave the schema, a later one at the table as it is then. */
gboolean stream_delta_begin (StreamSource *base, StreamProgress *progress, const json_t *last, GError **error);
/* A StreamSourceClass.backlog. */
StreamBacklog stream_delta_backlog (StreamSource *base, const json_t *last);

/* A StreamSourceClass.origin. */
gboolean stream_delta_origin (StreamSource *base, json_t **offset, GError **error);

/* Files taken into the batch that is planned. */
typedef struct {
  gint64 n_files;
  gint64 n_bytes;
} StreamDeltaTaken;
gboolean stream_delta_is_full (const StreamDelta *stream, const StreamDeltaTaken *taken);

/* Moves @offset, which stands at commits, over those that the batch takes; none beyond the end. */
typedef gboolean (*StreamDeltaPlanCommits) (StreamDelta *stream, StreamDeltaOffset *offset, StreamDeltaTaken *taken,
                                            GError **error);
/* A StreamSourceClass.plan with the kind's own way over commits. */
gboolean stream_delta_plan (StreamDelta *stream, StreamDeltaPlanCommits plan_commits, const json_t *last, json_t **next,
                            gboolean *has_rows, GError **error);

/* A StreamSourceClass.plan_ahead of them. */
gboolean stream_delta_plan_ahead (StreamDelta *stream, StreamDeltaPlanCommits plan_commits, const json_t *last,
                                  json_t **next, gboolean *has_rows, GError **error);

/* What a batch reads. */
typedef struct {
  GPtrArray *start_files; /* (nullable) (element-type DeltaFile): of the initial snapshot, excluded ones left out */
  DeltaVersion from;      /* commits from here … */
  gint64 n_skipped;       /* … without so many files of the first … */
  DeltaVersion to;        /* … up to the one before this; from = to: none */
  gint64 n_last;          /* so many files of @to as well: a batch that another engine cut inside a commit */
} StreamDeltaBatch;
void stream_delta_batch_clear (StreamDeltaBatch *batch);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StreamDeltaBatch, stream_delta_batch_clear)
/* The batch between two offsets as show() gets them. */
gboolean stream_delta_batch (StreamDelta *stream, const json_t *last, const json_t *next, StreamDeltaBatch *batch,
                             GError **error);

/* One commit, which must be there. Errors: DELTA_VERSIONS_NOT_CONTIGUOUS. Returns: (transfer full). */
DeltaCommit *stream_delta_commit (StreamDelta *stream, DeltaVersion version, GError **error);
gboolean stream_delta_is_excluded (const StreamDelta *stream, DeltaFile *file);

/* ---- schemas ---- */

/* Whether the stream can read on over @commit. @is_barrier: (out): the batch ends before it, and the schema is tracked then.
 * Errors: DELTA_SCHEMA_CHANGED_WITH_VERSION, DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE, …_USE_SCHEMA_LOG,
 * DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE, DELTA_UNSUPPORTED_FEATURES_FOR_READ. */
gboolean stream_delta_check_commit (StreamDelta *stream, DeltaCommit *commit, gboolean *is_barrier, GError **error);
/* The same for metadata in force at @version. */
gboolean stream_delta_check_metadata (const StreamDelta *stream, DeltaMetadata *metadata, DeltaVersion version,
                                      GError **error);
/* The stream stands before @version, which changes the metadata: tracks it and stops with DELTA_STREAMING_METADATA_EVOLUTION, unless it
 * is tracked already. */
gboolean stream_delta_pass_barrier (StreamDelta *stream, DeltaVersion version, GError **error);
/* Whether what lies between the last two tracked schemas is allowed.
 * Errors: DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION. */
gboolean stream_delta_check_allowed (const StreamDelta *stream, GError **error);
/* Finds the schema to read with in the log of schemas, or begins the log. */
gboolean stream_delta_track (StreamDelta *stream, const StreamTableRequest *request, const StreamDeltaOptions *options,
                             GError **error);

/* ---- the two kinds ---- */

StreamSource *stream_delta_new (const StreamTableRequest *request, const StreamDeltaOptions *options, GError **error);
StreamSource *stream_feed_new (const StreamTableRequest *request, const StreamDeltaOptions *options, GError **error);

G_END_DECLS

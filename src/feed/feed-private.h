/* The parts of the room for each other. */
#pragma once

#include "feed.h"

G_BEGIN_DECLS

/* Formats a version for error parameters. Returns: (transfer full). */
char *feed_version_text (DeltaVersion version);

/* ---- feed-bounds: a request → versions ---- */

typedef struct {
  DeltaSnapshot *snapshot; /* the latest */
  DeltaVersion earliest;   /* whose commit file exists */
  DeltaVersion start;
  DeltaVersion end; /* start - 1: nothing to read */
} FeedBounds;
void feed_bounds_clear (FeedBounds *bounds);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FeedBounds, feed_bounds_clear)

gboolean feed_bounds_find (DeltaTable *table, const FeedRequest *request, BaseSettings *settings, BaseCancel *cancel,
                           FeedBounds *bounds, GError **error);

/* ---- feed-commit: one commit → parts ---- */

typedef enum {
  FEED_PART_CHANGES, /* a change file: it says the type of each row */
  FEED_PART_INSERT,
  FEED_PART_DELETE,
} FeedPartKind;

/* One file and which of its rows are one kind of change. Unpaired: its live rows. Paired (the path was removed and added):
 * the rows in the vector of @in and not in that of @out. */
typedef struct {
  FeedPartKind kind;
  gboolean is_paired;
  DeltaFile *file;
  DeltaFile *in;  /* (nullable) */
  DeltaFile *out; /* (nullable) */
} FeedPart;

typedef struct {
  DeltaVersion version;
  gint64 timestamp_us;
  GArray *parts; /* FeedPart */
  FeedFacts facts;
} FeedCommit;
FeedCommit *feed_commit_new_empty (DeltaVersion version, gint64 timestamp_us); /* (transfer full) */
void feed_commit_free (FeedCommit *commit);                                    /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FeedCommit, feed_commit_free)
void feed_commit_add (FeedCommit *commit, FeedPartKind kind, DeltaFile *file);

/**
 * feed_commit_new:
 * @metadata: in force at the commit
 * @exclude: (nullable)
 * @n_skipped: so many of the commit's file actions (change files, when there are any) count as read
 *
 * §4 and §3.6: change files alone when there is one, else what adds and removes mean. The timestamp stays 0.
 *
 * Errors:   DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA, DELTA_LOG_CORRUPT (a path twice on one side).
 * Returns:  (transfer full).
 */
FeedCommit *feed_commit_new (DeltaCommit *commit, DeltaMetadata *metadata, GRegex *exclude, guint n_skipped,
                             GError **error);

/* ---- feed-range ---- */

struct FeedRange {
  gatomicrefcount references;
  DeltaTable *table;
  DeltaSnapshot *snapshot; /* any of the table: names it to scans */
  DeltaMetadata *metadata; /* of the schema read */
  BaseType *schema;
  DeltaVersion start;
  DeltaVersion end;
  GPtrArray *commits; /* FeedCommit, ascending */
};

G_END_DECLS

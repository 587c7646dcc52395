/* The parts of the room for each other. */
#pragma once

#include "duck-lend.h"
#include "feed.h"

G_BEGIN_DECLS

/* Formats a version for error parameters. Returns: (transfer full). */
char *feed_version_text (DeltaVersion version);

/* ---- feed-bounds: a request → versions ---- */

typedef struct {
  DeltaSnapshot *snapshot; /* the latest */
  DeltaVersion earliest;   /* whose commit file exists */
  DeltaVersion start;
  DeltaVersion end;       /* start - 1: nothing to read */
  gboolean skips_no_mode; /* the start may move over versions without a feed, */
  gboolean skips_gone;    /* over versions whose files are gone */
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
  DeltaFile *file; /* with row ids where they are needed */
  DeltaFile *in;   /* (nullable) */
  DeltaFile *out;  /* (nullable) */
} FeedPart;

typedef struct {
  DeltaVersion version;
  gint64 timestamp_us;
  GArray *parts; /* FeedPart */
  FeedFacts facts;
  /* The rest is for the automatic mode. */
  gboolean has_both_sides; /* rows are deleted and inserted, so some may be the same ones */
  gboolean keeps_row_ids;  /* by the commit's own word */
  DeltaMetadata *before;   /* names the row id columns of deleted rows; (nullable) without both sides */
  DeltaMetadata *after;    /* likewise of inserted rows */
  /* (nullable): how deleted rows are read when the commit made the table anew with other columns. */
  DeltaMetadata *read_deleted;
} FeedCommit;
FeedCommit *feed_commit_new_empty (DeltaVersion version, gint64 timestamp_us); /* (transfer full) */
void feed_commit_free (FeedCommit *commit);                                    /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FeedCommit, feed_commit_free)
void feed_commit_add (FeedCommit *commit, FeedPartKind kind, DeltaFile *file);

/**
 * feed_commit_new:
 * @metadata: in force at the commit
 * @exclude: (nullable)
 * @n_skipped: so many of the commit's file actions (change files, when there are any and they count) are read already
 *
 * §4 and §3.6. Legacy: change files alone when there is one, else what adds and removes mean. Automatic: adds and removes, whatever
 * change files there are. The timestamp stays 0, @before and @after NULL.
 *
 * Errors:   DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA, DELTA_LOG_CORRUPT (a path twice on one side).
 * Returns:  (transfer full).
 */
FeedCommit *feed_commit_new (DeltaCommit *commit, DeltaMetadata *metadata, FeedMode mode, GRegex *exclude,
                             guint n_skipped, GError **error);

/* ---- feed-files: what is still there ---- */

/* The first version of the range from which on every file is there; end + 1 when there is none. */
DeltaVersion feed_files_first_whole (FeedRange *range);
/* Whether the files of a part are there. FALSE without an error: one is gone, @missing (out) (transfer full) is its path. */
gboolean feed_files_are_there (FeedRange *range, const FeedPart *part, char **missing, GError **error);
/* Sets DELTA_CHANGE_DATA_FILE_NOT_FOUND. Returns: FALSE. */
gboolean feed_files_set_gone (FeedRange *range, DeltaVersion version, const char *missing, BaseCancel *cancel,
                              GError **error);

/* ---- feed-schema ---- */

/* The columns of @read as files of @before hold them: the same column by whatever name, else by name; where the types agree.
 * Returns: (transfer full): NULL when @read itself does. */
DeltaMetadata *feed_schema_of_deleted (DeltaMetadata *before, DeltaMetadata *read);

/* ---- feed-range ---- */

/* The commits of a range as the log has them. */
typedef struct {
  DeltaTable *table;
  const FeedRequest *request;
  BaseSettings *settings; /* (nullable) */
  BaseCancel *cancel;
  FeedBounds bounds;
  GPtrArray *commits;  /* DeltaCommit, from start on */
  GPtrArray *in_force; /* DeltaMetadata after each of them */
} FeedWalk;

#define feed_walk_commit(walk, index)   ((DeltaCommit *) (walk)->commits->pdata[index])
#define feed_walk_metadata(walk, index) ((DeltaMetadata *) (walk)->in_force->pdata[index])
#define feed_walk_version(walk, index)  ((walk)->bounds.start + (DeltaVersion) (index))

/* ---- feed-mode (§2.10) ---- */

/* Errors: DELTA_MISSING_CHANGE_DATA, DELTA_CHANGELOG_REQUIRES_ROW_TRACKING, …_ROW_TRACKING_DISABLED_IN_RANGE. */
gboolean feed_mode_choose (const FeedWalk *walk, FeedMode *mode, GError **error);
/* Index of the first commit from which on there is a mode; n when there is none. */
guint feed_mode_first_possible (const FeedWalk *walk);

/* ---- feed-row-ids (§5.1, §5.3.5) ---- */

/* Prepares the commits of an automatic range that need row ids: both sides, or all of them with FEED_NET.
 * Errors: CDF_AUTO_ROW_IDS_NOT_PRESERVED, DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA, INTERNAL_ERROR, those of the log. */
gboolean feed_row_ids_settle (const FeedWalk *walk, FeedRange *range, GError **error);

/* ---- feed-pair: SELECT texts over inputs → one SELECT text (§5.3, §7.9) ---- */

/* Names that no caller uses. */
#define FEED_OWN          "_sluice"
#define FEED_OWN_FILE     FEED_OWN "_file"
#define FEED_OWN_PLACE    FEED_OWN "_place"
#define FEED_OWN_ID       FEED_OWN "_row_id"
#define FEED_OWN_ID_READ  FEED_OWN "_row_id_read"
#define FEED_OWN_ID_BASE  FEED_OWN "_row_id_base"
#define FEED_OWN_AGE      FEED_OWN "_row_version"
#define FEED_OWN_AGE_READ FEED_OWN "_row_version_read"
#define FEED_OWN_AGE_FILE FEED_OWN "_row_version_file"
#define FEED_OWN_PAIRS    FEED_OWN "_pairs"
#define FEED_OWN_SIDE     FEED_OWN "_side"

typedef struct {
  const char *type; /* names of outputs */
  const char *version;
  GPtrArray *names; /* of the table's columns that texts give; borrows */
} FeedPairNames;

/* `SELECT *` and the row id of every row of @scan. */
void feed_pair_append_ids (GString *sql, const char *scan);
/* The definition of the pairs: @keys: texts of version, row id, row version and side, joined by UNION ALL. */
char *feed_pair_definition (const FeedPairNames *names, const char *keys);
/* Rows of one side with their type, without carry-overs; needs the definition of the pairs. */
void feed_pair_append_side (GString *sql, const FeedPairNames *names, const char *scan, gboolean is_insert);
/* Cancels deletes against inserts of one commit that are equal in all columns. */
char *feed_pair_cancel (const FeedPairNames *names, const char *rows);
/* Per row id what it was and what it is (FEED_NET). @rows: a whole SELECT text with row ids. */
char *feed_pair_net (const FeedPairNames *names, const char *with, const char *rows);

/* ---- feed-picker: sets of rows of one file ---- */

typedef struct FeedPicker FeedPicker;
FeedPicker *feed_picker_new (void); /* (transfer full) */
/* Sets of one file have no row in common. A reference is taken. */
void feed_picker_add (FeedPicker *picker, guint file_index, DeltaVector *rows, guint64 pick);
/* @picker: (transfer full). Returns: the handle for sluice_pick(). */
guint64 feed_picker_lend (FeedPicker *picker, DuckEngine *engine);

struct FeedRange {
  gatomicrefcount references;
  DeltaTable *table;
  DeltaSnapshot *snapshot; /* any of the table: names it to scans */
  DeltaMetadata *metadata; /* of the schema read */
  FeedMode mode;
  FeedDeduplication deduplication;
  gboolean splits_updates;
  gboolean cancels_identical; /* in commits that do not say that they kept row ids */
  BaseType *schema;
  DeltaVersion start;
  DeltaVersion end;
  GPtrArray *commits; /* FeedCommit, ascending */
};

G_END_DECLS

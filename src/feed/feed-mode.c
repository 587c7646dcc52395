/* Which of the two ways gives the changes of a range (cdf.md §2.10).
 *
 *   engine.cdf.mode   legacy on at every version   rows tracked at every version   answer
 *   legacy            yes                                                          legacy
 *   automatic                                      yes                             automatic
 *   auto              yes                                                          legacy
 *   auto              no                           yes                             automatic
 *
 * Everything else is refused at the first version that is in the way. What a row was before a range and is after it is only known
 * by row ids, so such a read never takes the legacy way.
 */
#include "base-error.h"
#include "feed-private.h"

static void
add_range (const FeedWalk *walk, DeltaVersion version, GError **error)
{
  g_autofree char *start = feed_version_text (walk->bounds.start);
  g_autofree char *end = feed_version_text (walk->bounds.end);
  g_autofree char *at = feed_version_text (version);

  base_error_add_param (error, "startVersion", start);
  base_error_add_param (error, "endVersion", end);
  base_error_add_param (error, "version", at);
}

static gboolean
missing_change_data (const FeedWalk *walk, DeltaVersion version, GError **error)
{
  guint possible = feed_mode_first_possible (walk);

  base_error_set (error, SLUICE_ERROR_DELTA_MISSING_CHANGE_DATA,
                  "the change feed of %s from version %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                  " cannot be read: changes were not recorded for version %" G_GINT64_FORMAT,
                  delta_table_location (walk->table), walk->bounds.start, walk->bounds.end, version);
  add_range (walk, version, error);
  base_error_add_param (error, "key", "delta.enableChangeDataFeed");
  if (possible < walk->in_force->len) {
    g_autofree char *text = feed_version_text (feed_walk_version (walk, possible));
    base_error_add_param (error, "firstReadableVersion", text);
    base_error_set_hint (error,
                         "the feed can be read from version %s on; DESCRIBE HISTORY shows what turned it on (operation "
                         "CREATE TABLE or SET TBLPROPERTIES)",
                         text);
    return FALSE;
  }
  base_error_set_hint (error, "DESCRIBE HISTORY shows since when the feed is on (operation SET TBLPROPERTIES); ALTER "
                              "TABLE … SET TBLPROPERTIES (delta.enableChangeDataFeed = true) records it from now on");
  return FALSE;
}

static gboolean
row_tracking_off (const FeedWalk *walk, guint index, GError **error)
{
  DeltaVersion version = feed_walk_version (walk, index);

  if (!delta_metadata_row_tracking (feed_walk_metadata (walk, walk->in_force->len - 1)))
    base_error_set (error, SLUICE_ERROR_DELTA_CHANGELOG_REQUIRES_ROW_TRACKING,
                    "changes of %s by row ids need row tracking, which is off at the end of the range",
                    delta_table_location (walk->table));
  else
    base_error_set (error, SLUICE_ERROR_DELTA_CHANGELOG_ROW_TRACKING_DISABLED_IN_RANGE,
                    "changes of %s by row ids need row tracking, which is off at version %" G_GINT64_FORMAT,
                    delta_table_location (walk->table), version);
  add_range (walk, version, error);
  base_error_set_hint (error,
                       "ALTER TABLE … SET TBLPROPERTIES (delta.enableRowTracking = true) tracks rows from then on; "
                       "DESCRIBE HISTORY shows since when");
  return FALSE;
}

/* Index of the first version without the feed, without row tracking, with neither; n when there is none. */
typedef struct {
  guint without_feed;
  guint without_tracking;
  guint with_neither;
} Gaps;

static Gaps
find_gaps (const FeedWalk *walk)
{
  guint n = walk->in_force->len;
  Gaps gaps = { n, n, n };

  for (guint i = n; i > 0; i--) {
    gboolean feed = delta_metadata_change_feed (feed_walk_metadata (walk, i - 1));
    gboolean tracking = delta_metadata_row_tracking (feed_walk_metadata (walk, i - 1));
    if (!feed)
      gaps.without_feed = i - 1;
    if (!tracking)
      gaps.without_tracking = i - 1;
    if (!feed && !tracking)
      gaps.with_neither = i - 1;
  }
  return gaps;
}

/* What the reader allows. */
typedef struct {
  gboolean legacy;
  gboolean automatic;
} Allowed;

static Allowed
allowed_modes (const FeedWalk *walk)
{
  const char *mode = walk->settings != NULL ? base_settings_get (walk->settings, "engine.cdf.mode") : NULL;
  Allowed allowed = { g_strcmp0 (mode, "automatic") != 0, g_strcmp0 (mode, "legacy") != 0 };

  return walk->request->deduplication == FEED_NET ? (Allowed){ FALSE, TRUE } : allowed;
}

guint
feed_mode_first_possible (const FeedWalk *walk)
{
  Allowed allowed = allowed_modes (walk);
  guint without_feed = allowed.legacy ? 0 : walk->in_force->len;
  guint without_tracking = allowed.automatic ? 0 : walk->in_force->len;

  for (guint i = walk->in_force->len; i > 0; i--) {
    if (without_feed == 0 && !delta_metadata_change_feed (feed_walk_metadata (walk, i - 1)))
      without_feed = i;
    if (without_tracking == 0 && !delta_metadata_row_tracking (feed_walk_metadata (walk, i - 1)))
      without_tracking = i;
  }
  return MIN (without_feed, without_tracking);
}

gboolean
feed_mode_choose (const FeedWalk *walk, FeedMode *mode, GError **error)
{
  Allowed allowed = allowed_modes (walk);
  guint n = walk->in_force->len;
  Gaps gaps = find_gaps (walk);

  if (allowed.legacy && gaps.without_feed == n) {
    *mode = FEED_MODE_LEGACY;
    return TRUE;
  }
  if (allowed.automatic && gaps.without_tracking == n) {
    *mode = FEED_MODE_AUTOMATIC;
    return TRUE;
  }
  if (!allowed.legacy)
    return row_tracking_off (walk, gaps.without_tracking, error);
  if (!allowed.automatic)
    return missing_change_data (walk, feed_walk_version (walk, gaps.without_feed), error);
  (void) missing_change_data (
      walk, feed_walk_version (walk, gaps.with_neither < n ? gaps.with_neither : gaps.without_feed), error);
  if (delta_metadata_row_tracking (feed_walk_metadata (walk, n - 1)))
    base_error_add_context (error,
                            "DELTA_CHANGELOG_ROW_TRACKING_DISABLED_IN_RANGE: row tracking is off at version "
                            "%" G_GINT64_FORMAT,
                            feed_walk_version (walk, gaps.without_tracking));
  else
    base_error_add_context (error,
                            "DELTA_CHANGELOG_REQUIRES_ROW_TRACKING: row tracking is off at the end of the range");
  return FALSE;
}

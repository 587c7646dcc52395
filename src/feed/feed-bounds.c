/* From bounds as a reader gives them to versions (cdf.md §7.4–7.7, §8). */
#include "base-clock.h"
#include "base-error.h"
#include "feed-private.h"

void
feed_bounds_clear (FeedBounds *bounds)
{
  g_clear_pointer (&bounds->snapshot, delta_snapshot_unref);
}

char *
feed_version_text (DeltaVersion version)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT, version);
}

/* What the settings say about bounds out of range. */
typedef struct {
  gboolean timestamp_out_of_range; /* allowed: no rows, or up to the latest */
  gboolean end_is_clamped;
  gboolean starts_at_first_readable;
} Leniency;

static Leniency
leniency_of (BaseSettings *settings)
{
  Leniency leniency = { 0 };

  if (settings == NULL)
    return leniency;
  leniency.timestamp_out_of_range =
      base_settings_get_bool (settings, "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled");
  leniency.end_is_clamped = leniency.timestamp_out_of_range ||
                            g_strcmp0 (base_settings_get (settings, "engine.cdf.endVersionBeyondLatest"), "clamp") == 0;
  leniency.starts_at_first_readable = base_settings_get_bool (settings, "engine.cdf.startAtFirstReadable");
  return leniency;
}

static gboolean
version_not_found (DeltaTable *table, DeltaVersion version, DeltaVersion earliest, DeltaVersion latest, GError **error)
{
  g_autofree char *user_text = feed_version_text (version);
  g_autofree char *earliest_text = feed_version_text (earliest);
  g_autofree char *latest_text = feed_version_text (latest);

  base_error_set (error, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND,
                  "version %s of the table %s cannot be read by its change feed; the versions of its log are %s to %s",
                  user_text, delta_table_location (table), earliest_text, latest_text);
  base_error_add_param (error, "userVersion", user_text);
  base_error_add_param (error, "earliest", earliest_text);
  base_error_add_param (error, "latest", latest_text);
  return FALSE;
}

static gboolean
start_after_latest (DeltaTable *table, DeltaVersion start, DeltaVersion latest, GError **error)
{
  g_autofree char *start_text = feed_version_text (start);
  g_autofree char *latest_text = feed_version_text (latest);

  base_error_set (error, SLUICE_ERROR_DELTA_CDC_START_VERSION_AFTER_LATEST,
                  "the start version %s of the change feed of %s is after its latest version, %s", start_text,
                  delta_table_location (table), latest_text);
  base_error_add_param (error, "start", start_text);
  base_error_add_param (error, "latest", latest_text);
  base_error_set_hint (error, "SET spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled = true gives no "
                              "rows instead");
  return FALSE;
}

static gboolean
end_before_start (const char *start, const char *end, GError **error)
{
  base_error_set (error, SLUICE_ERROR_DELTA_INVALID_CDC_RANGE,
                  "the end of the change feed, %s, is before its start, %s", end, start);
  base_error_add_param (error, "start", start);
  base_error_add_param (error, "end", end);
  return FALSE;
}

/* Where a reader may start instead. */
static void
add_first_readable (DeltaTable *table, GError **error)
{
  FeedRequest request = { .start = { FEED_BOUND_EARLIEST, 0, FALSE } };
  g_autoptr (FeedRange) range = feed_range_new (table, &request, NULL, NULL, NULL);
  g_autofree char *text = NULL;

  if (range == NULL || feed_range_is_empty (range))
    return;
  text = feed_version_text (feed_range_start (range));
  base_error_add_param (error, "firstReadableVersion", text);
  base_error_set_hint (
      error,
      "the log was cleaned up; the feed can be read from version %s on. Start there, or at 'earliest', or "
      "SET engine.cdf.startAtFirstReadable = true",
      text);
}

/* @start: (out): latest + 1 when it is out of range and that is allowed. */
static gboolean
find_start (DeltaTable *table, const FeedBound *bound, const FeedBounds *bounds, const Leniency *leniency,
            DeltaVersion *start, GError **error)
{
  DeltaVersion latest = delta_snapshot_version (bounds->snapshot);

  switch (bound->kind) {
  case FEED_BOUND_NONE:
    base_error_set (error, SLUICE_ERROR_DELTA_NO_START_FOR_CDC_READ,
                    "the change feed of %s needs a start: a version or a timestamp", delta_table_location (table));
    return FALSE;
  case FEED_BOUND_EARLIEST:
    *start = bounds->earliest;
    return TRUE;
  case FEED_BOUND_VERSION:
    if (bound->value > latest) {
      *start = latest + 1;
      return leniency->timestamp_out_of_range || start_after_latest (table, bound->value, latest, error);
    }
    if (bound->value >= bounds->earliest || (leniency->starts_at_first_readable && bound->value >= 0)) {
      *start = MAX (bound->value, bounds->earliest);
      if (bound->exclusive && bound->value >= bounds->earliest)
        (*start)++;
      return TRUE;
    }
    version_not_found (table, bound->value, bounds->earliest, latest, error);
    add_first_readable (table, error);
    return FALSE;
  case FEED_BOUND_TIMESTAMP:
    if (delta_table_version_at (table, bound->value + (bound->exclusive ? 1 : 0), DELTA_AT_OR_AFTER,
                                leniency->timestamp_out_of_range, start, error))
      return TRUE;
    base_error_set_hint (error, "SET spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled = true gives no "
                                "rows instead");
    return FALSE;
  }
  return FALSE;
}

static gboolean
find_end (DeltaTable *table, const FeedBound *bound, const FeedBounds *bounds, const Leniency *leniency,
          DeltaVersion *end, GError **error)
{
  DeltaVersion latest = delta_snapshot_version (bounds->snapshot);

  switch (bound->kind) {
  case FEED_BOUND_NONE:
  case FEED_BOUND_EARLIEST: /* no end can be that */
    *end = latest;
    return TRUE;
  case FEED_BOUND_VERSION:
    if (bound->value > latest && !leniency->end_is_clamped) {
      version_not_found (table, bound->value, bounds->earliest, latest, error);
      base_error_set_hint (error, "SET engine.cdf.endVersionBeyondLatest = clamp reads up to the latest version");
      return FALSE;
    }
    *end = MIN (bound->value - (bound->exclusive ? 1 : 0), latest);
    return TRUE;
  case FEED_BOUND_TIMESTAMP:
    if (delta_table_version_at (table, bound->value - (bound->exclusive ? 1 : 0), DELTA_AT_OR_BEFORE,
                                leniency->timestamp_out_of_range, end, error))
      return TRUE;
    if (g_error_matches (error != NULL ? *error : NULL, SLUICE_ERROR, SLUICE_ERROR_DELTA_TIMESTAMP_GREATER_THAN_COMMIT))
      base_error_set_hint (error, "SET spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled = true reads "
                                  "up to the latest version");
    return FALSE;
  }
  return FALSE;
}

/* The bounds in their own unit, before they are looked up: a range of time may hold no commit, but not run backwards. */
static gboolean
check_direction (const FeedRequest *request, GError **error)
{
  g_autofree char *start = NULL;
  g_autofree char *end = NULL;

  if (request->start.kind != request->end.kind || request->start.value <= request->end.value)
    return TRUE;
  if (request->start.kind == FEED_BOUND_TIMESTAMP) {
    start = base_clock_text_us (request->start.value * 1000);
    end = base_clock_text_us (request->end.value * 1000);
  } else {
    start = feed_version_text (request->start.value);
    end = feed_version_text (request->end.value);
  }
  return end_before_start (start, end, error);
}

gboolean
feed_bounds_find (DeltaTable *table, const FeedRequest *request, BaseSettings *settings, BaseCancel *cancel,
                  FeedBounds *bounds, GError **error)
{
  Leniency leniency = leniency_of (settings);
  g_auto (FeedBounds) found = { 0 };
  DeltaVersion latest;
  gboolean both_times = request->start.kind == FEED_BOUND_TIMESTAMP && request->end.kind == FEED_BOUND_TIMESTAMP;

  found.snapshot = delta_table_snapshot (table, cancel, error);
  if (found.snapshot == NULL || !delta_table_versions (table, &found.earliest, &latest, error))
    return FALSE;
  latest = delta_snapshot_version (found.snapshot);
  if (!find_start (table, &request->start, &found, &leniency, &found.start, error) || !check_direction (request, error))
    return FALSE;
  if (found.start > latest)
    found.end = found.start - 1;
  else if (!find_end (table, &request->end, &found, &leniency, &found.end, error))
    return FALSE;
  /* Two bounds that leave nothing between them are no range that runs backwards. */
  if (request->start.exclusive || request->end.exclusive)
    both_times = TRUE;
  if (found.start <= latest && found.end < found.start && !both_times) {
    g_autofree char *start_text = feed_version_text (found.start);
    g_autofree char *end_text = feed_version_text (found.end);
    return end_before_start (start_text, end_text, error);
  }
  found.end = MAX (found.end, found.start - 1);
  found.skips_no_mode = request->start.kind == FEED_BOUND_EARLIEST;
  found.skips_gone = found.skips_no_mode || leniency.starts_at_first_readable;
  *bounds = found;
  found = (FeedBounds){ 0 };
  return TRUE;
}

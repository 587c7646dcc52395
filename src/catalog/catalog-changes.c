/* A table reference that asks for changes instead of rows (cdf.md §7.3, §7.9):
 *
 *   t WITH (readChangeFeed => true, startingVersion => 0, …)        as the reader options of the change data feed
 *   t CHANGES FROM VERSION a TO VERSION b WITH (computeUpdates => true, …)
 *
 * Both become a FeedRequest. They have no option in common, and an option of the other one is refused by its name.
 */
#include "catalog-private.h"

#include <base-error.h>
#include <base-text.h>
#include <feed.h>
#include <string.h>

/* ---- options ---- */

static gboolean
is_option (const char *key, const char *name)
{
  return g_ascii_strcasecmp (key, name) == 0;
}

static gboolean
is_one_of (const char *key, const char *const *names)
{
  for (guint i = 0; names[i] != NULL; i++)
    if (is_option (key, names[i]))
      return TRUE;
  return FALSE;
}

static gboolean
read_bool (const char *key, const char *text, gboolean *value, GError **error)
{
  if (g_ascii_strcasecmp (text, "true") == 0 || g_ascii_strcasecmp (text, "false") == 0) {
    *value = g_ascii_strcasecmp (text, "true") == 0;
    return TRUE;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_ILLEGAL_OPTION, "the option `%s` is true or false, not `%s`", key, text);
  base_error_add_param (error, "name", key);
  base_error_add_param (error, "input", text);
  return FALSE;
}

static gboolean
unsupported_option (const char *key, GError **error)
{
  base_error_set (error, SLUICE_ERROR_DELTA_CHANGELOG_UNSUPPORTED_OPTION,
                  "the option `%s` does not go with this way to read changes", key);
  base_error_add_param (error, "option", key);
  return FALSE;
}

static const char *const feed_keys[] = { "readChangeFeed", "readChangeData", NULL };
static const char *const bound_keys[] = { "startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp",
                                          NULL };
static const char *const changes_keys[] = { "deduplicationMode", "computeUpdates", "startingBoundInclusive",
                                            "endingBoundInclusive", NULL };
static const char *const travel_keys[] = { "versionAsOf", "timestampAsOf", NULL };

gboolean
catalog_asks_for_changes (const RelationTableRequest *request, gboolean *asks, GError **error)
{
  *asks = request->changes != NULL;
  for (guint i = 0; !*asks && request->options != NULL && request->options[i] != NULL; i += 2)
    if (is_one_of (request->options[i], feed_keys) &&
        !read_bool (request->options[i], request->options[i + 1], asks, error))
      return FALSE;
  return TRUE;
}

/* ---- the reader options ---- */

/* @bound: (inout): of one end; a second one for the same end is refused. */
static gboolean
read_feed_bound (CatalogSession *session, const char *key, const char *text, FeedBound *bound, GError **error)
{
  gboolean is_start = g_ascii_strncasecmp (key, "starting", 8) == 0;

  if (bound->kind != FEED_BOUND_NONE) {
    base_error_set (error, SLUICE_ERROR_DELTA_MULTIPLE_CDC_BOUNDARY,
                    "%sVersion and %sTimestamp cannot both be given; give one of them",
                    is_start ? "starting" : "ending", is_start ? "starting" : "ending");
    base_error_add_param (error, "startingOrEnding", is_start ? "starting" : "ending");
    return FALSE;
  }
  if (is_start && g_ascii_strcasecmp (text, CATALOG_EARLIEST) == 0) {
    bound->kind = FEED_BOUND_EARLIEST;
    return TRUE;
  }
  if (!g_str_has_suffix (key, "ersion")) {
    bound->kind = FEED_BOUND_TIMESTAMP;
    return catalog_timestamp_of (session, text, &bound->value, error);
  }
  if (base_text_parse_int64 (text, &bound->value) && bound->value >= 0) {
    bound->kind = FEED_BOUND_VERSION;
    return TRUE;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_VERSION_INVALID, "the option `%s` is a version number, not `%s`", key,
                  text);
  base_error_add_param (error, "version", text);
  return FALSE;
}

static gboolean
read_feed_option (CatalogSession *session, const char *key, const char *text, FeedRequest *feed, GError **error)
{
  if (is_one_of (key, feed_keys))
    return TRUE;
  for (guint i = 0; bound_keys[i] != NULL; i++)
    if (is_option (key, bound_keys[i]))
      return read_feed_bound (session, bound_keys[i], text, i < 2 ? &feed->start : &feed->end, error);
  if (is_one_of (key, changes_keys))
    return unsupported_option (key, error);
  if (is_one_of (key, travel_keys))
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS,
                           "a change feed has no time travel: startingVersion and endingVersion are its bounds");
  return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "reading a change feed has no option `%s`", key);
}

/* ---- CHANGES FROM ---- */

static gboolean
read_changes_bound (CatalogSession *session, const RelationChanges *changes, const RelationLiteral *value,
                    gboolean exclusive, FeedBound *bound, GError **error)
{
  const char *word = changes->by_timestamp ? "CHANGES FROM TIMESTAMP" : "CHANGES FROM VERSION";
  gboolean is_text = !value->is_null && base_type_kind (value->type) == BASE_TYPE_STRING;

  bound->exclusive = exclusive;
  if (!changes->by_timestamp && is_text) {
    bound->kind = FEED_BOUND_VERSION;
    if (base_text_parse_int64 (value->text, &bound->value))
      return TRUE;
    base_error_set (error, SLUICE_ERROR_DELTA_VERSION_INVALID, "a bound of %s is a version number, not `%s`", word,
                    value->text);
    base_error_add_param (error, "version", value->text);
    return FALSE;
  }
  if (!catalog_feed_bound (session, word, value, bound, error))
    return FALSE;
  if ((bound->kind == FEED_BOUND_TIMESTAMP) == changes->by_timestamp)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_EXPRESSION, "a bound of %s is a %s", word,
                         changes->by_timestamp ? "timestamp" : "version");
}

static gboolean
read_mode (const char *text, FeedDeduplication *mode, GError **error)
{
  static const struct {
    const char *name;
    FeedDeduplication mode;
  } modes[] = { { "none", FEED_CARRYOVERS_SHOWN },
                { "dropCarryovers", FEED_CARRYOVERS_DROPPED },
                { "netChanges", FEED_NET } };

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    if (g_ascii_strcasecmp (text, modes[i].name) == 0) {
      *mode = modes[i].mode;
      return TRUE;
    }
  base_error_set (error, SLUICE_ERROR_INVALID_CDC_OPTION_INVALID_DEDUPLICATION_MODE,
                  "deduplicationMode is none, dropCarryovers or netChanges, not `%s`", text);
  base_error_add_param (error, "mode", text);
  return FALSE;
}

static gboolean
read_changes_option (const char *key, const char *text, FeedRequest *feed, GError **error)
{
  gboolean value = TRUE;

  if (is_option (key, "deduplicationMode"))
    return read_mode (text, &feed->deduplication, error);
  if (!is_one_of (key, changes_keys)) {
    if (is_one_of (key, feed_keys) || is_one_of (key, bound_keys) || is_one_of (key, travel_keys))
      return unsupported_option (key, error);
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "CHANGES FROM has no option `%s`", key);
  }
  if (!read_bool (key, text, &value, error))
    return FALSE;
  if (is_option (key, "computeUpdates"))
    feed->splits_updates = !value;
  else if (is_option (key, "startingBoundInclusive"))
    feed->start.exclusive = !value;
  else
    feed->end.exclusive = !value;
  return TRUE;
}

static gboolean
check_changes (const FeedRequest *feed, GError **error)
{
  if (feed->deduplication != FEED_CARRYOVERS_SHOWN || feed->splits_updates)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INVALID_CDC_OPTION_UPDATE_DETECTION_REQUIRES_CARRY_OVER_REMOVAL,
                         "computeUpdates does not go with deduplicationMode = none: rows that were only moved would be "
                         "shown as updates");
}

/* ---- */

gboolean
catalog_changes_read (CatalogSession *session, const RelationTableRequest *request, FeedRequest *feed, GError **error)
{
  const RelationChanges *changes = request->changes;

  *feed = (FeedRequest){ .now_us = request->now_us, .splits_updates = changes != NULL };
  if (request->version >= 0 || request->timestamp_us != RELATION_NO_TIME)
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS,
                           "a change feed has no time travel: it has a start and an end");
  if (changes != NULL &&
      (!read_changes_bound (session, changes, changes->start, changes->start_exclusive, &feed->start, error) ||
       (changes->end != NULL &&
        !read_changes_bound (session, changes, changes->end, changes->end_exclusive, &feed->end, error))))
    return FALSE;
  for (guint i = 0; request->options != NULL && request->options[i] != NULL; i += 2) {
    const char *key = request->options[i], *text = request->options[i + 1];
    gboolean good = changes != NULL ? read_changes_option (key, text, feed, error)
                                    : read_feed_option (session, key, text, feed, error);
    if (!good)
      return FALSE;
  }
  return changes == NULL || check_changes (feed, error);
}

gboolean
catalog_changes_check (CatalogSession *session, const RelationTableRequest *request, GError **error)
{
  FeedRequest feed;

  return catalog_changes_read (session, request, &feed, error);
}

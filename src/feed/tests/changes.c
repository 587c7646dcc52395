#include "changes.h"

#include "base-error.h"

void
changes_begin_table (LogFixture *fixture, const char *configuration)
{
  log_fixture_protocol (fixture);
  log_fixture_metadata (fixture, NULL, configuration);
  log_fixture_commit (fixture);
}

FeedRange *
changes_open (LogFixture *fixture, const FeedRequest *request, BaseSettings *settings, GError **error)
{
  return feed_range_new (log_fixture_reopen (fixture), request, settings, NULL, error);
}

char *
changes_rows (LogFixture *fixture, FeedRange *range, gboolean ordered, GError **error)
{
  guint n = base_type_n_fields (feed_range_schema (range));
  DeltaScanColumn columns[] = { { n - 3, "t" }, { 0, "a" }, { 1, "b" }, { n - 2, "v" } };
  FeedScanRequest request = { .columns = columns, .n_columns = G_N_ELEMENTS (columns), .ordered = ordered };
  g_autoptr (FeedScan) scan = feed_scan_new (range, &request, NULL, error);
  g_autofree char *sql = NULL;

  if (scan == NULL)
    return NULL;
  sql = g_strdup_printf (
      "SELECT %s CASE t WHEN 'update_preimage' THEN 'u-' WHEN 'update_postimage' THEN 'u+' ELSE t[1:1] END || ':' || "
      "coalesce(CAST(a AS VARCHAR), 'NULL') || ',' || coalesce(CAST(b AS VARCHAR), 'NULL') || '@' || CAST(v AS "
      "VARCHAR) FROM (%s)",
      ordered ? "row_number() OVER () || '=' ||" : "", feed_scan_sql (scan));
  return log_fixture_rows (fixture, sql);
}

void
changes_expect (LogFixture *fixture, const FeedRequest *request, BaseSettings *settings, const char *rows)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = changes_open (fixture, request, settings, &error);
  g_autofree char *found = range != NULL ? changes_rows (fixture, range, FALSE, &error) : NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (found, ==, rows);
}

void
changes_expect_error (LogFixture *fixture, const FeedRequest *request, BaseSettings *settings, const char *condition,
                      const char *param, const char *value)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = changes_open (fixture, request, settings, &error);
  g_autofree char *rows = range != NULL ? changes_rows (fixture, range, FALSE, &error) : NULL;

  g_assert_cmpstr (rows, ==, NULL);
  g_assert_cmpstr (base_error_condition (error), ==, condition);
  if (param != NULL)
    g_assert_cmpstr (base_error_param (error, param), ==, value);
}

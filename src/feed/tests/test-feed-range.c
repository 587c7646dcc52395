/* Which rows a range gives, and by which name it is refused: the worked examples of cdf.md §15. */
#include "base-error.h"
#include "changes.h"
#include "delta-checkpoint.h"

#include <string.h>

#define TRACKED "\"delta.enableRowTracking\":\"true\""
#define NONE    G_MININT64

static FeedRange *
open_range (LogFixture *fixture, FeedBound start, FeedBound end, BaseSettings *settings, GError **error)
{
  FeedRequest request = { .start = start, .end = end };

  return changes_open (fixture, &request, settings, error);
}

static FeedBound
version (gint64 value)
{
  return (FeedBound){ FEED_BOUND_VERSION, value, FALSE };
}

static void
expect_rows (LogFixture *fixture, gint64 start, gint64 end, const char *expected)
{
  FeedRequest request = { .start = version (start),
                          .end = { end == NONE ? FEED_BOUND_NONE : FEED_BOUND_VERSION, end, FALSE } };

  changes_expect (fixture, &request, NULL, expected);
}

static void
expect_error (LogFixture *fixture, FeedBound start, FeedBound end, BaseSettings *settings, const char *condition,
              const char *param, const char *value)
{
  changes_expect_error (fixture, &(FeedRequest){ .start = start, .end = end }, settings, condition, param, value);
}

static FeedBound
seconds_after_begin (gint64 value)
{
  return (FeedBound){ FEED_BOUND_TIMESTAMP, (LOG_FIXTURE_BEGIN_S + value) * 1000, FALSE };
}

static const FeedBound no_bound = { FEED_BOUND_NONE, 0, FALSE };

/* ---- rows ---- */

static void
test_insert_update_delete (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a'), (2, 'b')) t(id, name", NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 0, NONE, "i:1,a@1 i:2,b@1");

  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "b.parquet", "VALUES (1, 'a'), (2, 'B')) t(id, name", NULL);
  log_fixture_file (fixture, "cdc", "_change_data/cdc-1.parquet",
                    "VALUES (2, 'b', 'update_preimage'), (2, 'B', 'update_postimage')) t(id, name, _change_type", NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 2, 2, "u+:2,B@2 u-:2,b@2");

  log_fixture_file (fixture, "remove", "b.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "c.parquet", "VALUES (2, 'B')) t(id, name", NULL);
  log_fixture_file (fixture, "cdc", "_change_data/cdc-2.parquet", "VALUES (1, 'a', 'delete')) t(id, name, _change_type",
                    NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 3, NONE, "d:1,a@3");
  expect_rows (fixture, 1, 3, "d:1,a@3 i:1,a@1 i:2,b@1 u+:2,B@2 u-:2,b@2");
}

static void
test_vectors (void)
{
  static const int one[] = { 1, -1 }, two[] = { 1, 2, -1 };
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a'), (2, 'b'), (3, 'c')) t(id, name", NULL);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "a.parquet", NULL, one);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, one);
  log_fixture_file (fixture, "add", "a.parquet", NULL, two);
  log_fixture_commit (fixture);
  expect_rows (fixture, 2, 3, "d:2,b@2 d:3,c@3");

  /* RESTORE: the vector shrinks, then goes. */
  log_fixture_file (fixture, "add", "a.parquet", NULL, one);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, two);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, one);
  log_fixture_file (fixture, "add", "a.parquet", NULL, NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 4, 5, "i:2,b@5 i:3,c@4");

  /* Re-added as it was; then removed whole, masked rows left out. */
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "a.parquet", NULL, NULL);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "a.parquet", NULL, one);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, one);
  log_fixture_commit (fixture);
  expect_rows (fixture, 6, NONE, "d:1,a@8 d:2,b@7 d:3,c@8");
}

/* A vector that loses one row and gains another in the same commit gives both (§4, last row but one). */
static void
test_vectors_that_cross (void)
{
  static const int before[] = { 0, -1 }, after[] = { 2, -1 };
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a'), (2, 'b'), (3, 'c')) t(id, name", before);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, before);
  log_fixture_file (fixture, "add", "a.parquet", NULL, after);
  log_fixture_commit (fixture);
  expect_rows (fixture, 1, 2, "d:3,c@2 i:1,a@2 i:2,b@1 i:3,c@1");
}

/* §3.4a: the change file of the new rows is the data file itself. */
static void
test_data_file_as_change_file (void)
{
  static const int one[] = { 1, -1 };
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a'), (2, 'b')) t(id, name", NULL);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "a.parquet", NULL, one);
  log_fixture_file (fixture, "add", "b.parquet", "VALUES (2, 'B', 'update_postimage')) t(id, name, _change_type", NULL);
  log_fixture_file (fixture, "cdc", "b.parquet", NULL, NULL);
  log_fixture_file (fixture, "cdc", "_change_data/cdc-1.parquet",
                    "VALUES (2, 'b', 'update_preimage')) t(id, name, _change_type", NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 2, NONE, "u+:2,B@2 u-:2,b@2");
  /* The column of the file is no column of the table: without the cdc action the rows are inserts. */
  log_fixture_file (fixture, "add", "c.parquet", "VALUES (3, 'c', 'delete')) t(id, name, _change_type", NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 3, NONE, "i:3,c@3");
}

static void
test_commits_without_changes (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a')) t(id, name", NULL);
  log_fixture_commit (fixture);
  /* A MERGE that rewrote a file and changed no row (§3.6); one that says nothing is taken by its files. */
  log_fixture_line (fixture,
                    "{\"commitInfo\":{\"operation\":\"MERGE\",\"operationMetrics\":{\"numTargetRowsInserted\":\"0\","
                    "\"numTargetRowsUpdated\":\"0\",\"numTargetRowsDeleted\":\"0\"}}}");
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "b.parquet", "VALUES (1, 'a')) t(id, name", NULL);
  log_fixture_commit (fixture);
  /* OPTIMIZE. */
  log_fixture_line (fixture, "{\"remove\":{\"path\":\"b.parquet\",\"dataChange\":false,\"deletionTimestamp\":1}}");
  log_fixture_line (fixture,
                    "{\"add\":{\"path\":\"a.parquet\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,"
                    "\"dataChange\":false}}");
  log_fixture_commit (fixture);
  expect_rows (fixture, 2, NONE, "");
  /* INSERT OVERWRITE, then TRUNCATE. */
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "add", "c.parquet", "VALUES (1, 'a'), (9, 'z')) t(id, name", NULL);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "c.parquet", NULL, NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 4, NONE, "d:1,a@4 d:1,a@5 d:9,z@5 i:1,a@4 i:9,z@4");
}

static void
test_added_column (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  log_fixture_protocol (fixture);
  log_fixture_metadata (fixture, "{\"name\":\"id\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}}", FEED_ON);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1)) t(id", NULL);
  log_fixture_commit (fixture);
  log_fixture_metadata (fixture, NULL, FEED_ON);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "add", "b.parquet", "VALUES (2, 'b')) t(id, name", NULL);
  log_fixture_commit (fixture);
  expect_rows (fixture, 1, NONE, "i:1,NULL@1 i:2,b@3");
}

/* ---- refusals ---- */

static void
test_feed_off (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  /* Example 16: on at 0, off at 4, on at 6. */
  changes_begin_table (fixture, FEED_ON);
  for (int i = 1; i <= 6; i++) {
    g_autofree char *name = g_strdup_printf ("%d.parquet", i);
    if (i == 4 || i == 6)
      log_fixture_metadata (fixture, NULL, i == 6 ? FEED_ON : "");
    else
      log_fixture_file (fixture, "add", name, "VALUES (1, 'a')) t(id, name", NULL);
    log_fixture_commit (fixture);
  }
  expect_rows (fixture, 2, 3, "i:1,a@2 i:1,a@3");
  expect_rows (fixture, 6, NONE, "");
  expect_error (fixture, version (0), version (5), NULL, "DELTA_MISSING_CHANGE_DATA", "version", "4");
  expect_error (fixture, version (4), version (5), NULL, "DELTA_MISSING_CHANGE_DATA", "version", "4");
  expect_error (fixture, version (5), no_bound, NULL, "DELTA_MISSING_CHANGE_DATA", "version", "5");
  expect_error (fixture, version (5), no_bound, NULL, "DELTA_MISSING_CHANGE_DATA", "endVersion", "6");
}

static void
test_row_tracking_only (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (BaseSettings) automatic = base_settings_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = NULL;

  changes_begin_table (fixture, TRACKED);
  log_fixture_commit (fixture);
  range = open_range (fixture, version (0), no_bound, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (feed_range_mode (range), ==, FEED_MODE_AUTOMATIC);
  /* Forced, its own conditions say where row tracking is off. */
  g_assert_true (base_settings_set (automatic, "engine.cdf.mode", "automatic", NULL));
  log_fixture_metadata (fixture, NULL, "");
  log_fixture_commit (fixture);
  expect_error (fixture, version (0), no_bound, automatic, "DELTA_CHANGELOG_REQUIRES_ROW_TRACKING", "version", "2");
  log_fixture_metadata (fixture, NULL, TRACKED);
  log_fixture_commit (fixture);
  expect_error (fixture, version (0), no_bound, automatic, "DELTA_CHANGELOG_ROW_TRACKING_DISABLED_IN_RANGE", "version",
                "2");
}

static void
test_bounds (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (BaseSettings) lenient = base_settings_new (NULL);
  g_autoptr (BaseSettings) clamp = base_settings_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = NULL;

  g_assert_true (
      base_settings_set (lenient, "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled", "true", NULL));
  g_assert_true (base_settings_set (clamp, "engine.cdf.endVersionBeyondLatest", "clamp", NULL));
  changes_begin_table (fixture, FEED_ON);
  for (int i = 1; i <= 3; i++) {
    g_autofree char *name = g_strdup_printf ("%d.parquet", i);
    log_fixture_file (fixture, "add", name, "VALUES (1, 'a')) t(id, name", NULL);
    log_fixture_commit (fixture);
  }
  expect_error (fixture, no_bound, no_bound, NULL, "DELTA_NO_START_FOR_CDC_READ", NULL, NULL);
  expect_error (fixture, version (99), no_bound, NULL, "DELTA_CDC_START_VERSION_AFTER_LATEST", "latest", "3");
  expect_error (fixture, version (3), version (1), NULL, "DELTA_INVALID_CDC_RANGE", "end", "1");
  expect_error (fixture, version (3), version (1), lenient, "DELTA_INVALID_CDC_RANGE", "start", "3");
  expect_error (fixture, version (1), version (99), NULL, "DELTA_VERSION_NOT_FOUND", "userVersion", "99");
  expect_error (fixture, version (-1), no_bound, NULL, "DELTA_VERSION_NOT_FOUND", "earliest", "0");
  expect_error (fixture, seconds_after_begin (181), no_bound, NULL, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", NULL, NULL);
  expect_error (fixture, seconds_after_begin (0), seconds_after_begin (181), NULL,
                "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", NULL, NULL);
  expect_error (fixture, version (0), seconds_after_begin (-1), NULL, "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
                NULL, NULL);
  expect_error (fixture, seconds_after_begin (120), seconds_after_begin (60), NULL, "DELTA_INVALID_CDC_RANGE", NULL,
                NULL);

  const struct {
    FeedBound start, end;
    BaseSettings *settings;
    DeltaVersion first, last;
  } cases[] = {
    { version (99), no_bound, lenient, 4, 3 },
    { version (1), version (99), lenient, 1, 3 },
    { version (1), version (99), clamp, 1, 3 },
    { seconds_after_begin (181), no_bound, lenient, 4, 3 },
    { seconds_after_begin (61), seconds_after_begin (181), lenient, 2, 3 },
    { seconds_after_begin (61), seconds_after_begin (119), NULL, 2, 1 }, /* between two commits */
    { seconds_after_begin (61), seconds_after_begin (120), NULL, 2, 2 },
    { seconds_after_begin (60), no_bound, NULL, 1, 3 },
    { seconds_after_begin (-3600), seconds_after_begin (60), NULL, 0, 1 },
    { version (0), version (0), NULL, 0, 0 },
    { version (2), seconds_after_begin (179), NULL, 2, 2 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (FeedRange) found = open_range (fixture, cases[i].start, cases[i].end, cases[i].settings, &error);
    g_assert_no_error (error);
    g_assert_cmpint (feed_range_start (found), ==, cases[i].first);
    g_assert_cmpint (feed_range_end (found), ==, cases[i].last);
    g_autofree char *rows = changes_rows (fixture, found, FALSE, &error);
    g_assert_no_error (error);
    g_assert_cmpint (strlen (rows) == 0, ==, cases[i].last <= 0 || feed_range_is_empty (found));
  }
}

#define MAPPED_FIELD(name)                                                                                             \
  "{\"name\":\"id\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{\"delta.columnMapping.id\":1,"                \
  "\"delta.columnMapping.physicalName\":\"p1\"}},"                                                                     \
  "{\"name\":\"" name "\",\"type\":\"string\",\"nullable\":true,\"metadata\":{\"delta.columnMapping.id\":2,"           \
  "\"delta.columnMapping.physicalName\":\"p2\"}}"
#define MAPPED FEED_ON ",\"delta.columnMapping.mode\":\"name\""

static void
expect_column (LogFixture *fixture, gint64 start, gint64 end, const char *name, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = open_range (fixture, version (start), version (end), NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (base_type_field (feed_range_schema (range), 1)->name, ==, name);
  expect_rows (fixture, start, end, expected);
}

static void
test_renamed_column (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (BaseSettings) unsafe = base_settings_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = NULL;

  log_fixture_protocol (fixture);
  log_fixture_metadata (fixture, MAPPED_FIELD ("name"), MAPPED);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a')) t(p1, p2", NULL);
  log_fixture_commit (fixture);
  log_fixture_metadata (fixture, MAPPED_FIELD ("nm"), MAPPED);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "add", "b.parquet", "VALUES (2, 'b')) t(p1, p2", NULL);
  log_fixture_commit (fixture);
  expect_column (fixture, 1, 1, "name", "i:1,a@1");
  expect_column (fixture, 2, 3, "nm", "i:2,b@3");
  expect_error (fixture, version (1), version (3), NULL, "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA",
                "incompatibleVersion", "1");
  log_fixture_metadata (fixture, MAPPED_FIELD ("nnn"), MAPPED);
  log_fixture_commit (fixture);
  expect_error (fixture, version (1), no_bound, NULL, "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE",
                "incompatibleVersion", "2");
  g_assert_true (base_settings_set (
      unsafe, "spark.databricks.delta.changeDataFeed.unsafeBatchReadOnIncompatibleSchemaChanges.enabled", "true",
      NULL));
  range = open_range (fixture, version (1), no_bound, unsafe, &error);
  g_assert_no_error (error);
  g_autofree char *rows = changes_rows (fixture, range, FALSE, &error);
  g_assert_cmpstr (rows, ==, "i:1,a@1 i:2,b@3");
}

static void
test_reserved_names (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  log_fixture_protocol (fixture);
  log_fixture_metadata (fixture, "{\"name\":\"_Change_Type\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}}",
                        FEED_ON);
  log_fixture_commit (fixture);
  expect_error (fixture, version (0), no_bound, NULL, "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS", "columnList",
                "_Change_Type");
}

static void
test_bad_logs (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_line (fixture, "{\"remove\":{\"path\":\"x.parquet\",\"dataChange\":true,\"deletionTimestamp\":1}}");
  log_fixture_commit (fixture);
  expect_error (fixture, version (1), no_bound, NULL, "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA", "file",
                "x.parquet");
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a')) t(id, name", NULL);
  log_fixture_file (fixture, "add", "a.parquet", NULL, NULL);
  log_fixture_commit (fixture);
  expect_error (fixture, version (2), no_bound, NULL, "DELTA_LOG_CORRUPT", "path", "a.parquet");
}

static void
test_files_gone (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, FEED_ON);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a')) t(id, name", NULL);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_file (fixture, "cdc", "_change_data/cdc-1.parquet", "VALUES (1, 'a', 'delete')) t(id, name, _change_type",
                    NULL);
  log_fixture_commit (fixture);
  log_fixture_file (fixture, "add", "b.parquet", "VALUES (2, 'b')) t(id, name", NULL);
  log_fixture_commit (fixture);
  log_fixture_delete_file (fixture, "_change_data/cdc-1.parquet");
  expect_error (fixture, version (1), no_bound, NULL, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "version", "2");
  expect_error (fixture, version (1), no_bound, NULL, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "path",
                "_change_data/cdc-1.parquet");
  expect_error (fixture, version (1), no_bound, NULL, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "firstReadableVersion", "3");
  expect_rows (fixture, 3, NONE, "i:2,b@3");
}

static void
test_log_cleaned (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (GError) error = NULL;

  changes_begin_table (fixture, FEED_ON);
  for (int i = 1; i <= 5; i++) {
    g_autofree char *name = g_strdup_printf ("%d.parquet", i);
    log_fixture_file (fixture, "add", name, "VALUES (1, 'a')) t(id, name", NULL);
    log_fixture_commit (fixture);
    if (i == 3) {
      g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (log_fixture_reopen (fixture), NULL, &error);
      g_assert_no_error (error);
      g_assert_true (delta_checkpoint_write (snapshot, NULL, NULL, &error));
    }
  }
  for (int i = 0; i <= 2; i++)
    log_fixture_delete_version (fixture, i);
  expect_error (fixture, version (1), no_bound, NULL, "DELTA_VERSION_NOT_FOUND", "earliest", "3");
  expect_rows (fixture, 3, 4, "i:1,a@3 i:1,a@4");
  /* A gap behind the checkpoint. */
  log_fixture_commit (fixture);
  {
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (log_fixture_reopen (fixture), NULL, &error);
    g_assert_true (delta_checkpoint_write (snapshot, NULL, NULL, &error));
  }
  log_fixture_delete_version (fixture, 4);
  expect_error (fixture, version (3), no_bound, NULL, "DELTA_VERSIONS_NOT_CONTIGUOUS", "version", "4");
}

/* ---- skipping ---- */

static void
test_skipping (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = NULL;
  DeltaConstant two = { .kind = BASE_TYPE_LONG, .integer = 2 };
  DeltaConstant insert = { .kind = BASE_TYPE_STRING, .text = "insert", .text_bytes = 6 };
  DeltaConstant late = { .kind = BASE_TYPE_TIMESTAMP, .integer = (LOG_FIXTURE_BEGIN_S + 180) * 1000000 };

  changes_begin_table (fixture, FEED_ON);
  for (int i = 1; i <= 3; i++) {
    g_autofree char *name = g_strdup_printf ("%d.parquet", i);
    log_fixture_file (fixture, "add", name, "VALUES (1, 'a')) t(id, name", NULL);
    log_fixture_commit (fixture);
  }
  log_fixture_file (fixture, "remove", "1.parquet", NULL, NULL);
  log_fixture_commit (fixture);
  range = open_range (fixture, version (0), no_bound, NULL, &error);
  g_assert_no_error (error);
  const struct {
    DeltaPredicate predicate;
    guint n_files;
  } cases[] = {
    { { 3, DELTA_PREDICATE_EQ, &two, 1 }, 1 },          { { 3, DELTA_PREDICATE_GT, &two, 1 }, 2 },
    { { 3, DELTA_PREDICATE_LE, &two, 1 }, 2 },          { { 3, DELTA_PREDICATE_IS_NULL, NULL, 0 }, 0 },
    { { 2, DELTA_PREDICATE_EQ, &insert, 1 }, 3 },       { { 4, DELTA_PREDICATE_GE, &late, 1 }, 2 },
    { { 0, DELTA_PREDICATE_IS_NOT_NULL, NULL, 0 }, 4 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    FeedScanRequest request = { .predicates = &cases[i].predicate, .n_predicates = 1 };
    g_autoptr (FeedScan) scan = feed_scan_new (range, &request, NULL, &error);
    gint64 n_rows;
    g_assert_no_error (error);
    g_assert_cmpuint (feed_scan_n_files (scan), ==, cases[i].n_files);
    g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM (%s)", feed_scan_sql (scan));
    g_assert_true (duck_session_query_int64 (fixture->session, sql, NULL, &n_rows, NULL, &error));
    g_assert_cmpint (n_rows, ==, cases[i].n_files);
  }
  FeedFacts facts = feed_range_facts (range);
  g_assert_cmpuint (facts.n_adds, ==, 3);
  g_assert_cmpuint (facts.n_removes, ==, 1);
}

static void
test_order (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = NULL;
  DeltaScanColumn columns[] = { { 3, "v" }, { 4, "s" } };
  FeedScanRequest request = { .columns = columns, .n_columns = 2, .ordered = TRUE };
  g_autoptr (FeedScan) scan = NULL;

  changes_begin_table (fixture, FEED_ON);
  for (int i = 1; i <= 6; i++) {
    g_autofree char *name = g_strdup_printf ("%c.parquet", 'z' - i);
    log_fixture_file (fixture, i % 2 ? "add" : "cdc", name,
                      i % 2 ? "VALUES (1, 'a')) t(id, name" : "VALUES (1, 'a', 'delete')) t(id, name, _change_type",
                      NULL);
    log_fixture_commit (fixture);
  }
  range = open_range (fixture, version (0), no_bound, NULL, &error);
  g_assert_no_error (error);
  scan = feed_scan_new (range, &request, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (DuckResult) result = duck_session_query (fixture->session, feed_scan_sql (scan), NULL, &error);
  const DuckChunk *chunk = NULL;
  gint64 n = 0;
  while (duck_result_next (result, &chunk, &error) && chunk != NULL)
    for (guint row = 0; row < chunk->n_rows; row++) {
      g_assert_cmpint (duck_vector_int64 (&chunk->columns[0], row), ==, ++n);
      g_assert_cmpint (duck_vector_int64 (&chunk->columns[1], row), ==, (LOG_FIXTURE_BEGIN_S + n * 60) * 1000000);
    }
  g_assert_no_error (error);
  g_assert_cmpint (n, ==, 6);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/feed/rows/insert-update-delete", test_insert_update_delete);
  g_test_add_func ("/feed/rows/vectors", test_vectors);
  g_test_add_func ("/feed/rows/vectors-that-cross", test_vectors_that_cross);
  g_test_add_func ("/feed/rows/data-file-as-change-file", test_data_file_as_change_file);
  g_test_add_func ("/feed/rows/commits-without-changes", test_commits_without_changes);
  g_test_add_func ("/feed/rows/added-column", test_added_column);
  g_test_add_func ("/feed/refusals/feed-off", test_feed_off);
  g_test_add_func ("/feed/refusals/row-tracking-only", test_row_tracking_only);
  g_test_add_func ("/feed/refusals/bounds", test_bounds);
  g_test_add_func ("/feed/refusals/renamed-column", test_renamed_column);
  g_test_add_func ("/feed/refusals/reserved-names", test_reserved_names);
  g_test_add_func ("/feed/refusals/bad-logs", test_bad_logs);
  g_test_add_func ("/feed/refusals/files-gone", test_files_gone);
  g_test_add_func ("/feed/refusals/log-cleaned", test_log_cleaned);
  g_test_add_func ("/feed/skipping", test_skipping);
  g_test_add_func ("/feed/order", test_order);
  return g_test_run ();
}

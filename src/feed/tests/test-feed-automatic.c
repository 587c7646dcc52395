/* Changes from row ids: the cases of cdf.md §5.4 and the examples of §15 that Spark was seen to answer so, on logs written by hand. */
#include "base-error.h"
#include "changes.h"

#include <string.h>

#define TRACKED                                                                                                        \
  "\"delta.enableRowTracking\":\"true\",\"delta.rowTracking.materializedRowIdColumnName\":\"_rid\","                   \
  "\"delta.rowTracking.materializedRowCommitVersionColumnName\":\"_rcv\""
#define LATEST G_MININT64

static void
commit (LogFixture *fixture)
{
  log_fixture_line (fixture, "{\"commitInfo\":{\"tags\":{\"delta.rowTracking.preserved\":\"true\"}}}");
  log_fixture_commit (fixture);
}

/* v0, and v1 with (1, a), (2, b), (3, c) in a.parquet. */
static LogFixture *
three_rows (void)
{
  LogFixture *fixture = log_fixture_new ();

  changes_begin_table (fixture, TRACKED);
  log_fixture_tracked_file (fixture, "add", "a.parquet", "VALUES (1, 'a'), (2, 'b'), (3, 'c')) t(id, name", NULL, 0, 1);
  commit (fixture);
  return fixture;
}

static FeedRequest
bounded (FeedRequest request, gint64 start, gint64 end)
{
  request.start = (FeedBound){ FEED_BOUND_VERSION, start, request.start.exclusive };
  request.end = (FeedBound){ end == LATEST ? FEED_BOUND_NONE : FEED_BOUND_VERSION, end, request.end.exclusive };
  return request;
}

static void
expect_with (LogFixture *fixture, FeedRequest request, gint64 start, gint64 end, BaseSettings *settings,
             const char *rows)
{
  request = bounded (request, start, end);
  changes_expect (fixture, &request, settings, rows);
}

static void
expect (LogFixture *fixture, gint64 start, gint64 end, const char *rows)
{
  expect_with (fixture, (FeedRequest){ 0 }, start, end, NULL, rows);
}

static void
expect_error (LogFixture *fixture, gint64 start, gint64 end, BaseSettings *settings, const char *condition,
              const char *param, const char *value)
{
  FeedRequest request = bounded ((FeedRequest){ 0 }, start, end);

  changes_expect_error (fixture, &request, settings, condition, param, value);
}

static BaseSettings *
settings_with (const char *key, const char *value)
{
  BaseSettings *settings = base_settings_new (NULL);

  g_assert_true (base_settings_set (settings, key, value, NULL));
  return settings;
}

/* a.parquet → b.parquet by copy on write; row 2 changes its name to 'B' at v2. */
static void
copy_on_write (LogFixture *fixture)
{
  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (
      fixture, "add", "b.parquet",
      "VALUES (1, 'a', 0::BIGINT, 1::BIGINT), (2, 'B', 1, NULL), (3, 'c', 2, 1)) t(id, name, _rid, "
      "_rcv",
      NULL, 3, 2);
  commit (fixture);
}

/* ---- rows ---- */

static void
test_copy_on_write (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  copy_on_write (fixture);
  expect (fixture, 0, 1, "i:1,a@1 i:2,b@1 i:3,c@1");
  expect (fixture, 2, 2, "u+:2,B@2 u-:2,b@2");
  /* Example 17: again on the file that was written by copying. */
  log_fixture_tracked_file (fixture, "remove", "b.parquet", NULL, NULL, 3, 2);
  log_fixture_tracked_file (
      fixture, "add", "c.parquet",
      "VALUES (1, 'a', 0::BIGINT, 1::BIGINT), (2, 'B', 1, 2), (3, 'C', 2, NULL)) t(id, name, _rid, "
      "_rcv",
      NULL, 6, 3);
  commit (fixture);
  expect (fixture, 2, 3, "u+:2,B@2 u+:3,C@3 u-:2,b@2 u-:3,c@3");
  /* A row of the middle file is deleted: the others only move. */
  log_fixture_tracked_file (fixture, "remove", "c.parquet", NULL, NULL, 6, 3);
  log_fixture_tracked_file (fixture, "add", "d.parquet",
                            "VALUES (2, 'B', 1::BIGINT, 2::BIGINT), (3, 'C', 2, 3)) t(id, name, _rid, _rcv", NULL, 9,
                            4);
  commit (fixture);
  expect (fixture, 4, LATEST, "d:1,a@4");
  expect (fixture, 0, LATEST, "d:1,a@4 i:1,a@1 i:2,b@1 i:3,c@1 u+:2,B@2 u+:3,C@3 u-:2,b@2 u-:3,c@3");
}

static void
test_vectors (void)
{
  static const int one[] = { 1, -1 }, two[] = { 1, 2, -1 };
  g_autoptr (LogFixture) fixture = three_rows ();

  /* An update by a vector: the new row keeps the id of the old one. */
  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (fixture, "add", "a.parquet", NULL, one, 0, 1);
  log_fixture_tracked_file (fixture, "add", "b.parquet", "VALUES (2, 'B', 1::BIGINT)) t(id, name, _rid", NULL, 3, 2);
  commit (fixture);
  expect (fixture, 2, 2, "u+:2,B@2 u-:2,b@2");
  /* The vector grows: only the new position (example 4). */
  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, one, 0, 1);
  log_fixture_tracked_file (fixture, "add", "a.parquet", NULL, two, 0, 1);
  commit (fixture);
  expect (fixture, 3, 3, "d:3,c@3");
  /* Files without rows ids of their own in the same commit as an update. */
  log_fixture_tracked_file (fixture, "remove", "b.parquet", NULL, NULL, 3, 2);
  log_fixture_tracked_file (fixture, "add", "c.parquet",
                            "VALUES (2, 'BB', 1::BIGINT), (9, 'z', NULL)) t(id, name, _rid", NULL, 4, 4);
  commit (fixture);
  expect (fixture, 4, 4, "i:9,z@4 u+:2,BB@4 u-:2,B@4");
}

static void
test_whole_files (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  /* Overwritten with equal data: other rows (example 10). */
  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (fixture, "add", "b.parquet", "VALUES (1, 'a'), (9, 'z')) t(id, name", NULL, 3, 2);
  commit (fixture);
  expect (fixture, 2, 2, "d:1,a@2 d:2,b@2 d:3,c@2 i:1,a@2 i:9,z@2");
  log_fixture_tracked_file (fixture, "remove", "b.parquet", NULL, NULL, 3, 2);
  commit (fixture);
  expect (fixture, 3, LATEST, "d:1,a@3 d:9,z@3");
  /* Moved without a change of data. */
  log_fixture_line (fixture, "{\"add\":{\"path\":\"a.parquet\",\"partitionValues\":{},\"size\":1,\"dataChange\":false,"
                             "\"modificationTime\":1,\"baseRowId\":0,\"defaultRowCommitVersion\":1,\"stats\":\"{"
                             "\\\"numRecords\\\":3}\"}}");
  commit (fixture);
  expect (fixture, 4, LATEST, "");
}

/* Example 14: the old file comes back and carries no ids of its own. */
static void
test_restore (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  copy_on_write (fixture);
  log_fixture_tracked_file (fixture, "remove", "b.parquet", NULL, NULL, 3, 2);
  log_fixture_tracked_file (fixture, "add", "a.parquet", NULL, NULL, 0, 1);
  commit (fixture);
  expect (fixture, 3, LATEST, "u+:2,b@3 u-:2,B@3");
}

/* Example 8: an update to the same values is an update. */
static void
test_same_values (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (
      fixture, "add", "b.parquet",
      "VALUES (1, 'a', 0::BIGINT, NULL::BIGINT), (2, 'b', 1, 1), (3, 'c', 2, 1)) t(id, name, _rid, "
      "_rcv",
      NULL, 3, 2);
  commit (fixture);
  expect (fixture, 2, LATEST, "u+:1,a@2 u-:1,a@2");
}

/* Removes by writers that leave the ids out: the add of before tells them. */
static void
test_removes_without_ids (void)
{
  static const int one[] = { 1, -1 };
  g_autoptr (LogFixture) fixture = three_rows ();

  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_tracked_file (
      fixture, "add", "b.parquet",
      "VALUES (1, 'a', 0::BIGINT, 1::BIGINT), (2, 'B', 1, NULL), (3, 'c', 2, 1)) t(id, name, _rid, "
      "_rcv",
      NULL, 3, 2);
  commit (fixture);
  expect (fixture, 2, LATEST, "u+:2,B@2 u-:2,b@2");
  log_fixture_file (fixture, "remove", "b.parquet", NULL, NULL);
  log_fixture_tracked_file (fixture, "add", "b.parquet", NULL, one, 3, 2);
  log_fixture_tracked_file (fixture, "add", "c.parquet", "VALUES (2, 'BB', 1::BIGINT)) t(id, name, _rid", NULL, 6, 3);
  commit (fixture);
  expect (fixture, 3, LATEST, "u+:2,BB@3 u-:2,B@3");
}

static void
test_no_ids_at_all (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();

  changes_begin_table (fixture, TRACKED);
  log_fixture_file (fixture, "add", "a.parquet", "VALUES (1, 'a')) t(id, name", NULL);
  commit (fixture);
  expect (fixture, 0, LATEST, "i:1,a@1"); /* nothing to pair */
  log_fixture_file (fixture, "remove", "a.parquet", NULL, NULL);
  log_fixture_tracked_file (fixture, "add", "b.parquet", "VALUES (1, 'A')) t(id, name", NULL, 1, 2);
  commit (fixture);
  expect_error (fixture, 0, LATEST, NULL, "INTERNAL_ERROR", "path", "a.parquet");
}

/* Example 34: a foreign rewrite that says nothing of row ids. */
static void
test_not_kept (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();
  g_autoptr (BaseSettings) raw = settings_with ("engine.cdf.auto.unpreserved", "raw");
  g_autoptr (BaseSettings) fail = settings_with ("engine.cdf.auto.unpreserved", "fail");

  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (fixture, "add", "b.parquet", "VALUES (1, 'a'), (2, 'B'), (3, 'c'), (3, 'c')) t(id, name",
                            NULL, 3, 2);
  log_fixture_commit (fixture);
  expect (fixture, 2, LATEST, "d:2,b@2 i:2,B@2 i:3,c@2");
  expect_with (fixture, (FeedRequest){ 0 }, 2, LATEST, raw, "d:1,a@2 d:2,b@2 d:3,c@2 i:1,a@2 i:2,B@2 i:3,c@2 i:3,c@2");
  expect_error (fixture, 2, LATEST, fail, "CDF_AUTO_ROW_IDS_NOT_PRESERVED", "version", "2");
  expect_with (fixture, (FeedRequest){ 0 }, 0, 1, fail, "i:1,a@1 i:2,b@1 i:3,c@1");
  /* Rows whose ids were kept all the same are still told apart. */
  log_fixture_tracked_file (fixture, "remove", "b.parquet", NULL, NULL, 3, 2);
  log_fixture_tracked_file (
      fixture, "add", "c.parquet",
      "VALUES (1, 'A', 3::BIGINT, NULL::BIGINT), (2, 'B', NULL, NULL), (3, 'c', 5, 2), (3, 'c', 6, 2)) "
      "t(id, name, _rid, _rcv",
      NULL, 7, 3);
  log_fixture_commit (fixture);
  expect (fixture, 3, LATEST, "u+:1,A@3 u-:1,a@3");
}

/* A writer's fault: an id twice on one side. Nothing is left out. */
static void
test_ids_twice (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (
      fixture, "add", "b.parquet",
      "VALUES (1, 'a', 0::BIGINT, 1::BIGINT), (2, 'b', 1, 1), (2, 'bb', 1, 1)) t(id, name, _rid, _rcv", NULL, 3, 2);
  commit (fixture);
  expect (fixture, 2, LATEST, "d:3,c@2 u+:2,b@2 u+:2,bb@2 u-:2,b@2");
}

static void
test_merge_of_nothing (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (fixture, "add", "b.parquet", "VALUES (1, 'a'), (2, 'b'), (3, 'c')) t(id, name", NULL, 3, 2);
  log_fixture_line (fixture,
                    "{\"commitInfo\":{\"operation\":\"MERGE\",\"operationMetrics\":{\"numTargetRowsInserted\":\"0\","
                    "\"numTargetRowsUpdated\":\"0\",\"numTargetRowsDeleted\":\"0\"}}}");
  log_fixture_commit (fixture);
  expect (fixture, 2, LATEST, "");
}

/* ---- modes ---- */

static void
test_modes (void)
{
  g_autoptr (LogFixture) fixture = log_fixture_new ();
  g_autoptr (BaseSettings) automatic = settings_with ("engine.cdf.mode", "automatic");
  g_autoptr (BaseSettings) legacy = settings_with ("engine.cdf.mode", "legacy");

  /* Example 16 with row tracking: on, off at 2, on at 3. */
  changes_begin_table (fixture, FEED_ON "," TRACKED);
  log_fixture_tracked_file (fixture, "add", "a.parquet", "VALUES (1, 'a')) t(id, name", NULL, 0, 1);
  commit (fixture);
  log_fixture_metadata (fixture, NULL, TRACKED);
  commit (fixture);
  log_fixture_metadata (fixture, NULL, FEED_ON "," TRACKED);
  commit (fixture);
  /* Change files that say something else show which way was taken. */
  log_fixture_tracked_file (fixture, "add", "b.parquet", "VALUES (4, 'd')) t(id, name", NULL, 1, 4);
  log_fixture_file (fixture, "cdc", "_change_data/c.parquet", "VALUES (4, 'cdc', 'insert')) t(id, name, _change_type",
                    NULL);
  commit (fixture);
  expect (fixture, 3, LATEST, "i:4,cdc@4");
  expect (fixture, 2, LATEST, "i:4,d@4");
  expect (fixture, 0, LATEST, "i:1,a@1 i:4,d@4");
  expect_with (fixture, (FeedRequest){ 0 }, 3, LATEST, automatic, "i:4,d@4");
  expect_error (fixture, 0, LATEST, legacy, "DELTA_MISSING_CHANGE_DATA", "version", "2");
  expect_error (fixture, 0, LATEST, legacy, "DELTA_MISSING_CHANGE_DATA", "firstReadableVersion", "3");
  /* What a row is over a range is only known by its id. */
  expect_with (fixture, (FeedRequest){ .deduplication = FEED_NET }, 3, LATEST, NULL, "i:4,d@4");
}

static void
test_schema_change (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();

  log_fixture_metadata (fixture, "{\"name\":\"id\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}}", TRACKED);
  commit (fixture);
  expect_error (fixture, 0, LATEST, NULL, "DELTA_CHANGELOG_SCHEMA_CHANGE_IN_RANGE", "version", "2");
}

/* ---- the newer surface (§7.9) ---- */

static void
test_deduplication (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();
  FeedRequest shown = { .deduplication = FEED_CARRYOVERS_SHOWN }, split = { .splits_updates = TRUE };
  FeedRequest net = { .deduplication = FEED_NET }, net_split = { .deduplication = FEED_NET, .splits_updates = TRUE };
  FeedRequest open = { .start.exclusive = TRUE, .end.exclusive = TRUE };

  copy_on_write (fixture);
  /* v3: 3 is deleted, 2 changes again, 4 comes. v4: 4 goes. */
  log_fixture_tracked_file (fixture, "remove", "b.parquet", NULL, NULL, 3, 2);
  log_fixture_tracked_file (
      fixture, "add", "c.parquet",
      "VALUES (1, 'a', 0::BIGINT, 1::BIGINT), (2, 'BB', 1, NULL), (4, 'd', NULL, NULL)) t(id, name, "
      "_rid, _rcv",
      NULL, 6, 3);
  commit (fixture);
  static const int last[] = { 2, -1 };
  log_fixture_tracked_file (fixture, "remove", "c.parquet", NULL, NULL, 6, 3);
  log_fixture_tracked_file (fixture, "add", "c.parquet", NULL, last, 6, 3);
  commit (fixture);

  expect (fixture, 2, LATEST, "d:3,c@3 d:4,d@4 i:4,d@3 u+:2,B@2 u+:2,BB@3 u-:2,B@3 u-:2,b@2");
  expect_with (fixture, split, 2, LATEST, NULL, "d:2,B@3 d:2,b@2 d:3,c@3 d:4,d@4 i:2,B@2 i:2,BB@3 i:4,d@3");
  expect_with (fixture, shown, 2, 2, NULL, "d:1,a@2 d:2,b@2 d:3,c@2 i:1,a@2 i:2,B@2 i:3,c@2");
  expect_with (fixture, net, 2, LATEST, NULL, "d:3,c@3 u+:2,BB@3 u-:2,b@2");
  expect_with (fixture, net_split, 2, LATEST, NULL, "d:2,b@2 d:3,c@3 i:2,BB@3");
  expect_with (fixture, net, 0, LATEST, NULL, "i:1,a@1 i:2,BB@3");
  expect_with (fixture, net, 4, LATEST, NULL, "d:4,d@4");
  expect_with (fixture, open, 1, 3, NULL, "u+:2,B@2 u-:2,b@2");
  expect_with (fixture, open, 2, 3, NULL, "");
}

static void
test_order (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();
  FeedRequest request = bounded ((FeedRequest){ 0 }, 1, LATEST);
  g_autoptr (GError) error = NULL;

  log_fixture_tracked_file (fixture, "remove", "a.parquet", NULL, NULL, 0, 1);
  log_fixture_tracked_file (
      fixture, "add", "b.parquet",
      "VALUES (3, 'C', 2::BIGINT, NULL::BIGINT), (1, 'A', 0, NULL), (2, 'b', 1, 1)) t(id, name, _rid, "
      "_rcv",
      NULL, 3, 2);
  commit (fixture);
  g_autoptr (FeedRange) range = changes_open (fixture, &request, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *rows = changes_rows (fixture, range, TRUE, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==, "1=i:1,a@1 2=i:2,b@1 3=i:3,c@1 4=u-:1,a@2 5=u+:1,A@2 6=u-:3,c@2 7=u+:3,C@2");
}

/* Predicates may only leave out files that cannot matter. */
static void
test_skipping (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();
  FeedRequest request = bounded ((FeedRequest){ 0 }, 0, LATEST);
  g_autoptr (GError) error = NULL;
  DeltaConstant updates = { .kind = BASE_TYPE_STRING, .text = "update_postimage", .text_bytes = 16 };
  DeltaConstant inserts = { .kind = BASE_TYPE_STRING, .text = "insert", .text_bytes = 6 };

  copy_on_write (fixture);
  g_autoptr (FeedRange) range = changes_open (fixture, &request, NULL, &error);
  g_assert_no_error (error);
  guint n = base_type_n_fields (feed_range_schema (range));
  const struct {
    DeltaConstant *constant;
    guint n_files;
  } cases[] = { { &updates, 1 }, { &inserts, 2 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    DeltaPredicate predicate = {
      .column = n - 3, .op = DELTA_PREDICATE_EQ, .constants = cases[i].constant, .n_constants = 1
    };
    DeltaScanColumn columns[] = { { 0, "a" }, { n - 3, "t" } };
    FeedScanRequest asked = { .columns = columns, .n_columns = 2, .predicates = &predicate, .n_predicates = 1 };
    g_autoptr (FeedScan) scan = feed_scan_new (range, &asked, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (feed_scan_n_files (scan), ==, cases[i].n_files);
    g_autofree char *sql =
        g_strdup_printf ("SELECT a::VARCHAR FROM (%s) WHERE t = '%s'", feed_scan_sql (scan), cases[i].constant->text);
    g_autofree char *rows = log_fixture_rows (fixture, sql);
    g_assert_cmpstr (rows, ==, i == 0 ? "2" : "1 2 3");
  }
}

/* ---- what VACUUM and clean-up took (R01, R02) ---- */

static void
test_first_readable (void)
{
  g_autoptr (LogFixture) fixture = three_rows ();
  g_autoptr (BaseSettings) lenient = settings_with ("engine.cdf.startAtFirstReadable", "true");
  FeedRequest earliest = { .start = { FEED_BOUND_EARLIEST, 0, FALSE } };
  g_autoptr (GError) error = NULL;
  g_autoptr (FeedRange) range = NULL;

  copy_on_write (fixture);
  log_fixture_tracked_file (fixture, "add", "d.parquet", "VALUES (4, 'd')) t(id, name", NULL, 6, 3);
  commit (fixture);
  range = feed_range_new (log_fixture_reopen (fixture), &earliest, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (feed_range_start (range), ==, 0);
  log_fixture_delete_file (fixture, "a.parquet");
  expect_error (fixture, 1, LATEST, NULL, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "firstReadableVersion", "3");
  expect_error (fixture, 0, 2, NULL, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "firstReadableVersion", "3");
  expect_error (fixture, 2, 2, NULL, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "version", "2");
  expect_with (fixture, (FeedRequest){ 0 }, 1, LATEST, lenient, "i:4,d@3");
  expect_error (fixture, 1, 2, lenient, "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "firstReadableVersion", "3");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/feed/automatic/copy-on-write-gives-the-changed-row", test_copy_on_write);
  g_test_add_func ("/feed/automatic/vectors-give-the-newly-marked-rows", test_vectors);
  g_test_add_func ("/feed/automatic/whole-files", test_whole_files);
  g_test_add_func ("/feed/automatic/restore-pairs-by-row-id", test_restore);
  g_test_add_func ("/feed/automatic/an-update-to-the-same-values-is-a-pair", test_same_values);
  g_test_add_func ("/feed/automatic/removes-without-ids", test_removes_without_ids);
  g_test_add_func ("/feed/automatic/files-without-any-ids-are-refused", test_no_ids_at_all);
  g_test_add_func ("/feed/automatic/ids-that-were-not-kept", test_not_kept);
  g_test_add_func ("/feed/automatic/ids-twice-on-a-side", test_ids_twice);
  g_test_add_func ("/feed/automatic/a-merge-that-changed-nothing", test_merge_of_nothing);
  g_test_add_func ("/feed/automatic/modes", test_modes);
  g_test_add_func ("/feed/automatic/schema-change", test_schema_change);
  g_test_add_func ("/feed/automatic/deduplication", test_deduplication);
  g_test_add_func ("/feed/automatic/order", test_order);
  g_test_add_func ("/feed/automatic/skipping", test_skipping);
  g_test_add_func ("/feed/automatic/first-readable-version", test_first_readable);
  return g_test_run ();
}

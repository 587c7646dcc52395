/* The change feed as a stream: batches, offsets, starts and refusals (cdf.md §10, examples 25–27 and 30). */
#include "../../../tests/support/log-fixture.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-checkpoint.h"
#include "stream-table.h"

#include <string.h>

#define FEED_ON "\"delta.enableChangeDataFeed\":\"true\""

static void
add_insert (LogFixture *fixture, int id)
{
  g_autofree char *name = g_strdup_printf ("%d.parquet", id);
  g_autofree char *sql = g_strdup_printf ("VALUES (%d, 'n')) t(id, name", id);

  log_fixture_file (fixture, "add", name, sql, NULL);
}

static void
commit_inserts (LogFixture *fixture, int from, int n)
{
  for (int i = 0; i < n; i++)
    add_insert (fixture, from + i);
  log_fixture_commit (fixture);
}

/* v0 creates, v1 … v3 insert 1, 2, 3. */
static LogFixture *
table_of_three (void)
{
  LogFixture *fixture = log_fixture_new ();

  log_fixture_protocol (fixture);
  log_fixture_metadata (fixture, NULL, FEED_ON);
  log_fixture_commit (fixture);
  for (int i = 1; i <= 3; i++)
    commit_inserts (fixture, i, 1);
  return fixture;
}

/* A stream of the feed of the table, whether the options say so or not. */
static StreamSource *
new_stream (LogFixture *fixture, DeltaSnapshot *snapshot, const char *const *options, GError **error)
{
  g_autoptr (GPtrArray) pairs = g_ptr_array_new ();

  for (guint i = 0; options != NULL && options[i] != NULL; i++)
    g_ptr_array_add (pairs, (gpointer) options[i]);
  g_ptr_array_add (pairs, (gpointer) "readChangeFeed");
  g_ptr_array_add (pairs, (gpointer) "true");
  g_ptr_array_add (pairs, NULL);
  StreamTableRequest request = {
    .name = "main.t", .snapshot = snapshot, .options = (const char *const *) pairs->pdata, .session = fixture->session
  };
  return stream_table_new (&request, error);
}

static StreamSource *
open_stream (LogFixture *fixture, const char *const *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (log_fixture_reopen (fixture), NULL, &error);
  StreamSource *source;

  g_assert_no_error (error);
  source = new_stream (fixture, snapshot, options, &error);
  g_assert_no_error (error);
  g_assert_true (source->klass->begin (source, NULL, NULL, &error));
  return source;
}

static char *
shown (LogFixture *fixture, StreamSource *source)
{
  static const guint columns[] = { 2, 0, 3 };
  static const char *const names[] = { "t", "a", "v" };
  RelationScan scan = { .columns = columns, .names = names, .n_columns = 3 };
  g_autoptr (RelationText) text = relation_text_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *sql = NULL;

  g_assert_true (source->leaf->klass->scan (source->leaf, &scan, text, &error));
  g_assert_no_error (error);
  sql = g_strdup_printf ("SELECT t[1:1] || ':' || CAST(a AS VARCHAR) || '@' || CAST(v AS VARCHAR) FROM (%s)",
                         relation_text_sql (text)->str);
  return log_fixture_rows (fixture, sql);
}

/* One batch from @last on, which moves; NULL when everything is read, "" for an offset that moved without rows. */
static char *
next_batch (LogFixture *fixture, StreamSource *source, json_t **last, GError **error)
{
  json_t *next = NULL;
  gboolean has_rows = FALSE;
  char *rows;

  if (!source->klass->plan (source, *last, &next, &has_rows, error) || next == NULL)
    return NULL;
  g_assert_true (source->klass->show (source, *last, next, error));
  rows = shown (fixture, source);
  g_assert_cmpint (has_rows, ==, strlen (rows) > 0);
  json_decref (*last);
  *last = next;
  return rows;
}

static void
expect_batch (LogFixture *fixture, StreamSource *source, json_t **last, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *rows = next_batch (fixture, source, last, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==, expected);
}

static void
expect_refusal (LogFixture *fixture, StreamSource *source, json_t **last, const char *condition)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *rows = next_batch (fixture, source, last, &error);

  g_assert_cmpstr (rows, ==, NULL);
  g_assert_nonnull (error);
  g_assert_cmpstr (base_error_condition (error), ==, condition);
}

static void
expect_offset (const json_t *offset, gint64 version, gint64 index, gboolean is_start)
{
  g_autofree char *text = base_json_text (offset);
  g_autofree char *expected = g_strdup_printf (
      "{\"sourceVersion\":1,\"reservoirId\":\"11111111-2222-3333-4444-555555555555\",\"reservoirVersion\":%d,"
      "\"index\":%d,\"isStartingVersion\":%s}",
      (int) version, (int) index, is_start ? "true" : "false");

  g_assert_cmpstr (text, ==, expected);
}

static void
test_snapshot_then_changes (void)
{
  g_autoptr (LogFixture) fixture = table_of_three ();
  StreamSource *source = open_stream (fixture, NULL);
  json_t *last = NULL;

  g_assert_cmpstr (base_type_field (source->leaf->schema, 2)->name, ==, "_change_type");
  g_assert_true (source->leaf->streaming);
  expect_batch (fixture, source, &last, "i:1@3 i:2@3 i:3@3");
  expect_offset (last, 4, -1, FALSE);
  expect_batch (fixture, source, &last, NULL);
  stream_source_free (source);

  log_fixture_file (fixture, "remove", "3.parquet", NULL, NULL);
  log_fixture_commit (fixture);
  log_fixture_commit (fixture); /* nothing in it */
  source = open_stream (fixture, NULL);
  expect_batch (fixture, source, &last, "d:3@4");
  expect_offset (last, 6, -1, FALSE);
  expect_batch (fixture, source, &last, NULL);
  stream_source_free (source);
  json_decref (last);
}

/* A batch that was logged is shown again after a crash, with the table grown meanwhile. */
static void
test_batches_repeat (void)
{
  const char *const options[] = { "maxFilesPerTrigger", "2", NULL };
  g_autoptr (LogFixture) fixture = table_of_three ();
  StreamSource *source = open_stream (fixture, options);
  g_autoptr (GError) error = NULL;
  json_t *first = NULL, *second = NULL;
  gboolean has_rows;

  g_assert_true (source->klass->plan (source, NULL, &first, &has_rows, &error));
  expect_offset (first, 3, 1, TRUE);
  g_assert_true (source->klass->plan (source, first, &second, &has_rows, &error));
  expect_offset (second, 4, -1, FALSE);
  stream_source_free (source);
  commit_inserts (fixture, 4, 1);
  source = open_stream (fixture, options);
  g_assert_true (source->klass->show (source, NULL, first, &error));
  g_autofree char *rows = shown (fixture, source);
  g_assert_cmpstr (rows, ==, "i:1@3 i:2@3");
  g_assert_true (source->klass->show (source, first, second, &error));
  g_autofree char *more = shown (fixture, source);
  g_assert_cmpstr (more, ==, "i:3@3");
  expect_batch (fixture, source, &second, "i:4@4");
  stream_source_free (source);
  json_decref (first);
  json_decref (second);
}

/* Example 28: what is committed while a run is under way waits for the next one. */
static void
test_end_is_fixed (void)
{
  const char *const options[] = { "maxFilesPerTrigger", "1", "startingVersion", "2", NULL };
  g_autoptr (LogFixture) fixture = table_of_three ();
  StreamSource *source = open_stream (fixture, options);
  g_autoptr (GError) error = NULL;
  json_t *last = NULL;

  expect_batch (fixture, source, &last, "i:2@2");
  commit_inserts (fixture, 4, 1);
  expect_batch (fixture, source, &last, "i:3@3");
  expect_batch (fixture, source, &last, NULL);
  /* A source that is kept for another run looks again. */
  g_assert_true (source->klass->begin (source, NULL, last, &error));
  expect_batch (fixture, source, &last, "i:4@4");
  stream_source_free (source);
  json_decref (last);
}

static void
test_starts (void)
{
  const char *const at_two[] = { "startingVersion", "2", "readChangeFeed", "true", NULL };
  const char *const latest[] = { "startingVersion", "LATEST", NULL };
  const char *const at_time[] = { "startingTimestamp", "2026-01-01 10:02:30", NULL };
  const char *const too_late[] = { "startingVersion", "76", NULL };
  g_autoptr (LogFixture) fixture = table_of_three ();
  json_t *last = NULL;
  StreamSource *source = open_stream (fixture, at_two);

  expect_batch (fixture, source, &last, "i:2@2 i:3@3");
  stream_source_free (source);
  g_clear_pointer (&last, json_decref);
  source = open_stream (fixture, at_time);
  expect_batch (fixture, source, &last, "i:3@3");
  stream_source_free (source);
  g_clear_pointer (&last, json_decref);
  source = open_stream (fixture, too_late);
  expect_refusal (fixture, source, &last, "DELTA_VERSION_NOT_FOUND");
  stream_source_free (source);
  source = open_stream (fixture, latest);
  expect_batch (fixture, source, &last, "");
  expect_offset (last, 4, -1, FALSE);
  stream_source_free (source);
  commit_inserts (fixture, 4, 1);
  source = open_stream (fixture, latest);
  expect_batch (fixture, source, &last, "i:4@4");
  stream_source_free (source);
  json_decref (last);
}

static void
test_limits (void)
{
  const char *const one_file[] = { "maxFilesPerTrigger", "1", NULL };
  const char *const few_bytes[] = { "maxBytesPerTrigger", "1b", "startingVersion", "0", NULL };
  g_autoptr (LogFixture) fixture = table_of_three ();
  json_t *last = NULL;
  StreamSource *source;

  commit_inserts (fixture, 40, 5);
  log_fixture_commit (fixture);
  commit_inserts (fixture, 50, 2);
  source = open_stream (fixture, (const char *const[]){ "maxFilesPerTrigger", "1", "startingVersion", "3", NULL });
  expect_batch (fixture, source, &last, "i:3@3");
  expect_batch (fixture, source, &last, "i:40@4 i:41@4 i:42@4 i:43@4 i:44@4");
  expect_offset (last, 6, -1, FALSE);
  expect_batch (fixture, source, &last, "i:50@6 i:51@6");
  expect_batch (fixture, source, &last, NULL);
  stream_source_free (source);
  g_clear_pointer (&last, json_decref);
  source = open_stream (fixture, few_bytes);
  expect_batch (fixture, source, &last, "i:1@1");
  stream_source_free (source);
  g_clear_pointer (&last, json_decref);
  source = open_stream (fixture, one_file);
  for (int i = 0; i < 10; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *rows = next_batch (fixture, source, &last, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (strlen (rows), >, 0);
    g_assert_null (strchr (rows, ' '));
  }
  expect_batch (fixture, source, &last, NULL);
  stream_source_free (source);
  json_decref (last);
}

static void
test_excluded_files (void)
{
  const char *const options[] = { "excludeRegex", "[2-9]\\.parquet", "startingVersion", "0", NULL };
  const char *const bad[] = { "excludeRegex", "(", NULL };
  g_autoptr (LogFixture) fixture = table_of_three ();
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (fixture->table, NULL, NULL);
  g_autoptr (GError) error = NULL;
  json_t *last = NULL;
  StreamSource *source;

  /* A commit with change files never falls back to the others. */
  log_fixture_file (fixture, "remove", "1.parquet", NULL, NULL);
  log_fixture_file (fixture, "cdc", "_change_data/cdc-2.parquet", "VALUES (1, 'n', 'delete')) t(id, name, _change_type",
                    NULL);
  log_fixture_commit (fixture);
  source = open_stream (fixture, options);
  expect_batch (fixture, source, &last, "i:1@1");
  expect_offset (last, 5, -1, FALSE);
  stream_source_free (source);
  json_decref (last);
  g_assert_null (new_stream (fixture, snapshot, bad, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "DELTA_REGEX_OPT_SYNTAX_ERROR");
}

/* What can be read is read first; the refusal comes when the stream reaches it. */
static void
test_refusals (void)
{
  const char *const from_start[] = { "startingVersion", "1", NULL };
  const struct {
    const char *condition;
    const char *line; /* NULL: the metadata that follows */
    const char *fields;
    const char *configuration;
  } cases[] = {
    { "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", "{\"commitInfo\":{\"operation\":\"FULL REFRESH\"}}", NULL,
      NULL },
    { "DELTA_MISSING_CHANGE_DATA", NULL, NULL, "" },
    { "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE", NULL,
      "{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},"
      "{\"name\":\"name\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}",
      FEED_ON },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LogFixture) fixture = table_of_three ();
    json_t *last = NULL;
    StreamSource *source;
    if (cases[i].line != NULL)
      log_fixture_line (fixture, "%s", cases[i].line);
    else
      log_fixture_metadata (fixture, cases[i].fields, cases[i].configuration);
    log_fixture_commit (fixture);
    if (cases[i].fields != NULL) {
      /* The leaf has the schema of now: what came before does not fit it. */
      source = open_stream (fixture, from_start);
      expect_refusal (fixture, source, &last, cases[i].condition);
    } else {
      source = open_stream (fixture, from_start);
      expect_batch (fixture, source, &last, "i:1@1 i:2@2 i:3@3");
      expect_refusal (fixture, source, &last, cases[i].condition);
    }
    stream_source_free (source);
    json_decref (last);
  }
}

static void
test_other_table (void)
{
  g_autoptr (LogFixture) fixture = table_of_three ();
  StreamSource *source = open_stream (fixture, NULL);
  json_t *last = json_pack ("{s:i, s:s, s:i, s:i, s:b}", "sourceVersion", 1, "reservoirId", "another",
                            "reservoirVersion", 1, "index", -1, "isStartingVersion", FALSE);

  expect_refusal (fixture, source, &last, "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE");
  stream_source_free (source);
  json_decref (last);
}

/* Offsets inside a commit are written by others. */
static void
test_offset_inside_commit (void)
{
  g_autoptr (LogFixture) fixture = table_of_three ();
  json_t *last =
      json_pack ("{s:i, s:s, s:i, s:i, s:b}", "sourceVersion", 1, "reservoirId", "11111111-2222-3333-4444-555555555555",
                 "reservoirVersion", 4, "index", 1, "isStartingVersion", FALSE);
  StreamSource *source;

  commit_inserts (fixture, 40, 5);
  source = open_stream (fixture, NULL);
  expect_batch (fixture, source, &last, "i:42@4 i:43@4 i:44@4");
  stream_source_free (source);
  json_decref (last);
}

static void
test_log_cleaned (void)
{
  const char *const lenient[] = { "failOnDataLoss", "false", NULL };
  g_autoptr (LogFixture) fixture = table_of_three ();
  g_autoptr (GError) error = NULL;
  json_t *last =
      json_pack ("{s:i, s:s, s:i, s:i, s:b}", "sourceVersion", 1, "reservoirId", "11111111-2222-3333-4444-555555555555",
                 "reservoirVersion", 1, "index", -1, "isStartingVersion", FALSE);
  StreamSource *source;

  {
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (log_fixture_reopen (fixture), NULL, &error);
    g_assert_true (delta_checkpoint_write (snapshot, NULL, NULL, &error));
  }
  commit_inserts (fixture, 4, 1);
  for (int i = 0; i <= 2; i++)
    log_fixture_delete_version (fixture, i);
  source = open_stream (fixture, NULL);
  expect_refusal (fixture, source, &last, "DELTA_MISSING_FILES_UNEXPECTED_VERSION");
  stream_source_free (source);
  source = open_stream (fixture, lenient);
  expect_batch (fixture, source, &last, "i:3@3 i:4@4");
  stream_source_free (source);
  json_decref (last);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/stream/feed/snapshot-then-changes", test_snapshot_then_changes);
  g_test_add_func ("/stream/feed/batches-repeat", test_batches_repeat);
  g_test_add_func ("/stream/feed/end-is-fixed", test_end_is_fixed);
  g_test_add_func ("/stream/feed/starts", test_starts);
  g_test_add_func ("/stream/feed/limits", test_limits);
  g_test_add_func ("/stream/feed/excluded-files", test_excluded_files);
  g_test_add_func ("/stream/feed/refusals", test_refusals);
  g_test_add_func ("/stream/feed/other-table", test_other_table);
  g_test_add_func ("/stream/feed/offset-inside-commit", test_offset_inside_commit);
  g_test_add_func ("/stream/feed/log-cleaned", test_log_cleaned);
  return g_test_run ();
}

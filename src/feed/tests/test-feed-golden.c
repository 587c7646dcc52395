/* The change feeds of the golden tables are those that Spark and delta-rs saw. */
#include "../../../tests/support/canon.h"
#include "base-error.h"
#include "base-json.h"
#include "duck-engine.h"
#include "feed.h"
#include "store.h"

#include <string.h>

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  char *directory;
  guint n_feeds;
  guint n_equal;
  guint64 n_rows;
} Run;

static FeedScan *
scan_columns (FeedRange *range, const json_t *columns, BaseType **schema, GError **error)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autofree DeltaScanColumn *asked = g_new0 (DeltaScanColumn, json_array_size (columns) + 1);
  FeedScanRequest request = { .columns = asked };
  gsize i;
  json_t *name;

  json_array_foreach (columns, i, name)
  {
    int at = base_type_field_index (feed_range_schema (range), json_string_value (name), FALSE);
    g_assert_cmpint (at, >=, 0);
    base_struct_builder_add (builder, json_string_value (name), base_type_field (feed_range_schema (range), at)->type,
                             TRUE, NULL);
    asked[request.n_columns++] = (DeltaScanColumn){ (guint) at, json_string_value (name) };
  }
  *schema = base_struct_builder_end (builder);
  return feed_scan_new (range, &request, NULL, error);
}

/* Counts by version and by type, as the expected file has them. */
static gboolean
counts_equal (Run *run, FeedScan *scan, const json_t *changes)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *sql =
      g_strdup_printf ("SELECT CAST(\"_commit_version\" AS VARCHAR), \"_change_type\", count(*) FROM (%s) GROUP BY ALL",
                       feed_scan_sql (scan));
  g_autoptr (DuckResult) result = duck_session_query (run->session, sql, NULL, &error);
  g_autoptr (json_t) found = json_object ();
  const DuckChunk *chunk = NULL;

  g_assert_no_error (error);
  while (duck_result_next (result, &chunk, &error) && chunk != NULL)
    for (guint row = 0; row < chunk->n_rows; row++) {
      g_autofree char *version = duck_vector_dup_string (&chunk->columns[0], row);
      g_autofree char *type = duck_vector_dup_string (&chunk->columns[1], row);
      json_t *of_version = json_object_get (found, version);
      if (of_version == NULL)
        json_object_set_new (found, version, of_version = json_object ());
      json_object_set_new (of_version, type, json_integer (duck_vector_int64 (&chunk->columns[2], row)));
    }
  g_assert_no_error (error);
  if (json_equal (found, json_object_get (changes, "per_version")))
    return TRUE;
  g_autofree char *text = base_json_text (found);
  g_test_message ("  counts are %s", text);
  return FALSE;
}

static void
check_feed (Run *run, const char *name, const json_t *changes)
{
  g_autofree char *location = g_build_filename (run->directory, "tables", name, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (Store) store = store_open (NULL, location, &error);
  g_autoptr (DeltaTable) table = delta_table_new (store, run->engine);
  FeedRequest request = { .start = { FEED_BOUND_VERSION, base_json_int64 (changes, "from_version", 0) } };
  g_autoptr (FeedRange) range = feed_range_new (table, &request, NULL, NULL, &error);
  g_autoptr (BaseType) schema = NULL;
  g_autoptr (FeedScan) scan = NULL;
  CanonSummary summary;

  run->n_feeds++;
  scan = range != NULL ? scan_columns (range, json_object_get (changes, "columns"), &schema, &error) : NULL;
  if (scan == NULL || !canon_query (run->session, feed_scan_sql (scan), schema, FALSE, &summary, &error)) {
    g_test_message ("%s: [%s] %s", name, base_error_condition (error), error->message);
    return;
  }
  g_autofree char *digest = canon_digest_text (&summary);
  gboolean equal = counts_equal (run, scan, changes) &&
                   (gint64) summary.n_rows == base_json_int64 (changes, "num_rows", -1) &&
                   g_strcmp0 (digest, base_json_string (changes, "row_digest")) == 0;
  g_test_message ("%s: %" G_GUINT64_FORMAT " rows %s: %s", name, summary.n_rows, digest, equal ? "equal" : "NOT EQUAL");
  run->n_equal += equal ? 1 : 0;
  run->n_rows += summary.n_rows;
}

static void
test_feeds (void)
{
  Run run = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *expected = NULL;
  g_autoptr (GDir) dir = NULL;
  const char *file;

  run.directory = canon_golden_directory ("delta");
  if (run.directory == NULL)
    return;
  run.engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  run.session = duck_session_new (run.engine, &error);
  g_assert_no_error (error);
  expected = g_build_filename (run.directory, "expected", NULL);
  dir = g_dir_open (expected, 0, &error);
  g_assert_no_error (error);
  while ((file = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (expected, file, NULL);
    g_autofree char *name = g_strndup (file, strlen (file) - strlen (".json"));
    /* Sums of columns may be too big for integers; versions and counts are small. */
    g_autoptr (json_t) all = json_load_file (path, JSON_DECODE_INT_AS_REAL, NULL);
    g_autoptr (json_t) whole = json_load_file (path, 0, NULL);
    const json_t *changes = json_object_get (whole != NULL ? whole : all, "changes");
    if (json_is_object (changes) && json_object_get (changes, "columns") != NULL)
      check_feed (&run, name, changes);
  }
  g_test_message ("golden feeds: %u of %u equal, %" G_GUINT64_FORMAT " rows", run.n_equal, run.n_feeds, run.n_rows);
  duck_session_free (run.session);
  duck_engine_unref (run.engine);
  g_free (run.directory);
  g_assert_cmpuint (run.n_feeds, >, 0);
  g_assert_cmpuint (run.n_equal, ==, run.n_feeds);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/feed/golden/changes", test_feeds);
  return g_test_run ();
}

/* Every golden table is read equal to what other readers said, or refused by name. */
#include "../../../tests/support/canon.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-scan.h"
#include "delta-table.h"
#include "duck-engine.h"
#include "store.h"

#include <string.h>

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  char *directory;
  guint n_equal;
  guint n_refused;
  guint n_unsupported;
  guint n_old_versions;
  guint n_failed;
} Run;

/* Tables where the recorded answer is not the right one: its reader counts INT96 in nanoseconds of 64 bits, so that the year
 * 9999 overflows; the other reader of the same library agrees with us. */
static const char *const known_better[] = { "drs-table_with_edge_timestamps", "19e53f1acfaa5bb9", NULL };

/* Variant is the one feature of these tables that is refused by name (cdf.md 13). */
static gboolean
may_be_unsupported (const json_t *expected)
{
  const json_t *features = json_object_get (expected, "exercises");
  gsize i;
  json_t *feature;

  json_array_foreach (features, i, feature)
  {
    const char *name = json_string_value (feature);
    if (strstr (name, "variant") != NULL)
      return TRUE;
  }
  return FALSE;
}

static gboolean
is_named_refusal (const GError *error)
{
  return g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_READ) ||
         g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_UNSUPPORTED_FEATURE);
}

static void complain (Run *run, const char *name, const char *format, ...) G_GNUC_PRINTF (3, 4);
static void
complain (Run *run, const char *name, const char *format, ...)
{
  va_list arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_test_message ("%s: %s", name, text);
  run->n_failed++;
}

/* Sums that are too big for integers make the whole page one of floating numbers. */
static gint64
number (const json_t *object, const char *name)
{
  const json_t *value = json_object_get (object, name);

  return json_is_number (value) ? (gint64) json_number_value (value) : -1;
}

static gboolean
same_rows (const CanonSummary *a, const CanonSummary *b)
{
  g_autofree char *one = canon_digest_text (a), *other = canon_digest_text (b);

  return a->n_rows == b->n_rows && g_str_equal (one, other);
}

static gboolean
summarize (Run *run, DeltaSnapshot *snapshot, CanonSummary *summary, GError **error)
{
  BaseType *schema = delta_snapshot_schema (snapshot);
  guint n_columns = base_type_n_fields (schema);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, n_columns);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  DeltaScanRequest request = { .columns = columns, .n_columns = n_columns };

  for (guint i = 0; i < n_columns; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", i));
    columns[i] = (DeltaScanColumn){ i, names->pdata[i] };
  }
  /* At the second time the rows go into memory, at the third they come from there. */
  request.again = TRUE;
  for (guint i = 0; i < 3; i++) {
    g_autoptr (DeltaScan) scan = delta_scan_new (snapshot, &request, NULL, error);
    CanonSummary again;

    if (scan == NULL)
      return FALSE;
    if (i == 0 && g_getenv ("GOLDEN_SQL") != NULL)
      g_printerr ("%s\n", delta_scan_sql (scan));
    if (!canon_query (run->session, delta_scan_sql (scan), schema, i == 0 && g_getenv ("GOLDEN_ROWS") != NULL,
                      i == 0 ? summary : &again, error))
      return FALSE;
    if (i > 0 && !same_rows (summary, &again))
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "its rows are others when they are read again (%u)",
                             i);
  }
  return TRUE;
}

static void
check_sum (Run *run, const char *name, DeltaSnapshot *snapshot, const json_t *sum, gboolean *equal)
{
  g_autoptr (GError) error = NULL;
  CanonSummary summary;
  g_autofree char *digest = NULL;

  *equal = FALSE;
  if (!summarize (run, snapshot, &summary, &error)) {
    complain (run, name, "version %" G_GINT64_FORMAT " cannot be read: [%s] %s", delta_snapshot_version (snapshot),
              base_error_condition (error), error->message);
    return;
  }
  digest = canon_digest_text (&summary);
  *equal = (gint64) summary.n_rows == number (sum, "num_rows") &&
           (g_strcmp0 (digest, base_json_string (sum, "row_digest")) == 0 ||
            (strcmp (name, known_better[0]) == 0 && strcmp (digest, known_better[1]) == 0));
  if (!*equal)
    complain (run, name,
              "version %" G_GINT64_FORMAT ": %" G_GUINT64_FORMAT " rows %s, expected %" G_GINT64_FORMAT " rows %s",
              delta_snapshot_version (snapshot), summary.n_rows, digest, number (sum, "num_rows"),
              base_json_string (sum, "row_digest"));
  for (guint i = 0; summary.rows != NULL && i < summary.rows->len; i++)
    g_test_message ("  %s\n", (char *) summary.rows->pdata[i]);
  canon_summary_clear (&summary);
}

static void
check_old_versions (Run *run, const char *name, DeltaTable *table, const json_t *versions)
{
  const char *text;
  json_t *sum;

  json_object_foreach ((json_t *) versions, text, sum)
  {
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaSnapshot) snapshot =
        delta_table_snapshot_at (table, g_ascii_strtoll (text, NULL, 10), NULL, &error);
    gboolean equal;
    if (base_json_string (sum, "row_digest") == NULL)
      continue; /* the other reader failed there */
    if (snapshot == NULL) {
      complain (run, name, "version %s cannot be opened: [%s] %s", text, base_error_condition (error), error->message);
      continue;
    }
    check_sum (run, name, snapshot, sum, &equal);
    run->n_old_versions += equal ? 1 : 0;
  }
}

static void
check_table (Run *run, const char *name)
{
  g_autofree char *expected_name = g_strconcat (name, ".json", NULL);
  g_autofree char *expected_path = g_build_filename (run->directory, "expected", expected_name, NULL);
  g_autofree char *location = g_build_filename (run->directory, "tables", name, NULL);
  g_autoptr (GError) error = NULL;
  json_error_t problem;
  g_autoptr (json_t) expected = NULL;
  g_autoptr (Store) store = store_open (NULL, location, &error);
  g_autoptr (DeltaTable) table = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (json_t) schema = NULL;
  gboolean equal = FALSE;
  gboolean must_refuse;

  expected = json_load_file (expected_path, 0, &problem);
  /* Sums may be too big for integers. */
  if (expected == NULL && (expected = json_load_file (expected_path, JSON_DECODE_INT_AS_REAL, &problem)) == NULL) {
    complain (run, name, "%s line %d: %s", expected_path, problem.line, problem.text);
    return;
  }
  g_assert_no_error (error);
  must_refuse = json_is_true (json_object_get (expected, "must_refuse"));
  table = delta_table_new (store, run->engine);
  snapshot = delta_table_snapshot (table, NULL, &error);
  if (snapshot == NULL) {
    if (must_refuse)
      run->n_refused++;
    else if (may_be_unsupported (expected) && is_named_refusal (error))
      run->n_unsupported++;
    else if (json_is_string (json_object_get (expected, "must_refuse")))
      g_test_message ("%s: unclear, refused: [%s] %s", name, base_error_condition (error), error->message);
    else
      complain (run, name, "cannot be opened: [%s] %s", base_error_condition (error), error->message);
    return;
  }
  if (must_refuse) {
    complain (run, name, "was opened but must be refused");
    return;
  }
  if (delta_snapshot_version (snapshot) != number (expected, "version"))
    complain (run, name, "newest version is %" G_GINT64_FORMAT, delta_snapshot_version (snapshot));
  schema = canon_schema (delta_snapshot_schema (snapshot));
  if (json_is_array (json_object_get (expected, "schema")) &&
      !json_equal (schema, json_object_get (expected, "schema"))) {
    g_autofree char *text = base_json_text (schema);
    complain (run, name, "has the schema %s", text);
  }
  if (json_object_get (expected, "sum_check") == NULL) {
    run->n_equal++; /* only a log: opening it is all there is */
    return;
  }
  check_sum (run, name, snapshot, json_object_get (expected, "sum_check"), &equal);
  run->n_equal += equal ? 1 : 0;
  check_old_versions (run, name, table, json_object_get (expected, "time_travel_by_deltalake"));
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
test_tables (void)
{
  Run run = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *tables = NULL;
  g_autoptr (GDir) dir = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *only = g_getenv ("GOLDEN_ONLY");
  const char *name;

  run.directory = canon_golden_directory ("delta");
  if (run.directory == NULL)
    return;
  run.engine = duck_engine_new (&(DuckEngineOptions){ .least_cached_rows = 1 }, &error);
  g_assert_no_error (error);
  run.session = duck_session_new (run.engine, &error);
  g_assert_no_error (error);
  tables = g_build_filename (run.directory, "tables", NULL);
  dir = g_dir_open (tables, 0, &error);
  g_assert_no_error (error);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (only == NULL || strcmp (only, name) == 0)
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    check_table (&run, names->pdata[i]);
  g_test_message ("golden/delta: %u tables: %u equal, %u refused as they must be, %u not supported by name, "
                  "%u old versions equal, %u complaints",
                  names->len, run.n_equal, run.n_refused, run.n_unsupported, run.n_old_versions, run.n_failed);
  duck_session_free (run.session);
  duck_engine_unref (run.engine);
  g_free (run.directory);
  g_assert_cmpuint (run.n_failed, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/delta/golden/tables", test_tables);
  return g_test_run ();
}

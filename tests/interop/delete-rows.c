/* Deletes rows of a Delta table, for the interop tests: delete-rows DIRECTORY CONDITION, where the condition is DuckDB text over the
 * columns c0, c1, … By the room `write` alone, without a statement. */
#include "delta-scan.h"
#include "duck-engine.h"
#include "store.h"
#include "write-batch.h"

#include <glib.h>

static gboolean
delete_rows (const char *directory, const char *condition, GError **error)
{
  g_autoptr (Store) store = store_open (NULL, directory, error);
  g_autoptr (DuckEngine) engine = store != NULL ? duck_engine_new (NULL, error) : NULL;
  g_autoptr (DuckSession) session = engine != NULL ? duck_session_new (engine, error) : NULL;
  if (session == NULL)
    return FALSE;
  g_autoptr (DeltaTable) table = delta_table_new (store, engine);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, error);
  if (snapshot == NULL)
    return FALSE;
  guint n_columns = base_type_n_fields (delta_snapshot_schema (snapshot));
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, n_columns);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < n_columns; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", i));
    columns[i] = (DeltaScanColumn){ i, g_ptr_array_index (names, i) };
  }
  DeltaScanRequest request = {
    .columns = columns, .n_columns = n_columns, .file_index_name = "file_index", .row_number_name = "row_number"
  };
  g_autoptr (DeltaScan) scan = delta_scan_new (snapshot, &request, NULL, error);
  if (scan == NULL)
    return FALSE;
  WriteOptions options = { 0 };
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, session, &options, error);
  g_autofree char *sql =
      g_strdup_printf ("SELECT file_index, row_number FROM (%s) WHERE %s", delta_scan_sql (scan), condition);
  DeltaCommitResult result = { 0 };
  WriteCommit commit = { .operation = "DELETE" };
  gboolean ok = batch != NULL && write_batch_delete (batch, scan, sql, NULL, error) &&
                write_batch_commit (batch, &commit, &result, error) &&
                (result.outcome == DELTA_COMMIT_DONE || delta_commit_result_to_error (&result, error));
  delta_commit_result_clear (&result);
  return ok;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 3 || !delete_rows (argv[1], argv[2], &error)) {
    g_printerr ("%s\n", error != NULL ? error->message : "usage: delete-rows DIRECTORY CONDITION");
    return 1;
  }
  return 0;
}

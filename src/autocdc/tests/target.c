#include "target.h"

#include "delta-metadata.h"
#include "delta-scan.h"
#include "relation-kernel.h"
#include "write-batch.h"

int
target_run_tests (DuckEngine **engine, const DuckEngineOptions *options)
{
  g_autoptr (GError) error = NULL;
  int status;

  *engine = duck_engine_new (options, &error);
  g_assert_no_error (error);
  relation_kernels_register (*engine, &error);
  g_assert_no_error (error);
  status = g_test_run ();
  duck_engine_unref (*engine);
  return status;
}

BaseType *
target_type (SqlArena *arena, const char *ddl)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *cast = g_strdup_printf ("CAST(NULL AS %s)", ddl);
  SqlExpr *expr = sql_parse_expression (arena, cast, -1, NULL, &error);

  g_assert_no_error (error);
  return base_type_ref (expr->u.cast.type.base);
}

void
target_create (DeltaTable *table, const BaseType *schema, GHashTable *properties, const RelationContext *context)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_new (schema, NULL, properties, NULL, NULL, CLOCK_US / 1000);
  WriteOptions options = { .clock = { CLOCK_US }, .context = context };
  g_autoptr (WriteBatch) batch = write_batch_begin (table, NULL, context->session, &options, &error);
  WriteCommit commit = { .operation = "CREATE TABLE" };
  DeltaCommitResult result = { 0 };

  g_assert_no_error (error);
  write_batch_set_metadata (batch, metadata, &error);
  g_assert_no_error (error);
  write_batch_commit (batch, &commit, &result, &error);
  g_assert_no_error (error);
  delta_commit_result_clear (&result);
}

char *
target_rows (DeltaTable *table, DuckSession *session)
{
  static const char *const names[] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7" };
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
  guint n = base_type_n_fields (delta_snapshot_schema (snapshot));
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DeltaScanColumn));
  DeltaScanRequest request = { 0 };
  g_autoptr (DeltaScan) scan = NULL;
  g_autoptr (GString) list = g_string_new (NULL);
  g_autofree char *sql = NULL, *got = NULL;

  g_assert_cmpuint (n, <=, G_N_ELEMENTS (names));
  for (guint i = 0; i < n; i++) {
    g_array_append_val (columns, ((DeltaScanColumn){ i, names[i] }));
    g_string_append_printf (list, "%scoalesce(c%u::VARCHAR, '-')", i ? ", " : "", i);
  }
  request.columns = (DeltaScanColumn *) (gpointer) columns->data;
  request.n_columns = n;
  scan = delta_scan_new (snapshot, &request, NULL, &error);
  g_assert_no_error (error);
  sql = g_strdup_printf (
      "SELECT coalesce(string_agg(r, '; ' ORDER BY r), '') FROM (SELECT concat_ws(',', %s) AS r FROM (%s))", list->str,
      delta_scan_sql (scan));
  duck_session_query_string (session, sql, NULL, &got, &error);
  g_assert_no_error (error);
  return g_steal_pointer (&got);
}

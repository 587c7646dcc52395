#include "fixture.h"

void
fixture_begin (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;

  fixture->directory = g_dir_make_tmp ("sluice-write-XXXXXX", &error);
  g_assert_no_error (error);
  fixture->store = store_open (NULL, fixture->directory, &error);
  g_assert_no_error (error);
  fixture->engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  fixture->session = duck_session_new (fixture->engine, &error);
  g_assert_no_error (error);
  fixture->table = delta_table_new (fixture->store, fixture->engine);
}

void
fixture_end (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  delta_table_unref (fixture->table);
  duck_session_free (fixture->session);
  duck_engine_unref (fixture->engine);
  g_assert_true (store_delete_tree (fixture->store, "", NULL));
  store_unref (fixture->store);
  g_free (fixture->directory);
}

DeltaSnapshot *
fixture_snapshot (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  DeltaSnapshot *snapshot = delta_table_snapshot (fixture->table, NULL, &error);

  g_assert_no_error (error);
  return snapshot;
}

WriteBatch *
fixture_batch (Fixture *fixture, DeltaSnapshot *snapshot, const WriteOptions *options)
{
  static const WriteOptions plain = { .clock = FIXTURE_CLOCK };
  g_autoptr (GError) error = NULL;
  WriteBatch *batch =
      write_batch_begin (fixture->table, snapshot, fixture->session, options != NULL ? options : &plain, &error);

  g_assert_no_error (error);
  return batch;
}

DeltaCommitOutcome
fixture_commit (WriteBatch *batch, const char *operation)
{
  g_autoptr (GError) error = NULL;
  WriteCommit info = { .operation = operation };
  DeltaCommitResult result = { 0 };

  write_batch_commit (batch, &info, &result, &error);
  g_assert_no_error (error);
  delta_commit_result_clear (&result);
  return result.outcome;
}

void
fixture_append (Fixture *fixture, const char *sql)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = fixture_snapshot (fixture);
  g_autoptr (WriteBatch) batch = fixture_batch (fixture, snapshot, NULL);

  write_batch_rows (batch, sql, WRITE_ROWS_DEFAULT, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (fixture_commit (batch, "WRITE"), ==, DELTA_COMMIT_DONE);
}

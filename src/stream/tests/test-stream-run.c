/* Exactly once: files arrive in drops, storage fails at every operation in turn, and a target that proves its batches gets every file once. */
#include "../../../tests/support/tree.h"
#include "base-error.h"
#include "files-source.h"
#include "relation-kernel.h"
#include "relation-plan.h"
#include "stream-files.h"
#include "stream-run.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  char *root; /* in/ and storage/ */
} Fixture;

/* A target in memory: it survives a crash, the run does not. */
typedef struct {
  StreamSink sink;
  Fixture *fixture;
  RelationSource *leaf;
  GHashTable *proofs;  /* run id → Proof */
  GArray *values;      /* of gint64: all rows */
  gboolean fail_next;  /* before the rows are read */
  gboolean fail_after; /* after they are, and those of the next batch were looked at */
  GArray *ahead;       /* (nullable): of gint64: the rows of the next batch, as they were shown ahead */
  gint64 ahead_batch, ahead_clock_us;
  guint n_ahead;   /* batches that were read ahead */
  BaseType *shown; /* of the last run */
} Target;

typedef struct {
  gint64 batch;
  char *digest;
} Proof;

static void
proof_free (Proof *proof)
{
  g_free (proof->digest);
  g_free (proof);
}

static gboolean
target_proof (StreamSink *sink, const char *run_id, gint64 *batch, char **digest, G_GNUC_UNUSED GError **error)
{
  Target *target = (Target *) sink;
  Proof *proof = g_hash_table_lookup (target->proofs, run_id);

  *batch = proof != NULL ? proof->batch : -1;
  *digest = proof != NULL ? g_strdup (proof->digest) : NULL;
  return TRUE;
}

static int
compare_values (gconstpointer a, gconstpointer b)
{
  gint64 left = *(const gint64 *) a, right = *(const gint64 *) b;

  return left < right ? -1 : left > right;
}

/* The rows that the leaf shows now, sorted. */
static GArray *
read_leaf (Target *target, GError **error)
{
  g_autoptr (RelationPlan) plan = relation_plan_new_source (target->leaf);
  RelationLowering lowering = { .session = target->fixture->session };
  g_autoptr (RelationText) text = relation_plan_lower (plan, &lowering, error);
  GArray *values =
      text != NULL ? duck_session_query_int64s (target->fixture->session, relation_text_sql (text)->str, NULL, error)
                   : NULL;

  if (values != NULL)
    g_array_sort (values, compare_values);
  return values;
}

static void
target_read_ahead (StreamSink *sink, gint64 batch, gint64 clock_us)
{
  Target *target = (Target *) sink;

  g_clear_pointer (&target->ahead, g_array_unref);
  target->ahead = read_leaf (target, NULL);
  target->ahead_batch = batch;
  target->ahead_clock_us = clock_us;
}

/* What was shown ahead is what is shown now. */
static void
check_ahead (Target *target, const StreamBatch *batch, const GArray *values)
{
  g_autoptr (GArray) ahead = g_steal_pointer (&target->ahead);

  if (!batch->is_read_ahead)
    return;
  target->n_ahead++;
  g_assert_cmpint (batch->batch, ==, target->ahead_batch);
  g_assert_cmpint (batch->clock_us, ==, target->ahead_clock_us);
  g_assert_nonnull (ahead);
  g_assert_cmpmem (ahead->data, ahead->len * sizeof (gint64), values->data, values->len * sizeof (gint64));
}

static gboolean
target_apply (StreamSink *sink, const StreamBatch *batch, GError **error)
{
  Target *target = (Target *) sink;
  Proof *proof = g_hash_table_lookup (target->proofs, batch->run_id);

  if (target->fail_next) {
    target->fail_next = FALSE;
    return base_error_set (error, SLUICE_ERROR_IO_ERROR, "the target failed");
  }
  g_assert_cmpuint (strlen (batch->digest), ==, 64);
  g_assert_true (proof == NULL || proof->batch < batch->batch || strcmp (proof->digest, batch->digest) == 0);
  if (proof != NULL && proof->batch >= batch->batch)
    return TRUE;
  g_autoptr (GArray) values = read_leaf (target, error);
  if (values == NULL)
    return FALSE;
  check_ahead (target, batch, values);
  stream_run_look_ahead (batch);
  if (target->fail_after)
    return base_error_set (error, SLUICE_ERROR_IO_ERROR, "the target failed");
  g_array_append_vals (target->values, values->data, values->len);
  proof = g_new0 (Proof, 1);
  *proof = (Proof){ batch->batch, g_strdup (batch->digest) };
  g_hash_table_insert (target->proofs, g_strdup (batch->run_id), proof);
  return TRUE;
}

static void
target_init (Target *target, Fixture *fixture)
{
  *target = (Target){ .sink = { target_proof, target_apply, target_read_ahead }, .fixture = fixture };
  target->proofs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) proof_free);
  target->values = g_array_new (FALSE, FALSE, sizeof (gint64));
}

static void
target_clear (Target *target)
{
  g_hash_table_unref (target->proofs);
  g_array_unref (target->values);
  g_clear_pointer (&target->ahead, g_array_unref);
  base_type_unref (target->shown);
}

static void
set_up (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  fixture->engine = duck_engine_new (NULL, NULL);
  g_assert_true (relation_kernels_register (fixture->engine, NULL));
  g_assert_true (files_register (fixture->engine, NULL));
  fixture->session = duck_session_new (fixture->engine, NULL);
  fixture->root = g_dir_make_tmp ("sluice-stream-XXXXXX", NULL);
}

static void
tear_down (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  duck_session_free (fixture->session);
  duck_engine_unref (fixture->engine);
  tree_remove (fixture->root);
  g_free (fixture->root);
}

static void
fresh (Fixture *fixture)
{
  g_autofree char *in = g_build_filename (fixture->root, "in", NULL);

  tree_remove (fixture->root);
  g_assert_cmpint (g_mkdir_with_parents (in, 0777), ==, 0);
}

/* File @n holds the row {"v": n}. */
static void
drop_file (Fixture *fixture, guint n)
{
  g_autofree char *path = g_strdup_printf ("%s/in/%04u.json", fixture->root, n);
  g_autofree char *text = g_strdup_printf ("{\"v\":%u}\n", n);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static gboolean
run (Fixture *fixture, Target *target, StoreContext *context, const char *const *pairs, StreamRunOutcome *outcome,
     GError **error)
{
  g_autofree char *storage_path = g_build_filename (fixture->root, "storage", NULL);
  g_autofree char *in = g_build_filename (fixture->root, "in", NULL);
  g_autoptr (Store) storage = store_open (context, storage_path, error);
  g_autoptr (StreamProgress) progress =
      storage != NULL ? stream_progress_open (storage, "flow", STREAM_PROGRESS_MAKE, NULL, NULL, error) : NULL;
  g_autoptr (FilesOptions) options = files_options_new (FILES_ASK_READ_FILES, in, NULL, "json", pairs, NULL, NULL);
  if (progress == NULL)
    return FALSE;
  g_autoptr (StreamSource) source = stream_files_new (0, options, progress, context, fixture->session, NULL, error);
  if (source == NULL)
    return FALSE;
  StreamSource *sources[] = { source };
  StreamRun stream = { .progress = progress, .sources = sources, .n_sources = 1, .sink = &target->sink };
  target->leaf = source->leaf;
  base_type_unref (target->shown);
  target->shown = base_type_ref (source->leaf->schema);
  return stream_run_available (&stream, outcome, error);
}

static void
assert_values (const Target *target, guint n)
{
  g_autofree guint *seen = g_new0 (guint, n + 1);

  g_assert_cmpuint (target->values->len, ==, n);
  for (guint i = 0; i < target->values->len; i++) {
    gint64 value = g_array_index (target->values, gint64, i);
    g_assert_true (value >= 1 && value <= n);
    g_assert_cmpuint (seen[value]++, ==, 0);
  }
}

static const char *const schema_pairs[] = { "schema", "v BIGINT", "maxFilesPerTrigger", "2", NULL };

static void
every_file_is_taken_once (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  StreamRunOutcome outcome;
  Target target;

  fresh (fixture);
  target_init (&target, fixture);
  for (guint i = 1; i <= 5; i++)
    drop_file (fixture, i);
  g_assert_true (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
  g_assert_cmpuint (outcome.n_batches, ==, 3);
  g_assert_cmpuint (target.n_ahead, ==, 2);
  assert_values (&target, 5);
  g_assert_true (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
  g_assert_cmpuint (outcome.n_batches, ==, 0);
  drop_file (fixture, 6);
  drop_file (fixture, 1); /* written again: not taken again */
  g_assert_true (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
  assert_values (&target, 6);
  target_clear (&target);
}

/* The listing is folded into digests from time to time: nothing may be taken twice or forgotten across a fold. */
static void
many_files_over_many_runs (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  static const char *const pairs[] = { "schema", "v BIGINT", "maxFilesPerTrigger", "400", NULL };
  g_autoptr (GError) error = NULL;
  StreamRunOutcome outcome;
  Target target;
  guint n = 0;

  fresh (fixture);
  target_init (&target, fixture);
  for (guint round = 0; round < 4; round++) {
    for (guint i = 0; i < 700; i++)
      drop_file (fixture, ++n);
    g_assert_true (run (fixture, &target, NULL, pairs, &outcome, &error));
    g_assert_no_error (error);
  }
  assert_values (&target, n);
  g_assert_cmpuint (target.n_ahead, ==, 4);
  target_clear (&target);
}

/* Files of a batch that was looked at ahead are not taken when the batch before it fails. */
static void
what_was_looked_at_is_not_taken (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  StreamRunOutcome outcome;
  Target target;

  fresh (fixture);
  target_init (&target, fixture);
  for (guint i = 1; i <= 6; i++)
    drop_file (fixture, i);
  for (guint i = 0; i < 2; i++) {
    target.fail_after = TRUE;
    g_assert_false (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
    g_assert_cmpstr (base_error_condition (error), ==, "IO_ERROR");
    g_clear_error (&error);
  }
  target.fail_after = FALSE;
  g_assert_true (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
  g_assert_cmpuint (target.n_ahead, ==, 2);
  assert_values (&target, 6);
  target_clear (&target);
}

static void
existing_files_may_be_left_out (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  static const char *const pairs[] = { "schema", "v BIGINT", "includeExistingFiles", "false", NULL };
  g_autoptr (GError) error = NULL;
  StreamRunOutcome outcome;
  Target target;

  fresh (fixture);
  target_init (&target, fixture);
  drop_file (fixture, 9);
  g_assert_true (run (fixture, &target, NULL, pairs, &outcome, &error));
  g_assert_cmpuint (target.values->len, ==, 0);
  drop_file (fixture, 1);
  g_assert_true (run (fixture, &target, NULL, pairs, &outcome, &error));
  assert_values (&target, 1);
  target_clear (&target);
}

static void
faults_at_every_operation_lose_nothing (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  static const StoreFaultMode modes[] = { STORE_FAULT_FAIL, STORE_FAULT_LOST, STORE_FAULT_TORN, STORE_FAULT_CRASH };

  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    for (guint n = 1; n < 200; n++) {
      g_autoptr (StoreContext) context = store_context_new ();
      g_autoptr (GError) ignored = NULL;
      g_autoptr (GError) error = NULL;
      StreamRunOutcome outcome;
      Target target;
      fresh (fixture);
      target_init (&target, fixture);
      for (guint i = 1; i <= 3; i++)
        drop_file (fixture, i);
      store_context_set_fault (context, n, modes[m]);
      (void) run (fixture, &target, context, schema_pairs, &outcome, &ignored);
      drop_file (fixture, 4);
      gboolean good = run (fixture, &target, NULL, schema_pairs, &outcome, &error);
      g_assert_no_error (error);
      g_assert_true (good);
      assert_values (&target, 4);
      target_clear (&target);
      if (!store_context_was_injected (context))
        break;
      g_assert_cmpuint (n, <, 199);
    }
  }
}

static void
target_that_fails_gets_the_batch_again (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  StreamRunOutcome outcome;
  Target target;

  fresh (fixture);
  target_init (&target, fixture);
  drop_file (fixture, 1);
  target.fail_next = TRUE;
  g_assert_false (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
  g_clear_error (&error);
  drop_file (fixture, 2);
  g_assert_true (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
  assert_values (&target, 2);
  target_clear (&target);
}

/* The storage was restored from a backup: the target holds a batch that the log never planned, or planned otherwise. */
static void
log_that_does_not_fit_the_target_is_corrupt (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  StreamRunOutcome outcome;

  for (guint i = 0; i < 2; i++) {
    g_autoptr (GError) error = NULL;
    Target target;
    fresh (fixture);
    target_init (&target, fixture);
    drop_file (fixture, 1);
    g_assert_true (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init (&iter, target.proofs);
    g_assert_true (g_hash_table_iter_next (&iter, NULL, &value));
    Proof *proof = value;
    if (i == 0)
      proof->batch = 7;
    else
      proof->digest[0] = proof->digest[0] == 'a' ? 'b' : 'a';
    g_assert_false (run (fixture, &target, NULL, schema_pairs, &outcome, &error));
    g_assert_cmpstr (base_error_condition (error), ==, "FLOW_CHECKPOINT_CORRUPT");
    target_clear (&target);
  }
}

static void
new_column_restarts_and_is_then_read (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  static const char *const pairs[] = { "maxFilesPerTrigger", "1", NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strdup_printf ("%s/in/0002.json", fixture->root);
  StreamRunOutcome outcome;
  Target target;

  fresh (fixture);
  target_init (&target, fixture);
  drop_file (fixture, 1);
  g_assert_true (run (fixture, &target, NULL, pairs, &outcome, &error));
  g_assert_true (g_file_set_contents (path, "{\"v\":2,\"w\":\"new\"}\n", -1, NULL));
  g_assert_false (run (fixture, &target, NULL, pairs, &outcome, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "UNKNOWN_FIELD_EXCEPTION");
  g_assert_true (outcome.must_restart);
  g_clear_error (&error);
  g_assert_true (run (fixture, &target, NULL, pairs, &outcome, &error));
  assert_values (&target, 2);
  g_assert_cmpstr (base_type_field (target.shown, 1)->name, ==, "w");
  target_clear (&target);
}

#define ADD(name, func) g_test_add ("/stream/run/" name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("every-file-is-taken-once", every_file_is_taken_once);
  ADD ("many-files-over-many-runs", many_files_over_many_runs);
  ADD ("what-was-looked-at-is-not-taken", what_was_looked_at_is_not_taken);
  ADD ("existing-files-may-be-left-out", existing_files_may_be_left_out);
  ADD ("faults-at-every-operation-lose-nothing", faults_at_every_operation_lose_nothing);
  ADD ("target-that-fails-gets-the-batch-again", target_that_fails_gets_the_batch_again);
  ADD ("log-that-does-not-fit-the-target-is-corrupt", log_that_does_not_fit_the_target_is_corrupt);
  ADD ("new-column-restarts-and-is-then-read", new_column_restarts_and_is_then_read);
  return g_test_run ();
}

/* Batches that meet the world: other writers, repeats, old tombstones, targets that drifted, sources that change. */
#include "../../../tests/support/tree.h"
#include "autocdc.h"
#include "base-error.h"
#include "delta-transaction.h"
#include "store.h"
#include "target.h"

#include <glib/gstdio.h>
#include <string.h>

#define DAY_US     (G_GINT64_CONSTANT (86400) * G_USEC_PER_SEC)
#define TWO_DAYS_S 172800

static DuckEngine *engine;

typedef struct {
  StoreContext *stores;
  Store *store;
  DeltaTable *table;
  DuckSession *session;
  RelationContext context;
  SqlArena *arena;
  AutoCdcFlow flow;
  AutoCdcBatch batch;
  GHashTable *properties; /* of the target */
  char *directory;
} Bench;

static const char *const keys[] = { "id", NULL };
static const char *const except[] = { "q", "op", NULL }, *const except_system[] = { "q", "y", "op", NULL };

static Bench *
bench_new (AutoCdcType type)
{
  g_autoptr (GError) error = NULL;
  Bench *bench = g_new0 (Bench, 1);

  bench->directory = g_dir_make_tmp ("autocdc-XXXXXX", &error);
  g_assert_no_error (error);
  bench->stores = store_context_new ();
  bench->store = store_open (bench->stores, bench->directory, &error);
  g_assert_no_error (error);
  bench->table = delta_table_new (bench->store, engine);
  bench->session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  bench->context = (RelationContext){ .now_us = CLOCK_US, .session = bench->session };
  bench->arena = sql_arena_new ();
  bench->properties = g_hash_table_new (g_str_hash, g_str_equal);
  bench->flow = (AutoCdcFlow){ .name = "f", .target = "t", .keys = keys, .except_columns = except, .type = type };
  bench->flow.sequence_by = sql_parse_expression (bench->arena, "q", -1, NULL, &error);
  g_assert_no_error (error);
  if (type == AUTOCDC_BITEMPORAL) {
    bench->flow.except_columns = except_system;
    bench->flow.system_sequence_by = sql_parse_expression (bench->arena, "y", -1, NULL, &error);
    g_assert_no_error (error);
  }
  bench->flow.delete_when = sql_parse_expression (bench->arena, "op = 'D'", -1, NULL, &error);
  g_assert_no_error (error);
  bench->batch =
      (AutoCdcBatch){ .run_id = "run", .offsets_digest = "digest", .clock_us = CLOCK_US, .retention_seconds = -1 };
  return bench;
}

static void
bench_free (Bench *bench)
{
  delta_table_unref (bench->table);
  store_unref (bench->store);
  store_context_unref (bench->stores);
  duck_session_free (bench->session);
  sql_arena_unref (bench->arena);
  g_hash_table_unref (bench->properties);
  tree_remove (bench->directory);
  g_free (bench->directory);
  g_free (bench);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Bench, bench_free)

/* Applies events given as `(1, 'a', 5, 'U'), …` with the columns of @schema, a DDL. */
static gboolean
apply (Bench *bench, const char *schema, const char *rows, AutoCdcOutcome *outcome, GError **error)
{
  g_autofree char *ddl = g_strdup_printf ("STRUCT<%s>", schema);
  g_autoptr (BaseType) type = target_type (bench->arena, ddl);
  g_autoptr (RelationSource) source = NULL;
  g_autoptr (RelationPlan) events = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (AutoCdcPlan) plan = NULL;
  g_autofree char *sql = g_strdup_printf ("SELECT * FROM (VALUES %s)", rows);
  gboolean exists;

  source = relation_source_new_text ("events", sql, type, TRUE);
  events = relation_plan_new_source (source);
  g_assert_true (delta_table_exists (bench->table, &exists, NULL));
  if (exists)
    snapshot = delta_table_snapshot (bench->table, NULL, error);
  if (!(plan = autocdc_plan_new (&bench->flow, events, snapshot, NULL, &bench->context, error)))
    return FALSE;
  if (!exists)
    target_create (bench->table, autocdc_plan_target_schema (plan), bench->properties, &bench->context);
  return autocdc_apply (bench->table, plan, &bench->batch, &bench->context, NULL, outcome, error);
}

#define PLAIN "id BIGINT, v STRING, q BIGINT, op STRING"

static AutoCdcOutcome
apply_ok (Bench *bench, const char *schema, const char *rows)
{
  g_autoptr (GError) error = NULL;
  AutoCdcOutcome outcome = { 0 };

  apply (bench, schema, rows, &outcome, &error);
  g_assert_no_error (error);
  bench->batch.batch_id++;
  return outcome;
}

static void
apply_fails (Bench *bench, const char *schema, const char *rows, const char *condition)
{
  g_autoptr (GError) error = NULL;
  AutoCdcOutcome outcome = { 0 };

  g_assert_false (apply (bench, schema, rows, &outcome, &error));
  g_assert_cmpstr (base_error_condition (error), ==, condition);
}

static void
assert_rows (Bench *bench, const char *want)
{
  g_autofree char *got = target_rows (bench->table, bench->session);

  g_assert_cmpstr (got, ==, want);
}

static void
assert_has_row (Bench *bench, const char *row)
{
  g_autofree char *got = target_rows (bench->table, bench->session);
  g_auto (GStrv) rows = g_strsplit (got, "; ", -1);

  if (!g_strv_contains ((const char *const *) rows, row))
    g_error ("no row %s among %s", row, got);
}

/* ---- repeats and progress ---- */

static void
test_repeat (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  AutoCdcOutcome outcome = apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'U')");

  g_assert_cmpint (outcome.version, ==, 1);
  bench->batch.batch_id = 0;
  outcome = apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'U')");
  g_assert_true (outcome.already_done);
  g_assert_cmpint (outcome.version, ==, -1);
  bench->batch.batch_id = 0;
  bench->batch.offsets_digest = "another";
  apply_fails (bench, PLAIN, "(1::BIGINT, 'b', 6::BIGINT, 'U')", "FLOW_CHECKPOINT_CORRUPT");
  assert_rows (bench, "1,a");
}

static void
test_nothing (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
  AutoCdcOutcome outcome;

  apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'U')");
  outcome = apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'U'), (1::BIGINT, 'a', 5::BIGINT, 'U')");
  g_assert_cmpint (outcome.version, ==, -1);
  g_assert_cmpint (outcome.n_source_events, ==, 2);
  outcome = apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 7::BIGINT, 'U')"); /* memory only */
  g_assert_cmpint (outcome.version, ==, 2);
  g_assert_cmpint (outcome.n_upserted_rows, ==, 0);
  g_assert_cmpint (outcome.n_state_rows, ==, 1);
  assert_rows (bench, "1,a,5,-");
}

/* Rows looked up once more, with payload, come from many files, which no query gives in the scan's order. */
static void
test_rows_of_many_files (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  g_autoptr (GString) next = g_string_new (NULL), want = g_string_new (NULL);
  const guint n_files = 8;

  g_hash_table_insert (bench->properties, "delta.enableRowTracking", "true");
  for (guint i = 0; i < n_files; i++) {
    g_autofree char *pair = g_strdup_printf ("(%u::BIGINT, 'a', 1::BIGINT, 'U'), (%u::BIGINT, 'b', 1::BIGINT, 'U')",
                                             10 + 2 * i, 11 + 2 * i);
    const char *a = i % 2 ? "a" : "A", *b = i % 2 ? "B" : "b";

    g_assert_cmpuint (apply_ok (bench, PLAIN, pair).n_upserted_rows, ==, 2);
    g_string_append_printf (next, "%s(%u::BIGINT, '%s', 2::BIGINT, 'U'), (%u::BIGINT, '%s', 2::BIGINT, 'U')",
                            i ? ", " : "", 10 + 2 * i, a, 11 + 2 * i, b);
    g_string_append_printf (want, "%s%u,%s; %u,%s", i ? "; " : "", 10 + 2 * i, a, 11 + 2 * i, b);
  }
  /* Of every file, one row changes, and the other has a newer event of the same value. */
  g_assert_cmpuint (apply_ok (bench, PLAIN, next->str).n_upserted_rows, ==, n_files);
  assert_rows (bench, want->str);
}

static void
test_late_events_are_counted (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  AutoCdcOutcome outcome;

  apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'U'), (2::BIGINT, 'x', 5::BIGINT, 'D')");
  outcome =
      apply_ok (bench, PLAIN,
                "(1::BIGINT, 'b', 3::BIGINT, 'U'), (2::BIGINT, 'b', 4::BIGINT, 'U'), (1::BIGINT, 'c', 6::BIGINT, 'U')");
  g_assert_cmpint (outcome.n_late_events, ==, 2);
  assert_rows (bench, "1,c");
}

/* ---- truncates ---- */

static Bench *
truncating_bench (void)
{
  Bench *bench = bench_new (AUTOCDC_SCD1);
  g_autoptr (GError) error = NULL;

  bench->flow.truncate_when = sql_parse_expression (bench->arena, "op = 'T'", -1, NULL, &error);
  g_assert_no_error (error);
  return bench;
}

static guint
n_files (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (bench->table, NULL, &error);

  g_assert_no_error (error);
  return delta_snapshot_n_files (snapshot);
}

#define U(id, v, q) "(" #id "::BIGINT, '" #v "', " #q "::BIGINT, 'U')"
#define D(id, q)    "(" #id "::BIGINT, NULL::VARCHAR, " #q "::BIGINT, 'D')"
#define T(q)        "(NULL::BIGINT, NULL::VARCHAR, " #q "::BIGINT, 'T')"

/* Batches and what the target then has. */
static const struct {
  const char *batches[5];
  const char *rows[5];
} truncating[] = {
  { { U (1, a, 3) ", " U (2, b, 2), T (3) }, { "1,a; 2,b", "1,a" } },
  { { T (3), U (1, a, 3) ", " U (2, b, 2) }, { "", "1,a" } },
  { { U (1, a, 1) ", " U (2, b, 5), T (3), U (1, c, 2) ", " U (3, d, 4), T (2) },
    { "1,a; 2,b", "2,b", "2,b; 3,d", "2,b; 3,d" } },
  { { T (6) ", " U (1, a, 4) ", " U (2, b, 7), T (3), T (8), U (2, c, 7) ", " U (2, d, 8) },
    { "2,b", "2,b", "", "2,d" } },
  { { D (1, 5), U (2, b, 2), T (3) ", " U (1, a, 4), U (2, c, 4) }, { "", "2,b", "", "2,c" } },
  /* a newer event without effect is memory in a state file: the row stays by it */
  { { U (1, a, 1), U (1, a, 5) ", " U (2, b, 1), T (3), U (1, b, 4), U (1, c, 6) },
    { "1,a", "1,a; 2,b", "1,a", "1,a", "1,c" } },
};

static void
test_truncate (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (truncating); i++) {
    for (guint vectors = 0; vectors < 4; vectors++) {
      g_autoptr (Bench) bench = truncating_bench ();

      g_hash_table_insert (bench->properties, "delta.enableDeletionVectors", vectors & 1 ? "true" : "false");
      g_hash_table_insert (bench->properties, "delta.enableChangeDataFeed", vectors & 2 ? "true" : "false");
      for (guint j = 0; j < 5 && truncating[i].batches[j]; j++) {
        apply_ok (bench, PLAIN, truncating[i].batches[j]);
        assert_rows (bench, truncating[i].rows[j]);
      }
    }
  }
}

/* A field that was authored below the truncate is NULL in a row that stands. */
static void
test_truncate_takes_fields (void)
{
  g_autoptr (Bench) bench = truncating_bench ();

  apply_ok (bench, "id BIGINT, v STRING, w STRING, q BIGINT, op STRING",
            "(1::BIGINT, 'a', 'x', 1::BIGINT, 'U'), (2::BIGINT, 'b', 'y', 1::BIGINT, 'U')");
  apply_ok (bench, PLAIN, U (1, c, 5));
  assert_rows (bench, "1,c,x; 2,b,y");
  g_assert_cmpuint (apply_ok (bench, PLAIN, T (3)).n_upserted_rows, ==, 1);
  assert_rows (bench, "1,c,-");
}

static void
test_truncate_removes_whole_files (void)
{
  g_autoptr (Bench) bench = truncating_bench ();
  AutoCdcOutcome outcome;

  g_hash_table_insert (bench->properties, "delta.enableDeletionVectors", "true");
  apply_ok (bench, PLAIN, U (1, a, 1) ", " U (2, b, 1) ", " U (3, c, 1));
  apply_ok (bench, PLAIN, U (4, d, 2) ", " U (5, e, 9));
  apply_ok (bench, PLAIN, U (6, f, 8) ", " D (7, 3) ", " D (8, 7));
  apply_ok (bench, PLAIN, U (2, b, 4) ", " D (3, 4));
  g_assert_cmpuint (n_files (bench), ==, 3);
  outcome = apply_ok (bench, PLAIN, T (6));
  g_assert_cmpuint (outcome.n_deleted_rows, ==, 3);
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 0);
  g_assert_cmpuint (n_files (bench), ==, 2);
  assert_rows (bench, "5,e; 6,f");
  outcome = apply_ok (bench, PLAIN, T (10) ", " U (5, g, 11));
  g_assert_cmpuint (outcome.n_deleted_rows, ==, 1);
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 1);
  g_assert_cmpuint (outcome.n_state_rows, ==, 0);
  g_assert_cmpuint (n_files (bench), ==, 1);
  assert_rows (bench, "5,g");
  outcome = apply_ok (bench, PLAIN, T (10) ", " T (9) ", " U (9, late, 9) ", " D (9, 10));
  g_assert_cmpint (outcome.version, ==, -1);
  g_assert_cmpuint (outcome.n_source_events, ==, 4);
  g_assert_cmpuint (outcome.n_late_events, ==, 2);
}

static void
test_bad_truncates_write_nothing (void)
{
  g_autoptr (Bench) bench = truncating_bench ();

  apply_ok (bench, PLAIN, U (1, a, 5));
  apply_fails (bench, PLAIN, T (NULL), "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE");
  apply_fails (bench, PLAIN, T (9) ", (NULL::BIGINT, 'b', 9::BIGINT, 'U')", "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY");
  assert_rows (bench, "1,a");
}

/* ---- WHERE ---- */

static void
promise (Bench *bench, const char *condition)
{
  g_autoptr (GError) error = NULL;

  bench->flow.where = condition ? sql_parse_expression (bench->arena, condition, -1, NULL, &error) : NULL;
  g_assert_no_error (error);
}

#define BROKEN "AUTOCDC_MICROBATCH_VALIDATION.WHERE_NOT_SATISFIED"

static void
test_where_is_a_promise (void)
{
  for (AutoCdcType type = AUTOCDC_SCD1; type <= AUTOCDC_SCD2; type++) {
    g_autoptr (Bench) bench = bench_new (type);
    g_autoptr (GError) error = NULL;
    AutoCdcOutcome outcome = { 0 };

    promise (bench, "id < 10 AND q >= 0");
    apply_ok (bench, PLAIN, U (1, a, 1) ", " U (2, b, 1));
    g_assert_false (
        apply (bench, PLAIN, U (10, c, 2) ", " U (3, c, 2) ", (4::BIGINT, 'd', -1::BIGINT, 'U')", &outcome, &error));
    g_assert_cmpstr (base_error_condition (error), ==, BROKEN);
    g_assert_nonnull (strstr (error->message, "2 events"));
    apply_ok (bench, PLAIN, U (3, c, 2));
    assert_rows (bench, type == AUTOCDC_SCD1 ? "1,a; 2,b; 3,c" : "1,a,1,-; 2,b,1,-; 3,c,2,-");
  }
}

/* Rows of the target that a batch touches are looked at too, where they have what the condition reads. */
static void
test_where_of_touched_rows (void)
{
  for (guint vectors = 0; vectors < 2; vectors++) {
    g_autoptr (Bench) bench = truncating_bench ();

    g_hash_table_insert (bench->properties, "delta.enableDeletionVectors", vectors ? "true" : "false");
    apply_ok (bench, PLAIN, U (1, a, 1) ", " U (2, bad, 1));
    promise (bench, "v <> 'bad'");
    apply_ok (bench, PLAIN, U (1, b, 2));
    apply_ok (bench, PLAIN, U (2, late, 0)); /* touches nothing */
    apply_fails (bench, PLAIN, U (2, good, 3), BROKEN);
    apply_fails (bench, PLAIN, "(2::BIGINT, 'good', 3::BIGINT, 'D')", BROKEN);
    apply_fails (bench, PLAIN, "(0::BIGINT, 'good', 3::BIGINT, 'T')", BROKEN);
    assert_rows (bench, "1,b; 2,bad");
    promise (bench, "op <> 'X'"); /* no column of the target */
    apply_ok (bench, PLAIN, U (2, good, 3));
    apply_fails (bench, PLAIN, "(2::BIGINT, 'x', 4::BIGINT, 'X')", BROKEN);
    promise (bench, NULL);
    apply_ok (bench, PLAIN, U (2, bad, 4));
    assert_rows (bench, "1,b; 2,bad");
  }
}

/* ---- another writer ---- */

typedef struct {
  Bench *bench;
  Bench *other; /* its own session over the same table */
  gboolean done;
} Race;

static void
race_hook (const char *operation, const char *key, gpointer data)
{
  Race *race = data;
  g_autoptr (GError) error = NULL;
  AutoCdcOutcome outcome = { 0 };

  if (race->done || !key || !strstr (key, "_delta_log/00000000000000000002.json") || !strstr (operation, "put"))
    return;
  race->done = TRUE;
  apply (race->other, PLAIN, "(1::BIGINT, 'other', 7::BIGINT, 'U'), (2::BIGINT, 'other', 1::BIGINT, 'U')", &outcome,
         &error);
  g_assert_no_error (error);
  g_assert_cmpint (outcome.version, ==, 2);
}

static void
test_another_writer_wins (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1), other = bench_new (AUTOCDC_SCD1);
  Race race = { bench, other, FALSE };
  g_autoptr (GError) error = NULL;
  AutoCdcOutcome outcome;

  apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'U'), (3::BIGINT, 'c', 5::BIGINT, 'U')");
  delta_table_unref (other->table);
  store_unref (other->store);
  other->store = store_open (NULL, bench->directory, &error);
  g_assert_no_error (error);
  other->table = delta_table_new (other->store, engine);
  other->batch.run_id = "other run";
  store_context_set_hook (bench->stores, race_hook, &race);
  outcome =
      apply_ok (bench, PLAIN,
                "(1::BIGINT, 'b', 6::BIGINT, 'U'), (2::BIGINT, 'b', 2::BIGINT, 'U'), (3::BIGINT, 'x', 9::BIGINT, 'D')");
  store_context_set_hook (bench->stores, NULL, NULL);
  g_assert_true (race.done);
  g_assert_cmpint (outcome.version, ==, 3);
  assert_rows (bench, "1,other; 2,b");
}

/* What another flow wrote below a truncate since this batch began goes too. */
static void
test_another_writer_is_truncated (void)
{
  g_autoptr (Bench) bench = truncating_bench (), other = bench_new (AUTOCDC_SCD1);
  Race race = { bench, other, FALSE };
  g_autoptr (GError) error = NULL;

  apply_ok (bench, PLAIN, U (1, a, 5) ", " U (3, c, 5));
  delta_table_unref (other->table);
  store_unref (other->store);
  other->store = store_open (NULL, bench->directory, &error);
  g_assert_no_error (error);
  other->table = delta_table_new (other->store, engine);
  other->batch.run_id = "other run";
  store_context_set_hook (bench->stores, race_hook, &race);
  g_assert_cmpint (apply_ok (bench, PLAIN, T (6)).version, ==, 3);
  store_context_set_hook (bench->stores, NULL, NULL);
  assert_rows (bench, "1,other");
  other->batch.batch_id++;
  g_assert_cmpuint (apply_ok (other, PLAIN, U (2, late, 5)).n_late_events, ==, 1);
}

/* ---- retention ---- */

static void
test_old_tombstones_go (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  AutoCdcOutcome outcome;

  bench->batch.retention_seconds = TWO_DAYS_S;
  outcome = apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 5::BIGINT, 'D')");
  g_assert_cmpint (outcome.n_state_rows, ==, 1);
  bench->batch.clock_us += DAY_US;
  outcome = apply_ok (bench, PLAIN, "(1::BIGINT, 'late', 3::BIGINT, 'U'), (2::BIGINT, 'b', 1::BIGINT, 'U')");
  g_assert_cmpint (outcome.n_tombstones_removed, ==, 0);
  assert_rows (bench, "2,b");
  bench->batch.clock_us += 2 * DAY_US;
  outcome = apply_ok (bench, PLAIN, "(2::BIGINT, 'c', 2::BIGINT, 'U')");
  g_assert_cmpint (outcome.n_tombstones_removed, ==, 1);
  g_assert_cmpint (outcome.n_state_rows, ==, 0);
}

static void
test_no_retention_in_order (void)
{
  for (AutoCdcType type = AUTOCDC_SCD1; type <= AUTOCDC_SCD2; type++) {
    g_autoptr (Bench) bench = bench_new (type);

    bench->batch.retention_seconds = 0;
    for (guint i = 1; i <= 20; i++) {
      g_autofree char *rows =
          g_strdup_printf ("(1::BIGINT, 'v%u', %u::BIGINT, '%s'), (%u::BIGINT, 'w', %u::BIGINT, 'D')", i / 3, i,
                           i % 5 == 0 ? "D" : "U", 100 + i, i);

      bench->batch.clock_us += DAY_US;
      apply_ok (bench, PLAIN, rows);
    }
    assert_rows (bench,
                 type == AUTOCDC_SCD1
                     ? ""
                     : "1,v0,1,3; 1,v1,3,5; 1,v2,6,9; 1,v3,11,12; 1,v3,9,10; 1,v4,12,15; 1,v5,16,18; 1,v6,18,20");
  }
}

#define WIDE   "id BIGINT, v STRING, w STRING, q BIGINT, op STRING"
#define NARROW "id BIGINT, w STRING, q BIGINT, op STRING"

/* A delete made an upsert in another state file idle: without the delete it would speak again. */
static void
test_expiry_revives_nothing (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  bench->batch.retention_seconds = TWO_DAYS_S;
  apply_ok (bench, WIDE, "(1::BIGINT, 'a', 'x', 1::BIGINT, 'U')");
  apply_ok (bench, PLAIN, U (1, c, 3)); /* w is of the first event, which is in a state file now */
  assert_rows (bench, "1,c,x");
  apply_ok (bench, PLAIN, D (1, 4));
  bench->batch.clock_us += 3 * DAY_US;
  apply_ok (bench, PLAIN, U (2, b, 1));
  apply_ok (bench, PLAIN, U (1, e, 6));
  assert_rows (bench, "1,e,-; 2,b,-");
  for (guint i = 0; i < 20; i++) { /* until state files are joined */
    g_autofree char *rows = g_strdup_printf ("(3::BIGINT, 'g', %u::BIGINT, 'D')", 10 + i);

    bench->batch.clock_us += DAY_US;
    apply_ok (bench, PLAIN, rows);
    apply_ok (bench, NARROW, i % 2 ? "(1::BIGINT, 'y', 5::BIGINT, 'U')" : "(1::BIGINT, 'z', 6::BIGINT, 'U')");
    assert_rows (bench, "1,e,z; 2,b,-");
  }
}

/* A newer upsert does not take the place of a tombstone. */
static void
test_only_age_removes_tombstones (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  AutoCdcOutcome outcome;

  bench->batch.retention_seconds = TWO_DAYS_S;
  apply_ok (bench, PLAIN, D (1, 2));
  bench->batch.clock_us += DAY_US;
  apply_ok (bench, PLAIN, U (1, a, 3));
  outcome = apply_ok (bench, WIDE, "(1::BIGINT, 'b', 'late', 1::BIGINT, 'U')");
  g_assert_cmpuint (outcome.n_state_rows, ==, 1);
  assert_rows (bench, "1,a,-");
}

/* `written` does not go back with a clock: a delete is never older than what it made idle. */
static void
test_a_clock_that_goes_back (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  bench->batch.retention_seconds = TWO_DAYS_S;
  bench->batch.clock_us += 30 * DAY_US;
  apply_ok (bench, WIDE, "(1::BIGINT, 'a', 'x', 1::BIGINT, 'U')");
  apply_ok (bench, PLAIN, U (1, c, 3));
  bench->batch.clock_us -= 30 * DAY_US;
  apply_ok (bench, PLAIN, D (1, 4));
  bench->batch.clock_us += 10 * DAY_US;
  apply_ok (bench, PLAIN, U (2, b, 1));
  apply_ok (bench, PLAIN, U (1, e, 6));
  assert_rows (bench, "1,e,-; 2,b,-");
}

/* A key that says the same every day: what lies between the first and the last word is forgotten. */
static void
test_inner_members_go (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
  AutoCdcOutcome outcome;
  guint64 n_removed = 0;

  bench->batch.retention_seconds = TWO_DAYS_S;
  for (guint i = 0; i < 60; i++) {
    g_autofree char *rows = g_strdup_printf ("(1::BIGINT, 'a', %u::BIGINT, 'U')", 10 * i + 10);

    bench->batch.clock_us += DAY_US;
    outcome = apply_ok (bench, PLAIN, rows);
    n_removed += outcome.n_tombstones_removed;
  }
  assert_rows (bench, "1,a,10,-");
  g_assert_cmpuint (outcome.n_state_rows + n_removed, ==, 59);
  g_assert_cmpuint (outcome.n_state_rows, <, 20);
  apply_ok (bench, PLAIN, U (1, b, 595)); /* in time */
  assert_rows (bench, "1,a,10,595; 1,a,600,-; 1,b,595,600");
  apply_ok (bench, PLAIN, D (1, 597));
  assert_rows (bench, "1,a,10,595; 1,a,600,-; 1,b,595,597");
}

/* Values of columns that are not tracked: an event in time that splits the run shows those of the member before it. */
static void
test_untracked_values_of_inner_members (void)
{
  static const char *const tracked[] = { "v", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
  guint64 n_removed = 0;

  bench->flow.track_history = tracked;
  bench->batch.retention_seconds = TWO_DAYS_S;
  for (guint i = 0; i < 40; i++) {
    g_autofree char *rows = g_strdup_printf ("(1::BIGINT, 'a', 'w%u', %u::BIGINT, 'U')", i, 10 * i + 10);

    bench->batch.clock_us += i < 39 ? DAY_US / 2 : 5 * DAY_US; /* the last but one is old, the last is not */
    n_removed += apply_ok (bench, WIDE, rows).n_tombstones_removed;
  }
  g_assert_cmpuint (n_removed, >, 0);
  assert_rows (bench, "1,a,w39,10,-");
  apply_ok (bench, WIDE, "(1::BIGINT, 'b', 'x', 395::BIGINT, 'U')");
  assert_rows (bench, "1,a,w38,10,395; 1,a,w39,400,-; 1,b,x,395,400");
}

/* ---- drift and evolution ---- */

#define ONE "(1::BIGINT, 'a', 5::BIGINT, 'U')"

static void
test_drift (void)
{
  static const char *const other_keys[] = { "id", "v", NULL }, *const tracked[] = { "v", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  apply_ok (bench, PLAIN, ONE);
  bench->flow.type = AUTOCDC_SCD1;
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_INVALID_STATE.SCD_TYPE_DRIFT");
  bench->flow.type = AUTOCDC_SCD2;
  bench->flow.keys = other_keys;
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT");
  bench->flow.keys = keys;
  bench->flow.track_except = tracked;
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_INVALID_STATE.TRACK_HISTORY_DRIFT");
  bench->flow.track_except = NULL;
  bench->flow.track_history = tracked; /* the same columns by another word */
  apply_ok (bench, PLAIN, "(1::BIGINT, 'b', 6::BIGINT, 'U')");
  bench->flow.track_history = NULL;
  apply_fails (bench, "id INT, v STRING, q BIGINT, op STRING", "(1::INTEGER, 'a', 5::BIGINT, 'U')",
               "AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT");
  apply_fails (bench, "id BIGINT, v STRING, q INT, op STRING", "(1::BIGINT, 'a', 5::INTEGER, 'U')",
               "AUTOCDC_INVALID_STATE.SEQUENCING_TYPE_DRIFT");
  apply_fails (bench, "id BIGINT, v BOOLEAN, q BIGINT, op STRING", "(1::BIGINT, true, 5::BIGINT, 'U')",
               "AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT");
  assert_rows (bench, "1,a,5,6; 1,b,6,-");
}

static void
test_columns_come_and_go (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  apply_ok (bench, "id BIGINT, n INT, q BIGINT, op STRING", "(1::BIGINT, 10::INTEGER, 5::BIGINT, 'U')");
  apply_fails (bench, "id BIGINT, n BIGINT, q BIGINT, op STRING", "(1::BIGINT, 10::BIGINT, 5::BIGINT, 'U')",
               "AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT");
  apply_ok (bench, "id BIGINT, n SMALLINT, q BIGINT, op STRING", "(1::BIGINT, 11::SMALLINT, 6::BIGINT, 'U')");
  assert_rows (bench, "1,11");
  apply_ok (bench, "id BIGINT, s STRUCT<p: INT>, q BIGINT, op STRING",
            "(1::BIGINT, {'p': 1::INTEGER}, 7::BIGINT, 'U')");
  assert_rows (bench, "1,11,{'p': 1}");
  apply_ok (bench, "id BIGINT, S STRUCT<p: INT, r: STRING>, q BIGINT, op STRING",
            "(2::BIGINT, {'p': 2::INTEGER, 'r': 'x'}, 7::BIGINT, 'U')");
  assert_rows (bench, "1,11,{'p': 1, 'r': NULL}; 2,-,{'p': 2, 'r': x}");
  apply_fails (bench, "id BIGINT, s STRUCT<r: STRING>, q BIGINT, op STRING", "(2::BIGINT, {'r': 'x'}, 8::BIGINT, 'U')",
               "AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT");
}

/* ---- events that author some fields ---- */

#define NESTED "id BIGINT, s STRUCT<p: INT, n: STRUCT<a: STRING, b: STRING>>, l ARRAY<INT>, q BIGINT, op STRING"
#define EVENT(p, a, b, l, q)                                                                                           \
  "(1::BIGINT, {'p': " p "::INTEGER, 'n': {'a': " a "::VARCHAR, 'b': " b "::VARCHAR}}, " l "::INTEGER[], " q           \
  "::BIGINT, 'U')"
#define NO_STRUCT(q)                                                                                                   \
  "(1::BIGINT, NULL::STRUCT(p INTEGER, n STRUCT(a VARCHAR, b VARCHAR)), NULL::INTEGER[], " q "::BIGINT, 'U')"
#define NULLS "{'p': NULL, 'n': {'a': NULL, 'b': NULL}}"

static void
test_leaves_are_fields (void)
{
  static const char *const late[] = { EVENT ("1", "NULL", "'b'", "[1, 2]", "1"),
                                      EVENT ("NULL", "'y'", "NULL", "[NULL]", "3"), NO_STRUCT ("4"),
                                      EVENT ("NULL", "'x'", "NULL", "NULL", "2") };
  g_autoptr (Bench) one = bench_new (AUTOCDC_SCD1), two = bench_new (AUTOCDC_SCD2);
  AutoCdcOutcome outcome;

  one->flow.ignore_null = two->flow.ignore_null = TRUE;
  apply_ok (one, NESTED, NO_STRUCT ("0"));
  assert_rows (one, "1," NULLS ",-");
  for (guint i = 0; i < G_N_ELEMENTS (late); i++) {
    apply_ok (one, NESTED, late[i]);
    apply_ok (two, NESTED, late[i]);
  }
  assert_rows (one, "1,{'p': 1, 'n': {'a': y, 'b': b}},[NULL]");
  assert_rows (two, "1,{'p': 1, 'n': {'a': NULL, 'b': b}},[1, 2],1,2; 1,{'p': 1, 'n': {'a': x, 'b': b}},[1, 2],2,3;"
                    " 1,{'p': 1, 'n': {'a': y, 'b': b}},[NULL],3,-");
  for (guint i = 0; i < G_N_ELEMENTS (late); i++) {
    outcome = apply_ok (two, NESTED, late[i]);
    g_assert_cmpint (outcome.version, ==, -1);
  }
}

/* A source gains and loses leaves as it does columns. */
static void
test_leaves_come_and_go (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  bench->flow.ignore_null = TRUE;
  apply_ok (bench, "id BIGINT, s STRUCT<p: INT>, q BIGINT, op STRING",
            "(1::BIGINT, {'p': 1::INTEGER}, 5::BIGINT, 'U')");
  apply_ok (bench, "id BIGINT, S STRUCT<r: STRING>, q BIGINT, op STRING", "(1::BIGINT, {'r': 'x'}, 4::BIGINT, 'U')");
  assert_rows (bench, "1,{'p': 1, 'r': x}");
  apply_ok (bench, "id BIGINT, s STRUCT<P: INT, r: STRING, t: STRUCT<u: INT>>, q BIGINT, op STRING",
            "(1::BIGINT, {'P': 2::INTEGER, 'r': 'y', 't': {'u': 7::INTEGER}}, 3::BIGINT, 'U'), (2::BIGINT, NULL, "
            "3::BIGINT, 'U')");
  assert_rows (bench, "1,{'p': 1, 'r': x, 't': {'u': 7}}; 2,{'p': NULL, 'r': NULL, 't': {'u': NULL}}");
  apply_ok (bench, "id BIGINT, q BIGINT, op STRING", "(1::BIGINT, 9::BIGINT, 'U'), (3::BIGINT, 9::BIGINT, 'U')");
  assert_rows (bench, "1,{'p': 1, 'r': x, 't': {'u': 7}}; 2,{'p': NULL, 'r': NULL, 't': {'u': NULL}};"
                      " 3,{'p': NULL, 'r': NULL, 't': {'u': NULL}}");
  apply_fails (bench, "id BIGINT, s STRUCT<p: STRUCT<x: INT>>, q BIGINT, op STRING",
               "(1::BIGINT, {'p': {'x': 1::INTEGER}}, 9::BIGINT, 'U')", "AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT");
}

/* A struct of NULLs where every leaf may be NULL, else no struct. */
static void
test_leaf_that_is_never_null (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  static const char schema[] = "id BIGINT, s STRUCT<p: INT NOT NULL, r: STRUCT<t: INT>>, q BIGINT, op STRING";

  bench->flow.ignore_null = TRUE;
  apply_ok (bench, schema, "(1::BIGINT, NULL::STRUCT(p INTEGER, r STRUCT(t INTEGER)), 5::BIGINT, 'U')");
  assert_rows (bench, "1,-");
  apply_ok (bench, schema, "(1::BIGINT, {'p': 3::INTEGER, 'r': NULL::STRUCT(t INTEGER)}, 4::BIGINT, 'U')");
  assert_rows (bench, "1,{'p': 3, 'r': {'t': NULL}}");
}

#define NAMING "id BIGINT, x STRING, Y STRING, q BIGINT, op STRING, cu ARRAY<STRING>"

static void
test_columns_to_update (void)
{
  static const char *const with_list[] = { "id", "x", "cu", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1), listed = bench_new (AUTOCDC_SCD1);

  bench->flow.columns_to_update = "CU";
  apply_ok (bench, NAMING,
            "(1::BIGINT, 'a', 'b', 1::BIGINT, 'U', ['x', 'y']), (1::BIGINT, NULL, 'z', 2::BIGINT, 'U', ['X']),"
            " (2::BIGINT, 'a', 'b', 1::BIGINT, 'U', []), (3::BIGINT, 'a', 'b', 1::BIGINT, 'U', NULL)");
  assert_rows (bench, "1,-,b; 2,-,-; 3,a,b");
  apply_ok (
      bench, NAMING,
      "(1::BIGINT, 'l', 'l', 1::BIGINT, 'U', ['y', 'op', 'id']), (3::BIGINT, NULL, NULL, 2::BIGINT, 'D', ['nothing'])");
  assert_rows (bench, "1,-,l; 2,-,-");
  apply_fails (bench, NAMING, "(1::BIGINT, 'm', 'm', 9::BIGINT, 'U', ['x', 'z'])",
               "AUTOCDC_MICROBATCH_VALIDATION.UNKNOWN_COLUMN_TO_UPDATE");
  apply_fails (bench, NAMING, "(1::BIGINT, 'm', 'm', 9::BIGINT, 'U', [NULL]::VARCHAR[])",
               "AUTOCDC_MICROBATCH_VALIDATION.UNKNOWN_COLUMN_TO_UPDATE");
  apply_ok (bench, "id BIGINT, Y STRING, q BIGINT, op STRING, cu ARRAY<STRING>",
            "(1::BIGINT, 'n', 9::BIGINT, 'U', ['x', 'y'])"); /* the target has x */
  assert_rows (bench, "1,-,n; 2,-,-");
  apply_fails (bench, "id BIGINT, x STRING, q BIGINT, op STRING, cu STRING", "(1::BIGINT, 'm', 9::BIGINT, 'U', 'x')",
               "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE");
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA");
  listed->flow.except_columns = NULL;
  listed->flow.columns = with_list;
  listed->flow.columns_to_update = "cu";
  apply_ok (listed, NAMING,
            "(1::BIGINT, 'a', 'b', 1::BIGINT, 'U', ['x', 'cu']), (1::BIGINT, 'c', 'b', 2::BIGINT, 'U', ['x'])");
  assert_rows (listed, "1,c,[x, cu]");
}

#define PAIR "id BIGINT, x STRING, y STRING, q BIGINT, op STRING"

/* Events of one sequence are one, field by field the greatest value, whatever comes with what. */
static void
test_ties_of_fields (void)
{
  static const char *const events[] = { "(1::BIGINT, 'b', NULL::VARCHAR, 5::BIGINT, 'U')",
                                        "(1::BIGINT, NULL::VARCHAR, 'y', 5::BIGINT, 'U')",
                                        "(1::BIGINT, 'a', 'z', 5::BIGINT, 'U')",
                                        "(1::BIGINT, 'o', 'o', 4::BIGINT, 'U')" };
  static const guint orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 } };

  for (AutoCdcType type = AUTOCDC_SCD1; type <= AUTOCDC_SCD2; type++) {
    const char *want = type == AUTOCDC_SCD1 ? "1,b,z" : "1,b,z,5,-; 1,o,o,4,5";

    for (guint i = 0; i < G_N_ELEMENTS (orders); i++) {
      g_autoptr (Bench) apart = bench_new (type), together = bench_new (type);
      g_autoptr (GString) all = g_string_new (NULL);

      apart->flow.ignore_null = together->flow.ignore_null = TRUE;
      for (guint j = 0; j < G_N_ELEMENTS (events); j++) {
        apply_ok (apart, PAIR, events[orders[i][j]]);
        g_string_append_printf (all, "%s%s", j ? ", " : "", events[orders[i][j]]);
      }
      assert_rows (apart, want);
      apply_ok (together, PAIR, all->str);
      assert_rows (together, want);
      for (guint j = 0; j < G_N_ELEMENTS (events); j++)
        g_assert_cmpint (apply_ok (apart, PAIR, events[j]).version, ==, -1);
    }
  }
}

#define N_LEAVES 27

/* One event of @sequence that says leaf @leaf of `s`, and so has a set of its own. */
static void
append_leaf_event (GString *rows, guint leaf, guint sequence)
{
  g_string_append (rows, rows->len ? ", (1::BIGINT, {" : "(1::BIGINT, {");
  for (guint i = 0; i < N_LEAVES; i++)
    g_string_append_printf (rows, i == leaf ? "%s'l%u': %u" : "%s'l%u': NULL::INTEGER", i ? ", " : "", i, sequence);
  g_string_append_printf (rows, "}, %u::BIGINT, 'U')", sequence);
}

/* More fields than a byte has bits, and as many sets as events. */
static void
test_many_fields (void)
{
  for (AutoCdcType type = AUTOCDC_SCD1; type <= AUTOCDC_SCD2; type++) {
    g_autoptr (Bench) bench = bench_new (type);
    g_autoptr (GString) schema = g_string_new ("id BIGINT, s STRUCT<"), want = g_string_new ("1,{");

    for (guint i = 0; i < N_LEAVES; i++) {
      g_string_append_printf (schema, "%sl%u: INT", i ? ", " : "", i);
      g_string_append_printf (want, "%s'l%u': %u", i ? ", " : "", i, i + 1 + (i % 2 ? 0 : N_LEAVES));
    }
    g_string_append (schema, ">, q BIGINT, op STRING");
    g_string_append (want, "}");
    bench->flow.ignore_null = TRUE;
    for (guint first = 0; first < 5; first++) {
      g_autoptr (GString) rows = g_string_new (NULL);

      for (guint i = first; i < N_LEAVES; i += 5) {
        append_leaf_event (rows, i, i + 1);
        if (i % 2 == 0)
          append_leaf_event (rows, i, i + 1 + N_LEAVES);
      }
      apply_ok (bench, schema->str, rows->str);
    }
    /* SCD 2: the last of its many rows. */
    if (type == AUTOCDC_SCD2)
      g_string_append_printf (want, ",%u,-", 2 * N_LEAVES);
    assert_has_row (bench, want->str);
  }
}

static void
test_partial_drift (void)
{
  static const char *const x[] = { "X", NULL }, *const y[] = { "y", NULL }, *const more[] = { "x", "z", NULL },
                           *const unknown[] = { "zz", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  static const char row[] = "(1::BIGINT, 'a', 'b', 5::BIGINT, 'U')";

  bench->flow.ignore_null_columns = unknown;
  apply_fails (bench, PAIR, row, "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA");
  bench->flow.ignore_null_columns = x;
  apply_ok (bench, PAIR, row);
  bench->flow.ignore_null_columns = y;
  apply_fails (bench, PAIR, row, "AUTOCDC_INVALID_STATE.IGNORE_NULL_DRIFT");
  bench->flow.ignore_null_columns = NULL;
  apply_fails (bench, PAIR, row, "AUTOCDC_INVALID_STATE.IGNORE_NULL_DRIFT");
  bench->flow.columns_to_update = "cu";
  apply_fails (bench, NAMING, "(1::BIGINT, 'a', 'b', 5::BIGINT, 'U', NULL::VARCHAR[])",
               "AUTOCDC_INVALID_STATE.COLUMNS_TO_UPDATE_DRIFT");
  bench->flow.columns_to_update = NULL;
  bench->flow.ignore_null_except = y; /* the same columns by another word */
  apply_ok (bench, PAIR, row);
  bench->flow.ignore_null_except = NULL;
  bench->flow.ignore_null_columns = more; /* a new column joins */
  apply_ok (bench, "id BIGINT, x STRING, z STRING, q BIGINT, op STRING",
            "(1::BIGINT, 'c', NULL::VARCHAR, 6::BIGINT, 'U')");
  assert_rows (bench, "1,c,b,-");
}

/* A tombstone stays while an older upsert is remembered that would stand again without it. */
static void
test_tombstones_over_old_fields_stay (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  bench->flow.ignore_null = TRUE;
  bench->batch.retention_seconds = TWO_DAYS_S;
  apply_ok (bench, PAIR, "(1::BIGINT, 'a', 'b', 1::BIGINT, 'U'), (1::BIGINT, 'c', NULL, 2::BIGINT, 'U')");
  bench->batch.clock_us += 1;
  g_assert_cmpint (apply_ok (bench, PAIR, "(1::BIGINT, NULL::VARCHAR, NULL::VARCHAR, 3::BIGINT, 'D')").n_state_rows, ==,
                   2);
  for (guint i = 0; i < 10; i++) {
    g_autofree char *other = g_strdup_printf ("(%u::BIGINT, 'w', NULL::VARCHAR, 1::BIGINT, 'D')", 10 + i);

    bench->batch.clock_us += 3 * DAY_US;
    apply_ok (bench, PAIR, other);
  }
  g_assert_cmpint (apply_ok (bench, PAIR, "(1::BIGINT, NULL::VARCHAR, NULL::VARCHAR, 4::BIGINT, 'U')").n_state_rows, <,
                   10);
  assert_rows (bench, "1,-,-");
}

static void
test_source_names (void)
{
  static const char *const zz[] = { "zz", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  apply_fails (bench, "id BIGINT, __start_at STRING, q BIGINT, op STRING", ONE,
               "AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT");
  apply_fails (bench, "id BIGINT, __AutoCDC_x STRING, q BIGINT, op STRING", ONE,
               "AUTOCDC_RESERVED_COLUMN_NAME_PREFIX_CONFLICT");
  apply_fails (bench, "id BIGINT, ID STRING, q BIGINT, op STRING", ONE, "COLUMN_ALREADY_EXISTS");
  bench->flow.track_history = zz;
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA");
  bench->flow.track_history = NULL;
  bench->flow.except_columns = zz;
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA");
  bench->flow.except_columns = keys;
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA");
}

static void
test_plain_table_is_refused (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaTransaction) transaction = NULL;
  BaseClock clock = { CLOCK_US };
  DeltaCommitResult result = { 0 };

  apply_ok (bench, PLAIN, ONE);
  snapshot = delta_table_snapshot (bench->table, NULL, &error);
  transaction = delta_transaction_new (bench->table, snapshot, &clock);
  delta_transaction_set_domain (transaction, AUTOCDC_DOMAIN, NULL);
  delta_transaction_commit (transaction, NULL, &result, &error);
  g_assert_no_error (error);
  delta_commit_result_clear (&result);
  apply_fails (bench, PLAIN, ONE, "AUTOCDC_INVALID_STATE.AUXILIARY_TABLE_PROPERTY_MISSING");
}

static void
test_bad_events_write_nothing (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  apply_ok (bench, PLAIN, ONE);
  apply_fails (bench, PLAIN, "(1::BIGINT, 'b', 6::BIGINT, 'U'), (NULL, 'b', 6::BIGINT, 'U')",
               "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY");
  apply_fails (bench, PLAIN, "(1::BIGINT, 'b', 6::BIGINT, 'U'), (1::BIGINT, 'b', NULL, 'D')",
               "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE");
  assert_rows (bench, "1,a");
}

/* ---- the anchor ---- */

/* Renames the data files that the directory has into or out of the way. */
static void
hide_files (Bench *bench, gboolean hide)
{
  g_autoptr (GDir) directory = g_dir_open (bench->directory, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (directory))) {
    g_autofree char *path = g_build_filename (bench->directory, name, NULL), *other = NULL;

    if (!g_str_has_suffix (name, hide ? ".parquet" : ".hidden"))
      continue;
    other = hide ? g_strconcat (path, ".hidden", NULL) : g_strndup (path, strlen (path) - strlen (".hidden"));
    g_assert_cmpint (g_rename (path, other), ==, 0);
  }
}

/* Files of rows that were over before the batch's first event are not needed, whatever the sequence is made of. */
static void
test_files_of_the_past_are_not_read (void)
{
  static const struct {
    const char *type, *value; /* of the sequence */
    gboolean skips;
  } cases[] = {
    { "BIGINT", "#::BIGINT", TRUE },
    { "SMALLINT", "#::SMALLINT", TRUE },
    { "DATE", "DATE '1969-12-28' + #", TRUE },
    { "TIMESTAMP", "TIMESTAMPTZ '1969-12-31 23:59:55.5+00' + INTERVAL (#) SECOND", TRUE },
    { "TIMESTAMP_NTZ", "TIMESTAMP '1969-12-31 23:59:55.5' + INTERVAL (#) SECOND", TRUE },
    { "STRING", "'it''s #'", TRUE },
    { "DOUBLE", "#::DOUBLE", FALSE },
    { "STRUCT<a: BIGINT, b: BIGINT>", "{'a': #::BIGINT, 'b': NULL::BIGINT}", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
    g_autofree char *schema = g_strdup_printf ("id BIGINT, v STRING, q %s, op STRING", cases[i].type);
    g_autofree char *before = NULL, *after = NULL;
    g_autoptr (GError) error = NULL;
    AutoCdcOutcome outcome;
    char *q[10];

    for (guint j = 0; j < G_N_ELEMENTS (q); j++) {
      g_auto (GStrv) around = g_strsplit (cases[i].value, "#", 2);

      q[j] = g_strdup_printf ("%s%u%s", around[0], j, around[1]);
    }
    before = g_strdup_printf ("(1::BIGINT, 'a', %s, 'U'), (1::BIGINT, 'b', %s, 'U'), (1::BIGINT, '', %s, 'D'),"
                              " (2::BIGINT, 'a', %s, 'U'), (2::BIGINT, '', %s, 'D')",
                              q[1], q[2], q[4], q[1], q[3]);
    apply_ok (bench, schema, before);
    hide_files (bench, cases[i].skips);
    g_free (before);
    before = g_strdup_printf ("(1::BIGINT, 'c', %s, 'U'), (3::BIGINT, 'c', %s, 'U')", q[6], q[5]);
    g_assert_cmpuint (apply_ok (bench, schema, before).n_upserted_rows, ==, 2);
    /* Late, and after the delete all the same. */
    after = g_strdup_printf ("(1::BIGINT, 'd', %s, 'U'), (2::BIGINT, 'd', %s, 'U')", q[5], q[7]);
    g_assert_cmpuint (apply_ok (bench, schema, after).n_upserted_rows, ==, 2);
    g_free (after);
    after = g_strdup_printf ("(1::BIGINT, 'e', %s, 'U')", q[3]);
    if (cases[i].skips) {
      g_assert_false (apply (bench, schema, after, &outcome, &error));
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED);
      hide_files (bench, FALSE);
    }
    g_assert_cmpuint (apply_ok (bench, schema, after).n_upserted_rows, ==, 2);
    if (i == 0)
      assert_rows (bench, "1,a,1,2; 1,b,2,3; 1,c,6,-; 1,d,5,6; 1,e,3,4; 2,a,1,3; 2,d,7,-; 3,c,5,-");
    for (guint j = 0; j < G_N_ELEMENTS (q); j++)
      g_free (q[j]);
  }
}

/* Of a batch that writes many of both kinds, rows that are over are in a file of their own. */
static void
test_rows_that_are_over_lie_apart (void)
{
  static const struct {
    AutoCdcType type;
    gint64 rows_apart;
    guint n_files;
  } cases[] = { { AUTOCDC_SCD2, 2, 2 }, { AUTOCDC_SCD2, 3, 1 }, { AUTOCDC_SCD2, 0, 1 }, { AUTOCDC_SCD1, 1, 1 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Bench) bench = bench_new (cases[i].type);

    bench->batch.rows_apart = cases[i].rows_apart;
    apply_ok (bench, PLAIN,
              "(1::BIGINT, 'a', 1::BIGINT, 'U'), (1::BIGINT, 'b', 2::BIGINT, 'U'), (1::BIGINT, 'c', 3::BIGINT, 'U'),"
              " (2::BIGINT, 'a', 1::BIGINT, 'U'), (3::BIGINT, 'a', 1::BIGINT, 'U'), (2::BIGINT, '', 4::BIGINT, 'D')");
    g_assert_cmpuint (n_files (bench), ==, cases[i].n_files);
    apply_ok (bench, PLAIN, "(1::BIGINT, 'd', 5::BIGINT, 'U'), (2::BIGINT, 'd', 5::BIGINT, 'U')");
    assert_rows (bench, cases[i].type == AUTOCDC_SCD1
                            ? "1,d; 2,d; 3,a"
                            : "1,a,1,2; 1,b,2,3; 1,c,3,5; 1,d,5,-; 2,a,1,4; 2,d,5,-; 3,a,1,-");
  }
}

/* A source that gives other events when it is read again: rows (read, id, v, q, op), of which @rows has those of the first and second time. */
static AutoCdcOutcome
apply_read_ahead (Bench *bench, const char *rows, gboolean other_plan, GError **error)
{
  g_autofree char *sql =
      g_strdup_printf ("SELECT id::BIGINT AS id, v, q::BIGINT AS q, 'U' AS op FROM (SELECT nextval('reads') AS n) JOIN"
                       " (VALUES %s) e(read, id, v, q) ON e.read = n",
                       rows);
  g_autoptr (BaseType) type = target_type (bench->arena, "STRUCT<" PLAIN ">");
  g_autoptr (RelationSource) source = relation_source_new_text ("events", sql, type, TRUE);
  g_autoptr (RelationPlan) events = relation_plan_new_source (source);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (bench->table, NULL, error);
  g_autoptr (AutoCdcPlan) plan = autocdc_plan_new (&bench->flow, events, snapshot, NULL, &bench->context, error);
  g_autoptr (AutoCdcPlan) other = autocdc_plan_new (&bench->flow, events, snapshot, NULL, &bench->context, error);
  g_autoptr (AutoCdcAhead) ahead = NULL;
  AutoCdcBatch batch = bench->batch;
  AutoCdcOutcome outcome = { 0 };

  g_assert_true (duck_session_execute (bench->session, "CREATE OR REPLACE SEQUENCE reads", NULL, error));
  batch.ahead = ahead = autocdc_read_ahead (plan, &batch, &bench->context);
  g_assert_nonnull (ahead);
  if (autocdc_apply (bench->table, other_plan ? other : plan, &batch, &bench->context, NULL, &outcome, error))
    bench->batch.batch_id++;
  return outcome;
}

/* Events that were read ahead are not read again, unless something was wrong with them; then the batch says what is. */
static void
test_events_read_ahead (void)
{
  for (AutoCdcType type = AUTOCDC_SCD1; type <= AUTOCDC_SCD2; type++) {
    g_autoptr (Bench) bench = bench_new (type);
    g_autoptr (GError) error = NULL;

    apply_ok (bench, PLAIN, "(1::BIGINT, 'a', 1::BIGINT, 'U'), (2::BIGINT, 'a', 1::BIGINT, 'U')");
    g_assert_cmpint (
        apply_read_ahead (bench, "(1, 1, 'b', 2), (1, 1, 'c', 3), (2, 1, 'z', 9)", FALSE, &error).n_source_events, ==,
        2);
    g_assert_no_error (error);
    assert_has_row (bench, type == AUTOCDC_SCD1 ? "1,c" : "1,c,3,-");
    /* More than is kept in memory. */
    bench->batch.kept_bytes = 8;
    g_assert_cmpint (
        apply_read_ahead (bench, "(1, 1, 'd', 4), (1, 3, 'd', 4), (2, 1, 'z', 9)", FALSE, &error).n_source_events, ==,
        2);
    g_assert_no_error (error);
    bench->batch.kept_bytes = 0;
    assert_has_row (bench, type == AUTOCDC_SCD1 ? "1,d" : "1,d,4,-");
    /* Faults that are gone when the batch reads, and faults that are not. */
    g_assert_cmpint (apply_read_ahead (bench, "(1, NULL, 'z', 9), (2, 1, 'e', 5)", FALSE, &error).n_source_events, ==,
                     1);
    g_assert_no_error (error);
    assert_has_row (bench, type == AUTOCDC_SCD1 ? "1,e" : "1,e,5,-");
    apply_read_ahead (bench, "(1, NULL, 'z', 9), (2, NULL, 'z', 9), (2, NULL, 'y', 9)", FALSE, &error);
    g_assert_cmpstr (base_error_condition (error), ==, "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY");
    g_assert_nonnull (strstr (error->message, "batch 4 (events by column: id: 2)"));
    g_clear_error (&error);
    /* Another plan's, of which nobody can say which is read first. */
    g_assert_cmpint (apply_read_ahead (bench, "(1, 1, 'f', 6), (2, 1, 'f', 6)", TRUE, &error).n_source_events, ==, 1);
    g_assert_no_error (error);
    assert_has_row (bench, type == AUTOCDC_SCD1 ? "1,f" : "1,f,6,-");
  }
}

static gpointer
raise_soon (gpointer cancel)
{
  g_usleep (50 * G_TIME_SPAN_MILLISECOND);
  base_cancel_raise (cancel);
  return NULL;
}

/* What is read for a batch that does not come is stopped and thrown away. */
static void
test_reading_ahead_in_vain (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  g_autoptr (BaseType) type = target_type (bench->arena, "STRUCT<" PLAIN ">");
  g_autoptr (RelationSource) source = relation_source_new_text (
      "events", "SELECT i AS id, 'a' AS v, i AS q, 'U' AS op FROM range(100000000000) t(i) WHERE i % 1000000000 = 1",
      type, TRUE);
  g_autoptr (RelationPlan) rows = relation_plan_new_source (source);
  g_autoptr (AutoCdcPlan) plan = autocdc_plan_new (&bench->flow, rows, NULL, NULL, &bench->context, NULL);

  g_autoptr (AutoCdcAhead) ahead = NULL;
  g_autoptr (BaseCancel) cancel = base_cancel_new ();
  g_autoptr (GThread) raises = NULL;
  g_autoptr (GError) error = NULL;
  AutoCdcBatch batch = bench->batch;
  AutoCdcOutcome outcome;

  autocdc_ahead_free (autocdc_read_ahead (plan, &batch, &bench->context));
  autocdc_ahead_free (NULL);
  /* A batch that waits for its events can be cancelled. */
  batch.ahead = ahead = autocdc_read_ahead (plan, &batch, &bench->context);
  raises = g_thread_new ("raise", raise_soon, cancel);
  g_assert_false (autocdc_apply (bench->table, plan, &batch, &bench->context, cancel, &outcome, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "OPERATION_CANCELED");
  (void) g_thread_join (g_steal_pointer (&raises));
}

/* Several events of a key in one batch, all newer than what is known, or not. */
static void
test_several_events_of_a_key (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
  AutoCdcOutcome outcome;

  apply_ok (bench, PLAIN,
            "(1::BIGINT, 'a', 1::BIGINT, 'U'), (2::BIGINT, 'a', 1::BIGINT, 'U'), (3::BIGINT, 'a', 1::BIGINT, 'U'),"
            " (4::BIGINT, 'a', 1::BIGINT, 'U'), (5::BIGINT, 'a', 1::BIGINT, 'U'), (5::BIGINT, 'b', 5::BIGINT, 'U')");
  outcome = apply_ok (
      bench, PLAIN,
      "(1::BIGINT, 'b', 2::BIGINT, 'U'), (1::BIGINT, '', 3::BIGINT, 'D'), (1::BIGINT, '', 4::BIGINT, 'D'),"
      " (1::BIGINT, 'c', 6::BIGINT, 'U'), (1::BIGINT, 'd', 7::BIGINT, 'U')," /* one of the deletes is an end */
      " (2::BIGINT, '', 2::BIGINT, 'D'), (2::BIGINT, '', 3::BIGINT, 'D'),"   /* one here, too */
      " (3::BIGINT, 'b', 2::BIGINT, 'U'), (3::BIGINT, 'b', 3::BIGINT, 'U')," /* one run */
      " (4::BIGINT, 'a', 2::BIGINT, 'U'), (4::BIGINT, 'b', 3::BIGINT, 'U')," /* the run goes on */
      " (5::BIGINT, 'c', 4::BIGINT, 'U'), (5::BIGINT, 'c', 6::BIGINT, 'U')," /* one is late */
      " (6::BIGINT, '', 2::BIGINT, 'D'), (6::BIGINT, 'a', 3::BIGINT, 'U'), (6::BIGINT, '', 4::BIGINT, 'D')");
  assert_rows (bench, "1,a,1,2; 1,b,2,3; 1,c,6,7; 1,d,7,-; 2,a,1,2; 3,a,1,2; 3,b,2,-; 4,a,1,3; 4,b,3,-; 5,a,1,4; "
                      "5,b,5,6; 5,c,4,5; 5,c,6,-; 6,a,3,4");
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 14);
  g_assert_cmpuint (outcome.n_state_rows, ==,
                    5); /* second deletes of 1 and 2, the first of 6, what runs of 3 and 4 began with */
  g_assert_cmpint (apply_ok (bench, PLAIN,
                             "(1::BIGINT, 'b', 2::BIGINT, 'U'), (1::BIGINT, '', 3::BIGINT, 'D'),"
                             " (3::BIGINT, 'b', 2::BIGINT, 'U'), (3::BIGINT, 'b', 3::BIGINT, 'U')")
                       .version,
                   ==, -1);
  apply_ok (bench, PLAIN, "(2::BIGINT, 'b', 2::BIGINT, 'U'), (6::BIGINT, 'b', 1::BIGINT, 'U')");
  assert_has_row (bench, "6,b,1,2");
}

/* A map is the same whatever its entries' order. */
static void
test_order_of_map_entries (void)
{
  static const AutoCdcType types[] = { AUTOCDC_SCD1, AUTOCDC_SCD2, AUTOCDC_BITEMPORAL };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autoptr (Bench) bench = bench_new (types[i]);
    const char *schema = "id BIGINT, m MAP<STRING, INT>, q BIGINT, y BIGINT, op STRING";

    if (types[i] != AUTOCDC_BITEMPORAL)
      bench->flow.except_columns = except_system;
    apply_ok (bench, schema, "(1::BIGINT, MAP {'a': 1, 'b': 2}, 1::BIGINT, 1::BIGINT, 'U')");
    g_assert_cmpuint (
        apply_ok (bench, schema, "(1::BIGINT, MAP {'b': 2, 'a': 1}, 2::BIGINT, 2::BIGINT, 'U')").n_upserted_rows, ==,
        0);
  }
}

/* What the anchor's own event does not author stands in the row before it. */
static void
test_anchors_inherit (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  apply_ok (bench, "id BIGINT, v STRING, w STRING, q BIGINT, op STRING",
            "(1::BIGINT, 'a', 'x', 1::BIGINT, 'U'), (1::BIGINT, 'b', 'y', 3::BIGINT, 'U'),"
            " (2::BIGINT, 'a', 'x', 1::BIGINT, 'U'), (2::BIGINT, '', '', 4::BIGINT, 'D')");
  apply_ok (bench, PLAIN,
            "(1::BIGINT, 'c', 5::BIGINT, 'U'), (1::BIGINT, 'd', 9::BIGINT, 'U'),"
            " (2::BIGINT, 'c', 5::BIGINT, 'U'), (2::BIGINT, 'd', 9::BIGINT, 'U')");
  apply_ok (bench, PLAIN, "(1::BIGINT, 'e', 7::BIGINT, 'U'), (2::BIGINT, 'e', 7::BIGINT, 'U')");
  assert_rows (bench, "1,a,x,1,3; 1,b,y,3,5; 1,c,y,5,7; 1,d,y,9,-; 1,e,y,7,9; 2,a,x,1,4; 2,c,-,5,7; 2,d,-,9,-; "
                      "2,e,-,7,9");
}

/* ---- two axes of time ---- */

#define SYSTEM "id BIGINT, v STRING, q BIGINT, y BIGINT, op STRING"

/* Facts of a column that came later do not author it: what they inherit from before the anchor is not lost. */
static void
test_beliefs_inherit (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_BITEMPORAL);

  apply_ok (bench, SYSTEM,
            "(1::BIGINT, 'a', 10::BIGINT, 1::BIGINT, 'U'), (1::BIGINT, 'b', 30::BIGINT, 2::BIGINT, 'U'),"
            " (2::BIGINT, 'a', 10::BIGINT, 1::BIGINT, 'U')");
  apply_ok (bench, "id BIGINT, v STRING, w STRING, q BIGINT, y BIGINT, op STRING",
            "(1::BIGINT, 'z', 'x', 5::BIGINT, 3::BIGINT, 'U')");
  apply_ok (bench, "id BIGINT, v STRING, w STRING, q BIGINT, y BIGINT, op STRING",
            "(1::BIGINT, 'c', 'y', 40::BIGINT, 4::BIGINT, 'U'), (2::BIGINT, 'c', 'y', 40::BIGINT, 4::BIGINT, 'U')");
  assert_rows (bench,
               "1,a,-,10,-,1,2; 1,a,-,10,30,2,3; 1,a,x,10,30,3,-; 1,b,-,30,-,2,3; 1,b,x,30,-,3,4; 1,b,x,30,40,4,-; "
               "1,c,y,40,-,4,-; 1,z,x,5,10,3,-; 2,a,-,10,-,1,4; 2,a,-,10,40,4,-; 2,c,y,40,-,4,-");
}

/* One event: `key value @ business / system`, a delete without a value. */
static AutoCdcOutcome
believe (Bench *bench, gint64 id, const char *value, gint64 q, gint64 y)
{
  g_autofree char *row = g_strdup_printf ("(%" G_GINT64_FORMAT "::BIGINT, '%s', %" G_GINT64_FORMAT
                                          "::BIGINT, %" G_GINT64_FORMAT "::BIGINT, '%s')",
                                          id, value ? value : "", q, y, value ? "U" : "D");

  return apply_ok (bench, SYSTEM, row);
}

static void
test_beliefs_that_ended_are_left_alone (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_BITEMPORAL);
  AutoCdcOutcome outcome;

  outcome = believe (bench, 1, "a", 10, 100);
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 1);
  outcome = believe (bench, 1, "b", 20, 200); /* old belief ends, shortened interval, new one */
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 3);
  outcome = believe (bench, 1, NULL, 30, 300); /* shortened interval only */
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 2);
  assert_rows (bench, "1,a,10,-,100,200; 1,a,10,20,200,-; 1,b,20,-,200,300; 1,b,20,30,300,-");
  outcome = believe (bench, 1, "b", 25, 300); /* changes no belief, and is remembered */
  g_assert_cmpuint (outcome.n_upserted_rows + outcome.n_deleted_rows, ==, 0);
  g_assert_cmpuint (outcome.n_state_rows, ==, 4);
  g_assert_cmpint (outcome.version, >, 0);
  g_assert_cmpint (believe (bench, 1, "b", 25, 300).version, ==, -1);
  /* A system instant that comes late: what was believed from then on is told again. */
  outcome = believe (bench, 1, "c", 15, 150);
  g_assert_cmpuint (outcome.n_upserted_rows, ==, 4);
  g_assert_cmpuint (outcome.n_deleted_rows, ==, 1);
  assert_rows (bench, "1,a,10,-,100,150; 1,a,10,15,150,-; 1,b,20,-,200,300; 1,b,20,30,300,-; 1,c,15,-,150,200; "
                      "1,c,15,20,200,-");
}

/* An instant that is known gets another fact: rows that ended there may be believed on. */
static void
test_belief_returns_at_its_end (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_BITEMPORAL);

  believe (bench, 1, "b", 10, 100);
  believe (bench, 1, "a", 20, 200);
  assert_rows (bench, "1,a,20,-,200,-; 1,b,10,-,100,200; 1,b,10,20,200,-");
  believe (bench, 1, "b", 20, 200); /* a tie: the greatest value */
  assert_rows (bench, "1,b,10,-,100,-");
}

static void
test_no_fact_of_two_axes_expires (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_BITEMPORAL);
  AutoCdcOutcome outcome;

  bench->batch.retention_seconds = 0;
  /* Batches enough to merge state files, of nothing but deletes first. */
  for (guint i = 0; i < 10; i++) {
    bench->batch.clock_us += DAY_US;
    outcome = believe (bench, 1, NULL, 20 + i, 100 + i);
    g_assert_cmpuint (outcome.n_tombstones_removed, ==, 0);
    g_assert_cmpuint (outcome.n_state_rows, ==, i + 1);
  }
  believe (bench, 1, "a", 10, 50);
  assert_rows (bench, "1,a,10,-,50,100; 1,a,10,20,100,-");
}

static void
test_drift_of_the_system_sequence (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_BITEMPORAL);
  const SqlExpr *system = bench->flow.system_sequence_by;

  believe (bench, 1, "a", 10, 100);
  apply_fails (bench, "id BIGINT, v STRING, q BIGINT, y STRING, op STRING", "(1::BIGINT, 'a', 5::BIGINT, 'now', 'U')",
               "AUTOCDC_INVALID_STATE.SEQUENCING_TYPE_DRIFT");
  apply_fails (bench, "id BIGINT, v STRING, q BIGINT, y MAP<INT, INT>, op STRING",
               "(1::BIGINT, 'a', 5::BIGINT, MAP {1::INTEGER: 2::INTEGER}, 'U')",
               "AUTOCDC_MICROBATCH_VALIDATION.NON_ORDERABLE_SEQUENCE");
  bench->flow.type = AUTOCDC_SCD2;
  bench->flow.system_sequence_by = NULL;
  apply_fails (bench, SYSTEM, "(1::BIGINT, 'a', 5::BIGINT, 6::BIGINT, 'U')", "AUTOCDC_INVALID_STATE.SCD_TYPE_DRIFT");
  bench->flow.type = AUTOCDC_BITEMPORAL;
  bench->flow.system_sequence_by = system;
  apply_fails (bench, SYSTEM,
               "(1::BIGINT, 'a', 5::BIGINT, NULL::BIGINT, 'U'), (1::BIGINT, 'a', 5::BIGINT, NULL::BIGINT, 'D')",
               "AUTOCDC_MICROBATCH_VALIDATION.NULL_SYSTEM_SEQUENCE");
  apply_fails (bench, "id BIGINT, __System_End_At STRING, q BIGINT, y BIGINT, op STRING",
               "(1::BIGINT, 'a', 5::BIGINT, 6::BIGINT, 'U')", "AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT");
  assert_rows (bench, "1,a,10,-,100,-");
}

int
main (int argc, char **argv)
{
  DuckEngineOptions options = { .n_threads = 1, .least_cached_rows = 1 };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/autocdc/apply/repeat", test_repeat);
  g_test_add_func ("/autocdc/apply/nothing", test_nothing);
  g_test_add_func ("/autocdc/apply/rows-of-many-files", test_rows_of_many_files);
  g_test_add_func ("/autocdc/apply/late-events-are-counted", test_late_events_are_counted);
  g_test_add_func ("/autocdc/apply/truncate", test_truncate);
  g_test_add_func ("/autocdc/apply/truncate-takes-fields", test_truncate_takes_fields);
  g_test_add_func ("/autocdc/apply/truncate-removes-whole-files", test_truncate_removes_whole_files);
  g_test_add_func ("/autocdc/apply/bad-truncates-write-nothing", test_bad_truncates_write_nothing);
  g_test_add_func ("/autocdc/apply/another-writer-is-truncated", test_another_writer_is_truncated);
  g_test_add_func ("/autocdc/apply/where-is-a-promise", test_where_is_a_promise);
  g_test_add_func ("/autocdc/apply/where-of-touched-rows", test_where_of_touched_rows);
  g_test_add_func ("/autocdc/apply/another-writer-wins", test_another_writer_wins);
  g_test_add_func ("/autocdc/apply/old-tombstones-go", test_old_tombstones_go);
  g_test_add_func ("/autocdc/apply/no-retention-in-order", test_no_retention_in_order);
  g_test_add_func ("/autocdc/apply/expiry-revives-nothing", test_expiry_revives_nothing);
  g_test_add_func ("/autocdc/apply/only-age-removes-tombstones", test_only_age_removes_tombstones);
  g_test_add_func ("/autocdc/apply/a-clock-that-goes-back", test_a_clock_that_goes_back);
  g_test_add_func ("/autocdc/apply/inner-members-go", test_inner_members_go);
  g_test_add_func ("/autocdc/apply/untracked-values-of-inner-members", test_untracked_values_of_inner_members);
  g_test_add_func ("/autocdc/apply/drift", test_drift);
  g_test_add_func ("/autocdc/apply/columns-come-and-go", test_columns_come_and_go);
  g_test_add_func ("/autocdc/apply/leaves-are-fields", test_leaves_are_fields);
  g_test_add_func ("/autocdc/apply/leaves-come-and-go", test_leaves_come_and_go);
  g_test_add_func ("/autocdc/apply/leaf-that-is-never-null", test_leaf_that_is_never_null);
  g_test_add_func ("/autocdc/apply/columns-to-update", test_columns_to_update);
  g_test_add_func ("/autocdc/apply/ties-of-fields", test_ties_of_fields);
  g_test_add_func ("/autocdc/apply/many-fields", test_many_fields);
  g_test_add_func ("/autocdc/apply/partial-drift", test_partial_drift);
  g_test_add_func ("/autocdc/apply/files-of-the-past-are-not-read", test_files_of_the_past_are_not_read);
  g_test_add_func ("/autocdc/apply/beliefs-inherit", test_beliefs_inherit);
  g_test_add_func ("/autocdc/apply/anchors-inherit", test_anchors_inherit);
  g_test_add_func ("/autocdc/apply/order-of-map-entries", test_order_of_map_entries);
  g_test_add_func ("/autocdc/apply/several-events-of-a-key", test_several_events_of_a_key);
  g_test_add_func ("/autocdc/apply/events-read-ahead", test_events_read_ahead);
  g_test_add_func ("/autocdc/apply/reading-ahead-in-vain", test_reading_ahead_in_vain);
  g_test_add_func ("/autocdc/apply/rows-that-are-over-lie-apart", test_rows_that_are_over_lie_apart);
  g_test_add_func ("/autocdc/apply/tombstones-over-old-fields-stay", test_tombstones_over_old_fields_stay);
  g_test_add_func ("/autocdc/apply/source-names", test_source_names);
  g_test_add_func ("/autocdc/apply/plain-table-is-refused", test_plain_table_is_refused);
  g_test_add_func ("/autocdc/apply/bad-events-write-nothing", test_bad_events_write_nothing);
  g_test_add_func ("/autocdc/apply/beliefs-that-ended-are-left-alone", test_beliefs_that_ended_are_left_alone);
  g_test_add_func ("/autocdc/apply/belief-returns-at-its-end", test_belief_returns_at_its_end);
  g_test_add_func ("/autocdc/apply/no-fact-of-two-axes-expires", test_no_fact_of_two_axes_expires);
  g_test_add_func ("/autocdc/apply/drift-of-the-system-sequence", test_drift_of_the_system_sequence);
  return target_run_tests (&engine, &options);
}

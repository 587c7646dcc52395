/* Snapshots, one after another: the stated examples of autocdc.md §10 and §11 (O6, D58 to D61), what versions may be, what is refused, and
 * what a crash or a statement leaves for the next one. */
#include "../../../tests/support/tree.h"
#include "autocdc-snapshot.h"
#include "base-error.h"
#include "base-json.h"
#include "duck-type.h"
#include "store.h"
#include "target.h"

#include <glib/gstdio.h>
#include <string.h>

static DuckEngine *engine;

/* One snapshot as a test writes it. */
typedef struct {
  const char *version; /* text; NULL = the value NULL */
  const char *rows;    /* `(1, 'a'), …`; "" = none */
} Given;

typedef struct {
  AutoCdcSnapshots base;
  StoreContext *stores;
  Store *store;
  DeltaTable *table;
  DuckSession *session;
  RelationContext context;
  SqlArena *arena;
  AutoCdcFlow flow;
  GHashTable *properties;
  char *directory;
  const char *schema;       /* DDL of the source */
  const char *version_type; /* DDL of the version */
  gboolean only_changes;
  const Given *given; /* up to one without rows */
  guint at;
  GString *log; /* what became of each: `1`, `3 skipped`, `2 unchanged` */
  AutoCdcOutcome outcome;
} Bench;

static const char *const keys[] = { "id", NULL };

static gboolean
next (AutoCdcSnapshots *snapshots, const AutoCdcVersion *last G_GNUC_UNUSED, AutoCdcSnapshot *snapshot,
      GError **error G_GNUC_UNUSED)
{
  Bench *bench = (Bench *) snapshots;
  const Given *given = &bench->given[bench->at];
  g_autofree char *ddl = g_strdup_printf ("STRUCT<%s>", bench->schema);
  g_autoptr (BaseType) type = target_type (bench->arena, ddl);
  g_autoptr (RelationSource) source = NULL;
  g_autoptr (GString) sql = g_string_new ("SELECT ");

  if (!given->rows)
    return TRUE;
  bench->at++;
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    g_autofree char *column = duck_type_text (base_type_field (type, i)->type);

    if (given->rows[0])
      g_string_append_printf (sql, "%sCAST(col%u AS %s)", i ? ", " : "", i, column);
    else
      g_string_append_printf (sql, "%sCAST(NULL AS %s)", i ? ", " : "", column);
  }
  g_string_append_printf (sql, given->rows[0] ? " FROM (VALUES %s)" : " WHERE false%s", given->rows);
  source = relation_source_new_text ("snapshot", sql->str, type, FALSE);
  snapshot->plan = relation_plan_new_source (source);
  snapshot->version.type = target_type (bench->arena, bench->version_type);
  snapshot->version.text = g_strdup (given->version);
  snapshot->only_changes = bench->only_changes;
  snapshot->read_us = CLOCK_US + bench->at;
  return TRUE;
}

static gboolean
done (AutoCdcSnapshots *snapshots, const AutoCdcSnapshotDone *report, GError **error G_GNUC_UNUSED)
{
  Bench *bench = (Bench *) snapshots;

  g_string_append_printf (bench->log, "%s%s%s", bench->log->len ? ", " : "", report->version->text,
                          report->skipped     ? " skipped"
                          : report->unchanged ? " unchanged"
                                              : "");
  bench->outcome = report->outcome;
  return TRUE;
}

static Bench *
bench_new (AutoCdcType type)
{
  g_autoptr (GError) error = NULL;
  Bench *bench = g_new0 (Bench, 1);

  bench->base = (AutoCdcSnapshots){ .next = next, .done = done };
  bench->directory = g_dir_make_tmp ("snapshot-XXXXXX", &error);
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
  bench->flow = (AutoCdcFlow){ .name = "f", .target = "t", .keys = keys, .type = type, .from_snapshot = TRUE };
  bench->schema = "id INT, x STRING, y INT";
  bench->version_type = "BIGINT";
  bench->log = g_string_new (NULL);
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
  g_string_free (bench->log, TRUE);
  tree_remove (bench->directory);
  g_free (bench->directory);
  g_free (bench);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Bench, bench_free)

static gint64
newest_version (Bench *bench)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (bench->table, NULL, NULL);

  return delta_snapshot_version (snapshot);
}

/* An empty table, as a pipeline sets it up: with the columns of the flow, intervals included. */
static void
create_table (Bench *bench)
{
  g_autofree char *ddl =
      g_strdup_printf (bench->flow.type == AUTOCDC_SCD2 ? "STRUCT<%s, __START_AT: %s, __END_AT: %s>" : "STRUCT<%s>",
                       bench->schema, bench->version_type, bench->version_type);
  g_autoptr (BaseType) schema = target_type (bench->arena, ddl);

  target_create (bench->table, schema, bench->properties, &bench->context);
}

static gboolean
run (Bench *bench, const Given *given, GError **error)
{
  gboolean exists;

  bench->given = given;
  bench->at = 0;
  g_assert_true (delta_table_exists (bench->table, &exists, NULL));
  if (!exists)
    create_table (bench);
  return autocdc_apply_snapshots (bench->table, &bench->flow, NULL, &bench->base, &bench->context, NULL, error);
}

#define GIVE(...) ((const Given[]){ __VA_ARGS__, { NULL, NULL } })
#define END       ((const Given[]){ { NULL, NULL } })

static void
run_ok (Bench *bench, const Given *given)
{
  g_autoptr (GError) error = NULL;

  run (bench, given, &error);
  g_assert_no_error (error);
}

static void
run_fails (Bench *bench, const Given *given, const char *condition)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (run (bench, given, &error));
  g_assert_cmpstr (base_error_condition (error), ==, condition);
}

static void
assert_rows (Bench *bench, const char *want)
{
  g_autofree char *got = target_rows (bench->table, bench->session);

  g_assert_cmpstr (got, ==, want);
}

static void
assert_log (Bench *bench, const char *want)
{
  g_assert_cmpstr (bench->log->str, ==, want);
  g_string_truncate (bench->log, 0);
}

/* ---- the stated examples ---- */

static const char *const not_y[] = { "y", NULL };

static const struct {
  const char *name;
  AutoCdcType type;
  const char *const *track_except;
  const Given *given; /* in one run, or a run each: no difference but where one is skipped */
  const char *rows;
  const char *log; /* in one run; NULL = not looked at */
} stated[] = {
  { "O6a", AUTOCDC_SCD2, NULL, GIVE ({ "0", "(123, 'Isabel', 1), (124, 'Raul', 2)" }),
    "123,Isabel,1,0,-; 124,Raul,2,0,-", "0" },
  { "O6b", AUTOCDC_SCD2, NULL,
    GIVE ({ "0", "(123, 'Isabel', 1), (124, 'Raul', 2)" }, { "1", "(124, 'Raul', 3), (126, 'Lily', 4)" }),
    "123,Isabel,1,0,1; 124,Raul,2,0,1; 124,Raul,3,1,-; 126,Lily,4,1,-", "0, 1" },
  { "O6c", AUTOCDC_SCD1, NULL,
    GIVE ({ "1", "(1, 'v1', 1)" }, { "4", "(1, 'v4', 1)" }, { "3", "(1, 'v3', 1), (2, 'v3', 1)" }), "1,v4,1",
    "1, 4, 3 skipped" },
  { "O6d", AUTOCDC_SCD2, NULL, GIVE ({ "1", "(1, 'A', 1)" }, { "2", "(1, 'C', 1)" }), "1,A,1,1,2; 1,C,1,2,-", "1, 2" },
  { "D58", AUTOCDC_SCD2, NULL, GIVE ({ "1", "(1, 'x', 1), (2, 'y', 1)" }, { "2", "" }, { "3", "(1, 'x', 1)" }),
    "1,x,1,1,2; 1,x,1,3,-; 2,y,1,1,2", "1, 2, 3" },
  { "D59", AUTOCDC_SCD2, NULL, GIVE ({ "1", "(1, 'x', 1)" }, { "1", "(1, 'q', 1)" }, { "2", "(1, 'x', 1)" }),
    "1,x,1,1,-", "1, 1 skipped" },
  { "D60", AUTOCDC_SCD1, NULL, GIVE ({ "1", "(1, 'x', 1), (2, 'y', 1)" }, { "5", "(2, 'z', 1), (3, 'w', 0)" }),
    "2,z,1; 3,w,0", "1, 5" },
  { "D61", AUTOCDC_SCD2, not_y, GIVE ({ "1", "(1, 'x', 1)" }, { "2", "(1, 'x', 2)" }, { "3", "(1, 'y', 3)" }),
    "1,x,2,1,3; 1,y,3,3,-", "1, 2, 3" },
  /* R36, R37: gone, still gone, and back with the values of before. */
  { "R36", AUTOCDC_SCD2, NULL,
    GIVE ({ "1", "(1, 'a', 1), (2, 'b', 2)" }, { "2", "(2, 'b', 2)" }, { "3", "(2, 'b', 2)" },
          { "4", "(1, 'a', 1), (2, 'b', 2)" }),
    "1,a,1,1,2; 1,a,1,4,-; 2,b,2,1,-", "1, 2, 3, 4" },
  { "NULL equals NULL", AUTOCDC_SCD2, NULL,
    GIVE ({ "1", "(1, NULL, 1)" }, { "2", "(1, NULL, 1)" }, { "3", "(1, 'a', 1)" }), "1,-,1,1,3; 1,a,1,3,-",
    "1, 2, 3" },
};

static void
test_stated (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (stated); i++) {
    for (guint apart = 0; apart < 2; apart++) {
      g_autoptr (Bench) bench = bench_new (stated[i].type);

      g_test_message ("%s, %s", stated[i].name, apart ? "a run each" : "in one run");
      g_hash_table_insert (bench->properties, "delta.enableChangeDataFeed", apart ? "true" : "false");
      g_hash_table_insert (bench->properties, "delta.enableDeletionVectors", apart ? "false" : "true");
      bench->flow.track_except = stated[i].track_except;
      for (guint k = 0; apart && stated[i].given[k].rows; k++)
        run_ok (bench, GIVE (stated[i].given[k]));
      if (!apart) {
        run_ok (bench, stated[i].given);
        assert_log (bench, stated[i].log);
      }
      assert_rows (bench, stated[i].rows);
    }
  }
}

/* ---- the smallest change ---- */

static void
test_counts (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  run_ok (bench, GIVE ({ "1", "(1, 'a', 1), (2, 'b', 2), (3, 'c', 3)" }));
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 3);
  g_assert_cmpuint (bench->outcome.n_source_events, ==, 3);
  run_ok (bench, GIVE ({ "2", "(1, 'a', 1), (2, 'B', 2)" })); /* two rows for the change, one for the delete */
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 3);
  g_assert_cmpuint (bench->outcome.n_deleted_rows, ==, 0);
  g_assert_cmpuint (bench->outcome.n_state_rows, ==, 0);
}

static void
test_counts_of_type_one (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  run_ok (bench, GIVE ({ "1", "(1, 'a', 1), (2, 'b', 2), (3, 'c', 3)" }));
  run_ok (bench, GIVE ({ "2", "(1, 'a', 1), (2, 'B', 2), (4, 'd', 4)" }));
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 2);
  g_assert_cmpuint (bench->outcome.n_deleted_rows, ==, 1);
}

/* A version that is a place is not taken without a change; one with a name is, or it would be asked for again. */
static void
test_unchanged (void)
{
  g_autoptr (Bench) places = bench_new (AUTOCDC_SCD2), names = bench_new (AUTOCDC_SCD2);
  gint64 version;

  places->only_changes = TRUE;
  run_ok (places, GIVE ({ "0", "" }));
  g_assert_cmpint (newest_version (places), ==, 0);
  run_ok (places, GIVE ({ "0", "(1, 'a', 1)" }, { "1", "(1, 'a', 1)" }));
  g_assert_cmpint (newest_version (places), ==, 1);
  assert_log (places, "0 unchanged, 0, 1 unchanged");
  run_ok (places, GIVE ({ "1", "(1, 'b', 1)" }));
  assert_rows (places, "1,a,1,0,1; 1,b,1,1,-");

  run_ok (names, GIVE ({ "1", "(1, 'a', 1)" }));
  version = newest_version (names);
  run_ok (names, GIVE ({ "7", "(1, 'a', 1)" }));
  g_assert_cmpint (newest_version (names), ==, version + 1);
  run_ok (names, GIVE ({ "6", "(1, 'b', 1)" }));
  assert_log (names, "1, 7, 6 skipped");
  assert_rows (names, "1,a,1,1,-");
}

static void
test_progress_is_in_the_commit (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (json_t) domain = NULL;
  const json_t *progress;
  const char *text;

  run_ok (bench, GIVE ({ "4", "(1, 'a', 1), (2, 'b', 2)" }));
  snapshot = delta_table_snapshot (bench->table, NULL, NULL);
  text = delta_snapshot_domain (snapshot, AUTOCDC_DOMAIN);
  domain = base_json_parse (text, strlen (text), "domain", NULL);
  progress = json_object_get (domain, "snapshot");
  g_assert_cmpstr (base_json_string (progress, "version"), ==, "4");
  g_assert_cmpint (base_json_int64 (progress, "rows", -1), ==, 2);
  g_assert_cmpint (base_json_int64 (progress, "time", -1), ==, CLOCK_US + 1);
  g_assert_cmpuint (json_array_size (json_object_get (domain, "hiddenColumns")), ==, 0);
  g_assert_cmpuint (json_array_size (json_object_get (domain, "files")), ==, 0);
}

/* ---- what versions may be ---- */

static void
test_version_types (void)
{
  static const struct {
    const char *type;
    const char *low, *high;
  } cases[] = {
    { "BIGINT", "9", "10" },
    { "TINYINT", "-3", "2" },
    { "STRING", "10", "9" }, /* as text */
    { "STRING", "it's", "{x}" },
    { "DOUBLE", "9.5", "NaN" },
    { "FLOAT", "-1.5", "0.1" },
    { "DECIMAL(10,2)", "9.25", "10.00" },
    { "BINARY", "\\x00\\x01", "\\xFF" },
    { "DATE", "2026-01-31", "2026-02-01" },
    { "TIMESTAMP", "2026-01-01 00:00:00.5+00", "2026-01-01 01:00:00+00" },
    { "TIMESTAMP_NTZ", "2026-01-01 00:00:00.000001", "2026-01-01 00:00:00.000002" },
    { "STRUCT<a: INT, b: STRING>", "{'a': 1, 'b': NULL}", "{'a': 1, 'b': x}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
    g_autofree char *log = g_strdup_printf ("%s, %s, %s skipped", cases[i].low, cases[i].high, cases[i].low);

    g_test_message ("%s: %s, %s", cases[i].type, cases[i].low, cases[i].high);
    bench->version_type = cases[i].type;
    run_ok (bench,
            GIVE ({ cases[i].low, "(1, 'a', 1)" }, { cases[i].high, "(1, 'b', 1)" }, { cases[i].low, "(1, 'c', 1)" }));
    assert_log (bench, log);
    run_ok (bench, GIVE ({ cases[i].high, "(1, 'c', 1)" }));
  }
}

static void
test_version_types_that_do_not_fit (void)
{
  static const char *const types[] = { "BOOLEAN", "ARRAY<INT>", "MAP<INT, INT>", "STRUCT<a: BOOLEAN>",
                                       "INTERVAL DAY TO SECOND" };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

    bench->version_type = types[i];
    run_fails (bench, GIVE ({ "1", "(1, 'a', 1)" }), "APPLY_CHANGES_FROM_SNAPSHOT_ERROR.INVALID_SNAPSHOT_VERSION_TYPE");
  }
}

/* ---- what is refused ---- */

static void
test_refusals (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  run_fails (bench, END, "APPLY_CHANGES_FROM_SNAPSHOT_ERROR.FIRST_SNAPSHOT_EMPTY");
  run_fails (bench, GIVE ({ NULL, "(1, 'a', 1)" }),
             "APPLY_CHANGES_FROM_SNAPSHOT_ERROR.INVALID_TUPLE_NULL_SNAPSHOT_VERSION");
  run_ok (bench, GIVE ({ "1", "(1, 'a', 1)" }));
  run_ok (bench, END);
  run_fails (bench, GIVE ({ NULL, "(1, 'a', 1)" }),
             "APPLY_CHANGES_FROM_SNAPSHOT_ERROR.INVALID_TUPLE_NULL_SNAPSHOT_VERSION");
  run_fails (bench, GIVE ({ "2", "(NULL, 'a', 1)" }), "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY");
  bench->version_type = "INT";
  run_fails (bench, GIVE ({ "2", "(1, 'b', 1)" }), "APPLY_CHANGES_FROM_SNAPSHOT_ERROR.INVALID_SNAPSHOT_VERSION_TYPE");
  bench->version_type = "BIGINT";
  assert_rows (bench, "1,a,1,1,-");
}

/* R39: a snapshot with a key twice is refused, the next one runs. */
static void
test_a_key_twice (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);
  g_autoptr (GError) error = NULL;

  run_ok (bench, GIVE ({ "1", "(1, 'a', 1)" }));
  g_assert_false (
      run (bench, GIVE ({ "2", "(3, 'a', 1), (1, 'b', 1), (2, 'c', 1), (2, 'c', 1), (3, 'd', 1)" }), &error));
  g_assert_cmpstr (base_error_condition (error), ==, "APPLY_CHANGES_FROM_SNAPSHOT_ERROR.DUPLICATE_KEY_VIOLATION");
  g_assert_cmpstr (base_error_param (error, "count"), ==, "2");
  g_assert_cmpstr (base_error_param (error, "key"), ==, "(id) = (2)");
  g_assert_cmpstr (base_error_param (error, "flowName"), ==, "f");
  assert_rows (bench, "1,a,1");
  run_ok (bench, GIVE ({ "2", "(1, 'b', 1), (2, 'c', 1)" }));
  assert_rows (bench, "1,b,1; 2,c,1");
}

static void
test_drift (void)
{
  static const char *const other_keys[] = { "x", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);
  g_autoptr (GError) error = NULL;
  const Given *more = GIVE ({ "2", "(1, 'b', 1)" });

  run_ok (bench, GIVE ({ "1", "(1, 'a', 1)" }));
  bench->flow.type = AUTOCDC_SCD1;
  run_fails (bench, more, "AUTOCDC_INVALID_STATE.SCD_TYPE_DRIFT");
  bench->flow.type = AUTOCDC_SCD2;
  bench->flow.keys = other_keys;
  run_fails (bench, more, "AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT");
  bench->flow.keys = keys;
  bench->flow.track_except = not_y;
  run_fails (bench, more, "AUTOCDC_INVALID_STATE.TRACK_HISTORY_DRIFT");
  bench->flow.track_except = NULL;
  bench->flow.from_snapshot = FALSE;
  bench->flow.sequence_by = sql_parse_expression (bench->arena, "CAST(y AS BIGINT)", -1, NULL, &error);
  run_fails (bench, more, "AUTOCDC_INVALID_STATE.SEQUENCING_TYPE_DRIFT");
  bench->flow.from_snapshot = TRUE;
  bench->flow.sequence_by = NULL;
  run_ok (bench, more);
  assert_rows (bench, "1,a,1,1,2; 1,b,1,2,-");
}

/* ---- another writer ---- */

typedef struct {
  Bench *other; /* its own session over the same table */
  const Given *given;
  gboolean done;
} Race;

static void
race_hook (const char *operation, const char *key, gpointer data)
{
  Race *race = data;

  if (race->done || !key || !strstr (key, "_delta_log/00000000000000000002.json") || !strstr (operation, "put"))
    return;
  race->done = TRUE;
  run_ok (race->other, race->given);
}

/* Another snapshot comes between the comparison and the commit: compared again, or not above it any more. */
static void
test_another_writer_wins (void)
{
  static const struct {
    const char *version, *rows, *log;
  } cases[] = { { "2", "1,a,1,1,2; 1,b,1,2,3; 1,c,1,3,-", "1, 3" }, { "4", "1,a,1,1,4; 1,b,1,4,-", "1, 3 skipped" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2), other = bench_new (AUTOCDC_SCD2);
    g_autoptr (GError) error = NULL;
    const Given between[] = { { cases[i].version, "(1, 'b', 1)" }, { NULL, NULL } };
    Race race = { other, between, FALSE };

    run_ok (bench, GIVE ({ "1", "(1, 'a', 1)" }));
    delta_table_unref (other->table);
    store_unref (other->store);
    other->store = store_open (NULL, bench->directory, &error);
    g_assert_no_error (error);
    other->table = delta_table_new (other->store, engine);
    store_context_set_hook (bench->stores, race_hook, &race);
    run_ok (bench, GIVE ({ "3", "(1, 'c', 1)" }));
    store_context_set_hook (bench->stores, NULL, NULL);
    g_assert_true (race.done);
    assert_log (bench, cases[i].log);
    assert_rows (bench, cases[i].rows);
  }
}

/* ---- columns ---- */

static void
test_columns_come_and_go (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  run_ok (bench, GIVE ({ "1", "(1, 'a', 1), (2, 'b', NULL)" }));
  bench->schema = "id INT, X STRING"; /* y is NULL in it */
  run_ok (bench, GIVE ({ "2", "(1, 'a'), (2, 'b')" }));
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 2);
  assert_rows (bench, "1,a,-,2,-; 1,a,1,1,2; 2,b,-,1,-");
  bench->schema = "id INT, x STRING, z INT";
  run_ok (bench, GIVE ({ "3", "(1, 'a', NULL), (2, 'b', 9)" }));
  assert_rows (bench, "1,a,-,-,2,-; 1,a,1,-,1,2; 2,b,-,-,1,3; 2,b,-,9,3,-");
}

static void
test_chosen_columns (void)
{
  static const char *const chosen[] = { "id", "x", NULL };
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  bench->schema = "id INT, x STRING, y INT";
  bench->flow.columns = chosen;
  bench->schema = "id INT, x STRING";
  create_table (bench);
  bench->schema = "id INT, x STRING, y INT";
  run_ok (bench, GIVE ({ "1", "(1, 'a', 1)" }, { "2", "(1, 'a', 2)" }));
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 0);
  assert_rows (bench, "1,a");
}

static void
test_nested_values (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD1);

  bench->schema = "id INT, m MAP<STRING, INT>, s STRUCT<p: DOUBLE, q: ARRAY<INT>>";
  run_ok (bench, GIVE ({ "1", "(1, MAP {'a': 1, 'b': 2}, {'p': 0.0::DOUBLE, 'q': [1, NULL]})" }));
  run_ok (bench, GIVE ({ "2", "(1, MAP {'b': 2, 'a': 1}, {'p': '-0'::DOUBLE, 'q': [1, NULL]})" })); /* the same */
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 0);
  run_ok (bench, GIVE ({ "3", "(1, MAP {'b': 2, 'a': 1}, {'p': 0.0::DOUBLE, 'q': [1, 2]})" }));
  g_assert_cmpuint (bench->outcome.n_upserted_rows, ==, 1);
}

static void
test_only_keys (void)
{
  g_autoptr (Bench) bench = bench_new (AUTOCDC_SCD2);

  bench->schema = "id INT";
  run_ok (bench, GIVE ({ "1", "(1), (2)" }, { "2", "(2), (3)" }));
  assert_rows (bench, "1,1,2; 2,1,-; 3,2,-");
}

int
main (int argc, char **argv)
{
  DuckEngineOptions options = { .n_threads = 1 };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/autocdc/snapshot/stated", test_stated);
  g_test_add_func ("/autocdc/snapshot/counts", test_counts);
  g_test_add_func ("/autocdc/snapshot/counts-of-type-one", test_counts_of_type_one);
  g_test_add_func ("/autocdc/snapshot/unchanged", test_unchanged);
  g_test_add_func ("/autocdc/snapshot/progress-is-in-the-commit", test_progress_is_in_the_commit);
  g_test_add_func ("/autocdc/snapshot/version-types", test_version_types);
  g_test_add_func ("/autocdc/snapshot/version-types-that-do-not-fit", test_version_types_that_do_not_fit);
  g_test_add_func ("/autocdc/snapshot/refusals", test_refusals);
  g_test_add_func ("/autocdc/snapshot/a-key-twice", test_a_key_twice);
  g_test_add_func ("/autocdc/snapshot/drift", test_drift);
  g_test_add_func ("/autocdc/snapshot/another-writer-wins", test_another_writer_wins);
  g_test_add_func ("/autocdc/snapshot/columns-come-and-go", test_columns_come_and_go);
  g_test_add_func ("/autocdc/snapshot/chosen-columns", test_chosen_columns);
  g_test_add_func ("/autocdc/snapshot/nested-values", test_nested_values);
  g_test_add_func ("/autocdc/snapshot/only-keys", test_only_keys);
  return target_run_tests (&engine, &options);
}

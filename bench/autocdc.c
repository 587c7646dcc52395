/* Drives AUTO CDC in one process over prepared Parquet batches and says what each cost, one JSON object on stdout.
 *
 *   bench-autocdc TABLE SOURCE N-BATCHES [--type 1|2|bitemporal] [--legacy-feed] [--ignore-nulls]
 *
 * SOURCE holds base.parquet and batch-0.parquet … with the columns op, id, name, email, city, amount, seq, seen. Where there is no table
 * the base goes in first, as batch 0, timed apart; with 0 batches a process of its own loads it. `seen` is the system sequence of
 * bitemporal targets. After every batch a line `progress: …` goes to stderr.
 */
#include "autocdc.h"

#include "base-error.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "duck-session.h"
#include "relation-kernel.h"
#include "spent.h"
#include "sql-parse.h"
#include "store.h"
#include "write-batch.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_US G_GINT64_CONSTANT (1767225600000000) /* 2026-01-01 */

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  SqlArena *arena;
  BaseType *schema;
  DeltaTable *table;
  RelationContext context;
  AutoCdcFlow flow;
  gint64 batch_id;
  gint64 retention_seconds;
  AutoCdcType type;
  gboolean legacy_feed;
  gboolean ignore_nulls;
  char *next_path; /* (nullable): of the batch after this one */
  AutoCdcPlan *next_plan;
  AutoCdcAhead *next_ahead;
} Bench;

static gboolean
create_table (Bench *bench, const BaseType *schema, GError **error)
{
  g_autoptr (GHashTable) properties = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (DeltaMetadata) metadata = NULL;
  WriteOptions options = { .clock = { CLOCK_US }, .context = &bench->context };
  WriteCommit commit = { .operation = "CREATE TABLE" };
  g_autoptr (WriteBatch) batch = NULL;
  DeltaCommitResult result = { 0 };
  gboolean ok;

  g_hash_table_insert (properties, "delta.enableDeletionVectors", "true");
  g_hash_table_insert (properties, "delta.enableRowTracking", "true");
  if (bench->legacy_feed)
    g_hash_table_insert (properties, "delta.enableChangeDataFeed", "true");
  metadata = delta_metadata_new (schema, NULL, properties, NULL, NULL, CLOCK_US / 1000);
  batch = write_batch_begin (bench->table, NULL, bench->session, &options, error);
  ok = batch != NULL && write_batch_set_metadata (batch, metadata, error) &&
       write_batch_commit (batch, &commit, &result, error);
  delta_commit_result_clear (&result);
  return ok;
}

/* @snapshot: (nullable). */
static AutoCdcPlan *
plan_batch (Bench *bench, const char *path, DeltaSnapshot *snapshot, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT op, id, name, email, city, amount, seq, seen FROM read_parquet(");
  g_autoptr (RelationSource) source = NULL;
  g_autoptr (RelationPlan) rows = NULL;

  base_text_append_sql_literal (sql, path);
  g_string_append_c (sql, ')');
  source = relation_source_new_text ("events", sql->str, bench->schema, TRUE);
  rows = relation_plan_new_source (source);
  return autocdc_plan_new (&bench->flow, rows, snapshot, NULL, &bench->context, error);
}

static gint64
clock_of (gint64 batch_id)
{
  return CLOCK_US + batch_id * G_USEC_PER_SEC;
}

/* As stream_run_available() does: the next batch is read while this one is applied. */
static void
look_ahead (gpointer data)
{
  Bench *bench = data;
  g_autoptr (DeltaSnapshot) snapshot = NULL;

  if (bench->next_path == NULL || (snapshot = delta_table_snapshot (bench->table, NULL, NULL)) == NULL ||
      (bench->next_plan = plan_batch (bench, bench->next_path, snapshot, NULL)) == NULL)
    return;
  AutoCdcBatch next = { .batch_id = bench->batch_id + 1, .clock_us = clock_of (bench->batch_id + 1) };
  bench->next_ahead = autocdc_read_ahead (bench->next_plan, &next, &bench->context);
}

/* What a pipeline does for one micro-batch: analyse and apply; the log is kept by the commit. */
static gboolean
apply (Bench *bench, const char *path, AutoCdcOutcome *outcome, GError **error)
{
  g_autofree char *digest = g_strdup_printf ("%064" G_GINT64_FORMAT, bench->batch_id);
  g_autoptr (AutoCdcPlan) plan = g_steal_pointer (&bench->next_plan);
  g_autoptr (AutoCdcAhead) ahead = g_steal_pointer (&bench->next_ahead);
  AutoCdcBatch batch = { .run_id = "5c1de1ee-0000-4000-8000-000000000001",
                         .batch_id = bench->batch_id,
                         .offsets_digest = digest,
                         .clock_us = clock_of (bench->batch_id),
                         .retention_seconds = bench->retention_seconds,
                         .writing = look_ahead,
                         .data = bench,
                         .ahead = ahead };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  gboolean exists;

  if (!delta_table_exists (bench->table, &exists, error))
    return FALSE;
  if (plan == NULL && exists && (snapshot = delta_table_snapshot (bench->table, NULL, error)) == NULL)
    return FALSE;
  if (plan == NULL)
    plan = plan_batch (bench, path, snapshot, error);
  if (plan == NULL || (!exists && !create_table (bench, autocdc_plan_target_schema (plan), error)) ||
      !autocdc_apply (bench->table, plan, &batch, &bench->context, NULL, outcome, error))
    return FALSE;
  bench->batch_id++;
  return TRUE;
}

static gboolean
open_bench (Bench *bench, const char *location, GError **error)
{
  static const char *const keys[] = { "id", NULL };
  static const char *const except[] = { "op", "seen", NULL };
  g_autoptr (Store) store = store_open (NULL, location, error);

  if (store == NULL || (bench->engine = duck_engine_new (NULL, error)) == NULL ||
      !relation_kernels_register (bench->engine, error) ||
      (bench->session = duck_session_new (bench->engine, error)) == NULL)
    return FALSE;
  bench->arena = sql_arena_new ();
  bench->schema = sql_parse_schema (
      "op STRING, id BIGINT, name STRING, email STRING, city STRING, amount DOUBLE, seq BIGINT, seen BIGINT", -1,
      error);
  bench->table = delta_table_new (store, bench->engine);
  bench->context = (RelationContext){ .now_us = CLOCK_US, .session = bench->session };
  bench->flow = (AutoCdcFlow){ .name = "f",
                               .target = "t",
                               .keys = keys,
                               .except_columns = except,
                               .sequence_by = sql_parse_expression (bench->arena, "seq", -1, NULL, error),
                               .delete_when = sql_parse_expression (bench->arena, "op = 'D'", -1, NULL, error),
                               .ignore_null = bench->ignore_nulls,
                               .type = bench->type };
  if (bench->type == AUTOCDC_BITEMPORAL)
    bench->flow.system_sequence_by = sql_parse_expression (bench->arena, "seen", -1, NULL, error);
  return bench->schema != NULL;
}

static gboolean
run (Bench *bench, const char *location, const char *source, gint64 n_batches, json_t *report, GError **error)
{
  json_t *batches = json_array ();
  g_autofree char *base = g_build_filename (source, "base.parquet", NULL);
  Spent start = spent_now ();
  gboolean loaded;

  json_object_set_new (report, "batches", batches);
  if (!open_bench (bench, location, error))
    return FALSE;
  if (!delta_table_exists (bench->table, &loaded, error))
    return FALSE;
  bench->batch_id = loaded ? 1 : 0;
  for (gint64 i = bench->batch_id - 1; i < n_batches; i++) {
    g_autofree char *name = g_strdup_printf ("batch-%" G_GINT64_FORMAT ".parquet", i);
    g_autofree char *path = i < 0 ? g_strdup (base) : g_build_filename (source, name, NULL);
    g_autofree char *next_name = g_strdup_printf ("batch-%" G_GINT64_FORMAT ".parquet", i + 1);
    AutoCdcOutcome outcome = { 0 };
    json_t *spent;

    g_free (bench->next_path);
    bench->next_path = i + 1 < n_batches ? g_build_filename (source, next_name, NULL) : NULL;
    start = spent_now ();
    if (!apply (bench, path, &outcome, error))
      return FALSE;
    spent = spent_since (&start);
    json_object_set_new (spent, "upserted", json_integer ((json_int_t) outcome.n_upserted_rows));
    json_object_set_new (spent, "deleted", json_integer ((json_int_t) outcome.n_deleted_rows));
    if (i < 0)
      json_object_set_new (report, "load", spent);
    else
      json_array_append_new (batches, spent);
    fprintf (stderr, "progress: batch %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT "\n", i + 1, n_batches);
  }
  json_object_set_new (report, "peak_bytes", json_integer (spent_peak_bytes ()));
  return TRUE;
}

static gboolean
parse_options (Bench *bench, int argc, char **argv)
{
  static const char *const types[] = {
    [AUTOCDC_SCD1] = "1", [AUTOCDC_SCD2] = "2", [AUTOCDC_BITEMPORAL] = "bitemporal"
  };

  for (int i = 4; i < argc; i++) {
    if (strcmp (argv[i], "--legacy-feed") == 0) {
      bench->legacy_feed = TRUE;
    } else if (strcmp (argv[i], "--ignore-nulls") == 0) {
      bench->ignore_nulls = TRUE;
    } else if (strcmp (argv[i], "--type") == 0 && i + 1 < argc) {
      i++;
      bench->type = 0;
      for (guint k = AUTOCDC_SCD1; k < G_N_ELEMENTS (types); k++)
        if (strcmp (argv[i], types[k]) == 0)
          bench->type = k;
    } else {
      return FALSE;
    }
  }
  return bench->type != 0;
}

int
main (int argc, char **argv)
{
  Bench bench = { .retention_seconds = 172800, .type = AUTOCDC_SCD1 };
  json_t *report = json_object ();
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  gint64 n_batches = 0;

  if (argc < 4 || !base_text_parse_int64 (argv[3], &n_batches) || !parse_options (&bench, argc, argv)) {
    fprintf (stderr, "usage: bench-autocdc TABLE SOURCE N-BATCHES [--type 1|2|bitemporal] [--legacy-feed] [--ignore-nulls]\n");
    return 2;
  }
  if (!run (&bench, argv[1], argv[2], n_batches, report, &error)) {
    g_autofree char *message = base_error_format (error);
    fprintf (stderr, "bench-autocdc: %s\n", message);
    return 1;
  }
  text = json_dumps (report, JSON_COMPACT);
  puts (text);
  return 0;
}

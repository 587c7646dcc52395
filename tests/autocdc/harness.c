/* Cases of AUTO CDC through the room's own header, in one process.
 *
 *   test-autocdc-cases --stated | --golden | --seed N --count N | --file PATH   [--threads N]
 *
 * The cases come from tests/model/autocdc_cases.py: per batch the events, the rows that the target must have, the facts that must
 * still be known, and the two metrics. After every batch rows, facts (held by rows or in state files), metrics, row ids and the
 * change feed are compared; at the end of a case its last batch is given once more, as the same batch and as a new one: nothing may change.
 */
#include "../support/tree.h"
#include "autocdc-domain-private.h"
#include "autocdc.h"
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "delta-scan.h"
#include "duck-type.h"
#include "feed.h"
#include "relation-kernel.h"
#include "sql-parse.h"
#include "store.h"
#include "write-batch.h"

#include <glib/gstdio.h>
#include <string.h>

#define CLOCK_US G_GINT64_CONSTANT (1767225600000000) /* 2026-01-01 */

typedef struct {
  DuckEngine *engine;
  char *root;
  GPtrArray *lines;
  gint next;
  gint n_failed;
  gint n_batches;
} Harness;

typedef struct {
  Harness *harness;
  DuckSession *session;
  json_t *json;
  const char *name;
  SqlArena *arena;
  DeltaTable *table;
  AutoCdcFlow flow;
  RelationContext context;
  gint64 batch_id;
  gboolean has_before; /* the row ids of the batch before are in case_before */
} Case;

/* ---- the flow ---- */

/* Names as a front end gives them: each an expression that must be a plain column. */
static gboolean
read_names (Case *c, json_t *list, const char *const **out, GError **error)
{
  const char **names;

  *out = NULL;
  if (!json_is_array (list))
    return TRUE;
  names = sql_arena_new0_n (c->arena, const char *, json_array_size (list) + 1);
  for (gsize i = 0; i < json_array_size (list); i++) {
    SqlExpr *expr = sql_parse_expression (c->arena, json_string_value (json_array_get (list, i)), -1, NULL, error);
    g_autofree char *name = expr ? autocdc_column_name (expr, error) : NULL;

    if (!name)
      return FALSE;
    names[i] = sql_arena_strdup (c->arena, name);
  }
  *out = names;
  return TRUE;
}

static gboolean
parse (Case *c, json_t *text, const SqlExpr **expr, GError **error)
{
  *expr = NULL;
  if (!json_is_string (text))
    return TRUE;
  *expr = sql_parse_expression (c->arena, json_string_value (text), -1, NULL, error);
  return *expr != NULL;
}

static gboolean
read_flow (Case *c, json_t *flow, GError **error)
{
  AutoCdcFlow *out = &c->flow;

  *out = (AutoCdcFlow){ .name = "f", .target = "t", .type = (AutoCdcType) base_json_int64 (flow, "scd", 1) };
  return read_names (c, json_object_get (flow, "keys"), &out->keys, error) &&
         read_names (c, json_object_get (flow, "columns"), &out->columns, error) &&
         read_names (c, json_object_get (flow, "except"), &out->except_columns, error) &&
         read_names (c, json_object_get (flow, "track"), &out->track_history, error) &&
         read_names (c, json_object_get (flow, "track_except"), &out->track_except, error) &&
         parse (c, json_object_get (flow, "sequence"), &out->sequence_by, error) &&
         parse (c, json_object_get (flow, "delete"), &out->delete_when, error);
}

/* ---- the table ---- */

static gboolean
create_table (Case *c, const BaseType *schema, GError **error)
{
  g_autoptr (GHashTable) properties = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (DeltaMetadata) metadata = NULL, tracked = NULL;
  WriteOptions options = { .clock = { CLOCK_US }, .context = &c->context };
  WriteCommit commit = { .operation = "CREATE TABLE" };
  g_autoptr (WriteBatch) batch = NULL;
  DeltaCommitResult result = { 0 };
  const char *key;
  json_t *value;
  gboolean ok;

  json_object_foreach (json_object_get (c->json, "properties"), key, value)
      g_hash_table_insert (properties, (char *) key, (char *) json_string_value (value));
  metadata = delta_metadata_new (schema, NULL, properties, NULL, NULL, CLOCK_US / 1000);
  batch = write_batch_begin (c->table, NULL, c->session, &options, error);
  ok =
      batch && write_batch_set_metadata (batch, metadata, error) && write_batch_commit (batch, &commit, &result, error);
  delta_commit_result_clear (&result);
  return ok;
}

/* ---- comparing ---- */

static gboolean
print_rows (Case *c, const char *title, const char *sql)
{
  g_autofree char *all =
      g_strdup_printf ("SELECT coalesce(string_agg(t::VARCHAR, '\n    '), '(none)') FROM (%s) t", sql);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  if (!duck_session_query_string (c->session, all, NULL, &text, &error))
    g_print ("  %s: %s\n", title, error->message);
  else
    g_print ("  %s:\n    %s\n", title, text);
  return FALSE;
}

static gboolean
fail (Case *c, guint number, const char *what)
{
  g_print ("# FAILED %s, batch %u: %s\n", c->name, number, what);
  return FALSE;
}

/* Rows of @a that @b lacks; @all counts how often. */
static gboolean
is_empty (Case *c, const char *a, const char *b, gboolean all, gint64 *n, GError **error)
{
  g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM ((%s) EXCEPT %s (%s))", a, all ? "ALL" : "", b);

  return duck_session_query_int64 (c->session, sql, NULL, n, NULL, error);
}

static char *
bit_test (const char *column, int field)
{
  if (field < 0)
    return g_strdup ("false");
  return g_strdup_printf ("CASE WHEN octet_length(%s) > %d THEN get_bit(%s::BIT, %d) = 1 ELSE false END", column,
                          field / 8, column, field / 8 * 8 + 7 - field % 8);
}

typedef struct {
  json_t *batch;
  guint number;
  DeltaSnapshot *snapshot;
  AutoCdcDomain *domain;
} Check;

/* case_rows: the target's rows with names k<j>, f<i> (fields in the case's order), st, en, hs, hb, rid. */
static gboolean
load_rows (Case *c, Check *check, GError **error)
{
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  json_t *fields = json_object_get (check->batch, "fields"),
         *keys = json_object_get (json_object_get (c->json, "flow"), "keys");
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DeltaScanColumn));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (BaseType) binary = base_type_simple (BASE_TYPE_BINARY);
  DeltaScanHidden hidden[] = { { check->domain->hidden_sequence, check->domain->sequence_type, "hs" },
                               { check->domain->hidden_set, binary, "hb" } };
  DeltaScanRequest request = { .hidden = hidden, .n_hidden = 2, .row_id_name = "rid" };
  g_autoptr (DeltaScan) scan = NULL;
  g_autofree char *sql = NULL, *sequence = duck_type_text (check->domain->sequence_type);
  const struct {
    json_t *list;
    char letter;
  } groups[] = { { keys, 'k' }, { fields, 'f' } };

  for (guint g = 0; g < G_N_ELEMENTS (groups); g++)
    for (gsize i = 0; i < json_array_size (groups[g].list); i++) {
      const char *name = json_string_value (json_array_get (groups[g].list, i));
      DeltaScanColumn column = { .column = (guint) base_type_field_index (schema, name, TRUE),
                                 .name = g_strdup_printf ("%c%zu", groups[g].letter, i) };

      g_ptr_array_add (names, (char *) column.name);
      g_array_append_val (columns, column);
    }
  if (c->flow.type == AUTOCDC_SCD2) {
    DeltaScanColumn start = { .column = (guint) base_type_field_index (schema, "__START_AT", TRUE), .name = "st" };
    DeltaScanColumn end = { .column = (guint) base_type_field_index (schema, "__END_AT", TRUE), .name = "en" };

    g_array_append_val (columns, start);
    g_array_append_val (columns, end);
  }
  request.columns = (DeltaScanColumn *) (gpointer) columns->data;
  request.n_columns = columns->len;
  if (!(scan = delta_scan_new (check->snapshot, &request, NULL, error)))
    return FALSE;
  if (c->flow.type == AUTOCDC_SCD2)
    sql = g_strdup_printf ("CREATE OR REPLACE TEMP TABLE case_rows AS SELECT * FROM (%s)", delta_scan_sql (scan));
  else
    sql =
        g_strdup_printf ("CREATE OR REPLACE TEMP TABLE case_rows AS SELECT *, NULL::%s AS st, NULL::%s AS en FROM (%s)",
                         sequence, sequence, delta_scan_sql (scan));
  return duck_session_execute (c->session, sql, NULL, error);
}

static gboolean
check_rows (Case *c, Check *check, GError **error)
{
  const char *want = base_json_string (check->batch, "rows");
  json_t *names = json_object_get (check->batch, "columns");
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DeltaScanColumn));
  g_autoptr (GPtrArray) aliases = g_ptr_array_new_with_free_func (g_free);
  DeltaScanRequest request = { 0 };
  g_autoptr (DeltaScan) scan = NULL;
  gint64 n_more, n_less;

  if (!want)
    return TRUE;
  if (base_type_n_fields (schema) != json_array_size (names))
    return fail (c, check->number, "the target has another number of columns");
  for (gsize i = 0; i < json_array_size (names); i++) {
    int index = base_type_field_index (schema, json_string_value (json_array_get (names, i)), TRUE);
    DeltaScanColumn column = { .column = (guint) index, .name = g_strdup_printf ("c%zu", i) };

    g_ptr_array_add (aliases, (char *) column.name);
    if (index < 0)
      return fail (c, check->number, "the target lacks a column");
    g_array_append_val (columns, column);
  }
  request.columns = (DeltaScanColumn *) (gpointer) columns->data;
  request.n_columns = columns->len;
  if (!(scan = delta_scan_new (check->snapshot, &request, NULL, error)) ||
      !is_empty (c, delta_scan_sql (scan), want, TRUE, &n_more, error) ||
      !is_empty (c, want, delta_scan_sql (scan), TRUE, &n_less, error))
    return FALSE;
  if (n_more + n_less == 0)
    return TRUE;
  fail (c, check->number, "rows differ");
  print_rows (c, "got", delta_scan_sql (scan));
  return print_rows (c, "want", want);
}

/* A SELECT of k<j>, s, d, a<i>, v<i> from rows and state files. */
static char *
held_facts (Case *c, Check *check)
{
  json_t *fields = json_object_get (check->batch, "fields");
  g_autoptr (GString) keys = g_string_new (NULL), row = g_string_new (NULL), none = g_string_new (NULL),
                      state = g_string_new (NULL);
  g_autoptr (GString) files = g_string_new (NULL), join = g_string_new (NULL);
  guint n_keys = g_strv_length ((char **) c->flow.keys);

  for (guint i = 0; i < n_keys; i++) {
    g_string_append_printf (keys, "k%u, ", i);
    g_string_append_printf (join, " AND q.k%u = r.k%u", i, i);
  }
  for (gsize i = 0; i < json_array_size (fields); i++) {
    int field = autocdc_domain_field (check->domain, json_string_value (json_array_get (fields, i)));
    g_autofree char *in_row = bit_test ("hb", field), *in_state = bit_test ("\"set\"", field);

    g_string_append_printf (row, ", %s, CASE WHEN %s THEN f%zu END", in_row, in_row, i);
    g_string_append (none, ", false, NULL");
    g_string_append_printf (state, ", %s, f%d", in_state, field);
  }
  for (guint i = 0; i < check->domain->files->len; i++) {
    g_autofree char *path =
        store_local_path (delta_table_store (c->table), ((AutoCdcStateFile *) check->domain->files->pdata[i])->path);

    g_string_append_printf (files, "%s'%s'", i ? ", " : "", path);
  }
  g_autoptr (GString) all = g_string_new (NULL);

  g_string_append_printf (all, "SELECT %shs, false%s FROM case_rows WHERE hb IS NOT NULL", keys->str, row->str);
  g_string_append_printf (
      all,
      " UNION SELECT %sen, true%s FROM case_rows r WHERE en IS NOT NULL AND NOT EXISTS (SELECT 1 FROM case_rows q"
      " WHERE q.st = r.en%s)",
      keys->str, none->str, join->str);
  if (files->len > 0) {
    g_autoptr (GString) fill = g_string_new (NULL);

    /* Files older than a field lack its column. */
    for (guint i = 0; i < check->domain->fields->len; i++)
      g_string_append_printf (
          fill, " UNION ALL BY NAME SELECT f%u FROM (SELECT v AS f%u FROM case_field_%u) WHERE false", i, i, i);
    g_string_append_printf (
        all, " UNION SELECT %sseq, kind = 1%s FROM (SELECT * FROM read_parquet([%s], union_by_name = true)%s)",
        keys->str, state->str, files->str, fill->str);
  }
  return g_string_free (g_steal_pointer (&all), FALSE);
}

/* Empty tables case_field_<i> with the type of the domain's field i. */
static gboolean
make_field_tables (Case *c, Check *check, GError **error)
{
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  g_autoptr (GString) sql = g_string_new (NULL);

  for (guint i = 0; i < check->domain->fields->len; i++) {
    int column = base_type_field_index (schema, check->domain->fields->pdata[i], TRUE);
    g_autofree char *type = duck_type_text (base_type_field (schema, (guint) column)->type);

    g_string_append_printf (sql, "CREATE OR REPLACE TEMP TABLE case_field_%u(v %s);", i, type);
  }
  return sql->len == 0 || duck_session_execute (c->session, sql->str, NULL, error);
}

static gboolean
check_facts (Case *c, Check *check, GError **error)
{
  const char *needed = base_json_string (check->batch, "facts_needed"),
             *all = base_json_string (check->batch, "facts_all");
  g_autofree char *held = NULL, *table = NULL;
  gint64 n_lost, n_invented;

  if (!make_field_tables (c, check, error))
    return FALSE;
  held = held_facts (c, check);
  table = g_strdup_printf ("CREATE OR REPLACE TEMP TABLE case_held AS %s", held);
  if (!duck_session_execute (c->session, table, NULL, error) ||
      !is_empty (c, needed, "SELECT * FROM case_held", FALSE, &n_lost, error) ||
      !is_empty (c, "SELECT * FROM case_held", all, FALSE, &n_invented, error))
    return FALSE;
  if (n_lost + n_invented == 0)
    return TRUE;
  fail (c, check->number, n_lost ? "facts were lost" : "facts were invented");
  print_rows (c, "held", "SELECT * FROM case_held");
  print_rows (c, "needed", needed);
  return print_rows (c, "all", all);
}

/* `a.k0 = b.k0 AND … AND a.st IS NOT DISTINCT FROM b.st`: what makes two rows the same row. */
static char *
identity (Case *c)
{
  GString *same = g_string_new ("a.st IS NOT DISTINCT FROM b.st");

  for (guint i = 0; c->flow.keys[i]; i++)
    g_string_append_printf (same, " AND a.k%u = b.k%u", i, i);
  return g_string_free (same, FALSE);
}

/* case_before with the columns of case_rows. */
static gboolean
fit_before (Case *c, GError **error)
{
  const char *sql = c->has_before ? "CREATE OR REPLACE TEMP TABLE case_before AS SELECT * FROM case_before"
                                    " UNION ALL BY NAME SELECT * FROM case_rows WHERE false"
                                  : "CREATE OR REPLACE TEMP TABLE case_before AS SELECT * FROM case_rows WHERE false";

  return duck_session_execute (c->session, sql, NULL, error);
}

/* The same identity keeps its row id; a new one gets an id that no row had in the batch before. */
static gboolean
check_row_ids (Case *c, Check *check, GError **error)
{
  g_autofree char *same = identity (c), *sql = NULL;
  gint64 n_bad = 0;

  if (!delta_metadata_row_tracking (delta_snapshot_metadata (check->snapshot)))
    return TRUE;
  sql = g_strdup_printf (
      "SELECT (SELECT count(*) FROM case_before a JOIN case_rows b ON %s WHERE a.rid IS DISTINCT FROM b.rid)"
      " + (SELECT count(*) FROM case_rows b JOIN case_before a ON a.rid = b.rid WHERE NOT (%s))"
      " + (SELECT count(*) - count(DISTINCT rid) FROM case_rows)",
      same, same);
  if (!duck_session_query_int64 (c->session, sql, NULL, &n_bad, NULL, error))
    return FALSE;
  if (n_bad == 0)
    return TRUE;
  fail (c, check->number, "row ids do not follow the identity of rows");
  print_rows (c, "before", "SELECT * FROM case_before");
  return print_rows (c, "after", "SELECT * FROM case_rows");
}

/* The table's columns as `x.k0, …, x.f0, …, x.st, x.en` (without @table's dot when it is ""). */
static char *
row_list (Case *c, Check *check, const char *table)
{
  GString *out = g_string_new (NULL);
  const char *dot = *table ? "." : "";

  for (guint i = 0; c->flow.keys[i]; i++)
    g_string_append_printf (out, "%s%s%sk%u", i ? ", " : "", table, dot, i);
  for (gsize i = 0; i < json_array_size (json_object_get (check->batch, "fields")); i++)
    g_string_append_printf (out, ", %s%sf%zu", table, dot, i);
  if (c->flow.type == AUTOCDC_SCD2)
    g_string_append_printf (out, ", %s%sst, %s%sen", table, dot, table, dot);
  return g_string_free (out, FALSE);
}

/* A SELECT of the changes between case_before and case_rows. */
static char *
wanted_changes (Case *c, Check *check)
{
  g_autofree char *same = identity (c), *a = row_list (c, check, "a"), *b = row_list (c, check, "b");

  return g_strdup_printf (
      "SELECT %s, 'delete' FROM case_before a WHERE NOT EXISTS (SELECT 1 FROM case_rows b WHERE %s)"
      " UNION ALL SELECT %s, 'insert' FROM case_rows b WHERE NOT EXISTS (SELECT 1 FROM case_before a WHERE %s)"
      " UNION ALL SELECT %s, 'update_preimage' FROM case_before a JOIN case_rows b ON %s"
      " WHERE ROW(%s) IS DISTINCT FROM ROW(%s)"
      " UNION ALL SELECT %s, 'update_postimage' FROM case_before a JOIN case_rows b ON %s"
      " WHERE ROW(%s) IS DISTINCT FROM ROW(%s)",
      a, same, b, same, a, same, a, b, b, same, a, b);
}

/* The recorded feed of the batch's commit is the difference by identity, and nothing else. */
static gboolean
check_feed (Case *c, Check *check, const AutoCdcOutcome *outcome, GError **error)
{
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  json_t *fields = json_object_get (check->batch, "fields");
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DeltaScanColumn));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  FeedRequest range_request = { .start = { FEED_BOUND_VERSION, outcome->version },
                                .end = { FEED_BOUND_VERSION, outcome->version } };
  FeedScanRequest request = { 0 };
  g_autoptr (FeedRange) range = NULL;
  g_autoptr (FeedScan) scan = NULL;
  g_autofree char *want = NULL;
  gint64 n_more, n_less;

  if (!delta_metadata_change_feed (delta_snapshot_metadata (check->snapshot)) || outcome->version < 0)
    return TRUE;
  for (guint i = 0; c->flow.keys[i]; i++)
    g_ptr_array_add (names, g_strdup (c->flow.keys[i]));
  for (gsize i = 0; i < json_array_size (fields); i++)
    g_ptr_array_add (names, g_strdup (json_string_value (json_array_get (fields, i))));
  if (c->flow.type == AUTOCDC_SCD2) {
    g_ptr_array_add (names, g_strdup ("__START_AT"));
    g_ptr_array_add (names, g_strdup ("__END_AT"));
  }
  for (guint i = 0; i < names->len; i++) {
    DeltaScanColumn column = { .column = (guint) base_type_field_index (schema, names->pdata[i], TRUE),
                               .name = names->pdata[i] };

    g_array_append_val (columns, column);
  }
  g_array_append_val (columns, ((DeltaScanColumn){ base_type_n_fields (schema), FEED_CHANGE_TYPE }));
  request.columns = (DeltaScanColumn *) (gpointer) columns->data;
  request.n_columns = columns->len;
  if (!(range = feed_range_new (c->table, &range_request, NULL, NULL, error)) ||
      !(scan = feed_scan_new (range, &request, NULL, error)))
    return FALSE;
  want = wanted_changes (c, check);
  if (!is_empty (c, feed_scan_sql (scan), want, TRUE, &n_more, error) ||
      !is_empty (c, want, feed_scan_sql (scan), TRUE, &n_less, error))
    return FALSE;
  if (n_more + n_less == 0)
    return TRUE;
  fail (c, check->number, "the change feed differs");
  print_rows (c, "got", feed_scan_sql (scan));
  return print_rows (c, "want", want);
}

static gboolean
keep_before (Case *c, GError **error)
{
  c->has_before = TRUE;
  return duck_session_execute (c->session, "CREATE OR REPLACE TEMP TABLE case_before AS SELECT * FROM case_rows", NULL,
                               error);
}

static gboolean
check_metrics (Case *c, Check *check, const AutoCdcOutcome *outcome)
{
  gint64 upserted = base_json_int64 (check->batch, "upserted", -1),
         deleted = base_json_int64 (check->batch, "deleted", -1);
  g_autofree char *text = NULL;

  if ((gint64) outcome->n_upserted_rows == upserted && (gint64) outcome->n_deleted_rows == deleted)
    return TRUE;
  text = g_strdup_printf ("metrics: upserted %" G_GUINT64_FORMAT " for %" G_GINT64_FORMAT ", deleted %" G_GUINT64_FORMAT
                          " for %" G_GINT64_FORMAT,
                          outcome->n_upserted_rows, upserted, outcome->n_deleted_rows, deleted);
  return fail (c, check->number, text);
}

/* ---- running ---- */

static gboolean
apply (Case *c, json_t *json, gint64 batch_id, AutoCdcOutcome *outcome, GError **error)
{
  g_autoptr (BaseType) schema = base_type_from_json (json_object_get (json, "schema"), error);
  g_autoptr (RelationSource) source = NULL;
  g_autoptr (RelationPlan) rows = NULL;
  g_autoptr (AutoCdcPlan) plan = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  AutoCdcBatch batch = { .run_id = "5c1de1ee-0000-4000-8000-000000000001",
                         .batch_id = batch_id,
                         .offsets_digest = "0123456789abcdef",
                         .clock_us = CLOCK_US + batch_id * G_USEC_PER_SEC,
                         .retention_seconds = base_json_int64 (c->json, "retention", -1) };
  gboolean exists;

  if (!schema || !delta_table_exists (c->table, &exists, error))
    return FALSE;
  source = relation_source_new_text ("events", base_json_string (json, "events"), schema, TRUE);
  rows = relation_plan_new_source (source);
  if (exists && !(snapshot = delta_table_snapshot (c->table, NULL, error)))
    return FALSE;
  if (!(plan = autocdc_plan_new (&c->flow, rows, snapshot, NULL, &c->context, error)))
    return FALSE;
  if (!exists && !create_table (c, autocdc_plan_target_schema (plan), error))
    return FALSE;
  return autocdc_apply (c->table, plan, &batch, &c->context, NULL, outcome, error);
}

/* What a full refresh does before it reads its sources again: one commit that empties the target and its memory. */
static gboolean
reset (Case *c, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (c->table, NULL, error);
  WriteOptions options = { .clock = { CLOCK_US }, .context = &c->context };
  WriteCommit commit = { .operation = "TRUNCATE", .reads_table = TRUE };
  g_autoptr (WriteBatch) batch = NULL;
  DeltaCommitResult result = { 0 };
  gboolean ok;

  if (!snapshot || !(batch = write_batch_begin (c->table, snapshot, c->session, &options, error)))
    return FALSE;
  delta_transaction_set_domain (write_batch_transaction (batch), AUTOCDC_DOMAIN, NULL);
  ok = write_batch_remove_all (batch, NULL, error) && write_batch_commit (batch, &commit, &result, error);
  delta_commit_result_clear (&result);
  return ok;
}

/* The batch must end with a condition. */
static gboolean
check_error (Case *c, json_t *json, guint number, gboolean ok, GError **error)
{
  const char *want = base_json_string (json, "error");
  gboolean right;
  g_autofree char *text = NULL;

  if (ok)
    return fail (c, number, "no error");
  right = g_strcmp0 (base_error_condition (*error), want) == 0;
  text = g_strdup_printf ("error %s for %s", base_error_condition (*error), want);
  if (right)
    g_clear_error (error);
  return right || fail (c, number, text);
}

static gboolean
check_memory (Case *c, Check *check, const AutoCdcOutcome *outcome, GError **error)
{
  const char *text = delta_snapshot_domain (check->snapshot, AUTOCDC_DOMAIN);
  g_autoptr (AutoCdcDomain) domain = NULL;

  if (!base_json_string (check->batch, "facts_needed"))
    return TRUE;
  if (!text)
    return fail (c, check->number, "no domain");
  if (!(domain = autocdc_domain_parse (text, error)))
    return FALSE;
  check->domain = domain;
  return load_rows (c, check, error) && check_facts (c, check, error) && fit_before (c, error) &&
         check_row_ids (c, check, error) && check_feed (c, check, outcome, error) &&
         check_metrics (c, check, outcome) && keep_before (c, error);
}

static gboolean
run_batch (Case *c, json_t *json, guint number, GError **error)
{
  AutoCdcOutcome outcome = { 0 };
  Check check = { .batch = json, .number = number };
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  json_t *flow = json_object_get (json, "flow");
  gboolean ok = TRUE;

  if (json_is_true (json_object_get (json, "reset")) && !reset (c, error))
    return FALSE;
  if (flow)
    ok = read_flow (c, flow, error);
  if (ok && base_json_string (json, "events"))
    ok = apply (c, json, c->batch_id++, &outcome, error);
  if (base_json_string (json, "error"))
    return check_error (c, json, number, ok, error);
  if (!ok || !(snapshot = delta_table_snapshot (c->table, NULL, error)))
    return FALSE;
  check.snapshot = snapshot;
  g_atomic_int_inc (&c->harness->n_batches);
  return check_rows (c, &check, error) && check_memory (c, &check, &outcome, error);
}

static gboolean
run_again (Case *c, json_t *json, guint number, GError **error)
{
  AutoCdcOutcome outcome;

  if (!base_json_string (json, "facts_needed"))
    return TRUE;
  if (!apply (c, json, c->batch_id - 1, &outcome, error))
    return FALSE;
  if (outcome.version != -1)
    return fail (c, number, "the same batch again made a commit");
  if (!apply (c, json, c->batch_id, &outcome, error))
    return FALSE;
  if (outcome.version != -1)
    return fail (c, number, "a redelivered batch made a commit");
  return TRUE;
}

static gboolean
run_case (Case *c, const char *root, GError **error)
{
  json_t *batches = json_object_get (c->json, "batches");
  g_autoptr (Store) store = store_open (NULL, root, error);

  if (!store)
    return FALSE;
  c->table = delta_table_new (store, c->harness->engine);
  c->context = (RelationContext){ .now_us = CLOCK_US, .session = c->session };
  if (!json_is_true (json_object_get (c->json, "golden")) && !read_flow (c, json_object_get (c->json, "flow"), error))
    return FALSE;
  for (gsize i = 0; i < json_array_size (batches); i++)
    if (!run_batch (c, json_array_get (batches, i), (guint) i, error))
      return FALSE;
  return run_again (c, json_array_get (batches, json_array_size (batches) - 1), (guint) json_array_size (batches),
                    error);
}

static void
run_line (Harness *harness, DuckSession *session, guint number)
{
  g_autoptr (GError) error = NULL;
  const char *line = harness->lines->pdata[number];
  g_autoptr (json_t) json = base_json_parse (line, strlen (line), "case", &error);
  g_autofree char *root = g_strdup_printf ("%s/%u", harness->root, number);
  Case c = { .harness = harness, .session = session, .json = json, .arena = sql_arena_new () };

  c.name = json ? base_json_string (json, "name") : "?";
  if (!json || !run_case (&c, root, &error)) {
    g_atomic_int_inc (&harness->n_failed);
    if (error) {
      g_autofree char *text = base_error_format (error);

      g_print ("# FAILED %s: %s\n", c.name, text);
      if (base_error_param (error, "sql"))
        g_print ("# %s\n", base_error_param (error, "sql"));
    }
  }
  delta_table_unref (c.table);
  sql_arena_unref (c.arena);
  if (!g_getenv ("SLUICE_KEEP"))
    tree_remove (root);
}

static gpointer
run_thread (gpointer data)
{
  Harness *harness = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (harness->engine, &error);

  g_assert_no_error (error);
  while (TRUE) {
    gint number = g_atomic_int_add (&harness->next, 1);

    if (number >= (gint) harness->lines->len)
      return NULL;
    run_line (harness, session, (guint) number);
  }
}

/* ---- the list of cases ---- */

static void
add_lines (Harness *harness, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i]; i++)
    if (*lines[i])
      g_ptr_array_add (harness->lines, g_strdup (lines[i]));
}

static void
generate (Harness *harness, const char *name, char **arguments)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *script =
      g_build_filename (g_getenv ("SLUICE_SOURCE") ? g_getenv ("SLUICE_SOURCE") : ".", "tests/model", name, NULL);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autofree char *out = NULL;
  gint status;

  g_ptr_array_add (argv, (char *) "python3");
  g_ptr_array_add (argv, script);
  for (guint i = 0; arguments[i]; i++)
    g_ptr_array_add (argv, arguments[i]);
  g_ptr_array_add (argv, NULL);
  g_spawn_sync (NULL, (char **) argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
  add_lines (harness, out);
}

/* Returns: FALSE when there are none. */
static gboolean
add_golden (Harness *harness)
{
  const char *source = g_getenv ("SLUICE_SOURCE") ? g_getenv ("SLUICE_SOURCE") : ".";
  g_autofree char *beside = g_build_filename (source, "..", "shared", NULL);
  g_autofree char *directory =
      g_build_filename (g_getenv ("SLUICE_SHARED") ? g_getenv ("SLUICE_SHARED") : beside, "golden", "autocdc", NULL);

  if (!g_file_test (directory, G_FILE_TEST_IS_DIR))
    return FALSE;
  generate (harness, "autocdc_golden.py", (char *[]){ directory, NULL });
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  Harness harness = { .lines = g_ptr_array_new_with_free_func (g_free) };
  g_autofree char *file = NULL;
  gboolean stated = FALSE, golden = FALSE;
  gint seed = 0, count = 0, n_threads = 2;
  GOptionEntry entries[] = { { "stated", 0, 0, G_OPTION_ARG_NONE, &stated, "the specification's examples", NULL },
                             { "golden", 0, 0, G_OPTION_ARG_NONE, &golden, "recorded cases of the shared directory",
                               NULL },
                             { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "first seed; 0 = draw one", "N" },
                             { "count", 0, 0, G_OPTION_ARG_INT, &count, "random cases", "N" },
                             { "file", 0, 0, G_OPTION_ARG_FILENAME, &file, "cases of a file", "PATH" },
                             { "threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "sessions at once", "N" },
                             { NULL, 0, 0, 0, NULL, NULL, NULL } };
  g_autoptr (GOptionContext) options = g_option_context_new (NULL);
  DuckEngineOptions engine = { .n_threads = 1 };
  GThread *threads[16];

  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, &error))
    g_error ("%s", error->message);
  if (seed == 0)
    seed = g_random_int_range (1, 100000000);
  if (stated)
    generate (&harness, "autocdc_cases.py", (char *[]){ (char *) "--stated", NULL });
  if (count > 0) {
    g_autofree char *a = g_strdup_printf ("%d", seed), *b = g_strdup_printf ("%d", count);

    g_print ("# random cases: --seed %d --count %d\n", seed, count);
    generate (&harness, "autocdc_cases.py", (char *[]){ (char *) "--seed", a, (char *) "--count", b, NULL });
  }
  if (golden && !add_golden (&harness)) {
    g_print ("1..0 # SKIP no golden cases below SLUICE_SHARED\n");
    return g_getenv ("SLUICE_REQUIRE_SHARED") ? 1 : 0;
  }
  if (file) {
    g_autofree char *text = NULL;

    g_file_get_contents (file, &text, NULL, &error);
    g_assert_no_error (error);
    add_lines (&harness, text);
  }
  harness.root = g_dir_make_tmp ("autocdc-XXXXXX", &error);
  g_assert_no_error (error);
  harness.engine = duck_engine_new (&engine, &error);
  g_assert_no_error (error);
  relation_kernels_register (harness.engine, &error);
  g_assert_no_error (error);
  n_threads = CLAMP (n_threads, 1, 16);
  gint64 begin = g_get_monotonic_time ();

  for (gint i = 0; i < n_threads; i++)
    threads[i] = g_thread_new ("cases", run_thread, &harness);
  for (gint i = 0; i < n_threads; i++)
    g_thread_join (threads[i]);
  g_print ("# %u cases, %d batches, %d failed, %.1f s\n", harness.lines->len, harness.n_batches, harness.n_failed,
           (double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC);
  g_print ("1..1\n%sok 1 - autocdc cases\n", harness.n_failed ? "not " : "");
  duck_engine_unref (harness.engine);
  if (!g_getenv ("SLUICE_KEEP"))
    tree_remove (harness.root);
  g_free (harness.root);
  g_ptr_array_unref (harness.lines);
  return harness.n_failed ? 1 : 0;
}

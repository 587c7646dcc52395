/* Cases of AUTO CDC through the room's own header, in one process.
 *
 *   test-autocdc-cases --stated | --golden | --seed N --count N | --file PATH   [--threads N]
 *
 * The cases come from tests/model/autocdc_cases.py, whose head describes them: per batch the events, the rows that the target must have,
 * the facts that must still be known, and the two metrics. After every batch, and after every maintenance between batches, rows, facts (held by
 * rows or in state files), metrics, row ids and the change feed are compared; at the end of a case its last batch is given once more, as the
 * same batch and as a new one: nothing may change.
 */
#include "../support/tree.h"
#include "autocdc-snapshot.h"
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "delta-scan.h"
#include "duck-type.h"
#include "feed.h"
#include "maintenance.h"
#include "relation-kernel.h"
#include "sql-parse.h"
#include "store-context.h"
#include "store.h"
#include "write-batch.h"

#include <glib/gstdio.h>
#include <string.h>

#define RUN_ID   "5c1de1ee-0000-4000-8000-00000000000%u"
#define CLOCK_US G_GINT64_CONSTANT (1767225600000000) /* 2026-01-01 */
#define MAX_RUNS 4
#define SLICE    500

typedef struct {
  DuckEngine *engine;
  char *root;
  GPtrArray *lines;
  gint next;
  guint n_cases; /* done */
  gint n_failed;
  gint n_batches;
} Harness;

typedef struct {
  Harness *harness;
  DuckSession *session;
  DuckSession *checks; /* for the harness's own tables and statements */
  json_t *json;
  const char *name;
  SqlArena *arena;
  StoreContext *faults;
  Store *store;
  DeltaTable *table;
  AutoCdcFlow flow;
  RelationContext context;
  gint64 batch_ids[MAX_RUNS]; /* the next one of every flow into the target */
  json_t *batch;              /* (nullable): the last one, borrowed */
  guint n_loaded; /* batches whose rows were loaded: those of the last one are in case_rows_<(n_loaded - 1) % 2> */
  guint n_columns_before;
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

  *out = (AutoCdcFlow){ .name = "f",
                        .target = "t",
                        .type = (AutoCdcType) base_json_int64 (flow, "scd", 1),
                        .ignore_null = json_is_true (json_object_get (flow, "ignore_null")),
                        .columns_to_update = base_json_string (flow, "to_update"),
                        .from_snapshot = json_is_true (json_object_get (flow, "snapshot")) };
  return read_names (c, json_object_get (flow, "keys"), &out->keys, error) &&
         read_names (c, json_object_get (flow, "columns"), &out->columns, error) &&
         read_names (c, json_object_get (flow, "except"), &out->except_columns, error) &&
         read_names (c, json_object_get (flow, "track"), &out->track_history, error) &&
         read_names (c, json_object_get (flow, "track_except"), &out->track_except, error) &&
         read_names (c, json_object_get (flow, "ignore_null"), &out->ignore_null_columns, error) &&
         read_names (c, json_object_get (flow, "ignore_null_except"), &out->ignore_null_except, error) &&
         parse (c, json_object_get (flow, "sequence"), &out->sequence_by, error) &&
         parse (c, json_object_get (flow, "system"), &out->system_sequence_by, error) &&
         parse (c, json_object_get (flow, "delete"), &out->delete_when, error) &&
         parse (c, json_object_get (flow, "truncate"), &out->truncate_when, error);
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
  json_t *partition = json_object_get (c->json, "partition");
  const char **by = sql_arena_new0_n (c->arena, const char *, json_array_size (partition) + 1);
  const char *key;
  json_t *value;
  gboolean ok;

  json_object_foreach (json_object_get (c->json, "properties"), key, value)
      g_hash_table_insert (properties, (char *) key, (char *) json_string_value (value));
  for (gsize i = 0; i < json_array_size (partition); i++)
    by[i] = json_string_value (json_array_get (partition, i));
  metadata =
      delta_metadata_new (schema, json_array_size (partition) ? by : NULL, properties, NULL, NULL, CLOCK_US / 1000);
  batch = write_batch_begin (c->table, NULL, c->session, &options, error);
  ok =
      batch && write_batch_set_metadata (batch, metadata, error) && write_batch_commit (batch, &commit, &result, error);
  delta_commit_result_clear (&result);
  return ok;
}

/* ---- comparing ---- */

/* What can be wrong after a batch, in the order of telling. */
enum { WRONG_ROWS, WRONG_LOST, WRONG_INVENTED, WRONG_ROW_IDS, WRONG_FEED, N_WRONG };

/* Texts are SELECTs. Names of a target's columns in them: k<j> keys, st, en, ys, ye the intervals, f<i> the others by position. */
typedef struct {
  Case *c;
  json_t *batch;
  guint number;
  DeltaSnapshot *snapshot;
  json_t *domain;     /* (nullable) */
  GPtrArray *names;   /* of the target's columns, as the case orders them */
  GPtrArray *aliases; /* the same columns in texts */
  char *got;          /* the target's rows */
  char *held;         /* facts that rows and state files hold */
  FeedScan *feed;     /* (nullable): the commit's recorded changes */
  char *changes;      /* (nullable): those that it should have */
} Check;

static void
check_clear (Check *check)
{
  g_clear_pointer (&check->names, g_ptr_array_unref);
  g_clear_pointer (&check->aliases, g_ptr_array_unref);
  g_clear_pointer (&check->domain, json_decref);
  g_clear_pointer (&check->feed, feed_scan_unref);
  g_free (check->got);
  g_free (check->held);
  g_free (check->changes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Check, check_clear)

static gboolean
print_rows (Case *c, const char *title, const char *sql)
{
  g_autofree char *all =
      g_strdup_printf ("SELECT coalesce(string_agg(t::VARCHAR, '\n    '), '(none)') FROM (%s) t", sql);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  if (!duck_session_query_string (c->checks, all, NULL, &text, &error))
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

/* A SELECT of how many different rows stand in @a and @b unequally often: planned once, where two EXCEPT ALL plan both sides twice.
 * Grouping and EXCEPT have one equality: NULLs are equal, NaNs are, 0.0 and -0.0 are. */
static char *
count_differences (const char *a, const char *b)
{
  return g_strdup_printf ("SELECT count(*) FROM (SELECT * EXCLUDE (case_side) FROM (SELECT *, 1 AS case_side FROM (%s)"
                          " UNION ALL SELECT *, -1 FROM (%s)) GROUP BY ALL HAVING sum(case_side) <> 0)",
                          a, b);
}

static char *
bit_test (const char *column, int field)
{
  if (field < 0)
    return g_strdup ("false");
  return g_strdup_printf ("CASE WHEN octet_length(%s) > %d THEN get_bit(%s::BIT, %d) = 1 ELSE false END", column,
                          field / 8, column, field / 8 * 8 + 7 - field % 8);
}

static int
json_index (json_t *list, const char *name)
{
  for (gsize i = 0; i < json_array_size (list); i++)
    if (g_str_equal (json_string_value (json_array_get (list, i)), name))
      return (int) i;
  return -1;
}

static char *
alias_of (Check *check, const char *name, guint position)
{
  static const char *const intervals[][2] = {
    { "__START_AT", "st" }, { "__END_AT", "en" }, { "__SYSTEM_START_AT", "ys" }, { "__SYSTEM_END_AT", "ye" }
  };
  int key = json_index (json_object_get (json_object_get (check->c->json, "flow"), "keys"), name);

  for (guint i = 0; i < G_N_ELEMENTS (intervals); i++)
    if (g_str_equal (name, intervals[i][0]) && check->c->flow.type != AUTOCDC_SCD1)
      return g_strdup (intervals[i][1]);
  return key >= 0 ? g_strdup_printf ("k%d", key) : g_strdup_printf ("f%u", position);
}

/* The alias of a column of the case. */
static const char *
alias_by_name (Check *check, const char *name)
{
  for (guint i = 0; i < check->names->len; i++)
    if (g_str_equal (check->names->pdata[i], name))
      return check->aliases->pdata[i];
  g_error ("%s: there is no column %s", check->c->name, name);
}

/* The target's columns must be those of the case. Returns: (nullable): what a scan is asked for; NULL = the check failed. */
static GArray *
target_columns (Check *check)
{
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  json_t *names = json_object_get (check->batch, "columns");
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DeltaScanColumn));

  check->names = g_ptr_array_new_with_free_func (g_free);
  check->aliases = g_ptr_array_new_with_free_func (g_free);
  if (base_type_n_fields (schema) != json_array_size (names)) {
    fail (check->c, check->number, "the target has another number of columns");
    return NULL;
  }
  for (guint i = 0; i < json_array_size (names); i++) {
    const char *name = json_string_value (json_array_get (names, i));
    int index = base_type_field_index (schema, name, TRUE);
    DeltaScanColumn column = { .column = (guint) index, .name = alias_of (check, name, i) };

    g_ptr_array_add (check->names, g_strdup (name));
    g_ptr_array_add (check->aliases, (char *) column.name);
    if (index < 0) {
      fail (check->c, check->number, "the target lacks a column");
      return NULL;
    }
    g_array_append_val (columns, column);
  }
  return g_steal_pointer (&columns);
}

/* `k0, …, f0, …, st, en` in the order of the case. */
static char *
row_list (Check *check)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < check->aliases->len; i++)
    g_string_append_printf (out, "%s%s", i ? ", " : "", (char *) check->aliases->pdata[i]);
  return g_string_free (out, FALSE);
}

/* `k0, …, st, ys`: what makes two rows the same row. */
static char *
identity (Check *check)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; check->c->flow.keys[i]; i++)
    g_string_append_printf (out, "%sk%u", i ? ", " : "", i);
  if (check->c->flow.type != AUTOCDC_SCD1)
    g_string_append (out, ", st");
  if (check->c->flow.type == AUTOCDC_BITEMPORAL)
    g_string_append (out, ", ys");
  return g_string_free (out, FALSE);
}

/* ---- structs whose leaves are fields ---- */

/* Appends `struct_pack("p" := …)` of @type at @path, leaf by leaf. */
static void
append_hollow (GString *out, const char *path, const BaseType *type)
{
  if (base_type_kind (type) != BASE_TYPE_STRUCT) {
    g_string_append (out, path);
    return;
  }
  g_string_append (out, "struct_pack(");
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    g_autofree char *inner = g_strdup_printf ("%s.\"%s\"", path, field->name);

    g_string_append_printf (out, "%s\"%s\" := ", i ? ", " : "", field->name);
    append_hollow (out, inner, field->type);
  }
  g_string_append_c (out, ')');
}

/* `*`, with structs of NULLs for NULL structs in columns whose leaves are fields: the two are equal there. */
static char *
whole_columns (Check *check)
{
  json_t *fields = json_object_get (check->batch, "fields");
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GString *out = g_string_new ("*");

  for (gsize i = 0; i < json_array_size (fields); i++) {
    json_t *path = json_array_get (fields, i);
    const char *name = json_string_value (json_array_get (path, 0));
    const BaseType *type;
    g_autofree char *text = NULL, *whole = NULL;

    if (json_array_size (path) < 2 || !g_hash_table_add (seen, (char *) name))
      continue;
    type = base_type_field (schema, (guint) base_type_field_index (schema, name, TRUE))->type;
    text = duck_type_text (type);
    whole = g_strdup_printf ("(%s::%s)", alias_by_name (check, name), text); /* rows of before may lack leaves */
    g_string_append (out, g_hash_table_size (seen) > 1 ? ", " : " REPLACE (");
    append_hollow (out, whole, type);
    g_string_append_printf (out, " AS %s", alias_by_name (check, name));
  }
  if (g_hash_table_size (seen) > 0)
    g_string_append_c (out, ')');
  return g_string_free (out, FALSE);
}

/* ---- rows and facts ---- */

/* (nullable): the hidden column of the domain that holds @what. */
static const char *
hidden_column (Check *check, const char *what)
{
  json_t *columns = json_object_get (check->domain, "hiddenColumns");

  for (gsize i = 0; i < json_array_size (columns); i++)
    if (g_strcmp0 (base_json_string (json_array_get (columns, i), "holds"), what) == 0)
      return base_json_string (json_array_get (columns, i), "name");
  return NULL;
}

/* case_rows_<0 or 1>: the target's rows with what it hides: hs, hb, rid. */
static gboolean
load_rows (Check *check, GArray *columns, GError **error)
{
  Case *c = check->c;
  const char *sequence = hidden_column (check, "sequence"), *set = hidden_column (check, "set");
  g_autoptr (BaseType) binary = base_type_simple (BASE_TYPE_BINARY);
  g_autoptr (BaseType) type =
      sequence ? base_type_from_json (json_object_get (check->domain, "sequenceType"), error) : NULL;
  DeltaScanHidden hidden[] = { { sequence, type, "hs" }, { set, binary, "hb" } };
  DeltaScanRequest request = { .columns = (DeltaScanColumn *) (gpointer) columns->data,
                               .n_columns = columns->len,
                               .hidden = hidden,
                               .n_hidden = sequence ? 2 : 0,
                               .row_id_name = "rid" };
  g_autoptr (DeltaScan) scan = NULL;
  g_autofree char *sql = NULL, *whole = whole_columns (check);

  if ((sequence && !type) || !(scan = delta_scan_new (check->snapshot, &request, NULL, error)))
    return FALSE;
  sql = g_strdup_printf ("CREATE OR REPLACE TEMP TABLE case_rows_%u AS SELECT %s FROM (%s)", c->n_loaded % 2, whole,
                         delta_scan_sql (scan));
  return duck_session_execute (c->checks, sql, NULL, error);
}

/* The rows after the batch before with the columns of now, and how many of them are counted once as @side. */
static char *
rows_before (Check *check, const char *columns, const char *side)
{
  Case *c = check->c;
  BaseType *schema = delta_snapshot_schema (check->snapshot);
  g_autoptr (GString) added = g_string_new (NULL);
  g_autofree char *whole = NULL;

  if (c->n_loaded == 0)
    return g_strdup_printf ("SELECT %s, %s FROM case_rows_0 WHERE false", columns, side);
  for (guint i = 0; i < check->names->len; i++) {
    const char *alias = check->aliases->pdata[i];
    int column = base_type_field_index (schema, check->names->pdata[i], TRUE);
    g_autofree char *type = duck_type_text (base_type_field (schema, (guint) column)->type);

    if (*alias == 'f' && i >= c->n_columns_before)
      g_string_append_printf (added, ", NULL::%s AS %s", type, alias);
  }
  whole = whole_columns (check);
  return g_strdup_printf ("SELECT %s, %s FROM (SELECT %s FROM (SELECT *%s FROM case_rows_%u))", columns, side, whole,
                          added->str, (c->n_loaded + 1) % 2);
}

/* The type of the field at @path. */
static const BaseType *
field_type (Check *check, json_t *path)
{
  const BaseType *type = delta_snapshot_schema (check->snapshot);

  for (gsize i = 0; i < json_array_size (path); i++) {
    int index = base_type_field_index (type, json_string_value (json_array_get (path, i)), FALSE);

    g_assert_cmpint (index, >=, 0);
    type = base_type_field (type, (guint) index)->type;
  }
  return type;
}

/* The number of a field in the domain, -1 = none. */
static int
domain_field (Check *check, json_t *path)
{
  json_t *fields = json_object_get (check->domain, "fields");

  for (gsize i = 0; i < json_array_size (fields); i++)
    if (json_equal (json_array_get (fields, i), path))
      return (int) i;
  return -1;
}

/* Facts of state files; those older than a field lack its column. */
static void
append_state (Check *check, GString *all, const char *keys, const char *facts)
{
  json_t *files = json_object_get (check->domain, "files"), *fields = json_object_get (check->domain, "fields");
  g_autoptr (GString) paths = g_string_new (NULL), fill = g_string_new (NULL);

  for (gsize i = 0; i < json_array_size (files); i++) {
    g_autofree char *path = store_local_path (check->c->store, json_string_value (json_array_get (files, i)));

    g_string_append_printf (paths, "%s'%s'", i ? ", " : "", path);
  }
  for (gsize i = 0; i < json_array_size (fields); i++) {
    g_autofree char *type = duck_type_text (field_type (check, json_array_get (fields, i)));

    g_string_append_printf (fill, "%sNULL::%s AS f%zu", i ? ", " : "", type, i);
  }
  g_string_append_printf (all,
                          "%sSELECT %sseq%s, kind = 1%s FROM (SELECT * FROM read_parquet([%s], union_by_name = true)",
                          all->len ? " UNION ALL " : "", keys,
                          check->c->flow.type == AUTOCDC_BITEMPORAL ? ", system" : "", facts, paths->str);
  if (fill->len > 0)
    g_string_append_printf (all, " UNION ALL BY NAME SELECT * FROM (SELECT %s) WHERE false", fill->str);
  g_string_append_c (all, ')');
}

/* A row's fact, and of SCD 2 the delete at its end when no row begins there. */
static void
append_held_by_rows (Check *check, GString *all, const char *keys, const char *row)
{
  Case *c = check->c;
  guint now = c->n_loaded % 2;
  g_autoptr (GString) join = g_string_new (NULL), none = g_string_new (NULL);

  g_string_append_printf (all, "SELECT %shs, false%s FROM case_rows_%u WHERE hb IS NOT NULL", keys, row, now);
  if (c->flow.type != AUTOCDC_SCD2)
    return;
  for (guint i = 0; c->flow.keys[i]; i++)
    g_string_append_printf (join, " AND q.k%u = r.k%u", i, i);
  for (gsize i = 0; i < json_array_size (json_object_get (check->batch, "fields")); i++)
    g_string_append (none, ", false, NULL");
  g_string_append_printf (all,
                          " UNION ALL SELECT %sen, true%s FROM case_rows_%u r ANTI JOIN case_rows_%u q"
                          " ON q.st = r.en%s WHERE en IS NOT NULL",
                          keys, none->str, now, now, join->str);
}

/* Whether events author some fields only: facts are then compared field by field. */
static gboolean
is_partial (Case *c)
{
  return c->flow.ignore_null || c->flow.ignore_null_columns || c->flow.ignore_null_except || c->flow.columns_to_update;
}

/* Of a SELECT of facts one row that the fact is there, and one for every field that it authors. */
static void
split_facts (Check *check, GString *facts, const char *keys, gsize n_fields)
{
  g_autofree char *place = g_strdup_printf ("%ss%s, d", keys, check->c->flow.type == AUTOCDC_BITEMPORAL ? ", y" : "");
  g_autoptr (GString) names = g_string_new (place);
  g_autofree char *all = NULL;

  for (gsize i = 0; i < n_fields; i++)
    g_string_append_printf (names, ", a%zu, v%zu", i, i);
  all = g_strdup_printf ("(SELECT %s FROM (%s) case_facts(%s))", names->str, facts->str, names->str);
  g_string_truncate (facts, 0);
  for (gsize part = 0; part <= n_fields; part++) {
    g_string_append_printf (facts, "%sSELECT %s", part ? " UNION ALL " : "", place);
    for (gsize i = 0; i < n_fields; i++)
      if (i == part)
        g_string_append_printf (facts, ", true, v%zu", i);
      else
        g_string_append (facts, ", false, NULL");
    g_string_append_printf (facts, " FROM %s", all);
    if (part < n_fields)
      g_string_append_printf (facts, " WHERE a%zu", part);
  }
}

/* A SELECT of k<j>, s, y (bitemporal), d, a<i>, v<i> from rows and state files. (nullable): nothing holds facts. */
static char *
held_facts (Check *check)
{
  json_t *fields = json_object_get (check->batch, "fields");
  g_autoptr (GString) keys = g_string_new (NULL), row = g_string_new (NULL), state = g_string_new (NULL);
  GString *all = g_string_new (NULL);

  for (guint i = 0; check->c->flow.keys[i]; i++)
    g_string_append_printf (keys, "k%u, ", i);
  for (gsize i = 0; i < json_array_size (fields); i++) {
    json_t *path = json_array_get (fields, i);
    int field = domain_field (check, path);
    g_autofree char *in_row = bit_test ("hb", field), *in_state = bit_test ("\"set\"", field);

    g_string_append_printf (row, ", %s, CASE WHEN %s THEN %s", in_row, in_row,
                            alias_by_name (check, json_string_value (json_array_get (path, 0))));
    for (gsize j = 1; j < json_array_size (path); j++)
      g_string_append_printf (row, ".\"%s\"", json_string_value (json_array_get (path, j)));
    g_string_append (row, " END");
    if (field < 0)
      g_string_append (state, ", false, NULL");
    else
      g_string_append_printf (state, ", %s, f%d", in_state, field);
  }
  if (hidden_column (check, "set"))
    append_held_by_rows (check, all, keys->str, row->str);
  if (json_array_size (json_object_get (check->domain, "files")) > 0)
    append_state (check, all, keys->str, state->str);
  if (all->len > 0 && is_partial (check->c))
    split_facts (check, all, keys->str, json_array_size (fields));
  return g_string_free (all, FALSE);
}

/* A SELECT of how many needed facts are not held, and how many held ones are not known. */
static char *
count_facts (Check *check)
{
  if (!base_json_string (check->batch, "facts"))
    return g_strdup ("SELECT 0, 0");
  if (!*check->held)
    return g_strdup_printf ("SELECT count(*), 0 FROM (%s) WHERE needed", base_json_string (check->batch, "facts"));
  return g_strdup_printf (
      "SELECT count(*) FILTER (WHERE is_needed AND NOT is_held), count(*) FILTER (WHERE is_held AND NOT is_known) FROM"
      " (SELECT * EXCLUDE (needed, case_held), bool_or(needed) AS is_needed, bool_or(case_held) AS is_held,"
      " bool_or(NOT case_held) AS is_known FROM (SELECT *, false AS case_held FROM (%s)"
      " UNION ALL SELECT *, false, true FROM (%s)) GROUP BY ALL)",
      base_json_string (check->batch, "facts"), check->held);
}

/* The same identity keeps its row id; a new one gets an id that no row had in the batch before. So over both batches there are as many
 * identities and as many ids as pairs of them, and no id twice now. */
static char *
count_row_ids (Check *check)
{
  g_autofree char *same = identity (check), *before = NULL;

  /* With another batch beside it an identity can go and come again. */
  if (!delta_metadata_row_tracking (delta_snapshot_metadata (check->snapshot)) ||
      json_is_object (json_object_get (check->batch, "beside")))
    return g_strdup ("SELECT 0");
  before = rows_before (check, same, "rid, false AS case_now");
  return g_strdup_printf ("SELECT count(*) FILTER (WHERE case_now) - count(DISTINCT rid) FILTER (WHERE case_now)"
                          " + 2 * count(DISTINCT ROW(%s, rid)) - count(DISTINCT ROW(%s)) - count(DISTINCT rid)"
                          " FROM (%s UNION ALL SELECT %s, rid, true FROM case_rows_%u)",
                          same, same, before, same, check->c->n_loaded % 2);
}

/* A SELECT of the changes between the rows before and now: rows that stand on one side only; both sides of one identity are an update. */
static char *
wanted_changes (Check *check)
{
  g_autofree char *same = identity (check), *list = row_list (check), *before = NULL;

  before = rows_before (check, list, "-1 AS case_side");
  return g_strdup_printf (
      "SELECT * EXCLUDE (case_side), CASE WHEN count(*) OVER (PARTITION BY %s) = 2"
      " THEN CASE WHEN case_side < 0 THEN 'update_preimage' ELSE 'update_postimage' END"
      " WHEN case_side < 0 THEN 'delete' ELSE 'insert' END AS change FROM"
      " (SELECT * EXCLUDE (case_side), sum(case_side) AS case_side FROM (%s UNION ALL SELECT %s, 1 FROM case_rows_%u)"
      " GROUP BY ALL HAVING sum(case_side) <> 0)",
      same, before, list, check->c->n_loaded % 2);
}

/* The feed of the versions from the outcome's to @end, when the table has one. */
static gboolean
open_feed (Check *check, GArray *columns, const AutoCdcOutcome *outcome, gint64 end, GError **error)
{
  FeedRequest range_request = { .start = { FEED_BOUND_VERSION, outcome->version }, .end = { FEED_BOUND_VERSION, end } };
  DeltaScanColumn type = { base_type_n_fields (delta_snapshot_schema (check->snapshot)), FEED_CHANGE_TYPE };
  FeedScanRequest request = { 0 };
  g_autoptr (FeedRange) range = NULL;

  if (outcome->version < 0 || (!delta_metadata_change_feed (delta_snapshot_metadata (check->snapshot)) &&
                               !delta_metadata_row_tracking (delta_snapshot_metadata (check->snapshot))))
    return TRUE;
  g_array_append_val (columns, type);
  request.columns = (DeltaScanColumn *) (gpointer) columns->data;
  request.n_columns = columns->len;
  return (range = feed_range_new (check->c->table, &range_request, NULL, NULL, error)) &&
         (check->feed = feed_scan_new (range, &request, NULL, error));
}

/* The feed of the batch's commit is the difference by identity, and nothing else. */
static gboolean
find_changes (Check *check, GArray *columns, const AutoCdcOutcome *outcome, GError **error)
{
  if (!open_feed (check, columns, outcome, outcome->version, error))
    return FALSE;
  if (check->feed)
    check->changes = wanted_changes (check);
  return TRUE;
}

static char *
changes_of_feed (Check *check)
{
  g_autofree char *whole = whole_columns (check);

  return g_strdup_printf ("SELECT %s FROM (%s)", whole, feed_scan_sql (check->feed));
}

/* All counts in one statement. */
static gboolean
count_wrong (Check *check, gint64 *counts, GError **error)
{
  g_autofree char *rows = count_differences (check->got, base_json_string (check->batch, "rows")),
                  *facts = count_facts (check), *ids = count_row_ids (check),
                  *changes = check->feed ? changes_of_feed (check) : NULL,
                  *feed = check->feed ? count_differences (changes, check->changes) : NULL;
  g_autofree char *sql =
      g_strdup_printf ("SELECT * FROM (%s), (%s), (%s), (%s)", rows, facts, ids, feed ? feed : "SELECT 0");
  g_autoptr (DuckResult) result = duck_session_query_materialized (check->c->checks, sql, NULL, error);
  const DuckChunk *chunk;

  if (!result || !duck_result_next (result, &chunk, error))
    return FALSE;
  g_assert_true (chunk && chunk->n_rows == 1 && chunk->n_columns == N_WRONG);
  for (guint i = 0; i < N_WRONG; i++) {
    g_assert_false (duck_vector_is_null (&chunk->columns[i], 0));
    counts[i] = duck_vector_int64 (&chunk->columns[i], 0);
  }
  return TRUE;
}

static gboolean
tell_rows (Check *check, const char *got)
{
  fail (check->c, check->number, "rows differ");
  print_rows (check->c, "got", got);
  return print_rows (check->c, "want", base_json_string (check->batch, "rows"));
}

static gboolean
tell_wrong (Check *check, const gint64 *counts)
{
  Case *c = check->c;
  g_autofree char *now = g_strdup_printf ("SELECT * FROM case_rows_%u", c->n_loaded % 2),
                  *before = rows_before (check, "*", "0"), *changes = NULL;

  if (counts[WRONG_ROWS])
    return tell_rows (check, check->got);
  if (counts[WRONG_LOST] || counts[WRONG_INVENTED]) {
    fail (c, check->number, counts[WRONG_LOST] ? "facts were lost" : "facts were invented");
    print_rows (c, "held", check->held);
    return print_rows (c, "known and needed", base_json_string (check->batch, "facts"));
  }
  if (counts[WRONG_ROW_IDS]) {
    fail (c, check->number, "row ids do not follow the identity of rows");
    print_rows (c, "before", before);
    return print_rows (c, "after", now);
  }
  fail (c, check->number, "the change feed differs");
  changes = changes_of_feed (check);
  print_rows (c, "got", changes);
  return print_rows (c, "want", check->changes);
}

static gboolean
check_metrics (Check *check, const AutoCdcOutcome *outcome)
{
  gint64 upserted = base_json_int64 (check->batch, "upserted", -1),
         deleted = base_json_int64 (check->batch, "deleted", -1);
  g_autofree char *text = NULL;

  if ((gint64) outcome->n_upserted_rows == upserted && (gint64) outcome->n_deleted_rows == deleted)
    return TRUE;
  text = g_strdup_printf ("metrics: upserted %" G_GUINT64_FORMAT " for %" G_GINT64_FORMAT ", deleted %" G_GUINT64_FORMAT
                          " for %" G_GINT64_FORMAT,
                          outcome->n_upserted_rows, upserted, outcome->n_deleted_rows, deleted);
  return fail (check->c, check->number, text);
}

/* Cases that know nothing but rows. */
static gboolean
check_rows (Check *check, GArray *columns, GError **error)
{
  const char *want = base_json_string (check->batch, "rows");
  DeltaScanRequest request = { .columns = (DeltaScanColumn *) (gpointer) columns->data, .n_columns = columns->len };
  g_autoptr (DeltaScan) scan = delta_scan_new (check->snapshot, &request, NULL, error);
  g_autofree char *sql = scan ? count_differences (delta_scan_sql (scan), want) : NULL;
  gint64 n;

  if (!scan || !duck_session_query_int64 (check->c->checks, sql, NULL, &n, NULL, error))
    return FALSE;
  return n == 0 || tell_rows (check, delta_scan_sql (scan));
}

static gboolean
check_all (Check *check, GArray *columns, const AutoCdcOutcome *outcome, GError **error)
{
  Case *c = check->c;
  const char *text = delta_snapshot_domain (check->snapshot, AUTOCDC_DOMAIN);
  g_autofree char *list = row_list (check);
  gint64 counts[N_WRONG];

  if (!text)
    return fail (c, check->number, "no domain");
  if (!(check->domain = base_json_parse (text, strlen (text), AUTOCDC_DOMAIN, error)) ||
      !load_rows (check, columns, error))
    return FALSE;
  check->got = g_strdup_printf ("SELECT %s FROM case_rows_%u", list, c->n_loaded % 2);
  check->held = held_facts (check);
  if (!find_changes (check, columns, outcome, error) || !count_wrong (check, counts, error))
    return FALSE;
  for (guint i = 0; i < N_WRONG; i++)
    if (counts[i] != 0)
      return tell_wrong (check, counts);
  c->n_loaded++;
  c->n_columns_before = check->aliases->len - (c->flow.type == AUTOCDC_SCD1 ? 0 : c->flow.type == AUTOCDC_SCD2 ? 2 : 4);
  return TRUE;
}

/* ---- running ---- */

static guint
run_of (json_t *json)
{
  guint run = (guint) base_json_int64 (json, "run", 0);

  g_assert_cmpuint (run, <, MAX_RUNS);
  return run;
}

static gint64
clock_of (Case *c, json_t *json)
{
  return CLOCK_US + base_json_int64 (json, "clock", c->batch_ids[0]) * G_USEC_PER_SEC;
}

/* The target's newest version; it is made when it is not there. @snapshot: (out) (nullable): NULL = it was just made. */
static gboolean
open_target (Case *c, RelationPlan *rows, DeltaSnapshot **snapshot, GError **error)
{
  g_autoptr (AutoCdcPlan) plan = NULL;
  gboolean exists;

  if (!delta_table_exists (c->table, &exists, error))
    return FALSE;
  if (exists)
    return (*snapshot = delta_table_snapshot (c->table, NULL, error)) != NULL;
  return (plan = autocdc_plan_new (&c->flow, rows, NULL, NULL, &c->context, error)) &&
         create_table (c, autocdc_plan_target_schema (plan), error);
}

/* ---- snapshots ---- */

typedef struct {
  AutoCdcSnapshots base;
  Case *c;
  RelationPlan *rows;
  AutoCdcVersion version;
  gboolean given;
  AutoCdcOutcome *outcome;
} OneSnapshot;

static gboolean
give_snapshot (AutoCdcSnapshots *snapshots, const AutoCdcVersion *last G_GNUC_UNUSED, AutoCdcSnapshot *snapshot,
               GError **error G_GNUC_UNUSED)
{
  OneSnapshot *one = (OneSnapshot *) snapshots;

  if (one->given)
    return TRUE;
  one->given = TRUE;
  *snapshot = (AutoCdcSnapshot){ .plan = relation_plan_ref (one->rows),
                                 .version = { base_type_ref (one->version.type), g_strdup (one->version.text) },
                                 .read_us = CLOCK_US };
  return TRUE;
}

static gboolean
take_outcome (AutoCdcSnapshots *snapshots, const AutoCdcSnapshotDone *done, GError **error G_GNUC_UNUSED)
{
  if (!done->skipped)
    *((OneSnapshot *) snapshots)->outcome = done->outcome;
  return TRUE;
}

static gboolean
apply_snapshot (Case *c, json_t *json, RelationPlan *rows, AutoCdcOutcome *outcome, GError **error)
{
  OneSnapshot one = {
    .base = { .next = give_snapshot, .done = take_outcome }, .c = c, .rows = rows, .outcome = outcome
  };
  g_autofree char *sql = g_strdup_printf ("SELECT (%s)::VARCHAR", base_json_string (json, "version"));
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  gboolean ok;

  *outcome = (AutoCdcOutcome){ .version = -1 };
  if (!(one.version.type = base_type_from_json (json_object_get (json, "version_type"), error)))
    return FALSE;
  c->flow.version_type = one.version.type;
  ok = duck_session_query_string (c->session, sql, NULL, &one.version.text, error) &&
       open_target (c, rows, &snapshot, error) &&
       autocdc_apply_snapshots (c->table, &c->flow, NULL, &one.base, &c->context, NULL, error);
  c->flow.version_type = NULL;
  autocdc_version_clear (&one.version);
  return ok;
}

static gboolean
apply (Case *c, json_t *json, gint64 batch_id, AutoCdcOutcome *outcome, GError **error)
{
  g_autoptr (BaseType) schema = base_type_from_json (json_object_get (json, "schema"), error);
  g_autofree char *run_id = g_strdup_printf (RUN_ID, run_of (json) + 1);
  g_autoptr (RelationSource) source = NULL;
  g_autoptr (RelationPlan) rows = NULL;
  g_autoptr (AutoCdcPlan) plan = NULL;
  g_autoptr (AutoCdcAhead) ahead = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  gboolean is_snapshot = base_json_string (json, "version") != NULL;
  AutoCdcBatch batch = { .run_id = run_id,
                         .batch_id = batch_id,
                         .offsets_digest = "0123456789abcdef",
                         .clock_us = clock_of (c, json),
                         .retention_seconds = base_json_int64 (c->json, "retention", -1),
                         .rows_apart = batch_id % 2,
                         .kept_bytes = (guint64[]){ 0, 8, 0, 400 }[batch_id % 4] }; /* temporary tables, rounds */

  if (!schema)
    return FALSE;
  source = relation_source_new_text ("events", base_json_string (json, "events"), schema, !is_snapshot);
  rows = relation_plan_new_source (source);
  if (is_snapshot)
    return apply_snapshot (c, json, rows, outcome, error);
  if (!open_target (c, rows, &snapshot, error) ||
      !(plan = autocdc_plan_new (&c->flow, rows, snapshot, NULL, &c->context, error)))
    return FALSE;
  if (batch_id % 3 > 0) /* as the second and later batches of an update are read */
    batch.ahead = ahead = autocdc_read_ahead (plan, &batch, &c->context);
  return autocdc_apply (c->table, plan, &batch, &c->context, NULL, outcome, error);
}

/* ---- faults and other writers ---- */

static void
open_table (Case *c)
{
  g_clear_pointer (&c->table, delta_table_unref);
  c->table = delta_table_new (c->store, c->harness->engine);
}

static gboolean
set_fault (Case *c, json_t *fault, GError **error)
{
  g_autofree char *text = g_strdup_printf ("n=%" G_GINT64_FORMAT ",mode=%s", base_json_int64 (fault, "n", 1),
                                           base_json_string (fault, "mode"));

  return store_context_set_fault_text (c->faults, text, error);
}

/* The batch while the store fails at one operation, as a process that ends there; then as a new process does it again. When the first
 * one had made its commit, @outcome is that of nothing to do. */
static gboolean
apply_with_fault (Case *c, json_t *json, json_t *fault, gint64 batch_id, AutoCdcOutcome *outcome, GError **error)
{
  g_autoptr (GError) failure = NULL;
  gboolean ok, injected;

  if (!set_fault (c, fault, error))
    return FALSE;
  ok = apply (c, json, batch_id, outcome, &failure);
  injected = store_context_was_injected (c->faults);
  store_context_set_fault (c->faults, 0, STORE_FAULT_NONE);
  if (!ok && !injected) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  open_table (c);
  if (ok)
    return TRUE;
  ok = apply (c, json, batch_id, outcome, error);
  outcome->already_done |= base_json_string (json, "version") && outcome->version < 0;
  return ok;
}

/* What another process does while a batch is applied. */
typedef struct {
  Case *c;
  json_t *what; /* (nullable): done already; a kind of maintenance or the batch of another flow */
  gint64 clock_us;
  GError *error;
} Beside;

static void
do_beside (Beside *beside)
{
  Case other = *beside->c;
  json_t *what = g_steal_pointer (&beside->what);
  AutoCdcOutcome outcome;

  other.store = store_open (NULL, store_root (other.store), &beside->error);
  if (!other.store)
    return;
  other.session = other.checks;
  other.context.session = other.checks;
  other.table = delta_table_new (other.store, other.harness->engine);
  if (json_is_string (what))
    maintenance_run (other.table, json_string_value (what), &other.context, beside->clock_us, &beside->error);
  else
    apply (&other, what, beside->c->batch_ids[run_of (what)]++, &outcome, &beside->error);
  delta_table_unref (other.table);
  store_unref (other.store);
}

/* The other one is faster at the batch's first write into the log. */
static void
be_faster (const char *operation, const char *key, gpointer data)
{
  Beside *beside = data;

  if (beside->what && g_str_has_prefix (operation, "put") && key && g_str_has_prefix (key, "_delta_log/") &&
      g_str_has_suffix (key, ".json"))
    do_beside (beside);
}

static gboolean
apply_beside (Case *c, json_t *json, gint64 batch_id, AutoCdcOutcome *outcome, GError **error)
{
  Beside beside = { c, json_object_get (json, "beside"), clock_of (c, json), NULL };
  gboolean exists, ok;

  if (!delta_table_exists (c->table, &exists, error))
    return FALSE;
  if (exists)
    store_context_set_hook (c->faults, be_faster, &beside);
  ok = apply (c, json, batch_id, outcome, error);
  store_context_set_hook (c->faults, NULL, NULL);
  if (ok && json_is_object (json_object_get (json, "beside"))) {
    outcome->version = -1; /* its feed starts from rows that were not looked at */
    outcome->already_done = beside.what != NULL;
    if (beside.what)
      do_beside (&beside);
  }
  if (!ok)
    g_clear_error (&beside.error);
  else if (beside.error)
    g_propagate_error (error, beside.error);
  return ok && !beside.error;
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
  for (guint i = 0; i < MAX_RUNS; i++) {
    g_autofree char *run_id = g_strdup_printf (RUN_ID, i + 1);

    delta_transaction_set_txn (write_batch_transaction (batch), run_id, -1);
  }
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

/* What the target is now, against what @batch says. @outcome: of the batch, or of nothing: already done. */
static gboolean
check_target (Case *c, json_t *batch, guint number, const AutoCdcOutcome *outcome, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (c->table, NULL, error);
  g_auto (Check) check = { .c = c, .batch = batch, .number = number, .snapshot = snapshot };
  g_autoptr (GArray) columns = NULL;

  if (!snapshot)
    return FALSE;
  if (!base_json_string (batch, "rows"))
    return TRUE;
  if (!(columns = target_columns (&check)))
    return FALSE;
  if (json_is_true (json_object_get (c->json, "golden")))
    return check_rows (&check, columns, error);
  return check_all (&check, columns, outcome, error) && (outcome->already_done || check_metrics (&check, outcome));
}

static gboolean
run_batch (Case *c, json_t *json, guint number, GError **error)
{
  AutoCdcOutcome outcome = { .version = -1 };
  json_t *flow = json_object_get (json, "flow"), *fault = json_object_get (json, "fault");
  gint64 *batch_id = &c->batch_ids[run_of (json)];
  gboolean ok = TRUE;

  if (json_is_true (json_object_get (json, "reset")) && !reset (c, error))
    return FALSE;
  if (flow)
    ok = read_flow (c, flow, error);
  if (ok && base_json_string (json, "events")) {
    ok = fault                              ? apply_with_fault (c, json, fault, *batch_id, &outcome, error)
         : json_object_get (json, "beside") ? apply_beside (c, json, *batch_id, &outcome, error)
                                            : apply (c, json, *batch_id, &outcome, error);
    (*batch_id)++;
  }
  if (base_json_string (json, "error"))
    return check_error (c, json, number, ok, error);
  if (!ok)
    return FALSE;
  g_atomic_int_inc (&c->harness->n_batches);
  c->batch = json;
  return check_target (c, json, number, &outcome, error);
}

/* A maintenance that crashes is not done again. */
static gboolean
run_maintenance (Case *c, json_t *json, guint number, GError **error)
{
  const AutoCdcOutcome outcome = { .version = -1, .already_done = TRUE };
  json_t *fault = json_object_get (json, "fault");
  g_autoptr (GError) failure = NULL;

  g_assert_nonnull (c->batch);
  if (fault && !set_fault (c, fault, error))
    return FALSE;
  if (!maintenance_run (c->table, base_json_string (json, "maintain"), &c->context, clock_of (c, json), &failure) &&
      !store_context_was_injected (c->faults)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  store_context_set_fault (c->faults, 0, STORE_FAULT_NONE);
  open_table (c);
  return check_target (c, c->batch, number, &outcome, error);
}

/* Whether an earlier version cannot be read any more. */
static gboolean
has_lost_versions (Case *c)
{
  json_t *steps = json_object_get (c->json, "batches");

  for (gsize i = 0; i < json_array_size (steps); i++) {
    const char *kind = base_json_string (json_array_get (steps, i), "maintain");

    if (g_strcmp0 (kind, "vacuum") == 0 || g_strcmp0 (kind, "cleanup") == 0)
      return TRUE;
  }
  return FALSE;
}

/* The feed of all versions, replayed on nothing, gives the rows. A feed that the schema's changes cut is not asked. */
static gboolean
check_replay (Case *c, guint number, GError **error)
{
  static const int cut[] = { SLUICE_ERROR_DELTA_CHANGELOG_SCHEMA_CHANGE_IN_RANGE,
                             SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE,
                             SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA };
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (c->table, NULL, error);
  g_auto (Check) check = { .c = c, .batch = c->batch, .number = number, .snapshot = snapshot };
  AutoCdcOutcome all = { .version = 0 };
  g_autoptr (GArray) columns = NULL;
  g_autoptr (GError) failure = NULL;
  g_autofree char *changes = NULL, *list = NULL, *replayed = NULL, *rows = NULL, *sql = NULL;
  gint64 n;

  if (!snapshot)
    return FALSE;
  if (has_lost_versions (c) || !(columns = target_columns (&check)))
    return TRUE;
  if (!open_feed (&check, columns, &all, delta_snapshot_version (snapshot), &failure)) {
    for (guint i = 0; i < G_N_ELEMENTS (cut); i++)
      if (g_error_matches (failure, SLUICE_ERROR, cut[i]))
        return TRUE;
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  if (!check.feed)
    return TRUE;
  list = row_list (&check);
  changes = changes_of_feed (&check);
  replayed = g_strdup_printf ("SELECT %s, CASE WHEN %s IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS case_n"
                              " FROM (%s)",
                              list, FEED_CHANGE_TYPE, changes);
  rows = g_strdup_printf ("SELECT %s, -1 FROM case_rows_%u", list, (c->n_loaded + 1) % 2);
  sql = g_strdup_printf ("SELECT count(*) FROM (SELECT %s FROM (%s UNION ALL %s) GROUP BY ALL HAVING sum(case_n) <> 0)",
                         list, replayed, rows);
  if (!duck_session_query_int64 (c->checks, sql, NULL, &n, NULL, error))
    return FALSE;
  if (n == 0)
    return TRUE;
  fail (c, number, "the feed from the first version on does not give the rows");
  print_rows (c, "feed", changes);
  return print_rows (c, "rows", rows);
}

static gboolean
run_again (Case *c, guint number, GError **error)
{
  json_t *json = c->batch;
  gint64 next;
  AutoCdcOutcome outcome;

  if (!json || json_is_true (json_object_get (c->json, "golden")))
    return TRUE;
  next = c->batch_ids[run_of (json)];
  if (!check_replay (c, number, error))
    return FALSE;
  if (!apply (c, json, next - 1, &outcome, error))
    return FALSE;
  if (outcome.version != -1)
    return fail (c, number, "the same batch again made a commit");
  if (!apply (c, json, next, &outcome, error))
    return FALSE;
  if (outcome.version != -1)
    return fail (c, number, "a redelivered batch made a commit");
  return TRUE;
}

static gboolean
run_case (Case *c, const char *root, GError **error)
{
  json_t *batches = json_object_get (c->json, "batches");

  c->faults = store_context_new ();
  if (!(c->store = store_open (c->faults, root, error)))
    return FALSE;
  open_table (c);
  c->context = (RelationContext){ .now_us = CLOCK_US, .session = c->session };
  if (!json_is_true (json_object_get (c->json, "golden")) && !read_flow (c, json_object_get (c->json, "flow"), error))
    return FALSE;
  for (gsize i = 0; i < json_array_size (batches); i++) {
    json_t *step = json_array_get (batches, i);

    if (!(base_json_string (step, "maintain") ? run_maintenance : run_batch) (c, step, (guint) i, error))
      return FALSE;
  }
  return run_again (c, (guint) json_array_size (batches), error);
}

static void
run_line (Harness *harness, DuckSession *session, DuckSession *checks, guint number)
{
  g_autoptr (GError) error = NULL;
  const char *line = harness->lines->pdata[number];
  g_autoptr (json_t) json = base_json_parse (line, strlen (line), "case", &error);
  g_autofree char *root = g_strdup_printf ("%s/%u", harness->root, harness->n_cases + number);
  Case c = { .harness = harness, .session = session, .checks = checks, .json = json, .arena = sql_arena_new () };

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
  store_unref (c.store);
  store_context_unref (c.faults);
  sql_arena_unref (c.arena);
  if (!g_getenv ("SLUICE_KEEP"))
    tree_remove (root);
}

static gpointer
run_thread (gpointer data)
{
  Harness *harness = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckSession) session = duck_session_new (harness->engine, &error), checks = NULL;

  g_assert_no_error (error);
  checks = duck_session_new (harness->engine, &error);
  g_assert_no_error (error);
  /* Optimizing the harness's statements, each run once over a few rows, takes longer than running them. */
  duck_session_execute (checks, "PRAGMA disable_optimizer", NULL, &error);
  g_assert_no_error (error);
  while (TRUE) {
    gint number = g_atomic_int_add (&harness->next, 1);

    if (number >= (gint) harness->lines->len)
      return NULL;
    run_line (harness, session, checks, (guint) number);
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

/* Runs the cases that are there, and forgets them. */
static void
run_lines (Harness *harness, gint n_threads)
{
  GThread *threads[16];

  harness->next = 0;
  for (gint i = 0; i < n_threads; i++)
    threads[i] = g_thread_new ("cases", run_thread, harness);
  for (gint i = 0; i < n_threads; i++)
    g_thread_join (threads[i]);
  harness->n_cases += harness->lines->len;
  g_ptr_array_set_size (harness->lines, 0);
}

/* A long run would not fit into memory as text. */
static void
run_random (Harness *harness, gint seed, gint count, gint n_threads)
{
  for (gint n; count > 0; seed += n, count -= n) {
    g_autofree char *first = g_strdup_printf ("%d", seed), *size = NULL;

    n = MIN (count, SLICE);
    size = g_strdup_printf ("%d", n);
    generate (harness, "autocdc_cases.py", (char *[]){ (char *) "--seed", first, (char *) "--count", size, NULL });
    run_lines (harness, n_threads);
  }
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
  DuckEngineOptions engine = { .n_threads = 1, .least_cached_rows = 1 };
  gint64 begin = g_get_monotonic_time ();

  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, &error))
    g_error ("%s", error->message);
  if (seed == 0)
    seed = g_random_int_range (1, 100000000);
  if (stated)
    generate (&harness, "autocdc_cases.py", (char *[]){ (char *) "--stated", NULL });
  if (count > 0)
    g_print ("# random cases: --seed %d --count %d\n", seed, count);
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
  run_lines (&harness, n_threads);
  run_random (&harness, seed, count, n_threads);
  g_print ("# %u cases, %d batches, %d failed, %.1f s\n", harness.n_cases, harness.n_batches, harness.n_failed,
           (double) (g_get_monotonic_time () - begin) / G_USEC_PER_SEC);
  g_print ("1..1\n%sok 1 - autocdc cases\n", harness.n_failed ? "not " : "");
  duck_engine_unref (harness.engine);
  if (!g_getenv ("SLUICE_KEEP"))
    tree_remove (harness.root);
  g_free (harness.root);
  g_ptr_array_unref (harness.lines);
  return harness.n_failed ? 1 : 0;
}

/* The recorded answers of Spark to one-column expressions: golden/sql/expr.jsonl of the shared pages.
 *
 * A line whose construct or function this engine does not have is counted as refused; any other answer must be Spark's: type,
 * value and error condition. `SLUICE_GOLDEN_VERBOSE=1` prints every difference, `=2` the refused lines too.
 */
#include "base-error.h"
#include "base-settings.h"
#include "duck-session.h"
#include "relation-kernel.h"
#include "relation-plan.h"
#include "relation-render.h"
#include "sql-parse.h"

#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lines whose answer differs on purpose, with the reason. */
static const struct {
  const char *id, *reason;
} exceptions[] = {
  { "e_af0ede9161", "SELECT 1 + AS r: a syntax error here, Spark reads AS as a column" },
  { "e_8e447b74cd", "'{…}':a on a STRING is an extension (spec/sql.md 24)" },
  { "e_752080a7e6", "SELECT SELECT AS r: a syntax error here, Spark reads SELECT as a column" },
};

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  BaseSettings *settings;
  RelationResolver resolver;
} Bench;

static gboolean
find_no_table (RelationResolver *resolver G_GNUC_UNUSED, const RelationTableRequest *request G_GNUC_UNUSED,
               RelationTableAnswer *answer G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  return TRUE;
}

static gboolean
substitute (const char *key, char **value, gpointer data, GError **error G_GNUC_UNUSED)
{
  *value = g_strdup (strcmp (key, "spark.sql.session.timeZone") == 0 ? data : "");
  return TRUE;
}

/* Runs one query. @type: of its first column; @value: its first row as the golden rendering. */
static gboolean
run (Bench *bench, const char *sql, const char *zone, char **type, char **value, GError **error)
{
  static const RelationResolverClass klass = { .find_table = find_no_table };
  bench->resolver = (RelationResolver){ .klass = &klass, .user = "tester" };
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlParseOptions options = { .substitute = substitute, .substitute_data = (gpointer) zone };
  SqlScript *script = sql_parse_script (arena, sql, -1, &options, error);
  if (script == NULL)
    return FALSE;
  if (script->n != 1 || script->statements[0]->kind != SQL_STATEMENT_QUERY)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "not a query");
  if (!duck_session_set_time_zone (bench->session, zone, error) ||
      !base_settings_set (bench->settings, "spark.sql.session.timeZone", zone, error))
    return FALSE;
  RelationContext context = { .resolver = &bench->resolver,
                              .settings = bench->settings,
                              .now_us = G_GINT64_CONSTANT (1760000000000000),
                              .session = bench->session };
  g_autoptr (RelationPlan) plan = relation_plan_new_query (script->statements[0]->u.query, &context, error);
  if (plan == NULL)
    return FALSE;
  RelationLowering lowering = { .now_us = context.now_us, .session = bench->session, .check_types = TRUE };
  g_autoptr (RelationText) text = relation_plan_lower (plan, &lowering, error);
  if (text == NULL)
    return FALSE;
  if (g_getenv ("SLUICE_GOLDEN_SQL") != NULL)
    g_printerr ("%s\n", relation_text_sql (text)->str);
  g_autoptr (DuckResult) result =
      duck_session_query_materialized (bench->session, relation_text_sql (text)->str, NULL, error);
  const DuckChunk *chunk;
  if (result == NULL || !duck_result_next (result, &chunk, error))
    return FALSE;
  const BaseType *column = base_type_field (relation_plan_schema (plan), 0)->type;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (RelationRenderer) renderer = relation_renderer_new (bench->engine, zone, error);
  if (renderer == NULL)
    return FALSE;
  if (chunk == NULL)
    g_string_assign (out, "null");
  else if (!relation_renderer_append_json (renderer, out, column, &chunk->columns[0], 0, error))
    return FALSE;
  *type = base_type_text (column);
  *value = g_string_free (g_steal_pointer (&out), FALSE);
  return TRUE;
}

/* Equal JSON, floating numbers within 1e-12 relative. */
static gboolean
same_json (const json_t *a, const json_t *b, gboolean is_float)
{
  if (json_is_number (a) && json_is_number (b)) {
    double x = json_number_value (a), y = json_number_value (b);
    if (is_float) /* one float has several texts */
      return (float) x == (float) y;
    if (json_is_integer (a) && json_is_integer (b))
      return json_integer_value (a) == json_integer_value (b);
    if (x == y)
      return signbit (x) == signbit (y);
    return fabs (x - y) <= 1e-12 * MAX (fabs (x), fabs (y));
  }
  if (json_is_array (a) && json_is_array (b)) {
    if (json_array_size (a) != json_array_size (b))
      return FALSE;
    for (gsize i = 0; i < json_array_size (a); i++)
      if (!same_json (json_array_get (a, i), json_array_get (b, i), is_float))
        return FALSE;
    return TRUE;
  }
  if (json_is_object (a) && json_is_object (b)) {
    const char *key;
    json_t *member;
    if (json_object_size (a) != json_object_size (b))
      return FALSE;
    json_object_foreach ((json_t *) a, key, member)
    {
      const json_t *other = json_object_get (b, key);
      if (other == NULL || !same_json (member, other, is_float))
        return FALSE;
    }
    return TRUE;
  }
  return json_equal (a, b) != 0;
}

typedef enum { RIGHT, WRONG, REFUSED } Verdict;

static gboolean
is_refusal (const GError *error)
{
  const char *condition = base_error_condition (error);
  return strcmp (condition, "UNSUPPORTED_FEATURE") == 0 || strcmp (condition, "UNRESOLVED_ROUTINE") == 0 ||
         strcmp (condition, "UNSUPPORTED_DATATYPE") == 0 || strcmp (condition, "UNSUPPORTED_TIME_TYPE") == 0;
}

static Verdict
judge_error (const GError *error, const char *expected)
{
  const char *condition = base_error_condition (error);
  if (expected != NULL && strcmp (condition, expected) == 0)
    return RIGHT;
  if (is_refusal (error))
    return REFUSED;
  if (expected != NULL && (g_str_has_prefix (expected, "JAVA:") || g_str_has_prefix (expected, "_LEGACY_ERROR_TEMP_")))
    return strcmp (condition, "INTERNAL_ERROR") == 0 ? WRONG : RIGHT;
  return WRONG;
}

static Verdict
judge (Bench *bench, const json_t *line, int verbose)
{
  const char *sql = json_string_value (json_object_get (line, "sql"));
  const char *expected = json_string_value (json_object_get (line, "error"));
  g_autofree char *type = NULL;
  g_autofree char *value = NULL;
  g_autofree char *what = NULL;
  g_autoptr (GError) error = NULL;
  Verdict verdict;
  if (!run (bench, sql, json_string_value (json_object_get (line, "tz")), &type, &value, &error)) {
    verdict = judge_error (error, expected);
    what = g_strdup_printf ("[%s] %s", base_error_condition (error), error->message);
  } else if (expected != NULL) {
    verdict = WRONG;
    what = g_strdup_printf ("%s %s", type, value);
  } else {
    json_error_t json_error;
    json_t *got = json_loads (value, JSON_DECODE_ANY | JSON_ALLOW_NUL, &json_error);
    gboolean same = got != NULL && same_json (json_object_get (line, "value"), got, strcmp (type, "float") == 0) &&
                    strcmp (type, json_string_value (json_object_get (line, "type"))) == 0;
    json_decref (got);
    verdict = same ? RIGHT : WRONG;
    what = g_strdup_printf ("%s %s", type, value);
  }
  if ((verdict == WRONG && verbose > 0) || (verdict == REFUSED && verbose > 1)) {
    g_autofree char *want = json_dumps (json_object_get (line, "value"), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    const char *want_type = json_string_value (json_object_get (line, "type"));
    g_printerr ("%s %s: %s\n    Spark: %s\n    here:  %s\n", verdict == WRONG ? "WRONG" : "refused",
                json_string_value (json_object_get (line, "id")), sql, expected != NULL ? expected : want_type, what);
    if (expected == NULL)
      g_printerr ("    value: %s\n", want);
  }
  return verdict;
}

static gboolean
is_exception (const char *id)
{
  for (gsize i = 0; i < G_N_ELEMENTS (exceptions); i++)
    if (strcmp (exceptions[i].id, id) == 0)
      return TRUE;
  return FALSE;
}

static char *
shared_path (void)
{
  const char *shared = g_getenv ("SLUICE_SHARED");
  const char *source = g_getenv ("SLUICE_SOURCE");
  if (shared != NULL)
    return g_build_filename (shared, "golden/sql/expr.jsonl", NULL);
  return g_build_filename (source != NULL ? source : ".", "../shared/golden/sql/expr.jsonl", NULL);
}

static void
test_expressions (gconstpointer data)
{
  g_autofree char *path = shared_path ();
  g_autofree char *text = NULL;
  (void) data;
  if (!g_file_get_contents (path, &text, NULL, NULL)) {
    g_assert_null (g_getenv ("SLUICE_REQUIRE_SHARED"));
    g_test_skip ("the shared pages are not here");
    return;
  }
  const char *verbosity = g_getenv ("SLUICE_GOLDEN_VERBOSE");
  int verbose = verbosity != NULL ? (int) g_ascii_strtoll (verbosity, NULL, 10) : 0;
  const char *only = g_getenv ("SLUICE_GOLDEN_ONLY");
  g_autoptr (GError) error = NULL;
  Bench bench = { .engine = duck_engine_new (NULL, &error) };
  g_assert_no_error (error);
  g_assert_true (relation_kernels_register (bench.engine, &error));
  bench.session = duck_session_new (bench.engine, &error);
  bench.settings = base_settings_new (NULL);
  guint counts[3] = { 0, 0, 0 };
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    json_error_t json_error;
    json_t *line = json_loads (lines[i], JSON_ALLOW_NUL, &json_error);
    if (line == NULL)
      continue;
    const char *id = json_string_value (json_object_get (line, "id"));
    if (!is_exception (id) && (only == NULL || strstr (lines[i], only) != NULL))
      counts[judge (&bench, line, verbose)]++;
    json_decref (line);
  }
  g_test_message ("golden/sql expr: %u right of %u supported (%u refused as unsupported)", counts[RIGHT],
                  counts[RIGHT] + counts[WRONG], counts[REFUSED]);
  base_settings_unref (bench.settings);
  duck_session_free (bench.session);
  duck_engine_unref (bench.engine);
  g_assert_cmpuint (counts[WRONG], ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/relation/golden/expressions", NULL, test_expressions);
  return g_test_run ();
}

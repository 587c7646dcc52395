#include "relation-golden.h"

#include "base-error.h"
#include "base-text.h"
#include "duck-session.h"
#include "relation-kernel.h"
#include "relation-plan.h"
#include "relation-render.h"
#include "sql-parse.h"

#include <math.h>
#include <string.h>

/* ---- names: temporary views ---- */

typedef struct {
  RelationResolver resolver;
  GHashTable *views; /* folded name → SqlQuery */
} Views;

struct GoldenRunner {
  DuckEngine *engine;
  DuckSession *session;
};

static gboolean
find_view (RelationResolver *resolver, const RelationTableRequest *request, RelationTableAnswer *answer,
           GError **error G_GNUC_UNUSED)
{
  Views *views = (Views *) resolver;
  g_autofree char *name = base_text_folded (request->parts[request->n_parts - 1]);

  if (request->n_parts == 1)
    answer->query = g_hash_table_lookup (views->views, name);
  return TRUE;
}

static const RelationResolverClass views_class = { .find_table = find_view };

GoldenRunner *
golden_runner_new (void)
{
  g_autoptr (GError) error = NULL;
  GoldenRunner *runner = g_new0 (GoldenRunner, 1);

  runner->engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  relation_kernels_register (runner->engine, &error);
  g_assert_no_error (error);
  runner->session = duck_session_new (runner->engine, &error);
  g_assert_no_error (error);
  return runner;
}

void
golden_runner_free (GoldenRunner *runner)
{
  duck_session_free (runner->session);
  duck_engine_unref (runner->engine);
  g_free (runner);
}

void
golden_answer_free (GoldenAnswer *answer)
{
  if (answer == NULL)
    return;
  g_free (answer->condition);
  g_free (answer->message);
  g_free (answer->sql);
  json_decref (answer->schema);
  json_decref (answer->rows);
  g_free (answer);
}

static json_t *
schema_json (const BaseType *schema)
{
  json_t *list = json_array ();

  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    g_autofree char *type = base_type_text (field->type);
    json_array_append_new (list, json_pack ("[s, s]", field->name, type));
  }
  return list;
}

static gboolean
read_rows (GoldenRunner *runner, DuckResult *result, const BaseType *schema, json_t *rows, GError **error)
{
  const DuckChunk *chunk;
  g_autoptr (RelationRenderer) renderer =
      relation_renderer_new (runner->engine, duck_session_time_zone (runner->session), error);

  if (renderer == NULL)
    return FALSE;
  while (duck_result_next (result, &chunk, error)) {
    if (chunk == NULL)
      return TRUE;
    for (guint row = 0; row < chunk->n_rows; row++) {
      g_autoptr (GString) text = g_string_new ("[");
      json_t *cells;
      for (guint i = 0; i < chunk->n_columns; i++) {
        g_string_append (text, i > 0 ? "," : "");
        if (!relation_renderer_append_json (renderer, text, base_type_field (schema, i)->type, &chunk->columns[i], row,
                                            error))
          return FALSE;
      }
      g_string_append_c (text, ']');
      cells = json_loads (text->str, JSON_DECODE_ANY, NULL);
      g_assert_nonnull (cells);
      json_array_append_new (rows, cells);
    }
  }
  return FALSE;
}

static gboolean
run_setup (Views *views, SqlArena *arena, const json_t *setup, GError **error)
{
  gsize index;
  json_t *item;

  json_array_foreach (setup, index, item)
  {
    const char *text = json_string_value (item);
    SqlStatement *statement = sql_parse_statement (arena, text, -1, NULL, error);
    if (statement == NULL)
      return FALSE;
    if (statement->kind != SQL_STATEMENT_CREATE_VIEW)
      continue;
    g_hash_table_insert (
        views->views, base_text_folded (statement->u.create_view.name.parts[statement->u.create_view.name.n - 1].text),
        statement->u.create_view.query);
  }
  return TRUE;
}

static gboolean
run (GoldenRunner *runner, Views *views, SqlArena *arena, const json_t *setup, const char *sql, GoldenAnswer *answer,
     GError **error)
{
  RelationContext context = { .resolver = &views->resolver,
                              .now_us = G_GINT64_CONSTANT (1700000000123456),
                              .session = runner->session };
  RelationLowering lowering = { .now_us = context.now_us, .session = runner->session, .check_types = TRUE };
  g_autoptr (RelationPlan) plan = NULL;
  g_autoptr (RelationText) text = NULL;
  g_autoptr (DuckResult) result = NULL;
  SqlQuery *query;

  if (!run_setup (views, arena, setup, error))
    return FALSE;
  SqlStatement *statement = sql_parse_statement (arena, sql, -1, NULL, error);
  if (statement == NULL)
    return FALSE;
  if (statement->kind != SQL_STATEMENT_QUERY)
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "Not a query.");
  query = statement->u.query;
  if ((plan = relation_plan_new_query (query, &context, error)) == NULL ||
      (text = relation_plan_lower (plan, &lowering, error)) == NULL)
    return FALSE;
  answer->sql = g_strdup (relation_text_sql (text)->str);
  if ((result = duck_session_query (runner->session, answer->sql, NULL, error)) == NULL)
    return FALSE;
  answer->schema = schema_json (relation_plan_schema (plan));
  answer->rows = json_array ();
  return read_rows (runner, result, relation_plan_schema (plan), answer->rows, error);
}

GoldenAnswer *
golden_run (GoldenRunner *runner, const json_t *setup, const char *sql, const char *time_zone)
{
  GoldenAnswer *answer = g_new0 (GoldenAnswer, 1);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GError) error = NULL;
  Views views = { .resolver = { .klass = &views_class, .user = "me" }, .views = names };

  duck_session_set_time_zone (runner->session, time_zone, &error);
  g_assert_no_error (error);
  if (!run (runner, &views, arena, setup, sql, answer, &error)) {
    answer->condition = g_strdup (base_error_condition (error));
    answer->message = base_error_format (error);
  }
  return answer;
}

/* ---- comparing ---- */

static gboolean
numbers_equal (const json_t *a, const json_t *b)
{
  double x = json_number_value (a);
  double y = json_number_value (b);

  if (json_is_integer (a) && json_is_integer (b))
    return json_integer_value (a) == json_integer_value (b);
  return x == y || fabs (x - y) <= 1e-12 * fmax (fabs (x), fabs (y));
}

gboolean
golden_equal (const json_t *a, const json_t *b)
{
  if (json_is_number (a) && json_is_number (b))
    return numbers_equal (a, b);
  if (json_typeof (a) != json_typeof (b))
    return FALSE;
  if (json_is_array (a)) {
    if (json_array_size (a) != json_array_size (b))
      return FALSE;
    for (gsize i = 0; i < json_array_size (a); i++)
      if (!golden_equal (json_array_get (a, i), json_array_get (b, i)))
        return FALSE;
    return TRUE;
  }
  if (json_is_object (a)) {
    const char *key;
    json_t *value;
    if (json_object_size (a) != json_object_size (b))
      return FALSE;
    json_object_foreach ((json_t *) a, key, value)
    {
      const json_t *other = json_object_get (b, key);
      if (other == NULL || !golden_equal (value, other))
        return FALSE;
    }
    return TRUE;
  }
  return json_equal (a, b);
}

gboolean
golden_rows_equal (const json_t *a, const json_t *b, gboolean ordered)
{
  gsize n = json_array_size (a);
  g_autofree gboolean *taken = g_new0 (gboolean, n + 1);

  if (ordered)
    return golden_equal (a, b);
  if (n != json_array_size (b))
    return FALSE;
  for (gsize i = 0; i < n; i++) {
    gsize j = 0;
    while (j < n && (taken[j] || !golden_equal (json_array_get (a, i), json_array_get (b, j))))
      j++;
    if (j == n)
      return FALSE;
    taken[j] = TRUE;
  }
  return TRUE;
}

gboolean
golden_condition_equal (const char *recorded, const char *condition)
{
  if (condition == NULL)
    return FALSE;
  if (g_str_has_prefix (recorded, "JAVA:") || g_str_has_prefix (recorded, "_LEGACY_ERROR_TEMP_"))
    return strcmp (condition, "INTERNAL_ERROR") != 0;
  return strcmp (recorded, condition) == 0;
}

json_t *
golden_load (const char *name)
{
  const char *shared = g_getenv ("SLUICE_SHARED");
  const char *source = g_getenv ("SLUICE_SOURCE");
  g_autofree char *fallback = g_build_filename (source != NULL ? source : ".", "..", "shared", NULL);
  g_autofree char *path = g_build_filename (shared != NULL ? shared : fallback, "golden", "sql", name, NULL);
  g_autofree char *text = NULL;
  json_t *list;

  if (!g_file_get_contents (path, &text, NULL, NULL)) {
    if (g_strcmp0 (g_getenv ("SLUICE_REQUIRE_SHARED"), "1") == 0)
      g_error ("%s is not there", path);
    g_test_skip ("the shared golden pages are not there");
    return NULL;
  }
  list = json_array ();
  {
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++)
      if (*lines[i] != '\0') {
        json_t *line = json_loads (lines[i], JSON_ALLOW_NUL, NULL);
        g_assert_nonnull (line);
        json_array_append_new (list, line);
      }
  }
  return list;
}

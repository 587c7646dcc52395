/* Results: rows of a running query under Spark's names and types.
 *
 * A result holds what its query reads (lent vectors, snapshots) until it is freed or its session goes on. A session has at most
 * one result that can be read; starting the next statement detaches the former one: it then owns nothing of DuckDB.
 */
#include "session-private.h"

#include <base-error.h>

static gboolean
names_repeat (const BaseType *schema)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < base_type_n_fields (schema); i++)
    if (!g_hash_table_add (seen, base_type_field (schema, i)->name))
      return TRUE;
  return FALSE;
}

SluiceResult *
session_result_new (SluiceSession *session, const BaseType *schema, const char *sql, RelationText *text,
                    RelationPlan *plan, GError **error)
{
  g_autoptr (RelationText) held = text;
  g_autoptr (BaseType) empty = base_struct_builder_end (base_struct_builder_new ());
  SluiceResult *result;
  DuckResult *rows = NULL;

  if (sql != NULL && (rows = duck_session_query (session->duck, sql, session->cancel, error)) == NULL)
    return NULL;
  result = g_new0 (SluiceResult, 1);
  result->session = session;
  result->schema = base_type_ref (schema != NULL ? schema : empty);
  result->text = g_steal_pointer (&held);
  result->plan = plan != NULL ? relation_plan_ref (plan) : NULL;
  result->rows = rows;
  result->at_end = rows == NULL;
  result->has_repeated_names = names_repeat (result->schema);
  session->result = result;
  return result;
}

void
session_result_detach (SluiceResult *result)
{
  g_clear_pointer (&result->rows, duck_result_free);
  g_clear_pointer (&result->text, relation_text_free);
  g_clear_pointer (&result->plan, relation_plan_unref);
  result->chunk = NULL;
  if (result->session != NULL && result->session->result == result)
    result->session->result = NULL;
  result->session = NULL;
}

void
session_result_free (SluiceResult *result)
{
  if (result == NULL)
    return;
  session_result_detach (result);
  for (guint i = 0; result->texts != NULL && i < base_type_n_fields (result->schema); i++) {
    g_free (result->texts[i].type);
    if (result->texts[i].value != NULL)
      g_string_free (result->texts[i].value, TRUE);
  }
  g_free (result->texts);
  if (result->json != NULL)
    g_string_free (result->json, TRUE);
  base_type_unref (result->schema);
  g_free (result->warning);
  g_free (result);
}

const char *
session_result_warning (const SluiceResult *result)
{
  return result->warning;
}

BaseType *
session_result_schema (const SluiceResult *result)
{
  return result->schema;
}

static gboolean
check_readable (const SluiceResult *result, GError **error)
{
  if (result->session != NULL || result->at_end)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR,
                         "the result ended when the session's next statement started");
}

gboolean
session_result_next (SluiceResult *result, gboolean *has_row, GError **error)
{
  if (!check_readable (result, error))
    return FALSE;
  if (!result->at_end && result->chunk != NULL && result->row + 1 < result->chunk->n_rows) {
    result->row++;
  } else if (!result->at_end) {
    if (!duck_result_next (result->rows, &result->chunk, error))
      return FALSE;
    result->row = 0;
    result->at_end = result->chunk == NULL;
  }
  *has_row = !result->at_end;
  return TRUE;
}

RelationRenderer *
session_renderer (SluiceSession *session, GError **error)
{
  if (session->renderer == NULL)
    session->renderer =
        relation_renderer_new (session->warehouse->engine, duck_session_time_zone (session->duck), error);
  return session->renderer;
}

gboolean
session_result_is_null (SluiceResult *result, guint column)
{
  return duck_vector_is_null (&result->chunk->columns[column], result->row);
}

/* `[31 0a]`, as Spark shows bytes: they need not be text. */
static void
append_bytes (SluiceResult *result, guint column, GString *out)
{
  gsize size;
  const char *bytes = duck_vector_string (&result->chunk->columns[column], result->row, &size);

  g_string_append_c (out, '[');
  for (gsize i = 0; i < size; i++)
    g_string_append_printf (out, "%s%02X", i == 0 ? "" : " ", (guchar) bytes[i]);
  g_string_append_c (out, ']');
}

gboolean
session_result_append_text (SluiceResult *result, guint column, GString *out, GError **error)
{
  RelationRenderer *renderer = session_renderer (result->session, error);
  const BaseField *field = base_type_field (result->schema, column);

  if (renderer == NULL)
    return FALSE;
  if (!session_result_is_null (result, column) && base_type_kind (field->type) == BASE_TYPE_BINARY) {
    append_bytes (result, column, out);
    return TRUE;
  }
  return session_result_is_null (result, column) ||
         relation_renderer_append_text (renderer, out, field->type, &result->chunk->columns[column], result->row,
                                        error);
}

gboolean
session_result_append_json (SluiceResult *result, guint column, GString *out, GError **error)
{
  RelationRenderer *renderer = session_renderer (result->session, error);
  const BaseField *field = base_type_field (result->schema, column);

  return renderer != NULL && relation_renderer_append_json (renderer, out, field->type, &result->chunk->columns[column],
                                                            result->row, error);
}

gboolean
session_result_append_json_row (SluiceResult *result, GString *out, GError **error)
{
  guint n = base_type_n_fields (result->schema);
  gboolean is_list = result->has_repeated_names;

  g_string_append_c (out, is_list ? '[' : '{');
  for (guint i = 0; i < n; i++) {
    g_string_append (out, i == 0 ? "" : ",");
    g_string_append (out, is_list ? "[" : "");
    relation_render_json_string (out, base_type_field (result->schema, i)->name, -1);
    g_string_append_c (out, is_list ? ',' : ':');
    if (!session_result_append_json (result, i, out, error))
      return FALSE;
    g_string_append (out, is_list ? "]" : "");
  }
  g_string_append_c (out, is_list ? ']' : '}');
  return TRUE;
}

gboolean
session_result_arrow_schema (SluiceResult *result, struct ArrowSchema *schema, GError **error)
{
  guint n = base_type_n_fields (result->schema);
  g_autofree const char **names = g_new0 (const char *, n + 1);

  if (result->rows == NULL)
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "a statement without columns has no Arrow schema");
  for (guint i = 0; i < n; i++)
    names[i] = base_type_field (result->schema, i)->name;
  return duck_result_export_schema (result->rows, names, schema, error);
}

gboolean
session_result_arrow_next (SluiceResult *result, struct ArrowArray *array, gboolean *at_end, GError **error)
{
  if (!check_readable (result, error))
    return FALSE;
  if (result->rows == NULL) {
    *at_end = TRUE;
    return TRUE;
  }
  return duck_result_next_arrow (result->rows, array, at_end, error);
}

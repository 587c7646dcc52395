/* window(ts, 'length'[, 'slide'[, 'start']]): rows are put into the time windows that hold them.
 *
 * Windows are counted from 1970-01-01T00:00:00Z in microseconds, whatever the session's zone. A row is repeated for every window
 * that holds it (length / slide of them) and dropped when its time is NULL. Months have no fixed length and are refused.
 */
#include "base-text.h"
#include "relation-binder-private.h"
#include "relation-civil-private.h"
#include "relation-interval-private.h"

#include <string.h>

static gboolean lower_window (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error);

static const RelationFunction window_row = { .names = "window",
                                             .flags = RELATION_FUNCTION_GENERATOR | RELATION_FUNCTION_RAW,
                                             .lower_call = lower_window };

typedef struct {
  gint64 length_us;
  gint64 slide_us;
  gint64 start_us;
} TimeWindow;

static gboolean
lower_window (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const TimeWindow *window = call->data;
  gint64 n = (window->length_us + window->slide_us - 1) / window->slide_us;
  const char *make =
      base_type_kind (call->args[0]->type) == BASE_TYPE_TIMESTAMP ? "make_timestamptz" : "make_timestamp";
  g_autoptr (GString) time = g_string_new (NULL);
  g_autofree char *us = NULL;
  g_autofree char *last = NULL;

  if (!relation_printer_expr (printer, call->args[0], time, error))
    return FALSE;
  us = g_strdup_printf ("epoch_us(%s)", time->str);
  /* The latest start that is not after the time: floor to a multiple of the slide. */
  last = g_strdup_printf ("(%s - ((%s - %" G_GINT64_FORMAT ") %% %" G_GINT64_FORMAT " + %" G_GINT64_FORMAT
                          ") %% %" G_GINT64_FORMAT ")",
                          us, us, window->start_us, window->slide_us, window->slide_us, window->slide_us);
  g_string_append_printf (out,
                          "CASE WHEN %s IS NULL THEN [] ELSE list_transform(list_filter(range(%" G_GINT64_FORMAT
                          "), lambda i: %s - i * %" G_GINT64_FORMAT " + %" G_GINT64_FORMAT
                          " > %s), lambda i: struct_pack(c0 := "
                          "struct_pack(\"start\" := %s(%s - i * %" G_GINT64_FORMAT
                          "), \"end\" := %s(%s - i * %" G_GINT64_FORMAT " + %" G_GINT64_FORMAT ")))) END",
                          time->str, n, last, window->slide_us, window->length_us, us, make, last, window->slide_us,
                          make, last, window->slide_us, window->length_us);
  return TRUE;
}

static gboolean
duration_us (RelationBinder *binder, const SqlExpr *sql, gint64 *us, GError **error)
{
  const RelationLiteral *value = relation_bind_constant (binder, sql, NULL, error);
  gint32 months = 0, days = 0;

  if (value == NULL)
    return FALSE;
  if (!value->is_null && base_type_kind (value->type) == BASE_TYPE_INTERVAL_DAY_TIME) {
    *us = value->integer;
    return TRUE;
  }
  if (value->is_null || base_type_kind (value->type) != BASE_TYPE_STRING ||
      !relation_text_to_calendar_interval (value->text, value->size, &months, &days, us) || months != 0)
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                                "A time window is measured by an interval of days or less, such as '10 minutes'.");
  *us += days * RELATION_US_PER_DAY;
  return TRUE;
}

static RelationExpr *
window_call (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *sql, GError **error)
{
  const SqlCall *call = &sql->u.call;
  TimeWindow *window = relation_arena_new0 (binder->arena, TimeWindow);
  gint64 *const parts[] = { &window->length_us, &window->slide_us, &window->start_us };
  g_autoptr (BaseStructBuilder) inner = base_struct_builder_new ();
  g_autoptr (BaseStructBuilder) outer = base_struct_builder_new ();
  g_autoptr (BaseType) time = NULL;
  g_autoptr (BaseType) range = NULL;
  g_autoptr (BaseType) columns = NULL;
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  RelationExpr *expr, *ts;

  if (call->n_args < 2 || call->n_args > 4) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                         "The `window` requires 2 to 4 parameters but the actual number is %u.", call->n_args);
    return NULL;
  }
  if ((ts = relation_bind_expr (binder, scope, call->args[0].value, error)) == NULL)
    return NULL;
  time = base_type_simple (base_type_kind (ts->type) == BASE_TYPE_TIMESTAMP_NTZ ? BASE_TYPE_TIMESTAMP_NTZ
                                                                                : BASE_TYPE_TIMESTAMP);
  range = relation_coerce_implicit (ts->type, time);
  if (range == NULL) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                         "The first argument of window must be a TIMESTAMP.");
    return NULL;
  }
  g_clear_pointer (&range, base_type_unref);
  ts = relation_expr_new_cast (binder, ts, time);
  for (guint i = 1; i < call->n_args; i++)
    if (!duration_us (binder, call->args[i].value, parts[i - 1], error))
      return NULL;
  if (call->n_args == 2)
    window->slide_us = window->length_us;
  if (window->length_us <= 0 || window->slide_us <= 0 || window->slide_us > window->length_us ||
      window->length_us / window->slide_us > 100000) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_DATATYPE_MISMATCH_VALUE_OUT_OF_RANGE,
                         "The window's length must be positive and at least its slide.");
    return NULL;
  }
  base_struct_builder_add (inner, "start", time, TRUE, NULL);
  base_struct_builder_add (inner, "end", time, TRUE, NULL);
  range = base_struct_builder_end (g_steal_pointer (&inner));
  base_struct_builder_add (outer, "window", range, FALSE, NULL);
  columns = base_struct_builder_end (g_steal_pointer (&outer));
  expr = relation_expr_new (binder, RELATION_EXPR_CALL, columns, FALSE);
  expr->function = &window_row;
  expr->data = window;
  expr->position = &sql->position;
  expr->display = "window";
  expr->n_args = 4;
  expr->args = relation_arena_new0_n (binder->arena, RelationExpr *, 4);
  expr->args[0] = ts;
  for (guint i = 0; i < 3; i++)
    expr->args[i + 1] = relation_expr_new_literal (binder, relation_literal_new_integer (number, *parts[i]));
  return expr;
}

gboolean
relation_bind_time_window (RelationBinder *binder, RelationBindScope *scope, RelationInput *input, const SqlExpr *call,
                           GError **error)
{
  RelationExpr *expr = window_call (binder, scope, call, error);
  RelationTimeWindow *known;

  if (expr == NULL)
    return FALSE;
  for (known = input->scope->time_windows; known != NULL; known = known->next)
    if (relation_expr_equal (known->call, expr))
      return TRUE;
  if (input->scope->time_windows != NULL)
    return relation_bind_unsupported (&call->position, error, "A second, different time window in one query");
  if (!relation_bind_generate (binder, input, expr, FALSE, NULL, NULL, &call->position, error))
    return FALSE;
  input->scope->columns[input->scope->n_columns - 1].by_name_only = TRUE;
  known = relation_arena_new0 (binder->arena, RelationTimeWindow);
  known->call = expr;
  known->column = input->scope->columns[input->scope->n_columns - 1].column;
  input->scope->time_windows = known;
  scope->scope = input->scope;
  return TRUE;
}

RelationExpr *
relation_bind_window_use (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *sql, GError **error)
{
  RelationExpr *expr = window_call (binder, scope, sql, error);

  if (expr == NULL)
    return NULL;
  for (RelationTimeWindow *known = scope->scope != NULL ? scope->scope->time_windows : NULL; known != NULL;
       known = known->next)
    if (relation_expr_equal (known->call, expr)) {
      RelationExpr *column = relation_expr_new_column (binder->arena, &known->column);
      column->position = &sql->position;
      return column;
    }
  relation_bind_unsupported (&sql->position, error, "window() here");
  return NULL;
}

/* Calls: plain functions, special forms, aggregates with FILTER and WITHIN GROUP, windows. */
#include "base-text.h"
#include "relation-binder-private.h"
#include "relation-cast.h"

#include <string.h>

/* ---- grouping() and grouping_id(): placeholders until the grouping sets are known (relation-bind-select.c) ---- */

static const RelationFunction grouping_row = { .names = "grouping", .flags = RELATION_FUNCTION_RAW };
static const RelationFunction grouping_id_row = { .names = "grouping_id", .flags = RELATION_FUNCTION_RAW };

gboolean
relation_expr_is_grouping (const RelationExpr *expr, gboolean *is_id)
{
  if (expr->kind != RELATION_EXPR_CALL || (expr->function != &grouping_row && expr->function != &grouping_id_row))
    return FALSE;
  *is_id = expr->function == &grouping_id_row;
  return TRUE;
}

RelationExpr *
relation_expr_new_grouping (RelationBinder *binder, gboolean is_id, RelationExpr **args, guint n_args,
                            const char *display, const SqlPosition *at)
{
  g_autoptr (BaseType) type = base_type_simple (is_id ? BASE_TYPE_LONG : BASE_TYPE_BYTE);
  RelationExpr *expr = relation_expr_new (binder, RELATION_EXPR_CALL, type, FALSE);

  expr->function = is_id ? &grouping_id_row : &grouping_row;
  expr->args = args;
  expr->n_args = n_args;
  expr->display = display;
  expr->position = at;
  return expr;
}

/* ---- windows ---- */

static const SqlWindow *
find_window (const RelationBindScope *scope, const SqlWindow *window, GError **error)
{
  if (window->name == NULL)
    return window;
  for (guint i = 0; i < scope->n_windows; i++)
    if (base_text_equal_ignore_case (scope->windows[i].name.text, window->name->text)) {
      const SqlWindow *named = &scope->windows[i].window;
      return named->name != NULL && named->name != window->name ? find_window (scope, named, error) : named;
    }
  relation_bind_error (&window->name->position, error, SLUICE_ERROR_MISSING_WINDOW_SPECIFICATION,
                       "Window specification is not defined in the WINDOW clause for `%s`.", window->name->text);
  return NULL;
}

static gboolean
frame_type_error (const SqlBound *bound, const RelationExpr *offset, const RelationExpr *order, GError **error)
{
  g_autofree char *a = base_type_text (offset->type);
  g_autofree char *b = base_type_text (order->type);

  return relation_bind_error (&bound->position, error,
                              SLUICE_ERROR_DATATYPE_MISMATCH_SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE,
                              "The data type of the frame bound is %s, which does not fit the ORDER BY type %s.", a, b);
}

/* The distance of a RANGE bound in a type that its ORDER BY can be moved by. */
static RelationExpr *
range_offset (RelationBinder *binder, RelationExpr *offset, const RelationExpr *order, const SqlBound *bound,
              GError **error)
{
  BaseTypeKind kind = base_type_kind (order->type);
  BaseTypeKind by = base_type_kind (offset->type);

  if (base_type_is_numeric (order->type)) {
    if (!base_type_is_numeric (offset->type)) {
      frame_type_error (bound, offset, order, error);
      return NULL;
    }
    return relation_expr_new_cast (binder, offset, order->type);
  }
  if (kind == BASE_TYPE_DATE && base_type_is_integral (offset->type)) {
    g_autoptr (BaseType) days = base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_DAY);
    return relation_expr_new_cast (binder, offset, days);
  }
  if ((kind == BASE_TYPE_DATE || kind == BASE_TYPE_TIMESTAMP || kind == BASE_TYPE_TIMESTAMP_NTZ) &&
      (by == BASE_TYPE_INTERVAL_DAY_TIME || by == BASE_TYPE_INTERVAL_YEAR_MONTH))
    return offset;
  frame_type_error (bound, offset, order, error);
  return NULL;
}

static gboolean
bind_bound (RelationBinder *binder, RelationBindScope *scope, const SqlFrame *frame, const SqlBound *sql,
            const RelationWindow *window, RelationBound *bound, GString *display, GError **error)
{
  static const char *const words[] = { "UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW", " FOLLOWING",
                                       "UNBOUNDED FOLLOWING" };
  RelationExpr *offset;

  bound->kind = (RelationBoundKind) sql->kind;
  if (sql->value == NULL) {
    g_string_append (display, words[sql->kind]);
    return TRUE;
  }
  if ((offset = relation_bind_expr (binder, scope, sql->value, error)) == NULL)
    return FALSE;
  g_string_append_printf (display, "%s%s", offset->display, words[sql->kind]);
  if (!offset->foldable)
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_NON_FOLDABLE_INPUT,
                                "A frame bound must be a constant.");
  if (!frame->range) {
    g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_INTEGER);
    if (!base_type_is_integral (offset->type))
      return relation_bind_error (&sql->position, error,
                                  SLUICE_ERROR_DATATYPE_MISMATCH_SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE,
                                  "A ROWS frame is measured in whole numbers.");
    bound->offset = relation_expr_new_cast (binder, offset, type);
    return TRUE;
  }
  if (window->n_order == 0)
    return relation_bind_error (&sql->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_RANGE_FRAME_WITHOUT_ORDER,
                                "A range window frame cannot be used in an unordered window specification.");
  if (window->n_order > 1)
    return relation_bind_error (
        &sql->position, error, SLUICE_ERROR_DATATYPE_MISMATCH_RANGE_FRAME_MULTI_ORDER,
        "A range window frame with value boundaries cannot be used in a window specification with multiple "
        "ORDER BY expressions.");
  bound->offset = range_offset (binder, offset, window->order[0].expr, sql, error);
  return bound->offset != NULL;
}

static void
append_sort_display (GString *out, const RelationSort *order, guint n)
{
  for (guint i = 0; i < n; i++)
    g_string_append_printf (out, "%s%s %s NULLS %s", i > 0 ? ", " : "", order[i].expr->display,
                            order[i].descending ? "DESC" : "ASC", order[i].nulls_first ? "FIRST" : "LAST");
}

/* @fallback: the frame's text when none was written. */
static RelationWindow *
bind_window (RelationBinder *binder, RelationBindScope *scope, const SqlWindow *sql, const char *fallback,
             GString *display, GError **error)
{
  const SqlWindow *spec = find_window (scope, sql, error);
  RelationWindow *window = relation_arena_new0 (binder->arena, RelationWindow);

  if (spec == NULL)
    return NULL;
  g_string_append (display, " OVER (");
  window->n_partition = spec->partition_by.n;
  window->partition = relation_arena_new0_n (binder->arena, RelationExpr *, spec->partition_by.n + 1);
  for (guint i = 0; i < spec->partition_by.n; i++) {
    if ((window->partition[i] = relation_bind_expr (binder, scope, spec->partition_by.items[i], error)) == NULL)
      return NULL;
    g_string_append_printf (display, "%s%s", i > 0 ? ", " : "PARTITION BY ", window->partition[i]->display);
  }
  if (!relation_bind_sort_list (binder, scope, &spec->order_by, &window->order, &window->n_order, error))
    return NULL;
  if (window->n_order > 0) {
    g_string_append (display, window->n_partition > 0 ? " ORDER BY " : "ORDER BY ");
    append_sort_display (display, window->order, window->n_order);
  }
  if (window->n_partition + window->n_order > 0)
    g_string_append_c (display, ' ');
  if (spec->frame != NULL) {
    window->has_frame = TRUE;
    window->unit = spec->frame->range ? RELATION_FRAME_RANGE : RELATION_FRAME_ROWS;
    g_string_append (display, spec->frame->range ? "RANGE BETWEEN " : "ROWS BETWEEN ");
    if (!bind_bound (binder, scope, spec->frame, &spec->frame->start, window, &window->start, display, error))
      return NULL;
    g_string_append (display, " AND ");
    if (!bind_bound (binder, scope, spec->frame, &spec->frame->end, window, &window->end, display, error))
      return NULL;
  } else if (fallback != NULL) {
    g_string_append (display, fallback);
  } else {
    g_string_append (display, window->n_order > 0 ? "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
                                                  : "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING");
  }
  g_string_append_c (display, ')');
  return window;
}

typedef struct {
  RelationBinder *binder;
  const RelationWindow *window;
  guint n;
} AttachWindow;

static RelationExpr *
attach_window (RelationExpr *expr, gpointer data)
{
  AttachWindow *attach = data;
  RelationExpr *copy;

  if (expr->kind != RELATION_EXPR_CALL || expr->window != NULL ||
      (expr->function->flags & (RELATION_FUNCTION_AGGREGATE | RELATION_FUNCTION_WINDOW)) == 0)
    return NULL;
  copy = relation_arena_new0 (attach->binder->arena, RelationExpr);
  *copy = *expr;
  copy->window = attach->window;
  attach->n++;
  return copy;
}

static RelationExpr *
bind_over (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *sql, RelationExpr *call, GError **error)
{
  const SqlCall *sql_call = &sql->u.call;
  g_autoptr (GString) display = g_string_new (call->display);
  AttachWindow attach = { .binder = binder };
  gboolean is_window = call->kind == RELATION_EXPR_CALL && (call->function->flags & RELATION_FUNCTION_WINDOW) != 0;
  gboolean is_nth = is_window && strstr (call->function->names, "nth_value") != NULL;
  RelationExpr *result;
  RelationWindow *window;

  if (scope->clause != NULL) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE,
                         "It is not allowed to use window functions inside the %s clause.", scope->clause);
    return NULL;
  }
  window =
      bind_window (binder, scope, sql_call->over,
                   is_window && !is_nth ? "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW" : NULL, display, error);
  if (window == NULL)
    return NULL;
  if (is_window && !is_nth && window->has_frame) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_WINDOW_FUNCTION_AND_FRAME_MISMATCH,
                         "The window function %s takes no frame of its own.", call->display);
    return NULL;
  }
  if (is_window && window->n_order == 0) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_WINDOW_FUNCTION_AND_FRAME_MISMATCH,
                         "The window function %s needs an ORDER BY in its window.", call->display);
    return NULL;
  }
  attach.window = window;
  result = relation_expr_rewrite (binder->arena, call, attach_window, &attach);
  if (attach.n == 0) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_UNSUPPORTED_EXPR_FOR_WINDOW,
                         "Expression \"%s\" not supported within a window function.", call->display);
    return NULL;
  }
  if (result == call) {
    result = relation_arena_new0 (binder->arena, RelationExpr);
    *result = *call;
  }
  result->display = relation_arena_strdup (binder->arena, display->str);
  result->foldable = FALSE;
  return result;
}

/* ---- arguments ---- */

static const char *
call_name (RelationBinder *binder, const SqlCall *call)
{
  const char *written = call->name.parts[call->name.n - 1].text;
  char *name = g_ascii_strdown (written, -1);

  relation_arena_keep (binder->arena, name, g_free);
  switch (call->form) {
  case SQL_CALL_TRIM:
    if (call->n_args == 1)
      return !call->trim_side_given || call->trim_side == SQL_TRIM_BOTH ? "trim"
             : call->trim_side == SQL_TRIM_LEADING                      ? "ltrim"
                                                                        : "rtrim";
    return call->trim_side == SQL_TRIM_LEADING    ? "trim leading"
           : call->trim_side == SQL_TRIM_TRAILING ? "trim trailing"
                                                  : "trim both";
  case SQL_CALL_UNIT:
    return strstr (name, "diff") != NULL ? "timestampdiff" : "timestampadd";
  case SQL_CALL_POSITION:
    return "locate";
  case SQL_CALL_PLAIN:
  case SQL_CALL_BARE:
  case SQL_CALL_EXTRACT:
  case SQL_CALL_SUBSTRING:
  case SQL_CALL_OVERLAY:
    break;
  }
  return name;
}

static gboolean
bind_args (RelationBinder *binder, RelationBindScope *scope, const SqlCall *call, gboolean is_count, GPtrArray *args,
           const char **names, GError **error)
{
  for (guint i = 0; i < call->n_args; i++) {
    const SqlExpr *value = call->args[i].value;
    if (value->kind == SQL_EXPR_STAR && is_count && !value->u.star.has_except) {
      if (value->u.star.qualifier.n > 0)
        return relation_bind_error (&value->position, error,
                                    SLUICE_ERROR_INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT,
                                    "count(t.*) is not allowed. Please use count(*) or expand the columns by hand.");
      g_ptr_array_add (args, relation_expr_new_int (binder, 1));
    } else if (value->kind == SQL_EXPR_STAR) {
      if (!relation_scope_star (binder, scope, value, args, error))
        return FALSE;
    } else {
      RelationExpr *arg = relation_bind_expr (binder, scope, value, error);
      if (arg == NULL)
        return FALSE;
      if (call->args[i].name != NULL)
        names[args->len] = call->args[i].name->text;
      g_ptr_array_add (args, arg);
    }
  }
  return TRUE;
}

static gboolean
check_row_use (RelationBindScope *scope, const SqlExpr *sql, const char *name, GError **error)
{
  const SqlCall *call = &sql->u.call;
  const RelationFunction *rows[16];
  guint n = relation_function_find (name, rows, G_N_ELEMENTS (rows));
  guint flags = n > 0 ? rows[0]->flags : 0;
  gboolean aggregate = (flags & RELATION_FUNCTION_AGGREGATE) != 0;
  gboolean window = (flags & RELATION_FUNCTION_WINDOW) != 0;

  if (n == 0)
    return TRUE; /* relation_function_bind() says it */
  if (call->distinct && !aggregate)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_INVALID_SQL_SYNTAX_FUNCTION_WITH_UNSUPPORTED_SYNTAX,
                                "The function %s does not support DISTINCT.", name);
  if (call->distinct && call->over != NULL)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_DISTINCT_WINDOW_FUNCTION_UNSUPPORTED,
                                "Distinct window functions are not supported: %s.", name);
  if (call->filter != NULL && !aggregate)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_INVALID_SQL_SYNTAX_FUNCTION_WITH_UNSUPPORTED_SYNTAX,
                                "The function %s does not support FILTER clause.", name);
  if (call->within_group.n > 0 && !aggregate)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_INVALID_SQL_SYNTAX_FUNCTION_WITH_UNSUPPORTED_SYNTAX,
                                "The function %s does not support WITHIN GROUP (ORDER BY …).", name);
  if (call->nulls == SQL_NULL_TREATMENT_IGNORE && !aggregate && !window)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_INVALID_SQL_SYNTAX_FUNCTION_WITH_UNSUPPORTED_SYNTAX,
                                "The function %s does not support IGNORE NULLS.", name);
  if (window && !aggregate && call->over == NULL)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE,
                                "Window function %s requires an OVER clause.", name);
  if (aggregate && call->over == NULL && scope->clause != NULL)
    return relation_bind_error (&sql->at, error, SLUICE_ERROR_INVALID_WHERE_CONDITION,
                                "The %s clause cannot hold the aggregate function %s.", scope->clause, name);
  return TRUE;
}

static RelationExpr *
bind_grouping (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *sql, gboolean is_id, GError **error)
{
  const SqlCall *call = &sql->u.call;
  RelationExpr **args = relation_arena_new0_n (binder->arena, RelationExpr *, call->n_args + 1);
  g_autoptr (GString) display = g_string_new (is_id ? "grouping_id(" : "grouping(");

  for (guint i = 0; i < call->n_args; i++) {
    if ((args[i] = relation_bind_expr (binder, scope, call->args[i].value, error)) == NULL)
      return NULL;
    g_string_append_printf (display, "%s%s", i > 0 ? ", " : "", args[i]->display);
  }
  g_string_append_c (display, ')');
  if (!is_id && call->n_args != 1) {
    relation_bind_error (&sql->at, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                         "The `grouping` requires 1 parameters but the actual number is %u.", call->n_args);
    return NULL;
  }
  return relation_expr_new_grouping (binder, is_id, args, call->n_args,
                                     relation_arena_strdup (binder->arena, display->str), &sql->position);
}

/* int(x), date(x) …: casts spelled as functions. */
static BaseType *
cast_function (const char *name)
{
  static const struct {
    const char *name;
    BaseTypeKind kind;
  } casts[] = {
    { "boolean", BASE_TYPE_BOOLEAN }, { "tinyint", BASE_TYPE_BYTE },        { "smallint", BASE_TYPE_SHORT },
    { "int", BASE_TYPE_INTEGER },     { "bigint", BASE_TYPE_LONG },         { "float", BASE_TYPE_FLOAT },
    { "double", BASE_TYPE_DOUBLE },   { "string", BASE_TYPE_STRING },       { "binary", BASE_TYPE_BINARY },
    { "date", BASE_TYPE_DATE },       { "timestamp", BASE_TYPE_TIMESTAMP },
  };

  for (guint i = 0; i < G_N_ELEMENTS (casts); i++)
    if (strcmp (casts[i].name, name) == 0)
      return base_type_simple (casts[i].kind);
  return strcmp (name, "decimal") == 0 ? base_type_decimal (10, 0) : NULL;
}

static RelationExpr *
bind_cast_function (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, const char *name,
                    const BaseType *type, GError **error)
{
  const SqlCall *call = &expr->u.call;
  int code = SLUICE_ERROR_DATATYPE_MISMATCH_CAST_WITHOUT_SUGGESTION;
  g_autofree char *text = base_type_text (type);
  g_autofree char *upper = g_ascii_strup (text, -1);
  RelationExpr *value, *cast;

  if (call->n_args != 1) {
    relation_bind_error (&expr->at, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                         "The `%s` requires 1 parameters but the actual number is %u.", name, call->n_args);
    return NULL;
  }
  if ((value = relation_bind_expr (binder, scope, call->args[0].value, error)) == NULL)
    return NULL;
  if (!relation_cast_check (value->type, type, RELATION_CAST_ANSI, &code)) {
    g_autofree char *from = base_type_text (value->type);
    relation_bind_error (&expr->position, error, code, "Cannot cast \"%s\" to \"%s\".", from, text);
    return NULL;
  }
  cast = relation_expr_new_explicit_cast (binder, value, type, FALSE);
  cast->position = &expr->position;
  cast->display = relation_binder_printf (binder, "CAST(%s AS %s)", value->display, upper);
  return cast;
}

RelationExpr *
relation_bind_call (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *expr, GError **error)
{
  const SqlCall *sql = &expr->u.call;
  g_autoptr (GPtrArray) args = g_ptr_array_new ();
  RelationCall call = { .binder = binder, .position = &expr->at };
  RelationExpr *result;

  if (sql->name.n == 0) {
    relation_bind_unsupported (&expr->at, error, "IDENTIFIER() around an expression");
    return NULL;
  }
  if (sql->name.n > 1 && !base_text_equal_ignore_case (sql->name.parts[0].text, "builtin") &&
      !base_text_equal_ignore_case (sql->name.parts[0].text, "system")) {
    g_autofree char *text = sql_name_text (&sql->name);
    relation_bind_error (&expr->at, error, SLUICE_ERROR_UNRESOLVED_ROUTINE, "Cannot resolve routine %s.", text);
    return NULL;
  }
  if (sql->form == SQL_CALL_BARE) {
    gboolean ok;
    RelationExpr *column = relation_scope_find (binder, scope, &sql->name, &expr->position, &ok, error);
    if (!ok || column != NULL)
      return column;
    /* Only these words are functions without parentheses; current_catalog and the like are column names. */
    static const char *const words[] = { "current_date", "current_timestamp", "current_time",  "current_user",
                                         "user",         "session_user",      "localtimestamp" };
    gboolean special = FALSE;
    for (guint i = 0; i < G_N_ELEMENTS (words); i++)
      special |= base_text_equal_ignore_case (sql->name.parts[0].text, words[i]);
    if (!special) {
      relation_scope_unresolved (scope, &sql->name, &expr->position, error);
      return NULL;
    }
  }
  call.name = call_name (binder, sql);
  if (strcmp (call.name, "struct") == 0 && sql->over == NULL) {
    g_autofree SqlExpr **items = g_new0 (SqlExpr *, sql->n_args + 1);
    for (guint i = 0; i < sql->n_args; i++)
      items[i] = sql->args[i].value;
    return relation_bind_struct (binder, scope, items, sql->n_args, &expr->position, error);
  }
  {
    const RelationFunction *row;
    g_autoptr (BaseType) cast_to = sql->over == NULL ? cast_function (call.name) : NULL;
    if (cast_to != NULL && relation_function_find (call.name, &row, 1) == 0)
      return bind_cast_function (binder, scope, expr, call.name, cast_to, error);
  }
  if (strcmp (call.name, "window") == 0 && sql->over == NULL)
    return relation_bind_window_use (binder, scope, expr, error);
  if (strcmp (call.name, "grouping") == 0 || strcmp (call.name, "grouping_id") == 0)
    return bind_grouping (binder, scope, expr, strcmp (call.name, "grouping_id") == 0, error);
  if (!check_row_use (scope, expr, call.name, error))
    return NULL;
  call.arg_names = relation_arena_new0_n (binder->arena, const char *, sql->n_args + 1);
  if (!bind_args (binder, scope, sql, strcmp (call.name, "count") == 0, args, call.arg_names, error))
    return NULL;
  call.args = (RelationExpr **) args->pdata;
  call.n_args = args->len;
  call.distinct = sql->distinct;
  call.ignore_nulls = sql->nulls == SQL_NULL_TREATMENT_IGNORE;
  call.is_window = sql->over != NULL;
  if (!relation_bind_sort_list (binder, scope, &sql->within_group, &call.order, &call.n_order, error))
    return NULL;
  if (sql->filter != NULL && (call.filter = relation_bind_condition (binder, scope, sql->filter, error)) == NULL)
    return NULL;
  if ((result = relation_function_bind (&call, error)) == NULL)
    return NULL;
  if (sql->filter != NULL)
    result->display = relation_binder_printf (binder, "%s FILTER (WHERE %s)", result->display, call.filter->display);
  result->position = &expr->position;
  if (sql->over != NULL)
    return bind_over (binder, scope, expr, result, error);
  return result;
}

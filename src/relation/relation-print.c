/* Lowering: a bound tree → one DuckDB SELECT.
 *
 * 1. Every operator prints a complete SELECT whose columns are exactly named `x<id>`; ids are unique in a tree, so nothing is ever
 *    qualified, and a correlated subquery simply names the outer column.
 * 2. Only the root's columns are called c0, c1 …; the root prints its ORDER BY outermost, because DuckDB keeps no order of a
 *    subquery.
 * 3. Nothing a user wrote is printed as a name, except the names of struct fields (quoted).
 * 4. A tree shared by several references (a CTE) is printed once, in a WITH in front.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "duck-engine.h"
#include "duck-kernel.h"
#include "duck-session.h"
#include "duck-type.h"
#include "relation-cast.h"
#include "relation-function.h"
#include "relation-tree-private.h"

#include <string.h>

/* Text of one query; far above anything sensible, below what hurts. */
#define MAX_TEXT_BYTES (64u * 1024 * 1024)
#define MAX_DEPTH      2000

static gboolean print_expr (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error);

static gboolean
check_size (const GString *out, GError **error)
{
  if (out->len <= MAX_TEXT_BYTES)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_SQL_TOO_LARGE, "The query is too large once its names are resolved.");
}

/* ---- expressions ---- */

void
relation_printer_variable (RelationPrinter *printer G_GNUC_UNUSED, guint id, GString *out)
{
  g_string_append_printf (out, "l%u", id);
}

void
relation_printer_type (RelationPrinter *printer G_GNUC_UNUSED, const BaseType *type, GString *out)
{
  duck_type_append_text (out, type);
}

gint64
relation_printer_now_us (RelationPrinter *printer)
{
  return printer->lowering->now_us;
}

const char *
relation_printer_zone (RelationPrinter *printer)
{
  return printer->lowering->session != NULL ? duck_session_time_zone (printer->lowering->session) : "UTC";
}

const char *
relation_printer_kernel (RelationPrinter *printer, const char *kernel, const BaseType *result, GError **error)
{
  g_autofree char *type = duck_type_text (result);

  if (printer->lowering->session == NULL) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "%s needs an engine to be lowered.", kernel);
    return NULL;
  }
  return duck_engine_kernel_instance (duck_session_engine (printer->lowering->session), kernel, type, error);
}

/* One name, number, string, or one call `f(…)` or `(…)` that spans the whole text: needs no parentheses. */
static gboolean
is_atomic (const char *text)
{
  int nesting = 0;
  gboolean quoted = FALSE;
  const char *at = text;

  if (*at == '\'') {
    for (at++; *at != '\0'; at++)
      if (*at == '\'' && at[1] == '\'')
        at++;
      else if (*at == '\'')
        return at[1] == '\0';
    return FALSE;
  }
  while (g_ascii_isalnum (*at) || *at == '_')
    at++;
  if (*at == '\0')
    return at > text;
  if (*at != '(')
    return FALSE;
  for (; *at != '\0'; at++) {
    if (*at == '\'')
      quoted = !quoted;
    if (quoted)
      continue;
    if (*at == '(')
      nesting++;
    if (*at == ')' && --nesting == 0)
      return at[1] == '\0';
  }
  return FALSE;
}

gboolean
relation_printer_expr (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean atomic;

  if (!print_expr (printer, expr, text, error) || !check_size (text, error) || !check_size (out, error))
    return FALSE;
  atomic = is_atomic (text->str);
  if (!atomic)
    g_string_append_c (out, '(');
  g_string_append_len (out, text->str, (gssize) text->len);
  if (!atomic)
    g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_list (RelationPrinter *printer, RelationExpr *const *exprs, guint from, guint n, GString *out, GError **error)
{
  for (guint i = from; i < n; i++) {
    if (i > from)
      g_string_append (out, ", ");
    if (!relation_printer_expr (printer, exprs[i], out, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
print_sort (RelationPrinter *printer, const RelationSort *sort, GString *out, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (!relation_printer_expr (printer, sort->expr, text, error))
    return FALSE;
  if (base_type_is_nested (sort->expr->type)) {
    g_autofree char *key = relation_order_key (text->str, sort->expr->type);
    g_string_append (out, key);
  } else {
    g_string_append_len (out, text->str, (gssize) text->len);
  }
  g_string_append_printf (out, " %s NULLS %s", sort->descending ? "DESC" : "ASC", sort->nulls_first ? "FIRST" : "LAST");
  return TRUE;
}

static gboolean
print_sorts (RelationPrinter *printer, const RelationSort *order, guint n, GString *out, GError **error)
{
  for (guint i = 0; i < n; i++) {
    if (i > 0)
      g_string_append (out, ", ");
    if (!print_sort (printer, &order[i], out, error))
      return FALSE;
  }
  return TRUE;
}

/* A frame's distance; over a date or timestamp it must be an INTERVAL of DuckDB. */
static gboolean
print_offset (RelationPrinter *printer, const RelationExpr *offset, GString *out, GError **error)
{
  const char *open = "";

  switch (base_type_kind (offset->type)) {
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
    open = "to_months(";
    break;
  case BASE_TYPE_INTERVAL_DAY_TIME:
    open = "to_microseconds(";
    break;
  default:
    break;
  }
  g_string_append (out, open);
  if (!relation_printer_expr (printer, offset, out, error))
    return FALSE;
  if (*open != '\0')
    g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_bound (RelationPrinter *printer, const RelationBound *bound, GString *out, GError **error)
{
  switch (bound->kind) {
  case RELATION_BOUND_UNBOUNDED_PRECEDING:
    g_string_append (out, "UNBOUNDED PRECEDING");
    return TRUE;
  case RELATION_BOUND_UNBOUNDED_FOLLOWING:
    g_string_append (out, "UNBOUNDED FOLLOWING");
    return TRUE;
  case RELATION_BOUND_CURRENT_ROW:
    g_string_append (out, "CURRENT ROW");
    return TRUE;
  case RELATION_BOUND_PRECEDING:
  case RELATION_BOUND_FOLLOWING:
    if (!print_offset (printer, bound->offset, out, error))
      return FALSE;
    g_string_append (out, bound->kind == RELATION_BOUND_PRECEDING ? " PRECEDING" : " FOLLOWING");
    return TRUE;
  }
  g_assert_not_reached ();
}

static gboolean
print_window (RelationPrinter *printer, const RelationWindow *window, GString *out, GError **error)
{
  g_string_append (out, " OVER (");
  if (window->n_partition > 0) {
    g_string_append (out, "PARTITION BY ");
    if (!print_list (printer, window->partition, 0, window->n_partition, out, error))
      return FALSE;
  }
  if (window->n_order > 0) {
    g_string_append (out, " ORDER BY ");
    if (!print_sorts (printer, window->order, window->n_order, out, error))
      return FALSE;
  }
  if (window->has_frame) {
    g_string_append (out, window->unit == RELATION_FRAME_ROWS ? " ROWS BETWEEN " : " RANGE BETWEEN ");
    if (!print_bound (printer, &window->start, out, error))
      return FALSE;
    g_string_append (out, " AND ");
    if (!print_bound (printer, &window->end, out, error))
      return FALSE;
  }
  g_string_append_c (out, ')');
  return TRUE;
}

gboolean
relation_printer_aggregate (RelationPrinter *printer, const RelationExpr *call, const char *name, const char *args,
                            GString *out, GError **error)
{
  g_string_append_printf (out, "%s(%s%s", name, call->distinct ? "DISTINCT " : "", args);
  if (call->n_order > 0) {
    g_string_append (out, " ORDER BY ");
    if (!print_sorts (printer, call->order, call->n_order, out, error))
      return FALSE;
  }
  if (call->ignore_nulls && (call->function->flags & RELATION_FUNCTION_WINDOW) != 0)
    g_string_append (out, " IGNORE NULLS");
  g_string_append_c (out, ')');
  if (call->filter != NULL) {
    g_string_append (out, " FILTER (WHERE ");
    if (!relation_printer_expr (printer, call->filter, out, error))
      return FALSE;
    g_string_append_c (out, ')');
  }
  return call->window == NULL || print_window (printer, call->window, out, error);
}

/* ---- templates ---- */

static void
append_spark_type (const BaseType *type, GString *out)
{
  g_autoptr (json_t) json = base_type_to_json (type);
  g_autofree char *text = json_dumps (json, JSON_COMPACT | JSON_ENCODE_ANY);

  base_text_append_sql_literal (out, text);
}

static gboolean
expand_kernel (RelationPrinter *printer, const RelationExpr *call, const char **at, GString *out, GError **error)
{
  const char *open = *at;
  const char *close = strchr (open, '}');
  g_autofree char *kernel = g_strndup (open, (gsize) (close - open));
  const char *name = relation_printer_kernel (printer, kernel, call->type, error);

  if (name == NULL)
    return FALSE;
  g_string_append (out, name);
  *at = close;
  return TRUE;
}

/* One `$…`; @at stands behind the dollar and is left on its last character. */
static gboolean
expand_dollar (RelationPrinter *printer, const RelationExpr *call, const char **at, GString *out, GError **error)
{
  const char *text = *at;

  if (g_ascii_isdigit (*text)) {
    guint index = (guint) (*text - '1');
    if (index >= call->n_args)
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "The template of `%s` asks for argument %u.",
                             call->function->names, index + 1);
    return relation_printer_expr (printer, call->args[index], out, error);
  }
  if (*text == '*')
    return print_list (printer, call->args, 0, call->n_args, out, error);
  if (*text == '@' && g_ascii_isdigit (text[1])) {
    *at = text + 1;
    return print_list (printer, call->args, (guint) (text[1] - '1'), call->n_args, out, error);
  }
  if (strncmp (text, "k{", 2) == 0) {
    *at = text + 2;
    return expand_kernel (printer, call, at, out, error);
  }
  if (strncmp (text, "zone", 4) == 0) {
    *at = text + 3;
    base_text_append_sql_literal (out, relation_printer_zone (printer));
    return TRUE;
  }
  if (*text == 't' || *text == 's') {
    const BaseType *type = call->type;
    if (g_ascii_isdigit (text[1])) {
      guint index = (guint) (text[1] - '1');
      *at = text + 1;
      if (index >= call->n_args)
        return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "The template of `%s` asks for argument %u.",
                               call->function->names, index + 1);
      type = call->args[index]->type;
    }
    if (*text == 't')
      duck_type_append_text (out, type);
    else
      append_spark_type (type, out);
    return TRUE;
  }
  return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "The template of `%s` has a stray $.",
                         call->function->names);
}

static gboolean expand (RelationPrinter *printer, const RelationExpr *call, const char *text, const char *end,
                        GString *out, GError **error);

/* `{name|args}`; @at stands behind the brace and is left on the closing one. */
static gboolean
expand_aggregate (RelationPrinter *printer, const RelationExpr *call, const char **at, GString *out, GError **error)
{
  const char *bar = strchr (*at, '|');
  const char *close = bar;
  int nesting = 0;
  g_autofree char *name = NULL;
  g_autoptr (GString) args = g_string_new (NULL);

  for (; *close != '\0' && (*close != '}' || nesting > 0); close++)
    nesting += *close == '{' ? 1 : *close == '}' ? -1 : 0;
  name = g_strndup (*at, (gsize) (bar - *at));
  if (!expand (printer, call, bar + 1, close, args, error))
    return FALSE;
  *at = close;
  return relation_printer_aggregate (printer, call, name, args->str, out, error);
}

static gboolean
starts_aggregate (const RelationExpr *call, const char *at)
{
  if ((call->function->flags & (RELATION_FUNCTION_AGGREGATE | RELATION_FUNCTION_WINDOW)) == 0)
    return FALSE;
  while (g_ascii_isalnum (*at) || *at == '_')
    at++;
  return *at == '|';
}

static gboolean
expand (RelationPrinter *printer, const RelationExpr *call, const char *text, const char *end, GString *out,
        GError **error)
{
  for (; text < end; text++) {
    if (*text == '$') {
      text++;
      if (!expand_dollar (printer, call, &text, out, error))
        return FALSE;
    } else if (*text == '{' && starts_aggregate (call, text + 1)) {
      text++;
      if (!expand_aggregate (printer, call, &text, out, error))
        return FALSE;
    } else {
      g_string_append_c (out, *text);
    }
  }
  return check_size (out, error);
}

gboolean
relation_printer_template (RelationPrinter *printer, const RelationExpr *call, const char *text, GString *out,
                           GError **error)
{
  return expand (printer, call, text, text + strlen (text), out, error);
}

static gboolean
print_call_text (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  if (expr->function->lower_call != NULL)
    return expr->function->lower_call (printer, expr, out, error);
  if (expr->function->lower == NULL)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "The row of `%s` cannot be lowered.",
                           expr->function->names);
  return relation_printer_template (printer, expr, expr->function->lower, out, error);
}

/* DuckDB folds a call of a constant NULL to a NULL without a type, so such a call says its type itself. */
static gboolean
print_call (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  if (!expr->foldable || !expr->nullable)
    return print_call_text (printer, expr, out, error);
  g_string_append (out, "CAST(");
  if (!print_call_text (printer, expr, out, error))
    return FALSE;
  g_string_append (out, " AS ");
  duck_type_append_text (out, expr->type);
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_lambda (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  g_string_append (out, "lambda ");
  for (guint i = 0; i < expr->n_parameters; i++) {
    g_string_append (out, i > 0 ? ", " : "");
    relation_printer_variable (printer, expr->parameters[i], out);
  }
  g_string_append (out, ": ");
  return relation_printer_expr (printer, expr->args[0], out, error);
}

static gboolean
print_subquery (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  g_autoptr (GString) query = g_string_new (NULL);

  if (!relation_printer_operator (printer, expr->subquery, query, error))
    return FALSE;
  switch (expr->subquery_kind) {
  case RELATION_SUBQUERY_SCALAR:
    g_string_append_printf (out, "(%s)", query->str);
    return TRUE;
  case RELATION_SUBQUERY_EXISTS:
    g_string_append_printf (out, "EXISTS (%s)", query->str);
    return TRUE;
  case RELATION_SUBQUERY_IN:
  case RELATION_SUBQUERY_NOT_IN:
    if (expr->n_args > 1)
      g_string_append_c (out, '(');
    if (!print_list (printer, expr->args, 0, expr->n_args, out, error))
      return FALSE;
    if (expr->n_args > 1)
      g_string_append_c (out, ')');
    g_string_append_printf (out, " %s (%s)", expr->subquery_kind == RELATION_SUBQUERY_IN ? "IN" : "NOT IN", query->str);
    return TRUE;
  }
  g_assert_not_reached ();
}

static gboolean
print_cast (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  g_autoptr (GString) operand = g_string_new (NULL);
  RelationCastMode mode = expr->try_cast ? RELATION_CAST_TRY : expr->store ? RELATION_CAST_STORE : RELATION_CAST_ANSI;

  if (!relation_printer_expr (printer, expr->args[0], operand, error))
    return FALSE;
  return relation_cast_lower (printer, operand->str, expr->args[0]->type, expr->type, mode, expr->store, out, error);
}

static gboolean
print_field (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  const BaseField *field = base_type_field (expr->args[0]->type, expr->field_index);

  g_string_append (out, "struct_extract(");
  if (!relation_printer_expr (printer, expr->args[0], out, error))
    return FALSE;
  g_string_append (out, ", ");
  base_text_append_sql_literal (out, field->name);
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_expr (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  gboolean ok = FALSE;

  if (++printer->depth > MAX_DEPTH) {
    printer->depth--;
    return base_error_set (error, SLUICE_ERROR_SQL_TOO_DEEP,
                           "The query is nested too deeply once its names are resolved.");
  }
  switch (expr->kind) {
  case RELATION_EXPR_LITERAL:
    relation_literal_print (expr->literal, out);
    ok = TRUE;
    break;
  case RELATION_EXPR_COLUMN:
    g_string_append_printf (out, "x%u", expr->column_id);
    ok = TRUE;
    break;
  case RELATION_EXPR_LAMBDA_VARIABLE:
    relation_printer_variable (printer, expr->column_id, out);
    ok = TRUE;
    break;
  case RELATION_EXPR_NOW:
    g_string_append_printf (out, "make_timestamptz(%" G_GINT64_FORMAT ")", printer->lowering->now_us);
    ok = TRUE;
    break;
  case RELATION_EXPR_LAMBDA:
    ok = print_lambda (printer, expr, out, error);
    break;
  case RELATION_EXPR_CAST:
    ok = print_cast (printer, expr, out, error);
    break;
  case RELATION_EXPR_CALL:
    ok = print_call (printer, expr, out, error);
    break;
  case RELATION_EXPR_FIELD:
    ok = print_field (printer, expr, out, error);
    break;
  case RELATION_EXPR_SUBQUERY:
    ok = print_subquery (printer, expr, out, error);
    break;
  }
  printer->depth--;
  return ok;
}

/* ---- operators ---- */

/* ` FROM (input)`; nothing for the one row without columns. */
static gboolean
print_from (RelationPrinter *printer, RelationOperator *input, GString *out, GError **error)
{
  if (input->kind == RELATION_OP_ONE_ROW)
    return TRUE;
  g_string_append (out, " FROM (");
  if (!relation_printer_operator (printer, input, out, error))
    return FALSE;
  g_string_append_c (out, ')');
  return TRUE;
}

/* The name of a column: `c<number>` at the root. */
static void
print_name (const RelationOperator *op, guint column, gboolean root, GString *out)
{
  if (root)
    g_string_append_printf (out, "c%u", column);
  else
    g_string_append_printf (out, "x%u", op->columns[column].id);
}

static gboolean
print_source (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (RelationText) text = relation_text_new ();
  RelationScan scan = { .skips = op->skips, .n_skips = op->n_skips, .now_us = printer->lowering->now_us };

  for (guint i = 0; i < op->n_columns + op->n_hidden; i++)
    if (g_hash_table_contains (printer->used, GUINT_TO_POINTER (op->columns[i].id))) {
      g_array_append_val (columns, i);
      g_ptr_array_add (names, g_strdup_printf ("x%u", op->columns[i].id));
    }
  scan.columns = (const guint *) columns->data;
  scan.names = (const char *const *) names->pdata;
  scan.n_columns = columns->len;
  if (!op->source->klass->scan (op->source, &scan, text, error)) {
    base_error_add_context (error, "planning the scan of %s", op->source->name);
    return FALSE;
  }
  g_string_append_len (out, relation_text_sql (text)->str, (gssize) relation_text_sql (text)->len);
  relation_text_absorb (printer->text, text);
  return TRUE;
}

static gboolean
print_values (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  g_string_append (out, "SELECT * FROM (VALUES ");
  for (guint row = 0; row < op->n_rows; row++) {
    g_string_append (out, row > 0 ? ", (" : "(");
    if (!print_list (printer, op->exprs + (gsize) row * op->n_columns, 0, op->n_columns, out, error))
      return FALSE;
    g_string_append_c (out, ')');
  }
  g_string_append (out, ") AS v(");
  for (guint i = 0; i < op->n_columns; i++)
    g_string_append_printf (out, "%sx%u", i > 0 ? ", " : "", op->columns[i].id);
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_project (RelationPrinter *printer, RelationOperator *op, gboolean root, GString *out, GError **error)
{
  g_string_append (out, "SELECT ");
  for (guint i = 0; i < op->n_columns; i++) {
    if (i > 0)
      g_string_append (out, ", ");
    if (!print_expr (printer, op->exprs[i], out, error))
      return FALSE;
    g_string_append (out, " AS ");
    print_name (op, i, root, out);
  }
  if (op->n_columns == 0)
    g_string_append (out, "1 AS one");
  return print_from (printer, op->input, out, error);
}

static gboolean
print_filter (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  g_string_append (out, op->input->kind == RELATION_OP_ONE_ROW ? "SELECT 1 AS one" : "SELECT *");
  if (!print_from (printer, op->input, out, error))
    return FALSE;
  g_string_append (out, " WHERE ");
  return print_expr (printer, op->condition, out, error);
}

static void
print_grouping (const RelationOperator *op, GString *out)
{
  if (op->sets == NULL) {
    for (guint i = 0; i < op->n_groups; i++)
      g_string_append_printf (out, "%sx%u", i > 0 ? ", " : " GROUP BY ", op->exprs[i]->column_id);
    return;
  }
  g_string_append (out, " GROUP BY GROUPING SETS (");
  for (guint s = 0; s < op->n_sets; s++) {
    g_string_append (out, s > 0 ? ", (" : "(");
    for (guint i = 0; i < op->set_sizes[s]; i++)
      g_string_append_printf (out, "%sx%u", i > 0 ? ", " : "", op->exprs[op->sets[s][i]]->column_id);
    g_string_append_c (out, ')');
  }
  g_string_append_c (out, ')');
  if (op->not_empty)
    g_string_append (out, " HAVING count(*) > 0");
}

static gboolean
print_aggregate (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  g_string_append (out, "SELECT ");
  for (guint i = 0; i < op->n_columns; i++) {
    if (i > 0)
      g_string_append (out, ", ");
    if (i == op->grouping_id) {
      g_string_append (out, "CAST(GROUPING_ID(");
      for (guint g = 0; g < op->n_groups; g++)
        g_string_append_printf (out, "%sx%u", g > 0 ? ", " : "", op->exprs[g]->column_id);
      g_string_append (out, ") AS BIGINT)");
    } else if (!print_expr (printer, op->exprs[i], out, error)) {
      return FALSE;
    }
    g_string_append_printf (out, " AS x%u", op->columns[i].id);
  }
  if (op->n_columns == 0)
    g_string_append (out, "count(*) AS one");
  if (!print_from (printer, op->input, out, error))
    return FALSE;
  print_grouping (op, out);
  return TRUE;
}

static gboolean
print_ordered (RelationPrinter *printer, RelationOperator *op, gboolean root, GString *out, GError **error)
{
  g_string_append (out, "SELECT ");
  for (guint i = 0; i < op->n_columns; i++) {
    g_string_append_printf (out, "%sx%u", i > 0 ? ", " : "", op->columns[i].id);
    if (root)
      g_string_append_printf (out, " AS c%u", i);
  }
  if (op->n_columns == 0)
    g_string_append (out, "1 AS one");
  if (!print_from (printer, op->input, out, error))
    return FALSE;
  g_string_append (out, " ORDER BY ");
  return print_sorts (printer, op->order, op->n_order, out, error);
}

static gboolean
print_limit (RelationPrinter *printer, RelationOperator *op, gboolean root, GString *out, GError **error)
{
  if (op->input->kind == RELATION_OP_SORT) {
    if (!print_ordered (printer, op->input, root, out, error))
      return FALSE;
  } else {
    g_string_append (out, "SELECT ");
    for (guint i = 0; root && i < op->n_columns; i++)
      g_string_append_printf (out, "%sx%u AS c%u", i > 0 ? ", " : "", op->columns[i].id, i);
    if (!root)
      g_string_append (out, "*");
    g_string_append (out, " FROM (");
    if (!relation_printer_operator (printer, op->input, out, error))
      return FALSE;
    g_string_append_c (out, ')');
  }
  if (op->limit >= 0)
    g_string_append_printf (out, " LIMIT %" G_GINT64_FORMAT, op->limit);
  if (op->offset > 0)
    g_string_append_printf (out, " OFFSET %" G_GINT64_FORMAT, op->offset);
  return TRUE;
}

static gboolean
print_join (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  static const char *const words[] = {
    [RELATION_JOIN_INNER] = "JOIN",     [RELATION_JOIN_LEFT] = "LEFT JOIN",   [RELATION_JOIN_RIGHT] = "RIGHT JOIN",
    [RELATION_JOIN_FULL] = "FULL JOIN", [RELATION_JOIN_CROSS] = "CROSS JOIN", [RELATION_JOIN_SEMI] = "SEMI JOIN",
    [RELATION_JOIN_ANTI] = "ANTI JOIN",
  };
  RelationJoinKind kind = op->join == RELATION_JOIN_INNER && op->condition == NULL ? RELATION_JOIN_CROSS : op->join;

  g_string_append (out, "SELECT * FROM (");
  if (!relation_printer_operator (printer, op->input, out, error))
    return FALSE;
  if (op->lateral && kind == RELATION_JOIN_CROSS)
    g_string_append (out, ") AS a, LATERAL (");
  else
    g_string_append_printf (out, ") AS a %s %s(", words[kind], op->lateral ? "LATERAL " : "");
  if (!relation_printer_operator (printer, op->right, out, error))
    return FALSE;
  g_string_append (out, ") AS b");
  if (kind == RELATION_JOIN_CROSS)
    return TRUE;
  g_string_append (out, " ON ");
  if (op->condition == NULL) {
    g_string_append (out, "true");
    return TRUE;
  }
  return print_expr (printer, op->condition, out, error);
}

static gboolean
print_side (RelationPrinter *printer, const RelationOperator *op, RelationOperator *side, GString *out, GError **error)
{
  g_string_append (out, "(SELECT ");
  for (guint i = 0; i < op->n_columns; i++)
    g_string_append_printf (out, "%sx%u AS x%u", i > 0 ? ", " : "", side->columns[i].id, op->columns[i].id);
  g_string_append (out, " FROM (");
  if (!relation_printer_operator (printer, side, out, error))
    return FALSE;
  g_string_append (out, "))");
  return TRUE;
}

static gboolean
print_set (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  static const char *const words[] = {
    [RELATION_SET_UNION_ALL] = " UNION ALL ", [RELATION_SET_UNION] = " UNION ",
    [RELATION_SET_EXCEPT] = " EXCEPT ",       [RELATION_SET_EXCEPT_ALL] = " EXCEPT ALL ",
    [RELATION_SET_INTERSECT] = " INTERSECT ", [RELATION_SET_INTERSECT_ALL] = " INTERSECT ALL ",
  };

  if (!print_side (printer, op, op->input, out, error))
    return FALSE;
  g_string_append (out, words[op->set]);
  return print_side (printer, op, op->right, out, error);
}

/* unnest() in a SELECT list repeats the row for every element and drops it for none. */
static gboolean
print_generate (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  guint n_input = op->input->n_columns;
  g_autoptr (GString) list = g_string_new (NULL);

  if (!print_expr (printer, op->exprs[0], list, error))
    return FALSE;
  g_string_append (out, "SELECT * EXCLUDE (g)");
  for (guint i = n_input; i < op->n_columns; i++)
    g_string_append_printf (out, ", struct_extract(g, 'c%u') AS x%u", i - n_input, op->columns[i].id);
  if (op->outer)
    g_string_append_printf (out, " FROM (SELECT *, unnest(coalesce(nullif(%s, []), [NULL])) AS g", list->str);
  else
    g_string_append_printf (out, " FROM (SELECT %sunnest(%s) AS g",
                            op->input->kind == RELATION_OP_ONE_ROW ? "1 AS one, " : "*, ", list->str);
  if (op->outer && op->input->kind == RELATION_OP_ONE_ROW)
    g_string_append (out, " FROM (SELECT 1 AS one)");
  else if (!print_from (printer, op->input, out, error))
    return FALSE;
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_shared (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  RelationShared *shared = op->shared;
  gboolean inlined = shared->n_references <= 1;
  guint number = 0;

  if (!inlined && !g_ptr_array_find (printer->shared, shared, &number)) {
    GString *text = g_string_new (NULL);
    if (!relation_printer_operator (printer, shared->root, text, error)) {
      g_string_free (text, TRUE);
      return FALSE;
    }
    number = printer->shared->len;
    g_ptr_array_add (printer->shared, shared);
    g_ptr_array_add (printer->shared_texts, g_string_free (text, FALSE));
  }
  g_string_append (out, "SELECT ");
  for (guint i = 0; i < op->n_columns; i++)
    g_string_append_printf (out, "%sx%u AS x%u", i > 0 ? ", " : "", shared->root->columns[i].id, op->columns[i].id);
  if (op->n_columns == 0)
    g_string_append (out, "1 AS one");
  g_string_append (out, " FROM ");
  if (!inlined) {
    g_string_append_printf (out, "t%u", number);
    return TRUE;
  }
  g_string_append_c (out, '(');
  if (!relation_printer_operator (printer, shared->root, out, error))
    return FALSE;
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
print_operator (RelationPrinter *printer, RelationOperator *op, gboolean root, GString *out, GError **error)
{
  switch (op->kind) {
  case RELATION_OP_SOURCE:
    return print_source (printer, op, out, error);
  case RELATION_OP_ONE_ROW:
    g_string_append (out, "SELECT 1 AS one");
    return TRUE;
  case RELATION_OP_VALUES:
    return print_values (printer, op, out, error);
  case RELATION_OP_PROJECT:
    return print_project (printer, op, root, out, error);
  case RELATION_OP_FILTER:
    return print_filter (printer, op, out, error);
  case RELATION_OP_AGGREGATE:
    return print_aggregate (printer, op, out, error);
  case RELATION_OP_SORT:
    return print_ordered (printer, op, root, out, error);
  case RELATION_OP_LIMIT:
    return print_limit (printer, op, root, out, error);
  case RELATION_OP_DISTINCT:
    g_string_append (out, "SELECT DISTINCT *");
    return print_from (printer, op->input, out, error);
  case RELATION_OP_JOIN:
    return print_join (printer, op, out, error);
  case RELATION_OP_SET:
    return print_set (printer, op, out, error);
  case RELATION_OP_GENERATE:
    return print_generate (printer, op, out, error);
  case RELATION_OP_SHARED:
    return print_shared (printer, op, out, error);
  case RELATION_OP_EXPECT:
    return relation_expect_print (printer, op, out, error);
  case RELATION_OP_RANGE:
    g_string_append_printf (out,
                            "SELECT CAST(range AS BIGINT) AS x%u FROM range(CAST(%" G_GINT64_FORMAT
                            " AS BIGINT), CAST(%" G_GINT64_FORMAT " AS BIGINT), CAST(%" G_GINT64_FORMAT " AS BIGINT))",
                            op->columns[0].id, op->range_start, op->range_end, op->range_step);
    return TRUE;
  }
  g_assert_not_reached ();
}

gboolean
relation_printer_operator (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  gboolean ok;

  if (++printer->depth > MAX_DEPTH) {
    printer->depth--;
    return base_error_set (error, SLUICE_ERROR_SQL_TOO_DEEP,
                           "The query is nested too deeply once its names are resolved.");
  }
  ok = print_operator (printer, op, FALSE, out, error) && check_size (out, error);
  printer->depth--;
  return ok;
}

gboolean
relation_printer_root (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  gboolean renames = op->kind == RELATION_OP_PROJECT || op->kind == RELATION_OP_SORT || op->kind == RELATION_OP_LIMIT;

  if (renames)
    return print_operator (printer, op, TRUE, out, error);
  g_string_append (out, "SELECT ");
  for (guint i = 0; i < op->n_columns; i++)
    g_string_append_printf (out, "%sx%u AS c%u", i > 0 ? ", " : "", op->columns[i].id, i);
  g_string_append (out, " FROM (");
  if (!relation_printer_operator (printer, op, out, error))
    return FALSE;
  g_string_append_c (out, ')');
  return TRUE;
}

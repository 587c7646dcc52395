/* Expressions as text. An operand of a lower level gets parentheses. */
#include "sql-level-private.h"
#include "sql-print-private.h"

#include <string.h>

static const char *const unit_texts[] = {
  [SQL_UNIT_NONE] = "",
  [SQL_UNIT_YEAR] = "YEAR",
  [SQL_UNIT_MONTH] = "MONTH",
  [SQL_UNIT_WEEK] = "WEEK",
  [SQL_UNIT_DAY] = "DAY",
  [SQL_UNIT_HOUR] = "HOUR",
  [SQL_UNIT_MINUTE] = "MINUTE",
  [SQL_UNIT_SECOND] = "SECOND",
  [SQL_UNIT_MILLISECOND] = "MILLISECOND",
  [SQL_UNIT_MICROSECOND] = "MICROSECOND",
  [SQL_UNIT_NANOSECOND] = "NANOSECOND",
};

/* ------------------------------------------------------------------ names and texts */

void
sql_print_ident (GString *out, const SqlIdent *ident)
{
  if (!ident->quoted) {
    g_string_append (out, ident->text);
    return;
  }
  g_string_append_c (out, '`');
  for (const char *c = ident->text; *c != 0; c++) {
    if (*c == '`')
      g_string_append_c (out, '`');
    g_string_append_c (out, *c);
  }
  g_string_append_c (out, '`');
}

void
sql_print_idents (GString *out, const SqlIdentList *list)
{
  for (guint i = 0; i < list->n; i++) {
    g_string_append (out, i > 0 ? ", " : "");
    sql_print_ident (out, &list->items[i]);
  }
}

void
sql_print_name (GString *out, const SqlName *name)
{
  if (name->dynamic != NULL) {
    g_string_append (out, "IDENTIFIER(");
    sql_print_expr (out, name->dynamic);
    g_string_append_c (out, ')');
  }
  for (guint i = 0; i < name->n; i++) {
    g_string_append (out, i > 0 ? "." : "");
    sql_print_ident (out, &name->parts[i]);
  }
}

void
sql_print_names (GString *out, const SqlNameList *list)
{
  for (guint i = 0; i < list->n; i++) {
    g_string_append (out, i > 0 ? ", " : "");
    sql_print_name (out, &list->items[i]);
  }
}

void
sql_print_string (GString *out, const char *text, gsize length)
{
  g_string_append_c (out, '\'');
  for (gsize i = 0; i < length; i++) {
    switch (text[i]) {
    case 0:
      g_string_append (out, "\\u0000");
      break;
    case '\n':
      g_string_append (out, "\\n");
      break;
    case '\r':
      g_string_append (out, "\\r");
      break;
    case '\'':
    case '\\':
      g_string_append_c (out, '\\');
      g_string_append_c (out, text[i]);
      break;
    default:
      g_string_append_c (out, text[i]);
    }
  }
  g_string_append_c (out, '\'');
}

void
sql_print_text (GString *out, const char *text)
{
  sql_print_string (out, text, strlen (text));
}

char *
sql_print_string_literal (const char *text, gssize length)
{
  GString *out = g_string_new (NULL);
  sql_print_string (out, text, length < 0 ? strlen (text) : (gsize) length);
  return g_string_free (out, FALSE);
}

/* ------------------------------------------------------------------ levels */

static guint
level_of (const SqlExpr *expr)
{
  switch (expr->kind) {
  case SQL_EXPR_LAMBDA:
    return SQL_LEVEL_LAMBDA;
  case SQL_EXPR_BINARY:
    return sql_binary_operators[expr->u.binary.op].level;
  case SQL_EXPR_UNARY:
    return expr->u.unary.op == SQL_UNARY_NOT ? SQL_LEVEL_NOT : SQL_LEVEL_UNARY;
  case SQL_EXPR_BETWEEN:
  case SQL_EXPR_IN_LIST:
  case SQL_EXPR_IN_QUERY:
  case SQL_EXPR_LIKE:
  case SQL_EXPR_IS:
    return SQL_LEVEL_PREDICATE;
  case SQL_EXPR_LITERAL:
    return expr->u.literal.kind >= SQL_LITERAL_INTEGER && expr->u.literal.kind <= SQL_LITERAL_DECIMAL
               ? SQL_LEVEL_UNARY
               : SQL_LEVEL_PRIMARY;
  case SQL_EXPR_INTERVAL:
  case SQL_EXPR_JSON_PATH:
    return SQL_LEVEL_UNARY;
  case SQL_EXPR_COLUMN:
  case SQL_EXPR_STAR:
  case SQL_EXPR_PARAMETER:
  case SQL_EXPR_FIELD:
  case SQL_EXPR_INDEX:
  case SQL_EXPR_CASE:
  case SQL_EXPR_CAST:
  case SQL_EXPR_CALL:
  case SQL_EXPR_ROW:
  case SQL_EXPR_ALIAS:
  case SQL_EXPR_SUBQUERY:
  case SQL_EXPR_EXISTS:
  case SQL_EXPR_TABLE:
    return SQL_LEVEL_PRIMARY;
  }
  return SQL_LEVEL_PRIMARY;
}

static void
print_at (GString *out, const SqlExpr *expr, guint least)
{
  gboolean wrap = level_of (expr) < least;
  if (wrap)
    g_string_append_c (out, '(');
  sql_print_expr (out, expr);
  if (wrap)
    g_string_append_c (out, ')');
}

void
sql_print_exprs (GString *out, const SqlExprList *list)
{
  for (guint i = 0; i < list->n; i++) {
    g_string_append (out, i > 0 ? ", " : "");
    sql_print_expr (out, list->items[i]);
  }
}

void
sql_print_sort (GString *out, const SqlSortList *list)
{
  static const char *const directions[] = { "", " ASC", " DESC" };
  static const char *const nulls[] = { "", " NULLS FIRST", " NULLS LAST" };
  for (guint i = 0; i < list->n; i++) {
    const SqlSortItem *item = &list->items[i];
    g_string_append (out, i > 0 ? ", " : "");
    if (item->value != NULL)
      sql_print_expr (out, item->value);
    else
      g_string_append (out, "ALL");
    g_string_append (out, directions[item->direction]);
    g_string_append (out, nulls[item->nulls]);
  }
}

/* ------------------------------------------------------------------ literals */

static void
print_literal (GString *out, const SqlLiteral *literal)
{
  static const char *const suffixes[] = {
    [SQL_LITERAL_TINYINT] = "Y", [SQL_LITERAL_SMALLINT] = "S", [SQL_LITERAL_BIGINT] = "L",
    [SQL_LITERAL_FLOAT] = "F",   [SQL_LITERAL_DOUBLE] = "D",   [SQL_LITERAL_DECIMAL] = "BD",
  };
  switch (literal->kind) {
  case SQL_LITERAL_NULL:
    g_string_append (out, "NULL");
    break;
  case SQL_LITERAL_BOOLEAN:
    g_string_append (out, literal->truth ? "true" : "false");
    break;
  case SQL_LITERAL_INTEGER:
    g_string_append (out, literal->text);
    break;
  case SQL_LITERAL_TINYINT:
  case SQL_LITERAL_SMALLINT:
  case SQL_LITERAL_BIGINT:
  case SQL_LITERAL_FLOAT:
  case SQL_LITERAL_DOUBLE:
  case SQL_LITERAL_DECIMAL:
    g_string_append_printf (out, "%s%s", literal->text, suffixes[literal->kind]);
    break;
  case SQL_LITERAL_STRING:
    sql_print_string (out, literal->text, literal->length);
    break;
  case SQL_LITERAL_BINARY:
    g_string_append (out, "X'");
    for (gsize i = 0; i < literal->length; i++)
      g_string_append_printf (out, "%02X", (guint) (guchar) literal->text[i]);
    g_string_append_c (out, '\'');
    break;
  case SQL_LITERAL_TYPED:
    g_string_append_printf (out, "%s ", literal->type_name);
    sql_print_string (out, literal->text, literal->length);
    break;
  }
}

static void
print_interval (GString *out, const SqlInterval *interval)
{
  g_string_append (out, "INTERVAL");
  for (guint i = 0; i < interval->n; i++) {
    const SqlIntervalPart *part = &interval->parts[i];
    g_string_append (out, part->negated ? " -" : " ");
    if (part->quoted)
      sql_print_text (out, part->text);
    else
      g_string_append (out, part->text);
    g_string_append_printf (out, " %s", unit_texts[part->unit]);
    if (part->to != SQL_UNIT_NONE)
      g_string_append_printf (out, " TO %s", unit_texts[part->to]);
  }
}

/* ------------------------------------------------------------------ calls */

static void
print_bound (GString *out, const SqlBound *bound)
{
  switch (bound->kind) {
  case SQL_BOUND_UNBOUNDED_PRECEDING:
    g_string_append (out, "UNBOUNDED PRECEDING");
    break;
  case SQL_BOUND_PRECEDING:
    print_at (out, bound->value, SQL_LEVEL_COMPARISON);
    g_string_append (out, " PRECEDING");
    break;
  case SQL_BOUND_CURRENT_ROW:
    g_string_append (out, "CURRENT ROW");
    break;
  case SQL_BOUND_FOLLOWING:
    print_at (out, bound->value, SQL_LEVEL_COMPARISON);
    g_string_append (out, " FOLLOWING");
    break;
  case SQL_BOUND_UNBOUNDED_FOLLOWING:
    g_string_append (out, "UNBOUNDED FOLLOWING");
    break;
  }
}

void
sql_print_window (GString *out, const SqlWindow *window)
{
  if (window->name != NULL) {
    sql_print_ident (out, window->name);
    return;
  }
  g_string_append_c (out, '(');
  if (window->partition_by.n > 0) {
    g_string_append (out, "PARTITION BY ");
    sql_print_exprs (out, &window->partition_by);
  }
  if (window->order_by.n > 0) {
    g_string_append (out, window->partition_by.n > 0 ? " ORDER BY " : "ORDER BY ");
    sql_print_sort (out, &window->order_by);
  }
  if (window->frame != NULL) {
    g_string_append (out, window->partition_by.n + window->order_by.n > 0 ? " " : "");
    g_string_append (out, window->frame->range ? "RANGE BETWEEN " : "ROWS BETWEEN ");
    print_bound (out, &window->frame->start);
    g_string_append (out, " AND ");
    print_bound (out, &window->frame->end);
  }
  g_string_append_c (out, ')');
}

static void
print_word (GString *out, const SqlExpr *expr)
{
  const SqlLiteral *literal = &expr->u.literal;
  gboolean plain = literal->length > 0;
  for (gsize i = 0; i < literal->length; i++)
    plain = plain && (g_ascii_isalpha (literal->text[i]) || literal->text[i] == '_');
  if (plain)
    g_string_append (out, literal->text);
  else
    print_literal (out, literal);
}

/* The arguments of a form: `texts[i]` stands before argument i. */
static void
print_form (GString *out, const SqlCall *call, const char *const *texts)
{
  for (guint i = 0; i < call->n_args; i++) {
    g_string_append (out, texts[i]);
    print_at (out, call->args[i].value, SQL_LEVEL_COMPARISON);
  }
}

static void
print_trim (GString *out, const SqlCall *call)
{
  static const char *const sides[] = { "BOTH ", "LEADING ", "TRAILING " };
  g_string_append (out, call->trim_side_given ? sides[call->trim_side] : "");
  if (call->n_args > 1) {
    sql_print_expr (out, call->args[1].value);
    g_string_append_c (out, ' ');
  }
  g_string_append (out, "FROM ");
  print_at (out, call->args[0].value, SQL_LEVEL_COMPARISON);
}

static void
print_args (GString *out, const SqlCall *call)
{
  for (guint i = 0; i < call->n_args; i++) {
    g_string_append (out, i > 0 ? ", " : "");
    if (call->args[i].name != NULL) {
      sql_print_ident (out, call->args[i].name);
      g_string_append (out, " => ");
    }
    if (i == 0 && call->form == SQL_CALL_UNIT)
      print_word (out, call->args[i].value);
    else
      sql_print_expr (out, call->args[i].value);
  }
}

static void
print_call_args (GString *out, const SqlCall *call)
{
  static const char *const substring[] = { "", " FROM ", " FOR " };
  static const char *const position[] = { "", " IN " };
  static const char *const overlay[] = { "", " PLACING ", " FROM ", " FOR " };
  switch (call->form) {
  case SQL_CALL_BARE:
    break;
  case SQL_CALL_PLAIN:
  case SQL_CALL_UNIT:
    print_args (out, call);
    break;
  case SQL_CALL_EXTRACT:
    print_word (out, call->args[0].value);
    g_string_append (out, " FROM ");
    print_at (out, call->args[1].value, SQL_LEVEL_COMPARISON);
    break;
  case SQL_CALL_SUBSTRING:
    print_form (out, call, substring);
    break;
  case SQL_CALL_POSITION:
    print_form (out, call, position);
    break;
  case SQL_CALL_TRIM:
    print_trim (out, call);
    break;
  case SQL_CALL_OVERLAY:
    print_form (out, call, overlay);
    break;
  }
}

static void
print_call (GString *out, const SqlCall *call)
{
  sql_print_name (out, &call->name);
  if (call->form == SQL_CALL_BARE)
    return;
  g_string_append (out, call->distinct ? "(DISTINCT " : "(");
  print_call_args (out, call);
  g_string_append_c (out, ')');
  if (call->within_group.n > 0) {
    g_string_append (out, " WITHIN GROUP (ORDER BY ");
    sql_print_sort (out, &call->within_group);
    g_string_append_c (out, ')');
  }
  if (call->filter != NULL) {
    g_string_append (out, " FILTER (WHERE ");
    sql_print_expr (out, call->filter);
    g_string_append_c (out, ')');
  }
  if (call->nulls != SQL_NULL_TREATMENT_DEFAULT)
    g_string_append (out, call->nulls == SQL_NULL_TREATMENT_IGNORE ? " IGNORE NULLS" : " RESPECT NULLS");
  if (call->over != NULL) {
    g_string_append (out, " OVER ");
    sql_print_window (out, call->over);
  }
}

/* ------------------------------------------------------------------ operators */

static void
print_unary (GString *out, const SqlExpr *expr)
{
  const SqlExpr *operand = expr->u.unary.operand;
  gboolean number = operand->kind == SQL_EXPR_LITERAL && level_of (operand) == SQL_LEVEL_UNARY;
  switch (expr->u.unary.op) {
  case SQL_UNARY_NOT:
    g_string_append (out, "NOT ");
    print_at (out, operand, SQL_LEVEL_NOT);
    return;
  case SQL_UNARY_MINUS:
    /* `- 1` would be the literal -1. */
    g_string_append (out, "- ");
    print_at (out, operand, number && operand->u.literal.text[0] != '-' ? SQL_LEVEL_PRIMARY : SQL_LEVEL_UNARY);
    return;
  case SQL_UNARY_PLUS:
    g_string_append (out, "+ ");
    break;
  case SQL_UNARY_BIT_NOT:
    g_string_append (out, "~ ");
    break;
  }
  print_at (out, operand, SQL_LEVEL_UNARY);
}

static void
print_like (GString *out, const SqlExpr *expr)
{
  static const char *const words[] = { "LIKE", "ILIKE", "RLIKE" };
  print_at (out, expr->u.like.value, SQL_LEVEL_COMPARISON);
  g_string_append_printf (out, "%s %s ", expr->u.like.negated ? " NOT" : "", words[expr->u.like.op]);
  if (expr->u.like.quantifier != SQL_QUANTIFIER_NONE) {
    g_string_append (out, expr->u.like.quantifier == SQL_QUANTIFIER_ALL ? "ALL (" : "ANY (");
    sql_print_exprs (out, &expr->u.like.patterns);
    g_string_append_c (out, ')');
    return;
  }
  print_at (out, expr->u.like.patterns.items[0], SQL_LEVEL_COMPARISON);
  if (expr->u.like.escape != NULL) {
    g_string_append (out, " ESCAPE ");
    sql_print_expr (out, expr->u.like.escape);
  }
}

static void
print_is (GString *out, const SqlExpr *expr)
{
  static const char *const words[] = { "NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT FROM " };
  print_at (out, expr->u.is.value, SQL_LEVEL_COMPARISON);
  g_string_append_printf (out, " IS %s%s", expr->u.is.negated ? "NOT " : "", words[expr->u.is.test]);
  if (expr->u.is.other != NULL)
    print_at (out, expr->u.is.other, SQL_LEVEL_COMPARISON);
}

static void
print_between (GString *out, const SqlExpr *expr)
{
  print_at (out, expr->u.between.value, SQL_LEVEL_COMPARISON);
  g_string_append (out, expr->u.between.negated ? " NOT BETWEEN " : " BETWEEN ");
  print_at (out, expr->u.between.low, SQL_LEVEL_COMPARISON);
  g_string_append (out, " AND ");
  print_at (out, expr->u.between.high, SQL_LEVEL_COMPARISON);
}

static void
print_in (GString *out, const SqlExpr *value, gboolean negated, const SqlExprList *items, const SqlQuery *query)
{
  print_at (out, value, SQL_LEVEL_COMPARISON);
  g_string_append (out, negated ? " NOT IN (" : " IN (");
  if (query != NULL)
    sql_print_select_query (out, query);
  else
    sql_print_exprs (out, items);
  g_string_append_c (out, ')');
}

static void
print_case (GString *out, const SqlExpr *expr)
{
  g_string_append (out, "CASE");
  if (expr->u.cases.operand != NULL) {
    g_string_append_c (out, ' ');
    sql_print_expr (out, expr->u.cases.operand);
  }
  for (guint i = 0; i < expr->u.cases.n; i++) {
    g_string_append (out, " WHEN ");
    sql_print_expr (out, expr->u.cases.whens[i].condition);
    g_string_append (out, " THEN ");
    sql_print_expr (out, expr->u.cases.whens[i].result);
  }
  if (expr->u.cases.otherwise != NULL) {
    g_string_append (out, " ELSE ");
    sql_print_expr (out, expr->u.cases.otherwise);
  }
  g_string_append (out, " END");
}

static void
print_cast (GString *out, const SqlExpr *expr)
{
  if (expr->u.cast.is_colon) {
    print_at (out, expr->u.cast.value, SQL_LEVEL_PRIMARY);
    g_string_append_printf (out, "::%s", expr->u.cast.type.text);
    return;
  }
  g_string_append (out, expr->u.cast.is_try ? "TRY_CAST(" : "CAST(");
  sql_print_expr (out, expr->u.cast.value);
  g_string_append_printf (out, " AS %s)", expr->u.cast.type.text);
}

static void
print_path (GString *out, const SqlExpr *expr)
{
  print_at (out, expr->u.path.base, SQL_LEVEL_PRIMARY);
  for (guint i = 0; i < expr->u.path.n; i++) {
    const SqlPathStep *step = &expr->u.path.steps[i];
    gboolean bracket = step->bracketed || step->kind != SQL_STEP_FIELD;
    if (i == 0 || !bracket)
      g_string_append_c (out, i == 0 ? ':' : '.');
    if (step->kind == SQL_STEP_WILDCARD) {
      g_string_append (out, "[*]");
    } else if (step->kind == SQL_STEP_INDEX) {
      g_string_append_printf (out, "[%" G_GINT64_FORMAT "]", step->index);
    } else if (bracket) {
      g_string_append_c (out, '[');
      sql_print_text (out, step->name);
      g_string_append_c (out, ']');
    } else {
      SqlIdent ident = { .text = step->name, .quoted = TRUE };
      sql_print_ident (out, &ident);
    }
  }
}

static void
print_lambda (GString *out, const SqlExpr *expr)
{
  g_string_append_c (out, '(');
  sql_print_idents (out, &expr->u.lambda.params);
  g_string_append (out, ") -> ");
  sql_print_expr (out, expr->u.lambda.body);
}

static void
print_star (GString *out, const SqlExpr *expr)
{
  if (expr->u.star.qualifier.n > 0) {
    sql_print_name (out, &expr->u.star.qualifier);
    g_string_append_c (out, '.');
  }
  g_string_append_c (out, '*');
  if (expr->u.star.has_except) {
    g_string_append (out, " EXCEPT (");
    sql_print_names (out, &expr->u.star.except);
    g_string_append_c (out, ')');
  }
}

void
sql_print_expr (GString *out, const SqlExpr *expr)
{
  switch (expr->kind) {
  case SQL_EXPR_LITERAL:
    print_literal (out, &expr->u.literal);
    break;
  case SQL_EXPR_INTERVAL:
    print_interval (out, &expr->u.interval);
    break;
  case SQL_EXPR_COLUMN:
    sql_print_name (out, &expr->u.column.name);
    break;
  case SQL_EXPR_STAR:
    print_star (out, expr);
    break;
  case SQL_EXPR_PARAMETER:
    g_string_append_printf (out, "%s%s", expr->u.parameter.name != NULL ? ":" : "?",
                            expr->u.parameter.name != NULL ? expr->u.parameter.name : "");
    break;
  case SQL_EXPR_FIELD:
    print_at (out, expr->u.field.base, SQL_LEVEL_PRIMARY);
    g_string_append_c (out, '.');
    sql_print_ident (out, &expr->u.field.name);
    break;
  case SQL_EXPR_INDEX:
    print_at (out, expr->u.index.base, SQL_LEVEL_PRIMARY);
    g_string_append_c (out, '[');
    sql_print_expr (out, expr->u.index.index);
    g_string_append_c (out, ']');
    break;
  case SQL_EXPR_JSON_PATH:
    print_path (out, expr);
    break;
  case SQL_EXPR_UNARY:
    print_unary (out, expr);
    break;
  case SQL_EXPR_BINARY: {
    guint level = sql_binary_operators[expr->u.binary.op].level;
    print_at (out, expr->u.binary.left, level);
    g_string_append_printf (out, " %s ", sql_binary_operators[expr->u.binary.op].text);
    print_at (out, expr->u.binary.right, level + 1);
    break;
  }
  case SQL_EXPR_BETWEEN:
    print_between (out, expr);
    break;
  case SQL_EXPR_IN_LIST:
    print_in (out, expr->u.in_list.value, expr->u.in_list.negated, &expr->u.in_list.items, NULL);
    break;
  case SQL_EXPR_IN_QUERY:
    print_in (out, expr->u.in_query.value, expr->u.in_query.negated, NULL, expr->u.in_query.query);
    break;
  case SQL_EXPR_LIKE:
    print_like (out, expr);
    break;
  case SQL_EXPR_IS:
    print_is (out, expr);
    break;
  case SQL_EXPR_CASE:
    print_case (out, expr);
    break;
  case SQL_EXPR_CAST:
    print_cast (out, expr);
    break;
  case SQL_EXPR_CALL:
    print_call (out, &expr->u.call);
    break;
  case SQL_EXPR_LAMBDA:
    print_lambda (out, expr);
    break;
  case SQL_EXPR_ROW:
    g_string_append_c (out, '(');
    sql_print_exprs (out, &expr->u.row);
    g_string_append_c (out, ')');
    break;
  case SQL_EXPR_ALIAS:
    sql_print_expr (out, expr->u.alias.value);
    g_string_append (out, " AS ");
    sql_print_ident (out, &expr->u.alias.name);
    break;
  case SQL_EXPR_SUBQUERY:
  case SQL_EXPR_EXISTS:
    g_string_append (out, expr->kind == SQL_EXPR_EXISTS ? "EXISTS (" : "(");
    sql_print_select_query (out, expr->u.query);
    g_string_append_c (out, ')');
    break;
  case SQL_EXPR_TABLE:
    g_string_append (out, "TABLE (");
    if (expr->u.table.query != NULL)
      sql_print_select_query (out, expr->u.table.query);
    else
      sql_print_name (out, &expr->u.table.name);
    g_string_append_c (out, ')');
    break;
  }
}

char *
sql_print_expression (const SqlExpr *expression)
{
  GString *out = g_string_new (NULL);
  sql_print_expr (out, expression);
  return g_string_free (out, FALSE);
}

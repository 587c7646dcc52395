/* Expressions, by precedence climbing over the levels of sql-level-private.h. */
#include "base-text.h"
#include "sql-level-private.h"
#include "sql-parser-private.h"

#include <float.h>
#include <math.h>
#include <string.h>

const SqlBinaryOperator sql_binary_operators[] = {
  [SQL_BINARY_OR] = { "OR", SQL_LEVEL_OR },
  [SQL_BINARY_AND] = { "AND", SQL_LEVEL_AND },
  [SQL_BINARY_EQ] = { "=", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_NULL_SAFE_EQ] = { "<=>", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_NE] = { "<>", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_LT] = { "<", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_LE] = { "<=", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_GT] = { ">", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_GE] = { ">=", SQL_LEVEL_COMPARISON },
  [SQL_BINARY_BIT_OR] = { "|", SQL_LEVEL_BIT_OR },
  [SQL_BINARY_BIT_XOR] = { "^", SQL_LEVEL_BIT_XOR },
  [SQL_BINARY_BIT_AND] = { "&", SQL_LEVEL_BIT_AND },
  [SQL_BINARY_SHIFT_LEFT] = { "<<", SQL_LEVEL_SHIFT },
  [SQL_BINARY_SHIFT_RIGHT] = { ">>", SQL_LEVEL_SHIFT },
  [SQL_BINARY_SHIFT_RIGHT_UNSIGNED] = { ">>>", SQL_LEVEL_SHIFT },
  [SQL_BINARY_CONCAT] = { "||", SQL_LEVEL_ADD },
  [SQL_BINARY_ADD] = { "+", SQL_LEVEL_ADD },
  [SQL_BINARY_SUBTRACT] = { "-", SQL_LEVEL_ADD },
  [SQL_BINARY_MULTIPLY] = { "*", SQL_LEVEL_MULTIPLY },
  [SQL_BINARY_DIVIDE] = { "/", SQL_LEVEL_MULTIPLY },
  [SQL_BINARY_MODULO] = { "%", SQL_LEVEL_MULTIPLY },
  [SQL_BINARY_INT_DIVIDE] = { "DIV", SQL_LEVEL_MULTIPLY },
};

static SqlExpr *parse_level (SqlParser *parser, guint least);
static SqlExpr *parse_unary (SqlParser *parser);

SqlExpr *
sql_parser_new_expr (SqlParser *parser, SqlExprKind kind)
{
  SqlExpr *expr = sql_arena_new0 (parser->arena, SqlExpr);
  expr->kind = kind;
  expr->depth = 1;
  expr->at = sql_parser_here (parser);
  expr->position = expr->at;
  return expr;
}

static void
hang (SqlParser *parser, SqlExpr *parent, const SqlExpr *child)
{
  if (child != NULL)
    sql_parser_deepen (parser, &parent->depth, child->depth);
}

static void
hang_list (SqlParser *parser, SqlExpr *parent, const SqlExprList *list)
{
  for (guint i = 0; i < list->n; i++)
    hang (parser, parent, list->items[i]);
}

static void
hang_sort (SqlParser *parser, SqlExpr *parent, const SqlSortList *list)
{
  for (guint i = 0; i < list->n; i++)
    hang (parser, parent, list->items[i].value);
}

/* Sets the whole position and looks whether all went well. */
static SqlExpr *
finish (SqlParser *parser, SqlExpr *expr, guint start)
{
  if (parser->error != NULL)
    return NULL;
  expr->position = sql_parser_span (parser, start);
  return expr;
}

gboolean
sql_parser_expression_list (SqlParser *parser, SqlExprList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlExpr *));
  do {
    SqlExpr *item = sql_parser_expression (parser);
    if (item == NULL)
      return FALSE;
    g_array_append_val (items, item);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  list->items = sql_parser_keep (parser, items);
  list->n = items->len;
  return TRUE;
}

gboolean
sql_parser_sort_list (SqlParser *parser, SqlSortList *list)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlSortItem));
  do {
    SqlSortItem item = { .value = sql_parser_expression (parser) };
    if (item.value == NULL)
      return FALSE;
    if (ACCEPT1 (parser, ASC))
      item.direction = SQL_DIRECTION_ASC;
    else if (ACCEPT1 (parser, DESC))
      item.direction = SQL_DIRECTION_DESC;
    if (ACCEPT2 (parser, NULLS, FIRST))
      item.nulls = SQL_NULLS_FIRST;
    else if (ACCEPT2 (parser, NULLS, LAST))
      item.nulls = SQL_NULLS_LAST;
    g_array_append_val (items, item);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  list->items = sql_parser_keep (parser, items);
  list->n = items->len;
  return TRUE;
}

/* ------------------------------------------------------------------ literals */

static SqlExpr *
range_error (SqlParser *parser, SqlExpr *expr, guint start, const char *type)
{
  SqlPosition position = sql_parser_span (parser, start);
  return sql_parser_fail_at (parser, &position, SLUICE_ERROR_INVALID_NUMERIC_LITERAL_RANGE,
                             "the number %s is outside of the range of %s", expr->u.literal.text, type);
}

/* The digits a decimal of this text needs: precision by Java's BigDecimal. */
static gboolean
decimal_fits (const char *text)
{
  gint64 digits = 0;
  gint64 scale = 0;
  gint64 exponent = 0;
  gboolean point = FALSE;
  for (const char *c = text; *c != 0; c++) {
    if (*c == '.') {
      point = TRUE;
    } else if (*c == 'e' || *c == 'E') {
      exponent = g_ascii_strtoll (c + 1, NULL, 10);
      break;
    } else if (g_ascii_isdigit (*c)) {
      digits += digits > 0 || *c != '0';
      scale += point;
    }
  }
  exponent = CLAMP (exponent, -100000, 100000);
  scale -= exponent;
  gint64 precision = scale < 0 ? MAX (digits, 1) - scale : MAX (digits, scale);
  return precision <= 38;
}

static gboolean
set_suffix (SqlLiteral *literal, const char *text, gsize *length)
{
  static const struct {
    const char *suffix;
    SqlLiteralKind kind;
  } suffixes[] = {
    { "BD", SQL_LITERAL_DECIMAL }, { "L", SQL_LITERAL_BIGINT }, { "S", SQL_LITERAL_SMALLINT },
    { "Y", SQL_LITERAL_TINYINT },  { "F", SQL_LITERAL_FLOAT },  { "D", SQL_LITERAL_DOUBLE },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (suffixes); i++) {
    gsize size = strlen (suffixes[i].suffix);
    if (*length > size && g_ascii_strncasecmp (text + *length - size, suffixes[i].suffix, size) == 0) {
      literal->kind = suffixes[i].kind;
      *length -= size;
      return TRUE;
    }
  }
  return FALSE;
}

static SqlExpr *
check_number (SqlParser *parser, SqlExpr *expr, guint start)
{
  SqlLiteral *literal = &expr->u.literal;
  gint64 value = 0;
  double number;
  switch (literal->kind) {
  case SQL_LITERAL_TINYINT:
    if (!base_text_parse_int64 (literal->text, &value) || value < G_MININT8 || value > G_MAXINT8)
      return range_error (parser, expr, start, "TINYINT");
    break;
  case SQL_LITERAL_SMALLINT:
    if (!base_text_parse_int64 (literal->text, &value) || value < G_MININT16 || value > G_MAXINT16)
      return range_error (parser, expr, start, "SMALLINT");
    break;
  case SQL_LITERAL_BIGINT:
    if (!base_text_parse_int64 (literal->text, &value))
      return range_error (parser, expr, start, "BIGINT");
    break;
  case SQL_LITERAL_FLOAT:
  case SQL_LITERAL_DOUBLE:
    number = fabs (g_ascii_strtod (literal->text, NULL));
    if (isinf (number) || (literal->kind == SQL_LITERAL_FLOAT && number > (double) FLT_MAX))
      return range_error (parser, expr, start, literal->kind == SQL_LITERAL_FLOAT ? "FLOAT" : "DOUBLE");
    break;
  case SQL_LITERAL_INTEGER:
  case SQL_LITERAL_DECIMAL:
    if (!decimal_fits (literal->text)) {
      SqlPosition position = sql_parser_span (parser, start);
      return sql_parser_fail_at (parser, &position, SLUICE_ERROR_DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION,
                                 "the number %.60s needs more than 38 digits", literal->text);
    }
    break;
  case SQL_LITERAL_NULL:
  case SQL_LITERAL_BOOLEAN:
  case SQL_LITERAL_STRING:
  case SQL_LITERAL_BINARY:
  case SQL_LITERAL_TYPED:
    g_assert_not_reached ();
  }
  return finish (parser, expr, start);
}

/* Stands on the number; a minus sign before it, at @start, belongs to it when @negative. */
static SqlExpr *
parse_number (SqlParser *parser, guint start, gboolean negative)
{
  const SqlToken *token = sql_parser_token (parser, 0);
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LITERAL);
  SqlLiteral *literal = &expr->u.literal;
  const char *text = parser->source->text + token->begin;
  gsize length = token->end - token->begin;
  if (token->kind == SQL_TOKEN_INTEGER)
    literal->kind = SQL_LITERAL_INTEGER;
  else if (!set_suffix (literal, text, &length))
    literal->kind = memchr (text, 'e', length) != NULL || memchr (text, 'E', length) != NULL ? SQL_LITERAL_DOUBLE
                                                                                             : SQL_LITERAL_DECIMAL;
  g_autofree char *digits = g_strndup (text, length);
  g_autofree char *signed_text = g_strconcat (negative ? "-" : "", digits, NULL);
  literal->text = sql_arena_strdup (parser->arena, signed_text);
  literal->length = strlen (signed_text);
  parser->at++;
  return check_number (parser, expr, start);
}

static SqlExpr *
parse_string_literal (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LITERAL);
  expr->u.literal.kind = SQL_LITERAL_STRING;
  expr->u.literal.text = sql_parser_string (parser, &expr->u.literal.length);
  return finish (parser, expr, start);
}

static SqlExpr *
parse_binary_literal (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LITERAL);
  const SqlToken *token = sql_parser_token (parser, 0);
  const char *hex = parser->source->text + token->begin + 2;
  gsize n = token->end - token->begin - 3;
  g_autoptr (GString) bytes = g_string_new (NULL);
  /* An odd digit in front is a half byte: X'1' is X'01'. */
  for (gsize i = 0; i < n;) {
    gboolean half = i == 0 && n % 2 == 1;
    int high = half ? 0 : g_ascii_xdigit_value (hex[i]);
    int low = g_ascii_xdigit_value (hex[half ? i : i + 1]);
    if (high < 0 || low < 0) {
      SqlPosition here = sql_parser_here (parser);
      return sql_parser_fail_at (parser, &here, SLUICE_ERROR_INVALID_TYPED_LITERAL,
                                 "the value of the typed literal X'…' is not hexadecimal");
    }
    g_string_append_c (bytes, (char) (high * 16 + low));
    i += half ? 1 : 2;
  }
  expr->u.literal.kind = SQL_LITERAL_BINARY;
  expr->u.literal.text = sql_arena_strndup (parser->arena, bytes->str, bytes->len);
  expr->u.literal.length = bytes->len;
  parser->at++;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_word_literal (SqlParser *parser, SqlLiteralKind kind, const char *text, gboolean truth)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LITERAL);
  expr->u.literal = (SqlLiteral){ .kind = kind, .text = text, .length = strlen (text), .truth = truth };
  parser->at++;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_typed_literal (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LITERAL);
  expr->u.literal.kind = SQL_LITERAL_TYPED;
  expr->u.literal.type_name = sql_word_text (sql_parser_word (parser, 0));
  parser->at++;
  expr->u.literal.text = sql_parser_string (parser, &expr->u.literal.length);
  return finish (parser, expr, start);
}

/* Tokens of one interval part from @ahead: [sign] (number | string) unit; 0 when there is none. */
static guint
interval_part_length (SqlParser *parser, guint ahead)
{
  guint n = ahead;
  SqlTokenKind kind = sql_parser_kind (parser, n);
  if (kind == SQL_TOKEN_MINUS || kind == SQL_TOKEN_PLUS)
    kind = sql_parser_kind (parser, ++n);
  const SqlToken *token = sql_parser_token (parser, n);
  if (kind == SQL_TOKEN_NUMBER && g_ascii_isalpha (parser->source->text[token->end - 1]))
    return 0;
  if (kind != SQL_TOKEN_INTEGER && kind != SQL_TOKEN_NUMBER && kind != SQL_TOKEN_STRING)
    return 0;
  SqlIntervalUnit unit;
  gboolean plural;
  return sql_parser_interval_unit (parser, n + 1, &unit, &plural) ? n + 2 - ahead : 0;
}

static gboolean
parse_interval_part (SqlParser *parser, SqlIntervalPart *part)
{
  guint start = parser->at;
  gboolean plural;
  part->negated = sql_parser_accept_token (parser, SQL_TOKEN_MINUS);
  if (!part->negated)
    sql_parser_accept_token (parser, SQL_TOKEN_PLUS);
  const SqlToken *token = sql_parser_token (parser, 0);
  part->quoted = token->kind == SQL_TOKEN_STRING;
  if (part->quoted) {
    part->text = sql_parser_string (parser, NULL);
    if (part->text == NULL)
      return FALSE;
  } else {
    part->text = sql_arena_strndup (parser->arena, parser->source->text + token->begin, token->end - token->begin);
    parser->at++;
  }
  if (!sql_parser_interval_unit (parser, 0, &part->unit, &plural)) {
    sql_parser_fail (parser, "a unit of time");
    return FALSE;
  }
  parser->at++;
  part->position = sql_parser_span (parser, start);
  return TRUE;
}

/* Stands on INTERVAL with a part behind it. */
static SqlExpr *
parse_interval (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_INTERVAL);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (SqlIntervalPart));
  parser->at++;
  do {
    SqlIntervalPart part = { 0 };
    if (!parse_interval_part (parser, &part))
      return NULL;
    if (parts->len == 0 && AT1 (parser, TO)) {
      gboolean plural;
      parser->at++;
      if (!sql_parser_interval_unit (parser, 0, &part.to, &plural) || part.to <= part.unit ||
          part.unit == SQL_UNIT_WEEK)
        return sql_parser_fail (parser, "a finer unit of time");
      parser->at++;
      part.position = sql_parser_span (parser, start + 1);
    }
    g_array_append_val (parts, part);
  } while (interval_part_length (parser, 0) > 0 && g_array_index (parts, SqlIntervalPart, 0).to == SQL_UNIT_NONE);
  expr->u.interval.parts = sql_parser_keep (parser, parts);
  expr->u.interval.n = parts->len;
  return finish (parser, expr, start);
}

/* ------------------------------------------------------------------ windows and calls */

static gboolean
parse_bound (SqlParser *parser, SqlBound *bound)
{
  guint start = parser->at;
  if (ACCEPT2 (parser, UNBOUNDED, PRECEDING)) {
    bound->kind = SQL_BOUND_UNBOUNDED_PRECEDING;
  } else if (ACCEPT2 (parser, UNBOUNDED, FOLLOWING)) {
    bound->kind = SQL_BOUND_UNBOUNDED_FOLLOWING;
  } else if (ACCEPT2 (parser, CURRENT, ROW)) {
    bound->kind = SQL_BOUND_CURRENT_ROW;
  } else {
    /* A value, so that the AND between two bounds stays the frame's. */
    bound->value = sql_parser_value (parser);
    if (bound->value == NULL)
      return FALSE;
    if (ACCEPT1 (parser, PRECEDING)) {
      bound->kind = SQL_BOUND_PRECEDING;
    } else if (ACCEPT1 (parser, FOLLOWING)) {
      bound->kind = SQL_BOUND_FOLLOWING;
    } else {
      sql_parser_fail (parser, "PRECEDING or FOLLOWING");
      return FALSE;
    }
  }
  bound->position = sql_parser_span (parser, start);
  return TRUE;
}

static gboolean
parse_frame (SqlParser *parser, SqlWindow *window)
{
  if (!AT1 (parser, ROWS) && !AT1 (parser, RANGE))
    return TRUE;
  SqlFrame *frame = sql_arena_new0 (parser->arena, SqlFrame);
  window->frame = frame;
  frame->range = AT1 (parser, RANGE);
  parser->at++;
  if (ACCEPT1 (parser, BETWEEN)) {
    return parse_bound (parser, &frame->start) && EXPECT1 (parser, AND) && parse_bound (parser, &frame->end);
  }
  frame->end.kind = SQL_BOUND_CURRENT_ROW;
  return parse_bound (parser, &frame->start);
}

static gboolean
parse_window_body (SqlParser *parser, SqlWindow *window)
{
  gboolean plain = sql_parser_at_ident (parser, 0) && sql_parser_kind (parser, 1) == SQL_TOKEN_CLOSE;
  if (plain) {
    SqlIdent name;
    if (!sql_parser_ident (parser, &name))
      return FALSE;
    window->name = sql_parser_keep_ident (parser, &name);
    return TRUE;
  }
  if (AT2 (parser, PARTITION, BY) || AT2 (parser, DISTRIBUTE, BY) || AT2 (parser, CLUSTER, BY)) {
    parser->at += 2;
    if (!sql_parser_expression_list (parser, &window->partition_by))
      return FALSE;
  }
  if (AT2 (parser, ORDER, BY) || AT2 (parser, SORT, BY)) {
    parser->at += 2;
    if (!sql_parser_sort_list (parser, &window->order_by))
      return FALSE;
  }
  return parse_frame (parser, window);
}

gboolean
sql_parser_window (SqlParser *parser, SqlWindow *window)
{
  guint start = parser->at;
  if (sql_parser_kind (parser, 0) != SQL_TOKEN_OPEN) {
    SqlIdent name;
    if (!sql_parser_ident (parser, &name))
      return FALSE;
    window->name = sql_parser_keep_ident (parser, &name);
  } else {
    parser->at++;
    if (!parse_window_body (parser, window) ||
        !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, "PARTITION BY, ORDER BY, ROWS, RANGE or )"))
      return FALSE;
  }
  window->position = sql_parser_span (parser, start);
  return TRUE;
}

static void
hang_window (SqlParser *parser, SqlExpr *expr, const SqlWindow *window)
{
  hang_list (parser, expr, &window->partition_by);
  hang_sort (parser, expr, &window->order_by);
  if (window->frame != NULL) {
    hang (parser, expr, window->frame->start.value);
    hang (parser, expr, window->frame->end.value);
  }
}

/* WITHIN GROUP, FILTER, IGNORE NULLS, OVER. */
static gboolean
parse_call_tail (SqlParser *parser, SqlExpr *expr)
{
  SqlCall *call = &expr->u.call;
  if (AT2 (parser, WITHIN, GROUP) && sql_parser_kind (parser, 2) == SQL_TOKEN_OPEN) {
    parser->at += 3;
    if (!EXPECT2 (parser, ORDER, BY) || !sql_parser_sort_list (parser, &call->within_group) ||
        !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )"))
      return FALSE;
    hang_sort (parser, expr, &call->within_group);
  }
  if (AT1 (parser, FILTER) && sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN &&
      sql_parser_word (parser, 2) == SQL_WORD_WHERE) {
    parser->at += 3;
    call->filter = sql_parser_expression (parser);
    if (call->filter == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
      return FALSE;
    hang (parser, expr, call->filter);
  }
  if (ACCEPT2 (parser, IGNORE, NULLS))
    call->nulls = SQL_NULL_TREATMENT_IGNORE;
  else if (ACCEPT2 (parser, RESPECT, NULLS))
    call->nulls = SQL_NULL_TREATMENT_RESPECT;
  if (AT1 (parser, OVER) && (sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN || sql_parser_at_ident (parser, 1))) {
    parser->at++;
    call->over = sql_arena_new0 (parser->arena, SqlWindow);
    if (!sql_parser_window (parser, call->over))
      return FALSE;
    hang_window (parser, expr, call->over);
  }
  return TRUE;
}

/* TABLE t, TABLE(t), TABLE(query) as an argument. */
static SqlExpr *
parse_table_argument (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_TABLE);
  gboolean in_parentheses = sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN;
  parser->at += in_parentheses ? 2 : 1;
  if (in_parentheses && sql_parser_is_query (parser, parser->at - 1)) {
    expr->u.table.query = sql_parser_query (parser);
    if (expr->u.table.query == NULL)
      return NULL;
    sql_parser_deepen (parser, &expr->depth, expr->u.table.query->depth);
  } else if (!sql_parser_name (parser, &expr->u.table.name)) {
    return NULL;
  }
  if (in_parentheses && !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return NULL;
  return finish (parser, expr, start);
}

/* One argument; `a AS x` only when @aliases. */
static gboolean
parse_argument (SqlParser *parser, gboolean aliases, SqlArg *arg)
{
  guint start = parser->at;
  if (sql_parser_at_ident (parser, 0) && sql_parser_kind (parser, 1) == SQL_TOKEN_FAT_ARROW) {
    SqlIdent name;
    if (!sql_parser_ident (parser, &name))
      return FALSE;
    arg->name = sql_parser_keep_ident (parser, &name);
    parser->at++;
  }
  if (AT1 (parser, TABLE) && (sql_parser_at_ident (parser, 1) || sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN))
    arg->value = parse_table_argument (parser);
  else
    arg->value = sql_parser_expression (parser);
  if (arg->value == NULL)
    return FALSE;
  if (aliases && ACCEPT1 (parser, AS)) {
    SqlExpr *alias = sql_parser_new_expr (parser, SQL_EXPR_ALIAS);
    alias->u.alias.value = arg->value;
    if (!sql_parser_ident (parser, &alias->u.alias.name))
      return FALSE;
    hang (parser, alias, arg->value);
    arg->value = finish (parser, alias, start);
  }
  return arg->value != NULL;
}

static gboolean
is_named (const SqlName *name, const char *word)
{
  return name->n == 1 && !name->parts[0].quoted && g_ascii_strcasecmp (name->parts[0].text, word) == 0;
}

/* DATEADD(DAY, n, d) and its like: a bare unit as the first of three arguments. */
static gboolean
fix_unit (SqlParser *parser, SqlCall *call)
{
  static const char *const names[] = {
    "dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff"
  };
  static const char *const unit_names[] = { "YEAR", "QUARTER", "MONTH",  "WEEK",        "DAY",        "DAYOFYEAR",
                                            "HOUR", "MINUTE",  "SECOND", "MILLISECOND", "MICROSECOND" };
  gboolean known = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    known = known || is_named (&call->name, names[i]);
  if (!known || call->n_args != 3 || call->args[0].name != NULL)
    return TRUE;
  SqlExpr *unit = call->args[0].value;
  if (unit->kind == SQL_EXPR_LITERAL && unit->u.literal.kind == SQL_LITERAL_STRING) {
    sql_parser_fail_at (parser, &unit->position, SLUICE_ERROR_INVALID_PARAMETER_VALUE_DATETIME_UNIT,
                        "the unit of %s is written without quotes: %s", call->name.parts[0].text, unit->u.literal.text);
    return FALSE;
  }
  if (unit->kind != SQL_EXPR_COLUMN || unit->u.column.name.n != 1 || unit->u.column.name.parts[0].quoted)
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (unit_names); i++) {
    if (g_ascii_strcasecmp (unit->u.column.name.parts[0].text, unit_names[i]) == 0) {
      unit->kind = SQL_EXPR_LITERAL;
      unit->u.literal =
          (SqlLiteral){ .kind = SQL_LITERAL_STRING, .text = unit_names[i], .length = strlen (unit_names[i]) };
      call->form = SQL_CALL_UNIT;
      break;
    }
  }
  return TRUE;
}

/* The arguments up to ), @first already read when it is not NULL. */
static gboolean
parse_arguments (SqlParser *parser, SqlExpr *expr, SqlExpr *first)
{
  SqlCall *call = &expr->u.call;
  g_autoptr (GArray) args = g_array_new (FALSE, FALSE, sizeof (SqlArg));
  gboolean aliases = is_named (&call->name, "struct");
  if (first != NULL) {
    SqlArg arg = { .value = first };
    g_array_append_val (args, arg);
  }
  if (first != NULL ? sql_parser_accept_token (parser, SQL_TOKEN_COMMA)
                    : sql_parser_kind (parser, 0) != SQL_TOKEN_CLOSE) {
    do {
      SqlArg arg = { 0 };
      if (!parse_argument (parser, aliases, &arg))
        return FALSE;
      hang (parser, expr, arg.value);
      g_array_append_val (args, arg);
    } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  }
  call->args = sql_parser_keep (parser, args);
  call->n_args = args->len;
  if (ACCEPT2 (parser, IGNORE, NULLS))
    call->nulls = SQL_NULL_TREATMENT_IGNORE;
  else if (ACCEPT2 (parser, RESPECT, NULLS))
    call->nulls = SQL_NULL_TREATMENT_RESPECT;
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )") && fix_unit (parser, call);
}

static gboolean
take_args (SqlParser *parser, SqlExpr *expr, SqlCallForm form, SqlExpr *const *values, guint n)
{
  SqlCall *call = &expr->u.call;
  call->form = form;
  call->args = sql_arena_new0_n (parser->arena, SqlArg, n);
  for (guint i = 0; i < n && values[i] != NULL; i++) {
    call->args[i].value = values[i];
    call->n_args++;
    hang (parser, expr, values[i]);
  }
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
}

/* EXTRACT(field FROM e). */
static gboolean
parse_extract (SqlParser *parser, SqlExpr *expr)
{
  const SqlToken *token = sql_parser_token (parser, 0);
  gboolean quoted = token->kind == SQL_TOKEN_STRING;
  SqlExpr *field = sql_parser_new_expr (parser, SQL_EXPR_LITERAL);
  field->u.literal.kind = SQL_LITERAL_STRING;
  if (quoted) {
    field->u.literal.text = sql_parser_string (parser, NULL);
    if (field->u.literal.text == NULL)
      return FALSE;
  } else {
    field->u.literal.text =
        sql_arena_strndup (parser->arena, parser->source->text + token->begin, token->end - token->begin);
    parser->at++;
  }
  field->u.literal.length = strlen (field->u.literal.text);
  if (!EXPECT1 (parser, FROM))
    return FALSE;
  SqlExpr *values[] = { field, sql_parser_value (parser) };
  return values[1] != NULL && take_args (parser, expr, SQL_CALL_EXTRACT, values, 2);
}

/* TRIM([side] [chars] FROM s), else a plain call. */
static gboolean
parse_trim (SqlParser *parser, SqlExpr *expr)
{
  SqlCall *call = &expr->u.call;
  SqlTokenKind next = sql_parser_kind (parser, 1);
  gboolean may_be_side = next != SQL_TOKEN_CLOSE && next != SQL_TOKEN_COMMA && next != SQL_TOKEN_DOT;
  if (may_be_side && (AT1 (parser, BOTH) || AT1 (parser, LEADING) || AT1 (parser, TRAILING))) {
    call->trim_side_given = TRUE;
    call->trim_side = AT1 (parser, BOTH) ? SQL_TRIM_BOTH : AT1 (parser, LEADING) ? SQL_TRIM_LEADING : SQL_TRIM_TRAILING;
    parser->at++;
  }
  SqlExpr *chars = NULL;
  if (!(call->trim_side_given && AT1 (parser, FROM))) {
    if (!call->trim_side_given && sql_parser_kind (parser, 0) == SQL_TOKEN_CLOSE)
      return parse_arguments (parser, expr, NULL);
    chars = sql_parser_expression (parser);
    if (chars == NULL)
      return FALSE;
    hang (parser, expr, chars);
  }
  if (!AT1 (parser, FROM) && !call->trim_side_given)
    return parse_arguments (parser, expr, chars);
  if (!EXPECT1 (parser, FROM))
    return FALSE;
  SqlExpr *values[] = { sql_parser_value (parser), chars };
  return values[0] != NULL && take_args (parser, expr, SQL_CALL_TRIM, values, 2);
}

/* SUBSTRING(s FROM p FOR n), POSITION(a IN b), OVERLAY(s PLACING r FROM p FOR n), else plain calls. */
static gboolean
parse_word_form (SqlParser *parser, SqlExpr *expr, SqlCallForm form)
{
  SqlExpr *values[4] = { NULL };
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_CLOSE ||
      (sql_parser_at_ident (parser, 0) && sql_parser_kind (parser, 1) == SQL_TOKEN_FAT_ARROW))
    return parse_arguments (parser, expr, NULL);
  guint n = 0;
  values[n++] = sql_parser_value (parser);
  if (values[0] == NULL)
    return FALSE;
  hang (parser, expr, values[0]);
  if (form == SQL_CALL_POSITION) {
    if (!ACCEPT1 (parser, IN))
      return parse_arguments (parser, expr, values[0]);
    values[n++] = sql_parser_value (parser);
    return values[1] != NULL && take_args (parser, expr, form, values, n);
  }
  if (form == SQL_CALL_OVERLAY) {
    if (!ACCEPT1 (parser, PLACING))
      return parse_arguments (parser, expr, values[0]);
    values[n++] = sql_parser_value (parser);
    if (values[1] == NULL)
      return FALSE;
  }
  if (!ACCEPT1 (parser, FROM)) {
    if (form == SQL_CALL_OVERLAY)
      return EXPECT1 (parser, FROM);
    return parse_arguments (parser, expr, values[0]);
  }
  values[n++] = sql_parser_value (parser);
  if (values[n - 1] == NULL)
    return FALSE;
  if (ACCEPT1 (parser, FOR)) {
    values[n++] = sql_parser_value (parser);
    if (values[n - 1] == NULL)
      return FALSE;
  }
  return take_args (parser, expr, form, values, n);
}

static gboolean
parse_call_body (SqlParser *parser, SqlExpr *expr)
{
  SqlCall *call = &expr->u.call;
  SqlTokenKind after = sql_parser_kind (parser, 1);
  gboolean word_of_its_own = after != SQL_TOKEN_CLOSE && after != SQL_TOKEN_COMMA && after != SQL_TOKEN_DOT;
  if (word_of_its_own && AT1 (parser, DISTINCT)) {
    call->distinct = TRUE;
    parser->at++;
  } else if (word_of_its_own && AT1 (parser, ALL)) {
    parser->at++;
  }
  if (is_named (&call->name, "extract") && sql_parser_word (parser, 1) == SQL_WORD_FROM)
    return parse_extract (parser, expr);
  if (is_named (&call->name, "trim"))
    return parse_trim (parser, expr);
  if (is_named (&call->name, "substring") || is_named (&call->name, "substr"))
    return parse_word_form (parser, expr, SQL_CALL_SUBSTRING);
  if (is_named (&call->name, "position"))
    return parse_word_form (parser, expr, SQL_CALL_POSITION);
  if (is_named (&call->name, "overlay"))
    return parse_word_form (parser, expr, SQL_CALL_OVERLAY);
  return parse_arguments (parser, expr, NULL);
}

SqlExpr *
sql_parser_call (SqlParser *parser, const SqlName *name, guint start)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_CALL);
  expr->at = name->position;
  expr->u.call.name = *name;
  if (name->dynamic != NULL)
    hang (parser, expr, name->dynamic);
  parser->at++;
  if (!parse_call_body (parser, expr) || !parse_call_tail (parser, expr))
    return NULL;
  return finish (parser, expr, start);
}

/* ------------------------------------------------------------------ primaries */

static SqlExpr *
parse_lambda (SqlParser *parser, guint start, const SqlIdentList *params)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LAMBDA);
  expr->u.lambda.params = *params;
  parser->at++; /* -> */
  expr->u.lambda.body = sql_parser_expression (parser);
  hang (parser, expr, expr->u.lambda.body);
  return finish (parser, expr, start);
}

static SqlExpr *
parse_case (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_CASE);
  g_autoptr (GArray) whens = g_array_new (FALSE, FALSE, sizeof (SqlWhen));
  parser->at++;
  if (!AT1 (parser, WHEN)) {
    expr->u.cases.operand = sql_parser_expression (parser);
    hang (parser, expr, expr->u.cases.operand);
    if (!AT1 (parser, WHEN))
      return sql_parser_fail (parser, "WHEN");
  }
  while (ACCEPT1 (parser, WHEN)) {
    SqlWhen when = { 0 };
    when.condition = sql_parser_expression (parser);
    if (when.condition == NULL || !EXPECT1 (parser, THEN))
      return NULL;
    when.result = sql_parser_expression (parser);
    hang (parser, expr, when.condition);
    hang (parser, expr, when.result);
    g_array_append_val (whens, when);
  }
  if (ACCEPT1 (parser, ELSE)) {
    expr->u.cases.otherwise = sql_parser_expression (parser);
    hang (parser, expr, expr->u.cases.otherwise);
  }
  if (!EXPECT1 (parser, END))
    return NULL;
  expr->u.cases.whens = sql_parser_keep (parser, whens);
  expr->u.cases.n = whens->len;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_cast (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_CAST);
  expr->u.cast.is_try = AT1 (parser, TRY_CAST);
  parser->at += 2;
  expr->u.cast.value = sql_parser_expression (parser);
  if (expr->u.cast.value == NULL || !EXPECT1 (parser, AS) || !sql_parser_type (parser, &expr->u.cast.type) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return NULL;
  hang (parser, expr, expr->u.cast.value);
  return finish (parser, expr, start);
}

/* ( query ), stands on (. */
static SqlExpr *
parse_subquery (SqlParser *parser, SqlExprKind kind, guint start)
{
  SqlExpr *expr = sql_parser_new_expr (parser, kind);
  parser->at++;
  SqlQuery *query = sql_parser_query (parser);
  if (query == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
    return NULL;
  expr->u.query = query;
  sql_parser_deepen (parser, &expr->depth, query->depth);
  return finish (parser, expr, start);
}

/* Whether ( at the current token begins `(x, y) ->`. */
static gboolean
at_lambda_list (const SqlParser *parser)
{
  guint close = parser->match[parser->at];
  return close + 1 < parser->n && parser->tokens[close + 1].kind == SQL_TOKEN_ARROW && sql_parser_at_ident (parser, 1);
}

static SqlExpr *
parse_parenthesis (SqlParser *parser)
{
  guint start = parser->at;
  if (sql_parser_is_query (parser, parser->at))
    return parse_subquery (parser, SQL_EXPR_SUBQUERY, start);
  if (at_lambda_list (parser)) {
    SqlIdentList params;
    return sql_parser_ident_list (parser, &params) ? parse_lambda (parser, start, &params) : NULL;
  }
  SqlExpr *row = sql_parser_new_expr (parser, SQL_EXPR_ROW);
  parser->at++;
  if (!sql_parser_expression_list (parser, &row->u.row) || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )"))
    return NULL;
  if (row->u.row.n == 1)
    return row->u.row.items[0];
  hang_list (parser, row, &row->u.row);
  return finish (parser, row, start);
}

static gboolean
parse_star_tail (SqlParser *parser, SqlExpr *star)
{
  if (!AT1 (parser, EXCEPT) || sql_parser_kind (parser, 1) != SQL_TOKEN_OPEN ||
      sql_parser_is_query (parser, parser->at + 1))
    return TRUE;
  parser->at++;
  star->u.star.has_except = TRUE;
  return sql_parser_name_list (parser, &star->u.star.except);
}

static SqlExpr *
parse_star (SqlParser *parser, guint start, const SqlName *qualifier)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_STAR);
  if (qualifier != NULL)
    expr->u.star.qualifier = *qualifier;
  parser->at++;
  return parse_star_tail (parser, expr) ? finish (parser, expr, start) : NULL;
}

static SqlExpr *
parse_parameter (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_PARAMETER);
  if (sql_parser_accept_token (parser, SQL_TOKEN_QUESTION)) {
    expr->u.parameter.index = parser->n_questions++;
  } else {
    SqlIdent name;
    parser->at++;
    if (!sql_parser_ident (parser, &name))
      return NULL;
    expr->u.parameter.name = name.text;
  }
  return finish (parser, expr, start);
}

/* A name: column, qualified star, call, lambda. */
static SqlExpr *
parse_name (SqlParser *parser)
{
  guint start = parser->at;
  SqlName name;
  if (!sql_parser_name (parser, &name))
    return NULL;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN)
    return sql_parser_call (parser, &name, start);
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_DOT && sql_parser_kind (parser, 1) == SQL_TOKEN_STAR &&
      name.dynamic == NULL) {
    parser->at++;
    return parse_star (parser, start, &name);
  }
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_ARROW && name.n == 1) {
    SqlIdentList params = { name.parts, 1 };
    return parse_lambda (parser, start, &params);
  }
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_COLUMN);
  expr->u.column.name = name;
  expr->at = name.position;
  if (name.dynamic != NULL)
    hang (parser, expr, name.dynamic);
  return finish (parser, expr, start);
}

static SqlExpr *
parse_bare_call (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_CALL);
  if (!sql_parser_name (parser, &expr->u.call.name))
    return NULL;
  expr->u.call.form = SQL_CALL_BARE;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_word (SqlParser *parser)
{
  SqlTokenKind next = sql_parser_kind (parser, 1);
  gboolean open = next == SQL_TOKEN_OPEN;
  gboolean part = open || next == SQL_TOKEN_DOT || next == SQL_TOKEN_ARROW;
  switch ((int) sql_parser_word (parser, 0)) {
  case SQL_WORD_NULL:
    return part ? parse_name (parser) : parse_word_literal (parser, SQL_LITERAL_NULL, "NULL", FALSE);
  case SQL_WORD_TRUE:
    return part ? parse_name (parser) : parse_word_literal (parser, SQL_LITERAL_BOOLEAN, "true", TRUE);
  case SQL_WORD_FALSE:
    return part ? parse_name (parser) : parse_word_literal (parser, SQL_LITERAL_BOOLEAN, "false", FALSE);
  case SQL_WORD_CASE:
    return next == SQL_TOKEN_DOT ? parse_name (parser) : parse_case (parser);
  case SQL_WORD_CAST:
  case SQL_WORD_TRY_CAST:
    return open ? parse_cast (parser) : parse_name (parser);
  case SQL_WORD_EXISTS:
    if (open && sql_parser_is_query (parser, parser->at + 1)) {
      guint start = parser->at++;
      return parse_subquery (parser, SQL_EXPR_EXISTS, start);
    }
    return parse_name (parser);
  case SQL_WORD_DATE:
  case SQL_WORD_TIMESTAMP:
  case SQL_WORD_TIMESTAMP_NTZ:
  case SQL_WORD_TIMESTAMP_LTZ:
  case SQL_WORD_TIME:
    return next == SQL_TOKEN_STRING ? parse_typed_literal (parser) : parse_name (parser);
  case SQL_WORD_INTERVAL:
    if (interval_part_length (parser, 1) > 0)
      return parse_interval (parser);
    return next == SQL_TOKEN_STRING ? parse_typed_literal (parser) : parse_name (parser);
  case SQL_WORD_CURRENT_DATE:
  case SQL_WORD_CURRENT_TIMESTAMP:
  case SQL_WORD_CURRENT_TIME:
  case SQL_WORD_CURRENT_USER:
    return part ? parse_name (parser) : parse_bare_call (parser);
  case SQL_WORD_FROM:
  case SQL_WORD_WHERE:
  case SQL_WORD_SELECT:
  case SQL_WORD_HAVING:
  case SQL_WORD_UNION:
  case SQL_WORD_EXCEPT:
  case SQL_WORD_INTERSECT:
  case SQL_WORD_JOIN:
  case SQL_WORD_ON:
  case SQL_WORD_AS:
  case SQL_WORD_AND:
  case SQL_WORD_OR:
  case SQL_WORD_IN:
  case SQL_WORD_IS:
  case SQL_WORD_BETWEEN:
  case SQL_WORD_THEN:
  case SQL_WORD_NOT:
    return part ? parse_name (parser) : sql_parser_fail (parser, "an expression");
  default:
    return parse_name (parser);
  }
}

static SqlExpr *
parse_primary (SqlParser *parser)
{
  switch (sql_parser_kind (parser, 0)) {
  case SQL_TOKEN_INTEGER:
  case SQL_TOKEN_NUMBER:
    return parse_number (parser, parser->at, FALSE);
  case SQL_TOKEN_STRING:
    return parse_string_literal (parser);
  case SQL_TOKEN_BINARY:
    return parse_binary_literal (parser);
  case SQL_TOKEN_QUESTION:
  case SQL_TOKEN_COLON:
    return parse_parameter (parser);
  case SQL_TOKEN_STAR:
    return parse_star (parser, parser->at, NULL);
  case SQL_TOKEN_OPEN:
    return parse_parenthesis (parser);
  case SQL_TOKEN_QUOTED:
    return parse_name (parser);
  case SQL_TOKEN_WORD:
    return parse_word (parser);
  default:
    return sql_parser_fail (parser, "an expression");
  }
}

/* ------------------------------------------------------------------ behind a primary */

static SqlExpr *
parse_field (SqlParser *parser, SqlExpr *base, guint start)
{
  SqlIdent name;
  parser->at++;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_STAR && base->kind == SQL_EXPR_COLUMN &&
      base->u.column.name.dynamic == NULL)
    return parse_star (parser, start, &base->u.column.name);
  if (!sql_parser_ident (parser, &name))
    return NULL;
  if (base->kind == SQL_EXPR_COLUMN && base->u.column.name.dynamic == NULL && base->u.column.name.n < 64) {
    /* (a).b is a.b. */
    SqlName *column = &base->u.column.name;
    SqlIdent *parts = sql_arena_new0_n (parser->arena, SqlIdent, column->n + 1);
    memcpy (parts, column->parts, column->n * sizeof (SqlIdent));
    parts[column->n] = name;
    column->parts = parts;
    column->n++;
    column->position = sql_parser_span (parser, start);
    return finish (parser, base, start);
  }
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_FIELD);
  expr->u.field.base = base;
  expr->u.field.name = name;
  expr->at = name.position;
  hang (parser, expr, base);
  return finish (parser, expr, start);
}

static SqlExpr *
parse_index (SqlParser *parser, SqlExpr *base, guint start)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_INDEX);
  parser->at++;
  expr->u.index.base = base;
  expr->u.index.index = sql_parser_expression (parser);
  hang (parser, expr, base);
  hang (parser, expr, expr->u.index.index);
  if (!sql_parser_expect_token (parser, SQL_TOKEN_CLOSE_BRACKET, "]"))
    return NULL;
  return finish (parser, expr, start);
}

static gboolean
parse_bracket_step (SqlParser *parser, SqlPathStep *step)
{
  parser->at++;
  const SqlToken *token = sql_parser_token (parser, 0);
  if (token->kind == SQL_TOKEN_STRING) {
    step->kind = SQL_STEP_FIELD;
    step->bracketed = TRUE;
    step->name = sql_parser_string (parser, NULL);
    if (step->name == NULL)
      return FALSE;
  } else if (token->kind == SQL_TOKEN_STAR) {
    step->kind = SQL_STEP_WILDCARD;
    parser->at++;
  } else {
    g_autofree char *digits = g_strndup (parser->source->text + token->begin, token->end - token->begin);
    step->kind = SQL_STEP_INDEX;
    if (token->kind != SQL_TOKEN_INTEGER || !base_text_parse_int64 (digits, &step->index)) {
      sql_parser_fail (parser, "a string, an index or *");
      return FALSE;
    }
    parser->at++;
  }
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE_BRACKET, "]");
}

/* base:a.b['c'][0], stands on the colon. */
static SqlExpr *
parse_path (SqlParser *parser, SqlExpr *base, guint start)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_JSON_PATH);
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (SqlPathStep));
  expr->u.path.base = base;
  hang (parser, expr, base);
  SqlTokenKind kind = SQL_TOKEN_COLON;
  while (kind == SQL_TOKEN_COLON || kind == SQL_TOKEN_DOT || kind == SQL_TOKEN_OPEN_BRACKET) {
    guint step_start = parser->at;
    SqlPathStep step = { 0 };
    if (kind != SQL_TOKEN_OPEN_BRACKET)
      parser->at++;
    if (kind == SQL_TOKEN_OPEN_BRACKET ||
        (kind == SQL_TOKEN_COLON && sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN_BRACKET)) {
      if (!parse_bracket_step (parser, &step))
        return NULL;
    } else {
      SqlIdent name;
      if (!sql_parser_ident (parser, &name))
        return NULL;
      step.name = name.text;
    }
    step.position = sql_parser_span (parser, step_start);
    g_array_append_val (steps, step);
    kind = sql_parser_kind (parser, 0);
  }
  expr->u.path.steps = sql_parser_keep (parser, steps);
  expr->u.path.n = steps->len;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_colon_cast (SqlParser *parser, SqlExpr *value, guint start)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_CAST);
  parser->at++;
  expr->u.cast.value = value;
  expr->u.cast.is_colon = TRUE;
  hang (parser, expr, value);
  if (!sql_parser_type (parser, &expr->u.cast.type))
    return NULL;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_postfix (SqlParser *parser, SqlExpr *expr, guint start)
{
  while (expr != NULL) {
    switch (sql_parser_kind (parser, 0)) {
    case SQL_TOKEN_DOT:
      expr = parse_field (parser, expr, start);
      break;
    case SQL_TOKEN_OPEN_BRACKET:
      expr = parse_index (parser, expr, start);
      break;
    case SQL_TOKEN_DOUBLE_COLON:
      expr = parse_colon_cast (parser, expr, start);
      break;
    case SQL_TOKEN_COLON:
      expr = parse_path (parser, expr, start);
      break;
    case SQL_TOKEN_WORD:
      if (AT1 (parser, COLLATE) && sql_parser_at_ident (parser, 1)) {
        SqlPosition here = sql_parser_here (parser);
        return sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "collations are not supported");
      }
      return expr;
    default:
      return expr;
    }
  }
  return expr;
}

/* ------------------------------------------------------------------ operators */

static SqlExpr *
parse_unary (SqlParser *parser)
{
  guint start = parser->at;
  guint n = 0;
  for (;; n++) {
    SqlTokenKind kind = sql_parser_kind (parser, n);
    if (kind != SQL_TOKEN_MINUS && kind != SQL_TOKEN_PLUS && kind != SQL_TOKEN_TILDE)
      break;
  }
  SqlTokenKind next = sql_parser_kind (parser, n);
  gboolean negative = n > 0 && sql_parser_kind (parser, n - 1) == SQL_TOKEN_MINUS &&
                      (next == SQL_TOKEN_INTEGER || next == SQL_TOKEN_NUMBER);
  guint n_signs = negative ? n - 1 : n;
  parser->at += n;
  SqlExpr *expr = negative ? parse_number (parser, start + n_signs, TRUE) : parse_primary (parser);
  expr = parse_postfix (parser, expr, start + n_signs);
  for (guint i = n_signs; i > 0 && expr != NULL; i--) {
    const SqlToken *token = &parser->tokens[start + i - 1];
    SqlExpr *outer = sql_parser_new_expr (parser, SQL_EXPR_UNARY);
    outer->u.unary.op = token->kind == SQL_TOKEN_MINUS  ? SQL_UNARY_MINUS
                        : token->kind == SQL_TOKEN_PLUS ? SQL_UNARY_PLUS
                                                        : SQL_UNARY_BIT_NOT;
    outer->u.unary.operand = expr;
    outer->at = (SqlPosition){ parser->source, token->begin, token->end, token->line, token->column };
    hang (parser, outer, expr);
    expr = finish (parser, outer, start + i - 1);
  }
  return expr;
}

static gboolean
adjacent (const SqlParser *parser, guint ahead)
{
  return sql_parser_token (parser, ahead)->end == sql_parser_token (parser, ahead + 1)->begin;
}

/* The binary operator at the current token. */
static gboolean
binary_operator (const SqlParser *parser, SqlBinaryOp *op, guint *n_tokens)
{
  static const struct {
    guint8 kind;
    guint8 op;
  } table[] = {
    { SQL_TOKEN_EQ, SQL_BINARY_EQ },         { SQL_TOKEN_NULL_SAFE_EQ, SQL_BINARY_NULL_SAFE_EQ },
    { SQL_TOKEN_NE, SQL_BINARY_NE },         { SQL_TOKEN_LT, SQL_BINARY_LT },
    { SQL_TOKEN_LE, SQL_BINARY_LE },         { SQL_TOKEN_GT, SQL_BINARY_GT },
    { SQL_TOKEN_GE, SQL_BINARY_GE },         { SQL_TOKEN_BAR, SQL_BINARY_BIT_OR },
    { SQL_TOKEN_CARET, SQL_BINARY_BIT_XOR }, { SQL_TOKEN_AMPERSAND, SQL_BINARY_BIT_AND },
    { SQL_TOKEN_PLUS, SQL_BINARY_ADD },      { SQL_TOKEN_MINUS, SQL_BINARY_SUBTRACT },
    { SQL_TOKEN_CONCAT, SQL_BINARY_CONCAT }, { SQL_TOKEN_STAR, SQL_BINARY_MULTIPLY },
    { SQL_TOKEN_SLASH, SQL_BINARY_DIVIDE },  { SQL_TOKEN_PERCENT, SQL_BINARY_MODULO },
  };
  SqlTokenKind kind = sql_parser_kind (parser, 0);
  *n_tokens = 1;
  if (kind == SQL_TOKEN_WORD) {
    SqlWord word = sql_parser_word (parser, 0);
    *op = word == SQL_WORD_OR ? SQL_BINARY_OR : word == SQL_WORD_AND ? SQL_BINARY_AND : SQL_BINARY_INT_DIVIDE;
    return word == SQL_WORD_OR || word == SQL_WORD_AND || word == SQL_WORD_DIV;
  }
  if ((kind == SQL_TOKEN_LT || kind == SQL_TOKEN_GT) && sql_parser_kind (parser, 1) == kind && adjacent (parser, 0)) {
    gboolean third = kind == SQL_TOKEN_GT && sql_parser_kind (parser, 2) == kind && adjacent (parser, 1);
    *n_tokens = third ? 3 : 2;
    *op = kind == SQL_TOKEN_LT ? SQL_BINARY_SHIFT_LEFT
          : third              ? SQL_BINARY_SHIFT_RIGHT_UNSIGNED
                               : SQL_BINARY_SHIFT_RIGHT;
    return TRUE;
  }
  for (gsize i = 0; i < G_N_ELEMENTS (table); i++) {
    if (table[i].kind == kind) {
      *op = (SqlBinaryOp) table[i].op;
      return TRUE;
    }
  }
  return FALSE;
}

static SqlExpr *
parse_in (SqlParser *parser, SqlExpr *value, gboolean negated)
{
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && sql_parser_is_query (parser, parser->at)) {
    SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_IN_QUERY);
    parser->at++;
    SqlQuery *query = sql_parser_query (parser);
    if (query == NULL || !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")"))
      return NULL;
    expr->u.in_query.value = value;
    expr->u.in_query.query = query;
    expr->u.in_query.negated = negated;
    hang (parser, expr, value);
    sql_parser_deepen (parser, &expr->depth, query->depth);
    return expr;
  }
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_IN_LIST);
  expr->u.in_list.value = value;
  expr->u.in_list.negated = negated;
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "(") ||
      !sql_parser_expression_list (parser, &expr->u.in_list.items) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )"))
    return NULL;
  hang (parser, expr, value);
  hang_list (parser, expr, &expr->u.in_list.items);
  return expr;
}

static SqlExpr *
parse_like (SqlParser *parser, SqlExpr *value, SqlLikeOp op, gboolean negated)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_LIKE);
  gboolean list = sql_parser_kind (parser, 1) == SQL_TOKEN_OPEN && op != SQL_LIKE_RLIKE;
  expr->u.like.op = op;
  expr->u.like.value = value;
  expr->u.like.negated = negated;
  if (list && (AT1 (parser, ANY) || AT1 (parser, SOME) || AT1 (parser, ALL))) {
    expr->u.like.quantifier = AT1 (parser, ALL) ? SQL_QUANTIFIER_ALL : SQL_QUANTIFIER_ANY;
    parser->at += 2;
    if (!sql_parser_expression_list (parser, &expr->u.like.patterns) ||
        !sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ", or )"))
      return NULL;
  } else {
    SqlExpr **pattern = sql_arena_new0 (parser->arena, SqlExpr *);
    *pattern = sql_parser_value (parser);
    expr->u.like.patterns = (SqlExprList){ pattern, 1 };
    if (*pattern == NULL)
      return NULL;
    if (op != SQL_LIKE_RLIKE && ACCEPT1 (parser, ESCAPE)) {
      SqlPosition here = sql_parser_here (parser);
      expr->u.like.escape = sql_parser_kind (parser, 0) == SQL_TOKEN_STRING ? parse_string_literal (parser)
                                                                            : sql_parser_fail (parser, "a string");
      if (expr->u.like.escape == NULL)
        return NULL;
      if (g_utf8_strlen (expr->u.like.escape->u.literal.text, -1) != 1)
        return sql_parser_fail_at (parser, &here, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                                   "syntax error: ESCAPE needs a string of exactly one character");
    }
  }
  hang (parser, expr, value);
  hang_list (parser, expr, &expr->u.like.patterns);
  return expr;
}

static SqlExpr *
parse_is (SqlParser *parser, SqlExpr *value)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_IS);
  expr->u.is.value = value;
  expr->u.is.negated = ACCEPT1 (parser, NOT);
  hang (parser, expr, value);
  if (ACCEPT1 (parser, NULL)) {
    expr->u.is.test = SQL_IS_NULL;
  } else if (ACCEPT1 (parser, TRUE)) {
    expr->u.is.test = SQL_IS_TRUE;
  } else if (ACCEPT1 (parser, FALSE)) {
    expr->u.is.test = SQL_IS_FALSE;
  } else if (ACCEPT1 (parser, UNKNOWN)) {
    expr->u.is.test = SQL_IS_UNKNOWN;
  } else if (ACCEPT2 (parser, DISTINCT, FROM)) {
    expr->u.is.test = SQL_IS_DISTINCT_FROM;
    expr->u.is.other = sql_parser_value (parser);
    hang (parser, expr, expr->u.is.other);
    return expr->u.is.other != NULL ? expr : NULL;
  } else {
    return sql_parser_fail (parser, "NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM");
  }
  return expr;
}

static SqlExpr *
parse_between (SqlParser *parser, SqlExpr *value, gboolean negated)
{
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_BETWEEN);
  expr->u.between.value = value;
  expr->u.between.negated = negated;
  expr->u.between.low = sql_parser_value (parser);
  if (expr->u.between.low == NULL || !EXPECT1 (parser, AND))
    return NULL;
  expr->u.between.high = sql_parser_value (parser);
  hang (parser, expr, value);
  hang (parser, expr, expr->u.between.low);
  hang (parser, expr, expr->u.between.high);
  return expr->u.between.high != NULL ? expr : NULL;
}

/* The predicate at the current token, @value before it. Returns: @value itself when there is none. */
static SqlExpr *
parse_predicate (SqlParser *parser, SqlExpr *value, guint start)
{
  SqlPosition at = sql_parser_here (parser);
  guint skip = AT1 (parser, NOT) ? 1 : 0;
  SqlWord word = sql_parser_word (parser, skip);
  SqlExpr *expr;
  if (word == SQL_WORD_IS && skip == 0) {
    parser->at++;
    expr = parse_is (parser, value);
  } else if (word == SQL_WORD_IN) {
    parser->at += skip + 1;
    expr = parse_in (parser, value, skip == 1);
  } else if (word == SQL_WORD_BETWEEN) {
    parser->at += skip + 1;
    expr = parse_between (parser, value, skip == 1);
  } else if (word == SQL_WORD_LIKE || word == SQL_WORD_ILIKE || word == SQL_WORD_RLIKE || word == SQL_WORD_REGEXP) {
    parser->at += skip + 1;
    SqlLikeOp op = word == SQL_WORD_LIKE ? SQL_LIKE_LIKE : word == SQL_WORD_ILIKE ? SQL_LIKE_ILIKE : SQL_LIKE_RLIKE;
    expr = parse_like (parser, value, op, skip == 1);
  } else {
    return value;
  }
  if (expr == NULL)
    return NULL;
  expr->at = at;
  return finish (parser, expr, start);
}

static SqlExpr *
parse_not (SqlParser *parser)
{
  guint start = parser->at;
  SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_UNARY);
  parser->at++;
  if (!sql_parser_enter (parser))
    return NULL;
  expr->u.unary.op = SQL_UNARY_NOT;
  expr->u.unary.operand = parse_level (parser, SQL_LEVEL_NOT);
  sql_parser_leave (parser);
  hang (parser, expr, expr->u.unary.operand);
  return finish (parser, expr, start);
}

static SqlExpr *
parse_level (SqlParser *parser, guint least)
{
  guint start = parser->at;
  gboolean part = sql_parser_kind (parser, 1) == SQL_TOKEN_DOT;
  gboolean is_not = (AT1 (parser, NOT) && !part) || sql_parser_kind (parser, 0) == SQL_TOKEN_EXCLAMATION;
  gboolean boolean_only = FALSE; /* a predicate or NOT stands on the left: only AND and OR may follow */
  SqlExpr *left;
  if (is_not && least <= SQL_LEVEL_NOT) {
    left = parse_not (parser);
    boolean_only = TRUE;
  } else {
    left = parse_unary (parser);
  }
  while (left != NULL) {
    SqlBinaryOp op;
    guint n_tokens;
    if (!binary_operator (parser, &op, &n_tokens)) {
      SqlExpr *predicate = least <= SQL_LEVEL_PREDICATE && !boolean_only ? parse_predicate (parser, left, start) : left;
      if (predicate == left)
        return left;
      left = predicate;
      boolean_only = TRUE;
      continue;
    }
    guint level = sql_binary_operators[op].level;
    if (level < least || (boolean_only && level > SQL_LEVEL_AND))
      return left;
    SqlExpr *expr = sql_parser_new_expr (parser, SQL_EXPR_BINARY);
    parser->at += n_tokens;
    expr->at = sql_parser_span (parser, parser->at - n_tokens);
    expr->u.binary.op = op;
    expr->u.binary.left = left;
    expr->u.binary.right = parse_level (parser, level + 1);
    hang (parser, expr, left);
    hang (parser, expr, expr->u.binary.right);
    left = finish (parser, expr, start);
    boolean_only = level <= SQL_LEVEL_AND;
  }
  return left;
}

SqlExpr *
sql_parser_expression (SqlParser *parser)
{
  if (!sql_parser_enter (parser))
    return NULL;
  SqlExpr *expr = parse_level (parser, SQL_LEVEL_OR);
  sql_parser_leave (parser);
  return parser->error == NULL ? expr : NULL;
}

SqlExpr *
sql_parser_value (SqlParser *parser)
{
  if (!sql_parser_enter (parser))
    return NULL;
  SqlExpr *expr = parse_level (parser, SQL_LEVEL_COMPARISON);
  sql_parser_leave (parser);
  return parser->error == NULL ? expr : NULL;
}

SqlExpr *
sql_parser_constant (SqlParser *parser)
{
  return parse_unary (parser);
}

/* Operators and the functions that are the same as one: arithmetic, comparison, logic, bits.
 *
 * Integer and double arithmetic is DuckDB's where its overflow is an error too; decimals are DuckDB's as long as the exact result type
 * has at most 38 digits, and kernels beyond. `data` of these calls is the template that bind() chose.
 */
#include "relation-function-private.h"
#include "relation-plan.h"

#include <string.h>

/* ---- arithmetic ---- */

static gboolean
is_floating (BaseTypeKind kind)
{
  return kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE;
}

static gboolean
diff_types_error (RelationCall *call, GError **error)
{
  g_autofree char *a = base_type_text (call->args[0]->type);
  g_autofree char *b = base_type_text (call->args[1]->type);
  return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_BINARY_OP_DIFF_TYPES,
                              "the two sides of \"%s\" have incompatible types: %s and %s", call->display, a, b);
}

static gboolean
wrong_type_error (RelationCall *call, const char *required, GError **error)
{
  g_autofree char *a = base_type_text (call->args[0]->type);
  return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_BINARY_OP_WRONG_TYPE,
                              "\"%s\" requires %s, but its sides are %s", call->display, required, a);
}

/* Both sides to one number type: decimals to their own decimals, everything else to the common type. */
static gboolean
coerce_numbers (RelationCall *call, GError **error)
{
  for (guint i = 0; i < 2; i++)
    if (call->args[i]->kind == RELATION_EXPR_CALL &&
        (call->args[i]->function->flags & RELATION_FUNCTION_GENERATOR) != 0)
      return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_GENERATOR_NESTED_IN_EXPRESSIONS,
                                  "a generator cannot be part of an expression: \"%s\"", call->display);
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  if (a == BASE_TYPE_VOID && b == BASE_TYPE_VOID) {
    relation_call_cast_kind (call, 0, BASE_TYPE_DOUBLE);
    relation_call_cast_kind (call, 1, BASE_TYPE_DOUBLE);
    return TRUE;
  }
  if (a == BASE_TYPE_DECIMAL || b == BASE_TYPE_DECIMAL) {
    guint other = a == BASE_TYPE_DECIMAL ? 1 : 0;
    BaseTypeKind kind = relation_arg_kind (call, other);
    if (kind == BASE_TYPE_DECIMAL)
      return TRUE;
    if (base_type_is_integral (call->args[other]->type)) {
      relation_call_cast (call, other, relation_coerce_decimal_of (call->args[other]));
      return TRUE;
    }
  }
  if (!relation_coerce_pair (call->binder, &call->args[0], &call->args[1]))
    return diff_types_error (call, error);
  if (!base_type_is_numeric (call->args[0]->type))
    return wrong_type_error (call, "numbers", error);
  return TRUE;
}

typedef struct {
  char op; /* + - * / % d (div) p (pmod) */
  gboolean try_it;
} Arithmetic;

/* Templates per operation for DECIMAL beyond 38 digits, integers by kernel, and plain numbers. */
static const struct {
  char op;
  const char *decimal_kernel, *try_decimal_kernel;
  const char *integer_kernel, *try_integer_kernel;
  const char *plain; /* INT, BIGINT, FLOAT, DOUBLE */
} arithmetic_templates[] = {
  { '+', "$k{sluice_decimal_add}($1, $2)", "$k{sluice_try_decimal_add}($1, $2)", "$k{sluice_add}($1, $2)",
    "$k{sluice_try_add}($1, $2)", "($1 + $2)" },
  { '-', "$k{sluice_decimal_subtract}($1, $2)", "$k{sluice_try_decimal_subtract}($1, $2)",
    "$k{sluice_subtract}($1, $2)", "$k{sluice_try_subtract}($1, $2)", "($1 - $2)" },
  { '*', "$k{sluice_decimal_multiply}($1, $2)", "$k{sluice_try_decimal_multiply}($1, $2)",
    "$k{sluice_multiply}($1, $2)", "$k{sluice_try_multiply}($1, $2)", "($1 * $2)" },
  { '/', "$k{sluice_decimal_divide}($1, $2)", "$k{sluice_try_decimal_divide}($1, $2)", NULL, NULL, NULL },
  { '%', "$k{sluice_decimal_remainder}($1, $2)", "$k{sluice_try_decimal_remainder}($1, $2)",
    "$k{sluice_remainder}($1, $2)", "$k{sluice_try_remainder}($1, $2)", NULL },
  { 'p', "$k{sluice_decimal_pmod}($1, $2)", NULL, "$k{sluice_pmod}($1, $2)", NULL, NULL },
};

static gboolean
bind_decimal (RelationCall *call, const Arithmetic *what, guint row, GError **error)
{
  gint p1 = (gint) base_type_precision (call->args[0]->type), s1 = (gint) base_type_scale (call->args[0]->type);
  gint p2 = (gint) base_type_precision (call->args[1]->type), s2 = (gint) base_type_scale (call->args[1]->type);
  gint precision, scale;
  const char *native = NULL;
  switch (what->op) {
  case '+':
  case '-':
    scale = MAX (s1, s2);
    precision = MAX (p1 - s1, p2 - s2) + scale + 1;
    native = what->op == '+' ? "CAST($1 + $2 AS $t)" : "CAST($1 - $2 AS $t)";
    break;
  case '*':
    scale = s1 + s2;
    precision = p1 + p2 + 1;
    native = "CAST($1 * $2 AS $t)";
    break;
  case '/':
    scale = MAX (6, s1 + p2 + 1);
    precision = p1 - s1 + s2 + scale;
    break;
  case 'd':
    relation_call_set_kind (call, BASE_TYPE_LONG);
    call->data = "sluice_decimal_quotient($1, $2)";
    return TRUE;
  default:
    scale = MAX (s1, s2);
    precision = MIN (p1 - s1, p2 - s2) + scale;
    break;
  }
  relation_call_set_type (call, relation_coerce_adjust_decimal (precision, scale));
  call->data = what->try_it ? arithmetic_templates[row].try_decimal_kernel : arithmetic_templates[row].decimal_kernel;
  if (precision <= 38 && native != NULL)
    call->data = native;
  (void) error; /* decimals never fail to bind */
  return TRUE;
}

static gboolean
bind_integral_divide (RelationCall *call, GError **error)
{
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  if (is_floating (a) || is_floating (b)) {
    if (a != b && a != BASE_TYPE_DECIMAL && b != BASE_TYPE_DECIMAL)
      return diff_types_error (call, error);
    return wrong_type_error (call, "integers or decimals", error);
  }
  if (!coerce_numbers (call, error))
    return FALSE;
  a = relation_arg_kind (call, 0);
  if (is_floating (a))
    return wrong_type_error (call, "integers or decimals", error);
  if (a == BASE_TYPE_DECIMAL) {
    Arithmetic what = { 'd', FALSE };
    return bind_decimal (call, &what, 0, error);
  }
  relation_call_cast_kind (call, 0, BASE_TYPE_LONG);
  relation_call_cast_kind (call, 1, BASE_TYPE_LONG);
  relation_call_set_kind (call, BASE_TYPE_LONG);
  call->data = "sluice_int_divide($1, $2)";
  return TRUE;
}

static gboolean
bind_arithmetic (RelationCall *call, char op, gboolean try_it, GError **error)
{
  gboolean handled = FALSE;
  if (!relation_bind_time_arithmetic (call, op, try_it, &handled, error))
    return FALSE;
  if (handled)
    return TRUE;
  if (op == 'd')
    return bind_integral_divide (call, error);
  if (!coerce_numbers (call, error))
    return FALSE;
  guint row = 0;
  while (arithmetic_templates[row].op != op)
    row++;
  BaseTypeKind kind = relation_arg_kind (call, 0);
  Arithmetic what = { op, try_it };
  if (kind == BASE_TYPE_DECIMAL && relation_arg_kind (call, 1) == BASE_TYPE_DECIMAL) {
    if (try_it && (op == '/' || op == '%'))
      call->nullable = TRUE;
    return bind_decimal (call, &what, row, error);
  }
  if (op == '/') {
    relation_call_cast_kind (call, 0, BASE_TYPE_DOUBLE);
    relation_call_cast_kind (call, 1, BASE_TYPE_DOUBLE);
    relation_call_set_kind (call, BASE_TYPE_DOUBLE);
    call->data = try_it ? "($1 / nullif($2, 0))" : "sluice_divide($1, $2)";
    call->nullable |= try_it;
    return TRUE;
  }
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  gboolean small = kind == BASE_TYPE_BYTE || kind == BASE_TYPE_SHORT;
  if (try_it && (base_type_is_integral (call->args[0]->type) || op == '%')) {
    call->data = arithmetic_templates[row].try_integer_kernel;
    call->nullable = TRUE;
  } else if (small || arithmetic_templates[row].plain == NULL)
    call->data = arithmetic_templates[row].integer_kernel;
  else
    call->data = arithmetic_templates[row].plain;
  return TRUE;
}

#define ARITHMETIC(name, op, try_it)                                                                                   \
  static gboolean bind_##name (RelationCall *call, GError **error)                                                     \
  {                                                                                                                    \
    return bind_arithmetic (call, op, try_it, error);                                                                  \
  }
ARITHMETIC (add, '+', FALSE)
ARITHMETIC (subtract, '-', FALSE)
ARITHMETIC (multiply, '*', FALSE)
ARITHMETIC (divide, '/', FALSE)
ARITHMETIC (remainder, '%', FALSE)
ARITHMETIC (div, 'd', FALSE)
ARITHMETIC (pmod, 'p', FALSE)
ARITHMETIC (try_add, '+', TRUE)
ARITHMETIC (try_subtract, '-', TRUE)
ARITHMETIC (try_multiply, '*', TRUE)
ARITHMETIC (try_divide, '/', TRUE)
ARITHMETIC (try_mod, '%', TRUE)

/* One number or interval; strings and NULL become DOUBLE. */
static gboolean
bind_sign (RelationCall *call, const char *plain, const char *integer_kernel, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_INTERVAL_CALENDAR) {
    if (strcmp (plain, "(- $1)") != 0)
      return relation_call_type_error (call, 0, "NUMERIC or ANSI INTERVAL", error);
    relation_call_set_type (call, base_type_ref (call->args[0]->type));
    call->data = plain;
    return TRUE;
  }
  gboolean interval = kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME;
  if (kind == BASE_TYPE_STRING || kind == BASE_TYPE_VOID)
    relation_call_cast_kind (call, 0, BASE_TYPE_DOUBLE);
  else if (!interval && !base_type_is_numeric (call->args[0]->type))
    return relation_call_type_error (call, 0, "NUMERIC or ANSI INTERVAL", error);
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  call->data = interval || base_type_is_integral (call->args[0]->type) ? integer_kernel : plain;
  return TRUE;
}

static gboolean
bind_minus (RelationCall *call, GError **error)
{
  return bind_sign (call, "(- $1)", "$k{sluice_negate}($1)", error);
}

static gboolean
bind_plus (RelationCall *call, GError **error)
{
  return bind_sign (call, "$1", "$1", error);
}

static gboolean
bind_abs (RelationCall *call, GError **error)
{
  return bind_sign (call, "abs($1)", "$k{sluice_abs}($1)", error);
}

/* ---- bits ---- */

static gboolean
bind_bits (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_VOID && relation_arg_kind (call, 1) == BASE_TYPE_VOID)
    relation_call_cast_kind (call, 0, BASE_TYPE_INTEGER);
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  if (a != b && (a == BASE_TYPE_DECIMAL || b == BASE_TYPE_DECIMAL || is_floating (a) || is_floating (b)))
    return diff_types_error (call, error);
  if (!relation_coerce_pair (call->binder, &call->args[0], &call->args[1]))
    return diff_types_error (call, error);
  if (!base_type_is_integral (call->args[0]->type))
    return wrong_type_error (call, "integers", error);
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

static gboolean
bind_bit_not (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_VOID)
    relation_call_cast_kind (call, 0, BASE_TYPE_INTEGER);
  if (!base_type_is_integral (call->args[0]->type))
    return relation_call_type_error (call, 0, "INTEGRAL", error);
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

/* The value is INT unless it is BIGINT; strings and decimals are cast to INT. */
static gboolean
bind_shift (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) != BASE_TYPE_LONG &&
      !relation_call_want (call, 0, BASE_TYPE_INTEGER, "INT or BIGINT", error))
    return FALSE;
  if (!relation_call_want (call, 1, BASE_TYPE_INTEGER, "INT", error))
    return FALSE;
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

/* ---- comparison ---- */

/* @type with the field names of @like, as far as the shapes agree. */
static BaseType *
renamed (const BaseType *type, const BaseType *like)
{
  BaseTypeKind kind = base_type_kind (type);
  if (kind != base_type_kind (like))
    return base_type_ref (type);
  if (kind == BASE_TYPE_ARRAY) {
    g_autoptr (BaseType) element = renamed (base_type_element (type), base_type_element (like));
    return base_type_array (element, base_type_contains_null (type));
  }
  if (kind != BASE_TYPE_STRUCT || base_type_n_fields (type) != base_type_n_fields (like))
    return base_type_ref (type);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    g_autoptr (BaseType) part = renamed (field->type, base_type_field (like, i)->type);
    base_struct_builder_add (builder, base_type_field (like, i)->name, part, field->nullable, NULL);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static gboolean
coerce_comparison (RelationCall *call, GError **error)
{
  if (base_type_is_nested (call->args[0]->type))
    relation_call_cast (call, 1, renamed (call->args[1]->type, call->args[0]->type));
  if (!relation_coerce_pair (call->binder, &call->args[0], &call->args[1]))
    return diff_types_error (call, error);
  if (!base_type_is_orderable (call->args[0]->type)) {
    g_autofree char *type = base_type_text (call->args[0]->type);
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                "\"%s\" does not support ordering on the type %s", call->display, type);
  }
  return TRUE;
}

static gboolean
bind_comparison (RelationCall *call, GError **error)
{
  if (!coerce_comparison (call, error))
    return FALSE;
  relation_call_set_kind (call, BASE_TYPE_BOOLEAN);
  return TRUE;
}

/* The order keys of nested values; scalars as they are. */
static gboolean
append_comparable (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error)
{
  if (!base_type_is_nested (expr->type))
    return relation_printer_expr (printer, expr, out, error);
  g_autoptr (GString) text = g_string_new (NULL);
  if (!relation_printer_expr (printer, expr, text, error))
    return FALSE;
  g_autofree char *key = relation_order_key (text->str, expr->type);
  g_string_append (out, key);
  return TRUE;
}

static gboolean
lower_comparison (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const char *name = call->function->names;
  const char *op = strcmp (name, "<=>") == 0 || strcmp (name, "equal_null") == 0 ? "IS NOT DISTINCT FROM"
                   : strcmp (name, "is distinct from") == 0                      ? "IS DISTINCT FROM"
                                                                                 : name;
  g_string_append_c (out, '(');
  if (!append_comparable (printer, call->args[0], out, error))
    return FALSE;
  g_string_append_printf (out, " %s ", op);
  if (!append_comparable (printer, call->args[1], out, error))
    return FALSE;
  g_string_append_c (out, ')');
  return TRUE;
}

static gboolean
bind_in (RelationCall *call, GError **error)
{
  g_autofree BaseType **types = g_new (BaseType *, call->n_args);
  for (guint i = 0; i < call->n_args; i++)
    types[i] = call->args[i]->type;
  g_autoptr (BaseType) common = relation_coerce_common_many (types, call->n_args);
  if (common == NULL) {
    g_autofree char *a = base_type_text (types[0]);
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_DATA_DIFF_TYPES,
                                "Input to `in` should all be the same type as %s", a);
  }
  if (!base_type_is_orderable (common))
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                "`in` does not support this type");
  for (guint i = 0; i < call->n_args; i++)
    relation_call_cast (call, i, base_type_ref (common));
  g_autoptr (GString) display = g_string_new (NULL);
  g_string_append_printf (display, "(%s IN (", call->args[0]->display);
  for (guint i = 1; i < call->n_args; i++)
    g_string_append_printf (display, "%s%s", i > 1 ? ", " : "", call->args[i]->display);
  g_string_append (display, "))");
  call->display = relation_binder_printf (call->binder, "%s", display->str);
  relation_call_set_kind (call, BASE_TYPE_BOOLEAN);
  return TRUE;
}

static gboolean
lower_in (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_string_append_c (out, '(');
  if (!append_comparable (printer, call->args[0], out, error))
    return FALSE;
  g_string_append (out, " IN (");
  for (guint i = 1; i < call->n_args; i++) {
    g_string_append (out, i > 1 ? ", " : "");
    if (!append_comparable (printer, call->args[i], out, error))
      return FALSE;
  }
  g_string_append (out, "))");
  return TRUE;
}

/* ---- logic ---- */

static gboolean
bind_logic (RelationCall *call, GError **error)
{
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  for (guint i = 0; i < 2; i++) {
    BaseTypeKind kind = relation_arg_kind (call, i);
    if (kind == BASE_TYPE_BOOLEAN)
      continue;
    if (kind == BASE_TYPE_VOID || (kind == BASE_TYPE_STRING && (i == 0 ? b : a) == BASE_TYPE_BOOLEAN))
      relation_call_cast_kind (call, i, BASE_TYPE_BOOLEAN);
    else
      return a != b ? diff_types_error (call, error) : wrong_type_error (call, "BOOLEAN", error);
  }
  relation_call_set_kind (call, BASE_TYPE_BOOLEAN);
  return TRUE;
}

#define OPERATOR RELATION_FUNCTION_OPERATOR
#define COMPARE(spelling, text)                                                                                        \
  {                                                                                                                    \
    .names = spelling, .args = "any any", .flags = OPERATOR, .doc = text, .display = "($1 " spelling " $2)",           \
    .bind = bind_comparison, .lower_call = lower_comparison                                                            \
  }
#define BINARY(spelling, function, text)                                                                               \
  {                                                                                                                    \
    .names = spelling, .args = "any any", .flags = OPERATOR, .doc = text, .display = "($1 " spelling " $2)",           \
    .bind = function, .lower_call = relation_lower_data                                                                \
  }
#define NAMED(spelling, function, text)                                                                                \
  {                                                                                                                    \
    .names = spelling, .args = "any any", .doc = text, .bind = function, .lower_call = relation_lower_data             \
  }

const RelationFunction *
relation_function_rows_operator (void)
{
  static const RelationFunction rows[] = {
    BINARY ("+", bind_add, "sum; a date plus days, a time plus an interval"),
    BINARY ("-", bind_subtract, "difference; between dates and times an interval"),
    BINARY ("*", bind_multiply, "product; of an interval and a number an interval"),
    BINARY ("/", bind_divide, "quotient, DOUBLE or DECIMAL; DIVIDE_BY_ZERO for zero"),
    BINARY ("%", bind_remainder, "remainder with the sign of the first side"),
    BINARY ("div", bind_div, "integral quotient as BIGINT, toward zero"),
    NAMED ("mod", bind_remainder, "remainder with the sign of the first argument"),
    NAMED ("div", bind_div, "integral quotient as BIGINT, toward zero"),
    NAMED ("pmod", bind_pmod, "positive remainder"),
    NAMED ("try_add", bind_try_add, "sum, NULL on overflow"),
    NAMED ("try_subtract", bind_try_subtract, "difference, NULL on overflow"),
    NAMED ("try_multiply", bind_try_multiply, "product, NULL on overflow"),
    NAMED ("try_divide", bind_try_divide, "quotient, NULL when the divisor is zero"),
    NAMED ("try_mod try_remainder", bind_try_mod, "remainder, NULL when the divisor is zero"),
    { .names = "u-",
      .args = "any",
      .flags = OPERATOR,
      .doc = "the opposite",
      .display = "(- $1)",
      .bind = bind_minus,
      .lower_call = relation_lower_data },
    { .names = "u+",
      .args = "any",
      .flags = OPERATOR,
      .doc = "the value itself",
      .display = "(+ $1)",
      .bind = bind_plus,
      .lower_call = relation_lower_data },
    { .names = "negative",
      .args = "any",
      .doc = "the opposite",
      .bind = bind_minus,
      .lower_call = relation_lower_data },
    { .names = "positive",
      .args = "any",
      .doc = "the value itself",
      .bind = bind_plus,
      .lower_call = relation_lower_data },
    { .names = "abs", .args = "any", .doc = "absolute value", .bind = bind_abs, .lower_call = relation_lower_data },
    { .names = "&",
      .args = "any any",
      .lower = "($1 & $2)",
      .flags = OPERATOR,
      .doc = "bitwise and",
      .display = "($1 & $2)",
      .bind = bind_bits },
    { .names = "|",
      .args = "any any",
      .lower = "($1 | $2)",
      .flags = OPERATOR,
      .doc = "bitwise or",
      .display = "($1 | $2)",
      .bind = bind_bits },
    { .names = "^",
      .args = "any any",
      .lower = "xor($1, $2)",
      .flags = OPERATOR,
      .doc = "bitwise exclusive or",
      .display = "($1 ^ $2)",
      .bind = bind_bits },
    { .names = "~",
      .args = "any",
      .lower = "(~ $1)",
      .flags = OPERATOR,
      .doc = "bitwise not",
      .display = "~$1",
      .bind = bind_bit_not },
    { .names = "<<",
      .args = "any any",
      .lower = "$k{sluice_shift_left}($1, $2)",
      .flags = OPERATOR,
      .doc = "bits shifted left",
      .display = "($1 << $2)",
      .bind = bind_shift },
    { .names = ">>",
      .args = "any any",
      .lower = "$k{sluice_shift_right}($1, $2)",
      .flags = OPERATOR,
      .doc = "bits shifted right, the sign kept",
      .display = "($1 >> $2)",
      .bind = bind_shift },
    { .names = ">>>",
      .args = "any any",
      .lower = "$k{sluice_shift_right_unsigned}($1, $2)",
      .flags = OPERATOR,
      .doc = "bits shifted right, zeros from the left",
      .display = "($1 >>> $2)",
      .bind = bind_shift },
    { .names = "shiftleft",
      .args = "any any",
      .lower = "$k{sluice_shift_left}($1, $2)",
      .doc = "bits shifted left",
      .bind = bind_shift },
    { .names = "shiftright",
      .args = "any any",
      .lower = "$k{sluice_shift_right}($1, $2)",
      .doc = "bits shifted right, the sign kept",
      .bind = bind_shift },
    { .names = "shiftrightunsigned",
      .args = "any any",
      .lower = "$k{sluice_shift_right_unsigned}($1, $2)",
      .doc = "bits shifted right, zeros from the left",
      .bind = bind_shift },
    COMPARE ("=", "equality; NULL when a side is"),
    COMPARE ("<>", "inequality"),
    COMPARE ("<", "less; text by bytes, NaN is largest"),
    COMPARE ("<=", "less or equal"),
    COMPARE (">", "greater"),
    COMPARE (">=", "greater or equal"),
    { .names = "<=>",
      .args = "any any",
      .flags = OPERATOR | RELATION_FUNCTION_NEVER_NULL,
      .doc = "equality in which NULL equals NULL",
      .display = "($1 <=> $2)",
      .bind = bind_comparison,
      .lower_call = lower_comparison },
    { .names = "equal_null",
      .args = "any any",
      .flags = RELATION_FUNCTION_NEVER_NULL,
      .doc = "equality in which NULL equals NULL",
      .bind = bind_comparison,
      .lower_call = lower_comparison },
    { .names = "is distinct from",
      .args = "any any",
      .flags = OPERATOR | RELATION_FUNCTION_NEVER_NULL,
      .doc = "inequality in which NULL equals NULL",
      .display = "(NOT ($1 <=> $2))",
      .bind = bind_comparison,
      .lower_call = lower_comparison },
    { .names = "in",
      .args = "any any+",
      .flags = OPERATOR,
      .doc = "one of a list",
      .bind = bind_in,
      .lower_call = lower_in },
    { .names = "and",
      .args = "any any",
      .lower = "($1 AND $2)",
      .flags = OPERATOR,
      .doc = "logical and, three-valued",
      .display = "($1 AND $2)",
      .bind = bind_logic },
    { .names = "or",
      .args = "any any",
      .lower = "($1 OR $2)",
      .flags = OPERATOR,
      .doc = "logical or, three-valued",
      .display = "($1 OR $2)",
      .bind = bind_logic },
    { .names = "not",
      .args = "boolean",
      .result = "boolean",
      .lower = "(NOT $1)",
      .flags = OPERATOR,
      .doc = "logical not",
      .display = "(NOT $1)" },
    { .names = "is null",
      .args = "any",
      .result = "boolean",
      .lower = "($1 IS NULL)",
      .flags = OPERATOR | RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is NULL",
      .display = "($1 IS NULL)" },
    { .names = "is not null",
      .args = "any",
      .result = "boolean",
      .lower = "($1 IS NOT NULL)",
      .flags = OPERATOR | RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is not NULL",
      .display = "($1 IS NOT NULL)" },
    { .names = "is true",
      .args = "boolean",
      .result = "boolean",
      .lower = "($1 IS NOT DISTINCT FROM TRUE)",
      .flags = OPERATOR | RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is TRUE",
      .display = "($1 IS TRUE)" },
    { .names = "is false",
      .args = "boolean",
      .result = "boolean",
      .lower = "($1 IS NOT DISTINCT FROM FALSE)",
      .flags = OPERATOR | RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is FALSE",
      .display = "($1 IS FALSE)" },
    { .names = NULL },
  };
  return rows;
}

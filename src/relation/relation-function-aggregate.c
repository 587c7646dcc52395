/* Aggregate functions. All skip NULL but first, last and count(1). Sums of integers are BIGINT with an overflow error. */
#include "relation-function-private.h"
#include "relation-plan.h"

#include <string.h>

#define AGGREGATE RELATION_FUNCTION_AGGREGATE
#define DISTINCT  RELATION_FUNCTION_DISTINCT_ALLOWED
#define NEVER     RELATION_FUNCTION_NEVER_NULL

/* ---- count ---- */

static gboolean
lower_count (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_autoptr (GString) args = g_string_new (NULL);
  if (call->n_args == 1) {
    if (!relation_printer_expr (printer, call->args[0], args, error))
      return FALSE;
    return relation_printer_aggregate (printer, call, "count", args->str, out, error);
  }
  g_autoptr (GString) values = g_string_new (NULL);
  g_string_append (args, "CASE WHEN ");
  for (guint i = 0; i < call->n_args; i++) {
    g_autoptr (GString) text = g_string_new (NULL);
    if (!relation_printer_expr (printer, call->args[i], text, error))
      return FALSE;
    g_string_append_printf (args, "%s%s IS NOT NULL", i > 0 ? " AND " : "", text->str);
    g_string_append_printf (values, "%s%s", i > 0 ? ", " : "", text->str);
  }
  if (call->distinct)
    g_string_append_printf (args, " THEN row(%s) END", values->str);
  else
    g_string_append (args, " THEN 1 END");
  return relation_printer_aggregate (printer, call, "count", args->str, out, error);
}

/* ---- sum, avg ---- */

static gboolean
bind_sum (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME) {
    relation_call_set_type (call, base_type_ref (call->args[0]->type));
    call->data = kind == BASE_TYPE_INTERVAL_YEAR_MONTH ? "CAST({sum|$1} AS INTEGER)" : "CAST({sum|$1} AS BIGINT)";
    return TRUE;
  }
  return relation_call_type_error (call, 0, "NUMERIC or ANSI INTERVAL", error);
}

static gboolean
bind_sum_number (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  gboolean try_it = g_str_has_prefix (call->name, "try_");
  (void) error;
  if (kind == BASE_TYPE_DECIMAL) {
    relation_call_set_type (call, base_type_decimal (MIN (base_type_precision (call->args[0]->type) + 10, 38),
                                                     base_type_scale (call->args[0]->type)));
    call->data = try_it ? "$k{sluice_sum_decimal}({sum|$1}, true)" : "$k{sluice_sum_decimal}({sum|$1}, false)";
  } else if (base_type_is_integral (call->args[0]->type)) {
    relation_call_set_kind (call, BASE_TYPE_LONG);
    call->data = try_it ? "TRY_CAST({sum|$1} AS BIGINT)" : "sluice_sum_long({sum|$1})";
  } else {
    relation_call_set_kind (call, BASE_TYPE_DOUBLE);
    call->data = "{sum|CAST($1 AS DOUBLE)}";
  }
  return TRUE;
}

static gboolean
bind_avg (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  BaseTypeKind kind = base_type_kind (type);
  if (kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME) {
    relation_call_set_type (call, kind == BASE_TYPE_INTERVAL_YEAR_MONTH
                                      ? base_type_interval (BASE_INTERVAL_YEAR, BASE_INTERVAL_MONTH)
                                      : base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_SECOND));
    call->data = "$k{sluice_interval_scale}(CAST({sum|$1} AS BIGINT), {count|$1}, true, true)";
    return TRUE;
  }
  if (kind == BASE_TYPE_DECIMAL) {
    relation_call_set_type (call, relation_coerce_adjust_decimal ((gint) base_type_precision (type) + 4,
                                                                  (gint) base_type_scale (type) + 4));
    call->data = "$k{sluice_try_decimal_divide}({sum|$1}, {count|$1})";
    return TRUE;
  }
  if (!relation_call_want (call, 0, BASE_TYPE_DOUBLE, "NUMERIC or ANSI INTERVAL", error))
    return FALSE;
  relation_call_set_kind (call, BASE_TYPE_DOUBLE);
  call->data = "{avg|$1}";
  return TRUE;
}

/* ---- extremes ---- */

static gboolean
bind_extreme (RelationCall *call, GError **error)
{
  guint key = call->n_args - 1;
  if (!base_type_is_orderable (call->args[key]->type)) {
    g_autofree char *type = base_type_text (call->args[key]->type);
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                "`%s` does not support ordering on the type %s", call->name, type);
  }
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

static gboolean
lower_extreme (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  gboolean largest = strstr (call->function->names, "max") != NULL;
  const RelationExpr *by = call->args[call->n_args - 1];
  g_autoptr (GString) value = g_string_new (NULL);
  g_autoptr (GString) key = g_string_new (NULL);
  if (!relation_printer_expr (printer, call->args[0], value, error) || !relation_printer_expr (printer, by, key, error))
    return FALSE;
  if (call->n_args == 1 && !base_type_is_nested (by->type))
    return relation_printer_aggregate (printer, call, largest ? "max" : "min", value->str, out, error);
  /* A NULL value counts, a NULL key does not: DuckDB's arg_max skips both, so the value goes in a struct. */
  g_autofree char *order = relation_order_key (key->str, by->type);
  g_autofree char *args =
      g_strdup_printf ("{'v': %s}, %s", value->str, base_type_is_nested (by->type) ? order : key->str);
  g_string_append (out, "struct_extract(");
  if (!relation_printer_aggregate (printer, call, largest ? "arg_max" : "arg_min", args, out, error))
    return FALSE;
  g_string_append (out, ", 'v')");
  return TRUE;
}

/* ---- first, last ---- */

static gboolean
bind_first (RelationCall *call, GError **error)
{
  gboolean skip_nulls = call->ignore_nulls;
  if (call->n_args == 2) {
    const RelationLiteral *literal = relation_call_constant (call, 1, error);
    if (literal == NULL)
      return FALSE;
    skip_nulls |= !literal->is_null && literal->integer != 0;
    call->n_args = 1;
    call->display = relation_binder_printf (call->binder, "%s(%s)", call->name, call->args[0]->display);
  }
  gboolean last = strncmp (call->name, "last", 4) == 0;
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  if (call->is_window)
    call->data = last ? (skip_nulls ? "{last_value|$1 IGNORE NULLS}" : "{last_value|$1}")
                      : (skip_nulls ? "{first_value|$1 IGNORE NULLS}" : "{first_value|$1}");
  else if (last)
    call->data =
        skip_nulls ? "list_extract(list_filter({list|$1}, lambda sluice_x: sluice_x IS NOT NULL), -1)" : "{last|$1}";
  else
    call->data = skip_nulls ? "{any_value|$1}" : "{first|$1}";
  call->ignore_nulls = FALSE;
  return TRUE;
}

/* ---- percentiles ---- */

static gboolean
bind_percentile (RelationCall *call, GError **error)
{
  gboolean disc = strcmp (call->name, "percentile_disc") == 0;
  const char *function = disc ? "quantile_disc" : "quantile_cont";
  if (call->n_order == 1) { /* percentile_cont(p) WITHIN GROUP (ORDER BY x) */
    RelationExpr **args = relation_binder_alloc (call->binder, 2 * sizeof (RelationExpr *));
    args[0] = call->order[0].expr;
    args[1] = call->args[0];
    gboolean descending = call->order[0].descending;
    call->args = args;
    call->n_args = 2;
    call->n_order = 0;
    if (descending && !disc) {
      const RelationLiteral *p = relation_call_constant (call, 1, error);
      if (p == NULL)
        return FALSE;
      g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_DOUBLE);
      RelationExpr *fraction[2] = { relation_expr_new_int (call->binder, 1),
                                    relation_expr_new_cast (
                                        call->binder, call->args[1],
                                        relation_binder_keep_type (call->binder, base_type_ref (number))) };
      call->args[1] = relation_expr_new_call (call->binder, "-", fraction, 2, error);
      if (call->args[1] == NULL)
        return FALSE;
    } else if (descending)
      return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                  "`%s` in descending order is not supported", call->name);
  }
  if (call->n_args != 2)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "`%s` with a frequency is not supported",
                                call->name);
  if (!base_type_is_numeric (call->args[0]->type) && !relation_call_want (call, 0, BASE_TYPE_DOUBLE, "NUMERIC", error))
    return FALSE;
  relation_call_cast_kind (call, 0, BASE_TYPE_DOUBLE);
  if (!call->args[1]->foldable && relation_call_constant (call, 1, error) == NULL)
    return FALSE;
  gboolean several = relation_arg_kind (call, 1) == BASE_TYPE_ARRAY;
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_DOUBLE);
  if (several) {
    relation_call_cast (call, 1, base_type_array (number, FALSE));
    relation_call_set_type (call, base_type_array (number, FALSE));
  } else {
    if (!relation_call_want (call, 1, BASE_TYPE_DOUBLE, "DOUBLE", error))
      return FALSE;
    const RelationLiteral *p = relation_call_constant (call, 1, error);
    if (p == NULL)
      return FALSE;
    if (p->is_null || p->floating < 0 || p->floating > 1)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_VALUE_OUT_OF_RANGE,
                                  "the percentage of `%s` must be between 0 and 1", call->name);
    relation_call_set_kind (call, BASE_TYPE_DOUBLE);
  }
  if (strcmp (call->name, "percentile") == 0)
    call->display =
        relation_binder_printf (call->binder, "percentile(%s, %s, 1)", call->args[0]->display, call->args[1]->display);
  call->data = relation_binder_printf (call->binder, "{%s|$1, $2}", function);
  return TRUE;
}

static gboolean
bind_list_type (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  relation_call_set_type (call, base_type_array (call->args[0]->type, FALSE));
  return TRUE;
}

static gboolean
bind_set_type (RelationCall *call, GError **error)
{
  if (!base_type_is_orderable (call->args[0]->type))
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNSUPPORTED_INPUT_TYPE,
                                "`collect_set` does not take maps and variants");
  return bind_list_type (call, error);
}

static gboolean
bind_same (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

static gboolean
bind_bits (RelationCall *call, GError **error)
{
  if (!base_type_is_integral (call->args[0]->type))
    return relation_call_type_error (call, 0, "INTEGRAL", error);
  return bind_same (call, error);
}

static gboolean
bind_approx_count (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  call->n_args = 1;
  call->display = relation_binder_printf (call->binder, "%s(%s)", call->name, call->args[0]->display);
  return TRUE;
}

static gboolean
bind_nth (RelationCall *call, GError **error)
{
  const RelationLiteral *n = relation_call_constant (call, 1, error);
  if (n == NULL)
    return FALSE;
  if (n->is_null || n->integer < 1)
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_VALUE_OUT_OF_RANGE,
                                "the number of `nth_value` must be above 0");
  return TRUE;
}

#define DOUBLES(function, duck, text)                                                                                  \
  {                                                                                                                    \
    .names = function, .args = "double", .result = "double", .lower = "{" duck "|$1}", .flags = AGGREGATE | DISTINCT,  \
    .doc = text                                                                                                        \
  }
#define PAIRS(function, text)                                                                                          \
  {                                                                                                                    \
    .names = function, .args = "double double", .result = "double", .lower = "{" function "|$1, $2}",                  \
    .flags = AGGREGATE, .doc = text                                                                                    \
  }

/* DuckDB gives NaN where nothing varies, Spark NULL. */
#define NAN_PAIRS(function, text)                                                                                      \
  {                                                                                                                    \
    .names = function, .args = "double double", .result = "double",                                                    \
    .lower = "nullif({" function "|$1, $2}, 'NaN'::DOUBLE)", .flags = AGGREGATE, .doc = text                           \
  }

const RelationFunction *
relation_function_rows_aggregate (void)
{
  static const RelationFunction rows[] = {
    { .names = "count",
      .args = "any+",
      .result = "long",
      .flags = AGGREGATE | DISTINCT | NEVER,
      .doc = "number of rows whose arguments are not NULL",
      .lower_call = lower_count },
    { .names = "count_if",
      .args = "boolean",
      .result = "long",
      .lower = "{count|CASE WHEN $1 THEN 1 END}",
      .flags = AGGREGATE | NEVER,
      .doc = "number of rows for which the condition is true" },
    { .names = "sum try_sum",
      .args = "numeric",
      .flags = AGGREGATE | DISTINCT,
      .doc = "sum; try_sum gives NULL on overflow",
      .bind = bind_sum_number,
      .lower_call = relation_lower_data },
    { .names = "sum try_sum",
      .args = "any",
      .flags = AGGREGATE | DISTINCT,
      .doc = "sum of intervals",
      .bind = bind_sum,
      .lower_call = relation_lower_data },
    { .names = "avg mean try_avg",
      .args = "any",
      .flags = AGGREGATE | DISTINCT,
      .doc = "mean",
      .bind = bind_avg,
      .lower_call = relation_lower_data },
    { .names = "min",
      .args = "any",
      .flags = AGGREGATE | DISTINCT,
      .doc = "smallest value",
      .bind = bind_extreme,
      .lower_call = lower_extreme },
    { .names = "max",
      .args = "any",
      .flags = AGGREGATE | DISTINCT,
      .doc = "largest value",
      .bind = bind_extreme,
      .lower_call = lower_extreme },
    { .names = "min_by",
      .args = "any any",
      .flags = AGGREGATE,
      .doc = "the first argument where the second is smallest",
      .bind = bind_extreme,
      .lower_call = lower_extreme },
    { .names = "max_by",
      .args = "any any",
      .flags = AGGREGATE,
      .doc = "the first argument where the second is largest",
      .bind = bind_extreme,
      .lower_call = lower_extreme },
    { .names = "first first_value any_value",
      .args = "any boolean?",
      .flags = AGGREGATE | RELATION_FUNCTION_IGNORE_NULLS,
      .doc = "value of the first row",
      .bind = bind_first,
      .lower_call = relation_lower_data },
    { .names = "last last_value",
      .args = "any boolean?",
      .flags = AGGREGATE | RELATION_FUNCTION_IGNORE_NULLS,
      .doc = "value of the last row",
      .bind = bind_first,
      .lower_call = relation_lower_data },
    { .names = "collect_list array_agg",
      .args = "any",
      .lower = "list_filter(coalesce({list|$1}, []), lambda sluice_x: sluice_x IS NOT NULL)",
      .flags = AGGREGATE | DISTINCT | NEVER,
      .doc = "array of the values that are not NULL",
      .bind = bind_list_type },
    { .names = "collect_set",
      .args = "any",
      .lower = "list_distinct(coalesce({list|$1}, []))",
      .flags = AGGREGATE | DISTINCT | NEVER,
      .doc = "array of the different values that are not NULL",
      .bind = bind_set_type },
    { .names = "approx_count_distinct",
      .args = "any double?",
      .result = "long",
      .lower = "{count|DISTINCT $1}",
      .flags = AGGREGATE | NEVER,
      .doc = "number of different values (exact here)",
      .bind = bind_approx_count },
    { .names = "bool_and every",
      .args = "boolean",
      .result = "boolean",
      .lower = "{bool_and|$1}",
      .flags = AGGREGATE | DISTINCT,
      .doc = "whether all values are true" },
    { .names = "bool_or some any",
      .args = "boolean",
      .result = "boolean",
      .lower = "{bool_or|$1}",
      .flags = AGGREGATE | DISTINCT,
      .doc = "whether any value is true" },
    { .names = "bit_and",
      .args = "any",
      .lower = "{bit_and|$1}",
      .flags = AGGREGATE | DISTINCT,
      .doc = "bitwise and of all values",
      .bind = bind_bits },
    { .names = "bit_or",
      .args = "any",
      .lower = "{bit_or|$1}",
      .flags = AGGREGATE | DISTINCT,
      .doc = "bitwise or of all values",
      .bind = bind_bits },
    { .names = "bit_xor",
      .args = "any",
      .lower = "{bit_xor|$1}",
      .flags = AGGREGATE | DISTINCT,
      .doc = "bitwise exclusive or of all values",
      .bind = bind_bits },
    DOUBLES ("stddev stddev_samp std", "stddev_samp", "standard deviation of a sample"),
    DOUBLES ("stddev_pop", "stddev_pop", "standard deviation of a population"),
    DOUBLES ("variance var_samp", "var_samp", "variance of a sample"),
    DOUBLES ("var_pop", "var_pop", "variance of a population"),
    NAN_PAIRS ("corr", "correlation"),
    PAIRS ("covar_pop", "covariance of a population"),
    PAIRS ("covar_samp", "covariance of a sample"),
    PAIRS ("regr_avgx", "mean of x where both are not NULL"),
    PAIRS ("regr_avgy", "mean of y where both are not NULL"),
    NAN_PAIRS ("regr_slope", "slope of the regression line"),
    PAIRS ("regr_intercept", "intercept of the regression line"),
    PAIRS ("regr_r2", "coefficient of determination"),
    PAIRS ("regr_sxx", "sum of squares of x"),
    PAIRS ("regr_sxy", "sum of products"),
    PAIRS ("regr_syy", "sum of squares of y"),
    { .names = "regr_count",
      .args = "double double",
      .result = "long",
      .lower = "CAST({regr_count|$1, $2} AS BIGINT)",
      .flags = AGGREGATE | NEVER,
      .doc = "number of pairs that are not NULL" },
    { .names = "kurtosis",
      .args = "double",
      .result = "double",
      .lower = "nullif({kurtosis_pop|$1}, 'NaN'::DOUBLE)",
      .flags = AGGREGATE | DISTINCT,
      .doc = "excess kurtosis of a population" },
    { .names = "skewness",
      .args = "double",
      .result = "double",
      /* DuckDB's is that of a sample and wants three values. */
      .lower = "(CASE WHEN {count|$1} = 2 THEN CASE WHEN {max|$1} > {min|$1} THEN 0.0::DOUBLE END ELSE "
               "nullif({skewness|$1}, 'NaN'::DOUBLE) * ({count|$1} - 2) / sqrt({count|$1} * ({count|$1} - "
               "1.0::DOUBLE)) END)",
      .flags = AGGREGATE | DISTINCT,
      .doc = "skewness of a population" },
    { .names = "median",
      .args = "double",
      .result = "double",
      .lower = "{quantile_cont|$1, 0.5}",
      .flags = AGGREGATE | DISTINCT,
      .doc = "median, interpolated" },
    { .names = "percentile",
      .args = "any any",
      .flags = AGGREGATE | DISTINCT,
      .doc = "exact percentile, interpolated",
      .bind = bind_percentile,
      .lower_call = relation_lower_data },
    { .names = "percentile_cont percentile_disc",
      .args = "any",
      .flags = AGGREGATE | RELATION_FUNCTION_ORDERED,
      .doc = "exact percentile WITHIN GROUP (ORDER BY x), interpolated or a value of the set",
      .bind = bind_percentile,
      .lower_call = relation_lower_data },
    { .names = "mode",
      .args = "any",
      .lower = "{mode|$1}",
      .flags = AGGREGATE,
      .doc = "the most frequent value",
      .bind = bind_same },
    { .names = "string_agg listagg",
      .args = "string string=''",
      .result = "string",
      .lower = "{string_agg|$1, coalesce($2, '')}",
      .flags = AGGREGATE | DISTINCT | RELATION_FUNCTION_ORDERED,
      .doc = "the values in one string, with a delimiter" },
    { .names = NULL },
  };
  return rows;
}

/* ---- window functions ---- */

#define WINDOW RELATION_FUNCTION_WINDOW

const RelationFunction *
relation_function_rows_window (void)
{
  static const RelationFunction rows[] = {
    { .names = "row_number",
      .args = "",
      .result = "int",
      .lower = "CAST({row_number|} AS INTEGER)",
      .flags = WINDOW | NEVER,
      .doc = "number of the row in its partition" },
    { .names = "rank",
      .args = "",
      .result = "int",
      .lower = "CAST({rank|} AS INTEGER)",
      .flags = WINDOW | NEVER,
      .doc = "rank with gaps",
      .display = "RANK()" },
    { .names = "dense_rank",
      .args = "",
      .result = "int",
      .lower = "CAST({dense_rank|} AS INTEGER)",
      .flags = WINDOW | NEVER,
      .doc = "rank without gaps",
      .display = "DENSE_RANK()" },
    { .names = "percent_rank",
      .args = "",
      .result = "double",
      .lower = "{percent_rank|}",
      .flags = WINDOW | NEVER,
      .doc = "relative rank from 0 to 1",
      .display = "PERCENT_RANK()" },
    { .names = "cume_dist",
      .args = "",
      .result = "double",
      .lower = "{cume_dist|}",
      .flags = WINDOW | NEVER,
      .doc = "share of rows up to this one" },
    { .names = "ntile",
      .args = "int=1",
      .result = "int",
      .lower = "CAST({ntile|$1} AS INTEGER)",
      .flags = WINDOW | NEVER,
      .doc = "number of the bucket of n" },
    { .names = "lag",
      .args = "T int=1 T=null",
      .result = "T",
      .lower = "{lag|$1, $2, $3}",
      .flags = WINDOW | RELATION_FUNCTION_IGNORE_NULLS,
      .doc = "value of an earlier row" },
    { .names = "lead",
      .args = "T int=1 T=null",
      .result = "T",
      .lower = "{lead|$1, $2, $3}",
      .flags = WINDOW | RELATION_FUNCTION_IGNORE_NULLS,
      .doc = "value of a later row" },
    { .names = "nth_value",
      .args = "any int!",
      .result = "$1",
      .lower = "{nth_value|$1, $2}",
      .flags = WINDOW | RELATION_FUNCTION_IGNORE_NULLS,
      .doc = "value of the n-th row of the frame",
      .bind = bind_nth },
    { .names = NULL },
  };
  return rows;
}

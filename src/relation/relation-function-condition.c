/* Choosing values: CASE, coalesce and their kin, extremes, tests for NULL and NaN, errors on purpose. */
#include "relation-function-private.h"

#include <string.h>

/* Casts the arguments @indexes to their common type, which becomes the call's. */
static gboolean
coerce_values (RelationCall *call, const guint *indexes, guint n, GError **error)
{
  g_autofree BaseType **types = g_new (BaseType *, n);
  for (guint i = 0; i < n; i++)
    types[i] = call->args[indexes[i]]->type;
  g_autoptr (BaseType) common = relation_coerce_common_many (types, n);
  if (common == NULL) {
    g_autofree char *a = base_type_text (types[0]);
    g_autofree char *b = base_type_text (types[n - 1]);
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_DATA_DIFF_TYPES,
                                "the values of `%s` have no common type: %s … %s", call->name, a, b);
  }
  for (guint i = 0; i < n; i++)
    relation_call_cast (call, indexes[i], base_type_ref (common));
  relation_call_set_type (call, g_steal_pointer (&common));
  return TRUE;
}

static gboolean
bind_case (RelationCall *call, GError **error)
{
  guint n_pairs = call->n_args / 2;
  gboolean has_else = call->n_args % 2 != 0;
  g_autofree guint *values = g_new (guint, n_pairs + 1);
  guint n_values = 0;
  g_autoptr (GString) display = g_string_new ("CASE");
  for (guint i = 0; i < n_pairs; i++) {
    BaseTypeKind kind = relation_arg_kind (call, 2 * i);
    g_string_append_printf (display, " WHEN %s THEN %s", call->args[2 * i]->display, call->args[2 * i + 1]->display);
    if (kind == BASE_TYPE_VOID || kind == BASE_TYPE_STRING)
      relation_call_cast_kind (call, 2 * i, BASE_TYPE_BOOLEAN);
    else if (kind != BASE_TYPE_BOOLEAN)
      return relation_call_type_error (call, 2 * i, "BOOLEAN", error);
    values[n_values++] = 2 * i + 1;
  }
  if (has_else) {
    values[n_values++] = call->n_args - 1;
    g_string_append_printf (display, " ELSE %s", call->args[call->n_args - 1]->display);
  }
  g_string_append (display, " END");
  call->display = relation_binder_printf (call->binder, "%s", display->str);
  call->nullable = !has_else;
  for (guint i = 0; i < n_values; i++)
    call->nullable |= call->args[values[i]]->nullable;
  return coerce_values (call, values, n_values, error);
}

static gboolean
lower_case (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_string_append (out, "(CASE");
  for (guint i = 0; i < call->n_args; i++) {
    gboolean is_else = i == call->n_args - 1 && i % 2 == 0;
    g_string_append (out, is_else ? " ELSE " : i % 2 == 0 ? " WHEN " : " THEN ");
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
  }
  g_string_append (out, " END)");
  return TRUE;
}

static gboolean
bind_coalesce (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  call->nullable = TRUE;
  for (guint i = 0; i < call->n_args; i++)
    call->nullable &= call->args[i]->nullable;
  return TRUE;
}

static gboolean
bind_if (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  call->nullable = call->args[1]->nullable || call->args[2]->nullable;
  return TRUE;
}

static gboolean
bind_nullif (RelationCall *call, GError **error)
{
  RelationExpr *pair[2] = { call->args[0], call->args[1] };
  RelationExpr *equal = relation_expr_new_call (call->binder, "=", pair, 2, error);
  if (equal == NULL)
    return FALSE;
  RelationExpr *args[3] = { equal, relation_expr_new_null (call->binder, call->args[0]->type), call->args[0] };
  call->replacement = relation_expr_new_call (call->binder, "if", args, 3, error);
  if (call->replacement == NULL)
    return FALSE;
  call->replacement->display = call->display;
  return TRUE;
}

static gboolean
bind_between (RelationCall *call, GError **error)
{
  RelationExpr *low[2] = { call->args[0], call->args[1] };
  RelationExpr *high[2] = { call->args[0], call->args[2] };
  RelationExpr *both[2] = { relation_expr_new_call (call->binder, ">=", low, 2, error), NULL };
  if (both[0] == NULL)
    return FALSE;
  both[1] = relation_expr_new_call (call->binder, "<=", high, 2, error);
  if (both[1] == NULL)
    return FALSE;
  call->replacement = relation_expr_new_call (call->binder, "and", both, 2, error);
  return call->replacement != NULL;
}

/* Arguments of greatest and least must have one type but for numbers and times: a string is not taken along. */
static gboolean
bind_extreme (RelationCall *call, GError **error)
{
  g_autofree guint *indexes = g_new (guint, call->n_args);
  gboolean has_string = FALSE, has_other = FALSE;
  for (guint i = 0; i < call->n_args; i++) {
    BaseTypeKind kind = relation_arg_kind (call, i);
    indexes[i] = i;
    has_string |= kind == BASE_TYPE_STRING;
    has_other |= kind != BASE_TYPE_STRING && kind != BASE_TYPE_VOID;
    if (base_type_is_nested (call->args[i]->type))
      return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                  "`%s` of nested values is not supported", call->name);
  }
  if (has_string && has_other)
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_DATA_DIFF_TYPES,
                                "the arguments of `%s` must have one type", call->name);
  if (!coerce_values (call, indexes, call->n_args, error))
    return FALSE;
  if (!base_type_is_orderable (call->type))
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                                "`%s` does not support this type", call->name);
  return bind_coalesce (call, error);
}

static gboolean
bind_zero (RelationCall *call, GError **error)
{
  gboolean to_null = strcmp (call->name, "nullifzero") == 0;
  RelationExpr *args[2] = { call->args[0], relation_expr_new_int (call->binder, 0) };
  call->replacement = relation_expr_new_call (call->binder, to_null ? "nullif" : "coalesce", args, 2, error);
  if (call->replacement == NULL)
    return FALSE;
  call->replacement->display = call->display;
  return TRUE;
}

/* decode(value, search, result, …, [default]): NULL finds NULL. */
static gboolean
bind_decode_case (RelationCall *call, GError **error)
{
  if (call->n_args < 3)
    return relation_call_error (call, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                                "`decode` requires at least 3 arguments here");
  guint n = 0;
  RelationExpr **args = relation_binder_alloc (call->binder, sizeof (RelationExpr *) * (call->n_args + 1));
  guint i = 1;
  for (; i + 1 < call->n_args; i += 2) {
    RelationExpr *pair[2] = { call->args[0], call->args[i] };
    args[n] = relation_expr_new_call (call->binder, "<=>", pair, 2, error);
    if (args[n++] == NULL)
      return FALSE;
    args[n++] = call->args[i + 1];
  }
  if (i < call->n_args)
    args[n++] = call->args[i];
  call->replacement = relation_expr_new_call (call->binder, "case", args, n, error);
  if (call->replacement == NULL)
    return FALSE;
  if (relation_arg_kind (call, 0) == BASE_TYPE_STRING && base_type_is_integral (call->replacement->type))
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "`decode` of a string with whole numbers as results is not supported; use CASE");
  call->replacement->display = call->display;
  return TRUE;
}

static gboolean
bind_assert (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  if (call->n_args == 1) {
    RelationExpr **args = relation_binder_alloc (call->binder, 2 * sizeof (RelationExpr *));
    args[0] = call->args[0];
    args[1] = relation_expr_new_string (
        call->binder, relation_binder_printf (call->binder, "'%s' is not true!", call->args[0]->display));
    call->args = args;
    call->n_args = 2;
  }
  return TRUE;
}

const RelationFunction *
relation_function_rows_condition (void)
{
  static const RelationFunction rows[] = {
    { .names = "case",
      .args = "any+",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "the value beside the first true condition",
      .bind = bind_case,
      .lower_call = lower_case },
    { .names = "coalesce",
      .args = "T+",
      .result = "T",
      .lower = "coalesce($*)",
      .doc = "the first argument that is not NULL",
      .bind = bind_coalesce },
    { .names = "nvl ifnull",
      .args = "T T",
      .result = "T",
      .lower = "coalesce($1, $2)",
      .doc = "the first argument, or the second when it is NULL",
      .bind = bind_coalesce },
    { .names = "nvl2",
      .args = "any T T",
      .result = "T",
      .lower = "(CASE WHEN $1 IS NOT NULL THEN $2 ELSE $3 END)",
      .doc = "the second argument when the first is not NULL, else the third",
      .bind = bind_if },
    { .names = "if",
      .args = "boolean T T",
      .result = "T",
      .lower = "(CASE WHEN $1 THEN $2 ELSE $3 END)",
      .doc = "the second argument when the first is true, else the third",
      .display = "(IF($1, $2, $3))",
      .bind = bind_if },
    { .names = "nullif", .args = "any any", .doc = "NULL when both are equal, else the first", .bind = bind_nullif },
    { .names = "between",
      .args = "any any any",
      .doc = "whether the first lies between the others",
      .bind = bind_between },
    { .names = "greatest",
      .args = "any any+",
      .lower = "greatest($*)",
      .doc = "the largest argument that is not NULL",
      .bind = bind_extreme },
    { .names = "least",
      .args = "any any+",
      .lower = "least($*)",
      .doc = "the smallest argument that is not NULL",
      .bind = bind_extreme },
    { .names = "zeroifnull", .args = "any", .doc = "0 for NULL", .bind = bind_zero },
    { .names = "nullifzero", .args = "any", .doc = "NULL for 0", .bind = bind_zero },
    { .names = "isnull",
      .args = "any",
      .result = "boolean",
      .lower = "($1 IS NULL)",
      .flags = RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is NULL",
      .display = "($1 IS NULL)" },
    { .names = "isnotnull",
      .args = "any",
      .result = "boolean",
      .lower = "($1 IS NOT NULL)",
      .flags = RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is not NULL",
      .display = "($1 IS NOT NULL)" },
    { .names = "isnan",
      .args = "double|float",
      .result = "boolean",
      .lower = "coalesce(isnan($1), false)",
      .flags = RELATION_FUNCTION_NEVER_NULL,
      .doc = "whether the value is NaN" },
    { .names = "nanvl",
      .args = "double double",
      .result = "double",
      .lower = "(CASE WHEN isnan($1) THEN $2 ELSE $1 END)",
      .doc = "the first argument, or the second when it is NaN" },
    { .names = "decode",
      .args = "any any any+",
      .doc = "the result beside the first search that is the value",
      .bind = bind_decode_case },
    { .names = "raise_error",
      .args = "string",
      .result = "void",
      .lower = "sluice_raise_error($1)",
      .flags = RELATION_FUNCTION_NULLABLE | RELATION_FUNCTION_VOLATILE,
      .doc = "fails with the message" },
    { .names = "assert_true",
      .args = "boolean string?",
      .result = "void",
      .lower = "sluice_assert_true($1, $2)",
      .flags = RELATION_FUNCTION_NULLABLE | RELATION_FUNCTION_VOLATILE,
      .doc = "NULL when the condition is true, else fails with the message",
      .bind = bind_assert },
    { .names = NULL },
  };
  return rows;
}

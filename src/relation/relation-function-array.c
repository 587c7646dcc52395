/* Functions of arrays, with and without lambdas, and item access. */
#include "base-text.h"
#include "relation-function-private.h"

#include <string.h>

#define NULLABLE RELATION_FUNCTION_NULLABLE
#define NEVER    RELATION_FUNCTION_NEVER_NULL

/* ---- types ---- */

/* Argument @index must be an array; NULL is refused as Spark refuses it. */
static gboolean
need_array (RelationCall *call, guint index, GError **error)
{
  return relation_arg_kind (call, index) == BASE_TYPE_ARRAY || relation_call_type_error (call, index, "ARRAY", error);
}

static gboolean
diff_error (RelationCall *call, int code, GError **error)
{
  g_autofree char *a = base_type_text (call->args[0]->type);
  g_autofree char *b = base_type_text (call->args[call->n_args - 1]->type);
  return relation_call_error (call, error, code, "the arguments of `%s` do not go together: %s and %s", call->name, a,
                              b);
}

/* Numbers and dates widen, strings are not taken along. */
static BaseType *
tightest (const BaseType *a, const BaseType *b)
{
  BaseTypeKind x = base_type_kind (a), y = base_type_kind (b);
  if ((x == BASE_TYPE_STRING) != (y == BASE_TYPE_STRING) && x != BASE_TYPE_VOID && y != BASE_TYPE_VOID)
    return NULL;
  return relation_coerce_common (a, b);
}

/* (array<T>, T): both to one element type. */
static gboolean
coerce_element (RelationCall *call, guint array, guint element, GError **error)
{
  if (relation_arg_kind (call, array) != BASE_TYPE_ARRAY)
    return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_ARRAY_FUNCTION_DIFF_TYPES, error);
  const BaseType *type = call->args[array]->type;
  g_autoptr (BaseType) common = tightest (base_type_element (type), call->args[element]->type);
  if (common == NULL)
    return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_ARRAY_FUNCTION_DIFF_TYPES, error);
  relation_call_cast (call, array, base_type_array (common, base_type_contains_null (type)));
  relation_call_cast (call, element, base_type_ref (common));
  return TRUE;
}

static gboolean
check_orderable (RelationCall *call, const BaseType *type, GError **error)
{
  return base_type_is_orderable (type) ||
         relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ORDERING_TYPE,
                              "`%s` needs elements that can be compared", call->name);
}

static void
set_array (RelationCall *call, const BaseType *element, gboolean contains_null)
{
  relation_call_set_type (call, base_type_array ((BaseType *) element, contains_null));
}

/* ---- array(…) ---- */

static gboolean
bind_array (RelationCall *call, GError **error)
{
  g_autoptr (BaseType) element = NULL;
  gboolean contains_null = FALSE;
  if (call->n_args == 0)
    element = base_type_simple (BASE_TYPE_VOID);
  else {
    g_autofree BaseType **types = g_new (BaseType *, call->n_args);
    for (guint i = 0; i < call->n_args; i++) {
      types[i] = call->args[i]->type;
      contains_null |= call->args[i]->nullable;
    }
    element = relation_coerce_common_many (types, call->n_args);
    if (element == NULL)
      return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_DATA_DIFF_TYPES, error);
    for (guint i = 0; i < call->n_args; i++)
      relation_call_cast (call, i, base_type_ref (element));
  }
  set_array (call, element, contains_null);
  return TRUE;
}

/* ---- items ---- */

static gboolean
bind_item (RelationCall *call, GError **error)
{
  const char *name = call->function->names;
  gboolean try_it = strcmp (name, "try_element_at") == 0, brackets = strcmp (name, "[]") == 0;
  const BaseType *type = call->args[0]->type;
  call->nullable = TRUE;
  if (base_type_kind (type) == BASE_TYPE_MAP && strcmp (name, "get") != 0) {
    g_autoptr (BaseType) common = relation_coerce_common (base_type_key (type), call->args[1]->type);
    if (common == NULL)
      return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_MAP_FUNCTION_DIFF_TYPES, error);
    relation_call_cast (call, 0, base_type_map (common, base_type_value (type), base_type_contains_null (type)));
    relation_call_cast (call, 1, g_steal_pointer (&common));
    relation_call_set_type (call, base_type_ref (base_type_value (type)));
    call->data = "$k{sluice_map_value}($1, $2)";
    return TRUE;
  }
  if (base_type_kind (type) == BASE_TYPE_STRUCT && brackets)
    return relation_call_error (call, error, SLUICE_ERROR_INVALID_EXTRACT_FIELD_TYPE,
                                "Field name should be a non-null string literal, but it's \"%s\".",
                                call->args[1]->display);
  if (!need_array (call, 0, error))
    return FALSE;
  BaseTypeKind index = relation_arg_kind (call, 1);
  if (index == BASE_TYPE_VOID)
    relation_call_cast_kind (call, 1, BASE_TYPE_INTEGER);
  else if (!base_type_is_integral (call->args[1]->type) &&
           !relation_call_want (call, 1, BASE_TYPE_INTEGER, "INT", error))
    return FALSE;
  relation_call_set_type (call, base_type_ref (base_type_element (type)));
  call->data = brackets                    ? "$k{sluice_item}($1, CAST($2 AS BIGINT), 1)"
               : strcmp (name, "get") == 0 ? "$k{sluice_item}($1, CAST($2 AS BIGINT), 2)"
               : try_it                    ? "$k{sluice_item}($1, CAST($2 AS BIGINT), 3)"
                                           : "$k{sluice_item}($1, CAST($2 AS BIGINT), 0)";
  return TRUE;
}

/* array.field: (array of structs, name) */
static gboolean
bind_array_field (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  const RelationLiteral *name = relation_call_constant (call, 1, error);
  if (name == NULL)
    return FALSE;
  const BaseType *element = base_type_kind (type) == BASE_TYPE_ARRAY ? base_type_element (type) : NULL;
  if (element == NULL || base_type_kind (element) != BASE_TYPE_STRUCT)
    return relation_call_type_error (call, 0, "an array of structs", error);
  int index = base_type_field_index (element, name->text, TRUE);
  if (index < 0)
    return relation_call_error (call, error,
                                index == -2 ? SLUICE_ERROR_AMBIGUOUS_REFERENCE_TO_FIELDS : SLUICE_ERROR_FIELD_NOT_FOUND,
                                "no single field `%s` in the structs of the array", name->text);
  const BaseField *field = base_type_field (element, (guint) index);
  set_array (call, field->type, field->nullable || base_type_contains_null (type));
  call->data = relation_binder_printf (call->binder, "%s", field->name);
  return TRUE;
}

static gboolean
lower_array_field (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_string_append (out, "list_transform(");
  if (!relation_printer_expr (printer, call->args[0], out, error))
    return FALSE;
  g_string_append (out, ", lambda sluice_x: struct_extract(sluice_x, ");
  base_text_append_sql_literal (out, call->data);
  g_string_append (out, "))");
  return TRUE;
}

/* ---- one array and one element ---- */

static gboolean
bind_contains (RelationCall *call, GError **error)
{
  gboolean is_contains = strcmp (call->name, "array_contains") == 0;
  if (relation_arg_kind (call, 0) == BASE_TYPE_VOID || (is_contains && relation_arg_kind (call, 1) == BASE_TYPE_VOID))
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_NULL_TYPE, "`%s` does not take NULL here",
                                call->name);
  if (!need_array (call, 0, error) || !coerce_element (call, 0, 1, error) ||
      !check_orderable (call, call->args[1]->type, error))
    return FALSE;
  call->nullable |= is_contains && base_type_contains_null (call->args[0]->type);
  return TRUE;
}

static gboolean
bind_remove (RelationCall *call, GError **error)
{
  if (!coerce_element (call, 0, 1, error) || !check_orderable (call, call->args[1]->type, error))
    return FALSE;
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

static gboolean
bind_append (RelationCall *call, GError **error)
{
  if (!need_array (call, 0, error) || !coerce_element (call, 0, 1, error))
    return FALSE;
  const BaseType *type = call->args[0]->type;
  set_array (call, base_type_element (type), base_type_contains_null (type) || call->args[1]->nullable);
  call->nullable = call->args[0]->nullable;
  return TRUE;
}

static gboolean
bind_insert (RelationCall *call, GError **error)
{
  if (!need_array (call, 0, error))
    return FALSE;
  BaseTypeKind position = relation_arg_kind (call, 1);
  if (position != BASE_TYPE_INTEGER && position != BASE_TYPE_SHORT && position != BASE_TYPE_BYTE)
    return relation_call_type_error (call, 1, "INT", error);
  if (!coerce_element (call, 0, 2, error))
    return FALSE;
  relation_call_cast_kind (call, 1, BASE_TYPE_INTEGER);
  set_array (call, base_type_element (call->args[0]->type), TRUE);
  call->nullable = call->args[0]->nullable || call->args[1]->nullable;
  return TRUE;
}

static gboolean
bind_repeat (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  set_array (call, call->args[0]->type, call->args[0]->nullable);
  call->nullable = call->args[1]->nullable;
  return TRUE;
}

/* ---- two arrays ---- */

static gboolean
bind_pair (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) != BASE_TYPE_ARRAY || relation_arg_kind (call, 1) != BASE_TYPE_ARRAY)
    return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_BINARY_ARRAY_DIFF_TYPES, error);
  const BaseType *a = call->args[0]->type, *b = call->args[1]->type;
  g_autoptr (BaseType) element = tightest (base_type_element (a), base_type_element (b));
  if (element == NULL)
    return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_BINARY_ARRAY_DIFF_TYPES, error);
  if (!check_orderable (call, element, error))
    return FALSE;
  gboolean null_a = base_type_contains_null (a), null_b = base_type_contains_null (b);
  relation_call_cast (call, 0, base_type_array (element, null_a));
  relation_call_cast (call, 1, base_type_array (element, null_b));
  if (strcmp (call->name, "arrays_overlap") == 0) {
    relation_call_set_kind (call, BASE_TYPE_BOOLEAN);
    call->nullable |= null_a || null_b;
    return TRUE;
  }
  set_array (call, element,
             strcmp (call->name, "array_union") == 0    ? null_a || null_b
             : strcmp (call->name, "array_except") == 0 ? null_a
                                                        : null_a && null_b);
  return TRUE;
}

/* ---- one array ---- */

static gboolean
bind_same_array (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  if (!need_array (call, 0, error) || !check_orderable (call, base_type_element (type), error))
    return FALSE;
  relation_call_set_type (call, base_type_ref (type));
  return TRUE;
}

static gboolean
bind_compact (RelationCall *call, GError **error)
{
  if (!need_array (call, 0, error))
    return FALSE;
  set_array (call, base_type_element (call->args[0]->type), FALSE);
  return TRUE;
}

static gboolean
bind_flatten (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  if (base_type_kind (type) != BASE_TYPE_ARRAY || base_type_kind (base_type_element (type)) != BASE_TYPE_ARRAY)
    return relation_call_type_error (call, 0, "an array of arrays", error);
  relation_call_set_type (call, base_type_ref (base_type_element (type)));
  call->nullable |= base_type_contains_null (type);
  return TRUE;
}

/* NULL stays NULL of its type: array<void>. */
static void
null_to_array (RelationCall *call)
{
  if (relation_arg_kind (call, 0) != BASE_TYPE_VOID)
    return;
  g_autoptr (BaseType) element = base_type_simple (BASE_TYPE_VOID);
  relation_call_cast (call, 0, base_type_array (element, TRUE));
}

static gboolean
bind_extreme (RelationCall *call, GError **error)
{
  null_to_array (call);
  if (!need_array (call, 0, error) || !check_orderable (call, base_type_element (call->args[0]->type), error))
    return FALSE;
  relation_call_set_type (call, base_type_ref (base_type_element (call->args[0]->type)));
  call->nullable = TRUE;
  return TRUE;
}

static gboolean
bind_slice (RelationCall *call, GError **error)
{
  null_to_array (call);
  if (!need_array (call, 0, error))
    return FALSE;
  relation_call_set_type (call, base_type_ref (call->args[0]->type));
  return TRUE;
}

/* sort_array(a[, ascending]): NULL first ascending, last descending */
static gboolean
bind_sort_array (RelationCall *call, GError **error)
{
  null_to_array (call);
  if (!bind_same_array (call, error))
    return FALSE;
  gboolean ascending = TRUE;
  if (call->n_args == 2) {
    const RelationLiteral *literal = relation_call_constant (call, 1, error);
    if (literal == NULL)
      return FALSE;
    ascending = literal->is_null || literal->integer != 0;
  }
  call->data = ascending ? "$k{sluice_array_sort}($1, 0)" : "$k{sluice_array_sort}($1, -1)";
  return TRUE;
}

static gboolean
bind_size (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_VOID)
    call->data = "CAST($1 AS INTEGER)";
  else if (kind == BASE_TYPE_ARRAY)
    call->data = "CAST(len($1) AS INTEGER)";
  else if (kind == BASE_TYPE_MAP && strcmp (call->name, "array_size") != 0)
    call->data = "CAST(cardinality($1) AS INTEGER)";
  else
    return relation_call_type_error (call, 0, "ARRAY or MAP", error);
  return TRUE;
}

static gboolean
bind_join (RelationCall *call, GError **error)
{
  null_to_array (call);
  if (!need_array (call, 0, error))
    return FALSE;
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  relation_call_cast (call, 0, base_type_array (text, TRUE));
  call->data = call->n_args == 3 ? "(CASE WHEN $3 IS NULL THEN NULL ELSE sluice_array_join($1, $2, $3) END)"
                                 : "sluice_array_join($1, $2, NULL)";
  return TRUE;
}

/* arrays_zip(a, b, …): structs of the n-th elements; fields are named by number, or by the column */
static gboolean
bind_zip (RelationCall *call, GError **error)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < call->n_args; i++) {
    if (!need_array (call, i, error))
      return FALSE;
    g_autofree char *number = g_strdup_printf ("%u", i);
    RelationExprKind kind = call->args[i]->kind;
    gboolean named = kind == RELATION_EXPR_COLUMN || kind == RELATION_EXPR_FIELD;
    const char *name = named ? call->args[i]->display : number;
    if (named && strrchr (name, '.') != NULL)
      name = strrchr (name, '.') + 1;
    base_struct_builder_add (builder, name, base_type_element (call->args[i]->type), TRUE, NULL);
  }
  g_autoptr (BaseType) element = base_struct_builder_end (g_steal_pointer (&builder));
  set_array (call, element, FALSE);
  return TRUE;
}

/* DuckDB pads with NULL as well and gives unnamed structs: a cast names them. */
static gboolean
lower_zip (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_string_append (out, "(CASE WHEN ");
  for (guint i = 0; i < call->n_args; i++) {
    g_string_append (out, i > 0 ? " OR " : "");
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
    g_string_append (out, " IS NULL");
  }
  return relation_printer_template (printer, call, " THEN NULL ELSE CAST(list_zip($*) AS $t) END)", out, error);
}

/* ---- sequence ---- */

static gboolean
bind_sequence (RelationCall *call, GError **error)
{
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  gboolean has_step = call->n_args == 3;
  gboolean integers = (base_type_is_integral (call->args[0]->type) || a == BASE_TYPE_VOID) &&
                      (base_type_is_integral (call->args[1]->type) || b == BASE_TYPE_VOID);
  gboolean times = (a == BASE_TYPE_DATE || a == BASE_TYPE_TIMESTAMP || a == BASE_TYPE_TIMESTAMP_NTZ) &&
                   (b == BASE_TYPE_DATE || b == BASE_TYPE_TIMESTAMP || b == BASE_TYPE_TIMESTAMP_NTZ);
  if (!integers && !times)
    return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_SEQUENCE_WRONG_INPUT_TYPES, error);
  g_autoptr (BaseType) common = relation_coerce_common (call->args[0]->type, call->args[1]->type);
  if (integers && base_type_kind (common) == BASE_TYPE_VOID) {
    base_type_unref (common);
    common = base_type_simple (BASE_TYPE_INTEGER);
  }
  relation_call_cast (call, 0, base_type_ref (common));
  relation_call_cast (call, 1, base_type_ref (common));
  set_array (call, common, FALSE);
  if (integers) {
    if (has_step && !base_type_is_integral (call->args[2]->type) && relation_arg_kind (call, 2) != BASE_TYPE_VOID)
      return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_SEQUENCE_WRONG_INPUT_TYPES, error);
    call->data = has_step ? "$k{sluice_sequence}($1, $2, $3, false)" : "$k{sluice_sequence}($1, $2, 0, true)";
    return TRUE;
  }
  BaseTypeKind step = has_step ? relation_arg_kind (call, 2) : BASE_TYPE_VOID;
  const char *zone = base_type_kind (common) == BASE_TYPE_TIMESTAMP ? "$zone" : "''";
  if (!has_step)
    call->data = relation_binder_printf (call->binder, "$k{sluice_time_sequence}($1, $2, 0, 0, %s)", zone);
  else if (step == BASE_TYPE_INTERVAL_YEAR_MONTH)
    call->data = relation_binder_printf (call->binder, "$k{sluice_time_sequence}($1, $2, $3, 0, %s)", zone);
  else if (step == BASE_TYPE_INTERVAL_DAY_TIME)
    call->data = relation_binder_printf (call->binder, "$k{sluice_time_sequence}($1, $2, 0, $3, %s)", zone);
  else
    return diff_error (call, SLUICE_ERROR_DATATYPE_MISMATCH_SEQUENCE_WRONG_INPUT_TYPES, error);
  return TRUE;
}

/* ---- lambdas ---- */

/* The number of variables of the lambda, which decides between DuckDB's one- and two-variable forms. */
static gboolean
bind_indexed (RelationCall *call, GError **error)
{
  if (!relation_call_refuse_null (call, 0, error))
    return FALSE;
  /* DuckDB counts from 1, Spark from 0: the second variable is shifted where it is used. */
  call->data = GUINT_TO_POINTER (call->args[1]->n_parameters);
  return TRUE;
}

/* `list_transform(a, lambda x, i: body)`, with Spark's index. */
static gboolean
lower_indexed (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const RelationExpr *lambda = call->args[1];
  const char *function = strcmp (call->function->names, "transform") == 0 ? "list_transform" : "list_filter";
  if (lambda->n_parameters < 2)
    return relation_printer_template (
        printer, call, strcmp (function, "list_filter") == 0 ? "list_filter($1, $2)" : "list_transform($1, $2)", out,
        error);
  /* lambda x, j: over the elements with their number; the body sees i through a one-element inner list. */
  g_autoptr (GString) x = g_string_new (NULL);
  g_autoptr (GString) i = g_string_new (NULL);
  relation_printer_variable (printer, lambda->parameters[0], x);
  relation_printer_variable (printer, lambda->parameters[1], i);
  g_string_append_printf (out, "%s(", function);
  if (!relation_printer_expr (printer, call->args[0], out, error))
    return FALSE;
  g_string_append_printf (
      out, ", lambda %s, %s_1: list_extract(list_transform([CAST(%s_1 - 1 AS INTEGER)], lambda %s: ", x->str, i->str,
      i->str, i->str);
  if (!relation_printer_expr (printer, lambda->args[0], out, error))
    return FALSE;
  g_string_append (out, "), 1))");
  return TRUE;
}

static gboolean
bind_exists (RelationCall *call, GError **error)
{
  if (!relation_call_refuse_null (call, 0, error))
    return FALSE;
  call->nullable |= call->args[1]->nullable || call->args[1]->args[0]->nullable;
  return TRUE;
}

/* A fold over the list with the accumulator first; one struct type needs a cast of the body, which the binder made. */
static gboolean
lower_aggregate (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  gboolean finish = call->n_args == 4;
  const RelationExpr *merge = call->args[2];
  g_autoptr (GString) acc = g_string_new (NULL);
  g_autoptr (GString) x = g_string_new (NULL);
  relation_printer_variable (printer, merge->parameters[0], acc);
  relation_printer_variable (printer, merge->parameters[1], x);
  if (finish)
    g_string_append (out, "list_extract(list_transform([");
  /* list_reduce needs one element type: the list holds (accumulator, element) pairs, the start comes first. */
  g_autoptr (GString) state = g_string_new (NULL);
  g_autoptr (GString) element = g_string_new (NULL);
  relation_printer_type (printer, call->args[1]->type, state);
  relation_printer_type (printer, base_type_element (call->args[0]->type), element);
  g_string_append (out, "list_reduce(list_prepend({'a': CAST(");
  if (!relation_printer_expr (printer, call->args[1], out, error))
    return FALSE;
  g_string_append_printf (out, " AS %s), 'x': CAST(NULL AS %s)}, list_transform(", state->str, element->str);
  if (!relation_printer_expr (printer, call->args[0], out, error))
    return FALSE;
  g_string_append_printf (out, ", lambda sluice_x: {'a': CAST(NULL AS %s), 'x': sluice_x})), lambda %s_p, %s_p: ",
                          state->str, acc->str, x->str);
  /* The body reads its variables; they are bound by one-element lists. */
  g_string_append_printf (
      out,
      "{'a': list_extract(list_transform([%s_p.a], lambda %s: list_extract(list_transform([%s_p.x], lambda %s: CAST(",
      acc->str, acc->str, x->str, x->str);
  if (!relation_printer_expr (printer, merge->args[0], out, error))
    return FALSE;
  g_string_append_printf (out, " AS %s)), 1)), 1), 'x': %s_p.x}).a", state->str, x->str);
  if (finish) {
    g_string_append (out, "], ");
    if (!relation_printer_expr (printer, call->args[3], out, error))
      return FALSE;
    g_string_append (out, "), 1)");
  }
  return TRUE;
}

static gboolean
bind_aggregate (RelationCall *call, GError **error)
{
  if (!relation_call_refuse_null (call, 0, error))
    return FALSE;
  /* Spark wants the merged value to have the start's type by itself. */
  const RelationExpr *body = call->args[2]->args[0];
  if (body->kind == RELATION_EXPR_CAST && !body->explicit_cast &&
      base_type_kind (body->args[0]->type) != BASE_TYPE_VOID)
    return relation_call_type_error (call, 2, "a lambda whose result has the type of the start value", error);
  call->nullable = TRUE;
  relation_call_set_type (call, base_type_ref (call->n_args == 4 ? call->args[3]->args[0]->type : call->args[1]->type));
  return TRUE;
}

/* zip_with(a, b, (x, y) -> …): the shorter is padded with NULL */
static gboolean
lower_zip_with (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  const RelationExpr *lambda = call->args[2];
  g_autoptr (GString) x = g_string_new (NULL);
  g_autoptr (GString) y = g_string_new (NULL);
  relation_printer_variable (printer, lambda->parameters[0], x);
  relation_printer_variable (printer, lambda->parameters[1], y);
  if (!relation_printer_template (
          printer, call, "(CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL ELSE list_transform(list_zip($1, $2), ", out,
          error))
    return FALSE;
  g_string_append_printf (out,
                          "lambda sluice_x: list_extract(list_transform([sluice_x[1]], lambda %s: "
                          "list_extract(list_transform([sluice_x[2]], lambda %s: ",
                          x->str, y->str);
  if (!relation_printer_expr (printer, lambda->args[0], out, error))
    return FALSE;
  g_string_append (out, "), 1)), 1)) END)");
  return TRUE;
}

static gboolean
bind_zip_with (RelationCall *call, GError **error)
{
  return relation_call_refuse_null (call, 0, error) && relation_call_refuse_null (call, 1, error);
}

/* array_sort(a) or array_sort(a, comparator) */
static gboolean
bind_array_sort (RelationCall *call, GError **error)
{
  if (call->n_args == 2)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "array_sort with a comparator is not supported");
  return relation_call_refuse_null (call, 0, error) && bind_same_array (call, error);
}

#define SEARCH(function, result_type, text)                                                                            \
  {                                                                                                                    \
    .names = function, .args = "any any", .result = result_type, .lower = "sluice_" function "($1, $2)", .doc = text,  \
    .bind = bind_contains                                                                                              \
  }
#define PAIR(function, text)                                                                                           \
  {                                                                                                                    \
    .names = function, .args = "any any", .lower = "$k{sluice_" function "}($1, $2)", .doc = text, .bind = bind_pair   \
  }

const RelationFunction *
relation_function_rows_array (void)
{
  static const RelationFunction rows[] = {
    { .names = "array",
      .args = "any*",
      .lower = "CAST([$*] AS $t)",
      .flags = NEVER,
      .doc = "an array of the arguments",
      .bind = bind_array },
    { .names = "[]",
      .args = "any any",
      .flags = RELATION_FUNCTION_OPERATOR | NULLABLE,
      .doc = "an element by its number from 0, or the value of a key",
      .display = "$1[$2]",
      .bind = bind_item,
      .lower_call = relation_lower_data },
    { .names = "array field",
      .args = "any string!",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "a field of every struct of an array",
      .display = "$1.$2",
      .bind = bind_array_field,
      .lower_call = lower_array_field },
    { .names = "get",
      .args = "any any",
      .flags = NULLABLE,
      .doc = "an element by its number from 0, NULL outside",
      .bind = bind_item,
      .lower_call = relation_lower_data },
    { .names = "element_at",
      .args = "any any",
      .flags = NULLABLE,
      .doc = "an element by its number from 1 or from the end, or the value of a key",
      .bind = bind_item,
      .lower_call = relation_lower_data },
    { .names = "try_element_at",
      .args = "any any",
      .flags = NULLABLE,
      .doc = "as element_at, NULL outside",
      .bind = bind_item,
      .lower_call = relation_lower_data },
    SEARCH ("array_contains", "boolean", "whether a value is in the array"),
    SEARCH ("array_position", "long", "number of the first such element from 1, 0 = none"),
    { .names = "array_remove",
      .args = "any any",
      .lower = "$k{sluice_array_remove}($1, $2)",
      .doc = "without all such elements",
      .bind = bind_remove },
    { .names = "array_append",
      .args = "any any",
      .lower = "$k{sluice_array_append}($1, $2, false)",
      .doc = "with one more element",
      .bind = bind_append },
    { .names = "array_prepend",
      .args = "any any",
      .lower = "$k{sluice_array_append}($1, $2, true)",
      .doc = "with one more element in front",
      .bind = bind_append },
    { .names = "array_insert",
      .args = "any any any",
      .lower = "$k{sluice_array_insert}($1, $2, $3)",
      .doc = "with one more element at a position",
      .bind = bind_insert },
    { .names = "array_repeat",
      .args = "any int",
      .lower = "$k{sluice_array_repeat}($1, $2)",
      .doc = "an element n times",
      .bind = bind_repeat },
    PAIR ("array_union", "elements of either, each once"),
    PAIR ("array_intersect", "elements of both, each once"),
    PAIR ("array_except", "elements of the first that are not in the second, each once"),
    { .names = "arrays_overlap",
      .args = "any any",
      .lower = "sluice_arrays_overlap($1, $2)",
      .doc = "whether both share an element",
      .bind = bind_pair },
    { .names = "array_distinct",
      .args = "any",
      .lower = "$k{sluice_array_distinct}($1)",
      .doc = "each element once",
      .bind = bind_same_array },
    { .names = "array_compact",
      .args = "any",
      .lower = "list_filter($1, lambda sluice_x: sluice_x IS NOT NULL)",
      .doc = "without NULL elements",
      .bind = bind_compact },
    { .names = "flatten",
      .args = "any",
      .lower = "$k{sluice_flatten}($1)",
      .doc = "an array of arrays as one",
      .bind = bind_flatten },
    { .names = "array_max",
      .args = "any",
      .lower = "$k{sluice_array_extreme}($1, true)",
      .flags = NULLABLE,
      .doc = "largest element",
      .bind = bind_extreme },
    { .names = "array_min",
      .args = "any",
      .lower = "$k{sluice_array_extreme}($1, false)",
      .flags = NULLABLE,
      .doc = "smallest element",
      .bind = bind_extreme },
    { .names = "slice",
      .args = "any int int",
      .lower = "$k{sluice_slice}($1, $2, $3)",
      .doc = "elements from a start, so many",
      .bind = bind_slice },
    { .names = "array_sort",
      .args = "array<T> (T,T)->int?",
      .lower = "$k{sluice_array_sort}($1, 1)",
      .doc = "sorted, NULL last",
      .bind = bind_array_sort },
    { .names = "sort_array",
      .args = "any boolean?",
      .doc = "sorted, NULL first ascending and last descending",
      .bind = bind_sort_array,
      .lower_call = relation_lower_data },
    { .names = "shuffle",
      .args = "any",
      .lower = "list_transform(list_sort(list_transform($1, lambda sluice_x: {'r': random(), 'v': sluice_x})), lambda "
               "sluice_x: sluice_x.v)",
      .flags = RELATION_FUNCTION_VOLATILE,
      .doc = "in random order",
      .bind = bind_same_array },
    { .names = "size cardinality array_size",
      .args = "any",
      .result = "int",
      .doc = "number of elements or entries",
      .bind = bind_size,
      .lower_call = relation_lower_data },
    { .names = "array_join",
      .args = "any string string?",
      .result = "string",
      .doc = "elements in one string, with a delimiter",
      .bind = bind_join,
      .lower_call = relation_lower_data },
    { .names = "arrays_zip",
      .args = "any*",
      .doc = "structs of the n-th elements",
      .bind = bind_zip,
      .lower_call = lower_zip },
    { .names = "sequence",
      .args = "any any any?",
      .doc = "numbers, dates or times from a start to an end",
      .bind = bind_sequence,
      .lower_call = relation_lower_data },
    { .names = "transform",
      .args = "array<T> (T[,int])->U",
      .result = "array<U>",
      .doc = "each element changed by a lambda",
      .bind = bind_indexed,
      .lower_call = lower_indexed },
    { .names = "filter",
      .args = "array<T> (T[,int])->boolean",
      .result = "array<T>",
      .doc = "elements for which a lambda is true",
      .bind = bind_indexed,
      .lower_call = lower_indexed },
    { .names = "exists",
      .args = "array<T> (T)->boolean",
      .result = "boolean",
      .lower = "(CASE WHEN $1 IS NULL THEN NULL ELSE coalesce(list_bool_or(list_transform($1, $2)), CASE WHEN len($1) "
               "= 0 THEN false END) OR "
               "CASE WHEN list_contains(list_transform(list_transform($1, $2), lambda sluice_x: sluice_x IS NULL), "
               "true) THEN NULL ELSE false END END)",
      .flags = NULLABLE,
      .doc = "whether a lambda is true for an element",
      .bind = bind_exists },
    { .names = "forall",
      .args = "array<T> (T)->boolean",
      .result = "boolean",
      .lower = "(CASE WHEN $1 IS NULL THEN NULL ELSE coalesce(list_bool_and(list_transform($1, $2)), CASE WHEN len($1) "
               "= 0 THEN true END) AND "
               "CASE WHEN list_contains(list_transform(list_transform($1, $2), lambda sluice_x: sluice_x IS NULL), "
               "true) THEN NULL ELSE true END END)",
      .flags = NULLABLE,
      .doc = "whether a lambda is true for all elements",
      .bind = bind_exists },
    { .names = "aggregate reduce",
      .args = "array<T> A (A,T)->A (A)->R?",
      .flags = NULLABLE,
      .doc = "elements merged one by one into a start value",
      .bind = bind_aggregate,
      .lower_call = lower_aggregate },
    { .names = "zip_with",
      .args = "array<T> array<U> (T,U)->R",
      .result = "array<R>",
      .doc = "elements of two arrays merged by a lambda",
      .bind = bind_zip_with,
      .lower_call = lower_zip_with },
    { .names = NULL },
  };
  return rows;
}

/* Dates, times and intervals in arithmetic, and the functions that make intervals.
 *
 * Rule of thumb: months and days move on the wall clock of the session's zone, hours and less on the line of time. A date stays a
 * date as long as only months or days are added.
 */
#include "relation-function-private.h"

#include <string.h>

static gboolean
is_time (BaseTypeKind kind)
{
  return kind == BASE_TYPE_DATE || kind == BASE_TYPE_TIMESTAMP || kind == BASE_TYPE_TIMESTAMP_NTZ;
}

static gboolean
is_interval (BaseTypeKind kind)
{
  return kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME ||
         kind == BASE_TYPE_INTERVAL_CALENDAR;
}

static void
swap_args (RelationCall *call)
{
  RelationExpr *first = call->args[0];
  call->args[0] = call->args[1];
  call->args[1] = first;
}

static void
set_template (RelationCall *call, const char *template)
{
  call->data = template;
}

/* ---- time ± number or interval: args[0] is the time ---- */

static gboolean
bind_date_plus_number (RelationCall *call, char op, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 1);
  if (kind == BASE_TYPE_VOID)
    relation_call_cast_kind (call, 1, BASE_TYPE_INTEGER);
  else if (kind != BASE_TYPE_INTEGER && kind != BASE_TYPE_SHORT && kind != BASE_TYPE_BYTE)
    return relation_call_type_error (call, 1, "INT, SMALLINT or TINYINT", error);
  if (relation_arg_kind (call, 0) != BASE_TYPE_DATE)
    return relation_call_type_error (call, 0, "DATE", error);
  relation_call_set_kind (call, BASE_TYPE_DATE);
  set_template (call, op == '+' ? "($1 + CAST($2 AS INTEGER))" : "($1 - CAST($2 AS INTEGER))");
  return TRUE;
}

static gboolean
bind_time_plus_interval (RelationCall *call, char op, GError **error)
{
  BaseTypeKind time = relation_arg_kind (call, 0), kind = relation_arg_kind (call, 1);
  const BaseType *interval = call->args[1]->type;
  gboolean minus = op == '-';
  gboolean from_string = time == BASE_TYPE_STRING || time == BASE_TYPE_VOID;
  if (from_string) {
    relation_call_cast_kind (call, 0, BASE_TYPE_TIMESTAMP);
    time = BASE_TYPE_TIMESTAMP;
  }
  (void) error; /* every pair that gets here has an answer */
  if (time == BASE_TYPE_DATE) {
    if (kind == BASE_TYPE_INTERVAL_YEAR_MONTH) {
      relation_call_set_kind (call, BASE_TYPE_DATE);
      set_template (call, minus ? "sluice_add_months($1, - $2)" : "sluice_add_months($1, $2)");
      return TRUE;
    }
    if (kind == BASE_TYPE_INTERVAL_CALENDAR) {
      relation_call_set_kind (call, BASE_TYPE_DATE);
      set_template (call, minus ? "sluice_date_add_calendar($1, $2, true)" : "sluice_date_add_calendar($1, $2, false)");
      return TRUE;
    }
    if (base_type_interval_to (interval) == BASE_INTERVAL_DAY) {
      relation_call_set_kind (call, BASE_TYPE_DATE);
      set_template (call,
                    minus ? "($1 - CAST($2 // 86400000000 AS INTEGER))" : "($1 + CAST($2 // 86400000000 AS INTEGER))");
      return TRUE;
    }
    relation_call_cast_kind (call, 0, BASE_TYPE_TIMESTAMP);
    time = BASE_TYPE_TIMESTAMP;
  }
  gboolean wall = time == BASE_TYPE_TIMESTAMP_NTZ;
  relation_call_set_kind (call, from_string ? BASE_TYPE_TIMESTAMP : time);
  if (kind == BASE_TYPE_INTERVAL_YEAR_MONTH)
    set_template (
        call, wall ? (minus ? "sluice_wall_add($1, - $2, 0, 0)" : "sluice_wall_add($1, $2, 0, 0)")
                   : (minus ? "sluice_instant_add($1, - $2, 0, 0, $zone)" : "sluice_instant_add($1, $2, 0, 0, $zone)"));
  else if (kind == BASE_TYPE_INTERVAL_DAY_TIME)
    set_template (call, wall ? (minus ? "sluice_wall_add_us($1, $2, true)" : "sluice_wall_add_us($1, $2, false)")
                             : (minus ? "sluice_instant_add_us($1, $2, true, $zone)"
                                      : "sluice_instant_add_us($1, $2, false, $zone)"));
  else
    set_template (call,
                  wall ? (minus ? "sluice_wall_add_calendar($1, $2, true)" : "sluice_wall_add_calendar($1, $2, false)")
                       : (minus ? "sluice_instant_add_calendar($1, $2, true, $zone)"
                                : "sluice_instant_add_calendar($1, $2, false, $zone)"));
  if (from_string) {
    RelationExpr *added = relation_expr_new_call (call->binder, minus ? "-" : "+", call->args, 2, error);
    if (added == NULL)
      return FALSE;
    call->replacement = relation_expr_new_cast (
        call->binder, added, relation_binder_keep_type (call->binder, base_type_simple (BASE_TYPE_STRING)));
  }
  return TRUE;
}

/* ---- time - time ---- */

static gboolean
bind_time_difference (RelationCall *call)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_DATE && relation_arg_kind (call, 1) == BASE_TYPE_DATE) {
    relation_call_set_type (call, base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_DAY));
    set_template (call, "(CAST($1 - $2 AS BIGINT) * 86400000000)");
    return TRUE;
  }
  for (guint i = 0; i < 2; i++)
    relation_call_cast_kind (call, i, BASE_TYPE_TIMESTAMP_NTZ);
  relation_call_set_type (call, base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_SECOND));
  set_template (call, "(epoch_us($1) - epoch_us($2))");
  return TRUE;
}

/* ---- interval ± interval, interval × number ---- */

static gboolean
bind_interval_sum (RelationCall *call, char op, gboolean try_it, GError **error)
{
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  if (a == BASE_TYPE_VOID)
    relation_call_cast (call, 0, base_type_ref (call->args[1]->type));
  else if (b == BASE_TYPE_VOID)
    relation_call_cast (call, 1, base_type_ref (call->args[0]->type));
  a = relation_arg_kind (call, 0);
  b = relation_arg_kind (call, 1);
  if (a == BASE_TYPE_INTERVAL_CALENDAR && b == a) {
    relation_call_set_kind (call, a);
    set_template (call, op == '+' ? "($1 + $2)" : "($1 - $2)");
    return TRUE;
  }
  if (a != b)
    return relation_call_type_error (call, is_interval (a) ? 1 : 0, "the type of the other interval", error);
  relation_call_set_type (
      call, base_type_interval (
                MIN (base_type_interval_from (call->args[0]->type), base_type_interval_from (call->args[1]->type)),
                MAX (base_type_interval_to (call->args[0]->type), base_type_interval_to (call->args[1]->type))));
  call->nullable |= try_it;
  if (op == '+')
    set_template (call, try_it ? "$k{sluice_interval_add}($1, $2, false, true)"
                               : "$k{sluice_interval_add}($1, $2, false, false)");
  else
    set_template (call, try_it ? "$k{sluice_interval_add}($1, $2, true, true)"
                               : "$k{sluice_interval_add}($1, $2, true, false)");
  return TRUE;
}

/* args[0] is the interval. */
static gboolean
bind_interval_scale (RelationCall *call, char op, gboolean try_it, GError **error)
{
  BaseTypeKind number = relation_arg_kind (call, 1);
  if (relation_arg_kind (call, 0) == BASE_TYPE_INTERVAL_CALENDAR)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "arithmetic of the legacy type INTERVAL with numbers is not supported");
  if (number == BASE_TYPE_STRING || number == BASE_TYPE_VOID)
    relation_call_cast_kind (call, 1, BASE_TYPE_DOUBLE);
  else if (!base_type_is_numeric (call->args[1]->type))
    return relation_call_type_error (call, 1, "NUMERIC", error);
  gboolean months = relation_arg_kind (call, 0) == BASE_TYPE_INTERVAL_YEAR_MONTH;
  relation_call_set_type (call, months ? base_type_interval (BASE_INTERVAL_YEAR, BASE_INTERVAL_MONTH)
                                       : base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_SECOND));
  call->nullable |= try_it;
  if (op == '*')
    set_template (call, try_it ? "$k{sluice_interval_scale}($1, $2, false, true)"
                               : "$k{sluice_interval_scale}($1, $2, false, false)");
  else
    set_template (call, try_it ? "$k{sluice_interval_scale}($1, $2, true, true)"
                               : "$k{sluice_interval_scale}($1, $2, true, false)");
  return TRUE;
}

gboolean
relation_bind_time_arithmetic (RelationCall *call, char op, gboolean try_it, gboolean *handled, GError **error)
{
  BaseTypeKind a = relation_arg_kind (call, 0), b = relation_arg_kind (call, 1);
  *handled = is_time (a) || is_time (b) || is_interval (a) || is_interval (b);
  if (!*handled)
    return TRUE;
  if (op == '*' && is_interval (b)) {
    swap_args (call);
    return bind_interval_scale (call, op, try_it, error);
  }
  if ((op == '*' || op == '/') && is_interval (a))
    return bind_interval_scale (call, op, try_it, error);
  if (op != '+' && op != '-') {
    g_autofree char *left = base_type_text (call->args[0]->type);
    g_autofree char *right = base_type_text (call->args[1]->type);
    return relation_call_error (call, error,
                                a == b ? SLUICE_ERROR_DATATYPE_MISMATCH_BINARY_OP_WRONG_TYPE
                                       : SLUICE_ERROR_DATATYPE_MISMATCH_BINARY_OP_DIFF_TYPES,
                                "the operator does not take %s and %s", left, right);
  }
  if (op == '+' && (is_time (b) || (is_interval (a) && !is_interval (b) && b != BASE_TYPE_VOID)) && !is_time (a)) {
    swap_args (call);
    a = relation_arg_kind (call, 0);
    b = relation_arg_kind (call, 1);
  }
  if (op == '-' && is_time (b)) {
    if (is_time (a))
      return bind_time_difference (call);
    if (a == BASE_TYPE_STRING || a == BASE_TYPE_VOID) {
      relation_call_cast_kind (call, 0, b);
      return bind_time_difference (call);
    }
    return relation_call_type_error (call, 0, "a date or timestamp", error);
  }
  if (is_interval (b) && (is_time (a) || a == BASE_TYPE_STRING))
    return bind_time_plus_interval (call, op, error);
  if (is_interval (a) || is_interval (b))
    return bind_interval_sum (call, op, try_it, error);
  return bind_date_plus_number (call, op, error);
}

/* ---- makers ---- */

static gboolean
bind_dt_interval (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  relation_call_cast (call, 3, base_type_decimal (18, 6));
  relation_call_set_type (call, base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_SECOND));
  return TRUE;
}

static gboolean
bind_interval (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  relation_call_cast (call, 6, base_type_decimal (18, 6));
  relation_call_set_kind (call, BASE_TYPE_INTERVAL_CALENDAR);
  return TRUE;
}

const RelationFunction *
relation_function_rows_interval (void)
{
  static const RelationFunction rows[] = {
    { .names = "make_dt_interval",
      .args = "int=0 int=0 int=0 decimal=0",
      .lower = "sluice_make_dt_interval($1, $2, $3, $4)",
      .doc = "a day-time interval of days, hours, minutes and seconds",
      .bind = bind_dt_interval },
    { .names = "make_ym_interval",
      .args = "int=0 int=0",
      .result = "interval",
      .lower = "sluice_make_ym_interval($1, $2)",
      .doc = "a year-month interval of years and months" },
    { .names = "make_interval",
      .args = "int=0 int=0 int=0 int=0 int=0 int=0 decimal=0",
      .lower = "sluice_make_interval($1, $2, $3, $4, $5, $6, $7, false)",
      .doc = "a calendar interval of years, months, weeks, days, hours, minutes and seconds",
      .bind = bind_interval },
    { .names = "try_make_interval",
      .args = "int int=0 int=0 int=0 int=0 int=0 decimal=0",
      .lower = "sluice_make_interval($1, $2, $3, $4, $5, $6, $7, true)",
      .flags = RELATION_FUNCTION_NULLABLE,
      .doc = "as make_interval, NULL on overflow",
      .bind = bind_interval },
    { .names = NULL },
  };
  return rows;
}

/* Functions of dates and times. A plain string argument is cast as Spark casts it; `today` is the statement's clock in the session's zone. */
#include "relation-function-private.h"

#include <string.h>

#define NULLABLE RELATION_FUNCTION_NULLABLE

/* ---- fields ---- */

typedef struct {
  const char *names; /* blank-separated */
  int field;         /* of sluice_time_field; -1 second with fraction */
  int interval;      /* BaseIntervalField of the same name, -1 = none */
} Field;

static const Field fields[] = {
  { "YEAR Y YEARS YR YRS", 0, BASE_INTERVAL_YEAR },
  { "QUARTER QTR", 1, -1 },
  { "MONTH MON MONS MONTHS", 2, BASE_INTERVAL_MONTH },
  { "DAY D DAYS", 3, BASE_INTERVAL_DAY },
  { "WEEK W WEEKS", 4, -1 },
  { "YEAROFWEEK", 5, -1 },
  { "DAYOFWEEK DOW", 6, -1 },
  { "DAYOFWEEK_ISO DOW_ISO", 7, -1 },
  { "DOY", 9, -1 },
  { "HOUR H HOURS HR HRS", 10, BASE_INTERVAL_HOUR },
  { "MINUTE M MIN MINS MINUTES", 11, BASE_INTERVAL_MINUTE },
  { "SECOND S SEC SECONDS SECS", -1, BASE_INTERVAL_SECOND },
};

static const Field *
find_field (const char *text)
{
  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++) {
    g_auto (GStrv) names = g_strsplit (fields[i].names, " ", -1);
    for (guint k = 0; names[k] != NULL; k++)
      if (g_ascii_strcasecmp (names[k], text) == 0)
        return &fields[i];
  }
  return NULL;
}

static gboolean
field_error (RelationCall *call, const char *field, GError **error)
{
  g_autofree char *type = base_type_text (call->args[1]->type);
  return relation_call_error (call, error, SLUICE_ERROR_INVALID_EXTRACT_FIELD, "cannot extract %s from %s", field,
                              type);
}

static gboolean
bind_interval_field (RelationCall *call, const Field *field, const char *name, GError **error)
{
  static const struct {
    const char *lower;
    BaseTypeKind kind;
  } whole[] = {
    [BASE_INTERVAL_YEAR] = { "CAST($2 // 12 AS INTEGER)", BASE_TYPE_INTEGER },
    [BASE_INTERVAL_MONTH] = { "CAST($2 % 12 AS TINYINT)", BASE_TYPE_BYTE },
    [BASE_INTERVAL_DAY] = { "CAST($2 // 86400000000 AS INTEGER)", BASE_TYPE_INTEGER },
    [BASE_INTERVAL_HOUR] = { "CAST($2 // 3600000000 % 24 AS TINYINT)", BASE_TYPE_BYTE },
    [BASE_INTERVAL_MINUTE] = { "CAST($2 // 60000000 % 60 AS TINYINT)", BASE_TYPE_BYTE },
  };
  gboolean months = relation_arg_kind (call, 1) == BASE_TYPE_INTERVAL_YEAR_MONTH;
  if (field == NULL || field->interval < 0 || (field->interval <= BASE_INTERVAL_MONTH) != months ||
      relation_arg_kind (call, 1) == BASE_TYPE_INTERVAL_CALENDAR)
    return field_error (call, name, error);
  if (field->interval < (int) G_N_ELEMENTS (whole)) {
    call->data = whole[field->interval].lower;
    relation_call_set_kind (call, whole[field->interval].kind);
  } else {
    call->data = "CAST(CAST($2 % 60000000 AS DECIMAL(18,0)) * 0.000001 AS DECIMAL(8,6))";
    relation_call_set_type (call, base_type_decimal (8, 6));
  }
  return TRUE;
}

/* ('field', source): EXTRACT, date_part, datepart */
static gboolean
bind_extract (RelationCall *call, GError **error)
{
  const RelationLiteral *literal = relation_call_constant (call, 0, error);
  if (literal == NULL)
    return FALSE;
  if (literal->is_null) {
    relation_call_set_kind (call, BASE_TYPE_DOUBLE);
    call->data = "CAST(NULL AS DOUBLE)";
    call->nullable = TRUE;
    return TRUE;
  }
  const Field *field = find_field (literal->text);
  BaseTypeKind kind = relation_arg_kind (call, 1);
  if (kind == BASE_TYPE_INTERVAL_YEAR_MONTH || kind == BASE_TYPE_INTERVAL_DAY_TIME ||
      kind == BASE_TYPE_INTERVAL_CALENDAR)
    return bind_interval_field (call, field, literal->text, error);
  if (field == NULL)
    return field_error (call, literal->text, error);
  gboolean is_time = field->field < 0 || field->field >= 10;
  if (kind != BASE_TYPE_TIMESTAMP_NTZ && (is_time || kind != BASE_TYPE_DATE)) {
    if (!relation_call_want (call, 1, is_time ? BASE_TYPE_TIMESTAMP : BASE_TYPE_DATE, "a date or timestamp", error))
      return FALSE;
  }
  relation_call_cast_kind (call, 1, BASE_TYPE_TIMESTAMP_NTZ);
  if (field->field < 0) {
    relation_call_set_type (call, base_type_decimal (8, 6));
    call->data = "CAST(CAST(microsecond($2) AS DECIMAL(18,0)) * 0.000001 AS DECIMAL(8,6))";
    return TRUE;
  }
  relation_call_set_kind (call, BASE_TYPE_INTEGER);
  call->data = relation_binder_printf (call->binder, "sluice_time_field(%d, $2)", field->field);
  return TRUE;
}

/* hour, minute, second: of the wall clock */
static gboolean
bind_clock_field (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) != BASE_TYPE_TIMESTAMP_NTZ) {
    if (!relation_call_want (call, 0, BASE_TYPE_TIMESTAMP, "TIMESTAMP", error))
      return FALSE;
    relation_call_cast_kind (call, 0, BASE_TYPE_TIMESTAMP_NTZ);
  }
  call->data = call->name[0] == 'h'   ? "sluice_time_field(10, $1)"
               : call->name[0] == 'm' ? "sluice_time_field(11, $1)"
                                      : "sluice_time_field(12, $1)";
  return TRUE;
}

/* ---- adding and differences ---- */

static gboolean
bind_date_add (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 1);
  if (kind == BASE_TYPE_STRING && call->args[1]->foldable)
    relation_call_cast_kind (call, 1, BASE_TYPE_INTEGER);
  else if (kind == BASE_TYPE_VOID || kind == BASE_TYPE_BYTE || kind == BASE_TYPE_SHORT)
    relation_call_cast_kind (call, 1, BASE_TYPE_INTEGER);
  else if (kind != BASE_TYPE_INTEGER)
    return relation_call_type_error (call, 1, "INT, SMALLINT or TINYINT", error);
  return TRUE;
}

/* (unit, number, time) */
static gboolean
bind_timestamp_add (RelationCall *call, GError **error)
{
  static const struct {
    const char *unit, *instant, *wall;
  } units[] = {
    { "YEAR", "sluice_instant_add($3, CAST($2 * 12 AS INTEGER), 0, 0, $zone)",
      "sluice_wall_add($3, CAST($2 * 12 AS INTEGER), 0, 0)" },
    { "QUARTER", "sluice_instant_add($3, CAST($2 * 3 AS INTEGER), 0, 0, $zone)",
      "sluice_wall_add($3, CAST($2 * 3 AS INTEGER), 0, 0)" },
    { "MONTH", "sluice_instant_add($3, CAST($2 AS INTEGER), 0, 0, $zone)",
      "sluice_wall_add($3, CAST($2 AS INTEGER), 0, 0)" },
    { "WEEK", "sluice_instant_add($3, 0, CAST($2 * 7 AS INTEGER), 0, $zone)",
      "sluice_wall_add($3, 0, CAST($2 * 7 AS INTEGER), 0)" },
    { "DAY", "sluice_instant_add($3, 0, CAST($2 AS INTEGER), 0, $zone)",
      "sluice_wall_add($3, 0, CAST($2 AS INTEGER), 0)" },
    { "DAYOFYEAR", "sluice_instant_add($3, 0, CAST($2 AS INTEGER), 0, $zone)",
      "sluice_wall_add($3, 0, CAST($2 AS INTEGER), 0)" },
    { "HOUR", "sluice_instant_add($3, 0, 0, $2 * 3600000000, $zone)", "sluice_wall_add($3, 0, 0, $2 * 3600000000)" },
    { "MINUTE", "sluice_instant_add($3, 0, 0, $2 * 60000000, $zone)", "sluice_wall_add($3, 0, 0, $2 * 60000000)" },
    { "SECOND", "sluice_instant_add($3, 0, 0, $2 * 1000000, $zone)", "sluice_wall_add($3, 0, 0, $2 * 1000000)" },
    { "MILLISECOND", "sluice_instant_add($3, 0, 0, $2 * 1000, $zone)", "sluice_wall_add($3, 0, 0, $2 * 1000)" },
    { "MICROSECOND", "sluice_instant_add($3, 0, 0, $2, $zone)", "sluice_wall_add($3, 0, 0, $2)" },
  };
  const RelationLiteral *unit = relation_call_constant (call, 0, error);
  if (unit == NULL)
    return FALSE;
  if (relation_arg_kind (call, 2) != BASE_TYPE_TIMESTAMP_NTZ &&
      !relation_call_want (call, 2, BASE_TYPE_TIMESTAMP, "TIMESTAMP", error))
    return FALSE;
  gboolean wall = relation_arg_kind (call, 2) == BASE_TYPE_TIMESTAMP_NTZ;
  relation_call_set_type (call, base_type_ref (call->args[2]->type));
  for (gsize i = 0; i < G_N_ELEMENTS (units); i++)
    if (!unit->is_null && g_ascii_strcasecmp (units[i].unit, unit->text) == 0) {
      call->data = wall ? units[i].wall : units[i].instant;
      return TRUE;
    }
  return relation_call_error (call, error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_DATETIME_UNIT,
                              "'%s' is not a unit of time", unit->is_null ? "NULL" : unit->text);
}

/* (unit, from, to) */
static gboolean
bind_timestamp_diff (RelationCall *call, GError **error)
{
  for (guint i = 1; i < 3; i++) {
    if (relation_arg_kind (call, i) == BASE_TYPE_TIMESTAMP_NTZ)
      continue;
    if (!relation_call_want (call, i, BASE_TYPE_TIMESTAMP, "TIMESTAMP", error))
      return FALSE;
    relation_call_cast_kind (call, i, BASE_TYPE_TIMESTAMP_NTZ);
  }
  return TRUE;
}

static gboolean
bind_walls (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint i = 0; i < 2; i++)
    relation_call_cast_kind (call, i, BASE_TYPE_TIMESTAMP_NTZ);
  return TRUE;
}

/* ---- reading and printing ---- */

static gboolean
check_text (RelationCall *call, guint index, GError **error)
{
  return relation_call_want (call, index, BASE_TYPE_STRING, "STRING", error);
}

/* to_date, to_timestamp…: (value[, pattern]); @kind is the result. Without a pattern it is a cast. */
static gboolean
bind_parse (RelationCall *call, BaseTypeKind kind, gboolean try_it, GError **error)
{
  BaseTypeKind from = relation_arg_kind (call, 0);
  gboolean is_time = from == BASE_TYPE_DATE || from == BASE_TYPE_TIMESTAMP || from == BASE_TYPE_TIMESTAMP_NTZ;
  gboolean numeric = base_type_is_numeric (call->args[0]->type);
  relation_call_set_kind (call, kind);
  if (call->n_args == 1 || is_time || from == BASE_TYPE_VOID) {
    if (!is_time && from != BASE_TYPE_VOID && !(numeric && kind == BASE_TYPE_TIMESTAMP) && !check_text (call, 0, error))
      return FALSE;
    if (try_it) {
      call->data = "try";
      call->nullable = TRUE;
      return TRUE;
    }
    call->replacement = relation_expr_new_cast (call->binder, call->args[0], call->type);
    call->replacement->display = call->display;
    return TRUE;
  }
  if (!check_text (call, 0, error) || !check_text (call, 1, error))
    return FALSE;
  call->data = relation_binder_printf (call->binder, "sluice_parse_%s($1, $2, $zone, %s)",
                                       kind == BASE_TYPE_DATE        ? "date"
                                       : kind == BASE_TYPE_TIMESTAMP ? "instant"
                                                                     : "wall",
                                       try_it ? "true" : "false");
  call->nullable |= try_it;
  return TRUE;
}

static gboolean
lower_parse (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  if (strcmp (call->data, "try") != 0)
    return relation_printer_template (printer, call, call->data, out, error);
  g_autoptr (GString) text = g_string_new (NULL);
  return relation_printer_expr (printer, call->args[0], text, error) &&
         relation_cast_lower (printer, text->str, call->args[0]->type, call->type, RELATION_CAST_TRY, NULL, out, error);
}

#define PARSE(function, kind, try_it)                                                                                  \
  static gboolean bind_##function (RelationCall *call, GError **error)                                                 \
  {                                                                                                                    \
    return bind_parse (call, kind, try_it, error);                                                                     \
  }
PARSE (to_date, BASE_TYPE_DATE, FALSE)
PARSE (try_to_date, BASE_TYPE_DATE, TRUE)
PARSE (to_timestamp, BASE_TYPE_TIMESTAMP, FALSE)
PARSE (try_to_timestamp, BASE_TYPE_TIMESTAMP, TRUE)
PARSE (to_timestamp_ntz, BASE_TYPE_TIMESTAMP_NTZ, FALSE)

/* unix_timestamp([value[, pattern]]): whole seconds, toward zero */
static gboolean
bind_unix_timestamp (RelationCall *call, GError **error)
{
  if (call->n_args == 0) {
    RelationExpr **args = relation_binder_alloc (call->binder, sizeof (RelationExpr *));
    args[0] = relation_expr_new_now (call->binder, "current_timestamp()");
    call->args = args;
    call->n_args = 1;
  }
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_DATE)
    relation_call_cast_kind (call, 0, BASE_TYPE_TIMESTAMP);
  if (kind == BASE_TYPE_DATE || kind == BASE_TYPE_TIMESTAMP || kind == BASE_TYPE_TIMESTAMP_NTZ) {
    call->data = "(epoch_us($1) // 1000000)";
    return TRUE;
  }
  if (!check_text (call, 0, error) || (call->n_args == 2 && !check_text (call, 1, error)))
    return FALSE;
  call->data = call->n_args == 2
                   ? "(epoch_us(sluice_parse_instant($1, $2, $zone, false)) // 1000000)"
                   : "(epoch_us(sluice_parse_instant($1, 'yyyy-MM-dd HH:mm:ss', $zone, false)) // 1000000)";
  return TRUE;
}

/* These take a TIMESTAMP and no string. */
static gboolean
bind_exact_timestamp (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (kind == BASE_TYPE_STRING || !relation_call_want (call, 0, BASE_TYPE_TIMESTAMP, "TIMESTAMP", NULL))
    return relation_call_type_error (call, 0, "TIMESTAMP", error);
  return TRUE;
}

/* timestamp_seconds(number) */
static gboolean
bind_timestamp_seconds (RelationCall *call, GError **error)
{
  if (base_type_is_integral (call->args[0]->type)) {
    call->data = "sluice_timestamp_units(CAST($1 AS BIGINT), 1000000)";
    return TRUE;
  }
  (void) error;
  call->replacement = relation_expr_new_cast (call->binder, call->args[0], call->type);
  call->replacement->display = call->display;
  return TRUE;
}

/* ---- makers ---- */

/* (year, month, day, hour, minute, seconds[, zone]) */
static gboolean
bind_make_timestamp (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean try_it = g_str_has_prefix (call->name, "try_");
  gboolean ntz = g_str_has_suffix (call->name, "_ntz");
  relation_call_cast (call, 5, base_type_decimal (16, 6));
  relation_call_set_kind (call, ntz ? BASE_TYPE_TIMESTAMP_NTZ : BASE_TYPE_TIMESTAMP);
  call->data = relation_binder_printf (call->binder, "$k{sluice_make_timestamp}($1, $2, $3, $4, $5, $6, %s, %s)",
                                       ntz                 ? "''"
                                       : call->n_args == 7 ? "$7"
                                                           : "$zone",
                                       try_it ? "true" : "false");
  call->nullable |= try_it;
  return TRUE;
}

/* ---- the clock ---- */

static gboolean
bind_now (RelationCall *call, GError **error)
{
  if (call->n_args > 0)
    return relation_call_error (call, error, SLUICE_ERROR_INVALID_TIMESTAMP_PRECISION,
                                "`%s` takes no precision other than 6", call->name);
  RelationExpr *now = relation_expr_new_now (call->binder, "current_timestamp()");
  BaseTypeKind kind = strstr (call->name, "date") != NULL          ? BASE_TYPE_DATE
                      : strcmp (call->name, "localtimestamp") == 0 ? BASE_TYPE_TIMESTAMP_NTZ
                                                                   : BASE_TYPE_TIMESTAMP;
  call->replacement =
      relation_expr_new_cast (call->binder, now, relation_binder_keep_type (call->binder, base_type_simple (kind)));
  call->replacement->display = relation_binder_printf (call->binder, "%s()", call->name);
  return TRUE;
}

/* ---- zones ---- */

/* convert_timezone([from,] to, wall) */
static gboolean
bind_convert_timezone (RelationCall *call, GError **error)
{
  guint last = call->n_args - 1;
  for (guint i = 0; i < last; i++)
    if (!check_text (call, i, error))
      return FALSE;
  if (!relation_call_want (call, last, BASE_TYPE_TIMESTAMP_NTZ, "TIMESTAMP_NTZ", error))
    return FALSE;
  relation_call_set_kind (call, BASE_TYPE_TIMESTAMP_NTZ);
  call->data = call->n_args == 3 ? "sluice_to_wall(sluice_to_instant($3, $1), $2)"
                                 : "sluice_to_wall(sluice_to_instant($2, $zone), $1)";
  return TRUE;
}

/* time_bucket(width, time[, origin]) */
static gboolean
bind_time_bucket (RelationCall *call, GError **error)
{
  BaseTypeKind time = relation_arg_kind (call, 1);
  if (relation_arg_kind (call, 0) != BASE_TYPE_INTERVAL_DAY_TIME)
    return relation_call_type_error (call, 0, "a day-time interval", error);
  if (time != BASE_TYPE_TIMESTAMP_NTZ)
    return time == BASE_TYPE_TIMESTAMP ? relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                                              "`time_bucket` of TIMESTAMP is not supported")
                                       : relation_call_type_error (call, 1, "TIMESTAMP or TIMESTAMP_NTZ", error);
  if (call->n_args == 3 && relation_arg_kind (call, 2) != time)
    return relation_call_type_error (call, 2, "the type of the second argument", error);
  relation_call_set_kind (call, time);
  call->data =
      call->n_args == 3 ? "sluice_time_bucket($1, $2, $3)" : "sluice_time_bucket($1, $2, TIMESTAMP '1970-01-01')";
  return TRUE;
}

/* window_time(window): the last microsecond of it */
static gboolean
bind_window_time (RelationCall *call, GError **error)
{
  const BaseType *type = call->args[0]->type;
  int end = base_type_kind (type) == BASE_TYPE_STRUCT ? base_type_field_index (type, "end", FALSE) : -1;
  if (end < 0)
    return relation_call_type_error (call, 0, "a window", error);
  relation_call_set_type (call, base_type_ref (base_type_field (type, (guint) end)->type));
  return TRUE;
}

#define DATE_FIELD(function, number, text)                                                                             \
  {                                                                                                                    \
    .names = function, .args = "date", .result = "int",                                                                \
    .lower = "sluice_time_field(" number ", CAST($1 AS TIMESTAMP))", .doc = text                                       \
  }

const RelationFunction *
relation_function_rows_datetime (void)
{
  static const RelationFunction rows[] = {
    DATE_FIELD ("year", "0", "year of a date"),
    DATE_FIELD ("quarter", "1", "quarter of a date"),
    DATE_FIELD ("month", "2", "month of a date"),
    DATE_FIELD ("day dayofmonth", "3", "day of the month"),
    DATE_FIELD ("weekofyear", "4", "ISO week of a date"),
    DATE_FIELD ("dayofweek", "6", "day of the week, Sunday = 1"),
    DATE_FIELD ("weekday", "8", "day of the week, Monday = 0"),
    DATE_FIELD ("dayofyear", "9", "day of the year"),
    { .names = "hour minute second",
      .args = "any",
      .result = "int",
      .doc = "part of the time of day",
      .bind = bind_clock_field,
      .lower_call = relation_lower_data },
    { .names = "extract",
      .args = "string any",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "EXTRACT(field FROM source)",
      .display = "extract($1 FROM $2)",
      .bind = bind_extract,
      .lower_call = relation_lower_data },
    { .names = "date_part datepart",
      .args = "string any",
      .doc = "a field of a date, timestamp or interval",
      .bind = bind_extract,
      .lower_call = relation_lower_data },
    { .names = "dayname", .args = "date", .result = "string", .lower = "sluice_day_name($1)", .doc = "`Mon` … `Sun`" },
    { .names = "monthname",
      .args = "date",
      .result = "string",
      .lower = "sluice_month_name($1)",
      .doc = "`Jan` … `Dec`" },
    { .names = "date_add dateadd",
      .args = "date any",
      .result = "date",
      .lower = "($1 + $2)",
      .doc = "a date some days later; with a unit first, a timestamp later by it",
      .bind = bind_date_add },
    { .names = "date_sub",
      .args = "date any",
      .result = "date",
      .lower = "($1 - $2)",
      .doc = "a date some days earlier",
      .bind = bind_date_add },
    { .names = "timestampadd dateadd date_add",
      .args = "string long any",
      .doc = "a timestamp later by a number of units",
      .bind = bind_timestamp_add,
      .lower_call = relation_lower_data },
    { .names = "datediff date_diff",
      .args = "date date",
      .result = "int",
      .lower = "CAST($1 - $2 AS INTEGER)",
      .doc =
          "days from the second date to the first; with a unit first, whole units from the first time to the second" },
    { .names = "timestampdiff datediff date_diff",
      .args = "string any any",
      .result = "long",
      .lower = "sluice_timestamp_diff($1, $2, $3)",
      .doc = "whole units from the first time to the second",
      .bind = bind_timestamp_diff },
    { .names = "add_months",
      .args = "date int",
      .result = "date",
      .lower = "sluice_add_months($1, $2)",
      .doc = "a date some months later" },
    { .names = "months_between",
      .args = "timestamp timestamp boolean=true",
      .result = "double",
      .lower = "sluice_months_between($1, $2, $3)",
      .doc = "months from the second time to the first",
      .bind = bind_walls },
    { .names = "last_day", .args = "date", .result = "date", .lower = "last_day($1)", .doc = "last day of the month" },
    { .names = "next_day",
      .args = "date string",
      .result = "date",
      .lower = "sluice_next_day($1, $2)",
      .doc = "the next such weekday" },
    { .names = "trunc",
      .args = "date string",
      .result = "date",
      .lower = "sluice_trunc($1, $2)",
      .flags = NULLABLE,
      .doc = "start of the year, quarter, month or week" },
    { .names = "date_trunc",
      .args = "string timestamp",
      .result = "timestamp",
      .lower = "sluice_date_trunc($1, $2, $zone)",
      .flags = NULLABLE,
      .doc = "start of the unit that holds the time" },
    { .names = "date_format",
      .args = "timestamp string",
      .result = "string",
      .lower = "sluice_date_format($1, $2, $zone)",
      .doc = "a time printed by a pattern" },
    { .names = "to_date",
      .args = "any string?",
      .doc = "a date read by a pattern, or cast",
      .bind = bind_to_date,
      .lower_call = lower_parse },
    { .names = "try_to_date",
      .args = "any string?",
      .doc = "as to_date, NULL when it cannot be read",
      .bind = bind_try_to_date,
      .lower_call = lower_parse },
    { .names = "to_timestamp to_timestamp_ltz",
      .args = "any string?",
      .doc = "a timestamp read by a pattern, or cast",
      .bind = bind_to_timestamp,
      .lower_call = lower_parse },
    { .names = "try_to_timestamp",
      .args = "any string?",
      .doc = "as to_timestamp, NULL when it cannot be read",
      .bind = bind_try_to_timestamp,
      .lower_call = lower_parse },
    { .names = "to_timestamp_ntz",
      .args = "any string?",
      .doc = "a timestamp without zone read by a pattern, or cast",
      .bind = bind_to_timestamp_ntz,
      .lower_call = lower_parse },
    { .names = "unix_timestamp",
      .args = "any? string?",
      .result = "long",
      .doc = "seconds since 1970 of a time, a text read by a pattern, or now",
      .bind = bind_unix_timestamp,
      .lower_call = relation_lower_data },
    { .names = "to_unix_timestamp",
      .args = "any string?",
      .result = "long",
      .doc = "seconds since 1970 of a time or a text read by a pattern",
      .bind = bind_unix_timestamp,
      .lower_call = relation_lower_data },
    { .names = "from_unixtime",
      .args = "long string='yyyy-MM-dd HH:mm:ss'",
      .result = "string",
      .lower = "sluice_date_format(sluice_timestamp_units($1, 1000000), $2, $zone)",
      .doc = "seconds since 1970 printed by a pattern" },
    { .names = "timestamp_seconds",
      .args = "numeric",
      .result = "timestamp",
      .doc = "the time so many seconds after 1970",
      .bind = bind_timestamp_seconds,
      .lower_call = relation_lower_data },
    { .names = "timestamp_millis",
      .args = "integral",
      .result = "timestamp",
      .lower = "sluice_timestamp_units(CAST($1 AS BIGINT), 1000)",
      .doc = "the time so many milliseconds after 1970" },
    { .names = "timestamp_micros",
      .args = "integral",
      .result = "timestamp",
      .lower = "sluice_timestamp_units(CAST($1 AS BIGINT), 1)",
      .doc = "the time so many microseconds after 1970" },
    { .names = "unix_date",
      .args = "date",
      .result = "int",
      .lower = "CAST($1 - DATE '1970-01-01' AS INTEGER)",
      .doc = "days since 1970" },
    { .names = "date_from_unix_date",
      .args = "int",
      .result = "date",
      .lower = "(DATE '1970-01-01' + $1)",
      .doc = "the date so many days after 1970" },
    { .names = "unix_seconds",
      .args = "any",
      .bind = bind_exact_timestamp,
      .result = "long",
      .lower = "((epoch_us($1) - ((epoch_us($1) % 1000000 + 1000000) % 1000000)) // 1000000)",
      .doc = "whole seconds since 1970" },
    { .names = "unix_millis",
      .args = "any",
      .bind = bind_exact_timestamp,
      .result = "long",
      .lower = "((epoch_us($1) - ((epoch_us($1) % 1000 + 1000) % 1000)) // 1000)",
      .doc = "whole milliseconds since 1970" },
    { .names = "unix_micros",
      .args = "any",
      .bind = bind_exact_timestamp,
      .result = "long",
      .lower = "epoch_us($1)",
      .doc = "microseconds since 1970" },
    { .names = "make_date",
      .args = "int int int",
      .result = "date",
      .lower = "sluice_make_date($1, $2, $3)",
      .doc = "a date of year, month and day" },
    { .names = "make_timestamp make_timestamp_ltz try_make_timestamp try_make_timestamp_ltz",
      .args = "int int int int int decimal string?",
      .doc = "a timestamp of its parts, in a zone",
      .bind = bind_make_timestamp,
      .lower_call = relation_lower_data },
    { .names = "make_timestamp_ntz try_make_timestamp_ntz",
      .args = "int int int int int decimal",
      .doc = "a timestamp without zone of its parts",
      .bind = bind_make_timestamp,
      .lower_call = relation_lower_data },
    { .names = "from_utc_timestamp",
      .args = "timestamp string",
      .result = "timestamp",
      .lower = "sluice_to_instant(sluice_to_wall($1, $2), 'UTC')",
      .doc = "the time moved as if it were UTC and shown in a zone" },
    { .names = "to_utc_timestamp",
      .args = "timestamp string",
      .result = "timestamp",
      .lower = "sluice_to_instant(sluice_to_wall($1, 'UTC'), $2)",
      .doc = "the time moved as if it were in a zone and shown in UTC" },
    { .names = "convert_timezone",
      .args = "any any any?",
      .doc = "a wall-clock time of one zone in another",
      .bind = bind_convert_timezone,
      .lower_call = relation_lower_data },
    { .names = "window_time",
      .args = "any",
      .lower = "(struct_extract($1, 'end') - to_microseconds(1))",
      .doc = "the last microsecond of a window",
      .bind = bind_window_time },
    { .names = "time_bucket",
      .args = "any any any?",
      .doc = "start of the bucket of a width that holds the time",
      .bind = bind_time_bucket,
      .lower_call = relation_lower_data },
    { .names = "now current_timestamp localtimestamp",
      .args = "any?",
      .flags = RELATION_FUNCTION_CLOCK,
      .doc = "the time of the statement",
      .bind = bind_now },
    { .names = "current_date curdate",
      .args = "",
      .flags = RELATION_FUNCTION_CLOCK,
      .doc = "the date of the statement in the session's zone",
      .bind = bind_now },
    { .names = "current_timezone", .args = "", .result = "string", .lower = "$zone", .doc = "the session's time zone" },
    { .names = NULL },
  };
  return rows;
}

/* The cast kernel: any value to any type, nested or not, by Spark's ANSI rules.
 *
 * `sluice_cast__<type>(value, spec)`; spec = {"from": type, "to": type, "mode": "ansi" | "try" | "store", "column": of the table (store), "zone": name} with types
 * in Spark's JSON form. Lowering uses it wherever DuckDB's own cast answers differently; a pair of types reaches it only after
 * relation_cast_check().
 */
#include "base-json.h"
#include "relation-interval-private.h"
#include "relation-kernel-private.h"

#include <math.h>
#include <string.h>

static gboolean fail (const RelationConvert *convert, DuckVector *out, guint64 row, GError **error, SluiceError code,
                      const char *format, ...) G_GNUC_PRINTF (6, 7);

static gboolean
fail (const RelationConvert *convert, DuckVector *out, guint64 row, GError **error, SluiceError code,
      const char *format, ...)
{
  if (convert->try_cast) {
    duck_vector_set_null (out, row);
    return TRUE;
  }
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  return base_error_set (error, code, "%s", message);
}

static gboolean
fail_input (const RelationConvert *convert, const char *text, gsize size, const BaseType *to, DuckVector *out,
            guint64 row, GError **error)
{
  if (convert->try_cast) {
    duck_vector_set_null (out, row);
    return TRUE;
  }
  g_autofree char *name = base_type_text (to);
  return base_error_set (error, SLUICE_ERROR_CAST_INVALID_INPUT,
                         "the value '%.*s' of type STRING cannot be cast to %s because it is malformed",
                         (int) MIN (size, 200), text, name);
}

static gboolean
fail_overflow (const RelationConvert *convert, const BaseType *to, DuckVector *out, guint64 row, GError **error)
{
  if (convert->try_cast) {
    duck_vector_set_null (out, row);
    return TRUE;
  }
  g_autofree char *name = base_type_text (to);
  if (!convert->store)
    return base_error_set (error, SLUICE_ERROR_CAST_OVERFLOW, "a value does not fit %s", name);
  base_error_set (error, SLUICE_ERROR_CAST_OVERFLOW_IN_TABLE_INSERT, "a value does not fit %s, the type of column %s",
                  name, convert->column != NULL ? convert->column : "(unknown)");
  if (convert->column != NULL)
    base_error_add_param (error, "columnName", convert->column);
  base_error_set_hint (error, "try_cast gives NULL for such values; ALTER TABLE … ALTER COLUMN … TYPE widens a column, "
                              "with delta.enableTypeWidening = true");
  return FALSE;
}

static gboolean
fail_decimal (const RelationConvert *convert, const BaseType *to, DuckVector *out, guint64 row, GError **error)
{
  return fail (convert, out, row, error, SLUICE_ERROR_NUMERIC_VALUE_OUT_OF_RANGE_WITH_SUGGESTION,
               "a value cannot be represented as DECIMAL(%u, %u)", base_type_precision (to), base_type_scale (to));
}

/* Seconds of a unit, for intervals that end in it. */
static gint64
field_us (BaseIntervalField field)
{
  switch (field) {
  case BASE_INTERVAL_DAY:
    return RELATION_US_PER_DAY;
  case BASE_INTERVAL_HOUR:
    return G_GINT64_CONSTANT (3600000000);
  case BASE_INTERVAL_MINUTE:
    return 60000000;
  default:
    return RELATION_US_PER_SECOND;
  }
}

static gint64
interval_unit (const BaseType *type)
{
  if (base_type_kind (type) == BASE_TYPE_INTERVAL_YEAR_MONTH)
    return base_type_interval_to (type) == BASE_INTERVAL_YEAR ? 12 : 1;
  return field_us (base_type_interval_to (type));
}

/* ---- from strings ---- */

static gboolean
text_to_instant (const RelationConvert *convert, const char *text, gsize size, const BaseType *to, DuckVector *out,
                 guint64 row, GError **error)
{
  RelationWall wall;
  gboolean is_ntz = base_type_kind (to) == BASE_TYPE_TIMESTAMP_NTZ;
  if (!relation_text_to_wall (text, size, &wall) || (is_ntz && wall.time_only))
    return fail_input (convert, text, size, to, out, row, error);
  const RelationZone *zone = convert->zone;
  if (wall.zone != NULL) {
    GError *zone_error = NULL;
    zone = relation_zones_get (convert->kernels->zones, wall.zone, wall.zone_size, &zone_error);
    if (zone == NULL) {
      gboolean unknown = g_error_matches (zone_error, SLUICE_ERROR, SLUICE_ERROR_INVALID_TIMEZONE);
      if (!unknown) {
        g_propagate_error (error, zone_error);
        return FALSE;
      }
      g_error_free (zone_error);
      return fail_input (convert, text, size, to, out, row, error);
    }
  }
  if (wall.time_only)
    return fail (convert, out, row, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                 "a time without a date cannot be cast to TIMESTAMP: the day would depend on the clock");
  gint64 us = is_ntz ? wall.wall_us : relation_zone_to_instant (zone, wall.wall_us);
  duck_vector_set (out, gint64, row, us);
  return TRUE;
}

static gboolean
text_to_decimal (const RelationConvert *convert, const char *text, gsize size, const BaseType *to, DuckVector *out,
                 guint64 row, GError **error)
{
  RelationInt128 value;
  switch (relation_text_to_decimal (text, size, base_type_precision (to), base_type_scale (to), &value)) {
  case RELATION_DECIMAL_OK:
    duck_vector_set_int128 (out, row, value);
    return TRUE;
  case RELATION_DECIMAL_BAD_TEXT:
    return fail_input (convert, text, size, to, out, row, error);
  case RELATION_DECIMAL_OUT_OF_RANGE:
    return fail_decimal (convert, to, out, row, error);
  }
  return FALSE;
}

static gboolean
text_to_interval (const RelationConvert *convert, const char *text, gsize size, const BaseType *to, DuckVector *out,
                  guint64 row, GError **error)
{
  gint64 value;
  if (base_type_kind (to) == BASE_TYPE_INTERVAL_CALENDAR) {
    DuckInterval interval;
    if (!relation_text_to_calendar_interval (text, size, &interval.months, &interval.days, &interval.us))
      return fail_input (convert, text, size, to, out, row, error);
    duck_vector_set (out, DuckInterval, row, interval);
    return TRUE;
  }
  if (!relation_text_to_interval (text, size, base_type_interval_from (to), base_type_interval_to (to), &value))
    return fail (convert, out, row, error, SLUICE_ERROR_INVALID_INTERVAL_FORMAT_UNMATCHED_FORMAT_STRING_WITH_NOTICE,
                 "'%.*s' is not an interval of this form", (int) MIN (size, 200), text);
  if (base_type_kind (to) == BASE_TYPE_INTERVAL_YEAR_MONTH)
    duck_vector_set (out, gint32, row, (gint32) value);
  else
    duck_vector_set (out, gint64, row, value);
  return TRUE;
}

gboolean
relation_convert_text (const RelationConvert *convert, const char *text, gsize size, const BaseType *to,
                       DuckVector *out, guint64 row, GError **error)
{
  gint64 integer;
  double number;
  float small;
  gboolean truth;
  switch (base_type_kind (to)) {
  case BASE_TYPE_BOOLEAN:
    if (!relation_text_to_boolean (text, size, &truth))
      break;
    duck_vector_set (out, guint8, row, (guint8) truth);
    return TRUE;
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    if (!relation_text_to_int64 (text, size, G_MININT64, G_MAXINT64, &integer) ||
        !relation_vector_store_integer (out, row, integer))
      break;
    return TRUE;
  case BASE_TYPE_FLOAT:
    if (!relation_text_to_float (text, size, &small))
      break;
    duck_vector_set (out, float, row, small);
    return TRUE;
  case BASE_TYPE_DOUBLE:
    if (!relation_text_to_double (text, size, &number))
      break;
    duck_vector_set (out, double, row, number);
    return TRUE;
  case BASE_TYPE_DECIMAL:
    return text_to_decimal (convert, text, size, to, out, row, error);
  case BASE_TYPE_DATE:
    if (!relation_text_to_date (text, size, &integer))
      break;
    duck_vector_set (out, gint32, row, (gint32) integer);
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    return text_to_instant (convert, text, size, to, out, row, error);
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR:
    return text_to_interval (convert, text, size, to, out, row, error);
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    duck_vector_set_string (out, row, text, size);
    return TRUE;
  case BASE_TYPE_VOID:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "no cast from STRING to a nested type");
  }
  return fail_input (convert, text, size, to, out, row, error);
}

/* ---- from numbers ---- */

static gboolean
integer_to (const RelationConvert *convert, gint64 value, const BaseType *to, DuckVector *out, guint64 row,
            GError **error)
{
  RelationInt128 decimal;
  switch (base_type_kind (to)) {
  case BASE_TYPE_BOOLEAN:
    duck_vector_set (out, guint8, row, value != 0);
    return TRUE;
  case BASE_TYPE_FLOAT:
    duck_vector_set (out, float, row, (float) value);
    return TRUE;
  case BASE_TYPE_DOUBLE:
    duck_vector_set (out, double, row, (double) value);
    return TRUE;
  case BASE_TYPE_DECIMAL:
    if (!relation_decimal_rescale (value, 0, (int) base_type_scale (to), base_type_precision (to),
                                   RELATION_ROUND_HALF_UP, &decimal))
      return fail_decimal (convert, to, out, row, error);
    duck_vector_set_int128 (out, row, decimal);
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
    if (value > G_MAXINT64 / 1000000 - 1 || value < G_MININT64 / 1000000 + 1)
      return fail (convert, out, row, error, SLUICE_ERROR_DATETIME_OVERFLOW, "a number of seconds is beyond TIMESTAMP");
    duck_vector_set (out, gint64, row, value * RELATION_US_PER_SECOND);
    return TRUE;
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return relation_vector_store_integer (out, row, (RelationInt128) value * interval_unit (to)) ||
           fail_overflow (convert, to, out, row, error);
  default:
    return relation_vector_store_integer (out, row, value) || fail_overflow (convert, to, out, row, error);
  }
}

static gboolean
double_to (const RelationConvert *convert, double value, const BaseType *to, DuckVector *out, guint64 row,
           GError **error)
{
  RelationInt128 decimal;
  switch (base_type_kind (to)) {
  case BASE_TYPE_BOOLEAN:
    duck_vector_set (out, guint8, row, !(value == 0));
    return TRUE;
  case BASE_TYPE_FLOAT:
    duck_vector_set (out, float, row, (float) value);
    return TRUE;
  case BASE_TYPE_DOUBLE:
    duck_vector_set (out, double, row, value);
    return TRUE;
  case BASE_TYPE_DECIMAL:
    if (!isfinite (value)) {
      duck_vector_set_null (out, row);
      return TRUE;
    }
    if (relation_double_to_decimal (value, base_type_precision (to), base_type_scale (to), &decimal) !=
        RELATION_DECIMAL_OK)
      return fail_decimal (convert, to, out, row, error);
    duck_vector_set_int128 (out, row, decimal);
    return TRUE;
  case BASE_TYPE_TIMESTAMP: {
    if (!isfinite (value))
      return fail (convert, out, row, error, SLUICE_ERROR_CAST_INVALID_INPUT,
                   "a number that is not finite is no TIMESTAMP");
    double us = value * 1e6;
    if (!(us > -9.2233720368547748e18 && us < 9.2233720368547748e18))
      return fail_overflow (convert, to, out, row, error);
    duck_vector_set (out, gint64, row, (gint64) us);
    return TRUE;
  }
  default:
    return (value >= -9223372036854775808.0 && value < 9223372036854775808.0 &&
            relation_vector_store_integer (out, row, (gint64) value)) ||
           fail_overflow (convert, to, out, row, error);
  }
}

static gboolean
decimal_to (const RelationConvert *convert, RelationInt128 value, guint scale, const BaseType *to, DuckVector *out,
            guint64 row, GError **error)
{
  RelationInt128 result;
  switch (base_type_kind (to)) {
  case BASE_TYPE_BOOLEAN:
    duck_vector_set (out, guint8, row, value != 0);
    return TRUE;
  case BASE_TYPE_FLOAT:
    duck_vector_set (out, float, row, (float) relation_decimal_to_double (value, scale));
    return TRUE;
  case BASE_TYPE_DOUBLE:
    duck_vector_set (out, double, row, relation_decimal_to_double (value, scale));
    return TRUE;
  case BASE_TYPE_DECIMAL:
    if (!relation_decimal_rescale (value, (int) scale, (int) base_type_scale (to), base_type_precision (to),
                                   RELATION_ROUND_HALF_UP, &result))
      return fail_decimal (convert, to, out, row, error);
    duck_vector_set_int128 (out, row, result);
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
    if (!relation_decimal_rescale (value, (int) scale, 6, 38, RELATION_ROUND_DOWN, &result) ||
        result < G_MININT64 + 1 || result >= G_MAXINT64)
      return fail (convert, out, row, error, SLUICE_ERROR_DATETIME_OVERFLOW, "a number of seconds is beyond TIMESTAMP");
    duck_vector_set (out, gint64, row, (gint64) result);
    return TRUE;
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return (relation_decimal_multiply (value, scale, interval_unit (to), 0, 38, 0, &result) &&
            relation_vector_store_integer (out, row, result)) ||
           fail_overflow (convert, to, out, row, error);
  default:
    return (relation_decimal_rescale (value, (int) scale, 0, 38, RELATION_ROUND_DOWN, &result) &&
            relation_vector_store_integer (out, row, result)) ||
           fail_overflow (convert, to, out, row, error);
  }
}

/* ---- from times ---- */

static gboolean
instant_to (const RelationConvert *convert, gint64 us, const BaseType *to, DuckVector *out, guint64 row, GError **error)
{
  RelationInt128 decimal;
  switch (base_type_kind (to)) {
  case BASE_TYPE_DATE:
    duck_vector_set (out, gint32, row,
                     (gint32) relation_floor_div (relation_zone_to_wall (convert->zone, us), RELATION_US_PER_DAY));
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
    duck_vector_set (out, gint64, row, us);
    return TRUE;
  case BASE_TYPE_TIMESTAMP_NTZ:
    duck_vector_set (out, gint64, row, relation_zone_to_wall (convert->zone, us));
    return TRUE;
  case BASE_TYPE_FLOAT:
    duck_vector_set (out, float, row, (float) ((double) us / 1e6));
    return TRUE;
  case BASE_TYPE_DOUBLE:
    duck_vector_set (out, double, row, (double) us / 1e6);
    return TRUE;
  case BASE_TYPE_DECIMAL:
    if (relation_double_to_decimal ((double) us / 1e6, base_type_precision (to), base_type_scale (to), &decimal) !=
        RELATION_DECIMAL_OK)
      return fail_decimal (convert, to, out, row, error);
    duck_vector_set_int128 (out, row, decimal);
    return TRUE;
  default:
    return integer_to (convert, relation_floor_div (us, RELATION_US_PER_SECOND), to, out, row, error);
  }
}

static gboolean
wall_to (const RelationConvert *convert, gint64 us, const BaseType *to, DuckVector *out, guint64 row)
{
  if (base_type_kind (to) == BASE_TYPE_DATE)
    duck_vector_set (out, gint32, row, (gint32) relation_floor_div (us, RELATION_US_PER_DAY));
  else if (base_type_kind (to) == BASE_TYPE_TIMESTAMP)
    duck_vector_set (out, gint64, row, relation_zone_to_instant (convert->zone, us));
  else
    duck_vector_set (out, gint64, row, us);
  return TRUE;
}

static gboolean
interval_to (const RelationConvert *convert, gint64 value, const BaseType *from, const BaseType *to, DuckVector *out,
             guint64 row, GError **error)
{
  RelationInt128 decimal;
  if (base_type_kind (to) == BASE_TYPE_INTERVAL_YEAR_MONTH || base_type_kind (to) == BASE_TYPE_INTERVAL_DAY_TIME) {
    duck_vector_set_int128 (out, row, value / interval_unit (to) * interval_unit (to));
    if (base_type_kind (to) == BASE_TYPE_INTERVAL_DAY_TIME && base_type_interval_to (to) == BASE_INTERVAL_SECOND)
      duck_vector_set_int128 (out, row, value);
    return TRUE;
  }
  gint64 unit = interval_unit (from);
  if (base_type_kind (to) != BASE_TYPE_DECIMAL)
    return integer_to (convert, value / unit, to, out, row, error);
  if (!relation_decimal_divide (value, 0, unit, 0, base_type_precision (to), base_type_scale (to), &decimal))
    return fail_decimal (convert, to, out, row, error);
  duck_vector_set_int128 (out, row, decimal);
  return TRUE;
}

/* ---- nested ---- */

static gboolean
convert_nested (const RelationConvert *convert, const BaseType *from, const DuckVector *in, guint64 row,
                const BaseType *to, DuckVector *out, guint64 out_row, GError **error)
{
  if (base_type_kind (from) == BASE_TYPE_STRUCT) {
    for (guint i = 0; i < base_type_n_fields (to); i++)
      if (!relation_convert_value (convert, base_type_field (from, i)->type, &in->children[i], row,
                                   base_type_field (to, i)->type, &out->children[i], out_row, error))
        return FALSE;
    return TRUE;
  }
  DuckListEntry entry = duck_vector_list (in, row);
  guint64 start = duck_vector_set_list (out, out_row, entry.length);
  gboolean is_map = base_type_kind (from) == BASE_TYPE_MAP;
  for (guint64 i = 0; i < entry.length; i++) {
    const BaseType *first = is_map ? base_type_key (from) : base_type_element (from);
    if (!relation_convert_value (convert, first, &in->children[0], entry.offset + i,
                                 is_map ? base_type_key (to) : base_type_element (to), &out->children[0], start + i,
                                 error))
      return FALSE;
    if (is_map && !relation_convert_value (convert, base_type_value (from), &in->children[1], entry.offset + i,
                                           base_type_value (to), &out->children[1], start + i, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
relation_convert_value (const RelationConvert *convert, const BaseType *from, const DuckVector *in, guint64 row,
                        const BaseType *to, DuckVector *out, guint64 out_row, GError **error)
{
  gsize size;
  if (base_type_kind (from) == BASE_TYPE_VOID || duck_vector_is_null (in, row)) {
    duck_vector_set_null (out, out_row);
    return TRUE;
  }
  if (base_type_kind (to) == BASE_TYPE_STRING) {
    if (base_type_kind (from) == BASE_TYPE_STRING) {
      const char *same = duck_vector_string (in, row, &size);
      duck_vector_set_string (out, out_row, same, size);
      return TRUE;
    }
    g_autoptr (GString) text = g_string_new (NULL);
    if (!relation_value_append_text (text, from, in, row, convert->zone, error))
      return FALSE;
    relation_vector_set_gstring (out, out_row, text);
    return TRUE;
  }
  switch (base_type_kind (from)) {
  case BASE_TYPE_VOID:
    return TRUE;
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY: {
    const char *text = duck_vector_string (in, row, &size);
    return relation_convert_text (convert, text, size, to, out, out_row, error);
  }
  case BASE_TYPE_BOOLEAN:
    return integer_to (convert, duck_vector_bool (in, row), to, out, out_row, error);
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    return integer_to (convert, duck_vector_int64 (in, row), to, out, out_row, error);
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return double_to (convert, duck_vector_double (in, row), to, out, out_row, error);
  case BASE_TYPE_DECIMAL:
    return decimal_to (convert, duck_vector_int128 (in, row), base_type_scale (from), to, out, out_row, error);
  case BASE_TYPE_DATE:
    return wall_to (convert, duck_vector_int64 (in, row) * RELATION_US_PER_DAY, to, out, out_row);
  case BASE_TYPE_TIMESTAMP_NTZ:
    return wall_to (convert, duck_vector_int64 (in, row), to, out, out_row);
  case BASE_TYPE_TIMESTAMP:
    return instant_to (convert, duck_vector_int64 (in, row), to, out, out_row, error);
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return interval_to (convert, duck_vector_int64 (in, row), from, to, out, out_row, error);
  case BASE_TYPE_INTERVAL_CALENDAR:
    duck_vector_set (out, DuckInterval, out_row, duck_vector_interval (in, row));
    return TRUE;
  case BASE_TYPE_VARIANT:
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "a cast of VARIANT is not supported");
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return convert_nested (convert, from, in, row, to, out, out_row, error);
  }
  return FALSE;
}

/* ---- the kernel ---- */

typedef struct {
  BaseType *from, *to;
  char *column; /* (nullable) */
  RelationConvert convert;
} CastBind;

static void
cast_bind_free (gpointer data)
{
  CastBind *bind = data;
  base_type_unref (bind->from);
  base_type_unref (bind->to);
  g_free (bind->column);
  g_free (bind);
}

static gboolean
cast_bind (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data, GError **error)
{
  g_autoptr (json_t) spec = relation_kernel_spec (bind, 1, error);
  if (spec == NULL)
    return FALSE;
  const RelationZone *zone;
  if (!relation_kernel_spec_zone (user_data, spec, &zone, error))
    return FALSE;
  g_autoptr (BaseType) from = base_type_from_json (json_object_get (spec, "from"), error);
  if (from == NULL)
    return FALSE;
  g_autoptr (BaseType) to = base_type_from_json (json_object_get (spec, "to"), error);
  if (to == NULL)
    return FALSE;
  const char *mode = base_json_string (spec, "mode");
  CastBind *data = g_new0 (CastBind, 1);
  data->from = g_steal_pointer (&from);
  data->to = g_steal_pointer (&to);
  data->column = g_strdup (base_json_string (spec, "column"));
  data->convert = (RelationConvert){ .kernels = user_data,
                                     .zone = zone,
                                     .try_cast = g_strcmp0 (mode, "try") == 0,
                                     .store = g_strcmp0 (mode, "store") == 0,
                                     .column = data->column };
  *bind_data = data;
  return TRUE;
}

static gboolean
cast_run (const DuckKernelCall *call, GError **error)
{
  const CastBind *bind = call->bind_data;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    if (!relation_convert_value (&bind->convert, bind->from, &call->args[0], row, bind->to, call->result, row, error))
      return FALSE;
  }
  return TRUE;
}

const DuckKernel *
relation_kernel_rows_cast (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_cast",
      .args = { "ANY", "VARCHAR" },
      .run = cast_run,
      .bind = cast_bind,
      .free_bind_data = cast_bind_free },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

/* JSON text ⇄ values: get_json_object, from_json, to_json and their kin.
 *
 * The typed kernels have a description as argument 0 (relation_lower_spec): {"args": [types], "result": type, "zone": name,
 * "options": {…}}.
 */
#include "base-json.h"
#include "relation-interval-private.h"
#include "relation-json-private.h"
#include "relation-kernel-private.h"
#include "relation-pattern-private.h"

#include <string.h>

#define LENIENT (RELATION_JSON_SINGLE_QUOTES | RELATION_JSON_TRAILING)

/* (text, path) */
static gboolean
get_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *path = duck_vector_string (&call->args[1], row, &n);
    g_autoptr (RelationJson) json = relation_json_parse (text, size, LENIENT);
    g_autoptr (GString) out = g_string_new (NULL);
    RelationJsonPathOutcome outcome = json == NULL ? RELATION_JSON_NOT_FOUND : relation_json_path (json, path, n, out);
    if (outcome == RELATION_JSON_PATH_UNSUPPORTED)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "the JSON path '%.*s' is not supported",
                             (int) MIN (n, 200), path);
    if (outcome == RELATION_JSON_FOUND)
      relation_vector_set_gstring (call->result, row, out);
    else
      duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* (text, name): a member of an object as text; json_tuple */
static gboolean
field_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size, n;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    const char *name = duck_vector_string (&call->args[1], row, &n);
    g_autoptr (RelationJson) json = relation_json_parse (text, size, LENIENT);
    const RelationJson *member =
        json != NULL && json->kind == RELATION_JSON_OBJECT ? relation_json_member (json, name, n) : NULL;
    if (member == NULL || member->kind == RELATION_JSON_NULL)
      duck_vector_set_null (call->result, row);
    else if (member->kind == RELATION_JSON_STRING)
      duck_vector_set_string (call->result, row, member->text, member->size);
    else {
      g_autoptr (GString) out = g_string_new (NULL);
      relation_json_print (out, member);
      relation_vector_set_gstring (call->result, row, out);
    }
  }
  return TRUE;
}

static gboolean
array_length_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (RelationJson) json = relation_json_parse (text, size, LENIENT);
    if (json == NULL || json->kind != RELATION_JSON_ARRAY)
      duck_vector_set_null (call->result, row);
    else
      duck_vector_set (call->result, gint32, row, (gint32) json->items->len);
  }
  return TRUE;
}

static gboolean
object_keys_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[0], row, &size);
    g_autoptr (RelationJson) json = relation_json_parse (text, size, LENIENT);
    if (json == NULL || json->kind != RELATION_JSON_OBJECT) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    guint64 start = duck_vector_set_list (call->result, row, json->keys->len);
    for (guint i = 0; i < json->keys->len; i++) {
      const GString *key = g_ptr_array_index (json->keys, i);
      duck_vector_set_string (&call->result->children[0], start + i, key->str, key->len);
    }
  }
  return TRUE;
}

/* ---- descriptions ---- */

typedef struct {
  BaseType *arg, *result;
  RelationConvert convert;
  RelationJsonFlags flags;
  RelationPattern *date, *timestamp; /* (nullable) */
  char *corrupt;                     /* (nullable): name of the column for bad records */
  gboolean fail_fast, keep_nulls, pretty;
} JsonBind;

static void
json_bind_free (gpointer data)
{
  JsonBind *bind = data;
  base_type_unref (bind->arg);
  base_type_unref (bind->result);
  relation_pattern_free (bind->date);
  relation_pattern_free (bind->timestamp);
  g_free (bind->corrupt);
  g_free (bind);
}

static gboolean
option_is (const json_t *options, const char *key, gboolean fallback)
{
  const char *value = options == NULL ? NULL : base_json_string (options, key);
  return value == NULL ? fallback : g_ascii_strcasecmp (value, "true") == 0;
}

static gboolean
option_pattern (const json_t *options, const char *key, gboolean for_reading, RelationPattern **pattern, GError **error)
{
  const char *text = options == NULL ? NULL : base_json_string (options, key);
  if (text == NULL)
    return TRUE;
  *pattern = relation_pattern_new (text, strlen (text), for_reading, error);
  return *pattern != NULL;
}

static gboolean
json_bind (const DuckKernelBind *bind, gpointer user_data, gpointer *bind_data, GError **error)
{
  g_autoptr (json_t) spec = relation_kernel_spec (bind, 0, error);
  if (spec == NULL)
    return FALSE;
  const json_t *options = json_object_get (spec, "options");
  gboolean reading = json_is_true (json_object_get (spec, "reading"));
  JsonBind *data = g_new0 (JsonBind, 1);
  *bind_data = data;
  data->convert = (RelationConvert){ .kernels = user_data, .try_cast = TRUE };
  data->arg = base_type_from_json (json_array_get (json_object_get (spec, "args"), 0), error);
  data->result = data->arg == NULL ? NULL : base_type_from_json (json_object_get (spec, "result"), error);
  if (data->result == NULL || !relation_kernel_spec_zone (user_data, spec, &data->convert.zone, error) ||
      !option_pattern (options, "dateFormat", reading, &data->date, error) ||
      !option_pattern (options, "timestampFormat", reading, &data->timestamp, error)) {
    json_bind_free (data);
    *bind_data = NULL;
    return FALSE;
  }
  data->flags = RELATION_JSON_NAN;
  if (option_is (options, "allowSingleQuotes", TRUE))
    data->flags |= RELATION_JSON_SINGLE_QUOTES;
  if (option_is (options, "allowUnquotedFieldNames", FALSE))
    data->flags |= RELATION_JSON_BARE_NAMES;
  if (option_is (options, "allowNumericLeadingZeros", FALSE))
    data->flags |= RELATION_JSON_LEADING_ZEROS;
  if (option_is (options, "allowComments", FALSE))
    data->flags |= RELATION_JSON_COMMENTS;
  const char *mode = options == NULL ? NULL : base_json_string (options, "mode");
  data->fail_fast = mode != NULL && g_ascii_strcasecmp (mode, "FAILFAST") == 0;
  const char *corrupt = options == NULL ? NULL : base_json_string (options, "columnNameOfCorruptRecord");
  data->corrupt = g_strdup (corrupt != NULL ? corrupt : "_corrupt_record");
  data->keep_nulls = !option_is (options, "ignoreNullFields", TRUE);
  data->pretty = option_is (options, "pretty", FALSE);
  return TRUE;
}

/* ---- from_json ---- */

static gboolean read_value (const JsonBind *bind, const RelationJson *json, const BaseType *type, DuckVector *out,
                            guint64 row, gboolean *bad, GError **error);

static gboolean
read_pattern (const JsonBind *bind, const RelationPattern *pattern, const RelationJson *json, const BaseType *type,
              DuckVector *out, guint64 row, gboolean *bad)
{
  RelationPatternTime time;
  if (!relation_pattern_parse (pattern, json->text, json->size, &time) || time.zone[0] != '\0') {
    *bad = TRUE;
    duck_vector_set_null (out, row);
    return TRUE;
  }
  gint64 instant =
      time.has_offset ? time.wall_us - time.offset_us : relation_zone_to_instant (bind->convert.zone, time.wall_us);
  if (base_type_kind (type) == BASE_TYPE_DATE)
    duck_vector_set (out, gint32, row, (gint32) relation_floor_div (time.wall_us, RELATION_US_PER_DAY));
  else
    duck_vector_set (out, gint64, row, base_type_kind (type) == BASE_TYPE_TIMESTAMP ? instant : time.wall_us);
  return TRUE;
}

/* A scalar. @bad is set (and NULL written) when the value is not one of @type. */
static gboolean
read_scalar (const JsonBind *bind, const RelationJson *json, const BaseType *type, DuckVector *out, guint64 row,
             gboolean *bad, GError **error)
{
  BaseTypeKind kind = base_type_kind (type);
  gboolean is_text = json->kind == RELATION_JSON_STRING, is_number = json->kind == RELATION_JSON_NUMBER;
  gboolean is_whole = is_number && strpbrk (json->text, ".eEnN") == NULL;
  switch (kind) {
  case BASE_TYPE_STRING: {
    if (is_text) {
      duck_vector_set_string (out, row, json->text, json->size);
      return TRUE;
    }
    g_autoptr (GString) text = g_string_new (NULL);
    relation_json_print (text, json);
    relation_vector_set_gstring (out, row, text);
    return TRUE;
  }
  case BASE_TYPE_BOOLEAN:
    if (json->kind != RELATION_JSON_BOOLEAN)
      break;
    duck_vector_set (out, guint8, row, (guint8) json->truth);
    return TRUE;
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    if (!is_whole)
      break;
    return relation_convert_text (&bind->convert, json->text, json->size, type, out, row, error) &&
           (*bad |= !duck_vector_is_null (out, row) ? FALSE : TRUE, TRUE);
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    if (is_text && strcmp (json->text, "NaN") != 0 && strcmp (json->text, "Infinity") != 0 &&
        strcmp (json->text, "-Infinity") != 0 && strcmp (json->text, "+INF") != 0 && strcmp (json->text, "INF") != 0 &&
        strcmp (json->text, "-INF") != 0)
      break;
    if (!is_text && !is_number)
      break;
    return relation_convert_text (&bind->convert, json->text, json->size, type, out, row, error);
  case BASE_TYPE_DECIMAL: {
    RelationInt128 value;
    if ((!is_number && !is_text) || relation_text_to_decimal (json->text, json->size, base_type_precision (type),
                                                              base_type_scale (type), &value) != RELATION_DECIMAL_OK)
      break;
    duck_vector_set_int128 (out, row, value);
    return TRUE;
  }
  case BASE_TYPE_DATE:
    if (!is_text)
      break;
    if (bind->date != NULL)
      return read_pattern (bind, bind->date, json, type, out, row, bad);
    {
      gint64 days;
      if (!relation_text_to_date (json->text, json->size, &days))
        break;
      duck_vector_set (out, gint32, row, (gint32) days);
      return TRUE;
    }
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ: {
    RelationWall wall;
    if (!is_text)
      break;
    if (bind->timestamp != NULL)
      return read_pattern (bind, bind->timestamp, json, type, out, row, bad);
    if (!relation_text_to_wall (json->text, json->size, &wall) || wall.time_only)
      break;
    return relation_convert_text (&bind->convert, json->text, json->size, type, out, row, error);
  }
  default:
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "from_json to this type is not supported");
  }
  *bad = TRUE;
  duck_vector_set_null (out, row);
  return TRUE;
}

/* Whether every part of @json can be read as @type; a struct's fields may fail one by one. */
static gboolean
is_readable (const RelationJson *json, const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);
  if (json->kind == RELATION_JSON_NULL)
    return TRUE;
  switch (kind) {
  case BASE_TYPE_STRUCT:
    return json->kind == RELATION_JSON_OBJECT;
  case BASE_TYPE_MAP:
  case BASE_TYPE_ARRAY: {
    gboolean map = kind == BASE_TYPE_MAP;
    if (json->kind != (map ? RELATION_JSON_OBJECT : RELATION_JSON_ARRAY))
      return FALSE;
    for (guint i = 0; i < json->items->len; i++)
      if (!is_readable (g_ptr_array_index (json->items, i), map ? base_type_value (type) : base_type_element (type)))
        return FALSE;
    return TRUE;
  }
  case BASE_TYPE_BOOLEAN:
    return json->kind == RELATION_JSON_BOOLEAN;
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG: {
    gint64 limit = kind == BASE_TYPE_BYTE      ? G_MAXINT8
                   : kind == BASE_TYPE_SHORT   ? G_MAXINT16
                   : kind == BASE_TYPE_INTEGER ? G_MAXINT32
                                               : G_MAXINT64;
    gint64 value;
    return json->kind == RELATION_JSON_NUMBER && strpbrk (json->text, ".eEnN") == NULL &&
           relation_text_to_int64 (json->text, json->size, -limit - 1, limit, &value);
  }
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    return json->kind == RELATION_JSON_NUMBER;
  default:
    return kind == BASE_TYPE_STRING || json->kind == RELATION_JSON_STRING || kind == BASE_TYPE_DECIMAL;
  }
}

static gboolean
is_corrupt_column (const JsonBind *bind, const BaseField *field)
{
  return strcmp (field->name, bind->corrupt) == 0 && base_type_kind (field->type) == BASE_TYPE_STRING;
}

static gboolean
read_struct (const JsonBind *bind, const RelationJson *json, const BaseType *type, DuckVector *out, guint64 row,
             gboolean *bad, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    const RelationJson *member = relation_json_member (json, field->name, strlen (field->name));
    if (type == bind->result && is_corrupt_column (bind, field))
      continue; /* written when the whole record is known */
    if (member == NULL)
      duck_vector_set_null (&out->children[i], row);
    else if (!read_value (bind, member, field->type, &out->children[i], row, bad, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
read_value (const JsonBind *bind, const RelationJson *json, const BaseType *type, DuckVector *out, guint64 row,
            gboolean *bad, GError **error)
{
  BaseTypeKind kind = base_type_kind (type);
  if (json->kind == RELATION_JSON_NULL) {
    duck_vector_set_null (out, row);
    return TRUE;
  }
  if (!base_type_is_nested (type))
    return read_scalar (bind, json, type, out, row, bad, error);
  if (!is_readable (json, type)) {
    *bad = TRUE;
    duck_vector_set_null (out, row);
    return TRUE;
  }
  if (kind == BASE_TYPE_STRUCT)
    return read_struct (bind, json, type, out, row, bad, error);
  guint64 start = duck_vector_set_list (out, row, json->items->len);
  gboolean is_map = kind == BASE_TYPE_MAP;
  for (guint i = 0; i < json->items->len; i++) {
    if (is_map) {
      const GString *key = g_ptr_array_index (json->keys, i);
      if (base_type_kind (base_type_key (type)) != BASE_TYPE_STRING)
        return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "from_json to a map whose key is not STRING");
      if (relation_json_member (json, key->str, key->len) != g_ptr_array_index (json->items, i))
        return base_error_set (error, SLUICE_ERROR_DUPLICATED_MAP_KEY, "a key occurs twice in a JSON object");
      duck_vector_set_string (&out->children[0], start + i, key->str, key->len);
    }
    if (!read_value (bind, g_ptr_array_index (json->items, i),
                     is_map ? base_type_value (type) : base_type_element (type), &out->children[is_map ? 1 : 0],
                     start + i, bad, error))
      return FALSE;
  }
  return TRUE;
}

/* Fills the column for bad records, and for a bad record all others with NULL (a type that is no struct is NULL itself). */
static void
finish_record (const JsonBind *bind, DuckVector *out, guint row, const char *text, gsize size, gboolean bad,
               gboolean keep)
{
  if (base_type_kind (bind->result) != BASE_TYPE_STRUCT) {
    if (!keep)
      duck_vector_set_null (out, row);
    return;
  }
  for (guint i = 0; i < base_type_n_fields (bind->result); i++) {
    gboolean corrupt = is_corrupt_column (bind, base_type_field (bind->result, i));
    if (corrupt && bad)
      duck_vector_set_string (&out->children[i], row, text, size);
    else if (corrupt || !keep)
      duck_vector_set_null (&out->children[i], row);
  }
}

/* (spec, text) */
static gboolean
from_json_run (const DuckKernelCall *call, GError **error)
{
  const JsonBind *bind = call->bind_data;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *text = duck_vector_string (&call->args[1], row, &size);
    gsize blank = 0;
    while (blank < size && g_ascii_isspace (text[blank]))
      blank++;
    if (blank == size) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    g_autoptr (RelationJson) json = relation_json_parse (text, size, bind->flags);
    const RelationJson *root = json;
    gboolean is_struct = base_type_kind (bind->result) == BASE_TYPE_STRUCT, bad = FALSE;
    if (json != NULL && is_struct && json->kind == RELATION_JSON_ARRAY) {
      if (json->items->len == 0) {
        duck_vector_set_null (call->result, row);
        continue;
      }
      root = g_ptr_array_index (json->items, 0);
    }
    if (root == NULL || (root->kind == RELATION_JSON_NULL && is_struct) || !is_readable (root, bind->result)) {
      if (bind->fail_fast && (root == NULL || root->kind != RELATION_JSON_NULL))
        return base_error_set (error, SLUICE_ERROR_MALFORMED_RECORD_IN_PARSING_WITHOUT_SUGGESTION,
                               "a JSON record is malformed: %.*s", (int) MIN (size, 200), text);
      finish_record (bind, call->result, row, text, size, TRUE, FALSE);
      continue;
    }
    if (!read_value (bind, root, bind->result, call->result, row, &bad, error))
      return FALSE;
    if (bad && bind->fail_fast)
      return base_error_set (error, SLUICE_ERROR_MALFORMED_RECORD_IN_PARSING_WITHOUT_SUGGESTION,
                             "a JSON record is malformed: %.*s", (int) MIN (size, 200), text);
    finish_record (bind, call->result, row, text, size, bad, TRUE);
  }
  return TRUE;
}

/* ---- to_json ---- */

typedef struct {
  const JsonBind *bind;
  GString *out;
  int depth;
} JsonWriter;

static void
new_line (JsonWriter *writer)
{
  g_string_append_c (writer->out, '\n');
  for (int i = 0; i < writer->depth; i++)
    g_string_append (writer->out, "  ");
}

static void
begin_item (JsonWriter *writer, gboolean object, guint64 index)
{
  if (index > 0)
    g_string_append_c (writer->out, ',');
  if (!writer->bind->pretty)
    return;
  if (object)
    new_line (writer);
  else
    g_string_append_c (writer->out, ' ');
}

static gboolean write_json (JsonWriter *writer, const BaseType *type, const DuckVector *vector, guint64 row,
                            GError **error);

static gboolean
write_struct (JsonWriter *writer, const BaseType *type, const DuckVector *vector, guint64 row, GError **error)
{
  guint n = 0;
  g_string_append_c (writer->out, '{');
  writer->depth++;
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    gboolean is_null =
        base_type_kind (field->type) == BASE_TYPE_VOID || duck_vector_is_null (&vector->children[i], row);
    if (is_null && !writer->bind->keep_nulls)
      continue;
    begin_item (writer, TRUE, n++);
    base_json_append_string (writer->out, field->name, strlen (field->name));
    g_string_append (writer->out, writer->bind->pretty ? " : " : ":");
    if (!write_json (writer, field->type, &vector->children[i], row, error))
      return FALSE;
  }
  writer->depth--;
  if (writer->bind->pretty) {
    if (n > 0)
      new_line (writer);
    else
      g_string_append_c (writer->out, ' ');
  }
  g_string_append_c (writer->out, '}');
  return TRUE;
}

static gboolean
write_list (JsonWriter *writer, const BaseType *type, const DuckVector *vector, guint64 row, GError **error)
{
  DuckListEntry entry = duck_vector_list (vector, row);
  gboolean is_map = base_type_kind (type) == BASE_TYPE_MAP;
  g_string_append_c (writer->out, is_map ? '{' : '[');
  writer->depth += is_map;
  for (guint64 i = 0; i < entry.length; i++) {
    begin_item (writer, is_map, i);
    if (is_map) {
      g_autoptr (GString) key = g_string_new (NULL);
      if (!relation_value_append_text (key, base_type_key (type), &vector->children[0], entry.offset + i,
                                       writer->bind->convert.zone, error))
        return FALSE;
      base_json_append_string (writer->out, key->str, key->len);
      g_string_append (writer->out, writer->bind->pretty ? " : " : ":");
    }
    if (!write_json (writer, is_map ? base_type_value (type) : base_type_element (type),
                     &vector->children[is_map ? 1 : 0], entry.offset + i, error))
      return FALSE;
  }
  writer->depth -= is_map;
  if (writer->bind->pretty) {
    if (is_map && entry.length > 0)
      new_line (writer);
    else
      g_string_append_c (writer->out, ' ');
  }
  g_string_append_c (writer->out, is_map ? '}' : ']');
  return TRUE;
}

static gboolean
write_time (JsonWriter *writer, BaseTypeKind kind, gint64 value, GError **error)
{
  const JsonBind *bind = writer->bind;
  const RelationPattern *pattern = kind == BASE_TYPE_DATE ? bind->date : bind->timestamp;
  g_autoptr (RelationPattern) own = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  const char *standard = kind == BASE_TYPE_DATE        ? "yyyy-MM-dd"
                         : kind == BASE_TYPE_TIMESTAMP ? "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
                                                       : "yyyy-MM-dd'T'HH:mm:ss.SSS";
  if (pattern == NULL)
    pattern = own = relation_pattern_new (standard, strlen (standard), FALSE, error);
  if (pattern == NULL)
    return FALSE;
  gint64 instant = kind == BASE_TYPE_DATE ? relation_zone_to_instant (bind->convert.zone, value * RELATION_US_PER_DAY)
                   : kind == BASE_TYPE_TIMESTAMP_NTZ ? relation_zone_to_instant (bind->convert.zone, value)
                                                     : value;
  if (!relation_pattern_format (pattern, instant, bind->convert.zone, text, error))
    return FALSE;
  base_json_append_string (writer->out, text->str, text->len);
  return TRUE;
}

static gboolean
write_json (JsonWriter *writer, const BaseType *type, const DuckVector *vector, guint64 row, GError **error)
{
  BaseTypeKind kind = base_type_kind (type);
  if (kind == BASE_TYPE_VOID || duck_vector_is_null (vector, row)) {
    g_string_append (writer->out, "null");
    return TRUE;
  }
  gsize size;
  switch (kind) {
  case BASE_TYPE_STRUCT:
    return write_struct (writer, type, vector, row, error);
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
    return write_list (writer, type, vector, row, error);
  case BASE_TYPE_STRING: {
    const char *text = duck_vector_string (vector, row, &size);
    base_json_append_string (writer->out, text, size);
    return TRUE;
  }
  case BASE_TYPE_BINARY: {
    const char *bytes = duck_vector_string (vector, row, &size);
    g_autofree char *text = g_base64_encode ((const guchar *) bytes, size);
    base_json_append_string (writer->out, text, strlen (text));
    return TRUE;
  }
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    return write_time (writer, kind, duck_vector_int64 (vector, row), error);
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE: {
    double value = duck_vector_double (vector, row);
    gboolean finite = value - value == 0;
    g_string_append (writer->out, finite ? "" : "\"");
    if (!relation_value_append_text (writer->out, type, vector, row, NULL, error))
      return FALSE;
    g_string_append (writer->out, finite ? "" : "\"");
    return TRUE;
  }
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR: {
    g_autoptr (GString) text = g_string_new (NULL);
    if (!relation_value_append_text (text, type, vector, row, NULL, error))
      return FALSE;
    base_json_append_string (writer->out, text->str, text->len);
    return TRUE;
  }
  default:
    return relation_value_append_text (writer->out, type, vector, row, writer->bind->convert.zone, error);
  }
}

/* (spec, value) */
static gboolean
to_json_run (const DuckKernelCall *call, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    const JsonBind *bind = call->bind_data;
    JsonWriter writer = { .bind = bind, .out = out };
    g_string_truncate (out, 0);
    if (!write_json (&writer, bind->arg, &call->args[1], row, error))
      return FALSE;
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

#define SPEC .bind = json_bind, .free_bind_data = json_bind_free

const DuckKernel *
relation_kernel_rows_json (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_get_json", .args = { "VARCHAR", "VARCHAR" }, .result = "VARCHAR", .run = get_run },
    { .name = "sluice_json_field", .args = { "VARCHAR", "VARCHAR" }, .result = "VARCHAR", .run = field_run },
    { .name = "sluice_json_array_length", .args = { "VARCHAR" }, .result = "INTEGER", .run = array_length_run },
    { .name = "sluice_json_object_keys", .args = { "VARCHAR" }, .result = "VARCHAR[]", .run = object_keys_run },
    { .name = "sluice_from_json", .args = { "VARCHAR", "VARCHAR" }, .run = from_json_run, SPEC },
    { .name = "sluice_to_json", .args = { "VARCHAR", "ANY" }, .result = "VARCHAR", .run = to_json_run, SPEC },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

/* Spark's JSON form of types, in both directions: Delta PROTOCOL.md, "Schema Serialization Format".
 *
 *   plain type   "integer", "decimal(10,2)", "interval day to second"
 *   array        {"type":"array","elementType":T,"containsNull":B}
 *   map          {"type":"map","keyType":T,"valueType":T,"valueContainsNull":B}
 *   struct       {"type":"struct","fields":[{"name":S,"type":T,"nullable":B,"metadata":{…}}, …]}
 */
#include "base-error.h"
#include "base-json.h"
#include "base-type.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH  100
#define MAX_FIELDS 100000

static const struct {
  const char *name;
  BaseTypeKind kind;
} plain_names[] = {
  /* The first name of a kind is the one written. */
  { "void", BASE_TYPE_VOID },
  { "null", BASE_TYPE_VOID },
  { "boolean", BASE_TYPE_BOOLEAN },
  { "byte", BASE_TYPE_BYTE },
  { "short", BASE_TYPE_SHORT },
  { "integer", BASE_TYPE_INTEGER },
  { "long", BASE_TYPE_LONG },
  { "float", BASE_TYPE_FLOAT },
  { "double", BASE_TYPE_DOUBLE },
  { "string", BASE_TYPE_STRING },
  { "binary", BASE_TYPE_BINARY },
  { "date", BASE_TYPE_DATE },
  { "timestamp", BASE_TYPE_TIMESTAMP },
  { "timestamp_ntz", BASE_TYPE_TIMESTAMP_NTZ },
  { "interval", BASE_TYPE_INTERVAL_CALENDAR },
  { "calendarinterval", BASE_TYPE_INTERVAL_CALENDAR },
  { "variant", BASE_TYPE_VARIANT },
};
static const char *const interval_fields[] = { "year", "month", "day", "hour", "minute", "second" };

static BaseType *read_type (const json_t *json, guint depth, GError **error);

static BaseType *
malformed (GError **error, const char *what)
{
  base_error_set (error, SLUICE_ERROR_INVALID_SCHEMA_JSON, "The schema is malformed: %s", what);
  return NULL;
}

static int
interval_field (const char *name, gsize size)
{
  for (guint i = 0; i < G_N_ELEMENTS (interval_fields); i++)
    if (strlen (interval_fields[i]) == size && strncmp (interval_fields[i], name, size) == 0)
      return (int) i;
  return -1;
}

/* `interval day to second`, `interval month`; NULL without an error when @text is not one. */
static BaseType *
read_interval (const char *text)
{
  const char *first = text + strlen ("interval ");
  const char *to = strstr (first, " to ");
  int from_field = interval_field (first, to != NULL ? (gsize) (to - first) : strlen (first));
  int to_field = to != NULL ? interval_field (to + 4, strlen (to + 4)) : from_field;

  if (from_field < 0 || to_field < from_field ||
      (from_field <= BASE_INTERVAL_MONTH) != (to_field <= BASE_INTERVAL_MONTH))
    return NULL;
  return base_type_interval ((BaseIntervalField) from_field, (BaseIntervalField) to_field);
}

static BaseType *
read_plain (const char *text, GError **error)
{
  guint precision, scale;
  int used = 0;

  for (guint i = 0; i < G_N_ELEMENTS (plain_names); i++)
    if (strcmp (plain_names[i].name, text) == 0)
      return base_type_simple (plain_names[i].kind);
  if (strcmp (text, "decimal") == 0)
    return base_type_decimal (10, 0);
  if (sscanf (text, "decimal(%3u ,%3u )%n", &precision, &scale, &used) == 2 && used > 0 && text[used] == '\0') {
    if (precision < 1 || precision > 38 || scale > precision)
      return malformed (error, text);
    return base_type_decimal (precision, scale);
  }
  if (g_str_has_prefix (text, "char(") || g_str_has_prefix (text, "varchar("))
    return base_type_simple (BASE_TYPE_STRING);
  if (g_str_has_prefix (text, "interval ")) {
    BaseType *interval = read_interval (text);
    if (interval != NULL)
      return interval;
  }
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_DATATYPE, "The data type \"%s\" is not supported", text);
  return NULL;
}

static BaseType *
read_array (const json_t *json, guint depth, GError **error)
{
  g_autoptr (BaseType) element = read_type (json_object_get (json, "elementType"), depth, error);

  if (element == NULL)
    return NULL;
  return base_type_array (element, base_json_bool (json, "containsNull", TRUE));
}

static BaseType *
read_map (const json_t *json, guint depth, GError **error)
{
  g_autoptr (BaseType) key = read_type (json_object_get (json, "keyType"), depth, error);
  if (key == NULL)
    return NULL;
  g_autoptr (BaseType) value = read_type (json_object_get (json, "valueType"), depth, error);
  if (value == NULL)
    return NULL;
  return base_type_map (key, value, base_json_bool (json, "valueContainsNull", TRUE));
}

static BaseType *
read_struct (const json_t *json, guint depth, GError **error)
{
  const json_t *fields = json_object_get (json, "fields");
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

  if (!json_is_array (fields) || json_array_size (fields) > MAX_FIELDS)
    return malformed (error, "a struct needs a list of fields");
  for (size_t i = 0; i < json_array_size (fields); i++) {
    const json_t *field = json_array_get (fields, i);
    const json_t *name = json_object_get (field, "name");
    const json_t *metadata = json_object_get (field, "metadata");
    if (!json_is_string (name) || strlen (json_string_value (name)) != json_string_length (name))
      return malformed (error, "a field needs a name");
    g_autoptr (BaseType) type = read_type (json_object_get (field, "type"), depth, error);
    if (type == NULL) {
      base_error_add_context (error, "reading the field \"%s\" of a schema", json_string_value (name));
      return NULL;
    }
    base_struct_builder_add (builder, json_string_value (name), type, base_json_bool (field, "nullable", TRUE),
                             json_is_object (metadata) ? metadata : NULL);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static BaseType *
read_type (const json_t *json, guint depth, GError **error)
{
  if (depth > MAX_DEPTH)
    return malformed (error, "types are nested too deeply");
  if (json_is_string (json))
    return read_plain (json_string_value (json), error);
  const char *kind = base_json_string (json, "type");
  if (kind == NULL)
    return malformed (error, "a type is missing");
  if (strcmp (kind, "struct") == 0)
    return read_struct (json, depth + 1, error);
  if (strcmp (kind, "array") == 0)
    return read_array (json, depth + 1, error);
  if (strcmp (kind, "map") == 0)
    return read_map (json, depth + 1, error);
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_DATATYPE, "The data type \"%s\" is not supported", kind);
  return NULL;
}

BaseType *
base_type_from_json (const json_t *json, GError **error)
{
  return read_type (json, 0, error);
}

static json_t *
write_struct (const BaseType *type)
{
  json_t *fields = json_array ();

  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    json_array_append_new (fields,
                           json_pack ("{s:s, s:o, s:b, s:o}", "name", field->name, "type",
                                      base_type_to_json (field->type), "nullable", field->nullable, "metadata",
                                      field->metadata != NULL ? json_deep_copy (field->metadata) : json_object ()));
  }
  return json_pack ("{s:s, s:o}", "type", "struct", "fields", fields);
}

json_t *
base_type_to_json (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_STRUCT:
    return write_struct (type);
  case BASE_TYPE_ARRAY:
    return json_pack ("{s:s, s:o, s:b}", "type", "array", "elementType", base_type_to_json (base_type_element (type)),
                      "containsNull", base_type_contains_null (type));
  case BASE_TYPE_MAP:
    return json_pack ("{s:s, s:o, s:o, s:b}", "type", "map", "keyType", base_type_to_json (base_type_key (type)),
                      "valueType", base_type_to_json (base_type_value (type)), "valueContainsNull",
                      base_type_contains_null (type));
  case BASE_TYPE_DECIMAL:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME: {
    g_autofree char *text = base_type_text (type);
    return json_string (text);
  }
  default:
    for (guint i = 0; i < G_N_ELEMENTS (plain_names); i++)
      if (plain_names[i].kind == base_type_kind (type))
        return json_string (plain_names[i].name);
    g_assert_not_reached ();
  }
}

/* Types: JSON form there and back, text, DDL, equality, bad schemas. */
#include "base-error.h"
#include "base-json.h"
#include "base-type.h"

#include <string.h>

static BaseType *
parse (const char *text, GError **error)
{
  g_autoptr (json_t) json = base_json_parse (text, strlen (text), "schema", error);

  return json != NULL ? base_type_from_json (json, error) : NULL;
}

static const char *const whole_schema =
    "{\"type\":\"struct\",\"fields\":["
    "{\"name\":\"id\",\"type\":\"long\",\"nullable\":false,\"metadata\":{\"comment\":\"the key\"}},"
    "{\"name\":\"d\",\"type\":\"decimal(10,2)\",\"nullable\":true,\"metadata\":{}},"
    "{\"name\":\"i\",\"type\":\"interval day to second\",\"nullable\":true,\"metadata\":{}},"
    "{\"name\":\"a "
    "b\",\"type\":{\"type\":\"array\",\"elementType\":\"integer\",\"containsNull\":false},\"nullable\":true,"
    "\"metadata\":{}},"
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":{\"type\":\"struct\",\"fields\":["
    "{\"name\":\"x\",\"type\":\"double\",\"nullable\":true,\"metadata\":{}}]},\"valueContainsNull\":true},\"nullable\":"
    "true,\"metadata\":{}}]}";

static void
json_goes_there_and_back (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (BaseType) type = parse (whole_schema, &error);
  g_assert_no_error (error);
  g_autoptr (json_t) json = base_type_to_json (type);
  g_autofree char *text = base_json_text (json);
  g_autofree char *shown = base_type_text (type);
  g_autofree char *ddl = base_type_ddl (type);

  g_assert_cmpstr (text, ==, whole_schema);
  g_assert_cmpstr (
      shown, ==,
      "struct<id:bigint,d:decimal(10,2),i:interval day to second,a b:array<int>,m:map<string,struct<x:double>>>");
  g_assert_cmpstr (ddl, ==,
                   "id BIGINT NOT NULL COMMENT 'the key', d DECIMAL(10,2), i INTERVAL DAY TO SECOND, `a b` ARRAY<INT>, "
                   "m MAP<STRING, STRUCT<x: DOUBLE>>");
}

static void
bad_schemas_have_names (void)
{
  static const struct {
    const char *json;
    const char *condition;
  } cases[] = {
    { "\"int96\"", "UNSUPPORTED_DATATYPE" },
    { "\"decimal(39,2)\"", "INVALID_SCHEMA_JSON" },
    { "\"decimal(2,9)\"", "INVALID_SCHEMA_JSON" },
    { "\"interval second to day\"", "UNSUPPORTED_DATATYPE" },
    { "{\"type\":\"struct\"}", "INVALID_SCHEMA_JSON" },
    { "{\"type\":\"struct\",\"fields\":[{\"type\":\"long\"}]}", "INVALID_SCHEMA_JSON" },
    { "{\"type\":\"array\"}", "INVALID_SCHEMA_JSON" },
    { "{\"type\":\"udt\"}", "UNSUPPORTED_DATATYPE" },
    { "7", "INVALID_SCHEMA_JSON" },
    { "{", "INVALID_JSON" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (parse (cases[i].json, &error));
    g_assert_cmpstr (base_error_condition (error), ==, cases[i].condition);
  }
}

static void
deep_schemas_are_refused (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 500; i++)
    g_string_append (text, "{\"type\":\"array\",\"elementType\":");
  g_string_append (text, "\"long\"");
  for (guint i = 0; i < 500; i++)
    g_string_append (text, ",\"containsNull\":true}");
  g_assert_null (parse (text->str, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "INVALID_SCHEMA_JSON");
}

static void
equality_ignores_what_it_is_told (void)
{
  g_autoptr (BaseType) integer = base_type_simple (BASE_TYPE_INTEGER);
  g_autoptr (BaseType) with_null = base_type_array (integer, TRUE);
  g_autoptr (BaseType) without_null = base_type_array (integer, FALSE);
  g_autoptr (BaseType) wide = base_type_decimal (10, 2);
  g_autoptr (BaseType) narrow = base_type_decimal (9, 2);

  g_assert_false (base_type_equal (with_null, without_null, BASE_TYPE_EQUAL_EXACT));
  g_assert_true (base_type_equal (with_null, without_null, BASE_TYPE_EQUAL_IGNORE_NULLABILITY));
  g_assert_false (base_type_equal (wide, narrow, BASE_TYPE_EQUAL_IGNORE_NULLABILITY));
}

static void
fields_are_found_by_name (void)
{
  g_autoptr (BaseType) type = parse ("{\"type\":\"struct\",\"fields\":[{\"name\":\"A\",\"type\":\"long\"},"
                                     "{\"name\":\"a\",\"type\":\"long\"},{\"name\":\"B\",\"type\":\"map\"}]}",
                                     NULL);
  g_assert_null (type);
  type =
      parse ("{\"type\":\"struct\",\"fields\":[{\"name\":\"Ab\",\"type\":\"long\"},{\"name\":\"aB\",\"type\":\"long\"},"
             "{\"name\":\"B\",\"type\":\"long\"}]}",
             NULL);
  g_assert_cmpint (base_type_field_index (type, "aB", TRUE), ==, 1);
  g_assert_cmpint (base_type_field_index (type, "ab", TRUE), ==, -2);
  g_assert_cmpint (base_type_field_index (type, "b", TRUE), ==, 2);
  g_assert_cmpint (base_type_field_index (type, "b", FALSE), ==, -1);
}

static void
maps_have_no_order (void)
{
  g_autoptr (BaseType) integer = base_type_simple (BASE_TYPE_INTEGER);
  g_autoptr (BaseType) map = base_type_map (integer, integer, TRUE);
  g_autoptr (BaseType) array = base_type_array (map, TRUE);
  g_autoptr (BaseType) plain = base_type_array (integer, TRUE);

  g_assert_false (base_type_is_orderable (array));
  g_assert_true (base_type_is_orderable (plain));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/type/json-goes-there-and-back", json_goes_there_and_back);
  g_test_add_func ("/base/type/bad-schemas-have-names", bad_schemas_have_names);
  g_test_add_func ("/base/type/deep-schemas-are-refused", deep_schemas_are_refused);
  g_test_add_func ("/base/type/equality-ignores-what-it-is-told", equality_ignores_what_it_is_told);
  g_test_add_func ("/base/type/fields-are-found-by-name", fields_are_found_by_name);
  g_test_add_func ("/base/type/maps-have-no-order", maps_have_no_order);
  return g_test_run ();
}

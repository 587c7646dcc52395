/* Types: the physical form of every Spark type, what DuckDB makes of the text, and the way back. */
#include "base-error.h"
#include "duck-session.h"
#include "duck-type.h"

#include <glib.h>

static DuckEngine *engine;
static DuckSession *session;

static BaseType *
type_of (const char *json)
{
  g_autoptr (GError) error = NULL;
  json_t *parsed = json_loads (json, JSON_DECODE_ANY, NULL);
  BaseType *type = base_type_from_json (parsed, &error);

  g_assert_no_error (error);
  json_decref (parsed);
  return type;
}

static DuckType *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  DuckType *type = duck_session_parse_type (session, text, &error);

  g_assert_no_error (error);
  return type;
}

static const struct {
  const char *json, *text;
  gboolean round; /* whether the physical form leads back to the same Spark type */
} types[] = {
  { "\"boolean\"", "BOOLEAN", TRUE },
  { "\"byte\"", "TINYINT", TRUE },
  { "\"short\"", "SMALLINT", TRUE },
  { "\"integer\"", "INTEGER", TRUE },
  { "\"long\"", "BIGINT", TRUE },
  { "\"float\"", "FLOAT", TRUE },
  { "\"double\"", "DOUBLE", TRUE },
  { "\"decimal(10,2)\"", "DECIMAL(10,2)", TRUE },
  { "\"decimal(38,0)\"", "DECIMAL(38,0)", TRUE },
  { "\"string\"", "VARCHAR", TRUE },
  { "\"binary\"", "BLOB", TRUE },
  { "\"date\"", "DATE", TRUE },
  { "\"timestamp\"", "TIMESTAMP WITH TIME ZONE", TRUE },
  { "\"timestamp_ntz\"", "TIMESTAMP", TRUE },
  { "\"interval year to month\"", "INTEGER", FALSE },
  { "\"interval day to second\"", "BIGINT", FALSE },
  { "\"void\"", "INTEGER", FALSE },
  { "\"variant\"", "STRUCT(\"value\" BLOB, \"metadata\" BLOB)", FALSE },
  { "{\"type\":\"array\",\"elementType\":\"timestamp\",\"containsNull\":true}", "TIMESTAMP WITH TIME ZONE[]", TRUE },
  { "{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":\"decimal(5,1)\",\"valueContainsNull\":true}",
    "MAP(VARCHAR, DECIMAL(5,1))", TRUE },
  { "{\"type\":\"struct\",\"fields\":[{\"name\":\"a \\\"q\\\" "
    "Ü\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}},"
    "{\"name\":\"select\",\"type\":{\"type\":\"array\",\"elementType\":{\"type\":\"struct\",\"fields\":[{\"name\":"
    "\"x\",\"type\":\"date\","
    "\"nullable\":true,\"metadata\":{}}]},\"containsNull\":true},\"nullable\":true,\"metadata\":{}}]}",
    "STRUCT(\"a \"\"q\"\" Ü\" INTEGER, \"select\" STRUCT(\"x\" DATE)[])", TRUE },
};

static void
test_physical_form (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autoptr (BaseType) base = type_of (types[i].json);
    g_autofree char *text = duck_type_text (base);
    g_assert_cmpstr (text, ==, types[i].text);
    g_autoptr (DuckType) type = parse (text);
    g_autofree char *where = NULL;
    g_assert_cmpstr (duck_type_name (type), ==, text);
    g_assert_true (duck_type_fits (type, base, &where));
    g_assert_null (where);
    if (!types[i].round)
      continue;
    g_autoptr (GError) error = NULL;
    g_autoptr (BaseType) back = duck_type_to_base (type, &error);
    g_assert_no_error (error);
    g_assert_true (base_type_equal (back, base, BASE_TYPE_EQUAL_IGNORE_NULLABILITY));
  }
}

static void
test_misfits (void)
{
  static const struct {
    const char *json, *text, *where;
  } cases[] = {
    { "\"integer\"", "BIGINT", "BIGINT instead of INTEGER" },
    { "\"decimal(10,2)\"", "DECIMAL(10,3)", "DECIMAL(10,3) instead of DECIMAL(10,2)" },
    { "\"timestamp\"", "TIMESTAMP", "TIMESTAMP instead of TIMESTAMP WITH TIME ZONE" },
    { "{\"type\":\"array\",\"elementType\":\"double\",\"containsNull\":true}", "FLOAT[]",
      "[]: FLOAT instead of DOUBLE" },
    { "{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":\"long\",\"valueContainsNull\":true}",
      "MAP(VARCHAR, INTEGER)", ".value: INTEGER instead of BIGINT" },
    { "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"array\",\"elementType\":\"long\","
      "\"containsNull\":true},\"nullable\":"
      "true,\"metadata\":{}}]}",
      "STRUCT(a VARCHAR[])", ".a[]: VARCHAR instead of BIGINT" },
    { "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}",
      "STRUCT(\"A\" BIGINT)", "STRUCT(\"A\" BIGINT) instead of STRUCT(\"a\" BIGINT)" },
    { "{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}",
      "STRUCT(a BIGINT, b BIGINT)", "STRUCT(\"a\" BIGINT, \"b\" BIGINT) instead of STRUCT(\"a\" BIGINT)" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (BaseType) base = type_of (cases[i].json);
    g_autoptr (DuckType) type = parse (cases[i].text);
    g_autofree char *where = NULL;
    g_assert_false (duck_type_fits (type, base, &where));
    g_assert_cmpstr (where, ==, cases[i].where);
    g_assert_false (duck_type_fits (type, base, NULL));
  }
}

static void
test_foreign_types (void)
{
  static const char *const cases[][2] = {
    { "UTINYINT", "smallint" },
    { "USMALLINT", "int" },
    { "UINTEGER", "bigint" },
    { "UBIGINT", "decimal(20,0)" },
    { "HUGEINT", "decimal(38,0)" },
    { "TIMESTAMP_NS", "timestamp_ntz" },
    { "JSON", "string" },
    { "UUID", NULL },
    { "TIME", NULL },
    { "ENUM('a', 'b')", NULL },
    { "INTEGER[3]", NULL },
    { "UNION(a INTEGER)", NULL },
    { "STRUCT(a UUID[])", NULL },
    { "BIT", NULL },
    { "UHUGEINT", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (DuckType) type = parse (cases[i][0]);
    g_autoptr (BaseType) base = duck_type_to_base (type, &error);
    if (cases[i][1] == NULL) {
      g_assert_null (base);
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_UNSUPPORTED_DATATYPE);
      continue;
    }
    g_assert_no_error (error);
    g_autofree char *text = base_type_text (base);
    g_assert_cmpstr (text, ==, cases[i][1]);
  }
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  g_test_add_func ("/duck/type/physical-form", test_physical_form);
  g_test_add_func ("/duck/type/misfits-say-where", test_misfits);
  g_test_add_func ("/duck/type/types-of-files", test_foreign_types);
  int status = g_test_run ();
  duck_session_free (session);
  duck_engine_unref (engine);
  return status;
}

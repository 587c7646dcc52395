/* Kernels called from DuckDB's SQL: text of the answer, or the condition of the error. */
#include "base-error.h"
#include "duck-kernel.h"
#include "duck-session.h"
#include "relation-kernel.h"

#include <glib.h>

typedef struct {
  const char *sql;
  const char *expected;                        /* (nullable): NULL; `!CONDITION` for an error */
  const char *instance_kernel, *instance_type; /* (nullable): $k in @sql */
} Case;

static DuckEngine *engine;
static DuckSession *session;

static void
check (const Case *item)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *value = NULL;
  g_autoptr (GString) sql = g_string_new (item->sql);
  if (item->instance_kernel != NULL) {
    const char *name = duck_engine_kernel_instance (engine, item->instance_kernel, item->instance_type, &error);
    g_assert_no_error (error);
    g_string_replace (sql, "$k", name, 0);
  }
  g_string_prepend (sql, "SELECT CAST(");
  g_string_append (sql, " AS VARCHAR)");
  gboolean done = duck_session_query_string (session, sql->str, NULL, &value, &error);
  if (item->expected != NULL && item->expected[0] == '!') {
    if (done || g_strcmp0 (base_error_condition (error), item->expected + 1) != 0)
      g_test_message ("%s: %s", sql->str, done ? value : error->message);
    g_assert_false (done);
    g_assert_cmpstr (base_error_condition (error), ==, item->expected + 1);
    return;
  }
  if (!done || g_strcmp0 (value, item->expected) != 0)
    g_test_message ("%s: %s", sql->str, done ? value : error->message);
  g_assert_no_error (error);
  g_assert_cmpstr (value, ==, item->expected);
}

static void
test_casts (void)
{
#define CAST_CASE(value, from, to, duck_to, text)                                                                      \
  {                                                                                                                    \
    "$k(" value ", '{\"from\":\"" from "\",\"to\":\"" to "\",\"mode\":\"ansi\",\"zone\":\"America/Los_Angeles\"}')",   \
        text, "sluice_cast", duck_to                                                                                   \
  }
  static const Case cases[] = {
    CAST_CASE ("' 12 '", "string", "integer", "INTEGER", "12"),
    CAST_CASE ("'12.7'", "string", "integer", "INTEGER", "!CAST_INVALID_INPUT"),
    CAST_CASE ("1e20::DOUBLE", "double", "string", "VARCHAR", "1.0E20"),
    CAST_CASE ("5e-324::DOUBLE", "double", "string", "VARCHAR", "4.9E-324"),
    CAST_CASE ("1.7976931348623157e308::DOUBLE", "double", "string", "VARCHAR", "1.7976931348623157E308"),
    CAST_CASE ("2.675::DOUBLE", "double", "decimal(4,2)", "DECIMAL(4,2)", "2.68"),
    CAST_CASE ("'2147483648'", "string", "decimal(6,2)", "DECIMAL(6,2)", "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
    CAST_CASE ("'2024-11-03 01:30:00'", "string", "timestamp", "TIMESTAMP WITH TIME ZONE", "2024-11-03 08:30:00+00"),
    CAST_CASE ("'2024-03-10 02:30:00'", "string", "timestamp", "TIMESTAMP WITH TIME ZONE", "2024-03-10 10:30:00+00"),
    CAST_CASE ("'1582-10-10 00:00:00'", "string", "timestamp", "TIMESTAMP WITH TIME ZONE", "1582-10-10 07:52:58+00"),
    CAST_CASE ("'2924-07-10 00:00:00'", "string", "timestamp", "TIMESTAMP WITH TIME ZONE", "2924-07-10 07:00:00+00"),
    CAST_CASE ("'2024-01-02 03:04:05 America/New_York'", "string", "timestamp", "TIMESTAMP WITH TIME ZONE",
               "2024-01-02 08:04:05+00"),
    CAST_CASE ("TIMESTAMPTZ '1883-11-18 12:00:00+00'", "timestamp", "string", "VARCHAR", "1883-11-18 04:07:02"),
    CAST_CASE ("14", "interval year to month", "string", "VARCHAR", "INTERVAL '1-2' YEAR TO MONTH"),
    CAST_CASE ("93784500000", "interval day to second", "integer", "INTEGER", "93784"),
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    check (&cases[i]);
}

static void
test_decimals (void)
{
  static const Case cases[] = {
    { "$k(CAST('12345678901234567890.123456789' AS DECIMAL(38,9)), CAST('9876543210.987654321' AS DECIMAL(30,9)))",
      "121932631137021795224965706422.374638", "sluice_decimal_multiply", "DECIMAL(38,6)" },
    { "$k(1::DECIMAL(38,18), 3::DECIMAL(38,18))", "0.333333", "sluice_decimal_divide", "DECIMAL(38,6)" },
    { "$k(10.0, 0.0)", "!DIVIDE_BY_ZERO", "sluice_decimal_divide", "DECIMAL(9,6)" },
    { "$k(-5.5, 2)", "-1.5", "sluice_decimal_remainder", "DECIMAL(2,1)" },
    { "$k(1234.567, -2, 0)", "1200", "sluice_decimal_round", "DECIMAL(5,0)" },
    { "$k(-3.1411, -1, 3)", "-10", "sluice_decimal_round", "DECIMAL(2,0)" },
    { "$k(127::TINYINT, 1::TINYINT)", "!BINARY_ARITHMETIC_OVERFLOW", "sluice_add", "TINYINT" },
    { "$k(1.005::DOUBLE, 2, false)", "1.01", "sluice_round_double", "DOUBLE" },
    { "sluice_factorial(21)", NULL, NULL, NULL },
    { "sluice_ceil(1e19)", "!ARITHMETIC_OVERFLOW", NULL, NULL },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    check (&cases[i]);
}

static void
test_bit_sets (void)
{
  static const Case cases[] = {
    { "sluice_bits(true, false, NULL, true)", "\\x09", NULL, NULL },
    { "octet_length(sluice_bits(false, NULL, false, false, false, false, false, false, false))", "0", NULL, NULL },
    { "sluice_bits(false, false, false, false, false, false, false, false, true, false)", "\\x00\\x01", NULL, NULL },
    { "[sluice_bit('\\x09'::BLOB, b::INTEGER) FOR b IN [0, 1, 3, 8, -1, NULL]]",
      "[true, false, true, false, false, false]", NULL, NULL },
    { "sluice_bit('\\x00\\x80'::BLOB, 15)", "true", NULL, NULL },
    { "sluice_bit(NULL, 0)", "false", NULL, NULL },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    check (&cases[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autoptr (GError) error = NULL;
  engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  g_assert_true (relation_kernels_register (engine, &error));
  g_assert_no_error (error);
  session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  g_test_add_func ("/relation/kernel/casts", test_casts);
  g_test_add_func ("/relation/kernel/decimals", test_decimals);
  g_test_add_func ("/relation/kernel/bit-sets", test_bit_sets);
  int status = g_test_run ();
  duck_session_free (session);
  duck_engine_unref (engine);
  return status;
}

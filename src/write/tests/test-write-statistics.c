/* Bounds of statistics, partition texts and physical forms, without an engine. */
#include "write-layout.h"
#include "write-schema.h"
#include "write-statistics.h"

#include <glib.h>

typedef struct {
  BaseTypeKind kind;
  const char *text;
  const char *min, *max; /* NULL = no bound */
} BoundCase;

static const BoundCase bound_cases[] = {
  { BASE_TYPE_INTEGER, "-7", "-7", "-7" },
  { BASE_TYPE_LONG, "9223372036854775807", "9223372036854775807", "9223372036854775807" },
  { BASE_TYPE_DOUBLE, "1.5", "1.5", "1.5" },
  { BASE_TYPE_DOUBLE, "1e+20", "1e+20", "1e+20" },
  { BASE_TYPE_DOUBLE, "-0.0", "-0.0", "0.0" },
  { BASE_TYPE_FLOAT, "-0.0", "-0.0", "0.0" },
  { BASE_TYPE_DOUBLE, "inf", NULL, NULL },
  { BASE_TYPE_DOUBLE, "-inf", NULL, NULL },
  { BASE_TYPE_DOUBLE, "nan", NULL, NULL },
  { BASE_TYPE_DATE, "2020-02-29", "\"2020-02-29\"", "\"2020-02-29\"" },
  { BASE_TYPE_DATE, "infinity", NULL, NULL },
  { BASE_TYPE_DATE, "0044-01-01 (BC)", NULL, NULL },
  { BASE_TYPE_DATE, "10000-01-01", NULL, NULL },
  { BASE_TYPE_TIMESTAMP, "2020-01-01 00:00:00+00", "\"2020-01-01T00:00:00.000Z\"", "\"2020-01-01T00:00:00.000Z\"" },
  { BASE_TYPE_TIMESTAMP, "2020-01-01 00:00:00.123456+00", "\"2020-01-01T00:00:00.123Z\"",
    "\"2020-01-01T00:00:00.124Z\"" },
  { BASE_TYPE_TIMESTAMP, "2020-12-31 23:59:59.9995+00", "\"2020-12-31T23:59:59.999Z\"",
    "\"2021-01-01T00:00:00.000Z\"" },
  { BASE_TYPE_TIMESTAMP, "9999-12-31 23:59:59.999999+00", "\"9999-12-31T23:59:59.999Z\"", NULL },
  { BASE_TYPE_TIMESTAMP, "2020-01-01 00:00:00+02", NULL, NULL },
  { BASE_TYPE_TIMESTAMP, "2020-01-01 00:00:00", NULL, NULL },
  { BASE_TYPE_TIMESTAMP_NTZ, "2020-01-01 10:20:30.5", "\"2020-01-01T10:20:30.500\"", "\"2020-01-01T10:20:30.500\"" },
  { BASE_TYPE_TIMESTAMP_NTZ, "-infinity", NULL, NULL },
  { BASE_TYPE_STRING, "a\"b", "\"a\\\"b\"", "\"a\\\"b\"" },
  { BASE_TYPE_STRING, "12345678901234567890123456789012", "\"12345678901234567890123456789012\"",
    "\"12345678901234567890123456789012\"" },
  { BASE_TYPE_STRING, "123456789012345678901234567890123", "\"12345678901234567890123456789012\"",
    "\"12345678901234567890123456789012\xf4\x8f\xbf\xbf\"" },
  { BASE_TYPE_STRING, "12345678901234567890123456789012\xf4\x8f\xbf\xbfz", "\"12345678901234567890123456789012\"",
    NULL },
  { BASE_TYPE_STRING, "\xff", NULL, NULL },
  { BASE_TYPE_BOOLEAN, "1", NULL, NULL },
  { BASE_TYPE_BINARY, "6162", NULL, NULL },
};

static void
test_bounds_are_certain (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (bound_cases); i++) {
    const BoundCase *c = &bound_cases[i];
    g_autoptr (BaseType) type = base_type_simple (c->kind);
    g_autofree char *min = write_statistics_bound (type, c->text, FALSE);
    g_autofree char *max = write_statistics_bound (type, c->text, TRUE);
    g_autofree char *shown = g_strescape (c->text, NULL);
    g_test_message ("%s", shown);
    g_assert_cmpstr (min, ==, c->min);
    g_assert_cmpstr (max, ==, c->max);
  }
}

static BaseType *
struct_of (const char *name, const BaseType *type)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  base_struct_builder_add (builder, name, type, FALSE, NULL);
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static void
test_merge_adds_missing_fields_at_the_end (void)
{
  g_autoptr (BaseType) i = base_type_simple (BASE_TYPE_INTEGER);
  g_autoptr (BaseType) s = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) inner_a = struct_of ("x", i);
  g_autoptr (BaseType) inner_b = struct_of ("y", s);
  g_autoptr (BaseType) list_a = base_type_array (inner_a, TRUE);
  g_autoptr (BaseType) list_b = base_type_array (inner_b, TRUE);
  g_autoptr (BaseStructBuilder) a = base_struct_builder_new ();
  base_struct_builder_add (a, "id", i, FALSE, NULL);
  base_struct_builder_add (a, "l", list_a, TRUE, NULL);
  g_autoptr (BaseType) table = base_struct_builder_end (g_steal_pointer (&a));
  g_autoptr (BaseStructBuilder) b = base_struct_builder_new ();
  base_struct_builder_add (b, "extra", s, FALSE, NULL);
  base_struct_builder_add (b, "ID", s, TRUE, NULL);
  base_struct_builder_add (b, "L", list_b, TRUE, NULL);
  g_autoptr (BaseType) data = base_struct_builder_end (g_steal_pointer (&b));

  g_autoptr (BaseType) merged = write_schema_merge (table, data);
  g_autofree char *ddl = base_type_text (merged);
  g_assert_cmpstr (ddl, ==, "struct<id:int,l:array<struct<x:int,y:string>>,extra:string>");
  g_assert_true (base_type_field (merged, 2)->nullable);
  g_assert_false (base_type_field (merged, 0)->nullable);
  g_autoptr (BaseType) same = write_schema_merge (merged, data);
  g_assert_true (same == merged);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/write/statistics/bounds-are-certain", test_bounds_are_certain);
  g_test_add_func ("/write/schema/merge-adds-missing-fields-at-the-end", test_merge_adds_missing_fields_at_the_end);
  return g_test_run ();
}

/* The domain's text: what is written is read back; what is wrong has a name. */
#include "autocdc-domain-private.h"
#include "autocdc-value-private.h"
#include "base-error.h"
#include "base-json.h"

#include <string.h>

static const char *const paths[][4] = {
  { "name" }, { "city.of.birth" }, { "Place", "City" }, { "Place", "at", "lat" }
};

static AutoCdcDomain *
make_domain (void)
{
  AutoCdcDomain *domain = autocdc_domain_new (AUTOCDC_SCD2, FALSE);
  AutoCdcStateFile *file = g_new0 (AutoCdcStateFile, 1);

  g_ptr_array_add (domain->keys, g_strdup ("id"));
  g_ptr_array_add (domain->key_types, base_type_simple (BASE_TYPE_LONG));
  domain->sequence_type = base_type_simple (BASE_TYPE_TIMESTAMP);
  domain->track_except = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (domain->track_except, g_strdup ("City"));
  domain->ignore_columns = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (domain->ignore_columns, g_strdup ("Place"));
  domain->columns_to_update = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    g_ptr_array_add (domain->fields, g_strdupv ((char **) paths[i]));
  *file = (AutoCdcStateFile){ g_strdup ("_autocdc/a.parquet"), 10, 4, 1234, 5, 6 };
  g_ptr_array_add (domain->files, file);
  return domain;
}

static void
test_round_trip (void)
{
  g_autoptr (AutoCdcDomain) domain = make_domain (), read = NULL;
  g_autofree char *text = autocdc_domain_text (domain), *again = NULL;
  g_autoptr (GError) error = NULL;

  read = autocdc_domain_parse (text, &error);
  g_assert_no_error (error);
  again = autocdc_domain_text (read);
  g_assert_cmpstr (text, ==, again);
  g_assert_cmpint (autocdc_domain_field (read, (const char *const[]){ "CITY.of.birth", NULL }), ==, 1);
  g_assert_cmpint (autocdc_domain_field (read, (const char *const[]){ "place", "AT", "lat", NULL }), ==, 3);
  g_assert_cmpint (autocdc_domain_field (read, (const char *const[]){ "place", "at", NULL }), ==, -1);
  g_assert_cmpint (autocdc_domain_field (read, (const char *const[]){ "id", NULL }), ==, -1);
  g_assert_true (autocdc_domain_ignores_null (read, "place"));
  g_assert_false (autocdc_domain_ignores_null (read, "name"));
  g_assert_true (autocdc_domain_is_partial (read));
  g_assert_cmpint (autocdc_domain_key (read, "ID"), ==, 0);
  g_assert_true (autocdc_domain_tracks (read, "name"));
  g_assert_false (autocdc_domain_tracks (read, "city"));
}

static void
test_statements_have_numbers (void)
{
  g_autoptr (AutoCdcDomain) domain = make_domain (), read = NULL;
  g_autofree char *text = NULL, *column = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (domain->hidden_gen);
  autocdc_domain_begin_statement (domain);
  column = g_strdup (domain->hidden_gen);
  autocdc_domain_begin_statement (domain);
  text = autocdc_domain_text (domain);
  read = autocdc_domain_parse (text, &error);
  g_assert_no_error (error);
  g_assert_cmpint (read->gen, ==, 2);
  g_assert_cmpstr (read->hidden_gen, ==, column);
}

static void
test_fresh_names (void)
{
  g_autoptr (AutoCdcDomain) a = autocdc_domain_new (AUTOCDC_SCD2, FALSE), b = autocdc_domain_new (AUTOCDC_SCD2, FALSE);

  g_assert_cmpstr (a->hidden_sequence, !=, b->hidden_sequence);
  g_assert_true (g_str_has_prefix (a->hidden_set, "_autocdc-"));
}

#define MISSING   "AUTOCDC_INVALID_STATE.AUXILIARY_TABLE_PROPERTY_MISSING"
#define MALFORMED "AUTOCDC_INVALID_STATE.AUXILIARY_TABLE_PROPERTY_MALFORMED"

/* Each case puts one entry into an otherwise good domain (NULL takes it out). */
static const struct {
  const char *entry;
  const char *json;
  const char *condition;
} bad_entries[] = {
  { "formatVersion", NULL, MALFORMED },
  { "formatVersion", "2", "UNSUPPORTED_FEATURE" },
  { "formatVersion", "\"1\"", MALFORMED },
  { "scdType", NULL, MISSING },
  { "scdType", "\"SCD3\"", MALFORMED },
  { "scdType", "\"BITEMPORAL\"", MISSING }, /* the system sequence's type */
  { "keys", NULL, MISSING },
  { "keys", "[]", MALFORMED },
  { "keys", "[{\"name\": \"id\", \"type\": \"lng\"}]", MALFORMED },
  { "keys", "[{\"type\": \"long\"}]", MALFORMED },
  { "sequenceType", NULL, MISSING },
  { "sequenceType", "7", MALFORMED },
  { "trackHistory", NULL, MISSING },
  { "trackHistory", "[]", MALFORMED },
  { "trackHistory", "{\"columns\": [1]}", MALFORMED },
  { "ignoreNull", NULL, MISSING },
  { "ignoreNull", "true", MALFORMED },
  { "ignoreNull", "{\"columns\": [], \"except\": []}", MALFORMED },
  { "ignoreNull", "{\"except\": [null]}", MALFORMED },
  { "columnsToUpdate", "\"c\"", MALFORMED },
  { "truncate", "5", MALFORMED }, /* history knows none */
  { "gen", "1", MALFORMED },      /* without its hidden column */
  { "gen", "-1", MALFORMED },
  { "fields", NULL, MISSING },
  { "fields", "[[]]", MALFORMED },
  { "fields", "[[\"s\", 1]]", MALFORMED },
  { "fields", "[\"s\"]", MALFORMED },
  { "hiddenColumns", NULL, MISSING },
  { "hiddenColumns", "[]", MALFORMED },
  { "hiddenColumns", "[{\"name\": \"a\", \"holds\": \"b\"}]", MALFORMED },
  { "files", NULL, MISSING },
  { "files", "[\"part-0.parquet\"]", MALFORMED },
  { "files", "[\"_autocdc/../part-0.parquet\"]", MALFORMED },
  { "files", "[]", MALFORMED },
  { "state", NULL, MISSING },
  { "state", "[[1, 2, 3, 4]]", MALFORMED },
  { "state", "[[1, 2, 3, 4, \"5\"]]", MALFORMED },
};

static void
test_bad_entries (void)
{
  g_autoptr (AutoCdcDomain) domain = make_domain ();
  g_autofree char *text = autocdc_domain_text (domain);

  for (guint i = 0; i < G_N_ELEMENTS (bad_entries); i++) {
    g_autoptr (json_t) json = base_json_parse (text, strlen (text), "domain", NULL);
    g_autoptr (AutoCdcDomain) read = NULL;
    g_autoptr (GError) error = NULL;
    g_autofree char *bad = NULL;

    if (bad_entries[i].json)
      json_object_set_new (json, bad_entries[i].entry,
                           base_json_parse (bad_entries[i].json, strlen (bad_entries[i].json), "entry", NULL));
    else
      json_object_del (json, bad_entries[i].entry);
    bad = base_json_text (json);
    read = autocdc_domain_parse (bad, &error);
    if (read || g_strcmp0 (base_error_condition (error), bad_entries[i].condition) != 0)
      g_error ("%s = %s: %s instead of %s", bad_entries[i].entry, bad_entries[i].json,
               error ? error->message : "no error", bad_entries[i].condition);
  }
}

/* A truncate in the domain, by the type of the sequence; NULL = no value of the type. */
static const struct {
  const char *type, *json, *literal;
} truncates[] = {
  { "\"long\"", "-5", "CAST('-5' AS BIGINT)" },
  { "\"long\"", "\"5\"", NULL },
  { "\"long\"", "[5]", NULL },
  { "\"byte\"", "127", "CAST('127' AS TINYINT)" },
  { "\"byte\"", "128", NULL },
  { "\"boolean\"", "true", "true" },
  { "\"boolean\"", "1", NULL },
  { "\"double\"", "\"1.5\"", "CAST('1.5' AS DOUBLE)" },
  { "\"double\"", "\"NaN\"", "CAST('nan' AS DOUBLE)" },
  { "\"double\"", "\"1.5'\"", NULL },
  { "\"double\"", "1.5", NULL },
  { "\"decimal(4,2)\"", "\"-12.30\"", "CAST('-12.30' AS DECIMAL(4,2))" },
  { "\"decimal(4,2)\"", "\"-12.3\"", NULL },
  { "\"decimal(4,2)\"", "\"123.45\"", NULL },
  { "\"decimal(4,2)\"", "\"1'.30\"", NULL },
  { "\"string\"", "\"o'\"", "'o'''" },
  { "\"string\"", "5", NULL },
  { "\"binary\"", "\"0f0\"", NULL },
  { "\"binary\"", "\"zz\"", NULL },
  { "\"timestamp\"", "1500000", "make_timestamptz(1500000)" },
  { "\"date\"", "3000000000", NULL },
};

static void
test_truncates (void)
{
  g_autoptr (AutoCdcDomain) domain = make_domain ();
  g_autofree char *text = NULL;

  domain->type = AUTOCDC_SCD1;
  text = autocdc_domain_text (domain);
  for (guint i = 0; i < G_N_ELEMENTS (truncates); i++) {
    g_autoptr (json_t) json = base_json_parse (text, strlen (text), "domain", NULL);
    g_autoptr (AutoCdcDomain) read = NULL;
    g_autoptr (GError) error = NULL;
    g_autofree char *with = NULL, *again = NULL;

    json_object_set_new (json, "sequenceType",
                         base_json_parse (truncates[i].type, strlen (truncates[i].type), "type", NULL));
    json_object_set_new (json, "truncate",
                         base_json_parse (truncates[i].json, strlen (truncates[i].json), "truncate", NULL));
    with = base_json_text (json);
    read = autocdc_domain_parse (with, &error);
    if (!truncates[i].literal) {
      g_assert_cmpstr (base_error_condition (error), ==, MALFORMED);
      continue;
    }
    g_assert_no_error (error);
    g_autoptr (GString) literal = g_string_new (NULL);

    g_assert_true (autocdc_value_print (read->truncate, read->sequence_type, literal));
    g_assert_cmpstr (literal->str, ==, truncates[i].literal);
    again = base_json_text (read->truncate);
    g_assert_cmpstr (again, ==, truncates[i].json);
  }
}

static void
test_not_json (void)
{
  static const char *const texts[] = { "", "[]", "{", "null", "{\"formatVersion\": 1}" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (autocdc_domain_parse (texts[i], &error));
    g_assert_cmpint (base_error_class (error), ==, BASE_ERROR_CLASS_STATE);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/autocdc/domain/round-trip", test_round_trip);
  g_test_add_func ("/autocdc/domain/statements-have-numbers", test_statements_have_numbers);
  g_test_add_func ("/autocdc/domain/fresh-names", test_fresh_names);
  g_test_add_func ("/autocdc/domain/bad-entries", test_bad_entries);
  g_test_add_func ("/autocdc/domain/truncates", test_truncates);
  g_test_add_func ("/autocdc/domain/not-json", test_not_json);
  return g_test_run ();
}

/* Small strings. */
#include "base-json.h"
#include "base-text.h"

static void
quoting_doubles_quotes (void)
{
  g_autofree char *literal = base_text_sql_literal ("it's");
  g_autofree char *identifier = base_text_sql_identifier ("a\"b");
  g_autofree char *plain = base_text_spark_identifier ("a_1");
  g_autofree char *quoted = base_text_spark_identifier ("a`b c");

  g_assert_cmpstr (literal, ==, "'it''s'");
  g_assert_cmpstr (identifier, ==, "\"a\"\"b\"");
  g_assert_cmpstr (plain, ==, "a_1");
  g_assert_cmpstr (quoted, ==, "`a``b c`");
}

static void
uri_paths_go_there_and_back (void)
{
  static const char *const cases[][2] = {
    { "p=a b/f.parquet", "p=a%20b/f.parquet" },
    { "p=a%3Ab", "p=a%253Ab" },
    { "x#y?z", "x%23y%3Fz" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *encoded = base_text_uri_encode_path (cases[i][0]);
    g_autofree char *decoded = base_text_uri_decode (encoded);
    g_assert_cmpstr (encoded, ==, cases[i][1]);
    g_assert_cmpstr (decoded, ==, cases[i][0]);
  }
  g_assert_null (base_text_uri_decode ("a%2"));
  g_assert_null (base_text_uri_decode ("a%00"));
  g_assert_null (base_text_uri_decode ("a%zz"));
}

static void
case_is_ignored_beyond_ascii (void)
{
  g_assert_true (base_text_equal_ignore_case ("STRASSE", "strasse"));
  g_assert_true (base_text_equal_ignore_case ("Ünal", "üNAL"));
  g_assert_false (base_text_equal_ignore_case ("straße", "strasse"));
}

static void
near_names_come_best_first (void)
{
  const char *const candidates[] = { "customers", "customer", "orders", NULL };
  g_autofree char *near = base_text_near_names ("custmers", candidates, 2);

  g_assert_cmpstr (near, ==, "`customers`, `customer`");
  g_assert_null (base_text_near_names ("zzz", candidates, 2));
  g_free (near);
  near = base_text_near_names ("t2", (const char *const[]){ "sales.t2", "t9", "sales.t3", NULL }, 3);
  g_assert_cmpstr (near, ==, "`sales.t2`, `t9`");
}

static void
numbers_for_people (void)
{
  g_autofree char *size = base_text_size (1536);
  g_autofree char *count = base_text_count (1234567);
  g_autofree char *few = base_text_count (12);
  gint64 value;

  g_assert_cmpstr (size, ==, "1.5 KiB");
  g_assert_cmpstr (count, ==, "1,234,567");
  g_assert_cmpstr (few, ==, "12");
  g_assert_true (base_text_parse_int64 ("-5", &value));
  g_assert_cmpint (value, ==, -5);
  g_assert_false (base_text_parse_int64 ("5 ", &value));
  g_assert_false (base_text_parse_int64 ("99999999999999999999", &value));
}

static void
unicode_escapes_are_read_in_pairs (void)
{
  static const struct {
    const char *text; /* behind the u */
    gunichar c;
    gsize n_read; /* 0: refused */
  } cases[] = {
    { "0041x", 'A', 4 },
    { "0000", 0, 4 },
    { "d83d\\ude00x", 0x1F600, 10 },
    { "d83d\\u0041", 0xD83D, 4 },
    { "d83d\\ude0", 0xD83D, 4 },
    { "de00\\ud83d", 0xDE00, 4 },
    { "004", 0, 0 },
    { "00g1", 0, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const char *at = cases[i].text;
    gunichar c;

    g_assert_cmpint (base_json_read_unicode (&at, at + strlen (at), &c), ==, cases[i].n_read > 0);
    g_assert_cmpuint ((gsize) (at - cases[i].text), ==, cases[i].n_read);
    if (cases[i].n_read > 0)
      g_assert_cmphex (c, ==, cases[i].c);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/text/quoting-doubles-quotes", quoting_doubles_quotes);
  g_test_add_func ("/base/text/uri-paths-go-there-and-back", uri_paths_go_there_and_back);
  g_test_add_func ("/base/text/case-is-ignored-beyond-ascii", case_is_ignored_beyond_ascii);
  g_test_add_func ("/base/text/near-names-come-best-first", near_names_come_best_first);
  g_test_add_func ("/base/text/numbers-for-people", numbers_for_people);
  g_test_add_func ("/base/text/unicode-escapes-are-read-in-pairs", unicode_escapes_are_read_in_pairs);
  return g_test_run ();
}

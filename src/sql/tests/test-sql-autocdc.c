/* The grammar of AUTO CDC, autocdc.md §2.1: every spelling, clauses in any order and each once, its keywords as names. */
#include "base-error.h"
#include "sql-parse.h"
#include "sql-print.h"

#include <string.h>

/* Every clause, with the words by which an error names it. */
static const struct {
  const char *text;
  const char *name;
} clauses[] = {
  { "WHERE day > 3", "WHERE" },
  { "IGNORE NULL UPDATES ON * EXCEPT (x, y)", "IGNORE NULL UPDATES" },
  { "APPLY AS DELETE WHEN op = \"D\"", "APPLY AS DELETE WHEN" },
  { "APPLY AS TRUNCATE WHEN op = 'T' OR truncate", "APPLY AS TRUNCATE WHEN" },
  { "SEQUENCE BY STRUCT(a, b)", "SEQUENCE BY" },
  { "SYSTEM SEQUENCE BY c + interval", "SYSTEM SEQUENCE BY" },
  { "COLUMNS a, columns, sequence", "COLUMNS" },
  { "STORED AS SCD TYPE 2", "STORED AS" },
  { "TRACK HISTORY ON history, `a.b`", "TRACK HISTORY ON" },
  { "COLUMNS TO UPDATE columns", "COLUMNS TO UPDATE" },
};

static SqlStatement *
parse (SqlArena *arena, const char *text, GError **error)
{
  return sql_parse_statement (arena, text, -1, NULL, error);
}

static char *
printed (const char *text)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (GError) error = NULL;
  SqlStatement *statement = parse (arena, text, &error);

  if (statement == NULL)
    g_test_message ("%s: %s", text, error->message);
  g_assert_no_error (error);
  return sql_print_statement (statement);
}

/* The same place with a word plain and in backticks: printed alike, but for the backticks. */
static void
check_word (const char *place, const char *word)
{
  g_auto (GStrv) parts = g_strsplit (place, "%s", -1);
  g_autofree char *quoted_word = g_strdup_printf ("`%s`", word);
  g_autofree char *plain = g_strjoinv (word, parts), *quoted = g_strjoinv (quoted_word, parts);
  g_autofree char *got = printed (plain), *expected = printed (quoted);
  g_auto (GStrv) got_parts = g_strsplit (got, "`", -1), expected_parts = g_strsplit (expected, "`", -1);
  g_autofree char *got_plain = g_strjoinv ("", got_parts), *expected_plain = g_strjoinv ("", expected_parts);

  g_assert_cmpstr (got_plain, ==, expected_plain);
}

static char *
with_clauses (const guint *order, guint n)
{
  GString *text = g_string_new ("APPLY CHANGES INTO t FROM STREAM s KEYS (id)");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, " %s", clauses[order[i]].text);
  return g_string_free (text, FALSE);
}

static void
test_clauses_come_in_any_order (void)
{
  guint order[G_N_ELEMENTS (clauses)];
  g_autofree char *expected = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    order[i] = i;
  for (guint round = 0; round < 300; round++) {
    g_autofree char *text = with_clauses (order, G_N_ELEMENTS (order));
    g_autofree char *got = printed (text);

    if (expected == NULL)
      expected = g_strdup (got);
    g_assert_cmpstr (got, ==, expected);
    for (guint i = G_N_ELEMENTS (order) - 1; i > 0; i--) {
      guint other = (guint) g_test_rand_int_range (0, (gint32) i + 1), held = order[i];
      order[i] = order[other];
      order[other] = held;
    }
  }
}

static void
test_a_repeated_clause_is_named (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (clauses); i++)
    for (guint between = 0; between < G_N_ELEMENTS (clauses); between++) {
      guint order[] = { i, between, i };
      g_autofree char *text = NULL;
      g_autoptr (SqlArena) arena = sql_arena_new ();
      g_autoptr (GError) error = NULL;

      if (between == i)
        order[1] = i;
      text = with_clauses (order, G_N_ELEMENTS (order));
      g_assert_null (parse (arena, text, &error));
      g_assert_cmpstr (base_error_condition (error), ==, "PARSE_SYNTAX_ERROR");
      g_autofree char *wanted = g_strdup_printf ("the clause %s is written twice", clauses[i].name);
      g_assert_nonnull (strstr (error->message, wanted));
    }
}

/* Every word of the grammar where a name stands. */
static void
test_keywords_are_names (void)
{
  static const char *const words[] = {
    "apply",    "as",     "auto",    "bitemporal", "by",     "cdc",     "changes", "columns",   "comment",
    "create",   "delete", "except",  "flow",       "from",   "history", "ignore",  "into",      "keys",
    "live",     "null",   "on",      "once",       "or",     "private", "refresh", "scd",       "sequence",
    "snapshot", "stored", "stream",  "streaming",  "system", "table",   "to",      "track",     "truncate",
    "type",     "update", "updates", "version",    "when",   "where",   "with",    "operation",
  };
  static const char *const places[] = {
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (%s, id) SEQUENCE BY n",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id, %s) SEQUENCE BY n",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS id, %s SEQUENCE BY n",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS * EXCEPT (%s) SEQUENCE BY n STORED AS SCD TYPE 2",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) TRACK HISTORY ON id, %s SEQUENCE BY n",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) TRACK HISTORY ON * EXCEPT (%s) COLUMNS (%s)",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) IGNORE NULL UPDATES ON (%s) SEQUENCE BY n",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY n COLUMNS TO UPDATE %s",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS TO UPDATE %s SEQUENCE BY n",
  };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    for (guint k = 0; k < G_N_ELEMENTS (places); k++)
      check_word (places[k], words[i]);
}

/* As expressions and as tables, where other grammar has a say. */
static void
test_keywords_are_columns_of_expressions (void)
{
  static const char *const words[] = { "apply",   "auto",     "bitemporal", "cdc",    "changes", "columns", "delete",
                                       "history", "ignore",   "keys",       "live",   "once",    "private", "refresh",
                                       "scd",     "sequence", "snapshot",   "stored", "stream",  "system",  "streaming",
                                       "track",   "truncate", "type",       "update", "updates", "version", "flow" };
  static const char *const places[] = {
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY %s",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY %s COLUMNS * EXCEPT (a)",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY %s SYSTEM SEQUENCE BY %s STORED AS "
    "BITEMPORAL",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) APPLY AS DELETE WHEN %s SEQUENCE BY STRUCT(%s, n)",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) APPLY AS DELETE WHEN %s = 'D' TRACK HISTORY ON a",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY s.%s APPLY AS TRUNCATE WHEN NOT %s IGNORE "
    "NULL UPDATES",
    "CREATE FLOW f AS AUTO CDC INTO %s FROM STREAM(%s) KEYS (id) SEQUENCE BY n",
    "CREATE FLOW %s AS AUTO CDC INTO a.%s FROM STREAM a.%s KEYS (id) SEQUENCE BY n",
    "APPLY CHANGES INTO LIVE.%s FROM STREAM(LIVE.%s) KEYS (id) SEQUENCE BY n",
  };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    for (guint k = 0; k < G_N_ELEMENTS (places); k++)
      check_word (places[k], words[i]);
}

static void
test_spellings (void)
{
  static const struct {
    const char *text;
    const char *source;
    gboolean once, legacy, streaming, snapshot;
  } cases[] = {
    { "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (id) SEQUENCE BY n", "s", FALSE, FALSE, TRUE, FALSE },
    { "create flow f comment 'c' as auto cdc into t from stream s keys (id) sequence by n", "s", FALSE, FALSE, TRUE,
      FALSE },
    { "CREATE FLOW f AS AUTO CDC ONCE INTO a.b.t FROM STREAM LIVE.s KEYS (id) SEQUENCE BY n", "LIVE.s", TRUE, FALSE,
      TRUE, FALSE },
    { "CREATE FLOW f AS APPLY CHANGES ONCE INTO LIVE.t FROM STREAM(LIVE.s) KEYS (id) SEQUENCE BY n", "LIVE.s", TRUE,
      TRUE, TRUE, FALSE },
    { "APPLY CHANGES INTO t FROM s KEYS (id) SEQUENCE BY n", "s", FALSE, TRUE, FALSE, FALSE },
    { "APPLY CHANGES INTO t FROM a.s KEYS (id) WHERE id > 3 SEQUENCE BY n", "a.s", FALSE, TRUE, FALSE, FALSE },
    { "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM read_files('/d', format => 'json') KEYS (id) SEQUENCE BY n", NULL,
      FALSE, FALSE, TRUE, FALSE },
    { "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s WITH (readChangeFeed = true) KEYS (id) SEQUENCE BY n", NULL,
      FALSE, FALSE, TRUE, FALSE },
    { "CREATE STREAMING TABLE t FLOW AUTO CDC FROM STREAM s KEYS (id) SEQUENCE BY n", "s", FALSE, FALSE, TRUE, FALSE },
    { "CREATE OR REFRESH PRIVATE STREAMING TABLE t (id INT, CONSTRAINT c EXPECT (id > 0)) PARTITIONED BY (id) COMMENT "
      "'x' "
      "TBLPROPERTIES (a = 'b') FLOW AUTO CDC ONCE FROM STREAM(s) KEYS (id) SEQUENCE BY n STORED AS SCD TYPE 1",
      "s", TRUE, FALSE, TRUE, FALSE },
    { "CREATE STREAMING TABLE IF NOT EXISTS t FLOW AUTO CDC FROM s KEYS (id) SEQUENCE BY n", "s", FALSE, FALSE, FALSE,
      FALSE },
    { "CREATE FLOW f AS AUTO CDC INTO t FROM SNAPSHOT s KEYS (id)", "s", FALSE, FALSE, FALSE, TRUE },
    { "CREATE FLOW f AS AUTO CDC INTO t FROM SNAPSHOT (s) KEYS (id) STORED AS SCD TYPE 2", "s", FALSE, FALSE, FALSE,
      TRUE },
    { "CREATE FLOW f AS AUTO CDC INTO t FROM SNAPSHOT (SELECT 1 AS id) WITH VERSION (SELECT 2) KEYS (id)", NULL, FALSE,
      FALSE, FALSE, TRUE },
    { "CREATE FLOW f AS AUTO CDC INTO t FROM snapshot KEYS (id) SEQUENCE BY n", "snapshot", FALSE, FALSE, FALSE,
      FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (SqlArena) arena = sql_arena_new ();
    g_autoptr (GError) error = NULL;
    SqlStatement *statement = parse (arena, cases[i].text, &error);

    g_test_message ("%s", cases[i].text);
    g_assert_no_error (error);
    const SqlAutoCdc *cdc = statement->kind == SQL_STATEMENT_CREATE_FLOW ? statement->u.create_flow.autocdc
                                                                         : statement->u.create_table.autocdc;
    g_assert_cmpstr (cdc->target.parts[cdc->target.n - 1].text, ==, "t");
    g_assert_cmpstr (cdc->keys.items[0].text, ==, "id");
    g_assert_cmpint (cdc->once, ==, cases[i].once);
    g_assert_cmpint (cdc->apply_changes, ==, cases[i].legacy);
    g_assert_cmpint (cdc->snapshot, ==, cases[i].snapshot);
    if (cdc->source != NULL)
      g_assert_cmpint (cdc->source->streaming, ==, cases[i].streaming);
    if (cases[i].source != NULL) {
      g_autofree char *name = sql_name_text (&cdc->source->u.table.name);
      g_assert_cmpstr (name, ==, cases[i].source);
    }
    g_autofree char *once = sql_print_statement (statement), *twice = printed (once);
    g_assert_cmpstr (once, ==, twice);
  }
}

static void
test_wrong_statements_have_names (void)
{
  static const struct {
    const char *body; /* behind CREATE FLOW f AS */
    const char *condition;
    const char *fragment;
  } cases[] = {
    { "AUTO CDC INTO t KEYS (id)", "AUTOCDC_MISSING_SOURCE", "" },
    { "AUTO CDC INTO t", "AUTOCDC_MISSING_SOURCE", "" },
    { "AUTO CDC INTO t FROM STREAM s", "AUTOCDC_EMPTY_KEYS", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS ()", "AUTOCDC_EMPTY_KEYS", "" },
    { "AUTO CDC INTO t FROM STREAM s SEQUENCE BY n", "AUTOCDC_EMPTY_KEYS", "" },
    { "AUTO CDC INTO t FROM STREAM s SEQUENCE BY n KEYS (id)", "AUTOCDC_EMPTY_KEYS", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (a.b) SEQUENCE BY n", "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (a + 1) SEQUENCE BY n", "AUTOCDC_NON_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS (upper(a))", "AUTOCDC_NON_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS * EXCEPT (a.b)", "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) TRACK HISTORY ON * EXCEPT (a.b)", "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER",
      "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) IGNORE NULL UPDATES ON * EXCEPT (a.b)",
      "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) IGNORE NULL UPDATES ON (a, b || c)", "AUTOCDC_NON_COLUMN_IDENTIFIER",
      "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS TO UPDATE a[0]", "AUTOCDC_NON_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS TO UPDATE a.b", "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", "" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) WHERE id > 0 SEQUENCE BY n", "PARSE_SYNTAX_ERROR",
      "filter the source in a view" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) STORED AS SCD TYPE 3", "PARSE_SYNTAX_ERROR", "1 or 2" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) STORED AS SCD2", "PARSE_SYNTAX_ERROR", "SCD TYPE 1, SCD TYPE 2 or" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) COLUMNS *", "PARSE_SYNTAX_ERROR", "EXCEPT" },
    { "AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY n GROUP BY id", "PARSE_SYNTAX_ERROR",
      "a clause of AUTO CDC" },
    { "AUTO CDC FROM STREAM s KEYS (id)", "PARSE_SYNTAX_ERROR", "INTO" },
    { "MERGE INTO t", "PARSE_SYNTAX_ERROR", "INSERT INTO or AUTO CDC" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (SqlArena) arena = sql_arena_new ();
    g_autoptr (GError) error = NULL;
    g_autofree char *text = g_strconcat ("CREATE FLOW f AS ", cases[i].body, NULL);

    g_test_message ("%s", text);
    g_assert_null (parse (arena, text, &error));
    g_assert_cmpstr (base_error_condition (error), ==, cases[i].condition);
    g_assert_nonnull (strstr (error->message, cases[i].fragment));
  }
}

static void
test_double_quotes_are_texts (void)
{
  g_autofree char *got =
      printed ("APPLY CHANGES INTO t FROM s KEYS (id) APPLY AS DELETE WHEN op = \"DEL\" \"ETE\" SEQUENCE BY n");
  g_autofree char *expected =
      printed ("APPLY CHANGES INTO t FROM s KEYS (id) APPLY AS DELETE WHEN op = 'DELETE' SEQUENCE BY n");

  g_assert_cmpstr (got, ==, expected);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sql/autocdc/clauses-come-in-any-order", test_clauses_come_in_any_order);
  g_test_add_func ("/sql/autocdc/a-repeated-clause-is-named", test_a_repeated_clause_is_named);
  g_test_add_func ("/sql/autocdc/keywords-are-names", test_keywords_are_names);
  g_test_add_func ("/sql/autocdc/keywords-are-columns-of-expressions", test_keywords_are_columns_of_expressions);
  g_test_add_func ("/sql/autocdc/spellings", test_spellings);
  g_test_add_func ("/sql/autocdc/wrong-statements-have-names", test_wrong_statements_have_names);
  g_test_add_func ("/sql/autocdc/double-quotes-are-texts", test_double_quotes_are_texts);
  return g_test_run ();
}

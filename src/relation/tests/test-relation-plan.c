/* Plans made in C: sources, projections, store assignment, expectations, append mode, the total order, coercion. */
#include "base-error.h"
#include "duck-session.h"
#include "relation-coerce.h"
#include "relation-kernel.h"
#include "relation-plan.h"
#include "sql-parse.h"

#include <string.h>

static DuckEngine *engine;
static DuckSession *session;
static SqlArena *arena;

typedef struct {
  RelationResolver resolver;
  RelationSource *static_source, *streaming_source;
} Tables;

static gboolean
find_table (RelationResolver *resolver, const RelationTableRequest *request, RelationTableAnswer *answer,
            GError **error G_GNUC_UNUSED)
{
  Tables *tables = (Tables *) resolver;

  if (g_ascii_strcasecmp (request->parts[request->n_parts - 1], "t") == 0)
    answer->source = relation_source_ref (request->streaming ? tables->streaming_source : tables->static_source);
  return TRUE;
}

static const RelationResolverClass tables_class = { .find_table = find_table };
static Tables tables = { .resolver = { .klass = &tables_class } };

static RelationContext
context (void)
{
  return (RelationContext){ .resolver = &tables.resolver, .now_us = 1000000, .session = session };
}

static BaseType *
schema (const char *ddl)
{
  g_autoptr (GError) error = NULL;
  BaseType *type = sql_parse_schema (ddl, -1, &error);

  g_assert_no_error (error);
  return type;
}

static RelationPlan *
plan_of (const char *sql, GError **error)
{
  RelationContext with = context ();
  SqlQuery *query = sql_parse_query (arena, sql, -1, NULL, error);

  return query != NULL ? relation_plan_new_query (query, &with, error) : NULL;
}

static SqlExpr *
expr_of (const char *sql)
{
  g_autoptr (GError) error = NULL;
  SqlExpr *expr = sql_parse_expression (arena, sql, -1, NULL, &error);

  g_assert_no_error (error);
  return expr;
}

static RelationText *
lower (RelationPlan *plan)
{
  g_autoptr (GError) error = NULL;
  RelationLowering lowering = { .now_us = 2000000, .session = session, .check_types = TRUE };
  RelationText *text = relation_plan_lower (plan, &lowering, &error);

  g_assert_no_error (error);
  return text;
}

/* All rows as one text: cells by `|`, rows by `;`, sorted. */
static char *
run (RelationText *text, GError **error)
{
  g_autofree char *sql = g_strdup_printf (
      "SELECT coalesce(string_agg(r, ';' ORDER BY r), '') FROM (SELECT concat_ws('|', *COLUMNS(*)) AS r "
      "FROM (SELECT coalesce(CAST(COLUMNS(*) AS VARCHAR), 'NULL') FROM (%s)))",
      relation_text_sql (text)->str);
  char *value = NULL;

  return duck_session_query_string (session, sql, NULL, &value, error) ? value : NULL;
}

static void
assert_rows (RelationPlan *plan, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (RelationText) text = lower (plan);
  g_autofree char *rows = run (text, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==, expected);
}

static void
test_source_is_projected_and_filtered (void)
{
  g_autoptr (GError) error = NULL;
  RelationContext with = context ();
  g_autoptr (RelationPlan) source = relation_plan_new_source (tables.static_source);
  RelationItem items[] = { { .name = "twice", .expr = expr_of ("a * 2") }, { .column = 1 } };
  g_autoptr (RelationPlan) filtered = relation_plan_filter (source, expr_of ("a > 1"), &with, &error);
  g_autoptr (RelationPlan) plan = relation_plan_project (filtered, items, 2, &with, &error);
  g_autofree char *ddl = NULL;

  g_assert_no_error (error);
  ddl = base_type_text (relation_plan_schema (plan));
  g_assert_cmpstr (ddl, ==, "struct<twice:int,b:string>");
  assert_rows (plan, "4|y;6|NULL");
  g_assert_cmpuint (relation_plan_n_sources (plan), ==, 1);
  g_assert_false (relation_plan_is_streaming (plan));
}

/* A source that tells what it was asked for. */
typedef struct {
  RelationSource source;
  GString *asked;
} Witness;

static gboolean
witness_scan (RelationSource *source, const RelationScan *scan, RelationText *out, GError **error G_GNUC_UNUSED)
{
  Witness *self = (Witness *) source;
  static const char *const values[] = { "1", "'x'", "2.5::DOUBLE", "'f.json'" };

  g_string_truncate (self->asked, 0);
  for (guint i = 0; i < scan->n_columns; i++)
    g_string_append_printf (self->asked, "%s%u", i > 0 ? "," : "", scan->columns[i]);
  for (guint i = 0; i < scan->n_skips; i++)
    g_string_append_printf (self->asked, " skip %u %d %s", scan->skips[i].column, (int) scan->skips[i].op,
                            scan->skips[i].value == NULL ? "-"
                            : base_type_kind (scan->skips[i].value->type) == BASE_TYPE_STRING
                                ? scan->skips[i].value->text
                                : "number");
  g_string_append (relation_text_sql (out), "SELECT ");
  for (guint i = 0; i < scan->n_columns; i++)
    g_string_append_printf (relation_text_sql (out), "%s%s AS %s", i > 0 ? ", " : "", values[scan->columns[i]],
                            scan->names[i]);
  if (scan->n_columns == 0)
    g_string_append (relation_text_sql (out), "1 AS one");
  return TRUE;
}

static void
witness_free (RelationSource *source)
{
  Witness *self = (Witness *) source;

  relation_source_clear (source);
  g_string_free (self->asked, TRUE);
  g_free (self);
}

static void
test_sources_are_asked_for_what_is_used (void)
{
  static const RelationSourceClass witness_class = { witness_scan, witness_free };
  static const struct {
    const char *sql, *asked, *rows;
  } cases[] = {
    { "SELECT a FROM t", "0", "1" },
    { "SELECT count(*) FROM t", "", "1" },
    { "SELECT * FROM t", "0,1,2", "1|x|2.5" },
    { "SELECT _file FROM t", "3", "f.json" },
    { "SELECT *, _file FROM t", "0,1,2,3", "1|x|2.5|f.json" },
    { "SELECT c FROM t WHERE a = 1 AND b >= 'w' AND c > 0", "0,1,2 skip 0 0 number skip 1 4 w", "2.5" },
    { "SELECT a FROM (SELECT a, b FROM t) WHERE 'w' < b", "0,1 skip 1 3 w", "1" },
    { "SELECT a FROM t WHERE a = 1 OR a = 2", "0", "1" },
    { "SELECT x.a FROM t x JOIN t y ON x.a = y.a WHERE y.b IS NOT NULL", "0,1 skip 1 6 -", "1" },
  };
  RelationSource *kept = tables.static_source;
  g_autoptr (BaseType) shown = schema ("a INT, b STRING, c DOUBLE");
  g_autoptr (BaseType) hidden = schema ("_file STRING");
  Witness *witness = g_new0 (Witness, 1);

  relation_source_init (&witness->source, &witness_class, "t", shown, hidden, FALSE);
  witness->asked = g_string_new (NULL);
  tables.static_source = &witness->source;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (RelationPlan) plan = plan_of (cases[i].sql, &error);
    g_assert_no_error (error);
    g_test_message ("%s", cases[i].sql);
    assert_rows (plan, cases[i].rows);
    g_assert_cmpstr (witness->asked->str, ==, cases[i].asked);
  }
  tables.static_source = kept;
  relation_source_unref (&witness->source);
}

static void
test_errors_carry_position (void)
{
  static const struct {
    const char *sql, *condition;
    guint line, column;
  } cases[] = {
    { "SELECT a,\n  nope FROM t", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 2, 3 },
    { "SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND", 1, 15 },
    { "SELECT nofn(a) FROM t", "UNRESOLVED_ROUTINE", 1, 8 },
    { "SELECT a FROM t WHERE a", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", 1, 23 },
    { "SELECT a, count(*) FROM t", "MISSING_GROUP_BY", 1, 8 },
    { "SELECT b, count(*) FROM t GROUP BY a", "MISSING_AGGREGATION", 1, 8 },
    { "SELECT a FROM t ORDER BY 2", "ORDER_BY_POS_OUT_OF_RANGE", 1, 26 },
    { "SELECT a FROM t UNION SELECT a, b FROM t", "NUM_COLUMNS_MISMATCH", 1, 1 },
    { "SELECT a FROM t TABLESAMPLE (10 PERCENT)", "UNSUPPORTED_FEATURE", 1, 15 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (RelationPlan) plan = plan_of (cases[i].sql, &error);
    const char *file, *line_text;
    guint line = 0, column = 0;
    g_test_message ("%s", cases[i].sql);
    g_assert_null (plan);
    g_assert_cmpstr (base_error_condition (error), ==, cases[i].condition);
    g_assert_true (base_error_position (error, &file, &line, &column, &line_text));
    g_assert_cmpuint (line, ==, cases[i].line);
    g_assert_cmpuint (column, ==, cases[i].column);
  }
}

static void
test_store_assignment (void)
{
  static const struct {
    const char *sql, *target;
    RelationAssignFlags flags;
    const char *rows, *condition;
  } cases[] = {
    { "SELECT 1 AS a, 'x' AS b", "p BIGINT, q STRING", RELATION_ASSIGN_BY_POSITION, "1|x", NULL },
    { "SELECT 1 AS a", "p BIGINT, q STRING", RELATION_ASSIGN_BY_POSITION, NULL,
      "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS" },
    { "SELECT 1 AS a, 2 AS b", "p BIGINT", RELATION_ASSIGN_BY_POSITION, NULL,
      "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS" },
    { "SELECT 'x' AS a", "p INT", RELATION_ASSIGN_BY_POSITION, NULL, "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST" },
    { "SELECT 'x' AS B, 1 AS A", "a BIGINT, b STRING", RELATION_ASSIGN_BY_NAME, "1|x", NULL },
    { "SELECT 'x' AS b", "a BIGINT, b STRING", RELATION_ASSIGN_BY_NAME, NULL,
      "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA" },
    { "SELECT 'x' AS b", "a BIGINT, b STRING", RELATION_ASSIGN_BY_NAME | RELATION_ASSIGN_FILL, "NULL|x", NULL },
    { "SELECT 'x' AS b, 1 AS c", "b STRING", RELATION_ASSIGN_BY_NAME, NULL,
      "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS" },
    { "SELECT 'x' AS b, 1 AS B", "b STRING", RELATION_ASSIGN_BY_NAME, NULL,
      "INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME" },
  };
  RelationContext with = context ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (BaseType) target = schema (cases[i].target);
    g_autoptr (RelationPlan) data = plan_of (cases[i].sql, &error);
    g_autoptr (RelationPlan) plan = NULL;
    g_assert_no_error (error);
    plan = relation_plan_assign (data, target, cases[i].flags, "`t`", NULL, &with, &error);
    g_test_message ("%s into %s", cases[i].sql, cases[i].target);
    if (cases[i].condition != NULL) {
      g_assert_cmpstr (base_error_condition (error), ==, cases[i].condition);
      continue;
    }
    g_assert_no_error (error);
    g_assert_true (base_type_equal (relation_plan_schema (plan), target, BASE_TYPE_EQUAL_IGNORE_NULLABILITY));
    assert_rows (plan, cases[i].rows);
  }
}

static void
test_expectations_count_and_drop (void)
{
  g_autoptr (GError) error = NULL;
  RelationContext with = context ();
  g_autoptr (RelationPlan) source = relation_plan_new_source (tables.static_source);
  RelationExpectation expectations[] = {
    { "small", expr_of ("a < 3"), RELATION_EXPECT_KEEP },
    { "named", expr_of ("b IS NOT NULL"), RELATION_EXPECT_DROP },
    { "not_one", expr_of ("a > 1"), RELATION_EXPECT_DROP },
  };
  g_autoptr (RelationPlan) judged = relation_plan_expect (source, "d", expectations, 3, &with, &error);
  g_autoptr (RelationPlan) plan = NULL;
  g_autoptr (RelationText) text = NULL;
  g_autofree char *rows = NULL;
  RelationCounts *counts;

  g_assert_no_error (error);
  plan = relation_plan_filter (judged, expr_of ("a = 2"), &with, &error);
  g_assert_no_error (error);
  text = lower (plan);
  rows = run (text, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==, "2|y");
  g_assert_cmpuint (relation_text_counts (text)->len, ==, 1);
  counts = g_ptr_array_index (relation_text_counts (text), 0);
  g_assert_cmpstr (relation_counts_dataset (counts), ==, "d");
  g_assert_cmpuint (relation_counts_rows (counts), ==, 3);
  g_assert_cmpuint (relation_counts_failed (counts, 0), ==, 1);
  g_assert_cmpuint (relation_counts_failed (counts, 1), ==, 1);
  g_assert_cmpuint (relation_counts_passed (counts, 2), ==, 2);
  g_assert_cmpuint (relation_counts_dropped (counts), ==, 2);
}

static void
test_expectation_fails_with_the_row (void)
{
  g_autoptr (GError) error = NULL;
  RelationContext with = context ();
  g_autoptr (RelationPlan) source = relation_plan_new_source (tables.static_source);
  RelationExpectation expectation = { "small", expr_of ("a < 3"), RELATION_EXPECT_FAIL };
  g_autoptr (RelationPlan) plan = relation_plan_expect (source, "d", &expectation, 1, &with, &error);
  g_autoptr (RelationText) text = NULL;
  g_autofree char *rows = NULL;

  g_assert_no_error (error);
  text = lower (plan);
  rows = run (text, &error);
  g_assert_null (rows);
  g_assert_cmpstr (base_error_condition (error), ==, "EXPECTATION_FAILED");
  g_assert_nonnull (strstr (base_error_param (error, "row"), "\"a\":3"));
  g_assert_nonnull (strstr (error->message, base_error_param (error, "expectation")));
}

static void
test_expectation_is_a_plain_condition (void)
{
  static const char *const bad[] = { "a IN (SELECT 1)", "count(a) > 1" };
  RelationContext with = context ();
  g_autoptr (RelationPlan) source = relation_plan_new_source (tables.static_source);

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;
    RelationExpectation expectation = { "e", expr_of (bad[i]), RELATION_EXPECT_KEEP };
    g_assert_null (relation_plan_expect (source, "d", &expectation, 1, &with, &error));
    g_assert_nonnull (error);
  }
}

static void
test_append_mode (void)
{
  static const struct {
    const char *sql, *condition;
  } cases[] = {
    { "SELECT a FROM STREAM t WHERE a > 1", NULL },
    { "SELECT s.a FROM STREAM t s JOIN t USING (a)", NULL },
    { "SELECT a FROM STREAM t UNION ALL SELECT a FROM STREAM t", NULL },
    { "SELECT a FROM STREAM t UNION ALL SELECT a FROM t", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT a FROM STREAM t ORDER BY a", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT a FROM STREAM t LIMIT 1", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT DISTINCT a FROM STREAM t", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT sum(a) OVER (ORDER BY a) FROM STREAM t", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT count(*) FROM STREAM t", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION" },
    { "SELECT s.a FROM STREAM t s JOIN STREAM t u ON s.a = u.a", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT s.a FROM t s LEFT JOIN STREAM t u ON s.a = u.a", "UNSUPPORTED_STREAMING_OPERATION" },
    { "SELECT a FROM t ORDER BY a LIMIT 1", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (RelationPlan) plan = plan_of (cases[i].sql, &error);
    gboolean ok;
    g_assert_no_error (error);
    g_test_message ("%s", cases[i].sql);
    ok = relation_plan_check_append (plan, &error);
    g_assert_cmpint (ok, ==, cases[i].condition == NULL);
    if (!ok)
      g_assert_cmpstr (base_error_condition (error), ==, cases[i].condition);
  }
}

static void
test_facts (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (RelationPlan) plan = plan_of ("SELECT a, current_timestamp() FROM STREAM t", &error);

  g_assert_no_error (error);
  g_assert_true (relation_plan_is_streaming (plan));
  g_assert_true (relation_plan_is_deterministic (plan, NULL));
  g_assert_cmpuint (relation_plan_features (plan) & RELATION_FEATURE_CLOCK, !=, 0);
}

/* Values in ascending order: each key must be smaller than the next. */
static void
test_total_order (void)
{
  static const struct {
    const char *ddl;
    const char *values[6];
  } cases[] = {
    { "x DOUBLE", { "'-inf'::DOUBLE", "-1.0::DOUBLE", "0.0::DOUBLE", "'inf'::DOUBLE", "'nan'::DOUBLE" } },
    { "x STRING", { "''", "'A'", "'a'", "'é'" } },
    { "x STRUCT<a: INT, b: STRING>",
      { "{'a': NULL::INTEGER, 'b': 'z'}", "{'a': 0, 'b': NULL::VARCHAR}", "{'a': 0, 'b': 'a'}",
        "{'a': 1, 'b': 'a'}" } },
    { "x ARRAY<INT>", { "[]::INTEGER[]", "[NULL]::INTEGER[]", "[1]", "[1, NULL]", "[1, 2]", "[2]" } },
    { "x ARRAY<STRUCT<a: DOUBLE>>",
      { "[]", "[NULL]", "[{'a': NULL::DOUBLE}]", "[{'a': -1::DOUBLE}]", "[{'a': 1::DOUBLE}]",
        "[{'a': 'nan'::DOUBLE}]" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (BaseType) row = schema (cases[i].ddl);
    const BaseType *type = base_type_field (row, 0)->type;
    g_autofree char *a = relation_order_key ("a", type);
    g_autofree char *b = relation_order_key ("b", type);
    g_autofree char *ta = relation_tie_key ("a", type);
    g_autofree char *tb = relation_tie_key ("b", type);
    g_autofree char *physical = duck_type_text (type);
    for (guint v = 0; v + 1 < G_N_ELEMENTS (cases[i].values) && cases[i].values[v + 1] != NULL; v++) {
      g_autoptr (GError) error = NULL;
      g_autofree char *answer = NULL;
      g_autofree char *sql =
          g_strdup_printf ("SELECT CAST((%s < %s) AND (%s < %s) AND (%s = %s) AS VARCHAR) FROM (SELECT CAST(%s AS %s) "
                           "AS a, CAST(%s AS %s) AS b)",
                           a, b, ta, tb, ta, ta, cases[i].values[v], physical, cases[i].values[v + 1], physical);
      g_test_message ("%s < %s", cases[i].values[v], cases[i].values[v + 1]);
      duck_session_query_string (session, sql, NULL, &answer, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (answer, ==, "true");
    }
  }
}

static void
test_tie_key_of_map_ignores_entry_order (void)
{
  g_autoptr (BaseType) row = schema ("x MAP<STRING, INT>");
  g_autofree char *a = relation_tie_key ("a", base_type_field (row, 0)->type);
  g_autofree char *b = relation_tie_key ("b", base_type_field (row, 0)->type);
  g_autofree char *sql = g_strdup_printf (
      "SELECT CAST(%s = %s AS VARCHAR) FROM (SELECT MAP {'k': 1, 'l': 2} AS a, MAP {'l': 2, 'k': 1} AS b)", a, b);
  g_autoptr (GError) error = NULL;
  g_autofree char *answer = NULL;

  duck_session_query_string (session, sql, NULL, &answer, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (answer, ==, "true");
}

static void
test_common_types (void)
{
  static const struct {
    const char *a, *b, *common;
  } cases[] = {
    { "INT", "BIGINT", "bigint" },
    { "BIGINT", "FLOAT", "double" },
    { "INT", "STRING", "bigint" },
    { "DOUBLE", "STRING", "double" },
    { "DATE", "STRING", "date" },
    { "DATE", "TIMESTAMP_NTZ", "timestamp_ntz" },
    { "DATE", "TIMESTAMP", "timestamp" },
    { "BOOLEAN", "INT", NULL },
    { "DECIMAL(10,2)", "INT", "decimal(12,2)" },
    { "DECIMAL(20,8)", "DECIMAL(10,2)", "decimal(20,8)" },
    { "DECIMAL(10,2)", "DOUBLE", "double" },
    { "ARRAY<INT>", "ARRAY<DOUBLE>", "array<double>" },
    { "ARRAY<INT>", "INT", NULL },
    { "MAP<STRING, INT>", "MAP<STRING, BIGINT>", "map<string,bigint>" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (BaseType) a = sql_parse_type (cases[i].a, -1, &error);
    g_autoptr (BaseType) b = sql_parse_type (cases[i].b, -1, &error);
    g_autoptr (BaseType) common = relation_coerce_common (a, b);
    g_autoptr (BaseType) mirrored = relation_coerce_common (b, a);
    g_autofree char *text = common != NULL ? base_type_text (common) : NULL;
    g_autofree char *other = mirrored != NULL ? base_type_text (mirrored) : NULL;
    g_test_message ("%s %s", cases[i].a, cases[i].b);
    g_assert_cmpstr (text, ==, cases[i].common);
    g_assert_cmpstr (other, ==, cases[i].common);
  }
}

static void
test_union_by_name (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (RelationPlan) a = plan_of ("SELECT 1 AS x, 'p' AS y", &error);
  g_autoptr (RelationPlan) b = plan_of ("SELECT 2L AS Z, 3L AS X", &error);
  g_autoptr (RelationPlan) plan = relation_plan_union (a, b, TRUE, &error);
  g_autofree char *type = NULL;

  g_assert_no_error (error);
  type = base_type_text (relation_plan_schema (plan));
  g_assert_cmpstr (type, ==, "struct<x:bigint,y:string,Z:bigint>");
  assert_rows (plan, "1|p|NULL;3|NULL|2");
}

static void
test_constants (void)
{
  g_autoptr (GError) error = NULL;
  RelationContext with = context ();
  g_autoptr (RelationLiteral) sum = relation_eval_constant (expr_of ("1 + 2"), NULL, &with, &error);
  g_autoptr (RelationLiteral) none = NULL;

  g_assert_no_error (error);
  g_assert_cmpint (sum->integer, ==, 3);
  none = relation_eval_constant (expr_of ("a + 2"), NULL, &with, &error);
  g_assert_null (none);
  g_assert_nonnull (error);
}

static void
test_columns_that_tell_the_time (void)
{
  static const struct {
    const char *sql;
    const char *tell; /* one letter a column */
  } cases[] = {
    { "SELECT now(), 1 AS a, CAST(current_date() AS STRING)", "y-y" },
    { "SELECT b, a, b FROM (SELECT now() AS a, 1 AS b)", "-y-" },
    { "SELECT struct(1, b).b FROM (SELECT current_timestamp() AS b)", "y" },
    { "SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, day(now())", "-y" },
    { "WITH c AS (SELECT now() AS n, 1 AS o) SELECT x.o, y.n FROM c x JOIN c y ON x.n = y.n", "-y" },
    { "SELECT (SELECT max(n) FROM (SELECT now() AS n)), (SELECT 1)", "y-" },
    { "SELECT a, b FROM VALUES (1, now()), (2, NULL) AS v (a, b) WHERE b < now()", "-y" },
    { "SELECT e FROM (SELECT explode(array(now())) AS e)", "y" },
    { "SELECT a, max(b) FROM VALUES (1, 2) AS v (a, b) WHERE now() IS NOT NULL GROUP BY a", "--" },
    { "SELECT a, max(n) FROM (SELECT 1 AS a, now() AS n) GROUP BY a ORDER BY 2 LIMIT 1", "-y" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (RelationPlan) plan = plan_of (cases[i].sql, &error);

    g_assert_no_error (error);
    for (guint k = 0; k < strlen (cases[i].tell); k++) {
      g_test_message ("%s, column %u", cases[i].sql, k);
      g_assert_cmpint (relation_plan_column_tells_time (plan, k), ==, cases[i].tell[k] == 'y');
    }
  }
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (BaseType) type = NULL;
  int result;

  g_test_init (&argc, &argv, NULL);
  engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  relation_kernels_register (engine, &error);
  session = duck_session_new (engine, &error);
  g_assert_no_error (error);
  arena = sql_arena_new ();
  type = schema ("a INT, b STRING");
  tables.static_source = relation_source_new_text ("t", "VALUES (1, 'x'), (2, 'y'), (3, NULL)", type, FALSE);
  tables.streaming_source = relation_source_new_text ("t", "VALUES (1, 'x'), (2, 'y'), (3, NULL)", type, TRUE);
  g_test_add_func ("/relation/plan/source-is-projected-and-filtered", test_source_is_projected_and_filtered);
  g_test_add_func ("/relation/plan/sources-are-asked-for-what-is-used", test_sources_are_asked_for_what_is_used);
  g_test_add_func ("/relation/plan/errors-carry-position", test_errors_carry_position);
  g_test_add_func ("/relation/plan/store-assignment", test_store_assignment);
  g_test_add_func ("/relation/plan/expectations-count-and-drop", test_expectations_count_and_drop);
  g_test_add_func ("/relation/plan/expectation-fails-with-the-row", test_expectation_fails_with_the_row);
  g_test_add_func ("/relation/plan/expectation-is-a-plain-condition", test_expectation_is_a_plain_condition);
  g_test_add_func ("/relation/plan/append-mode", test_append_mode);
  g_test_add_func ("/relation/plan/facts", test_facts);
  g_test_add_func ("/relation/plan/columns-that-tell-the-time", test_columns_that_tell_the_time);
  g_test_add_func ("/relation/plan/total-order", test_total_order);
  g_test_add_func ("/relation/plan/tie-key-of-map-ignores-entry-order", test_tie_key_of_map_ignores_entry_order);
  g_test_add_func ("/relation/plan/common-types", test_common_types);
  g_test_add_func ("/relation/plan/union-by-name", test_union_by_name);
  g_test_add_func ("/relation/plan/constants", test_constants);
  result = g_test_run ();
  relation_source_unref (tables.static_source);
  relation_source_unref (tables.streaming_source);
  sql_arena_unref (arena);
  duck_session_free (session);
  duck_engine_unref (engine);
  return result;
}

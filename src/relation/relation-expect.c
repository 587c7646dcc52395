/* Expectations (D12): every row is judged once by one volatile call with all conditions, behind a fence.
 *
 * The fence is `LIMIT 9223372036854775807`: DuckDB pushes filters below volatile filters and through materialized CTEs, but not
 * through that (measured on 1.5.5), so no row is lost before it was counted.
 */
#include "base-text.h"
#include "duck-lend.h"
#include "duck-session.h"
#include "relation-binder-private.h"

#include <string.h>

struct RelationCounts {
  gint ref_count;
  char *dataset;
  guint n;
  char **names;
  RelationExpectAction *actions;
  DuckCounter *counter;
};

const char *
relation_counts_dataset (const RelationCounts *counts)
{
  return counts->dataset;
}

guint
relation_counts_n_expectations (const RelationCounts *counts)
{
  return counts->n;
}

const char *
relation_counts_name (const RelationCounts *counts, guint index)
{
  return counts->names[index];
}

RelationExpectAction
relation_counts_action (const RelationCounts *counts, guint index)
{
  return counts->actions[index];
}

guint64
relation_counts_failed (const RelationCounts *counts, guint index)
{
  return duck_counter_n_failed (counts->counter, index);
}

guint64
relation_counts_rows (const RelationCounts *counts)
{
  return duck_counter_n_rows (counts->counter);
}

guint64
relation_counts_passed (const RelationCounts *counts, guint index)
{
  return relation_counts_rows (counts) - relation_counts_failed (counts, index);
}

guint64
relation_counts_dropped (const RelationCounts *counts)
{
  return duck_counter_n_dropped (counts->counter);
}

RelationCounts *
relation_counts_ref (RelationCounts *counts)
{
  g_atomic_int_inc (&counts->ref_count);
  return counts;
}

void
relation_counts_unref (RelationCounts *counts)
{
  if (counts == NULL || !g_atomic_int_dec_and_test (&counts->ref_count))
    return;
  g_free (counts->dataset);
  g_strfreev (counts->names);
  g_free (counts->actions);
  duck_counter_unref (counts->counter);
  g_free (counts);
}

static guint64
mask_of (const RelationExpect *expect, RelationExpectAction action)
{
  guint64 mask = 0;

  for (guint i = 0; i < expect->n; i++)
    if (expect->actions[i] == action)
      mask |= (guint64) 1 << i;
  return mask;
}

static RelationCounts *
new_counts (const RelationExpect *expect)
{
  RelationCounts *counts = g_new0 (RelationCounts, 1);

  counts->ref_count = 1;
  counts->dataset = g_strdup (expect->dataset);
  counts->n = expect->n;
  counts->names = g_new0 (char *, expect->n + 1);
  for (guint i = 0; i < expect->n; i++)
    counts->names[i] = g_strdup (expect->names[i]);
  counts->actions = g_memdup2 (expect->actions, sizeof (RelationExpectAction) * expect->n);
  counts->counter = duck_counter_new (expect->n);
  duck_counter_set_names (counts->counter, counts->dataset, (const char *const *) counts->names);
  duck_counter_set_drop_mask (counts->counter, mask_of (expect, RELATION_EXPECT_DROP));
  return counts;
}

/* The row for the error of a FAIL expectation. Names of one spelling but for case get a number. */
static void
print_row (const RelationOperator *op, GString *out)
{
  g_string_append (out, "struct_pack(");
  for (guint i = 0; i < op->n_columns; i++) {
    g_autofree char *name = g_strdup (op->columns[i].name);
    for (guint j = 0; j < i; j++)
      if (base_text_equal_ignore_case (op->columns[j].name, op->columns[i].name)) {
        g_free (name);
        name = g_strdup_printf ("%s_%u", op->columns[i].name, i);
        break;
      }
    g_string_append (out, i > 0 ? ", " : "");
    base_text_append_sql_identifier (out, name);
    g_string_append_printf (out, " := x%u", op->columns[i].id);
  }
  g_string_append_c (out, ')');
}

gboolean
relation_expect_print (RelationPrinter *printer, RelationOperator *op, GString *out, GError **error)
{
  const RelationExpect *expect = op->expect;
  guint64 drop = mask_of (expect, RELATION_EXPECT_DROP);
  guint64 fail = mask_of (expect, RELATION_EXPECT_FAIL);
  g_autoptr (RelationCounts) counts = NULL;
  g_autoptr (GPtrArray) holds = duck_holds_new ();
  DuckEngine *engine;
  guint64 handle;

  if (printer->lowering->session == NULL)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Expectations need a session to be lowered.");
  engine = duck_session_engine (printer->lowering->session);
  counts = new_counts (expect);
  handle = duck_engine_lend_counter (engine, counts->counter);
  duck_holds_add (holds, engine, handle);
  relation_text_add_counts (printer->text, counts);
  relation_text_hold (printer->text, g_steal_pointer (&holds), (GDestroyNotify) g_ptr_array_unref);
  g_string_append_printf (
      out, "SELECT * EXCLUDE (f) FROM (SELECT *, sluice_expect(CAST(%" G_GUINT64_FORMAT " AS UBIGINT)", handle);
  for (guint i = 0; i < expect->n; i++) {
    g_string_append (out, ", ");
    if (!relation_printer_expr (printer, expect->conditions[i], out, error))
      return FALSE;
  }
  g_string_append (out, ") AS f FROM (");
  if (!relation_printer_operator (printer, op->input, out, error))
    return FALSE;
  g_string_append (out, ") LIMIT 9223372036854775807) WHERE ");
  if (fail == 0) {
    g_string_append_printf (out, "(f & CAST(%" G_GUINT64_FORMAT " AS UBIGINT)) = 0", drop);
    return TRUE;
  }
  g_string_append_printf (out,
                          "CASE WHEN (f & CAST(%" G_GUINT64_FORMAT
                          " AS UBIGINT)) <> 0 THEN sluice_expect_fail(CAST(%" G_GUINT64_FORMAT
                          " AS UBIGINT), f & CAST(%" G_GUINT64_FORMAT " AS UBIGINT), ",
                          fail, handle, fail);
  print_row (op, out);
  g_string_append_printf (out, ") ELSE (f & CAST(%" G_GUINT64_FORMAT " AS UBIGINT)) = 0 END", drop);
  return TRUE;
}

static gboolean
bind_expectation (RelationBinder *binder, RelationBindScope *scope, const RelationExpectation *expectation,
                  RelationExpr **condition, GError **error)
{
  const SqlPosition *at = &expectation->condition->position;
  RelationExpr *expr = relation_bind_condition (binder, scope, expectation->condition, error);

  if (expr == NULL) {
    base_error_add_context (error, "in the expectation `%s`", expectation->name);
    return FALSE;
  }
  if (relation_expr_has_subquery (expr) || relation_expr_has_aggregate (expr) || relation_expr_has_window (expr) ||
      relation_expr_has_generator (expr))
    return relation_bind_error (
        at, error, SLUICE_ERROR_INVALID_EXPECTATION,
        "The expectation `%s` holds a subquery, an aggregate, a window function or a generator.", expectation->name);
  if (!expr->deterministic)
    return relation_bind_error (at, error, SLUICE_ERROR_INVALID_EXPECTATION,
                                "The expectation `%s` is not deterministic.", expectation->name);
  *condition = expr;
  return TRUE;
}

RelationPlan *
relation_plan_expect (RelationPlan *plan, const char *dataset, const RelationExpectation *expectations,
                      guint n_expectations, const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationBindScope scope = { .clause = "CONSTRAINT" };
  RelationOperator *op;
  RelationExpect *expect;

  if (n_expectations == 0)
    return relation_plan_ref (plan);
  if (n_expectations > DUCK_COUNTER_MAX_CONDITIONS) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "More than %d expectations on one dataset are not supported.", DUCK_COUNTER_MAX_CONDITIONS);
    return NULL;
  }
  relation_binder_extend (&binder, arena, plan, context);
  scope.scope = relation_scope_of_operator (&binder, plan->root, NULL, 0, NULL);
  op = relation_op_new (&binder, RELATION_OP_EXPECT, plan->root);
  relation_op_columns_from (op, plan->root);
  expect = op->expect = relation_arena_new0 (arena, RelationExpect);
  expect->dataset = relation_arena_strdup (arena, dataset);
  expect->n = n_expectations;
  expect->names = relation_arena_new0_n (arena, const char *, n_expectations);
  expect->actions = relation_arena_new0_n (arena, RelationExpectAction, n_expectations);
  expect->conditions = relation_arena_new0_n (arena, RelationExpr *, n_expectations);
  for (guint i = 0; i < n_expectations; i++) {
    expect->names[i] = relation_arena_strdup (arena, expectations[i].name);
    expect->actions[i] = expectations[i].action;
    if (!bind_expectation (&binder, &scope, &expectations[i], &expect->conditions[i], error))
      return NULL;
  }
  return relation_plan_new_tree (arena, op, binder.next_id);
}

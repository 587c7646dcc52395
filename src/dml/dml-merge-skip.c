/* Which rows of the target a MERGE can match at all, by the values that its source has: files are left out by them, and so are
 * commits of other writers that cannot matter.
 *
 * `ON t.k = s.k AND …` gives `k IN (…)` for few distinct values and `k >= least AND k <= greatest` for more.
 */
#include "dml-merge-private.h"
#include "duck-result.h"
#include "duck-session.h"

#include <string.h>

#define MAX_VALUES 1000
#define SAMPLE     8192 /* rows that are looked at first */

/* `=` compares the two as they are. */
static gboolean
compares_plainly (const BaseType *column, const BaseType *value)
{
  return (base_type_is_integral (column) && base_type_is_integral (value)) ||
         base_type_equal (column, value, BASE_TYPE_EQUAL_EXACT);
}

/* All values that @sql gives as constants. Returns: (transfer full) (element-type DeltaConstant); texts are kept by the target. */
static GArray *
read_constants (DmlTarget *target, const char *sql, BaseTypeKind kind, GError **error)
{
  const DmlContext *context = target->context;
  g_autoptr (GArray) constants = g_array_new (FALSE, TRUE, sizeof (DeltaConstant));
  g_autoptr (DuckResult) result = duck_session_query (context->duck, sql, context->cancel, error);
  if (result == NULL)
    return NULL;
  for (;;) {
    const DuckChunk *chunk = NULL;
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      return g_steal_pointer (&constants);
    for (guint i = 0; i < chunk->n_rows; i++) {
      if (duck_vector_is_null (&chunk->columns[0], i))
        continue;
      DeltaConstant constant = delta_constant_read (kind, &chunk->columns[0], i);
      g_ptr_array_add (target->skip_texts, (gpointer) constant.text);
      g_array_append_val (constants, constant);
    }
  }
}

static void
add_skip (DmlTarget *target, guint column, DeltaPredicateOp op, const DeltaConstant *constants, guint n_constants)
{
  gsize size = sizeof (DeltaConstant) * n_constants;
  DeltaConstant *copy = g_malloc (size + 1);
  if (size > 0)
    memcpy (copy, constants, size);
  g_ptr_array_add (target->skip_texts, copy);
  DeltaPredicate predicate = { .column = column, .op = op, .constants = copy, .n_constants = n_constants };
  g_array_append_val (target->skips, predicate);
}

gboolean
dml_skip_by_values (DmlTarget *target, guint column, const char *text, gint64 n_rows, const BaseType *type,
                    GError **error)
{
  BaseTypeKind kind = base_type_kind (type);
  const BaseType *column_type = base_type_field (write_batch_schema (target->batch), column)->type;
  g_autofree char *constant = delta_constant_expression (kind, "c0");
  if (constant == NULL || !compares_plainly (column_type, type))
    return TRUE;
  for (gint64 n_seen = MIN (n_rows, SAMPLE);; n_seen = n_rows) { /* mostly some rows tell that there are too many */
    g_autofree char *distinct =
        g_strdup_printf ("SELECT %s FROM (SELECT DISTINCT c0 FROM (SELECT c0 FROM (%s) LIMIT %" G_GINT64_FORMAT
                         ") WHERE c0 IS NOT NULL LIMIT %d)",
                         constant, text, n_seen, MAX_VALUES + 1);
    g_autoptr (GArray) values = read_constants (target, distinct, kind, error);
    if (values == NULL)
      return FALSE;
    if (values->len > MAX_VALUES)
      break;
    if (n_seen < n_rows)
      continue;
    add_skip (target, column, DELTA_PREDICATE_IN, (const DeltaConstant *) (gpointer) values->data, values->len);
    return TRUE;
  }
  static const DeltaPredicateOp ops[] = { DELTA_PREDICATE_GE, DELTA_PREDICATE_LE };
  g_autofree char *bounds =
      g_strdup_printf ("SELECT %s FROM (SELECT unnest([min(c0), max(c0)]) AS c0 FROM (%s))", constant, text);
  g_autoptr (GArray) ends = read_constants (target, bounds, kind, error);
  if (ends == NULL)
    return FALSE;
  for (guint i = 0; i < ends->len; i++)
    add_skip (target, column, ops[i], &g_array_index (ends, DeltaConstant, i), 1);
  return TRUE;
}

/* @value: what ON says that @name is equal to. Does nothing when the one is no column of the target or the other is not of the source
 * alone. */
static gboolean
try_pair (Merge *merge, const SqlExpr *name, SqlExpr *value, GError **error)
{
  DmlTarget *target = merge->target;
  guint column, n_skipped;
  if (name->kind != SQL_EXPR_COLUMN ||
      !dml_assigned_column (target, &name->u.column.name, merge->sql->alias, &column, &n_skipped, NULL) ||
      n_skipped != name->u.column.name.n)
    return TRUE;
  SqlNamed item = dml_named (merge->arena, value, "value");
  SqlRelation *from = dml_leaf_relation (merge->arena, DML_SOURCE, merge->sql->source->alias);
  g_autoptr (RelationPlan) plan = dml_bind (target, dml_query (merge->arena, &item, 1, from, NULL), TRUE, "ON", NULL);
  if (plan == NULL)
    return TRUE;
  const BaseType *type = base_type_field (relation_plan_schema (plan), 0)->type;
  g_autofree char *constant = delta_constant_expression (base_type_kind (type), "c0");
  if (constant == NULL)
    return TRUE;
  g_autoptr (RelationText) text = dml_lower (target, plan, error);
  return text != NULL &&
         dml_skip_by_values (target, column, relation_text_sql (text)->str, merge->n_source_rows, type, error);
}

static gboolean
visit (Merge *merge, const SqlExpr *on, GError **error)
{
  if (on->kind != SQL_EXPR_BINARY)
    return TRUE;
  if (on->u.binary.op == SQL_BINARY_AND)
    return visit (merge, on->u.binary.left, error) && visit (merge, on->u.binary.right, error);
  return on->u.binary.op != SQL_BINARY_EQ || (try_pair (merge, on->u.binary.left, on->u.binary.right, error) &&
                                              try_pair (merge, on->u.binary.right, on->u.binary.left, error));
}

gboolean
dml_merge_find_skips (Merge *merge, GError **error)
{
  return visit (merge, merge->sql->on, error);
}

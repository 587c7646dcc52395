/* Plans: a bound tree with its facts, lowering, and plans made over plans. */
#include "relation-plan.h"

#include "base-text.h"
#include "duck-session.h"
#include "duck-type.h"
#include "relation-binder-private.h"
#include "relation-cast.h"

#include <string.h>

/* ---- facts ---- */

typedef struct {
  RelationPlan *plan;
  GHashTable *shared; /* trees already looked at */
} Facts;

static gboolean look (Facts *facts, RelationOperator *op);

typedef struct {
  Facts *facts;
  RelationFeatures features;
  gboolean streaming;
} ExprFacts;

static gboolean
visit_facts (RelationExpr *expr, gpointer data)
{
  ExprFacts *found = data;
  RelationPlan *plan = found->facts->plan;

  if (expr->kind == RELATION_EXPR_NOW)
    found->features |= RELATION_FEATURE_CLOCK;
  if (expr->window != NULL)
    found->features |= RELATION_FEATURE_WINDOW;
  if (expr->kind == RELATION_EXPR_SUBQUERY) {
    found->features |= RELATION_FEATURE_SUBQUERY;
    found->streaming |= look (found->facts, expr->subquery);
  }
  if (expr->kind != RELATION_EXPR_CALL)
    return TRUE;
  if (expr->distinct)
    found->features |= RELATION_FEATURE_DISTINCT_AGGREGATE;
  if ((expr->function->flags & RELATION_FUNCTION_CLOCK) != 0)
    found->features |= RELATION_FEATURE_CLOCK;
  if ((expr->function->flags & RELATION_FUNCTION_VOLATILE) != 0 && plan->volatile_name == NULL)
    plan->volatile_name = expr->function->names;
  return TRUE;
}

static RelationFeatures
feature_of (const RelationOperator *op)
{
  switch (op->kind) {
  case RELATION_OP_AGGREGATE:
    return RELATION_FEATURE_AGGREGATE;
  case RELATION_OP_SORT:
    return RELATION_FEATURE_SORT;
  case RELATION_OP_LIMIT:
    return RELATION_FEATURE_LIMIT;
  case RELATION_OP_DISTINCT:
    return RELATION_FEATURE_DISTINCT;
  case RELATION_OP_JOIN:
    return RELATION_FEATURE_JOIN;
  case RELATION_OP_SET:
    return op->set == RELATION_SET_UNION_ALL ? RELATION_FEATURE_UNION : RELATION_FEATURE_SET_OPERATION;
  case RELATION_OP_GENERATE:
    return RELATION_FEATURE_GENERATE;
  case RELATION_OP_SOURCE:
  case RELATION_OP_ONE_ROW:
  case RELATION_OP_VALUES:
  case RELATION_OP_PROJECT:
  case RELATION_OP_FILTER:
  case RELATION_OP_SHARED:
  case RELATION_OP_EXPECT:
  case RELATION_OP_RANGE:
    return 0;
  }
  return 0;
}

static void
look_exprs (ExprFacts *found, RelationOperator *op)
{
  for (guint i = 0; i < op->n_exprs; i++)
    relation_expr_walk (op->exprs[i], visit_facts, found);
  for (guint i = 0; i < op->n_order; i++)
    relation_expr_walk (op->order[i].expr, visit_facts, found);
  if (op->condition != NULL)
    relation_expr_walk (op->condition, visit_facts, found);
  for (guint i = 0; op->expect != NULL && i < op->expect->n; i++)
    relation_expr_walk (op->expect->conditions[i], visit_facts, found);
}

/* Returns: whether the tree streams. */
static gboolean
look (Facts *facts, RelationOperator *op)
{
  RelationPlan *plan = facts->plan;
  ExprFacts found = { .facts = facts };

  if (op == NULL)
    return FALSE;
  if (op->kind == RELATION_OP_SOURCE) {
    if (!g_ptr_array_find (plan->sources, op->source, NULL))
      g_ptr_array_add (plan->sources, op->source);
    return op->source->streaming;
  }
  look_exprs (&found, op);
  found.features |= feature_of (op);
  found.streaming |= look (facts, op->input);
  found.streaming |= look (facts, op->right);
  if (op->shared != NULL)
    found.streaming |= look (facts, op->shared->root);
  plan->features |= found.features;
  if (found.streaming)
    plan->streaming_features |= found.features;
  return found.streaming;
}

static BaseType *
schema_of (const RelationOperator *root)
{
  BaseStructBuilder *builder = base_struct_builder_new ();

  for (guint i = 0; i < root->n_columns; i++)
    base_struct_builder_add (builder, root->columns[i].name, root->columns[i].type, root->columns[i].nullable, NULL);
  return base_struct_builder_end (builder);
}

RelationPlan *
relation_plan_new_tree (RelationArena *arena, RelationOperator *root, guint next_id)
{
  RelationPlan *plan = g_new0 (RelationPlan, 1);
  Facts facts = { .plan = plan };

  plan->ref_count = 1;
  plan->arena = relation_arena_ref (arena);
  plan->root = root;
  plan->next_id = next_id;
  plan->schema = schema_of (root);
  plan->sources = g_ptr_array_new ();
  plan->streaming = look (&facts, root);
  return plan;
}

RelationPlan *
relation_plan_ref (RelationPlan *plan)
{
  g_atomic_int_inc (&plan->ref_count);
  return plan;
}

void
relation_plan_unref (RelationPlan *plan)
{
  if (plan == NULL || !g_atomic_int_dec_and_test (&plan->ref_count))
    return;
  base_type_unref (plan->schema);
  g_ptr_array_unref (plan->sources);
  relation_arena_unref (plan->arena);
  g_free (plan);
}

BaseType *
relation_plan_schema (const RelationPlan *plan)
{
  return plan->schema;
}

gboolean
relation_plan_is_streaming (const RelationPlan *plan)
{
  return plan->streaming;
}

gboolean
relation_plan_is_deterministic (const RelationPlan *plan, const char **reason)
{
  if (reason != NULL)
    *reason = plan->volatile_name;
  return plan->volatile_name == NULL;
}

guint
relation_plan_n_sources (const RelationPlan *plan)
{
  return plan->sources->len;
}

RelationSource *
relation_plan_source (const RelationPlan *plan, guint index)
{
  return g_ptr_array_index (plan->sources, index);
}

RelationFeatures
relation_plan_features (const RelationPlan *plan)
{
  return plan->features;
}

RelationFeatures
relation_plan_streaming_features (const RelationPlan *plan)
{
  return plan->streaming_features;
}

/* ---- append mode ---- */

static gboolean
streams (RelationOperator *op)
{
  if (op == NULL)
    return FALSE;
  if (op->kind == RELATION_OP_SOURCE)
    return op->source->streaming;
  return streams (op->input) || streams (op->right) || (op->shared != NULL && streams (op->shared->root));
}

static gboolean
refuse (GError **error, const char *what)
{
  return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_STREAMING_OPERATION, "A streaming query cannot %s.", what);
}

static gboolean
check_join (RelationOperator *op, GError **error)
{
  gboolean left = streams (op->input);
  gboolean right = streams (op->right);

  if (left && right)
    return refuse (error, "join two streams");
  if (op->join == RELATION_JOIN_FULL && (left || right))
    return refuse (error, "be joined by FULL OUTER JOIN");
  if (right && (op->join == RELATION_JOIN_LEFT || op->join == RELATION_JOIN_SEMI || op->join == RELATION_JOIN_ANTI))
    return refuse (error, "stand on the right side of this join");
  if (left && op->join == RELATION_JOIN_RIGHT)
    return refuse (error, "stand on the left side of a RIGHT OUTER JOIN");
  return TRUE;
}

static gboolean
check_operator (RelationOperator *op, GError **error)
{
  if (op == NULL)
    return TRUE;
  if (!check_operator (op->input, error) || !check_operator (op->right, error) ||
      (op->shared != NULL && !check_operator (op->shared->root, error)))
    return FALSE;
  if (!streams (op))
    return TRUE;
  switch (op->kind) {
  case RELATION_OP_SORT:
    return refuse (error, "be sorted");
  case RELATION_OP_LIMIT:
    return refuse (error, "be limited");
  case RELATION_OP_DISTINCT:
    return refuse (error, "use DISTINCT");
  case RELATION_OP_AGGREGATE:
    return base_error_set (
        error, SLUICE_ERROR_STREAMING_OUTPUT_MODE_UNSUPPORTED_OPERATION,
        "Output mode append is not supported for an aggregation on streaming data without a watermark.");
  case RELATION_OP_SET:
    if (op->set != RELATION_SET_UNION_ALL)
      return refuse (error, "use UNION DISTINCT, INTERSECT or EXCEPT");
    /* The rows of a batch side would come again with every batch of the other. */
    return (streams (op->input) && streams (op->right)) || refuse (error, "be united with a batch query");
  case RELATION_OP_JOIN:
    return check_join (op, error);
  case RELATION_OP_PROJECT:
    for (guint i = 0; i < op->n_exprs; i++)
      if (relation_expr_has_window (op->exprs[i]))
        return refuse (error, "use window functions");
    return TRUE;
  case RELATION_OP_SOURCE:
  case RELATION_OP_ONE_ROW:
  case RELATION_OP_VALUES:
  case RELATION_OP_FILTER:
  case RELATION_OP_GENERATE:
  case RELATION_OP_SHARED:
  case RELATION_OP_EXPECT:
  case RELATION_OP_RANGE:
    return TRUE;
  }
  return TRUE;
}

static gboolean
visit_static_subquery (RelationExpr *expr, gpointer data G_GNUC_UNUSED)
{
  return expr->kind != RELATION_EXPR_SUBQUERY || !streams (expr->subquery);
}

gboolean
relation_plan_check_append (const RelationPlan *plan, GError **error)
{
  if (!plan->streaming)
    return TRUE;
  if (!relation_operator_walk_exprs (plan->root, visit_static_subquery, NULL))
    return refuse (error, "read a stream inside a subquery expression");
  return check_operator (plan->root, error);
}

/* ---- explain ---- */

static const char *
operator_name (const RelationOperator *op)
{
  static const char *const names[] = {
    [RELATION_OP_SOURCE] = "Source",   [RELATION_OP_ONE_ROW] = "OneRow",   [RELATION_OP_VALUES] = "Values",
    [RELATION_OP_PROJECT] = "Project", [RELATION_OP_FILTER] = "Filter",    [RELATION_OP_AGGREGATE] = "Aggregate",
    [RELATION_OP_SORT] = "Sort",       [RELATION_OP_LIMIT] = "Limit",      [RELATION_OP_DISTINCT] = "Distinct",
    [RELATION_OP_JOIN] = "Join",       [RELATION_OP_SET] = "SetOperation", [RELATION_OP_GENERATE] = "Generate",
    [RELATION_OP_SHARED] = "Shared",   [RELATION_OP_EXPECT] = "Expect",    [RELATION_OP_RANGE] = "Range",
  };

  return names[op->kind];
}

static void
explain (const RelationOperator *op, guint depth, GString *out)
{
  if (op == NULL)
    return;
  g_string_append_printf (out, "%*s%s", (int) depth * 2, "", operator_name (op));
  if (op->kind == RELATION_OP_SOURCE)
    g_string_append_printf (out, " %s%s", op->source->streaming ? "STREAM " : "", op->source->name);
  if (op->kind == RELATION_OP_LIMIT)
    g_string_append_printf (out, " %" G_GINT64_FORMAT " offset %" G_GINT64_FORMAT, op->limit, op->offset);
  g_string_append (out, " [");
  for (guint i = 0; i < op->n_columns; i++) {
    g_autofree char *type = base_type_text (op->columns[i].type);
    g_string_append_printf (out, "%s%s#%u: %s", i > 0 ? ", " : "", op->columns[i].name, op->columns[i].id, type);
  }
  g_string_append (out, "]\n");
  explain (op->input, depth + 1, out);
  explain (op->right, depth + 1, out);
  if (op->shared != NULL)
    explain (op->shared->root, depth + 1, out);
}

char *
relation_plan_explain (const RelationPlan *plan)
{
  GString *out = g_string_new (NULL);

  explain (plan->root, 0, out);
  return g_string_free (out, FALSE);
}

/* ---- lowering ---- */

static gboolean
visit_used (RelationExpr *expr, gpointer data)
{
  if (expr->kind == RELATION_EXPR_COLUMN)
    g_hash_table_add (data, GUINT_TO_POINTER (expr->column_id));
  if (expr->subquery != NULL)
    for (guint i = 0; i < expr->subquery->n_columns; i++)
      g_hash_table_add (data, GUINT_TO_POINTER (expr->subquery->columns[i].id));
  return TRUE;
}

static void
use_columns (GHashTable *used, const RelationOperator *op)
{
  for (guint i = 0; op != NULL && i < op->n_columns; i++)
    g_hash_table_add (used, GUINT_TO_POINTER (op->columns[i].id));
}

static void use_operator (GHashTable *used, RelationOperator *op);

static gboolean
visit_subquery_operators (RelationExpr *expr, gpointer data)
{
  if (expr->subquery != NULL)
    use_operator (data, expr->subquery);
  return TRUE;
}

/* Columns that an operator prints by itself, besides those its expressions name. */
static void
use_operator (GHashTable *used, RelationOperator *op)
{
  if (op == NULL)
    return;
  if (op->kind == RELATION_OP_SET) {
    use_columns (used, op->input);
    use_columns (used, op->right);
  }
  if (op->kind == RELATION_OP_SORT || op->kind == RELATION_OP_EXPECT || op->kind == RELATION_OP_DISTINCT)
    use_columns (used, op);
  if (op->shared != NULL) {
    use_columns (used, op->shared->root);
    use_operator (used, op->shared->root);
  }
  for (guint i = 0; i < op->n_exprs; i++)
    relation_expr_walk (op->exprs[i], visit_subquery_operators, used);
  if (op->condition != NULL)
    relation_expr_walk (op->condition, visit_subquery_operators, used);
  use_operator (used, op->input);
  use_operator (used, op->right);
}

static gboolean
check_types (RelationPlan *plan, DuckSession *session, const char *sql, GError **error)
{
  g_autoptr (GPtrArray) columns = duck_session_describe (session, sql, error);
  guint n = base_type_n_fields (plan->schema);

  if (columns == NULL) {
    base_error_add_context (error, "preparing: %s", sql);
    return FALSE;
  }
  if (columns->len != n)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "The lowered query has %u columns instead of %u: %s",
                           columns->len, n, sql);
  for (guint i = 0; i < n; i++) {
    const DuckColumn *column = g_ptr_array_index (columns, i);
    const BaseField *field = base_type_field (plan->schema, i);
    g_autofree char *where = NULL;
    g_autofree char *expected = g_strdup_printf ("c%u", i);
    if (strcmp (column->name, expected) != 0 || !duck_type_fits (column->type, field->type, &where)) {
      g_autofree char *type = base_type_text (field->type);
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Column %u (%s %s) is lowered as %s %s (%s): %s", i,
                             field->name, type, column->name, duck_type_name (column->type), where != NULL ? where : "",
                             sql);
    }
  }
  return TRUE;
}

RelationText *
relation_plan_lower (RelationPlan *plan, const RelationLowering *lowering, GError **error)
{
  g_autoptr (RelationText) text = relation_text_new ();
  g_autoptr (GPtrArray) shared = g_ptr_array_new ();
  g_autoptr (GPtrArray) shared_texts = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) used = g_hash_table_new (NULL, NULL);
  g_autoptr (GString) body = g_string_new (NULL);
  RelationPrinter printer = {
    .lowering = lowering, .text = text, .shared = shared, .shared_texts = shared_texts, .used = used
  };
  GString *sql = relation_text_sql (text);

  relation_operator_walk_exprs (plan->root, visit_used, used);
  use_columns (used, plan->root);
  use_operator (used, plan->root);
  if (!relation_printer_root (&printer, plan->root, body, error))
    return NULL;
  for (guint i = 0; i < shared->len; i++)
    g_string_append_printf (sql, "%st%u AS (%s)", i > 0 ? ", " : "WITH ", i,
                            (const char *) g_ptr_array_index (shared_texts, i));
  if (shared->len > 0)
    g_string_append_c (sql, ' ');
  g_string_append_len (sql, body->str, (gssize) body->len);
  if (lowering->session != NULL && (lowering->check_types || g_strcmp0 (g_getenv ("SLUICE_CHECK_TYPES"), "1") == 0) &&
      !check_types (plan, lowering->session, sql->str, error))
    return NULL;
  return g_steal_pointer (&text);
}

/* ---- new plans ---- */

RelationPlan *
relation_plan_new_query (const SqlQuery *query, const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationOperator *op;

  relation_binder_init (&binder, arena, context, 1);
  op = relation_bind_query (&binder, query, NULL, NULL, error);
  return op != NULL ? relation_plan_new_tree (arena, op, binder.next_id) : NULL;
}

RelationPlan *
relation_plan_new_source (RelationSource *source)
{
  static const RelationContext nothing = { 0 };
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationOperator *op;

  relation_binder_init (&binder, arena, &nothing, 1);
  op = relation_op_source (&binder, relation_source_ref (source));
  return relation_plan_new_tree (arena, op, binder.next_id);
}

/* A binder that goes on where @plan ended; the new arena keeps the old. */
void
relation_binder_extend (RelationBinder *binder, RelationArena *arena, RelationPlan *plan,
                        const RelationContext *context)
{
  static const RelationContext nothing = { 0 };

  relation_binder_init (binder, arena, context != NULL ? context : &nothing, plan->next_id);
  relation_arena_keep (arena, relation_plan_ref (plan), (GDestroyNotify) relation_plan_unref);
}

static RelationExpr *
bind_item (RelationBinder *binder, RelationBindScope *scope, RelationOperator *root, const RelationItem *item,
           const char **name, GError **error)
{
  RelationExpr *expr;

  if (item->expr == NULL) {
    if (item->column >= root->n_columns + root->n_hidden) {
      base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "There is no column %u.", item->column);
      return NULL;
    }
    expr = relation_expr_new_column (binder->arena, &root->columns[item->column]);
    *name = item->name != NULL ? item->name : root->columns[item->column].name;
  } else {
    expr = relation_bind_expr (binder, scope, item->expr, error);
    if (expr == NULL)
      return NULL;
    if (relation_expr_has_aggregate (expr) || relation_expr_has_generator (expr)) {
      relation_bind_error (&item->expr->position, error, SLUICE_ERROR_INVALID_WHERE_CONDITION,
                           "Aggregates and generators are not allowed here: %s.", expr->display);
      return NULL;
    }
    *name = item->name != NULL ? item->name : relation_bind_output_name (binder, item->expr, expr);
  }
  if (item->type == NULL)
    return expr;
  if (!relation_coerce_can_store (expr->type, item->type)) {
    g_autofree char *from = base_type_text (expr->type);
    g_autofree char *to = base_type_text (item->type);
    relation_bind_error (item->expr != NULL ? &item->expr->position : NULL, error,
                         SLUICE_ERROR_INCOMPATIBLE_DATA_FOR_TABLE_CANNOT_SAFELY_CAST,
                         "Cannot safely cast `%s` \"%s\" to \"%s\".", *name, from, to);
    return NULL;
  }
  return relation_expr_new_store_cast (binder, expr, item->type, *name);
}

RelationPlan *
relation_plan_project (RelationPlan *plan, const RelationItem *items, guint n_items, const RelationContext *context,
                       GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  g_autofree RelationExpr **exprs = g_new0 (RelationExpr *, n_items + 1);
  g_autofree const char **names = g_new0 (const char *, n_items + 1);
  RelationBinder binder;
  RelationBindScope scope = { .in_select = TRUE };
  RelationOperator *op;

  relation_binder_extend (&binder, arena, plan, context);
  scope.scope = relation_scope_of_operator (&binder, plan->root, NULL, 0, NULL);
  for (guint i = 0; i < n_items; i++)
    if ((exprs[i] = bind_item (&binder, &scope, plan->root, &items[i], &names[i], error)) == NULL)
      return NULL;
  op = relation_op_project (&binder, plan->root, exprs, names, n_items, FALSE);
  return relation_plan_new_tree (arena, op, binder.next_id);
}

RelationPlan *
relation_plan_filter (RelationPlan *plan, const SqlExpr *condition, const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationBindScope scope = { .clause = "WHERE" };
  RelationOperator *op;
  RelationExpr *expr;

  relation_binder_extend (&binder, arena, plan, context);
  scope.scope = relation_scope_of_operator (&binder, plan->root, NULL, 0, NULL);
  if ((expr = relation_bind_condition (&binder, &scope, condition, error)) == NULL)
    return NULL;
  /* Not relation_op_filter(): its skips would change the sources of the plan below. */
  op = relation_op_new (&binder, RELATION_OP_FILTER, plan->root);
  op->condition = expr;
  relation_op_columns_from (op, plan->root);
  return relation_plan_new_tree (arena, op, binder.next_id);
}

RelationPlan *
relation_plan_limit (RelationPlan *plan, guint64 n_rows)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationOperator *op;

  relation_binder_extend (&binder, arena, plan, NULL);
  op = relation_op_limit (&binder, plan->root, (gint64) MIN (n_rows, (guint64) G_MAXINT64), 0);
  return relation_plan_new_tree (arena, op, binder.next_id);
}

/* @side's columns in @other's order and with NULLs for what it lacks, by name; what @other lacks comes last. */
static RelationOperator *
align_by_name (RelationBinder *binder, RelationOperator *side, RelationOperator *other, gboolean side_first)
{
  RelationOperator *first = side_first ? side : other;
  RelationOperator *second = side_first ? other : side;
  g_autoptr (GPtrArray) exprs = g_ptr_array_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint pass = 0; pass < 2; pass++) {
    RelationOperator *from = pass == 0 ? first : second;
    for (guint i = 0; i < from->n_columns; i++) {
      RelationColumn *mine = NULL;
      gboolean known = FALSE;
      for (guint j = 0; pass == 1 && j < first->n_columns; j++)
        known |= base_text_equal_ignore_case (first->columns[j].name, from->columns[i].name);
      if (known)
        continue;
      for (guint j = 0; j < side->n_columns && mine == NULL; j++)
        if (base_text_equal_ignore_case (side->columns[j].name, from->columns[i].name))
          mine = &side->columns[j];
      g_ptr_array_add (names, (gpointer) from->columns[i].name);
      g_ptr_array_add (exprs, mine != NULL ? relation_expr_new_column (binder->arena, mine)
                                           : relation_expr_new_null (binder, from->columns[i].type));
    }
  }
  return relation_op_project (binder, side, (RelationExpr *const *) exprs->pdata, (const char *const *) names->pdata,
                              exprs->len, FALSE);
}

RelationPlan *
relation_plan_union (RelationPlan *a, RelationPlan *b, gboolean by_name, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationOperator *left = a->root;
  RelationOperator *right = b->root;
  RelationOperator *op;

  relation_binder_extend (&binder, arena, a, NULL);
  relation_arena_keep (arena, relation_plan_ref (b), (GDestroyNotify) relation_plan_unref);
  binder.next_id = MAX (a->next_id, b->next_id);
  if (by_name) {
    left = align_by_name (&binder, a->root, b->root, TRUE);
    right = align_by_name (&binder, b->root, a->root, FALSE);
  }
  if ((op = relation_op_set (&binder, RELATION_SET_UNION_ALL, left, right, NULL, error)) == NULL)
    return NULL;
  return relation_plan_new_tree (arena, op, binder.next_id);
}

/* ---- expressions alone ---- */

RelationLiteral *
relation_eval_constant (const SqlExpr *expr, const BaseType *type, const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  const RelationLiteral *literal;

  relation_binder_init (&binder, arena, context, 1);
  literal = relation_bind_constant (&binder, expr, type, error);
  return literal != NULL ? relation_literal_copy (literal) : NULL;
}

/* Binds @expr over rows of @schema. */
static RelationExpr *
bind_over_schema (RelationBinder *binder, const SqlExpr *expr, const BaseType *schema, RelationScope **columns,
                  GError **error)
{
  guint n = base_type_n_fields (schema);
  RelationBindScope scope = { .in_select = TRUE };

  *columns = relation_scope_new (binder, n, NULL);
  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (schema, i);
    relation_column_set (binder, &(*columns)->columns[i].column, field->name, field->type, field->nullable);
  }
  scope.scope = *columns;
  return relation_bind_expr (binder, &scope, expr, error);
}

GArray *
relation_expr_columns (const SqlExpr *expr, const BaseType *schema, const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  g_autoptr (GHashTable) used = g_hash_table_new (NULL, NULL);
  RelationBinder binder;
  RelationScope *columns;
  RelationExpr *bound;
  GArray *result;

  relation_binder_init (&binder, arena, context, 1);
  if ((bound = bind_over_schema (&binder, expr, schema, &columns, error)) == NULL)
    return NULL;
  relation_expr_walk (bound, visit_used, used);
  result = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < columns->n_columns; i++)
    if (g_hash_table_contains (used, GUINT_TO_POINTER (columns->columns[i].column.id)))
      g_array_append_val (result, i);
  return result;
}

BaseType *
relation_expr_type (const SqlExpr *expr, const BaseType *schema, gboolean *nullable, gboolean *deterministic,
                    const RelationContext *context, GError **error)
{
  g_autoptr (RelationArena) arena = relation_arena_new ();
  RelationBinder binder;
  RelationScope *columns;
  RelationExpr *bound;

  relation_binder_init (&binder, arena, context, 1);
  if ((bound = bind_over_schema (&binder, expr, schema, &columns, error)) == NULL)
    return NULL;
  if (nullable != NULL)
    *nullable = bound->nullable;
  if (deterministic != NULL)
    *deterministic = bound->deterministic;
  return base_type_ref (bound->type);
}

/* Names in scope: which column a name means.
 *
 * Spark's order: the longest qualifier that matches wins, then the bare name; what is left of the name is struct fields. Inside one
 * query: lambda variables, columns, names given before in the same list, the query around. Names are compared without case; two
 * different columns of one name are an error, the same column twice is not.
 */
#include "base-text.h"
#include "relation-binder-private.h"

#include <string.h>

RelationScope *
relation_scope_new (RelationBinder *binder, guint n_columns, RelationScope *outer)
{
  RelationScope *scope = relation_arena_new0 (binder->arena, RelationScope);

  scope->columns = relation_arena_new0_n (binder->arena, RelationScopeColumn, n_columns + 1);
  scope->n_columns = n_columns;
  scope->outer = outer;
  return scope;
}

RelationScope *
relation_scope_of_operator (RelationBinder *binder, RelationOperator *op, const char *const *qualifier,
                            guint n_qualifier, RelationScope *outer)
{
  RelationScope *scope = relation_scope_new (binder, op->n_columns + op->n_hidden, outer);

  for (guint i = 0; i < scope->n_columns; i++) {
    scope->columns[i].column = op->columns[i];
    scope->columns[i].qualifier = qualifier;
    scope->columns[i].n_qualifier = n_qualifier;
    scope->columns[i].by_name_only = i >= op->n_columns;
  }
  return scope;
}

RelationScope *
relation_scope_join (RelationBinder *binder, RelationScope *left, RelationScope *right)
{
  RelationScope *scope = relation_scope_new (binder, left->n_columns + right->n_columns, left->outer);

  /* Both lists have one element of room more than they use, so they are never NULL. */
  memcpy (scope->columns, left->columns, sizeof (RelationScopeColumn) * left->n_columns);
  memcpy (scope->columns + left->n_columns, right->columns, sizeof (RelationScopeColumn) * right->n_columns);
  return scope;
}

RelationExpr *
relation_scope_use (RelationBinder *binder, const RelationScopeColumn *column, const char *name, const SqlPosition *at)
{
  RelationExpr *expr = relation_expr_new_column (binder->arena, &column->column);

  expr->position = at;
  if (name != NULL)
    expr->display = relation_arena_strdup (binder->arena, name);
  return expr;
}

static gboolean
same_name (const char *a, const char *b)
{
  return base_text_equal_ignore_case (a, b);
}

/* Whether the first @n parts of @name are the end of the column's qualifier. */
static gboolean
qualifier_matches (const RelationScopeColumn *column, const SqlName *name, guint n)
{
  if (n > column->n_qualifier)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!same_name (name->parts[i].text, column->qualifier[column->n_qualifier - n + i]))
      return FALSE;
  return TRUE;
}

static gboolean
ambiguous (const SqlName *name, const RelationScope *scope, const GArray *found, const SqlPosition *at, GError **error)
{
  g_autofree char *text = sql_name_text (name);
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < found->len; i++) {
    const RelationScopeColumn *column = &scope->columns[g_array_index (found, guint, i)];
    g_string_append (list, i > 0 ? ", " : "");
    for (guint q = 0; q < column->n_qualifier; q++)
      g_string_append_printf (list, "`%s`.", column->qualifier[q]);
    g_string_append_printf (list, "`%s`", column->column.name);
  }
  relation_bind_error (at, error, SLUICE_ERROR_AMBIGUOUS_REFERENCE, "Reference `%s` is ambiguous, could be: [%s].",
                       text, list->str);
  g_string_free (list, TRUE);
  return FALSE;
}

/* `SELECT id, id` gives one column twice, not two of one name. */
static guint
origin_of (const RelationScopeColumn *column)
{
  return column->column.origin != 0 ? column->column.origin : column->column.id;
}

/* Columns of one scope that the first @n_parts parts mean. Returns FALSE on ambiguity. @index: G_MAXUINT = none. */
static gboolean
find_in_scope (const RelationScope *scope, const SqlName *name, const SqlPosition *at, guint *index, guint *n_used,
               GError **error)
{
  guint most = MIN (name->n - 1, 3u);

  *index = G_MAXUINT;
  for (guint qualified = most + 1; qualified-- > 0;) {
    g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (guint));
    for (guint i = 0; i < scope->n_columns; i++) {
      const RelationScopeColumn *column = &scope->columns[i];
      gboolean known = FALSE;
      if (!same_name (column->column.name, name->parts[qualified].text) || (qualified == 0 && column->qualified_only) ||
          !qualifier_matches (column, name, qualified))
        continue;
      for (guint f = 0; f < found->len; f++)
        known |= origin_of (&scope->columns[g_array_index (found, guint, f)]) == origin_of (column);
      if (!known)
        g_array_append_val (found, i);
    }
    /* A hidden column gives way to a real one of the same name. */
    for (guint f = found->len; found->len > 1 && f-- > 0;)
      if (scope->columns[g_array_index (found, guint, f)].by_name_only)
        g_array_remove_index (found, f);
    if (found->len > 1)
      return ambiguous (name, scope, found, at, error);
    if (found->len == 1) {
      *index = g_array_index (found, guint, 0);
      *n_used = qualified + 1;
      return TRUE;
    }
  }
  return TRUE;
}

/* ---- fields ---- */

static RelationExpr *
field_of_array (RelationBinder *binder, RelationExpr *base, const SqlIdent *name, GError **error)
{
  RelationExpr *args[2] = { base, relation_expr_new_string (binder, name->text) };
  RelationExpr *result = relation_expr_call_at (binder, "array field", args, 2, &name->position, error);

  if (result != NULL)
    result->display = relation_binder_printf (binder, "%s.%s", base->display, name->text);
  return result;
}

RelationExpr *
relation_scope_field (RelationBinder *binder, RelationExpr *base, const SqlIdent *name, GError **error)
{
  BaseTypeKind kind = base_type_kind (base->type);
  g_autofree char *type = NULL;

  if (kind == BASE_TYPE_STRUCT) {
    int index = -1;
    guint n = 0;
    RelationExpr *field;
    for (guint i = 0; i < base_type_n_fields (base->type); i++)
      if (same_name (base_type_field (base->type, i)->name, name->text)) {
        index = (int) i;
        n++;
      }
    if (n > 1) {
      relation_bind_error (&name->position, error, SLUICE_ERROR_AMBIGUOUS_REFERENCE_TO_FIELDS,
                           "Ambiguous reference to the field `%s`. It appears %u times in the schema.", name->text, n);
      return NULL;
    }
    if (n == 0) {
      g_autofree char *fields = base_type_text (base->type);
      relation_bind_error (&name->position, error, SLUICE_ERROR_FIELD_NOT_FOUND, "No such struct field `%s` in %s.",
                           name->text, fields);
      return NULL;
    }
    field = relation_expr_new_field (binder, base, (guint) index);
    field->display = relation_binder_printf (binder, "%s.%s", base->display, name->text);
    return field;
  }
  if (kind == BASE_TYPE_MAP) {
    RelationExpr *args[2] = { base, relation_expr_new_string (binder, name->text) };
    return relation_expr_call_at (binder, "[]", args, 2, &name->position, error);
  }
  if (kind == BASE_TYPE_ARRAY && base_type_kind (base_type_element (base->type)) == BASE_TYPE_STRUCT)
    return field_of_array (binder, base, name, error);
  type = base_type_text (base->type);
  relation_bind_error (&name->position, error, SLUICE_ERROR_INVALID_EXTRACT_BASE_FIELD_TYPE,
                       "Can't extract a value from \"%s\". Need a complex type [STRUCT, ARRAY, MAP] but got %s.",
                       base->display, type);
  return NULL;
}

static RelationExpr *
take_fields (RelationBinder *binder, RelationExpr *base, const SqlName *name, guint from, GError **error)
{
  for (guint i = from; base != NULL && i < name->n; i++)
    base = relation_scope_field (binder, base, &name->parts[i], error);
  return base;
}

/* ---- finding ---- */

static RelationExpr *
find_lambda (RelationBinder *binder, const RelationLambdaScope *lambdas, const SqlName *name, const SqlPosition *at)
{
  for (; lambdas != NULL; lambdas = lambdas->outer)
    for (guint i = 0; i < lambdas->n; i++)
      if (same_name (lambdas->names[i], name->parts[0].text)) {
        RelationExpr *copy = relation_arena_new0 (binder->arena, RelationExpr);
        *copy = *lambdas->variables[i];
        copy->position = at;
        return copy;
      }
  return NULL;
}

/* FALSE on ambiguity. */
static gboolean
find_alias (RelationBindScope *scope, const SqlName *name, const SqlPosition *at, gboolean lateral,
            RelationExpr **found, GError **error)
{
  *found = NULL;
  for (guint i = 0; i < scope->n_aliases; i++) {
    if (!same_name (scope->aliases[i].name, name->parts[0].text))
      continue;
    if (*found != NULL && !relation_expr_equal (*found, scope->aliases[i].expr))
      return relation_bind_error (
          at, error, lateral ? SLUICE_ERROR_AMBIGUOUS_LATERAL_COLUMN_ALIAS : SLUICE_ERROR_AMBIGUOUS_REFERENCE,
          lateral ? "Lateral column alias `%s` is ambiguous." : "Reference `%s` is ambiguous.", name->parts[0].text);
    *found = scope->aliases[i].expr;
  }
  return TRUE;
}

static RelationExpr *
use_alias (RelationBinder *binder, RelationBindScope *scope, RelationExpr *found, const SqlName *name,
           const SqlPosition *at, GError **error)
{
  RelationExpr *copy = relation_arena_new0 (binder->arena, RelationExpr);

  /* The name stands for the expression again: computed twice, so it must give the same twice. */
  if (!found->deterministic) {
    relation_bind_unsupported (at, error, "A name given in the same SELECT list to something not deterministic");
    return NULL;
  }
  *copy = *found;
  copy->display = name->parts[0].text;
  copy->position = at;
  scope->saw_alias = TRUE;
  return take_fields (binder, copy, name, 1, error);
}

RelationExpr *
relation_scope_find (RelationBinder *binder, RelationBindScope *scope, const SqlName *name, const SqlPosition *at,
                     gboolean *ok, GError **error)
{
  RelationExpr *found;
  guint index, n_used;

  *ok = FALSE;
  if ((found = find_lambda (binder, scope->lambdas, name, at)) != NULL) {
    found = take_fields (binder, found, name, 1, error);
    *ok = found != NULL;
    return found;
  }
  if (scope->aliases_first) {
    if (!find_alias (scope, name, at, FALSE, &found, error))
      return NULL;
    if (found != NULL) {
      found = use_alias (binder, scope, found, name, at, error);
      *ok = found != NULL;
      return found;
    }
  }
  for (RelationScope *s = scope->scope; s != NULL; s = s->outer) {
    if (!find_in_scope (s, name, at, &index, &n_used, error))
      return NULL;
    if (index != G_MAXUINT) {
      found = relation_scope_use (binder, &s->columns[index], name->parts[n_used - 1].text, at);
      found = take_fields (binder, found, name, n_used, error);
      *ok = found != NULL;
      return found;
    }
    if (s == scope->scope && !scope->aliases_first) {
      if (!find_alias (scope, name, at, TRUE, &found, error))
        return NULL;
      if (found != NULL) {
        found = use_alias (binder, scope, found, name, at, error);
        *ok = found != NULL;
        return found;
      }
    }
  }
  *ok = TRUE;
  return NULL;
}

gboolean
relation_scope_unresolved (RelationBindScope *scope, const SqlName *name, const SqlPosition *at, GError **error)
{
  g_autofree char *text = sql_name_text (name);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *near = NULL;
  RelationScope *inner = scope->scope;

  for (guint i = 0; inner != NULL && i < inner->n_columns; i++)
    if (!inner->columns[i].by_name_only)
      g_ptr_array_add (names, (gpointer) inner->columns[i].column.name);
  if (names->len == 0) {
    return relation_bind_error (at, error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                                "A column, variable, or function parameter with name `%s` cannot be resolved.", text);
  }
  g_ptr_array_add (names, NULL);
  near = base_text_near_names (name->parts[name->n - 1].text, (const char *const *) names->pdata, 5);
  if (near == NULL) {
    GString *some = g_string_new (NULL);
    for (guint i = 0; i + 1 < names->len && i < 5; i++)
      g_string_append_printf (some, "%s`%s`", i > 0 ? ", " : "", (const char *) g_ptr_array_index (names, i));
    near = g_string_free (some, FALSE);
  }
  relation_bind_error (
      at, error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION,
      "A column, variable, or function parameter with name `%s` cannot be resolved. Did you mean one of the "
      "following? [%s].",
      text, near);
  base_error_add_param (error, "objectName", text);
  return FALSE;
}

/* ---- star ---- */

static gboolean
star_takes (const RelationScopeColumn *column, const SqlName *qualifier)
{
  if (column->by_name_only)
    return FALSE;
  if (qualifier->n == 0)
    return !column->qualified_only;
  return qualifier_matches (column, qualifier, qualifier->n);
}

/* Removes the columns named by EXCEPT from @exprs; a.b takes a field out of a struct. */
static gboolean
star_except (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *star, GPtrArray *exprs, guint from,
             GError **error)
{
  const SqlNameList *except = &star->u.star.except;

  for (guint e = 0; e < except->n; e++) {
    const SqlName *name = &except->items[e];
    gboolean found = FALSE;
    const char *last = name->parts[name->n - 1].text;
    RelationExpr *qualified = NULL;
    if (name->n > 1) {
      gboolean ok;
      qualified = relation_scope_find (binder, scope, name, &name->position, &ok, error);
      if (!ok)
        return FALSE;
      if (qualified != NULL && qualified->kind != RELATION_EXPR_COLUMN)
        return relation_bind_unsupported (&name->position, error, "EXCEPT of a field inside a column");
    }
    for (guint i = exprs->len; i-- > from;) {
      RelationExpr *expr = g_ptr_array_index (exprs, i);
      if (name->n > 1 ? qualified != NULL && expr->column_id == qualified->column_id
                      : same_name (expr->display, last)) {
        g_ptr_array_remove_index (exprs, i);
        found = TRUE;
      }
    }
    if (!found) {
      g_autofree char *text = sql_name_text (name);
      GString *list = g_string_new (NULL);
      for (guint i = from; i < exprs->len; i++)
        g_string_append_printf (list, "%s`%s`", i > from ? ", " : "",
                                ((RelationExpr *) g_ptr_array_index (exprs, i))->display);
      relation_bind_error (
          &name->position, error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION,
          "A column with name `%s` in EXCEPT cannot be resolved. Did you mean one of the following? [%s].", text,
          list->str);
      g_string_free (list, TRUE);
      return FALSE;
    }
  }
  return TRUE;
}

/* `s.*` over a struct column. */
static gboolean
star_of_struct (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *star, GPtrArray *out, GError **error)
{
  const SqlName *qualifier = &star->u.star.qualifier;
  gboolean ok;
  g_autofree char *text = sql_name_text (qualifier);
  RelationExpr *base = relation_scope_find (binder, scope, qualifier, &star->position, &ok, error);

  if (!ok)
    return FALSE;
  if (base == NULL || base_type_kind (base->type) != BASE_TYPE_STRUCT)
    return relation_bind_error (
        &star->position, error, SLUICE_ERROR_CANNOT_RESOLVE_STAR_EXPAND,
        "Cannot resolve %s.* given the columns of the query. Check that `%s` is a table or a struct column.", text,
        text);
  for (guint i = 0; i < base_type_n_fields (base->type); i++) {
    RelationExpr *field = relation_expr_new_field (binder, base, i);
    field->display = base_type_field (base->type, i)->name;
    g_ptr_array_add (out, field);
  }
  return TRUE;
}

gboolean
relation_scope_star (RelationBinder *binder, RelationBindScope *scope, const SqlExpr *star, GPtrArray *out,
                     GError **error)
{
  const SqlName *qualifier = &star->u.star.qualifier;
  guint from = out->len;
  RelationScope *columns = scope->scope;
  gboolean any = FALSE;

  for (guint i = 0; columns != NULL && i < columns->n_columns; i++) {
    if (!star_takes (&columns->columns[i], qualifier))
      continue;
    any = TRUE;
    g_ptr_array_add (out, relation_scope_use (binder, &columns->columns[i], NULL, &star->position));
  }
  if (!any && qualifier->n > 0 && !star_of_struct (binder, scope, star, out, error))
    return FALSE;
  return star_except (binder, scope, star, out, from, error);
}

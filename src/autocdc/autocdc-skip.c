/* What a look-up need not open: files, and row groups, without the batch's keys, or with rows alone that were over before its first event. */
#include "autocdc-work-private.h"
#include "base-text.h"

static void
constant_free (DeltaConstant *constant)
{
  g_free ((char *) constant->text);
  g_free (constant);
}

/* How the least or greatest of a key is read as the constant of a predicate; NULL: not. */
static char *
constant_text (const BaseType *type, const char *aggregate, const char *key)
{
  g_autofree char *value = g_strdup_printf ("%s(%s)", aggregate, key);
  BaseTypeKind kind = base_type_kind (type);

  return kind == BASE_TYPE_DECIMAL ? NULL : delta_constant_expression (kind, value);
}

static const DeltaConstant *
add_skip (AutoCdcWork *work, const BaseType *type, guint column, DeltaPredicateOp op, const DuckVector *value)
{
  DeltaConstant *constant = g_new0 (DeltaConstant, 1);
  DeltaPredicate predicate = { .column = column, .op = op, .constants = constant, .n_constants = 1 };

  g_ptr_array_add (work->constants, constant);
  *constant = delta_constant_read (base_type_kind (type), value, 0);
  g_array_append_val (work->skips, predicate);
  return constant;
}

/* The constant as it stands in a condition. */
static char *
constant_sql (const DeltaConstant *constant)
{
  switch (constant->kind) {
  case BASE_TYPE_STRING: /* up to a NUL: not above the constant */
    return base_text_sql_literal (constant->text);
  case BASE_TYPE_DATE:
    return g_strdup_printf ("DATE '1970-01-01' + (%" G_GINT64_FORMAT ")::INTEGER", constant->integer);
  case BASE_TYPE_TIMESTAMP:
    return g_strdup_printf ("make_timestamptz(%" G_GINT64_FORMAT ")", constant->integer);
  case BASE_TYPE_TIMESTAMP_NTZ:
    return g_strdup_printf ("make_timestamp(%" G_GINT64_FORMAT ")", constant->integer);
  default:
    return g_strdup_printf ("%" G_GINT64_FORMAT, constant->integer);
  }
}

void
autocdc_begin_skips (AutoCdcWork *work, const BaseType *present)
{
  DeltaPredicate open = { .op = DELTA_PREDICATE_IS_NULL };

  work->n_key_skips = 0;
  work->skips = g_array_new (FALSE, TRUE, sizeof (DeltaPredicate));
  work->constants = g_ptr_array_new_with_free_func ((GDestroyNotify) constant_free);
  if (!work->plan->from_snapshot || work->plan->type != AUTOCDC_SCD2)
    return;
  open.column = (guint) base_type_field_index (present, AUTOCDC_END_AT, TRUE);
  g_array_append_val (work->skips, open);
}

guint
autocdc_find_axes (const AutoCdcWork *work, const BaseType *present, AutoCdcAxis axes[2])
{
  const char *const *intervals;
  guint n = autocdc_interval_columns (work->plan->type, &intervals) / 2;

  for (guint i = 0; i < n; i++)
    axes[i] = (AutoCdcAxis){ .end = (guint) base_type_field_index (present, intervals[2 * i + 1], TRUE),
                             .type = i ? work->plan->system_type : work->plan->sequence_type,
                             .order = i ? "p" : "o",
                             .column = i ? "{P:t.p%u}" : "{O:t.p%u}" };
  return n;
}

/* From the anchor: files whose rows were all over before the batch's first event, and, in the piece `recent`, row groups of that kind. */
static void
skip_past (AutoCdcWork *work, const AutoCdcAxis *axis, const DuckVector *first, GString *recent)
{
  g_autofree char *constant = constant_sql (add_skip (work, axis->type, axis->end, DELTA_PREDICATE_GE_OR_NULL, first));

  g_string_append_printf (recent, "%s(t.p%u IS NULL OR t.p%u >= %s)", recent->len ? " AND " : " WHERE ", axis->end,
                          axis->end, constant);
}

gboolean
autocdc_find_skips (AutoCdcWork *work, const BaseType *present, GError **error)
{
  AutoCdcAxis axes[2];
  guint n_axes = work->from_anchor ? autocdc_find_axes (work, present, axes) : 0, n = 0;
  g_autoptr (GString) sql = g_string_new ("SELECT "), recent = g_string_new (NULL);
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (DuckResult) result = NULL;
  g_autofree char *text = NULL;
  const DuckChunk *chunk;

  for (guint i = 0; i < work->plan->keys->len; i++) {
    const BaseType *type = work->layout->domain->key_types->pdata[i];
    g_autofree char *key = g_strdup_printf ("k%u", i);
    g_autofree char *least = constant_text (type, "min", key), *greatest = constant_text (type, "max", key);

    if (!least || base_type_field_index (present, work->layout->domain->keys->pdata[i], TRUE) < 0)
      continue;
    g_string_append_printf (sql, "%s, %s, ", least, greatest);
    g_array_append_val (keys, i);
  }
  for (guint i = 0; i < n_axes; i++) {
    g_autofree char *least = constant_text (axes[i].type, "min", axes[i].order);

    if (!least)
      continue;
    g_string_append_printf (sql, "%s, ", least);
    axes[n++] = axes[i];
  }
  if (keys->len + n == 0)
    return TRUE;
  g_string_append (sql, "FROM {keys}");
  text = autocdc_work_text (work, sql->str);
  result = duck_session_query_materialized (work->session, text, work->cancel, error);
  if (!result || !duck_result_next (result, &chunk, error))
    return FALSE;
  for (guint i = 0; i < keys->len; i++) {
    guint key = g_array_index (keys, guint, i);
    guint column = (guint) base_type_field_index (present, work->layout->domain->keys->pdata[key], TRUE);
    const AutoCdcColumn *plan_key = work->plan->columns->pdata[g_array_index (work->plan->keys, guint, key)];

    if (duck_vector_is_null (&chunk->columns[2 * i], 0))
      continue;
    add_skip (work, plan_key->type, column, DELTA_PREDICATE_GE, &chunk->columns[2 * i]);
    add_skip (work, plan_key->type, column, DELTA_PREDICATE_LE, &chunk->columns[2 * i + 1]);
  }
  work->n_key_skips = work->skips->len;
  for (guint i = 0; i < n; i++)
    if (!duck_vector_is_null (&chunk->columns[2 * keys->len + i], 0))
      skip_past (work, &axes[i], &chunk->columns[2 * keys->len + i], recent);
  autocdc_work_set (work, "recent", recent->str);
  return TRUE;
}

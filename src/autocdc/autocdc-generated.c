/* Columns that the table computes from others: neither keys nor fields, nothing is remembered of them. */
#include "autocdc-state-private.h"
#include "write-schema.h"

gboolean
autocdc_has_generated (const AutoCdcLayout *layout)
{
  for (guint i = 0; i < base_type_n_fields (layout->schema); i++)
    if (write_generated_is (base_type_field (layout->schema, i)))
      return TRUE;
  return FALSE;
}

char *
autocdc_generate (AutoCdcWork *work, const char *rows, const WriteHiddenColumn *more, guint n_more, RelationText **hold,
                  GError **error)
{
  const BaseType *schema = work->layout->schema;
  guint n = base_type_n_fields (schema);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (GString) given = g_string_new ("SELECT "), out = g_string_new ("SELECT ");
  g_autoptr (BaseType) type = NULL;
  g_autoptr (RelationSource) source = NULL;
  g_autoptr (RelationPlan) plan = NULL, whole = NULL;
  RelationLowering lowering = { .now_us = work->batch->clock_us, .session = work->session };

  if (!autocdc_has_generated (work->layout))
    return g_strdup (rows);
  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (schema, i);

    g_string_append_printf (out, "%sc%u", i ? ", " : "", i);
    if (write_generated_is (field))
      continue;
    g_string_append_printf (given, "c%u, ", i);
    base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
  }
  for (guint i = 0; i < n_more; i++) {
    g_autofree char *name = g_strdup_printf ("\x1b%s", more[i].name); /* no user's name */

    g_string_append_printf (given, "%s, ", more[i].name);
    g_string_append_printf (out, ", c%u AS %s", n + i, more[i].name);
    base_struct_builder_add (builder, name, more[i].type, TRUE, NULL);
  }
  g_string_truncate (given, given->len - 2);
  g_string_append_printf (given, " FROM (%s)", rows);
  type = base_struct_builder_end (g_steal_pointer (&builder));
  source = relation_source_new_text (work->plan->target, given->str, type, FALSE);
  plan = relation_plan_new_source (source);
  if (!(whole = write_plan_generate (plan, schema, work->context, error)) ||
      !(*hold = relation_plan_lower (whole, &lowering, error)))
    return NULL;
  g_string_append_printf (out, " FROM (%s)", relation_text_sql (*hold)->str);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

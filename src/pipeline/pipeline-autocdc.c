/* Clauses of an AUTO CDC flow: see pipeline-autocdc.h. */
#include "pipeline-autocdc.h"

static const char *const *
names_of (PipelineAutoCdc *out, const SqlIdentList *idents)
{
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < idents->n; i++)
    g_ptr_array_add (list, (gpointer) idents->items[i].text);
  g_ptr_array_add (list, NULL);
  g_ptr_array_add (out->lists, list);
  return (const char *const *) list->pdata;
}

static void
set_choice (PipelineAutoCdc *out, const SqlColumnChoice *choice, const char *const **include,
            const char *const **except)
{
  switch (choice->kind) {
  case SQL_CHOICE_UNSET:
  case SQL_CHOICE_ALL:
    return;
  case SQL_CHOICE_LIST:
    *include = names_of (out, &choice->columns);
    return;
  case SQL_CHOICE_EXCEPT:
    *except = names_of (out, &choice->columns);
    return;
  }
}

void
pipeline_autocdc_init (PipelineAutoCdc *out, const PipelineFlow *flow)
{
  static const AutoCdcType types[] = { [SQL_STORED_AS_UNSET] = AUTOCDC_SCD1,
                                       [SQL_STORED_AS_SCD1] = AUTOCDC_SCD1,
                                       [SQL_STORED_AS_SCD2] = AUTOCDC_SCD2,
                                       [SQL_STORED_AS_BITEMPORAL] = AUTOCDC_BITEMPORAL };
  const SqlAutoCdc *clauses = flow->autocdc;

  out->lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  out->flow = (AutoCdcFlow){
    .name = flow->name,
    .target = flow->target->label,
    .keys = names_of (out, &clauses->keys),
    .sequence_by = clauses->sequence_by,
    .system_sequence_by = clauses->system_sequence_by,
    .delete_when = clauses->delete_when,
    .truncate_when = clauses->truncate_when,
    .where = clauses->where,
    .ignore_null = clauses->ignore_null_updates.kind == SQL_CHOICE_ALL,
    .columns_to_update = clauses->columns_to_update != NULL ? clauses->columns_to_update->text : NULL,
    .type = types[clauses->stored_as],
    .once = clauses->once,
    .from_snapshot = clauses->snapshot,
  };
  set_choice (out, &clauses->columns, &out->flow.columns, &out->flow.except_columns);
  set_choice (out, &clauses->track_history, &out->flow.track_history, &out->flow.track_except);
  set_choice (out, &clauses->ignore_null_updates, &out->flow.ignore_null_columns, &out->flow.ignore_null_except);
}

void
pipeline_autocdc_clear (PipelineAutoCdc *out)
{
  g_clear_pointer (&out->lists, g_ptr_array_unref);
}

/* Histories from the anchor (autocdc.md §6.3): a batch looks at no row that was over before its first event of the key, and at no fact from
 * before the row that was in force then.
 *
 * Let that event be at e. Events before e stay as they are, and so do rows that end before e. The anchor is the row with start < e <= end, where
 * there is one: a run begins at its start, so the facts from there on make the same rows as all of them. Where there is none, a delete lies
 * before e, or nothing, and what follows begins anew.
 *
 * Where not every fact authors all fields the first of them inherits: what was so before the anchor stands in the row that ends where it
 * starts. That row counts as an upsert of all fields at its start, and is left out of the outcome.
 *
 * Bitemporal: all of this holds in every belief from the batch's first instant on, and in the one before. Rows looked at are those of these beliefs,
 * so lo is the least start in any of them: no such row begins before it and goes on behind e. What facts from lo on make of rows that end before e is
 * left out of the outcome, as those rows are. Where facts inherit, all facts of the key are read.
 *
 * All of this needs rows that do not overlap, as AUTO CDC leaves them: rows that statements wrote, or that were adopted, may.
 *
 *   {anchors}  k, lo order key of the anchor's start, else of the first event
 *   {before}   k, st, o its order key, v of the rows that end at the anchors
 */
#include "autocdc-work-private.h"

gboolean
autocdc_has_anchor (const AutoCdcWork *work)
{
  return (work->plan->type == AUTOCDC_SCD2 ||
          (work->plan->type == AUTOCDC_BITEMPORAL && autocdc_batch_authors_all (work))) &&
         !work->has_statements && work->layout->domain->n_adopted == 0;
}

void
autocdc_define_anchors (AutoCdcWork *work)
{
  autocdc_work_define (work, "anchors",
                       "SELECT {K}, min(lo) AS lo FROM (SELECT {K}, o AS lo FROM {batch} UNION ALL"
                       " SELECT {K}, {O:st} FROM {rows}) GROUP BY {K}");
}

gboolean
autocdc_find_before (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  g_autoptr (GBytes) all = autocdc_first_fields (autocdc_work_n_fields (work));
  g_autoptr (GString) set = g_string_new (NULL);
  gint64 n_rows;

  if (work->plan->type != AUTOCDC_SCD2 || !work->from_anchor || !work->has_rows || autocdc_facts_author_all (work))
    return TRUE;
  if (!autocdc_work_count (work, "SELECT count(*) FROM {rows}", &n_rows, error))
    return FALSE;
  if (n_rows == 0)
    return TRUE;
  autocdc_append_set (set, all);
  autocdc_work_take (work, "all fields", g_steal_pointer (&set));
  work->has_before = TRUE;
  if (!work->is_partial)
    autocdc_add_set (work, all);
  return autocdc_look_up_before (work, snapshot, error);
}

void
autocdc_forget_before (AutoCdcWork *work)
{
  if (work->has_before)
    autocdc_work_define (work, "histories",
                         "SELECT h.* FROM {histories} h ANTI JOIN {before} b ON {J:h,b} AND {O:h.st} = b.o");
}

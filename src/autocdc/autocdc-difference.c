/* The smallest change: rows that must change, and facts that neither a row nor a state file holds yet. */
#include "autocdc-work-private.h"

/* Whether the old row `r` shows what the new row `n` must show. */
static void
set_same (AutoCdcWork *work)
{
  g_autoptr (GString) same = g_string_new ("r.en IS NOT DISTINCT FROM n.en");

  if (work->plan->type == AUTOCDC_BITEMPORAL)
    g_string_append (same, " AND r.ye IS NOT DISTINCT FROM n.ye");
  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    g_string_append (same, " AND ");
    autocdc_append_same (work, same, i, "r", "n");
  }
  autocdc_work_take (work, "same", g_steal_pointer (&same));
}

static gboolean
find_rows (AutoCdcWork *work, GError **error)
{
  static const char *const identities[] = {
    [AUTOCDC_SCD1] = "", [AUTOCDC_SCD2] = " AND r.st = n.st", [AUTOCDC_BITEMPORAL] = " AND r.st = n.st AND r.ys = n.ys"
  };
  gboolean holds = autocdc_rows_hold (work->plan);

  set_same (work);
  autocdc_work_set (work, "identity", identities[work->plan->type]);
  /* A condition on r alone would make the join a nested loop. */
  autocdc_work_set (
      work, "nth",
      holds && work->has_statements && work->has_rows ? " AND r.nth = CASE WHEN n.k0 IS NULL THEN 0 ELSE 1 END" : "");
  return autocdc_work_make (work, "diff",
                            "SELECT r.ix AS rr, r.fi, r.rn, r.rid, {K:n}{W:n}{V:n}{H:n}, CASE WHEN r.fi IS NULL THEN 1 "
                            "WHEN n.k0 IS NULL THEN 2 WHEN {same} THEN 0 ELSE 3 END AS act,"
                            " NULL::BIGINT AS hh"
                            " FROM {rows} r FULL JOIN {new} n ON {J:r,n}{identity}{nth}",
                            NULL, error);
}

/* The piece `not held`: of facts that neither a kept row holds nor a new row will. */
static void
set_not_held (AutoCdcWork *work)
{
  g_autoptr (GString) held = g_string_new (NULL);
  g_autofree char *text = NULL;

  if (autocdc_rows_hold (work->plan))
    g_string_append (
        held,
        " AND NOT (NOT f.d AND EXISTS (SELECT 1 FROM {diff} n WHERE n.act IN (1, 3) AND {J:n,f} AND n.ho = f.o AND"
        " n.hb = f.b))"
        " AND NOT (f.src = 1 AND NOT f.d AND EXISTS (SELECT 1 FROM {diff} n WHERE n.act = 0 AND n.rr = f.ri))");
  if (work->plan->type == AUTOCDC_SCD2)
    g_string_append (held, " AND NOT (f.d AND EXISTS (SELECT 1 FROM {new} n WHERE {J:n,f} AND n.en IS NOT NULL AND"
                           " {O:n.en} = f.o))");
  text = autocdc_work_text (work, held->str);
  autocdc_work_set (work, "not held", text);
}

/* A fact is added unless a state file has it (src 0), or rows hold it. */
static gboolean
find_facts (AutoCdcWork *work, GError **error)
{
  autocdc_work_set (work, "fact gen",
                    work->plan->type == AUTOCDC_SCD1 ? "f.g" : g_hash_table_lookup (work->pieces, "gen"));
  set_not_held (work);
  return autocdc_work_make (work, "add",
                            "SELECT {K:f}, f.s, {O:f.s} AS o{Y:f}, f.d, f.b{V:f}, {clock} AS w, {fact gen} AS g"
                            " FROM {need} f WHERE f.src <> 0{not held}",
                            &work->n_add, error);
}

gboolean
autocdc_find_difference (AutoCdcWork *work, GError **error)
{
  if (!find_rows (work, error))
    return FALSE;
  autocdc_work_set (work, "marks", g_hash_table_lookup (work->pieces, "diff"));
  autocdc_work_set (work, "general marks", g_hash_table_lookup (work->pieces, "diff"));
  autocdc_work_set (work, "end", work->plan->type == AUTOCDC_BITEMPORAL ? "ye" : "en");
  autocdc_work_define (work, "over", "SELECT * FROM {diff} WHERE {end} IS NOT NULL");
  autocdc_work_define (work, "lasting", "SELECT * FROM {diff} WHERE {end} IS NULL");
  return work->snapshot || find_facts (work, error); /* of snapshots, rows are all the memory there is */
}

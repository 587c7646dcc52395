/* SCD TYPE 2: the history of every key (autocdc-history.c). Every fact is needed. */
#include "autocdc-work-private.h"

/* The last step of a run is a fact that its row may hold when the row shows all its values; with one set there is one fact, and
 * the row is it. (A condition like that inside LEFT JOIN … ON would be a nested loop.) */
static gboolean
choose_held (AutoCdcWork *work, GError **error)
{
  if (work->has_one_set && !work->is_partial) {
    autocdc_work_define (work, "new", "SELECT {K}, st, en{V}, hs, ho, {batch set} AS hb, {gen} AS hg FROM {histories}");
    return TRUE;
  }
  autocdc_set_shows (work, "f");
  return autocdc_work_make (
      work, "new",
      "WITH held AS (SELECT {K:n}, n.ho, min(f.b) AS hb"
      " FROM {histories} n JOIN {facts} f ON {J:n,f} AND f.o = n.ho WHERE NOT f.d AND {shows}"
      " GROUP BY {K:n}, n.ho) SELECT {K:n}, n.st, n.en{V:n}, CASE WHEN h.hb IS NOT NULL THEN n.hs END AS hs,"
      " n.ho, h.hb, {gen} AS hg FROM {histories} n LEFT JOIN held h ON {J:n,h} AND h.ho = n.ho",
      NULL, error);
}

gboolean
autocdc_scd2_compute (AutoCdcWork *work, GError **error)
{
  autocdc_work_set (work, "need", g_hash_table_lookup (work->pieces, "facts"));
  if (!autocdc_find_histories (work, "facts", "{K}", error))
    return FALSE;
  autocdc_forget_before (work);
  return choose_held (work, error);
}

/* BITEMPORAL: what was believed of a key when (autocdc.md §5.7), from its normalised facts. Every fact is needed.
 *
 * An instant is a system sequence of the key. The belief at an instant is the history (autocdc-history.c) of the facts known by then;
 * of one business instant that is the fact known last. Consecutive beliefs with the same row are a run, shown as one row: start of its
 * first instant, end at the instant at which the row is gone. So system time is treated as business time is, one level up.
 *
 * Beliefs change from the batch's first instant of a key on. What was believed just before stands in the rows, as instant 0. Rows that end before the
 * batch's first sequence of the key do not change, and are left out.
 *
 *   {instants}   k, p, y; n its number, next the system sequence of the next one, changed the batch's first sequence of the key
 */
#include "autocdc-work-private.h"

static gboolean
find_instants (AutoCdcWork *work, GError **error)
{
  return autocdc_work_make (
      work, "instants",
      "SELECT {K:f}, f.p, any_value(f.y) AS y, row_number() OVER (PARTITION BY {K:f} ORDER BY f.p) AS n,"
      " lead(any_value(f.y)) OVER (PARTITION BY {K:f} ORDER BY f.p) AS next, any_value(q.o) AS changed FROM {facts} f"
      " JOIN (SELECT {K}, min(p) AS p, min(o) AS o FROM {batch} GROUP BY {K}) q ON {J:f,q} AND f.p >= q.p"
      " GROUP BY {K:f}, f.p",
      NULL, error);
}

/* {told at instants}: the facts that count at each instant. A fact counts until a later one of its business instant is known; in partial targets an
 * upsert counts until a delete is, and the upserts that count are one, each field as its latest author has it. */
static void
define_told (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL), flags = g_string_new (NULL);
  guint n = autocdc_work_n_fields (work);

  autocdc_work_set (work, "later",
                    work->is_partial ? "CASE WHEN d THEN next_known ELSE next_delete END" : "next_known");
  autocdc_work_define (
      work, "known",
      "SELECT i.n, f.* FROM {instants} i JOIN (SELECT *, {later} AS later FROM (SELECT *, min(p) OVER w AS next_known,"
      " min(p) FILTER (d) OVER w AS next_delete FROM {facts} WINDOW w AS (PARTITION BY {K}, o ORDER BY p"
      " GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING))) f"
      " ON {J:i,f} AND f.p <= i.p AND (f.later IS NULL OR f.later > i.p)");
  if (!work->is_partial) {
    autocdc_work_set (work, "told at instants", g_hash_table_lookup (work->pieces, "known"));
    return;
  }
  for (guint i = 0; i < n; i++) {
    g_string_append_printf (values, ", arg_max_null(v%u, p) FILTER (sluice_bit(b, %u)) AS v%u", i, i, i);
    g_string_append_printf (flags, "%sbool_or(sluice_bit(b, %u))", i ? ", " : "sluice_bits(", i);
  }
  g_string_append (flags, n ? ")" : "''::BLOB");
  autocdc_work_take (work, "latest values", g_steal_pointer (&values));
  autocdc_work_take (work, "all flags", g_steal_pointer (&flags));
  autocdc_work_define (work, "told at instants",
                       "SELECT {K}, n, any_value(s) AS s, o, bool_and(d) AS d, {all flags} AS b{latest values}"
                       " FROM {known} GROUP BY {K}, n, o");
}

gboolean
autocdc_bitemporal_compute (AutoCdcWork *work, GError **error)
{
  autocdc_work_set (work, "need", g_hash_table_lookup (work->pieces, "facts"));
  if (!find_instants (work, error))
    return FALSE;
  define_told (work);
  if (!autocdc_find_histories (work, "told at instants", "{K}, n", error) ||
      !autocdc_work_make (
          work, "beliefs",
          "WITH belief AS (SELECT {K:h}, h.n, i.y, i.next, h.st, h.en{V:h} FROM {histories} h JOIN {instants} i"
          " ON {J:h,i} AND i.n = h.n AND (h.en IS NULL OR {O:h.en} >= i.changed)"
          " UNION ALL SELECT {K:r}, 0, r.ys, i.y, r.st, r.en{V:r} FROM {rows} r"
          " JOIN {instants} i ON {J:r,i} AND i.n = 1 AND {P:r.ys} < i.p),"
          " run AS (SELECT *,"
          " (lag(n) OVER w IS DISTINCT FROM n - 1 OR lag(en) OVER w IS DISTINCT FROM en{changes before}) AS first,"
          " (lead(n) OVER w IS DISTINCT FROM n + 1 OR lead(en) OVER w IS DISTINCT FROM en{changes behind}) AS last"
          " FROM belief WINDOW w AS (PARTITION BY {K}, st ORDER BY n))"
          " SELECT * FROM run WHERE first OR last",
          NULL, error))
    return FALSE;
  autocdc_work_define (work, "new",
                       "SELECT {K}, st, en, y AS ys, next AS ye{V} FROM {beliefs} WHERE first AND last UNION ALL"
                       " SELECT {K}, st, en, ys, next{V} FROM (SELECT *, lag(y) OVER (PARTITION BY {K}, st ORDER BY n)"
                       " AS ys FROM {beliefs} WHERE first <> last) WHERE last");
  return TRUE;
}

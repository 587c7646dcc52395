/* BITEMPORAL: what was believed of a key when (autocdc.md §5.7), from its normalised facts. Every fact is needed.
 *
 * An instant is a system sequence of the key. The belief at an instant is the history (autocdc-history.c) of the facts known by then;
 * of one business instant that is the fact known last. Consecutive beliefs with the same row are a run, shown as one row: start of its
 * first instant, end at the instant at which the row is gone. So system time is treated as business time is, one level up.
 *
 * Beliefs change from the batch's first instant of a key on. What was believed just before stands in the rows, as instant 0. Rows that end before the
 * batch's first sequence of the key do not change, and are left out.
 *
 * A history for each instant is as many rows as instants times facts. Where a key has many, they are told in rounds, a few instants of every key at a
 * time: what a round leaves believed is instant 0 of the next one, and its first sequence lets rows out as the batch's does. A key that gets its
 * events nearly in order is told from near its end on then, in every round.
 *
 *   {instants}   k, p, y; n its number, o the least of its facts, changed the batch's first sequence of the key
 *   {round}      k, p, y; n its number, next the system sequence of the next one of the round, changed the first sequence that counts
 *   {timed}      {facts}, later: p of the instant from which on the fact does not count
 *   {near}       those of {timed} that count in a round
 *   {believed}   k, st, en, ys, v: what was believed before a round
 *   {settled}, {ended}: k, st, en, ys, ye, v: rows that no later round changes, of the first round and of the others
 */
#include "autocdc-work-private.h"

#define MAX_AT_ONCE 256 /* instants of a key in a round */
#define TOLD_BYTES  32  /* that a fact takes at least where it is told */

static gboolean
find_instants (AutoCdcWork *work, GError **error)
{
  return autocdc_work_make (
      work, "instants",
      "SELECT {K:f}, f.p, any_value(f.y) AS y, row_number() OVER (PARTITION BY {K:f} ORDER BY f.p) AS n,"
      " min(f.o) AS o, any_value(q.o) AS changed FROM {facts} f"
      " JOIN (SELECT {K}, min(p) AS p, min(o) AS o FROM {batch} GROUP BY {K}) q ON {J:f,q} AND f.p >= q.p"
      " GROUP BY {K:f}, f.p",
      NULL, error);
}

/* How many instants of a key a round has, so that what it tells stays small, and how many rounds that makes. Rows that statements wrote are told
 * anew from all facts, in one round. */
static gboolean
plan_rounds (AutoCdcWork *work, gint64 *at_once, gint64 *n_rounds, GError **error)
{
  g_autoptr (GString) select = g_string_new ("SELECT max(m)");
  gint64 values[16];
  guint n = 1;

  for (gint64 i = 1; i <= MAX_AT_ONCE; i *= 2, n++)
    g_string_append_printf (select, ", %" G_GINT64_FORMAT " * sum(least(m, %" G_GINT64_FORMAT "))::BIGINT", i, i);
  g_string_append (select, " FROM (SELECT max(n) AS m FROM {instants} GROUP BY {K})");
  if (!autocdc_work_numbers (work, select->str, values, n, error))
    return FALSE;
  *at_once = 1;
  for (guint i = 2; i < n && values[i] <= (gint64) (autocdc_kept_bytes (work->batch) / TOLD_BYTES); i++)
    *at_once *= 2;
  *n_rounds = work->has_statements ? 1 : (values[0] + *at_once - 1) / *at_once;
  return TRUE;
}

/* {timed}. A fact counts until a later one of its business instant is known; in partial targets an upsert counts until a delete is. */
static const char *
timed_facts (const AutoCdcWork *work)
{
  return work->is_partial
             ? "SELECT * EXCLUDE (next_known, next_delete), CASE WHEN d THEN next_known ELSE next_delete END AS later"
               " FROM (SELECT *, min(p) OVER w AS next_known, min(p) FILTER (d) OVER w AS next_delete FROM {facts}"
               " WINDOW w AS (PARTITION BY {K}, o ORDER BY p GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING))"
             : "SELECT *, min(p) OVER (PARTITION BY {K}, o ORDER BY p"
               " GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS later FROM {facts}";
}

/* {told at instants}: the facts of {near} that count at each instant of {round}. In partial targets the upserts that count are one, each field as its
 * latest author has it. */
static void
define_told (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL), flags = g_string_new (NULL);
  guint n = autocdc_work_n_fields (work);

  autocdc_work_define (work, "known",
                       "SELECT i.n, f.* FROM {round} i JOIN {near} f"
                       " ON {J:i,f} AND f.p <= i.p AND (f.later IS NULL OR f.later > i.p)");
  if (!work->is_partial) {
    autocdc_work_set (work, "told at instants", g_hash_table_lookup (work->pieces, "known"));
    return;
  }
  for (guint i = 0; i < n; i++) {
    g_string_append_printf (values, ", arg_max_null(v%u, CASE WHEN sluice_bit(b, %u) THEN p END) AS v%u", i, i, i);
    g_string_append_printf (flags, "%sbool_or(sluice_bit(b, %u))", i ? ", " : "sluice_bits(", i);
  }
  g_string_append (flags, n ? ")" : "''::BLOB");
  autocdc_work_take (work, "latest values", g_steal_pointer (&values));
  autocdc_work_take (work, "all flags", g_steal_pointer (&flags));
  autocdc_work_define (work, "told at instants",
                       "SELECT {K}, n, any_value(s) AS s, o, bool_and(d) AS d, {all flags} AS b{latest values}"
                       " FROM {known} GROUP BY {K}, n, o");
}

/* {new} of a round: the rows that are believed somewhere in it, those of its last belief without an end. */
static gboolean
tell_round (AutoCdcWork *work, GError **error)
{
  define_told (work);
  if (!autocdc_find_histories (work, "told at instants", "{K}, n", error) ||
      !autocdc_work_make (
          work, "beliefs",
          "WITH belief AS (SELECT {K:h}, h.n, i.y, i.next, h.st, h.en{V:h} FROM {histories} h JOIN {round} i"
          " ON {J:h,i} AND i.n = h.n AND (h.en IS NULL OR {O:h.en} >= i.changed)"
          " UNION ALL SELECT {K:r}, 0, r.ys, i.y, r.st, r.en{V:r} FROM {believed} r"
          " JOIN {round} i ON {J:r,i} AND i.n = 1 AND (r.en IS NULL OR {O:r.en} >= i.changed)),"
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

/* All instants in one. */
static gboolean
tell_at_once (AutoCdcWork *work, GError **error)
{
  autocdc_work_define (work, "round", "SELECT *, lead(y) OVER (PARTITION BY {K} ORDER BY n) AS next FROM {instants}");
  autocdc_work_define (work, "near", timed_facts (work));
  return tell_round (work, error);
}

/* {round}, {near} of the instants after the number {done}. The facts that make the rows of its beliefs begin where autocdc-anchor.c says, with the
 * rows that it may change, or with its own facts; but a round that has facts from before the batch's first sequence may change rows that were not
 * read: it takes all facts there are. So do rounds whose facts inherit. */
static gboolean
begin_round (AutoCdcWork *work, gboolean from_anchor, GError **error)
{
  if (!autocdc_work_make (work, "round",
                          "SELECT {K}, p, y, n - {done} AS n, lead(y) OVER w AS next, min(o) OVER k AS o,"
                          " CASE WHEN min(o) OVER k > changed THEN min(o) OVER k ELSE changed END AS changed"
                          " FROM {instants} WHERE n > {done} AND n <= {done} + {at once}"
                          " WINDOW k AS (PARTITION BY {K}), w AS (PARTITION BY {K} ORDER BY n)",
                          NULL, error))
    return FALSE;
  autocdc_work_set (work, "enough", from_anchor ? " AND (i.o < i.changed OR f.o >= i.o OR f.o >= i.lo)" : "");
  return autocdc_work_make (
      work, "near",
      "SELECT f.* FROM {timed} f JOIN (SELECT {K:i}, min(i.p) AS first, max(i.p) AS last, any_value(i.o) AS o,"
      " any_value(i.changed) AS changed, min({O:r.st}) AS lo FROM {round} i LEFT JOIN {believed} r"
      " ON {J:r,i} AND i.n = 1 AND (r.en IS NULL OR {O:r.en} >= i.changed) GROUP BY {K:i}) i"
      " ON {J:f,i} AND f.p <= i.last AND (f.later IS NULL OR f.later > i.first){enough}",
      NULL, error);
}

/* What a round leaves: rows @name that are over, or of keys without further instants, and {believed} of the others. */
static gboolean
end_round (AutoCdcWork *work, const char *name, const char *rows, GError **error)
{
  return autocdc_work_make (work, "latest",
                            "SELECT {K:r}{W:r}{V:r}, i.k0 IS NOT NULL AS more FROM {new} r LEFT JOIN {instants} i"
                            " ON {J:r,i} AND i.n = {done} + {at once} + 1"
                            " UNION ALL SELECT {K:r}, r.st, r.en, r.ys, NULL{V:r}, m.k0 IS NOT NULL FROM {believed} r"
                            " JOIN {round} i ON {J:r,i} AND i.n = 1"
                            " LEFT JOIN {instants} m ON {J:r,m} AND m.n = {done} + {at once} + 1"
                            " WHERE {O:r.en} < i.changed",
                            NULL, error) &&
         autocdc_work_make (work, name, rows, NULL, error) &&
         autocdc_work_make (work, "believed", "SELECT * EXCLUDE (ye, more) FROM {latest} WHERE ye IS NULL AND more",
                            NULL, error);
}

static void
set_number (AutoCdcWork *work, const char *piece, gint64 number)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, number);

  autocdc_work_set (work, piece, text);
}

#define OVER "SELECT * EXCLUDE (more) FROM {latest} WHERE ye IS NOT NULL OR NOT more"

static gboolean
tell_in_rounds (AutoCdcWork *work, gint64 at_once, gint64 n_rounds, GError **error)
{
  static const char *const lasting[] = { "settled", "ended", "believed", NULL };
  gboolean from_anchor = autocdc_facts_author_all (work);
  guint n_relations;

  if (!autocdc_work_make (work, "timed", timed_facts (work), NULL, error))
    return FALSE;
  n_relations = work->relations->len;
  set_number (work, "at once", at_once);
  for (gint64 i = 0; i < n_rounds; i++) {
    set_number (work, "done", i * at_once);
    if (!begin_round (work, from_anchor, error) || !tell_round (work, error) ||
        !end_round (work, i == 0 ? "settled" : "ended", i < 2 ? OVER : "SELECT * FROM {ended} UNION ALL " OVER, error))
      return FALSE;
    autocdc_work_keep (work, n_relations, lasting);
  }
  autocdc_work_define (work, "new", "SELECT * FROM {settled} UNION ALL SELECT * FROM {ended}");
  return TRUE;
}

gboolean
autocdc_bitemporal_compute (AutoCdcWork *work, GError **error)
{
  gint64 at_once, n_rounds;

  autocdc_work_set (work, "need", g_hash_table_lookup (work->pieces, "facts"));
  if (!find_instants (work, error) || !plan_rounds (work, &at_once, &n_rounds, error))
    return FALSE;
  autocdc_work_define (work, "believed",
                       "SELECT {K:r}, r.st, r.en, r.ys{V:r} FROM {rows} r JOIN {instants} i"
                       " ON {J:r,i} AND i.n = 1 AND {P:r.ys} < i.p");
  return n_rounds <= 1 ? tell_at_once (work, error) : tell_in_rounds (work, at_once, n_rounds, error);
}

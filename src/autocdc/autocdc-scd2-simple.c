/* SCD TYPE 2 without histories: keys all of whose events are newer than all that is known of them.
 *
 * The first such event closes the row that is open, if there is one; each begins a row unless it deletes, which ends at the next one. Nothing
 * before it changes. Set aside for the general way are keys with an event that is not newer, and those where new values perhaps go on with
 * the run: they have the hash of the event or the open row before, or that row holds no fact, or one of another set, whose hash is of other
 * fields. The short cut is for flows that track all columns, and for events that author all fields.
 *
 *   {old}      what {rows} has, of all keys of the batch
 *   {several}  k of keys with several events
 *   {came}     k, s, o, d of the events, hh the hash of their values; of the key's next one next, its sequence; of the one before pd, whether it
 *              deletes, and repeats, whether it has the same hash
 *   {simple}   of every event k, s, o, next; closes whether it ends the row rr, fi, rn, inserts whether it begins one, adds_delete whether it
 *              goes to the state, complex whether its key is set aside
 */
#include "autocdc-work-private.h"
#include "duck-engine.h"

gboolean
autocdc_simple_history_applies (const AutoCdcWork *work)
{
  const AutoCdcDomain *domain = work->layout->domain;

  if (work->plan->type != AUTOCDC_SCD2 || work->is_partial || work->has_statements ||
      g_strcmp0 (domain->hash, duck_engine_library_version ()) != 0)
    return FALSE;
  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    if (!autocdc_work_field (work, i)->tracked || !autocdc_set_has (work->batch_set, i))
      return FALSE;
  return TRUE;
}

static gboolean
find_came (AutoCdcWork *work, gint64 *n_several, GError **error)
{
  g_autoptr (GString) hash = g_string_new (NULL);

  autocdc_append_hash (work, hash, "b");
  autocdc_work_take (work, "hash", g_steal_pointer (&hash));
  if (!autocdc_work_make (work, "several", "SELECT {K} FROM {best} GROUP BY {K} HAVING count(*) > 1", n_several, error))
    return FALSE;
  autocdc_work_define (work, "came",
                       *n_several == 0
                           ? "SELECT {K}, s, o, d, {hash} AS hh, NULL::{S} AS next, NULL::BOOLEAN AS pd,"
                             " false AS repeats FROM {reduced} b"
                           : "SELECT {K}, s, o, d, {hash} AS hh, NULL::{S} AS next, NULL::BOOLEAN AS pd,"
                             " false AS repeats FROM {reduced} b ANTI JOIN {several} q ON {J:b,q} UNION ALL"
                             " SELECT {K}, s, o, d, hh, lead(s) OVER w, lag(d) OVER w,"
                             " coalesce(NOT d AND NOT lag(d) OVER w AND lag(hh) OVER w = hh, false) FROM"
                             " (SELECT {K}, s, o, d, {hash} AS hh FROM {reduced} b SEMI JOIN {several} q ON {J:b,q})"
                             " WINDOW w AS (PARTITION BY {K} ORDER BY o)");
  return TRUE;
}

static gboolean
make_simple (AutoCdcWork *work, GError **error)
{
  g_autofree char *odd_keys = NULL;
  gint64 n_several;

  if (!find_came (work, &n_several, error))
    return FALSE;
  /* One odd event sets all of its key aside. */
  autocdc_work_set (work, "complex", n_several == 0 ? "m.odd" : "q.odd IS NOT NULL");
  odd_keys = autocdc_work_text (
      work, n_several == 0 ? "" : " LEFT JOIN (SELECT {K}, true AS odd FROM met WHERE odd GROUP BY {K}) q ON {J:m,q}");
  autocdc_work_set (work, "odd keys", odd_keys);
  return autocdc_work_make (
      work, "simple",
      "WITH there AS (SELECT {K}, max(greatest(ho, so, eo)) AS newest, arg_max(ix, so) AS ix FROM"
      " (SELECT {K}, ix, ho, {O:st} AS so, {O:en} AS eo FROM {old}) GROUP BY {K}),"
      " met AS (SELECT e.*, e.pd IS NULL AND r.ix IS NOT NULL AND r.en IS NULL AS is_open, r.ix, r.fi, r.rn,"
      " e.repeats OR coalesce(e.o <= greatest(t.newest, k.sd), false) OR (is_open AND NOT e.d AND"
      " (r.hb IS DISTINCT FROM {batch set} OR coalesce(r.hh = e.hh, true))) AS odd"
      " FROM {came} e LEFT JOIN there t ON {J:e,t} LEFT JOIN {old} r ON r.ix = t.ix LEFT JOIN {known} k ON {J:e,k})"
      " SELECT {K:m}, m.s, m.o, m.next, m.ix AS rr, m.fi, m.rn, {complex} AS complex, m.is_open AND NOT complex AS"
      " closes, NOT m.d AND NOT complex AS inserts, m.d AND NOT m.is_open AND coalesce(m.pd, true) AND NOT complex AS"
      " adds_delete FROM met m{odd keys}",
      NULL, error);
}

gboolean
autocdc_simple_history_split (AutoCdcWork *work, DeltaSnapshot *snapshot, gint64 *n_complex, GError **error)
{
  gint64 values[5];

  work->keeps_old = TRUE;
  if (!autocdc_look_up_rows (work, snapshot, "old", TRUE, error) ||
      !autocdc_look_up_known (work, delta_snapshot_table (snapshot), error) || !make_simple (work, error) ||
      !autocdc_work_numbers (work,
                             "SELECT count(*) FILTER (complex), count(*) FILTER (closes), count(*) FILTER (inserts),"
                             " count(*) FILTER (inserts AND next IS NULL), count(*) FILTER (adds_delete) FROM {simple}",
                             values, G_N_ELEMENTS (values), error))
    return FALSE;
  *n_complex = values[0];
  work->simple_counts = (AutoCdcCounts){ .n_updated = values[1], .n_inserted = values[2], .n_lasting = values[3] };
  work->n_simple_facts = values[4];
  return *n_complex == 0 || autocdc_set_aside (work, snapshot, TRUE, error);
}

void
autocdc_simple_history_add (AutoCdcWork *work)
{
#define CLOSED                                                                                                         \
  "SELECT r.ix AS rr, r.fi, r.rn, r.rid, {K:r}, r.st, p.s AS en{V:r}, r.hs, NULL AS ho, r.hb, r.hg, 3 AS act, r.hh"    \
  " FROM {simple} p JOIN {old} r ON r.ix = p.rr WHERE p.closes"
#define BEGUN                                                                                                          \
  "SELECT NULL AS rr, NULL AS fi, NULL AS rn, NULL AS rid, {K:b}, b.s AS st, p.next AS en{V:b}, b.s AS hs,"            \
  " NULL AS ho, {batch set} AS hb, 0 AS hg, 1 AS act, NULL AS hh FROM {simple} p JOIN {reduced} b ON {J:p,b}"          \
  " AND {E:p,b} WHERE p.inserts"
#define OVER    CLOSED " UNION ALL " BEGUN " AND p.next IS NOT NULL"
#define LASTING BEGUN " AND p.next IS NULL"
  gboolean both = work->has_general;

  autocdc_work_define (work, "over", both ? "SELECT * FROM {diff} WHERE en IS NOT NULL UNION ALL " OVER : OVER);
  autocdc_work_define (work, "lasting", both ? "SELECT * FROM {diff} WHERE en IS NULL UNION ALL " LASTING : LASTING);
  autocdc_add_simple (
      work, CLOSED " UNION ALL " BEGUN, "SELECT rr, fi, rn, 3 AS act FROM {simple} WHERE closes",
      "SELECT {K}, s, o, true AS d, ''::BLOB AS b{no values}, {clock} AS w, 0::BIGINT AS g FROM {simple}"
      " WHERE adds_delete");
}

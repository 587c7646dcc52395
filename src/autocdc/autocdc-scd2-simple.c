/* SCD TYPE 2 without histories: keys whose one event is newer than all that is known of them.
 *
 * Such an event closes the row that is open, if there is one, and begins another unless it deletes; nothing before it changes. Set aside for the
 * general way are keys with several events, with an event that is not the newest, and those whose new values perhaps go on with the run: they have
 * the hash of the open row's, or the row holds no fact, or one of another set, whose hash is of other fields. The short cut is for flows that track all columns, and for events that author all fields.
 *
 *   {old}      what {rows} has, of all keys of the batch
 *   {simple}   k, s, rr, fi, rn of the row with the last start; closes whether the event ends it, inserts whether it begins a row, adds_delete
 *              whether it goes to the state, complex whether the key is set aside
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
make_simple (AutoCdcWork *work, GError **error)
{
  g_autoptr (GString) hash = g_string_new (NULL);

  autocdc_append_hash (work, hash, "b");
  autocdc_work_take (work, "hash", g_steal_pointer (&hash));
  return autocdc_work_make (
      work, "simple",
      "WITH came AS (SELECT {K}, count(*) AS n, any_value(s) AS s, any_value(o) AS o, bool_or(d) AS d,"
      " any_value({hash}) AS hh FROM {reduced} b GROUP BY {K}),"
      " there AS (SELECT {K}, max(greatest(ho, so, eo)) AS newest, arg_max(ix, so) AS ix FROM"
      " (SELECT {K}, ix, ho, {O:st} AS so, {O:en} AS eo FROM {old}) GROUP BY {K}),"
      " met AS (SELECT e.*, r.ix AS rr, r.fi, r.rn, r.ix IS NOT NULL AND r.en IS NULL AS is_open,"
      " e.n > 1 OR coalesce(e.o <= greatest(t.newest, k.sd), false)"
      " OR (r.ix IS NOT NULL AND r.en IS NULL AND NOT e.d AND"
      " (r.hb IS DISTINCT FROM {batch set} OR coalesce(r.hh = e.hh, true))) AS complex"
      " FROM came e LEFT JOIN there t ON {J:e,t} LEFT JOIN {old} r ON r.ix = t.ix LEFT JOIN {known} k ON {J:e,k})"
      " SELECT {K}, s, o, rr, fi, rn, complex, is_open AND NOT complex AS closes, NOT d AND NOT complex AS inserts,"
      " d AND NOT is_open AND NOT complex AS adds_delete FROM met",
      NULL, error);
}

gboolean
autocdc_simple_history_split (AutoCdcWork *work, DeltaSnapshot *snapshot, gint64 *n_complex, GError **error)
{
  gint64 values[4];

  work->keeps_old = TRUE;
  if (!autocdc_look_up_rows (work, snapshot, "old", TRUE, error) ||
      !autocdc_look_up_known (work, delta_snapshot_table (snapshot), error) || !make_simple (work, error) ||
      !autocdc_work_numbers (work,
                             "SELECT count(*) FILTER (complex), count(*) FILTER (closes), count(*) FILTER (inserts),"
                             " count(*) FILTER (adds_delete) FROM {simple}",
                             values, G_N_ELEMENTS (values), error))
    return FALSE;
  *n_complex = values[0];
  work->simple_counts = (AutoCdcCounts){ .n_updated = values[1], .n_inserted = values[2], .n_lasting = values[2] };
  work->n_simple_deletes = values[3];
  return *n_complex == 0 || autocdc_set_aside (work, snapshot, TRUE, error);
}

gboolean
autocdc_simple_history_add (AutoCdcWork *work, GError **error)
{
#define CLOSED                                                                                                         \
  "SELECT r.ix AS rr, r.fi, r.rn, r.rid, {K:r}, r.st, p.s AS en{V:r}, r.hs, NULL AS ho, r.hb, r.hg, 3 AS act, r.hh"    \
  " FROM {simple} p JOIN {old} r ON r.ix = p.rr WHERE p.closes"
#define BEGUN                                                                                                          \
  "SELECT NULL AS rr, NULL AS fi, NULL AS rn, NULL AS rid, {K:b}, b.s AS st, NULL::{S} AS en{V:b}, b.s AS hs,"         \
  " NULL AS ho, {batch set} AS hb, 0 AS hg, 1 AS act, NULL AS hh FROM {simple} p JOIN {reduced} b ON {J:p,b}"          \
  " WHERE p.inserts"
  gboolean both = work->has_general;

  autocdc_work_define (work, "over", both ? "SELECT * FROM {diff} WHERE en IS NOT NULL UNION ALL " CLOSED : CLOSED);
  autocdc_work_define (work, "lasting", both ? "SELECT * FROM {diff} WHERE en IS NULL UNION ALL " BEGUN : BEGUN);
  return autocdc_add_simple (
      work, CLOSED " UNION ALL " BEGUN, "SELECT rr, fi, rn, 3 AS act FROM {simple} WHERE closes",
      "SELECT {K}, s, o, true AS d, ''::BLOB AS b{no values}, {clock} AS w, 0::BIGINT AS g FROM {simple}"
      " WHERE adds_delete",
      error);
}

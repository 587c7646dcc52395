/* SCD TYPE 1 without payload: keys whose outcome follows from comparing sequences. Of partial targets see autocdc-scd1-partial.c.
 *
 * When every fact in sight authors all fields, the newest upsert is the whole row: a newer one replaces it, an older one is
 * nothing. So the look-up reads keys, sequences, sets and hashes only. Set aside for the general way, with payload, are keys
 *   - whose row holds no fact, or one of another set;
 *   - where the batch's upsert meets the row's at one sequence (a tie);
 *   - with upserts in state files, or what statements wrote there, or with several rows;
 *   - whose new values have the hash of the old ones, or whose old row has none that compares: perhaps nothing changed.
 *
 *   {old}      what {rows} has, of all keys of the batch, without values unless they are to be written
 *   {known}    of keys with facts in state files: sd the newest sequence, su that of upserts, has_upsert
 *   {simple}   k, dm, ds newest delete of the batch, hh hash of its newest upsert, act, fi, rn, rid, rr of the old row, newest sequence known before,
 *              adds_delete whether the delete goes to the state, moves whether the fact of the old row does, complex whether the key is set aside
 */
#include "autocdc-work-private.h"
#include "duck-engine.h"

gboolean
autocdc_simple_applies (const AutoCdcWork *work)
{
  const AutoCdcDomain *domain = work->layout->domain;

  if (work->plan->type != AUTOCDC_SCD1)
    return FALSE;
  return work->is_partial
             ? !work->has_statements
             : autocdc_batch_authors_all (work) && g_strcmp0 (domain->hash, duck_engine_library_version ()) == 0;
}

/* {newest}: of every key its newest delete and upsert: dm, um the order of their sequences, ds the delete's sequence, hh the hash of the
 * upsert's values. */
static void
define_newest (AutoCdcWork *work)
{
  g_autoptr (GString) hash = g_string_new (NULL);

  autocdc_append_hash (work, hash, "b");
  autocdc_work_take (work, "hash", g_steal_pointer (&hash));
  autocdc_work_define (work, "newest",
                       work->n_keys == work->n_events
                           ? "SELECT {K}, CASE WHEN d THEN o END AS dm, CASE WHEN d THEN s END AS ds,"
                             " CASE WHEN NOT d THEN o END AS um, CASE WHEN NOT d THEN {hash} END AS hh FROM {reduced} b"
                           : "SELECT {K:g}, g.dm, x.s AS ds, g.um, f.hh FROM {best} g LEFT JOIN"
                             " (SELECT {K}, {hash} AS hh FROM {reduced} b WHERE NOT d) f ON {J:g,f} LEFT JOIN"
                             " (SELECT {K}, s FROM {reduced} WHERE d) x ON {J:g,x}");
}

/* @n_rows: (out): as many as keys, unless a key has several rows in {one old}. */
static gboolean
make_simple (AutoCdcWork *work, gint64 *n_rows, GError **error)
{
  return autocdc_work_make (
      work, "simple",
      "WITH"
      " met AS (SELECT g.*, r.ix AS rr, r.fi, r.rn, r.rid, r.ho, greatest(r.ho, k.sd, {known truncate order}) AS "
      "newest,"
      " g.dm IS NOT NULL AND (g.dm <= greatest(k.sd, {truncate order})) IS NOT TRUE AS adds_delete,"
      " greatest(g.dm, k.sd, {truncate order}) AS floor,"
      " CASE WHEN floor IS NULL OR g.um >= floor THEN g.um END AS um_stands,"
      " coalesce(k.has_upsert, false) AS has_upsert, coalesce(r.n > 1 OR r.hb IS DISTINCT FROM {batch set}, false) AND"
      " r.ix IS NOT NULL AS is_odd, g.hh = r.hh AS same_hash,"
      " coalesce(g.um = k.sd, false) OR coalesce(g.dm = r.ho, false) AS tied"
      " FROM {newest} g LEFT JOIN {one old} r ON {J:g,r} LEFT JOIN {known} k ON {J:g,k})"
      " SELECT {K}, dm, ds, hh, rr, fi, rn, rid, newest, adds_delete, tied,"
      " coalesce(um < newest, false) OR coalesce(dm < newest AND NOT adds_delete, false) AS is_late,"
      " has_upsert OR is_odd OR coalesce(um_stands = ho, false)"
      " OR coalesce((um_stands > ho OR ho IS NULL) AND rr IS NOT NULL AND coalesce(same_hash, true), false) AS complex,"
      " CASE WHEN um_stands IS NOT NULL AND (ho IS NULL OR um_stands > ho)"
      " THEN CASE WHEN rr IS NULL THEN 1 ELSE 3 END"
      " WHEN rr IS NOT NULL AND (floor > ho OR (floor IS NOT NULL AND ho IS NULL)) THEN 2 ELSE 0 END AS act,"
      " false AS moves FROM met",
      n_rows, error);
}

static gboolean
classify (AutoCdcWork *work, GError **error)
{
  gint64 n_rows;

  define_newest (work);
  autocdc_work_define (work, "one old", "SELECT *, 1 AS n FROM {old}");
  if (!make_simple (work, &n_rows, error))
    return FALSE;
  if (n_rows == work->n_keys)
    return TRUE;
  /* Somebody else gave a key a second row. */
  autocdc_work_define (
      work, "one old",
      "SELECT {K}, count(*) AS n, any_value(ix) AS ix, any_value(fi) AS fi, any_value(rn) AS rn, any_value(rid) AS rid,"
      " any_value(ho) AS ho, any_value(hb) AS hb, any_value(hh) AS hh FROM {old} GROUP BY {K}");
  return make_simple (work, &n_rows, error);
}

/* What the keys that are not set aside come to. */
static gboolean
count_simple (AutoCdcWork *work, gint64 *n_complex, GError **error)
{
  AutoCdcCounts *counts = &work->simple_counts;
  gint64 values[7];

  if (!autocdc_work_numbers (work,
                             "SELECT count(*) FILTER (complex),"
                             " count(*) FILTER ((adds_delete OR moves) AND NOT complex),"
                             " count(*) FILTER (tied AND NOT complex), count(*) FILTER (act = 1 AND NOT complex),"
                             " count(*) FILTER (act = 2 AND NOT complex), count(*) FILTER (act = 3 AND NOT complex),"
                             " count(*) FILTER (is_late AND NOT complex) FROM {simple}",
                             values, G_N_ELEMENTS (values), error))
    return FALSE;
  *n_complex = values[0];
  work->n_simple_facts = values[1];
  work->n_ties += values[2];
  *counts =
      (AutoCdcCounts){ .n_inserted = values[3], .n_deleted = values[4], .n_updated = values[5], .n_late = values[6] };
  /* Of a key with several events those that were not its newest may be late too. */
  return work->n_keys == work->n_events ||
         autocdc_work_count (work,
                             "SELECT count(*) FROM {events} e JOIN {simple} p ON {J:e,p} WHERE e.o < p.newest AND NOT"
                             " p.complex AND NOT (e.d AND p.adds_delete AND e.o = p.dm)",
                             &counts->n_late, error);
}

gboolean
autocdc_set_aside (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean with_old_rows, GError **error)
{
  return autocdc_work_make (work, "keys", "SELECT {K} FROM {simple} WHERE complex", NULL, error) &&
         autocdc_work_make (work, "batch", "SELECT b.* FROM {reduced} b SEMI JOIN {keys} q ON {J:b,q}", NULL, error) &&
         (with_old_rows
              ? autocdc_work_make (work, "rows", "SELECT r.* FROM {old} r SEMI JOIN {keys} q ON {J:r,q}", NULL, error)
              : autocdc_look_up_payload (work, snapshot, error)) &&
         autocdc_look_up_state (work, delta_snapshot_table (snapshot), error);
}

gboolean
autocdc_simple_split (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean with_old_rows, gint64 *n_complex,
                      GError **error)
{
  work->keeps_old = with_old_rows || work->is_partial;
  if (!autocdc_look_up_rows (work, snapshot, "old", work->keeps_old, error) ||
      !autocdc_look_up_known (work, delta_snapshot_table (snapshot), error) ||
      !(work->is_partial ? autocdc_partial_classify (work, error) : classify (work, error)) ||
      !count_simple (work, n_complex, error))
    return FALSE;
  return *n_complex == 0 || autocdc_set_aside (work, snapshot, work->keeps_old, error);
}

void
autocdc_add_simple (AutoCdcWork *work, const char *diff, const char *marks, const char *facts)
{
  g_autofree char *both = g_strconcat ("SELECT * FROM {diff} UNION ALL ", diff, NULL);
  g_autofree char *both_marks = g_strconcat ("SELECT rr, fi, rn, act FROM {marks} UNION ALL ", marks, NULL);
  g_autofree char *both_facts = g_strconcat ("FROM {add} UNION ALL ", facts, NULL);

  autocdc_set_no_values (work);
  /* Their rows are joined where they are written, not copied before. */
  if (work->n_simple_facts > 0)
    autocdc_work_define (work, "add", work->has_general ? both_facts : facts);
  work->n_add = (work->has_general ? work->n_add : 0) + work->n_simple_facts;
  autocdc_work_define (work, "diff", work->has_general ? both : diff);
  autocdc_work_define (work, "marks", work->has_general ? both_marks : marks);
}

void
autocdc_simple_add (AutoCdcWork *work)
{
  if (work->is_partial) {
    autocdc_partial_add (work);
    return;
  }
  autocdc_add_simple (
      work,
      "SELECT p.rr, p.fi, p.rn, p.rid, {K:p}, NULL::{S} AS st, NULL::{S} AS en{V:b}, b.s AS hs, NULL AS ho,"
      " {batch set} AS hb, 0::BIGINT AS hg, p.act, p.hh FROM {simple} p LEFT JOIN {reduced} b ON {J:p,b} AND NOT b.d"
      " WHERE p.act <> 0 AND NOT p.complex",
      "SELECT rr, fi, rn, act FROM {simple} WHERE act <> 0 AND NOT complex",
      "SELECT {K}, ds AS s, dm AS o, true AS d, ''::BLOB AS b{no values}, {clock} AS w, 0::BIGINT AS g"
      " FROM {simple} WHERE adds_delete AND NOT complex");
}

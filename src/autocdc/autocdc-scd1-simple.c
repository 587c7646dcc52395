/* SCD TYPE 1 without payload: keys whose outcome follows from comparing sequences.
 *
 * When every fact in sight authors all fields, the newest upsert is the whole row: a newer one replaces it, an older one is
 * nothing. So the look-up reads keys, sequences, sets and hashes only. Set aside for the general way, with payload, are keys
 *   - whose row holds no fact, or one of another set;
 *   - where the batch's upsert meets the row's at one sequence (a tie);
 *   - with upserts in state files, or with several rows;
 *   - whose new values have the hash of the old ones: perhaps nothing changed.
 *
 *   autocdc_simple   k, dm, um newest delete and, unless it is under a delete, newest upsert of the batch, act, fi, rn, rid, rr of the old row, newest sequence known before,
 *                    adds_delete whether dm goes to the state, complex whether the key is set aside
 */
#include "autocdc-work-private.h"
#include "duck-engine.h"
#include "duck-type.h"

gboolean
autocdc_simple_applies (const AutoCdcWork *work)
{
  const AutoCdcDomain *domain = work->layout->domain;

  if (work->plan->type != AUTOCDC_SCD1 || work->layout->is_new ||
      g_strcmp0 (domain->hash, duck_engine_library_version ()) != 0)
    return FALSE;
  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    if (!autocdc_set_has (work->batch_set, i))
      return FALSE;
  return TRUE;
}

static gboolean
classify (AutoCdcWork *work, GError **error)
{
  g_autoptr (GString) hash = g_string_new (NULL), set = g_string_new (NULL);
  g_autofree char *grouped = NULL;
  gint64 n_more;

  /* A key has one row, unless somebody else put a second one there. */
  if (!autocdc_work_count (work, "SELECT count(*) - count(DISTINCT ({K})) FROM autocdc_old", &n_more, error))
    return FALSE;
  grouped = autocdc_work_text (
      work,
      "SELECT {K}, count(*) AS n, any_value(ix) AS ix, any_value(fi) AS fi, any_value(rn) AS rn, any_value(rid) AS rid,"
      " any_value(ho) AS ho, any_value(hb) AS hb, any_value(hh) AS hh FROM autocdc_old GROUP BY {K}");
  autocdc_work_set (work, "old", n_more > 0 ? grouped : "SELECT *, 1 AS n FROM autocdc_old");
  autocdc_append_hash (work, hash, "b");
  autocdc_work_take (work, "hash", g_steal_pointer (&hash));
  autocdc_append_set (set, work->batch_set);
  autocdc_work_take (work, "batch set", g_steal_pointer (&set));
  return autocdc_work_run (
      work,
      "CREATE OR REPLACE TEMP TABLE autocdc_simple AS WITH"
      " known AS (SELECT {K}, max(o) AS sd, bool_or(NOT d) AS has_upsert FROM autocdc_state GROUP BY {K}),"
      " old AS ({old}),"
      " fresh AS (SELECT {K}, {hash} AS hh FROM autocdc_batch b WHERE NOT d),"
      " met AS (SELECT {K:g}, g.dm, r.ix AS rr, r.fi, r.rn, r.rid, r.ho, greatest(r.ho, k.sd) AS newest,"
      " g.dm IS NOT NULL AND (k.sd IS NULL OR g.dm > k.sd) AS adds_delete, greatest(g.dm, k.sd) AS floor,"
      " CASE WHEN floor IS NULL OR g.um >= floor THEN g.um END AS um,"
      " coalesce(k.has_upsert, false) AS has_upsert, coalesce(r.n > 1 OR r.hb IS DISTINCT FROM {batch set}, false) AND "
      "r.ix IS NOT NULL"
      " AS is_odd, f.hh = r.hh AS same_hash FROM autocdc_best g LEFT JOIN old r ON {J:g,r} LEFT JOIN known k ON {J:g,k}"
      " LEFT JOIN fresh f ON {J:g,f})"
      " SELECT *, has_upsert OR is_odd OR coalesce(um = ho, false) OR coalesce(um > ho AND same_hash, false) AS "
      "complex,"
      " CASE WHEN um IS NOT NULL AND (ho IS NULL OR um > ho)"
      " THEN CASE WHEN rr IS NULL THEN 1 ELSE 3 END WHEN rr IS NOT NULL AND floor > ho THEN 2 ELSE 0 END AS act FROM "
      "met",
      error);
}

gboolean
autocdc_simple_split (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean with_old_rows, gint64 *n_complex,
                      GError **error)
{
  work->has_simple = TRUE;
  work->keeps_old = with_old_rows;
  if (!autocdc_look_up_rows (work, snapshot, "autocdc_old", with_old_rows, error) ||
      !autocdc_look_up_state (work, delta_snapshot_table (snapshot), error) || !classify (work, error) ||
      !autocdc_work_count (work, "SELECT count(*) FROM autocdc_simple WHERE complex", n_complex, error))
    return FALSE;
  if (*n_complex == 0)
    return TRUE;
  autocdc_work_set (work, "batch", "autocdc_some");
  if (!autocdc_work_run (work,
                         "CREATE OR REPLACE TEMP TABLE autocdc_keys AS SELECT {K} FROM autocdc_simple WHERE complex;"
                         "CREATE OR REPLACE TEMP TABLE autocdc_some AS SELECT b.* FROM autocdc_batch b"
                         " SEMI JOIN autocdc_keys q ON {J:b,q};"
                         "CREATE OR REPLACE TEMP TABLE autocdc_state AS SELECT t.* FROM autocdc_state t"
                         " SEMI JOIN autocdc_keys q ON {J:t,q}",
                         error))
    return FALSE;
  if (!with_old_rows)
    return autocdc_look_up_payload (work, snapshot, error);
  return autocdc_work_run (work,
                           "CREATE OR REPLACE TEMP TABLE autocdc_rows AS SELECT r.* FROM autocdc_old r"
                           " SEMI JOIN autocdc_keys q ON {J:r,q}",
                           error);
}

gboolean
autocdc_simple_add (AutoCdcWork *work, gboolean beside_general, GError **error)
{
  g_autoptr (GString) nulls = g_string_new (NULL);
  g_autofree char *clock = g_strdup_printf ("%" G_GINT64_FORMAT, work->batch->clock_us), *diff = NULL, *marks = NULL;

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);

    g_string_append (nulls, ", NULL::");
    duck_type_append_text (nulls, field->type);
    g_string_append_printf (nulls, " AS v%u", i);
  }
  autocdc_work_take (work, "no values", g_steal_pointer (&nulls));
  autocdc_work_set (work, "clock", clock);
  autocdc_work_set (work, "to add",
                    beside_general ? "INSERT INTO autocdc_add" : "CREATE OR REPLACE TEMP TABLE autocdc_add AS");
  if (!autocdc_work_run (
          work,
          "{to add} SELECT {K:p}, b.s, b.o, true AS d, ''::BLOB AS b{no values}, {clock}::BIGINT AS w"
          " FROM autocdc_simple p JOIN autocdc_batch b ON {J:p,b} AND b.d WHERE p.adds_delete AND NOT p.complex",
          error))
    return FALSE;
  /* Their rows are joined where they are written, not copied before. */
  autocdc_work_set (work, "general diff", beside_general ? "SELECT * FROM autocdc_diff UNION ALL " : "");
  autocdc_work_set (work, "general marks", beside_general ? "SELECT rr, fi, rn, act FROM autocdc_diff UNION ALL " : "");
  diff = autocdc_work_text (
      work,
      "({general diff}SELECT p.rr, p.fi, p.rn, p.rid, {K:p}, NULL::{S} AS st, NULL::{S} AS en{V:b}, b.s AS hs,"
      " b.o AS ho, {batch set} AS hb, p.act FROM autocdc_simple p LEFT JOIN autocdc_batch b ON {J:p,b} AND NOT b.d"
      " WHERE p.act <> 0 AND NOT p.complex)");
  marks = autocdc_work_text (
      work, "({general marks}SELECT rr, fi, rn, act FROM autocdc_simple WHERE act <> 0 AND NOT complex)");
  autocdc_work_set (work, "diff", diff);
  autocdc_work_set (work, "marks", marks);
  return TRUE;
}

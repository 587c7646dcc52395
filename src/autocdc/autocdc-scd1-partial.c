/* SCD TYPE 1 of partial targets, without the reference function: keys with one event that is newer than all that is known of them.
 *
 * A field has the event's value where the event authors it, else the old row's. The fact that the old row held was the newest upsert, so all of its fields
 * were shown: it goes to the state if one of them still is. Set aside for the general way are keys
 *   - with several facts in the batch, or one that is not newer than all that is known;
 *   - whose row holds no fact, or not the newest upsert, or with several rows;
 *   - whose values do not change: the row stays, and the fact goes to the state.
 *
 * {old}, {known} and {simple} are those of autocdc-scd1-simple.c; {simple} also has s, b of the event and v, the new values.
 */
#include "autocdc-work-private.h"

/* The pieces `new fields`, what an event `b` makes of its old row `r`, `changes`, whether that is something else, `held fields`, the values of the
 * row's fact, and `fact moves`, whether it has one that the event does not author. */
static void
set_fields (AutoCdcWork *work)
{
  g_autoptr (GString) merged = g_string_new (NULL), held = g_string_new (NULL), moves = g_string_new ("false");
  g_autoptr (GString) changes = g_string_new ("false");

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    g_string_append_printf (merged, ", CASE WHEN sluice_bit(b.b, %u) THEN b.v%u ELSE r.v%u END AS v%u", i, i, i, i);
    g_string_append_printf (held, ", CASE WHEN sluice_bit(r.hb, %u) THEN r.v%u END AS v%u", i, i, i);
    g_string_append_printf (moves, " OR (sluice_bit(hb, %u) AND NOT sluice_bit(b, %u))", i, i);
    g_string_append_printf (changes, " OR (sluice_bit(b.b, %u) AND NOT (", i);
    autocdc_append_same (work, changes, i, "r", "b");
    g_string_append (changes, "))");
  }
  autocdc_work_take (work, "new fields", g_steal_pointer (&merged));
  autocdc_work_take (work, "held fields", g_steal_pointer (&held));
  autocdc_work_take (work, "fact moves", g_steal_pointer (&moves));
  autocdc_work_take (work, "changes", g_steal_pointer (&changes));
}

static gboolean
make_simple (AutoCdcWork *work, const char *pattern, gint64 *n_rows, GError **error)
{
  g_autofree char *is_several = autocdc_work_text (work, pattern);

  autocdc_work_set (work, "is several", is_several);
  return autocdc_work_make (
      work, "simple",
      "WITH met AS (SELECT {K:b}, b.s, b.o, b.d, b.b, r.ix AS rr, r.fi, r.rn, r.rid, r.ho, r.hb,"
      " greatest(r.ho, k.sd, {known truncate order}) AS newest, k.su, ({changes}) AS changes{new fields}"
      " FROM {reduced} b LEFT JOIN {old} r ON {J:b,r} LEFT JOIN {known} k ON {J:b,k})"
      " SELECT {K}, CASE WHEN d THEN o END AS dm, CASE WHEN d THEN s END AS ds, NULL::BIGINT AS hh, rr, fi, rn, rid,"
      " newest, d AS adds_delete, false AS tied, false AS is_late,"
      " {is several} OR coalesce(o <= greatest(newest, {truncate order}), false) OR (rr IS NOT NULL AND"
      " (ho IS NULL OR hb IS NULL OR coalesce(su >= ho, false) OR (NOT d AND NOT changes))) AS complex,"
      " CASE WHEN rr IS NULL THEN (NOT d)::INTEGER WHEN d THEN 2 ELSE 3 END AS act,"
      " act = 3 AND ({fact moves}) AS moves, s, b{V:m} FROM met m",
      n_rows, error);
}

gboolean
autocdc_partial_classify (AutoCdcWork *work, GError **error)
{
  gint64 n_rows;

  set_fields (work);
  return make_simple (work, "false", &n_rows, error) &&
         (n_rows == work->n_keys || make_simple (work, "count(*) OVER (PARTITION BY {K}) > 1", &n_rows, error));
}

void
autocdc_partial_add (AutoCdcWork *work)
{
  autocdc_add_simple (
      work,
      "SELECT rr, fi, rn, rid, {K}, NULL::{S} AS st, NULL::{S} AS en{V}, s AS hs, NULL AS ho, b AS hb,"
      " 0::BIGINT AS hg, act, hh FROM {simple} WHERE act <> 0 AND NOT complex",
      "SELECT rr, fi, rn, act FROM {simple} WHERE act <> 0 AND NOT complex",
      "SELECT {K}, ds AS s, dm AS o, true AS d, ''::BLOB AS b{no values}, {clock} AS w, 0::BIGINT AS g"
      " FROM {simple} WHERE adds_delete AND NOT complex UNION ALL"
      " SELECT {K:r}, r.hs, r.ho, false, r.hb{held fields}, {clock}, r.hg FROM {simple} p JOIN {old} r ON r.ix = p.rr"
      " WHERE p.moves AND NOT p.complex");
}

/* SCD TYPE 2: a key's history (autocdc.md §5.6), from its normalised facts.
 *
 * Steps = the key's sequences in order, each a delete or an upsert. A field that a step does not author has the value of the last
 * author since the last delete. Consecutive upserts equal on every tracked column are one run, shown as one row: start of its
 * first step, values of its last one, end at the next step of another run or at a delete. Every fact is needed.
 */
#include "autocdc-work-private.h"
#include "duck-type.h"

/* One step per sequence: facts of different sets are merged field by field, the greatest value wins. */
static void
set_steps (AutoCdcWork *work)
{
  g_autoptr (GString) steps = g_string_new (NULL);

  if (work->sets->len == 1) {
    autocdc_work_set (work, "steps", "{K}, s, o, d{V} FROM {facts}");
  } else {
    g_string_append (steps, "{K}, any_value(s) AS s, o, bool_or(d) AS d");
    for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
      const AutoCdcField *field = autocdc_work_field (work, i);
      g_autofree char *column = g_strdup_printf ("v%u", i), *key = relation_tie_key (column, field->type);
      AutoCdcAuthored authored = autocdc_work_authored (work, i);

      if (authored == AUTOCDC_AUTHORED_NEVER) {
        g_string_append (steps, ", NULL::");
        duck_type_append_text (steps, field->type);
        g_string_append_printf (steps, " AS v%u", i);
        continue;
      }
      g_string_append_printf (steps, ", arg_max_null(v%u, %s) FILTER (", i, key);
      autocdc_append_authors (work, steps, i, "b");
      g_string_append_printf (steps, ") AS v%u", i);
      if (authored == AUTOCDC_AUTHORED_ALWAYS)
        continue;
      g_string_append (steps, ", bool_or(NOT d AND ");
      autocdc_append_authors (work, steps, i, "b");
      g_string_append_printf (steps, ") AS a%u", i);
    }
    g_string_append (steps, " FROM {facts} GROUP BY {K}, o");
    autocdc_work_take (work, "steps", g_steal_pointer (&steps));
  }
  g_autofree char *text = autocdc_work_text (work, g_hash_table_lookup (work->pieces, "steps"));

  autocdc_work_set (work, "steps", text);
}

static void
set_inherited (AutoCdcWork *work)
{
  g_autoptr (GString) inherited = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    if (autocdc_work_authored (work, i) != AUTOCDC_AUTHORED_SOMETIMES)
      g_string_append_printf (inherited, ", v%u", i);
    else
      g_string_append_printf (inherited,
                              ", last_value(CASE WHEN a%u THEN struct_pack(x := v%u) END IGNORE NULLS) OVER"
                              " (PARTITION BY {K}, gap ORDER BY o ROWS UNBOUNDED PRECEDING).x AS v%u",
                              i, i, i);
  }
  g_autofree char *text = autocdc_work_text (work, inherited->str);

  autocdc_work_set (work, "inherited", text);
}

/* Whether a step begins a run: none is open, or a tracked column has another value than before. */
static void
set_begins (AutoCdcWork *work)
{
  g_autoptr (GString) begins = g_string_new ("coalesce(lag(d) OVER w, true)");

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);
    g_autofree char *column = g_strdup_printf ("v%u", i);

    if (!field->tracked)
      continue;
    if (base_type_is_nested (field->type) || base_type_kind (field->type) == BASE_TYPE_VARIANT) {
      g_autofree char *key = relation_tie_key (column, field->type);

      g_string_append_printf (begins, " OR lag(%s) OVER w IS DISTINCT FROM %s", key, key);
    } else {
      g_string_append_printf (begins, " OR lag(v%u) OVER w IS DISTINCT FROM v%u", i, i);
    }
  }
  autocdc_work_take (work, "begins", g_steal_pointer (&begins));
}

/* The last step of a run is a fact that its row may hold when the row shows all its values; with one set there is one fact, and
 * the row is it. (A condition like that inside LEFT JOIN … ON would be a nested loop.) */
static gboolean
choose_held (AutoCdcWork *work, GError **error)
{
  g_autofree char *gen = g_strdup_printf ("%" G_GINT64_FORMAT "::BIGINT", work->layout->domain->gen);

  autocdc_work_set (work, "gen", gen);
  if (work->sets->len == 1) {
    autocdc_work_define (work, "new", "SELECT {K}, st, en{V}, hs, ho, {batch set} AS hb, {gen} AS hg FROM {values}");
    return TRUE;
  }
  autocdc_set_shows (work, "f");
  return autocdc_work_make (
      work, "new",
      "WITH held AS  (SELECT {K:n}, n.ho, min(f.b) AS hb"
      " FROM {values} n JOIN {facts} f ON {J:n,f} AND f.o = n.ho WHERE NOT f.d AND {shows}"
      " GROUP BY {K:n}, n.ho) SELECT {K:n}, n.st, n.en{V:n}, CASE WHEN h.hb IS NOT NULL THEN n.hs END AS hs,"
      " n.ho, h.hb, {gen} AS hg FROM {values} n LEFT JOIN held h ON {J:n,h} AND h.ho = n.ho",
      NULL, error);
}

gboolean
autocdc_scd2_compute (AutoCdcWork *work, GError **error)
{
  set_steps (work);
  set_inherited (work);
  set_begins (work);
  return autocdc_work_make (
             work, "values",
             "WITH step AS (SELECT {steps}),"
             " segment AS (SELECT *, sum(d::INTEGER) OVER (PARTITION BY {K} ORDER BY o) AS gap FROM step),"
             " state AS (SELECT {K}, s, o, d{inherited} FROM segment),"
             " run AS (SELECT *, NOT d AND ({begins}) AS first FROM state WINDOW w AS (PARTITION BY {K} ORDER BY o)),"
             " place AS (SELECT *, last_value(CASE WHEN first THEN s END IGNORE NULLS) OVER"
             " (PARTITION BY {K} ORDER BY o ROWS UNBOUNDED PRECEDING) AS st, lead(s) OVER w AS en,"
             " coalesce(lead(d OR first) OVER w, true) AS last FROM run WINDOW w AS (PARTITION BY {K} ORDER BY o))"
             " SELECT {K}, st, en{V}, s AS hs, o AS ho FROM place WHERE last AND NOT d",
             NULL, error) &&
         choose_held (work, error);
}

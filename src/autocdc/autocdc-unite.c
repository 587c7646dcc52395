/* The union of all facts in play: those of state files, those that rows hold, those of the batch. */
#include "autocdc-work-private.h"

void
autocdc_add_set (AutoCdcWork *work, GBytes *set)
{
  for (guint i = 0; i < work->sets->len; i++)
    if (g_bytes_equal (work->sets->pdata[i], set))
      return;
  g_ptr_array_add (work->sets, g_bytes_ref (set));
  work->has_one_set = work->sets->len == 1;
}

static gboolean
find_sets (AutoCdcWork *work, GError **error)
{
  g_autofree char *sql = autocdc_work_text (work, autocdc_rows_hold (work->plan)
                                                      ? "SELECT DISTINCT b FROM (SELECT hb AS b FROM {rows} WHERE hb IS"
                                                        " NOT NULL UNION ALL SELECT b FROM {state} WHERE NOT d)"
                                                      : "SELECT DISTINCT b FROM {state} WHERE NOT d");
  g_autoptr (DuckResult) result = NULL;
  const DuckChunk *chunk;

  autocdc_add_set (work, work->batch_set);
  if (!work->has_rows && !work->has_state)
    return TRUE;
  if (!(result = duck_session_query (work->session, sql, work->cancel, error)))
    return FALSE;
  while (TRUE) {
    if (!duck_result_next (result, &chunk, error))
      return FALSE;
    if (!chunk)
      break;
    for (guint i = 0; i < chunk->n_rows; i++) {
      gsize length;
      const char *bytes = duck_vector_string (&chunk->columns[0], i, &length);
      g_autoptr (GBytes) set = g_bytes_new (bytes, length);

      autocdc_add_set (work, set);
    }
  }
  return TRUE;
}

/* A partial target has too many sets to list them: of every field, how many of the upserts in {facts} author it. */
static gboolean
count_authors (AutoCdcWork *work, GError **error)
{
  guint n = autocdc_work_n_fields (work);
  g_autoptr (GString) counts = g_string_new ("SELECT count(*)");
  g_autofree gint64 *values = g_new0 (gint64, n + 1);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (counts, ", count(CASE WHEN sluice_bit(b, %u) THEN 1 END)", i);
  g_string_append (counts, " FROM {facts} WHERE NOT d");
  if (!autocdc_work_numbers (work, counts->str, values, n + 1, error))
    return FALSE;
  work->authored = g_new0 (AutoCdcAuthored, n);
  work->has_one_set = TRUE;
  for (guint i = 0; i < n; i++) {
    work->authored[i] = values[i + 1] == 0           ? AUTOCDC_AUTHORED_NEVER
                        : values[i + 1] == values[0] ? AUTOCDC_AUTHORED_ALWAYS
                                                     : AUTOCDC_AUTHORED_SOMETIMES;
    work->has_one_set = work->has_one_set && work->authored[i] != AUTOCDC_AUTHORED_SOMETIMES;
  }
  return TRUE;
}

/* `, v0` or `, CASE WHEN <the set in @column has 0> THEN v0 END` for every field. */
static void
set_masked_values (AutoCdcWork *work, const char *piece, const char *column)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    if (autocdc_work_authored (work, i) == AUTOCDC_AUTHORED_ALWAYS) {
      g_string_append_printf (out, ", v%u", i);
      continue;
    }
    g_string_append (out, ", CASE WHEN ");
    autocdc_append_authors (work, out, i, column);
    g_string_append_printf (out, " THEN v%u END AS v%u", i, i);
  }
  autocdc_work_take (work, piece, out);
}

/* SCD 1: where an upsert or a delete of the batch meets the other of the memory. */
static gboolean
count_mixed (AutoCdcWork *work, GError **error)
{
  gint64 n;

  if (!autocdc_work_count (
          work,
          "SELECT count(*) FROM (SELECT 1 FROM {facts} GROUP BY {K}, o HAVING bool_or(d) <> bool_and(d)"
          " AND bool_or(src = 2) AND bool_or(src < 2))",
          &n, error))
    return FALSE;
  work->n_ties += n;
  return TRUE;
}

/* Not SCD 1: where an event of the batch meets another of the memory. */
static gboolean
count_met (AutoCdcWork *work, GError **error)
{
  g_autoptr (GString) hash = g_string_new (NULL);
  gint64 n;

  autocdc_append_hash (work, hash, "f");
  autocdc_work_take (work, "tie hash", g_steal_pointer (&hash));
  if (!autocdc_work_count (work,
                           "SELECT count(*) FROM (SELECT 1 FROM {facts} f SEMI JOIN {twice} t ON {J:f,t} AND {E:f,t}"
                           " GROUP BY {K:f}, {I:f} HAVING bool_or(f.src = 2) AND (bool_or(f.d) <> bool_and(f.d) OR"
                           " (NOT bool_or(f.d) AND min({tie hash}) <> max({tie hash}))))",
                           &n, error))
    return FALSE;
  work->n_ties += n;
  return TRUE;
}

/* Of equal facts one. */
static gboolean
normalise_facts (AutoCdcWork *work, GError **error)
{
  if (!autocdc_normalise (work, "facts", (const char *const[]){ "o", "d", "b", NULL }, ", f.src",
                          ", max(w) AS w, any_value(g) AS g, 2 AS src, NULL::BIGINT AS ri",
                          work->plan->type == AUTOCDC_SCD1 ? &work->n_ties : NULL, error))
    return FALSE;
  if (!work->is_partial || work->n_twice == 0)
    return TRUE;
  /* What was merged is where one of its parts is that says all of it. */
  autocdc_set_shows (work, "f");
  return autocdc_work_make (
             work, "said",
             "SELECT {K:n}, {I:n}, n.d, min(f.src) AS src, arg_min_null(f.ri, f.src) AS ri FROM {met} f JOIN {merged} n"
             " ON {J:f,n} AND {E:f,n} AND f.d = n.d AND f.b = n.b WHERE {shows} GROUP BY {K:n}, {I:n}, n.d",
             NULL, error) &&
         autocdc_work_make (work, "facts",
                            "SELECT f.* REPLACE (coalesce(t.src, f.src) AS src, coalesce(t.ri, f.ri) AS ri)"
                            " FROM {facts} f LEFT JOIN {said} t ON {J:f,t} AND {E:f,t} AND f.d = t.d",
                            NULL, error);
}

/* Not SCD 1: of equal facts one, and a delete at an upsert's instant leaves nothing of the upsert. */
static gboolean
normalise_history (AutoCdcWork *work, GError **error)
{
  gint64 n_met;

  if (!autocdc_work_make (work, "twice",
                          "SELECT {K}, {I}, bool_or(d) AS d FROM {facts} GROUP BY {K}, {I} HAVING count(*) > 1", &n_met,
                          error))
    return FALSE;
  if (n_met == 0)
    return TRUE;
  if (!count_met (work, error))
    return FALSE;
  if (work->is_partial)
    return autocdc_work_make (work, "facts",
                              "SELECT f.* FROM {facts} f LEFT JOIN {twice} t ON {J:f,t} AND {E:f,t}"
                              " WHERE t.d IS NULL OR t.d = f.d",
                              NULL, error) &&
           normalise_facts (work, error);
  return autocdc_work_make (work, "facts",
                            "SELECT f.* FROM {facts} f ANTI JOIN {twice} t ON {J:f,t} AND {E:f,t} UNION ALL"
                            " SELECT * FROM (SELECT DISTINCT ON ({K:f}, {I:f}, f.b) f.* FROM {facts} f JOIN {twice} t"
                            " ON {J:f,t} AND {E:f,t} AND f.d = t.d ORDER BY {K:f}, {I:f}, f.b{tie:f}, f.src)",
                            NULL, error);
}

/* What statements on the target mean for its keys' rows and facts. Of several rows of one identity the newest, which has nth 1, is the
 * key's row. Not SCD 1: facts from before a key's newest reset are void, and rows from before it hold the upsert at their start. */
static gboolean
hear_statements (AutoCdcWork *work, GError **error)
{
  gboolean holds = autocdc_rows_hold (work->plan);

  if (work->plan->type != AUTOCDC_SCD1 && work->has_state &&
      (!autocdc_work_make (work, "resets",
                           "SELECT {K}, max(g) AS rg, arg_max(b, g) AS rb FROM {state} WHERE s IS NULL GROUP BY {K}",
                           NULL, error) ||
       !autocdc_work_make (work, "state",
                           "SELECT t.* FROM {state} t LEFT JOIN {resets} q ON {J:t,q} WHERE t.s IS NOT NULL AND"
                           " (q.rg IS NULL OR t.g >= q.rg)",
                           NULL, error) ||
       (holds && work->has_rows &&
        !autocdc_work_make (work, "rows",
                            "SELECT r.* REPLACE (CASE WHEN r.hg < q.rg THEN r.st ELSE r.hs END AS hs,"
                            " CASE WHEN r.hg < q.rg THEN {O:r.st} ELSE r.ho END AS ho,"
                            " CASE WHEN r.hg < q.rg THEN q.rb ELSE r.hb END AS hb)"
                            " FROM {rows} r LEFT JOIN {resets} q ON {J:r,q}",
                            NULL, error))))
    return FALSE;
  return !holds || !work->has_rows ||
         autocdc_work_make (
             work, "rows",
             work->plan->type == AUTOCDC_SCD2
                 ? "SELECT *, row_number() OVER (PARTITION BY {K}, st ORDER BY hg DESC, ix) AS nth FROM {rows}"
                 : "SELECT *, row_number() OVER (PARTITION BY {K} ORDER BY ho DESC NULLS LAST, hg DESC, ix)"
                   " AS nth FROM {rows}",
             NULL, error);
}

gboolean
autocdc_rank_facts (AutoCdcWork *work, const char *name, GError **error)
{
  if (!work->has_statements)
    return TRUE;
  autocdc_work_set (work, "unranked", g_hash_table_lookup (work->pieces, name));
  return autocdc_work_make (work, name,
                            "SELECT * REPLACE (dense_rank() OVER (PARTITION BY {K} ORDER BY o NULLS FIRST, g) AS o)"
                            " FROM {unranked}",
                            NULL, error);
}

/* The piece `held facts`: those of rows. A row of SCD 2 with an end at which no row begins also holds the delete that ended it. */
static void
set_held_facts (AutoCdcWork *work)
{
  g_autoptr (GString) held = g_string_new (NULL);
  g_autofree char *text = NULL;

  if (autocdc_rows_hold (work->plan))
    g_string_append (
        held, " UNION ALL SELECT {K}, hs, ho, false, hb{row values}, NULL, hg, 1, ix FROM {rows} WHERE hb IS NOT NULL"
              " AND {T:ho}");
  if (work->plan->type == AUTOCDC_SCD2)
    g_string_append (held,
                     " UNION ALL SELECT {K}, en, {O:en}, true, ''::BLOB{no values}, NULL, 0, 1, ix FROM {rows} r"
                     " WHERE en IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {rows} q WHERE {J:q,r} AND q.st = r.en)");
  if (work->has_before)
    g_string_append (held, " UNION ALL SELECT {K}, st, o, false, {all fields}{V}, NULL, 0, 0, NULL FROM {before}");
  text = autocdc_work_text (work, held->str);
  autocdc_work_set (work, "held facts", text);
}

gboolean
autocdc_unite_facts (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  gboolean history = work->plan->type != AUTOCDC_SCD1;
  g_autoptr (GString) nulls = g_string_new (NULL), live = g_string_new (NULL);
  g_autofree char *gen = g_strdup_printf ("%" G_GINT64_FORMAT "::BIGINT", work->layout->domain->gen);

  autocdc_work_set (work, "gen", gen);
  work->has_before = FALSE;
  if ((work->has_statements && !hear_statements (work, error)) || (!work->is_partial && !find_sets (work, error)) ||
      !autocdc_find_before (work, snapshot, error))
    return FALSE;
  set_masked_values (work, "row values", "hb");
  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    g_string_append (nulls, ", NULL");
    g_string_append_printf (live, ", CASE WHEN NOT d THEN v%u END AS v%u", i, i);
  }
  autocdc_work_take (work, "no values", g_steal_pointer (&nulls));
  autocdc_work_take (work, "live values", g_steal_pointer (&live));
  set_held_facts (work);
  if (!autocdc_work_make (work, "facts",
                          "SELECT {K}, s, o{Y}, d, b{V}, w, g, 0 AS src, NULL::BIGINT AS ri FROM {state}{held facts}"
                          " UNION ALL SELECT {K}, s, o{Y}, d, b{live values}, NULL, 0, 2, NULL FROM {batch} WHERE {T:o}"
                          " AND (d AND o = {truncate order}) IS NOT TRUE",
                          NULL, error) ||
      (!history && !autocdc_rank_facts (work, "facts", error)))
    return FALSE;
  /* A reduced batch alone has nothing twice. */
  if ((work->has_rows || work->has_state || history) &&
      !(history ? normalise_history (work, error) : count_mixed (work, error) && normalise_facts (work, error)))
    return FALSE;
  return !work->is_partial || count_authors (work, error);
}

/* Histories: what was so from when to when, from normalised facts (autocdc.md §5.6).
 *
 * Steps = a history's sequences in order, each a delete or an upsert. A field that a step does not author has the value of the last
 * author since the last delete. Consecutive upserts equal on every tracked column are one run, shown as one row: start of its
 * first step, values of its last one, end at the next step of another run or at a delete.
 */
#include "autocdc-work-private.h"
#include "duck-type.h"

/* One step per sequence: facts of different sets are merged field by field, the greatest value wins. In partial targets they are
 * merged already. */
static void
set_steps (AutoCdcWork *work)
{
  g_autoptr (GString) steps = g_string_new (NULL);

  if (work->has_one_set || work->is_partial) {
    g_string_append (steps, "{line}, s, o, d{V}");
    for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
      if (autocdc_work_authored (work, i) != AUTOCDC_AUTHORED_SOMETIMES)
        continue;
      g_string_append (steps, ", NOT d AND ");
      autocdc_append_authors (work, steps, i, "b");
      g_string_append_printf (steps, " AS a%u", i);
    }
    g_string_append (steps, " FROM {told}");
  } else {
    g_string_append (steps, "{line}, any_value(s) AS s, o, bool_or(d) AS d");
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
      g_string_append_printf (steps, ", arg_max_null(v%u, CASE WHEN ", i);
      autocdc_append_authors (work, steps, i, "b");
      g_string_append_printf (steps, " THEN %s END) AS v%u", key, i);
      if (authored == AUTOCDC_AUTHORED_ALWAYS)
        continue;
      g_string_append (steps, ", bool_or(NOT d AND ");
      autocdc_append_authors (work, steps, i, "b");
      g_string_append_printf (steps, ") AS a%u", i);
    }
    g_string_append (steps, " FROM {told} GROUP BY {line}, o");
  }
  g_autofree char *text = autocdc_work_text (work, steps->str);

  autocdc_work_set (work, "steps", text);
}

static void
set_inherited (AutoCdcWork *work)
{
  g_autoptr (GString) inherited = g_string_new (NULL);
  gboolean any = FALSE;

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    if (autocdc_work_authored (work, i) != AUTOCDC_AUTHORED_SOMETIMES) {
      g_string_append_printf (inherited, ", v%u", i);
    } else {
      any = TRUE;
      g_string_append_printf (inherited,
                              ", last_value(CASE WHEN a%u THEN struct_pack(x := v%u) END IGNORE NULLS) OVER"
                              " (PARTITION BY {line}, gap ORDER BY o ROWS UNBOUNDED PRECEDING).x AS v%u",
                              i, i, i);
    }
  }
  g_autofree char *text = autocdc_work_text (work, inherited->str);
  g_autofree char *gap =
      autocdc_work_text (work, any ? ", sum(d::INTEGER) OVER (PARTITION BY {line} ORDER BY o) AS gap" : "");

  autocdc_work_set (work, "gap", gap);

  autocdc_work_set (work, "inherited", text);
}

/* Whether a tracked field differs from that of the row that @function, lag or lead, gives in the window w. */
static void
set_changes (AutoCdcWork *work, const char *piece, const char *function)
{
  g_autoptr (GString) changes = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);
    g_autofree char *column = g_strdup_printf ("v%u", i);

    if (!field->tracked)
      continue;
    if (base_type_is_nested (field->type) || base_type_kind (field->type) == BASE_TYPE_VARIANT) {
      g_autofree char *key = relation_tie_key (column, field->type);

      g_string_append_printf (changes, " OR %s(%s) OVER w IS DISTINCT FROM %s", function, key, key);
    } else {
      g_string_append_printf (changes, " OR %s(v%u) OVER w IS DISTINCT FROM v%u", function, i, i);
    }
  }
  autocdc_work_take (work, piece, g_steal_pointer (&changes));
}

/* Most runs are of one step, which is their first and their last one: only the others are put in order again to find
 * where they begin. */
gboolean
autocdc_find_histories (AutoCdcWork *work, const char *told, const char *line, GError **error)
{
  g_autofree char *of = autocdc_work_text (work, line);

  autocdc_work_set (work, "told", g_hash_table_lookup (work->pieces, told));
  autocdc_work_set (work, "line", of);
  set_steps (work);
  set_inherited (work);
  set_changes (work, "changes before", "lag");
  set_changes (work, "changes behind", "lead");
  if (!autocdc_work_make (
          work, "bounds",
          "WITH state AS (SELECT {line}, s, o, d{inherited} FROM (SELECT *{gap} FROM (SELECT {steps}))),"
          " run AS (SELECT *, coalesce(lag(d) OVER w, true){changes before} AS first,"
          " coalesce(lead(d) OVER w, true){changes behind} AS last, lead(s) OVER w AS en"
          " FROM state WINDOW w AS (PARTITION BY {line} ORDER BY o))"
          " SELECT {line}, s, o, en, first, last{V} FROM run WHERE NOT d AND (first OR last)",
          NULL, error))
    return FALSE;
  autocdc_work_define (work, "histories",
                       "SELECT {line}, s AS st, en{V}, s AS hs, o AS ho FROM {bounds} WHERE first AND last UNION ALL"
                       " SELECT {line}, st, en{V}, s, o FROM (SELECT *, lag(s) OVER (PARTITION BY {line} ORDER BY o)"
                       " AS st FROM {bounds} WHERE first <> last) WHERE last");
  return TRUE;
}

/* SCD TYPE 1: what a key's row must be (autocdc.md §5.5), from its normalised facts.
 *
 * Of the upserts at or above the newest delete, every field has the value of its newest author; the greatest value where authors
 * of different sets meet at one sequence. A fact is needed while it stands at the newest sequence of one of its fields, or at
 * the newest of all.
 */
#include "autocdc-work-private.h"
#include "duck-type.h"

/* mo<i>: the newest sequence that authors field i, where not all upserts author it; mo: the newest of all. */
static void
set_newest (AutoCdcWork *work)
{
  g_autoptr (GString) newest = g_string_new (NULL), names = g_string_new (NULL), needed = g_string_new ("u.o = m.mo");

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    if (autocdc_work_authored (work, i) != AUTOCDC_AUTHORED_SOMETIMES)
      continue;
    g_string_append (newest, ", max(o) FILTER (");
    autocdc_append_authors (work, newest, i, "b");
    g_string_append_printf (newest, ") AS mo%u", i);
    g_string_append_printf (names, ", m.mo%u", i);
    g_string_append (needed, " OR (");
    autocdc_append_authors (work, needed, i, "u.b");
    g_string_append_printf (needed, " AND u.o = m.mo%u)", i);
  }
  autocdc_work_take (work, "newest", g_steal_pointer (&newest));
  autocdc_work_take (work, "newest names", g_steal_pointer (&names));
  autocdc_work_take (work, "needed", g_steal_pointer (&needed));
}

static void
set_newest_values (AutoCdcWork *work)
{
  g_autoptr (GString) values = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);
    g_autofree char *column = g_strdup_printf ("v%u", i), *key = relation_tie_key (column, field->type);

    g_string_append (values, ", ");
    switch (autocdc_work_authored (work, i)) {
    case AUTOCDC_AUTHORED_NEVER:
      g_string_append (values, "NULL::");
      duck_type_append_text (values, field->type);
      break;
    case AUTOCDC_AUTHORED_ALWAYS:
      g_string_append_printf (values, "arg_max_null(v%u, %s) FILTER (o = mo)", i, key);
      break;
    case AUTOCDC_AUTHORED_SOMETIMES:
      g_string_append_printf (values, "arg_max_null(v%u, %s) FILTER (o = mo%u AND ", i, key, i);
      autocdc_append_authors (work, values, i, "b");
      g_string_append_c (values, ')');
      break;
    }
    g_string_append_printf (values, " AS v%u", i);
  }
  autocdc_work_take (work, "newest values", g_steal_pointer (&values));
}

gboolean
autocdc_scd1_compute (AutoCdcWork *work, GError **error)
{
  set_newest (work);
  set_newest_values (work);
  autocdc_set_shows (work, "u");
  return autocdc_work_run (
      work,
      /* The upserts that stand, with the newest sequences of their key. */
      "CREATE OR REPLACE TEMP TABLE autocdc_best AS SELECT {K}, max(o) AS dm FROM autocdc_facts WHERE d GROUP BY {K};"
      "CREATE OR REPLACE TEMP TABLE autocdc_stand AS WITH up AS (SELECT f.* FROM autocdc_facts f"
      " LEFT JOIN autocdc_best g ON {J:f,g} WHERE NOT f.d AND (g.dm IS NULL OR f.o >= g.dm)),"
      " m AS (SELECT {K}, max(o) AS mo{newest} FROM up GROUP BY {K})"
      " SELECT u.*, m.mo{newest names} FROM up u JOIN m ON {J:u,m} WHERE {needed};"
      "CREATE OR REPLACE TEMP TABLE autocdc_values AS SELECT {K}{newest values} FROM autocdc_stand GROUP BY {K};"
      "CREATE OR REPLACE TEMP TABLE autocdc_new AS SELECT {K:n}, NULL::{S} AS st, NULL::{S} AS en{V:n},"
      " h.f.s AS hs, h.f.o AS ho, h.f.b AS hb FROM autocdc_values n LEFT JOIN ("
      "SELECT {K:u}, arg_max(struct_pack(s := u.s, o := u.o, b := u.b), u.o) AS f FROM autocdc_stand u"
      " JOIN autocdc_values n ON {J:u,n} WHERE {shows} GROUP BY {K:u}) h ON {J:n,h};"
      "CREATE OR REPLACE TEMP TABLE autocdc_need AS"
      " SELECT {K}, s, o, d, b{V}, w, src, ri FROM autocdc_stand UNION ALL"
      " SELECT {K:f}, f.s, f.o, f.d, f.b{V:f}, f.w, f.src, f.ri FROM autocdc_facts f JOIN autocdc_best g ON {J:f,g}"
      " AND f.d AND f.o = g.dm",
      error);
}

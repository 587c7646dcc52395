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
  g_autoptr (GString) newest = g_string_new (NULL), names = g_string_new (NULL), nulls = g_string_new (NULL),
                      needed = g_string_new ("u.o = m.mo");

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    if (autocdc_work_authored (work, i) != AUTOCDC_AUTHORED_SOMETIMES)
      continue;
    g_string_append (newest, ", max(CASE WHEN ");
    autocdc_append_authors (work, newest, i, "b");
    g_string_append_printf (newest, " THEN o END) AS mo%u", i);
    g_string_append_printf (names, ", m.mo%u", i);
    g_string_append (nulls, ", NULL");
    g_string_append (needed, " OR (");
    autocdc_append_authors (work, needed, i, "u.b");
    g_string_append_printf (needed, " AND u.o = m.mo%u)", i);
  }
  autocdc_work_take (work, "newest", g_steal_pointer (&newest));
  autocdc_work_take (work, "newest names", g_steal_pointer (&names));
  autocdc_work_take (work, "newest nulls", g_steal_pointer (&nulls));
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
      g_string_append_printf (values, "arg_max_null(v%u, CASE WHEN o = mo THEN %s END)", i, key);
      break;
    case AUTOCDC_AUTHORED_SOMETIMES:
      g_string_append_printf (values, "arg_max_null(v%u, CASE WHEN o = mo%u AND ", i, i);
      autocdc_append_authors (work, values, i, "b");
      g_string_append_printf (values, " THEN %s END)", key);
      break;
    }
    g_string_append_printf (values, " AS v%u", i);
  }
  autocdc_work_take (work, "newest values", g_steal_pointer (&values));
}

gboolean
autocdc_scd1_find_needed (AutoCdcWork *work, const char *known, GError **error)
{
  set_newest (work);
  autocdc_work_set (work, "known", g_hash_table_lookup (work->pieces, known));
  return autocdc_work_make (
      work, "need",
      "WITH g AS (SELECT {K}, max(o) AS dm FROM {known} WHERE d GROUP BY {K}),"
      " up AS (SELECT f.* FROM {known} f LEFT JOIN g ON {J:f,g} WHERE NOT f.d AND (g.dm IS NULL OR f.o >= g.dm)),"
      " m AS (SELECT {K}, max(o) AS mo{newest} FROM up GROUP BY {K})"
      " SELECT u.*, m.mo{newest names} FROM up u JOIN m ON {J:u,m} WHERE {needed}"
      " UNION ALL SELECT f.*, NULL{newest nulls} FROM {known} f JOIN g ON {J:f,g} AND f.d AND f.o = g.dm",
      NULL, error);
}

gboolean
autocdc_scd1_compute (AutoCdcWork *work, GError **error)
{
  if (!autocdc_scd1_find_needed (work, "facts", error))
    return FALSE;
  if (work->has_one_set) { /* the one upsert that stands is the row */
    autocdc_work_define (
        work, "new",
        "SELECT {K}, NULL::{S} AS st, NULL::{S} AS en{V}, s AS hs, o AS ho, b AS hb, g AS hg FROM {need}"
        " WHERE NOT d");
    return TRUE;
  }
  set_newest_values (work);
  autocdc_set_shows (work, "u");
  return autocdc_work_make (
      work, "new",
      "WITH up AS (SELECT * FROM {need} WHERE NOT d), n AS (SELECT {K}{newest values} FROM up GROUP BY {K})"
      " SELECT {K:n}, NULL::{S} AS st, NULL::{S} AS en{V:n}, h.f.s AS hs, h.f.o AS ho, h.f.b AS hb, h.f.g AS hg FROM n "
      "LEFT JOIN ("
      "SELECT {K:u}, arg_max(struct_pack(s := u.s, o := u.o, b := u.b, g := u.g), u.o) AS f FROM up u"
      " JOIN n ON {J:u,n} WHERE {shows} GROUP BY {K:u}) h ON {J:n,h}",
      NULL, error);
}

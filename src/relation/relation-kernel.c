/* Registration of the kernels and what they share; see relation-kernel.h.
 *
 * Zone tables come from DuckDB's ICU: one query samples the offset of a region every second day from 1800 to 2096 and narrows each
 * change down to its second (measured: 60 ms once per region; no zone changed twice within two days). The query runs on
 * a session of its own, when a kernel first meets the region.
 */
#include "relation-kernel.h"

#include "base-json.h"
#include "duck-session.h"
#include "relation-kernel-private.h"

#include <string.h>

json_t *
relation_kernel_spec (const DuckKernelBind *bind, guint arg, GError **error)
{
  g_autofree char *text = NULL;
  if (!duck_kernel_bind_constant (bind, arg, &text) || text == NULL) {
    base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "a kernel's description is not a constant");
    return NULL;
  }
  return base_json_parse (text, strlen (text), "a kernel's description", error);
}

gboolean
relation_kernel_spec_zone (RelationKernels *kernels, const json_t *spec, const RelationZone **zone, GError **error)
{
  const char *name = base_json_string (spec, "zone");
  *zone = NULL;
  if (name == NULL)
    return TRUE;
  *zone = relation_zones_get (kernels->zones, name, strlen (name), error);
  return *zone != NULL;
}

/* ---- zone tables ---- */

/* The offset (microseconds) of @region at the second named by the column `s`. */
#define OFFSET_OF(region) "(epoch_us(timezone(" region ", make_timestamptz(s * 1000000))) - s * 1000000)"

/* One row per change of offset: (second, offset from then on), the first at the beginning. Changes are found on a grid of two
 * days and narrowed to the hour, the minute and the second, each for all changes at once. */
static char *
changes_query (const char *region, gint64 first, gint64 last)
{
  g_autoptr (GString) sql =
      g_string_new ("WITH w0 AS (SELECT s, o, before FROM (SELECT s, o, lag(o) OVER (ORDER BY s) AS before FROM "
                    "(SELECT s, " OFFSET_OF ("$z") " AS o FROM (SELECT unnest(range($first, $last, 172800)) AS s))) "
                                                   "WHERE before IS NOT NULL AND o <> before)");
  static const gint64 steps[] = { 172800, 3600, 60, 1 };
  for (guint i = 1; i < G_N_ELEMENTS (steps); i++)
    g_string_append_printf (
        sql,
        ", w%u AS (SELECT min(s) AS s, o, before FROM (SELECT h, o, before, unnest(range(h - %" G_GINT64_FORMAT
        ", h + 1, %" G_GINT64_FORMAT
        ")) AS s FROM (SELECT s AS h, o, before FROM w%u)) WHERE " OFFSET_OF ("$z") " <> before GROUP BY h, o, before)",
        i, steps[i - 1] - steps[i], steps[i], i - 1);
  g_string_append (sql, " SELECT s, o FROM w3 UNION ALL SELECT s, " OFFSET_OF (
                            "$z") " FROM (SELECT CAST($first AS BIGINT) AS s) ORDER BY 1");
  g_autofree char *first_text = g_strdup_printf ("%" G_GINT64_FORMAT, first);
  g_autofree char *last_text = g_strdup_printf ("%" G_GINT64_FORMAT, last);
  g_string_replace (sql, "$z", region, 0);
  g_string_replace (sql, "$first", first_text, 0);
  g_string_replace (sql, "$last", last_text, 0);
  return g_string_free (g_steal_pointer (&sql), FALSE);
}

static gboolean
append_changes (DuckSession *session, const char *region_literal, GArray *transitions, GError **error)
{
  g_autofree char *sql = changes_query (region_literal, relation_civil_days (1800, 1, 1) * 86400,
                                        relation_civil_days (2096, 1, 1) * 86400);
  g_autoptr (DuckResult) result = duck_session_query_materialized (session, sql, NULL, error);
  if (result == NULL)
    return FALSE;
  const DuckChunk *chunk;
  for (;;) {
    if (!duck_result_next (result, &chunk, error))
      return FALSE;
    if (chunk == NULL)
      return TRUE;
    for (guint row = 0; row < chunk->n_rows; row++) {
      RelationZoneTransition change = {
        .utc_us =
            transitions->len == 0 ? G_MININT64 : duck_vector_int64 (&chunk->columns[0], row) * RELATION_US_PER_SECOND,
        .offset_us = duck_vector_int64 (&chunk->columns[1], row),
      };
      g_array_append_val (transitions, change);
    }
  }
}

static gboolean
load_zone (gpointer data, const char *region, GArray **transitions, GError **error)
{
  DuckEngine *engine = data;
  g_autoptr (DuckSession) session = duck_session_new (engine, error);
  if (session == NULL)
    return FALSE;
  g_autofree char *literal = g_strdup_printf ("'%s'", region); /* letters, digits and /_-+ only */
  g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM pg_timezone_names() WHERE name = %s", literal);
  gint64 n;
  if (!duck_session_query_int64 (session, sql, NULL, &n, NULL, error) || n == 0)
    return FALSE;
  g_autoptr (GArray) table = g_array_new (FALSE, FALSE, sizeof (RelationZoneTransition));
  if (!append_changes (session, literal, table, error))
    return FALSE;
  *transitions = g_steal_pointer (&table);
  return TRUE;
}

RelationZones *
relation_kernels_new_zones (DuckEngine *engine)
{
  return relation_zones_new (load_zone, engine);
}

static void
kernels_free (gpointer data)
{
  RelationKernels *kernels = data;
  relation_zones_unref (kernels->zones);
  g_free (kernels);
}

gboolean
relation_kernels_register (DuckEngine *engine, GError **error)
{
  static const DuckKernel *(*const tables[]) (guint *) = {
    relation_kernel_rows_cast,   relation_kernel_rows_decimal, relation_kernel_rows_math,  relation_kernel_rows_time,
    relation_kernel_rows_string, relation_kernel_rows_list,    relation_kernel_rows_regex, relation_kernel_rows_json,
    relation_kernel_rows_hash,   relation_kernel_rows_text,
  };
  RelationKernels *kernels = g_new0 (RelationKernels, 1);
  kernels->zones = relation_zones_new (load_zone, engine);
  duck_engine_keep (engine, kernels, kernels_free);
  for (gsize i = 0; i < G_N_ELEMENTS (tables); i++) {
    guint n;
    const DuckKernel *rows = tables[i](&n);
    if (!duck_engine_add_kernels (engine, rows, n, kernels, error))
      return FALSE;
  }
  return TRUE;
}

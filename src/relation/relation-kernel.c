/* Registration of the kernels and what they share; see relation-kernel.h.
 *
 * Zone tables come from DuckDB's ICU: one query samples the offset of a region every second day from 1800 to 2096 and narrows each
 * change down to its second (measured: 25–60 ms once per region; no zone changed twice within two days). The query runs on
 * a session of its own, when a kernel first meets the region.
 */
#include "relation-kernel.h"

#include "relation-kernel-private.h"

#include "base-json.h"
#include "duck-session.h"

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

static gboolean
offset_at (DuckSession *session, const char *region_literal, gint64 seconds, gint64 *offset, GError **error)
{
  g_autofree char *sql = g_strdup_printf (
      "SELECT epoch_us(timezone(%s, make_timestamptz(%" G_GINT64_FORMAT "))) - %" G_GINT64_FORMAT, region_literal,
      seconds * RELATION_US_PER_SECOND, seconds * RELATION_US_PER_SECOND);
  return duck_session_query_int64 (session, sql, NULL, offset, NULL, error);
}

/* Narrows a change between @low and @high (seconds) down to the first second with another offset. */
static gboolean
narrow (DuckSession *session, const char *region_literal, gint64 low, gint64 high, gint64 low_offset, gint64 *at,
        GError **error)
{
  while (high - low > 1) {
    /* Changes fall on whole minutes nearly always, so sixteen probes at once beat bisecting by single queries. */
    gint64 step = MAX ((high - low) / 64, 1);
    g_autofree char *sql = g_strdup_printf (
        "SELECT min(s) FROM (SELECT unnest(range(%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
        ")) AS s) WHERE epoch_us(timezone(%s, make_timestamptz(s * 1000000))) - s * 1000000 <> %" G_GINT64_FORMAT,
        low + step, high + 1, step, region_literal, low_offset);
    gint64 found;
    gboolean is_null;
    if (!duck_session_query_int64 (session, sql, NULL, &found, &is_null, error))
      return FALSE;
    if (is_null)
      low = low + (high - low) / step * step;
    else {
      high = found;
      low = found - step;
    }
    if (low >= high)
      low = high - 1;
  }
  *at = high;
  return TRUE;
}

static gboolean
append_changes (DuckSession *session, const char *region_literal, GArray *transitions, GError **error)
{
  const gint64 step = 2 * 86400;
  gint64 first = relation_civil_days (1800, 1, 1) * 86400;
  gint64 last = relation_civil_days (2096, 1, 1) * 86400;
  gint64 offset;
  if (!offset_at (session, region_literal, first, &offset, error))
    return FALSE;
  RelationZoneTransition begin = { .utc_us = G_MININT64, .offset_us = offset };
  g_array_append_val (transitions, begin);
  g_autofree char *sql = g_strdup_printf (
      "SELECT s, before, o FROM (SELECT s, o, lag(o) OVER (ORDER BY s) AS before FROM (SELECT s, "
      "epoch_us(timezone(%s, make_timestamptz(s * 1000000))) - s * 1000000 AS o FROM (SELECT unnest(range(%" G_GINT64_FORMAT
      ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ")) AS s))) WHERE o <> before ORDER BY s",
      region_literal, first, last, step);
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
      gint64 high = duck_vector_int64 (&chunk->columns[0], row);
      gint64 at;
      if (!narrow (session, region_literal, high - step, high, duck_vector_int64 (&chunk->columns[1], row), &at, error))
        return FALSE;
      RelationZoneTransition change = { .utc_us = at * RELATION_US_PER_SECOND,
                                        .offset_us = duck_vector_int64 (&chunk->columns[2], row) };
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

gboolean
relation_kernels_register (DuckEngine *engine, GError **error)
{
  static const DuckKernel *(*const tables[]) (guint *) = {
    relation_kernel_rows_cast,  relation_kernel_rows_decimal,
  };
  RelationKernels *kernels = g_new0 (RelationKernels, 1);
  kernels->zones = relation_zones_new (load_zone, engine);
  for (gsize i = 0; i < G_N_ELEMENTS (tables); i++) {
    guint n;
    const DuckKernel *rows = tables[i](&n);
    if (!duck_engine_add_kernels (engine, rows, n, kernels, error))
      return FALSE;
  }
  return TRUE;
}

/* The texts that turn raw deletes and inserts into changes (cdf.md §5.3).
 *
 *   keys   version, row id, row version, side of every raw row of commits with both sides: narrow columns only
 *   pairs  of them, those with both sides, and whether they only moved          (keys grouped by version and row id)
 *   side   raw rows of one side LEFT JOIN pairs: their type; those that only moved are left out
 *
 * So wide columns stream past a hash table of ids. Who moved is told by row ids and row versions and never by values, except in
 * commits that do not say that they kept row ids: there equal rows cancel each other.
 */
#include "base-text.h"
#include "feed-private.h"

static void
append_name (GString *sql, const char *name)
{
  base_text_append_sql_identifier (sql, name);
}

void
feed_pair_append_ids (GString *sql, const char *scan)
{
  g_string_append_printf (sql,
                          "SELECT *, coalesce(" FEED_OWN_ID_READ ", " FEED_OWN_ID_BASE " + " FEED_OWN_PLACE
                          ") AS " FEED_OWN_ID ", coalesce(" FEED_OWN_AGE_READ ", " FEED_OWN_AGE_FILE
                          ") AS " FEED_OWN_AGE " FROM (%s)",
                          scan);
}

char *
feed_pair_definition (const FeedPairNames *names, const char *keys)
{
  GString *sql = g_string_new (FEED_OWN_PAIRS " AS MATERIALIZED (SELECT ");

  append_name (sql, names->version);
  /* One row on either side and the same age: it was only moved. More than one on a side is a fault of the writer: nothing is
   * left out then. */
  g_string_append (sql,
                   ", " FEED_OWN_ID ", count(*) = 2 AND min(" FEED_OWN_AGE ") = max(" FEED_OWN_AGE ") AS moved FROM (");
  g_string_append (sql, keys);
  g_string_append (sql, ") GROUP BY ");
  append_name (sql, names->version);
  g_string_append (sql, ", " FEED_OWN_ID " HAVING min(" FEED_OWN_SIDE ") <> max(" FEED_OWN_SIDE "))");
  return g_string_free (sql, FALSE);
}

void
feed_pair_append_side (GString *sql, const FeedPairNames *names, const char *scan, gboolean is_insert)
{
  g_string_append_printf (sql, "SELECT r.*, CASE WHEN p.moved IS NULL THEN '%s' ELSE '%s' END AS ",
                          is_insert ? "insert" : "delete", is_insert ? "update_postimage" : "update_preimage");
  append_name (sql, names->type);
  g_string_append (sql, " FROM (");
  feed_pair_append_ids (sql, scan);
  g_string_append (sql, ") r LEFT JOIN " FEED_OWN_PAIRS " p ON p.");
  append_name (sql, names->version);
  g_string_append (sql, " = r.");
  append_name (sql, names->version);
  g_string_append (sql, " AND p." FEED_OWN_ID " = r." FEED_OWN_ID " WHERE p.moved IS NOT TRUE");
}

static void
append_window (GString *sql, const FeedPairNames *names, gboolean by_type)
{
  g_string_append (sql, " OVER (PARTITION BY ");
  append_name (sql, names->version);
  if (by_type) {
    g_string_append (sql, ", ");
    append_name (sql, names->type);
  }
  for (guint i = 0; i < names->names->len; i++) {
    g_string_append (sql, ", ");
    append_name (sql, names->names->pdata[i]);
  }
  g_string_append_c (sql, ')');
}

static void
append_count (GString *sql, const FeedPairNames *names, const char *type, const char *name)
{
  g_string_append (sql, ", count(*) FILTER (WHERE ");
  append_name (sql, names->type);
  g_string_append_printf (sql, " = '%s')", type);
  append_window (sql, names, FALSE);
  g_string_append_printf (sql, " AS %s", name);
}

char *
feed_pair_cancel (const FeedPairNames *names, const char *rows)
{
  GString *sql =
      g_string_new ("SELECT * EXCLUDE (" FEED_OWN "_n, " FEED_OWN "_deletes, " FEED_OWN "_inserts) FROM (SELECT "
                    "*, row_number()");

  append_window (sql, names, TRUE);
  g_string_append (sql, " AS " FEED_OWN "_n");
  append_count (sql, names, "delete", FEED_OWN "_deletes");
  append_count (sql, names, "insert", FEED_OWN "_inserts");
  g_string_append_printf (sql, " FROM (%s)) WHERE ", rows);
  append_name (sql, names->type);
  g_string_append (sql, " NOT IN ('delete', 'insert') OR " FEED_OWN "_n > least(" FEED_OWN "_deletes, " FEED_OWN
                        "_inserts)");
  return g_string_free (sql, FALSE);
}

/* Every change of a row has a place in its life: twice the version, and one more after it. The first place even: the row was there
 * before the range; the last place odd: it is there after it. A row that went without ever having had an id was there before. */
char *
feed_pair_net (const FeedPairNames *names, const char *with, const char *rows)
{
  GString *sql = g_string_new ("WITH ");
  const char *rows_name = FEED_OWN "_rows", *life_name = FEED_OWN "_lives";

  if (with != NULL)
    g_string_append_printf (sql, "%s, ", with);
  g_string_append_printf (sql, "%s AS NOT MATERIALIZED (SELECT *, 2 * ", rows_name);
  append_name (sql, names->version);
  g_string_append (sql, " + CASE WHEN ");
  append_name (sql, names->type);
  g_string_append_printf (sql, " IN ('insert', 'update_postimage') THEN 1 ELSE 0 END AS " FEED_OWN "_at FROM (%s)), ",
                          rows);
  g_string_append_printf (
      sql,
      "%s AS (SELECT " FEED_OWN_ID ", min(" FEED_OWN "_at) AS first, max(" FEED_OWN
      "_at) AS last FROM %s GROUP BY " FEED_OWN_ID ") SELECT r.* REPLACE (CASE WHEN r." FEED_OWN
      "_at %% 2 = 0 THEN CASE WHEN l.last %% 2 = 1 THEN "
      "'update_preimage' ELSE 'delete' END ELSE CASE WHEN l.first %% 2 = 0 THEN 'update_postimage' ELSE "
      "'insert' END END AS ",
      life_name, rows_name);
  append_name (sql, names->type);
  g_string_append_printf (sql,
                          ") FROM %s r LEFT JOIN %s l ON l." FEED_OWN_ID " = r." FEED_OWN_ID " WHERE r." FEED_OWN_ID
                          " IS NULL OR (r." FEED_OWN "_at = l.first AND r." FEED_OWN "_at %% 2 = 0) OR (r." FEED_OWN
                          "_at = l.last AND r." FEED_OWN "_at %% 2 = 1)",
                          rows_name, life_name);
  return g_string_free (sql, FALSE);
}

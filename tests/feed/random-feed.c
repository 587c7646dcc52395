/* The recorded and the derived change feed on the same random statements.
 *
 *   random-feed [first seed] [number of programs]
 *
 * A program runs on two tables at once: `l` records its feed, `a` tracks its rows. What must hold afterwards:
 *   1. Rows of version v - 1 with the changes of v applied are the rows of version v; for either feed and every v.
 *   2. Both feeds have the same changes in every version; where files came back whole (RESTORE) and the recorded feed cannot know
 *      which rows did, only after rows that left and came as they were are taken away.
 *   3. Rows of version a - 1 with the net changes of a … b applied are the rows of version b.
 * A program is named by its seed alone; a failure prints the seed and the statements.
 */
#include "../support/tree.h"

#include <glib.h>
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS   "id, name, p"
#define N_MAX_IDS 12

typedef struct {
  GRand *random;
  guint32 seed;
  char *directory;
  SluiceWarehouse *warehouse;
  SluiceSession *session;
  GString *text;    /* the statements so far */
  GArray *restores; /* gint64: versions that RESTORE made */
  gint64 latest;    /* version of both tables */
  gboolean has_failed;
} Program;

static void fail (Program *program, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
fail (Program *program, const char *format, ...)
{
  va_list values;

  if (program->has_failed)
    return;
  program->has_failed = TRUE;
  va_start (values, format);
  g_autofree char *message = g_strdup_vprintf (format, values);
  va_end (values);
  g_autofree char *all = g_strdup_printf ("seed %u: %s\n%s", program->seed, message, program->text->str);
  g_auto (GStrv) lines = g_strsplit (all, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    printf ("# %s\n", lines[i]);
}

/* Runs @sql; the first cell of the first row as a number, 0 without rows. */
static gint64
ask (Program *program, const char *sql)
{
  SluiceProblem *problem = NULL;
  SluiceResult *result;
  gint64 number = 0;
  gboolean is_first = TRUE;

  if (program->has_failed)
    return 0;
  result = sluice_run (program->session, sql, &problem);
  while (sluice_result_next (result, &problem)) {
    const char *cell = is_first && sluice_result_n_columns (result) > 0 ? sluice_result_text (result, 0) : NULL;
    number = cell != NULL ? g_ascii_strtoll (cell, NULL, 10) : number;
    is_first = FALSE;
  }
  if (problem != NULL)
    fail (program, "%s\n%s", sql, sluice_problem_text (problem));
  sluice_problem_free (problem);
  sluice_result_free (result);
  return number;
}

static gint64 ask_format (Program *program, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gint64
ask_format (Program *program, const char *format, ...)
{
  va_list values;

  va_start (values, format);
  g_autofree char *sql = g_strdup_vprintf (format, values);
  va_end (values);
  return ask (program, sql);
}

/* ---- statements ---- */

static gint32
pick (Program *program, gint32 n)
{
  return g_rand_int_range (program->random, 0, n);
}

static void
append_rows (Program *program, GString *sql)
{
  gint32 n = 1 + pick (program, 4);

  for (gint32 i = 0; i < n; i++)
    g_string_append_printf (sql, "%s(%d, '%c', %d)", i > 0 ? ", " : "", pick (program, N_MAX_IDS),
                            'a' + pick (program, 4), pick (program, 3));
}

static void
append_condition (Program *program, GString *sql)
{
  switch (pick (program, 5)) {
  case 0:
    g_string_append_printf (sql, "id = %d", pick (program, N_MAX_IDS));
    break;
  case 1:
    g_string_append_printf (sql, "id %% 3 = %d", pick (program, 3));
    break;
  case 2:
    g_string_append_printf (sql, "p = %d", pick (program, 3));
    break;
  case 3:
    g_string_append_printf (sql, "name = '%c' AND id > %d", 'a' + pick (program, 4), pick (program, N_MAX_IDS));
    break;
  default:
    g_string_append_printf (sql, "id IN (%d, %d)", pick (program, N_MAX_IDS), pick (program, N_MAX_IDS));
  }
}

static void
append_update (Program *program, GString *sql)
{
  static const char *const sets[] = { "name = name", "name = concat(name, 'x')", "id = id + 1", "p = (p + 1) % 3",
                                      "name = NULL" };

  g_string_append_printf (sql, "UPDATE %%s SET %s WHERE ", sets[pick (program, G_N_ELEMENTS (sets))]);
  append_condition (program, sql);
}

/* Source rows have keys of their own, else a MERGE may be ambiguous. */
static void
append_merge (Program *program, GString *sql)
{
  gint32 first = pick (program, N_MAX_IDS), n = 1 + pick (program, 4);

  g_string_append (sql, "MERGE INTO %s t USING (SELECT * FROM VALUES ");
  for (gint32 i = 0; i < n; i++)
    g_string_append_printf (sql, "%s(%d, '%c', %d)", i > 0 ? ", " : "", first + i, 'a' + pick (program, 4),
                            pick (program, 3));
  g_string_append (sql, " AS s(id, name, p)) s ON t.id = s.id");
  if (pick (program, 2) == 0)
    g_string_append_printf (sql, " WHEN MATCHED AND s.name = '%c' THEN DELETE", 'a' + pick (program, 4));
  if (pick (program, 3) > 0)
    g_string_append (sql, " WHEN MATCHED THEN UPDATE SET *");
  if (pick (program, 4) == 0)
    g_string_append_printf (sql, " WHEN NOT MATCHED BY SOURCE AND t.p = %d THEN DELETE", pick (program, 3));
  g_string_append (sql, " WHEN NOT MATCHED THEN INSERT *");
}

/* The next statement with `%s` for the table. Returns: (transfer full). */
static char *
statement (Program *program, gboolean *is_restore)
{
  GString *sql = g_string_new (NULL);
  gint32 kind = pick (program, 25);

  *is_restore = FALSE;
  if (program->latest == 0 || kind < 6) {
    g_string_append (sql, "INSERT INTO %s VALUES ");
    append_rows (program, sql);
  } else if (kind < 11) {
    append_update (program, sql);
  } else if (kind < 15) {
    g_string_append (sql, "DELETE FROM %s WHERE ");
    append_condition (program, sql);
  } else if (kind < 16) {
    g_string_append (sql, "INSERT OVERWRITE %s VALUES ");
    append_rows (program, sql);
  } else if (kind < 17) {
    g_string_append (sql, "OPTIMIZE %s");
  } else if (kind < 18) {
    g_string_append (sql, "REORG TABLE %s APPLY (PURGE)");
  } else if (kind < 19 && pick (program, 3) == 0) {
    g_string_append (sql, "TRUNCATE TABLE %s");
  } else if (kind < 23) {
    append_merge (program, sql);
  } else if (kind < 24) {
    gint32 p = pick (program, 3);
    g_string_append_printf (sql, "INSERT INTO %%s REPLACE WHERE p = %d VALUES (%d, 'r', %d)", p,
                            pick (program, N_MAX_IDS), p);
  } else {
    g_string_append_printf (sql, "RESTORE TABLE %%s TO VERSION AS OF %d", pick (program, (gint32) program->latest));
    *is_restore = TRUE;
  }
  return g_string_free (sql, FALSE);
}

static gint64
version_of (Program *program, const char *table)
{
  return ask_format (program, "DESCRIBE HISTORY %s LIMIT 1", table);
}

static void
run_on (Program *program, const char *sql, const char *table)
{
  g_autoptr (GString) text = g_string_new (sql);

  g_string_replace (text, "%s", table, 1);
  ask (program, text->str);
}

static void
step (Program *program)
{
  gboolean is_restore;
  g_autofree char *sql = statement (program, &is_restore);
  gint64 before = program->latest, of_legacy, of_automatic;

  g_string_append_printf (program->text, "%s;\n", sql);
  run_on (program, sql, "l");
  run_on (program, sql, "a");
  of_legacy = version_of (program, "l");
  of_automatic = version_of (program, "a");
  if (of_legacy != of_automatic)
    fail (program, "the tables are at versions %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT, of_legacy, of_automatic);
  program->latest = of_legacy;
  for (gint64 v = before + 1; is_restore && v <= program->latest; v++)
    g_array_append_val (program->restores, v);
}

/* ---- what must hold ---- */

/* Rows of either text that the other one lacks, with their number. */
static void
expect_equal (Program *program, const char *what, const char *left, const char *right)
{
  gint64 n = ask_format (program,
                         "SELECT count(*) FROM ((SELECT * FROM (%s) EXCEPT ALL SELECT * FROM (%s)) UNION ALL "
                         "(SELECT * FROM (%s) EXCEPT ALL SELECT * FROM (%s)))",
                         left, right, right, left);

  if (n != 0)
    fail (program, "%s: %" G_GINT64_FORMAT " rows differ\n%s\n%s", what, n, left, right);
}

/* Rows of version @from with @changes applied are those of @to: both sides with what the other one lost. */
static void
expect_applied (Program *program, const char *table, gint64 from, gint64 to, const char *changes)
{
  g_autofree char *what =
      g_strdup_printf ("%s from version %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, table, from, to);
  g_autofree char *left =
      g_strdup_printf ("SELECT " COLUMNS " FROM %s VERSION AS OF %" G_GINT64_FORMAT " UNION ALL SELECT " COLUMNS
                       " FROM %s WHERE _change_type IN ('insert', 'update_postimage')",
                       table, from, changes);
  g_autofree char *right =
      g_strdup_printf ("SELECT " COLUMNS " FROM %s VERSION AS OF %" G_GINT64_FORMAT " UNION ALL SELECT " COLUMNS
                       " FROM %s WHERE _change_type IN ('delete', 'update_preimage')",
                       table, to, changes);

  expect_equal (program, what, left, right);
}

static void
expect_versions (Program *program, const char *table)
{
  for (gint64 v = 1; v <= program->latest && !program->has_failed; v++) {
    g_autofree char *changes =
        g_strdup_printf ("table_changes('%s', %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ")", table, v, v);
    expect_applied (program, table, v - 1, v, changes);
  }
}

static void
expect_net (Program *program)
{
  gint64 first = 1 + pick (program, (gint32) program->latest);
  gint64 last = first + pick (program, (gint32) (program->latest - first + 1));
  g_autofree char *changes = g_strdup_printf ("a CHANGES FROM VERSION %" G_GINT64_FORMAT " TO VERSION %" G_GINT64_FORMAT
                                              " WITH (deduplicationMode = 'netChanges')",
                                              first, last);

  expect_applied (program, "a", first - 1, last, changes);
}

static char *
changes_of (Program *program, const char *table, gboolean restored)
{
  GString *sql = g_string_new ("SELECT _change_type, " COLUMNS ", _commit_version FROM ");

  g_string_append_printf (sql, "table_changes('%s', 0) WHERE _commit_version %s (-1", table,
                          restored ? "IN" : "NOT IN");
  for (guint i = 0; i < program->restores->len; i++)
    g_string_append_printf (sql, ", %" G_GINT64_FORMAT, g_array_index (program->restores, gint64, i));
  g_string_append (sql, ")");
  return g_string_free (sql, FALSE);
}

/* Of restored versions: what came more often than it left, per row. */
static char *
balance_of (const char *changes)
{
  return g_strdup_printf ("SELECT " COLUMNS
                          ", _commit_version, sum(IF(_change_type IN ('insert', 'update_postimage'), 1, -1)) "
                          "AS n FROM (%s) GROUP BY ALL HAVING n <> 0",
                          changes);
}

static void
expect_same (Program *program)
{
  g_autofree char *legacy = changes_of (program, "l", FALSE), *automatic = changes_of (program, "a", FALSE);
  g_autofree char *legacy_restored = changes_of (program, "l", TRUE),
                  *automatic_restored = changes_of (program, "a", TRUE);
  g_autofree char *legacy_balance = balance_of (legacy_restored), *automatic_balance = balance_of (automatic_restored);

  expect_equal (program, "recorded and derived changes", legacy, automatic);
  expect_equal (program, "recorded and derived changes of RESTORE", legacy_balance, automatic_balance);
}

/* ---- programs ---- */

static void
create (Program *program)
{
  const char *vectors = pick (program, 2) == 0 ? "true" : "false";
  const char *partitions = pick (program, 3) == 0 ? "PARTITIONED BY (p) " : "";
  const char *mapping = pick (program, 3) == 0 ? ", 'delta.columnMapping.mode' = 'name'" : "";
  g_autofree char *sql = g_strdup_printf ("CREATE TABLE %%s (id INT, name STRING, p INT) %sTBLPROPERTIES ("
                                          "'delta.enableDeletionVectors' = '%s'%s, ",
                                          partitions, vectors, mapping);
  g_autofree char *legacy = g_strconcat (sql, "'delta.enableChangeDataFeed' = 'true')", NULL);
  g_autofree char *automatic = g_strconcat (sql, "'delta.enableRowTracking' = 'true')", NULL);

  g_string_append_printf (program->text, "%s;\n", automatic);
  run_on (program, legacy, "l");
  run_on (program, automatic, "a");
}

static gboolean
run_program (guint32 seed)
{
  Program program = { .random = g_rand_new_with_seed (seed), .seed = seed, .text = g_string_new (NULL) };
  SluiceProblem *problem = NULL;
  gint32 n_steps;

  program.directory = g_dir_make_tmp ("sluice-feed-XXXXXX", NULL);
  program.restores = g_array_new (FALSE, FALSE, sizeof (gint64));
  program.warehouse = sluice_open (program.directory, &problem);
  program.session = sluice_session_new (program.warehouse, &problem);
  if (program.session == NULL)
    fail (&program, "%s", problem != NULL ? sluice_problem_text (problem) : "no session");
  sluice_problem_free (problem);
  create (&program);
  n_steps = 5 + pick (&program, 12);
  for (gint32 i = 0; i < n_steps && !program.has_failed; i++)
    step (&program);
  expect_versions (&program, "l");
  expect_versions (&program, "a");
  if (program.latest > 0 && !program.has_failed) {
    expect_same (&program);
    expect_net (&program);
    expect_net (&program);
  }
  sluice_session_free (program.session);
  sluice_close (program.warehouse);
  tree_remove (program.directory);
  g_free (program.directory);
  g_array_unref (program.restores);
  g_string_free (program.text, TRUE);
  g_rand_free (program.random);
  return !program.has_failed;
}

int
main (int argc, char **argv)
{
  guint32 first = argc > 1 ? (guint32) g_ascii_strtoull (argv[1], NULL, 10) : 1;
  guint32 n = argc > 2 ? (guint32) g_ascii_strtoull (argv[2], NULL, 10) : 10;
  int n_failed = 0;

  printf ("1..%u\n", n);
  for (guint32 i = 0; i < n; i++) {
    gboolean good = run_program (first + i);
    printf ("%s %u seed %u\n", good ? "ok" : "not ok", i + 1, first + i);
    fflush (stdout);
    n_failed += good ? 0 : 1;
  }
  return n_failed > 0 ? 1 : 0;
}

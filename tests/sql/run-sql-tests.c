/* Runs `.test` files: SQL and what it must answer. The form is in README.md.
 *
 * usage: run-sql-tests DIRECTORY
 *
 * Every file gets a fresh warehouse below a temporary directory, and is one TAP test. The runner uses include/sluice.h only, as
 * a program outside would. A file ends at its first failure, because what follows would only repeat it.
 */
#include "../support/tree.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const char *path;
  char **lines;
  guint line; /* index of the next line */
  char *warehouse_path;
  SluiceWarehouse *warehouse;
  SluiceSession *session;
  GString *failure;    /* set at the first failure */
  const char *skipped; /* why the file does not run here */
} Run;

static void fail (Run *run, guint line, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
fail (Run *run, guint line, const char *format, ...)
{
  va_list values;

  if (run->failure != NULL)
    return;
  run->failure = g_string_new (NULL);
  g_string_printf (run->failure, "%s:%u: ", run->path, line + 1);
  va_start (values, format);
  g_string_append_vprintf (run->failure, format, values);
  va_end (values);
}

static void
close_warehouse (Run *run)
{
  sluice_session_free (run->session);
  sluice_close (run->warehouse);
  run->session = NULL;
  run->warehouse = NULL;
}

static void
open_warehouse (Run *run)
{
  SluiceProblem *problem = NULL;

  run->warehouse = sluice_open (run->warehouse_path, &problem);
  run->session = sluice_session_new (run->warehouse, &problem);
  if (run->session == NULL)
    fail (run, run->line, "the warehouse does not open: %s", problem != NULL ? sluice_problem_text (problem) : "");
  sluice_problem_free (problem);
}

/* `__WAREHOUSE__`, `__SHARED__`, `__SOURCE__` as directories. Returns: (transfer full). */
static char *
expand (Run *run, const char *text)
{
  GString *out = g_string_new (text);
  const char *shared = g_getenv ("SLUICE_SHARED"), *source = g_getenv ("SLUICE_SOURCE");
  g_autofree char *beside = source == NULL ? NULL : g_build_filename (source, "..", "shared", NULL);

  g_string_replace (out, "__WAREHOUSE__", run->warehouse_path, 0);
  g_string_replace (out, "__SOURCE__", source != NULL ? source : ".", 0);
  if (strstr (out->str, "__SHARED__") != NULL) {
    const char *directory = shared != NULL ? shared : beside;
    if (directory == NULL || !g_file_test (directory, G_FILE_TEST_IS_DIR)) {
      if (g_strcmp0 (g_getenv ("SLUICE_REQUIRE_SHARED"), "1") == 0)
        fail (run, run->line, "the shared pages are not there");
      else
        run->skipped = "the shared pages are not there";
    } else {
      g_string_replace (out, "__SHARED__", directory, 0);
    }
  }
  return g_string_free (out, FALSE);
}

/* Lines up to an empty one, `----` or the end, joined. Returns: (transfer full). */
static char *
take_sql (Run *run)
{
  g_autoptr (GString) sql = g_string_new (NULL);

  while (run->lines[run->line] != NULL && *run->lines[run->line] != '\0' && strcmp (run->lines[run->line], "----") != 0)
    g_string_append_printf (sql, "%s\n", run->lines[run->line++]);
  return expand (run, sql->str);
}

static void
run_statement_ok (Run *run, guint line)
{
  g_autofree char *sql = take_sql (run);
  SluiceProblem *problem = NULL;
  SluiceResult *result = run->skipped != NULL ? NULL : sluice_run (run->session, sql, &problem);

  while (sluice_result_next (result, &problem))
    continue;
  if (problem != NULL)
    fail (run, line, "the statement must succeed:\n%s", sluice_problem_text (problem));
  sluice_problem_free (problem);
  sluice_result_free (result);
}

/* @expected: a fragment of the error's text, usually the condition. */
static void
run_statement_error (Run *run, guint line, const char *expected)
{
  g_autofree char *sql = take_sql (run);
  SluiceProblem *problem = NULL;
  SluiceResult *result = run->skipped != NULL ? NULL : sluice_run (run->session, sql, &problem);

  while (sluice_result_next (result, &problem))
    continue;
  if (run->skipped == NULL && problem == NULL)
    fail (run, line, "the statement must fail with %s", expected);
  else if (problem != NULL && strstr (sluice_problem_text (problem), expected) == NULL)
    fail (run, line, "the statement must fail with %s, but:\n%s", expected, sluice_problem_text (problem));
  sluice_problem_free (problem);
  sluice_result_free (result);
}

/* A cell as the files write it. */
static void
append_cell (GString *row, const char *text)
{
  if (text == NULL) {
    g_string_append (row, "NULL");
  } else if (*text == '\0') {
    g_string_append (row, "(empty)");
  } else {
    for (const char *p = text; *p != '\0'; p++)
      if (*p == '\n')
        g_string_append (row, "\\n");
      else if (*p == '\t')
        g_string_append (row, "\\t");
      else
        g_string_append_c (row, *p);
  }
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Rows as lines with tabs. NULL after a failure. */
static GPtrArray *
read_rows (Run *run, guint line, const char *sql, guint n_columns)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  SluiceProblem *problem = NULL;
  SluiceResult *result = sluice_run (run->session, sql, &problem);

  if (result != NULL && sluice_result_n_columns (result) != n_columns)
    fail (run, line, "%u columns expected, %u came", n_columns, (guint) sluice_result_n_columns (result));
  while (run->failure == NULL && sluice_result_next (result, &problem)) {
    GString *row = g_string_new (NULL);
    for (guint i = 0; i < n_columns; i++) {
      g_string_append (row, i == 0 ? "" : "\t");
      append_cell (row, sluice_result_text (result, i));
    }
    g_ptr_array_add (rows, g_string_free (row, FALSE));
  }
  if (problem != NULL)
    fail (run, line, "the query must succeed:\n%s", sluice_problem_text (problem));
  sluice_problem_free (problem);
  sluice_result_free (result);
  return run->failure != NULL ? NULL : g_steal_pointer (&rows);
}

/* Cells of an `R` column are equal within 1e-9 relative, those of an `X` column whatever they are; all others as text. */
static gboolean
rows_equal (const char *types, const char *expected, const char *actual)
{
  g_auto (GStrv) left = NULL, right = NULL;

  if (strcmp (expected, actual) == 0)
    return TRUE;
  if (strpbrk (types, "RX") == NULL)
    return FALSE;
  left = g_strsplit (expected, "\t", 0);
  right = g_strsplit (actual, "\t", 0);
  if (g_strv_length (left) != strlen (types) || g_strv_length (right) != strlen (types))
    return FALSE;
  for (gsize i = 0; types[i] != '\0'; i++) {
    double a, b;
    if (types[i] == 'X' || strcmp (left[i], right[i]) == 0)
      continue;
    a = g_ascii_strtod (left[i], NULL);
    b = g_ascii_strtod (right[i], NULL);
    if (types[i] != 'R' || !(fabs (a - b) <= 1e-9 * MAX (fabs (a), fabs (b))))
      return FALSE;
  }
  return TRUE;
}

static void
compare_rows (Run *run, guint line, const char *types, const GPtrArray *expected, const GPtrArray *actual)
{
  gboolean equal = expected->len == actual->len;
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; equal && i < expected->len; i++)
    equal = rows_equal (types, g_ptr_array_index (expected, i), g_ptr_array_index (actual, i));
  if (equal)
    return;
  for (guint i = 0; i < expected->len; i++)
    g_string_append_printf (text, "  - %s\n", (char *) g_ptr_array_index (expected, i));
  for (guint i = 0; i < actual->len; i++)
    g_string_append_printf (text, "  + %s\n", (char *) g_ptr_array_index (actual, i));
  fail (run, line, "rows differ (- expected, + actual):\n%s", text->str);
}

/* `query TYPES [rowsort]`, SQL, `----`, rows, empty line. */
static void
run_query (Run *run, guint line, const char *types, gboolean rowsort)
{
  g_autofree char *sql = take_sql (run);
  g_autoptr (GPtrArray) expected = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) actual = NULL;

  if (g_strcmp0 (run->lines[run->line], "----") != 0) {
    fail (run, line, "a query needs ---- and its rows");
    return;
  }
  for (run->line++; run->lines[run->line] != NULL && *run->lines[run->line] != '\0'; run->line++)
    g_ptr_array_add (expected, expand (run, run->lines[run->line]));
  if (run->skipped != NULL || (actual = read_rows (run, line, sql, (guint) strlen (types))) == NULL)
    return;
  if (rowsort) {
    g_ptr_array_sort (expected, compare_texts);
    g_ptr_array_sort (actual, compare_texts);
  }
  compare_rows (run, line, types, expected, actual);
}

static void
run_setting (Run *run, guint line, const char *key, const char *value)
{
  SluiceProblem *problem = NULL;

  if (!sluice_session_set (run->session, key, value, &problem))
    fail (run, line, "%s cannot be set: %s", key, problem != NULL ? sluice_problem_text (problem) : "");
  sluice_problem_free (problem);
}

/* How many files of a directory match the last part of @pattern, a path below the warehouse. */
static guint
count_files (Run *run, const char *pattern)
{
  g_autofree char *whole = g_build_filename (run->warehouse_path, pattern, NULL);
  g_autofree char *directory_path = g_path_get_dirname (whole);
  g_autofree char *name_pattern = g_path_get_basename (whole);
  GDir *directory = g_dir_open (directory_path, 0, NULL);
  const char *name;
  guint n = 0;

  while (directory != NULL && (name = g_dir_read_name (directory)) != NULL) {
    g_autofree char *path = g_build_filename (directory_path, name, NULL);
    n += g_pattern_match_simple (name_pattern, name) && g_file_test (path, G_FILE_TEST_IS_REGULAR) ? 1 : 0;
  }
  if (directory != NULL)
    g_dir_close (directory);
  return n;
}

static void
run_files (Run *run, guint line, const char *pattern, const char *expected)
{
  guint n = count_files (run, pattern);

  if (n != (guint) g_ascii_strtoull (expected, NULL, 10))
    fail (run, line, "%s files like %s expected, there are %u", expected, pattern, n);
}

/* Makes a file of a few bytes, or a symbolic link. */
static void
run_put (Run *run, guint line, const char *name, const char *target)
{
  g_autofree char *path = g_build_filename (run->warehouse_path, name, NULL);
  g_autofree char *directory = g_path_get_dirname (path);
  g_autofree char *to = target != NULL ? g_build_filename (run->warehouse_path, target, NULL) : NULL;

  if (g_mkdir_with_parents (directory, 0777) != 0 ||
      (to != NULL ? symlink (to, path) != 0 : !g_file_set_contents (path, "stray", -1, NULL)))
    fail (run, line, "%s cannot be made", name);
}

static void
restart (Run *run)
{
  close_warehouse (run);
  open_warehouse (run);
}

static void
run_directive (Run *run)
{
  guint line = run->line++;
  g_auto (GStrv) words = g_strsplit_set (g_strstrip (run->lines[line]), " \t", 0);
  guint n = g_strv_length (words);

  if (n == 0 || *words[0] == '\0' || *words[0] == '#')
    return;
  if (strcmp (words[0], "statement") == 0 && n == 2 && strcmp (words[1], "ok") == 0) {
    run_statement_ok (run, line);
  } else if (strcmp (words[0], "statement") == 0 && n >= 3 && strcmp (words[1], "error") == 0) {
    run_statement_error (run, line, strstr (run->lines[line], "error") + strlen ("error "));
  } else if (strcmp (words[0], "query") == 0 && (n == 2 || (n == 3 && strcmp (words[2], "rowsort") == 0))) {
    run_query (run, line, words[1], n == 3);
  } else if (strcmp (words[0], "setting") == 0 && n == 3) {
    run_setting (run, line, words[1], words[2]);
  } else if (strcmp (words[0], "restart") == 0 && n == 1) {
    restart (run);
  } else if (strcmp (words[0], "variant") == 0 && n >= 2) {
    return; /* run_file() has read it */
  } else if (strcmp (words[0], "clock") == 0 && n == 2) {
    g_setenv ("SLUICE_CLOCK_US", words[1], TRUE);
    restart (run);
  } else if (strcmp (words[0], "files") == 0 && n == 3) {
    run_files (run, line, words[1], words[2]);
  } else if (strcmp (words[0], "put") == 0 && (n == 2 || n == 3)) {
    run_put (run, line, words[1], n == 3 ? words[2] : NULL);
  } else if (strcmp (words[0], "slow") == 0 && n == 1) {
    if (g_getenv ("SLUICE_SLOW") == NULL)
      run->skipped = "slow: set SLUICE_SLOW=1";
  } else {
    fail (run, line, "this is no directive: %s", run->lines[line]);
  }
}

static void
run_lines (Run *run)
{
  g_unsetenv ("SLUICE_CLOCK_US");
  open_warehouse (run);
  while (run->lines[run->line] != NULL && run->failure == NULL && run->skipped == NULL)
    run_directive (run);
  close_warehouse (run);
}

/* Runs the file once in a warehouse of its own. @variant: (nullable): the text of `__VARIANT__`. */
static void
run_once (Run *run, const char *content, const char *variant)
{
  g_autofree char *temporary = g_dir_make_tmp ("sluice-sql-XXXXXX", NULL);
  g_autoptr (GString) text = g_string_new (content);
  g_auto (GStrv) lines = NULL;

  if (variant != NULL)
    g_string_replace (text, "__VARIANT__", variant, 0);
  run->warehouse_path = g_build_filename (temporary, "warehouse", NULL);
  run->lines = lines = g_strsplit (text->str, "\n", 0);
  run->line = 0;
  run_lines (run);
  tree_remove (temporary);
  g_clear_pointer (&run->warehouse_path, g_free);
  if (run->failure != NULL && variant != NULL)
    g_string_append_printf (run->failure, "\nvariant: %s", variant);
}

/* Returns: whether the file passed or was skipped. */
static gboolean
run_file (const char *directory, const char *name, guint number)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  g_autofree char *content = NULL;
  g_auto (GStrv) lines = NULL;
  Run run = { .path = path };
  gboolean ok, has_variants = FALSE;

  if (!g_file_get_contents (path, &content, NULL, NULL)) {
    printf ("not ok %u %s\n# it cannot be read\n", number, name);
    return FALSE;
  }
  lines = g_strsplit (content, "\n", 0);
  for (char **line = lines; *line != NULL && run.failure == NULL; line++)
    if (g_str_has_prefix (*line, "variant ")) {
      has_variants = TRUE;
      run_once (&run, content, *line + strlen ("variant "));
    }
  if (!has_variants)
    run_once (&run, content, NULL);
  ok = run.failure == NULL;
  printf ("%s %u %s%s%s\n", ok ? "ok" : "not ok", number, name, run.skipped != NULL && ok ? " # SKIP " : "",
          run.skipped != NULL && ok ? run.skipped : "");
  if (run.failure != NULL) {
    g_auto (GStrv) text = g_strsplit (run.failure->str, "\n", 0);
    for (char **line = text; *line != NULL; line++)
      printf ("# %s\n", *line);
    g_string_free (run.failure, TRUE);
  }
  fflush (stdout);
  return ok;
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) directory = argc == 2 ? g_dir_open (argv[1], 0, NULL) : NULL;
  const char *name;
  gboolean ok = TRUE;

  if (directory == NULL) {
    fprintf (stderr, "usage: run-sql-tests DIRECTORY\n");
    return 2;
  }
  while ((name = g_dir_read_name (directory)) != NULL)
    if (g_str_has_suffix (name, ".test"))
      g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_texts);
  printf ("1..%u\n", names->len);
  for (guint i = 0; i < names->len; i++)
    ok = run_file (argv[1], g_ptr_array_index (names, i), i + 1) && ok;
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Errors: names, SQLSTATEs, parts that survive a copy, and the caret. */
#include "base-error.h"

#include <errno.h>
#include <string.h>

static void
condition_and_class_come_from_the_table (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (base_error_set (&error, SLUICE_ERROR_DIVIDE_BY_ZERO, "Division by zero"));
  g_assert_cmpstr (base_error_condition (error), ==, "DIVIDE_BY_ZERO");
  g_assert_cmpstr (base_error_sqlstate (error), ==, "22012");
  g_assert_cmpint (base_error_class (error), ==, BASE_ERROR_CLASS_DATA);
  g_assert_false (base_error_is_retryable (error));
}

static void
table_is_sorted_and_every_name_is_found (void)
{
  const char *last = "";

  for (int i = 0; i < SLUICE_ERROR_N_CODES; i++) {
    g_autoptr (GError) error = g_error_new_literal (SLUICE_ERROR, i, "x");
    SluiceError code;
    g_assert_true (base_error_code_from_condition (base_error_condition (error), &code));
    g_assert_cmpint ((int) code, ==, i);
    g_assert_cmpint (strcmp (last, base_error_condition (error)), <, 0);
    g_assert_cmpuint (strlen (base_error_sqlstate (error)), ==, 5);
    last = base_error_condition (error);
  }
}

static void
copy_keeps_all_parts (void)
{
  g_autoptr (GError) error = NULL;

  base_error_set (&error, SLUICE_ERROR_PARSE_SYNTAX_ERROR, "Syntax error at or near 'FORM'");
  base_error_set_position (&error, "a.sql", 3, 10, "SELECT 1 FORM t");
  base_error_set_hint (&error, "did you mean FROM?");
  base_error_add_param (&error, "token", "FORM");
  base_error_add_context (&error, "reading %s", "a.sql");
  g_autoptr (GError) copy = g_error_copy (error);
  g_clear_error (&error);
  g_assert_cmpstr (base_error_param (copy, "token"), ==, "FORM");
  g_assert_null (base_error_param (copy, "other"));
  g_autofree char *text = base_error_format (copy);
  g_assert_cmpstr (text, ==,
                   "[PARSE_SYNTAX_ERROR] Syntax error at or near 'FORM'. SQLSTATE: 42601\n  --> a.sql:3:10\n"
                   "    3 | SELECT 1 FORM t\n      |          ^\n  hint: did you mean FROM?\n  while reading a.sql");
}

static void
innermost_position_wins (void)
{
  g_autoptr (GError) error = NULL;
  const char *file, *line_text;
  guint line, column;

  base_error_set (&error, SLUICE_ERROR_INTERNAL_ERROR, "x");
  base_error_set_position (&error, NULL, 2, 5, "b");
  base_error_set_position (&error, "f.sql", 1, 1, "a");
  g_assert_true (base_error_position (error, &file, &line, &column, &line_text));
  g_assert_cmpstr (file, ==, "f.sql");
  g_assert_cmpuint (line, ==, 2);
  g_assert_cmpstr (line_text, ==, "b");
}

static void
errno_is_translated (void)
{
  static const struct {
    int errno_value;
    const char *condition;
  } cases[] = {
    { ENOENT, "FILE_NOT_FOUND" }, { EACCES, "FILE_ACCESS_DENIED" }, { ENOSPC, "STORAGE_FULL" }, { EIO, "IO_ERROR" }
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    base_error_set_errno (&error, cases[i].errno_value, "open /x");
    g_assert_cmpstr (base_error_condition (error), ==, cases[i].condition);
  }
}

static void
foreign_errors_answer_as_internal (void)
{
  g_autoptr (GError) error = g_error_new_literal (G_FILE_ERROR, 1, "x");

  base_error_add_context (&error, "ignored");
  g_assert_cmpstr (base_error_condition (error), ==, "INTERNAL_ERROR");
  g_assert_null (base_error_contexts (error)[0]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/error/condition-and-class-come-from-the-table", condition_and_class_come_from_the_table);
  g_test_add_func ("/base/error/table-is-sorted-and-every-name-is-found", table_is_sorted_and_every_name_is_found);
  g_test_add_func ("/base/error/copy-keeps-all-parts", copy_keeps_all_parts);
  g_test_add_func ("/base/error/innermost-position-wins", innermost_position_wins);
  g_test_add_func ("/base/error/errno-is-translated", errno_is_translated);
  g_test_add_func ("/base/error/foreign-errors-answer-as-internal", foreign_errors_answer_as_internal);
  return g_test_run ();
}

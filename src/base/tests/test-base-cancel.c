/* Cancellation: the flag, hooks installed before and after it was raised. */
#include "base-cancel.h"
#include "base-error.h"

static void
count (gpointer data)
{
  (*(guint *) data)++;
}

static void
raised_flag_fails_every_check (void)
{
  g_autoptr (BaseCancel) cancel = base_cancel_new ();
  g_autoptr (GError) error = NULL;

  g_assert_true (base_cancel_check (cancel, &error));
  g_assert_true (base_cancel_check (NULL, &error));
  base_cancel_raise (cancel);
  g_assert_false (base_cancel_check (cancel, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "OPERATION_CANCELED");
}

static void
hooks_run_when_raised_and_at_once_when_late (void)
{
  g_autoptr (BaseCancel) cancel = base_cancel_new ();
  guint n_early = 0, n_removed = 0, n_late = 0;

  base_cancel_add_hook (cancel, count, &n_early);
  base_cancel_remove_hook (cancel, base_cancel_add_hook (cancel, count, &n_removed));
  base_cancel_raise (cancel);
  base_cancel_add_hook (cancel, count, &n_late);
  g_assert_cmpuint (n_early, ==, 1);
  g_assert_cmpuint (n_removed, ==, 0);
  g_assert_cmpuint (n_late, ==, 1);
  g_assert_cmpuint (base_cancel_add_hook (NULL, count, &n_late), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/cancel/raised-flag-fails-every-check", raised_flag_fails_every_check);
  g_test_add_func ("/base/cancel/hooks-run-when-raised-and-at-once-when-late",
                   hooks_run_when_raised_and_at_once_when_late);
  return g_test_run ();
}

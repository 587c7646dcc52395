/* Faults at the n-th operation, n = 1, 2, 3 … until nothing was injected. The body is a small commit protocol: data file,
 * commit, hint; after each run the store must show the old version or the new one, never a commit without its data. */
#include "../../../tests/support/tree.h"
#include "store.h"

#include <base-error.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *
temporary_directory (void)
{
  g_autoptr (GError) error = NULL;
  char *directory = g_dir_make_tmp ("sluice-faults-XXXXXX", &error);
  g_assert_no_error (error);
  return directory;
}

/* Returns FALSE at the first failure, as a caller would. */
static gboolean
commit_once (StoreContext *context, const char *directory, GError **error)
{
  g_autoptr (Store) store = store_open (context, directory, error);
  g_autofree char *scratch = NULL;
  g_autoptr (GPtrArray) entries = NULL;
  StorePutOutcome outcome;

  if (store == NULL || (scratch = store_scratch_path (store, ".parquet", error)) == NULL ||
      !g_file_set_contents (scratch, "PAR1 rows PAR1", 14, error))
    return FALSE;
  if (!store_publish_file (store, scratch, "data.parquet", error) ||
      !store_put_if_absent (store, "log/0.json", "add data.parquet", 16, &outcome, NULL, error) ||
      !store_put (store, "log/_last", "0000", 4, STORE_PUT_UNSYNCED, error))
    return FALSE;
  return store_list (store, "log/", NULL, STORE_LIST_DIRECTORY, 0, &entries, error);
}

/* The invariant a reader depends on. */
static void
assert_old_or_new (const char *directory)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Store) store = store_open (NULL, directory, &error);
  g_autoptr (GBytes) commit = NULL, data = NULL;

  g_assert_true (store_read (store, "log/0.json", &commit, &error));
  g_assert_true (store_read (store, "data.parquet", &data, &error));
  if (data != NULL)
    g_assert_cmpmem (g_bytes_get_data (data, NULL), g_bytes_get_size (data), "PAR1 rows PAR1", 14);
  if (commit == NULL)
    return;
  g_assert_cmpmem (g_bytes_get_data (commit, NULL), g_bytes_get_size (commit), "add data.parquet", 16);
  g_assert_nonnull (data);
}

static void
test_every_operation_fails_once (gconstpointer data)
{
  StoreFaultMode mode = (StoreFaultMode) GPOINTER_TO_INT (data);

  for (guint64 n = 1;; n++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *directory = temporary_directory ();
    g_autoptr (StoreContext) context = store_context_new ();
    gboolean done, injected;

    store_context_set_fault (context, n, mode);
    done = commit_once (context, directory, &error);
    injected = store_context_was_injected (context);
    assert_old_or_new (directory);
    tree_remove (directory);
    if (!injected) {
      g_assert_no_error (error);
      g_assert_true (done);
      g_assert_cmpuint (n, ==, 5); /* publish, put-if-absent, put, list */
      return;
    }
    /* A lost answer of put-if-absent is an outcome, not an error. */
    g_assert_true (!done || (mode == STORE_FAULT_LOST && n == 2));
    if (!done)
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_IO_ERROR);
  }
}

static void
test_kill_leaves_old_or_new (void)
{
  gboolean was_killed = TRUE;

  for (guint64 n = 1; was_killed; n++) {
    g_autofree char *directory = temporary_directory ();
    int status = 0;
    pid_t child = fork ();
    g_assert_cmpint (child, >=, 0);
    if (child == 0) {
      StoreContext *context = store_context_new ();
      store_context_set_fault (context, n, STORE_FAULT_KILL);
      _exit (commit_once (context, directory, NULL) ? 0 : 1);
    }
    g_assert_cmpint (waitpid (child, &status, 0), ==, child);
    was_killed = WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
    g_assert_true (was_killed || (WIFEXITED (status) && WEXITSTATUS (status) == 0));
    assert_old_or_new (directory);
    tree_remove (directory);
  }
}

static void
test_torn_hint_is_half_there (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *directory = temporary_directory ();
  g_autoptr (StoreContext) context = store_context_new ();
  g_autoptr (Store) reader = store_open (NULL, directory, &error);
  g_autoptr (GBytes) hint = NULL;

  store_context_set_fault (context, 3, STORE_FAULT_TORN);
  g_assert_false (commit_once (context, directory, &error));
  g_clear_error (&error);
  g_assert_true (store_read (reader, "log/_last", &hint, &error));
  g_assert_cmpmem (g_bytes_get_data (hint, NULL), g_bytes_get_size (hint), "00", 2);
  tree_remove (directory);
}

static void
test_listings_lie (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (StoreContext) context = store_context_new ();
  g_autoptr (Store) store = store_memory_new (context);
  static const struct {
    StoreFaultMode mode;
    guint n_expected;
  } cases[] = { { STORE_FAULT_LIST_TWICE, 4 }, { STORE_FAULT_LIST_LATE, 1 } };

  store_put (store, "a", "1", 1, STORE_PUT_SYNCED, &error);
  store_put (store, "b", "2", 1, STORE_PUT_SYNCED, &error);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GPtrArray) wrong = NULL, right = NULL;
    store_context_set_fault (context, 1, cases[i].mode);
    g_assert_true (store_list (store, "", NULL, STORE_LIST_DIRECTORY, 0, &wrong, &error));
    g_assert_true (store_list (store, "", NULL, STORE_LIST_DIRECTORY, 0, &right, &error));
    g_assert_cmpuint (wrong->len, ==, cases[i].n_expected);
    g_assert_cmpuint (right->len, ==, 2);
    g_assert_cmpstr (((StoreEntry *) g_ptr_array_index (wrong, 0))->key, ==, "a");
  }
}

static void
test_fault_text (void)
{
  static const struct {
    const char *text;
    gboolean is_valid;
  } cases[] = {
    { "n=1,mode=kill", TRUE },
    { "mode=late,n=12", TRUE },
    { "n=0,mode=kill", FALSE },
    { "n=1", FALSE },
    { "n=1,mode=odd", FALSE },
    { "n=x,mode=fail", FALSE },
    { "", FALSE },
    { "nonsense", FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (StoreContext) context = store_context_new ();
    g_assert_true (store_context_set_fault_text (context, cases[i].text, &error) == cases[i].is_valid);
    if (!cases[i].is_valid)
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INVALID_OPTION);
  }
}

static void
count_call (const char *operation, const char *key, gpointer data)
{
  g_assert_cmpstr (operation, ==, "catalog-put");
  g_assert_cmpstr (key, ==, "t");
  ++*(guint *) data;
}

static void
test_steps_count_and_call_the_hook (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (StoreContext) context = store_context_new ();
  guint n_calls = 0;

  g_assert_true (store_context_step (NULL, "catalog-put", "t", &error));
  store_context_set_fault (context, 2, STORE_FAULT_FAIL);
  store_context_set_hook (context, count_call, &n_calls);
  g_assert_true (store_context_step (context, "catalog-put", "t", &error));
  g_assert_false (store_context_step (context, "catalog-put", "t", &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_IO_ERROR);
  g_assert_cmpuint (n_calls, ==, 2);
  g_assert_cmpuint (store_context_n_operations (context), ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/store/faults/fail", GINT_TO_POINTER (STORE_FAULT_FAIL), test_every_operation_fails_once);
  g_test_add_data_func ("/store/faults/lost", GINT_TO_POINTER (STORE_FAULT_LOST), test_every_operation_fails_once);
  g_test_add_data_func ("/store/faults/torn", GINT_TO_POINTER (STORE_FAULT_TORN), test_every_operation_fails_once);
  g_test_add_data_func ("/store/faults/crash", GINT_TO_POINTER (STORE_FAULT_CRASH), test_every_operation_fails_once);
  g_test_add_func ("/store/faults/kill-leaves-old-or-new", test_kill_leaves_old_or_new);
  g_test_add_func ("/store/faults/torn-hint-is-half-there", test_torn_hint_is_half_there);
  g_test_add_func ("/store/faults/listings-lie", test_listings_lie);
  g_test_add_func ("/store/faults/text", test_fault_text);
  g_test_add_func ("/store/faults/steps-count-and-call-the-hook", test_steps_count_and_call_the_hook);
  return g_test_run ();
}

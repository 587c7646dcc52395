/* Statements cut at the n-th storage step, n = 1, 2, 3 …: the next process finds the state before or after the statement that was
 * cut, and goes on from there. Every STRIDE-th n is tried, from an offset that is printed; SLUICE_FAULT_ALL=1 tries all. */
#include "session.h"

#include <base-error.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <store.h>

#define STRIDE 5

static const char *const statements[] = {
  "CREATE TABLE a (id INT)",
  "INSERT INTO a VALUES (1), (2)",
  "CREATE TABLE b AS SELECT * FROM a",
  "INSERT OVERWRITE a SELECT 3",
  "DROP TABLE b",
  "CREATE VIEW v AS SELECT id FROM a",
};

/* What three queries say after that many statements; "-" = no such table. */
typedef struct {
  const char *a, *b, *v;
} State;
static const State states[] = {
  { "-", "-", "-" },     { "", "-", "-" },   { "1 2 ", "-", "-" }, { "1 2 ", "1 2 ", "-" },
  { "3 ", "1 2 ", "-" }, { "3 ", "-", "-" }, { "3 ", "-", "3 " },
};
G_STATIC_ASSERT (G_N_ELEMENTS (states) == G_N_ELEMENTS (statements) + 1);

typedef struct {
  SluiceWarehouse *warehouse;
  SluiceSession *session;
} Process;

static Process
start (const char *directory, StoreContext *stores)
{
  g_autoptr (GError) error = NULL;
  SessionEnvironment environment = { .stores = stores, .user = (char *) "test" };
  Process process;

  process.warehouse = session_warehouse_open (directory, &environment, NULL, &error);
  g_assert_no_error (error);
  process.session = session_new (process.warehouse, &error);
  g_assert_no_error (error);
  return process;
}

static void
stop (Process *process)
{
  session_free (process->session);
  session_warehouse_unref (process->warehouse);
}

static gboolean
run (Process *process, const char *sql)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SluiceResult) result = session_run (process->session, sql, -1, NULL, &error);
  gboolean has_row = result != NULL;

  while (has_row)
    if (!session_result_next (result, &has_row, &error))
      return FALSE;
  return result != NULL;
}

/* Ids in order, or "-". */
static char *
ids_of (Process *process, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *sql = g_strdup_printf ("SELECT id FROM %s ORDER BY id", name);
  g_autoptr (SluiceResult) result = session_run (process->session, sql, -1, NULL, &error);
  GString *text = g_string_new (NULL);
  gboolean has_row = result != NULL;

  if (result == NULL) {
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_TABLE_OR_VIEW_NOT_FOUND);
    g_string_append_c (text, '-');
  }
  while (has_row) {
    g_assert_true (session_result_next (result, &has_row, &error));
    if (has_row) {
      g_assert_true (session_result_append_text (result, 0, text, &error));
      g_string_append_c (text, ' ');
    }
  }
  return g_string_free (text, FALSE);
}

static gboolean
is_in_state (Process *process, guint state)
{
  g_autofree char *a = ids_of (process, "a"), *b = ids_of (process, "b"), *v = ids_of (process, "v");
  return g_str_equal (a, states[state].a) && g_str_equal (b, states[state].b) && g_str_equal (v, states[state].v);
}

/* Returns: whether the fault happened. */
static gboolean
cut_at (guint64 n, StoreFaultMode mode)
{
  g_autofree char *directory = g_dir_make_tmp ("sluice-cut-XXXXXX", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (StoreContext) stores = store_context_new ();
  g_autoptr (Store) whole = store_open (NULL, directory, &error);
  Process process = start (directory, stores);
  guint n_done = 0, state;
  gboolean injected;

  store_context_set_fault (stores, n, mode);
  while (n_done < G_N_ELEMENTS (statements) && run (&process, statements[n_done]))
    n_done++;
  injected = store_context_was_injected (stores);
  stop (&process);

  process = start (directory, NULL);
  state = is_in_state (&process, n_done) ? n_done : n_done + 1;
  if (state > G_N_ELEMENTS (statements) || !is_in_state (&process, state))
    g_error ("cut at step %" G_GUINT64_FORMAT ": neither before nor after statement %u", n, n_done + 1);
  for (guint i = state; i < G_N_ELEMENTS (statements); i++)
    if (!run (&process, statements[i]))
      g_error ("cut at step %" G_GUINT64_FORMAT ": statement %u fails afterwards", n, i + 1);
  g_assert_true (is_in_state (&process, G_N_ELEMENTS (statements)));
  stop (&process);
  g_assert_true (store_delete_tree (whole, "", &error));
  return injected;
}

static void
test_cut (gconstpointer data)
{
  StoreFaultMode mode = (StoreFaultMode) GPOINTER_TO_INT (data);
  gboolean all = g_getenv ("SLUICE_FAULT_ALL") != NULL;
  guint64 n = all ? 1 : (guint64) g_random_int_range (1, STRIDE + 1);

  g_test_message ("first step: %" G_GUINT64_FORMAT, n);
  while (cut_at (n, mode))
    n += all ? 1 : STRIDE;
  g_test_message ("steps: up to %" G_GUINT64_FORMAT, n);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/session/crash/crash", GINT_TO_POINTER (STORE_FAULT_CRASH), test_cut);
  g_test_add_data_func ("/session/crash/torn", GINT_TO_POINTER (STORE_FAULT_TORN), test_cut);
  g_test_add_data_func ("/session/crash/fail", GINT_TO_POINTER (STORE_FAULT_FAIL), test_cut);
  g_test_add_data_func ("/session/crash/lost", GINT_TO_POINTER (STORE_FAULT_LOST), test_cut);
  return g_test_run ();
}

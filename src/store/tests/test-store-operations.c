/* What every store promises, and what only the local one can: races and durability calls that return. */
#include "store.h"

#include <base-error.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  const char *name;
  gboolean is_local;
} Kind;
static const Kind kinds[] = { { "local", TRUE }, { "memory", FALSE } };

typedef struct {
  char *directory; /* of the local kind */
  Store *store;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  const Kind *kind = data;
  g_autoptr (GError) error = NULL;

  fixture->directory = g_dir_make_tmp ("sluice-store-XXXXXX", &error);
  g_assert_no_error (error);
  if (kind->is_local) {
    g_autofree char *root = g_build_filename (fixture->directory, "root", NULL);
    fixture->store = store_open (NULL, root, &error);
  } else {
    fixture->store = store_memory_new (NULL);
  }
  g_assert_no_error (error);
}

static void
tear_down (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Store) whole = store_open (NULL, fixture->directory, &error);

  store_unref (fixture->store);
  g_assert_true (store_delete_tree (whole, "", &error));
  g_assert_false (g_file_test (fixture->directory, G_FILE_TEST_EXISTS));
  g_free (fixture->directory);
}

static void
put_text (Store *store, const char *key, const char *text)
{
  g_autoptr (GError) error = NULL;
  store_put (store, key, text, strlen (text), STORE_PUT_SYNCED, &error);
  g_assert_no_error (error);
}

/* The object's text, or NULL. */
static char *
read_text (Store *store, const char *key)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;

  g_assert_true (store_read (store, key, &bytes, &error));
  g_assert_no_error (error);
  return bytes == NULL ? NULL : g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
}

static char *
list_text (Store *store, const char *prefix, const char *start_after, StoreListFlags flags, guint n_most)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) entries = NULL;
  GString *text = g_string_new (NULL);

  g_assert_true (store_list (store, prefix, start_after, flags, n_most, &entries, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < entries->len; i++)
    g_string_append_printf (text, "%s ", ((StoreEntry *) g_ptr_array_index (entries, i))->key);
  return g_string_free (text, FALSE);
}

static void
test_put_and_read (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autofree char *missing = read_text (fixture->store, "a/b");
  g_autoptr (GBytes) range = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *second = NULL;
  static const struct {
    gint64 offset, size;
    const char *expected;
  } ranges[] = { { 0, 3, "012" }, { 4, 100, "456789" }, { 10, 5, "" }, { 99, 1, "" }, { 3, 0, "" } };

  g_assert_null (missing);
  put_text (fixture->store, "a/b", "first");
  put_text (fixture->store, "a/b", "0123456789");
  second = read_text (fixture->store, "a/b");
  g_assert_cmpstr (second, ==, "0123456789");
  for (gsize i = 0; i < G_N_ELEMENTS (ranges); i++) {
    g_autoptr (GBytes) bytes = NULL;
    g_assert_true (store_read_range (fixture->store, "a/b", ranges[i].offset, ranges[i].size, &bytes, &error));
    g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), ranges[i].expected,
                     strlen (ranges[i].expected));
  }
  g_assert_true (store_read_range (fixture->store, "none", 0, 1, &range, &error));
  g_assert_null (range);
}

static void
test_put_if_absent_keeps_the_first (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  StorePutOutcome outcome;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_assert_true (store_put_if_absent (fixture->store, "log/0.json", "one", 3, &outcome, NULL, &error));
  g_assert_cmpint (outcome, ==, STORE_PUT_DONE);
  g_assert_true (store_put_if_absent (fixture->store, "log/0.json", "two", 3, &outcome, NULL, &error));
  g_assert_cmpint (outcome, ==, STORE_PUT_EXISTS);
  text = read_text (fixture->store, "log/0.json");
  g_assert_cmpstr (text, ==, "one");
}

static void
test_listing (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const keys[] = { "b", "a/2", "a/10", "a/1/x", "a-b/1", "ab" };
  static const struct {
    const char *prefix, *start_after;
    StoreListFlags flags;
    guint n_most;
    const char *expected;
  } cases[] = {
    { "", NULL, STORE_LIST_DIRECTORY, 0, "ab b " },
    { "", NULL, STORE_LIST_RECURSIVE, 0, "a-b/1 a/1/x a/10 a/2 ab b " },
    { "a", NULL, STORE_LIST_RECURSIVE, 0, "a-b/1 a/1/x a/10 a/2 ab " },
    { "a/", NULL, STORE_LIST_DIRECTORY, 0, "a/10 a/2 " },
    { "a/1", NULL, STORE_LIST_RECURSIVE | STORE_LIST_NAMES_ONLY, 0, "a/1/x a/10 " },
    { "a/", "a/10", STORE_LIST_RECURSIVE, 0, "a/2 " },
    { "", "a-b/1", STORE_LIST_RECURSIVE, 2, "a/1/x a/10 " },
    { "none/", NULL, STORE_LIST_RECURSIVE, 0, "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    put_text (fixture->store, keys[i], keys[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *text =
        list_text (fixture->store, cases[i].prefix, cases[i].start_after, cases[i].flags, cases[i].n_most);
    g_assert_cmpstr (text, ==, cases[i].expected);
  }
}

static void
test_stat_and_delete (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  StoreEntry *entry = NULL;
  g_autofree char *rest = NULL;

  put_text (fixture->store, "t/a", "12345");
  put_text (fixture->store, "t/b/c", "1");
  put_text (fixture->store, "tt", "1");
  g_assert_true (store_stat (fixture->store, "t/a", &entry, &error));
  g_assert_cmpint (entry->size_bytes, ==, 5);
  g_assert_cmpint (entry->modified_us, >, 0);
  store_entry_free (entry);
  g_assert_true (store_stat (fixture->store, "t/none", &entry, &error));
  g_assert_null (entry);
  g_assert_true (store_delete (fixture->store, "t/none", &error));
  g_assert_true (store_delete (fixture->store, "t/a", &error));
  g_assert_true (store_delete_tree (fixture->store, "t", &error));
  g_assert_true (store_delete_tree (fixture->store, "t", &error));
  rest = list_text (fixture->store, "", NULL, STORE_LIST_RECURSIVE, 0);
  g_assert_cmpstr (rest, ==, "tt ");
}

static void
test_keys_are_checked (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const bad[] = { "", "/a", "a//b", "a/", ".", "..", "a/../b", "a/.", "../../etc/passwd" };
  static const char *const good[] = { "a", "...", ".a", "a..b/c", "..a/b" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autoptr (GError) error = NULL;
    GBytes *bytes = NULL;
    g_assert_false (store_read (fixture->store, bad[i], &bytes, &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_INVALID_OPTION);
    g_assert_false (store_key_is_valid (bad[i]));
  }
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    g_assert_true (store_key_is_valid (good[i]));
}

/* --- Only local. --- */

static void
test_locations (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  static const struct {
    const char *location, *root; /* root NULL = refused */
    int code;
  } cases[] = {
    { "/a/b/", "/a/b", 0 },
    { "/a/../b", "/b", 0 },
    { "file:/a%20b", "/a b", 0 },
    { "file:///a", "/a", 0 },
    { "file://localhost/a", "/a", 0 },
    { "file://elsewhere/a", NULL, SLUICE_ERROR_INVALID_OPTION },
    { "file:/a%zz", NULL, SLUICE_ERROR_INVALID_OPTION },
    { "s3://bucket/a", NULL, SLUICE_ERROR_UNSUPPORTED_FEATURE },
    { "", NULL, SLUICE_ERROR_INVALID_OPTION },
  };

  g_assert_nonnull (fixture->store);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (Store) store = store_open (NULL, cases[i].location, &error);
    if (cases[i].root != NULL)
      g_assert_cmpstr (store_root (store), ==, cases[i].root);
    else
      g_assert_error (error, SLUICE_ERROR, cases[i].code);
  }
}

static void
test_publish (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *first = store_scratch_path (fixture->store, ".parquet", &error);
  g_autofree char *second = store_scratch_path (fixture->store, ".parquet", &error);
  StorePublication files[] = { { first, "p=1/a.parquet" }, { second, "p=2/b.parquet" } };
  g_autofree char *hidden = NULL, *shown = NULL, *path = NULL, *again = NULL;
  struct stat status;

  g_assert_true (g_str_has_suffix (first, ".parquet"));
  g_assert_cmpstr (first, !=, second);
  g_assert_true (g_file_set_contents (first, "AAAA", 4, &error));
  g_assert_true (g_file_set_contents (second, "BBBB", 4, &error));
  hidden = list_text (fixture->store, "", NULL, STORE_LIST_RECURSIVE, 0);
  g_assert_cmpstr (hidden, ==, "");
  g_assert_true (store_publish_files (fixture->store, files, 2, &error));
  shown = list_text (fixture->store, "", NULL, STORE_LIST_RECURSIVE, 0);
  g_assert_cmpstr (shown, ==, "p=1/a.parquet p=2/b.parquet ");
  g_assert_false (g_file_test (first, G_FILE_TEST_EXISTS));

  again = store_scratch_path (fixture->store, "", &error);
  g_assert_true (g_file_set_contents (again, "CCCC", 4, &error));
  g_assert_false (store_publish_file (fixture->store, again, "p=1/a.parquet", &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_OBJECT_STORE_CONFLICT);
  g_assert_true (g_file_test (again, G_FILE_TEST_EXISTS));
  store_scratch_clean (fixture->store, G_MAXINT64);
  g_assert_false (g_file_test (again, G_FILE_TEST_EXISTS));

  put_text (fixture->store, "mode", "x");
  path = store_local_path (fixture->store, "mode");
  g_assert_cmpint (stat (path, &status), ==, 0);
  g_assert_cmpint (status.st_mode & 0777, ==, 0666 & ~umask (022)); /* the test set no umask: read it by setting */
}

static void
test_lock_is_held_by_one (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  g_autoptr (GError) error = NULL;
  StoreLock *first = NULL, *second = NULL;

  g_assert_true (store_lock_try (fixture->store, "update.lock", &first, &error));
  g_assert_nonnull (first);
  g_assert_true (store_lock_try (fixture->store, "update.lock", &second, &error));
  g_assert_null (second);
  store_lock_release (first);
  g_assert_true (store_lock_try (fixture->store, "update.lock", &second, &error));
  g_assert_nonnull (second);
  store_lock_release (second);
}

#define N_RACES 40

/* Every racer writes its number under every key; counts what it was told it won. */
static guint
race (Store *store, guint racer)
{
  guint n_won = 0;

  for (guint i = 0; i < N_RACES; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *key = g_strdup_printf ("log/%03u.json", i);
    char text = (char) ('a' + racer);
    StorePutOutcome outcome;
    store_put_if_absent (store, key, &text, 1, &outcome, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (outcome, !=, STORE_PUT_UNKNOWN);
    n_won += outcome == STORE_PUT_DONE;
  }
  return n_won;
}

typedef struct {
  Store *store;
  guint racer;
} Racer;

static gpointer
race_in_thread (gpointer data)
{
  Racer *racer = data;
  return GUINT_TO_POINTER (race (racer->store, racer->racer));
}

static void
test_threads_race (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  Racer racers[4];
  GThread *threads[4];
  guint n_won = 0;

  for (guint i = 0; i < 4; i++) {
    racers[i] = (Racer){ fixture->store, i };
    threads[i] = g_thread_new ("racer", race_in_thread, &racers[i]);
  }
  for (guint i = 0; i < 4; i++)
    n_won += GPOINTER_TO_UINT (g_thread_join (threads[i]));
  g_assert_cmpuint (n_won, ==, N_RACES);
}

static void
test_processes_race (Fixture *fixture, gconstpointer data G_GNUC_UNUSED)
{
  pid_t children[4];
  guint n_won = 0;

  for (guint i = 0; i < 4; i++) {
    children[i] = fork ();
    g_assert_cmpint (children[i], >=, 0);
    if (children[i] == 0)
      _exit ((int) race (fixture->store, i));
  }
  for (guint i = 0; i < 4; i++) {
    int status = 0;
    g_assert_cmpint (waitpid (children[i], &status, 0), ==, children[i]);
    g_assert_true (WIFEXITED (status));
    n_won += (guint) WEXITSTATUS (status);
  }
  g_assert_cmpuint (n_won, ==, N_RACES);
}

int
main (int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run) (Fixture *, gconstpointer);
  } both[] = {
    { "put-and-read", test_put_and_read },
    { "put-if-absent-keeps-the-first", test_put_if_absent_keeps_the_first },
    { "listing", test_listing },
    { "stat-and-delete", test_stat_and_delete },
    { "keys-are-checked", test_keys_are_checked },
    { "threads-race", test_threads_race },
  };
  static const struct {
    const char *name;
    void (*run) (Fixture *, gconstpointer);
  } local[] = {
    { "locations", test_locations },
    { "publish", test_publish },
    { "lock-is-held-by-one", test_lock_is_held_by_one },
    { "processes-race", test_processes_race },
  };

  g_test_init (&argc, &argv, NULL);
  for (gsize k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (gsize i = 0; i < G_N_ELEMENTS (both); i++) {
      g_autofree char *path = g_strdup_printf ("/store/%s/%s", kinds[k].name, both[i].name);
      g_test_add (path, Fixture, &kinds[k], set_up, both[i].run, tear_down);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (local); i++) {
    g_autofree char *path = g_strdup_printf ("/store/local/%s", local[i].name);
    g_test_add (path, Fixture, &kinds[0], set_up, local[i].run, tear_down);
  }
  return g_test_run ();
}

/* What a clean-up of the log leaves, and that all it must leave can be read. */
#include "../../../tests/support/tree.h"
#include "base-error.h"
#include "delta-checkpoint.h"
#include "delta-table.h"
#include "duck-engine.h"
#include "log-text.h"

#include <glib/gstdio.h>
#include <string.h>
#include <utime.h>

#define NOW_S G_GINT64_CONSTANT (1900000000)
#define DAY_S 86400
#define UUID  "80a083e8-7026-4e79-81be-64bd76c43a11"
#define PROTOCOL                                                                                                       \
  "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"v2Checkpoint\"],"                \
  "\"writerFeatures\":[\"v2Checkpoint\",\"inCommitTimestamp\",\"checkpointProtection\"]}}\n"

typedef struct {
  const char *what;
  const char *properties; /* members of the configuration */
  const char *ages;       /* of versions 0, 1, …: a letter each, `o` 60 days old, `y` yesterday; `-` missing */
  const char *stamps;     /* (nullable): the same, of the in-commit timestamps */
  int checkpoints[4];     /* versions; 0 ends */
  int broken;             /* a checkpoint that cannot be read; 0 = none */
  int first;              /* the first version left */
} Case;

static const Case cases[] = {
  { "everything is young", "", "yyyyyyyyyyyy", NULL, { 4, 8 }, 0, 0 },
  { "the newest checkpoint below the cutoff is kept with all after it", "", "ooooooooooyy", NULL, { 4, 8 }, 0, 8 },
  { "a checkpoint of the first young version is too young", "", "oooooooooyyy", NULL, { 4, 9 }, 0, 4 },
  { "the last old version may have it", "", "oooooooooyyy", NULL, { 4, 8 }, 0, 8 },
  { "after a quiet spell the versions after it stay readable (R03)", "", "oooooooooyy", NULL, { 10 }, 0, 0 },
  { "one that cannot be read is passed over", "", "ooooooooooyy", NULL, { 4, 8 }, 8, 4 },
  { "none that can be read: nothing goes", "", "ooooooooooyy", NULL, { 8 }, 8, 0 },
  { "a version is missing: nothing goes", "", "oooooooooo-y", NULL, { 4, 8 }, 0, 0 },
  { "switched off", "\"delta.enableExpiredLogCleanup\":\"false\"", "ooooooooooyy", NULL, { 4, 8 }, 0, 0 },
  { "a longer retention", "\"delta.logRetentionDuration\":\"interval 90 days\"", "ooooooooooyy", NULL, { 4, 8 }, 0, 0 },
  { "in-commit timestamps count, not the files' times",
    "\"delta.enableInCommitTimestamps\":\"true\"",
    "oooooooooooo",
    "ooooooyyyyyy",
    { 4, 8 },
    0,
    4 },
  { "in-commit timestamps count also where the files are young",
    "\"delta.enableInCommitTimestamps\":\"true\"",
    "yyyyyyyyyyyy",
    "ooooooooooyy",
    { 4, 8 },
    0,
    8 },
  { "in-commit timestamps since a version",
    "\"delta.enableInCommitTimestamps\":\"true\",\"delta.inCommitTimestampEnablementVersion\":\"6\"",
    "oooooooooooo",
    "yyyyyyooooyy",
    { 4, 8 },
    0,
    8 },
  { "protected checkpoints",
    "\"delta.requireCheckpointProtectionBeforeVersion\":\"9\"",
    "ooooooooooyy",
    NULL,
    { 4, 8 },
    0,
    0 },
};

static void
put (const char *directory, const char *name, const char *text, gint64 time_s)
{
  g_autofree char *path = g_build_filename (directory, "_delta_log", name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  struct utimbuf times = { time_s, time_s };

  g_assert_cmpint (g_mkdir_with_parents (parent, 0777), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  g_assert_cmpint (g_utime (path, &times), ==, 0);
}

static gint64
time_of (char age, int version)
{
  return NOW_S - (age == 'o' ? 60 : 1) * DAY_S + version;
}

static char *
metadata_of (const Case *c)
{
  return g_strdup_printf ("{\"metaData\":" METADATA_VALUE ("%s") "}\n", c->properties);
}

static void
make_log (const Case *c, const char *directory)
{
  g_autofree char *metadata = metadata_of (c);

  for (int v = 0; c->ages[v] != '\0'; v++) {
    g_autofree char *name = g_strdup_printf ("%020d.json", v);
    g_autofree char *stamp = c->stamps != NULL ? g_strdup_printf ("\"inCommitTimestamp\":%" G_GINT64_FORMAT ",",
                                                                  time_of (c->stamps[v], v) * 1000)
                                               : g_strdup ("");
    g_autofree char *text =
        g_strdup_printf ("{\"commitInfo\":{%s\"operation\":\"WRITE\"}}\n%s%s"
                         "{\"add\":{\"path\":\"f%d\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,"
                         "\"dataChange\":true}}\n",
                         stamp, v == 0 ? PROTOCOL : "", v == 0 ? metadata : "", v);
    if (c->ages[v] != '-')
      put (directory, name, text, time_of (c->ages[v], v));
  }
  for (guint i = 0; i < G_N_ELEMENTS (c->checkpoints) && c->checkpoints[i] != 0; i++) {
    int v = c->checkpoints[i];
    g_autofree char *name = g_strdup_printf ("%020d.checkpoint." UUID ".json", v);
    g_autofree char *text = g_strdup_printf ("{\"checkpointMetadata\":{\"version\":%d}}\n" PROTOCOL "%s", v, metadata);
    put (directory, name, v == c->broken ? "{\"checkpointMetadata\":{\"version\":999}}\n" : text, time_of ('y', v));
  }
}

static gboolean
has_commit (const char *directory, int version)
{
  g_autofree char *name = g_strdup_printf ("%020d.json", version);
  g_autofree char *path = g_build_filename (directory, "_delta_log", name, NULL);

  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static DeltaTable *
open_table (const char *directory, DuckEngine *engine)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Store) store = store_open (NULL, directory, &error);

  g_assert_no_error (error);
  return delta_table_new (store, engine);
}

static void
check_versions (const Case *c, const char *directory)
{
  g_autoptr (DeltaTable) table = open_table (directory, NULL);

  for (int v = 0; c->ages[v] != '\0' && strchr (c->ages, '-') == NULL; v++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot_at (table, v, NULL, &error);
    g_assert_cmpint (has_commit (directory, v), ==, v >= c->first);
    if (v >= c->first)
      g_assert_no_error (error);
    else
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND);
  }
}

static void
test_what_is_left (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Case *c = &cases[i];
    BaseClock clock = { NOW_S * G_USEC_PER_SEC };
    g_autofree char *directory = g_dir_make_tmp ("sluice-cleanup-XXXXXX", NULL);
    g_autoptr (GError) error = NULL;
    guint n_deleted = 99;
    make_log (c, directory);
    g_autoptr (DeltaTable) table = open_table (directory, NULL);
    g_autoptr (DeltaSnapshot) snapshot = strchr (c->ages, '-') == NULL
                                             ? delta_table_snapshot (table, NULL, &error)
                                             : delta_table_snapshot_at (table, 9, NULL, &error);
    g_test_message ("%s", c->what);
    g_assert_no_error (error);
    /* A log with a hole may also say so. */
    if (!delta_log_cleanup (snapshot, &clock, NULL, &n_deleted, &error))
      g_assert_nonnull (strchr (c->ages, '-'));
    g_assert_cmpint (n_deleted > 0, ==, c->first > 0);
    check_versions (c, directory);
    tree_remove (directory);
  }
}

static void
test_sidecars_that_nobody_names_go (void)
{
  static const Case c = { "", "", "ooooooooooyy", NULL, { 8 }, 0, 8 };
  BaseClock clock = { NOW_S * G_USEC_PER_SEC };
  g_autofree char *directory = g_dir_make_tmp ("sluice-cleanup-XXXXXX", NULL);
  g_autofree char *metadata = metadata_of (&c);
  g_autofree char *newest =
      g_strconcat ("{\"checkpointMetadata\":{\"version\":11}}\n", PROTOCOL, metadata,
                   "{\"sidecar\":{\"path\":\"named.parquet\",\"sizeInBytes\":4,\"modificationTime\":1}}\n", NULL);
  static const struct {
    const char *name;
    char age;
    gboolean kept;
  } files[] = { { "_sidecars/named.parquet", 'o', TRUE },
                { "_sidecars/old.parquet", 'o', FALSE },
                { "_sidecars/young.parquet", 'y', TRUE } };

  make_log (&c, directory);
  put (directory, "00000000000000000011.checkpoint." UUID ".json", newest, time_of ('y', 11));
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    put (directory, files[i].name, "PAR1", time_of (files[i].age, 0));
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckEngine) engine = duck_engine_new (NULL, &error);
  g_autoptr (DeltaTable) table = open_table (directory, engine);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot_at (table, 10, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (delta_log_cleanup (snapshot, &clock, NULL, NULL, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = g_build_filename (directory, "_delta_log", files[i].name, NULL);
    g_assert_cmpint (g_file_test (path, G_FILE_TEST_EXISTS), ==, files[i].kept);
  }
  tree_remove (directory);
}

/* Whatever operation of the storage fails, the versions that must stay can be read. */
static void
test_interrupted (void)
{
  static const Case c = { "", "", "ooooooooooyy", NULL, { 4, 8 }, 0, 8 };
  BaseClock clock = { NOW_S * G_USEC_PER_SEC };

  for (guint n = 1, injected = 1; injected > 0; n++) {
    g_autofree char *directory = g_dir_make_tmp ("sluice-cleanup-XXXXXX", NULL);
    g_autoptr (StoreContext) context = store_context_new ();
    g_autoptr (GError) error = NULL;
    make_log (&c, directory);
    g_autoptr (Store) store = store_open (context, directory, &error);
    g_autoptr (DeltaTable) table = delta_table_new (store, NULL);
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
    g_assert_no_error (error);
    store_context_set_fault (context, n, STORE_FAULT_CRASH);
    (void) delta_log_cleanup (snapshot, &clock, NULL, NULL, NULL); /* what it says does not matter here */
    injected = store_context_was_injected (context) ? 1 : 0;
    g_autoptr (DeltaTable) again = open_table (directory, NULL);
    for (int v = 8; v < 12; v++) {
      g_autoptr (DeltaSnapshot) old = delta_table_snapshot_at (again, v, NULL, NULL);
      g_assert_nonnull (old);
    }
    tree_remove (directory);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/delta/cleanup/what-is-left", test_what_is_left);
  g_test_add_func ("/delta/cleanup/sidecars-that-nobody-names-go", test_sidecars_that_nobody_names_go);
  g_test_add_func ("/delta/cleanup/interrupted", test_interrupted);
  return g_test_run ();
}

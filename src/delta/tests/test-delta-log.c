/* Replaying logs: what they say, what is wrong with them, how a snapshot moves on. In memory. */
#include "base-error.h"
#include "base-json.h"
#include "delta-table.h"
#include "log-text.h"
#include "store-context.h"

#include <string.h>

#define PROTOCOL "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
#define START    PROTOCOL METADATA
#define VECTOR(name)                                                                                                   \
  "\"deletionVector\":{\"storageType\":\"u\",\"pathOrInlineDv\":\"" name                                               \
  "\",\"offset\":1,\"sizeInBytes\":34,\"cardinality\":1}"
#define ADD_VECTOR(path, name)                                                                                         \
  "{\"add\":{\"path\":\"" path                                                                                         \
  "\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true," VECTOR (name) "}}\n"
#define REMOVE_VECTOR(path, name)                                                                                      \
  "{\"remove\":{\"path\":\"" path "\",\"deletionTimestamp\":1,\"dataChange\":true," VECTOR (name) "}}\n"

static DeltaTable *
table_of (const char *const *commits)
{
  g_autoptr (Store) store = store_memory_new (NULL);

  for (guint i = 0; commits[i] != NULL; i++)
    log_text_put_commit (store, i, commits[i]);
  return delta_table_new (store, NULL);
}

static void
test_the_last_action_on_a_file_wins (void)
{
  static const struct {
    const char *commits[6];
    const char *live;
    guint n_tombstones;
  } cases[] = {
    { { START }, "", 0 },
    { { START ADD ("a") ADD ("b") }, "a b", 0 },
    { { START, ADD ("a"), REMOVE ("a") }, "", 1 },
    { { START, ADD ("a"), REMOVE ("a"), ADD ("a") }, "a", 0 },
    { { START, ADD ("a"), ADD ("a") }, "a", 0 },
    { { START, ADD ("a%20b"), REMOVE ("a%20b") }, "", 1 },
    { { START, ADD ("file:///x/a"), REMOVE ("file:/x/a") }, "", 1 },
    { { START, ADD ("/x/a"), REMOVE ("file:///x/a") }, "", 1 },
    { { START, ADD ("p=x%253A1/a") }, "p=x%3A1/a", 0 },
    { { START, ADD ("a"), ADD_VECTOR ("a", "v1") REMOVE ("a") }, "a", 1 },
    { { START, ADD ("a"), REMOVE ("a") ADD_VECTOR ("a", "v1") }, "a", 1 },
    { { START, ADD ("a"), REMOVE ("a") ADD_VECTOR ("a", "v1"), REMOVE_VECTOR ("a", "v1") ADD_VECTOR ("a", "v2") },
      "a",
      2 },
    { { START, ADD ("a"), REMOVE ("a") ADD_VECTOR ("a", "v1"), REMOVE_VECTOR ("a", "v1") ADD ("a") }, "a", 1 },
    { { START ADD ("a"), "{\"unknown\":{\"x\":[1,{\"y\":null}]}}\n\n", "{\"add\":null,\"remove\":null}\n" }, "a", 0 },
    { { START "{\"cdc\":{\"path\":\"_change_data/c\",\"partitionValues\":{},\"size\":1,\"dataChange\":false}}" },
      "",
      0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (DeltaTable) table = table_of (cases[i].commits);
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
    g_autofree char *live = NULL;
    g_assert_no_error (error);
    live = log_text_live_files (snapshot);
    g_assert_cmpstr (live, ==, cases[i].live);
    g_assert_cmpuint (delta_snapshot_n_tombstones (snapshot), ==, cases[i].n_tombstones);
  }
}

static void
test_a_snapshot_moved_on_equals_one_opened_anew (void)
{
  for (guint round = 0; round < 50; round++) {
    g_autoptr (Store) store = store_memory_new (NULL);
    g_autoptr (DeltaTable) warm = delta_table_new (store, NULL);
    g_autoptr (GError) error = NULL;
    log_text_put_commit (store, 0, START);
    for (DeltaVersion version = 1; version < 30; version++) {
      g_autoptr (GString) commit = g_string_new (NULL);
      g_autoptr (DeltaTable) cold = delta_table_new (store, NULL);
      g_autoptr (DeltaSnapshot) moved = NULL;
      g_autoptr (DeltaSnapshot) opened = NULL;
      g_autofree char *moved_files = NULL;
      g_autofree char *opened_files = NULL;
      for (int i = g_test_rand_int_range (0, 6); i > 0; i--) {
        int name = g_test_rand_int_range (0, 12);
        if (g_test_rand_bit ())
          g_string_append_printf (commit, ADD ("f%d"), name);
        else
          g_string_append_printf (commit, REMOVE ("f%d"), name);
      }
      g_string_append_printf (commit, "{\"txn\":{\"appId\":\"a%d\",\"version\":%d}}\n", g_test_rand_int_range (0, 3),
                              (int) version);
      log_text_put_commit (store, version, commit->str);
      if (g_test_rand_int_range (0, 3) == 0)
        continue;
      moved = delta_table_snapshot (warm, NULL, &error);
      g_assert_no_error (error);
      opened = delta_table_snapshot (cold, NULL, &error);
      g_assert_no_error (error);
      moved_files = log_text_live_files (moved);
      opened_files = log_text_live_files (opened);
      g_assert_cmpstr (moved_files, ==, opened_files);
      g_assert_cmpint (delta_snapshot_version (moved), ==, version);
      g_assert_cmpuint (delta_snapshot_n_tombstones (moved), ==, delta_snapshot_n_tombstones (opened));
      for (guint i = 0; i < 3; i++) {
        g_autofree char *app = g_strdup_printf ("a%u", i);
        g_assert_cmpint (delta_snapshot_txn_version (moved, app, -1), ==, delta_snapshot_txn_version (opened, app, -1));
      }
    }
  }
}

static void
test_damaged_logs_are_named (void)
{
  static const struct {
    const char *commits[4];
    SluiceError code;
    guint line;
  } cases[] = {
    { { NULL }, SLUICE_ERROR_DELTA_TABLE_NOT_FOUND, 0 },
    { { PROTOCOL }, SLUICE_ERROR_DELTA_STATE_RECOVER_ERROR, 0 },
    { { METADATA }, SLUICE_ERROR_DELTA_STATE_RECOVER_ERROR, 0 },
    { { START "{\"add\":" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a\"" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a%zz\"}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a\",\"size\":-4}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a\",\"size\":1.5}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a\",\"size\":99999999999999999999}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a\",\"partitionValues\":[]}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"add\":{\"path\":\"a\",\"deletionVector\":{\"storageType\":\"x\"}}}" },
      SLUICE_ERROR_DELTA_LOG_CORRUPT,
      3 },
    { { START "{\"add\":{\"path\":7}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "[1]" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{} x" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START "{\"txn\":{\"appId\":\"a\"}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 3 },
    { { START, "\xff\xfe" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 1 },
    { { "{\"protocol\":{\"minReaderVersion\":1}}" }, SLUICE_ERROR_DELTA_LOG_CORRUPT, 1 },
    { { PROTOCOL "{\"metaData\":{\"id\":\"t\",\"schemaString\":\"{\"}}" }, SLUICE_ERROR_INVALID_JSON, 2 },
    { { METADATA "{\"protocol\":{\"minReaderVersion\":9,\"minWriterVersion\":9}}" },
      SLUICE_ERROR_DELTA_INVALID_PROTOCOL_VERSION,
      0 },
    { { METADATA "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"warp\"],"
                 "\"writerFeatures\":[\"warp\"]}}" },
      SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_READ,
      0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (DeltaTable) table = table_of (cases[i].commits);
    g_autoptr (GError) error = NULL;
    guint line = 0;
    g_test_message ("case %u", i);
    g_assert_null (delta_table_snapshot (table, NULL, &error));
    g_assert_error (error, SLUICE_ERROR, (int) cases[i].code);
    if (cases[i].line > 0) {
      const char *file;
      const char *source_line;
      guint column;
      g_assert_true (base_error_position (error, &file, &line, &column, &source_line));
      g_assert_cmpuint (line, ==, cases[i].line);
    }
  }
}

static void
test_deep_nesting_is_bounded (void)
{
  g_autoptr (GString) deep = g_string_new (START "{\"x\":");
  g_autoptr (GError) error = NULL;
  const char *commits[] = { NULL, NULL };
  g_autoptr (DeltaTable) table = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append_c (deep, '[');
  commits[0] = deep->str;
  table = table_of (commits);
  g_assert_null (delta_table_snapshot (table, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_LOG_CORRUPT);
}

static void
test_gaps_are_told_apart (void)
{
  static const struct {
    DeltaVersion versions[4]; /* -1 ends */
    SluiceError code;
  } cases[] = {
    { { 0, 2, -1 }, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS },
    { { 0, 1, 3, -1 }, SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS },
    { { 1, 2, -1 }, SLUICE_ERROR_DELTA_TRUNCATED_TRANSACTION_LOG },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (Store) store = store_memory_new (NULL);
    g_autoptr (DeltaTable) table = delta_table_new (store, NULL);
    g_autoptr (GError) error = NULL;
    for (guint k = 0; cases[i].versions[k] >= 0; k++)
      log_text_put_commit (store, cases[i].versions[k], k == 0 ? START : ADD ("a"));
    g_assert_null (delta_table_snapshot (table, NULL, &error));
    g_assert_error (error, SLUICE_ERROR, (int) cases[i].code);
  }
}

static void
test_versions_that_are_not_there (void)
{
  const char *const commits[] = { START, ADD ("a"), ADD ("b"), NULL };
  g_autoptr (DeltaTable) table = table_of (commits);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) old = NULL;
  g_autofree char *files = NULL;
  g_autoptr (GPtrArray) some = NULL;

  g_assert_null (delta_table_snapshot_at (table, 9, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND);
  g_assert_cmpstr (base_error_param (error, "latest"), ==, "2");
  g_assert_cmpstr (base_error_param (error, "earliest"), ==, "0");
  g_clear_error (&error);
  g_assert_null (delta_table_commit (table, 3, NULL, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_VERSION_NOT_FOUND);
  g_clear_error (&error);
  old = delta_table_snapshot_at (table, 1, NULL, &error);
  g_assert_no_error (error);
  files = log_text_live_files (old);
  g_assert_cmpstr (files, ==, "a");
  some = delta_table_commits (table, 1, 2, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (some->len, ==, 2);
}

static void
test_a_lying_hint_costs_only_time (void)
{
  static const char *const hints[] = {
    "{\"version\":1,\"size\":3}", "{\"version\":77}", "{\"version\":-5}", "{", "", "[]", "{\"version\":\"x\"}"
  };

  for (guint i = 0; i < G_N_ELEMENTS (hints); i++) {
    const char *const commits[] = { START, ADD ("a"), ADD ("b"), NULL };
    g_autoptr (DeltaTable) table = table_of (commits);
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaSnapshot) snapshot = NULL;
    log_text_put (delta_table_store (table), "_last_checkpoint", hints[i]);
    snapshot = delta_table_snapshot (table, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 2);
  }
}

static void
test_odd_listings_do_not_matter (void)
{
  static const StoreFaultMode modes[] = { STORE_FAULT_LIST_TWICE, STORE_FAULT_LIST_LATE };

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autoptr (StoreContext) context = store_context_new ();
    g_autoptr (Store) store = store_memory_new (context);
    g_autoptr (DeltaTable) table = delta_table_new (store, NULL);
    g_autoptr (DeltaSnapshot) snapshot = NULL;
    g_autoptr (DeltaSnapshot) next = NULL;
    g_autoptr (GError) error = NULL;
    log_text_put_commit (store, 0, START);
    log_text_put_commit (store, 1, ADD ("a"));
    log_text_put_commit (store, 2, ADD ("b"));
    store_context_set_fault (context, 1, modes[i]);
    snapshot = delta_table_snapshot (table, NULL, &error);
    g_assert_no_error (error);
    next = delta_table_snapshot (table, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (delta_snapshot_version (next), ==, 2);
    g_assert_cmpuint (delta_snapshot_n_files (next), ==, 2);
  }
}

static void
test_a_replaced_table_is_read_anew (void)
{
  const char *const commits[] = { START, ADD ("a"), ADD ("b"), NULL };
  g_autoptr (DeltaTable) table = table_of (commits);
  Store *store = delta_table_store (table);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) before = delta_table_snapshot (table, NULL, &error);
  g_autoptr (DeltaSnapshot) after = NULL;
  g_autofree char *files = NULL;

  g_assert_no_error (error);
  g_assert_true (store_delete_tree (store, "_delta_log", &error));
  log_text_put_commit (store, 0, START ADD ("new"));
  after = delta_table_snapshot (table, NULL, &error);
  g_assert_no_error (error);
  files = log_text_live_files (after);
  g_assert_cmpstr (files, ==, "new");
}

static void
test_commits_tell_everything (void)
{
  const char *const commits[] = {
    START "{\"commitInfo\":{\"operation\":\"MERGE\",\"isBlindAppend\":false,\"inCommitTimestamp\":5}}\n" ADD (
        "a") "{\"cdc\":{\"path\":\"_change_data/"
             "c%20d\",\"partitionValues\":{\"p\":\"\",\"q\":\"x\\u0001\\n\"},\"size\":1,"
             "\"dataChange\":false,\"tags\":{\"k\":\"v\"}}}\n"
             "{\"remove\":{\"path\":\"r\",\"deletionTimestamp\":7,\"dataChange\":false,\"extendedFileMetadata\":true,"
             "\"partitionValues\":{\"p\":null},\"size\":9,\"baseRowId\":4,\"defaultRowCommitVersion\":2}}\n"
             "{\"domainMetadata\":{\"domain\":\"d\",\"configuration\":\"{}\",\"removed\":true}}\n",
    NULL
  };
  g_autoptr (DeltaTable) table = table_of (commits);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaCommit) commit = delta_table_commit (table, 0, NULL, &error);
  const DeltaAction *action;
  DeltaPartitionValue value;

  g_assert_no_error (error);
  g_assert_cmpuint (delta_commit_n_actions (commit), ==, 7);
  g_assert_cmpint (delta_commit_in_commit_timestamp_ms (commit), ==, 5);
  g_assert_true (delta_commit_changes_data (commit));
  g_assert_false (delta_commit_is_blind_append (commit));
  g_assert_nonnull (delta_commit_metadata (commit));
  g_assert_nonnull (delta_commit_protocol (commit));
  action = delta_commit_action (commit, 4);
  g_assert_cmpint (action->kind, ==, DELTA_ACTION_CDC);
  g_assert_cmpstr (delta_file_decoded_path (action->file), ==, "_change_data/c d");
  g_assert_true (delta_file_find_partition_value (action->file, "p", &value));
  g_assert_null (value.text);
  g_assert_true (delta_file_find_partition_value (action->file, "q", &value));
  g_assert_cmpstr (value.text, ==, "x\001\n");
  g_assert_false (delta_file_find_partition_value (action->file, "z", &value));
  action = delta_commit_action (commit, 5);
  g_assert_cmpint (action->kind, ==, DELTA_ACTION_REMOVE);
  g_assert_cmpint (delta_file_deletion_ms (action->file), ==, 7);
  g_assert_true (delta_file_is_extended (action->file));
  g_assert_false (delta_file_data_change (action->file));
  g_assert_cmpint (delta_file_base_row_id (action->file), ==, 4);
  action = delta_commit_action (commit, 6);
  g_assert_true (action->domain->removed);
}

static void
test_survives_random_damage (void)
{
  static const char text[] =
      START ADD_VECTOR ("a%20b", "v1") REMOVE ("c") "{\"txn\":{\"appId\":\"a\",\"version\":3}}\n{\"commitInfo\":{"
                                                    "\"operation\":\"X\",\"a\":[1,2.5e3,true,null]}}\n";

  for (guint i = 0; i < 3000; i++) {
    g_autofree char *damaged = g_strdup (text);
    const char *commits[] = { damaged, NULL };
    g_autoptr (DeltaTable) table = NULL;
    g_autoptr (DeltaSnapshot) snapshot = NULL;
    for (int k = g_test_rand_int_range (1, 4); k > 0; k--)
      damaged[g_test_rand_int_range (0, (gint32) sizeof text - 1)] = (char) g_test_rand_int_range (1, 256);
    table = table_of (commits);
    snapshot = delta_table_snapshot (table, NULL, NULL); /* whatever it says, it does not crash */
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/delta/log/last-action-on-a-file-wins", test_the_last_action_on_a_file_wins);
  g_test_add_func ("/delta/log/snapshot-moved-on-equals-one-opened-anew",
                   test_a_snapshot_moved_on_equals_one_opened_anew);
  g_test_add_func ("/delta/log/damaged-logs-are-named", test_damaged_logs_are_named);
  g_test_add_func ("/delta/log/deep-nesting-is-bounded", test_deep_nesting_is_bounded);
  g_test_add_func ("/delta/log/gaps-are-told-apart", test_gaps_are_told_apart);
  g_test_add_func ("/delta/log/versions-that-are-not-there", test_versions_that_are_not_there);
  g_test_add_func ("/delta/log/lying-hint-costs-only-time", test_a_lying_hint_costs_only_time);
  g_test_add_func ("/delta/log/odd-listings-do-not-matter", test_odd_listings_do_not_matter);
  g_test_add_func ("/delta/log/replaced-table-is-read-anew", test_a_replaced_table_is_read_anew);
  g_test_add_func ("/delta/log/commits-tell-everything", test_commits_tell_everything);
  g_test_add_func ("/delta/log/survives-random-damage", test_survives_random_damage);
  return g_test_run ();
}

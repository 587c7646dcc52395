/* Commits: what they write, and how they meet others. In memory; no Parquet is touched. */
#include "base-error.h"
#include "base-json.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "log-text.h"
#include "store-context.h"

#include <string.h>

static const BaseClock test_clock = { .fixed_us = G_GINT64_CONSTANT (1767225600000000) };

static DeltaMetadata *
make_metadata (const char *first_key, ...)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) schema = NULL;
  g_autoptr (GHashTable) properties = g_hash_table_new (g_str_hash, g_str_equal);
  const char *columns[] = { "p", NULL };
  va_list arguments;

  base_struct_builder_add (builder, "id", number, TRUE, NULL);
  base_struct_builder_add (builder, "p", text, TRUE, NULL);
  schema = base_struct_builder_end (builder);
  va_start (arguments, first_key);
  for (const char *key = first_key; key != NULL; key = va_arg (arguments, const char *))
    g_hash_table_insert (properties, (gpointer) key, va_arg (arguments, char *));
  va_end (arguments);
  return delta_metadata_new (schema, columns, properties, NULL, NULL, 0);
}

static DeltaFile *
make_file (const char *path, const char *partition, gint64 n_records)
{
  DeltaFileInfo info = DELTA_FILE_INFO_INIT;
  DeltaPartitionValue value = { "p", partition, partition != NULL ? strlen (partition) : 0 };
  g_autofree char *stats = n_records >= 0 ? g_strdup_printf ("{\"numRecords\":%" G_GINT64_FORMAT
                                                             ",\"minValues\":{\"id\":0},\"maxValues\":{\"id\":9}}",
                                                             n_records)
                                          : NULL;

  info.path = path;
  info.size_bytes = 100;
  info.modified_ms = 1;
  info.partition_values = &value;
  info.n_partition_values = 1;
  info.stats = stats;
  return delta_file_new (&info);
}

static DeltaTable *
make_table (StoreContext *context, DeltaMetadata *metadata)
{
  g_autoptr (Store) store = store_memory_new (context);
  DeltaTable *table = delta_table_new (store, NULL);
  g_autoptr (DeltaTransaction) transaction = delta_transaction_new_table (table, metadata, &test_clock);
  DeltaCommitResult result;
  g_autoptr (GError) error = NULL;

  g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  g_assert_no_error (error);
  g_assert_cmpint (result.outcome, ==, DELTA_COMMIT_DONE);
  g_assert_cmpint (result.version, ==, 0);
  return table;
}

static DeltaSnapshot *
open_table (DeltaTable *table)
{
  g_autoptr (GError) error = NULL;
  DeltaSnapshot *snapshot = delta_table_snapshot (table, NULL, &error);

  g_assert_no_error (error);
  return snapshot;
}

static DeltaTransaction *
begin (DeltaTable *table)
{
  g_autoptr (DeltaSnapshot) snapshot = open_table (table);

  return delta_transaction_new (table, snapshot, &test_clock);
}

static void
must_add (DeltaTransaction *transaction, const char *path, const char *partition, gint64 n_records)
{
  g_autoptr (DeltaFile) file = make_file (path, partition, n_records);
  g_autoptr (GError) error = NULL;

  g_assert_true (delta_transaction_add (transaction, file, &error));
  g_assert_no_error (error);
}

static DeltaFile *
read_file (DeltaTransaction *transaction, const char *path)
{
  DeltaFile *file = delta_snapshot_find_file (delta_transaction_read_snapshot (transaction), path);

  g_assert_nonnull (file);
  return file;
}

static void
must_remove (DeltaTransaction *transaction, const char *path, gboolean data_change)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (delta_transaction_remove (transaction, read_file (transaction, path), data_change, &error));
  g_assert_no_error (error);
}

static DeltaVersion
must_commit (DeltaTransaction *transaction)
{
  DeltaCommitResult result;
  g_autoptr (GError) error = NULL;

  g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  g_assert_no_error (error);
  if (result.outcome != DELTA_COMMIT_DONE)
    g_error ("conflict: %s", result.reason);
  return result.version;
}

static void
append (DeltaTable *table, const char *path, const char *partition)
{
  g_autoptr (DeltaTransaction) transaction = begin (table);

  must_add (transaction, path, partition, 10);
  (void) must_commit (transaction);
}

static void
test_writes_what_it_was_told (void)
{
  g_autoptr (DeltaMetadata) metadata = make_metadata (NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaTransaction) transaction = begin (table);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (DeltaCommit) commit = NULL;
  g_autoptr (GError) error = NULL;
  const json_t *info;

  must_add (transaction, "p=a%20b/f1.parquet", "a b", 10);
  delta_transaction_set_operation (transaction, "STREAMING UPDATE");
  delta_transaction_set_parameter (transaction, "outputMode", "Append");
  delta_transaction_set_metric (transaction, "numOutputRows", 10);
  delta_transaction_set_txn (transaction, "run", 7);
  delta_transaction_set_domain (transaction, "sluice.flow.run",
                                "{\"files\":[\"_x/1\",{\"path\":\"_x/2\"}],"
                                "\"hiddenColumns\":[{\"name\":\"_h\"},\"_g\"]}");
  g_assert_cmpint (must_commit (transaction), ==, 1);
  snapshot = open_table (table);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 1);
  g_assert_cmpstr (delta_file_decoded_path (delta_snapshot_file (snapshot, 0)), ==, "p=a b/f1.parquet");
  g_assert_cmpint (delta_snapshot_txn_version (snapshot, "run", -1), ==, 7);
  g_assert_cmpint (delta_snapshot_txn_version (snapshot, "other", -1), ==, -1);
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (snapshot), "domainMetadata"));
  {
    g_auto (GStrv) files = delta_snapshot_domain_files (snapshot);
    g_auto (GStrv) hidden = delta_snapshot_hidden_columns (snapshot);
    const char *const expected_files[] = { "_x/1", "_x/2", NULL };
    const char *const expected_hidden[] = { "_g", "_h", NULL };
    g_assert_true (g_strv_equal ((const char *const *) files, expected_files));
    g_assert_true (g_strv_equal ((const char *const *) hidden, expected_hidden));
  }
  commit = delta_table_commit (table, 1, NULL, &error);
  g_assert_no_error (error);
  info = delta_commit_info (commit);
  g_assert_cmpint (delta_commit_action (commit, 0)->kind, ==, DELTA_ACTION_COMMIT_INFO);
  g_assert_cmpstr (base_json_string (info, "operation"), ==, "STREAMING UPDATE");
  g_assert_cmpstr (base_json_string (json_object_get (info, "operationMetrics"), "numOutputRows"), ==, "10");
  g_assert_true (base_json_bool (info, "isBlindAppend", FALSE));
  g_assert_cmpint (base_json_int64 (info, "readVersion", -1), ==, 0);
}

static void
test_a_second_creator_is_told (void)
{
  g_autoptr (DeltaMetadata) metadata = make_metadata (NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaTransaction) second = delta_transaction_new_table (table, metadata, &test_clock);
  DeltaCommitResult result;
  g_autoptr (GError) error = NULL;

  g_assert_true (delta_transaction_commit (second, NULL, &result, &error));
  g_assert_cmpint (result.outcome, ==, DELTA_COMMIT_CONFLICT);
  g_assert_cmpint (result.condition, ==, SLUICE_ERROR_DELTA_PROTOCOL_CHANGED);
  g_assert_false (delta_commit_result_to_error (&result, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_PROTOCOL_CHANGED);
  delta_commit_result_clear (&result);
}

/* What a transaction does; both sides of a conflict are made of these. */
typedef enum {
  APPENDS,             /* adds new.parquet, partition b */
  APPENDS_OTHER,       /* adds other.parquet, partition c */
  READS_ALL_ADDS,      /* reads the table, adds */
  READS_A_ADDS,        /* reads p = 'a', adds */
  READS_B_ADDS,        /* reads p = 'b', adds */
  DELETES_F1,          /* removes f1 (partition a) */
  DELETES_F2,          /* removes f2 (partition a) */
  MARKS_F1,            /* puts a vector on f1 */
  COMPACTS_F1,         /* rewrites f1 without changing data */
  READS_F1_ADDS,       /* reads f1, adds */
  SETS_PROPERTY,       /* changes metadata */
  RAISES_PROTOCOL,     /* adds a feature */
  COMMITS_TXN,         /* txn of application x */
  WRITES_DOMAIN,       /* domain d */
  WRITES_OTHER_DOMAIN, /* domain e */
} Deed;

static void
do_deed (DeltaTransaction *transaction, Deed deed, const char *suffix)
{
  DeltaConstant constant = { .kind = BASE_TYPE_STRING, .text = deed == READS_A_ADDS ? "a" : "b", .text_bytes = 1 };
  DeltaPredicate predicate = { 1, DELTA_PREDICATE_EQ, &constant, 1 };
  DeltaVectorDescriptor vector = { 'i', (char *) "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", -1, 40, 6 };
  g_autofree char *name = g_strdup_printf ("new-%s.parquet", suffix);
  g_autoptr (GError) error = NULL;

  switch (deed) {
  case APPENDS:
    must_add (transaction, name, "b", 10);
    break;
  case APPENDS_OTHER:
    must_add (transaction, name, "c", 10);
    break;
  case READS_ALL_ADDS:
    delta_transaction_read_table (transaction);
    must_add (transaction, name, "c", 10);
    break;
  case READS_A_ADDS:
  case READS_B_ADDS:
    delta_transaction_read_matching (transaction, &predicate, 1);
    must_add (transaction, name, "c", 10);
    break;
  case DELETES_F1:
    must_remove (transaction, "f1.parquet", TRUE);
    break;
  case DELETES_F2:
    must_remove (transaction, "f2.parquet", TRUE);
    break;
  case MARKS_F1:
    g_assert_true (
        delta_transaction_update_vector (transaction, read_file (transaction, "f1.parquet"), &vector, TRUE, &error));
    break;
  case COMPACTS_F1: {
    DeltaFileInfo info = delta_file_info (read_file (transaction, "f1.parquet"));
    g_autoptr (DeltaFile) file = NULL;
    info.path = name;
    info.data_change = FALSE;
    file = delta_file_new (&info);
    delta_transaction_read_file (transaction, read_file (transaction, "f1.parquet"));
    must_remove (transaction, "f1.parquet", FALSE);
    g_assert_true (delta_transaction_add (transaction, file, &error));
    break;
  }
  case READS_F1_ADDS:
    delta_transaction_read_file (transaction, read_file (transaction, "f1.parquet"));
    must_add (transaction, name, "c", 10);
    break;
  case SETS_PROPERTY: {
    g_autoptr (DeltaMetadata) changed =
        delta_metadata_with_property (delta_transaction_metadata (transaction), "user", suffix);
    delta_transaction_set_metadata (transaction, changed);
    break;
  }
  case RAISES_PROTOCOL:
    delta_transaction_require_feature (transaction, "vacuumProtocolCheck");
    break;
  case COMMITS_TXN:
    delta_transaction_set_txn (transaction, "x", 1);
    must_add (transaction, name, "c", 10);
    break;
  case WRITES_DOMAIN:
    delta_transaction_set_domain (transaction, "d", "{}");
    break;
  case WRITES_OTHER_DOMAIN:
    delta_transaction_set_domain (transaction, "e", "{}");
    break;
  }
}

#define NONE SLUICE_ERROR_N_CODES

static void
test_conflicts_are_found_and_only_those (void)
{
  static const struct {
    Deed winner;
    Deed loser;
    SluiceError condition;
    gboolean write_serializable;
  } cases[] = {
    { APPENDS, APPENDS, NONE, FALSE },
    { APPENDS, APPENDS_OTHER, NONE, FALSE },
    { APPENDS, READS_ALL_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_APPEND, FALSE },
    { APPENDS, READS_ALL_ADDS, NONE, TRUE },
    { READS_ALL_ADDS, READS_ALL_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_APPEND, TRUE },
    { APPENDS, READS_A_ADDS, NONE, FALSE },
    { APPENDS, READS_B_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_APPEND, FALSE },
    { APPENDS, DELETES_F1, NONE, FALSE },
    { APPENDS, READS_F1_ADDS, NONE, FALSE },
    { READS_ALL_ADDS, APPENDS, NONE, FALSE },
    { DELETES_F1, APPENDS, NONE, FALSE },
    { DELETES_F1, DELETES_F1, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_DELETE, FALSE },
    { DELETES_F1, DELETES_F2, NONE, FALSE },
    { DELETES_F1, READS_F1_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_READ, FALSE },
    { DELETES_F2, READS_F1_ADDS, NONE, FALSE },
    { DELETES_F1, READS_A_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_READ, FALSE },
    { DELETES_F1, READS_B_ADDS, NONE, FALSE },
    { DELETES_F1, READS_ALL_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_READ, FALSE },
    { MARKS_F1, MARKS_F1, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_DELETE, FALSE },
    { MARKS_F1, READS_F1_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_READ, FALSE },
    { MARKS_F1, COMPACTS_F1, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_DELETE, FALSE },
    { COMPACTS_F1, MARKS_F1, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_DELETE, FALSE },
    { COMPACTS_F1, READS_F1_ADDS, SLUICE_ERROR_DELTA_CONCURRENT_DELETE_READ, FALSE },
    { COMPACTS_F1, READS_ALL_ADDS, NONE, FALSE },
    { COMPACTS_F1, APPENDS, NONE, FALSE },
    { APPENDS, COMPACTS_F1, NONE, FALSE },
    { SETS_PROPERTY, APPENDS, SLUICE_ERROR_DELTA_METADATA_CHANGED, FALSE },
    { SETS_PROPERTY, SETS_PROPERTY, SLUICE_ERROR_DELTA_METADATA_CHANGED, FALSE },
    { APPENDS, SETS_PROPERTY, NONE, FALSE },
    { RAISES_PROTOCOL, APPENDS, SLUICE_ERROR_DELTA_PROTOCOL_CHANGED, FALSE },
    { COMMITS_TXN, COMMITS_TXN, SLUICE_ERROR_DELTA_CONCURRENT_TRANSACTION, FALSE },
    { COMMITS_TXN, APPENDS, NONE, FALSE },
    { WRITES_DOMAIN, WRITES_DOMAIN, SLUICE_ERROR_DELTA_CONCURRENT_TRANSACTION, FALSE },
    { WRITES_DOMAIN, WRITES_OTHER_DOMAIN, NONE, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (DeltaMetadata) metadata =
        make_metadata ("delta.isolationLevel", cases[i].write_serializable ? "WriteSerializable" : "Serializable",
                       "delta.enableDeletionVectors", "true", "delta.enableRowTracking", "true", NULL);
    g_autoptr (DeltaTable) table = make_table (NULL, metadata);
    g_autoptr (DeltaTransaction) winner = NULL;
    g_autoptr (DeltaTransaction) loser = NULL;
    g_autoptr (GError) error = NULL;
    DeltaCommitResult result;
    append (table, "f1.parquet", "a");
    append (table, "f2.parquet", "a");
    winner = begin (table);
    loser = begin (table);
    do_deed (winner, cases[i].winner, "winner");
    do_deed (loser, cases[i].loser, "loser");
    (void) must_commit (winner);
    g_assert_true (delta_transaction_commit (loser, NULL, &result, &error));
    g_assert_no_error (error);
    g_test_message ("case %u: %s", i, result.outcome == DELTA_COMMIT_CONFLICT ? result.reason : "no conflict");
    if (cases[i].condition == NONE) {
      g_assert_cmpint (result.outcome, ==, DELTA_COMMIT_DONE);
      g_assert_cmpint (result.version, ==, 4);
    } else {
      g_assert_cmpint (result.outcome, ==, DELTA_COMMIT_CONFLICT);
      g_assert_cmpint (result.condition, ==, cases[i].condition);
      g_assert_cmpint (result.version, ==, 3);
    }
    delta_commit_result_clear (&result);
  }
}

static void
test_row_ids_follow_the_winners (void)
{
  g_autoptr (DeltaMetadata) plain = make_metadata ("delta.enableRowTracking", "true", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaMetadata) metadata = delta_metadata_prepare (plain, NULL, &error);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaTransaction) first = begin (table);
  g_autoptr (DeltaTransaction) second = begin (table);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  DeltaFile *file;

  g_assert_nonnull (delta_metadata_row_id_column (metadata));
  must_add (first, "a.parquet", "a", 100);
  must_add (first, "b.parquet", "a", 5);
  must_add (second, "c.parquet", "a", 7);
  g_assert_cmpint (must_commit (first), ==, 1);
  g_assert_cmpint (must_commit (second), ==, 2);
  snapshot = open_table (table);
  g_assert_cmpint (delta_snapshot_row_id_high_water_mark (snapshot), ==, 111);
  file = delta_snapshot_find_file (snapshot, "a.parquet");
  g_assert_cmpint (delta_file_base_row_id (file), ==, 0);
  g_assert_cmpint (delta_file_default_row_commit_version (file), ==, 1);
  file = delta_snapshot_find_file (snapshot, "b.parquet");
  g_assert_cmpint (delta_file_base_row_id (file), ==, 100);
  file = delta_snapshot_find_file (snapshot, "c.parquet");
  g_assert_cmpint (delta_file_base_row_id (file), ==, 105);
  g_assert_cmpint (delta_file_default_row_commit_version (file), ==, 2);
  {
    g_autoptr (DeltaTransaction) third = begin (table);
    DeltaVectorDescriptor vector = { 'i', (char *) "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", -1, 40, 6 };
    g_autoptr (DeltaFile) nameless = make_file ("d.parquet", "a", -1);
    g_assert_false (delta_transaction_add (third, nameless, &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS);
    g_clear_error (&error);
    g_assert_true (delta_transaction_update_vector (third, read_file (third, "c.parquet"), &vector, TRUE, &error));
    (void) must_commit (third);
  }
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  snapshot = open_table (table);
  file = delta_snapshot_find_file (snapshot, "c.parquet");
  g_assert_cmpint (delta_file_base_row_id (file), ==, 105);
  g_assert_cmpint (delta_file_default_row_commit_version (file), ==, 2);
  g_assert_cmpint (delta_file_n_live_records (file), ==, 1);
  g_assert_nonnull (strstr (delta_file_stats (file), "\"tightBounds\":false"));
  g_assert_cmpint (delta_snapshot_row_id_high_water_mark (snapshot), ==, 111);
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (snapshot), "deletionVectors"));
  g_assert_cmpuint (delta_snapshot_n_tombstones (snapshot), ==, 1);
}

static void
test_in_commit_timestamps_only_grow (void)
{
  g_autoptr (DeltaMetadata) metadata = make_metadata ("delta.enableInCommitTimestamps", "true", NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (GError) error = NULL;
  DeltaVersion version;
  gint64 start_ms = test_clock.fixed_us / 1000;

  append (table, "a.parquet", "a");
  append (table, "b.parquet", "a");
  snapshot = open_table (table);
  g_assert_cmpint (delta_snapshot_timestamp_ms (snapshot), ==, start_ms + 2);
  g_assert_true (delta_table_version_at (table, start_ms + 1, DELTA_AT_OR_BEFORE, FALSE, &version, &error));
  g_assert_cmpint (version, ==, 1);
  g_assert_true (delta_table_version_at (table, start_ms - 5, DELTA_AT_OR_AFTER, FALSE, &version, &error));
  g_assert_cmpint (version, ==, 0);
  g_assert_false (delta_table_version_at (table, start_ms - 5, DELTA_AT_OR_BEFORE, FALSE, &version, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION);
  g_clear_error (&error);
  g_assert_false (delta_table_version_at (table, start_ms + 9, DELTA_AT_OR_BEFORE, FALSE, &version, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_TIMESTAMP_GREATER_THAN_COMMIT);
  g_clear_error (&error);
  g_assert_true (delta_table_version_at (table, start_ms + 9, DELTA_AT_OR_BEFORE, TRUE, &version, &error));
  g_assert_cmpint (version, ==, 2);
}

static void
set_metadata (DeltaTable *table, DeltaMetadata *metadata)
{
  g_autoptr (DeltaTransaction) transaction = begin (table);

  delta_transaction_set_metadata (transaction, metadata);
  must_commit (transaction);
}

static void
test_enabling_in_commit_timestamps_is_recorded (void)
{
  static const char version_key[] = "delta.inCommitTimestampEnablementVersion";
  static const char timestamp_key[] = "delta.inCommitTimestampEnablementTimestamp";
  g_autoptr (DeltaMetadata) plain = make_metadata (NULL, NULL);
  g_autoptr (DeltaMetadata) stamped = make_metadata ("delta.enableInCommitTimestamps", "true", NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, plain);
  g_autoptr (DeltaCommit) commit = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaSnapshot) before = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autofree char *recorded = NULL;

  append (table, "a.parquet", "a");
  before = open_table (table);
  set_metadata (table, stamped);
  append (table, "b.parquet", "a");
  snapshot = open_table (table);
  commit = delta_table_commit (table, 2, NULL, &error);
  g_assert_no_error (error);
  /* Later than the file before it, though the clock says otherwise. */
  g_assert_cmpint (delta_commit_in_commit_timestamp_ms (commit), >, delta_snapshot_timestamp_ms (before));
  recorded = g_strdup_printf ("%" G_GINT64_FORMAT, delta_commit_in_commit_timestamp_ms (commit));
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), version_key), ==, "2");
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), timestamp_key), ==, recorded);
  /* Metadata that replaces the table's keeps the record; disabled and enabled anew it is another one. */
  set_metadata (table, stamped);
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  snapshot = open_table (table);
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), version_key), ==, "2");
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), timestamp_key), ==, recorded);
  set_metadata (table, plain);
  set_metadata (table, stamped);
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  snapshot = open_table (table);
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), version_key), ==, "6");
}

/* A table that was copied: its files are all of today, its commits say when they were made. */
static void
test_in_commit_timestamps_and_file_times_do_not_mix (void)
{
  static const char *const commits[] = {
    "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":7,\"writerFeatures\":[\"inCommitTimestamp\"]}}"
    "\n" METADATA,
    "",
    "{\"commitInfo\":{\"inCommitTimestamp\":1000000}}\n"
    "{\"metaData\":" METADATA_VALUE (
        "\"delta.enableInCommitTimestamps\":\"true\",\"delta.inCommitTimestampEnablementVersion\":\"2\","
        "\"delta.inCommitTimestampEnablementTimestamp\":\"1000000\"") "}\n",
    "{\"commitInfo\":{\"inCommitTimestamp\":2000000}}\n",
  };
  static const struct {
    gint64 timestamp_ms;
    DeltaTimestampBound bound;
    DeltaVersion version; /* -1 = refused */
  } cases[] = {
    { 999999, DELTA_AT_OR_BEFORE, -1 }, { 999999, DELTA_AT_OR_AFTER, 0 },    { 1000000, DELTA_AT_OR_BEFORE, 2 },
    { 1000000, DELTA_AT_OR_AFTER, 2 },  { 1500000, DELTA_AT_OR_BEFORE, 2 },  { 1500000, DELTA_AT_OR_AFTER, 3 },
    { 2000000, DELTA_AT_OR_BEFORE, 3 }, { 2000001, DELTA_AT_OR_BEFORE, -1 },
  };
  g_autofree char *directory = g_dir_make_tmp ("sluice-delta-XXXXXX", NULL);
  g_autoptr (Store) store = store_open (NULL, directory, NULL); /* one with real times */
  g_autoptr (DeltaTable) table = delta_table_new (store, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (commits); i++)
    log_text_put_commit (store, i, commits[i]);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    DeltaVersion version = -1;
    gboolean found = delta_table_version_at (table, cases[i].timestamp_ms, cases[i].bound, FALSE, &version, &error);
    g_test_message ("case %u: %" G_GINT64_FORMAT, i, version);
    g_assert_cmpint (found, ==, cases[i].version >= 0);
    g_assert_cmpint (version, ==, cases[i].version);
  }
  g_assert_true (store_delete_tree (store, "", NULL));
}

/* Domains of others, clustering and identity columns stay as they are when the table is written to. */
static void
test_what_others_set_survives (void)
{
  static const char start[] =
      "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":7,\"writerFeatures\":[\"clustering\","
      "\"domainMetadata\",\"identityColumns\"]}}\n"
      "{\"metaData\":{\"id\":\"t\",\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[{\\\"name\\\":"
      "\\\"id\\\","
      "\\\"type\\\":\\\"long\\\",\\\"nullable\\\":true,\\\"metadata\\\":{\\\"delta.identity.start\\\":1,"
      "\\\"delta.identity.step\\\":2,\\\"delta.identity.highWaterMark\\\":9,\\\"x.y\\\":{\\\"z\\\":[1]}}}]}\","
      "\"partitionColumns\":[],\"configuration\":{\"someone.else\":\"1\",\"delta.not.known.here\":\"2\"}}}\n"
      "{\"domainMetadata\":{\"domain\":\"delta.clustering\",\"configuration\":\"{\\\"clusteringColumns\\\":[["
      "\\\"id\\\"]]}\","
      "\"removed\":false}}\n"
      "{\"domainMetadata\":{\"domain\":\"someone.else\",\"configuration\":\"{ \\\"a\\\" : 1 }\",\"removed\":false}}\n"
      "{\"add\":{\"path\":\"a.parquet\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true,"
      "\"tags\":{\"ZCUBE_ID\":\"q\"},\"clusteringProvider\":\"liquid\"}}\n";
  g_autoptr (Store) store = store_memory_new (NULL);
  g_autoptr (DeltaTable) table = delta_table_new (store, NULL);
  g_autoptr (DeltaTransaction) transaction = NULL;
  g_autoptr (DeltaMetadata) changed = NULL;
  g_autoptr (DeltaMetadata) prepared = NULL;
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (json_t) schema = NULL;
  const BaseField *field;
  g_autofree char *text = NULL;

  log_text_put_commit (store, 0, start);
  transaction = begin (table);
  changed = delta_metadata_with_property (delta_transaction_metadata (transaction), "mine", "3");
  prepared = delta_metadata_prepare (changed, delta_transaction_metadata (transaction), &error);
  g_assert_no_error (error);
  delta_transaction_set_metadata (transaction, prepared);
  must_remove (transaction, "a.parquet", FALSE);
  must_commit (transaction);
  snapshot = open_table (table);
  field = base_type_field (delta_snapshot_schema (snapshot), 0);
  schema = json_incref (field->metadata);
  text = base_json_text (schema);
  g_assert_cmpstr (
      text, ==,
      "{\"delta.identity.start\":1,\"delta.identity.step\":2,\"delta.identity.highWaterMark\":9,\"x.y\":{\"z\":[1]}}");
  g_assert_cmpstr (delta_snapshot_domain (snapshot, "delta.clustering"), ==, "{\"clusteringColumns\":[[\"id\"]]}");
  g_assert_cmpstr (delta_snapshot_domain (snapshot, "someone.else"), ==, "{ \"a\" : 1 }");
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), "delta.not.known.here"), ==, "2");
  g_assert_cmpstr (delta_metadata_property (delta_snapshot_metadata (snapshot), "mine"), ==, "3");
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (snapshot), "clustering"));
  g_assert_true (delta_protocol_has (delta_snapshot_protocol (snapshot), "identityColumns"));
}

/* Each feature that is not written is refused by its name, before anything is put into the log. */
static void
test_features_not_written_are_named (void)
{
  static const char *const features[] = { "warp",
                                          "icebergCompatV1",
                                          "icebergCompatV2",
                                          "icebergCompatV3",
                                          "materializePartitionColumns",
                                          "coordinatedCommits-preview",
                                          "redirectWriterOnly-preview",
                                          "collations" };

  for (guint i = 0; i < G_N_ELEMENTS (features); i++) {
    g_autofree char *start = g_strdup_printf ("{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":7,"
                                              "\"writerFeatures\":[\"%s\",\"appendOnly\"]}}\n" METADATA,
                                              features[i]);
    g_autoptr (Store) store = store_memory_new (NULL);
    g_autoptr (DeltaTable) table = delta_table_new (store, NULL);
    g_autoptr (DeltaTransaction) transaction = NULL;
    g_autoptr (GError) error = NULL;
    DeltaCommitResult result;
    log_text_put_commit (store, 0, start);
    transaction = begin (table); /* reading goes on */
    must_add (transaction, "a.parquet", NULL, 1);
    g_assert_false (delta_transaction_commit (transaction, NULL, &result, &error));
    g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_WRITE);
    g_assert_cmpstr (base_error_param (error, "unsupported"), ==, features[i]);
  }
}

static void
test_append_only_tables_lose_nothing (void)
{
  g_autoptr (DeltaMetadata) metadata = make_metadata ("delta.appendOnly", "true", NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaTransaction) transaction = NULL;
  g_autoptr (GError) error = NULL;

  append (table, "a.parquet", "a");
  transaction = begin (table);
  g_assert_false (delta_transaction_remove (transaction, read_file (transaction, "a.parquet"), TRUE, &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_CANNOT_MODIFY_APPEND_ONLY);
  g_clear_error (&error);
  g_assert_true (delta_transaction_remove (transaction, read_file (transaction, "a.parquet"), FALSE, &error));
}

/* Every storage operation of a commit is lost, fails or tears once: the table then holds the commit or not, and what the
 * writer was told is true. */
static void
test_faults_never_make_it_lie (void)
{
  static const StoreFaultMode modes[] = { STORE_FAULT_FAIL, STORE_FAULT_LOST, STORE_FAULT_TORN };

  for (guint m = 0; m < G_N_ELEMENTS (modes); m++)
    for (guint64 n = 1; n < 40; n++) {
      g_autoptr (StoreContext) context = store_context_new ();
      g_autoptr (DeltaMetadata) metadata = make_metadata (NULL);
      g_autoptr (DeltaTable) table = make_table (context, metadata);
      g_autoptr (DeltaTransaction) transaction = begin (table);
      g_autoptr (DeltaSnapshot) after = NULL;
      g_autoptr (GError) error = NULL;
      DeltaCommitResult result = { 0 };
      gboolean told;
      gboolean there;
      append (table, "other.parquet", "a"); /* so that the first put is lost */
      must_add (transaction, "mine.parquet", "a", 10);
      store_context_set_fault (context, n, modes[m]);
      told = delta_transaction_commit (transaction, NULL, &result, &error);
      if (!store_context_was_injected (context)) {
        g_assert_true (told);
        break;
      }
      store_context_set_fault (context, 0, STORE_FAULT_NONE);
      after = open_table (table);
      there = delta_snapshot_find_file (after, "mine.parquet") != NULL;
      if (told)
        g_assert_true (there);
      else if (!g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_COMMIT_UNKNOWN))
        g_assert_false (there);
      g_assert_nonnull (delta_snapshot_find_file (after, "other.parquet"));
    }
}

static gpointer
append_many (gpointer data)
{
  DeltaTable *shared = data;
  g_autoptr (DeltaTable) table = delta_table_new (delta_table_store (shared), NULL);

  for (guint i = 0; i < 50; i++) {
    g_autofree char *name = g_strdup_printf ("f-%p-%u.parquet", (void *) g_thread_self (), i);
    append (table, name, "a");
  }
  return NULL;
}

static void
test_many_writers_lose_nothing (void)
{
  g_autoptr (DeltaMetadata) metadata = make_metadata ("delta.enableRowTracking", "true", NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (GHashTable) ids = g_hash_table_new (NULL, NULL);
  GThread *threads[6];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("writer", append_many, table);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  snapshot = open_table (table);
  g_assert_cmpint (delta_snapshot_version (snapshot), ==, 300);
  g_assert_cmpuint (delta_snapshot_n_files (snapshot), ==, 300);
  for (guint i = 0; i < 300; i++)
    g_assert_true (
        g_hash_table_add (ids, GSIZE_TO_POINTER (delta_file_base_row_id (delta_snapshot_file (snapshot, i)) + 1)));
  g_assert_cmpint (delta_snapshot_row_id_high_water_mark (snapshot), ==, 2999);
}

static void
test_a_replaced_table_gets_no_old_commit (void)
{
  g_autoptr (DeltaMetadata) metadata = make_metadata (NULL);
  g_autoptr (DeltaTable) table = make_table (NULL, metadata);
  g_autoptr (DeltaTransaction) transaction = begin (table);
  DeltaCommitResult result;
  g_autoptr (GError) error = NULL;

  must_add (transaction, "a.parquet", "a", 10);
  g_assert_true (store_delete_tree (delta_table_store (table), "_delta_log", &error));
  g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
  g_assert_cmpint (result.outcome, ==, DELTA_COMMIT_CONFLICT);
  g_assert_cmpint (result.condition, ==, SLUICE_ERROR_DELTA_METADATA_CHANGED);
  delta_commit_result_clear (&result);
}

static void
test_protocols_grow_as_needed (void)
{
  static const struct {
    const char *key;
    const char *value;
    int reader;
    int writer;
    const char *features;
  } cases[] = {
    { "user", "x", 1, 2, "" },
    { "delta.enableChangeDataFeed", "true", 1, 4, "" },
    { "delta.columnMapping.mode", "name", 2, 5, "" },
    { "delta.enableRowTracking", "true", 1, 7, "appendOnly,domainMetadata,invariants,rowTracking" },
    { "delta.enableDeletionVectors", "true", 3, 7, "appendOnly,deletionVectors,invariants" },
    { "delta.enableInCommitTimestamps", "true", 1, 7, "appendOnly,inCommitTimestamp,invariants" },
    { "delta.constraints.c", "id > 0", 1, 3, "" },
    { "delta.appendOnly", "true", 1, 2, "" },
    { "delta.enableTypeWidening", "true", 3, 7, "appendOnly,invariants,typeWidening" },
    { "delta.checkpointPolicy", "v2", 3, 7, "appendOnly,invariants,v2Checkpoint" },
    { "delta.checkpointPolicy", "classic", 1, 2, "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (DeltaMetadata) metadata = make_metadata (cases[i].key, cases[i].value, NULL);
    g_autoptr (DeltaProtocol) protocol = delta_protocol_for_metadata (metadata);
    g_autofree char *features = g_strjoinv (",", (char **) delta_protocol_writer_features (protocol));
    g_assert_cmpint (delta_protocol_reader_version (protocol), ==, cases[i].reader);
    g_assert_cmpint (delta_protocol_writer_version (protocol), ==, cases[i].writer);
    g_assert_cmpstr (features, ==, cases[i].features);
  }
}

static void
test_properties_are_checked (void)
{
  static const struct {
    const char *key;
    const char *value;
    SluiceError code;
  } cases[] = {
    { "delta.enableChangeDataFed", "true", SLUICE_ERROR_DELTA_UNKNOWN_CONFIGURATION },
    { "delta.appendOnly", "maybe", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
    { "delta.checkpointInterval", "0", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
    { "delta.logRetentionDuration", "interval 1 month", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
    { "delta.logRetentionDuration", "interval 1 day", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
    { "delta.columnMapping.mode", "upside-down", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
    { "delta.checkpointPolicy", "v3", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
    { "delta.isolationLevel", "none", SLUICE_ERROR_DELTA_ILLEGAL_OPTION },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (DeltaMetadata) metadata = make_metadata (cases[i].key, cases[i].value, NULL);
    g_autoptr (GError) error = NULL;
    g_assert_null (delta_metadata_prepare (metadata, NULL, &error));
    g_assert_error (error, SLUICE_ERROR, (int) cases[i].code);
  }
  {
    g_autoptr (DeltaMetadata) metadata =
        make_metadata ("DELTA.columnmapping.MODE", "name", "delta.feature.deletionVectors", "supported", NULL);
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaMetadata) prepared = delta_metadata_prepare (metadata, NULL, &error);
    g_auto (GStrv) wished = delta_metadata_wished_features (metadata);
    g_assert_no_error (error);
    g_assert_cmpint (delta_metadata_mapping (prepared), ==, DELTA_MAPPING_NAME);
    g_assert_cmpstr (delta_metadata_property (prepared, "delta.columnMapping.maxColumnId"), ==, "2");
    g_assert_cmpint (delta_field_id (base_type_field (delta_metadata_schema (prepared), 1)), ==, 2);
    g_assert_true (g_str_has_prefix (
        delta_field_physical_name (base_type_field (delta_metadata_schema (prepared), 0), DELTA_MAPPING_NAME), "col-"));
    g_assert_null (delta_metadata_property (prepared, "delta.feature.deletionVectors"));
    g_assert_cmpstr (wished[0], ==, "deletionVectors");
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/delta/transaction/writes-what-it-was-told", test_writes_what_it_was_told);
  g_test_add_func ("/delta/transaction/second-creator-is-told", test_a_second_creator_is_told);
  g_test_add_func ("/delta/transaction/conflicts", test_conflicts_are_found_and_only_those);
  g_test_add_func ("/delta/transaction/row-ids-follow-the-winners", test_row_ids_follow_the_winners);
  g_test_add_func ("/delta/transaction/in-commit-timestamps-only-grow", test_in_commit_timestamps_only_grow);
  g_test_add_func ("/delta/transaction/enabling-in-commit-timestamps-is-recorded",
                   test_enabling_in_commit_timestamps_is_recorded);
  g_test_add_func ("/delta/transaction/in-commit-timestamps-and-file-times-do-not-mix",
                   test_in_commit_timestamps_and_file_times_do_not_mix);
  g_test_add_func ("/delta/transaction/what-others-set-survives", test_what_others_set_survives);
  g_test_add_func ("/delta/transaction/features-not-written-are-named", test_features_not_written_are_named);
  g_test_add_func ("/delta/transaction/append-only-tables-lose-nothing", test_append_only_tables_lose_nothing);
  g_test_add_func ("/delta/transaction/faults-never-make-it-lie", test_faults_never_make_it_lie);
  g_test_add_func ("/delta/transaction/many-writers-lose-nothing", test_many_writers_lose_nothing);
  g_test_add_func ("/delta/transaction/replaced-table-gets-no-old-commit", test_a_replaced_table_gets_no_old_commit);
  g_test_add_func ("/delta/transaction/protocols-grow-as-needed", test_protocols_grow_as_needed);
  g_test_add_func ("/delta/transaction/properties-are-checked", test_properties_are_checked);
  return g_test_run ();
}

/* Checkpoints of every form and name, log compactions and checksum files: what they say, and what is wrong with them. */
#include "../../../tests/support/canon.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-checkpoint.h"
#include "delta-metadata.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "duck-engine.h"
#include "log-text.h"

#include <string.h>

#define PROTOCOL_VALUE                                                                                                 \
  "{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"v2Checkpoint\"],"                              \
  "\"writerFeatures\":[\"v2Checkpoint\",\"domainMetadata\"]}"
#define PROTOCOL        "{\"protocol\":" PROTOCOL_VALUE "}\n"
#define START           PROTOCOL METADATA
#define DOMAIN(name)    "{\"domainMetadata\":{\"domain\":\"" name "\",\"configuration\":\"{}\",\"removed\":false}}\n"
#define NO_DOMAIN(name) "{\"domainMetadata\":{\"domain\":\"" name "\",\"configuration\":\"{}\",\"removed\":true}}\n"
#define V2(version)     "{\"checkpointMetadata\":{\"version\":" version ",\"tags\":{}}}\n"
#define SIDECAR(path)   "{\"sidecar\":{\"path\":\"" path "\",\"sizeInBytes\":9,\"modificationTime\":1}}\n"
#define UUID            "80a083e8-7026-4e79-81be-64bd76c43a11"
#define CHECKPOINT(v)   "0000000000000000000" #v ".checkpoint." UUID ".json"
#define COMMIT(v)       "0000000000000000000" #v ".json"
#define COMPACTED(v, w) "0000000000000000000" #v ".0000000000000000000" #w ".compacted.json"
#define CRC(v)          "0000000000000000000" #v ".crc"
#define SUM(files)      "{\"numFiles\":" #files ",\"tableSizeBytes\":" #files ",\"numMetadata\":1,\"numProtocol\":1}"
#define SUM_DOMAINS(files, list)                                                                                       \
  "{\"numFiles\":" #files ",\"tableSizeBytes\":" #files                                                                \
  ",\"numMetadata\":1,\"numProtocol\":1,\"metadata\":" METADATA_VALUE ("") ",\"protocol\":" PROTOCOL_VALUE             \
                                                                           ",\"domainMetadata\":" list "}"

typedef struct {
  const char *name;
  const char *text;
} LogFile;

static DeltaTable *
table_of (const LogFile *files, DuckEngine *engine)
{
  g_autoptr (Store) store = store_memory_new (NULL);

  for (; files->name != NULL; files++)
    log_text_put (store, files->name, files->text);
  return delta_table_new (store, engine);
}

/* Files of the log, and the live files or the condition that come of it. */
typedef struct {
  const char *what;
  LogFile files[9];
  const char *live; /* NULL: refused with … */
  SluiceError code;
} Case;

static void
run_cases (const Case *cases, guint n_cases)
{
  for (guint i = 0; i < n_cases; i++) {
    g_autoptr (DeltaTable) table = table_of (cases[i].files, NULL);
    g_autoptr (GError) error = NULL;
    g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
    g_autofree char *live = snapshot != NULL ? log_text_live_files (snapshot) : NULL;
    g_test_message ("%s: %s", cases[i].what, error != NULL ? error->message : live);
    g_assert_cmpstr (live, ==, cases[i].live);
    if (cases[i].live == NULL)
      g_assert_error (error, SLUICE_ERROR, (int) cases[i].code);
  }
}

static void
test_checkpoints_in_json (void)
{
  static const Case cases[] = {
    { "all in the top file", { { CHECKPOINT (1), V2 ("1") START ADD ("a") REMOVE ("b") } }, "a", 0 },
    { "commits after it", { { CHECKPOINT (1), V2 ("1") START ADD ("a") }, { COMMIT (2), ADD ("c") } }, "a c", 0 },
    { "the commits below it do not count",
      { { COMMIT (0), "junk" }, { COMMIT (1), "junk" }, { CHECKPOINT (1), V2 ("1") START ADD ("a") } },
      "a",
      0 },
    { "blank lines and unknown actions",
      { { CHECKPOINT (1), "\n" V2 ("1") "{\"later\":{\"x\":1}}\n\n" START ADD ("a") } },
      "a",
      0 },
    { "null for an action of the V2 form",
      { { CHECKPOINT (1), V2 ("1") "{\"sidecar\":null}\n" START ADD ("a") } },
      "a",
      0 },
    { "a name that is no UUID is no checkpoint",
      { { "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a1x.json", "junk" },
        { COMMIT (0), START } },
      "",
      0 },
    { "of another version",
      { { CHECKPOINT (1), V2 ("7") START ADD ("a") } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "without its checkpointMetadata",
      { { CHECKPOINT (1), START ADD ("a") } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "empty", { { CHECKPOINT (1), "" } }, NULL, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "junk", { { CHECKPOINT (1), "junk" } }, NULL, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "no UTF-8", { { CHECKPOINT (1), V2 ("1") START "\xff" } }, NULL, SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "more behind an action",
      { { CHECKPOINT (1), "{\"checkpointMetadata\":{\"version\":1}} x\n" START } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "an action that is no object",
      { { CHECKPOINT (1), "{\"checkpointMetadata\":[1]}\n" START } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "a version that is text",
      { { CHECKPOINT (1), "{\"checkpointMetadata\":{\"version\":\"1\"}}\n" START } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "a sidecar of no name",
      { { CHECKPOINT (1), V2 ("1") START SIDECAR ("a/..") } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "a sidecar that leads elsewhere",
      { { CHECKPOINT (1), V2 ("1") START SIDECAR ("..%2f..%2fx") } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "a sidecar whose path is no text",
      { { CHECKPOINT (1), V2 ("1") START "{\"sidecar\":{\"path\":7}}\n" } },
      NULL,
      SLUICE_ERROR_DELTA_CHECKPOINT_CORRUPT },
    { "a bad one costs nothing where commits are there",
      { { CHECKPOINT (1), "junk" }, { COMMIT (0), START ADD ("a") }, { COMMIT (1), ADD ("b") } },
      "a b",
      0 },
    { "without a protocol", { { CHECKPOINT (1), V2 ("1") METADATA } }, NULL, SLUICE_ERROR_DELTA_STATE_RECOVER_ERROR },
  };

  run_cases (cases, G_N_ELEMENTS (cases));
}

static void
test_compactions_are_taken_where_a_checksum_confirms_them (void)
{
  /* A commit that cannot be read tells whether its compaction was taken. */
  static const Case cases[] = {
    { "confirmed",
      { { COMMIT (0), START },
        { COMMIT (1), "junk" },
        { COMMIT (2), "junk" },
        { COMPACTED (1, 2), ADD ("a") REMOVE ("x") },
        { CRC (2), SUM_DOMAINS (1, "[]") } },
      "a",
      0 },
    { "the longest one",
      { { COMMIT (0), START },
        { COMMIT (1), "junk" },
        { COMMIT (2), "junk" },
        { COMMIT (3), "junk" },
        { COMPACTED (1, 2), "junk" },
        { COMPACTED (1, 3), ADD ("b") },
        { CRC (3), SUM_DOMAINS (1, "[]") } },
      "b",
      0 },
    { "one that goes beyond the newest version",
      { { COMMIT (0), START },
        { COMMIT (1), ADD ("a") },
        { COMPACTED (1, 2), "junk" },
        { CRC (1), SUM_DOMAINS (1, "[]") } },
      "a",
      0 },
    { "without a checksum file",
      { { COMMIT (0), START }, { COMMIT (1), ADD ("a") }, { COMMIT (2), ADD ("b") }, { COMPACTED (1, 2), ADD ("x") } },
      "a b",
      0 },
    { "a lie",
      { { COMMIT (0), START },
        { COMMIT (1), ADD ("a") },
        { COMMIT (2), ADD ("b") },
        { COMPACTED (1, 2), ADD ("x") },
        { CRC (2), SUM_DOMAINS (2, "[]") } },
      "a b",
      0 },
    { "malformed",
      { { COMMIT (0), START },
        { COMMIT (1), ADD ("a") },
        { COMMIT (2), ADD ("b") },
        { COMPACTED (1, 2), ADD ("x") "{" },
        { CRC (2), SUM_DOMAINS (2, "[]") } },
      "a b",
      0 },
    { "a checksum file that does not tell domains",
      { { COMMIT (0), START },
        { COMMIT (1), ADD ("a") },
        { COMMIT (2), ADD ("b") },
        { COMPACTED (1, 2), ADD ("x") },
        { CRC (2), SUM (1) } },
      "a b",
      0 },
    { "one that changes the metadata",
      { { COMMIT (0), START },
        { COMMIT (1), ADD ("a") },
        { COMMIT (2), "" },
        { COMPACTED (1, 2), "{\"metaData\":{\"id\":\"other\",\"schemaString\":\"" SCHEMA "\"}}\n" ADD ("x") },
        { CRC (2), SUM_DOMAINS (1, "[]") } },
      "a",
      0 },
    { "a domain whose removal was left out",
      { { COMMIT (0), START DOMAIN ("d") },
        { COMMIT (1), NO_DOMAIN ("d") },
        { COMMIT (2), ADD ("b") },
        { COMPACTED (1, 2), ADD ("x") },
        { CRC (2), SUM_DOMAINS (1, "[]") } },
      "b",
      0 },
    { "backwards, and no numbers",
      { { COMMIT (0), START }, { COMPACTED (2, 1), "junk" }, { "0.1.compacted.json", "junk" } },
      "",
      0 },
    { "a gap stays a gap",
      { { COMMIT (0), START }, { COMMIT (2), ADD ("b") }, { COMPACTED (1, 2), ADD ("b") }, { CRC (2), SUM (1) } },
      NULL,
      SLUICE_ERROR_DELTA_VERSIONS_NOT_CONTIGUOUS },
  };

  run_cases (cases, G_N_ELEMENTS (cases));
}

static void
test_a_wrong_checksum_gives_no_wrong_answer (void)
{
  static const char *const wrong[] = {
    SUM (7),
    "",
    "{",
    "[]",
    "null",
    "junk",
    "\xff",
    "{\"numFiles\":\"x\",\"tableSizeBytes\":1}",
    "{\"numFiles\":99999999999999999999,\"tableSizeBytes\":1}",
    "{\"numFiles\":-3,\"tableSizeBytes\":-1}",
    "{\"numFiles\":2,\"tableSizeBytes\":2,\"metadata\":[],\"protocol\":5}",
    "{\"numFiles\":2,\"tableSizeBytes\":2,\"domainMetadata\":{\"x\":1}}",
    "{\"numFiles\":2,\"tableSizeBytes\":2,\"domainMetadata\":[1,null]}",
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    const LogFile with_commits[] = { { COMMIT (0), START ADD ("a") },
                                     { COMMIT (1), ADD ("b") },
                                     { CHECKPOINT (1), V2 ("1") START ADD ("a") ADD ("b") },
                                     { CRC (1), wrong[i] },
                                     { NULL, NULL } };
    const LogFile without[] = { { CHECKPOINT (1), V2 ("1") START ADD ("a") ADD ("b") },
                                { CRC (1), wrong[i] },
                                { "_last_checkpoint", "{\"version\":1}" },
                                { NULL, NULL } };
    const LogFile *logs[] = { with_commits, without };
    for (guint k = 0; k < G_N_ELEMENTS (logs); k++) {
      g_autoptr (DeltaTable) table = table_of (logs[k], NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
      g_autofree char *live = NULL;
      g_assert_no_error (error);
      live = log_text_live_files (snapshot);
      g_assert_cmpstr (live, ==, "a b");
    }
  }
}

static void
test_a_checksum_finds_a_wrong_checkpoint (void)
{
  static const Case cases[] = {
    { "the commits agree",
      { { COMMIT (0), START ADD ("a") },
        { COMMIT (1), ADD ("b") },
        { CHECKPOINT (1), V2 ("1") START ADD ("a") },
        { CRC (1), SUM (2) } },
      "a b",
      0 },
    { "found from a hint",
      { { COMMIT (0), START ADD ("a") },
        { COMMIT (1), ADD ("b") },
        { CHECKPOINT (1), V2 ("1") START ADD ("a") },
        { CRC (1), SUM (2) },
        { "_last_checkpoint", "{\"version\":1,\"size\":3}" } },
      "a b",
      0 },
    { "an older checkpoint agrees",
      { { CHECKPOINT (1), V2 ("1") START ADD ("a") },
        { COMMIT (2), ADD ("b") },
        { CHECKPOINT (2), V2 ("2") START },
        { CRC (2), SUM (2) } },
      "a b",
      0 },
    { "nothing else to start from", { { CHECKPOINT (1), V2 ("1") START ADD ("a") }, { CRC (1), SUM (2) } }, "a", 0 },
    { "nobody agrees",
      { { COMMIT (0), START ADD ("a") }, { CHECKPOINT (0), V2 ("0") START ADD ("a") ADD ("b") }, { CRC (0), SUM (7) } },
      "a b",
      0 },
  };

  run_cases (cases, G_N_ELEMENTS (cases));
}

/* Golden checkpoints: without the commits they cover they give the state that the commits alone give ---------------- */

static GPtrArray *
list_files (Store *store, const char *directory)
{
  GPtrArray *entries = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (
      store_list (store, directory, NULL, STORE_LIST_DIRECTORY | STORE_LIST_NAMES_ONLY, 0, &entries, &error));
  g_assert_no_error (error);
  return entries;
}

static void
copy_files (Store *from, Store *to, const char *directory, gboolean (*wanted) (const char *key, gint64 version),
            gint64 version)
{
  g_autoptr (GPtrArray) entries = list_files (from, directory);

  for (guint i = 0; i < entries->len; i++) {
    const StoreEntry *entry = entries->pdata[i];
    g_autoptr (GBytes) bytes = NULL;
    if (!wanted (entry->key, version))
      continue;
    g_assert_true (store_read (from, entry->key, &bytes, NULL));
    g_assert_true (
        store_put (to, entry->key, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), STORE_PUT_UNSYNCED, NULL));
  }
}

static gboolean
is_commit (const char *key)
{
  return g_str_has_suffix (key, ".json") && strlen (key) == strlen ("_delta_log/00000000000000000000.json");
}

static gboolean
only_commits (const char *key, gint64 version G_GNUC_UNUSED)
{
  return is_commit (key);
}

static gboolean
all_but_covered_commits (const char *key, gint64 version)
{
  return !is_commit (key) || g_ascii_strtoll (key + strlen ("_delta_log/"), NULL, 10) > version;
}

/* Everything that a snapshot says. @with_stats: not where a checkpoint holds them in another form. */
static char *
describe (DeltaSnapshot *snapshot, gboolean with_stats)
{
  GString *text = g_string_new (NULL);
  g_autoptr (GPtrArray) txns = delta_snapshot_txns (snapshot);
  g_autoptr (GPtrArray) domains = delta_snapshot_domains (snapshot);

  g_string_append_printf (text, "%s %" G_GINT64_FORMAT "\n", delta_metadata_id (delta_snapshot_metadata (snapshot)),
                          delta_snapshot_version (snapshot));
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++) {
    DeltaFile *file = delta_snapshot_file (snapshot, i);
    const DeltaVectorDescriptor *vector = delta_file_vector (file);
    g_string_append_printf (text, "%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s %s\n",
                            delta_file_path (file), delta_file_size_bytes (file), delta_file_n_records (file),
                            delta_file_base_row_id (file), vector != NULL ? vector->path_or_inline : "-",
                            with_stats && delta_file_stats (file) != NULL ? delta_file_stats (file) : "-");
    for (guint k = 0; k < delta_file_n_partition_values (file); k++) {
      DeltaPartitionValue value = delta_file_partition_value (file, k);
      g_string_append_printf (text, "  %s=%s\n", value.column, value.text);
    }
  }
  for (guint i = 0; i < txns->len; i++)
    g_string_append_printf (text, "%s %" G_GINT64_FORMAT "\n", ((DeltaTxn *) txns->pdata[i])->app_id,
                            ((DeltaTxn *) txns->pdata[i])->version);
  for (guint i = 0; i < domains->len; i++)
    g_string_append_printf (text, "%s %s\n", ((DeltaDomain *) domains->pdata[i])->domain,
                            ((DeltaDomain *) domains->pdata[i])->configuration);
  return g_string_free (text, FALSE);
}

static char *
describe_log (Store *golden, DuckEngine *engine, gboolean (*wanted) (const char *key, gint64 version), gint64 version,
              gboolean with_stats)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *directory = g_dir_make_tmp ("sluice-delta-XXXXXX", &error);
  g_autoptr (Store) copy = store_open (NULL, directory, &error);
  g_autoptr (DeltaTable) table = delta_table_new (copy, engine);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  char *text;

  copy_files (golden, copy, "_delta_log/", wanted, version);
  copy_files (golden, copy, "_delta_log/_sidecars/", wanted, version);
  snapshot = delta_table_snapshot (table, NULL, &error);
  g_assert_no_error (error);
  text = describe (snapshot, with_stats);
  g_assert_true (store_delete_tree (copy, "", NULL));
  return text;
}

static void
test_golden_checkpoints_stand_for_their_commits (void)
{
  static const struct {
    const char *name;
    gint64 version;
    gboolean struct_stats;
  } tables[] = {
    { "golden-v2-checkpoint-json", 2, FALSE },
    { "kernel-kernel-pagination-v2-checkpoint-parquet", 2, FALSE },
    { "kernel-kernel-pagination-multi-part-checkpoints", 0, FALSE },
    { "krs-v1-multi-part-partitioned-struct-stats-only", 0, TRUE },
    { "krs-v2-checkpoints-json-with-last-checkpoint", 0, FALSE },
    { "krs-v2-checkpoints-json-with-sidecars", 6, FALSE },
    { "krs-v2-checkpoints-parquet-with-last-checkpoint", 0, FALSE },
    { "krs-v2-checkpoints-parquet-with-sidecars", 6, FALSE },
    { "krs-v2-classic-checkpoint-json", 1, FALSE },
    { "krs-v2-classic-checkpoint-parquet", 1, FALSE },
    { "krs-v2-json-sidecars-struct-stats-only", 5, TRUE },
  };
  g_autofree char *golden = canon_golden_directory ("delta");
  g_autoptr (GError) error = NULL;
  DuckEngine *engine;

  if (golden == NULL)
    return;
  engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++) {
    g_autofree char *location = g_build_filename (golden, "tables", tables[i].name, NULL);
    g_autoptr (Store) store = store_open (NULL, location, &error);
    g_autofree char *by_commits = NULL;
    g_autofree char *by_checkpoint = NULL;
    gint64 version = tables[i].version;
    g_assert_no_error (error);
    g_test_message ("%s", tables[i].name);
    if (version == 0 && strstr (tables[i].name, "multi-part") != NULL) {
      g_autoptr (GPtrArray) entries = list_files (store, "_delta_log/");
      for (guint k = 0; k < entries->len; k++) {
        const char *key = ((StoreEntry *) entries->pdata[k])->key;
        if (strstr (key, ".checkpoint.") != NULL)
          version = MAX (version, g_ascii_strtoll (key + strlen ("_delta_log/"), NULL, 10));
      }
    }
    by_commits = describe_log (store, engine, only_commits, 0, !tables[i].struct_stats);
    by_checkpoint = describe_log (store, engine, all_but_covered_commits, version, !tables[i].struct_stats);
    g_assert_cmpstr (by_checkpoint, ==, by_commits);
  }
  duck_engine_unref (engine);
}

/* Written here ------------------------------------------------------------------------------------------------------------ */

static const BaseClock test_clock = { .fixed_us = G_GINT64_CONSTANT (1767225600000000) };

static void
test_the_policy_decides_the_form (void)
{
  static const struct {
    const char *policy;
    gboolean v2;
  } cases[] = { { "v2", TRUE }, { "classic", FALSE }, { NULL, FALSE } };
  g_autoptr (GError) error = NULL;
  DuckEngine *engine = duck_engine_new (NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *directory = g_dir_make_tmp ("sluice-delta-XXXXXX", &error);
    g_autoptr (Store) store = store_open (NULL, directory, &error);
    g_autoptr (DeltaTable) table = delta_table_new (store, engine);
    g_autoptr (DuckSession) session = duck_session_new (engine, &error);
    g_autoptr (BaseType) schema = base_struct_builder_end (base_struct_builder_new ());
    g_autoptr (GHashTable) properties = g_hash_table_new (g_str_hash, g_str_equal);
    g_autoptr (DeltaMetadata) wanted = NULL;
    g_autoptr (DeltaMetadata) metadata = NULL;
    g_autoptr (DeltaTransaction) transaction = NULL;
    g_autoptr (DeltaSnapshot) snapshot = NULL;
    g_autoptr (GPtrArray) columns = NULL;
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;
    g_autofree char *sql = g_strdup_printf ("SELECT * FROM read_parquet('%s/_delta_log/"
                                            "00000000000000000000.checkpoint.parquet')",
                                            directory);
    DeltaCommitResult result = { 0 };
    gboolean found = FALSE;
    if (cases[i].policy != NULL)
      g_hash_table_insert (properties, (gpointer) "delta.checkpointPolicy", (gpointer) cases[i].policy);
    wanted = delta_metadata_new (schema, NULL, properties, NULL, NULL, 1);
    metadata = delta_metadata_prepare (wanted, NULL, &error);
    g_assert_no_error (error);
    transaction = delta_transaction_new_table (table, metadata, &test_clock);
    delta_transaction_set_txn (transaction, "app", 7);
    delta_transaction_set_domain (transaction, "someone.else", "{\"a\":1}");
    g_assert_true (delta_transaction_commit (transaction, NULL, &result, &error));
    snapshot = delta_table_snapshot (table, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (delta_protocol_has (delta_snapshot_protocol (snapshot), "v2Checkpoint"), ==, cases[i].v2);
    g_assert_true (delta_checkpoint_write (snapshot, &test_clock, NULL, &error));
    g_assert_no_error (error);
    before = describe (snapshot, TRUE);
    columns = duck_session_describe (session, sql, &error);
    g_assert_no_error (error);
    for (guint k = 0; k < columns->len; k++)
      found |= strcmp (((DuckColumn *) columns->pdata[k])->name, "checkpointMetadata") == 0;
    g_assert_cmpint (found, ==, cases[i].v2);
    g_assert_true (store_delete (store, "_delta_log/" COMMIT (0), &error));
    {
      g_autoptr (DeltaTable) fresh = delta_table_new (store, engine);
      g_autoptr (DeltaSnapshot) again = delta_table_snapshot (fresh, NULL, &error);
      g_assert_no_error (error);
      after = describe (again, TRUE);
    }
    g_assert_cmpstr (after, ==, before);
    g_assert_true (store_delete_tree (store, "", NULL));
  }
  duck_engine_unref (engine);
}

/* The canonical form of PROTOCOL.md, whose members here are all numbers. */
static void
test_the_hint_has_its_checksum (void)
{
  g_autoptr (GError) error = NULL;
  DuckEngine *engine = duck_engine_new (NULL, &error);
  g_autofree char *directory = g_dir_make_tmp ("sluice-delta-XXXXXX", &error);
  g_autoptr (Store) store = store_open (NULL, directory, &error);
  g_autoptr (DeltaTable) table = delta_table_new (store, engine);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (json_t) hint = NULL;
  g_autoptr (GString) canonical = g_string_new (NULL);
  g_autofree char *checksum = NULL;
  static const char *const names[] = { "numOfAddFiles", "size", "sizeInBytes", "version" };

  log_text_put (store, COMMIT (0), START ADD ("a"));
  snapshot = delta_table_snapshot (table, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (delta_checkpoint_write (snapshot, &test_clock, NULL, &error));
  g_assert_true (store_read (store, "_delta_log/_last_checkpoint", &bytes, &error));
  hint = base_json_parse (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "hint", &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_string_append_printf (canonical, "%s\"%s\"=%" G_GINT64_FORMAT, i > 0 ? "," : "", names[i],
                            base_json_int64 (hint, names[i], -1));
  checksum = g_compute_checksum_for_string (G_CHECKSUM_MD5, canonical->str, -1);
  g_assert_cmpuint (json_object_size (hint), ==, G_N_ELEMENTS (names) + 1);
  g_assert_cmpstr (base_json_string (hint, "checksum"), ==, checksum);
  g_assert_true (store_delete_tree (store, "", NULL));
  delta_snapshot_unref (g_steal_pointer (&snapshot));
  delta_table_unref (g_steal_pointer (&table));
  duck_engine_unref (engine);
}

/* The state, or the condition's name, that a table opened anew gives. */
static char *
describe_anew (Store *store, DuckEngine *engine)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DeltaTable) table = delta_table_new (store, engine);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);

  return snapshot != NULL ? describe (snapshot, TRUE) : g_strdup (base_error_condition (error));
}

static void
put_commit (Store *store, gint64 version)
{
  g_autofree char *name = g_strdup_printf ("%020" G_GINT64_FORMAT ".json", version);
  g_autofree char *text =
      version == 0 ? g_strdup (START)
                   : g_strdup_printf ("{\"add\":{\"path\":\"%" G_GINT64_FORMAT "\",\"partitionValues\":{},\"size\":1,"
                                      "\"modificationTime\":1,\"dataChange\":true}}\n",
                                      version);

  log_text_put (store, name, text);
}

/* Behind the checkpoint that a hint names, versions are looked for by name; without the hint, in a listing. */
static void
test_names_tell_what_a_listing_tells (void)
{
  static const struct {
    const char *what;
    const char *added;   /* versions behind the checkpoint of version 5 */
    const char *removed; /* and versions taken away */
    const char *answer;  /* (nullable): a condition */
  } cases[] = {
    { "nothing behind it", "", "", NULL },
    { "one version", "6", "", NULL },
    { "some", "6 7 8", "", NULL },
    { "those below were cleaned away", "6 7", "0 1 2 3 4", NULL },
    { "its own commit too", "6 7", "0 1 2 3 4 5", NULL },
    { "a gap right behind it", "7", "", "DELTA_VERSIONS_NOT_CONTIGUOUS" },
    { "a gap later", "6 7 9", "", "DELTA_VERSIONS_NOT_CONTIGUOUS" },
    { "a gap of two", "6 9 10", "", "DELTA_VERSIONS_NOT_CONTIGUOUS" },
    { "very many", "6-400", "", NULL },
  };
  g_autoptr (GError) error = NULL;
  DuckEngine *engine = duck_engine_new (NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *directory = g_dir_make_tmp ("sluice-delta-XXXXXX", &error);
    g_autoptr (Store) store = store_open (NULL, directory, &error);
    g_auto (GStrv) added = g_strsplit (cases[i].added, " ", -1);
    g_auto (GStrv) removed = g_strsplit (cases[i].removed, " ", -1);
    g_autofree char *by_name = NULL;
    g_autofree char *by_listing = NULL;
    for (gint64 version = 0; version <= 5; version++)
      put_commit (store, version);
    {
      g_autoptr (DeltaTable) table = delta_table_new (store, engine);
      g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (delta_checkpoint_write (snapshot, &test_clock, NULL, &error));
    }
    for (char **version = added; *version != NULL; version++) {
      const char *dash = strchr (*version, '-');
      gint64 first = g_ascii_strtoll (*version, NULL, 10);
      gint64 last = dash != NULL ? g_ascii_strtoll (dash + 1, NULL, 10) : first;
      for (; first <= last; first++)
        put_commit (store, first);
    }
    for (char **version = removed; *version != NULL; version++) {
      g_autofree char *key =
          g_strdup_printf ("_delta_log/%020" G_GINT64_FORMAT ".json", g_ascii_strtoll (*version, NULL, 10));
      g_assert_true (store_delete (store, key, &error));
    }
    by_name = describe_anew (store, engine);
    g_assert_true (store_delete (store, "_delta_log/_last_checkpoint", &error));
    by_listing = describe_anew (store, engine);
    g_test_message ("%s", cases[i].what);
    g_assert_cmpstr (by_name, ==, by_listing);
    if (cases[i].answer != NULL)
      g_assert_cmpstr (by_name, ==, cases[i].answer);
    g_assert_true (store_delete_tree (store, "", NULL));
  }
  duck_engine_unref (engine);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/delta/checkpoint/in-json", test_checkpoints_in_json);
  g_test_add_func ("/delta/checkpoint/compactions-where-a-checksum-confirms",
                   test_compactions_are_taken_where_a_checksum_confirms_them);
  g_test_add_func ("/delta/checkpoint/wrong-checksum-no-wrong-answer", test_a_wrong_checksum_gives_no_wrong_answer);
  g_test_add_func ("/delta/checkpoint/checksum-finds-a-wrong-checkpoint", test_a_checksum_finds_a_wrong_checkpoint);
  g_test_add_func ("/delta/checkpoint/golden-ones-stand-for-their-commits",
                   test_golden_checkpoints_stand_for_their_commits);
  g_test_add_func ("/delta/checkpoint/policy-decides-the-form", test_the_policy_decides_the_form);
  g_test_add_func ("/delta/checkpoint/hint-has-its-checksum", test_the_hint_has_its_checksum);
  g_test_add_func ("/delta/checkpoint/names-tell-what-a-listing-tells", test_names_tell_what_a_listing_tells);
  return g_test_run ();
}

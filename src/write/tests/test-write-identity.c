/* Identity columns: the next values, the mark that a commit records, and rows that lack a value. */
#include "base-error.h"
#include "base-json.h"
#include "delta-table.h"
#include "duck-engine.h"
#include "store.h"
#include "write-private.h"

#include <string.h>

static BaseType *
schema_of (const char *settings)
{
  g_autofree char *text =
      g_strdup_printf ("{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,"
                       "\"metadata\":{%s}},{\"name\":\"v\",\"type\":\"string\",\"nullable\":true,"
                       "\"metadata\":{}}]}",
                       settings);
  g_autoptr (GError) error = NULL;
  g_autoptr (json_t) json = base_json_parse (text, strlen (text), "a schema", &error);
  g_assert_no_error (error);
  BaseType *schema = base_type_from_json (json, &error);
  g_assert_no_error (error);
  return schema;
}

#define SETTINGS(start, step)     "\"delta.identity.start\":" start ",\"delta.identity.step\":" step
#define MARKED(start, step, mark) SETTINGS (start, step) ",\"delta.identity.highWaterMark\":" mark

static void
test_the_next_value_is_beyond_the_mark (void)
{
  static const struct {
    const char *settings;
    const char *last; /* NULL: refused */
  } cases[] = {
    { SETTINGS ("1", "1"), "0" },
    { SETTINGS ("5", "-2"), "7" },
    { MARKED ("1", "2", "5"), "5" },
    { MARKED ("1", "2", "6"), "7" },
    { MARKED ("1", "2", "-100"), "-1" },
    { MARKED ("5", "-2", "2"), "1" },
    { MARKED ("5", "-2", "100"), "7" },
    { MARKED ("1", "1", "9223372036854775807"), "9223372036854775807" },
    { MARKED ("0", "-1", "-9223372036854775808"), "-9223372036854775808" },
    { MARKED ("-9223372036854775807", "9223372036854775807", "1"), "9223372036854775807" },
    { SETTINGS ("-9223372036854775808", "1"), NULL },
    { SETTINGS ("1", "0"), NULL },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (BaseType) schema = schema_of (cases[i].settings);
    g_autoptr (GError) error = NULL;
    g_autofree char *text = write_identity_expression (base_type_field (schema, 0), &error);
    g_test_message ("%s: %s", cases[i].settings, text != NULL ? text : error->message);
    if (cases[i].last == NULL) {
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_UNSUPPORTED_OPERATION);
      continue;
    }
    g_autofree char *start = g_strdup_printf ("CAST('%s' AS BIGINT) + ", cases[i].last);
    g_assert_true (g_str_has_prefix (text, start));
  }
}

static void
test_only_columns_by_default_take_values (void)
{
  g_autoptr (BaseType) always = schema_of (SETTINGS ("1", "1"));
  g_autoptr (BaseType) by_default = schema_of (SETTINGS ("1", "1") ",\"delta.identity.allowExplicitInsert\":true");
  g_autoptr (GError) error = NULL;
  g_assert_false (write_identity_check_given (base_type_field (always, 0), &error));
  g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED);
  g_assert_true (write_identity_check_given (base_type_field (by_default, 0), NULL));
  g_assert_false (write_identity_is (base_type_field (always, 1)));
}

/* Rows as a statement would give them, and the mark after their commit. */
static void
test_the_mark_follows_the_rows (void)
{
  static const struct {
    const char *settings, *rows, *mark; /* mark NULL: refused */
  } cases[] = {
    { SETTINGS ("1", "1"), "SELECT i::BIGINT AS c0, 'x' AS c1 FROM range(1, 4) r(i)", "3" },
    { MARKED ("1", "1", "9"), "SELECT 4::BIGINT AS c0, 'x' AS c1", "9" },
    { MARKED ("5", "-2", "1"), "SELECT -3::BIGINT AS c0, 'x' AS c1", "-3" },
    { MARKED ("1", "1", "9"), "SELECT 4::BIGINT AS c0, 'x' AS c1 WHERE false", "9" },
    { MARKED ("1", "1", "9"), "SELECT NULL::BIGINT AS c0, 'x' AS c1", NULL },
    { MARKED ("1", "1", "9"), "SELECT unnest([10, NULL])::BIGINT AS c0, 'x' AS c1", NULL },
  };
  g_autoptr (GError) error = NULL;
  DuckEngine *engine = duck_engine_new (NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *directory = g_dir_make_tmp ("sluice-write-XXXXXX", &error);
    g_autoptr (Store) store = store_open (NULL, directory, &error);
    g_autoptr (DeltaTable) table = delta_table_new (store, engine);
    g_autoptr (DuckSession) session = duck_session_new (engine, &error);
    g_autoptr (BaseType) schema = schema_of (cases[i].settings);
    g_autoptr (DeltaMetadata) metadata = delta_metadata_new (schema, NULL, NULL, NULL, NULL, 1);
    WriteOptions options = { .clock = { .fixed_us = G_GINT64_CONSTANT (1767225600000000) } };
    WriteCommit info = { .operation = "WRITE" };
    DeltaCommitResult result = { 0 };
    {
      g_autoptr (DeltaTransaction) create = delta_transaction_new_table (table, metadata, &options.clock);
      g_assert_true (delta_transaction_commit (create, NULL, &result, &error));
    }
    g_autoptr (DeltaSnapshot) before = delta_table_snapshot (table, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (WriteBatch) batch = write_batch_begin (table, before, session, &options, &error);
    g_assert_no_error (error);
    g_assert_true (write_batch_rows (batch, cases[i].rows, WRITE_ROWS_DEFAULT, NULL, &error));
    gboolean done = write_batch_commit (batch, &info, &result, &error);
    g_test_message ("case %u: %s", i, error != NULL ? error->message : "committed");
    g_assert_cmpint (done, ==, cases[i].mark != NULL);
    if (!done) {
      g_assert_error (error, SLUICE_ERROR, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_WRITE);
      g_clear_error (&error);
    } else {
      g_autoptr (DeltaSnapshot) after = delta_table_snapshot (table, NULL, &error);
      g_assert_no_error (error);
      g_autofree char *mark = g_strdup_printf (
          "%" G_GINT64_FORMAT, base_json_int64 (base_type_field (delta_snapshot_schema (after), 0)->metadata,
                                                "delta.identity.highWaterMark", 0));
      g_assert_cmpstr (mark, ==, cases[i].mark);
    }
    (void) store_delete_tree (store, "", NULL); /* a leftover does no harm */
  }
  duck_engine_unref (engine);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/write/identity/next-value-is-beyond-the-mark", test_the_next_value_is_beyond_the_mark);
  g_test_add_func ("/write/identity/only-columns-by-default-take-values", test_only_columns_by_default_take_values);
  g_test_add_func ("/write/identity/mark-follows-the-rows", test_the_mark_follows_the_rows);
  return g_test_run ();
}

/* Clauses that exclude each other, and clauses that are refused by name. */
#include "autocdc.h"
#include "base-error.h"

static const char *const id[] = { "id", NULL };
static const char *const none[] = { NULL };
static SqlExpr expr;

static const struct {
  const char *what;
  AutoCdcFlow flow;
  const char *condition; /* NULL = fine */
} cases[] = {
  { "plain", { .keys = id, .sequence_by = &expr }, NULL },
  { "history", { .keys = id, .sequence_by = &expr, .type = AUTOCDC_SCD2, .track_except = id }, NULL },
  { "bitemporal", { .keys = id, .sequence_by = &expr, .system_sequence_by = &expr, .type = AUTOCDC_BITEMPORAL }, NULL },
  { "empty lists are not given",
    { .keys = id, .sequence_by = &expr, .columns = none, .except_columns = id, .track_history = none },
    NULL },
  { "no keys", { .keys = none, .sequence_by = &expr }, "AUTOCDC_EMPTY_KEYS" },
  { "no key list", { .sequence_by = &expr }, "AUTOCDC_EMPTY_KEYS" },
  { "no sequence", { .keys = id }, "AUTOCDC_MISSING_SEQUENCE_BY" },
  { "both column lists",
    { .keys = id, .sequence_by = &expr, .columns = id, .except_columns = id },
    "AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST" },
  { "both track lists",
    { .keys = id, .sequence_by = &expr, .type = AUTOCDC_SCD2, .track_history = id, .track_except = id },
    "AUTOCDC_BOTH_TRACK_HISTORY_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST" },
  { "track history, SCD 1",
    { .keys = id, .sequence_by = &expr, .track_history = id },
    "AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2" },
  { "track history, bitemporal",
    { .keys = id, .sequence_by = &expr, .system_sequence_by = &expr, .type = AUTOCDC_BITEMPORAL, .track_except = id },
    "AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2" },
  { "truncate, SCD 2",
    { .keys = id, .sequence_by = &expr, .type = AUTOCDC_SCD2, .truncate_when = &expr },
    "AUTOCDC_TRUNCATE_REQUIRES_SCD1" },
  { "two forms of ignore-null",
    { .keys = id, .sequence_by = &expr, .ignore_null = TRUE, .ignore_null_except = id },
    "AUTOCDC_CONFLICTING_IGNORE_NULL_UPDATES_OPTIONS" },
  { "empty ignore-null list",
    { .keys = id, .sequence_by = &expr, .ignore_null_columns = none },
    "AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST" },
  { "columns to update and ignore-null",
    { .keys = id, .sequence_by = &expr, .ignore_null = TRUE, .columns_to_update = "c" },
    "AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT" },
  { "columns to update, bitemporal",
    { .keys = id,
      .sequence_by = &expr,
      .system_sequence_by = &expr,
      .type = AUTOCDC_BITEMPORAL,
      .columns_to_update = "c" },
    "AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT" },
  { "system sequence, SCD 1",
    { .keys = id, .sequence_by = &expr, .system_sequence_by = &expr },
    "AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY" },
  { "bitemporal without system sequence",
    { .keys = id, .sequence_by = &expr, .type = AUTOCDC_BITEMPORAL },
    "AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY" },
  { "truncate", { .keys = id, .sequence_by = &expr, .truncate_when = &expr }, NULL },
  { "empty list of columns excepted from ignore-null",
    { .keys = id, .sequence_by = &expr, .ignore_null_except = none },
    "AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST" },
  { "ignore-null", { .keys = id, .sequence_by = &expr, .ignore_null = TRUE }, NULL },
  { "ignore-null, history",
    { .keys = id, .sequence_by = &expr, .type = AUTOCDC_SCD2, .ignore_null_except = id },
    NULL },
  { "columns to update", { .keys = id, .sequence_by = &expr, .columns_to_update = "c" }, NULL },
  { "where", { .keys = id, .sequence_by = &expr, .where = &expr }, NULL },
  { "snapshot", { .keys = id, .from_snapshot = TRUE }, NULL },
  { "snapshot with history",
    { .keys = id, .from_snapshot = TRUE, .type = AUTOCDC_SCD2, .track_history = id, .columns = id },
    NULL },
  { "snapshot without keys", { .from_snapshot = TRUE }, "AUTOCDC_EMPTY_KEYS" },
  { "snapshot, tracked history in SCD 1",
    { .keys = id, .from_snapshot = TRUE, .track_history = id },
    "AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2" },
  { "snapshot and sequence",
    { .keys = id, .from_snapshot = TRUE, .sequence_by = &expr },
    "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
  { "snapshot and delete",
    { .keys = id, .from_snapshot = TRUE, .delete_when = &expr },
    "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
  { "snapshot and truncate",
    { .keys = id, .from_snapshot = TRUE, .truncate_when = &expr },
    "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
  { "snapshot and ignore-null",
    { .keys = id, .from_snapshot = TRUE, .ignore_null_except = id },
    "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
  { "snapshot and columns to update",
    { .keys = id, .from_snapshot = TRUE, .columns_to_update = "c" },
    "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
  { "snapshot and where", { .keys = id, .from_snapshot = TRUE, .where = &expr }, "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
  { "snapshot, bitemporal",
    { .keys = id, .from_snapshot = TRUE, .type = AUTOCDC_BITEMPORAL, .system_sequence_by = &expr },
    "AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT" },
};

static void
test_clauses (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    gboolean ok = autocdc_flow_check (&cases[i].flow, &error);
    const char *got = ok ? NULL : base_error_condition (error);

    if (g_strcmp0 (got, cases[i].condition) != 0)
      g_error ("%s: %s instead of %s", cases[i].what, got ? got : "fine",
               cases[i].condition ? cases[i].condition : "fine");
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/autocdc/flow/clauses", test_clauses);
  return g_test_run ();
}

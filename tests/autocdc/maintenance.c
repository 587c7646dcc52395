#include "maintenance.h"

#include "autocdc-dml.h"
#include "base-error.h"
#include "delta-checkpoint.h"
#include "delta-metadata.h"
#include "delta-vacuum.h"
#include "write-compact.h"

#define TARGET_BYTES (G_GINT64_CONSTANT (1) << 30)
#define FAR_AHEAD_US (400 * G_GINT64_CONSTANT (86400) * G_USEC_PER_SEC)

static gboolean
optimize (DeltaTable *table, DeltaSnapshot *snapshot, gboolean purge, const RelationContext *context, gint64 clock_us,
          GError **error)
{
  WriteCompaction limits = write_compaction_full (delta_snapshot_metadata (snapshot), TARGET_BYTES);
  WriteOptions options = { .clock = { clock_us }, .context = context };
  g_autoptr (GPtrArray) files = g_ptr_array_new (), groups = NULL;
  g_autoptr (WriteBatch) batch = NULL;
  g_autoptr (AutoCdcDml) memory = NULL;
  WriteCommit commit = { .operation = purge ? "REORG" : "OPTIMIZE" };
  DeltaCommitResult result = { 0 };
  gboolean forgets = FALSE, ok;

  if (purge) {
    limits.dead_ratio = 0;
    limits.dead_only = TRUE;
  }
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++)
    g_ptr_array_add (files, delta_snapshot_file (snapshot, i));
  if (!(batch = write_batch_begin (table, snapshot, context->session, &options, error)))
    return FALSE;
  groups = write_compaction_choose (&limits, (DeltaFile *const *) files->pdata, files->len);
  for (guint i = 0; i < groups->len; i++) {
    GPtrArray *group = groups->pdata[i];

    if (!write_batch_move (batch, (DeltaFile *const *) group->pdata, group->len, error))
      return FALSE;
  }
  if (purge && delta_snapshot_domain (snapshot, AUTOCDC_DOMAIN) &&
      (!(memory = autocdc_dml_new (snapshot, "t", context, clock_us, NULL, error)) ||
       !autocdc_dml_purge (memory, batch, &forgets, error)))
    return FALSE;
  if (groups->len == 0 && !forgets)
    return TRUE;
  ok = write_batch_commit (batch, &commit, &result, error);
  delta_commit_result_clear (&result);
  return ok;
}

/* Deletes all that the newest version does not need. */
static gboolean
vacuum (DeltaTable *table, DeltaSnapshot *snapshot, GError **error)
{
  gint64 cutoff_ms = (g_get_real_time () + FAR_AHEAD_US) / 1000;
  g_autoptr (DeltaVacuum) found = delta_vacuum_new (snapshot, cutoff_ms, DELTA_VACUUM_FULL, NULL, error);
  g_autoptr (DeltaSnapshot) newest = found ? delta_table_snapshot (table, NULL, error) : NULL;
  guint n;

  return newest && delta_vacuum_run (found, newest, NULL, &n, error);
}

static gboolean
clean_up (DeltaSnapshot *snapshot, gint64 clock_us, GError **error)
{
  BaseClock written = { clock_us }, late = { g_get_real_time () + FAR_AHEAD_US };

  return delta_checkpoint_write (snapshot, &written, NULL, error) &&
         delta_log_cleanup (snapshot, &late, NULL, NULL, error);
}

gboolean
maintenance_run (DeltaTable *table, const char *kind, const RelationContext *context, gint64 clock_us, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, error);
  BaseClock clock = { clock_us };
  WriteCompacted compacted;

  if (!snapshot)
    return FALSE;
  if (g_str_equal (kind, "optimize") || g_str_equal (kind, "purge"))
    return optimize (table, snapshot, *kind == 'p', context, clock_us, error);
  if (g_str_equal (kind, "compact"))
    return write_compact (table, context->session, &clock, NULL, &compacted, error);
  if (g_str_equal (kind, "vacuum"))
    return vacuum (table, snapshot, error);
  if (g_str_equal (kind, "checkpoint"))
    return delta_checkpoint_write (snapshot, &clock, NULL, error);
  if (g_str_equal (kind, "cleanup"))
    return clean_up (snapshot, clock_us, error);
  return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "no maintenance is called %s", kind);
}

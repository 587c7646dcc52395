/* The life of a batch: begin, metadata, commit, free.
 *
 * staged (scratch names) ──publish──▶ published (final names, fsynced) ──commit──▶ live
 *
 * 1. Files are published in one go right before the commit, so that a batch that fails earlier leaves only scratch files, which are
 *    removed with it.
 * 2. A published file is removed again when the commit is known not to have happened (conflict, error), and left alone when that
 *    is not known.
 */
#include "base-error.h"
#include "base-text.h"
#include "delta-checkpoint.h"
#include "store.h"
#include "write-private.h"

#include <glib/gstdio.h>

static void
staged_file_free (gpointer data)
{
  WriteStagedFile *file = data;
  if (file->scratch != NULL)
    (void) g_unlink (file->scratch); /* what stays is removed by store_scratch_clean() one day */
  g_free (file->scratch);
  g_free (file->key);
  g_clear_pointer (&file->file, delta_file_unref);
  g_free (file);
}

static void
hidden_clear (gpointer data)
{
  WriteHidden *hidden = data;
  g_free (hidden->name);
  base_type_unref (hidden->type);
}

GArray *
write_hidden_new (void)
{
  GArray *hidden = g_array_new (FALSE, FALSE, sizeof (WriteHidden));
  g_array_set_clear_func (hidden, hidden_clear);
  return hidden;
}

static void
set_layout (WriteBatch *batch, DeltaMetadata *metadata)
{
  g_clear_pointer (&batch->layout, write_layout_free);
  batch->layout = write_layout_new (metadata);
}

WriteBatch *
write_batch_begin (DeltaTable *table, DeltaSnapshot *snapshot, DuckSession *session, const WriteOptions *options,
                   GError **error)
{
  if (snapshot != NULL && !delta_protocol_check_write (delta_snapshot_protocol (snapshot), error))
    return NULL;
  WriteBatch *batch = g_new0 (WriteBatch, 1);
  batch->table = delta_table_ref (table);
  batch->snapshot = snapshot != NULL ? delta_snapshot_ref (snapshot) : NULL;
  batch->session = session;
  batch->clock = options->clock;
  batch->cancel = options->cancel;
  batch->context = options->context;
  batch->transaction = delta_transaction_new (table, snapshot, &batch->clock);
  delta_transaction_set_user_metadata (batch->transaction, options->user_metadata);
  batch->n_rows_expected = options->n_rows_expected;
  batch->n_rows_per_file = options->n_rows_per_file > 0 ? options->n_rows_per_file : 2000000;
  batch->hidden = write_hidden_new ();
  for (guint i = 0; i < options->n_hidden; i++) {
    WriteHidden hidden = { g_strdup (options->hidden[i].name), base_type_ref (options->hidden[i].type) };
    g_array_append_val (batch->hidden, hidden);
  }
  batch->staged = g_ptr_array_new_with_free_func (staged_file_free);
  batch->beside = g_ptr_array_new_with_free_func (write_run_free);
  batch->directories = g_ptr_array_new_with_free_func (g_free);
  batch->published = g_ptr_array_new_with_free_func (g_free);
  batch->deletions = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) write_deletion_free);
  batch->moved.removed_sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  batch->moved.added_sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  batch->removed = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  if (snapshot != NULL)
    set_layout (batch, delta_snapshot_metadata (snapshot));
  return batch;
}

/* Files that no commit names. Failing to remove one is harmless: VACUUM does it later. */
static void
remove_published (WriteBatch *batch)
{
  for (guint i = 0; i < batch->published->len; i++)
    (void) store_delete (delta_table_store (batch->table), g_ptr_array_index (batch->published, i), NULL);
  g_ptr_array_set_size (batch->published, 0);
}

/* Removes a scratch directory and what DuckDB left in it, partition directories included. */
static void
remove_directory (const char *path, guint depth)
{
  GDir *directory = depth < 64 ? g_dir_open (path, 0, NULL) : NULL;
  if (directory != NULL) {
    const char *name;
    while ((name = g_dir_read_name (directory)) != NULL) {
      g_autofree char *child = g_build_filename (path, name, NULL);
      if (g_unlink (child) != 0)
        remove_directory (child, depth + 1);
    }
    g_dir_close (directory);
  }
  (void) g_rmdir (path); /* what stays is removed by store_scratch_clean() one day */
}

void
write_batch_free (WriteBatch *batch)
{
  if (batch == NULL)
    return;
  g_ptr_array_unref (batch->beside); /* waits */
  if (!batch->is_spent)
    remove_published (batch);
  g_ptr_array_unref (batch->staged);
  for (guint i = 0; i < batch->directories->len; i++)
    remove_directory (g_ptr_array_index (batch->directories, i), 0);
  g_ptr_array_unref (batch->directories);
  g_ptr_array_unref (batch->published);
  g_hash_table_unref (batch->deletions);
  g_clear_pointer (&batch->identities, g_ptr_array_unref);
  g_ptr_array_unref (batch->removed);
  g_array_unref (batch->hidden);
  g_array_unref (batch->moved.removed_sizes);
  g_array_unref (batch->moved.added_sizes);
  delta_transaction_free (batch->transaction);
  write_layout_free (batch->layout);
  g_clear_pointer (&batch->snapshot, delta_snapshot_unref);
  delta_table_unref (batch->table);
  g_free (batch);
}

/* @old: (nullable): what transitions are judged against. */
static DeltaMetadata *
prepare_metadata (DeltaMetadata *metadata, DeltaMetadata *old, DeltaSnapshot *snapshot, DeltaProtocol **protocol,
                  GError **error)
{
  if (!write_metadata_check (metadata, error))
    return NULL;
  g_autoptr (DeltaMetadata) prepared = delta_metadata_prepare (metadata, old, error);
  if (prepared == NULL)
    return NULL;
  g_autoptr (DeltaProtocol) wanted = snapshot != NULL
                                         ? delta_protocol_upgraded (delta_snapshot_protocol (snapshot), prepared)
                                         : delta_protocol_for_metadata (prepared);
  if (!delta_protocol_check_write (wanted, error))
    return NULL;
  *protocol = g_steal_pointer (&wanted);
  return g_steal_pointer (&prepared);
}

gboolean
write_metadata_fits (DeltaMetadata *metadata, DeltaSnapshot *snapshot, GError **error)
{
  g_autoptr (DeltaProtocol) protocol = NULL;
  DeltaMetadata *old = snapshot != NULL ? delta_snapshot_metadata (snapshot) : NULL;
  g_autoptr (DeltaMetadata) prepared = prepare_metadata (metadata, old, snapshot, &protocol, error);

  return prepared != NULL;
}

static gboolean
set_metadata (WriteBatch *batch, DeltaMetadata *metadata, DeltaMetadata *old, GError **error)
{
  g_autoptr (DeltaProtocol) protocol = NULL;
  g_autoptr (DeltaMetadata) prepared = prepare_metadata (metadata, old, batch->snapshot, &protocol, error);

  if (prepared == NULL)
    return FALSE;
  delta_transaction_set_metadata (batch->transaction, prepared);
  if (batch->snapshot == NULL || !delta_protocol_equal (protocol, delta_snapshot_protocol (batch->snapshot)))
    delta_transaction_set_protocol (batch->transaction, protocol);
  set_layout (batch, prepared);
  batch->has_metadata = TRUE;
  return TRUE;
}

gboolean
write_batch_set_metadata (WriteBatch *batch, DeltaMetadata *metadata, GError **error)
{
  DeltaMetadata *old = batch->snapshot != NULL ? delta_snapshot_metadata (batch->snapshot) : NULL;
  return set_metadata (batch, metadata, old, error);
}

gboolean
write_batch_replace_metadata (WriteBatch *batch, DeltaMetadata *metadata, GError **error)
{
  return set_metadata (batch, metadata, NULL, error);
}

/* ---- facts ---- */

DeltaMetadata *
write_batch_metadata (WriteBatch *batch)
{
  return batch->layout != NULL ? write_layout_metadata (batch->layout) : NULL;
}

BaseType *
write_batch_schema (WriteBatch *batch)
{
  return batch->layout != NULL ? delta_metadata_schema (write_layout_metadata (batch->layout)) : NULL;
}

DeltaTransaction *
write_batch_transaction (WriteBatch *batch)
{
  return batch->transaction;
}

gboolean
write_batch_uses_vectors (WriteBatch *batch)
{
  return batch->layout != NULL &&
         delta_metadata_bool (write_layout_metadata (batch->layout), "delta.enableDeletionVectors", TRUE);
}

gboolean
write_batch_feed_is_on (WriteBatch *batch)
{
  return batch->layout != NULL && delta_metadata_change_feed (write_layout_metadata (batch->layout));
}

gboolean
write_batch_tracks_rows (WriteBatch *batch)
{
  return batch->layout != NULL && delta_metadata_row_tracking (write_layout_metadata (batch->layout));
}

const WriteCounters *
write_batch_counters (WriteBatch *batch)
{
  return &batch->counters;
}

gboolean
write_batch_is_empty (WriteBatch *batch)
{
  if (batch->beside->len > 0)
    return FALSE;
  for (guint i = 0; i < batch->staged->len; i++) {
    if (((WriteStagedFile *) g_ptr_array_index (batch->staged, i))->kind != WRITE_FILE_SIDE)
      return FALSE;
  }
  return !batch->has_metadata && batch->counters.n_rows_deleted == 0 && batch->counters.n_files_removed == 0 &&
         batch->moved.removed_sizes->len == 0;
}

const char *
write_batch_codec (WriteBatch *batch)
{
  static const char *const known[] = { "zstd", "snappy", "gzip", "uncompressed" };
  const char *wanted = batch->layout != NULL ? delta_metadata_property (write_layout_metadata (batch->layout),
                                                                        "delta.parquet.compression.codec")
                                             : NULL;
  for (guint i = 0; wanted != NULL && i < G_N_ELEMENTS (known); i++) {
    if (g_ascii_strcasecmp (known[i], wanted) == 0)
      return known[i];
  }
  return known[0];
}

/* ---- rows ---- */

static gboolean
need_layout (WriteBatch *batch, GError **error)
{
  return batch->layout != NULL ||
         base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Rows were given to a table that has no metadata yet.");
}

void
write_batch_count_rows (WriteBatch *batch, WriteRowsFlags flags, guint64 n_rows)
{
  batch->counters.n_rows_added += n_rows;
  batch->counters.n_rows_output += n_rows;
  if ((flags & WRITE_ROWS_CHANGE_TYPE) != 0)
    batch->counters.n_change_rows += n_rows;
}

gboolean
write_batch_rows (WriteBatch *batch, const char *sql, WriteRowsFlags flags, guint64 *n_rows, GError **error)
{
  if (!need_layout (batch, error))
    return FALSE;
  if ((flags & WRITE_ROWS_CHANGE_TYPE) != 0 && !write_batch_feed_is_on (batch))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Change types were given to a table without a feed.");
  g_autoptr (RelationText) hold = NULL;
  g_autofree char *checked =
      (flags & WRITE_ROWS_CHECKED) != 0 ? g_strdup (sql) : write_constraints_wrap (batch, sql, flags, &hold, error);
  if (checked == NULL)
    return FALSE;
  WriteStage stage = { .kind = WRITE_FILE_DATA, .select = checked, .flags = flags };
  if ((flags & WRITE_ROWS_BESIDE) != 0 && write_stage_is_small (batch))
    return write_stage_begin (batch, &stage, g_steal_pointer (&hold), error);
  guint64 n_written = 0;
  if (!write_stage_run (batch, &stage, &n_written, error))
    return FALSE;
  write_batch_count_rows (batch, flags, n_written);
  if (n_rows != NULL)
    *n_rows = n_written;
  return TRUE;
}

gboolean
write_batch_changes (WriteBatch *batch, const char *sql, guint64 *n_rows, GError **error)
{
  if (!need_layout (batch, error))
    return FALSE;
  if (!write_batch_feed_is_on (batch))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "Change rows were given to a table without a feed.");
  WriteStage stage = { .kind = WRITE_FILE_CHANGE, .select = sql, .flags = WRITE_ROWS_CHECKED | WRITE_ROWS_CHANGE_TYPE };
  guint64 n_written = 0;
  if (!write_stage_run (batch, &stage, &n_written, error))
    return FALSE;
  batch->counters.n_change_rows += n_written;
  if (n_rows != NULL)
    *n_rows = n_written;
  return TRUE;
}

/* ---- commit ---- */

static gboolean
publish (WriteBatch *batch, GError **error)
{
  if (batch->staged->len == 0)
    return TRUE;
  gint64 start_us = g_get_monotonic_time ();
  g_autofree StorePublication *files = g_new0 (StorePublication, batch->staged->len);
  for (guint i = 0; i < batch->staged->len; i++) {
    WriteStagedFile *staged = g_ptr_array_index (batch->staged, i);
    files[i] = (StorePublication){ staged->scratch, staged->key };
    g_ptr_array_add (batch->published, g_strdup (staged->key));
  }
  gboolean ok = store_publish_files (delta_table_store (batch->table), files, batch->staged->len, error);
  batch->counters.publish_us += g_get_monotonic_time () - start_us;
  return ok;
}

static gboolean
add_actions (WriteBatch *batch, GError **error)
{
  for (guint i = 0; i < batch->staged->len; i++) {
    WriteStagedFile *staged = g_ptr_array_index (batch->staged, i);
    switch (staged->kind) {
    case WRITE_FILE_DATA:
      if (!delta_transaction_add (batch->transaction, staged->file, error))
        return FALSE;
      if (staged->names_changes) {
        DeltaFileInfo info = delta_file_info (staged->file);
        info.data_change = FALSE;
        info.stats = NULL;
        g_autoptr (DeltaFile) change = delta_file_new (&info);
        delta_transaction_add_cdc (batch->transaction, change);
      }
      break;
    case WRITE_FILE_CHANGE:
      delta_transaction_add_cdc (batch->transaction, staged->file);
      break;
    case WRITE_FILE_SIDE:
      break;
    }
  }
  return TRUE;
}

/* The metrics of operations that do not name theirs. */
static void
set_usual_metrics (WriteBatch *batch, const WriteCommit *commit)
{
  DeltaTransaction *transaction = batch->transaction;
  const WriteCounters *counters = &batch->counters;
  if (counters->n_rows_added > 0 || g_str_equal (commit->operation, "WRITE")) {
    delta_transaction_set_metric (transaction, "numFiles", (gint64) counters->n_files_added);
    delta_transaction_set_metric (transaction, "numOutputRows",
                                  (gint64) (counters->n_rows_added + counters->n_rows_copied));
    delta_transaction_set_metric (transaction, "numOutputBytes", (gint64) counters->bytes_added);
  }
  if (counters->n_files_removed > 0) {
    delta_transaction_set_metric (transaction, "numRemovedFiles", (gint64) counters->n_files_removed);
    delta_transaction_set_metric (transaction, "numRemovedBytes", (gint64) counters->bytes_removed);
  }
  if (counters->n_rows_deleted > 0 && !batch->removes_all)
    delta_transaction_set_metric (transaction, "numDeletedRows", (gint64) counters->n_rows_deleted);
  if (counters->n_rows_copied > 0)
    delta_transaction_set_metric (transaction, "numCopiedRows", (gint64) counters->n_rows_copied);
  if (counters->n_vectors_added > 0)
    delta_transaction_set_metric (transaction, "numDeletionVectorsAdded", (gint64) counters->n_vectors_added);
  if (counters->n_change_rows > 0) {
    delta_transaction_set_metric (transaction, "numAddedChangeFiles", (gint64) counters->n_change_files);
    delta_transaction_set_metric (transaction, "changeFileBytes", (gint64) counters->bytes_changes);
  }
}

static void
set_commit_info (WriteBatch *batch, const WriteCommit *commit)
{
  DeltaTransaction *transaction = batch->transaction;
  delta_transaction_set_operation (transaction, commit->operation);
  if (commit->counted == NULL)
    set_usual_metrics (batch, commit);
  for (const WriteMetric *metric = commit->counted; metric != NULL && metric->name != NULL; metric++)
    delta_transaction_set_metric (transaction, metric->name,
                                  (gint64) G_STRUCT_MEMBER (guint64, &batch->counters, metric->counter));
  const char *key;
  json_t *value;
  json_object_foreach (commit->parameters, key, value)
  {
    if (json_is_string (value))
      delta_transaction_set_parameter (transaction, key, json_string_value (value));
  }
  json_object_foreach (commit->metrics, key, value)
  {
    if (json_is_integer (value))
      delta_transaction_set_metric (transaction, key, json_integer_value (value));
  }
  if (commit->reads_table)
    delta_transaction_read_table (transaction);
}

gboolean
write_batch_commit (WriteBatch *batch, const WriteCommit *commit, DeltaCommitResult *result, GError **error)
{
  g_return_val_if_fail (!batch->is_spent, FALSE);
  /* Vectors are made while rows are still being written. */
  if (!write_deletions_apply (batch, error) || !write_stage_wait (batch, error) ||
      !base_cancel_check (batch->cancel, error) || !write_identity_settle (batch, error) || !publish (batch, error) ||
      !add_actions (batch, error))
    return FALSE;
  set_commit_info (batch, commit);

  gint64 start_us = g_get_monotonic_time ();
  GError *failure = NULL;
  gboolean ok = delta_transaction_commit (batch->transaction, batch->cancel, result, &failure);
  batch->counters.commit_us += g_get_monotonic_time () - start_us;
  batch->is_spent = ok || g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_COMMIT_UNKNOWN);
  if (!batch->is_spent || (ok && result->outcome == DELTA_COMMIT_CONFLICT))
    remove_published (batch);
  batch->is_spent = TRUE;
  if (!ok)
    g_propagate_error (error, failure);
  else if (result->outcome == DELTA_COMMIT_DONE)
    delta_checkpoint_maintain (batch->table, &batch->clock, batch->cancel);
  return ok;
}

gboolean
write_batch_attempt (WriteBatch *batch, const WriteCommit *commit, gboolean last, gboolean *is_done, GError **error)
{
  DeltaCommitResult result = { 0 };

  if (!write_batch_commit (batch, commit, &result, error))
    return FALSE;
  gboolean done = result.outcome == DELTA_COMMIT_DONE;
  gboolean ok = done || !last || delta_commit_result_to_error (&result, error);
  delta_commit_result_clear (&result);
  if (ok && is_done != NULL)
    *is_done = done;
  return ok;
}

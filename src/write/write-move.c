/* Rows that move and do not change: many small or half-dead files become one. What a reader of any version or of the feed sees is
 * the same before and after, so both sides of the commit say dataChange = false.
 */
#include "base-error.h"
#include "write-private.h"

const WriteMoved *
write_batch_moved (WriteBatch *batch)
{
  return &batch->moved;
}

static void
count_removed (WriteBatch *batch, DeltaFile *file)
{
  gint64 size_bytes = delta_file_size_bytes (file);
  const DeltaVectorDescriptor *vector = delta_file_vector (file);

  batch->moved.bytes_removed += size_bytes;
  g_array_append_val (batch->moved.removed_sizes, size_bytes);
  if (vector != NULL) {
    batch->moved.n_vectors_removed++;
    batch->moved.n_dead_rows += (guint64) vector->cardinality;
  }
}

gboolean
write_batch_move (WriteBatch *batch, DeltaFile *const *files, guint n_files, GError **error)
{
  if (n_files == 0)
    return TRUE;
  g_autoptr (GArray) hidden = write_hidden_of_files (batch, files, n_files, error);
  if (hidden == NULL)
    return FALSE;
  g_autofree DeltaScanInput *inputs = g_new0 (DeltaScanInput, n_files);
  for (guint i = 0; i < n_files; i++)
    inputs[i] = (DeltaScanInput){ .file = files[i], .rows = DELTA_SCAN_LIVE };
  g_autoptr (DeltaScan) scan = write_scan_copies (batch, inputs, n_files, hidden, error);
  if (scan == NULL)
    return FALSE;
  WriteStage stage = {
    .kind = WRITE_FILE_DATA, .select = delta_scan_sql (scan), .flags = write_copy_flags (batch), .moved_like = files[0]
  };
  GArray *own = batch->hidden;
  batch->hidden = hidden;
  guint64 n_moved = 0;
  gboolean ok = write_stage_run (batch, &stage, &n_moved, error);
  batch->hidden = own;
  batch->moved.n_rows += n_moved;
  for (guint i = 0; ok && i < n_files; i++) {
    delta_transaction_read_file (batch->transaction, files[i]);
    ok = delta_transaction_remove (batch->transaction, files[i], FALSE, error);
    count_removed (batch, files[i]);
  }
  return ok;
}

/* Deleting rows: (file, position) pairs into deletion vectors, or into rewritten files.
 *
 * 1. A batch keeps one set per touched file: the file's own vector joined with what this batch deletes. So rows given twice, or in
 *    several calls, count once.
 * 2. Nothing is written before the commit. Then each touched file is (a) removed, when no row is left, (b) given its new vector,
 *    or (c) read once more and its living rows written to new files with their row ids, row commit versions and hidden columns,
 *    when the table does not use vectors or does not know how many rows the file has.
 * 3. Small vectors stand in the log itself, the others share one file.
 */
#include "base-error.h"
#include "delta-vector.h"
#include "duck-path.h"
#include "duck-result.h"
#include "write-compact.h"
#include "write-private.h"

/* Encoded size up to which a vector stands in the log: fewer files and fsyncs against longer commits and checkpoints. */
#define INLINE_MAX_BYTES 1024

void
write_deletion_free (WriteDeletion *deletion)
{
  delta_file_unref (deletion->file);
  delta_vector_unref (deletion->old);
  delta_vector_unref (deletion->dead);
  g_free (deletion);
}

static gboolean
refuse_append_only (WriteBatch *batch, GError **error)
{
  DeltaMetadata *metadata = write_layout_metadata (batch->layout);
  if (!delta_metadata_append_only (metadata))
    return TRUE;
  const char *name = delta_metadata_name (metadata);
  return base_error_set (error, SLUICE_ERROR_DELTA_CANNOT_MODIFY_APPEND_ONLY,
                         "This table is configured to only allow appends. If you would like to permit updates or "
                         "deletes, use 'ALTER TABLE %s SET TBLPROPERTIES (delta.appendOnly=false)'.",
                         name != NULL ? name : delta_table_location (batch->table));
}

/* The deletion of @file, made when it is touched first. */
static WriteDeletion *
find_deletion (WriteBatch *batch, DeltaFile *file, GError **error)
{
  WriteDeletion *deletion = g_hash_table_lookup (batch->deletions, delta_file_path (file));
  if (deletion != NULL)
    return deletion;
  g_autoptr (DeltaVector) old = delta_vector_load (batch->table, delta_file_vector (file), error);
  if (old == NULL)
    return NULL;
  deletion = g_new0 (WriteDeletion, 1);
  deletion->file = delta_file_ref (file);
  deletion->dead = delta_vector_copy (old);
  deletion->old = g_steal_pointer (&old);
  g_hash_table_insert (batch->deletions, (gpointer) delta_file_path (deletion->file), deletion);
  return deletion;
}

/* Adds the rows collected for one file. */
static gboolean
flush_rows (WriteBatch *batch, DeltaFile *file, GArray *rows, guint64 *n_new, GError **error)
{
  WriteDeletion *deletion = find_deletion (batch, file, error);
  if (deletion == NULL)
    return FALSE;
  gint64 n_records = delta_file_n_records (file);
  guint64 before = delta_vector_cardinality (deletion->dead);
  for (guint i = 0; i < rows->len && n_records >= 0; i++) {
    if (g_array_index (rows, guint64, i) >= (guint64) n_records)
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR,
                             "Row %" G_GUINT64_FORMAT " is to be deleted from %s, which has %" G_GINT64_FORMAT " rows.",
                             g_array_index (rows, guint64, i), delta_file_path (file), n_records);
  }
  delta_vector_add_many (deletion->dead, (const guint64 *) (gpointer) rows->data, rows->len);
  guint64 added = delta_vector_cardinality (deletion->dead) - before;
  deletion->n_new += added;
  *n_new += added;
  return TRUE;
}

static void
free_rows (gpointer rows)
{
  if (rows != NULL)
    g_array_unref (rows);
}

/* Sorts the rows of a chunk into @rows, by index of their file. */
static gboolean
take_chunk (DeltaScan *scan, const DuckChunk *chunk, GPtrArray *rows, GError **error)
{
  const DuckVector *files = &chunk->columns[0], *numbers = &chunk->columns[1];
  for (guint i = 0; i < chunk->n_rows; i++) {
    if (duck_vector_is_null (files, i) || duck_vector_is_null (numbers, i))
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "A row to be deleted has no position.");
    gint64 index = duck_vector_int64 (files, i);
    gint64 number = duck_vector_int64 (numbers, i);
    if (number < 0 || delta_scan_file (scan, index) == NULL)
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR,
                             "A row to be deleted has a position that the scan lacks.");
    if (rows->pdata[index] == NULL)
      rows->pdata[index] = g_array_new (FALSE, FALSE, sizeof (guint64));
    guint64 row = (guint64) number;
    g_array_append_val ((GArray *) rows->pdata[index], row);
  }
  return TRUE;
}

/* Returns: (transfer full) (element-type GArray): of each file of @scan its rows in @sql, or NULL. */
static GPtrArray *
collect_rows (WriteBatch *batch, DeltaScan *scan, const char *sql, GError **error)
{
  g_autofree char *named = g_strdup_printf ("SELECT file_index, row_number FROM (%s)", sql);
  g_autoptr (DuckResult) result = duck_session_query (batch->session, named, batch->cancel, error);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (free_rows);
  const DuckChunk *chunk;
  if (result == NULL)
    return NULL;
  g_ptr_array_set_size (rows, (gint) delta_scan_n_files (scan));
  for (;;) {
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      return g_steal_pointer (&rows);
    if (!take_chunk (scan, chunk, rows, error))
      return NULL;
  }
}

gboolean
write_batch_delete (WriteBatch *batch, DeltaScan *scan, const char *sql, guint64 *n_rows, GError **error)
{
  g_autoptr (GPtrArray) rows = collect_rows (batch, scan, sql, error);
  guint64 n_new = 0;
  if (rows == NULL)
    return FALSE;
  for (guint i = 0; i < rows->len; i++) {
    if (rows->pdata[i] != NULL && !flush_rows (batch, delta_scan_file (scan, i), rows->pdata[i], &n_new, error))
      return FALSE;
  }
  if (n_new > 0 && !refuse_append_only (batch, error))
    return FALSE;
  batch->counters.n_rows_deleted += n_new;
  if (n_rows != NULL)
    *n_rows = n_new;
  return TRUE;
}

/* A file leaves the table. */
static gboolean
remove_file (WriteBatch *batch, DeltaFile *file, GError **error)
{
  if (!delta_transaction_remove (batch->transaction, file, TRUE, error))
    return FALSE;
  batch->counters.n_files_removed++;
  batch->counters.n_vectors_removed += delta_file_vector (file) != NULL;
  batch->counters.bytes_removed += (guint64) delta_file_size_bytes (file);
  return TRUE;
}

gboolean
write_batch_remove_files (WriteBatch *batch, DeltaFile *const *files, guint n_files, gint64 *n_rows, GError **error)
{
  gint64 n_live = 0;
  if (n_files > 0 && !refuse_append_only (batch, error))
    return FALSE;
  for (guint i = 0; i < n_files; i++) {
    gint64 n_file = delta_file_n_live_records (files[i]);
    delta_transaction_read_file (batch->transaction, files[i]);
    if (!remove_file (batch, files[i], error))
      return FALSE;
    g_ptr_array_add (batch->removed, delta_file_ref (files[i]));
    n_live = n_live >= 0 && n_file >= 0 ? n_live + n_file : -1;
  }
  if (n_live > 0)
    batch->counters.n_rows_deleted += (guint64) n_live;
  if (n_rows != NULL)
    *n_rows = n_live;
  return TRUE;
}

gboolean
write_batch_remove_all (WriteBatch *batch, gint64 *n_rows, GError **error)
{
  guint n_files = batch->snapshot != NULL ? delta_snapshot_n_files (batch->snapshot) : 0;
  g_autofree DeltaFile **files = g_new0 (DeltaFile *, MAX (n_files, 1));
  for (guint i = 0; i < n_files; i++)
    files[i] = delta_snapshot_file (batch->snapshot, i);
  if (!write_batch_remove_files (batch, files, n_files, n_rows, error))
    return FALSE;
  batch->removes_all = TRUE;
  return TRUE;
}

/* ---- what was deleted, as changes ---- */

/* No row of the file is left. */
static gboolean
is_whole (const WriteDeletion *deletion)
{
  gint64 n_records = delta_file_n_records (deletion->file);
  return n_records >= 0 && delta_vector_cardinality (deletion->dead) >= (guint64) n_records;
}

gboolean
write_batch_copies_rows (WriteBatch *batch)
{
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, batch->deletions);
  while (!batch->removes_all && g_hash_table_iter_next (&iter, NULL, &value)) {
    const WriteDeletion *deletion = value;
    if (deletion->n_new > 0 && !is_whole (deletion) &&
        (!write_batch_uses_vectors (batch) || delta_file_n_records (deletion->file) < 0))
      return TRUE;
  }
  return FALSE;
}

/* A scan of the columns @numbers (c<i>) of all rows deleted or removed so far. @vectors: takes what it borrows. */
static DeltaScan *
scan_deleted (WriteBatch *batch, const guint *numbers, guint n_numbers, GPtrArray *vectors, GError **error)
{
  g_autoptr (GArray) inputs = g_array_new (FALSE, TRUE, sizeof (DeltaScanInput));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, batch->deletions);
  while (g_hash_table_iter_next (&iter, NULL, &value)) {
    const WriteDeletion *deletion = value;
    if (deletion->n_new == 0)
      continue;
    DeltaVector *fresh = delta_vector_copy (deletion->dead);
    delta_vector_remove_all (fresh, deletion->old);
    g_ptr_array_add (vectors, fresh);
    DeltaScanInput input = { .file = deletion->file, .rows = DELTA_SCAN_ONLY, .vector = fresh };
    g_array_append_val (inputs, input);
  }
  for (guint i = 0; i < batch->removed->len; i++) {
    DeltaScanInput input = { .file = g_ptr_array_index (batch->removed, i), .rows = DELTA_SCAN_LIVE };
    g_array_append_val (inputs, input);
  }
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, MAX (n_numbers, 1));
  for (guint i = 0; i < n_numbers; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", numbers[i]));
    columns[i] = (DeltaScanColumn){ numbers[i], g_ptr_array_index (names, i) };
  }
  DeltaScanRequest request = {
    .columns = columns,
    .n_columns = n_numbers,
    .inputs = (const DeltaScanInput *) (gconstpointer) inputs->data,
    .n_inputs = inputs->len,
    .explicit_inputs = TRUE,
    .metadata = write_layout_metadata (batch->layout),
  };
  return delta_scan_new (batch->snapshot, &request, batch->cancel, error);
}

gboolean
write_batch_deleted (WriteBatch *batch, const char *table, const guint *columns, guint n_columns, GError **error)
{
  g_autoptr (GPtrArray) vectors = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_vector_unref);
  g_autoptr (DeltaScan) scan = scan_deleted (batch, columns, n_columns, vectors, error);
  if (scan == NULL)
    return FALSE;
  g_autofree char *sql = g_strdup_printf ("CREATE OR REPLACE TEMP TABLE %s AS %s", table, delta_scan_sql (scan));
  return duck_session_execute (batch->session, sql, batch->cancel, error);
}

gboolean
write_batch_changes_of_deleted (WriteBatch *batch, const char *change_type, guint64 *n_rows, GError **error)
{
  guint n_columns = base_type_n_fields (write_batch_schema (batch));
  g_autofree guint *numbers = g_new0 (guint, MAX (n_columns, 1));
  g_autoptr (GPtrArray) vectors = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_vector_unref);
  for (guint i = 0; i < n_columns; i++)
    numbers[i] = i;
  g_autoptr (DeltaScan) scan = scan_deleted (batch, numbers, n_columns, vectors, error);
  if (scan == NULL)
    return FALSE;
  g_autofree char *sql =
      g_strdup_printf ("SELECT *, '%s' AS _change_type FROM (%s)", change_type, delta_scan_sql (scan));
  return write_batch_changes (batch, sql, n_rows, error);
}

/* ---- at commit ---- */

/* Puts the property and the feature into the commit when the table has not got them. */
static void
need_vectors (WriteBatch *batch)
{
  DeltaMetadata *metadata = write_layout_metadata (batch->layout);
  if (!delta_metadata_deletion_vectors (metadata)) {
    g_autoptr (DeltaMetadata) changed = delta_metadata_with_property (metadata, "delta.enableDeletionVectors", "true");
    delta_transaction_set_metadata (batch->transaction, changed);
  }
  delta_transaction_require_feature (batch->transaction, "deletionVectors");
}

static gboolean
apply_vectors (WriteBatch *batch, GPtrArray *deletions, GError **error)
{
  if (deletions->len == 0)
    return TRUE;
  need_vectors (batch);
  g_autoptr (GPtrArray) large = g_ptr_array_new ();
  g_autoptr (GPtrArray) descriptors = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_vector_descriptor_free);
  for (guint i = 0; i < deletions->len; i++) {
    WriteDeletion *deletion = g_ptr_array_index (deletions, i);
    g_autoptr (GBytes) encoded = delta_vector_encode (deletion->dead);
    gboolean small = g_bytes_get_size (encoded) <= INLINE_MAX_BYTES;
    batch->counters.bytes_vectors += g_bytes_get_size (encoded);
    g_ptr_array_add (descriptors, small ? delta_vector_inline (deletion->dead) : NULL);
    if (!small)
      g_ptr_array_add (large, deletion->dead);
  }
  g_autoptr (GPtrArray) written = NULL;
  if (large->len > 0) {
    if (!delta_vector_write (batch->table, (DeltaVector *const *) large->pdata, large->len, &written, error))
      return FALSE;
    char *key = delta_vector_descriptor_file (g_ptr_array_index (written, 0));
    if (key != NULL)
      g_ptr_array_add (batch->published, key);
  }
  for (guint i = 0, next = 0; i < deletions->len; i++) {
    WriteDeletion *deletion = g_ptr_array_index (deletions, i);
    const DeltaVectorDescriptor *descriptor = g_ptr_array_index (descriptors, i);
    if (descriptor == NULL)
      descriptor = g_ptr_array_index (written, next++);
    if (!delta_transaction_update_vector (batch->transaction, deletion->file, descriptor, TRUE, error))
      return FALSE;
    batch->counters.n_vectors_added++;
    batch->counters.n_vectors_updated += delta_file_vector (deletion->file) != NULL;
    batch->counters.n_vectors_removed += delta_file_vector (deletion->file) != NULL;
  }
  return TRUE;
}

GPtrArray *
write_file_columns (DeltaTable *table, DeltaFile *file, DuckSession *session, GError **error)
{
  g_autofree char *path = delta_table_file_path (table, file, error);
  if (path == NULL)
    return NULL;
  g_autoptr (GString) sql = g_string_new ("SELECT * FROM read_parquet(");
  duck_path_append (sql, path);
  g_string_append (sql, ", hive_partitioning=false)");
  return duck_session_describe (session, sql->str, error);
}

GArray *
write_hidden_of_files (WriteBatch *batch, DeltaFile *const *files, guint n_files, GError **error)
{
  g_autoptr (GArray) hidden = write_hidden_new ();
  for (guint i = 0; i < batch->hidden->len; i++) {
    const WriteHidden *given = &g_array_index (batch->hidden, WriteHidden, i);
    WriteHidden copy = { g_strdup (given->name), base_type_ref (given->type) };
    g_array_append_val (hidden, copy);
  }
  g_auto (GStrv) names = delta_snapshot_hidden_columns (batch->snapshot);
  for (char **name = names; *name != NULL; name++) {
    gboolean known = FALSE;
    for (guint i = 0; i < hidden->len && !known; i++)
      known = g_str_equal (g_array_index (hidden, WriteHidden, i).name, *name);
    for (guint i = 0; i < n_files && !known; i++) {
      g_autoptr (GPtrArray) columns = write_file_columns (batch->table, files[i], batch->session, error);
      if (columns == NULL)
        return NULL;
      for (guint k = 0; k < columns->len && !known; k++) {
        const DuckColumn *column = g_ptr_array_index (columns, k);
        if (!g_str_equal (column->name, *name))
          continue;
        BaseType *type = duck_type_to_base (column->type, error);
        if (type == NULL)
          return NULL;
        WriteHidden found = { g_strdup (*name), type };
        g_array_append_val (hidden, found);
        known = TRUE;
      }
    }
  }
  return g_steal_pointer (&hidden);
}

DeltaScan *
write_scan_copies (WriteBatch *batch, const DeltaScanInput *inputs, guint n_inputs, GArray *hidden, GError **error)
{
  BaseType *schema = write_batch_schema (batch);
  guint n_columns = base_type_n_fields (schema);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, MAX (n_columns, 1));
  for (guint i = 0; i < n_columns; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", i));
    columns[i] = (DeltaScanColumn){ i, g_ptr_array_index (names, names->len - 1) };
  }
  g_autofree DeltaScanHidden *extra = g_new0 (DeltaScanHidden, MAX (hidden->len, 1));
  for (guint i = 0; i < hidden->len; i++) {
    const WriteHidden *column = &g_array_index (hidden, WriteHidden, i);
    g_ptr_array_add (names, g_strdup_printf ("h%u", i));
    extra[i] = (DeltaScanHidden){ column->name, column->type, g_ptr_array_index (names, names->len - 1) };
  }
  gboolean tracks = write_batch_tracks_rows (batch);
  DeltaScanRequest request = {
    .columns = columns,
    .n_columns = n_columns,
    .hidden = extra,
    .n_hidden = hidden->len,
    .row_id_name = tracks ? "row_id" : NULL,
    .row_commit_version_name = tracks ? "row_commit_version" : NULL,
    .inputs = inputs,
    .n_inputs = n_inputs,
    .explicit_inputs = TRUE,
    .metadata = write_layout_metadata (batch->layout),
  };
  return delta_scan_new (batch->snapshot, &request, batch->cancel, error);
}

WriteRowsFlags
write_copy_flags (WriteBatch *batch)
{
  return WRITE_ROWS_CHECKED | (write_batch_tracks_rows (batch) ? WRITE_ROWS_ROW_ID | WRITE_ROWS_ROW_COMMIT_VERSION : 0);
}

static gboolean
apply_rewrites (WriteBatch *batch, GPtrArray *deletions, GError **error)
{
  if (deletions->len == 0)
    return TRUE;
  if (write_batch_feed_is_on (batch) && batch->counters.n_change_rows == 0)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR,
                           "Files of a table with a change feed would be rewritten, but the changes were not given.");
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  g_autofree DeltaScanInput *inputs = g_new0 (DeltaScanInput, deletions->len);
  for (guint i = 0; i < deletions->len; i++) {
    WriteDeletion *deletion = g_ptr_array_index (deletions, i);
    g_ptr_array_add (files, deletion->file);
    inputs[i] = (DeltaScanInput){ .file = deletion->file, .rows = DELTA_SCAN_EXCEPT, .vector = deletion->dead };
  }
  g_autoptr (GArray) hidden = write_hidden_of_files (batch, (DeltaFile *const *) files->pdata, files->len, error);
  if (hidden == NULL)
    return FALSE;
  g_autoptr (DeltaScan) scan = write_scan_copies (batch, inputs, deletions->len, hidden, error);
  GArray *own = batch->hidden;
  batch->hidden = hidden;
  WriteStage stage = {
    .kind = WRITE_FILE_DATA,
    .select = scan != NULL ? delta_scan_sql (scan) : NULL,
    .flags = write_copy_flags (batch),
  };
  guint64 n_copied = 0;
  gboolean ok = scan != NULL && write_stage_run (batch, &stage, &n_copied, error);
  batch->hidden = own;
  if (!ok)
    return FALSE;
  batch->counters.n_rows_copied += n_copied;
  batch->counters.n_rows_output += n_copied;
  for (guint i = 0; i < deletions->len; i++) {
    WriteDeletion *deletion = g_ptr_array_index (deletions, i);
    if (!remove_file (batch, deletion->file, error))
      return FALSE;
  }
  return TRUE;
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (delta_file_path ((*(WriteDeletion *const *) a)->file),
                    delta_file_path ((*(WriteDeletion *const *) b)->file));
}

gboolean
write_deletions_apply (WriteBatch *batch, GError **error)
{
  g_autoptr (GPtrArray) touched = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, batch->deletions);
  while (g_hash_table_iter_next (&iter, NULL, &value)) {
    if (((WriteDeletion *) value)->n_new > 0)
      g_ptr_array_add (touched, value);
  }
  g_ptr_array_sort (touched, compare_paths);

  g_autoptr (GPtrArray) vectors = g_ptr_array_new ();
  g_autoptr (GPtrArray) rewrites = g_ptr_array_new ();
  for (guint i = 0; i < touched->len && !batch->removes_all; i++) {
    WriteDeletion *deletion = g_ptr_array_index (touched, i);
    delta_transaction_read_file (batch->transaction, deletion->file);
    if (is_whole (deletion)) {
      if (!remove_file (batch, deletion->file, error))
        return FALSE;
    } else {
      gboolean counted = delta_file_n_records (deletion->file) >= 0;
      g_ptr_array_add (write_batch_uses_vectors (batch) && counted ? vectors : rewrites, deletion);
    }
  }
  return apply_vectors (batch, vectors, error) && apply_rewrites (batch, rewrites, error);
}

/* Staging: rows of a SELECT into Parquet files under scratch names.
 *
 * One COPY writes the rows and reports the statistics; nothing is read twice. A table without partitions closes a file every
 * n_rows_per_file rows. A partitioned one is routed by the text of its partition values: the scratch directories that DuckDB makes
 * are thrown away, the final key is built from the values that it reports.
 */
#include "base-error.h"
#include "base-text.h"
#include "duck-copy.h"
#include "store.h"
#include "write-private.h"
#include "write-statistics.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define ROW_GROUP_ROWS 122880

/* zstd at its fastest: as quick as snappy and 0.58 of its bytes (45,000 changed rows of six columns). */
static gint
codec_level (WriteBatch *batch)
{
  return g_str_equal (write_batch_codec (batch), "zstd") ? 1 : 0;
}

/* Whether DuckDB would overlook rows by Bloom filters: see DuckCopyOptions. */
static gboolean
filters_mislead (WriteLayout *layout)
{
  for (guint i = 0; i < write_layout_n_columns (layout); i++) {
    BaseTypeKind kind = base_type_kind (write_layout_column (layout, i)->field->type);

    if (kind == BASE_TYPE_BINARY || kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE)
      return TRUE;
  }
  return FALSE;
}

/* Of a file of less than one full row group: no dictionary that has nearly as many values as there are rows. */
static gint64
dictionary_rows (const WriteBatch *batch)
{
  gboolean is_small = batch->n_rows_expected > 0 && batch->n_rows_expected < ROW_GROUP_ROWS;
  return is_small ? MAX ((gint64) batch->n_rows_expected / 5, 1) : 0;
}

/* ---- the text of a COPY ---- */

static void
append_extras (WriteBatch *batch, const WriteStage *stage, gboolean any, GString *sql)
{
  DeltaMetadata *metadata = write_layout_metadata (batch->layout);
  const char *comma = any ? ", " : "";
  if (stage->kind == WRITE_FILE_DATA) {
    for (guint i = 0; i < batch->hidden->len; i++) {
      g_string_append_printf (sql, "%sh%u AS ", comma, i);
      base_text_append_sql_identifier (sql, g_array_index (batch->hidden, WriteHidden, i).name);
      comma = ", ";
    }
    const char *id_name = delta_metadata_row_id_column (metadata);
    if ((stage->flags & WRITE_ROWS_ROW_ID) != 0 && id_name != NULL && write_batch_tracks_rows (batch)) {
      g_string_append_printf (sql, "%srow_id AS ", comma);
      base_text_append_sql_identifier (sql, id_name);
      comma = ", ";
    }
    const char *version_name = delta_metadata_row_commit_version_column (metadata);
    if ((stage->flags & WRITE_ROWS_ROW_COMMIT_VERSION) != 0 && version_name != NULL &&
        write_batch_tracks_rows (batch)) {
      g_string_append_printf (sql, "%srow_commit_version AS ", comma);
      base_text_append_sql_identifier (sql, version_name);
      comma = ", ";
    }
  }
  if ((stage->flags & WRITE_ROWS_CHANGE_TYPE) != 0)
    g_string_append_printf (sql, "%s_change_type", comma);
}

/* A name that no column of the file has: DuckDB would otherwise take the column for the partition value. */
static char *
partition_alias (WriteBatch *batch, guint index)
{
  g_autofree char *alias = g_strdup_printf ("partition %u", index);
  for (guint i = 0; i < write_layout_n_columns (batch->layout); i++) {
    if (base_text_equal_ignore_case (write_layout_column (batch->layout, i)->physical, alias)) {
      char *longer = g_strconcat (alias, " value", NULL);
      g_free (alias);
      alias = longer;
      i = (guint) -1;
    }
  }
  return g_steal_pointer (&alias);
}

static char *
stage_text (WriteBatch *batch, const WriteStage *stage, char **partition_by)
{
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  gboolean any = write_layout_append_data (batch->layout, sql);
  gsize before = sql->len;
  append_extras (batch, stage, any, sql);
  any = any || sql->len > before;
  for (guint i = 0; partition_by[i] != NULL; i++) {
    const WriteColumn *column = write_layout_partition (batch->layout, i);
    g_autofree char *name = g_strdup_printf ("c%u", column->index);
    g_autofree char *value = write_partition_expression (name, column->field->type);
    g_string_append_printf (sql, "%s%s AS ", any ? ", " : "", value);
    base_text_append_sql_identifier (sql, partition_by[i]);
    any = TRUE;
  }
  g_string_append_printf (sql, " FROM (%s)", stage->select);
  return g_string_free (g_steal_pointer (&sql), FALSE);
}

/* ---- what a COPY left behind ---- */

static char *
file_key (WriteBatch *batch, const WriteStage *stage, const DeltaPartitionValue *values, guint n_values)
{
  g_autoptr (GString) key = g_string_new (stage->kind == WRITE_FILE_CHANGE ? "_change_data/" : "");
  for (guint i = 0; i < n_values; i++) {
    g_autofree char *directory = delta_file_partition_directory (values[i].column, values[i].text);
    g_string_append (key, directory);
  }
  g_autofree char *uuid = base_text_uuid ();
  g_string_append_printf (key, "%s-%05u-%s.c000.%s.parquet", stage->kind == WRITE_FILE_CHANGE ? "cdc" : "part",
                          MIN (batch->staged->len, 99999u), uuid, write_batch_codec (batch));
  return g_string_free (g_steal_pointer (&key), FALSE);
}

static void
take_file (WriteBatch *batch, const WriteStage *stage, const DuckCopyFile *copied)
{
  guint n_values = write_layout_n_partitions (batch->layout);
  g_autofree DeltaPartitionValue *values = g_new0 (DeltaPartitionValue, MAX (n_values, 1));
  for (guint i = 0; i < n_values; i++) {
    const char *text = stage->moved_like == NULL ? copied->partition_values[i] : NULL;
    values[i].column = write_layout_partition (batch->layout, i)->physical;
    if (stage->moved_like != NULL) {
      (void) delta_file_find_partition_value (stage->moved_like, values[i].column,
                                              &values[i]); /* a missing one is NULL */
      values[i].column = write_layout_partition (batch->layout, i)->physical;
      continue;
    }
    values[i].text = text;
    values[i].text_bytes = text != NULL ? strlen (text) : 0;
  }

  WriteStagedFile *staged = g_new0 (WriteStagedFile, 1);
  staged->kind = stage->kind;
  staged->scratch = g_strdup (copied->file_name);
  staged->key = file_key (batch, stage, values, n_values);
  staged->names_changes = stage->kind == WRITE_FILE_DATA && (stage->flags & WRITE_ROWS_CHANGE_TYPE) != 0;
  g_ptr_array_add (batch->staged, staged);

  g_autofree char *path = delta_file_encode_path (staged->key);
  g_autofree char *stats = NULL;
  DeltaFileInfo info = DELTA_FILE_INFO_INIT;
  info.path = path;
  info.size_bytes = copied->file_bytes;
  info.modified_ms = base_clock_now_us (&batch->clock) / 1000;
  info.partition_values = values;
  info.n_partition_values = n_values;
  if (stage->kind == WRITE_FILE_CHANGE) {
    info.data_change = FALSE;
    batch->counters.n_change_files++;
    batch->counters.bytes_changes += (guint64) copied->file_bytes;
  } else {
    DeltaProtocol *protocol = delta_transaction_protocol (batch->transaction);
    if (stage->kind == WRITE_FILE_DATA)
      write_identity_note (batch, copied);
    stats =
        write_statistics_text (batch->layout, copied, delta_transaction_domain (batch->transaction, "delta.clustering"),
                               delta_protocol_has (protocol, "deletionVectors"));
    info.stats = stats;
    if (stage->moved_like != NULL) {
      info.data_change = FALSE;
      batch->moved.bytes_added += copied->file_bytes;
      g_array_append_val (batch->moved.added_sizes, copied->file_bytes);
    } else {
      batch->counters.n_files_added++;
      batch->counters.bytes_added += (guint64) copied->file_bytes;
    }
  }
  staged->file = delta_file_new (&info);
}

/* Makes a scratch directory that is removed with the batch. Returns: (transfer none). */
static const char *
scratch_directory (WriteBatch *batch, GError **error)
{
  g_autofree char *path = store_scratch_path (delta_table_store (batch->table), ".d", error);
  if (path == NULL)
    return NULL;
  if (g_mkdir (path, 0777) != 0) {
    g_autofree char *what = g_strdup_printf ("make the directory %s", path);
    base_error_set_errno (error, errno, what);
    return NULL;
  }
  g_ptr_array_add (batch->directories, path);
  return g_steal_pointer (&path);
}

/* ---- running ---- */

/* One COPY: everything that it needs, so that it may run in another thread, and what it gave. */
struct WriteRun {
  WriteStage stage;
  char *sql, *field_ids;
  char **partition_by; /* (nullable) */
  const char *directory;
  DuckCopyOptions options;
  DuckSession *session; /* the batch's, or @own */
  DuckSession *own;     /* (nullable) */
  BaseCancel *cancel;
  RelationText *hold; /* (nullable) */
  GThread *thread;    /* (nullable) */
  GPtrArray *files;   /* (element-type DuckCopyFile) */
  GError *error;
};

void
write_run_free (gpointer data)
{
  WriteRun *run = data;

  if (run->thread != NULL)
    (void) g_thread_join (run->thread);
  g_free (run->sql);
  g_free (run->field_ids);
  g_strfreev (run->partition_by);
  duck_session_free (run->own);
  relation_text_free (run->hold);
  g_clear_pointer (&run->files, g_ptr_array_unref);
  g_clear_error (&run->error);
  g_free (run);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (WriteRun, write_run_free)

static WriteRun *
run_new (WriteBatch *batch, const WriteStage *stage, GError **error)
{
  guint n_partitions = stage->moved_like == NULL ? write_layout_n_partitions (batch->layout) : 0;
  g_autoptr (WriteRun) run = g_new0 (WriteRun, 1);

  run->stage = *stage;
  run->session = batch->session;
  run->cancel = batch->cancel;
  run->partition_by = g_new0 (char *, n_partitions + 1);
  for (guint i = 0; i < n_partitions; i++)
    run->partition_by[i] = partition_alias (batch, i);
  run->sql = stage_text (batch, stage, run->partition_by);
  run->field_ids = write_layout_field_ids (batch->layout);
  run->options = (DuckCopyOptions){
    .compression = write_batch_codec (batch),
    .compression_level = codec_level (batch),
    .field_ids = run->field_ids,
    .dictionary_rows = stage->moved_like == NULL ? dictionary_rows (batch) : 0,
    .no_bloom_filters = filters_mislead (batch->layout),
    .partition_by = n_partitions > 0 ? (const char *const *) run->partition_by : NULL,
  };
  if (stage->moved_like != NULL)
    run->options.row_groups_per_file = G_MAXINT32; /* one file: the caller chose how much goes into it */
  else if (n_partitions == 0)
    run->options.row_groups_per_file = (gint64) MAX ((batch->n_rows_per_file + ROW_GROUP_ROWS / 2) / ROW_GROUP_ROWS, 1);
  run->directory = scratch_directory (batch, error);
  return run->directory != NULL ? g_steal_pointer (&run) : NULL;
}

static gpointer
copy (gpointer data)
{
  WriteRun *run = data;

  run->files =
      duck_session_copy_parquet (run->session, run->sql, run->directory, &run->options, run->cancel, &run->error);
  return NULL;
}

static gboolean
take_files (WriteBatch *batch, WriteRun *run, guint64 *n_rows, GError **error)
{
  *n_rows = 0;
  if (run->files == NULL) {
    g_propagate_error (error, g_steal_pointer (&run->error));
    return FALSE;
  }
  for (guint i = 0; i < run->files->len; i++) {
    const DuckCopyFile *copied = g_ptr_array_index (run->files, i);
    if (copied->n_rows == 0)
      continue;
    *n_rows += (guint64) copied->n_rows;
    take_file (batch, &run->stage, copied);
  }
  return TRUE;
}

gboolean
write_stage_run (WriteBatch *batch, const WriteStage *stage, guint64 *n_rows, GError **error)
{
  g_autoptr (WriteRun) run = run_new (batch, stage, error);
  guint64 n_copied;

  if (run == NULL)
    return FALSE;
  copy (run);
  if (!take_files (batch, run, &n_copied, error))
    return FALSE;
  if (n_rows != NULL)
    *n_rows = n_copied;
  return TRUE;
}

gboolean
write_stage_is_small (const WriteBatch *batch)
{
  return batch->n_rows_expected > 0 && batch->n_rows_expected < ROW_GROUP_ROWS / 2;
}

gboolean
write_stage_begin (WriteBatch *batch, const WriteStage *stage, RelationText *hold, GError **error)
{
  g_autoptr (WriteRun) run = run_new (batch, stage, error);

  if (run == NULL) {
    relation_text_free (hold);
    return FALSE;
  }
  run->hold = hold;
  if ((run->own = duck_session_new_beside (batch->session, error)) == NULL)
    return FALSE;
  run->session = run->own;
  if ((run->thread = g_thread_try_new ("copy", copy, run, NULL)) == NULL)
    copy (run); /* there are too many threads already */
  g_ptr_array_add (batch->beside, g_steal_pointer (&run));
  return TRUE;
}

gboolean
write_stage_wait (WriteBatch *batch, GError **error)
{
  guint64 n_rows;

  for (guint i = 0; i < batch->beside->len; i++) {
    WriteRun *run = g_ptr_array_index (batch->beside, i);
    if (run->thread != NULL)
      (void) g_thread_join (g_steal_pointer (&run->thread));
    if (!take_files (batch, run, &n_rows, error))
      return FALSE;
    write_batch_count_rows (batch, run->stage.flags, n_rows);
  }
  g_ptr_array_set_size (batch->beside, 0);
  return TRUE;
}

gboolean
write_batch_side_file (WriteBatch *batch, const char *directory, const char *sql, WriteSideFile *file, GError **error)
{
  g_autofree char *scratch = store_scratch_path (delta_table_store (batch->table), ".parquet", error);
  if (scratch == NULL)
    return FALSE;
  DuckCopyOptions options = { .compression = write_batch_codec (batch),
                              .compression_level = codec_level (batch),
                              .no_bloom_filters = filters_mislead (batch->layout) };
  g_autoptr (GPtrArray) files =
      duck_session_copy_parquet (batch->session, sql, scratch, &options, batch->cancel, error);
  const DuckCopyFile *copied = files != NULL && files->len > 0 ? g_ptr_array_index (files, 0) : NULL;
  if (copied == NULL || copied->n_rows == 0) {
    (void) g_unlink (scratch); /* nothing to keep */
    if (files == NULL)
      return FALSE;
    *file = (WriteSideFile){ 0 };
    return TRUE;
  }
  g_autofree char *uuid = base_text_uuid ();
  WriteStagedFile *staged = g_new0 (WriteStagedFile, 1);
  staged->kind = WRITE_FILE_SIDE;
  staged->scratch = g_steal_pointer (&scratch);
  staged->key = g_strdup_printf ("%s/%s.parquet", directory, uuid);
  g_ptr_array_add (batch->staged, staged);
  batch->counters.bytes_side += (guint64) copied->file_bytes;
  file->path = g_strdup (staged->key);
  file->size_bytes = (guint64) copied->file_bytes;
  file->n_rows = (guint64) copied->n_rows;
  return TRUE;
}

void
write_side_file_clear (WriteSideFile *file)
{
  g_clear_pointer (&file->path, g_free);
}

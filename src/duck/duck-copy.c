/* COPY to Parquet: see duck-copy.h. The figures come from the row that RETURN_STATS gives per file, whose column statistics are a
 * MAP(VARCHAR, MAP(VARCHAR, VARCHAR)) from a quoted path to named texts; they are read from the vectors.
 */
#include "duck-copy.h"

#include "base-text.h"
#include "duck-private.h"

#include <stdlib.h>

static void
stats_free (gpointer data)
{
  DuckColumnStats *stats = data;

  g_strfreev (stats->path);
  g_free (stats->min);
  g_free (stats->max);
  g_free (stats);
}

static void
file_free (gpointer data)
{
  DuckCopyFile *file = data;

  g_free (file->file_name);
  g_clear_pointer (&file->columns, g_ptr_array_unref);
  for (guint i = 0; i < file->n_partition_values; i++)
    g_free (file->partition_values[i]);
  g_free (file->partition_values);
  g_free (file);
}

static int
compare_paths (const char *const *a, const char *const *b)
{
  for (; *a != NULL && *b != NULL; a++, b++) {
    int order = strcmp (*a, *b);
    if (order != 0)
      return order;
  }
  return (*a != NULL) - (*b != NULL);
}

static gint
compare_stats (gconstpointer a, gconstpointer b)
{
  const DuckColumnStats *left = *(const DuckColumnStats *const *) a, *right = *(const DuckColumnStats *const *) b;

  return compare_paths ((const char *const *) left->path, (const char *const *) right->path);
}

const DuckColumnStats *
duck_copy_file_column (const DuckCopyFile *file, const char *const *path)
{
  guint low = 0, high = file->columns->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    const DuckColumnStats *stats = g_ptr_array_index (file->columns, middle);
    int order = compare_paths ((const char *const *) stats->path, path);
    if (order == 0)
      return stats;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* `"s"."a""b"` → {"s", "a\"b"}. A name that is not quoted is taken up to the next dot. */
static char **
parse_path (const char *text)
{
  GPtrArray *names = g_ptr_array_new ();

  while (*text != '\0') {
    GString *name = g_string_new (NULL);
    if (*text == '"') {
      for (text++; *text != '\0' && (text[0] != '"' || text[1] == '"'); text++) {
        g_string_append_c (name, *text);
        if (text[0] == '"')
          text++;
      }
      if (*text == '"')
        text++;
    } else {
      for (; *text != '\0' && *text != '.'; text++)
        g_string_append_c (name, *text);
    }
    g_ptr_array_add (names, g_string_free (name, FALSE));
    if (*text == '.')
      text++;
    else if (*text != '\0' && *text != '"')
      break;
  }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

/* The figures of one leaf: a map from names to texts. */
static DuckColumnStats *
read_stats (char **path, const DuckVector *names, const DuckVector *values, DuckListEntry entry)
{
  DuckColumnStats *stats = g_new0 (DuckColumnStats, 1);

  stats->path = path;
  stats->null_count = stats->n_values = stats->column_bytes = stats->has_nan = -1;
  for (guint64 i = 0; i < entry.length; i++) {
    g_autofree char *name = duck_vector_dup_string (names, entry.offset + i);
    g_autofree char *value = duck_vector_dup_string (values, entry.offset + i);
    gsize length = 0;
    if (name == NULL || value == NULL)
      continue;
    (void) duck_vector_string (values, entry.offset + i, &length); /* only its length */
    if (strlen (value) != length)
      continue;
    if (g_str_equal (name, "min"))
      stats->min = g_steal_pointer (&value);
    else if (g_str_equal (name, "max"))
      stats->max = g_steal_pointer (&value);
    else if (g_str_equal (name, "has_nan"))
      stats->has_nan = g_str_equal (value, "true");
    else if (g_str_equal (name, "null_count"))
      (void) base_text_parse_int64 (value, &stats->null_count); /* stays unknown if it is no number */
    else if (g_str_equal (name, "num_values"))
      (void) base_text_parse_int64 (value, &stats->n_values);
    else if (g_str_equal (name, "column_size_bytes"))
      (void) base_text_parse_int64 (value, &stats->column_bytes);
  }
  return stats;
}

static GPtrArray *
read_columns (const DuckVector *column, guint row)
{
  GPtrArray *columns = g_ptr_array_new_with_free_func (stats_free);

  if (duck_vector_is_null (column, row))
    return columns;
  DuckListEntry paths = duck_vector_list (column, row);
  const DuckVector *keys = &column->children[0], *maps = &column->children[1];
  for (guint64 i = paths.offset; i < paths.offset + paths.length; i++) {
    g_autofree char *path = duck_vector_dup_string (keys, i);
    if (path == NULL || duck_vector_is_null (maps, i))
      continue;
    g_ptr_array_add (
        columns, read_stats (parse_path (path), &maps->children[0], &maps->children[1], duck_vector_list (maps, i)));
  }
  g_ptr_array_sort (columns, compare_stats);
  return columns;
}

/* The columns of RETURN_STATS that are read, by name. */
typedef struct {
  int file_name, n_rows, file_bytes, footer_bytes, columns, partitions;
} StatsColumns;

static int
find_column (const DuckResult *result, const char *name)
{
  for (guint i = 0; i < duck_result_n_columns (result); i++) {
    if (g_str_equal (duck_result_column_name (result, i), name))
      return (int) i;
  }
  return -1;
}

static gboolean
find_columns (const DuckResult *result, StatsColumns *at, GError **error)
{
  at->file_name = find_column (result, "filename");
  at->n_rows = find_column (result, "count");
  at->file_bytes = find_column (result, "file_size_bytes");
  at->footer_bytes = find_column (result, "footer_size_bytes");
  at->columns = find_column (result, "column_statistics");
  at->partitions = find_column (result, "partition_keys");
  if (at->file_name >= 0 && at->n_rows >= 0 && at->file_bytes >= 0 && at->footer_bytes >= 0 && at->columns >= 0 &&
      g_str_equal (duck_type_name (duck_result_column_type (result, (guint) at->columns)),
                   "MAP(VARCHAR, MAP(VARCHAR, VARCHAR))"))
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB's COPY reports statistics in an unknown form");
}

static gint64
read_number (const DuckVector *vector, guint row)
{
  return duck_vector_is_null (vector, row) ? -1 : duck_vector_int64 (vector, row);
}

/* The values of the partition columns, from a map of names to texts. */
static gboolean
read_partitions (DuckCopyFile *file, const DuckVector *column, guint row, const char *const *names, GError **error)
{
  file->n_partition_values = g_strv_length ((char **) names);
  file->partition_values = g_new0 (char *, file->n_partition_values + 1);
  if (column->kind != DUCK_KIND_MAP || duck_vector_is_null (column, row))
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "DuckDB's COPY does not report partition values");
  DuckListEntry entry = duck_vector_list (column, row);
  for (guint64 i = entry.offset; i < entry.offset + entry.length; i++) {
    g_autofree char *name = duck_vector_dup_string (&column->children[0], i);
    for (guint k = 0; name != NULL && k < file->n_partition_values; k++) {
      if (g_str_equal (names[k], name))
        file->partition_values[k] = duck_vector_dup_string (&column->children[1], i);
    }
  }
  return TRUE;
}

static GPtrArray *
read_files (DuckResult *result, const char *const *partition_by, gboolean keep_empty, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (file_free);
  const DuckChunk *chunk;
  StatsColumns at;

  if (!find_columns (result, &at, error))
    return NULL;
  for (;;) {
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      return g_steal_pointer (&files);
    for (guint row = 0; row < chunk->n_rows; row++) {
      DuckCopyFile *file = g_new0 (DuckCopyFile, 1);
      file->file_name = duck_vector_dup_string (&chunk->columns[at.file_name], row);
      file->n_rows = read_number (&chunk->columns[at.n_rows], row);
      file->file_bytes = read_number (&chunk->columns[at.file_bytes], row);
      file->footer_bytes = read_number (&chunk->columns[at.footer_bytes], row);
      file->columns = read_columns (&chunk->columns[at.columns], row);
      if (partition_by != NULL && at.partitions >= 0 &&
          !read_partitions (file, &chunk->columns[at.partitions], row, partition_by, error)) {
        file_free (file);
        return NULL;
      }
      if (file->n_rows != 0 || keep_empty)
        g_ptr_array_add (files, file);
      else
        file_free (file);
    }
  }
}

static gboolean
is_directory (const DuckCopyOptions *options)
{
  return options->file_size_bytes > 0 || options->row_groups_per_file > 0 || options->partition_by != NULL;
}

static char *
copy_text (const char *select, const char *path, const DuckCopyOptions *options)
{
  GString *sql = g_string_new ("COPY (");

  g_string_append (sql, select);
  g_string_append (sql, "\n) TO ");
  base_text_append_sql_literal (sql, path);
  g_string_append (sql, " (FORMAT parquet, RETURN_STATS true, COMPRESSION ");
  base_text_append_sql_literal (sql, options->compression != NULL ? options->compression : "snappy");
  if (options->compression_level > 0)
    g_string_append_printf (sql, ", COMPRESSION_LEVEL %d", options->compression_level);
  if (options->field_ids != NULL)
    g_string_append_printf (sql, ", FIELD_IDS %s", options->field_ids);
  if (options->row_group_rows > 0)
    g_string_append_printf (sql, ", ROW_GROUP_SIZE %" G_GINT64_FORMAT, options->row_group_rows);
  if (options->dictionary_rows > 0)
    g_string_append_printf (sql, ", DICTIONARY_SIZE_LIMIT %" G_GINT64_FORMAT, options->dictionary_rows);
  if (options->no_bloom_filters)
    g_string_append (sql, ", WRITE_BLOOM_FILTER false");
  if (options->partition_by != NULL) {
    g_string_append (sql, ", OVERWRITE_OR_IGNORE true, WRITE_PARTITION_COLUMNS false, PARTITION_BY (");
    for (guint i = 0; options->partition_by[i] != NULL; i++) {
      g_string_append (sql, i > 0 ? ", " : "");
      base_text_append_sql_identifier (sql, options->partition_by[i]);
    }
    g_string_append_c (sql, ')');
  } else if (is_directory (options)) {
    const char *prefix = options->file_prefix != NULL ? options->file_prefix : "part-";
    g_autofree char *pattern = g_strconcat (prefix, "{i}", NULL);
    if (options->file_size_bytes > 0)
      g_string_append_printf (sql, ", FILE_SIZE_BYTES %" G_GINT64_FORMAT, options->file_size_bytes);
    else
      g_string_append_printf (sql, ", ROW_GROUPS_PER_FILE %" G_GINT64_FORMAT, options->row_groups_per_file);
    g_string_append (sql, ", OVERWRITE_OR_IGNORE true, FILENAME_PATTERN ");
    base_text_append_sql_literal (sql, pattern);
  } else {
    g_string_append (sql, ", USE_TMP_FILE false"); /* @path is a scratch name already */
  }
  g_string_append_c (sql, ')');
  return g_string_free (sql, FALSE);
}

GPtrArray *
duck_session_copy_parquet (DuckSession *session, const char *select, const char *path, const DuckCopyOptions *options,
                           BaseCancel *cancel, GError **error)
{
  static const DuckCopyOptions defaults = { 0 };

  if (options == NULL)
    options = &defaults;
  g_autofree char *sql = copy_text (select, path, options);
  g_autoptr (DuckResult) result = duck_session_query_materialized (session, sql, cancel, error);
  return result != NULL ? read_files (result, options->partition_by, !is_directory (options), error) : NULL;
}

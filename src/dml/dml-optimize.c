/* OPTIMIZE and REORG TABLE: rows move into fewer, fuller files; no version's answer and no feed changes.
 *
 * The commit removes and adds with dataChange = false and depends only on the files that it rewrote: appends beside it are no conflict,
 * a commit that touched one of these files is, and then the statement starts again from the newest version.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-checkpoint.h"
#include "dml-private.h"
#include "relation-plan.h"
#include "sql-parse.h"
#include "sql-print.h"
#include "write-compact.h"

#include <string.h>

#define MAX_ATTEMPTS 10

static const char result_ddl[] =
    "path STRING, metrics STRUCT<numFilesAdded: BIGINT, numFilesRemoved: BIGINT, "
    "filesAdded: STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT, totalSize: BIGINT>, "
    "filesRemoved: STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT, totalSize: BIGINT>, "
    "partitionsOptimized: BIGINT, numBatches: BIGINT, totalConsideredFiles: BIGINT, totalFilesSkipped: BIGINT, "
    "preserveInsertionOrder: BOOLEAN, startTimeMs: BIGINT, endTimeMs: BIGINT, "
    "deletionVectorStats: STRUCT<numDeletionVectorsRemoved: BIGINT, numDeletionVectorRowsRemoved: BIGINT>>";

/* ---- the files that a predicate on partitions chooses ---- */

/* Errors: DELTA_NON_PARTITION_COLUMN_REFERENCE. Returns: (transfer full) (element-type guint). */
static GArray *
partition_columns_of (const DmlContext *context, DeltaSnapshot *snapshot, const SqlExpr *where, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (snapshot);
  BaseType *schema = delta_snapshot_schema (snapshot);
  g_autoptr (GArray) columns = relation_expr_columns (where, schema, context->relation, error);

  for (guint i = 0; columns != NULL && i < columns->len; i++) {
    guint column = g_array_index (columns, guint, i);
    if (delta_metadata_is_partition_column (metadata, column))
      continue;
    g_autofree char *names = g_strjoinv (", ", (char **) delta_metadata_partition_columns (metadata));
    base_error_set (
        error, SLUICE_ERROR_DELTA_NON_PARTITION_COLUMN_REFERENCE,
        "Predicate references non-partition column '%s'. Only the partition columns may be referenced: [%s].",
        base_type_field (schema, column)->name, names);
    base_error_add_param (error, "columnName", base_type_field (schema, column)->name);
    base_error_add_param (error, "columnList", names);
    sql_position_add_to_error (&where->position, error);
    return NULL;
  }
  return g_steal_pointer (&columns);
}

/* One row per file: the partition values, then the file's number. */
static RelationSource *
files_as_source (DeltaSnapshot *snapshot, const GArray *columns, GError **error)
{
  BaseType *schema = delta_snapshot_schema (snapshot);
  g_autoptr (GString) sql = g_string_new (NULL);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) type = NULL;

  for (guint k = 0; k < columns->len; k++) {
    const BaseField *field = base_type_field (schema, g_array_index (columns, guint, k));
    base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
  }
  base_struct_builder_add (builder, "number of the file", number, FALSE, NULL);
  type = base_struct_builder_end (g_steal_pointer (&builder));
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++) {
    g_string_append (sql, i > 0 ? " UNION ALL SELECT " : "SELECT ");
    for (guint k = 0; k < columns->len; k++) {
      if (!delta_file_append_partition_literal (delta_snapshot_metadata (snapshot), delta_snapshot_file (snapshot, i),
                                                g_array_index (columns, guint, k), sql, error))
        return NULL;
      g_string_append_printf (sql, " AS p%u, ", k);
    }
    g_string_append_printf (sql, "%u::BIGINT AS ix", i);
  }
  return relation_source_new_text ("files", sql->str, type, FALSE);
}

static gboolean
read_numbers (const DmlContext *context, RelationPlan *plan, guint column, DeltaSnapshot *snapshot, GPtrArray *files,
              GError **error)
{
  RelationItem item = { .column = column };
  g_autoptr (RelationPlan) numbers = relation_plan_project (plan, &item, 1, context->relation, error);
  RelationLowering lowering = { .now_us = context->relation->now_us, .session = context->duck };
  g_autoptr (RelationText) text = numbers != NULL ? relation_plan_lower (numbers, &lowering, error) : NULL;
  if (text == NULL)
    return FALSE;
  g_autoptr (GArray) indexes =
      duck_session_query_int64s (context->duck, relation_text_sql (text)->str, context->cancel, error);
  if (indexes == NULL)
    return FALSE;
  for (guint i = 0; i < indexes->len; i++)
    g_ptr_array_add (files, delta_snapshot_file (snapshot, (guint) g_array_index (indexes, gint64, i)));
  return TRUE;
}

/* The live files in partitions for which @where ((nullable): all) is TRUE.
 * Returns: (transfer container) (element-type DeltaFile): borrows from the snapshot. */
static GPtrArray *
files_matching (const DmlContext *context, DeltaSnapshot *snapshot, const SqlExpr *where, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  guint n_files = delta_snapshot_n_files (snapshot);

  if (where == NULL) {
    for (guint i = 0; i < n_files; i++)
      g_ptr_array_add (files, delta_snapshot_file (snapshot, i));
    return g_steal_pointer (&files);
  }
  g_autoptr (GArray) columns = partition_columns_of (context, snapshot, where, error);
  if (columns == NULL)
    return NULL;
  if (n_files == 0)
    return g_steal_pointer (&files);
  g_autoptr (RelationSource) source = files_as_source (snapshot, columns, error);
  g_autoptr (RelationPlan) all = source != NULL ? relation_plan_new_source (source) : NULL;
  g_autoptr (RelationPlan) chosen = all != NULL ? relation_plan_filter (all, where, context->relation, error) : NULL;
  if (chosen == NULL || !read_numbers (context, chosen, columns->len, snapshot, files, error))
    return NULL;
  return g_steal_pointer (&files);
}

/* ---- dropped columns ---- */

static const BaseField *
field_of (const BaseType *type, const char *name, DeltaMapping mapping)
{
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    if (g_str_equal (name, delta_field_physical_name (base_type_field (type, i), mapping)))
      return base_type_field (type, i);
  }
  return NULL;
}

/* Whether a type of a file has a field that the table's type lacks. Depth is bounded by both types. */
static gboolean
holds_more (const DuckType *found, const BaseType *wanted, DeltaMapping mapping)
{
  DuckKind kind = duck_type_kind (found);

  if (kind == DUCK_KIND_LIST && base_type_kind (wanted) == BASE_TYPE_ARRAY)
    return holds_more (duck_type_child (found, 0), base_type_element (wanted), mapping);
  if (kind == DUCK_KIND_MAP && base_type_kind (wanted) == BASE_TYPE_MAP)
    return holds_more (duck_type_child (found, 0), base_type_key (wanted), mapping) ||
           holds_more (duck_type_child (found, 1), base_type_value (wanted), mapping);
  if (kind != DUCK_KIND_STRUCT || base_type_kind (wanted) != BASE_TYPE_STRUCT)
    return FALSE;
  for (guint i = 0; i < duck_type_n_children (found); i++) {
    const BaseField *field = field_of (wanted, duck_type_child_name (found, i), mapping);
    if (field == NULL || holds_more (duck_type_child (found, i), field->type, mapping))
      return TRUE;
  }
  return FALSE;
}

/* Whether the file holds a column that the table does not have any more. Only column mapping lets columns go. */
static gboolean
holds_dropped_column (const DmlContext *context, DeltaSnapshot *snapshot, DeltaFile *file, char **hidden,
                      gboolean *answer, GError **error)
{
  DeltaMetadata *metadata = delta_snapshot_metadata (snapshot);
  DeltaMapping mapping = delta_metadata_mapping (metadata);
  g_autoptr (GPtrArray) columns = write_file_columns (delta_snapshot_table (snapshot), file, context->duck, error);
  if (columns == NULL)
    return FALSE;
  *answer = FALSE;
  for (guint k = 0; k < columns->len && !*answer; k++) {
    const DuckColumn *column = g_ptr_array_index (columns, k);
    const BaseField *field = field_of (delta_snapshot_schema (snapshot), column->name, mapping);
    if (field != NULL)
      *answer = holds_more (column->type, field->type, mapping);
    else
      *answer = !g_strv_contains ((const char *const *) hidden, column->name) &&
                g_strcmp0 (column->name, delta_metadata_row_id_column (metadata)) != 0 &&
                g_strcmp0 (column->name, delta_metadata_row_commit_version_column (metadata)) != 0 &&
                !g_str_equal (column->name, "_change_type");
  }
  return TRUE;
}

/* Groups of one file each for those that hold a dropped column and are in no group of @groups. */
static gboolean
add_files_with_dropped_columns (const DmlContext *context, DeltaSnapshot *snapshot, GPtrArray *files, GPtrArray *groups,
                                GError **error)
{
  g_autoptr (GHashTable) taken = g_hash_table_new (NULL, NULL);
  g_auto (GStrv) hidden = delta_snapshot_hidden_columns (snapshot);

  if (delta_metadata_mapping (delta_snapshot_metadata (snapshot)) == DELTA_MAPPING_NONE)
    return TRUE;
  for (guint i = 0; i < groups->len; i++) {
    const GPtrArray *group = g_ptr_array_index (groups, i);
    for (guint k = 0; k < group->len; k++)
      g_hash_table_add (taken, group->pdata[k]);
  }
  for (guint i = 0; i < files->len; i++) {
    gboolean dropped = FALSE;
    if (g_hash_table_contains (taken, files->pdata[i]))
      continue;
    if (!holds_dropped_column (context, snapshot, files->pdata[i], hidden, &dropped, error))
      return FALSE;
    if (dropped) {
      GPtrArray *group = g_ptr_array_new ();
      g_ptr_array_add (group, files->pdata[i]);
      g_ptr_array_add (groups, group);
    }
  }
  return TRUE;
}

/* ---- one attempt ---- */

typedef struct {
  const SqlName *table;
  const SqlExpr *where; /* (nullable) */
  gboolean purge;
} Job;

typedef struct {
  gboolean is_done;
  char *location;
  guint n_considered;
  guint n_partitions;
  gint64 start_ms;
  json_t *files_added, *files_removed; /* arrays of sizes */
  guint64 n_vectors, n_dead_rows;
} Report;

static void
report_clear (Report *report)
{
  g_clear_pointer (&report->location, g_free);
  g_clear_pointer (&report->files_added, json_decref);
  g_clear_pointer (&report->files_removed, json_decref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Report, report_clear)

static json_t *
sizes_of (const GArray *sizes)
{
  json_t *list = json_array ();
  for (guint i = 0; i < sizes->len; i++)
    json_array_append_new (list, json_integer (g_array_index (sizes, gint64, i)));
  return list;
}

static void
note (Report *report, DeltaSnapshot *snapshot, guint n_considered, GPtrArray *groups, const WriteMoved *moved)
{
  g_autoptr (GHashTable) partitions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < groups->len; i++) {
    DeltaFile *file = g_ptr_array_index ((GPtrArray *) g_ptr_array_index (groups, i), 0);
    GString *values = g_string_new (NULL);
    for (guint k = 0; k < delta_file_n_partition_values (file); k++) {
      DeltaPartitionValue value = delta_file_partition_value (file, k);
      g_string_append_printf (values, "%s=%s\n", value.column, value.text != NULL ? value.text : "");
    }
    g_hash_table_add (partitions, g_string_free (values, FALSE));
  }
  report_clear (report);
  report->location = g_strconcat ("file:", delta_table_location (delta_snapshot_table (snapshot)), NULL);
  report->n_considered = n_considered;
  report->n_partitions = g_hash_table_size (partitions);
  report->files_added = sizes_of (moved->added_sizes);
  report->files_removed = sizes_of (moved->removed_sizes);
  report->n_vectors = moved->n_vectors_removed;
  report->n_dead_rows = moved->n_dead_rows;
}

static gint64
target_file_bytes (const DmlContext *context)
{
  gint64 bytes = context->settings != NULL
                     ? base_settings_get_size (context->settings, "spark.databricks.delta.optimize.maxFileSize")
                     : 0;
  return bytes > 0 ? bytes : G_GINT64_CONSTANT (1) << 30;
}

static json_t *
parameters_of (const Job *job)
{
  g_autofree char *text = job->where != NULL ? sql_print_expression (job->where) : NULL;
  const char *texts[] = { text, NULL };
  g_autofree char *predicate = dml_json_list (texts);

  return job->purge ? json_pack ("{s:s, s:s}", "predicate", predicate, "applyPurge", "true")
                    : write_optimize_parameters (predicate, FALSE);
}

static gboolean
commit_moves (WriteBatch *batch, const Job *job, gboolean last, Report *report, GError **error)
{
  g_autoptr (json_t) parameters = parameters_of (job);
  g_autoptr (json_t) metrics = write_moved_metrics (write_batch_moved (batch));
  WriteCommit commit = { .operation = job->purge ? "REORG" : "OPTIMIZE", .parameters = parameters, .metrics = metrics };

  return write_batch_attempt (batch, &commit, last, &report->is_done, error);
}

/* The state files of an AUTO CDC target hold values of rows that statements deleted or changed. */
static gboolean
purge_memory (const DmlContext *context, const CatalogReference *reference, DeltaSnapshot *snapshot, WriteBatch *batch,
              gboolean *forgets, GError **error)
{
  g_autoptr (AutoCdcDml) memory = NULL;
  return dml_memory_open (context, reference, snapshot, &memory, error) &&
         (memory == NULL || autocdc_dml_purge (memory, batch, forgets, error));
}

static gboolean
try_once (const DmlContext *context, const Job *job, gboolean last, Report *report, GError **error)
{
  g_auto (CatalogReference) reference = { 0 };
  g_autoptr (DeltaSnapshot) snapshot = dml_open (context, job->table, &reference, error);
  g_autoptr (GPtrArray) files = snapshot != NULL ? files_matching (context, snapshot, job->where, error) : NULL;
  if (files == NULL)
    return FALSE;
  WriteCompaction limits = write_compaction_full (delta_snapshot_metadata (snapshot), target_file_bytes (context));
  if (job->purge) {
    limits.dead_ratio = 0;
    limits.dead_only = TRUE;
  }
  g_autoptr (GPtrArray) groups = write_compaction_choose (&limits, (DeltaFile *const *) files->pdata, files->len);
  if (job->purge && !add_files_with_dropped_columns (context, snapshot, files, groups, error))
    return FALSE;
  WriteOptions options = dml_write_options (context);
  g_autoptr (WriteBatch) batch =
      write_batch_begin (delta_snapshot_table (snapshot), snapshot, context->duck, &options, error);
  if (batch == NULL)
    return FALSE;
  for (guint i = 0; i < groups->len; i++) {
    GPtrArray *group = g_ptr_array_index (groups, i);
    if (!write_batch_move (batch, (DeltaFile *const *) group->pdata, group->len, error))
      return FALSE;
  }
  gboolean forgets = FALSE;
  if (job->purge && !purge_memory (context, &reference, snapshot, batch, &forgets, error))
    return FALSE;
  note (report, snapshot, files->len, groups, write_batch_moved (batch));
  if (groups->len == 0 && !forgets) {
    report->is_done = TRUE;
    return TRUE;
  }
  return commit_moves (batch, job, last, report, error);
}

/* ---- the answer ---- */

static void
append_size_stats (GString *sql, const char *name, const json_t *sizes)
{
  gint64 least = G_MAXINT64, most = 0, total = 0;
  size_t i, n = json_array_size (sizes);
  json_t *size;

  json_array_foreach ((json_t *) sizes, i, size)
  {
    least = MIN (least, json_integer_value (size));
    most = MAX (most, json_integer_value (size));
    total += json_integer_value (size);
  }
  if (n == 0)
    g_string_append_printf (sql, "%s := struct_pack(min := NULL::BIGINT, max := NULL::BIGINT, avg := 0::DOUBLE, ",
                            name);
  else
    g_string_append_printf (sql,
                            "%s := struct_pack(min := %" G_GINT64_FORMAT "::BIGINT, max := %" G_GINT64_FORMAT
                            "::BIGINT, avg := (%" G_GINT64_FORMAT "::DOUBLE / %" G_GSIZE_FORMAT "), ",
                            name, least, most, total, n);
  g_string_append_printf (
      sql, "\"totalFiles\" := %" G_GSIZE_FORMAT "::BIGINT, \"totalSize\" := %" G_GINT64_FORMAT "::BIGINT), ", n, total);
}

static gboolean
answer (const DmlContext *context, const Report *report, DmlResult *result, GError **error)
{
  g_autoptr (BaseType) schema = sql_parse_schema (result_ddl, -1, error);
  if (schema == NULL)
    return FALSE;
  gsize n_added = json_array_size (report->files_added), n_removed = json_array_size (report->files_removed);
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  base_text_append_sql_literal (sql, report->location);
  g_string_append_printf (sql,
                          " AS c0, struct_pack(\"numFilesAdded\" := %" G_GSIZE_FORMAT
                          "::BIGINT, \"numFilesRemoved\" := %" G_GSIZE_FORMAT "::BIGINT, ",
                          n_added, n_removed);
  append_size_stats (sql, "\"filesAdded\"", report->files_added);
  append_size_stats (sql, "\"filesRemoved\"", report->files_removed);
  g_string_append_printf (
      sql,
      "\"partitionsOptimized\" := %u::BIGINT, \"numBatches\" := 1::BIGINT, \"totalConsideredFiles\" := %u::BIGINT, "
      "\"totalFilesSkipped\" := %u::BIGINT, \"preserveInsertionOrder\" := true, \"startTimeMs\" := %" G_GINT64_FORMAT
      "::BIGINT, \"endTimeMs\" := %" G_GINT64_FORMAT
      "::BIGINT, \"deletionVectorStats\" := struct_pack(\"numDeletionVectorsRemoved\" := %" G_GUINT64_FORMAT
      "::BIGINT, \"numDeletionVectorRowsRemoved\" := %" G_GUINT64_FORMAT "::BIGINT)) AS c1",
      report->n_partitions, report->n_considered, report->n_considered - (guint) n_removed, report->start_ms,
      base_clock_now_us (&context->clock) / 1000, report->n_vectors, report->n_dead_rows);
  dml_result_clear (result);
  result->schema = g_steal_pointer (&schema);
  result->sql = g_string_free (g_steal_pointer (&sql), FALSE);
  return TRUE;
}

static gboolean
run (const DmlContext *context, const Job *job, DmlResult *result, GError **error)
{
  g_auto (Report) report = { .start_ms = base_clock_now_us (&context->clock) / 1000 };

  for (guint i = 0; i < MAX_ATTEMPTS && !report.is_done; i++) {
    if (!try_once (context, job, i + 1 == MAX_ATTEMPTS, &report, error))
      return FALSE;
  }
  return answer (context, &report, result, error);
}

gboolean
dml_optimize (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlOptimize *optimize = &statement->u.optimize;
  Job job = { &optimize->table, optimize->where, FALSE };

  if (optimize->zorder_by.n > 0)
    return dml_unsupported (&optimize->zorder_by.items[0].position, error, "OPTIMIZE … ZORDER BY",
                            "OPTIMIZE without ZORDER BY packs files in the order in which they were written.");
  if (optimize->full)
    return dml_unsupported (&statement->position, error, "OPTIMIZE … FULL",
                            "It rewrites clustered tables; OPTIMIZE alone packs small files.");
  return run (context, &job, result, error);
}

gboolean
dml_reorg (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  const SqlReorg *reorg = &statement->u.reorg;
  Job job = { &reorg->table, reorg->where, TRUE };

  switch (reorg->action) {
  case SQL_REORG_PURGE:
    return run (context, &job, result, error);
  case SQL_REORG_CHECKPOINT: {
    g_auto (CatalogReference) reference = { 0 };
    g_autoptr (DeltaSnapshot) snapshot = dml_open (context, &reorg->table, &reference, error);
    return snapshot != NULL && delta_checkpoint_write (snapshot, &context->clock, context->cancel, error);
  }
  case SQL_REORG_UPGRADE_UNIFORM:
    break;
  }
  return dml_unsupported (&statement->position, error, "REORG TABLE … APPLY (UPGRADE UNIFORM)", NULL);
}

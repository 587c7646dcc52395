/* MERGE.
 *
 *   source ──▶ dml_source                       the query's rows, once; numbered by rowid
 *   dml_source ⋈ target ──▶ dml_match           every match: place, source row, the clause that takes it, old values, computed values
 *   target ▷ dml_match ──▶ dml_rest             rows that no source row matches (only with NOT MATCHED BY SOURCE)
 *   dml_source ▷ dml_match ──▶ rows to insert
 *
 * The three are temporary tables: they spill. The join reads the columns of the ON condition, and those that the clauses need where
 * it holds; files and row groups are skipped by the source's keys (find_skips, and DuckDB's own filters of the join).
 *
 * Columns of dml_match and dml_rest: c0 file, c1 position, c2 row id, c3 source row, c4 number of the clause or NULL, then old values,
 * then for every UPDATE the values that it sets (NULL in rows of other clauses), without those that are columns of the source: they
 * are fetched from dml_source by the source row. Values are cast to the table's types when they are written, so that a cast that fails belongs to a row that is written.
 *
 * A row that several source rows match is an error, whatever the clauses' conditions say, unless the first MATCHED clause is a DELETE
 * without a condition: as Delta for Spark has it. A MERGE that only inserts does not look.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-merge-private.h"
#include "duck-result.h"
#include "duck-session.h"
#include "sql-print.h"
#include "write-schema.h"

#include <string.h>

#define PLACES 5 /* columns before old and new values */

static const WriteMetric merge_metrics[] = {
  { "numTargetFilesAdded", G_STRUCT_OFFSET (WriteCounters, n_files_added) },
  { "numTargetFilesRemoved", G_STRUCT_OFFSET (WriteCounters, n_files_removed) },
  { "numTargetBytesAdded", G_STRUCT_OFFSET (WriteCounters, bytes_added) },
  { "numTargetBytesRemoved", G_STRUCT_OFFSET (WriteCounters, bytes_removed) },
  { "numTargetRowsCopied", G_STRUCT_OFFSET (WriteCounters, n_rows_copied) },
  { "numTargetChangeFilesAdded", G_STRUCT_OFFSET (WriteCounters, n_change_files) },
  { "numOutputRows", G_STRUCT_OFFSET (WriteCounters, n_rows_output) },
  { "numTargetDeletionVectorsAdded", G_STRUCT_OFFSET (WriteCounters, n_vectors_added) },
  { "numTargetDeletionVectorsRemoved", G_STRUCT_OFFSET (WriteCounters, n_vectors_removed) },
  { "numTargetDeletionVectorsUpdated", G_STRUCT_OFFSET (WriteCounters, n_vectors_updated) },
  { NULL, 0 },
};

/* ---- clauses ---- */

static gboolean
is_update (const SqlMergeClause *clause)
{
  return clause->action == SQL_MERGE_UPDATE || clause->action == SQL_MERGE_UPDATE_ALL;
}

static gboolean
has_clause (const Merge *merge, SqlMergeWhen when)
{
  for (guint i = 0; i < merge->sql->n_clauses; i++)
    if (merge->sql->clauses[i].when == when)
      return TRUE;
  return FALSE;
}

/* Only the last clause of a kind may go without a condition, else those behind it were never reached. */
static gboolean
check_clauses (const SqlMerge *sql, GError **error)
{
  static const struct {
    SluiceError condition;
    const char *name;
  } rules[] = {
    [SQL_MERGE_MATCHED] = { SLUICE_ERROR_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION, "MATCHED" },
    [SQL_MERGE_NOT_MATCHED] = { SLUICE_ERROR_NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION,
                                "NOT MATCHED [BY TARGET]" },
    [SQL_MERGE_NOT_MATCHED_BY_SOURCE] = { SLUICE_ERROR_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION,
                                          "NOT MATCHED BY SOURCE" },
  };
  for (guint i = 0; i < sql->n_clauses; i++) {
    const SqlMergeClause *clause = &sql->clauses[i];
    for (guint k = i + 1; k < sql->n_clauses && clause->condition == NULL; k++) {
      if (sql->clauses[k].when != clause->when)
        continue;
      base_error_set (error, rules[clause->when].condition,
                      "When there are more than one %s clauses in a MERGE statement, only the last %s clause can omit "
                      "the condition.",
                      rules[clause->when].name, rules[clause->when].name);
      sql_position_add_to_error (&clause->position, error);
      return FALSE;
    }
    if (clause->action == SQL_MERGE_INSERT && clause->columns.n != clause->values.n) {
      base_error_set (error, SLUICE_ERROR_MERGE_INSERT_VALUE_COUNT_MISMATCH,
                      "The number of inserted values cannot match the fields: %u columns, %u values.",
                      clause->columns.n, clause->values.n);
      sql_position_add_to_error (&clause->position, error);
      return FALSE;
    }
  }
  return TRUE;
}

/* The source's column of this name: -1 none. Errors: AMBIGUOUS_REFERENCE. */
static gboolean
source_column (const Merge *merge, const char *name, int *index, GError **error)
{
  *index = -1;
  for (guint i = 0; i < base_type_n_fields (merge->source_schema); i++) {
    if (!base_text_equal_ignore_case (base_type_field (merge->source_schema, i)->name, name))
      continue;
    if (*index >= 0)
      return base_error_set (error, SLUICE_ERROR_AMBIGUOUS_REFERENCE,
                             "Reference `%s` is ambiguous: the source of MERGE has several columns of this name.",
                             name);
    *index = (int) i;
  }
  return TRUE;
}

/* The values of `*`: of every column of the target, from the source's column of the same name. */
static SqlExpr **
star_values (const Merge *merge, const SqlMergeClause *clause, GError **error)
{
  BaseType *schema = write_batch_schema (merge->target->batch);
  guint n_columns = base_type_n_fields (schema);
  g_autofree SqlExpr **values = g_new0 (SqlExpr *, n_columns + 1);
  for (guint k = 0; k < n_columns; k++) {
    const BaseField *field = base_type_field (schema, k);
    int index;
    if (!source_column (merge, field->name, &index, error)) {
      sql_position_add_to_error (&clause->position, error);
      return NULL;
    }
    if (index >= 0) {
      values[k] = dml_column (merge->arena, DML_SOURCE_COLUMN, (guint) index);
    } else if (!merge->evolves && !write_generated_is (field)) {
      base_error_set (error, SLUICE_ERROR_DELTA_MERGE_UNRESOLVED_EXPRESSION,
                      "Cannot resolve `%s` in %s clause given the columns of the source.", field->name,
                      is_update (clause) ? "UPDATE" : "INSERT");
      sql_position_add_to_error (&clause->position, error);
      return NULL;
    }
  }
  return g_steal_pointer (&values);
}

/* The values of INSERT (…) VALUES (…), NULL for what is not said. */
static SqlExpr **
listed_values (const Merge *merge, const SqlMergeClause *clause, GError **error)
{
  SqlAssignmentList list = { .items = sql_arena_new0_n (merge->arena, SqlAssignment, clause->columns.n),
                             .n = clause->columns.n };
  for (guint i = 0; i < list.n; i++) {
    guint column, n_skipped;
    list.items[i] =
        (SqlAssignment){ clause->columns.items[i].position, clause->columns.items[i], clause->values.items[i] };
    if (!dml_assigned_column (merge->target, &list.items[i].column, merge->sql->alias, &column, &n_skipped, error))
      return NULL;
    if (n_skipped == list.items[i].column.n)
      continue;
    dml_unsupported (&list.items[i].position, error, "INSERT of a field of a struct", "Insert the whole struct.");
    return NULL;
  }
  return dml_assigned_values (merge->target, &list, merge->sql->alias, merge->arena, error);
}

static gboolean
prepare_clauses (Merge *merge, GError **error)
{
  BaseType *schema = write_batch_schema (merge->target->batch);
  guint n_columns = base_type_n_fields (schema);
  merge->clauses = g_new0 (MergeClause, merge->sql->n_clauses);
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    MergeClause *mine = &merge->clauses[i];
    mine->value_at = g_new0 (guint, n_columns + 1);
    mine->in_source = g_new0 (gboolean, n_columns + 1);
    switch (clause->action) {
    case SQL_MERGE_DELETE:
      continue;
    case SQL_MERGE_UPDATE:
      mine->values = dml_assigned_values (merge->target, &clause->assignments, merge->sql->alias, merge->arena, error);
      break;
    case SQL_MERGE_INSERT:
      mine->values = listed_values (merge, clause, error);
      break;
    case SQL_MERGE_UPDATE_ALL:
    case SQL_MERGE_INSERT_ALL:
      mine->values = star_values (merge, clause, error);
      break;
    }
    if (mine->values == NULL)
      return FALSE;
    for (guint k = 0; k < n_columns && clause->when == SQL_MERGE_NOT_MATCHED; k++) {
      const BaseField *field = base_type_field (schema, k);
      if (mine->values[k] == NULL && !write_generated_is (field) &&
          (mine->values[k] = dml_default_value (field, merge->arena, error)) == NULL)
        return FALSE;
    }
  }
  return TRUE;
}

/* ---- the source ---- */

static char **
source_qualifier (const Merge *merge)
{
  const SqlRelation *relation = merge->sql->source;
  char **parts = g_new0 (char *, 4);
  parts[0] = g_strdup (DML_SOURCE);
  if (relation->kind != SQL_RELATION_TABLE)
    return parts;
  g_autofree const char **name = dml_name_parts (&relation->u.table.name, NULL);
  g_auto (CatalogReference) found = { 0 };
  if (name == NULL ||
      !catalog_session_resolve (merge->target->context->names, name, relation->u.table.name.n, &found, NULL))
    return parts;
  g_free (parts[0]);
  if (found.kind == CATALOG_REFERENCE_PATH) {
    parts[0] = g_strdup (found.provider);
    parts[1] = g_strdup (found.name);
  } else if (found.schema == NULL) {
    parts[0] = g_strdup (found.name);
  } else {
    parts[0] = g_strdup (CATALOG_NAME);
    parts[1] = g_strdup (found.schema);
    parts[2] = g_strdup (found.name);
  }
  return parts;
}

static void
set_source (Merge *merge, const char *where, gint64 n_rows)
{
  g_auto (GStrv) qualifier = source_qualifier (merge);
  dml_target_set_source (merge->target, "dml_source", where, merge->source_schema, (const char *const *) qualifier,
                         n_rows);
}

/* Runs the source once, into dml_source. */
static gboolean
read_source (Merge *merge, GError **error)
{
  const DmlContext *context = merge->target->context;
  SqlExpr *star = sql_arena_new0 (merge->arena, SqlExpr);
  star->kind = SQL_EXPR_STAR;
  star->depth = 1;
  SqlNamed item = { .value = star };
  SqlQuery *query = dml_query (merge->arena, &item, 1, merge->sql->source, NULL);
  g_autoptr (RelationPlan) plan = dml_bind (merge->target, query, FALSE, "the source of MERGE", error);
  g_autoptr (RelationText) text = plan != NULL ? dml_lower (merge->target, plan, error) : NULL;
  if (text == NULL)
    return FALSE;
  merge->source_schema = base_type_ref (relation_plan_schema (plan));
  g_autofree char *sql =
      g_strdup_printf ("CREATE OR REPLACE TEMP TABLE dml_source AS %s", relation_text_sql (text)->str);
  if (!duck_session_execute (context->duck, sql, context->cancel, error) ||
      !duck_session_query_int64 (context->duck, "SELECT count(*) FROM dml_source", context->cancel,
                                 &merge->n_source_rows, NULL, error))
    return FALSE;
  /* Though always true, it makes DuckDB push a Bloom filter of the join's keys into the scan of the target. */
  set_source (merge, "hash(rowid) IS NOT NULL", merge->n_source_rows);
  return TRUE;
}

/* ---- schema evolution ---- */

/* Whether some clause writes the source's column into a column of the same name that the target may lack. */
static gboolean
brings_column (const Merge *merge, const char *name)
{
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    if (clause->action == SQL_MERGE_UPDATE_ALL || clause->action == SQL_MERGE_INSERT_ALL)
      return TRUE;
    for (guint k = 0; k < clause->assignments.n; k++) {
      const SqlName *column = &clause->assignments.items[k].column;
      if (column->n > 0 && base_text_equal_ignore_case (column->parts[column->n - 1].text, name))
        return TRUE;
    }
    for (guint k = 0; k < clause->columns.n; k++) {
      const SqlName *column = &clause->columns.items[k];
      if (column->n > 0 && base_text_equal_ignore_case (column->parts[column->n - 1].text, name))
        return TRUE;
    }
  }
  return FALSE;
}

static gboolean
evolve (Merge *merge, GError **error)
{
  BaseSettings *settings = merge->target->context->settings;
  const char *setting =
      settings != NULL ? base_settings_get (settings, "spark.databricks.delta.schema.autoMerge.enabled") : NULL;
  merge->evolves = merge->sql->with_schema_evolution || (setting != NULL && g_ascii_strcasecmp (setting, "true") == 0);
  if (!merge->evolves)
    return TRUE;
  BaseType *schema = write_batch_schema (merge->target->batch);
  BaseStructBuilder *builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (merge->source_schema); i++) {
    const BaseField *field = base_type_field (merge->source_schema, i);
    if (brings_column (merge, field->name))
      base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
  }
  g_autoptr (BaseType) brought = base_struct_builder_end (builder);
  g_autoptr (BaseType) merged = write_schema_merge (schema, brought);
  merge->target->fills = TRUE;
  if (merged == schema)
    return TRUE;
  if (merge->target->memory != NULL)
    return dml_unsupported (&merge->sql->target.position, error,
                            "MERGE that adds columns to the target of an AUTO CDC flow",
                            "The flow adds the columns of its source.");
  g_autoptr (DeltaMetadata) metadata = delta_metadata_with_schema (write_batch_metadata (merge->target->batch), merged);
  if (!write_batch_set_metadata (merge->target->batch, metadata, error))
    return FALSE;
  dml_target_refresh (merge->target);
  return TRUE;
}

/* ---- matches ---- */

static SqlExpr *
case_of (SqlArena *arena, const SqlWhen *whens, guint n, SqlExpr *otherwise)
{
  SqlExpr *expr = sql_arena_new0 (arena, SqlExpr);
  expr->kind = SQL_EXPR_CASE;
  expr->depth = otherwise != NULL ? otherwise->depth : 0;
  expr->u.cases.whens = sql_arena_new0_n (arena, SqlWhen, n);
  expr->u.cases.n = n;
  for (guint i = 0; i < n; i++) {
    expr->u.cases.whens[i] = whens[i];
    expr->depth = MAX (expr->depth, MAX (whens[i].condition->depth, whens[i].result->depth));
  }
  expr->depth++;
  expr->u.cases.otherwise = otherwise;
  return expr;
}

/* The number of the clause that takes a row: the first of its kind whose condition holds. Returns: NULL when there is no clause. */
static SqlExpr *
clause_number (const Merge *merge, SqlMergeWhen when)
{
  g_autoptr (GArray) whens = g_array_new (FALSE, FALSE, sizeof (SqlWhen));
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    SqlExpr *number = sql_build_integer (merge->arena, i);
    if (clause->when != when)
      continue;
    if (clause->condition == NULL)
      return whens->len > 0 ? case_of (merge->arena, (const SqlWhen *) (gpointer) whens->data, whens->len, number)
                            : number;
    SqlWhen item = { clause->condition, number };
    g_array_append_val (whens, item);
  }
  return whens->len > 0 ? case_of (merge->arena, (const SqlWhen *) (gpointer) whens->data, whens->len, NULL) : NULL;
}

/* @value only where the clause takes the row: a value that cannot be computed elsewhere is nobody's error. */
static SqlExpr *
guarded (const Merge *merge, SqlExpr *value, guint clause, SqlExpr *number)
{
  if (value->kind == SQL_EXPR_COLUMN || value->kind == SQL_EXPR_LITERAL || number->kind == SQL_EXPR_LITERAL)
    return value;
  SqlWhen when = { sql_build_binary (merge->arena, SQL_BINARY_EQ, number, sql_build_integer (merge->arena, clause)),
                   value };
  return case_of (merge->arena, &when, 1, NULL);
}

/* The source's column that a value is and nothing more: -1 for others. Such values stay in dml_source until they are written. */
static int
plain_source_column (const Merge *merge, const SqlExpr *value)
{
  const SqlRelation *source = merge->sql->source;
  const SqlIdent *own = source->alias;
  guint column, n_skipped;
  int index = -1;
  if (own == NULL && source->kind == SQL_RELATION_TABLE)
    own = &source->u.table.name.parts[source->u.table.name.n - 1];
  if (value->kind != SQL_EXPR_COLUMN)
    return -1;
  const SqlName *name = &value->u.column.name;
  if (name->n == 1 && sscanf (name->parts[0].text, DML_SOURCE_COLUMN, &column) == 1)
    return (int) column;
  if (name->n != 2 || own == NULL || !base_text_equal_ignore_case (name->parts[0].text, own->text) ||
      dml_assigned_column (merge->target, name, merge->sql->alias, &column, &n_skipped, NULL) ||
      !source_column (merge, name->parts[1].text, &index, NULL))
    return -1;
  return index;
}

/* Which old values the clauses of a kind need. */
static void
mark_old (const Merge *merge, SqlMergeWhen when, gboolean *needs)
{
  BaseType *schema = write_batch_schema (merge->target->batch);
  gboolean all = write_batch_feed_is_on (merge->target->batch) || dml_skips_unchanged (merge->target);
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    for (guint k = 0; k < base_type_n_fields (schema) && clause->when == when; k++)
      needs[k] = needs[k] || all ||
                 (is_update (clause) && merge->clauses[i].values[k] == NULL &&
                  !write_generated_is (base_type_field (schema, k)));
  }
}

/* Fills dml_match or dml_rest. */
static gboolean
collect (Merge *merge, MergeGroup *group, GError **error)
{
  DmlTarget *target = merge->target;
  BaseType *schema = write_batch_schema (target->batch);
  guint n_columns = base_type_n_fields (schema);
  gboolean matched = group->when == SQL_MERGE_MATCHED;
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (SqlNamed));
  g_autofree gboolean *needs_old = g_new0 (gboolean, n_columns + 1);
  SqlExpr *number = clause_number (merge, group->when), *where = NULL;
  const char *const places[] = { DML_FILE, DML_ROW, DML_ROW_ID };
  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    SqlNamed item = dml_named (merge->arena, sql_build_column (merge->arena, places[i]), places[i]);
    g_array_append_val (items, item);
  }
  SqlExpr *source_row =
      matched ? sql_build_column (merge->arena, DML_SOURCE_ROW) : sql_build_integer (merge->arena, -1);
  SqlExpr *or_null = number != NULL ? number : sql_build_integer (merge->arena, -1);
  SqlNamed more[] = { dml_named (merge->arena, source_row, DML_SOURCE_ROW), dml_named (merge->arena, or_null,
                                                                                       "\x1b"
                                                                                       "clause") };
  g_array_append_vals (items, more, 2);
  mark_old (merge, group->when, needs_old);
  for (guint k = 0; k < n_columns; k++) {
    SqlNamed item = dml_named (merge->arena, dml_column (merge->arena, DML_TARGET_COLUMN, k),
                               "\x1b"
                               "old");
    group->old_at[k] = items->len;
    if (needs_old[k])
      g_array_append_val (items, item);
  }
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    if (merge->sql->clauses[i].when != group->when || !is_update (&merge->sql->clauses[i]))
      continue;
    for (guint k = 0; k < n_columns; k++) {
      SqlExpr *value = merge->clauses[i].values[k];
      if (value == NULL)
        continue;
      int in_source = matched ? plain_source_column (merge, value) : -1;
      merge->clauses[i].in_source[k] = in_source >= 0;
      merge->clauses[i].value_at[k] = in_source >= 0 ? (guint) in_source : items->len;
      if (in_source >= 0)
        continue;
      SqlNamed item = dml_named (merge->arena, guarded (merge, value, i, number),
                                 "\x1b"
                                 "new");
      g_array_append_val (items, item);
    }
  }
  SqlRelation *from = dml_leaf_relation (merge->arena, DML_TARGET, merge->sql->alias);
  if (matched) {
    SqlRelation *join = sql_arena_new0 (merge->arena, SqlRelation);
    join->kind = SQL_RELATION_JOIN;
    join->depth = 2;
    join->u.join.kind = SQL_JOIN_COMMA; /* ON as WHERE: its conjuncts over one side skip files */
    join->u.join.left = dml_leaf_relation (merge->arena, DML_SOURCE, merge->sql->source->alias);
    join->u.join.right = from;
    from = join;
    where = merge->sql->on;
  }
  SqlQuery *query = dml_query (merge->arena, (const SqlNamed *) (gpointer) items->data, items->len, from, where);
  group->plan = dml_bind (target, query, TRUE, "MERGE", error);
  group->text = group->plan != NULL ? dml_lower (target, group->plan, error) : NULL;
  if (group->text == NULL)
    return FALSE;
  group->scan = delta_scan_ref (target->scan);
  g_autofree char *sql =
      matched ? g_strdup_printf ("CREATE OR REPLACE TEMP TABLE dml_match AS %s", relation_text_sql (group->text)->str)
              : g_strdup_printf ("CREATE OR REPLACE TEMP TABLE dml_rest AS SELECT * FROM (%s) WHERE c4 IS NOT NULL",
                                 relation_text_sql (group->text)->str);
  return duck_session_execute (target->context->duck, sql, target->context->cancel, error);
}

/* The clauses of a kind that update, or delete, as a list for IN. */
static char *
clause_list (const Merge *merge, SqlMergeWhen when, gboolean updates, gboolean deletes)
{
  GString *list = g_string_new ("-2");
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    if (clause->when == when && ((updates && is_update (clause)) || (deletes && clause->action == SQL_MERGE_DELETE)))
      g_string_append_printf (list, ", %u", i);
  }
  return g_string_free (list, FALSE);
}

/* Counts the group's rows that are to change, and whether some are there several times. */
static gboolean
count_rows (const Merge *merge, MergeGroup *group, gboolean *several, GError **error)
{
  const DmlContext *context = merge->target->context;
  g_autofree char *updates = clause_list (merge, group->when, TRUE, FALSE);
  g_autofree char *deletes = clause_list (merge, group->when, FALSE, TRUE);
  g_autofree char *sql = g_strdup_printf (
      "SELECT count(*) FILTER (u), count(*) FILTER (d), count(*) FILTER (n > 1) FROM (SELECT count(*) AS n, "
      "coalesce(bool_or(c4 IN (%s)), false) AS u, coalesce(bool_or(c4 IN (%s)), false) AS d FROM %s GROUP BY c0, c1)",
      updates, deletes, group->table);
  g_autoptr (DuckResult) result = duck_session_query_materialized (context->duck, sql, context->cancel, error);
  const DuckChunk *chunk = NULL;
  if (result == NULL || !duck_result_next (result, &chunk, error))
    return FALSE;
  group->n_updated = duck_vector_int64 (&chunk->columns[0], 0);
  group->n_deleted = duck_vector_int64 (&chunk->columns[1], 0);
  group->is_counted = TRUE;
  *several = duck_vector_int64 (&chunk->columns[2], 0) > 0;
  return TRUE;
}

static gboolean
check_matches (Merge *merge, GError **error)
{
  gboolean checked = has_clause (merge, SQL_MERGE_MATCHED) || has_clause (merge, SQL_MERGE_NOT_MATCHED_BY_SOURCE);
  gboolean several = FALSE;
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    if (clause->when != SQL_MERGE_MATCHED)
      continue;
    checked = checked && !(clause->action == SQL_MERGE_DELETE && clause->condition == NULL);
    break;
  }
  if (checked && !count_rows (merge, &merge->match, &several, error))
    return FALSE;
  if (!several)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE,
                  "Cannot perform Merge as multiple source rows matched and attempted to modify the same target row in "
                  "the Delta table in possibly conflicting ways. By SQL semantics of Merge, when multiple source rows "
                  "match on the same target row, the result may be ambiguous as it is unclear which source row should "
                  "be used to update or delete the matching target row.");
  base_error_set_hint (error, "Reduce the source to one row for each key first.");
  sql_position_add_to_error (&merge->sql->on->position, error);
  return FALSE;
}

/* ---- rows to write ---- */

static void
append_piece (Merge *merge, GString *rows, RelationText *text, guint n_extra, const char *row_id,
              const char *change_type)
{
  guint n_columns = base_type_n_fields (write_batch_schema (merge->target->batch));
  g_string_append (rows, rows->len > 0 ? " UNION ALL SELECT " : "SELECT ");
  for (guint k = 0; k < n_columns; k++)
    g_string_append_printf (rows, "c%u AS c%u, ", n_extra + k, k);
  g_string_append_printf (rows, "%s AS row_id", row_id);
  if (change_type != NULL)
    g_string_append_printf (rows, ", '%s' AS _change_type", change_type);
  g_string_append_printf (rows, " FROM (%s)", relation_text_sql (text)->str);
  g_ptr_array_add (merge->texts, text);
}

/* The rows that UPDATE clause @index leaves, from its group's table m, behind @extra (a list of @n_extra BIGINT columns of it).
 * Returns: (transfer full). */
static RelationText *
updated_rows (Merge *merge, guint index, MergeGroup *group, const char *extra, guint n_extra, GError **error)
{
  DmlTarget *target = merge->target;
  const MergeClause *clause = &merge->clauses[index];
  BaseType *schema = write_batch_schema (target->batch);
  guint n_columns = base_type_n_fields (schema);
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  g_autoptr (BaseType) place = base_type_simple (BASE_TYPE_LONG);
  g_autofree gboolean *given = g_new0 (gboolean, n_columns + 1);
  gboolean fetches = FALSE;
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_string_append (sql, extra);
  for (guint i = 0; i < n_extra; i++) {
    g_autofree char *name = g_strdup_printf ("\x1b"
                                             "extra %u",
                                             i);
    base_struct_builder_add (builder, name, place, TRUE, NULL);
  }
  for (guint k = 0; k < n_columns; k++) {
    const BaseField *field = base_type_field (schema, k);
    guint at = clause->values[k] != NULL ? clause->value_at[k] : group->old_at[k];
    BaseType *have = clause->in_source[k] ? merge->source_schema : relation_plan_schema (group->plan);
    given[k] = clause->values[k] != NULL || !write_generated_is (field);
    if (!given[k])
      continue;
    fetches = fetches || clause->in_source[k];
    g_string_append_printf (sql, ", %s.c%u", clause->in_source[k] ? "s" : "m", at);
    base_struct_builder_add (builder, field->name, base_type_field (have, at)->type, TRUE, NULL);
  }
  g_string_append_printf (sql, " FROM %s m%s WHERE m.c4 = %u", group->table,
                          fetches ? " JOIN dml_source s ON s.rowid = m.c3" : "", index);
  g_autoptr (BaseType) type = base_struct_builder_end (builder);
  g_autoptr (RelationSource) source = relation_source_new_text ("rows of MERGE", sql->str, type, FALSE);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
  g_autoptr (RelationPlan) fitted = dml_fit_values (target, plan, n_extra, given, error);
  RelationText *text = fitted != NULL ? dml_lower (target, fitted, error) : NULL;
  if (text == NULL)
    sql_position_add_to_error (&merge->sql->clauses[index].position, error);
  return text;
}

static gboolean
append_updated (Merge *merge, guint index, MergeGroup *group, const char *change_type, GString *rows, GError **error)
{
  RelationText *text = updated_rows (merge, index, group, "m.c2", 1, error);
  if (text == NULL)
    return FALSE;
  append_piece (merge, rows, text, 1, "c0", change_type);
  return TRUE;
}

/* Takes rows out of the reach of UPDATE clause @index whose values it would not change. */
static gboolean
leave_unchanged (Merge *merge, guint index, MergeGroup *group, GError **error)
{
  const DmlContext *context = merge->target->context;
  g_autoptr (RelationText) text = updated_rows (merge, index, group, "m.c0, m.c1", 2, error);
  g_autoptr (GString) sql = g_string_new (NULL);
  if (text == NULL)
    return FALSE;
  g_string_append_printf (sql, "UPDATE %s g SET c4 = NULL FROM (%s) n WHERE g.c4 = %u AND n.c0 = g.c0 AND n.c1 = g.c1",
                          group->table, relation_text_sql (text)->str, index);
  for (guint k = 0; k < base_type_n_fields (write_batch_schema (merge->target->batch)); k++)
    if (merge->clauses[index].values[k] != NULL)
      g_string_append_printf (sql, " AND n.c%u IS NOT DISTINCT FROM g.c%u", 2 + k, group->old_at[k]);
  group->is_counted = FALSE;
  return duck_session_execute (context->duck, sql->str, context->cancel, error);
}

/* The rows that INSERT clause @index makes of the source rows that match nothing. */
static gboolean
append_inserted (Merge *merge, guint index, const char *change_type, GString *rows, GError **error)
{
  DmlTarget *target = merge->target;
  BaseType *schema = write_batch_schema (target->batch);
  guint n_columns = base_type_n_fields (schema), n_items = 0;
  g_autofree SqlNamed *items = g_new0 (SqlNamed, n_columns + 1);
  g_autofree gboolean *given = g_new0 (gboolean, n_columns + 1);
  for (guint k = 0; k < n_columns; k++) {
    given[k] = merge->clauses[index].values[k] != NULL;
    if (given[k])
      items[n_items++] = dml_named (merge->arena, merge->clauses[index].values[k], base_type_field (schema, k)->name);
  }
  SqlExpr *number = clause_number (merge, SQL_MERGE_NOT_MATCHED);
  SqlExpr *where = number->kind != SQL_EXPR_LITERAL
                       ? sql_build_binary (merge->arena, SQL_BINARY_EQ, number, sql_build_integer (merge->arena, index))
                       : NULL;
  SqlRelation *from = dml_leaf_relation (merge->arena, DML_SOURCE, merge->sql->source->alias);
  g_autoptr (RelationPlan) plan =
      dml_bind (target, dml_query (merge->arena, items, n_items, from, where), FALSE, "MERGE", error);
  g_autoptr (RelationPlan) fitted = plan != NULL ? dml_fit_values (target, plan, 0, given, error) : NULL;
  RelationText *text = fitted != NULL ? dml_lower (target, fitted, error) : NULL;
  if (text == NULL) {
    sql_position_add_to_error (&merge->sql->clauses[index].position, error);
    return FALSE;
  }
  append_piece (merge, rows, text, 0, "NULL::BIGINT", change_type);
  return TRUE;
}

/* Marks the group's rows as gone. */
static gboolean
delete_rows (const Merge *merge, MergeGroup *group, GError **error)
{
  gboolean several;
  g_autofree char *list = clause_list (merge, group->when, TRUE, TRUE);
  g_autofree char *sql =
      g_strdup_printf ("SELECT c0 AS file_index, c1 AS row_number FROM %s WHERE c4 IN (%s)", group->table, list);
  return strlen (list) == 2 || ((group->is_counted || count_rows (merge, group, &several, error)) &&
                                write_batch_delete (merge->target->batch, group->scan, sql, NULL, error));
}

/* Preimages and deletes of a group. */
static gboolean
tell_old (const Merge *merge, const MergeGroup *group, GError **error)
{
  guint n_columns = base_type_n_fields (write_batch_schema (merge->target->batch));
  g_autofree char *updates = clause_list (merge, group->when, TRUE, FALSE);
  g_autofree char *all = clause_list (merge, group->when, TRUE, TRUE);
  g_autoptr (GString) sql = g_string_new ("SELECT DISTINCT ON (f, r) * EXCLUDE (f, r) FROM (SELECT c0 AS f, c1 AS r, ");
  if (group->n_updated + group->n_deleted == 0)
    return TRUE;
  for (guint k = 0; k < n_columns; k++)
    g_string_append_printf (sql, "c%u AS c%u, ", group->old_at[k], k);
  g_string_append_printf (sql,
                          "CASE WHEN c4 IN (%s) THEN 'update_preimage' ELSE 'delete' END AS _change_type FROM %s "
                          "WHERE c4 IN (%s))",
                          updates, group->table, all);
  return write_batch_changes (merge->target->batch, sql->str, NULL, error);
}

/* Everything from the tables into the batch. */
static gboolean
apply (Merge *merge, GError **error)
{
  WriteBatch *batch = merge->target->batch;
  MergeGroup *groups[] = { &merge->match, &merge->rest };
  g_autoptr (GString) rows = g_string_new (NULL);
  for (guint i = 0; i < merge->sql->n_clauses && dml_skips_unchanged (merge->target); i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    if (is_update (clause) &&
        !leave_unchanged (merge, i, clause->when == SQL_MERGE_MATCHED ? &merge->match : &merge->rest, error))
      return FALSE;
  }
  if (!delete_rows (merge, &merge->match, error) || !delete_rows (merge, &merge->rest, error))
    return FALSE;
  guint64 n_updated = (guint64) (merge->match.n_updated + merge->rest.n_updated);
  gboolean tells = write_batch_feed_is_on (batch) && (n_updated > 0 || write_batch_copies_rows (batch));
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    MergeGroup *group = clause->when == SQL_MERGE_MATCHED ? &merge->match : &merge->rest;
    if (is_update (clause) && !append_updated (merge, i, group, tells ? "update_postimage" : NULL, rows, error))
      return FALSE;
  }
  if (has_clause (merge, SQL_MERGE_NOT_MATCHED))
    set_source (merge, "NOT EXISTS (SELECT 1 FROM dml_match WHERE dml_match.c3 = dml_source.rowid)",
                merge->n_source_rows);
  for (guint i = 0; i < merge->sql->n_clauses; i++)
    if (merge->sql->clauses[i].when == SQL_MERGE_NOT_MATCHED &&
        !append_inserted (merge, i, tells ? "insert" : NULL, rows, error))
      return FALSE;
  guint64 n_written = 0;
  WriteRowsFlags flags = write_batch_tracks_rows (batch) ? WRITE_ROWS_ROW_ID : WRITE_ROWS_DEFAULT;
  if (tells)
    flags |= WRITE_ROWS_CHANGE_TYPE;
  if (rows->len > 0 && !dml_target_rows (merge->target, rows->str, flags, &n_written, error))
    return FALSE;
  merge->n_inserted = (gint64) (n_written - n_updated);
  for (guint i = 0; i < G_N_ELEMENTS (groups) && tells; i++)
    if (!tell_old (merge, groups[i], error))
      return FALSE;
  return TRUE;
}

/* ---- commit ---- */

static char *
clauses_text (const Merge *merge, SqlMergeWhen when)
{
  static const char *const actions[] = {
    [SQL_MERGE_UPDATE] = "update", [SQL_MERGE_UPDATE_ALL] = "update", [SQL_MERGE_DELETE] = "delete",
    [SQL_MERGE_INSERT] = "insert", [SQL_MERGE_INSERT_ALL] = "insert",
  };
  g_autoptr (json_t) list = json_array ();
  for (guint i = 0; i < merge->sql->n_clauses; i++) {
    const SqlMergeClause *clause = &merge->sql->clauses[i];
    if (clause->when != when)
      continue;
    json_t *item = json_object ();
    if (clause->condition != NULL) {
      g_autofree char *text = dml_condition_text (clause->condition);
      json_object_set_new (item, "predicate", json_string (text));
    }
    json_object_set_new (item, "actionType", json_string (actions[clause->action]));
    json_array_append_new (list, item);
  }
  return base_json_text (list);
}

static gboolean
commit (Merge *merge, gboolean last, gboolean *is_done, GError **error)
{
  const MergeGroup *match = &merge->match, *rest = &merge->rest;
  gint64 n_updated = match->n_updated + rest->n_updated, n_deleted = match->n_deleted + rest->n_deleted;
  g_autofree char *on = dml_predicate_text (merge->sql->on);
  g_autofree char *matched = clauses_text (merge, SQL_MERGE_MATCHED);
  g_autofree char *not_matched = clauses_text (merge, SQL_MERGE_NOT_MATCHED);
  g_autofree char *by_source = clauses_text (merge, SQL_MERGE_NOT_MATCHED_BY_SOURCE);
  g_autoptr (json_t) parameters =
      json_pack ("{s:s, s:s, s:s, s:s}", "predicate", on, "matchedPredicates", matched, "notMatchedPredicates",
                 not_matched, "notMatchedBySourcePredicates", by_source);
  const struct {
    const char *name;
    gint64 value;
  } metrics[] = {
    { "numSourceRows", merge->n_source_rows },
    { "numTargetRowsInserted", merge->n_inserted },
    { "numTargetRowsUpdated", n_updated },
    { "numTargetRowsMatchedUpdated", match->n_updated },
    { "numTargetRowsNotMatchedBySourceUpdated", rest->n_updated },
    { "numTargetRowsDeleted", n_deleted },
    { "numTargetRowsMatchedDeleted", match->n_deleted },
    { "numTargetRowsNotMatchedBySourceDeleted", rest->n_deleted },
    { "materializeSourceTimeMs", (merge->target->scanning_us - merge->target->start_us) / 1000 },
  };
  g_autoptr (json_t) numbers = json_object ();
  for (guint i = 0; i < G_N_ELEMENTS (metrics); i++)
    json_object_set_new (numbers, metrics[i].name, json_integer (metrics[i].value));
  WriteCommit info = { .operation = "MERGE", .parameters = parameters, .metrics = numbers, .counted = merge_metrics };
  return dml_target_commit (merge->target, &info, last, is_done, error);
}

static void
merge_clear (Merge *merge)
{
  MergeGroup *groups[] = { &merge->match, &merge->rest };
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++) {
    g_clear_pointer (&groups[i]->text, relation_text_free);
    g_clear_pointer (&groups[i]->plan, relation_plan_unref);
    g_clear_pointer (&groups[i]->scan, delta_scan_unref);
    g_clear_pointer (&groups[i]->old_at, g_free);
  }
  for (guint i = 0; merge->clauses != NULL && i < merge->sql->n_clauses; i++) {
    g_free (merge->clauses[i].values);
    g_free (merge->clauses[i].value_at);
    g_free (merge->clauses[i].in_source);
  }
  g_free (merge->clauses);
  g_ptr_array_unref (merge->texts);
  g_clear_pointer (&merge->source_schema, base_type_unref);
  g_clear_pointer (&merge->target, dml_target_free);
  sql_arena_unref (merge->arena);
}

/* Every row that is to change, into the temporary tables and from there into the batch. */
static gboolean
run (Merge *merge, GError **error)
{
  if (!read_source (merge, error))
    return FALSE;
  merge->target->scanning_us = g_get_monotonic_time ();
  if (!evolve (merge, error) || !prepare_clauses (merge, error))
    return FALSE;
  guint n_columns = base_type_n_fields (write_batch_schema (merge->target->batch));
  merge->match =
      (MergeGroup){ .when = SQL_MERGE_MATCHED, .table = "dml_match", .old_at = g_new0 (guint, n_columns + 1) };
  merge->rest = (MergeGroup){ .when = SQL_MERGE_NOT_MATCHED_BY_SOURCE,
                              .table = "dml_rest",
                              .old_at = g_new0 (guint, n_columns + 1) };
  if (!dml_merge_find_skips (merge, error) || !collect (merge, &merge->match, error) || !check_matches (merge, error))
    return FALSE;
  if (has_clause (merge, SQL_MERGE_NOT_MATCHED_BY_SOURCE)) {
    g_array_set_size (merge->target->skips, 0);
    merge->target->seen = delta_scan_ref (merge->match.scan);
    if (!collect (merge, &merge->rest, error))
      return FALSE;
  }
  merge->target->scanned_us = g_get_monotonic_time ();
  return apply (merge, error);
}

static gboolean
merge_once (const DmlContext *context, const SqlStatement *statement, gboolean last, DmlResult *result,
            gboolean *is_done, GError **error)
{
  static const char *const names[] = { "num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows",
                                       NULL };
  Merge merge = { .sql = &statement->u.merge, .arena = sql_arena_new () };
  merge.texts = g_ptr_array_new_with_free_func ((GDestroyNotify) relation_text_free);
  merge.target = dml_target_open (context, &merge.sql->target, "MERGE", error);
  gboolean ok = merge.target != NULL && run (&merge, error);
  static const char *const tables[] = { "dml_source", "dml_match", "dml_rest" };
  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    dml_drop_temporary (context, tables[i]);
  ok = ok && commit (&merge, last, is_done, error);
  gint64 n_updated = merge.match.n_updated + merge.rest.n_updated,
         n_deleted = merge.match.n_deleted + merge.rest.n_deleted;
  const gint64 counts[] = { n_updated + n_deleted + merge.n_inserted, n_updated, n_deleted, merge.n_inserted };
  if (ok)
    dml_result_counts (result, names, counts);
  merge_clear (&merge);
  return ok;
}

gboolean
dml_merge (const DmlContext *context, const SqlStatement *statement, DmlResult *result, GError **error)
{
  return check_clauses (&statement->u.merge, error) && dml_attempt (context, statement, merge_once, result, error);
}

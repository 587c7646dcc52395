/* The target of a statement as a leaf of queries, and what statements that change rows share. See dml-target-private.h.
 *
 * Every scan of the target tells the transaction what it may have read (delta_transaction_read_matching), so a statement conflicts
 * with other commits exactly where its own skipping says that they matter.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "dml-target-private.h"
#include "sql-parse.h"
#include "sql-print.h"
#include "write-schema.h"

#include <string.h>

#define MAX_ATTEMPTS 100

/* ---- leaves ---- */

/* Column numbers of a leaf: the schema's, then the same once more as hidden ones, then the places, of a target `_metadata` at the end. */
struct DmlLeaf {
  RelationSource base;
  DmlTarget *target; /* (nullable): NULL for a source; the plans live shorter */
  char *table;       /* (nullable): of a source */
  char *where;       /* (nullable) */
  char **qualifier;  /* (nullable) */
};

static const char *const target_places[] = { DML_FILE, DML_ROW, DML_ROW_ID };
static const char *const source_places[] = { DML_SOURCE_ROW };

/* The scan's rows without those of dml_match. The two scans number files each in its own way. */
static void
append_unseen (DmlTarget *target, const DeltaScanRequest *request, GString *out)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GString) map = g_string_new ("(-1::BIGINT, -1::BIGINT)");
  for (guint i = 0; i < delta_scan_n_files (target->seen); i++)
    g_hash_table_insert (numbers, (gpointer) delta_file_path (delta_scan_file (target->seen, i)),
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < delta_scan_n_files (target->scan); i++) {
    guint seen = GPOINTER_TO_UINT (g_hash_table_lookup (numbers, delta_file_path (delta_scan_file (target->scan, i))));
    if (seen > 0)
      g_string_append_printf (map, ", (%u, %u)", seen - 1, i);
  }
  g_string_append_printf (out,
                          "SELECT t.* FROM (%s) t ANTI JOIN (SELECT m.here, d.c1 FROM dml_match d JOIN (VALUES %s) "
                          "m(seen, here) ON d.c0 = m.seen) d ON t.%s = d.here AND t.%s = d.c1",
                          delta_scan_sql (target->scan), map->str, request->file_index_name, request->row_number_name);
}

/* `SELECT …, _metadata … FROM (` */
static void
append_with_metadata (const DmlTarget *target, const RelationScan *scan, guint n_columns,
                      const DeltaScanRequest *request, GString *out)
{
  for (guint i = 0; i < scan->n_columns; i++) {
    g_string_append (out, i == 0 ? "SELECT " : ", ");
    if (scan->columns[i] < 2 * n_columns + G_N_ELEMENTS (target_places)) {
      g_string_append (out, scan->names[i]);
      continue;
    }
    catalog_metadata_append (target->snapshot, request, out);
    g_string_append_printf (out, " AS %s", scan->names[i]);
  }
  g_string_append (out, " FROM (");
}

static gboolean
target_scan (DmlLeaf *leaf, const RelationScan *scan, RelationText *out, GError **error)
{
  DmlTarget *target = leaf->target;
  DeltaMetadata *metadata = write_batch_metadata (target->batch);
  guint n_columns = base_type_n_fields (leaf->base.schema);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, scan->n_columns + 1);
  g_autofree DeltaPredicate *predicates = g_new0 (DeltaPredicate, scan->n_skips + target->skips->len + 1);
  g_autofree DeltaConstant *constants = g_new0 (DeltaConstant, scan->n_skips + 1);
  g_autofree RelationSkip *skips = g_new0 (RelationSkip, scan->n_skips + 1);
  DeltaScanRequest request = { .columns = columns, .predicates = predicates, .metadata = metadata };
  RelationScan shown = *scan;
  gboolean wants_metadata = FALSE;

  target->reads_data = FALSE;
  for (guint i = 0; i < scan->n_columns; i++) {
    guint number = scan->columns[i];
    if (number < 2 * n_columns) {
      columns[request.n_columns++] = (DeltaScanColumn){ number % n_columns, scan->names[i] };
      target->reads_data = target->reads_data || !delta_metadata_is_partition_column (metadata, number % n_columns);
    } else if (number == 2 * n_columns) {
      request.file_index_name = scan->names[i];
    } else if (number == 2 * n_columns + 1) {
      request.row_number_name = scan->names[i];
    } else {
      target->reads_data = TRUE;
      if (number == 2 * n_columns + 2)
        request.row_id_name = scan->names[i];
      else
        wants_metadata = TRUE;
    }
  }
  if (wants_metadata)
    catalog_metadata_request (target->snapshot, &request);
  if (scan->n_columns == 0)
    request.row_number_name = "one"; /* counts rows */
  for (guint i = 0; i < scan->n_skips; i++) {
    skips[i] = scan->skips[i];
    if (skips[i].column >= n_columns && skips[i].column < 2 * n_columns)
      skips[i].column -= n_columns;
  }
  shown.skips = skips;
  request.n_predicates = catalog_delta_predicates (&shown, n_columns, predicates, constants);
  for (guint i = 0; i < target->skips->len; i++)
    predicates[request.n_predicates++] = g_array_index (target->skips, DeltaPredicate, i);
  delta_transaction_read_matching (write_batch_transaction (target->batch), predicates, request.n_predicates);

  DeltaScan *made = delta_scan_new (target->snapshot, &request, target->context->cancel, error);
  if (made == NULL)
    return FALSE;
  g_clear_pointer (&target->scan, delta_scan_unref);
  target->scan = delta_scan_ref (made);
  if (wants_metadata)
    append_with_metadata (target, scan, n_columns, &request, relation_text_sql (out));
  if (target->seen != NULL)
    append_unseen (target, &request, relation_text_sql (out));
  else
    g_string_append (relation_text_sql (out), delta_scan_sql (made));
  if (wants_metadata)
    g_string_append (relation_text_sql (out), ")");
  relation_text_hold (out, made, (GDestroyNotify) delta_scan_unref);
  return TRUE;
}

static gboolean
source_scan (DmlLeaf *leaf, const RelationScan *scan, RelationText *out)
{
  guint n_columns = base_type_n_fields (leaf->base.schema);
  GString *sql = relation_text_sql (out);
  g_string_append (sql, "SELECT ");
  for (guint i = 0; i < scan->n_columns; i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    if (scan->columns[i] < 2 * n_columns)
      g_string_append_printf (sql, "c%u", scan->columns[i] % n_columns);
    else
      g_string_append (sql, "rowid");
    g_string_append_printf (sql, " AS %s", scan->names[i]);
  }
  if (scan->n_columns == 0)
    g_string_append (sql, "1 AS one");
  g_string_append_printf (sql, " FROM %s%s%s", leaf->table, leaf->where != NULL ? " WHERE " : "",
                          leaf->where != NULL ? leaf->where : "");
  return TRUE;
}

static gboolean
leaf_scan (RelationSource *source, const RelationScan *scan, RelationText *out, GError **error)
{
  DmlLeaf *leaf = (DmlLeaf *) source;
  return leaf->target != NULL ? target_scan (leaf, scan, out, error) : source_scan (leaf, scan, out);
}

static void
leaf_free (RelationSource *source)
{
  DmlLeaf *leaf = (DmlLeaf *) source;
  relation_source_clear (source);
  g_free (leaf->table);
  g_free (leaf->where);
  g_strfreev (leaf->qualifier);
  g_free (leaf);
}

static const RelationSourceClass leaf_class = { leaf_scan, leaf_free };

/* @metadata: (nullable): the type of `_metadata`. */
static DmlLeaf *
leaf_new (const char *name, const BaseType *schema, const char *column_format, const char *const *places,
          guint n_places, const BaseType *metadata, const char *const *qualifier)
{
  DmlLeaf *leaf = g_new0 (DmlLeaf, 1);
  BaseStructBuilder *hidden = base_struct_builder_new ();
  g_autoptr (BaseType) place = base_type_simple (BASE_TYPE_LONG);
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    char text[32];
    g_snprintf (text, sizeof text,
                g_str_equal (column_format, DML_TARGET_COLUMN) ? DML_TARGET_COLUMN : DML_SOURCE_COLUMN, i);
    base_struct_builder_add (hidden, text, base_type_field (schema, i)->type, base_type_field (schema, i)->nullable,
                             NULL);
  }
  for (guint i = 0; i < n_places; i++)
    base_struct_builder_add (hidden, places[i], place, TRUE, NULL);
  if (metadata != NULL)
    base_struct_builder_add (hidden, CATALOG_METADATA, metadata, FALSE, NULL);
  g_autoptr (BaseType) type = base_struct_builder_end (hidden);
  relation_source_init (&leaf->base, &leaf_class, name, schema, type, FALSE);
  leaf->qualifier = g_strdupv ((char **) qualifier);
  return leaf;
}

/* ---- names ---- */

typedef struct DmlResolver {
  RelationResolver base;
  RelationResolver *inner; /* the statement's own */
  DmlTarget *target;
  DmlLeaf *source; /* (nullable) */
} DmlResolver;

static gboolean
find_table (RelationResolver *base, const RelationTableRequest *request, RelationTableAnswer *answer, GError **error)
{
  DmlResolver *resolver = (DmlResolver *) base;
  DmlLeaf *leaf = NULL;
  if (request->n_parts == 1 && g_str_equal (request->parts[0], DML_TARGET)) {
    leaf = resolver->target->leaf;
    leaf->base.estimated_rows =
        delta_snapshot_n_rows (resolver->target->snapshot); /* asks every file: not for INSERT */
  } else if (request->n_parts == 1 && g_str_equal (request->parts[0], DML_SOURCE))
    leaf = resolver->source;
  if (leaf != NULL) {
    answer->source = relation_source_ref (&leaf->base);
    answer->qualifier = g_strdupv (leaf->qualifier);
    return TRUE;
  }
  return resolver->inner->klass->find_table (resolver->inner, request, answer, error);
}

static gboolean
find_table_function (RelationResolver *base, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                     GError **error)
{
  RelationResolver *inner = ((DmlResolver *) base)->inner;
  return inner->klass->find_table_function == NULL || inner->klass->find_table_function (inner, request, answer, error);
}

static char **
list_tables (RelationResolver *base)
{
  RelationResolver *inner = ((DmlResolver *) base)->inner;
  return inner->klass->list_tables != NULL ? inner->klass->list_tables (inner) : NULL;
}

static const RelationResolverClass resolver_class = { find_table, find_table_function, list_tables };

/* ---- life ---- */

void
dml_target_free (DmlTarget *target)
{
  if (target == NULL)
    return;
  if (target->resolver != NULL && target->resolver->source != NULL)
    relation_source_unref (&target->resolver->source->base);
  g_free (target->resolver);
  if (target->leaf != NULL)
    relation_source_unref (&target->leaf->base);
  g_clear_pointer (&target->scan, delta_scan_unref);
  write_batch_free (target->batch);
  autocdc_dml_free (target->memory);
  g_clear_pointer (&target->snapshot, delta_snapshot_unref);
  catalog_reference_clear (&target->reference);
  g_array_unref (target->skips);
  g_ptr_array_unref (target->skip_texts);
  g_clear_pointer (&target->seen, delta_scan_unref);
  g_strfreev (target->qualifier);
  g_free (target->name);
  g_free (target);
}

static gboolean
check_kind (DmlTarget *target, const SqlName *name, const char *what, GError **error)
{
  const CatalogEntry *entry = target->reference.entry;
  if (entry != NULL && entry->kind == CATALOG_KIND_MATERIALIZED_VIEW) {
    g_autofree char *text = g_strdup_printf ("%s on a materialized view", what);
    return dml_unsupported (&name->position, error, text, "Change the tables that its query reads.");
  }
  return TRUE;
}

static char **
qualifier_of (const CatalogReference *reference)
{
  char **parts = g_new0 (char *, 4);
  if (reference->kind == CATALOG_REFERENCE_PATH) {
    parts[0] = g_strdup ("delta");
    parts[1] = g_strdup (reference->name);
  } else {
    parts[0] = g_strdup (CATALOG_NAME);
    parts[1] = g_strdup (reference->schema);
    parts[2] = g_strdup (reference->name);
  }
  return parts;
}

void
dml_target_refresh (DmlTarget *target)
{
  if (target->leaf != NULL)
    relation_source_unref (&target->leaf->base);
  g_autoptr (BaseType) metadata = catalog_metadata_type (target->snapshot);
  target->leaf = leaf_new (target->name, write_batch_schema (target->batch), DML_TARGET_COLUMN, target_places,
                           G_N_ELEMENTS (target_places), metadata, (const char *const *) target->qualifier);
  target->leaf->target = target;
}

DmlTarget *
dml_target_open (const DmlContext *context, const SqlName *name, const char *what, GError **error)
{
  g_autoptr (DmlTarget) target = g_new0 (DmlTarget, 1);
  target->context = context;
  target->start_us = target->scanning_us = g_get_monotonic_time ();
  target->skips = g_array_new (FALSE, TRUE, sizeof (DeltaPredicate));
  target->skip_texts = g_ptr_array_new_with_free_func (g_free);
  target->snapshot = dml_open (context, name, &target->reference, error);
  if (target->snapshot == NULL || !check_kind (target, name, what, error))
    return NULL;
  target->name = dml_reference_text (&target->reference);
  WriteOptions options = dml_write_options (context);
  if (!dml_memory_open (context, &target->reference, target->snapshot, &target->memory, error))
    return NULL;
  if (target->memory != NULL)
    autocdc_dml_begin (target->memory, &options);
  target->batch =
      write_batch_begin (delta_snapshot_table (target->snapshot), target->snapshot, context->duck, &options, error);
  if (target->batch == NULL)
    return NULL;
  target->qualifier = qualifier_of (&target->reference);
  target->resolver = g_new0 (DmlResolver, 1);
  target->resolver->inner = context->relation->resolver;
  target->resolver->base = *context->relation->resolver;
  target->resolver->base.klass = &resolver_class;
  target->resolver->target = target;
  target->relation = *context->relation;
  target->relation.resolver = &target->resolver->base;
  dml_target_refresh (target);
  return g_steal_pointer (&target);
}

void
dml_target_set_source (DmlTarget *target, const char *table, const char *where, const BaseType *schema,
                       const char *const *qualifier, gint64 n_rows)
{
  if (target->resolver->source != NULL)
    relation_source_unref (&target->resolver->source->base);
  target->resolver->source = leaf_new ("the source of MERGE", schema, DML_SOURCE_COLUMN, source_places,
                                       G_N_ELEMENTS (source_places), NULL, qualifier);
  target->resolver->source->table = g_strdup (table);
  target->resolver->source->where = g_strdup (where);
  target->resolver->source->base.estimated_rows = n_rows;
}

/* ---- trees ---- */

SqlRelation *
dml_leaf_relation (SqlArena *arena, const char *name, const SqlIdent *alias)
{
  const char *const parts[] = { name };
  SqlRelation *relation = sql_arena_new0 (arena, SqlRelation);
  relation->kind = SQL_RELATION_TABLE;
  relation->depth = 1;
  relation->alias = alias;
  relation->u.table.name = sql_build_name (arena, parts, 1);
  return relation;
}

SqlQuery *
dml_query (SqlArena *arena, const SqlNamed *items, guint n_items, SqlRelation *from, SqlExpr *where)
{
  SqlBody *body = sql_arena_new0 (arena, SqlBody);
  SqlQuery *query = sql_arena_new0 (arena, SqlQuery);
  guint depth = MAX (from->depth, where != NULL ? where->depth : 0);
  SqlSelect *select = &body->u.select;
  body->kind = SQL_BODY_SELECT;
  select->items.items = sql_arena_new0_n (arena, SqlNamed, n_items);
  select->items.n = n_items;
  for (guint i = 0; i < n_items; i++) {
    select->items.items[i] = items[i];
    depth = MAX (depth, items[i].value->depth);
  }
  select->from = from;
  select->where = where;
  body->depth = depth + 1;
  query->body = body;
  query->depth = depth + 2;
  return query;
}

SqlNamed
dml_named (SqlArena *arena, SqlExpr *value, const char *name)
{
  SqlNamed named = { .value = value };
  named.aliases.items = sql_arena_new0 (arena, SqlIdent);
  named.aliases.items[0] = sql_build_ident (arena, name);
  named.aliases.n = 1;
  return named;
}

SqlExpr *
dml_column (SqlArena *arena, const char *format, guint index)
{
  char text[32];
  g_snprintf (text, sizeof text, g_str_equal (format, DML_TARGET_COLUMN) ? DML_TARGET_COLUMN : DML_SOURCE_COLUMN,
              index);
  return sql_build_column (arena, text);
}

/* ---- running ---- */

void
dml_note_sources (DmlTarget *target, const RelationPlan *plan)
{
  const CatalogReference *reference = &target->reference;
  g_autofree char *by_name =
      reference->schema != NULL ? g_strdup_printf ("%s.%s", reference->schema, reference->name) : NULL;
  g_autofree char *by_path = g_strdup_printf ("delta.`%s`", reference->location);
  for (guint i = 0; i < relation_plan_n_sources (plan); i++) {
    const RelationSource *source = relation_plan_source (plan, i);
    if (source->klass != &leaf_class &&
        (g_strcmp0 (source->name, by_name) == 0 || g_strcmp0 (source->name, by_path) == 0))
      target->reads_table = TRUE;
  }
}

RelationPlan *
dml_bind (DmlTarget *target, const SqlQuery *query, gboolean deterministic, const char *what, GError **error)
{
  const char *reason = NULL;
  g_autoptr (RelationPlan) plan = relation_plan_new_query (query, &target->relation, error);
  if (plan == NULL)
    return NULL;
  dml_note_sources (target, plan);
  if (relation_plan_is_streaming (plan)) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "A stream in %s is not supported.", what);
    return NULL;
  }
  if (deterministic && !relation_plan_is_deterministic (plan, &reason)) {
    base_error_set (error, SLUICE_ERROR_DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED,
                    "Non-deterministic functions are not supported in %s: %.*s.", what, (int) strcspn (reason, " "),
                    reason);
    return NULL;
  }
  return g_steal_pointer (&plan);
}

RelationText *
dml_lower (DmlTarget *target, RelationPlan *plan, GError **error)
{
  RelationLowering lowering = { .now_us = target->relation.now_us, .session = target->context->duck };
  return relation_plan_lower (plan, &lowering, error);
}

/* ---- assignments ---- */

/* How many leading parts of @name are the target's alias or (the end of) its own name. */
static gboolean
is_qualified (DmlTarget *target, const SqlName *name, const SqlIdent *alias, guint n)
{
  guint n_own = alias != NULL ? 1 : g_strv_length (target->qualifier);
  if (n > n_own)
    return FALSE;
  for (guint i = 0; i < n; i++) {
    const char *own = alias != NULL ? alias->text : target->qualifier[n_own - n + i];
    if (!base_text_equal_ignore_case (name->parts[i].text, own))
      return FALSE;
  }
  return TRUE;
}

static gboolean
unresolved (DmlTarget *target, const SqlName *name, GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  g_autofree char *text = sql_name_text (name);
  g_autoptr (GPtrArray) candidates = g_ptr_array_new ();
  for (guint k = 0; k < base_type_n_fields (schema); k++)
    g_ptr_array_add (candidates, base_type_field (schema, k)->name);
  g_ptr_array_add (candidates, NULL);
  g_autofree char *near =
      name->n > 0 ? base_text_near_names (name->parts[name->n - 1].text, (const char *const *) candidates->pdata, 3)
                  : NULL;
  base_error_set (
      error,
      near != NULL ? SLUICE_ERROR_UNRESOLVED_COLUMN_WITH_SUGGESTION : SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
      "A column with name %s cannot be resolved.%s%s%s", text,
      near != NULL ? " Did you mean one of the following? [" : "", near != NULL ? near : "", near != NULL ? "]" : "");
  sql_position_add_to_error (&name->position, error);
  return FALSE;
}

gboolean
dml_assigned_column (DmlTarget *target, const SqlName *name, const SqlIdent *alias, guint *column, guint *n_skipped,
                     GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  for (guint n = MIN (name->n, 4); n > 0; n--) {
    int index =
        is_qualified (target, name, alias, n - 1) ? base_type_field_index (schema, name->parts[n - 1].text, TRUE) : -1;
    if (index < 0)
      continue;
    *column = (guint) index;
    *n_skipped = n;
    return TRUE;
  }
  return unresolved (target, name, error);
}

static gboolean
is_default_word (const SqlExpr *expr)
{
  return expr->kind == SQL_EXPR_COLUMN && expr->u.column.name.n == 1 && !expr->u.column.name.parts[0].quoted &&
         g_ascii_strcasecmp (expr->u.column.name.parts[0].text, "DEFAULT") == 0;
}

SqlExpr *
dml_default_value (const BaseField *field, SqlArena *arena, GError **error)
{
  const char *text = field->metadata != NULL ? base_json_string (field->metadata, "CURRENT_DEFAULT") : NULL;
  return text != NULL ? sql_parse_expression (arena, text, -1, NULL, error) : sql_build_null (arena);
}

/* One SET, its name without qualifier and column. */
typedef struct {
  const SqlAssignment *assignment;
  guint column;
  guint n_skipped;
} Assigned;

static gboolean
conflict (const SqlAssignment *assignment, GError **error)
{
  g_autofree char *text = sql_name_text (&assignment->column);
  base_error_set (error, SLUICE_ERROR_DELTA_CONFLICT_SET_COLUMN, "There is a conflict from these SET columns: %s.",
                  text);
  sql_position_add_to_error (&assignment->position, error);
  return FALSE;
}

/* base.field */
static SqlExpr *
field_of (SqlArena *arena, SqlExpr *base, const char *name)
{
  SqlExpr *expr = sql_arena_new0 (arena, SqlExpr);
  expr->kind = SQL_EXPR_FIELD;
  expr->depth = base->depth + 1;
  expr->u.field.base = base;
  expr->u.field.name = sql_build_ident (arena, name);
  return expr;
}

/* The value at @base, of @type, after the assignments of @items, all of which have @level parts of their names behind them.
 * Returns: NULL on error. */
static SqlExpr *
value_after (const BaseType *type, SqlExpr *base, GPtrArray *items, guint level, SqlArena *arena, GError **error)
{
  for (guint i = 0; i < items->len; i++) {
    const Assigned *item = g_ptr_array_index (items, i);
    if (item->assignment->column.n > item->n_skipped + level)
      continue;
    if (items->len > 1) {
      conflict (((const Assigned *) g_ptr_array_index (items, 1))->assignment, error);
      return NULL;
    }
    return item->assignment->value;
  }
  const SqlAssignment *first = ((const Assigned *) g_ptr_array_index (items, 0))->assignment;
  if (base_type_kind (type) != BASE_TYPE_STRUCT) {
    g_autofree char *text = sql_name_text (&first->column);
    base_error_set (error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                    "A column with name %s cannot be resolved.", text);
    sql_position_add_to_error (&first->column.position, error);
    return NULL;
  }
  guint n_fields = base_type_n_fields (type), n_found = 0;
  SqlExpr **args = sql_arena_new0_n (arena, SqlExpr *, 2 * n_fields);
  for (guint k = 0; k < n_fields; k++) {
    const BaseField *field = base_type_field (type, k);
    g_autoptr (GPtrArray) below = g_ptr_array_new ();
    for (guint i = 0; i < items->len; i++) {
      const Assigned *item = g_ptr_array_index (items, i);
      if (base_text_equal_ignore_case (item->assignment->column.parts[item->n_skipped + level].text, field->name))
        g_ptr_array_add (below, (gpointer) item);
    }
    SqlExpr *old = field_of (arena, base, field->name);
    n_found += below->len;
    args[2 * k] = sql_build_string (arena, field->name);
    args[2 * k + 1] = below->len > 0 ? value_after (field->type, old, below, level + 1, arena, error) : old;
    if (args[2 * k + 1] == NULL)
      return NULL;
  }
  if (n_found < items->len) {
    g_autofree char *text = sql_name_text (&first->column);
    base_error_set (error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                    "A column with name %s cannot be resolved.", text);
    sql_position_add_to_error (&first->column.position, error);
    return NULL;
  }
  return sql_build_call (arena, "named_struct", args, 2 * n_fields);
}

SqlExpr **
dml_assigned_values (DmlTarget *target, const SqlAssignmentList *assignments, const SqlIdent *alias, SqlArena *arena,
                     GError **error)
{
  BaseType *schema = write_batch_schema (target->batch);
  guint n_columns = base_type_n_fields (schema);
  g_autofree Assigned *all = g_new0 (Assigned, assignments->n + 1);
  g_autofree SqlExpr **values = g_new0 (SqlExpr *, n_columns + 1);
  for (guint i = 0; i < assignments->n; i++) {
    all[i].assignment = &assignments->items[i];
    if (!dml_assigned_column (target, &all[i].assignment->column, alias, &all[i].column, &all[i].n_skipped, error))
      return NULL;
  }
  for (guint k = 0; k < n_columns; k++) {
    const BaseField *field = base_type_field (schema, k);
    g_autoptr (GPtrArray) items = g_ptr_array_new ();
    for (guint i = 0; i < assignments->n; i++)
      if (all[i].column == k)
        g_ptr_array_add (items, &all[i]);
    if (items->len == 0)
      continue;
    if (field->metadata != NULL && json_object_get (field->metadata, "delta.identity.start") != NULL) {
      (void) base_error_set (error, SLUICE_ERROR_DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED,
                             "UPDATE on IDENTITY column %s is not supported.", field->name); /* always FALSE */
      return NULL;
    }
    values[k] = value_after (field->type, dml_column (arena, DML_TARGET_COLUMN, k), items, 0, arena, error);
    if (values[k] == NULL)
      return NULL;
    if (is_default_word (values[k]) && (values[k] = dml_default_value (field, arena, error)) == NULL)
      return NULL;
  }
  return g_steal_pointer (&values);
}

RelationPlan *
dml_fit_values (DmlTarget *target, RelationPlan *plan, guint n_extra, const gboolean *given, GError **error)
{
  BaseType *schema = write_batch_schema (target->batch), *have = relation_plan_schema (plan);
  guint n_columns = base_type_n_fields (schema), n_given = n_extra;
  BaseStructBuilder *builder = base_struct_builder_new ();
  for (guint i = 0; i < n_extra; i++)
    base_struct_builder_add (builder, base_type_field (have, i)->name, base_type_field (have, i)->type, TRUE, NULL);
  for (guint k = 0; k < n_columns; k++)
    if (given[k])
      base_struct_builder_add (builder, base_type_field (schema, k)->name, base_type_field (schema, k)->type, TRUE,
                               NULL);
  g_autoptr (BaseType) fitted = base_struct_builder_end (builder);
  RelationAssignFlags flags = RELATION_ASSIGN_BY_NAME | (target->fills ? RELATION_ASSIGN_FILL : 0);
  g_autoptr (RelationPlan) assigned =
      relation_plan_assign (plan, fitted, flags, target->name, NULL, &target->relation, error);
  if (assigned == NULL)
    return NULL;
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autofree RelationItem *items = g_new0 (RelationItem, n_extra + n_columns + 1);
  for (guint i = 0; i < n_extra; i++)
    items[i].column = i;
  for (guint k = 0; k < n_columns; k++) {
    const BaseField *field = base_type_field (schema, k);
    RelationItem *item = &items[n_extra + k];
    if (given[k]) {
      item->column = n_given++;
      continue;
    }
    const char *text = base_json_string (field->metadata, "delta.generationExpression");
    item->name = field->name;
    item->type = field->type;
    item->expr = sql_parse_expression (arena, text, -1, NULL, error);
    if (item->expr == NULL) {
      base_error_add_context (error, "reading the expression of the generated column %s", field->name);
      return NULL;
    }
  }
  return relation_plan_project (assigned, items, n_extra + n_columns, &target->relation, error);
}

gboolean
dml_skips_unchanged (const DmlTarget *target)
{
  BaseSettings *settings = target->context->settings;
  return settings != NULL && base_settings_get_bool (settings, "engine.dml.skipUnchangedRows");
}

/* ---- ends ---- */

void
dml_drop_temporary (const DmlContext *context, const char *table)
{
  g_autofree char *sql = g_strdup_printf ("DROP TABLE IF EXISTS temp.%s", table);
  (void) duck_session_execute (context->duck, sql, NULL, NULL); /* it goes with the session at the latest */
}

gboolean
dml_target_rows (DmlTarget *target, const char *sql, WriteRowsFlags flags, guint64 *n_rows, GError **error)
{
  if (target->memory == NULL)
    return write_batch_rows (target->batch, sql, flags, n_rows, error);
  target->remembers = TRUE;
  return autocdc_dml_write (target->memory, target->batch, sql, flags, n_rows, error);
}

gboolean
dml_target_commit (DmlTarget *target, WriteCommit *commit, gboolean last, gboolean *is_done, GError **error)
{
  if (write_batch_is_empty (target->batch)) {
    *is_done = TRUE;
    return TRUE;
  }
  if (target->memory != NULL && !target->remembers &&
      !autocdc_dml_write (target->memory, target->batch, NULL, WRITE_ROWS_DEFAULT, NULL, error))
    return FALSE;
  g_autoptr (json_t) metrics = commit->metrics != NULL ? json_incref (commit->metrics) : json_object ();
  gint64 now_us = g_get_monotonic_time ();
  json_object_set_new (metrics, "executionTimeMs", json_integer ((now_us - target->start_us) / 1000));
  if (target->scanned_us > 0) {
    json_object_set_new (metrics, "scanTimeMs", json_integer ((target->scanned_us - target->scanning_us) / 1000));
    json_object_set_new (metrics, "rewriteTimeMs", json_integer ((now_us - target->scanned_us) / 1000));
  }
  commit->metrics = metrics;
  commit->reads_table = commit->reads_table || target->reads_table || target->memory != NULL;
  return write_batch_attempt (target->batch, commit, last, is_done, error);
}

gboolean
dml_attempt (const DmlContext *context, const SqlStatement *statement, DmlAttempt attempt, DmlResult *result,
             GError **error)
{
  gboolean is_done = FALSE;
  for (guint i = 0; i < MAX_ATTEMPTS && !is_done; i++) {
    dml_result_clear (result);
    if (!attempt (context, statement, i + 1 == MAX_ATTEMPTS, result, &is_done, error))
      return FALSE;
  }
  return TRUE;
}

void
dml_result_counts (DmlResult *result, const char *const *names, const gint64 *counts)
{
  g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_LONG);
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  for (guint i = 0; names[i] != NULL; i++) {
    base_struct_builder_add (builder, names[i], type, TRUE, NULL);
    g_string_append_printf (sql, "%s%" G_GINT64_FORMAT "::BIGINT AS c%u", i > 0 ? ", " : "", counts[i], i);
  }
  dml_result_clear (result);
  result->schema = base_struct_builder_end (builder);
  result->sql = g_string_free (g_steal_pointer (&sql), FALSE);
}

char *
dml_condition_text (const SqlExpr *condition)
{
  g_autofree char *text = sql_print_expression (condition);
  return condition->kind == SQL_EXPR_BINARY ? g_strdup_printf ("(%s)", text) : g_steal_pointer (&text);
}

char *
dml_predicate_text (const SqlExpr *condition)
{
  g_autofree char *text = condition != NULL ? dml_condition_text (condition) : NULL;
  const char *const list[] = { text, NULL };
  return dml_json_list (list);
}

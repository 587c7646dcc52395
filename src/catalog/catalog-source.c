/* A Delta snapshot as a leaf of a query. `_metadata` is Spark's hidden struct of file facts; with row tracking it also has
 * row_id and row_commit_version. */
#include "catalog-private.h"

#include <base-text.h>
#include <delta-scan.h>
#include <delta-snapshot.h>

typedef struct {
  RelationSource base;
  DeltaSnapshot *snapshot;
} DeltaSource;

/* Names of the scan's extra outputs: no column of a query is called so (`c<number>`). */
#define PATH_NAME       "m_path"
#define SIZE_NAME       "m_size"
#define MODIFIED_NAME   "m_modified"
#define ROW_ID_NAME     "m_row_id"
#define ROW_COMMIT_NAME "m_row_commit"
#define ROW_NUMBER_NAME "m_row_number"

static gboolean
has_row_ids (DeltaSnapshot *snapshot)
{
  return delta_metadata_row_tracking (delta_snapshot_metadata (snapshot));
}

BaseType *
catalog_metadata_type (DeltaSnapshot *snapshot)
{
  static const struct {
    const char *name;
    BaseTypeKind kind;
    gboolean of_rows;
  } fields[] = {
    { "file_path", BASE_TYPE_STRING, FALSE },
    { "file_name", BASE_TYPE_STRING, FALSE },
    { "file_size", BASE_TYPE_LONG, FALSE },
    { "file_block_start", BASE_TYPE_LONG, FALSE },
    { "file_block_length", BASE_TYPE_LONG, FALSE },
    { "file_modification_time", BASE_TYPE_TIMESTAMP, FALSE },
    { "row_id", BASE_TYPE_LONG, TRUE },
    { "row_commit_version", BASE_TYPE_LONG, TRUE },
  };
  BaseStructBuilder *metadata = base_struct_builder_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++) {
    g_autoptr (BaseType) type = base_type_simple (fields[i].kind);
    if (!fields[i].of_rows || has_row_ids (snapshot))
      base_struct_builder_add (metadata, fields[i].name, type, FALSE, NULL);
  }
  return base_struct_builder_end (metadata);
}

static BaseType *
hidden_type (DeltaSnapshot *snapshot)
{
  BaseStructBuilder *hidden = base_struct_builder_new ();
  g_autoptr (BaseType) metadata = catalog_metadata_type (snapshot);

  base_struct_builder_add (hidden, CATALOG_METADATA, metadata, FALSE, NULL);
  return base_struct_builder_end (hidden);
}

/* @constant: (out). FALSE: such a value cannot be compared with statistics. */
static gboolean
constant_of (const RelationLiteral *literal, DeltaConstant *constant)
{
  BaseTypeKind kind = base_type_kind (literal->type);

  if (literal->is_null)
    return FALSE;
  *constant = (DeltaConstant){ .kind = kind };
  switch (kind) {
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    constant->integer = literal->integer;
    return TRUE;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    constant->real = literal->floating;
    return TRUE;
  case BASE_TYPE_DECIMAL:
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
    constant->text = literal->text;
    constant->text_bytes = literal->size;
    return TRUE;
  case BASE_TYPE_VOID:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return FALSE;
  }
  return FALSE;
}

guint
catalog_delta_predicates (const RelationScan *scan, guint n_columns, DeltaPredicate *predicates,
                          DeltaConstant *constants)
{
  static const DeltaPredicateOp ops[] = {
    [RELATION_SKIP_EQUAL] = DELTA_PREDICATE_EQ,
    [RELATION_SKIP_LESS] = DELTA_PREDICATE_LT,
    [RELATION_SKIP_LESS_EQUAL] = DELTA_PREDICATE_LE,
    [RELATION_SKIP_GREATER] = DELTA_PREDICATE_GT,
    [RELATION_SKIP_GREATER_EQUAL] = DELTA_PREDICATE_GE,
    [RELATION_SKIP_IS_NULL] = DELTA_PREDICATE_IS_NULL,
    [RELATION_SKIP_IS_NOT_NULL] = DELTA_PREDICATE_IS_NOT_NULL,
  };
  guint n = 0;

  for (guint i = 0; i < scan->n_skips; i++) {
    const RelationSkip *skip = &scan->skips[i];
    gboolean has_value = skip->op != RELATION_SKIP_IS_NULL && skip->op != RELATION_SKIP_IS_NOT_NULL;
    if (skip->column >= n_columns || (has_value && (skip->value == NULL || !constant_of (skip->value, &constants[n]))))
      continue;
    predicates[n] = (DeltaPredicate){ .column = skip->column, .op = ops[skip->op] };
    if (has_value) {
      predicates[n].constants = &constants[n];
      predicates[n].n_constants = 1;
    }
    n++;
  }
  return n;
}

void
catalog_metadata_request (DeltaSnapshot *snapshot, DeltaScanRequest *request)
{
  request->path_name = PATH_NAME;
  request->size_name = SIZE_NAME;
  request->modified_name = MODIFIED_NAME;
  if (has_row_ids (snapshot) && request->row_id_name == NULL)
    request->row_id_name = ROW_ID_NAME;
  if (has_row_ids (snapshot))
    request->row_commit_version_name = ROW_COMMIT_NAME;
}

void
catalog_metadata_append (DeltaSnapshot *snapshot, const DeltaScanRequest *request, GString *sql)
{
  g_string_append (sql, "struct_pack(file_path := 'file://' || " PATH_NAME ", file_name := "
                        "parse_filename(" PATH_NAME ", false, 'forward_slash'), file_size := " SIZE_NAME
                        ", file_block_start := 0::BIGINT, file_block_length := " SIZE_NAME
                        ", file_modification_time := " MODIFIED_NAME);
  if (has_row_ids (snapshot))
    g_string_append_printf (sql, ", row_id := %s, row_commit_version := " ROW_COMMIT_NAME, request->row_id_name);
  g_string_append (sql, ")");
}

static gboolean
delta_source_scan (RelationSource *base, const RelationScan *scan, RelationText *out, GError **error)
{
  DeltaSource *source = (DeltaSource *) base;
  guint n_columns = base_type_n_fields (base->schema);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, scan->n_columns + 1);
  g_autofree DeltaPredicate *predicates = g_new0 (DeltaPredicate, scan->n_skips + 1);
  g_autofree DeltaConstant *constants = g_new0 (DeltaConstant, scan->n_skips + 1);
  gboolean wants_metadata = FALSE;
  DeltaScanRequest request = { .columns = columns, .predicates = predicates };
  g_autoptr (DeltaScan) delta_scan = NULL;

  for (guint i = 0; i < scan->n_columns; i++) {
    if (scan->columns[i] >= n_columns)
      wants_metadata = TRUE;
    else
      columns[request.n_columns++] = (DeltaScanColumn){ scan->columns[i], scan->names[i] };
  }
  request.n_predicates = catalog_delta_predicates (scan, n_columns, predicates, constants);
  if (wants_metadata) {
    catalog_metadata_request (source->snapshot, &request);
  } else if (request.n_columns == 0) {
    request.row_number_name = ROW_NUMBER_NAME; /* counts rows: costs no column read */
  }
  delta_scan = delta_scan_new (source->snapshot, &request, NULL, error);
  if (delta_scan == NULL)
    return FALSE;
  if (wants_metadata) {
    GString *sql = relation_text_sql (out);
    g_string_append (sql, "SELECT ");
    for (guint i = 0; i < scan->n_columns; i++) {
      g_string_append (sql, i == 0 ? "" : ", ");
      if (scan->columns[i] >= n_columns)
        catalog_metadata_append (source->snapshot, &request, sql);
      g_string_append_printf (sql, scan->columns[i] >= n_columns ? " AS %s" : "%s", scan->names[i]);
    }
    g_string_append_printf (sql, " FROM (%s)", delta_scan_sql (delta_scan));
  } else {
    g_string_append (relation_text_sql (out), delta_scan_sql (delta_scan));
  }
  relation_text_hold (out, g_steal_pointer (&delta_scan), (GDestroyNotify) delta_scan_unref);
  return TRUE;
}

static void
delta_source_free (RelationSource *base)
{
  DeltaSource *source = (DeltaSource *) base;
  delta_snapshot_unref (source->snapshot);
  relation_source_clear (base);
  g_free (source);
}

static const RelationSourceClass delta_source_class = { delta_source_scan, delta_source_free };

RelationSource *
catalog_delta_source_new (DeltaSnapshot *snapshot, const char *name)
{
  DeltaSource *source = g_new0 (DeltaSource, 1);
  g_autoptr (BaseType) hidden = hidden_type (snapshot);

  source->snapshot = delta_snapshot_ref (snapshot);
  relation_source_init (&source->base, &delta_source_class, name, delta_snapshot_schema (snapshot), hidden, FALSE);
  source->base.estimated_rows = delta_snapshot_n_rows (snapshot);
  return &source->base;
}

gboolean
catalog_delta_source_renew (RelationSource *base, BaseCancel *cancel, gboolean *renewed, GError **error)
{
  DeltaSource *source = (DeltaSource *) base;
  g_autoptr (DeltaSnapshot) newest = delta_table_snapshot (delta_snapshot_table (source->snapshot), cancel, error);

  if (newest == NULL)
    return FALSE;
  *renewed = delta_snapshot_version (newest) != delta_snapshot_version (source->snapshot) &&
             base_type_equal (base->schema, delta_snapshot_schema (newest), BASE_TYPE_EQUAL_EXACT) &&
             has_row_ids (source->snapshot) == has_row_ids (newest);
  if (!*renewed)
    return TRUE;
  base->estimated_rows = delta_snapshot_n_rows (newest);
  delta_snapshot_unref (source->snapshot);
  source->snapshot = g_steal_pointer (&newest);
  return TRUE;
}

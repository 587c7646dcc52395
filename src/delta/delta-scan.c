/* A scan is a UNION ALL of branches. Files are put into one branch when they are read by the same text: same physical columns,
 * and all with or all without a filter. Usually there are two branches.
 *
 *   SELECT <outputs> FROM read_parquet([paths], hive_partitioning = false, schema = MAP{'physical': {name: 'p0', …}}) f
 *   [JOIN sluice_files(<values>) v ON v.ix = f.file_index]  [WHERE sluice_live(<filter>, f.file_index, f.file_row_number)]
 *
 * Files whose rows are in memory (request.again) are branches of their own: sluice_parts(<rows>) stands for read_parquet(…).
 *
 * Inside a branch physical columns are called p0, p1, …, per-file values v0, v1, … of the lent table; a value that is the
 * same for all files of a branch is a literal, so that DuckDB can fold it.
 *
 * Invariants:
 *   1. No name of a user or a file becomes an identifier of the text except as a quoted output or struct member name.
 *   2. `files` is in the order of file_index over all branches.
 *   3. Lent objects live as long as the DeltaScan.
 */
#include "delta-scan.h"

#include "base-error.h"
#include "base-text.h"
#include "delta-file-private.h"
#include "delta-footer-private.h"
#include "delta-literal-private.h"
#include "delta-reading-private.h"
#include "delta-table-private.h"
#include "delta-value-private.h"
#include "delta-vector-private.h"
#include "delta-widening.h"
#include "duck-cache.h"
#include "duck-engine.h"
#include "duck-lend.h"
#include "duck-path.h"

#include <math.h>
#include <string.h>

#define GUESSED_ROW_BYTES 32     /* where a file's statistics give no number of rows */
#define ROW_GROUP_ROWS    122880 /* DuckDB's own; a file of fewer rows has nothing to share among threads */
#define SLOT_BYTES        9      /* of a value in memory, with whether it is NULL; a text's is twice as much */
#define MOST_LISTED_ROWS  256    /* of the wanted rows by number in the SQL text */

struct DeltaScan {
  gatomicrefcount references;
  DeltaSnapshot *snapshot;
  char *sql;
  GPtrArray *files; /* DeltaFile, by file_index */
  GPtrArray *holds;
  guint n_files_total;
};

DeltaScan *
delta_scan_ref (DeltaScan *scan)
{
  g_atomic_ref_count_inc (&scan->references);
  return scan;
}

void
delta_scan_unref (DeltaScan *scan)
{
  if (scan == NULL || !g_atomic_ref_count_dec (&scan->references))
    return;
  g_clear_pointer (&scan->holds, g_ptr_array_unref);
  g_clear_pointer (&scan->files, g_ptr_array_unref);
  delta_snapshot_unref (scan->snapshot);
  g_free (scan->sql);
  g_free (scan);
}

const char *
delta_scan_sql (DeltaScan *scan)
{
  return scan->sql;
}

guint
delta_scan_n_files (DeltaScan *scan)
{
  return scan->files->len;
}

guint
delta_scan_n_files_total (DeltaScan *scan)
{
  return scan->n_files_total;
}

gint64
delta_scan_bytes (DeltaScan *scan)
{
  gint64 size_bytes = 0;

  for (guint i = 0; i < scan->files->len; i++)
    size_bytes += delta_file_size_bytes (scan->files->pdata[i]);
  return size_bytes;
}

DeltaFile *
delta_scan_file (DeltaScan *scan, gint64 file_index)
{
  return file_index >= 0 && file_index < scan->files->len ? scan->files->pdata[file_index] : NULL;
}

/* The filter ---------------------------------------------------------------------------------------------------------- */

/* Rows of file i of the branch are live when they are (only) or are not (!only) in vectors[i]. */
typedef struct {
  GPtrArray *vectors; /* DeltaVector */
  GArray *only;       /* gboolean */
} Filter;

static gboolean
filter_test (gpointer self, const guint64 *file_indexes, const gint64 *row_numbers, gsize n, guint8 *live,
             GError **error)
{
  Filter *filter = self;

  for (gsize start = 0, end; start < n; start = end) {
    guint64 file = file_indexes[start];
    gboolean only;
    for (end = start + 1; end < n && file_indexes[end] == file;)
      end++;
    if (file >= filter->vectors->len)
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "a scan met a file that it was not given");
    only = g_array_index (filter->only, gboolean, file);
    memset (live + start, only ? 0 : 1, end - start);
    delta_vector_mark (filter->vectors->pdata[file], row_numbers + start, end - start, live + start, only ? 1 : 0);
  }
  return TRUE;
}

static void
filter_free (gpointer self)
{
  Filter *filter = self;

  g_ptr_array_unref (filter->vectors);
  g_array_unref (filter->only);
  g_free (filter);
}

static const DuckFilterFuncs filter_funcs = { filter_test, filter_free };

/* Inputs -------------------------------------------------------------------------------------------------------------- */

/* One file to read. */
typedef struct {
  DeltaFile *file;
  char *path;          /* local */
  DeltaVector *vector; /* (nullable): the filter */
  gboolean only;
  const char *const *values; /* of the request */
  char *reading;             /* text that two files of one branch share */
  DuckCached *cached;        /* (nullable): its rows */
} Item;

static void
item_free (gpointer data)
{
  Item *item = data;

  delta_file_unref (item->file);
  g_free (item->path);
  delta_vector_unref (item->vector);
  g_free (item->reading);
  duck_cached_unref (item->cached);
  g_free (item);
}

typedef struct {
  DeltaSnapshot *snapshot;
  DeltaTable *table;
  DeltaMetadata *metadata;
  DeltaMapping mapping;
  const DeltaScanRequest *request;
  BaseCancel *cancel;
  GPtrArray *items; /* Item */
  DeltaScan *scan;
  GString *sql;
  gboolean use_footers;
} Builder;

static gboolean
set_gone (Builder *builder, const char *path, GError **error)
{
  const DeltaScanRequest *request = builder->request;
  gboolean is_version = request->inputs == NULL && !request->explicit_inputs;

  return delta_table_set_file_gone (builder->table, path,
                                    is_version ? delta_snapshot_version (builder->snapshot) : DELTA_VERSION_NONE,
                                    builder->cancel, error);
}

static gboolean
load_vector (Builder *builder, Item *item, GError **error)
{
  g_autoptr (GError) failure = NULL;

  item->vector = delta_vector_load (builder->table, delta_file_vector (item->file), &failure);
  if (item->vector != NULL)
    return TRUE;
  if (g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_FILE_NOT_FOUND_DETAILED))
    return set_gone (builder, base_error_param (failure, "path"), error);
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* Finds the filter of one input. @skip: (out): no row can come from it. */
static gboolean
settle_rows (Builder *builder, Item *item, const DeltaScanInput *input, gboolean *skip, GError **error)
{
  gint64 n_records = delta_file_n_records (item->file);
  DeltaScanRows rows = input != NULL ? input->rows : DELTA_SCAN_LIVE;

  *skip = n_records == 0;
  switch (rows) {
  case DELTA_SCAN_ALL:
    return TRUE;
  case DELTA_SCAN_LIVE:
    if (delta_file_vector (item->file) == NULL || delta_file_vector (item->file)->cardinality == 0)
      return TRUE;
    if (delta_file_n_live_records (item->file) == 0) {
      *skip = TRUE;
      return TRUE;
    }
    return load_vector (builder, item, error);
  case DELTA_SCAN_ONLY:
    item->vector = input->vector != NULL ? delta_vector_ref (input->vector) : delta_vector_new ();
    item->only = TRUE;
    *skip |= delta_vector_is_empty (item->vector);
    return TRUE;
  case DELTA_SCAN_EXCEPT:
    if (input->vector != NULL && !delta_vector_is_empty (input->vector))
      item->vector = delta_vector_ref (input->vector);
    return TRUE;
  }
  return TRUE;
}

static gboolean
add_item (Builder *builder, DeltaFile *file, const DeltaScanInput *input, GError **error)
{
  Item *item;
  gboolean skip = FALSE;

  builder->scan->n_files_total++;
  if (!delta_file_may_match (builder->metadata, file, builder->request->predicates, builder->request->n_predicates))
    return TRUE;
  item = g_new0 (Item, 1);
  item->file = delta_file_ref (file);
  item->values = input != NULL ? input->values : NULL;
  item->path = delta_table_file_path (builder->table, file, error);
  if (item->path == NULL || !settle_rows (builder, item, input, &skip, error) ||
      (!skip && item->path[0] == '/' && !delta_table_has_file (builder->table, item->path) &&
       !set_gone (builder, item->path, error))) {
    item_free (item);
    return FALSE;
  }
  if (skip)
    item_free (item);
  else
    g_ptr_array_add (builder->items, item);
  return TRUE;
}

static gboolean
collect_items (Builder *builder, GError **error)
{
  const DeltaScanRequest *request = builder->request;

  if (request->inputs != NULL || request->explicit_inputs) {
    for (guint i = 0; i < request->n_inputs; i++)
      if (!add_item (builder, request->inputs[i].file, &request->inputs[i], error))
        return FALSE;
    return TRUE;
  }
  for (guint i = 0; i < delta_snapshot_n_files (builder->snapshot); i++)
    if (!add_item (builder, delta_snapshot_file (builder->snapshot, i), NULL, error))
      return FALSE;
  return TRUE;
}

/* Reading columns ----------------------------------------------------------------------------------------------------- */

/* Whether footers must be read: for ids, for timestamps that may be stored without a zone, and for types that became wider. */
static gboolean
needs_footers (Builder *builder)
{
  BaseType *schema = delta_metadata_schema (builder->metadata);

  for (guint i = 0; i < builder->request->n_columns; i++) {
    guint column = builder->request->columns[i].column;
    if (delta_metadata_is_partition_column (builder->metadata, column))
      continue;
    if (builder->mapping == DELTA_MAPPING_ID ||
        base_type_holds (base_type_field (schema, column)->type, BASE_TYPE_TIMESTAMP) ||
        delta_field_has_type_changes (base_type_field (schema, column)))
      return TRUE;
  }
  for (guint i = 0; i < builder->request->n_hidden; i++)
    if (base_type_holds (builder->request->hidden[i].type, BASE_TYPE_TIMESTAMP))
      return TRUE;
  return FALSE;
}

/* How a branch reads: entries of the schema map, and an expression per column and hidden column of the request. */
typedef struct {
  GString *map;           /* 'physical': {…}, … */
  GHashTable *names;      /* physical → pN; both owned */
  GPtrArray *expressions; /* char*, columns then hidden; NULL for partition columns */
} Reading;

static void
reading_clear (Reading *reading)
{
  g_string_free (reading->map, TRUE);
  g_hash_table_unref (reading->names);
  g_ptr_array_unref (reading->expressions);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Reading, reading_clear)

/* Adds a physical column and returns its name inside the branch (a borrow). One physical column is read once. */
static const char *
read_column (Reading *reading, const char *physical, const char *type_text)
{
  const char *name = g_hash_table_lookup (reading->names, physical);
  char *fresh;

  if (name != NULL)
    return name;
  fresh = g_strdup_printf ("p%u", g_hash_table_size (reading->names));
  g_hash_table_insert (reading->names, g_strdup (physical), fresh);
  if (reading->map->len > 0)
    g_string_append (reading->map, ", ");
  base_text_append_sql_literal (reading->map, physical);
  g_string_append_printf (reading->map, ": {name: '%s', type: ", fresh);
  base_text_append_sql_literal (reading->map, type_text);
  g_string_append (reading->map, ", default_value: NULL}");
  return fresh;
}

static void
read_one (Reading *reading, const char *physical, const BaseType *type, const DeltaFooterNode *node,
          DeltaMapping mapping)
{
  g_autoptr (GString) type_text = g_string_new (NULL);
  g_autoptr (GString) unused = g_string_new (NULL);
  GString *expression = g_string_new (NULL);
  const char *name;
  g_autofree char *input = NULL;

  if (base_type_kind (type) == BASE_TYPE_VOID) {
    g_ptr_array_add (reading->expressions, g_string_free (expression, FALSE));
    return;
  }
  (void) delta_reading_type (type, node, mapping, "", 0, type_text, unused); /* first the type, for the name */
  name = read_column (reading, physical, type_text->str);
  input = g_strconcat ("f.", name, NULL);
  g_string_truncate (type_text, 0);
  (void) delta_reading_type (type, node, mapping, input, 0, type_text, expression); /* the same type again */
  g_ptr_array_add (reading->expressions, g_string_free (expression, FALSE));
}

/* @footer: (nullable). */
static void
make_reading (Builder *builder, const DeltaFooterNode *footer, Reading *reading)
{
  const DeltaScanRequest *request = builder->request;
  BaseType *schema = delta_metadata_schema (builder->metadata);

  reading->map = g_string_new (NULL);
  reading->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  reading->expressions = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < request->n_columns; i++) {
    const BaseField *field = base_type_field (schema, request->columns[i].column);
    const char *physical = delta_field_physical_name (field, builder->mapping);
    const DeltaFooterNode *node = delta_footer_child (footer, physical);
    if (delta_metadata_is_partition_column (builder->metadata, request->columns[i].column)) {
      g_ptr_array_add (reading->expressions, NULL);
      continue;
    }
    if (builder->mapping == DELTA_MAPPING_ID && footer != NULL && footer->has_ids) {
      node = delta_footer_child_by_id (footer, delta_field_id (field));
      physical = node != NULL ? node->name : DELTA_NO_COLUMN;
    }
    if (strcmp (physical, DELTA_NO_COLUMN) == 0)
      g_ptr_array_add (reading->expressions, g_strdup (""));
    else
      read_one (reading, physical, field->type, node, builder->mapping);
  }
  for (guint i = 0; i < request->n_hidden; i++)
    read_one (reading, request->hidden[i].physical_name, request->hidden[i].type,
              delta_footer_child (footer, request->hidden[i].physical_name), DELTA_MAPPING_NONE);
  if (request->row_id_name != NULL && delta_metadata_row_id_column (builder->metadata) != NULL)
    (void) read_column (reading, delta_metadata_row_id_column (builder->metadata), "BIGINT");
  if (request->row_commit_version_name != NULL && delta_metadata_row_commit_version_column (builder->metadata) != NULL)
    (void) read_column (reading, delta_metadata_row_commit_version_column (builder->metadata), "BIGINT");
  if (reading->map->len == 0)
    (void) read_column (reading, DELTA_NO_COLUMN, "BOOLEAN"); /* DuckDB wants at least one */
}

/* How the columns of the request fit a file; @column (out): the name of one that does not. */
static DeltaFit
file_fit (Builder *builder, const DeltaFooterNode *footer, const char **column, const DeltaFooterNode **worst)
{
  BaseType *schema = delta_metadata_schema (builder->metadata);
  DeltaFit fit = DELTA_FIT_AS_IS;

  for (guint i = 0; i < builder->request->n_columns; i++) {
    const BaseField *field = base_type_field (schema, builder->request->columns[i].column);
    const DeltaFooterNode *node =
        builder->mapping == DELTA_MAPPING_ID && footer->has_ids
            ? delta_footer_child_by_id (footer, delta_field_id (field))
            : delta_footer_child (footer, delta_field_physical_name (field, builder->mapping));
    DeltaFit one;
    if (delta_metadata_is_partition_column (builder->metadata, builder->request->columns[i].column))
      continue;
    one = delta_reading_fit (field->type, node, builder->mapping, worst);
    if (one == DELTA_FIT_UNSAFE)
      *column = field->name;
    fit = MAX (fit, one);
  }
  return fit;
}

/* Footers are needed, or the first file shows that types are not what the schema says: then all files are looked at. A file
 * that cannot be read says so when it is. */
static gboolean
decide_on_footers (Builder *builder)
{
  const DeltaFooterNode *footer = NULL;
  const DeltaFooterNode *worst = NULL;
  const char *column = NULL;
  const char *path;

  if (needs_footers (builder))
    return TRUE;
  if (builder->items->len == 0 || builder->request->n_columns == 0)
    return FALSE;
  path = ((Item *) builder->items->pdata[0])->path;
  return delta_footers_load (builder->table, &path, 1, &footer, builder->cancel, NULL) &&
         file_fit (builder, footer, &column, &worst) != DELTA_FIT_AS_IS;
}

static gboolean
check_fit (Builder *builder, const DeltaFooterNode *footer, const char *path, GError **error)
{
  const DeltaFooterNode *worst = NULL;
  const char *column = NULL;

  if (file_fit (builder, footer, &column, &worst) != DELTA_FIT_UNSAFE)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE,
                  "the column `%s` cannot be read from the data file %s: it is stored there as %s", column, path,
                  worst->type);
  base_error_add_param (error, "path", path);
  base_error_add_param (error, "column", column);
  return FALSE;
}

static gint64
guess_rows (const DeltaFile *file)
{
  gint64 n_records = delta_file_n_records (file);

  return n_records >= 0 ? n_records : delta_file_size_bytes (file) / GUESSED_ROW_BYTES + 1;
}

/* The text that decides which branch a file belongs to. */
static char *
reading_signature (const Reading *reading, gboolean filtered)
{
  GString *text = g_string_new (filtered ? "filtered " : "plain ");

  g_string_append (text, reading->map->str);
  for (guint i = 0; i < reading->expressions->len; i++)
    g_string_append_printf (text, "\n%s",
                            reading->expressions->pdata[i] != NULL ? (char *) reading->expressions->pdata[i] : "");
  return g_string_free (text, FALSE);
}

static gboolean
sign_items (Builder *builder, GError **error)
{
  g_autofree const DeltaFooterNode **footers = NULL;
  g_autofree const char **paths = NULL;

  builder->use_footers = decide_on_footers (builder);
  if (!builder->use_footers) {
    for (guint i = 0; i < builder->items->len; i++) {
      Item *item = builder->items->pdata[i];
      item->reading = g_strdup (item->vector != NULL ? "filtered" : "plain");
    }
    return TRUE;
  }
  footers = g_new0 (const DeltaFooterNode *, builder->items->len + 1);
  paths = g_new0 (const char *, builder->items->len + 1);
  for (guint i = 0; i < builder->items->len; i++)
    paths[i] = ((Item *) builder->items->pdata[i])->path;
  if (!delta_footers_load (builder->table, paths, builder->items->len, footers, builder->cancel, error))
    return FALSE;
  for (guint i = 0; i < builder->items->len; i++) {
    Item *item = builder->items->pdata[i];
    if (!check_fit (builder, footers[i], item->path, error))
      return FALSE;
    g_auto (Reading) reading = { 0 };
    make_reading (builder, footers[i], &reading);
    item->reading = reading_signature (&reading, item->vector != NULL);
  }
  return TRUE;
}

/* ` FROM read_parquet([paths], …) f`. With an explicit schema DuckDB looks into no file while it plans: without a number of rows it would
 * take the scan for the small side of a join, and it gives a single file one thread. */
static void
append_reader (const Builder *builder, Item *const *items, guint n_items, const Reading *reading, GString *sql)
{
  gint64 n_rows = 0;

  g_string_append (sql, " FROM read_parquet([");
  for (guint i = 0; i < n_items; i++) {
    n_rows += guess_rows (items[i]->file);
    g_string_append (sql, i > 0 ? ", " : "");
    duck_path_append (sql, items[i]->path);
  }
  if (n_items == 1 && n_rows > ROW_GROUP_ROWS) {
    DuckEngine *engine = delta_table_engine (builder->table);
    const char *empty = duck_engine_n_threads (engine) > 1 ? duck_engine_empty_parquet (engine) : NULL;

    if (empty != NULL)
      g_string_append_printf (sql, ", '%s'", empty);
  }
  g_string_append_printf (
      sql, "], hive_partitioning = false, explicit_cardinality = %" G_GINT64_FORMAT ", schema = MAP{%s}) f", n_rows,
      reading->map->str);
}

/* Whether the columns that say which rows are wanted are all in the files. */
static gboolean
has_hash (const Builder *builder)
{
  for (guint i = 0; i < builder->request->n_wanted_columns; i++)
    if (delta_metadata_is_partition_column (builder->metadata, builder->request->columns[i].column))
      return FALSE;
  return builder->request->n_wanted_columns > 0;
}

/* `, hash(…) AS "the columns' hash"`, of those columns. */
static void
append_hash (const Builder *builder, const Reading *reading, GString *sql)
{
  if (!has_hash (builder))
    return;
  for (guint i = 0; i < builder->request->n_wanted_columns; i++) {
    const char *expression = reading->expressions->pdata[i];
    const BaseField *field =
        base_type_field (delta_metadata_schema (builder->metadata), builder->request->columns[i].column);

    g_string_append (sql, i > 0 ? ", " : ", hash(");
    g_string_append (sql, *expression != '\0' ? expression : "NULL::");
    if (*expression == '\0')
      duck_type_append_text (sql, field->type);
  }
  g_string_append (sql, ") AS \"the columns' hash\"");
}

/* What gives the rows of @item to duck_cache_rows(). */
static char *
cached_select (Builder *builder, Item *item)
{
  const DeltaFooterNode *footer = builder->use_footers ? delta_table_cached_footer (builder->table, item->path) : NULL;
  g_auto (Reading) reading = { 0 };
  GString *select = g_string_new ("SELECT ");

  make_reading (builder, footer, &reading);
  for (guint i = 0; i < g_hash_table_size (reading.names); i++)
    g_string_append_printf (select, "f.p%u, ", i);
  g_string_append (select, "f.file_row_number::BIGINT AS file_row_number");
  append_hash (builder, &reading, select);
  append_reader (builder, &item, 1, &reading, select);
  /* A file of the same name is another one. */
  g_string_append_printf (select, " /* %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " */",
                          delta_file_size_bytes (item->file), delta_file_modified_ms (item->file));
  return g_string_free (select, FALSE);
}

static gboolean
has_texts (const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);

  return kind == BASE_TYPE_STRING || kind == BASE_TYPE_BINARY || base_type_is_nested (type);
}

/* About what the rows of cached_select() take: slots, and what lies beside them, of which a file has half the bytes. */
static guint64
cached_bytes (const Builder *builder, Item *item)
{
  const DeltaScanRequest *request = builder->request;
  const BaseType *schema = delta_metadata_schema (builder->metadata);
  guint64 row_bytes = 2 * SLOT_BYTES, n_bytes = 0;

  for (guint i = 0; i < request->n_columns; i++) {
    gboolean texts = has_texts (base_type_field (schema, request->columns[i].column)->type);

    row_bytes += texts ? 2 * SLOT_BYTES : SLOT_BYTES;
    if (texts && i >= request->n_wanted_columns)
      n_bytes = 2 * (guint64) delta_file_size_bytes (item->file);
  }
  for (guint i = 0; i < request->n_hidden; i++)
    row_bytes += has_texts (request->hidden[i].type) ? 2 * SLOT_BYTES : SLOT_BYTES;
  return n_bytes + row_bytes * (guint64) guess_rows (item->file);
}

/* Takes the items' rows from memory where they are, or worth to be: where others are, those of new files are worth it at once. */
static gboolean
take_cached (Builder *builder, GError **error)
{
  DuckEngine *engine = delta_table_engine (builder->table);
  g_autoptr (GPtrArray) selects = g_ptr_array_new_with_free_func (g_free);
  gboolean any = FALSE;

  for (guint i = 0; i < builder->items->len; i++) {
    Item *item = builder->items->pdata[i];
    gboolean takes = duck_cache_takes (engine, (guint64) guess_rows (item->file));
    char *select = takes ? cached_select (builder, item) : NULL;

    g_ptr_array_add (selects, select);
    any = any || (select != NULL && duck_cache_has (engine, select));
  }
  for (guint i = 0; i < selects->len; i++) {
    Item *item = builder->items->pdata[i];
    g_autofree char *as_file = NULL;

    if (selects->pdata[i] == NULL)
      continue;
    if (!duck_cache_rows (engine, selects->pdata[i], cached_bytes (builder, item), any, builder->cancel, &item->cached,
                          error))
      return FALSE;
    if (item->cached == NULL)
      continue;
    as_file = item->reading;
    item->reading = g_strconcat ("cached ", as_file, NULL);
  }
  return TRUE;
}

static int
compare_items (gconstpointer a, gconstpointer b)
{
  const Item *left = *(Item *const *) a;
  const Item *right = *(Item *const *) b;
  int order = (left->vector != NULL) - (right->vector != NULL);

  if (order == 0)
    order = strcmp (left->reading, right->reading);
  /* Within a branch the order of the input, which g_ptr_array_sort() does not keep by itself. */
  return order != 0 ? order : strcmp (delta_file_key (left->file), delta_file_key (right->file));
}

/* Values per file ----------------------------------------------------------------------------------------------------- */

/* One column of values per file inside a branch. */
typedef struct {
  BaseType *type;
  GArray *values;   /* DeltaValue per item */
  GPtrArray *texts; /* what the values borrow from */
  int index;        /* in the lent table; -1 = a literal */
} FileValues;

static void
file_values_free (gpointer data)
{
  FileValues *values = data;

  base_type_unref (values->type);
  g_array_unref (values->values);
  g_ptr_array_unref (values->texts);
  g_free (values);
}

static FileValues *
file_values_new (const BaseType *type)
{
  FileValues *values = g_new0 (FileValues, 1);

  values->type = base_type_ref (type);
  values->values = g_array_new (FALSE, FALSE, sizeof (DeltaValue));
  values->texts = g_ptr_array_new_with_free_func (g_free);
  values->index = -1;
  return values;
}

static gboolean
value_equal (const BaseType *type, const DeltaValue *a, const DeltaValue *b)
{
  if (a->is_null || b->is_null)
    return a->is_null && b->is_null;
  return delta_value_compare (type, a, b) == 0;
}

static gboolean
is_uniform (const FileValues *values)
{
  const DeltaValue *first = &g_array_index (values->values, DeltaValue, 0);

  for (guint i = 1; i < values->values->len; i++)
    if (!value_equal (values->type, first, &g_array_index (values->values, DeltaValue, i)))
      return FALSE;
  /* A NUL cannot stand in SQL text, and -0.0 equals 0.0. */
  return first->is_null || ((first->text == NULL || memchr (first->text, '\0', first->text_bytes) == NULL) &&
                            !(first->real == 0 && signbit (first->real)));
}

/* Branches ------------------------------------------------------------------------------------------------------------ */

/* Files [start, end) of the items, read by one text. */
typedef struct {
  Builder *builder;
  Item **items;
  guint n_items;
  guint first_index; /* of file_index over all branches */
  GPtrArray *values; /* FileValues */
} Branch;

static FileValues *
branch_values (Branch *branch, const BaseType *type)
{
  FileValues *values = file_values_new (type);

  g_ptr_array_add (branch->values, values);
  return values;
}

/* Gives the values their place and appends the expression that reads them. */
static void
append_values (Branch *branch, FileValues *values, GString *out)
{
  if (is_uniform (values)) {
    delta_value_append_sql (out, values->type, &g_array_index (values->values, DeltaValue, 0));
    return;
  }
  values->index = 0;
  for (guint i = 0; i < branch->values->len; i++) {
    FileValues *other = branch->values->pdata[i];
    if (other != values && other->index >= 0)
      values->index = MAX (values->index, other->index + 1);
  }
  g_string_append_printf (out, "v.v%d", values->index);
}

/* What @file says of a partition column. */
static gboolean
partition_value (DeltaFile *file, const BaseField *field, DeltaMapping mapping, DeltaValue *value, GError **error)
{
  DeltaPartitionValue written;

  (void) delta_file_find_partition_value (file, delta_field_physical_name (field, mapping),
                                          &written); /* a missing one reads as NULL */
  if (delta_value_parse (field->type, written.text, written.text_bytes, value))
    return TRUE;
  g_autofree char *type_text = base_type_text (field->type);
  base_error_set (error, SLUICE_ERROR_DELTA_INVALID_PARTITION_VALUE,
                  "the value `%.200s` of the partition column `%s` is no %s", written.text, field->name, type_text);
  base_error_add_param (error, "path", delta_file_path (file));
  return FALSE;
}

gboolean
delta_file_append_partition_literal (DeltaMetadata *metadata, DeltaFile *file, guint column, GString *sql,
                                     GError **error)
{
  const BaseField *field = base_type_field (delta_metadata_schema (metadata), column);
  DeltaValue value;

  if (!partition_value (file, field, delta_metadata_mapping (metadata), &value, error))
    return FALSE;
  delta_value_append_sql (sql, field->type, &value);
  return TRUE;
}

static gboolean
append_partition_values (Branch *branch, const BaseField *field, GString *out, GError **error)
{
  FileValues *values = branch_values (branch, field->type);

  for (guint i = 0; i < branch->n_items; i++) {
    DeltaValue value;
    if (!partition_value (branch->items[i]->file, field, branch->builder->mapping, &value, error))
      return FALSE;
    g_array_append_val (values->values, value);
  }
  append_values (branch, values, out);
  return TRUE;
}

/* A number per file, -1 = NULL. */
static void
append_numbers (Branch *branch, BaseTypeKind kind, gint64 (*get) (const DeltaFile *file), GString *out)
{
  g_autoptr (BaseType) type = base_type_simple (kind);
  FileValues *values = branch_values (branch, type);

  for (guint i = 0; i < branch->n_items; i++) {
    gint64 number = get (branch->items[i]->file);
    DeltaValue value = { .is_null = number < 0, .integer = number };
    g_array_append_val (values->values, value);
  }
  append_values (branch, values, out);
}

static gint64
modified_us (const DeltaFile *file)
{
  return delta_file_modified_ms (file) * 1000;
}

static gboolean
append_request_values (Branch *branch, guint index, GString *out, GError **error)
{
  const DeltaScanValue *asked = &branch->builder->request->values[index];
  BaseTypeKind kind = base_type_kind (asked->type);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  gboolean counted = kind == BASE_TYPE_DATE || kind == BASE_TYPE_TIMESTAMP || kind == BASE_TYPE_TIMESTAMP_NTZ;
  FileValues *values = branch_values (branch, asked->type);

  for (guint i = 0; i < branch->n_items; i++) {
    const char *text = branch->items[i]->values != NULL ? branch->items[i]->values[index] : NULL;
    char *copy = g_strdup (text);
    DeltaValue value;
    /* Instants and dates come as numbers. */
    g_ptr_array_add (values->texts, copy);
    if (!delta_value_parse (counted ? number : asked->type, copy, copy != NULL ? strlen (copy) : 0, &value))
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "the value `%s` for `%s` is not of its type", text,
                             asked->name);
    g_array_append_val (values->values, value);
  }
  append_values (branch, values, out);
  return TRUE;
}

static void
append_output (GString *out, gboolean *first, const char *expression, const char *name)
{
  g_string_append (out, *first ? "" : ", ");
  *first = FALSE;
  g_string_append (out, expression);
  g_string_append (out, " AS ");
  base_text_append_sql_identifier (out, name);
}

/* stable row id, row commit version: the materialized value, else what the file says. */
static void
append_row_tracking (Branch *branch, const Reading *reading, GString *out, gboolean *first)
{
  const DeltaScanRequest *request = branch->builder->request;
  DeltaMetadata *metadata = branch->builder->metadata;

  if (request->row_id_name != NULL) {
    const char *column = delta_metadata_row_id_column (metadata);
    g_autoptr (GString) text = g_string_new (NULL);
    if (column != NULL)
      g_string_append_printf (text, "coalesce(f.%s, ", (char *) g_hash_table_lookup (reading->names, column));
    append_numbers (branch, BASE_TYPE_LONG, delta_file_base_row_id, text);
    g_string_append_printf (text, " + f.file_row_number%s", column != NULL ? ")" : "");
    append_output (out, first, text->str, request->row_id_name);
  }
  if (request->row_commit_version_name != NULL) {
    const char *column = delta_metadata_row_commit_version_column (metadata);
    g_autoptr (GString) text = g_string_new (NULL);
    if (column != NULL)
      g_string_append_printf (text, "coalesce(f.%s, ", (char *) g_hash_table_lookup (reading->names, column));
    append_numbers (branch, BASE_TYPE_LONG, delta_file_default_row_commit_version, text);
    g_string_append (text, column != NULL ? ")" : "");
    append_output (out, first, text->str, request->row_commit_version_name);
  }
}

static void
append_extras (Branch *branch, const Reading *reading, GString *out)
{
  const DeltaScanRequest *request = branch->builder->request;
  gboolean first = out->len == 0;

  if (request->file_index_name != NULL) {
    g_autofree char *text = g_strdup_printf ("(f.file_index::BIGINT + %u)", branch->first_index);
    append_output (out, &first, text, request->file_index_name);
  }
  if (request->row_number_name != NULL)
    append_output (out, &first, "f.file_row_number::BIGINT", request->row_number_name);
  append_row_tracking (branch, reading, out, &first);
  if (request->path_name != NULL)
    append_output (out, &first, "f.filename", request->path_name);
  if (request->size_name != NULL) {
    g_autoptr (GString) text = g_string_new (NULL);
    append_numbers (branch, BASE_TYPE_LONG, delta_file_size_bytes, text);
    append_output (out, &first, text->str, request->size_name);
  }
  if (request->modified_name != NULL) {
    g_autoptr (GString) text = g_string_new (NULL);
    append_numbers (branch, BASE_TYPE_TIMESTAMP, modified_us, text);
    append_output (out, &first, text->str, request->modified_name);
  }
}

static gboolean
append_outputs (Branch *branch, const Reading *reading, GString *out, GError **error)
{
  const DeltaScanRequest *request = branch->builder->request;
  BaseType *schema = delta_metadata_schema (branch->builder->metadata);
  gboolean first = TRUE;

  for (guint i = 0; i < request->n_columns; i++) {
    const BaseField *field = base_type_field (schema, request->columns[i].column);
    g_autoptr (GString) text = g_string_new (reading->expressions->pdata[i]);
    if (reading->expressions->pdata[i] == NULL) {
      if (!append_partition_values (branch, field, text, error))
        return FALSE;
    } else if (text->len == 0) {
      g_string_append (text, "NULL::");
      duck_type_append_text (text, field->type);
    }
    append_output (out, &first, text->str, request->columns[i].name);
  }
  for (guint i = 0; i < request->n_hidden; i++)
    append_output (out, &first, reading->expressions->pdata[request->n_columns + i], request->hidden[i].name);
  for (guint i = 0; i < request->n_values; i++) {
    g_autoptr (GString) text = g_string_new (NULL);
    if (!append_request_values (branch, i, text, error))
      return FALSE;
    append_output (out, &first, text->str, request->values[i].name);
  }
  append_extras (branch, reading, out);
  if (out->len == 0)
    g_string_append (out, "TRUE AS \"" DELTA_NO_COLUMN "\""); /* only the number of rows is wanted */
  return TRUE;
}

/* Lends the values that are no literals. */
static void
append_join (Branch *branch, GString *sql)
{
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DuckTableColumn));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  DuckTableColumn ix = { .name = "ix", .kind = DUCK_KIND_UBIGINT };
  DuckTable *table;
  guint64 handle;

  g_array_append_val (columns, ix);
  for (guint i = 0; i < branch->values->len; i++) {
    FileValues *values = branch->values->pdata[i];
    DuckTableColumn column;
    if (values->index < 0)
      continue;
    g_ptr_array_add (names, g_strdup_printf ("v%d", values->index));
    column = delta_value_table_column (values->type, names->pdata[names->len - 1]);
    g_array_append_val (columns, column);
  }
  if (columns->len == 1)
    return;
  table = duck_table_new ((const DuckTableColumn *) columns->data, columns->len);
  for (guint row = 0; row < branch->n_items; row++) {
    guint column = 1;
    duck_table_set_int64 (table, 0, row);
    for (guint i = 0; i < branch->values->len; i++) {
      FileValues *values = branch->values->pdata[i];
      if (values->index >= 0)
        delta_value_set_cell (table, column++, values->type, &g_array_index (values->values, DeltaValue, row));
    }
    duck_table_end_row (table);
  }
  handle = duck_engine_lend_table (delta_table_engine (branch->builder->table), table);
  duck_holds_add (branch->builder->scan->holds, delta_table_engine (branch->builder->table), handle);
  g_string_append_printf (sql, " JOIN sluice_files(%" G_GUINT64_FORMAT "::UBIGINT) v ON v.ix = f.file_index", handle);
}

/* ` AND f.file_row_number …` when only some rows are wanted: it keeps DuckDB from reading the row groups that have none of them. */
static void
append_wanted_rows (const Branch *branch, GString *sql)
{
  g_autoptr (DeltaVector) wanted = delta_vector_new ();
  guint64 rows[MOST_LISTED_ROWS + 1];
  guint64 first, last;
  gsize n_rows;

  for (guint i = 0; i < branch->n_items; i++) {
    if (!branch->items[i]->only)
      return;
    delta_vector_add_all (wanted, branch->items[i]->vector);
  }
  if (!delta_vector_next (wanted, 0, &first) || !delta_vector_last (wanted, &last))
    return;
  n_rows = delta_vector_list (wanted, first, last, rows, G_N_ELEMENTS (rows));
  if (n_rows > MOST_LISTED_ROWS) {
    g_string_append_printf (sql, " AND f.file_row_number BETWEEN %" G_GUINT64_FORMAT " AND %" G_GUINT64_FORMAT, first,
                            last);
    return;
  }
  g_string_append (sql, " AND f.file_row_number IN (");
  for (gsize i = 0; i < n_rows; i++)
    g_string_append_printf (sql, "%s%" G_GUINT64_FORMAT, i > 0 ? ", " : "", rows[i]);
  g_string_append (sql, ")");
}

static void
append_filter (Branch *branch, GString *sql)
{
  Filter *filter;
  guint64 handle;

  if (branch->items[0]->vector == NULL)
    return;
  filter = g_new (Filter, 1);
  filter->vectors = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_vector_unref);
  filter->only = g_array_new (FALSE, FALSE, sizeof (gboolean));
  for (guint i = 0; i < branch->n_items; i++) {
    g_ptr_array_add (filter->vectors, delta_vector_ref (branch->items[i]->vector));
    g_array_append_val (filter->only, branch->items[i]->only);
  }
  handle = duck_engine_lend_filter (delta_table_engine (branch->builder->table), &filter_funcs, filter);
  duck_holds_add (branch->builder->scan->holds, delta_table_engine (branch->builder->table), handle);
  g_string_append_printf (sql, " WHERE sluice_live(%" G_GUINT64_FORMAT "::UBIGINT, f.file_index, f.file_row_number)",
                          handle);
  append_wanted_rows (branch, sql);
}

static void
append_files (Branch *branch, const Reading *reading, GString *sql)
{
  DuckEngine *engine = delta_table_engine (branch->builder->table);
  g_autofree DuckCached **cached = g_new0 (DuckCached *, branch->n_items);
  guint64 handle;

  for (guint i = 0; i < branch->n_items; i++) {
    g_ptr_array_add (branch->builder->scan->files, delta_file_ref (branch->items[i]->file));
    cached[i] = branch->items[i]->cached;
  }
  if (cached[0] == NULL) {
    append_reader (branch->builder, branch->items, branch->n_items, reading, sql);
    return;
  }
  handle = duck_engine_lend_cached (engine, cached, branch->n_items, "file_index",
                                    has_hash (branch->builder) ? branch->builder->request->wanted : NULL);
  duck_holds_add (branch->builder->scan->holds, engine, handle);
  g_string_append_printf (sql, " FROM sluice_parts(%" G_GUINT64_FORMAT "::UBIGINT) f", handle);
}

static gboolean
append_branch (Branch *branch, GError **error)
{
  Builder *builder = branch->builder;
  g_auto (Reading) reading = { 0 };
  g_autoptr (GString) outputs = g_string_new (NULL);
  const DeltaFooterNode *footer = NULL;

  if (builder->use_footers)
    footer = delta_table_cached_footer (builder->table, branch->items[0]->path);
  make_reading (builder, footer, &reading);
  if (!append_outputs (branch, &reading, outputs, error))
    return FALSE;
  g_string_append (builder->sql, builder->sql->len > 0 ? " UNION ALL SELECT " : "SELECT ");
  g_string_append (builder->sql, outputs->str);
  append_files (branch, &reading, builder->sql);
  append_join (branch, builder->sql);
  append_filter (branch, builder->sql);
  return TRUE;
}

static gboolean
append_branches (Builder *builder, GError **error)
{
  g_ptr_array_sort (builder->items, compare_items);
  for (guint start = 0, end; start < builder->items->len; start = end) {
    Item *first = builder->items->pdata[start];
    g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (file_values_free);
    Branch branch = { builder, (Item **) builder->items->pdata + start, 0, builder->scan->files->len, values };
    for (end = start + 1; end < builder->items->len; end++) {
      Item *item = builder->items->pdata[end];
      if ((item->vector != NULL) != (first->vector != NULL) || strcmp (item->reading, first->reading) != 0)
        break;
    }
    branch.n_items = end - start;
    if (!append_branch (&branch, error))
      return FALSE;
  }
  return TRUE;
}

static void
append_empty (GString *out, gboolean *first, const BaseType *type, const char *name)
{
  g_autofree char *type_text = NULL;
  g_autofree char *expression = NULL;

  if (name == NULL)
    return;
  type_text = duck_type_text (type);
  expression = g_strconcat ("NULL::", type_text, NULL);
  append_output (out, first, expression, name);
}

char *
delta_scan_empty_sql (DeltaMetadata *metadata, const DeltaScanRequest *request)
{
  GString *sql = g_string_new ("SELECT ");
  BaseType *schema = delta_metadata_schema (metadata);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) instant = base_type_simple (BASE_TYPE_TIMESTAMP);
  gboolean first = TRUE;

  for (guint i = 0; i < request->n_columns; i++)
    append_empty (sql, &first, base_type_field (schema, request->columns[i].column)->type, request->columns[i].name);
  for (guint i = 0; i < request->n_hidden; i++)
    append_empty (sql, &first, request->hidden[i].type, request->hidden[i].name);
  for (guint i = 0; i < request->n_values; i++)
    append_empty (sql, &first, request->values[i].type, request->values[i].name);
  append_empty (sql, &first, number, request->file_index_name);
  append_empty (sql, &first, number, request->row_number_name);
  append_empty (sql, &first, number, request->row_id_name);
  append_empty (sql, &first, number, request->row_commit_version_name);
  append_empty (sql, &first, text, request->path_name);
  append_empty (sql, &first, number, request->size_name);
  append_empty (sql, &first, instant, request->modified_name);
  if (first)
    g_string_append (sql, "TRUE AS \"" DELTA_NO_COLUMN "\"");
  g_string_append (sql, " WHERE false");
  return g_string_free (sql, FALSE);
}

DeltaScan *
delta_scan_new (DeltaSnapshot *snapshot, const DeltaScanRequest *request, BaseCancel *cancel, GError **error)
{
  g_autoptr (DeltaScan) scan = g_new0 (DeltaScan, 1);
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (item_free);
  g_autoptr (GString) sql = g_string_new (NULL);
  DeltaMetadata *metadata = request->metadata != NULL ? request->metadata : delta_snapshot_metadata (snapshot);
  Builder builder = {
    .snapshot = snapshot,
    .table = delta_snapshot_table (snapshot),
    .metadata = metadata,
    .mapping = delta_metadata_mapping (metadata),
    .request = request,
    .cancel = cancel,
    .items = items,
    .scan = scan,
    .sql = sql,
  };

  g_atomic_ref_count_init (&scan->references);
  scan->snapshot = delta_snapshot_ref (snapshot);
  scan->files = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  scan->holds = duck_holds_new ();
  if (delta_table_engine (builder.table) == NULL) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "the table %s was opened without an engine to read Parquet", delta_table_location (builder.table));
    return NULL;
  }
  if (!collect_items (&builder, error) || !sign_items (&builder, error) ||
      (request->again && !take_cached (&builder, error)) || !append_branches (&builder, error)) {
    base_error_add_context (error, "planning to read version %" G_GINT64_FORMAT " of %s",
                            delta_snapshot_version (snapshot), delta_table_location (builder.table));
    return NULL;
  }
  scan->sql = items->len > 0 ? g_strdup (sql->str) : delta_scan_empty_sql (metadata, request);
  return g_steal_pointer (&scan);
}

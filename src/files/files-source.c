/* Raw files as a leaf: see files-source.h.
 *
 * Every format first gives *raw* rows: columns x0, x1, … (JSON: already typed, except dates and timestamps; CSV: text; Parquet: its own
 * types), r (what is rescued so far) and p (the path). Where a raw type is not the schema's, `relation` casts it with Spark's
 * TRY_CAST, and text that did not become a value is rescued. The final SELECT picks the asked columns.
 */
#include "files-source.h"

#include "base-error.h"
#include "base-text.h"
#include "duck-kernel.h"
#include "duck-lend.h"
#include "files-json-convert-private.h"
#include "files-packed-private.h"
#include "files-schema-private.h"
#include "files-text-private.h"
#include "relation-plan.h"
#include "sql-parse.h"

#include <string.h>

typedef struct {
  RelationSource base;
  FilesOptions *options;
  BaseType *data;
  GPtrArray *entries;
  DuckSession *session;
  BaseCancel *cancel;
} FilesSource;

/* Raw rows of some of the files. */
typedef struct {
  GString *sql;      /* SELECT of x0 …, r, p */
  GPtrArray *types;  /* of BaseType: x0, x1, … */
  GArray *map;       /* of int: per data column its x, -1 = the files lack it */
  GPtrArray *extras; /* of char *: names of raw columns that the schema lacks … */
  GArray *extra_at;  /* … and of guint: which x they are */
} Part;

static Part *
part_new (void)
{
  Part *part = g_new0 (Part, 1);

  part->sql = g_string_new (NULL);
  part->types = g_ptr_array_new_with_free_func ((GDestroyNotify) base_type_unref);
  part->map = g_array_new (FALSE, FALSE, sizeof (int));
  part->extras = g_ptr_array_new_with_free_func (g_free);
  part->extra_at = g_array_new (FALSE, FALSE, sizeof (guint));
  return part;
}

static void
part_free (Part *part)
{
  if (part == NULL)
    return;
  g_string_free (part->sql, TRUE);
  g_ptr_array_unref (part->types);
  g_array_unref (part->map);
  g_ptr_array_unref (part->extras);
  g_array_unref (part->extra_at);
  g_free (part);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Part, part_free)

static gboolean
rescues (const FilesSource *source)
{
  return files_options_rescued_column (source->options) != NULL;
}

static gboolean
fails_on_unknown (const FilesSource *source)
{
  FilesEvolution evolution = files_options_evolution (source->options);

  return source->base.streaming &&
         (evolution == FILES_EVOLVE_ADD_NEW_COLUMNS || evolution == FILES_EVOLVE_FAIL_ON_NEW_COLUMNS);
}

/* ---- JSON ---- */

static gboolean
is_read_as_text (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR:
  case BASE_TYPE_VOID:
    return TRUE;
  default:
    return FALSE;
  }
}

/* The raw order of the data columns: the column of corrupt records, if the schema has it, last. */
static GArray *
json_raw_order (const FilesSource *source, gboolean *has_corrupt)
{
  GArray *order = g_array_new (FALSE, FALSE, sizeof (guint));
  int corrupt =
      base_type_field_index (source->data, files_options_text (source->options, "columnNameOfCorruptRecord"), TRUE);

  for (guint i = 0; i < base_type_n_fields (source->data); i++)
    if ((int) i != corrupt)
      g_array_append_val (order, i);
  *has_corrupt =
      corrupt >= 0 && base_type_kind (base_type_field (source->data, (guint) corrupt)->type) == BASE_TYPE_STRING;
  if (corrupt >= 0)
    g_array_append_val (order, corrupt);
  return order;
}

static guint
json_mode (const FilesSource *source, gboolean has_corrupt)
{
  guint mode = fails_on_unknown (source) ? FILES_JSON_FAIL_UNKNOWN : 0;

  if (rescues (source))
    mode |= FILES_JSON_RESCUE;
  if (has_corrupt)
    mode |= FILES_JSON_CORRUPT_COLUMN;
  if (!files_options_infer_types (source->options) && files_options_schema (source->options) == NULL)
    mode |= FILES_JSON_NESTED_AS_TEXT;
  if (!files_options_bool (source->options, "readerCaseSensitive"))
    mode |= FILES_JSON_IGNORE_CASE;
  switch (files_options_mode (source->options)) {
  case FILES_MODE_PERMISSIVE:
    break;
  case FILES_MODE_DROPMALFORMED:
    mode |= FILES_JSON_DROP_MALFORMED;
    break;
  case FILES_MODE_FAILFAST:
    mode |= FILES_JSON_FAIL_MALFORMED;
    break;
  }
  return mode;
}

static void
append_json_fields (GString *sql, const FilesSource *source, const GArray *order, Part *part, GString *result_type,
                    GString *strings_only)
{
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);

  g_array_set_size (part->map, order->len);
  g_string_append (result_type, order->len > 0 ? "STRUCT(\"f\" STRUCT(" : "STRUCT(\"f\" INTEGER");
  for (guint x = 0; x < order->len; x++) {
    guint column = g_array_index (order, guint, x);
    const BaseField *field = base_type_field (source->data, column);
    gboolean as_text = is_read_as_text (field->type);
    BaseType *type = base_type_ref (as_text ? string : field->type);
    g_autofree char *name = base_text_sql_identifier (field->name);
    g_autofree char *type_text = duck_type_text (type);
    g_ptr_array_add (part->types, type);
    g_array_index (part->map, int, column) = (int) x;
    g_string_append_printf (result_type, "%s%s %s", x > 0 ? ", " : "", name, type_text);
    g_string_append_printf (sql, "s.f.%s AS x%u, ", name, x);
    if (as_text)
      g_string_append_printf (strings_only, "%s%u", strings_only->len > 0 ? "," : ";", x);
  }
  g_string_append (result_type, order->len > 0 ? "), \"r\" VARCHAR)" : ", \"r\" VARCHAR)");
}

static gboolean
add_json_part (FilesSource *source, GPtrArray *parts, GError **error)
{
  g_autoptr (Part) part = part_new ();
  g_autoptr (GPtrArray) plain = NULL;
  g_autoptr (GPtrArray) odd = NULL;
  g_autoptr (GString) result_type = g_string_new (NULL);
  g_autoptr (GString) strings_only = g_string_new (NULL);
  gboolean has_corrupt;
  g_autoptr (GArray) order = json_raw_order (source, &has_corrupt);

  if (!files_schema_split_json (source->options, source->entries, source->session, source->cancel, &plain, &odd, error))
    return FALSE;
  g_string_append (part->sql, "SELECT ");
  append_json_fields (part->sql, source, order, part, result_type, strings_only);
  const char *kernel =
      duck_engine_kernel_instance (duck_session_engine (source->session), "sluice_json_row", result_type->str, error);
  if (kernel == NULL)
    return FALSE;
  guint mode = json_mode (source, has_corrupt);
  g_string_append_printf (part->sql, "s.r AS r, p FROM (SELECT %s(j, p, '%u%s') AS s, p FROM (", kernel, mode,
                          strings_only->str);
  files_text_append_json (part->sql, source->options, plain, odd);
  g_string_append (part->sql, ") WHERE j IS NOT NULL");
  /* The fence keeps DuckDB from computing the kernel a second time inside the filter. */
  if (mode & FILES_JSON_DROP_MALFORMED)
    g_string_append (part->sql, " LIMIT 9223372036854775807) WHERE s IS NOT NULL");
  else
    g_string_append_c (part->sql, ')');
  g_ptr_array_add (parts, g_steal_pointer (&part));
  return TRUE;
}

/* ---- formats with columns of their own ---- */

static gboolean
unknown_column (const char *name, const char *path, GError **error)
{
  base_error_set (error, SLUICE_ERROR_UNKNOWN_FIELD_EXCEPTION,
                  "The file %s has the column \"%s\", which the schema lacks", path, name);
  base_error_add_param (error, "field", name);
  return FALSE;
}

/* Fills the map from names of raw columns; raw columns that the schema lacks fail or become extras. */
static gboolean
map_columns (FilesSource *source, Part *part, const char *const *names, const char *path, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (source->data); i++) {
    int at = -1;
    for (guint x = 0; names[x] != NULL && at < 0; x++)
      if (base_text_equal_ignore_case (names[x], base_type_field (source->data, i)->name))
        at = (int) x;
    g_array_append_val (part->map, at);
  }
  for (guint x = 0; names[x] != NULL; x++) {
    if (base_type_field_index (source->data, names[x], TRUE) != -1)
      continue;
    if (fails_on_unknown (source))
      return unknown_column (names[x], path, error);
    if (!rescues (source))
      continue;
    g_ptr_array_add (part->extras, g_strdup (names[x]));
    g_array_append_val (part->extra_at, x);
  }
  return TRUE;
}

static gboolean
add_csv_parts (FilesSource *source, GPtrArray *parts, GError **error)
{
  g_autoptr (GPtrArray) groups = files_schema_group_csv (source->options, source->entries, source->session, error);

  for (guint g = 0; groups != NULL && g < groups->len; g++) {
    const FilesCsvGroup *group = g_ptr_array_index (groups, g);
    const char *const *names = (const char *const *) group->names->pdata;
    const FilesEntry *first = g_ptr_array_index (group->entries, 0);
    g_autoptr (Part) part = part_new ();
    if (!map_columns (source, part, names, first->path, error))
      return FALSE;
    g_string_append (part->sql, "SELECT ");
    for (guint x = 0; names[x] != NULL; x++) {
      g_autofree char *name = base_text_sql_identifier (names[x]);
      g_string_append_printf (part->sql, "%s AS x%u, ", name, x);
      g_ptr_array_add (part->types, base_type_simple (BASE_TYPE_STRING));
    }
    g_string_append (part->sql, "NULL::VARCHAR AS r, \"sluice file\" AS p FROM ");
    files_text_append_csv (part->sql, source->options, group->entries, names);
    g_ptr_array_add (parts, g_steal_pointer (&part));
  }
  return groups != NULL;
}

static gboolean
add_parquet_part (FilesSource *source, GPtrArray *parts, GError **error)
{
  g_autoptr (BaseType) schema = files_schema_parquet (source->entries, source->session, error);
  if (schema == NULL)
    return FALSE;
  g_autoptr (Part) part = part_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const FilesEntry *first = g_ptr_array_index (source->entries, 0);

  g_string_append (part->sql, "SELECT ");
  for (guint x = 0; x < base_type_n_fields (schema); x++) {
    const BaseField *field = base_type_field (schema, x);
    g_autofree char *name = base_text_sql_identifier (field->name);
    g_autofree char *type = duck_type_text (field->type);
    BaseTypeKind kind = base_type_kind (field->type);
    /* DuckDB 1.5.5 asks a Bloom filter for the printed form of a BLOB, and tells 0.0 from -0.0 there, and so overlooks rows: no filter
     * gets through to the file. */
    if (kind == BASE_TYPE_BINARY)
      g_string_append_printf (part->sql, "CASE WHEN %s IS NOT NULL THEN %s END AS x%u, ", name, name, x);
    else if (kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE)
      g_string_append_printf (part->sql, "CASE WHEN %s IS NOT NULL THEN CAST(%s AS %s) END AS x%u, ", name, name, type,
                              x);
    else
      g_string_append_printf (part->sql, "CAST(%s AS %s) AS x%u, ", name, type, x);
    g_ptr_array_add (part->types, base_type_ref (field->type));
    g_ptr_array_add (names, field->name);
  }
  g_ptr_array_add (names, NULL);
  if (!map_columns (source, part, (const char *const *) names->pdata, first->path, error))
    return FALSE;
  g_string_append (part->sql, "NULL::VARCHAR AS r, \"sluice file\" AS p FROM read_parquet(");
  files_text_append_list (part->sql, source->entries);
  g_string_append (part->sql, ", union_by_name=true, hive_partitioning=false, filename='sluice file')");
  g_ptr_array_add (parts, g_steal_pointer (&part));
  return TRUE;
}

static gboolean
add_text_part (FilesSource *source, GPtrArray *parts, GError **error)
{
  static const char *const names[] = { "value", NULL };
  g_autoptr (Part) part = part_new ();

  if (!map_columns (source, part, names, files_options_path (source->options), error))
    return FALSE;
  g_ptr_array_add (part->types, base_type_simple (BASE_TYPE_STRING));
  g_string_append (
      part->sql,
      "SELECT rtrim(unnest(string_split(rtrim(content, chr(10)), chr(10))), chr(13)) AS x0, NULL::VARCHAR AS r, p FROM "
      "(SELECT sluice_file_text(content) AS content, filename AS p FROM read_blob(");
  files_text_append_list (part->sql, source->entries);
  g_string_append (part->sql, ")) WHERE content <> ''");
  g_ptr_array_add (parts, g_steal_pointer (&part));
  return TRUE;
}

/* ---- casts ---- */

/* How a data column comes from its raw column, as Spark SQL over the raw names; NULL = as it is. */
static char *
cast_expression (const FilesSource *source, const BaseType *wanted, const BaseType *raw, guint x)
{
  const char *date_format = files_options_text (source->options, "dateFormat");
  const char *timestamp_format = files_options_text (source->options, "timestampFormat");

  if (base_type_equal (wanted, raw, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
    return NULL;
  gboolean from_text = base_type_kind (raw) == BASE_TYPE_STRING;
  if (from_text && base_type_kind (wanted) == BASE_TYPE_DATE && date_format != NULL)
    return g_strdup_printf ("CAST(try_to_timestamp(x%u, '%s') AS DATE)", x, date_format);
  if (from_text && base_type_kind (wanted) == BASE_TYPE_TIMESTAMP && timestamp_format != NULL)
    return g_strdup_printf ("try_to_timestamp(x%u, '%s')", x, timestamp_format);
  BaseStructBuilder *builder = base_struct_builder_new ();
  base_struct_builder_add (builder, "v", wanted, TRUE, NULL);
  g_autoptr (BaseType) one = base_struct_builder_end (builder);
  g_autofree char *ddl = base_type_ddl (one); /* `v BIGINT` */
  return g_strdup_printf ("TRY_CAST(x%u AS %s)", x, ddl + 2);
}

static BaseType *
raw_schema (const Part *part)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);

  for (guint x = 0; x < part->types->len; x++) {
    g_autofree char *name = g_strdup_printf ("x%u", x);
    base_struct_builder_add (builder, name, g_ptr_array_index (part->types, x), TRUE, NULL);
  }
  base_struct_builder_add (builder, "r", string, TRUE, NULL);
  base_struct_builder_add (builder, "p", string, TRUE, NULL);
  return base_struct_builder_end (builder);
}

typedef struct {
  GArray *items; /* of RelationItem */
  SqlArena *arena;
} Items;

static gboolean
add_expression (Items *items, const char *text, GError **error)
{
  RelationItem item = { .expr = sql_parse_expression (items->arena, text, -1, NULL, error) };

  g_array_append_val (items->items, item);
  return item.expr != NULL;
}

/* Rows with columns c0 … of the data's types, then every raw column as it was, then r and p, all as c<n>. */
static RelationText *
cast_part (FilesSource *source, const Part *part, const RelationScan *scan, GError **error)
{
  g_autoptr (BaseType) schema = raw_schema (part);
  g_autoptr (RelationSource) raw = relation_source_new_text (source->base.name, part->sql->str, schema, FALSE);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (raw);
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (GArray) array = g_array_new (FALSE, TRUE, sizeof (RelationItem));
  Items items = { array, arena };
  RelationContext context = { .session = source->session, .now_us = scan->now_us };
  RelationLowering lowering = { .session = source->session, .now_us = scan->now_us };

  for (guint i = 0; i < base_type_n_fields (source->data); i++) {
    const BaseType *wanted = base_type_field (source->data, i)->type;
    int x = g_array_index (part->map, int, i);
    g_autofree char *text =
        x < 0 ? NULL : cast_expression (source, wanted, g_ptr_array_index (part->types, (guint) x), (guint) x);
    RelationItem keep = { .column = (guint) MAX (x, 0) };
    if (x >= 0 && text == NULL) {
      g_array_append_val (array, keep);
      continue;
    }
    if (x < 0) {
      g_autoptr (BaseType) void_type = base_type_simple (BASE_TYPE_VOID);
      g_autofree char *null_text = cast_expression (source, wanted, void_type, 0);
      text = null_text != NULL ? g_strconcat ("CAST(NULL", strchr (null_text, ' '), NULL) : g_strdup ("NULL");
    }
    if (!add_expression (&items, text, error))
      return NULL;
  }
  for (guint x = 0; x < part->types->len + 2; x++) {
    RelationItem keep = { .column = x };
    g_array_append_val (array, keep);
  }
  g_autoptr (RelationPlan) projected =
      relation_plan_project (plan, (const RelationItem *) (gpointer) array->data, array->len, &context, error);
  return projected != NULL ? relation_plan_lower (projected, &lowering, error) : NULL;
}

/* ---- the final SELECT ---- */

/* Names of one part's columns in the text below the final SELECT. */
typedef struct {
  const FilesSource *source;
  const Part *part;
  gboolean cast; /* from cast_part(): c<n>; else raw: x<n>, r, p */
} Names;

static guint
n_data (const Names *names)
{
  return base_type_n_fields (names->source->data);
}

static void
append_data (GString *sql, const Names *names, guint column)
{
  int x = g_array_index (names->part->map, int, column);

  if (names->cast)
    g_string_append_printf (sql, "q.c%u", column);
  else if (x >= 0)
    g_string_append_printf (sql, "q.x%d", x);
  else {
    g_autofree char *type = duck_type_text (base_type_field (names->source->data, column)->type);
    g_string_append_printf (sql, "CAST(NULL AS %s)", type);
  }
}

static void
append_raw (GString *sql, const Names *names, guint x)
{
  guint n_raw = names->part->types->len;

  if (names->cast)
    g_string_append_printf (sql, "q.c%u", n_data (names) + x);
  else if (x < n_raw)
    g_string_append_printf (sql, "q.x%u", x);
  else
    g_string_append (sql, x == n_raw ? "q.r" : "q.p");
}

/* One more member for the rescued object: text that did not become a value, or a column that the schema lacks. */
static void
wrap_rescue (GString *text, const Names *names, const char *column_name, guint x, int data_column)
{
  g_autoptr (GString) out = g_string_new ("sluice_rescue(");

  g_string_append_len (out, text->str, (gssize) text->len);
  g_string_append (out, ", ");
  append_raw (out, names, names->part->types->len + 1);
  g_string_append (out, ", ");
  base_text_append_sql_literal (out, column_name);
  g_string_append (out, ", ");
  if (data_column >= 0) {
    g_string_append (out, "CASE WHEN ");
    append_data (out, names, (guint) data_column);
    g_string_append (out, " IS NULL THEN CAST(");
  } else {
    g_string_append (out, "CAST(");
  }
  append_raw (out, names, x);
  g_string_append (out, data_column >= 0 ? " AS VARCHAR) END)" : " AS VARCHAR))");
  g_string_assign (text, out->str);
}

static void
append_rescued (GString *sql, const Names *names)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const Part *part = names->part;

  append_raw (text, names, part->types->len);
  for (guint i = 0; names->cast && i < n_data (names); i++) {
    const BaseField *field = base_type_field (names->source->data, i);
    int x = g_array_index (part->map, int, i);
    if (x >= 0 &&
        !base_type_equal (field->type, g_ptr_array_index (part->types, (guint) x), BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
      wrap_rescue (text, names, field->name, (guint) x, (int) i);
  }
  for (guint i = 0; i < part->extras->len; i++)
    wrap_rescue (text, names, g_ptr_array_index (part->extras, i), g_array_index (part->extra_at, guint, i), -1);
  g_string_append (sql, text->str);
}

static const char metadata_text[] =
    "{'file_path': m.uri, 'file_name': m.name, 'file_size': m.size, 'file_block_start': 0::BIGINT, "
    "'file_block_length': m.size, 'file_modification_time': m.modified}";

static void
append_column (GString *sql, const Names *names, guint column)
{
  guint n_shown = base_type_n_fields (names->source->base.schema);

  if (column < n_data (names))
    append_data (sql, names, column);
  else if (column < n_shown)
    append_rescued (sql, names);
  else
    g_string_append (sql, metadata_text);
}

/* Facts about the files for _metadata, as a lent table. */
static guint64
lend_entries (FilesSource *source)
{
  static const DuckTableColumn columns[] = { { "path", DUCK_KIND_VARCHAR, 0, 0 },
                                             { "uri", DUCK_KIND_VARCHAR, 0, 0 },
                                             { "name", DUCK_KIND_VARCHAR, 0, 0 },
                                             { "size", DUCK_KIND_BIGINT, 0, 0 },
                                             { "modified", DUCK_KIND_TIMESTAMP_TZ, 0, 0 } };
  DuckTable *table = duck_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < source->entries->len; i++) {
    const FilesEntry *entry = g_ptr_array_index (source->entries, i);
    g_autofree char *encoded = base_text_uri_encode_path (entry->path);
    g_autofree char *uri = g_strconcat ("file://", encoded, NULL);
    g_autofree char *name = g_path_get_basename (entry->path);
    duck_table_set_string (table, 0, entry->path, strlen (entry->path));
    duck_table_set_string (table, 1, uri, strlen (uri));
    duck_table_set_string (table, 2, name, strlen (name));
    duck_table_set_int64 (table, 3, entry->size_bytes);
    duck_table_set_int64 (table, 4, entry->modified_us);
    duck_table_end_row (table);
  }
  return duck_engine_lend_table (duck_session_engine (source->session), table);
}

static gboolean
needs_cast (const FilesSource *source, const Part *part)
{
  for (guint i = 0; i < part->map->len; i++) {
    int x = g_array_index (part->map, int, i);
    if (x >= 0 && !base_type_equal (base_type_field (source->data, i)->type, g_ptr_array_index (part->types, (guint) x),
                                    BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
      return TRUE;
  }
  return FALSE;
}

static gboolean
append_part (FilesSource *source, const Part *part, const RelationScan *scan, guint64 metadata_handle,
             RelationText *out, GError **error)
{
  GString *sql = relation_text_sql (out);
  Names names = { source, part, needs_cast (source, part) };
  RelationText *cast = NULL;

  if (names.cast) {
    cast = cast_part (source, part, scan, error);
    if (cast == NULL)
      return FALSE;
    relation_text_hold (out, cast, (GDestroyNotify) relation_text_free);
  }
  g_string_append (sql, scan->n_columns > 0 ? "SELECT " : "SELECT 1 AS one");
  for (guint i = 0; i < scan->n_columns; i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    append_column (sql, &names, scan->columns[i]);
    g_string_append_printf (sql, " AS %s", scan->names[i]);
  }
  g_string_append_printf (sql, " FROM (%s) q", cast != NULL ? relation_text_sql (cast)->str : part->sql->str);
  if (metadata_handle == 0)
    return TRUE;
  g_string_append_printf (sql,
                          " LEFT JOIN sluice_files(%" G_GUINT64_FORMAT "::UBIGINT) m ON m.path = ", metadata_handle);
  append_raw (sql, &names, part->types->len + 1);
  return TRUE;
}

static void
append_empty (const FilesSource *source, const RelationScan *scan, GString *sql)
{
  guint n_shown = base_type_n_fields (source->base.schema);

  g_string_append (sql, scan->n_columns > 0 ? "SELECT " : "SELECT 1 AS one");
  for (guint i = 0; i < scan->n_columns; i++) {
    guint column = scan->columns[i];
    const BaseField *field = column < n_shown ? base_type_field (source->base.schema, column)
                                              : base_type_field (source->base.hidden, column - n_shown);
    g_autofree char *type = duck_type_text (field->type);
    g_string_append_printf (sql, "%sCAST(NULL AS %s) AS %s", i > 0 ? ", " : "", type, scan->names[i]);
  }
  g_string_append (sql, " WHERE false");
}

typedef struct {
  DuckEngine *engine;
  guint64 handle;
} Hold;

static void
release_hold (gpointer data)
{
  Hold *hold = data;

  duck_engine_take_back (hold->engine, hold->handle);
  duck_engine_unref (hold->engine);
  g_free (hold);
}

static gboolean
add_parts (FilesSource *source, GPtrArray *parts, GError **error)
{
  switch (files_options_format (source->options)) {
  case FILES_FORMAT_JSON:
    return add_json_part (source, parts, error);
  case FILES_FORMAT_CSV:
    return add_csv_parts (source, parts, error);
  case FILES_FORMAT_PARQUET:
    return add_parquet_part (source, parts, error);
  case FILES_FORMAT_TEXT:
    return add_text_part (source, parts, error);
  }
  return FALSE;
}

static gboolean
files_scan (RelationSource *base, const RelationScan *scan, RelationText *out, GError **error)
{
  FilesSource *source = (FilesSource *) base;
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) part_free);
  guint n_shown = base_type_n_fields (base->schema);
  guint64 handle = 0;

  if (source->entries != NULL && source->entries->len > 0 &&
      (!files_packed_check (source->entries, source->cancel, error) || !add_parts (source, parts, error))) {
    base_error_add_context (error, "reading %s", base->name);
    return FALSE;
  }
  if (parts->len == 0) {
    append_empty (source, scan, relation_text_sql (out));
    return TRUE;
  }
  for (guint i = 0; i < scan->n_columns && handle == 0; i++)
    if (scan->columns[i] >= n_shown)
      handle = lend_entries (source);
  if (handle != 0) {
    Hold *hold = g_new0 (Hold, 1);
    *hold = (Hold){ duck_engine_ref (duck_session_engine (source->session)), handle };
    relation_text_hold (out, hold, release_hold);
  }
  for (guint i = 0; i < parts->len; i++) {
    if (i > 0)
      g_string_append (relation_text_sql (out), " UNION ALL ");
    if (!append_part (source, g_ptr_array_index (parts, i), scan, handle, out, error))
      return FALSE;
  }
  return TRUE;
}

static void
files_source_free (RelationSource *base)
{
  FilesSource *source = (FilesSource *) base;

  files_options_unref (source->options);
  base_type_unref (source->data);
  g_clear_pointer (&source->entries, g_ptr_array_unref);
  base_cancel_unref (source->cancel);
  relation_source_clear (base);
  g_free (source);
}

static const RelationSourceClass files_source_class = { files_scan, files_source_free };

RelationSource *
files_source_new (FilesOptions *options, const BaseType *data, GPtrArray *entries, gboolean streaming,
                  DuckSession *session, BaseCancel *cancel)
{
  FilesSource *source = g_new0 (FilesSource, 1);
  g_autoptr (BaseType) shown = files_schema_shown (options, data);
  g_autoptr (BaseType) hidden = files_schema_hidden ();

  relation_source_init (&source->base, &files_source_class, files_options_path (options), shown, hidden, streaming);
  source->options = files_options_ref (options);
  source->data = base_type_ref (data);
  source->session = session;
  source->cancel = base_cancel_ref (cancel);
  files_source_set_entries (&source->base, entries);
  return &source->base;
}

void
files_source_set_entries (RelationSource *base, GPtrArray *entries)
{
  FilesSource *source = (FilesSource *) base;
  GPtrArray *old = source->entries;

  source->entries = entries != NULL ? g_ptr_array_ref (entries) : NULL;
  g_clear_pointer (&old, g_ptr_array_unref);
}

gboolean
files_register (DuckEngine *engine, GError **error)
{
  return files_json_register (engine, error);
}

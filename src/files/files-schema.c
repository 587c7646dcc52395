/* The schema of raw files: see files-schema.h. */
#include "files-schema.h"

#include "base-error.h"
#include "base-text.h"
#include "files-infer-private.h"
#include "files-packed-private.h"
#include "files-schema-private.h"
#include "files-text-private.h"
#include "sql-parse.h"

#include <string.h>

/* ---- JSON ---- */

static BaseType *
infer_json (const FilesOptions *options, GPtrArray *entries, DuckSession *session, BaseCancel *cancel, GError **error)
{
  g_autoptr (FilesShape) shape = files_shape_new ();
  g_autoptr (GPtrArray) plain = NULL;
  g_autoptr (GPtrArray) odd = NULL;
  g_autoptr (GString) sql = g_string_new (NULL);
  const DuckChunk *chunk;

  if (!files_schema_split_json (options, entries, session, cancel, &plain, &odd, error))
    return NULL;
  files_text_append_json (sql, options, plain, odd);
  g_autoptr (DuckResult) result = duck_session_query (session, sql->str, cancel, error);
  if (result == NULL)
    return NULL;
  for (;;) {
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      break;
    for (guint row = 0; row < chunk->n_rows; row++) {
      gsize size;
      if (duck_vector_is_null (&chunk->columns[0], row))
        continue;
      const char *text = duck_vector_string (&chunk->columns[0], row, &size);
      files_shape_add_record (shape, text, size);
    }
  }
  g_autoptr (BaseType) type = files_shape_type (shape, files_options_infer_types (options));
  if (base_type_kind (type) == BASE_TYPE_STRUCT)
    return g_steal_pointer (&type);
  base_error_set (error, SLUICE_ERROR_CANNOT_INFER_SCHEMA,
                  "No schema can be inferred from %s: there is no JSON object with fields",
                  files_options_path (options));
  base_error_set_hint (error, "give one: schema => 'id BIGINT, name STRING'");
  return NULL;
}

gboolean
files_schema_split_json (const FilesOptions *options, GPtrArray *entries, DuckSession *session, BaseCancel *cancel,
                         GPtrArray **plain, GPtrArray **odd, GError **error)
{
  g_autoptr (GPtrArray) good = g_ptr_array_new ();
  g_autoptr (GPtrArray) bad = g_ptr_array_new ();
  g_autoptr (GPtrArray) none = g_ptr_array_new ();
  g_autoptr (GHashTable) bad_paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gboolean all_bad = files_options_bool (options, "multiLine");

  if (!all_bad && entries->len > 0) {
    g_autoptr (GString) sql = g_string_new ("SELECT DISTINCT p FROM (");
    g_autoptr (GError) failure = NULL;
    files_text_append_json (sql, options, entries, none);
    g_string_append (sql, ") WHERE j IS NULL OR j[1] <> '{'");
    g_autoptr (DuckResult) result = duck_session_query_materialized (session, sql->str, cancel, &failure);
    const DuckChunk *chunk = NULL;
    /* An over-long line or bytes that are not UTF-8 end the whole query, and it does not say where: read all files the slow way. */
    all_bad = result == NULL;
    if (failure != NULL && base_error_class (failure) == BASE_ERROR_CLASS_CANCELED) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    while (result != NULL) {
      if (!duck_result_next (result, &chunk, error))
        return FALSE;
      if (chunk == NULL)
        break;
      for (guint row = 0; row < chunk->n_rows; row++)
        g_hash_table_add (bad_paths, duck_vector_dup_string (&chunk->columns[0], row));
    }
  }
  for (guint i = 0; i < entries->len; i++) {
    FilesEntry *entry = g_ptr_array_index (entries, i);
    g_ptr_array_add (all_bad || g_hash_table_contains (bad_paths, entry->path) ? bad : good, entry);
  }
  *plain = g_steal_pointer (&good);
  *odd = g_steal_pointer (&bad);
  return TRUE;
}

/* ---- CSV ---- */

GPtrArray *
files_schema_csv_names (const FilesOptions *options, FilesEntry *entry, DuckSession *session, GError **error)
{
  g_autoptr (GPtrArray) one = g_ptr_array_new ();
  g_autoptr (GString) sql = g_string_new ("SELECT * FROM ");
  gboolean header = files_options_bool (options, "header");

  g_ptr_array_add (one, entry);
  files_text_append_csv (sql, options, one, NULL);
  g_autoptr (GPtrArray) columns = duck_session_describe (session, sql->str, error);
  if (columns == NULL) {
    base_error_add_context (error, "reading the columns of %s", entry->path);
    return NULL;
  }
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const BaseType *given = files_options_schema (options);
  guint n_given = given != NULL ? base_type_n_fields (given) : 0;
  for (guint i = 0; i < columns->len; i++) {
    const DuckColumn *column = g_ptr_array_index (columns, i);
    if (header)
      g_ptr_array_add (names, g_strdup (column->name));
    else if (i < n_given) /* without a header a given schema names the columns by their place */
      g_ptr_array_add (names, g_strdup (base_type_field (given, i)->name));
    else
      g_ptr_array_add (names, g_strdup_printf ("_c%u", i));
  }
  g_ptr_array_add (names, NULL);
  return g_steal_pointer (&names);
}

/* Which type fits every text of a column? Narrowest first, each as Spark's CSV reader would take it. */
static const struct {
  BaseTypeKind kind;
  const char *condition; /* %s is the column */
} csv_types[] = {
  { BASE_TYPE_INTEGER, "regexp_full_match(%1$s, '[+-]?[0-9]{1,10}') AND TRY_CAST(%1$s AS INTEGER) IS NOT NULL" },
  { BASE_TYPE_LONG, "regexp_full_match(%1$s, '[+-]?[0-9]{1,19}') AND TRY_CAST(%1$s AS BIGINT) IS NOT NULL" },
  { BASE_TYPE_DOUBLE, "regexp_full_match(%1$s, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?')" },
  { BASE_TYPE_DATE,
    "regexp_full_match(%1$s, '[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}') AND TRY_CAST(%1$s AS DATE) IS NOT NULL" },
  { BASE_TYPE_TIMESTAMP, "regexp_full_match(%1$s, '[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[ "
                         "T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9:]{1,6})?') "
                         "AND TRY_CAST(%1$s AS TIMESTAMPTZ) IS NOT NULL" },
  { BASE_TYPE_BOOLEAN, "lower(%1$s) IN ('true', 'false')" },
};

static gboolean
infer_csv_types (const FilesOptions *options, GPtrArray *same, const char *const *names, DuckSession *session,
                 BaseCancel *cancel, GArray *fits, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  guint n_types = G_N_ELEMENTS (csv_types);
  const DuckChunk *chunk;

  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *column = base_text_sql_identifier (names[i]);
    for (guint t = 0; t < n_types; t++) {
      g_string_append (sql, i + t > 0 ? ", bool_and(" : "bool_and(");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      g_string_append_printf (sql, csv_types[t].condition, column);
#pragma GCC diagnostic pop
      g_string_append_c (sql, ')');
    }
  }
  g_string_append (sql, " FROM ");
  files_text_append_csv (sql, options, same, names);
  g_autoptr (DuckResult) result = duck_session_query_materialized (session, sql->str, cancel, error);
  if (result == NULL || !duck_result_next (result, &chunk, error))
    return FALSE;
  /* A column without any text fits every type: NULL from bool_and, and says nothing. */
  for (guint i = 0; i < chunk->n_columns; i++) {
    guint8 fit = duck_vector_is_null (&chunk->columns[i], 0) ? 2 : duck_vector_bool (&chunk->columns[i], 0);
    g_array_append_val (fits, fit);
  }
  return TRUE;
}

static BaseTypeKind
choose_csv_type (const guint8 *fits)
{
  if (fits[0] == 2)
    return BASE_TYPE_VOID;
  for (guint t = 0; t < G_N_ELEMENTS (csv_types); t++)
    if (fits[t] == 1)
      return csv_types[t].kind;
  return BASE_TYPE_STRING;
}

/* The type of a column in several groups of files. */
static BaseTypeKind
wider_csv_type (BaseTypeKind a, BaseTypeKind b)
{
  if (a == b || b == BASE_TYPE_VOID)
    return a;
  if (a == BASE_TYPE_VOID)
    return b;
  if (a >= BASE_TYPE_BYTE && a <= BASE_TYPE_DOUBLE && b >= BASE_TYPE_BYTE && b <= BASE_TYPE_DOUBLE)
    return MAX (a, b);
  if ((a == BASE_TYPE_DATE && b == BASE_TYPE_TIMESTAMP) || (a == BASE_TYPE_TIMESTAMP && b == BASE_TYPE_DATE))
    return BASE_TYPE_TIMESTAMP;
  return BASE_TYPE_STRING;
}

static BaseType *
csv_struct (GPtrArray *names, GArray *kinds)
{
  BaseStructBuilder *builder = base_struct_builder_new ();

  for (guint i = 0; i < names->len; i++) {
    BaseTypeKind kind = g_array_index (kinds, BaseTypeKind, i);
    g_autoptr (BaseType) type = base_type_simple (kind == BASE_TYPE_VOID ? BASE_TYPE_STRING : kind);
    base_struct_builder_add (builder, g_ptr_array_index (names, i), type, TRUE, NULL);
  }
  return base_struct_builder_end (builder);
}

static int
find_name (GPtrArray *names, const char *name)
{
  for (guint i = 0; i < names->len; i++)
    if (base_text_equal_ignore_case (g_ptr_array_index (names, i), name))
      return (int) i;
  return -1;
}

static BaseType *
infer_csv (const FilesOptions *options, GPtrArray *entries, DuckSession *session, BaseCancel *cancel, GError **error)
{
  g_autoptr (GPtrArray) groups = files_schema_group_csv (options, entries, session, error);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GArray) kinds = g_array_new (FALSE, FALSE, sizeof (BaseTypeKind));

  for (guint g = 0; groups != NULL && g < groups->len; g++) {
    const FilesCsvGroup *group = g_ptr_array_index (groups, g);
    g_autoptr (GArray) fits = g_array_new (FALSE, FALSE, 1);
    const char *const *group_names = (const char *const *) group->names->pdata;
    if (files_options_infer_types (options) &&
        !infer_csv_types (options, group->entries, group_names, session, cancel, fits, error))
      return NULL;
    for (guint i = 0; group_names[i] != NULL; i++) {
      BaseTypeKind kind = fits->len > 0 ? choose_csv_type ((const guint8 *) fits->data + i * G_N_ELEMENTS (csv_types))
                                        : BASE_TYPE_STRING;
      int at = find_name (names, group_names[i]);
      if (at < 0) {
        g_ptr_array_add (names, (gpointer) group_names[i]);
        g_array_append_val (kinds, kind);
      } else {
        BaseTypeKind *old = &g_array_index (kinds, BaseTypeKind, at);
        *old = wider_csv_type (*old, kind);
      }
    }
  }
  return groups != NULL ? csv_struct (names, kinds) : NULL;
}

void
files_csv_group_free (FilesCsvGroup *group)
{
  g_ptr_array_unref (group->names);
  g_ptr_array_unref (group->entries);
  g_free (group);
}

GPtrArray *
files_schema_group_csv (const FilesOptions *options, GPtrArray *entries, DuckSession *session, GError **error)
{
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func ((GDestroyNotify) files_csv_group_free);
  g_autoptr (GHashTable) by_header = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < entries->len; i++) {
    FilesEntry *entry = g_ptr_array_index (entries, i);
    if (entry->size_bytes == 0)
      continue;
    g_autoptr (GPtrArray) names = files_schema_csv_names (options, entry, session, error);
    if (names == NULL)
      return NULL;
    g_autofree char *header = g_strjoinv ("\n", (char **) names->pdata);
    FilesCsvGroup *group = g_hash_table_lookup (by_header, header);
    if (group == NULL) {
      group = g_new0 (FilesCsvGroup, 1);
      *group = (FilesCsvGroup){ g_steal_pointer (&names), g_ptr_array_new () };
      g_ptr_array_add (groups, group);
      g_hash_table_insert (by_header, g_steal_pointer (&header), group);
    }
    g_ptr_array_add (group->entries, entry);
  }
  return g_steal_pointer (&groups);
}

/* ---- Parquet, text ---- */

BaseType *
files_schema_parquet (GPtrArray *entries, DuckSession *session, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT * FROM read_parquet(");
  BaseStructBuilder *builder = base_struct_builder_new ();

  files_text_append_list (sql, entries);
  g_string_append (sql, ", union_by_name=true, hive_partitioning=false)");
  g_autoptr (GPtrArray) columns = duck_session_describe (session, sql->str, error);
  for (guint i = 0; columns != NULL && i < columns->len; i++) {
    const DuckColumn *column = g_ptr_array_index (columns, i);
    g_autoptr (BaseType) type = duck_type_to_base (column->type, error);
    if (type == NULL) {
      base_error_add_context (error, "reading the column \"%s\"", column->name);
      base_struct_builder_free (builder);
      return NULL;
    }
    base_struct_builder_add (builder, column->name, type, TRUE, NULL);
  }
  if (columns == NULL) {
    base_struct_builder_free (builder);
    return NULL;
  }
  return base_struct_builder_end (builder);
}

static BaseType *
text_schema (void)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);

  base_struct_builder_add (builder, "value", string, TRUE, NULL);
  return base_struct_builder_end (builder);
}

/* ---- hints, growth ---- */

static gboolean
has_temporal_inside (const BaseType *type)
{
  static const BaseTypeKind kinds[] = { BASE_TYPE_DATE,
                                        BASE_TYPE_TIMESTAMP,
                                        BASE_TYPE_TIMESTAMP_NTZ,
                                        BASE_TYPE_INTERVAL_YEAR_MONTH,
                                        BASE_TYPE_INTERVAL_DAY_TIME,
                                        BASE_TYPE_INTERVAL_CALENDAR,
                                        BASE_TYPE_VARIANT };

  for (guint i = 0; base_type_is_nested (type) && i < G_N_ELEMENTS (kinds); i++)
    if (base_type_holds (type, kinds[i]))
      return TRUE;
  return FALSE;
}

static gboolean
check_types (const FilesOptions *options, const BaseType *schema, GError **error)
{
  if (files_options_format (options) != FILES_FORMAT_JSON)
    return TRUE;
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    if (!has_temporal_inside (field->type))
      continue;
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "The column \"%s\" of JSON files holds dates, timestamps or intervals inside a nested type",
                    field->name);
    base_error_set_hint (error, "read them as STRING and cast them in the query");
    return FALSE;
  }
  return TRUE;
}

static BaseType *hinted_type (const BaseType *type, char *const *path, const BaseType *hint);

/* @type: (nullable): a struct, whose field @path[0] is changed or added. */
static BaseType *
hinted_struct (const BaseType *type, char *const *path, const BaseType *hint)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  guint n = type != NULL ? base_type_n_fields (type) : 0;
  int at = n > 0 ? base_type_field_index (type, path[0], TRUE) : -1;

  for (guint i = 0; i < n; i++) {
    const BaseField *field = base_type_field (type, i);
    g_autoptr (BaseType) changed =
        (int) i == at ? hinted_type (field->type, path + 1, hint) : base_type_ref (field->type);
    base_struct_builder_add (builder, field->name, changed, TRUE, NULL);
  }
  if (at < 0) {
    g_autoptr (BaseType) added = hinted_type (NULL, path + 1, hint);
    base_struct_builder_add (builder, path[0], added, TRUE, NULL);
  }
  return base_struct_builder_end (builder);
}

/* @type as the hint for the place @path inside it wants it; what is inferred there and does not have such a place gives way. */
static BaseType *
hinted_type (const BaseType *type, char *const *path, const BaseType *hint)
{
  BaseTypeKind kind = type != NULL ? base_type_kind (type) : BASE_TYPE_VOID;

  if (path[0] == NULL)
    return base_type_ref (hint);
  if (kind == BASE_TYPE_ARRAY && g_ascii_strcasecmp (path[0], "element") == 0) {
    g_autoptr (BaseType) element = hinted_type (base_type_element (type), path + 1, hint);
    return base_type_array (element, TRUE);
  }
  gboolean is_key = g_ascii_strcasecmp (path[0], "key") == 0;
  if (kind == BASE_TYPE_MAP && (is_key || g_ascii_strcasecmp (path[0], "value") == 0)) {
    g_autoptr (BaseType) key =
        is_key ? hinted_type (base_type_key (type), path + 1, hint) : base_type_ref (base_type_key (type));
    g_autoptr (BaseType) value =
        is_key ? base_type_ref (base_type_value (type)) : hinted_type (base_type_value (type), path + 1, hint);
    return base_type_map (key, value, TRUE);
  }
  return hinted_struct (kind == BASE_TYPE_STRUCT ? type : NULL, path, hint);
}

static BaseType *
apply_hints (const BaseType *schema, GPtrArray *hints)
{
  BaseType *type = base_type_ref (schema);

  for (guint i = 0; i < hints->len; i++) {
    const SqlSchemaHint *hint = g_ptr_array_index (hints, i);
    BaseType *changed = hinted_type (type, hint->path, hint->type);
    base_type_unref (type);
    type = changed;
  }
  return type;
}

static GPtrArray *
within_limits (GPtrArray *entries)
{
  GPtrArray *taken = g_ptr_array_new ();
  gint64 bytes = 0;

  for (guint i = 0; i < entries->len && taken->len < FILES_INFER_MAX_FILES && bytes < FILES_INFER_MAX_BYTES; i++) {
    FilesEntry *entry = g_ptr_array_index (entries, i);
    g_ptr_array_add (taken, entry);
    bytes += entry->size_bytes;
  }
  return taken;
}

BaseType *
files_schema_revise (const FilesOptions *options, const BaseType *stored, GError **error)
{
  GPtrArray *hints = files_options_schema_hints (options);
  g_autoptr (BaseType) revised = files_options_schema (options) != NULL ? base_type_ref (files_options_schema (options))
                                 : hints != NULL                        ? apply_hints (stored, hints)
                                                                        : base_type_ref (stored);

  return check_types (options, revised, error) ? g_steal_pointer (&revised) : NULL;
}

BaseType *
files_schema_infer (const FilesOptions *options, GPtrArray *entries, DuckSession *session, BaseCancel *cancel,
                    GError **error)
{
  g_autoptr (GPtrArray) taken = within_limits (entries);
  g_autoptr (BaseType) schema = NULL;

  if (files_options_schema (options) != NULL)
    return files_schema_revise (options, NULL, error);
  if (taken->len == 0) {
    base_error_set (error, SLUICE_ERROR_CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE,
                    "No schema can be inferred from %s: there is no file yet", files_options_path (options));
    base_error_set_hint (error, "give one: schema => 'id BIGINT, name STRING', or start when files are there");
    return NULL;
  }
  if (!files_packed_check (taken, cancel, error))
    return NULL;
  switch (files_options_format (options)) {
  case FILES_FORMAT_JSON:
    schema = infer_json (options, taken, session, cancel, error);
    break;
  case FILES_FORMAT_CSV:
    schema = infer_csv (options, taken, session, cancel, error);
    break;
  case FILES_FORMAT_PARQUET:
    schema = files_schema_parquet (taken, session, error);
    break;
  case FILES_FORMAT_TEXT:
    schema = text_schema ();
    break;
  }
  if (schema == NULL) {
    base_error_add_context (error, "inferring the schema of %s", files_options_path (options));
    return NULL;
  }
  return files_schema_revise (options, schema, error);
}

BaseType *
files_schema_merge (const BaseType *old, const BaseType *seen)
{
  BaseTypeKind kind = base_type_kind (old);

  if (kind == BASE_TYPE_ARRAY && base_type_kind (seen) == BASE_TYPE_ARRAY) {
    g_autoptr (BaseType) element = files_schema_merge (base_type_element (old), base_type_element (seen));
    return element == base_type_element (old) ? base_type_ref (old) : base_type_array (element, TRUE);
  }
  if (kind != BASE_TYPE_STRUCT || base_type_kind (seen) != BASE_TYPE_STRUCT)
    return base_type_ref (old);
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  gboolean grown = FALSE;
  for (guint i = 0; i < base_type_n_fields (old); i++) {
    const BaseField *field = base_type_field (old, i);
    int at = base_type_field_index (seen, field->name, FALSE);
    g_autoptr (BaseType) type = at >= 0 ? files_schema_merge (field->type, base_type_field (seen, (guint) at)->type)
                                        : base_type_ref (field->type);
    grown = grown || type != field->type;
    base_struct_builder_add (builder, field->name, type, field->nullable, field->metadata);
  }
  for (guint i = 0; i < base_type_n_fields (seen); i++) {
    const BaseField *field = base_type_field (seen, i);
    if (base_type_field_index (old, field->name, TRUE) != -1)
      continue;
    base_struct_builder_add (builder, field->name, field->type, TRUE, NULL);
    grown = TRUE;
  }
  return grown ? base_struct_builder_end (g_steal_pointer (&builder)) : base_type_ref (old);
}

BaseType *
files_schema_shown (const FilesOptions *options, const BaseType *data)
{
  const char *rescued = files_options_rescued_column (options);

  if (rescued == NULL || base_type_field_index (data, rescued, TRUE) != -1)
    return base_type_ref (data);
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
  for (guint i = 0; i < base_type_n_fields (data); i++) {
    const BaseField *field = base_type_field (data, i);
    base_struct_builder_add (builder, field->name, field->type, field->nullable, field->metadata);
  }
  base_struct_builder_add (builder, rescued, string, TRUE, NULL);
  return base_struct_builder_end (builder);
}

BaseType *
files_schema_hidden (void)
{
  static const struct {
    const char *name;
    BaseTypeKind kind;
  } fields[] = { { "file_path", BASE_TYPE_STRING },       { "file_name", BASE_TYPE_STRING },
                 { "file_size", BASE_TYPE_LONG },         { "file_block_start", BASE_TYPE_LONG },
                 { "file_block_length", BASE_TYPE_LONG }, { "file_modification_time", BASE_TYPE_TIMESTAMP } };
  BaseStructBuilder *inner = base_struct_builder_new ();
  BaseStructBuilder *outer = base_struct_builder_new ();

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    g_autoptr (BaseType) type = base_type_simple (fields[i].kind);
    base_struct_builder_add (inner, fields[i].name, type, TRUE, NULL);
  }
  g_autoptr (BaseType) metadata = base_struct_builder_end (inner);
  base_struct_builder_add (outer, "_metadata", metadata, FALSE, NULL);
  return base_struct_builder_end (outer);
}

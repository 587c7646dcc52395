/* Options of raw files: see files-options.h. */
#include "files-options.h"

#include "base-error.h"
#include "base-settings.h"
#include "base-text.h"
#include "sql-parse.h"

#include <string.h>

typedef enum {
  TEXT,
  BOOLEAN,
  INTEGER,
  SIZE,
  SCHEMA,
  TIME,        /* a timestamp, compared as text in files-listing.c */
  ONE_OF,      /* `choices` */
  NO_EFFECT,   /* accepted with a warning */
  UNSUPPORTED, /* refused by name unless it has the fallback's value */
} Kind;

typedef struct {
  const char *name;
  Kind kind;
  const char *fallback; /* (nullable) */
  const char *text;
  const char *choices; /* of ONE_OF, joined by '|' */
} Row;

static const Row rows[] = {
  { "allowOverwrites", BOOLEAN, "false", "a file that is written again is taken again", NULL },
  { "backfillInterval", NO_EFFECT, NULL, "every listing is complete here", NULL },
  { "cleanSource", UNSUPPORTED, "off", "what to do with files that were taken", NULL },
  { "cleanSource.retentionDuration", NO_EFFECT, NULL, "goes with cleanSource", NULL },
  { "columnNameOfCorruptRecord", TEXT, "_corrupt_record",
    "column that takes records that do not parse, when the schema has it", NULL },
  { "comment", TEXT, "", "CSV: lines that begin with this character are left out", NULL },
  { "dateFormat", TEXT, NULL, "pattern of dates", NULL },
  { "delimiter", TEXT, ",", "CSV: between columns", NULL },
  { "encoding", TEXT, "UTF-8", "CSV: character set", NULL },
  { "escape", TEXT, "\\", "CSV: escapes a quote inside quotes", NULL },
  { "fileNamePattern", TEXT, NULL, "as pathGlobFilter", NULL },
  { "format", TEXT, NULL, "json, csv, parquet or text", NULL },
  { "header", BOOLEAN, "false", "CSV: the first line names the columns", NULL },
  { "includeExistingFiles", BOOLEAN, "true", "take files that are there at the first start", NULL },
  { "inferColumnTypes", BOOLEAN, NULL, "infer types; else columns are STRING", NULL },
  { "inferSchema", BOOLEAN, NULL, "as inferColumnTypes", NULL },
  { "maxBytesPerTrigger", SIZE, NULL, "soft limit of a micro-batch", NULL },
  { "maxFilesPerTrigger", INTEGER, "1000", "files in a micro-batch", NULL },
  { "mode", ONE_OF, "PERMISSIVE", "what to do with records that do not parse", "PERMISSIVE|DROPMALFORMED|FAILFAST" },
  { "modifiedAfter", TIME, NULL, "only files written after this instant", NULL },
  { "modifiedBefore", TIME, NULL, "only files written before this instant", NULL },
  { "multiLine", BOOLEAN, "false", "JSON: a record may span lines", NULL },
  { "nullValue", TEXT, "", "CSV: text that stands for NULL", NULL },
  { "partitionColumns", UNSUPPORTED, "", "columns from directory names", NULL },
  { "pathGlobFilter", TEXT, NULL, "pattern for the names of files", NULL },
  { "quote", TEXT, "\"", "CSV: quotes a value", NULL },
  { "readerCaseSensitive", BOOLEAN, "true", "whether names of JSON fields match with case", NULL },
  { "recursiveFileLookup", UNSUPPORTED, "true", "directories are always read with all below them", NULL },
  { "rescuedDataColumn", TEXT, NULL, "column for what does not fit the schema", NULL },
  { "schema", SCHEMA, NULL, "a fixed schema, as DDL", NULL },
  { "schemaEvolutionMode", ONE_OF, NULL, "what to do with a new column", "addNewColumns|rescue|failOnNewColumns|none" },
  { "schemaHints", SCHEMA, NULL, "types that override inferred ones, as DDL", NULL },
  { "schemaLocation", NO_EFFECT, NULL, "the schema is kept with the flow's progress", NULL },
  { "sep", TEXT, NULL, "as delimiter", NULL },
  { "timestampFormat", TEXT, NULL, "pattern of timestamps", NULL },
  { "useIncrementalListing", NO_EFFECT, NULL, "every listing is complete here", NULL },
  { "useNotifications", NO_EFFECT, NULL, "files are found by listing here", NULL },
  { "validateOptions", NO_EFFECT, NULL, "options are always checked", NULL },
};

struct FilesOptions {
  gint ref_count;
  FilesAsk ask;
  char *path;
  GHashTable *values; /* canonical name (static) → text */
  gboolean has_format;
  FilesFormat format;
  BaseType *schema;
  GPtrArray *hints; /* (nullable): of SqlSchemaHint */
  char *rescued;
};

static const char *const format_names[] = { "json", "csv", "parquet", "text" };
static const char *const other_formats[] = { "xml", "avro", "orc", "binaryfile" };

/* ---- the table ---- */

static const Row *
find_row (const char *key)
{
  if (g_ascii_strncasecmp (key, "cloudFiles.", 11) == 0)
    key += 11;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_ascii_strcasecmp (rows[i].name, key) == 0)
      return &rows[i];
  return NULL;
}

gboolean
files_options_row (guint index, const char **name, const char **fallback, const char **text)
{
  if (index >= G_N_ELEMENTS (rows))
    return FALSE;
  *name = rows[index].name;
  *fallback = rows[index].fallback;
  *text = rows[index].text;
  return TRUE;
}

static gboolean
unknown_option (const char *key, GError **error)
{
  const char *names[G_N_ELEMENTS (rows) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    names[i] = rows[i].name;
  base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "Files have no option \"%s\"", key);
  g_autofree char *near = base_text_near_names (key, names, 3);
  if (near != NULL)
    base_error_set_hint (error, "did you mean %s?", near);
  return FALSE;
}

static gboolean
bad_value (const Row *row, const char *value, const char *wanted, GError **error)
{
  return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "The option \"%s\" takes %s, not '%s'", row->name, wanted,
                         value);
}

static gboolean
is_choice (const char *choices, const char *value)
{
  g_auto (GStrv) names = g_strsplit (choices, "|", -1);

  for (guint i = 0; names[i] != NULL; i++)
    if (g_ascii_strcasecmp (names[i], value) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
check_value (const Row *row, const char *value, GPtrArray *warnings, GError **error)
{
  gboolean truth;
  gint64 number;

  switch (row->kind) {
  case TEXT:
  case SCHEMA:
  case TIME:
    return TRUE;
  case BOOLEAN:
    return base_settings_parse_bool (value, &truth) || bad_value (row, value, "true or false", error);
  case INTEGER:
    return (base_text_parse_int64 (value, &number) && number > 0) ||
           bad_value (row, value, "a positive whole number", error);
  case SIZE:
    return (base_settings_parse_size (value, &number) && number > 0) ||
           bad_value (row, value, "a size such as 10g", error);
  case ONE_OF:
    return is_choice (row->choices, value) || bad_value (row, value, row->choices, error);
  case NO_EFFECT:
    if (warnings != NULL)
      g_ptr_array_add (warnings, g_strdup_printf ("The option \"%s\" has no effect: %s.", row->name, row->text));
    return TRUE;
  case UNSUPPORTED:
    if (g_ascii_strcasecmp (value, row->fallback) == 0)
      return TRUE;
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                           "The option \"%s\" = '%s' is not supported; leave it out", row->name, value);
  }
  return TRUE;
}

/* ---- construction ---- */

static gboolean
set_format (FilesOptions *options, const char *name, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (format_names); i++) {
    if (g_ascii_strcasecmp (format_names[i], name) == 0) {
      options->format = (FilesFormat) i;
      options->has_format = TRUE;
      return TRUE;
    }
  }
  for (guint i = 0; i < G_N_ELEMENTS (other_formats); i++)
    if (g_ascii_strcasecmp (other_formats[i], name) == 0)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FILE_FORMAT,
                             "Files of the format \"%s\" are not supported; supported are json, csv, parquet and text",
                             name);
  return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FILE_FORMAT,
                         "There is no file format \"%s\"; supported are json, csv, parquet and text", name);
}

gboolean
files_options_settle_format (FilesOptions *options, const char *file, GError **error)
{
  static const struct {
    const char *extension;
    const char *format;
  } extensions[] = { { ".json", "json" }, { ".jsonl", "json" },      { ".ndjson", "json" }, { ".csv", "csv" },
                     { ".tsv", "csv" },   { ".parquet", "parquet" }, { ".txt", "text" },    { ".avro", "avro" },
                     { ".orc", "orc" },   { ".xml", "xml" } };

  g_autofree char *plain = g_str_has_suffix (file, ".gz")    ? g_strndup (file, strlen (file) - 3)
                           : g_str_has_suffix (file, ".zst") ? g_strndup (file, strlen (file) - 4)
                                                             : g_strdup (file);
  for (guint i = 0; i < G_N_ELEMENTS (extensions); i++)
    if (g_str_has_suffix (plain, extensions[i].extension))
      return set_format (options, extensions[i].format, error);
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FILE_FORMAT, "The format of %s cannot be told from its name", file);
  base_error_set_hint (error, "give it: format => 'json'");
  return FALSE;
}

static char *
absolute_path (const char *path, const char *base_dir)
{
  g_autofree char *plain = NULL;

  if (g_str_has_prefix (path, "file:")) {
    const char *rest = path + 5;
    while (g_str_has_prefix (rest, "//"))
      rest++;
    plain = base_text_uri_decode (rest);
  }
  if (plain == NULL)
    plain = g_strdup (path);
  char *full = g_canonicalize_filename (plain, base_dir);
  return full;
}

static gboolean
read_schemas (FilesOptions *options, GError **error)
{
  const char *schema = g_hash_table_lookup (options->values, "schema");
  const char *hints = g_hash_table_lookup (options->values, "schemaHints");

  if (schema != NULL) {
    options->schema = sql_parse_schema (schema, -1, error);
    if (options->schema == NULL)
      base_error_add_context (error, "reading the option \"schema\"");
  }
  if (hints != NULL && (schema == NULL || options->schema != NULL)) {
    options->hints = sql_parse_schema_hints (hints, -1, error);
    if (options->hints == NULL)
      base_error_add_context (error, "reading the option \"schemaHints\"");
  }
  return (schema == NULL || options->schema != NULL) && (hints == NULL || options->hints != NULL);
}

static gboolean
set_values (FilesOptions *options, const char *const *pairs, GPtrArray *warnings, GError **error)
{
  for (guint i = 0; pairs != NULL && pairs[i] != NULL && pairs[i + 1] != NULL; i += 2) {
    const Row *row = find_row (pairs[i]);
    if (row == NULL)
      return unknown_option (pairs[i], error);
    if (!check_value (row, pairs[i + 1], warnings, error))
      return FALSE;
    const char *name = row->name;
    name = strcmp (name, "sep") == 0               ? "delimiter"
           : strcmp (name, "inferSchema") == 0     ? "inferColumnTypes"
           : strcmp (name, "fileNamePattern") == 0 ? "pathGlobFilter"
                                                   : name;
    g_hash_table_insert (options->values, (gpointer) name, g_strdup (pairs[i + 1]));
  }
  return TRUE;
}

FilesOptions *
files_options_new (FilesAsk ask, const char *path, const char *base_dir, const char *format, const char *const *pairs,
                   GPtrArray *warnings, GError **error)
{
  g_autoptr (FilesOptions) options = g_new0 (FilesOptions, 1);

  options->ref_count = 1;
  options->ask = ask;
  options->values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  if (strstr (path, "://") != NULL && !g_str_has_prefix (path, "file:")) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "The location %s is not supported: give a directory of this machine", path);
    return NULL;
  }
  options->path = absolute_path (path, base_dir);
  if (!set_values (options, pairs, warnings, error))
    return NULL;
  if (format == NULL)
    format = g_hash_table_lookup (options->values, "format");
  if (format != NULL && !set_format (options, format, error))
    return NULL;
  if (!read_schemas (options, error))
    return NULL;
  const char *rescued = g_hash_table_lookup (options->values, "rescuedDataColumn");
  if (rescued == NULL && options->schema == NULL)
    rescued = "_rescued_data";
  options->rescued = rescued != NULL && *rescued != '\0' ? g_strdup (rescued) : NULL;
  return g_steal_pointer (&options);
}

FilesOptions *
files_options_ref (FilesOptions *options)
{
  g_atomic_int_inc (&options->ref_count);
  return options;
}

void
files_options_unref (FilesOptions *options)
{
  if (options == NULL || !g_atomic_int_dec_and_test (&options->ref_count))
    return;
  g_free (options->path);
  g_hash_table_unref (options->values);
  base_type_unref (options->schema);
  g_clear_pointer (&options->hints, g_ptr_array_unref);
  g_free (options->rescued);
  g_free (options);
}

/* ---- facts ---- */

const char *
files_options_path (const FilesOptions *options)
{
  return options->path;
}

gboolean
files_options_has_format (const FilesOptions *options)
{
  return options->has_format;
}

FilesFormat
files_options_format (const FilesOptions *options)
{
  g_assert (options->has_format);
  return options->format;
}

const char *
files_options_text (const FilesOptions *options, const char *key)
{
  const char *value = g_hash_table_lookup (options->values, key);

  return value != NULL ? value : find_row (key)->fallback;
}

gboolean
files_options_bool (const FilesOptions *options, const char *key)
{
  const char *value = files_options_text (options, key);
  gboolean truth = FALSE;

  return value != NULL && base_settings_parse_bool (value, &truth) && truth;
}

FilesEvolution
files_options_evolution (const FilesOptions *options)
{
  static const char *const names[] = { "addNewColumns", "rescue", "failOnNewColumns", "none" };
  const char *value = g_hash_table_lookup (options->values, "schemaEvolutionMode");

  if (value == NULL)
    return options->schema != NULL ? FILES_EVOLVE_NONE : FILES_EVOLVE_ADD_NEW_COLUMNS;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_ascii_strcasecmp (names[i], value) == 0)
      return (FilesEvolution) i;
  g_assert_not_reached ();
}

FilesMode
files_options_mode (const FilesOptions *options)
{
  const char *value = files_options_text (options, "mode");

  if (g_ascii_strcasecmp (value, "FAILFAST") == 0)
    return FILES_MODE_FAILFAST;
  return g_ascii_strcasecmp (value, "DROPMALFORMED") == 0 ? FILES_MODE_DROPMALFORMED : FILES_MODE_PERMISSIVE;
}

gboolean
files_options_infer_types (const FilesOptions *options)
{
  if (g_hash_table_lookup (options->values, "inferColumnTypes") == NULL)
    return options->ask == FILES_ASK_READ_FILES;
  return files_options_bool (options, "inferColumnTypes");
}

const BaseType *
files_options_schema (const FilesOptions *options)
{
  return options->schema;
}

GPtrArray *
files_options_schema_hints (const FilesOptions *options)
{
  return options->hints;
}

const char *
files_options_rescued_column (const FilesOptions *options)
{
  return options->rescued;
}

gboolean
files_options_include_existing (const FilesOptions *options)
{
  return files_options_bool (options, "includeExistingFiles");
}

gboolean
files_options_allow_overwrites (const FilesOptions *options)
{
  return files_options_bool (options, "allowOverwrites");
}

gint64
files_options_max_files (const FilesOptions *options)
{
  gint64 value = 0;

  /* As in Spark, a limit in bytes alone lifts the default limit of files. */
  if (g_hash_table_lookup (options->values, "maxFilesPerTrigger") == NULL && files_options_max_bytes (options) > 0)
    return 0;
  return base_text_parse_int64 (files_options_text (options, "maxFilesPerTrigger"), &value) ? value : 0;
}

gint64
files_options_max_bytes (const FilesOptions *options)
{
  const char *text = files_options_text (options, "maxBytesPerTrigger");
  gint64 value = 0;

  return text != NULL && base_settings_parse_size (text, &value) ? value : 0;
}

/* What the user asked of a set of raw files: the options of `read_files`, `cloud_files` and `cloudFiles`, checked once.
 *
 * One table (files-options.c) names every option, its type, default and meaning; parser, errors and documentation read it.
 * Source: pipelines.md §13.2.
 */
#pragma once

#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  FILES_FORMAT_JSON,
  FILES_FORMAT_CSV,
  FILES_FORMAT_PARQUET,
  FILES_FORMAT_TEXT,
} FilesFormat;

/* What to do when a file brings a column that the schema lacks (pipelines.md §13.4). */
typedef enum {
  FILES_EVOLVE_ADD_NEW_COLUMNS,
  FILES_EVOLVE_RESCUE,
  FILES_EVOLVE_FAIL_ON_NEW_COLUMNS,
  FILES_EVOLVE_NONE,
} FilesEvolution;

typedef enum {
  FILES_MODE_PERMISSIVE,
  FILES_MODE_DROPMALFORMED,
  FILES_MODE_FAILFAST,
} FilesMode;

typedef struct FilesOptions FilesOptions;

/* Who asks: the defaults of a few options differ. */
typedef enum {
  FILES_ASK_READ_FILES,  /* read_files: types are inferred */
  FILES_ASK_CLOUD_FILES, /* cloud_files, cloudFiles: columns are STRING unless cloudFiles.inferColumnTypes */
} FilesAsk;

/**
 * files_options_new:
 * @path: a directory, a file, or a pattern (`*`, `?`, `[ab]`, `{a,b}`); absolute, `file:` URI, or relative to @base_dir
 * @base_dir: (nullable): NULL = the process's directory
 * @format: (nullable): NULL = the option `format`, else the extension of the pattern or of the first file found
 * @options: (nullable): key, value, …, NULL; keys without case, with or without the prefix `cloudFiles.`
 * @warnings: (nullable) (element-type utf8): gets one sentence for every option that has no effect here
 *
 * Errors: SLUICE_ERROR_INVALID_OPTION (unknown key with near names, bad value), UNSUPPORTED_FILE_FORMAT, UNSUPPORTED_FEATURE.
 * Returns: (transfer full).
 */
FilesOptions *files_options_new (FilesAsk ask, const char *path, const char *base_dir, const char *format,
                                 const char *const *options, GPtrArray *warnings, GError **error);
FilesOptions *files_options_ref (FilesOptions *options);
void files_options_unref (FilesOptions *options); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FilesOptions, files_options_unref)

/* Facts. Borrows live as long as @options. */
const char *files_options_path (const FilesOptions *options); /* absolute pattern, without a scheme */
/* Settles a format that was not given from the name of a file. FALSE + UNSUPPORTED_FILE_FORMAT when the extension says nothing. */
gboolean files_options_settle_format (FilesOptions *options, const char *file, GError **error);
gboolean files_options_has_format (const FilesOptions *options);
FilesFormat files_options_format (const FilesOptions *options);
FilesEvolution files_options_evolution (const FilesOptions *options);
FilesMode files_options_mode (const FilesOptions *options);
gboolean files_options_infer_types (const FilesOptions *options);
const BaseType *files_options_schema (const FilesOptions *options);     /* (nullable): a fixed schema */
GPtrArray *files_options_schema_hints (const FilesOptions *options);    /* (nullable) (element-type SqlSchemaHint) */
const char *files_options_rescued_column (const FilesOptions *options); /* (nullable): NULL = nothing is rescued */
gboolean files_options_include_existing (const FilesOptions *options);
gboolean files_options_allow_overwrites (const FilesOptions *options);
gint64 files_options_max_files (const FilesOptions *options); /* per trigger; 0 = no limit */
gint64 files_options_max_bytes (const FilesOptions *options); /* per trigger; 0 = no limit */
/* Any other option's text as given, or its default; key in the table's spelling. (nullable). */
const char *files_options_text (const FilesOptions *options, const char *key);
gboolean files_options_bool (const FilesOptions *options, const char *key);

/* The table, for documentation: name, default, text; NULL past the end. */
gboolean files_options_row (guint index, const char **name, const char **fallback, const char **text);

G_END_DECLS

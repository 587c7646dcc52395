/* The pipeline spec file: `spark-pipeline.yml`, or a `.json` file with the names of Databricks' settings (pipelines.md §2). */
#pragma once

#include "base-settings.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *path;      /* absolute, of the file */
  char *directory; /* of the file: libraries are relative to it */
  char *name;
  char *storage;            /* absolute directory on this machine */
  char *catalog;            /* (nullable) */
  char *schema;             /* (nullable): database or schema */
  GPtrArray *libraries;     /* of char *: patterns as written */
  GPtrArray *configuration; /* of char *: key, value, key, value … */
} PipelineSpec;

void pipeline_spec_free (PipelineSpec *spec); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PipelineSpec, pipeline_spec_free)

/**
 * pipeline_spec_find:
 * @given: (nullable): `--spec`
 * @start: where to look when none was given: this directory and its ancestors
 *
 * Errors: PIPELINE_SPEC_FILE_DOES_NOT_EXIST, PIPELINE_SPEC_FILE_NOT_FOUND, MULTIPLE_PIPELINE_SPEC_FILES_FOUND.
 * Returns: (transfer full): an absolute path.
 */
char *pipeline_spec_find (const char *given, const char *start, GError **error);

/**
 * pipeline_spec_load:
 *
 * Errors, with file and line: PIPELINE_SPEC_MALFORMED, PIPELINE_SPEC_UNEXPECTED_FIELD, PIPELINE_SPEC_MISSING_REQUIRED_FIELD,
 * PIPELINE_SPEC_DICT_VALUE_NOT_STRING, PIPELINE_STORAGE_ROOT_INVALID, PIPELINE_SPEC_INVALID_GLOB_PATTERN. At most 1 MiB.
 * Returns: (transfer full).
 */
PipelineSpec *pipeline_spec_load (const char *path, GError **error);
/* The same from text, for tests and fuzzing; @path only names it. */
PipelineSpec *pipeline_spec_parse (const char *text, gsize size, const char *path, GError **error);

/* The definitions files that the libraries match, in the order of the patterns, then by path, each once.
 * Errors: PIPELINE_SPEC_INVALID_GLOB_PATTERN; FILE_NOT_FOUND for a pattern that names a missing file;
 * PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION.
 * Returns: (transfer full) (element-type utf8). */
GPtrArray *pipeline_spec_files (const PipelineSpec *spec, GError **error);

G_END_DECLS

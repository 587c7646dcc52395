/* The pipeline spec file: see pipeline-spec.h. libyaml gives nodes with positions; JSON is read by the same parser. */
#include "pipeline-spec.h"

#include "base-error.h"
#include "base-text.h"

#include <string.h>
#include <yaml.h>

#define MAX_BYTES (1 << 20)

void
pipeline_spec_free (PipelineSpec *spec)
{
  if (spec == NULL)
    return;
  g_free (spec->path);
  g_free (spec->directory);
  g_free (spec->name);
  g_free (spec->storage);
  g_free (spec->catalog);
  g_free (spec->schema);
  g_clear_pointer (&spec->libraries, g_ptr_array_unref);
  g_clear_pointer (&spec->configuration, g_ptr_array_unref);
  g_free (spec);
}

/* ---- finding ---- */

static const char *const spec_names[] = { "spark-pipeline.yml", "spark-pipeline.yaml" };

char *
pipeline_spec_find (const char *given, const char *start, GError **error)
{
  if (given != NULL) {
    g_autofree char *path = g_canonicalize_filename (given, start);
    if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
      return g_steal_pointer (&path);
    base_error_set (error, SLUICE_ERROR_PIPELINE_SPEC_FILE_DOES_NOT_EXIST, "The pipeline spec file %s does not exist",
                    path);
    if (g_file_test (path, G_FILE_TEST_IS_DIR))
      base_error_set_hint (error, "it is a directory; --spec names a file, such as %s/%s", path, spec_names[0]);
    return NULL;
  }
  g_autofree char *directory = g_canonicalize_filename (start, NULL);
  for (;;) {
    g_autofree char *first = g_build_filename (directory, spec_names[0], NULL);
    g_autofree char *second = g_build_filename (directory, spec_names[1], NULL);
    gboolean has_first = g_file_test (first, G_FILE_TEST_IS_REGULAR);
    gboolean has_second = g_file_test (second, G_FILE_TEST_IS_REGULAR);
    if (has_first && has_second) {
      base_error_set (error, SLUICE_ERROR_MULTIPLE_PIPELINE_SPEC_FILES_FOUND,
                      "The directory %s holds two pipeline spec files; name one with --spec", directory);
      return NULL;
    }
    if (has_first || has_second)
      return has_first ? g_steal_pointer (&first) : g_steal_pointer (&second);
    char *parent = g_path_get_dirname (directory);
    gboolean at_root = strcmp (parent, directory) == 0;
    g_free (directory);
    directory = parent;
    if (at_root)
      break;
  }
  base_error_set (error, SLUICE_ERROR_PIPELINE_SPEC_FILE_NOT_FOUND,
                  "No spark-pipeline.yml in %s or any directory above it", start);
  base_error_set_hint (error, "`sluice init --name NAME` makes a new project, --spec names a file elsewhere");
  return NULL;
}

/* ---- reading ---- */

typedef struct {
  yaml_document_t *document;
  PipelineSpec *spec;
  gboolean is_json;
  GError **error;
  const yaml_node_t *storage; /* the value of `storage`, once it was read */
  const char *text;
  gsize size;
} Reader;

/* The position of a mark, with the line of the file for the caret; a line that is not UTF-8 is not shown. */
static void
set_position (const char *path, const char *text, gsize size, const yaml_mark_t *mark, GError **error)
{
  const char *end = text + size;
  const char *line = text;
  g_autofree char *source_line = NULL;

  for (gsize n = 0; n < mark->line && line < end; n++) {
    const char *feed = memchr (line, '\n', (gsize) (end - line));
    line = feed != NULL ? feed + 1 : end;
  }
  if (line < end) {
    const char *feed = memchr (line, '\n', (gsize) (end - line));
    gsize length = (gsize) ((feed != NULL ? feed : end) - line);
    if (g_utf8_validate_len (line, length, NULL))
      source_line = g_strndup (line, length);
  }
  base_error_set_position (error, path, (guint) mark->line + 1, (guint) mark->column + 1, source_line);
}

static gboolean
fail_at (Reader *reader, const yaml_node_t *node, SluiceError code, const char *message)
{
  base_error_set (reader->error, code, "%s", message);
  set_position (reader->spec->path, reader->text, reader->size, &node->start_mark, reader->error);
  return FALSE;
}

static yaml_node_t *
node_at (Reader *reader, yaml_node_item_t item)
{
  return yaml_document_get_node (reader->document, item);
}

static const char *
scalar_text (const yaml_node_t *node)
{
  return node->type == YAML_SCALAR_NODE ? (const char *) node->data.scalar.value : NULL;
}

/* Whether YAML's core schema takes a plain scalar for something else than a string. */
static gboolean
is_string (const yaml_node_t *node)
{
  static const char *const words[] = { "true", "false", "null", "~", "", ".inf", "-.inf", ".nan", NULL };
  const char *text = scalar_text (node);
  char *end = NULL;

  if (text == NULL)
    return FALSE;
  if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
    return TRUE;
  for (guint i = 0; words[i] != NULL; i++)
    if (g_ascii_strcasecmp (text, words[i]) == 0)
      return FALSE;
  (void) g_ascii_strtod (text, &end);
  return *end != '\0' || g_ascii_isalpha (*text);
}

static gboolean
read_string (Reader *reader, const yaml_node_t *node, const char *field, char **value)
{
  g_autofree char *message = g_strdup_printf ("The field \"%s\" must be a string", field);
  const char *text = scalar_text (node);

  if (text == NULL || strlen (text) != node->data.scalar.length || (!is_string (node) && !g_ascii_isdigit (*text)))
    return fail_at (reader, node, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED, message);
  g_free (*value);
  *value = g_strdup (text);
  return TRUE;
}

static gboolean
read_configuration (Reader *reader, const yaml_node_t *node)
{
  if (node->type != YAML_MAPPING_NODE)
    return fail_at (reader, node, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED,
                    "\"configuration\" must be a mapping of strings to strings");
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
    const yaml_node_t *key = node_at (reader, pair->key);
    const yaml_node_t *value = node_at (reader, pair->value);
    if (scalar_text (key) == NULL || !is_string (value)) {
      g_autofree char *message = g_strdup_printf (
          "The value of the configuration key \"%s\" must be a string; put numbers and booleans in quotes",
          scalar_text (key) != NULL ? scalar_text (key) : "?");
      return fail_at (reader, value, SLUICE_ERROR_PIPELINE_SPEC_DICT_VALUE_NOT_STRING, message);
    }
    g_ptr_array_add (reader->spec->configuration, g_strdup (scalar_text (key)));
    g_ptr_array_add (reader->spec->configuration, g_strdup (scalar_text (value)));
  }
  return TRUE;
}

/* The only member of a mapping, when it has the name. */
static const yaml_node_t *
only_member (Reader *reader, const yaml_node_t *node, const char *name)
{
  if (node->type != YAML_MAPPING_NODE || node->data.mapping.pairs.top - node->data.mapping.pairs.start != 1)
    return NULL;
  const yaml_node_t *key = node_at (reader, node->data.mapping.pairs.start->key);
  if (scalar_text (key) == NULL || strcmp (scalar_text (key), name) != 0)
    return NULL;
  return node_at (reader, node->data.mapping.pairs.start->value);
}

// Everything but a plain path, or a directory followed by slash and two stars, is refused.
static gboolean
is_pattern (const char *text)
{
  g_autofree char *stem = g_str_has_suffix (text, "/**") ? g_strndup (text, strlen (text) - 3) : g_strdup (text);

  return *text != '\0' && strpbrk (stem, "*?[]{}") == NULL;
}

static gboolean
read_libraries (Reader *reader, const yaml_node_t *node)
{
  if (node->type != YAML_SEQUENCE_NODE)
    return fail_at (reader, node, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED, "\"libraries\" must be a list");
  for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
    const yaml_node_t *library = node_at (reader, *item);
    const yaml_node_t *glob = only_member (reader, library, "glob");
    const yaml_node_t *file = reader->is_json ? only_member (reader, library, "file") : NULL;
    const yaml_node_t *pattern = glob != NULL   ? only_member (reader, glob, "include")
                                 : file != NULL ? only_member (reader, file, "path")
                                                : NULL;
    if (pattern == NULL || scalar_text (pattern) == NULL)
      return fail_at (reader, library, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED,
                      "A library is written {glob: {include: PATTERN}}");
    if (!is_pattern (scalar_text (pattern)))
      return fail_at (reader, pattern, SLUICE_ERROR_PIPELINE_SPEC_INVALID_GLOB_PATTERN,
                      "A pattern is the path of a file, or a directory followed by /**");
    g_ptr_array_add (reader->spec->libraries, g_strdup (scalar_text (pattern)));
  }
  return TRUE;
}

/* Databricks' settings that become configuration keys here. */
static const struct {
  const char *field;
  const char *key;
} json_settings[] = { { "continuous", "pipelines.continuous" },
                      { "development", "pipelines.development" },
                      { "channel", "pipelines.channel" },
                      { "edition", NULL },
                      { "id", "pipelines.id" } };

static gboolean
read_json_setting (Reader *reader, const char *field, const yaml_node_t *value, gboolean *known)
{
  for (guint i = 0; reader->is_json && i < G_N_ELEMENTS (json_settings); i++) {
    if (strcmp (json_settings[i].field, field) != 0)
      continue;
    *known = TRUE;
    if (scalar_text (value) == NULL)
      return fail_at (reader, value, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED, "A setting must be a plain value");
    if (json_settings[i].key != NULL) {
      g_ptr_array_add (reader->spec->configuration, g_strdup (json_settings[i].key));
      g_ptr_array_add (reader->spec->configuration, g_strdup (scalar_text (value)));
    }
  }
  return TRUE;
}

static gboolean
read_field (Reader *reader, const yaml_node_t *key, const yaml_node_t *value, gboolean *has_database)
{
  PipelineSpec *spec = reader->spec;
  const char *field = scalar_text (key);
  gboolean known = FALSE;

  if (field == NULL)
    return fail_at (reader, key, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED, "A field's name must be a string");
  if (strcmp (field, "name") == 0)
    return read_string (reader, value, field, &spec->name);
  if (strcmp (field, "storage") == 0) {
    reader->storage = value;
    return read_string (reader, value, field, &spec->storage);
  }
  if (strcmp (field, "catalog") == 0)
    return read_string (reader, value, field, &spec->catalog);
  if (strcmp (field, "database") == 0 || (reader->is_json && strcmp (field, "target") == 0)) {
    *has_database = TRUE;
    return read_string (reader, value, field, &spec->schema);
  }
  if (strcmp (field, "schema") == 0)
    return *has_database || read_string (reader, value, field, &spec->schema);
  if (strcmp (field, "configuration") == 0)
    return read_configuration (reader, value);
  if (strcmp (field, "libraries") == 0)
    return read_libraries (reader, value);
  if (!read_json_setting (reader, field, value, &known))
    return FALSE;
  if (known)
    return TRUE;
  static const char *const names[] = { "name",     "storage", "libraries",     "catalog",
                                       "database", "schema",  "configuration", NULL };
  g_autofree char *message = g_strdup_printf ("The spec file has no field \"%s\"", field);
  g_autofree char *near = base_text_near_names (field, names, 2);
  fail_at (reader, key, SLUICE_ERROR_PIPELINE_SPEC_UNEXPECTED_FIELD, message);
  if (near != NULL)
    base_error_set_hint (reader->error, "did you mean %s?", near);
  else
    base_error_set_hint (reader->error, "settings of this engine and variables go under `configuration`");
  return FALSE;
}

static gboolean
settle_storage (Reader *reader)
{
  g_autofree char *message = NULL;
  PipelineSpec *spec = reader->spec;

  if (g_str_has_prefix (spec->storage, "file:///")) {
    g_autofree char *path = base_text_uri_decode (spec->storage + strlen ("file://"));
    if (path != NULL) {
      g_free (spec->storage);
      spec->storage = g_canonicalize_filename (path, "/");
      return TRUE;
    }
  }
  message = g_strdup_printf (
      "The storage '%s' must be an absolute directory with a URI scheme, such as file:///data/storage", spec->storage);
  return fail_at (reader, reader->storage, SLUICE_ERROR_PIPELINE_STORAGE_ROOT_INVALID, message);
}

static gboolean
read_document (Reader *reader)
{
  const yaml_node_t *root = yaml_document_get_root_node (reader->document);
  gboolean has_database = FALSE;

  if (root == NULL || root->type != YAML_MAPPING_NODE)
    return base_error_set (reader->error, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED,
                           "The spec file %s must be a mapping of fields", reader->spec->path);
  for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++)
    if (!read_field (reader, node_at (reader, pair->key), node_at (reader, pair->value), &has_database))
      return FALSE;
  if (reader->spec->name == NULL)
    return fail_at (reader, root, SLUICE_ERROR_PIPELINE_SPEC_MISSING_REQUIRED_FIELD,
                    "The spec file lacks the field \"name\"");
  if (reader->spec->storage == NULL)
    return fail_at (reader, root, SLUICE_ERROR_PIPELINE_SPEC_MISSING_REQUIRED_FIELD,
                    "The spec file lacks the field \"storage\"");
  return settle_storage (reader);
}

static PipelineSpec *
spec_new (const char *path)
{
  PipelineSpec *spec = g_new0 (PipelineSpec, 1);

  spec->path = g_canonicalize_filename (path, NULL);
  spec->directory = g_path_get_dirname (spec->path);
  spec->libraries = g_ptr_array_new_with_free_func (g_free);
  spec->configuration = g_ptr_array_new_with_free_func (g_free);
  return spec;
}

PipelineSpec *
pipeline_spec_parse (const char *text, gsize size, const char *path, GError **error)
{
  g_autoptr (PipelineSpec) spec = spec_new (path);
  yaml_parser_t parser;
  yaml_document_t document;
  Reader reader = { &document, spec, g_str_has_suffix (path, ".json"), error, NULL, text, size };

  if (size > MAX_BYTES) {
    base_error_set (error, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED, "The spec file %s is larger than 1 MiB", path);
    return NULL;
  }
  if (!yaml_parser_initialize (&parser)) {
    base_error_set (error, SLUICE_ERROR_OUT_OF_MEMORY, "No memory to read %s", path);
    return NULL;
  }
  yaml_parser_set_input_string (&parser, (const guchar *) text, size);
  if (!yaml_parser_load (&parser, &document)) {
    base_error_set (error, SLUICE_ERROR_PIPELINE_SPEC_MALFORMED, "The spec file %s is not valid YAML: %s", path,
                    parser.problem != NULL ? parser.problem : "it cannot be read");
    set_position (spec->path, text, size, &parser.problem_mark, error);
    yaml_parser_delete (&parser);
    return NULL;
  }
  gboolean good = read_document (&reader);
  yaml_document_delete (&document);
  yaml_parser_delete (&parser);
  return good ? g_steal_pointer (&spec) : NULL;
}

PipelineSpec *
pipeline_spec_load (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;
  gsize size;

  if (g_file_get_contents (path, &text, &size, &failure))
    return pipeline_spec_parse (text, size, path, error);
  base_error_set (error, SLUICE_ERROR_PIPELINE_SPEC_FILE_DOES_NOT_EXIST, "The spec file %s cannot be read: %s", path,
                  failure->message);
  return NULL;
}

/* ---- definitions files ---- */

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* All files below a directory; names beginning with a dot and Python's caches left out. Links to directories are not followed,
 * so there is no circle. */
static void
add_below (const char *directory, GPtrArray *files, guint depth)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  const char *name;

  if (dir == NULL || depth > 64)
    return;
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (directory, name, NULL);
    if (*name == '.' || strcmp (name, "__pycache__") == 0)
      continue;
    if (!g_file_test (path, G_FILE_TEST_IS_DIR))
      g_ptr_array_add (files, g_steal_pointer (&path));
    else if (!g_file_test (path, G_FILE_TEST_IS_SYMLINK))
      add_below (path, files, depth + 1);
  }
}

static gboolean
check_extension (const char *path, GError **error)
{
  if (g_str_has_suffix (path, ".sql") || g_str_has_suffix (path, ".py"))
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION,
                         "%s is neither a .sql nor a .py file", path);
}

GPtrArray *
pipeline_spec_files (const PipelineSpec *spec, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < spec->libraries->len; i++) {
    const char *pattern = g_ptr_array_index (spec->libraries, i);
    gboolean recursive = g_str_has_suffix (pattern, "/**");
    g_autofree char *stem = recursive ? g_strndup (pattern, strlen (pattern) - 3) : g_strdup (pattern);
    g_autofree char *path = g_canonicalize_filename (stem, spec->directory);
    g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
    if (recursive)
      add_below (path, found, 0);
    else if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
      g_ptr_array_add (found, g_strdup (path));
    else {
      base_error_set (error, SLUICE_ERROR_FILE_NOT_FOUND, "The library %s does not exist", path);
      base_error_set_position (error, spec->path, 0, 0, NULL);
      return NULL;
    }
    g_ptr_array_sort (found, compare_paths);
    for (guint f = 0; f < found->len; f++) {
      char *file = g_ptr_array_index (found, f);
      if (!check_extension (file, error))
        return NULL;
      if (g_hash_table_contains (seen, file))
        continue;
      g_ptr_array_add (files, g_strdup (file));
      g_hash_table_add (seen, g_ptr_array_index (files, files->len - 1));
    }
  }
  return g_steal_pointer (&files);
}

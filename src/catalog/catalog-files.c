/* Raw files in queries: read_files(), cloud_files(), and paths such as json.`/dir`. */
#include "catalog-private.h"

#include <base-error.h>
#include <files-schema.h>
#include <files-source.h>
#include <string.h>

/* A constant as the text of an option; NULL for NULL. Returns: (transfer full). */
static char *
option_text (const RelationLiteral *literal)
{
  if (literal == NULL || literal->is_null)
    return NULL;
  switch (base_type_kind (literal->type)) {
  case BASE_TYPE_BOOLEAN:
    return g_strdup (literal->integer != 0 ? "true" : "false");
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    return g_strdup_printf ("%" G_GINT64_FORMAT, literal->integer);
  case BASE_TYPE_STRING:
  case BASE_TYPE_DECIMAL:
    return g_strdup (literal->text);
  default:
    return NULL;
  }
}

typedef struct {
  char *path;         /* (nullable) */
  char *format;       /* (nullable) */
  GPtrArray *options; /* (element-type utf8): key, value, … */
} FilesArguments;

static void
files_arguments_clear (FilesArguments *arguments)
{
  g_free (arguments->path);
  g_free (arguments->format);
  g_clear_pointer (&arguments->options, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FilesArguments, files_arguments_clear)

static gboolean
add_named (FilesArguments *arguments, const RelationArgument *argument, GError **error)
{
  g_autofree char *text = option_text (argument->value);

  if (text == NULL)
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "the option `%s` needs a text, a number or a boolean",
                           argument->name);
  if (g_ascii_strcasecmp (argument->name, "path") == 0) {
    g_free (arguments->path);
    arguments->path = g_steal_pointer (&text);
  } else if (g_ascii_strcasecmp (argument->name, "format") == 0) {
    g_free (arguments->format);
    arguments->format = g_steal_pointer (&text);
  } else {
    g_ptr_array_add (arguments->options, g_strdup (argument->name));
    g_ptr_array_add (arguments->options, g_steal_pointer (&text));
  }
  return TRUE;
}

/* read_files (path, name => value, …), cloud_files (path, format, map (…)). */
static gboolean
read_arguments (const RelationTableFunctionRequest *request, gboolean is_cloud_files, FilesArguments *arguments,
                GError **error)
{
  guint n_positional = 0;

  arguments->options = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < request->n_arguments; i++) {
    const RelationArgument *argument = &request->arguments[i];
    g_autofree char *text = NULL;
    if (argument->name != NULL) {
      if (!add_named (arguments, argument, error))
        return FALSE;
      continue;
    }
    if (argument->is_map && argument->items != NULL) {
      for (guint k = 0; argument->items[k] != NULL && argument->items[k + 1] != NULL; k += 2) {
        g_ptr_array_add (arguments->options, g_strdup (argument->items[k]));
        g_ptr_array_add (arguments->options, g_strdup (argument->items[k + 1]));
      }
      continue;
    }
    text = option_text (argument->value);
    if (text == NULL || n_positional > (is_cloud_files ? 1u : 0u))
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s() does not take this as its argument %u",
                             request->parts[0], i + 1);
    if (n_positional++ == 0)
      arguments->path = g_steal_pointer (&text);
    else
      arguments->format = g_steal_pointer (&text);
  }
  if (arguments->path == NULL)
    return base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS, "%s() needs a path", request->parts[0]);
  g_ptr_array_add (arguments->options, NULL);
  return TRUE;
}

static gboolean
answer_files (CatalogSession *session, FilesOptions *options, gboolean streaming, RelationTableAnswer *answer,
              GError **error)
{
  DuckSession *duck = catalog_session_duck (session);
  BaseCancel *cancel = catalog_session_cancel (session);
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (BaseType) data = NULL;

  if (duck == NULL)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "files are read by a session with an engine only");
  entries = files_list (options, catalog_stores (catalog_session_catalog (session)), cancel, error);
  if (entries == NULL)
    return FALSE;
  if (!files_options_has_format (options) && entries->len > 0 &&
      !files_options_settle_format (options, ((FilesEntry *) g_ptr_array_index (entries, 0))->path, error))
    return FALSE;
  data = files_schema_infer (options, entries, duck, cancel, error);
  if (data == NULL)
    return FALSE;
  answer->source = files_source_new (options, data, entries, streaming, duck, NULL);
  return TRUE;
}

gboolean
catalog_files_bind (CatalogSession *session, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                    gpointer data, GError **error)
{
  FilesAsk ask = GPOINTER_TO_INT (data);
  gboolean is_cloud_files = ask == FILES_ASK_CLOUD_FILES;
  g_auto (FilesArguments) arguments = { 0 };
  g_autoptr (FilesOptions) options = NULL;

  if (!read_arguments (request, is_cloud_files, &arguments, error))
    return FALSE;
  options = files_options_new (ask, arguments.path, NULL, arguments.format,
                               (const char *const *) arguments.options->pdata, NULL, error);
  return options != NULL && answer_files (session, options, is_cloud_files || request->streaming, answer, error);
}

gboolean
catalog_file_path_bind (CatalogSession *session, const char *provider, const char *path,
                        const RelationTableRequest *request, RelationTableAnswer *answer, GError **error)
{
  g_autoptr (FilesOptions) options = NULL;
  g_autoptr (GPtrArray) pairs = g_ptr_array_new ();

  /* A plain read shows the files' columns alone; what is asked for in WITH (…) comes later and wins. */
  g_ptr_array_add (pairs, (gpointer) "schemaEvolutionMode");
  g_ptr_array_add (pairs, (gpointer) "none");
  for (guint i = 0; request->options != NULL && request->options[i] != NULL; i++)
    g_ptr_array_add (pairs, (gpointer) request->options[i]);
  g_ptr_array_add (pairs, NULL);
  if (request->version >= 0 || request->timestamp_us != RELATION_NO_TIME)
    return base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ONLY_OPERATION, "files have no versions: %s", path);
  options =
      files_options_new (FILES_ASK_READ_FILES, path, NULL, provider, (const char *const *) pairs->pdata, NULL, error);
  return options != NULL && answer_files (session, options, request->streaming, answer, error);
}

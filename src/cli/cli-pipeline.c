/* Opening a pipeline for a command: options → spec file → settings → warehouse. */
#include "cli-pipeline.h"

#include <base-error.h>
#include <stdio.h>
#include <string.h>

void
cli_pipeline_options_clear (CliPipelineOptions *options)
{
  g_free (options->spec);
  g_free (options->warehouse);
  g_strfreev (options->set);
}

void
cli_pipeline_options_add (CliPipelineOptions *options, GOptionContext *context)
{
  const GOptionEntry entries[] = {
    { "spec", 's', 0, G_OPTION_ARG_FILENAME, &options->spec,
      "the spec file (default: spark-pipeline.yml here or in the nearest directory above)", "FILE" },
    { "warehouse", 'w', 0, G_OPTION_ARG_FILENAME, &options->warehouse, "where the tables are (SLUICE_WAREHOUSE)",
      "DIR" },
    { "set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->set, "a configuration value over the spec's; repeatable",
      "KEY=VALUE" },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };

  g_option_context_add_main_entries (context, entries, NULL);
}

gboolean
cli_apply_sets (BaseSettings *settings, char **sets, GError **error)
{
  for (guint i = 0; sets != NULL && sets[i] != NULL; i++) {
    const char *equals = strchr (sets[i], '=');
    if (!g_utf8_validate (sets[i], -1, NULL))
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "--set is not UTF-8");
    if (equals == NULL || equals == sets[i])
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "--set takes key=value, not '%s'", sets[i]);
    g_autofree char *key = g_strndup (sets[i], (gsize) (equals - sets[i]));
    if (!base_settings_set (settings, key, equals + 1, error))
      return FALSE;
  }
  return TRUE;
}

static char *
find_warehouse (const CliPipeline *pipeline, const CliContext *context, const CliPipelineOptions *options)
{
  if (options->warehouse != NULL)
    return g_strdup (options->warehouse);
  if (context->environment->warehouse != NULL)
    return g_strdup (context->environment->warehouse);
  return pipeline_spec_warehouse (pipeline->spec, pipeline->settings);
}

static gboolean
read_spec (CliPipeline *pipeline, const CliPipelineOptions *options, GError **error)
{
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *path = pipeline_spec_find (options->spec, here, error);
  g_autoptr (BaseSettings) configuration = NULL;

  if (path == NULL || (pipeline->spec = pipeline_spec_load (path, error)) == NULL ||
      (configuration = pipeline_spec_settings (pipeline->spec, error)) == NULL)
    return FALSE;
  pipeline->settings = base_settings_new (configuration);
  return cli_apply_sets (pipeline->settings, options->set, error);
}

gboolean
cli_pipeline_open (CliPipeline *pipeline, const CliContext *context, const CliPipelineOptions *options, GError **error)
{
  g_auto (CliPipeline) opened = { 0 };

  if (!read_spec (&opened, options, error))
    return FALSE;
  opened.directory = find_warehouse (&opened, context, options);
  opened.warehouse = session_warehouse_open (opened.directory, context->environment, opened.settings, error);
  if (opened.warehouse == NULL)
    return FALSE;
  opened.environment = (PipelineEnvironment){ .catalog = session_warehouse_catalog (opened.warehouse),
                                              .stores = session_warehouse_stores (opened.warehouse),
                                              .clock = context->environment->clock,
                                              .cancel = context->cancel,
                                              .user = context->environment->user };
  *pipeline = opened;
  opened = (CliPipeline){ 0 };
  return TRUE;
}

void
cli_pipeline_clear (CliPipeline *pipeline)
{
  session_warehouse_unref (pipeline->warehouse);
  g_free (pipeline->directory);
  base_settings_unref (pipeline->settings);
  pipeline_spec_free (pipeline->spec);
}

int
cli_pipeline_error (const GError *error)
{
  BaseErrorClass kind = base_error_class (error);
  gboolean is_usage = (kind == BASE_ERROR_CLASS_USAGE || kind == BASE_ERROR_CLASS_ANALYSIS) &&
                      !g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_ACTIVE_UPDATE_EXISTS);

  (void) cli_print_error (error); /* always CLI_EXIT_ERROR */
  return is_usage ? CLI_EXIT_USAGE : CLI_EXIT_ERROR;
}

int
cli_print_problems (const GPtrArray *problems)
{
  for (guint i = 0; i < problems->len; i++)
    (void) cli_print_error (g_ptr_array_index (problems, i)); /* always CLI_EXIT_ERROR */
  fprintf (stderr, "%u problem%s; nothing was written\n", problems->len, problems->len == 1 ? "" : "s");
  return CLI_EXIT_USAGE;
}

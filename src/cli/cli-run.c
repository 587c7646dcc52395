/* `sluice run` and `sluice dry-run`. */
#include "cli-pipeline.h"
#include "cli-progress.h"
#include "cli-report.h"

#include <base-error.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  CliPipelineOptions pipeline;
  char **refresh;
  char **full_refresh;
  char **reset_checkpoint;
  gboolean full_refresh_all;
  gboolean refresh_failed;
  gboolean continuous;
} UpdateOptions;

static void
update_options_clear (UpdateOptions *options)
{
  cli_pipeline_options_clear (&options->pipeline);
  g_strfreev (options->refresh);
  g_strfreev (options->full_refresh);
  g_strfreev (options->reset_checkpoint);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (UpdateOptions, update_options_clear)

static gboolean
parse_options (int argc, char **argv, UpdateOptions *options, GError **error)
{
  const GOptionEntry entries[] = {
    { "refresh", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->refresh, "only these datasets", "A,B" },
    { "full-refresh", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->full_refresh,
      "empty these datasets and their progress, then refresh them", "A,B" },
    { "full-refresh-all", 0, 0, G_OPTION_ARG_NONE, &options->full_refresh_all, "the same for every dataset", NULL },
    { "reset-checkpoint", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->reset_checkpoint,
      "these flows read their sources from the beginning again, or from where their options say; targets keep their "
      "rows",
      "F,G" },
    { "refresh-failed", 0, 0, G_OPTION_ARG_NONE, &options->refresh_failed,
      "what failed in the last update, and what is below it", NULL },
    { "continuous", 0, 0, G_OPTION_ARG_NONE, &options->continuous,
      "refused: there is no continuous mode, run updates from a timer", NULL },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);

  g_option_context_set_summary (
      context, "Brings every dataset of a pipeline up to date. Exit code 0: completed, 1: failed, 2: wrong "
               "usage or an invalid pipeline.");
  g_option_context_add_main_entries (context, entries, NULL);
  cli_pipeline_options_add (&options->pipeline, context);
  return g_option_context_parse (context, &argc, &argv, error) &&
         (argc == 1 || base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "it takes no argument '%s'", argv[1]));
}

/* `a,b` and repeated options as one list of names. @names: (out) (nullable) (transfer full): NULL when the option was not given. */
static gboolean
read_names (const char *option, char **values, char ***names, GError **error)
{
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();

  *names = NULL;
  if (values == NULL)
    return TRUE;
  for (guint i = 0; values[i] != NULL; i++) {
    g_auto (GStrv) parts = g_strsplit (values[i], ",", -1);
    if (!g_utf8_validate (values[i], -1, NULL))
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s is not UTF-8", option);
    for (guint k = 0; parts[k] != NULL; k++) {
      if (*g_strstrip (parts[k]) == '\0')
        return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s takes names separated by commas, not '%s'",
                               option, values[i]);
      g_strv_builder_add (list, parts[k]);
    }
    if (parts[0] == NULL)
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s takes names separated by commas", option);
  }
  *names = g_strv_builder_end (list);
  return TRUE;
}

static gboolean
check_mode (const CliPipeline *pipeline, const UpdateOptions *options, GError **error)
{
  if (!options->continuous && !base_settings_get_bool (pipeline->settings, "pipelines.continuous"))
    return TRUE;
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "Continuous mode is not supported");
  base_error_set_hint (error, "run updates from a timer, such as cron; each one takes what is new");
  return FALSE;
}

/* Returns: (transfer full): NULL with @error when the update did not start or broke off. */
static PipelineSummary *
run_update (const CliPipeline *pipeline, const UpdateOptions *options, GError **error)
{
  g_autoptr (CliProgress) progress = NULL;
  g_auto (GStrv) refresh = NULL;
  g_auto (GStrv) full_refresh = NULL;
  g_auto (GStrv) reset_checkpoint = NULL;

  if (!check_mode (pipeline, options, error) || !read_names ("--refresh", options->refresh, &refresh, error) ||
      !read_names ("--full-refresh", options->full_refresh, &full_refresh, error) ||
      !read_names ("--reset-checkpoint", options->reset_checkpoint, &reset_checkpoint, error))
    return NULL;
  progress = cli_progress_new (isatty (STDOUT_FILENO) != 0 && g_strcmp0 (g_getenv ("TERM"), "dumb") != 0);
  PipelineUpdateOptions update = { .refresh = (const char *const *) refresh,
                                   .full_refresh = (const char *const *) full_refresh,
                                   .reset_checkpoint = (const char *const *) reset_checkpoint,
                                   .full_refresh_all = options->full_refresh_all,
                                   .refresh_failed = options->refresh_failed,
                                   .listener = cli_progress_event,
                                   .listener_data = progress };
  return pipeline_update_run (pipeline->spec, pipeline->settings, &pipeline->environment, &update, error);
}

int
cli_update_run (const CliContext *context, int argc, char **argv)
{
  g_auto (UpdateOptions) options = { 0 };
  g_auto (CliPipeline) pipeline = { 0 };
  g_autoptr (PipelineSummary) summary = NULL;
  g_autoptr (GError) error = NULL;
  gint64 started_us = g_get_monotonic_time ();

  if (!parse_options (argc, argv, &options, &error))
    return cli_usage_error (argv[0], "%s", error->message);
  if (!cli_pipeline_open (&pipeline, context, &options.pipeline, &error) ||
      (summary = run_update (&pipeline, &options, &error)) == NULL)
    return cli_pipeline_error (error);
  if (summary->problems->len > 0)
    return cli_print_problems (summary->problems);
  return cli_report_update (summary, g_get_monotonic_time () - started_us, base_cancel_is_raised (context->cancel));
}

/* --- dry-run --- */

int
cli_dry_run_run (const CliContext *context, int argc, char **argv)
{
  g_auto (UpdateOptions) options = { 0 };
  g_auto (CliPipeline) pipeline = { 0 };
  g_autoptr (PipelineSummary) summary = NULL;
  g_autoptr (GOptionContext) parser = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_set_summary (parser, "Reads and checks a pipeline; reads no data and writes nothing.");
  cli_pipeline_options_add (&options.pipeline, parser);
  if (!g_option_context_parse (parser, &argc, &argv, &error))
    return cli_usage_error (argv[0], "%s", error->message);
  if (argc > 1)
    return cli_usage_error (argv[0], "it takes no argument '%s'", argv[1]);
  if (!cli_pipeline_open (&pipeline, context, &options.pipeline, &error) ||
      (summary = pipeline_update_dry_run (pipeline.spec, pipeline.settings, &pipeline.environment, &error)) == NULL)
    return cli_pipeline_error (error);
  if (summary->problems->len > 0)
    return cli_print_problems (summary->problems);
  for (guint i = 0; i < summary->warnings->len; i++)
    fprintf (stderr, "warning: %s\n", (char *) g_ptr_array_index (summary->warnings, i));
  printf ("the pipeline \"%s\" is valid\n", pipeline.spec->name);
  return CLI_EXIT_OK;
}

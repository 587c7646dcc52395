/* `sluice graph` and `sluice event-log`: what a pipeline is, and what happened to it. */
#include "cli-pipeline.h"

#include <stdio.h>

/* Parses the options of a command on a pipeline plus @own. Returns: -1 to go on, else the exit code. */
static int
parse (int argc, char **argv, const char *summary, const GOptionEntry *own, CliPipelineOptions *options)
{
  g_autoptr (GOptionContext) parser = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_set_summary (parser, summary);
  if (own != NULL)
    g_option_context_add_main_entries (parser, own, NULL);
  cli_pipeline_options_add (options, parser);
  if (!g_option_context_parse (parser, &argc, &argv, &error))
    return cli_usage_error (argv[0], "%s", error->message);
  if (argc > 1)
    return cli_usage_error (argv[0], "it takes no argument '%s'", argv[1]);
  return -1;
}

static int
print_graph (const CliContext *context, const CliPipelineOptions *options, gboolean as_dot)
{
  g_auto (CliPipeline) pipeline = { 0 };
  g_autoptr (PipelineSummary) summary = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  if (!cli_pipeline_open (&pipeline, context, options, &error))
    return cli_pipeline_error (error);
  text = pipeline_update_graph (pipeline.spec, pipeline.settings, &pipeline.environment, as_dot, &summary, &error);
  if (error != NULL)
    return cli_pipeline_error (error);
  if (text != NULL)
    (void) fputs (text, stdout); /* a lost graph shows by itself */
  return summary != NULL && summary->problems->len > 0 ? cli_print_problems (summary->problems) : CLI_EXIT_OK;
}

int
cli_graph_run (const CliContext *context, int argc, char **argv)
{
  CliPipelineOptions options = { 0 };
  gboolean as_dot = FALSE;
  const GOptionEntry own[] = {
    { "dot", 0, 0, G_OPTION_ARG_NONE, &as_dot, "in the DOT language, for drawing with Graphviz", NULL },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  int code = parse (argc, argv, "Prints the datasets of a pipeline and what each one reads.", own, &options);

  if (code < 0)
    code = print_graph (context, &options, as_dot);
  cli_pipeline_options_clear (&options);
  return code;
}

static void
print_line (const char *line, gpointer data G_GNUC_UNUSED)
{
  printf ("%s\n", line);
}

static int
print_events (const CliContext *context, const CliPipelineOptions *options)
{
  g_auto (CliPipeline) pipeline = { 0 };
  g_autoptr (GError) error = NULL;

  if (!cli_pipeline_open (&pipeline, context, options, &error))
    return cli_pipeline_error (error);
  if (!pipeline_each_event (pipeline.spec, &pipeline.environment, print_line, NULL, &error))
    return cli_print_error (error);
  return CLI_EXIT_OK;
}

int
cli_event_log_run (const CliContext *context, int argc, char **argv)
{
  CliPipelineOptions options = { 0 };
  int code = parse (argc, argv, "Prints every event of a pipeline as JSON, one a line, oldest first.", NULL, &options);

  if (code < 0)
    code = print_events (context, &options);
  cli_pipeline_options_clear (&options);
  return code;
}

/* What the commands on a pipeline share: its options, its spec file, its warehouse. Private to this room. */
#pragma once

#include "cli.h"

#include <base-settings.h>
#include <glib.h>
#include <pipeline-spec.h>
#include <pipeline-update.h>

G_BEGIN_DECLS

/* The options that every command on a pipeline takes. */
typedef struct {
  char *spec;      /* (nullable): --spec */
  char *warehouse; /* (nullable): --warehouse */
  char **set;      /* (nullable): --set key=value, one each */
} CliPipelineOptions;

void cli_pipeline_options_clear (CliPipelineOptions *options);
/* @options must live until the context has parsed. */
void cli_pipeline_options_add (CliPipelineOptions *options, GOptionContext *context);

/* A pipeline that is ready to be run or looked at. */
typedef struct {
  PipelineSpec *spec;
  BaseSettings *settings; /* --set over the spec's configuration over the engine's defaults */
  char *directory;        /* of the warehouse */
  SluiceWarehouse *warehouse;
  PipelineEnvironment environment;
} CliPipeline;

/* Finds and reads the spec file, then opens the warehouse: --warehouse, SLUICE_WAREHOUSE, spark.sql.warehouse.dir, `warehouse` beside the spec
 * file. Errors: those of the spec file; INVALID_OPTION; INVALID_CONF_VALUE; those of opening. */
gboolean cli_pipeline_open (CliPipeline *pipeline, const CliContext *context, const CliPipelineOptions *options,
                            GError **error);
void cli_pipeline_clear (CliPipeline *pipeline);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliPipeline, cli_pipeline_clear)

/* The exit code of an error that kept a command from doing its work: usage and analysis are the caller's to mend. Prints it. */
int cli_pipeline_error (const GError *error);
/* Problems of validation, all of them, on stderr. Returns: CLI_EXIT_USAGE. */
int cli_print_problems (const GPtrArray *problems);

G_END_DECLS

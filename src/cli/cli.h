/* The command's parts: what a command is, and what commands share. The only code that prints. */
#pragma once

#include <base-cancel.h>
#include <base-settings.h>
#include <glib.h>
#include <session.h>

G_BEGIN_DECLS

#define CLI_EXIT_OK    0
#define CLI_EXIT_ERROR 1
#define CLI_EXIT_USAGE 2

/* What main() made ready. Borrowed by the commands. */
typedef struct {
  SessionEnvironment *environment;
  BaseCancel *cancel; /* raised by SIGINT and SIGTERM; a second signal ends the process */
} CliContext;

/* One command. A new one is a row in main.c and a function in its own file cli-<name>.c. */
typedef struct {
  const char *name;
  const char *help; /* one line */
  /* @argv: [0] is "sluice <name>". Returns: the exit code. */
  int (*run) (const CliContext *context, int argc, char **argv);
  gboolean owns_signals; /* does with signals what it likes: CliContext.cancel is never raised */
} CliCommand;

int cli_dry_run_run (const CliContext *context, int argc, char **argv);
int cli_event_log_run (const CliContext *context, int argc, char **argv);
int cli_graph_run (const CliContext *context, int argc, char **argv);
int cli_init_run (const CliContext *context, int argc, char **argv);
int cli_shell_run (const CliContext *context, int argc, char **argv);
int cli_update_run (const CliContext *context, int argc, char **argv);
int cli_stream_run (const CliContext *context, int argc, char **argv);
int cli_sql_run (const CliContext *context, int argc, char **argv);
int cli_version_run (const CliContext *context, int argc, char **argv);

/* ---- Printing ---- */

typedef enum { CLI_OUTPUT_TABLE, CLI_OUTPUT_JSON, CLI_OUTPUT_CSV } CliOutput;
gboolean cli_output_from_text (const char *text, CliOutput *output);

/* Reads @result to its end and prints it on stdout. Statements without columns print nothing, or `OK` as a table.
 * A warning goes to stderr.
 * Errors: those of reading; IO_ERROR when stdout cannot be written. */
gboolean cli_print_result (SluiceResult *result, CliOutput output, GError **error);

/* The error's lines on stderr, after what was printed on stdout. Returns: CLI_EXIT_ERROR. */
int cli_print_error (const GError *error);
/* `sluice sql: message` and how to get help, on stderr. Returns: CLI_EXIT_USAGE. */
int cli_usage_error (const char *command, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Runs the statements of a text and prints each one's answer; ends at the first error.
 * @file: (nullable): names the text in errors. */
gboolean cli_run_text (SluiceSession *session, const char *text, gsize length, const char *file, CliOutput output,
                       GError **error);

/* The warehouse: @option, SLUICE_WAREHOUSE, spark.sql.warehouse.dir of the spec file here or above, `warehouse` beside that file, else
 * `warehouse` in the working directory. Errors: those of a spec file that does not read. Returns: (transfer full). */
char *cli_warehouse (const CliContext *context, const char *option, GError **error);

/* Puts the `key=value` of each --set into @settings. @sets: (nullable). Errors: INVALID_OPTION; those of base_settings_set(). */
gboolean cli_apply_sets (BaseSettings *settings, char **sets, GError **error);

G_END_DECLS

/* `sluice sql`: statements from the command line, a file or standard input, all in one session. */
#include "cli.h"

#include <base-error.h>
#include <errno.h>
#include <pipeline-update.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  char *warehouse;
  char *output;
  char *file;
  char **set;
  char **rest;
} SqlOptions;

static void
sql_options_clear (SqlOptions *options)
{
  g_free (options->warehouse);
  g_free (options->output);
  g_free (options->file);
  g_strfreev (options->set);
  g_strfreev (options->rest);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SqlOptions, sql_options_clear)

/* Returns: FALSE with a usage message in @error. */
static gboolean
parse_options (int argc, char **argv, SqlOptions *options, GError **error)
{
  const GOptionEntry entries[] = {
    { "warehouse", 'w', 0, G_OPTION_ARG_FILENAME, &options->warehouse, "where the tables are (SLUICE_WAREHOUSE)",
      "DIR" },
    { "output", 'o', 0, G_OPTION_ARG_STRING, &options->output, "table (default), json or csv", "FORM" },
    { "file", 'f', 0, G_OPTION_ARG_FILENAME, &options->file, "read the statements from a file, - is standard input",
      "FILE" },
    { "set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->set,
      "a setting from the start, also of the engine; repeatable", "KEY=VALUE" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->rest, NULL, NULL },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("[STATEMENT]");

  g_option_context_set_summary (context,
                                "Runs SQL statements, separated by `;`, in one session. A statement that begins "
                                "with -- comes after a lone --.");
  g_option_context_add_main_entries (context, entries, NULL);
  return g_option_context_parse (context, &argc, &argv, error);
}

static char *
read_all (FILE *in, const char *name, gsize *length, GError **error)
{
  GString *text = g_string_new (NULL);
  char buffer[65536];
  gsize n;

  while ((n = fread (buffer, 1, sizeof buffer, in)) > 0)
    g_string_append_len (text, buffer, (gssize) n);
  if (ferror (in)) {
    g_autofree char *what = g_strdup_printf ("read %s", name);
    base_error_set_errno (error, errno, what);
    g_string_free (text, TRUE);
    return NULL;
  }
  *length = text->len;
  return g_string_free (text, FALSE);
}

/* Returns: (transfer full): the text to run. */
static char *
read_text (const SqlOptions *options, gsize *length, const char **name, GError **error)
{
  FILE *in;
  char *text;

  *name = NULL;
  if (options->rest != NULL && options->rest[0] != NULL) {
    *length = strlen (options->rest[0]);
    return g_strdup (options->rest[0]);
  }
  if (options->file == NULL || strcmp (options->file, "-") == 0)
    return read_all (stdin, "standard input", length, error);
  *name = options->file;
  in = fopen (options->file, "re");
  if (in == NULL) {
    g_autofree char *what = g_strdup_printf ("read %s", options->file);
    base_error_set_errno (error, errno, what);
    return NULL;
  }
  text = read_all (in, options->file, length, error);
  (void) fclose (in); /* read only: nothing to lose */
  return text;
}

static gboolean
run_sql (const CliContext *context, const SqlOptions *options, CliOutput output, GError **error)
{
  g_autofree char *directory = cli_warehouse (context, options->warehouse, error);
  g_autofree char *text = NULL;
  g_autoptr (BaseSettings) settings = base_settings_new (NULL);
  g_autoptr (SluiceWarehouse) warehouse = NULL;
  g_autoptr (SluiceSession) session = NULL;
  const char *name;
  gsize length;

  if (directory == NULL || !cli_apply_sets (settings, options->set, error) ||
      (text = read_text (options, &length, &name, error)) == NULL)
    return FALSE;
  warehouse = session_warehouse_open (directory, context->environment, settings, error);
  if (warehouse == NULL || (session = session_new (warehouse, error)) == NULL)
    return FALSE;
  session_use_cancel (session, context->cancel);
  return cli_run_text (session, text, length, name, output, error);
}

gboolean
cli_run_text (SluiceSession *session, const char *text, gsize length, const char *file, CliOutput output,
              GError **error)
{
  g_autoptr (SessionScript) script = session_script_new (session, text, (gssize) length, file);

  for (;;) {
    g_autoptr (SluiceResult) result = NULL;
    if (!session_script_next (script, &result, error))
      return FALSE;
    if (result == NULL)
      return TRUE;
    if (!cli_print_result (result, output, error))
      return FALSE;
  }
}

/* What the spec file here or above says: spark.sql.warehouse.dir, else `warehouse` beside it. NULL without a spec file. */
static char *
warehouse_of_spec (GError **error)
{
  g_autofree char *here = g_get_current_dir ();
  g_autoptr (GError) not_found = NULL;
  g_autofree char *path = pipeline_spec_find (NULL, here, &not_found);
  g_autoptr (PipelineSpec) spec = NULL;
  g_autoptr (BaseSettings) settings = NULL;

  if (path == NULL && g_error_matches (not_found, SLUICE_ERROR, SLUICE_ERROR_PIPELINE_SPEC_FILE_NOT_FOUND))
    return NULL;
  if (path == NULL) {
    g_propagate_error (error, g_steal_pointer (&not_found));
    return NULL;
  }
  if ((spec = pipeline_spec_load (path, error)) == NULL || (settings = pipeline_spec_settings (spec, error)) == NULL)
    return NULL;
  return pipeline_spec_warehouse (spec, settings);
}

char *
cli_warehouse (const CliContext *context, const char *option, GError **error)
{
  g_autoptr (GError) spec_error = NULL;
  char *of_spec;

  if (option != NULL)
    return g_strdup (option);
  if (context->environment->warehouse != NULL)
    return g_strdup (context->environment->warehouse);
  of_spec = warehouse_of_spec (&spec_error);
  if (spec_error != NULL)
    g_propagate_error (error, g_steal_pointer (&spec_error));
  else if (of_spec == NULL)
    of_spec = g_strdup ("warehouse");
  return of_spec;
}

int
cli_sql_run (const CliContext *context, int argc, char **argv)
{
  g_auto (SqlOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  CliOutput output = CLI_OUTPUT_TABLE;
  gboolean has_statement;

  if (!parse_options (argc, argv, &options, &error))
    return cli_usage_error (argv[0], "%s", error->message);
  has_statement = options.rest != NULL && options.rest[0] != NULL;
  if (options.output != NULL && !cli_output_from_text (options.output, &output))
    return cli_usage_error (argv[0], "--output is table, json or csv, not %s", options.output);
  if (has_statement && options.rest[1] != NULL)
    return cli_usage_error (argv[0], "more than one statement: put them in one argument, separated by ;");
  if (has_statement && options.file != NULL)
    return cli_usage_error (argv[0], "a statement and -f exclude each other");
  if (!has_statement && options.file == NULL && isatty (STDIN_FILENO))
    return cli_usage_error (argv[0], "there is nothing to run: give a statement, -f FILE or standard input");
  if (!run_sql (context, &options, output, &error))
    return cli_print_error (error);
  return CLI_EXIT_OK;
}

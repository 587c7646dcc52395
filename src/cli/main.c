/* The `sluice` command: a table of commands. */
#include "cli.h"

#include <base-error.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const CliCommand commands[] = {
  { "init", "make a new pipeline with sample files", cli_init_run, FALSE },
  { "run", "bring a pipeline's datasets up to date", cli_update_run, FALSE },
  { "dry-run", "check a pipeline without touching data", cli_dry_run_run, FALSE },
  { "graph", "print what a pipeline's datasets read", cli_graph_run, FALSE },
  { "event-log", "print a pipeline's events as JSON lines", cli_event_log_run, FALSE },
  { "sql", "run SQL statements on a warehouse", cli_sql_run, FALSE },
  { "stream", "follow a Delta table or its change feed into another table", cli_stream_run, FALSE },
  { "shell", "type SQL statements at a prompt", cli_shell_run, TRUE },
  { "version", "print the version", cli_version_run, FALSE },
};

/* Signals are read by a thread, because what they start (BaseCancel) takes locks. The first one cancels, the second one ends
 * the process: a query that does not let itself be stopped must not hold the terminal. */
static gpointer
watch_signals (gpointer data)
{
  BaseCancel *cancel = data;
  sigset_t set;
  int fd;
  struct signalfd_siginfo info;
  gboolean was_raised = FALSE;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGTERM);
  fd = signalfd (-1, &set, SFD_CLOEXEC);
  while (fd >= 0) {
    gssize n = read (fd, &info, sizeof info);
    if (n < 0 && errno == EINTR)
      continue;
    if (n != (gssize) sizeof info)
      break;
    if (was_raised)
      _exit (128 + (int) info.ssi_signo);
    was_raised = TRUE;
    base_cancel_raise (cancel);
  }
  return NULL;
}

/* Must run before any other thread starts: they inherit the mask. */
static void
start_watching_signals (BaseCancel *cancel)
{
  sigset_t set;
  g_autoptr (GError) error = NULL;
  GThread *thread;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGTERM);
  if (pthread_sigmask (SIG_BLOCK, &set, NULL) != 0)
    return; /* signals then end the process, as they do by default */
  thread = g_thread_try_new ("signals", watch_signals, base_cancel_ref (cancel), &error);
  if (thread == NULL)
    (void) pthread_sigmask (SIG_UNBLOCK, &set, NULL); /* as above */
  else
    g_thread_unref (thread);
}

/* GLib prints the help of options, and would turn what is not ASCII into question marks: there is no locale here. */
static void
print_utf8 (const char *text)
{
  (void) fputs (text, stdout); /* lost help shows by itself */
}

static void
print_help (FILE *out)
{
  fprintf (out, "usage: sluice COMMAND [OPTIONS]\n\ncommands:\n");
  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    fprintf (out, "  %-10s %s\n", commands[i].name, commands[i].help);
  fprintf (out, "\n`sluice COMMAND --help` says more.\n");
}

static int
run_command (const CliCommand *command, int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (BaseCancel) cancel = base_cancel_new ();
  g_autoptr (SessionEnvironment) environment = session_environment_new (&error);
  g_autofree char *name = g_strconcat ("sluice ", command->name, NULL);
  CliContext context = { environment, cancel };
  gint64 n_operations;
  int code;

  if (environment == NULL)
    return cli_print_error (error);
  if (!command->owns_signals)
    start_watching_signals (cancel);
  argv[0] = name;
  code = command->run (&context, argc, argv);
  n_operations = session_environment_n_operations (environment);
  if (n_operations >= 0)
    fprintf (stderr, "storage operations: %" G_GINT64_FORMAT "\n", n_operations);
  return code;
}

int
main (int argc, char **argv)
{
  g_set_print_handler (print_utf8);
  if (argc < 2) {
    print_help (stderr);
    return CLI_EXIT_USAGE;
  }
  if (strcmp (argv[1], "help") == 0 || strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0) {
    print_help (stdout);
    return CLI_EXIT_OK;
  }
  if (strcmp (argv[1], "--version") == 0)
    argv[1] += strlen ("--");
  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (argv[1], commands[i].name) == 0)
      return run_command (&commands[i], argc - 1, argv + 1);
  fprintf (stderr, "sluice: there is no command `%s`\n\n", argv[1]);
  print_help (stderr);
  return CLI_EXIT_USAGE;
}

/* `sluice shell`: statements typed at a prompt, over several lines, ended by `;`.
 *
 * Ctrl-C belongs to the shell: it drops the statement being typed, or stops the one that runs. SIGINT is blocked in every thread and read
 * by a thread of ours: while a statement runs it is canceled, else the thread that waits for a key is woken.
 * Without a terminal lines are read as they come, without prompt and history, and SIGINT ends the process as usual.
 */
#include "cli.h"

#include <base-error.h>
#include <base-text.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define HISTORY_LINES 1000
#define CTRL_C        3

typedef struct {
  SluiceSession *session;
  CliOutput output;
  GString *text; /* the statement so far */
  gboolean had_error;
  gboolean is_over; /* \q */
  /* with a terminal */
  EditLine *edit; /* (nullable) */
  History *history;
  locale_t characters; /* (nullable) */
  char *history_path;  /* (nullable) */
  int wake;            /* eventfd: Ctrl-C while a key was waited for */
  int stop;            /* eventfd: the watcher shall end */
  int signals;         /* signalfd of SIGINT */
  GThread *watcher;    /* (nullable) */
  gboolean was_interrupted;
  gint is_running; /* atomic: a statement runs */
} Shell;

/* --- Running --- */

static void
run_text (Shell *shell, const char *text, gsize length)
{
  g_autoptr (GError) error = NULL;

  g_atomic_int_set (&shell->is_running, 1);
  if (!cli_run_text (shell->session, text, length, NULL, shell->output, &error)) {
    shell->had_error = TRUE;
    (void) cli_print_error (error); /* always CLI_EXIT_ERROR */
  }
  g_atomic_int_set (&shell->is_running, 0);
}

static void
command_quit (Shell *shell, const char *argument G_GNUC_UNUSED)
{
  shell->is_over = TRUE;
}

static void
command_describe (Shell *shell, const char *argument)
{
  g_autofree char *sql = *argument == '\0' ? g_strdup ("SHOW TABLES") : g_strdup_printf ("DESCRIBE TABLE %s", argument);

  run_text (shell, sql, strlen (sql));
}

static void
command_output (Shell *shell, const char *argument)
{
  if (!cli_output_from_text (argument, &shell->output)) {
    shell->had_error = TRUE;
    fprintf (stderr, "\\o is table, json or csv, not '%s'\n", argument);
  }
}

static void command_help (Shell *shell, const char *argument);

typedef struct {
  const char *name;
  const char *argument;
  const char *help;
  void (*run) (Shell *shell, const char *argument);
} ShellCommand;

static const ShellCommand commands[] = {
  { "\\d", "[NAME]", "list the tables, or describe one", command_describe },
  { "\\o", "FORM", "show results as table, json or csv", command_output },
  { "\\q", "", "leave, also exit and quit", command_quit },
  { "\\?", "", "this list, also help", command_help },
};

static void
command_help (Shell *shell G_GNUC_UNUSED, const char *argument G_GNUC_UNUSED)
{
  printf ("A statement may take several lines and ends with `;`. Ctrl-C drops or stops it.\n");
  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    printf ("  %s %-7s %s\n", commands[i].name, commands[i].argument, commands[i].help);
}

/* The command that a line of one word means, as other shells take it. */
static const char *
command_of_word (const char *line)
{
  static const char *const words[][2] = { { "exit", "\\q" }, { "quit", "\\q" }, { "help", "\\?" } };

  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_ascii_strncasecmp (line, words[i][0], strlen (words[i][0])) == 0 &&
        line[strlen (words[i][0]) + strspn (line + strlen (words[i][0]), "; \t")] == '\0')
      return words[i][1];
  return line;
}

/* Returns: whether @line is a command of the shell itself. */
static gboolean
run_command (Shell *shell, const char *line)
{
  g_autofree char *given = g_strstrip (g_strdup (line));
  const char *stripped = command_of_word (given);
  gsize n_name = strcspn (stripped, " \t;");

  if (stripped[0] != '\\')
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strlen (commands[i].name) == n_name && strncmp (commands[i].name, stripped, n_name) == 0) {
      g_autofree char *argument = g_strdup (stripped + n_name);
      g_strdelimit (argument, ";", ' ');
      commands[i].run (shell, g_strstrip (argument));
      return TRUE;
    }
  shell->had_error = TRUE;
  fprintf (stderr, "there is no command %.*s; \\? lists them\n", (int) n_name, stripped);
  return TRUE;
}

static gboolean
is_blank (const char *text)
{
  return text[strspn (text, " \t\r\n")] == '\0';
}

/* One more line, with its line feed. */
static void
take_line (Shell *shell, const char *line)
{
  if (shell->text->len == 0 && (is_blank (line) || run_command (shell, line)))
    return;
  g_string_append (shell->text, line);
  if (!session_text_is_complete (shell->text->str, (gssize) shell->text->len))
    return;
  run_text (shell, shell->text->str, shell->text->len);
  g_string_truncate (shell->text, 0);
}

/* What stands at the end of the input without a `;` is a statement too. */
static void
take_end (Shell *shell)
{
  if (!is_blank (shell->text->str))
    run_text (shell, shell->text->str, shell->text->len);
}

/* --- The terminal --- */

static gpointer
watch_interrupts (gpointer data)
{
  Shell *shell = data;
  struct pollfd fds[] = { { shell->signals, POLLIN, 0 }, { shell->stop, POLLIN, 0 } };
  struct signalfd_siginfo info;
  guint64 one = 1;

  for (;;) {
    if (poll (fds, 2, -1) < 0 && errno != EINTR)
      return NULL;
    if (fds[1].revents != 0)
      return NULL;
    if (fds[0].revents == 0 || read (shell->signals, &info, sizeof info) != (gssize) sizeof info)
      continue;
    if (g_atomic_int_get (&shell->is_running))
      session_cancel (shell->session);
    else if (write (shell->wake, &one, sizeof one) < 0)
      return NULL;
  }
}

/* SIGINT is blocked by now. Without the thread Ctrl-C does nothing. */
static void
start_watching (Shell *shell)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  shell->wake = eventfd (0, EFD_CLOEXEC);
  shell->stop = eventfd (0, EFD_CLOEXEC);
  shell->signals = signalfd (-1, &set, SFD_CLOEXEC);
  if (shell->wake >= 0 && shell->stop >= 0 && shell->signals >= 0)
    shell->watcher = g_thread_try_new ("interrupts", watch_interrupts, shell, NULL);
}

static void
stop_watching (Shell *shell)
{
  guint64 one = 1;

  if (shell->watcher != NULL && write (shell->stop, &one, sizeof one) == (gssize) sizeof one)
    g_thread_join (shell->watcher);
  close (shell->wake);
  close (shell->stop);
  close (shell->signals);
}

/* Returns: 1, or 0 at the end of the input and on Ctrl-C. */
static int
read_byte (Shell *shell, char *byte)
{
  struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { shell->wake, POLLIN, 0 } };
  guint64 count;

  for (;;) {
    if (poll (fds, 2, -1) < 0) {
      if (errno == EINTR)
        continue;
      return 0;
    }
    if (fds[1].revents != 0) {
      shell->was_interrupted = read (shell->wake, &count, sizeof count) > 0;
      return 0;
    }
    gssize n = read (STDIN_FILENO, byte, 1);
    if (n == 1 && *byte == CTRL_C) {
      shell->was_interrupted = TRUE;
      return 0;
    }
    if (n >= 0 || errno != EINTR)
      return n == 1 ? 1 : 0;
  }
}

/* libedit asks for one character: UTF-8 is put together here, since waiting must see Ctrl-C too. */
static int
read_character (EditLine *edit, wchar_t *character)
{
  Shell *shell;
  char bytes[8];
  gsize n = 0;

  el_get (edit, EL_CLIENTDATA, &shell);
  while (n < 6) {
    if (read_byte (shell, &bytes[n]) == 0)
      return 0;
    gunichar c = g_utf8_get_char_validated (bytes, (gssize) ++n);
    if (c == (gunichar) -2)
      continue; /* the beginning of a character */
    *character = c == (gunichar) -1 ? L'?' : (wchar_t) c;
    return 1;
  }
  return 0;
}

static char first_prompt[] = "sluice> ";
static char next_prompt[] = "   ...> ";

static char *
prompt (EditLine *edit)
{
  Shell *shell;

  el_get (edit, EL_CLIENTDATA, &shell);
  return shell->text->len == 0 ? first_prompt : next_prompt;
}

/* $XDG_STATE_HOME/sluice/history. */
static char *
find_history (void)
{
  g_autofree char *directory = g_build_filename (g_get_user_state_dir (), "sluice", NULL);

  if (g_mkdir_with_parents (directory, 0700) != 0)
    return NULL;
  return g_build_filename (directory, "history", NULL);
}

static void
open_terminal (Shell *shell)
{
  HistEvent event;

  /* libedit prints what was typed through the C library's idea of characters, which must be ours; only this thread and only characters.
   * Where the system lacks it, only ASCII can be typed. */
  shell->characters = newlocale (LC_CTYPE_MASK, "C.UTF-8", (locale_t) 0);
  if (shell->characters != (locale_t) 0)
    (void) uselocale (shell->characters);
  start_watching (shell);
  shell->edit = el_init ("sluice", stdin, stdout, stderr);
  shell->history = history_init ();
  shell->history_path = find_history ();
  (void) history (shell->history, &event, H_SETSIZE, HISTORY_LINES);
  (void) history (shell->history, &event, H_SETUNIQUE, 1);
  if (shell->history_path != NULL)
    (void) history (shell->history, &event, H_LOAD, shell->history_path); /* absent at first */
  (void) el_set (shell->edit, EL_CLIENTDATA, shell);
  (void) el_set (shell->edit, EL_PROMPT, prompt);
  (void) el_set (shell->edit, EL_EDITOR, "emacs");
  (void) el_set (shell->edit, EL_SIGNAL, 0);
  (void) el_set (shell->edit, EL_HIST, history, shell->history);
  (void) el_set (shell->edit, EL_GETCFN, read_character);
  (void) el_source (shell->edit, NULL); /* ~/.editrc, when there is one */
}

static void
close_terminal (Shell *shell)
{
  HistEvent event;

  if (shell->history_path != NULL) {
    (void) history (shell->history, &event, H_SAVE, shell->history_path); /* a lost history is no error */
    (void) g_chmod (shell->history_path, 0600);                           /* likewise */
  }
  el_end (shell->edit);
  history_end (shell->history);
  g_free (shell->history_path);
  stop_watching (shell);
  if (shell->characters != (locale_t) 0) {
    (void) uselocale (LC_GLOBAL_LOCALE);
    freelocale (shell->characters);
  }
}

static void
run_terminal (Shell *shell)
{
  HistEvent event;

  printf ("sluice %s, \\? for help\n", SLUICE_VERSION);
  while (!shell->is_over) {
    int n = 0;
    const char *line;
    shell->was_interrupted = FALSE;
    line = el_gets (shell->edit, &n);
    if (shell->was_interrupted) {
      g_string_truncate (shell->text, 0);
      printf ("^C\n");
      el_reset (shell->edit);
      continue;
    }
    if (line == NULL || n <= 0)
      break;
    if (!is_blank (line))
      (void) history (shell->history, &event, H_ENTER, line); /* a lost history is no error */
    take_line (shell, line);
  }
  if (!shell->is_over)
    printf ("\n");
}

static void
run_lines (Shell *shell)
{
  char *line = NULL;
  size_t size = 0;

  while (!shell->is_over && getline (&line, &size, stdin) >= 0)
    take_line (shell, line);
  free (line);
  if (!shell->is_over)
    take_end (shell);
}

/* --- The command --- */

static int
run_shell (const CliContext *context, const char *warehouse_option, gboolean has_terminal, GError **error)
{
  g_autofree char *directory = cli_warehouse (context, warehouse_option, error);
  g_autoptr (SluiceWarehouse) warehouse = NULL;
  g_autoptr (SluiceSession) session = NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  if (directory == NULL ||
      (warehouse = session_warehouse_open (directory, context->environment, NULL, error)) == NULL ||
      (session = session_new (warehouse, error)) == NULL)
    return -1;
  Shell shell = { .session = session, .text = text };
  if (!has_terminal) {
    run_lines (&shell);
    return shell.had_error ? CLI_EXIT_ERROR : CLI_EXIT_OK;
  }
  open_terminal (&shell);
  run_terminal (&shell);
  close_terminal (&shell);
  return CLI_EXIT_OK;
}

int
cli_shell_run (const CliContext *context, int argc, char **argv)
{
  g_autofree char *warehouse = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) parser = g_option_context_new (NULL);
  const GOptionEntry entries[] = {
    { "warehouse", 'w', 0, G_OPTION_ARG_FILENAME, &warehouse, "where the tables are (SLUICE_WAREHOUSE)", "DIR" },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  gboolean has_terminal = isatty (STDIN_FILENO) != 0 && isatty (STDOUT_FILENO) != 0;
  sigset_t set;
  int code;

  g_option_context_set_summary (parser, "Reads SQL statements, each ended by `;`, and shows their results.");
  g_option_context_add_main_entries (parser, entries, NULL);
  if (!g_option_context_parse (parser, &argc, &argv, &error))
    return cli_usage_error (argv[0], "%s", error->message);
  if (argc > 1)
    return cli_usage_error (argv[0], "it takes no argument '%s'", argv[1]);
  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  if (has_terminal)
    (void) pthread_sigmask (SIG_BLOCK, &set, NULL); /* before any thread starts; a failure leaves Ctrl-C as it is */
  code = run_shell (context, warehouse, has_terminal, &error);
  return code < 0 ? cli_print_error (error) : code;
}

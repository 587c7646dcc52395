/* `sluice stream`: a Delta table, or its change feed, into a Delta table, exactly once. */
#include "cli.h"

#include <base-error.h>
#include <base-settings.h>
#include <base-text.h>
#include <inttypes.h>
#include <session-stream.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  char *warehouse;
  char *checkpoint;
  char *trigger;
  char *mode;
  char *query;
  char *partition_by;
  char **options;
  char **set;
  char **rest;
  gboolean changes;
  gboolean merge_schema;
  gboolean json;
} StreamOptions;

static void
stream_options_clear (StreamOptions *options)
{
  g_free (options->warehouse);
  g_free (options->checkpoint);
  g_free (options->trigger);
  g_free (options->mode);
  g_free (options->query);
  g_free (options->partition_by);
  g_strfreev (options->options);
  g_strfreev (options->set);
  g_strfreev (options->rest);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (StreamOptions, stream_options_clear)

static gboolean
parse_options (int argc, char **argv, StreamOptions *options, GError **error)
{
  const GOptionEntry entries[] = {
    { "checkpoint", 'c', 0, G_OPTION_ARG_FILENAME, &options->checkpoint,
      "where progress is kept; Spark can go on from it (required)", "DIR" },
    { "option", 'O', 0, G_OPTION_ARG_STRING_ARRAY, &options->options,
      "of reading the source, such as startingVersion=76, maxFilesPerTrigger=10, skipChangeCommits=true", "KEY=VALUE" },
    { "changes", 0, 0, G_OPTION_ARG_NONE, &options->changes,
      "read the change feed: short for --option readChangeFeed=true", NULL },
    { "query", 'q', 0, G_OPTION_ARG_STRING, &options->query,
      "a query instead of SOURCE: SELECT … FROM STREAM t WITH (readChangeFeed = true)", "SQL" },
    { "trigger", 't', 0, G_OPTION_ARG_STRING, &options->trigger,
      "available-now (default): what is there, then stop; once: the same in one batch; processing-time=INTERVAL: a "
      "batch "
      "each interval, until Ctrl-C",
      "TRIGGER" },
    { "mode", 0, 0, G_OPTION_ARG_STRING, &options->mode,
      "append (default), or complete: each batch replaces SINK by the result over all rows so far", "MODE" },
    { "merge-schema", 0, 0, G_OPTION_ARG_NONE, &options->merge_schema, "add columns that SINK lacks", NULL },
    { "partition-by", 0, 0, G_OPTION_ARG_STRING, &options->partition_by, "columns of a SINK that is made", "A,B" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->set, "a setting of the session", "KEY=VALUE" },
    { "warehouse", 'w', 0, G_OPTION_ARG_FILENAME, &options->warehouse, "where the tables are (SLUICE_WAREHOUSE)",
      "DIR" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options->json, "print each batch as a line of JSON", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->rest, NULL, NULL },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("[SOURCE] SINK");

  g_option_context_set_summary (
      context,
      "Reads a Delta table as a stream and writes every row into another one exactly once, whenever it is interrupted. "
      "SOURCE and SINK are names of tables, or directories of Delta tables (with a / in them).");
  g_option_context_set_description (
      context, "Archive a change feed, and go on from version 76 after its checkpoint was lost:\n"
               "  sluice stream customers customers_archive --changes --checkpoint checkpoints/archive\n"
               "  sluice stream customers customers_archive --changes --option startingVersion=76 --checkpoint "
               "checkpoints/archive-2\n");
  g_option_context_add_main_entries (context, entries, NULL);
  return g_option_context_parse (context, &argc, &argv, error);
}

/* `key=value`, repeated, as key, value, …, NULL. */
static char **
read_pairs (const char *option, char **texts, gboolean changes, GError **error)
{
  g_autoptr (GStrvBuilder) pairs = g_strv_builder_new ();

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++) {
    char *equals = strchr (texts[i], '=');
    if (equals == NULL || equals == texts[i]) {
      base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s takes KEY=VALUE, not '%s'", option, texts[i]);
      return NULL;
    }
    g_autofree char *key = g_strndup (texts[i], (gsize) (equals - texts[i]));
    g_strv_builder_add (pairs, g_strstrip (key));
    g_strv_builder_add (pairs, equals + 1);
  }
  if (changes) {
    g_strv_builder_add (pairs, "readChangeFeed");
    g_strv_builder_add (pairs, "true");
  }
  return g_strv_builder_end (pairs);
}

/* `available-now`, `availableNow` and `available_now` are the same. */
static char *
plain_word (const char *text, gsize length)
{
  GString *word = g_string_new (NULL);

  for (gsize i = 0; i < length; i++)
    if (g_ascii_isalnum (text[i]))
      g_string_append_c (word, g_ascii_tolower (text[i]));
  return g_string_free (word, FALSE);
}

static gboolean
read_trigger (const char *text, SessionStream *stream, GError **error)
{
  const char *equals = text != NULL ? strchr (text, '=') : NULL;
  g_autofree char *word =
      text != NULL ? plain_word (text, equals != NULL ? (gsize) (equals - text) : strlen (text)) : NULL;
  const struct {
    const char *word;
    SessionTrigger trigger;
    gboolean has_value;
  } triggers[] = { { "availablenow", SESSION_TRIGGER_AVAILABLE_NOW, FALSE },
                   { "once", SESSION_TRIGGER_ONCE, FALSE },
                   { "processingtime", SESSION_TRIGGER_PROCESSING_TIME, TRUE } };

  if (word == NULL)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (triggers); i++) {
    if (strcmp (word, triggers[i].word) != 0 || triggers[i].has_value != (equals != NULL))
      continue;
    stream->trigger = triggers[i].trigger;
    if (equals == NULL || strcmp (equals + 1, "0") == 0 ||
        (base_settings_parse_duration (equals + 1, &stream->interval_us) && stream->interval_us >= 0))
      return TRUE;
  }
  return base_error_set (error, SLUICE_ERROR_INVALID_OPTION,
                         "--trigger is available-now, once or processing-time=INTERVAL (such as '10 seconds'), not %s",
                         text);
}

static gboolean
read_mode (const char *text, SessionStream *stream, GError **error)
{
  stream->complete = text != NULL && g_ascii_strcasecmp (text, "complete") == 0;
  return text == NULL || stream->complete || g_ascii_strcasecmp (text, "append") == 0 ||
         base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "--mode is append or complete, not %s", text);
}

/* SOURCE and SINK. */
static gboolean
read_names (const StreamOptions *options, SessionStream *stream, GError **error)
{
  guint n = options->rest != NULL ? g_strv_length (options->rest) : 0;
  guint n_wanted = options->query != NULL ? 1 : 2;

  if (n != n_wanted)
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION,
                           options->query != NULL ? "with --query there is one name, the SINK"
                                                  : "it needs two names, the SOURCE and the SINK");
  if (options->query != NULL && (options->changes || options->options != NULL))
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION,
                           "options of a stream stand in the query: FROM STREAM t WITH (key = value)");
  if (options->checkpoint == NULL)
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "it needs --checkpoint DIR");
  stream->source = options->query != NULL ? NULL : options->rest[0];
  stream->query = options->query;
  stream->sink = options->rest[n - 1];
  stream->checkpoint = options->checkpoint;
  stream->merge_schema = options->merge_schema;
  return TRUE;
}

/* ---- what is printed ---- */

typedef struct {
  gboolean json;
  guint64 n_batches;
  guint64 n_rows;
  guint64 n_skipped;
} Totals;

static void
print_batch (const SessionStreamReport *report, gpointer data)
{
  Totals *totals = data;
  g_autofree char *rows = base_text_count (report->n_rows);

  totals->n_batches++;
  totals->n_rows += report->n_rows;
  if (totals->json)
    printf ("{\"batchId\":%" G_GINT64_FORMAT ",\"numOutputRows\":%" PRIu64 ",\"numOutputBytes\":%" PRIu64
            ",\"sinkVersion\":%" G_GINT64_FORMAT ",\"durationMs\":%" G_GINT64_FORMAT "}\n",
            report->batch, report->n_rows, report->n_bytes, report->version, report->duration_us / 1000);
  else if (report->was_there)
    printf ("batch %" G_GINT64_FORMAT ": was in the sink already\n", report->batch);
  else if (report->version < 0)
    printf ("batch %" G_GINT64_FORMAT ": no rows\n", report->batch);
  else
    printf ("batch %" G_GINT64_FORMAT ": %s row%s, version %" G_GINT64_FORMAT "\n", report->batch, rows,
            report->n_rows == 1 ? "" : "s", report->version);
  (void) fflush (stdout); /* a reader that went away is noticed by the end of the command, if at all */
}

static void
print_end (const Totals *totals)
{
  g_autofree char *rows = base_text_count (totals->n_rows);

  if (totals->n_skipped > 0)
    fprintf (stderr, "%" PRIu64 " commit%s that change rows left out (skipChangeCommits)\n", totals->n_skipped,
             totals->n_skipped == 1 ? "" : "s");
  if (!totals->json)
    printf ("%" PRIu64 " batch%s, %s row%s\n", totals->n_batches, totals->n_batches == 1 ? "" : "es", rows,
            totals->n_rows == 1 ? "" : "s");
}

/* ---- running ---- */

static gboolean
run_stream (const CliContext *context, const StreamOptions *options, const SessionStream *stream, guint64 *n_skipped,
            GError **error)
{
  g_autofree char *directory = cli_warehouse (context, options->warehouse, error);
  g_auto (GStrv) settings = read_pairs ("--set", options->set, FALSE, error);
  g_autoptr (SluiceWarehouse) warehouse = NULL;
  g_autoptr (SluiceSession) session = NULL;

  if (directory == NULL || settings == NULL)
    return FALSE;
  warehouse = session_warehouse_open (directory, context->environment, NULL, error);
  if (warehouse == NULL || (session = session_new (warehouse, error)) == NULL)
    return FALSE;
  for (guint i = 0; settings[i] != NULL; i += 2)
    if (!session_set (session, settings[i], settings[i + 1], error))
      return FALSE;
  session_use_cancel (session, context->cancel);
  return session_stream_run (session, stream, n_skipped, error);
}

int
cli_stream_run (const CliContext *context, int argc, char **argv)
{
  g_auto (StreamOptions) options = { 0 };
  g_auto (GStrv) pairs = NULL;
  g_auto (GStrv) partition_by = NULL;
  g_autoptr (GError) error = NULL;
  Totals totals = { 0 };
  SessionStream stream = { .listener = print_batch, .listener_data = &totals };

  if (!parse_options (argc, argv, &options, &error) || !read_names (&options, &stream, &error) ||
      !read_trigger (options.trigger, &stream, &error) || !read_mode (options.mode, &stream, &error) ||
      (pairs = read_pairs ("--option", options.options, options.changes, &error)) == NULL)
    return cli_usage_error (argv[0], "%s", error->message);
  partition_by = options.partition_by != NULL ? g_strsplit (options.partition_by, ",", -1) : NULL;
  for (guint i = 0; partition_by != NULL && partition_by[i] != NULL; i++)
    g_strstrip (partition_by[i]);
  totals.json = options.json;
  stream.options = (const char *const *) pairs;
  stream.partition_by = (const char *const *) partition_by;
  if (!run_stream (context, &options, &stream, &totals.n_skipped, &error))
    return cli_print_error (error);
  print_end (&totals);
  return CLI_EXIT_OK;
}

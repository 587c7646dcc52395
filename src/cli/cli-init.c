/* `sluice init`: a new project that runs as it is. */
#include "cli.h"

#include <base-error.h>
#include <base-text.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file of the new project. `@NAME@`, `@STORAGE@` (a URI) and `@SOURCE@` (a path) are replaced. */
typedef struct {
  const char *path;
  const char *text;
} Template;

static const Template templates[] = {
  { "spark-pipeline.yml", "# One pipeline: what it is called, where it keeps its progress, which files define it.\n"
                          "name: @NAME@\n"
                          "storage: \"@STORAGE@\"\n"
                          "libraries:\n"
                          "  - glob:\n"
                          "      include: transformations/**\n"
                          "configuration:\n"
                          "  source: \"@SOURCE@\"\n" },
  { "transformations/customers.sql",
    "-- Every file that lands in data/customers is read once.\n"
    "CREATE OR REFRESH STREAMING TABLE customers_raw\n"
    "COMMENT 'change events as they came'\n"
    "AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', inferColumnTypes => 'true');\n"
    "\n"
    "-- Events that can be used. The others are dropped and counted: sluice event-log.\n"
    "CREATE OR REFRESH STREAMING TABLE customers_clean (\n"
    "  CONSTRAINT valid_id EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,\n"
    "  CONSTRAINT known_operation EXPECT (operation IN ('INSERT', 'UPDATE', 'DELETE')) ON VIOLATION DROP ROW\n"
    ")\n"
    "AS SELECT * EXCEPT (changed_at), CAST(changed_at AS TIMESTAMP) AS changed_at FROM STREAM customers_raw;\n"
    "\n"
    "-- One row per customer, as it is now. Late and repeated events change nothing.\n"
    "CREATE OR REFRESH STREAMING TABLE customers\n"
    "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');\n"
    "\n"
    "CREATE FLOW customers_now AS AUTO CDC INTO customers\n"
    "FROM STREAM customers_clean\n"
    "KEYS (id)\n"
    "APPLY AS DELETE WHEN operation = 'DELETE'\n"
    "SEQUENCE BY changed_at\n"
    "COLUMNS * EXCEPT (operation, changed_at, _rescued_data)\n"
    "STORED AS SCD TYPE 1;\n"
    "\n"
    "-- One row per state that a customer ever had, with the time from which and until which it held.\n"
    "CREATE OR REFRESH STREAMING TABLE customers_history;\n"
    "\n"
    "CREATE FLOW customers_then AS AUTO CDC INTO customers_history\n"
    "FROM STREAM customers_clean\n"
    "KEYS (id)\n"
    "APPLY AS DELETE WHEN operation = 'DELETE'\n"
    "SEQUENCE BY changed_at\n"
    "COLUMNS * EXCEPT (operation, changed_at, _rescued_data)\n"
    "STORED AS SCD TYPE 2;\n" },
  { "transformations/report.sql", "CREATE OR REFRESH MATERIALIZED VIEW customers_by_city\n"
                                  "AS SELECT city, count(*) AS customers FROM customers GROUP BY city;\n" },
  { "data/customers/first.json",
    "{\"id\":1,\"name\":\"Aiko\",\"city\":\"Kyoto\",\"operation\":\"INSERT\",\"changed_at\":\"2026-01-01T10:00:00Z\"}\n"
    "{\"id\":2,\"name\":\"Ben\",\"city\":\"Bergen\",\"operation\":\"INSERT\",\"changed_at\":\"2026-01-01T10:01:00Z\"}\n"
    "{\"id\":3,\"name\":\"Chidi\",\"city\":\"Lagos\",\"operation\":\"INSERT\",\"changed_at\":\"2026-01-01T10:02:00Z\"}"
    "\n"
    "{\"id\":null,\"name\":\"nobody\",\"city\":\"Bergen\",\"operation\":\"INSERT\",\"changed_at\":\"2026-01-01T10:03:"
    "00Z\"}\n"
    "{\"id\":1,\"name\":\"Aiko\",\"city\":\"Osaka\",\"operation\":\"UPDATE\",\"changed_at\":\"2026-01-01T10:05:00Z\"}"
    "\n" },
  { "data/customers/second.json",
    "{\"id\":1,\"name\":\"Aiko\",\"city\":\"Nara\",\"operation\":\"UPDATE\",\"changed_at\":\"2026-01-01T10:04:00Z\"}\n"
    "{\"id\":2,\"name\":null,\"city\":null,\"operation\":\"DELETE\",\"changed_at\":\"2026-01-01T10:06:00Z\"}\n"
    "{\"id\":4,\"name\":\"Dana\",\"city\":\"Lagos\",\"operation\":\"INSERT\",\"changed_at\":\"2026-01-01T10:07:00Z\"}"
    "\n" },
  { ".gitignore", "/storage/\n/warehouse/\n" },
};

/* Letters, digits, `_`, `-` and `.`, not first: it becomes a directory and a plain YAML text. */
static gboolean
is_good_name (const char *name)
{
  if (!g_ascii_isalpha (name[0]))
    return FALSE;
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("_-.", *p) == NULL)
      return FALSE;
  return strlen (name) <= 100;
}

/* For a YAML text in double quotes. Returns: (transfer full). */
static char *
quoted (const char *text)
{
  g_autoptr (GString) out = g_string_new (text);

  g_string_replace (out, "\\", "\\\\", 0);
  g_string_replace (out, "\"", "\\\"", 0);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* Writes a file that must not exist. */
static gboolean
write_new (const char *path, const GString *text, GError **error)
{
  g_autofree char *directory = g_path_get_dirname (path);
  FILE *file;
  gboolean good;

  g_autofree char *what = g_strdup_printf ("write %s", path);
  if (g_mkdir_with_parents (directory, 0777) != 0)
    return base_error_set_errno (error, errno, what);
  file = fopen (path, "wxe");
  if (file == NULL)
    return base_error_set_errno (error, errno, what);
  good = fwrite (text->str, 1, text->len, file) == text->len;
  good = fclose (file) == 0 && good;
  return good || base_error_set_errno (error, errno, what);
}

static gboolean
write_project (const char *name, const char *directory, GError **error)
{
  g_autofree char *storage = g_build_filename (directory, "storage", NULL);
  g_autofree char *encoded = base_text_uri_encode_path (storage);
  g_autofree char *uri = g_strconcat ("file://", encoded, NULL);
  g_autofree char *data = g_build_filename (directory, "data", NULL);
  g_autofree char *source = quoted (data);

  for (gsize i = 0; i < G_N_ELEMENTS (templates); i++) {
    g_autofree char *path = g_build_filename (directory, templates[i].path, NULL);
    g_autoptr (GString) text = g_string_new (templates[i].text);
    g_string_replace (text, "@NAME@", name, 0);
    g_string_replace (text, "@STORAGE@", uri, 0);
    g_string_replace (text, "@SOURCE@", source, 0);
    if (!write_new (path, text, error))
      return FALSE;
  }
  return TRUE;
}

static void
print_next (const char *name)
{
  printf ("%s/\n", name);
  for (gsize i = 0; i < G_N_ELEMENTS (templates); i++)
    printf ("  %s\n", templates[i].path);
  printf ("\nnext:\n"
          "  cd %s\n"
          "  sluice run\n"
          "  sluice sql \"SELECT * FROM customers_history ORDER BY id, __START_AT\"\n",
          name);
}

static int
init_project (const char *name)
{
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *directory = g_build_filename (here, name, NULL);
  g_autoptr (GError) error = NULL;

  if (g_file_test (directory, G_FILE_TEST_EXISTS) || g_file_test (directory, G_FILE_TEST_IS_SYMLINK)) {
    base_error_set (&error, SLUICE_ERROR_INVALID_OPTION, "%s exists; nothing is overwritten", directory);
    (void) cli_print_error (error); /* always CLI_EXIT_ERROR */
    return CLI_EXIT_USAGE;
  }
  if (!write_project (name, directory, &error))
    return cli_print_error (error);
  print_next (name);
  return CLI_EXIT_OK;
}

int
cli_init_run (const CliContext *context G_GNUC_UNUSED, int argc, char **argv)
{
  g_autofree char *name = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) parser = g_option_context_new (NULL);
  const GOptionEntry entries[] = {
    { "name", 'n', 0, G_OPTION_ARG_FILENAME, &name, "the pipeline's name, and the new directory", "NAME" },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };

  g_option_context_set_summary (parser, "Makes a new pipeline with sample files in a new directory.");
  g_option_context_add_main_entries (parser, entries, NULL);
  if (!g_option_context_parse (parser, &argc, &argv, &error))
    return cli_usage_error (argv[0], "%s", error->message);
  if (argc > 1)
    return cli_usage_error (argv[0], "it takes no argument '%s'", argv[1]);
  if (name == NULL)
    return cli_usage_error (argv[0], "--name is missing");
  if (!is_good_name (name))
    return cli_usage_error (argv[0], "a name begins with a letter and has letters, digits, `_`, `-` and `.`, not '%s'",
                            name);
  return init_project (name);
}

/* Bytes as SQL text: it is cut, parsed and printed; what was printed parses again and prints the same. */
#include "fuzz.h"
#include "sql-parse.h"
#include "sql-print.h"

#include <string.h>

static gboolean
substitute (const char *key, char **value, G_GNUC_UNUSED gpointer data, GError **error)
{
  if (*key == 'x')
    return base_error_set (error, SLUICE_ERROR_PIPELINE_UNDEFINED_CONFIGURATION_VARIABLE, "no %s", key);
  *value = g_strdup (key);
  return TRUE;
}

static void
print_again (const SqlStatement *statement)
{
  g_autofree char *text = sql_print_statement (statement);
  g_autofree char *second = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlStatement *again = sql_parse_statement (arena, text, -1, NULL, &error);

  /* Printing puts parentheses and quotes: a text near a bound may go beyond it. */
  if (again == NULL && (g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_SQL_TOO_DEEP) ||
                        g_error_matches (error, SLUICE_ERROR, SLUICE_ERROR_SQL_TOO_LARGE)))
    return;
  if (again == NULL)
    g_printerr ("printed: %s\nerror: %s\n", text, error->message);
  fuzz_require (again != NULL, "what was printed parses");
  second = sql_print_statement (again);
  if (strcmp (text, second) != 0)
    g_printerr ("first:  %s\nsecond: %s\n", text, second);
  fuzz_require (strcmp (text, second) == 0, "print (parse (print (tree))) is print (tree)");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const char *text = (const char *) data;
  SqlParseOptions options = { .file = "f.sql", .substitute = substitute };
  g_autoptr (GArray) pieces = NULL;
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (GError) error = NULL;
  gboolean complete;
  SqlScript *script;

  sql_split (text, (gssize) size, &pieces, &complete);
  for (guint i = 0; i < pieces->len; i++) {
    const SqlPiece *piece = &g_array_index (pieces, SqlPiece, i);
    fuzz_require (piece->begin <= piece->end && piece->end <= size, "pieces lie inside the text");
  }
  script = sql_parse_script (arena, text, (gssize) size, NULL, &error);
  fuzz_check (script != NULL, error);
  for (guint i = 0; script != NULL && i < script->n; i++)
    print_again (script->statements[i]);
  g_clear_error (&error);
  script = sql_parse_script (arena, text, (gssize) size, &options, &error);
  fuzz_check (script != NULL, error);
  return 0;
}

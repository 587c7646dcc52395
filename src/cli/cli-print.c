/* Results and errors on the terminal or in a pipe.
 *
 * A table's widths come from its first ROWS_TO_MEASURE rows, which are held; later rows are printed as they come, and a wider
 * cell then shifts its row. JSON and CSV hold nothing.
 */
#include "cli.h"

#include <base-error.h>
#include <base-text.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROWS_TO_MEASURE 10000

gboolean
cli_output_from_text (const char *text, CliOutput *output)
{
  static const struct {
    const char *name;
    CliOutput output;
  } rows[] = { { "table", CLI_OUTPUT_TABLE }, { "json", CLI_OUTPUT_JSON }, { "csv", CLI_OUTPUT_CSV } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (rows[i].name, text) == 0) {
      *output = rows[i].output;
      return TRUE;
    }
  return FALSE;
}

static gboolean
put (const GString *text, GError **error)
{
  if (fwrite (text->str, 1, text->len, stdout) == text->len)
    return TRUE;
  return base_error_set_errno (error, errno, "write to standard output");
}

static gboolean
flush (GError **error)
{
  return fflush (stdout) == 0 || base_error_set_errno (error, errno, "write to standard output");
}

/* --- JSON, one object a line --- */

static gboolean
print_json (SluiceResult *result, GError **error)
{
  g_autoptr (GString) line = g_string_new (NULL);
  gboolean has_row;

  for (;;) {
    if (!session_result_next (result, &has_row, error))
      return FALSE;
    if (!has_row)
      return TRUE;
    g_string_truncate (line, 0);
    if (!session_result_append_json_row (result, line, error))
      return FALSE;
    g_string_append_c (line, '\n');
    if (!put (line, error))
      return FALSE;
  }
}

/* --- CSV: RFC 4180; NULL is empty, an empty text is "" --- */

static void
append_csv_cell (GString *line, const char *text, gsize size)
{
  gboolean needs_quotes = size == 0;

  for (gsize i = 0; i < size && !needs_quotes; i++)
    needs_quotes = strchr (",\"\r\n", text[i]) != NULL;
  if (!needs_quotes) {
    g_string_append_len (line, text, (gssize) size);
    return;
  }
  g_string_append_c (line, '"');
  for (gsize i = 0; i < size; i++) {
    if (text[i] == '"')
      g_string_append_c (line, '"');
    g_string_append_c (line, text[i]);
  }
  g_string_append_c (line, '"');
}

static gboolean
print_csv (SluiceResult *result, GError **error)
{
  BaseType *schema = session_result_schema (result);
  guint n = base_type_n_fields (schema);
  g_autoptr (GString) line = g_string_new (NULL);
  g_autoptr (GString) cell = g_string_new (NULL);
  gboolean has_row;

  for (guint i = 0; i < n; i++) {
    const char *name = base_type_field (schema, i)->name;
    g_string_append (line, i == 0 ? "" : ",");
    append_csv_cell (line, name, strlen (name));
  }
  for (;;) {
    g_string_append_c (line, '\n');
    if (!put (line, error) || !session_result_next (result, &has_row, error))
      return FALSE;
    if (!has_row)
      return TRUE;
    g_string_truncate (line, 0);
    for (guint i = 0; i < n; i++) {
      g_string_append (line, i == 0 ? "" : ",");
      if (session_result_is_null (result, i))
        continue;
      g_string_truncate (cell, 0);
      if (!session_result_append_text (result, i, cell, error))
        return FALSE;
      append_csv_cell (line, cell->str, cell->len);
    }
  }
}

/* --- Tables --- */

/* Columns a terminal needs for @size bytes of valid UTF-8 in one line. */
static guint
line_width (const char *text, gsize size)
{
  guint width = 0;

  for (const char *p = text; p < text + size; p = g_utf8_next_char (p)) {
    gunichar c = g_utf8_get_char (p);
    width += g_unichar_iszerowidth (c) ? 0 : g_unichar_iswide (c) ? 2 : 1;
  }
  return width;
}

/* Of the widest line. */
static guint
width_of (const char *text)
{
  guint width = 0;

  for (const char *line = text;;) {
    gsize size = strcspn (line, "\n");
    width = MAX (width, line_width (line, size));
    if (line[size] == '\0')
      return width;
    line += size + 1;
  }
}

/* A cell as lines: control characters other than line ends become escapes, line ends at the very end go.
 * Returns: (transfer full). */
static char *
cell_lines (const GString *text)
{
  GString *line = g_string_sized_new (text->len);

  for (gsize i = 0; i < text->len; i++) {
    guchar c = (guchar) text->str[i];
    if (c == '\t')
      g_string_append (line, "\\t");
    else if (c == '\r')
      g_string_append (line, "\\r");
    else if ((c < 0x20 && c != '\n') || c == 0x7f)
      g_string_append_printf (line, "\\x%02x", c);
    else
      g_string_append_c (line, (char) c);
  }
  while (line->len > 0 && line->str[line->len - 1] == '\n')
    g_string_truncate (line, line->len - 1);
  return g_string_free (line, FALSE);
}

typedef struct {
  SluiceResult *result;
  guint n_columns;
  guint *widths;
  gboolean *is_right; /* numbers stand right */
  guint64 n_rows;
} Table;

/* One line of every cell; @lines: where each cell's next line begins, NULL when it has no more. Returns: whether there are more. */
static gboolean
append_lines (const Table *table, GString *out, const char **lines)
{
  gboolean has_more = FALSE;

  for (guint i = 0; i < table->n_columns; i++) {
    const char *line = lines[i] != NULL ? lines[i] : "";
    gsize size = strcspn (line, "\n");
    guint width = line_width (line, size);
    guint padding = width < table->widths[i] ? table->widths[i] - width : 0;
    g_string_append (out, i == 0 ? " " : " | ");
    if (table->is_right[i])
      g_string_append_printf (out, "%*s", (int) padding, "");
    g_string_append_len (out, line, (gssize) size);
    if (!table->is_right[i] && i + 1 < table->n_columns)
      g_string_append_printf (out, "%*s", (int) padding, "");
    lines[i] = line[size] == '\n' ? line + size + 1 : NULL;
    has_more = has_more || lines[i] != NULL;
  }
  while (out->len > 0 && out->str[out->len - 1] == ' ')
    g_string_truncate (out, out->len - 1);
  g_string_append_c (out, '\n');
  return has_more;
}

static void
append_row (const Table *table, GString *out, char *const *cells)
{
  g_autofree const char **lines = g_memdup2 (cells, sizeof (char *) * table->n_columns);

  while (append_lines (table, out, lines))
    continue;
}

/* @cells: (out) (transfer full): the current row's texts. */
static gboolean
read_cells (const Table *table, char ***cells, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (GStrv) row = g_new0 (char *, table->n_columns + 1);

  for (guint i = 0; i < table->n_columns; i++) {
    g_string_assign (text, session_result_is_null (table->result, i) ? "NULL" : "");
    if (!session_result_append_text (table->result, i, text, error))
      return FALSE;
    row[i] = cell_lines (text);
  }
  *cells = g_steal_pointer (&row);
  return TRUE;
}

static gboolean
print_head (Table *table, GPtrArray *rows, GError **error)
{
  BaseType *schema = session_result_schema (table->result);
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char **names = g_new0 (char *, table->n_columns + 1);

  for (guint i = 0; i < table->n_columns; i++) {
    names[i] = base_type_field (schema, i)->name;
    table->widths[i] = width_of (names[i]);
    for (guint row = 0; row < rows->len; row++)
      table->widths[i] = MAX (table->widths[i], width_of (((char **) g_ptr_array_index (rows, row))[i]));
  }
  append_row (table, out, names);
  for (guint i = 0; i < table->n_columns; i++) {
    g_string_append (out, i == 0 ? "-" : "-+-");
    for (guint k = 0; k < table->widths[i]; k++)
      g_string_append_c (out, '-');
  }
  g_string_append (out, "-\n");
  for (guint row = 0; row < rows->len; row++)
    append_row (table, out, g_ptr_array_index (rows, row));
  return put (out, error);
}

static gboolean
print_rows (Table *table, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  g_autoptr (GString) out = g_string_new (NULL);
  gboolean has_row = TRUE;

  while (has_row && rows->len < ROWS_TO_MEASURE) {
    char **cells;
    if (!session_result_next (table->result, &has_row, error) || (has_row && !read_cells (table, &cells, error)))
      return FALSE;
    if (has_row)
      g_ptr_array_add (rows, cells);
  }
  table->n_rows = rows->len;
  if (!print_head (table, rows, error))
    return FALSE;
  while (has_row) {
    g_auto (GStrv) cells = NULL;
    if (!session_result_next (table->result, &has_row, error))
      return FALSE;
    if (!has_row)
      break;
    if (!read_cells (table, &cells, error))
      return FALSE;
    g_string_truncate (out, 0);
    append_row (table, out, cells);
    if (!put (out, error))
      return FALSE;
    table->n_rows++;
  }
  return TRUE;
}

static gboolean
print_table (SluiceResult *result, GError **error)
{
  BaseType *schema = session_result_schema (result);
  guint n = base_type_n_fields (schema);
  g_autofree guint *widths = g_new0 (guint, n + 1);
  g_autofree gboolean *is_right = g_new0 (gboolean, n + 1);
  Table table = { result, n, widths, is_right, 0 };
  g_autoptr (GString) end = g_string_new (NULL);
  g_autofree char *count = NULL;

  if (n == 0) {
    g_string_assign (end, "OK\n");
    return put (end, error);
  }
  for (guint i = 0; i < n; i++)
    is_right[i] = base_type_is_numeric (base_type_field (schema, i)->type);
  if (!print_rows (&table, error))
    return FALSE;
  count = base_text_count (table.n_rows);
  g_string_printf (end, "(%s row%s)\n", count, table.n_rows == 1 ? "" : "s");
  return put (end, error);
}

gboolean
cli_print_result (SluiceResult *result, CliOutput output, GError **error)
{
  gboolean has_columns = base_type_n_fields (session_result_schema (result)) > 0;
  const char *warning = session_result_warning (result);

  if (warning != NULL)
    fprintf (stderr, "warning: %s\n", warning);

  switch (output) {
  case CLI_OUTPUT_TABLE:
    return print_table (result, error) && flush (error);
  case CLI_OUTPUT_JSON:
    return !has_columns || (print_json (result, error) && flush (error));
  case CLI_OUTPUT_CSV:
    return !has_columns || (print_csv (result, error) && flush (error));
  }
  return TRUE;
}

/* --- Errors --- */

int
cli_print_error (const GError *error)
{
  g_autofree char *text = base_error_format (error);

  (void) fflush (stdout); /* an error of writing was told or is the one at hand */
  fprintf (stderr, "%s%s", text, g_str_has_suffix (text, "\n") ? "" : "\n");
  return CLI_EXIT_ERROR;
}

int
cli_usage_error (const char *command, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list values;

  va_start (values, format);
  message = g_strdup_vprintf (format, values);
  va_end (values);
  (void) fflush (stdout); /* nothing may stand behind the message */
  fprintf (stderr, "%s: %s\n`%s --help` says more.\n", command, message, command);
  return CLI_EXIT_USAGE;
}

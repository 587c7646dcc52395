/* The summary of an update: one row per flow, errors in full, one last line. */
#include "cli-report.h"

#include "cli-progress.h"
#include "cli.h"

#include <base-error.h>
#include <base-text.h>
#include <stdio.h>
#include <string.h>

#define N_COLUMNS 8

static const char *const titles[N_COLUMNS] = { "flow",     "dataset", "state",   "rows",
                                               "upserted", "deleted", "dropped", "time" };
#define FIRST_NUMBER 3 /* columns from here on stand at the right */

static void
row_free (gpointer row)
{
  g_strfreev (row);
}

/* Counts that a flow of this kind does not have are left empty. */
static char **
flow_row (const PipelineFlowSummary *flow)
{
  gboolean ran = flow->status == PIPELINE_FLOW_COMPLETED || flow->status == PIPELINE_FLOW_FAILED || flow->n_batches > 0;
  char **row = g_new0 (char *, N_COLUMNS + 1);

  row[0] = g_strdup (flow->flow);
  row[1] = g_strdup (flow->dataset);
  row[2] = g_strdup (pipeline_flow_status_text (flow->status));
  row[3] = ran && !flow->is_autocdc ? base_text_count (flow->n_output_rows) : g_strdup ("");
  row[4] = ran && flow->is_autocdc ? base_text_count (flow->n_upserted_rows) : g_strdup ("");
  row[5] = ran && flow->is_autocdc ? base_text_count (flow->n_deleted_rows) : g_strdup ("");
  row[6] = ran ? base_text_count (flow->n_dropped) : g_strdup ("");
  row[7] = ran ? cli_duration_text (flow->duration_us) : g_strdup ("");
  return row;
}

static void
print_row (const char *const *cells, const guint *widths)
{
  g_autoptr (GString) line = g_string_new (NULL);

  for (guint i = 0; i < N_COLUMNS; i++) {
    guint n = (guint) g_utf8_strlen (cells[i], -1);
    int n_blanks = (int) (widths[i] - n);
    if (i >= FIRST_NUMBER)
      g_string_append_printf (line, "%*s%s", n_blanks, "", cells[i]);
    else
      g_string_append_printf (line, "%s%*s", cells[i], n_blanks, "");
    g_string_append (line, "  ");
  }
  printf ("%s\n", g_strchomp (line->str));
}

static void
print_flows (const GPtrArray *flows)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (row_free);
  guint widths[N_COLUMNS];

  for (guint i = 0; i < N_COLUMNS; i++)
    widths[i] = (guint) strlen (titles[i]);
  for (guint i = 0; i < flows->len; i++) {
    char **row = flow_row (g_ptr_array_index (flows, i));
    for (guint k = 0; k < N_COLUMNS; k++)
      widths[k] = MAX (widths[k], (guint) g_utf8_strlen (row[k], -1));
    g_ptr_array_add (rows, row);
  }
  print_row (titles, widths);
  for (guint i = 0; i < rows->len; i++)
    print_row (g_ptr_array_index (rows, i), widths);
}

static void
print_failures (const GPtrArray *flows)
{
  (void) fflush (stdout); /* errors come after the table */
  for (guint i = 0; i < flows->len; i++) {
    const PipelineFlowSummary *flow = g_ptr_array_index (flows, i);
    if (flow->failure == NULL)
      continue;
    fprintf (stderr, "\nflow %s failed:\n", flow->flow);
    (void) cli_print_error (flow->failure); /* always CLI_EXIT_ERROR */
  }
}

int
cli_report_update (const PipelineSummary *summary, gint64 duration_us, gboolean was_canceled)
{
  g_autofree char *lasted = cli_duration_text (duration_us);

  print_flows (summary->flows);
  print_failures (summary->flows);
  printf ("update %s %s in %s\n", summary->update_id,
          summary->completed ? "COMPLETED"
          : was_canceled     ? "CANCELED"
                             : "FAILED",
          lasted);
  (void) fflush (stdout); /* the exit code says what matters */
  return summary->completed ? CLI_EXIT_OK : CLI_EXIT_ERROR;
}

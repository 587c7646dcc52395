/* One file, several sets of its rows: commits after each other that mark rows of one file are read in one scan, and a row's set tells
 * its commit. Sets of one file have no row in common; a set that does is put on another layer, which is another scan.
 */
#include "base-error.h"
#include "feed-private.h"

typedef struct {
  DeltaVector *rows;
  guint64 pick;
} Set;

static void
set_clear (gpointer data)
{
  delta_vector_unref (((Set *) data)->rows);
}

struct FeedPicker {
  GPtrArray *files; /* GArray of Set, by file index; NULL where there is none */
};

static void
sets_free (gpointer data)
{
  if (data != NULL)
    g_array_unref (data);
}

FeedPicker *
feed_picker_new (void)
{
  FeedPicker *picker = g_new0 (FeedPicker, 1);

  picker->files = g_ptr_array_new_with_free_func (sets_free);
  return picker;
}

void
feed_picker_add (FeedPicker *picker, guint file_index, DeltaVector *rows, guint64 pick)
{
  Set set = { delta_vector_ref (rows), pick };
  GArray *sets;

  if (picker->files->len <= file_index)
    g_ptr_array_set_size (picker->files, (int) file_index + 1);
  sets = picker->files->pdata[file_index];
  if (sets == NULL) {
    sets = g_array_new (FALSE, FALSE, sizeof (Set));
    g_array_set_clear_func (sets, set_clear);
    picker->files->pdata[file_index] = sets;
  }
  g_array_append_val (sets, set);
}

/* Rows [0, n) of one file, ascending or not. Every set is walked once over the span of the rows, so that the work is that of the rows
 * marked in it; rows out of order are looked up one by one. */
static void
pick_run (const Set *set, const gint64 *rows, gsize n, gboolean ascending, guint64 *picks)
{
  guint64 found[256];
  guint64 from = (guint64) rows[0];
  gsize at = 0, n_found;

  if (!ascending) {
    for (gsize i = 0; i < n; i++)
      if (delta_vector_contains (set->rows, (guint64) rows[i]))
        picks[i] = set->pick;
    return;
  }
  while (at < n &&
         (n_found = delta_vector_list (set->rows, from, (guint64) rows[n - 1], found, G_N_ELEMENTS (found))) > 0) {
    for (gsize i = 0; i < n_found; i++) {
      while (at < n && (guint64) rows[at] < found[i])
        at++;
      for (; at < n && (guint64) rows[at] == found[i]; at++)
        picks[at] = set->pick;
    }
    from = MAX (found[n_found - 1] + 1, at < n ? (guint64) rows[at] : 0);
  }
}

static gboolean
pick (gpointer self, const guint64 *file_indexes, const gint64 *row_numbers, gsize n, guint64 *picks, GError **error)
{
  FeedPicker *picker = self;

  for (gsize start = 0, end; start < n; start = end) {
    guint64 file = file_indexes[start];
    gboolean ascending = TRUE;
    for (end = start + 1; end < n && file_indexes[end] == file; end++)
      ascending = ascending && row_numbers[end] >= row_numbers[end - 1];
    GArray *sets = file < picker->files->len ? picker->files->pdata[file] : NULL;
    if (sets == NULL)
      return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "a change feed met a file that it was not given");
    for (gsize i = start; i < end; i++)
      picks[i] = G_MAXUINT64; /* a row of no set has no values and is left out */
    for (guint i = 0; i < sets->len; i++)
      pick_run (&g_array_index (sets, Set, i), row_numbers + start, end - start, ascending, picks + start);
  }
  return TRUE;
}

static void
picker_free (gpointer self)
{
  FeedPicker *picker = self;

  g_ptr_array_unref (picker->files);
  g_free (picker);
}

static const DuckPickerFuncs picker_funcs = { pick, picker_free };

guint64
feed_picker_lend (FeedPicker *picker, DuckEngine *engine)
{
  return duck_engine_lend_picker (engine, &picker_funcs, picker);
}

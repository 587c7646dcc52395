/* Which state files become one: the list stays short, and a fact is not written often. */
#include "autocdc-state-private.h"
#include "base-json.h"

#include <string.h>

#define FILE_NAME "_autocdc/12345678-1234-1234-1234-123456789012.parquet"

static void
add_file (GPtrArray *files, gint64 n_rows)
{
  AutoCdcStateFile *file = g_new0 (AutoCdcStateFile, 1);

  *file = (AutoCdcStateFile){ .path = g_strdup (FILE_NAME),
                              .n_rows = n_rows,
                              .n_deletes = n_rows,
                              .size_bytes = n_rows * 100,
                              .oldest_us = G_GINT64_CONSTANT (1767225600000000),
                              .newest_us = G_GINT64_CONSTANT (1767225600000000) };
  g_ptr_array_add (files, file);
}

/* Batches of @least to @most facts, none of which ever goes. Returns: facts written per fact. */
static double
simulate (GRand *rand, guint n_batches, gint32 least, gint32 most, guint *longest)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) autocdc_state_file_free);
  gint64 n_facts = 0, n_written = 0;

  *longest = 0;
  for (guint i = 0; i < n_batches; i++) {
    gint64 n = g_rand_int_range (rand, least, most + 1), n_rows = n;
    g_autoptr (GPtrArray) merge = autocdc_state_choose (files, n);

    for (guint j = 0; j < merge->len; j++) {
      n_rows += ((AutoCdcStateFile *) merge->pdata[j])->n_rows;
      g_ptr_array_remove (files, merge->pdata[j]);
    }
    add_file (files, n_rows);
    n_facts += n;
    n_written += n_rows;
    *longest = MAX (*longest, files->len);
  }
  return (double) n_written / (double) n_facts;
}

static void
test_few_files_and_few_writes (void)
{
  static const gint32 sizes[][2] = { { 1, 1 }, { 1, 20 }, { 900, 1100 }, { 1, 100000 }, { 5000000, 10000000 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    guint longest;
    double times = simulate (rand, 30000, sizes[i][0], sizes[i][1], &longest);

    g_test_message ("%d to %d facts: %u files, each fact written %.1f times", sizes[i][0], sizes[i][1], longest, times);
    g_assert_cmpuint (longest, <=, AUTOCDC_MAX_STATE_FILES);
    g_assert_cmpfloat (times, <, i == 0 || i == 1 ? 100 : 12);
  }
}

static void
test_the_list_is_short_text (void)
{
  g_autoptr (AutoCdcDomain) domain = autocdc_domain_new (AUTOCDC_SCD1, FALSE);
  g_autofree char *text = NULL, *lists = NULL;
  g_autoptr (json_t) json = NULL, both = NULL;

  domain->sequence_type = base_type_simple (BASE_TYPE_LONG);
  for (guint i = 0; i < AUTOCDC_MAX_STATE_FILES; i++)
    add_file (domain->files, G_GINT64_CONSTANT (99999999999));
  text = autocdc_domain_text (domain);
  json = base_json_parse (text, strlen (text), "domain", NULL);
  both = json_pack ("[O, O]", json_object_get (json, "files"), json_object_get (json, "state"));
  lists = base_json_text (both);
  g_assert_cmpuint (strlen (lists), <=, 4096);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/autocdc/state/few-files-and-few-writes", test_few_files_and_few_writes);
  g_test_add_func ("/autocdc/state/the-list-is-short-text", test_the_list_is_short_text);
  return g_test_run ();
}

#include "log-text.h"

#include <string.h>

void
log_text_put (Store *store, const char *name, const char *text)
{
  g_autofree char *key = g_strconcat ("_delta_log/", name, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (store_put (store, key, text, strlen (text), STORE_PUT_UNSYNCED, &error));
  g_assert_no_error (error);
}

void
log_text_put_commit (Store *store, DeltaVersion version, const char *text)
{
  g_autofree char *name = g_strdup_printf ("%020" G_GINT64_FORMAT ".json", version);

  log_text_put (store, name, text);
}

char *
log_text_live_files (DeltaSnapshot *snapshot)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "",
                            delta_file_decoded_path (delta_snapshot_file (snapshot, i)));
  return g_string_free (text, FALSE);
}

/* A flow's progress on disk: see stream-progress.h. Invariants:
 * 1. offsets/N is durable before anything of batch N is done.
 * 2. `current` changes only when the target has committed the run that it will name.
 */
#include "stream-progress.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"

#include <string.h>

struct StreamProgress {
  Store *storage;
  char *flow;
  char *dir;    /* flows/<flow> */
  char *run_id; /* (nullable) */
  char *next;   /* (nullable): a reset under way */
  gint64 last_planned;
  gboolean marked_done;
};

static char *
batch_key (const StreamProgress *progress, const char *kind, gint64 batch)
{
  return g_strdup_printf ("%s/%s/%s/%020" G_GINT64_FORMAT, progress->dir, progress->run_id, kind, batch);
}

static gboolean
corrupt (GError **error, const StreamProgress *progress, const char *what)
{
  base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT, "The progress of the flow \"%s\" is damaged: %s",
                  progress->flow, what);
  base_error_add_param (error, "flow", progress->flow);
  base_error_set_hint (error, "a full refresh of its target starts it anew");
  return FALSE;
}

/* The run id that a pointer file names; NULL when there is no file. */
static gboolean
read_pointer (StreamProgress *progress, const char *name, char **run_id, GError **error)
{
  g_autofree char *key = g_strdup_printf ("%s/%s", progress->dir, name);
  g_autoptr (GBytes) bytes = NULL;

  if (!store_read (progress->storage, key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return TRUE;
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  g_autofree char *line = g_strndup (text, MIN (size, 100));
  g_strstrip (line);
  if (!g_uuid_string_is_valid (line))
    return corrupt (error, progress, "a pointer names no run");
  *run_id = g_steal_pointer (&line);
  return TRUE;
}

static gboolean
write_pointer (StreamProgress *progress, const char *name, const char *run_id, GError **error)
{
  g_autofree char *key = g_strdup_printf ("%s/%s", progress->dir, name);
  g_autofree char *line = g_strconcat (run_id, "\n", NULL);

  return store_put (progress->storage, key, line, strlen (line), STORE_PUT_SYNCED, error);
}

static gboolean
delete_pointer (StreamProgress *progress, const char *name, GError **error)
{
  g_autofree char *key = g_strdup_printf ("%s/%s", progress->dir, name);

  return store_delete (progress->storage, key, error);
}

/* Keys of batches sort by number; the last one is the newest. */
static gboolean
newest_batch (StreamProgress *progress, const char *kind, gint64 *newest, GError **error)
{
  g_autofree char *prefix = g_strdup_printf ("%s/%s/%s/", progress->dir, progress->run_id, kind);
  g_autoptr (GPtrArray) entries = NULL;

  if (!store_list (progress->storage, prefix, NULL, STORE_LIST_NAMES_ONLY, 0, &entries, error))
    return FALSE;
  *newest = -1;
  for (guint i = entries->len; i > 0; i--) {
    const StoreEntry *entry = g_ptr_array_index (entries, i - 1);
    const char *name = entry->key + strlen (prefix);
    if (strlen (name) == 20 && strspn (name, "0123456789") == 20) {
      *newest = g_ascii_strtoll (name, NULL, 10);
      return TRUE;
    }
  }
  return TRUE;
}

static gboolean
load_run (StreamProgress *progress, GError **error)
{
  gint64 newest_done;

  progress->last_planned = -1;
  progress->marked_done = TRUE;
  if (progress->run_id == NULL)
    return TRUE;
  if (!newest_batch (progress, "offsets", &progress->last_planned, error) ||
      !newest_batch (progress, "commits", &newest_done, error))
    return FALSE;
  progress->marked_done = newest_done >= progress->last_planned;
  return TRUE;
}

/* A reset was begun and its end never seen: the target knows whether it happened. */
static gboolean
settle_reset (StreamProgress *progress, StreamProgressHasRun has_run, gpointer data, GError **error)
{
  gboolean has = FALSE;

  if (progress->next == NULL || has_run == NULL)
    return TRUE;
  if (!has_run (progress->next, &has, data, error))
    return FALSE;
  if (has)
    return stream_progress_reset_end (progress, error);
  g_clear_pointer (&progress->next, g_free);
  return delete_pointer (progress, "next", error);
}

StreamProgress *
stream_progress_open (Store *storage, const char *flow, StreamProgressAccess access, StreamProgressHasRun has_run,
                      gpointer data, GError **error)
{
  g_autoptr (StreamProgress) progress = g_new0 (StreamProgress, 1);
  g_autofree char *escaped = g_uri_escape_string (flow, NULL, FALSE);

  progress->storage = store_ref (storage);
  progress->flow = g_strdup (flow);
  progress->dir = g_strconcat ("flows/", escaped, NULL);
  if (!read_pointer (progress, "current", &progress->run_id, error) ||
      !read_pointer (progress, "next", &progress->next, error))
    return NULL;
  if (access == STREAM_PROGRESS_MAKE) {
    if (!settle_reset (progress, has_run, data, error))
      return NULL;
    if (progress->run_id == NULL) {
      progress->run_id = base_text_uuid ();
      if (!write_pointer (progress, "current", progress->run_id, error))
        return NULL;
    }
  }
  return load_run (progress, error) ? g_steal_pointer (&progress) : NULL;
}

void
stream_progress_free (StreamProgress *progress)
{
  if (progress == NULL)
    return;
  store_unref (progress->storage);
  g_free (progress->flow);
  g_free (progress->dir);
  g_free (progress->run_id);
  g_free (progress->next);
  g_free (progress);
}

const char *
stream_progress_run_id (const StreamProgress *progress)
{
  return progress->run_id;
}

gint64
stream_progress_last_planned (const StreamProgress *progress)
{
  return progress->last_planned;
}

gboolean
stream_progress_is_marked_done (const StreamProgress *progress)
{
  return progress->marked_done;
}

gboolean
stream_progress_read (StreamProgress *progress, gint64 batch, json_t **offsets, char **digest, GError **error)
{
  g_autofree char *key = batch_key (progress, "offsets", batch);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) failure = NULL;

  if (!store_read (progress->storage, key, &bytes, error))
    return FALSE;
  if (bytes == NULL) {
    g_autofree char *what = g_strdup_printf ("the offsets of batch %" G_GINT64_FORMAT " are gone", batch);
    return corrupt (error, progress, what);
  }
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  g_autoptr (json_t) parsed = base_json_parse (text, size, key, &failure);
  if (parsed == NULL)
    return corrupt (error, progress, failure->message);
  if (base_json_int64 (parsed, "batch", -1) != batch || !json_is_array (json_object_get (parsed, "sources")))
    return corrupt (error, progress, "offsets are not of the expected form");
  *digest = base_text_sha256 (text, size);
  *offsets = g_steal_pointer (&parsed);
  return TRUE;
}

gboolean
stream_progress_plan (StreamProgress *progress, const json_t *offsets, char **digest, GError **error)
{
  g_autofree char *key = batch_key (progress, "offsets", progress->last_planned + 1);
  g_autofree char *text = base_json_text (offsets);

  if (!store_put (progress->storage, key, text, strlen (text), STORE_PUT_SYNCED, error))
    return FALSE;
  progress->last_planned++;
  progress->marked_done = FALSE;
  *digest = base_text_sha256 (text, strlen (text));
  return TRUE;
}

void
stream_progress_mark_done (StreamProgress *progress)
{
  g_autofree char *key = batch_key (progress, "commits", progress->last_planned);

  /* A lost mark only repeats a batch that the target knows to be done. */
  (void) store_put (progress->storage, key, "{}", 2, STORE_PUT_UNSYNCED, NULL);
  progress->marked_done = TRUE;
}

void
stream_progress_forget_below (StreamProgress *progress, gint64 batch)
{
  static const char *const kinds[] = { "offsets", "commits" };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autofree char *prefix = g_strdup_printf ("%s/%s/%s/", progress->dir, progress->run_id, kinds[k]);
    g_autofree char *limit = batch_key (progress, kinds[k], batch);
    g_autoptr (GPtrArray) entries = NULL;
    if (!store_list (progress->storage, prefix, NULL, STORE_LIST_NAMES_ONLY, 0, &entries, NULL))
      continue;
    for (guint i = 0; i < entries->len; i++) {
      const StoreEntry *entry = g_ptr_array_index (entries, i);
      if (strcmp (entry->key, limit) < 0)
        (void) store_delete (progress->storage, entry->key, NULL);
    }
  }
}

gboolean
stream_progress_reset_begin (StreamProgress *progress, char **run_id, GError **error)
{
  g_autofree char *fresh = base_text_uuid ();

  if (!write_pointer (progress, "next", fresh, error))
    return FALSE;
  g_free (progress->next);
  progress->next = g_strdup (fresh);
  *run_id = g_steal_pointer (&fresh);
  return TRUE;
}

gboolean
stream_progress_reset_end (StreamProgress *progress, GError **error)
{
  g_assert (progress->next != NULL);
  if (!write_pointer (progress, "current", progress->next, error) || !delete_pointer (progress, "next", error))
    return FALSE;
  if (progress->run_id != NULL && strcmp (progress->run_id, progress->next) != 0) {
    g_autofree char *old = g_strdup_printf ("%s/%s", progress->dir, progress->run_id);
    (void) store_delete_tree (progress->storage, old, NULL); /* garbage from now on */
  }
  g_free (progress->run_id);
  progress->run_id = g_steal_pointer (&progress->next);
  return load_run (progress, error);
}

char *
stream_progress_state_key (const StreamProgress *progress, const char *source, const char *name)
{
  return g_strdup_printf ("%s/%s/state/%s/%s", progress->dir, progress->run_id, source, name);
}

Store *
stream_progress_storage (const StreamProgress *progress)
{
  return progress->storage;
}

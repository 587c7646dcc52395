/* A stream's progress on disk: see stream-progress.h. Invariants:
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
  char *flow;   /* for messages */
  char *dir;    /* (nullable): flows/<flow>; NULL: the storage is one run's checkpoint directory */
  char *run_id; /* (nullable) */
  char *next;   /* (nullable): a reset under way */
  gint64 last_planned;
  gboolean marked_done;
};

char *
stream_progress_run_key (const StreamProgress *progress, const char *rest)
{
  return progress->dir != NULL ? g_strdup_printf ("%s/%s/%s", progress->dir, progress->run_id, rest) : g_strdup (rest);
}

static char *
batch_key (const StreamProgress *progress, const char *kind, gint64 batch)
{
  g_autofree char *rest = g_strdup_printf ("%s/%" G_GINT64_FORMAT, kind, batch);

  return stream_progress_run_key (progress, rest);
}

static gboolean
corrupt (GError **error, const StreamProgress *progress, const char *what)
{
  if (progress->dir == NULL) {
    base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT, "The checkpoint %s is damaged: %s", progress->flow,
                    what);
    base_error_set_hint (error, "a new checkpoint directory with startingVersion goes on behind what the target has");
    return FALSE;
  }
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

/* The number that a file of offsets or commits is named by; FALSE for other files, such as Hadoop's checksums. */
static gboolean
batch_of_name (const char *name, gint64 *batch)
{
  gsize length = strlen (name);

  return length > 0 && strspn (name, "0123456789") == length && base_text_parse_int64 (name, batch);
}

static gboolean
newest_batch (StreamProgress *progress, const char *kind, gint64 *newest, GError **error)
{
  g_autofree char *rest = g_strconcat (kind, "/", NULL);
  g_autofree char *prefix = stream_progress_run_key (progress, rest);
  g_autoptr (GPtrArray) entries = NULL;

  if (!store_list (progress->storage, prefix, NULL, STORE_LIST_NAMES_ONLY, 0, &entries, error))
    return FALSE;
  *newest = -1;
  for (guint i = 0; i < entries->len; i++) {
    const StoreEntry *entry = g_ptr_array_index (entries, i);
    gint64 batch;
    if (batch_of_name (entry->key + strlen (prefix), &batch))
      *newest = MAX (*newest, batch);
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

/* The id in the checkpoint's `metadata`; NULL when there is none. */
static gboolean
read_id (StreamProgress *progress, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) failure = NULL;

  if (!store_read (progress->storage, "metadata", &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return TRUE;
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  g_autoptr (json_t) json = base_json_parse (text, size, "metadata", &failure);
  const char *id = base_json_string (json, "id");
  if (id == NULL || *id == '\0' || strlen (id) > 200)
    return corrupt (error, progress, "its metadata names no stream");
  progress->run_id = g_strdup (id);
  return TRUE;
}

static gboolean
write_id (StreamProgress *progress, GError **error)
{
  g_autofree char *key = stream_progress_run_key (progress, "metadata");
  g_autofree char *text = g_strdup_printf ("{\"id\":\"%s\"}", progress->run_id);

  return store_put (progress->storage, key, text, strlen (text), STORE_PUT_SYNCED, error);
}

StreamProgress *
stream_progress_open_checkpoint (Store *checkpoint, GError **error)
{
  g_autoptr (StreamProgress) progress = g_new0 (StreamProgress, 1);

  progress->storage = store_ref (checkpoint);
  progress->flow = g_strdup (store_root (checkpoint));
  if (!read_id (progress, error))
    return NULL;
  if (progress->run_id == NULL)
    progress->run_id = base_text_uuid (); /* written with the first batch */
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

/* ---- the text of a batch's offsets ---- */

static char *
offsets_text (const json_t *offsets)
{
  const json_t *sources = json_object_get (offsets, "sources");
  g_autoptr (GString) text = g_string_new ("v1\n");

  g_string_append_printf (text, "{\"batchWatermarkMs\":0,\"batchTimestampMs\":%" G_GINT64_FORMAT ",\"conf\":{}}",
                          base_json_int64 (offsets, "clockUs", 0) / 1000);
  for (size_t i = 0; i < json_array_size (sources); i++) {
    const json_t *offset = json_array_get (sources, i);
    g_autofree char *line = json_is_object (offset) ? base_json_text (offset) : g_strdup ("-");
    g_string_append_printf (text, "\n%s", line);
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* One line of offsets; what it is goes to the end of @sources. */
static gboolean
read_source_line (const char *line, json_t *sources, GError **error)
{
  if (strcmp (line, "-") == 0)
    return json_array_append_new (sources, json_null ()) == 0;
  json_t *offset = base_json_parse (line, strlen (line), "an offset", error);
  return offset != NULL && json_array_append_new (sources, offset) == 0;
}

static json_t *
parse_offsets (StreamProgress *progress, gint64 batch, const char *text, gsize size, GError **error)
{
  g_autofree char *copy = g_strndup (text, size);
  g_auto (GStrv) lines = g_strsplit (copy, "\n", -1);
  g_autoptr (json_t) sources = json_array ();
  g_autoptr (GError) failure = NULL;

  if (lines[0] == NULL || strcmp (lines[0], "v1") != 0 || lines[1] == NULL) {
    (void) corrupt (error, progress, "offsets are not of the form \"v1\"");
    return NULL;
  }
  g_autoptr (json_t) head = base_json_parse (lines[1], strlen (lines[1]), "the first line of offsets", &failure);
  for (guint i = 2; head != NULL && lines[i] != NULL; i++)
    if (*lines[i] != '\0' && !read_source_line (lines[i], sources, &failure))
      break;
  if (failure != NULL) {
    (void) corrupt (error, progress, failure->message);
    return NULL;
  }
  gint64 clock_ms = CLAMP (base_json_int64 (head, "batchTimestampMs", 0), 0, G_MAXINT64 / 1000);
  return json_pack ("{s:I, s:I, s:O}", "batch", (json_int_t) batch, "clockUs", (json_int_t) (clock_ms * 1000),
                    "sources", sources);
}

gboolean
stream_progress_read (StreamProgress *progress, gint64 batch, json_t **offsets, char **digest, GError **error)
{
  g_autofree char *key = batch_key (progress, "offsets", batch);
  g_autoptr (GBytes) bytes = NULL;

  if (!store_read (progress->storage, key, &bytes, error))
    return FALSE;
  if (bytes == NULL) {
    g_autofree char *what = g_strdup_printf ("the offsets of batch %" G_GINT64_FORMAT " are gone", batch);
    return corrupt (error, progress, what);
  }
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  json_t *parsed = parse_offsets (progress, batch, text, size, error);
  if (parsed == NULL)
    return FALSE;
  *digest = base_text_sha256 (text, size);
  *offsets = parsed;
  return TRUE;
}

gboolean
stream_progress_plan (StreamProgress *progress, const json_t *offsets, char **digest, GError **error)
{
  g_autofree char *key = batch_key (progress, "offsets", progress->last_planned + 1);
  g_autofree char *text = offsets_text (offsets);

  if (progress->last_planned < 0 && !write_id (progress, error))
    return FALSE;
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
  static const char text[] = "v1\n{\"nextBatchWatermarkMs\":0}";
  g_autofree char *key = batch_key (progress, "commits", progress->last_planned);
  StorePutFlags flags = progress->dir != NULL ? STORE_PUT_UNSYNCED : STORE_PUT_SYNCED;

  /* A lost mark only repeats a batch that the target knows to be done. */
  (void) store_put (progress->storage, key, text, strlen (text), flags, NULL);
  progress->marked_done = TRUE;
}

void
stream_progress_forget_below (StreamProgress *progress, gint64 batch)
{
  static const char *const kinds[] = { "offsets/", "commits/" };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autofree char *prefix = stream_progress_run_key (progress, kinds[k]);
    g_autoptr (GPtrArray) entries = NULL;
    if (!store_list (progress->storage, prefix, NULL, STORE_LIST_NAMES_ONLY, 0, &entries, NULL))
      continue;
    for (guint i = 0; i < entries->len; i++) {
      const StoreEntry *entry = g_ptr_array_index (entries, i);
      gint64 number;
      if (batch_of_name (entry->key + strlen (prefix), &number) && number < batch)
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
  g_autofree char *rest = g_strdup_printf ("state/%s/%s", source, name);

  return stream_progress_run_key (progress, rest);
}

Store *
stream_progress_storage (const StreamProgress *progress)
{
  return progress->storage;
}

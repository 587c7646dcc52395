/* New files as a stream: see stream-files.h. Invariants:
 * 1. A file is in the offset of exactly one batch of a run.
 * 2. A run costs one listing and one read of the taken digests, however many files were taken: no look-up per file on disk.
 */
#include "stream-files.h"

#include "base-error.h"
#include "base-json.h"
#include "duck-session.h"
#include "files-listing.h"
#include "files-schema.h"
#include "files-source.h"

#include <string.h>

#define DIGEST_BYTES 16
/* `taken` is written anew when the offsets after it name more than a quarter of what it holds, and at least this many. */
#define FOLD_AT_LEAST 1000

typedef struct {
  StreamSource base;
  char *name; /* its number as text: the directory of its state */
  FilesOptions *options;
  StreamProgress *progress; /* (nullable) (transfer none) */
  StoreContext *context;    /* (nullable) */
  DuckSession *session;
  BaseCancel *cancel;
  BaseType *data; /* the stored schema */
  guint schema_version;

  GHashTable *taken;   /* of Digest: everything taken so far */
  gint64 folded_batch; /* `taken` on disk holds the batches up to this one */
  guint n_folded;      /* digests in it */
  gboolean has_folded; /* it is there, maybe empty */
  GPtrArray *listing;  /* FilesEntry not taken, in order; fixed at begin */
  guint listing_at;    /* first not yet planned */
  GPtrArray *batch;    /* FilesEntry of the batch shown */
} FilesStream;

/* ---- the set of taken files ---- */

typedef struct {
  guint8 bytes[DIGEST_BYTES];
} Digest;

static guint
digest_hash (gconstpointer key)
{
  guint hash;

  memcpy (&hash, key, sizeof hash);
  return hash;
}

static gboolean
digest_equal (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, DIGEST_BYTES) == 0;
}

static void
digest_of (const FilesStream *stream, const char *path, gint64 modified_us, Digest *digest)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  guint8 full[32];
  gsize size = sizeof full;

  g_checksum_update (checksum, (const guchar *) path, (gssize) strlen (path) + 1);
  if (files_options_allow_overwrites (stream->options)) {
    gint64 little_endian = GINT64_TO_LE (modified_us);
    g_checksum_update (checksum, (const guchar *) &little_endian, sizeof little_endian);
  }
  g_checksum_get_digest (checksum, full, &size);
  memcpy (digest->bytes, full, DIGEST_BYTES);
}

static void
take (FilesStream *stream, const char *path, gint64 modified_us)
{
  Digest digest;

  digest_of (stream, path, modified_us, &digest);
  g_hash_table_add (stream->taken, g_memdup2 (&digest, sizeof digest));
}

static gboolean
is_taken (const FilesStream *stream, const FilesEntry *entry)
{
  Digest digest;

  digest_of (stream, entry->path, entry->modified_us, &digest);
  return g_hash_table_contains (stream->taken, &digest);
}

static gboolean
corrupt (GError **error, const char *what)
{
  base_error_set (error, SLUICE_ERROR_FLOW_CHECKPOINT_CORRUPT, "The progress of a file source is damaged: %s", what);
  base_error_set_hint (error, "a full refresh of the target starts it anew");
  return FALSE;
}

/* Layout of `taken`: gint64 batch (little endian), then digests. */
static gboolean
load_folded (FilesStream *stream, StreamProgress *progress, GError **error)
{
  g_autofree char *key = stream_progress_state_key (progress, stream->name, "taken");
  g_autoptr (GBytes) bytes = NULL;
  gint64 batch;

  stream->folded_batch = -1;
  stream->has_folded = FALSE;
  stream->n_folded = 0;
  if (!store_read (stream_progress_storage (progress), key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return TRUE;
  stream->has_folded = TRUE;
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);
  if (size < sizeof batch || (size - sizeof batch) % DIGEST_BYTES != 0)
    return corrupt (error, "the list of files taken has an impossible size");
  memcpy (&batch, data, sizeof batch);
  stream->folded_batch = GINT64_FROM_LE (batch);
  stream->n_folded = (guint) ((size - sizeof batch) / DIGEST_BYTES);
  for (guint i = 0; i < stream->n_folded; i++)
    g_hash_table_add (stream->taken, g_memdup2 (data + sizeof batch + (gsize) i * DIGEST_BYTES, DIGEST_BYTES));
  return TRUE;
}

static gboolean
write_folded (FilesStream *stream, StreamProgress *progress, gint64 batch, GError **error)
{
  g_autofree char *key = stream_progress_state_key (progress, stream->name, "taken");
  g_autoptr (GByteArray) out = g_byte_array_new ();
  gint64 little_endian = GINT64_TO_LE (batch);
  GHashTableIter iter;
  gpointer digest;

  g_byte_array_append (out, (const guint8 *) &little_endian, sizeof little_endian);
  g_hash_table_iter_init (&iter, stream->taken);
  while (g_hash_table_iter_next (&iter, &digest, NULL))
    g_byte_array_append (out, digest, DIGEST_BYTES);
  if (!store_put (stream_progress_storage (progress), key, out->data, out->len, STORE_PUT_SYNCED, error))
    return FALSE;
  stream->folded_batch = batch;
  stream->has_folded = TRUE;
  stream->n_folded = g_hash_table_size (stream->taken);
  stream->base.keep_from = batch + 1;
  return TRUE;
}

/* ---- offsets ---- */

static gboolean
read_entries (const json_t *offset, GPtrArray **entries, GError **error)
{
  const json_t *files = json_object_get (offset, "files");
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify) files_entry_free);

  if (!json_is_array (files))
    return corrupt (error, "an offset names no files");
  for (size_t i = 0; i < json_array_size (files); i++) {
    const json_t *file = json_array_get (files, i);
    const char *path = json_string_value (json_array_get (file, 0));
    if (path == NULL)
      return corrupt (error, "an offset names a file without a path");
    g_ptr_array_add (list, files_entry_new (path, json_integer_value (json_array_get (file, 1)),
                                            json_integer_value (json_array_get (file, 2))));
  }
  *entries = g_steal_pointer (&list);
  return TRUE;
}

static json_t *
write_entries (GPtrArray *listing, guint from, guint to)
{
  json_t *files = json_array ();

  for (guint i = from; i < to; i++) {
    const FilesEntry *entry = g_ptr_array_index (listing, i);
    json_array_append_new (
        files, json_pack ("[s, I, I]", entry->path, (json_int_t) entry->size_bytes, (json_int_t) entry->modified_us));
  }
  return json_pack ("{s:o}", "files", files);
}

/* ---- the schema ---- */

static gboolean
load_schema (FilesStream *stream, GError **error)
{
  g_autofree char *prefix = stream_progress_state_key (stream->progress, stream->name, "schema-");
  Store *storage = stream_progress_storage (stream->progress);
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (stream_progress_run_id (stream->progress) == NULL)
    return TRUE;
  if (!store_list (storage, prefix, NULL, STORE_LIST_NAMES_ONLY, 0, &entries, error))
    return FALSE;
  if (entries->len == 0)
    return TRUE;
  const StoreEntry *newest = g_ptr_array_index (entries, entries->len - 1);
  if (!store_read (storage, newest->key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return corrupt (error, "the stored schema is gone");
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);
  g_autoptr (json_t) json = base_json_parse (text, size, newest->key, error);
  stream->data = json != NULL ? base_type_from_json (json, error) : NULL;
  stream->schema_version = (guint) g_ascii_strtoull (newest->key + strlen (prefix), NULL, 10) + 1;
  return stream->data != NULL;
}

static gboolean
store_schema (FilesStream *stream, GError **error)
{
  g_autofree char *name = g_strdup_printf ("schema-%06u", stream->schema_version);
  g_autofree char *key = stream_progress_state_key (stream->progress, stream->name, name);
  g_autoptr (json_t) json = base_type_to_json (stream->data);
  g_autofree char *text = base_json_text (json);

  if (!store_put (stream_progress_storage (stream->progress), key, text, strlen (text), STORE_PUT_SYNCED, error))
    return FALSE;
  stream->schema_version++;
  return TRUE;
}

static gboolean
find_schema (FilesStream *stream, gboolean may_store, GError **error)
{
  g_autoptr (GPtrArray) entries = NULL;

  if (stream->progress != NULL && !load_schema (stream, error))
    return FALSE;
  if (stream->data != NULL) {
    /* The schema and the hints of the query may have been edited since. */
    BaseType *stored = stream->data;
    stream->data = files_schema_revise (stream->options, stored, error);
    base_type_unref (stored);
    if (stream->data == NULL)
      return FALSE;
  }
  if (stream->data != NULL && files_options_has_format (stream->options))
    return TRUE;
  entries = files_list (stream->options, stream->context, stream->cancel, error);
  if (entries == NULL)
    return FALSE;
  const char *first = entries->len > 0 ? ((const FilesEntry *) g_ptr_array_index (entries, 0))->path
                                       : files_options_path (stream->options);
  if (!files_options_has_format (stream->options) && !files_options_settle_format (stream->options, first, error))
    return FALSE;
  if (stream->data != NULL)
    return TRUE;
  stream->data = files_schema_infer (stream->options, entries, stream->session, stream->cancel, error);
  return stream->data != NULL && (!may_store || store_schema (stream, error));
}

/* ---- StreamSourceClass ---- */

/* Offsets of batches that `taken` does not hold yet. */
static gboolean
load_unfolded (FilesStream *stream, StreamProgress *progress, GError **error)
{
  stream->base.keep_from = stream->folded_batch + 1;
  for (gint64 batch = stream->folded_batch + 1; batch <= stream_progress_last_planned (progress); batch++) {
    g_autoptr (json_t) offsets = NULL;
    g_autofree char *digest = NULL;
    g_autoptr (GPtrArray) entries = NULL;
    if (!stream_progress_read (progress, batch, &offsets, &digest, error))
      return FALSE;
    const json_t *offset = json_array_get (json_object_get (offsets, "sources"), stream->base.index);
    if (!json_is_object (offset))
      continue; /* this source had nothing in that batch */
    if (!read_entries (offset, &entries, error))
      return FALSE;
    for (guint i = 0; i < entries->len; i++) {
      const FilesEntry *entry = g_ptr_array_index (entries, i);
      take (stream, entry->path, entry->modified_us);
    }
  }
  return TRUE;
}

static gboolean
files_begin (StreamSource *base, StreamProgress *progress, G_GNUC_UNUSED const json_t *last, GError **error)
{
  FilesStream *stream = (FilesStream *) base;
  gboolean is_first = stream_progress_last_planned (progress) < 0;

  g_clear_pointer (&stream->listing, g_ptr_array_unref);
  g_hash_table_remove_all (stream->taken);
  if (!load_folded (stream, progress, error) || !load_unfolded (stream, progress, error))
    return FALSE;
  g_autoptr (GPtrArray) all = files_list (stream->options, stream->context, stream->cancel, error);
  if (all == NULL)
    return FALSE;
  if (is_first && !stream->has_folded && !files_options_include_existing (stream->options)) {
    for (guint i = 0; i < all->len; i++) {
      const FilesEntry *entry = g_ptr_array_index (all, i);
      take (stream, entry->path, entry->modified_us);
    }
    if (!write_folded (stream, progress, -1, error))
      return FALSE;
  }
  stream->listing = g_ptr_array_new_with_free_func ((GDestroyNotify) files_entry_free);
  stream->listing_at = 0;
  for (guint i = 0; i < all->len; i++) {
    FilesEntry *entry = g_ptr_array_index (all, i);
    if (!is_taken (stream, entry))
      g_ptr_array_add (stream->listing, files_entry_new (entry->path, entry->size_bytes, entry->modified_us));
  }
  return TRUE;
}

/* The next batch is the entries of the listing from `listing_at` up to the one returned. */
static guint
end_of_batch (const FilesStream *stream)
{
  gint64 max_files = files_options_max_files (stream->options);
  gint64 max_bytes = files_options_max_bytes (stream->options);
  guint from = stream->listing_at, to = from;
  gint64 bytes = 0;

  for (; to < stream->listing->len; to++) {
    const FilesEntry *entry = g_ptr_array_index (stream->listing, to);
    if ((max_files > 0 && (gint64) (to - from) >= max_files) || (max_bytes > 0 && bytes >= max_bytes))
      break;
    bytes += entry->size_bytes;
  }
  return to;
}

static gboolean
files_plan_ahead (StreamSource *base, G_GNUC_UNUSED const json_t *last, json_t **next, gboolean *has_rows,
                  G_GNUC_UNUSED GError **error)
{
  FilesStream *stream = (FilesStream *) base;
  guint to = end_of_batch (stream);

  *has_rows = to > stream->listing_at;
  *next = *has_rows ? write_entries (stream->listing, stream->listing_at, to) : NULL;
  return TRUE;
}

static gboolean
files_plan (StreamSource *base, const json_t *last, json_t **next, gboolean *has_rows, GError **error)
{
  FilesStream *stream = (FilesStream *) base;
  guint to = end_of_batch (stream);

  if (!files_plan_ahead (base, last, next, has_rows, error))
    return FALSE;
  for (guint i = stream->listing_at; i < to; i++) {
    const FilesEntry *entry = g_ptr_array_index (stream->listing, i);
    take (stream, entry->path, entry->modified_us);
  }
  stream->listing_at = to;
  return TRUE;
}

static gboolean
files_show (StreamSource *base, const json_t *last, const json_t *next, GError **error)
{
  FilesStream *stream = (FilesStream *) base;
  g_autoptr (GPtrArray) entries = NULL;

  /* An offset is the list of one batch: unchanged from the last batch means nothing new. */
  if (next == NULL || (last != NULL && json_equal (last, next)))
    entries = g_ptr_array_new_with_free_func ((GDestroyNotify) files_entry_free);
  else if (!read_entries (next, &entries, error))
    return FALSE;
  g_clear_pointer (&stream->batch, g_ptr_array_unref);
  stream->batch = g_steal_pointer (&entries);
  files_source_set_entries (stream->base.leaf, stream->batch);
  return TRUE;
}

static void
files_done (StreamSource *base, gint64 batch, G_GNUC_UNUSED const json_t *next)
{
  FilesStream *stream = (FilesStream *) base;
  guint n_new = g_hash_table_size (stream->taken) - stream->n_folded;

  if (stream->progress != NULL && n_new >= MAX (FOLD_AT_LEAST, stream->n_folded / 4))
    (void) write_folded (stream, stream->progress, batch, NULL); /* the offsets still hold what it would have held */
}

static gboolean
files_evolve (StreamSource *base, gboolean *grown, GError **error)
{
  FilesStream *stream = (FilesStream *) base;

  *grown = FALSE;
  if (stream->batch == NULL || stream->batch->len == 0 || stream->progress == NULL ||
      files_options_evolution (stream->options) != FILES_EVOLVE_ADD_NEW_COLUMNS)
    return TRUE;
  g_autoptr (BaseType) seen =
      files_schema_infer (stream->options, stream->batch, stream->session, stream->cancel, error);
  if (seen == NULL)
    return FALSE;
  BaseType *merged = files_schema_merge (stream->data, seen);
  *grown = merged != stream->data;
  base_type_unref (stream->data);
  stream->data = merged;
  return !*grown || store_schema (stream, error);
}

static StreamBacklog
files_backlog (StreamSource *base, G_GNUC_UNUSED const json_t *last)
{
  FilesStream *stream = (FilesStream *) base;
  StreamBacklog backlog = { .records = -1 };

  for (guint i = stream->listing_at; stream->listing != NULL && i < stream->listing->len; i++) {
    backlog.files++;
    backlog.bytes += ((const FilesEntry *) g_ptr_array_index (stream->listing, i))->size_bytes;
  }
  return backlog;
}

static void
files_free (StreamSource *base)
{
  FilesStream *stream = (FilesStream *) base;

  g_free (stream->name);
  files_options_unref (stream->options);
  store_context_unref (stream->context);
  base_cancel_unref (stream->cancel);
  base_type_unref (stream->data);
  g_clear_pointer (&stream->taken, g_hash_table_unref);
  g_clear_pointer (&stream->listing, g_ptr_array_unref);
  g_clear_pointer (&stream->batch, g_ptr_array_unref);
  relation_source_unref (base->leaf);
  g_free (stream);
}

static const StreamSourceClass files_class = {
  .begin = files_begin,
  .plan = files_plan,
  .plan_ahead = files_plan_ahead,
  .show = files_show,
  .done = files_done,
  .evolve = files_evolve,
  .backlog = files_backlog,
  .free = files_free,
};

StreamSource *
stream_files_new (guint index, FilesOptions *options, StreamProgress *progress, StoreContext *context,
                  DuckSession *session, BaseCancel *cancel, GError **error)
{
  FilesStream *stream = g_new0 (FilesStream, 1);
  g_autoptr (StreamSource) owner = &stream->base;

  stream->base.klass = &files_class;
  stream->base.index = index;
  stream->base.keep_from = 0;
  stream->name = g_strdup_printf ("%u", index);
  stream->options = files_options_ref (options);
  stream->progress = progress;
  stream->context = context != NULL ? store_context_ref (context) : NULL;
  stream->session = session;
  stream->cancel = base_cancel_ref (cancel);
  stream->taken = g_hash_table_new_full (digest_hash, digest_equal, g_free, NULL);
  if (!find_schema (stream, progress != NULL && stream_progress_run_id (progress) != NULL, error))
    return NULL;
  stream->base.leaf = files_source_new (options, stream->data, NULL, TRUE, session, cancel);
  return g_steal_pointer (&owner);
}

/* Which rows are kept: see duck-cache.h.
 *
 * Invariants:
 *  1. `kept` are the entries with rows, the one asked for last at its head; `n_bytes` is their sum, and at most `max_bytes`.
 *  2. Rows give way only when others were asked for twice since they were asked for last. So rows that are asked for in turns, and do not
 *     fit together, do not drive each other out: those that came first stay.
 *  3. Nothing is read under the lock.
 */
#include "duck-cache.h"

#include "duck-lend-private.h"

#define MOST_TEXTS 65536

typedef struct {
  char *select;
  DuckLent *rows;  /* (nullable) */
  guint64 n_bytes; /* of @rows; without: what was not enough for them, or 0 */
  guint64 asked;   /* when it was asked for last, and the time before */
  guint64 asked_before;
  GList link; /* in `kept` */
} Entry;

struct DuckCache {
  GMutex lock;
  GHashTable *entries; /* select → Entry */
  GQueue kept;         /* Entry */
  guint64 n_bytes, max_bytes;
  guint64 least_rows; /* of less a chunk would be mostly room */
  guint64 clock;      /* counts what is asked for */
};

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  duck_lent_unref (entry->rows);
  g_free (entry->select);
  g_free (entry);
}

DuckCache *
duck_cache_new (guint64 least_rows, guint64 max_bytes)
{
  DuckCache *cache = g_new0 (DuckCache, 1);

  g_mutex_init (&cache->lock);
  cache->entries = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, entry_free);
  g_queue_init (&cache->kept);
  cache->least_rows = least_rows;
  cache->max_bytes = max_bytes;
  return cache;
}

void
duck_cache_free (DuckCache *cache)
{
  if (cache == NULL)
    return;
  g_hash_table_unref (cache->entries);
  g_mutex_clear (&cache->lock);
  g_free (cache);
}

void
duck_cached_unref (DuckCached *cached)
{
  duck_lent_unref (cached);
}

/* ---- under the lock ---- */

/* Texts of which no rows are kept. */
static gboolean
is_old_text (gpointer key G_GNUC_UNUSED, gpointer value, gpointer data)
{
  const Entry *entry = value;

  return entry->rows == NULL && entry->asked < *(guint64 *) data;
}

/* Those of tables that are gone need not stay for ever. */
static void
forget_texts (DuckCache *cache)
{
  guint64 limit = cache->clock - MOST_TEXTS / 2;

  if (g_hash_table_size (cache->entries) >= MOST_TEXTS)
    g_hash_table_foreach_remove (cache->entries, is_old_text, &limit);
}

static Entry *
ask (DuckCache *cache, const char *select)
{
  Entry *entry = g_hash_table_lookup (cache->entries, select);

  if (entry == NULL) {
    forget_texts (cache);
    entry = g_new0 (Entry, 1);
    entry->select = g_strdup (select);
    g_hash_table_insert (cache->entries, entry->select, entry);
  }
  entry->asked_before = entry->asked;
  entry->asked = ++cache->clock;
  if (entry->rows != NULL) {
    g_queue_unlink (&cache->kept, &entry->link);
    g_queue_push_head_link (&cache->kept, &entry->link);
  }
  return entry;
}

/* Bytes that are free, or of rows that were not asked for since @time. */
static guint64
room_since (const DuckCache *cache, guint64 time)
{
  guint64 room = cache->max_bytes - cache->n_bytes;

  for (const GList *link = cache->kept.tail; link != NULL && ((Entry *) link->data)->asked < time; link = link->prev)
    room += ((Entry *) link->data)->n_bytes;
  return room;
}

static void
add_rows (DuckCache *cache, Entry *entry, DuckLent *rows, guint64 n_bytes)
{
  entry->n_bytes = n_bytes;
  /* The oldest give way. What others kept in the meantime may have taken the room, and whole chunks take more than their rows. */
  while (cache->max_bytes - cache->n_bytes < n_bytes) {
    Entry *oldest = cache->kept.tail != NULL ? cache->kept.tail->data : NULL;
    if (oldest == NULL || oldest->asked >= entry->asked_before)
      return;
    g_queue_unlink (&cache->kept, &oldest->link);
    cache->n_bytes -= oldest->n_bytes;
    g_hash_table_remove (cache->entries, oldest->select);
  }
  entry->rows = duck_lent_ref (rows);
  entry->link.data = entry;
  g_queue_push_head_link (&cache->kept, &entry->link);
  cache->n_bytes += n_bytes;
}

/* ---- for other rooms ---- */

/* @room: (out): how many bytes its rows may take; 0 = they are not to be read. */
static DuckLent *
find (DuckCache *cache, const char *select, guint64 n_bytes, gboolean at_once, guint64 *room)
{
  DuckLent *rows = NULL;

  g_mutex_lock (&cache->lock);
  Entry *entry = ask (cache, select);
  *room = 0;
  if (entry->rows != NULL)
    rows = duck_lent_ref (entry->rows);
  else if (entry->asked_before > 0)
    *room = room_since (cache, entry->asked_before);
  else if (at_once)
    *room = cache->max_bytes - cache->n_bytes;
  if (*room <= MAX (entry->n_bytes, n_bytes))
    *room = 0;
  g_mutex_unlock (&cache->lock);
  return rows;
}

/* @rows: (nullable): NULL = they were more than @n_bytes. */
static void
keep (DuckCache *cache, const char *select, DuckLent *rows, guint64 n_bytes)
{
  g_mutex_lock (&cache->lock);
  Entry *entry = g_hash_table_lookup (cache->entries, select);
  if (entry != NULL && entry->rows == NULL) {
    if (rows == NULL)
      entry->n_bytes = n_bytes;
    else
      add_rows (cache, entry, rows, n_bytes);
  }
  g_mutex_unlock (&cache->lock);
}

gboolean
duck_cache_takes (DuckEngine *engine, guint64 n_rows)
{
  return n_rows >= engine->cache->least_rows;
}

gboolean
duck_cache_has (DuckEngine *engine, const char *select)
{
  g_mutex_lock (&engine->cache->lock);
  const Entry *entry = g_hash_table_lookup (engine->cache->entries, select);
  gboolean has = entry != NULL && entry->rows != NULL;
  g_mutex_unlock (&engine->cache->lock);
  return has;
}

gboolean
duck_cache_rows (DuckEngine *engine, const char *select, guint64 n_bytes, gboolean at_once, BaseCancel *cancel,
                 DuckCached **cached, GError **error)
{
  g_autoptr (DuckLent) rows = NULL;
  g_autoptr (DuckSession) session = NULL;
  guint64 room, n_kept;

  *cached = NULL;
  if ((*cached = find (engine->cache, select, n_bytes, at_once, &room)) != NULL || room == 0)
    return TRUE;
  if ((session = duck_session_new (engine, error)) == NULL ||
      !duck_rows_keep (session, select, room, cancel, &rows, &n_kept, error))
    return FALSE;
  keep (engine->cache, select, rows, rows != NULL ? n_kept : room);
  *cached = g_steal_pointer (&rows);
  return TRUE;
}

guint64
duck_cache_bytes (DuckEngine *engine)
{
  g_mutex_lock (&engine->cache->lock);
  guint64 n_bytes = engine->cache->n_bytes;
  g_mutex_unlock (&engine->cache->lock);
  return n_bytes;
}

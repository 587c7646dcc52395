/* A catalog: opening, entries as values, the cache of Delta tables.
 *
 * The cache keeps one DeltaTable per location so that its snapshot is advanced and not read anew. A location can get another
 * table behind our back (dropped and created again by another process), whose versions start at 0: so a cached table is
 * used only while `_delta_log` is the same directory, told by device, inode and birth time.
 */
#include "catalog-private.h"

#include <base-error.h>
#include <base-json.h>
#include <base-text.h>
#include <delta-table.h>
#include <fcntl.h>
#include <store.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_CACHED_TABLES 256
#define MAX_NAME_BYTES    200

/* Which directory the log was; all 0 = there was none yet. */
typedef struct {
  guint64 device;
  guint64 inode;
  gint64 born_s;
  guint32 born_ns;
} LogIdentity;

typedef struct {
  DeltaTable *table;
  LogIdentity identity;
} CachedTable;

static void
cached_table_free (gpointer data)
{
  CachedTable *cached = data;
  delta_table_unref (cached->table);
  g_free (cached);
}

const char *
catalog_kind_text (CatalogKind kind, gboolean is_managed)
{
  switch (kind) {
  case CATALOG_KIND_TABLE:
    return is_managed ? "MANAGED" : "EXTERNAL";
  case CATALOG_KIND_STREAMING_TABLE:
    return "STREAMING_TABLE";
  case CATALOG_KIND_MATERIALIZED_VIEW:
    return "MATERIALIZED_VIEW";
  case CATALOG_KIND_VIEW:
    return "VIEW";
  }
  return "";
}

CatalogEntry *
catalog_entry_ref (CatalogEntry *entry)
{
  g_atomic_int_inc (&entry->ref_count);
  return entry;
}

void
catalog_entry_unref (CatalogEntry *entry)
{
  if (entry == NULL || !g_atomic_int_dec_and_test (&entry->ref_count))
    return;
  g_free (entry->schema);
  g_free (entry->name);
  g_free (entry->provider);
  g_free (entry->location);
  g_free (entry->owner_pipeline);
  g_free (entry->owner);
  g_free (entry->comment);
  g_strfreev (entry->properties);
  g_free (entry->view_text);
  g_free (entry->view_schema);
  g_strfreev (entry->view_columns);
  g_free (entry);
}

char *
catalog_entry_text (const CatalogEntry *entry)
{
  g_autofree char *schema = base_text_spark_identifier (entry->schema);
  g_autofree char *name = base_text_spark_identifier (entry->name);
  return g_strdup_printf (CATALOG_NAME ".%s.%s", schema, name);
}

void
catalog_schema_free (CatalogSchema *schema)
{
  if (schema == NULL)
    return;
  g_free (schema->name);
  g_free (schema->comment);
  g_free (schema->location);
  g_strfreev (schema->properties);
  g_free (schema);
}

Catalog *
catalog_open (const char *warehouse, StoreContext *stores, DuckEngine *engine, GError **error)
{
  g_autoptr (Store) store = store_open (stores, warehouse, error);
  g_autofree char *path = NULL;
  Catalog *catalog;

  if (store == NULL)
    return NULL;
  path = g_build_filename (store_root (store), ".sluice", "catalog.sqlite", NULL);
  catalog = g_new0 (Catalog, 1);
  g_atomic_ref_count_init (&catalog->refs);
  catalog->warehouse = g_strdup (store_root (store));
  catalog->stores = stores != NULL ? store_context_ref (stores) : NULL;
  catalog->engine = engine != NULL ? duck_engine_ref (engine) : NULL;
  catalog->database = catalog_database_new (path);
  g_mutex_init (&catalog->tables_lock);
  catalog->tables = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, cached_table_free);
  catalog->functions = g_ptr_array_new_with_free_func (g_free);
  return catalog;
}

Catalog *
catalog_ref (Catalog *catalog)
{
  g_atomic_ref_count_inc (&catalog->refs);
  return catalog;
}

void
catalog_unref (Catalog *catalog)
{
  if (catalog == NULL || !g_atomic_ref_count_dec (&catalog->refs))
    return;
  g_hash_table_unref (catalog->tables);
  g_mutex_clear (&catalog->tables_lock);
  g_ptr_array_unref (catalog->functions);
  catalog_database_free (catalog->database);
  duck_engine_unref (catalog->engine);
  store_context_unref (catalog->stores);
  g_free (catalog->warehouse);
  g_free (catalog);
}

const char *
catalog_warehouse (Catalog *catalog)
{
  return catalog->warehouse;
}

StoreContext *
catalog_stores (Catalog *catalog)
{
  return catalog->stores;
}

DuckEngine *
catalog_engine (Catalog *catalog)
{
  return catalog->engine;
}

void
catalog_add_function (Catalog *catalog, const CatalogFunction *function)
{
  g_ptr_array_add (catalog->functions, g_memdup2 (function, sizeof *function));
}

/* --- Names --- */

char *
catalog_fold_name (const char *name)
{
  return g_ascii_strdown (name, -1);
}

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static char *
check_name (const char *name, const char *characters, GError **error)
{
  gsize length = strlen (name);

  if (length > 0 && length <= MAX_NAME_BYTES && strspn (name, characters) == length)
    return catalog_fold_name (name);
  base_error_set (
      error, SLUICE_ERROR_INVALID_SCHEMA_OR_RELATION_NAME,
      "`%s` is not a valid name for tables and schemas: letters, digits and _ only (tables also dots inside), "
      "at most %d of them",
      name, MAX_NAME_BYTES);
  return NULL;
}

char *
catalog_check_name (const char *name, GError **error)
{
  return check_name (name, NAME_CHARACTERS, error);
}

char *
catalog_check_relation_name (const char *name, GError **error)
{
  g_autofree char *folded = catalog_fold_name (name);
  /* A table's directory lies beside those of schemas, which end in .db; a hidden one would be passed over by readers. */
  gboolean may_have_dots = name[0] != '.' && !g_str_has_suffix (name, ".") && strstr (name, "..") == NULL &&
                           !g_str_has_suffix (folded, CATALOG_SCHEMA_SUFFIX);

  return check_name (name, may_have_dots ? NAME_CHARACTERS "." : NAME_CHARACTERS, error);
}

char *
catalog_pairs_to_text (const char *const *pairs)
{
  g_autoptr (json_t) object = NULL;

  if (pairs == NULL || pairs[0] == NULL)
    return NULL;
  object = json_array ();
  for (guint i = 0; pairs[i] != NULL; i++)
    json_array_append_new (object, json_string (pairs[i]));
  return base_json_text (object);
}

char **
catalog_pairs_from_text (const char *text)
{
  g_autoptr (json_t) list = text == NULL ? NULL : base_json_parse (text, strlen (text), "catalog", NULL);
  g_autoptr (GPtrArray) pairs = g_ptr_array_new ();
  const json_t *item;
  gsize i;

  if (text == NULL)
    return NULL;
  json_array_foreach (list, i, item)
  {
    if (json_is_string (item))
      g_ptr_array_add (pairs, g_strdup (json_string_value (item)));
  }
  g_ptr_array_add (pairs, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&pairs), FALSE);
}

/* --- Delta tables --- */

static LogIdentity
identity_of (const char *location)
{
  g_autofree char *log = g_build_filename (location, "_delta_log", NULL);
  LogIdentity identity = { 0 };
  struct statx status;

  if (statx (AT_FDCWD, log, 0, STATX_INO | STATX_BTIME, &status) != 0)
    return identity;
  identity.device = ((guint64) status.stx_dev_major << 32) | status.stx_dev_minor;
  identity.inode = status.stx_ino;
  if (status.stx_mask & STATX_BTIME) {
    identity.born_s = status.stx_btime.tv_sec;
    identity.born_ns = status.stx_btime.tv_nsec;
  }
  return identity;
}

static gboolean
identity_equal (const LogIdentity *a, const LogIdentity *b)
{
  return a->device == b->device && a->inode == b->inode && a->born_s == b->born_s && a->born_ns == b->born_ns;
}

DeltaTable *
catalog_delta_table (Catalog *catalog, const char *location, GError **error)
{
  g_autoptr (Store) store = store_open (catalog->stores, location, error);
  g_autoptr (GMutexLocker) locker = NULL;
  static const LogIdentity none;
  LogIdentity identity;
  CachedTable *cached;

  if (store == NULL)
    return NULL;
  locker = g_mutex_locker_new (&catalog->tables_lock);
  identity = identity_of (store_root (store));
  cached = g_hash_table_lookup (catalog->tables, store_root (store));
  if (cached != NULL && identity_equal (&cached->identity, &none))
    cached->identity = identity; /* created since, through this very object or by another process */
  if (cached == NULL || !identity_equal (&cached->identity, &identity)) {
    if (g_hash_table_size (catalog->tables) >= MAX_CACHED_TABLES)
      g_hash_table_remove_all (catalog->tables);
    cached = g_new (CachedTable, 1);
    cached->table = delta_table_new (store, catalog->engine);
    cached->identity = identity;
    g_hash_table_replace (catalog->tables, g_strdup (store_root (store)), cached);
  }
  return delta_table_ref (cached->table);
}

void
catalog_forget_table (Catalog *catalog, const char *location)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&catalog->tables_lock);
  g_hash_table_remove (catalog->tables, location);
}

/* What a process opens once: the engine with its kernels, the catalog, the clock. */
#include "session-private.h"

#include <base-error.h>
#include <files-source.h>
#include <pipeline-update.h>
#include <relation-kernel.h>

/* The engine's own settings, once per process. */
static DuckEngine *
engine_new (BaseSettings *settings, GError **error)
{
  DuckEngineOptions options = { 0 };
  g_autoptr (DuckEngine) engine = NULL;

  if (settings != NULL) {
    options.memory_limit_bytes = base_settings_get_size (settings, "engine.memoryLimit");
    options.n_threads = (guint) CLAMP (base_settings_get_int (settings, "engine.threads"), 0, 1024);
    options.temp_directory = base_settings_get (settings, "engine.tempDirectory");
  }
  engine = duck_engine_new (&options, error);
  if (engine == NULL || !relation_kernels_register (engine, error) || !files_register (engine, error))
    return NULL;
  return g_steal_pointer (&engine);
}

SluiceWarehouse *
session_warehouse_open (const char *directory, const SessionEnvironment *environment, BaseSettings *settings,
                        GError **error)
{
  StoreContext *stores = environment != NULL ? environment->stores : NULL;
  g_autoptr (DuckEngine) engine = engine_new (settings, error);
  g_autoptr (Catalog) catalog = NULL;
  SluiceWarehouse *warehouse;

  if (engine == NULL || (catalog = catalog_open (directory, stores, engine, error)) == NULL)
    return NULL;
  pipeline_register_functions (catalog);
  warehouse = g_new0 (SluiceWarehouse, 1);
  g_atomic_ref_count_init (&warehouse->refs);
  warehouse->user = g_strdup (environment != NULL ? environment->user : g_get_user_name ());
  if (environment != NULL)
    warehouse->clock = environment->clock;
  warehouse->stores = stores != NULL ? store_context_ref (stores) : NULL;
  warehouse->settings = settings != NULL ? base_settings_ref (settings) : base_settings_new (NULL);
  warehouse->engine = g_steal_pointer (&engine);
  warehouse->catalog = g_steal_pointer (&catalog);
  return warehouse;
}

SluiceWarehouse *
session_warehouse_ref (SluiceWarehouse *warehouse)
{
  g_atomic_ref_count_inc (&warehouse->refs);
  return warehouse;
}

void
session_warehouse_unref (SluiceWarehouse *warehouse)
{
  if (warehouse == NULL || !g_atomic_ref_count_dec (&warehouse->refs))
    return;
  catalog_unref (warehouse->catalog);
  duck_engine_unref (warehouse->engine);
  base_settings_unref (warehouse->settings);
  store_context_unref (warehouse->stores);
  g_free (warehouse->user);
  g_free (warehouse);
}

const char *
session_warehouse_directory (SluiceWarehouse *warehouse)
{
  return catalog_warehouse (warehouse->catalog);
}

Catalog *
session_warehouse_catalog (SluiceWarehouse *warehouse)
{
  return warehouse->catalog;
}

DuckEngine *
session_warehouse_engine (SluiceWarehouse *warehouse)
{
  return warehouse->engine;
}

StoreContext *
session_warehouse_stores (SluiceWarehouse *warehouse)
{
  return warehouse->stores;
}

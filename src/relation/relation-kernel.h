/* What DuckDB's SQL cannot say as Spark means it, as C kernels. */
#pragma once

#include "duck-engine.h"

#include <glib.h>

G_BEGIN_DECLS

/**
 * relation_kernels_register:
 * @engine: gets every kernel that lowered text calls (`sluice_…`)
 *
 * Call once per engine, before the first query. What the kernels share (time zones) is owned by the engine.
 *
 * Errors:   INTERNAL_ERROR.
 * Threads:  one, before sessions run queries.
 */
gboolean relation_kernels_register (DuckEngine *engine, GError **error);

G_END_DECLS

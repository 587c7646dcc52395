/* Maintenance of a table below the statements: what OPTIMIZE, VACUUM and their relatives do, with the harshest retention. */
#pragma once

#include "delta-table.h"
#include "duck-session.h"
#include "relation-plan.h"

/**
 * maintenance_run:
 * @kind: optimize, compact (what an update does), purge (REORG … APPLY (PURGE)), vacuum, checkpoint, cleanup (of the log)
 * @context: as for autocdc_apply()
 *
 * Losing against another writer is no error.
 */
gboolean maintenance_run (DeltaTable *table, const char *kind, const RelationContext *context, gint64 clock_us,
                          GError **error);

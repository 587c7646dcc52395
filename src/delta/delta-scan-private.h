/* Helpers of scans that other files of the room use. */
#pragma once

#include "delta-scan.h"

G_BEGIN_DECLS

/* A path in which DuckDB finds no glob. Returns: (transfer full). */
char *delta_scan_escape_glob (const char *path);

G_END_DECLS

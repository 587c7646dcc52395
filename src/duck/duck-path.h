/* Paths in the text of a query. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Appends @path as a string literal that means this file alone: DuckDB takes every path for a glob. */
void duck_path_append (GString *sql, const char *path);

G_END_DECLS

/* DuckDB text that reads raw files, shared by inference and the source. */
#pragma once

#include "files-listing.h"
#include "files-options.h"

#include <glib.h>

G_BEGIN_DECLS

/* `['/a.json', '/b.json']` with DuckDB's glob characters escaped. @from, @n: a range of @entries. */
void files_text_append_list (GString *sql, GPtrArray *entries);

/* SELECT of `j` (VARCHAR: one record) and `p` (VARCHAR: path) over JSON files. @entries that plain line reading cannot serve
 * (records that do not parse, arrays, over-long lines) must be in @odd instead; either may be empty, not both. */
void files_text_append_json (GString *sql, const FilesOptions *options, GPtrArray *entries, GPtrArray *odd);

/* `read_csv(…)` with every column VARCHAR. @names: (nullable): the columns in order; NULL lets DuckDB find them (DESCRIBE). */
void files_text_append_csv (GString *sql, const FilesOptions *options, GPtrArray *entries, const char *const *names);

G_END_DECLS

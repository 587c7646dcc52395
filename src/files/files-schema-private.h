/* What the reader of files shares with inference. */
#pragma once

#include "files-schema.h"

G_BEGIN_DECLS

/* Which JSON files can be read line by line by DuckDB (@plain), and which hold records that it would lose or misread (@odd):
 * records that do not parse, arrays, over-long lines, bytes that are not UTF-8. Both (transfer container), entries borrowed. */
gboolean files_schema_split_json (const FilesOptions *options, GPtrArray *entries, DuckSession *session,
                                  BaseCancel *cancel, GPtrArray **plain, GPtrArray **odd, GError **error);

/* Names of a CSV file's columns, NULL-terminated. Returns: (transfer full). */
GPtrArray *files_schema_csv_names (const FilesOptions *options, FilesEntry *entry, DuckSession *session,
                                   GError **error);

/* CSV files with the same columns in the same order. */
typedef struct {
  GPtrArray *names;   /* char *, NULL-terminated */
  GPtrArray *entries; /* borrowed */
} FilesCsvGroup;
void files_csv_group_free (FilesCsvGroup *group);
/* Returns: (transfer full) (element-type FilesCsvGroup): empty files are in no group. */
GPtrArray *files_schema_group_csv (const FilesOptions *options, GPtrArray *entries, DuckSession *session,
                                   GError **error);

/* Columns that Parquet files hold together. Returns: (transfer full). */
BaseType *files_schema_parquet (GPtrArray *entries, DuckSession *session, GError **error);

G_END_DECLS

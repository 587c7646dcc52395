/* What the room itself knows of a DeltaFile. */
#pragma once

#include "delta-file.h"
#include "delta-json-private.h"

G_BEGIN_DECLS

typedef enum { DELTA_FILE_ADD, DELTA_FILE_REMOVE, DELTA_FILE_CDC } DeltaFileRole;

/* Identity inside a table: decoded path, and the vector's id when there is one (PROTOCOL.md "Add File and Remove File").
 * Borrow: the file's life. */
const char *delta_file_key (const DeltaFile *file);
/* bytewise by key */
int delta_file_compare (const DeltaFile *a, const DeltaFile *b);

/* Reads the object of an action; @json stands before its `{`. NULL with @json->error or @problem (a sentence) set. */
DeltaFile *delta_file_parse (DeltaJson *json, DeltaFileRole role, char **problem);
/* Appends the object `{"path":…}` of an action. */
void delta_file_append_json (GString *out, const DeltaFile *file, DeltaFileRole role);

/* delta_file_new() for what a checkpoint says: NULL when the path is not encoded as it must be. */
DeltaFile *delta_file_new_foreign (const DeltaFileInfo *info);

const char *delta_file_clustering_provider (const DeltaFile *file);

/* A path of the log as a key or an absolute path: `file:` forms become plain, the rest is percent-decoded. NULL for a bad
 * escape. Returns: (transfer full). */
char *delta_file_decode_path (const char *path);

G_END_DECLS

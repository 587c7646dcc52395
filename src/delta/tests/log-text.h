/* What tests of logs written by hand share: actions as JSON lines, and what a snapshot shows of them. */
#pragma once

#include "delta-snapshot.h"
#include "store.h"

/* The text of a schema inside a JSON string: `id LONG`. */
#define SCHEMA                                                                                                         \
  "{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[{\\\"name\\\":\\\"id\\\",\\\"type\\\":\\\"long\\\","                   \
  "\\\"nullable\\\":true,\\\"metadata\\\":{}}]}"
#define METADATA_VALUE(configuration)                                                                                  \
  "{\"id\":\"t\",\"format\":{\"provider\":\"parquet\",\"options\":{}},\"schemaString\":\"" SCHEMA                      \
  "\",\"partitionColumns\":[],\"configuration\":{" configuration "}}"
#define METADATA "{\"metaData\":" METADATA_VALUE ("") "}\n"
#define ADD(path)                                                                                                      \
  "{\"add\":{\"path\":\"" path "\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true}}\n"
#define REMOVE(path) "{\"remove\":{\"path\":\"" path "\",\"deletionTimestamp\":1,\"dataChange\":true}}\n"

/* Writes a file of the log, or the commit of a version. */
void log_text_put (Store *store, const char *name, const char *text);
void log_text_put_commit (Store *store, DeltaVersion version, const char *text);
/* The decoded paths of the live files, in order: `a b`. Returns: (transfer full). */
char *log_text_live_files (DeltaSnapshot *snapshot);

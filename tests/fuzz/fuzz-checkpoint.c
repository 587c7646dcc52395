/* A checkpoint. Bytes that begin with PAR1 are a Parquet file; others are the rows of one, a JSON object a line, written as
 * Parquet and read back, so that mutations reach the decoding of actions and are not stopped by a Parquet reader.
 */
#include "delta-table.h"
#include "duck-session.h"
#include "fuzz.h"
#include "store.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

static const char columns[] =
    "{'txn': 'STRUCT(appId VARCHAR, \"version\" BIGINT, lastUpdated BIGINT)',"
    " 'add': 'STRUCT(path VARCHAR, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT, modificationTime BIGINT, "
    "dataChange BOOLEAN,"
    " stats VARCHAR, tags MAP(VARCHAR, VARCHAR), deletionVector STRUCT(storageType VARCHAR, pathOrInlineDv VARCHAR, "
    "\"offset\" INTEGER,"
    " sizeInBytes INTEGER, cardinality BIGINT), baseRowId BIGINT, defaultRowCommitVersion BIGINT, clusteringProvider "
    "VARCHAR)',"
    " 'remove': 'STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN,"
    " partitionValues MAP(VARCHAR, VARCHAR), size BIGINT)',"
    " 'metaData': 'STRUCT(id VARCHAR, \"name\" VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)),"
    " schemaString VARCHAR, partitionColumns VARCHAR[], configuration MAP(VARCHAR, VARCHAR), createdTime BIGINT)',"
    " 'protocol': 'STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER, readerFeatures VARCHAR[], writerFeatures "
    "VARCHAR[])',"
    " 'domainMetadata': 'STRUCT(\"domain\" VARCHAR, configuration VARCHAR, removed BOOLEAN)'}";

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  char *directory;
  guint64 version; /* a new name for every input: nothing may be kept of the last one */
} Place;

static Place place;

static void
remove_place (void)
{
  g_autoptr (Store) store = store_open (NULL, place.directory, NULL);

  (void) store_delete_tree (store, "", NULL); /* at the end: nobody is left to tell */
}

static void
open_place (void)
{
  DuckEngineOptions options = { .n_threads = 1, .memory_limit_bytes = G_GINT64_CONSTANT (500) << 20 };
  g_autofree char *log = NULL;

  if (place.engine != NULL)
    return;
  place.engine = duck_engine_new (&options, NULL);
  place.session = duck_session_new (place.engine, NULL);
  place.directory = g_dir_make_tmp ("fuzz-checkpoint-XXXXXX", NULL);
  log = g_build_filename (place.directory, "_delta_log", NULL);
  fuzz_require (place.session != NULL && g_mkdir (log, 0700) == 0, "a place to work");
  atexit (remove_place);
}

static gboolean
write_rows (const char *path, const guint8 *data, gsize size)
{
  g_autofree char *rows = g_strconcat (path, ".rows", NULL);
  g_autofree char *sql = g_strdup_printf ("COPY (SELECT * FROM read_json('%s', format = 'newline_delimited', "
                                          "ignore_errors = true, columns = %s)) TO '%s' (FORMAT parquet)",
                                          rows, columns, path);
  gboolean done =
      g_file_set_contents_full (rows, (const char *) data, (gssize) size, G_FILE_SET_CONTENTS_NONE, 0600, NULL) &&
      duck_session_execute (place.session, sql, NULL, NULL);

  g_unlink (rows);
  return done;
}

static void
read_checkpoint (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Store) store = store_open (NULL, place.directory, NULL);
  g_autoptr (DeltaTable) table = delta_table_new (store, place.engine);
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, NULL, &error);
  g_auto (GStrv) files = NULL;
  g_auto (GStrv) hidden = NULL;

  fuzz_check (snapshot != NULL, error);
  if (snapshot == NULL)
    return;
  for (guint i = 0; i < delta_snapshot_n_files (snapshot); i++) {
    DeltaFile *file = delta_snapshot_file (snapshot, i);
    fuzz_require (delta_file_n_live_records (file) <= delta_file_n_records (file), "no more rows live than there are");
  }
  files = delta_snapshot_domain_files (snapshot);
  hidden = delta_snapshot_hidden_columns (snapshot);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *path = NULL;
  gboolean written;

  open_place ();
  path =
      g_strdup_printf ("%s/_delta_log/%020" G_GUINT64_FORMAT ".checkpoint.parquet", place.directory, place.version++);
  if (size >= 4 && memcmp (data, "PAR1", 4) == 0)
    written = g_file_set_contents_full (path, (const char *) data, (gssize) size, G_FILE_SET_CONTENTS_NONE, 0600, NULL);
  else
    written = write_rows (path, data, size);
  if (written)
    read_checkpoint ();
  g_unlink (path);
  return 0;
}

#include "log-fixture.h"

#include "delta-vector.h"
#include "duck-engine.h"
#include "store.h"

#include <glib/gstdio.h>
#include <string.h>
#include <utime.h>

LogFixture *
log_fixture_new (void)
{
  g_autoptr (GError) error = NULL;
  LogFixture *fixture = g_new0 (LogFixture, 1);
  g_autofree char *log = NULL;

  fixture->engine = duck_engine_new (&(DuckEngineOptions){ .n_threads = 2 }, &error);
  g_assert_no_error (error);
  fixture->session = duck_session_new (fixture->engine, &error);
  g_assert_no_error (error);
  fixture->directory = g_dir_make_tmp ("sluice-log-XXXXXX", &error);
  g_assert_no_error (error);
  log = g_build_filename (fixture->directory, "_delta_log", NULL);
  g_assert_cmpint (g_mkdir (log, 0777), ==, 0);
  fixture->lines = g_string_new (NULL);
  (void) log_fixture_reopen (fixture);
  return fixture;
}

void
log_fixture_free (LogFixture *fixture)
{
  g_autoptr (Store) store = NULL;

  if (fixture == NULL)
    return;
  delta_table_unref (fixture->table);
  store = store_open (NULL, fixture->directory, NULL);
  (void) store_delete_tree (store, "", NULL); /* a directory left behind does no harm */
  duck_session_free (fixture->session);
  duck_engine_unref (fixture->engine);
  g_string_free (fixture->lines, TRUE);
  g_free (fixture->directory);
  g_free (fixture);
}

DeltaTable *
log_fixture_reopen (LogFixture *fixture)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Store) store = store_open (NULL, fixture->directory, &error);

  g_assert_no_error (error);
  delta_table_unref (fixture->table);
  fixture->table = delta_table_new (store, fixture->engine);
  return fixture->table;
}

void
log_fixture_line (LogFixture *fixture, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_string_append_vprintf (fixture->lines, format, arguments);
  va_end (arguments);
  g_string_append_c (fixture->lines, '\n');
}

void
log_fixture_protocol (LogFixture *fixture)
{
  log_fixture_line (fixture,
                    "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":"
                    "[\"deletionVectors\",\"columnMapping\"],\"writerFeatures\":[\"deletionVectors\",\"columnMapping\","
                    "\"changeDataFeed\",\"rowTracking\",\"domainMetadata\"]}}");
}

void
log_fixture_metadata (LogFixture *fixture, const char *fields, const char *configuration)
{
  g_autofree char *schema =
      g_strdup_printf ("{\"type\":\"struct\",\"fields\":[%s]}",
                       fields != NULL ? fields
                                      : "{\"name\":\"id\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}},"
                                        "{\"name\":\"name\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}");
  g_autofree char *escaped = g_strescape (schema, NULL);

  log_fixture_line (
      fixture,
      "{\"metaData\":{\"id\":\"11111111-2222-3333-4444-555555555555\",\"format\":{\"provider\":\"parquet\","
      "\"options\":{}},\"schemaString\":\"%s\",\"partitionColumns\":[],\"configuration\":{%s}}}",
      escaped, configuration != NULL ? configuration : "");
}

static void
append_vector (GString *out, const int *dead)
{
  g_autoptr (DeltaVector) vector = delta_vector_new ();
  g_autoptr (DeltaVectorDescriptor) descriptor = NULL;

  for (guint i = 0; dead[i] >= 0; i++)
    delta_vector_add (vector, (guint64) dead[i]);
  descriptor = delta_vector_inline (vector);
  g_string_append_printf (out,
                          ",\"deletionVector\":{\"storageType\":\"i\",\"pathOrInlineDv\":\"%s\",\"sizeInBytes\":%d,"
                          "\"cardinality\":%d}",
                          descriptor->path_or_inline, (int) descriptor->size_bytes, (int) descriptor->cardinality);
}

static void
add_file (LogFixture *fixture, const char *kind, const char *name, const char *sql, const int *dead, const char *more)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (fixture->directory, name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *count = g_strdup_printf ("SELECT count(*) FROM read_parquet('%s')", path);
  g_autoptr (GString) line = g_string_new (NULL);
  gint64 n_rows = 0;
  GStatBuf status;

  if (sql != NULL) {
    g_autofree char *copy = g_strdup_printf ("COPY (SELECT * FROM (%s)) TO '%s' (FORMAT parquet)", sql, path);
    g_assert_cmpint (g_mkdir_with_parents (parent, 0777), ==, 0);
    duck_session_execute (fixture->session, copy, NULL, &error);
    g_assert_no_error (error);
  }
  duck_session_query_int64 (fixture->session, count, NULL, &n_rows, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (g_stat (path, &status), ==, 0);
  g_string_append_printf (line, "{\"%s\":{\"path\":\"%s\",\"partitionValues\":{},\"size\":%d,\"dataChange\":%s", kind,
                          name, (int) status.st_size, strcmp (kind, "cdc") == 0 ? "false" : "true");
  if (strcmp (kind, "add") == 0)
    g_string_append_printf (line, ",\"modificationTime\":%d,\"stats\":\"{\\\"numRecords\\\":%d}\"",
                            (int) fixture->next * 1000, (int) n_rows);
  if (strcmp (kind, "remove") == 0)
    g_string_append (line, ",\"deletionTimestamp\":1,\"extendedFileMetadata\":true");
  if (dead != NULL)
    append_vector (line, dead);
  log_fixture_line (fixture, "%s%s}}", line->str, more);
}

void
log_fixture_file (LogFixture *fixture, const char *kind, const char *name, const char *sql, const int *dead)
{
  add_file (fixture, kind, name, sql, dead, "");
}

void
log_fixture_tracked_file (LogFixture *fixture, const char *kind, const char *name, const char *sql, const int *dead,
                          int base_row_id, int version)
{
  g_autofree char *more = g_strdup_printf (",\"baseRowId\":%d,\"defaultRowCommitVersion\":%d", base_row_id, version);

  add_file (fixture, kind, name, sql, dead, more);
}

static char *
version_path (LogFixture *fixture, DeltaVersion version)
{
  return g_strdup_printf ("%s/_delta_log/%020" G_GINT64_FORMAT ".json", fixture->directory, version);
}

void
log_fixture_commit (LogFixture *fixture)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = version_path (fixture, fixture->next);
  time_t time_s = (time_t) (LOG_FIXTURE_BEGIN_S + fixture->next * 60);

  g_file_set_contents (path, fixture->lines->str, (gssize) fixture->lines->len, &error);
  g_assert_no_error (error);
  g_assert_cmpint (utime (path, &(struct utimbuf){ time_s, time_s }), ==, 0);
  g_string_truncate (fixture->lines, 0);
  fixture->next++;
}

void
log_fixture_delete_version (LogFixture *fixture, DeltaVersion version)
{
  g_autofree char *path = version_path (fixture, version);

  g_assert_cmpint (g_unlink (path), ==, 0);
}

void
log_fixture_delete_file (LogFixture *fixture, const char *name)
{
  g_autofree char *path = g_build_filename (fixture->directory, name, NULL);

  g_assert_cmpint (g_unlink (path), ==, 0);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char *
log_fixture_rows (LogFixture *fixture, const char *sql)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DuckResult) result = duck_session_query (fixture->session, sql, NULL, &error);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  const DuckChunk *chunk = NULL;

  g_assert_no_error (error);
  while (duck_result_next (result, &chunk, &error) && chunk != NULL)
    for (guint row = 0; row < chunk->n_rows; row++)
      g_ptr_array_add (rows, duck_vector_dup_string (&chunk->columns[0], row));
  g_assert_no_error (error);
  g_ptr_array_sort (rows, compare_texts);
  g_ptr_array_add (rows, NULL);
  return g_strjoinv (" ", (char **) rows->pdata);
}

/* The event log: see pipeline-log.h. Invariants:
 * 1. seq_no grows by one from line to line over the whole life of a pipeline.
 * 2. The journal is cut only when every line of it is in the table.
 */
#include "pipeline-log.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "catalog.h"
#include "delta-scan.h"
#include "delta-table.h"
#include "delta-transaction.h"
#include "duck-session.h"
#include "relation-source.h"
#include "sql-parse.h"
#include "store.h"
#include "write-batch.h"
#include "write-compact.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define JOURNAL_KEY    "system/journal.jsonl"
#define TABLE_KEY      "system/events"
#define MAX_LINE_BYTES (64 << 20)
#define MORE_BYTES     (1 << 20) /* that somebody may append meanwhile */

struct PipelineLog {
  Store *storage;
  char *pipeline_id;
  char *pipeline_name;
  char *update_id; /* (nullable) */
  char *instance;  /* of this process's writer */
  BaseClock clock;
  GMutex lock;
  int fd;                       /* of the journal; guarded by lock */
  gint64 last_seq;              /* guarded by lock */
  PipelineLogListener listener; /* (nullable) */
  gpointer listener_data;
};

static const char schema_ddl[] = "id STRING, sequence STRUCT<data_plane_id: STRUCT<instance: STRING, seq_no: BIGINT>>, "
                                 "origin STRUCT<pipeline_id: STRING, pipeline_name: STRING, pipeline_type: STRING, "
                                 "update_id: STRING, request_id: STRING, "
                                 "dataset_name: STRING, table_name: STRING, sink_name: STRING, flow_id: STRING, "
                                 "flow_name: STRING, batch_id: BIGINT, uc_resource_id: STRING>, "
                                 "timestamp TIMESTAMP, message STRING, level STRING, maturity_level STRING, "
                                 "error STRUCT<fatal: BOOLEAN, exceptions: ARRAY<STRUCT<class_name: STRING, message: "
                                 "STRING, condition: STRING, stack: ARRAY<STRING>>>>, "
                                 "details STRING, event_type STRING";

BaseType *
pipeline_log_schema (void)
{
  g_autoptr (GError) error = NULL;
  BaseType *schema = sql_parse_schema (schema_ddl, -1, &error);

  g_assert_no_error (error);
  return schema;
}

/* ---- reading the journal ---- */

static char *
journal_path (Store *storage)
{
  return store_local_path (storage, JOURNAL_KEY);
}

/* The highest seq_no of the lines; -1 for none. A torn last line (a crash while appending) does not count. */
static gint64
last_sequence (const char *text, gsize size)
{
  gint64 last = -1;

  for (const char *line = text, *end = text + size; line < end;) {
    const char *stop = memchr (line, '\n', (gsize) (end - line));
    if (stop == NULL)
      break;
    g_autoptr (json_t) json = base_json_parse (line, (gsize) (stop - line), "journal", NULL);
    gint64 seq = base_json_int64 (json_object_get (json_object_get (json, "sequence"), "data_plane_id"), "seq_no", -1);
    last = MAX (last, seq);
    line = stop + 1;
  }
  return last;
}

/* ---- opening ---- */

static DeltaTable *
events_table (Store *storage, Catalog *catalog, GError **error)
{
  g_autofree char *path = store_local_path (storage, TABLE_KEY);

  return catalog_delta_table (catalog, path, error);
}

/* Finds where the numbering goes on without opening the table: the journal's lines, else a side note left by the last fold. */
static gboolean
find_last_sequence (PipelineLog *log, GError **error)
{
  g_autoptr (GBytes) journal = NULL;
  g_autoptr (GBytes) note = NULL;

  if (!store_read (log->storage, JOURNAL_KEY, &journal, error) ||
      !store_read (log->storage, "system/journal.seq", &note, error))
    return FALSE;
  log->last_seq = -1;
  if (journal != NULL) {
    gsize size;
    const char *text = g_bytes_get_data (journal, &size);
    log->last_seq = last_sequence (text, size);
  }
  if (note != NULL) {
    g_autofree char *text = g_strndup (g_bytes_get_data (note, NULL), MIN (g_bytes_get_size (note), 30));
    gint64 noted;
    if (base_text_parse_int64 (g_strstrip (text), &noted))
      log->last_seq = MAX (log->last_seq, noted);
  }
  return TRUE;
}

/* A torn last line gets its line feed, so that the next event starts on a line of its own. */
static gboolean
end_torn_line (int fd)
{
  char last;
  off_t size = lseek (fd, 0, SEEK_END);

  if (size <= 0)
    return size == 0;
  return pread (fd, &last, 1, size - 1) == 1 && (last == '\n' || write (fd, "\n", 1) == 1);
}

PipelineLog *
pipeline_log_open (Store *storage, const char *pipeline_id, const char *pipeline_name, const BaseClock *clock,
                   GError **error)
{
  g_autoptr (PipelineLog) log = g_new0 (PipelineLog, 1);
  g_autofree char *path = journal_path (storage);
  g_autofree char *directory = g_path_get_dirname (path);

  log->fd = -1;
  log->storage = store_ref (storage);
  log->pipeline_id = g_strdup (pipeline_id);
  log->pipeline_name = g_strdup (pipeline_name);
  log->instance = base_text_uuid ();
  log->clock = *clock;
  g_mutex_init (&log->lock);
  if (!find_last_sequence (log, error))
    return NULL;
  if (g_mkdir_with_parents (directory, 0777) != 0 ||
      (log->fd = open (path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) < 0 || !end_torn_line (log->fd)) {
    g_autofree char *what = g_strdup_printf ("open the event journal %s", path);
    base_error_set_errno (error, errno, what);
    return NULL;
  }
  return g_steal_pointer (&log);
}

void
pipeline_log_free (PipelineLog *log)
{
  if (log == NULL)
    return;
  if (log->fd >= 0)
    close (log->fd);
  store_unref (log->storage);
  g_free (log->pipeline_id);
  g_free (log->pipeline_name);
  g_free (log->update_id);
  g_free (log->instance);
  g_mutex_clear (&log->lock);
  g_free (log);
}

void
pipeline_log_set_update (PipelineLog *log, const char *update_id)
{
  g_free (log->update_id);
  log->update_id = g_strdup (update_id);
}

void
pipeline_log_listen (PipelineLog *log, PipelineLogListener listener, gpointer data)
{
  log->listener = listener;
  log->listener_data = data;
}

/* ---- writing ---- */

static json_t *
text_or_null (const char *text)
{
  return text != NULL ? json_string (text) : json_null ();
}

static json_t *
failure_json (const GError *failure)
{
  json_t *stack = json_array ();

  if (failure == NULL) {
    json_decref (stack);
    return json_null ();
  }
  g_autofree char *text = base_error_format (failure);
  const char *const *contexts = base_error_contexts (failure);
  for (guint i = 0; contexts[i] != NULL; i++)
    json_array_append_new (stack, json_string (contexts[i]));
  return json_pack ("{s:b, s:[{s:s, s:s, s:s, s:o}]}", "fatal", 1, "exceptions", "class_name", "SluiceError", "message",
                    text, "condition", base_error_condition (failure), "stack", stack);
}

static char *
event_line (PipelineLog *log, const PipelineEvent *event, gint64 seq)
{
  static const char *const levels[] = { "INFO", "WARN", "ERROR", "METRICS" };
  g_autofree char *id = base_text_uuid ();
  g_autofree char *timestamp = base_clock_text_us (base_clock_now_us (&log->clock));
  g_autoptr (json_t) details =
      json_pack ("{s:o}", event->type, event->details != NULL ? event->details : json_object ());
  g_autofree char *details_text = base_json_text (details);
  json_t *origin =
      json_pack ("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pipeline_id", log->pipeline_id,
                 "pipeline_name", log->pipeline_name, "pipeline_type", "WORKSPACE", "update_id",
                 text_or_null (log->update_id), "request_id", text_or_null (log->update_id), "dataset_name",
                 text_or_null (event->dataset), "table_name", text_or_null (event->dataset), "sink_name", json_null (),
                 "flow_id", text_or_null (event->flow_id), "flow_name", text_or_null (event->flow), "batch_id",
                 event->batch >= 0 ? json_integer (event->batch) : json_null (), "uc_resource_id", json_null ());
  g_autoptr (json_t) line =
      json_pack ("{s:s, s:{s:{s:s, s:I}}, s:o, s:s, s:s, s:s, s:s, s:o, s:s, s:s}", "id", id, "sequence",
                 "data_plane_id", "instance", log->instance, "seq_no", (json_int_t) seq, "origin", origin, "timestamp",
                 timestamp, "message", event->message, "level", levels[event->level], "maturity_level", "STABLE",
                 "error", failure_json (event->failure), "details", details_text, "event_type", event->type);
  g_autofree char *text = base_json_text (line);
  return g_strconcat (text, "\n", NULL);
}

static gboolean
append (PipelineLog *log, const char *line, gboolean durable, GError **error)
{
  gsize size = strlen (line);

  if (!store_context_step (store_context (log->storage), "append", JOURNAL_KEY, error))
    return FALSE;
  for (gsize done = 0; done < size;) {
    gssize written = write (log->fd, line + done, size - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return base_error_set_errno (error, errno, "append to the event journal");
    done += (gsize) written;
  }
  return !durable || fdatasync (log->fd) == 0 || base_error_set_errno (error, errno, "sync the event journal");
}

gboolean
pipeline_log_write (PipelineLog *log, const PipelineEvent *event, GError **error)
{
  g_autoptr (json_t) details =
      json_incref (event->details); /* the line takes the caller's reference; the listener reads on */

  g_mutex_lock (&log->lock);
  g_autofree char *line = event_line (log, event, log->last_seq + 1);
  gboolean good = append (log, line, event->durable, error);
  if (good)
    log->last_seq++;
  if (good && log->listener != NULL)
    log->listener (event, log->listener_data);
  g_mutex_unlock (&log->lock);
  return good;
}

/* ---- folding ---- */

/* What a line may take: DuckDB has a buffer of twice that for every thread, and no line is longer than the file. */
static gint64
longest_line (const char *path)
{
  GStatBuf status;

  return g_stat (path, &status) == 0 ? MIN (status.st_size + MORE_BYTES, MAX_LINE_BYTES) : MAX_LINE_BYTES;
}

/* `STRUCT(…)` texts of the schema for read_json's columns. */
static void
append_journal_scan (GString *sql, const char *path, gint64 after_seq)
{
  g_autoptr (BaseType) schema = pipeline_log_schema ();

  g_string_append (sql, "SELECT ");
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    g_autofree char *name = base_text_sql_identifier (base_type_field (schema, i)->name);
    g_string_append_printf (sql, "%s%s AS c%u", i > 0 ? ", " : "", name, i);
  }
  g_string_append (sql, " FROM read_json(");
  base_text_append_sql_literal (sql, path);
  g_string_append_printf (sql,
                          ", format='newline_delimited', ignore_errors=true, hive_partitioning=false,"
                          " maximum_object_size=%" G_GINT64_FORMAT ", columns={",
                          longest_line (path));
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    g_autofree char *type = duck_type_text (base_type_field (schema, i)->type);
    g_string_append (sql, i > 0 ? ", " : "");
    base_text_append_sql_literal (sql, base_type_field (schema, i)->name);
    g_string_append (sql, ": ");
    base_text_append_sql_literal (sql, type);
  }
  g_string_append_printf (sql, "}) WHERE id IS NOT NULL AND sequence.data_plane_id.seq_no > %" G_GINT64_FORMAT,
                          after_seq);
}

static gint64
folded_sequence (DeltaSnapshot *snapshot)
{
  return snapshot != NULL ? delta_snapshot_txn_version (snapshot, PIPELINE_LOG_APP, -1) : -1;
}

static WriteBatch *
begin_fold (PipelineLog *log, DeltaTable *table, DeltaSnapshot *snapshot, DuckSession *session, GError **error)
{
  WriteOptions options = { .clock = log->clock };
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, session, &options, error);

  if (batch == NULL || snapshot != NULL)
    return g_steal_pointer (&batch);
  g_autoptr (BaseType) schema = pipeline_log_schema ();
  g_autoptr (DeltaMetadata) metadata =
      delta_metadata_new (schema, NULL, NULL, NULL, NULL, base_clock_now_us (&log->clock) / 1000);
  return write_batch_set_metadata (batch, metadata, error) ? g_steal_pointer (&batch) : NULL;
}

/* Cuts the journal after its lines are in the table. Called with the lock held: nothing is appended meanwhile. */
static gboolean
cut_journal (PipelineLog *log, GError **error)
{
  g_autofree char *note = g_strdup_printf ("%" G_GINT64_FORMAT "\n", log->last_seq);

  if (!store_put (log->storage, "system/journal.seq", note, strlen (note), STORE_PUT_SYNCED, error))
    return FALSE;
  return ftruncate (log->fd, 0) == 0 || base_error_set_errno (error, errno, "cut the event journal");
}

static gboolean
fold_locked (PipelineLog *log, Catalog *catalog, DuckSession *session, GError **error)
{
  g_autoptr (DeltaTable) table = events_table (log->storage, catalog, error);
  g_autofree char *path = journal_path (log->storage);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  gboolean exists = FALSE;

  if (table == NULL || !delta_table_exists (table, &exists, error))
    return FALSE;
  if (exists && (snapshot = delta_table_snapshot (table, NULL, error)) == NULL)
    return FALSE;
  if (folded_sequence (snapshot) >= log->last_seq)
    return cut_journal (log, error);
  g_autoptr (WriteBatch) batch = begin_fold (log, table, snapshot, session, error);
  g_autoptr (GString) sql = g_string_new (NULL);
  guint64 n_rows = 0;
  append_journal_scan (sql, path, folded_sequence (snapshot));
  if (batch == NULL || !write_batch_rows (batch, sql->str, WRITE_ROWS_DEFAULT, &n_rows, error))
    return FALSE;
  delta_transaction_set_txn (write_batch_transaction (batch), PIPELINE_LOG_APP, log->last_seq);
  WriteCommit commit = { .operation = "WRITE" };
  gboolean done = FALSE;
  if (!write_batch_attempt (batch, &commit, FALSE, &done, error))
    return FALSE;
  /* A conflict means that another process folded: its txn tells the next fold what is left. */
  if (!done)
    return TRUE;
  if (!cut_journal (log, error))
    return FALSE;
  /* One small file an update adds up; what fails here the next update does. */
  WriteCompacted compacted;
  (void) write_compact (table, session, &log->clock, NULL, &compacted, NULL);
  return TRUE;
}

gboolean
pipeline_log_fold (PipelineLog *log, Catalog *catalog, DuckSession *session, GError **error)
{
  g_mutex_lock (&log->lock);
  gboolean good = fold_locked (log, catalog, session, error);
  g_mutex_unlock (&log->lock);
  if (!good)
    base_error_add_context (error, "folding the event journal into its table");
  return good;
}

/* ---- reading ---- */

typedef struct {
  RelationSource base;
  DeltaSnapshot *snapshot; /* (nullable) */
  char *journal;           /* (nullable): path */
  BaseCancel *cancel;
} LogSource;

static void
append_picked (GString *sql, const RelationScan *scan)
{
  g_string_append (sql, "SELECT ");
  for (guint i = 0; i < scan->n_columns; i++)
    g_string_append_printf (sql, "%sc%u AS %s", i > 0 ? ", " : "", scan->columns[i], scan->names[i]);
  g_string_append (sql, scan->n_columns > 0 ? " FROM (" : "1 AS one FROM (");
}

static gboolean
append_table (LogSource *source, const RelationScan *scan, RelationText *out, GError **error)
{
  guint n = base_type_n_fields (source->base.schema);
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, n);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < n; i++) {
    g_ptr_array_add (names, g_strdup_printf ("c%u", i));
    columns[i] = (DeltaScanColumn){ i, g_ptr_array_index (names, i) };
  }
  DeltaScanRequest request = { .columns = columns, .n_columns = n };
  DeltaScan *text = delta_scan_new (source->snapshot, &request, source->cancel, error);
  if (text == NULL)
    return FALSE;
  append_picked (relation_text_sql (out), scan);
  g_string_append (relation_text_sql (out), delta_scan_sql (text));
  g_string_append_c (relation_text_sql (out), ')');
  relation_text_hold (out, text, (GDestroyNotify) delta_scan_unref);
  return TRUE;
}

static gboolean
log_scan (RelationSource *base, const RelationScan *scan, RelationText *out, GError **error)
{
  LogSource *source = (LogSource *) base;
  GString *sql = relation_text_sql (out);

  if (source->snapshot != NULL && !append_table (source, scan, out, error))
    return FALSE;
  if (source->journal == NULL)
    return TRUE;
  if (source->snapshot != NULL)
    g_string_append (sql, " UNION ALL ");
  append_picked (sql, scan);
  append_journal_scan (sql, source->journal, folded_sequence (source->snapshot));
  g_string_append_c (sql, ')');
  return TRUE;
}

static void
log_source_free (RelationSource *base)
{
  LogSource *source = (LogSource *) base;

  delta_snapshot_unref (source->snapshot);
  g_free (source->journal);
  base_cancel_unref (source->cancel);
  relation_source_clear (base);
  g_free (source);
}

static const RelationSourceClass log_source_class = { log_scan, log_source_free };

RelationSource *
pipeline_log_source (Store *storage, Catalog *catalog, BaseCancel *cancel, GError **error)
{
  g_autoptr (DeltaTable) table = events_table (storage, catalog, error);
  g_autofree char *path = journal_path (storage);
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autoptr (BaseType) schema = pipeline_log_schema ();
  gboolean exists = FALSE;

  if (table == NULL || !delta_table_exists (table, &exists, error))
    return NULL;
  if (exists && (snapshot = delta_table_snapshot (table, cancel, error)) == NULL)
    return NULL;
  gboolean has_journal = g_file_test (path, G_FILE_TEST_IS_REGULAR);
  if (snapshot == NULL && !has_journal) {
    base_error_set (error, SLUICE_ERROR_PIPELINE_EVENT_LOG_NOT_FOUND,
                    "There is no event log in %s: the pipeline never ran", store_root (storage));
    return NULL;
  }
  LogSource *source = g_new0 (LogSource, 1);
  relation_source_init (&source->base, &log_source_class, "event_log", schema, NULL, FALSE);
  source->snapshot = g_steal_pointer (&snapshot);
  source->journal = has_journal ? g_steal_pointer (&path) : NULL;
  source->cancel = base_cancel_ref (cancel);
  return &source->base;
}

/* A stream of its own: see session-stream.h.
 *
 *   lock the checkpoint → bind the query, its STREAM leaves becoming sources → batches, the first of which makes the
 *   sink when it is not there
 */
#include "session-stream.h"

#include "session-private.h"

#include <base-error.h>
#include <base-text.h>
#include <delta-snapshot.h>
#include <delta-table.h>
#include <relation-resolver.h>
#include <store.h>
#include <stream-run.h>
#include <stream-sink.h>
#include <stream-table.h>
#include <string.h>

#define LOCK_KEY "sluice.lock"

/* The names of the query: what it reads with STREAM becomes a source of the run, all else is the session's. */
typedef struct {
  RelationResolver base;
  SluiceSession *session;
  StreamProgress *progress;
  GPtrArray *sources; /* StreamSource */
  gboolean no_limits;
} StreamResolver;

typedef struct {
  SluiceSession *session;
  const SessionStream *stream;
  StoreLock *lock;
  StreamProgress *progress;
  StreamResolver resolver;
  RelationContext context;
  SqlArena *arena;
  RelationPlan *plan;
  char **sink_parts;
  char *sink_name;
  DeltaTable *sink_table;
  StreamSink *sink;
} Work;

static void
work_clear (Work *work)
{
  stream_table_sink_free (work->sink);
  relation_plan_unref (work->plan);
  g_clear_pointer (&work->resolver.sources, g_ptr_array_unref);
  g_clear_pointer (&work->arena, sql_arena_unref);
  delta_table_unref (work->sink_table);
  g_strfreev (work->sink_parts);
  g_free (work->sink_name);
  stream_progress_free (work->progress);
  store_lock_release (work->lock);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

/* ---- names ---- */

/* The parts of a table's name, or of a directory: `delta` and its path. Returns: (transfer full): NULL-terminated. */
static char **
parts_of (const char *text, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  gboolean is_uri = g_ascii_strncasecmp (text, "file:", 5) == 0;

  if (is_uri || (strchr (text, '/') != NULL && strchr (text, '`') == NULL)) {
    g_autofree char *path = is_uri ? g_strdup (text) : g_canonicalize_filename (text, NULL);
    g_strv_builder_add (builder, "delta");
    g_strv_builder_add (builder, path);
    return g_strv_builder_end (builder);
  }
  SqlArena *arena = sql_arena_new ();
  SqlName *name = sql_parse_name (arena, text, -1, error);
  for (guint i = 0; name != NULL && i < name->n; i++)
    g_strv_builder_add (builder, name->parts[i].text);
  char **parts = name != NULL ? g_strv_builder_end (builder) : NULL;
  sql_arena_unref (arena);
  return parts;
}

static char *
name_text (char *const *parts)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; parts[i] != NULL; i++) {
    g_autofree char *part = base_text_spark_identifier (parts[i]);
    g_string_append_printf (text, "%s%s", i > 0 ? "." : "", part);
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- the query ---- */

static gboolean
find_stream (StreamResolver *resolver, const RelationTableRequest *request, RelationTableAnswer *answer, GError **error)
{
  CatalogSession *names = resolver->session->names;
  g_auto (CatalogReference) reference = { 0 };
  g_autofree char *name = g_strjoinv (".", (char **) request->parts);

  if (!catalog_session_resolve (names, request->parts, request->n_parts, &reference, error))
    return FALSE;
  if (reference.kind == CATALOG_REFERENCE_ABSENT)
    return TRUE;
  gboolean is_table = reference.kind == CATALOG_REFERENCE_TABLE || reference.kind == CATALOG_REFERENCE_PATH;
  if (!is_table || g_strcmp0 (reference.provider, "delta") != 0)
    return base_error_set (error, SLUICE_ERROR_INCOMPATIBLE_BATCH_VIEW_READ,
                           "%s cannot be read with STREAM: it is not a Delta table", name);
  if (request->version >= 0 || request->timestamp_us != RELATION_NO_TIME)
    return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS,
                           "A stream has no time travel: startingVersion and startingTimestamp say where it begins");
  g_autoptr (DeltaSnapshot) snapshot = catalog_session_snapshot (names, &reference, -1, RELATION_NO_TIME, error);
  if (snapshot == NULL)
    return FALSE;
  StreamTableRequest source = { .index = resolver->sources->len,
                                .name = name,
                                .snapshot = snapshot,
                                .options = request->options,
                                .settings = resolver->session->settings,
                                .session = resolver->session->duck,
                                .progress = resolver->progress,
                                .no_limits = resolver->no_limits,
                                .cancel = resolver->session->cancel };
  StreamSource *made = stream_table_new (&source, error);
  if (made == NULL)
    return FALSE;
  g_ptr_array_add (resolver->sources, made);
  answer->source = relation_source_ref (made->leaf);
  return TRUE;
}

static gboolean
find_table (RelationResolver *base, const RelationTableRequest *request, RelationTableAnswer *answer, GError **error)
{
  StreamResolver *resolver = (StreamResolver *) base;
  RelationResolver *names = catalog_session_resolver (resolver->session->names);

  return request->streaming ? find_stream (resolver, request, answer, error)
                            : names->klass->find_table (names, request, answer, error);
}

static gboolean
find_table_function (RelationResolver *base, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                     GError **error)
{
  StreamResolver *resolver = (StreamResolver *) base;
  RelationResolver *names = catalog_session_resolver (resolver->session->names);
  const char *function = request->parts[request->n_parts - 1];
  g_auto (GStrv) parts = NULL;
  g_auto (GStrv) options = NULL;

  if (!request->streaming)
    return names->klass->find_table_function == NULL ||
           names->klass->find_table_function (names, request, answer, error);
  if (g_ascii_strcasecmp (function, "table_changes") != 0) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_STREAMING_OPERATION, "%s cannot be read with STREAM here",
                    function);
    base_error_set_hint (error, "streams of files belong into a pipeline: sluice run");
    return FALSE;
  }
  if (!catalog_table_changes_stream (resolver->session->names, request, &parts, &options, error))
    return FALSE;
  RelationTableRequest table = { .parts = (const char *const *) parts,
                                 .n_parts = g_strv_length (parts),
                                 .version = -1,
                                 .timestamp_us = RELATION_NO_TIME,
                                 .options = (const char *const *) options,
                                 .streaming = TRUE };
  return find_stream (resolver, &table, answer, error);
}

static char **
list_tables (RelationResolver *base)
{
  RelationResolver *names = catalog_session_resolver (((StreamResolver *) base)->session->names);

  return names->klass->list_tables != NULL ? names->klass->list_tables (names) : NULL;
}

static const RelationResolverClass stream_resolver_class = { find_table, find_table_function, list_tables };

static void
init_resolver (Work *work)
{
  SluiceSession *session = work->session;
  RelationResolver *names = catalog_session_resolver (session->names);

  work->resolver =
      (StreamResolver){ .base = { &stream_resolver_class, names->catalog, names->schema, names->user, names->place },
                        .session = session,
                        .progress = work->progress,
                        .no_limits = work->stream->trigger == SESSION_TRIGGER_ONCE };
  work->resolver.sources = g_ptr_array_new_with_free_func ((GDestroyNotify) stream_source_free);
  work->context = (RelationContext){ .resolver = &work->resolver.base,
                                     .settings = session->settings,
                                     .now_us = base_clock_now_us (&session->warehouse->clock),
                                     .session = session->duck,
                                     .text = work->stream->query };
}

/* `SELECT *` of the one table. */
static RelationPlan *
bind_source (Work *work, GError **error)
{
  g_auto (GStrv) parts = parts_of (work->stream->source, error);
  RelationTableAnswer answer = { 0 };

  if (parts == NULL)
    return NULL;
  RelationTableRequest request = { .parts = (const char *const *) parts,
                                   .n_parts = g_strv_length (parts),
                                   .version = -1,
                                   .timestamp_us = RELATION_NO_TIME,
                                   .options = work->stream->options,
                                   .streaming = TRUE };
  if (!find_stream (&work->resolver, &request, &answer, error))
    return NULL;
  if (answer.source == NULL) {
    (void) catalog_session_set_not_found (work->session->names, request.parts, request.n_parts, error);
    return NULL;
  }
  RelationPlan *plan = relation_plan_new_source (answer.source);
  relation_table_answer_clear (&answer);
  return plan;
}

static RelationPlan *
bind_query (Work *work, GError **error)
{
  work->arena = sql_arena_new ();
  SqlQuery *query = sql_parse_query (work->arena, work->stream->query, -1, NULL, error);

  return query != NULL ? relation_plan_new_query (query, &work->context, error) : NULL;
}

static gboolean
bind (Work *work, GError **error)
{
  init_resolver (work);
  work->plan = work->stream->query != NULL ? bind_query (work, error) : bind_source (work, error);
  if (work->plan == NULL)
    return FALSE;
  if (!relation_plan_is_streaming (work->plan)) {
    base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "The query reads no stream");
    base_error_set_hint (error, "name the table to follow with STREAM: SELECT … FROM STREAM t");
    return FALSE;
  }
  return work->stream->complete || relation_plan_check_append (work->plan, error);
}

/* ---- the checkpoint ---- */

static gboolean
open_checkpoint (Work *work, GError **error)
{
  g_autoptr (Store) store = store_open (work->session->warehouse->stores, work->stream->checkpoint, error);

  if (store == NULL || !store_lock_try (store, LOCK_KEY, &work->lock, error))
    return FALSE;
  if (work->lock == NULL) {
    base_error_set (error, SLUICE_ERROR_CONCURRENT_STREAM_LOG_UPDATE, "Another stream uses the checkpoint %s",
                    store_root (store));
    base_error_set_hint (error, "wait for it to end; the lock is freed when its process ends");
    return FALSE;
  }
  work->progress = stream_progress_open_checkpoint (store, error);
  return work->progress != NULL;
}

/* ---- the sink ---- */

/* A table with the columns of the query, all of them nullable. */
static char *
creation_text (const Work *work)
{
  BaseType *schema = relation_plan_schema (work->plan);
  const char *const *partitions = work->stream->partition_by;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < base_type_n_fields (schema); i++)
    base_struct_builder_add (builder, base_type_field (schema, i)->name, base_type_field (schema, i)->type, TRUE, NULL);
  g_autoptr (BaseType) nullable = base_struct_builder_end (g_steal_pointer (&builder));
  g_autofree char *columns = base_type_ddl (nullable);
  g_string_append_printf (text, "CREATE TABLE IF NOT EXISTS %s (%s) USING DELTA", work->sink_name, columns);
  for (guint i = 0; partitions != NULL && partitions[i] != NULL; i++) {
    g_autofree char *column = base_text_spark_identifier (partitions[i]);
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : " PARTITIONED BY (", column);
  }
  g_string_append (text, partitions != NULL && partitions[0] != NULL ? ")" : "");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
make_sink (Work *work, GError **error)
{
  g_autofree char *text = creation_text (work);
  g_autoptr (SluiceResult) result = session_run (work->session, text, -1, NULL, error);

  return result != NULL;
}

static gboolean
resolve_sink (Work *work, char *const *parts, CatalogReference *reference, gboolean *is_there, GError **error)
{
  SluiceSession *session = work->session;

  if (!catalog_session_resolve (session->names, (const char *const *) parts, g_strv_length ((char **) parts), reference,
                                error))
    return FALSE;
  *is_there = FALSE;
  if (reference->kind == CATALOG_REFERENCE_ABSENT)
    return TRUE;
  gboolean is_table = reference->kind == CATALOG_REFERENCE_TABLE || reference->kind == CATALOG_REFERENCE_PATH;
  if (!is_table || g_strcmp0 (reference->provider, "delta") != 0 ||
      (reference->entry != NULL && reference->entry->kind == CATALOG_KIND_MATERIALIZED_VIEW))
    return base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ONLY_OPERATION,
                           "A stream writes into Delta tables only, and %s is none", work->sink_name);
  DeltaTable *table = catalog_delta_table (session->warehouse->catalog, reference->location, error);
  if (table == NULL)
    return FALSE;
  delta_table_unref (work->sink_table);
  work->sink_table = table;
  return delta_table_exists (table, is_there, error);
}

/* A StreamSinkOpen. */
static DeltaTable *
open_sink (gboolean make, gpointer data, GError **error)
{
  Work *work = data;
  g_auto (CatalogReference) reference = { 0 };
  gboolean is_there = FALSE;

  if (!resolve_sink (work, work->sink_parts, &reference, &is_there, error))
    return NULL;
  if (!is_there && !make)
    return NULL;
  if (!is_there) {
    catalog_reference_clear (&reference);
    if (!make_sink (work, error) || !resolve_sink (work, work->sink_parts, &reference, &is_there, error))
      return NULL;
  }
  if (!is_there) {
    base_error_set (error, SLUICE_ERROR_TABLE_OR_VIEW_NOT_FOUND, "The sink %s is gone", work->sink_name);
    return NULL;
  }
  return delta_table_ref (work->sink_table);
}

static gboolean
name_sink (Work *work, GError **error)
{
  work->sink_parts = parts_of (work->stream->sink, error);
  if (work->sink_parts == NULL)
    return FALSE;
  work->sink_name = name_text (work->sink_parts);
  return TRUE;
}

/* ---- batches ---- */

static void
report (const StreamSinkReport *batch, gpointer data)
{
  const SessionStream *stream = data;
  SessionStreamReport told = { batch->batch,   batch->n_rows,    batch->n_bytes,
                               batch->version, batch->was_there, batch->duration_us };

  if (stream->listener != NULL)
    stream->listener (&told, stream->listener_data);
}

static void
make_sink_object (Work *work)
{
  StreamTableSinkRequest request = { .open = open_sink,
                                     .open_data = work,
                                     .name = work->sink_name,
                                     .plan = work->plan,
                                     .context = &work->context,
                                     .session = work->session->duck,
                                     .mode = work->stream->complete ? STREAM_OUTPUT_COMPLETE : STREAM_OUTPUT_APPEND,
                                     .merge_schema = work->stream->merge_schema,
                                     .cancel = work->session->cancel,
                                     .listener = report,
                                     .listener_data = (gpointer) work->stream };

  work->sink = stream_table_sink_new (&request);
}

typedef struct {
  GMutex mutex;
  GCond cond;
  gboolean woken;
} Alarm;

static void
wake (gpointer data)
{
  Alarm *alarm = data;

  g_mutex_lock (&alarm->mutex);
  alarm->woken = TRUE;
  g_cond_signal (&alarm->cond);
  g_mutex_unlock (&alarm->mutex);
}

/* Until @deadline_us (monotonic) or a cancel. */
static void
wait_until (gint64 deadline_us, BaseCancel *cancel)
{
  Alarm alarm = { 0 };

  g_mutex_init (&alarm.mutex);
  g_cond_init (&alarm.cond);
  guint hook = base_cancel_add_hook (cancel, wake, &alarm);
  g_mutex_lock (&alarm.mutex);
  while (!alarm.woken && g_cond_wait_until (&alarm.cond, &alarm.mutex, deadline_us))
    ;
  g_mutex_unlock (&alarm.mutex);
  base_cancel_remove_hook (cancel, hook);
  g_cond_clear (&alarm.cond);
  g_mutex_clear (&alarm.mutex);
}

static gboolean
run_batches (Work *work, GError **error)
{
  BaseCancel *cancel = work->session->cancel;
  gboolean for_ever = work->stream->trigger == SESSION_TRIGGER_PROCESSING_TIME;
  StreamRun run = { .progress = work->progress,
                    .sources = (StreamSource **) work->resolver.sources->pdata,
                    .n_sources = work->resolver.sources->len,
                    .sink = work->sink,
                    .clock = work->session->warehouse->clock,
                    .whole = work->stream->complete,
                    .max_batches = work->stream->trigger == SESSION_TRIGGER_AVAILABLE_NOW ? 0 : 1,
                    .cancel = cancel };

  for (;;) {
    StreamRunOutcome outcome;
    g_autoptr (GError) failure = NULL;
    gint64 began_us = g_get_monotonic_time ();
    if (!stream_run_available (&run, &outcome, &failure)) {
      if (for_ever && base_cancel_is_raised (cancel))
        return TRUE; /* the batch that was cut short is applied again by the next run */
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    if (!for_ever)
      return TRUE;
    /* Without an interval: at once while there is something to read, else a look now and then. */
    gint64 pause_us = work->stream->interval_us > 0 ? work->stream->interval_us
                      : outcome.n_batches > 0       ? 0
                                                    : G_TIME_SPAN_SECOND / 5;
    wait_until (began_us + pause_us, cancel);
    if (base_cancel_is_raised (cancel))
      return TRUE;
  }
}

gboolean
session_stream_run (SluiceSession *session, const SessionStream *stream, guint64 *n_skipped, GError **error)
{
  g_auto (Work) work = { .session = session, .stream = stream };

  *n_skipped = 0;
  if ((stream->source == NULL) == (stream->query == NULL))
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "A stream reads either a table or a query");
  catalog_session_set_cancel (session->names, session->cancel);
  if (!open_checkpoint (&work, error) || !bind (&work, error) || !name_sink (&work, error))
    return FALSE;
  make_sink_object (&work);
  gboolean good = run_batches (&work, error);
  for (guint i = 0; i < work.resolver.sources->len; i++)
    *n_skipped += ((const StreamSource *) g_ptr_array_index (work.resolver.sources, i))->n_skipped;
  return good;
}

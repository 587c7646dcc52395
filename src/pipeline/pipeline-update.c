/* One update: see pipeline-update.h. The scheduler is one loop: it starts what may start, waits for an end, and looks again. */
#include "pipeline-update.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "catalog-session.h"
#include "duck-session.h"
#include "pipeline-flow.h"
#include "pipeline-setup.h"

#include <string.h>

#define MAX_RESTARTS         1000
#define FIRST_RETRY_DELAY_US (1 * G_USEC_PER_SEC)

const char *
pipeline_flow_status_text (PipelineFlowStatus status)
{
  static const char *const texts[] = { "QUEUED", "STARTING", "RUNNING", "COMPLETED",
                                       "FAILED", "SKIPPED",  "STOPPED", "EXCLUDED" };

  return texts[status];
}

static void
flow_summary_free (PipelineFlowSummary *summary)
{
  g_free (summary->flow);
  g_free (summary->dataset);
  g_clear_error (&summary->failure);
  g_free (summary);
}

static PipelineSummary *
summary_new (void)
{
  PipelineSummary *summary = g_new0 (PipelineSummary, 1);

  summary->update_id = base_text_uuid ();
  summary->problems = g_ptr_array_new_with_free_func ((GDestroyNotify) g_error_free);
  summary->warnings = g_ptr_array_new_with_free_func (g_free);
  summary->flows = g_ptr_array_new_with_free_func ((GDestroyNotify) flow_summary_free);
  return summary;
}

void
pipeline_summary_free (PipelineSummary *summary)
{
  if (summary == NULL)
    return;
  g_free (summary->update_id);
  g_ptr_array_unref (summary->problems);
  g_ptr_array_unref (summary->warnings);
  g_ptr_array_unref (summary->flows);
  g_free (summary);
}

/* ---- spec's settings ---- */

BaseSettings *
pipeline_spec_settings (const PipelineSpec *spec, GError **error)
{
  g_autoptr (BaseSettings) settings = base_settings_new (NULL);

  for (guint i = 0; i + 1 < spec->configuration->len; i += 2)
    if (!base_settings_set (settings, g_ptr_array_index (spec->configuration, i),
                            g_ptr_array_index (spec->configuration, i + 1), error)) {
      base_error_set_position (error, spec->path, 0, 0, NULL);
      return NULL;
    }
  return g_steal_pointer (&settings);
}

char *
pipeline_spec_warehouse (const PipelineSpec *spec, BaseSettings *settings)
{
  const char *given = base_settings_get (settings, "spark.sql.warehouse.dir");

  if (given == NULL)
    return g_build_filename (spec->directory, "warehouse", NULL);
  return strstr (given, ":/") != NULL ? g_strdup (given) : g_canonicalize_filename (given, spec->directory);
}

/* ---- one update's state ---- */

typedef enum { WAITING, RUNNING, ENDED } Phase;

typedef struct Update Update;

typedef struct {
  Update *update;
  PipelineFlow *flow;
  gboolean selected;
  Phase phase;
  PipelineFlowStatus status;
  PipelineFlowTotals totals;
  gint64 duration_us;
  GError *failure;
  GThread *thread;
} FlowState;

struct Update {
  const PipelineSpec *spec;
  const PipelineEnvironment *environment;
  const PipelineUpdateOptions *options;
  BaseSettings *settings;
  PipelineSummary *summary;
  char *pipeline_id;
  Store *storage;
  StoreLock *lock;
  PipelineLog *log;
  PipelineProject *project;
  DuckSession *duck;
  CatalogSession *catalog;
  PipelineGraph *graph;
  PipelineRun run;
  FlowState *flows;       /* by flow index */
  gboolean *full_refresh; /* by dataset index */
  gboolean *selected;     /* by dataset index */
  GMutex mutex;           /* guards phase, status, failure of flows while threads run */
  GCond ended;
};

static void
update_clear (Update *update)
{
  for (guint i = 0; update->flows != NULL && i < pipeline_project_n_flows (update->project); i++)
    g_clear_error (&update->flows[i].failure);
  g_free (update->flows);
  g_free (update->full_refresh);
  g_free (update->selected);
  pipeline_graph_free (update->graph);
  catalog_session_free (update->catalog);
  duck_session_free (update->duck);
  pipeline_project_free (update->project);
  pipeline_log_free (update->log);
  store_lock_release (update->lock);
  store_unref (update->storage);
  g_free (update->pipeline_id);
  g_mutex_clear (&update->mutex);
  g_cond_clear (&update->ended);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Update, update_clear)

/* ---- events ---- */

static gboolean write_event (Update *update, PipelineLevel level, const char *type, json_t *details, gboolean durable,
                             const GError *failure, GError **error, const char *format, ...) G_GNUC_PRINTF (8, 9);
static gboolean
write_event (Update *update, PipelineLevel level, const char *type, json_t *details, gboolean durable,
             const GError *failure, GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  PipelineEvent event = { .level = level,
                          .type = type,
                          .message = message,
                          .batch = -1,
                          .details = details,
                          .failure = failure,
                          .durable = durable };
  return pipeline_log_write (update->log, &event, error);
}

static gboolean
write_progress (Update *update, const char *state, const GError *failure, GError **error)
{
  gboolean is_end =
      strcmp (state, "COMPLETED") == 0 || strcmp (state, "FAILED") == 0 || strcmp (state, "CANCELED") == 0;

  return write_event (update, failure != NULL ? PIPELINE_LEVEL_ERROR : PIPELINE_LEVEL_INFO, "update_progress",
                      json_pack ("{s:s}", "state", state), is_end, failure, error, "Update %.8s is %s.",
                      update->summary->update_id, state);
}

static gboolean
write_flow_event (Update *update, const FlowState *state, PipelineFlowStatus status, const GError *failure,
                  GError **error)
{
  const char *text = pipeline_flow_status_text (status);
  g_autofree char *message = g_strdup_printf ("Flow '%s' is %s.", state->flow->name, text);
  g_autofree char *flow_id =
      state->flow->kind == PIPELINE_FLOW_COMPLETE ? NULL : pipeline_flow_id (&update->run, state->flow);
  PipelineEvent event = { .level = failure != NULL                   ? PIPELINE_LEVEL_ERROR
                                   : status == PIPELINE_FLOW_SKIPPED ? PIPELINE_LEVEL_WARN
                                                                     : PIPELINE_LEVEL_INFO,
                          .type = "flow_progress",
                          .message = message,
                          .flow_id = flow_id,
                          .batch = -1,
                          .details = json_pack ("{s:s}", "status", text),
                          .failure = failure };

  return pipeline_flow_log (update->log, state->flow, event, error);
}

static json_t *
string_list (const char *const *strings)
{
  json_t *list = json_array ();

  for (guint i = 0; strings != NULL && strings[i] != NULL; i++)
    json_array_append_new (list, json_string (strings[i]));
  return list;
}

static json_t *
configuration_json (const Update *update)
{
  json_t *object = json_object ();

  for (guint i = 0; i + 1 < update->spec->configuration->len; i += 2)
    json_object_set_new (object, g_ptr_array_index (update->spec->configuration, i),
                         json_string (g_ptr_array_index (update->spec->configuration, i + 1)));
  return object;
}

/* A misspelt setting of pipelines would silently do nothing; others are the user's own, for ${…}. */
static gboolean
write_setting_warnings (Update *update, GError **error)
{
  g_auto (GStrv) settings = base_settings_list (update->settings);

  for (guint i = 0; settings[i] != NULL; i += 2) {
    const char *key = settings[i];
    g_autofree char *near = NULL;

    if (!g_str_has_prefix (key, "pipelines.") || base_settings_row (key) != NULL)
      continue;
    near = base_settings_near (key);
    if (!write_event (update, PIPELINE_LEVEL_WARN, "update_progress", json_pack ("{s:s}", "state", "INITIALIZING"),
                      FALSE, NULL, error, "There is no setting \"%s\": it has no effect%s%s.", key,
                      near != NULL ? "; did you mean " : "", near != NULL ? near : ""))
      return FALSE;
  }
  return TRUE;
}

static gboolean
write_start_events (Update *update, gboolean is_retry, GError **error)
{
  const char *user = update->environment->user != NULL ? update->environment->user : "unknown";
  json_t *created =
      json_pack ("{s:s, s:s, s:b, s:o, s:o, s:b, s:o}", "run_as", user, "cause", is_retry ? "RETRY" : "USER_ACTION",
                 "full_refresh", update->options->full_refresh_all, "full_refresh_selection",
                 string_list (update->options->full_refresh), "refresh_selection",
                 string_list (update->options->refresh), "validate_only", 0, "config", configuration_json (update));

  return write_event (update, PIPELINE_LEVEL_INFO, "create_update", created, FALSE, NULL, error,
                      "Update %.8s started by %s.", update->summary->update_id, user) &&
         write_event (update, PIPELINE_LEVEL_INFO, "user_action",
                      json_pack ("{s:s, s:s}", "action", "START", "user_name", user), FALSE, NULL, error,
                      "User %s performed START on the pipeline.", user) &&
         write_event (update, PIPELINE_LEVEL_INFO, "runtime_details",
                      json_pack ("{s:s, s:s}", "engine", "Sluice", "version", SLUICE_VERSION), FALSE, NULL, error,
                      "Sluice %s.", SLUICE_VERSION) &&
         write_progress (update, "INITIALIZING", NULL, error) && write_setting_warnings (update, error);
}

static gboolean
write_property_warnings (Update *update, const PipelineDataset *dataset, const SqlPropertyList *properties,
                         GError **error)
{
  for (guint i = 0; i < properties->n; i++) {
    g_autofree char *warning = pipeline_property_warning (properties->items[i].key);
    if (warning != NULL &&
        !write_event (update, PIPELINE_LEVEL_WARN, "update_progress", json_pack ("{s:s}", "state", "INITIALIZING"),
                      FALSE, NULL, error, "Dataset '%s': %s", dataset->label, warning))
      return FALSE;
  }
  return TRUE;
}

static gboolean
write_dataset_definition (Update *update, const PipelineDataset *dataset, GError **error)
{
  static const char *const types[] = { "STREAMING_TABLE", "MATERIALIZED_VIEW", "TEMPORARY_VIEW", "VIEW" };
  const SqlExpectationList *expectations = pipeline_dataset_expectations (dataset);
  BaseType *schema = pipeline_graph_schema (update->graph, dataset);
  g_autofree char *ddl = schema != NULL ? base_type_ddl (schema) : g_strdup ("");
  const SqlPropertyList *properties = dataset->table != NULL ? &dataset->table->properties : &dataset->view->properties;
  json_t *expectation_names = json_array ();
  json_t *property_object = json_object ();
  json_t *partitions = json_array ();

  for (guint i = 0; i < expectations->n; i++)
    json_array_append_new (expectation_names, json_string (expectations->items[i].name.text));
  for (guint i = 0; i < properties->n; i++)
    json_object_set_new (property_object, properties->items[i].key, json_string (properties->items[i].value));
  for (guint i = 0; dataset->table != NULL && i < dataset->table->n_partitioned_by; i++)
    json_array_append_new (partitions, json_string (dataset->table->partitioned_by[i].name.text));
  g_autofree char *message = g_strdup_printf ("Dataset '%s' defined.", dataset->label);
  PipelineEvent event = { .type = "dataset_definition",
                          .message = message,
                          .dataset = dataset->label,
                          .batch = -1,
                          .details = json_pack ("{s:s, s:I, s:o, s:s, s:o, s:o}", "dataset_type", types[dataset->kind],
                                                "num_flows", (json_int_t) dataset->flows->len, "expectations",
                                                expectation_names, "schema", ddl, "table_properties", property_object,
                                                "partition_columns", partitions) };
  return pipeline_log_write (update->log, &event, error) &&
         write_property_warnings (update, dataset, properties, error);
}

static gboolean
write_flow_warnings (Update *update, const PipelineFlow *flow, GError **error)
{
  const GPtrArray *warnings = pipeline_graph_flow_warnings (update->graph, flow);

  for (guint i = 0; i < warnings->len; i++) {
    PipelineEvent event = { .level = PIPELINE_LEVEL_WARN,
                            .type = "flow_definition",
                            .message = g_ptr_array_index (warnings, i),
                            .batch = -1,
                            .details = json_object () };
    if (!pipeline_flow_log (update->log, flow, event, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
write_flow_definition (Update *update, const PipelineFlow *flow, GError **error)
{
  static const char *const types[] = { "APPEND", "CHANGE", "MATERIALIZED_VIEW" };
  BaseType *schema = pipeline_graph_schema (update->graph, flow->target);
  g_autofree char *ddl = schema != NULL ? base_type_ddl (schema) : g_strdup ("");
  g_autofree char *message = g_strdup_printf ("Flow '%s' defined.", flow->name);
  PipelineEvent event = { .type = "flow_definition",
                          .message = message,
                          .batch = -1,
                          .details =
                              json_pack ("{s:o, s:s, s:s, s:s, s:s, s:b, s:o}", "input_datasets",
                                         string_list (pipeline_graph_flow_inputs (update->graph, flow)),
                                         "output_dataset", flow->target->label, "flow_type",
                                         pipeline_flow_is_snapshot (flow) ? "SNAPSHOT_CHANGE" : types[flow->kind],
                                         "schema", ddl, "language", "SQL", "once", flow->once, "comment",
                                         flow->comment != NULL ? json_string (flow->comment) : json_null ()) };
  return pipeline_flow_log (update->log, flow, event, error) && write_flow_warnings (update, flow, error);
}

static gboolean
write_definitions (Update *update, GError **error)
{
  for (guint i = 0; i < pipeline_graph_n_datasets (update->graph); i++)
    if (!write_dataset_definition (update, pipeline_graph_dataset (update->graph, i), error))
      return FALSE;
  for (guint i = 0; i < pipeline_project_n_flows (update->project); i++)
    if (!write_flow_definition (update, pipeline_project_flow (update->project, i), error))
      return FALSE;
  return write_event (update, PIPELINE_LEVEL_INFO, "graph_created",
                      json_pack ("{s:I, s:I}", "num_datasets",
                                 (json_int_t) pipeline_project_n_datasets (update->project), "num_flows",
                                 (json_int_t) pipeline_project_n_flows (update->project)),
                      FALSE, NULL, error, "The graph has %u datasets and %u flows.",
                      pipeline_project_n_datasets (update->project), pipeline_project_n_flows (update->project));
}

/* ---- identity ---- */

/* The pipeline's id: the setting, else the one kept in storage, made at the first run. @id NULL: not known and nothing may be written. */
static gboolean
find_pipeline_id (Store *storage, BaseSettings *settings, gboolean may_make, char **id, GError **error)
{
  const char *given = base_settings_get (settings, "pipelines.id");
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *fresh = base_text_uuid ();
  StorePutOutcome outcome;

  if (given != NULL) {
    *id = g_strdup (given);
    return TRUE;
  }
  if (!store_read (storage, "system/pipeline-id", &bytes, error))
    return FALSE;
  if (bytes == NULL && may_make) {
    if (!store_put_if_absent (storage, "system/pipeline-id", fresh, strlen (fresh), &outcome, NULL, error) ||
        !store_read (storage, "system/pipeline-id", &bytes, error))
      return FALSE;
  }
  if (bytes != NULL) {
    *id = g_strndup (g_bytes_get_data (bytes, NULL), MIN (g_bytes_get_size (bytes), 100));
    g_strstrip (*id);
  }
  return TRUE;
}

/* Lets event_log() find the storage of a pipeline by its id, from the warehouse alone. */
static char *
registry_key (const char *id)
{
  g_autofree char *escaped = g_uri_escape_string (id, NULL, FALSE);

  return g_strconcat (".sluice/pipelines/", escaped, NULL);
}

static gboolean
register_pipeline (Update *update, GError **error)
{
  g_autoptr (Store) warehouse =
      store_open (update->environment->stores, catalog_warehouse (update->environment->catalog), error);
  g_autofree char *key = registry_key (update->pipeline_id);
  g_autoptr (GBytes) now = NULL;

  if (warehouse == NULL || !store_read (warehouse, key, &now, error))
    return FALSE;
  g_autoptr (GBytes) wanted = g_bytes_new (update->spec->storage, strlen (update->spec->storage));
  if (now != NULL && g_bytes_equal (now, wanted))
    return TRUE;
  return store_put (warehouse, key, update->spec->storage, strlen (update->spec->storage), STORE_PUT_SYNCED, error);
}

/* ---- opening ---- */

static gboolean
open_environment (Update *update, gboolean may_write, GError **error)
{
  const PipelineEnvironment *environment = update->environment;

  update->storage = store_open (environment->stores, update->spec->storage, error);
  if (update->storage == NULL ||
      !find_pipeline_id (update->storage, update->settings, may_write, &update->pipeline_id, error))
    return FALSE;
  update->duck = duck_session_new (catalog_engine (environment->catalog), error);
  if (update->duck == NULL)
    return FALSE;
  CatalogSessionOptions options = {
    .settings = update->settings, .duck = update->duck, .user = environment->user, .owner_pipeline = update->pipeline_id
  };
  update->catalog = catalog_session_new (environment->catalog, &options);
  return TRUE;
}

static void
set_run (Update *update)
{
  const PipelineEnvironment *environment = update->environment;

  update->run = (PipelineRun){ .project = update->project,
                               .catalog = environment->catalog,
                               .storage = update->storage,
                               .stores = environment->stores,
                               .log = update->log,
                               .clock = environment->clock,
                               .cancel = environment->cancel,
                               .user = environment->user,
                               .pipeline_id = update->pipeline_id };
}

/* Which datasets the options name. */
static gboolean
mark_names (Update *update, const char *const *names, gboolean *marks, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++) {
    PipelineDataset *dataset =
        pipeline_project_find_text (update->project, names[i], pipeline_project_schema (update->project));
    if (dataset == NULL || !pipeline_dataset_is_stored (dataset)) {
      base_error_set (error, SLUICE_ERROR_PIPELINE_REFRESH_TARGET_NOT_FOUND,
                      "The pipeline has no table `%s` to refresh", names[i]);
      base_error_set_hint (error, "it takes names of tables, not of flows; `sluice graph` prints them");
      return FALSE;
    }
    marks[dataset->index] = TRUE;
  }
  return TRUE;
}

/* Returns: (transfer none) (nullable): the streaming flow of that name. */
static const PipelineFlow *
find_stream (const Update *update, const char *name)
{
  for (guint i = 0; i < pipeline_project_n_flows (update->project); i++) {
    const PipelineFlow *flow = pipeline_project_flow (update->project, i);
    if (flow->target != NULL && flow->kind != PIPELINE_FLOW_COMPLETE && !pipeline_flow_is_snapshot (flow) &&
        base_text_equal_ignore_case (flow->name, name))
      return flow;
  }
  return NULL;
}

static gboolean
check_checkpoints (const Update *update, const char *const *names, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (find_stream (update, names[i]) == NULL) {
      base_error_set (error, SLUICE_ERROR_PIPELINE_REFRESH_TARGET_NOT_FOUND,
                      "The pipeline has no streaming flow `%s` to reset", names[i]);
      base_error_set_hint (error, "it takes names of flows; a table with a query of its own has a flow of its name");
      return FALSE;
    }
  return TRUE;
}

/* Names of the flows that failed in the last update, one a line. */
static gboolean
mark_failed (Update *update, gboolean *marks, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;

  if (!store_read (update->storage, "system/failed-flows", &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return TRUE;
  g_autofree char *text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  g_auto (GStrv) names = g_strsplit (text, "\n", -1);
  for (guint i = 0; i < pipeline_project_n_flows (update->project); i++) {
    const PipelineFlow *flow = pipeline_project_flow (update->project, i);
    if (flow->target != NULL && g_strv_contains ((const char *const *) names, flow->name))
      marks[flow->target->index] = TRUE;
  }
  return TRUE;
}

static gboolean
select_datasets (Update *update, GError **error)
{
  const PipelineUpdateOptions *options = update->options;
  guint n = pipeline_project_n_datasets (update->project);
  gboolean all = options->refresh == NULL && options->full_refresh == NULL && !options->refresh_failed;

  update->selected = g_new0 (gboolean, n + 1);
  update->full_refresh = g_new0 (gboolean, n + 1);
  for (guint i = 0; i < n; i++)
    update->selected[i] = all || options->full_refresh_all;
  if (!check_checkpoints (update, options->reset_checkpoint, error) ||
      !mark_names (update, options->full_refresh, update->full_refresh, error) ||
      !mark_names (update, options->refresh, update->selected, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    update->selected[i] = update->selected[i] || update->full_refresh[i];
  return !options->refresh_failed || mark_failed (update, update->selected, error);
}

/* Loads the project and resolves the graph; problems go to the summary. */
static gboolean
validate (Update *update, GError **error)
{
  GPtrArray *problems = update->summary->problems;

  update->project = pipeline_project_load (update->spec, update->settings, problems, error);
  if (update->project == NULL)
    return FALSE;
  set_run (update);
  if (problems->len > 0)
    return TRUE;
  if (!select_datasets (update, error))
    return FALSE;
  PipelineBindingOptions binding = { .project = update->project,
                                     .catalog = update->catalog,
                                     .session = update->duck,
                                     .stores = update->environment->stores,
                                     .cancel = update->environment->cancel,
                                     .now_us = base_clock_now_us (&update->environment->clock) };
  PipelineResetRequest reset = { update->options->full_refresh_all, update->full_refresh };
  update->graph = pipeline_graph_new (&binding, update->storage, update->pipeline_id, &reset, problems);
  update->run.graph = update->graph;
  return base_cancel_check (update->environment->cancel, error);
}

/* ---- running flows ---- */

static gboolean
wait_to_retry (Update *update, gint64 delay_us)
{
  gint64 until = g_get_monotonic_time () + delay_us;

  while (g_get_monotonic_time () < until) {
    if (base_cancel_is_raised (update->environment->cancel))
      return FALSE;
    g_usleep ((gulong) MIN (100000, MAX (1, until - g_get_monotonic_time ())));
  }
  return TRUE;
}

/* Runs a flow, again where that may help: at once after a schema grew, with growing delay after a passing failure. */
static gboolean
run_with_retries (FlowState *state, GError **error)
{
  Update *update = state->update;
  gint64 n_tries_left = base_settings_get_int (state->flow->place.settings, "pipelines.maxFlowRetryAttempts");
  gint64 delay_us = FIRST_RETRY_DELAY_US;
  guint n_restarts = 0;

  for (;;) {
    g_autoptr (GError) failure = NULL;
    gboolean must_restart = FALSE;
    if (pipeline_flow_run (&update->run, state->flow, &state->totals, &must_restart, &failure))
      return TRUE;
    gboolean again =
        must_restart ? n_restarts++ < MAX_RESTARTS : base_error_is_retryable (failure) && n_tries_left-- > 0;
    if (again) {
      (void) write_event (update, PIPELINE_LEVEL_WARN, "flow_progress", json_pack ("{s:s}", "status", "STARTING"),
                          FALSE, failure, NULL, "Flow '%s' is restarted: %s", state->flow->name, failure->message);
      if (must_restart || wait_to_retry (update, delay_us)) {
        delay_us = must_restart ? delay_us : delay_us * 2;
        continue;
      }
    }
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
}

static void
end_flow (FlowState *state, PipelineFlowStatus status, GError *failure)
{
  Update *update = state->update;
  g_autoptr (GError) lost = NULL;

  /* A flow is only as done as its event: if that cannot be written, the flow failed. */
  if (!write_flow_event (update, state, status, failure, &lost) && failure == NULL) {
    status = PIPELINE_FLOW_FAILED;
    failure = g_steal_pointer (&lost);
  }
  g_mutex_lock (&update->mutex);
  state->status = status;
  state->failure = failure;
  state->phase = ENDED;
  g_cond_signal (&update->ended);
  g_mutex_unlock (&update->mutex);
}

static gpointer
flow_thread (gpointer data)
{
  FlowState *state = data;
  GError *failure = NULL;
  gint64 started_us = g_get_monotonic_time ();
  gboolean good = write_flow_event (state->update, state, PIPELINE_FLOW_STARTING, NULL, &failure) &&
                  write_flow_event (state->update, state, PIPELINE_FLOW_RUNNING, NULL, &failure) &&
                  run_with_retries (state, &failure);

  state->duration_us = g_get_monotonic_time () - started_us;
  PipelineFlowStatus status = good                                                      ? PIPELINE_FLOW_COMPLETED
                              : base_error_class (failure) == BASE_ERROR_CLASS_CANCELED ? PIPELINE_FLOW_STOPPED
                                                                                        : PIPELINE_FLOW_FAILED;
  end_flow (state, status, failure);
  return NULL;
}

typedef enum { READY, BLOCKED, SKIP } Readiness;

/* May a waiting flow start? Every flow of this update that writes one of its inputs must have ended well. */
static Readiness
readiness (Update *update, const FlowState *state)
{
  g_autoptr (GPtrArray) inputs = pipeline_graph_stored_inputs (update->graph, state->flow->target);
  Readiness answer = READY;

  for (guint i = 0; i < inputs->len; i++) {
    const PipelineDataset *input = g_ptr_array_index (inputs, i);
    for (guint k = 0; k < input->flows->len; k++) {
      const FlowState *writer = &update->flows[((const PipelineFlow *) g_ptr_array_index (input->flows, k))->index];
      if (!writer->selected)
        continue;
      if (writer->phase != ENDED)
        answer = BLOCKED;
      else if (writer->status != PIPELINE_FLOW_COMPLETED && writer->status != PIPELINE_FLOW_EXCLUDED)
        return SKIP;
    }
  }
  /* Flows into one table commit one after another. */
  for (guint k = 0; k < state->flow->target->flows->len; k++)
    if (update->flows[((const PipelineFlow *) g_ptr_array_index (state->flow->target->flows, k))->index].phase ==
        RUNNING)
      answer = BLOCKED;
  return answer;
}

static guint
max_concurrent (Update *update)
{
  gint64 given = base_settings_get_int (update->settings, "pipelines.maxConcurrentFlows");

  return given > 0 ? (guint) MIN (given, 64) : MIN (g_get_num_processors (), 16);
}

static gboolean
start_flow (FlowState *state)
{
  g_autoptr (GError) failure = NULL;

  state->phase = RUNNING;
  state->thread = g_thread_try_new ("flow", flow_thread, state, &failure);
  if (state->thread != NULL)
    return TRUE;
  state->phase = ENDED;
  state->status = PIPELINE_FLOW_FAILED;
  base_error_set (&state->failure, SLUICE_ERROR_OUT_OF_MEMORY, "No thread could be started: %s", failure->message);
  return FALSE;
}

/* One look at all flows, with the mutex held. Returns: whether any flow still waits or runs. */
static gboolean
schedule (Update *update, guint n_most)
{
  guint n_flows = pipeline_project_n_flows (update->project);
  guint n_running = 0;
  gboolean open = FALSE;
  gboolean canceled = base_cancel_is_raised (update->environment->cancel);

  for (guint i = 0; i < n_flows; i++)
    n_running += update->flows[i].phase == RUNNING;
  for (guint i = 0; i < n_flows; i++) {
    FlowState *state = &update->flows[i];
    if (state->phase == WAITING) {
      Readiness answer = canceled ? SKIP : readiness (update, state);
      if (answer == SKIP) {
        g_mutex_unlock (&update->mutex);
        end_flow (state, canceled ? PIPELINE_FLOW_STOPPED : PIPELINE_FLOW_SKIPPED, NULL);
        g_mutex_lock (&update->mutex);
        return TRUE; /* what is below may be skipped now: look again */
      }
      if (answer == READY && n_running < n_most && start_flow (state))
        n_running++;
    }
    open = open || state->phase != ENDED;
  }
  return open;
}

static gboolean
any_running (const Update *update)
{
  for (guint i = 0; i < pipeline_project_n_flows (update->project); i++)
    if (update->flows[i].phase == RUNNING)
      return TRUE;
  return FALSE;
}

static void
run_flows (Update *update)
{
  guint n_most = max_concurrent (update);

  g_mutex_lock (&update->mutex);
  while (schedule (update, n_most))
    if (any_running (update))
      g_cond_wait_until (&update->ended, &update->mutex, g_get_monotonic_time () + G_USEC_PER_SEC / 5);
  g_mutex_unlock (&update->mutex);
  for (guint i = 0; i < pipeline_project_n_flows (update->project); i++)
    if (update->flows[i].thread != NULL)
      g_thread_join (update->flows[i].thread);
}

/* ---- the phases ---- */

static gboolean
prepare_flows (Update *update, GError **error)
{
  update->flows = g_new0 (FlowState, pipeline_project_n_flows (update->project) + 1);
  for (guint i = 0; i < pipeline_project_n_flows (update->project); i++) {
    FlowState *state = &update->flows[i];
    state->update = update;
    state->flow = pipeline_project_flow (update->project, i);
    gboolean done = FALSE;
    state->selected = update->selected[state->flow->target->index];
    if (state->selected && !pipeline_flow_is_done (&update->run, state->flow, &done, error))
      return FALSE;
    state->phase = state->selected && !done ? WAITING : ENDED;
    state->status = state->selected && !done ? PIPELINE_FLOW_QUEUED : PIPELINE_FLOW_EXCLUDED;
    if (state->selected && !write_flow_event (update, state, state->status, NULL, error))
      return FALSE;
  }
  return TRUE;
}

/* What failed last time, and what is below it, counts as selected when only failures are to be refreshed. */
static void
select_below (Update *update)
{
  for (guint i = 0; update->options->refresh_failed && i < pipeline_graph_n_datasets (update->graph); i++) {
    const PipelineDataset *dataset = pipeline_graph_dataset (update->graph, i);
    g_autoptr (GPtrArray) inputs = pipeline_graph_stored_inputs (update->graph, dataset);
    for (guint k = 0; k < inputs->len; k++)
      if (update->selected[((const PipelineDataset *) g_ptr_array_index (inputs, k))->index])
        update->selected[dataset->index] = TRUE;
  }
}

static gboolean
set_up (Update *update, GError **error)
{
  if (!write_progress (update, "SETTING_UP_TABLES", NULL, error))
    return FALSE;
  for (guint i = 0; i < pipeline_graph_n_datasets (update->graph); i++) {
    const PipelineDataset *dataset = pipeline_graph_dataset (update->graph, i);
    if (!pipeline_dataset_set_up (&update->run, dataset, pipeline_graph_schema (update->graph, dataset), error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
reset (Update *update, GError **error)
{
  gboolean any = FALSE;

  for (guint i = 0; i < pipeline_graph_n_datasets (update->graph); i++) {
    const PipelineDataset *dataset = pipeline_graph_dataset (update->graph, i);
    gboolean wanted = update->options->full_refresh_all || update->full_refresh[dataset->index];
    if (!wanted || !pipeline_dataset_is_stored (dataset))
      continue;
    if (!pipeline_dataset_reset_allowed (dataset)) {
      if (!write_event (update, PIPELINE_LEVEL_WARN, "update_progress", json_pack ("{s:s}", "state", "RESETTING"),
                        FALSE, NULL, error, "'%s' keeps its rows: pipelines.reset.allowed is false.", dataset->label))
        return FALSE;
      continue;
    }
    if (!any && !write_progress (update, "RESETTING", NULL, error))
      return FALSE;
    any = TRUE;
    if (!pipeline_dataset_reset (&update->run, dataset, error))
      return FALSE;
  }
  for (guint i = 0; update->options->reset_checkpoint != NULL && update->options->reset_checkpoint[i] != NULL; i++) {
    const PipelineFlow *flow = find_stream (update, update->options->reset_checkpoint[i]);
    if ((!any && !write_progress (update, "RESETTING", NULL, error)) ||
        !pipeline_flow_reset (&update->run, flow, error))
      return FALSE;
    any = TRUE;
  }
  return TRUE;
}

static void
summarise (Update *update)
{
  for (guint p = 0; p < pipeline_graph_n_datasets (update->graph); p++) {
    const PipelineDataset *dataset = pipeline_graph_dataset (update->graph, p);
    for (guint k = 0; k < dataset->flows->len; k++) {
      FlowState *state = &update->flows[((const PipelineFlow *) g_ptr_array_index (dataset->flows, k))->index];
      if (!state->selected)
        continue;
      PipelineFlowSummary *one = g_new0 (PipelineFlowSummary, 1);
      *one = (PipelineFlowSummary){ .flow = g_strdup (state->flow->name),
                                    .dataset = g_strdup (dataset->label),
                                    .status = state->status,
                                    .is_autocdc = state->totals.is_autocdc,
                                    .n_batches = state->totals.n_batches,
                                    .n_output_rows = state->totals.n_output_rows,
                                    .n_upserted_rows = state->totals.n_upserted_rows,
                                    .n_deleted_rows = state->totals.n_deleted_rows,
                                    .n_dropped = state->totals.n_dropped,
                                    .duration_us = state->duration_us,
                                    .failure = state->failure != NULL ? g_error_copy (state->failure) : NULL };
      g_ptr_array_add (update->summary->flows, one);
    }
  }
}

/* The update's own error: which flows failed. NULL when all completed. */
static GError *
update_failure (Update *update)
{
  g_autoptr (GString) names = g_string_new (NULL);
  GError *error = NULL;

  for (guint i = 0; i < update->summary->flows->len; i++) {
    const PipelineFlowSummary *one = g_ptr_array_index (update->summary->flows, i);
    if (one->status == PIPELINE_FLOW_FAILED)
      g_string_append_printf (names, "%s'%s'", names->len > 0 ? ", " : "", one->flow);
  }
  if (names->len > 0)
    base_error_set (&error, SLUICE_ERROR_PIPELINE_UPDATE_FAILED, "These flows failed: %s", names->str);
  return error;
}

static gboolean
note_failed_flows (Update *update, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);
  g_autoptr (GBytes) before = NULL;

  for (guint i = 0; i < update->summary->flows->len; i++) {
    const PipelineFlowSummary *one = g_ptr_array_index (update->summary->flows, i);
    if (one->status == PIPELINE_FLOW_FAILED || one->status == PIPELINE_FLOW_SKIPPED ||
        one->status == PIPELINE_FLOW_STOPPED)
      g_string_append_printf (names, "%s\n", one->flow);
  }
  if (!store_read (update->storage, "system/failed-flows", &before, error))
    return FALSE;
  if ((before == NULL || g_bytes_get_size (before) == 0) && names->len == 0)
    return TRUE;
  return store_put (update->storage, "system/failed-flows", names->str, names->len, STORE_PUT_UNSYNCED, error);
}

static gboolean
end_update (Update *update, GError **error)
{
  g_autoptr (GError) failure = update_failure (update);
  gboolean canceled = base_cancel_is_raised (update->environment->cancel);

  update->summary->completed = failure == NULL && !canceled;
  return note_failed_flows (update, error) &&
         write_progress (update,
                         canceled          ? "CANCELED"
                         : failure != NULL ? "FAILED"
                                           : "COMPLETED",
                         failure, error) &&
         pipeline_log_fold (update->log, update->environment->catalog, update->duck, error);
}

/* Validation failed: the log says so, and nothing else was written. */
static gboolean
end_invalid (Update *update, GError **error)
{
  for (guint i = 0; i < update->summary->problems->len; i++) {
    const GError *problem = g_ptr_array_index (update->summary->problems, i);
    if (!write_event (update, PIPELINE_LEVEL_ERROR, "update_progress", json_pack ("{s:s}", "state", "INITIALIZING"),
                      FALSE, problem, error, "%s", problem->message))
      return FALSE;
  }
  g_autoptr (GError) failure = NULL;
  base_error_set (&failure, SLUICE_ERROR_PIPELINE_UPDATE_FAILED, "The pipeline has %u problems",
                  update->summary->problems->len);
  return write_progress (update, "FAILED", failure, error) &&
         pipeline_log_fold (update->log, update->environment->catalog, update->duck, error);
}

static gboolean
run_phases (Update *update, gboolean is_retry, GError **error)
{
  if (!write_start_events (update, is_retry, error) || !validate (update, error))
    return FALSE;
  if (update->summary->problems->len > 0)
    return end_invalid (update, error);
  select_below (update);
  if (!write_definitions (update, error) || !set_up (update, error) || !reset (update, error) ||
      !write_progress (update, "RUNNING", NULL, error) || !prepare_flows (update, error))
    return FALSE;
  run_flows (update);
  summarise (update);
  return end_update (update, error);
}

static gboolean
check_options (const PipelineUpdateOptions *options, GError **error)
{
  if (options->full_refresh_all &&
      (options->refresh != NULL || options->full_refresh != NULL || options->refresh_failed))
    return base_error_set (error, SLUICE_ERROR_CONFLICTING_PIPELINE_REFRESH_OPTIONS,
                           "--full-refresh-all cannot be combined with --refresh, --full-refresh or --refresh-failed");
  return TRUE;
}

static gboolean
take_lock (Update *update, GError **error)
{
  if (!store_lock_try (update->storage, "system/update.lock", &update->lock, error))
    return FALSE;
  if (update->lock != NULL)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_ACTIVE_UPDATE_EXISTS, "Another update of the pipeline \"%s\" is running",
                  update->spec->name);
  base_error_set_hint (error, "wait for it to end; the lock is freed when its process ends");
  return FALSE;
}

static PipelineSummary *
run_once (const PipelineSpec *spec, BaseSettings *settings, const PipelineEnvironment *environment,
          const PipelineUpdateOptions *options, gboolean is_retry, GError **error)
{
  g_autoptr (PipelineSummary) summary = summary_new ();
  g_auto (Update) update = {
    .spec = spec, .settings = settings, .environment = environment, .options = options, .summary = summary
  };

  g_mutex_init (&update.mutex);
  g_cond_init (&update.ended);
  if (!open_environment (&update, TRUE, error) || !take_lock (&update, error) || !register_pipeline (&update, error))
    return NULL;
  update.log = pipeline_log_open (update.storage, update.pipeline_id, spec->name, &environment->clock, error);
  if (update.log == NULL)
    return NULL;
  pipeline_log_set_update (update.log, summary->update_id);
  pipeline_log_listen (update.log, options->listener, options->listener_data);
  if (run_phases (&update, is_retry, error))
    return g_steal_pointer (&summary);
  if (error != NULL && *error != NULL)
    (void) write_progress (&update, base_cancel_is_raised (environment->cancel) ? "CANCELED" : "FAILED", *error, NULL);
  return NULL;
}

/* In production a failed update is tried again as a whole, when every failure may pass. */
static gboolean
may_retry (const PipelineSummary *summary)
{
  gboolean any = FALSE;

  for (guint i = 0; i < summary->flows->len; i++) {
    const PipelineFlowSummary *one = g_ptr_array_index (summary->flows, i);
    if (one->status == PIPELINE_FLOW_FAILED && !base_error_is_retryable (one->failure))
      return FALSE;
    any = any || one->status == PIPELINE_FLOW_FAILED;
  }
  return any;
}

PipelineSummary *
pipeline_update_run (const PipelineSpec *spec, BaseSettings *settings, const PipelineEnvironment *environment,
                     const PipelineUpdateOptions *options, GError **error)
{
  gint64 n_retries = base_settings_get_bool (settings, "pipelines.development")
                         ? 0
                         : base_settings_get_int (settings, "pipelines.numUpdateRetryAttempts");
  gboolean is_retry = FALSE;

  if (!check_options (options, error))
    return NULL;
  if (base_settings_get_bool (settings, "pipelines.continuous")) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "Continuous mode (pipelines.continuous) is not supported; run updates one after another");
    return NULL;
  }
  for (;;) {
    g_autoptr (PipelineSummary) summary = run_once (spec, settings, environment, options, is_retry, error);
    if (summary == NULL || summary->completed || n_retries-- <= 0 || !may_retry (summary))
      return g_steal_pointer (&summary);
    is_retry = TRUE;
  }
}

/* ---- without writing ---- */

static gboolean
validate_only (Update *update, GError **error)
{
  static const PipelineUpdateOptions no_options = { 0 };

  update->options = &no_options;
  g_mutex_init (&update->mutex);
  g_cond_init (&update->ended);
  return open_environment (update, FALSE, error) && validate (update, error);
}

PipelineSummary *
pipeline_update_dry_run (const PipelineSpec *spec, BaseSettings *settings, const PipelineEnvironment *environment,
                         GError **error)
{
  g_autoptr (PipelineSummary) summary = summary_new ();
  g_auto (Update) update = { .spec = spec, .settings = settings, .environment = environment, .summary = summary };

  if (!validate_only (&update, error))
    return NULL;
  for (guint i = 0; update.graph != NULL && i < pipeline_project_n_flows (update.project); i++) {
    const GPtrArray *warnings = pipeline_graph_flow_warnings (update.graph, pipeline_project_flow (update.project, i));
    for (guint k = 0; k < warnings->len; k++)
      g_ptr_array_add (summary->warnings, g_strdup (g_ptr_array_index (warnings, k)));
  }
  summary->completed = summary->problems->len == 0;
  return g_steal_pointer (&summary);
}

char *
pipeline_update_graph (const PipelineSpec *spec, BaseSettings *settings, const PipelineEnvironment *environment,
                       gboolean as_dot, PipelineSummary **summary, GError **error)
{
  g_autoptr (PipelineSummary) made = summary_new ();
  g_auto (Update) update = { .spec = spec, .settings = settings, .environment = environment, .summary = made };
  char *text = NULL;

  if (!validate_only (&update, error))
    return NULL;
  if (made->problems->len == 0)
    text = as_dot ? pipeline_graph_dot (update.graph) : pipeline_graph_text (update.graph);
  *summary = g_steal_pointer (&made);
  return text;
}

/* ---- event_log() ---- */

/* The storage of a pipeline known to the warehouse, by id; NULL when there is none. */
static gboolean
find_storage (Catalog *catalog, const char *id, Store **storage, GError **error)
{
  g_autoptr (Store) warehouse = store_open (catalog_stores (catalog), catalog_warehouse (catalog), error);
  g_autofree char *key = registry_key (id);
  g_autoptr (GBytes) bytes = NULL;

  if (warehouse == NULL || !store_read (warehouse, key, &bytes, error))
    return FALSE;
  if (bytes == NULL)
    return base_error_set (error, SLUICE_ERROR_PIPELINE_EVENT_LOG_NOT_FOUND,
                           "This warehouse knows no pipeline with the id '%s'", id);
  g_autofree char *path = g_strndup (g_bytes_get_data (bytes, NULL), MIN (g_bytes_get_size (bytes), 4096));
  *storage = store_open (catalog_stores (catalog), path, error);
  return *storage != NULL;
}

static char *
pipeline_of_table (CatalogSession *session, const char *const *parts, GError **error)
{
  g_auto (CatalogReference) reference = { 0 };

  if (!catalog_session_resolve (session, parts, g_strv_length ((char **) parts), &reference, error))
    return NULL;
  if (reference.entry == NULL) {
    catalog_session_set_not_found (session, parts, g_strv_length ((char **) parts), error);
    return NULL;
  }
  if (reference.entry->owner_pipeline == NULL)
    base_error_set (error, SLUICE_ERROR_PIPELINE_EVENT_LOG_NOT_FOUND, "`%s` is not a table of a pipeline",
                    reference.entry->name);
  return g_strdup (reference.entry->owner_pipeline);
}

static gboolean
bind_event_log (CatalogSession *session, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                G_GNUC_UNUSED gpointer data, GError **error)
{
  const RelationArgument *argument = request->n_arguments == 1 ? &request->arguments[0] : NULL;
  g_autofree char *id = NULL;
  g_autoptr (Store) storage = NULL;

  if (argument != NULL && argument->identifier != NULL)
    id = pipeline_of_table (session, argument->identifier, error);
  else if (argument != NULL && argument->value != NULL && !argument->value->is_null &&
           base_type_kind (argument->value->type) == BASE_TYPE_STRING)
    id = g_strndup (argument->value->text, argument->value->size);
  else
    base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS,
                    "event_log takes the id of a pipeline, or TABLE(name)");
  if (id == NULL || !find_storage (catalog_session_catalog (session), id, &storage, error))
    return FALSE;
  answer->source =
      pipeline_log_source (storage, catalog_session_catalog (session), catalog_session_cancel (session), error);
  return answer->source != NULL;
}

void
pipeline_register_functions (Catalog *catalog)
{
  static const CatalogFunction event_log = { "event_log", bind_event_log, NULL };

  catalog_add_function (catalog, &event_log);
}

/* ---- events as lines ---- */

static gboolean
print_rows (DuckResult *result, PipelineLineFunc line, gpointer data, GError **error)
{
  const DuckChunk *chunk;
  g_autoptr (GString) text = g_string_new (NULL);

  for (;;) {
    if (!duck_result_next (result, &chunk, error))
      return FALSE;
    if (chunk == NULL)
      return TRUE;
    for (guint row = 0; row < chunk->n_rows; row++) {
      g_string_assign (text, "{");
      for (guint i = 0; i < chunk->n_columns; i++) {
        g_string_append_printf (text, "%s\"%s\":", i > 0 ? "," : "", duck_result_column_name (result, i));
        duck_vector_append_json (&chunk->columns[i], duck_result_column_type (result, i), row, text);
      }
      g_string_append_c (text, '}');
      line (text->str, data);
    }
  }
}

gboolean
pipeline_each_event (const PipelineSpec *spec, const PipelineEnvironment *environment, PipelineLineFunc line,
                     gpointer data, GError **error)
{
  g_autoptr (Store) storage = store_open (environment->stores, spec->storage, error);
  g_autoptr (RelationSource) source =
      storage != NULL ? pipeline_log_source (storage, environment->catalog, environment->cancel, error) : NULL;
  g_autoptr (DuckSession) duck =
      source != NULL ? duck_session_new (catalog_engine (environment->catalog), error) : NULL;
  if (duck == NULL)
    return FALSE;
  guint n = base_type_n_fields (source->schema);
  g_autofree guint *columns = g_new0 (guint, n);
  g_autofree const char **names = g_new0 (const char *, n);
  for (guint i = 0; i < n; i++) {
    columns[i] = i;
    names[i] = base_type_field (source->schema, i)->name;
  }
  RelationScan scan = { .columns = columns, .names = names, .n_columns = n };
  g_autoptr (RelationText) text = relation_text_new ();
  g_string_append (relation_text_sql (text), "SELECT * FROM (");
  if (!source->klass->scan (source, &scan, text, error))
    return FALSE;
  g_string_append (relation_text_sql (text), ") ORDER BY sequence.data_plane_id.seq_no");
  g_autoptr (DuckResult) result = duck_session_query (duck, relation_text_sql (text)->str, environment->cancel, error);
  return result != NULL && print_rows (result, line, data, error);
}

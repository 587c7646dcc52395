/* A pipeline project in memory: see pipeline-project.h. */
#include "pipeline-project.h"

#include "base-error.h"
#include "base-text.h"
#include "sql-parse.h"

#include <string.h>

struct PipelineProject {
  PipelineSpec *spec; /* (transfer none) */
  BaseSettings *settings;
  char *schema;
  GPtrArray *datasets; /* of PipelineDataset */
  GPtrArray *flows;    /* of PipelineFlow */
  GHashTable *by_name; /* "schema.name" → PipelineDataset */
  GPtrArray *arenas;   /* of SqlArena */
  GPtrArray *texts;    /* of char *: file paths, file texts, schemas that places point into */
  GPtrArray *layers;   /* of BaseSettings */
};

/* One file while it is read. */
typedef struct {
  PipelineProject *project;
  GPtrArray *problems;
  const char *file;
  const char *schema;
  BaseSettings *settings; /* layer of this file's SETs; a new one after each SET, so that places keep theirs */
  SqlArena *arena;
  gboolean unread; /* a statement did not parse: what it would have declared is missing */
} Reader;

static void
dataset_free (PipelineDataset *dataset)
{
  g_free (dataset->schema);
  g_free (dataset->name);
  g_free (dataset->label);
  g_ptr_array_unref (dataset->flows);
  g_free (dataset);
}

static void
flow_free (PipelineFlow *flow)
{
  g_free (flow->name);
  g_free (flow);
}

void
pipeline_project_free (PipelineProject *project)
{
  if (project == NULL)
    return;
  g_ptr_array_unref (project->flows);
  g_ptr_array_unref (project->datasets);
  g_hash_table_unref (project->by_name);
  g_ptr_array_unref (project->arenas);
  g_ptr_array_unref (project->layers);
  g_ptr_array_unref (project->texts);
  base_settings_unref (project->settings);
  g_free (project->schema);
  g_free (project);
}

/* ---- problems ---- */

static void
add_problem (Reader *reader, const SqlPosition *position, GError *problem)
{
  if (position != NULL)
    sql_position_add_to_error (position, &problem);
  base_error_set_position (&problem, reader->file, 0, 0, NULL);
  g_ptr_array_add (reader->problems, problem);
}

static void G_GNUC_PRINTF (4, 5)
    problem (Reader *reader, const SqlPosition *position, SluiceError code, const char *format, ...)
{
  va_list args;
  GError *error = NULL;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  base_error_set (&error, code, "%s", message);
  add_problem (reader, position, error);
}

/* ---- names ---- */

static gboolean
is_own_catalog (const PipelineProject *project, const char *name)
{
  return base_text_equal_ignore_case (name, "spark_catalog") ||
         (project->spec->catalog != NULL && base_text_equal_ignore_case (name, project->spec->catalog));
}

/* Schema and name of a dataset name, folded; FALSE when it can be none of this pipeline. */
static gboolean
settle_name (const PipelineProject *project, const char *const *parts, guint n_parts, const char *current_schema,
             char **schema, char **name)
{
  if (n_parts == 3 && is_own_catalog (project, parts[0])) {
    parts++;
    n_parts--;
  }
  if (n_parts == 0 || n_parts > 2)
    return FALSE;
  if (n_parts == 1)
    *schema = g_strdup (current_schema);
  else if (base_text_equal_ignore_case (parts[0], "live"))
    *schema = g_strdup (project->schema);
  else
    *schema = base_text_folded (parts[0]);
  *name = base_text_folded (parts[n_parts - 1]);
  return TRUE;
}

static gboolean
settle_sql_name (Reader *reader, const SqlName *sql_name, char **schema, char **name)
{
  g_autofree const char **parts = sql_name_parts (sql_name);

  if (sql_name->dynamic == NULL && settle_name (reader->project, parts, sql_name->n, reader->schema, schema, name))
    return TRUE;
  problem (reader, &sql_name->position, SLUICE_ERROR_UNSUPPORTED_FEATURE,
           "A dataset is named NAME, SCHEMA.NAME or LIVE.NAME");
  return FALSE;
}

PipelineDataset *
pipeline_project_find (const PipelineProject *project, const char *const *parts, guint n_parts,
                       const char *current_schema)
{
  g_autofree char *schema = NULL;
  g_autofree char *name = NULL;

  if (!settle_name (project, parts, n_parts, current_schema, &schema, &name))
    return NULL;
  g_autofree char *key = g_strconcat (schema, ".", name, NULL);
  return g_hash_table_lookup (project->by_name, key);
}

PipelineDataset *
pipeline_project_find_text (const PipelineProject *project, const char *name, const char *current_schema)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  SqlName *parsed = sql_parse_name (arena, name, -1, NULL);

  if (parsed == NULL || parsed->n > 3)
    return NULL;
  g_autofree const char **parts = sql_name_parts (parsed);
  return pipeline_project_find (project, parts, parsed->n, current_schema);
}

/* ---- datasets ---- */

static PipelinePlace
place_of (Reader *reader)
{
  return (PipelinePlace){ reader->file, reader->schema, reader->settings };
}

static PipelineDataset *
add_dataset (Reader *reader, PipelineDatasetKind kind, const SqlName *sql_name, const SqlPosition *position)
{
  g_autofree char *schema = NULL;
  g_autofree char *name = NULL;

  if (!settle_sql_name (reader, sql_name, &schema, &name))
    return NULL;
  PipelineProject *project = reader->project;
  g_autofree char *key = g_strconcat (schema, ".", name, NULL);
  PipelineDataset *other = g_hash_table_lookup (project->by_name, key);
  if (other != NULL) {
    problem (reader, &sql_name->position, SLUICE_ERROR_PIPELINE_DUPLICATE_IDENTIFIERS_OUTPUT,
             "The dataset `%s` is declared twice; the first is at %s:%u", name, other->place.file,
             other->position.line);
    return NULL;
  }
  PipelineDataset *dataset = g_new0 (PipelineDataset, 1);
  dataset->kind = kind;
  dataset->label = strcmp (schema, project->schema) == 0 ? g_strdup (name) : g_strdup (key);
  dataset->schema = g_steal_pointer (&schema);
  dataset->name = g_steal_pointer (&name);
  dataset->position = *position;
  dataset->place = place_of (reader);
  dataset->flows = g_ptr_array_new ();
  dataset->index = project->datasets->len;
  g_ptr_array_add (project->datasets, dataset);
  g_hash_table_insert (project->by_name, g_steal_pointer (&key), dataset);
  return dataset;
}

static void
check_expectations (Reader *reader, const SqlExpectationList *list)
{
  for (guint i = 0; i < list->n; i++)
    for (guint j = 0; j < i; j++)
      if (base_text_equal_ignore_case (list->items[i].name.text, list->items[j].name.text)) {
        problem (reader, &list->items[i].name.position, SLUICE_ERROR_DUPLICATE_EXPECTATION_NAME,
                 "The expectation `%s` is declared twice", list->items[i].name.text);
        break;
      }
}

static PipelineFlow *add_flow (Reader *reader, PipelineFlowKind kind, char *name, PipelineDataset *target,
                               const SqlPosition *position);

static char *
default_flow_name (const PipelineDataset *dataset)
{
  return g_strdup (dataset->label);
}

static void
check_table_clauses (Reader *reader, const SqlCreateTable *table)
{
  if (table->n_partitioned_by > 0 && table->cluster_by.kind == SQL_CLUSTER_COLUMNS)
    problem (reader, &table->cluster_by.position, SLUICE_ERROR_SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED,
             "PARTITIONED BY and CLUSTER BY exclude each other");
  if (table->row_filter != NULL)
    problem (reader, &table->row_filter_position, SLUICE_ERROR_UNSUPPORTED_FEATURE, "WITH ROW FILTER is not supported");
  if (table->format != NULL && !base_text_equal_ignore_case (table->format->parts[0].text, "delta"))
    problem (reader, &table->format->position, SLUICE_ERROR_UNSUPPORTED_FEATURE,
             "Datasets are Delta tables; leave USING out");
  gboolean all_typed = TRUE;
  for (guint i = 0; i < table->columns.n; i++)
    all_typed = all_typed && table->columns.items[i].type != NULL;
  for (guint i = 0; i < table->columns.n; i++) {
    const SqlColumn *column = &table->columns.items[i];
    const char *what = column->mask != NULL                    ? "Column masks are"
                       : column->identity != SQL_IDENTITY_NONE ? "An identity column of a dataset is"
                       : column->default_value != NULL         ? "A default of a dataset's column is"
                       : column->generated != NULL && table->object == SQL_OBJECT_MATERIALIZED_VIEW
                           ? "A generated column of a materialized view is"
                       : column->generated != NULL && !all_typed ? "A generated column beside columns without types is"
                                                                 : NULL;
    if (what != NULL)
      problem (reader, &column->position, SLUICE_ERROR_UNSUPPORTED_FEATURE, "%s not supported", what);
  }
  check_expectations (reader, &table->expectations);
}

static void
check_properties (Reader *reader, const SqlPropertyList *properties)
{
  for (guint i = 0; i < properties->n; i++) {
    const char *key = properties->items[i].key, *value = properties->items[i].value;
    gint64 seconds;

    if (value == NULL)
      problem (reader, &properties->items[i].position, SLUICE_ERROR_UNSUPPORTED_FEATURE,
               "The property \"%s\" needs a constant value", key);
    else if (g_ascii_strcasecmp (key, "pipelines.cdc.tombstoneGCThresholdInSeconds") == 0 &&
             (!base_text_parse_int64 (value, &seconds) || seconds < -1))
      problem (reader, &properties->items[i].position, SLUICE_ERROR_INVALID_CONF_VALUE,
               "The property \"%s\" is a number of seconds, or -1 for ever, not '%s'", key, value);
  }
}

char *
pipeline_property_warning (const char *key)
{
  static const char *const known[] = { "pipelines.reset.allowed",        "pipelines.cdc.tombstoneGCThresholdInSeconds",
                                       "pipelines.cdc.snapshot.version", "pipelines.channel",
                                       "pipelines.autoOptimize.managed", NULL };

  if (!g_str_has_prefix (key, "pipelines.") || g_strv_contains (known, key))
    return NULL;
  g_autofree char *near = base_text_near_names (key, known, 2);
  return near != NULL ? g_strdup_printf ("there is no pipeline property \"%s\"; did you mean %s?", key, near)
                      : g_strdup_printf ("there is no pipeline property \"%s\"; it has no effect", key);
}

static void
read_create_table (Reader *reader, const SqlStatement *statement)
{
  const SqlCreateTable *table = &statement->u.create_table;
  gboolean streaming = table->object == SQL_OBJECT_STREAMING_TABLE;

  if (table->object == SQL_OBJECT_TABLE) {
    problem (reader, &statement->position, SLUICE_ERROR_UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND,
             "CREATE TABLE cannot stand in a pipeline; write CREATE STREAMING TABLE or CREATE MATERIALIZED VIEW");
    return;
  }
  PipelineDataset *dataset = add_dataset (reader, streaming ? PIPELINE_STREAMING_TABLE : PIPELINE_MATERIALIZED_VIEW,
                                          &table->name, &statement->position);
  if (dataset == NULL)
    return;
  dataset->table = table;
  dataset->is_private = table->is_private;
  check_table_clauses (reader, table);
  check_properties (reader, &table->properties);
  if (table->query != NULL) {
    PipelineFlow *flow = add_flow (reader, streaming ? PIPELINE_FLOW_APPEND : PIPELINE_FLOW_COMPLETE,
                                   default_flow_name (dataset), dataset, &statement->position);
    if (flow != NULL) {
      flow->query = table->query;
      flow->by_name = TRUE;
    }
  }
  if (table->autocdc != NULL) {
    PipelineFlow *flow =
        add_flow (reader, PIPELINE_FLOW_AUTOCDC, default_flow_name (dataset), dataset, &statement->position);
    if (flow != NULL) {
      flow->autocdc = table->autocdc;
      flow->once = table->autocdc->once;
    }
  }
}

static void
read_create_view (Reader *reader, const SqlStatement *statement)
{
  const SqlCreateView *view = &statement->u.create_view;
  gboolean temporary = view->temporary || view->live;
  PipelineDataset *dataset =
      add_dataset (reader, temporary ? PIPELINE_TEMPORARY_VIEW : PIPELINE_VIEW, &view->name, &statement->position);

  if (dataset == NULL)
    return;
  dataset->view = view;
  dataset->is_private = temporary;
  check_expectations (reader, &view->expectations);
  check_properties (reader, &view->properties);
  if (!temporary && view->expectations.n > 0)
    problem (reader, &view->expectations.items[0].position, SLUICE_ERROR_UNSUPPORTED_FEATURE,
             "A persisted view has no expectations; put them on a temporary view or a table");
}

/* ---- flows ---- */

static PipelineFlow *
add_flow (Reader *reader, PipelineFlowKind kind, char *name, PipelineDataset *target, const SqlPosition *position)
{
  PipelineProject *project = reader->project;

  for (guint i = 0; i < project->flows->len; i++) {
    const PipelineFlow *other = g_ptr_array_index (project->flows, i);
    if (!base_text_equal_ignore_case (other->name, name))
      continue;
    problem (reader, position, SLUICE_ERROR_PIPELINE_DUPLICATE_IDENTIFIERS_FLOW,
             "The flow `%s` is declared twice; the first is at %s:%u", name, other->place.file, other->position.line);
    g_free (name);
    return NULL;
  }
  PipelineFlow *flow = g_new0 (PipelineFlow, 1);
  flow->kind = kind;
  flow->name = name;
  flow->target = target;
  flow->position = *position;
  flow->place = place_of (reader);
  flow->index = project->flows->len;
  g_ptr_array_add (project->flows, flow);
  return flow;
}

/* Targets may be declared after their flows: the name is kept until all files are read. */
typedef struct {
  PipelineFlow *flow;
  const SqlName *target;
  char *schema;
  char *name;
} Pending;

static void
pending_free (Pending *pending)
{
  g_free (pending->schema);
  g_free (pending->name);
  g_free (pending);
}

static void
read_create_flow (Reader *reader, const SqlStatement *statement, GPtrArray *pending)
{
  const SqlCreateFlow *create = &statement->u.create_flow;
  const SqlName *target = create->insert != NULL ? &create->insert->table : &create->autocdc->target;
  PipelineFlowKind kind = create->insert != NULL ? PIPELINE_FLOW_APPEND : PIPELINE_FLOW_AUTOCDC;
  g_autofree char *schema = NULL;
  g_autofree char *name = NULL;

  if (!create->legacy && create->name.n > 1) {
    problem (reader, &create->name.position, SLUICE_ERROR_MULTIPART_FLOW_NAME_NOT_SUPPORTED,
             "A flow's name has one part");
    return;
  }
  if (!settle_sql_name (reader, target, &schema, &name))
    return;
  char *flow_name =
      create->legacy
          ? (strcmp (schema, reader->project->schema) == 0 ? g_strdup (name) : g_strconcat (schema, ".", name, NULL))
          : base_text_folded (create->name.parts[0].text);
  PipelineFlow *flow = add_flow (reader, kind, flow_name, NULL, &statement->position);
  if (flow == NULL)
    return;
  flow->comment = create->comment;
  flow->autocdc = create->autocdc;
  flow->once = create->autocdc != NULL ? create->autocdc->once : create->insert->once;
  if (create->insert != NULL) {
    flow->query = create->insert->query;
    flow->by_name = create->insert->by_name;
    if (create->insert->overwrite || create->insert->n_partition > 0 || create->insert->columns.n > 0 ||
        create->insert->replace_where != NULL)
      problem (reader, &statement->position, SLUICE_ERROR_UNSUPPORTED_FEATURE,
               "A flow is written INSERT INTO target [BY NAME] query");
  }
  Pending *waiting = g_new0 (Pending, 1);
  *waiting = (Pending){ flow, target, g_steal_pointer (&schema), g_steal_pointer (&name) };
  g_ptr_array_add (pending, waiting);
}

static void
settle_targets (Reader *reader, GPtrArray *pending)
{
  for (guint i = 0; i < pending->len; i++) {
    const Pending *waiting = g_ptr_array_index (pending, i);
    g_autofree char *key = g_strconcat (waiting->schema, ".", waiting->name, NULL);
    PipelineDataset *target = g_hash_table_lookup (reader->project->by_name, key);
    PipelineFlow *flow = waiting->flow;
    reader->file = flow->place.file;
    if (target == NULL && reader->unread)
      continue; /* it may be what the statement that did not parse declares */
    if (target == NULL)
      problem (reader, &waiting->target->position, SLUICE_ERROR_PIPELINE_FLOW_TARGET_NOT_FOUND,
               "The target `%s` of the flow `%s` is not declared; add CREATE STREAMING TABLE %s", waiting->name,
               flow->name, waiting->name);
    else if (flow->kind == PIPELINE_FLOW_AUTOCDC &&
             (target->kind == PIPELINE_TEMPORARY_VIEW || target->kind == PIPELINE_VIEW))
      problem (reader, &waiting->target->position,
               SLUICE_ERROR_INVALID_FLOW_QUERY_TYPE_AUTOCDC_RELATION_FOR_TEMPORARY_VIEW,
               "The view `%s` cannot be the target of an AUTO CDC flow", target->label);
    else if (flow->kind == PIPELINE_FLOW_AUTOCDC && target->kind != PIPELINE_STREAMING_TABLE)
      problem (reader, &waiting->target->position, SLUICE_ERROR_AUTOCDC_TARGET_NOT_STREAMING_TABLE,
               "The target `%s` of an AUTO CDC flow must be a streaming table", target->label);
    else
      flow->target = target;
  }
}

/* ---- checks over the whole project ---- */

static void
check_flows_of (Reader *reader, const PipelineDataset *dataset)
{
  guint n_autocdc = 0, n_snapshot = 0;

  reader->file = dataset->place.file;
  for (guint i = 0; i < dataset->flows->len; i++) {
    const PipelineFlow *flow = g_ptr_array_index (dataset->flows, i);
    n_autocdc += flow->kind == PIPELINE_FLOW_AUTOCDC;
    n_snapshot += pipeline_flow_is_snapshot (flow);
  }
  if (dataset->flows->len == 0 && reader->unread)
    return; /* its flow may be the statement that did not parse */
  if (dataset->flows->len == 0)
    problem (reader, &dataset->position, SLUICE_ERROR_PIPELINE_DATASET_WITHOUT_FLOW,
             "Nothing writes the table `%s`: give it a query, or a CREATE FLOW with it as target", dataset->label);
  else if (dataset->kind == PIPELINE_MATERIALIZED_VIEW && dataset->flows->len > 1)
    problem (reader, &dataset->position, SLUICE_ERROR_MATERIALIZED_VIEW_WITH_MULTIPLE_QUERIES,
             "The materialized view `%s` has %u flows; it takes exactly one query", dataset->label,
             dataset->flows->len);
  else if (n_autocdc > 0 && n_autocdc < dataset->flows->len)
    problem (reader, &dataset->position, SLUICE_ERROR_AUTOCDC_MIXED_FLOWS_TO_TARGET,
             "The table `%s` has AUTO CDC flows and other flows; an AUTO CDC target takes no others", dataset->label);
  else if (n_snapshot > 0 && dataset->flows->len > 1)
    problem (reader, &dataset->position, SLUICE_ERROR_AUTOCDC_MIXED_FLOWS_TO_TARGET,
             "The table `%s` has a flow FROM SNAPSHOT and other flows; the target of snapshots takes no others",
             dataset->label);
}

static void
check_project (Reader *reader)
{
  PipelineProject *project = reader->project;
  gboolean any = FALSE;

  for (guint i = 0; i < project->flows->len; i++) {
    PipelineFlow *flow = g_ptr_array_index (project->flows, i);
    if (flow->target != NULL)
      g_ptr_array_add (flow->target->flows, flow);
  }
  for (guint i = 0; i < project->datasets->len; i++) {
    const PipelineDataset *dataset = g_ptr_array_index (project->datasets, i);
    any = any || dataset->kind != PIPELINE_TEMPORARY_VIEW;
    if (pipeline_dataset_is_stored (dataset))
      check_flows_of (reader, dataset);
  }
  if (!any && reader->problems->len == 0) {
    reader->file = project->spec->path;
    problem (reader, NULL, SLUICE_ERROR_RUN_EMPTY_PIPELINE,
             "The pipeline \"%s\" declares no table and no persisted view%s", project->spec->name,
             project->arenas->len == 0 ? ": `libraries` of the spec file names no SQL file that is there" : "");
  }
}

/* ---- statements ---- */

static const char *
keep_text (Reader *reader, char *text)
{
  g_ptr_array_add (reader->project->texts, text);
  return text;
}

static void
push_layer (Reader *reader)
{
  BaseSettings *layer = base_settings_new (reader->settings);

  g_ptr_array_add (reader->project->layers, layer);
  reader->settings = layer;
}

static void
read_set (Reader *reader, const SqlStatement *statement)
{
  const SqlSet *set = &statement->u.set;
  GError *error = NULL;

  if (set->key == NULL || set->value == NULL) {
    problem (reader, &statement->position, SLUICE_ERROR_UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND,
             "In a pipeline SET is written SET key = value");
    return;
  }
  push_layer (reader);
  if (!base_settings_set (reader->settings, set->key, set->value, &error))
    add_problem (reader, &statement->position, error);
}

static void
read_use (Reader *reader, const SqlStatement *statement)
{
  const SqlUse *use = &statement->u.use;
  guint n = use->name.n;

  if (n == 0 || n > 2 || (n == 2 && !is_own_catalog (reader->project, use->name.parts[0].text))) {
    problem (reader, &statement->position, SLUICE_ERROR_SCHEMA_NOT_FOUND, "USE names a schema of this warehouse");
    return;
  }
  if (use->what == SQL_USE_CATALOG) {
    if (!is_own_catalog (reader->project, use->name.parts[0].text))
      problem (reader, &statement->position, SLUICE_ERROR_SCHEMA_NOT_FOUND, "There is one catalog, spark_catalog");
    return;
  }
  reader->schema = keep_text (reader, base_text_folded (use->name.parts[n - 1].text));
}

static void
read_statement (Reader *reader, const SqlStatement *statement, GPtrArray *pending)
{
  switch (statement->kind) {
  case SQL_STATEMENT_CREATE_TABLE:
    read_create_table (reader, statement);
    return;
  case SQL_STATEMENT_CREATE_VIEW:
    read_create_view (reader, statement);
    return;
  case SQL_STATEMENT_CREATE_FLOW:
    read_create_flow (reader, statement, pending);
    return;
  case SQL_STATEMENT_SET:
    read_set (reader, statement);
    return;
  case SQL_STATEMENT_USE:
    read_use (reader, statement);
    return;
  default:
    problem (reader, &statement->position, SLUICE_ERROR_UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND,
             "This statement cannot stand in a pipeline definition; allowed are CREATE STREAMING TABLE, CREATE "
             "MATERIALIZED VIEW, CREATE "
             "[TEMPORARY] VIEW, CREATE FLOW, SET and USE");
  }
}

static gboolean
substitute (const char *key, char **value, gpointer data, GError **error)
{
  Reader *reader = data;
  const char *found = base_settings_get (reader->settings, key);

  if (found != NULL) {
    *value = g_strdup (found);
    return TRUE;
  }
  base_error_set (error, SLUICE_ERROR_PIPELINE_UNDEFINED_CONFIGURATION_VARIABLE,
                  "The configuration variable ${%s} is not set", key);
  base_error_set_hint (
      error, "set it under `configuration` in the spec file, or with --set %s=VALUE; $${%s} stands for the text itself",
      key, key);
  return FALSE;
}

#define MAX_FILE_BYTES (16 << 20)

static void
read_file (Reader *reader, const char *path, GPtrArray *pending)
{
  char *text = NULL;
  gsize size;
  g_autoptr (GError) failure = NULL;

  reader->file = keep_text (reader, g_strdup (path));
  reader->schema = reader->project->schema;
  reader->settings = reader->project->settings;
  push_layer (reader);
  if (g_str_has_suffix (path, ".py")) {
    problem (reader, NULL, SLUICE_ERROR_PIPELINE_PYTHON_NOT_SUPPORTED,
             "Definitions in Python (%s) are not supported; write them in SQL", path);
    return;
  }
  if (!g_file_get_contents (path, &text, &size, &failure) || size > MAX_FILE_BYTES) {
    problem (reader, NULL, SLUICE_ERROR_FILE_NOT_FOUND, "The definitions file %s cannot be read: %s", path,
             failure != NULL ? failure->message : "it is larger than 16 MiB");
    g_free (text);
    return;
  }
  (void) keep_text (reader, text);
  reader->arena = sql_arena_new ();
  g_ptr_array_add (reader->project->arenas, reader->arena);
  SqlParseOptions options = { .file = reader->file, .substitute = substitute, .substitute_data = reader };
  g_autoptr (SqlScriptParser) parser = sql_script_parser_new (reader->arena, text, (gssize) size, &options);
  for (;;) {
    SqlStatement *statement = NULL;
    GError *error = NULL;
    if (!sql_script_parser_next (parser, &statement, &error)) {
      add_problem (reader, NULL, error);
      reader->unread = TRUE;
    } else if (statement == NULL)
      return;
    else
      read_statement (reader, statement, pending);
  }
}

PipelineProject *
pipeline_project_load (const PipelineSpec *spec, BaseSettings *settings, GPtrArray *problems, GError **error)
{
  g_autoptr (GPtrArray) files = pipeline_spec_files (spec, error);
  g_autoptr (GPtrArray) pending = g_ptr_array_new_with_free_func ((GDestroyNotify) pending_free);

  if (files == NULL)
    return NULL;
  PipelineProject *project = g_new0 (PipelineProject, 1);
  project->spec = (PipelineSpec *) spec;
  project->settings = base_settings_ref (settings);
  project->schema = base_text_folded (spec->schema != NULL ? spec->schema : "default");
  project->datasets = g_ptr_array_new_with_free_func ((GDestroyNotify) dataset_free);
  project->flows = g_ptr_array_new_with_free_func ((GDestroyNotify) flow_free);
  project->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  project->arenas = g_ptr_array_new_with_free_func ((GDestroyNotify) sql_arena_unref);
  project->texts = g_ptr_array_new_with_free_func (g_free);
  project->layers = g_ptr_array_new_with_free_func ((GDestroyNotify) base_settings_unref);
  Reader reader = { .project = project, .problems = problems };
  for (guint i = 0; i < files->len; i++)
    read_file (&reader, g_ptr_array_index (files, i), pending);
  settle_targets (&reader, pending);
  check_project (&reader);
  return project;
}

/* ---- facts ---- */

const PipelineSpec *
pipeline_project_spec (const PipelineProject *project)
{
  return project->spec;
}

BaseSettings *
pipeline_project_settings (const PipelineProject *project)
{
  return project->settings;
}

const char *
pipeline_project_schema (const PipelineProject *project)
{
  return project->schema;
}

guint
pipeline_project_n_datasets (const PipelineProject *project)
{
  return project->datasets->len;
}

PipelineDataset *
pipeline_project_dataset (const PipelineProject *project, guint index)
{
  return g_ptr_array_index (project->datasets, index);
}

guint
pipeline_project_n_flows (const PipelineProject *project)
{
  return project->flows->len;
}

PipelineFlow *
pipeline_project_flow (const PipelineProject *project, guint index)
{
  return g_ptr_array_index (project->flows, index);
}

const SqlExpectationList *
pipeline_dataset_expectations (const PipelineDataset *dataset)
{
  return dataset->table != NULL ? &dataset->table->expectations : &dataset->view->expectations;
}

const SqlQuery *
pipeline_dataset_view_query (const PipelineDataset *dataset)
{
  return dataset->view != NULL ? dataset->view->query : NULL;
}

const char *
pipeline_dataset_property (const PipelineDataset *dataset, const char *key)
{
  const SqlPropertyList *properties = dataset->table != NULL ? &dataset->table->properties : &dataset->view->properties;

  for (guint i = properties->n; i > 0; i--)
    if (g_ascii_strcasecmp (properties->items[i - 1].key, key) == 0)
      return properties->items[i - 1].value;
  return NULL;
}

gboolean
pipeline_dataset_reset_allowed (const PipelineDataset *dataset)
{
  const char *value = pipeline_dataset_property (dataset, "pipelines.reset.allowed");
  gboolean allowed = TRUE;

  if (value != NULL && base_settings_parse_bool (value, &allowed))
    return allowed;
  return base_settings_get_bool (dataset->place.settings, "pipelines.reset.allowed");
}

gboolean
pipeline_dataset_is_stored (const PipelineDataset *dataset)
{
  return dataset->kind == PIPELINE_STREAMING_TABLE || dataset->kind == PIPELINE_MATERIALIZED_VIEW;
}

gboolean
pipeline_dataset_is_autocdc_target (const PipelineDataset *dataset)
{
  return dataset->flows->len > 0 &&
         ((const PipelineFlow *) g_ptr_array_index (dataset->flows, 0))->kind == PIPELINE_FLOW_AUTOCDC;
}

gboolean
pipeline_flow_is_snapshot (const PipelineFlow *flow)
{
  return flow->autocdc != NULL && flow->autocdc->snapshot;
}

AutoCdcFlow
pipeline_flow_clauses (const PipelineFlow *flow, SqlArena *arena)
{
  AutoCdcFlow clauses = autocdc_flow_from_sql (flow->autocdc, flow->name, flow->target->label, arena);
  const char *widening = pipeline_dataset_property (flow->target, "delta.enableTypeWidening");

  if (widening != NULL)
    (void) base_settings_parse_bool (widening, &clauses.may_widen);
  return clauses;
}

/* Binding the queries of one flow: see pipeline-binding.h. */
#include "pipeline-binding.h"

#include "base-error.h"
#include "base-text.h"
#include "catalog-session.h"
#include "delta-snapshot.h"
#include "duck-type.h"
#include "files-options.h"
#include "relation-resolver.h"
#include "sql-parse.h"
#include "sql-print.h"
#include "stream-files.h"
#include "stream-table.h"

#include <string.h>

/* A view may read views; a circle is found by the graph, this bound only keeps a bad graph from overflowing the stack. */
#define MAX_VIEW_DEPTH 100

/* The resolver of one place: the schema of one-part names differs from file to file. */
typedef struct {
  RelationResolver base;
  PipelineBinding *binding;
  PipelinePlace place;
  gboolean in_persisted_view;
  RelationContext context;
} PlaceResolver;

struct PipelineBinding {
  PipelineBindingOptions options;
  GPtrArray *resolvers; /* of PlaceResolver */
  GPtrArray *streams;   /* of StreamSource */
  GPtrArray *inputs;    /* of PipelineInput */
  GPtrArray *statics;   /* of RelationSource: batch reads of Delta tables as they are now */
  GPtrArray *warnings;
  GPtrArray *arenas; /* of SqlArena: queries made up here */
  guint view_depth;
  RelationSource *function; /* (nullable) (transfer none): see pipeline_binding_set_function() */
};

static void
input_free (PipelineInput *input)
{
  g_free (input->name);
  delta_snapshot_unref (input->snapshot);
  g_free (input);
}

PipelineBinding *
pipeline_binding_new (const PipelineBindingOptions *options)
{
  PipelineBinding *binding = g_new0 (PipelineBinding, 1);

  binding->options = *options;
  binding->resolvers = g_ptr_array_new_with_free_func (g_free);
  binding->streams = g_ptr_array_new_with_free_func ((GDestroyNotify) stream_source_free);
  binding->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) input_free);
  binding->statics = g_ptr_array_new_with_free_func ((GDestroyNotify) relation_source_unref);
  binding->warnings = g_ptr_array_new_with_free_func (g_free);
  binding->arenas = g_ptr_array_new_with_free_func ((GDestroyNotify) sql_arena_unref);
  return binding;
}

void
pipeline_binding_free (PipelineBinding *binding)
{
  if (binding == NULL)
    return;
  g_ptr_array_unref (binding->streams);
  g_ptr_array_unref (binding->inputs);
  g_ptr_array_unref (binding->statics);
  g_ptr_array_unref (binding->warnings);
  g_ptr_array_unref (binding->resolvers);
  g_ptr_array_unref (binding->arenas);
  g_free (binding);
}

/* ---- tables ---- */

static void
add_input (PipelineBinding *binding, const char *name, PipelineDataset *dataset, DeltaSnapshot *snapshot)
{
  PipelineInput *input = g_new0 (PipelineInput, 1);

  *input = (PipelineInput){ g_strdup (name), dataset, snapshot != NULL ? delta_snapshot_ref (snapshot) : NULL };
  g_ptr_array_add (binding->inputs, input);
}

static RelationSource *
add_stream (PipelineBinding *binding, StreamSource *stream)
{
  g_ptr_array_add (binding->streams, stream);
  return relation_source_ref (stream->leaf);
}

/* A stream over a Delta table as it is now. */
static gboolean
stream_of_snapshot (PlaceResolver *resolver, const RelationTableRequest *request, const char *name,
                    DeltaSnapshot *snapshot, RelationTableAnswer *answer, GError **error)
{
  PipelineBinding *binding = resolver->binding;
  StreamTableRequest stream = { .index = binding->streams->len,
                                .name = name,
                                .snapshot = snapshot,
                                .options = request->options,
                                .settings = resolver->place.settings,
                                .session = binding->options.session,
                                .progress = binding->options.progress,
                                .cancel = binding->options.cancel };
  StreamSource *source = stream_table_new (&stream, error);

  if (source == NULL)
    return FALSE;
  answer->source = add_stream (binding, source);
  return TRUE;
}

/* A batch read of a Delta table. @is_pinned: it says which version. */
static RelationSource *
read_snapshot (PipelineBinding *binding, DeltaSnapshot *snapshot, gboolean is_pinned, const char *name)
{
  RelationSource *source = catalog_delta_source_new (snapshot, name);

  if (!is_pinned)
    g_ptr_array_add (binding->statics, relation_source_ref (source));
  return source;
}

gboolean
pipeline_binding_renew (PipelineBinding *binding, gboolean *renewed, GError **error)
{
  *renewed = FALSE;
  for (guint i = 0; i < binding->statics->len; i++) {
    gboolean this_one;

    if (!catalog_delta_source_renew (g_ptr_array_index (binding->statics, i), binding->options.cancel, &this_one,
                                     error))
      return FALSE;
    *renewed = *renewed || this_one;
  }
  return TRUE;
}

static BaseType *
schema_with_feed (const BaseType *schema)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (BaseType) string = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) version = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) timestamp = base_type_simple (BASE_TYPE_TIMESTAMP);

  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    base_struct_builder_add (builder, field->name, field->type, field->nullable, NULL);
  }
  base_struct_builder_add (builder, "_change_type", string, FALSE, NULL);
  base_struct_builder_add (builder, "_commit_version", version, FALSE, NULL);
  base_struct_builder_add (builder, "_commit_timestamp", timestamp, FALSE, NULL);
  return base_struct_builder_end (builder);
}

/* Analysis: a table by its schema alone, without rows. */
static gboolean
answer_by_schema (PlaceResolver *resolver, PipelineDataset *dataset, gboolean streaming, gboolean with_feed,
                  RelationTableAnswer *answer, GError **error)
{
  BaseType *schema = resolver->binding->options.schemas[dataset->index];

  if (schema == NULL)
    return base_error_set (error, SLUICE_ERROR_PIPELINE_GRAPH_NOT_TOPOLOGICALLY_SORTED,
                           "The dataset `%s` is read before it was analysed", dataset->label);
  g_autoptr (BaseType) shown = with_feed ? schema_with_feed (schema) : base_type_ref (schema);
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  for (guint i = 0; i < base_type_n_fields (shown); i++) {
    g_autofree char *type = duck_type_text (base_type_field (shown, i)->type);
    g_string_append_printf (sql, "%sCAST(NULL AS %s) AS x%u", i > 0 ? ", " : "", type, i);
  }
  g_string_append (sql, base_type_n_fields (shown) > 0 ? " WHERE false" : "1 AS x0 WHERE false");
  answer->source = relation_source_new_text (dataset->label, sql->str, shown, streaming);
  return TRUE;
}

/* CHANGES FROM, or the option readChangeFeed, of a table of the pipeline. */
static gboolean
answer_changes (PlaceResolver *resolver, const RelationTableRequest *request, PipelineDataset *dataset,
                RelationTableAnswer *answer, GError **error)
{
  PipelineBinding *binding = resolver->binding;
  RelationResolver *catalog = catalog_session_resolver (binding->options.catalog);
  const char *parts[] = { dataset->schema, dataset->name, NULL };
  RelationTableRequest asked = *request;

  add_input (binding, dataset->label, dataset, NULL);
  if (binding->options.schemas != NULL)
    return catalog_changes_check (binding->options.catalog, request, error) &&
           answer_by_schema (resolver, dataset, FALSE, TRUE, answer, error);
  asked.parts = parts;
  asked.n_parts = 2;
  return catalog->klass->find_table (catalog, &asked, answer, error);
}

static gboolean
answer_stored (PlaceResolver *resolver, const RelationTableRequest *request, PipelineDataset *dataset,
               RelationTableAnswer *answer, GError **error)
{
  PipelineBinding *binding = resolver->binding;
  const char *parts[] = { dataset->schema, dataset->name, NULL };
  g_auto (CatalogReference) reference = { 0 };
  gint64 version, timestamp_us;
  gboolean is_feed = FALSE, asks_for_changes = FALSE, is_pinned = FALSE;

  if (request->streaming && dataset->kind == PIPELINE_MATERIALIZED_VIEW)
    return base_error_set (
        error, SLUICE_ERROR_STREAM_FROM_MATERIALIZED_VIEW,
        "The materialized view `%s` cannot be read as a stream by its own pipeline; leave STREAM out", dataset->label);
  if (!request->streaming && !catalog_asks_for_changes (request, &asks_for_changes, error))
    return FALSE;
  if (asks_for_changes)
    return answer_changes (resolver, request, dataset, answer, error);
  if (request->streaming ? !stream_table_check_options (request->options, binding->options.session, &is_feed, error)
                         : !catalog_batch_travel (binding->options.catalog, request, &version, &timestamp_us, error))
    return FALSE;
  if (binding->options.schemas != NULL) {
    add_input (binding, dataset->label, dataset, NULL);
    return answer_by_schema (resolver, dataset, request->streaming, is_feed, answer, error);
  }
  if (!catalog_session_resolve (binding->options.catalog, parts, 2, &reference, error))
    return FALSE;
  g_autoptr (DeltaSnapshot) snapshot =
      catalog_travel_snapshot (binding->options.catalog, &reference, request, &is_pinned, error);
  if (snapshot == NULL)
    return FALSE;
  add_input (binding, dataset->label, dataset, snapshot);
  if (request->streaming)
    return stream_of_snapshot (resolver, request, dataset->label, snapshot, answer, error);
  answer->source = read_snapshot (binding, snapshot, is_pinned, dataset->label);
  return TRUE;
}

static gboolean
answer_view (PlaceResolver *resolver, const RelationTableRequest *request, PipelineDataset *view,
             RelationTableAnswer *answer, GError **error)
{
  if (resolver->in_persisted_view && view->kind == PIPELINE_TEMPORARY_VIEW)
    return base_error_set (error, SLUICE_ERROR_INVALID_TEMP_OBJ_REFERENCE,
                           "A persisted view cannot read the temporary view `%s`", view->label);
  g_autoptr (RelationPlan) plan = pipeline_binding_view (resolver->binding, view, error);
  if (plan == NULL)
    return FALSE;
  gboolean is_streaming = relation_plan_is_streaming (plan);
  gboolean check = base_settings_get_bool (view->place.settings, "pipelines.incompatibleViewCheck.enabled");
  if (check && request->streaming && !is_streaming)
    return base_error_set (error, SLUICE_ERROR_INCOMPATIBLE_BATCH_VIEW_READ,
                           "The view `%s` is a batch view and cannot be read with STREAM", view->label);
  if (check && !request->streaming && is_streaming)
    return base_error_set (error, SLUICE_ERROR_INCOMPATIBLE_STREAMING_VIEW_READ,
                           "The view `%s` is a streaming view and must be read with STREAM", view->label);
  add_input (resolver->binding, view->label, view, NULL);
  answer->plan = g_steal_pointer (&plan);
  return TRUE;
}

/* A table outside of the pipeline. */
static gboolean
answer_external (PlaceResolver *resolver, const RelationTableRequest *request, RelationTableAnswer *answer,
                 GError **error)
{
  PipelineBinding *binding = resolver->binding;
  const char *qualified[] = { resolver->place.schema, request->parts[0], NULL };
  gboolean one_part = request->n_parts == 1;
  g_auto (CatalogReference) reference = { 0 };
  RelationTableRequest asked = *request;
  gboolean asks_for_changes = FALSE, is_pinned = FALSE;

  asked.parts = one_part ? qualified : request->parts;
  asked.n_parts = one_part ? 2 : request->n_parts;
  if (!catalog_session_resolve (binding->options.catalog, asked.parts, asked.n_parts, &reference, error))
    return FALSE;
  g_autofree char *name = g_strjoinv (".", (char **) asked.parts);
  gboolean is_delta = reference.kind == CATALOG_REFERENCE_TABLE ||
                      (reference.kind == CATALOG_REFERENCE_PATH && g_strcmp0 (reference.provider, "delta") == 0);
  if (reference.kind == CATALOG_REFERENCE_ABSENT)
    return TRUE;
  if (!is_delta && request->streaming)
    return base_error_set (error, SLUICE_ERROR_INCOMPATIBLE_BATCH_VIEW_READ,
                           "%s cannot be read with STREAM: it is not a Delta table", name);
  if (!request->streaming && !catalog_asks_for_changes (request, &asks_for_changes, error))
    return FALSE;
  if (!is_delta || asks_for_changes) {
    RelationResolver *catalog = catalog_session_resolver (binding->options.catalog);
    add_input (binding, name, NULL, NULL);
    return catalog->klass->find_table (catalog, &asked, answer, error);
  }
  g_autoptr (DeltaSnapshot) snapshot =
      catalog_travel_snapshot (binding->options.catalog, &reference, request, &is_pinned, error);
  if (snapshot == NULL)
    return FALSE;
  add_input (binding, name, NULL, snapshot);
  if (request->streaming)
    return stream_of_snapshot (resolver, request, name, snapshot, answer, error);
  answer->source = read_snapshot (binding, snapshot, is_pinned, name);
  return TRUE;
}

static gboolean
find_table (RelationResolver *base, const RelationTableRequest *request, RelationTableAnswer *answer, GError **error)
{
  PlaceResolver *resolver = (PlaceResolver *) base;
  PipelineDataset *dataset = pipeline_project_find (resolver->binding->options.project, request->parts,
                                                    request->n_parts, resolver->place.schema);

  if (dataset == NULL) {
    gboolean is_live = request->n_parts == 2 && base_text_equal_ignore_case (request->parts[0], "live");
    return is_live || answer_external (resolver, request, answer, error);
  }
  if (pipeline_dataset_is_stored (dataset))
    return answer_stored (resolver, request, dataset, answer, error);
  return answer_view (resolver, request, dataset, answer, error);
}

/* ---- table functions ---- */

/* The text of an argument, NULL when it is no plain value. */
static char *
argument_text (const RelationArgument *argument)
{
  const RelationLiteral *value = argument->value;

  if (value == NULL || value->is_null)
    return NULL;
  switch (base_type_kind (value->type)) {
  case BASE_TYPE_STRING:
  case BASE_TYPE_DECIMAL:
    return g_strndup (value->text, value->size);
  case BASE_TYPE_BOOLEAN:
    return g_strdup (value->integer != 0 ? "true" : "false");
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    return g_strdup_printf ("%" G_GINT64_FORMAT, value->integer);
  default:
    return NULL;
  }
}

typedef struct {
  char *path;
  char *format;     /* (nullable) */
  GPtrArray *pairs; /* key, value, …; NULL-terminated */
} FileArguments;

static void
file_arguments_clear (FileArguments *arguments)
{
  g_free (arguments->path);
  g_free (arguments->format);
  g_clear_pointer (&arguments->pairs, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FileArguments, file_arguments_clear)

static gboolean
read_file_arguments (const RelationTableFunctionRequest *request, gboolean is_cloud_files, FileArguments *out,
                     GError **error)
{
  out->pairs = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < request->n_arguments; i++) {
    const RelationArgument *argument = &request->arguments[i];
    g_autofree char *text = argument_text (argument);
    if (argument->items != NULL && is_cloud_files && i == 2 && argument->is_map) {
      for (guint k = 0; argument->items[k] != NULL; k++)
        g_ptr_array_add (out->pairs, g_strdup (argument->items[k]));
      continue;
    }
    if (text == NULL)
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION,
                             "The arguments of %s are constant texts, numbers or booleans", request->parts[0]);
    if (argument->name == NULL && i == 0)
      out->path = g_steal_pointer (&text);
    else if (argument->name == NULL && i == 1 && is_cloud_files)
      out->format = g_steal_pointer (&text);
    else if (argument->name == NULL)
      return base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS,
                             "%s takes a path%s; further options are written name => value", request->parts[0],
                             is_cloud_files ? ", a format and a map of options" : "");
    else if (g_ascii_strcasecmp (argument->name, "path") == 0)
      out->path = g_steal_pointer (&text);
    else {
      g_ptr_array_add (out->pairs, g_strdup (argument->name));
      g_ptr_array_add (out->pairs, g_steal_pointer (&text));
    }
  }
  g_ptr_array_add (out->pairs, NULL);
  if (out->path == NULL)
    return base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS, "%s needs a path", request->parts[0]);
  return TRUE;
}

static gboolean
stream_of_files (PlaceResolver *resolver, const RelationTableFunctionRequest *request, gboolean is_cloud_files,
                 RelationTableAnswer *answer, GError **error)
{
  PipelineBinding *binding = resolver->binding;
  const PipelineBindingOptions *options = &binding->options;
  g_auto (FileArguments) arguments = { 0 };

  if (!read_file_arguments (request, is_cloud_files, &arguments, error))
    return FALSE;
  g_autoptr (FilesOptions) files =
      files_options_new (is_cloud_files ? FILES_ASK_CLOUD_FILES : FILES_ASK_READ_FILES, arguments.path,
                         pipeline_project_spec (options->project)->directory, arguments.format,
                         (const char *const *) arguments.pairs->pdata, binding->warnings, error);
  if (files == NULL)
    return FALSE;
  StreamSource *stream = stream_files_new (binding->streams->len, files, options->progress, options->stores,
                                           options->session, options->cancel, error);
  if (stream == NULL)
    return FALSE;
  add_input (binding, files_options_path (files), NULL, NULL);
  answer->source = add_stream (binding, stream);
  return TRUE;
}

/* STREAM table_changes(name, start) is STREAM name with the options that say so. */
static gboolean
stream_of_changes (PlaceResolver *resolver, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                   GError **error)
{
  g_auto (GStrv) parts = NULL;
  g_auto (GStrv) options = NULL;

  if (!catalog_table_changes_stream (resolver->binding->options.catalog, request, &parts, &options, error))
    return FALSE;
  RelationTableRequest table = { .parts = (const char *const *) parts,
                                 .n_parts = g_strv_length (parts),
                                 .version = -1,
                                 .timestamp_us = RELATION_NO_TIME,
                                 .options = (const char *const *) options,
                                 .streaming = TRUE,
                                 .file = request->file,
                                 .line = request->line,
                                 .column = request->column };
  return find_table (&resolver->base, &table, answer, error);
}

/* Analysis of a batch table_changes('t', …) on a dataset of this pipeline: its table need not exist yet. @dataset: NULL for others. */
static PipelineDataset *
dataset_of_changes (PlaceResolver *resolver, const RelationTableFunctionRequest *request)
{
  g_autofree char *text = request->n_arguments > 0 ? argument_text (&request->arguments[0]) : NULL;

  return text != NULL ? pipeline_project_find_text (resolver->binding->options.project, text, resolver->place.schema)
                      : NULL;
}

static gboolean
find_table_function (RelationResolver *base, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                     GError **error)
{
  PlaceResolver *resolver = (PlaceResolver *) base;
  const char *name = request->parts[request->n_parts - 1];
  RelationResolver *catalog = catalog_session_resolver (resolver->binding->options.catalog);

  if (resolver->binding->function != NULL && resolver->binding->view_depth == 0 && request->n_parts == 1 &&
      g_ascii_strcasecmp (name, resolver->binding->function->name) == 0) {
    if (request->n_arguments > 0)
      return base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS, "%s takes no argument", name);
    answer->source = relation_source_ref (resolver->binding->function);
    return TRUE;
  }
  if (g_ascii_strcasecmp (name, "cloud_files") == 0)
    return stream_of_files (resolver, request, TRUE, answer, error);
  if (request->streaming && g_ascii_strcasecmp (name, "read_files") == 0)
    return stream_of_files (resolver, request, FALSE, answer, error);
  if (request->streaming && g_ascii_strcasecmp (name, "table_changes") == 0)
    return stream_of_changes (resolver, request, answer, error);
  if (request->streaming)
    return base_error_set (
        error, SLUICE_ERROR_UNSUPPORTED_STREAMING_OPERATION,
        "%s cannot be read with STREAM; a change feed is read as STREAM t WITH (readChangeFeed = true)", name);
  add_input (resolver->binding, name, NULL, NULL);
  PipelineDataset *changed =
      g_ascii_strcasecmp (name, "table_changes") == 0 ? dataset_of_changes (resolver, request) : NULL;
  if (changed != NULL && resolver->binding->options.schemas != NULL)
    return answer_by_schema (resolver, changed, FALSE, TRUE, answer, error);
  if (catalog->klass->find_table_function == NULL)
    return TRUE;
  return catalog->klass->find_table_function (catalog, request, answer, error);
}

static char **
list_tables (RelationResolver *base)
{
  PlaceResolver *resolver = (PlaceResolver *) base;
  const PipelineProject *project = resolver->binding->options.project;
  RelationResolver *catalog = catalog_session_resolver (resolver->binding->options.catalog);
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();

  for (guint i = 0; i < pipeline_project_n_datasets (project); i++)
    g_strv_builder_add (names, pipeline_project_dataset (project, i)->label);
  if (catalog->klass->list_tables != NULL) {
    g_auto (GStrv) others = catalog->klass->list_tables (catalog);
    if (others != NULL)
      g_strv_builder_addv (names, (const char **) others);
  }
  return g_strv_builder_end (names);
}

static const RelationResolverClass place_resolver_class = { find_table, find_table_function, list_tables };

static PlaceResolver *
resolver_at (PipelineBinding *binding, const PipelinePlace *place)
{
  PlaceResolver *resolver = g_new0 (PlaceResolver, 1);

  resolver->base.klass = &place_resolver_class;
  resolver->base.schema = place->schema;
  resolver->base.user = catalog_session_resolver (binding->options.catalog)->user;
  resolver->binding = binding;
  resolver->place = *place;
  resolver->context = (RelationContext){ .resolver = &resolver->base,
                                         .settings = place->settings,
                                         .now_us = binding->options.now_us,
                                         .session = binding->options.session,
                                         .file = place->file };
  g_ptr_array_add (binding->resolvers, resolver);
  return resolver;
}

RelationContext *
pipeline_binding_context (PipelineBinding *binding, const PipelinePlace *place)
{
  return &resolver_at (binding, place)->context;
}

/* ---- plans ---- */

RelationPlan *
pipeline_binding_query (PipelineBinding *binding, const SqlQuery *query, const PipelinePlace *place, GError **error)
{
  return relation_plan_new_query (query, pipeline_binding_context (binding, place), error);
}

static RelationPlan *
select_all (PipelineBinding *binding, const SqlRelation *relation, gboolean streaming, const PipelinePlace *place,
            GError **error)
{
  SqlArena *arena = sql_arena_new ();
  SqlName name = { .position = relation->position };
  SqlQuery *query = sql_build_select_all (arena, &name, streaming);
  SqlRelation *asked = query->body->u.select.from;

  g_ptr_array_add (binding->arenas, arena);
  *asked = *relation; /* as it stands in the file: errors have its positions */
  asked->streaming = streaming;
  query->body->depth = asked->depth + 1;
  query->depth = asked->depth + 2;
  RelationPlan *plan = relation_plan_new_query (query, pipeline_binding_context (binding, place), error);
  if (plan == NULL)
    sql_position_add_to_error (&relation->position, error);
  return plan;
}

RelationPlan *
pipeline_binding_source (PipelineBinding *binding, const SqlRelation *relation, const PipelinePlace *place,
                         GError **error)
{
  if (!relation->streaming) {
    g_autofree char *bare = sql_print_relation (relation);

    g_ptr_array_add (binding->warnings,
                     g_strdup_printf ("AUTO CDC reads %s as a stream; write STREAM(%s) to say so.", bare, bare));
  }
  return select_all (binding, relation, TRUE, place, error);
}

RelationPlan *
pipeline_binding_table (PipelineBinding *binding, const SqlRelation *relation, const PipelinePlace *place,
                        GError **error)
{
  return select_all (binding, relation, relation->streaming, place, error);
}

void
pipeline_binding_set_function (PipelineBinding *binding, RelationSource *function)
{
  binding->function = function;
}

static RelationPlan *
rename_columns (RelationPlan *plan, const SqlColumnList *columns, const RelationContext *context, GError **error)
{
  guint n = base_type_n_fields (relation_plan_schema (plan));

  if (columns->n == 0)
    return relation_plan_ref (plan);
  if (columns->n != n) {
    base_error_set (error, SLUICE_ERROR_ASSIGNMENT_ARITY_MISMATCH,
                    "%u column names are given for a query of %u columns", columns->n, n);
    sql_position_add_to_error (&columns->items[0].position, error);
    return NULL;
  }
  g_autofree RelationItem *items = g_new0 (RelationItem, n);
  for (guint i = 0; i < n; i++)
    items[i] = (RelationItem){ .name = columns->items[i].name.parts[0].text, .column = i };
  return relation_plan_project (plan, items, n, context, error);
}

RelationPlan *
pipeline_binding_view (PipelineBinding *binding, const PipelineDataset *view, GError **error)
{
  PlaceResolver *resolver = resolver_at (binding, &view->place);

  resolver->in_persisted_view = view->kind == PIPELINE_VIEW;
  if (binding->view_depth >= MAX_VIEW_DEPTH) {
    base_error_set (error, SLUICE_ERROR_CIRCULAR_DEPENDENCY, "Views are nested too deeply at `%s`", view->label);
    return NULL;
  }
  binding->view_depth++;
  g_autoptr (RelationPlan) plan = relation_plan_new_query (view->view->query, &resolver->context, error);
  binding->view_depth--;
  if (plan == NULL)
    return NULL;
  g_autoptr (RelationPlan) renamed = rename_columns (plan, &view->view->columns, &resolver->context, error);
  return renamed != NULL ? pipeline_binding_expect (binding, view, renamed, error) : NULL;
}

RelationPlan *
pipeline_binding_expect (PipelineBinding *binding, const PipelineDataset *dataset, RelationPlan *plan, GError **error)
{
  static const RelationExpectAction actions[] = { [SQL_VIOLATION_WARN] = RELATION_EXPECT_KEEP,
                                                  [SQL_VIOLATION_DROP_ROW] = RELATION_EXPECT_DROP,
                                                  [SQL_VIOLATION_FAIL_UPDATE] = RELATION_EXPECT_FAIL };
  const SqlExpectationList *list = pipeline_dataset_expectations (dataset);

  if (list->n == 0)
    return relation_plan_ref (plan);
  g_autofree RelationExpectation *expectations = g_new0 (RelationExpectation, list->n);
  for (guint i = 0; i < list->n; i++)
    expectations[i] = (RelationExpectation){ list->items[i].name.text, list->items[i].condition,
                                             actions[list->items[i].on_violation] };
  return relation_plan_expect (plan, dataset->label, expectations, list->n,
                               pipeline_binding_context (binding, &dataset->place), error);
}

/* ---- what was read ---- */

guint
pipeline_binding_n_streams (const PipelineBinding *binding)
{
  return binding->streams->len;
}

StreamSource **
pipeline_binding_streams (const PipelineBinding *binding)
{
  return (StreamSource **) binding->streams->pdata;
}

guint
pipeline_binding_n_inputs (const PipelineBinding *binding)
{
  return binding->inputs->len;
}

const PipelineInput *
pipeline_binding_input (const PipelineBinding *binding, guint index)
{
  return g_ptr_array_index (binding->inputs, index);
}

GPtrArray *
pipeline_binding_warnings (const PipelineBinding *binding)
{
  return binding->warnings;
}

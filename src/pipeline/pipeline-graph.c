/* The graph of a pipeline: see pipeline-graph.h. */
#include "pipeline-graph.h"

#include "autocdc.h"
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "catalog-session.h"
#include "delta-snapshot.h"
#include "dml-definition.h"
#include "pipeline-flow-private.h"
#include "pipeline-setup.h"
#include "pipeline-snapshot.h"
#include "sql-print.h"
#include "sql-walk.h"
#include "stream-progress.h"
#include "write-schema.h"

#include <string.h>

typedef enum { NEW, OPEN, DONE } Colour;

/* What the graph knows of one dataset. */
typedef struct {
  GPtrArray *inputs; /* of PipelineDataset, each once */
  GPtrArray *names;  /* of char *: every input of a view by name */
  BaseType *schema;  /* (nullable) */
  AutoCdcPlan *plan; /* (nullable): of its first AUTO CDC flow */
  gboolean failed;   /* itself, or something above it */
  Colour colour;
} Node;

struct PipelineGraph {
  PipelineBindingOptions options;
  const PipelineProject *project;
  Store *storage; /* (nullable) */
  const char *pipeline_id;
  const PipelineResetRequest *reset; /* (nullable) */
  GPtrArray *problems;
  Node *nodes;              /* by dataset index */
  BaseType **schemas;       /* by dataset index: borrowed from nodes, for bindings */
  GPtrArray *order;         /* of PipelineDataset */
  GPtrArray *flow_inputs;   /* of GPtrArray of char *, by flow index, NULL-terminated */
  GPtrArray *flow_warnings; /* of GPtrArray of char *, by flow index */
};

const char *
pipeline_dataset_kind_text (PipelineDatasetKind kind)
{
  static const char *const texts[] = { "streaming table", "materialized view", "temporary view", "view" };

  return texts[kind];
}

/* ---- problems ---- */

static void
add_problem (PipelineGraph *graph, const PipelinePlace *place, const SqlPosition *position, GError *problem)
{
  if (position != NULL)
    sql_position_add_to_error (position, &problem);
  base_error_set_position (&problem, place->file, 0, 0, NULL);
  g_ptr_array_add (graph->problems, problem);
}

/* The first of @names whose text stands in backticks in @quoted. (nullable) */
static const SqlPosition *
position_of (const SqlIdentList *names, const char *quoted)
{
  for (guint i = 0; i < names->n; i++) {
    g_autofree char *text = g_strdup_printf ("`%s`", names->items[i].text);
    if (strstr (quoted, text) != NULL)
      return &names->items[i].position;
  }
  return NULL;
}

/* Where a clause names the column that @problem is about. (nullable) */
static const SqlPosition *
name_position (const SqlAutoCdc *clauses, const GError *problem)
{
  const char *missing = base_error_param (problem, "missingColumns");
  const char *key = base_error_param (problem, "keyColumnName");
  const SqlPosition *position = NULL;

  if (key != NULL) {
    g_autofree char *quoted = g_strdup_printf ("`%s`", key);
    position = position_of (&clauses->keys, quoted);
  }
  if (missing == NULL)
    return position;
  const SqlIdentList by_event = { (SqlIdent *) clauses->columns_to_update, clauses->columns_to_update != NULL };
  const SqlIdentList *lists[] = { &clauses->columns.columns, &clauses->track_history.columns,
                                  &clauses->ignore_null_updates.columns, &by_event };
  for (guint i = 0; i < G_N_ELEMENTS (lists) && position == NULL; i++)
    position = position_of (lists[i], missing);
  return position;
}

static void
add_flow_problem (PipelineGraph *graph, const PipelineFlow *flow, GError *problem)
{
  const SqlPosition *named = flow->autocdc != NULL ? name_position (flow->autocdc, problem) : NULL;

  if (named != NULL)
    sql_position_add_to_error (named, &problem);
  base_error_add_context (&problem, "analysing the flow `%s`", flow->name);
  add_problem (graph, &flow->place, &flow->position, problem);
}

/* ---- edges ---- */

typedef struct {
  PipelineGraph *graph;
  Node *node;
  const PipelinePlace *place;
  GPtrArray *names; /* (nullable): of char *: every input by name */
} Collect;

static void
add_edge (Node *node, PipelineDataset *input)
{
  if (!g_ptr_array_find (node->inputs, input, NULL))
    g_ptr_array_add (node->inputs, input);
}

/* @name: (transfer full): once, however often a query reads it */
static void
add_name (GPtrArray *names, char *name)
{
  if (names == NULL || g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_free (name);
  else
    g_ptr_array_add (names, name);
}

/* The dataset whose changes `table_changes('t', …)` reads; NULL for any other function. */
static PipelineDataset *
dataset_of_changes (const Collect *collect, const SqlExpr *call)
{
  const SqlCall *function = &call->u.call;
  const SqlName *name = &function->name;

  if (name->n == 0 || function->n_args == 0 || g_ascii_strcasecmp (name->parts[name->n - 1].text, "table_changes") != 0)
    return NULL;
  const SqlExpr *first = function->args[0].value;
  if (first->kind != SQL_EXPR_LITERAL || first->u.literal.kind != SQL_LITERAL_STRING)
    return NULL;
  return pipeline_project_find_text (collect->graph->project, first->u.literal.text, collect->place->schema);
}

static void
collect_reference (const SqlRelation *relation, gpointer data)
{
  Collect *collect = data;

  if (relation->kind != SQL_RELATION_TABLE) {
    PipelineDataset *changed = dataset_of_changes (collect, relation->u.function.call);
    if (changed != NULL)
      add_edge (collect->node, changed);
    if (!pipeline_is_version_function (relation->u.function.call))
      add_name (collect->names, sql_print_relation (relation));
    return;
  }
  const SqlName *name = &relation->u.table.name;
  g_autofree const char **parts = sql_name_parts (name);
  PipelineDataset *input =
      name->n <= 3 ? pipeline_project_find (collect->graph->project, parts, name->n, collect->place->schema) : NULL;
  if (input != NULL)
    add_edge (collect->node, input);
  add_name (collect->names, input != NULL ? g_strdup (input->label) : sql_name_text (name));
}

/* What an AUTO CDC flow reads. */
static void
collect_autocdc (const SqlAutoCdc *clauses, Collect *collect)
{
  if (clauses->source != NULL)
    collect_reference (clauses->source, collect);
  if (clauses->snapshot_query != NULL)
    sql_query_each_reference (clauses->snapshot_query, collect_reference, collect);
  if (clauses->version_query != NULL)
    sql_query_each_reference (clauses->version_query, collect_reference, collect);
}

static void
collect_edges (PipelineGraph *graph)
{
  for (guint i = 0; i < pipeline_project_n_datasets (graph->project); i++) {
    PipelineDataset *dataset = pipeline_project_dataset (graph->project, i);
    Collect collect = { graph, &graph->nodes[i], &dataset->place,
                        dataset->view != NULL ? graph->nodes[i].names : NULL };
    if (pipeline_dataset_view_query (dataset) != NULL)
      sql_query_each_reference (pipeline_dataset_view_query (dataset), collect_reference, &collect);
  }
  for (guint i = 0; i < pipeline_project_n_flows (graph->project); i++) {
    PipelineFlow *flow = pipeline_project_flow (graph->project, i);
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
    g_ptr_array_add (graph->flow_inputs, names);
    g_ptr_array_add (graph->flow_warnings, g_ptr_array_new_with_free_func (g_free));
    if (flow->target != NULL) {
      Collect collect = { graph, &graph->nodes[flow->target->index], &flow->place, names };
      if (flow->query != NULL)
        sql_query_each_reference (flow->query, collect_reference, &collect);
      if (flow->autocdc != NULL)
        collect_autocdc (flow->autocdc, &collect);
    }
    g_ptr_array_add (names, NULL);
  }
}

/* ---- order ---- */

/* Depth first; an open node met again closes a circle. The stack of datasets is as deep as the longest chain. */
static void
visit (PipelineGraph *graph, PipelineDataset *dataset)
{
  Node *node = &graph->nodes[dataset->index];

  node->colour = OPEN;
  for (guint i = 0; i < node->inputs->len; i++) {
    PipelineDataset *input = g_ptr_array_index (node->inputs, i);
    Node *below = &graph->nodes[input->index];
    if (below->colour == NEW)
      visit (graph, input);
    if (below->colour == OPEN) {
      GError *error = NULL;
      if (dataset == input)
        base_error_set (&error, SLUICE_ERROR_CIRCULAR_DEPENDENCY, "The dataset `%s` reads itself", dataset->label);
      else
        base_error_set (&error, SLUICE_ERROR_CIRCULAR_DEPENDENCY,
                        "The datasets `%s` and `%s` depend on each other in a circle", dataset->label, input->label);
      add_problem (graph, &dataset->place, &dataset->position, error);
      node->failed = TRUE;
    }
    node->failed = node->failed || below->failed;
  }
  node->colour = DONE;
  g_ptr_array_add (graph->order, dataset);
}

/* ---- analysis ---- */

/* The table as it is now; NULL when there is none. */
static gboolean
find_existing (PipelineGraph *graph, const PipelineDataset *dataset, DeltaSnapshot **snapshot, CatalogEntry **entry,
               GError **error)
{
  const char *parts[] = { dataset->schema, dataset->name, NULL };
  g_auto (CatalogReference) reference = { 0 };

  *snapshot = NULL;
  *entry = NULL;
  if (!catalog_session_resolve (graph->options.catalog, parts, 2, &reference, error))
    return FALSE;
  if (reference.entry == NULL)
    return TRUE;
  *entry = catalog_entry_ref (reference.entry);
  if (reference.kind != CATALOG_REFERENCE_TABLE)
    return TRUE;
  *snapshot = catalog_session_snapshot (graph->options.catalog, &reference, -1, RELATION_NO_TIME, error);
  if (*snapshot == NULL)
    g_clear_pointer (entry, catalog_entry_unref);
  return *snapshot != NULL;
}

static gboolean
check_owner (PipelineGraph *graph, const PipelineDataset *dataset, const CatalogEntry *entry, DeltaSnapshot *existing,
             GError **error)
{
  static const CatalogKind kinds[] = { [PIPELINE_STREAMING_TABLE] = CATALOG_KIND_STREAMING_TABLE,
                                       [PIPELINE_MATERIALIZED_VIEW] = CATALOG_KIND_MATERIALIZED_VIEW,
                                       [PIPELINE_TEMPORARY_VIEW] = CATALOG_KIND_VIEW,
                                       [PIPELINE_VIEW] = CATALOG_KIND_VIEW };

  if (entry == NULL)
    return TRUE;
  if (entry->owner_pipeline == NULL) {
    gboolean adoptable = entry->kind == CATALOG_KIND_TABLE && pipeline_dataset_is_autocdc_target (dataset);
    if (adoptable && existing != NULL && delta_snapshot_domain (existing, AUTOCDC_ADOPT_DOMAIN) != NULL)
      return TRUE;
    base_error_set (error, SLUICE_ERROR_TABLE_ALREADY_EXISTS, "`%s` exists and belongs to no pipeline", dataset->label);
    if (adoptable)
      base_error_set_hint (error, "ALTER STREAMING TABLE %s ADOPT lets the flow take its rows as history",
                           dataset->label);
    else
      base_error_set_hint (error, "drop it, or give the dataset another name");
    return FALSE;
  }
  if (graph->pipeline_id == NULL || strcmp (entry->owner_pipeline, graph->pipeline_id) != 0) {
    base_error_set (error, SLUICE_ERROR_TABLE_ALREADY_MANAGED_BY_OTHER_PIPELINE, "`%s` is managed by the pipeline %s",
                    dataset->label, entry->owner_pipeline);
    base_error_set_hint (error,
                         "a pipeline is known by what is in its `storage`: look whether the spec file still names "
                         "that directory, or give the dataset another name");
    return FALSE;
  }
  if (entry->kind == kinds[dataset->kind])
    return TRUE;
  base_error_set (error, SLUICE_ERROR_TABLE_ALREADY_EXISTS, "`%s` was a %s before; its kind cannot change",
                  dataset->label, catalog_kind_text (entry->kind, entry->is_managed));
  base_error_set_hint (error, "drop the table, then run the pipeline again");
  return FALSE;
}

BaseType *
pipeline_dataset_declared_schema (const PipelineDataset *dataset)
{
  if (dataset->table == NULL || dataset->table->columns.n == 0)
    return NULL;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < dataset->table->columns.n; i++) {
    const SqlColumn *column = &dataset->table->columns.items[i];
    g_autoptr (json_t) metadata = json_object ();
    if (column->type == NULL)
      return NULL;
    dml_definition_note_column (column, metadata);
    base_struct_builder_add (builder, column->name.parts[0].text, column->type->base, !column->not_null, metadata);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

/* A declared schema and an inferred one have the same columns; the declaration's order and nullability stay. */
static gboolean
check_declared (const BaseType *declared, const BaseType *inferred, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (inferred); i++) {
    const BaseField *field = base_type_field (inferred, i);
    int at = base_type_field_index (declared, field->name, TRUE);
    if (at < 0)
      return base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                             "The query gives the column `%s`, which the declared schema lacks", field->name);
    const BaseField *own = base_type_field (declared, (guint) at);
    if (base_type_equal (own->type, field->type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY | BASE_TYPE_EQUAL_IGNORE_CASE))
      continue;
    g_autofree char *own_text = base_type_text (own->type);
    g_autofree char *field_text = base_type_text (field->type);
    return base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                           "The column `%s` is declared %s, the query gives %s", field->name, own_text, field_text);
  }
  for (guint i = 0; i < base_type_n_fields (declared); i++)
    if (base_type_field_index (inferred, base_type_field (declared, i)->name, TRUE) == -1 &&
        !write_generated_is (base_type_field (declared, i)))
      return base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                             "The column `%s` is declared, but the query does not give it",
                             base_type_field (declared, i)->name);
  return TRUE;
}

static gboolean
check_names (const BaseType *schema, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (schema); i++)
    for (guint j = 0; j < i; j++)
      if (base_text_equal_ignore_case (base_type_field (schema, i)->name, base_type_field (schema, j)->name))
        return base_error_set (error, SLUICE_ERROR_COLUMN_ALREADY_EXISTS, "The query gives two columns `%s`",
                               base_type_field (schema, i)->name);
  return TRUE;
}

/* A flow that inserts by place gives the columns of its target, whatever its query calls them. */
static BaseType *
name_by_place (const PipelineFlow *flow, const BaseType *target, BaseType *given, GError **error)
{
  if (target == NULL || flow->by_name || flow->kind != PIPELINE_FLOW_APPEND)
    return base_type_ref (given);
  if (base_type_n_fields (target) != base_type_n_fields (given)) {
    base_error_set (error, SLUICE_ERROR_USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE,
                    "The table `%s` has %u columns, the query of the flow gives %u", flow->target->label,
                    base_type_n_fields (target), base_type_n_fields (given));
    base_error_set_hint (error, "INSERT INTO %s BY NAME finds the columns by their names", flow->target->label);
    return NULL;
  }
  BaseStructBuilder *builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (given); i++)
    base_struct_builder_add (builder, base_type_field (target, i)->name, base_type_field (given, i)->type,
                             base_type_field (given, i)->nullable, NULL);
  return base_struct_builder_end (builder);
}

/* Flows into one table must agree on the type of each column. */
static BaseType *
join_schemas (BaseType *sofar, BaseType *added, const PipelineDataset *target, GError **error)
{
  for (guint i = 0; i < base_type_n_fields (added); i++) {
    const BaseField *field = base_type_field (added, i);
    int at = base_type_field_index (sofar, field->name, TRUE);
    if (at < 0 ||
        base_type_equal (base_type_field (sofar, (guint) at)->type, field->type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
      continue;
    base_error_set (error, SLUICE_ERROR_UNABLE_TO_INFER_PIPELINE_TABLE_SCHEMA,
                    "The flows into `%s` give the column `%s` different types", target->label, field->name);
    return NULL;
  }
  return write_schema_merge (sofar, added);
}

/* The progress of a flow, for the schemas of its file sources; NULL when it never ran. */
static gboolean
open_progress (PipelineGraph *graph, const PipelineFlow *flow, StreamProgress **progress, GError **error)
{
  *progress = NULL;
  if (graph->storage == NULL)
    return TRUE;
  *progress = stream_progress_open (graph->storage, flow->name, STREAM_PROGRESS_READ_ONLY, NULL, NULL, error);
  return *progress != NULL;
}

static gboolean
check_query_type (const PipelineFlow *flow, RelationPlan *plan, GError **error)
{
  gboolean is_streaming = relation_plan_is_streaming (plan);

  if (flow->kind == PIPELINE_FLOW_COMPLETE)
    return !is_streaming ||
           base_error_set (error, SLUICE_ERROR_INVALID_FLOW_QUERY_TYPE_STREAMING_RELATION_FOR_MATERIALIZED_VIEW,
                           "The materialized view `%s` is written by a streaming query; leave STREAM out, or make it a "
                           "streaming table",
                           flow->target->label);
  if (flow->once)
    return !is_streaming ||
           base_error_set (error, SLUICE_ERROR_INVALID_FLOW_QUERY_TYPE_STREAMING_RELATION_FOR_ONCE_FLOW,
                           "The flow `%s` appends once what a batch query gives, and its query is a stream; leave "
                           "STREAM out, or ONCE",
                           flow->name);
  if (!is_streaming)
    return base_error_set (error, SLUICE_ERROR_INVALID_FLOW_QUERY_TYPE_BATCH_RELATION_FOR_STREAMING_TABLE,
                           "The streaming table `%s` is written by a batch query; read a source with STREAM, or make "
                           "it a materialized view",
                           flow->target->label);
  return relation_plan_check_append (plan, error);
}

static BaseType *
analyse_query (const PipelineFlow *flow, PipelineBinding *binding, GError **error)
{
  g_autoptr (RelationPlan) plan = pipeline_binding_query (binding, flow->query, &flow->place, error);

  if (plan == NULL || !check_query_type (flow, plan, error) || !check_names (relation_plan_schema (plan), error))
    return NULL;
  g_autoptr (RelationPlan) judged = pipeline_binding_expect (binding, flow->target, plan, error);
  return judged != NULL ? base_type_ref (relation_plan_schema (judged)) : NULL;
}

static gboolean
is_reset (const PipelineResetRequest *reset, const PipelineDataset *dataset)
{
  if (reset == NULL || !pipeline_dataset_is_stored (dataset))
    return FALSE;
  if (reset->full_refresh_all)
    return pipeline_dataset_reset_allowed (dataset);
  return reset->full_refresh != NULL && reset->full_refresh[dataset->index];
}

/* A once flow that is complete does not need its source any more: it is left out where that is all that is wrong. */
static gboolean
may_leave_out (PipelineGraph *graph, const PipelineFlow *flow, DeltaSnapshot *existing, GError **error)
{
  const char *condition = base_error_condition (*error);
  g_autoptr (StreamProgress) progress = NULL;
  gboolean complete = FALSE;

  if (!flow->once || existing == NULL || is_reset (graph->reset, flow->target) ||
      (strcmp (condition, "TABLE_OR_VIEW_NOT_FOUND") != 0 && strcmp (condition, "PATH_NOT_FOUND") != 0) ||
      !open_progress (graph, flow, &progress, NULL) || progress == NULL ||
      !pipeline_flow_is_complete (progress, &complete, NULL) || !complete)
    return FALSE;
  g_clear_error (error);
  return TRUE;
}

/* A binding of one flow, by the schemas of what was analysed before. */
static PipelineBinding *
bind_flow (PipelineGraph *graph, const PipelineFlow *flow, StreamProgress **progress, GError **error)
{
  PipelineBindingOptions options = graph->options;

  /* After a reset the flow begins anew: what its sources stored of their schemas goes with its progress. */
  if (!is_reset (graph->reset, flow->target) && !open_progress (graph, flow, progress, error))
    return NULL;
  options.schemas = graph->schemas;
  options.progress = *progress;
  return pipeline_binding_new (&options);
}

static BaseType *
analyse_flow (PipelineGraph *graph, const PipelineFlow *flow, GError **error)
{
  g_autoptr (StreamProgress) progress = NULL;
  g_autoptr (PipelineBinding) binding = bind_flow (graph, flow, &progress, error);

  return binding != NULL ? analyse_query (flow, binding, error) : NULL;
}

/* ---- AUTO CDC ---- */

static RelationPlan *
plan_events (PipelineBinding *binding, const PipelineFlow *flow, GError **error)
{
  g_autoptr (RelationPlan) source = pipeline_binding_source (binding, flow->autocdc->source, &flow->place, error);

  if (source == NULL || !relation_plan_check_append (source, error))
    return NULL;
  return pipeline_binding_expect (binding, flow->target, source, error);
}

/* The flow against its target as it is. @together: (nullable): what all flows into the target give. */
static AutoCdcPlan *
plan_autocdc (PipelineGraph *graph, const PipelineFlow *flow, DeltaSnapshot *existing, const BaseType *declared,
              const BaseType *together, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  AutoCdcFlow clauses = pipeline_flow_clauses (flow, arena);
  g_autoptr (StreamProgress) progress = NULL;

  clauses.together = together;
  if (!autocdc_flow_check (&clauses, error))
    return NULL;
  g_autoptr (PipelineBinding) binding = bind_flow (graph, flow, &progress, error);
  if (binding == NULL)
    return NULL;
  g_autoptr (BaseType) version_type = NULL;
  g_autoptr (RelationPlan) judged = pipeline_flow_is_snapshot (flow)
                                        ? pipeline_snapshot_plan (binding, flow, existing, &version_type, error)
                                        : plan_events (binding, flow, error);
  if (judged == NULL)
    return NULL;
  clauses.version_type = version_type;
  return autocdc_plan_new (&clauses, judged, existing, declared, pipeline_binding_context (binding, &flow->place),
                           error);
}

/* Texts that are cut or filled up when they are written would differ from the events that they are of. */
static gboolean
check_lengths (const PipelineDataset *dataset, GError **error)
{
  for (guint i = 0; i < dataset->table->columns.n; i++) {
    const SqlColumn *column = &dataset->table->columns.items[i];

    if (column->type == NULL || column->type->length_kind == SQL_TYPE_PLAIN)
      continue;
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "A CHAR or VARCHAR column in the target of an AUTO CDC flow is not supported");
    base_error_set_hint (error, "declare STRING, and an expectation for the length");
    sql_position_add_to_error (&column->position, error);
    return FALSE;
  }
  return TRUE;
}

/* The schema that AUTO CDC flows give their target. Several are each looked at alone, then compared, then looked at together. */
static BaseType *
analyse_autocdc (PipelineGraph *graph, PipelineDataset *dataset, DeltaSnapshot *existing, const BaseType *declared)
{
  g_autoptr (GPtrArray) plans = g_ptr_array_new_with_free_func ((GDestroyNotify) autocdc_plan_unref);
  g_autoptr (GPtrArray) planned = g_ptr_array_new ();
  g_autoptr (BaseType) together = NULL;
  gboolean several = dataset->flows->len > 1, good = TRUE;
  guint differs = 0;
  GError *error = NULL;

  for (guint round = 0; round < (several ? 2 : 1); round++) {
    g_ptr_array_set_size (plans, 0);
    g_ptr_array_set_size (planned, 0);
    for (guint i = 0; i < dataset->flows->len; i++) {
      PipelineFlow *flow = g_ptr_array_index (dataset->flows, i);
      AutoCdcPlan *plan =
          plan_autocdc (graph, flow, existing, several && round == 0 ? NULL : declared, together, &error);
      if (plan != NULL) {
        g_ptr_array_add (plans, plan);
        g_ptr_array_add (planned, flow);
      } else if (!may_leave_out (graph, flow, existing, &error)) {
        add_flow_problem (graph, flow, g_steal_pointer (&error));
        good = FALSE;
      }
    }
    if (!good || plans->len == 0)
      return good ? base_type_ref (delta_snapshot_schema (existing)) : NULL;
    if (several && round == 0 &&
        !autocdc_plans_agree ((AutoCdcPlan *const *) plans->pdata, plans->len, &together, &differs, &error)) {
      add_flow_problem (graph, g_ptr_array_index (planned, differs), error);
      return NULL;
    }
  }
  for (guint i = 0; i < plans->len; i++) {
    char *warning = autocdc_plan_warning (g_ptr_array_index (plans, i));
    if (warning != NULL)
      g_ptr_array_add (pipeline_graph_flow_warnings (graph, g_ptr_array_index (planned, i)), warning);
  }
  graph->nodes[dataset->index].plan = autocdc_plan_ref (g_ptr_array_index (plans, 0));
  return base_type_ref (autocdc_plan_target_schema (g_ptr_array_index (plans, 0)));
}

/* What the tables that were read note of leaves, such as ids of a column mapping, is not the new table's. */
static BaseType *
own_schema (const BaseType *inferred)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

  for (guint i = 0; i < base_type_n_fields (inferred); i++) {
    const BaseField *field = base_type_field (inferred, i);
    g_autoptr (BaseType) type = write_schema_plain (field->type);
    base_struct_builder_add (builder, field->name, type, field->nullable, field->metadata);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

/* Schema of a stored dataset from its flows, its declaration, and what exists. */
static BaseType *
settle_schema (const PipelineDataset *dataset, BaseType *inferred, const BaseType *declared, DeltaSnapshot *existing,
               GError **error)
{
  if (declared != NULL)
    return check_declared (declared, inferred, error) ? base_type_ref (declared) : NULL;
  if (existing != NULL && dataset->kind == PIPELINE_STREAMING_TABLE)
    return write_schema_merge (delta_snapshot_schema (existing), inferred);
  return own_schema (inferred);
}

/* The schema that flows with queries give their target; NULL when one of them is wrong. */
static BaseType *
analyse_queries (PipelineGraph *graph, PipelineDataset *dataset, DeltaSnapshot *existing, const BaseType *declared)
{
  g_autoptr (BaseType) joined = NULL;
  gboolean good = TRUE;
  GError *error = NULL;

  for (guint i = 0; i < dataset->flows->len; i++) {
    const PipelineFlow *flow = g_ptr_array_index (dataset->flows, i);
    g_autoptr (BaseType) given = analyse_flow (graph, flow, &error);
    const BaseType *target = declared != NULL   ? declared
                             : joined != NULL   ? joined
                             : existing != NULL ? delta_snapshot_schema (existing)
                                                : NULL;
    g_autoptr (BaseType) schema = given != NULL ? name_by_place (flow, target, given, &error) : NULL;
    if (schema != NULL && joined != NULL) {
      BaseType *both = join_schemas (joined, schema, dataset, &error);
      base_type_unref (schema);
      schema = both;
    }
    if (schema == NULL) {
      if (!may_leave_out (graph, flow, existing, &error)) {
        add_flow_problem (graph, flow, g_steal_pointer (&error));
        good = FALSE;
      }
      continue;
    }
    g_clear_pointer (&joined, base_type_unref);
    joined = g_steal_pointer (&schema);
  }
  if (!good)
    return NULL;
  if (joined == NULL) /* all left out */
    return base_type_ref (delta_snapshot_schema (existing));
  BaseType *schema = settle_schema (dataset, joined, declared, existing, &error);
  if (schema == NULL)
    add_problem (graph, &dataset->place, &dataset->position, error);
  return schema;
}

/* Columns that the table computes from others. */
static gboolean
check_generated (PipelineGraph *graph, const PipelineDataset *dataset, const BaseType *declared, GError **error)
{
  PipelineBindingOptions options = graph->options;

  options.schemas = graph->schemas;
  g_autoptr (PipelineBinding) binding = pipeline_binding_new (&options);
  for (guint i = 0; declared != NULL && i < dataset->table->columns.n; i++) {
    const SqlColumn *column = &dataset->table->columns.items[i];
    if (column->generated != NULL &&
        !write_generated_check (column->generated, declared, column->name.parts[0].text,
                                pipeline_binding_context (binding, &dataset->place), error))
      return FALSE;
  }
  return TRUE;
}

static void
analyse_stored (PipelineGraph *graph, PipelineDataset *dataset)
{
  Node *node = &graph->nodes[dataset->index];
  g_autoptr (DeltaSnapshot) existing = NULL;
  g_autoptr (CatalogEntry) entry = NULL;
  g_autoptr (BaseType) declared = pipeline_dataset_declared_schema (dataset);
  GError *error = NULL;

  if (!find_existing (graph, dataset, &existing, &entry, &error) ||
      !check_owner (graph, dataset, entry, existing, &error) ||
      (pipeline_dataset_is_autocdc_target (dataset) && !check_lengths (dataset, &error))) {
    add_problem (graph, &dataset->place, &dataset->position, error);
    node->failed = TRUE;
    return;
  }
  /* What is reset may be anything by now: a full refresh is the way back. */
  node->schema = pipeline_dataset_is_autocdc_target (dataset)
                     ? analyse_autocdc (graph, dataset, is_reset (graph->reset, dataset) ? NULL : existing, declared)
                     : analyse_queries (graph, dataset, existing, declared);
  node->failed = node->schema == NULL;
  if (node->failed || (check_generated (graph, dataset, declared, &error) &&
                       pipeline_dataset_check (dataset, node->schema, existing, &error)))
    return;
  add_problem (graph, &dataset->place, &dataset->position, error);
  node->failed = TRUE;
}

static void
analyse_view (PipelineGraph *graph, PipelineDataset *dataset)
{
  Node *node = &graph->nodes[dataset->index];
  PipelineBindingOptions options = graph->options;
  g_autoptr (DeltaSnapshot) existing = NULL;
  g_autoptr (CatalogEntry) entry = NULL;
  GError *error = NULL;

  options.schemas = graph->schemas;
  options.progress = NULL;
  g_autoptr (PipelineBinding) binding = pipeline_binding_new (&options);
  g_autoptr (RelationPlan) plan = NULL;
  if (dataset->kind == PIPELINE_TEMPORARY_VIEW || (find_existing (graph, dataset, &existing, &entry, &error) &&
                                                   check_owner (graph, dataset, entry, existing, &error)))
    plan = pipeline_binding_view (binding, dataset, &error);
  if (plan != NULL && dataset->kind == PIPELINE_VIEW &&
      !pipeline_dataset_check (dataset, relation_plan_schema (plan), NULL, &error))
    g_clear_pointer (&plan, relation_plan_unref);
  if (plan != NULL && dataset->kind == PIPELINE_VIEW && relation_plan_is_streaming (plan)) {
    base_error_set (&error, SLUICE_ERROR_INVALID_FLOW_QUERY_TYPE_STREAMING_RELATION_FOR_PERSISTED_VIEW,
                    "The persisted view `%s` is defined by a streaming query", dataset->label);
    g_clear_pointer (&plan, relation_plan_unref);
  }
  if (plan == NULL) {
    base_error_add_context (&error, "analysing the view `%s`", dataset->label);
    add_problem (graph, &dataset->place, &dataset->position, error);
    node->failed = TRUE;
    return;
  }
  node->schema = base_type_ref (relation_plan_schema (plan));
}

static void
analyse (PipelineGraph *graph)
{
  for (guint i = 0; i < graph->order->len; i++) {
    PipelineDataset *dataset = g_ptr_array_index (graph->order, i);
    Node *node = &graph->nodes[dataset->index];
    for (guint k = 0; k < node->inputs->len; k++) {
      const PipelineDataset *input = g_ptr_array_index (node->inputs, k);
      node->failed = node->failed || graph->nodes[input->index].failed;
    }
    if (node->failed)
      continue; /* the dataset above says why */
    if (pipeline_dataset_is_stored (dataset))
      analyse_stored (graph, dataset);
    else
      analyse_view (graph, dataset);
    graph->schemas[dataset->index] = node->schema;
  }
}

/* ---- resets ---- */

/* A streaming table that may not be reset has read what its input would lose. */
static void
check_resets (PipelineGraph *graph, const PipelineResetRequest *reset)
{
  for (guint i = 0; i < graph->order->len; i++) {
    PipelineDataset *dataset = g_ptr_array_index (graph->order, i);
    GError *error = NULL;
    if (!pipeline_dataset_is_stored (dataset))
      continue;
    if (reset->full_refresh != NULL && reset->full_refresh[dataset->index] &&
        !pipeline_dataset_reset_allowed (dataset)) {
      base_error_set (&error, SLUICE_ERROR_PIPELINE_FULL_REFRESH_NOT_ALLOWED,
                      "`%s` has pipelines.reset.allowed = false and cannot be fully refreshed", dataset->label);
      add_problem (graph, &dataset->place, &dataset->position, error);
      continue;
    }
    if (dataset->kind != PIPELINE_STREAMING_TABLE || pipeline_dataset_reset_allowed (dataset))
      continue;
    g_autoptr (GPtrArray) inputs = pipeline_graph_stored_inputs (graph, dataset);
    for (guint k = 0; k < inputs->len; k++) {
      const PipelineDataset *input = g_ptr_array_index (inputs, k);
      if (!is_reset (reset, input))
        continue;
      base_error_set (&error, SLUICE_ERROR_INVALID_RESETTABLE_DEPENDENCY,
                      "`%s` would be reset, but `%s`, which reads it, has pipelines.reset.allowed = false",
                      input->label, dataset->label);
      add_problem (graph, &dataset->place, &dataset->position, g_steal_pointer (&error));
    }
  }
}

/* ---- the whole ---- */

PipelineGraph *
pipeline_graph_new (const PipelineBindingOptions *options, Store *storage, const char *pipeline_id,
                    const PipelineResetRequest *reset, GPtrArray *problems)
{
  PipelineGraph *graph = g_new0 (PipelineGraph, 1);
  guint n = pipeline_project_n_datasets (options->project);

  graph->options = *options;
  graph->project = options->project;
  graph->storage = storage;
  graph->pipeline_id = pipeline_id;
  graph->reset = reset;
  graph->problems = problems;
  graph->nodes = g_new0 (Node, n + 1);
  graph->schemas = g_new0 (BaseType *, n + 1);
  graph->order = g_ptr_array_new ();
  graph->flow_inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  graph->flow_warnings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  for (guint i = 0; i < n; i++) {
    graph->nodes[i].inputs = g_ptr_array_new ();
    graph->nodes[i].names = g_ptr_array_new_with_free_func (g_free);
  }
  collect_edges (graph);
  for (guint i = 0; i < n; i++)
    if (graph->nodes[i].colour == NEW)
      visit (graph, pipeline_project_dataset (graph->project, i));
  analyse (graph);
  if (reset != NULL)
    check_resets (graph, reset);
  graph->reset = NULL; /* the caller's */
  return graph;
}

void
pipeline_graph_free (PipelineGraph *graph)
{
  if (graph == NULL)
    return;
  for (guint i = 0; i < pipeline_project_n_datasets (graph->project); i++) {
    g_ptr_array_unref (graph->nodes[i].inputs);
    g_ptr_array_unref (graph->nodes[i].names);
    base_type_unref (graph->nodes[i].schema);
    autocdc_plan_unref (graph->nodes[i].plan);
  }
  g_free (graph->nodes);
  g_free (graph->schemas);
  g_ptr_array_unref (graph->order);
  g_ptr_array_unref (graph->flow_inputs);
  g_ptr_array_unref (graph->flow_warnings);
  g_free (graph);
}

guint
pipeline_graph_n_datasets (const PipelineGraph *graph)
{
  return graph->order->len;
}

PipelineDataset *
pipeline_graph_dataset (const PipelineGraph *graph, guint position)
{
  return g_ptr_array_index (graph->order, position);
}

GPtrArray *
pipeline_graph_inputs (const PipelineGraph *graph, const PipelineDataset *dataset)
{
  return graph->nodes[dataset->index].inputs;
}

static void
add_stored (const PipelineGraph *graph, const PipelineDataset *dataset, GPtrArray *found, guint depth)
{
  const GPtrArray *inputs = graph->nodes[dataset->index].inputs;

  for (guint i = 0; i < inputs->len && depth <= pipeline_project_n_datasets (graph->project); i++) {
    PipelineDataset *input = g_ptr_array_index (inputs, i);
    if (!pipeline_dataset_is_stored (input))
      add_stored (graph, input, found, depth + 1);
    else if (!g_ptr_array_find (found, input, NULL))
      g_ptr_array_add (found, input);
  }
}

GPtrArray *
pipeline_graph_stored_inputs (const PipelineGraph *graph, const PipelineDataset *dataset)
{
  GPtrArray *found = g_ptr_array_new ();

  add_stored (graph, dataset, found, 0);
  return found;
}

const char *const *
pipeline_graph_flow_inputs (const PipelineGraph *graph, const PipelineFlow *flow)
{
  return (const char *const *) ((GPtrArray *) g_ptr_array_index (graph->flow_inputs, flow->index))->pdata;
}

GPtrArray *
pipeline_graph_flow_warnings (const PipelineGraph *graph, const PipelineFlow *flow)
{
  return g_ptr_array_index (graph->flow_warnings, flow->index);
}

BaseType *
pipeline_graph_schema (const PipelineGraph *graph, const PipelineDataset *dataset)
{
  return graph->nodes[dataset->index].schema;
}

AutoCdcPlan *
pipeline_graph_autocdc (const PipelineGraph *graph, const PipelineDataset *dataset)
{
  return graph->nodes[dataset->index].plan;
}

/* ---- showing ---- */

static char *
inputs_text (const PipelineGraph *graph, const PipelineDataset *dataset)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < dataset->flows->len; i++) {
    const char *const *names = pipeline_graph_flow_inputs (graph, g_ptr_array_index (dataset->flows, i));
    for (guint k = 0; names[k] != NULL; k++)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", names[k]);
  }
  for (guint i = 0; i < graph->nodes[dataset->index].names->len; i++)
    g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "",
                            (const char *) g_ptr_array_index (graph->nodes[dataset->index].names, i));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
pipeline_graph_text (const PipelineGraph *graph)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < graph->order->len; i++) {
    const PipelineDataset *dataset = g_ptr_array_index (graph->order, i);
    g_autofree char *inputs = inputs_text (graph, dataset);
    g_string_append_printf (text, "%s (%s%s)%s%s\n", dataset->label,
                            dataset->is_private && dataset->table != NULL ? "private " : "",
                            pipeline_dataset_kind_text (dataset->kind), *inputs != '\0' ? " <- " : "", inputs);
  }
  return g_string_free (text, FALSE);
}

char *
pipeline_graph_dot (const PipelineGraph *graph)
{
  GString *text = g_string_new ("digraph pipeline {\n  rankdir=LR;\n");

  for (guint i = 0; i < graph->order->len; i++) {
    const PipelineDataset *dataset = g_ptr_array_index (graph->order, i);
    g_string_append_printf (text, "  \"%s\" [shape=%s];\n", dataset->label,
                            pipeline_dataset_is_stored (dataset) ? "box" : "ellipse");
    const GPtrArray *inputs = graph->nodes[dataset->index].inputs;
    for (guint k = 0; k < inputs->len; k++)
      g_string_append_printf (text, "  \"%s\" -> \"%s\";\n",
                              ((const PipelineDataset *) g_ptr_array_index (inputs, k))->label, dataset->label);
  }
  g_string_append (text, "}\n");
  return g_string_free (text, FALSE);
}

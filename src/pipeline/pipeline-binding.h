/* Binding the queries of one flow: names become datasets of the pipeline, tables of the catalog, files, or streams.
 *
 * A binding is made for the analysis of the graph (tables of the pipeline need not exist: their analysed schemas stand for them), or
 * for running a flow (tables are what they are now). It collects what the queries read: streams in the order of the text, and
 * the Delta snapshots that batch reads were pinned to. It must outlive the plans made through it.
 */
#pragma once

#include "base-cancel.h"
#include "pipeline-project.h"
#include "relation-plan.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct CatalogSession CatalogSession;
typedef struct DeltaSnapshot DeltaSnapshot;
typedef struct StoreContext StoreContext;
typedef struct StreamProgress StreamProgress;
typedef struct StreamSource StreamSource;

typedef struct RelationSource RelationSource;

typedef struct PipelineBinding PipelineBinding;

/* All (transfer none), outlive the binding. */
typedef struct {
  const PipelineProject *project;
  CatalogSession *catalog;
  DuckSession *session;
  StoreContext *stores; /* (nullable) */
  BaseCancel *cancel;   /* (nullable) */
  gint64 now_us;
  BaseType *const *schemas; /* (nullable): analysis: schema per dataset, by index; NULL entries are not analysed yet */
  StreamProgress *progress; /* (nullable): running: where file sources keep schemas; analysis: read-only, may be NULL */
} PipelineBindingOptions;

PipelineBinding *pipeline_binding_new (const PipelineBindingOptions *options);
void pipeline_binding_free (PipelineBinding *binding); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PipelineBinding, pipeline_binding_free)

/* Binds a query that stands at @place. Errors: the binder's, at their positions; INCOMPATIBLE_BATCH_VIEW_READ,
 * INCOMPATIBLE_STREAMING_VIEW_READ, STREAM_FROM_MATERIALIZED_VIEW. Returns: (transfer full). */
RelationPlan *pipeline_binding_query (PipelineBinding *binding, const SqlQuery *query, const PipelinePlace *place,
                                      GError **error);
/* `SELECT *` of the source of an AUTO CDC flow, read as a stream. Returns: (transfer full). */
RelationPlan *pipeline_binding_source (PipelineBinding *binding, const SqlRelation *relation,
                                       const PipelinePlace *place, GError **error);
/* `SELECT *` of a relation as it was written. Returns: (transfer full). */
RelationPlan *pipeline_binding_table (PipelineBinding *binding, const SqlRelation *relation, const PipelinePlace *place,
                                      GError **error);
/* The query of a view with its column names and its expectations. Returns: (transfer full). */
RelationPlan *pipeline_binding_view (PipelineBinding *binding, const PipelineDataset *view, GError **error);
/* Counts a dataset's expectations over @plan (a reference is taken). Returns: (transfer full): @plan itself when there are none. */
RelationPlan *pipeline_binding_expect (PipelineBinding *binding, const PipelineDataset *dataset, RelationPlan *plan,
                                       GError **error);

/* A context for expressions that stand at @place; lives as long as the binding. */
RelationContext *pipeline_binding_context (PipelineBinding *binding, const PipelinePlace *place);

/* Lets queries bound from now on call a table function without arguments, by the name of @function; queries of views may not. It must live
 * as long as it is set. NULL = none. */
void pipeline_binding_set_function (PipelineBinding *binding, RelationSource *function);

/* What was read so far. Borrows: the binding's life. */
guint pipeline_binding_n_streams (const PipelineBinding *binding);
StreamSource **pipeline_binding_streams (const PipelineBinding *binding);

typedef struct {
  char *name;               /* for people and lineage */
  PipelineDataset *dataset; /* (nullable): of this pipeline */
  DeltaSnapshot *snapshot;  /* (nullable): pinned; NULL = not a Delta table, or analysis */
} PipelineInput;
/* Lets what batch reads of Delta tables were pinned to be the newest versions from now on, which every batch of a stream reads. Pinned stay reads that
 * say a version, and tables that have other columns by now. @renewed: (out): whether one of them is another version.
 * Plans are lowered again for it to have an effect. Errors: those of the log. */
gboolean pipeline_binding_renew (PipelineBinding *binding, gboolean *renewed, GError **error);
guint pipeline_binding_n_inputs (const PipelineBinding *binding);
const PipelineInput *pipeline_binding_input (const PipelineBinding *binding, guint index);
/* Sentences about options without effect and the like. (element-type utf8) */
GPtrArray *pipeline_binding_warnings (const PipelineBinding *binding);

G_END_DECLS

/* A pipeline project in memory: what its definitions files declare, with the place of every declaration.
 *
 * Nothing is resolved here: names of datasets are settled (schema and name, lower case), queries are trees. A project is built
 * once per update and is read-only afterwards.
 */
#pragma once

#include "autocdc.h"
#include "base-settings.h"
#include "pipeline-spec.h"
#include "sql-build.h"
#include "sql-tree.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  PIPELINE_STREAMING_TABLE,
  PIPELINE_MATERIALIZED_VIEW,
  PIPELINE_TEMPORARY_VIEW, /* not stored, seen inside the pipeline only */
  PIPELINE_VIEW,           /* persisted: a catalog entry */
} PipelineDatasetKind;

typedef enum {
  PIPELINE_FLOW_APPEND,   /* a streaming query into a streaming table */
  PIPELINE_FLOW_AUTOCDC,  /* AUTO CDC into a streaming table */
  PIPELINE_FLOW_COMPLETE, /* the query of a materialized view */
} PipelineFlowKind;

typedef struct PipelineDataset PipelineDataset;
typedef struct PipelineFlow PipelineFlow;

/* Where a statement stood: how its names and settings are understood. */
typedef struct {
  const char *file;       /* absolute path */
  const char *schema;     /* current schema there, lower case */
  BaseSettings *settings; /* in force there: SET statements before it, --set, configuration */
} PipelinePlace;

struct PipelineDataset {
  PipelineDatasetKind kind;
  char *schema; /* lower case */
  char *name;   /* lower case */
  char *label;  /* for people: `name`, or `schema.name` outside of the pipeline's schema */
  gboolean is_private;
  SqlPosition position;
  PipelinePlace place;
  const SqlCreateTable *table; /* tables and materialized views */
  const SqlCreateView *view;   /* views */
  GPtrArray *flows;            /* of PipelineFlow, borrowed; views have none */
  guint index;                 /* in the project */
};

struct PipelineFlow {
  PipelineFlowKind kind;
  char *name; /* identity of its progress */
  PipelineDataset *target;
  SqlPosition position;
  PipelinePlace place;
  const SqlQuery *query; /* APPEND, COMPLETE */
  gboolean by_name;      /* APPEND: INSERT INTO … BY NAME; a default flow too */
  gboolean once;
  const SqlAutoCdc *autocdc; /* AUTOCDC */
  const char *comment;       /* (nullable) */
  guint index;               /* in the project */
};

typedef struct PipelineProject PipelineProject;

/**
 * pipeline_project_load:
 * @settings: --set over configuration over defaults; a reference is taken
 * @problems: (element-type GError) (transfer full elements): all that is wrong, each with its place; empty when the project is good
 *
 * Reads and parses the definitions files, collects datasets and flows, and makes the checks that need no types: duplicate names, flows
 * without target, tables without flow, unsupported statements, expectations of one name, combinations of clauses.
 *
 * Errors:  those of pipeline_spec_files() (then nothing was read).
 * Source:  pipelines.md §4–6, §8, §9.
 * Returns: (transfer full): also when there are problems.
 */
PipelineProject *pipeline_project_load (const PipelineSpec *spec, BaseSettings *settings, GPtrArray *problems,
                                        GError **error);
void pipeline_project_free (PipelineProject *project); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PipelineProject, pipeline_project_free)

const PipelineSpec *pipeline_project_spec (const PipelineProject *project);
BaseSettings *pipeline_project_settings (const PipelineProject *project);
const char *pipeline_project_schema (const PipelineProject *project); /* the pipeline's schema, lower case */
guint pipeline_project_n_datasets (const PipelineProject *project);
PipelineDataset *pipeline_project_dataset (const PipelineProject *project, guint index);
guint pipeline_project_n_flows (const PipelineProject *project);
PipelineFlow *pipeline_project_flow (const PipelineProject *project, guint index);

/* The dataset that a name means at a place: `t`, `s.t`, `LIVE.t`, `catalog.s.t`. NULL when the pipeline has none. */
PipelineDataset *pipeline_project_find (const PipelineProject *project, const char *const *parts, guint n_parts,
                                        const char *current_schema);
/* Likewise from text: `t`, `s.t`, as options and table_changes() have it. */
PipelineDataset *pipeline_project_find_text (const PipelineProject *project, const char *name,
                                             const char *current_schema);

const SqlExpectationList *pipeline_dataset_expectations (const PipelineDataset *dataset);
/* (nullable): the query of a view. */
const SqlQuery *pipeline_dataset_view_query (const PipelineDataset *dataset);
/* TBLPROPERTIES: the value of a key (without case), NULL when not given. */
const char *pipeline_dataset_property (const PipelineDataset *dataset, const char *key);
/* Whether a full refresh may empty it: property `pipelines.reset.allowed`, else the setting. */
gboolean pipeline_dataset_reset_allowed (const PipelineDataset *dataset);
gboolean pipeline_dataset_is_stored (const PipelineDataset *dataset); /* a Delta table */
gboolean pipeline_dataset_is_autocdc_target (const PipelineDataset *dataset);
gboolean pipeline_flow_is_snapshot (const PipelineFlow *flow); /* AUTO CDC … FROM SNAPSHOT */

/* The clauses of an AUTO CDC flow in the form of the room `autocdc`. Lists are made in @arena, names and trees are the project's. */
AutoCdcFlow pipeline_flow_clauses (const PipelineFlow *flow, SqlArena *arena);

/* What to tell about a table property that looks like the engine's and is not: a misspelt one would silently do nothing.
 * Returns: (transfer full) (nullable). */
char *pipeline_property_warning (const char *key);

G_END_DECLS

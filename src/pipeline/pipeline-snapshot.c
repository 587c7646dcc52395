/* The snapshots of a flow: see pipeline-snapshot.h. */
#include "pipeline-snapshot.h"

#include "base-error.h"

#include <string.h>

#define VERSION_KEY "pipelines.cdc.snapshot.version"

/* ---- versions that the engine makes ---- */

static gboolean
versions_are_times (const PipelineFlow *flow, gboolean *times, GError **error)
{
  const char *declared = pipeline_dataset_property (flow->target, VERSION_KEY);
  const char *value = declared != NULL ? declared : base_settings_get (flow->place.settings, VERSION_KEY);

  *times = g_ascii_strcasecmp (value, "timestamp") == 0;
  if (*times || g_ascii_strcasecmp (value, "position") == 0)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_INVALID_CONF_VALUE, VERSION_KEY " is position or timestamp, not '%s'", value);
  base_error_add_param (error, "confName", VERSION_KEY);
  base_error_add_param (error, "confValue", value);
  return FALSE;
}

static BaseType *
made_type (gboolean times)
{
  return base_type_simple (times ? BASE_TYPE_TIMESTAMP : BASE_TYPE_LONG);
}

static gboolean
make_version (const PipelineFlow *flow, const AutoCdcVersion *last, gint64 read_us, AutoCdcVersion *version,
              GError **error)
{
  gboolean times;

  if (!versions_are_times (flow, &times, error))
    return FALSE;
  version->type = made_type (times);
  if (!times) {
    version->text = last != NULL ? g_strdup_printf ("%" G_GINT64_FORMAT, g_ascii_strtoll (last->text, NULL, 10) + 1)
                                 : g_strdup ("0");
    return TRUE;
  }
  g_autoptr (GDateTime) second = g_date_time_new_from_unix_utc (read_us / G_USEC_PER_SEC);
  g_autofree char *text = g_date_time_format (second, "%Y-%m-%d %H:%M:%S");

  version->text = g_strdup_printf ("%s.%06d+00", text, (int) (read_us % G_USEC_PER_SEC));
  return TRUE;
}

/* ---- binding ---- */

/* The one column and at most one row that a version's function gives. */
static RelationSource *
version_source (const char *function, const char *column, const AutoCdcVersion *version, gboolean always)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (BaseType) schema = NULL;
  g_autofree char *literal = autocdc_version_literal (version);
  g_autofree char *sql =
      g_strdup_printf ("SELECT %s AS v%s", literal, always || version->text != NULL ? "" : " WHERE false");

  base_struct_builder_add (builder, column, version->type, TRUE, NULL);
  schema = base_struct_builder_end (g_steal_pointer (&builder));
  return relation_source_new_text (function, sql, schema, FALSE);
}

static gboolean
check_batch (RelationPlan *plan, const char *what, GError **error)
{
  return !relation_plan_is_streaming (plan) ||
         base_error_set (error, SLUICE_ERROR_UNSUPPORTED_STREAMING_OPERATION,
                         "The query of a snapshot's %s is a stream; it is read whole each time: leave STREAM out",
                         what);
}

/* Binds @query with last_snapshot_version() as @last says. */
static RelationPlan *
bind_version (PipelineBinding *binding, const PipelineFlow *flow, const SqlQuery *query, const char *column,
              const AutoCdcVersion *last, GError **error)
{
  g_autoptr (RelationSource) function = version_source ("last_snapshot_version", column, last, FALSE);
  g_autoptr (RelationPlan) plan = NULL;

  pipeline_binding_set_function (binding, function);
  plan = pipeline_binding_query (binding, query, &flow->place, error);
  pipeline_binding_set_function (binding, NULL);
  if (plan == NULL || !check_batch (plan, "version", error))
    return NULL;
  if (base_type_n_fields (relation_plan_schema (plan)) == 1)
    return g_steal_pointer (&plan);
  base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_INVALID_SNAPSHOT_VERSION,
                  "the query of the snapshot's version gives %u columns, and a version is one value",
                  base_type_n_fields (relation_plan_schema (plan)));
  base_error_set_hint (error, "several values are one version as struct(a, b)");
  return NULL;
}

gboolean
pipeline_is_version_function (const SqlExpr *call)
{
  const SqlName *name = &call->u.call.name;

  return name->n == 1 && (g_ascii_strcasecmp (name->parts[0].text, "last_snapshot_version") == 0 ||
                          g_ascii_strcasecmp (name->parts[0].text, "current_snapshot_version") == 0);
}

/* How the query calls its column, as far as its text says. */
static const char *
written_name (const SqlQuery *query)
{
  const SqlBody *body = query->body;
  const SqlNamed *item =
      body->kind == SQL_BODY_SELECT && body->u.select.items.n > 0 ? &body->u.select.items.items[0] : NULL;

  if (item == NULL)
    return "version";
  if (item->aliases.n > 0)
    return item->aliases.items[0].text;
  if (item->value->kind == SQL_EXPR_COLUMN && item->value->u.column.name.n > 0)
    return item->value->u.column.name.parts[item->value->u.column.name.n - 1].text;
  return "version";
}

/* What last_snapshot_version() gives has name and type of the query that asks for it. They are found without its conditions, where it
 * usually asks; elsewhere it is NULL of no type in this round. */
static RelationPlan *
bind_unconditioned (PipelineBinding *binding, const PipelineFlow *flow, const SqlQuery *query, BaseType *known,
                    GError **error)
{
  g_autoptr (BaseType) unknown = base_type_simple (BASE_TYPE_VOID);
  AutoCdcVersion none = { .type = known != NULL ? known : unknown };
  SqlQuery bare = *query;
  SqlBody body = *query->body;

  if (body.kind == SQL_BODY_SELECT) {
    body.u.select.where = NULL;
    body.u.select.having = NULL;
    bare.body = &body;
  }
  return bind_version (binding, flow, &bare, written_name (query), &none, error);
}

/* @last: type and text are NULL as long as there is none. @column: (out) (transfer full): name of the version. */
static RelationPlan *
plan_version (PipelineBinding *binding, const PipelineFlow *flow, const AutoCdcVersion *last, char **column,
              GError **error)
{
  const SqlQuery *query = flow->autocdc->version_query;
  g_autoptr (RelationPlan) first = bind_unconditioned (binding, flow, query, last->type, error);
  if (first == NULL)
    return NULL;
  const BaseField *field = base_type_field (relation_plan_schema (first), 0);
  AutoCdcVersion known = { .type = last->type != NULL ? last->type : field->type, .text = last->text };
  RelationPlan *plan = bind_version (binding, flow, query, field->name, &known, error);
  if (plan == NULL)
    return NULL;
  const BaseType *type = base_type_field (relation_plan_schema (plan), 0)->type;
  if (!autocdc_version_type_check (type, flow->name, error)) {
    relation_plan_unref (plan);
    return NULL;
  }
  *column = g_strdup (field->name);
  if (last->type != NULL || base_type_equal (type, known.type, BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
    return plan; /* what differs from the recorded type is refused with the target's name */

  g_autofree char *was = base_type_text (known.type), *now = base_type_text (type);
  base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_INVALID_SNAPSHOT_VERSION_TYPE,
                  "the first version is of type %s, and a version made from it of type %s", was, now);
  base_error_set_hint (error, "cast the version to one type");
  relation_plan_unref (plan);
  g_clear_pointer (column, g_free);
  return NULL;
}

/* The rows; @version: what current_snapshot_version() gives, NULL = it is not to be had. */
static RelationPlan *
plan_rows (PipelineBinding *binding, const PipelineFlow *flow, const char *column, const AutoCdcVersion *version,
           GError **error)
{
  const SqlAutoCdc *clauses = flow->autocdc;
  g_autoptr (RelationSource) function =
      version != NULL ? version_source ("current_snapshot_version", column, version, TRUE) : NULL;
  g_autoptr (RelationPlan) plan = NULL;

  pipeline_binding_set_function (binding, function);
  plan = clauses->snapshot_query != NULL
             ? pipeline_binding_query (binding, clauses->snapshot_query, &flow->place, error)
             : pipeline_binding_table (binding, clauses->source, &flow->place, error);
  pipeline_binding_set_function (binding, NULL);
  if (plan == NULL || !check_batch (plan, "rows", error))
    return NULL;
  return pipeline_binding_expect (binding, flow->target, plan, error);
}

RelationPlan *
pipeline_snapshot_plan (PipelineBinding *binding, const PipelineFlow *flow, DeltaSnapshot *existing,
                        BaseType **version_type, GError **error)
{
  g_auto (AutoCdcVersion) last = { 0 };
  g_autofree char *column = NULL;
  gboolean times;

  if (existing != NULL && !autocdc_last_version (existing, &last, error))
    return NULL;
  if (flow->autocdc->version_query == NULL) {
    if (!versions_are_times (flow, &times, error))
      return NULL;
    *version_type = made_type (times);
    return plan_rows (binding, flow, NULL, NULL, error);
  }
  g_autoptr (RelationPlan) version = plan_version (binding, flow, &last, &column, error);
  if (version == NULL)
    return NULL;
  AutoCdcVersion current = { .type = base_type_field (relation_plan_schema (version), 0)->type };
  RelationPlan *plan = plan_rows (binding, flow, column, &current, error);
  if (plan != NULL)
    *version_type = base_type_ref (current.type);
  return plan;
}

/* ---- running ---- */

/* The version query's answer. @column: (out) (transfer full). */
static gboolean
ask_version (PipelineSnapshots *snapshots, const AutoCdcVersion *last, char **column, gboolean *found,
             AutoCdcVersion *version, GError **error)
{
  const PipelineBindingOptions *options = &snapshots->options;
  AutoCdcVersion none = { 0 };
  g_autoptr (RelationPlan) plan =
      plan_version (snapshots->binding, snapshots->flow, last != NULL ? last : &none, column, error);

  return plan != NULL &&
         autocdc_version_query (plan, options->now_us, options->session, options->cancel, found, version, error);
}

static gboolean
next (AutoCdcSnapshots *base, const AutoCdcVersion *last, AutoCdcSnapshot *snapshot, GError **error)
{
  PipelineSnapshots *snapshots = (PipelineSnapshots *) base;
  gboolean is_named = snapshots->flow->autocdc->version_query != NULL, found = !snapshots->ended;
  g_autofree char *column = NULL;

  snapshots->options.now_us = snapshot->read_us = base_clock_now_us (&snapshots->clock);
  g_clear_pointer (&snapshots->binding, pipeline_binding_free);
  snapshots->binding = pipeline_binding_new (&snapshots->options);
  if (is_named && !ask_version (snapshots, last, &column, &found, &snapshot->version, error))
    return FALSE;
  if (!found)
    return TRUE;
  snapshots->ended = !is_named;
  if (!is_named && !make_version (snapshots->flow, last, snapshot->read_us, &snapshot->version, error))
    return FALSE;
  snapshot->only_changes = !is_named;
  snapshot->plan = plan_rows (snapshots->binding, snapshots->flow, column, is_named ? &snapshot->version : NULL, error);
  return snapshot->plan != NULL;
}

void
pipeline_snapshots_init (PipelineSnapshots *snapshots, const PipelineFlow *flow, const PipelineBindingOptions *options,
                         const BaseClock *clock)
{
  *snapshots = (PipelineSnapshots){ .base = { .next = next }, .flow = flow, .options = *options, .clock = *clock };
}

void
pipeline_snapshots_clear (PipelineSnapshots *snapshots)
{
  g_clear_pointer (&snapshots->binding, pipeline_binding_free);
}

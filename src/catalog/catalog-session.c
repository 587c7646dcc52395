/* One user's view: current schema, temporary views, resolving. See catalog-session.h.
 *
 * A view's text is bound with its own resolver (CatalogResolver): names in it mean what they meant when it was made, in its
 * schema, and a persisted view sees no temporary ones. The resolver lives as long as the parsed text (ViewHold). Views that
 * name each other in a circle (possible through CREATE OR REPLACE) end at MAX_VIEW_DEPTH.
 */
#include "catalog-private.h"

#include <base-error.h>
#include <base-text.h>
#include <delta-snapshot.h>
#include <delta-table.h>
#include <sql-parse.h>
#include <store.h>
#include <string.h>

#define MAX_VIEW_DEPTH 100 /* Spark's spark.sql.view.maxNestedViewDepth */

typedef struct {
  RelationResolver base;
  CatalogSession *session;
  char *schema; /* where one-part names are looked up; base.schema borrows it */
  char *place;  /* base.place borrows it */
  gboolean sees_temporary;
  guint depth;
} CatalogResolver;

struct CatalogSession {
  CatalogResolver resolver; /* of the user's own statements */
  CatalogResolver *asking;  /* (nullable): whose table function is being bound: its names are looked up as that one's */
  Catalog *catalog;
  BaseSettings *settings; /* (nullable) */
  DuckSession *duck;      /* (nullable) */
  BaseCancel *cancel;     /* (nullable): borrowed */
  char *user;
  char *owner_pipeline;   /* (nullable) */
  GTree *temporary_views; /* folded name → TemporaryView */
};

typedef struct {
  char *text;
  char **columns; /* (nullable) */
  char *schema;   /* current when it was made */
} TemporaryView;

static void
temporary_view_free (gpointer data)
{
  TemporaryView *view = data;
  g_free (view->text);
  g_strfreev (view->columns);
  g_free (view->schema);
  g_free (view);
}

static int
compare_names (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  return strcmp (a, b);
}

static gboolean find_table (RelationResolver *resolver, const RelationTableRequest *request,
                            RelationTableAnswer *answer, GError **error);
static gboolean find_table_function (RelationResolver *resolver, const RelationTableFunctionRequest *request,
                                     RelationTableAnswer *answer, GError **error);
static char **list_tables (RelationResolver *resolver);

static const RelationResolverClass resolver_class = { find_table, find_table_function, list_tables };

/* @schema: (transfer full) */
static void
resolver_set_schema (CatalogResolver *resolver, char *schema)
{
  g_free (resolver->schema);
  g_free (resolver->place);
  resolver->base.schema = resolver->schema = schema;
  resolver->base.place = resolver->place =
      g_strdup_printf ("the schema `%s` of the warehouse %s", schema, catalog_warehouse (resolver->session->catalog));
}

static void
resolver_init (CatalogResolver *resolver, CatalogSession *session, const char *schema, gboolean sees_temporary,
               guint depth)
{
  resolver->base.klass = &resolver_class;
  resolver->base.catalog = CATALOG_NAME;
  resolver->base.user = session->user;
  resolver->session = session;
  resolver_set_schema (resolver, g_strdup (schema));
  resolver->sees_temporary = sees_temporary;
  resolver->depth = depth;
}

CatalogSession *
catalog_session_new (Catalog *catalog, const CatalogSessionOptions *options)
{
  CatalogSession *session = g_new0 (CatalogSession, 1);

  session->catalog = catalog_ref (catalog);
  session->settings = options->settings != NULL ? base_settings_ref (options->settings) : NULL;
  session->duck = options->duck;
  session->user = g_strdup (options->user != NULL ? options->user : "");
  session->owner_pipeline = g_strdup (options->owner_pipeline);
  session->temporary_views = g_tree_new_full (compare_names, NULL, g_free, temporary_view_free);
  resolver_init (&session->resolver, session, CATALOG_DEFAULT_SCHEMA, TRUE, 0);
  return session;
}

void
catalog_session_free (CatalogSession *session)
{
  if (session == NULL)
    return;
  g_tree_unref (session->temporary_views);
  base_settings_unref (session->settings);
  catalog_unref (session->catalog);
  g_free (session->resolver.schema);
  g_free (session->resolver.place);
  g_free (session->user);
  g_free (session->owner_pipeline);
  g_free (session);
}

Catalog *
catalog_session_catalog (CatalogSession *session)
{
  return session->catalog;
}

RelationResolver *
catalog_session_resolver (CatalogSession *session)
{
  return &session->resolver.base;
}

BaseSettings *
catalog_session_settings (CatalogSession *session)
{
  return session->settings;
}

DuckSession *
catalog_session_duck (CatalogSession *session)
{
  return session->duck;
}

void
catalog_session_set_cancel (CatalogSession *session, BaseCancel *cancel)
{
  session->cancel = cancel;
}

BaseCancel *
catalog_session_cancel (CatalogSession *session)
{
  return session->cancel;
}

const char *
catalog_session_schema (CatalogSession *session)
{
  return session->resolver.schema;
}

gboolean
catalog_session_use (CatalogSession *session, const char *schema, GError **error)
{
  g_autofree char *folded = catalog_fold_name (schema);
  gboolean exists;

  if (!catalog_schema_exists (session->catalog, folded, &exists, error))
    return FALSE;
  if (!exists) {
    base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_FOUND, "the schema `%s` cannot be found", schema);
    base_error_add_param (error, "schemaName", schema);
    base_error_set_hint (error, "SHOW SCHEMAS lists them");
    return FALSE;
  }
  resolver_set_schema (&session->resolver, g_steal_pointer (&folded));
  return TRUE;
}

static gboolean
is_catalog_name (const char *name)
{
  return g_ascii_strcasecmp (name, CATALOG_NAME) == 0;
}

char *
catalog_session_schema_of (CatalogSession *session, const char *const *parts, guint n_parts, GError **error)
{
  if (n_parts == 0)
    return g_strdup (session->resolver.schema);
  if (n_parts == 1 || (n_parts == 2 && is_catalog_name (parts[0])))
    return catalog_fold_name (parts[n_parts - 1]);
  base_error_set (error, SLUICE_ERROR_SCHEMA_NOT_FOUND, "there is one catalog, " CATALOG_NAME ", not `%s`", parts[0]);
  return NULL;
}

/* --- Temporary views --- */

gboolean
catalog_session_put_temporary_view (CatalogSession *session, const char *name, const char *text,
                                    const char *const *columns, gboolean or_replace, GError **error)
{
  g_autofree char *folded = catalog_fold_name (name);
  TemporaryView *view;

  if (!or_replace && g_tree_lookup (session->temporary_views, folded) != NULL) {
    base_error_set (error, SLUICE_ERROR_TABLE_OR_VIEW_ALREADY_EXISTS, "the temporary view `%s` exists already", name);
    base_error_add_param (error, "relationName", name);
    base_error_set_hint (error, "CREATE OR REPLACE TEMPORARY VIEW replaces it");
    return FALSE;
  }
  view = g_new0 (TemporaryView, 1);
  view->text = g_strdup (text);
  view->columns = g_strdupv ((char **) columns);
  view->schema = g_strdup (session->resolver.schema);
  g_tree_replace (session->temporary_views, g_steal_pointer (&folded), view);
  return TRUE;
}

gboolean
catalog_session_drop_temporary_view (CatalogSession *session, const char *name)
{
  g_autofree char *folded = catalog_fold_name (name);
  return g_tree_remove (session->temporary_views, folded);
}

static gboolean
add_key (gpointer key, gpointer value G_GNUC_UNUSED, gpointer data)
{
  g_ptr_array_add (data, g_strdup (key));
  return FALSE;
}

char **
catalog_session_temporary_views (CatalogSession *session)
{
  GPtrArray *names = g_ptr_array_new ();
  g_tree_foreach (session->temporary_views, add_key, names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

const char *
catalog_session_temporary_view_text (CatalogSession *session, const char *name)
{
  g_autofree char *folded = catalog_fold_name (name);
  const TemporaryView *view = g_tree_lookup (session->temporary_views, folded);
  return view == NULL ? NULL : view->text;
}

/* --- Resolving --- */

void
catalog_reference_clear (CatalogReference *reference)
{
  g_clear_pointer (&reference->entry, catalog_entry_unref);
  g_clear_pointer (&reference->schema, g_free);
  g_clear_pointer (&reference->name, g_free);
  g_clear_pointer (&reference->provider, g_free);
  g_clear_pointer (&reference->location, g_free);
}

static gboolean
set_not_found_at (CatalogResolver *resolver, const char *const *parts, guint n_parts, GError **error)
{
  g_autoptr (GString) full = g_string_new (NULL);
  g_auto (GStrv) candidates = list_tables (&resolver->base);
  g_autofree char *near_names = NULL;

  for (guint i = 0; i < n_parts; i++) {
    g_autofree char *part = base_text_spark_identifier (parts[i]);
    g_string_append_printf (full, "%s%s", i == 0 ? "" : ".", part);
  }
  near_names = base_text_near_names (parts[n_parts - 1], (const char *const *) candidates, 3);
  base_error_set (error, SLUICE_ERROR_TABLE_OR_VIEW_NOT_FOUND, "the table or view %s cannot be found", full->str);
  base_error_add_param (error, "relationName", full->str);
  if (near_names != NULL)
    base_error_set_hint (error, "did you mean %s?", near_names);
  else
    base_error_set_hint (error, "names without a schema are looked up in %s", resolver->place);
  return FALSE;
}

gboolean
catalog_session_set_not_found (CatalogSession *session, const char *const *parts, guint n_parts, GError **error)
{
  return set_not_found_at (&session->resolver, parts, n_parts, error);
}

static const char *const path_providers[] = { "delta", "parquet", "json", "csv", "text", "orc", "avro", NULL };

/* delta.`/dir` and its like, unless a schema has the provider's name. @is_path: (out). */
static gboolean
resolve_path (Catalog *catalog, const char *const *parts, CatalogReference *reference, gboolean *is_path,
              GError **error)
{
  g_autofree char *provider = catalog_fold_name (parts[0]);
  g_autoptr (Store) store = NULL;
  gboolean is_schema;

  *is_path = FALSE;
  if (!g_strv_contains (path_providers, provider))
    return TRUE;
  if (!catalog_schema_exists (catalog, provider, &is_schema, error))
    return FALSE;
  if (is_schema)
    return TRUE;
  if (strcmp (provider, "delta") == 0 && (store = store_open (NULL, parts[1], error)) == NULL)
    return FALSE;
  *is_path = TRUE;
  reference->kind = CATALOG_REFERENCE_PATH;
  reference->name = g_strdup (parts[1]);
  reference->location = g_strdup (store != NULL ? store_root (store) : parts[1]);
  reference->provider = g_steal_pointer (&provider);
  return TRUE;
}

static gboolean
resolve_at (CatalogResolver *resolver, const char *const *parts, guint n_parts, CatalogReference *reference,
            GError **error)
{
  CatalogSession *session = resolver->session;
  g_auto (CatalogReference) found = { 0 };
  gboolean is_path = FALSE;

  if (n_parts == 0 || n_parts > 3 || (n_parts == 3 && !is_catalog_name (parts[0])))
    return set_not_found_at (resolver, parts, n_parts, error);
  if (n_parts == 2 && !resolve_path (session->catalog, parts, &found, &is_path, error))
    return FALSE;
  if (!is_path) {
    found.name = catalog_fold_name (parts[n_parts - 1]);
    if (n_parts == 1 && resolver->sees_temporary && g_tree_lookup (session->temporary_views, found.name) != NULL) {
      found.kind = CATALOG_REFERENCE_TEMPORARY_VIEW;
    } else {
      found.schema = catalog_fold_name (n_parts == 1 ? resolver->schema : parts[n_parts - 2]);
      if (!catalog_find (session->catalog, found.schema, found.name, &found.entry, error))
        return FALSE;
      if (found.entry != NULL && found.entry->is_private &&
          g_strcmp0 (found.entry->owner_pipeline, session->owner_pipeline) != 0)
        g_clear_pointer (&found.entry, catalog_entry_unref);
    }
  }
  if (found.entry != NULL) {
    found.kind = found.entry->kind == CATALOG_KIND_VIEW ? CATALOG_REFERENCE_VIEW : CATALOG_REFERENCE_TABLE;
    found.provider = g_strdup (found.entry->provider);
    found.location = g_strdup (found.entry->location);
    found.is_managed = found.entry->is_managed;
  }
  *reference = found;
  found = (CatalogReference){ 0 };
  return TRUE;
}

gboolean
catalog_session_resolve (CatalogSession *session, const char *const *parts, guint n_parts, CatalogReference *reference,
                         GError **error)
{
  CatalogResolver *resolver = session->asking != NULL ? session->asking : &session->resolver;
  return resolve_at (resolver, parts, n_parts, reference, error);
}

DeltaSnapshot *
catalog_session_snapshot (CatalogSession *session, const CatalogReference *reference, gint64 version,
                          gint64 timestamp_us, GError **error)
{
  g_autoptr (DeltaTable) table = NULL;
  DeltaVersion found;

  switch (reference->kind) {
  case CATALOG_REFERENCE_ABSENT: {
    const char *parts[] = { reference->schema, reference->name };
    catalog_session_set_not_found (session, parts, 2, error);
    return NULL;
  }
  case CATALOG_REFERENCE_VIEW:
  case CATALOG_REFERENCE_TEMPORARY_VIEW:
    base_error_set (error, SLUICE_ERROR_EXPECT_TABLE_NOT_VIEW, "`%s` is a view; this needs a table", reference->name);
    return NULL;
  case CATALOG_REFERENCE_TABLE:
  case CATALOG_REFERENCE_PATH:
    break;
  }
  if (g_strcmp0 (reference->provider, "delta") != 0) {
    base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ONLY_OPERATION, "`%s` is not a Delta table", reference->name);
    return NULL;
  }
  table = catalog_delta_table (session->catalog, reference->location, error);
  if (table == NULL)
    return NULL;
  if (version >= 0)
    return delta_table_snapshot_at (table, version, session->cancel, error);
  if (timestamp_us == RELATION_NO_TIME)
    return delta_table_snapshot (table, session->cancel, error);
  if (!delta_table_version_at (table, timestamp_us / 1000, DELTA_AT_OR_BEFORE, FALSE, &found, error))
    return NULL;
  return delta_table_snapshot_at (table, found, session->cancel, error);
}

/* --- Answers to the binder --- */

/* The parsed text of a view and the resolver of its names: lives as long as the plan that was bound from it. */
typedef struct {
  CatalogResolver resolver;
  SqlArena *arena;
  char *text;
  char *file;
} ViewHold;

static void
view_hold_free (gpointer data)
{
  ViewHold *hold = data;
  sql_arena_unref (hold->arena);
  g_free (hold->resolver.schema);
  g_free (hold->resolver.place);
  g_free (hold->text);
  g_free (hold->file);
  g_free (hold);
}

/* @columns: (nullable): names at every @stride-th place. */
static BaseType *
view_columns_type (const char *const *columns, guint stride)
{
  BaseStructBuilder *builder;
  g_autoptr (BaseType) any = base_type_simple (BASE_TYPE_VOID);

  if (columns == NULL || columns[0] == NULL)
    return NULL;
  builder = base_struct_builder_new ();
  for (guint i = 0; columns[i] != NULL; i += stride) {
    base_struct_builder_add (builder, columns[i], any, TRUE, NULL);
    if (stride == 2 && columns[i + 1] == NULL)
      break;
  }
  return base_struct_builder_end (builder);
}

static char **
qualifier_new (const char *a, const char *b, const char *c)
{
  GPtrArray *parts = g_ptr_array_new ();
  for (guint i = 0; i < 3; i++) {
    const char *part = i == 0 ? a : i == 1 ? b : c;
    if (part != NULL)
      g_ptr_array_add (parts, g_strdup (part));
  }
  g_ptr_array_add (parts, NULL);
  return (char **) g_ptr_array_free (parts, FALSE);
}

static gboolean
answer_view (CatalogResolver *resolver, const CatalogReference *reference, RelationTableAnswer *answer, GError **error)
{
  gboolean is_temporary = reference->kind == CATALOG_REFERENCE_TEMPORARY_VIEW;
  const TemporaryView *temporary =
      is_temporary ? g_tree_lookup (resolver->session->temporary_views, reference->name) : NULL;
  const char *text = is_temporary ? temporary->text : reference->entry->view_text;
  const char *schema = is_temporary ? temporary->schema : reference->entry->view_schema;
  ViewHold *hold;
  SqlParseOptions options = { 0 };
  SqlQuery *query;

  if (resolver->depth >= MAX_VIEW_DEPTH)
    return base_error_set (error, SLUICE_ERROR_VIEW_EXCEED_MAX_NESTED_DEPTH,
                           "the view `%s` is nested in more than %d views", reference->name, MAX_VIEW_DEPTH);
  hold = g_new0 (ViewHold, 1);
  hold->arena = sql_arena_new ();
  hold->text = g_strdup (text != NULL ? text : "");
  hold->file = g_strdup_printf ("view %s", reference->name);
  resolver_init (&hold->resolver, resolver->session, schema != NULL ? schema : CATALOG_DEFAULT_SCHEMA, is_temporary,
                 resolver->depth + 1);
  options.file = hold->file;
  query = sql_parse_query (hold->arena, hold->text, -1, &options, error);
  if (query == NULL) {
    base_error_add_context (error, "in the text of the view `%s`", reference->name);
    view_hold_free (hold);
    return FALSE;
  }
  answer->query = query;
  answer->query_hold = hold;
  answer->query_release = view_hold_free;
  answer->query_resolver = &hold->resolver.base;
  answer->query_file = hold->file;
  answer->query_text = hold->text;
  if (is_temporary) {
    answer->columns = view_columns_type ((const char *const *) temporary->columns, 1);
    answer->qualifier = qualifier_new (reference->name, NULL, NULL);
  } else {
    answer->columns = view_columns_type ((const char *const *) reference->entry->view_columns, 2);
    answer->qualifier = qualifier_new (CATALOG_NAME, reference->schema, reference->name);
  }
  return TRUE;
}

static gboolean
answer_table (CatalogResolver *resolver, CatalogReference *reference, const RelationTableRequest *request,
              RelationTableAnswer *answer, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = NULL;
  g_autofree char *name = NULL;

  snapshot = catalog_travel_snapshot (resolver->session, reference, request, NULL, error);
  if (snapshot == NULL)
    return FALSE;
  if (reference->kind == CATALOG_REFERENCE_PATH) {
    name = g_strdup_printf ("delta.`%s`", reference->location);
    answer->qualifier = qualifier_new ("delta", request->parts[1], NULL);
  } else {
    name = g_strdup_printf ("%s.%s", reference->schema, reference->name);
    answer->qualifier = qualifier_new (CATALOG_NAME, reference->schema, reference->name);
  }
  answer->source = catalog_delta_source_new (snapshot, name);
  answer->source->streaming = request->streaming;
  return TRUE;
}

/* The changes of what a name is, when that is a Delta table. */
static gboolean
answer_changes (CatalogResolver *resolver, CatalogReference *reference, const RelationTableRequest *request,
                RelationTableAnswer *answer, GError **error)
{
  g_autofree char *name = NULL;

  if (reference->kind == CATALOG_REFERENCE_ABSENT)
    return TRUE;
  if (g_strcmp0 (reference->provider, "delta") != 0) {
    base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ONLY_OPERATION,
                    "changes are read from Delta tables only, and `%s` is none", reference->name);
    base_error_add_param (error, "tableName", reference->name);
    return FALSE;
  }
  name = reference->kind == CATALOG_REFERENCE_PATH ? g_strdup_printf ("delta.`%s`", reference->location)
                                                   : g_strdup_printf ("%s.%s", reference->schema, reference->name);
  if (!catalog_changes_bind (resolver->session, reference, request, name, answer, error))
    return FALSE;
  answer->qualifier = reference->kind == CATALOG_REFERENCE_PATH
                          ? qualifier_new ("delta", request->parts[1], NULL)
                          : qualifier_new (CATALOG_NAME, reference->schema, reference->name);
  return TRUE;
}

static gboolean
find_table (RelationResolver *base, const RelationTableRequest *request, RelationTableAnswer *answer, GError **error)
{
  CatalogResolver *resolver = (CatalogResolver *) base;
  g_auto (CatalogReference) reference = { 0 };
  gboolean asks_for_changes = FALSE;

  if (request->n_parts == 0 || request->n_parts > 3 || (request->n_parts == 3 && !is_catalog_name (request->parts[0])))
    return TRUE; /* no such name: the binder says so with its position */
  if (!resolve_at (resolver, request->parts, request->n_parts, &reference, error))
    return FALSE;
  /* What a stream reads is its pipeline's business. */
  if (!request->streaming && !catalog_asks_for_changes (request, &asks_for_changes, error))
    return FALSE;
  if (asks_for_changes)
    return answer_changes (resolver, &reference, request, answer, error);
  switch (reference.kind) {
  case CATALOG_REFERENCE_ABSENT:
    return TRUE;
  case CATALOG_REFERENCE_VIEW:
  case CATALOG_REFERENCE_TEMPORARY_VIEW:
    if (request->version >= 0 || request->timestamp_us != RELATION_NO_TIME)
      return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS,
                             "`%s` is a view, and a view has no versions", reference.name);
    return answer_view (resolver, &reference, answer, error);
  case CATALOG_REFERENCE_TABLE:
  case CATALOG_REFERENCE_PATH:
    if (g_strcmp0 (reference.provider, "delta") != 0)
      return catalog_file_path_bind (resolver->session, reference.provider, reference.location, request, answer, error);
    return answer_table (resolver, &reference, request, answer, error);
  }
  return TRUE;
}

static gboolean
find_table_function (RelationResolver *base, const RelationTableFunctionRequest *request, RelationTableAnswer *answer,
                     GError **error)
{
  CatalogResolver *resolver = (CatalogResolver *) base;
  CatalogSession *session = resolver->session;
  CatalogResolver *before = session->asking;
  gboolean found, ok;

  session->asking = resolver;
  ok = catalog_function_bind (session, request, answer, &found, error);
  session->asking = before;
  return ok;
}

/* Names of the current schema as they are, of others with their schema. */
static char **
list_tables (RelationResolver *base)
{
  CatalogResolver *resolver = (CatalogResolver *) base;
  CatalogSession *session = resolver->session;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) schemas = catalog_schema_list (session->catalog, NULL);

  if (resolver->sees_temporary)
    g_tree_foreach (session->temporary_views, add_key, names);
  for (guint s = 0; schemas != NULL && schemas[s] != NULL; s++) {
    g_autoptr (GPtrArray) entries = catalog_list (session->catalog, schemas[s], NULL);
    gboolean is_current = strcmp (schemas[s], resolver->schema) == 0;
    for (guint i = 0; entries != NULL && i < entries->len; i++) {
      const CatalogEntry *entry = g_ptr_array_index (entries, i);
      if (entry->is_private && g_strcmp0 (entry->owner_pipeline, session->owner_pipeline) != 0)
        continue;
      g_ptr_array_add (names, is_current ? g_strdup (entry->name) : g_strconcat (schemas[s], ".", entry->name, NULL));
    }
  }
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

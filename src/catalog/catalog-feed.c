/* table_changes(name, start [, end]) and table_changes_by_path(path, start [, end]): the change feed of a table in queries
 * (cdf.md §7). The range is found when the query is bound; lowering then asks it for text. */
#include "catalog-private.h"

#include <base-clock.h>
#include <base-error.h>
#include <base-text.h>
#include <delta-snapshot.h>
#include <delta-table.h>
#include <duck-session.h>
#include <feed.h>
#include <sql-parse.h>
#include <store.h>
#include <string.h>

/* Up to so many bytes of files the rows come in order of their versions: sorting more costs more than it helps. */
#define ORDERED_BYTES (G_GINT64_CONSTANT (8) << 20)

/* ---- the source ---- */

typedef struct {
  RelationSource base;
  FeedRange *range;
} FeedSource;

static gboolean
feed_source_scan (RelationSource *base, const RelationScan *scan, RelationText *out, GError **error)
{
  FeedSource *source = (FeedSource *) base;
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, scan->n_columns + 1);
  g_autofree DeltaPredicate *predicates = g_new0 (DeltaPredicate, scan->n_skips + 1);
  g_autofree DeltaConstant *constants = g_new0 (DeltaConstant, scan->n_skips + 1);
  FeedScanRequest request = { .columns = columns,
                              .n_columns = scan->n_columns,
                              .predicates = predicates,
                              .ordered =
                                  scan->n_columns > 0 && feed_range_facts (source->range).bytes <= ORDERED_BYTES };
  FeedScan *text;

  for (guint i = 0; i < scan->n_columns; i++)
    columns[i] = (DeltaScanColumn){ scan->columns[i], scan->names[i] };
  request.n_predicates = catalog_delta_predicates (scan, base_type_n_fields (base->schema), predicates, constants);
  text = feed_scan_new (source->range, &request, NULL, error);
  if (text == NULL)
    return FALSE;
  g_string_append (relation_text_sql (out), feed_scan_sql (text));
  relation_text_hold (out, text, (GDestroyNotify) feed_scan_unref);
  return TRUE;
}

static void
feed_source_free (RelationSource *base)
{
  FeedSource *source = (FeedSource *) base;

  feed_range_unref (source->range);
  relation_source_clear (base);
  g_free (source);
}

static const RelationSourceClass feed_source_class = { feed_source_scan, feed_source_free };

static RelationSource *
feed_source_new (FeedRange *range, const char *name, gboolean streaming)
{
  FeedSource *source = g_new0 (FeedSource, 1);

  source->range = feed_range_ref (range);
  relation_source_init (&source->base, &feed_source_class, name, feed_range_schema (range), NULL, streaming);
  source->base.estimated_rows = feed_range_estimated_rows (range);
  return &source->base;
}

/* ---- bounds ---- */

/* `yyyy-MM-dd[ HH:mm:ss[.SSS]]`, also with `T` and a zone: what a cast to TIMESTAMP reads in the session's time zone. */
gboolean
catalog_timestamp_of (CatalogSession *session, const char *text, gint64 *value_ms, GError **error)
{
  DuckSession *duck = catalog_session_duck (session);
  g_autofree char *stripped = g_strstrip (g_strdup (text));
  gboolean is_null = TRUE;

  if (duck != NULL && g_ascii_isdigit (stripped[0])) {
    g_autofree char *literal = base_text_sql_literal (stripped);
    g_autofree char *sql = g_strdup_printf ("SELECT epoch_ms(TRY_CAST(%s AS TIMESTAMP WITH TIME ZONE))", literal);
    if (!duck_session_query_int64 (duck, sql, catalog_session_cancel (session), value_ms, &is_null, error))
      return FALSE;
  }
  if (!is_null)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_TIMESTAMP_INVALID,
                  "the text '%s' is no timestamp; it must be of the form yyyy-MM-dd HH:mm:ss", text);
  base_error_add_param (error, "expr", text);
  return FALSE;
}

static gint64
floor_to_ms (gint64 us)
{
  return us / 1000 - (us % 1000 < 0 ? 1 : 0);
}

gboolean
catalog_feed_bound (CatalogSession *session, const char *what, const RelationLiteral *value, FeedBound *bound,
                    GError **error)
{
  g_autofree char *type = NULL;

  if (value->is_null)
    return base_error_set (error, SLUICE_ERROR_DELTA_CDC_READ_NULL_RANGE_BOUNDARY,
                           "a bound of %s is NULL; it must be a version or a timestamp", what);
  switch (base_type_kind (value->type)) {
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    bound->kind = FEED_BOUND_VERSION;
    bound->value = value->integer;
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
    bound->kind = FEED_BOUND_TIMESTAMP;
    bound->value = floor_to_ms (value->integer);
    return TRUE;
  case BASE_TYPE_STRING:
    bound->kind = FEED_BOUND_TIMESTAMP;
    return catalog_timestamp_of (session, value->text, &bound->value, error);
  default:
    break;
  }
  type = base_type_text (value->type);
  base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_EXPRESSION,
                  "a bound of %s cannot be of type %s; give a version (INT or BIGINT) or a timestamp (STRING or "
                  "TIMESTAMP)",
                  what, type);
  return FALSE;
}

/* @is_start: then the word 'earliest' means the first version that can be read. */
static gboolean
read_bound (CatalogSession *session, const char *function, const RelationArgument *argument, gboolean is_start,
            FeedBound *bound, GError **error)
{
  const RelationLiteral *value = argument->value;
  g_autofree char *what = g_strdup_printf ("%s()", function);

  if (value == NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_CDC_NON_CONSTANT_ARGUMENT,
                           "a bound of %s must be a constant: a version or a timestamp", what);
  if (is_start && !value->is_null && base_type_kind (value->type) == BASE_TYPE_STRING &&
      g_ascii_strcasecmp (value->text, CATALOG_EARLIEST) == 0) {
    bound->kind = FEED_BOUND_EARLIEST;
    return TRUE;
  }
  return catalog_feed_bound (session, what, value, bound, error);
}

/* ---- the functions ---- */

static gboolean
check_arguments (const RelationTableFunctionRequest *request, const char *function, GError **error)
{
  guint n = 0;

  for (guint i = 0; i < request->n_arguments; i++) {
    const char *name = request->arguments[i].name;
    if (name == NULL) {
      n++;
      continue;
    }
    if (g_ascii_strcasecmp (name, "versionAsOf") == 0 || g_ascii_strcasecmp (name, "timestampAsOf") == 0)
      return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS,
                             "a change feed has no time travel: its bounds are the arguments of %s()", function);
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "%s() has no option `%s`", function, name);
  }
  if (n >= 2 && n <= 3)
    return TRUE;
  base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS,
                  "%s() takes 2 or 3 arguments (a table, a start, an end), not %u", function, n);
  base_error_add_param (error, "functionName", function);
  return FALSE;
}

/* Returns: (transfer full): the parts of a name in a literal. */
static char **
parse_name (const char *text, GError **error)
{
  SqlArena *arena = sql_arena_new ();
  SqlName *name = sql_parse_name (arena, text, -1, error);
  char **parts = NULL;

  if (name != NULL) {
    parts = g_new0 (char *, name->n + 1);
    for (guint i = 0; i < name->n; i++)
      parts[i] = g_strdup (name->parts[i].text);
  }
  sql_arena_unref (arena);
  return parts;
}

static gboolean
resolve_name (CatalogSession *session, const char *text, CatalogReference *reference, GError **error)
{
  g_auto (GStrv) name = parse_name (text, error);
  const char *const *parts = (const char *const *) name;

  if (name == NULL || !catalog_session_resolve (session, parts, g_strv_length (name), reference, error))
    return FALSE;
  return reference->kind != CATALOG_REFERENCE_ABSENT ||
         catalog_session_set_not_found (session, parts, g_strv_length (name), error);
}

/* @name: (out) (transfer full): for lineage. */
static DeltaTable *
find_named (CatalogSession *session, const char *text, char **name, GError **error)
{
  g_auto (CatalogReference) reference = { 0 };

  if (!resolve_name (session, text, &reference, error))
    return NULL;
  if ((reference.kind != CATALOG_REFERENCE_TABLE && reference.kind != CATALOG_REFERENCE_PATH) ||
      g_strcmp0 (reference.provider, "delta") != 0) {
    base_error_set (error, SLUICE_ERROR_DELTA_TABLE_ONLY_OPERATION,
                    "table_changes() works on Delta tables only, and %s is none", text);
    base_error_add_param (error, "tableName", text);
    return NULL;
  }
  *name = reference.kind == CATALOG_REFERENCE_PATH ? g_strdup_printf ("delta.`%s`", reference.location)
                                                   : g_strdup_printf ("%s.%s", reference.schema, reference.name);
  return catalog_delta_table (catalog_session_catalog (session), reference.location, error);
}

static DeltaTable *
find_at_path (CatalogSession *session, const char *path, char **name, GError **error)
{
  g_autoptr (Store) store = store_open (NULL, path, error);

  if (store == NULL)
    return NULL;
  *name = g_strdup_printf ("delta.`%s`", store_root (store));
  return catalog_delta_table (catalog_session_catalog (session), store_root (store), error);
}

static gboolean
check_name (const char *function, const RelationArgument *first, gboolean is_path, GError **error)
{
  const RelationLiteral *value = first->value;

  if (value != NULL && !value->is_null && base_type_kind (value->type) == BASE_TYPE_STRING)
    return TRUE;
  return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_EXPRESSION,
                         "the first argument of %s() is a string literal: the %s", function,
                         is_path ? "directory of a Delta table" : "name of a table, such as 'schema.table'");
}

gboolean
catalog_table_changes_bind (CatalogSession *session, const RelationTableFunctionRequest *request,
                            RelationTableAnswer *answer, gpointer data, GError **error)
{
  gboolean is_path = GPOINTER_TO_INT (data);
  const char *function = is_path ? "table_changes_by_path" : "table_changes";
  const RelationArgument *first = request->arguments;
  FeedRequest feed = { .now_us = request->now_us };
  g_autoptr (DeltaTable) table = NULL;
  g_autoptr (FeedRange) range = NULL;
  g_autofree char *name = NULL;

  if (!check_arguments (request, function, error) || !check_name (function, first, is_path, error))
    return FALSE;
  if (!read_bound (session, function, &request->arguments[1], TRUE, &feed.start, error) ||
      (request->n_arguments > 2 && !read_bound (session, function, &request->arguments[2], FALSE, &feed.end, error)))
    return FALSE;
  table = is_path ? find_at_path (session, first->value->text, &name, error)
                  : find_named (session, first->value->text, &name, error);
  if (table == NULL)
    return FALSE;
  range = feed_range_new (table, &feed, catalog_session_settings (session), catalog_session_cancel (session), error);
  if (range == NULL)
    return FALSE;
  g_autofree char *label = g_strdup_printf ("%s(%s)", function, name);
  answer->source = feed_source_new (range, label, request->streaming);
  answer->qualifier = g_new0 (char *, 2);
  answer->qualifier[0] = g_strdup (function);
  return TRUE;
}

gboolean
catalog_changes_bind (CatalogSession *session, const CatalogReference *reference, const RelationTableRequest *request,
                      const char *name, RelationTableAnswer *answer, GError **error)
{
  FeedRequest feed;
  g_autoptr (DeltaTable) table = NULL;
  g_autoptr (FeedRange) range = NULL;
  g_autofree char *label = NULL;

  if (!catalog_changes_read (session, request, &feed, error))
    return FALSE;
  table = catalog_delta_table (catalog_session_catalog (session), reference->location, error);
  if (table == NULL)
    return FALSE;
  range = feed_range_new (table, &feed, catalog_session_settings (session), catalog_session_cancel (session), error);
  if (range == NULL)
    return FALSE;
  label = g_strdup_printf ("changes of %s", name);
  answer->source = feed_source_new (range, label, FALSE);
  return TRUE;
}

gboolean
catalog_table_changes_stream (CatalogSession *session, const RelationTableFunctionRequest *request, char ***parts,
                              char ***options, GError **error)
{
  static const char function[] = "table_changes";
  g_autoptr (GPtrArray) pairs = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) name = NULL;
  const RelationArgument *positional[2] = { NULL, NULL };
  guint n = 0;
  FeedBound start = { 0 };

  for (guint i = 0; i < request->n_arguments; i++) {
    const RelationArgument *argument = &request->arguments[i];
    if (argument->name == NULL) {
      if (n < 2)
        positional[n] = argument;
      n++;
    } else if (argument->value != NULL && !argument->value->is_null && argument->value->text != NULL) {
      g_ptr_array_add (pairs, g_strdup (argument->name));
      g_ptr_array_add (pairs, g_strdup (argument->value->text));
    } else {
      return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "the option `%s` needs a text", argument->name);
    }
  }
  if (n != 2)
    return base_error_set (error, SLUICE_ERROR_INCORRECT_NUMBER_OF_ARGUMENTS,
                           "%s() read as a stream takes 2 arguments (a table, a start), not %u; a stream has no end",
                           function, n);
  if (!check_name (function, positional[0], FALSE, error) ||
      !read_bound (session, function, positional[1], FALSE, &start, error) ||
      (name = parse_name (positional[0]->value->text, error)) == NULL)
    return FALSE;
  g_ptr_array_add (pairs, g_strdup ("readChangeFeed"));
  g_ptr_array_add (pairs, g_strdup ("true"));
  g_ptr_array_add (pairs, g_strdup (start.kind == FEED_BOUND_VERSION ? "startingVersion" : "startingTimestamp"));
  g_ptr_array_add (pairs, start.kind == FEED_BOUND_VERSION ? g_strdup_printf ("%" G_GINT64_FORMAT, start.value)
                                                           : base_clock_text_us (start.value * 1000));
  g_ptr_array_add (pairs, NULL);
  *parts = g_steal_pointer (&name);
  *options = (char **) g_ptr_array_free (g_steal_pointer (&pairs), FALSE);
  return TRUE;
}

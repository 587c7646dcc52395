/* How names in a query become rows: the caller of the binder answers. */
#pragma once

#include "base-settings.h"
#include "relation-literal.h"
#include "relation-source.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct SqlQuery SqlQuery;
typedef struct RelationResolver RelationResolver;
typedef struct RelationPlan RelationPlan;

#define RELATION_NO_TIME G_MININT64

/* Which changes of a table: t CHANGES FROM … [TO …]. Bounds are folded, in their own types. */
typedef struct {
  gboolean by_timestamp;
  const RelationLiteral *start;
  const RelationLiteral *end; /* (nullable) */
  gboolean start_exclusive;
  gboolean end_exclusive;
} RelationChanges;

/* A table as the query names it. */
typedef struct {
  const char *const *parts; /* `a.b.c`, unquoted, as written; NULL-terminated */
  guint n_parts;
  gint64 version;                 /* VERSION AS OF, -1 = not given */
  gint64 timestamp_us;            /* TIMESTAMP AS OF, RELATION_NO_TIME = not given */
  const char *const *options;     /* (nullable) WITH (…): key, value, key, value …, NULL; keys as written */
  const RelationChanges *changes; /* (nullable): not the rows of the table are asked for, but its changes */
  gboolean streaming;             /* STREAM t */
  gint64 now_us;                  /* the clock of the binding; 0 = none */
  const char *file; /* (nullable) position of the name; the binder adds it to the resolver's errors by itself */
  guint line;
  guint column;
} RelationTableRequest;

/* An argument of a table function, already folded to a constant. */
typedef struct {
  const char *name;             /* (nullable): `name => value` */
  const RelationLiteral *value; /* NULL when the argument is a map or array of strings: see @items */
  const char *const *items;     /* (nullable): array: values; map: key, value …; NULL-terminated */
  gboolean is_map;
  const char *const *
      identifier; /* (nullable): the parts, when the argument was a plain name such as TABLE(t) or a bare column name */
} RelationArgument;

typedef struct {
  const char *const *parts; /* function name */
  guint n_parts;
  const RelationArgument *arguments;
  guint n_arguments;
  gint64 now_us;      /* the clock of the binding; 0 = none */
  gboolean streaming; /* STREAM f(…) */
  const char *file;
  guint line;
  guint column;
} RelationTableFunctionRequest;

/* What the name is. Exactly one of @source, @plan, @query is set; all NULL = not found. Owned by the binder afterwards. */
typedef struct {
  RelationSource *source; /* (transfer full) */
  RelationPlan *plan;     /* (transfer full): an already bound relation, e.g. a dataset of the same pipeline */
  /* A view: its text is bound in place with its own names. @query must live as long as @query_hold. */
  const SqlQuery *query;
  gpointer query_hold; /* (transfer full) (nullable), freed by @query_release */
  GDestroyNotify query_release;
  RelationResolver
      *query_resolver;    /* (nullable) (transfer none, lives as long as @query_hold): NULL = the asking resolver */
  const char *query_file; /* (nullable): where the view's text came from, for errors; lives like @query */
  const char *query_text; /* (nullable): the text itself, for the caret */
  BaseType *columns; /* (nullable) (transfer full): struct of the view's declared names; types there are not used */
  char **qualifier;  /* (nullable) (transfer full): full name such as {"main", "orders"}; NULL = the parts as asked */
} RelationTableAnswer;

void relation_table_answer_clear (RelationTableAnswer *answer);

typedef struct {
  /* Errors: real failures only (corrupt table, bad option); a name that does not exist is TRUE with an empty answer, and the
   * binder makes TABLE_OR_VIEW_NOT_FOUND with the position. */
  gboolean (*find_table) (RelationResolver *resolver, const RelationTableRequest *request, RelationTableAnswer *answer,
                          GError **error);
  /* (nullable). Asked for every table function that the binder does not know itself (range, explode …). */
  gboolean (*find_table_function) (RelationResolver *resolver, const RelationTableFunctionRequest *request,
                                   RelationTableAnswer *answer, GError **error);
  /* (nullable) For `near names` in TABLE_OR_VIEW_NOT_FOUND. Returns: (transfer full) NULL-terminated. */
  char **(*list_tables) (RelationResolver *resolver);
} RelationResolverClass;

/* Embed it as the first member. */
struct RelationResolver {
  const RelationResolverClass *klass;
  const char *catalog; /* current_catalog(); NULL = "spark_catalog" */
  const char *schema;  /* current_schema(); NULL = "default" */
  const char *user;    /* current_user(); NULL = "" */
  const char *place;   /* (nullable): where names are looked up, for who misses one */
};

G_END_DECLS

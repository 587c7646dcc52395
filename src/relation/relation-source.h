/* The leaves of a relation tree: where rows come from.
 *
 * A RelationSource is a reference-counted struct of functions given by another room (a Delta snapshot, files, a feed, a
 * micro-batch). The binder reads its schema once; lowering asks it for DuckDB text every time, so a streaming leaf whose scan
 * speaks of the current micro-batch needs no new plan for the next one.
 */
#pragma once

#include "base-type.h"
#include "relation-literal.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct RelationCounts RelationCounts; /* relation-plan.h: what one run of expectations counted */

/* DuckDB text plus the things (lent objects, files, snapshots) that must live until the query that uses it has ended. */
typedef struct RelationText RelationText;
RelationText *relation_text_new (void);       /* (transfer full) */
void relation_text_free (RelationText *text); /* accepts NULL; frees the holds, last added first */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationText, relation_text_free)
GString *relation_text_sql (RelationText *text); /* (transfer none): to append to and to read */
/* @hold: (transfer full): freed by @release with the text. */
void relation_text_hold (RelationText *text, gpointer hold, GDestroyNotify release);
/* Expectation counters of this lowering, in plan order; valid numbers once the query has ended. Borrowed. */
GPtrArray *
relation_text_counts (const RelationText *text); /* (element-type RelationCounts): a reference outlives the text */
void relation_text_add_counts (RelationText *text, RelationCounts *counts); /* takes a reference */

typedef enum {
  RELATION_SKIP_EQUAL,
  RELATION_SKIP_LESS,
  RELATION_SKIP_LESS_EQUAL,
  RELATION_SKIP_GREATER,
  RELATION_SKIP_GREATER_EQUAL,
  RELATION_SKIP_IS_NULL,
  RELATION_SKIP_IS_NOT_NULL,
} RelationSkipOperator;

/* Rows that do not satisfy every skip are not needed. A source may use them to leave files out, or ignore them: the query
 * filters again. @value has the column's own type; NULL for the last two operators. */
typedef struct {
  guint column; /* number of the column, as in RelationScan.columns */
  RelationSkipOperator op;
  const RelationLiteral *value; /* (nullable) */
} RelationSkip;

/* One request. Column numbers: 0 … n-1 are the fields of `schema`, n … are the fields of `hidden`. */
typedef struct {
  const guint *columns;
  const char *const *names; /* DuckDB name each must get (`c17`; never needs quotes) */
  guint n_columns;          /* may be 0: then the text has one column of any name and the right number of rows */
  const RelationSkip *skips;
  guint n_skips;
  gint64 now_us; /* the statement's clock */
} RelationScan;

typedef struct RelationSource RelationSource;

typedef struct {
  /* Appends to @out one complete SELECT with the asked columns, in that order, under the asked names, in the physical types
   * of duck_type_text(); holds go to @out. Errors: the source's own. Threads: one at a time per source. */
  gboolean (*scan) (RelationSource *source, const RelationScan *scan, RelationText *out, GError **error);
  void (*free) (RelationSource *source); /* frees the embedding struct after relation_source_clear() */
} RelationSourceClass;

/* Embed it as the first member. Read only after relation_source_init(). */
struct RelationSource {
  const RelationSourceClass *klass;
  gint ref_count;
  char *name;            /* for errors and lineage: `main.orders`, "read_files('/data')" */
  BaseType *schema;      /* struct: what `*` shows */
  BaseType *hidden;      /* (nullable) struct: columns found by name only, such as `_metadata` */
  gboolean streaming;    /* read as a stream */
  gint64 estimated_rows; /* -1 = unknown */
  gpointer user_data;    /* free for the room that made it; not freed here */
};

/* @hidden: (nullable). References are taken; ref_count becomes 1, estimated_rows -1. */
void relation_source_init (RelationSource *source, const RelationSourceClass *klass, const char *name,
                           const BaseType *schema, const BaseType *hidden, gboolean streaming);
void relation_source_clear (RelationSource *source);
RelationSource *relation_source_ref (RelationSource *source);
void relation_source_unref (RelationSource *source); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationSource, relation_source_unref)

/**
 * relation_source_new_text:
 * @sql: a DuckDB SELECT whose columns are, by position, @schema's fields in their physical types; their names do not matter
 *   but must differ
 *
 * A source over given text: inline rows, temporary tables, tests.
 *
 * Returns: (transfer full).
 */
RelationSource *relation_source_new_text (const char *name, const char *sql, const BaseType *schema,
                                          gboolean streaming);

G_END_DECLS

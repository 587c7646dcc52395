/* Leaves, and DuckDB text with what it holds alive. */
#include "relation-source.h"

#include "relation-plan.h"
#include "relation-resolver.h"
#include "relation-tree-private.h"

typedef struct {
  gpointer object;
  GDestroyNotify release;
} Hold;

struct RelationText {
  GString *sql;
  GArray *holds;
  GPtrArray *counts;
};

RelationText *
relation_text_new (void)
{
  RelationText *text = g_new0 (RelationText, 1);

  text->sql = g_string_new (NULL);
  text->holds = g_array_new (FALSE, FALSE, sizeof (Hold));
  text->counts = g_ptr_array_new_with_free_func ((GDestroyNotify) relation_counts_unref);
  return text;
}

void
relation_text_free (RelationText *text)
{
  if (text == NULL)
    return;
  for (guint i = text->holds->len; i > 0; i--) {
    Hold *hold = &g_array_index (text->holds, Hold, i - 1);
    hold->release (hold->object);
  }
  g_array_unref (text->holds);
  g_ptr_array_unref (text->counts);
  g_string_free (text->sql, TRUE);
  g_free (text);
}

GString *
relation_text_sql (RelationText *text)
{
  return text->sql;
}

void
relation_text_hold (RelationText *text, gpointer hold, GDestroyNotify release)
{
  Hold entry = { hold, release };

  g_array_append_val (text->holds, entry);
}

GPtrArray *
relation_text_counts (const RelationText *text)
{
  return text->counts;
}

void
relation_text_add_counts (RelationText *text, RelationCounts *counts)
{
  g_ptr_array_add (text->counts, relation_counts_ref (counts));
}

void
relation_text_absorb (RelationText *text, RelationText *from)
{
  g_array_append_vals (text->holds, from->holds->data, from->holds->len);
  g_array_set_size (from->holds, 0);
  for (guint i = 0; i < from->counts->len; i++)
    relation_text_add_counts (text, g_ptr_array_index (from->counts, i));
}

void
relation_source_init (RelationSource *source, const RelationSourceClass *klass, const char *name,
                      const BaseType *schema, const BaseType *hidden, gboolean streaming)
{
  source->klass = klass;
  source->ref_count = 1;
  source->name = g_strdup (name);
  source->schema = base_type_ref (schema);
  source->hidden = hidden != NULL ? base_type_ref (hidden) : NULL;
  source->streaming = streaming;
  source->estimated_rows = -1;
}

void
relation_source_clear (RelationSource *source)
{
  g_clear_pointer (&source->name, g_free);
  g_clear_pointer (&source->schema, base_type_unref);
  g_clear_pointer (&source->hidden, base_type_unref);
}

RelationSource *
relation_source_ref (RelationSource *source)
{
  g_atomic_int_inc (&source->ref_count);
  return source;
}

void
relation_source_unref (RelationSource *source)
{
  if (source != NULL && g_atomic_int_dec_and_test (&source->ref_count))
    source->klass->free (source);
}

/* ---- a source over given text ---- */

typedef struct {
  RelationSource source;
  char *sql;
} TextSource;

/* The text's own column names are hidden behind an alias list, so they need not be known. */
static gboolean
text_scan (RelationSource *source, const RelationScan *scan, RelationText *out, GError **error G_GNUC_UNUSED)
{
  TextSource *self = (TextSource *) source;
  GString *sql = relation_text_sql (out);
  guint n = base_type_n_fields (source->schema);

  g_string_append (sql, "SELECT ");
  for (guint i = 0; i < scan->n_columns; i++)
    g_string_append_printf (sql, "%ss%u AS %s", i > 0 ? ", " : "", scan->columns[i], scan->names[i]);
  if (scan->n_columns == 0)
    g_string_append (sql, "1 AS one");
  g_string_append_printf (sql, " FROM (%s) AS source", self->sql);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (sql, "%ss%u", i > 0 ? ", " : "(", i);
  if (n > 0)
    g_string_append_c (sql, ')');
  return TRUE;
}

static void
text_free (RelationSource *source)
{
  TextSource *self = (TextSource *) source;

  relation_source_clear (source);
  g_free (self->sql);
  g_free (self);
}

static const RelationSourceClass text_class = { text_scan, text_free };

RelationSource *
relation_source_new_text (const char *name, const char *sql, const BaseType *schema, gboolean streaming)
{
  TextSource *self = g_new0 (TextSource, 1);

  relation_source_init (&self->source, &text_class, name, schema, NULL, streaming);
  self->sql = g_strdup (sql);
  return &self->source;
}

/* ---- answers of a resolver ---- */

void
relation_table_answer_clear (RelationTableAnswer *answer)
{
  relation_source_unref (answer->source);
  relation_plan_unref (answer->plan);
  if (answer->query_hold != NULL && answer->query_release != NULL)
    answer->query_release (answer->query_hold);
  base_type_unref (answer->columns);
  g_strfreev (answer->qualifier);
  *answer = (RelationTableAnswer){ 0 };
}

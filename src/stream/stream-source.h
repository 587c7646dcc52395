/* Where a stream's rows come from: a struct of functions over a streaming leaf of a plan.
 *
 * A source knows offsets (JSON values that it makes and reads itself). For every micro-batch it first plans the next offset after
 * the last one, within its rate limits and not beyond the end that was fixed when the run began; then, once the offset is
 * logged, it shows the rows between the two through its RelationSource.
 */
#pragma once

#include "base-cancel.h"
#include "relation-source.h"
#include "stream-progress.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct StreamSource StreamSource;

/* What waits to be read; -1 = not known. */
typedef struct {
  gint64 bytes;
  gint64 files;
  gint64 records;
} StreamBacklog;

typedef struct {
  /* Fixes the end up to which this run reads (available now), loads state. @last: (nullable): the newest logged offset.
   * Errors end the flow. */
  gboolean (*begin) (StreamSource *source, StreamProgress *progress, const json_t *last, GError **error);
  /* @next: (out) (transfer full) (nullable): the offset after @last, NULL when everything up to the fixed end is read.
   * @has_rows: (out): FALSE when the step passes nothing that could give a row: it is logged and not applied. */
  gboolean (*plan) (StreamSource *source, const json_t *last, json_t **next, gboolean *has_rows, GError **error);
  /* (nullable): what plan() would give after @last, without an effect: the step may never be taken. @next: NULL also where plan() would
   * do more than plan. A source without it is not read ahead. */
  gboolean (*plan_ahead) (StreamSource *source, const json_t *last, json_t **next, gboolean *has_rows, GError **error);
  /* From now on the leaf's scan gives the rows after @last ((nullable): from the start) up to @next; none when they are equal, or
   * when @next is NULL. */
  gboolean (*show) (StreamSource *source, const json_t *last, const json_t *next, GError **error);
  /* (nullable): the batch up to @next is done: state may be compacted. A failure is not reported: it is only work left. */
  void (*done) (StreamSource *source, gint64 batch, const json_t *next);
  /* (nullable): the batch ended with UNKNOWN_FIELD_EXCEPTION: grows the stored schema from the batch's files.
   * @grown: (out): whether a restart of the flow will see a larger schema. */
  gboolean (*evolve) (StreamSource *source, gboolean *grown, GError **error);
  StreamBacklog (*backlog) (StreamSource *source, const json_t *last);
  /* (nullable): where a stream that read nothing begins, as an offset: show() from it gives everything read since. After begin().
   * @offset: (out) (transfer full). NULL: a source that cannot give its rows again. */
  gboolean (*origin) (StreamSource *source, json_t **offset, GError **error);
  void (*free) (StreamSource *source); /* after stream_source_clear() */
} StreamSourceClass;

/* Embed it as the first member. */
struct StreamSource {
  const StreamSourceClass *klass;
  RelationSource *leaf; /* the streaming leaf; its name is the source's */
  guint index;       /* its number among the sources of the flow: its place in logged offsets, the name of its state */
  guint64 n_skipped; /* commits that were planned over since it was made, because an option leaves them out */
  gint64 keep_from;  /* the lowest batch whose logged offsets it still needs, G_MAXINT64 = none */
};

void stream_source_free (StreamSource *source); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StreamSource, stream_source_free)

G_END_DECLS

/* The text over a range: parts of commits become inputs of a few delta scans, joined by UNION ALL.
 *
 *   segment    parts of                                               the type of a row
 *   changes    change files                                           a column of the file
 *   plain      commits that need no pairing                           a value per file
 *   deleted    removed files of commits with both sides, automatic    by pairing (feed-pair.c)
 *   inserted   added files of such commits                            by pairing
 *
 * The last two exist twice: with the columns that are asked for, and with row ids alone, for the pairs. Versions and timestamps are
 * values per file. DuckDB keeps no order by itself, so order is a sort: by version, then by row id in the automatic mode, by
 * place in the legacy one, where no commit has parts of two segments.
 */
#include "base-error.h"
#include "base-text.h"
#include "feed-private.h"

#include <string.h>

struct FeedScan {
  gatomicrefcount references;
  char *sql;
  GPtrArray *scans; /* DeltaScan */
  GPtrArray *holds;
  guint n_files;
};

FeedScan *
feed_scan_ref (FeedScan *scan)
{
  g_atomic_ref_count_inc (&scan->references);
  return scan;
}

void
feed_scan_unref (FeedScan *scan)
{
  if (scan == NULL || !g_atomic_ref_count_dec (&scan->references))
    return;
  g_clear_pointer (&scan->holds, g_ptr_array_unref);
  g_clear_pointer (&scan->scans, g_ptr_array_unref);
  g_free (scan->sql);
  g_free (scan);
}

const char *
feed_scan_sql (FeedScan *scan)
{
  return scan->sql;
}

guint
feed_scan_n_files (FeedScan *scan)
{
  return scan->n_files;
}

/* ---- skipping ---- */

static gboolean
number_may_match (const DeltaPredicate *predicate, gint64 number)
{
  for (guint i = 0; i < predicate->n_constants; i++) {
    gint64 constant = predicate->constants[i].integer;
    switch (predicate->op) {
    case DELTA_PREDICATE_EQ:
    case DELTA_PREDICATE_IN:
      if (number == constant)
        return TRUE;
      break;
    case DELTA_PREDICATE_NE:
      return number != constant;
    case DELTA_PREDICATE_LT:
      return number < constant;
    case DELTA_PREDICATE_LE:
      return number <= constant;
    case DELTA_PREDICATE_GT:
      return number > constant;
    case DELTA_PREDICATE_GE:
    case DELTA_PREDICATE_GE_OR_NULL:
      return number >= constant;
    case DELTA_PREDICATE_IS_NULL:
    case DELTA_PREDICATE_IS_NOT_NULL:
      break;
    }
  }
  return predicate->op == DELTA_PREDICATE_IS_NOT_NULL;
}

static gboolean
type_may_match (const DeltaPredicate *predicate, const char *type)
{
  if (predicate->op == DELTA_PREDICATE_IS_NULL)
    return FALSE;
  if (predicate->op != DELTA_PREDICATE_EQ && predicate->op != DELTA_PREDICATE_IN)
    return TRUE;
  for (guint i = 0; i < predicate->n_constants; i++) {
    const DeltaConstant *constant = &predicate->constants[i];
    if (constant->text_bytes == strlen (type) && memcmp (constant->text, type, constant->text_bytes) == 0)
      return TRUE;
  }
  return FALSE;
}

/* ---- building ---- */

typedef enum { SEGMENT_CHANGES, SEGMENT_PLAIN, SEGMENT_DELETED, SEGMENT_INSERTED } SegmentKind;

/* Rows of one file that changed in one commit. */
typedef struct {
  DeltaVector *rows;
  guint texts; /* index of their values */
} RowSet;

/* What one delta scan reads. */
typedef struct {
  SegmentKind kind;
  gboolean is_by_row;      /* inputs are files with sets of rows, one per commit (feed-picker.c) */
  guint layer;             /* of sets that have rows in common with those of another layer */
  gboolean keys_only;      /* row ids without columns */
  gboolean cancels;        /* equal rows cancel each other */
  DeltaMetadata *metadata; /* how columns are read */
  const char *id_column,
      *age_column;     /* (nullable): physical names of row ids and row versions, when those are wanted */
  GArray *inputs;      /* DeltaScanInput; vectors are owned, values belong to @texts */
  GPtrArray *texts;    /* char **: per input, or per set of rows, the values of value_columns() */
  GPtrArray *sets;     /* by row: GArray of RowSet, one per input */
  GHashTable *by_path; /* by row: decoded path → index of the input + 1 */
} Segment;

/* Values per file: version, timestamp, type of plain rows, then what row ids are made of. */
#define N_VALUES (FEED_N_COLUMNS + 2)

typedef struct {
  FeedRange *range;
  const FeedScanRequest *request;
  BaseCancel *cancel;
  guint n_table_columns;
  gboolean gives_ids;         /* rows come with their row ids: for order, and for what they are over the range */
  DeltaPredicate *predicates; /* of the table's columns alone */
  guint n_predicates;

  /* What scans are asked for: the same outputs of every segment, in this order. */
  DeltaScanColumn *columns;
  guint n_columns;
  FeedPairNames names;
  const char *timestamp_name;
  const BaseType *text, *number, *instant;

  GPtrArray *segments; /* Segment */
  FeedScan *scan;
} Builder;

static void
texts_free (gpointer data)
{
  char **texts = data;

  for (guint i = 0; i < N_VALUES; i++)
    g_free (texts[i]);
  g_free (texts);
}

static void
segment_free (gpointer data)
{
  Segment *segment = data;

  for (guint i = 0; i < segment->inputs->len; i++)
    delta_vector_unref (g_array_index (segment->inputs, DeltaScanInput, i).vector);
  g_array_unref (segment->inputs);
  g_ptr_array_unref (segment->texts);
  g_ptr_array_unref (segment->sets);
  g_hash_table_unref (segment->by_path);
  g_free (segment);
}

static void
row_set_clear (gpointer data)
{
  delta_vector_unref (((RowSet *) data)->rows);
}

static Segment *
segment_new (const Segment *like)
{
  Segment *segment = g_new0 (Segment, 1);

  *segment = *like;
  segment->inputs = g_array_new (FALSE, TRUE, sizeof (DeltaScanInput));
  segment->texts = g_ptr_array_new_with_free_func (texts_free);
  segment->sets = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  segment->by_path = g_hash_table_new (g_str_hash, g_str_equal);
  return segment;
}

static Segment *
segment_for (Builder *builder, const Segment *like)
{
  Segment *segment;

  for (guint i = 0; i < builder->segments->len; i++) {
    segment = builder->segments->pdata[i];
    if (segment->kind == like->kind && segment->is_by_row == like->is_by_row && segment->layer == like->layer &&
        segment->keys_only == like->keys_only && segment->cancels == like->cancels &&
        segment->metadata == like->metadata && g_strcmp0 (segment->id_column, like->id_column) == 0 &&
        g_strcmp0 (segment->age_column, like->age_column) == 0)
      return segment;
  }
  segment = segment_new (like);
  g_ptr_array_add (builder->segments, segment);
  return segment;
}

/* @rows: (out): the vector of a paired part: in \ out. */
static gboolean
load_rows (Builder *builder, const FeedPart *part, DeltaVector **rows, GError **error)
{
  g_autoptr (DeltaVector) in = delta_vector_load (builder->range->table, delta_file_vector (part->in), error);
  g_autoptr (DeltaVector) out = NULL;
  DeltaVector *difference;

  if (in == NULL)
    return FALSE;
  if (part->out == NULL) {
    *rows = g_steal_pointer (&in);
    return TRUE;
  }
  out = delta_vector_load (builder->range->table, delta_file_vector (part->out), error);
  if (out == NULL)
    return FALSE;
  difference = delta_vector_copy (in);
  delta_vector_remove_all (difference, out);
  *rows = difference;
  return TRUE;
}

static const char *
raw_type_of (const FeedPart *part)
{
  return part->kind == FEED_PART_INSERT ? "insert" : part->kind == FEED_PART_DELETE ? "delete" : NULL;
}

/* Whether rows of the commit are paired by their ids. */
static gboolean
is_pairing (const Builder *builder, const FeedCommit *commit)
{
  return builder->range->mode == FEED_MODE_AUTOMATIC && commit->has_both_sides &&
         builder->range->deduplication != FEED_CARRYOVERS_SHOWN;
}

/* The segment that the rows of @part belong to. */
static Segment
segment_of (const Builder *builder, const FeedCommit *commit, const FeedPart *part)
{
  gboolean pairs = is_pairing (builder, commit);
  DeltaMetadata *named = part->kind == FEED_PART_DELETE ? commit->before : commit->after;
  Segment like = { .kind = SEGMENT_PLAIN, .metadata = builder->range->metadata };

  if (part->kind == FEED_PART_DELETE && commit->read_deleted != NULL)
    like.metadata = commit->read_deleted;
  if (part->kind == FEED_PART_CHANGES)
    like.kind = SEGMENT_CHANGES;
  else if (pairs)
    like.kind = part->kind == FEED_PART_DELETE ? SEGMENT_DELETED : SEGMENT_INSERTED;
  like.is_by_row = part->is_paired;
  like.cancels = pairs && !commit->keeps_row_ids && builder->range->cancels_identical;
  if (named == NULL)
    named = builder->range->metadata;
  if (pairs || builder->gives_ids) {
    like.id_column = delta_metadata_row_id_column (named);
    like.age_column = delta_metadata_row_commit_version_column (named);
  }
  return like;
}

static gboolean
wants_ids (const Builder *builder, const Segment *segment)
{
  return segment->kind >= SEGMENT_DELETED || (segment->kind == SEGMENT_PLAIN && builder->gives_ids);
}

static char *
number_or_null (gint64 number)
{
  return number >= 0 ? feed_version_text (number) : NULL;
}

static char **
texts_new (const Builder *builder, const Segment *segment, const FeedCommit *commit, const FeedPart *part)
{
  char **texts = g_new0 (char *, N_VALUES);
  guint n = 0;

  texts[n++] = feed_version_text (commit->version);
  texts[n++] = g_strdup_printf ("%" G_GINT64_FORMAT, commit->timestamp_us);
  if (segment->kind == SEGMENT_PLAIN)
    texts[n++] = g_strdup (raw_type_of (part));
  if (wants_ids (builder, segment)) {
    texts[n++] = number_or_null (delta_file_base_row_id (part->file));
    texts[n++] = number_or_null (delta_file_default_row_commit_version (part->file));
  }
  return texts;
}

static gboolean
are_disjoint (const DeltaVector *a, const DeltaVector *b)
{
  g_autoptr (DeltaVector) rest = delta_vector_copy (a);

  delta_vector_remove_all (rest, b);
  return delta_vector_cardinality (rest) == delta_vector_cardinality (a);
}

/* The segment, and in it the input of the file of @part, which has none of @rows yet. */
static Segment *
segment_by_row (Builder *builder, const Segment *like, const FeedPart *part, DeltaVector *rows, guint *input)
{
  Segment wanted = *like;

  for (;; wanted.layer++) {
    Segment *segment = segment_for (builder, &wanted);
    DeltaScanInput fresh = { .file = part->file, .rows = DELTA_SCAN_ONLY };
    const char *path = delta_file_decoded_path (part->file);
    guint at = GPOINTER_TO_UINT (g_hash_table_lookup (segment->by_path, path));
    if (at > 0 && !are_disjoint (rows, g_array_index (segment->inputs, DeltaScanInput, at - 1).vector))
      continue;
    if (at == 0) {
      GArray *sets = g_array_new (FALSE, FALSE, sizeof (RowSet));
      fresh.vector = delta_vector_new ();
      g_array_set_clear_func (sets, row_set_clear);
      g_array_append_val (segment->inputs, fresh);
      g_ptr_array_add (segment->sets, sets);
      at = segment->inputs->len;
      g_hash_table_insert (segment->by_path, (gpointer) path, GUINT_TO_POINTER (at));
    }
    *input = at - 1;
    return segment;
  }
}

static void
add_rows (Builder *builder, const Segment *like, const FeedCommit *commit, const FeedPart *part, DeltaVector *rows)
{
  guint input;
  Segment *segment = segment_by_row (builder, like, part, rows, &input);
  RowSet set = { delta_vector_ref (rows), segment->texts->len };

  g_ptr_array_add (segment->texts, texts_new (builder, segment, commit, part));
  g_array_append_val ((GArray *) segment->sets->pdata[input], set);
  delta_vector_add_all (g_array_index (segment->inputs, DeltaScanInput, input).vector, rows);
}

static void
add_file (Builder *builder, const Segment *like, const FeedCommit *commit, const FeedPart *part)
{
  Segment *segment = segment_for (builder, like);
  DeltaScanInput input = { .file = part->file,
                           .rows = part->kind == FEED_PART_CHANGES ? DELTA_SCAN_ALL : DELTA_SCAN_LIVE };
  char **texts = texts_new (builder, segment, commit, part);

  g_ptr_array_add (segment->texts, texts);
  input.values = (const char *const *) texts;
  g_array_append_val (segment->inputs, input);
}

/* @rows: (nullable): of a paired part. */
static void
add_to_segment (Builder *builder, const Segment *like, const FeedCommit *commit, const FeedPart *part,
                DeltaVector *rows)
{
  if (rows != NULL)
    add_rows (builder, like, commit, part, rows);
  else
    add_file (builder, like, commit, part);
}

/* @wide: with columns; else only for the pairs. */
static gboolean
add_input (Builder *builder, const FeedCommit *commit, const FeedPart *part, gboolean wide, GError **error)
{
  g_autoptr (DeltaVector) rows = NULL;
  Segment like = segment_of (builder, commit, part);

  if (part->is_paired) {
    if (!load_rows (builder, part, &rows, error))
      return FALSE;
    if (delta_vector_is_empty (rows))
      return TRUE;
  }
  if (wide)
    add_to_segment (builder, &like, commit, part, rows);
  if (is_pairing (builder, commit)) {
    like.keys_only = TRUE;
    like.cancels = FALSE;
    add_to_segment (builder, &like, commit, part, rows);
  }
  return TRUE;
}

static gboolean
commit_may_match (const Builder *builder, const FeedCommit *commit)
{
  for (guint i = 0; i < builder->request->n_predicates; i++) {
    const DeltaPredicate *predicate = &builder->request->predicates[i];
    if (builder->range->deduplication == FEED_NET)
      return TRUE; /* what a row is depends on all its changes */
    if (predicate->column == builder->n_table_columns + 1 && !number_may_match (predicate, commit->version))
      return FALSE;
    if (predicate->column == builder->n_table_columns + 2 && !number_may_match (predicate, commit->timestamp_us))
      return FALSE;
  }
  return TRUE;
}

static gboolean
types_may_match (const Builder *builder, const FeedCommit *commit, const FeedPart *part,
                 const DeltaPredicate *predicate)
{
  const char *raw = raw_type_of (part);
  const char *update = part->kind == FEED_PART_INSERT ? "update_postimage" : "update_preimage";

  if (raw == NULL || predicate->column != builder->n_table_columns)
    return TRUE;
  return type_may_match (predicate, raw) ||
         (is_pairing (builder, commit) && !builder->range->splits_updates && type_may_match (predicate, update));
}

/* Statistics may speak of the rows that a vector left over only, so paired files are always read (§7.8). */
static gboolean
part_may_match (const Builder *builder, const FeedCommit *commit, const FeedPart *part)
{
  if (builder->range->deduplication == FEED_NET)
    return TRUE;
  for (guint i = 0; i < builder->request->n_predicates; i++)
    if (!types_may_match (builder, commit, part, &builder->request->predicates[i]))
      return FALSE;
  return part->is_paired || (part->kind == FEED_PART_DELETE && commit->read_deleted != NULL) ||
         delta_file_may_match (builder->range->metadata, part->file, builder->predicates, builder->n_predicates);
}

/* Whether anything of the commit is read; if so, all files of a commit that pairs are. */
static gboolean
any_may_match (const Builder *builder, const FeedCommit *commit)
{
  if (!commit_may_match (builder, commit))
    return FALSE;
  for (guint i = 0; i < commit->parts->len; i++)
    if (part_may_match (builder, commit, &g_array_index (commit->parts, FeedPart, i)))
      return TRUE;
  return FALSE;
}

static gboolean
add_inputs (Builder *builder, GError **error)
{
  for (guint i = 0; i < builder->range->commits->len; i++) {
    const FeedCommit *commit = builder->range->commits->pdata[i];
    if (!any_may_match (builder, commit))
      continue;
    for (guint j = 0; j < commit->parts->len; j++) {
      const FeedPart *part = &g_array_index (commit->parts, FeedPart, j);
      gboolean wide = part_may_match (builder, commit, part);
      if ((wide || is_pairing (builder, commit)) && !add_input (builder, commit, part, wide, error))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean
check_files (Builder *builder, GError **error)
{
  FeedRange *range = builder->range;

  for (guint i = 0; i < range->commits->len; i++) {
    const FeedCommit *commit = range->commits->pdata[i];
    if (!any_may_match (builder, commit))
      continue;
    if (!base_cancel_check (builder->cancel, error))
      return FALSE;
    for (guint j = 0; j < commit->parts->len; j++) {
      const FeedPart *part = &g_array_index (commit->parts, FeedPart, j);
      g_autofree char *missing = NULL;
      if ((!is_pairing (builder, commit) && !part_may_match (builder, commit, part)) ||
          feed_files_are_there (range, part, &missing, error))
        continue;
      return missing != NULL && feed_files_set_gone (range, commit->version, missing, builder->cancel, error);
    }
  }
  return TRUE;
}

/* ---- text ---- */

/* Outputs of the values of a segment's inputs, in the order of their texts. Returns: how many. */
static guint
value_columns (const Builder *builder, const Segment *segment, DeltaScanValue values[N_VALUES])
{
  guint n = 0;

  values[n++] = (DeltaScanValue){ builder->number, builder->names.version };
  values[n++] = (DeltaScanValue){ builder->instant, builder->timestamp_name };
  if (segment->kind == SEGMENT_PLAIN)
    values[n++] = (DeltaScanValue){ builder->text, builder->names.type };
  if (wants_ids (builder, segment)) {
    values[n++] = (DeltaScanValue){ builder->number, FEED_OWN_ID_BASE };
    values[n++] = (DeltaScanValue){ builder->number, FEED_OWN_AGE_FILE };
  }
  return n;
}

static guint
hidden_columns (const Builder *builder, const Segment *segment, DeltaScanHidden hidden[2])
{
  guint n = 0;

  if (segment->kind == SEGMENT_CHANGES)
    hidden[n++] = (DeltaScanHidden){ FEED_CHANGE_TYPE, builder->text, builder->names.type };
  if (wants_ids (builder, segment) && segment->id_column != NULL)
    hidden[n++] = (DeltaScanHidden){ segment->id_column, builder->number, FEED_OWN_ID_READ };
  if (wants_ids (builder, segment) && segment->age_column != NULL)
    hidden[n++] = (DeltaScanHidden){ segment->age_column, builder->number, FEED_OWN_AGE_READ };
  return n;
}

/* ---- values of rows: what a segment by row joins ---- */

static DuckKind
value_kind (const Builder *builder, const DeltaScanValue *value)
{
  return value->type == builder->text      ? DUCK_KIND_VARCHAR
         : value->type == builder->instant ? DUCK_KIND_TIMESTAMP_TZ
                                           : DUCK_KIND_BIGINT;
}

/* One row per set, by the index of its values. */
static DuckTable *
table_of_values (const Builder *builder, const Segment *segment, const DeltaScanValue *values, guint n)
{
  static const char *const names[N_VALUES] = { "v0", "v1", "v2", "v3", "v4" };
  DuckTableColumn columns[N_VALUES + 1] = { { .name = "ix", .kind = DUCK_KIND_UBIGINT } };
  DuckTable *table;

  for (guint i = 0; i < n; i++)
    columns[i + 1] = (DuckTableColumn){ .name = names[i], .kind = value_kind (builder, &values[i]) };
  table = duck_table_new (columns, n + 1);
  for (guint row = 0; row < segment->texts->len; row++) {
    char **texts = segment->texts->pdata[row];
    duck_table_set_int64 (table, 0, row);
    for (guint i = 0; i < n; i++) {
      if (texts[i] == NULL)
        continue;
      if (values[i].type == builder->text)
        duck_table_set_string (table, i + 1, texts[i], strlen (texts[i]));
      else
        duck_table_set_int64 (table, i + 1, g_ascii_strtoll (texts[i], NULL, 10));
    }
    duck_table_end_row (table);
  }
  return table;
}

/* Which values a row of a file has. */
static FeedPicker *
picker_of (const Segment *segment, DeltaScan *scan)
{
  FeedPicker *picker = feed_picker_new ();

  for (guint i = 0; i < delta_scan_n_files (scan); i++) {
    const char *path = delta_file_decoded_path (delta_scan_file (scan, i));
    guint at = GPOINTER_TO_UINT (g_hash_table_lookup (segment->by_path, path));
    GArray *sets = segment->sets->pdata[at - 1];
    for (guint j = 0; j < sets->len; j++) {
      const RowSet *set = &g_array_index (sets, RowSet, j);
      feed_picker_add (picker, i, set->rows, set->texts);
    }
  }
  return picker;
}

/* `SELECT` every output of @scan and the values of its rows. Returns: (transfer full). */
static char *
join_values (Builder *builder, const Segment *segment, DeltaScan *scan)
{
  DuckEngine *engine = delta_table_engine (builder->range->table);
  GString *sql = g_string_new ("SELECT s.*");
  DeltaScanValue values[N_VALUES];
  guint n = value_columns (builder, segment, values);
  guint64 table = duck_engine_lend_table (engine, table_of_values (builder, segment, values, n));
  guint64 picker = feed_picker_lend (picker_of (segment, scan), engine);

  duck_holds_add (builder->scan->holds, engine, table);
  duck_holds_add (builder->scan->holds, engine, picker);
  for (guint i = 0; i < n; i++) {
    g_string_append_printf (sql, ", v.v%u AS ", i);
    base_text_append_sql_identifier (sql, values[i].name);
  }
  g_string_append_printf (sql,
                          " FROM (%s) s JOIN sluice_files(%" G_GUINT64_FORMAT
                          "::UBIGINT) v ON v.ix = sluice_pick(%" G_GUINT64_FORMAT "::UBIGINT, s." FEED_OWN_FILE
                          "::UBIGINT, s." FEED_OWN_PLACE ")",
                          delta_scan_sql (scan), table, picker);
  return g_string_free (sql, FALSE);
}

/* Without column mapping a column may have left and come back with another type; the rows of the older one, deleted at the start of the
 * range, do not fit the schema of the read. @failure: (transfer full). */
static void
set_scan_error (const Builder *builder, GError *failure, GError **error)
{
  const FeedRange *range = builder->range;
  const char *column = base_error_param (failure, "column");
  g_autoptr (GError) cause = failure;

  if (!g_error_matches (failure, SLUICE_ERROR, SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE) || column == NULL) {
    g_propagate_error (error, g_steal_pointer (&cause));
    return;
  }
  base_error_set (error, SLUICE_ERROR_DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA,
                  "the change feed of %s from version %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " cannot be read: %s",
                  delta_table_location (range->table), range->start, range->end, cause->message);
  base_error_add_param (error, "column", column);
  base_error_set_hint (
      error, "the column had another type before; start after the version that replaced it, which DESCRIBE HISTORY "
             "shows, or do not select the column");
}

/* One delta scan. @all_columns: (nullable): instead of those that are asked for. Returns: (transfer full). */
static char *
scan_text (Builder *builder, const Segment *segment, const DeltaScanColumn *all_columns, GError **error)
{
  gboolean ids = wants_ids (builder, segment), by_row = segment->is_by_row;
  gboolean ordered = builder->request->ordered;
  DeltaScanHidden hidden[2];
  DeltaScanValue values[N_VALUES];
  DeltaScanRequest request = { .columns = all_columns != NULL ? all_columns : builder->columns,
                               .n_columns = all_columns != NULL ? builder->n_table_columns : builder->n_columns,
                               .hidden = hidden,
                               .n_hidden = hidden_columns (builder, segment, hidden),
                               .values = values,
                               .n_values = by_row ? 0 : value_columns (builder, segment, values),
                               .inputs = (const DeltaScanInput *) segment->inputs->data,
                               .n_inputs = segment->inputs->len,
                               .explicit_inputs = TRUE,
                               .file_index_name = by_row || (ordered && !ids) ? FEED_OWN_FILE : NULL,
                               .row_number_name = by_row || ordered || ids ? FEED_OWN_PLACE : NULL,
                               .metadata = segment->metadata };
  DeltaScan *scan;
  g_autoptr (GError) failure = NULL;
  g_autofree char *sql = NULL;

  if (segment->keys_only)
    request.n_columns = 0;
  scan = delta_scan_new (builder->range->snapshot, &request, builder->cancel, &failure);
  if (scan == NULL) {
    set_scan_error (builder, g_steal_pointer (&failure), error);
    return NULL;
  }
  g_ptr_array_add (builder->scan->scans, scan);
  if (!segment->keys_only)
    builder->scan->n_files += delta_scan_n_files (scan);
  sql = by_row ? join_values (builder, segment, scan) : g_strdup (delta_scan_sql (scan));
  if (!ids)
    return g_steal_pointer (&sql);
  /* Files of a table whose rows were never moved may lack the names. */
  return g_strdup_printf ("SELECT *%s%s FROM (%s)",
                          segment->id_column == NULL ? ", NULL::BIGINT AS " FEED_OWN_ID_READ : "",
                          segment->age_column == NULL ? ", NULL::BIGINT AS " FEED_OWN_AGE_READ : "", sql);
}

/* Appends @rows with exactly the outputs that all segments have. */
static void
append_rows (Builder *builder, GString *sql, const char *rows)
{
  const char *own[] = { builder->names.type, builder->names.version, builder->timestamp_name };

  g_string_append (sql, sql->len > 0 ? " UNION ALL SELECT " : "SELECT ");
  for (guint i = 0; i < builder->n_columns; i++) {
    base_text_append_sql_identifier (sql, builder->columns[i].name);
    g_string_append (sql, ", ");
  }
  for (guint i = 0; i < G_N_ELEMENTS (own); i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    base_text_append_sql_identifier (sql, own[i]);
  }
  if (builder->gives_ids)
    g_string_append (sql, ", " FEED_OWN_ID);
  else if (builder->request->ordered)
    g_string_append (sql, ", " FEED_OWN_FILE ", " FEED_OWN_PLACE);
  g_string_append_printf (sql, " FROM (%s)", rows);
}

static gboolean
append_plain (Builder *builder, const Segment *segment, GString *sql, GError **error)
{
  g_autofree char *scan = scan_text (builder, segment, NULL, error);
  g_autoptr (GString) rows = g_string_new (NULL);

  if (scan == NULL)
    return FALSE;
  if (builder->gives_ids)
    feed_pair_append_ids (rows, scan);
  append_rows (builder, sql, builder->gives_ids ? rows->str : scan);
  return TRUE;
}

static gboolean
append_side (Builder *builder, const Segment *segment, const DeltaScanColumn *all_columns, GString *sql, GError **error)
{
  g_autofree char *scan = scan_text (builder, segment, all_columns, error);
  g_autoptr (GString) rows = g_string_new (NULL);

  if (scan == NULL)
    return FALSE;
  feed_pair_append_side (rows, &builder->names, scan, segment->kind == SEGMENT_INSERTED);
  if (all_columns == NULL)
    append_rows (builder, sql, rows->str);
  else
    g_string_append_printf (sql, "%s%s", sql->len > 0 ? " UNION ALL BY NAME " : "", rows->str);
  return TRUE;
}

/* Rows that may cancel each other come with all columns of the table. */
static gboolean
append_cancelling (Builder *builder, GString *sql, GError **error)
{
  g_autofree DeltaScanColumn *all = g_new0 (DeltaScanColumn, builder->n_table_columns + 1);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) rows = g_string_new (NULL);
  FeedPairNames pair_names = builder->names;
  g_autofree char *rest = NULL;
  GString *renamed;

  for (guint i = 0; i < builder->n_table_columns; i++) {
    g_ptr_array_add (names, g_strdup_printf (FEED_OWN "_c%u", i));
    all[i] = (DeltaScanColumn){ i, names->pdata[i] };
  }
  for (guint i = 0; i < builder->segments->len; i++) {
    const Segment *segment = builder->segments->pdata[i];
    if (segment->cancels && !append_side (builder, segment, all, rows, error))
      return FALSE;
  }
  if (rows->len == 0)
    return TRUE;
  pair_names.names = names;
  rest = feed_pair_cancel (&pair_names, rows->str);
  renamed = g_string_new ("SELECT *");
  for (guint i = 0; i < builder->n_columns; i++) {
    g_string_append_printf (renamed, ", " FEED_OWN "_c%u AS ", builder->columns[i].column);
    base_text_append_sql_identifier (renamed, builder->columns[i].name);
  }
  g_string_append_printf (renamed, " FROM (%s)", rest);
  append_rows (builder, sql, renamed->str);
  g_string_free (renamed, TRUE);
  return TRUE;
}

/* The definition of the pairs; @with stays NULL when no commit pairs. */
static gboolean
make_pairs (Builder *builder, char **with, GError **error)
{
  g_autoptr (GString) keys = g_string_new (NULL);

  for (guint i = 0; i < builder->segments->len; i++) {
    const Segment *segment = builder->segments->pdata[i];
    g_autofree char *scan = NULL;
    if (!segment->keys_only)
      continue;
    scan = scan_text (builder, segment, NULL, error);
    if (scan == NULL)
      return FALSE;
    g_string_append (keys, keys->len > 0 ? " UNION ALL SELECT " : "SELECT ");
    base_text_append_sql_identifier (keys, builder->names.version);
    g_string_append_printf (keys, ", " FEED_OWN_ID ", " FEED_OWN_AGE ", %d AS " FEED_OWN_SIDE " FROM (",
                            segment->kind == SEGMENT_INSERTED);
    feed_pair_append_ids (keys, scan);
    g_string_append_c (keys, ')');
    if (segment->kind == SEGMENT_INSERTED) {
      /* A row without an id of its own in a file that this commit made has a new one, which no other row ever had. */
      g_string_append (keys, " WHERE " FEED_OWN_ID_READ " IS NOT NULL OR " FEED_OWN_AGE_FILE " <> ");
      base_text_append_sql_identifier (keys, builder->names.version);
    }
  }
  *with = keys->len > 0 ? feed_pair_definition (&builder->names, keys->str) : NULL;
  return TRUE;
}

static gboolean
append_segments (Builder *builder, GString *sql, GError **error)
{
  gboolean any = FALSE;

  for (guint i = 0; i < builder->segments->len; i++) {
    const Segment *segment = builder->segments->pdata[i];
    if (segment->keys_only)
      continue;
    any = TRUE;
    if (segment->kind < SEGMENT_DELETED) {
      if (!append_plain (builder, segment, sql, error))
        return FALSE;
    } else if (!segment->cancels && !append_side (builder, segment, NULL, sql, error)) {
      return FALSE;
    }
  }
  if (!append_cancelling (builder, sql, error))
    return FALSE;
  if (!any) {
    Segment like = { .kind = SEGMENT_PLAIN, .metadata = builder->range->metadata };
    Segment *none = segment_new (&like);
    gboolean good = append_plain (builder, none, sql, error);
    segment_free (none);
    return good;
  }
  return TRUE;
}

static void
append_type (const Builder *builder, GString *sql)
{
  if (!builder->range->splits_updates) {
    base_text_append_sql_identifier (sql, builder->names.type);
    return;
  }
  g_string_append (sql, "CASE ");
  base_text_append_sql_identifier (sql, builder->names.type);
  g_string_append (sql, " WHEN 'update_preimage' THEN 'delete' WHEN 'update_postimage' THEN 'insert' ELSE ");
  base_text_append_sql_identifier (sql, builder->names.type);
  g_string_append (sql, " END AS ");
  base_text_append_sql_identifier (sql, builder->names.type);
}

/* The asked columns in the asked order. */
static char *
wrap (const Builder *builder, const char *with, const char *rows)
{
  GString *sql = g_string_new ("SELECT ");
  g_autofree char *net = NULL;

  for (guint i = 0; i < builder->request->n_columns; i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    if (builder->request->columns[i].column == builder->n_table_columns)
      append_type (builder, sql);
    else
      base_text_append_sql_identifier (sql, builder->request->columns[i].name);
  }
  if (builder->request->n_columns == 0)
    base_text_append_sql_identifier (sql, builder->names.version);
  if (builder->range->deduplication == FEED_NET) {
    net = feed_pair_net (&builder->names, with, rows);
    g_string_append_printf (sql, " FROM (%s)", net);
  } else if (with != NULL) {
    g_string_append_printf (sql, " FROM (WITH %s %s)", with, rows);
  } else {
    g_string_append_printf (sql, " FROM (%s)", rows);
  }
  if (builder->request->ordered) {
    g_string_append (sql, " ORDER BY ");
    base_text_append_sql_identifier (sql, builder->names.version);
    /* A preimage is greater than its postimage and comes before it. */
    g_string_append (sql, builder->gives_ids ? ", " FEED_OWN_ID ", " : ", " FEED_OWN_FILE ", " FEED_OWN_PLACE);
    if (builder->gives_ids) {
      base_text_append_sql_identifier (sql, builder->names.type);
      g_string_append (sql, " DESC");
    }
  }
  return g_string_free (sql, FALSE);
}

/* Splits the asked columns into those of the table and the three; a name not asked for is one that no caller uses. */
static void
split_columns (Builder *builder)
{
  const FeedScanRequest *request = builder->request;

  builder->names.type = FEED_OWN FEED_CHANGE_TYPE;
  builder->names.version = FEED_OWN FEED_COMMIT_VERSION;
  builder->timestamp_name = FEED_OWN FEED_COMMIT_TIMESTAMP;
  for (guint i = 0; i < request->n_columns; i++) {
    DeltaScanColumn column = request->columns[i];
    if (column.column < builder->n_table_columns)
      builder->columns[builder->n_columns++] = column;
    else if (column.column == builder->n_table_columns)
      builder->names.type = column.name;
    else if (column.column == builder->n_table_columns + 1)
      builder->names.version = column.name;
    else
      builder->timestamp_name = column.name;
  }
  for (guint i = 0; i < request->n_predicates; i++)
    if (request->predicates[i].column < builder->n_table_columns)
      builder->predicates[builder->n_predicates++] = request->predicates[i];
}

static FeedScan *
build (Builder *builder, GError **error)
{
  g_autoptr (FeedScan) scan = g_new0 (FeedScan, 1);
  g_autoptr (GString) sql = g_string_new (NULL);
  g_autofree char *with = NULL;

  g_atomic_ref_count_init (&scan->references);
  scan->scans = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_scan_unref);
  scan->holds = duck_holds_new ();
  builder->scan = scan;
  if (!check_files (builder, error) || !add_inputs (builder, error) || !make_pairs (builder, &with, error) ||
      !append_segments (builder, sql, error))
    return NULL;
  scan->sql = wrap (builder, with, sql->str);
  return g_steal_pointer (&scan);
}

FeedScan *
feed_scan_new (FeedRange *range, const FeedScanRequest *request, BaseCancel *cancel, GError **error)
{
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, request->n_columns + 1);
  g_autofree DeltaPredicate *predicates = g_new0 (DeltaPredicate, request->n_predicates + 1);
  g_autoptr (GPtrArray) segments = g_ptr_array_new_with_free_func (segment_free);
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) instant = base_type_simple (BASE_TYPE_TIMESTAMP);
  Builder builder = { .range = range,
                      .request = request,
                      .cancel = cancel,
                      .n_table_columns = base_type_n_fields (range->schema) - FEED_N_COLUMNS,
                      .gives_ids =
                          range->mode == FEED_MODE_AUTOMATIC && (request->ordered || range->deduplication == FEED_NET),
                      .predicates = predicates,
                      .columns = columns,
                      .text = text,
                      .number = number,
                      .instant = instant,
                      .segments = segments };
  FeedScan *scan;

  split_columns (&builder);
  scan = build (&builder, error);
  if (scan == NULL)
    base_error_add_context (error, "reading the change feed of %s", delta_table_location (range->table));
  return scan;
}

/* The text over a range: parts of commits become inputs of at most two delta scans, joined by UNION ALL.
 *
 * Change files name the type of each row in a column of their own; for derived rows it is a value per file. Versions and
 * timestamps are values per file of either. DuckDB keeps no order by itself, so order is a sort: by version, then by place, which
 * is unique inside a commit because no commit has parts of both kinds.
 */
#include "base-error.h"
#include "base-text.h"
#include "feed-private.h"

#include <string.h>
#include <unistd.h>

/* Names of columns that no caller asked for. */
#define OWN_NAME   "_sluice"
#define FILE_NAME  OWN_NAME "_file"
#define PLACE_NAME OWN_NAME "_place"

struct FeedScan {
  gatomicrefcount references;
  char *sql;
  GPtrArray *scans; /* DeltaScan */
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

typedef struct {
  FeedRange *range;
  const FeedScanRequest *request;
  BaseCancel *cancel;
  guint n_table_columns;
  DeltaPredicate *predicates; /* of the table's columns alone */
  guint n_predicates;

  /* What scans are asked for: the same outputs of every segment, in this order. */
  DeltaScanColumn *columns;
  guint n_columns;
  const char *type_name;
  const char *version_name;
  const char *timestamp_name;

  GPtrArray *segments; /* Segment: change files, derived */
  FeedScan *scan;
} Builder;

/* What one delta scan reads. */
typedef struct {
  gboolean is_derived;
  GArray *inputs;   /* DeltaScanInput; vectors are owned, values belong to @texts */
  GPtrArray *texts; /* char **: version, timestamp, type when derived; NULL-terminated */
} Segment;

static void
segment_free (gpointer data)
{
  Segment *segment = data;

  for (guint i = 0; i < segment->inputs->len; i++)
    delta_vector_unref (g_array_index (segment->inputs, DeltaScanInput, i).vector);
  g_array_unref (segment->inputs);
  g_ptr_array_unref (segment->texts);
  g_free (segment);
}

static Segment *
segment_for (Builder *builder, gboolean is_derived)
{
  Segment *segment;

  for (guint i = 0; i < builder->segments->len; i++) {
    segment = builder->segments->pdata[i];
    if (segment->is_derived == is_derived)
      return segment;
  }
  segment = g_new0 (Segment, 1);
  segment->is_derived = is_derived;
  segment->inputs = g_array_new (FALSE, TRUE, sizeof (DeltaScanInput));
  segment->texts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
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
type_of (const FeedPart *part)
{
  return part->kind == FEED_PART_INSERT ? "insert" : part->kind == FEED_PART_DELETE ? "delete" : NULL;
}

static gboolean
add_input (Builder *builder, const FeedCommit *commit, const FeedPart *part, GError **error)
{
  DeltaScanInput input = { .file = part->file, .rows = DELTA_SCAN_LIVE };
  char **texts;
  Segment *segment;

  if (part->is_paired) {
    if (!load_rows (builder, part, &input.vector, error))
      return FALSE;
    input.rows = DELTA_SCAN_ONLY;
    if (delta_vector_is_empty (input.vector)) {
      delta_vector_unref (input.vector);
      return TRUE;
    }
  } else if (part->kind == FEED_PART_CHANGES) {
    input.rows = DELTA_SCAN_ALL;
  }
  segment = segment_for (builder, part->kind != FEED_PART_CHANGES);
  texts = g_new0 (char *, FEED_N_COLUMNS + 1);
  texts[0] = feed_version_text (commit->version);
  texts[1] = g_strdup_printf ("%" G_GINT64_FORMAT, commit->timestamp_us);
  texts[2] = g_strdup (type_of (part));
  g_ptr_array_add (segment->texts, texts);
  input.values = (const char *const *) texts;
  g_array_append_val (segment->inputs, input);
  return TRUE;
}

static gboolean
commit_may_match (const Builder *builder, const FeedCommit *commit)
{
  for (guint i = 0; i < builder->request->n_predicates; i++) {
    const DeltaPredicate *predicate = &builder->request->predicates[i];
    if (predicate->column == builder->n_table_columns + 1 && !number_may_match (predicate, commit->version))
      return FALSE;
    if (predicate->column == builder->n_table_columns + 2 && !number_may_match (predicate, commit->timestamp_us))
      return FALSE;
  }
  return TRUE;
}

/* Statistics may speak of the rows that a vector left over only, so paired files are always read (§7.8). */
static gboolean
part_may_match (const Builder *builder, const FeedPart *part)
{
  const char *type = type_of (part);

  for (guint i = 0; type != NULL && i < builder->request->n_predicates; i++) {
    const DeltaPredicate *predicate = &builder->request->predicates[i];
    if (predicate->column == builder->n_table_columns && !type_may_match (predicate, type))
      return FALSE;
  }
  return part->is_paired ||
         delta_file_may_match (builder->range->metadata, part->file, builder->predicates, builder->n_predicates);
}

static gboolean
add_inputs (Builder *builder, GError **error)
{
  for (guint i = 0; i < builder->range->commits->len; i++) {
    const FeedCommit *commit = builder->range->commits->pdata[i];
    if (!commit_may_match (builder, commit))
      continue;
    for (guint j = 0; j < commit->parts->len; j++) {
      const FeedPart *part = &g_array_index (commit->parts, FeedPart, j);
      if (part_may_match (builder, part) && !add_input (builder, commit, part, error))
        return FALSE;
    }
  }
  return TRUE;
}

/* ---- files that are gone ---- */

static gboolean
is_there (FeedRange *range, const FeedPart *part, char **path, GError **error)
{
  *path = delta_table_file_path (range->table, part->file, error);
  return *path != NULL && ((*path)[0] != '/' || access (*path, F_OK) == 0);
}

/* The first version from which on every file of the range is there, for the hint; end + 1 when there is none. */
static DeltaVersion
first_whole_version (FeedRange *range)
{
  for (guint i = range->commits->len; i > 0; i--) {
    const FeedCommit *commit = range->commits->pdata[i - 1];
    for (guint j = 0; j < commit->parts->len; j++) {
      g_autofree char *path = NULL;
      if (!is_there (range, &g_array_index (commit->parts, FeedPart, j), &path, NULL))
        return commit->version + 1;
    }
  }
  return range->start;
}

static gboolean
file_gone (FeedRange *range, const FeedCommit *commit, const FeedPart *part, GError **error)
{
  DeltaVersion whole = first_whole_version (range);
  g_autofree char *version = feed_version_text (commit->version);

  base_error_set (error, SLUICE_ERROR_DELTA_CHANGE_DATA_FILE_NOT_FOUND,
                  "the file %s, which holds changes of version %s of %s, does not exist", delta_file_path (part->file),
                  version, delta_table_location (range->table));
  base_error_add_param (error, "path", delta_file_path (part->file));
  base_error_add_param (error, "version", version);
  if (whole <= range->end) {
    g_autofree char *text = feed_version_text (whole);
    base_error_add_param (error, "firstReadableVersion", text);
    base_error_set_hint (
        error, "VACUUM removed files that older versions need; the feed can be read from version %s on", text);
  } else {
    base_error_set_hint (error, "VACUUM removed files that older versions need; later versions may still be readable");
  }
  return FALSE;
}

static gboolean
check_files (Builder *builder, GError **error)
{
  FeedRange *range = builder->range;

  for (guint i = 0; i < range->commits->len; i++) {
    const FeedCommit *commit = range->commits->pdata[i];
    if (!commit_may_match (builder, commit))
      continue;
    if (!base_cancel_check (builder->cancel, error))
      return FALSE;
    for (guint j = 0; j < commit->parts->len; j++) {
      const FeedPart *part = &g_array_index (commit->parts, FeedPart, j);
      g_autofree char *path = NULL;
      if (!part_may_match (builder, part) || is_there (range, part, &path, error))
        continue;
      return path != NULL && file_gone (range, commit, part, error);
    }
  }
  return TRUE;
}

/* ---- text ---- */

static gboolean
append_segment (Builder *builder, const Segment *segment, const BaseType *const types[FEED_N_COLUMNS], GString *sql,
                GError **error)
{
  DeltaScanHidden hidden = { FEED_CHANGE_TYPE, types[0], builder->type_name };
  DeltaScanValue values[FEED_N_COLUMNS];
  DeltaScanRequest request = { .columns = builder->columns,
                               .n_columns = builder->n_columns,
                               .hidden = &hidden,
                               .n_hidden = segment->is_derived ? 0 : 1,
                               .values = values,
                               .inputs = (const DeltaScanInput *) segment->inputs->data,
                               .n_inputs = segment->inputs->len,
                               .explicit_inputs = TRUE,
                               .file_index_name = builder->request->ordered ? FILE_NAME : NULL,
                               .row_number_name = builder->request->ordered ? PLACE_NAME : NULL,
                               .metadata = builder->range->metadata };
  DeltaScan *scan;

  /* In the order of the texts of an input. */
  values[request.n_values++] = (DeltaScanValue){ types[1], builder->version_name };
  values[request.n_values++] = (DeltaScanValue){ types[2], builder->timestamp_name };
  if (segment->is_derived)
    values[request.n_values++] = (DeltaScanValue){ types[0], builder->type_name };
  scan = delta_scan_new (builder->range->snapshot, &request, builder->cancel, error);
  if (scan == NULL)
    return FALSE;
  g_ptr_array_add (builder->scan->scans, scan);
  builder->scan->n_files += delta_scan_n_files (scan);
  g_string_append (sql, sql->len > 0 ? " UNION ALL BY NAME " : "");
  g_string_append (sql, delta_scan_sql (scan));
  return TRUE;
}

static gboolean
append_segments (Builder *builder, GString *sql, GError **error)
{
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  g_autoptr (BaseType) number = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (BaseType) instant = base_type_simple (BASE_TYPE_TIMESTAMP);
  const BaseType *const types[FEED_N_COLUMNS] = { text, number, instant };
  Segment none = { .is_derived = TRUE };

  if (builder->segments->len == 0) {
    none.inputs = g_array_new (FALSE, TRUE, sizeof (DeltaScanInput));
    gboolean good = append_segment (builder, &none, types, sql, error);
    g_array_unref (none.inputs);
    return good;
  }
  for (guint i = 0; i < builder->segments->len; i++)
    if (!append_segment (builder, builder->segments->pdata[i], types, sql, error))
      return FALSE;
  return TRUE;
}

/* The asked columns in the asked order over the segments. */
static char *
wrap (const Builder *builder, const char *segments)
{
  GString *sql = g_string_new ("SELECT ");

  for (guint i = 0; i < builder->request->n_columns; i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    base_text_append_sql_identifier (sql, builder->request->columns[i].name);
  }
  if (builder->request->n_columns == 0)
    base_text_append_sql_identifier (sql, builder->version_name);
  g_string_append_printf (sql, " FROM (%s)", segments);
  if (builder->request->ordered) {
    g_string_append (sql, " ORDER BY ");
    base_text_append_sql_identifier (sql, builder->version_name);
    g_string_append (sql, ", " FILE_NAME ", " PLACE_NAME);
  }
  return g_string_free (sql, FALSE);
}

/* Splits the asked columns into those of the table and the three; a name not asked for is one that no caller uses. */
static void
split_columns (Builder *builder)
{
  const FeedScanRequest *request = builder->request;

  builder->type_name = OWN_NAME FEED_CHANGE_TYPE;
  builder->version_name = OWN_NAME FEED_COMMIT_VERSION;
  builder->timestamp_name = OWN_NAME FEED_COMMIT_TIMESTAMP;
  for (guint i = 0; i < request->n_columns; i++) {
    DeltaScanColumn column = request->columns[i];
    if (column.column < builder->n_table_columns)
      builder->columns[builder->n_columns++] = column;
    else if (column.column == builder->n_table_columns)
      builder->type_name = column.name;
    else if (column.column == builder->n_table_columns + 1)
      builder->version_name = column.name;
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

  g_atomic_ref_count_init (&scan->references);
  scan->scans = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_scan_unref);
  builder->scan = scan;
  if (!check_files (builder, error) || !add_inputs (builder, error) || !append_segments (builder, sql, error))
    return NULL;
  scan->sql = wrap (builder, sql->str);
  return g_steal_pointer (&scan);
}

FeedScan *
feed_scan_new (FeedRange *range, const FeedScanRequest *request, BaseCancel *cancel, GError **error)
{
  g_autofree DeltaScanColumn *columns = g_new0 (DeltaScanColumn, request->n_columns + 1);
  g_autofree DeltaPredicate *predicates = g_new0 (DeltaPredicate, request->n_predicates + 1);
  g_autoptr (GPtrArray) segments = g_ptr_array_new_with_free_func (segment_free);
  Builder builder = { .range = range,
                      .request = request,
                      .cancel = cancel,
                      .n_table_columns = base_type_n_fields (range->schema) - FEED_N_COLUMNS,
                      .predicates = predicates,
                      .columns = columns,
                      .segments = segments };
  FeedScan *scan;

  split_columns (&builder);
  scan = build (&builder, error);
  if (scan == NULL)
    base_error_add_context (error, "reading the change feed of %s", delta_table_location (range->table));
  return scan;
}

/* Which files cannot hold a row that a query wants.
 *
 * Answers are three-valued: a file is left out only when a predicate is certainly not true for each of its live rows. What is
 * unknown (no statistics, a bound that does not parse, a type without order) keeps the file.
 *
 * What bounds may not be trusted for:
 *   strings     a maximum may be cut off: a constant that begins with it may still lie below the true maximum
 *   timestamps  are cut to milliseconds by some writers: bounds are widened by one
 *   doubles     that were FLOAT once: the shortest text of a float is not its value as a double
 *   floats      writers leave NaN out of bounds, and Spark sorts NaN above all numbers: a maximum says nothing about `>`
 *   null counts with deletion vectors mean something only at 0 and at the number of rows
 */
#include "delta-file-private.h"
#include "delta-scan.h"
#include "delta-value-private.h"
#include "delta-widening.h"

#include <math.h>
#include <string.h>

#define MILLISECOND_US 1000

/* What the statistics of one file say of one column. */
typedef struct {
  gint64 n_records;  /* -1 = unknown */
  gint64 null_count; /* -1 = unknown */
  gboolean has_min, has_max;
  DeltaValue min, max;
  char *min_text, *max_text; /* own the values' text */
} ColumnStats;

static void
column_stats_clear (ColumnStats *stats)
{
  g_free (stats->min_text);
  g_free (stats->max_text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ColumnStats, column_stats_clear)

/* Moves @json (before an object) to the value of @name inside; FALSE when it is not there. */
static gboolean
find_member (DeltaJson *json, const char *name)
{
  DeltaJsonSlice key;
  gboolean first = TRUE;

  if (delta_json_peek (json) != DELTA_JSON_OBJECT || !delta_json_enter_object (json))
    return FALSE;
  while (delta_json_next_key (json, &first, &key)) {
    g_autofree char *unescaped = key.escaped ? delta_json_unescape (&key, NULL) : NULL;
    if (unescaped != NULL ? strcmp (unescaped, name) == 0 : delta_json_is (&key, name, strlen (name)))
      return TRUE;
    if (!delta_json_skip (json, NULL))
      return FALSE;
  }
  return FALSE;
}

static gboolean
read_bound (DeltaJson json, const char *name, const BaseType *type, DeltaValue *value, char **text)
{
  DeltaJsonSlice slice;
  gsize size;

  g_clear_pointer (text, g_free); /* the bounds may stand there twice: the last ones count */
  if (!find_member (&json, name))
    return FALSE;
  switch (delta_json_peek (&json)) {
  case DELTA_JSON_STRING:
    if (!delta_json_string (&json, &slice))
      return FALSE;
    *text = delta_json_unescape (&slice, &size);
    break;
  case DELTA_JSON_NUMBER:
    if (base_type_kind (type) == BASE_TYPE_STRING || !delta_json_number (&json, &slice))
      return FALSE;
    size = slice.size;
    *text = g_strndup (slice.start, size);
    break;
  default:
    return FALSE;
  }
  return delta_value_parse (type, *text, size, value) && !value->is_null;
}

static void
read_stats (DeltaFile *file, const char *name, const BaseField *field, ColumnStats *stats)
{
  const BaseType *type = field->type;
  const char *text = delta_file_stats (file);
  DeltaJson json;
  DeltaJsonSlice key;
  gboolean first = TRUE;

  *stats = (ColumnStats){ .n_records = -1, .null_count = -1 };
  if (text == NULL)
    return;
  json = delta_json (text, strlen (text));
  if (!delta_json_enter_object (&json))
    return;
  while (delta_json_next_key (&json, &first, &key)) {
    DeltaJson value = json;
    if (DELTA_JSON_IS (&key, "numRecords") && delta_json_peek (&value) == DELTA_JSON_NUMBER)
      (void) delta_json_int64 (&value, &stats->n_records); /* stays unknown when it is no number */
    else if (DELTA_JSON_IS (&key, "minValues"))
      stats->has_min = read_bound (value, name, type, &stats->min, &stats->min_text);
    else if (DELTA_JSON_IS (&key, "maxValues"))
      stats->has_max = read_bound (value, name, type, &stats->max, &stats->max_text);
    else if (DELTA_JSON_IS (&key, "nullCount") && find_member (&value, name) &&
             delta_json_peek (&value) == DELTA_JSON_NUMBER)
      (void) delta_json_int64 (&value, &stats->null_count); /* stays unknown when it is no number */
    if (!delta_json_skip (&json, NULL))
      return;
  }
  if (base_type_kind (type) == BASE_TYPE_TIMESTAMP || base_type_kind (type) == BASE_TYPE_TIMESTAMP_NTZ) {
    stats->min.integer -= MILLISECOND_US;
    stats->max.integer += MILLISECOND_US;
  } else if (base_type_kind (type) == BASE_TYPE_DOUBLE && delta_field_was_float (field)) {
    stats->min.real = MIN (stats->min.real, (double) (float) stats->min.real);
    stats->max.real = MAX (stats->max.real, (double) (float) stats->max.real);
  }
}

static gboolean
is_real (const BaseType *type)
{
  return base_type_kind (type) == BASE_TYPE_FLOAT || base_type_kind (type) == BASE_TYPE_DOUBLE;
}

/* Certainly constant > every value that is not NaN. */
static gboolean
above_all (const BaseType *type, const ColumnStats *stats, const DeltaValue *constant)
{
  if (!stats->has_max || delta_value_compare (type, constant, &stats->max) <= 0)
    return FALSE;
  if (base_type_kind (type) == BASE_TYPE_STRING && constant->text_bytes >= stats->max.text_bytes &&
      memcmp (constant->text, stats->max.text, stats->max.text_bytes) == 0)
    return FALSE;
  return TRUE;
}

static gboolean
below_all (const BaseType *type, const ColumnStats *stats, const DeltaValue *constant)
{
  return stats->has_min && delta_value_compare (type, constant, &stats->min) < 0;
}

static gboolean
stats_may_match (const BaseType *type, const ColumnStats *stats, DeltaPredicateOp op, const DeltaValue *constant)
{
  gboolean nan = is_real (type) && isnan (constant->real);

  switch (op) {
  case DELTA_PREDICATE_EQ:
  case DELTA_PREDICATE_IN:
    return nan || (!below_all (type, stats, constant) && !above_all (type, stats, constant));
  case DELTA_PREDICATE_LT:
    return nan || !stats->has_min || delta_value_compare (type, &stats->min, constant) < 0;
  case DELTA_PREDICATE_LE:
    return nan || !stats->has_min || delta_value_compare (type, &stats->min, constant) <= 0;
  case DELTA_PREDICATE_GT:
    /* At the maximum itself a string may be cut off, so only constants certainly above all values skip. */
    if (is_real (type) || !stats->has_max)
      return TRUE;
    if (base_type_kind (type) == BASE_TYPE_STRING)
      return !above_all (type, stats, constant);
    return delta_value_compare (type, &stats->max, constant) > 0;
  case DELTA_PREDICATE_GE:
  case DELTA_PREDICATE_GE_OR_NULL:
    return is_real (type) || !above_all (type, stats, constant);
  case DELTA_PREDICATE_NE:
  case DELTA_PREDICATE_IS_NULL:
  case DELTA_PREDICATE_IS_NOT_NULL:
    return TRUE;
  }
  return TRUE;
}

static gboolean
value_matches (const BaseType *type, const DeltaValue *value, DeltaPredicateOp op, const DeltaValue *constant)
{
  int order = delta_value_compare (type, value, constant);

  switch (op) {
  case DELTA_PREDICATE_EQ:
  case DELTA_PREDICATE_IN:
    return order == 0;
  case DELTA_PREDICATE_NE:
    return order != 0;
  case DELTA_PREDICATE_LT:
    return order < 0;
  case DELTA_PREDICATE_LE:
    return order <= 0;
  case DELTA_PREDICATE_GT:
    return order > 0;
  case DELTA_PREDICATE_GE:
  case DELTA_PREDICATE_GE_OR_NULL:
    return order >= 0;
  case DELTA_PREDICATE_IS_NULL:
  case DELTA_PREDICATE_IS_NOT_NULL:
    return TRUE;
  }
  return TRUE;
}

static gboolean
partition_may_match (const BaseField *field, const char *name, DeltaFile *file, const DeltaPredicate *predicate)
{
  DeltaPartitionValue written;
  DeltaValue value;

  (void) delta_file_find_partition_value (file, name, &written); /* a missing one reads as NULL */
  if (!delta_value_parse (field->type, written.text, written.text_bytes, &value))
    return TRUE;
  if (predicate->op == DELTA_PREDICATE_IS_NULL || predicate->op == DELTA_PREDICATE_IS_NOT_NULL)
    return value.is_null == (predicate->op == DELTA_PREDICATE_IS_NULL);
  if (value.is_null)
    return predicate->op == DELTA_PREDICATE_GE_OR_NULL;
  for (guint i = 0; i < predicate->n_constants; i++) {
    DeltaValue constant;
    if (!delta_value_from_constant (field->type, &predicate->constants[i], &constant) ||
        value_matches (field->type, &value, predicate->op, &constant))
      return TRUE;
  }
  return FALSE;
}

static gboolean
column_may_match (const BaseField *field, const char *name, DeltaFile *file, const DeltaPredicate *predicate)
{
  g_auto (ColumnStats) stats = { 0 };

  read_stats (file, name, field, &stats);
  if (predicate->op == DELTA_PREDICATE_IS_NULL)
    return stats.null_count != 0;
  if (predicate->op == DELTA_PREDICATE_GE_OR_NULL && stats.null_count != 0)
    return TRUE;
  /* Every other predicate is not true for NULL. */
  if (stats.n_records >= 0 && stats.null_count >= stats.n_records)
    return FALSE;
  if (predicate->op == DELTA_PREDICATE_IS_NOT_NULL)
    return TRUE;
  for (guint i = 0; i < predicate->n_constants; i++) {
    DeltaValue constant;
    if (!delta_value_from_constant (field->type, &predicate->constants[i], &constant) ||
        stats_may_match (field->type, &stats, predicate->op, &constant))
      return TRUE;
  }
  return FALSE;
}

gboolean
delta_file_may_match (DeltaMetadata *metadata, DeltaFile *file, const DeltaPredicate *predicates, guint n_predicates)
{
  BaseType *schema = delta_metadata_schema (metadata);
  DeltaMapping mapping = delta_metadata_mapping (metadata);

  for (guint i = 0; i < n_predicates; i++) {
    const DeltaPredicate *predicate = &predicates[i];
    const BaseField *field;
    const char *name;
    gboolean may;
    if (predicate->column >= base_type_n_fields (schema))
      continue;
    field = base_type_field (schema, predicate->column);
    if (base_type_is_nested (field->type))
      continue;
    name = delta_field_physical_name (field, mapping);
    may = delta_metadata_is_partition_column (metadata, predicate->column)
              ? partition_may_match (field, name, file, predicate)
              : column_may_match (field, name, file, predicate);
    if (!may)
      return FALSE;
  }
  return TRUE;
}

/* Identity columns: values for rows that give none, and the highest value made so far.
 *
 * A value is `start + k * step`, beyond the high-water mark and beyond every other value of its statement. The mark that a commit
 * records comes from what was really written: the greatest (least) value in the new files. Files whose rows lack a value are
 * never committed, whoever wrote them.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "delta-metadata.h"
#include "write-private.h"

#include <string.h>

#define START    "delta.identity.start"
#define STEP     "delta.identity.step"
#define MARK     "delta.identity.highWaterMark"
#define EXPLICIT "delta.identity.allowExplicitInsert"

gboolean
write_identity_is (const BaseField *field)
{
  return field->metadata != NULL && json_object_get (field->metadata, START) != NULL;
}

gboolean
write_identity_check_given (const BaseField *field, GError **error)
{
  if (base_json_bool (field->metadata, EXPLICIT, FALSE))
    return TRUE;
  base_error_set (error, SLUICE_ERROR_DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED,
                  "Providing values for GENERATED ALWAYS AS IDENTITY column %s is not supported.", field->name);
  base_error_add_param (error, "colName", field->name);
  return FALSE;
}

/* The value before the next one: the least start + k * step that is not below the mark, k ≥ -1. */
static gboolean
last_value (const BaseField *field, gint64 step, gint64 *last)
{
  gint64 start = base_json_int64 (field->metadata, START, 1);
  json_t *mark = json_object_get (field->metadata, MARK);
  if (!json_is_integer (mark))
    return !__builtin_sub_overflow (start, step, last);
  __int128 distance = ((__int128) json_integer_value (mark) - start) * (step > 0 ? 1 : -1);
  __int128 size = step > 0 ? step : -(__int128) step;
  __int128 k = distance < 0 ? -1 : (distance + size - 1) / size;
  __int128 value = start + k * (__int128) step;
  *last = (gint64) value;
  return value >= G_MININT64 && value <= G_MAXINT64;
}

char *
write_identity_expression (const BaseField *field, GError **error)
{
  gint64 step = base_json_int64 (field->metadata, STEP, 1);
  gint64 last = 0;
  if (base_type_kind (field->type) != BASE_TYPE_LONG || step == 0 || !last_value (field, step, &last)) {
    base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_OPERATION,
                    "the identity column `%s` has no next value: its type must be BIGINT, its step not 0, and its last "
                    "value must leave room",
                    field->name);
    return NULL;
  }
  /* The least value cannot be written as a literal; ANSI arithmetic refuses what overflows. */
  return g_strdup_printf ("CAST('%" G_GINT64_FORMAT "' AS BIGINT) + CAST('%" G_GINT64_FORMAT
                          "' AS BIGINT) * CAST(row_number() OVER (ORDER BY 1) AS BIGINT)",
                          last, step);
}

/* One identity column of a batch. */
typedef struct {
  char *physical;
  gboolean any, lacking;
  gint64 least, greatest;
} Seen;

static void
seen_free (gpointer data)
{
  Seen *seen = data;
  g_free (seen->physical);
  g_free (seen);
}

static Seen *
seen_of (WriteBatch *batch, const char *physical)
{
  if (batch->identities == NULL)
    batch->identities = g_ptr_array_new_with_free_func (seen_free);
  for (guint i = 0; i < batch->identities->len; i++) {
    Seen *seen = batch->identities->pdata[i];
    if (g_str_equal (seen->physical, physical))
      return seen;
  }
  Seen *seen = g_new0 (Seen, 1);
  seen->physical = g_strdup (physical);
  g_ptr_array_add (batch->identities, seen);
  return seen;
}

void
write_identity_note (WriteBatch *batch, const DuckCopyFile *file)
{
  DeltaMetadata *metadata = write_layout_metadata (batch->layout);
  for (guint i = 0; i < write_layout_n_columns (batch->layout) && file->n_rows > 0; i++) {
    const WriteColumn *column = write_layout_column (batch->layout, i);
    if (!write_identity_is (column->field))
      continue;
    const char *physical = delta_field_physical_name (column->field, delta_metadata_mapping (metadata));
    const char *path[] = { physical, NULL };
    const DuckColumnStats *stats = column->partition ? NULL : duck_copy_file_column (file, path);
    Seen *seen = seen_of (batch, physical);
    gint64 least, greatest;
    if (stats == NULL || stats->null_count != 0 || stats->min == NULL || stats->max == NULL ||
        !base_text_parse_int64 (stats->min, &least) || !base_text_parse_int64 (stats->max, &greatest)) {
      seen->lacking = TRUE;
      continue;
    }
    seen->least = seen->any ? MIN (seen->least, least) : least;
    seen->greatest = seen->any ? MAX (seen->greatest, greatest) : greatest;
    seen->any = TRUE;
  }
}

/* The metadata of @field after the batch; NULL when nothing changes. Returns: (transfer full). */
static json_t *
moved_mark (WriteBatch *batch, const BaseField *field, DeltaMapping mapping)
{
  const char *physical = delta_field_physical_name (field, mapping);
  gboolean up = base_json_int64 (field->metadata, STEP, 1) > 0;
  json_t *mark = json_object_get (field->metadata, MARK);
  for (guint i = 0; i < batch->identities->len; i++) {
    const Seen *seen = batch->identities->pdata[i];
    gint64 reached = up ? seen->greatest : seen->least;
    if (!g_str_equal (seen->physical, physical) || !seen->any)
      continue;
    if (json_is_integer (mark) && (up ? reached <= json_integer_value (mark) : reached >= json_integer_value (mark)))
      return NULL;
    json_t *changed = json_deep_copy (field->metadata);
    json_object_set_new (changed, MARK, json_integer (reached));
    return changed;
  }
  return NULL;
}

gboolean
write_identity_settle (WriteBatch *batch, GError **error)
{
  if (batch->identities == NULL)
    return TRUE;
  for (guint i = 0; i < batch->identities->len; i++) {
    const Seen *seen = batch->identities->pdata[i];
    if (seen->lacking)
      return base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_FEATURES_FOR_WRITE,
                             "the table %s has identity columns, and this statement makes no values for `%s`: "
                             "identityColumns",
                             delta_table_location (batch->table), seen->physical);
  }
  DeltaMetadata *metadata = delta_transaction_metadata (batch->transaction);
  BaseType *schema = delta_metadata_schema (metadata);
  gboolean any = FALSE;
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  for (guint i = 0; i < base_type_n_fields (schema); i++) {
    const BaseField *field = base_type_field (schema, i);
    g_autoptr (json_t) moved =
        write_identity_is (field) ? moved_mark (batch, field, delta_metadata_mapping (metadata)) : NULL;
    any = any || moved != NULL;
    base_struct_builder_add (builder, field->name, field->type, field->nullable,
                             moved != NULL ? moved : field->metadata);
  }
  if (!any)
    return TRUE;
  g_autoptr (BaseType) with_marks = base_struct_builder_end (g_steal_pointer (&builder));
  g_autoptr (DeltaMetadata) changed = delta_metadata_with_schema (metadata, with_marks);
  delta_transaction_set_metadata (batch->transaction, changed);
  return TRUE;
}

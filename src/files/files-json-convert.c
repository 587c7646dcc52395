/* JSON text into typed columns: see files-json-convert-private.h.
 *
 * Per record: scan once (well-formed?), collect the span of every field (a name given twice: the last wins), convert each span to
 * its column's type. What does not fit makes the field NULL and goes, as it was written, into the rescued object; a misfit inside an
 * array or map rescues the whole top-level array or map of that struct. Invariants:
 * 1. Every field of every row is written, or made NULL, exactly once.
 * 2. A value is stored only if nothing of it is lost: 1.5 and "12" are no BIGINT, 300 is no TINYINT.
 */
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "duck-kernel.h"
#include "files-json-convert-private.h"
#include "files-json-private.h"
#include "files-packed-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Field Field;
struct Field {
  char *name;
  gsize name_size;
  char *folded;
  char *json_name; /* with JSON's escapes, without quotes */
  DuckKind kind;
  guint8 width, scale;
  gboolean strings_only;
  guint n_children; /* STRUCT: fields; LIST: element; MAP: key, value */
  Field *children;
};

typedef struct {
  Field root; /* STRUCT of the schema's fields, or no children */
  guint mode; /* FilesJsonMode */
} Converter;

/* What one call of the kernel works with. */
typedef struct {
  const Converter *converter;
  GArray *spans;   /* of Found: a stack, one frame per open struct */
  GString *buffer; /* decoded strings */
  GString *rescued;
  const char *unknown; /* first unknown field's name, for the error */
  gsize unknown_size;
  const FilesJsonSpan *path; /* of the record's file */
} Work;

typedef struct {
  FilesJsonSpan value;
  FilesJsonKind kind;
  gboolean present;
} Found;

/* ---- the plan, from the kernel's result type ---- */

static void
field_clear (Field *field)
{
  for (guint i = 0; i < field->n_children; i++)
    field_clear (&field->children[i]);
  g_free (field->children);
  g_free (field->name);
  g_free (field->folded);
  g_free (field->json_name);
}

static void
field_init (Field *field, const char *name, const DuckType *type)
{
  field->name = g_strdup (name);
  field->name_size = strlen (name);
  field->folded = base_text_folded (name);
  g_autoptr (GString) quoted = g_string_new (NULL);
  base_json_append_string (quoted, name, strlen (name));
  field->json_name = g_strndup (quoted->str + 1, quoted->len - 2);
  field->kind = duck_type_kind (type);
  field->width = (guint8) duck_type_width (type);
  field->scale = (guint8) duck_type_scale (type);
  field->n_children = duck_type_n_children (type);
  field->children = g_new0 (Field, field->n_children);
  for (guint i = 0; i < field->n_children; i++) {
    const char *child_name = field->kind == DUCK_KIND_STRUCT ? duck_type_child_name (type, i) : "";
    field_init (&field->children[i], child_name, duck_type_child (type, i));
  }
}

static void
converter_free (gpointer data)
{
  Converter *converter = data;

  field_clear (&converter->root);
  g_free (converter);
}

static gboolean
converter_bind (const DuckKernelBind *bind, G_GNUC_UNUSED gpointer user_data, gpointer *bind_data, GError **error)
{
  g_autofree char *options = NULL;

  if (!duck_kernel_bind_constant (bind, 2, &options) || options == NULL)
    return base_error_set (error, SLUICE_ERROR_INTERNAL_ERROR, "sluice_json_row needs constant options");
  Converter *converter = g_new0 (Converter, 1);
  const DuckType *fields = duck_type_child (duck_kernel_bind_result_type (bind), 0);
  field_init (&converter->root, "", fields);
  if (converter->root.kind != DUCK_KIND_STRUCT)
    converter->root.kind = DUCK_KIND_STRUCT; /* a schema without fields: no children */
  char *rest = NULL;
  converter->mode = (guint) strtoul (options, &rest, 10);
  while (*rest != '\0') {
    gulong index = strtoul (rest + 1, &rest, 10);
    if (index < converter->root.n_children)
      converter->root.children[index].strings_only = TRUE;
  }
  *bind_data = converter;
  return TRUE;
}

/* ---- scalars ---- */

static gboolean
parse_int64 (const FilesJsonSpan *digits, gint64 *value)
{
  gboolean negative = *digits->at == '-';
  guint64 magnitude = 0;
  guint64 limit = negative ? (guint64) G_MAXINT64 + 1 : (guint64) G_MAXINT64;

  for (const char *p = digits->at + negative; p < digits->end; p++) {
    if (__builtin_mul_overflow (magnitude, 10, &magnitude) ||
        __builtin_add_overflow (magnitude, (guint64) (*p - '0'), &magnitude) || magnitude > limit)
      return FALSE;
  }
  *value = negative ? (gint64) (0 - magnitude) : (gint64) magnitude;
  return TRUE;
}

static gboolean
put_integer (DuckVector *vector, guint64 row, const FilesJsonSpan *digits)
{
  gint64 value;

  if (!parse_int64 (digits, &value))
    return FALSE;
  gint64 highest = vector->bytes == 8 ? G_MAXINT64 : (G_GINT64_CONSTANT (1) << (vector->bytes * 8 - 1)) - 1;
  if (value > highest || value < -highest - 1)
    return FALSE;
  duck_vector_set_int128 (vector, row, value);
  return TRUE;
}

static gboolean
put_double (DuckVector *vector, guint64 row, const FilesJsonSpan *number)
{
  char text[400];
  gsize size = (gsize) (number->end - number->at);

  if (size >= sizeof text)
    return FALSE;
  memcpy (text, number->at, size);
  text[size] = '\0';
  double value = g_ascii_strtod (text, NULL);
  if (vector->kind == DUCK_KIND_FLOAT)
    duck_vector_set (vector, float, row, (float) value);
  else
    duck_vector_set (vector, double, row, value);
  return TRUE;
}

/* Splits a number into digits and a decimal exponent: `-12.50e1` is -1250 × 10^-1. */
static gboolean
parse_decimal (const FilesJsonSpan *number, DuckInt128 *unscaled, gint64 *exponent)
{
  const char *p = number->at;
  gboolean negative = *p == '-';
  gboolean fraction = FALSE;
  DuckInt128 value = 0;

  *exponent = 0;
  for (p += negative; p < number->end && (g_ascii_isdigit (*p) || *p == '.'); p++) {
    if (*p == '.') {
      fraction = TRUE;
      continue;
    }
    if (__builtin_mul_overflow (value, (DuckInt128) 10, &value) || __builtin_add_overflow (value, *p - '0', &value))
      return FALSE;
    *exponent -= fraction;
  }
  if (p < number->end && (*p == 'e' || *p == 'E')) {
    FilesJsonSpan rest = { p[1] == '+' ? p + 2 : p + 1, number->end };
    gint64 shift;
    if (!parse_int64 (&rest, &shift) || shift > 1000 || shift < -1000)
      return FALSE;
    *exponent += shift;
  } else if (p < number->end) {
    return FALSE; /* NaN, Infinity */
  }
  *unscaled = negative ? -value : value;
  return TRUE;
}

/* Digits beyond the scale are rounded half up, as Spark's reader does; more digits than the width do not fit. */
static gboolean
put_decimal (const Field *field, DuckVector *vector, guint64 row, const FilesJsonSpan *number)
{
  DuckInt128 value, limit = 1;
  gint64 exponent;

  if (!parse_decimal (number, &value, &exponent))
    return FALSE;
  for (gint64 shift = exponent + field->scale; shift > 0 && value != 0; shift--)
    if (__builtin_mul_overflow (value, (DuckInt128) 10, &value))
      return FALSE;
  for (gint64 shift = exponent + field->scale; shift < 0 && value != 0; shift++) {
    gboolean last = shift == -1;
    DuckInt128 digit = value % 10;
    value /= 10;
    if (last && (digit >= 5 || digit <= -5))
      value += digit > 0 ? 1 : -1;
  }
  for (guint i = 0; i < field->width; i++)
    limit *= 10;
  if (value >= limit || value <= -limit)
    return FALSE;
  duck_vector_set_int128 (vector, row, value);
  return TRUE;
}

static gboolean
put_text (Work *work, const Field *field, DuckVector *vector, guint64 row, const Found *found)
{
  gboolean is_nested = found->kind == FILES_JSON_ARRAY || found->kind == FILES_JSON_OBJECT;
  gsize size = (gsize) (found->value.end - found->value.at);

  if (found->kind != FILES_JSON_STRING) {
    if (field->strings_only || (is_nested && !(work->converter->mode & FILES_JSON_NESTED_AS_TEXT)))
      return FALSE;
    duck_vector_set_string (vector, row, found->value.at, size);
    return TRUE;
  }
  if (!files_json_has_escape (&found->value)) {
    duck_vector_set_string (vector, row, found->value.at, size);
    return TRUE;
  }
  files_json_decode (&found->value, work->buffer);
  duck_vector_set_string (vector, row, work->buffer->str, work->buffer->len);
  return TRUE;
}

/* BINARY is base64 text, as in Spark. */
static gboolean
put_blob (Work *work, DuckVector *vector, guint64 row, const Found *found)
{
  if (found->kind != FILES_JSON_STRING)
    return FALSE;
  files_json_decode (&found->value, work->buffer);
  if (work->buffer->len % 4 != 0)
    return FALSE;
  for (gsize i = 0; i < work->buffer->len; i++)
    if (!g_ascii_isalnum (work->buffer->str[i]) && strchr ("+/=", work->buffer->str[i]) == NULL)
      return FALSE;
  gsize size;
  g_autofree guchar *bytes = g_base64_decode (work->buffer->str, &size);
  duck_vector_set_string (vector, row, (const char *) bytes, size);
  return TRUE;
}

/* ---- values ---- */

static void put_struct (Work *work, const Field *field, DuckVector *children, guint64 row, const FilesJsonSpan *object,
                        GString **rescued);

static gboolean put_value (Work *work, const Field *field, DuckVector *vector, guint64 row, const Found *found,
                           GString **rescued);

static guint64
count_items (const FilesJsonSpan *container, gboolean is_object)
{
  FilesJsonSpan cursor = files_json_enter (container);
  FilesJsonSpan name, value;
  FilesJsonKind kind;
  guint64 n = 0;

  while (is_object ? files_json_next_member (&cursor, &name, &kind, &value)
                   : files_json_next_element (&cursor, &kind, &value))
    n++;
  return n;
}

/* An element of a list or map: a misfit anywhere below spoils the whole, so nothing is rescued piecemeal. */
static gboolean
put_element (Work *work, const Field *field, DuckVector *vector, guint64 row, const Found *found)
{
  GString *rescued = NULL;
  gboolean fits = put_value (work, field, vector, row, found, &rescued) && rescued == NULL;

  if (rescued != NULL)
    g_string_free (rescued, TRUE);
  return fits;
}

static gboolean
put_list (Work *work, const Field *field, DuckVector *vector, guint64 row, const FilesJsonSpan *array)
{
  FilesJsonSpan cursor = files_json_enter (array);
  guint64 item = duck_vector_set_list (vector, row, count_items (array, FALSE));
  Found found = { .present = TRUE };
  gboolean fits = TRUE;

  while (files_json_next_element (&cursor, &found.kind, &found.value)) {
    if (!fits || !put_element (work, &field->children[0], &vector->children[0], item, &found)) {
      duck_vector_set_null (&vector->children[0], item);
      fits = FALSE;
    }
    item++;
  }
  return fits;
}

/* Keys of a JSON object are strings; a key given twice would be two entries, which a map cannot hold. */
static gboolean
put_map (Work *work, const Field *field, DuckVector *vector, guint64 row, const FilesJsonSpan *object)
{
  FilesJsonSpan cursor = files_json_enter (object);
  guint64 item = duck_vector_set_list (vector, row, count_items (object, TRUE));
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  FilesJsonSpan name;
  Found found = { .present = TRUE };
  gboolean fits = field->children[0].kind == DUCK_KIND_VARCHAR;

  while (files_json_next_member (&cursor, &name, &found.kind, &found.value)) {
    files_json_decode (&name, work->buffer);
    duck_vector_set_string (&vector->children[0], item, work->buffer->str, work->buffer->len);
    fits = g_hash_table_add (seen, g_strdup (work->buffer->str)) && fits;
    if (!fits || !put_element (work, &field->children[1], &vector->children[1], item, &found)) {
      duck_vector_set_null (&vector->children[1], item);
      fits = FALSE;
    }
    item++;
  }
  return fits;
}

static gboolean
is_bare_number (FilesJsonKind kind)
{
  return kind == FILES_JSON_INTEGER || kind == FILES_JSON_NUMBER;
}

/* FALSE: the value does not fit and the row is not written. */
static gboolean
put_value (Work *work, const Field *field, DuckVector *vector, guint64 row, const Found *found, GString **rescued)
{
  if (found->kind == FILES_JSON_NULL) {
    duck_vector_set_null (vector, row);
    return TRUE;
  }
  switch (field->kind) {
  case DUCK_KIND_BOOLEAN:
    if (found->kind != FILES_JSON_TRUE && found->kind != FILES_JSON_FALSE)
      return FALSE;
    duck_vector_set (vector, guint8, row, found->kind == FILES_JSON_TRUE);
    return TRUE;
  case DUCK_KIND_TINYINT:
  case DUCK_KIND_SMALLINT:
  case DUCK_KIND_INTEGER:
  case DUCK_KIND_BIGINT:
    return found->kind == FILES_JSON_INTEGER && put_integer (vector, row, &found->value);
  case DUCK_KIND_FLOAT:
  case DUCK_KIND_DOUBLE:
    return is_bare_number (found->kind) && put_double (vector, row, &found->value);
  case DUCK_KIND_DECIMAL:
    return is_bare_number (found->kind) && put_decimal (field, vector, row, &found->value);
  case DUCK_KIND_VARCHAR:
    return put_text (work, field, vector, row, found);
  case DUCK_KIND_BLOB:
    return put_blob (work, vector, row, found);
  case DUCK_KIND_LIST:
    return found->kind == FILES_JSON_ARRAY && put_list (work, field, vector, row, &found->value);
  case DUCK_KIND_MAP:
    return found->kind == FILES_JSON_OBJECT && put_map (work, field, vector, row, &found->value);
  case DUCK_KIND_STRUCT:
    if (found->kind != FILES_JSON_OBJECT)
      return FALSE;
    put_struct (work, field, vector->children, row, &found->value, rescued);
    return TRUE;
  default:
    return FALSE;
  }
}

/* ---- structs ---- */

/* Which field has this name? @expected is where it stood in the last record: nearly always the answer. -1 none, -2 another case. */
static int
find_field (const Work *work, const Field *parent, const FilesJsonSpan *name, guint expected)
{
  gsize size = (gsize) (name->end - name->at);

  if (expected < parent->n_children && parent->children[expected].name_size == size &&
      memcmp (parent->children[expected].name, name->at, size) == 0)
    return (int) expected;
  for (guint i = 0; i < parent->n_children; i++)
    if (parent->children[i].name_size == size && memcmp (parent->children[i].name, name->at, size) == 0)
      return (int) i;
  g_autofree char *text = g_strndup (name->at, size);
  g_autofree char *folded = base_text_folded (text);
  for (guint i = 0; i < parent->n_children; i++)
    if (strcmp (parent->children[i].folded, folded) == 0)
      return work->converter->mode & FILES_JSON_IGNORE_CASE ? (int) i : -2;
  return -1;
}

/* The span of a value with the quotes of a string. */
static FilesJsonSpan
whole_value (const Found *found)
{
  FilesJsonSpan span = found->value;

  if (found->kind == FILES_JSON_STRING) {
    span.at--;
    span.end++;
  }
  return span;
}

static void
rescue_member (GString **rescued, const char *name, gsize name_size, const char *value, gsize value_size)
{
  if (*rescued == NULL)
    *rescued = g_string_new (NULL);
  else if ((*rescued)->len > 0)
    g_string_append_c (*rescued, ',');
  g_string_append_c (*rescued, '"');
  g_string_append_len (*rescued, name, (gssize) name_size);
  g_string_append (*rescued, "\":");
  g_string_append_len (*rescued, value, (gssize) value_size);
}

static void
rescue_found (GString **rescued, const FilesJsonSpan *raw_name, const Found *found)
{
  FilesJsonSpan value = whole_value (found);

  rescue_member (rescued, raw_name->at, (gsize) (raw_name->end - raw_name->at), value.at,
                 (gsize) (value.end - value.at));
}

/* First pass over an object: where every field's value stands; members that the schema lacks are rescued or noted. */
static void
collect_members (Work *work, const Field *field, guint frame, const FilesJsonSpan *object, GString **rescued)
{
  FilesJsonSpan cursor = files_json_enter (object);
  FilesJsonSpan raw_name;
  Found found = { .present = TRUE };
  guint expected = 0;

  while (files_json_next_member (&cursor, &raw_name, &found.kind, &found.value)) {
    FilesJsonSpan name = raw_name;
    if (files_json_has_escape (&raw_name)) {
      files_json_decode (&raw_name, work->buffer);
      name = (FilesJsonSpan){ work->buffer->str, work->buffer->str + work->buffer->len };
    }
    int index = find_field (work, field, &name, expected);
    if (index >= 0) {
      g_array_index (work->spans, Found, frame + (guint) index) = found;
      expected = (guint) index + 1;
      continue;
    }
    if (index == -1 && (work->converter->mode & FILES_JSON_FAIL_UNKNOWN) && work->unknown == NULL) {
      work->unknown = raw_name.at;
      work->unknown_size = (gsize) (raw_name.end - raw_name.at);
    }
    if (work->converter->mode & FILES_JSON_RESCUE)
      rescue_found (rescued, &raw_name, &found);
  }
}

static void
put_struct (Work *work, const Field *field, DuckVector *children, guint64 row, const FilesJsonSpan *object,
            GString **rescued)
{
  guint frame = work->spans->len;

  g_array_set_size (work->spans, frame + field->n_children); /* cleared: present = FALSE */
  collect_members (work, field, frame, object, rescued);
  for (guint i = 0; i < field->n_children; i++) {
    const Field *child = &field->children[i];
    Found found = g_array_index (work->spans, Found, frame + i);
    GString *inner = NULL;
    if (!found.present) {
      duck_vector_set_null (&children[i], row);
      continue;
    }
    if (!put_value (work, child, &children[i], row, &found, &inner)) {
      duck_vector_set_null (&children[i], row);
      if (inner != NULL)
        g_string_free (inner, TRUE);
      FilesJsonSpan value = whole_value (&found);
      if (work->converter->mode & FILES_JSON_RESCUE)
        rescue_member (rescued, child->json_name, strlen (child->json_name), value.at, (gsize) (value.end - value.at));
    } else if (inner != NULL) {
      g_autofree char *members = g_string_free (inner, FALSE);
      g_autofree char *nested = g_strconcat ("{", members, "}", NULL);
      rescue_member (rescued, child->json_name, strlen (child->json_name), nested, strlen (nested));
    }
  }
  g_array_set_size (work->spans, frame);
}

/* ---- the kernel ---- */

static void
finish_rescued (GString *members, const char *path, gsize path_size, DuckVector *vector, guint64 row)
{
  g_string_prepend_c (members, '{');
  g_string_append (members, ",\"_file_path\":");
  base_json_append_string (members, path, path_size);
  g_string_append_c (members, '}');
  duck_vector_set_string (vector, row, members->str, members->len);
}

static gboolean
put_malformed (Work *work, DuckVector *fields, const FilesJsonSpan *record, guint64 row, GString **rescued,
               gboolean *dropped, GError **error)
{
  const Converter *converter = work->converter;
  gsize size = (gsize) (record->end - record->at);
  guint n_plain = converter->root.n_children;

  if (converter->mode & FILES_JSON_FAIL_MALFORMED) {
    g_autofree char *shown = g_utf8_make_valid (record->at, (gssize) MIN (size, 200));

    base_error_set (error, SLUICE_ERROR_MALFORMED_RECORD_IN_PARSING_WITHOUT_SUGGESTION,
                    "Malformed records are detected in record parsing: %s", shown);
    base_error_add_context (error, "reading %.*s", (int) (work->path->end - work->path->at), work->path->at);
    return FALSE;
  }
  if (converter->mode & FILES_JSON_DROP_MALFORMED) {
    *dropped = TRUE;
    return TRUE;
  }
  if (converter->mode & FILES_JSON_CORRUPT_COLUMN) {
    n_plain--;
    duck_vector_set_string (&fields->children[n_plain], row, record->at, size);
  } else if (converter->mode & FILES_JSON_RESCUE) {
    g_autoptr (GString) quoted = g_string_new (NULL);
    base_json_append_string (quoted, record->at, size);
    rescue_member (rescued, "_corrupt_record", strlen ("_corrupt_record"), quoted->str, quoted->len);
  }
  for (guint i = 0; i < n_plain; i++)
    duck_vector_set_null (&fields->children[i], row);
  return TRUE;
}

static gboolean
put_record (Work *work, DuckVector *result, guint64 row, FilesJsonSpan record, const FilesJsonSpan *path,
            GError **error)
{
  DuckVector *fields = &result->children[0];
  FilesJsonSpan cursor = record, value;
  FilesJsonKind kind;
  GString *rescued = NULL;
  gboolean dropped = FALSE;

  files_json_skip_space (&cursor);
  gboolean good = files_json_value (&cursor, &kind, &value) && kind == FILES_JSON_OBJECT;
  files_json_skip_space (&cursor);
  if (good && cursor.at == cursor.end)
    put_struct (work, &work->converter->root, fields->children, row, &value, &rescued);
  else if (!put_malformed (work, fields, &record, row, &rescued, &dropped, error))
    return FALSE;
  if (dropped) {
    duck_vector_set_null (result, row);
    return TRUE;
  }
  if (rescued != NULL) {
    finish_rescued (rescued, path->at, (gsize) (path->end - path->at), &result->children[1], row);
    g_string_free (rescued, TRUE);
  } else {
    duck_vector_set_null (&result->children[1], row);
  }
  return TRUE;
}

static gboolean
json_row (const DuckKernelCall *call, GError **error)
{
  const Converter *converter = call->bind_data;
  g_autoptr (GArray) spans = g_array_new (FALSE, TRUE, sizeof (Found));
  g_autoptr (GString) buffer = g_string_new (NULL);
  Work work = { .converter = converter, .spans = spans, .buffer = buffer };

  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    FilesJsonSpan record, path;
    gsize size;
    record.at = duck_vector_string (&call->args[0], row, &size);
    record.end = record.at + size;
    path.at = duck_vector_string (&call->args[1], row, &size);
    path.end = path.at + size;
    work.path = &path;
    if (!put_record (&work, call->result, row, record, &path, error))
      return FALSE;
    if (converter->root.n_children == 0)
      duck_vector_set_null (&call->result->children[0], row);
    if (work.unknown != NULL) {
      g_autofree char *name = g_strndup (work.unknown, work.unknown_size);
      base_error_set (error, SLUICE_ERROR_UNKNOWN_FIELD_EXCEPTION,
                      "The file %.*s has the field \"%s\", which the schema lacks", (int) (path.end - path.at), path.at,
                      name);
      base_error_add_param (error, "field", name);
      return FALSE;
    }
  }
  return TRUE;
}

/* ---- records of a whole file ---- */

static void
add_record (GArray *records, const char *at, const char *end)
{
  FilesJsonSpan record = { at, end };

  files_json_skip_space (&record);
  while (record.end > record.at && g_ascii_isspace (record.end[-1]))
    record.end--;
  if (record.at < record.end)
    g_array_append_val (records, record);
}

/* One text that should be one record: a well-formed array gives its elements. */
static void
add_text (GArray *records, const char *at, const char *end)
{
  FilesJsonSpan cursor = { at, end }, value;
  FilesJsonKind kind;

  files_json_skip_space (&cursor);
  if (cursor.at < end && *cursor.at == '[' && files_json_value (&cursor, &kind, &value)) {
    files_json_skip_space (&cursor);
    if (cursor.at == end) {
      FilesJsonSpan inside = files_json_enter (&value);
      Found item;
      while (files_json_next_element (&inside, &item.kind, &item.value)) {
        FilesJsonSpan whole = whole_value (&item);
        add_record (records, whole.at, whole.end);
      }
      return;
    }
  }
  add_record (records, at, end);
}

static gboolean
json_records (const DuckKernelCall *call, GError **error)
{
  g_autoptr (GArray) records = g_array_new (FALSE, FALSE, sizeof (FilesJsonSpan));

  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *content = duck_vector_string (&call->args[0], row, &size);
    g_autofree char *valid = files_packed_text (content, size, error);
    if (valid == NULL)
      return FALSE;
    const char *end = valid + strlen (valid);
    g_array_set_size (records, 0);
    if (!duck_vector_bool (&call->args[1], row)) {
      add_text (records, valid, end);
    } else {
      for (const char *line = valid; line < end;) {
        const char *stop = memchr (line, '\n', (gsize) (end - line));
        add_text (records, line, stop != NULL ? stop : end);
        line = stop != NULL ? stop + 1 : end;
      }
    }
    guint64 item = duck_vector_set_list (call->result, row, records->len);
    for (guint i = 0; i < records->len; i++) {
      FilesJsonSpan *record = &g_array_index (records, FilesJsonSpan, i);
      duck_vector_set_string (&call->result->children[0], item + i, record->at, (gsize) (record->end - record->at));
    }
  }
  return TRUE;
}

static gboolean
file_text (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gsize size;
    const char *content = duck_vector_string (&call->args[0], row, &size);
    g_autofree char *text = files_packed_text (content, size, error);
    if (text == NULL)
      return FALSE;
    duck_vector_set_string (call->result, row, text, strlen (text));
  }
  return TRUE;
}

/* ---- one more rescued member ---- */

static gboolean
rescue (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint row = 0; row < call->n_rows; row++) {
    gsize size = 0;
    gboolean has_old = !duck_vector_is_null (&call->args[0], row);
    const char *old = has_old ? duck_vector_string (&call->args[0], row, &size) : NULL;
    if (duck_vector_is_null (&call->args[3], row)) {
      if (has_old)
        duck_vector_set_string (call->result, row, old, size);
      else
        duck_vector_set_null (call->result, row);
      continue;
    }
    gsize name_size, value_size, path_size;
    const char *name = duck_vector_string (&call->args[2], row, &name_size);
    const char *value = duck_vector_string (&call->args[3], row, &value_size);
    g_string_assign (out, "{");
    base_json_append_string (out, name, name_size);
    g_string_append_c (out, ':');
    base_json_append_string (out, value, value_size);
    g_string_append_c (out, ',');
    if (has_old) {
      g_string_append_len (out, old + 1, (gssize) size - 1);
    } else {
      const char *path = duck_vector_string (&call->args[1], row, &path_size);
      g_string_append (out, "\"_file_path\":");
      base_json_append_string (out, path, path_size);
      g_string_append_c (out, '}');
    }
    duck_vector_set_string (call->result, row, out->str, out->len);
  }
  return TRUE;
}

static const DuckKernel kernels[] = {
  { .name = "sluice_json_row",
    .args = { "VARCHAR", "VARCHAR", "VARCHAR", NULL },
    .flags = DUCK_KERNEL_VOLATILE,
    .run = json_row,
    .bind = converter_bind,
    .free_bind_data = converter_free },
  { .name = "sluice_json_records", .args = { "BLOB", "BOOLEAN", NULL }, .result = "VARCHAR[]", .run = json_records },
  { .name = "sluice_file_text", .args = { "BLOB", NULL }, .result = "VARCHAR", .run = file_text },
  { .name = "sluice_rescue",
    .args = { "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", NULL },
    .result = "VARCHAR",
    .flags = DUCK_KERNEL_NULLS,
    .run = rescue },
};

gboolean
files_json_register (DuckEngine *engine, GError **error)
{
  return duck_engine_add_kernels (engine, kernels, G_N_ELEMENTS (kernels), NULL, error);
}

/* JSON schema inference: see files-infer-private.h. A shape is the set of kinds seen at one place, with the shapes below. */
#include "base-text.h"
#include "files-infer-private.h"
#include "files-json-private.h"

#define MAX_FIELDS 10000
#define MAX_DEPTH  50

enum {
  SEEN_BOOLEAN = 1 << 0,
  SEEN_LONG = 1 << 1,
  SEEN_BIG_INTEGER = 1 << 2,
  SEEN_DOUBLE = 1 << 3,
  SEEN_STRING = 1 << 4,
  SEEN_ARRAY = 1 << 5,
  SEEN_OBJECT = 1 << 6,
};

struct FilesShape {
  guint seen;
  guint n_digits;      /* longest big integer */
  FilesShape *element; /* arrays */
  GPtrArray *names;    /* objects: char *, in order of first appearance */
  GHashTable *fields;  /* objects: name → FilesShape */
};

FilesShape *
files_shape_new (void)
{
  return g_new0 (FilesShape, 1);
}

void
files_shape_free (FilesShape *shape)
{
  if (shape == NULL)
    return;
  files_shape_free (shape->element);
  g_clear_pointer (&shape->names, g_ptr_array_unref);
  g_clear_pointer (&shape->fields, g_hash_table_unref);
  g_free (shape);
}

static void add_value (FilesShape *shape, FilesJsonKind kind, const FilesJsonSpan *value, GString *buffer, guint depth);

static FilesShape *
field_shape (FilesShape *shape, const FilesJsonSpan *name, GString *buffer)
{
  if (shape->fields == NULL) {
    shape->names = g_ptr_array_new ();
    shape->fields = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) files_shape_free);
  }
  files_json_decode (name, buffer);
  FilesShape *found = g_hash_table_lookup (shape->fields, buffer->str);
  if (found != NULL || shape->names->len >= MAX_FIELDS || buffer->len == 0)
    return found;
  found = files_shape_new ();
  char *key = g_strdup (buffer->str);
  g_ptr_array_add (shape->names, key);
  g_hash_table_insert (shape->fields, key, found);
  return found;
}

static void
add_object (FilesShape *shape, const FilesJsonSpan *object, GString *buffer, guint depth)
{
  FilesJsonSpan cursor = files_json_enter (object);
  FilesJsonSpan name, value;
  FilesJsonKind kind;

  shape->seen |= SEEN_OBJECT;
  while (files_json_next_member (&cursor, &name, &kind, &value)) {
    FilesShape *field = field_shape (shape, &name, buffer);
    if (field != NULL)
      add_value (field, kind, &value, buffer, depth + 1);
  }
}

static void
add_array (FilesShape *shape, const FilesJsonSpan *array, GString *buffer, guint depth)
{
  FilesJsonSpan cursor = files_json_enter (array);
  FilesJsonSpan value;
  FilesJsonKind kind;

  shape->seen |= SEEN_ARRAY;
  if (shape->element == NULL)
    shape->element = files_shape_new ();
  while (files_json_next_element (&cursor, &kind, &value))
    add_value (shape->element, kind, &value, buffer, depth + 1);
}

/* 19 digits may or may not be a LONG; the safe answer for them is the wider type. */
static void
add_integer (FilesShape *shape, const FilesJsonSpan *value)
{
  guint n_digits = (guint) (value->end - value->at) - (*value->at == '-');

  if (n_digits <= 18) {
    shape->seen |= SEEN_LONG;
    return;
  }
  gint64 number;
  g_autofree char *text = g_strndup (value->at, (gsize) (value->end - value->at));
  if (n_digits == 19 && g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &number, NULL)) {
    shape->seen |= SEEN_LONG;
    return;
  }
  shape->seen |= SEEN_BIG_INTEGER;
  shape->n_digits = MAX (shape->n_digits, n_digits);
}

static void
add_value (FilesShape *shape, FilesJsonKind kind, const FilesJsonSpan *value, GString *buffer, guint depth)
{
  switch (kind) {
  case FILES_JSON_NULL:
    break;
  case FILES_JSON_FALSE:
  case FILES_JSON_TRUE:
    shape->seen |= SEEN_BOOLEAN;
    break;
  case FILES_JSON_INTEGER:
    add_integer (shape, value);
    break;
  case FILES_JSON_NUMBER:
    shape->seen |= SEEN_DOUBLE;
    break;
  case FILES_JSON_STRING:
    shape->seen |= SEEN_STRING;
    break;
  case FILES_JSON_ARRAY:
    if (depth < MAX_DEPTH)
      add_array (shape, value, buffer, depth);
    else
      shape->seen |= SEEN_STRING;
    break;
  case FILES_JSON_OBJECT:
    if (depth < MAX_DEPTH)
      add_object (shape, value, buffer, depth);
    else
      shape->seen |= SEEN_STRING;
    break;
  }
}

void
files_shape_add_record (FilesShape *shape, const char *text, gsize size)
{
  FilesJsonSpan cursor = { text, text + size }, value;
  FilesJsonKind kind;
  g_autoptr (GString) buffer = g_string_new (NULL);

  files_json_skip_space (&cursor);
  if (!files_json_value (&cursor, &kind, &value) || kind != FILES_JSON_OBJECT)
    return;
  files_json_skip_space (&cursor);
  if (cursor.at == cursor.end)
    add_object (shape, &value, buffer, 0);
}

static BaseType *
object_type (const FilesShape *shape, gboolean typed)
{
  BaseStructBuilder *builder = base_struct_builder_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; shape->names != NULL && i < shape->names->len; i++) {
    const char *name = g_ptr_array_index (shape->names, i);
    /* Names that differ only in case are one column, as first written; values under the others are rescued. */
    if (!g_hash_table_add (seen, base_text_folded (name)))
      continue;
    const FilesShape *field = g_hash_table_lookup (shape->fields, name);
    g_autoptr (BaseType) type = typed ? files_shape_type (field, TRUE) : base_type_simple (BASE_TYPE_STRING);
    base_struct_builder_add (builder, name, type, TRUE, NULL);
  }
  return base_struct_builder_end (builder);
}

static BaseType *
number_type (const FilesShape *shape)
{
  if ((shape->seen & SEEN_DOUBLE) || shape->n_digits > 38)
    return base_type_simple (BASE_TYPE_DOUBLE);
  if (shape->seen & SEEN_BIG_INTEGER)
    return base_type_decimal (MAX (20, shape->n_digits), 0);
  return base_type_simple (BASE_TYPE_LONG);
}

BaseType *
files_shape_type (const FilesShape *shape, gboolean typed)
{
  const guint numbers = SEEN_LONG | SEEN_BIG_INTEGER | SEEN_DOUBLE;

  if (shape->seen == SEEN_OBJECT && shape->names != NULL)
    return object_type (shape, typed);
  if (shape->seen == SEEN_ARRAY) {
    g_autoptr (BaseType) element = files_shape_type (shape->element, typed);
    return base_type_array (element, TRUE);
  }
  if (shape->seen == SEEN_BOOLEAN)
    return base_type_simple (BASE_TYPE_BOOLEAN);
  if (shape->seen != 0 && (shape->seen & ~numbers) == 0)
    return number_type (shape);
  return base_type_simple (BASE_TYPE_STRING);
}

/* Spark's data types: see base-type.h. Invariants:
 * 1. A BaseType never changes after its constructor returned, so references may be shared between threads.
 * 2. `field_index` answers through a hash of exact names for wide structs; the fields' order is the schema's.
 */
#include "base-type.h"

#include "base-text.h"

#include <string.h>

struct BaseType {
  gatomicrefcount refs;
  BaseTypeKind kind;
  guint8 precision; /* decimal; interval: from */
  guint8 scale;     /* decimal; interval: to */
  gboolean contains_null;
  BaseType *key;     /* map */
  BaseType *element; /* array; map: value */
  GArray *fields;    /* struct: of BaseField */
};

struct BaseStructBuilder {
  GArray *fields;
};

static void
clear_field (gpointer data)
{
  BaseField *field = data;

  g_free (field->name);
  base_type_unref (field->type);
  json_decref (field->metadata);
}

static BaseType *
type_new (BaseTypeKind kind)
{
  BaseType *type = g_new0 (BaseType, 1);

  g_atomic_ref_count_init (&type->refs);
  type->kind = kind;
  return type;
}

BaseType *
base_type_ref (const BaseType *type)
{
  BaseType *shared = (BaseType *) type;

  if (shared != NULL)
    g_atomic_ref_count_inc (&shared->refs);
  return shared;
}

void
base_type_unref (BaseType *type)
{
  if (type == NULL || !g_atomic_ref_count_dec (&type->refs))
    return;
  base_type_unref (type->key);
  base_type_unref (type->element);
  if (type->fields != NULL)
    g_array_unref (type->fields);
  g_free (type);
}

BaseType *
base_type_simple (BaseTypeKind kind)
{
  g_assert (kind != BASE_TYPE_DECIMAL && kind != BASE_TYPE_INTERVAL_YEAR_MONTH && kind != BASE_TYPE_INTERVAL_DAY_TIME &&
            kind < BASE_TYPE_ARRAY);
  return type_new (kind);
}

BaseType *
base_type_decimal (guint precision, guint scale)
{
  g_assert (precision >= 1 && precision <= 38 && scale <= precision);
  BaseType *type = type_new (BASE_TYPE_DECIMAL);
  type->precision = (guint8) precision;
  type->scale = (guint8) scale;
  return type;
}

BaseType *
base_type_interval (BaseIntervalField from, BaseIntervalField to)
{
  gboolean year_month = from <= BASE_INTERVAL_MONTH;

  g_assert (from <= to && year_month == (to <= BASE_INTERVAL_MONTH));
  BaseType *type = type_new (year_month ? BASE_TYPE_INTERVAL_YEAR_MONTH : BASE_TYPE_INTERVAL_DAY_TIME);
  type->precision = (guint8) from;
  type->scale = (guint8) to;
  return type;
}

BaseType *
base_type_array (BaseType *element, gboolean contains_null)
{
  BaseType *type = type_new (BASE_TYPE_ARRAY);

  type->element = base_type_ref (element);
  type->contains_null = contains_null;
  return type;
}

BaseType *
base_type_map (BaseType *key, BaseType *value, gboolean value_contains_null)
{
  BaseType *type = type_new (BASE_TYPE_MAP);

  type->key = base_type_ref (key);
  type->element = base_type_ref (value);
  type->contains_null = value_contains_null;
  return type;
}

BaseStructBuilder *
base_struct_builder_new (void)
{
  BaseStructBuilder *builder = g_new0 (BaseStructBuilder, 1);

  builder->fields = g_array_new (FALSE, TRUE, sizeof (BaseField));
  g_array_set_clear_func (builder->fields, clear_field);
  return builder;
}

void
base_struct_builder_add (BaseStructBuilder *builder, const char *name, const BaseType *type, gboolean nullable,
                         const json_t *metadata)
{
  gboolean empty = metadata == NULL || json_object_size (metadata) == 0;
  BaseField field = { g_strdup (name), base_type_ref (type), nullable, empty ? NULL : json_deep_copy (metadata) };

  g_array_append_val (builder->fields, field);
}

BaseType *
base_struct_builder_end (BaseStructBuilder *builder)
{
  BaseType *type = type_new (BASE_TYPE_STRUCT);

  type->fields = g_steal_pointer (&builder->fields);
  base_struct_builder_free (builder);
  return type;
}

void
base_struct_builder_free (BaseStructBuilder *builder)
{
  if (builder == NULL)
    return;
  if (builder->fields != NULL)
    g_array_unref (builder->fields);
  g_free (builder);
}

BaseTypeKind
base_type_kind (const BaseType *type)
{
  return type->kind;
}

guint
base_type_precision (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_DECIMAL);
  return type->precision;
}

guint
base_type_scale (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_DECIMAL);
  return type->scale;
}

BaseIntervalField
base_type_interval_from (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_INTERVAL_YEAR_MONTH || type->kind == BASE_TYPE_INTERVAL_DAY_TIME);
  return type->precision;
}

BaseIntervalField
base_type_interval_to (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_INTERVAL_YEAR_MONTH || type->kind == BASE_TYPE_INTERVAL_DAY_TIME);
  return type->scale;
}

BaseType *
base_type_element (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_ARRAY);
  return type->element;
}

BaseType *
base_type_key (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_MAP);
  return type->key;
}

BaseType *
base_type_value (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_MAP);
  return type->element;
}

gboolean
base_type_contains_null (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_ARRAY || type->kind == BASE_TYPE_MAP);
  return type->contains_null;
}

guint
base_type_n_fields (const BaseType *type)
{
  g_assert (type->kind == BASE_TYPE_STRUCT);
  return type->fields->len;
}

const BaseField *
base_type_field (const BaseType *type, guint index)
{
  g_assert (type->kind == BASE_TYPE_STRUCT && index < type->fields->len);
  return &g_array_index (type->fields, BaseField, index);
}

int
base_type_field_index (const BaseType *type, const char *name, gboolean ignore_case)
{
  int found = -1;

  for (guint i = 0; i < base_type_n_fields (type); i++)
    if (strcmp (base_type_field (type, i)->name, name) == 0)
      return (int) i;
  for (guint i = 0; ignore_case && i < base_type_n_fields (type); i++) {
    if (!base_text_equal_ignore_case (base_type_field (type, i)->name, name))
      continue;
    if (found >= 0)
      return -2;
    found = (int) i;
  }
  return found;
}

gboolean
base_type_is_integral (const BaseType *type)
{
  return type->kind >= BASE_TYPE_BYTE && type->kind <= BASE_TYPE_LONG;
}

gboolean
base_type_is_numeric (const BaseType *type)
{
  return type->kind >= BASE_TYPE_BYTE && type->kind <= BASE_TYPE_DECIMAL;
}

gboolean
base_type_is_nested (const BaseType *type)
{
  return type->kind >= BASE_TYPE_ARRAY;
}

gboolean
base_type_holds (const BaseType *type, BaseTypeKind kind)
{
  if (type->kind == kind)
    return TRUE;
  switch (type->kind) {
  case BASE_TYPE_ARRAY:
    return base_type_holds (type->element, kind);
  case BASE_TYPE_MAP:
    return base_type_holds (base_type_key (type), kind) || base_type_holds (base_type_value (type), kind);
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < type->fields->len; i++)
      if (base_type_holds (base_type_field (type, i)->type, kind))
        return TRUE;
    return FALSE;
  default:
    return FALSE;
  }
}

gboolean
base_type_is_orderable (const BaseType *type)
{
  return !base_type_holds (type, BASE_TYPE_MAP) && !base_type_holds (type, BASE_TYPE_VARIANT) &&
         !base_type_holds (type, BASE_TYPE_INTERVAL_CALENDAR);
}

static gboolean
names_equal (const char *a, const char *b, BaseTypeEqualFlags flags)
{
  if (flags & BASE_TYPE_EQUAL_IGNORE_NAMES)
    return TRUE;
  return (flags & BASE_TYPE_EQUAL_IGNORE_CASE) ? base_text_equal_ignore_case (a, b) : strcmp (a, b) == 0;
}

static gboolean
metadata_equal (json_t *a, json_t *b)
{
  return a == b || (a != NULL && b != NULL && json_equal (a, b));
}

static gboolean
structs_equal (const BaseType *a, const BaseType *b, BaseTypeEqualFlags flags)
{
  if (a->fields->len != b->fields->len)
    return FALSE;
  for (guint i = 0; i < a->fields->len; i++) {
    const BaseField *x = base_type_field (a, i);
    const BaseField *y = base_type_field (b, i);
    if (!names_equal (x->name, y->name, flags) || !base_type_equal (x->type, y->type, flags))
      return FALSE;
    if (!(flags & BASE_TYPE_EQUAL_IGNORE_NULLABILITY) && x->nullable != y->nullable)
      return FALSE;
    if ((flags & BASE_TYPE_EQUAL_METADATA) && !metadata_equal (x->metadata, y->metadata))
      return FALSE;
  }
  return TRUE;
}

gboolean
base_type_equal (const BaseType *a, const BaseType *b, BaseTypeEqualFlags flags)
{
  if (a == b)
    return TRUE;
  if (a->kind != b->kind || a->precision != b->precision || a->scale != b->scale)
    return FALSE;
  if (!(flags & BASE_TYPE_EQUAL_IGNORE_NULLABILITY) && a->contains_null != b->contains_null)
    return FALSE;
  if (a->key != NULL && !base_type_equal (a->key, b->key, flags))
    return FALSE;
  if (a->element != NULL && !base_type_equal (a->element, b->element, flags))
    return FALSE;
  return a->fields == NULL || structs_equal (a, b, flags);
}

static const char *const simple_names[] = {
  [BASE_TYPE_VOID] = "void",
  [BASE_TYPE_BOOLEAN] = "boolean",
  [BASE_TYPE_BYTE] = "tinyint",
  [BASE_TYPE_SHORT] = "smallint",
  [BASE_TYPE_INTEGER] = "int",
  [BASE_TYPE_LONG] = "bigint",
  [BASE_TYPE_FLOAT] = "float",
  [BASE_TYPE_DOUBLE] = "double",
  [BASE_TYPE_STRING] = "string",
  [BASE_TYPE_BINARY] = "binary",
  [BASE_TYPE_DATE] = "date",
  [BASE_TYPE_TIMESTAMP] = "timestamp",
  [BASE_TYPE_TIMESTAMP_NTZ] = "timestamp_ntz",
  [BASE_TYPE_INTERVAL_CALENDAR] = "interval",
  [BASE_TYPE_VARIANT] = "variant",
};
static const char *const interval_names[] = { "year", "month", "day", "hour", "minute", "second" };

static void append_type (GString *out, const BaseType *type, gboolean ddl);

static void
append_ddl_field (GString *out, const BaseField *field, const char *separator)
{
  g_autofree char *name = base_text_spark_identifier (field->name);
  const char *comment =
      field->metadata != NULL ? json_string_value (json_object_get (field->metadata, "comment")) : NULL;

  g_string_append_printf (out, "%s%s", name, separator);
  append_type (out, field->type, TRUE);
  if (!field->nullable)
    g_string_append (out, " NOT NULL");
  if (comment != NULL) {
    g_string_append (out, " COMMENT ");
    base_text_append_sql_literal (out, comment);
  }
}

static void
append_struct (GString *out, const BaseType *type, gboolean ddl)
{
  g_string_append (out, ddl ? "STRUCT<" : "struct<");
  for (guint i = 0; i < type->fields->len; i++) {
    const BaseField *field = base_type_field (type, i);
    if (i > 0)
      g_string_append (out, ddl ? ", " : ",");
    if (ddl) {
      append_ddl_field (out, field, ": ");
      continue;
    }
    g_string_append_printf (out, "%s:", field->name);
    append_type (out, field->type, FALSE);
  }
  g_string_append_c (out, '>');
}

static void
append_lower_or_upper (GString *out, const char *text, gboolean upper)
{
  for (; *text != '\0'; text++)
    g_string_append_c (out, upper ? g_ascii_toupper (*text) : *text);
}

static void
append_type (GString *out, const BaseType *type, gboolean ddl)
{
  switch (type->kind) {
  case BASE_TYPE_DECIMAL:
    g_string_append_printf (out, "%s(%u,%u)", ddl ? "DECIMAL" : "decimal", type->precision, type->scale);
    return;
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    append_lower_or_upper (out, "interval ", ddl);
    append_lower_or_upper (out, interval_names[type->precision], ddl);
    if (type->precision != type->scale) {
      append_lower_or_upper (out, " to ", ddl);
      append_lower_or_upper (out, interval_names[type->scale], ddl);
    }
    return;
  case BASE_TYPE_ARRAY:
    g_string_append (out, ddl ? "ARRAY<" : "array<");
    append_type (out, type->element, ddl);
    g_string_append_c (out, '>');
    return;
  case BASE_TYPE_MAP:
    g_string_append (out, ddl ? "MAP<" : "map<");
    append_type (out, type->key, ddl);
    g_string_append (out, ddl ? ", " : ",");
    append_type (out, type->element, ddl);
    g_string_append_c (out, '>');
    return;
  case BASE_TYPE_STRUCT:
    append_struct (out, type, ddl);
    return;
  default:
    append_lower_or_upper (out, simple_names[type->kind], ddl);
  }
}

char *
base_type_text (const BaseType *type)
{
  GString *out = g_string_new (NULL);

  append_type (out, type, FALSE);
  return g_string_free (out, FALSE);
}

char *
base_type_ddl (const BaseType *type)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < base_type_n_fields (type); i++) {
    if (i > 0)
      g_string_append (out, ", ");
    append_ddl_field (out, base_type_field (type, i), " ");
  }
  return g_string_free (out, FALSE);
}

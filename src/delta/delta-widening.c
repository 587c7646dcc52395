/* Which type changes the protocol allows, and the record of them in a schema. */
#include "delta-widening.h"

#include "base-error.h"
#include "base-json.h"

#define CHANGES_KEY "delta.typeChanges"

/* Digits before the point that a decimal must have to take any value of an integer type; 0 = no integer type. */
static guint
digits_needed (BaseTypeKind kind)
{
  switch (kind) {
  case BASE_TYPE_BYTE:
    return 3;
  case BASE_TYPE_SHORT:
    return 5;
  case BASE_TYPE_INTEGER:
    return 10;
  case BASE_TYPE_LONG:
    return 19;
  default:
    return 0;
  }
}

/* What the protocol wants instead. */
static guint
digits_wanted (BaseTypeKind kind)
{
  guint digits = digits_needed (kind);

  return digits == 0 ? 0 : kind == BASE_TYPE_LONG ? 20 : 10;
}

/* @digits: of @from, when it is an integer type. */
static gboolean
can_widen (const BaseType *from, const BaseType *to, guint digits)
{
  BaseTypeKind before = base_type_kind (from);
  BaseTypeKind after = base_type_kind (to);

  if (after == BASE_TYPE_DECIMAL && digits > 0)
    return base_type_precision (to) - base_type_scale (to) >= digits;
  if (after == BASE_TYPE_DECIMAL && before == BASE_TYPE_DECIMAL)
    return !base_type_equal (from, to, BASE_TYPE_EQUAL_EXACT) && base_type_scale (to) >= base_type_scale (from) &&
           base_type_precision (to) - base_type_scale (to) >= base_type_precision (from) - base_type_scale (from);
  if (digits_needed (after) > 0)
    return digits > 0 && before < after;
  if (after == BASE_TYPE_DOUBLE)
    return before == BASE_TYPE_FLOAT || (digits > 0 && before != BASE_TYPE_LONG);
  return after == BASE_TYPE_TIMESTAMP_NTZ && before == BASE_TYPE_DATE;
}

gboolean
delta_type_can_widen (const BaseType *from, const BaseType *to)
{
  return can_widen (from, to, digits_wanted (base_type_kind (from)));
}

/* Early writers put small integers into decimals narrower than the protocol has it now; no value is lost. */
static gboolean
can_be_read (const BaseType *from, const BaseType *to)
{
  return base_type_equal (from, to, BASE_TYPE_EQUAL_EXACT) ||
         can_widen (from, to, digits_needed (base_type_kind (from)));
}

static const json_t *
changes_of (const BaseField *field)
{
  return field->metadata != NULL ? json_object_get (field->metadata, CHANGES_KEY) : NULL;
}

json_t *
delta_field_add_type_change (const BaseField *field, const BaseType *from, const BaseType *to, const char *path)
{
  json_t *metadata = field->metadata != NULL ? json_deep_copy (field->metadata) : json_object ();
  json_t *changes = json_object_get (metadata, CHANGES_KEY);
  json_t *change = json_object ();

  if (!json_is_array (changes)) {
    changes = json_array ();
    json_object_set_new (metadata, CHANGES_KEY, changes);
  }
  json_object_set_new (change, "fromType", base_type_to_json (from));
  json_object_set_new (change, "toType", base_type_to_json (to));
  if (path != NULL)
    json_object_set_new (change, "fieldPath", json_string (path));
  json_array_append_new (changes, change);
  return metadata;
}

typedef gboolean (*FieldFunc) (const BaseField *field, GError **error);

/* Calls @func for every field at any depth until it says FALSE. The depth of a type is bounded where it is read. */
static gboolean
each_field (const BaseType *type, FieldFunc func, GError **error)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY:
    return each_field (base_type_element (type), func, error);
  case BASE_TYPE_MAP:
    return each_field (base_type_key (type), func, error) && each_field (base_type_value (type), func, error);
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      if (!func (field, error) || !each_field (field->type, func, error))
        return FALSE;
    }
    return TRUE;
  default:
    return TRUE;
  }
}

static gboolean
has_no_changes (const BaseField *field, GError **error G_GNUC_UNUSED)
{
  return changes_of (field) == NULL;
}

gboolean
delta_schema_has_type_changes (const BaseType *type)
{
  return !each_field (type, has_no_changes, NULL);
}

gboolean
delta_field_has_type_changes (const BaseField *field)
{
  return changes_of (field) != NULL || delta_schema_has_type_changes (field->type);
}

static gboolean
refuse (const BaseField *field, const json_t *from, const json_t *to, GError **error)
{
  g_autofree char *before = from != NULL ? base_json_text (from) : g_strdup ("?");
  g_autofree char *after = to != NULL ? base_json_text (to) : g_strdup ("?");

  base_error_set (error, SLUICE_ERROR_DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA,
                  "the type of the column `%s` was once changed from %.200s to %.200s, which this engine cannot read",
                  field->name, before, after);
  base_error_add_param (error, "fieldName", field->name);
  return FALSE;
}

static gboolean
check_changes (const BaseField *field, GError **error)
{
  const json_t *changes = changes_of (field);
  gsize i;
  json_t *change;

  if (changes == NULL)
    return TRUE;
  if (!json_is_array (changes))
    return refuse (field, NULL, NULL, error);
  json_array_foreach (changes, i, change)
  {
    const json_t *from_json = json_object_get (change, "fromType");
    const json_t *to_json = json_object_get (change, "toType");
    g_autoptr (BaseType) from = from_json != NULL ? base_type_from_json (from_json, NULL) : NULL;
    g_autoptr (BaseType) to = to_json != NULL ? base_type_from_json (to_json, NULL) : NULL;
    if (from == NULL || to == NULL || !can_be_read (from, to))
      return refuse (field, from_json, to_json, error);
  }
  return TRUE;
}

gboolean
delta_schema_check_type_changes (const BaseType *schema, GError **error)
{
  return each_field (schema, check_changes, error);
}

gboolean
delta_field_was_float (const BaseField *field)
{
  const json_t *changes = changes_of (field);
  gsize i;
  json_t *change;

  json_array_foreach (changes, i, change)
  {
    if (g_strcmp0 (base_json_string (change, "fromType"), "float") == 0)
      return TRUE;
  }
  return FALSE;
}

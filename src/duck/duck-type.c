/* Types: see duck-type.h. One table of kinds says how DuckDB names and stores each; everything else walks the tree. */
#include "duck-type.h"

#include "base-error.h"
#include "base-text.h"
#include "duck-private.h"

#define MAX_DEPTH 200

typedef struct {
  duckdb_type id;
  const char *name;
} KindRow;

static const KindRow kind_rows[] = {
  [DUCK_KIND_NULL] = { DUCKDB_TYPE_SQLNULL, "\"NULL\"" },
  [DUCK_KIND_BOOLEAN] = { DUCKDB_TYPE_BOOLEAN, "BOOLEAN" },
  [DUCK_KIND_TINYINT] = { DUCKDB_TYPE_TINYINT, "TINYINT" },
  [DUCK_KIND_SMALLINT] = { DUCKDB_TYPE_SMALLINT, "SMALLINT" },
  [DUCK_KIND_INTEGER] = { DUCKDB_TYPE_INTEGER, "INTEGER" },
  [DUCK_KIND_BIGINT] = { DUCKDB_TYPE_BIGINT, "BIGINT" },
  [DUCK_KIND_HUGEINT] = { DUCKDB_TYPE_HUGEINT, "HUGEINT" },
  [DUCK_KIND_UTINYINT] = { DUCKDB_TYPE_UTINYINT, "UTINYINT" },
  [DUCK_KIND_USMALLINT] = { DUCKDB_TYPE_USMALLINT, "USMALLINT" },
  [DUCK_KIND_UINTEGER] = { DUCKDB_TYPE_UINTEGER, "UINTEGER" },
  [DUCK_KIND_UBIGINT] = { DUCKDB_TYPE_UBIGINT, "UBIGINT" },
  [DUCK_KIND_UHUGEINT] = { DUCKDB_TYPE_UHUGEINT, "UHUGEINT" },
  [DUCK_KIND_FLOAT] = { DUCKDB_TYPE_FLOAT, "FLOAT" },
  [DUCK_KIND_DOUBLE] = { DUCKDB_TYPE_DOUBLE, "DOUBLE" },
  [DUCK_KIND_DECIMAL] = { DUCKDB_TYPE_DECIMAL, "DECIMAL" },
  [DUCK_KIND_VARCHAR] = { DUCKDB_TYPE_VARCHAR, "VARCHAR" },
  [DUCK_KIND_BLOB] = { DUCKDB_TYPE_BLOB, "BLOB" },
  [DUCK_KIND_DATE] = { DUCKDB_TYPE_DATE, "DATE" },
  [DUCK_KIND_TIME] = { DUCKDB_TYPE_TIME, "TIME" },
  [DUCK_KIND_TIMESTAMP] = { DUCKDB_TYPE_TIMESTAMP, "TIMESTAMP" },
  [DUCK_KIND_TIMESTAMP_TZ] = { DUCKDB_TYPE_TIMESTAMP_TZ, "TIMESTAMP WITH TIME ZONE" },
  [DUCK_KIND_TIMESTAMP_S] = { DUCKDB_TYPE_TIMESTAMP_S, "TIMESTAMP_S" },
  [DUCK_KIND_TIMESTAMP_MS] = { DUCKDB_TYPE_TIMESTAMP_MS, "TIMESTAMP_MS" },
  [DUCK_KIND_TIMESTAMP_NS] = { DUCKDB_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS" },
  [DUCK_KIND_INTERVAL] = { DUCKDB_TYPE_INTERVAL, "INTERVAL" },
  [DUCK_KIND_UUID] = { DUCKDB_TYPE_UUID, "UUID" },
  [DUCK_KIND_LIST] = { DUCKDB_TYPE_LIST, "LIST" },
  [DUCK_KIND_MAP] = { DUCKDB_TYPE_MAP, "MAP" },
  [DUCK_KIND_STRUCT] = { DUCKDB_TYPE_STRUCT, "STRUCT" },
  [DUCK_KIND_OTHER] = { DUCKDB_TYPE_INVALID, "OTHER" },
};

struct DuckType {
  gatomicrefcount refs;
  DuckKind kind;
  guint width, scale;
  guint n_children;
  DuckType **children;
  char **child_names; /* of a STRUCT: n_children names */
  char *name;
};

DuckType *
duck_type_ref (const DuckType *type)
{
  DuckType *own = (DuckType *) type;

  g_atomic_ref_count_inc (&own->refs);
  return own;
}

void
duck_type_unref (DuckType *type)
{
  if (type == NULL || !g_atomic_ref_count_dec (&type->refs))
    return;
  for (guint i = 0; i < type->n_children; i++) {
    duck_type_unref (type->children[i]);
    if (type->child_names != NULL)
      g_free (type->child_names[i]);
  }
  g_free (type->children);
  g_free (type->child_names);
  g_free (type->name);
  g_free (type);
}

DuckKind
duck_type_kind (const DuckType *type)
{
  return type->kind;
}

guint
duck_type_width (const DuckType *type)
{
  return type->width;
}

guint
duck_type_scale (const DuckType *type)
{
  return type->scale;
}

guint
duck_type_n_children (const DuckType *type)
{
  return type->n_children;
}

const DuckType *
duck_type_child (const DuckType *type, guint index)
{
  g_assert (index < type->n_children);
  return type->children[index];
}

const char *
duck_type_child_name (const DuckType *type, guint index)
{
  g_assert (type->kind == DUCK_KIND_STRUCT && index < type->n_children);
  return type->child_names[index];
}

const char *
duck_type_name (const DuckType *type)
{
  return type->name;
}

/* The text says all there is to say about a type, struct names included. */
gboolean
duck_type_equal (const DuckType *a, const DuckType *b)
{
  return a == b || strcmp (a->name, b->name) == 0;
}

/* ---- from and to DuckDB ---- */

DuckKind
duck_kind_from_id (duckdb_type id)
{
  for (guint i = 0; i < DUCK_KIND_OTHER; i++) {
    if (kind_rows[i].id == id)
      return (DuckKind) i;
  }
  return DUCK_KIND_OTHER;
}

static void
set_name (DuckType *type, duckdb_type id)
{
  GString *name = g_string_new (NULL);

  switch (type->kind) {
  case DUCK_KIND_DECIMAL:
    g_string_printf (name, "DECIMAL(%u,%u)", type->width, type->scale);
    break;
  case DUCK_KIND_LIST:
    g_string_printf (name, "%s[]", type->children[0]->name);
    break;
  case DUCK_KIND_MAP:
    g_string_printf (name, "MAP(%s, %s)", type->children[0]->name, type->children[1]->name);
    break;
  case DUCK_KIND_STRUCT:
    g_string_append (name, "STRUCT(");
    for (guint i = 0; i < type->n_children; i++) {
      if (i > 0)
        g_string_append (name, ", ");
      base_text_append_sql_identifier (name, type->child_names[i]);
      g_string_append_printf (name, " %s", type->children[i]->name);
    }
    g_string_append_c (name, ')');
    break;
  case DUCK_KIND_OTHER:
    g_string_printf (name, "OTHER(%d)", (int) id);
    break;
  default:
    g_string_append (name, kind_rows[type->kind].name);
  }
  type->name = g_string_free (name, FALSE);
}

static DuckType *from_logical (duckdb_logical_type logical, guint depth);

/* Takes @logical. */
static DuckType *
from_child (duckdb_logical_type logical, guint depth)
{
  DuckType *child = from_logical (logical, depth + 1);

  duckdb_destroy_logical_type (&logical);
  return child;
}

static DuckType *
from_logical (duckdb_logical_type logical, guint depth)
{
  DuckType *type = g_new0 (DuckType, 1);
  duckdb_type id = duckdb_get_type_id (logical);

  g_atomic_ref_count_init (&type->refs);
  type->kind = depth < MAX_DEPTH ? duck_kind_from_id (id) : DUCK_KIND_OTHER;
  switch (type->kind) {
  case DUCK_KIND_DECIMAL:
    type->width = duckdb_decimal_width (logical);
    type->scale = duckdb_decimal_scale (logical);
    break;
  case DUCK_KIND_LIST:
    type->n_children = 1;
    type->children = g_new0 (DuckType *, 1);
    type->children[0] = from_child (duckdb_list_type_child_type (logical), depth);
    break;
  case DUCK_KIND_MAP:
    type->n_children = 2;
    type->children = g_new0 (DuckType *, 2);
    type->children[0] = from_child (duckdb_map_type_key_type (logical), depth);
    type->children[1] = from_child (duckdb_map_type_value_type (logical), depth);
    break;
  case DUCK_KIND_STRUCT:
    type->n_children = (guint) duckdb_struct_type_child_count (logical);
    type->children = g_new0 (DuckType *, type->n_children);
    type->child_names = g_new0 (char *, type->n_children);
    for (guint i = 0; i < type->n_children; i++) {
      char *name = duckdb_struct_type_child_name (logical, i);
      type->child_names[i] = g_strdup (name);
      duckdb_free (name);
      type->children[i] = from_child (duckdb_struct_type_child_type (logical, i), depth);
    }
    break;
  default:
    break;
  }
  set_name (type, id);
  return type;
}

DuckType *
duck_type_from_logical (duckdb_logical_type logical)
{
  return from_logical (logical, 0);
}

duckdb_logical_type
duck_type_to_logical (DuckKind kind, guint width, guint scale)
{
  g_assert (kind < DUCK_KIND_LIST);
  if (kind == DUCK_KIND_DECIMAL)
    return duckdb_create_decimal_type ((uint8_t) width, (uint8_t) scale);
  return duckdb_create_logical_type (kind_rows[kind].id);
}

duckdb_logical_type
duck_type_name_to_logical (const char *name, gsize length)
{
  if (length > 2 && memcmp (name + length - 2, "[]", 2) == 0) {
    duckdb_logical_type child = duck_type_name_to_logical (name, length - 2);
    duckdb_logical_type list = child != NULL ? duckdb_create_list_type (child) : NULL;
    duckdb_destroy_logical_type (&child);
    return list;
  }
  for (guint i = 0; i < DUCK_KIND_LIST; i++)
    if (i != DUCK_KIND_DECIMAL && strlen (kind_rows[i].name) == length && memcmp (kind_rows[i].name, name, length) == 0)
      return duckdb_create_logical_type (kind_rows[i].id);
  return NULL;
}

/* ---- Spark's types ---- */

/* The kind of a Spark type that is neither DECIMAL nor nested. */
static DuckKind
kind_of_base (BaseTypeKind kind)
{
  switch (kind) {
  case BASE_TYPE_BOOLEAN:
    return DUCK_KIND_BOOLEAN;
  case BASE_TYPE_BYTE:
    return DUCK_KIND_TINYINT;
  case BASE_TYPE_SHORT:
    return DUCK_KIND_SMALLINT;
  case BASE_TYPE_VOID:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
    return DUCK_KIND_INTEGER;
  case BASE_TYPE_LONG:
  case BASE_TYPE_INTERVAL_DAY_TIME:
    return DUCK_KIND_BIGINT;
  case BASE_TYPE_FLOAT:
    return DUCK_KIND_FLOAT;
  case BASE_TYPE_DOUBLE:
    return DUCK_KIND_DOUBLE;
  case BASE_TYPE_DECIMAL:
    return DUCK_KIND_DECIMAL;
  case BASE_TYPE_STRING:
    return DUCK_KIND_VARCHAR;
  case BASE_TYPE_BINARY:
    return DUCK_KIND_BLOB;
  case BASE_TYPE_DATE:
    return DUCK_KIND_DATE;
  case BASE_TYPE_TIMESTAMP:
    return DUCK_KIND_TIMESTAMP_TZ;
  case BASE_TYPE_TIMESTAMP_NTZ:
    return DUCK_KIND_TIMESTAMP;
  case BASE_TYPE_INTERVAL_CALENDAR:
    return DUCK_KIND_INTERVAL;
  case BASE_TYPE_ARRAY:
    return DUCK_KIND_LIST;
  case BASE_TYPE_MAP:
    return DUCK_KIND_MAP;
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_STRUCT:
    return DUCK_KIND_STRUCT;
  }
  return DUCK_KIND_OTHER;
}

void
duck_type_append_text (GString *out, const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_DECIMAL:
    g_string_append_printf (out, "DECIMAL(%u,%u)", base_type_precision (type), base_type_scale (type));
    return;
  case BASE_TYPE_VARIANT:
    g_string_append (out, "STRUCT(\"value\" BLOB, \"metadata\" BLOB)");
    return;
  case BASE_TYPE_ARRAY:
    duck_type_append_text (out, base_type_element (type));
    g_string_append (out, "[]");
    return;
  case BASE_TYPE_MAP:
    g_string_append (out, "MAP(");
    duck_type_append_text (out, base_type_key (type));
    g_string_append (out, ", ");
    duck_type_append_text (out, base_type_value (type));
    g_string_append_c (out, ')');
    return;
  case BASE_TYPE_STRUCT:
    g_string_append (out, "STRUCT(");
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      const BaseField *field = base_type_field (type, i);
      if (i > 0)
        g_string_append (out, ", ");
      base_text_append_sql_identifier (out, field->name);
      g_string_append_c (out, ' ');
      duck_type_append_text (out, field->type);
    }
    g_string_append_c (out, ')');
    return;
  default:
    g_string_append (out, kind_rows[kind_of_base (base_type_kind (type))].name);
  }
}

char *
duck_type_text (const BaseType *type)
{
  GString *out = g_string_new (NULL);

  duck_type_append_text (out, type);
  return g_string_free (out, FALSE);
}

/* ---- comparison ---- */

static gboolean
misfit (const DuckType *type, const BaseType *base, GString *path)
{
  g_autofree char *wanted = duck_type_text (base);

  g_string_append_printf (path, ": %s instead of %s", type->name, wanted);
  return FALSE;
}

static gboolean fits (const DuckType *type, const BaseType *base, GString *path);

/* Compares one part; @path grows by @step only while a misfit is being reported. */
static gboolean
part_fits (const DuckType *type, const BaseType *base, GString *path, const char *step)
{
  gsize length = path->len;

  g_string_append (path, step);
  if (!fits (type, base, path))
    return FALSE;
  g_string_truncate (path, length);
  return TRUE;
}

static gboolean
fields_fit (const DuckType *type, const BaseType *base, GString *path)
{
  if (type->n_children != base_type_n_fields (base))
    return misfit (type, base, path);
  for (guint i = 0; i < type->n_children; i++) {
    const BaseField *field = base_type_field (base, i);
    if (strcmp (type->child_names[i], field->name) != 0)
      return misfit (type, base, path);
    g_autofree char *step = g_strconcat (".", field->name, NULL);
    if (!part_fits (type->children[i], field->type, path, step))
      return FALSE;
  }
  return TRUE;
}

static gboolean
fits (const DuckType *type, const BaseType *base, GString *path)
{
  BaseTypeKind kind = base_type_kind (base);

  if (kind == BASE_TYPE_VOID && type->kind == DUCK_KIND_NULL)
    return TRUE;
  if (type->kind != kind_of_base (kind))
    return misfit (type, base, path);
  switch (kind) {
  case BASE_TYPE_DECIMAL:
    if (type->width != base_type_precision (base) || type->scale != base_type_scale (base))
      return misfit (type, base, path);
    return TRUE;
  case BASE_TYPE_VARIANT:
    if (strcmp (type->name, "STRUCT(\"value\" BLOB, \"metadata\" BLOB)") != 0)
      return misfit (type, base, path);
    return TRUE;
  case BASE_TYPE_ARRAY:
    return part_fits (type->children[0], base_type_element (base), path, "[]");
  case BASE_TYPE_MAP:
    return part_fits (type->children[0], base_type_key (base), path, ".key") &&
           part_fits (type->children[1], base_type_value (base), path, ".value");
  case BASE_TYPE_STRUCT:
    return fields_fit (type, base, path);
  default:
    return TRUE;
  }
}

gboolean
duck_type_fits (const DuckType *type, const BaseType *base, char **where)
{
  GString *path = g_string_new (NULL);
  gboolean good = fits (type, base, path);

  if (!good && where != NULL)
    *where = g_strdup (g_str_has_prefix (path->str, ": ") ? path->str + 2 : path->str);
  g_string_free (path, TRUE);
  return good;
}

/* ---- back to Spark's types ---- */

static BaseType *
struct_to_base (const DuckType *type, GError **error)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();

  for (guint i = 0; i < type->n_children; i++) {
    g_autoptr (BaseType) field = duck_type_to_base (type->children[i], error);
    if (field == NULL)
      return NULL;
    base_struct_builder_add (builder, type->child_names[i], field, TRUE, NULL);
  }
  return base_struct_builder_end (g_steal_pointer (&builder));
}

static BaseType *
nested_to_base (const DuckType *type, GError **error)
{
  g_autoptr (BaseType) first = duck_type_to_base (type->children[0], error);

  if (first == NULL)
    return NULL;
  if (type->kind == DUCK_KIND_LIST)
    return base_type_array (first, TRUE);
  g_autoptr (BaseType) second = duck_type_to_base (type->children[1], error);
  if (second == NULL)
    return NULL;
  return base_type_map (first, second, TRUE);
}

BaseType *
duck_type_to_base (const DuckType *type, GError **error)
{
  switch (type->kind) {
  case DUCK_KIND_NULL:
    return base_type_simple (BASE_TYPE_VOID);
  case DUCK_KIND_BOOLEAN:
    return base_type_simple (BASE_TYPE_BOOLEAN);
  case DUCK_KIND_TINYINT:
    return base_type_simple (BASE_TYPE_BYTE);
  case DUCK_KIND_SMALLINT:
  case DUCK_KIND_UTINYINT:
    return base_type_simple (BASE_TYPE_SHORT);
  case DUCK_KIND_INTEGER:
  case DUCK_KIND_USMALLINT:
    return base_type_simple (BASE_TYPE_INTEGER);
  case DUCK_KIND_BIGINT:
  case DUCK_KIND_UINTEGER:
    return base_type_simple (BASE_TYPE_LONG);
  case DUCK_KIND_UBIGINT:
    return base_type_decimal (20, 0);
  case DUCK_KIND_HUGEINT:
    return base_type_decimal (38, 0);
  case DUCK_KIND_FLOAT:
    return base_type_simple (BASE_TYPE_FLOAT);
  case DUCK_KIND_DOUBLE:
    return base_type_simple (BASE_TYPE_DOUBLE);
  case DUCK_KIND_DECIMAL:
    return base_type_decimal (type->width, type->scale);
  case DUCK_KIND_VARCHAR:
    return base_type_simple (BASE_TYPE_STRING);
  case DUCK_KIND_BLOB:
    return base_type_simple (BASE_TYPE_BINARY);
  case DUCK_KIND_DATE:
    return base_type_simple (BASE_TYPE_DATE);
  case DUCK_KIND_TIMESTAMP:
  case DUCK_KIND_TIMESTAMP_S:
  case DUCK_KIND_TIMESTAMP_MS:
  case DUCK_KIND_TIMESTAMP_NS:
    return base_type_simple (BASE_TYPE_TIMESTAMP_NTZ);
  case DUCK_KIND_TIMESTAMP_TZ:
    return base_type_simple (BASE_TYPE_TIMESTAMP);
  case DUCK_KIND_INTERVAL:
    return base_type_simple (BASE_TYPE_INTERVAL_CALENDAR);
  case DUCK_KIND_LIST:
  case DUCK_KIND_MAP:
    return nested_to_base (type, error);
  case DUCK_KIND_STRUCT:
    return struct_to_base (type, error);
  case DUCK_KIND_UHUGEINT:
  case DUCK_KIND_TIME:
  case DUCK_KIND_UUID:
  case DUCK_KIND_OTHER:
    break;
  }
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_DATATYPE, "The type %s has no equal in Spark", type->name);
  return NULL;
}

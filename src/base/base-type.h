/* Spark's data types as immutable, reference-counted values.
 *
 * One type system serves every room: a Delta table's schema string, the binder, files, history tables. The JSON form is
 * Spark's (`StructType.json`, Delta PROTOCOL.md "Schema Serialization Format"), the text form is `typeof`'s.
 * How a type is stored by DuckDB is known to `duck` alone (duck_type_text).
 */
#pragma once

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef enum {
  BASE_TYPE_VOID, /* the type of NULL */
  BASE_TYPE_BOOLEAN,
  BASE_TYPE_BYTE,
  BASE_TYPE_SHORT,
  BASE_TYPE_INTEGER,
  BASE_TYPE_LONG,
  BASE_TYPE_FLOAT,
  BASE_TYPE_DOUBLE,
  BASE_TYPE_DECIMAL, /* precision 1…38, scale 0…precision */
  BASE_TYPE_STRING,
  BASE_TYPE_BINARY,
  BASE_TYPE_DATE,
  BASE_TYPE_TIMESTAMP,     /* an instant, microseconds since 1970-01-01T00:00:00Z */
  BASE_TYPE_TIMESTAMP_NTZ, /* wall clock without a zone, microseconds */
  BASE_TYPE_INTERVAL_YEAR_MONTH,
  BASE_TYPE_INTERVAL_DAY_TIME,
  BASE_TYPE_INTERVAL_CALENDAR, /* Spark's legacy `interval` */
  BASE_TYPE_VARIANT,
  BASE_TYPE_ARRAY,
  BASE_TYPE_MAP,
  BASE_TYPE_STRUCT,
} BaseTypeKind;

/* Fields of an interval, from coarse to fine; a day-time interval goes from one to another of the last four. */
typedef enum {
  BASE_INTERVAL_YEAR,
  BASE_INTERVAL_MONTH,
  BASE_INTERVAL_DAY,
  BASE_INTERVAL_HOUR,
  BASE_INTERVAL_MINUTE,
  BASE_INTERVAL_SECOND,
} BaseIntervalField;

typedef struct BaseType BaseType;

typedef struct {
  char *name;
  BaseType *type;
  gboolean nullable;
  json_t *metadata; /* (nullable): a JSON object, NULL = empty. Read only. */
} BaseField;

BaseType *base_type_ref (const BaseType *type); /* (transfer full) (nullable) */
void base_type_unref (BaseType *type);          /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BaseType, base_type_unref)

/* Constructors, all (transfer full). They take their own reference on the types given. */
BaseType *base_type_simple (BaseTypeKind kind); /* any kind without parameters */
BaseType *base_type_decimal (guint precision, guint scale);
BaseType *base_type_interval (BaseIntervalField from, BaseIntervalField to); /* both of one family */
BaseType *base_type_array (BaseType *element, gboolean contains_null);
BaseType *base_type_map (BaseType *key, BaseType *value, gboolean value_contains_null);

/* A struct is built field by field. */
typedef struct BaseStructBuilder BaseStructBuilder;
BaseStructBuilder *base_struct_builder_new (void);
/* @metadata: (nullable) (transfer none). Names are kept as written; duplicates are the caller's to refuse. */
void base_struct_builder_add (BaseStructBuilder *builder, const char *name, const BaseType *type, gboolean nullable,
                              const json_t *metadata);
BaseType *base_struct_builder_end (BaseStructBuilder *builder); /* (transfer full); frees @builder */
void base_struct_builder_free (BaseStructBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BaseStructBuilder, base_struct_builder_free)

/* Parts. Asking a part of the wrong kind is a programming mistake (g_assert). Borrows live as long as @type. */
BaseTypeKind base_type_kind (const BaseType *type);
guint base_type_precision (const BaseType *type);
guint base_type_scale (const BaseType *type);
BaseIntervalField base_type_interval_from (const BaseType *type);
BaseIntervalField base_type_interval_to (const BaseType *type);
BaseType *base_type_element (const BaseType *type);      /* array */
BaseType *base_type_key (const BaseType *type);          /* map */
BaseType *base_type_value (const BaseType *type);        /* map */
gboolean base_type_contains_null (const BaseType *type); /* elements of an array, values of a map */
guint base_type_n_fields (const BaseType *type);
const BaseField *base_type_field (const BaseType *type, guint index);
/* Returns: index of the field, or -1. Exact first; then, if @ignore_case, the only field equal but for case (ASCII and
 * Unicode simple folding), -2 when several are. */
int base_type_field_index (const BaseType *type, const char *name, gboolean ignore_case);

gboolean base_type_is_numeric (const BaseType *type);
gboolean base_type_is_integral (const BaseType *type);
gboolean base_type_is_nested (const BaseType *type); /* array, map, struct */
/* Whether @type, or a type anywhere inside it, is of @kind. */
gboolean base_type_holds (const BaseType *type, BaseTypeKind kind);
/* §5.2 of autocdc.md: no MAP and no VARIANT anywhere inside. */
gboolean base_type_is_orderable (const BaseType *type);

typedef enum {
  BASE_TYPE_EQUAL_EXACT = 0,
  BASE_TYPE_EQUAL_IGNORE_NULLABILITY = 1 << 0,
  BASE_TYPE_EQUAL_IGNORE_CASE = 1 << 1, /* of field names */
  BASE_TYPE_EQUAL_IGNORE_NAMES = 1 << 2,
  BASE_TYPE_EQUAL_METADATA = 1 << 3, /* metadata is not compared without this */
} BaseTypeEqualFlags;
gboolean base_type_equal (const BaseType *a, const BaseType *b, BaseTypeEqualFlags flags);

/* `decimal(10,2)`, `struct<a:int,b:array<string>>`, as Spark's typeof prints it. Returns: (transfer full). */
char *base_type_text (const BaseType *type);
/* DDL of a struct's fields: `id BIGINT NOT NULL, name STRING`. Returns: (transfer full). */
char *base_type_ddl (const BaseType *type);

/* Spark's JSON form. @json of a struct is an object, of a plain type a string. Depth is bounded at 100.
 * Errors: SLUICE_ERROR_INVALID_SCHEMA_JSON; SLUICE_ERROR_UNSUPPORTED_DATATYPE for a name it does not know.
 * Returns: (transfer full). */
BaseType *base_type_from_json (const json_t *json, GError **error);
json_t *base_type_to_json (const BaseType *type); /* (transfer full) */

G_END_DECLS

/* DuckDB's types as the engine sees them, and the one mapping between them and Spark's types.
 *
 * DuckType is an immutable, reference-counted tree made from what DuckDB reports (a described query, a result, a kernel's
 * argument). duck_type_text() prints the physical form of a BaseType; duck_type_fits() asks whether a reported type is it.
 */
#pragma once

#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  DUCK_KIND_NULL, /* the untyped NULL (SQLNULL); its vectors hold no data */
  DUCK_KIND_BOOLEAN,
  DUCK_KIND_TINYINT,
  DUCK_KIND_SMALLINT,
  DUCK_KIND_INTEGER,
  DUCK_KIND_BIGINT,
  DUCK_KIND_HUGEINT,
  DUCK_KIND_UTINYINT,
  DUCK_KIND_USMALLINT,
  DUCK_KIND_UINTEGER,
  DUCK_KIND_UBIGINT,
  DUCK_KIND_UHUGEINT,
  DUCK_KIND_FLOAT,
  DUCK_KIND_DOUBLE,
  DUCK_KIND_DECIMAL, /* stored as int16, int32, int64 or int128 by its width */
  DUCK_KIND_VARCHAR,
  DUCK_KIND_BLOB,
  DUCK_KIND_DATE,         /* int32 days since 1970-01-01 */
  DUCK_KIND_TIME,         /* int64 microseconds */
  DUCK_KIND_TIMESTAMP,    /* int64 microseconds, wall clock */
  DUCK_KIND_TIMESTAMP_TZ, /* int64 microseconds, instant */
  DUCK_KIND_TIMESTAMP_S,
  DUCK_KIND_TIMESTAMP_MS,
  DUCK_KIND_TIMESTAMP_NS,
  DUCK_KIND_INTERVAL, /* DuckInterval */
  DUCK_KIND_UUID,     /* int128 as DuckDB stores it (top bit flipped) */
  DUCK_KIND_LIST,     /* one child: the element */
  DUCK_KIND_MAP,      /* two children: key, value */
  DUCK_KIND_STRUCT,   /* named children */
  DUCK_KIND_OTHER,    /* ENUM, UNION, ARRAY, BIT, TIME_TZ …: only its text is known; cast it before reading */
} DuckKind;

typedef struct DuckType DuckType;

DuckType *duck_type_ref (const DuckType *type); /* (transfer full) */
void duck_type_unref (DuckType *type);          /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DuckType, duck_type_unref)

/* Parts; borrows live as long as @type. */
DuckKind duck_type_kind (const DuckType *type);
guint duck_type_width (const DuckType *type); /* of a DECIMAL, else 0 */
guint duck_type_scale (const DuckType *type); /* of a DECIMAL, else 0 */
guint duck_type_n_children (const DuckType *type);
const DuckType *duck_type_child (const DuckType *type, guint index);
const char *duck_type_child_name (const DuckType *type, guint index); /* of a STRUCT */
gboolean duck_type_equal (const DuckType *a, const DuckType *b);      /* struct names compared exactly */
/* DuckDB's text, struct names always quoted: `DECIMAL(10,2)`, `STRUCT("a" INTEGER)[]`. Borrowed. */
const char *duck_type_name (const DuckType *type);

/* The physical form of @type as DuckDB text, struct names always quoted: TIMESTAMP → `TIMESTAMP WITH TIME ZONE`, VOID → INTEGER,
 * INTERVAL_YEAR_MONTH → INTEGER, INTERVAL_DAY_TIME → BIGINT, INTERVAL_CALENDAR → INTERVAL,
 * VARIANT → `STRUCT("value" BLOB, "metadata" BLOB)`. Returns: (transfer full). */
char *duck_type_text (const BaseType *type);
void duck_type_append_text (GString *out, const BaseType *type);

/* Whether @type is exactly the physical form of @base. Where @base is VOID the untyped NULL fits too. Names of struct fields are
 * compared exactly. @where: (out) (optional) (transfer full): set on FALSE, e.g. "c3.a[]: DOUBLE instead of DECIMAL(10,2)". */
gboolean duck_type_fits (const DuckType *type, const BaseType *base, char **where);

/* The Spark type whose physical form is @type, for schemas that come from files: every field nullable, lists and maps contain
 * NULL, HUGEINT and unsigned types widen as Spark's Parquet reader does (UTINYINT → SHORT, USMALLINT → INTEGER, UINTEGER → LONG,
 * UBIGINT → DECIMAL(20,0)), TIMESTAMP_S/MS/NS → TIMESTAMP_NTZ, SQLNULL → VOID. The caller casts where the physical form differs.
 * Errors: SLUICE_ERROR_UNSUPPORTED_DATATYPE. Returns: (transfer full). */
BaseType *duck_type_to_base (const DuckType *type, GError **error);

G_END_DECLS

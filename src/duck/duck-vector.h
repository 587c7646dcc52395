/* A DuckVector is one column of at most duck_vector_capacity() rows (or the elements of a list column), read or written in place.
 *
 * Reading is inline: look at the kind once per vector, then loop over rows. A NULL row's data is garbage and must not be read.
 * Nested columns: STRUCT children have the same row numbers; a LIST or MAP row is a range (offset, length) of rows of its
 * children (one for LIST; key and value for MAP).
 * Borrows (strings, children) live as long as the vector: until the next chunk, or the end of a kernel's call.
 */
#pragma once

#include "duck-type.h"

#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

typedef __int128 DuckInt128;

typedef struct {
  gint32 months;
  gint32 days;
  gint64 us;
} DuckInterval;

typedef struct {
  guint64 offset;
  guint64 length;
} DuckListEntry;

/* DuckDB's 16 byte string: up to 12 bytes inline, else a pointer. */
typedef struct {
  guint32 length;
  char prefix[4];
  union {
    char rest[8];
    const char *pointer;
  } u;
} DuckStringSlot;

typedef struct DuckVector DuckVector;
struct DuckVector {
  DuckKind kind;
  guint8 width, scale;     /* DECIMAL */
  guint8 bytes;            /* size of one slot of @data: 1, 2, 4, 8 or 16; 0 for STRUCT and NULL */
  const guint64 *validity; /* bit set = not NULL; NULL = no row is NULL */
  void *data;              /* @bytes per row */
  guint n_children;
  DuckVector *children;
  void *handle; /* of this room only */
};

/* ---- reading ---- */

static inline gboolean
duck_vector_is_null (const DuckVector *vector, guint64 row)
{
  return vector->validity != NULL && ((vector->validity[row / 64] >> (row % 64)) & 1) == 0;
}

/* One slot by its C type: duck_vector_get (vector, gint64, row). The kind must store that type. */
#define duck_vector_get(vector, c_type, row) (((const c_type *) (vector)->data)[row])

static inline gboolean
duck_vector_bool (const DuckVector *vector, guint64 row)
{
  return duck_vector_get (vector, guint8, row) != 0;
}

/* Any integer kind of up to 64 bits (unsigned ones must be below 2^63), DATE, TIME, TIMESTAMP*, or the unscaled value of a
 * DECIMAL of width ≤ 18. */
static inline gint64
duck_vector_int64 (const DuckVector *vector, guint64 row)
{
  switch (vector->kind) {
  case DUCK_KIND_BOOLEAN:
  case DUCK_KIND_UTINYINT:
    return duck_vector_get (vector, guint8, row);
  case DUCK_KIND_USMALLINT:
    return duck_vector_get (vector, guint16, row);
  case DUCK_KIND_UINTEGER:
    return duck_vector_get (vector, guint32, row);
  default:
    break;
  }
  switch (vector->bytes) {
  case 1:
    return duck_vector_get (vector, gint8, row);
  case 2:
    return duck_vector_get (vector, gint16, row);
  case 4:
    return duck_vector_get (vector, gint32, row);
  default:
    return duck_vector_get (vector, gint64, row);
  }
}

/* Any integer kind, or the unscaled value of any DECIMAL; UHUGEINT must be below 2^127. */
static inline DuckInt128
duck_vector_int128 (const DuckVector *vector, guint64 row)
{
  if (vector->bytes == 16) {
    DuckInt128 value;
    memcpy (&value, (const char *) vector->data + row * 16, 16);
    return value;
  }
  if (vector->kind == DUCK_KIND_UBIGINT)
    return duck_vector_get (vector, guint64, row);
  return duck_vector_int64 (vector, row);
}

/* FLOAT, DOUBLE; anything else through duck_vector_int64(), a DECIMAL unscaled. */
static inline double
duck_vector_double (const DuckVector *vector, guint64 row)
{
  if (vector->kind == DUCK_KIND_DOUBLE)
    return duck_vector_get (vector, double, row);
  if (vector->kind == DUCK_KIND_FLOAT)
    return (double) duck_vector_get (vector, float, row);
  return (double) duck_vector_int64 (vector, row);
}

/* VARCHAR (valid UTF-8) or BLOB; not NUL-terminated, may hold NUL. */
static inline const char *
duck_vector_string (const DuckVector *vector, guint64 row, gsize *length)
{
  const DuckStringSlot *slot = (const DuckStringSlot *) vector->data + row;

  *length = slot->length;
  return slot->length <= 12 ? slot->prefix : slot->u.pointer;
}

static inline DuckInterval
duck_vector_interval (const DuckVector *vector, guint64 row)
{
  return duck_vector_get (vector, DuckInterval, row);
}

/* Of a LIST or MAP: rows offset … offset+length-1 of the children. */
static inline DuckListEntry
duck_vector_list (const DuckVector *vector, guint64 row)
{
  return duck_vector_get (vector, DuckListEntry, row);
}

/* Most rows of a chunk (2048). */
guint duck_vector_capacity (void);

/* A NUL-terminated copy; NULL for a NULL row. Returns: (transfer full) (nullable). */
char *duck_vector_dup_string (const DuckVector *vector, guint64 row);

/* Appends one cell as JSON text: numbers as numbers (DECIMAL exactly, HUGEINT too), NaN and infinities as strings, BLOB as
 * base64 string, DATE and TIMESTAMP as ISO strings (an instant in UTC with `Z`), INTERVAL as a string, LIST as array, STRUCT as object in
 * @type's names, MAP as an object with the keys' text (a map with NULL or nested keys: array of {"key","value"}).
 * @type: the vector's type (names of struct fields). */
void duck_vector_append_json (const DuckVector *vector, const DuckType *type, guint64 row, GString *out);

/* ---- writing (only a kernel's result) ---- */

/* One slot of a fixed-width kind: duck_vector_set (vector, gint64, row, value). */
#define duck_vector_set(vector, c_type, row, value) (((c_type *) (vector)->data)[row] = (value))

/* Any integer or DECIMAL kind by its unscaled value; the value must fit. */
static inline void
duck_vector_set_int128 (DuckVector *vector, guint64 row, DuckInt128 value)
{
  switch (vector->bytes) {
  case 1:
    duck_vector_set (vector, gint8, row, (gint8) value);
    break;
  case 2:
    duck_vector_set (vector, gint16, row, (gint16) value);
    break;
  case 4:
    duck_vector_set (vector, gint32, row, (gint32) value);
    break;
  case 8:
    duck_vector_set (vector, gint64, row, (gint64) value);
    break;
  default:
    memcpy ((char *) vector->data + row * 16, &value, 16);
  }
}

/* Makes a row NULL, with everything below it. */
void duck_vector_set_null (DuckVector *vector, guint64 row);
/* VARCHAR or BLOB. The bytes are copied. Text that is not UTF-8 silently becomes NULL in DuckDB: a kernel that makes text of
 * foreign bytes checks them first. */
void duck_vector_set_string (DuckVector *vector, guint64 row, const char *text, gsize length);
/* Gives a LIST or MAP row @length new elements and returns the number of the first row of the children to write. Rows must be
 * given in ascending order. Data pointers of the children taken before the call are stale after it (children[i].data is not).
 * A kernel bounds @length itself: the memory is not counted by the engine's limit, and beyond 128 GiB DuckDB ends the query by an
 * exception that passes over the kernel without freeing what it holds. */
guint64 duck_vector_set_list (DuckVector *vector, guint64 row, guint64 length);

G_END_DECLS

/* What kernels share. A file of kernels exports its rows; relation-kernel.c registers them all. */
#pragma once

#include "base-error.h"
#include "base-type.h"
#include "duck-kernel.h"
#include "relation-civil-private.h"
#include "relation-number-private.h"
#include "relation-zone-private.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

/* user_data of every kernel. */
typedef struct {
  RelationZones *zones;
} RelationKernels;

const DuckKernel *relation_kernel_rows_cast (guint *n);
const DuckKernel *relation_kernel_rows_decimal (guint *n);
const DuckKernel *relation_kernel_rows_hash (guint *n);
const DuckKernel *relation_kernel_rows_string (guint *n);
const DuckKernel *relation_kernel_rows_text (guint *n);
const DuckKernel *relation_kernel_rows_regex (guint *n);
const DuckKernel *relation_kernel_rows_time (guint *n);
const DuckKernel *relation_kernel_rows_json (guint *n);
const DuckKernel *relation_kernel_rows_math (guint *n);
const DuckKernel *relation_kernel_rows_list (guint *n);
const DuckKernel *relation_kernel_rows_variant (guint *n);

/* ---- the constant `spec` argument: a JSON object with the types and options that DuckDB's types do not tell ---- */

/* Parses the constant argument @arg. Errors: INTERNAL_ERROR when it is not one. Returns: (transfer full). */
json_t *relation_kernel_spec (const DuckKernelBind *bind, guint arg, GError **error);
/* The zone named by @spec's "zone", NULL when it has none. FALSE on error. */
gboolean relation_kernel_spec_zone (RelationKernels *kernels, const json_t *spec, const RelationZone **zone,
                                    GError **error);

/* A cache of zones that reads them from @engine, which must outlive it. Returns: (transfer full). */
RelationZones *relation_kernels_new_zones (DuckEngine *engine);

/* ---- values as text ---- */

/* Bytes of the character at @p, in valid UTF-8. */
static inline gsize
relation_utf8_char_size (const char *p)
{
  guchar c = (guchar) *p;
  return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static inline gint64
relation_utf8_n_chars (const char *text, gsize size)
{
  gint64 n = 0;
  for (gsize i = 0; i < size; i++)
    n += ((guchar) text[i] & 0xc0) != 0x80;
  return n;
}

/* CAST(value AS STRING): `[1, null]`, `{a -> 1}`, `{1, x}`. A NULL at the top gives `null`. @zone: (nullable) when the type
 * has no TIMESTAMP. Errors: that of a malformed VARIANT. */
gboolean relation_value_append_text (GString *out, const BaseType *type, const DuckVector *vector, guint64 row,
                                     const RelationZone *zone, GError **error);
/* Bytes that may not be UTF-8, with U+FFFD for what is not, as Java decodes. Returns: whether all was UTF-8. */
gboolean relation_append_utf8 (GString *out, const char *bytes, gsize size);
/* Sets a string result from @text. */
static inline void
relation_vector_set_gstring (DuckVector *vector, guint64 row, const GString *text)
{
  duck_vector_set_string (vector, row, text->str, text->len);
}

/* Sets an integer result of up to 64 bits. FALSE: @value does not fit it. */
static inline gboolean
relation_vector_store_integer (DuckVector *vector, guint64 row, RelationInt128 value)
{
  gint64 max = G_MAXINT64 >> (64 - 8 * vector->bytes);
  if (value > max || value < -(RelationInt128) max - 1)
    return FALSE;
  duck_vector_set_int128 (vector, row, value);
  return TRUE;
}

/* ---- conversion of one value ---- */

typedef struct {
  RelationKernels *kernels;
  const RelationZone *zone; /* (nullable): the session's */
  gboolean try_cast;        /* NULL instead of an error */
  gboolean store;           /* overflow is CAST_OVERFLOW_IN_TABLE_INSERT */
  const char *column;       /* (nullable): that is stored into */
} RelationConvert;

/* Casts one value, nested or not, and writes it. */
gboolean relation_convert_value (const RelationConvert *convert, const BaseType *from, const DuckVector *in,
                                 guint64 row, const BaseType *to, DuckVector *out, guint64 out_row, GError **error);
/* The same from a string's bytes to a type that is not nested. */
gboolean relation_convert_text (const RelationConvert *convert, const char *text, gsize size, const BaseType *to,
                                DuckVector *out, guint64 out_row, GError **error);

/* JSON text of a VARIANT; Errors: INVALID_PARAMETER_VALUE-like conditions of a malformed one. */
gboolean relation_variant_append_json (GString *out, const char *value, gsize value_size, const char *metadata,
                                       gsize metadata_size, const RelationZone *zone, GError **error);

G_END_DECLS

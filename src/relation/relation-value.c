/* Values as text, as CAST(… AS STRING) prints them; see relation-kernel-private.h. */
#include "relation-interval-private.h"
#include "relation-kernel-private.h"

/* Length of the well-formed sequence at @p, or minus the number of bytes one replacement mark stands for. */
static int
sequence_length (const guchar *p, gsize size)
{
  static const struct {
    guchar low, high, second_low, second_high;
    int length;
  } leads[] = {
    { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
    { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
    { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
  };
  if (p[0] < 0x80)
    return 1;
  for (gsize i = 0; i < G_N_ELEMENTS (leads); i++) {
    if (p[0] < leads[i].low || p[0] > leads[i].high)
      continue;
    if (size < 2 || p[1] < leads[i].second_low || p[1] > leads[i].second_high)
      return -1;
    for (int k = 2; k < leads[i].length; k++)
      if ((gsize) k >= size || (p[k] & 0xc0) != 0x80)
        return -k;
    return leads[i].length;
  }
  return -1;
}

gboolean
relation_append_utf8 (GString *out, const char *bytes, gsize size)
{
  const guchar *p = (const guchar *) bytes;
  gboolean valid = TRUE;
  while (size > 0) {
    int n = sequence_length (p, size);
    if (n > 0)
      g_string_append_len (out, (const char *) p, n);
    else
      g_string_append (out, "\357\277\275");
    valid &= n > 0;
    n = ABS (n);
    p += n;
    size -= (gsize) n;
  }
  return valid;
}

static gboolean
append_nested (GString *out, const BaseType *type, const DuckVector *vector, guint64 row, const RelationZone *zone,
               GError **error)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_ARRAY: {
    DuckListEntry entry = duck_vector_list (vector, row);
    g_string_append_c (out, '[');
    for (guint64 i = 0; i < entry.length; i++) {
      if (i > 0)
        g_string_append (out, ", ");
      if (!relation_value_append_text (out, base_type_element (type), &vector->children[0], entry.offset + i, zone,
                                       error))
        return FALSE;
    }
    g_string_append_c (out, ']');
    return TRUE;
  }
  case BASE_TYPE_MAP: {
    DuckListEntry entry = duck_vector_list (vector, row);
    g_string_append_c (out, '{');
    for (guint64 i = 0; i < entry.length; i++) {
      if (i > 0)
        g_string_append (out, ", ");
      if (!relation_value_append_text (out, base_type_key (type), &vector->children[0], entry.offset + i, zone, error))
        return FALSE;
      g_string_append (out, " ->");
      g_string_append_c (out, ' ');
      if (!relation_value_append_text (out, base_type_value (type), &vector->children[1], entry.offset + i, zone,
                                       error))
        return FALSE;
    }
    g_string_append_c (out, '}');
    return TRUE;
  }
  default: {
    g_string_append_c (out, '{');
    for (guint i = 0; i < base_type_n_fields (type); i++) {
      if (i > 0)
        g_string_append (out, ", ");
      if (!relation_value_append_text (out, base_type_field (type, i)->type, &vector->children[i], row, zone, error))
        return FALSE;
    }
    g_string_append_c (out, '}');
    return TRUE;
  }
  }
}

gboolean
relation_value_append_text (GString *out, const BaseType *type, const DuckVector *vector, guint64 row,
                            const RelationZone *zone, GError **error)
{
  char text[RELATION_NUMBER_TEXT_SIZE];
  if (base_type_kind (type) == BASE_TYPE_VOID || duck_vector_is_null (vector, row)) {
    g_string_append (out, "null");
    return TRUE;
  }
  switch (base_type_kind (type)) {
  case BASE_TYPE_VOID:
    break;
  case BASE_TYPE_BOOLEAN:
    g_string_append (out, duck_vector_bool (vector, row) ? "true" : "false");
    break;
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    g_string_append_printf (out, "%" G_GINT64_FORMAT, duck_vector_int64 (vector, row));
    break;
  case BASE_TYPE_FLOAT:
    g_string_append_len (out, text, (gssize) relation_float_text (duck_vector_get (vector, float, row), text));
    break;
  case BASE_TYPE_DOUBLE:
    g_string_append_len (out, text, (gssize) relation_double_text (duck_vector_get (vector, double, row), text));
    break;
  case BASE_TYPE_DECIMAL:
    g_string_append_len (
        out, text, (gssize) relation_decimal_text (duck_vector_int128 (vector, row), base_type_scale (type), text));
    break;
  case BASE_TYPE_STRING: {
    gsize size;
    const char *bytes = duck_vector_string (vector, row, &size);
    g_string_append_len (out, bytes, (gssize) size);
    break;
  }
  case BASE_TYPE_BINARY: {
    gsize size;
    const char *bytes = duck_vector_string (vector, row, &size);
    (void) relation_append_utf8 (out, bytes, size); /* shown as far as it can be */
    break;
  }
  case BASE_TYPE_DATE:
    g_string_append_len (out, text, (gssize) relation_date_text (duck_vector_int64 (vector, row), text));
    break;
  case BASE_TYPE_TIMESTAMP: {
    gint64 us = relation_zone_to_wall (zone, duck_vector_int64 (vector, row));
    g_string_append_len (out, text, (gssize) relation_wall_text (us, text));
    break;
  }
  case BASE_TYPE_TIMESTAMP_NTZ:
    g_string_append_len (out, text, (gssize) relation_wall_text (duck_vector_int64 (vector, row), text));
    break;
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
    relation_interval_append_months (out, duck_vector_int64 (vector, row), base_type_interval_from (type),
                                     base_type_interval_to (type));
    break;
  case BASE_TYPE_INTERVAL_DAY_TIME:
    relation_interval_append_us (out, duck_vector_int64 (vector, row), base_type_interval_from (type),
                                 base_type_interval_to (type));
    break;
  case BASE_TYPE_INTERVAL_CALENDAR: {
    DuckInterval interval = duck_vector_interval (vector, row);
    relation_interval_append_calendar (out, interval.months, interval.days, interval.us);
    break;
  }
  case BASE_TYPE_VARIANT:
    return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "VARIANT as a string is not supported");
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return append_nested (out, type, vector, row, zone, error);
  }
  return TRUE;
}

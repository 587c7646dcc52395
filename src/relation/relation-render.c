/* Values as text and JSON; see relation-render.h. The JSON form is the one in which Spark's answers were recorded. */
#include "relation-render.h"

#include "relation-interval-private.h"
#include "relation-kernel-private.h"

#include <stdio.h>
#include <string.h>

struct RelationRenderer {
  RelationZones *zones; /* owns @zone */
  const RelationZone *zone;
};

RelationRenderer *
relation_renderer_new (DuckEngine *engine, const char *time_zone, GError **error)
{
  g_autoptr (RelationRenderer) renderer = g_new0 (RelationRenderer, 1);

  renderer->zones = relation_kernels_new_zones (engine);
  renderer->zone = relation_zones_get (renderer->zones, time_zone, strlen (time_zone), error);
  return renderer->zone == NULL ? NULL : g_steal_pointer (&renderer);
}

void
relation_renderer_free (RelationRenderer *renderer)
{
  if (renderer == NULL)
    return;
  relation_zones_unref (renderer->zones);
  g_free (renderer);
}

gboolean
relation_renderer_append_text (RelationRenderer *renderer, GString *out, const BaseType *type, const DuckVector *vector,
                               guint64 row, GError **error)
{
  return relation_value_append_text (out, type, vector, row, renderer->zone, error);
}

void
relation_render_json_string (GString *out, const char *text, gssize size)
{
  gsize n = size < 0 ? strlen (text) : (gsize) size;

  g_string_append_c (out, '"');
  for (gsize i = 0; i < n; i++) {
    guchar c = (guchar) text[i];
    if (c == '"' || c == '\\')
      g_string_append_c (out, '\\');
    if (c >= 0x20)
      g_string_append_c (out, (char) c);
    else if (c == '\n')
      g_string_append (out, "\\n");
    else if (c == '\t')
      g_string_append (out, "\\t");
    else if (c == '\r')
      g_string_append (out, "\\r");
    else
      g_string_append_printf (out, "\\u%04x", c);
  }
  g_string_append_c (out, '"');
}

/* NaN and infinities are no JSON numbers. */
static void
append_number (GString *out, const char *text, gsize size)
{
  gboolean is_number = g_ascii_isdigit (text[size - 1]);

  g_string_append (out, is_number ? "" : "\"");
  g_string_append_len (out, text, (gssize) size);
  g_string_append (out, is_number ? "" : "\"");
}

static void
append_instant (GString *out, gint64 us, const char *end)
{
  char text[RELATION_CIVIL_TEXT_SIZE];
  gint64 day = relation_floor_div (us, RELATION_US_PER_DAY);
  gint64 in_day = relation_floor_mod (us, RELATION_US_PER_DAY);
  gint64 seconds = in_day / RELATION_US_PER_SECOND;

  g_string_append_c (out, '"');
  g_string_append_len (out, text, (gssize) relation_date_text (day, text));
  g_string_append_printf (out, "T%02d:%02d:%02d.%06d%s\"", (int) (seconds / 3600), (int) (seconds / 60 % 60),
                          (int) (seconds % 60), (int) (in_day % RELATION_US_PER_SECOND), end);
}

static void
append_hex (GString *out, const DuckVector *vector, guint64 row)
{
  gsize size;
  const char *bytes = duck_vector_string (vector, row, &size);

  g_string_append_c (out, '"');
  for (gsize i = 0; i < size; i++)
    g_string_append_printf (out, "%02x", (guchar) bytes[i]);
  g_string_append_c (out, '"');
}

static gboolean
append_array (RelationRenderer *renderer, GString *out, const BaseType *type, const DuckVector *vector, guint64 row,
              GError **error)
{
  DuckListEntry entry = duck_vector_list (vector, row);

  g_string_append_c (out, '[');
  for (guint64 i = 0; i < entry.length; i++) {
    g_string_append (out, i == 0 ? "" : ",");
    if (!relation_renderer_append_json (renderer, out, base_type_element (type), &vector->children[0], entry.offset + i,
                                        error))
      return FALSE;
  }
  g_string_append_c (out, ']');
  return TRUE;
}

/* An entry of a map before it is sorted. */
typedef struct {
  guint64 row;
  char *key;
} MapEntry;

typedef struct {
  const BaseType *key_type;
  const DuckVector *keys;
} MapOrder;

static void
map_entry_clear (gpointer data)
{
  g_free (((MapEntry *) data)->key);
}

/* Numbers by value, the rest by their JSON text, which for strings is their bytes but for escapes. */
static int
compare_entries (gconstpointer a, gconstpointer b, gpointer data)
{
  const MapEntry *left = a, *right = b;
  const MapOrder *order = data;

  if (base_type_is_integral (order->key_type)) {
    gint64 x = duck_vector_int64 (order->keys, left->row), y = duck_vector_int64 (order->keys, right->row);
    return x < y ? -1 : x > y;
  }
  if (base_type_kind (order->key_type) == BASE_TYPE_DOUBLE || base_type_kind (order->key_type) == BASE_TYPE_FLOAT) {
    double x = duck_vector_double (order->keys, left->row), y = duck_vector_double (order->keys, right->row);
    return x < y ? -1 : x > y;
  }
  return strcmp (left->key, right->key);
}

static gboolean
append_map (RelationRenderer *renderer, GString *out, const BaseType *type, const DuckVector *vector, guint64 row,
            GError **error)
{
  DuckListEntry entry = duck_vector_list (vector, row);
  MapOrder order = { base_type_key (type), &vector->children[0] };
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (MapEntry));

  g_array_set_clear_func (entries, map_entry_clear);
  for (guint64 i = 0; i < entry.length; i++) {
    g_autoptr (GString) key = g_string_new (NULL);
    MapEntry item = { .row = entry.offset + i };
    if (!relation_renderer_append_json (renderer, key, order.key_type, order.keys, item.row, error))
      return FALSE;
    item.key = g_string_free (g_steal_pointer (&key), FALSE);
    g_array_append_val (entries, item);
  }
  g_array_sort_with_data (entries, compare_entries, &order);
  g_string_append_c (out, '[');
  for (guint i = 0; i < entries->len; i++) {
    const MapEntry *item = &g_array_index (entries, MapEntry, i);
    g_string_append_printf (out, "%s[%s,", i == 0 ? "" : ",", item->key);
    if (!relation_renderer_append_json (renderer, out, base_type_value (type), &vector->children[1], item->row, error))
      return FALSE;
    g_string_append_c (out, ']');
  }
  g_string_append_c (out, ']');
  return TRUE;
}

static gboolean
names_repeat (const BaseType *type)
{
  for (guint i = 0; i < base_type_n_fields (type); i++)
    for (guint k = 0; k < i; k++)
      if (strcmp (base_type_field (type, i)->name, base_type_field (type, k)->name) == 0)
        return TRUE;
  return FALSE;
}

static gboolean
append_struct (RelationRenderer *renderer, GString *out, const BaseType *type, const DuckVector *vector, guint64 row,
               GError **error)
{
  gboolean is_list = names_repeat (type);

  g_string_append_c (out, is_list ? '[' : '{');
  for (guint i = 0; i < base_type_n_fields (type); i++) {
    const BaseField *field = base_type_field (type, i);
    g_string_append (out, i == 0 ? "" : ",");
    g_string_append (out, is_list ? "[" : "");
    relation_render_json_string (out, field->name, -1);
    g_string_append_c (out, is_list ? ',' : ':');
    if (!relation_renderer_append_json (renderer, out, field->type, &vector->children[i], row, error))
      return FALSE;
    g_string_append (out, is_list ? "]" : "");
  }
  g_string_append_c (out, is_list ? ']' : '}');
  return TRUE;
}

gboolean
relation_renderer_append_json (RelationRenderer *renderer, GString *out, const BaseType *type, const DuckVector *vector,
                               guint64 row, GError **error)
{
  char text[RELATION_NUMBER_TEXT_SIZE];

  if (base_type_kind (type) == BASE_TYPE_VOID || duck_vector_is_null (vector, row)) {
    g_string_append (out, "null");
    return TRUE;
  }
  switch (base_type_kind (type)) {
  case BASE_TYPE_VOID:
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
    return relation_value_append_text (out, type, vector, row, renderer->zone, error);
  case BASE_TYPE_FLOAT:
    append_number (out, text, relation_float_text (duck_vector_get (vector, float, row), text));
    return TRUE;
  case BASE_TYPE_DOUBLE:
    append_number (out, text, relation_double_text (duck_vector_get (vector, double, row), text));
    return TRUE;
  case BASE_TYPE_STRING: {
    gsize size;
    const char *bytes = duck_vector_string (vector, row, &size);
    relation_render_json_string (out, bytes, (gssize) size);
    return TRUE;
  }
  case BASE_TYPE_BINARY:
    append_hex (out, vector, row);
    return TRUE;
  case BASE_TYPE_TIMESTAMP:
    append_instant (out, duck_vector_int64 (vector, row), "Z");
    return TRUE;
  case BASE_TYPE_TIMESTAMP_NTZ:
    append_instant (out, duck_vector_int64 (vector, row), "");
    return TRUE;
  case BASE_TYPE_DECIMAL:
  case BASE_TYPE_DATE:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR:
  case BASE_TYPE_VARIANT: {
    g_autoptr (GString) plain = g_string_new (NULL);
    if (!relation_value_append_text (plain, type, vector, row, renderer->zone, error))
      return FALSE;
    relation_render_json_string (out, plain->str, (gssize) plain->len);
    return TRUE;
  }
  case BASE_TYPE_ARRAY:
    return append_array (renderer, out, type, vector, row, error);
  case BASE_TYPE_MAP:
    return append_map (renderer, out, type, vector, row, error);
  case BASE_TYPE_STRUCT:
    return append_struct (renderer, out, type, vector, row, error);
  }
  return TRUE;
}

/* Statistics of data files.
 *
 * A wrong bound loses rows silently, a missing one only costs time. So:
 *
 * 1. A bound that is not certain is left out: NaN in the column, infinities, years outside 1…9999, text that is not UTF-8.
 * 2. Strings are cut to 32 characters; a cut maximum gets U+10FFFF appended, which no character exceeds bytewise.
 * 3. Timestamps are milliseconds, minimum rounded down and maximum rounded up, so that readers that take a bound literally and
 *    readers that add the millisecond themselves are both right.
 * 4. The maximum -0.0 is written as 0.0: there are readers that take -0.0 for less than 0.0, in Parquet as well.
 * 5. Booleans and binaries have counts only, arrays and maps nothing (Parquet counts their elements, not their rows).
 */
#include "write-statistics.h"

#include "base-json.h"
#include "base-text.h"

#include <string.h>

#define STRING_BOUND_CHARS      32
#define DEFAULT_INDEXED_COLUMNS 32

/* ---- one bound ---- */

static char *
json_quoted (const char *text)
{
  g_autoptr (json_t) value = json_string_nocheck (text);
  return base_json_text (value);
}

static char *
string_bound (const char *text, gboolean is_max)
{
  if (!g_utf8_validate (text, -1, NULL))
    return NULL;
  if (g_utf8_strlen (text, -1) <= STRING_BOUND_CHARS)
    return json_quoted (text);
  const char *end = g_utf8_offset_to_pointer (text, STRING_BOUND_CHARS);
  if (is_max && g_utf8_get_char (end) == 0x10ffff)
    return NULL;
  g_autofree char *cut = g_strndup (text, (gsize) (end - text));
  g_autofree char *bound = is_max ? g_strconcat (cut, "\xf4\x8f\xbf\xbf", NULL) : g_steal_pointer (&cut);
  return json_quoted (bound);
}

/* A decimal number that JSON accepts as it stands: an optional sign, digits, a fraction, an exponent. */
static gboolean
is_number (const char *text)
{
  const char *at = *text == '-' ? text + 1 : text;
  if (!g_ascii_isdigit (*at) || (at[0] == '0' && g_ascii_isdigit (at[1])))
    return FALSE;
  while (g_ascii_isdigit (*at))
    at++;
  if (*at == '.') {
    if (!g_ascii_isdigit (*++at))
      return FALSE;
    while (g_ascii_isdigit (*at))
      at++;
  }
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-')
      at++;
    if (!g_ascii_isdigit (*at))
      return FALSE;
    while (g_ascii_isdigit (*at))
      at++;
  }
  return *at == '\0';
}

/* `2020-01-31` of the years 0001 to 9999. */
static gboolean
is_plain_date (const char *text)
{
  for (guint i = 0; i < 10; i++) {
    if (i == 4 || i == 7 ? text[i] != '-' : !g_ascii_isdigit (text[i]))
      return FALSE;
  }
  return strncmp (text, "0000", 4) != 0;
}

/* -1 when they are none, which no date accepts. */
static int
two_digits (const char *text)
{
  return g_ascii_isdigit (text[0]) && g_ascii_isdigit (text[1]) ? (text[0] - '0') * 10 + (text[1] - '0') : -1;
}

/* `2020-01-31 12:30:59[.123456][+00]` → the same in milliseconds, as Delta writes it. */
static char *
timestamp_bound (const char *text, gboolean with_zone, gboolean is_max)
{
  gsize length = strlen (text);
  if (with_zone) {
    if (!g_str_has_suffix (text, "+00"))
      return NULL;
    length -= 3;
  }
  if (length < 19 || !is_plain_date (text) || text[10] != ' ' || text[13] != ':' || text[16] != ':')
    return NULL;
  gint64 fraction = 0;
  guint n_digits = 0;
  if (length > 19) {
    if (text[19] != '.' || length > 26)
      return NULL;
    for (gsize i = 20; i < length; i++, n_digits++) {
      if (!g_ascii_isdigit (text[i]))
        return NULL;
      fraction = fraction * 10 + (text[i] - '0');
    }
  }
  for (; n_digits < 6; n_digits++)
    fraction *= 10;

  g_autoptr (GDateTime) time = g_date_time_new_utc (
      two_digits (text) * 100 + two_digits (text + 2), two_digits (text + 5), two_digits (text + 8),
      two_digits (text + 11), two_digits (text + 14), two_digits (text + 17));
  if (time == NULL)
    return NULL;
  gint64 ms = fraction / 1000;
  if (is_max && fraction % 1000 != 0)
    ms++;
  g_autoptr (GDateTime) rounded = g_date_time_add_seconds (time, ms / 1000);
  if (rounded == NULL || g_date_time_get_year (rounded) > 9999)
    return NULL;
  return g_strdup_printf ("\"%04d-%02d-%02dT%02d:%02d:%02d.%03d%s\"", g_date_time_get_year (rounded),
                          g_date_time_get_month (rounded), g_date_time_get_day_of_month (rounded),
                          g_date_time_get_hour (rounded), g_date_time_get_minute (rounded),
                          g_date_time_get_second (rounded), (int) (ms % 1000), with_zone ? "Z" : "");
}

char *
write_statistics_bound (const BaseType *type, const char *text, gboolean is_max)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_DECIMAL:
    return is_number (text) ? g_strdup (text) : NULL;
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
    if (is_max && (g_str_equal (text, "-0.0") || g_str_equal (text, "-0")))
      return g_strdup ("0.0");
    return is_number (text) ? g_strdup (text) : NULL;
  case BASE_TYPE_STRING:
    return string_bound (text, is_max);
  case BASE_TYPE_DATE:
    return strlen (text) == 10 && is_plain_date (text) ? g_strdup_printf ("\"%s\"", text) : NULL;
  case BASE_TYPE_TIMESTAMP:
    return timestamp_bound (text, TRUE, is_max);
  case BASE_TYPE_TIMESTAMP_NTZ:
    return timestamp_bound (text, FALSE, is_max);
  case BASE_TYPE_BOOLEAN:
  case BASE_TYPE_BINARY:
  case BASE_TYPE_VOID:
  case BASE_TYPE_INTERVAL_YEAR_MONTH:
  case BASE_TYPE_INTERVAL_DAY_TIME:
  case BASE_TYPE_INTERVAL_CALENDAR:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_STRUCT:
    return NULL;
  }
  return NULL;
}

/* ---- all columns of a file ---- */

typedef struct {
  const DuckCopyFile *file;
  DeltaMapping mapping;
  char **chosen;      /* (nullable): dataSkippingStatsColumns, logical paths */
  gint64 n_remaining; /* leaf columns still to be indexed; G_MAXINT64 = all */
  json_t *clustering; /* (nullable): a list of columns, each a list of physical names, or one name */
  GPtrArray *path;    /* physical names from the top */
  GPtrArray *logical;
} Collector;

/* The three objects of one level, as texts; empty ones are not printed. */
typedef struct {
  GString *min, *max, *nulls;
} Level;

static void
level_begin (Level *level)
{
  level->min = g_string_new (NULL);
  level->max = g_string_new (NULL);
  level->nulls = g_string_new (NULL);
}

static void
level_end (Level *level)
{
  g_string_free (level->min, TRUE);
  g_string_free (level->max, TRUE);
  g_string_free (level->nulls, TRUE);
}

static void
append_member (GString *object, const char *name, const char *value)
{
  g_autofree char *key = json_quoted (name);
  if (object->len > 0)
    g_string_append_c (object, ',');
  g_string_append_printf (object, "%s:%s", key, value);
}

static void
append_object (GString *parent, const char *name, const GString *members)
{
  if (members->len == 0)
    return;
  g_autofree char *value = g_strdup_printf ("{%s}", members->str);
  append_member (parent, name, value);
}

/* Whether the path so far, or one of its ancestors, was chosen by dataSkippingStatsColumns. */
static gboolean
is_chosen (Collector *collector)
{
  if (collector->chosen == NULL)
    return collector->n_remaining > 0;
  g_autoptr (GString) path = g_string_new (NULL);
  for (guint i = 0; i < collector->logical->len; i++) {
    if (i > 0)
      g_string_append_c (path, '.');
    g_string_append (path, collector->logical->pdata[i]);
    for (char **chosen = collector->chosen; *chosen != NULL; chosen++) {
      if (base_text_equal_ignore_case (path->str, *chosen))
        return TRUE;
    }
  }
  return FALSE;
}

/* Whether the rows are clustered by the column of @path. */
static gboolean
is_clustering_column (Collector *collector, const GPtrArray *path)
{
  size_t at;
  json_t *column;
  json_array_foreach (collector->clustering, at, column)
  {
    if (path->len == 1 && g_strcmp0 (json_string_value (column), path->pdata[0]) == 0)
      return TRUE;
    gboolean equal = json_array_size (column) == path->len;
    for (guint i = 0; equal && i < path->len; i++)
      equal = g_strcmp0 (json_string_value (json_array_get (column, i)), path->pdata[i]) == 0;
    if (equal)
      return TRUE;
  }
  return FALSE;
}

static void
collect_leaf (Collector *collector, const BaseType *type, const char *name, Level *level)
{
  if (!is_chosen (collector) && !is_clustering_column (collector, collector->path))
    return;
  if (collector->n_remaining != G_MAXINT64)
    collector->n_remaining--;
  g_ptr_array_add (collector->path, NULL);
  const DuckColumnStats *stats = duck_copy_file_column (collector->file, (const char *const *) collector->path->pdata);
  g_ptr_array_set_size (collector->path, (gint) collector->path->len - 1);
  if (stats == NULL)
    return;
  if (stats->null_count >= 0) {
    g_autofree char *count = g_strdup_printf ("%" G_GINT64_FORMAT, stats->null_count);
    append_member (level->nulls, name, count);
  }
  gboolean floating = base_type_kind (type) == BASE_TYPE_FLOAT || base_type_kind (type) == BASE_TYPE_DOUBLE;
  if (stats->min == NULL || stats->max == NULL || (floating && stats->has_nan != 0))
    return;
  g_autofree char *min = write_statistics_bound (type, stats->min, FALSE);
  g_autofree char *max = write_statistics_bound (type, stats->max, TRUE);
  if (min != NULL)
    append_member (level->min, name, min);
  if (max != NULL)
    append_member (level->max, name, max);
}

static void
collect_field (Collector *collector, const BaseField *field, Level *parent)
{
  const char *name = delta_field_physical_name (field, collector->mapping);
  g_ptr_array_add (collector->path, (gpointer) name);
  g_ptr_array_add (collector->logical, field->name);
  switch (base_type_kind (field->type)) {
  case BASE_TYPE_STRUCT: {
    Level level;
    level_begin (&level);
    for (guint i = 0; i < base_type_n_fields (field->type); i++)
      collect_field (collector, base_type_field (field->type, i), &level);
    append_object (parent->min, name, level.min);
    append_object (parent->max, name, level.max);
    append_object (parent->nulls, name, level.nulls);
    level_end (&level);
    break;
  }
  case BASE_TYPE_ARRAY:
  case BASE_TYPE_MAP:
  case BASE_TYPE_VARIANT:
  case BASE_TYPE_VOID:
    break;
  default:
    collect_leaf (collector, field->type, name, parent);
    break;
  }
  g_ptr_array_set_size (collector->path, (gint) collector->path->len - 1);
  g_ptr_array_set_size (collector->logical, (gint) collector->logical->len - 1);
}

char *
write_statistics_text (WriteLayout *layout, const DuckCopyFile *file, const char *clustering, gboolean tight)
{
  DeltaMetadata *metadata = write_layout_metadata (layout);
  gint64 n_indexed = delta_metadata_int (metadata, "delta.dataSkippingNumIndexedCols", DEFAULT_INDEXED_COLUMNS);
  const char *names = delta_metadata_property (metadata, "delta.dataSkippingStatsColumns");
  g_auto (GStrv) chosen = names != NULL ? g_strsplit (names, ",", -1) : NULL;
  for (char **name = chosen; name != NULL && *name != NULL; name++) {
    g_strstrip (*name);
    g_strdelimit (*name, "`", ' ');
    g_strstrip (*name);
  }
  g_autoptr (json_t) domain =
      clustering != NULL ? base_json_parse (clustering, strlen (clustering), "delta.clustering", NULL) : NULL;
  g_autoptr (GPtrArray) path = g_ptr_array_new ();
  g_autoptr (GPtrArray) logical = g_ptr_array_new ();
  Collector collector = {
    .file = file,
    .mapping = delta_metadata_mapping (metadata),
    .chosen = chosen,
    .n_remaining = n_indexed < 0 ? G_MAXINT64 : n_indexed,
    .clustering = json_object_get (domain, "clusteringColumns"),
    .path = path,
    .logical = logical,
  };
  Level level;
  level_begin (&level);
  for (guint i = 0; i < write_layout_n_columns (layout); i++) {
    const WriteColumn *column = write_layout_column (layout, i);
    if (!column->partition)
      collect_field (&collector, column->field, &level);
  }
  GString *text = g_string_new (NULL);
  g_string_append_printf (
      text, "{\"numRecords\":%" G_GINT64_FORMAT ",\"minValues\":{%s},\"maxValues\":{%s},\"nullCount\":{%s}%s}",
      file->n_rows, level.min->str, level.max->str, level.nulls->str, tight ? ",\"tightBounds\":true" : "");
  level_end (&level);
  return g_string_free (text, FALSE);
}

/* DuckDB text over raw files: see files-text-private.h. */
#include "base-text.h"
#include "duck-path.h"
#include "files-text-private.h"

/* A record may be this long in the plain way of reading; longer ones are read with their whole file in memory. */
#define MAX_RECORD_BYTES "33554432"

void
files_text_append_list (GString *sql, GPtrArray *entries)
{
  g_string_append_c (sql, '[');
  for (guint i = 0; i < entries->len; i++) {
    const FilesEntry *entry = g_ptr_array_index (entries, i);
    if (i > 0)
      g_string_append (sql, ", ");
    duck_path_append (sql, entry->path);
  }
  g_string_append_c (sql, ']');
}

void
files_text_append_json (GString *sql, const FilesOptions *options, GPtrArray *entries, GPtrArray *odd)
{
  gboolean multi_line = files_options_bool (options, "multiLine");

  if (entries->len > 0) {
    g_string_append (sql, "SELECT json::VARCHAR AS j, filename AS p FROM read_ndjson_objects(");
    files_text_append_list (sql, entries);
    g_string_append (
        sql, ", filename=true, ignore_errors=true, hive_partitioning=false, maximum_object_size=" MAX_RECORD_BYTES ")");
  }
  if (odd->len == 0)
    return;
  if (entries->len > 0)
    g_string_append (sql, " UNION ALL ");
  g_string_append_printf (sql, "SELECT unnest(sluice_json_records(content, %s)) AS j, filename AS p FROM read_blob(",
                          multi_line ? "false" : "true");
  files_text_append_list (sql, odd);
  g_string_append_c (sql, ')');
}

void
files_text_append_csv (GString *sql, const FilesOptions *options, GPtrArray *entries, const char *const *names)
{
  static const char *const texts[][2] = { { "delim", "delimiter" },
                                          { "quote", "quote" },
                                          { "escape", "escape" },
                                          { "nullstr", "nullValue" },
                                          { "comment", "comment" } };
  const char *encoding = files_options_text (options, "encoding");

  g_string_append (sql, "read_csv(");
  files_text_append_list (sql, entries);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_string_append_printf (sql, ", %s=", texts[i][0]);
    base_text_append_sql_literal (sql, files_options_text (options, texts[i][1]));
  }
  /* DuckDB pads short records of a file with line breaks inside quotes only when one thread reads it. */
  g_string_append_printf (sql,
                          ", header=%s, hive_partitioning=false, null_padding=true, parallel=false, strict_mode=false",
                          files_options_bool (options, "header") ? "true" : "false");
  if (g_ascii_strcasecmp (encoding, "UTF-8") != 0 && g_ascii_strcasecmp (encoding, "UTF8") != 0) {
    g_string_append (sql, ", encoding=");
    base_text_append_sql_literal (sql, encoding);
  }
  if (names == NULL) {
    g_string_append (sql, ", all_varchar=true)");
    return;
  }
  g_string_append (sql, ", auto_detect=false, filename='sluice file', columns={");
  for (guint i = 0; names[i] != NULL; i++) {
    g_string_append (sql, i > 0 ? ", " : "");
    base_text_append_sql_literal (sql, names[i]);
    g_string_append (sql, ": 'VARCHAR'");
  }
  g_string_append (sql, "})");
}

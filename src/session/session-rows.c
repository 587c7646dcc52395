/* Small answers of SHOW, DESCRIBE and SET, built row by row as the text of a DuckDB SELECT, so that every result is read alike. */
#include "session-private.h"

#include <base-text.h>
#include <string.h>

struct SessionRows {
  BaseType *schema;
  GString *values; /* `('a', true), …` */
  guint n_rows;
};

SessionRows *
session_rows_new (const char *const *columns)
{
  SessionRows *rows = g_new0 (SessionRows, 1);
  BaseStructBuilder *builder = base_struct_builder_new ();

  for (guint i = 0; columns[i] != NULL; i++) {
    gboolean is_boolean = g_str_has_suffix (columns[i], "?");
    g_autofree char *name = g_strndup (columns[i], strlen (columns[i]) - (is_boolean ? 1 : 0));
    g_autoptr (BaseType) type = base_type_simple (is_boolean ? BASE_TYPE_BOOLEAN : BASE_TYPE_STRING);
    base_struct_builder_add (builder, name, type, TRUE, NULL);
  }
  rows->schema = base_struct_builder_end (builder);
  rows->values = g_string_new (NULL);
  return rows;
}

void
session_rows_free (SessionRows *rows)
{
  if (rows == NULL)
    return;
  base_type_unref (rows->schema);
  g_string_free (rows->values, TRUE);
  g_free (rows);
}

static BaseTypeKind
column_kind (const SessionRows *rows, guint column)
{
  return base_type_kind (base_type_field (rows->schema, column)->type);
}

void
session_rows_add_values (SessionRows *rows, const char *const *values)
{
  /* The first column is the row's number: the order of rows is part of these answers. */
  g_string_append_printf (rows->values, "%s(%u", rows->n_rows == 0 ? "" : ", ", rows->n_rows);
  for (guint i = 0; i < base_type_n_fields (rows->schema); i++) {
    g_string_append (rows->values, ", ");
    if (values[i] == NULL)
      g_string_append (rows->values, "NULL");
    else if (column_kind (rows, i) == BASE_TYPE_BOOLEAN)
      g_string_append (rows->values, strcmp (values[i], "true") == 0 ? "true" : "false");
    else
      base_text_append_sql_literal (rows->values, values[i]);
  }
  g_string_append_c (rows->values, ')');
  rows->n_rows++;
}

void
session_rows_add (SessionRows *rows, ...)
{
  guint n = base_type_n_fields (rows->schema);
  g_autofree const char **values = g_new0 (const char *, n + 1);
  va_list list;

  va_start (list, rows);
  for (guint i = 0; i < n; i++)
    values[i] = va_arg (list, const char *);
  va_end (list);
  session_rows_add_values (rows, values);
}

void
session_rows_end (SessionRows *rows, SessionAnswer *answer)
{
  GString *sql = g_string_new ("SELECT ");
  guint n = base_type_n_fields (rows->schema);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (sql, "%sc%u::%s AS c%u", i == 0 ? "" : ", ", i,
                            column_kind (rows, i) == BASE_TYPE_BOOLEAN ? "BOOLEAN" : "VARCHAR", i);
  if (rows->n_rows > 0) {
    g_string_append_printf (sql, " FROM (VALUES %s) t(ix", rows->values->str);
    for (guint i = 0; i < n; i++)
      g_string_append_printf (sql, ", c%u", i);
    g_string_append (sql, ") ORDER BY ix");
  } else {
    g_string_append (sql, " FROM (SELECT NULL AS c0");
    for (guint i = 1; i < n; i++)
      g_string_append_printf (sql, ", NULL AS c%u", i);
    g_string_append (sql, ") t WHERE false");
  }
  answer->schema = base_type_ref (rows->schema);
  answer->sql = g_string_free (sql, FALSE);
  session_rows_free (rows);
}

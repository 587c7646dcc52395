/* Data types and lists of fields. */
#include "base-text.h"
#include "sql-parser-private.h"

#include <string.h>

#define MAX_TYPE_BYTES (4 * 1024 * 1024)

enum { MAX_TYPE_DEPTH = 100, MAX_DECIMAL_PRECISION = 38 };

static const struct {
  SqlWord word;
  BaseTypeKind kind;
  const char *text;
} simple_types[] = {
  { SQL_WORD_BOOLEAN, BASE_TYPE_BOOLEAN, "BOOLEAN" },
  { SQL_WORD_TINYINT, BASE_TYPE_BYTE, "TINYINT" },
  { SQL_WORD_BYTE, BASE_TYPE_BYTE, "TINYINT" },
  { SQL_WORD_SMALLINT, BASE_TYPE_SHORT, "SMALLINT" },
  { SQL_WORD_SHORT, BASE_TYPE_SHORT, "SMALLINT" },
  { SQL_WORD_INT, BASE_TYPE_INTEGER, "INT" },
  { SQL_WORD_INTEGER, BASE_TYPE_INTEGER, "INT" },
  { SQL_WORD_BIGINT, BASE_TYPE_LONG, "BIGINT" },
  { SQL_WORD_LONG, BASE_TYPE_LONG, "BIGINT" },
  { SQL_WORD_FLOAT, BASE_TYPE_FLOAT, "FLOAT" },
  { SQL_WORD_REAL, BASE_TYPE_FLOAT, "FLOAT" },
  { SQL_WORD_DOUBLE, BASE_TYPE_DOUBLE, "DOUBLE" },
  { SQL_WORD_STRING, BASE_TYPE_STRING, "STRING" },
  { SQL_WORD_BINARY, BASE_TYPE_BINARY, "BINARY" },
  { SQL_WORD_DATE, BASE_TYPE_DATE, "DATE" },
  { SQL_WORD_TIMESTAMP, BASE_TYPE_TIMESTAMP, "TIMESTAMP" },
  { SQL_WORD_TIMESTAMP_LTZ, BASE_TYPE_TIMESTAMP, "TIMESTAMP" },
  { SQL_WORD_TIMESTAMP_NTZ, BASE_TYPE_TIMESTAMP_NTZ, "TIMESTAMP_NTZ" },
  { SQL_WORD_VARIANT, BASE_TYPE_VARIANT, "VARIANT" },
  { SQL_WORD_VOID, BASE_TYPE_VOID, "VOID" },
};

static const struct {
  const char *word;
  SqlIntervalUnit unit;
} units[] = {
  { "YEAR", SQL_UNIT_YEAR },
  { "MONTH", SQL_UNIT_MONTH },
  { "WEEK", SQL_UNIT_WEEK },
  { "DAY", SQL_UNIT_DAY },
  { "HOUR", SQL_UNIT_HOUR },
  { "MINUTE", SQL_UNIT_MINUTE },
  { "SECOND", SQL_UNIT_SECOND },
  { "MILLISECOND", SQL_UNIT_MILLISECOND },
  { "MICROSECOND", SQL_UNIT_MICROSECOND },
  { "NANOSECOND", SQL_UNIT_NANOSECOND },
};

gboolean
sql_parser_interval_unit (SqlParser *parser, guint ahead, SqlIntervalUnit *unit, gboolean *plural)
{
  const SqlToken *token = sql_parser_token (parser, ahead);
  if (token->kind != SQL_TOKEN_WORD)
    return FALSE;
  const char *text = parser->source->text + token->begin;
  gsize length = token->end - token->begin;
  for (gsize i = 0; i < G_N_ELEMENTS (units); i++) {
    gsize size = strlen (units[i].word);
    if (g_ascii_strncasecmp (text, units[i].word, MIN (size, length)) != 0 || length < size || length > size + 1)
      continue;
    *plural = length == size + 1;
    if (*plural && text[size] != 's' && text[size] != 'S')
      continue;
    *unit = units[i].unit;
    return TRUE;
  }
  return FALSE;
}

/* ( n ) or ( n , m ). */
static gboolean
parse_numbers (SqlParser *parser, guint n_most, guint *numbers, guint *n)
{
  *n = 0;
  if (!sql_parser_expect_token (parser, SQL_TOKEN_OPEN, "("))
    return FALSE;
  do {
    const SqlToken *token = sql_parser_token (parser, 0);
    gint64 value = 0;
    g_autofree char *text = g_strndup (parser->source->text + token->begin, token->end - token->begin);
    if (token->kind != SQL_TOKEN_INTEGER || *n == n_most || !base_text_parse_int64 (text, &value) ||
        value > G_MAXINT32) {
      sql_parser_fail (parser, "a length or precision");
      return FALSE;
    }
    numbers[(*n)++] = (guint) value;
    parser->at++;
  } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
  return sql_parser_expect_token (parser, SQL_TOKEN_CLOSE, ")");
}

static gboolean
parse_decimal (SqlParser *parser, guint start, SqlType *type)
{
  guint numbers[2] = { 10, 0 };
  guint n;
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_OPEN && !parse_numbers (parser, 2, numbers, &n))
    return FALSE;
  SqlPosition position = sql_parser_span (parser, start);
  if (numbers[0] > MAX_DECIMAL_PRECISION) {
    sql_parser_fail_at (parser, &position, SLUICE_ERROR_DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION,
                        "decimal precision %u exceeds the largest precision, %d", numbers[0], MAX_DECIMAL_PRECISION);
    return FALSE;
  }
  if (numbers[1] > numbers[0] || numbers[0] == 0) {
    sql_parser_fail_at (parser, &position, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                        "syntax error: decimal scale %u is greater than its precision %u", numbers[1], numbers[0]);
    return FALSE;
  }
  char text[32];
  g_snprintf (text, sizeof text, "DECIMAL(%u,%u)", numbers[0], numbers[1]);
  type->text = sql_arena_strdup (parser->arena, text);
  type->base = sql_arena_keep_type (parser->arena, base_type_decimal (numbers[0], numbers[1]));
  return TRUE;
}

/* CHAR(n), VARCHAR(n), CHARACTER(n). */
static gboolean
parse_length (SqlParser *parser, gboolean varchar, SqlType *type)
{
  guint n;
  if (!parse_numbers (parser, 1, &type->length, &n))
    return FALSE;
  char text[32];
  g_snprintf (text, sizeof text, "%s(%u)", varchar ? "VARCHAR" : "CHAR", type->length);
  type->length_kind = varchar ? SQL_TYPE_VARCHAR : SQL_TYPE_CHAR;
  type->text = sql_arena_strdup (parser->arena, text);
  type->base = sql_arena_keep_type (parser->arena, base_type_simple (BASE_TYPE_STRING));
  return TRUE;
}

static gboolean
interval_field (SqlIntervalUnit unit, BaseIntervalField *field)
{
  static const gint8 fields[] = {
    [SQL_UNIT_YEAR] = BASE_INTERVAL_YEAR + 1,
    [SQL_UNIT_MONTH] = BASE_INTERVAL_MONTH + 1,
    [SQL_UNIT_DAY] = BASE_INTERVAL_DAY + 1,
    [SQL_UNIT_HOUR] = BASE_INTERVAL_HOUR + 1,
    [SQL_UNIT_MINUTE] = BASE_INTERVAL_MINUTE + 1,
    [SQL_UNIT_SECOND] = BASE_INTERVAL_SECOND + 1,
    [SQL_UNIT_NANOSECOND] = 0,
  };
  if (fields[unit] == 0)
    return FALSE;
  *field = (BaseIntervalField) (fields[unit] - 1);
  return TRUE;
}

static gboolean
parse_interval (SqlParser *parser, SqlType *type)
{
  static const char *const names[] = { "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND" };
  SqlIntervalUnit unit;
  gboolean plural;
  BaseIntervalField from;
  if (!sql_parser_interval_unit (parser, 0, &unit, &plural) || plural || !interval_field (unit, &from)) {
    type->text = "INTERVAL";
    type->base = sql_arena_keep_type (parser->arena, base_type_simple (BASE_TYPE_INTERVAL_CALENDAR));
    return TRUE;
  }
  parser->at++;
  BaseIntervalField to = from;
  if (ACCEPT1 (parser, TO)) {
    gboolean known = sql_parser_interval_unit (parser, 0, &unit, &plural) && interval_field (unit, &to);
    if (!known || to <= from || (from <= BASE_INTERVAL_MONTH) != (to <= BASE_INTERVAL_MONTH)) {
      sql_parser_fail (parser, "a finer unit of the same kind of interval");
      return FALSE;
    }
    parser->at++;
  }
  g_autofree char *text = from == to ? g_strdup_printf ("INTERVAL %s", names[from])
                                     : g_strdup_printf ("INTERVAL %s TO %s", names[from], names[to]);
  type->text = sql_arena_strdup (parser->arena, text);
  type->base = sql_arena_keep_type (parser->arena, base_type_interval (from, to));
  return TRUE;
}

static gboolean
parse_array (SqlParser *parser, SqlType *type)
{
  SqlType element = { 0 };
  if (!sql_parser_expect_token (parser, SQL_TOKEN_LT, "<") || !sql_parser_type (parser, &element) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_GT, ">"))
    return FALSE;
  g_autofree char *text = g_strdup_printf ("ARRAY<%s>", element.text);
  type->text = sql_arena_strdup (parser->arena, text);
  type->base = sql_arena_keep_type (parser->arena, base_type_array (element.base, TRUE));
  return TRUE;
}

static gboolean
parse_map (SqlParser *parser, SqlType *type)
{
  SqlType key = { 0 };
  SqlType value = { 0 };
  if (!sql_parser_expect_token (parser, SQL_TOKEN_LT, "<") || !sql_parser_type (parser, &key) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_COMMA, ",") || !sql_parser_type (parser, &value) ||
      !sql_parser_expect_token (parser, SQL_TOKEN_GT, ">"))
    return FALSE;
  g_autofree char *text = g_strdup_printf ("MAP<%s, %s>", key.text, value.text);
  type->text = sql_arena_strdup (parser->arena, text);
  type->base = sql_arena_keep_type (parser->arena, base_type_map (key.base, value.base, TRUE));
  return TRUE;
}

/* `a: INT NOT NULL COMMENT 'x'` and `a INT …`; the text is appended in DDL form, with a colon when @colon. */
static gboolean
parse_field (SqlParser *parser, gboolean colon, BaseStructBuilder *builder, GString *text)
{
  SqlIdent name;
  SqlType type = { 0 };
  if (!sql_parser_ident (parser, &name))
    return FALSE;
  sql_parser_accept_token (parser, SQL_TOKEN_COLON);
  if (!sql_parser_type (parser, &type))
    return FALSE;
  gboolean not_null = ACCEPT2 (parser, NOT, NULL);
  g_autofree char *quoted = base_text_spark_identifier (name.text);
  g_string_append_printf (text, "%s%s %s%s", quoted, colon ? ":" : "", type.text, not_null ? " NOT NULL" : "");
  json_t *metadata = NULL;
  if (ACCEPT1 (parser, COMMENT)) {
    gsize length;
    const char *comment = sql_parser_string (parser, &length);
    if (comment == NULL)
      return FALSE;
    metadata = json_object ();
    json_object_set_new (metadata, "comment", json_stringn (comment, length));
    g_autoptr (GString) literal = g_string_new ("'");
    for (gsize i = 0; i < length; i++) {
      if (comment[i] == '\'' || comment[i] == '\\')
        g_string_append_c (literal, '\\');
      if (comment[i] == 0)
        g_string_append (literal, "\\u0000");
      else
        g_string_append_c (literal, comment[i]);
    }
    g_string_append_printf (text, " COMMENT %s'", literal->str);
  }
  base_struct_builder_add (builder, name.text, type.base, !not_null, metadata);
  if (metadata != NULL)
    json_decref (metadata);
  return TRUE;
}

static gboolean
parse_struct (SqlParser *parser, SqlType *type)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  g_autoptr (GString) text = g_string_new ("STRUCT<");
  if (!sql_parser_accept_token (parser, SQL_TOKEN_NE)) { /* STRUCT<> */
    if (!sql_parser_expect_token (parser, SQL_TOKEN_LT, "<"))
      return FALSE;
    if (sql_parser_kind (parser, 0) != SQL_TOKEN_GT) {
      do {
        if (text->str[text->len - 1] != '<')
          g_string_append (text, ", ");
        if (!parse_field (parser, TRUE, builder, text))
          return FALSE;
      } while (sql_parser_accept_token (parser, SQL_TOKEN_COMMA));
    }
    if (!sql_parser_expect_token (parser, SQL_TOKEN_GT, ", or >"))
      return FALSE;
  }
  g_string_append_c (text, '>');
  type->text = sql_arena_strdup (parser->arena, text->str);
  type->base = sql_arena_keep_type (parser->arena, base_struct_builder_end (g_steal_pointer (&builder)));
  return TRUE;
}

static gboolean
parse_word_type (SqlParser *parser, guint start, SqlWord word, SqlType *type)
{
  for (gsize i = 0; i < G_N_ELEMENTS (simple_types); i++) {
    if (simple_types[i].word == word) {
      type->text = simple_types[i].text;
      type->base = sql_arena_keep_type (parser->arena, base_type_simple (simple_types[i].kind));
      return TRUE;
    }
  }
  if (word == SQL_WORD_DECIMAL || word == SQL_WORD_DEC || word == SQL_WORD_NUMERIC)
    return parse_decimal (parser, start, type);
  if (word == SQL_WORD_VARCHAR || word == SQL_WORD_CHAR || word == SQL_WORD_CHARACTER)
    return parse_length (parser, word == SQL_WORD_VARCHAR, type);
  if (word == SQL_WORD_INTERVAL)
    return parse_interval (parser, type);
  if (word == SQL_WORD_ARRAY)
    return parse_array (parser, type);
  if (word == SQL_WORD_MAP)
    return parse_map (parser, type);
  if (word == SQL_WORD_STRUCT)
    return parse_struct (parser, type);
  /* `a b c` is no type that is missing but no list of fields at all. */
  if (sql_parser_kind (parser, 0) == SQL_TOKEN_WORD && sql_parser_word (parser, 0) == SQL_WORD_OTHER) {
    sql_parser_fail (parser, ", or the end of the data type");
    return FALSE;
  }
  SqlPosition position = sql_parser_span (parser, start);
  if (word == SQL_WORD_TIME)
    sql_parser_fail_at (parser, &position, SLUICE_ERROR_UNSUPPORTED_TIME_TYPE, "the data type TIME is not supported");
  else {
    g_autofree char *name = sql_position_text (&position);
    sql_parser_fail_at (parser, &position, SLUICE_ERROR_UNSUPPORTED_DATATYPE, "the data type %s is not supported",
                        name);
  }
  return FALSE;
}

gboolean
sql_parser_type (SqlParser *parser, SqlType *type)
{
  guint start = parser->at;
  if (sql_parser_kind (parser, 0) != SQL_TOKEN_WORD) {
    sql_parser_fail (parser, "a data type");
    return FALSE;
  }
  SqlWord word = sql_parser_word (parser, 0);
  if (parser->depth > MAX_TYPE_DEPTH) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_SQL_TOO_DEEP, "the data type is nested too deeply");
    return FALSE;
  }
  if (!sql_parser_enter (parser))
    return FALSE;
  parser->at++;
  gboolean done = parse_word_type (parser, start, word, type);
  sql_parser_leave (parser);
  if (!done)
    return FALSE;
  type->position = sql_parser_span (parser, start);
  if (AT1 (parser, COLLATE)) {
    SqlPosition here = sql_parser_here (parser);
    sql_parser_fail_at (parser, &here, SLUICE_ERROR_UNSUPPORTED_FEATURE, "collations are not supported");
    return FALSE;
  }
  return TRUE;
}

/* ------------------------------------------------------------------ entry points */

static BaseType *
parse_type_text (const char *text, gssize length, gboolean schema, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  gsize size = length < 0 ? strlen (text) : (gsize) length;
  if (size > MAX_TYPE_BYTES) {
    base_error_set (error, SLUICE_ERROR_SQL_TOO_LARGE, "the text of a data type has %" G_GSIZE_FORMAT " bytes", size);
    return NULL;
  }
  SqlParser parser;
  SqlType type = { 0 };
  BaseType *result = NULL;
  if (sql_parser_init (&parser, arena, sql_source_new (arena, text, size, NULL), error)) {
    g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
    g_autoptr (GString) ignored = g_string_new (NULL);
    gboolean whole_struct = AT1 (&parser, STRUCT) && (sql_parser_kind (&parser, 1) == SQL_TOKEN_LT ||
                                                      sql_parser_kind (&parser, 1) == SQL_TOKEN_NE);
    if (!schema || whole_struct) {
      if (sql_parser_type (&parser, &type))
        result = base_type_ref (type.base);
    } else {
      gboolean more = !sql_parser_at_end (&parser);
      while (more)
        more = parse_field (&parser, FALSE, builder, ignored) && sql_parser_accept_token (&parser, SQL_TOKEN_COMMA);
      result = base_struct_builder_end (g_steal_pointer (&builder));
    }
    if (parser.error == NULL && !sql_parser_at_end (&parser))
      sql_parser_fail (&parser, schema ? ", or the end of the fields" : "the end of the data type");
    if (parser.error != NULL) {
      g_propagate_error (error, g_steal_pointer (&parser.error));
      g_clear_pointer (&result, base_type_unref);
    }
  }
  sql_parser_clear (&parser);
  return result;
}

static void
hint_free (SqlSchemaHint *hint)
{
  g_strfreev (hint->path);
  base_type_unref (hint->type);
  g_free (hint);
}

static gboolean
parse_hint (SqlParser *parser, GPtrArray *hints)
{
  g_autoptr (GStrvBuilder) path = g_strv_builder_new ();
  SqlIdent name;
  SqlType type = { 0 };

  do {
    if (!sql_parser_ident (parser, &name))
      return FALSE;
    g_strv_builder_add (path, name.text);
  } while (sql_parser_accept_token (parser, SQL_TOKEN_DOT));
  sql_parser_accept_token (parser, SQL_TOKEN_COLON);
  if (!sql_parser_type (parser, &type))
    return FALSE;
  SqlSchemaHint *hint = g_new0 (SqlSchemaHint, 1);
  *hint = (SqlSchemaHint){ g_strv_builder_end (path), base_type_ref (type.base) };
  g_ptr_array_add (hints, hint);
  return TRUE;
}

GPtrArray *
sql_parse_schema_hints (const char *text, gssize length, GError **error)
{
  g_autoptr (SqlArena) arena = sql_arena_new ();
  g_autoptr (GPtrArray) hints = g_ptr_array_new_with_free_func ((GDestroyNotify) hint_free);
  gsize size = length < 0 ? strlen (text) : (gsize) length;
  SqlParser parser;

  if (size > MAX_TYPE_BYTES) {
    base_error_set (error, SLUICE_ERROR_SQL_TOO_LARGE, "the text of a schema has %" G_GSIZE_FORMAT " bytes", size);
    return NULL;
  }
  if (sql_parser_init (&parser, arena, sql_source_new (arena, text, size, NULL), error)) {
    gboolean more = !sql_parser_at_end (&parser);
    while (more)
      more = parse_hint (&parser, hints) && sql_parser_accept_token (&parser, SQL_TOKEN_COMMA);
    if (parser.error == NULL && !sql_parser_at_end (&parser))
      sql_parser_fail (&parser, ", or the end of the hints");
  }
  gboolean good = parser.error == NULL;
  if (!good)
    g_propagate_error (error, g_steal_pointer (&parser.error));
  sql_parser_clear (&parser);
  return good ? g_steal_pointer (&hints) : NULL;
}

BaseType *
sql_parse_type (const char *text, gssize length, GError **error)
{
  return parse_type_text (text, length, FALSE, error);
}

BaseType *
sql_parse_schema (const char *text, gssize length, GError **error)
{
  return parse_type_text (text, length, TRUE, error);
}

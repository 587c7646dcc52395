/* Raw files as rows, end to end: what is stored, what is rescued, what is refused. */
#include "../../../tests/support/tree.h"
#include "base-error.h"
#include "files-schema.h"
#include "files-source.h"
#include "relation-kernel.h"
#include "relation-plan.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  char *directory;
} Fixture;

static void
set_up (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  fixture->engine = duck_engine_new (NULL, NULL);
  g_assert_true (relation_kernels_register (fixture->engine, NULL));
  g_assert_true (files_register (fixture->engine, NULL));
  fixture->session = duck_session_new (fixture->engine, NULL);
  fixture->directory = g_dir_make_tmp ("sluice-files-XXXXXX", NULL);
}

static void
tear_down (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  duck_session_free (fixture->session);
  duck_engine_unref (fixture->engine);
  tree_remove (fixture->directory);
  g_free (fixture->directory);
}

static void
put (Fixture *fixture, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (fixture->directory, name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0777), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static int
compare_lines (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Rows as JSON objects, one a line, sorted; NULL on error. The directory's name is replaced by DIR. */
static char *
read_rows (Fixture *fixture, FilesOptions *options, const BaseType *given, gboolean streaming, BaseType **schema,
           GError **error)
{
  g_autoptr (GPtrArray) entries = files_list (options, NULL, NULL, error);
  if (entries == NULL)
    return NULL;
  if (!files_options_has_format (options) &&
      !files_options_settle_format (options, ((FilesEntry *) g_ptr_array_index (entries, 0))->path, error))
    return NULL;
  g_autoptr (BaseType) data =
      given != NULL ? base_type_ref (given) : files_schema_infer (options, entries, fixture->session, NULL, error);
  if (data == NULL)
    return NULL;
  if (schema != NULL)
    *schema = base_type_ref (data);
  g_autoptr (RelationSource) source = files_source_new (options, data, entries, streaming, fixture->session, NULL);
  g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
  RelationLowering lowering = { .session = fixture->session, .check_types = TRUE };
  g_autoptr (RelationText) text = relation_plan_lower (plan, &lowering, error);
  if (text == NULL)
    return NULL;
  g_autoptr (DuckResult) result = duck_session_query (fixture->session, relation_text_sql (text)->str, NULL, error);
  const DuckChunk *chunk;
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  while (result != NULL) {
    if (!duck_result_next (result, &chunk, error))
      return NULL;
    if (chunk == NULL)
      break;
    for (guint row = 0; row < chunk->n_rows; row++) {
      g_autoptr (GString) line = g_string_new ("{");
      for (guint i = 0; i < chunk->n_columns; i++) {
        g_string_append_printf (line, "%s\"%s\":", i > 0 ? "," : "",
                                base_type_field (relation_plan_schema (plan), i)->name);
        duck_vector_append_json (&chunk->columns[i], duck_result_column_type (result, i), row, line);
      }
      g_string_append_c (line, '}');
      g_string_replace (line, fixture->directory, "DIR", 0);
      g_ptr_array_add (lines, g_strdup (line->str));
    }
  }
  if (result == NULL)
    return NULL;
  g_ptr_array_sort (lines, compare_lines);
  g_ptr_array_add (lines, NULL);
  return g_strjoinv ("\n", (char **) lines->pdata);
}

static FilesOptions *
options_of (Fixture *fixture, const char *const *pairs, GError **error)
{
  return files_options_new (FILES_ASK_READ_FILES, fixture->directory, NULL, NULL, pairs, NULL, error);
}

/* ---- JSON ---- */

typedef struct {
  const char *name;
  const char *file;
  const char *options[9];
  const char *wanted; /* rows, or NULL */
  const char *condition;
} Case;

static const Case json_cases[] = {
  { "types are inferred and kept in the order of appearance",
    "{\"id\":1,\"name\":\"a\",\"x\":1.5,\"ok\":true,\"list\":[1,2],\"s\":{\"p\":1,\"q\":\"z\"}}\n{\"id\":2,\"late\":"
    "\"n\"}\n",
    { NULL },
    "{\"id\":1,\"name\":\"a\",\"x\":1.5,\"ok\":true,\"list\":[1,2],\"s\":{\"p\":1,\"q\":\"z\"},\"late\":null,\"_"
    "rescued_data\":null}\n"
    "{\"id\":2,\"name\":null,\"x\":null,\"ok\":null,\"list\":null,\"s\":null,\"late\":\"n\",\"_rescued_data\":null}",
    NULL },
  { "a number in quotes and a fraction are no BIGINT",
    "{\"id\":\"12\"}\n{\"id\":1.5}\n{\"id\":7}\n{\"id\":99999999999999999999}\n",
    { "schema", "id BIGINT", "rescuedDataColumn", "r", NULL },
    "{\"id\":7,\"r\":null}\n"
    "{\"id\":null,\"r\":\"{\\\"id\\\":1.5,\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}\n"
    "{\"id\":null,\"r\":\"{\\\"id\\\":99999999999999999999,\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}\n"
    "{\"id\":null,\"r\":\"{\\\"id\\\":\\\"12\\\",\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}",
    NULL },
  { "an object where text is wanted is rescued",
    "{\"a\":\"x\"}\n{\"a\":{\"street\":\"D1\"}}\n",
    { "schema", "a STRING", "rescuedDataColumn", "r", NULL },
    "{\"a\":\"x\",\"r\":null}\n{\"a\":null,\"r\":\"{\\\"a\\\":{\\\"street\\\":\\\"D1\\\"},\\\"_file_path\\\":\\\"DIR/"
    "a.json\\\"}\"}",
    NULL },
  { "records that do not parse are rescued whole, the others are read",
    "{\"a\":1}\nnot json\n{\"a\":2\n{\"a\":3}\n",
    { "schema", "a INT", "rescuedDataColumn", "r", NULL },
    "{\"a\":1,\"r\":null}\n{\"a\":3,\"r\":null}\n"
    "{\"a\":null,\"r\":\"{\\\"_corrupt_record\\\":\\\"not json\\\",\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}\n"
    "{\"a\":null,\"r\":\"{\\\"_corrupt_record\\\":\\\"{\\\\\\\"a\\\\\\\":2\\\",\\\"_file_path\\\":\\\"DIR/"
    "a.json\\\"}\"}",
    NULL },
  { "a corrupt record goes into its column when the schema has it",
    "{\"a\":1}\noops\n",
    { "schema", "a INT, _corrupt_record STRING", NULL },
    "{\"a\":1,\"_corrupt_record\":null}\n{\"a\":null,\"_corrupt_record\":\"oops\"}",
    NULL },
  { "malformed records are dropped on request",
    "{\"a\":1}\noops\n{\"a\":2}\n",
    { "schema", "a INT", "mode", "DROPMALFORMED", NULL },
    "{\"a\":1}\n{\"a\":2}",
    NULL },
  { "malformed records fail on request",
    "{\"a\":1}\noops\n",
    { "schema", "a INT", "mode", "FAILFAST", NULL },
    NULL,
    "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION" },
  { "lines that hold arrays give their elements",
    "[{\"a\":1},{\"a\":2}]\n{\"a\":3}\n",
    { "schema", "a INT", NULL },
    "{\"a\":1}\n{\"a\":2}\n{\"a\":3}",
    NULL },
  { "a record may span lines",
    "{\n \"a\": 1,\n \"b\": \"x\\ny\"\n}\n",
    { "multiLine", "true", NULL },
    "{\"a\":1,\"b\":\"x\\ny\",\"_rescued_data\":null}",
    NULL },
  { "the last of two equal names wins, other case is rescued",
    "{\"a\":1,\"a\":2,\"A\":3}\n",
    { "schema", "a INT", "rescuedDataColumn", "r", NULL },
    "{\"a\":2,\"r\":\"{\\\"A\\\":3,\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}",
    NULL },
  { "escapes are decoded, surrogates paired, lone ones replaced",
    "{\"a\":\"\\u00e9\\ud83d\\ude00\\ud800x\\t\"}\n",
    { "schema", "a STRING", NULL },
    "{\"a\":\"\303\251\360\237\230\200\357\277\275x\\t\"}",
    NULL },
  { "bytes that are not UTF-8 do not stop the file",
    "{\"a\":\"\377\"}\n{\"a\":\"b\"}\n",
    { "schema", "a STRING", NULL },
    "{\"a\":\"b\"}\n{\"a\":\"\357\277\275\"}",
    NULL },
  { "dates and timestamps are cast, what does not fit is rescued",
    "{\"d\":\"2026-01-02\",\"t\":\"2026-01-02T03:04:05Z\"}\n{\"d\":\"soon\",\"t\":null}\n",
    { "schema", "d DATE, t TIMESTAMP", "rescuedDataColumn", "r", NULL },
    "{\"d\":\"2026-01-02\",\"t\":\"2026-01-02T03:04:05Z\",\"r\":null}\n"
    "{\"d\":null,\"t\":null,\"r\":\"{\\\"d\\\":\\\"soon\\\",\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}",
    NULL },
  { "decimals are exact and rounded half up, too many digits are rescued",
    "{\"a\":12.345}\n{\"a\":-0.005}\n{\"a\":12345.6}\n{\"a\":1e2}\n",
    { "schema", "a DECIMAL(5,2)", "rescuedDataColumn", "r", NULL },
    "{\"a\":-0.01,\"r\":null}\n{\"a\":100.00,\"r\":null}\n{\"a\":12.35,\"r\":null}\n"
    "{\"a\":null,\"r\":\"{\\\"a\\\":12345.6,\\\"_file_path\\\":\\\"DIR/a.json\\\"}\"}",
    NULL },
  { "a misfit inside a list spoils the list, inside a struct only the field",
    "{\"l\":[1,\"x\"],\"s\":{\"p\":\"y\",\"q\":2}}\n",
    { "schema", "l ARRAY<INT>, s STRUCT<p: INT, q: INT>", "rescuedDataColumn", "r", NULL },
    "{\"l\":null,\"s\":{\"p\":null,\"q\":2},\"r\":\"{\\\"l\\\":[1,\\\"x\\\"],\\\"s\\\":{\\\"p\\\":\\\"y\\\"},\\\"_file_"
    "path\\\":\\\"DIR/a.json\\\"}\"}",
    NULL },
  { "without inference columns are text, nested values their JSON",
    "{\"a\":1,\"b\":{\"c\":[1, 2]},\"d\":true}\n",
    { "inferColumnTypes", "false", NULL },
    "{\"a\":\"1\",\"b\":\"{\\\"c\\\":[1, 2]}\",\"d\":\"true\",\"_rescued_data\":null}",
    NULL },
  { "hints override inferred types and add columns",
    "{\"a\":1,\"b\":\"2026-01-01\"}\n",
    { "schemaHints", "a DOUBLE, b DATE, c STRING", NULL },
    "{\"a\":1.0,\"b\":\"2026-01-01\",\"c\":null,\"_rescued_data\":null}",
    NULL },
  { "hints reach fields, elements and values inside",
    "{\"a\":{\"b\":1,\"c\":2},\"l\":[{\"n\":1}],\"x.y\":1}\n",
    { "schemaHints",
      "a.b DOUBLE, a.d STRING, l.element.n DECIMAL(4,1), m MAP<STRING, INT>, m.value BIGINT, `x.y` DOUBLE, z.q INT",
      NULL },
    "{\"a\":{\"b\":1.0,\"c\":2,\"d\":null},\"l\":[{\"n\":1.0}],\"x.y\":1.0,\"m\":null,\"z\":null,\"_rescued_data\":"
    "null}",
    NULL },
  { "names that differ only in case are one column",
    "{\"a\":1,\"A\":2,\"s\":{\"x\":1,\"X\":2}}\n",
    { NULL },
    "{\"a\":1,\"s\":{\"x\":1},\"_rescued_data\":\"{\\\"A\\\":2,\\\"s\\\":{\\\"X\\\":2},\\\"_file_path\\\":\\\"DIR/"
    "a.json\\\"}\"}",
    NULL },
  { "a hint without a type", "{\"a\":1}\n", { "schemaHints", "a.b", NULL }, NULL, "PARSE_SYNTAX_ERROR" },
  { "a byte order mark is no part of the first record",
    "\xEF\xBB\xBF{\"a\":1}\n{\"a\":2}\n",
    { NULL },
    "{\"a\":1,\"_rescued_data\":null}\n{\"a\":2,\"_rescued_data\":null}",
    NULL },
  { "an unknown option has near names", "{}\n", { "infrColumnTypes", "true", NULL }, NULL, "INVALID_OPTION" },
  { "a bad value of an option", "{}\n", { "multiLine", "perhaps", NULL }, NULL, "INVALID_OPTION" },
  { "a format that is not read", "{}\n", { "format", "avro", NULL }, NULL, "UNSUPPORTED_FILE_FORMAT" },
  { "nothing to infer from", "not json\n", { NULL }, NULL, "CANNOT_INFER_SCHEMA" },
};

static char *
sorted_lines (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autoptr (GPtrArray) list = g_ptr_array_new ();

  for (guint i = 0; lines[i] != NULL; i++)
    g_ptr_array_add (list, lines[i]);
  g_ptr_array_sort (list, compare_lines);
  g_ptr_array_add (list, NULL);
  return g_strjoinv ("\n", (char **) list->pdata);
}

static void
json_files_give_rows (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (json_cases); i++) {
    const Case *one = &json_cases[i];
    g_autoptr (GError) error = NULL;
    g_test_message ("%s", one->name);
    put (fixture, "a.json", one->file);
    g_autoptr (FilesOptions) options = options_of (fixture, one->options, &error);
    g_autofree char *rows = options != NULL ? read_rows (fixture, options, NULL, FALSE, NULL, &error) : NULL;
    if (one->condition != NULL) {
      g_assert_null (rows);
      g_assert_cmpstr (base_error_condition (error), ==, one->condition);
      continue;
    }
    g_assert_no_error (error);
    g_autofree char *wanted = sorted_lines (one->wanted);
    g_assert_cmpstr (rows, ==, wanted);
  }
}

static void
stream_fails_on_a_new_column_and_the_schema_grows (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const pairs[] = { NULL };
  g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);
  g_autoptr (BaseType) first = NULL;

  put (fixture, "a.json", "{\"id\":1,\"s\":{\"p\":1}}\n");
  g_autofree char *rows = read_rows (fixture, options, NULL, TRUE, &first, &error);
  g_assert_no_error (error);
  g_assert_nonnull (rows);
  put (fixture, "a.json", "{\"id\":1,\"s\":{\"p\":1,\"q\":2},\"phone\":\"1\"}\n");
  g_assert_null (read_rows (fixture, options, first, TRUE, NULL, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "UNKNOWN_FIELD_EXCEPTION");
  g_clear_error (&error);
  g_autoptr (GPtrArray) entries = files_list (options, NULL, NULL, &error);
  g_autoptr (BaseType) seen = files_schema_infer (options, entries, fixture->session, NULL, &error);
  g_autoptr (BaseType) grown = files_schema_merge (first, seen);
  g_autofree char *ddl = base_type_ddl (grown);
  g_assert_cmpstr (ddl, ==, "id BIGINT, s STRUCT<p: BIGINT, q: BIGINT>, phone STRING");
  g_autoptr (BaseType) again = files_schema_merge (grown, seen);
  g_assert_true (again == grown);
}

/* ---- CSV, Parquet, text ---- */

static void
csv_columns_are_found_by_header (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const pairs[] = { "header", "true", NULL };
  g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);

  put (fixture, "a.csv", "id,name,when,ratio\n1,\"a, b\",2026-01-02,0.5\n2,,2026-01-03,\n");
  put (fixture, "b.csv", "name,id,when,ratio\nz,3,2026-01-04,7\n");
  g_autoptr (BaseType) schema = NULL;
  g_autofree char *rows = read_rows (fixture, options, NULL, FALSE, &schema, &error);
  g_assert_no_error (error);
  g_autofree char *ddl = base_type_ddl (schema);
  g_assert_cmpstr (ddl, ==, "id INT, name STRING, when DATE, ratio DOUBLE");
  g_assert_cmpstr (rows, ==,
                   "{\"id\":1,\"name\":\"a, b\",\"when\":\"2026-01-02\",\"ratio\":0.5,\"_rescued_data\":null}\n"
                   "{\"id\":2,\"name\":null,\"when\":\"2026-01-03\",\"ratio\":null,\"_rescued_data\":null}\n"
                   "{\"id\":3,\"name\":\"z\",\"when\":\"2026-01-04\",\"ratio\":7.0,\"_rescued_data\":null}");
}

static void
csv_misfits_and_new_columns_are_rescued (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const pairs[] = { "header", "true", "schema", "id INT", "rescuedDataColumn", "r", NULL };
  g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);

  put (fixture, "a.csv", "id,more\nx,1\n5,\n");
  g_autofree char *rows = read_rows (fixture, options, NULL, FALSE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (
      rows, ==,
      "{\"id\":5,\"r\":null}\n"
      "{\"id\":null,\"r\":\"{\\\"more\\\":\\\"1\\\",\\\"id\\\":\\\"x\\\",\\\"_file_path\\\":\\\"DIR/a.csv\\\"}\"}");
}

static void
parquet_columns_are_found_by_name (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const pairs[] = { NULL };
  g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);
  g_autofree char *copy = g_strdup_printf (
      "COPY (SELECT 1::INTEGER AS id, [1,2] AS l, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS t) TO '%s/a.parquet'",
      fixture->directory);
  g_autofree char *second =
      g_strdup_printf ("COPY (SELECT 'n' AS extra, 2::INTEGER AS id) TO '%s/b.parquet'", fixture->directory);

  g_assert_true (duck_session_execute (fixture->session, copy, NULL, NULL));
  g_assert_true (duck_session_execute (fixture->session, second, NULL, NULL));
  g_autofree char *rows = read_rows (fixture, options, NULL, FALSE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==,
                   "{\"id\":1,\"l\":[1,2],\"t\":\"2026-01-01T00:00:00Z\",\"extra\":null,\"_rescued_data\":null}\n"
                   "{\"id\":2,\"l\":null,\"t\":null,\"extra\":\"n\",\"_rescued_data\":null}");
}

/* DuckDB's Bloom filters are asked for the printed form of a BLOB, and tell 0.0 from -0.0: a filter must not get as far as that. */
static void
parquet_filters_find_values (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  static const struct {
    const char *stored, *other, *asked;
  } cases[] = { { "'\\xFF\\x00'::BLOB", "'a'::BLOB", "'\\xFF\\x00'::BLOB" },
                { "'-0.0'::DOUBLE", "5::DOUBLE", "'0.0'::DOUBLE" },
                { "'0.0'::DOUBLE", "5::DOUBLE", "'-0.0'::DOUBLE" },
                { "'-0.0'::FLOAT", "5::FLOAT", "'0.0'::FLOAT" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    const char *const pairs[] = { NULL };
    g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);
    g_autofree char *copy =
        g_strdup_printf ("COPY (SELECT CASE WHEN i < 50 THEN %s ELSE %s END AS b FROM range(60) r(i))"
                         " TO '%s/a.parquet'",
                         cases[i].stored, cases[i].other, fixture->directory);

    g_assert_true (duck_session_execute (fixture->session, copy, NULL, NULL));
    g_autoptr (GPtrArray) entries = files_list (options, NULL, NULL, &error);
    g_assert_no_error (error);
    g_assert_true (
        files_options_settle_format (options, ((FilesEntry *) g_ptr_array_index (entries, 0))->path, &error));
    g_autoptr (BaseType) schema = files_schema_infer (options, entries, fixture->session, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (RelationSource) source = files_source_new (options, schema, entries, FALSE, fixture->session, NULL);
    g_autoptr (RelationPlan) plan = relation_plan_new_source (source);
    RelationLowering lowering = { .session = fixture->session, .check_types = TRUE };
    g_autoptr (RelationText) text = relation_plan_lower (plan, &lowering, &error);
    g_assert_no_error (error);
    g_autofree char *sql =
        g_strdup_printf ("SELECT count(*) FROM (%s) WHERE c0 = %s", relation_text_sql (text)->str, cases[i].asked);
    gint64 n;

    g_assert_true (duck_session_query_int64 (fixture->session, sql, NULL, &n, NULL, &error));
    g_assert_cmpint (n, ==, 50);
  }
}

static void
text_gives_lines (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const pairs[] = { "format", "text", NULL };
  g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);

  put (fixture, "a.txt", "one\r\n\ntwo\n");
  g_autofree char *rows = read_rows (fixture, options, NULL, FALSE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==,
                   "{\"value\":\"\",\"_rescued_data\":null}\n{\"value\":\"one\",\"_rescued_data\":null}\n"
                   "{\"value\":\"two\",\"_rescued_data\":null}");
}

/* ---- listing ---- */

static void
listing_follows_patterns_and_leaves_hidden_names_out (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  static const struct {
    const char *pattern;
    const char *options[5];
    guint n_files;
  } cases[] = {
    { "", { NULL }, 4 },
    { "*.json", { NULL }, 2 },
    { "sub", { NULL }, 1 },
    { "s*/c.json", { NULL }, 1 },
    { "{a,x}.json", { NULL }, 1 },
    { "[ab].*", { NULL }, 3 },
    { "s?b", { NULL }, 1 },
    { "nothing*", { NULL }, 0 },
    { "a.json", { NULL }, 1 },
    { "", { "pathGlobFilter", "*.csv", NULL }, 1 },
    { "", { "modifiedAfter", "2200-01-01", NULL }, 0 },
  };

  put (fixture, "a.json", "");
  put (fixture, "b.json", "");
  put (fixture, "b.csv", "");
  put (fixture, "sub/c.json", "");
  put (fixture, "_hidden/d.json", "");
  put (fixture, ".e.json", "");
  put (fixture, "sub/_f.json", "");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *path = g_build_filename (fixture->directory, cases[i].pattern, NULL);
    g_autoptr (FilesOptions) options =
        files_options_new (FILES_ASK_READ_FILES, path, NULL, "json", cases[i].options, NULL, &error);
    g_autoptr (GPtrArray) entries = files_list (options, NULL, NULL, &error);
    g_assert_no_error (error);
    g_test_message ("%s", cases[i].pattern);
    g_assert_cmpuint (entries->len, ==, cases[i].n_files);
  }
}

static void
missing_paths_have_a_name (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (fixture->directory, "nothing", NULL);
  g_autoptr (FilesOptions) options = files_options_new (FILES_ASK_READ_FILES, path, NULL, "json", NULL, NULL, &error);

  g_assert_null (files_list (options, NULL, NULL, &error));
  g_assert_cmpstr (base_error_condition (error), ==, "PATH_NOT_FOUND");
}

static void
paths_with_glob_characters_are_read_as_they_are (Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const char *const pairs[] = { "schema", "a INT", NULL };
  g_autoptr (FilesOptions) options = options_of (fixture, pairs, &error);

  put (fixture, "x[1]*.json", "{\"a\":1}\n");
  put (fixture, "x1.json", "{\"a\":2}\n");
  g_autofree char *rows = read_rows (fixture, options, NULL, FALSE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (rows, ==, "{\"a\":1}\n{\"a\":2}");
}

#define ADD(name, func) g_test_add ("/files/" name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("json-files-give-rows", json_files_give_rows);
  ADD ("stream-fails-on-a-new-column-and-the-schema-grows", stream_fails_on_a_new_column_and_the_schema_grows);
  ADD ("csv-columns-are-found-by-header", csv_columns_are_found_by_header);
  ADD ("csv-misfits-and-new-columns-are-rescued", csv_misfits_and_new_columns_are_rescued);
  ADD ("parquet-columns-are-found-by-name", parquet_columns_are_found_by_name);
  ADD ("parquet-filters-find-values", parquet_filters_find_values);
  ADD ("text-gives-lines", text_gives_lines);
  ADD ("listing-follows-patterns-and-leaves-hidden-names-out", listing_follows_patterns_and_leaves_hidden_names_out);
  ADD ("missing-paths-have-a-name", missing_paths_have_a_name);
  ADD ("paths-with-glob-characters-are-read-as-they-are", paths_with_glob_characters_are_read_as_they_are);
  return g_test_run ();
}

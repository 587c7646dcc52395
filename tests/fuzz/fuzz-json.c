/* Bytes as a file of JSON records: cut into records, inferred, converted to typed columns. The first two bytes choose how. */
#include "duck-kernel.h"
#include "duck-session.h"
#include "files-infer-private.h"
#include "files-json-convert-private.h"
#include "fuzz.h"

#include <string.h>

static DuckEngine *engine;
static DuckSession *session;
static const char *kernel;

static void
start (void)
{
  DuckEngineOptions options = { .n_threads = 1, .memory_limit_bytes = G_GINT64_CONSTANT (500) << 20 };

  if (engine != NULL)
    return;
  engine = duck_engine_new (&options, NULL);
  session = duck_session_new (engine, NULL);
  fuzz_require (session != NULL && files_json_register (engine, NULL), "an engine");
  kernel = duck_engine_kernel_instance (engine, "sluice_json_row",
                                        "STRUCT(\"f\" STRUCT(\"a\" BIGINT, \"b\" VARCHAR, \"c\" DOUBLE, \"d\" "
                                        "DECIMAL(10,2), \"e\" BOOLEAN, \"f\" FLOAT, \"t\" TINYINT,"
                                        " \"u\" VARCHAR, \"x\" BLOB, \"l\" BIGINT[], \"m\" MAP(VARCHAR, INTEGER), "
                                        "\"s\" STRUCT(\"y\" INTEGER, \"z\" VARCHAR[]),"
                                        " \"h\" DECIMAL(38,10), \"_corrupt_record\" VARCHAR), \"r\" VARCHAR)",
                                        NULL);
  fuzz_require (kernel != NULL, "a kernel");
}

/* A kernel is given text that its engine has checked; so is a record here. */
static void
infer (const char *text, gsize size)
{
  g_autoptr (FilesShape) shape = files_shape_new ();
  const char *end = text + size;

  for (const char *line = text; line < end;) {
    const char *stop = memchr (line, '\n', (gsize) (end - line));
    gsize length = (gsize) ((stop != NULL ? stop : end) - line);
    g_autofree char *record = g_memdup2 (line, length);

    files_shape_add_record (shape, length > 0 ? record : "", length);
    line += length + 1;
  }
  g_autoptr (BaseType) typed = files_shape_type (shape, TRUE);
  g_autoptr (BaseType) plain = files_shape_type (shape, FALSE);
  fuzz_require (base_type_kind (typed) == base_type_kind (plain), "typed or not, both are structs or neither");
  if (base_type_kind (typed) == BASE_TYPE_STRUCT) /* STRING: no record had a field */
    fuzz_require (base_type_n_fields (typed) == base_type_n_fields (plain), "typed or not, the fields are the same");
}

static void
convert (const guint8 *data, gsize size, guint mode, gboolean lines)
{
  g_autoptr (GString) sql = g_string_new (NULL);
  g_autofree char *text = NULL; /* up to the first NUL, where there is one */
  g_autoptr (GError) error = NULL;

  g_string_append_printf (sql,
                          "SELECT coalesce(string_agg(CAST(s AS VARCHAR), chr(10)), '') FROM (SELECT %s(j, "
                          "'/data/f.json', '%u%s') AS s FROM "
                          "(SELECT unnest(sluice_json_records('",
                          kernel, mode, mode % 3 == 0 ? ";1,7" : "");
  for (gsize i = 0; i < size; i++)
    g_string_append_printf (sql, "\\x%02X", data[i]);
  g_string_append_printf (sql, "'::BLOB, %s)) AS j))", lines ? "true" : "false");
  fuzz_check (duck_session_query_string (session, sql->str, NULL, &text, &error), error);
  fuzz_require (text == NULL || g_utf8_validate (text, -1, NULL), "columns of texts hold UTF-8");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  if (size < 2)
    return 0;
  start ();
  infer ((const char *) data + 2, size - 2);
  convert (data + 2, size - 2, data[0] % (FILES_JSON_DROP_MALFORMED * 2), data[1] % 2 == 0);
  return 0;
}

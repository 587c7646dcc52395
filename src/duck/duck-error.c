/* Errors of DuckDB become errors with names, here and nowhere else.
 *
 * DuckDB's C interface gives most errors as one text: "<Class> Error: <message>", so the class is read from the text. An error
 * of a kernel or a lent object travels inside as `SLUICE[CONDITION#id] message`; the engine keeps the whole GError under that id
 * (a ring of the newest), so that parameters and hints survive the journey. If the ring has moved on, condition and message are
 * rebuilt from the text. Lowered SQL may raise an error of its own by `error('SLUICE[CONDITION] message')`. The mark counts only
 * at the very start, so no value that DuckDB quotes in a message can pass for one.
 */
#include "base-text.h"
#include "duck-private.h"

#define MARK "SLUICE["

char *
duck_error_wrap (DuckEngine *engine, GError *error)
{
  if (error == NULL)
    error = g_error_new_literal (SLUICE_ERROR, SLUICE_ERROR_INTERNAL_ERROR, "A kernel failed without saying why");
  g_mutex_lock (&engine->error_lock);
  guint64 id = ++engine->last_error_id;
  DuckKeptError *slot = &engine->errors[id % DUCK_ENGINE_KEPT_ERRORS];
  g_clear_error (&slot->error);
  slot->id = id;
  slot->error = error;
  char *text = g_strdup_printf (MARK "%s#%" G_GUINT64_FORMAT "] %s", base_error_condition (error), id, error->message);
  g_mutex_unlock (&engine->error_lock);
  return text;
}

/* Where DuckDB's additions for people at its prompt begin: the statement with a caret, hints on its own settings, stack traces. */
static gsize
sentence_length (const char *message)
{
  static const char *const noise[] = { "\n\nLINE ",
                                       "\nLINE ",
                                       "\n\nCandidate",
                                       "\nCandidates:",
                                       "\n\nPossible solutions",
                                       "\nPossible solutions",
                                       "\n\nStack Trace",
                                       "\nThis error signals",
                                       "\nUse ",
                                       "\n* " };
  gsize length = strlen (message);

  for (guint i = 0; i < G_N_ELEMENTS (noise); i++) {
    const char *at = strstr (message, noise[i]);
    if (at != NULL && (gsize) (at - message) < length)
      length = (gsize) (at - message);
  }
  while (length > 0 && g_ascii_isspace (message[length - 1]))
    length--;
  return length;
}

/* The whole error kept under @id. Returns: (transfer full) (nullable). */
static GError *
find_kept (DuckEngine *engine, guint64 id)
{
  g_mutex_lock (&engine->error_lock);
  const DuckKeptError *slot = &engine->errors[id % DUCK_ENGINE_KEPT_ERRORS];
  GError *kept = slot->id == id && slot->error != NULL ? g_error_copy (slot->error) : NULL;
  g_mutex_unlock (&engine->error_lock);
  return kept;
}

/* An error of ours; @text starts behind MARK. FALSE when it is not one. */
static gboolean
set_own_error (DuckEngine *engine, const char *text, GError **error)
{
  const char *end = strstr (text, "] ");

  if (end == NULL)
    return FALSE;
  const char *hash = memchr (text, '#', (gsize) (end - text));
  if (hash != NULL) {
    GError *kept = find_kept (engine, g_ascii_strtoull (hash + 1, NULL, 10));
    if (kept != NULL) {
      g_propagate_error (error, kept);
      return TRUE;
    }
  }
  g_autofree char *condition = g_strndup (text, (gsize) ((hash != NULL ? hash : end) - text));
  SluiceError code;
  if (!base_error_code_from_condition (condition, &code))
    return FALSE;
  base_error_set (error, code, "%.*s", (int) MIN (sentence_length (end + 2), G_MAXINT), end + 2);
  return TRUE;
}

/* What DuckDB's classes of errors mean. An empty fragment fits any message of the class; the first fitting row counts. */
typedef struct {
  const char *class_;
  const char *fragment;
  SluiceError code;
} ErrorRow;

static const ErrorRow error_rows[] = {
  { "INTERRUPT", "", SLUICE_ERROR_OPERATION_CANCELED },
  { "Out of Memory", "failed to offload", SLUICE_ERROR_STORAGE_FULL },
  { "Out of Memory", "max_temp_directory_size", SLUICE_ERROR_STORAGE_FULL },
  { "Out of Memory", "", SLUICE_ERROR_OUT_OF_MEMORY },
  { "IO", "No files found that match", SLUICE_ERROR_FILE_NOT_FOUND },
  { "IO", "No such file or directory", SLUICE_ERROR_FILE_NOT_FOUND },
  { "IO", "Permission denied", SLUICE_ERROR_FILE_ACCESS_DENIED },
  { "IO", "No space left on device", SLUICE_ERROR_STORAGE_FULL },
  { "IO", "Disk quota exceeded", SLUICE_ERROR_STORAGE_FULL },
  { "IO", "", SLUICE_ERROR_IO_ERROR },
  { "Permission", "", SLUICE_ERROR_FILE_ACCESS_DENIED },
  { "TProtocolException", "", SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE },
  { "Out of Range", "divide by zero", SLUICE_ERROR_DIVIDE_BY_ZERO },
  { "Out of Range", "ivision by zero", SLUICE_ERROR_DIVIDE_BY_ZERO },
  { "Divide by Zero", "", SLUICE_ERROR_DIVIDE_BY_ZERO },
  { "Out of Range", "verflow", SLUICE_ERROR_ARITHMETIC_OVERFLOW },
  { "Out of Range", "out of range", SLUICE_ERROR_ARITHMETIC_OVERFLOW },
  { "Conversion", "timestamp range", SLUICE_ERROR_DATETIME_OVERFLOW },
  { "Conversion", "Date out of range", SLUICE_ERROR_DATETIME_OVERFLOW },
  { "Conversion", "out of range", SLUICE_ERROR_CAST_OVERFLOW },
  { "Conversion", "Could not cast value", SLUICE_ERROR_CAST_OVERFLOW },
  { "Conversion", "", SLUICE_ERROR_CAST_INVALID_INPUT },
  { "Invalid Input", "More than one row returned by a subquery", SLUICE_ERROR_SCALAR_SUBQUERY_TOO_MANY_ROWS },
  { "Invalid Input", "", SLUICE_ERROR_EXECUTION_ERROR },
  { "Parser", "", SLUICE_ERROR_INTERNAL_ERROR },
  { "Syntax", "", SLUICE_ERROR_INTERNAL_ERROR },
  { "Binder", "", SLUICE_ERROR_INTERNAL_ERROR },
  { "Catalog", "", SLUICE_ERROR_INTERNAL_ERROR },
  { "Planner", "", SLUICE_ERROR_INTERNAL_ERROR },
  { "INTERNAL", "", SLUICE_ERROR_INTERNAL_ERROR },
  { "FATAL", "", SLUICE_ERROR_INTERNAL_ERROR },
};

/* What DuckDB's Parquet reader says of a file that is not Parquet, or not whole. These come as Invalid Input, IO and others. */
static const char *const unreadable_fragments[] = {
  "No magic bytes found at end of file",
  "too small to be a Parquet file",
  "Footer length error",
  "don't have PAR1 magic",
  "Failed to read Parquet file",
  "Parquet file is corrupt",
  "is not a valid Parquet",
  "TProtocolException",
  "Invalid parquet",
  "DecodeError",
  "Could not read enough bytes",
  "Page header",
  "is smaller than the size of its",
  "Snappy decompression failure",
  "ZSTD Decompression failure",
  "GZIP decompression failure",
  "decompression failure",
  "don't know what type",
  "Out of buffer",
  "out of buffer",
};

/* Binding a kernel that asks for its constants copies its arguments, and the C interface throws at subqueries (DuckDB 1.5.5). */
#define SUBQUERY_ARGUMENT "Cannot copy BoundSubqueryExpression"

static SluiceError
classify (const char *class_, gsize class_length, const char *message)
{
  for (guint i = 0; i < G_N_ELEMENTS (unreadable_fragments); i++) {
    if (strstr (message, unreadable_fragments[i]) != NULL)
      return SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE;
  }
  for (guint i = 0; i < G_N_ELEMENTS (error_rows); i++) {
    const ErrorRow *row = &error_rows[i];
    if (strlen (row->class_) == class_length && strncmp (row->class_, class_, class_length) == 0 &&
        strstr (message, row->fragment) != NULL)
      return row->code;
  }
  return SLUICE_ERROR_EXECUTION_ERROR;
}

/* The first quoted piece of @message that looks like a path, for the parameter "file". Returns: (transfer full) (nullable). */
static char *
find_file (const char *message)
{
  for (const char *at = message; *at != '\0'; at++) {
    if (*at != '"' && *at != '\'')
      continue;
    const char *end = strchr (at + 1, *at);
    if (end == NULL)
      return NULL;
    if (memchr (at + 1, '/', (gsize) (end - at - 1)) != NULL)
      return g_strndup (at + 1, (gsize) (end - at - 1));
    at = end;
  }
  return NULL;
}

gboolean
duck_error_set (DuckEngine *engine, const char *message, const char *sql, GError **error)
{
  if (message == NULL || *message == '\0')
    message = "INTERNAL Error: The query failed without a message";

  /* "Out of Range Error: Overflow in …", with the class before " Error: ". */
  const char *body = strstr (message, " Error: ");
  gsize class_length = body == NULL ? 0 : (gsize) (body - message);
  if (class_length > 40 || memchr (message, '\n', class_length) != NULL) {
    body = NULL;
    class_length = 0;
  }
  body = body == NULL ? message : body + strlen (" Error: ");
  if (g_str_has_prefix (body, MARK) && set_own_error (engine, body + strlen (MARK), error))
    return FALSE;

  if (strstr (body, SUBQUERY_ARGUMENT) != NULL) {
    base_error_set (
        error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
        "A scalar subquery as an argument of a function that looks at its constants (a pattern, a format, a "
        "time zone) is not supported");
    base_error_set_hint (error, "join the subquery and give its column: FROM t CROSS JOIN (SELECT …) AS s(value)");
    return FALSE;
  }
  SluiceError code = classify (message, class_length, body);
  if (code == SLUICE_ERROR_OPERATION_CANCELED)
    return base_error_set (error, code, "The operation was canceled");
  if (code == SLUICE_ERROR_DIVIDE_BY_ZERO)
    return base_error_set (error, code, "Division by zero");
  base_error_set (error, code, "%.*s", (int) MIN (sentence_length (body), G_MAXINT), body);
  if (code == SLUICE_ERROR_OUT_OF_MEMORY)
    base_error_set_hint (error, "Queries spill to disk, but each thread needs memory of its own: give them more with "
                                "engine.memoryLimit, or fewer threads with engine.threads.");
  if (code == SLUICE_ERROR_STORAGE_FULL)
    base_error_set_hint (error, "Queries spill to the directory that engine.tempDirectory names.");
  if (code == SLUICE_ERROR_FILE_NOT_FOUND || code == SLUICE_ERROR_DELTA_DATA_FILE_UNREADABLE ||
      code == SLUICE_ERROR_FILE_ACCESS_DENIED || code == SLUICE_ERROR_IO_ERROR) {
    g_autofree char *file = find_file (body);
    if (file != NULL)
      base_error_add_param (error, "file", file);
  }
  if (code == SLUICE_ERROR_INTERNAL_ERROR && sql != NULL)
    base_error_add_param (error, "sql", sql);
  return FALSE;
}

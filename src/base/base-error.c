/* Errors with names: see base-error.h. Invariants:
 * 1. errors.def is the only list of conditions; the enum, the names, the SQLSTATEs and docs/errors.md come from it.
 * 2. A message is written once. Context, hint, position and parameters are added beside it.
 */
#include "base-error.h"

#include <errno.h>
#include <string.h>

typedef struct {
  const char *condition;
  const char *sqlstate;
  BaseErrorClass class_;
} ErrorRow;

static const ErrorRow error_rows[] = {
#define SLUICE_ERROR_ROW(code, condition, sqlstate, class_, meaning) { condition, sqlstate, BASE_ERROR_CLASS_##class_ },
#include "errors.def"
#undef SLUICE_ERROR_ROW
};

typedef struct {
  GPtrArray *contexts; /* of char *, NULL-terminated when handed out */
  GPtrArray *params;   /* name, value, name, value … */
  char *hint;
  char *file;
  guint line;
  guint column;
  char *source_line;
} SluiceErrorPrivate;

static void
sluice_error_private_init (SluiceErrorPrivate *priv)
{
  priv->contexts = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (priv->contexts, NULL);
  priv->params = g_ptr_array_new_with_free_func (g_free);
}

static void
copy_strings (GPtrArray *to, const GPtrArray *from)
{
  g_ptr_array_set_size (to, 0);
  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add (to, g_strdup (g_ptr_array_index (from, i)));
}

static void
sluice_error_private_copy (const SluiceErrorPrivate *from, SluiceErrorPrivate *to)
{
  copy_strings (to->contexts, from->contexts);
  copy_strings (to->params, from->params);
  to->hint = g_strdup (from->hint);
  to->file = g_strdup (from->file);
  to->line = from->line;
  to->column = from->column;
  to->source_line = g_strdup (from->source_line);
}

static void
sluice_error_private_clear (SluiceErrorPrivate *priv)
{
  g_ptr_array_unref (priv->contexts);
  g_ptr_array_unref (priv->params);
  g_free (priv->hint);
  g_free (priv->file);
  g_free (priv->source_line);
}

G_DEFINE_EXTENDED_ERROR (SluiceError, sluice_error)

/* The private part of *error, or NULL when there is nothing of ours to add to. */
static SluiceErrorPrivate *
own_part (GError **error)
{
  if (error == NULL || *error == NULL || (*error)->domain != SLUICE_ERROR)
    return NULL;
  return sluice_error_get_private (*error);
}

static const SluiceErrorPrivate *
own_part_const (const GError *error)
{
  if (error == NULL || error->domain != SLUICE_ERROR)
    return NULL;
  return sluice_error_get_private (error);
}

static const ErrorRow *
row_of (const GError *error)
{
  if (error->domain != SLUICE_ERROR || error->code < 0 || error->code >= SLUICE_ERROR_N_CODES)
    return &error_rows[SLUICE_ERROR_INTERNAL_ERROR];
  return &error_rows[error->code];
}

gboolean
base_error_set (GError **error, SluiceError code, const char *format, ...)
{
  va_list args;

  if (error == NULL)
    return FALSE;
  g_assert (*error == NULL);
  va_start (args, format);
  *error = g_error_new_valist (SLUICE_ERROR, (int) code, format, args);
  va_end (args);
  return FALSE;
}

gboolean
base_error_set_errno (GError **error, int errno_value, const char *what)
{
  SluiceError code = SLUICE_ERROR_IO_ERROR;

  switch (errno_value) {
  case ENOENT:
    code = SLUICE_ERROR_FILE_NOT_FOUND;
    break;
  case EACCES:
  case EPERM:
    code = SLUICE_ERROR_FILE_ACCESS_DENIED;
    break;
  case ENOSPC:
  case EDQUOT:
    code = SLUICE_ERROR_STORAGE_FULL;
    break;
  }
  return base_error_set (error, code, "Cannot %s: %s", what, g_strerror (errno_value));
}

void
base_error_add_context (GError **error, const char *format, ...)
{
  SluiceErrorPrivate *priv = own_part (error);
  va_list args;

  if (priv == NULL)
    return;
  va_start (args, format);
  g_ptr_array_insert (priv->contexts, (int) priv->contexts->len - 1, g_strdup_vprintf (format, args));
  va_end (args);
}

void
base_error_add_param (GError **error, const char *name, const char *value)
{
  SluiceErrorPrivate *priv = own_part (error);

  if (priv == NULL)
    return;
  g_ptr_array_add (priv->params, g_strdup (name));
  g_ptr_array_add (priv->params, g_strdup (value));
}

void
base_error_set_hint (GError **error, const char *format, ...)
{
  SluiceErrorPrivate *priv = own_part (error);
  va_list args;

  if (priv == NULL)
    return;
  g_free (priv->hint);
  va_start (args, format);
  priv->hint = g_strdup_vprintf (format, args);
  va_end (args);
}

void
base_error_set_position (GError **error, const char *file, guint line, guint column, const char *source_line)
{
  SluiceErrorPrivate *priv = own_part (error);

  if (priv == NULL)
    return;
  if (priv->file == NULL)
    priv->file = g_strdup (file);
  if (priv->line != 0)
    return;
  priv->line = line;
  priv->column = column;
  priv->source_line = g_strdup (source_line);
}

const char *
base_error_condition (const GError *error)
{
  return row_of (error)->condition;
}

const char *
base_error_sqlstate (const GError *error)
{
  return row_of (error)->sqlstate;
}

BaseErrorClass
base_error_class (const GError *error)
{
  return row_of (error)->class_;
}

gboolean
base_error_is_retryable (const GError *error)
{
  BaseErrorClass class_ = base_error_class (error);

  return class_ == BASE_ERROR_CLASS_STORAGE || class_ == BASE_ERROR_CLASS_CONFLICT;
}

const char *
base_error_param (const GError *error, const char *name)
{
  const SluiceErrorPrivate *priv = own_part_const (error);

  for (guint i = 0; priv != NULL && i + 1 < priv->params->len; i += 2)
    if (strcmp (g_ptr_array_index (priv->params, i), name) == 0)
      return g_ptr_array_index (priv->params, i + 1);
  return NULL;
}

const char *
base_error_hint (const GError *error)
{
  const SluiceErrorPrivate *priv = own_part_const (error);

  return priv != NULL ? priv->hint : NULL;
}

const char *const *
base_error_contexts (const GError *error)
{
  static const char *const none[] = { NULL };
  const SluiceErrorPrivate *priv = own_part_const (error);

  return priv != NULL ? (const char *const *) priv->contexts->pdata : none;
}

gboolean
base_error_position (const GError *error, const char **file, guint *line, guint *column, const char **source_line)
{
  const SluiceErrorPrivate *priv = own_part_const (error);

  if (priv == NULL || (priv->line == 0 && priv->file == NULL))
    return FALSE;
  *file = priv->file;
  *line = priv->line;
  *column = priv->column;
  *source_line = priv->source_line;
  return TRUE;
}

gboolean
base_error_code_from_condition (const char *condition, SluiceError *code)
{
  for (guint i = 0; i < G_N_ELEMENTS (error_rows); i++) {
    if (strcmp (error_rows[i].condition, condition) == 0) {
      *code = (SluiceError) i;
      return TRUE;
    }
  }
  return FALSE;
}

static void
append_position (GString *text, const SluiceErrorPrivate *priv)
{
  g_string_append_printf (text, "\n  --> %s", priv->file != NULL ? priv->file : "statement");
  if (priv->line != 0)
    g_string_append_printf (text, ":%u:%u", priv->line, priv->column);
  if (priv->source_line == NULL || priv->line == 0)
    return;
  g_string_append_printf (text, "\n%5u | %s\n      | ", priv->line, priv->source_line);
  /* Tabs are kept so that the caret stands below its character whatever the tab width; columns count characters. */
  const char *p = priv->source_line;
  for (guint i = 1; i < priv->column && *p != '\0'; i++, p = g_utf8_find_next_char (p, NULL))
    g_string_append_c (text, *p == '\t' ? '\t' : ' ');
  g_string_append_c (text, '^');
}

char *
base_error_format (const GError *error)
{
  const SluiceErrorPrivate *priv = own_part_const (error);
  GString *text = g_string_new (NULL);
  gboolean sentence_ends = g_str_has_suffix (error->message, ".") || g_str_has_suffix (error->message, "?");

  g_string_append_printf (text, "[%s] %s%s SQLSTATE: %s", base_error_condition (error), error->message,
                          sentence_ends ? "" : ".", base_error_sqlstate (error));
  if (priv == NULL)
    return g_string_free (text, FALSE);
  if (priv->file != NULL || priv->line != 0)
    append_position (text, priv);
  if (priv->hint != NULL)
    g_string_append_printf (text, "\n  hint: %s", priv->hint);
  for (guint i = 0; i + 1 < priv->contexts->len; i++) {
    const char *context = g_ptr_array_index (priv->contexts, i);
    g_string_append_printf (text, "\n  %s%s", g_str_has_prefix (context, "while ") ? "" : "while ", context);
  }
  return g_string_free (text, FALSE);
}

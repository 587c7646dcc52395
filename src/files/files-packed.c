/* Compressed files: see files-packed-private.h. */
#include "base-error.h"
#include "files-packed-private.h"

#include <gio/gio.h>
#include <string.h>

#define MAX_UNPACKED_BYTES ((gsize) 1 << 30)
#define BUFFER_BYTES       65536

/* Takes bytes of a gzip file piece by piece. A file may hold several members, one after the other. */
typedef struct {
  GConverter *converter;
  GByteArray *out;    /* (nullable): NULL only checks */
  gboolean in_member; /* bytes of a member were seen, its end was not */
} Unpacker;

static gboolean
broken (const char *what, GError **error)
{
  return base_error_set (error, SLUICE_ERROR_FAILED_READ_FILE, "A gzip file cannot be unpacked: %s", what);
}

static gboolean
unpack (Unpacker *unpacker, const guint8 *bytes, gsize size, GError **error)
{
  guint8 buffer[BUFFER_BYTES];
  gsize n_read = 0, n_written = sizeof buffer;

  /* A full buffer may leave output behind although all input is taken. */
  while (size > 0 || n_written == sizeof buffer) {
    g_autoptr (GError) failure = NULL;
    GConverterResult result = g_converter_convert (unpacker->converter, bytes, size, buffer, sizeof buffer,
                                                   G_CONVERTER_NO_FLAGS, &n_read, &n_written, &failure);
    if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
      return TRUE; /* all is taken; the rest comes with the next piece */
    if (result == G_CONVERTER_ERROR)
      return broken (failure->message, error);
    bytes += n_read;
    size -= n_read;
    if (unpacker->out != NULL && unpacker->out->len + n_written > MAX_UNPACKED_BYTES)
      return broken ("it holds more than 1 GiB", error);
    if (unpacker->out != NULL)
      g_byte_array_append (unpacker->out, buffer, (guint) n_written);
    unpacker->in_member = result != G_CONVERTER_FINISHED;
    if (unpacker->in_member)
      continue;
    g_converter_reset (unpacker->converter);
    n_written = 0;
  }
  return TRUE;
}

static gboolean
finish (const Unpacker *unpacker, GError **error)
{
  return !unpacker->in_member || broken ("it ends too early", error);
}

static gboolean
check_file (const char *path, BaseCancel *cancel, GError **error)
{
  g_autoptr (GConverter) converter = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GError) failure = NULL;
  g_autoptr (GFileInputStream) stream = g_file_read (file, NULL, &failure);
  g_autofree guint8 *bytes = g_malloc (BUFFER_BYTES);
  Unpacker unpacker = { .converter = converter };
  gssize n = 1;

  while (stream != NULL && n > 0) {
    n = g_input_stream_read (G_INPUT_STREAM (stream), bytes, BUFFER_BYTES, NULL, &failure);
    unpacker.in_member = unpacker.in_member || n > 0;
    if (!base_cancel_check (cancel, error) || (n > 0 && !unpack (&unpacker, bytes, (gsize) n, error)))
      return FALSE;
  }
  if (failure != NULL)
    return base_error_set (error, SLUICE_ERROR_FAILED_READ_FILE, "%s", failure->message);
  return finish (&unpacker, error);
}

gboolean
files_packed_check (GPtrArray *entries, BaseCancel *cancel, GError **error)
{
  for (guint i = 0; i < entries->len; i++) {
    const FilesEntry *entry = g_ptr_array_index (entries, i);
    if (!g_str_has_suffix (entry->path, ".gz") || check_file (entry->path, cancel, error))
      continue;
    base_error_add_context (error, "reading %s", entry->path);
    return FALSE;
  }
  return TRUE;
}

static gboolean
begins_with (const char *content, gsize size, const char *magic)
{
  return size >= strlen (magic) && memcmp (content, magic, strlen (magic)) == 0;
}

static char *
valid_text (const char *bytes, gsize size)
{
  gsize skipped = begins_with (bytes, size, "\xEF\xBB\xBF") ? 3 : 0;

  return g_utf8_make_valid (bytes + skipped, (gssize) (size - skipped));
}

char *
files_packed_text (const char *content, gsize size, GError **error)
{
  if (begins_with (content, size, "\x28\xB5\x2F\xFD")) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "A zstd file that holds broken records, or that is read as a whole, is not supported");
    base_error_set_hint (error, "gzip it, or leave it unpacked");
    return NULL;
  }
  if (!begins_with (content, size, "\x1F\x8B"))
    return valid_text (content, size);
  g_autoptr (GConverter) converter = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  g_autoptr (GByteArray) out = g_byte_array_new ();
  Unpacker unpacker = { converter, out, TRUE };
  if (!unpack (&unpacker, (const guint8 *) content, size, error) || !finish (&unpacker, error))
    return NULL;
  return valid_text (out->len > 0 ? (const char *) out->data : "", out->len);
}

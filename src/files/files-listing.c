/* Listing: see files-listing.h. The directory before the first wildcard is listed whole; the rest of the pattern is matched on keys. */
#include "files-listing.h"

#include "base-error.h"
#include "base-text.h"
#include "store.h"

#include <string.h>

FilesEntry *
files_entry_new (const char *path, gint64 size_bytes, gint64 modified_us)
{
  FilesEntry *entry = g_new0 (FilesEntry, 1);

  *entry = (FilesEntry){ g_strdup (path), size_bytes, modified_us };
  return entry;
}

void
files_entry_free (FilesEntry *entry)
{
  if (entry == NULL)
    return;
  g_free (entry->path);
  g_free (entry);
}

static gboolean
has_wildcard (const char *text)
{
  return strpbrk (text, "*?[{") != NULL;
}

/* A glob as a regular expression over the rest of a path; `*` and `?` stay inside one directory. */
static void
append_glob (GString *regex, const char *glob)
{
  guint open_braces = 0;

  for (const char *p = glob; *p != '\0'; p++) {
    switch (*p) {
    case '*':
      g_string_append (regex, "[^/]*");
      break;
    case '?':
      g_string_append (regex, "[^/]");
      break;
    case '{':
      open_braces++;
      g_string_append (regex, "(?:");
      break;
    case '}':
      g_string_append (regex, open_braces > 0 ? ")" : "\\}");
      open_braces -= open_braces > 0;
      break;
    case ',':
      g_string_append (regex, open_braces > 0 ? "|" : ",");
      break;
    case '[':
      g_string_append (regex, p[1] == '!' || p[1] == '^' ? "[^" : "[");
      p += p[1] == '!' || p[1] == '^';
      break;
    case ']':
      g_string_append_c (regex, ']');
      break;
    case '\\':
      if (p[1] != '\0')
        p++;
      G_GNUC_FALLTHROUGH;
    default:
      if (!g_ascii_isalnum (*p) && (guchar) *p < 128)
        g_string_append_c (regex, '\\');
      g_string_append_c (regex, *p);
    }
  }
}

static GRegex *
compile_glob (const char *glob, gboolean and_below, const char *what, GError **error)
{
  g_autoptr (GString) text = g_string_new ("\\A(?:");
  g_autoptr (GError) failure = NULL;

  append_glob (text, glob);
  g_string_append (text, and_below ? ")(?:/.*)?\\z" : ")\\z");
  GRegex *regex = g_regex_new (text->str, G_REGEX_OPTIMIZE | G_REGEX_DOTALL, 0, &failure);
  if (regex == NULL)
    base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "The %s '%s' is malformed: %s", what, glob, failure->message);
  return regex;
}

/* Splits `/data/2026-*?/x` into `/data` and the pattern; a path without wildcards is all root. */
static void
split_pattern (const char *path, char **root, char **pattern)
{
  if (!has_wildcard (path)) {
    *root = g_strdup (path);
    *pattern = NULL;
    return;
  }
  const char *wild = strpbrk (path, "*?[{");
  const char *slash = wild;
  while (slash > path && *slash != '/')
    slash--;
  *root = slash == path ? g_strdup ("/") : g_strndup (path, (gsize) (slash - path));
  *pattern = g_strdup (slash + 1);
}

static gboolean
is_hidden (const char *key)
{
  for (const char *part = key; part != NULL; part = strchr (part, '/')) {
    if (*part == '/')
      part++;
    if (*part == '_' || *part == '.')
      return TRUE;
  }
  return FALSE;
}

/* `2026-01-01`, `2026-01-01T10:00:00Z`, `2026-01-01 10:00:00`; without a zone UTC. */
static gboolean
read_time (const FilesOptions *options, const char *key, gint64 *time_us, GError **error)
{
  const char *text = files_options_text (options, key);

  if (text == NULL)
    return TRUE;
  gsize size = strlen (text);
  gboolean has_zone = size > 11 && strpbrk (text + 11, "Z+-") != NULL;
  g_autofree char *full = g_strconcat (text, size == 10 ? "T00:00:00" : "", has_zone ? "" : "Z", NULL);
  if (size > 10 && full[10] == ' ')
    full[10] = 'T';
  g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (full, NULL);
  if (date == NULL)
    return base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "The option \"%s\" takes a timestamp, not '%s'", key,
                           text);
  *time_us = g_date_time_to_unix (date) * G_USEC_PER_SEC + g_date_time_get_microsecond (date);
  return TRUE;
}

typedef struct {
  GRegex *pattern; /* (nullable) over the key */
  GRegex *name;    /* (nullable) over the file name */
  gint64 after_us, before_us;
} Filter;

static void
filter_clear (Filter *filter)
{
  g_clear_pointer (&filter->pattern, g_regex_unref);
  g_clear_pointer (&filter->name, g_regex_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Filter, filter_clear)

static gboolean
filter_init (Filter *filter, const FilesOptions *options, const char *pattern, GError **error)
{
  const char *name = files_options_text (options, "pathGlobFilter");

  filter->after_us = G_MININT64;
  filter->before_us = G_MAXINT64;
  if (pattern != NULL && (filter->pattern = compile_glob (pattern, TRUE, "path", error)) == NULL)
    return FALSE;
  if (name != NULL && (filter->name = compile_glob (name, FALSE, "pathGlobFilter", error)) == NULL)
    return FALSE;
  return read_time (options, "modifiedAfter", &filter->after_us, error) &&
         read_time (options, "modifiedBefore", &filter->before_us, error);
}

static gboolean
filter_takes (const Filter *filter, const StoreEntry *entry)
{
  const char *slash = strrchr (entry->key, '/');
  const char *name = slash != NULL ? slash + 1 : entry->key;

  if (is_hidden (entry->key) || entry->modified_us <= filter->after_us || entry->modified_us >= filter->before_us)
    return FALSE;
  if (filter->pattern != NULL && !g_regex_match (filter->pattern, entry->key, 0, NULL))
    return FALSE;
  return filter->name == NULL || g_regex_match (filter->name, name, 0, NULL);
}

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const FilesEntry *x = *(const FilesEntry *const *) a;
  const FilesEntry *y = *(const FilesEntry *const *) b;

  if (x->modified_us != y->modified_us)
    return x->modified_us < y->modified_us ? -1 : 1;
  return strcmp (x->path, y->path);
}

/* A fixed path that is one file. */
static GPtrArray *
list_one (const char *path, StoreContext *context, GError **error)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func ((GDestroyNotify) files_entry_free);
  g_autofree char *directory = g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (Store) store = store_open (context, directory, error);
  StoreEntry *entry = NULL;

  if (store == NULL || !store_stat (store, name, &entry, error))
    return NULL;
  if (entry != NULL)
    g_ptr_array_add (entries, files_entry_new (path, entry->size_bytes, entry->modified_us));
  g_clear_pointer (&entry, store_entry_free);
  return g_steal_pointer (&entries);
}

GPtrArray *
files_list (const FilesOptions *options, StoreContext *context, BaseCancel *cancel, GError **error)
{
  g_autofree char *root = NULL;
  g_autofree char *pattern = NULL;
  g_auto (Filter) filter = { 0 };
  g_autoptr (GPtrArray) found = NULL;

  split_pattern (files_options_path (options), &root, &pattern);
  if (!filter_init (&filter, options, pattern, error) || !base_cancel_check (cancel, error))
    return NULL;
  if (pattern == NULL && g_file_test (root, G_FILE_TEST_IS_REGULAR))
    return list_one (root, context, error);
  if (!g_file_test (root, G_FILE_TEST_IS_DIR)) {
    base_error_set (error, SLUICE_ERROR_PATH_NOT_FOUND, "The path %s does not exist", files_options_path (options));
    return NULL;
  }
  g_autoptr (Store) store = store_open (context, root, error);
  if (store == NULL || !store_list (store, "", NULL, STORE_LIST_RECURSIVE, 0, &found, error))
    return NULL;
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func ((GDestroyNotify) files_entry_free);
  for (guint i = 0; i < found->len; i++) {
    const StoreEntry *entry = g_ptr_array_index (found, i);
    if (!filter_takes (&filter, entry))
      continue;
    g_autofree char *path = g_build_filename (root, entry->key, NULL);
    g_ptr_array_add (entries, files_entry_new (path, entry->size_bytes, entry->modified_us));
  }
  if (!base_cancel_check (cancel, error))
    return NULL;
  g_ptr_array_sort (entries, compare_entries);
  return g_steal_pointer (&entries);
}

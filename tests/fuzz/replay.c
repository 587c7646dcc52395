/* Gives every file below the named files and directories to a fuzz target's entry, in order of names. Speaks TAP. */
#include "fuzz.h"

#include <string.h>

static void
collect (const char *path, GPtrArray *files)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  if (dir == NULL) {
    g_ptr_array_add (files, g_strdup (path));
    return;
  }
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    collect (child, files);
  }
}

static int
compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);

  for (int i = 1; i < argc; i++)
    collect (argv[i], files);
  g_ptr_array_sort (files, compare);
  g_print ("1..%u\n", files->len);
  for (guint i = 0; i < files->len; i++) {
    const char *path = files->pdata[i];
    g_autofree char *text = NULL;
    g_autofree guint8 *exact = NULL;
    gsize size;

    if (!g_file_get_contents (path, &text, &size, NULL)) {
      g_print ("not ok %u %s\n", i + 1, path);
      return 1;
    }
    exact = g_memdup2 (text, size); /* without the NUL that GLib puts behind: a read beyond the end shows */
    LLVMFuzzerTestOneInput (exact, size);
    g_print ("ok %u %s\n", i + 1, path);
  }
  return files->len > 0 ? 0 : 1;
}

/* Temporary directories of tests: see tree.h. */
#include "tree.h"

#include <glib/gstdio.h>

void
tree_remove (const char *path)
{
  g_autoptr (GDir) directory = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  const char *name;

  while (directory != NULL && (name = g_dir_read_name (directory)) != NULL) {
    g_autofree char *inner = g_build_filename (path, name, NULL);
    tree_remove (inner);
  }
  (void) g_remove (path); /* a temporary directory: what stays, stays */
}

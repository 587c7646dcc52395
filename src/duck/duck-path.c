#include "duck-path.h"

#include "base-text.h"

#include <string.h>

void
duck_path_append (GString *sql, const char *path)
{
  g_autoptr (GString) glob = g_string_sized_new (strlen (path) + 8);

  for (const char *at = path; *at != '\0'; at++)
    if (strchr ("*?[", *at) != NULL)
      g_string_append_printf (glob, "[%c]", *at);
    else
      g_string_append_c (glob, *at);
  base_text_append_sql_literal (sql, glob->str);
}

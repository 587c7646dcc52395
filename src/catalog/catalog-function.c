/* Table functions of queries: rows of this room and those that upper rooms added. The one place where `feed` and `files` meet
 * names. */
#include "catalog-private.h"

#include <base-error.h>
#include <files-options.h>
#include <string.h>

/* Rows by name. A room's function is one row and one bind callback. */
static const CatalogFunction function_rows[] = {
  { "cloud_files", catalog_files_bind, GINT_TO_POINTER (FILES_ASK_CLOUD_FILES) },
  { "read_files", catalog_files_bind, GINT_TO_POINTER (FILES_ASK_READ_FILES) },
  { "table_changes", catalog_table_changes_bind, GINT_TO_POINTER (FALSE) },
  { "table_changes_by_path", catalog_table_changes_bind, GINT_TO_POINTER (TRUE) },
};

gboolean
catalog_function_bind (CatalogSession *session, const RelationTableFunctionRequest *request,
                       RelationTableAnswer *answer, gboolean *found, GError **error)
{
  Catalog *catalog = catalog_session_catalog (session);
  const CatalogFunction *function = NULL;
  g_autofree char *name = NULL;

  *found = FALSE;
  if (request->n_parts != 1)
    return TRUE;
  name = catalog_fold_name (request->parts[0]);
  for (gsize i = 0; i < G_N_ELEMENTS (function_rows); i++)
    if (strcmp (function_rows[i].name, name) == 0)
      function = &function_rows[i];
  for (guint i = 0; i < catalog->functions->len; i++) {
    const CatalogFunction *added = g_ptr_array_index (catalog->functions, i);
    if (strcmp (added->name, name) == 0)
      function = added;
  }
  if (function == NULL)
    return TRUE;
  *found = TRUE;
  return function->bind (session, request, answer, function->data, error);
}

/* Table functions and path tables that this room answers itself. The one place where `feed` and `files` meet names in queries. */
#include "catalog-private.h"

#include <base-error.h>
#include <string.h>

/* Rows by name. A room's function is one row and one bind callback. */
static const CatalogFunction function_rows[] = {
  { NULL, NULL, NULL },
};

gboolean
catalog_function_bind (CatalogSession *session, const RelationTableFunctionRequest *request,
                       RelationTableAnswer *answer, gboolean *found, GError **error)
{
  Catalog *catalog = catalog_session_catalog (session);
  g_autofree char *name = NULL;

  *found = FALSE;
  if (request->n_parts != 1)
    return TRUE;
  name = catalog_fold_name (request->parts[0]);
  for (guint i = catalog->functions->len; i > 0; i--) {
    const CatalogFunction *function = g_ptr_array_index (catalog->functions, i - 1);
    if (strcmp (function->name, name) == 0) {
      *found = TRUE;
      return function->bind (session, request, answer, function->data, error);
    }
  }
  for (const CatalogFunction *row = function_rows; row->name != NULL; row++)
    if (strcmp (row->name, name) == 0) {
      *found = TRUE;
      return row->bind (session, request, answer, row->data, error);
    }
  return TRUE;
}

gboolean
catalog_file_path_bind (CatalogSession *session G_GNUC_UNUSED, const char *provider, const char *path,
                        const RelationTableRequest *request G_GNUC_UNUSED, RelationTableAnswer *answer G_GNUC_UNUSED,
                        GError **error)
{
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FILE_FORMAT, "files of format %s cannot be read by path: %s",
                  provider, path);
  return FALSE;
}

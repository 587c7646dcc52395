/* What a set of JSON records looks like: the types seen at every place, merged as they come. */
#pragma once

#include "base-type.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct FilesShape FilesShape;

FilesShape *files_shape_new (void); /* (transfer full): nothing seen */
void files_shape_free (FilesShape *shape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FilesShape, files_shape_free)

/* Looks at one record. Text that is not one well-formed object is passed over: the reader will rescue it. */
void files_shape_add_record (FilesShape *shape, const char *text, gsize size);

/* The struct type of the records, fields in order of first appearance, all nullable. @typed: FALSE makes every field STRING.
 * Integers are LONG (DECIMAL where they are longer), with fractions DOUBLE, text STRING; mixed kinds, NULL alone and empty objects
 * STRING; {} and [] nested as they are. At most 10,000 fields in one object. Returns: (transfer full). */
BaseType *files_shape_type (const FilesShape *shape, gboolean typed);

G_END_DECLS

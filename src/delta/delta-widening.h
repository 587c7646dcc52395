/* Type widening (PROTOCOL.md "Type Widening"): which changes of a column's type leave its files readable, and the history of
 * such changes in the metadata of fields, `delta.typeChanges`.
 */
#pragma once

#include "base-type.h"

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

/* Whether the protocol names the change of a leaf from @from to @to. Equal types are no change: FALSE. */
gboolean delta_type_can_widen (const BaseType *from, const BaseType *to);

/* The metadata of @field with one change more in its history, for a writer that changes a type.
 * @path: NULL for the field's own type, else where below it: `element`, `key`, `value`, joined by dots.
 * Returns: (transfer full). */
json_t *delta_field_add_type_change (const BaseField *field, const BaseType *from, const BaseType *to,
                                     const char *path);

/* Whether some field of @type, a struct, has a history of changes, at any depth; whether @field or one below it has. */
gboolean delta_schema_has_type_changes (const BaseType *type);
gboolean delta_field_has_type_changes (const BaseField *field);

/* Every change that @schema remembers must be one that loses no value: those of delta_type_can_widen(), and from integers to any
 * decimal that takes them all.
 * Errors: DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA naming column and types. */
gboolean delta_schema_check_type_changes (const BaseType *schema, GError **error);

/* Whether values of @field, of type DOUBLE, may stand as FLOAT in old files. */
gboolean delta_field_was_float (const BaseField *field);

G_END_DECLS

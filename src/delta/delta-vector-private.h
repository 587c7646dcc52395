/* Testing many rows at once. */
#pragma once

#include "delta-vector.h"

G_BEGIN_DECLS

/* Sets marks[i] to @value where rows[i] is in @vector; other marks are left. @n_rows > 0. */
void delta_vector_mark (const DeltaVector *vector, const gint64 *rows, gsize n_rows, guint8 *marks, guint8 value);

G_END_DECLS

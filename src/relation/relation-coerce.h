/* Spark's ANSI type coercion: which types go together. */
#pragma once

#include "base-type.h"
#include "relation-expr.h"

#include <glib.h>

G_BEGIN_DECLS

/* The type both sides get in CASE, coalesce, UNION, array(…), comparison …: AnsiTypeCoercion.findWiderTypeForTwo. Nullability of nested
 * parts is or-ed. Returns: (transfer full), NULL when there is none. */
BaseType *relation_coerce_common (const BaseType *a, const BaseType *b);
BaseType *relation_coerce_common_many (BaseType *const *types, guint n_types);
/* Like the first, but a string is not taken along with other types (findTightestCommonType): inline tables, set operations. */
BaseType *relation_coerce_tightest (const BaseType *a, const BaseType *b);
/* The type that an argument of type @from gets where @to is wanted (AnsiTypeCoercion.implicitCast); for DECIMAL with scale 0 and precision 38 in
 * @to "any decimal" is meant when @any_decimal. Returns: (transfer full), NULL when Spark refuses. */
BaseType *relation_coerce_implicit (const BaseType *from, const BaseType *to);
/* The DECIMAL an integer type (or a literal, by its digits) stands for beside a decimal. Returns: (transfer full); NULL: not an integer. */
BaseType *relation_coerce_decimal_of (const RelationExpr *expr);
/* decimal(precision, scale) bounded to 38 as Spark's adjustPrecisionScale does (scale gives way, at least 6 digits of it stay). */
BaseType *relation_coerce_adjust_decimal (gint precision, gint scale);
/* Casts both to their common type in place. FALSE (no error set) when there is none. */
gboolean relation_coerce_pair (RelationBinder *binder, RelationExpr **a, RelationExpr **b);
/* TRUE when Spark stores @from into a column of type @to under ANSI store assignment (overflow is checked when it runs). */
gboolean relation_coerce_can_store (const BaseType *from, const BaseType *to);

G_END_DECLS

/* Reading one column of one file; see delta-reading.c. */
#pragma once

#include "delta-footer-private.h"
#include "delta-metadata.h"

G_BEGIN_DECLS

/* A physical column that no file has: asking for it gives NULL. */
#define DELTA_NO_COLUMN "_sluice_no_column"

typedef enum {
  DELTA_FIT_AS_IS,   /* as it is, or by a cast that is exact or fails */
  DELTA_FIT_CONVERT, /* by an expression */
  DELTA_FIT_UNSAFE,  /* a cast would round, cut off or reinterpret */
} DeltaFit;

/* The worst fit of the leaves below @node ((nullable): fits). @worst: (out): with DELTA_FIT_UNSAFE its node. */
DeltaFit delta_reading_fit (const BaseType *type, const DeltaFooterNode *node, DeltaMapping mapping,
                            const DeltaFooterNode **worst);

/* Appends the DuckDB type in which @type is read from a file whose footer has @node ((nullable): not looked at) there, and the
 * expression that turns @input, of that type, into the physical form of @type. Returns: whether the two differ. */
gboolean delta_reading_type (const BaseType *type, const DeltaFooterNode *node, DeltaMapping mapping, const char *input,
                             guint depth, GString *type_text, GString *expression);

G_END_DECLS

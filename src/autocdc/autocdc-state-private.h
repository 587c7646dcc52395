/* Writing memory into state files. */
#pragma once

#include "autocdc-work-private.h"
#include "write-batch.h"

G_BEGIN_DECLS

#define AUTOCDC_MAX_HIDDEN 4
/* The hidden columns h0, h1, … of a batch's rows: sequence, set, hash, and gen where statements changed rows. Names and types are borrowed.
 * Returns: how many. */
guint autocdc_hidden_columns (const AutoCdcDomain *domain, const BaseType *binary, const BaseType *integer,
                              WriteHiddenColumn *hidden);

/* Stages {add} (@n_new facts) as a state file, together with older files where compaction is due, and updates the list in
 * the layout's domain. Files of nothing but expired tombstones leave the list. @n_expired: (out): tombstones removed. */
gboolean autocdc_state_write (AutoCdcWork *work, WriteBatch *write, DeltaTable *table, gint64 n_new, gint64 *n_expired,
                              GError **error);

/* Puts the layout's domain, and the features that it needs, into the commit. */
void autocdc_put_domain (AutoCdcWork *work, WriteBatch *write);

G_END_DECLS

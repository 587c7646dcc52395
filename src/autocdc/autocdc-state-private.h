/* What a batch writes besides rows: memory into state files. */
#pragma once

#include "autocdc-work-private.h"
#include "write-batch.h"

G_BEGIN_DECLS

#define AUTOCDC_MAX_HIDDEN 4
/* The hidden columns h0, h1, … of a batch's rows: sequence, set, hash, and gen where statements changed rows. Names and types are borrowed.
 * Returns: how many. */
guint autocdc_hidden_columns (const AutoCdcDomain *domain, const BaseType *binary, const BaseType *integer,
                              WriteHiddenColumn *hidden);

/* The longest list of state files: that many entries are below 4 KB of JSON. */
#define AUTOCDC_MAX_STATE_FILES 24

/* Which of @files (element-type AutoCdcStateFile) become one with @n_new new facts: where seven others are of the tier
 * that they make, or below, those, so that a fact is written about once per tier; where the list would be too long, as
 * many of the smallest. Returns: (transfer container). */
GPtrArray *autocdc_state_choose (const GPtrArray *files, gint64 n_new);

/* Leaves out of {add}, which has all that is needed of all state files, what has expired. @n_add: (inout). */
gboolean autocdc_state_expire (AutoCdcWork *work, DeltaSnapshot *snapshot, gint64 *n_add, GError **error);
/* Stages {add} (@n_new facts) as a state file, together with older files where compaction is due, and updates the list in
 * the layout's domain. What has expired goes, from files that are joined, and with files in which nothing else is.
 * @n_expired: (out): facts that expired. */
gboolean autocdc_state_write (AutoCdcWork *work, WriteBatch *write, DeltaSnapshot *snapshot, gint64 n_new,
                              gint64 *n_expired, GError **error);

/* Once all rows are staged: checks WHERE for those that are written or go; {new columns} has the target's. */
gboolean autocdc_check_promise (AutoCdcWork *work, WriteBatch *write, GError **error);

/* Puts the layout's domain, and the features that it needs, into the commit. */
void autocdc_put_domain (const AutoCdcLayout *layout, WriteBatch *write);
/* Puts the layout's schema into the commit, where it changes. */
gboolean autocdc_put_schema (const AutoCdcLayout *layout, WriteBatch *write, DeltaSnapshot *snapshot, GError **error);

/* Whether the target has columns that the table computes. */
gboolean autocdc_has_generated (const AutoCdcLayout *layout);
/* @rows, a SELECT of the target's columns c0, c1, … and then of those of @more, with generated columns computed; what it has for them is
 * not looked at. @hold: (out) (nullable): must live until the text has run. Returns: (transfer full). */
char *autocdc_generate (AutoCdcWork *work, const char *rows, const WriteHiddenColumn *more, guint n_more,
                        RelationText **hold, GError **error);

G_END_DECLS

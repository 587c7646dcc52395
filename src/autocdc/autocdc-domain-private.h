/* The domain `sluice.autoCdc` of a target: what must be known to read its memory. One JSON object:
 *
 *   formatVersion   1
 *   scdType         "SCD1" | "SCD2" | "BITEMPORAL"
 *   keys            [{"name", "type"}]                     in the order of the flow
 *   sequenceType    a type of Spark's JSON form
 *   systemSequenceType                                     the same of SYSTEM SEQUENCE BY, bitemporal only
 *   trackHistory    null | {"columns": […]} | {"except": […]}
 *   ignoreNull      null | {"columns": […]} | {"except": […]}   an empty "except": all columns
 *   columnsToUpdate false | true                           whether events name the columns that they write; absent: false
 *   fields          [["name"], ["name", "leaf", …], …]     append-only; bit i of a fact's set is field i, column f<i> of a state file.
 *                                                          A column, or a leaf of a struct column that ignore-null covers
 *   truncate        null | a value (autocdc-value-private.h)   sequence of the newest truncate
 *   adopted         3                                      how many fields, from the first, the rows without "gen" author; absent: 0
 *   retention       172800                                 of tombstones, seconds, as the newest batch had it; -1 or absent: for ever
 *   gen             0                                      number of the newest statement that changed rows (autocdc-dml.c)
 *   hiddenColumns   [{"name", "type", "holds": "sequence"|"set"|"hash"|"gen"}]   "gen" from the first such statement on;
 *                                                          none where rows hold nothing (bitemporal)
 *   hash            the library whose hash() the hash column holds
 *   files           ["_autocdc/….parquet"]                 kept by every VACUUM
 *   state           [[rows, deletes, bytes, oldest, newest written (µs)]]   beside `files`, one each
 *   snapshot        {"version": "4", "rows": 10, "time": 1767225600000000}  of targets of snapshots only: the last one.
 *                   Their memory is this alone: no hidden columns, no files; a gen says that statements changed rows
 *                   since
 */
#pragma once

#include "autocdc.h"

#include <jansson.h>

G_BEGIN_DECLS

typedef struct {
  char *path; /* relative to the table */
  gint64 n_rows;
  gint64 n_deletes; /* of them tombstones */
  gint64 size_bytes;
  gint64 oldest_us; /* least and greatest `written` */
  gint64 newest_us;
} AutoCdcStateFile;

void autocdc_state_file_free (AutoCdcStateFile *file);

typedef struct {
  AutoCdcType type;
  GPtrArray *keys;      /* (element-type utf8) */
  GPtrArray *key_types; /* (element-type BaseType) */
  BaseType *sequence_type;
  BaseType *system_type;     /* (nullable): bitemporal */
  GPtrArray *track_columns;  /* (nullable) (element-type utf8) */
  GPtrArray *track_except;   /* (nullable) (element-type utf8) */
  GPtrArray *ignore_columns; /* (nullable) (element-type utf8) */
  GPtrArray *ignore_except;  /* (nullable) (element-type utf8) */
  gboolean columns_to_update;
  GPtrArray *fields;        /* (element-type GStrv): a top-level column, then the way to a leaf below it */
  json_t *truncate;         /* (nullable): sequence of the newest truncate, as JSON */
  gint64 retention_seconds; /* as AutoCdcBatch has it */
  gint64 gen;
  gint64
      n_adopted; /* fields: rows from before the adoption of the table hold the fact of these; 0: it was not adopted */
  char *hidden_sequence; /* names of the hidden columns; NULL, with all others: rows hold nothing */
  char *hidden_set;
  char *hidden_hash;
  char *hidden_gen; /* (nullable): set when gen > 0 */
  char *hash;       /* (nullable): whose hash() */
  GPtrArray *files; /* (element-type AutoCdcStateFile) */

  gboolean of_snapshots;   /* no hidden columns, no files, no hash */
  char *snapshot_version;  /* (nullable): of the last one, as AutoCdcVersion has it; its type is sequence_type */
  gint64 n_snapshot_rows;  /* that it had */
  gint64 snapshot_time_us; /* when its reading began */
} AutoCdcDomain;

/* Empty, with fresh names of hidden columns where rows of such a target hold facts. (transfer full) */
AutoCdcDomain *autocdc_domain_new (AutoCdcType type, gboolean of_snapshots);
void autocdc_domain_free (AutoCdcDomain *domain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (AutoCdcDomain, autocdc_domain_free)

/* @text: as in the log. Errors: AUTOCDC_INVALID_STATE.AUXILIARY_TABLE_PROPERTY_MISSING or _MALFORMED, with the entry's name;
 * UNSUPPORTED_FEATURE for a later format. Returns: (transfer full). */
AutoCdcDomain *autocdc_domain_parse (const char *text, GError **error);
char *autocdc_domain_text (const AutoCdcDomain *domain); /* (transfer full) */

/* Hashes of rows written until now no longer compare: those to come are in another hidden column. */
void autocdc_domain_renew_hash (AutoCdcDomain *domain);

/* Whether rows have hidden columns. */
gboolean autocdc_domain_hides (const AutoCdcDomain *domain);
/* A statement is about to change rows: the next gen. */
void autocdc_domain_begin_statement (AutoCdcDomain *domain);

/* Index of a name in @names (nullable) without case, or -1. */
int autocdc_name_index (const GPtrArray *names, const char *name);
/* Whether a choice covers a column: one of @columns, or any but @except; @otherwise when neither was given. */
gboolean autocdc_choice_covers (const GPtrArray *columns, const GPtrArray *except, const char *column,
                                gboolean otherwise);
/* What the recorded choices say of a column. */
gboolean autocdc_domain_tracks (const AutoCdcDomain *domain, const char *column);
gboolean autocdc_domain_ignores_null (const AutoCdcDomain *domain, const char *column);
/* Whether the events of one source author different fields: ignore-null, columns to update. Then several upserts of one key and
 * sequence are one fact, field by field the greatest value, of the union of their sets. */
gboolean autocdc_domain_is_partial (const AutoCdcDomain *domain);
/* Index of a field by its path (NULL-terminated) without case, or -1. */
int autocdc_domain_field (const AutoCdcDomain *domain, const char *const *path);
/* Index of a key by its name without case, or -1. */
int autocdc_domain_key (const AutoCdcDomain *domain, const char *name);

G_END_DECLS

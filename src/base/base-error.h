/* Errors with names.
 *
 * Every failure of the engine is a GError of the domain SLUICE_ERROR whose code is a row of errors.def. The condition name
 * and its SQLSTATE come from that row; the message is the sentence for people. Beside them an error carries, in a private
 * part that is deep-copied with it: parameters (name, value), a position (file, line, column, source text), a hint, and a
 * list of contexts ("while reading version 7 of …"). The message is never edited after it was set; printers join the parts.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
#define SLUICE_ERROR_ROW(code, condition, sqlstate, class_, meaning) SLUICE_ERROR_##code,
#include "errors.def"
#undef SLUICE_ERROR_ROW
  SLUICE_ERROR_N_CODES
} SluiceError;

/* What the caller may do about it. Only STORAGE and CONFLICT are worth trying again without a change. */
typedef enum {
  BASE_ERROR_CLASS_USAGE,    /* a wrong option, argument, spec file or statement */
  BASE_ERROR_CLASS_ANALYSIS, /* names, types, graph: found before anything ran */
  BASE_ERROR_CLASS_DATA,     /* a value in the user's data */
  BASE_ERROR_CLASS_STATE,    /* a table, log or checkpoint is not as it must be */
  BASE_ERROR_CLASS_STORAGE,  /* disk, network, memory: retryable */
  BASE_ERROR_CLASS_CONFLICT, /* another writer won: retryable */
  BASE_ERROR_CLASS_CANCELED,
  BASE_ERROR_CLASS_INTERNAL, /* a mistake in this program */
} BaseErrorClass;

#define SLUICE_ERROR (sluice_error_quark ())
GQuark sluice_error_quark (void);

/**
 * base_error_set:
 * @error: (out) (nullable): where to put it; must hold no error yet
 * @code: row of errors.def
 * @format: printf format of one sentence for people, without the condition name and without a trailing line feed
 *
 * Threads: any.
 * Returns: FALSE always, so that a caller may `return base_error_set (…)`.
 */
gboolean base_error_set (GError **error, SluiceError code, const char *format, ...) G_GNUC_PRINTF (3, 4);

/**
 * base_error_set_errno:
 * @errno_value: as left by the failed call
 * @what: (transfer none): what was tried, e.g. "open /data/t/_delta_log"
 *
 * Translates an operating system error: ENOENT → FILE_NOT_FOUND, EACCES/EPERM → FILE_ACCESS_DENIED, ENOSPC/EDQUOT →
 * STORAGE_FULL, everything else → IO_ERROR.
 *
 * Returns: FALSE always.
 */
gboolean base_error_set_errno (GError **error, int errno_value, const char *what);

/* Adds one context line. Does nothing when @error is NULL or not set, or is of another domain. */
void base_error_add_context (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Adds a named parameter, a hint (what to do), a position. Same rule about @error. Line and column count from 1, 0 = unknown.
 * @source_line: (nullable): the text of that line, for the caret. A position already set is kept: the innermost wins. */
void base_error_add_param (GError **error, const char *name, const char *value);
void base_error_set_hint (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
void base_error_set_position (GError **error, const char *file, guint line, guint column, const char *source_line);

/* Facts of an error. Borrows live as long as @error. An error of another domain answers as INTERNAL_ERROR. */
const char *base_error_condition (const GError *error);
const char *base_error_sqlstate (const GError *error);
BaseErrorClass base_error_class (const GError *error);
gboolean base_error_is_retryable (const GError *error);
const char *base_error_param (const GError *error, const char *name); /* (nullable) */
const char *base_error_hint (const GError *error);                    /* (nullable) */
const char *const *base_error_contexts (const GError *error);         /* NULL-terminated, innermost first */
gboolean base_error_position (const GError *error, const char **file, guint *line, guint *column,
                              const char **source_line);

/* Finds a row by its condition name ("DIVIDE_BY_ZERO"); FALSE when there is none. */
gboolean base_error_code_from_condition (const char *condition, SluiceError *code);

/* The whole error as text of several lines: `[CONDITION] message. SQLSTATE: 22012`, then position with the source line and a
 * caret, hint and contexts. Returns: (transfer full). */
char *base_error_format (const GError *error);

G_END_DECLS

/* Sluice: open a warehouse, run SQL, read rows. The only public header; plain C, no other header needed.
 *
 *   SluiceProblem *problem = NULL;
 *   SluiceWarehouse *warehouse = sluice_open ("/data/warehouse", &problem);
 *   SluiceSession *session = sluice_session_new (warehouse, &problem);
 *   SluiceResult *result = sluice_run (session, "SELECT id, name FROM customers", &problem);
 *   while (sluice_result_next (result, &problem))
 *     printf ("%s %s\n", sluice_result_text (result, 0), sluice_result_text (result, 1));
 *
 * Every function that can fail has a last argument @problem (nullable): set on failure, untouched otherwise; free it with
 * sluice_problem_free(). Functions accept NULL objects where a former call failed, and then fail without a problem.
 * Threads: a warehouse serves any number of threads; a session and its results one at a time, except sluice_cancel().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SluiceWarehouse SluiceWarehouse;
typedef struct SluiceSession SluiceSession;
typedef struct SluiceResult SluiceResult;
typedef struct SluiceProblem SluiceProblem;

const char *sluice_version (void);

/* ---- Problems ---- */

const char *sluice_problem_condition (const SluiceProblem *problem); /* "TABLE_OR_VIEW_NOT_FOUND" */
const char *sluice_problem_sqlstate (const SluiceProblem *problem);  /* "42P01" */
const char *sluice_problem_message (const SluiceProblem *problem);   /* one sentence */
const char *sluice_problem_hint (const SluiceProblem *problem);      /* what to do, or NULL */
/* Line and column count from 1; 0 = not known. */
unsigned sluice_problem_line (const SluiceProblem *problem);
unsigned sluice_problem_column (const SluiceProblem *problem);
/* All of it as several lines of text, with the source line and a caret. Lives as long as @problem. */
const char *sluice_problem_text (const SluiceProblem *problem);
/* Whether the same call may succeed later without a change (storage, another writer). */
bool sluice_problem_is_retryable (const SluiceProblem *problem);
void sluice_problem_free (SluiceProblem *problem); /* accepts NULL */

/* ---- Warehouses and sessions ---- */

/* @directory: a directory or file: URI; made when something is first written. Returns: NULL on failure. */
SluiceWarehouse *sluice_open (const char *directory, SluiceProblem **problem);
/* Sessions keep the warehouse alive until they are freed. Accepts NULL. */
void sluice_close (SluiceWarehouse *warehouse);

SluiceSession *sluice_session_new (SluiceWarehouse *warehouse, SluiceProblem **problem);
void sluice_session_free (SluiceSession *session); /* accepts NULL; free its results before */
/* Sets a configuration key as SET does. */
bool sluice_session_set (SluiceSession *session, const char *key, const char *value, SluiceProblem **problem);
/* Stops the statement that runs, from another thread; the session can be used on. */
void sluice_cancel (SluiceSession *session);

/* ---- Statements and results ---- */

/* Runs one statement (maybe followed by a `;`). Statements that answer nothing give a result without columns.
 * A result ends when the session's next statement starts. Returns: NULL on failure. */
SluiceResult *sluice_run (SluiceSession *session, const char *sql, SluiceProblem **problem);
void sluice_result_free (SluiceResult *result); /* accepts NULL */

size_t sluice_result_n_columns (const SluiceResult *result);
const char *sluice_result_name (const SluiceResult *result, size_t column); /* Spark's display name */
const char *sluice_result_type (const SluiceResult *result, size_t column); /* `decimal(10,2)`, as typeof() */

/* What the statement warns of although it succeeded, in a sentence or two; NULL mostly. Lives as long as the result. */
const char *sluice_result_warning (const SluiceResult *result);

/* Steps to the next row. Returns: false at the end, and on failure with @problem set. */
bool sluice_result_next (SluiceResult *result, SluiceProblem **problem);
/* The current row's value as Spark shows it, NULL for NULL. Lives until the next step. */
const char *sluice_result_text (SluiceResult *result, size_t column);
/* The current row as a JSON object in one line. Lives until the next step. */
const char *sluice_result_json (SluiceResult *result);

/* The Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): all the rest of a result as struct
 * arrays, instead of sluice_result_next(). The caller calls the release functions. @at_end: then @array is untouched. */
struct ArrowSchema;
struct ArrowArray;
bool sluice_result_arrow_schema (SluiceResult *result, struct ArrowSchema *schema, SluiceProblem **problem);
bool sluice_result_arrow_next (SluiceResult *result, struct ArrowArray *array, bool *at_end, SluiceProblem **problem);

#ifdef __cplusplus
}
#endif

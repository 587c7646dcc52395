/* Runs recorded questions of ../shared/golden/sql through parser, binder, lowering and DuckDB, and compares the answers. */
#pragma once

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

typedef struct GoldenRunner GoldenRunner;

/* Engine with kernels, one session. Fails the test when that fails. */
GoldenRunner *golden_runner_new (void);
void golden_runner_free (GoldenRunner *runner);

/* What came out: either @condition, or @schema [[name, type]] and @rows [[value]]. */
typedef struct {
  char *condition; /* (nullable) */
  char *message;   /* (nullable): the whole error */
  char *sql;       /* (nullable): the lowered text */
  json_t *schema;
  json_t *rows;
} GoldenAnswer;

/* @setup: (nullable): JSON array of CREATE … TEMP VIEW statements. Types are checked against DuckDB's. */
GoldenAnswer *golden_run (GoldenRunner *runner, const json_t *setup, const char *sql, const char *time_zone);
void golden_answer_free (GoldenAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GoldenAnswer, golden_answer_free)

/* Deep comparison; doubles within 1e-12 relative. */
gboolean golden_equal (const json_t *a, const json_t *b);
/* Rows as a list, or as a bag. */
gboolean golden_rows_equal (const json_t *a, const json_t *b, gboolean ordered);
/* A recorded error beginning JAVA: or _LEGACY_ERROR_TEMP_ only says that it fails. */
gboolean golden_condition_equal (const char *recorded, const char *condition);

/* Lines of a golden file as JSON; NULL after g_test_skip() when the shared pages are absent. */
json_t *golden_load (const char *name);

G_END_DECLS

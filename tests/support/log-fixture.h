/* Small Delta tables whose logs are written by hand, line by line. Test code only.
 *
 * A table lives in a fresh directory; commit files get modification times one minute apart (LOG_FIXTURE_BEGIN_S + version
 * minutes). Data files are Parquet written by DuckDB from SQL.
 */
#pragma once

#include "delta-table.h"
#include "duck-session.h"

#include <glib.h>

G_BEGIN_DECLS

#define LOG_FIXTURE_BEGIN_S G_GINT64_CONSTANT (1767261600) /* 2026-01-01T10:00:00Z */

typedef struct {
  DuckEngine *engine;
  DuckSession *session;
  char *directory;
  DeltaTable *table;
  DeltaVersion next;
  GString *lines; /* of the commit being made */
} LogFixture;

LogFixture *log_fixture_new (void);
void log_fixture_free (LogFixture *fixture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LogFixture, log_fixture_free)

/* Lines of the next commit. */
void log_fixture_line (LogFixture *fixture, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Protocol (3, 7 with vectors, row tracking, mapping and the feed). */
void log_fixture_protocol (LogFixture *fixture);
/* @fields: JSON of the fields of the schema; NULL = id INT, name STRING. @configuration: inside of a JSON object. */
void log_fixture_metadata (LogFixture *fixture, const char *fields, const char *configuration);
/* Writes @name as Parquet from the rows of @sql ((nullable): the file is there already) and adds an action for it. @kind: "add",
 * "remove", "cdc". @dead: (nullable): rows in the action's vector, ended by -1. */
void log_fixture_file (LogFixture *fixture, const char *kind, const char *name, const char *sql, const int *dead);
/* Likewise for a table that tracks rows. */
void log_fixture_tracked_file (LogFixture *fixture, const char *kind, const char *name, const char *sql,
                               const int *dead, int base_row_id, int version);
/* Writes the lines as the next version. */
void log_fixture_commit (LogFixture *fixture);
void log_fixture_delete_version (LogFixture *fixture, DeltaVersion version);
void log_fixture_delete_file (LogFixture *fixture, const char *name);
/* The table opened anew: nothing cached. */
DeltaTable *log_fixture_reopen (LogFixture *fixture);

/* Rows of a query with one text column, sorted, joined by spaces. Returns: (transfer full). */
char *log_fixture_rows (LogFixture *fixture, const char *sql);

G_END_DECLS

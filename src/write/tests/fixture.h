/* What tests of batches share: a table in a directory, and batches on it. A failure fails the test. */
#pragma once

#include "delta-scan.h"
#include "duck-engine.h"
#include "duck-session.h"
#include "store.h"
#include "write-batch.h"

#include <glib.h>

typedef struct {
  char *directory;
  Store *store;
  DuckEngine *engine;
  DuckSession *session;
  DeltaTable *table; /* that is not there yet */
} Fixture;

void fixture_begin (Fixture *fixture, gconstpointer data);
void fixture_end (Fixture *fixture, gconstpointer data);

#define FIXTURE_CLOCK                                                                                                  \
  {                                                                                                                    \
    .fixed_us = G_GINT64_CONSTANT (1767225600000000)                                                                   \
  }

/* The newest version. Returns: (transfer full). */
DeltaSnapshot *fixture_snapshot (Fixture *fixture);
/* @snapshot: (nullable): of a table that is not there yet. @options: (nullable): the clock alone. Returns: (transfer full). */
WriteBatch *fixture_batch (Fixture *fixture, DeltaSnapshot *snapshot, const WriteOptions *options);
DeltaCommitOutcome fixture_commit (WriteBatch *batch, const char *operation);
/* Rows of a query appended in one commit. */
void fixture_append (Fixture *fixture, const char *sql);

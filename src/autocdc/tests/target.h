/* What tests of AUTO CDC targets share: an engine, tables, and what these show. A failure fails the test. */
#pragma once

#include "delta-table.h"
#include "duck-engine.h"
#include "relation-plan.h"
#include "sql-parse.h"

#define CLOCK_US G_GINT64_CONSTANT (1767225600000000)

/* Runs the tests added so far with an engine in @engine that has all kernels. Returns: the exit code. */
int target_run_tests (DuckEngine **engine, const DuckEngineOptions *options);
/* The type that a DDL text names. Returns: (transfer full). */
BaseType *target_type (SqlArena *arena, const char *ddl);
/* An empty table, as a pipeline sets it up. */
void target_create (DeltaTable *table, const BaseType *schema, GHashTable *properties, const RelationContext *context);
/* The table's rows, sorted: `1,a,-; 2,b,x`. Returns: (transfer full). */
char *target_rows (DeltaTable *table, DuckSession *session);

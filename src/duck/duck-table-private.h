/* The inside of lent tables, for duck-lend.c. */
#pragma once

#include "duck-lend.h"

#include <duckdb.h>

guint duck_table_n_columns (const DuckTable *table);
DuckTableColumn duck_table_column (const DuckTable *table, guint column); /* its name is borrowed from the table */
/* Writes rows start … start+n_rows-1 of a column to a fresh vector of its type. Threads: any, the table is lent. */
void duck_table_fill (const DuckTable *table, guint column, guint64 start, guint n_rows, duckdb_vector vector);

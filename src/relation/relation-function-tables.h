/* The list of all tables of function rows. Private to this room. */
#pragma once

#include "relation-function.h"

G_BEGIN_DECLS

/* Every function that gives an array of rows, in the order in which overloads of one name are tried. */
const RelationFunctionRows *relation_function_tables (guint *n_tables);

G_END_DECLS

/* What files of function rows share. Private to this room. */
#pragma once

#include "base-error.h"
#include "relation-cast.h"
#include "relation-coerce.h"
#include "relation-function-tables.h"
#include "relation-function.h"

G_BEGIN_DECLS

const RelationFunction *relation_function_rows_operator (void);
const RelationFunction *relation_function_rows_condition (void);
const RelationFunction *relation_function_rows_math (void);
const RelationFunction *relation_function_rows_string (void);
const RelationFunction *relation_function_rows_text (void);
const RelationFunction *relation_function_rows_regex (void);
const RelationFunction *relation_function_rows_datetime (void);
const RelationFunction *relation_function_rows_interval (void);
const RelationFunction *relation_function_rows_array (void);
const RelationFunction *relation_function_rows_map (void);
const RelationFunction *relation_function_rows_json (void);
const RelationFunction *relation_function_rows_aggregate (void);
const RelationFunction *relation_function_rows_window (void);
const RelationFunction *relation_function_rows_generator (void);
const RelationFunction *relation_function_rows_misc (void);

/* Small makers. Types are kept as long as the plan. */
static inline BaseTypeKind
relation_arg_kind (const RelationCall *call, guint index)
{
  return base_type_kind (call->args[index]->type);
}

static inline void
relation_call_set_type (RelationCall *call, BaseType *type) /* (transfer full) */
{
  call->type = relation_binder_keep_type (call->binder, type);
}

static inline void
relation_call_set_kind (RelationCall *call, BaseTypeKind kind)
{
  relation_call_set_type (call, base_type_simple (kind));
}

/* Casts argument @index to @type (transfer full), which must be a legal cast. */
void relation_call_cast (RelationCall *call, guint index, BaseType *type);
void relation_call_cast_kind (RelationCall *call, guint index, BaseTypeKind kind);
/* Casts to what Spark's implicit cast makes of it, else the type error with @required. */
gboolean relation_call_want (RelationCall *call, guint index, BaseTypeKind kind, const char *required, GError **error);

/* Refuses a NULL without a type where an array or map is wanted; for rows whose pattern took it. */
gboolean relation_call_refuse_null (RelationCall *call, guint index, GError **error);

/* lower_call of rows whose template bind() chose: prints the template in `data`. */
gboolean relation_lower_data (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error);

/* Prints `kernel(arg, …, 'spec')` where the spec describes the arguments' types, the result's type and the session's zone;
 * @options: (transfer full) (nullable): more members. @kernel is an instance when @instance. */
gboolean relation_lower_spec (RelationPrinter *printer, const RelationExpr *call, const char *kernel, gboolean instance,
                              json_t *options, GString *out, GError **error);

/* Dates, timestamps and intervals in + - * /. @handled: set when an operand is one (and then the call is bound or an error set). */
gboolean relation_bind_time_arithmetic (RelationCall *call, char op, gboolean try_it, gboolean *handled,
                                        GError **error);

G_END_DECLS

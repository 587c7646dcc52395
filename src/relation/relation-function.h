/* The function table: every scalar function, operator, aggregate, window function and generator is one row.
 *
 * A row says how its arguments are checked and cast, what type comes out, and what DuckDB text it becomes; SHOW FUNCTIONS and the
 * manual read the same rows. Operators are rows too, named by their spelling ("+", "<=>", "like", "[]", "between", "in", "case");
 * the binder finds them by that name. To add a function: add a row in the file of its topic; nothing else.
 *
 * ARGUMENT PATTERN (RelationFunction.args): arguments separated by blanks, each `class`, with suffixes `?` optional and trailing, `*` the last
 * one repeated zero or more times, `+` one or more, `!` must be foldable (DATATYPE_MISMATCH.NON_FOLDABLE_INPUT otherwise), `=text` optional
 * with a default: the literal is an integer, a 'string', true, false or null (`int=1`, `string='x'`; it shows in display names, as in
 * Spark's). Named arguments (`name => value`) are matched when a class is prefixed `name:`.
 *   any        any type, as it is
 *   boolean byte short int long float double string binary date timestamp ntz variant void interval(year-month) dayinterval(day-time)
 *              calinterval: implicitly cast to it by relation_coerce_implicit()
 *   decimal    any DECIMAL (integers become their decimal); numeric: any number (a string becomes DOUBLE); integral: an integer
 *   array map struct  any such type; ordered: any orderable type
 *   a|b        the first class that the argument already has, else the first it can be implicitly cast to
 *   T U K V    type variables: all arguments of one variable get their common type (relation_coerce_common)
 *   array<T> map<K,V>    nested patterns with variables or classes
 *   (T,U)->V   a lambda; parameters that the user leaves out at the end are allowed; `(T[,int])` marks those that may be left out.
 *              V may be new (bound by the body), known (body cast to it) or a class such as boolean.
 * RESULT PATTERN (result): a class that is one type, a variable, array<…>, map<…>, `$1` (type of the first argument); for a generator its
 * columns, `col:T` or `pos:int key:K value:V`.
 * LOWERING TEMPLATE (lower): DuckDB text; `$1`…`$9` the arguments' texts (parenthesised when not atomic), `$*` all, comma separated,
 * `$@1` the arguments from number 1 on (likewise 2…), `$t` the DuckDB type of the result, `$t1` of argument 1, `$zone` the session zone as a literal;
 * a lambda argument is printed as DuckDB's `lambda x: …`. In an aggregate or window row the call itself stands in braces,
 * `{sum|$1}` or `CAST({sum|$1} AS BIGINT)`: DISTINCT, the arguments, ORDER BY, FILTER and OVER are put in there. A generator's text is
 * a DuckDB list whose elements are structs with fields `c0`, `c1`, … (one per column).
 * An argument used twice in a template is computed (and printed) twice: prefer a kernel for such.
 */
#pragma once

#include "relation-expr.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct RelationCall RelationCall;
typedef struct RelationPrinter RelationPrinter;

typedef enum {
  RELATION_FUNCTION_AGGREGATE = 1 << 0,
  RELATION_FUNCTION_WINDOW = 1 << 1, /* needs OVER: row_number, lag … */
  RELATION_FUNCTION_GENERATOR = 1 << 2,
  RELATION_FUNCTION_VOLATILE = 1 << 3,   /* rand(), uuid() */
  RELATION_FUNCTION_NEVER_NULL = 1 << 4, /* result is never NULL */
  RELATION_FUNCTION_NULLABLE =
      1 << 5, /* result may be NULL whatever the arguments; neither flag: nullable when any argument is */
  RELATION_FUNCTION_OPERATOR = 1 << 6,         /* not callable as name(…), not listed among functions */
  RELATION_FUNCTION_DISTINCT_ALLOWED = 1 << 7, /* aggregates: f(DISTINCT x) */
  RELATION_FUNCTION_RAW = 1 << 8,              /* no pattern: bind() gets the arguments untouched */
  RELATION_FUNCTION_IGNORE_NULLS = 1 << 9,     /* IGNORE NULLS is allowed */
  RELATION_FUNCTION_ORDERED = 1 << 10,         /* WITHIN GROUP (ORDER BY …) is required or allowed */
  RELATION_FUNCTION_CLOCK = 1 << 11,           /* reads the clock: never folded before lowering */
  RELATION_FUNCTION_ORDER_KEY =
      1 << 12, /* aggregates: an empty frame or no order changes the answer: needs ORDER BY in OVER */
} RelationFunctionFlags;

struct RelationFunction {
  const char *names;  /* blank-separated, lower case; all are equal, display uses the one the user called */
  const char *args;   /* pattern; "" = none */
  const char *result; /* pattern; (nullable) when bind() sets the type */
  const char *lower;  /* template; (nullable) when lower_call is set */
  guint flags;
  const char *doc;     /* one line */
  const char *display; /* (nullable): template with $1 … $* over display texts; NULL = `name(a, b)`; "CEIL($1)" */
  /* (nullable). Called after the pattern (if any) was matched and the arguments cast. May replace args, check values, set the type,
   * nullability, display and data, or set `replacement` to another expression altogether. */
  gboolean (*bind) (RelationCall *call, GError **error);
  /* (nullable). Prints the call instead of @lower. */
  gboolean (*lower_call) (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error);
};

/* A call being bound. */
struct RelationCall {
  RelationBinder *binder;
  const RelationFunction *function;
  const char *name;    /* as the user called it, lower case */
  RelationExpr **args; /* (element owned by the arena) may be replaced in place or by a new array */
  guint n_args;
  const char **arg_names;      /* (nullable): names of `name => value` arguments, by number, each (nullable) */
  const SqlPosition *position; /* (nullable) */
  gboolean distinct;
  gboolean ignore_nulls;
  gboolean is_window;  /* has OVER */
  RelationSort *order; /* WITHIN GROUP */
  guint n_order;
  RelationExpr *filter;
  /* results */
  BaseType *
      type; /* (transfer none), kept with relation_binder_keep_type(); filled from `result` before bind() when there is one */
  gboolean nullable;
  const char *display;       /* filled before bind() */
  gconstpointer data;        /* for lower_call */
  RelationExpr *replacement; /* (nullable) */
};

/* Errors with the call's position. Code: SluiceError. Returns FALSE. */
gboolean relation_call_error (RelationCall *call, GError **error, int code, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE of argument @index (from 0). */
gboolean relation_call_type_error (RelationCall *call, guint index, const char *required, GError **error);
/* Literal value of argument @index after folding; error DATATYPE_MISMATCH.NON_FOLDABLE_INPUT when it is not foldable. */
const RelationLiteral *relation_call_constant (RelationCall *call, guint index, GError **error);

/* Tables of rows. Each file of rows exports one function that gives its array (ended by a row with names == NULL); the list of these
 * functions is in relation-function.c. */
typedef const RelationFunction *(*RelationFunctionRows) (void);

/* Finds the rows of a name (overloads, in table order). @name: any case. Returns: number of rows put in @rows (at most @n_most). */
guint relation_function_find (const char *name, const RelationFunction **rows, guint n_most);
/* Every name that can be called, sorted. Borrowed, static. */
const char *const *relation_function_names (guint *n_names);

/* ---- For lower_call ---- */

/* Appends @expr's DuckDB text; parenthesised unless atomic. */
gboolean relation_printer_expr (RelationPrinter *printer, const RelationExpr *expr, GString *out, GError **error);
/* Appends the aggregate or window call `name(args) FILTER … OVER …` of @call with the given argument texts. */
gboolean relation_printer_aggregate (RelationPrinter *printer, const RelationExpr *call, const char *name,
                                     const char *args, GString *out, GError **error);
/* Expands a template over @call. */
gboolean relation_printer_template (RelationPrinter *printer, const RelationExpr *call, const char *text, GString *out,
                                    GError **error);
/* The name of a kernel whose result type depends on the call (duck_engine_kernel_instance). Borrowed; NULL on error. */
const char *relation_printer_kernel (RelationPrinter *printer, const char *kernel, const BaseType *result,
                                     GError **error);
const char *relation_printer_zone (RelationPrinter *printer); /* session time zone */
gint64 relation_printer_now_us (RelationPrinter *printer);
void relation_printer_type (RelationPrinter *printer, const BaseType *type, GString *out); /* duck_type_text */
/* A name for a lambda's variable: `l<id>`. */
void relation_printer_variable (RelationPrinter *printer, guint id, GString *out);

G_END_DECLS

/* The function table: finding rows, matching arguments against a row's pattern, and the call that comes out.
 *
 * The pattern language is told in relation-function.h. Matching goes in three steps: every argument's type is unified with its
 * pattern (type variables collect the common type of all their uses), lambdas are bound when the types of their parameters are
 * known, and then every argument is cast to what its pattern has become.
 */
#include "relation-function.h"

#include "base-text.h"
#include "relation-binder-private.h"
#include "relation-function-tables.h"

#include <ctype.h>
#include <string.h>

#define MAX_ARGS     65536
#define MAX_PATTERNS 24

/* ---- finding ---- */

static gboolean
names_hold (const char *names, const char *name, gsize length)
{
  const char *from = names;

  while (*from != '\0') {
    const char *end = strchr (from, ' ');
    gsize n = end != NULL ? (gsize) (end - from) : strlen (from);
    if (n == length && memcmp (from, name, length) == 0)
      return TRUE;
    from += n;
    while (*from == ' ')
      from++;
  }
  return FALSE;
}

/* Names of operators hold blanks ("is null"), so the whole text is one name there. */
static gboolean
row_has_name (const RelationFunction *row, const char *name)
{
  if ((row->flags & RELATION_FUNCTION_OPERATOR) != 0)
    return strcmp (row->names, name) == 0;
  return names_hold (row->names, name, strlen (name));
}

typedef struct {
  GHashTable *by_name; /* name → GPtrArray of rows */
  const char **names;  /* callable, sorted */
  guint n_names;
} Index;

static void
index_add (Index *index, const char *name, const RelationFunction *row)
{
  GPtrArray *rows = g_hash_table_lookup (index->by_name, name);

  if (rows == NULL) {
    rows = g_ptr_array_new ();
    g_hash_table_insert (index->by_name, g_strdup (name), rows);
  }
  g_ptr_array_add (rows, (gpointer) row);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gpointer
make_index (gpointer data G_GNUC_UNUSED)
{
  Index *index = g_new0 (Index, 1);
  guint n_tables;
  const RelationFunctionRows *tables = relation_function_tables (&n_tables);
  GPtrArray *names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer name, rows;

  index->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint t = 0; t < n_tables; t++)
    for (const RelationFunction *row = tables[t](); row->names != NULL; row++) {
      if ((row->flags & RELATION_FUNCTION_OPERATOR) != 0) {
        index_add (index, row->names, row);
        continue;
      }
      g_auto (GStrv) parts = g_strsplit (row->names, " ", -1);
      for (guint i = 0; parts[i] != NULL; i++)
        if (*parts[i] != '\0')
          index_add (index, parts[i], row);
    }
  g_hash_table_iter_init (&iter, index->by_name);
  while (g_hash_table_iter_next (&iter, &name, &rows)) {
    const RelationFunction *row = g_ptr_array_index ((GPtrArray *) rows, 0);
    if ((row->flags & RELATION_FUNCTION_OPERATOR) == 0)
      g_ptr_array_add (names, name);
  }
  g_ptr_array_sort (names, compare_names);
  index->n_names = names->len;
  g_ptr_array_add (names, NULL);
  index->names = (const char **) g_ptr_array_free (names, FALSE);
  return index;
}

/* Built once from constant rows and never changed: no state. */
static const Index *
function_index (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, make_index, NULL);
}

guint
relation_function_find (const char *name, const RelationFunction **rows, guint n_most)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);
  GPtrArray *found = g_hash_table_lookup (function_index ()->by_name, lower);
  guint n = 0;

  for (guint i = 0; found != NULL && i < found->len && n < n_most; i++)
    if (row_has_name (g_ptr_array_index (found, i), lower))
      rows[n++] = g_ptr_array_index (found, i);
  return n;
}

const char *const *
relation_function_names (guint *n_names)
{
  if (n_names != NULL)
    *n_names = function_index ()->n_names;
  return function_index ()->names;
}

/* ---- errors of a call ---- */

gboolean
relation_call_error (RelationCall *call, GError **error, int code, const char *format, ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  return relation_bind_error (call->position, error, code, "%s", message);
}

gboolean
relation_call_type_error (RelationCall *call, guint index, const char *required, GError **error)
{
  g_autofree char *type = base_type_text (call->args[index]->type);

  return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                              "The argument %u of %s requires the type %s, however %s has the type %s.", index + 1,
                              call->name, required,
                              call->args[index]->display != NULL ? call->args[index]->display : "it", type);
}

const RelationLiteral *
relation_call_constant (RelationCall *call, guint index, GError **error)
{
  if (!call->args[index]->foldable) {
    relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_NON_FOLDABLE_INPUT,
                         "The argument %u of %s must be a constant, but it is %s.", index + 1, call->name,
                         call->args[index]->display != NULL ? call->args[index]->display : "not one");
    return NULL;
  }
  return relation_expr_fold (call->binder, call->args[index], error);
}

/* ---- patterns ---- */

typedef struct {
  const char *name; /* (nullable) of a named argument */
  gsize name_length;
  const char *text; /* the class, without suffixes */
  gsize length;
  gboolean optional;
  gboolean repeat; /* `*` or `+` */
  gboolean at_least_one;
  gboolean constant;
  const char *fallback; /* (nullable): text of a default */
  gsize fallback_length;
} Pattern;

typedef struct {
  RelationCall *call;
  BaseType *variables[26]; /* by letter, owned by the arena */
  gboolean variable_nullable[26];
} Match;

/* The end of one blank-separated item; blanks inside brackets and quotes belong to it. */
static const char *
item_end (const char *from)
{
  int nesting = 0;
  gboolean quoted = FALSE;

  for (; *from != '\0'; from++) {
    if (*from == '\'')
      quoted = !quoted;
    if (quoted)
      continue;
    if (*from == '<' || *from == '(' || *from == '[')
      nesting++;
    if ((*from == '>' && from[-1] != '-') || *from == ')' || *from == ']')
      nesting--;
    if (*from == ' ' && nesting == 0)
      break;
  }
  return from;
}

static void
parse_pattern (const char *from, const char *end, Pattern *pattern)
{
  const char *colon = from;
  const char *equal;

  *pattern = (Pattern){ 0 };
  while (colon < end && (g_ascii_isalnum (*colon) || *colon == '_'))
    colon++;
  if (colon < end && *colon == ':') {
    pattern->name = from;
    pattern->name_length = (gsize) (colon - from);
    from = colon + 1;
  }
  equal = memchr (from, '=', (gsize) (end - from));
  if (equal != NULL) {
    pattern->fallback = equal + 1;
    pattern->fallback_length = (gsize) (end - equal - 1);
    pattern->optional = TRUE;
    end = equal;
  }
  for (; end > from && strchr ("?*+!", end[-1]) != NULL; end--) {
    pattern->optional |= end[-1] == '?';
    pattern->repeat |= end[-1] == '*' || end[-1] == '+';
    pattern->at_least_one |= end[-1] == '+';
    pattern->constant |= end[-1] == '!';
  }
  pattern->text = from;
  pattern->length = (gsize) (end - from);
}

static guint
parse_patterns (const char *text, Pattern *patterns)
{
  guint n = 0;

  while (*text == ' ')
    text++;
  while (*text != '\0' && n < MAX_PATTERNS) {
    const char *end = item_end (text);
    parse_pattern (text, end, &patterns[n++]);
    for (text = end; *text == ' ';)
      text++;
  }
  return n;
}

static gboolean
is_variable (const char *text, gsize length)
{
  return length == 1 && g_ascii_isupper (*text);
}

static gboolean
text_is (const char *text, gsize length, const char *word)
{
  return strlen (word) == length && memcmp (text, word, length) == 0;
}

static gboolean
starts_with (const char *text, gsize length, const char *word)
{
  return length >= strlen (word) && memcmp (text, word, strlen (word)) == 0;
}

/* Position of the first @mark outside brackets, or NULL. */
static const char *
find_outside (const char *text, gsize length, char mark)
{
  int nesting = 0;

  for (const char *at = text; at < text + length; at++) {
    if (*at == mark && nesting == 0)
      return at;
    if (*at == '<' || *at == '(' || *at == '[')
      nesting++;
    if ((*at == '>' && at > text && at[-1] != '-') || *at == ')' || *at == ']')
      nesting--;
  }
  return NULL;
}

static const struct {
  const char *word;
  BaseTypeKind kind;
} plain_classes[] = {
  { "boolean", BASE_TYPE_BOOLEAN },
  { "byte", BASE_TYPE_BYTE },
  { "short", BASE_TYPE_SHORT },
  { "int", BASE_TYPE_INTEGER },
  { "long", BASE_TYPE_LONG },
  { "float", BASE_TYPE_FLOAT },
  { "double", BASE_TYPE_DOUBLE },
  { "string", BASE_TYPE_STRING },
  { "binary", BASE_TYPE_BINARY },
  { "date", BASE_TYPE_DATE },
  { "timestamp", BASE_TYPE_TIMESTAMP },
  { "ntz", BASE_TYPE_TIMESTAMP_NTZ },
  { "variant", BASE_TYPE_VARIANT },
  { "void", BASE_TYPE_VOID },
  { "calinterval", BASE_TYPE_INTERVAL_CALENDAR },
};

/* The one type of a class, NULL when the class has several. (transfer full). */
static BaseType *
class_type (const char *text, gsize length)
{
  for (guint i = 0; i < G_N_ELEMENTS (plain_classes); i++)
    if (text_is (text, length, plain_classes[i].word))
      return base_type_simple (plain_classes[i].kind);
  if (text_is (text, length, "interval"))
    return base_type_interval (BASE_INTERVAL_YEAR, BASE_INTERVAL_MONTH);
  if (text_is (text, length, "dayinterval"))
    return base_type_interval (BASE_INTERVAL_DAY, BASE_INTERVAL_SECOND);
  return NULL;
}

static gboolean
class_holds (const char *text, gsize length, const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);
  g_autoptr (BaseType) one = class_type (text, length);

  if (one != NULL)
    return base_type_kind (one) == kind;
  if (text_is (text, length, "any"))
    return TRUE;
  if (text_is (text, length, "numeric"))
    return base_type_is_numeric (type);
  if (text_is (text, length, "integral"))
    return base_type_is_integral (type);
  if (text_is (text, length, "decimal"))
    return kind == BASE_TYPE_DECIMAL;
  if (text_is (text, length, "ordered"))
    return base_type_is_orderable (type);
  if (text_is (text, length, "array"))
    return kind == BASE_TYPE_ARRAY;
  if (text_is (text, length, "map"))
    return kind == BASE_TYPE_MAP;
  if (text_is (text, length, "struct"))
    return kind == BASE_TYPE_STRUCT;
  return FALSE;
}

/* The type an argument becomes for one class, NULL when it cannot. (transfer full). */
static BaseType *
class_target (const char *text, gsize length, const BaseType *type)
{
  BaseTypeKind kind = base_type_kind (type);
  g_autoptr (BaseType) one = NULL;

  if (class_holds (text, length, type))
    return base_type_ref (type);
  one = class_type (text, length);
  if (one != NULL)
    return relation_coerce_implicit (type, one);
  if (text_is (text, length, "numeric"))
    return kind == BASE_TYPE_STRING || kind == BASE_TYPE_VOID ? base_type_simple (BASE_TYPE_DOUBLE) : NULL;
  if (text_is (text, length, "integral")) {
    if (kind == BASE_TYPE_VOID)
      return base_type_simple (BASE_TYPE_INTEGER);
    return kind == BASE_TYPE_STRING ? base_type_simple (BASE_TYPE_LONG) : NULL;
  }
  if (text_is (text, length, "decimal")) {
    if (kind == BASE_TYPE_STRING || kind == BASE_TYPE_VOID || kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE)
      return base_type_decimal (38, 18);
    return base_type_is_integral (type) ? base_type_decimal (kind == BASE_TYPE_LONG ? 20 : 10, 0) : NULL;
  }
  if (text_is (text, length, "array") && kind == BASE_TYPE_VOID) {
    g_autoptr (BaseType) element = base_type_simple (BASE_TYPE_VOID);
    return base_type_array (element, TRUE);
  }
  if (text_is (text, length, "map") && kind == BASE_TYPE_VOID) {
    g_autoptr (BaseType) part = base_type_simple (BASE_TYPE_VOID);
    return base_type_map (part, part, TRUE);
  }
  return NULL;
}

static gboolean
bind_variable (Match *match, char letter, const BaseType *type, gboolean nullable)
{
  BaseType **slot = &match->variables[letter - 'A'];
  BaseType *common = *slot == NULL ? base_type_ref (type) : relation_coerce_common (*slot, type);

  if (common == NULL)
    return FALSE;
  *slot = relation_arena_keep_type (match->call->binder->arena, common);
  match->variable_nullable[letter - 'A'] |= nullable;
  return TRUE;
}

/* Unifies @type with a pattern. FALSE: they do not go together. */
static gboolean
unify (Match *match, const char *text, gsize length, const BaseType *type, gboolean nullable)
{
  BaseTypeKind kind = base_type_kind (type);
  const char *bar = find_outside (text, length, '|');

  if (bar != NULL) {
    g_autoptr (BaseType) target = NULL;
    for (const char *from = text; from < text + length;) {
      const char *end = find_outside (from, (gsize) (text + length - from), '|');
      gsize n = end != NULL ? (gsize) (end - from) : (gsize) (text + length - from);
      if (is_variable (from, n) || memchr (from, '<', n) != NULL) {
        if (unify (match, from, n, type, nullable))
          return TRUE;
      } else if ((target = class_target (from, n, type)) != NULL) {
        return TRUE;
      }
      from += n + 1;
    }
    return FALSE;
  }
  if (is_variable (text, length))
    return bind_variable (match, *text, type, nullable);
  if (starts_with (text, length, "array<")) {
    g_autoptr (BaseType) nothing = base_type_simple (BASE_TYPE_VOID);
    if (kind != BASE_TYPE_ARRAY && kind != BASE_TYPE_VOID)
      return FALSE;
    return unify (match, text + 6, length - 7, kind == BASE_TYPE_ARRAY ? base_type_element (type) : nothing,
                  kind != BASE_TYPE_ARRAY || base_type_contains_null (type));
  }
  if (starts_with (text, length, "map<")) {
    const char *comma = find_outside (text + 4, length - 5, ',');
    g_autoptr (BaseType) nothing = base_type_simple (BASE_TYPE_VOID);
    gboolean is_map = kind == BASE_TYPE_MAP;
    if ((!is_map && kind != BASE_TYPE_VOID) || comma == NULL)
      return FALSE;
    return unify (match, text + 4, (gsize) (comma - text - 4), is_map ? base_type_key (type) : nothing, FALSE) &&
           unify (match, comma + 1, (gsize) (text + length - 1 - comma - 1), is_map ? base_type_value (type) : nothing,
                  !is_map || base_type_contains_null (type));
  }
  {
    g_autoptr (BaseType) target = class_target (text, length, type);
    return target != NULL;
  }
}

/* The type that a pattern has become; @type is the argument's own (NULL in results). (transfer full), NULL when unknown. */
static BaseType *
instantiate (Match *match, const char *text, gsize length, const BaseType *type)
{
  if (type != NULL && find_outside (text, length, '|') != NULL) {
    BaseType *target = NULL;
    for (guint pass = 0; pass < 2; pass++)
      for (const char *from = text; from < text + length;) {
        const char *end = find_outside (from, (gsize) (text + length - from), '|');
        gsize n = end != NULL ? (gsize) (end - from) : (gsize) (text + length - from);
        gboolean nested = is_variable (from, n) || memchr (from, '<', n) != NULL;
        if (nested && starts_with (from, n, "array<") && base_type_kind (type) != BASE_TYPE_ARRAY)
          nested = FALSE;
        else if (nested && starts_with (from, n, "map<") && base_type_kind (type) != BASE_TYPE_MAP)
          nested = FALSE;
        else if (nested && (target = instantiate (match, from, n, type)) != NULL)
          return target;
        if (!nested && (pass == 1 || class_holds (from, n, type)) && (target = class_target (from, n, type)) != NULL)
          return target;
        from += n + 1;
      }
    return NULL;
  }
  if (is_variable (text, length)) {
    BaseType *bound = match->variables[*text - 'A'];
    return bound != NULL ? base_type_ref (bound) : NULL;
  }
  if (starts_with (text, length, "array<")) {
    gboolean variable = length == 8 && is_variable (text + 6, 1);
    gboolean nullable = !variable || match->variable_nullable[text[6] - 'A'];
    const BaseType *part = type != NULL && base_type_kind (type) == BASE_TYPE_ARRAY ? base_type_element (type) : NULL;
    g_autoptr (BaseType) element = instantiate (match, text + 6, length - 7, part);
    if (element == NULL)
      return NULL;
    return base_type_array (element, part != NULL ? base_type_contains_null (type) || nullable : nullable);
  }
  if (starts_with (text, length, "map<")) {
    const char *comma = find_outside (text + 4, length - 5, ',');
    gboolean is_map = type != NULL && base_type_kind (type) == BASE_TYPE_MAP;
    g_autoptr (BaseType) key =
        instantiate (match, text + 4, (gsize) (comma - text - 4), is_map ? base_type_key (type) : NULL);
    g_autoptr (BaseType) value =
        instantiate (match, comma + 1, (gsize) (text + length - 1 - comma - 1), is_map ? base_type_value (type) : NULL);
    if (key == NULL || value == NULL)
      return NULL;
    return base_type_map (key, value, TRUE);
  }
  if (length >= 2 && text[0] == '$' && g_ascii_isdigit (text[1])) {
    guint index = (guint) (text[1] - '1');
    return index < match->call->n_args ? base_type_ref (match->call->args[index]->type) : NULL;
  }
  if (type != NULL)
    return class_target (text, length, type);
  return class_type (text, length);
}

/* ---- lambdas ---- */

/* `(T,U[,int])->V`: binds the body, and V. */
static gboolean
match_lambda (Match *match, const Pattern *pattern, guint index, GError **error)
{
  RelationCall *call = match->call;
  RelationExpr *placeholder = call->args[index];
  const char *close = find_outside (pattern->text + 1, pattern->length - 1, ')');
  const char *from = pattern->text + 1;
  const char *result;
  gsize result_length;
  BaseType *types[8];
  gboolean nullable[8];
  guint n = 0;
  RelationExpr *lambda;

  if (placeholder->kind != RELATION_EXPR_LAMBDA)
    return relation_call_type_error (call, index, "a lambda function", error);
  close = memchr (pattern->text, ')', pattern->length);
  while (from < close && n < G_N_ELEMENTS (types)) {
    const char *end = from;
    int nesting = 0;
    while (end < close && (nesting > 0 || (*end != ',' && *end != '[' && *end != ']'))) {
      nesting += *end == '<' ? 1 : *end == '>' ? -1 : 0;
      end++;
    }
    if (end > from) {
      BaseType *type = instantiate (match, from, (gsize) (end - from), NULL);
      if (type == NULL)
        return relation_call_type_error (call, index, "a lambda function over known types", error);
      nullable[n] = is_variable (from, (gsize) (end - from)) ? match->variable_nullable[*from - 'A'] : FALSE;
      types[n++] = relation_arena_keep_type (call->binder->arena, type);
    }
    from = end + 1;
  }
  lambda = relation_bind_lambda (call->binder, placeholder, types, nullable, n, error);
  if (lambda == NULL)
    return FALSE;
  result = close + 3;
  result_length = (gsize) (pattern->text + pattern->length - result);
  if (is_variable (result, result_length) && match->variables[*result - 'A'] == NULL) {
    bind_variable (match, *result, lambda->args[0]->type, lambda->args[0]->nullable);
  } else if (!text_is (result, result_length, "any")) {
    g_autoptr (BaseType) want = instantiate (match, result, result_length, lambda->args[0]->type);
    g_autoptr (BaseType) target = want != NULL ? relation_coerce_implicit (lambda->args[0]->type, want) : NULL;
    if (target == NULL) {
      g_autofree char *type = base_type_text (lambda->args[0]->type);
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                                  "The lambda function of %s gives %s where %.*s is required.", call->name, type,
                                  (int) result_length, result);
    }
    lambda->args[0] = relation_expr_new_cast (call->binder, lambda->args[0], target);
    lambda->type = lambda->args[0]->type;
    if (is_variable (result, result_length))
      match->variable_nullable[*result - 'A'] |= lambda->args[0]->nullable;
  }
  call->args[index] = lambda;
  return TRUE;
}

/* ---- matching a row ---- */

static RelationExpr *
default_argument (RelationBinder *binder, const Pattern *pattern)
{
  g_autofree char *text = g_strndup (pattern->fallback, pattern->fallback_length);
  gint64 number;

  if (*text == '\'') {
    text[strlen (text) - 1] = '\0';
    return relation_expr_new_string (binder, text + 1);
  }
  if (base_text_parse_int64 (text, &number))
    return relation_expr_new_int (binder, (gint32) number);
  if (strcmp (text, "true") == 0 || strcmp (text, "false") == 0) {
    g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_BOOLEAN);
    return relation_expr_new_literal (binder, relation_literal_new_integer (type, *text == 't'));
  }
  {
    g_autoptr (BaseType) type = base_type_simple (BASE_TYPE_VOID);
    return relation_expr_new_null (binder, type);
  }
}

static gboolean
arity_error (RelationCall *call, const Pattern *patterns, guint n_patterns, GError **error)
{
  guint least = 0;
  gboolean open = FALSE;

  for (guint i = 0; i < n_patterns; i++) {
    least += !patterns[i].optional && (!patterns[i].repeat || patterns[i].at_least_one);
    open |= patterns[i].repeat;
  }
  return relation_call_error (call, error, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION,
                              "The `%s` requires %s%u%s parameters but the actual number is %u.", call->name,
                              open || least < n_patterns ? "from " : "", least,
                              open                  ? " on"
                              : least == n_patterns ? ""
                                                    : g_intern_string (" on, with optional ones,"),
                              call->n_args);
}

/* `name => value` arguments behind the positional ones go to where their pattern stands; gaps are filled with defaults. */
static gboolean
place_named (RelationCall *call, const Pattern *patterns, guint n_patterns, GError **error)
{
  RelationExpr **args = relation_arena_new0_n (call->binder->arena, RelationExpr *, n_patterns + call->n_args + 1);
  guint n_named = 0;
  guint last = 0;

  for (guint i = 0; call->arg_names != NULL && i < call->n_args; i++)
    n_named += call->arg_names[i] != NULL;
  if (n_named == 0)
    return TRUE;
  for (guint i = 0; i < call->n_args; i++) {
    guint place = i;
    if (call->arg_names[i] != NULL)
      for (place = 0; place < n_patterns; place++)
        if (patterns[place].name != NULL && strlen (call->arg_names[i]) == patterns[place].name_length &&
            g_ascii_strncasecmp (patterns[place].name, call->arg_names[i], patterns[place].name_length) == 0)
          break;
    if (place >= n_patterns)
      return relation_call_error (call, error, SLUICE_ERROR_NAMED_PARAMETERS_NOT_SUPPORTED,
                                  "The function `%s` has no parameter named `%s`.", call->name,
                                  call->arg_names[i] != NULL ? call->arg_names[i] : "");
    if (args[place] != NULL)
      return relation_call_error (call, error, SLUICE_ERROR_NAMED_PARAMETERS_NOT_SUPPORTED,
                                  "The parameter `%s` of `%s` is given twice.", call->arg_names[i], call->name);
    args[place] = call->args[i];
    last = MAX (last, place + 1);
  }
  for (guint i = 0; i < last; i++)
    if (args[i] == NULL && patterns[i].fallback != NULL)
      args[i] = default_argument (call->binder, &patterns[i]);
    else if (args[i] == NULL)
      return arity_error (call, patterns, n_patterns, error);
  call->args = args;
  call->n_args = last;
  call->arg_names = NULL;
  return TRUE;
}

/* Puts the arguments in the patterns' order, one pattern per argument; fills defaults. */
static gboolean
assign_patterns (RelationCall *call, const Pattern *patterns, guint n_patterns, const Pattern **of, GError **error)
{
  RelationExpr **args = relation_arena_new0_n (call->binder->arena, RelationExpr *, call->n_args + n_patterns);
  guint n = 0;
  guint taken = 0;

  for (guint p = 0; p < n_patterns; p++) {
    guint rest = 0;
    for (guint q = p + 1; q < n_patterns; q++)
      rest += !patterns[q].optional && !patterns[q].repeat;
    if (patterns[p].repeat) {
      guint first = n;
      while (taken + rest < call->n_args) {
        of[n] = &patterns[p];
        args[n++] = call->args[taken++];
      }
      if (patterns[p].at_least_one && n == first)
        return arity_error (call, patterns, n_patterns, error);
      continue;
    }
    if (taken + (patterns[p].optional ? rest : 0) < call->n_args) {
      of[n] = &patterns[p];
      args[n++] = call->args[taken++];
    } else if (patterns[p].fallback != NULL) {
      of[n] = &patterns[p];
      args[n++] = default_argument (call->binder, &patterns[p]);
    } else if (!patterns[p].optional) {
      return arity_error (call, patterns, n_patterns, error);
    }
  }
  if (taken < call->n_args)
    return arity_error (call, patterns, n_patterns, error);
  call->args = args;
  call->n_args = n;
  return TRUE;
}

static gboolean
unify_error (Match *match, const Pattern *pattern, guint index, GError **error)
{
  RelationCall *call = match->call;
  g_autofree char *required = g_strndup (pattern->text, pattern->length);

  if (is_variable (pattern->text, pattern->length) && match->variables[*pattern->text - 'A'] != NULL) {
    g_autofree char *a = base_type_text (match->variables[*pattern->text - 'A']);
    g_autofree char *b = base_type_text (call->args[index]->type);
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_DATA_DIFF_TYPES,
                                "Input to `%s` should all be the same type, but it's [%s, %s].", call->name, a, b);
  }
  return relation_call_type_error (call, index, required, error);
}

static gboolean
match_row (RelationCall *call, GError **error)
{
  const RelationFunction *row = call->function;
  Pattern patterns[MAX_PATTERNS];
  guint n_patterns = parse_patterns (row->args != NULL ? row->args : "", patterns);
  g_autofree const Pattern **of = g_new0 (const Pattern *, call->n_args + 2 * n_patterns + 1);
  Match match = { .call = call };

  if (!place_named (call, patterns, n_patterns, error) || !assign_patterns (call, patterns, n_patterns, of, error))
    return FALSE;
  for (guint i = 0; i < call->n_args; i++) {
    if (of[i]->text[0] == '(')
      continue;
    if (call->args[i]->kind == RELATION_EXPR_LAMBDA && call->args[i]->n_args == 0)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_UNEXPECTED_INPUT_TYPE,
                                  "The argument %u of %s cannot be a lambda function.", i + 1, call->name);
    if (!unify (&match, of[i]->text, of[i]->length, call->args[i]->type, call->args[i]->nullable))
      return unify_error (&match, of[i], i, error);
  }
  for (guint i = 0; i < call->n_args; i++)
    if (of[i]->text[0] == '(' && !match_lambda (&match, of[i], i, error))
      return FALSE;
  for (guint i = 0; i < call->n_args; i++) {
    g_autoptr (BaseType) target = NULL;
    if (of[i]->text[0] == '(')
      continue;
    target = instantiate (&match, of[i]->text, of[i]->length, call->args[i]->type);
    if (target == NULL)
      return relation_call_type_error (call, i, "another type", error);
    call->args[i] = relation_expr_new_cast (call->binder, call->args[i], target);
    if (of[i]->constant && !call->args[i]->foldable) {
      relation_call_constant (call, i, error);
      return FALSE;
    }
  }
  if (row->result != NULL && (row->flags & RELATION_FUNCTION_GENERATOR) == 0) {
    BaseType *type = instantiate (&match, row->result, strlen (row->result), NULL);
    if (type == NULL)
      return relation_call_error (call, error, SLUICE_ERROR_INTERNAL_ERROR,
                                  "The row of `%s` leaves its result type open.", call->name);
    call->type = relation_arena_keep_type (call->binder->arena, type);
  }
  if (row->result != NULL && (row->flags & RELATION_FUNCTION_GENERATOR) != 0) {
    Pattern columns[MAX_PATTERNS];
    guint n = parse_patterns (row->result, columns);
    g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
    for (guint i = 0; i < n; i++) {
      g_autofree char *name = g_strndup (columns[i].name, columns[i].name_length);
      g_autoptr (BaseType) type = instantiate (&match, columns[i].text, columns[i].length, NULL);
      if (type == NULL)
        return relation_call_type_error (call, 0, "an array or a map", error);
      base_struct_builder_add (
          builder, name, type,
          is_variable (columns[i].text, columns[i].length) ? match.variable_nullable[*columns[i].text - 'A'] : FALSE,
          NULL);
    }
    call->type = relation_arena_keep_type (call->binder->arena, base_struct_builder_end (g_steal_pointer (&builder)));
  }
  return TRUE;
}

/* ---- the call ---- */

static const char *
default_display (RelationCall *call)
{
  GString *out = g_string_new (call->name);
  const char *result;

  g_string_append_c (out, '(');
  if (call->distinct)
    g_string_append (out, "DISTINCT ");
  for (guint i = 0; i < call->n_args; i++)
    g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", call->args[i]->display);
  g_string_append_c (out, ')');
  result = relation_arena_strdup (call->binder->arena, out->str);
  g_string_free (out, TRUE);
  return result;
}

static const char *
display_of (RelationCall *call)
{
  const char *text = call->function->display;
  GString *out;
  const char *result;

  if (text == NULL)
    return default_display (call);
  out = g_string_new (NULL);
  for (; *text != '\0'; text++) {
    if (text[0] == '$' && g_ascii_isdigit (text[1])) {
      guint index = (guint) (text[1] - '1');
      if (index < call->n_args)
        g_string_append (out, call->args[index]->display);
      text++;
    } else if (text[0] == '$' && text[1] == '*') {
      for (guint i = 0; i < call->n_args; i++)
        g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", call->args[i]->display);
      text++;
    } else {
      g_string_append_c (out, *text);
    }
  }
  result = relation_arena_strdup (call->binder->arena, out->str);
  g_string_free (out, TRUE);
  return result;
}

static RelationExpr *
call_expr (RelationCall *call)
{
  RelationExpr *expr = relation_expr_new (call->binder, RELATION_EXPR_CALL, call->type, call->nullable);
  guint flags = call->function->flags;
  guint row_kind = RELATION_FUNCTION_AGGREGATE | RELATION_FUNCTION_WINDOW | RELATION_FUNCTION_GENERATOR;

  expr->function = call->function;
  expr->args = call->args;
  expr->n_args = call->n_args;
  expr->data = call->data;
  expr->display = call->display;
  expr->position = call->position;
  expr->distinct = call->distinct;
  expr->ignore_nulls = call->ignore_nulls;
  expr->filter = call->filter;
  expr->order = call->order;
  expr->n_order = call->n_order;
  expr->foldable = (flags & (row_kind | RELATION_FUNCTION_VOLATILE | RELATION_FUNCTION_CLOCK)) == 0;
  expr->deterministic = (flags & RELATION_FUNCTION_VOLATILE) == 0;
  for (guint i = 0; i < call->n_args; i++) {
    expr->foldable = expr->foldable && call->args[i]->foldable;
    expr->deterministic = expr->deterministic && call->args[i]->deterministic;
  }
  return expr;
}

static RelationExpr *
bind_row (RelationCall *call, GError **error)
{
  const RelationFunction *row = call->function;

  if (call->n_args > MAX_ARGS) {
    relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "More than %d arguments.", MAX_ARGS);
    return NULL;
  }
  /* bind() may replace arguments in place: every row works on its own array. */
  call->args = g_memdup2 (call->args, sizeof (RelationExpr *) * MAX (call->n_args, 1));
  relation_arena_keep (call->binder->arena, call->args, g_free);
  if ((row->flags & RELATION_FUNCTION_RAW) == 0 && !match_row (call, error))
    return NULL;
  if ((row->flags & RELATION_FUNCTION_NEVER_NULL) != 0)
    call->nullable = FALSE;
  else if ((row->flags & (RELATION_FUNCTION_NULLABLE | RELATION_FUNCTION_AGGREGATE | RELATION_FUNCTION_WINDOW)) != 0)
    call->nullable = TRUE;
  else
    for (guint i = 0; i < call->n_args; i++)
      call->nullable |= call->args[i]->kind != RELATION_EXPR_LAMBDA && call->args[i]->nullable;
  if ((row->flags & RELATION_FUNCTION_RAW) == 0)
    call->display = display_of (call);
  if (row->bind != NULL && !row->bind (call, error))
    return NULL;
  if (call->replacement != NULL)
    return call->replacement;
  if (call->display == NULL)
    call->display = display_of (call);
  if (call->type == NULL) {
    relation_call_error (call, error, SLUICE_ERROR_INTERNAL_ERROR, "The row of `%s` sets no type.", call->name);
    return NULL;
  }
  return call_expr (call);
}

static RelationExpr *
unknown_function (RelationCall *call, GError **error)
{
  g_autofree char *near = base_text_near_names (call->name, relation_function_names (NULL), 3);

  relation_call_error (call, error, SLUICE_ERROR_UNRESOLVED_ROUTINE, "Cannot resolve routine `%s`.", call->name);
  if (near != NULL)
    base_error_set_hint (error, "Did you mean %s?", near);
  return NULL;
}

RelationExpr *
relation_function_bind (RelationCall *call, GError **error)
{
  const RelationFunction *rows[16];
  guint n = relation_function_find (call->name, rows, G_N_ELEMENTS (rows));
  const RelationCall start = *call;
  g_autoptr (GError) first = NULL;

  if (n == 0)
    return unknown_function (call, error);
  for (guint i = 0; i < call->n_args; i++)
    if (call->args[i]->kind == RELATION_EXPR_CALL &&
        (call->args[i]->function->flags & RELATION_FUNCTION_GENERATOR) != 0) {
      relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_GENERATOR_NESTED_IN_EXPRESSIONS,
                           "The generator is not supported: nested in expressions, in an argument of %s.", call->name);
      return NULL;
    }
  for (guint i = 0; i < n; i++) {
    g_autoptr (GError) failure = NULL;
    RelationExpr *expr;
    *call = start;
    call->function = rows[i];
    expr = bind_row (call, &failure);
    if (expr != NULL)
      return expr;
    /* The best message is that of the row with the right number of arguments. */
    if (first == NULL || g_error_matches (first, SLUICE_ERROR, SLUICE_ERROR_WRONG_NUM_ARGS_WITHOUT_SUGGESTION)) {
      g_clear_error (&first);
      first = g_steal_pointer (&failure);
    }
  }
  g_propagate_error (error, g_steal_pointer (&first));
  return NULL;
}

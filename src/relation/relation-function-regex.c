/* LIKE in its forms, and regular expressions as Java reads them. */
#include "relation-function-private.h"

#include <string.h>

/* LIKE's escape must be one character. */
static gboolean
bind_like (RelationCall *call, GError **error)
{
  gboolean fold = call->function->names[0] == 'i';
  if (call->n_args == 3) {
    const RelationLiteral *escape = relation_call_constant (call, 2, error);
    if (escape == NULL)
      return FALSE;
    if (escape->is_null || g_utf8_strlen (escape->text, (gssize) escape->size) != 1)
      return relation_call_error (call, error, SLUICE_ERROR_PARSE_SYNTAX_ERROR,
                                  "the escape of LIKE must be one character");
  }
  if (call->n_args == 3)
    call->data = fold ? "sluice_like(sluice_lower($1), sluice_lower($2), $3)" : "sluice_like($1, $2, $3)";
  else
    call->data = fold ? "sluice_like(sluice_lower($1), sluice_lower($2), '\\')" : "sluice_like($1, $2, '\\')";
  return TRUE;
}

/* (value, pattern, …): like any, like all, and the same with ilike */
static gboolean
bind_like_list (RelationCall *call, GError **error)
{
  const char *name = call->function->names;
  const char *one = name[0] == 'i' ? "ilike" : "like";
  gboolean all = strstr (name, " all") != NULL;
  RelationExpr *result = NULL;
  for (guint i = 1; i < call->n_args; i++) {
    RelationExpr *pair[2] = { call->args[0], call->args[i] };
    RelationExpr *match = relation_expr_new_call (call->binder, one, pair, 2, error);
    if (match == NULL)
      return FALSE;
    if (result != NULL) {
      RelationExpr *both[2] = { result, match };
      match = relation_expr_new_call (call->binder, all ? "and" : "or", both, 2, error);
      if (match == NULL)
        return FALSE;
    }
    result = match;
  }
  call->replacement = result;
  return TRUE;
}

/* split(text, '') gives the characters. */
static gboolean
bind_split (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
  relation_call_set_type (call, base_type_array (text, FALSE));
  return TRUE;
}

#define OPERATOR RELATION_FUNCTION_OPERATOR
#define LIST(spelling, text)                                                                                           \
  {                                                                                                                    \
    .names = spelling, .args = "string string+", .flags = OPERATOR, .doc = text, .bind = bind_like_list                \
  }

const RelationFunction *
relation_function_rows_regex (void)
{
  static const RelationFunction rows[] = {
    { .names = "like",
      .args = "string string string?",
      .result = "boolean",
      .flags = OPERATOR,
      .doc = "whether a text matches a pattern of % and _",
      .display = "$1 LIKE $2",
      .bind = bind_like,
      .lower_call = relation_lower_data },
    { .names = "ilike",
      .args = "string string string?",
      .result = "boolean",
      .flags = OPERATOR,
      .doc = "LIKE without regard to case",
      .display = "ilike($1, $2)",
      .bind = bind_like,
      .lower_call = relation_lower_data },
    { .names = "like",
      .args = "string string string?",
      .result = "boolean",
      .doc = "whether a text matches a pattern of % and _",
      .display = "$1 LIKE $2",
      .bind = bind_like,
      .lower_call = relation_lower_data },
    { .names = "ilike",
      .args = "string string string?",
      .result = "boolean",
      .doc = "LIKE without regard to case",
      .bind = bind_like,
      .lower_call = relation_lower_data },
    LIST ("like any", "whether a text matches one of the patterns"),
    LIST ("like some", "whether a text matches one of the patterns"),
    LIST ("like all", "whether a text matches all patterns"),
    LIST ("ilike any", "whether a text matches one of the patterns, without regard to case"),
    LIST ("ilike some", "whether a text matches one of the patterns, without regard to case"),
    LIST ("ilike all", "whether a text matches all patterns, without regard to case"),
    { .names = "rlike",
      .args = "string string",
      .result = "boolean",
      .lower = "sluice_rlike($1, $2)",
      .flags = OPERATOR,
      .doc = "whether a text holds a match of an expression",
      .display = "RLIKE($1, $2)" },
    { .names = "rlike regexp regexp_like",
      .args = "string string",
      .result = "boolean",
      .lower = "sluice_rlike($1, $2)",
      .doc = "whether a text holds a match of an expression",
      .display = "RLIKE($1, $2)" },
    { .names = "regexp_extract",
      .args = "string string int=1",
      .result = "string",
      .lower = "sluice_regexp_extract($1, $2, $3)",
      .doc = "a group of the first match" },
    { .names = "regexp_extract_all",
      .args = "string string int=1",
      .result = "array<string>",
      .lower = "sluice_regexp_extract_all($1, $2, $3)",
      .doc = "a group of every match" },
    { .names = "regexp_replace",
      .args = "string string string int=1",
      .result = "string",
      .lower = "sluice_regexp_replace($1, $2, $3, $4)",
      .doc = "every match replaced; $1 is a group" },
    { .names = "regexp_count",
      .args = "string string",
      .result = "int",
      .lower = "sluice_regexp_count($1, $2)",
      .doc = "number of matches" },
    { .names = "regexp_instr",
      .args = "string string int=0",
      .result = "int",
      .lower = "sluice_regexp_instr($1, $2)",
      .doc = "position of the first match, 0 = none" },
    { .names = "regexp_substr",
      .args = "string string",
      .result = "string",
      .lower = "sluice_regexp_substr($1, $2)",
      .flags = RELATION_FUNCTION_NULLABLE,
      .doc = "the first match, NULL = none" },
    { .names = "str_to_map",
      .args = "string string=',' string=':'",
      .result = "map<string,string>",
      .lower = "sluice_str_to_map($1, $2, $3)",
      .doc = "entries between the matches of an expression as a map" },
    { .names = "split",
      .args = "string string int=-1",
      .lower = "sluice_split($1, $2, $3)",
      .doc = "parts between the matches of an expression",
      .bind = bind_split },
    { .names = NULL },
  };
  return rows;
}

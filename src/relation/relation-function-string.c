/* Functions of strings. Positions count characters from 1; negative ones count from the end. */
#include "relation-function-private.h"

#include <string.h>

/* ---- concat ---- */

static gboolean
bind_concat (RelationCall *call, GError **error)
{
  gboolean arrays = FALSE, binaries = call->n_args > 0;
  for (guint i = 0; i < call->n_args; i++) {
    arrays |= relation_arg_kind (call, i) == BASE_TYPE_ARRAY;
    binaries &= relation_arg_kind (call, i) == BASE_TYPE_BINARY;
  }
  if (arrays) {
    g_autofree BaseType **types = g_new (BaseType *, call->n_args);
    for (guint i = 0; i < call->n_args; i++)
      types[i] = call->args[i]->type;
    g_autoptr (BaseType) common = relation_coerce_common_many (types, call->n_args);
    if (common == NULL || base_type_kind (common) != BASE_TYPE_ARRAY)
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_DATA_DIFF_TYPES,
                                  "the arguments of `concat` must have one type");
    for (guint i = 0; i < call->n_args; i++)
      relation_call_cast (call, i, base_type_ref (common));
    relation_call_set_type (call, g_steal_pointer (&common));
    return TRUE;
  }
  for (guint i = 0; i < call->n_args && !binaries; i++)
    if (!relation_call_want (call, i, BASE_TYPE_STRING, "STRING, BINARY or ARRAY", error))
      return FALSE;
  relation_call_set_kind (call, binaries ? BASE_TYPE_BINARY : BASE_TYPE_STRING);
  return TRUE;
}

/* `||` gives NULL for NULL, of strings, blobs and lists alike. */
static gboolean
lower_concat (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  if (call->n_args == 0) {
    g_string_append (out, "''");
    return TRUE;
  }
  gsize start = out->len;
  g_string_append_c (out, '(');
  for (guint i = 0; i < call->n_args; i++) {
    g_string_append (out, i > 0 ? " || " : "");
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
  }
  g_string_append_c (out, ')');
  if (base_type_kind (call->type) != BASE_TYPE_ARRAY)
    return TRUE;
  /* DuckDB's list || NULL is the list, Spark's is NULL. */
  g_autoptr (GString) guard = g_string_new (NULL);
  for (guint i = 0; i < call->n_args; i++) {
    if (!call->args[i]->nullable)
      continue;
    g_string_append (guard, guard->len == 0 ? "(CASE WHEN " : " OR ");
    if (!relation_printer_expr (printer, call->args[i], guard, error))
      return FALSE;
    g_string_append (guard, " IS NULL");
  }
  if (guard->len > 0) {
    g_string_append (guard, " THEN NULL ELSE ");
    g_string_insert (out, (gssize) start, guard->str);
    g_string_append (out, " END)");
  }
  return TRUE;
}

/* concat_ws(sep, string | array<string>, …): NULLs are left out */
static gboolean
bind_concat_ws (RelationCall *call, GError **error)
{
  for (guint i = 1; i < call->n_args; i++) {
    if (relation_arg_kind (call, i) == BASE_TYPE_ARRAY) {
      g_autoptr (BaseType) text = base_type_simple (BASE_TYPE_STRING);
      relation_call_cast (call, i, base_type_array (text, TRUE));
    } else if (!relation_call_want (call, i, BASE_TYPE_STRING, "STRING or ARRAY<STRING>", error))
      return FALSE;
  }
  call->nullable = call->args[0]->nullable;
  return TRUE;
}

static gboolean
lower_concat_ws (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  g_string_append (out, "sluice_concat_ws(");
  if (!relation_printer_expr (printer, call->args[0], out, error))
    return FALSE;
  g_string_append (out, ", ");
  for (guint i = 1; i < call->n_args; i++) {
    gboolean array = base_type_kind (call->args[i]->type) == BASE_TYPE_ARRAY;
    g_string_append (out, i > 1 ? " || " : "");
    g_string_append (out, array ? "coalesce(" : "[");
    if (!relation_printer_expr (printer, call->args[i], out, error))
      return FALSE;
    g_string_append (out, array ? ", [])" : "]");
  }
  g_string_append (out, call->n_args == 1 ? "CAST([] AS VARCHAR[]))" : ")");
  return TRUE;
}

/* ---- a string or a binary ---- */

/* Argument 0: BINARY stays, everything else becomes a string. The template is `data`, the binary one comes second. */
static gboolean
text_or_binary (RelationCall *call, BaseTypeKind *kind, GError **error)
{
  *kind = relation_arg_kind (call, 0);
  if (*kind == BASE_TYPE_BINARY)
    return TRUE;
  *kind = BASE_TYPE_STRING;
  return relation_call_want (call, 0, BASE_TYPE_STRING, "STRING or BINARY", error);
}

static gboolean
bind_length (RelationCall *call, GError **error)
{
  BaseTypeKind kind;
  if (!text_or_binary (call, &kind, error))
    return FALSE;
  gboolean binary = kind == BASE_TYPE_BINARY;
  if (strcmp (call->name, "octet_length") == 0)
    call->data = binary ? "CAST(octet_length($1) AS INTEGER)" : "CAST(strlen($1) AS INTEGER)";
  else if (strcmp (call->name, "bit_length") == 0)
    call->data = binary ? "CAST(8 * octet_length($1) AS INTEGER)" : "CAST(8 * strlen($1) AS INTEGER)";
  else
    call->data = binary ? "CAST(octet_length($1) AS INTEGER)" : "CAST(length($1) AS INTEGER)";
  return TRUE;
}

static gboolean
bind_part (RelationCall *call, GError **error)
{
  BaseTypeKind kind;
  if (!text_or_binary (call, &kind, error))
    return FALSE;
  relation_call_set_kind (call, kind);
  return TRUE;
}

static gboolean
bind_pad (RelationCall *call, GError **error)
{
  BaseTypeKind kind;
  if (!text_or_binary (call, &kind, error))
    return FALSE;
  gboolean left = call->name[0] == 'l';
  if (call->n_args == 3 && !relation_call_want (call, 2, kind, kind == BASE_TYPE_BINARY ? "BINARY" : "STRING", error))
    return FALSE;
  relation_call_set_kind (call, kind);
  if (call->n_args == 3)
    call->data = left ? "sluice_pad($1, $2, $3, true)" : "sluice_pad($1, $2, $3, false)";
  else if (kind == BASE_TYPE_BINARY)
    call->data = left ? "sluice_pad($1, $2, '\\x00'::BLOB, true)" : "sluice_pad($1, $2, '\\x00'::BLOB, false)";
  else {
    call->data = left ? "sluice_pad($1, $2, ' ', true)" : "sluice_pad($1, $2, ' ', false)";
    call->display = relation_binder_printf (call->binder, "%s(%s, %s,  )", call->name, call->args[0]->display,
                                            call->args[1]->display);
  }
  return TRUE;
}

static gboolean
bind_overlay (RelationCall *call, GError **error)
{
  BaseTypeKind kind;
  if (!text_or_binary (call, &kind, error))
    return FALSE;
  if (!relation_call_want (call, 1, kind, kind == BASE_TYPE_BINARY ? "BINARY" : "STRING", error))
    return FALSE;
  relation_call_set_kind (call, kind);
  return TRUE;
}

static gboolean
bind_reverse (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_ARRAY) {
    relation_call_set_type (call, base_type_ref (call->args[0]->type));
    call->data = "list_reverse($1)";
    return TRUE;
  }
  relation_call_set_kind (call, BASE_TYPE_STRING);
  call->data = "sluice_reverse($1)";
  return relation_call_want (call, 0, BASE_TYPE_STRING, "STRING or ARRAY", error);
}

/* contains, startswith, endswith: strings, or both binary */
static gboolean
bind_search (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_BINARY && relation_arg_kind (call, 1) == BASE_TYPE_BINARY)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "`%s` of BINARY is not supported",
                                call->name);
  for (guint i = 0; i < 2; i++)
    if (!relation_call_want (call, i, BASE_TYPE_STRING, "STRING", error))
      return FALSE;
  call->data = call->name[0] == 'c'   ? "contains($1, $2)"
               : call->name[0] == 's' ? "starts_with($1, $2)"
                                      : "ends_with($1, $2)";
  return TRUE;
}

/* ---- trim ---- */

/* trim(chars, text) and ltrim(chars, text): the text comes last */
static gboolean
bind_trim (RelationCall *call, GError **error)
{
  int ends = call->name[0] == 'l' ? 1 : call->name[0] == 'r' ? 2 : 3;
  gboolean swapped = strcmp (call->name, "btrim") != 0; /* btrim(text, chars) */
  for (guint i = 0; i < call->n_args; i++)
    if (relation_arg_kind (call, i) == BASE_TYPE_BINARY)
      relation_call_cast_kind (call, i, BASE_TYPE_STRING);
    else if (!relation_call_want (call, i, BASE_TYPE_STRING, "STRING", error))
      return FALSE;
  if (call->n_args == 1)
    call->data = relation_binder_printf (call->binder, "sluice_trim($1, ' ', %d)", ends);
  else
    call->data =
        relation_binder_printf (call->binder, swapped ? "sluice_trim($2, $1, %d)" : "sluice_trim($1, $2, %d)", ends);
  return TRUE;
}

/* TRIM(BOTH chars FROM text): (text[, chars]) */
static gboolean
bind_trim_syntax (RelationCall *call, GError **error)
{
  const char *name = call->function->names;
  int ends = strstr (name, "leading") != NULL ? 1 : strstr (name, "trailing") != NULL ? 2 : 3;
  for (guint i = 0; i < call->n_args; i++)
    if (!relation_call_want (call, i, BASE_TYPE_STRING, "STRING", error))
      return FALSE;
  call->data = relation_binder_printf (
      call->binder, call->n_args == 1 ? "sluice_trim($1, ' ', %d)" : "sluice_trim($1, $2, %d)", ends);
  return TRUE;
}

/* The argument as BINARY. */
static gboolean
bind_bytes (RelationCall *call, GError **error)
{
  BaseTypeKind kind;
  if (!text_or_binary (call, &kind, error))
    return FALSE;
  relation_call_cast_kind (call, 0, BASE_TYPE_BINARY);
  return TRUE;
}

/* elt(n, a, b, …) */
static gboolean
bind_elt (RelationCall *call, GError **error)
{
  for (guint i = 1; i < call->n_args; i++)
    if (relation_arg_kind (call, i) != BASE_TYPE_BINARY &&
        !relation_call_want (call, i, BASE_TYPE_STRING, "STRING", error))
      return FALSE;
    else if (relation_arg_kind (call, i) == BASE_TYPE_BINARY)
      return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "`elt` of BINARY is not supported");
  call->nullable = TRUE;
  return TRUE;
}

#define NULLABLE RELATION_FUNCTION_NULLABLE

const RelationFunction *
relation_function_rows_string (void)
{
  static const RelationFunction rows[] = {
    { .names = "||",
      .args = "any any",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "both in one",
      .display = "concat($1, $2)",
      .bind = bind_concat,
      .lower_call = lower_concat },
    { .names = "concat",
      .args = "any*",
      .doc = "all arguments in one",
      .bind = bind_concat,
      .lower_call = lower_concat },
    { .names = "concat_ws",
      .args = "string any*",
      .result = "string",
      .doc = "the arguments that are not NULL with a separator between",
      .bind = bind_concat_ws,
      .lower_call = lower_concat_ws },
    { .names = "length len char_length character_length octet_length bit_length",
      .args = "any",
      .result = "int",
      .doc = "number of characters (octet_length: bytes, bit_length: bits)",
      .bind = bind_length,
      .lower_call = relation_lower_data },
    { .names = "substring substr",
      .args = "any int int=2147483647",
      .lower = "sluice_substring($1, $2, $3)",
      .doc = "part from a position with a length",
      .bind = bind_part },
    { .names = "left",
      .args = "any int",
      .lower = "sluice_substring($1, 1, $2)",
      .doc = "the first characters",
      .bind = bind_part },
    { .names = "right",
      .args = "any int",
      .lower = "sluice_right($1, $2)",
      .doc = "the last characters",
      .bind = bind_part },
    { .names = "substring_index",
      .args = "string string int",
      .result = "string",
      .lower = "sluice_substring_index($1, $2, $3)",
      .doc = "up to the n-th delimiter" },
    { .names = "upper ucase", .args = "string", .result = "string", .lower = "sluice_upper($1)", .doc = "upper case" },
    { .names = "lower lcase", .args = "string", .result = "string", .lower = "sluice_lower($1)", .doc = "lower case" },
    { .names = "initcap",
      .args = "string",
      .result = "string",
      .lower = "sluice_initcap($1)",
      .doc = "words with a capital" },
    { .names = "trim",
      .args = "any",
      .result = "string",
      .doc = "without blanks at the ends",
      .bind = bind_trim,
      .lower_call = relation_lower_data },
    { .names = "trim ltrim rtrim",
      .args = "any any?",
      .result = "string",
      .doc = "without blanks, or the characters given first, at the ends",
      .bind = bind_trim,
      .lower_call = relation_lower_data },
    { .names = "btrim",
      .args = "any any?",
      .result = "string",
      .doc = "without blanks, or the characters given second, at the ends",
      .bind = bind_trim,
      .lower_call = relation_lower_data },
    { .names = "trim both",
      .args = "any any?",
      .result = "string",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "TRIM(BOTH chars FROM text)",
      .display = "TRIM(BOTH $2 FROM $1)",
      .bind = bind_trim_syntax,
      .lower_call = relation_lower_data },
    { .names = "trim leading",
      .args = "any any?",
      .result = "string",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "TRIM(LEADING chars FROM text)",
      .display = "TRIM(LEADING $2 FROM $1)",
      .bind = bind_trim_syntax,
      .lower_call = relation_lower_data },
    { .names = "trim trailing",
      .args = "any any?",
      .result = "string",
      .flags = RELATION_FUNCTION_OPERATOR,
      .doc = "TRIM(TRAILING chars FROM text)",
      .display = "TRIM(TRAILING $2 FROM $1)",
      .bind = bind_trim_syntax,
      .lower_call = relation_lower_data },
    { .names = "lpad rpad",
      .args = "any int any?",
      .doc = "padded or cut to a length",
      .bind = bind_pad,
      .lower_call = relation_lower_data },
    { .names = "repeat",
      .args = "string int",
      .result = "string",
      .lower = "sluice_repeat($1, $2)",
      .doc = "n times in a row" },
    { .names = "space", .args = "int", .result = "string", .lower = "sluice_repeat(' ', $1)", .doc = "n blanks" },
    { .names = "reverse", .args = "any", .doc = "backwards", .bind = bind_reverse, .lower_call = relation_lower_data },
    { .names = "instr",
      .args = "string string",
      .result = "int",
      .lower = "sluice_locate($2, $1, 1)",
      .doc = "position of the second in the first, 0 = not there" },
    { .names = "locate position",
      .args = "string string int=1",
      .result = "int",
      .lower = "sluice_locate($1, $2, $3)",
      .doc = "position of the first in the second, from a start" },
    { .names = "find_in_set",
      .args = "string string",
      .result = "int",
      .lower = "sluice_find_in_set($1, $2)",
      .doc = "position in a comma-separated list" },
    { .names = "contains startswith endswith",
      .args = "any any",
      .result = "boolean",
      .doc = "whether the second is in, starts or ends the first",
      .bind = bind_search,
      .lower_call = relation_lower_data },
    { .names = "replace",
      .args = "string string string=''",
      .result = "string",
      .lower = "sluice_replace($1, $2, $3)",
      .doc = "every occurrence replaced" },
    { .names = "translate",
      .args = "string string string",
      .result = "string",
      .lower = "sluice_translate($1, $2, $3)",
      .doc = "characters replaced one by one" },
    { .names = "overlay",
      .args = "any any int int=-1",
      .lower = "sluice_overlay($1, $2, $3, $4)",
      .doc = "a part replaced",
      .bind = bind_overlay },
    { .names = "split_part",
      .args = "string string int",
      .result = "string",
      .lower = "sluice_split_part($1, $2, $3)",
      .doc = "the n-th part between delimiters" },
    { .names = "ascii",
      .args = "string",
      .result = "int",
      .lower = "sluice_ascii($1)",
      .doc = "code point of the first character" },
    { .names = "chr char",
      .args = "long",
      .result = "string",
      .lower = "sluice_chr($1)",
      .doc = "the character with a code, modulo 256" },
    { .names = "elt",
      .args = "int any+",
      .result = "string",
      .lower = "sluice_elt($1, [$@2])",
      .flags = NULLABLE,
      .doc = "the n-th of the further arguments",
      .bind = bind_elt },
    { .names = "soundex", .args = "string", .result = "string", .lower = "sluice_soundex($1)", .doc = "phonetic code" },
    { .names = "levenshtein",
      .args = "string string int=-1",
      .result = "int",
      .lower = "sluice_levenshtein($1, $2, $3)",
      .doc = "edit distance, -1 above a threshold" },
    { .names = "jaro_winkler_similarity",
      .args = "string string",
      .result = "double",
      .lower = "(CASE WHEN $1 = '' AND $2 = '' THEN 1.0::DOUBLE ELSE jaro_winkler_similarity(sluice_ascii_only($1), "
               "sluice_ascii_only($2)) END)",
      .doc = "similarity from 0 to 1" },
    { .names = "mask",
      .args = "str:string upperChar:string='X' lowerChar:string='x' digitChar:string='n' otherChar:string=null",
      .result = "string",
      .lower = "sluice_mask($1, $2, $3, $4, $5)",
      .doc = "letters and digits hidden" },
    { .names = "quote",
      .args = "string",
      .result = "string",
      .lower = "sluice_quote($1)",
      .doc = "between quotes, escaped" },
    { .names = "luhn_check",
      .args = "string",
      .result = "boolean",
      .lower = "sluice_luhn_check($1)",
      .doc = "whether the digits pass Luhn's check" },
    { .names = "is_valid_utf8",
      .args = "any",
      .result = "boolean",
      .lower = "sluice_is_valid_utf8($1)",
      .bind = bind_bytes,
      .doc = "whether the bytes are UTF-8" },
    { .names = "make_valid_utf8",
      .args = "any",
      .result = "string",
      .lower = "sluice_make_valid_utf8($1)",
      .bind = bind_bytes,
      .doc = "with U+FFFD for what is not UTF-8" },
    { .names = "validate_utf8",
      .args = "any",
      .result = "string",
      .lower = "sluice_validate_utf8($1)",
      .bind = bind_bytes,
      .doc = "fails when the bytes are not UTF-8" },
    { .names = "try_validate_utf8",
      .args = "any",
      .result = "string",
      .lower = "sluice_try_validate_utf8($1)",
      .bind = bind_bytes,
      .flags = NULLABLE,
      .doc = "NULL when the bytes are not UTF-8" },
    { .names = NULL },
  };
  return rows;
}

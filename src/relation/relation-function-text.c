/* Encodings and digests. */
#include "relation-function-private.h"

#include <string.h>

#define NULLABLE RELATION_FUNCTION_NULLABLE

/* Argument 0 as BINARY: a binary as it is, anything else as a string's bytes. */
static gboolean
bind_bytes (RelationCall *call, GError **error)
{
  if (relation_arg_kind (call, 0) == BASE_TYPE_BINARY)
    return TRUE;
  if (!relation_call_want (call, 0, BASE_TYPE_STRING, "STRING or BINARY", error))
    return FALSE;
  relation_call_cast_kind (call, 0, BASE_TYPE_BINARY);
  return TRUE;
}

static gboolean
bind_hash (RelationCall *call, GError **error)
{
  for (guint i = 0; i < call->n_args; i++) {
    if (base_type_holds (call->args[i]->type, BASE_TYPE_MAP))
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_HASH_MAP_TYPE, "`%s` does not take a map",
                                  call->name);
    if (base_type_holds (call->args[i]->type, BASE_TYPE_VARIANT))
      return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_HASH_VARIANT_TYPE,
                                  "`%s` does not take a variant", call->name);
  }
  return TRUE;
}

static gboolean
lower_hash (RelationPrinter *printer, const RelationExpr *call, GString *out, GError **error)
{
  return relation_lower_spec (printer, call, call->function->names[0] == 'h' ? "sluice_hash" : "sluice_xxhash64", FALSE,
                              NULL, out, error);
}

/* to_binary(text[, 'hex' | 'utf-8' | 'utf8' | 'base64']) */
static gboolean
bind_to_binary (RelationCall *call, GError **error)
{
  gboolean try_it = strcmp (call->name, "try_to_binary") == 0;
  const char *format = "hex";
  if (call->n_args == 2) {
    const RelationLiteral *literal = relation_call_constant (call, 1, error);
    if (literal == NULL)
      return FALSE;
    if (literal->is_null) {
      call->data = "CAST(NULL AS BLOB)";
      call->nullable = TRUE;
      return TRUE;
    }
    format = literal->text;
  }
  call->nullable |= try_it;
  if (g_ascii_strcasecmp (format, "hex") == 0)
    call->data = try_it ? "sluice_unhex($1, false)" : "sluice_unhex($1, true)";
  else if (g_ascii_strcasecmp (format, "utf-8") == 0 || g_ascii_strcasecmp (format, "utf8") == 0)
    call->data = "encode($1)";
  else if (g_ascii_strcasecmp (format, "base64") == 0)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "`%s` of base64 is not supported; use unbase64", call->name);
  else
    return relation_call_error (call, error, SLUICE_ERROR_DATATYPE_MISMATCH_INVALID_ARG_VALUE,
                                "`%s` knows hex, utf-8 and base64, not '%s'", call->name, format);
  return TRUE;
}

/* format_number(number, places) */
static gboolean
bind_format_number (RelationCall *call, GError **error)
{
  BaseTypeKind kind = relation_arg_kind (call, 0);
  if (!base_type_is_integral (call->args[1]->type))
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "`format_number` with a pattern is not supported");
  const RelationLiteral *places = relation_call_constant (call, 1, error);
  if (places == NULL)
    return FALSE;
  call->nullable = TRUE;
  if (places->is_null || places->integer < 0) {
    call->data = "CAST(NULL AS VARCHAR)";
    return TRUE;
  }
  if (kind == BASE_TYPE_FLOAT || kind == BASE_TYPE_DOUBLE || places->integer > 20)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "`format_number` of floating numbers is not supported");
  guint scale = (guint) places->integer;
  guint whole = kind == BASE_TYPE_DECIMAL
                    ? base_type_precision (call->args[0]->type) - base_type_scale (call->args[0]->type) + 1
                    : 20;
  if (whole + scale > 38)
    return relation_call_error (call, error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                                "`format_number` of so many digits is not supported");
  if (kind != BASE_TYPE_DECIMAL)
    relation_call_cast (call, 0, base_type_decimal (20, 0));
  RelationExpr *args[2] = { call->args[0], relation_expr_new_int (call->binder, (gint32) scale) };
  RelationExpr *rounded = relation_expr_new_call (call->binder, "bround", args, 2, error);
  if (rounded == NULL)
    return FALSE;
  rounded = relation_expr_new_cast (call->binder, rounded,
                                    relation_binder_keep_type (call->binder, base_type_decimal (whole + scale, scale)));
  call->args[0] = relation_expr_new_cast (
      call->binder, rounded, relation_binder_keep_type (call->binder, base_type_simple (BASE_TYPE_STRING)));
  call->data = "sluice_group_digits($1)";
  return TRUE;
}

static gboolean
bind_parse_url (RelationCall *call, G_GNUC_UNUSED GError **error)
{
  gboolean try_it = call->name[0] == 't';
  if (call->n_args == 3) /* a NULL key gives NULL, as a key that is not there */
    call->data = try_it ? "(CASE WHEN $3 IS NULL THEN NULL ELSE sluice_parse_url($1, $2, $3, true) END)"
                        : "(CASE WHEN $3 IS NULL THEN NULL ELSE sluice_parse_url($1, $2, $3, false) END)";
  else
    call->data = try_it ? "sluice_parse_url($1, $2, NULL, true)" : "sluice_parse_url($1, $2, NULL, false)";
  return TRUE;
}

const RelationFunction *
relation_function_rows_text (void)
{
  static const RelationFunction rows[] = {
    { .names = "hash",
      .args = "any+",
      .result = "int",
      .flags = RELATION_FUNCTION_NEVER_NULL,
      .doc = "murmur3 of the arguments, seed 42",
      .bind = bind_hash,
      .lower_call = lower_hash },
    { .names = "xxhash64",
      .args = "any+",
      .result = "long",
      .flags = RELATION_FUNCTION_NEVER_NULL,
      .doc = "xxHash64 of the arguments, seed 42",
      .bind = bind_hash,
      .lower_call = lower_hash },
    { .names = "md5",
      .args = "any",
      .result = "string",
      .lower = "sluice_digest($1, -1)",
      .doc = "MD5 as hexadecimal digits",
      .bind = bind_bytes },
    { .names = "sha sha1",
      .args = "any",
      .result = "string",
      .lower = "sluice_digest($1, -160)",
      .doc = "SHA-1 as hexadecimal digits",
      .bind = bind_bytes },
    { .names = "sha2",
      .args = "any int",
      .result = "string",
      .lower = "sluice_digest($1, $2)",
      .flags = NULLABLE,
      .doc = "SHA-2 of 224, 256, 384 or 512 bits",
      .bind = bind_bytes },
    { .names = "crc32",
      .args = "any",
      .result = "long",
      .lower = "sluice_crc32($1)",
      .doc = "CRC-32",
      .bind = bind_bytes },
    { .names = "base64",
      .args = "any",
      .result = "string",
      .lower = "sluice_base64($1)",
      .doc = "bytes as base64, in lines of 76",
      .bind = bind_bytes },
    { .names = "unbase64",
      .args = "string",
      .result = "binary",
      .lower = "sluice_unbase64($1)",
      .doc = "the bytes of base64" },
    { .names = "to_base32",
      .args = "any",
      .result = "string",
      .lower = "sluice_base32($1)",
      .doc = "bytes as base32",
      .bind = bind_bytes },
    { .names = "from_base32",
      .args = "string",
      .result = "binary",
      .lower = "sluice_unbase32($1)",
      .doc = "the bytes of base32" },
    { .names = "unhex",
      .args = "string",
      .result = "binary",
      .lower = "sluice_unhex($1, false)",
      .flags = NULLABLE,
      .doc = "the bytes of hexadecimal digits, NULL when they are none" },
    { .names = "to_binary try_to_binary",
      .args = "string string?",
      .result = "binary",
      .doc = "bytes of hexadecimal digits or a text",
      .bind = bind_to_binary,
      .lower_call = relation_lower_data },
    { .names = "url_encode",
      .args = "string",
      .result = "string",
      .lower = "sluice_url_encode($1)",
      .doc = "text as part of a URL" },
    { .names = "url_decode",
      .args = "string",
      .result = "string",
      .lower = "sluice_url_decode($1, false)",
      .doc = "the text of a part of a URL" },
    { .names = "try_url_decode",
      .args = "string",
      .result = "string",
      .lower = "sluice_url_decode($1, true)",
      .flags = NULLABLE,
      .doc = "as url_decode, NULL when it is none" },
    { .names = "parse_url",
      .args = "string string string?",
      .result = "string",
      .flags = NULLABLE,
      .doc = "a part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO",
      .bind = bind_parse_url,
      .lower_call = relation_lower_data },
    { .names = "try_parse_url",
      .args = "string string string?",
      .result = "string",
      .flags = NULLABLE,
      .doc = "as parse_url, NULL when it is no URL",
      .bind = bind_parse_url,
      .lower_call = relation_lower_data },
    { .names = "encode",
      .args = "string string",
      .result = "binary",
      .lower = "sluice_encode($1, $2)",
      .doc = "text in a character set" },
    { .names = "decode",
      .args = "any string",
      .result = "string",
      .lower = "sluice_decode($1, $2)",
      .doc = "the text of bytes in a character set",
      .bind = bind_bytes },
    { .names = "conv",
      .args = "string int int",
      .result = "string",
      .lower = "sluice_conv($1, $2, $3)",
      .flags = NULLABLE,
      .doc = "a number in another base" },
    { .names = "format_number",
      .args = "numeric any",
      .result = "string",
      .doc = "a number with commas and so many places",
      .bind = bind_format_number,
      .lower_call = relation_lower_data },
    { .names = NULL },
  };
  return rows;
}

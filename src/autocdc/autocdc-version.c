/* Versions of snapshots as values. */
#include "autocdc-work-private.h"
#include "base-error.h"
#include "base-text.h"
#include "duck-type.h"

#include <string.h>

void
autocdc_version_clear (AutoCdcVersion *version)
{
  base_type_unref (version->type);
  g_free (version->text);
  *version = (AutoCdcVersion){ 0 };
}

static gboolean
type_fits (const BaseType *type)
{
  switch (base_type_kind (type)) {
  case BASE_TYPE_BYTE:
  case BASE_TYPE_SHORT:
  case BASE_TYPE_INTEGER:
  case BASE_TYPE_LONG:
  case BASE_TYPE_FLOAT:
  case BASE_TYPE_DOUBLE:
  case BASE_TYPE_DECIMAL:
  case BASE_TYPE_STRING:
  case BASE_TYPE_BINARY:
  case BASE_TYPE_DATE:
  case BASE_TYPE_TIMESTAMP:
  case BASE_TYPE_TIMESTAMP_NTZ:
    return TRUE;
  case BASE_TYPE_STRUCT:
    for (guint i = 0; i < base_type_n_fields (type); i++)
      if (!type_fits (base_type_field (type, i)->type))
        return FALSE;
    return base_type_n_fields (type) > 0;
  default:
    return FALSE;
  }
}

gboolean
autocdc_version_type_check (const BaseType *type, const char *flow, GError **error)
{
  g_autofree char *text = base_type_text (type);

  if (type_fits (type))
    return TRUE;
  base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_INVALID_SNAPSHOT_VERSION_TYPE,
                  "flow %s: the version of a snapshot is of type %s", flow, text);
  base_error_add_param (error, "dataType", text);
  base_error_set_hint (error, "a version is a number, a text, bytes, a date, a time, or a struct of such");
  return FALSE;
}

char *
autocdc_version_literal (const AutoCdcVersion *version)
{
  g_autofree char *text = version->text ? base_text_sql_literal (version->text) : g_strdup ("NULL");
  GString *literal = g_string_new ("CAST(");

  g_string_append_printf (literal, "%s AS ", text);
  duck_type_append_text (literal, version->type);
  g_string_append_c (literal, ')');
  return g_string_free (literal, FALSE);
}

static gboolean
refuse_value (GError **error, const char *why)
{
  base_error_set (error, SLUICE_ERROR_APPLY_CHANGES_FROM_SNAPSHOT_ERROR_INVALID_SNAPSHOT_VERSION,
                  "the query of the snapshot's version gives %s", why);
  base_error_set_hint (error, "it must give one row of one column, or no row");
  return FALSE;
}

/* The value as text, and whether that text is the value again. */
static char *
value_query (RelationText *text, const BaseType *type)
{
  g_autofree char *type_text = duck_type_text (type);
  g_autofree char *back = g_strdup_printf ("CAST(CAST(c0 AS VARCHAR) AS %s)", type_text);
  g_autofree char *key = relation_tie_key ("c0", type), *back_key = relation_tie_key (back, type);

  return g_strdup_printf ("SELECT count(*), first(v), first(same) FROM"
                          " (SELECT CAST(c0 AS VARCHAR) AS v, %s = %s AS same FROM (%s) LIMIT 2)",
                          key, back_key, relation_text_sql (text)->str);
}

static gboolean
take_value (const DuckChunk *chunk, gboolean *found, AutoCdcVersion *version, GError **error)
{
  gint64 n_rows = duck_vector_int64 (&chunk->columns[0], 0);
  gsize size;
  const char *bytes;

  *found = n_rows > 0;
  if (n_rows > 1)
    return refuse_value (error, "several rows");
  if (duck_vector_is_null (&chunk->columns[1], 0))
    return TRUE;
  bytes = duck_vector_string (&chunk->columns[1], 0, &size);
  if (!duck_vector_bool (&chunk->columns[2], 0) || memchr (bytes, '\0', size))
    return refuse_value (error, "a value that cannot be written down");
  version->text = g_strndup (bytes, size);
  return TRUE;
}

gboolean
autocdc_version_query (RelationPlan *plan, gint64 now_us, DuckSession *session, BaseCancel *cancel, gboolean *found,
                       AutoCdcVersion *version, GError **error)
{
  const BaseType *schema = relation_plan_schema (plan);
  RelationLowering lowering = { .now_us = now_us, .session = session };
  g_autoptr (RelationText) text = NULL;
  g_autoptr (DuckResult) result = NULL;
  g_autofree char *sql = NULL;
  const DuckChunk *chunk;

  if (base_type_n_fields (schema) != 1)
    return refuse_value (error, "several columns");
  version->type = base_type_ref (base_type_field (schema, 0)->type);
  if (!(text = relation_plan_lower (plan, &lowering, error)))
    return FALSE;
  sql = value_query (text, version->type);
  return (result = duck_session_query_materialized (session, sql, cancel, error)) != NULL &&
         duck_result_next (result, &chunk, error) && take_value (chunk, found, version, error);
}

gboolean
autocdc_version_is_above (const AutoCdcVersion *a, const AutoCdcVersion *b, DuckSession *session, BaseCancel *cancel,
                          gboolean *above, GError **error)
{
  g_autofree char *a_value = autocdc_version_literal (a), *b_value = autocdc_version_literal (b);
  g_autofree char *a_key = relation_order_key (a_value, a->type), *b_key = relation_order_key (b_value, b->type);
  g_autofree char *sql = g_strdup_printf ("SELECT (%s > %s)::BIGINT", a_key, b_key);
  gint64 value;

  if (!duck_session_query_int64 (session, sql, cancel, &value, NULL, error))
    return FALSE;
  *above = value != 0;
  return TRUE;
}

gboolean
autocdc_last_version (DeltaSnapshot *target, AutoCdcVersion *last, GError **error)
{
  const char *text = delta_snapshot_domain (target, AUTOCDC_DOMAIN);
  g_autoptr (AutoCdcDomain) domain = NULL;

  if (!text)
    return TRUE;
  if (!(domain = autocdc_domain_parse (text, error)))
    return FALSE;
  if (!domain->of_snapshots)
    return TRUE;
  last->type = base_type_ref (domain->sequence_type);
  last->text = g_strdup (domain->snapshot_version);
  return TRUE;
}

/* CREATE TABLE's clauses as a schema with metadata, properties and partition columns.
 *
 * Texts of expressions (DEFAULT, GENERATED, CHECK) go into the metadata as they were written; `write` parses them again when rows
 * come.
 */
#include "dml-definition.h"

#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "sql-build.h"

#include <string.h>

#define DEFAULTS_PREFIX "spark.databricks.delta.properties.defaults."

void
dml_definition_clear (DmlDefinition *definition)
{
  g_clear_pointer (&definition->schema, base_type_unref);
  g_clear_pointer (&definition->partition_columns, g_strfreev);
  g_clear_pointer (&definition->clustering, g_strfreev);
  g_clear_pointer (&definition->properties, g_hash_table_unref);
  g_clear_pointer (&definition->comment, g_free);
}

static gboolean
unsupported (const SqlPosition *position, GError **error, const char *what)
{
  base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "%s is not supported.", what);
  sql_position_add_to_error (position, error);
  return FALSE;
}

static gboolean
add_check (GHashTable *properties, const SqlConstraint *constraint, guint *n_unnamed, GError **error)
{
  if (constraint->kind != SQL_CONSTRAINT_CHECK)
    return TRUE;
  g_autofree char *text = sql_position_text (&constraint->check->position);
  g_autofree char *name = constraint->name != NULL ? g_ascii_strdown (constraint->name->text, -1)
                                                   : g_strdup_printf ("check_%u", ++*n_unnamed);
  g_autofree char *key = g_strconcat ("delta.constraints.", name, NULL);
  if (text == NULL)
    return unsupported (&constraint->position, error, "A CHECK constraint without text");
  g_hash_table_insert (properties, g_steal_pointer (&key), g_steal_pointer (&text));
  return TRUE;
}

void
dml_definition_note_column (const SqlColumn *column, json_t *metadata)
{
  if (column->comment != NULL)
    json_object_set_new (metadata, "comment", json_string (column->comment));
  if (column->generated != NULL) {
    g_autofree char *expression = sql_position_text (&column->generated->position);
    json_object_set_new (metadata, "delta.generationExpression", json_string (expression));
  }
  if (column->type->length_kind == SQL_TYPE_PLAIN)
    return;
  g_autofree char *text =
      g_strdup_printf ("%s(%u)", column->type->length_kind == SQL_TYPE_CHAR ? "char" : "varchar", column->type->length);
  json_object_set_new (metadata, "__CHAR_VARCHAR_TYPE_STRING", json_string (text));
}

/* The metadata object of one column. Returns: (transfer full): NULL on error. */
static json_t *
column_metadata (const SqlColumn *column, GError **error)
{
  g_autoptr (json_t) metadata = json_object ();
  if (column->identity != SQL_IDENTITY_NONE) {
    unsupported (&column->position, error, "An identity column");
    return NULL;
  }
  if (column->mask != NULL) {
    unsupported (&column->position, error, "A column mask");
    return NULL;
  }
  dml_definition_note_column (column, metadata);
  if (column->default_value != NULL) {
    g_autofree char *text = sql_position_text (&column->default_value->position);
    json_object_set_new (metadata, "CURRENT_DEFAULT", json_string (text));
    json_object_set_new (metadata, "EXISTS_DEFAULT", json_string (text));
  }
  return g_steal_pointer (&metadata);
}

static gboolean
read_columns (const SqlCreateTable *create, DmlDefinition *definition, GError **error)
{
  g_autoptr (BaseStructBuilder) builder = base_struct_builder_new ();
  guint n_unnamed = 0;
  for (guint i = 0; i < create->columns.n; i++) {
    const SqlColumn *column = &create->columns.items[i];
    if (column->name.n != 1)
      return unsupported (&column->position, error, "A column name of several parts");
    if (column->type != NULL) {
      g_autoptr (json_t) metadata = column_metadata (column, error);
      if (metadata == NULL)
        return FALSE;
      base_struct_builder_add (builder, column->name.parts[0].text, column->type->base, !column->not_null,
                               json_object_size (metadata) > 0 ? metadata : NULL);
    }
    for (guint k = 0; k < column->n_constraints; k++) {
      if (!add_check (definition->properties, &column->constraints[k], &n_unnamed, error))
        return FALSE;
    }
  }
  for (guint i = 0; i < create->n_constraints; i++) {
    if (!add_check (definition->properties, &create->constraints[i], &n_unnamed, error))
      return FALSE;
  }
  for (guint i = 0; i < create->n_partitioned_by; i++) {
    const SqlPartitionField *field = &create->partitioned_by[i];
    if (field->transform != NULL)
      return unsupported (&field->position, error, "A partition transform");
    if (field->type != NULL)
      base_struct_builder_add (builder, field->name.text, field->type->base, TRUE, NULL);
  }
  definition->schema = base_struct_builder_end (g_steal_pointer (&builder));
  return TRUE;
}

static void
read_partitions (const SqlCreateTable *create, DmlDefinition *definition)
{
  definition->partition_columns = g_new0 (char *, create->n_partitioned_by + 1);
  for (guint i = 0; i < create->n_partitioned_by; i++) {
    const char *name = create->partitioned_by[i].name.text;
    int index = base_type_field_index (definition->schema, name, TRUE);
    definition->partition_columns[i] =
        g_strdup (index >= 0 ? base_type_field (definition->schema, (guint) index)->name : name);
  }
}

static gboolean
read_properties (const SqlCreateTable *create, BaseSettings *settings, DmlDefinition *definition, GError **error)
{
  for (guint i = 0; i < create->properties.n; i++) {
    const SqlProperty *property = &create->properties.items[i];
    if (property->value == NULL) {
      base_error_set (error, SLUICE_ERROR_INVALID_CONF_VALUE, "The table property %s has no constant value.",
                      property->key);
      sql_position_add_to_error (&property->position, error);
      return FALSE;
    }
    g_hash_table_insert (definition->properties, g_strdup (property->key), g_strdup (property->value));
  }
  for (guint i = 0; i < create->options.n; i++) {
    if (g_ascii_strcasecmp (create->options.items[i].key, "path") != 0)
      return unsupported (&create->options.items[i].position, error, "OPTIONS of a Delta table");
  }
  g_auto (GStrv) list = settings != NULL ? base_settings_list (settings) : NULL;
  for (char **at = list; at != NULL && at[0] != NULL; at += 2) {
    if (!g_str_has_prefix (at[0], DEFAULTS_PREFIX) || at[1] == NULL)
      continue;
    g_autofree char *key = g_strconcat ("delta.", at[0] + strlen (DEFAULTS_PREFIX), NULL);
    if (!g_hash_table_contains (definition->properties, key))
      g_hash_table_insert (definition->properties, g_steal_pointer (&key), g_strdup (at[1]));
  }
  return TRUE;
}

GStrv
dml_definition_clustering (const SqlClusterBy *cluster, GError **error)
{
  guint n = cluster->kind == SQL_CLUSTER_COLUMNS ? cluster->columns.n : 0;
  g_auto (GStrv) names = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++) {
    const SqlName *name = &cluster->columns.items[i];
    if (name->n != 1) {
      unsupported (&name->position, error, "CLUSTER BY a nested column");
      return NULL;
    }
    names[i] = g_strdup (name->parts[0].text);
  }
  return g_steal_pointer (&names);
}

static gboolean
read_clustering (const SqlCreateTable *create, DmlDefinition *definition, GError **error)
{
  definition->clustering = dml_definition_clustering (&create->cluster_by, error);
  if (definition->clustering == NULL)
    return FALSE;
  if (definition->clustering[0] != NULL && create->n_partitioned_by > 0)
    return unsupported (&create->cluster_by.position, error, "PARTITIONED BY together with CLUSTER BY");
  return TRUE;
}

gboolean
dml_definition_from_create (const SqlCreateTable *create, BaseSettings *settings, DmlDefinition *definition,
                            GError **error)
{
  g_auto (DmlDefinition) made = { 0 };
  made.properties = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  made.comment = g_strdup (create->comment);
  if (create->format != NULL &&
      (create->format->n != 1 || g_ascii_strcasecmp (create->format->parts[0].text, "delta") != 0)) {
    g_autofree char *format = sql_name_text (create->format);
    g_autofree char *what = g_strdup_printf ("A table USING %s", format);
    return unsupported (&create->format->position, error, what);
  }
  if (create->row_filter != NULL)
    return unsupported (&create->row_filter_position, error, "A row filter");
  if (!read_columns (create, &made, error) || !read_properties (create, settings, &made, error) ||
      !read_clustering (create, &made, error))
    return FALSE;
  read_partitions (create, &made);
  *definition = made;
  made = (DmlDefinition){ 0 };
  return TRUE;
}

DeltaMetadata *
dml_definition_metadata (const DmlDefinition *definition, const BaseType *schema, gint64 now_us)
{
  const BaseType *final = schema != NULL ? schema : definition->schema;
  guint n = g_strv_length (definition->partition_columns);
  g_autofree const char **partitions = g_new0 (const char *, n + 1);
  for (guint i = 0; i < n; i++) {
    int index = base_type_field_index (final, definition->partition_columns[i], TRUE);
    partitions[i] = index >= 0 ? base_type_field (final, (guint) index)->name : definition->partition_columns[i];
  }
  return delta_metadata_new (final, partitions, definition->properties, NULL, definition->comment, now_us / 1000);
}

gboolean
dml_definition_cluster (char *const *names, DeltaTransaction *transaction, GError **error)
{
  DeltaMetadata *metadata = delta_transaction_metadata (transaction);
  BaseType *schema = delta_metadata_schema (metadata);
  g_autoptr (json_t) columns = json_array ();
  for (char *const *name = names; *name != NULL; name++) {
    int index = base_type_field_index (schema, *name, TRUE);
    if (index < 0)
      return base_error_set (error, SLUICE_ERROR_UNRESOLVED_COLUMN_WITHOUT_SUGGESTION,
                             "A column with name `%s` cannot be resolved.", *name);
    const char *physical =
        delta_field_physical_name (base_type_field (schema, (guint) index), delta_metadata_mapping (metadata));
    json_array_append_new (columns, json_pack ("[s]", physical));
  }
  g_autoptr (json_t) domain = json_pack ("{s:O,s:s}", "clusteringColumns", columns, "domainName", "delta.clustering");
  g_autofree char *text = base_json_text (domain);
  delta_transaction_require_feature (transaction, "domainMetadata");
  delta_transaction_require_feature (transaction, "clustering");
  delta_transaction_set_domain (transaction, "delta.clustering", text);
  return TRUE;
}

/* ADD and DROP CONSTRAINT: CHECK conditions as properties `delta.constraints.<name>`. */
#include "base-error.h"
#include "base-text.h"
#include "dml-alter-private.h"
#include "relation-plan.h"
#include "sql-build.h"

#include <string.h>

#define PREFIX "delta.constraints."

/* The property's key as the table spells it. Returns: (transfer full): NULL when there is none. */
static char *
find_constraint (DeltaMetadata *metadata, const char *name)
{
  g_autofree const char **keys = delta_metadata_property_keys (metadata);
  for (guint i = 0; keys[i] != NULL; i++) {
    if (g_str_has_prefix (keys[i], PREFIX) && base_text_equal_ignore_case (keys[i] + strlen (PREFIX), name))
      return g_strdup (keys[i]);
  }
  return NULL;
}

/* A name that no constraint has. Returns: (transfer full). */
static char *
fresh_name (DeltaMetadata *metadata)
{
  for (guint i = 1;; i++) {
    g_autofree char *name = g_strdup_printf ("check_%u", i);
    g_autofree char *taken = find_constraint (metadata, name);
    if (taken == NULL)
      return g_steal_pointer (&name);
  }
}

static gboolean
add_constraint (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlConstraint *constraint = data;
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  g_autofree char *name = constraint->name != NULL ? g_strdup (constraint->name->text) : fresh_name (metadata);
  g_autofree char *present = find_constraint (metadata, name);
  if (present != NULL)
    return base_error_set (error, SLUICE_ERROR_DELTA_CONSTRAINT_ALREADY_EXISTS,
                           "Constraint '%s' already exists. Please delete the old constraint first. Old constraint: %s",
                           name, delta_metadata_property (metadata, present));
  if (base_text_equal_ignore_case (name, "__CHAR_VARCHAR_STRING_LENGTH_CHECK__"))
    return base_error_set (error, SLUICE_ERROR_DELTA_INVALID_CONSTRAINT_NAME,
                           "Cannot use '%s' as the name of a CHECK constraint.", name);
  g_autofree char *text = sql_position_text (&constraint->check->position);
  gint64 n_rows = 0;
  if (!dml_check_condition (alteration->context, constraint->check, delta_metadata_schema (metadata), error) ||
      !dml_count_violations (alteration, constraint->check, &n_rows, error))
    return FALSE;
  if (n_rows > 0)
    return base_error_set (error, SLUICE_ERROR_DELTA_NEW_CHECK_CONSTRAINT_VIOLATION,
                           "%" G_GINT64_FORMAT " rows in %s violate the new CHECK constraint (%s).", n_rows,
                           alteration->name, text);
  g_autofree char *folded = g_utf8_strdown (name, -1);
  g_autofree char *key = g_strconcat (PREFIX, folded, NULL);
  dml_alteration_take_metadata (alteration, delta_metadata_with_property (metadata, key, text));
  alteration->operation = "ADD CONSTRAINT";
  dml_alteration_set_parameter (alteration, "name", name);
  dml_alteration_set_parameter (alteration, "expr", text);
  return TRUE;
}

gboolean
dml_alter_add_constraint (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  if (alter->constraint->kind != SQL_CONSTRAINT_CHECK)
    return dml_unsupported (&alter->constraint->position, error, "A constraint other than CHECK", NULL);
  if (dml_alter_run (context, &alter->name, add_constraint, alter->constraint, error))
    return TRUE;
  sql_position_add_to_error (&alter->constraint->position, error);
  return FALSE;
}

static gboolean
drop_constraint (DmlAlteration *alteration, gconstpointer data, GError **error)
{
  const SqlAlter *alter = data;
  const char *name = alter->new_name.text;
  DeltaMetadata *metadata = delta_snapshot_metadata (alteration->snapshot);
  g_autofree char *key = find_constraint (metadata, name);
  if (key == NULL && !alter->if_exists) {
    base_error_set (error, SLUICE_ERROR_DELTA_CONSTRAINT_DOES_NOT_EXIST,
                    "Cannot drop nonexistent constraint %s from table %s. To avoid throwing an error, provide the "
                    "parameter IF EXISTS.",
                    name, alteration->name);
    sql_position_add_to_error (&alter->new_name.position, error);
    return FALSE;
  }
  alteration->operation = "DROP CONSTRAINT";
  dml_alteration_set_parameter (alteration, "name", name);
  dml_alteration_set_parameter (alteration, "existed", key != NULL ? "true" : "false");
  if (key == NULL) {
    dml_alteration_take_metadata (alteration, delta_metadata_ref (metadata));
    return TRUE;
  }
  dml_alteration_set_parameter (alteration, "expr", delta_metadata_property (metadata, key));
  dml_alteration_take_metadata (alteration, delta_metadata_with_property (metadata, key, NULL));
  return TRUE;
}

gboolean
dml_alter_drop_constraint (const DmlContext *context, const SqlAlter *alter, GError **error)
{
  if (alter->constraint != NULL)
    return dml_unsupported (&alter->action_position, error, "A constraint other than CHECK", NULL);
  return dml_alter_run (context, &alter->name, drop_constraint, alter, error);
}

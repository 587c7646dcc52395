/* The target's domain as text and as a struct. */
#include "autocdc-domain-private.h"
#include "autocdc-value-private.h"
#include "base-error.h"
#include "base-json.h"
#include "base-text.h"
#include "duck-engine.h"

#define FORMAT_VERSION 1
#define MAX_FIELDS     10000
#define MAX_FILES      10000
#define MAX_DEPTH      100 /* of a field's path */

static const char *const type_names[] = {
  [AUTOCDC_SCD1] = "SCD1",
  [AUTOCDC_SCD2] = "SCD2",
  [AUTOCDC_BITEMPORAL] = "BITEMPORAL",
};

void
autocdc_state_file_free (AutoCdcStateFile *file)
{
  if (!file)
    return;
  g_free (file->path);
  g_free (file);
}

static AutoCdcDomain *
domain_alloc (void)
{
  AutoCdcDomain *domain = g_new0 (AutoCdcDomain, 1);

  domain->retention_seconds = -1;
  domain->keys = g_ptr_array_new_with_free_func (g_free);
  domain->key_types = g_ptr_array_new_with_free_func ((GDestroyNotify) base_type_unref);
  domain->fields = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  domain->files = g_ptr_array_new_with_free_func ((GDestroyNotify) autocdc_state_file_free);
  return domain;
}

AutoCdcDomain *
autocdc_domain_new (AutoCdcType type, gboolean of_snapshots)
{
  AutoCdcDomain *domain = domain_alloc ();
  g_autofree char *uuid = base_text_uuid ();

  domain->type = type;
  domain->of_snapshots = of_snapshots;
  if (of_snapshots || type == AUTOCDC_BITEMPORAL)
    return domain;
  domain->hidden_sequence = g_strdup_printf ("_autocdc-%s-sequence", uuid);
  domain->hidden_set = g_strdup_printf ("_autocdc-%s-set", uuid);
  autocdc_domain_renew_hash (domain);
  return domain;
}

void
autocdc_domain_renew_hash (AutoCdcDomain *domain)
{
  g_autofree char *uuid = base_text_uuid ();

  if (domain->of_snapshots)
    return;
  g_free (domain->hidden_hash);
  g_free (domain->hash);
  domain->hidden_hash = g_strdup_printf ("_autocdc-%s-hash", uuid);
  domain->hash = g_strdup (duck_engine_library_version ());
}

void
autocdc_domain_free (AutoCdcDomain *domain)
{
  if (!domain)
    return;
  g_ptr_array_unref (domain->keys);
  g_ptr_array_unref (domain->key_types);
  base_type_unref (domain->sequence_type);
  base_type_unref (domain->system_type);
  g_clear_pointer (&domain->track_columns, g_ptr_array_unref);
  g_clear_pointer (&domain->track_except, g_ptr_array_unref);
  g_clear_pointer (&domain->ignore_columns, g_ptr_array_unref);
  g_clear_pointer (&domain->ignore_except, g_ptr_array_unref);
  g_ptr_array_unref (domain->fields);
  json_decref (domain->truncate);
  g_free (domain->hidden_sequence);
  g_free (domain->hidden_set);
  g_free (domain->hidden_hash);
  g_free (domain->hidden_gen);
  g_free (domain->hash);
  g_free (domain->snapshot_version);
  g_ptr_array_unref (domain->files);
  g_free (domain);
}

int
autocdc_name_index (const GPtrArray *names, const char *name)
{
  for (guint i = 0; names && i < names->len; i++)
    if (base_text_equal_ignore_case (names->pdata[i], name))
      return (int) i;
  return -1;
}

gboolean
autocdc_choice_covers (const GPtrArray *columns, const GPtrArray *except, const char *column, gboolean otherwise)
{
  if (columns)
    return autocdc_name_index (columns, column) >= 0;
  return except ? autocdc_name_index (except, column) < 0 : otherwise;
}

gboolean
autocdc_domain_tracks (const AutoCdcDomain *domain, const char *column)
{
  return autocdc_choice_covers (domain->track_columns, domain->track_except, column, TRUE);
}

gboolean
autocdc_domain_ignores_null (const AutoCdcDomain *domain, const char *column)
{
  return autocdc_choice_covers (domain->ignore_columns, domain->ignore_except, column, FALSE);
}

gboolean
autocdc_domain_is_partial (const AutoCdcDomain *domain)
{
  return domain->ignore_columns || domain->ignore_except || domain->columns_to_update;
}

int
autocdc_domain_field (const AutoCdcDomain *domain, const char *const *path)
{
  for (guint i = 0; i < domain->fields->len; i++) {
    const char *const *field = domain->fields->pdata[i];
    guint n = 0;

    while (field[n] && path[n] && base_text_equal_ignore_case (field[n], path[n]))
      n++;
    if (!field[n] && !path[n])
      return (int) i;
  }
  return -1;
}

int
autocdc_domain_key (const AutoCdcDomain *domain, const char *name)
{
  return autocdc_name_index (domain->keys, name);
}

/* ---- from JSON ---- */

static gboolean
set_missing (GError **error, const char *entry)
{
  return base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_AUXILIARY_TABLE_PROPERTY_MISSING,
                         "the domain %s of the target has no entry %s", AUTOCDC_DOMAIN, entry);
}

static gboolean
set_malformed (GError **error, const char *entry)
{
  return base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_AUXILIARY_TABLE_PROPERTY_MALFORMED,
                         "the entry %s in the domain %s of the target is malformed", entry, AUTOCDC_DOMAIN);
}

static json_t *
member (const json_t *object, const char *entry, GError **error)
{
  json_t *value = json_object_get (object, entry);

  if (!value)
    set_missing (error, entry);
  return value;
}

static BaseType *
parse_type (const json_t *json, const char *entry, GError **error)
{
  BaseType *type = json ? base_type_from_json (json, NULL) : NULL;

  if (!type)
    set_malformed (error, entry);
  return type;
}

static gboolean
parse_type_and_keys (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  const char *type = base_json_string (json, "scdType");
  json_t *keys = member (json, "keys", error), *sequence;

  if (!keys)
    return FALSE;
  if (!type)
    return set_missing (error, "scdType");
  for (guint i = AUTOCDC_SCD1; i < G_N_ELEMENTS (type_names); i++)
    if (g_str_equal (type, type_names[i]))
      domain->type = (AutoCdcType) i;
  if (domain->type == 0)
    return set_malformed (error, "scdType");
  if (json_array_size (keys) == 0 || json_array_size (keys) > MAX_FIELDS)
    return set_malformed (error, "keys");
  for (gsize i = 0; i < json_array_size (keys); i++) {
    json_t *key = json_array_get (keys, i);
    const char *name = base_json_string (key, "name");
    BaseType *key_type = name ? parse_type (json_object_get (key, "type"), "keys", error) : NULL;

    if (!name)
      return set_malformed (error, "keys");
    if (!key_type)
      return FALSE;
    g_ptr_array_add (domain->keys, g_strdup (name));
    g_ptr_array_add (domain->key_types, key_type);
  }
  if (!(sequence = member (json, "sequenceType", error)) ||
      !(domain->sequence_type = parse_type (sequence, "sequenceType", error)))
    return FALSE;
  if (domain->type != AUTOCDC_BITEMPORAL)
    return TRUE;
  return (sequence = member (json, "systemSequenceType", error)) &&
         (domain->system_type = parse_type (sequence, "systemSequenceType", error));
}

static GPtrArray *
parse_names (const json_t *json, const char *entry, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  if (!json_is_array (json) || json_array_size (json) > MAX_FIELDS) {
    set_malformed (error, entry);
    return NULL;
  }
  for (gsize i = 0; i < json_array_size (json); i++) {
    const char *name = json_string_value (json_array_get (json, i));

    if (!name) {
      set_malformed (error, entry);
      return NULL;
    }
    g_ptr_array_add (names, g_strdup (name));
  }
  return g_steal_pointer (&names);
}

/* null, {"columns": […]} or {"except": […]}. */
static gboolean
parse_choice (const json_t *json, const char *entry, GPtrArray **columns, GPtrArray **except, GError **error)
{
  json_t *choice = member (json, entry, error), *named, *excepted;

  if (!choice)
    return FALSE;
  named = json_object_get (choice, "columns");
  excepted = json_object_get (choice, "except");
  if (!json_is_null (choice) && !named == !excepted)
    return set_malformed (error, entry);
  return (!named || (*columns = parse_names (named, entry, error))) &&
         (!excepted || (*except = parse_names (excepted, entry, error)));
}

static gboolean
parse_fields (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  json_t *fields = member (json, "fields", error);

  if (!fields)
    return FALSE;
  if (!json_is_array (fields) || json_array_size (fields) > MAX_FIELDS)
    return set_malformed (error, "fields");
  for (gsize i = 0; i < json_array_size (fields); i++) {
    json_t *path = json_array_get (fields, i);
    gsize n = json_array_size (path);
    GStrv names;

    if (n == 0 || n > MAX_DEPTH)
      return set_malformed (error, "fields");
    names = g_new0 (char *, n + 1);
    g_ptr_array_add (domain->fields, names);
    for (gsize j = 0; j < n; j++) {
      const char *name = json_string_value (json_array_get (path, j));

      if (!name)
        return set_malformed (error, "fields");
      names[j] = g_strdup (name);
    }
  }
  return TRUE;
}

static gboolean
parse_choices (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  json_t *update = json_object_get (json, "columnsToUpdate");

  if (update && !json_is_boolean (update))
    return set_malformed (error, "columnsToUpdate");
  domain->columns_to_update = json_is_true (update);
  return parse_choice (json, "trackHistory", &domain->track_columns, &domain->track_except, error) &&
         parse_choice (json, "ignoreNull", &domain->ignore_columns, &domain->ignore_except, error) &&
         parse_fields (domain, json, error);
}

static gboolean
parse_hidden (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  json_t *hidden = member (json, "hiddenColumns", error);

  if (!hidden)
    return FALSE;
  for (gsize i = 0; i < json_array_size (hidden); i++) {
    json_t *column = json_array_get (hidden, i);
    const char *name = base_json_string (column, "name"), *holds = base_json_string (column, "holds");
    char **slot = !holds || !name                   ? NULL
                  : g_str_equal (holds, "sequence") ? &domain->hidden_sequence
                  : g_str_equal (holds, "set")      ? &domain->hidden_set
                  : g_str_equal (holds, "hash")     ? &domain->hidden_hash
                  : g_str_equal (holds, "gen")      ? &domain->hidden_gen
                                                    : NULL;

    if (!slot || *slot)
      return set_malformed (error, "hiddenColumns");
    *slot = g_strdup (name);
  }
  if (domain->of_snapshots || domain->type == AUTOCDC_BITEMPORAL
          ? json_array_size (hidden) > 0
          : !domain->hidden_sequence || !domain->hidden_set || !domain->hidden_hash ||
                (domain->gen > 0 && !domain->hidden_gen))
    return set_malformed (error, "hiddenColumns");
  domain->hash = g_strdup (base_json_string (json, "hash"));
  return TRUE;
}

static gboolean
parse_snapshot (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  json_t *snapshot = json_object_get (json, "snapshot"), *version = json_object_get (snapshot, "version");

  if (!snapshot)
    return TRUE;
  domain->of_snapshots = TRUE;
  if (!json_is_null (version) && !json_is_string (version))
    return set_malformed (error, "snapshot");
  domain->snapshot_version = g_strdup (json_string_value (version));
  domain->n_snapshot_rows = base_json_int64 (snapshot, "rows", 0);
  domain->snapshot_time_us = base_json_int64 (snapshot, "time", 0);
  return TRUE;
}

/* A path that stays below the table's `_autocdc` directory. */
static gboolean
path_is_plain (const char *path)
{
  return path && g_str_has_prefix (path, "_autocdc/") && !strstr (path, "..");
}

static gboolean
parse_files (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  json_t *files = member (json, "files", error), *state = member (json, "state", error);

  if (!files || !state)
    return FALSE;
  if (!json_is_array (files) || json_array_size (files) > MAX_FILES ||
      json_array_size (state) != json_array_size (files))
    return set_malformed (error, "files");
  for (gsize i = 0; i < json_array_size (files); i++) {
    const char *path = json_string_value (json_array_get (files, i));
    json_t *facts = json_array_get (state, i);
    AutoCdcStateFile *file;

    if (!path_is_plain (path) || json_array_size (facts) != 5)
      return set_malformed (error, "files");
    for (gsize j = 0; j < 5; j++)
      if (!json_is_integer (json_array_get (facts, j)))
        return set_malformed (error, "state");
    file = g_new0 (AutoCdcStateFile, 1);
    file->path = g_strdup (path);
    file->n_rows = json_integer_value (json_array_get (facts, 0));
    file->n_deletes = json_integer_value (json_array_get (facts, 1));
    file->size_bytes = json_integer_value (json_array_get (facts, 2));
    file->oldest_us = json_integer_value (json_array_get (facts, 3));
    file->newest_us = json_integer_value (json_array_get (facts, 4));
    g_ptr_array_add (domain->files, file);
  }
  return TRUE;
}

static gboolean
parse_truncate (AutoCdcDomain *domain, const json_t *json, GError **error)
{
  json_t *truncate = json_object_get (json, "truncate");
  g_autoptr (GString) literal = g_string_new (NULL);

  if (!truncate || json_is_null (truncate))
    return TRUE;
  if (domain->type != AUTOCDC_SCD1 || !autocdc_value_print (truncate, domain->sequence_type, literal))
    return set_malformed (error, "truncate");
  domain->truncate = json_incref (truncate);
  return TRUE;
}

AutoCdcDomain *
autocdc_domain_parse (const char *text, GError **error)
{
  g_autoptr (json_t) json = base_json_parse (text, strlen (text), "the domain " AUTOCDC_DOMAIN, NULL);
  g_autoptr (AutoCdcDomain) domain = domain_alloc ();
  gint64 version;

  if (!json_is_object (json)) {
    set_malformed (error, "(all)");
    return NULL;
  }
  version = base_json_int64 (json, "formatVersion", -1);
  if (version > FORMAT_VERSION) {
    base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE,
                    "the target's AUTO CDC memory has format %" G_GINT64_FORMAT ", this engine knows %d", version,
                    FORMAT_VERSION);
    return NULL;
  }
  if (version != FORMAT_VERSION) {
    set_malformed (error, "formatVersion");
    return NULL;
  }
  domain->gen = base_json_int64 (json, "gen", 0);
  domain->n_adopted = base_json_int64 (json, "adopted", 0);
  domain->retention_seconds = base_json_int64 (json, "retention", -1);
  if (domain->gen < 0) {
    set_malformed (error, "gen");
    return NULL;
  }
  if (!parse_type_and_keys (domain, json, error) || !parse_choices (domain, json, error) ||
      !parse_truncate (domain, json, error) || !parse_snapshot (domain, json, error) ||
      !parse_hidden (domain, json, error) || !parse_files (domain, json, error))
    return NULL;
  return g_steal_pointer (&domain);
}

gboolean
autocdc_domain_hides (const AutoCdcDomain *domain)
{
  return domain->hidden_sequence != NULL;
}

void
autocdc_domain_begin_statement (AutoCdcDomain *domain)
{
  g_autofree char *uuid = base_text_uuid ();

  domain->gen++;
  if (!domain->hidden_gen && autocdc_domain_hides (domain))
    domain->hidden_gen = g_strdup_printf ("_autocdc-%s-gen", uuid);
}

/* ---- to JSON ---- */

static json_t *
names_json (const GPtrArray *names)
{
  json_t *array = json_array ();

  for (guint i = 0; i < names->len; i++)
    json_array_append_new (array, json_string (names->pdata[i]));
  return array;
}

static json_t *
choice_json (const GPtrArray *columns, const GPtrArray *except)
{
  if (columns)
    return json_pack ("{s:o}", "columns", names_json (columns));
  return except ? json_pack ("{s:o}", "except", names_json (except)) : json_null ();
}

static json_t *
path_json (const char *const *path)
{
  json_t *array = json_array ();

  for (guint i = 0; path[i]; i++)
    json_array_append_new (array, json_string (path[i]));
  return array;
}

static json_t *
hidden_json (const char *name, json_t *type, const char *holds)
{
  return json_pack ("{s:s, s:o, s:s}", "name", name, "type", type, "holds", holds);
}

char *
autocdc_domain_text (const AutoCdcDomain *domain)
{
  g_autoptr (json_t) json = json_object ();
  json_t *keys = json_array (), *fields = json_array (), *files = json_array (), *state = json_array ();
  json_t *hidden = json_array ();

  for (guint i = 0; i < domain->keys->len; i++)
    json_array_append_new (keys, json_pack ("{s:s, s:o}", "name", domain->keys->pdata[i], "type",
                                            base_type_to_json (domain->key_types->pdata[i])));
  for (guint i = 0; i < domain->fields->len; i++)
    json_array_append_new (fields, path_json (domain->fields->pdata[i]));
  for (guint i = 0; i < domain->files->len; i++) {
    const AutoCdcStateFile *file = domain->files->pdata[i];

    json_array_append_new (files, json_string (file->path));
    json_array_append_new (state, json_pack ("[I, I, I, I, I]", (json_int_t) file->n_rows, (json_int_t) file->n_deletes,
                                             (json_int_t) file->size_bytes, (json_int_t) file->oldest_us,
                                             (json_int_t) file->newest_us));
  }
  if (autocdc_domain_hides (domain)) {
    json_array_append_new (
        hidden, hidden_json (domain->hidden_sequence, base_type_to_json (domain->sequence_type), "sequence"));
    json_array_append_new (hidden, hidden_json (domain->hidden_set, json_string ("binary"), "set"));
    json_array_append_new (hidden, hidden_json (domain->hidden_hash, json_string ("long"), "hash"));
  }
  if (domain->hidden_gen)
    json_array_append_new (hidden, hidden_json (domain->hidden_gen, json_string ("long"), "gen"));

  json_object_set_new (json, "formatVersion", json_integer (FORMAT_VERSION));
  json_object_set_new (json, "scdType", json_string (type_names[domain->type]));
  json_object_set_new (json, "keys", keys);
  json_object_set_new (json, "sequenceType", base_type_to_json (domain->sequence_type));
  if (domain->system_type)
    json_object_set_new (json, "systemSequenceType", base_type_to_json (domain->system_type));
  json_object_set_new (json, "trackHistory", choice_json (domain->track_columns, domain->track_except));
  json_object_set_new (json, "ignoreNull", choice_json (domain->ignore_columns, domain->ignore_except));
  json_object_set_new (json, "columnsToUpdate", json_boolean (domain->columns_to_update));
  json_object_set_new (json, "fields", fields);
  json_object_set_new (json, "truncate", domain->truncate ? json_incref (domain->truncate) : json_null ());
  json_object_set_new (json, "gen", json_integer (domain->gen));
  json_object_set_new (json, "retention", json_integer (domain->retention_seconds));
  if (domain->n_adopted > 0)
    json_object_set_new (json, "adopted", json_integer (domain->n_adopted));
  json_object_set_new (json, "hiddenColumns", hidden);
  if (domain->hash)
    json_object_set_new (json, "hash", json_string (domain->hash));
  json_object_set_new (json, "files", files);
  json_object_set_new (json, "state", state);
  if (domain->of_snapshots)
    json_object_set_new (json, "snapshot",
                         json_pack ("{s:s?, s:I, s:I}", "version", domain->snapshot_version, "rows",
                                    (json_int_t) domain->n_snapshot_rows, "time",
                                    (json_int_t) domain->snapshot_time_us));
  return base_json_text (json);
}

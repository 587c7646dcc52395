/* DESCRIBE AUTO CDC: what a target's domain, its state files and its history say. See autocdc.h.
 *
 * The domain is shown as it is recorded, by its JSON (autocdc-domain-private.h has the entries).
 */
#include "autocdc-plan-private.h"
#include "autocdc-value-private.h"
#include "base-clock.h"
#include "base-error.h"
#include "base-json.h"
#include "delta-table.h"
#include "duck-path.h"
#include "store.h"

#include <string.h>

typedef struct {
  AutoCdcFactFunc say;
  gpointer data;
} Facts;

static void
say (const Facts *facts, const char *name, const char *value)
{
  facts->say (name, value, facts->data);
}

static void
say_number (const Facts *facts, const char *name, gint64 number)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, number);

  say (facts, name, text);
}

static void
append_name (GString *text, const char *name)
{
  g_string_append (text, text->len > 0 ? ", " : "");
  g_string_append (text, name);
}

/* `a, b`: texts, or paths of texts (`a, s.leaf`). */
static char *
list_text (const json_t *list)
{
  GString *text = g_string_new (NULL);
  size_t at;
  json_t *one;

  json_array_foreach ((json_t *) list, at, one)
  {
    g_autoptr (GString) path = g_string_new (json_string_value (one));
    size_t step;
    json_t *part;

    json_array_foreach (one, step, part)
        g_string_append_printf (path, "%s%s", step ? "." : "", json_string_value (part));
    append_name (text, path->str);
  }
  return g_string_free (text, FALSE);
}

/* null | {"columns": […]} | {"except": […]}. @otherwise: for null. */
static char *
choice_text (const json_t *choice, const char *otherwise)
{
  const json_t *except = json_object_get (choice, "except");
  g_autofree char *names = list_text (except ? except : json_object_get (choice, "columns"));

  if (!json_is_object (choice))
    return g_strdup (otherwise);
  if (!except)
    return g_steal_pointer (&names);
  return *names ? g_strconcat ("all but ", names, NULL) : g_strdup ("all");
}

static char *
type_text (const json_t *json)
{
  g_autoptr (BaseType) type = base_type_from_json (json, NULL);

  return type ? base_type_text (type) : g_strdup ("");
}

static void
say_clauses (const Facts *facts, const json_t *domain, AutoCdcType type)
{
  const json_t *system = json_object_get (domain, "systemSequenceType");
  g_autoptr (GString) keys = g_string_new (NULL);
  g_autofree char *sequence = type_text (json_object_get (domain, "sequenceType"));
  g_autofree char *fields = list_text (json_object_get (domain, "fields"));
  size_t at;
  json_t *key;

  json_array_foreach (json_object_get (domain, "keys"), at, key)
  {
    g_autofree char *key_type = type_text (json_object_get (key, "type"));
    g_autofree char *text = g_strdup_printf ("%s %s", base_json_string (key, "name"), key_type);

    append_name (keys, text);
  }
  say (facts, "stored as", autocdc_type_text (type));
  say (facts, "keys", keys->str);
  say (facts, "sequence type", sequence);
  if (system) {
    g_autofree char *system_type = type_text (system);

    say (facts, "system sequence type", system_type);
  }
  if (type == AUTOCDC_SCD2) {
    g_autofree char *tracked = choice_text (json_object_get (domain, "trackHistory"), "all");

    say (facts, "tracked columns", tracked);
  }
  if (json_is_object (json_object_get (domain, "ignoreNull"))) {
    g_autofree char *ignored = choice_text (json_object_get (domain, "ignoreNull"), "none");

    say (facts, "ignore null updates", ignored);
  }
  if (json_is_true (json_object_get (domain, "columnsToUpdate")))
    say (facts, "columns to update", "named by each event");
  say (facts, "fields", fields);
}

/* ---- memory ---- */

/* Facts that void what was known of a key (autocdc-dml.c). */
static gboolean
count_resets (DeltaSnapshot *snapshot, const json_t *files, DuckSession *session, BaseCancel *cancel, gint64 *n_resets,
              GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT count(*) FILTER (kind = 2) FROM read_parquet([");
  size_t at;
  json_t *file;

  *n_resets = 0;
  if (json_array_size (files) == 0)
    return TRUE;
  json_array_foreach ((json_t *) files, at, file)
  {
    g_autofree char *path =
        store_local_path (delta_table_store (delta_snapshot_table (snapshot)), json_string_value (file));

    if (!path)
      return base_error_set (error, SLUICE_ERROR_UNSUPPORTED_FEATURE, "AUTO CDC keeps its memory on local disks only");
    g_string_append (sql, at ? ", " : "");
    duck_path_append (sql, path);
  }
  g_string_append (sql, "], hive_partitioning = false)");
  return duck_session_query_int64 (session, sql->str, cancel, n_resets, NULL, error);
}

/* A value of the sequence, as a query shows it. */
static gboolean
say_value (const Facts *facts, const char *name, const json_t *value, const BaseType *type, DuckSession *session,
           BaseCancel *cancel, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT CAST(");
  g_autoptr (DuckResult) result = NULL;
  g_autofree char *text = NULL;
  const DuckChunk *chunk;

  if (!autocdc_value_print (value, type, sql))
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_INVALID_STATE_AUXILIARY_TABLE_PROPERTY_MALFORMED,
                           "the %s in the domain " AUTOCDC_DOMAIN " is no value of the sequence", name);
  g_string_append (sql, " AS VARCHAR)");
  result = duck_session_query_materialized (session, sql->str, cancel, error);
  if (!result || !duck_result_next (result, &chunk, error))
    return FALSE;
  text = duck_vector_dup_string (&chunk->columns[0], 0);
  say (facts, name, text);
  return TRUE;
}

static void
say_times (const Facts *facts, const json_t *state)
{
  gint64 oldest = G_MAXINT64, newest = G_MININT64;
  size_t at;
  json_t *file;

  json_array_foreach ((json_t *) state, at, file)
  {
    oldest = MIN (oldest, json_integer_value (json_array_get (file, 3)));
    newest = MAX (newest, json_integer_value (json_array_get (file, 4)));
  }
  if (json_array_size (state) == 0)
    return;
  g_autofree char *from = base_clock_text_us (oldest), *to = base_clock_text_us (newest);

  say (facts, "oldest fact written", from);
  say (facts, "newest fact written", to);
}

static gboolean
say_memory (const Facts *facts, DeltaSnapshot *snapshot, const json_t *domain, const BaseType *sequence_type,
            DuckSession *session, BaseCancel *cancel, GError **error)
{
  const json_t *files = json_object_get (domain, "files"), *state = json_object_get (domain, "state");
  const json_t *truncate = json_object_get (domain, "truncate");
  gint64 sums[3] = { 0 }, n_resets; /* facts, tombstones, bytes */
  gint64 retention = base_json_int64 (domain, "retention", -1);
  gboolean forever = retention < 0 || g_strcmp0 (base_json_string (domain, "scdType"), "BITEMPORAL") == 0;
  g_autofree char *kept = forever ? g_strdup ("for ever") : g_strdup_printf ("%" G_GINT64_FORMAT " seconds", retention);
  size_t at;
  json_t *file;

  if (!count_resets (snapshot, files, session, cancel, &n_resets, error))
    return FALSE;
  json_array_foreach ((json_t *) state, at, file)
  {
    for (guint i = 0; i < G_N_ELEMENTS (sums); i++)
      sums[i] += json_integer_value (json_array_get (file, i));
  }
  say_number (facts, "state files", (gint64) json_array_size (files));
  say_number (facts, "bytes of state files", sums[2]);
  say_number (facts, "facts in state files", sums[0]);
  say_number (facts, "tombstones", sums[1]);
  say_number (facts, "resets", n_resets);
  say (facts, "tombstones are kept", kept);
  say_times (facts, state);
  if (truncate && !json_is_null (truncate) &&
      !say_value (facts, "newest truncate", truncate, sequence_type, session, cancel, error))
    return FALSE;
  return TRUE;
}

/* All that a target of snapshots knows beside its rows. */
static void
say_snapshot (const Facts *facts, const json_t *last)
{
  g_autofree char *time = base_clock_text_us (base_json_int64 (last, "time", 0));

  say (facts, "newest snapshot", base_json_string (last, "version"));
  say_number (facts, "rows in it", base_json_int64 (last, "rows", 0));
  say (facts, "read at", time);
}

/* ---- history ---- */

static gint64
metric (const json_t *commit, const char *name)
{
  const char *text = base_json_string (json_object_get (commit, "operationMetrics"), name);

  return text ? g_ascii_strtoll (text, NULL, 10) : 0;
}

static gboolean
say_history (const Facts *facts, DeltaSnapshot *snapshot, BaseCancel *cancel, GError **error)
{
  static const struct {
    const char *name, *metric;
  } sums[] = {
    { "events read", "numSourceRows" },
    { "rows upserted", "numUpsertedRows" },
    { "rows deleted", "numDeletedRows" },
    { "late events ignored", "numLateEventsIgnored" },
    { "ties of the sequence", "numSequenceTies" },
    { "tombstones removed", "numTombstonesRemoved" },
  };
  g_autoptr (GPtrArray) history = delta_table_history (delta_snapshot_table (snapshot), 0, cancel, error);
  gint64 values[G_N_ELEMENTS (sums)] = { 0 }, n_batches = 0;

  if (!history)
    return FALSE;
  for (guint i = 0; i < history->len; i++) {
    const DeltaHistoryEntry *entry = history->pdata[i];

    if (entry->version > delta_snapshot_version (snapshot) ||
        !g_str_has_prefix (base_json_string (entry->commit_info, "operation") ?: "", "AUTO CDC"))
      continue;
    n_batches++;
    for (guint k = 0; k < G_N_ELEMENTS (sums); k++)
      values[k] += metric (entry->commit_info, sums[k].metric);
  }
  say_number (facts, "batches in the log", n_batches);
  for (guint k = 0; k < G_N_ELEMENTS (sums); k++)
    say_number (facts, sums[k].name, values[k]);
  return TRUE;
}

gboolean
autocdc_describe (DeltaSnapshot *snapshot, const char *name, DuckSession *session, AutoCdcFactFunc fact, gpointer data,
                  BaseCancel *cancel, GError **error)
{
  const char *text = delta_snapshot_domain (snapshot, AUTOCDC_DOMAIN);
  g_autoptr (AutoCdcDomain) checked = NULL;
  g_autoptr (json_t) domain = NULL;
  Facts facts = { fact, data };

  if (!text)
    return base_error_set (error, SLUICE_ERROR_AUTOCDC_NOT_A_TARGET, "%s is not the target of an AUTO CDC flow", name);
  if (!(checked = autocdc_domain_parse (text, error)) ||
      !(domain = base_json_parse (text, strlen (text), AUTOCDC_DOMAIN, error)))
    return FALSE;
  say_clauses (&facts, domain, checked->type);
  if (checked->of_snapshots && checked->snapshot_version)
    say_snapshot (&facts, json_object_get (domain, "snapshot"));
  if (!checked->of_snapshots && !say_memory (&facts, snapshot, domain, checked->sequence_type, session, cancel, error))
    return FALSE;
  say_number (&facts, "statements that changed rows", base_json_int64 (domain, "gen", 0));
  say_number (&facts, "data files", delta_snapshot_n_files (snapshot));
  say_number (&facts, "bytes of data files", delta_snapshot_size_bytes (snapshot));
  return say_history (&facts, snapshot, cancel, error);
}

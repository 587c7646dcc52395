/* One commit as a value: every action of its file, in order. */
#include "delta-actions.h"

#include "base-json.h"
#include "delta-log-private.h"

struct DeltaCommit {
  gatomicrefcount references;
  DeltaVersion version;
  gint64 modified_ms;
  gint64 size_bytes;
  GArray *actions; /* DeltaAction */
};

DeltaCommit *
delta_commit_ref (DeltaCommit *commit)
{
  g_atomic_ref_count_inc (&commit->references);
  return commit;
}

void
delta_commit_unref (DeltaCommit *commit)
{
  if (commit == NULL || !g_atomic_ref_count_dec (&commit->references))
    return;
  g_array_unref (commit->actions);
  g_free (commit);
}

static gboolean
keep_action (DeltaAction *action, gpointer data, GError **error G_GNUC_UNUSED)
{
  DeltaCommit *commit = data;

  g_array_append_val (commit->actions, *action);
  /* The array owns it now. Any member will do: they share their place. */
  action->file = NULL;
  return TRUE;
}

static void
clear_action (gpointer action)
{
  delta_action_clear (action);
}

DeltaCommit *
delta_commit_parse (DeltaVersion version, GBytes *bytes, gint64 modified_ms, GError **error)
{
  g_autoptr (DeltaCommit) commit = g_new0 (DeltaCommit, 1);
  g_autofree char *key = delta_log_commit_key (version);

  g_atomic_ref_count_init (&commit->references);
  commit->version = version;
  commit->modified_ms = modified_ms;
  commit->size_bytes = (gint64) g_bytes_get_size (bytes);
  commit->actions = g_array_new (FALSE, FALSE, sizeof (DeltaAction));
  g_array_set_clear_func (commit->actions, clear_action);
  if (!delta_log_parse (bytes, key, DELTA_LOG_ALL_KINDS, keep_action, commit, error))
    return NULL;
  return g_steal_pointer (&commit);
}

DeltaVersion
delta_commit_version (DeltaCommit *commit)
{
  return commit->version;
}

guint
delta_commit_n_actions (DeltaCommit *commit)
{
  return commit->actions->len;
}

const DeltaAction *
delta_commit_action (DeltaCommit *commit, guint index)
{
  g_assert (index < commit->actions->len);
  return &g_array_index (commit->actions, DeltaAction, index);
}

static const DeltaAction *
last_action (DeltaCommit *commit, DeltaActionKind kind)
{
  for (guint i = commit->actions->len; i > 0; i--)
    if (g_array_index (commit->actions, DeltaAction, i - 1).kind == kind)
      return &g_array_index (commit->actions, DeltaAction, i - 1);
  return NULL;
}

DeltaMetadata *
delta_commit_metadata (DeltaCommit *commit)
{
  const DeltaAction *action = last_action (commit, DELTA_ACTION_METADATA);

  return action != NULL ? action->metadata : NULL;
}

DeltaProtocol *
delta_commit_protocol (DeltaCommit *commit)
{
  const DeltaAction *action = last_action (commit, DELTA_ACTION_PROTOCOL);

  return action != NULL ? action->protocol : NULL;
}

const json_t *
delta_commit_info (DeltaCommit *commit)
{
  const DeltaAction *action = last_action (commit, DELTA_ACTION_COMMIT_INFO);

  return action != NULL ? action->commit_info : NULL;
}

gboolean
delta_commit_changes_data (DeltaCommit *commit)
{
  for (guint i = 0; i < commit->actions->len; i++) {
    const DeltaAction *action = &g_array_index (commit->actions, DeltaAction, i);
    if ((action->kind == DELTA_ACTION_ADD || action->kind == DELTA_ACTION_REMOVE) &&
        delta_file_data_change (action->file))
      return TRUE;
  }
  return FALSE;
}

gboolean
delta_commit_is_blind_append (DeltaCommit *commit)
{
  const json_t *info = delta_commit_info (commit);

  /* Without the word of the writer nothing is known about what it read. */
  return info != NULL && base_json_bool (info, "isBlindAppend", FALSE);
}

gint64
delta_commit_in_commit_timestamp_ms (DeltaCommit *commit)
{
  const json_t *info = delta_commit_info (commit);

  return info != NULL ? base_json_int64 (info, "inCommitTimestamp", -1) : -1;
}

gint64
delta_commit_modified_ms (DeltaCommit *commit)
{
  return commit->modified_ms;
}

gint64
delta_commit_size_bytes (DeltaCommit *commit)
{
  return commit->size_bytes;
}

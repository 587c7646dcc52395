/* Which files are moved together.
 *
 * Files are put in order: partition, then the order in which they were written, so that a group of neighbours keeps what order in
 * time (and so in keys that grow with time) the table has. A group is closed when the next file would make it larger than
 * `file_bytes`; sizes count the living rows only.
 *
 * The bounded form sees small files in tiers, each eight times as large as the one below, and takes a tier only when `n_least`
 * files of a partition are in it: the made file then stands in a higher tier, so that a row is moved once a tier. What stays is
 * at most n_least - 1 small files a tier and partition.
 */
#include "write-compact.h"

#include "base-error.h"
#include "base-json.h"
#include "base-settings.h"
#include "write-private.h"

#include <string.h>

#define MIB             (G_GINT64_CONSTANT (1) << 20)
#define TIER_BASE_BYTES (64 * 1024)
#define TIER_FACTOR     8

typedef struct {
  DeltaFile *file;
  char *partition; /* equal texts: equal partition values */
  gint64 live_bytes;
  gboolean half_dead;
} Candidate;

static void
candidate_clear (gpointer data)
{
  g_free (((Candidate *) data)->partition);
}

/* ---- limits ---- */

static gint64
target_bytes (DeltaMetadata *metadata, gint64 fallback)
{
  const char *text = delta_metadata_property (metadata, "delta.targetFileSize");
  gint64 bytes = 0;

  return text != NULL && base_settings_parse_size (text, &bytes) && bytes > 0 ? bytes : fallback;
}

WriteCompaction
write_compaction_full (DeltaMetadata *metadata, gint64 fallback_bytes)
{
  return (WriteCompaction){ .file_bytes = target_bytes (metadata, fallback_bytes), .dead_ratio = 0.05 };
}

WriteCompaction
write_compaction_bounded (DeltaMetadata *metadata)
{
  return (WriteCompaction){
    .file_bytes = target_bytes (metadata, 128 * MIB),
    .dead_ratio = 0.3,
    .dead_bytes = MIB,
    .n_least = 8,
    .bytes_most = 256 * MIB,
  };
}

/* ---- candidates ---- */

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static char *
partition_text (DeltaFile *file)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < delta_file_n_partition_values (file); i++) {
    DeltaPartitionValue value = delta_file_partition_value (file, i);
    GString *part = g_string_new (value.column);
    g_string_append (part, value.text != NULL ? "=" : "=null");
    for (gsize k = 0; value.text != NULL && k < value.text_bytes; k++) /* a binary value may hold NUL */
      g_string_append_printf (part, "%02x", (guchar) value.text[k]);
    g_ptr_array_add (parts, g_string_free (part, FALSE));
  }
  g_ptr_array_sort (parts, compare_texts);
  for (guint i = 0; i < parts->len; i++)
    g_string_append_printf (text, "%s/", (const char *) parts->pdata[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Which share of the rows is dead; a vector on a file of unknown length counts as nearly all. */
static double
dead_share (DeltaFile *file)
{
  const DeltaVectorDescriptor *vector = delta_file_vector (file);
  gint64 n_records = delta_file_n_records (file);

  if (vector == NULL || vector->cardinality <= 0)
    return 0;
  return n_records > 0 ? MIN ((double) vector->cardinality / (double) n_records, 1) : 1;
}

static int
compare_candidates (gconstpointer a, gconstpointer b)
{
  const Candidate *x = a, *y = b;
  int order = strcmp (x->partition, y->partition);

  if (order == 0)
    order = (delta_file_modified_ms (x->file) > delta_file_modified_ms (y->file)) -
            (delta_file_modified_ms (x->file) < delta_file_modified_ms (y->file));
  return order != 0 ? order : strcmp (delta_file_path (x->file), delta_file_path (y->file));
}

static GArray *
find_candidates (const WriteCompaction *compaction, DeltaFile *const *files, guint n_files)
{
  GArray *candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));

  g_array_set_clear_func (candidates, candidate_clear);
  for (guint i = 0; i < n_files; i++) {
    double dead = dead_share (files[i]);
    gint64 size_bytes = delta_file_size_bytes (files[i]);
    gboolean half_dead = dead > compaction->dead_ratio && (double) size_bytes * dead >= (double) compaction->dead_bytes;
    Candidate candidate = { files[i], NULL, (gint64) ((double) size_bytes * (1 - dead)), half_dead };
    if (!half_dead && (compaction->dead_only || size_bytes >= compaction->file_bytes))
      continue;
    candidate.partition = partition_text (files[i]);
    g_array_append_val (candidates, candidate);
  }
  g_array_sort (candidates, compare_candidates);
  return candidates;
}

/* ---- groups ---- */

static guint
tier_of (const Candidate *candidate)
{
  guint tier = 0;

  for (gint64 bytes = TIER_BASE_BYTES; candidate->live_bytes >= bytes && tier < 16; bytes *= TIER_FACTOR)
    tier++;
  return tier;
}

/* Leaves the small files whose tier has too few of them out; @candidates [from, to) are of one partition. */
static void
drop_lone_files (const WriteCompaction *compaction, const GArray *candidates, guint from, guint to, gboolean *taken)
{
  guint n_in_tier[17] = { 0 };

  for (guint i = from; i < to; i++)
    n_in_tier[tier_of (&g_array_index (candidates, Candidate, i))]++;
  for (guint i = from; i < to; i++) {
    const Candidate *candidate = &g_array_index (candidates, Candidate, i);
    taken[i] = candidate->half_dead || n_in_tier[tier_of (candidate)] >= compaction->n_least;
  }
}

typedef struct {
  const WriteCompaction *compaction;
  GPtrArray *groups;
  GPtrArray *open; /* the group being filled */
  gint64 open_bytes;
  gboolean open_half_dead;
  gint64 chosen_bytes;
} Packing;

static void
close_group (Packing *packing)
{
  if (packing->open->len > 1 || (packing->open->len == 1 && packing->open_half_dead)) {
    packing->chosen_bytes += packing->open_bytes;
    g_ptr_array_add (packing->groups, packing->open);
    packing->open = g_ptr_array_new ();
  }
  g_ptr_array_set_size (packing->open, 0);
  packing->open_bytes = 0;
  packing->open_half_dead = FALSE;
}

static gboolean
is_full (const Packing *packing)
{
  return packing->compaction->bytes_most > 0 &&
         packing->chosen_bytes + packing->open_bytes >= packing->compaction->bytes_most;
}

static void
pack (Packing *packing, const GArray *candidates, guint from, guint to, const gboolean *taken)
{
  for (guint i = from; i < to && !is_full (packing); i++) {
    const Candidate *candidate = &g_array_index (candidates, Candidate, i);
    if (!taken[i])
      continue;
    if (packing->open->len > 0 && packing->open_bytes + candidate->live_bytes > packing->compaction->file_bytes)
      close_group (packing);
    g_ptr_array_add (packing->open, candidate->file);
    packing->open_bytes += candidate->live_bytes;
    packing->open_half_dead = packing->open_half_dead || candidate->half_dead;
  }
  close_group (packing);
}

GPtrArray *
write_compaction_choose (const WriteCompaction *compaction, DeltaFile *const *files, guint n_files)
{
  g_autoptr (GArray) candidates = find_candidates (compaction, files, n_files);
  g_autofree gboolean *taken = g_new (gboolean, MAX (candidates->len, 1));
  Packing packing = { .compaction = compaction,
                      .groups = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref),
                      .open = g_ptr_array_new () };

  for (guint from = 0, to; from < candidates->len; from = to) {
    const char *partition = g_array_index (candidates, Candidate, from).partition;
    for (to = from;
         to < candidates->len && strcmp (g_array_index (candidates, Candidate, to).partition, partition) == 0;)
      taken[to++] = TRUE;
    if (compaction->n_least > 1)
      drop_lone_files (compaction, candidates, from, to, taken);
    pack (&packing, candidates, from, to, taken);
  }
  g_ptr_array_unref (packing.open);
  return packing.groups;
}

/* ---- commitInfo ---- */

static int
compare_sizes (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
  return (x > y) - (x < y);
}

json_t *
write_moved_metrics (const WriteMoved *moved)
{
  g_autoptr (GArray) sizes = g_array_copy (moved->added_sizes);
  guint n = sizes->len;
  json_t *metrics = json_object ();

  g_array_sort (sizes, compare_sizes);
  const struct {
    const char *name;
    gint64 value;
  } rows[] = {
    { "numRemovedFiles", moved->removed_sizes->len },
    { "numRemovedBytes", moved->bytes_removed },
    { "numAddedFiles", n },
    { "numAddedBytes", moved->bytes_added },
    { "minFileSize", n > 0 ? g_array_index (sizes, gint64, 0) : 0 },
    { "p25FileSize", n > 0 ? g_array_index (sizes, gint64, n / 4) : 0 },
    { "p50FileSize", n > 0 ? g_array_index (sizes, gint64, n / 2) : 0 },
    { "p75FileSize", n > 0 ? g_array_index (sizes, gint64, (gsize) n * 3 / 4) : 0 },
    { "maxFileSize", n > 0 ? g_array_index (sizes, gint64, n - 1) : 0 },
    { "numDeletionVectorsRemoved", (gint64) moved->n_vectors_removed },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    json_object_set_new (metrics, rows[i].name, json_integer (rows[i].value));
  return metrics;
}

json_t *
write_optimize_parameters (const char *predicate, gboolean automatic)
{
  return json_pack ("{s:s, s:s, s:s, s:s}", "predicate", predicate != NULL ? predicate : "[]", "zOrderBy", "[]",
                    "clusterBy", "[]", "auto", automatic ? "true" : "false");
}

/* ---- the bounded form ---- */

/* Table properties that switch it off, by their names on Databricks. */
static gboolean
is_wanted (DeltaMetadata *metadata)
{
  return delta_metadata_bool (metadata, "pipelines.autoOptimize.managed", TRUE) &&
         delta_metadata_bool (metadata, "delta.autoOptimize.autoCompact", TRUE);
}

gboolean
write_compact (DeltaTable *table, DuckSession *session, const BaseClock *clock, BaseCancel *cancel,
               WriteCompacted *compacted, GError **error)
{
  g_autoptr (DeltaSnapshot) snapshot = delta_table_snapshot (table, cancel, error);
  if (snapshot == NULL)
    return FALSE;
  *compacted = (WriteCompacted){ .version = -1 };
  if (!is_wanted (delta_snapshot_metadata (snapshot)))
    return TRUE;
  WriteCompaction limits = write_compaction_bounded (delta_snapshot_metadata (snapshot));
  guint n_files = delta_snapshot_n_files (snapshot);
  g_autofree DeltaFile **files = g_new (DeltaFile *, MAX (n_files, 1));
  for (guint i = 0; i < n_files; i++)
    files[i] = delta_snapshot_file (snapshot, i);
  g_autoptr (GPtrArray) groups = write_compaction_choose (&limits, files, n_files);
  if (groups->len == 0)
    return TRUE;
  WriteOptions options = { .cancel = cancel, .clock = *clock };
  g_autoptr (WriteBatch) batch = write_batch_begin (table, snapshot, session, &options, error);
  if (batch == NULL)
    return FALSE;
  for (guint i = 0; i < groups->len; i++) {
    GPtrArray *group = g_ptr_array_index (groups, i);
    if (!write_batch_move (batch, (DeltaFile *const *) group->pdata, group->len, error))
      return FALSE;
  }
  const WriteMoved *moved = write_batch_moved (batch);
  g_autoptr (json_t) parameters = write_optimize_parameters (NULL, TRUE);
  g_autoptr (json_t) metrics = write_moved_metrics (moved);
  WriteCommit commit = { .operation = "OPTIMIZE", .parameters = parameters, .metrics = metrics };
  DeltaCommitResult result = { 0 };
  if (!write_batch_commit (batch, &commit, &result, error))
    return FALSE;
  if (result.outcome == DELTA_COMMIT_DONE)
    *compacted = (WriteCompacted){ result.version, moved->removed_sizes->len, moved->added_sizes->len,
                                   moved->bytes_removed, moved->bytes_added };
  delta_commit_result_clear (&result);
  return TRUE;
}

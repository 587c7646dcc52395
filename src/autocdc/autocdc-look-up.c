/* The affected keys' visible rows and facts. */
#include "autocdc-work-private.h"
#include "delta-file.h"

static void
append_payload (AutoCdcWork *work, GString *out, const BaseType *present)
{
  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    const AutoCdcField *field = autocdc_work_field (work, i);
    int column = base_type_field_index (present, field->name, TRUE);
    g_autofree char *name = g_strdup_printf ("t.p%d", column);

    g_string_append (out, ", ");
    autocdc_append_field (out, field, name, column < 0 ? NULL : base_type_field (present, (guint) column)->type);
    g_string_append_printf (out, " AS v%u", i);
  }
  /* Columns of several fields, as they are. */
  for (guint i = 0; i < base_type_n_fields (work->layout->schema); i++) {
    const BaseField *target = base_type_field (work->layout->schema, i);
    AutoCdcField whole = { .path = (const char *const[]){ target->name, NULL }, .type = target->type };
    int column = base_type_field_index (present, target->name, TRUE);
    g_autofree char *name = g_strdup_printf ("t.p%d", column);

    if (!autocdc_work_is_split (work, i))
      continue;
    g_string_append (out, ", ");
    autocdc_append_field (out, &whole, name, column < 0 ? NULL : base_type_field (present, (guint) column)->type);
    g_string_append_printf (out, " AS c%u", i);
  }
}

/* hs, ho, hb, hh, hg of a row. A row from before the table's adoption, which no writer gave a gen, holds the upsert that it shows: of type 2
 * at its start, of type 1 below all events. */
static void
append_held (AutoCdcWork *work, GString *out, const BaseType *present)
{
  const AutoCdcDomain *domain = work->layout->domain;
  g_autofree char *start = g_strdup ("t.hs");
  g_autoptr (GBytes) set = NULL;

  if (domain->n_adopted > 0 && work->plan->type == AUTOCDC_SCD2) {
    g_free (start);
    start = g_strdup_printf ("CASE WHEN t.hg IS NULL THEN t.p%d ELSE t.hs END",
                             base_type_field_index (present, AUTOCDC_START_AT, TRUE));
  }
  g_string_append_printf (out, ", %s AS hs, {O:%s} AS ho, ", start, start);
  if (domain->n_adopted > 0) {
    set = autocdc_first_fields ((guint) domain->n_adopted);
    g_string_append (out, "CASE WHEN t.hg IS NULL THEN ");
    autocdc_append_set (out, set);
    g_string_append (out, " ELSE t.hb END AS hb");
  } else {
    g_string_append (out, "t.hb");
  }
  g_string_append (out, domain->hidden_gen ? ", t.hh, coalesce(t.hg, 0) AS hg" : ", t.hh, 0::BIGINT AS hg");
}

/* The same where snapshots are kept: an open row of SCD 2 holds the upsert at its start; one that a statement let begin later than this
 * snapshot holds nothing. */
static void
append_held_of_snapshot (AutoCdcWork *work, GString *out, const BaseType *present)
{
  int start = base_type_field_index (present, AUTOCDC_START_AT, TRUE);

  if (work->plan->type == AUTOCDC_SCD2) {
    g_string_append_printf (out, ", t.p%d AS hs, {O:t.p%d} AS ho, CASE WHEN {O:t.p%d} < {version order} THEN ", start,
                            start, start);
    autocdc_append_set (out, work->batch_set);
    g_string_append (out, " END AS hb");
  } else {
    g_string_append (out, ", NULL::{S} AS hs, CASE WHEN false THEN {version order} END AS ho, NULL::BLOB AS hb");
  }
  g_string_append (out, ", 0::BIGINT AS hh, 0::BIGINT AS hg");
}

/* The list of columns that a look-up gives, from the scan's. */
static char *
row_columns (AutoCdcWork *work, const BaseType *present, gboolean payload)
{
  g_autoptr (GString) out = g_string_new ("(t.fi << 40) + t.rn AS ix, t.fi, t.rn, ");
  const char *const *intervals;
  guint n_intervals = autocdc_interval_columns (work->plan->type, &intervals);

  g_string_append (out, work->tracks_rows ? "coalesce(t.rid, m.base + t.rn) AS rid" : "NULL::BIGINT AS rid");
  for (guint i = 0; i < work->layout->domain->keys->len; i++)
    g_string_append_printf (out, ", t.p%d AS k%u",
                            base_type_field_index (present, work->layout->domain->keys->pdata[i], TRUE), i);
  if (payload && n_intervals == 0)
    g_string_append (out, ", NULL::{S} AS st, NULL::{S} AS en");
  for (guint i = 0; payload && i < n_intervals; i++)
    g_string_append_printf (out, ", t.p%d AS %s", base_type_field_index (present, intervals[i], TRUE),
                            autocdc_interval_names[i]);
  if (work->layout->domain->of_snapshots)
    append_held_of_snapshot (work, out, present);
  else if (autocdc_rows_hold (work->plan))
    append_held (work, out, present);
  if (payload)
    append_payload (work, out, present);
  return autocdc_work_text (work, out->str);
}

/* Equality of the scan's keys and those of @table. */
static void
set_scan_keys (AutoCdcWork *work, const BaseType *present, const char *table)
{
  g_autoptr (GString) keys = g_string_new (NULL);

  for (guint i = 0; i < work->layout->domain->keys->len; i++)
    g_string_append_printf (keys, "%st.p%d = %s.k%u", i ? " AND " : "",
                            base_type_field_index (present, work->layout->domain->keys->pdata[i], TRUE), table, i);
  autocdc_work_take (work, "scan keys", g_steal_pointer (&keys));
}

/* The pieces `first`, of every key of {keys} its first event on each axis, and `not over`. */
static void
set_not_over (AutoCdcWork *work, const BaseType *present)
{
  AutoCdcAxis axes[2];
  guint n = autocdc_find_axes (work, present, axes);
  g_autoptr (GString) first = g_string_new (NULL), pattern = g_string_new (NULL);
  g_autofree char *text = NULL;

  for (guint i = 0; i < n; i++) {
    g_autofree char *end = g_strdup_printf (axes[i].column, axes[i].end);

    g_string_append_printf (first, ", min(%s) AS %s", axes[i].order, axes[i].order);
    g_string_append_printf (pattern, " AND (t.p%u IS NULL OR %s >= q.%s)", axes[i].end, end, axes[i].order);
  }
  text = autocdc_work_text (work, pattern->str);
  autocdc_work_take (work, "first", g_steal_pointer (&first));
  autocdc_work_set (work, "not over", text);
}

/* ` LEFT JOIN (VALUES (file index, row id of its first row), …) m …`, so that row ids are worked out for matched rows only. */
static void
set_row_id_bases (AutoCdcWork *work)
{
  g_autoptr (GString) bases = g_string_new (NULL);

  if (!work->tracks_rows) {
    autocdc_work_set (work, "bases", "");
    return;
  }
  g_string_append (bases, " LEFT JOIN (VALUES (NULL::BIGINT, NULL::BIGINT)");
  for (guint i = 0; i < delta_scan_n_files (work->scan); i++) {
    gint64 base = delta_file_base_row_id (delta_scan_file (work->scan, i));

    if (base >= 0)
      g_string_append_printf (bases, ", (%u, %" G_GINT64_FORMAT ")", i, base);
  }
  g_string_append (bases, ") m(fi, base) ON m.fi = t.fi");
  autocdc_work_take (work, "bases", g_steal_pointer (&bases));
}

/* The hashes of the batch's keys, as the scan has them: rows of other keys need not be taken from memory. */
static gboolean
find_wanted (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  g_autoptr (GString) sql = g_string_new ("SELECT hash(");
  g_autofree char *text = NULL;
  guint n = 0;

  g_clear_pointer (&work->wanted, duck_wanted_unref);
  for (guint i = 0; i < base_type_n_fields (present); i++) {
    const BaseField *field = base_type_field (present, i);
    int key = autocdc_domain_key (work->layout->domain, field->name);

    if (key < 0)
      continue;
    if (!base_type_equal (field->type, work->layout->domain->key_types->pdata[key], BASE_TYPE_EQUAL_IGNORE_NULLABILITY))
      return TRUE; /* it becomes wider: the hash is another */
    if (delta_metadata_is_partition_column (delta_snapshot_metadata (snapshot), i))
      return TRUE; /* it is not in the files */
    g_string_append_printf (sql, "%sk%d", n++ > 0 ? ", " : "", key);
  }
  g_string_append (sql, ") FROM {keys}");
  text = autocdc_work_text (work, sql->str);
  work->wanted = duck_wanted_new (work->session, text, (guint64) work->n_keys, work->cancel, error);
  return work->wanted != NULL;
}

DeltaScan *
autocdc_scan_rows (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean payload, GArray *inputs, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  const AutoCdcDomain *domain = work->layout->domain;
  g_autoptr (BaseType) set_type = base_type_simple (BASE_TYPE_BINARY), long_type = base_type_simple (BASE_TYPE_LONG);
  g_autoptr (GArray) columns = g_array_new (FALSE, TRUE, sizeof (DeltaScanColumn));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  DeltaScanHidden hidden[5] = {
    { domain->hidden_sequence, work->plan->sequence_type, "hs" },
    { domain->hidden_set, set_type, "hb" },
    { domain->hidden_hash, long_type, "hh" },
  };
  DeltaScanValue place = { long_type, "place" };
  /* Batch after batch for other keys. */
  gboolean reads_again = work->plan->type == AUTOCDC_SCD1 && !work->snapshot && !work->clears;
  DeltaScanRequest request = { .hidden = hidden,
                               .n_hidden = autocdc_domain_hides (domain) ? 3 : 0,
                               .file_index_name = "fi",
                               .row_number_name = "rn" };

  if (domain->hidden_gen)
    hidden[request.n_hidden++] = (DeltaScanHidden){ domain->hidden_gen, long_type, "hg" };
  if (work->tracks_rows)
    hidden[request.n_hidden++] =
        (DeltaScanHidden){ delta_metadata_row_id_column (delta_snapshot_metadata (snapshot)), long_type, "rid" };
  for (guint i = 0; i < base_type_n_fields (present); i++) {
    DeltaScanColumn column = { .column = i, .name = g_strdup_printf ("p%u", i) };

    g_ptr_array_add (names, (char *) column.name);
    if (autocdc_domain_key (domain, base_type_field (present, i)->name) >= 0)
      g_array_insert_val (columns, request.n_wanted_columns++, column);
    else if (payload)
      g_array_append_val (columns, column);
  }
  request.columns = (DeltaScanColumn *) (gpointer) columns->data;
  request.n_columns = columns->len;
  if (inputs) {
    request.values = &place;
    request.n_values = 1;
    request.inputs = (DeltaScanInput *) (gpointer) inputs->data;
    request.n_inputs = inputs->len;
    request.explicit_inputs = TRUE;
    return delta_scan_new (snapshot, &request, work->cancel, error);
  }
  if (!work->skips) {
    autocdc_begin_skips (work, present);
    autocdc_work_set (work, "recent", "");
    if ((delta_snapshot_n_files (snapshot) > 1 || work->from_anchor) && !work->clears &&
        !autocdc_find_skips (work, present, error))
      return NULL;
  }
  if (reads_again && !find_wanted (work, snapshot, error))
    return NULL;
  request.again = reads_again && (!payload || work->wanted);
  request.wanted = work->wanted;
  request.predicates = (DeltaPredicate *) (gpointer) work->skips->data;
  request.n_predicates = work->skips->len;
  return delta_scan_new (snapshot, &request, work->cancel, error);
}

/* A target without columns or rows yet. */
static void
define_no_rows (AutoCdcWork *work, const char *name)
{
  autocdc_work_set (work, "no system", work->plan->system_type ? ", y AS ys, y AS ye" : "");
  autocdc_work_define (
      work, name,
      "SELECT 0::BIGINT AS ix, 0::BIGINT AS fi, 0::BIGINT AS rn, NULL::BIGINT AS rid, {K}, s AS st,"
      " s AS en{no system}, s AS hs, o AS ho, ''::BLOB AS hb, 0::BIGINT AS hh, 0::BIGINT AS hg{V} FROM {reduced} WHERE"
      " false");
}

/* ` WHERE …` of a look-up: the open rows, where snapshots are kept. */
static void
set_open_only (AutoCdcWork *work, const BaseType *present)
{
  g_autoptr (GString) condition = g_string_new (NULL);

  if (work->plan->from_snapshot && work->plan->type == AUTOCDC_SCD2)
    g_string_append_printf (condition, " WHERE t.p%d IS NULL", base_type_field_index (present, AUTOCDC_END_AT, TRUE));
  autocdc_work_take (work, "open only", g_steal_pointer (&condition));
}

gboolean
autocdc_define_open_rows (AutoCdcWork *work, DeltaSnapshot *snapshot, gboolean *any, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  g_autoptr (GString) columns = g_string_new (NULL);

  *any = !work->layout->is_new && delta_snapshot_n_files (snapshot) > 0;
  if (!*any)
    return TRUE;
  g_clear_pointer (&work->scan, delta_scan_unref);
  autocdc_begin_skips (work, present);
  work->scan = autocdc_scan_rows (work, snapshot, TRUE, NULL, error);
  g_clear_pointer (&work->skips, g_array_unref); /* the next look-up is for some keys */
  g_clear_pointer (&work->constants, g_ptr_array_unref);
  if (!work->scan)
    return FALSE;
  for (guint i = 0; i < work->layout->domain->keys->len; i++)
    g_string_append_printf (columns, "%st.p%d AS k%u", i ? ", " : "",
                            base_type_field_index (present, work->layout->domain->keys->pdata[i], TRUE), i);
  append_payload (work, columns, present);
  set_open_only (work, present);
  autocdc_work_take (work, "open columns", g_steal_pointer (&columns));
  autocdc_work_set (work, "scan", delta_scan_sql (work->scan));
  autocdc_work_define (work, "open", "SELECT {open columns} FROM ({scan}) t{open only}");
  return TRUE;
}

gboolean
autocdc_look_up_rows (AutoCdcWork *work, DeltaSnapshot *snapshot, const char *name, gboolean payload, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  g_autofree char *list = NULL;

  if (work->layout->is_new || delta_snapshot_n_files (snapshot) == 0) {
    define_no_rows (work, name);
    return TRUE;
  }
  g_clear_pointer (&work->scan, delta_scan_unref);
  if (!(work->scan = autocdc_scan_rows (work, snapshot, payload, NULL, error)))
    return FALSE;
  set_scan_keys (work, present, "q");
  set_row_id_bases (work);
  set_open_only (work, present);
  list = row_columns (work, present, payload);
  autocdc_work_set (work, "row columns", list);
  autocdc_work_set (work, "scan", delta_scan_sql (work->scan));
  work->has_rows = TRUE;
  /* A condition on the keys, though always true, makes DuckDB push a Bloom filter of them into the scan. */
  if (work->from_anchor) {
    set_not_over (work, present);
    return autocdc_work_make (
        work, name,
        "SELECT {row columns} FROM (SELECT t.* FROM ({scan}) t JOIN (SELECT {K}{first} FROM {keys}"
        " WHERE hash({K}) IS NOT NULL GROUP BY {K}) q ON {scan keys}{not over}{recent}) t{bases}",
        NULL, error);
  }
  return autocdc_work_make (work, name,
                            "SELECT {row columns} FROM (SELECT t.* FROM ({scan}) t SEMI JOIN (SELECT {K} FROM {keys}"
                            " WHERE hash({K}) IS NOT NULL) q ON {scan keys}{open only}) t{bases}",
                            NULL, error);
}

/* A scan with payload that skips by @skips, (transfer full), instead of by the batch's keys. */
static DeltaScan *
scan_with_skips (AutoCdcWork *work, DeltaSnapshot *snapshot, GArray *skips, GError **error)
{
  GArray *own = work->skips;
  DeltaScan *scan;

  work->skips = skips;
  scan = autocdc_scan_rows (work, snapshot, TRUE, NULL, error);
  g_array_unref (work->skips);
  work->skips = own;
  return scan;
}

/* `t.p0 AS k0, …, `. */
static void
append_scan_keys (const AutoCdcWork *work, const BaseType *present, GString *out)
{
  for (guint i = 0; i < work->layout->domain->keys->len; i++)
    g_string_append_printf (out, "t.p%d AS k%u, ",
                            base_type_field_index (present, work->layout->domain->keys->pdata[i], TRUE), i);
}

gboolean
autocdc_look_up_runs (AutoCdcWork *work, DeltaSnapshot *snapshot, const char *name, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  g_autoptr (GString) columns = g_string_new (NULL);
  GArray *skips = g_array_new (FALSE, TRUE, sizeof (DeltaPredicate)); /* none: {keys} may be any */
  g_autoptr (DeltaScan) scan = scan_with_skips (work, snapshot, skips, error);
  g_autofree char *list = NULL;

  if (!scan)
    return FALSE;
  append_scan_keys (work, present, columns);
  g_string_append_printf (columns, "{O:t.p%d} AS so, {O:t.p%d} AS eo, {O:t.hs} AS ho, t.hb, ",
                          base_type_field_index (present, AUTOCDC_START_AT, TRUE),
                          base_type_field_index (present, AUTOCDC_END_AT, TRUE));
  g_string_append (columns, work->layout->domain->hidden_gen ? "coalesce(t.hg, 0) AS hg" : "0::BIGINT AS hg");
  list = autocdc_work_text (work, columns->str);
  set_scan_keys (work, present, "q");
  autocdc_work_set (work, "run columns", list);
  autocdc_work_set (work, "scan", delta_scan_sql (scan));
  return autocdc_work_make (work, name,
                            "SELECT {run columns} FROM ({scan}) t SEMI JOIN (SELECT {K} FROM {keys} WHERE hash({K})"
                            " IS NOT NULL) q ON {scan keys}",
                            NULL, error);
}

gboolean
autocdc_look_up_before (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  int start = base_type_field_index (present, AUTOCDC_START_AT, TRUE),
      end = base_type_field_index (present, AUTOCDC_END_AT, TRUE);
  g_autoptr (GString) columns = g_string_new (NULL);
  g_autoptr (DeltaScan) scan = NULL;
  GArray *skips = g_array_new (FALSE, TRUE, sizeof (DeltaPredicate));
  DeltaPredicate over = { .column = (guint) end, .op = DELTA_PREDICATE_IS_NOT_NULL };
  g_autofree char *list = NULL, *ends = NULL;

  g_array_append_vals (skips, work->skips->data, work->n_key_skips);
  g_array_append_val (skips, over);
  if (!(scan = scan_with_skips (work, snapshot, skips, error)))
    return FALSE;
  append_scan_keys (work, present, columns);
  g_string_append_printf (columns, "t.p%d AS st, {O:t.p%d} AS o", start, start);
  append_payload (work, columns, present);
  list = autocdc_work_text (work, columns->str);
  g_string_printf (columns, "{O:t.p%d} = q.lo", end);
  set_scan_keys (work, present, "q");
  autocdc_work_set (work, "before columns", list);
  autocdc_work_set (work, "scan", delta_scan_sql (scan));
  ends = autocdc_work_text (work, columns->str);
  autocdc_work_set (work, "ends there", ends);
  return autocdc_work_make (work, "before",
                            "SELECT {before columns} FROM ({scan}) t JOIN (SELECT {K}, min({O:st}) AS lo FROM {rows}"
                            " WHERE hash({K}) IS NOT NULL GROUP BY {K}) q ON {scan keys} AND {ends there}",
                            NULL, error);
}

static void
input_clear (DeltaScanInput *input)
{
  g_strfreev ((char **) input->values);
}

GArray *
autocdc_inputs_new (void)
{
  GArray *inputs = g_array_new (FALSE, TRUE, sizeof (DeltaScanInput));

  g_array_set_clear_func (inputs, (GDestroyNotify) input_clear);
  return inputs;
}

void
autocdc_inputs_add (GArray *inputs, DeltaScan *scan, gint64 index)
{
  char **values = g_new0 (char *, 2);
  DeltaScanInput input = { .file = delta_scan_file (scan, index),
                           .rows = DELTA_SCAN_LIVE,
                           .values = (const char *const *) values };

  values[0] = g_strdup_printf ("%" G_GINT64_FORMAT, index);
  g_array_append_val (inputs, input);
}

/* The files that hold rows of {old} with keys of {keys}, each with its index in {old} as its value. */
static GArray *
files_of_keys (AutoCdcWork *work, GError **error)
{
  g_autofree char *sql = autocdc_work_text (work, "SELECT DISTINCT r.fi FROM {old} r SEMI JOIN {keys} q ON {J:r,q}");
  g_autoptr (GArray) indexes = duck_session_query_int64s (work->session, sql, work->cancel, error);
  g_autoptr (GArray) inputs = autocdc_inputs_new ();

  if (!indexes)
    return NULL;
  for (guint i = 0; i < indexes->len; i++)
    autocdc_inputs_add (inputs, work->scan, g_array_index (indexes, gint64, i));
  return g_steal_pointer (&inputs);
}

gboolean
autocdc_look_up_payload (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  const BaseType *present = delta_snapshot_schema (snapshot);
  g_autoptr (GString) payload = g_string_new (NULL);
  g_autoptr (GArray) inputs = files_of_keys (work, error);
  g_autoptr (DeltaScan) scan = NULL;

  if (!inputs)
    return FALSE;
  if (inputs->len == 0) {
    define_no_rows (work, "rows");
    return TRUE;
  }
  if (!(scan = autocdc_scan_rows (work, snapshot, TRUE, inputs, error)))
    return FALSE;
  append_payload (work, payload, present);
  set_scan_keys (work, present, "r");
  autocdc_work_set (work, "scan", delta_scan_sql (scan));
  autocdc_work_take (work, "payload", g_steal_pointer (&payload));
  return autocdc_work_make (work, "rows",
                            "SELECT r.*, NULL::{S} AS st, NULL::{S} AS en{payload} FROM ({scan}) t JOIN"
                            " (SELECT o.* FROM {old} o SEMI JOIN {keys} q ON {J:o,q}) r"
                            " ON {scan keys} AND t.place = r.fi AND t.rn = r.rn",
                            NULL, error);
}

/* {state}: the facts of state files that ` JOIN … q` leaves of all facts `t`. */
static gboolean
look_up_facts (AutoCdcWork *work, DeltaTable *table, const char *join, GError **error)
{
  g_autoptr (GString) scan = g_string_new (NULL);
  g_autofree char *text = autocdc_work_text (work, join);

  if (!autocdc_append_state_scan (work, table, work->layout->domain->files, scan, error))
    return FALSE;
  autocdc_work_take (work, "state scan", g_steal_pointer (&scan));
  autocdc_work_set (work, "join", text);
  return autocdc_work_make (work, "state", "SELECT t.* FROM ({state scan}) t{join} WHERE {T:t.o}", NULL, error);
}

gboolean
autocdc_look_up_state (AutoCdcWork *work, DeltaTable *table, GError **error)
{
  gint64 n_inheriting = 0;

  if (work->layout->domain->files->len == 0) {
    autocdc_work_define (
        work, "state",
        "SELECT {K}, s, o{Y}, d, ''::BLOB AS b{V}, 0::BIGINT AS w, 0::BIGINT AS g FROM {reduced} WHERE false");
    return TRUE;
  }
  work->has_state = TRUE;
  if (work->from_anchor && autocdc_has_anchor (work)) {
    autocdc_define_anchors (work);
    if (!look_up_facts (work, table, " JOIN {anchors} q ON {J:t,q} AND t.o >= q.lo", error) ||
        (work->plan->type == AUTOCDC_BITEMPORAL &&
         !autocdc_work_count (work, "SELECT count(*) FROM {state} WHERE NOT d AND b <> {batch set}", &n_inheriting,
                              error)))
      return FALSE;
    if (n_inheriting == 0)
      return TRUE;
  }
  return look_up_facts (work, table, " SEMI JOIN {keys} q ON {J:t,q}", error);
}

gboolean
autocdc_look_up_known (AutoCdcWork *work, DeltaTable *table, GError **error)
{
  g_autoptr (GString) scan = g_string_new (NULL);

  if (work->layout->domain->files->len == 0) {
    autocdc_work_define (work, "known", "SELECT {K}, o AS sd, o AS su, false AS has_upsert FROM {reduced} WHERE false");
    return TRUE;
  }
  if (!autocdc_append_state_scan (work, table, work->layout->domain->files, scan, error))
    return FALSE;
  autocdc_work_take (work, "state scan", g_steal_pointer (&scan));
  return autocdc_work_make (
      work, "known",
      "SELECT {K}, max(o) AS sd, max(o) FILTER (NOT d) AS su, bool_or(NOT d OR g > 0) AS has_upsert"
      " FROM (SELECT t.* FROM ({state scan}) t SEMI JOIN {keys} q ON {J:t,q} WHERE {T:t.o}) GROUP BY {K}",
      NULL, error);
}

gboolean
autocdc_look_up (AutoCdcWork *work, DeltaSnapshot *snapshot, GError **error)
{
  return autocdc_look_up_rows (work, snapshot, "rows", TRUE, error) &&
         autocdc_look_up_state (work, delta_snapshot_table (snapshot), error);
}

/* Templates, relations, and sets as DuckDB text. */
#include "autocdc-work-private.h"
#include "base-error.h"
#include "base-text.h"
#include "duck-type.h"

#include <string.h>

#define KEPT_BYTES ((guint64) 96 << 20)

const char *const autocdc_interval_names[AUTOCDC_MAX_INTERVALS] = { "st", "en", "ys", "ye" };

guint64
autocdc_kept_bytes (const AutoCdcBatch *batch)
{
  return batch->kept_bytes > 0 ? batch->kept_bytes : KEPT_BYTES;
}

AutoCdcWork *
autocdc_work_new (AutoCdcPlan *plan, const AutoCdcBatch *batch, const RelationContext *context, BaseCancel *cancel)
{
  AutoCdcWork *work = g_new0 (AutoCdcWork, 1);

  work->plan = autocdc_plan_ref (plan);
  work->batch = batch;
  work->context = context;
  work->session = context->session;
  work->cancel = cancel;
  work->pieces = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  work->relations = g_ptr_array_new_with_free_func ((GDestroyNotify) duck_rows_free);
  work->sets = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  work->generates = g_ptr_array_new_with_free_func ((GDestroyNotify) relation_text_free);
  work->cleared_files = g_ptr_array_new_with_free_func ((GDestroyNotify) delta_file_unref);
  return work;
}

void
autocdc_work_free (AutoCdcWork *work)
{
  if (!work)
    return;
  delta_scan_unref (work->scan);
  duck_wanted_unref (work->wanted);
  g_ptr_array_unref (work->generates);
  g_clear_pointer (&work->skips, g_array_unref);
  g_clear_pointer (&work->constants, g_ptr_array_unref);
  autocdc_layout_free (work->layout);
  autocdc_plan_unref (work->plan);
  g_hash_table_unref (work->pieces);
  g_ptr_array_unref (work->relations);
  relation_text_free (work->source);
  duck_session_free (work->own_session);
  g_ptr_array_unref (work->sets);
  g_ptr_array_unref (work->cleared_files);
  json_decref (work->truncate);
  g_free (work->authored);
  g_clear_pointer (&work->batch_set, g_bytes_unref);
  g_free (work);
}

/* Those of the last try. */
static void
forget_relations (AutoCdcWork *work)
{
  g_ptr_array_set_size (work->relations, (gint) work->n_lasting);
  work->kept_bytes = 0;
  for (guint i = 0; i < work->n_lasting; i++)
    work->kept_bytes += duck_rows_bytes (work->relations->pdata[i]);
}

static gboolean
is_named (AutoCdcWork *work, const DuckRows *rows, const char *const *pieces)
{
  for (guint i = 0; pieces[i]; i++) {
    const char *text = g_hash_table_lookup (work->pieces, pieces[i]);

    if (text && strstr (text, duck_rows_relation (rows)))
      return TRUE;
  }
  return FALSE;
}

void
autocdc_work_keep (AutoCdcWork *work, guint n_before, const char *const *pieces)
{
  for (guint i = work->relations->len; i > MAX (n_before, work->n_lasting); i--) {
    DuckRows *rows = work->relations->pdata[i - 1];

    if (is_named (work, rows, pieces))
      continue;
    work->kept_bytes -= duck_rows_bytes (rows);
    g_ptr_array_remove_index (work->relations, i - 1);
  }
}

/* The piece `clock`: what facts of this commit have as `written`: the batch's clock, and not less than what facts have already. */
static void
set_clock (AutoCdcWork *work)
{
  gint64 clock_us = work->batch->clock_us;
  g_autofree char *text = NULL;

  for (guint i = 0; i < work->layout->domain->files->len; i++)
    clock_us = MAX (clock_us, ((AutoCdcStateFile *) work->layout->domain->files->pdata[i])->newest_us);
  text = g_strdup_printf ("%" G_GINT64_FORMAT "::BIGINT", clock_us);
  autocdc_work_set (work, "clock", text);
}

void
autocdc_work_set_layout (AutoCdcWork *work, AutoCdcLayout *layout)
{
  guint n_bytes = 0;
  g_autofree guint8 *bytes = NULL;
  g_autoptr (GString) set = g_string_new (NULL);

  forget_relations (work);
  g_ptr_array_set_size (work->generates, 0);
  autocdc_layout_free (work->layout);
  work->layout = layout;
  work->has_statements = layout->domain->gen > 0;
  work->is_partial = autocdc_domain_is_partial (layout->domain);
  g_clear_pointer (&work->authored, g_free);
  autocdc_set_truncate (work);
  set_clock (work);
  g_clear_pointer (&work->scan, delta_scan_unref);
  g_clear_pointer (&work->skips, g_array_unref);
  g_clear_pointer (&work->constants, g_ptr_array_unref);
  g_ptr_array_set_size (work->sets, 0);
  g_clear_pointer (&work->batch_set, g_bytes_unref);
  bytes = g_new0 (guint8, layout->fields->len / 8 + 1);
  for (guint i = 0; i < layout->fields->len; i++) {
    if (autocdc_work_field (work, i)->source < 0 && !work->plan->from_snapshot)
      continue; /* a snapshot has NULL there */
    bytes[i / 8] |= (guint8) (1u << (i % 8));
    n_bytes = i / 8 + 1;
  }
  work->batch_set = g_bytes_new (bytes, n_bytes);
  autocdc_append_set (set, work->batch_set);
  autocdc_work_take (work, "batch set", g_steal_pointer (&set));
}

guint
autocdc_work_n_fields (const AutoCdcWork *work)
{
  return work->layout->fields->len;
}

const AutoCdcField *
autocdc_work_field (const AutoCdcWork *work, guint index)
{
  return &g_array_index (work->layout->fields, AutoCdcField, index);
}

gboolean
autocdc_batch_authors_all (const AutoCdcWork *work)
{
  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    if (!autocdc_set_has (work->batch_set, i))
      return FALSE;
  return !work->is_partial;
}

gboolean
autocdc_facts_author_all (const AutoCdcWork *work)
{
  g_autoptr (GBytes) all = autocdc_first_fields (autocdc_work_n_fields (work));

  return !work->is_partial && work->has_one_set && g_bytes_equal (work->sets->pdata[0], all);
}

gboolean
autocdc_work_is_split (const AutoCdcWork *work, guint column)
{
  for (guint i = 0; i < autocdc_work_n_fields (work); i++)
    if (autocdc_work_field (work, i)->column == column)
      return autocdc_work_field (work, i)->path[1] != NULL;
  return FALSE;
}

/* ---- templates ---- */

void
autocdc_work_set (AutoCdcWork *work, const char *piece, const char *text)
{
  g_hash_table_insert (work->pieces, g_strdup (piece), g_strdup (text));
}

void
autocdc_work_take (AutoCdcWork *work, const char *piece, GString *text)
{
  g_hash_table_insert (work->pieces, g_strdup (piece), g_string_free (text, FALSE));
}

static void
append_column (GString *out, const char *table, char letter, guint index)
{
  if (table)
    g_string_append_printf (out, "%s.%c%u", table, letter, index);
  else
    g_string_append_printf (out, "%c%u", letter, index);
}

static void
append_keys (const AutoCdcWork *work, GString *out, const char *table)
{
  for (guint i = 0; i < work->plan->keys->len; i++) {
    g_string_append (out, i ? ", " : "");
    append_column (out, table, 'k', i);
  }
}

static void
append_key_equality (const AutoCdcWork *work, GString *out, const char *tables)
{
  g_auto (GStrv) names = g_strsplit (tables, ",", 2);

  for (guint i = 0; i < work->plan->keys->len; i++)
    g_string_append_printf (out, "%s%s.k%u = %s.k%u", i ? " AND " : "", names[0], i, names[1], i);
}

/* `, <table>.<name>` for each of @names. */
static void
append_names (GString *out, const char *table, const char *const *names, guint n)
{
  for (guint i = 0; i < n; i++)
    g_string_append_printf (out, ", %s%s%s", table ? table : "", table ? "." : "", names[i]);
}

/* One instant of a key, as columns (`o, p`), and of two tables as their equality. */
static void
append_instant (const AutoCdcWork *work, GString *out, const char *table)
{
  g_string_append_printf (out, table ? "%s.o" : "%so", table ? table : "");
  if (work->plan->system_type)
    append_names (out, table, (const char *const[]){ "p" }, 1);
}

static void
append_instant_equality (const AutoCdcWork *work, GString *out, const char *tables)
{
  g_auto (GStrv) names = g_strsplit (tables, ",", 2);

  g_string_append_printf (out, "%s.o = %s.o", names[0], names[1]);
  if (work->plan->system_type)
    g_string_append_printf (out, " AND %s.p = %s.p", names[0], names[1]);
}

static void
append_payload_order (const AutoCdcWork *work, GString *out, const char *table)
{
  for (guint i = 0; i < work->layout->by_name->len; i++) {
    guint field = g_array_index (work->layout->by_name, guint, i);
    g_autoptr (GString) column = g_string_new (NULL);
    g_autofree char *key = NULL;

    append_column (column, table, 'v', field);
    key = relation_tie_key (column->str, autocdc_work_field (work, field)->type);
    g_string_append_printf (out, ", %s DESC", key);
  }
}

/* One placeholder: @name, or @name:@argument. */
static void
append_piece (AutoCdcWork *work, GString *out, const char *name, const char *argument)
{
  const char *piece = argument ? NULL : g_hash_table_lookup (work->pieces, name);

  if (piece) {
    g_string_append (out, piece);
  } else if (g_str_equal (name, "K")) {
    append_keys (work, out, argument);
  } else if (g_str_equal (name, "J")) {
    append_key_equality (work, out, argument);
  } else if (g_str_equal (name, "V")) {
    for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
      g_string_append (out, ", ");
      append_column (out, argument, 'v', i);
    }
  } else if (g_str_equal (name, "tie")) {
    append_payload_order (work, out, argument);
  } else if (g_str_equal (name, "I")) {
    append_instant (work, out, argument);
  } else if (g_str_equal (name, "E")) {
    append_instant_equality (work, out, argument);
  } else if (g_str_equal (name, "Y")) {
    append_names (out, argument, (const char *const[]){ "y", "p" }, work->plan->system_type ? 2 : 0);
  } else if (g_str_equal (name, "W")) {
    append_names (out, argument, autocdc_interval_names, work->plan->system_type ? 4 : 2);
  } else if (g_str_equal (name, "H")) {
    append_names (out, argument, (const char *const[]){ "hs", "ho", "hb", "hg" },
                  autocdc_rows_hold (work->plan) ? 4 : 0);
  } else if (g_str_equal (name, "S") || g_str_equal (name, "Z")) {
    duck_type_append_text (out, *name == 'S' ? work->plan->sequence_type : work->plan->system_type);
  } else if (g_str_equal (name, "O") || g_str_equal (name, "P")) {
    g_autofree char *key =
        relation_order_key (argument, *name == 'O' ? work->plan->sequence_type : work->plan->system_type);

    g_string_append (out, key);
  } else if (g_str_equal (name, "T")) {
    if (work->layout->domain->truncate)
      g_string_append_printf (out, "%s >= %s", argument, (char *) g_hash_table_lookup (work->pieces, "truncate order"));
    else
      g_string_append (out, "true");
  } else {
    g_assert_not_reached ();
  }
}

char *
autocdc_work_text (AutoCdcWork *work, const char *pattern)
{
  GString *out = g_string_sized_new (1024);
  char quote = '\0'; /* names of leaves and literals stand in quotes, and may have braces */

  for (; *pattern; pattern++) {
    if (quote ? *pattern == quote : *pattern == '\'' || *pattern == '"')
      quote = quote ? '\0' : *pattern;
    if (quote || *pattern != '{') {
      g_string_append_c (out, *pattern);
      continue;
    }
    const char *close = strchr (pattern, '}');
    g_autofree char *name = g_strndup (pattern + 1, (gsize) (close - pattern - 1));
    char *colon = strchr (name, ':');

    if (colon)
      *colon = '\0';
    append_piece (work, out, name, colon ? colon + 1 : NULL);
    pattern = close;
  }
  return g_string_free (out, FALSE);
}

static gboolean
make (AutoCdcWork *work, const char *name, const char *pattern, gboolean once, gint64 *n_rows, GError **error)
{
  g_autofree char *select = autocdc_work_text (work, pattern);
  g_autofree char *table = g_strdup_printf ("autocdc_%s_%u", name, work->n_relations++);
  guint64 most = autocdc_kept_bytes (work->batch);
  guint64 room = work->is_large ? 0 : most - MIN (work->kept_bytes, most);
  DuckRows *rows = duck_rows_new (work->session, select, room, table, once, work->cancel, error);

  if (!rows)
    return FALSE;
  g_ptr_array_add (work->relations, rows);
  work->kept_bytes += duck_rows_bytes (rows);
  autocdc_work_set (work, name, duck_rows_relation (rows));
  if (n_rows)
    *n_rows = duck_rows_count (rows);
  return TRUE;
}

gboolean
autocdc_work_make (AutoCdcWork *work, const char *name, const char *pattern, gint64 *n_rows, GError **error)
{
  return make (work, name, pattern, FALSE, n_rows, error);
}

gboolean
autocdc_work_make_once (AutoCdcWork *work, const char *name, const char *pattern, gint64 *n_rows, GError **error)
{
  if (!make (work, name, pattern, TRUE, n_rows, error))
    return FALSE;
  work->is_large = work->is_large || duck_rows_is_table (work->relations->pdata[work->relations->len - 1]);
  return TRUE;
}

gboolean
autocdc_work_has_tables (const AutoCdcWork *work)
{
  for (guint i = 0; i < work->relations->len; i++)
    if (duck_rows_is_table (work->relations->pdata[i]))
      return TRUE;
  return FALSE;
}

void
autocdc_work_define (AutoCdcWork *work, const char *name, const char *pattern)
{
  g_autofree char *select = autocdc_work_text (work, pattern);
  GString *text = g_string_new ("(");

  g_string_append (text, select);
  g_string_append_c (text, ')');
  autocdc_work_take (work, name, text);
}

gboolean
autocdc_work_numbers (AutoCdcWork *work, const char *pattern, gint64 *values, guint n_values, GError **error)
{
  g_autofree char *sql = autocdc_work_text (work, pattern);
  g_autoptr (DuckResult) result = duck_session_query_materialized (work->session, sql, work->cancel, error);
  const DuckChunk *chunk;

  if (!result || !duck_result_next (result, &chunk, error))
    return FALSE;
  for (guint i = 0; i < n_values; i++)
    values[i] = duck_vector_is_null (&chunk->columns[i], 0) ? 0 : duck_vector_int64 (&chunk->columns[i], 0);
  return TRUE;
}

gboolean
autocdc_work_count (AutoCdcWork *work, const char *pattern, gint64 *value, GError **error)
{
  g_autofree char *sql = autocdc_work_text (work, pattern);

  return duck_session_query_int64 (work->session, sql, work->cancel, value, NULL, error);
}

/* Of the rows that {table} has twice. */
static gboolean
count_ties (AutoCdcWork *work, gint64 *n_ties, GError **error)
{
  g_autoptr (GString) hash = g_string_new (NULL);
  gint64 n;

  autocdc_append_hash (work, hash, "f");
  autocdc_work_take (work, "tie hash", g_steal_pointer (&hash));
  if (!autocdc_work_count (work,
                           "SELECT count(*) FROM (SELECT 1 FROM {table} f SEMI JOIN {twice} t ON {J:f,t}{equal names}"
                           " WHERE NOT f.d GROUP BY {K:f}{our names} HAVING min({tie hash}) <> max({tie hash}))",
                           &n, error))
    return FALSE;
  *n_ties += n;
  return TRUE;
}

/* {merged} from {met}. */
static gboolean
merge_fields (AutoCdcWork *work, const char *rest, GError **error)
{
  g_autoptr (GString) values = g_string_new (NULL), flags = g_string_new (NULL);
  guint n = autocdc_work_n_fields (work);

  for (guint i = 0; i < n; i++) {
    g_autofree char *column = g_strdup_printf ("v%u", i);
    g_autofree char *key = relation_tie_key (column, autocdc_work_field (work, i)->type);

    g_string_append_printf (values, ", arg_max_null(v%u, CASE WHEN sluice_bit(b, %u) THEN %s END) AS v%u", i, i, key,
                            i);
    g_string_append_printf (flags, "%sbool_or(sluice_bit(b, %u))", i ? ", " : "sluice_bits(", i);
  }
  g_string_append (flags, n ? ")" : "''::BLOB");
  autocdc_work_set (work, "rest", rest);
  autocdc_work_set (work, "any system", work->plan->system_type ? ", any_value(y) AS y" : "");
  autocdc_work_take (work, "greatest values", g_steal_pointer (&values));
  autocdc_work_take (work, "all flags", g_steal_pointer (&flags));
  return autocdc_work_make (
      work, "merged",
      "SELECT {K}{names}, any_value(s) AS s{any system}, {all flags} AS b{greatest values}{rest} FROM {met}"
      " GROUP BY {K}{names}",
      NULL, error);
}

static void
append_identity (const char *column, GString *names, GString *ours, GString *equal)
{
  g_string_append_printf (names, ", %s", column);
  g_string_append_printf (ours, ", f.%s", column);
  g_string_append_printf (equal, " AND f.%s = t.%s", column, column);
}

gboolean
autocdc_normalise (AutoCdcWork *work, const char *name, const char *const *identity, const char *then, const char *rest,
                   gint64 *n_ties, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL), ours = g_string_new (NULL), equal = g_string_new (NULL);

  for (guint i = 0; identity[i]; i++) {
    if (work->is_partial && g_str_equal (identity[i], "b"))
      continue;
    append_identity (identity[i], names, ours, equal);
    if (work->plan->system_type && g_str_equal (identity[i], "o"))
      append_identity ("p", names, ours, equal);
  }
  autocdc_work_set (work, "table", g_hash_table_lookup (work->pieces, name));
  autocdc_work_set (work, "then", then);
  autocdc_work_take (work, "names", g_steal_pointer (&names));
  autocdc_work_take (work, "our names", g_steal_pointer (&ours));
  autocdc_work_take (work, "equal names", g_steal_pointer (&equal));
  if (!autocdc_work_make (work, "twice", "SELECT {K}{names} FROM {table} GROUP BY {K}{names} HAVING count(*) > 1",
                          &work->n_twice, error))
    return FALSE;
  if (work->n_twice == 0)
    return TRUE;
  if (n_ties && !count_ties (work, n_ties, error))
    return FALSE;
  if (!work->is_partial)
    return autocdc_work_make (work, name,
                              "SELECT f.* FROM {table} f ANTI JOIN {twice} t ON {J:f,t}{equal names} UNION ALL"
                              " SELECT * FROM (SELECT DISTINCT ON ({K:f}{our names}) f.* FROM {table} f"
                              " SEMI JOIN {twice} t ON {J:f,t}{equal names} ORDER BY {K:f}{our names}{tie:f}{then})",
                              NULL, error);
  return autocdc_work_make (work, "met", "SELECT f.* FROM {table} f SEMI JOIN {twice} t ON {J:f,t}{equal names}", NULL,
                            error) &&
         merge_fields (work, rest, error) &&
         autocdc_work_make (work, name,
                            "SELECT f.* FROM {table} f ANTI JOIN {twice} t ON {J:f,t}{equal names}"
                            " UNION ALL BY NAME SELECT * FROM {merged}",
                            NULL, error);
}

/* ---- sets ---- */

void
autocdc_append_set (GString *out, GBytes *set)
{
  gsize size;
  const guint8 *bytes = g_bytes_get_data (set, &size);

  g_string_append_c (out, '\'');
  for (gsize i = 0; i < size; i++)
    g_string_append_printf (out, "\\x%02X", bytes[i]);
  g_string_append (out, "'::BLOB");
}

GBytes *
autocdc_first_fields (guint n)
{
  guint n_bytes = (n + 7) / 8;
  guint8 *bytes = g_new0 (guint8, n_bytes);

  for (guint i = 0; i < n; i++)
    bytes[i / 8] |= (guint8) (1u << (i % 8));
  return g_bytes_new_take (bytes, n_bytes);
}

gboolean
autocdc_set_has (GBytes *set, guint index)
{
  gsize size;
  const guint8 *bytes = g_bytes_get_data (set, &size);

  return index / 8 < size && (bytes[index / 8] >> (index % 8) & 1);
}

AutoCdcAuthored
autocdc_work_authored (const AutoCdcWork *work, guint index)
{
  guint n = 0;

  if (work->is_partial)
    return work->authored ? work->authored[index] : AUTOCDC_AUTHORED_SOMETIMES;
  for (guint i = 0; i < work->sets->len; i++)
    n += autocdc_set_has (work->sets->pdata[i], index) ? 1 : 0;
  return n == 0 ? AUTOCDC_AUTHORED_NEVER : n == work->sets->len ? AUTOCDC_AUTHORED_ALWAYS : AUTOCDC_AUTHORED_SOMETIMES;
}

void
autocdc_append_authors (const AutoCdcWork *work, GString *out, guint index, const char *column)
{
  AutoCdcAuthored authored = autocdc_work_authored (work, index);
  guint n = 0;

  if (authored != AUTOCDC_AUTHORED_SOMETIMES) {
    g_string_append (out, authored == AUTOCDC_AUTHORED_ALWAYS ? "true" : "false");
    return;
  }
  if (work->is_partial) { /* as many sets as there are events, perhaps */
    g_string_append_printf (out, "sluice_bit(%s, %u)", column, index);
    return;
  }
  g_string_append_printf (out, "%s IN (", column);
  for (guint i = 0; i < work->sets->len; i++) {
    if (!autocdc_set_has (work->sets->pdata[i], index))
      continue;
    g_string_append (out, n++ ? ", " : "");
    autocdc_append_set (out, work->sets->pdata[i]);
  }
  g_string_append_c (out, ')');
}

void
autocdc_append_same (const AutoCdcWork *work, GString *out, guint index, const char *a, const char *b)
{
  const BaseType *type = autocdc_work_field (work, index)->type;
  g_autofree char *x = g_strdup_printf ("%s.v%u", a, index), *y = g_strdup_printf ("%s.v%u", b, index);

  if (base_type_is_nested (type) || base_type_kind (type) == BASE_TYPE_VARIANT) {
    g_autofree char *x_key = relation_tie_key (x, type), *y_key = relation_tie_key (y, type);

    g_string_append_printf (out, "%s = %s", x_key, y_key);
    return;
  }
  g_string_append_printf (out, "%s IS NOT DISTINCT FROM %s", x, y);
}

void
autocdc_set_shows (AutoCdcWork *work, const char *fact)
{
  g_autoptr (GString) shows = g_string_new ("true");
  g_autofree char *set = g_strconcat (fact, ".b", NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    if (autocdc_work_authored (work, i) == AUTOCDC_AUTHORED_NEVER)
      continue;
    g_string_append (shows, " AND (NOT ");
    autocdc_append_authors (work, shows, i, set);
    g_string_append (shows, " OR ");
    autocdc_append_same (work, shows, i, fact, "n");
    g_string_append_c (shows, ')');
  }
  autocdc_work_take (work, "shows", g_steal_pointer (&shows));
}

/* Values that are the same have the same hash: entries of maps may be in any order. */
void
autocdc_append_hash (const AutoCdcWork *work, GString *out, const char *table)
{
  guint n = autocdc_work_n_fields (work);

  for (guint i = 0; i < n; i++) {
    const BaseType *type = autocdc_work_field (work, i)->type;
    g_autofree char *column = g_strdup_printf ("%s.v%u", table, i);
    g_autofree char *key = base_type_holds (type, BASE_TYPE_MAP) ? relation_tie_key (column, type) : NULL;

    g_string_append_printf (out, "%s%s", i ? ", " : "(hash(", key ? key : column);
  }
  g_string_append (out, n ? ") >> 1)::BIGINT" : "0::BIGINT");
}

void
autocdc_set_no_values (AutoCdcWork *work)
{
  g_autoptr (GString) nulls = g_string_new (NULL);

  for (guint i = 0; i < autocdc_work_n_fields (work); i++) {
    g_string_append (nulls, ", NULL::");
    duck_type_append_text (nulls, autocdc_work_field (work, i)->type);
    g_string_append_printf (nulls, " AS v%u", i);
  }
  autocdc_work_take (work, "no values", g_steal_pointer (&nulls));
}

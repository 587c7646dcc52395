/* Arrays and maps with Spark's rules for NULL elements, equality of NaN and duplicate keys.
 *
 * Values are copied and compared by their physical kind; two elements are equal when both are NULL, or equal with NaN = NaN and
 * -0.0 = 0.0. Sets are trees over that order.
 */
#include "relation-kernel-private.h"

#include <math.h>
#include <string.h>

/* ---- values ---- */

static void
copy_value (const DuckVector *in, guint64 row, DuckVector *out, guint64 out_row)
{
  if (in->kind == DUCK_KIND_NULL || duck_vector_is_null (in, row)) {
    duck_vector_set_null (out, out_row);
    return;
  }
  switch (in->kind) {
  case DUCK_KIND_VARCHAR:
  case DUCK_KIND_BLOB: {
    gsize size;
    const char *text = duck_vector_string (in, row, &size);
    duck_vector_set_string (out, out_row, text, size);
    break;
  }
  case DUCK_KIND_STRUCT:
    for (guint i = 0; i < in->n_children; i++)
      copy_value (&in->children[i], row, &out->children[i], out_row);
    break;
  case DUCK_KIND_LIST:
  case DUCK_KIND_MAP: {
    DuckListEntry entry = duck_vector_list (in, row);
    guint64 start = duck_vector_set_list (out, out_row, entry.length);
    for (guint64 i = 0; i < entry.length; i++)
      for (guint c = 0; c < in->n_children; c++)
        copy_value (&in->children[c], entry.offset + i, &out->children[c], start + i);
    break;
  }
  default:
    memcpy ((char *) out->data + out_row * out->bytes, (const char *) in->data + row * in->bytes, in->bytes);
    break;
  }
}

static int
compare_doubles (double a, double b)
{
  if (isnan (a) || isnan (b))
    return isnan (a) - isnan (b);
  return a < b ? -1 : a > b;
}

/* The total order: NULL first, NaN last, text by bytes, nested values part by part. */
static int
compare_values (const DuckVector *a, guint64 i, const DuckVector *b, guint64 k)
{
  gboolean null_a = a->kind == DUCK_KIND_NULL || duck_vector_is_null (a, i);
  gboolean null_b = b->kind == DUCK_KIND_NULL || duck_vector_is_null (b, k);
  if (null_a || null_b)
    return (int) null_b - (int) null_a;
  switch (a->kind) {
  case DUCK_KIND_FLOAT:
  case DUCK_KIND_DOUBLE:
    return compare_doubles (duck_vector_double (a, i), duck_vector_double (b, k));
  case DUCK_KIND_VARCHAR:
  case DUCK_KIND_BLOB: {
    gsize n, m;
    const char *x = duck_vector_string (a, i, &n);
    const char *y = duck_vector_string (b, k, &m);
    int order = memcmp (x, y, MIN (n, m));
    return order != 0 ? order : n < m ? -1 : n > m;
  }
  case DUCK_KIND_STRUCT:
    for (guint c = 0; c < a->n_children; c++) {
      int order = compare_values (&a->children[c], i, &b->children[c], k);
      if (order != 0)
        return order;
    }
    return 0;
  case DUCK_KIND_LIST:
  case DUCK_KIND_MAP: {
    DuckListEntry x = duck_vector_list (a, i), y = duck_vector_list (b, k);
    for (guint64 e = 0; e < MIN (x.length, y.length); e++)
      for (guint c = 0; c < a->n_children; c++) {
        int order = compare_values (&a->children[c], x.offset + e, &b->children[c], y.offset + e);
        if (order != 0)
          return order;
      }
    return x.length < y.length ? -1 : x.length > y.length;
  }
  case DUCK_KIND_INTERVAL: {
    DuckInterval x = duck_vector_interval (a, i), y = duck_vector_interval (b, k);
    return memcmp (&x, &y, sizeof x);
  }
  default: {
    RelationInt128 x = duck_vector_int128 (a, i), y = duck_vector_int128 (b, k);
    return x < y ? -1 : x > y;
  }
  }
}

static gboolean
is_null_at (const DuckVector *vector, guint64 row)
{
  return vector->kind == DUCK_KIND_NULL || duck_vector_is_null (vector, row);
}

static gboolean
has_null (const DuckVector *vector, DuckListEntry entry)
{
  guint64 i = 0;
  while (i < entry.length && !is_null_at (vector, entry.offset + i))
    i++;
  return i < entry.length;
}

#define MAX_ELEMENTS 10000000

static gboolean
check_length (RelationInt128 n, GError **error)
{
  return n <= MAX_ELEMENTS ||
         base_error_set (error, SLUICE_ERROR_OUT_OF_MEMORY, "an array would have more than %d elements", MAX_ELEMENTS);
}

/* ---- an index of the elements seen, in order of first appearance ---- */

typedef struct {
  const DuckVector *vector;
  guint64 row;
} Element;

static int
compare_elements (gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
  const Element *x = a, *y = b;
  return compare_values (x->vector, x->row, y->vector, y->row);
}

static GTree *
element_set (void)
{
  return g_tree_new_full (compare_elements, NULL, g_free, NULL);
}

/* Returns: TRUE when the element was not there. */
static gboolean
set_add (GTree *set, const DuckVector *vector, guint64 row)
{
  Element element = { vector, row };
  if (g_tree_lookup_extended (set, &element, NULL, NULL))
    return FALSE;
  g_tree_insert (set, g_memdup2 (&element, sizeof element), set);
  return TRUE;
}

static gboolean
set_holds (GTree *set, const DuckVector *vector, guint64 row)
{
  Element element = { vector, row };
  return g_tree_lookup_extended (set, &element, NULL, NULL);
}

static void
set_unref (GTree *set)
{
  g_tree_unref (set);
}
typedef GTree ElementSet;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ElementSet, set_unref)

/* Collects rows of children and writes them as one list. */
static void
write_elements (DuckVector *result, guint row, const GArray *elements)
{
  guint64 start = duck_vector_set_list (result, row, elements->len);
  for (guint i = 0; i < elements->len; i++) {
    const Element *element = &g_array_index (elements, Element, i);
    if (element->vector == NULL)
      duck_vector_set_null (&result->children[0], start + i);
    else
      copy_value (element->vector, element->row, &result->children[0], start + i);
  }
}

static void
add_element (GArray *elements, const DuckVector *vector, guint64 row)
{
  Element element = { vector, row };
  g_array_append_val (elements, element);
}

static void
add_elements (GArray *elements, const DuckVector *vector, DuckListEntry entry)
{
  for (guint64 i = 0; i < entry.length; i++)
    add_element (elements, vector, entry.offset + i);
}

typedef GArray Elements;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Elements, g_array_unref)

static GArray *
elements_new (void)
{
  return g_array_new (FALSE, FALSE, sizeof (Element));
}

/* ---- items ---- */

typedef enum { ITEM_ORDINAL, ITEM_INDEX, ITEM_GET, ITEM_TRY } ItemMode;

/* (list, index, mode): element_at counts from 1, x[i] and get() from 0 */
static gboolean
item_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    gint64 index = duck_vector_int64 (&call->args[1], row), n = (gint64) entry.length;
    ItemMode mode = (ItemMode) duck_vector_int64 (&call->args[2], row);
    gint64 at = index;
    if (mode == ITEM_ORDINAL || mode == ITEM_TRY) {
      if (index == 0)
        return base_error_set (error, SLUICE_ERROR_INVALID_INDEX_OF_ZERO,
                               "the index 0 is invalid; elements count from 1 or -1");
      at = index > 0 ? index - 1 : n + index;
    }
    if (at >= 0 && at < n) {
      copy_value (&call->args[0].children[0], entry.offset + (guint64) at, call->result, row);
      continue;
    }
    if (mode == ITEM_ORDINAL)
      return base_error_set (error, SLUICE_ERROR_INVALID_ARRAY_INDEX_IN_ELEMENT_AT,
                             "the index %" G_GINT64_FORMAT " is out of bounds of an array of %" G_GINT64_FORMAT
                             "; try_element_at gives NULL instead",
                             index, n);
    if (mode == ITEM_INDEX)
      return base_error_set (error, SLUICE_ERROR_INVALID_ARRAY_INDEX,
                             "the index %" G_GINT64_FORMAT " is out of bounds of an array of %" G_GINT64_FORMAT
                             "; get() gives NULL instead",
                             index, n);
    duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

/* (n, list): elt */
static gboolean
elt_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry entry = duck_vector_list (&call->args[1], row);
    gint64 index = duck_vector_int64 (&call->args[0], row);
    if (index < 1 || index > (gint64) entry.length)
      return base_error_set (error, SLUICE_ERROR_INVALID_ARRAY_INDEX, "the index %" G_GINT64_FORMAT " is out of bounds",
                             index);
    copy_value (&call->args[1].children[0], entry.offset + (guint64) index - 1, call->result, row);
  }
  return TRUE;
}

/* ---- searching ---- */

/* Number of the first element (key of a map) of argument 0 that equals argument 1, counted from 1; 0 = none. */
static guint64
find_element (const DuckKernelCall *call, guint row)
{
  DuckListEntry entry = duck_vector_list (&call->args[0], row);
  const DuckVector *child = &call->args[0].children[0];
  for (guint64 i = 0; i < entry.length; i++)
    if (!is_null_at (child, entry.offset + i) && compare_values (child, entry.offset + i, &call->args[1], row) == 0)
      return i + 1;
  return 0;
}

static gboolean
contains_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gboolean found = find_element (call, row) > 0;
    if (!found && has_null (&call->args[0].children[0], duck_vector_list (&call->args[0], row)))
      duck_vector_set_null (call->result, row);
    else
      duck_vector_set (call->result, guint8, row, (guint8) found);
  }
  return TRUE;
}

static gboolean
position_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++)
    duck_vector_set (call->result, gint64, row, (gint64) find_element (call, row));
  return TRUE;
}

static gboolean
overlap_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    g_autoptr (ElementSet) set = element_set ();
    DuckListEntry a = duck_vector_list (&call->args[0], row), b = duck_vector_list (&call->args[1], row);
    const DuckVector *in_a = &call->args[0].children[0], *in_b = &call->args[1].children[0];
    gboolean found = FALSE;
    for (guint64 i = 0; i < a.length; i++)
      if (!is_null_at (in_a, a.offset + i))
        set_add (set, in_a, a.offset + i);
    for (guint64 i = 0; i < b.length && !found; i++)
      found = !is_null_at (in_b, b.offset + i) && set_holds (set, in_b, b.offset + i);
    if (!found && a.length > 0 && b.length > 0 && (has_null (in_a, a) || has_null (in_b, b)))
      duck_vector_set_null (call->result, row);
    else
      duck_vector_set (call->result, guint8, row, (guint8) found);
  }
  return TRUE;
}

/* ---- sets; (list[, list]) ---- */

enum { SET_DISTINCT, SET_UNION, SET_INTERSECT, SET_EXCEPT };

static gboolean
set_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  guint op = call->variant;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    g_autoptr (ElementSet) seen = element_set ();
    g_autoptr (ElementSet) other = element_set ();
    g_autoptr (Elements) elements = elements_new ();
    if (op == SET_INTERSECT || op == SET_EXCEPT) {
      DuckListEntry b = duck_vector_list (&call->args[1], row);
      for (guint64 i = 0; i < b.length; i++)
        set_add (other, &call->args[1].children[0], b.offset + i);
    }
    for (guint arg = 0; arg < (op == SET_UNION ? 2 : 1); arg++) {
      DuckListEntry entry = duck_vector_list (&call->args[arg], row);
      const DuckVector *child = &call->args[arg].children[0];
      for (guint64 at = entry.offset; at < entry.offset + entry.length; at++) {
        if ((op == SET_INTERSECT && !set_holds (other, child, at)) ||
            (op == SET_EXCEPT && set_holds (other, child, at)))
          continue;
        if (set_add (seen, child, at))
          add_element (elements, child, at);
      }
    }
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

/* ---- changing ---- */

/* (list, element): without it; NULL elements stay */
static gboolean
remove_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    g_autoptr (Elements) elements = elements_new ();
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    const DuckVector *child = &call->args[0].children[0];
    for (guint64 i = 0; i < entry.length; i++)
      if (is_null_at (child, entry.offset + i) || compare_values (child, entry.offset + i, &call->args[1], row) != 0)
        add_element (elements, child, entry.offset + i);
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

/* (list, element, before?) */
static gboolean
append_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    if (duck_vector_is_null (&call->args[0], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    g_autoptr (Elements) elements = elements_new ();
    gboolean before = duck_vector_bool (&call->args[2], row);
    if (before)
      add_element (elements, &call->args[1], row);
    add_elements (elements, &call->args[0].children[0], duck_vector_list (&call->args[0], row));
    if (!before)
      add_element (elements, &call->args[1], row);
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

/* (list, position, element): positions from 1, or from the end where -1 is behind the last */
static gboolean
insert_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    if (duck_vector_is_null (&call->args[0], row) || duck_vector_is_null (&call->args[1], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    g_autoptr (Elements) elements = elements_new ();
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    const DuckVector *child = &call->args[0].children[0];
    gint64 n = (gint64) entry.length, position = duck_vector_int64 (&call->args[1], row);
    if (position == 0)
      return base_error_set (error, SLUICE_ERROR_INVALID_INDEX_OF_ZERO,
                             "the index 0 is invalid; elements count from 1 or -1");
    gint64 at = position > 0 ? position - 1 : n + position + 1;
    if (!check_length (ABS ((RelationInt128) at) + n, error))
      return FALSE;
    if (at < 0) {
      add_element (elements, &call->args[2], row);
      for (gint64 i = at; i < 0; i++)
        add_element (elements, NULL, 0);
      at = -1;
    }
    for (gint64 i = 0; i < MAX (n, at); i++) {
      if (i == at)
        add_element (elements, &call->args[2], row);
      add_element (elements, i < n ? child : NULL, entry.offset + (guint64) i);
    }
    if (at >= n)
      add_element (elements, &call->args[2], row);
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

/* (element, n) */
static gboolean
repeat_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    if (duck_vector_is_null (&call->args[1], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    gint64 n = MAX (duck_vector_int64 (&call->args[1], row), 0);
    if (!check_length (n, error))
      return FALSE;
    guint64 start = duck_vector_set_list (call->result, row, (guint64) n);
    for (gint64 i = 0; i < n; i++)
      copy_value (&call->args[0], row, &call->result->children[0], start + (guint64) i);
  }
  return TRUE;
}

/* (list, start, length) */
static gboolean
slice_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    gint64 n = (gint64) entry.length;
    gint64 start = duck_vector_int64 (&call->args[1], row), length = duck_vector_int64 (&call->args[2], row);
    if (start == 0)
      return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_START, "the start of slice must not be 0");
    if (length < 0)
      return base_error_set (error, SLUICE_ERROR_INVALID_PARAMETER_VALUE_LENGTH,
                             "the length of slice must not be negative");
    gint64 from = start > 0 ? start - 1 : n + start;
    if (from < 0 || from >= n)
      from = length = 0;
    DuckListEntry part = { entry.offset + (guint64) from, (guint64) MIN (length, n - from) };
    g_autoptr (Elements) elements = elements_new ();
    add_elements (elements, &call->args[0].children[0], part);
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

/* A list of lists; a NULL inside gives NULL. */
static gboolean
flatten_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    const DuckVector *inner = &call->args[0].children[0];
    g_autoptr (Elements) elements = elements_new ();
    if (has_null (inner, entry)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    for (guint64 i = 0; i < entry.length; i++) {
      DuckListEntry part = duck_vector_list (inner, entry.offset + i);
      if (!check_length ((RelationInt128) elements->len + part.length, error))
        return FALSE;
      add_elements (elements, &inner->children[0], part);
    }
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

static int
compare_null_last (gconstpointer a, gconstpointer b, gpointer data)
{
  const Element *x = a, *y = b;
  const gint *mode = data; /* 1: NULL last; -1: descending, NULL last */
  gboolean null_x = is_null_at (x->vector, x->row), null_y = is_null_at (y->vector, y->row);
  if (null_x || null_y)
    return (int) null_x - (int) null_y;
  return *mode * compare_values (x->vector, x->row, y->vector, y->row);
}

/* (list, mode): 0 ascending with NULL first, 1 ascending with NULL last, -1 descending with NULL last. Stable. */
static gboolean
sort_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gint mode = (gint) duck_vector_int64 (&call->args[1], row);
    g_autoptr (Elements) elements = elements_new ();
    add_elements (elements, &call->args[0].children[0], duck_vector_list (&call->args[0], row));
    g_array_sort_with_data (elements, mode == 0 ? compare_elements : compare_null_last, &mode);
    write_elements (call->result, row, elements);
  }
  return TRUE;
}

/* (list, largest?): NULL elements are skipped */
static gboolean
extreme_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    const DuckVector *child = &call->args[0].children[0];
    gboolean largest = duck_vector_bool (&call->args[1], row);
    gint64 best = -1;
    for (guint64 i = entry.offset; i < entry.offset + entry.length; i++) {
      if (is_null_at (child, i))
        continue;
      int order = best < 0 ? 1 : compare_values (child, i, child, (guint64) best);
      if (best < 0 || (largest ? order > 0 : order < 0))
        best = (gint64) i;
    }
    if (best < 0)
      duck_vector_set_null (call->result, row);
    else
      copy_value (child, (guint64) best, call->result, row);
  }
  return TRUE;
}

/* (list of strings, delimiter, replacement of NULL) */
static gboolean
join_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; row < call->n_rows; row++) {
    if (is_null_at (&call->args[0], row) || is_null_at (&call->args[1], row)) {
      duck_vector_set_null (call->result, row);
      continue;
    }
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    const DuckVector *child = &call->args[0].children[0];
    gboolean keep_null = call->n_args == 3 && !is_null_at (&call->args[2], row);
    gsize n, m = 0, size = 0;
    const char *delimiter = duck_vector_string (&call->args[1], row, &n);
    const char *by = keep_null ? duck_vector_string (&call->args[2], row, &m) : NULL;
    g_autoptr (GString) out = g_string_new (NULL);
    gboolean first = TRUE;
    for (guint64 i = entry.offset; i < entry.offset + entry.length; i++) {
      gboolean is_null = is_null_at (child, i);
      if (is_null && !keep_null)
        continue;
      const char *text = is_null ? by : duck_vector_string (child, i, &size);
      if (!first)
        g_string_append_len (out, delimiter, (gssize) n);
      g_string_append_len (out, text, (gssize) (is_null ? m : size));
      first = FALSE;
    }
    relation_vector_set_gstring (call->result, row, out);
  }
  return TRUE;
}

/* (separator, list): concat_ws, NULL elements left out */
static gboolean
concat_ws_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  DuckKernelCall swapped = *call;
  DuckVector args[2] = { call->args[1], call->args[0] };
  swapped.args = args;
  swapped.n_args = 2;
  return join_run (&swapped, error);
}

/* ---- maps ---- */

/* Writes @n entries, from @key and @value on; keys are not NULL and differ. */
static gboolean
write_map (DuckVector *result, guint row, Element key, Element value, guint64 n, GError **error)
{
  g_autoptr (ElementSet) seen = element_set ();
  for (guint64 i = 0; i < n; i++) {
    if (is_null_at (key.vector, key.row + i))
      return base_error_set (error, SLUICE_ERROR_NULL_MAP_KEY, "NULL is no key of a map");
    if (!set_add (seen, key.vector, key.row + i))
      return base_error_set (error, SLUICE_ERROR_DUPLICATED_MAP_KEY, "a key occurs twice in a map");
  }
  guint64 start = duck_vector_set_list (result, row, n);
  for (guint64 i = 0; i < n; i++) {
    copy_value (key.vector, key.row + i, &result->children[0], start + i);
    copy_value (value.vector, value.row + i, &result->children[1], start + i);
  }
  return TRUE;
}

/* (keys, values) */
static gboolean
map_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry keys = duck_vector_list (&call->args[0], row), values = duck_vector_list (&call->args[1], row);
    if (keys.length != values.length)
      return base_error_set (error, SLUICE_ERROR_EXECUTION_ERROR, "a map needs as many keys as values");
    Element key = { &call->args[0].children[0], keys.offset }, value = { &call->args[1].children[0], values.offset };
    if (!write_map (call->result, row, key, value, keys.length, error))
      return FALSE;
  }
  return TRUE;
}

/* (list of structs key, value): a NULL struct gives NULL */
static gboolean
map_from_entries_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    DuckListEntry entry = duck_vector_list (&call->args[0], row);
    const DuckVector *item = &call->args[0].children[0];
    Element key = { &item->children[0], entry.offset }, value = { &item->children[1], entry.offset };
    if (has_null (item, entry))
      duck_vector_set_null (call->result, row);
    else if (!write_map (call->result, row, key, value, entry.length, error))
      return FALSE;
  }
  return TRUE;
}

/* (map, key): the value, NULL when the key is not there */
static gboolean
map_value_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    guint64 number = find_element (call, row);
    if (number > 0)
      copy_value (&call->args[0].children[1], duck_vector_list (&call->args[0], row).offset + number - 1, call->result,
                  row);
    else
      duck_vector_set_null (call->result, row);
  }
  return TRUE;
}

static gboolean
map_has_key_run (const DuckKernelCall *call, G_GNUC_UNUSED GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++)
    duck_vector_set (call->result, guint8, row, find_element (call, row) > 0);
  return TRUE;
}

/* ---- sequences of whole numbers: (start, stop, step; 0 = by the direction, and then @4 tells that 0 was not given) ---- */

static gboolean
sequence_run (const DuckKernelCall *call, GError **error)
{
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    RelationInt128 start = duck_vector_int64 (&call->args[0], row), stop = duck_vector_int64 (&call->args[1], row);
    RelationInt128 step = duck_vector_int64 (&call->args[2], row);
    if (duck_vector_bool (&call->args[3], row))
      step = start <= stop ? 1 : -1;
    if ((step == 0 && start != stop) || (step > 0 && start > stop) || (step < 0 && start < stop))
      return base_error_set (error, SLUICE_ERROR_ILLEGAL_SEQUENCE_BOUNDARIES,
                             "the step of a sequence leads away from its end");
    RelationInt128 n = step == 0 ? 1 : (stop - start) / step + 1;
    if (!check_length (n, error))
      return FALSE;
    guint64 first = duck_vector_set_list (call->result, row, (guint64) n);
    for (RelationInt128 i = 0; i < n; i++)
      duck_vector_set_int128 (&call->result->children[0], first + (guint64) i, start + i * step);
  }
  return TRUE;
}

/* (start, stop, months, us, zone): dates and wall clocks use zone ''. Elements are start + k steps. */
static gboolean
time_sequence_run (const DuckKernelCall *call, GError **error)
{
  RelationKernels *kernels = call->user_data;
  for (guint row = 0; duck_kernel_next (call, &row); row++) {
    gboolean dates = call->args[0].kind == DUCK_KIND_DATE;
    gint64 unit = dates ? RELATION_US_PER_DAY : 1;
    gint64 start = duck_vector_int64 (&call->args[0], row) * unit,
           stop = duck_vector_int64 (&call->args[1], row) * unit;
    gint64 months = duck_vector_int64 (&call->args[2], row), us = duck_vector_int64 (&call->args[3], row);
    gsize size;
    const char *name = duck_vector_string (&call->args[4], row, &size);
    const RelationZone *zone = relation_zones_get (kernels->zones, size > 0 ? name : "UTC", size > 0 ? size : 3, error);
    if (zone == NULL)
      return FALSE;
    if (months == 0 && us == 0)
      us = start <= stop ? RELATION_US_PER_DAY : -RELATION_US_PER_DAY; /* no step given, or none at all */
    gboolean forward = months > 0 || (months == 0 && us > 0);
    if (start != stop && forward != (start < stop))
      return base_error_set (error, SLUICE_ERROR_ILLEGAL_SEQUENCE_BOUNDARIES,
                             "the step of a sequence leads away from its end");
    g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (gint64));
    gint64 wall = relation_zone_to_wall (zone, start);
    gint64 day_part = us % RELATION_US_PER_DAY == 0 ? us / RELATION_US_PER_DAY : 0;
    for (gint64 k = 0;; k++) {
      gint64 day = relation_floor_div (wall, RELATION_US_PER_DAY), rest = wall - day * RELATION_US_PER_DAY;
      gint64 value;
      if (months != 0 || day_part != 0)
        value = relation_zone_to_instant (
                    zone, (relation_civil_add_months (day, months * k) + day_part * k) * RELATION_US_PER_DAY + rest) +
                (day_part != 0 ? 0 : us * k);
      else
        value = start + us * k;
      if (forward ? value > stop : value < stop)
        break;
      g_array_append_val (values, value);
      if (!check_length (values->len, error))
        return FALSE;
    }
    guint64 first = duck_vector_set_list (call->result, row, values->len);
    for (guint i = 0; i < values->len; i++)
      duck_vector_set_int128 (&call->result->children[0], first + i, g_array_index (values, gint64, i) / unit);
  }
  return TRUE;
}

#define NULLS DUCK_KERNEL_NULLS

/* ---- bit sets ---- */

/* sluice_bits(flag 0, flag 1, …): bit i of byte i / 8 for flag i, without zero bytes at the end. */
static gboolean
bits_run (const DuckKernelCall *call, GError **error G_GNUC_UNUSED)
{
  g_autofree char *bytes = g_malloc0 (call->n_args / 8 + 1);
  for (guint row = 0; row < call->n_rows; row++) {
    gsize size = 0;
    memset (bytes, 0, call->n_args / 8 + 1);
    for (guint i = 0; i < call->n_args; i++) {
      if (duck_vector_is_null (&call->args[i], row) || !duck_vector_bool (&call->args[i], row))
        continue;
      bytes[i / 8] = (char) ((guint8) bytes[i / 8] | 1u << (i % 8));
      size = i / 8 + 1;
    }
    duck_vector_set_string (call->result, row, bytes, size);
  }
  return TRUE;
}

/* sluice_bit(set, i): whether a set of sluice_bits() has flag i; FALSE for NULL. */
static gboolean
bit_run (const DuckKernelCall *call, GError **error G_GNUC_UNUSED)
{
  for (guint row = 0; row < call->n_rows; row++) {
    gboolean has = FALSE;
    if (!duck_vector_is_null (&call->args[0], row) && !duck_vector_is_null (&call->args[1], row)) {
      gsize size;
      const char *bytes = duck_vector_string (&call->args[0], row, &size);
      gint64 bit = duck_vector_int64 (&call->args[1], row);
      has = bit >= 0 && (gsize) bit / 8 < size && ((guint8) bytes[bit / 8] >> (bit % 8) & 1);
    }
    duck_vector_set (call->result, guint8, row, (guint8) has);
  }
  return TRUE;
}

const DuckKernel *
relation_kernel_rows_list (guint *n)
{
  static const DuckKernel rows[] = {
    { .name = "sluice_item", .args = { "ANY", "BIGINT", "INTEGER" }, .run = item_run },
    { .name = "sluice_elt", .args = { "INTEGER", "VARCHAR[]" }, .result = "VARCHAR", .run = elt_run },
    { .name = "sluice_array_contains", .args = { "ANY", "ANY" }, .result = "BOOLEAN", .run = contains_run },
    { .name = "sluice_array_position", .args = { "ANY", "ANY" }, .result = "BIGINT", .run = position_run },
    { .name = "sluice_arrays_overlap", .args = { "ANY", "ANY" }, .result = "BOOLEAN", .run = overlap_run },
    { .name = "sluice_array_distinct", .args = { "ANY" }, .run = set_run, .variant = SET_DISTINCT },
    { .name = "sluice_array_union", .args = { "ANY", "ANY" }, .run = set_run, .variant = SET_UNION },
    { .name = "sluice_array_intersect", .args = { "ANY", "ANY" }, .run = set_run, .variant = SET_INTERSECT },
    { .name = "sluice_array_except", .args = { "ANY", "ANY" }, .run = set_run, .variant = SET_EXCEPT },
    { .name = "sluice_array_remove", .args = { "ANY", "ANY" }, .run = remove_run },
    { .name = "sluice_array_append", .args = { "ANY", "ANY", "BOOLEAN" }, .flags = NULLS, .run = append_run },
    { .name = "sluice_array_insert", .args = { "ANY", "INTEGER", "ANY" }, .flags = NULLS, .run = insert_run },
    { .name = "sluice_array_repeat", .args = { "ANY", "INTEGER" }, .flags = NULLS, .run = repeat_run },
    { .name = "sluice_slice", .args = { "ANY", "INTEGER", "INTEGER" }, .run = slice_run },
    { .name = "sluice_flatten", .args = { "ANY" }, .run = flatten_run },
    { .name = "sluice_array_sort", .args = { "ANY", "INTEGER" }, .run = sort_run },
    { .name = "sluice_array_extreme", .args = { "ANY", "BOOLEAN" }, .run = extreme_run },
    { .name = "sluice_array_join",
      .args = { "VARCHAR[]", "VARCHAR", "VARCHAR" },
      .result = "VARCHAR",
      .flags = NULLS,
      .run = join_run },
    { .name = "sluice_concat_ws",
      .args = { "VARCHAR", "VARCHAR[]" },
      .result = "VARCHAR",
      .flags = NULLS,
      .run = concat_ws_run },
    { .name = "sluice_bits",
      .args = { NULL },
      .varargs = "BOOLEAN",
      .result = "BLOB",
      .flags = NULLS,
      .run = bits_run },
    { .name = "sluice_bit", .args = { "BLOB", "INTEGER" }, .result = "BOOLEAN", .flags = NULLS, .run = bit_run },
    { .name = "sluice_map", .args = { "ANY", "ANY" }, .run = map_run },
    { .name = "sluice_map_from_entries", .args = { "ANY" }, .run = map_from_entries_run },
    { .name = "sluice_map_value", .args = { "ANY", "ANY" }, .run = map_value_run },
    { .name = "sluice_map_has_key", .args = { "ANY", "ANY" }, .result = "BOOLEAN", .run = map_has_key_run },
    { .name = "sluice_sequence", .args = { "BIGINT", "BIGINT", "BIGINT", "BOOLEAN" }, .run = sequence_run },
    { .name = "sluice_time_sequence",
      .args = { "ANY", "ANY", "INTEGER", "BIGINT", "VARCHAR" },
      .run = time_sequence_run },
  };
  *n = G_N_ELEMENTS (rows);
  return rows;
}

/* Memory of bound trees: small blocks that are freed all at once, and objects released with them. */
#include "relation-tree-private.h"

#include <string.h>

#define BLOCK_BYTES 8192

typedef struct {
  gpointer object;
  GDestroyNotify release;
} Kept;

struct RelationArena {
  gint ref_count;
  GPtrArray *blocks;
  char *next;
  gsize left;
  GArray *kept;
};

RelationArena *
relation_arena_new (void)
{
  RelationArena *arena = g_new0 (RelationArena, 1);

  arena->ref_count = 1;
  arena->blocks = g_ptr_array_new_with_free_func (g_free);
  arena->kept = g_array_new (FALSE, FALSE, sizeof (Kept));
  return arena;
}

RelationArena *
relation_arena_ref (RelationArena *arena)
{
  g_atomic_int_inc (&arena->ref_count);
  return arena;
}

void
relation_arena_unref (RelationArena *arena)
{
  if (arena == NULL || !g_atomic_int_dec_and_test (&arena->ref_count))
    return;
  for (guint i = arena->kept->len; i > 0; i--) {
    Kept *kept = &g_array_index (arena->kept, Kept, i - 1);
    kept->release (kept->object);
  }
  g_array_unref (arena->kept);
  g_ptr_array_unref (arena->blocks);
  g_free (arena);
}

gpointer
relation_arena_alloc (RelationArena *arena, gsize size)
{
  gpointer result;

  size = (size + 15) & ~(gsize) 15;
  if (size > BLOCK_BYTES / 4) {
    result = g_malloc0 (size);
    g_ptr_array_add (arena->blocks, result);
    return result;
  }
  if (arena->left < size) {
    arena->next = g_malloc0 (BLOCK_BYTES);
    arena->left = BLOCK_BYTES;
    g_ptr_array_add (arena->blocks, arena->next);
  }
  result = arena->next;
  arena->next += size;
  arena->left -= size;
  return result;
}

char *
relation_arena_strdup (RelationArena *arena, const char *text)
{
  gsize size;
  char *copy;

  if (text == NULL)
    return NULL;
  size = strlen (text) + 1;
  copy = relation_arena_alloc (arena, size);
  memcpy (copy, text, size);
  return copy;
}

void
relation_arena_keep (RelationArena *arena, gpointer object, GDestroyNotify release)
{
  Kept kept = { object, release };

  g_array_append_val (arena->kept, kept);
}

BaseType *
relation_arena_keep_type (RelationArena *arena, BaseType *type)
{
  if (type != NULL)
    relation_arena_keep (arena, type, (GDestroyNotify) base_type_unref);
  return type;
}

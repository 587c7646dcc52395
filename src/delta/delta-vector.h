/* Deletion vectors: sets of physical row positions of one file.
 *
 * Forms (PROTOCOL.md "Deletion Vector Format"):
 *   data:  4 bytes little-endian magic 1681511377, 8 bytes count, then per entry 4 bytes key (high half of the position, top
 *          bit 0, ascending) and a portable 32-bit roaring bitmap
 *   file:  1 byte version 1, then per vector 4 bytes big-endian size, the data, 4 bytes big-endian CRC-32 of the data
 *   inline: the data in Z85 (padded with zero bytes to a multiple of four)
 */
#pragma once

#include "base-cancel.h"
#include "delta-file.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct DeltaTable DeltaTable;

/* A set of positions. Changed only by whoever made it, before it is shared; then read by any number of threads. */
typedef struct DeltaVector DeltaVector;
DeltaVector *delta_vector_new (void);                       /* (transfer full): empty */
DeltaVector *delta_vector_copy (const DeltaVector *vector); /* (transfer full); NULL gives an empty one */
DeltaVector *delta_vector_ref (DeltaVector *vector);        /* (transfer full) */
void delta_vector_unref (DeltaVector *vector);              /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaVector, delta_vector_unref)

/* Positions are below 2^63 - 2^31 (a 31-bit key). */
#define DELTA_VECTOR_MAX_ROW ((((guint64) 1) << 63) - 1)
void delta_vector_add (DeltaVector *vector, guint64 row);
void delta_vector_add_many (DeltaVector *vector, const guint64 *rows, gsize n_rows);
gboolean delta_vector_contains (const DeltaVector *vector, guint64 row);
guint64 delta_vector_cardinality (const DeltaVector *vector);
gboolean delta_vector_is_empty (const DeltaVector *vector);
gboolean delta_vector_equal (const DeltaVector *a, const DeltaVector *b);
void delta_vector_add_all (DeltaVector *vector, const DeltaVector *other);    /* union in place */
void delta_vector_remove_all (DeltaVector *vector, const DeltaVector *other); /* difference in place */
/* Ascending. @row: (out). Returns: FALSE when there is none at or after @from. */
gboolean delta_vector_next (const DeltaVector *vector, guint64 from, guint64 *row);
/* The positions in [@from, @to], ascending, at most @n_most. @rows: (out caller-allocates). Returns: how many. */
gsize delta_vector_list (const DeltaVector *vector, guint64 from, guint64 to, guint64 *rows, gsize n_most);
/* The greatest position. Returns: FALSE when empty. */
gboolean delta_vector_last (const DeltaVector *vector, guint64 *row);

/* The data form. Errors (decode): DELTA_DELETION_VECTOR_CORRUPT. Returns: (transfer full). */
DeltaVector *delta_vector_decode (gconstpointer data, gsize size, GError **error);
GBytes *delta_vector_encode (const DeltaVector *vector);
/* Z85. Errors: DELTA_DELETION_VECTOR_CORRUPT. Returns: (transfer full). */
GBytes *delta_vector_z85_decode (const char *text, gsize size, GError **error);
char *delta_vector_z85_encode (gconstpointer data, gsize size); /* @size a multiple of 4 */

/**
 * delta_vector_load:
 * @descriptor: (nullable): NULL gives an empty vector
 *
 * Reads the vector that a file action names; checks size, checksum and cardinality. Loaded vectors are kept for a while by
 * @table, so the answer is shared and must not be changed (copy it).
 *
 * Errors:   DELTA_DELETION_VECTOR_CORRUPT, DELTA_FILE_NOT_FOUND_DETAILED.
 * Returns:  (transfer full).
 */
DeltaVector *delta_vector_load (DeltaTable *table, const DeltaVectorDescriptor *descriptor, GError **error);

/**
 * delta_vector_write:
 * @vectors: (array length=n_vectors): none empty
 * @descriptors: (out) (transfer full) (element-type DeltaVectorDescriptor): one per vector, in order
 *
 * Writes all of them into one new file `deletion_vector_<uuid>.bin` at the table's root, durably.
 */
gboolean delta_vector_write (DeltaTable *table, DeltaVector *const *vectors, guint n_vectors, GPtrArray **descriptors,
                             GError **error);
/* A descriptor with the data inside, for small vectors. Returns: (transfer full). */
DeltaVectorDescriptor *delta_vector_inline (const DeltaVector *vector);
/* The key of the file of a 'u' vector, or the decoded absolute path of a 'p' one; NULL for inline or malformed ones.
 * Returns: (transfer full). */
char *delta_vector_descriptor_file (const DeltaVectorDescriptor *descriptor);

G_END_DECLS

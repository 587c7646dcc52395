/* One logical file of a table as an add, remove or cdc action names it: path, size, partition values, statistics, deletion
 * vector, row tracking. An immutable, reference-counted value.
 */
#pragma once

#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

/* A version of a table; 0 is the first, DELTA_VERSION_NONE means none. */
typedef gint64 DeltaVersion;
#define DELTA_VERSION_NONE ((DeltaVersion) -1)

/* Where a deletion vector lives (PROTOCOL.md "Deletion Vector Descriptor Schema"). */
typedef struct {
  char storage;         /* 'u' relative by UUID, 'p' absolute path, 'i' inline */
  char *path_or_inline; /* as written in the log */
  gint64 offset;        /* of the vector in its file; -1 = none given (inline) */
  gint64 size_bytes;    /* of the vector's data */
  gint64 cardinality;   /* rows it marks */
} DeltaVectorDescriptor;

DeltaVectorDescriptor *delta_vector_descriptor_copy (const DeltaVectorDescriptor *descriptor); /* NULL stays NULL */
void delta_vector_descriptor_free (DeltaVectorDescriptor *descriptor);                         /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaVectorDescriptor, delta_vector_descriptor_free)
/* The protocol's uniqueId: storage, path, and `@offset` when there is one. Returns: (transfer full). */
char *delta_vector_descriptor_id (const DeltaVectorDescriptor *descriptor);
gboolean delta_vector_descriptor_equal (const DeltaVectorDescriptor *a,
                                        const DeltaVectorDescriptor *b); /* NULL = none */

/* One partition value as written; @text NULL is SQL NULL (also an empty string in the log means NULL). */
typedef struct {
  const char *column; /* physical name */
  const char *text;   /* (nullable) */
  gsize text_bytes;   /* a binary value may hold NUL */
} DeltaPartitionValue;

typedef struct DeltaFile DeltaFile;

/* Everything a writer says about a new file. Strings are copied. Zero-initialise with DELTA_FILE_INFO_INIT. */
typedef struct {
  const char *path; /* as it will stand in the log: percent-encoded (delta_file_encode_path()) */
  gint64 size_bytes;
  gint64 modified_ms;
  gboolean data_change;
  const DeltaPartitionValue *partition_values;
  guint n_partition_values;
  const char *stats;                       /* (nullable): statistics as JSON text */
  const DeltaVectorDescriptor *vector;     /* (nullable) */
  gint64 base_row_id;                      /* -1 = none: the transaction assigns it when the table tracks rows */
  DeltaVersion default_row_commit_version; /* DELTA_VERSION_NONE = none: the transaction assigns it */
  const json_t *tags;                      /* (nullable): object of strings */
  const char *clustering_provider;         /* (nullable) */
  gint64 deletion_ms;                      /* remove actions: when; -1 = not said */
  gboolean extended;                       /* remove actions: extendedFileMetadata */
} DeltaFileInfo;
#define DELTA_FILE_INFO_INIT                                                                                           \
  ((DeltaFileInfo){                                                                                                    \
      .data_change = TRUE, .base_row_id = -1, .default_row_commit_version = DELTA_VERSION_NONE, .deletion_ms = -1 })

DeltaFile *delta_file_new (const DeltaFileInfo *info); /* (transfer full) */
DeltaFile *delta_file_ref (DeltaFile *file);           /* (transfer full) */
void delta_file_unref (DeltaFile *file);               /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DeltaFile, delta_file_unref)
/* The facts of @file as an info whose pointers borrow from it: change some, call delta_file_new(). */
DeltaFileInfo delta_file_info (const DeltaFile *file);

/* Facts. Borrows live as long as @file. */
const char *delta_file_path (const DeltaFile *file); /* as in the log */
/* The path decoded: a key of the table's store, or absolute (beginning with `/` or a URI scheme). */
const char *delta_file_decoded_path (const DeltaFile *file);
gboolean delta_file_is_absolute (const DeltaFile *file);
gint64 delta_file_size_bytes (const DeltaFile *file);
gint64 delta_file_modified_ms (const DeltaFile *file);
gboolean delta_file_data_change (const DeltaFile *file);
guint delta_file_n_partition_values (const DeltaFile *file);
DeltaPartitionValue delta_file_partition_value (const DeltaFile *file, guint index);
/* Returns: FALSE when the file does not mention @physical_name; @value may then be read as NULL all the same. */
gboolean delta_file_find_partition_value (const DeltaFile *file, const char *physical_name, DeltaPartitionValue *value);
const char *delta_file_stats (const DeltaFile *file);                       /* (nullable): JSON text as written */
gint64 delta_file_n_records (const DeltaFile *file);                        /* physical rows; -1 = not said */
gint64 delta_file_n_live_records (const DeltaFile *file);                   /* minus the vector's; -1 = not said */
const DeltaVectorDescriptor *delta_file_vector (const DeltaFile *file);     /* (nullable) */
gint64 delta_file_base_row_id (const DeltaFile *file);                      /* -1 = none */
DeltaVersion delta_file_default_row_commit_version (const DeltaFile *file); /* DELTA_VERSION_NONE = none */
const json_t *delta_file_tags (const DeltaFile *file);                      /* (nullable) */
gint64 delta_file_deletion_ms (const DeltaFile *file);                      /* -1 = not said */
gboolean delta_file_is_extended (const DeltaFile *file);                    /* a remove with partitionValues and size */

/* Encodes a store key as a path of the log. Returns: (transfer full). */
char *delta_file_encode_path (const char *key);
/* A partition directory `name=value/` with Hive's escaping; NULL is __HIVE_DEFAULT_PARTITION__;
 * one of more than 250 bytes is named by its sha256. Returns: (transfer full). */
char *delta_file_partition_directory (const char *column, const char *value);

G_END_DECLS

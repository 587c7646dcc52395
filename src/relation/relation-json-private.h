/* JSON as Jackson reads and prints it: numbers keep their text, keys their order and duplicates. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  RELATION_JSON_NULL,
  RELATION_JSON_BOOLEAN,
  RELATION_JSON_NUMBER, /* @text: as written */
  RELATION_JSON_STRING, /* @text: decoded */
  RELATION_JSON_ARRAY,
  RELATION_JSON_OBJECT,
} RelationJsonKind;

typedef struct RelationJson RelationJson;
struct RelationJson {
  RelationJsonKind kind;
  gboolean truth;
  char *text;
  gsize size;
  GPtrArray *items; /* of an array or object */
  GPtrArray *keys;  /* of an object: GString per item */
};

void relation_json_free (RelationJson *json); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationJson, relation_json_free)

typedef enum {
  RELATION_JSON_STRICT = 0,
  RELATION_JSON_SINGLE_QUOTES = 1 << 0,
  RELATION_JSON_BARE_NAMES = 1 << 1,
  RELATION_JSON_LEADING_ZEROS = 1 << 2,
  RELATION_JSON_COMMENTS = 1 << 3,
  RELATION_JSON_TRAILING = 1 << 4, /* anything may follow the value */
  RELATION_JSON_NAN = 1 << 5,      /* NaN, Infinity and -Infinity are numbers */
} RelationJsonFlags;

/* Returns: (transfer full), NULL when @text is not JSON or nests deeper than 500. */
RelationJson *relation_json_parse (const char *text, gsize size, RelationJsonFlags flags);

/* Compact; numbers with a point or an exponent as Java prints a double. */
void relation_json_print (GString *out, const RelationJson *json);

/* The last member of that name, exact case; NULL. */
const RelationJson *relation_json_member (const RelationJson *json, const char *name, gsize size);

typedef enum { RELATION_JSON_FOUND, RELATION_JSON_NOT_FOUND, RELATION_JSON_PATH_UNSUPPORTED } RelationJsonPathOutcome;

/* get_json_object: `$.a['b'][0][*].c`. Appends the text of what is found. */
RelationJsonPathOutcome relation_json_path (const RelationJson *json, const char *path, gsize size, GString *out);

G_END_DECLS

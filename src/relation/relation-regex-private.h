/* Java's regular expressions on PCRE2. A compiled expression is immutable; match data is the caller's. */
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <glib.h>
#include <pcre2.h>

G_BEGIN_DECLS

typedef struct {
  pcre2_code *code;
  guint n_groups;
} RelationRegex;

/**
 * relation_regex_new:
 * @text: @size bytes, Java's syntax
 *
 * Errors:   INVALID_PARAMETER_VALUE.PATTERN when it is no pattern; UNSUPPORTED_FEATURE for what PCRE2 cannot say the same way
 *           (class intersections, lookbehind of unbounded length, Java's own properties).
 * Returns:  (transfer full).
 */
RelationRegex *relation_regex_new (const char *text, gsize size, GError **error);
void relation_regex_free (RelationRegex *regex); /* accepts NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RelationRegex, relation_regex_free)

/* The next match at or after byte @start. @ovector: (out) (nullable): pairs of byte offsets, PCRE2_UNSET for groups that took no part;
 * valid until the next call with @data; NULL when nothing matches. Errors: EXECUTION_ERROR when matching takes too many steps. */
gboolean relation_regex_match (const RelationRegex *regex, pcre2_match_data *data, const char *text, gsize size,
                               gsize start, const PCRE2_SIZE **ovector, GError **error);

G_END_DECLS

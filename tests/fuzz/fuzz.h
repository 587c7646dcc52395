/* What the fuzz targets share. Each target is one file with the entry that libFuzzer calls; without libFuzzer the same
 * entry is called by replay.c for every file of a corpus.
 */
#pragma once

#include "base-error.h"

#include <glib.h>

G_BEGIN_DECLS

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* Any refusal must have a name that says what is wrong with the input: an INTERNAL_ERROR, or an error of another domain, is
 * a finding, and so is a failure without an error. FUZZ_VERBOSE shows what each input is refused for. */
static inline void
fuzz_check (gboolean done, const GError *error)
{
  if (error != NULL && g_getenv ("FUZZ_VERBOSE") != NULL)
    g_printerr ("# %s: %s\n", base_error_condition (error), error->message);
  if (done ? error == NULL
           : error != NULL && error->domain == SLUICE_ERROR && error->code != SLUICE_ERROR_INTERNAL_ERROR)
    return;
  g_printerr ("finding: %s\n", error != NULL ? error->message : "a failure without an error");
  abort ();
}

/* A rule between results that must hold for every input. */
static inline void
fuzz_require (gboolean holds, const char *rule)
{
  if (holds)
    return;
  g_printerr ("finding: %s\n", rule);
  abort ();
}

G_END_DECLS

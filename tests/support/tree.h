/* Temporary directories of tests. */
#pragma once

#include <glib.h>

/* Removes a file, or a directory with all below it; links are removed and not followed. What cannot be removed stays. */
void tree_remove (const char *path);

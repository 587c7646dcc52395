/* `sluice version`. */
#include "cli.h"

#include <sluice.h>
#include <stdio.h>

int
cli_version_run (const CliContext *context G_GNUC_UNUSED, int argc, char **argv)
{
  if (argc > 1)
    return cli_usage_error (argv[0], "it takes no arguments");
  printf ("sluice %s\n", sluice_version ());
  return CLI_EXIT_OK;
}
